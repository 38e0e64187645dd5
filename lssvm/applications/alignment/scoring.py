"""Weights as scores of pairs of letters and of gaps, and features of what is counted.

w consists of a weight for each pair of letters (unordered pairs if scores are symmetric), for each
pair of classes of letters, for each pair of neighbourhoods, and for gaps: opening and extension, or
one for each letter of a gap.

The kernel knows codes of positions only: a letter of the alphabet or another one, and, with the
neighbourhood feature, whether its neighbours are of that kind.
"""

import itertools

import numpy as np
from scipy import sparse

from lssvm.applications.alignment.alignment_options import AlignmentOptions
from lssvm.formats.gapped_fasta import GAP
from lssvm.kernels import _alignment
from lssvm.offsets import cumulated

MATCH, MISMATCH, GAP_LETTER = 1.0, -1.0, -2.0  # first scores where nothing is known
NEIGHBOURS = ("few", "many")


class Scoring:
    """The features of alignments, their names, and the scores that weights make.

    size : letters of the alphabet; codes : of positions; dimension : of w
    prior : (dimension,) what is added to w
    """

    def __init__(self, options: AlignmentOptions) -> None:
        self.options = options
        self.letters = options.letters
        self.size = len(self.letters)
        self.kinds = 2 if options.neighbourhood else 1
        self.codes = self.kinds * (self.size + 1)
        self.linear = options.gaps == "linear"
        self.together = options.first_letter == "open_extend" and not self.linear
        self.ends = _alignment.LOCAL
        if options.mode == "global":
            self.ends = _alignment.FREE if options.free_ends else _alignment.GLOBAL
        self.names: list[str] = []
        rows, columns = self._features()
        self.pair_names = len(self.names)
        self.names += ["gap"] if self.linear else ["gap open", "gap extend"]
        self.dimension = len(self.names)
        shape = (self.codes**2, self.pair_names)
        self.map = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        self.prior = self._prior()

    def _features(self) -> tuple[np.ndarray, np.ndarray]:
        """Name the features of pairs of codes; which pair has which, two arrays."""
        code = np.arange(self.codes)
        letter, kind = code % (self.size + 1), code // (self.size + 1)
        known = letter < self.size
        groups = np.full(self.size + 1, -1)
        for number, group in enumerate(self.options.classes):
            for each in group.upper():
                groups[self.letters.index(each)] = number
        rows, columns = [], []
        for names, values, valid in (
            (list(self.letters), letter, known),
            ([f"class {group}" for group in self.options.classes], groups[letter], known),
            ([f"{name} {self.options.neighbours}" for name in NEIGHBOURS], kind, known),
        ):
            if names == [] or (names[0].startswith(NEIGHBOURS[0]) and self.kinds == 1):
                continue
            places = self._named(names)
            some = np.flatnonzero(valid & (values >= 0))
            a, b = np.meshgrid(some, some, indexing="ij")
            rows.append((a * self.codes + b).ravel())
            columns.append(places[values[a], values[b]].ravel())
        return np.concatenate(rows), np.concatenate(columns)

    def _named(self, names: list[str]) -> np.ndarray:
        """Add a name for each pair; the coordinates of the pairs, (names, names)."""
        places = np.zeros((len(names), len(names)), dtype=np.int64)
        for a, b in itertools.product(range(len(names)), repeat=2):
            if self.options.symmetric and b < a:
                places[a, b] = places[b, a]
                continue
            places[a, b] = len(self.names)
            self.names.append(f"{names[a]} {names[b]}" if len(names[a]) == 1 else
                              f"{names[a]}, {names[b]}")  # fmt: skip
        return places

    def _prior(self) -> np.ndarray:
        found = np.zeros(self.dimension)
        prior = self.options.prior
        if not isinstance(prior, dict):
            return found
        place = 0
        for a, b in itertools.product(range(self.size), repeat=2):
            if self.options.symmetric and b < a:
                continue
            found[place] = prior[self.letters[a]][self.letters[b]]
            place += 1
        open_, extend = self.options.prior_gaps
        found[self.pair_names :] = [extend] if self.linear else [open_, extend]
        return self.options.prior_scale * found

    def simple(self) -> np.ndarray:
        """First weights where nothing is known: 1 for equal letters, −1 for others."""
        found = np.zeros(self.dimension)
        place = 0
        for a, b in itertools.product(range(self.size), repeat=2):
            if self.options.symmetric and b < a:
                continue
            found[place] = MATCH if a == b else MISMATCH
            place += 1
        found[self.pair_names :] = GAP_LETTER
        if self.together:
            found[self.pair_names] = 0.0
        return found

    def scores(self, w: np.ndarray) -> tuple[np.ndarray, tuple[float, float, int]]:
        """What the kernel takes: scores of pairs of codes, and of gaps with the ends."""
        whole = np.asarray(w, dtype=np.float64) + self.prior
        table = (self.map @ whole[: self.pair_names]).reshape(self.codes, self.codes)
        open_, extend = whole[self.pair_names], whole[-1]
        first = open_ + extend if self.together else open_
        return np.ascontiguousarray(table), (float(first), float(extend), self.ends)

    def gradient(self, pairs: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Features, (dimension,), of numbers of pairs of codes (codes²,) and of gaps (2,)."""
        return np.concatenate([self.map.T @ pairs, self._of_gaps(gaps[None])[0]])

    def gradients(self, rows: np.ndarray, pairs: np.ndarray, gaps: np.ndarray) -> sparse.csr_array:
        """Features of several alignments, (len(gaps), dimension), see ``partners.Counts``."""
        shape = (len(gaps), self.codes**2)
        counts = sparse.csr_array((np.ones(len(pairs)), (rows, pairs)), shape=shape)
        whole = sparse.hstack([counts @ self.map, sparse.csr_array(self._of_gaps(gaps))], "csr")
        whole.sort_indices()
        return sparse.csr_array(whole)

    def _of_gaps(self, gaps: np.ndarray) -> np.ndarray:
        """Features of numbers of gaps and of their further letters, (k, 2)."""
        letters = gaps.sum(axis=1)
        if self.linear:
            return letters[:, None]
        return np.column_stack([gaps[:, 0], letters if self.together else gaps[:, 1]])

    def matrix(self, w: np.ndarray) -> np.ndarray:
        """Scores of pairs of letters, (size, size), of weights without neighbourhoods."""
        table, _ = self.scores(w)
        return table[: self.size, : self.size]

    def encoded(self, symbols: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Codes of the letters of sequences without gaps, (letters,) int32.

        symbols : (letters,) uint8 ASCII; places : (sequences + 1,)
        """
        table = np.full(256, self.size, dtype=np.int32)
        table[np.frombuffer(self.letters.encode(), np.uint8)] = np.arange(self.size)
        if self.options.alphabet == "dna":
            table[ord("U")] = table[ord("T")]
        codes = table[symbols]
        if self.kinds == 1:
            return codes
        of_kind = np.isin(
            symbols, np.frombuffer(self.options.neighbours.upper().encode(), np.uint8)
        )
        before = cumulated(of_kind.astype(np.int64))
        index = np.arange(len(symbols))
        first = np.repeat(places[:-1], np.diff(places))
        last = np.repeat(places[1:], np.diff(places))
        start = np.maximum(first, index - self.options.neighbourhood)
        stop = np.minimum(last, index + self.options.neighbourhood + 1)
        found = before[stop] - before[start] - of_kind
        many = (2 * found >= stop - start - 1) & (stop - start > 1)
        return codes + (self.size + 1) * many.astype(np.int32)


def ungapped(rows: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The letters of rows without their gaps, and their offsets."""
    kept = rows != GAP
    return rows[kept], cumulated(kept.astype(np.int64))[offsets]
