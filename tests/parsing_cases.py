"""All derivations of tiny sentences, straight from the definitions, and random grammars."""

import functools
import itertools
from collections import Counter

import numpy as np

from lssvm.kernels.parsing_arrays import GrammarArrays, SentenceArrays

BUCKETS = np.minimum(np.arange(65), 4).astype(np.int32)


def random_grammar(rng, parts=1):
    """A grammar of two or three parts of speech and up to four other symbols."""
    tags, others = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    symbols = tags + others
    inner = np.arange(tags, symbols)
    rules = set()
    for _ in range(int(rng.integers(3, 11))):
        a = int(rng.choice(inner))
        rules.add((a, int(rng.integers(symbols)), int(rng.integers(symbols))))
    for _ in range(int(rng.integers(0, 5))):
        rules.add((int(rng.choice(inner)), int(rng.integers(symbols)), -1))
    for _ in range(int(rng.integers(1, 4))):
        rules.add((-1, int(rng.integers(symbols)), -1))
    columns = np.array(sorted(rules), dtype=np.int32)
    rng.shuffle(columns)
    labels = int(rng.integers(1, 3))
    label = np.full(symbols, -1, dtype=np.int32)
    label[tags:] = rng.integers(-1, labels, others)
    unary = (columns[:, 2] < 0) & (columns[:, 0] >= 0)
    label[np.unique(columns[unary, 0])] = rng.integers(0, labels)
    split = np.ones(symbols, dtype=np.int32)
    split[tags:] = parts
    column = [np.ascontiguousarray(columns[:, k]) for k in range(3)]
    return GrammarArrays(split, label, *column, tags, labels, int(rng.integers(0, 3)))


def all_derivations(grammar, tags, most=100):
    """Every derivation of a sentence as a tuple of rules of parts in preorder; None if too many.

    tags : part of speech of each word, -1 for any
    """
    parent, left, right = (each.tolist() for each in grammar.split)
    number = len(parent)

    @functools.cache
    def layer(symbol, i, j, u):
        if symbol < grammar.tags:
            fits = j == i + 1 and u == 0 and tags[i] in (-1, symbol)
            return [()] if fits else []
        found = []
        for r in range(number):
            if parent[r] != symbol or (right[r] < 0) != (u > 0):
                continue
            if u > 0:
                found += [(r, *below) for below in layer(left[r], i, j, u - 1)]
                continue
            for k in range(i + 1, j):
                pairs = itertools.product(whole(left[r], i, k), whole(right[r], k, j))
                found += [(r, *a, *b) for a, b in pairs]
        if len(found) > most:
            raise OverflowError
        return found

    def whole(symbol, i, j):
        return [d for u in range(grammar.chain + 1) for d in layer(symbol, i, j, u)]

    try:
        return [
            (r, *below)
            for r in range(number)
            if parent[r] < 0
            for below in whole(left[r], 0, len(tags))
        ]
    except OverflowError:
        return None


def nodes_of(grammar, derivation):
    """Rule, start and end of every rule in preorder, and the part of speech of every word."""
    _, left, right = (each.tolist() for each in grammar.split)
    rules = iter(derivation)
    found, tags = [], []

    def child(symbol, start):
        if symbol < grammar.tags:
            tags.append(symbol)
            return start + 1
        return node(next(rules), start)

    def node(r, start):
        place = len(found)
        found.append(None)
        end = child(left[r], start)
        if right[r] >= 0:
            end = child(right[r], end)
        found[place] = (r, start, end)
        return end

    node(next(rules), 0)
    return found, tags


def brackets_of(grammar, derivation):
    """Label, start and end of every bracket, with how often it is there."""
    parent = grammar.split[0]
    base = np.repeat(np.arange(len(grammar.parts)), grammar.parts)
    found = Counter()
    for r, start, end in nodes_of(grammar, derivation)[0]:
        if parent[r] >= 0 and grammar.label[base[parent[r]]] >= 0:
            found[int(grammar.label[base[parent[r]]]), start, end] += 1
    return found


def as_read(grammar, derivation):
    """The derivation in rules as read."""
    return tuple(grammar.whole[list(derivation)].tolist())


def sentences_of(grammar, tags, truths, codes=None, kinds=(), rows=(0,)):
    """SentenceArrays of sentences with these parts of speech and true derivations as read."""
    golds, rules = [], []
    unsplit = GrammarArrays(
        *(np.ones_like(grammar.parts), grammar.label, grammar.parent, grammar.left),
        *(grammar.right, grammar.tags, grammar.labels, grammar.chain),
    )
    for truth in truths:
        found = brackets_of(unsplit, truth) if truth else {}
        own = [(start, end - start, label, n) for (label, start, end), n in found.items()]
        golds.append(sorted(own, key=lambda each: (each[1], each[0], each[2])))
        rules.append(list(truth))

    def offsets(parts):
        return np.cumsum([0, *map(len, parts)]).astype(np.int64)

    words = sum(map(len, tags))
    return SentenceArrays(
        offsets(tags),
        np.array([each for own in tags for each in own], dtype=np.int32),
        offsets(golds),
        np.array([each for own in golds for each in own], dtype=np.int32).reshape(-1, 4),
        offsets(rules),
        np.array([each for own in rules for each in own], dtype=np.int32),
        np.array(kinds, dtype=np.int32),
        np.array(rows, dtype=np.int32),
        np.zeros((0, words), dtype=np.int32) if codes is None else codes,
        BUCKETS,
    )


class Case:
    """A random grammar, a sentence with all its derivations, a true one, weights in eighths."""

    def __init__(self, seed, parts=1, spans=False, free=False, zero=False):
        rng = np.random.default_rng(seed)
        while True:
            self.grammar = grammar = random_grammar(rng, parts)
            n = int(rng.integers(1, 6))
            self.tags = rng.integers(0, grammar.tags, n).tolist()
            if free:
                self.tags = [-1] * n
            self.all = all_derivations(grammar, self.tags)
            if self.all and len(self.all) <= 300 and (len(self.all) > 3 or rng.random() < 0.02):
                break
        self.truth = as_read(grammar, self.all[int(rng.integers(len(self.all)))])
        size = len(grammar.whole)
        self.w = rng.integers(-8, 9, size) / 8 * (not zero)
        kinds, rows, codes = (), (0,), None
        if spans:
            kinds, rows = (0, 1, 2, 3, 4), (0, 6, 10, 14, 18, 22)
            codes = rng.integers(-1, 3, (5, n)).astype(np.int32)
        self.codes, self.kinds, self.rows = codes, kinds, rows
        shape = (rows[-1], grammar.labels)
        self.spans = rng.integers(-8, 9, shape) / 8 * (not zero)
        self.emissions = np.zeros((0, grammar.tags))
        if free:
            self.emissions = rng.integers(-8, 9, (n, grammar.tags)) / 8 * (not zero)
        self.sentences = sentences_of(
            grammar, [self.tags], [self.truth], codes=codes, kinds=kinds, rows=rows
        )
        self.gold = sum(self.sentences.gold[:, 3].tolist())

    def rows_of(self, start, end):
        """The rows of the weights of spans."""
        n, found = len(self.tags), []
        for t, kind in enumerate(self.kinds):
            if kind == 0:
                found.append(self.rows[t] + BUCKETS[end - start])
                continue
            place = {1: start, 2: end - 1, 3: start - 1, 4: end}[kind]
            outside = self.rows[t + 1] - self.rows[t] - 1
            code = int(self.codes[t, place]) if 0 <= place < n else outside
            found += [self.rows[t] + code] if code >= 0 else []
        return found

    @functools.cache  # noqa: B019 (cases live as long as the tests)
    def score(self, derivation):
        """w · Φ."""
        nodes, tags = nodes_of(self.grammar, derivation)
        total = sum(self.w[r] for r, _, _ in nodes)
        if len(self.emissions):
            total += sum(self.emissions[i, tag] for i, tag in enumerate(tags))
        for (label, start, end), count in brackets_of(self.grammar, derivation).items():
            total += count * sum(self.spans[row, label] for row in self.rows_of(start, end))
        return total

    @functools.cache  # noqa: B019
    def counts(self, derivation):
        """Brackets, and those that are true."""
        own = brackets_of(self.grammar, derivation)
        true = {
            (int(label), int(start), int(start + width)): int(count)
            for start, width, label, count in self.sentences.gold
        }
        return sum(own.values()), sum(min(n, true.get(key, 0)) for key, n in own.items())

    def loss(self, derivation, kind):
        """Δ: zero_one, brackets or f1."""
        if kind == "zero_one":
            return float(as_read(self.grammar, derivation) != self.truth)
        brackets, matched = self.counts(derivation)
        if kind == "brackets":
            return float(brackets - matched)
        total = brackets + self.gold
        return 1.0 - 2.0 * matched / total if total else 0.0


class Ambiguous:
    """A sentence with very many derivations: every word or symbol is a child of every symbol.

    golds : label, start and end of the true brackets
    """

    def __init__(self, seed, words):
        rng = np.random.default_rng(seed)
        self.pairs = list(itertools.product(range(3), repeat=2))  # 0 is a part of speech
        rules = [(a, b, c) for a in (1, 2) for b, c in self.pairs] + [(-1, 1, -1)]
        columns = np.array(rules, dtype=np.int32)
        label = np.array([-1, 0, 1], dtype=np.int32)
        column = [np.ascontiguousarray(columns[:, k]) for k in range(3)]
        self.grammar = GrammarArrays(np.ones(3, dtype=np.int32), label, *column, 1, 2, 0)
        self.words, self.rules = words, rules
        truth = (len(rules) - 1, *self.drawn(rng, 1, words))
        self.golds = set(brackets_of(self.grammar, truth))
        self.w = rng.integers(-1, 2, len(rules)) / 8
        self.sentences = sentences_of(self.grammar, [[0] * words], [truth])
        self.spans, self.emissions = np.zeros((0, 2)), np.zeros((0, 1))
        self.score = sum(self.w[list(truth)])

    def drawn(self, rng, symbol, words):
        """A derivation of a symbol at random."""
        k = int(rng.integers(1, words))
        children = [int(rng.integers(1, 3)) if size > 1 else 0 for size in (k, words - k)]
        below = [
            self.drawn(rng, child, size)
            for child, size in zip(children, (k, words - k), strict=True)
            if child
        ]
        return (self.rules.index((symbol, *children)), *itertools.chain(*below))

    def best_scores(self):
        """The highest w · Φ of the derivations with each number of true brackets.

        All derivations have one bracket less than there are words.
        """
        found = {(0, i, i + 1): np.zeros(1) for i in range(self.words)}
        for width in range(2, self.words + 1):
            for i in range(self.words - width + 1):
                own = np.full((3, width), -np.inf)
                for (b, c), k in itertools.product(self.pairs, range(i + 1, i + width)):
                    left, right = found.get((b, i, k)), found.get((c, k, i + width))
                    if left is None or right is None:
                        continue
                    both = np.full(len(left) + len(right) - 1, -np.inf)
                    for m, score in enumerate(left):
                        at = both[m : m + len(right)]
                        np.maximum(at, score + right, out=at)
                    for a in (1, 2):
                        at = own[a, : len(both)]
                        np.maximum(at, both + self.w[self.rules.index((a, b, c))], out=at)
                for a in (1, 2):
                    true = (a - 1, i, i + width) in self.golds
                    found[a, i, i + width] = np.roll(own[a], 1) if true else own[a]
        return found[1, 0, self.words] + self.w[-1]
