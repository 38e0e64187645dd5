"""Label sequences (Tsochantaridis, Hofmann, Joachims & Altun, ICML 2004, section 4.3).

x is a sequence of tokens with features φ(x_t) of dimension m, y a label for each. The joint
feature map of the hidden Markov SVM (Altun, Tsochantaridis & Hofmann, ICML 2003) is

    Φ(x, y) = Σ_t φ(x_t) ⊗ e(y_t)  ⊕  Σ_{t > 1} e(y_{t-1}) ⊗ e(y_t)

with e(a) the unit vector of label a; ``order: 2`` adds Σ_{t > 2} e(y_{t-2}) ⊗ e(y_{t-1}) ⊗ e(y_t),
and ``ends`` adds e(y_1) ⊕ e(y_T). In w stand emissions (m, L), all labels of a feature side by
side, then first-order transitions (L, L) from row to column, second-order ones (L, L, L), then
begin and end (L each).

Δ is the number of wrong labels, each counted with the cost of its true label (``hamming``), or 1
if any label is wrong (``zero_one``). All maxima are exact:

- Hamming, margin rescaling, linear slack: Viterbi with the loss added token by token;
- any other form of Hamming: the best path for each number e of errors by Viterbi over (state,
  errors), O(T² L²), then the best e. Costs of labels must then be equal;
- zero-one: the best path with an error against the truth (both rescalings are the same problem).

Ties: the path with the lowest last label, then the lowest label before it, and so on; the second
and third kind prefer fewer errors (none) before that.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TextIO

import numpy as np
from pydantic import Field

from lssvm.applications import base
from lssvm.applications.sequence.examples import SequenceExamples
from lssvm.applications.sequence.vocabulary import Vocabulary, WeightNames
from lssvm.errors import LssvmError
from lssvm.kernels import _sequence
from lssvm.plane import Plane

Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class SequenceOptions(base.Options):
    """What a sequence is, and what counts as an error."""

    name: Literal["sequence"] = Field(default="sequence", description="label sequences")
    loss: Literal["hamming", "zero_one"] = Field(
        default="hamming", description="number of wrong labels, or 1 if any label is wrong"
    )
    class_costs: dict[str, Cost] = Field(
        default={}, description="what an error costs by the true label; 1 for those left out"
    )
    order: Literal[1, 2] = Field(
        default=1, description="labels before a label that transitions see"
    )
    ends: bool = Field(default=False, description="weights of the first and of the last label")


@dataclass(frozen=True)
class Predictions:
    """The best label sequences of n examples.

    labels : (tokens, top) int32, those of the k-th best path in column k; -1: there is none
    scores : (n, top) float64, w · Φ; -inf where there is none
    w : (d,) the weights that they were made with
    """

    labels: np.ndarray
    scores: np.ndarray
    w: np.ndarray


class SequenceLabelling(base.Application):
    """Label sequences: named entities, parts of speech, letters of words."""

    Options = SequenceOptions
    models = frozenset({"ssvm"})
    rescalings = frozenset({"margin", "slack"})
    slack_norms = frozenset({0, 1, 2})
    hidden = False
    each = True

    def __init__(
        self, options: SequenceOptions, formulation: base.Formulation | None = None
    ) -> None:
        super().__init__(options, formulation)
        self.vocabulary: Vocabulary | None = None
        self.slack = self.formulation.rescaling == "slack"
        self.task = _sequence.COUNTED
        if options.loss == "zero_one":
            self.task = _sequence.ZERO_ONE
        elif not self.slack and self.formulation.slack_norm != 2:
            self.task = _sequence.HAMMING

    def dimension(self, examples: SequenceExamples) -> int:
        """m L + L², L³ more if the order is 2, 2 L more with ``ends``."""
        self._adopt(examples)
        o = self.options
        return _sequence.dimension(examples.width, examples.label_count, o.order, o.ends)

    def start(self, examples: SequenceExamples, rng: np.random.Generator) -> Plane:
        """Σ c_i Φ(x_i, y_i). Raises DataError if a token has no label."""
        self._adopt(examples)
        self._check_trainable(examples)
        gradient, *_ = self._search(
            _sequence.TRUTH, np.zeros(self.dimension(examples)), examples, True
        )
        return Plane(gradient, 0.0)

    def augmented(self, w: np.ndarray, examples: SequenceExamples) -> tuple[Plane, float]:
        """Σ c_i U⁺_i; exact."""
        gradient, _, losses, _ = self._search(self.task, w, examples, True)
        plane = Plane(gradient, float(np.sum(examples.costs * losses)))
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: SequenceExamples) -> Plane:
        """Σ c_i Φ(x_i, y_i), whatever w."""
        return self.start(examples, np.random.default_rng(0))

    def augmented_each(self, w: np.ndarray, examples: SequenceExamples) -> base.Maxima:
        """The path that attains U⁺_i for each example; ``outputs`` are labels, (tokens,)."""
        _, values, losses, labels = self._search(self.task, w, examples, False)
        return base.Maxima(values, losses, values, labels)

    def completed_each(self, w: np.ndarray, examples: SequenceExamples) -> base.Maxima:
        """w · Φ(x_i, y_i) for each example."""
        _, values, losses, labels = self._search(_sequence.TRUTH, w, examples, False)
        return base.Maxima(values, losses, values, labels)

    def predict(self, w: np.ndarray, examples: SequenceExamples, top: int = 1) -> Predictions:
        """The label sequences of highest w · Φ."""
        _, values, _, labels = self._search(_sequence.PREDICT, w, examples, False)
        return Predictions(labels[:, None], values[:, None], w)

    def feature_names(self) -> Sequence[str]:
        """``feature : label`` for emissions, ``a -> b`` for transitions."""
        vocabulary = self.vocabulary or Vocabulary((), 0)
        return WeightNames(vocabulary, self.options.order, self.options.ends)

    def state(self) -> dict[str, np.ndarray]:
        """The names of labels and features."""
        return {} if self.vocabulary is None else self.vocabulary.arrays()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over the names of a model. Raises KeyError."""
        self.vocabulary = Vocabulary.from_arrays(state)

    def read(self, sources: Sequence[base.Source]) -> SequenceExamples:
        """The sequences of files. Raises DataError."""
        raise LssvmError("sequence: files cannot be read yet")

    def score(
        self, examples: SequenceExamples, predictions: Predictions
    ) -> dict[str, float | None]:
        """Token error and accuracy, sequence error, in percent; mean Δ."""
        wrong = predictions.labels[:, 0] != examples.labels
        count = max(1, len(wrong))
        return {"error": 100 * float(np.sum(wrong)) / count}

    def write(self, examples: SequenceExamples, predictions: Predictions, file: TextIO) -> None:
        """One label a line, an empty line after each sequence."""

    def records(
        self, examples: SequenceExamples, predictions: Predictions
    ) -> Iterator[dict[str, Any]]:
        """One dictionary a sequence."""
        yield from ()

    def _adopt(self, examples: SequenceExamples) -> None:
        """Examples that were made in memory bring their own vocabulary."""
        if self.vocabulary is None:
            self.vocabulary = examples.vocabulary

    def _check_trainable(self, examples: SequenceExamples) -> None:
        lost = np.flatnonzero(examples.labels < 0)
        if len(lost):
            row = int(np.searchsorted(examples.offsets, lost[0], side="right")) - 1
            raise examples.error(row, "a token has no label; expected labels to train on")

    def _charges(self, examples: SequenceExamples) -> np.ndarray:
        """What an error costs, by true label, (L,)."""
        costs = self.options.class_costs
        return np.array([costs.get(name, 1.0) for name in examples.vocabulary.labels])

    def _search(self, task: int, w: np.ndarray, examples: SequenceExamples, summed: bool) -> Any:
        charges, margins = self._charges(examples), np.zeros(1)
        if task == _sequence.COUNTED:
            longest = int(np.max(np.diff(examples.offsets), initial=0))
            margins = self.formulation.margin(charges[0] * np.arange(longest + 1))
        return _sequence.search(
            task,
            *examples.arrays,
            examples.labels,
            examples.costs,
            self._weights(w, examples),
            charges,
            margins,
            self.slack and task not in (_sequence.TRUTH, _sequence.PREDICT),
            summed,
        )

    def _weights(self, w: np.ndarray, examples: SequenceExamples) -> Any:
        weights = np.ascontiguousarray(w, dtype=np.float64)
        width, count = examples.width, examples.label_count
        options = self.options
        return _sequence.Weights(
            weights, width, count, options.order, options.ends, examples.is_sparse
        )
