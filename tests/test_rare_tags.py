"""What is kept of labelled sequences until they are scored, and that it is enough and little."""

import numpy as np
import pytest
from scipy import sparse

from lssvm.applications.sequence import sequence_metrics
from lssvm.applications.sequence.examples import packed
from lssvm.applications.sequence.rare_tags import RareTags, narrow
from lssvm.applications.sequence.sequence import SequenceLabelling, SequenceOptions
from lssvm.applications.sequence.sequence_output import Predictions
from lssvm.applications.sequence.vocabulary import Vocabulary

NAMES = ("O", "B-a", "I-a", "B-b")


def drawn(rng, tokens, others):
    """Labelled sequences and predictions; a share ``others`` of the labels is not of training."""
    names = np.array([*NAMES, "I-b", "B-c"], dtype=object)
    codes = rng.integers(len(NAMES), size=tokens) + 2 * (rng.random(tokens) < others)
    edges = np.unique(np.concatenate([[0, tokens], rng.integers(tokens, size=tokens // 5)]))
    rows = sparse.csr_array(np.eye(3)[rng.integers(3, size=tokens)])
    examples = packed(rows, list(names[codes]), edges, Vocabulary(NAMES, 3))
    labels = rng.integers(len(NAMES), size=(tokens, 2)).astype(np.int32)
    none = np.empty((0, 0))
    return examples, Predictions(labels, none, none.ravel())


@pytest.mark.parametrize("others", [0.0, 0.3])
@pytest.mark.parametrize("at_once", [1, 7, 10**6])
@pytest.mark.parametrize("loss", ["hamming", "zero_one"])
def test_scores_of_what_is_kept_of_parts_are_those_of_the_whole(others, at_once, loss, monkeypatch):
    application = SequenceLabelling(SequenceOptions(format="svm_hmm", loss=loss))
    examples, found = drawn(np.random.default_rng(1), 200, others)
    whole = application.score(examples, found)
    monkeypatch.setattr(sequence_metrics, "_AT_ONCE", at_once)
    kept = []
    for first, last in ((0, 3), (3, 4), (4, len(examples))):
        own = slice(*examples.offsets[[first, last]])
        part = Predictions(found.labels[own], found.scores, found.w)
        kept.append(application.kept(examples.slice(first, last), part))
    assert application.score(*application.joined(kept)) == whole
    assert application.score(examples, found) == whole
    assert (whole["unseen_labels"] > 0) == (others > 0)


def test_two_bytes_a_token_are_kept():
    application = SequenceLabelling(SequenceOptions(format="svm_hmm"))
    examples, found = application.kept(*drawn(np.random.default_rng(2), 1000, 0.0))
    assert examples.labels.nbytes + found.labels.nbytes == 2 * 1000
    assert len(examples.tags) == 1000
    assert len(examples.tags.places) == len(examples.tags.names) == 0
    arrays = (examples.dense, examples.indices, examples.values, examples.starts, examples.rows)
    assert sum(array.nbytes for array in arrays) == 0


@pytest.mark.parametrize(
    ("count", "kind"), [(128, np.int8), (129, np.int16), (2**15, np.int16), (2**15 + 1, np.int32)]
)
def test_labels_are_as_narrow_as_their_number_allows(count, kind):
    labels = np.array([-1, 0, count - 1], dtype=np.int32)
    found = narrow(labels, count)
    assert found.dtype == kind
    np.testing.assert_array_equal(found, labels)


def test_more_names_than_a_narrow_type_holds_are_numbered():
    names = [str(place) for place in range(126)]
    tags = np.array(["0", "x", "y", "z"], dtype=object)
    labels = np.array([0, -1, -1, -1], dtype=np.int8)
    every, found = sequence_metrics.numbered(names, labels, RareTags.of(labels, tags))
    assert [every[code] for code in found] == list(tags)
    assert len(every) == 129


def test_rare_labels_are_found_by_range_place_and_mark():
    labels = np.array([0, -1, 2, -1, -1, 1])
    tags = np.array(["a", "x", "c", None, "y", "b"], dtype=object)
    rare = RareTags.of(labels, tags)
    assert rare[np.array([1, 2, 4])].tolist() == ["x", None, "y"]
    assert rare[labels < 0].tolist() == ["x", None, "y"]
    part = rare[2:5]
    assert (len(part), part[np.array([0, 1, 2])].tolist()) == (3, [None, None, "y"])
    both = RareTags.joined([rare, part])
    assert len(both) == 9
    assert both[np.arange(9)].tolist() == [None, "x", None, None, "y", None, None, None, "y"]
