"""Grammars read off trees: binary rules of symbols that know their ancestors and sisters.

A symbol is a part of speech; a label with its ancestors, ``NP^S``; or a part of a bracket with more
than two children, ``@NP^S[… DT JJ]``, which knows the last sisters beside it. Each tree has one
derivation, and with ``binarisation: left`` or ``right`` a derivation is all that a tree has. With
``head`` the grammar may also make a tree in another way, with another head: derivations count then.

The root is no symbol. Its rules choose the symbol of all words, and a root with several children
has one symbol for them, ``@``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lssvm import checked
from lssvm.applications.parsing.heads import HeadTable, head_of
from lssvm.errors import ModelError
from lssvm.formats.penn_trees import TreeFile
from lssvm.kernels.parsing_arrays import MOST_CHAIN, GrammarArrays

ROOTS = frozenset({"", "ROOT", "TOP", "S1"})  # labels of the outermost bracket that are no bracket
UNKNOWN = "?"  # the label of the outermost bracket of a sentence without a true tree
ROOT, TOP, BETWEEN = "ROOT", "@", "@"
MOST_SYMBOLS = 1_000_000


class Form(NamedTuple):
    """How trees become binary; see the options of the same names."""

    binarisation: str
    heads: HeadTable
    vertical: int
    horizontal: int | None


class Node(NamedTuple):
    """A tree: its label, and nodes or, for a part of speech, nothing below it."""

    label: str
    children: tuple[int, ...]
    tag: bool


Rule = tuple[str, str, str]  # names of parent, left and right child; "" for none


def nodes_of(file: TreeFile, tree: int) -> list[Node]:
    """The nodes of a tree in preorder; the first one is the root, whatever the file calls it."""
    texts = file.labels.texts
    own = slice(int(file.offsets[tree]), int(file.offsets[tree + 1]))
    codes = file.node_labels[own].tolist()
    words = file.node_words[own].tolist()
    ends = file.ends[own].tolist()
    starts = file.starts[own].tolist()
    children: list[list[int]] = [[] for _ in codes]
    open_: list[int] = []
    for row, start in enumerate(starts):
        while open_ and (ends[open_[-1]] <= start or words[open_[-1]] >= 0):
            open_.pop()
        if open_:
            children[open_[-1]].append(row)
        open_.append(row)
    if words[0] < 0 and texts[codes[0]] in {*ROOTS, UNKNOWN}:
        shift, found = 0, []
    else:
        shift, found = 1, [Node("", (1,), False)]
    for code, word, below in zip(codes, words, children, strict=True):
        found.append(Node(texts[code], tuple(row + shift for row in below), word >= 0))
    return found


def derivation(nodes: Sequence[Node], form: Form) -> Iterator[tuple[Rule, str]]:
    """The rules of a tree in preorder, each with the bracket that its parent is, "" for none."""
    top = nodes[0].children
    names = _symbols(nodes, form.vertical)
    stack: list[int | _Part] = []
    if len(top) == 1:
        yield ("", names[top[0]], ""), ""
        stack.append(top[0])
    else:
        yield ("", TOP, ""), ""
        stack.append(_Part(TOP, "", "", top, (), TOP))
    while stack:
        item = stack.pop()
        if isinstance(item, int):
            node = nodes[item]
            if node.tag:
                continue
            name, below = names[item], node.children
            if len(below) == 1:
                yield (name, names[below[0]], ""), node.label
                stack.append(below[0])
                continue
            item = _Part(name, node.label, node.label, below, (), name)
        yield _halved(item, nodes, names, form, stack), item.label


class _Part(NamedTuple):
    """A symbol with several children.

    owner : label of the bracket that it is a part of; label : the same if it is all of it
    children : nodes; sisters : labels beside them, the last ones last; whole : name of the bracket
    """

    name: str
    owner: str
    label: str
    children: tuple[int, ...]
    sisters: tuple[str, ...]
    whole: str


def _halved(
    part: _Part,
    nodes: Sequence[Node],
    names: Sequence[str],
    form: Form,
    stack: list[int | _Part],
) -> Rule:
    """The rule of a symbol with several children; what is below it is stacked."""
    below = part.children
    if len(below) == 2:
        stack += [below[1], below[0]]
        return part.name, names[below[0]], names[below[1]]
    left = form.binarisation == "right"
    if form.binarisation == "head":
        left = head_of(form.heads, part.owner, [nodes[row].label for row in below]) > 0
    child, rest = (below[0], below[1:]) if left else (below[-1], below[:-1])
    sisters = (*part.sisters, nodes[child].label)
    if form.horizontal is not None:
        sisters = sisters[len(sisters) - min(form.horizontal, len(sisters)) :]
    side = "" if form.binarisation != "head" else "<" if left else ">"
    name = f"{BETWEEN}{part.whole}{side}[{' '.join(sisters)}]"
    between = _Part(name, part.owner, "", rest, sisters, part.whole)
    stack += [between, child] if left else [child, between]
    return (part.name, names[child], name) if left else (part.name, name, names[child])


def _symbols(nodes: Sequence[Node], vertical: int) -> list[str]:
    """The symbol of every node: its label and those of its ancestors; of a tag only its name."""
    above: list[tuple[str, ...]] = [()] * len(nodes)
    names = [ROOT] * len(nodes)
    above[0] = (ROOT,)
    for row, node in enumerate(nodes):
        for child in node.children:
            if nodes[child].tag:
                names[child] = nodes[child].label
            else:
                above[child] = (nodes[child].label, *above[row])[:vertical]
                names[child] = "^".join(above[child])
    return names


@dataclass(frozen=True, eq=False)
class Grammar:
    """The rules of training trees.

    tags, labels : names of parts of speech, and of brackets
    symbols : names of all other symbols; brackets : (symbols,) their labels, -1: none
    rules : (rules, 3) int32 parent, left and right, parts of speech first; -1: none
    chain : longest chain of one-child rules, those of the root not counted
    """

    tags: tuple[str, ...]
    labels: tuple[str, ...]
    symbols: tuple[str, ...]
    brackets: np.ndarray
    rules: np.ndarray
    chain: int
    _arrays: dict[tuple[int, int], GrammarArrays] = field(default_factory=dict)

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each symbol that is no part of speech."""
        return {name: len(self.tags) + row for row, name in enumerate(self.symbols)}

    @cached_property
    def tag_number(self) -> dict[str, int]:
        """The number of each part of speech."""
        return {name: row for row, name in enumerate(self.tags)}

    @cached_property
    def label_number(self) -> dict[str, int]:
        """The number of each label of brackets."""
        return {name: row for row, name in enumerate(self.labels)}

    @cached_property
    def rule_number(self) -> dict[tuple[int, int, int], int]:
        """The number of each rule."""
        return {(a, b, c): row for row, (a, b, c) in enumerate(self.rules.tolist())}

    def arrays(self, parts: int, chain: int | None) -> GrammarArrays:
        """The grammar as kernels read it, with so many parts of each symbol."""
        longest = self.chain if chain is None else min(chain, self.chain)
        found = self._arrays.get((parts, longest))
        if found is None:
            split = np.full(len(self.tags) + len(self.symbols), parts, dtype=np.int32)
            split[: len(self.tags)] = 1
            split[[row for name, row in self.number.items() if name == TOP]] = 1
            label = np.concatenate([np.full(len(self.tags), -1), self.brackets]).astype(np.int32)
            a, b, c = (np.ascontiguousarray(self.rules[:, k]) for k in range(3))
            sizes = (len(self.tags), len(self.labels), longest)
            found = self._arrays[parts, longest] = GrammarArrays(split, label, a, b, c, *sizes)
        return found

    def derived(self, nodes: Sequence[Node], form: Form, chain: int) -> list[int] | None:
        """The numbers of the rules of a tree in preorder; None if the grammar does not make it."""
        found, run = [], 0
        for (parent, left, right), _ in derivation(nodes, form):
            row = self.rule_number.get(self._codes(parent, left, right))
            run = 0 if right or not parent else run + 1
            if row is None or run > chain:
                return None
            found.append(row)
            if not right and left in self.tag_number:
                run = 0
        return found

    def _codes(self, *names: str) -> tuple[int, int, int]:
        a, b, c = (self._code(name) for name in names)
        return a, b, c

    def _code(self, name: str) -> int:
        if not name:
            return -1
        found = self.number.get(name)
        return self.tag_number.get(name, -2) if found is None else found

    def rule_names(self) -> list[str]:
        """``S → NP VP`` for every rule."""
        names = [*self.tags, *self.symbols, ""]
        return [
            f"{names[a] or ROOT} → {names[b]} {names[c]}".rstrip()
            for a, b, c in self.rules.tolist()
        ]

    def state(self) -> dict[str, np.ndarray]:
        """The grammar as arrays for a model."""
        return {
            "tags": np.array(self.tags),
            "labels": np.array(self.labels or ("",)),
            "symbols": np.array(self.symbols or ("",)),
            "brackets": self.brackets,
            "rules": self.rules,
            "chain": np.array([self.chain], dtype=np.int64),
        }

    @classmethod
    def from_state(cls, arrays: Mapping[str, np.ndarray]) -> "Grammar":
        """The grammar of a model's arrays. Raises ModelError."""
        tags = checked.words(arrays, "tags")
        labels, symbols = (_words(arrays, name) for name in ("labels", "symbols"))
        count = len(tags) + len(symbols)
        shape = (len(symbols),)
        brackets = checked.array(
            arrays, "brackets", np.int32, shape, least=-1, most=len(labels) - 1
        )
        rules = checked.array(arrays, "rules", np.int32, (None, 3), least=-1, most=count - 1)
        (chain,) = checked.array(arrays, "chain", np.int64, (1,), least=0, most=MOST_CHAIN)
        if len(np.unique(rules, axis=0)) < len(rules) or not len(rules):
            raise ModelError("array 'rules' holds a rule twice, or none; expected different ones")
        found = cls(tags, labels, symbols, brackets, np.ascontiguousarray(rules), int(chain))
        try:
            found.arrays(1, None)
        except ValueError as error:
            raise ModelError(f"array 'rules': {error}") from None
        return found


def _words(arrays: Mapping[str, np.ndarray], name: str) -> tuple[str, ...]:
    """Names, of which there may be none: then the array holds one empty text."""
    found = arrays.get(name)
    if found is not None and found.dtype.kind == "U" and found.tolist() == [""]:
        return ()
    return checked.words(arrays, name)


class Learner:
    """Collects the rules of trees."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.tags: dict[str, int] = {}
        self.labels: dict[str, int] = {}
        self.symbols: dict[str, int] = {}
        self.brackets: list[int] = []
        self.rules: dict[Rule, int] = {}
        self.chain = 0

    def add(self, nodes: Sequence[Node]) -> None:
        """The rules of one more tree. Raises ValueError for what no grammar can have."""
        for node in nodes:
            if node.tag:
                self.tags.setdefault(node.label, len(self.tags))
        run = 0
        for rule, label in derivation(nodes, self.form):
            parent, left, right = rule
            run = 0 if right or not parent else run + 1
            if run > MOST_CHAIN:
                raise ValueError(
                    f"{run} brackets with one child are over the same words; expected at most "
                    f"{MOST_CHAIN}"
                )
            self.chain = max(self.chain, run)
            self.take(rule, label)
            if not right and left in self.tags:
                run = 0

    def take(self, rule: Rule, label: str) -> None:
        """A rule, and the bracket that its parent is. Raises ValueError as ``add`` does."""
        if rule[0]:
            self._symbol(rule[0], label)
        self.rules.setdefault(rule, len(self.rules))

    def _symbol(self, name: str, label: str) -> None:
        code = self.labels.setdefault(label, len(self.labels)) if label else -1
        place = self.symbols.setdefault(name, len(self.symbols))
        if place == len(self.brackets):
            if place >= MOST_SYMBOLS:
                raise ValueError(
                    f"the grammar has more than {MOST_SYMBOLS:,d} symbols; expected a smaller "
                    "application.horizontal or vertical"
                )
            self.brackets.append(code)
        elif self.brackets[place] != code:
            raise ValueError(f"the label {label!r} looks like a symbol of the grammar, {name!r}")

    def learnt(self) -> Grammar:
        """The grammar. Raises ValueError if a label is a part of speech too."""
        both = [name for name in self.symbols if name in self.tags]
        if both:
            raise ValueError(
                f"{both[0]!r} is the label of a bracket and of a word; expected either"
            )
        number = {name: row for row, name in enumerate([*self.tags, *self.symbols])}
        number[""] = -1
        rules = np.array([[number[name] for name in rule] for rule in self.rules], dtype=np.int32)
        brackets = np.array(self.brackets, dtype=np.int32)
        names = (tuple(self.tags), tuple(self.labels), tuple(self.symbols))
        return Grammar(*names, brackets, rules.reshape(-1, 3), self.chain)
