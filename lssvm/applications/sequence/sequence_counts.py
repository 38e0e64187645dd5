"""What the scores of label sequences need: counts, which add up over sequences.

Scores of a file that is read in parts need no more memory for many parts than for one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from lssvm.applications.sequence import sequence_metrics
from lssvm.applications.sequence.examples import SequenceExamples
from lssvm.applications.sequence.sequence_metrics import EntityCounts, blocks
from lssvm.offsets import gathered

Losses = Callable[[SequenceExamples, np.ndarray], np.ndarray]


class SequenceCounts(NamedTuple):
    """Counts of some sequences.

    sequences, tokens : those that are scored; the labels of these tokens are known
    wrong : tokens with another label; unseen : tokens whose label does not occur in training
    spoilt : sequences with a wrong token; loss : the sum of Δ
    entities : of the sequences whose labels are all known
    """

    sequences: int
    tokens: int
    wrong: int
    unseen: int
    spoilt: int
    loss: float
    entities: EntityCounts


def counts_of(examples: SequenceExamples, found: np.ndarray, losses: Losses) -> SequenceCounts:
    """The counts of labels that were found, (tokens,).

    losses : the function that gives Δ, (n,), of some of the sequences and labels of their tokens
    """
    parts = []
    for block in blocks(examples.offsets):
        tokens = slice(*examples.offsets[[block.start, block.stop]].tolist())
        own = examples.slice(block.start, block.stop)
        parts.append(_counted(own, found[tokens], losses))
    return added(parts)


def added(parts: Sequence[SequenceCounts]) -> SequenceCounts:
    """The counts of all parts together, at least one."""
    sums = {
        name: sum(getattr(part, name) for part in parts) for name in SequenceCounts._fields[:-1]
    }
    entities = sequence_metrics.added([part.entities for part in parts])
    return SequenceCounts(**sums, entities=entities)


def scores_of(counts: SequenceCounts) -> dict[str, float | None]:
    """The scores in percent, mean Δ, and numbers; see ``LabelSequences.score``."""
    error = 100 * (counts.wrong / counts.tokens if counts.tokens else np.nan)
    return {
        "error": error,
        "accuracy": 100 - error,
        "sequence_error": 100 * counts.spoilt / counts.sequences,
        "loss": counts.loss / counts.sequences,
        **sequence_metrics.entity_scores(counts.entities),
        "sequences": counts.sequences,
        "tokens": counts.tokens,
        "unseen_labels": counts.unseen,
    }


def _counted(examples: SequenceExamples, found: np.ndarray, losses: Losses) -> SequenceCounts:
    told, whole = examples.told, examples.known
    wrong = (found != examples.labels) & told
    rows, offsets = cast(Any, slice(None)), examples.offsets
    if not np.all(whole):
        rows, offsets = gathered(examples.offsets, np.flatnonzero(whole))
    names, truth = sequence_metrics.numbered(
        examples.vocabulary.labels, examples.labels[rows], examples.tags[rows]
    )
    return SequenceCounts(
        sequences=len(examples),
        tokens=int(told.sum()),
        wrong=int(wrong.sum()),
        unseen=int(np.sum((examples.labels < 0) & told)),
        spoilt=int(np.sum(np.logical_or.reduceat(wrong, examples.offsets[:-1]))),
        loss=float(np.sum(losses(examples, found))),
        entities=sequence_metrics.entity_counts(names, truth, found[rows], offsets),
    )


def unseen_alone(examples: SequenceExamples) -> SequenceExamples:
    """One sequence of one token, without features, for each label that training does not have.

    They stand for the examples whose counts are kept, for the warnings about their labels.
    """
    names = dict.fromkeys(examples.tags[examples.labels < 0])
    names.pop(None, None)
    return _alone(examples, list(names))


def unseen_joined(parts: Sequence[SequenceExamples]) -> SequenceExamples:
    """Those of several parts."""
    return _alone(parts[0], list(dict.fromkeys(tag for part in parts for tag in part.tags)))


def _alone(examples: SequenceExamples, names: Sequence[str]) -> SequenceExamples:
    count = len(names)
    tags, none = np.empty(count, dtype=object), np.full(count, None, dtype=object)
    tags[:] = names
    whole = np.zeros(count, dtype=np.int64)
    dense = np.zeros((0 if examples.is_sparse else count, examples.width))
    return replace(
        examples,
        dense=dense,
        indices=whole[:0].astype(np.int32),
        values=np.zeros(0),
        starts=np.zeros(count + 1 if examples.is_sparse else 0, dtype=np.int64),
        offsets=np.arange(count + 1),
        labels=np.full(count, -1, dtype=np.int32),
        tags=tags,
        rows=none,
        identifiers=none,
        lines=whole,
        files=whole.astype(np.int32),
        costs=np.ones(count),
    )
