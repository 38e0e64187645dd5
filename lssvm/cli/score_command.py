"""The command ``lssvm score``."""

from pathlib import Path
from typing import Any

import click

from lssvm.cli import streams
from lssvm.cli.common import Command, count_option
from lssvm.errors import LssvmError, counted


@click.command(cls=Command)
@click.argument("predictions", type=click.Path())
@click.argument("gold", type=click.Path())
@click.option("--application", metavar="NAME", help="The application, if GOLD is no configuration.")
@count_option("--bootstrap", "Number of bootstrap samples for the intervals; 0: none.", 1000, 0)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N")
@click.option("--csv", "csv_file", metavar="FILE", type=click.Path(), help="Write each example.")
@click.option("--json", "json_file", metavar="FILE", type=click.Path(), help="Write all scores.")
def score(predictions: str, gold: str, **options: Any) -> None:
    """Print the metrics of PREDICTIONS, written by whatever program, for the labels of GOLD.

    GOLD is a file of examples, or a configuration, whose test files and application are used. The
    predictions are what lssvm-classify writes for the application: a label or a score a line in the
    order of GOLD, columns whose last one is the predicted label, a table with tabs and a header, or
    trees. The intervals hold 95 % of the values over bootstrap samples of the examples.

    \b
    lssvm score scores.txt test.txt --application precision_at_k --csv queries.csv
    lssvm score tagged.conll ner.yaml
    """
    from lssvm.cli.files import Files
    from lssvm.output.locks import owned

    config = _config(gold, options["application"])
    files = Files()
    files.prints()
    files.reads("PREDICTIONS", predictions)
    files.reads_config("GOLD", gold, config)
    for name, path in (("--csv", options["csv_file"]), ("--json", options["json_file"])):
        files.writes(name, path)
    files.check_outputs()
    found = config.create_application().written(predictions, config.sources("test"))
    if not len(found.names):
        raise LssvmError(f"{gold}: has no examples; expected some")
    with owned(options["csv_file"], options["json_file"]):
        _tell(found, options)


def _config(gold: str, application: str | None) -> Any:
    """The configuration that GOLD is, or one for a file of examples."""
    from lssvm.config import Config, load_config

    if Path(gold).suffix in (".yaml", ".yml"):
        if application is not None:
            raise LssvmError(f"--application: {gold} names it; expected a file of examples")
        return load_config(gold)
    if application is None:
        raise LssvmError(f"{gold}: is no configuration; expected --application NAME beside it")
    data = {"train": gold, "test": gold}
    return Config.from_dict({"application": {"name": application}, "data": data}, origin=gold)


def _tell(found: Any, options: dict[str, Any]) -> None:
    """Print the scores, and write them where asked."""
    import numpy as np

    from lssvm.cli.console import number
    from lssvm.output.plain import finite
    from lssvm.output.tables import text_table, write_csv, write_json

    scores, samples = found.scores(), options["bootstrap"]
    intervals = found.intervals(samples, np.random.default_rng(options["seed"])) if samples else {}
    rows = [{found.what: name} for name in map(str, found.names)]
    for name, values in found.each.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    if options["csv_file"]:
        write_csv(Path(options["csv_file"]), rows)
    if options["json_file"]:
        told = {
            name: {"value": value, "interval": intervals.get(name)}
            for name, value in scores.items()
        }
        labels = found.labels
        tables = (
            [dict(zip(labels.heads, row, strict=True)) for row in labels.rows] if labels else []
        )
        write_json(
            Path(options["json_file"]), finite({"metrics": told, "labels": tables, "each": rows})
        )
    width = max(map(len, scores))
    lines = []
    for name, value in scores.items():
        interval = intervals.get(name)
        around = f"  [{number(interval[0])}, {number(interval[1])}]" if interval else ""
        lines.append(f"{name:<{width}} {number(value)}{around}")
    lines.append(f"{counted(len(found.names), found.what, _plural(found.what))}")
    if found.labels is not None:
        table = [dict(zip(found.labels.heads, row, strict=True)) for row in found.labels.rows]
        lines += ["", *(text_table(found.labels.title, table).splitlines() if table else [])]
    streams.show(lines)


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
