"""Plots. matplotlib, which the extra ``plot`` brings, is imported where something is drawn."""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lssvm.errors import LssvmError, MissingExtraError, nearest
from lssvm.output.charts import Bars, Drawn, Heat, Lines, Logo, Named, Series
from lssvm.output.whole import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Series", "check_installed", "draw", "draw_lines", "svg_of"]

# Okabe and Ito's colours, which the colour-blind can tell apart; the markers repeat what they say.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "os^Dv<P"
SIZE = (6.4, 4.8)  # inches
PAGE_WIDTH, PAGE_HEIGHT = 5.2, 3.7  # inches, so that text can be read on a phone
LEGEND_ROWS = 3
RESOLUTION = 150  # dots an inch
INK = "#010203"  # of axes and text in a page, where it takes the colour of the page's text
LETTERS = {"A": "#009E73", "C": "#0072B2", "G": "#E69F00", "T": "#D55E00"}
BAR, CELL = 0.26, 0.34  # inches
MOST_CELLS = 12  # rows and columns of a matrix whose values are written into it
LONGEST = 40  # characters of a name beside a bar
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # which a page must not have


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
        wrong = f"format {kind!r} is not known" if kind else "has no ending, which is the format"
        expected = f"expected one of {', '.join(known)}{nearest(kind, known)}"
        raise LssvmError(f"{path}: {wrong}; {expected}")


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
    chart = Lines(
        title=title,
        series=series,
        x_label=x_label,
        y_label=y_label,
        log_x=log_x,
        log_y=log_y,
        from_zero=True,
    )
    draw(path, chart)


def draw(path: str | Path, chart: Drawn) -> None:
    """Draw a chart into a file; the path's ending, such as .png, is the format.

    The same chart gives the same bytes. Raises MissingExtraError without matplotlib, LssvmError if
    the format is not known or the file cannot be written.
    """
    check_file(path)
    figure = _figure(chart)
    kind = _kind(path)
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with _settings(chart.title), replacing(path, "wb") as file:
        figure.savefig(file, format=kind, dpi=RESOLUTION, metadata=dated)


def svg_of(chart: Drawn, key: str) -> str:
    """A chart for a page, without title: text is text, ink has the colour of the page's text.

    key : tells the names in this picture from those in others of the page
    Raises MissingExtraError without matplotlib.
    """
    check_installed()
    file = io.StringIO()
    with _settings(key, INK):
        figure = _figure(chart, titled=False, width=PAGE_WIDTH)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="[a-zA-Z0-9]+(\.[a-z]+)*_\d+"', "", text)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px system-ui, sans-serif", text)
    return re.sub(r' width="[\d.]+pt" height="[\d.]+pt"|\n\s*(?=\n)', "", text)


@contextmanager
def _settings(key: str, ink: str = "black") -> Iterator[None]:
    """matplotlib's settings, for the same bytes each time.

    A character of a name that the font does not have is drawn as a box, without a warning.
    """
    import matplotlib

    own: dict[str, Any] = {"svg.hashsalt": key}
    if ink != "black":
        names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
        own |= dict.fromkeys(names, ink)
        own |= {"svg.fonttype": "none", "legend.framealpha": 0.0, "grid.color": "#888888"}
        own |= {"font.size": 11.5}
    settings: Any = own
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        yield


def _figure(chart: Drawn, *, titled: bool = True, width: float = SIZE[0]) -> "Figure":
    """A figure with the chart."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = _height(chart, SIZE[1] if titled else PAGE_HEIGHT)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = FigureCanvasAgg(figure).figure.add_subplot()
    if titled:
        axes.set_title(chart.title)
    match chart:
        case Lines():
            _lines(figure, axes, chart)
        case Named():
            _bars(axes, chart)
        case Heat():
            _heat(figure, axes, chart)
        case Logo():
            _logo(axes, chart)
    return figure


def _height(chart: Drawn, lines: float) -> float:
    """Inches; lines : those of a chart of lines."""
    match chart:
        case Named():
            return BAR * len(chart.names) + 0.9
        case Heat():
            return min(9.0, max(3.2, CELL * len(chart.rows) + 1.6))
        case Logo():
            return 2.4
    return lines


def _lines(figure: "Figure", axes: Any, chart: Lines) -> None:
    """The lines and, if there are several, a legend."""
    for one in chart.series:
        colour = _colour(one.hue)
        axes.errorbar(
            one.x,
            one.y,
            yerr=np.nan_to_num(one.errors) if len(one.errors) else None,
            label=one.label,
            color=colour,
            linestyle="--" if one.dashed else "-",
            marker="" if one.plain else MARKERS[one.hue % len(MARKERS)],
            markerfacecolor="white" if one.dashed else colour,
            markersize=5,
            capsize=3,
            elinewidth=1,
        )
    axes.grid(alpha=0.3)
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)
    if chart.log_x:
        axes.set_xscale("log")
    if chart.log_y:
        axes.set_yscale("log")
    elif chart.from_zero and min(min(one.y) for one in chart.series) >= 0:
        axes.set_ylim(bottom=0)
    if len(chart.series) > 1:  # beside the axes, where it hides nothing
        columns = -(-len(chart.series) // LEGEND_ROWS)
        figure.legend(loc="outside lower center", ncols=columns, fontsize="small")


def _colour(hue: int) -> str:
    """One of the colours; the black one is that of the text."""
    import matplotlib

    colour = COLOURS[hue % len(COLOURS)]
    return str(matplotlib.rcParams["text.color"]) if colour == "#000000" else colour


def _bars(axes: Any, chart: Named) -> None:
    places = np.arange(len(chart.names))
    values = np.asarray(chart.values, dtype=float)
    colours = np.where(values >= 0, COLOURS[0], COLOURS[1]).tolist()
    if chart.marked >= 0:
        colours = [COLOURS[0]] * len(places)
        colours[chart.marked] = COLOURS[1]
    if isinstance(chart, Bars):
        axes.barh(places, values, color=colours, height=0.7)
        axes.axvline(0.0, color=_colour(len(COLOURS) - 1), linewidth=0.8)
    else:
        axes.scatter(values, places, c=colours, zorder=2)
    names = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in chart.names]
    axes.set_yticks(places, [_literal(name) for name in names], fontsize="small")
    axes.locator_params(axis="x", nbins=5)
    axes.set_ylim(len(places) - 0.4, -0.6)
    axes.set_xlabel(chart.label)
    axes.grid(axis="x", alpha=0.3)


def _heat(figure: "Figure", axes: Any, chart: Heat) -> None:
    values = np.asarray(chart.values, dtype=float)
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    scale: dict[str, Any] = {"cmap": "Blues"}
    if chart.signed:
        scale = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
    image = axes.imshow(values, aspect="auto", interpolation="nearest", **scale)
    axes.set_yticks(range(len(chart.rows)), [_literal(name) for name in chart.rows])
    turned = 0 if max(map(len, chart.columns), default=0) <= 3 else 90
    columns = [_literal(name) for name in chart.columns]
    axes.set_xticks(range(len(columns)), columns, rotation=turned)
    axes.set(xlabel=chart.column_label, ylabel=chart.row_label)
    if max(values.shape) > MOST_CELLS:
        figure.colorbar(image, ax=axes)
        return
    for (row, column), value in np.ndenumerate(values):
        red, green, blue, _ = image.cmap(image.norm(value))
        dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
        told = f"{value:.0f}" if value == int(value) else f"{value:.2g}"
        colour = "#ffffff" if dark else "#000000"
        axes.text(column, row, told, ha="center", va="center", color=colour, fontsize="small")


def _logo(axes: Any, chart: Logo) -> None:
    """Letters drawn as outlines that are stretched to their heights, the highest on top."""
    from matplotlib.patches import PathPatch
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    shapes = {letter: TextPath((0, 0), letter, size=1) for letter in chart.letters}
    for position, heights in enumerate(chart.heights, 1):
        bottom = 0.0
        for height, letter in sorted(zip(heights, chart.letters, strict=True)):
            if height <= 0.005 * chart.top:
                bottom += max(0.0, height)
                continue
            box = shapes[letter].get_extents()
            place = Affine2D().translate(-box.x0, -box.y0)
            place = place.scale(0.94 / box.width, height / box.height)
            place = place.translate(position - 0.47, bottom)
            colour = LETTERS.get(letter, COLOURS[0])
            axes.add_patch(PathPatch(place.transform_path(shapes[letter]), color=colour, lw=0))
            bottom += height
    count = len(chart.heights)
    axes.set(xlim=(0.4, count + 0.6), ylim=(0, chart.top), xlabel="position", ylabel=chart.y_label)
    axes.set_xticks(range(1, count + 1))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _literal(name: str) -> str:
    """A name in which $ has no meaning."""
    return name.replace("$", r"\$")
