"""How the number of constraints grows with the number of examples (Tsochantaridis et al., 2004).

    python -m experiments.tsochantaridis_2004.constraints --data data --out out/constraints

The n-slack method keeps constraints of single examples, here called planes. The paper (ICML 2004)
bounds their number by a multiple of the number of examples n. This experiment counts them on two
sets of label sequences: named entities (CoNLL-2002 Spanish, nine labels, the default templates) and
letters of words (OCR, 26 labels, pixels). For each n it trains on the first n sequences of one
random order, so that every training set contains the smaller ones. It uses Hamming loss, margin
rescaling, linear slack, C per sequence, and a relative duality gap of 1e-2.

Two numbers are counted: the planes whose multiplier is positive at the end, on which the solution
depends, and the planes that were added during training, because the method found them violated; a
plane that is dropped and found again counts twice. The paper's working sets are never pruned, so
its number is neither of the two.

A second table has the paper's number: Algorithm 1 to the letter (``solver.method: working-set``)
with ε = 0.1, for the variant of the paper's Theorem 1, squared slack and slack rescaling. Beside it
stands the theorem's bound, (C Δ² R² + n Δ) / ε² with C = 0.1 n, Δ the length of the longest
sequence, and for R an upper bound that :func:`longest` computes.

Exponents are slopes of least-squares lines of log constraints on log n, with their standard errors.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.common.ocr_letters import load_letters
from lssvm.applications.base import Source
from lssvm.applications.feature_space import training
from lssvm.config import Config, set_values
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.output import plots as report
from lssvm.output.tables import text_table, write_results
from lssvm.solvers.by_constraint import most_constraints
from lssvm.training.cccp import Observer
from lssvm.training.session import learn_on
from lssvm.training.setup import new_run, rules_of

EPSILON = 1e-2
C = 0.1
FULL = (50, 100, 200, 500, 1000, 2000, 4000, 6000)
QUICK = (5, 10, 20)
LITERAL, LITERAL_QUICK = (10, 20, 40, 80), (2, 4, 8)  # examples; each takes many programs
VIOLATION = 0.1
COUNTS = {"kept": "with a positive multiplier", "added": "added in all"}


class Subject(NamedTuple):
    """An application that has read all its data, its configuration, and the shuffled data."""

    application: Any
    config: Config
    examples: Any


def experiment(arguments: command.Arguments) -> str:
    """Train on every number of examples of both data sets; write the figure and the table."""
    report.check_installed()
    grid = QUICK if arguments.quick else FULL
    subjects = {name: make(arguments.data) for name, make in SUBJECTS.items()}
    rows = [
        {"data": name, **counted(subject, n)} for name, subject in subjects.items() for n in grid
    ]
    exponents = {(name, key): exponent(rows, name, key) for name in subjects for key in COUNTS}
    draw(arguments.out / "constraints.png", rows, exponents)
    lines = [
        f"{name}, {COUNTS[key]}: n^{slope:.2f} ± {error:.2f}"
        for (name, key), (slope, error) in exponents.items()
    ]
    small = LITERAL_QUICK if arguments.quick else LITERAL
    literal = [
        {"data": name, **to_the_letter(subject, n)}
        for name, subject in subjects.items()
        for n in small
    ]
    for name in subjects:
        slope, error = exponent(literal, name, "added")
        lines.append(f"{name}, Algorithm 1 to the letter: n^{slope:.2f} ± {error:.2f}")
    title = f"Algorithm 1 to the letter, C = {C:g}, epsilon {VIOLATION:g}, and Theorem 1"
    tables = [
        text_table(f"Constraints, C = {C:g}, gap {EPSILON:g}", rows),
        text_table(title, literal),
    ]
    text = "\n".join([*tables, *lines])
    fitted = {f"{name}, {key}": list(found) for (name, key), found in exponents.items()}
    write_results(
        arguments.out, "constraints", text, rows, {"exponents": fitted, "to the letter": literal}
    )
    return text


def entities(data: Path) -> Subject:
    """The named entities."""
    options = {"name": "sequence", "columns": ["word", "pos", "label"]}
    return shuffled(options, [Source(str(data / "conll2002-spanish" / "esp.train"))])


def letters(data: Path) -> Subject:
    """The letters of words."""
    return shuffled({"name": "sequence"}, load_letters(data / "ocr-letters"))


SUBJECTS = {"named entities": entities, "letters": letters}


def shuffled(options: dict[str, Any], data: Any) -> Subject:
    """The application and its examples, from files or from memory, shuffled with seed 0."""
    config = Config.from_dict(
        {
            "application": options,
            "objective": {"model": "ssvm", "C": C},
            "solver": {"method": "n-slack", "epsilon": EPSILON},
        }
    )
    application = config.create_application()
    examples = application.read(data) if isinstance(data, list) else data
    order = np.random.default_rng(0).permutation(len(examples))
    return Subject(application, config, examples.take(order))


def counted(subject: Subject, n: int) -> dict[str, Any]:
    """Train on the first n examples: the numbers of planes, and how training ended."""
    examples = subject.examples.slice(0, min(n, len(subject.examples)))
    rules = rules_of(subject.config, len(examples), hidden=False)
    # Few examples have few of the features, and the weights of the others would be 0.
    examples = training(subject.config.kernel, subject.application, examples).examples
    with Executor() as executor:
        oracle = DataOracle(subject.application, examples, executor)
        run = new_run(oracle, subject.config, 0, None)
        run.proceed(oracle, rules, Observer())
    solver: Any = run.solver
    return {
        "n": len(examples),
        "kept": int(np.count_nonzero(solver.sets.alpha > 0.0)),
        "added": solver.sets.added,
        "passes": round(run.passes),
        "objective": run.objective,
        "gap": run.gap,
        "converged": run.converged,
    }


def to_the_letter(subject: Subject, n: int) -> dict[str, Any]:
    """Algorithm 1 on the first n examples: its constraints, and the theorem's bound of them."""
    changes = {
        "objective.rescaling": "slack",
        "objective.slack_norm": 2,
        "solver.method": "working-set",
        "solver.violation": VIOLATION,
    }
    config = set_values(subject.config, changes)
    application = config.create_application()
    if known := subject.application.state():
        application.restore(known)
    examples = subject.examples.slice(0, min(n, len(subject.examples)))
    with Executor() as executor:
        length, loss = longest(DataOracle(application, examples, executor))
    record = learn_on(application, examples, config, scored=False).record
    return {
        "n": len(examples),
        "added": record["planes"],  # nothing is dropped
        "bound": most_constraints(VIOLATION, C, len(examples), loss, length, slack=True),
        **{key: record[key] for key in ("passes", "objective", "gap", "converged")},
    }


def longest(oracle: DataOracle[Any]) -> tuple[float, float]:
    """An upper bound of R, the largest ‖Φ(x, y) − Φ(x, ŷ)‖ of sequences, and the largest Δ.

    A token x_t that has another label adds a vector of length √2 ‖x_t‖ to the difference, and each
    of T + 1 steps between labels, those at both ends included, one of length √2 at most. Emissions
    and steps are orthogonal.
    """
    kernel = oracle.compiled
    starts = kernel.places[:-1]
    tokens = np.add.reduceat(np.sqrt(kernel.squares[: kernel.places[-1]]), starts)
    lengths = np.diff(kernel.places)
    return float(np.sqrt(2.0 * (tokens**2 + (lengths + 1.0) ** 2)).max()), float(lengths.max())


def exponent(rows: Sequence[dict[str, Any]], name: str, key: str) -> tuple[float, float]:
    """The slope of log count on log n by least squares, and its standard error."""
    own = [row for row in rows if row["data"] == name]
    x, y = (np.log([row[column] for row in own]) for column in ("n", key))
    x, y = x - x.mean(), y - y.mean()
    slope = float(x @ y / (x @ x))
    freedom = len(x) - 2
    error = float(np.sqrt(np.sum((y - slope * x) ** 2) / freedom / (x @ x)))
    return slope, error


def draw(
    path: Path,
    rows: Sequence[dict[str, Any]],
    exponents: dict[tuple[str, str], tuple[float, float]],
) -> None:
    """Draw both counts of both data sets on logarithmic axes; broken lines are planes added."""
    lines = []
    for hue, name in enumerate(dict.fromkeys(row["data"] for row in rows)):
        own = [row for row in rows if row["data"] == name]
        for key, meaning in COUNTS.items():
            label = f"{name}, {meaning}: n^{exponents[name, key][0]:.2f}"
            counts = [row[key] for row in own]
            sizes = [row["n"] for row in own]
            lines.append(report.Series(label, sizes, counts, (), hue, dashed=key == "added"))
    report.draw_lines(
        path, lines, x_label="examples n", y_label="constraints", log_x=True, log_y=True
    )


if __name__ == "__main__":
    command.main(
        "How the number of constraints of the n-slack method grows with the examples.",
        "folder of conll2002-spanish and ocr-letters",
        "5, 10 and 20 examples",
        experiment,
        {"order of the data": 0},
    )
