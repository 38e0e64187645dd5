"""Simulated motif data for which the best possible classifier is known.

Sequences are drawn from a Markov background of order 3; half of them contain one site of a
degenerate motif at a uniformly drawn place. Letters inside the site come from the matrix of the
motif. All other letters come from the background, given the letters before them, including those of
the site: this is the model of Yu & Joachims (ICML 2009, section 5.1) as a distribution. So

    p(x | +1) / p(x | -1) = mean over h of prod_j m_j(x_{h+j}) / p(x_{h+j} | context)

and the rule that compares this ratio with 1 has the smallest expected error that any
method can reach. It is reported as the *oracle*, since it knows matrix and background.

The background is the same for every seed: 64 rows drawn from a Dirichlet distribution with
the parameters below, about as uneven as yeast DNA and as rich in A and T.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import LssvmError
from lssvm.output.tables import make_folder
from lssvm.output.whole import replacing
from lssvm.simulation.background import LETTERS, Background, drawn
from lssvm.simulation.base import Option, Simulation
from lssvm.simulation.dna import spelled, write_fasta

BACKGROUND_SEED = 2009
BACKGROUND_ORDER = 3
BACKGROUND_LETTERS = np.array([0.32, 0.18, 0.18, 0.32])
BACKGROUND_CONCENTRATION = 20.0


@dataclass(frozen=True)
class MotifModel:
    """The truth of the simulation, which a learner does not know.

    matrix : (width, 4), probability of A, C, G, T at each position of a site
    background : the Markov chain of all other letters
    """

    matrix: np.ndarray
    background: Background

    @property
    def width(self) -> int:
        """Length of a site."""
        return len(self.matrix)

    @property
    def consensus(self) -> str:
        """The likeliest letter of each position."""
        return "".join(LETTERS[letter] for letter in self.matrix.argmax(axis=1))


@dataclass(frozen=True)
class MotifSet:
    """Simulated sequences of one length with their truth.

    codes : (n, length) uint8, A, C, G, T = 0..3
    labels : (n,) +1 or -1
    starts : (n,) first position of the site, from 0; -1 where there is none
    """

    codes: np.ndarray
    labels: np.ndarray
    starts: np.ndarray


@dataclass(frozen=True)
class OracleResult:
    """The scores of the oracle on a set: a bound for any learner, up to chance.

    error : share of sequences with a wrong label
    site_recall : share of the sites that are the oracle's likeliest window
    """

    error: float
    site_recall: float


def motif_model(
    rng: np.random.Generator, width: int, conservation: float | Sequence[float]
) -> MotifModel:
    """A motif with uniformly drawn consensus letters in the fixed background.

    conservation : probability of the consensus letter, one number or one per position; the
        other three letters share the rest equally. Raises LssvmError outside [0.25, 1).
    """
    if width < 1:
        raise LssvmError(f"the width of the motif must be at least 1, got {width}")
    kept = np.broadcast_to(np.asarray(conservation, dtype=float), (np.size(conservation),))
    if len(kept) not in (1, width):
        raise LssvmError(f"conservation: expected 1 or {width} numbers, got {len(kept)}")
    if not ((kept >= 0.25) & (kept < 1)).all():
        raise LssvmError(f"conservation must be at least 0.25 and below 1, got {conservation}")
    matrix = np.tile(((1 - kept) / 3)[:, None], (width // len(kept), 4))
    matrix[np.arange(width), rng.integers(4, size=width)] = kept
    background = drawn(
        np.random.default_rng(BACKGROUND_SEED),
        BACKGROUND_ORDER,
        BACKGROUND_LETTERS,
        BACKGROUND_CONCENTRATION,
    )
    return MotifModel(matrix, background)


def motif(rng: np.random.Generator, model: MotifModel, n: int, length: int) -> MotifSet:
    """n sequences of ``length`` letters in random order, n // 2 of them with a site.

    Raises LssvmError if n < 2 or if a site does not fit into a sequence.
    """
    if n < 2:
        raise LssvmError(f"at least 2 sequences are needed, one of each label; got {n}")
    if length < model.width:
        raise LssvmError(f"a motif of width {model.width} does not fit into {length} letters")
    labels = np.where(rng.permutation(n) < n // 2, 1, -1)
    places = rng.integers(length - model.width + 1, size=n)
    starts = np.where(labels > 0, places, -1)
    uniforms = rng.random((length, n))
    codes = np.zeros((n, length), dtype=np.uint8)
    context = np.zeros(n, dtype=np.int64)
    order = model.background.order
    for i in range(length):
        chances = model.background.tables[min(i, order)][context]
        column = i - starts
        inside = (starts >= 0) & (column >= 0) & (column < model.width)
        chances[inside] = model.matrix[column[inside]]
        codes[:, i] = (uniforms[i, :, None] >= chances.cumsum(axis=1)[:, :3]).sum(axis=1)
        context = (4 * context + codes[:, i]) % 4**order
    return MotifSet(codes, labels, starts)


def posterior(model: MotifModel, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The result of the Bayes rule of the model for (n, length) sequences.

    Returns ln p(x | +1) / p(x | -1), (n,), positive where +1 is likelier at equal prior
    chances, and the likeliest start of a site, (n,), the first if there are several.
    """
    n, length = codes.shape
    offsets = length * np.arange(n + 1)
    logs = model.background.log_probabilities(codes.ravel(), offsets).reshape(n, length)
    sums = np.zeros((n, length + 1))
    np.cumsum(logs, axis=1, out=sums[:, 1:])
    count = length - model.width + 1
    ratios = sums[:, :count] - sums[:, model.width :]
    for j, row in enumerate(np.log(model.matrix)):
        ratios += row[codes[:, j : j + count]]
    return np.logaddexp.reduce(ratios, axis=1) - np.log(count), ratios.argmax(axis=1)


def oracle(model: MotifModel, examples: MotifSet) -> OracleResult:
    """Error and site recall of the Bayes rule on a simulated set."""
    ratios, starts = posterior(model, examples.codes)
    wrong = np.where(ratios > 0, 1, -1) != examples.labels
    return OracleResult(float(wrong.mean()), site_recall(examples.starts, starts))


def site_recall(truth: np.ndarray, found: np.ndarray) -> float:
    """Share of the true sites (starts >= 0) for which exactly this start was found."""
    holds = truth >= 0
    return float((truth[holds] == found[holds]).mean())


def write_motif(
    out: Path,
    *,
    seed: int = 0,
    n: int = 200,
    n_test: int = 200,
    length: int = 200,
    width: int = 11,
    conservation: float | Sequence[float] = 0.85,
) -> str:
    """Simulate a training and a test set and write them with their truth into ``out``.

    Writes train.fa and test.fa (``>id label=+1``), train-sites.tsv and test-sites.tsv
    (start and stop counted from 1, both inclusive, as in FIMO's tables) and truth.json
    (parameters, consensus, matrix, background and the oracle's figures). Returns the
    oracle's figures as text for the terminal. Raises LssvmError on impossible sizes and
    where ``out`` cannot be written.
    """
    rng = np.random.default_rng(seed)
    model = motif_model(rng, width, conservation)
    sets = {"train": motif(rng, model, n, length), "test": motif(rng, model, n_test, length)}
    results = {name: oracle(model, examples) for name, examples in sets.items()}
    truth = {
        "parameters": {
            "seed": seed,
            "n": n,
            "n_test": n_test,
            "length": length,
            "width": width,
            "conservation": conservation,
        },
        "consensus": model.consensus,
        "letters": LETTERS,
        "matrix": np.round(model.matrix, 6).tolist(),
        "background": [np.round(table, 6).tolist() for table in model.background.tables],
        "oracle": {name: vars(result) for name, result in results.items()},
    }
    make_folder(out)
    for name, examples in sets.items():
        _write_set(out, name, examples, width)
    with replacing(out / "truth.json") as file:
        file.write(json.dumps(truth) + "\n")
    return _report(model, sets, results)


def _report(model: MotifModel, sets: dict[str, MotifSet], results: dict[str, OracleResult]) -> str:
    lines = [f"consensus {model.consensus}; the oracle that knows matrix and background:"]
    for name, result in results.items():
        lines.append(
            f"{name:5} {len(sets[name].labels):6d} sequences  "
            f"error {100 * result.error:6.2f} %  site recall {100 * result.site_recall:6.2f} %"
        )
    return "\n".join(lines)


def _write_set(out: Path, name: str, examples: MotifSet, width: int) -> None:
    sequences = spelled(examples.codes)
    write_fasta(
        out / f"{name}.fa",
        [
            (f"{name}{number} label={label:+d}", letters)
            for number, (letters, label) in enumerate(
                zip(sequences, examples.labels, strict=True), 1
            )
        ],
    )
    with replacing(out / f"{name}-sites.tsv") as file:
        file.write("sequence_name\tstart\tstop\tstrand\tmatched_sequence\n")
        for number, (letters, start) in enumerate(zip(sequences, examples.starts, strict=True), 1):
            if start >= 0:
                site = letters[start : start + width]
                file.write(f"{name}{number}\t{start + 1}\t{start + width}\t+\t{site}\n")


CONFIGURATION = """\
# A motif planted in simulated DNA; truth.json describes it.
# lssvm-learn motif.yaml motif.model
application: {name: motif, length: $width, background_order: 3}
data: {train: train.fa, validate: test.fa, test: test.fa}
objective: {C: 0.1}
cccp: {restarts: 5}
seed: 0
"""
SIMULATION = Simulation(
    text="DNA from a Markov chain of order 3 with a degenerate motif in half of the sequences.",
    options=(
        Option("n", 200, "Training sequences, half with a site."),
        Option("n_test", 200, "Test sequences."),
        Option("length", 200, "Length of a sequence in letters."),
        Option("width", 11, "Length of the motif in letters."),
        Option(
            "conservation",
            0.85,
            "Probability of the consensus letter at each position of a site.",
            metavar="P",
        ),
    ),
    data=("train.fa", "test.fa", "train-sites.tsv", "test-sites.tsv", "truth.json"),
    configurations={"motif.yaml": CONFIGURATION},
    write=write_motif,
)
