"""The command ``lssvm explain``.

Nothing heavy is imported before it runs, so that help and completion are quick.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lssvm.cli import streams
from lssvm.cli.common import Command, count_option
from lssvm.errors import LssvmError, counted

if TYPE_CHECKING:
    from lssvm.training.explaining import Explanation

NUMBER = "#"  # begins the number of an example where names are not enough
MOST_NAMED = 3  # examples that a message names


@click.command(cls=Command)
@click.argument("model", type=click.Path())
@click.argument("file", type=click.Path())
@click.option(
    "--example",
    "wanted",
    metavar="ID",
    required=True,
    help="The example: its name, or # and its number in the input, from 1.",
)
@click.option(
    "--against",
    metavar="LABEL",
    help="The output to compare with: a class, a candidate, labels separated by blanks, a docid, "
    "NODE=STATE. [default: the truth, or the runner-up where the truth is unknown or predicted]",
)
@click.option("--label", metavar="L", help="The true label of all examples, if the file has none.")
@count_option("--top", "Number of features to list.", 20)
@click.option("--json", "json_file", metavar="FILE", type=click.Path(), help="Write all as JSON.")
@click.option(
    "--max-mb",
    type=float,
    metavar="X",
    help="Largest size of a decompressed file in megabytes.  [default: data.max_mb of "
    "the configuration, else 1000]",
)
def explain(model: str, file: str, wanted: str, **options: Any) -> None:
    """Print why MODEL predicts what it does for an example of FILE.

    The score w · Φ of the prediction is a sum of contributions w_j Φ_j, which are listed by the
    names of features beside those of another output: the truth where the prediction is wrong.
    FILE may be - for standard input, or a configuration, whose test files are read.

    \b
    lssvm explain motif.model test.fa --example YAL067C
    lssvm explain digits.model digits.yaml --example '#3' --against 7 --json why.json
    """
    from lssvm.cli.classify_command import limit_of, test_config
    from lssvm.cli.files import Files
    from lssvm.model import Model
    from lssvm.output.locks import owned
    from lssvm.output.tables import write_json
    from lssvm.training.explaining import explain

    trained = Model.load(model)
    files = Files()
    files.prints()
    files.reads("MODEL", model)
    config = test_config(file, trained, options["label"], options["max_mb"])
    if config is None:
        files.reads_data("FILE", file, trained.application)
    else:
        files.reads_config("FILE", file, config)
    files.writes("--json", options["json_file"])
    files.check_outputs()
    from lssvm.applications.base import Source

    alone = Source(file, options["label"], limit=limit_of(options["max_mb"]))
    examples = trained.application.read(config.sources("test") if config else [alone])
    found = explain(trained, examples, row_of(examples, wanted, file), against=options["against"])
    if options["json_file"]:
        with owned(options["json_file"]):
            write_json(Path(options["json_file"]), found.to_dict())
    streams.show(explanation_lines(found, options["top"]))


def row_of(examples: Any, wanted: str, path: str) -> int:
    """The example of a name, or of # and a number from 1. Raises LssvmError."""
    names = examples.names
    rows = [row for row in range(len(names)) if str(names[row]) == wanted]
    if not rows and wanted.startswith(NUMBER) and wanted[1:].isdecimal():
        number = int(wanted[1:])
        if 1 <= number <= len(names):
            return number - 1
    if len(rows) == 1:
        return rows[0]
    if rows:
        first = ", ".join(f"{NUMBER}{row + 1}" for row in rows[:MOST_NAMED])
        raise LssvmError(
            f"--example {wanted}: {len(rows):,d} examples of {path} have this name; expected the "
            f"number of one of them: {first}"
        )
    shown = ", ".join(str(names[row]) for row in range(min(MOST_NAMED, len(names))))
    more = ", …" if len(names) > MOST_NAMED else ""
    raise LssvmError(
        f"--example {wanted}: {path} has no such example; expected one of {shown}{more}, or "
        f"{NUMBER}1 to {NUMBER}{len(names)}"
    )


def explanation_lines(found: "Explanation", top: int) -> list[str]:
    """An explanation as text, with so many features."""
    from lssvm.cli.console import metric_lines
    from lssvm.training.explaining import text_of

    record = found.record
    rows: dict[str, Any] = {
        "example": text_of(record.get("id", "")),
        "prediction": text_of(record["y"]),
    }
    if record.get("h") not in (None, [], {}):
        rows["hidden value"] = text_of(_plain(record["h"]))
    if "gold" in record:
        rows["truth"] = text_of(record["gold"])
    if "loss" in record:
        rows["loss"] = record["loss"]
    rows["score"] = found.score
    if found.against:
        rows[f"score of the {'other output' if found.against == 'given' else found.against}"] = (
            found.other_score
        )
        rows["margin"] = found.margin
        if found.against != "truth":
            rows["other output" if found.against == "given" else found.against] = found.other_name
    lines = metric_lines(rows)
    if found.note:
        lines.append(f"note: {found.note}")
    if found.shown:
        lines += ["", *(f"  {line}" for line in found.shown)]
    return [*lines, "", *_table(found, top)]


def _plain(value: Any) -> Any:
    """A hidden value for one line: JSON where it is more than a list of words."""
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        import json  # slow for a help text

        return json.dumps(value, ensure_ascii=False)
    return value


def _table(found: "Explanation", top: int) -> list[str]:
    """The contributions in columns; the last row has the sums."""
    beside = bool(found.against)
    other = {"truth": "truth", "runner-up": "runner-up", "given": "other"}.get(found.against, "")
    heads = ["weight", "prediction", other, "difference"] if beside else ["weight", "prediction"]
    lines = ["  ".join(f"{head:>12}" for head in heads) + "  feature"]
    kept, rest = found.contributions[:top], found.contributions[top:]

    def line(weight: float | None, score: float, their: float, name: str) -> str:
        values = [weight, score, *([their, score - their] if beside else [])]
        cells = ["" if value is None else f"{value:z.6g}" for value in values]
        return "  ".join(f"{cell:>12}" for cell in cells) + f"  {name}"

    for one in kept:
        lines.append(line(one.weight, one.score, one.other, one.feature))
    if rest:
        name = counted(len(rest), "other feature")
        lines.append(line(None, sum(o.score for o in rest), sum(o.other for o in rest), name))
    if found.entropy or found.other_entropy:
        name = "entropy of what is summed out"
        lines.append(line(None, found.entropy, found.other_entropy, name))
    lines.append(line(None, found.score, found.other_score, "score"))
    return lines
