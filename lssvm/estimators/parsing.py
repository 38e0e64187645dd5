"""Parsing of sentences with a learnt grammar."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from lssvm.estimators.base import Hidden
from lssvm.estimators.lists import Measured
from lssvm.estimators.watching import Callback


@dataclass(kw_only=True, eq=False, repr=False)
class TreeParser(Measured, Hidden):
    """Learns a weighted grammar from trees, and finds the best tree of a sentence.

    Parameters
    ----------
    loss : f1, brackets or zero_one
    binarisation : left or right, how rules with several children are made binary
    vertical, horizontal : ancestors and sisters that a symbol knows
    tags : given, or predicted: sentences are lists of words alone
    min_count : smallest number of training words with a feature
    span_features : features of brackets and their words
    unparsable : refuse, or skip: what is done with training trees that the grammar does not make
    max_words : longest sentence for training
    substates : hidden parts of each symbol; 1: nothing is hidden
    model : ssvm or crf; with hidden parts lssvm or hcrf; None: ssvm or lssvm
    rescaling, slack_norm : margin or slack; 1 or 2

    For the others see ``Hidden`` and ``Structured``.

    Examples
    --------
    >>> from lssvm.estimators import TreeParser
    >>> y = ["(S (N we) (VP (V eat) (NP (N fish) (PP (P with) (N bones)))))"] * 2
    >>> y += ["(S (N we) (VP (V eat) (NP (N fish)) (PP (P with) (N forks))))"]
    >>> parser = TreeParser(C=10).fit(None, y)
    >>> parser.predict([[("I", "N"), ("eat", "V"), ("eels", "N"), ("with", "P"), ("rice", "N")]])
    ['(TOP (S (N I) (VP (V eat) (NP (N eels) (PP (P with) (N rice))))))']
    """

    loss: str = "f1"
    binarisation: str = "right"
    vertical: int = 1
    horizontal: int | None = 1
    tags: str = "given"
    min_count: int = 2
    span_features: Sequence[str] = ()
    unparsable: str = "refuse"
    max_words: int | None = None
    substates: int = 1
    model: str | None = None  # type: ignore[assignment]
    rescaling: str = "margin"
    slack_norm: int = 1

    _kinds = ("string",)
    _own = (
        *("loss", "binarisation", "vertical", "horizontal", "tags", "min_count"),
        *("span_features", "unparsable", "max_words"),
    )

    @property
    def _application(self) -> str:  # type: ignore[override]
        return "parsing" if self.substates == 1 else "latent_parsing"

    def _options(self) -> dict[str, Any]:
        options = super()._options()
        return options if self.substates == 1 else {**options, "substates": self.substates}

    def _sections(self) -> dict[str, dict[str, Any]]:
        sections = super()._sections()
        model = self.model or ("ssvm" if self.substates == 1 else "lssvm")
        sections["objective"] = {
            "model": model,
            "rescaling": self.rescaling,
            "slack_norm": self.slack_norm,
        }
        return sections

    def fit(
        self,
        X: Sequence[Any] | None,
        y: Sequence[Any],
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn a grammar and its weights.

        X : n sentences: lists of pairs (word, part of speech), or of words if parts of speech are
            predicted; None: those of the trees
        y : n trees: texts with brackets, or trees of NLTK
        sample_weight : (n,) the costs of the sentences, 1 by default
        callback : is given a ``Pass`` before each pass over the examples; something true that it
            returns ends training with the best weights so far

        Raises ValueError for what cannot be used.
        """
        self._train(callback, X, y, costs=sample_weight)
        return self

    def predict(self, X: Sequence[Any]) -> list[str]:
        """The best tree of each sentence, as text with brackets."""
        return [own[0] for own in self.trees(X)]

    def trees(self, X: Sequence[Any], top: int = 1) -> list[list[str]]:
        """The ``top`` best trees of each sentence, best first."""
        examples = self._examples(X)
        texts = self._fitted.texts(examples, self._classified(examples, top))
        return [texts.trees(row) for row in range(len(examples))]

    def score(self, X: Sequence[Any] | None, y: Sequence[Any]) -> float:
        """F1 of labelled brackets, from 0 to 1, as evalb counts them."""
        return float(self.metrics(X, y)["f1"] or 0.0) / 100.0
