"""Plots. matplotlib, which the extra ``plot`` brings, is imported where something is drawn."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lssvm.errors import LssvmError, MissingExtraError
from lssvm.output.whole import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which the colour-blind can tell apart; the markers repeat what they say.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "os^Dv<P"
SIZE = (6.4, 4.8)  # inches
LEGEND_ROWS = 3
RESOLUTION = 150  # dots an inch


class Series(NamedTuple):
    """One line of a plot.

    x, y : the points, in the order in which they are joined
    errors : half the length of each point's bar, NaN or 0 for none; empty for no bars at all
    hue : number of its colour and marker; series of one kind share it
    dashed : whether the line is, and its markers are hollow
    marked : whether the points have markers
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float] = ()
    hue: int = 0
    dashed: bool = False
    marked: bool = True


def check_installed() -> None:
    """Raise MissingExtraError if nothing can be drawn: better before long work than after it."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("the figure", "matplotlib", "plot") from None


def check_file(path: str | Path) -> None:
    """Raise LssvmError if a figure cannot be drawn in the format that the path ends in.

    MissingExtraError without matplotlib.
    """
    check_installed()
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    kind, known = _kind(path), FigureCanvasAgg.get_supported_filetypes()
    if kind not in known:
        raise LssvmError(
            f"{path}: format {kind!r} is not known; expected one of {', '.join(known)}"
        )


def _kind(path: str | Path) -> str:
    """The format of a file, from its ending."""
    return Path(path).suffix.lstrip(".").lower()


def draw_lines(
    path: str | Path,
    series: Sequence[Series],
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
) -> None:
    """Draw lines with error bars; the path's ending, such as .png, is the format.

    A linear y axis of values that are not negative begins at 0. Raises MissingExtraError without
    matplotlib, LssvmError if the format is not known or the file cannot be written.
    """
    check_file(path)
    figure = _lines(series)
    (axes,) = figure.axes
    axes.set(xlabel=x_label, ylabel=y_label, title=title)
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    elif min(min(one.y) for one in series) >= 0:
        axes.set_ylim(bottom=0)
    with replacing(path, "wb") as file:
        figure.savefig(file, format=_kind(path), dpi=RESOLUTION)


def _lines(series: Sequence[Series]) -> "Figure":
    """A figure with the lines and, if there are several, a legend."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = FigureCanvasAgg(figure).figure.add_subplot()
    for one in series:
        colour = COLOURS[one.hue % len(COLOURS)]
        axes.errorbar(
            one.x,
            one.y,
            yerr=np.nan_to_num(one.errors) if len(one.errors) else None,
            label=one.label,
            color=colour,
            linestyle="--" if one.dashed else "-",
            marker=MARKERS[one.hue % len(MARKERS)] if one.marked else "",
            markerfacecolor="white" if one.dashed else colour,
            markersize=5,
            capsize=3,
            elinewidth=1,
        )
    axes.grid(alpha=0.3)
    if len(series) > 1:  # beside the axes, where it hides nothing
        columns = -(-len(series) // LEGEND_ROWS)
        figure.legend(loc="outside lower center", ncols=columns, fontsize="small")
    return figure
