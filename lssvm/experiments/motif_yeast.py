"""Yeast origins of replication: the motif experiment of Yu & Joachims (ICML 2009, Table 1).

    python -m lssvm.experiments.motif_yeast --data yeast-ars --out out/motif-yeast

Data. The sequences of the paper are not public. In their place: the ARS of the genome,
and intergenic regions far from any ARS that SGD or OriDB knows, 240 bases each (see
``yeast_data``). 75 negatives for 124 positives, as in the paper, are drawn from the intergenic
crops; all others are further negatives of cost 1/50. Where the folder holds positive.fa,
negative.fa and background.fa, these are used instead, as they are.

Protocol, fixed before any result was seen. Ten stratified folds; for each test fold the next
one is the validation fold and eight are trained on. Motif lengths 11 and 17, background of
order 3, both strands (the consensus is known to work in either direction), five seeds.
C per example from {0.1, 1, 10, 100, 1000}, warm-started upwards, picked on the validation
fold by the mean error over the seeds. Errors are those on positives and on negatives of cost
1: the background sequences are trained on and never counted. A fold's error is the mean over
the seeds; standard errors and the paired t-tests are over the ten folds.

Control. The Gibbs site sampler (see ``gibbs``) gets the positives of the same eight folds,
the background of all their sequences, the same lengths, strands and seeds. Two thresholds:
*honest*, with the fewest errors on the nine other folds; and *favoured*, with the fewest
errors on the test fold itself. The latter is the paper's deliberate favour to the control, and
the one place where anything is tuned on a test fold.

The motif shown is trained on all data with the C that is best over all validation folds,
warm-started upwards too, the best of five restarts by objective; the sampler's is that of the
best posterior on all positives.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from lssvm.applications import motif_matrix
from lssvm.applications.motif import roc_auc
from lssvm.applications.sequences import Sequences
from lssvm.config import Config, set_values
from lssvm.cross_validation import C_KEY, CrossValidation, Study, evaluate, run_tasks, study_of
from lssvm.experiments import command, gibbs, yeast_data
from lssvm.experiments.background import estimate
from lssvm.experiments.tables import plus_minus, text_table, write_results
from lssvm.train import learn_path

KNOWN = "WTTTAYRTTTW"
FILES = ("positive.fa", "negative.fa", "background.fa")
FAR = ("sgd_ars_within_100bp", "oridb_within_500bp")
NEGATIVES_PER_POSITIVE = 75 / 124
BACKGROUND_COST = 1 / 50
DATA_SEED = 0
ORDER = 3
STRANDS = "both"
SHOWN_RESTARTS = 5
PSEUDOCOUNT = 1.0  # of the control's background
IUPAC = {"A": "A", "C": "C", "G": "G", "T": "T", "W": "AT", "Y": "CT", "R": "AG"}
PUBLISHED = {11: ("11.09", "32.49"), 17: ("12.00", "31.47")}


class Plan(NamedTuple):
    """How much is run."""

    lengths: tuple[int, ...]
    grid: tuple[float, ...]
    folds: int
    seeds: int
    background: int | None  # most background sequences; None for all


FULL = Plan((11, 17), (0.1, 1, 10, 100, 1000), 10, 5, None)
QUICK = Plan((11,), (1, 10, 100), 5, 2, 1000)


class GibbsTask(NamedTuple):
    """One run of the control."""

    length: int
    fold: int
    seed: int


def experiment(arguments: command.Arguments) -> str:
    """Run both methods for every length and write the table."""
    plan = QUICK if arguments.quick else FULL
    folder = prepare(arguments.data, arguments.out, plan)
    parts: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for length in plan.lengths:
        study = study_with_strata(configuration(folder, plan, length))
        svm = evaluate(study, jobs=arguments.jobs, progress=command.show_progress)
        tasks = [
            GibbsTask(length, fold, seed)
            for fold in range(plan.folds)
            for seed in range(plan.seeds)
        ]
        control = run_tasks(
            control_run, study, tasks, jobs=arguments.jobs, progress=command.show_progress
        )
        parts.append(compared(length, svm, control) | learnt(study, svm, length))
        rows += all_runs(length, svm, control)
    text = report(parts)
    write_results(
        arguments.out, "motif_yeast", text, rows, {"plan": plan._asdict(), "parts": parts}
    )
    return text


def prepare(data: Path, out: Path, plan: Plan) -> Path:
    """The folder of the three FILES: ``data`` if it has them, else ``out``, where they are put.

    Raises DataError if the genome's files cannot be read.
    """
    if all((data / name).is_file() for name in FILES):
        return data
    rng = np.random.default_rng(DATA_SEED)
    ars, far = yeast_data.yeast_crops(data, rng, away_from=FAR)
    order, count = rng.permutation(len(far)), round(NEGATIVES_PER_POSITIVE * len(ars))
    background = order[count:][: plan.background]
    for name, part in zip(FILES, (ars, far.take(order[:count]), far.take(background)), strict=True):
        yeast_data.write_crops(out / name, part)
    return out


def configuration(folder: Path, plan: Plan, length: int) -> Config:
    """The settings of one length; the data are those that :func:`prepare` wrote."""
    return Config.from_dict(
        {
            "application": {
                "name": "motif",
                "length": length,
                "background_order": ORDER,
                "strands": STRANDS,
            },
            "data": {
                "train": [
                    {"path": FILES[0], "label": "+1"},
                    {"path": FILES[1], "label": "-1"},
                    {"path": FILES[2], "label": "-1", "cost": BACKGROUND_COST},
                ]
            },
            "objective": {"c_scaling": "sum"},
            "search": {
                "grid": {C_KEY: list(plan.grid)},
                "folds": plan.folds,
                "seeds": plan.seeds,
            },
        },
        base=folder,
    )


def study_with_strata(config: Config) -> Study:
    """Folds with their share of positives, negatives and background; only the first two count."""
    examples = config.create_application().read(config.sources("train"))
    background = examples.costs < 1
    groups = np.where(background, 2, np.where(examples.labels > 0, 0, 1))
    return study_of(config, groups=groups, counted=lambda _: ~background)


def control_run(study: Study, task: GibbsTask) -> dict[str, Any]:
    """Train the sampler on the training folds and score the test fold with both thresholds."""
    folds = study.config.search.folds
    held = (task.fold, (task.fold + 1) % folds)
    examples: Sequences = study.examples[0]
    model = sampled(
        examples.take(np.flatnonzero(~np.isin(study.fold, held))),
        task.length,
        np.random.default_rng([task.seed, task.fold]),
    )
    others, test = (
        examples.take(np.flatnonzero(study.counted & chosen))
        for chosen in (study.fold != task.fold, study.fold == task.fold)
    )
    scores = model.scores(test.flat, test.offsets)
    honest = gibbs.best_threshold(model.scores(others.flat, others.offsets), others.labels)
    favoured = gibbs.best_threshold(scores, test.labels)
    return {
        "fold": task.fold,
        "seed": task.seed,
        "honest": error_percent(scores > honest, test.labels),
        "favoured": error_percent(scores > favoured, test.labels),
        "roc_auc": roc_auc(test.labels > 0, scores),
        "log_posterior": model.log_posterior,
    }


def sampled(examples: Sequences, length: int, rng: np.random.Generator) -> gibbs.SiteModel:
    """The control's motif of the positives, with the background of all the sequences."""
    background = estimate(examples.flat, examples.offsets, ORDER, PSEUDOCOUNT)
    positives = examples.take(np.flatnonzero(examples.labels > 0))
    return gibbs.sample(
        positives.flat, positives.offsets, background, width=length, strands=STRANDS, rng=rng
    )


def error_percent(predicted: np.ndarray, labels: np.ndarray) -> float:
    """Share of sequences called positive or not in error, in percent."""
    return 100 * float(np.mean(predicted != (labels > 0)))


def compared(
    length: int, svm: CrossValidation, control: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Errors and ROC AUC on each test fold, both thresholds, and the paired t-tests."""
    folds = {"latent SSVM": svm.test("error")}
    for name in ("favoured", "honest"):
        folds[f"Gibbs, {name} threshold"] = _by_fold(control, name, svm.folds)
    negatives = [
        100 - 100 * (run.test["positives"] or 0) / (run.test["sequences"] or 1)
        for run in svm.runs
        if run.setting == 0 and run.seed == svm.runs[0].seed
    ]
    folds["all called positive"] = np.array(negatives)
    auc = {"latent SSVM": svm.test("roc_auc"), "Gibbs": _by_fold(control, "roc_auc", svm.folds)}
    return {
        "length": length,
        "errors": {name: values.tolist() for name, values in folds.items()},
        "roc_auc": {name: values.tolist() for name, values in auc.items()},
        "p": {
            name: float(stats.ttest_rel(values, folds["latent SSVM"]).pvalue)
            for name, values in list(folds.items())[1:]
        },
        "C": [svm.settings[row][C_KEY] for row in svm.chosen],
    }


def _by_fold(runs: Sequence[dict[str, Any]], name: str, folds: int) -> np.ndarray:
    return np.array(
        [np.mean([run[name] for run in runs if run["fold"] == fold]) for fold in range(folds)]
    )


def learnt(study: Study, svm: CrossValidation, length: int) -> dict[str, Any]:
    """The motifs of both methods on all data, beside the known one."""
    best, examples = svm.best[C_KEY], study.examples[0]
    path = [
        set_values(study.config, {"search.grid": {}, C_KEY: C, "cccp.restarts": SHOWN_RESTARTS})
        for C in sorted(study.config.search.grid[C_KEY])
        if best >= C
    ]
    model = learn_path(study.applications[0], examples, path)[-1]
    control = sampled(examples, length, np.random.default_rng(DATA_SEED))
    matrices = {
        "latent SSVM": motif_matrix.probabilities(model.w, model.arrays),
        "Gibbs": control.matrix,
    }
    return {
        "motifs": {
            name: {"matrix": np.round(matrix, 4).tolist(), **beside_known(matrix)}
            for name, matrix in matrices.items()
        }
    }


def beside_known(matrix: np.ndarray) -> dict[str, Any]:
    """The strand and shift of a motif at which it agrees best with the known consensus.

    agree : positions of the known motif where the likeliest letter is one that it allows
    consensus : the motif in IUPAC letters on that strand
    shift : where it starts, counted from the start of the known motif
    """
    best: dict[str, Any] = {"agree": -1}
    for strand in (matrix, matrix[::-1, ::-1]):
        letters = ["ACGT"[column] for column in strand.argmax(axis=1)]
        for shift in range(1 - len(letters), len(KNOWN)):
            pairs = [
                (letters[i - shift], KNOWN[i])
                for i in range(max(0, shift), min(len(KNOWN), shift + len(letters)))
            ]
            agree = sum(letter in IUPAC[known] for letter, known in pairs)
            if agree > best["agree"]:
                consensus = motif_matrix.consensus(strand)
                best = {"agree": agree, "consensus": consensus, "shift": shift}
    return best


def all_runs(
    length: int, svm: CrossValidation, control: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """One row for each run of either method, for the CSV file."""
    rows = [{"method": "latent SSVM", "length": length, **row} for row in svm.rows()]
    blank = dict.fromkeys(rows[0])
    for run in control:
        shared = {"length": length, "fold": run["fold"], "seed": run["seed"]}
        for name in ("favoured", "honest"):
            scores = {"test.error": run[name], "test.roc_auc": run["roc_auc"]}
            rows.append({**blank, "method": f"Gibbs, {name} threshold", **shared, **scores})
    return rows


def report(parts: Sequence[dict[str, Any]]) -> str:
    """The table in the manner of the paper, and the motifs."""
    rows, motifs = [], []
    for part in parts:
        published = PUBLISHED[part["length"]]
        known = {"latent SSVM": published[0], "Gibbs, favoured threshold": published[1]}
        for name, errors in part["errors"].items():
            method = name.partition(",")[0]
            rows.append(
                {
                    "length": part["length"],
                    "method": name,
                    "test error %": plus_minus(errors),
                    "ROC AUC": plus_minus(part["roc_auc"][method], 3)
                    if method in part["roc_auc"]
                    else None,
                    "p against latent SSVM": f"{part['p'][name]:.2g}"
                    if name in part["p"]
                    else None,
                    "paper, its data": known.get(name),
                }
            )
        for name, motif in part["motifs"].items():
            indent = " " * (8 + motif["shift"])
            motifs += [
                f"length {part['length']}, {name}: agrees at {motif['agree']} of {len(KNOWN)}",
                f"{' ' * 8}{KNOWN}",
                f"{indent}{motif['consensus']}",
            ]
    folds = len(parts[0]["C"])
    title = f"Test error over {folds} folds, mean ± standard error; paired t-test over folds"
    picked = [f"C picked, length {part['length']}: {part['C']}" for part in parts]
    return "\n".join([text_table(title, rows), *picked, "Motifs on all data:", *motifs])


if __name__ == "__main__":
    command.main(
        "Motif finding in yeast origins of replication.",
        "folder of ars_R64.fa and intergenic_R64.fa.gz, or of "
        "positive.fa, negative.fa and background.fa",
        "one length, five folds, two seeds, three values of C, 1,000 background sequences",
        experiment,
    )
