"""Estimators of fields, coreference, alignments and trees; the model of the command."""

import pickle

import numpy as np
import pytest
from estimator_cases import check_same_model
from nltk import Tree
from sklearn import base, model_selection

from lssvm.estimators import Aligner, CoreferenceResolver, FieldLabeler, TreeParser
from lssvm.formats.blast_matrix import read_blast_matrix

RNG = np.random.default_rng(0)


def drawn_graph():
    """A chain of nodes whose states follow the sign of the first feature."""
    features = np.round(RNG.normal(size=(4, 2)), 3)
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    return features, edges, np.round(RNG.normal(size=(3, 2)), 3)


GRAPHS = [drawn_graph() for _ in range(6)]
STATES = [(features[:, 0] > 0).astype(int) for features, _, _ in GRAPHS]


def graph_lines(graphs, states):
    for number, ((features, edges, own), labels) in enumerate(zip(graphs, states, strict=True)):
        yield f"graph g{number}"
        for node, (row, state) in enumerate(zip(features, labels, strict=True)):
            label = {-1: "?", -2: "-"}.get(state, state)
            yield f"node n{node} node 2 {label} 1:{row[0]} 2:{row[1]}"
        for (a, b), row in zip(edges, own, strict=True):
            yield f"edge n{a} n{b} edge 1:{row[0]} 2:{row[1]}"
        yield ""


def test_a_field_is_that_of_the_command(tmp_path):
    check_same_model(
        FieldLabeler(C=2.0).fit(GRAPHS, STATES),
        tmp_path,
        {"train.txt": "\n".join(graph_lines(GRAPHS, STATES))},
        application="mrf",
        objective={"model": "ssvm", "C": 2.0},
    )


def test_a_field_with_hidden_states_is_that_of_the_command(tmp_path):
    hidden = [np.where(np.arange(4) == 2, -2, np.where(np.arange(4) == 3, -1, s)) for s in STATES]
    estimator = FieldLabeler(model="mssvm", restarts=2, random_state=4).fit(GRAPHS, hidden)
    check_same_model(
        estimator,
        tmp_path,
        {"train.txt": "\n".join(graph_lines(GRAPHS, hidden))},
        application="mrf",
        objective={"model": "mssvm"},
        cccp={"restarts": 2},
        seed=4,
    )
    (first, *_) = estimator.predict_marginals(GRAPHS)
    np.testing.assert_allclose([shares.sum() for shares in first], 1.0)


def test_an_image_is_a_graph_of_its_pixels():
    truth = [np.pad(np.ones((2, 2), int), ((k, 2 - k), (1, 1))) for k in range(3)]
    images = [(2.0 * own - 1.0 + 0.3 * RNG.normal(size=own.shape))[..., None] for own in truth]
    edges = [
        [i * 4 + j, k * 4 + m]
        for i in range(4) for j in range(4) for k in range(4) for m in range(4)
        if (k - i, m - j) in ((0, 1), (1, 0))
    ]  # fmt: skip
    edges.sort(key=lambda ends: (ends[1] - ends[0], ends))
    graphs = [(image.reshape(16, 1), edges) for image in images]
    of_images = FieldLabeler(C=10.0).fit(images, truth)
    of_graphs = FieldLabeler(C=10.0).fit(graphs, [own.ravel() for own in truth])
    np.testing.assert_array_equal(of_images.model_.w, of_graphs.model_.w)
    for found, own in zip(of_images.predict(images), truth, strict=True):
        np.testing.assert_array_equal(found, own)
    assert of_images.score(images, truth) == 1.0


def test_classes_of_nodes_have_weights_of_their_own():
    graphs = [
        {
            "features": features,
            "edges": edges,
            "classes": ["even", "odd"] * 2,
            "states": [2, 3, 2, 3],
            "edge_classes": ["up", "down", "up"],
        }
        for features, edges, _ in GRAPHS
    ]
    estimator = FieldLabeler().fit(graphs, STATES)
    classes = estimator.model_.application.classes
    assert (classes.node_names, classes.states) == (("even", "odd"), (2, 3))
    assert (classes.edge_names, classes.shapes) == (("up", "down"), ((2, 3), (3, 2)))


def test_searches_and_copies_work_on_graphs():
    search = model_selection.GridSearchCV(FieldLabeler(), {"C": [1e-3, 10.0]}, cv=3)
    found = search.fit(GRAPHS, STATES).best_estimator_
    again = pickle.loads(pickle.dumps(found))
    for a, b in zip(again.predict(GRAPHS), found.predict(GRAPHS), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([3], [[0]], r"X: graph 1 is 3; expected \(features, edges\)"),
        ([{"features": [[1]]}], [[0]], "X: graph 1: features or edges are missing"),
        ([([[1.0]], [[0, 1, 2]])], [[0]], "edges have the shape"),
        ([([[1.0]], [[0, 1]])], [[0]], "X: array 'ends' is out of range at row 0"),
        ([([[1.0]], [])], [[0, 1]], "y: graph 1 has 2 labels of type int64 for 1 node;"),
        ([([[1.0]], [])], [[-3]], "X: array 'labels' is out of range at row 0, -3"),
        ([([[1.0]], [[0, 0]], [[1.0]] * 2)], [[0]], "2 rows of edge_features for 1 edge"),
    ],
)
def test_graphs_that_cannot_be_used_are_refused_in_one_line(X, y, message):
    with pytest.raises(ValueError, match=message) as caught:
        FieldLabeler().fit(X, y)
    assert "\n" not in str(caught.value)


TEXTS = [
    {
        "words": ["Anna", "lost", "her", "key", ".", "She", "looked", "for", "it", "."],
        "tags": ["NNP", "VBD", "PRP$", "NN", ".", "PRP", "VBD", "IN", "PRP", "."],
        "mentions": [(0, 1), (2, 4), (2, 3), (5, 6), (8, 9)],
    },
    {
        "words": ["Ben", "saw", "Anna", ".", "He", "waved", "."],
        "tags": ["NNP", "VBD", "NNP", ".", "PRP", "VBD", "."],
        "mentions": [(0, 1), (2, 3), (4, 5)],
    },
]
CLUSTERS = [["a", "k", "a", "a", "k"], ["b", "a", "b"]]


def conll(texts, clusters):
    for number, (text, names) in enumerate(zip(texts, clusters, strict=True)):
        cells = [[] for _ in text["words"]]
        for (start, stop), name in zip(text["mentions"], names, strict=True):
            if stop == start + 1:
                cells[start].append(f"({name})")
            else:
                cells[start].append(f"({name}")
                cells[stop - 1].append(f"{name})")
        yield f"#begin document (d{number})"
        for place, (word, tag) in enumerate(zip(text["words"], text["tags"], strict=True)):
            yield f"{place}\t{word}\t{tag}\t{'|'.join(cells[place]) or '-'}"
        yield "#end document"


@pytest.mark.parametrize("parameters", [{}, {"penalty": 0.1, "max_distance": 2}])
def test_coreference_of_texts_is_that_of_the_command(parameters, tmp_path):
    check_same_model(
        CoreferenceResolver(C=3.0, **parameters).fit(TEXTS, CLUSTERS),
        tmp_path,
        {"train.conll": "\n".join(conll(TEXTS, CLUSTERS)) + "\n"},
        application={"name": "coreference", **parameters},
        objective={"C": 3.0},
    )


def test_coreference_of_pairs_is_that_of_the_command(tmp_path):
    sizes = [len(own) for own in CLUSTERS]
    X = [np.round(RNG.normal(size=(n * (n - 1) // 2, 3)), 3) for n in sizes]
    lines = []
    for number, (rows, names) in enumerate(zip(X, CLUSTERS, strict=True)):
        lines += [f"document d{number}", f"clusters {' '.join(names)}"]
        ends = np.column_stack(np.triu_indices(len(names), 1)) + 1
        for (i, j), row in zip(ends, rows, strict=True):
            lines.append(f"pair {i} {j} " + " ".join(f"{k}:{v}" for k, v in enumerate(row, 1)))
    estimator = CoreferenceResolver().fit(X, CLUSTERS)
    check_same_model(
        estimator,
        tmp_path,
        {"train.pairs": "\n".join(lines) + "\n"},
        application={"name": "coreference", "features": 3},
    )
    assert [len(own) for own in estimator.predict(X)] == sizes


def test_clusters_and_links_of_mentions_agree():
    estimator = base.clone(CoreferenceResolver(C=100.0)).fit(TEXTS, CLUSTERS)
    found = [own.tolist() for own in estimator.predict(TEXTS)]
    right, mine, true = (
        sum(len(own) - len(set(own)) for own in kept)
        for kept in (
            [list(zip(*both, strict=True)) for both in zip(found, CLUSTERS, strict=True)],
            found,
            CLUSTERS,
        )
    )
    assert estimator.score(TEXTS, CLUSTERS) == pytest.approx(2 * right / (mine + true))
    for clusters, links in zip(estimator.predict(TEXTS), estimator.links(TEXTS), strict=True):
        assert all(clusters[a] == clusters[b] for a, b in links)
        assert len(links) == len(clusters) - len(set(clusters.tolist()))
    again = pickle.loads(pickle.dumps(estimator))
    assert again.metrics(TEXTS, CLUSTERS) == estimator.metrics(TEXTS, CLUSTERS)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "X: no documents; expected at least one"),
        ([{"words": ["a"]}], [[]], "X: document 1 is not a dictionary of words, mentions"),
        ([{"words": ["a"], "mentions": [(0, 2)]}], [["x"]], r"mention \(0, 2\) is not within"),
        ([{"words": ["a", "b"], "mentions": [(1, 2), (0, 1)]}], [["x", "y"]], "in the order of"),
        ([{"words": ["a"], "mentions": [(0, 1)]}], [["x", "y"]], "2 clusters for 1 mention"),
        ([np.zeros((2, 3))], [["x", "y"]], r"X: document 1 has the shape \(2, 3\); expected a row"),
    ],
)
def test_documents_that_cannot_be_used_are_refused_in_one_line(X, y, message):
    with pytest.raises(ValueError, match=message) as caught:
        CoreferenceResolver().fit(X, y)
    assert "\n" not in str(caught.value)


ROWS = [
    ("ACGTACGT", "AC--ACGT"),
    ("GGATTACA", "GG-TTACA"),
    ("TTGACCA-", "TTG-CCAG"),
    ("ACGTT", "ACGTT"),
]
PAIRS = [tuple(row.replace("-", "") for row in rows) for rows in ROWS]
GLOBAL = {"alphabet": "dna", "mode": "global"}


def fasta(*records):
    return "".join(f">{name} {what}\n{row}\n" for name, what, row in records)


def test_alignment_of_pairs_is_that_of_the_command(tmp_path):
    records = [
        (f"{name}{number}", "", row)
        for number, rows in enumerate(ROWS)
        for name, row in zip("xz", rows, strict=True)
    ]
    estimator = Aligner(**GLOBAL, C=2.0).fit(PAIRS, ROWS)
    check_same_model(
        estimator,
        tmp_path,
        {"train.fa": fasta(*records)},
        application={"name": "alignment", "task": "pairs", **GLOBAL},
        objective={"model": "ssvm", "C": 2.0},
    )
    assert Aligner(**GLOBAL, C=1000.0).fit(PAIRS, ROWS).score(PAIRS, ROWS) == 1.0
    np.testing.assert_array_equal(estimator.substitution_, estimator.substitution_.T)
    estimator.to_matrix(tmp_path / "matrix.txt")
    found = read_blast_matrix(tmp_path / "matrix.txt")
    for a, row in zip("ACGT", 100 * estimator.substitution_, strict=True):
        assert [found[a][b] for b in "ACGT"] == pytest.approx(row.tolist(), abs=0.5)


NATIVES = [("ACGTACGT", ["TTTTTT", "ACACGT"]), ("GGATTACA", ["GGTTACA", "CCCCCC", "ATATAT"])]
HOMOLOGS = [1, 0]


@pytest.mark.parametrize("model", ["ssvm", "lssvm"])
def test_homologs_are_those_of_the_command(model, tmp_path):
    aligned = [("ACGTACGT", "AC--ACGT"), ("GGATTACA", "GG-TTACA")]
    outputs = list(zip(HOMOLOGS, aligned, strict=True)) if model == "ssvm" else HOMOLOGS
    records = []
    for number, ((native, candidates), homolog, rows) in enumerate(
        zip(NATIVES, HOMOLOGS, aligned, strict=True)
    ):
        hidden = model == "lssvm"
        records.append((f"n{number}", "role=native", native if hidden else rows[0]))
        for place, candidate in enumerate(candidates):
            true = place == homolog
            row = rows[1] if true and not hidden else candidate
            records.append((f"c{number}.{place}", "role=homolog" if true else "role=decoy", row))
    estimator = Aligner(task="homolog", alphabet="dna", model=model, C=2.0).fit(NATIVES, outputs)
    check_same_model(
        estimator,
        tmp_path,
        {"train.fa": fasta(*records)},
        application={"name": "alignment", "task": "homolog", "alphabet": "dna"},
        objective={"model": model, "C": 2.0},
    )
    assert estimator.predict(NATIVES).tolist() == HOMOLOGS
    assert estimator.score(NATIVES, HOMOLOGS) == 1.0


def test_sequences_of_one_length_are_aligned_only_where_that_is_said():
    application = Aligner(**GLOBAL)._config().create_application()
    examples = application.examples_from([("ACGT", "TCGA")])
    assert not examples.aligned.any()
    assert (examples.partners == -1).all()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([("ACGT",)], [None], "X: example 1 is .*; expected two sequences"),
        ([("AC-T", "A")], [None], "X: example 1 has a sequence with gaps; expected none"),
        ([("ACGT", "AG")], [("ACGT", "A-G")], "y: example 1 has rows of 4 and 3 symbols"),
        ([("ACGT", "AG")], [("ACGT", "A--T")], "y: example 1 has a row of other letters than"),
    ],
)
def test_pairs_that_cannot_be_used_are_refused_in_one_line(X, y, message):
    with pytest.raises(ValueError, match=message) as caught:
        Aligner(**GLOBAL).fit(X, y)
    assert "\n" not in str(caught.value)


TREES = [
    "(S (NP (D the) (N dog)) (VP (V sees) (NP (NP (D a) (N cat)) (PP (P in) (NP (N bed))))))",
    "(S (NP (D a) (N cat)) (VP (V sees) (NP (D the) (N dog)) (PP (P with) (NP (N eyes)))))",
    "(S (NP (N dogs)) (VP (V see) (NP (NP (N cats)) (PP (P in) (NP (N beds))))))",
]
TAGGED = [[(leaf, tag) for leaf, tag in Tree.fromstring(text).pos()] for text in TREES]


@pytest.mark.parametrize(
    ("parameters", "application", "objective"),
    [
        ({}, {"name": "parsing"}, {"model": "ssvm"}),
        (
            {"tags": "predicted", "min_count": 1, "loss": "brackets"},
            {"name": "parsing", "tags": "predicted", "min_count": 1, "loss": "brackets"},
            {"model": "ssvm"},
        ),
        ({"substates": 2}, {"name": "latent_parsing", "substates": 2}, {"model": "lssvm"}),
    ],
)
def test_parsing_is_that_of_the_command(parameters, application, objective, tmp_path):
    check_same_model(
        TreeParser(**parameters, C=2.0, epsilon=0.1, tolerance=0.1).fit(None, TREES),
        tmp_path,
        {"train.ptb": "\n".join(TREES)},
        application=application,
        objective={"C": 2.0, **objective},
        solver={"epsilon": 0.1},
        cccp={"tolerance": 0.1},
    )


def test_trees_of_nltk_are_trees_and_sentences_are_checked():
    settings = {"C": 10.0, "span_features": ["tag_before"], "min_count": 1, "epsilon": 0.1}
    of_texts = TreeParser(**settings).fit(TAGGED, TREES)
    of_trees = TreeParser(**settings).fit(TAGGED, [Tree.fromstring(text) for text in TREES])
    np.testing.assert_array_equal(of_texts.model_.w, of_trees.model_.w)
    for text, tokens in zip(of_texts.predict(TAGGED), TAGGED, strict=True):
        assert [(word, tag) for word, tag in Tree.fromstring(text).pos()] == tokens
    assert of_texts.score(TAGGED, TREES) > 0.7
    again = pickle.loads(pickle.dumps(of_texts))
    assert again.trees(TAGGED, top=2) == of_texts.trees(TAGGED, top=2)


def test_words_alone_are_parsed_if_parts_of_speech_are_predicted():
    settings = {"tags": "predicted", "min_count": 1, "span_features": ["first_word"]}
    parser = TreeParser(C=10.0, epsilon=0.1, **settings).fit(None, TREES)
    sentences = [[word for word, _ in tokens] for tokens in TAGGED]
    assert parser.predict(sentences) == [f"(TOP {text})" for text in TREES]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (None, None, "X and y are None; expected sentences, trees or both"),
        ([[("a", "N")]], ["(S (N b))"], "y: tree 1 has other words than its sentence in X"),
        ([[("a (", "N")]], [None], "expected words without blanks and brackets"),
        ([[]], [None], "X: sentence 1 has no words, and no tree; expected some"),
        (None, ["(S (N a)"], "1 bracket is not closed"),
        (None, ["(S (N a)) (S (N b))", "(S (N a))"], "y: 3 trees in 2 texts; expected one in each"),
        ([[("a", "N")]], [None], "no tree to learn a grammar from; expected at least one"),
    ],
)
def test_trees_that_cannot_be_used_are_refused_in_one_line(X, y, message):
    with pytest.raises(ValueError, match=message) as caught:
        TreeParser().fit(X, y)
    assert "\n" not in str(caught.value)
