"""CKY: rule applications and sentences per second.

A random grammar of 5,000 rules over 100 symbols, and the grammar that is read off the simulated
trees in data/parsing, or off GUM's training trees if they are in the folder LSSVM_DATA. A rule
application is a rule with two children at one split of one span, counted as if each rule were tried
at every split; the chart adds and compares the children once for all rules of a pair, side by side
for all spans of one width, and skips what no span of that width can be. For scale, the same
addition and maximum of rows in the nearest cache by NumPy, one operation after the other. Beside it
NLTK's Viterbi parser finds the most probable tree of one sentence with the relative frequencies of
the same grammar, which must have the same probability. CPU time of one thread.

Usage: python -m experiments.benchmarks.parsing_pass
"""

import os
import time
from pathlib import Path

import numpy as np
from nltk.grammar import PCFG, Nonterminal, ProbabilisticProduction
from nltk.parse import ViterbiParser

from experiments.tsochantaridis_2004.parsing import frequencies, read_split
from lssvm.applications.base import Source
from lssvm.applications.parsing.parsing import Parsing, ParsingOptions
from lssvm.kernels import _parsing
from lssvm.kernels.parsing_arrays import GrammarArrays, SentenceArrays

ROOT = Path(__file__).parent.parent.parent
LENGTHS = (10, 20, 40)
NLTK_LENGTHS = (10, 20)
SYMBOLS, RULES, TAGS = 100, 5000, 40


def cpu_of(function, repeats=5):
    """Shortest CPU time of a call, in seconds."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)


def random_grammar(rng):
    """5,000 different rules over 100 symbols, of which 40 are parts of speech."""
    rules = set()
    while len(rules) < RULES:
        a, b, c = (int(k) for k in rng.integers(0, SYMBOLS, 3))
        if a >= TAGS:
            rules.add((a, b, c))
    columns = np.array([*sorted(rules), (-1, TAGS, -1)], dtype=np.int32)
    parts, label = np.ones(SYMBOLS, dtype=np.int32), np.full(SYMBOLS, -1, dtype=np.int32)
    label[TAGS:] = 0
    own = [np.ascontiguousarray(columns[:, k]) for k in range(3)]
    return GrammarArrays(parts, label, *own, TAGS, 1, 0)


def sentences(rng, length, count, tags):
    """Random parts of speech."""
    none, zero = np.empty((0, 4), dtype=np.int32), np.zeros(count + 1, dtype=np.int64)
    empty = np.empty(0, dtype=np.int32)
    return SentenceArrays(
        np.arange(count + 1, dtype=np.int64) * length,
        rng.integers(0, tags, count * length).astype(np.int32),
        *(zero, none, zero, empty, empty, np.zeros(1, dtype=np.int32)),
        np.empty((0, count * length), dtype=np.int32),
        np.zeros(65, dtype=np.int32),
    )


def numpy_rate():
    """Additions with maxima per second over 4,096 numbers."""
    rng = np.random.default_rng(0)
    a, b, best = (rng.normal(size=4096) for _ in range(3))
    scratch = np.empty(4096)

    def run():
        for _ in range(1000):
            np.add(a, b, out=scratch)
            np.maximum(best, scratch, out=best)

    return 1000 * len(a) / cpu_of(run)


def told(name, grammar, block, length, count, w):
    """The line of one grammar and length."""
    spans, none = np.zeros((0, grammar.labels)), np.zeros((0, grammar.tags))

    def run():
        _parsing.search(grammar, block, w, spans, none, _parsing.PREDICT, (0, 0, 0, 0))

    seconds = cpu_of(run) / count
    splits = sum((width - 1) * (length - width + 1) for width in range(2, length + 1))
    rules = int(np.sum(grammar.right >= 0))
    rate = rules * splits / seconds
    print(
        f"{name}, {length} words: {1e3 * seconds:.2f} ms, {1 / seconds:,.0f} sentences/s, "
        f"{rate / 1e9:.2f} billion rule applications/s"
    )


def nltk_grammar(grammar, w):
    """NLTK's grammar with the probabilities exp(w), in which parts of speech are words."""
    names = [Nonterminal(f"S{k}") for k in range(len(grammar.parts))]
    root = Nonterminal("ROOT")
    rules = [
        ProbabilisticProduction(names[k], [f"t{k}"], prob=1.0) for k in range(int(grammar.tags))
    ]
    columns = (grammar.parent, grammar.left, grammar.right)
    for (parent, *children), value in zip(zip(*columns, strict=True), w, strict=True):
        right = [names[child] for child in children if child >= 0]
        left = root if parent < 0 else names[parent]
        rules.append(ProbabilisticProduction(left, right, prob=float(np.exp(value))))
    return PCFG(root, rules)


def told_nltk(grammar, w, block, length):
    """The line of NLTK for one sentence."""
    parser = ViterbiParser(nltk_grammar(grammar, w), max_time=None)
    spans, none = np.zeros((0, grammar.labels)), np.zeros((0, grammar.tags))
    best, *_ = _parsing.search(grammar, block, w, spans, none, _parsing.PREDICT, (0, 0, 0, 0))
    began = time.process_time()
    tree = next(iter(parser.parse([f"t{tag}" for tag in block.tags])))
    seconds = time.process_time() - began
    print(
        f"NLTK, ViterbiParser, {length} words: {seconds:.1f} s; log probability of its tree "
        f"{np.log(tree.prob()):.6f}, of ours {best[0]:.6f}"
    )


def main():
    """Print the time of sentences of each length with both grammars."""
    rng = np.random.default_rng(0)
    print(f"additions with maxima by NumPy: {numpy_rate() / 1e9:.2f} billion/s")
    grammar = random_grammar(rng)
    w = rng.normal(size=len(grammar.whole))
    for length in LENGTHS:
        block = sentences(rng, length, 5, TAGS)
        told(f"{RULES:,d} rules, {SYMBOLS} symbols", grammar, block, length, 5, w)
    data = Path(os.environ.get("LSSVM_DATA", ROOT.parent / "shared" / "data")) / "gum"
    sources = [Source(str(ROOT / "data" / "parsing" / "train.ptb"))]
    if data.is_dir():
        sources = read_split(data, "train")
    application = Parsing(ParsingOptions())
    examples = application.read(sources)
    features = application.features
    counts = application.completed(np.zeros(application.dimension(examples)), examples).gradient
    for length in LENGTHS:
        rows = np.flatnonzero(examples.lengths == length)[:20]
        if len(rows):
            block = examples.take(rows).arrays
            name = f"grammar of {len(examples):,d} trees, {len(features.grammar.parent):,d} rules"
            told(name, features.grammar, block, length, len(rows), np.log(counts))
    w = frequencies(application, examples)
    for length in NLTK_LENGTHS:
        rows = np.flatnonzero(examples.lengths == length)[:1]
        if len(rows):
            told_nltk(features.grammar, w, examples.take(rows).arrays, length)


if __name__ == "__main__":
    main()
