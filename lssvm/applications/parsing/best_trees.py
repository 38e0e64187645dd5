"""The best few derivations of a sentence, and the best pieces of one that has none.

The k-th best derivation of a symbol is found when it is asked for (Huang & Chiang, IWPT 2005,
algorithm 3); values of best derivations are those of the charts.
"""

import heapq
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lssvm.kernels.parsing_arrays import GrammarArrays

_LOST = -1e299


class _Item(NamedTuple):
    """A symbol over some words. layer : of one-child rules; -1: any; symbol -1: the root."""

    symbol: int
    start: int
    width: int
    layer: int


class _Edge(NamedTuple):
    """A way to make an item. rule : -1 where it is another item with the same words."""

    rule: int
    score: float
    tails: tuple[_Item, ...]


class _Derivation(NamedTuple):
    score: float
    edge: _Edge
    ranks: tuple[int, ...]


class Forest:
    """All derivations of a sentence, by the charts of the kernel."""

    def __init__(
        self,
        grammar: GrammarArrays,
        weights: np.ndarray,
        charts: tuple[np.ndarray, np.ndarray, np.ndarray],
        length: int,
        most: int,
    ) -> None:
        self.grammar, self.weights, self.length, self.most = grammar, weights, length, most
        self.whole, self.plain, self.nodes = charts
        self.found: dict[_Item, list[_Derivation]] = {}
        self.heaps: dict[_Item, list[tuple[float, int, _Derivation]]] = {}
        self.seen: dict[_Item, set[tuple[int, tuple[int, ...]]]] = {}
        self.edges: dict[_Item, list[_Edge]] = {}
        self.layers: dict[tuple[int, int], list[np.ndarray]] = {}

    @cached_property
    def by_parent(self) -> tuple[np.ndarray, np.ndarray]:
        """Rules with two children sorted by parent, and where those of each begin."""
        parent, _, right = self.grammar.split
        binary = np.flatnonzero(right >= 0)
        order = binary[np.argsort(parent[binary], kind="stable")]
        return order, np.searchsorted(parent[order], np.arange(self.symbols + 1))

    @cached_property
    def unary(self) -> np.ndarray:
        """Rules with one child, those of the root left out."""
        parent, _, right = self.grammar.split
        return np.flatnonzero((right < 0) & (parent >= 0))

    @property
    def symbols(self) -> int:
        """Parts of symbols."""
        return int(self.grammar.first[-1])

    @cached_property
    def labels(self) -> np.ndarray:
        """The bracket that each part of a symbol is."""
        return np.repeat(self.grammar.label, self.grammar.parts)

    def values(self, chart: np.ndarray, symbols: np.ndarray, start: int, width: int) -> np.ndarray:
        """The values of symbols over some words."""
        tags, n = self.grammar.tags, self.length
        rows = np.where(symbols < tags, symbols, tags + (symbols - tags) * n + width - 1)
        fits = (symbols >= tags) | (width == 1)
        return np.where(fits, chart[np.where(fits, rows, 0), start], -1e300)

    def layers_of(self, start: int, width: int) -> list[np.ndarray]:
        """The best value of every symbol for each layer of the words."""
        found = self.layers.get((start, width))
        if found is None:
            parent, left, _ = self.grammar.split
            found = [self.values(self.plain, np.arange(self.symbols), start, width)]
            charges = np.where(self.labels >= 0, self.nodes[self.labels, width - 1, start], 0.0)
            for _ in range(self.grammar.chain):
                above = np.full(self.symbols, -1e300)
                sums = found[-1][left[self.unary]] + self.weights[self.unary]
                np.maximum.at(above, parent[self.unary], sums)
                found.append(np.where(above > _LOST, above + charges, -1e300))
            self.layers[start, width] = found
        return found

    def _edges(self, item: _Item) -> list[_Edge]:
        """The ways to make an item, the best first, as many as may be needed."""
        symbol, start, width, layer = item
        if symbol < 0:
            found = self._roots()
        elif layer < 0:
            layers = self.layers_of(start, width)
            found = [
                _Edge(-1, float(values[symbol]), (item._replace(layer=u),))
                for u, values in enumerate(layers)
            ]
        elif layer > 0:
            found = self._chains(item)
        elif symbol < self.grammar.tags:
            found = [_Edge(-1, float(self.plain[symbol, start]), ())]
        else:
            found = self._splits(item)
        found = [edge for edge in found if edge.score > _LOST]
        return sorted(found, key=lambda edge: -edge.score)[: self.most]

    def _roots(self) -> list[_Edge]:
        parent, left, _ = self.grammar.split
        rows = np.flatnonzero(parent < 0)
        sums = self.values(self.whole, left[rows], 0, self.length) + self.weights[rows]
        return [
            _Edge(row, score, (_Item(int(left[row]), 0, self.length, -1),))
            for row, score in zip(rows.tolist(), sums.tolist(), strict=True)
        ]

    def _chains(self, item: _Item) -> list[_Edge]:
        symbol, start, width, layer = item
        parent, left, _ = self.grammar.split
        rows = self.unary[parent[self.unary] == symbol]
        below = self.layers_of(start, width)[layer - 1][left[rows]]
        sums = below + self.weights[rows] + self._charge(symbol, start, width)
        return [
            _Edge(row, score, (_Item(int(left[row]), start, width, layer - 1),))
            for row, score in zip(rows.tolist(), sums.tolist(), strict=True)
        ]

    def _splits(self, item: _Item) -> list[_Edge]:
        symbol, start, width, _ = item
        order, begin = self.by_parent
        _, left, right = self.grammar.split
        rows = order[begin[symbol] : begin[symbol + 1]]
        splits = np.arange(1, width)
        if not len(rows) or not len(splits):
            return []
        sums = np.stack(
            [
                self.values(self.whole, left[rows], start, k)
                + self.values(self.whole, right[rows], start + k, width - k)
                for k in splits.tolist()
            ]
        )
        sums += self.weights[rows] + self._charge(symbol, start, width)
        best = np.argsort(-sums, axis=None, kind="stable")[: self.most]
        found = []
        for place in best.tolist():
            k, j = divmod(place, len(rows))
            b, c = int(left[rows[j]]), int(right[rows[j]])
            tails = (_Item(b, start, k + 1, -1), _Item(c, start + k + 1, width - k - 1, -1))
            found.append(_Edge(int(rows[j]), float(sums[k, j]), tails))
        return found

    def _charge(self, symbol: int, start: int, width: int) -> float:
        """The score of a bracket."""
        label = int(self.labels[symbol])
        return float(self.nodes[label, width - 1, start]) if label >= 0 else 0.0

    def kth(self, item: _Item, rank: int) -> _Derivation | None:
        """The derivation of an item of that rank, from 0; None if it has fewer."""
        found = self.found.get(item)
        if found is None:
            found = self.found[item] = []
            edges = self.edges[item] = self._edges(item)
            self.heaps[item], self.seen[item] = [], set()
            for place, edge in enumerate(edges):
                ranks = (0,) * len(edge.tails)
                self._offer(item, place, _Derivation(edge.score, edge, ranks))
        while len(found) <= rank:
            if not self.heaps[item]:
                return None
            _, place, best = heapq.heappop(self.heaps[item])
            found.append(best)
            for tail in range(len(best.ranks)):
                self._follow(item, place, best, tail)
        return found[rank]

    def _follow(self, item: _Item, place: int, best: _Derivation, tail: int) -> None:
        """Offer the derivation with the next one of a tail."""
        ranks = tuple(rank + (k == tail) for k, rank in enumerate(best.ranks))
        if (place, ranks) in self.seen[item]:
            return
        now = self.kth(best.edge.tails[tail], best.ranks[tail])
        then = self.kth(best.edge.tails[tail], ranks[tail])
        if now is not None and then is not None:
            score = best.score - now.score + then.score
            self._offer(item, place, _Derivation(score, best.edge, ranks))

    def _offer(self, item: _Item, place: int, derivation: _Derivation) -> None:
        if (place, derivation.ranks) not in self.seen[item]:
            self.seen[item].add((place, derivation.ranks))
            heapq.heappush(self.heaps[item], (-derivation.score, place, derivation))

    def rules(self, item: _Item, rank: int) -> list[int]:
        """The rules of a derivation in preorder."""
        found, stack = [], [(item, rank)]
        while stack:
            derivation = self.kth(*stack.pop())
            assert derivation is not None
            if derivation.edge.rule >= 0:
                found.append(derivation.edge.rule)
            stack += list(zip(derivation.edge.tails, derivation.ranks, strict=True))[::-1]
        return found

    def best(self, count: int) -> list[tuple[float, list[int]]]:
        """Values and rules of the best derivations of the sentence, best first."""
        root, found = _Item(-1, 0, self.length, -1), []
        for rank in range(count):
            derivation = self.kth(root, rank)
            if derivation is None:
                break
            found.append((derivation.score, self.rules(root, rank)))
        return found

    def pieces(self) -> list[tuple[float, int, int, int, list[int]]]:
        """The fewest pieces that cover the sentence, of these the best.

        Each with its value, symbol, first word, width, and rules. A piece is a bracket or a word.
        """
        n = self.length
        best: list[tuple[int, float, int, int]] = [(0, 0.0, -1, 0)]  # pieces, -value, symbol, width
        usable = np.flatnonzero((self.labels >= 0) | (np.arange(self.symbols) < self.grammar.tags))
        for end in range(1, n + 1):
            options = []
            for start in range(end):
                values = self.values(self.whole, usable, start, end - start)
                place = int(np.argmax(values))
                if values[place] > _LOST:
                    count, below, *_ = best[start]
                    symbol = int(usable[place])
                    options.append((count + 1, below - float(values[place]), symbol, end - start))
            best.append(min(options, key=lambda each: each[:2]))
        found, end = [], n
        while end > 0:
            _, _, symbol, width = best[end]
            item = _Item(symbol, end - width, width, -1)
            derivation = self.kth(item, 0)
            assert derivation is not None
            found.append((derivation.score, symbol, end - width, width, self.rules(item, 0)))
            end -= width
        return found[::-1]
