"""The group ``lssvm``: everything beside training and prediction."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from lssvm import __version__
from lssvm.command import (
    CONTEXT,
    EXIT_CODES,
    Group,
    check_distinct,
    check_output,
    count_option,
    json_option,
    quiet_option,
    settings_option,
)
from lssvm.errors import LssvmError


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=1, ensure_ascii=False))


def _print_lines(lines: Iterable[str]) -> None:
    click.echo("\n".join(lines))


@click.group(cls=Group, context_settings=CONTEXT, epilog=EXIT_CODES)
@click.version_option(__version__)
def main() -> None:
    """Tools around lssvm-learn and lssvm-classify: structural SVMs with hidden variables."""


@main.command()
@click.argument("application")
def init(application: str) -> None:
    """Print a commented configuration for APPLICATION to start from.

    \b
    lssvm init motif > motif.yaml
    """
    from lssvm.starter import starter

    click.echo(starter(application), nl=False)


@main.command()
@click.argument("file", required=False, type=click.Path())
@settings_option
@click.option("--schema", is_flag=True, help="Print the JSON schema, for editors, instead.")
def config(file: str | None, settings: tuple[str, ...], schema: bool) -> None:
    """Print the configuration FILE, or that of the model FILE, with every default filled in.

    \b
    lssvm config motif.yaml --set objective.C=10
    lssvm config motif.model > again.yaml
    lssvm config --schema motif.yaml > motif.schema.json
    """
    from lssvm.config import load_config
    from lssvm.formats.yaml12 import dump
    from lssvm.model import Model, is_container
    from lssvm.starter import json_schema

    if file is None and not schema:
        raise LssvmError("config: no FILE; expected a configuration or a model, or --schema")
    if file is not None and is_container(file):
        if settings:
            raise LssvmError(f"--set: {file} is a model; expected a configuration")
        values = Model.load(file).config
    else:
        values = load_config(file, settings).to_dict() if file is not None else {}
    if schema:
        _print_json(json_schema(values["application"]["name"] if values else None))
    else:
        click.echo(dump(values), nl=False)


@main.command()
@click.argument("config", type=click.Path())
@settings_option
@json_option
def check(config: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Read all data that CONFIG names; print counts and warn of what looks wrong.

    What lssvm-learn would refuse is refused: all that training begins with is done, up to its
    first pass and one prediction.

    \b
    lssvm check configs/motif.yaml
    """
    from lssvm.config import load_config
    from lssvm.inspection import data_facts, data_lines

    facts = data_facts(load_config(config, settings))
    if as_json:
        _print_json(facts)
    else:
        _print_lines(data_lines(facts))


@main.command()
@click.argument("model", type=click.Path())
@count_option("--top", "Largest weights to list by name.", 10, least=0)
@json_option
@click.option(
    "--export",
    "named",
    metavar="NAME=FILE",
    multiple=True,
    help="Write what the application calls NAME; may be repeated.",
)
@click.option("--meme", metavar="FILE", type=click.Path(), help="--export meme=FILE, a motif.")
@click.option("--logo", metavar="FILE", type=click.Path(), help="--export logo=FILE, .png or .svg.")
def show(model: str, top: int, as_json: bool, named: tuple[str, ...], **files: str | None) -> None:
    """Print the settings of MODEL, how it was trained, and its largest weights.

    \b
    lssvm show motif.model --meme motif.meme --logo motif.png
    """
    from lssvm.formats.output import check_writable
    from lssvm.inspection import model_facts, model_lines
    from lssvm.model import Model

    trained = Model.load(model)
    wanted = _exports(named) | {name: path for name, path in files.items() if path}
    exports = trained.application.exports
    for name, path in wanted.items():
        if name not in exports:
            kind = trained.application.options.name
            offered = ", ".join(exports) or "nothing"
            raise LssvmError(
                f"--export {name}: application {kind!r} cannot write it (known: {offered})"
            )
        others = {f"--export {other}": taken for other, taken in wanted.items() if other != name}
        check_output(path, f"--export {name}", MODEL=model, **others)
        check_writable(path)
    facts = model_facts(trained, top)
    for name, path in wanted.items():
        exports[name](trained.w, trained.arrays, path)
    if as_json:
        _print_json(facts)
    else:
        _print_lines(model_lines(facts, model))


def _exports(named: Sequence[str]) -> dict[str, str]:
    """Files by the names of what goes there. Raises LssvmError."""
    found: dict[str, str] = {}
    for text in named:
        name, _, path = text.partition("=")
        if not name or not path or name in found:
            raise LssvmError(f"--export {text}: expected NAME=FILE, each name once")
        found[name] = path
    return found


@main.command()
@click.argument("config", type=click.Path())
@settings_option
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes. [default: all cores]")
@click.option("--criterion", metavar="METRIC", help="Metric to choose by. [default: the first]")
@click.option("--csv", "csv_file", metavar="FILE", type=click.Path(), help="Write all runs.")
@click.option("--json", "json_file", metavar="FILE", type=click.Path(), help="Write all results.")
@quiet_option
def cv(config: str, settings: tuple[str, ...], **options: Any) -> None:
    """Compare the settings in CONFIG's search.grid by cross-validation on its training data.

    For each test fold the setting is chosen on the next fold and trained on the others, so no
    score comes from a fold that was chosen by. Values of objective.C are started from each other.

    \b
    lssvm cv configs/motif.yaml --set 'search.grid={objective.C: [0.1, 1, 10]}' --csv cv.csv
    """
    from lssvm.config import load_config
    from lssvm.cross_validation import run
    from lssvm.formats.output import check_writable
    from lssvm.inspection import available_cores
    from lssvm.tables import write_csv, write_json

    loaded = load_config(config, settings)
    outputs = {"--csv": options["csv_file"], "--json": options["json_file"]}
    for name, path in outputs.items():
        if path:
            others = {other: taken for other, taken in outputs.items() if other != name}
            check_output(path, name, CONFIG=config, **others)
            check_distinct(path, loaded, "train")
            check_writable(path)
    shown = sys.stderr.isatty() and not options["quiet"]

    def progress(done: int, of: int) -> None:
        if shown:
            click.echo(f"\r{done} of {of} done", nl=done == of, err=True)

    result = run(
        loaded,
        jobs=options["jobs"] or available_cores(),
        criterion=options["criterion"],
        progress=progress,
    )
    if options["csv_file"]:
        write_csv(Path(options["csv_file"]), result.rows())
    if options["json_file"]:
        write_json(Path(options["json_file"]), result.summary())
    if not options["quiet"]:
        click.echo(result.text())


@main.group()
def simulate() -> None:
    """Write simulated data whose best possible error is known."""


@simulate.command("motif")
@click.option("--out", required=True, metavar="DIR", type=click.Path(), help="Folder to write to.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed.")
@click.option("--n", default=200, show_default=True, help="Training sequences, half with a site.")
@click.option("--n-test", default=200, show_default=True, help="Test sequences.")
@click.option("--length", default=200, show_default=True, help="Letters of a sequence.")
@click.option("--width", default=11, show_default=True, help="Letters of the motif.")
@click.option(
    "--conservation",
    default=0.85,
    show_default=True,
    metavar="P",
    help="Probability of the consensus letter at each position of a site.",
)
@quiet_option
def simulate_motif(out: str, quiet: bool, **options: Any) -> None:
    """DNA from a Markov chain of order 3 with a degenerate motif in half of the sequences.

    \b
    lssvm simulate motif --out planted --seed 1 --conservation 0.95
    """
    from lssvm.experiments.simulate import write_motif

    told = write_motif(Path(out), **options)
    if not quiet:
        click.echo(told)


@main.command("list")
@json_option
def list_applications(as_json: bool) -> None:
    """List the applications that are installed, with their errors if they cannot be loaded."""
    from lssvm.inspection import application_lines, application_rows

    rows = application_rows()
    if as_json:
        _print_json(rows)
    else:
        _print_lines(application_lines(rows))


@main.command()
def info() -> None:
    """Print versions, machine and applications, to be pasted into a bug report."""
    from lssvm.inspection import info_lines

    _print_lines(info_lines())
