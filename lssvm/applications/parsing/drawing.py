"""Trees drawn in text and as SVG, from bracketed trees on one line."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from lssvm.formats.penn_trees import TOKEN

_LETTER, _GAP, _LEVEL, _MARGIN = 8.0, 16.0, 44.0, 12.0  # pixels


@dataclass
class _Node:
    """A bracket: its label, its word if it is a part of speech, and what is in it."""

    label: str
    word: str = ""
    children: list["_Node"] = field(default_factory=list)
    x: float = 0.0
    depth: int = 0


def _parsed(text: str) -> _Node:
    """The nodes of a bracketed tree that this package has written."""
    top = _Node("")
    stack, fresh = [top], False
    for token in TOKEN.findall(text):
        if token == "(":
            node = _Node("", depth=len(stack) - 1)
            stack[-1].children.append(node)
            stack.append(node)
            fresh = True
        elif token == ")":
            stack.pop()
        elif fresh:
            stack[-1].label, fresh = token, False
        else:
            stack[-1].word = token
    return top.children[0]


def text_drawing(text: str) -> str:
    """A tree with one bracket on each line, below and to the right of the one it is in."""
    return "\n".join(_lines(_parsed(text)))


def _lines(top: _Node) -> Iterator[str]:
    stack = [(top, "", "")]
    while stack:
        node, here, below = stack.pop()
        yield f"{here}{node.label}{' ' if node.word else ''}{node.word}"
        last = len(node.children) - 1
        for place in range(last, -1, -1):
            marks = ("└── ", "    ") if place == last else ("├── ", "│   ")
            stack.append((node.children[place], below + marks[0], below + marks[1]))


def _placed(top: _Node) -> tuple[list[_Node], float]:
    """All nodes, below those that they are in, with their places, and the width of all."""
    order = [top]
    for node in order:
        order.extend(node.children)
    width, stack, leaves = _MARGIN, [top], []
    while stack:
        node = stack.pop()
        if not node.children:
            leaves.append(node)
        stack.extend(reversed(node.children))
    for leaf in leaves:
        room = max(len(leaf.label), len(leaf.word)) * _LETTER
        leaf.x = width + room / 2
        width += room + _GAP
    for node in reversed(order):
        if node.children:
            node.x = (node.children[0].x + node.children[-1].x) / 2
    return order, width - _GAP + _MARGIN


def svg_drawing(text: str) -> str:
    """A tree as a picture in SVG, words at the bottom of their branches."""
    order, width = _placed(_parsed(text))
    height = (max(node.depth for node in order) + 1) * _LEVEL + 2 * _MARGIN
    lines, words = [], []
    for node in order:
        y = _MARGIN + 14 + node.depth * _LEVEL
        words.append(_word(node.x, y, node.label, "#1f4e79"))
        if node.word:
            words.append(_word(node.x, y + 18, node.word, "black"))
        for child in node.children:
            lines.append(
                f'<line x1="{node.x:.1f}" y1="{y + 4:.1f}" x2="{child.x:.1f}" '
                f'y2="{y + _LEVEL - 14:.1f}" stroke="gray"/>'
            )
    inside = "\n".join([*lines, *words])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        'font-family="monospace" font-size="13">\n<rect width="100%" height="100%" fill="white"/>\n'
        f"{inside}\n</svg>\n"
    )


def _word(x: float, y: float, text: str, colour: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="{colour}">{escape(text)}</text>'
    )
