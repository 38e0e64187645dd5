"""Files that are read apart: state and examples are those of reading all of them in order."""

import itertools
import re

import apart_samples as samples
import numpy as np
import pytest

from lssvm import load_config, oracle
from lssvm.applications.apart import Here, ReadsApart, share_edges, shares, slices
from lssvm.errors import DataError, LssvmError
from lssvm.executor import Executor
from lssvm.problem import CompiledByExample
from lssvm.training.distributed.worker import Blocks, Recipe

HMM = ["application={name: sequence, format: svm_hmm}"]
NAMED = ["application.relation_names=null", "application.feature_names=null"]
LATENT_HMM = ["application={name: latent_sequence, format: svm_hmm}"]
CASES = {
    "rows": ("multiclass", samples.rows, []),
    "documents": ("coreference", samples.documents, []),
    "documents-correlation": ("coreference-correlation", samples.documents, []),
    "taxonomy": ("taxonomy", lambda: samples.lines("data/taxonomy/train.txt"), []),
    "queries": ("precision_at_k", samples.queries, []),
    "queries-scaled": ("precision_at_k", samples.queries, ["application.scaling=query_range"]),
    "queries-sparse": (
        *("precision_at_k", samples.wide_queries),
        ["application.initialisation=random"],
    ),
    "records": (
        *("motif", samples.records),
        ["application.skip_unusable=true", "application.class_costs=balanced"],
    ),
    "rows-balanced": ("multiclass", samples.rows, ["application.class_costs=balanced"]),
    "rows-sparse": (
        *("multiclass", samples.few_values),
        ["application.class_costs=balanced", "application.loss=zero_one"],
    ),
    "rows-from-0": (
        "multiclass",
        lambda: [*samples.rows()[:50], samples.rows()[50].replace("1:", "0:", 1)],
        ["application.loss=zero_one"],
    ),
    "sentences": ("sequence", samples.sentences, []),
    "sentences-frequent": (
        *("sequence", samples.sentences),
        ["application.min_count=3", "application.bias=1"],
    ),
    "tokens": ("sequence", samples.numbered, [*HMM, "application.bias=0.5"]),
    "tokens-frequent": ("sequence", samples.numbered, [*HMM, "application.min_count=7"]),
    "latent": ("latent_sequence", samples.half_labelled, ["application.min_count=2"]),
    "latent-tokens": ("latent_sequence", samples.numbered, [*LATENT_HMM, "application.bias=0.5"]),
    "graphs": ("mrf", samples.graphs, []),
    "pairs": ("relation", samples.pairs, ["application.loss=hamming"]),
    "pairs-named": ("relation", samples.named_pairs, [*NAMED, "application.bias=0"]),
    "natives": ("alignment", samples.natives, []),
    "aligned": ("alignment-pairs", samples.aligned, []),
    "trees": (
        "parsing",
        samples.unknown_trees,
        ["application.span_features=[length, word_before]"],
    ),
    "trees-tagged": (
        *("parsing", samples.unknown_trees),
        ["application.tags=predicted", "application.min_count=3", "application.vertical=2"],
    ),
    "trees-short": ("latent_parsing", samples.unknown_trees, ["application.max_words=10"]),
    "trees-skipped": (
        *("parsing", samples.chains),
        ["application.longest_chain=3", "application.unparsable=skip"],
    ),
}


def config_of(case, count, folder):
    name, pieces, settings = CASES[case]
    names = samples.parted(pieces(), count, folder)
    return load_config(f"configs/{name}.yaml", [f"data.train={names}", *settings])


@pytest.mark.parametrize("count", [1, 3, 6, 40])
@pytest.mark.parametrize("case", CASES)
def test_files_that_are_read_apart_give_the_same_state_and_examples(case, count, tmp_path):
    if count > len(CASES[case][1]()):
        pytest.skip("there are not so many pieces")
    config = config_of(case, count, tmp_path)
    files = config.sources("train")
    whole = config.create_application()
    examples = whole.for_training(whole.read(files))
    sources = [each for source in files for each in whole.files_of(source)]

    learner = config.create_application()
    assert isinstance(learner, ReadsApart)
    assert learner.why_together() == ""
    taught = [config.create_application().taught(source) for source in sources]
    plan = learner.learn_from(sources, taught)
    assert same(learner.state(), whole.state())

    edges = shares([each.examples for each in taught])
    expected = slices(examples)
    assert len(expected) == len(edges) - 1
    before, labelled = 0, []
    for (first, last), part in zip(itertools.pairwise(edges), expected, strict=True):
        other = config.create_application()
        other.restore(learner.state())
        # Some files are read again, as those of a worker that was lost.
        kept = [taught[place].kept if place % 2 == 0 else None for place in range(first, last)]
        found = other.share_of(kept, sources[first:last], plan, before)
        assert found.fingerprint() == part.fingerprint()
        assert list(found.names) == list(part.names)
        assert np.array_equal(other.work(found), whole.work(part))
        labelled.append(found.labelled)
        before += len(found)
    assert all(labelled) == examples.labelled
    if isinstance(whole, CompiledByExample):
        sums = whole.row_sums(examples)
        added = [np.sum(own, axis=0) for own in zip(*map(whole.row_sums, expected), strict=True)]
        assert np.array_equal(added[0], sums.counts)
        np.testing.assert_allclose(added[1], sums.sums, rtol=1e-9, atol=1e-9)
    largest = np.max([learner.largest_of(part) for part in expected], axis=0)
    assert learner.scale_warnings_of(largest) == whole.scale_warnings(examples)


def same(a, b):
    return a.keys() == b.keys() and all(
        a[name].dtype == b[name].dtype and np.array_equal(a[name], b[name]) for name in a
    )


GRAPH = "graph g\nnode a k 2 1 1:1\nnode b m 2 0\nedge a b e\n\n"
TREE = "(S (NP (DT a) (NN b)))\n"
ODD = "(S (@NP[DT] (DT a)) (NP (DT a)))\n"  # a label as symbols of the grammar are called


@pytest.mark.parametrize(
    ("name", "settings", "pieces"),
    [
        ("multiclass", ["application.class_costs={9: 2}"], ["1 1:1\n", "2 1:1\n"]),
        ("multiclass", [], ["a 1:1\n", "birch 1:1\n"]),
        ("multiclass", ["application.loss=zero_one"], ["? 1:1\n", "? 1:1\n"]),
        (
            *("multiclass", ["application.loss=zero_one", "data.max_mb=0.001"]),
            ["a 1:1\n", "a 1:1 9999:1\n"],
        ),
        ("multiclass", ["application.loss=zero_one", "application.bias=0"], ["a\n", "b\n"]),
        ("mrf", [], [GRAPH, f"# another\n{GRAPH.replace('a k 2', 'a k 3')}"]),
        ("mrf", [], [GRAPH, GRAPH.replace("k 2", "q 3")]),
        ("mrf", [], [GRAPH.replace("1:1", "1000000:1").replace(" 2 ", " 9000 ")] * 2),
        ("latent_sequence", [], ["a X ?\n\n", "b Y ?\n\n"]),
        ("relation", [], ["1\n2\n1\n2\n1\n1 1:1\n", '{"mentions": [{"features": ["a"]}]}\n']),
        ("relation", [], ["1\n2\n0\n1\n1 1:1\n"] * 2),
        ("relation", NAMED, ['{"mentions": [{"features": ["a"]}]}\n'] * 2),
        ("parsing", [], [TREE, "(? (DT a))\n", TREE.replace("NP", "NN")]),
        ("parsing", [], [TREE, "(S (NP (DT a) (S (DT a)) (NP (DT a)) (DT a)))\n" * 2, ODD]),
        ("parsing", ["application.max_words=1"], [TREE, TREE]),
        (
            *("parsing", ["application.longest_chain=2"]),
            [TREE, f"{TREE}\n(S (NP (NP (NP (NN a)))))", "(S (NP (NP (NP (NN a)))))\n"],
        ),
    ],
)
def test_what_cannot_be_learnt_is_refused_in_the_same_words(name, settings, pieces, tmp_path):
    names = samples.parted(pieces, len(pieces), tmp_path)
    config = load_config(f"configs/{name}.yaml", [f"data.train={names}", *settings])
    sources, whole = config.sources("train"), config.create_application()
    with pytest.raises(LssvmError) as expected:
        whole.for_training(whole.read(sources))
    learner = config.create_application()
    taught = [config.create_application().taught(source) for source in sources]
    with pytest.raises(LssvmError) as found:
        learner.learn_from(sources, taught)
    assert str(found.value) == str(expected.value)


def test_shares_are_whole_files_and_few():
    assert shares([5]) == [0, 1]
    assert shares([5, 5, 5]) == [0, 1, 2, 3]
    assert shares([1000, 1, 1000, 1, 1]) == [0, 1, 5]
    assert shares([1, 1, 1000, 1, 1000]) == [0, 3, 5]
    assert shares([1, 1000]) == [0, 2]
    assert shares([1] * 64) == list(range(65))
    many = shares([1] * 1000)
    assert many[0] == 0
    assert many[-1] == 1000
    assert 32 <= len(many) - 1 <= 64
    assert min(np.diff(many)) >= 1000 / 64


def test_shares_of_examples_are_those_of_the_files_that_they_are_from():
    assert share_edges(np.array([0, 0, 1, 1, 1, 3])).tolist() == [0, 2, 5, 6]
    assert share_edges(np.array([4, 4])).tolist() == [0, 2]
    assert share_edges(np.array([], dtype=np.int32)).tolist() == [0, 0]
    assert share_edges(np.array([1, 0, 1])).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("case", ["rows", "sentences"])
def test_one_file_is_one_share(case, tmp_path):
    config = config_of(case, 1, tmp_path)
    examples = config.create_application().read(config.sources("train"))
    assert examples.shares.tolist() == [0, len(examples)]


WRONG = {
    "multiclass": "birch 1:nan\n",
    "mrf": "graph g\nnode a k two 1\n",
    "latent_sequence": "a X B-LOC more\n\n",
    "relation": "one 1:1\n",
    "alignment": ">x role=other\nACG\n",
    "parsing": "(S (NP (DT a)\n",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_in_a_file_is_told_by_a_worker_in_the_same_words(name, tmp_path):
    """What runs on a worker is asked here."""
    path = tmp_path / "wrong.txt"
    path.write_text(WRONG[name], "utf-8")
    config = load_config(f"configs/{name}.yaml", [f"data.train={path}"])
    (source,) = config.sources("train")
    with pytest.raises(DataError) as expected:
        config.create_application().read([source])
    worker = Blocks(1)
    worker.know(Recipe.of(config.create_application(), read=False))
    reply = worker.taught([(0, source)])
    assert reply.error == ("DataError", str(expected.value))
    assert not reply.own
    assert re.match(rf"{re.escape(str(path))}:\d+: [^\n]+$", reply.error[1])


STARTS = {
    "graphs": (["objective.model=ssvm"], "has a node without a label, 'h1'; expected lab"),
    "latent": ([], "has no labels, and no other sequence has any; expected labels"),
    "natives": (["application.task=homolog"], "has no homolog; expected role=homolog of one"),
    "trees": ([], "has no tree; expected one for training"),
}


@pytest.mark.parametrize("case", STARTS)
def test_data_that_training_cannot_begin_with_are_refused_share_by_share(case, tmp_path):
    name, pieces, _ = CASES[case]
    settings, told = STARTS[case]
    spoilt = {
        "graphs": lambda text: re.sub(" [?-] ", " 0 ", text),
        "latent": lambda text: re.sub(r"\S+\n", "?\n", text),
        "natives": lambda text: re.sub("role=[hd].*", "role=candidate", text).replace("-", ""),
        "trees": lambda text: text,
    }[case]
    spoiling = range(20) if case == "graphs" else range(20, 40) if case == "natives" else range(60)
    texts = [spoilt(text) if k in spoiling else text for k, text in enumerate(pieces())]
    names = samples.parted(texts, 3, tmp_path)
    config = load_config(f"configs/{name}.yaml", [f"data.train={names}", *settings])
    application = config.create_application()
    if case == "latent":  # labels that an earlier file has had
        application.read(load_config(f"configs/{name}.yaml").sources("train"))
    examples = application.read(config.sources("train"))
    assert len(slices(examples)) == 3
    found = []
    for ask in (Here(application, examples), Here(application, examples, whole=True)):
        with pytest.raises(DataError) as caught:
            application.start_apart(ask, np.random.default_rng(0))
        found.append(str(caught.value))
    assert found[0] == found[1]
    assert told in found[0]


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_parts_of_several_shares_have_all_examples_once(groups, tmp_path, monkeypatch):
    """Steps over parts are made in several places at once, if a part has enough work for that."""
    monkeypatch.setattr(oracle, "BLOCK_RULES", ((300, 64),))
    monkeypatch.setattr(oracle, "SPREAD", groups)
    monkeypatch.setattr(oracle, "PIECE", 1)
    config = config_of("rows", 5, tmp_path)
    application = config.create_application()
    examples = application.read(config.sources("train"))
    whole = oracle.DataOracle(application, examples, Executor())
    size = -(-len(examples) // 7)
    parts = whole.parts(size)
    assert len(parts) == 7
    assert max(len(part.costs) for part in parts) <= size + groups
    names = [name for part in parts for block in part.blocks for name in block.names]
    assert sorted(map(int, names)) == list(range(1, len(examples) + 1))
    for part in parts:
        files = [set(block.files.tolist()) for block in part.blocks]
        assert all(len(own) == 1 for own in files)
        assert len(set.union(*files)) >= groups
    assert len(whole.parts(3)) == -(-len(examples) // 3)  # more than a file has examples
    w = np.random.default_rng(0).normal(size=application.dimension(examples))
    plane, upper = whole.augmented(w)
    found = [part.augmented(w) for part in parts]
    np.testing.assert_allclose(sum(own.gradient for own, _ in found), plane.gradient, atol=1e-9)
    assert sum(own for _, own in found) == pytest.approx(upper)
