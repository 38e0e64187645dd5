"""A grammar as the parsing kernels read it, checked and expanded once."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from lssvm.kernels.arrays import INTEGER, LONG, Arrays

MOST_CHAIN = 12  # one-child rules over the same words


@dataclass(frozen=True, eq=False)
class GrammarArrays(Arrays):
    """The rules of a binary grammar. Symbols 0 .. tags-1 are parts of speech.

    parts : (symbols,) in how many parts each symbol is split; parts of speech in one
    label : (symbols,) bracket that a symbol is, -1: none; parts of speech are none
    parent, left, right : (rules,) symbols; a rule with one child has right -1, a rule of the root
        parent -1 and right -1
    tags, labels : how many; chain : most one-child rules over the same words, those of the root
        not counted
    """

    KINDS: ClassVar = dict.fromkeys(("parts", "label", "parent", "left", "right"), (INTEGER, 1))

    parts: np.ndarray
    label: np.ndarray
    parent: np.ndarray
    left: np.ndarray
    right: np.ndarray
    tags: int
    labels: int
    chain: int

    def check(self) -> None:
        """Refuse rules of symbols that there are not."""
        symbols, rules = len(self.parts), len(self.parent)
        self.check_length("label", symbols)
        self.check_length("left", rules)
        self.check_length("right", rules)
        if not 0 < self.tags <= symbols or not 0 <= self.chain <= MOST_CHAIN:
            self.refuse(f"{self.tags} tags of {symbols} symbols, chains of {self.chain}")
        if np.any(self.parts < 1) or np.any(self.parts[: self.tags] != 1):
            self.refuse("parts are not at least 1, and 1 for parts of speech")
        if np.any(self.label >= self.labels) or np.any(self.label[: self.tags] >= 0):
            self.refuse(f"label is not below {self.labels}, or belongs to a part of speech")
        if np.any(self.left < 0) or np.any(self.left >= symbols) or np.any(self.right >= symbols):
            self.refuse(f"children are not among {symbols} symbols")
        if np.any(self.parent >= symbols) or np.any((self.parent >= 0) & (self.parent < self.tags)):
            self.refuse("a part of speech is a parent")
        if np.any((self.parent < 0) & (self.right >= 0)):
            self.refuse("the root has two children")

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many rules of parts each rule has, (rules,) int64."""
        own = np.append(self.parts, 1).astype(np.int64)
        return own[self.parent] * own[self.left] * own[self.right]

    @cached_property
    def expand(self) -> np.ndarray:
        """The first rule of parts of each rule, and the end, (rules + 1,) int64."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def first(self) -> np.ndarray:
        """The first part of each symbol, and the end, (symbols + 1,) int64."""
        return np.concatenate([[0], np.cumsum(self.parts, dtype=np.int64)])

    @cached_property
    def whole(self) -> np.ndarray:
        """The rule that each rule of parts belongs to, int32."""
        return np.repeat(np.arange(len(self.parent), dtype=np.int32), self.sizes)

    @cached_property
    def split(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Parent, left and right of each rule of parts, as parts of symbols, int32; -1: none."""
        place = np.arange(len(self.whole)) - self.expand[:-1][self.whole]
        own = np.append(self.parts, 1).astype(np.int64)
        lefts, rights = own[self.left][self.whole], own[self.right][self.whole]
        chosen = (place // (lefts * rights), place // rights % lefts, place % rights)
        columns = []
        for symbol, part in zip((self.parent, self.left, self.right), chosen, strict=True):
            symbols = symbol[self.whole]
            columns.append(np.where(symbols < 0, -1, self.first[symbols] + part).astype(np.int32))
        return columns[0], columns[1], columns[2]

    @cached_property
    def flat(self) -> tuple[np.ndarray, tuple[int, ...], tuple[int, ...]]:
        """All arrays one after another, where each begins, and counts, as the kernels read them."""
        parent, left, right = self.split
        binary = np.flatnonzero(right >= 0)
        symbols = int(self.first[-1])
        order = binary[np.lexsort((binary, right[binary], left[binary]))]
        keys = left[order].astype(np.int64) * symbols + right[order]
        pairs, begin = np.unique(keys, return_index=True)
        counts = np.diff(np.append(begin, len(order)))
        unary = np.flatnonzero((right < 0) & (parent >= 0))
        uppers = np.unique(parent[unary])
        row = np.full(symbols, -1)
        row[uppers] = np.arange(len(uppers))
        roots = np.flatnonzero(parent < 0)
        by_parent = np.argsort(parent[order], kind="stable")
        made = np.searchsorted(parent[order][by_parent], np.arange(symbols + 1))
        base = np.repeat(np.arange(len(self.parts)), self.parts)
        label = self.label[base]
        cores = np.unique(np.concatenate([np.flatnonzero(label >= 0), uppers, left[unary]]))
        core_row = np.full(symbols, -1)
        core_row[cores] = np.arange(len(cores))
        arrays = [
            *(pairs // symbols, pairs % symbols, np.append(begin, len(order)), parent[order]),
            *(order, np.repeat(np.arange(len(pairs)), counts), made, by_parent),
            *(parent[unary], left[unary], unary, uppers, row, left[roots], roots),
            *(label, base, parent, left, right, self.whole, self.expand, self.first),
            *(self.parts, self.parent, self.left, self.right, cores, core_row),
        ]
        places = np.concatenate([[0], np.cumsum([len(array) for array in arrays])])
        numbers = (
            *(symbols, self.tags, self.labels, self.chain, len(self.whole), len(pairs)),
            *(len(unary), len(uppers), len(roots), int(self.parts.max())),
        )
        flat = np.concatenate([*arrays, [0]]).astype(np.int32)
        return flat, tuple(places.tolist()), numbers


@dataclass(frozen=True, eq=False)
class SentenceArrays(Arrays):
    """n sentences. Offsets, (n + 1,) int64, give where the parts of each begin in whole arrays.

    offsets, tags : words; int32, part of speech of each, -1: any
    gold_offsets, gold : (true brackets, 4) int32 start, width, label and how often, by width, start
        and label
    rule_offsets, rules : the true derivation in preorder, int32, rules as read; empty if unknown
    kinds : (templates,) int32 of features of spans: 0 length, 1 first word, 2 last word, 3 the word
        before, 4 the word behind
    rows : (templates + 1,) int32, where the weights of each begin; the last row of one is for what
        is outside of the sentence
    codes : (templates, words) int32, the value of each word, -1: none
    buckets : (65,) int32, the value of each length, the last one for all greater ones
    """

    KINDS: ClassVar = {
        "offsets": (LONG, 1),
        "tags": (INTEGER, 1),
        "gold_offsets": (LONG, 1),
        "gold": (INTEGER, 2),
        "rule_offsets": (LONG, 1),
        "rules": (INTEGER, 1),
        "kinds": (INTEGER, 1),
        "rows": (INTEGER, 1),
        "codes": (INTEGER, 2),
        "buckets": (INTEGER, 1),
    }

    offsets: np.ndarray
    tags: np.ndarray
    gold_offsets: np.ndarray
    gold: np.ndarray
    rule_offsets: np.ndarray
    rules: np.ndarray
    kinds: np.ndarray
    rows: np.ndarray
    codes: np.ndarray
    buckets: np.ndarray

    def check(self) -> None:
        """Refuse offsets and codes that leave the arrays."""
        n = len(self.offsets) - 1
        self.check_offsets("offsets", n, len(self.tags))
        self.check_offsets("gold_offsets", n, len(self.gold))
        self.check_offsets("rule_offsets", n, len(self.rules))
        self.check_length("rows", len(self.kinds) + 1)
        self.check_length("codes", len(self.kinds))
        self.check_length("buckets", 65)
        if self.gold.shape[1] != 4 or (len(self.kinds) and self.codes.shape[1] != len(self.tags)):
            self.refuse(f"gold {self.gold.shape}, codes {self.codes.shape}")
        values = np.diff(self.rows)
        most = self.codes.max(axis=1, initial=-1)
        if len(self.kinds) and self.kinds[0] == 0:
            most[0] = max(most[0], self.buckets.max())
        if np.any(most >= values) or np.any(self.kinds < 0) or np.any(self.kinds[1:] == 0):
            self.refuse("codes are beyond the rows of weights")

    @cached_property
    def states(self) -> int:
        """Most states of the true brackets of a span."""
        own = self.gold[self.gold_offsets[0] : self.gold_offsets[-1]].astype(np.int64)
        if not len(own):
            return 1
        row = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.gold_offsets))
        changes = np.any(np.diff(np.column_stack([row, own[:, :2]]), axis=0) != 0, axis=1)
        begin = np.concatenate([[0], np.flatnonzero(changes) + 1])
        return int(np.max(np.multiply.reduceat(own[:, 3] + 1, begin)))

    @cached_property
    def most_golds(self) -> int:
        """Most true brackets of a sentence."""
        before = np.concatenate([[0], np.cumsum(self.gold[:, 3], dtype=np.int64)])
        return int(np.max(np.diff(before[self.gold_offsets]), initial=0))

    @cached_property
    def most_rules(self) -> int:
        """Most rules of a true derivation."""
        return int(np.max(np.diff(self.rule_offsets), initial=0))
