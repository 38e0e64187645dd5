"""Facts about data, models and the installation, for ``lssvm check``, ``show``, ``list``, ``info``.

Each fact sheet is plain JSON values; the ``…_lines`` functions lay it out for a terminal.
"""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from lssvm import __version__, applications
from lssvm.cli.console import metric_lines, number, size
from lssvm.cli.messages import message
from lssvm.config import SPLITS, Config
from lssvm.config.checks import meaningful
from lssvm.errors import LssvmError, counted
from lssvm.model import Model
from lssvm.training.reading import nothing_skipped
from lssvm.training.record import keeps_earlier, whose_gap
from lssvm.training.session import rehearse

MOST_COMPARED = 200_000  # examples; beyond that train and test are not compared
MOST_NAMED = 3  # examples that are in two files
PACKAGES = ("numpy", "scipy", "osqp", "pydantic", "PyYAML", "click", "rich", "threadpoolctl")


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def data_facts(config: Config) -> dict[str, Any]:
    """Read every file that the configuration names: counts, and what looks wrong.

    Raises LssvmError at the first fault of a file, and where training would.
    """
    skipped: list[str] = []
    application, *begun = rehearse(config, warned=skipped.append)
    known = dict(zip(("train", "validate"), begun, strict=True))
    splits, warnings, seen = {}, skipped, {}
    for split in SPLITS:
        if not config.entries(split):
            continue
        examples = known.get(split)
        if examples is None:
            with nothing_skipped(config):
                examples = application.read(config.sources(split))
        splits[split] = _split_facts(application, examples)
        splits[split]["files"] = [entry.path for entry in config.files(split)]
        texts = application.warnings(examples)
        if split == "train":
            texts = [*texts, *application.scale_warnings(examples)]
        warnings += [f"data.{split}: {text}" for text in texts]
        if not examples.labelled and split != "train":
            warnings.append(f"data.{split}: examples without labels")
        seen[split] = examples, _fingerprints(examples)
    for split in ("validate", "test"):
        if split in seen:
            warnings += _shared(split, seen[split], seen["train"])
    return {"application": config.application.name, "splits": splits, "warnings": warnings}


def _split_facts(application: Any, examples: Any) -> dict[str, Any]:
    facts = {
        "examples": len(examples),
        "size": int(np.sum(examples.sizes)),
        "dimension": application.dimension(examples),
        "cost": float(np.sum(examples.costs)),
        "labelled": bool(examples.labelled),
    }
    groups = application.groups(examples) if examples.labelled else None
    if groups is not None:
        values, counts = np.unique(groups, return_counts=True)
        facts["classes"] = {
            application.group_name(examples, int(value)): int(count)
            for value, count in zip(values, counts, strict=True)
        }
    return facts


def _fingerprints(examples: Any) -> dict[str, int]:
    """The first example with each fingerprint.

    Those of some examples depend on the names that were read with them, unless ``identity`` makes
    them.
    """
    if len(examples) > MOST_COMPARED:
        return {}
    last = range(len(examples) - 1, -1, -1)
    identity = getattr(examples, "identity", lambda i: examples.slice(i, i + 1).fingerprint())
    return {identity(i): i for i in last}


def _shared(split: str, own: tuple[Any, Any], training: tuple[Any, Any]) -> list[str]:
    """A warning of examples that are in the training data too, if there are any.

    own, training : examples, and which of them have each fingerprint
    """
    rows = sorted((row, training[1][key]) for key, row in own[1].items() if key in training[1])
    if not rows:
        return []
    are = "example is" if len(rows) == 1 else "examples are"
    pairs = [
        f"{_place(own[0], one)} = {_place(training[0], other)}" for one, other in rows[:MOST_NAMED]
    ]
    more = ", …" if len(rows) > MOST_NAMED else ""
    return [f"data.{split}: {len(rows):,} {are} also in data.train: {', '.join(pairs)}{more}"]


def _place(examples: Any, row: int) -> str:
    """Where an example is, or what it is called where nothing is known of files."""
    error = getattr(examples, "error", None)
    return error(row, "").place if error is not None else repr(examples.names[row])


def data_lines(facts: dict[str, Any]) -> list[str]:
    """The facts of :func:`data_facts` as text."""
    lines = [f"application {facts['application']}"]
    for split, row in facts["splits"].items():
        lines.append(
            f"{split}: {counted(row['examples'], 'example')} in "
            f"{counted(len(row['files']), 'file')}, size "
            f"{row['size']:,d}, d = {row['dimension']:,d}, total cost {number(row['cost'])}"
        )
        if "classes" in row:
            counts = ", ".join(f"{name}: {count:,d}" for name, count in row["classes"].items())
            lines.append(f"  examples by class: {counts}")
    lines += [f"warning: {message(text)}" for text in facts["warnings"]]
    return lines


def model_facts(model: Model, top: int) -> dict[str, Any]:
    """Settings, training record and the ``top`` weights of largest size with their names."""
    names = model.names
    largest = np.argsort(-np.abs(model.w), kind="stable")[: min(top, len(names))]
    return {
        "config": meaningful(model.config),
        "dimension": len(model.w),
        "nonzero": int(np.count_nonzero(model.w)),
        "norm": float(np.sqrt(model.space.squared_norm(model.w))),
        "description": model.space.facts() | model.described(),
        "record": model.record,
        "weights": [{"feature": names[j], "weight": float(model.w[j])} for j in largest],
    }


def model_lines(facts: dict[str, Any], path: str | Path) -> list[str]:
    """The facts of :func:`model_facts` as text."""
    config, record = facts["config"], facts["record"]
    options = {key: value for key, value in config["application"].items() if key != "name"}
    rows = {
        "application": config["application"]["name"],
        "options": ", ".join(f"{key}: {_plain(value)}" for key, value in options.items()),
        "objective": ", ".join(f"{key}: {_plain(v)}" for key, v in config["objective"].items()),
        "dimension": f"{facts['dimension']:,d} ({facts['nonzero']:,d} not zero)",
        "norm": number(facts["norm"]),
        "file": f"{path}, {size(os.stat(path).st_size)}",
        **facts["description"],
    }
    lines = metric_lines(rows)
    lines += ["", "training", *(f"  {line}" for line in metric_lines(_figures(record)))]
    if record.get("validation"):
        lines += ["  on data.validate:"]
        lines += [f"    {line}" for line in metric_lines(record["validation"])]
    if record.get("gap", 0.0) is None:
        lines.append("  no gap is known (solver sgd)")
    elif (record.get("held_out") or {}).get("stopped"):
        lines.append("  stopped early: the held-out scores did not improve any more")
    elif not (record.get("certified", True) and record.get("converged", True)):
        lines.append("  the requested precision was NOT reached")
    if record.get("gap") is not None and keeps_earlier(record):
        lines.append(f"  the gap is that {whose_gap(record['gap'], earlier=True)}")
    lines += [f"  warning: {message(text)}" for text in record.get("warnings", [])]
    if facts["weights"]:
        lines += ["", "largest weights"]
        lines += [f"  {row['weight']:z12.5g}  {row['feature']}" for row in facts["weights"]]
    return lines


def _figures(record: dict[str, Any]) -> dict[str, Any]:
    figures = {
        name: value
        for name, value in record.items()
        if (value is None and name not in ("held_out", "validation"))
        or (isinstance(value, int | float) and not isinstance(value, bool))
    }
    if len(record.get("restarts", [])) < 2:
        for name in ("best_restart", "objective_mean", "objective_std"):
            figures.pop(name, None)
    return figures


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def application_rows() -> list[dict[str, Any]]:
    """Every registered application: name, package, version, models, what it is, or its error."""
    rows = []
    for name, entry in applications.registered().items():
        row: dict[str, Any] = {
            "name": name,
            "package": entry.dist.name if entry.dist else None,
            "version": entry.dist.version if entry.dist else None,
        }
        try:
            kind = applications.load(name)
            row["models"] = sorted(kind.models)
            row["about"] = (kind.__doc__ or "").strip().partition("\n")[0]
        except LssvmError as error:
            row["error"] = str(error)
        rows.append(row)
    return rows


def application_lines(rows: list[dict[str, Any]]) -> list[str]:
    """The rows of :func:`application_rows` as text, two lines an application."""
    lines = []
    for row in rows:
        package = f"{row['package']} {row['version']}" if row["package"] else "unknown package"
        if "error" in row:
            lines += [f"{row['name']}  ({package})", f"  error: {row['error']}"]
        else:
            lines += [
                f"{row['name']}  ({package}; models: {', '.join(row['models'])})",
                f"  {row['about']}",
            ]
    return lines


def info_lines() -> list[str]:
    """Versions, machine and plug-ins, to be pasted into a report."""
    rows = {
        "lssvm": __version__,
        "Python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        "processor": _processor(),
        "cores": str(available_cores()),
        **{package: _version(package) for package in PACKAGES},
    }
    for row in application_rows():
        state = "cannot be loaded" if "error" in row else f"{row['package']} {row['version']}"
        rows[f"application {row['name']}"] = state
    width = max(map(len, rows))
    return [f"{name:<{width}}  {text}" for name, text in rows.items()]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
