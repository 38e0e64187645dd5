"""Bags of mentions: what is read, kept, predicted, scored and written, apart from learning."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
import relation_files as cases
from sklearn import metrics

from lssvm.applications.base import Source
from lssvm.applications.relation import relation_metrics
from lssvm.applications.relation.predictions import Predictions
from lssvm.applications.relation.relation_data import RelationData
from lssvm.errors import DataError, ModelError


class Data(RelationData):
    """The parts of the application that need no inference."""

    def __init__(self, **options):
        self.options = SimpleNamespace(
            **{"relation_names": None, "feature_names": None, "bias": 0.0, **options}
        )


def data(**options):
    return Data(**options)


def written(folder, text, name="pairs.txt"):
    (folder / name).write_text(text)
    return Source(str(folder / name))


@pytest.fixture
def numbered(tmp_path):
    return written(tmp_path, cases.NUMBERED)


@pytest.fixture
def named(tmp_path):
    return written(tmp_path, cases.JSON, "pairs.jsonl")


# reading


def test_only_what_occurs_in_training_is_numbered(numbered):
    application = data()
    bags = application.read([numbered])
    assert application.relations == ("1", "3")
    assert application.vocabulary.features.tolist() == [1, 5, 7, 9]
    np.testing.assert_array_equal(
        bags.inputs.toarray(),
        [[1, 0, 0.5, 0], [0, 0, 0, 0], [0, 0, 0, 2], [1, 0, 1, 0], [0, -1, 0, 0]],
    )
    assert bags.places.tolist() == [0, 3, 4, 5]
    assert (bags.labels.tolist(), bags.label_places.tolist()) == ([0, 1], [0, 2, 2, 2])
    assert bags.known.tolist() == [True, True, False]
    assert not bags.labelled
    assert bags.names == ["1", "2", "3"]
    assert list(bags.mention_names) == ["1", "2", "3", "1", "1"]


def test_names_of_json_lines_are_kept(named):
    application = data(bias=2.0)
    bags = application.read([named])
    assert application.relations == ("born in", "lives in")
    names = [application.vocabulary.feature(j) for j in range(5)]
    assert names == ["was born in", "PER", "lives in", "distance", "bias"]
    np.testing.assert_array_equal(
        bags.inputs.toarray(),
        [[1, 2, 0, 0, 2], [0, 0, 1, 0.5, 2], [0, 1, 0, 0, 2], [0, 0, 0, 0, 2], [0, 2, 0, 0, 2]],
    )
    assert bags.costs.tolist() == [1.0, 1.0, 0.25]


def test_later_data_keep_the_places_of_training(tmp_path, numbered):
    application = data()
    application.read([numbered])
    later = written(tmp_path, "1\n60\n2\n60\n3\n1\n3 2:1 7:3 999999999:1\n", "later.txt")
    bags = application.read([later])
    np.testing.assert_array_equal(bags.inputs.toarray(), [[0, 0, 3, 0]])
    assert bags.left_out == 2
    assert bags.labels.tolist() == [1, 2]
    assert bags.relations == ("1", "3", "60")
    assert application.warnings(bags) == [
        "1 fact is of relations that training does not have, and cannot be found: 60",
        "1 pair has more relations than mentions, a truth that cannot be reached: left out of "
        "training",
        "2 values of features that training does not have: left out",
    ]


def test_high_numbers_of_features_are_looked_up_without_a_table(tmp_path):
    high = 2**31 - 2
    source = written(tmp_path, f"1\n1\n1\n1\n1\n3 0:1 5:2 {high}:3\n")
    application = data()
    bags = application.read([source])
    assert application.vocabulary.features.tolist() == [0, 5, high]
    later = written(tmp_path, f"1\n1\n0\n1\n3 5:2 6:1 {high + 1}:3\n", "later.txt")
    np.testing.assert_array_equal(application.read([later]).inputs.toarray(), [[0, 2, 0]])
    assert bags.inputs.nnz == 3


def test_relations_of_a_pair_increase_by_their_place_in_training(tmp_path, named):
    application = data()
    application.read([named])
    pair = {"relations": ["new", "lives in", "born in"], "mentions": [{"features": ["PER"]}]}
    bags = application.read([written(tmp_path, json.dumps(pair), "later.jsonl")])
    assert bags.labels.tolist() == [0, 1, 2]
    assert bags.relations == ("born in", "lives in", "new")


def test_numbers_get_names_from_files(tmp_path, numbered):
    written(tmp_path, "1 born in\n2 x\n3 lives in\n", "relations.tsv")
    written(tmp_path, "7 PER\n9 was born\n", "features.tsv")
    application = data(
        relation_names=str(tmp_path / "relations.tsv"), feature_names=str(tmp_path / "features.tsv")
    )
    application.read([numbered])
    assert application.relations == ("born in", "lives in")
    names = [application.vocabulary.feature(j) for j in range(4)]
    assert names == ["feature 1", "feature 5", "PER", "was born"]


def test_several_files_are_one_data_set(tmp_path, numbered):
    other = written(tmp_path, "1\n4\n1\n2\n1\n1 2:1\n", "other.txt")
    application = data()
    bags = application.read([numbered, other])
    assert application.relations == ("1", "2", "3")
    assert bags.labels.tolist() == [0, 2, 1]
    assert bags.inputs.shape == (6, 5)
    assert bags.files.tolist() == [0, 0, 0, 1]
    assert str(bags.error(3, "is wrong")) == f"{other.path}:3: pair '1' is wrong"


@pytest.mark.parametrize("text", [cases.NUMBERED, cases.JSON])
def test_parts_are_the_whole(tmp_path, text, monkeypatch):
    monkeypatch.setattr("lssvm.formats.relation_bags._PART", 1)
    monkeypatch.setattr("lssvm.formats.text._PIECE", 16)
    application, source = data(bias=1.0), written(tmp_path, text)
    whole = application.read([source, source])
    parts = list(application.read_parts([source, source]))
    assert len(parts) >= 4
    for name in ("mention_names", "names"):
        assert [n for part in parts for n in getattr(part, name)] == list(getattr(whole, name))
    for name in ("labels", "known", "costs", "lines", "files", "entities"):
        found = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(found, getattr(whole, name))
    found = np.concatenate([part.inputs.toarray() for part in parts])
    np.testing.assert_array_equal(found, whole.inputs.toarray())


@pytest.mark.parametrize("text", [cases.NUMBERED, cases.JSON])
def test_restored_state_reads_the_same(tmp_path, text):
    source, first, other = written(tmp_path, text), data(bias=1.0), data(bias=1.0)
    bags = first.read([source])
    other.restore(first.state())
    assert other.read([source]).fingerprint() == bags.fingerprint()
    assert other.vocabulary.relations == first.vocabulary.relations


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"relations": b""}, "array 'relations' is empty; expected the name of one at least"),
        ({"relations": b"a"}, "array 'relation_numbers' is int64 of shape (2,); expected int64 of "
                              "shape (1,)"),
        ({"relations": b"a\na"}, "two relations have one name; expected different names"),
        ({"relation_numbers": [3, 1]}, "array 'relation_numbers' does not increase; expected "
                                       "increasing numbers"),
        ({"feature_numbers": [-1]}, "array 'feature_numbers' holds -1 at [0]; expected finite "
                                    "numbers from 0 to 2.14748e+09"),
        ({"feature_numbers": []}, "0 features; expected at least one, and fewer"),
        ({"feature_names": b"a\nb"}, "array 'feature_names' has 2 names; expected 4"),
        ({"other": b"a"}, "'other' is not known; expected relations, relation_numbers, "
                          "feature_numbers, feature_names"),
    ],
)  # fmt: skip
def test_impossible_state_is_refused(numbered, change, message):
    application = data()
    application.read([numbered])
    state = application.state()
    for name, value in change.items():
        text = isinstance(value, bytes)
        state[name] = np.frombuffer(value, np.uint8) if text else np.array(value, dtype=np.int64)
    with pytest.raises(ModelError) as caught:
        data().restore(state)
    assert str(caught.value) == message


def test_training_without_relations_is_refused(tmp_path):
    source = written(tmp_path, "1\n3\n0\n1\n1 1:1\n")
    with pytest.raises(DataError) as caught:
        data().read([source])
    expected = "no pair has a relation; expected relations for training"
    assert str(caught.value) == f"{source.path}: {expected}"


def test_names_and_numbers_are_not_mixed(numbered, named):
    application = data()
    with pytest.raises(DataError) as caught:
        application.read([numbered, named])
    expected = "features and relations are names, and those of the first file of training numbers"
    assert str(caught.value) == f"{named.path}: {expected}; expected numbers"
    application.read([named])
    with pytest.raises(DataError) as caught:
        list(application.read_parts([numbered]))
    expected = "features and relations are numbers, and those of training names; expected names"
    assert str(caught.value) == f"{numbered.path}: {expected}"


def test_a_label_in_the_configuration_is_refused(numbered):
    with pytest.raises(DataError) as caught:
        data().read([Source(numbered.path, label="+1")])
    expected = "label '+1' in the configuration has no meaning for pairs; expected relations in"
    assert str(caught.value) == f"{numbered.path}: {expected} the file"


# packed bags


def drawn(tmp_path, seed, pairs=30):
    text, _ = cases.drawn_text(np.random.default_rng(seed), pairs)
    return data().read([written(tmp_path, text, f"{seed}.txt")])


def test_chosen_pairs_are_those_pairs(tmp_path):
    bags = drawn(tmp_path, 0)
    rows = np.random.default_rng(1).permutation(len(bags))[:12]
    chosen = bags.take(rows)
    for new, old in enumerate(rows):
        one, other = chosen.slice(new, new + 1), bags.slice(old, old + 1)
        assert one.fingerprint() == other.fingerprint()
        assert list(one.mention_names[one.span]) == list(other.mention_names[other.span])
    np.testing.assert_array_equal(chosen.truth(5), bags.truth(5)[rows])
    np.testing.assert_array_equal(chosen.sizes, bags.sizes[rows])
    np.testing.assert_array_equal(chosen.reachable, bags.reachable[rows])


def test_a_block_is_a_copy_of_its_pairs(tmp_path):
    bags = drawn(tmp_path, 2)
    block, copy = bags.slice(7, 19), bags.take(np.arange(7, 19))
    assert block.fingerprint() == copy.fingerprint()
    np.testing.assert_array_equal(block.sizes, copy.sizes)
    np.testing.assert_array_equal(block.truth(5), copy.truth(5))
    assert block.take([3, 4]).fingerprint() == copy.take([3, 4]).fingerprint()


def test_every_change_changes_the_fingerprint(tmp_path):
    text = "2\n3\n1\n2\n1\n1 4:1\n0\n2\n1 4:1\n1 5:1\n"
    other = [
        text.replace("1 5:1", "1 5:2"),
        text.replace("0\n2\n1 4:1\n1 5:1", "0\n1\n2 4:1 5:1"),
        text.replace("2\n3\n1\n2\n", "2\n3\n1\n1\n").replace("\n0\n", "\n1\n2\n"),
        text.replace("\n0\n", "\n?\n"),
    ]
    prints = [
        data().read([written(tmp_path, each, "x.txt")]).fingerprint() for each in (text, *other)
    ]
    assert len(set(prints)) == len(prints)


# scores


def found_and_scores(rng, n=60, count=4):
    truth = rng.random((n, count)) < [0.5, 0.2, 0.05, 0.0]
    scores = np.round(truth + rng.normal(0, 0.7, (n, count)), 1)  # with ties
    return truth, scores > 0.6, scores


@pytest.mark.parametrize("seed", range(10))
def test_metrics_are_those_of_scikit_learn(seed):
    truth, found, scores = found_and_scores(np.random.default_rng(seed))
    told = relation_metrics.all_scores(truth, found, scores, "abcd")
    for average in ("micro", "macro"):
        kept = (truth | found).any(axis=0)
        expected = metrics.precision_recall_fscore_support(
            truth[:, kept], found[:, kept], average=average, zero_division=0
        )
        prefix = "" if average == "micro" else "macro_"
        own = [told[f"{prefix}{name}"] for name in ("precision", "recall", "f1")]
        np.testing.assert_allclose(own, 100 * np.array(expected[:3]), rtol=1e-12)
    each = metrics.precision_recall_fscore_support(truth, found, average=None, zero_division=0)
    for place, name in enumerate("abcd"):
        if (truth | found)[:, place].any():
            own = [told[f"{what} ({name})"] for what in ("precision", "recall", "f1")]
            np.testing.assert_allclose(own, [100 * part[place] for part in each[:3]], rtol=1e-12)
    flat = truth.ravel(), scores.ravel()
    expected = 100 * metrics.average_precision_score(*flat)
    assert told["average_precision"] == pytest.approx(expected, rel=1e-12)
    precision, recall, _ = metrics.precision_recall_curve(*flat)
    assert told["pr_auc"] == pytest.approx(100 * metrics.auc(recall, precision), rel=1e-12)
    assert relation_metrics.wrong(truth, found).sum() / truth.size == pytest.approx(
        metrics.hamming_loss(truth, found)
    )
    both = (truth & found).sum()
    for beta in (0.5, 1.0, 2.0):
        expected = metrics.fbeta_score(truth, found, beta=beta, average="micro")
        own = relation_metrics.f_beta(truth.sum(), found.sum(), both, beta)
        assert own == pytest.approx(expected, rel=1e-12)


def test_precision_at_k_takes_the_first_of_equal_scores():
    truth = np.array([[True, False], [False, True], [True, True]])
    scores = np.array([[2.0, 1.0], [1.0, 1.0], [3.0, 1.0]])
    own = [relation_metrics.precision_at(truth, scores, k) for k in range(1, 8)]
    assert own == [1.0, 1.0, 2 / 3, 2 / 4, 3 / 5, 4 / 6, None]


def test_relations_that_training_does_not_have_are_missed():
    truth = np.array([[True, True], [False, True]])
    found, scores = np.array([[True], [False]]), np.array([[1.0], [0.5]])
    told = relation_metrics.all_scores(truth, found, scores, ["a", "new"])
    assert (told["precision"], told["recall"]) == (100.0, pytest.approx(100 / 3))
    assert told["recall (new)"] == 0.0
    assert told["average_precision"] == pytest.approx(100 / 3)
    assert relation_metrics.wrong(truth, found).tolist() == [1, 1]


def test_scores_without_facts_are_not_defined():
    truth = np.zeros((2, 1), dtype=bool)
    told = relation_metrics.all_scores(truth, truth, np.zeros((2, 1)), ["a"])
    assert (told["average_precision"], told["pr_auc"], told["P@100"]) == (None, None, None)
    assert (told["f1"], told["macro_f1"]) == (0.0, 0.0)
    assert relation_metrics.f_beta(0, 0, 0, 1.0) == 1.0


# predictions


def predicted(bags, seed, count):
    rng = np.random.default_rng(seed)
    n, span = len(bags), bags.span
    return Predictions(
        scores=rng.normal(size=(n, count)),
        mention_labels=rng.integers(-1, count, span.stop - span.start).astype(np.int32),
        best_mentions=(rng.random((n, count)) * bags.mention_counts[:, None]).astype(np.int32),
        values=rng.normal(size=n),
    )


def test_a_pair_has_the_relations_of_its_mentions(tmp_path):
    bags = drawn(tmp_path, 3).slice(5, 20)
    found = predicted(bags, 0, 4)
    labels = found.mention_labels
    for i, row in enumerate(found.relations(bags)):
        own = slice(bags.places[i] - bags.places[0], bags.places[i + 1] - bags.places[0])
        assert set(np.flatnonzero(row)) == set(labels[own].tolist()) - {-1}


def test_kept_parts_score_as_the_whole(tmp_path):
    application = data()
    text, _ = cases.drawn_text(np.random.default_rng(4), 40)
    source = written(tmp_path, text)
    bags = application.read([source])
    bags = bags.take(np.flatnonzero(bags.known))
    bags = type(bags)(**{**vars(bags), "labelled": True})
    count = len(application.relations)
    whole = predicted(bags, 1, count)
    parts = []
    for begin, end in ((0, 11), (11, 12), (12, len(bags))):
        part = bags.slice(begin, end)
        own = slice(part.span.start, part.span.stop)
        found = Predictions(
            whole.scores[begin:end],
            whole.mention_labels[own],
            whole.best_mentions[begin:end],
            whole.values[begin:end],
        )
        parts.append(application.kept(part, found))
    assert all(part.inputs.nnz == 0 for part, _ in parts)
    assert application.score(*application.joined(parts)) == application.score(bags, whole)


def test_parts_with_different_new_relations_are_joined_by_name(tmp_path, named):
    application = data()
    application.read([named])
    parts = []
    for relation in ("x", "y", "x"):
        pair = {"relations": ["born in", relation], "mentions": [{"features": ["PER"]}] * 2}
        bags = application.read([written(tmp_path, json.dumps(pair), "later.jsonl")])
        parts.append(application.kept(bags, predicted(bags, 0, 2)))
    whole, _ = application.joined(parts)
    assert whole.relations == ("born in", "lives in", "x", "y")
    assert whole.labels.tolist() == [0, 2, 0, 3, 0, 2]


def known_prediction():
    return Predictions(
        scores=np.array([[1.5, -0.25], [0.125, -1.0], [-2.0, 3.0]]),
        mention_labels=np.array([0, -1, 0, -1, 1], dtype=np.int32),
        best_mentions=np.array([[0, 1], [0, 0], [1, 1]], dtype=np.int32),
        values=np.array([1.0, 2.0, 3.0]),
    )


def text_of(write, *arguments, **keywords):
    file = io.StringIO()
    write(*arguments, file, **keywords)
    return file.getvalue()


def test_the_table_has_a_line_for_each_predicted_relation(named):
    application = data()
    bags = application.read([named])
    assert text_of(application.write, bags, known_prediction()) == (
        "pair\trelation\tscore\tbest_mention\n"
        "p1\tborn in\t1.5\td1:3\n"
        "Bob | Rome\tborn in\t0.125\t1\n"
        "3\tlives in\t3\t7\n"
    )
    candidates = text_of(application.formats["candidates"], bags, known_prediction()).splitlines()
    assert len(candidates) == 1 + 3 * 2
    assert candidates[2] == "p1\tlives in\t-0.25\td2:1"


def test_the_table_of_a_block_is_that_part_of_the_whole(named):
    application = data()
    bags, found = application.read([named]), known_prediction()
    whole, begun = text_of(application.write, bags, found), ""
    write = application.part_writer("facts")
    for begin, end in ((0, 1), (1, 3)):
        block = bags.slice(begin, end)
        part = Predictions(
            found.scores[begin:end],
            found.mention_labels[block.span],
            found.best_mentions[begin:end],
            found.values[begin:end],
        )
        begun += text_of(write, block, part)
    assert begun == whole


def test_records_hold_the_names_of_the_input(named):
    application = data()
    bags = application.read([named])
    first, second, third = application.records(bags, known_prediction())
    assert first == {
        "id": "p1",
        "entities": ["Ada", "London"],
        "y": ["born in"],
        "h": [
            {"mention": "d1:3", "relation": "born in"},
            {"mention": "d2:1", "relation": None},
        ],
        "score": 1.0,
        "scores": {"born in": 1.5},
        "best_mentions": {"born in": "d1:3"},
        "gold": ["born in", "lives in"],
        "loss": 1.0,
    }
    assert second["gold"] == []
    assert "entities" not in third
    assert "gold" not in third
    json.dumps([first, second, third])


def test_the_curve_is_drawn_of_labelled_pairs(tmp_path, named):
    application = data()
    bags = application.read([named])
    application.curve(bags, known_prediction(), tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_curve_of_no_facts_is_refused(tmp_path, named):
    application = data()
    bags = application.read([named]).take([1, 2])
    with pytest.raises(DataError) as caught:
        application.curve(bags, known_prediction(), tmp_path / "curve.png")
    expected = "no pair has a relation; expected some for the curve"
    assert str(caught.value) == f"{named.path}: {expected}"
    assert not (tmp_path / "curve.png").exists()


def test_a_long_curve_keeps_its_ends_when_it_is_thinned():
    points = relation_metrics.Curve(np.linspace(1, 0.1, 5000), np.linspace(0, 1, 5000))
    shown = relation_metrics.thinned(points)
    assert len(shown.recall) == 1000
    assert (shown.recall[0], shown.recall[-1], shown.precision[-1]) == (0.0, 1.0, 0.1)
