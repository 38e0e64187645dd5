"""Lists of images with their labels, one graph for each image: a grid of its pixels.

A text file whose words are separated by blanks or, in a line that has a tab, only by tabs:

    label NAME R G B                  a colour of label images, 0 to 255, and what it stands for
    missing R G B                     a colour of pixels whose label is missing
    image FILE LABELS [cost=C]        an image, or features .npy, and its label image; - for none

The states are the names of labels in the order of their first lines; a name may have several
colours. Colours come before the images. Paths are relative to the folder of the list. Lines that
begin with # are comments.

A node ``x,y`` is a pixel, of class ``pixel``, with the feature 1 and its channels. Edges of classes
``right`` and ``down`` join neighbours, with the feature 1 and the mean absolute difference of the
channels. A missing label is a hidden value of the image.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lssvm.errors import DataError, counted
from lssvm.formats import tokens
from lssvm.formats.images import read_channels, read_colours
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.mrf_text import MISSING, Features, GraphFile, Picture
from lssvm.formats.text import Line, open_text
from lssvm.offsets import cumulated

SUFFIX = ".images"
_WORDS = {
    "label": ("label NAME R G B", (4,)),
    "missing": ("missing R G B", (3,)),
    "image": ("image FILE LABELS [cost=C]", (2, 3)),
}
_NONE = "-"
_PART = 50_000  # pixels of a part


class Grid(NamedTuple):
    """An image as a graph.

    channels : (height, width, m) float64, features of the nodes
    labels : (height, width) int, states or MISSING
    cost : NaN where none is given; line : of the list
    compared : (height, width, m) float64, channels that edges compare; by default all
    """

    name: str
    channels: np.ndarray
    labels: np.ndarray
    cost: float = math.nan
    line: int = 0
    compared: np.ndarray | None = None


@dataclass
class _Palette:
    """States by colour, a colour being one number; the first colour of each state."""

    names: dict[str, int] = field(default_factory=dict)
    firsts: list[tuple[int, ...]] = field(default_factory=list)
    states: dict[int, int] = field(default_factory=dict)

    def add(self, words: Sequence[str], name: str | None) -> None:
        """Take the colour of a line, of a missing label if ``name`` is None. Raises ValueError."""
        colour = 0
        parts = tuple(tokens.whole(word, "part of a colour", 0, 255) for word in words)
        for part in parts:
            colour = colour << 8 | part
        if colour in self.states:
            raise ValueError(
                f"the colour {' '.join(words)} is given twice; expected different ones"
            )
        state = MISSING if name is None else self.names.setdefault(name, len(self.names))
        if state == len(self.firsts):
            self.firsts.append(parts)
        self.states[colour] = state

    def labels(self, path: Path, colours: np.ndarray, source: str | Path) -> np.ndarray:
        """States of the pixels, (height, width) int32. Raises DataError for an unknown colour."""
        wide = colours.astype(np.int64) @ (1 << 16, 1 << 8, 1)
        found, places = np.unique(wide, return_inverse=True)
        for colour in found.tolist():
            if colour not in self.states:
                y, x = np.argwhere(wide == colour)[0]
                shown = " ".join(str(colour >> shift & 255) for shift in (16, 8, 0))
                message = f"pixel {x},{y} has the colour {shown}; expected one named in {source}"
                raise DataError(path, None, message)
        states = np.array([self.states[colour] for colour in found.tolist()], dtype=np.int32)
        return states[places.reshape(wide.shape)]


def read_images(path: str | Path, limit: Limit = DEFAULT) -> GraphFile:
    """Read a list, plain or compressed, and all images that it names.

    limit : of each file, and of the channels of all images together

    Raises DataError, with the line or with the image, for what is not in the format;
    MissingExtraError without Pillow.
    """
    palette, grids, size = _Palette(), list[Grid](), 0
    for grid in _grids(path, limit, palette):
        grids.append(grid)
        size += grid.channels.nbytes
        if size > limit.bytes:
            raise limit.exceeded(path, None, f"what the images hold up to line {grid.line}")
    return _images(path, grids, palette)


def image_parts(path: str | Path, limit: Limit) -> Iterator[GraphFile]:
    """The images of a list in parts, in order, as :func:`read_images` reads them.

    limit : of each file
    """
    palette, grids, size = _Palette(), list[Grid](), 0
    for grid in _grids(path, limit, palette):
        grids.append(grid)
        size += grid.labels.size
        if size > _PART:
            yield _images(path, grids, palette)
            grids, size = [], 0
    if grids:
        yield _images(path, grids, palette)


def _grids(path: str | Path, limit: Limit, palette: _Palette) -> Iterator[Grid]:
    """The images of a list, at least one. palette : empty, colours are added"""
    names, first = set[str](), ("", 0)  # the first image's name and channels
    with open_text(path, limit, owns=image_line) as rows:
        for number, line in rows:
            words = line.split("\t") if "\t" in line else line.split()
            if not line.strip() or words[0].startswith("#"):
                continue
            try:
                _check_words(words, palette, bool(names))
                if words[0] != "image":
                    palette.add(words[-3:], words[1] if words[0] == "label" else None)
                    continue
                grid = _grid(path, number, words[1:], palette, limit)
                if grid.name in names:
                    raise ValueError(
                        f"the image {grid.name} is given twice; expected different ones"
                    )
                first = first if names else (grid.name, grid.channels.shape[2])
                _check_channels(grid, *first)
            except ValueError as error:
                raise DataError(path, number, error) from None
            except DataError as error:
                error.named = str(path), number
                raise
            names.add(grid.name)
            yield grid
    if not names:
        raise DataError(path, None, "no images; expected lines 'image FILE LABELS'")


def image_line(lines: Iterable[tuple[int, Line]], number: int) -> list[range]:
    """The line of an image, as of :data:`lssvm.formats.text.Owns`; other lines are no examples."""
    line = next((line for at, line in lines if at == number), b"")
    if (line.split(None, 1) or [b""])[0] != b"image":
        raise ValueError("cannot skip a line that is no image")
    return [range(number, number + 1)]


def _images(path: str | Path, grids: Sequence[Grid], palette: _Palette) -> GraphFile:
    """The graphs of images of a list."""
    colours, folder = np.array(palette.firsts, dtype=np.uint8), Path(path).parent
    pictures = [
        Picture(str(folder / grid.name), len(grid.labels), grid.labels.shape[1], colours)
        for grid in grids
    ]
    names = tuple(palette.names)
    return replace(as_graphs(grids, len(names)), pictures=pictures, state_names=names)


def named_images(path: str | Path) -> Iterator[str]:
    """The images and label images that a list names, as far as it can be read."""
    folder = Path(path).parent
    with suppress(DataError), open_text(path) as rows:
        for _, line in rows:
            kind, *names = line.split("\t") if "\t" in line else line.split() or [""]
            if kind == "image":
                yield from (str(folder / name) for name in names[:2] if name != _NONE)


def _check_words(words: Sequence[str], palette: _Palette, below: bool) -> None:
    """Raise ValueError for a line that cannot be read. below : whether images are above it"""
    kind, *rest = words
    if kind not in _WORDS:
        raise ValueError(
            f"{tokens.cut(kind)!r} cannot begin a line; expected label, missing or image"
        )
    form, counts = _WORDS[kind]
    if len(rest) not in counts:
        raise ValueError(
            f"{counted(len(rest), 'word follows', 'words follow')} {kind!r}; expected '{form}'"
        )
    if not all(word.strip() for word in rest):
        raise ValueError(f"a word that follows {kind!r} is empty; expected '{form}'")
    if kind == "image" and not palette.names:
        raise ValueError("no label is defined above this image; expected lines 'label NAME R G B'")
    if kind != "image" and below:
        raise ValueError("a colour is defined below an image; expected all colours above")


def _check_channels(grid: Grid, name: str, channels: int) -> None:
    if grid.channels.shape[2] != channels:
        message = (
            f"{grid.name} has {counted(grid.channels.shape[2], 'channel')}; expected {channels}"
        )
        raise ValueError(f"{message}, as {name}")


def _grid(
    source: str | Path, number: int, words: Sequence[str], palette: _Palette, limit: Limit
) -> Grid:
    """The image of a line. Raises ValueError for the line, DataError for the files."""
    name, labelled, *rest = words
    cost = _cost(rest[0]) if rest else math.nan
    folder = Path(source).parent
    channels = read_channels(folder / name, limit)
    size = channels.shape[:2]
    labels = np.full(size, MISSING, dtype=np.int32)
    if labelled != _NONE:
        colours = read_colours(folder / labelled, limit)
        if colours.shape[:2] != size:
            found, wanted = (f"{width} x {height}" for height, width in (colours.shape[:2], size))
            message = f"is {found} pixels; expected {wanted}, as {name}"
            raise DataError(folder / labelled, None, message)
        labels = palette.labels(folder / labelled, colours, source)
    return Grid(name, channels, labels, cost, number)


def _cost(word: str) -> float:
    if not word.startswith("cost="):
        raise ValueError(f"{tokens.cut(word)!r} is not a cost; expected one such as cost=0.5")
    return tokens.cost(word.removeprefix("cost="))


def as_graphs(grids: Sequence[Grid], states: int) -> GraphFile:
    """The graphs of images of different names, one after another.

    states : number of states of every pixel
    """
    nodes = [grid.labels.size for grid in grids]
    edges = [_edges(grid) for grid in grids]
    counts = [len(ends) for ends, _, _ in edges]
    lines = np.array([grid.line for grid in grids], dtype=np.int64)
    contrasts = np.concatenate([contrast for _, contrast, _ in edges])
    return GraphFile(
        names=tuple(grid.name for grid in grids),
        costs=np.array([grid.cost for grid in grids]),
        lines=lines,
        node_offsets=_offsets(nodes),
        edge_offsets=_offsets(counts),
        node_names=[f"{x},{y}" for grid in grids for y, x in np.ndindex(grid.labels.shape)],
        node_classes=["pixel"] * sum(nodes),
        states=np.full(sum(nodes), states, dtype=np.int32),
        labels=np.concatenate([grid.labels.ravel() for grid in grids]).astype(np.int32),
        node_features=_sparse(
            [grid.channels.reshape(-1, grid.channels.shape[2]) for grid in grids]
        ),
        edge_classes=[kind for _, _, kinds in edges for kind in kinds],
        ends=np.concatenate([ends for ends, _, _ in edges]).astype(np.int32),
        edge_features=_sparse([contrasts[:, None]]),
        node_lines=np.repeat(lines, nodes).tolist(),
        edge_lines=np.repeat(lines, counts).tolist(),
    )


def _edges(grid: Grid) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Ends (E, 2), contrasts (E,) and classes of the edges, those to the right first."""
    number = np.arange(grid.labels.size).reshape(grid.labels.shape)
    channels = grid.channels if grid.compared is None else grid.compared
    ends, contrasts, kinds = [], [], list[str]()
    for axis, kind in ((1, "right"), (0, "down")):
        first, second = (np.delete(number, place, axis).ravel() for place in (-1, 0))
        ends.append(np.column_stack([first, second]))
        contrasts.append(np.abs(np.diff(channels, axis=axis)).mean(axis=2).ravel())
        kinds += [kind] * len(first)
    return np.concatenate(ends), np.concatenate(contrasts), kinds


def _sparse(parts: Sequence[np.ndarray]) -> Features:
    """A feature 1, then the columns of the parts; zeros are left out."""
    filled = [np.hstack([np.ones((len(part), 1)), part]) for part in parts]
    found = [np.nonzero(part) for part in filled]
    return Features(
        _offsets(np.concatenate([np.count_nonzero(part, axis=1) for part in filled])),
        np.concatenate([columns for _, columns in found]).astype(np.int32),
        np.concatenate([part[place] for part, place in zip(filled, found, strict=True)]),
    )


def _offsets(counts: Sequence[int] | np.ndarray) -> np.ndarray:
    return cumulated(counts)
