"""Simulated trees for a first parser: the files in data/parsing.

    lssvm simulate parsing --out data/parsing

Trees are drawn from a probabilistic context-free grammar whose prepositional phrases belong to the
noun or to the verb before them, and whose subordinate clauses may end anywhere behind; words are
drawn by their part of speech. Trees with more words than are allowed are drawn again.

The parser with the smallest expected share of wrong trees takes the likeliest tree of each sentence
under the true grammar. It is found by dynamic programming over all trees.
"""

import functools
from pathlib import Path
from typing import Any

import numpy as np

from lssvm.errors import LssvmError
from lssvm.output.whole import replacing
from lssvm.simulation.base import Option, Simulation, begin

Tree = tuple[str, tuple[Any, ...]]  # label and children; of a part of speech the word
GRAMMAR: dict[str, tuple[tuple[float, tuple[str, ...]], ...]] = {
    "S": ((0.85, ("NP", "VP", ".")), (0.15, ("ADVP", "NP", "VP", "."))),
    "SBAR": ((1.0, ("IN", "CL")),),
    "CL": ((1.0, ("NP", "VP")),),
    "NP": (
        (0.4, ("DT", "NN")),
        (0.15, ("DT", "JJ", "NN")),
        (0.15, ("PRP",)),
        (0.1, ("NNP",)),
        (0.2, ("NP", "PP")),
    ),
    "VP": (
        (0.4, ("VBD", "NP")),
        (0.2, ("VBD", "NP", "PP")),
        (0.15, ("VBD",)),
        (0.1, ("VBD", "ADVP")),
        (0.15, ("VBD", "SBAR")),
    ),
    "PP": ((1.0, ("IN", "NP")),),
    "ADVP": ((0.8, ("RB",)), (0.2, ("RB", "RB"))),
}
WORDS = {
    "DT": ("the", "a", "every", "no"),
    "NN": ("dog", "park", "telescope", "child", "letter", "house", "river", "friend"),
    "JJ": ("old", "small", "green", "famous"),
    "PRP": ("she", "he", "they"),
    "NNP": ("Ann", "Rome", "Bob"),
    "VBD": ("saw", "met", "knew", "heard", "left"),
    "IN": ("with", "in", "near", "after", "because"),
    "RB": ("often", "quickly", "never", "yesterday"),
    ".": (".",),
}


def write_trees(
    folder: Path, *, seed: int = 0, n: int = 200, n_test: int = 100, words: int = 15
) -> str:
    """Write train.ptb and test.ptb; returns the error of the best possible parser.

    n, n_test : trees; words : most words of a sentence
    Raises LssvmError if one of them is too small or too large, or if files cannot be written.
    """
    if not 3 <= words <= 40:
        raise LssvmError(f"words must be at least 3 and at most 40, got {words}")
    begin(folder, n=n, n_test=n_test)
    rng = np.random.default_rng(seed)
    _write(folder / "train.ptb", [drawn(rng, words) for _ in range(n)])
    trees = [drawn(rng, words) for _ in range(n_test)]
    _write(folder / "test.ptb", trees)
    wrong = [likeliest(tags_of(tree)) != bare(tree) for tree in trees]
    return (
        "test.ptb with the best possible parser, the likeliest tree under the true grammar:\n"
        f"error {100 * np.mean(wrong):.6g}"
    )


def drawn(rng: np.random.Generator, words: int) -> Tree:
    """A tree with at most so many words."""
    while True:
        tree = _grown(rng, "S", words)
        if tree is not None and len(tags_of(tree)) <= words:
            return tree


def _grown(rng: np.random.Generator, symbol: str, depth: int) -> Tree | None:
    """A tree of a symbol; None if it is deeper than allowed."""
    if symbol in WORDS:
        return symbol, (str(rng.choice(WORDS[symbol])),)
    if depth == 0:
        return None
    rules = GRAMMAR[symbol]
    chosen = rules[int(rng.choice(len(rules), p=[share for share, _ in rules]))][1]
    children = []
    for child in chosen:
        found = _grown(rng, child, depth - 1)
        if found is None:
            return None
        children.append(found)
    return symbol, tuple(children)


def tags_of(tree: Tree) -> tuple[str, ...]:
    """The parts of speech of the words of a tree."""
    label, children = tree
    if isinstance(children[0], str):
        return (label,)
    return tuple(tag for child in children for tag in tags_of(child))


def bare(tree: Tree) -> Tree:
    """The tree without its words."""
    label, children = tree
    return label, () if isinstance(children[0], str) else tuple(map(bare, children))


def likeliest(tags: tuple[str, ...]) -> Tree | None:
    """The likeliest tree of these parts of speech, without words; the first of equal ones."""

    @functools.cache
    def best(symbol: str, start: int, end: int) -> tuple[float, Tree | None]:
        if symbol in WORDS:
            fits = end == start + 1 and tags[start] == symbol
            return (1.0, (symbol, ())) if fits else (0.0, None)
        found: tuple[float, Tree | None] = (0.0, None)
        for share, children in GRAMMAR[symbol]:
            chance, trees = several(children, start, end)
            if share * chance > found[0]:
                found = (share * chance, (symbol, trees))
        return found

    @functools.cache
    def several(symbols: tuple[str, ...], start: int, end: int) -> tuple[float, tuple[Any, ...]]:
        if len(symbols) == 1:
            chance, tree = best(symbols[0], start, end)
            return chance, (tree,)
        found: tuple[float, tuple[Any, ...]] = (0.0, ())
        for middle in range(start + 1, end - len(symbols) + 2):
            chance, tree = best(symbols[0], start, middle)
            if chance > 0.0:
                rest, trees = several(symbols[1:], middle, end)
                if chance * rest > found[0]:
                    found = (chance * rest, (tree, *trees))
        return found

    return best("S", 0, len(tags))[1]


def _text(tree: Tree) -> str:
    label, children = tree
    inner = children if isinstance(children[0], str) else map(_text, children)
    return f"({label} {' '.join(inner)})"


def _write(path: Path, trees: list[Tree]) -> None:
    with replacing(path) as file:
        file.writelines(f"(ROOT {_text(tree)})\n" for tree in trees)


PARSING = """\
# Parsing simulated sentences, parts of speech being given.
# lssvm-learn parsing.yaml parsing.model
application:
  name: parsing
  loss: f1
  horizontal: 1
data: {train: train.ptb, validate: test.ptb, test: test.ptb}
objective: {model: ssvm, C: 1.0, slack_norm: 2}
seed: 0
"""
LATENT = """\
# The same with hidden parts of every symbol.
# lssvm-learn latent_parsing.yaml latent.model
application:
  name: latent_parsing
  substates: 2
  horizontal: 1
data: {train: train.ptb, validate: test.ptb, test: test.ptb}
objective: {model: hcrf, C: 1.0}
solver: {method: lbfgs}
seed: 0
"""
SIMULATION = Simulation(
    text="Sentences with trees of an ambiguous grammar.",
    options=(
        Option("n", 200, "Training trees."),
        Option("n_test", 100, "Test trees."),
        Option("words", 15, "Most words of a sentence."),
    ),
    data=("train.ptb", "test.ptb"),
    configurations={"parsing.yaml": PARSING, "latent_parsing.yaml": LATENT},
    write=write_trees,
)
