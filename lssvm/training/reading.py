"""The data of a run: those that are given, or those of files, without bad examples if so asked."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lssvm.applications.base import Application, Examples
from lssvm.applications.reading import read_without_bad
from lssvm.config import Config
from lssvm.errors import DataError, counted
from lssvm.training.problem import TrainingData

Told = Callable[[str], None]  # gets a warning, one sentence


def ignore(text: str) -> None:
    """Tell nobody."""


def read_data(
    config: Config,
    data: Mapping[str, Any] | None = None,
    held: Mapping[str, Any] | None = None,
    warned: Told = ignore,
) -> TrainingData:
    """The data that are given, or that a configuration names. Raises LssvmError for bad data."""
    application, examples = read_training(config, data, warned)
    return TrainingData(application, examples, read_held(config, application, held, warned))


@contextmanager
def nothing_skipped(config: Config | None) -> Iterator[None]:
    """Errors of the examples of ``data.test`` say why none of them is skipped."""
    try:
        yield
    except DataError as error:
        bad = error.line is not None or error.named
        if config is None or not config.data.skip_bad or not bad:
            raise
        why = "skips none of data.test, because predictions follow the order of the examples"
        raise DataError(error.path, error.line, f"{error.text} (data.skip_bad {why})") from None


def read_held(
    config: Config,
    application: Application,
    held: Mapping[str, Any] | None = None,
    warned: Told = ignore,
) -> Examples | None:
    """The validation data, if there are any. application : that has read the training data"""
    if held is not None:
        return application.examples_from(**held)
    if config.data.validate_:
        return read_split(config, "validate", application, warned)[1]
    return None


def read_training(
    config: Config, data: Mapping[str, Any] | None = None, warned: Told = ignore
) -> tuple[Application, Examples]:
    """The training data alone, with the application that they have taught."""
    if data is None:
        return read_split(config, "train", warned=warned)
    application = config.create_application()
    return application, application.examples_from(**data)


def read_split(
    config: Config,
    split: str,
    application: Application | None = None,
    warned: Told = ignore,
) -> tuple[Application, Examples]:
    """The examples of a split, and the application that has read them. Raises DataError.

    application : that has read the training data; None: a new one reads these
    warned : told of every bad example that was skipped
    """
    own, examples, skipped = read_without_bad(
        lambda: application or config.create_application(),
        config.sources(split),
        config.data.skip_bad,
    )
    for text in skipped:
        warned(f"bad example skipped: {text}")
    if skipped:
        warned(f"data.{split}: {counted(len(skipped), 'bad example')} skipped in all")
    return own, examples
