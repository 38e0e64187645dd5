"""Simulated homologs and decoys: the files in data/alignment.

    lssvm simulate alignment --out data/alignment

A native is a sequence of ``length`` letters, drawn independently. Its homolog has evolved from a
part of it, which begins at one of its first quarter of letters and ends at one of the last quarter,
each place being as likely. A letter of the part becomes a letter that a random substitution matrix
P says: it stays itself with probability ``conservation``, or becomes one of few others. Between two
letters of the part, letters are inserted with probability ``gap_rate``, and the next letters of the
part, but not its last one, are deleted with the same probability; a gap becomes one letter longer
with probability ½ each time. Up to a quarter of ``length`` letters stand before and behind, as many
as a uniform number says. All new letters are drawn from the letters of homologs, r = q P for the
frequencies q of natives.

Decoys are homologs of other natives that are not shown. So homologs and decoys have the same
distribution of lengths and letters, and the best possible rule ranks candidates z of a native x by

    P(z | x) / P(z) = Σ over alignments of their probability times Π P(z_j | x_i) / r(z_j)

divided by the probability of the length of z, in which all ratios are 1.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import LssvmError
from lssvm.output.whole import replacing
from lssvm.simulation.base import Option, Simulation, begin

LETTERS = "ARNDCQEGHILKMFPSTWYV"
EXTENSION = 0.5  # probability that a gap becomes longer
CONCENTRATION = 0.3  # of the Dirichlet distribution of the letters that a letter becomes
FREQUENCIES = 20.0  # of the one of the frequencies of letters
SHORTEST = 8


@dataclass(frozen=True)
class Evolution:
    """How natives and homologs are drawn.

    q : (20,) frequencies of the letters of natives; P : (20, 20) what a letter becomes
    r : (20,) frequencies of the letters of homologs
    gap_rate : probability of an insertion, and of a deletion, between two letters
    """

    q: np.ndarray
    P: np.ndarray
    r: np.ndarray
    gap_rate: float


@dataclass(frozen=True)
class Example:
    """A native, its homolog, their pairs of letters (k, 2), and decoys, all as codes."""

    native: np.ndarray
    homolog: np.ndarray
    pairs: np.ndarray
    decoys: list[np.ndarray]


def evolution(rng: np.random.Generator, conservation: float, gap_rate: float) -> Evolution:
    """A random substitution matrix. Raises LssvmError for what is no probability."""
    for name, value in (("conservation", conservation), ("gap_rate", gap_rate)):
        if not 0.0 <= value < 1.0:
            raise LssvmError(f"{name} must be in [0, 1), got {value:g}")
    size = len(LETTERS)
    q = rng.dirichlet(np.full(size, FREQUENCIES))
    P = np.zeros((size, size))
    for letter in range(size):
        others = np.arange(size) != letter
        P[letter, others] = (1 - conservation) * rng.dirichlet(np.full(size - 1, CONCENTRATION))
        P[letter, letter] = conservation
    return Evolution(q, P, q @ P, gap_rate)


def drawn(rng: np.random.Generator, model: Evolution, length: int, decoys: int) -> Example:
    """A native of so many letters with its homolog and decoys."""
    native, homolog, pairs = _evolved(rng, model, length)
    others = [_evolved(rng, model, length)[1] for _ in range(decoys)]
    return Example(native, homolog, pairs, others)


def _letters(rng: np.random.Generator, frequencies: np.ndarray, count: int) -> np.ndarray:
    return rng.choice(len(frequencies), count, p=frequencies)


def _evolved(
    rng: np.random.Generator, model: Evolution, length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A native, its homolog, and their pairs of letters."""
    native = _letters(rng, model.q, length)
    quarter = length // 4
    place = int(rng.integers(quarter + 1))
    last = length - 1 - int(rng.integers(quarter + 1))
    before, behind = rng.integers(quarter + 1, size=2)
    parts, pairs = [_letters(rng, model.r, int(before))], []
    size = int(before)
    while True:
        pairs.append((place, size))
        parts.append(_letters(rng, model.P[native[place]], 1))
        size += 1
        if place == last:
            break
        if rng.random() < model.gap_rate:
            inserted = 1 + _further(rng, length)
            parts.append(_letters(rng, model.r, inserted))
            size += inserted
        place += 1
        if place < last and rng.random() < model.gap_rate:
            place = min(last, place + 1 + _further(rng, length))
    parts.append(_letters(rng, model.r, int(behind)))
    return native, np.concatenate(parts), np.array(pairs)


def _further(rng: np.random.Generator, most: int) -> int:
    """Letters of a gap after its first one."""
    return min(int(rng.geometric(1 - EXTENSION)) - 1, most)


def posteriors(model: Evolution, native: np.ndarray, candidates: list[np.ndarray]) -> np.ndarray:
    """ln P(z | x) / P(z) of each candidate z of a native x, (candidates,)."""
    ratios = model.P / model.r
    return np.array(
        [np.log(_likelihood(model, ratios[np.ix_(native, z)])) for z in candidates]
    ) - np.array(
        [np.log(_likelihood(model, np.ones((len(native), len(z))))) for z in candidates]
    )  # fmt: skip


def _likelihood(model: Evolution, odds: np.ndarray) -> float:
    """Σ over alignments of their probability times the odds of their pairs, (native, z)."""
    length, size = odds.shape
    quarter, gap, extend = length // 4, model.gap_rate, EXTENSION
    uniform = 1.0 / (quarter + 1)
    steps = np.arange(size)[None, :] - np.arange(size)[:, None]  # letters inserted
    inserting = np.where(steps == 0, 1 - gap, 0.0) + np.where(
        steps > 0, gap * (1 - extend) * extend ** np.maximum(steps - 1, 0.0), 0.0
    )
    flank = np.where(np.arange(size) <= quarter, uniform, 0.0)
    behind = flank[::-1]
    paired, deleted, total = np.zeros(size), np.zeros(size), 0.0
    for place in range(length):
        out = paired @ inserting
        arriving, ending = np.zeros(size), np.zeros(size)
        arriving[1:] = (1 - gap) * out[:-1] + (1 - extend) * deleted[:-1]
        ending[1:] = out[:-1] + deleted[:-1]
        if place >= length - 1 - quarter:
            total += uniform * float((ending * odds[place]) @ behind)
        start = uniform * flank if place <= quarter else 0.0
        paired = odds[place] * (arriving + start)
        deleted = gap * out + extend * deleted
    return total


def rows(example: Example) -> tuple[str, str]:
    """The native and its homolog as aligned rows."""
    x = [LETTERS[code] for code in example.native]
    z = [LETTERS[code] for code in example.homolog]
    first, second, i, j = [], [], 0, 0
    for place, partner in [*example.pairs.tolist(), (len(x), len(z))]:
        first += [*x[i:place], *"-" * (partner - j), *x[place : place + 1]]
        second += [*"-" * (place - i), *z[j:partner], *z[partner : partner + 1]]
        i, j = place + 1, partner + 1
    return "".join(first), "".join(second)


def write_alignment(
    folder: Path,
    *,
    seed: int = 0,
    n: int = 40,
    n_test: int = 60,
    decoys: int = 9,
    length: int = 30,
    conservation: float = 0.3,
    gap_rate: float = 0.05,
) -> str:
    """Write training and test files of homologs, and of pairs; returns the best possible error.

    n, n_test : natives; decoys : of each; length : letters of a native. Raises LssvmError.
    """
    begin(folder, n=n, n_test=n_test, decoys=decoys)
    if length < SHORTEST:
        raise LssvmError(f"length must be at least {SHORTEST}, got {length}")
    rng = np.random.default_rng(seed)
    model = evolution(rng, conservation, gap_rate)
    number = 0
    for name, count in {"train": n, "test": n_test}.items():
        wrong = 0
        with (
            replacing(folder / f"{name}.fa") as file,
            replacing(folder / f"{name}-pairs.fa") as pairs,
        ):
            for _ in range(count):
                number += 1
                example = drawn(rng, model, length, decoys)
                first, second = rows(example)
                file.write(f">native{number} role=native\n{first}\n")
                file.write(f">homolog{number} role=homolog\n{second}\n")
                for k, decoy in enumerate(example.decoys, 1):
                    text = "".join(LETTERS[code] for code in decoy)
                    file.write(f">decoy{number}.{k} role=decoy\n{text}\n")
                pairs.write(f">native{number}\n{first}\n>homolog{number}\n{second}\n")
                if name == "test":
                    found = posteriors(model, example.native, [example.homolog, *example.decoys])
                    wrong += int(np.argmax(found) != 0)
    return (
        "test.fa, the best possible rule, which knows how homologs evolve:\n"
        f"error {100 * wrong / n_test:.4g} % of the natives"
    )


GIVEN = """\
# Which candidate is the homolog of a native, alignments of homologs given: simulated sequences.
# lssvm-learn alignment.yaml alignment.model
application:
  name: alignment
  task: homolog
  mode: local
  symmetric: false
data: {train: train.fa, validate: test.fa, test: test.fa}
objective: {model: ssvm, C: 0.1}
solver: {method: auto, epsilon: 1e-2}
seed: 0
"""
HIDDEN = """\
# The same with hidden alignments: those of the files are not used.
# lssvm-learn alignment-hidden.yaml alignment.model
application:
  name: alignment
  task: homolog
  mode: local
  symmetric: false
data: {train: train.fa, validate: test.fa, test: test.fa}
objective: {model: lssvm, C: 0.1}
solver: {method: auto, epsilon: 1e-2}
seed: 0
"""
PAIRS = """\
# The alignment of two sequences is predicted: simulated natives and their homologs.
# lssvm-learn alignment-pairs.yaml alignment.model
application:
  name: alignment
  task: pairs
  mode: local
data: {train: train-pairs.fa, validate: test-pairs.fa, test: test-pairs.fa}
objective: {model: ssvm, C: 1.0}
solver: {method: auto, epsilon: 1e-2}
seed: 0
"""
SIMULATION = Simulation(
    text="Native sequences with homologs that evolved from them, and decoys of the same kind.",
    options=(
        Option("n", 40, "Training natives."),
        Option("n_test", 60, "Test natives."),
        Option("decoys", 9, "Decoys of each native."),
        Option("length", 30, "Letters of a native."),
        Option("conservation", 0.3, "Probability that a letter stays itself.", "P"),
        Option("gap_rate", 0.05, "Probability of an insertion, and of a deletion.", "P"),
    ),
    data=("train.fa", "test.fa", "train-pairs.fa", "test-pairs.fa"),
    configurations={
        "alignment.yaml": GIVEN,
        "alignment-hidden.yaml": HIDDEN,
        "alignment-pairs.yaml": PAIRS,
    },
    write=write_alignment,
)
