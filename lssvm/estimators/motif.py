"""Motif finding in DNA."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from lssvm.applications.motif import motif_matrix
from lssvm.errors import counted
from lssvm.estimators.base import Hidden, refused_as_value_error
from lssvm.estimators.watching import Callback


@dataclass(kw_only=True, eq=False, repr=False)
class MotifClassifier(ClassifierMixin, Hidden):
    """Finds the motif that tells one class of DNA sequences from the other, and its sites.

    Parameters
    ----------
    length : letters of the motif
    background_order : order of the Markov model of letters outside of the motif
    background : learned, or frequencies by word, as in a background file of the MEME suite
    strands : given, or both: the reverse complement is read too
    initialisation : of the first sites, seeds or random
    trials : seeds: number of windows that are drawn
    class_weight : factors of the costs of sequences by label, or balanced
    skip_unusable : leave sequences without a window out of training
    model : lssvm, or a model that sums over sites, such as hcrf

    For the others see ``Hidden`` and ``Structured``.

    Attributes
    ----------
    classes_ : the two labels, sorted; the second one is that of sequences with the motif
    motif_ : (length, 4) probabilities of A, C, G and T at each position of the motif
    consensus_ : the motif as a word; information_content_ : in bits

    Examples
    --------
    >>> from lssvm.estimators import MotifClassifier
    >>> X = ["AATGACTCAA", "CCTGACTCAT", "AACCTTAACC", "GGTTCCAATT"]
    >>> found = MotifClassifier(length=7, background_order=0, C=100).fit(X, [1, 1, 0, 0])
    >>> found.predict(["TTTGACTCAC", "AAAACCCCTT"])
    array([1, 0])
    >>> found.sites(["TTTGACTCAC"])[0][0]["sequence"]
    'TGACTCA'
    """

    length: int = 10
    background_order: int = 3
    background: str | Mapping[str, float] = "learned"
    strands: str = "given"
    initialisation: str = "seeds"
    trials: int = 300
    class_weight: Any = None
    skip_unusable: bool = False
    model: str = "lssvm"

    _application: ClassVar[str] = "motif"
    _own = (
        *("length", "background_order", "background", "strands", "initialisation", "trials"),
        "skip_unusable",
    )

    def _options(self) -> dict[str, Any]:
        options = super()._options()
        if isinstance(self.class_weight, Mapping):
            signs = dict(zip(self.classes_.tolist(), ("-1", "+1"), strict=True))
            unknown = [label for label in self.class_weight if label not in signs]
            if unknown:
                raise ValueError(f"class_weight: no sequence has label {unknown[0]!r}")
            options["class_costs"] = {
                signs[label]: cost for label, cost in self.class_weight.items()
            }
        elif self.class_weight is not None:
            options["class_costs"] = self.class_weight
        return options

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Find the motif.

        X : n sequences: strings, or objects of Biopython (Seq, SeqRecord)
        y : (n,) labels of two classes; sequences of the second one, in their order, have the motif
        sample_weight : (n,) the costs of the sequences, 1 by default
        callback : is given a ``Pass`` before each pass over the examples; something true that it
            returns ends training with the best weights so far

        Raises ValueError for what cannot be used.
        """
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                f"y has {counted(len(self.classes_), 'class', 'classes')}; expected 2: without "
                "and with"
            )
        self._train(callback, X, 2 * codes - 1, costs=sample_weight)
        return self

    def predict(self, X: Sequence[Any]) -> np.ndarray:
        """The class of each sequence, (n,)."""
        return self.classes_[(self._classified(self._examples(X)).y > 0).astype(int)]

    def decision_function(self, X: Sequence[Any]) -> np.ndarray:
        """The score of the second class against the first, (n,); -inf without a window."""
        return self._classified(self._examples(X)).values

    def sites(self, X: Sequence[Any], top: int = 1) -> list[list[dict[str, Any]]]:
        """The ``top`` best sites of each sequence, best first.

        A site has start and stop (from 1 on the given strand, both included), strand (+ or -),
        score and sequence.
        """
        examples = self._examples(X)
        found = self._classified(examples, top)
        return [record["h"] for record in self._fitted.records(examples, found)]

    @property
    def motif_(self) -> np.ndarray:
        """The probabilities of A, C, G and T at each position, (length, 4)."""
        return motif_matrix.probabilities(self._weights, self.model_.arrays)

    @property
    def consensus_(self) -> str:
        """The motif as a word."""
        return str(self.model_.described()["consensus"])

    @property
    def information_content_(self) -> float:
        """Bits of the motif, relative to the letters of training."""
        return float(self.model_.described()["information_content"])

    def to_meme(self, path: str | Path) -> None:
        """Write the motif in the minimal format of the MEME suite. Raises ValueError."""
        self._export("meme", path)

    def logo(self, path: str | Path) -> None:
        """Draw the sequence logo as PNG, SVG or PDF; it needs the extra ``bio``."""
        self._export("logo", path)

    @property
    def _weights(self) -> np.ndarray:
        check_is_fitted(self, "model_")
        return self.model_.w

    def _export(self, name: str, path: str | Path) -> None:
        with refused_as_value_error():
            self._fitted.exports[name](self._weights, self.model_.arrays, path)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn needs to know."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.classifier_tags.multi_class = False
        tags.no_validation = True
        return tags
