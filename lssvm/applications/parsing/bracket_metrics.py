"""Scores of parse trees as evalb computes them (Sekine & Collins 1997), from plain arrays.

A bracket is a label over the words start..end-1; parts of speech and the root are none. Brackets
of a predicted tree match those of the true one of the same label and words, each at most one. With
the exceptions of COLLINS.prm, words whose true part of speech is a punctuation mark are left out,
brackets that hold nothing else are none, and ADVP and PRT are the same label. Sentences without any
word that counts take no part in figures by sentence. One difference: evalb leaves out the words of
each tree by the parts of speech of that tree and refuses a sentence if the two trees then differ in
their words; here the parts of speech of the true tree decide for both.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

DELETED = frozenset({",", ":", "``", "''", "."})  # DELETE_LABEL of COLLINS.prm, TOP being the root
EQUAL = {"PRT": "ADVP"}  # EQ_LABEL of COLLINS.prm
FEW = 2  # "2 or less crossing"


class Brackets(NamedTuple):
    """The brackets of n trees, one tree after another.

    labels, starts, ends : (brackets,) int
    offsets : (n + 1,) int64
    """

    labels: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    offsets: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The tree of each bracket, (brackets,)."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def kept(self, which: np.ndarray) -> "Brackets":
        """Those for which ``which``, (brackets,) bool, is true."""
        before = np.concatenate([[0], np.cumsum(which)])
        parts = (self.labels[which], self.starts[which], self.ends[which])
        return Brackets(*parts, before[self.offsets])


class Counts(NamedTuple):
    """Counts of n trees, each (n,) int64.

    gold, test, matched : true brackets, predicted ones, and those that match
    crossing : predicted brackets that cross a true one
    words, tagged : words that count, and those with the right part of speech
    """

    gold: np.ndarray
    test: np.ndarray
    matched: np.ndarray
    crossing: np.ndarray
    words: np.ndarray
    tagged: np.ndarray

    @property
    def valid(self) -> np.ndarray:
        """Trees with words that count, (n,) bool; evalb skips the others."""
        return self.words > 0

    @property
    def exact(self) -> np.ndarray:
        """Trees with all brackets right and no other, (n,) bool."""
        return (self.matched == self.gold) & (self.matched == self.test)


def without_words(brackets: Brackets, kept: np.ndarray, words: np.ndarray) -> Brackets:
    """Brackets after some words were left out; those without any words left are left out too.

    kept : (all words,) bool; words : (n + 1,) offsets of the words of each tree
    """
    before = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
    first = words[brackets.rows]
    origin = before[first]
    starts = before[first + brackets.starts] - origin
    ends = before[first + brackets.ends] - origin
    moved = Brackets(brackets.labels, starts, ends, brackets.offsets)
    return moved.kept(starts < ends)


def matches(gold: Brackets, test: Brackets) -> np.ndarray:
    """How many brackets of each of n trees match, (n,) int64."""
    n = len(gold.offsets) - 1
    columns = [
        np.concatenate([one, other]).astype(np.int64)
        for one, other in zip(
            (gold.rows, gold.labels, gold.starts, gold.ends),
            (test.rows, test.labels, test.starts, test.ends),
            strict=True,
        )
    ]
    distinct, kind = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    kind = np.ravel(kind)
    mine, other = (
        np.bincount(part, minlength=len(distinct))
        for part in (kind[: len(gold.labels)], kind[len(gold.labels) :])
    )
    found = np.zeros(n, dtype=np.int64)
    np.add.at(found, distinct[:, 0], np.minimum(mine, other))
    return found


def crossings(gold: Brackets, test: Brackets) -> np.ndarray:
    """How many predicted brackets cross a true one, by tree, (n,) int64."""
    n = len(gold.offsets) - 1
    found = np.zeros(n, dtype=np.int64)
    for row in range(n):
        mine = slice(gold.offsets[row], gold.offsets[row + 1])
        other = slice(test.offsets[row], test.offsets[row + 1])
        a, b = gold.starts[mine], gold.ends[mine]
        c, d = test.starts[other, None], test.ends[other, None]
        crosses = ((a < c) & (c < b) & (b < d)) | ((c < a) & (a < d) & (d < b))
        found[row] = np.count_nonzero(crosses.any(axis=1))
    return found


def count(
    gold: Brackets,
    test: Brackets,
    words: np.ndarray,
    tags: tuple[np.ndarray, np.ndarray],
    names: tuple[Sequence[str], Sequence[str]],
    *,
    collins: bool = True,
) -> Counts:
    """Count the brackets of n predicted trees that are right.

    words : (n + 1,) offsets of the words; tags : true and predicted part of speech of each word
    names : of labels and of parts of speech; ``collins``: with the exceptions of COLLINS.prm
    """
    labels, kinds = names
    kept = np.ones(len(tags[0]), dtype=bool)
    if collins:
        kept = ~np.array([name in DELETED for name in kinds], dtype=bool)[tags[0]]
        number = {name: i for i, name in enumerate(labels)}
        same = np.array([number.get(EQUAL.get(name, name), i) for i, name in enumerate(labels)])
        gold, test = (
            without_words(each._replace(labels=same[each.labels]), kept, words)
            for each in (gold, test)
        )
    right = kept & (tags[0] == tags[1])
    return Counts(
        np.diff(gold.offsets),
        np.diff(test.offsets),
        matches(gold, test),
        crossings(gold, test),
        _sums(kept, words),
        _sums(right, words),
    )


def _sums(flags: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    before = np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])
    return before[offsets[1:]] - before[offsets[:-1]]


def f1_losses(gold: np.ndarray, test: np.ndarray, matched: np.ndarray) -> np.ndarray:
    """1 − F1 of trees with these numbers of brackets; 0 where neither tree has any."""
    total = np.asarray(gold + test, dtype=np.float64)
    return np.where(total > 0, 1.0 - 2.0 * matched / np.maximum(total, 1.0), 0.0)


def scores(counts: Counts) -> dict[str, float | None]:
    """The figures at the end of evalb's output, in percent but for ``crossing``.

    precision, recall, f1 : over all brackets, None without any
    exact_match : trees with all brackets right and no other, of the valid ones (see ``Counts``)
    crossing : mean number of crossing brackets of a tree; no_crossing, few_crossing : trees with
        none, and with two at most; of the valid ones too
    tagging_accuracy : words with the right part of speech
    """
    gold, test, matched = (int(np.sum(each)) for each in counts[:3])
    n, words = int(np.sum(counts.valid)), int(np.sum(counts.words))
    exact, crossing = counts.exact[counts.valid], counts.crossing[counts.valid]

    def share(part: float, whole: int) -> float | None:
        return 100.0 * float(part) / whole if whole else None

    return {
        "precision": share(matched, test),
        "recall": share(matched, gold),
        "f1": share(2 * matched, gold + test),
        "exact_match": share(float(np.sum(exact)), n),
        "crossing": float(np.sum(crossing)) / n if n else None,
        "no_crossing": share(float(np.sum(crossing == 0)), n),
        "few_crossing": share(float(np.sum(crossing <= FEW)), n),
        "tagging_accuracy": share(float(np.sum(counts.tagged)), words),
    }
