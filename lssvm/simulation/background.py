"""Markov background models of DNA, as the experiments' generative methods use them.

Letters are coded A, C, G, T = 0..3 and 4 for an ambiguous letter. Sequences are packed:
``codes`` (total,) uint8 and ``offsets`` (n + 1,) int64, sequence i being
``codes[offsets[i]:offsets[i + 1]]``. Positions with fewer than ``order`` letters before
them, at the start of a sequence or after an ambiguous letter, use the context that they have.
"""

from dataclasses import dataclass

import numpy as np

LETTERS = "ACGT"
AMBIGUOUS = 4


@dataclass(frozen=True)
class Background:
    """p(letter | the letters before it), for every context length up to the order.

    tables : tables[k] is (4**k, 4); the row is the context read as a number in base 4,
        its first letter the most significant digit
    """

    tables: tuple[np.ndarray, ...]

    @property
    def order(self) -> int:
        """The longest context, in letters."""
        return len(self.tables) - 1

    @property
    def letters(self) -> np.ndarray:
        """The frequencies of A, C, G and T, (4,)."""
        return self.tables[0][0]

    def log_probabilities(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """ln p(x_i | context) for every position, (total,); 0 at ambiguous letters."""
        known = codes < AMBIGUOUS
        depth = _depth(codes, offsets, self.order)
        logs = np.zeros(len(codes))
        for length, table in enumerate(self.tables):
            at = np.flatnonzero(known & (depth == length))
            logs[at] = np.log(table.ravel())[_tuples(codes, at, length)]
        return logs


def estimate(codes: np.ndarray, offsets: np.ndarray, order: int, pseudocount: float) -> Background:
    """The background estimated from sequences, with ``pseudocount`` added to every count.

    A context of k letters is counted wherever k letters are known before the position, so short
    contexts are counted in whole sequences, not only at their first letters.
    """
    depth = np.where(codes < AMBIGUOUS, _depth(codes, offsets, order), -1)
    tables = []
    for length in range(order + 1):
        tuples = _tuples(codes, np.flatnonzero(depth >= length), length)
        counts = np.bincount(tuples, minlength=4 ** (length + 1)).reshape(-1, 4) + pseudocount
        tables.append(counts / counts.sum(axis=1, keepdims=True))
    return Background(tuple(tables))


def drawn(
    rng: np.random.Generator, order: int, letters: np.ndarray, concentration: float
) -> Background:
    """A random background: each row of the longest contexts is Dirichlet(concentration · letters).

    The tables of the shorter contexts are the marginals of the stationary chain, so that
    sequences drawn from it are stationary from their first letter on.
    """
    longest = rng.dirichlet(concentration * np.asarray(letters), size=4**order)
    contexts = _stationary(longest)
    tables = []
    for length in range(order):
        joint = contexts.reshape(-1, 4**length, 4).sum(axis=0)
        tables.append(joint / joint.sum(axis=1, keepdims=True))
    return Background((*tables, longest))


def _stationary(table: np.ndarray) -> np.ndarray:
    """The stationary probabilities of the contexts of a (4**order, 4) table."""
    contexts = np.full(len(table), 1 / len(table))
    change = 1.0
    while change > 1e-15:
        joint = contexts[:, None] * table
        following = joint.reshape(4, -1).sum(axis=0) if len(table) > 1 else np.ones(1)
        change = float(np.abs(following - contexts).max())
        contexts = following / following.sum()
    return contexts


def _depth(codes: np.ndarray, offsets: np.ndarray, order: int) -> np.ndarray:
    """The length of the context of each position: at most ``order``; ambiguous letters end it."""
    index = np.arange(len(codes))
    starts = np.zeros(len(codes) + 1, dtype=np.int64)
    starts[offsets[:-1]] = offsets[:-1]
    broken = np.flatnonzero(codes >= AMBIGUOUS) + 1
    starts[broken] = broken
    return np.minimum(index - np.maximum.accumulate(starts[:-1]), order)


def _tuples(codes: np.ndarray, at: np.ndarray, length: int) -> np.ndarray:
    """The ``length`` letters before each position and its own, as a number in base 4."""
    number = np.zeros(len(at), dtype=np.int64)
    for back in range(length, -1, -1):
        number = 4 * number + codes[at - back]
    return number
