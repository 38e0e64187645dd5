"""Files that are read apart: state and examples are those of reading all of them in order."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from lssvm import load_config, oracle
from lssvm.applications.apart import ReadsApart, share_edges, shares, slices
from lssvm.errors import LssvmError
from lssvm.executor import Executor


def lines(path):
    return Path(path).read_text("utf-8").splitlines(keepends=True)


def rows():
    return lines("data/multiclass/train.txt")


def few_values():
    """Rows with few values each, and labels that are one although they are written in two ways."""
    found = []
    for number, line in enumerate(rows()):
        label, *values = line.split()
        wide = [f"{7 * int(v.split(':')[0]) + number % 50}:{v.split(':')[1]}" for v in values[:2]]
        found.append(" ".join([f"{'+' * (number % 3 == 1)}{len(label)}{ord(label[-1])}", *wide]))
    return [f"{line}\n" for line in found]


def sentences():
    text = Path("data/sequence/train.conll").read_text("utf-8")
    return [f"{part}\n\n" for part in text.strip("\n").split("\n\n")[:60]]


def numbered():
    """Sequences of svm_hmm."""
    rng, found = np.random.default_rng(0), []
    for number in range(40):
        for _ in range(1 + number % 3):
            columns = np.flatnonzero(rng.random(30) < 0.1) + 1
            values = " ".join(f"{column}:{rng.normal():.3f}" for column in columns)
            found.append(f"{'abc'[rng.integers(3)]} qid:{number} {values}\n")
    text = "".join(found)
    starts = [text.index(f" qid:{number} ") - 1 for number in range(40)]
    return [text[a:b] for a, b in itertools.pairwise([*starts, len(text)])]


def documents():
    text = Path("data/coreference/train.conll").read_text("utf-8")
    return [f"#begin document{part}" for part in text.split("#begin document")[1:]]


def queries():
    """The documents of each query."""
    found = itertools.groupby(lines("data/ranking/train.txt"), lambda line: line.split()[1])
    return ["".join(own) for _, own in found]


def records():
    """DNA of both classes, some records without a window."""
    found = []
    for name, label in (("ars", "+1"), ("intergenic", "-1")):
        parts = Path(f"data/motif/{name}.fa").read_text("utf-8").split(">")[1:30]
        found += [f">{part}".replace("\n", f" label={label}\n", 1) for part in parts]
    return [*found, ">short label=-1\nACGT\n"]


HMM = ["application={name: sequence, format: svm_hmm}"]
CASES = {
    "rows": ("multiclass", rows, []),
    "documents": ("coreference", documents, []),
    "documents-correlation": ("coreference-correlation", documents, []),
    "taxonomy": ("taxonomy", lambda: lines("data/taxonomy/train.txt"), []),
    "queries": ("precision_at_k", queries, []),
    "queries-scaled": ("precision_at_k", queries, ["application.scaling=query_range"]),
    "queries-sparse": (
        *(
            "precision_at_k",
            lambda: [q.replace(":", "00:").replace("qid00", "qid") for q in queries()],
        ),
        ["application.initialisation=random"],
    ),
    "records": (
        *("motif", records),
        ["application.skip_unusable=true", "application.class_costs=balanced"],
    ),
    "rows-balanced": ("multiclass", rows, ["application.class_costs=balanced"]),
    "rows-sparse": (
        *("multiclass", few_values),
        ["application.class_costs=balanced", "application.loss=zero_one"],
    ),
    "rows-from-0": (
        *("multiclass", lambda: [*rows()[:50], rows()[50].replace("1:", "0:", 1)]),
        ["application.loss=zero_one"],
    ),
    "sentences": ("sequence", sentences, []),
    "sentences-frequent": (
        *("sequence", sentences),
        ["application.min_count=3", "application.bias=1"],
    ),
    "tokens": ("sequence", numbered, [*HMM, "application.bias=0.5"]),
    "tokens-frequent": ("sequence", numbered, [*HMM, "application.min_count=7"]),
}


def parted(pieces, count, folder):
    """The names of files that have the pieces in order."""
    names = []
    for k in range(count):
        path = folder / f"part-{k:03d}.txt"
        own = pieces[len(pieces) * k // count : len(pieces) * (k + 1) // count]
        path.write_text("".join(own), encoding="utf-8")
        names.append(str(path))
    return names


def config_of(case, count, folder):
    name, pieces, settings = CASES[case]
    names = parted(pieces(), count, folder)
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
    before = 0
    for (first, last), part in zip(itertools.pairwise(edges), expected, strict=True):
        other = config.create_application()
        other.restore(learner.state())
        found = other.read_share(sources[first:last], plan, before)
        assert found.fingerprint() == part.fingerprint()
        assert list(found.names) == list(part.names)
        assert np.array_equal(other.work(found), whole.work(part))
        assert found.labelled
        before += len(found)
    largest = np.max([learner.largest_of(part) for part in expected], axis=0)
    assert learner.scale_warnings_of(largest) == whole.scale_warnings(examples)


def same(a, b):
    return a.keys() == b.keys() and all(
        a[name].dtype == b[name].dtype and np.array_equal(a[name], b[name]) for name in a
    )


@pytest.mark.parametrize(
    ("settings", "pieces"),
    [
        (["application.class_costs={9: 2}"], ["1 1:1\n", "2 1:1\n"]),
        ([], ["a 1:1\n", "birch 1:1\n"]),
        (["application.loss=zero_one"], ["? 1:1\n", "? 1:1\n"]),
        (["application.loss=zero_one", "data.max_mb=0.001"], ["a 1:1\n", "a 1:1 9999:1\n"]),
        (["application.loss=zero_one", "application.bias=0"], ["a\n", "b\n"]),
    ],
)
def test_what_cannot_be_learnt_is_refused_in_the_same_words(settings, pieces, tmp_path):
    names = parted(pieces, len(pieces), tmp_path)
    config = load_config("configs/multiclass.yaml", [f"data.train={names}", *settings])
    sources = config.sources("train")
    with pytest.raises(LssvmError) as expected:
        config.create_application().read(sources)
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
    w = np.random.default_rng(0).normal(size=application.dimension(examples))
    plane, upper = whole.augmented(w)
    found = [part.augmented(w) for part in parts]
    np.testing.assert_allclose(sum(own.gradient for own, _ in found), plane.gradient, atol=1e-9)
    assert sum(own for _, own in found) == pytest.approx(upper)
