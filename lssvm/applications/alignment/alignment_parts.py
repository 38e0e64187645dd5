"""What the scores of parts of a file need: true outputs, and what was predicted."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lssvm.applications.alignment import alignment_metrics
from lssvm.applications.alignment.alignment_output import Predictions
from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.alignment.inference import Alignments
from lssvm.kernels.alignment_arrays import AlignmentArrays
from lssvm.offsets import cumulated


def labels_alone(examples: AlignmentExamples) -> AlignmentExamples:
    """The true candidates of examples and the numbers of candidates, without letters and names."""
    names, whole = np.empty(0, dtype=object), np.empty(0, dtype=np.int64)
    return replace(
        examples,
        codes=whole.astype(np.int32),
        symbols=whole.astype(np.uint8),
        partners=whole.astype(np.int32),
        places=whole,
        sequence_names=names,
        offsets=examples.offsets - examples.offsets[0],
        identifiers=names,
        lines=whole,
        files=whole.astype(np.int32),
    )


def joined_labels(parts: Sequence[AlignmentExamples]) -> AlignmentExamples:
    """Those of several parts that :func:`labels_alone` gave."""
    truth, aligned, costs = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("truth", "aligned", "costs")
    )
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return replace(parts[0], truth=truth, aligned=aligned, costs=costs, offsets=cumulated(counts))


def scores_alone(
    examples: AlignmentExamples, predictions: Predictions, shift: int | None
) -> Predictions:
    """Predictions without alignments; shift : of the loss, None if they are not the output."""
    quality = None
    if shift is not None:
        quality = alignment_metrics.quality(examples, predictions.found, shift)
    none = np.empty(0, dtype=np.int64)
    arrays = AlignmentArrays(none.astype(np.int32), np.zeros(1, np.int64), none, none)
    found = Alignments(arrays, none.astype(np.int32), predictions.found.model, False)
    return replace(predictions, found=found, quality=quality)


def joined_scores(parts: Sequence[Predictions]) -> Predictions:
    """Those of several parts that :func:`scores_alone` gave."""
    chosen, values, scores = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("chosen", "values", "scores")
    )
    qualities = [part.quality for part in parts if part.quality is not None]
    return replace(
        parts[0],
        chosen=chosen,
        values=values,
        scores=scores,
        quality=alignment_metrics.joined(qualities) if qualities else None,
    )
