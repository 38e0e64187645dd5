"""Parsing: the experiment of Tsochantaridis et al. (ICML 2004, section 4.5), on other trees.

    python -m experiments.tsochantaridis_2004.parsing --data gum --out out/parsing

Input: the constituency trees of GUM (folder const, splits.md). For each greatest length, the
sentences of the documents called train with at most so many tokens train, those of test are tested.
The paper has sentences of the Penn Treebank with at most 10 words; as there, parts of speech are
given, and the grammar consists of the rules of the training trees, here binary from the right, each
symbol knowing one sister. Rows:

    PCFG         the generative grammar with the relative frequencies of the rules
    SVM_2        quadratic slack, 0/1 loss of trees
    SVM_2 Δs     slack rescaling with the loss 1 − F1
    SVM_2 Δm     margin rescaling with the same loss
    + spans      SVM_2 Δm with features of brackets: length, first and last tag, tags outside
    m parts      a grammar with latent annotations (hcrf), m parts of each symbol; approximate trees

C is chosen on sentences of dev, by F1 for the F1 loss and by whole trees for the others, the first
of equal ones, from a grid that grows while the best C is at its edge. It is chosen for the shortest
length and kept for the greater ones; only that of the 0/1 loss is chosen again, for 15 tokens, and
4 parts have the C of 2 parts. The machines of the search are trained from C to C, each to a gap of
5e-2, and the machine with the chosen C anew, to 1e-2 up to 15 tokens and to 5e-2 above. Passes are
limited; the table has the relative gap that was reached, with the number of passes where their
limit came first. The files of the table are written whenever a row is done. Sentences of more
tokens, and grammars with parts, stand in ``parsing_longer``: they are beyond the paper, and take
long. Parts are run for the shortest length alone, and come last.

Accuracy is the share of whole trees, and F1 that of evalb with COLLINS.prm, both in percent. A
sentence without a parse has a flat tree of its best pieces. Constraints are the planes that n-slack
keeps. Times are CPU seconds of one thread, without the search for C, and the share of the QP in
them. McNemar's test compares each method with the PCFG: test sentences in which one of the two has
fewer brackets that are wrong or missed, and p, the exact binomial probability of such a difference
if both were as good.

In the paper the machines with the F1 loss have a clearly higher F1 than the PCFG, and the one with
the 0/1 loss has slightly more whole trees.
"""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest

from experiments.common import command
from lssvm.applications.base import Source
from lssvm.applications.parsing import bracket_metrics
from lssvm.applications.parsing.examples import Treebank
from lssvm.applications.parsing.parsing import GrammarParsing
from lssvm.applications.parsing.predicted_trees import Predictions
from lssvm.config import Config, set_values
from lssvm.errors import DataError
from lssvm.model import Model
from lssvm.output.tables import text_table, write_results
from lssvm.training.cccp import Observer, Summary
from lssvm.training.session import learn_on, learn_path

LIST = "splits.md"
LOWEST = -30.0  # log of the probability of a rule that is not in these training trees
SPANS = ["length", "first_tag", "last_tag", "tag_before", "tag_behind"]


class Method(NamedTuple):
    """How trees are learnt: model, or none for frequencies; loss and rescaling; parts; features."""

    model: str = ""
    loss: str = "zero_one"
    rescaling: str = "margin"
    parts: int = 1
    spans: Sequence[str] = ()


METHODS = {
    "PCFG": Method(),
    "SVM_2": Method("ssvm"),
    "SVM_2 Δs": Method("ssvm", "f1", "slack"),
    "SVM_2 Δm": Method("ssvm", "f1"),
    "Δm + spans": Method("ssvm", "f1", spans=SPANS),
    "2 parts": Method("hcrf", "f1", parts=2),
    "4 parts": Method("hcrf", "f1", parts=4),
}


class Limit(NamedTuple):
    """When training stops: at a relative gap, or after so many passes."""

    gap: float
    passes: int


SEARCH = Limit(5e-2, 25)
PARTS_SEARCH = Limit(5e-2, 12)
LIMITS = {10: Limit(1e-2, 100), 15: Limit(1e-2, 40), 25: Limit(5e-2, 18), 40: Limit(5e-2, 18)}
MORE = 3  # values of C beyond the grid
PARTS_LIMITS = {2: (30, 2), 4: (20, 2)}  # passes of a convex problem, and these
SAME_C = {"4 parts": "2 parts"}


class Plan(NamedTuple):
    """What is run.

    lengths : greatest numbers of tokens; grid : values of C; most : training sentences, at most
    files : of a split, at most; longest : methods that are not run for greater lengths than this
    again : lengths for which C of a method is chosen again
    """

    lengths: tuple[int, ...]
    grid: tuple[float, ...]
    most: int
    files: int
    longest: Mapping[str, int]
    again: Mapping[str, int]


FULL = Plan(
    lengths=(10, 15),
    grid=(0.01, 0.1, 1.0, 10.0, 100.0),
    most=100_000,
    files=1000,
    longest={"2 parts": 0, "4 parts": 0},
    again={"SVM_2": 15},
)
QUICK = Plan((6,), (1.0,), 80, 15, {}, {})


class Task(NamedTuple):
    """One method for one length. C : None, to be chosen"""

    method: str
    length: int
    C: float | None


class Setting(NamedTuple):
    """Where the trees are, and what is run."""

    data: Path
    plan: Plan


def experiment(arguments: command.Arguments) -> str:
    """Train and test every method, write the table."""
    return planned(arguments, QUICK if arguments.quick else FULL)


def planned(arguments: command.Arguments, plan: Plan) -> str:
    """Train and test every method of a plan, write the table."""
    setting = Setting(arguments.data, plan)
    read_split(arguments.data, "train")
    rows: list[dict[str, Any]] = []

    def keep(number: int, row: dict[str, Any]) -> None:
        rows.append(row)
        save(arguments.out, plan, rows)

    for batch in batches(plan):
        arguments.solved(
            solve,
            setting,
            [task_of(plan, rows, name, length) for name, length in batch],
            finished=keep,
        )
    return save(arguments.out, plan, rows)


def batches(plan: Plan) -> list[list[tuple[str, int]]]:
    """Methods and lengths that do not wait for each other: PCFG first, parts last."""
    wanted = [
        [(name, length) for name in METHODS if length <= plan.longest.get(name, length)]
        for length in plan.lengths
    ]
    first, *others = METHODS
    single = [name for name in others if METHODS[name].parts == 1]
    several = [name for name in others if METHODS[name].parts > 1]
    return [
        [(first, length) for length in plan.lengths],
        *([each for each in own if each[0] in single] for own in wanted),
        *([each for own in wanted for each in own if each[0] == name] for name in several),
    ]


def task_of(plan: Plan, rows: Sequence[Mapping[str, Any]], name: str, length: int) -> Task:
    """A task, with the C of the last row of this method, or of that whose C it keeps."""
    known = {row["method"]: row["C"] for row in sorted(rows, key=lambda row: row["length"])}
    again = plan.again.get(name) == length
    return Task(name, length, None if again else known.get(SAME_C.get(name, name)))


def save(out: Path, plan: Plan, rows: Sequence[dict[str, Any]]) -> str:
    """Write what is done so far; returns the table."""
    order = list(METHODS)
    rows = sorted(rows, key=lambda row: (row["length"], order.index(row["method"])))
    for length in plan.lengths:
        compare([row for row in rows if row["length"] == length])
    text = report(rows)
    kept = [{key: value for key, value in row.items() if key != "right"} for row in rows]
    write_results(out, "parsing", text, kept, {"plan": plan._asdict(), "rows": kept})
    return text


def read_split(data: Path, split: str) -> list[Source]:
    """The files of a split of GUM. Raises DataError."""
    path = data / LIST
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"cannot be read: {error.strerror}; expected the folder of GUM"
        raise DataError(path, None, message) from None
    section = re.search(rf"^## {split}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    names = re.findall(r"\* (\S+)", section.group(1)) if section else []
    files = [data / "const" / f"{name}.ptb" for name in names]
    found = [Source(str(file)) for file in files if file.exists()]
    if not found:
        raise DataError(path, None, f"no trees of {split!r} are there; expected const/*.ptb")
    return found


def config_of(method: Method, length: int, C: float) -> Config:
    """The settings of a method."""
    latent = method.parts > 1
    options = {
        "name": "latent_parsing" if latent else "parsing",
        **({"substates": method.parts} if latent else {}),
        "loss": method.loss,
        "max_words": length,
        "span_features": list(method.spans),
    }
    planes = method.model != "hcrf"
    return Config.from_dict(
        {
            "application": options,
            "objective": {
                "model": method.model or "ssvm",
                "rescaling": method.rescaling,
                "slack_norm": 2 if planes else 1,
                "C": C,
            },
            "solver": {"method": "n-slack" if planes else "lbfgs"},
        }
    )


def limited(config: Config, gap: float, passes: int, problems: int = 1) -> Config:
    """The settings with limits of training. problems : convex ones, at most"""
    limits = {"solver.epsilon": gap, "solver.max_passes": passes, "cccp.max_iterations": problems}
    return set_values(config, limits)


def solve(setting: Setting, task: Task) -> dict[str, Any]:
    """Train one method, C being chosen if it is not given, and test it."""
    method, plan = METHODS[task.method], setting.plan
    config = config_of(method, task.length, 1.0)
    application = config.create_application()
    assert isinstance(application, GrammarParsing)

    def files(split: str) -> list[Source]:
        return read_split(setting.data, split)[: plan.files]

    training = application.for_training(application.read(files("train")))
    training = training.slice(0, min(plan.most, len(training)))
    dev, test = (
        short(application.read(files(split)), task.length, plan.most) for split in ("dev", "test")
    )
    C, edge, began = task.C, False, time.process_time()
    if method.model and C is None:
        C, edge = chosen_C(method, application, training, dev, config, plan.grid)
    searched = time.process_time() - began
    if C is not None:
        limit = LIMITS.get(task.length, LIMITS[10])
        passes = PARTS_LIMITS.get(method.parts, (limit.passes, 1))
        config = limited(set_values(config, {"objective.C": C}), limit.gap, *passes)
    fit = fitted(method, application, training, config)
    (train, _), (tested, predictions) = (
        scored(application, examples, fit.w) for examples in (training, test)
    )
    return {
        "length": task.length,
        "method": task.method,
        "C": C,
        "edge": edge,
        "sentences": len(training),
        "weights": len(fit.w),
        "train_accuracy": train["exact_match"],
        "train_f1": train["f1"],
        "test_accuracy": tested["exact_match"],
        "test_f1": tested["f1"],
        "no_parse": tested["no_parse"],
        "constraints": fit.planes,
        "seconds": fit.seconds,
        "seconds_search": searched,
        "passes": fit.passes,
        "gap": fit.gap,
        "qp_share": fit.share,
        "converged": fit.converged,
        "right": right_brackets(application, test, predictions),
    }


def chosen_C(
    method: Method,
    application: GrammarParsing,
    training: Treebank,
    dev: Treebank,
    config: Config,
    grid: Sequence[float],
) -> tuple[float, bool]:
    """The C with the best trees of dev, the first of equal ones, and whether it is at an edge.

    The grid grows by a factor of 10 at a time, up to 3 times, while the best C is at its edge.
    """
    if len(grid) == 1:
        return grid[0], False
    config = limited(config, *(SEARCH if method.parts == 1 else PARTS_SEARCH))
    key = "f1" if method.loss == "f1" else "exact_match"
    values: dict[float, float] = {}
    more = list(grid)
    while more and len(values) < len(grid) + MORE:
        path = [set_values(config, {"objective.C": C}) for C in more]
        for C, model in zip(
            more, learn_path(application, training, path, scored=False), strict=True
        ):
            values[C] = scored(application, dev, weights(model))[0][key] or 0.0
        best = max(sorted(values), key=lambda C: values[C])
        more = [best / 10.0] * (best == min(values)) + [best * 10.0] * (best == max(values))
    return best, bool(more)


def weights(model: Model) -> np.ndarray:
    """One weight for each feature, also of those that training examples do not have."""
    return np.asarray(model.space.linear(model.w)) if hasattr(model.space, "linear") else model.w


class Fit(NamedTuple):
    """What was learnt. seconds : of the CPU; share : of the QP in percent; gap : reached"""

    w: np.ndarray
    planes: int | None
    seconds: float
    share: float | None
    converged: bool | None
    passes: int | None = None
    gap: float | None = None


def short(examples: Treebank, length: int, most: int) -> Treebank:
    """The sentences with at most so many tokens, at most so many of them."""
    return examples.take(np.flatnonzero(examples.lengths <= length)[:most])


def fitted(method: Method, application: GrammarParsing, training: Treebank, config: Config) -> Fit:
    """Train a method."""
    began = time.process_time()
    if not method.model:
        w = frequencies(application, training)
        return Fit(w, None, time.process_time() - began, None, None)
    watch = Watch()
    model = learn_on(application, training, config, observer=watch, scored=False)
    seconds, shared, record = time.process_time() - began, None, model.record
    if method.model == "ssvm" and watch.summary is not None:
        whole = watch.summary.seconds_inference + watch.summary.seconds_qp
        shared = 100.0 * watch.summary.seconds_qp / max(whole, 1e-9)
    planes = record["planes"] if method.model == "ssvm" else None
    ended = (bool(record["converged"]), record["passes"], record["gap"])
    return Fit(weights(model), planes, seconds, shared, *ended)


class Watch(Observer):
    """Keeps the summary of a run."""

    summary: Summary | None = None

    def finished(self, summary: Summary) -> None:
        """Keep it."""
        self.summary = summary


def frequencies(application: GrammarParsing, training: Treebank) -> np.ndarray:
    """Weights under which w · Φ(x, y) is log P(y) with the relative frequencies of rules."""
    w = np.zeros(application.dimension(training))
    counts = application.completed(w, training).gradient
    grammar = application.features.grammar
    owner = grammar.parent + 1  # the root is 0
    totals = np.bincount(owner, weights=counts, minlength=len(grammar.parts) + 1)
    with np.errstate(divide="ignore"):
        logs = np.log(counts) - np.log(totals[owner])
    return np.where(counts > 0, logs, LOWEST)


def scored(
    application: GrammarParsing, examples: Treebank, w: np.ndarray
) -> tuple[dict[str, Any], Predictions]:
    """The scores of the predictions, and these."""
    predictions = application.predict(w, examples)
    return application.score(examples, predictions), predictions


def right_brackets(
    application: GrammarParsing, examples: Treebank, predictions: Predictions
) -> np.ndarray:
    """Right brackets of each sentence, and those that are wrong or missed, (n, 2)."""
    counts: bracket_metrics.Counts = application.counts(examples, predictions)
    return np.column_stack([counts.matched, counts.gold + counts.test - 2 * counts.matched])


def compare(rows: Sequence[dict[str, Any]]) -> None:
    """Add McNemar's test of each row against the first one, if there are any."""
    if not rows:
        return
    reference = rows[0]["right"]
    for row in rows:
        wrong, other = row["right"][:, 1], reference[:, 1]
        better, worse = int(np.sum(wrong < other)), int(np.sum(wrong > other))
        row["better"], row["worse"] = better, worse
        row["p"] = binomtest(better, better + worse).pvalue if better + worse else 1.0


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table as text."""
    table = []
    for row in rows:
        percent = ("train_accuracy", "train_f1", "test_accuracy", "test_f1")
        table.append(
            {
                "tokens": f"≤ {row['length']}",
                "method": row["method"],
                **{key.replace("_", " "): f"{row[key]:.1f}" for key in percent},
                "no parse": row["no_parse"],
                "const": row["constraints"] or "–",
                "CPU s": f"{row['seconds']:.1f}",
                "QP %": "–" if row["qp_share"] is None else f"{row['qp_share']:.0f}",
                "better : worse": f"{row['better']} : {row['worse']}",
                "p": f"{row['p']:.2g}",
                "gap": _gap(row),
                "C": f"{row['C'] or '–'}{' (edge)' if row['edge'] else ''}",
            }
        )
    sizes = {row["length"]: row["sentences"] for row in rows}
    told = ", ".join(f"{count:,d} of at most {length}" for length, count in sizes.items())
    spent = sum(row["seconds"] + row["seconds_search"] for row in rows)
    title = (
        f"Trees of GUM; training sentences: {told} tokens; {spent:.0f} CPU s of training, "
        f"{sum(row['seconds_search'] for row in rows):.0f} of them to choose C"
    )
    return text_table(title, table)


def _gap(row: Mapping[str, Any]) -> str:
    """The gap that was reached, marked where the limit of passes came first."""
    if row["gap"] is None:
        return "–"
    return f"{row['gap']:.1g}" + ("" if row["converged"] else f" ({row['passes']} passes)")


if __name__ == "__main__":
    command.main(
        "Parsing with grammars that are read off trees.",
        "folder of GUM",
        "80 sentences of at most 6 tokens",
        experiment,
        {"training": 0},
    )
