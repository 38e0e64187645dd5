"""Learning to align proteins: reference alignments of BAliBASE 3, sets RV11 and RV12.

    python -m experiments.tsochantaridis_2004.alignment_balibase --data balibase3 --out out/balibase

Training and test share no family: the families of both sets are divided into five folds at random.
Of each family at most two pairs of rows are taken, drawn at random. Alignments are global with
free ends. Q is the share of truly aligned pairs of letters that are found, a mean over the pairs
of a family.

BLOSUM62 has gap scores −12 and −1 (opening 11, each letter 1, the defaults of BLAST), or the ones
of 12 combinations with the highest Q on the training folds; parasail aligns. Learnt scores are 210
symmetric substitution scores, opening and extension, from nothing or with BLOSUM62 and the tuned
gaps as the prior; loss 1 − Q, linear slack, relative gap at most 0.02. C, of two values, and the
scale of the prior, of two, are those with the highest Q on a third of the training families after
training on the others. Differences are paired by family, with standard errors over families.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from lssvm.applications.alignment import alignment_metrics
from lssvm.applications.alignment.alignment import Alignment
from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.alignment.inference import Alignments
from lssvm.applications.base import Source
from lssvm.config import Config, set_values
from lssvm.errors import DataError, MissingExtraError
from lssvm.kernels import _alignment
from lssvm.output.tables import mean_and_error, plus_minus, text_table, write_results
from lssvm.training.session import learn_on

FOLDS = 5
FOLD_STREAM, PAIR_STREAM = 0x666F6C64, 0x70616972
OPENS, EXTENDS = (8, 10, 12, 14), (1, 2, 3)  # of the first letter, and of each other one
DEFAULT = (12, 1)
NOTHING = 0.0  # the scale of no prior
ALIGNED = {"task": "pairs", "format": "multiple", "mode": "global", "free_ends": True}
LEARNT = ("learnt", "learnt, prior BLOSUM62")
KINDS = ("BLOSUM62, defaults", "BLOSUM62, tuned", *LEARNT)


class Plan(NamedTuple):
    """Sets, pairs of a family, values of C and of the prior's scale, families of each set.

    longest : letters of a row (0: all)
    """

    sets: tuple[str, ...]
    pairs: int
    grid: tuple[float, ...]
    scales: tuple[float, ...]
    families: int
    longest: int


FULL = Plan(("RV11", "RV12"), 2, (0.001, 0.01), (0.02, 0.1), 0, 0)
QUICK = Plan(("RV12",), 2, (0.01,), (0.02,), 15, 250)


class Shared(NamedTuple):
    """Examples, the family of each, and the fold of each family."""

    examples: AlignmentExamples
    families: np.ndarray
    folds: np.ndarray
    plan: Plan


class Task(NamedTuple):
    """The fold that is tested on."""

    fold: int


def experiment(arguments: command.Arguments) -> str:
    """Train and test on all folds; write the table."""
    plan = QUICK if arguments.quick else FULL
    shared = collected(arguments.data, plan)
    tasks = [Task(fold) for fold in range(FOLDS)]
    found = arguments.solved(solve, shared, tasks)
    rows = [row for own in found for row in own]
    text, summary = report(rows, plan)
    write_results(arguments.out, "alignment-balibase", text, rows, summary)
    return text


def application_of(options: Mapping[str, Any] | None = None) -> tuple[Config, Alignment]:
    """Settings, and the application."""
    config = Config.from_dict(
        {
            "application": {"name": "alignment", **ALIGNED, **(options or {})},
            "objective": {"model": "ssvm"},
            "solver": {"epsilon": 0.02},
        }
    )
    application = config.create_application()
    assert isinstance(application, Alignment)
    return config, application


def collected(data: Path, plan: Plan) -> Shared:
    """Pairs of rows of all families. Raises DataError."""
    _, application = application_of()
    paths = []
    for name in plan.sets:
        own = sorted((data / name).glob("*.msf"))
        if not own:
            raise DataError(data / name, None, "no files *.msf; expected those of BAliBASE")
        paths += own[: plan.families or None]
    examples = application.read([Source(str(path)) for path in paths])
    rng = np.random.default_rng(PAIR_STREAM)
    lengths = np.diff(examples.places)
    short = np.maximum(lengths[examples.offsets[:-1]], lengths[examples.offsets[:-1] + 1])
    rows = []
    for family in range(len(paths)):
        own = np.flatnonzero(
            (examples.files == family) & ((short <= plan.longest) | (plan.longest == 0))
        )
        rows.append(np.sort(rng.permutation(own)[: plan.pairs]))
    chosen = examples.take(np.concatenate(rows))
    folds = np.random.default_rng(FOLD_STREAM).permutation(len(paths)) % FOLDS
    return Shared(chosen, chosen.files.astype(np.int64), folds, plan)


def solve(shared: Shared, task: Task) -> list[dict[str, Any]]:
    """All methods on a fold: a row for each family of it."""
    examples, families = shared.examples, shared.families
    outside = shared.folds[families] == task.fold
    train, test = examples.take(np.flatnonzero(~outside)), examples.take(np.flatnonzero(outside))
    own = families[~outside]
    tuned = tune(train, own)
    quality = {
        "BLOSUM62, defaults": by_parasail(test, *DEFAULT),
        "BLOSUM62, tuned": by_parasail(test, *tuned),
    }
    chosen = {}
    for name, scales in zip(LEARNT, ((NOTHING,), shared.plan.scales), strict=True):
        choices = [Choice(C, scale, tuned) for scale in scales for C in shared.plan.grid]
        chosen[name] = choose(choices, train, own)
        application, w = learnt(chosen[name], train)
        quality[name] = found_share(application, w, test)
    rows = []
    for family in np.unique(families[outside]):
        of = families[outside] == family
        rows.append(
            {
                "family": Path(examples.paths[family]).stem,
                "fold": task.fold,
                "pairs": int(of.sum()),
                "tuned gaps": f"{tuned[0]}/{tuned[1]}",
                **{f"C, {name}": choice.C for name, choice in chosen.items()},
                "scale of the prior": chosen[LEARNT[1]].scale,
                **{name: float(values[of].mean()) for name, values in quality.items()},
            }
        )
    return rows


class Choice(NamedTuple):
    """C, the scale of the prior, and the scores of its gaps."""

    C: float
    scale: float
    gaps: tuple[int, int]


def learnt(choice: Choice, train: AlignmentExamples) -> tuple[Alignment, np.ndarray]:
    """The application, and w."""
    options = {
        "prior": "BLOSUM62",
        "prior_scale": choice.scale,
        "prior_gaps": [-score for score in choice.gaps],
    }
    config, application = application_of(None if choice.scale == NOTHING else options)
    return application, learn_on(
        application, train, set_values(config, {"objective.C": choice.C})
    ).w


def choose(choices: Sequence[Choice], train: AlignmentExamples, families: np.ndarray) -> Choice:
    """The choice with the highest Q on a third of the families; the first of equal ones."""
    if len(choices) == 1:
        return choices[0]
    held = np.isin(families, np.unique(families)[::3])
    inside, outside = train.take(np.flatnonzero(~held)), train.take(np.flatnonzero(held))
    found = []
    for choice in choices:
        application, w = learnt(choice, inside)
        found.append(by_family(found_share(application, w, outside), families[held]))
    return choices[int(np.argmax(found))]


def by_family(values: np.ndarray, families: np.ndarray) -> float:
    """The mean over families of the means of their pairs."""
    return float(np.mean([values[families == family].mean() for family in np.unique(families)]))


def found_share(application: Alignment, w: np.ndarray, examples: AlignmentExamples) -> np.ndarray:
    """Q of each pair."""
    return 1.0 - application.losses(examples, application.predict(w, examples))


def tune(train: AlignmentExamples, families: np.ndarray) -> tuple[int, int]:
    """The gap scores of BLOSUM62 with the highest Q."""
    choices = [(first, other) for first in OPENS for other in EXTENDS]
    values = [by_family(by_parasail(train, *choice), families) for choice in choices]
    return choices[int(np.argmax(values))]


def by_parasail(examples: AlignmentExamples, first: int, other: int) -> np.ndarray:
    """Q of the alignments of parasail with BLOSUM62, global with free ends, of each pair."""
    try:
        import parasail
    except ImportError:
        raise MissingExtraError("alignment by others", "parasail", "bench") from None
    arrays = examples.pairs()
    partners = np.full(arrays.starts[-1], -1, dtype=np.int32)
    for i in range(len(examples)):
        x, z = (examples.sequence(int(of[i])) for of in (arrays.x, arrays.z))
        result = parasail.sg_trace_striped_32(x, z, first, other, parasail.blosum62)
        rows = (
            np.frombuffer(text.encode(), np.uint8) != ord("-")
            for text in (result.traceback.query, result.traceback.ref)
        )
        of_x, of_z = rows
        own = np.where(of_z, np.cumsum(of_z) - 1, -1)[of_x]
        partners[arrays.starts[i] : arrays.starts[i] + len(own)] = own
    found = Alignments(arrays, partners, (0.0, 0.0, _alignment.FREE), True)
    return 1.0 - alignment_metrics.missed(examples, found, 0)


def report(rows: Sequence[dict[str, Any]], plan: Plan) -> tuple[str, dict[str, Any]]:
    """The table as text, and its figures."""
    shown, cells = [], []
    sets = {
        "all": rows,
        **{name: [r for r in rows if r["family"][2:4] == name[2:]] for name in plan.sets},
    }
    for name, own in sets.items():
        values = {kind: np.array([row[kind] for row in own]) for kind in KINDS}
        base = values["BLOSUM62, tuned"]
        row = {"families": f"{name} ({len(own)})"}
        row |= {kind: plus_minus(found, 3) for kind, found in values.items()}
        row |= {f"{kind} − tuned": plus_minus(values[kind] - base, 3) for kind in LEARNT}
        shown.append(row)
        cells.append(
            {
                "families": name,
                **{kind: mean_and_error(found) for kind, found in values.items()},
                **{f"{kind} − tuned": mean_and_error(values[kind] - base) for kind in LEARNT},
            }
        )
    title = "Q-score, mean over families ± standard error; differences paired by family"
    return text_table(title, shown), {"plan": plan._asdict(), "cells": cells}


if __name__ == "__main__":
    command.main(
        "Learning to align proteins of BAliBASE, families apart, against BLOSUM62.",
        "folder of BAliBASE 3 with RV11 and RV12",
        "a few families of RV12, two pairs of each, one value of C",
        experiment,
        {"folds": FOLD_STREAM, "pairs": PAIR_STREAM},
    )
