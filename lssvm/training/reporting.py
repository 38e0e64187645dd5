"""The report of a model: what was trained on what, how it went, and what came of it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lssvm
from lssvm.applications.base import Examples, labelled_part
from lssvm.config.checks import meaningful
from lssvm.config.yaml12 import dump
from lssvm.errors import LssvmError, MissingExtraError, counted
from lssvm.model import Model
from lssvm.output.charts import Cell, Figure, Group, Lines, Table, Text
from lssvm.output.page import Page, Section, check_installed, write_page
from lssvm.training import charts
from lssvm.training.arithmetic import arithmetic
from lssvm.training.explaining import Explanation, explain, text_of
from lssvm.training.prediction import predicted, prepared
from lssvm.training.record import keeps_earlier, whose_gap
from lssvm.training.run_log import RunLog, read_log

MISTAKES = 5
TOP = 12  # contributions of a mistake
MOST_LINES = 80  # of what an example shows
NO_HISTORY = "No curves: the record has a single point (lssvm-learn --log -v 3 writes every pass)."


class Data(NamedTuple):
    """Examples that a report scores the model on. name : of the file, or of what it is."""

    name: str
    examples: Examples


def report(
    model: Model | str | Path,
    path: str | Path,
    data: Sequence[Data] = (),
    *,
    log: str | Path | None = None,
    mistakes: int = MISTAKES,
    name: str = "",
) -> None:
    """Write the report of a model to an HTML file.

    data : examples that the application of the model has read
    log : what ``lssvm-learn --log`` has written
    mistakes : how many of the worst ones are explained; name : of the model, by default its file's

    Raises MissingExtraError without jinja2 or matplotlib, LssvmError if the file cannot be written.
    """
    check_installed()
    found = model if isinstance(model, Model) else Model.load(model)
    name = name or ("model" if isinstance(model, Model) else Path(model).name)
    run = read_log(log) if log else None
    write_page(path, page_of(found, name, data, run, mistakes))


def page_of(
    model: Model, name: str, data: Sequence[Data], log: RunLog | None, mistakes: int
) -> Page:
    """The report as a page. name : of the model."""
    config, record = model.config, model.record
    sections = [
        Section("Scores", [_scores(model, data), *_none(data)]),
        Section("Training", list(_training(model, log))),
        Section("Weights", [_weights(model)]),
    ]
    own = _labelled(data)
    figures = list(_figures(model, own))
    if figures:
        sections.insert(1, Section("Pictures", figures, _of(own)))
    if own and mistakes:
        sections.append(_mistakes(model, own, mistakes))
    section = config["application"]
    return Page(
        title=f"{section['name']}: {name}",
        subtitle=f"Report of a model, made by lssvm {lssvm.__version__}.",
        facts=_facts(model, data),
        sections=sections,
        warnings=[str(text) for text in record.get("warnings", [])] + _reached(record),
        folded=[("Configuration", dump(meaningful(config)))],
    )


def _labelled(data: Sequence[Data]) -> Data | None:
    """The first data with labels, without the examples that have none."""
    for one in data:
        known = labelled_part(one.examples)
        if known is not None and len(known):
            return Data(one.name, known)
    return None


def _of(own: Data | None) -> str:
    return f"Predictions are those for {own.name}." if own else ""


def _none(data: Sequence[Data]) -> Iterator[Figure]:
    if not data:
        note = "No data were given: the figures are those of the model's record."
        yield Text(title="", note=note, lines=[])


def _facts(model: Model, data: Sequence[Data]) -> list[tuple[str, str]]:
    """What was trained on what."""
    config, record = model.config, model.record
    options = {key: value for key, value in config["application"].items() if key != "name"}
    objective = config["objective"]
    files = [str(entry["path"]) for entry in config.get("data", {}).get("train", [])]
    facts = [
        ("application", str(config["application"]["name"])),
        ("options", ", ".join(f"{key}: {_plain(value)}" for key, value in options.items())),
        ("model", f"{objective['model']}, C = {objective['C']:g} ({objective['c_scaling']})"),
        ("trained on", ", ".join(files) or "examples in memory"),
    ]
    if record.get("n_examples"):
        facts.append(("examples", f"{record['n_examples']:,d}"))
    facts += [(f"scored on {one.name}", counted(len(one.examples), "example")) for one in data]
    nonzero = int(np.count_nonzero(model.w))
    facts.append(("weights", f"{len(model.w):,d}, {nonzero:,d} not zero"))
    if record.get("objective") is not None:
        facts.append(("objective", f"{record['objective']:.6g}"))
    if record.get("gap") is not None:
        own = whose_gap(record["gap"], keeps_earlier(record))
        facts.append(("duality gap", f"{record['gap']:.2g} (relative, {own})"))
    if record.get("passes"):
        passes, iterations = record["passes"], record.get("cccp_iterations", 0)
        facts.append(
            ("work", f"{counted(passes, 'pass', 'passes')}; CCCP iterations: {iterations:,d}")
        )
    facts.append(("seed", str(record.get("seed", config.get("seed", 0)))))
    facts += [(key, _shown(value)) for key, value in model.described().items()]
    if record.get("data_sha256"):
        facts.append(("data (SHA-256)", record["data_sha256"][:16]))
    return [(key, value) for key, value in facts if value]


def _plain(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else f"{text[:58]} …"


def _shown(value: Any) -> str:
    return f"{value:z.6g}" if isinstance(value, float) else str(value)


def _reached(record: dict[str, Any]) -> list[str]:
    if record and record.get("gap") is None and record.get("lower_bound") is None:
        return []
    if not record.get("certified", True):
        return ["The gap is not certified: inference is approximate."]
    if not record.get("converged", True):
        return ["The requested precision was not reached."]
    return []


def _scores(model: Model, data: Sequence[Data]) -> Table:
    """Metrics of training, validation and data, a column for each."""
    columns: dict[str, dict[str, Any]] = {}
    for name in ("training", "validation"):
        if model.record.get(name):
            columns[f"{name} data"] = dict(model.record[name])
    for one in data:
        own = _labelled([one])
        if own is not None:
            linear, examples = prepared(model, own.examples)
            with arithmetic():
                found = predicted(linear, examples)
                columns[one.name] = model.application.score(examples, found)
    names = list(dict.fromkeys(key for column in columns.values() for key in column))
    rows = [[name, *(column.get(name) for column in columns.values())] for name in names]
    return Table(title="Metrics", heads=["metric", *columns], rows=rows)


def _training(model: Model, log: RunLog | None) -> Iterator[Figure]:
    """Charts of the run, as far as the record and the log have them."""
    wanted = [("objective", charts.PASSES), ("restarts", ""), ("held_out", "")]
    if log is not None:
        wanted[1:1] = [
            ("objective", charts.SECONDS),
            ("gap", charts.PASSES),
            ("gap", charts.SECONDS),
        ]
    if len(model.record.get("restarts", [])) < 2:
        wanted.remove(("restarts", ""))
    drawn = False
    for kind, x in wanted:
        try:
            one = charts.chart(model, kind, log, x=x or charts.PASSES)
        except LssvmError:
            continue
        if isinstance(one, Lines) and max(len(series.x) for series in one.series) < 2:
            continue  # a single point is no picture
        drawn = True
        yield one
    if not drawn:
        yield Text(title="", note=NO_HISTORY, lines=[])
    rows = [_restart(number, row) for number, row in enumerate(model.record.get("restarts", []), 1)]
    if rows:
        heads = (
            "restart",
            "objective",
            "lower bound",
            "gap",
            "CCCP iterations",
            "passes",
            "planes",
        )
        best = model.record.get("best_restart", 0) + 1
        note = f"The model is that of restart {best}." if len(rows) > 1 else ""
        yield Table(title="Restarts in figures", note=note, heads=heads, rows=rows)


def _restart(number: int, row: dict[str, Any]) -> list[Cell]:
    names = ("objective", "lower_bound", "gap", "iterations", "passes", "planes")
    cells = {name: row.get(name) for name in names}
    if cells["gap"] is not None:
        cells["gap"] = float(f"{cells['gap']:.2g}")
    return [number, *cells.values()]


def _weights(model: Model) -> Figure:
    try:
        return charts.weights(model)
    except LssvmError:
        facts = [f"{key}: {value}" for key, value in model.space.facts().items()]
        return Text(title="Kernel", note="Coefficients of rows have no names.", lines=facts)


def _figures(model: Model, own: Data | None) -> Iterator[Figure]:
    """The application's own pictures."""
    linear = model
    with arithmetic():
        if own is not None:
            linear, examples = prepared(model, own.examples)
        if linear.space is model.space or len(linear.w) == len(model.w):
            yield from model.application.model_figures(model.w, model.arrays)
        if own is not None:
            found = predicted(linear, examples)
            yield from model.application.data_figures(linear.w, examples, found)


def _mistakes(model: Model, own: Data, most: int) -> Section:
    """The worst mistakes, and why."""
    linear, examples = prepared(model, own.examples)
    with arithmetic():
        found = predicted(linear, examples)
        records = linear.application.records(examples, found)
        losses = np.array([float(row.get("loss") or 0.0) for row in records])
    wrong = np.flatnonzero(losses > 0.0)
    worst = wrong[np.argsort(-losses[wrong], kind="stable")][:most]
    have = "has" if len(wrong) == 1 else "have"
    note = f"{len(wrong):,d} of {counted(len(losses), 'example')} of {own.name} {have} a loss."
    groups: list[Figure] = []
    for row in worst.tolist():
        try:
            groups.append(_mistake(explain(model, own.examples, row)))
        except MissingExtraError:
            raise
        except LssvmError as error:
            groups.append(Text(title=f"Example {own.examples.names[row]}", lines=[str(error)]))
    return Section("Worst mistakes", groups, note)


def _mistake(found: Explanation) -> Group:
    """An explanation as figures."""
    record = found.record
    rows: list[Sequence[Cell]] = [("predicted", text_of(record["y"]))]
    rows.append(("true", text_of(record.get("gold", ""))))
    rows += [("loss", record.get("loss")), ("score of the prediction", found.score)]
    if found.against:
        rows += [(f"score of the {found.against}", found.other_score), ("margin", found.margin)]
    parts: list[Figure] = [
        Text(title="", lines=[f"{name}: {_cell(value)}" for name, value in rows])
    ]
    if found.shown:
        lines = list(found.shown[:MOST_LINES])
        more = len(found.shown) - len(lines)
        parts.append(
            Text(title="What the model saw", lines=lines + [f"… {more} more"] * (more > 0))
        )
    parts.append(_contributions(found))
    return Group(title=f"Example {record.get('id', '')}", note=found.note, parts=parts)


def _cell(value: Any) -> str:
    return f"{value:z.6g}" if isinstance(value, float) else str(value)


def _contributions(found: Explanation) -> Table:
    beside = bool(found.against)
    kept, rest = found.contributions[:TOP], found.contributions[TOP:]
    rows: list[list[Cell]] = []
    for one in kept:
        own: list[Cell] = [one.feature, one.weight, one.score]
        rows.append([*own, one.other, one.difference] if beside else own)
    sums = [("entropy of what is summed out", found.entropy, found.other_entropy)]
    if not (found.entropy or found.other_entropy):
        sums = []
    if rest:
        others = (sum(one.score for one in rest), sum(one.other for one in rest))
        sums.insert(0, (counted(len(rest), "other feature"), *others))
    sums.append(("score", found.score, found.other_score))
    for name, mine, their in sums:
        rows.append([name, "", mine, their, mine - their] if beside else [name, "", mine])
    heads = ["feature", "weight", "prediction"]
    heads += [found.against, "difference"] if beside else []
    return Table(
        title="Why",
        note="Contributions to the score, those with the largest differences first.",
        heads=heads,
        rows=rows,
    )
