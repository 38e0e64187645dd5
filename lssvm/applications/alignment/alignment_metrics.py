"""Losses and scores of alignments, and warnings about their data."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.alignment.inference import Alignments
from lssvm.applications.alignment.scoring import Scoring
from lssvm.errors import counted


def true_counts(examples: AlignmentExamples) -> np.ndarray:
    """Truly aligned pairs of letters of each example, (n,), 1 at least."""
    aligned = np.concatenate([[0], np.cumsum(examples.partners[examples.own_letters] >= 0)])
    x = examples.offsets[:-1] - examples.offsets[0]
    places = examples.own_places
    return np.maximum(aligned[places[x + 1]] - aligned[places[x]], 1)


@dataclass(frozen=True)
class Quality:
    """What the scores of n alignments need of them.

    missed : the share of truly aligned letters that are not within the stated shift of their
        partner, 1 where the true alignment is not known
    right, found, true : pairs of letters that are found and true, that are found, that are true
    """

    missed: np.ndarray
    right: np.ndarray
    found: np.ndarray
    true: np.ndarray


def _right(examples: AlignmentExamples, found: Alignments, shift: int) -> np.ndarray:
    """Letters that are at most ``shift`` letters from their true partner, of each example."""
    truth = examples.true_partners(found.arrays)
    near = (truth >= 0) & (found.partners >= 0) & (np.abs(truth - found.partners) <= shift)
    return np.add.reduceat(near, found.arrays.starts[:-1], dtype=np.int64)


def missed(examples: AlignmentExamples, found: Alignments, shift: int) -> np.ndarray:
    """The share of truly aligned letters that are not within ``shift`` of their partner, (n,).

    1 for every example whose alignment is not known.
    """
    return 1.0 - _right(examples, found, shift) / true_counts(examples)


def quality(examples: AlignmentExamples, found: Alignments, shift: int) -> Quality:
    """What the scores of alignments need of them."""
    pairs = np.add.reduceat(found.partners >= 0, found.arrays.starts[:-1], dtype=np.int64)
    return Quality(
        missed(examples, found, shift), _right(examples, found, 0), pairs, true_counts(examples)
    )


def joined(parts: Sequence[Quality]) -> Quality:
    """That of all parts."""
    return Quality(
        *(
            np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(Quality)
        )
    )


def alignment_scores(of: Quality) -> dict[str, float | None]:
    """Scores of alignments, means over the examples.

    q_score : share of truly aligned pairs that are found; modeler_score : share of pairs found that
        are true, 0 without any
    """
    return {
        "error": 100 * float(np.mean(of.missed)),
        "loss": float(np.mean(of.missed)),
        "q_score": float(np.mean(of.right / of.true)),
        "modeler_score": float(np.mean(of.right / np.maximum(of.found, 1))),
        "pairs": len(of.missed),
        "letters": int(of.true.sum()),
    }


def homolog_scores(
    examples: AlignmentExamples, values: np.ndarray, losses: np.ndarray
) -> dict[str, float | None]:
    """Scores of homologs among candidates.

    error : share of natives for which another candidate comes first; mean_rank : of the homologs
        from 1, equal scores count half; ties : natives whose homolog is the best one with another
    values : (candidates,)
    """
    own = values[examples.true_places][examples.owners]
    starts = examples.candidates[:-1]
    above = np.add.reduceat(values > own, starts, dtype=np.int64)
    equal = np.add.reduceat(values == own, starts, dtype=np.int64) - 1
    return {
        "error": 100 * float(np.mean(losses)),
        "accuracy": 100 - 100 * float(np.mean(losses)),
        "loss": float(np.mean(losses)),
        "mean_rank": float(np.mean(1 + above + equal / 2)),
        "ties": int(np.sum((above == 0) & (equal > 0))),
        "natives": len(examples),
        "candidates": len(values),
    }


def data_warnings(examples: AlignmentExamples, scoring: Scoring) -> list[str]:
    """Warnings about letters that are not in the alphabet, and about candidates without choice."""
    found = []
    letters = examples.codes[examples.own_letters] % (scoring.size + 1)
    others = int(np.sum(letters == scoring.size))
    if others:
        symbols = examples.symbols[examples.own_letters][letters == scoring.size]
        shown = ", ".join(chr(symbol) for symbol in np.unique(symbols)[:5])
        found.append(
            f"{others:,d} of {counted(len(letters), 'letter')} not in the alphabet ({shown}): "
            "score 0 with any letter"
        )
    if scoring.options.task == "homolog":
        alone = int(np.sum(np.diff(examples.candidates) == 1))
        if alone:
            found.append(
                f"{counted(alone, 'native has', 'natives have')} one candidate: nothing is learnt "
                "there"
            )
    return found
