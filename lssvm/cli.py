"""The commands ``lssvm-learn`` and ``lssvm-classify``; the group ``lssvm`` is in ``tools``.

Nothing heavy is imported before a command runs, so that help and completion are quick.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from lssvm import __version__
from lssvm.command import (
    CONTEXT,
    EXIT_CODES,
    NOT_REACHED,
    Command,
    check_distinct,
    check_output,
    count_option,
    letter_option,
    quiet_option,
    settings_option,
    threads_option,
)
from lssvm.errors import LssvmError
from lssvm.tools import main

__all__ = ["classify", "learn", "main"]

if TYPE_CHECKING:
    from lssvm.applications.base import FolderFormat
    from lssvm.config import Config
    from lssvm.console import Console
    from lssvm.model import Model

# What svm_struct's letters stand for.
N_SLACK = ("solver.method=n-slack",)
METHODS = {"0": N_SLACK, "1": N_SLACK, "2": (), "3": (), "4": ()}
RESCALINGS = {"1": ("objective.rescaling=slack",), "2": ("objective.rescaling=margin",)}
SLACKS = {"1": ("objective.slack_norm=1",), "2": ("objective.slack_norm=2", *N_SLACK)}
KERNELS = {
    "0": ("kernel.type=linear",),
    "1": ("kernel.type=poly", *N_SLACK),
    "2": ("kernel.type=rbf", *N_SLACK),
}


@click.command(cls=Command, context_settings=CONTEXT, epilog=EXIT_CODES)
@click.argument("config", type=click.Path())
@click.argument("model", type=click.Path())
@settings_option
@click.option("--resume", is_flag=True, help="Go on from MODEL.checkpoint of an interrupted run.")
@click.option(
    "--init", "initial", metavar="MODEL", type=click.Path(), help="Start from this model's weights."
)
@click.option(
    "--log", metavar="FILE", type=click.Path(), help="Write a JSON object a line for each event."
)
@threads_option
@count_option(
    "--checkpoint-every",
    "Passes between two checkpoints; there is one after each CCCP iteration besides.",
    100,
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Do all that training begins with, up to its first pass; do not train.",
)
@quiet_option
@click.option(
    "-v",
    "verbosity",
    type=click.IntRange(0, 3),
    default=1,
    show_default=True,
    help="0 as -q; 1 a line for each CCCP iteration; 2 each start besides; 3 each pass, and the "
    "traceback of an application that fails.",
)
@click.option(
    "-c", "c", type=float, metavar="C", help="objective.C, with c_scaling: mean as in svm_struct."
)
@click.option("-e", "e", type=float, metavar="EPS", help="Mean violation allowed; see below.")
@letter_option("-w", "0 or 1: n-slack; 2, 3 or 4: one slack, as the bundle has it.", METHODS)
@letter_option("-o", "1: slack rescaling; 2: margin rescaling.", RESCALINGS)
@letter_option("-p", "1: linear slack; 2: quadratic slack, solver n-slack.", SLACKS)
@letter_option("-l", "0: zero-one loss, as the application has it.", {"0": ()})
@letter_option("-t", "0: linear; 1: poly; 2: rbf, solver n-slack; with -d, -g and -r.", KERNELS)
@click.option("-d", "degree", type=int, metavar="D", help="kernel.degree.")
@click.option("-g", "gamma", type=float, metavar="G", help="kernel.gamma.")
@click.option("-r", "coef0", type=float, metavar="R", help="kernel.coef0.")
@click.version_option(__version__)
def learn(config: str, model: str, **options: Any) -> None:
    """Train on the data that CONFIG names and write the weights to MODEL.

    \b
    lssvm-learn configs/motif.yaml motif.model
    lssvm-learn configs/motif.yaml motif.model --set objective.C=10 --log motif.jsonl

    Standard error shows one line for each CCCP iteration:

    \b
    iter       number of the iteration
    objective  F(w) = ½‖w‖² + C Σ c_i (U⁺ − U⁻), which is minimised
    decrease   how much F fell
    loss       mean of U⁺ − U⁻, an upper bound of the mean training loss; for
               models without loss, crf and hcrf, minus the log-likelihood
    gap        relative duality gap of the convex problem: it certifies that
               problem, not that F has no lower minimum elsewhere; none: sgd
               knows no gap
    planes     cutting planes kept
    passes     loss-augmented inference over all examples, so far
    secs       seconds since this start began

    The letters of svm_struct: -c sets objective.C and c_scaling: mean, since all its modes
    divide C by the number of examples. -e sets solver.epsilon and cccp.tolerance: training then
    ends when the absolute gap is at most C·EPS (mean scaling), which is what a mean violation of
    EPS amounts to there, and the relative gap at most EPS. -w, -o, -p and -t choose the solver,
    the rescaling, the slack and the kernel. All of them come after --set.
    """
    from lssvm.config import load_config
    from lssvm.console import Console
    from lssvm.formats.output import check_writable

    settings = load_config(config, [*options["settings"], *_letters(options)])
    log, initial = options["log"], options["initial"]
    check_output(model, "MODEL", CONFIG=config, **{"--log": log})
    check_writable(model)
    check_distinct(model, settings, "train")
    if log:
        check_output(log, "--log", CONFIG=config)
        check_distinct(log, settings, "train")
    verbosity = 0 if options["quiet"] else options["verbosity"]
    with Console(verbosity, log, append=options["resume"]) as console:
        if options["dry_run"]:
            _dry_run(settings, model, console, initial, options)
            return
        trained = _train(settings, model, console, initial, options)
        console.event("written", path=model, dimension=len(trained.w))
        reached = _tell_written(settings, trained, model, console)
    if not reached:
        sys.exit(NOT_REACHED)


def _letters(options: dict[str, Any]) -> list[str]:
    """The settings that svm_struct's letters stand for."""
    c, e, given = options["c"], options["e"], []
    if c is not None:
        if not 0 < c < float("inf"):
            raise LssvmError(f"-c {c:g}: expected a finite number greater than 0")
        given += [f"objective.C={c!r}", "objective.c_scaling=mean"]
    if e is not None:
        if not 0 < e < 1:
            raise LssvmError(f"-e {e:g}: expected a number between 0 and 1")
        given += [f"solver.epsilon={e!r}", f"cccp.tolerance={e!r}"]
    for letter in "wopt":
        given += options[letter]
    for key in ("degree", "gamma", "coef0"):
        if options[key] is not None:
            given.append(f"kernel.{key}={options[key]!r}")
    return given


def _train(
    config: "Config", path: str, console: "Console", initial: str | None, options: dict[str, Any]
) -> "Model":
    """Train with a checkpoint beside the model, which goes once the model is safe."""
    from lssvm.inspection import available_cores
    from lssvm.model import Model
    from lssvm.train import learn as train

    checkpoint = _checkpoint(path, options["resume"])
    if checkpoint and checkpoint.exists() and not options["resume"]:
        console.warned(f"{checkpoint} of an interrupted run is overwritten; --resume goes on")
    console.event("start", version=__version__, config=config.to_dict(), resume=options["resume"])
    model = train(
        config,
        threads=options["threads"] or available_cores(),
        observer=console,
        checkpoint=checkpoint,
        checkpoint_every=options["checkpoint_every"],
        resume=options["resume"],
        initial=Model.load(initial) if initial else None,
    )
    model.save(path)
    if checkpoint:
        checkpoint.unlink(missing_ok=True)
    return model


def _checkpoint(path: str, resume: bool) -> Path | None:
    """The checkpoint of a model that is a file. Raises LssvmError if there is none to resume."""
    regular = os.path.isfile(path) or not os.path.exists(path)
    checkpoint = Path(f"{path}.checkpoint") if regular else None
    if resume and not (checkpoint and checkpoint.exists()):
        raise LssvmError(f"{path}.checkpoint: does not exist; nothing to resume")
    return checkpoint


def _dry_run(
    config: "Config", path: str, console: "Console", initial: str | None, options: dict[str, Any]
) -> None:
    """Do all that training begins with."""
    from lssvm.console import counted
    from lssvm.inspection import available_cores
    from lssvm.model import Model
    from lssvm.train import rehearse

    checkpoint = _checkpoint(path, options["resume"])
    application, examples, _ = rehearse(
        config,
        threads=options["threads"] or available_cores(),
        resumed=checkpoint if options["resume"] else None,
        initial=Model.load(initial) if initial else None,
    )
    console.say(
        f"{counted(len(examples), 'training example')}, d = {application.dimension(examples):,d}; "
        "nothing was trained (--dry-run)"
    )


def _tell_written(config: "Config", model: "Model", path: str, console: "Console") -> bool:
    """Say what was written and how to score it; whether the asked precision was reached."""
    from lssvm.console import counted, size

    examples = config.origin if config.data.test else "EXAMPLES"
    console.say(
        f"wrote {path} (d = {len(model.w):,d}; {size(os.stat(path).st_size)}). "
        f"Score it: lssvm-classify {examples} {path} predictions"
    )
    record = model.record
    held = record["held_out"]
    if held is not None:
        passes, value = held["looks"][held["best"]]
        taken = counted(passes, "pass", "passes")
        console.say(f"the weights are those after {taken}, held-out score {value:.6g}")
    if record["gap"] is None:
        console.say("no gap is known: more solver.epochs show whether the objective still falls")
        return True
    stopped = held is not None and held["stopped"]
    reached = bool(record["certified"] and record["converged"]) or stopped
    if not reached:
        why = "the iterations ran out" if record["certified"] else "the gap is not certified"
        advice = "raise cccp.max_iterations or solver.max_passes, or solver.epsilon"
        if not record["certified"] and record["converged"]:
            advice = "no bound is known where inference is approximate, whatever the settings"
        console.warned(
            f"the asked precision was not reached ({why}, gap {record['gap']:.1e}); {advice}"
        )
    return reached


@click.command(cls=Command, context_settings=CONTEXT, epilog=EXIT_CODES)
@click.argument("examples", type=click.Path())
@click.argument("model", type=click.Path())
@click.argument("predictions", type=click.Path())
@click.option("--label", metavar="L", help="The true label of all examples, if the file has none.")
@click.option(
    "--top",
    "--nbest",
    "top",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Best hidden values, or label sequences, to write for each example.",
)
@click.option(
    "--format", "format_name", metavar="NAME", help="Format to write, among the application's."
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@click.option("--metrics", metavar="FILE", type=click.Path(), help="Write the metrics as JSON.")
@quiet_option
@click.version_option(__version__)
def classify(examples: str, model: str, predictions: str, **options: Any) -> None:
    """Predict the outputs of EXAMPLES with MODEL, write them to PREDICTIONS and score them.

    EXAMPLES and PREDICTIONS may be - for standard input and output; where --format stands for
    several files, such as label images, PREDICTIONS is a new or an empty folder. If EXAMPLES
    ends in .yaml or .yml it is a configuration, whose test files are read with their labels. The
    metrics of labelled examples go to standard output, or to standard error if the predictions
    go to standard output.

    \b
    lssvm-classify test.fa motif.model sites.tsv
    lssvm-classify configs/motif.yaml motif.model sites.tsv --metrics metrics.json
    """
    from lssvm.applications.base import FolderFormat, labelled_part
    from lssvm.console import counted
    from lssvm.formats.output import write_folder
    from lssvm.model import Model
    from lssvm.train import classify as predict
    from lssvm.train import prepared

    metrics = options["metrics"]
    trained = Model.load(model)
    form = _format(trained, options["format_name"], options["as_json"])
    folder = isinstance(form, FolderFormat)
    _check_outputs(folder, predictions, metrics, EXAMPLES=examples, MODEL=model)
    packed = _read_examples(examples, trained, options["label"], (predictions, metrics))
    if metrics and labelled_part(packed) is None:
        raise LssvmError(f"--metrics: {examples} has no labels; expected labelled examples")
    names = form.names(packed) if isinstance(form, FolderFormat) else ()
    trained, packed = prepared(trained, packed)
    found = predict(trained, packed, top=options["top"])
    if isinstance(form, FolderFormat):
        contents = form.contents(packed, found)
        write_folder(predictions, zip(names, contents, strict=True))
    else:
        with _opened(predictions) as file:
            form(packed, found, file)
    known = labelled_part(packed)
    if known is not None:
        own = found if known is packed else predict(trained, known)
        _score(trained, known, own, metrics, options["quiet"], to_stderr=predictions == "-")
    rest = len(packed) - (0 if known is None else len(known))
    if rest and not options["quiet"]:
        what = "nothing to score" if known is None else "they are not scored"
        click.echo(f"{counted(rest, 'example')} without labels: {what}", err=True)


def _check_outputs(folder: bool, predictions: str, metrics: str | None, **inputs: str) -> None:
    """Refuse outputs that cannot be written, before anything is read."""
    from lssvm.formats.output import check_folder, check_writable

    if folder and predictions == "-":
        raise LssvmError("PREDICTIONS: expected the name of a folder, got '-'")
    outputs = {"PREDICTIONS": predictions, "--metrics": metrics}
    for name, path in outputs.items():
        if path and path != "-":
            others = {key: other for key, other in outputs.items() if key != name}
            check_output(path, name, **inputs, **others)
            (check_folder if folder and name == "PREDICTIONS" else check_writable)(path)


def _opened(path: str) -> AbstractContextManager[Any]:
    from lssvm.formats.output import replacing

    if path == "-":
        return nullcontext(sys.stdout)
    return replacing(path)


def _read_examples(
    path: str, model: "Model", label: str | None, outputs: Sequence[str | None]
) -> Any:
    """The examples of a file, or of the test files of a configuration."""
    from lssvm.applications.base import Source
    from lssvm.config import load_config

    if Path(path).suffix not in (".yaml", ".yml"):
        return model.application.read([Source(path, label)])
    if label is not None:
        raise LssvmError(f"--label: {path} names the labels itself; expected a file of examples")
    config = load_config(path)
    expected = model.application.options.name
    if config.application.name != expected:
        raise LssvmError(
            f"{path}: is of application {config.application.name!r}; the model is of {expected!r}"
        )
    for output in outputs:
        if output:
            check_distinct(output, config, "test")
    return model.application.read(config.sources("test"))


def _format(
    model: "Model", name: str | None, as_json: bool
) -> "Callable[[Any, Any, TextIO], None] | FolderFormat":
    """What writes predictions in the format of that name, by default the application's first."""
    application = model.application
    if as_json and name is not None:
        raise LssvmError("--json and --format exclude each other; expected one of them")

    def write_json(examples: Any, predictions: Any, file: TextIO) -> None:
        for record in application.records(examples, predictions):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")

    if as_json:
        return write_json
    formats: dict[str, Callable[[Any, Any, TextIO], None] | FolderFormat]
    formats = {**application.formats, **application.folder_formats}
    name = next(iter(formats)) if name is None else name
    if name not in formats:
        kind = application.options.name
        known = ", ".join(formats)
        raise LssvmError(f"--format {name}: application {kind!r} cannot write it (known: {known})")
    return formats[name]


def _score(
    model: "Model",
    examples: Any,
    predictions: Any,
    path: str | None,
    quiet: bool,
    to_stderr: bool,
) -> None:
    """Print the metrics, and write them where asked."""
    from lssvm.console import metric_lines
    from lssvm.formats.output import replacing

    metrics = model.application.score(examples, predictions) | model.described()
    if path:
        with replacing(path) as file:
            file.write(json.dumps(metrics, indent=1) + "\n")
    if not quiet:
        for line in metric_lines(metrics):
            click.echo(line, err=to_stderr)
