"""Penn bracketed trees: ``(S (NP (DT the) (NN dog)) (VP (VBZ barks)))``.

A file holds any number of trees, one or several on a line, each on one or several lines. The label
of the outermost bracket may be empty, ``( (S …))``. A bracket holds either one word, then it is the
part of speech of that word, or other brackets. As evalb does, the reader leaves out traces
(words of the part of speech ``-NONE-``, and brackets that hold nothing else) and cuts function tags
off the labels, from their first ``-`` or ``=``; labels that begin with one, as ``-LRB-``, stay.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from lssvm.errors import DataError, counted
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.text import Line, open_text

TRACE = "-NONE-"
DEEPEST = 1000  # brackets within each other
_PART = 1_000_000  # nodes of a part
_SHOWN = 40  # characters of a word that a message shows
_BRACKET = re.compile(rb"[()]")
TOKEN = re.compile(r"[()]|[^\s()]+")
_FUNCTION = re.compile(r"(?<=[^-=])[-=].*", re.DOTALL)


@dataclass
class Names:
    """Distinct texts, numbered from 0 in the order in which they were seen."""

    number: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Names":
        """Distinct texts, numbered in their order."""
        return cls({text: number for number, text in enumerate(texts)})

    def __len__(self) -> int:
        return len(self.number)

    def code(self, text: str) -> int:
        """The number of a text, a new one if it was not seen before."""
        return self.number.setdefault(text, len(self.number))

    @property
    def texts(self) -> tuple[str, ...]:
        """All of them, in order."""
        return tuple(self.number)


@dataclass(frozen=True)
class TreeFile:
    """n trees, the nodes of each in preorder, one tree after another.

    labels, words : distinct texts, which several files may share
    node_labels : (nodes,) int32, rows of ``labels``
    node_words : (nodes,) int32, rows of ``words``; -1 for a node that is not a part of speech
    starts, ends : (nodes,) int32, the words start..end-1 of its tree that are below a node
    offsets : (n + 1,) int64, where the nodes of each tree begin
    lines : (n,) int64, the line on which each tree begins
    """

    labels: Names
    words: Names
    node_labels: np.ndarray
    node_words: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    offsets: np.ndarray
    lines: np.ndarray


def without_function(label: str) -> str:
    """A label without function tags and co-indices: ``NP`` of ``NP-SBJ-1``."""
    return label if label[:1] in ("-", "=") else _FUNCTION.sub("", label)


def read_trees(
    path: str | Path,
    limit: Limit = DEFAULT,
    known: tuple[Names, Names] | None = None,
    *,
    strip_traces: bool = True,
    strip_functions: bool = True,
) -> TreeFile:
    """The trees of a file.

    known : labels and words of files before it, which are added to
    Raises DataError with the line of a bracket that is wrong, for a tree without words, and for a
    file without trees.
    """
    with open_text(path, limit, owns=tree_lines) as lines:
        return trees_of_lines(
            path, lines, known, strip_traces=strip_traces, strip_functions=strip_functions
        )


def trees_of_lines(
    path: str | Path,
    lines: Iterable[tuple[int, str]],
    known: tuple[Names, Names] | None = None,
    *,
    strip_traces: bool = True,
    strip_functions: bool = True,
) -> TreeFile:
    """The trees of numbered lines; otherwise as :func:`read_trees`. path : for messages."""
    reader = _Reader(*(known or (Names(), Names())), strip_traces, strip_functions)
    for _ in _each_line(path, lines, reader):
        pass
    return reader.result()


def tree_parts(
    path: str | Path,
    limit: Limit,
    labels: Names,
    *,
    strip_traces: bool = True,
    strip_functions: bool = True,
) -> Iterator[TreeFile]:
    """The trees of a file in parts of whole trees, in order; otherwise as :func:`read_trees`.

    labels : of files and parts before it, which are added to; each part has its own words
    """
    reader = _Reader(labels, Names(), strip_traces, strip_functions)
    with open_text(path, limit, owns=tree_lines) as lines:
        for _ in _each_line(path, lines, reader):
            if reader.full:
                yield reader.result()
                reader.begin_anew()
    if len(reader.offsets) > 1:
        yield reader.result()


def tree_lines(lines: Iterable[tuple[int, Line]], number: int) -> list[range]:
    """The lines of the tree that has a line, as of :data:`lssvm.formats.text.Owns`.

    Where brackets do not match, it is known only if the other trees begin, and no other bracket
    does, where a line begins.
    """
    filled = [(at, line) for at, line in lines if line.strip()]
    trees = _spans(filled)
    if trees is None:
        begins = [row for row, (_, line) in enumerate(filled) if line.startswith(b"(")]
        parts = [filled[a:b] for a, b in pairwise([*begins, len(filled)])]
        broken = [range(part[0][0], part[-1][0] + 1) for part in parts if _spans(part) is None]
        before = [own for own in broken if own.start <= number]  # what follows may show the lack
        if not before or len(parts) - len(broken) <= 3 * len(broken):
            raise ValueError("cannot skip a tree whose brackets do not match: its end is not known")
        return [before[-1]]
    own = next((tree for tree in trees if number in tree), None)
    if own is None:
        raise ValueError("cannot skip what is outside of all brackets")
    if sum(tree.start < own.stop and own.start < tree.stop for tree in trees) > 1:
        raise ValueError("cannot skip a tree that shares a line with another one")
    return [own]


def _spans(lines: Iterable[tuple[int, Line]]) -> list[range] | None:
    """The lines of each tree, if brackets match, else None."""
    found, depth, begun = [], 0, 0
    for at, line in lines:
        for bracket in _BRACKET.findall(line):
            begun = begun if depth else at
            depth += 1 if bracket == b"(" else -1
            if depth < 0:
                return None
            if not depth:
                found.append(range(begun, at + 1))
    return None if depth else found


def _each_line(
    path: str | Path, lines: Iterable[tuple[int, str]], reader: "_Reader"
) -> Iterator[None]:
    """Read lines, pausing after each, and check the end. Raises DataError."""
    for number, line in lines:
        try:
            reader.read(number, TOKEN.findall(line))
        except ValueError as error:
            raise DataError(path, number, error) from None
        yield
    if reader.open:
        what = counted(reader.open, "bracket is", "brackets are")
        message = f"the tree: {what} not closed at the end of the file; expected ')'"
        raise DataError(path, reader.begun, message)
    if not reader.trees:
        raise DataError(path, None, "there are no trees; expected '(S (NP …) …)'")


class _Reader:
    """Trees token by token."""

    def __init__(self, labels: Names, words: Names, traces: bool, functions: bool) -> None:
        self.labels, self.words, self.traces = labels, words, traces
        self.functions = functions
        self.columns = [array("i") for _ in range(4)]  # label, word, start, end
        self.offsets, self.lines = array("q", [0]), array("q")
        self.nodes: list[list[int]] = []  # of the tree that is open
        self.stack: list[int] = []  # the nodes of its open brackets
        self.named = True  # whether the innermost bracket has its label, or has none
        self.position = self.begun = 0
        self.known: dict[str, int] = {}
        self.before = 0  # trees of other parts

    @property
    def trees(self) -> int:
        """Trees so far, those of other parts included."""
        return self.before + len(self.lines)

    @property
    def full(self) -> bool:
        """Whether there are enough nodes for a part, and no tree is open."""
        return len(self.columns[0]) > _PART and not self.stack

    def begin_anew(self) -> None:
        """Forget the trees and the words."""
        self.before = self.trees
        self.words = Names()
        self.columns = [array("i") for _ in range(4)]
        self.offsets, self.lines = array("q", [0]), array("q")

    @property
    def open(self) -> int:
        """How many brackets are open."""
        return len(self.stack)

    def read(self, number: int, tokens: Iterable[str]) -> None:
        """Read the tokens of a line. Raises ValueError with what is wrong."""
        for token in tokens:
            if token == "(":
                self._begin(number)
            elif token == ")":
                self._end()
            elif not self.named:
                self.nodes[self.stack[-1]][0] = self._label(token)
                self.named = True
            else:
                self._word(token)

    def _begin(self, number: int) -> None:
        if not self.stack:
            self.begun = number
        elif not self.named:
            self._unnamed()
        elif self.nodes[self.stack[-1]][1] >= 0:
            word = self.words.texts[self.nodes[self.stack[-1]][1]]
            raise ValueError(f"a bracket follows the word {_shown(word)}; expected ')'")
        if len(self.stack) >= DEEPEST:
            raise ValueError(f"brackets are nested too deeply; expected at most {DEEPEST:,d}")
        self.stack.append(len(self.nodes))
        self.nodes.append([-1, -1, self.position, -1])
        self.named = False

    def _unnamed(self) -> None:
        """Accept an empty label, which only the outermost bracket may have."""
        if len(self.stack) > 1:
            raise ValueError("a bracket without a label; expected one, as in '(NP …)'")
        self.nodes[0][0] = self.labels.code("")
        self.named = True

    def _end(self) -> None:
        if not self.stack:
            raise ValueError("')' without '('; expected '(' first")
        if not self.named:
            raise ValueError("an empty bracket '()'; expected a label and what is in the bracket")
        row = self.stack.pop()
        node = self.nodes[row]
        if node[1] < 0 and row == len(self.nodes) - 1:
            label = self.labels.texts[node[0]]
            raise ValueError(f"nothing is in the bracket {_shown(label)}; expected a word")
        node[3] = self.position
        if not self.stack:
            self._keep()

    def _word(self, token: str) -> None:
        if not self.stack:
            raise ValueError(f"{_shown(token)} is outside of all brackets; expected '('")
        row = self.stack[-1]
        node = self.nodes[row]
        if node[1] >= 0 or row != len(self.nodes) - 1:
            before = "a word" if node[1] >= 0 else "other brackets"
            raise ValueError(
                f"{_shown(token)} follows {before} in a bracket; expected one word, or brackets"
            )
        node[1] = self.words.code(token)
        if not (self.traces and self.labels.number.get(TRACE) == node[0]):
            self.position += 1

    def _label(self, token: str) -> int:
        found = self.known.get(token)
        if found is None:
            text = token
            if self.functions and token != TRACE:
                text = without_function(token)
            found = self.known[token] = self.labels.code(text)
        return found

    def _keep(self) -> None:
        """Store the tree that was closed, without brackets that hold no word."""
        if not self.position:
            raise ValueError("the tree has no words; expected at least one")
        for node in self.nodes:
            if node[2] < node[3]:
                for column, value in zip(self.columns, node, strict=True):
                    column.append(value)
        self.offsets.append(len(self.columns[0]))
        self.lines.append(self.begun)
        self.nodes, self.position = [], 0

    def result(self) -> TreeFile:
        """All trees."""
        labels, words, starts, ends = (np.array(column, dtype=np.int32) for column in self.columns)
        offsets = np.array(self.offsets, dtype=np.int64)
        lines = np.array(self.lines, dtype=np.int64)
        return TreeFile(self.labels, self.words, labels, words, starts, ends, offsets, lines)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def bracketed(labels: list[str], words: list[str | None], ends: list[int]) -> str:
    """One tree on one line.

    labels, words : of its nodes in preorder, None for the words of nodes above
    ends : the position behind the last node below each
    """
    parts: list[str] = []
    open_: list[int] = []
    for row, (label, word, end) in enumerate(zip(labels, words, ends, strict=True)):
        while open_ and open_[-1] <= row:
            open_.pop()
            parts.append(")")
        space = " " if row else ""
        if word is None:
            parts.append(f"{space}({label}")
            open_.append(end)
        else:
            parts.append(f"{space}({label} {word})")
    return "".join(parts) + ")" * len(open_)
