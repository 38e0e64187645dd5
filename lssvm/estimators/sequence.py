"""Label sequences, in the place of ``sklearn_crfsuite.CRF``, and with hidden states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from lssvm.applications.given import word
from lssvm.estimators.base import Hidden, Structured, refused_as_value_error
from lssvm.estimators.lists import Lists
from lssvm.estimators.watching import Callback

CRF = "crf"
_SUMMED = ("crf", "hcrf", "loss_augmented_likelihood")  # models with probabilities


def _has_marginals(estimator: Any) -> bool:
    return estimator.model in _SUMMED


@dataclass(kw_only=True, eq=False, repr=False)
class _Sequences(Lists, Structured):
    """What both estimators of label sequences share.

    Parameters
    ----------
    columns : names of the words of a token where it is a list of words; None: a token that is a
        list of words has them as attributes
    templates : attributes of a token that is a word or has columns, such as ``word[-1] & word``;
        None: those of the application
    min_count : smallest number of training tokens with an attribute
    class_weight : cost of a wrong label by true label; 1 for labels that are not named
    order : 1 or 2, order of the Markov chain of labels
    ends : weights for the first and the last label
    bias : value of an appended constant feature; 0: none
    scaling : of numeric features: none, max_abs, standard or range
    """

    columns: Sequence[str] | None = None
    templates: Sequence[str] | None = None
    min_count: int = 1
    class_weight: Mapping[Any, float] | None = None
    order: int = 1
    ends: bool = False
    bias: float = 0.0
    scaling: str = "none"

    _kinds = ("string", "dict")
    _texts: ClassVar[bool]  # of an instance, once fit has seen X: whether tokens are words

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "format": "conll" if self._texts else "svm_hmm",
            "min_count": self.min_count,
            "order": self.order,
            "ends": self.ends,
            "bias": self.bias,
            "scaling": self.scaling,
        }
        if self.columns is not None:
            options["columns"] = [*self.columns, "label"]
        if self.templates is not None:
            options["templates"] = self.templates
        if self.class_weight is not None:
            costs = self.class_weight.items()
            options["class_costs"] = {word(label): cost for label, cost in costs}
        return options

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Sequence[Any]],
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Train on sequences.

        X : n sequences of tokens. A token is a word; a list of words (see ``columns``); a
            dictionary of attributes as CRFsuite has them; or a row of numbers, a sequence then
            being an array (tokens, features)
        y : n sequences of labels, one for each token
        sample_weight : (n,) the costs of the sequences, 1 by default
        callback : is given a ``Pass`` before each pass over the examples; something true that it
            returns ends training with the best weights so far

        Raises ValueError for what cannot be used.
        """
        try:
            first = X[0][0]
        except (IndexError, KeyError, TypeError):
            raise ValueError("X has no tokens; expected sequences of tokens") from None
        self._texts = isinstance(first, str) or (  # type: ignore[misc]
            self.columns is not None and isinstance(first, list | tuple)
        )
        self._train(callback, X, y, costs=sample_weight)
        value = {word(label): label for labels in y for label in labels}
        self.classes_: list[Any] = [value[name] for name in self._vocabulary.labels]
        if isinstance(X[0], np.ndarray):
            self.n_features_in_ = int(X[0].shape[1])
        return self

    def predict(self, X: Sequence[Any]) -> list[list[Any]]:
        """The best labels of the tokens of each sequence."""
        examples = self._examples(X)
        labels = self._classified(examples).labels[:, 0].tolist()
        names = [self.classes_[label] for label in labels]
        ends = examples.offsets.tolist()
        return [names[start:end] for start, end in pairwise(ends)]

    def predict_single(self, x: Any) -> list[Any]:
        """The best labels of the tokens of one sequence."""
        return self.predict([x])[0]

    @available_if(_has_marginals)
    def predict_marginals(self, X: Sequence[Any]) -> list[list[dict[Any, float]]]:
        """For each token of each sequence its labels and their probabilities.

        Only for models that sum over labels, such as ``model="crf"``.
        """
        examples = self._examples(X)
        w, shown = self._weighed(examples)
        with refused_as_value_error():
            shares = self._fitted.marginals(w, shown).tolist()
        tokens = [dict(zip(self.classes_, row, strict=True)) for row in shares]
        ends = examples.offsets.tolist()
        return [tokens[start:end] for start, end in pairwise(ends)]

    @available_if(_has_marginals)
    def predict_marginals_single(self, x: Any) -> list[dict[Any, float]]:
        """The same for one sequence."""
        return self.predict_marginals([x])[0]

    def score(self, X: Sequence[Any], y: Sequence[Sequence[Any]]) -> float:
        """The share of tokens whose label is right."""
        examples = self._examples(X, y)
        found = self._fitted.score(examples, self._classified(examples))
        return float(found["accuracy"]) / 100.0

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """The weights of transitions, by (label, next label)."""
        names, (_, weights) = self._states, self._parts
        return {
            (names[row], names[column]): float(weights[row, column])
            for row, column in np.ndindex(*weights.shape)
        }

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """The weights of attributes that are not 0, by (attribute, label)."""
        names, (weights, _) = self._states, self._parts
        rows, columns = np.nonzero(weights)
        return {
            (self._vocabulary.feature(row), names[column]): float(weights[row, column])
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        }

    @property
    def attributes_(self) -> list[str]:
        """The names of the attributes of tokens."""
        vocabulary = self._vocabulary
        return [vocabulary.feature(place) for place in range(vocabulary.width)]

    @property
    def _vocabulary(self) -> Any:
        return self._fitted.vocabulary

    @property
    def _states(self) -> list[Any]:
        """What emissions and transitions belong to: the labels."""
        return self.classes_

    @property
    def _parts(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights of attributes (m, states) and of transitions (states, states)."""
        count, width, w = len(self._states), self._vocabulary.width, self._linear
        emissions = width * count
        return (
            w[:emissions].reshape(width, count),
            w[emissions : emissions + count**2].reshape(count, count),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class SequenceLabeler(_Sequences):
    """The hidden Markov SVM, or a conditional random field, for sequences of tokens.

    Parameters
    ----------
    model : ssvm, or crf for a conditional random field. There C is the inverse of the weight of
        ½‖w‖²: CRFsuite's c2 is 1 / (2 C)
    loss : hamming, the number of wrong labels; zero_one: 1 if any label is wrong
    rescaling : margin or slack

    For the others see ``_Sequences`` and ``Structured``.

    Attributes
    ----------
    classes_ : the labels, in the order in which they first occur
    transition_features_, state_features_ : weights by (label, label) and (attribute, label)

    Examples
    --------
    >>> from lssvm.estimators import SequenceLabeler
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"]]
    >>> labeler = SequenceLabeler(model="crf", C=10).fit(X, y)
    >>> labeler.predict([["a", "dog", "sleeps"]])
    [['D', 'N', 'V']]
    >>> labeler.predict_marginals([["a", "dog"]])[0][1]["N"] > 0.5
    True
    """

    model: str = "ssvm"
    loss: str = "hamming"
    rescaling: str = "margin"

    _application: ClassVar[str] = "sequence"

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "loss": self.loss}

    def _sections(self) -> dict[str, dict[str, Any]]:
        return {"objective": {"model": self.model, "rescaling": self.rescaling}}


@dataclass(kw_only=True, eq=False, repr=False)
class LatentSequenceLabeler(Hidden, _Sequences):
    """Label sequences whose labels have hidden states; a label may be None, and is then hidden.

    Parameters
    ----------
    model : lssvm, hcrf, or loss_augmented_likelihood
    substates : hidden states of each label
    initialisation_scale : standard deviation of the initial weights

    For the others see ``_Sequences``, ``Hidden`` and ``Structured``.

    Examples
    --------
    >>> from lssvm.estimators import LatentSequenceLabeler
    >>> X, y = [["the", "dog"], ["dogs", "bark"]], [["D", "N"], ["N", "V"]]
    >>> LatentSequenceLabeler(C=10).fit(X, y).predict(X)
    [['D', 'N'], ['N', 'V']]
    """

    substates: int = 2
    initialisation_scale: float = 0.1

    _application: ClassVar[str] = "latent_sequence"

    def _options(self) -> dict[str, Any]:
        options = super()._options()
        options["substates"] = self.substates
        options["initialisation_scale"] = self.initialisation_scale
        return options

    @property
    def _states(self) -> list[Any]:
        """The hidden states, called label/1, label/2 …"""
        numbers = range(1, self.substates + 1)
        return [f"{label}/{k}" for label in self.classes_ for k in numbers]
