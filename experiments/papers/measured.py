"""The figures of whole runs that are kept with the project, and the tables that show them.

``measured.json`` has, for each target, how it was run and what it found. The tables of
docs/results/papers.md between the marks ``<!-- TARGET: begin -->`` and ``<!-- TARGET: end -->`` are
made from it; nobody writes them by hand.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.common import provenance
from experiments.papers.comparison import Result, markdown, table_of
from experiments.papers.found import Found
from experiments.papers.targets import TARGETS, Target
from lssvm.output.tables import write_json
from lssvm.output.whole import replacing

ROOT = Path(__file__).parents[2]
MEASURED = Path(__file__).with_name("measured.json")
PAGE = ROOT / "docs" / "results" / "papers.md"
MARKED = r"(?<=<!-- {0}: begin -->\n).*?(?=<!-- {0}: end -->)"
DIGITS = 6  # significant ones of what is kept


def keep(results: Mapping[str, Result | None]) -> None:
    """Take over the figures of whole runs; those of other targets stay. Raises LssvmError."""
    own = kept()
    for target in TARGETS:
        result = results[target.name]
        if result and result.found and result.run and not result.run["quick"]:
            rows = {
                name: [None if figure is None else [_rounded(v) for v in figure] for figure in row]
                for name, row in result.found.rows.items()
            }
            own[target.name] = {
                "run": dict(result.run),
                "columns": list(result.found.columns),
                "rows": rows,
            }
    order = [target.name for target in TARGETS]
    write_json(MEASURED, {name: own[name] for name in order if name in own})


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def kept() -> dict[str, Any]:
    """What is kept, by target."""
    return dict(json.loads(MEASURED.read_text(encoding="utf-8")))


def section_of(target: Target) -> str:
    """The table of a target as the page has it, and a line about its run; empty if not kept."""
    own = kept().get(target.name)
    if own is None:
        return ""
    rows = {
        name: [None if figure is None else (figure[0], figure[1]) for figure in row]
        for name, row in own["rows"].items()
    }
    table = table_of(target, Found(tuple(own["columns"]), rows))
    assert table is not None
    run = own["run"]
    changed = " with changes" if run["changed"] else ""
    words = ["make", target.name, provenance.placed(run)]
    line = (
        f"`{' '.join(filter(None, words))}`, commit {run['commit']}{changed}: "
        f"{run['processor_seconds']:,.0f} CPU seconds."
    )
    return f"{target.what[0].upper()}{target.what[1:]}.\n\n{markdown(table)}\n{line}\n"


def write_tables() -> None:
    """Write the tables of the page anew. Raises LssvmError if it cannot be written."""
    text = with_tables(PAGE.read_text(encoding="utf-8"))
    with replacing(PAGE) as file:
        file.write(text)


def with_tables(text: str) -> str:
    """The text of the page with the tables as they follow from what is kept."""
    for target in TARGETS:
        section = section_of(target).replace("\\", r"\\")
        text = re.sub(MARKED.format(target.name), section, text, flags=re.DOTALL)
    return text
