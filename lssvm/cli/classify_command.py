"""The command ``lssvm-classify``.

Nothing heavy is imported before a command runs, so that help and completion are quick.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from lssvm import __version__
from lssvm.cli import streams
from lssvm.cli.common import (
    CONTEXT,
    EXIT_CODES,
    Command,
    check_workers,
    executor_option,
    quiet_option,
    workers_option,
)
from lssvm.cli.messages import message, printable_json
from lssvm.errors import LssvmError, counted, nearest

if TYPE_CHECKING:
    from lssvm.applications.base import FolderFormat, Source
    from lssvm.cli.files import Files
    from lssvm.config import Config
    from lssvm.formats.limit import Limit
    from lssvm.model import Model


TRAINING = {  # options of lssvm-learn, and why they are not here
    "--set": "the settings are those of MODEL, and the files are EXAMPLES; expected no --set",
    "--skip-bad": "predictions follow the order of the examples, so none is skipped; expected "
    "examples without errors",
}


class Classify(Command):
    """A command that says why it has not some options of training."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Raises LssvmError for an option of training."""
        try:
            return super().parse_args(context, arguments)
        except click.NoSuchOption as error:
            if error.option_name not in TRAINING:
                raise
            told = f"{error.option_name}: {TRAINING[error.option_name]}"
            raise LssvmError(told) from None


@click.command(cls=Classify, context_settings=CONTEXT, epilog=EXIT_CODES)
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
    help="Number of best hidden values, or label sequences, to write for each example.",
)
@click.option(
    "--format", "format_name", metavar="NAME", help="One of the output formats of the application."
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object per line.")
@click.option("--metrics", metavar="FILE", type=click.Path(), help="Write the metrics as JSON.")
@click.option(
    "--curve",
    metavar="FILE",
    type=click.Path(),
    help="Draw the curve of the application, such as precision against recall, of labelled "
    "examples; the ending of the name, such as .png, is the format.",
)
@click.option(
    "--max-mb",
    type=float,
    metavar="X",
    help="Largest size of a decompressed file in megabytes.  [default: data.max_mb of "
    "the configuration, else 1000]",
)
@executor_option
@workers_option
@quiet_option
@click.version_option(__version__)
def classify(examples: str, model: str, predictions: str, **options: Any) -> None:
    """Predict the outputs of EXAMPLES with MODEL, write them to PREDICTIONS and score them.

    EXAMPLES and PREDICTIONS may be - for standard input and output. If --format writes several
    files, such as label images, PREDICTIONS is a new or an empty folder. If EXAMPLES ends in
    .yaml or .yml it is a configuration, whose test files are read with their labels. The metrics
    of labelled examples go to standard output, or to standard error if the predictions go to
    standard output. Predictions follow the order of the examples, so none is skipped: a bad one
    ends the command with its file and line.

    \b
    lssvm-classify test.fa motif.model sites.tsv
    lssvm-classify configs/motif.yaml motif.model sites.tsv --metrics metrics.json
    """
    from lssvm.applications.base import FolderFormat, Source, labelled_part
    from lssvm.model import Model
    from lssvm.output.locks import owned
    from lssvm.output.whole import check_folder
    from lssvm.training.arithmetic import arithmetic
    from lssvm.training.reading import nothing_skipped

    metrics, curve = options["metrics"], options["curve"]
    trained = Model.load(model)
    if curve and trained.application.curve is None:
        kind = trained.application.options.name
        raise LssvmError(f"--curve: application {kind!r} has none; expected no --curve")
    form = _format(trained, options["format_name"], options["as_json"])
    config = test_config(examples, trained, options["label"], options["max_mb"])
    _place(options, config)
    files = _classify_files(examples, config, trained, model)
    if isinstance(form, FolderFormat):
        files.writes("PREDICTIONS", predictions, check_folder, folder=True)
    elif predictions != "-":
        files.writes("PREDICTIONS", predictions)
    files.writes("--metrics", metrics)
    files.writes("--curve", curve, _check_drawn)
    if predictions == "-" or not options["quiet"]:
        files.prints()
    files.check_outputs()
    alone = Source(examples, options["label"], limit=limit_of(options["max_mb"]))
    sources = config.sources("test") if config else [alone]
    with owned(predictions, metrics, curve), nothing_skipped(config):
        parts = _parts(trained, sources, _written(options))
        begun = list(islice(parts, 2))
        if len(begun) > 1:
            together = _all(begun, parts)
            with arithmetic():
                _classified_in_parts(together, examples, trained, form, predictions, options)
            return
        packed = begun.pop()
        if (metrics or curve) and labelled_part(packed) is None:
            raise _unlabelled(examples, options)
        with arithmetic():
            _classified(packed, trained, form, predictions, options)


def _place(options: dict[str, Any], config: "Config | None") -> None:
    """Settle where predictions are made: by the options, else by the keys. Raises LssvmError."""
    from lssvm.config.config import PLACES, is_place
    from lssvm.training.distributed.place import THREADS

    given = None if config is None else config.executor
    where = options["executor"] = options["executor"] or given or THREADS
    if not is_place(where):
        raise LssvmError(f"--executor {where}: expected {PLACES}")
    check_workers(options["workers"], where)
    if config is not None:
        options["workers"] = options["workers"] or config.workers


def _written(options: dict[str, Any]) -> str:
    """The name of the format; empty where it is the application's first."""
    from lssvm.applications.base import JSON

    return JSON if options["as_json"] else options["format_name"] or ""


def _parts(trained: "Model", sources: Sequence["Source"], name: str) -> Iterator[Any]:
    """The examples, in parts if the application and the format of that name allow it."""
    from lssvm.applications.parts import InParts

    application = trained.application
    if isinstance(application, InParts) and name not in application.whole_formats:
        return application.read_parts(sources)
    return iter([application.read(sources)])


def _all(begun: list[Any], parts: Iterator[Any]) -> Iterator[Any]:
    """The parts that were already read, which are then released, and the parts that follow."""
    while begun:
        yield begun.pop(0)
    yield from parts


def _unlabelled(examples: str, options: dict[str, Any]) -> LssvmError:
    option = "--metrics" if options["metrics"] else "--curve"
    return LssvmError(f"{option}: {examples} has no labels; expected labelled examples")


def _check_drawn(path: str) -> None:
    """Raise LssvmError if a figure cannot be drawn in a file."""
    from lssvm.output.plots import check_file
    from lssvm.output.whole import check_writable

    check_file(path)
    check_writable(path)


def _classified_in_parts(
    parts: Iterator[Any],
    path: str,
    trained: "Model",
    form: Any,
    predictions: str,
    options: dict[str, Any],
) -> None:
    """The same as :func:`_classified`, in parts; only the data for the scores are kept."""
    from lssvm.applications.base import FolderFormat
    from lssvm.output.whole import write_folder

    application: Any = trained.application
    if not isinstance(form, FolderFormat) and not options["as_json"]:
        name = _written(options) or next(iter(application.formats))
        form = application.part_writer(name) or form
    scores = PartScores(trained)
    each = _each_predicted(parts, trained, options)

    def files() -> Iterator[tuple[Any, bytes]]:
        for model, examples, found in each:
            yield from zip(form.marks(examples), form.contents(examples, found), strict=True)
            scores.add(model, examples, found)
        scores.end(path, options)

    if isinstance(form, FolderFormat):
        write_folder(predictions, files(), form.names)
    else:
        with _opened(predictions) as file:
            for model, examples, found in each:
                form(examples, found, file)
                scores.add(model, examples, found)
            scores.end(path, options)
    if scores.whole is not None and scores.scored == scores.count:
        _warn(trained, scores.whole[0], options)
    scores.doubts.tell(scores.count, options)
    _scored(trained, scores.whole, scores.count - scores.scored, predictions, options)


class PartScores:
    """What the scores of a file need, gathered while its parts are predicted.

    count, scored : examples so far, and those with labels; doubts : what is approximate
    whole : what ``score`` takes, at the end; None where no example has a label
    """

    def __init__(self, trained: "Model") -> None:
        self._application: Any = trained.application
        self._kept: list[Any] = []
        self.count, self.scored, self.doubts = 0, 0, Doubts(trained)
        self.whole: tuple[Any, Any] | None = None

    def add(self, model: "Model", examples: Any, found: Any) -> None:
        """Keep what is needed of one part."""
        from lssvm.training.prediction import predicted

        self.doubts.add(found)
        known = self._application.to_score(examples)
        self.count += len(examples)
        if known is not None:
            own = found if known is examples else predicted(model, known)
            self._kept.append(self._application.kept(known, own))
            self.scored += len(known)

    def end(self, path: str, options: dict[str, Any]) -> None:
        """Join what was kept. Raises LssvmError if scores are asked for and there are none."""
        self.whole = self._application.joined(self._kept) if self._kept else None
        if self.whole is not None and not self.whole[0].labelled:
            self.whole, self.scored = None, 0
        if (options["metrics"] or options["curve"]) and self.whole is None:
            raise _unlabelled(path, options)


def _each_predicted(
    parts: Iterator[Any], trained: "Model", options: dict[str, Any]
) -> Iterator[tuple["Model", Any, Any]]:
    """The model and the examples of each part, prepared, and what is predicted for them."""
    from lssvm.training.distributed.place import THREADS
    from lssvm.training.prediction import predicted, prepared

    ready = (prepared(trained, packed) for packed in parts)
    where, top = options["executor"], options["top"]
    if where == THREADS:
        for model, examples in ready:
            yield model, examples, predicted(model, examples, top=top)
        return
    from lssvm.training.distributed.predicting import by_workers

    yield from by_workers(ready, top, where, options["workers"])


def _classified(
    packed: Any,
    trained: "Model",
    form: "Callable[[Any, Any, TextIO], None] | FolderFormat",
    predictions: str,
    options: dict[str, Any],
) -> None:
    """Predict, write what was predicted, and score it."""
    from lssvm.applications.base import FolderFormat, labelled_part
    from lssvm.output.whole import write_folder
    from lssvm.training.prediction import predicted, prepared

    marks = form.marks(packed) if isinstance(form, FolderFormat) else ()
    if isinstance(form, FolderFormat):
        form.names(marks)  # raises before anything is predicted
    trained, packed = prepared(trained, packed)
    doubts, found = Doubts(trained), predicted(trained, packed, top=options["top"])
    doubts.add(found)
    if isinstance(form, FolderFormat):
        contents = form.contents(packed, found)
        write_folder(predictions, zip(marks, contents, strict=True), form.names)
    else:
        with _opened(predictions) as file:
            form(packed, found, file)
    _warn(trained, packed, options)
    doubts.tell(len(packed), options)
    known, whole, rest = labelled_part(packed), None, len(packed)
    if known is not None:
        whole = known, found if known is packed else predicted(trained, known)
        rest -= len(known)
    _scored(trained, whole, rest, predictions, options)


class Doubts:
    """Counts what is approximate in the predictions of a file, to say it once."""

    def __init__(self, trained: "Model") -> None:
        self._application: Any = trained.application
        self._counts: dict[str, tuple[int, int]] = {}
        self._application.not_converged()  # forget what training left

    def add(self, predictions: Any) -> None:
        """Count those of one part."""
        found = self._application.approximations(predictions)
        if found is not None:
            count, failed = self._counts.get(found.by, (0, 0))
            self._counts[found.by] = count + found.number, failed + found.not_converged

    def tell(self, of: int, options: dict[str, Any]) -> None:
        """Print a warning for each method; marginals are those that were written."""
        from lssvm.cli.console import sentences

        told = [
            f"{count:,d} of {of:,d} predictions are approximate, by {by}, which did not converge "
            f"for {failed:,d} of them"
            for by, (count, failed) in self._counts.items()
            if count
        ]
        told += [f"marginals: {text}" for text in sentences(self._application.not_converged())]
        for text in () if options["quiet"] else told:
            streams.tell(f"warning: {text}")


def _warn(trained: "Model", examples: Any, options: dict[str, Any]) -> None:
    """Print the warnings about predictions for these examples."""
    if not options["quiet"]:
        for text in trained.application.output_warnings(examples, _written(options)):
            streams.tell(f"warning: {message(text)}")


def _scored(
    trained: "Model",
    known: tuple[Any, Any] | None,
    rest: int,
    predictions: str,
    options: dict[str, Any],
) -> None:
    """Score the labelled examples and their predictions, if there are some.

    rest : number of examples without a label
    """
    metrics, quiet = options["metrics"], options["quiet"]
    if known is not None:
        _score(trained, *known, metrics, quiet, to_stderr=predictions == "-")
        if options["curve"]:
            draw: Any = trained.application.curve
            draw(*known, options["curve"])
    if rest and not quiet:
        what = "nothing to score" if known is None else "they are not scored"
        streams.tell(f"{counted(rest, 'example')} without labels: {what}")


def _classify_files(
    examples: str, config: "Config | None", trained: "Model", model: str
) -> "Files":
    """What predicting reads."""
    from lssvm.cli.files import Files

    files = Files()
    files.reads("MODEL", model)
    if config is None:
        files.reads_data("EXAMPLES", examples, trained.application)
    else:
        files.reads_config("EXAMPLES", examples, config)
    return files


def _opened(path: str) -> AbstractContextManager[Any]:
    from lssvm.output.whole import replacing

    return streams.results() if path == "-" else replacing(path)


def limit_of(max_mb: float | None) -> "Limit":
    """The limit of what a file may take that --max-mb sets. Raises LssvmError."""
    from lssvm.formats.limit import DEFAULT_MAX_MB, Limit

    if max_mb is not None and not 0 < max_mb <= 1e9:
        raise LssvmError(f"--max-mb {max_mb:g}: expected a number greater than 0, at most 1e9")
    return Limit(DEFAULT_MAX_MB if max_mb is None else max_mb, "--max-mb")


def test_config(
    path: str, model: "Model", label: str | None, max_mb: float | None
) -> "Config | None":
    """The configuration that EXAMPLES is, for this model; None if it is a file of examples."""
    from lssvm.config import load_config

    limit_of(max_mb)
    if Path(path).suffix not in (".yaml", ".yml"):
        return None
    if label is not None:
        raise LssvmError(f"--label: {path} names the labels itself; expected a file of examples")
    config = load_config(path, () if max_mb is None else [f"data.max_mb={max_mb!r}"])
    expected = model.application.options.name
    if config.application.name != expected:
        raise LssvmError(
            f"{path}: is of application {config.application.name!r}; the model is of {expected!r}"
        )
    return config


def _format(
    model: "Model", name: str | None, as_json: bool
) -> "Callable[[Any, Any, TextIO], None] | FolderFormat":
    """What writes predictions in the format of that name, by default the application's first."""
    application = model.application
    if as_json and name is not None:
        raise LssvmError("--json and --format exclude each other; expected one of them")

    def write_json(examples: Any, predictions: Any, file: TextIO) -> None:
        for record in application.records(examples, predictions):
            file.write(printable_json(json.dumps(record, ensure_ascii=False)) + "\n")

    if as_json:
        return write_json
    formats: dict[str, Callable[[Any, Any, TextIO], None] | FolderFormat]
    formats = {**application.formats, **application.folder_formats}
    name = next(iter(formats)) if name is None else name
    if name not in formats:
        kind = application.options.name
        known, near = ", ".join(formats), nearest(name, formats)
        raise LssvmError(
            f"--format {name}: application {kind!r} cannot write it{near} (known: {known})"
        )
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
    from lssvm.cli.console import metric_lines
    from lssvm.output.whole import replacing

    metrics = model.application.score(examples, predictions) | model.described()
    if path:
        with replacing(path) as file:
            file.write(json.dumps(metrics, indent=1) + "\n")
    if not quiet:
        lines = metric_lines(metrics)
        if to_stderr:
            for line in lines:
                streams.tell(line)
        else:
            streams.show(lines)
