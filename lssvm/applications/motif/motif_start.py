"""Initialisation of motif training: sites found from single windows of the positives.

A random site in every positive, as in the papers, is seldom a good initialisation: in the first
convex problem each random window must score higher than all others of its sequence, and w is almost
0. Here windows are drawn uniformly at random from the positives as trial motifs, one at a time, as
MEME starts from subsequences (Bailey & Elkan 1994). A trial motif scores a window by the letters
that they share, with higher scores for rare letters. The trial that separates the classes best, by
the Kolmogorov-Smirnov statistic of the best windows, is kept. Then sites and letter frequencies are
estimated from each other a few times, and the motif is shifted to the columns with the highest
information content (the phase shift of Lawrence et al. 1993), as long as this does not separate the
classes worse: columns that all sequences share have high information content too.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from lssvm.applications.apart import Ask
from lssvm.applications.motif.sequences import Sequences
from lssvm.offsets import cumulated

REFINEMENTS = 5


def drawn_windows(
    windows: np.ndarray, rows: np.ndarray, strands: int, rng: np.random.Generator, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct windows of the sequences ``rows``, uniformly at random.

    windows : (n,) the number of starts in each sequence

    Returns for each the sequence, the rank of its start and its strand, (at most count,).
    """
    ends = np.cumsum(strands * windows[rows])
    picks = rng.choice(ends[-1], size=min(count, int(ends[-1])), replace=False)
    which = np.searchsorted(ends, picks, side="right")
    found = rows[which]
    ranks = picks - (ends[which] - strands * windows[found])
    strand, rank = np.divmod(ranks, windows[found])
    return found, rank, strand.astype(np.int8)


class Sites(NamedTuple):
    """What is known of the sequences of all shares while sites are looked for.

    labels : (n,) int8; costs : (n,); windows : (n,) int64, of each sequence
    letters : (4,) how often each is there; edges : where each share begins, and n
    """

    labels: np.ndarray
    costs: np.ndarray
    windows: np.ndarray
    letters: np.ndarray
    edges: list[int]

    @classmethod
    def of(cls, facts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]) -> Self:
        """From the labels, costs, windows and counts of letters of every share."""
        labels, costs, windows, letters = zip(*facts, strict=True)
        edges = cumulated([len(own) for own in labels]).tolist()
        parts = (np.concatenate(labels), np.concatenate(costs), np.concatenate(windows))
        return cls(*parts, np.sum(letters, axis=0), edges)

    def parted(self, *arrays: np.ndarray) -> list[tuple[np.ndarray, ...]]:
        """Arrays (n,) in parts, by share."""
        return [tuple(own[a:b] for own in arrays) for a, b in pairwise(self.edges)]


def found_sites(
    ask: Ask,
    sites: Sites,
    length: int,
    trials: tuple[np.ndarray, np.ndarray, np.ndarray],
    both: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The start within its sequence and the strand of a site in each sequence, (n,) each.

    ask : the shares; see ``MotifApart`` for what they answer
    trials : windows as :func:`drawn_windows` gives them
    both : whether letters of both strands count as frequent
    """
    frequencies = sites.letters + 1.0
    if both:
        frequencies = frequencies + frequencies[::-1]
    frequencies /= frequencies.sum()
    rarity = -np.log(frequencies)
    best, matrix = -np.inf, np.zeros((length, 4))
    for letters in _letters(ask, sites, trials):
        trial = np.zeros((length, 4))
        trial[np.arange(length), letters] = rarity[letters]
        separation = _separation(sites, _search(ask, trial)[2])
        if separation > best:
            best, matrix = separation, trial
    starts, strands, _ = _search(ask, matrix)
    for _ in range(REFINEMENTS):
        counts = sum(ask("site_counts", each=sites.parted(starts, strands)))
        matrix = _framed(counts, length, frequencies)
        moved, turned, scores = _search(ask, matrix)
        separation = _separation(sites, scores)
        if separation < best:
            break
        best, starts, strands = separation, moved, turned
    return starts, strands


def _search(ask: Ask, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start, strand and score of the best window in each sequence by a matrix (l, 4)."""
    starts, strands, scores = zip(*ask("best_windows", matrix), strict=True)
    return np.concatenate(starts), np.concatenate(strands), np.concatenate(scores)


def _letters(
    ask: Ask, sites: Sites, trials: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> list[np.ndarray]:
    """The letters (l,) of windows, in their order."""
    rows, ranks, strands = trials
    owner = np.searchsorted(sites.edges, rows, side="right") - 1
    chosen = [np.flatnonzero(owner == share) for share in range(ask.count)]
    asked = [
        (rows[own] - first, ranks[own], strands[own])
        for own, first in zip(chosen, sites.edges[:-1], strict=True)
    ]
    found: dict[int, np.ndarray] = {}
    for own, letters in zip(chosen, ask("window_letters", each=asked), strict=True):
        found.update(zip(own.tolist(), letters, strict=True))
    return [found[place] for place in range(len(rows))]


def _separation(sites: Sites, scores: np.ndarray) -> float:
    """Largest difference of the classes' shares, by cost, among the highest scores."""
    positive = sites.costs * (sites.labels > 0)
    negative = sites.costs * (sites.labels < 0)
    share = positive / positive.sum()
    if negative.any():
        share = share - negative / negative.sum()
    order = np.argsort(-scores, kind="stable")
    ahead, ranked = np.cumsum(share[order]), scores[order]
    last_of_ties = np.append(ranked[1:] != ranked[:-1], True)
    return float(ahead[last_of_ties].max())


def site_counts(
    examples: Sequences, length: int, starts: np.ndarray, strands: np.ndarray
) -> np.ndarray:
    """The letters (3 l, 4) of the columns at the sites of positives and on both sides of them."""
    rows = np.flatnonzero(examples.labels > 0)
    first, last = examples.offsets[rows], examples.offsets[rows + 1]
    reverse = strands[rows, None] > 0
    steps = np.arange(-length, 2 * length)
    offsets = np.where(reverse, length - 1 - steps, steps)
    places = (first + starts[rows])[:, None] + offsets
    inside = (places >= first[:, None]) & (places < last[:, None])
    letters = examples.letters[np.where(inside, places, first[:, None])].astype(np.int64)
    known = inside & (letters < 4)
    letters = np.where(reverse, 3 - letters, letters)
    costs = np.broadcast_to(examples.costs[rows, None], letters.shape)
    counts = np.zeros((3 * length, 4))
    columns = np.broadcast_to(np.arange(3 * length), letters.shape)
    np.add.at(counts, (columns[known], letters[known]), costs[known])
    return counts


def _framed(counts: np.ndarray, length: int, frequencies: np.ndarray) -> np.ndarray:
    """Log-odds (l, 4) of the l neighbouring columns around the sites with the most information."""
    shares = (counts + frequencies) / (counts.sum(axis=1, keepdims=True) + 1.0)
    odds = np.log(shares / frequencies)
    information = (shares * odds).sum(axis=1)
    frame = int(np.argmax(np.convolve(information, np.ones(length), "valid")))
    return odds[frame : frame + length]
