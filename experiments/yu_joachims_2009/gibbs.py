"""The Gibbs site sampler, the generative control of the motif experiments.

Lawrence, Altschul, Boguski, Liu, Neuwald & Wootton, "Detecting subtle sequence signals: a Gibbs
sampling strategy for multiple alignment", Science 262 (1993) 208-214. Every positive sequence
contains one occurrence of the motif; the letters outside come from a Markov background that is
estimated beforehand from all training sequences and stays fixed. As in the motif application, the
letters of a window count for the motif only, letters after it have the window as context, and the
first positions of a sequence use the context that they have. With ``strands="both"`` the motif may
lie on either strand, while the background is that of the given strand.

The state is the site of every sequence. A sweep draws each site, given all other sites, from the
predictive distribution of the motif matrix under a Dirichlet prior. Now and then all sites are
shifted together, which corrects alignments that are wrong by a few positions. The state of highest
posterior probability over all sweeps of all restarts gives the matrix.

The score of a sequence is the log odds of motif against background of its best window; it is
classified by a threshold on the score.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from experiments.yu_joachims_2009._gibbs import sweep
from lssvm.errors import LssvmError
from lssvm.simulation.background import AMBIGUOUS, Background

PLATEAU = 50  # sweeps without a better state, after which a restart ends
MOST_SWEEPS = 1000
SHIFT_EVERY = 10  # sweeps between two attempts to shift the alignment


@dataclass(frozen=True)
class Windows:
    """All windows of packed sequences; each sequence is its given strand, then the other strand.

    quads : (total + width,) uint8, the four letters from each position, the first most significant
    offsets : (n + 1,) bounds of the sequences
    log_weights : (total,) the negative log background probability of the window that starts there;
        -inf if the window would leave its strand or contains an ambiguous letter
    """

    quads: np.ndarray
    offsets: np.ndarray
    log_weights: np.ndarray

    @property
    def letters(self) -> np.ndarray:
        """The letter at each position, (total + width,)."""
        return self.quads >> 6


@dataclass(frozen=True)
class SiteModel:
    """A motif found by the sampler.

    matrix : (width, 4), the probabilities of A, C, G, T at each position
    log_posterior : of the sites that give the matrix, up to a constant of the data
    """

    matrix: np.ndarray
    background: Background
    strands: str
    log_posterior: float

    def scores(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """The log odds of the best window of each sequence, (n,); -inf if there is no window."""
        found = windows(codes, offsets, self.background, len(self.matrix), self.strands)
        odds = self._odds(found)
        return np.maximum.reduceat(odds, found.offsets[:-1])

    def sites(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """The start of the best window of each sequence, (n,), from 0 on the given strand.

        The start of a window on the other strand is its leftmost position. If several windows are
        equal, the first one counts, the given strand before the other.
        """
        width = len(self.matrix)
        found = windows(codes, offsets, self.background, width, self.strands)
        odds = self._odds(found)
        starts = np.empty(len(offsets) - 1, dtype=np.int64)
        for i, (first, last) in enumerate(zip(found.offsets[:-1], found.offsets[1:], strict=True)):
            start, length = int(odds[first:last].argmax()), int(offsets[i + 1] - offsets[i])
            starts[i] = start if start < length else 2 * length - width - start
        return starts

    def _odds(self, found: Windows) -> np.ndarray:
        odds = found.log_weights.copy()
        letters = found.letters
        for j, row in enumerate(np.log(self.matrix)):
            odds += row[letters[j : j + len(odds)]]
        return odds


def sample(
    codes: np.ndarray,
    offsets: np.ndarray,
    background: Background,
    *,
    width: int,
    strands: str,
    rng: np.random.Generator,
    restarts: int = 20,
) -> SiteModel:
    """Find the motif of ``width`` letters that occurs once in each sequence.

    codes, offsets : the positive sequences, packed
    strands : "given" or "both"

    The pseudocounts sum to √n, in proportion to the background's letter frequencies. Raises
    LssvmError if a sequence has no window for a site.
    """
    found = windows(codes, offsets, background, width, strands)
    sampler = _Sampler(found, width, background.letters * np.sqrt(len(offsets) - 1))
    best, best_sites = -np.inf, np.empty(0, dtype=np.int64)
    for _ in range(restarts):
        posterior, sites = sampler.run(rng)
        if posterior > best:
            best, best_sites = posterior, sites
    matrix = sampler.counts(best_sites) + sampler.pseudocounts
    return SiteModel(matrix / matrix[0].sum(), background, strands, best)


def best_threshold(scores: np.ndarray, labels: np.ndarray) -> float:
    """The t for which the rule "+1 if score > t" has the fewest errors; the lowest on ties.

    scores : (n,); labels : (n,) +1 or -1. Thresholds lie midway between neighbouring scores. -inf
    calls every finite score +1, and the highest score calls all scores -1.
    """
    thresholds = np.concatenate(([-np.inf], np.unique(scores)))
    positive, negative = np.sort(scores[labels > 0]), np.sort(scores[labels <= 0])
    missed = np.searchsorted(positive, thresholds, side="right")
    alarms = len(negative) - np.searchsorted(negative, thresholds, side="right")
    cut = int((missed + alarms).argmin())
    if cut + 1 == len(thresholds) or not np.isfinite(thresholds[cut]):
        return float(thresholds[cut])
    return float(thresholds[cut : cut + 2].mean())


def windows(
    codes: np.ndarray, offsets: np.ndarray, background: Background, width: int, strands: str
) -> Windows:
    """Every window of the sequences with its weight; see :class:`Windows`."""
    total, lengths = len(codes), np.diff(offsets)
    index = np.arange(total)
    ends = np.repeat(offsets[1:], lengths)
    starts = np.repeat(offsets[:-1], lengths)
    sums = np.concatenate(([0.0], np.cumsum(background.log_probabilities(codes, offsets))))
    broken = np.concatenate(([0], np.cumsum(codes >= AMBIGUOUS)))
    last = np.minimum(index + width, total)
    inside = (index + width <= ends) & (broken[last] == broken[:-1])
    logs = np.where(inside, sums[:-1] - sums[last], -np.inf)
    letters = np.where(codes < AMBIGUOUS, codes, 0)
    if strands == "both":
        mirror = ends + starts - 1 - index
        opposite = np.full(total, -np.inf)
        shifted = mirror - width + 1
        fits = shifted >= starts
        opposite[fits] = logs[shifted[fits]]
        place = index + starts
        letters = _interleaved(letters, 3 - letters[mirror], place, place + ends - starts)
        logs = _interleaved(logs, opposite, place, place + ends - starts)
        offsets = 2 * offsets
    padded = np.concatenate((letters, np.zeros(width + 3, dtype=letters.dtype))).astype(np.uint8)
    size = len(letters) + width
    quads = sum(padded[j : j + size] << (6 - 2 * j) for j in range(4))
    return Windows(np.ascontiguousarray(quads, dtype=np.uint8), offsets.astype(np.int64), logs)


def _interleaved(
    given: np.ndarray, other: np.ndarray, given_at: np.ndarray, other_at: np.ndarray
) -> np.ndarray:
    merged = np.empty(2 * len(given), dtype=given.dtype)
    merged[given_at] = given
    merged[other_at] = other
    return merged


class _Sampler:
    """The data of one run of :func:`sample` and the moves of its Markov chain."""

    def __init__(self, found: Windows, width: int, pseudocounts: np.ndarray) -> None:
        self.found, self.width, self.pseudocounts = found, width, pseudocounts
        self.weights = np.exp(found.log_weights)
        self.n = len(found.offsets) - 1
        self.allowed = [
            first + np.flatnonzero(self.weights[first:last])
            for first, last in zip(found.offsets[:-1], found.offsets[1:], strict=True)
        ]
        for number, allowed in enumerate(self.allowed, 1):
            if len(allowed) == 0:
                raise LssvmError(
                    f"positive sequence {number} has no window of {width} known letters"
                )

    def run(self, rng: np.random.Generator) -> tuple[float, np.ndarray]:
        """Run one restart: the best log posterior, and the sites that have it."""
        sites = np.array([rng.choice(allowed) for allowed in self.allowed], dtype=np.int64)
        counts = self.counts(sites)
        best, best_sites, waited = -np.inf, sites, 0
        for number in range(1, MOST_SWEEPS + 1):
            sweep(
                self.found.quads,
                self.found.offsets,
                self.weights,
                counts,
                self.pseudocounts,
                sites,
                rng.random(self.n),
            )
            if number % SHIFT_EVERY == 0:
                sites = self.shifted(sites, rng)
                counts = self.counts(sites)
            posterior = self.log_posterior(sites, counts)
            waited = 0 if posterior > best else waited + 1
            if waited == 0:
                best, best_sites = posterior, sites.copy()
            elif waited >= PLATEAU:
                break
        return best, best_sites

    def counts(self, sites: np.ndarray) -> np.ndarray:
        """The counts of letters at each position of the sites, (width, 4)."""
        letters = self.found.letters
        columns = [np.bincount(letters[sites + j], minlength=4) for j in range(self.width)]
        return np.array(columns, dtype=float)

    def log_posterior(self, sites: np.ndarray, counts: np.ndarray) -> float:
        """ln p(sites | sequences) up to a constant, with the matrix integrated out."""
        return float(
            gammaln(counts + self.pseudocounts).sum() + self.found.log_weights[sites].sum()
        )

    def shifted(self, sites: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Shift all sites together by up to half a width, drawn by posterior probability.

        A site that cannot be shifted keeps its position; the next sweep draws it again.
        """
        reach = self.width // 2
        choices = [self.moved(sites, step) for step in range(-reach, reach + 1)]
        logs = np.array([self.log_posterior(choice, self.counts(choice)) for choice in choices])
        chances = np.exp(logs - logs.max())
        return choices[int(rng.choice(len(choices), p=chances / chances.sum()))]

    def moved(self, sites: np.ndarray, step: int) -> np.ndarray:
        """The sites, shifted by ``step`` positions along their strand where that is possible."""
        targets = sites + step
        first, last = self.found.offsets[:-1], self.found.offsets[1:]
        fits = (targets >= first) & (targets < last)
        fits[fits] = self.weights[targets[fits]] > 0
        return np.where(fits, targets, sites)
