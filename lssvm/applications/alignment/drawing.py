"""Alignments as pictures in SVG, each column coloured by what it is."""

from collections.abc import Sequence
from html import escape

COLOURS = {"|": "#8fc48f", ":": "#d5ead0", ".": "#fbf3cf", " ": "#e3e3e3"}
MEANINGS = {"|": "equal letters", ":": "score above 0", ".": "other pairs", " ": "gap"}
_COLUMN, _ROW, _MARGIN = 11.0, 18.0, 10.0  # pixels
_LETTER = 8.0  # width of a letter of names and numbers
_BLOCK = 2.75  # rows from one block of an alignment to the next


def svg_drawing(
    names: Sequence[str], rows: Sequence[str], marks: str, title: str, width: int
) -> str:
    """A picture of two aligned rows.

    rows : two, with gaps; marks : of the columns, see ``MEANINGS``; width : columns of a block
    """
    left = _MARGIN + _LETTER * (max(map(len, names)) + 7)
    boxes, words = [], [_word(_MARGIN, _MARGIN + 12, title)]
    done, y = [0, 0], _MARGIN + 1.75 * _ROW
    for begin in range(0, len(marks), width):
        end = min(begin + width, len(marks))
        for column in range(begin, end):
            x = left + (column - begin) * _COLUMN
            boxes.append(_box(x, y, 2, COLOURS[marks[column]]))
            for line, row in enumerate(rows):
                words.append(_word(x + _COLUMN / 2, y + line * _ROW + 13, row[column], "middle"))
        for line, row in enumerate(rows):
            own, height = row[begin:end], y + line * _ROW + 13
            words.append(_word(_MARGIN, height, names[line]))
            words.append(_word(left - 6, height, str(done[line] + 1), "end"))
            done[line] += len(own) - own.count("-")
            right = left + (end - begin) * _COLUMN + 6
            words.append(_word(right, height, str(done[line])))
        y += _BLOCK * _ROW
    for number, (mark, meaning) in enumerate(MEANINGS.items()):
        x = left + number * 14 * _COLUMN
        boxes.append(_box(x, y, 1, COLOURS[mark]))
        words.append(_word(x + _COLUMN + 5, y + 13, meaning))
    columns = max(min(width, len(marks)), 14 * len(MEANINGS), len(title))
    size = left + columns * _COLUMN + 6 * _LETTER, y + _ROW + _MARGIN
    inside = "\n".join([*boxes, *words])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]:.0f}" height="{size[1]:.0f}" '
        f'font-family="monospace" font-size="13">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{inside}\n</svg>\n'
    )


def _box(x: float, y: float, rows: int, colour: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_COLUMN:.1f}" height="{rows * _ROW:.1f}" '
        f'fill="{colour}" stroke="white"/>'
    )


def _word(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
