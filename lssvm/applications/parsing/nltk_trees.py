"""Trees of NLTK from predictions, and examples from trees of NLTK."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lssvm.applications.parsing.predicted_trees import Predictions
from lssvm.errors import MissingExtraError

if TYPE_CHECKING:
    from lssvm.applications.parsing.examples import Treebank
    from lssvm.applications.parsing.parsing import GrammarParsing


def to_nltk(
    application: "GrammarParsing", examples: "Treebank", predictions: Predictions
) -> list[list[Any]]:
    """The predicted trees of each sentence as ``nltk.Tree``, the best one first.

    Raises MissingExtraError without NLTK.
    """
    try:
        from nltk import Tree
    except ImportError:
        raise MissingExtraError("trees of NLTK", "nltk", "parse") from None
    texts = application.texts(examples, predictions)
    return [[Tree.fromstring(text) for text in texts.trees(row)] for row in range(len(examples))]


def from_nltk(application: "GrammarParsing", trees: Iterable[Any]) -> "Treebank":
    """Examples from ``nltk.Tree`` objects, as if they were read from a file.

    Raises DataError with the number of the tree as the line.
    """
    return application.examples_from(None, list(trees))
