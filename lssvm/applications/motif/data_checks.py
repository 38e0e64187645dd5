"""Checks of DNA sequences for motif finding, for what looks wrong."""

from collections import Counter

import numpy as np

from lssvm.applications.motif.sequences import Sequences
from lssvm.errors import counted

_FEW = 5  # a class of fewer examples is worth a warning
_MANY = 0.1  # and so is a larger share of sequences without a window


def data_warnings(examples: Sequences, length: int, skip_unusable: bool) -> list[str]:
    """Few examples of a class, missing windows, repeated sequences, and different compositions.

    length : letters of a window; skip_unusable : whether training leaves out sequences without one
    """
    return [
        *_of_classes(examples),
        *_of_windows(examples, length, skip_unusable),
        *_of_composition(examples),
        *_of_copies(examples),
    ]


def _of_classes(examples: Sequences) -> list[str]:
    positives = int(np.sum(examples.labels > 0))
    negatives = int(np.sum(examples.labels < 0))
    if not examples.labelled or min(positives, negatives) >= _FEW:
        return []
    if positives and negatives:
        one = counted(positives, "positive sequence")
        return [f"only {one} and {counted(negatives, 'negative one')}"]
    own = "positive (label=+1)" if positives else "negative (label=-1)"
    return [f"all sequences are {own}: there is nothing to tell apart"]


def _of_windows(examples: Sequences, length: int, skip_unusable: bool) -> list[str]:
    empty = examples.windows == 0
    if skip_unusable:
        return [left_out(int(np.sum(empty)), length)] if empty.any() else []
    found = []
    lost = int(np.sum(empty & (examples.labels > 0)))
    if lost:
        found.append(
            f"{counted(lost, 'positive sequence has', 'positive sequences have')} no window of "
            f"{counted(length, 'known letter')}"
        )
    if np.mean(empty) > _MANY:
        share = 100 * np.mean(empty)
        found.append(f"{share:.0f} % of the sequences have no window and count as negative")
    return found


def left_out(count: int, length: int) -> str:
    """The warning about sequences that training does not use."""
    return (
        f"{counted(count, 'sequence has', 'sequences have')} no window of "
        f"{counted(length, 'known letter')}: "
        "left out of training, negative in predictions (skip_unusable)"
    )


def _of_composition(examples: Sequences, *, least: float = 0.1, errors: float = 3.0) -> list[str]:
    """Classes whose shares of G+C differ.

    least : smallest difference of the shares that is reported: ten points are two standard
        deviations of a sequence of 100 letters, so that letter counts separate most sequences
    errors : smallest difference in standard errors, because few letters may mislead
    """
    letters = examples.flat
    known = letters < 4
    positive = np.repeat(examples.labels > 0, examples.sizes)
    counts = [int(np.sum(known & part)) for part in (positive, ~positive)]
    if not examples.labelled or not all(counts):
        return []
    strong = (letters == 1) | (letters == 2)
    one, other = (
        np.sum(strong & part) / count
        for part, count in zip((positive, ~positive), counts, strict=True)
    )
    chance = 0.5 * np.sqrt(1 / counts[0] + 1 / counts[1])
    if abs(one - other) < max(least, errors * chance):
        return []
    return [
        f"G+C is {100 * one:.0f} % in positive and {100 * other:.0f} % in negative sequences: "
        "composition alone may separate them; negatives of similar composition give better motifs"
    ]


def _of_copies(examples: Sequences) -> list[str]:
    """Sequences that occur in both classes, or several times in one class."""
    classes: dict[bytes, set[int]] = {}
    times: Counter[bytes] = Counter()
    for i, label in enumerate(examples.labels):
        key = examples.letters[examples.offsets[i] : examples.offsets[i + 1]].tobytes()
        classes.setdefault(key, set()).add(int(label))
        times[key] += 1
    found = []
    torn = sum(len(labels) > 1 for labels in classes.values())
    if torn:
        found.append(f"{counted(torn, 'sequence occurs', 'sequences occur')} with both labels")
    copies = sum(times.values()) - len(times)
    if copies:
        found.append(
            counted(copies, "sequence is a copy of another", "sequences are copies of others")
        )
    return found
