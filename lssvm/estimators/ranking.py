"""Ranking of documents by query, for precision at k."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from lssvm.estimators.base import Hidden
from lssvm.estimators.watching import Callback

_INPUT: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}


@dataclass(kw_only=True, eq=False, repr=False)
class PrecisionRanker(Hidden):
    """Ranks the documents of queries so that relevant ones are among the first k.

    Parameters
    ----------
    k : number of documents at the top that count
    relevant_from : lowest label of a relevant document; None: the lowest but one of training
    initialisation : of the weights: classification, pairwise or random
    initialisation_weight : C of the problem for the initial weights, as a multiple of C
    scaling : of features: none, max_abs, standard, range, or one of these by query

    For the others see ``Hidden`` and ``Structured``.

    Attributes
    ----------
    coef_ : (features,) the weights of the features, as they are scaled
    n_features_in_, feature_names_in_ : of ``fit``; the latter only for tables with names

    Examples
    --------
    >>> import numpy as np
    >>> from lssvm.estimators import PrecisionRanker
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [0.0, 0.0], [1.0, 2.0], [0.0, 3.0]])
    >>> y, qid = [1, 0, 1, 0, 1, 0], [1, 1, 1, 2, 2, 2]
    >>> ranker = PrecisionRanker(k=1, C=100).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid)
    1.0
    """

    k: int = 10
    relevant_from: float | None = 1.0
    initialisation: str = "classification"
    initialisation_weight: float = 1.0
    scaling: str = "none"

    _application: ClassVar[str] = "precision_at_k"
    _relevant_from: ClassVar[float]  # of an instance, once fit has seen y
    _own = ("k", "initialisation", "initialisation_weight", "scaling")

    def _options(self) -> dict[str, Any]:
        options = super()._options()
        return options | {"relevant_from": self._relevant_from}

    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        group: Any = None,
        query_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Train on the documents of queries.

        X : (documents, features) numbers: an array, a table, or a sparse matrix; or a list with
            one of these for each query, which searches over settings can split
        y : (documents,) relevance; or a list of them
        qid : (documents,) the query of each document, in any order
        group : (queries,) the number of documents of each query, which follow one another; given
            instead of ``qid``. Without both all documents are of one query
        query_weight : (queries,) the costs of the queries in their order, 1 by default
        callback : is given a ``Pass`` before each pass over the examples; something true that it
            returns ends training with the best weights so far

        Raises ValueError for what cannot be used.
        """
        X, y, qid = _flat(X, y, qid, group)
        X, y = validate_data(self, X, y, y_numeric=True, **_INPUT)
        if len(y) <= self.k:
            raise ValueError(f"n_samples = {len(y)}; expected a query of more than k = {self.k}")
        self._relevant_from = (  # type: ignore[misc]
            float(np.unique(y)[:2][-1]) if self.relevant_from is None else self.relevant_from
        )
        self._train(callback, X, y, qid=qid, costs=query_weight)
        return self

    def predict(self, X: Any, qid: Any = None, group: Any = None) -> Any:
        """The scores of the documents, (documents,), or a list of such arrays for a list.

        Only scaling by query needs ``qid`` or ``group``.
        """
        check_is_fitted(self, "model_")
        flat, _, qid = _flat(X, None, qid, group)
        examples = self._examples(validate_data(self, flat, reset=False, **_INPUT), qid=qid)
        scores = np.empty(len(examples.positions))
        scores[examples.positions] = self._classified(examples).scores
        if not _is_list(X):
            return scores
        return np.split(scores, np.cumsum([np.shape(part)[0] for part in X])[:-1])

    def score(self, X: Any, y: Any, qid: Any = None, group: Any = None) -> float:
        """Precision at k, the mean over queries."""
        return float(self.metrics(X, y, qid, group)["P@k"] or 0.0)

    def metrics(
        self, X: Any, y: Any, qid: Any = None, group: Any = None
    ) -> dict[str, float | None]:
        """MAP, P@k and NDCG at several depths, as the commands print them."""
        check_is_fitted(self, "model_")
        X, y, qid = _flat(X, y, qid, group)
        X = validate_data(self, X, reset=False, **_INPUT)
        examples = self._examples(X, y, qid=qid)
        found: dict[str, float | None] = self._fitted.score(examples, self._classified(examples))
        return found

    @property
    def coef_(self) -> np.ndarray:
        """The weights of the features, (features,)."""
        check_is_fitted(self, "model_")
        return self._linear

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn needs to know."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _is_list(X: Any) -> bool:
    """Whether there is a matrix for each query."""
    return isinstance(X, list | tuple) and len(X) > 0 and np.ndim(X[0]) == 2


def _flat(X: Any, y: Any, qid: Any, group: Any) -> tuple[Any, Any, Any]:
    """The documents of all queries, their labels and their queries. Raises ValueError."""
    if _is_list(X):
        if qid is not None or group is not None:
            raise ValueError("X is a list of queries; expected no qid and no group")
        group = [np.shape(part)[0] for part in X]
        X, y = _stacked(X), None if y is None else np.concatenate([np.asarray(own) for own in y])
    if group is None:
        return X, y, qid
    if qid is not None:
        raise ValueError("qid and group are given; expected one of them")
    sizes = np.asarray(group)
    count = np.shape(X)[0]
    if sizes.ndim != 1 or not np.issubdtype(sizes.dtype, np.integer) or sizes.sum() != count:
        raise ValueError(f"group adds up to {sizes.sum()}; expected {count:,d}, as many as rows")
    return X, y, np.repeat(np.arange(1, len(sizes) + 1), sizes)


def _stacked(parts: Sequence[Any]) -> Any:
    if all(hasattr(part, "tocsr") for part in parts):
        from scipy import sparse

        return sparse.vstack(parts, format="csr")
    return np.concatenate([np.asarray(part) for part in parts])
