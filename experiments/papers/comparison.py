"""A table of a paper and ours as one, and what stands of a target in the folder of results."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments.common import provenance
from experiments.papers.found import Figure, Found
from experiments.papers.published import Printed
from experiments.papers.targets import Target
from lssvm.errors import LssvmError
from lssvm.output.charts import Table

PAPER, OURS = "paper", "ours"
SHARE_DIGITS, DIGITS = 3, 1  # after the point, of shares and of others that no paper has
SMALL = 0.1  # errors below have one digit more


class Result(NamedTuple):
    """What stands in a folder.

    run : how it was made, see ``provenance``; None if it is not known
    text : the table as the experiment printed it; found : its figures
    pictures : its PNG files
    """

    run: Mapping[str, Any] | None
    text: str
    found: Found | None
    pictures: Sequence[Path] = ()


def result_of(target: Target, out: Path) -> Result | None:
    """The results of a target; None if it was not run. Raises LssvmError if they are damaged."""
    folder = out / target.name
    path = folder / f"{target.file}.json"
    if not path.exists():
        return None
    run = folder / provenance.FILE
    values = _json(path)
    try:
        text = (folder / f"{target.file}.txt").read_text(encoding="utf-8").rstrip("\n")
        found = target.read(values) if target.read else None
    except (OSError, KeyError, TypeError, ValueError) as error:
        kind = f"{type(error).__name__}: {error}"
        raise LssvmError(f"{path}: not results of make {target.name} ({kind})") from None
    known = _json(run) if run.exists() else None
    return Result(known, text, found, sorted(folder.glob("*.png")))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LssvmError(f"{path}: cannot be read: {error}; expected JSON") from None


def table_of(target: Target, found: Found | None) -> Table | None:
    """The paper's rows and ours, one below the other where both have a row; None if none has any.

    The columns are the paper's, then those that only ours has.
    """
    printed = target.printed
    if printed is None and (found is None or not found.rows):
        return None
    columns = list(printed.columns if printed else ())
    columns += [name for name in (found.columns if found else ()) if name not in columns]
    rows = []
    own = dict(found.rows) if found else {}
    for name in dict.fromkeys([*(printed.rows if printed else ()), *own]):
        digits = _digits(printed, own.get(name, ()))
        if printed and name in printed.rows:
            cells = [printed.figure(name, c) if c in printed.columns else None for c in columns]
            rows.append([f"{name}, {PAPER}", *(_shown(cell, digits) for cell in cells)])
        if found and any(own.get(name, ())):
            figures = dict(zip(found.columns, own[name], strict=True))
            label = f"{name}, {OURS}" if printed else name
            rows.append([label, *(_shown(figures.get(c), digits) for c in columns)])
    return Table(title=target.what, heads=["", *columns], rows=rows)


def _digits(printed: Printed | None, row: Sequence[Figure | None]) -> int:
    """The digits after the point: as many as the paper prints, and otherwise by figures and errors.

    row : the figures in a row of ours
    """
    if printed:
        texts = [f"{figure:g}" for row in printed.rows.values() for figure in row if figure]
        return max(len(text.partition(".")[2]) for text in texts)
    figures = [figure for figure in row if figure]
    if figures and max(abs(mean) for mean, _ in figures) <= 1.0:
        return SHARE_DIGITS
    errors = [error for _, error in figures if error is not None]
    return DIGITS + (bool(errors) and max(errors) < SMALL)


def _shown(figure: Figure | float | None, digits: int) -> str:
    if figure is None:
        return "–"
    mean, error = figure if isinstance(figure, tuple) else (figure, None)
    text = f"{mean:.{digits}f}".replace("-", "−")
    return text + (f" ± {error:.{digits}f}" if error is not None else "")


def markdown(table: Table) -> str:
    """The table in Markdown."""
    rows = [[str(cell).replace("|", "\\|") for cell in row] for row in (table.heads, *table.rows)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(table.heads), *lines[1:]]) + "\n"
