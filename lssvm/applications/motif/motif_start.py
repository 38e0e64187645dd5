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

from collections.abc import Callable

import numpy as np

from lssvm.applications.motif.sequences import Sequences

REFINEMENTS = 5

Search = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def drawn_windows(
    examples: Sequences, rows: np.ndarray, strands: int, rng: np.random.Generator, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct windows of the sequences ``rows``, uniformly at random.

    Returns for each the sequence, the rank of its start and its strand, (at most count,).
    """
    ends = np.cumsum(strands * examples.windows[rows])
    picks = rng.choice(ends[-1], size=min(count, int(ends[-1])), replace=False)
    which = np.searchsorted(ends, picks, side="right")
    found = rows[which]
    ranks = picks - (ends[which] - strands * examples.windows[found])
    strand, rank = np.divmod(ranks, examples.windows[found])
    return found, rank, strand.astype(np.int8)


def found_sites(
    examples: Sequences,
    length: int,
    trials: tuple[np.ndarray, np.ndarray, np.ndarray],
    search: Search,
    both: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The start within its sequence and the strand of a site in each sequence, (n,) each.

    trials : windows as :func:`drawn_windows` gives them
    both : whether letters of both strands count as frequent
    search : matrix (l, 4) -> best start, strand and score in each sequence, (n,) each
    """
    frequencies = np.bincount(examples.flat, minlength=5)[:4] + 1.0
    if both:
        frequencies = frequencies + frequencies[::-1]
    frequencies /= frequencies.sum()
    rarity = -np.log(frequencies)
    rows, ranks, strands = trials
    starts = examples.nth_window(rows, ranks, length)
    best, matrix = -np.inf, np.zeros((length, 4))
    for row, start, strand in zip(rows, starts, strands, strict=True):
        letters = examples.site(row, start, length, strand)
        trial = np.zeros((length, 4))
        trial[np.arange(length), letters] = rarity[letters]
        separation = _separation(examples, search(trial)[2])
        if separation > best:
            best, matrix = separation, trial
    starts, strands, _ = search(matrix)
    for _ in range(REFINEMENTS):
        matrix = _framed(examples, length, starts, strands, frequencies)
        moved, turned, scores = search(matrix)
        separation = _separation(examples, scores)
        if separation < best:
            break
        best, starts, strands = separation, moved, turned
    return starts, strands


def _separation(examples: Sequences, scores: np.ndarray) -> float:
    """Largest difference of the classes' shares, by cost, among the highest scores."""
    positive = examples.costs * (examples.labels > 0)
    negative = examples.costs * (examples.labels < 0)
    share = positive / positive.sum()
    if negative.any():
        share = share - negative / negative.sum()
    order = np.argsort(-scores, kind="stable")
    ahead, ranked = np.cumsum(share[order]), scores[order]
    last_of_ties = np.append(ranked[1:] != ranked[:-1], True)
    return float(ahead[last_of_ties].max())


def _framed(
    examples: Sequences,
    length: int,
    starts: np.ndarray,
    strands: np.ndarray,
    frequencies: np.ndarray,
) -> np.ndarray:
    """Log-odds (l, 4) of the l neighbouring columns around the sites with the most information."""
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
    shares = (counts + frequencies) / (counts.sum(axis=1, keepdims=True) + 1.0)
    odds = np.log(shares / frequencies)
    information = (shares * odds).sum(axis=1)
    frame = int(np.argmax(np.convolve(information, np.ones(length), "valid")))
    return odds[frame : frame + length]
