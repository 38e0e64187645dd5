"""Results as text, CSV and JSON, and means with their standard errors."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from lssvm.errors import LssvmError
from lssvm.output.whole import replacing

Row = Mapping[str, Any]
WIDTH = 200  # characters; wider than any table here, so that no cell is folded


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Mean and standard error of the mean; the error of fewer than two values is NaN."""
    array = np.array(list(values), dtype=float)
    if len(array) < 2:
        return float(array.mean()) if len(array) else np.nan, np.nan
    return float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array)))


def plus_minus(values: Iterable[float], digits: int = 2) -> str:
    """``mean ± standard error``, the error left out where there is none."""
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f}" + (f" ± {error:.{digits}f}" if np.isfinite(error) else "")


def text_table(title: str, rows: Sequence[Row]) -> str:
    """A title and the rows as a table; the keys of the first row are its columns.

    Text stands left, numbers right; a row lacks what does not apply to it.
    """
    table = Table(box=box.SIMPLE_HEAD)
    for column in rows[0]:
        numeric = any(isinstance(row.get(column), int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in rows[0]))
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, markup=False)
    console.print(table)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join([title, *(line.rstrip() for line in lines if line.strip())])


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows, with empty cells for keys that only others have.

    Raises LssvmError if the file cannot be written.
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with replacing(path) as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_json(path: Path, value: Any) -> None:
    """Write a value of plain types. Raises LssvmError if the file cannot be written."""
    with replacing(path) as file:
        json.dump(value, file, indent=1, allow_nan=False)
        file.write("\n")


def write_results(
    folder: Path, name: str, text: str, rows: Sequence[Row], summary: Mapping[str, Any]
) -> None:
    """Write NAME.txt (the table), NAME.csv (every single run) and NAME.json (both)."""
    with replacing(folder / f"{name}.txt") as file:
        file.write(text + "\n")
    write_csv(folder / f"{name}.csv", rows)
    write_json(folder / f"{name}.json", {**summary, "runs": list(rows)})


def make_folder(path: Path) -> None:
    """Create the folder of the results. Raises LssvmError if that is impossible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LssvmError(f"{path}: cannot be created: {error.strerror}") from None


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
