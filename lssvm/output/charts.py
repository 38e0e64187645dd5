"""What a page or a file can show: charts, tables, text and pictures, as plain data.

Applications and the report make them; ``plots`` draws those that are drawn, ``page`` lays all out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Cell = object  # text, a number, or None
Numbers = Any  # a sequence or an array of numbers


class Series(NamedTuple):
    """One line of a plot.

    x, y : the points, in the order in which they are joined
    errors : half the length of each point's bar, NaN or 0 for none; empty for no bars at all
    hue : number of its colour and marker; series of one kind share it
    dashed : whether the line is, and its markers are hollow
    plain : whether there are no markers
    """

    label: str
    x: Numbers
    y: Numbers
    errors: Numbers = ()
    hue: int = 0
    dashed: bool = False
    plain: bool = False


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Anything with a title and a sentence about it."""

    title: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Lines(Figure):
    """Lines in axes. from_zero : a linear y axis of values that are not negative begins at 0."""

    series: Sequence[Series]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = False


@dataclass(frozen=True, kw_only=True)
class Named(Figure):
    """Values with names, the first one at the top. marked : which one stands out, -1: none."""

    names: Sequence[str]
    values: Sequence[float]
    label: str
    marked: int = -1


@dataclass(frozen=True, kw_only=True)
class Bars(Named):
    """Horizontal bars from 0."""


@dataclass(frozen=True, kw_only=True)
class Dots(Named):
    """Dots: where bars from 0 would all be alike."""


@dataclass(frozen=True, kw_only=True)
class Heat(Figure):
    """A matrix of values as colours; signed : whether the colours are those of two signs."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    row_label: str
    column_label: str
    signed: bool = False


@dataclass(frozen=True, kw_only=True)
class Logo(Figure):
    """Letters on top of each other. heights : for each position the height of each letter."""

    letters: str
    heights: Sequence[Sequence[float]]
    y_label: str
    top: float


@dataclass(frozen=True, kw_only=True)
class Table(Figure):
    """Rows of cells under heads."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, kw_only=True)
class Text(Figure):
    """Lines whose columns matter."""

    lines: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Drawing(Figure):
    """A whole picture in SVG."""

    svg: str


@dataclass(frozen=True, kw_only=True)
class Images(Figure):
    """PNG files with a caption each, beside each other; each pixel is shown ``scale`` times."""

    images: Sequence[tuple[str, bytes]]
    scale: int = 1


@dataclass(frozen=True, kw_only=True)
class Group(Figure):
    """Several of these under one title."""

    parts: Sequence[Figure] = field(default_factory=list)


Drawn = Lines | Bars | Dots | Heat | Logo
