"""Sentences and trees that are given in memory."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lssvm.applications.base import Source
from lssvm.applications.given import MEMORY, costs_of
from lssvm.applications.parsing.examples import Treebank
from lssvm.applications.parsing.grammar import UNKNOWN
from lssvm.errors import LssvmError, counted
from lssvm.formats.penn_trees import TreeFile, trees_of_lines

_TAG = "X"  # the part of speech of words that are given without one
_WORD = re.compile(r"[^\s()]+")


class FromTrees:
    """Examples from sentences and trees, packed as the trees of a file are."""

    options: Any

    @abstractmethod
    def packed(
        self, files: Sequence[tuple[str, int, TreeFile]], sources: Sequence[Source]
    ) -> Treebank:
        """The examples of files that were read. Raises DataError."""

    def examples_from(self, X: Any, y: Any = None, *, costs: Any = None) -> Treebank:
        """The sentences that are given in memory, packed as the trees of files are.

        X : n sentences: lists of pairs (word, part of speech), or of words if parts of speech are
            predicted; None: all of them have trees
        y : n trees: texts with brackets, or trees of NLTK; None, in it or instead of it: not known
        costs : (n,) the costs c_i of the sentences, 1 by default

        Raises LssvmError for what cannot be used.

        >>> from lssvm import Config
        >>> application = Config.from_dict({"application": "parsing"}).create_application()
        >>> tree = "(S (NP (D the) (N dog)) (V barks))"
        >>> sentence = [("the", "D"), ("dog", "N"), ("barks", "V")]
        >>> examples = application.examples_from([sentence], [tree])
        >>> examples.offsets, examples.made, examples.word_texts
        (array([0, 3]), array([ True]), ('the', 'dog', 'barks'))
        """
        if X is None and y is None:
            raise LssvmError("X and y are None; expected sentences, trees or both")
        n = len(y if X is None else X)
        if y is not None and len(y) != n:
            raise LssvmError(
                f"y has {counted(len(y), 'tree')}, X has {counted(n, 'sentence')}; expected as many"
            )
        sentences, trees = [None] * n if X is None else X, [None] * n if y is None else y
        pairs = zip(range(1, n + 1), sentences, trees, strict=True)
        lines = [(number, _line(number, *pair)) for number, *pair in pairs]
        file = trees_of_lines(
            MEMORY.path,
            lines,
            strip_traces=self.options.strip_traces,
            strip_functions=self.options.strip_functions,
        )
        if len(file.lines) != n:
            raise LssvmError(
                f"y: {counted(len(file.lines), 'tree')} in {counted(n, 'text')}; expected one in "
                "each"
            )
        examples = replace(
            self.packed([(MEMORY.path, 0, file)], [MEMORY]), costs=costs_of(costs, n)
        )
        if X is not None and y is not None:
            _check_words(examples, X)
        return examples


def _line(number: int, sentence: Any, tree: Any) -> str:
    """A tree as one line of text, of unknown brackets if only its words are given."""
    if tree is not None:
        return " ".join(str(tree).split())
    leaves = [_leaf(number, token) for token in sentence or ()]
    if not leaves:
        raise LssvmError(f"X: sentence {number} has no words, and no tree; expected some")
    return f"({UNKNOWN} {' '.join(leaves)})"


def _leaf(number: int, token: Any) -> str:
    word, tag = (token, _TAG) if isinstance(token, str) else token
    for text in (word, tag):
        if not isinstance(text, str) or not _WORD.fullmatch(text):
            raise LssvmError(
                f"X: sentence {number} has the token {token!r:.40}; expected words without blanks "
                "and brackets (-LRB- and -RRB- stand for these)"
            )
    return f"({tag} {word})"


def _check_words(examples: Treebank, X: Sequence[Any]) -> None:
    """Raise LssvmError for a sentence that has other words than its tree."""
    words, ends = examples.words.tolist(), examples.offsets.tolist()
    for row, sentence in enumerate(X):
        if sentence is None:
            continue
        own = [examples.word_texts[code] for code in words[ends[row] : ends[row + 1]]]
        if own != [token if isinstance(token, str) else token[0] for token in sentence]:
            raise LssvmError(f"y: tree {row + 1} has other words than its sentence in X")
