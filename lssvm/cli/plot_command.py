"""The command ``lssvm plot``."""

from typing import Any

import click

from lssvm.cli.common import Command, count_option

KINDS = ("objective", "gap", "restarts", "held_out", "weights")


@click.command(cls=Command)
@click.argument("model", type=click.Path())
@click.argument("file", type=click.Path())
@click.option("--kind", type=click.Choice(KINDS), required=True, help="What to draw.")
@click.option(
    "--log",
    metavar="LOG",
    type=click.Path(),
    help="What lssvm-learn --log has written: objective and gap of each pass, and seconds.",
)
@click.option(
    "--x",
    type=click.Choice(("passes", "seconds")),
    default="passes",
    show_default=True,
    help="What objective and gap are drawn against; seconds need --log.",
)
@count_option("--top", "Number of the largest weights.", 20)
def plot(model: str, file: str, **options: Any) -> None:
    """Draw a chart of MODEL into FILE, whose ending is the format: .png, .svg, .pdf and others.

    \b
    objective  F after each CCCP iteration; with --log each pass, and the lower bound
    gap        the relative duality gap of each pass; needs --log
    restarts   the objective at the end of each restart
    held_out   scores of the validation data during training
    weights    the largest weights by name

    \b
    lssvm-learn motif.yaml motif.model --log motif.log -v 3
    lssvm plot motif.model gap.png --kind gap --log motif.log
    """
    from lssvm.cli.files import Files
    from lssvm.output.locks import owned
    from lssvm.training.charts import plot

    files = Files()
    files.reads("MODEL", model)
    files.reads("--log", options["log"])
    files.writes("FILE", file)
    files.check_outputs()
    with owned(file):
        plot(model, options.pop("kind"), file, **options)
