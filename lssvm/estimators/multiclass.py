"""Multiclass classification, with costs of mistakes or a tree of classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from lssvm.applications.given import word
from lssvm.errors import counted
from lssvm.estimators.base import Structured, refused_as_value_error
from lssvm.estimators.watching import Callback

_INPUT: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}


@dataclass(kw_only=True, eq=False, repr=False)
class StructuralSVC(ClassifierMixin, Structured):
    """The multiclass SVM of Crammer & Singer, with any cost of a mistake, or over a taxonomy.

    Parameters
    ----------
    loss : zero_one; tree, the height of the first common ancestor in ``taxonomy``; or a matrix
        (classes, classes) of costs, rows being true classes in the order of ``classes_``
    taxonomy : None; paths: labels such as a/b/c name the nodes above them; or the parent of each
        node by its name. Classes then share the weights of the nodes above them
    features : with a taxonomy, tree: classes share these weights; flat: they do not
    class_weight : factors of the costs of examples by label, or balanced
    bias : value of the appended constant feature; larger values regularise the bias less; 0: none
    scaling : none, max_abs, standard or range: how features are scaled
    rescaling : margin or slack

    For the others see ``Structured``.

    Attributes
    ----------
    classes_ : (K,) the labels, sorted
    coef_, intercept_ : (K, features) and (K,) weights and biases of the classes
    n_features_in_, feature_names_in_ : of ``fit``; the latter only for tables with names

    Examples
    --------
    >>> from lssvm.estimators import StructuralSVC
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], ["a", "b", "c"]
    >>> classifier = StructuralSVC(C=100).fit(X, y)
    >>> [str(label) for label in classifier.predict([[0.0, 2.0], [3.0, 3.0]])]
    ['a', 'c']
    >>> classifier.gap_ <= 1e-3
    True
    """

    loss: Any = None
    taxonomy: str | Mapping[str, str] | None = None
    features: str = "tree"
    class_weight: Any = None
    bias: float = 1.0
    scaling: str = "none"
    rescaling: str = "margin"

    _classes: ClassVar[np.ndarray | None] = None

    @property
    def _application(self) -> str:  # type: ignore[override]
        return "multiclass" if self.taxonomy is None else "taxonomy"

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"bias": self.bias, "scaling": self.scaling}
        if self.class_weight is not None:
            options["class_costs"] = self.class_weight
            if isinstance(self.class_weight, Mapping):
                factors = self.class_weight.items()
                options["class_costs"] = {word(label): cost for label, cost in factors}
        if self.taxonomy is not None:
            options |= {"taxonomy": self.taxonomy, "features": self.features}
        if isinstance(self.loss, str):
            options["loss"] = self.loss
        elif self.loss is not None:
            rows = np.asarray(self.loss, dtype=np.float64)
            if rows.shape != (len(self.classes_),) * 2:
                raise ValueError(
                    f"loss has the shape {rows.shape} for "
                    f"{counted(len(self.classes_), 'class', 'classes')}; expected "
                    "a row and a column for each"
                )
            options["loss"] = {"labels": list(map(word, self.classes_.tolist())), "rows": rows}
        return options

    def _sections(self) -> dict[str, dict[str, Any]]:
        return {"objective": {"rescaling": self.rescaling}}

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, callback: Callback | None = None
    ) -> Self:
        """Train on rows of features.

        X : (n, features) numbers: an array, a table, or a sparse matrix
        y : (n,) labels
        sample_weight : (n,) the costs of the examples, 1 by default
        callback : is given a ``Pass`` before each pass over the examples; something true that it
            returns ends training with the best weights so far

        Raises ValueError for what cannot be used.
        """
        X, y = validate_data(self, X, y, **_INPUT)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        words = np.array([word(label) for label in self.classes_.tolist()], dtype=object)
        self._train(callback, X, words[codes], costs=sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The best class of each row, (n,)."""
        examples = self._rows(X)
        return self.classes_[self._places()[self._classified(examples).labels]]

    def decision_function(self, X: Any) -> np.ndarray:
        """w · Φ of each class, (n, K) in the order of ``classes_``.

        For two classes: that of the second minus that of the first, (n,).
        """
        examples = self._rows(X)
        w, shown = self._weighed(examples)
        with refused_as_value_error():
            found = self._fitted.scores(w, shown)
        scores = np.empty_like(found)
        scores[:, self._places()] = found
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @property
    def coef_(self) -> np.ndarray:
        """The weights of the features for each class, (K, features); of the scaled features."""
        return self._columns[: self.n_features_in_].T

    @property
    def intercept_(self) -> np.ndarray:
        """The bias of each class, (K,)."""
        if not self.bias:
            return np.zeros(len(self.classes_))
        return self.bias * self._columns[self.n_features_in_]

    @property
    def _columns(self) -> np.ndarray:
        """w as a column for each class, in the order of ``classes_``, (width, K)."""
        check_is_fitted(self, "model_")
        columns = self._fitted.columns
        w = self._linear.reshape(-1, len(columns))
        found = np.empty((len(w), len(self.classes_)))
        starts = columns.path_starts.tolist()
        for place, start, end in zip(self._places(), starts[:-1], starts[1:], strict=True):
            found[:, place] = w[:, columns.paths[start:end]].sum(axis=1)
        return found

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self, "model_")  # before X is looked at
        return self._examples(validate_data(self, X, reset=False, **_INPUT))

    def _places(self) -> np.ndarray:
        """The place in ``classes_`` of each class of the model, (K,)."""
        place = {word(label): row for row, label in enumerate(self.classes_.tolist())}
        return np.array([place[name] for name in self._fitted.classes])

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn needs to know."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
