"""The group ``lssvm``: everything beside training and prediction."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lssvm import __version__
from lssvm.cli import streams
from lssvm.cli.common import (
    CONTEXT,
    EXIT_CODES,
    Command,
    Group,
    check_workers,
    count_option,
    executor_option,
    json_option,
    places,
    quiet_option,
    settings_option,
    workers_option,
)
from lssvm.cli.explain_command import explain
from lssvm.cli.manual_command import completion, manual
from lssvm.cli.messages import printable_json
from lssvm.cli.plot_command import plot
from lssvm.cli.report_command import report
from lssvm.cli.score_command import score
from lssvm.cli.simulate_command import simulate
from lssvm.errors import ContractError, LssvmError, SchedulerLostError, counted, nearest
from lssvm.output import stopping

if TYPE_CHECKING:
    from lssvm.applications.base import Application
    from lssvm.config import Config


def _print_json(value: Any) -> None:
    import json  # slow for a help text

    with streams.results() as file:
        file.write(printable_json(json.dumps(value, indent=1, ensure_ascii=False)) + "\n")


def _print_text(text: str) -> None:
    with streams.results() as file:
        file.write(text)


ELSEWHERE = {
    **{program: program for program in ("lssvm-learn", "lssvm-classify")},
    **dict.fromkeys(("learn", "train", "fit"), "lssvm-learn"),
    **dict.fromkeys(("classify", "predict", "test"), "lssvm-classify"),
}


class Tools(Group):
    """A group that knows the names of the other programs."""

    elsewhere = ELSEWHERE


@click.group(cls=Tools, context_settings=CONTEXT, epilog=EXIT_CODES)
@click.version_option(__version__)
def main() -> None:
    """Tools around lssvm-learn and lssvm-classify: structural SVMs with hidden variables.

    \b
    lssvm simulate motif --out planted --seed 1
    lssvm-learn planted/motif.yaml planted.model
    lssvm report planted.model --out planted.html
    """


main.add_command(simulate)
main.add_command(explain)
main.add_command(plot)
main.add_command(report)
main.add_command(score)
main.add_command(completion)
main.add_command(manual)


@main.command()
@click.argument("application")
def init(application: str) -> None:
    """Print a commented configuration for APPLICATION to start from.

    \b
    lssvm init motif > motif.yaml
    """
    from lssvm.config.template import starter

    _print_text(starter(application))


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
    from lssvm.cli.files import Files
    from lssvm.config import load_config
    from lssvm.config.checks import meaningful
    from lssvm.config.template import json_schema
    from lssvm.config.yaml12 import dump
    from lssvm.model import Model
    from lssvm.model.container import is_container

    if file is None and not schema:
        raise LssvmError("config: no FILE; expected a configuration or a model, or --schema")
    files = Files()
    files.prints()
    files.reads("FILE", file)
    if file is not None and Path(file).is_file() and is_container(file):  # a pipe is read once
        if settings:
            raise LssvmError(f"--set: {file} is a model; expected a configuration")
        values = Model.load(file).config
    else:
        values = {}
        if file is not None:
            loaded = load_config(file, settings)
            files.reads_config("FILE", file, loaded)
            values = loaded.to_dict()
    if schema:
        _print_json(json_schema(values["application"]["name"] if values else None))
    else:
        _print_text(dump(meaningful(values)))


@main.command()
@click.argument("config", type=click.Path())
@settings_option
@json_option
@click.option(
    "--contract",
    is_flag=True,
    help="Instead, test on the training data whether the application keeps its contract.",
)
def check(config: str, settings: tuple[str, ...], as_json: bool, contract: bool) -> None:
    """Read all data that CONFIG names; print counts, and warn of what looks wrong.

    What lssvm-learn would refuse is refused here, too: everything is done up to the first pass
    over the data, and one prediction.

    \b
    lssvm check configs/motif.yaml
    lssvm check bags.yaml --contract
    """
    from lssvm.cli.files import Files
    from lssvm.cli.info import data_facts, data_lines
    from lssvm.config import load_config

    loaded = load_config(config, settings)
    files = Files()
    files.prints()
    files.reads_config("CONFIG", config, loaded)
    if contract:
        _check_contract(loaded, as_json)
        return
    facts = data_facts(loaded)
    if as_json:
        _print_json(facts)
    else:
        streams.show(data_lines(facts))


def _check_contract(config: "Config", as_json: bool) -> None:
    """Print that nothing was found, or raise a ContractError with all that was."""
    from lssvm.testing import MOST_EXAMPLES, check_application

    application = config.create_application()
    examples = application.for_training(application.read(config.sources("train")))
    findings = check_application(application, examples, fresh=config.create_application)
    if as_json:
        _print_json({"application": config.application.name, "findings": findings})
    if findings:
        raise ContractError(findings)
    if not as_json:
        name, n = config.application.name, len(examples)
        looked = f"looked at {min(n, MOST_EXAMPLES)} of {counted(n, 'example')}"
        streams.show([f"application {name}: nothing was found ({looked})"])


class Show(Command):
    """A command that says what has become of options of one application."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Raises LssvmError for an option that might be the name of an export."""
        try:
            return super().parse_args(context, arguments)
        except click.NoSuchOption as error:
            if error.possibilities or not error.option_name.startswith("--"):
                raise
            raise LssvmError(
                f"show: no such option {error.option_name}; what an application writes of a model "
                f"is --export {error.option_name.removeprefix('--')}=FILE"
            ) from None


@main.command(cls=Show)
@click.argument("model", type=click.Path())
@count_option("--top", "Number of the largest weights to list by name.", 10, least=0)
@json_option
@click.option(
    "--export",
    "named",
    metavar="NAME=FILE",
    multiple=True,
    help="Write the export NAME of the application; may be repeated.",
)
def show(model: str, top: int, as_json: bool, named: tuple[str, ...]) -> None:
    """Print the settings of MODEL, how it was trained, and its largest weights.

    \b
    lssvm show motif.model --export meme=motif.meme --export logo=motif.png
    """
    from lssvm.cli.files import Files
    from lssvm.cli.info import model_facts, model_lines
    from lssvm.model import Model
    from lssvm.output.locks import owned

    trained = Model.load(model)
    wanted = _exports(named, trained.application)
    exports = trained.application.exports
    files = Files()
    files.prints()
    files.reads("MODEL", model)
    for name, path in wanted.items():
        files.writes(f"--export {name}", path)
    files.check_outputs()
    facts = model_facts(trained, top)
    with owned(*wanted.values()):
        for name, path in wanted.items():
            exports[name](trained.w, trained.arrays, path)
    if as_json:
        _print_json(facts)
    else:
        streams.show(model_lines(facts, model))


def _exports(named: Sequence[str], application: "Application") -> dict[str, str]:
    """Files by the names of what goes there. Raises LssvmError."""
    known, kind = application.exports, application.options.name
    if named and not known:
        raise LssvmError(f"--export: application {kind!r} has none; expected no --export")
    found: dict[str, str] = {}
    for text in named:
        name, _, path = text.partition("=")
        if name not in known:
            told = f"--export {name or text}: application {kind!r} cannot write it"
            raise LssvmError(f"{told}{nearest(name, known)} (known: {', '.join(known)})")
        if not path:
            raise LssvmError(f"--export {text}: no file; expected {name}=FILE")
        if name in found:
            raise LssvmError(f"--export {text}: {found[name]} is given too; expected one file")
        found[name] = path
    return found


@main.command()
@click.argument("config", type=click.Path())
@settings_option
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Number of processes. [default: all cores]"
)
@executor_option
@workers_option
@click.option(
    "--criterion", metavar="METRIC", help="Metric that selects the setting. [default: the first]"
)
@click.option("--csv", "csv_file", metavar="FILE", type=click.Path(), help="Write all runs.")
@click.option("--json", "json_file", metavar="FILE", type=click.Path(), help="Write all results.")
@click.option(
    "--fit",
    "fit_file",
    metavar="MODEL",
    type=click.Path(),
    help="Train the best setting on all training data, and write the model.",
)
@click.option(
    "--checkpoint",
    metavar="FILE",
    type=click.Path(),
    help="Add each finished run to FILE, which is removed at the end. [default: FILE.checkpoint "
    "for that of --json or --csv, else CONFIG.SETTINGS.checkpoint in the working directory, "
    "SETTINGS being eight digits that depend on the configuration]",
)
@click.option("--resume", is_flag=True, help="Continue an interrupted run from its checkpoint.")
@quiet_option
def cv(config: str, settings: tuple[str, ...], **options: Any) -> None:
    """Compare the settings in CONFIG's search.grid by cross-validation on its training data.

    For each test fold the setting is selected on the next fold and trained on the others: the
    test fold is never used for selection. Values of objective.C are warm-started. With --executor
    dask each training is a task of a worker; --fit trains in this process.

    \b
    lssvm cv configs/motif.yaml --set 'search.grid={objective.C: [0.1, 1, 10]}' --csv cv.csv
    lssvm cv configs/motif.yaml --set 'search.grid={objective.C: [0.1, 1]}' --fit best.model
    """
    from lssvm.cli.files import Files
    from lssvm.config import load_config
    from lssvm.output.locks import owned

    stopping.tell(lambda: "nothing was written")
    loaded = load_config(config, (*settings, *places(options)))
    check_workers(options["workers"], loaded.executor, "--jobs")
    outputs = {"--csv": options["csv_file"], "--json": options["json_file"]}
    outputs["--fit"] = options["fit_file"]
    outputs["--checkpoint"] = options["checkpoint"] or _state_of(config, loaded, outputs)
    files = Files()
    files.reads_config("CONFIG", config, loaded)
    for name, path in outputs.items():
        files.writes(name, path)
    if not options["quiet"]:
        files.prints()
    files.check_outputs()
    with owned(*outputs.values()):
        _cross_validate(loaded, Path(outputs["--checkpoint"]), options)


def _state_of(path: str, config: "Config", outputs: dict[str, str | None]) -> str:
    """Where finished runs are kept: beside the results, else in a file for these settings."""
    from lssvm.training.checkpoint import identity

    result = outputs["--json"] or outputs["--csv"]
    digits = identity(config.to_dict(), "", None)[:8]
    return f"{result or f'{Path(path).name}.{digits}'}.checkpoint"


def _cross_validate(config: "Config", checkpoint: Path, options: dict[str, Any]) -> None:
    from lssvm.cli.info import available_cores
    from lssvm.output.tables import write_csv, write_json
    from lssvm.training import journal
    from lssvm.training.checkpoint import GO_ON
    from lssvm.training.cross_validation import chosen, cross_validate
    from lssvm.training.distributed.place import THREADS
    from lssvm.training.session import learn

    resume, quiet = options["resume"], options["quiet"]
    if resume and not checkpoint.exists():
        raise LssvmError(f"{checkpoint}: does not exist; nothing to resume")
    begun = resume
    if checkpoint.exists() and not resume and not quiet:
        text = f"{checkpoint} of an interrupted run is overwritten; --resume would continue it"
        streams.tell(f"warning: {text}")
    shown = sys.stderr.isatty() and not quiet

    def progress(done: int, of: int) -> None:
        nonlocal begun
        begun = True
        if shown:
            end = "\n" if done == of else ""
            print(f"\r{done} of {of} done", end=end, file=sys.stderr, flush=True)

    def how() -> str:
        return f"{checkpoint} has the finished runs, {GO_ON}" if begun else "no run was finished"

    stopping.tell(how)
    try:
        result = cross_validate(
            config,
            jobs=options["jobs"] or available_cores(),
            criterion=options["criterion"],
            progress=progress,
            checkpoint=checkpoint,
            resume=resume,
            warned=lambda text: None if quiet else streams.tell(f"warning: {text}"),
        )
    except SchedulerLostError as error:
        raise SchedulerLostError(f"{error}; {how()}") from error
    if options["csv_file"]:
        write_csv(Path(options["csv_file"]), result.rows())
    if options["json_file"]:
        write_json(Path(options["json_file"]), result.summary())
    if not quiet:
        streams.show(result.text().splitlines())
    if options["fit_file"]:
        stopping.tell(lambda: f"{checkpoint} has the finished runs, {GO_ON}")
        threads = options["jobs"] or available_cores()
        best = learn(chosen(config, result), threads=threads, executor=THREADS)
        best.save(options["fit_file"])
    stopping.tell(lambda: "the results were written")
    journal.remove(checkpoint)


@main.command("list")
@json_option
def list_applications(as_json: bool) -> None:
    """List the applications that are installed, with their errors if they cannot be loaded."""
    from lssvm.cli.info import application_lines, application_rows

    rows = application_rows()
    if as_json:
        _print_json(rows)
    else:
        streams.show(application_lines(rows))


@main.command()
def info() -> None:
    """Print versions, machine and applications, to be pasted into a bug report."""
    from lssvm.cli.info import info_lines

    streams.show(info_lines())
