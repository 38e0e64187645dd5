"""The command ``lssvm-learn``.

Nothing heavy is imported before a command runs, so that help and completion are quick.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lssvm import __version__
from lssvm.cli.common import (
    CONTEXT,
    EXIT_CODES,
    NOT_REACHED,
    Command,
    check_workers,
    count_option,
    executor_option,
    letter_option,
    places,
    quiet_option,
    settings_option,
    threads_option,
    workers_option,
)
from lssvm.errors import LssvmError, SchedulerLostError, counted
from lssvm.output import stopping

if TYPE_CHECKING:
    from lssvm.cli.console import Console
    from lssvm.cli.files import Files
    from lssvm.config import Config
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
@click.option("--resume", is_flag=True, help="Continue an interrupted run from MODEL.checkpoint.")
@click.option(
    "--init",
    "initial",
    metavar="MODEL",
    type=click.Path(),
    help="Begin with the weights of this model.",
)
@click.option(
    "--log",
    metavar="FILE",
    type=click.Path(),
    help="Write one JSON object per line for each event, and for passes at most one per second.",
)
@click.option(
    "--progress",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=30,
    show_default=True,
    help="If standard error is no terminal, write a line about the progress after so many seconds "
    "without one; 0: never.",
)
@threads_option
@executor_option
@workers_option
@count_option(
    "--checkpoint-every",
    "Passes between two checkpoints; one is also written after a CCCP iteration if the last one "
    "is ten seconds old.",
    100,
)
@click.option(
    "--skip-bad",
    type=click.IntRange(0),
    metavar="N",
    help="Sets data.skip_bad: up to N bad examples are skipped, each with a warning.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Do everything up to the first pass over the data, but do not train.",
)
@quiet_option
@click.option(
    "-v",
    "verbosity",
    type=click.IntRange(0, 3),
    default=1,
    show_default=True,
    help="0: same as -q; 1: a line for each CCCP iteration; 2: also one for each restart; 3: also "
    "one for each pass, and the traceback if an application fails.",
)
@click.option(
    "-c",
    "c",
    type=float,
    metavar="C",
    help="Sets objective.C, and c_scaling: mean as in svm_struct.",
)
@click.option("-e", "e", type=float, metavar="EPS", help="Allowed mean violation; see below.")
@letter_option(
    "-w", "0 or 1: solver n-slack; 2, 3 or 4: one slack variable (solver bundle).", METHODS
)
@letter_option("-o", "1: slack rescaling; 2: margin rescaling.", RESCALINGS)
@letter_option("-p", "1: linear slack; 2: quadratic slack (solver n-slack).", SLACKS)
@letter_option("-l", "0: zero-one loss, if the application has it.", {"0": ()})
@letter_option(
    "-t", "0: linear; 1: poly; 2: rbf (both with solver n-slack); see -d, -g and -r.", KERNELS
)
@click.option("-d", "degree", type=int, metavar="D", help="Sets kernel.degree.")
@click.option("-g", "gamma", type=float, metavar="G", help="Sets kernel.gamma.")
@click.option("-r", "coef0", type=float, metavar="R", help="Sets kernel.coef0.")
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
               models without a loss (crf, hcrf) the negative log-likelihood
    gap        relative duality gap of the convex problem: it certifies that
               problem, not a global minimum of F; none: no gap is known
               (solver sgd)
    planes     number of cutting planes that are kept
    passes     passes of loss-augmented inference over all examples so far
    secs       seconds since this restart began

    The letters of svm_struct: -c sets objective.C and c_scaling: mean, since all its modes
    divide C by the number of examples. -e sets solver.epsilon and cccp.tolerance: training then
    ends when the absolute gap is at most C·EPS (with c_scaling: mean), which corresponds to a
    mean violation of EPS in svm_struct, and the relative gap is at most EPS. -w, -o, -p and -t
    choose the solver, the rescaling, the slack and the kernel. All of them are applied after
    --set.
    """
    from lssvm.cli.console import Console
    from lssvm.config import load_config
    from lssvm.output.locks import owned

    stopping.tell(lambda: "nothing was written")
    settings = load_config(config, [*options["settings"], *_places(options), *_letters(options)])
    check_workers(options["workers"], settings.executor, "--threads")
    log, initial = options["log"], options["initial"]
    _learn_files(settings, config, model, initial, log).check_outputs()
    verbosity = 0 if options["quiet"] else options["verbosity"]
    checkpoint = _checkpoint_of(model)
    mine = () if options["dry_run"] else (model, checkpoint)
    with (
        owned(*mine) as unlocked,
        Console(
            verbosity, log, options["resume"], files=[model], silent=options["progress"]
        ) as console,
    ):
        if options["dry_run"]:
            _dry_run(settings, model, console, initial, options)
            return
        if unlocked:
            console.warned(f"{model}: its file system has no locks; start one run on it at a time")
        trained = _train(settings, model, checkpoint, console, initial, options)
        console.event("written", path=model, dimension=len(trained.w))
        reached = _tell_written(settings, trained, model, console)
    if not reached:
        click.get_current_context().exit(NOT_REACHED)


def _learn_files(
    config: "Config", path: str, model: str, initial: str | None, log: str | None
) -> "Files":
    """What a training run reads and writes. Raises LssvmError if an output is another file."""
    from lssvm.cli.files import Files

    files = Files()
    files.reads_config("CONFIG", path, config)
    files.reads("--init", initial)
    files.writes("MODEL", model)
    checkpoint = _checkpoint_of(model)
    files.writes("MODEL.checkpoint", str(checkpoint) if checkpoint else None)
    files.writes("--log", log, check=None)
    return files


def _checkpoint_of(model: str) -> Path | None:
    """Where the state of a run on ``model`` is kept; nowhere for devices and pipes."""
    from lssvm.output.whole import replaceable

    return Path(f"{model}.checkpoint") if replaceable(model) else None


def _places(options: dict[str, Any]) -> list[str]:
    """The settings that ``--executor``, ``--workers`` and ``--skip-bad`` stand for."""
    most = options["skip_bad"]
    return [*places(options), *([] if most is None else [f"data.skip_bad={most}"])]


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
    config: "Config",
    path: str,
    checkpoint: Path | None,
    console: "Console",
    initial: str | None,
    options: dict[str, Any],
) -> "Model":
    """Train with a checkpoint beside the model, which goes once the model is safe."""
    from lssvm.cli.info import available_cores
    from lssvm.model import Model
    from lssvm.training.checkpoint import GO_ON
    from lssvm.training.session import learn as train

    _check_resumable(path, checkpoint, options["resume"])
    if checkpoint and checkpoint.exists() and not options["resume"]:
        console.warned(
            f"{checkpoint} of an interrupted run is overwritten; --resume would continue it"
        )
    before = _stamp(checkpoint)

    def how() -> str:
        """What is true whenever the run is stopped at once."""
        if checkpoint is None or _stamp(checkpoint) is None:
            return "nothing was written"
        if options["resume"] or _stamp(checkpoint) != before:
            return f"{checkpoint} is safe, {GO_ON}"
        return f"nothing was written; {checkpoint} is still that of an earlier run"

    stopping.tell(how)
    console.event("start", version=__version__, config=config.to_dict(), resume=options["resume"])
    try:
        model = train(
            config,
            threads=options["threads"] or available_cores(),
            observer=console,
            checkpoint=checkpoint,
            checkpoint_every=options["checkpoint_every"],
            resume=options["resume"],
            initial=Model.load(initial) if initial else None,
        )
    except SchedulerLostError as error:
        raise SchedulerLostError(f"{error}; {how()}") from error
    model.save(path)
    stopping.tell(lambda: f"{path} was written")
    if checkpoint:
        checkpoint.unlink(missing_ok=True)
    return model


def _check_resumable(path: str, checkpoint: Path | None, resume: bool) -> None:
    """Raise LssvmError if there is no checkpoint to go on from."""
    if resume and not (checkpoint and checkpoint.exists()):
        raise LssvmError(f"{path}.checkpoint: does not exist; nothing to resume")


def _stamp(path: Path | None) -> tuple[int, int] | None:
    """What tells one version of a file from another; None if there is none."""
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns) if found is not None else None


def _dry_run(
    config: "Config", path: str, console: "Console", initial: str | None, options: dict[str, Any]
) -> None:
    """Do all that training begins with."""
    from lssvm.cli.info import available_cores
    from lssvm.model import Model
    from lssvm.training.session import rehearse

    checkpoint = _checkpoint_of(path)
    _check_resumable(path, checkpoint, options["resume"])
    application, examples, _ = rehearse(
        config,
        threads=options["threads"] or available_cores(),
        resumed=checkpoint if options["resume"] else None,
        initial=Model.load(initial) if initial else None,
        warned=console.warned,
    )
    console.say(
        f"{counted(len(examples), 'training example')}, d = {application.dimension(examples):,d}; "
        "nothing was trained (--dry-run)"
    )


def _tell_written(config: "Config", model: "Model", path: str, console: "Console") -> bool:
    """Say what was written and how to score it; whether the requested precision was reached."""
    from lssvm.cli.console import size

    examples = config.origin if config.data.test else "EXAMPLES"
    length = f"; {size(os.stat(path).st_size)}" if os.path.isfile(path) else ""
    console.say(
        f"wrote {path} (d = {len(model.w):,d}{length}). "
        f"Score it: lssvm-classify {examples} {path} predictions"
    )
    record = model.record
    held = record["held_out"]
    if held is not None:
        passes, value = held["looks"][held["best"]]
        taken = counted(passes, "pass", "passes")
        console.say(f"the weights are those after {taken}, held-out score {value:.6g}")
    if record["gap"] is None:
        console.say("no gap is known; more solver.epochs show whether the objective still falls")
        return True
    stopped = held is not None and held["stopped"]
    reached = bool(record["certified"] and record["converged"]) or stopped
    if not reached:
        from lssvm.training.shortfall import shortfall

        why, advice = shortfall(model)
        console.warned(
            f"the requested precision was not reached ({why}, gap {record['gap']:.1e}); {advice}"
        )
    return reached
