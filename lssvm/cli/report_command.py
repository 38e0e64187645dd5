"""The command ``lssvm report``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lssvm.cli.common import Command, count_option

if TYPE_CHECKING:
    from lssvm.model import Model


@click.command(cls=Command)
@click.argument("model", type=click.Path())
@click.argument("data", nargs=-1, type=click.Path())
@click.option("--out", required=True, metavar="FILE", type=click.Path(), help="The page to write.")
@click.option(
    "--log",
    metavar="LOG",
    type=click.Path(),
    help="What lssvm-learn --log has written: objective, bound and gap against passes and seconds.",
)
@click.option("--label", metavar="L", help="The true label of all examples, if files have none.")
@count_option("--mistakes", "Number of the worst mistakes to explain.", 5, least=0)
@click.option(
    "--max-mb",
    type=float,
    metavar="X",
    help="Largest size of a decompressed file in megabytes.  [default: data.max_mb of "
    "the configuration, else 1000]",
)
def report(model: str, data: tuple[str, ...], out: str, **options: Any) -> None:
    """Write a page about MODEL: how it was trained, its scores, weights, pictures and mistakes.

    DATA are files of examples, or a configuration, whose test files are read. The page is one HTML
    file that needs no network.

    \b
    lssvm-learn motif.yaml motif.model --log motif.log -v 3
    lssvm report motif.model motif.yaml --log motif.log --out motif.html
    """
    from lssvm.cli.files import Files
    from lssvm.model import Model
    from lssvm.output.locks import owned
    from lssvm.output.page import check_installed
    from lssvm.training.reporting import report

    check_installed()
    trained = Model.load(model)
    files = Files()
    files.reads("MODEL", model)
    files.reads("--log", options["log"])
    sources = [_sources(path, trained, files, options) for path in data]
    files.writes("--out", out)
    files.check_outputs()
    with owned(out):
        found = [_data(path, trained, own) for path, own in zip(data, sources, strict=True)]
        kept = {"log": options["log"], "mistakes": options["mistakes"]}
        report(trained, out, found, name=Path(model).name, **kept)


def _sources(path: str, trained: "Model", files: Any, options: dict[str, Any]) -> Any:
    """Where the examples of DATA are, which are declared."""
    from lssvm.applications.base import Source
    from lssvm.cli.classify_command import limit_of, test_config

    config = test_config(path, trained, options["label"], options["max_mb"])
    if config is not None:
        files.reads_config("DATA", path, config)
        return config.sources("test")
    files.reads_data("DATA", path, trained.application)
    return [Source(path, options["label"], limit=limit_of(options["max_mb"]))]


def _data(path: str, trained: "Model", sources: Any) -> Any:
    from lssvm.training.reporting import Data

    return Data(Path(path).name, trained.application.read(sources))
