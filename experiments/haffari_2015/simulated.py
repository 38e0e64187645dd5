"""Training for F1 and for Hamming loss on simulated pairs whose best possible F1 is known.

The pairs are those of ``lssvm simulate relation``. For each share of pairs without a relation, C is
chosen on validation pairs by F1, and with it β for the model trained for F_β, each value of C going
on with the cutting planes of those before; both models are tested on the same pairs; "best" is the
F1 of the rule that knows the distribution. "at 0" are the predictions of the models, relations with
a score above 0; "cut" those above the score with the highest F1 on validation pairs, for which C
and β are chosen anew. Then the time of one pass of loss-augmented inference over many pairs, with
one thread, at the weights that are the mean of Φ(x_i, y_i, h_i) of the first labels, and the peak
memory of the process.
"""

import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.haffari_2015 import kept
from experiments.haffari_2015.evaluation import (
    Outcome,
    above,
    best_threshold,
    difference,
    f_of,
)
from experiments.haffari_2015.models import EPSILON, Effort, options_of, outcome_of, trained
from lssvm.applications.base import Source
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.relation import Relation
from lssvm.applications.relation.relation_options import RelationOptions
from lssvm.output.tables import text_table
from lssvm.simulation import relation as simulation

SEEDS = {"train": 0, "valid": 1, "test": 2}


class Plan(NamedTuple):
    """What is run.

    shares : of pairs without a relation; pairs : of training, and twice as many of validation and
    of test; relations, features : how many; grid : values of C, increasing; betas : of β
    large : pairs, relations and features of the measured pass
    """

    shares: tuple[float, ...]
    pairs: int
    relations: int
    features: int
    grid: tuple[float, ...]
    betas: tuple[float, ...]
    effort: Effort
    large: tuple[int, int, int]


FULL = Plan((0.0, 0.5, 0.8, 0.9), 5000, 5, 1000, (0.03, 0.1, 0.3, 1.0), (0.5, 1.0), Effort(40, 3),
            (50_000, 50, 100_000))  # fmt: skip
QUICK = Plan((0.5,), 60, 3, 200, (0.3,), (1.0,), Effort(10, 2), (500, 5, 1000))


class Shared(NamedTuple):
    """What is run, and where files are written."""

    plan: Plan
    out: Path


def run(plan: Plan, arguments: command.Arguments) -> tuple[str, dict[str, Any]]:
    """Both tables as text, and their figures."""
    shared = Shared(plan, arguments.out)
    rows = arguments.solved(compared, shared, plan.shares)
    passes = measured(shared)
    table = [line(row, prefix) for row in rows for prefix in ("", "cut_")]
    pairs, relations, features = plan.large
    title = f"One pass over {pairs:,d} pairs, {relations} relations, {features:,d} features"
    first = text_table(f"F1 on simulated pairs, {plan.pairs:,d} for training", table)
    return f"{first}\n\n{text_table(title, passes)}", {"rows": rows, "passes": passes}


def line(row: dict[str, Any], prefix: str) -> dict[str, str]:
    """A line of the table; prefix : of the names of figures, "cut_" or ""."""
    own = {name.removeprefix(prefix): value for name, value in row.items()}
    return {
        "none %": f"{100 * row['none']:.0f}",
        "best": f"{row['best']:.1f}",
        "predicted": "cut" if prefix else "at 0",
        "F_β-trained": f"{own['f1']:.1f}",
        "Hamming-trained": f"{own['hamming']:.1f}",
        "difference (95 %)": f"{own['more']:+.1f} ({own['low']:+.1f} to {own['high']:+.1f})",
        "C": f"{own['f1_C']:g}, {own['hamming_C']:g}",
        "β": f"{own['beta']:g}",
    }


def drawn(
    plan: Plan, none: float, split: str, folder: Path
) -> tuple[Source, simulation.Facts, simulation.Pairs]:
    """A file of simulated pairs, and what is in it."""
    world = simulation.facts(plan.relations, plan.features, none)
    count = plan.pairs if split == "train" else 2 * plan.pairs
    pairs = simulation.drawn(np.random.default_rng([SEEDS[split], int(1000 * none)]), world, count)
    path = folder / f"simulated-{none:g}-{split}.txt"
    simulation.write_bags(path, world, pairs)
    return Source(str(path)), world, pairs


class Fit(NamedTuple):
    """A model that was trained, by its loss: its settings, and what validation says of it."""

    name: str
    C: float
    beta: float | None
    w: np.ndarray
    valid: Outcome

    def told(self, application: Relation, test: Bags, threshold: float | None) -> Outcome:
        """What it says of test pairs; threshold : None: its own predictions."""
        own = outcome_of(application, self.w, test)
        return own if threshold is None else above(own, threshold)


def compared(shared: Shared, none: float) -> dict[str, Any]:
    """Both models for one share of pairs without a relation."""
    plan, application = shared.plan, Relation(RelationOptions())
    sources = {split: drawn(plan, none, split, shared.out) for split in SEEDS}
    train, valid, test = (application.read([sources[split][0]]) for split in SEEDS)
    data, fits = kept.fingerprint([sources["train"][0].path]), []
    for beta in (None, *plan.betas):
        name = "hamming" if beta is None else "f1"
        for C, w in path_of(shared, application, train, none, beta, data):
            fits.append(Fit(name, C, beta, w, outcome_of(application, w, valid)))
    _, world, pairs = sources["test"]
    rule = simulation.best_rule(simulation.chances(world, pairs))
    best = Outcome(pairs.truth, rule, rule.astype(float))
    found: dict[str, Any] = {"none": none, "best": f1(best)}
    found |= chosen(fits, application, test, cut=False)
    return found | {
        f"cut_{name}": value for name, value in chosen(fits, application, test, cut=True).items()
    }


def path_of(
    shared: Shared, application: Relation, train: Bags, none: float, beta: float | None, data: str
) -> list[tuple[float, np.ndarray]]:
    """The weights for each C of the grid, read if they have been written before."""
    plan, folder = shared.plan, shared.out / "fits"
    settings = {"beta": beta, "grid": plan.grid, "effort": plan.effort, "epsilon": EPSILON}
    label = "Hamming" if beta is None else f"F_{beta:g}"
    places = [
        kept.place(folder, f"simulated-{none:g}-{label}-{C:g}", {**settings, "C": C}, data)
        for C in plan.grid
    ]
    if any(place.facts is None for place in places):
        found = trained(application, train, plan.grid, beta, plan.effort)
        for place, fit in zip(places, found, strict=True):
            place.write({"w": fit.w}, fit.facts)
    return [(C, place.arrays["w"]) for C, place in zip(plan.grid, places, strict=True)]


def chosen(fits: Sequence[Fit], application: Relation, test: Bags, cut: bool) -> dict[str, Any]:
    """The best model of each loss on validation pairs, tested.

    cut : whether each has the threshold that is best there, otherwise 0
    """
    found, outcomes = {}, {}
    for name in ("f1", "hamming"):
        own = [fit for fit in fits if fit.name == name]
        cuts = [best_threshold(fit.valid) if cut else None for fit in own]
        scores = [
            f1(fit.valid if threshold is None else above(fit.valid, threshold))
            for fit, threshold in zip(own, cuts, strict=True)
        ]
        place = int(np.argmax(scores))
        outcomes[name] = own[place].told(application, test, cuts[place])
        found |= {name: f1(outcomes[name]), f"{name}_C": own[place].C}
        found |= {f"{name}_valid": scores[place], f"{name}_threshold": cuts[place]}
        found |= {"beta": own[place].beta} if name == "f1" else {}
    more, low, high = difference(outcomes["f1"], outcomes["hamming"])
    return found | {"more": more, "low": low, "high": high}


def f1(outcome: Outcome) -> float:
    """F1 in percent."""
    return float(f_of(outcome.counts.sum(axis=0)))


def measured(shared: Shared) -> list[dict[str, Any]]:
    """Seconds of reading and of passes over many pairs, and the peak memory after each."""
    pairs, relations, features = shared.plan.large
    plan = shared.plan._replace(pairs=pairs, relations=relations, features=features)
    source, _, _ = drawn(plan, 0.5, "train", shared.out)
    began = time.perf_counter()
    application = Relation(RelationOptions())
    train = application.read([source])
    rows = [_row("reading", time.perf_counter() - began)]
    train = application.for_training(train)
    for name, beta in (("Hamming", None), ("F1", 1.0)):
        own = Relation(RelationOptions(**options_of(beta)))
        own.vocabulary = application.vocabulary
        rows.append(_passed(name, own, train))
    return rows


def _passed(name: str, application: Relation, train: Bags) -> dict[str, Any]:
    first = application.start(train, np.random.default_rng(0)).gradient
    w = first / len(train)
    began = time.perf_counter()
    application.augmented(w, train)
    return _row(f"{name}, {len(w):,d} weights", time.perf_counter() - began)


def _row(what: str, seconds: float) -> dict[str, Any]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scale = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return {"what": what, "seconds": round(seconds, 3), "peak MB": round(peak / scale)}
