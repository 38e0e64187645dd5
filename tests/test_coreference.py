import io
import itertools
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import reference
from click.testing import CliRunner
from clustering_cases import cut, dense, random_documents, read, told_apart

from lssvm.applications.base import Source
from lssvm.applications.coreference import coreference_features, coreference_scores
from lssvm.applications.coreference.coreference import Coreference, CoreferenceOptions, chains
from lssvm.applications.coreference.mention_clustering import Predictions
from lssvm.applications.coreference.mentions import pair_ends
from lssvm.cli import classify, learn, main
from lssvm.errors import DataError, LssvmError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.simulation.coreference import write_documents
from lssvm.training.session import learn_on

DIMENSION = 4
STORY = """\
#begin document (story); part 000
0 Mary NNP (1)
1 met VBD -
2 John NNP (2)
3 Smith NNP 2)
4 . . -

0 She PRP (1)
1 liked VBD -
2 Mr. NNP (2
3 Smith NNP 2)
4 and CC -
5 his PRP$ (3|(2)
6 dog NN 3)
7 . . -
#end document
""".replace("(2)\n3 Smith", "(2\n3 Smith")


def coreference(**options):
    return Coreference(CoreferenceOptions(**{"features": DIMENSION, **options}))


def parents_as_edges(parents):
    return sorted(tuple(sorted((v, int(p)))) for v, p in enumerate(parents) if p >= 0)


def check_problem(app, folder, documents, w, reach, penalty):
    """All three problems against enumeration and against Kruskal's algorithm."""
    examples = read(app, folder, documents)
    predictions = app.predict(w, examples)
    augmented, completed, loss, convex, concave = np.zeros(4), np.zeros(4), 0.0, 0.0, 0.0
    for number, (clusters, features, cost) in enumerate(documents):
        n, aimed = len(clusters), cut(clusters, reach)
        phi = {p: dense(features, p, DIMENSION) for p in reference.mention_pairs(n, reach)}
        score = {pair: w @ vector for pair, vector in phi.items()}
        rewards = {p: 1.0 if aimed[p[0]] == aimed[p[1]] else -penalty for p in phi}
        best = reference.kruskal(n, score, 0.0)
        where = examples.places[number]
        assert parents_as_edges(predictions.parents[where]) == sorted(best)
        assert predictions.scores[number] == sum(score[pair] for pair in best)
        shared = reference.trees_of(n, best)
        found = predictions.clusters[where]
        assert list(found) == [sorted(set(shared)).index(label) for label in shared]
        weights = {p: score[p] - rewards[p] for p in phi}
        violated = reference.kruskal(n, weights, 0.0)
        within = {p: v for p, v in score.items() if aimed[p[0]] == aimed[p[1]]}
        spanning = reference.kruskal(n, within, -np.inf)
        augmented += cost * sum((phi[p] for p in violated), np.zeros(4))
        completed += cost * sum((phi[p] for p in spanning), np.zeros(4))
        loss += cost * reference.forest_loss(aimed, violated, penalty)
        every = list(reference.forests(n, reach))
        values = [sum(score[p] for p in h) for h in every]
        losses = [reference.forest_loss(aimed, h, penalty) for h in every]
        assert min(losses) == 0
        assert predictions.scores[number] == max(values)
        convex += cost * max(a + b for a, b in zip(values, losses, strict=True))
        concave += cost * max(
            value
            for value, h in zip(values, every, strict=True)
            if reference.trees_of(n, h) == aimed
        )
    plane, upper = app.augmented(w, examples)
    np.testing.assert_array_equal(plane.gradient, augmented)
    assert (plane.loss, upper) == (loss, convex)
    plane = app.completed(w, examples)
    np.testing.assert_array_equal(plane.gradient, completed)
    assert (plane.loss, plane.value(w)) == (0, concave)


@pytest.mark.parametrize("block", range(8))
def test_the_three_problems_equal_enumeration_to_the_last_bit(tmp_path, block):
    rng = np.random.default_rng(block)
    for trial in range(25):
        penalty, reach = int(rng.integers(9)) / 8, int(rng.integers(1, 6))
        app = coreference(penalty=penalty, max_distance=reach)
        w = rng.integers(-8, 9, DIMENSION) / 8 * (trial > 2)
        check_problem(app, tmp_path, random_documents(rng, DIMENSION), w, reach, penalty)


def test_forests_of_larger_documents_are_those_of_kruskal_with_a_stable_sort(tmp_path):
    rng = np.random.default_rng(20)
    app = coreference()
    for _ in range(10):
        clusters, features, _ = max(random_documents(rng, 2, most=25), key=lambda d: len(d[0]))
        examples = read(app, tmp_path, [(clusters, features, 1)])
        w = rng.integers(-2, 3, DIMENSION) / 2
        score = {p: w @ dense(features, p, DIMENSION) for p in features}
        found = app.predict(w, examples)
        assert parents_as_edges(found.parents) == sorted(
            reference.kruskal(len(clusters), score, 0.0)
        )


def test_a_pair_of_weight_zero_is_no_edge(tmp_path):
    examples = read(coreference(), tmp_path, [([1, 1], {(0, 1): {0: 1.0}}, 1)])
    assert list(coreference().predict(np.zeros(DIMENSION), examples).clusters) == [0, 1]
    assert list(coreference().predict(np.array([0.125, 0, 0, 0]), examples).clusters) == [0, 0]


def test_the_first_completion_is_the_chain_of_each_cluster(tmp_path):
    assert list(chains(np.array([0, 1, 0, 2, 1, 0]))) == [-1, -1, 0, -1, 1, 2]
    app, rng = coreference(), np.random.default_rng(0)
    for _ in range(20):
        documents = random_documents(rng, DIMENSION)
        examples = read(app, tmp_path, documents)
        expected = np.zeros(DIMENSION)
        for clusters, features, cost in documents:
            for j, cluster in enumerate(clusters):
                before = [i for i in range(j) if clusters[i] == cluster]
                if before:
                    expected += cost * dense(features, (before[-1], j), DIMENSION)
        plane = app.start(examples, rng)
        np.testing.assert_array_equal(plane.gradient, expected)
        assert plane.loss == 0


def test_the_joint_feature_sums_over_the_edges(tmp_path):
    app, rng = coreference(), np.random.default_rng(1)
    documents = random_documents(rng, DIMENSION)
    examples = read(app, tmp_path, documents)
    for number, (clusters, features, _) in enumerate(documents):
        for edges in reference.forests(len(clusters), 5):
            expected = sum((dense(features, p, DIMENSION) for p in edges), np.zeros(DIMENSION))
            found = app.joint_feature(examples, number, edges)
            np.testing.assert_array_equal(found, expected)


def test_the_loss_of_a_prediction_is_the_papers(tmp_path):
    app, rng = coreference(penalty=0.25), np.random.default_rng(2)
    for _ in range(20):
        documents = random_documents(rng, DIMENSION)
        examples = read(app, tmp_path, documents)
        predictions = app.predict(rng.normal(size=DIMENSION), examples)
        for record, (clusters, _, _) in zip(
            app.records(examples, predictions), documents, strict=True
        ):
            edges = [(i - 1, j - 1) for i, j in record["h"]]
            assert record["loss"] == reference.forest_loss(clusters, edges, 0.25)


def test_augmented_planes_bound_the_convex_part_from_below(tmp_path):
    app, rng = coreference(penalty=0.5), np.random.default_rng(3)
    examples = read(app, tmp_path, random_documents(rng, DIMENSION, most=9))
    for _ in range(50):
        u, v = rng.normal(size=(2, DIMENSION))
        plane, upper = app.augmented(u, examples)
        assert upper == plane.value(u)
        assert app.augmented(v, examples)[1] >= plane.value(v) - 1e-9
        assert app.augmented(u, examples)[1] >= app.completed(u, examples).value(u) - 1e-9


def test_sums_over_blocks_are_the_sum_and_threads_do_not_matter(tmp_path):
    app, rng = coreference(), np.random.default_rng(4)
    documents = [d for _ in range(8) for d in random_documents(rng, DIMENSION)]
    examples, w = read(app, tmp_path, documents), rng.integers(-8, 9, DIMENSION) / 8
    blocks = [examples.slice(i, i + 1) for i in range(len(examples))]
    with ThreadPoolExecutor(2) as pool:
        planes = list(pool.map(lambda block: app.augmented(w, block)[0], blocks))
    whole = app.augmented(w, examples)[0]
    np.testing.assert_array_equal(sum(plane.gradient for plane in planes), whole.gradient)
    assert sum(plane.loss for plane in planes) == whole.loss
    found = np.concatenate([app.predict(w, block).clusters for block in blocks])
    np.testing.assert_array_equal(found, app.predict(w, examples).clusters)
    single = [app.score(b, app.predict(w, b))["mentions"] for b in blocks]
    assert sum(single) == app.score(examples, app.predict(w, examples))["mentions"]


def test_chosen_documents_are_the_same_as_if_they_alone_were_read(tmp_path):
    app, rng = coreference(max_distance=2), np.random.default_rng(5)
    documents = [d for _ in range(4) for d in random_documents(rng, DIMENSION)]
    examples = read(app, tmp_path, documents)
    rows = np.array([3, 0, 2])
    taken, alone = examples.take(rows), read(app, tmp_path, [documents[i] for i in rows])
    assert taken.fingerprint() == alone.fingerprint() == taken.slice(0, 3).fingerprint()
    assert taken.fingerprint() != examples.fingerprint()
    assert taken.cuts == alone.cuts
    w = rng.normal(size=DIMENSION)
    np.testing.assert_array_equal(app.predict(w, taken).clusters, app.predict(w, alone).clusters)


def test_pairs_are_counted_and_listed_as_their_definition_says():
    for n, reach in itertools.product(range(1, 7), range(1, 8)):
        expected = reference.mention_pairs(n, reach)
        first, second = pair_ends(n, reach)
        assert list(zip(first, second, strict=True)) == expected


def test_pairs_of_some_first_mentions_are_those_of_all_that_begin_there():
    for n, reach in itertools.product(range(1, 7), range(1, 8)):
        first, second = pair_ends(n, reach)
        for start, stop in itertools.combinations(range(n + 1), 2):
            own = (first >= start) & (first < stop)
            for whole, part in zip((first, second), pair_ends(n, reach, start, stop), strict=True):
                np.testing.assert_array_equal(part, whole[own])


@pytest.mark.parametrize("at_once", [1, 3, 4, 100])
def test_features_of_pairs_are_the_same_in_parts_of_any_size(tmp_path, monkeypatch, at_once):
    write_documents(tmp_path, n=2, sentences=6)
    sources = [Source(str(tmp_path / "train.conll"))]
    whole = Coreference(CoreferenceOptions()).read(sources)
    assert np.max(np.diff(whole.pairs)) > 20
    monkeypatch.setattr(coreference_features, "_AT_ONCE", at_once)
    parts = Coreference(CoreferenceOptions()).read(sources)
    assert parts.fingerprint() == whole.fingerprint()


def test_a_cluster_that_max_distance_tears_is_cut_in_training_and_whole_in_scores(tmp_path):
    features = {p: {0: 1.0} for p in reference.mention_pairs(4, 4)}
    app = coreference(max_distance=2)
    examples = read(app, tmp_path, [([1, 2, 3, 1], features, 1)])
    assert examples.cuts == 1
    assert list(examples.targets) == [0, 1, 2, 3]
    assert list(examples.clusters) == [0, 1, 2, 0]
    assert any("1 link is longer" in text for text in app.warnings(examples))
    plane, _ = app.augmented(np.zeros(DIMENSION), examples)
    assert plane.loss == 3  # all edges are wrong ones
    whole = app.score(examples, Predictions(np.array([0, 1, 2, 0]), None, np.zeros(1)))
    assert whole["mitre_loss"] == 0
    assert read(coreference(), tmp_path, [([1, 2, 3, 1], features, 1)]).cuts == 0


def test_training_needs_clusters_and_prediction_does_not(tmp_path):
    text = "document a\nclusters ? ?\npair 1 2 1:1\n"
    (tmp_path / "x.pairs").write_text(text)
    app = coreference()
    examples = app.read([Source(str(tmp_path / "x.pairs"))])
    assert not examples.labelled
    with pytest.raises(
        DataError, match=r"x\.pairs:1: document 'a' has no clusters; expected true clusters"
    ):
        app.start(examples, np.random.default_rng(0))
    predictions = app.predict(np.ones(DIMENSION), examples)
    assert next(app.records(examples, predictions)) == {
        "id": "a",
        "y": [1, 1],
        "h": [[1, 2]],
        "score": 1.0,
    }
    with pytest.raises(LssvmError, match="no clusters"):
        app.score(examples, predictions)


def test_documents_without_pairs_or_mentions_do_no_harm(tmp_path):
    text = "#begin document (a)\n0 word -\n#end document\n#begin document (b)\n0 he (1)\n"
    (tmp_path / "x.conll").write_text(text + "#end document\n")
    app = Coreference(CoreferenceOptions())
    examples = app.read([Source(str(tmp_path / "x.conll"))])
    w = np.ones(app.dimension(examples))
    assert app.augmented(w, examples)[1] == 0
    assert app.completed(w, examples).value(w) == 0
    predictions = app.predict(w, examples)
    assert list(predictions.clusters) == [0]
    assert app.score(examples, predictions)["mitre_loss"] is None
    assert [record["y"] for record in app.records(examples, predictions)] == [[], [1]]
    assert any("1 document has no mentions" in text for text in app.warnings(examples))


# scores


def random_clusterings(rng):
    n = int(rng.integers(2, 12))
    return rng.integers(0, 4, n), rng.integers(0, 4, n)


def _muc_ratio(clusters, others):
    """Links that remain when each cluster is cut by the others, of the links that it takes."""
    parts = sum(sum(not cluster.isdisjoint(other) for other in others) for cluster in clusters)
    mentions = sum(map(len, clusters))
    return (mentions - parts) / (mentions - len(clusters)) if len(clusters) < mentions else 0.0


def test_mitre_and_pair_loss_are_those_of_the_definition():
    rng = np.random.default_rng(6)
    for _ in range(100):
        gold, found = random_clusterings(rng)
        counts = coreference_scores.count(gold, found)
        pairs = list(itertools.combinations(range(len(gold)), 2))
        assert counts.pair_loss == pytest.approx(reference.pair_loss(gold, found, pairs))
        key, response = coreference_scores.as_sets(gold), coreference_scores.as_sets(found)
        recall, precision = _muc_ratio(key, response), _muc_ratio(response, key)
        f1 = 2 * recall * precision / (recall + precision) if recall and precision else 0.0
        if counts.mitre_loss is not None:
            assert counts.mitre_loss == pytest.approx(100 - 100 * f1)


def test_our_muc_is_that_of_scorch():
    scorch = pytest.importorskip("scorch.scores")
    rng = np.random.default_rng(7)
    for _ in range(200):
        gold, found = random_clusterings(rng)
        key, response = coreference_scores.as_sets(gold), coreference_scores.as_sets(found)
        ours = coreference_scores.count(gold, found).muc
        expected = np.multiply(100, scorch.muc(key, response))
        if len(key) < len(gold) and len(response) < len(gold):
            np.testing.assert_allclose(ours, expected, atol=1e-10)


def test_the_table_over_documents_is_that_of_scorch_on_all_clusters_together():
    scorch = pytest.importorskip("scorch.scores")
    rng = np.random.default_rng(8)
    documents = [random_clusterings(rng) for _ in range(12)]
    table = coreference_scores.conll_table(documents)
    key, response = (
        [
            {(number, mention) for mention in cluster}
            for number, document in enumerate(documents)
            for cluster in coreference_scores.as_sets(document[side])
        ]
        for side in (0, 1)
    )
    expected = {
        name: 100 * getattr(scorch, name)(key, response)[2] for name in ("b_cubed", "ceaf_e")
    }
    assert {name: table[name] for name in expected} == pytest.approx(expected)
    mean = np.mean([*expected.values(), 100 * scorch.muc(key, response)[2]])
    assert table["conll"] == pytest.approx(mean)


def test_gold_against_gold_is_perfect(tmp_path):
    pytest.importorskip("scorch")
    (tmp_path / "x.conll").write_text(STORY)
    app = Coreference(CoreferenceOptions())
    examples = app.read([Source(str(tmp_path / "x.conll"))])
    scores = app.score(examples, Predictions(examples.clusters, None, np.zeros(1)))
    names = ("muc", "b_cubed", "ceaf_e", "conll")
    assert [scores[name] for name in names] == pytest.approx([100] * 4)
    assert (scores["mitre_loss"], scores["pair_loss"], scores["singletons"]) == (0, 0, 1)


@pytest.mark.parametrize(
    ("gold", "found", "expected"),
    [
        # (muc, b_cubed, ceaf_e, conll, undefined_as_0), F1 in percent
        ([0, 1, 2], [0, 1, 2], (None, 100, 100, 200 / 3, 1)),
        ([0, 0], [0, 1], (0, 200 / 3, 400 / 9, 1000 / 27, 0)),  # CEAF_e: 2/3 of 1 and 2/3 of 2
        ([0, 1], [0, 0], (0, 200 / 3, 400 / 9, 1000 / 27, 0)),
        ([], [], (None, None, None, 0, 3)),
    ],
)
def test_what_is_not_defined_counts_as_0_in_the_mean_and_is_told(gold, found, expected):
    pytest.importorskip("scorch")
    gold, found = np.array(gold, dtype=np.int32), np.array(found, dtype=np.int32)
    table = coreference_scores.conll_table([(gold, found)])
    muc = coreference_scores.count(gold, found).muc[2]
    names = ("b_cubed", "ceaf_e", "conll", "undefined_as_0")
    for value, wanted in zip((muc, *(table[name] for name in names)), expected, strict=True):
        assert value == pytest.approx(wanted)


def test_the_output_says_what_is_not_defined(tmp_path, monkeypatch):
    pytest.importorskip("scorch")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.conll").write_text(STORY)
    (tmp_path / "alone.conll").write_text("0 Ann (1)\n1 mountains (2)\n")
    (tmp_path / "c.yaml").write_text("application: {name: coreference}\ndata: {train: x.conll}\n")
    assert CliRunner().invoke(learn, ["c.yaml", "m", "-q"]).exit_code == 0
    done = CliRunner().invoke(classify, ["alone.conll", "m", "out"])
    metrics = dict(line.split() for line in done.stdout.splitlines())
    assert (metrics["muc"], metrics["undefined_as_0"]) == ("n/a", "1")
    assert (metrics["b_cubed"], metrics["conll"]) == ("100", "66.6667")


def test_without_scorch_the_losses_remain(monkeypatch):
    monkeypatch.setattr(coreference_scores, "find_spec", lambda name: None)
    names = ("b_cubed", "ceaf_e", "conll", "undefined_as_0")
    assert coreference_scores.conll_table([]) == dict.fromkeys(names)


# features from words


def features_of(text, tmp_path):
    (tmp_path / "x.conll").write_text(text)
    app = Coreference(CoreferenceOptions())
    examples = app.read([Source(str(tmp_path / "x.conll"))])
    names = np.array(app.feature_names())
    count = int(examples.mentions[1])
    return {
        (i, j): set(names[app.pair(examples, 0, i, j) > 0])
        for i, j in reference.mention_pairs(count, count)
    }


def test_features_of_a_story_are_as_their_names_say(tmp_path):
    found = features_of(STORY, tmp_path)  # Mary, John Smith, She, Mr. Smith, his dog, his
    assert all("bias" in features for features in found.values())
    assert {"proper then pronoun", "number agrees, second is a pronoun"} <= found[0, 2]
    assert "second is pronoun, sentences apart 1" in found[0, 2]
    assert "second is pronoun, mentions apart 2" in found[0, 2]
    assert "gender differs, second is a pronoun" in found[2, 5]
    assert "pronouns of person 3" in found[2, 5]
    assert {"same head, names", "names with the same last word", "share a word"} <= found[1, 3]
    assert "same string, names" not in found[1, 3]
    assert "gender agrees, second is a pronoun" in found[3, 5]
    assert "second is a pronoun inside of first" in found[4, 5]
    assert "names that share no word" in found[0, 1]
    assert {"second is possessive", "share no word"} <= found[1, 4]
    assert "second is pronoun, mentions apart 5 to 8" in found[0, 5]


def test_strings_heads_acronyms_and_appositions_are_seen(tmp_path):
    words = [
        *["the DT (1", "red JJ -", "house NN 1)", ", , -", "a DT (1", "house NN -", "of IN -"],
        *["cards NNS 1)", "met VBD -", "United NNP (2", "Nations NNPS 2)", "and CC -"],
        *["UN NNP (2)", "at IN -", "a DT (3", "red JJ -", "house NN 3)", ". . -"],
    ]
    lines = [f"{k} {line}" for k, line in enumerate(words)]
    found = features_of("\n".join(lines) + "\n", tmp_path)
    assert {"same head, nominals", "a comma between", "first is definite"} <= found[0, 1]
    assert {"second is indefinite", "head of second within first"} <= found[0, 1]
    assert "one is the acronym of the other" in found[2, 3]
    assert "same string, nominals" in found[0, 4]
    assert "second string within first" not in found[0, 4]


def test_feature_names_are_distinct_and_pairs_that_look_alike_share_a_row(tmp_path):
    assert len(set(coreference_features.NAMES)) == len(coreference_features.NAMES)
    (tmp_path / "x.conll").write_text("\n".join(f"{k} he ({k})" for k in range(40)) + "\n")
    app = Coreference(CoreferenceOptions())
    examples = app.read([Source(str(tmp_path / "x.conll"))])
    assert len(examples.rows) == 780
    assert len(examples.starts) - 1 < 40
    assert app.pair(examples, 0, 0, 1).sum() == app.pair(examples, 0, 38, 39).sum()


# training


def test_training_finds_the_feature_that_tells_and_the_gap_is_certified(tmp_path):
    config, documents = told_apart(np.random.default_rng(9), "coreference", DIMENSION, tmp_path)
    app = config.create_application()
    examples = read(app, tmp_path, documents)
    model = learn_on(app, examples, config)
    assert model.record["certified"]
    assert model.record["converged"]
    assert model.record["training"]["mitre_loss"] == 0
    assert model.w[1] == max(model.w)
    oracle = DataOracle(app, examples, Executor(1))
    value = 0.5 * model.w @ model.w + 10 * (
        oracle.augmented(model.w)[1] - oracle.completed(model.w).value(model.w)
    )
    assert value == pytest.approx(model.record["objective"], rel=1e-9)


def test_the_commands_train_classify_and_show_weights_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.conll").write_text(STORY)
    (tmp_path / "c.yaml").write_text("application: coreference\ndata: {train: x.conll}\n")
    runner = CliRunner()
    assert runner.invoke(learn, ["c.yaml", "m", "-q"]).exit_code == 0
    done = runner.invoke(classify, ["x.conll", "m", "p.conll", "--metrics", "s.json"])
    assert done.exit_code == 0
    assert "mitre_loss" in done.output
    assert json.loads((tmp_path / "s.json").read_text())["mentions"] == 6
    written = (tmp_path / "p.conll").read_text().splitlines()
    assert [line.rsplit(" ", 1)[0] for line in written] == [
        line.rsplit(" ", 1)[0] for line in STORY.splitlines()
    ]
    shown = runner.invoke(main, ["show", "m", "--top", "3"]).output
    assert "coreference" in shown
    assert any(name in shown for name in coreference_features.NAMES)
    assert runner.invoke(classify, ["x.conll", "m", "-", "--json"]).exit_code == 0


def test_documents_of_pairs_are_written_as_one_cluster_a_mention(tmp_path):
    app = coreference()
    examples = read(app, tmp_path, [([1, 1, 2], {p: {} for p in [(0, 1), (0, 2), (1, 2)]}, 1)])
    file = io.StringIO()
    app.write(examples, Predictions(np.array([0, 1, 0]), None, np.zeros(1)), file)
    assert file.getvalue() == "document d0\nclusters 1 2 1\n"
