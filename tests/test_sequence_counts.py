"""What is kept of labelled sequences until they are scored, and that it is enough and little."""

import numpy as np
import pytest
from scipy import sparse

from lssvm.applications.sequence import sequence_metrics
from lssvm.applications.sequence.examples import packed
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


def test_what_is_kept_does_not_grow_with_the_tokens():
    application = SequenceLabelling(SequenceOptions(format="svm_hmm"))
    for tokens in (300, 3000):
        examples, found = application.kept(*drawn(np.random.default_rng(2), tokens, 0.1))
        assert sorted(examples.tags) == ["B-c", "I-b"]
        assert examples.labelled
        assert (len(examples), found.labels.size, len(examples.inputs.indices)) == (2, 0, 0)
        assert found.counts.tokens == tokens
