"""The output formats of predictions of label sequences."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from lssvm.applications.sequence.examples import SequenceExamples
from lssvm.applications.sequence.sequence_counts import SequenceCounts


@dataclass(frozen=True)
class Predictions:
    """The best label sequences of n examples.

    labels : (tokens, top) int32, those of the k-th best path in column k; -1: there is none
    scores : (n, top) float64, w · Φ; -inf where there is none
    w : (d,), the weights that made them
    counts : what their scores add up from, where only this is kept
    """

    labels: np.ndarray
    scores: np.ndarray
    w: np.ndarray
    counts: SequenceCounts | None = None


def write_columns(examples: SequenceExamples, predictions: Predictions, file: TextIO) -> None:
    """The lines of the input with one more column, a blank line after each sequence.

    Lines that mark documents are left out. With several paths a sequence is written once for each
    path, after a line ``# rank score``, with ranks from 0 as in CRF++. Raises LssvmError for a
    label that cannot be written in the columns of the input.
    """
    _check_labels(examples)
    for i, k, own in _paths(examples, predictions):
        if predictions.labels.shape[1] > 1:
            file.write(f"# {k} {predictions.scores[i, k]:.10g}\n")
        for row, name in zip(
            _rows(examples, own), _names(examples, predictions, own, k), strict=True
        ):
            file.write(f"{row}{name}\n")
        file.write("\n")


def write_tags(examples: SequenceExamples, predictions: Predictions, file: TextIO) -> None:
    """One label per line, as in svm_hmm; each of several paths follows ``# rank score``."""
    for i, k, own in _paths(examples, predictions):
        if predictions.labels.shape[1] > 1:
            file.write(f"# {k} {predictions.scores[i, k]:.10g}\n")
        for name in _names(examples, predictions, own, k):
            file.write(f"{name}\n")


def write_marginals(
    examples: SequenceExamples, predictions: Predictions, marginals: np.ndarray, file: TextIO
) -> None:
    """The predicted label of each token, then ``label:probability`` of every label.

    They follow the line of the input, if there is one; a blank line ends each sequence.
    marginals : (tokens, L)
    Raises LssvmError for a label that cannot be written in the columns of the input.
    """
    _check_labels(examples)
    names = examples.vocabulary.labels
    for i in range(len(examples)):
        own = slice(examples.offsets[i], examples.offsets[i + 1])
        rows, found = _rows(examples, own), _names(examples, predictions, own, 0)
        for row, best, shares in zip(rows, found, marginals[own], strict=True):
            pairs = (f"{name}:{share:.6f}" for name, share in zip(names, shares, strict=True))
            blank = row[-1:] or "\t"
            file.write(blank.join((f"{row}{best}", *pairs)) + "\n")
        file.write("\n")


def records(
    examples: SequenceExamples, predictions: Predictions, losses: np.ndarray
) -> Iterator[dict[str, Any]]:
    """One dictionary per sequence.

    id; y : labels of its tokens; score : w · Φ; paths : y and score of each, best first, if several
    were requested; and if all its labels are known gold : those; loss : Δ
    """
    known = examples.known
    for i, name in enumerate(examples.identifiers):
        own = slice(examples.offsets[i], examples.offsets[i + 1])
        kept = np.flatnonzero(np.isfinite(predictions.scores[i])).tolist()
        paths = [
            {
                "y": _names(examples, predictions, own, k),
                "score": float(predictions.scores[i, k]),
            }
            for k in kept
        ]
        record: dict[str, Any] = {"id": name, **paths[0]}
        if predictions.labels.shape[1] > 1:
            record["paths"] = paths
        if known[i]:
            record |= {"gold": list(examples.tags[own]), "loss": float(losses[i])}
        yield record


def _paths(
    examples: SequenceExamples, predictions: Predictions
) -> Iterator[tuple[int, int, slice]]:
    """Sequence, rank and tokens of every path."""
    for i in range(len(examples)):
        for k in np.flatnonzero(np.isfinite(predictions.scores[i])):
            yield i, int(k), slice(examples.offsets[i], examples.offsets[i + 1])


def _check_labels(examples: SequenceExamples) -> None:
    """Refuse labels that contain a blank if columns are separated by blanks."""
    spaced = next((name for name in examples.vocabulary.labels if " " in name), None)
    if spaced is None:
        return
    for token, row in enumerate(examples.rows):
        if row is not None and "\t" not in row:
            i = int(np.searchsorted(examples.offsets, token, side="right")) - 1
            message = f"has columns separated by blanks, and label {spaced!r} of the model "
            raise examples.error(i, f"{message}contains a blank; expected tabs, or --format tags")


def _rows(examples: SequenceExamples, own: slice) -> list[str]:
    """The lines of the input up to the place of the additional column."""
    rows = [row for row in examples.rows[own] if row is not None]
    if not rows:
        return [""] * (own.stop - own.start)
    separators = ["\t" if "\t" in row else " " for row in rows]
    return [row.rstrip(" \t") + blank for row, blank in zip(rows, separators, strict=True)]


def _names(examples: SequenceExamples, predictions: Predictions, own: slice, k: int) -> list[str]:
    labels = examples.vocabulary.labels
    return [labels[label] for label in predictions.labels[own, k]]
