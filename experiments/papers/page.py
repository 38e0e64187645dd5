"""One page with what the papers print and what the experiments found.

    python -m experiments.papers.page --out out
    python -m experiments.papers.page --out out --keep

The first command writes OUT/papers.html and OUT/papers.md from the results that stand in OUT. For
each target of ``make experiments`` they have the paper's figures beside ours, pictures, and how
ours were made: seconds, commit and seeds. What was not run is said to be not run.

``--keep`` also takes the figures of whole runs over into ``measured.json``, from which the tables
of docs/results/papers.md are made, and writes these tables.
"""

import argparse
import base64
import re
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from experiments.common import provenance
from experiments.papers import measured
from experiments.papers.comparison import Result, markdown, result_of, table_of
from experiments.papers.targets import TARGETS, Target
from lssvm.cli import streams
from lssvm.errors import LssvmError
from lssvm.output.charts import Drawing, Figure, Table
from lssvm.output.page import Page, Section, check_installed, write_page
from lssvm.output.whole import replacing

TITLE = "The papers' tables and ours"
SUBTITLE = "Made by make papers from the results that stand in the folder."
NOT_RUN, NOT_KNOWN = "not run", "not known"
QUICK = "This is a short run (QUICK=1): its figures say only that the experiment works."
SOME_QUICK = "Some runs are short (QUICK=1): their figures say only that the experiments work."
WIDTH = re.compile(rb"\x89PNG\r\n\x1a\n....IHDR(....)(....)", re.DOTALL)

Results = Mapping[str, Result | None]


def main() -> None:
    """Write the page; errors end with exit code 2."""
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="also keep the figures of whole runs, and write the tables of docs/results/papers.md",
    )
    options = parser.parse_args()
    with streams.standing():
        try:
            check_installed()
            results = {target.name: result_of(target, options.out) for target in TARGETS}
            write_page(options.out / "papers.html", page_of(results))
            with replacing(options.out / "papers.md") as file:
                file.write(markdown_of(results, options.out))
            if options.keep:
                measured.keep(results)
                measured.write_tables()
            streams.show([f"{options.out / 'papers.html'}", f"{options.out / 'papers.md'}"])
        except LssvmError as error:
            streams.tell_error(error, [str(options.out)])
            sys.exit(2)


def page_of(results: Results) -> Page:
    """The page: a table of all targets, and a part for each one that was run."""
    ran = [target for target in TARGETS if results[target.name] is not None]
    facts = [("experiments", f"{len(TARGETS)}"), ("run", f"{len(ran)}")]
    sections = [Section("All experiments", [overview(results)], "make and the name runs one.")]
    for target in TARGETS:
        result = results[target.name]
        note = f"{told(target)} {made(result)}"
        sections.append(Section(f"make {target.name}", figures_of(target, result), note))
    warnings = [SOME_QUICK] if any(_quick(results[target.name]) for target in ran) else []
    folded = [(f"{t.name} as it printed it", r.text) for t in ran if (r := results[t.name])]
    return Page(TITLE, SUBTITLE, facts, sections, warnings, folded)


def told(target: Target) -> str:
    """What a target is, in a few sentences."""
    return " ".join(filter(None, [f"{target.title}: {target.what}.", target.note]))


def overview(results: Results) -> Table:
    """A row for each target."""
    heads = ["make", "repeats", "run", "CPU s", "seconds", "commit"]
    rows: list[list[Any]] = []
    for target in TARGETS:
        result = results[target.name]
        row = [target.name, target.title]
        if result and result.run:
            run = result.run
            row.append("short" if run["quick"] else "whole")
            row += [round(run["processor_seconds"]), round(run["seconds"]), _commit(run)]
        else:
            row += [NOT_KNOWN if result else NOT_RUN, "–", "–", "–"]
        rows.append(row)
    return Table(title="How the results were made", heads=heads, rows=rows)


def made(result: Result | None) -> str:
    """How results were made, in one or two sentences."""
    if result is None:
        return "Ours was not run."
    if result.run is None:
        return "How ours was made is not known: the run did not end, or is of an earlier version."
    run = result.run
    seeds = ", ".join(f"{name} {seed}" for name, seed in run["seeds"].items())
    where = f"in {run['jobs']} process{'es' * (run['jobs'] > 1)}"
    if placed := provenance.placed(run):
        where = f"on this machine with {placed}"
    return (
        f"Ours: commit {_commit(run)}, seeds: {seeds}; {run['processor_seconds']:,.0f} CPU seconds "
        f"{where}, {run['seconds']:,.0f} seconds in all." + f" {QUICK}" * run["quick"]
    )


def _commit(run: Mapping[str, Any]) -> str:
    return str(run["commit"] or NOT_KNOWN) + (", changed" if run["changed"] else "")


def _quick(result: Result | None) -> bool:
    return bool(result and result.run and result.run["quick"])


def figures_of(target: Target, result: Result | None) -> list[Figure]:
    """The table, and the pictures."""
    figures: list[Figure] = []
    table = table_of(target, result.found if result else None)
    if table is not None:
        figures.append(table)
    for path in result.pictures if result else ():
        figures.append(Drawing(title=path.stem, svg=_as_svg(path)))
    return figures


def _as_svg(path: Path) -> str:
    """A PNG file as a picture that is as wide as the page at most."""
    content = path.read_bytes()
    match = WIDTH.match(content)
    if match is None:
        raise LssvmError(f"{path}: not a PNG file; expected a picture of the experiment")
    width, height = (int.from_bytes(number, "big") for number in match.groups())
    address = "data:image/png;base64," + base64.b64encode(content).decode()
    return (
        f'<svg viewBox="0 0 {width} {height}" style="width:100%;max-width:40rem;height:auto">'
        f'<image href="{escape(address)}" width="{width}" height="{height}"/></svg>'
    )


def markdown_of(results: Results, out: Path) -> str:
    """The same in Markdown; pictures are shown from where they lie."""
    parts = [f"# {TITLE}", SUBTITLE, markdown(overview(results))]
    for target in TARGETS:
        result = results[target.name]
        parts += [f"## make {target.name}", f"{told(target)} {made(result)}"]
        table = table_of(target, result.found if result else None)
        parts += [markdown(table)] if table is not None else []
        if result is None:
            continue
        parts += [_picture(path, out) for path in result.pictures]
        parts.append(f"```\n{result.text}\n```")
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _picture(path: Path, out: Path) -> str:
    return f"![{path.stem}]({path.relative_to(out).as_posix()})"


if __name__ == "__main__":
    main()
