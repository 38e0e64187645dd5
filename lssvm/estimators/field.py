"""Labels of the nodes of graphs, such as the pixels of images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from lssvm.estimators.base import Hidden, refused_as_value_error
from lssvm.estimators.lists import Lists
from lssvm.estimators.watching import Callback


def _is_probable(estimator: Any) -> bool:
    return estimator.model != "ssvm"


@dataclass(kw_only=True, eq=False, repr=False)
class FieldLabeler(Lists, Hidden):
    """A Markov random field: the states of the nodes of graphs, some of which may be hidden.

    Parameters
    ----------
    model : ssvm, where nothing is hidden; else lssvm, mssvm or hcrf
    inference : exact, bp (belief propagation), auto or spanning-forests
    max_table : largest factor, in entries, of exact inference
    initialisation : of the weights, random or zero
    initialisation_scale : standard deviation of random initial weights

    For the others see ``Hidden`` and ``Structured``.

    Examples
    --------
    >>> import numpy as np
    >>> from lssvm.estimators import FieldLabeler
    >>> image = np.array([[[0.9], [0.8]], [[-0.7], [-0.9]]])  # (height, width, features)
    >>> labeler = FieldLabeler(C=10).fit([image], [[[1, 1], [0, 0]]])
    >>> labeler.predict([image])[0]
    array([[1, 1],
           [0, 0]], dtype=int32)
    """

    model: str = "ssvm"
    inference: str = "auto"
    max_table: int = 1_000_000
    initialisation: str = "random"
    initialisation_scale: float = 0.1

    _application: ClassVar[str] = "mrf"
    _own = ("inference", "max_table", "initialisation", "initialisation_scale")

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Train on graphs.

        X : n graphs: tuples (features, edges) or (features, edges, edge_features) of shapes (N, m),
            (E, 2) and (E, k); images, arrays (height, width, m), whose pixels are joined to those
            beside and below; or dictionaries, see ``examples_from`` of the application
        y : n arrays (N,), or (height, width), of states from 0; -1: not known, -2: hidden
        sample_weight : (n,) the costs of the graphs, 1 by default
        callback : is given a ``Pass`` before each pass over the examples; something true that it
            returns ends training with the best weights so far

        Raises ValueError for what cannot be used.
        """
        self._train(callback, X, y, costs=sample_weight)
        return self

    def predict(self, X: Sequence[Any]) -> list[np.ndarray]:
        """The best states of the nodes of each graph, (N,), or (height, width) for images."""
        examples = self._examples(X)
        states = self._classified(examples).states
        parts = np.split(states, examples.node_offsets[1:-1])
        return [_shaped(part, graph) for part, graph in zip(parts, X, strict=True)]

    @available_if(_is_probable)
    def predict_marginals(self, X: Sequence[Any]) -> list[list[np.ndarray]]:
        """For each node of each graph the probabilities of its states.

        Only for models with hidden values.
        """
        examples = self._examples(X)
        w, shown = self._weighed(examples)
        with refused_as_value_error():
            shares = self._fitted.marginals(w, shown)
        found, place = [], 0
        for row in range(len(examples)):
            marks = np.cumsum(examples.states(row))
            found.append(np.split(shares[place : place + marks[-1]], marks[:-1]))
            place += int(marks[-1])
        return found

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """The share of known labels that are right."""
        examples = self._examples(X, y)
        found = self._fitted.score(examples, self._classified(examples))
        if found["accuracy"] is None:
            raise ValueError("y: no label is known; expected some")
        return float(found["accuracy"]) / 100.0


def _shaped(states: np.ndarray, graph: Any) -> np.ndarray:
    """States in the shape of their graph."""
    is_image = isinstance(graph, np.ndarray) and graph.ndim == 3
    return states.reshape(graph.shape[:2]) if is_image else states
