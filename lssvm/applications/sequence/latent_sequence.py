"""Label sequences with hidden states (Morency, Quattoni & Darrell, CVPR 2007).

Every label has its own S sub-states, ``substates``; h gives each token one sub-state of its label.
The joint feature map is that of ``sequence`` with sub-states instead of labels: emissions and
transitions belong to the L S sub-states, so that a label may stand for several kinds of tokens, and
the transitions between them are learnt. Δ is the number of wrong labels.

| model | ε_y | ε_h | |
|---|---|---|---|
| lssvm | 0 | 0 | latent structural SVM: the best path |
| hcrf | 1 | 1 | latent-dynamic conditional random field, Δ ≡ 0 |
| loss_augmented_likelihood | 1 | 1 | the same with Δ |
| epsilon | ε | ε | as given; ε_y and ε_h must be equal |

U⁺ is over all paths of sub-states, U⁻ over those of sub-states of the true labels; both are exact,
by the recursions of ``sequence``. Different temperatures (``mssvm``) are not offered: the maximum
over labels of a sum over their sub-states is exponential in the length of the chain.

Prediction with ε_h = 0 takes the labels of the best path of sub-states (ties as in ``sequence``);
otherwise it takes for each token the label with the highest marginal at temperature ε_h, the lowest
of equal ones, as the paper does. The initial weights are small and random: the sub-states of a
label are permutation-symmetric, so w = 0 is a stationary point.

Tokens have their true label as additional features, whose weights are not learnt: these weights are
the loss, or forbid the sub-states of other labels, or are 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Literal, TextIO

import numpy as np
from pydantic import Field

from lssvm import sparse
from lssvm.applications import base
from lssvm.applications.apart import Ask, Here
from lssvm.applications.sequence import sequence_output
from lssvm.applications.sequence.compiled_tokens import CompiledTokens
from lssvm.applications.sequence.examples import SequenceExamples
from lssvm.applications.sequence.sequence import LabelSequences, SequenceOptions
from lssvm.applications.sequence.sequence_output import Predictions
from lssvm.applications.sequence.vocabulary import Vocabulary, WeightNames
from lssvm.errors import LssvmError, counted
from lssvm.kernels import _sequence, _sequence_examples, _sequence_soft
from lssvm.kernels.arrays import ChainLoss, ChainShape
from lssvm.plane import Plane

_FORBIDDEN = -1e300


class LatentSequenceOptions(SequenceOptions):
    """The options of ``sequence``, the number of sub-states, and the initial weights."""

    renamed: ClassVar = {"start_scale": "initialisation_scale"}

    name: Literal["latent_sequence"] = Field(  # type: ignore[assignment]
        default="latent_sequence", description="label sequences with hidden states"
    )
    loss: Literal["hamming"] = Field(
        default="hamming", description="hamming: number of wrong labels"
    )
    substates: int = Field(default=2, ge=1, le=64, description="number of hidden states per label")
    initialisation_scale: float = Field(
        default=0.1,
        gt=0,
        allow_inf_nan=False,
        description="standard deviation of the initial weights",
    )


class MarkedSequences(SequenceExamples):
    """Sequences whose last columns say the true label of a token."""

    @property
    def marked_columns(self) -> int:
        """L, the number of these columns."""
        return self.label_count


class LatentSequenceLabelling(LabelSequences, CompiledTokens, base.KernelRows[SequenceExamples]):
    """Label sequences whose labels have hidden sub-states."""

    Options = LatentSequenceOptions
    models = frozenset({"lssvm", "hcrf", "loss_augmented_likelihood", base.ANNEALED})
    smooth = base.SMOOTH
    hidden = True
    exchangeable = True

    def __init__(
        self, options: LatentSequenceOptions, formulation: base.Formulation | None = None
    ) -> None:
        super().__init__(options, formulation or base.Formulation("lssvm"))
        self.options: LatentSequenceOptions = options
        epsilon_y, self.epsilon = self.formulation.temperatures
        if epsilon_y != self.epsilon:
            raise LssvmError(
                f"application 'latent_sequence': epsilon_y {epsilon_y:g} and epsilon_h "
                f"{self.epsilon:g} differ; expected equal ones"
            )

    def read(self, sources: Sequence[base.Source]) -> SequenceExamples:
        """The examples of ``sequence``, with true labels as features. Raises DataError."""
        return self.marked(super().read(sources))

    def examples_from(self, X: Any, y: Any = None, *, costs: Any = None) -> SequenceExamples:
        """The examples of ``sequence``, with true labels as features. Raises LssvmError.

        X : n sequences of tokens; y : n sequences of labels, None where they are hidden;
        costs : (n,) the costs of the sequences. See ``SequenceLabelling.examples_from``.
        """
        return self.marked(super().examples_from(X, y, costs=costs))

    def read_parts(self, sources: Sequence[base.Source]) -> Iterator[SequenceExamples]:
        """The sequences of :meth:`read`, in parts where those of ``sequence`` are."""
        if self.vocabulary is None or self.options.format != "conll":
            yield self.read(sources)
        else:
            yield from map(self.marked, super().read_parts(sources))

    def marked(self, examples: SequenceExamples) -> SequenceExamples:
        """The examples with L additional features, the unit vector of a token's true label."""
        self._adopt(examples)
        count = len(examples.labels)
        known = np.flatnonzero(examples.labels >= 0)
        shape = (count, examples.label_count)
        marks = sparse.csr_array((np.ones(len(known)), (known, examples.labels[known])), shape)
        if examples.is_sparse:
            rows = sparse.hstack([examples.inputs, marks], format="csr")
        else:
            rows = np.hstack([examples.dense, marks.toarray()])
        whole = examples.with_inputs(rows)
        return MarkedSequences(**{each.name: getattr(whole, each.name) for each in fields(whole)})

    def columns_per_row(self, examples: SequenceExamples) -> int:
        """L S, the number of sub-states."""
        return self._states(examples)

    def features_of_values(self, examples: SequenceExamples) -> None:
        """None: weights of features that do not occur are not left out."""

    def known_inputs(self) -> tuple[int, int] | None:
        """Features of a token, and sub-states."""
        found = self.vocabulary
        return None if found is None else (found.width, len(found.labels) * self.options.substates)

    def dimension(self, examples: SequenceExamples) -> int:
        """m L S + (L S)², plus (L S)³ if the order is 2, plus 2 L S with ``ends``."""
        return self._size(examples, examples.width - examples.label_count)

    def feature_names(self) -> Sequence[str]:
        """The names of ``sequence``, with sub-states called ``label/1``, ``label/2`` …"""
        known = self.vocabulary or Vocabulary((), 0)
        numbers = range(1, self.options.substates + 1)
        states = tuple(f"{label}/{k}" for label in known.labels for k in numbers)
        return WeightNames(replace(known, labels=states), self.options.order, self.options.ends)

    def share_of(
        self, kept: Sequence[Any], sources: Sequence[base.Source], plan: Any, before: int
    ) -> SequenceExamples:
        """The sequences of neighbouring files, with true labels as features. Raises DataError."""
        return self.marked(super().share_of(kept, sources, plan, before))

    def largest_of(self, examples: SequenceExamples) -> np.ndarray:
        """The largest absolute value of each numbered feature."""
        return super().largest_of(examples)[: -examples.label_count]

    def start(self, examples: SequenceExamples, rng: np.random.Generator) -> Any:
        """Small random weights. Raises DataError if no token has a label."""
        return self.start_apart(Here(self, examples, whole=True), rng)

    def start_apart(self, ask: Ask, rng: np.random.Generator) -> np.ndarray:
        """The same by shares."""
        if not any(ask("labels_there")):
            ask("refuse_start", each=[share == 0 for share in range(ask.count)])
        return self.options.initialisation_scale * rng.normal(size=ask("dimension")[0])

    def labels_there(self, examples: SequenceExamples) -> bool:
        """Whether some token has a label."""
        return bool(np.any(examples.labels >= 0))

    def refuse_start(self, examples: SequenceExamples, here: bool) -> None:
        """Raise DataError for the first sequence, if it is here: there are no labels."""
        if here:
            raise examples.error(0, "has no labels, and no other sequence has any; expected labels")

    def augmented(self, w: np.ndarray, examples: SequenceExamples) -> tuple[Plane, float]:
        """Σ c_i U⁺_i; exact."""
        charges = self._charges(examples) * self.formulation.charged
        plane = self._plane(w, examples, charges[:, None] * self._outside(examples).T)
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: SequenceExamples) -> Plane:
        """Σ c_i U⁻_i."""
        return self._plane(w, examples, _FORBIDDEN * self._outside(examples).T)

    def start_each(self, examples: SequenceExamples, rng: np.random.Generator) -> Any:
        """As ``start``."""
        return self.start(examples, rng)

    def augmented_each(self, w: np.ndarray, examples: SequenceExamples) -> base.Maxima:
        """U⁺_i of each sequence; ``outputs`` are sub-states, (tokens,).

        Raises LssvmError for a model that sums over hidden states.
        """
        charges = self._charges(examples)
        found = self._best_each(w, examples, charges[:, None] * self._outside(examples).T)
        labels = found.outputs // self.options.substates
        return replace(found, losses=self._path_losses(examples, labels))

    def completed_each(self, w: np.ndarray, examples: SequenceExamples) -> base.Maxima:
        """U⁻_i of each sequence; as ``augmented_each``."""
        return self._best_each(w, examples, _FORBIDDEN * self._outside(examples).T)

    def gradients(
        self, examples: SequenceExamples, found: base.Maxima, rows: np.ndarray
    ) -> "sparse.csr_array":
        """Φ of the sub-states that were found, (len(rows), d), without costs."""
        states, o = self._states(examples), self.options
        starts, indices, values = _sequence.gradients(
            examples.arrays,
            found.outputs,
            found.outputs,
            np.ones(len(examples)),
            np.ascontiguousarray(rows, dtype=np.int64),
            ChainShape(examples.width, states, o.order, o.ends),
        )
        size, marks = self.dimension(examples), examples.label_count * states
        shape = (len(rows), size + marks)
        matrix = sparse.csr_array((values, indices, starts), shape=shape)
        first = (examples.width - examples.label_count) * states
        kept = np.concatenate([np.arange(first), np.arange(first + marks, size + marks)])
        matrix = sparse.csr_array(matrix[:, kept])
        matrix.sort_indices()
        return matrix

    def example_oracle(self, examples: SequenceExamples) -> Any:
        """Inference for one sequence at a time, in C."""
        self._check_hard()
        rows = examples.inputs[:, : examples.width - examples.label_count]
        if examples.is_sparse:
            rows = sparse.csr_array(rows)
            rows.sort_indices()
        plain, o = examples.with_inputs(rows), self.options
        return _sequence_examples.ExampleOracle(
            ChainLoss(_sequence.HAMMING, self._charges(examples), np.zeros(1), False),
            plain.arrays,
            examples.labels,
            ChainShape(plain.width, self._states(examples), o.order, o.ends),
            o.substates,
        )

    def predict(self, w: np.ndarray, examples: SequenceExamples, top: int = 1) -> Predictions:
        """Labels of the best path, or labels with the highest marginals.

        scores : the value of the best path, or ε log Z. Raises LssvmError if ``top`` is not 1.
        """
        if top != 1:
            raise LssvmError(
                f"--top {top}: application 'latent_sequence' finds the best labels only"
            )
        free = np.zeros((examples.label_count, self._states(examples)))
        if self.epsilon == 0.0:
            _, values, path = self._best(w, examples, free)
            labels = (path // self.options.substates).astype(np.int32)
        else:
            _, values, shares = self._summed(w, examples, free, self.epsilon)
            labels = np.argmax(shares, axis=1).astype(np.int32)
        return Predictions(labels[:, None], values[:, None], w)

    def marginals(self, w: np.ndarray, examples: SequenceExamples) -> np.ndarray:
        """P(label of a token | x), its sub-states summed, under exp(w · Φ) / Z, (tokens, L)."""
        free = np.zeros((examples.label_count, self._states(examples)))
        return self._summed(w, examples, free, 1.0)[2]

    def write_marginals(
        self, examples: SequenceExamples, predictions: Predictions, file: TextIO
    ) -> None:
        """The probability of every label of every token."""
        shares = self.marginals(predictions.w, examples)
        sequence_output.write_marginals(examples, predictions, shares, file)

    def warnings(self, examples: SequenceExamples) -> list[str]:
        """The warnings of ``sequence``, and the number of missing labels."""
        missing = int(np.sum(~examples.told))
        hidden = [f"{counted(missing, 'label is', 'labels are')} missing: hidden in training"]
        return super().warnings(examples) + hidden * (0 < missing < len(examples.labels))

    def _states(self, examples: SequenceExamples) -> int:
        return examples.label_count * self.options.substates

    def _size(self, examples: SequenceExamples, width: int) -> int:
        o = self.options
        return _sequence.dimension(width, self._states(examples), o.order, o.ends)

    def _outside(self, examples: SequenceExamples) -> np.ndarray:
        """Whether a sub-state does not belong to a label, (L S, L)."""
        owners = np.arange(self._states(examples)) // self.options.substates
        return (owners[:, None] != np.arange(examples.label_count)).astype(np.float64)

    def _plane(self, w: np.ndarray, examples: SequenceExamples, marks: np.ndarray) -> Plane:
        """The plane with these weights of the true labels, (L, L S)."""
        if self.epsilon == 0.0:
            gradient, _, path = self._best(w, examples, marks)
            losses = self._path_losses(examples, path // self.options.substates)
            return Plane(gradient, float(examples.costs @ losses))
        gradient, values, _ = self._summed(w, examples, marks, self.epsilon)
        return Plane(gradient, float(examples.costs @ values) - float(gradient @ w))

    def _path_losses(self, examples: SequenceExamples, labels: np.ndarray) -> np.ndarray:
        wrong = (labels != examples.labels) & (examples.labels >= 0)
        charges = self._charges(examples)[examples.labels] * wrong
        return np.add.reduceat(charges, examples.offsets[:-1])

    def _check_hard(self) -> None:
        if self.epsilon != 0.0:
            raise LssvmError(
                f"model {self.formulation.model} has no planes by example; expected solver.method: "
                "bundle or lbfgs, or objective.model: lssvm"
            )

    def _best_each(
        self, w: np.ndarray, examples: SequenceExamples, marks: np.ndarray
    ) -> base.Maxima:
        self._check_hard()
        _, values, path = self._best(w, examples, marks, summed=False)
        return base.Maxima(values, np.zeros(len(examples)), values, path)

    def _best(
        self, w: np.ndarray, examples: SequenceExamples, marks: np.ndarray, *, summed: bool = True
    ) -> Any:
        """Σ c_i Φ of the best paths or None, their values, and the sub-states, (tokens,)."""
        gradient, values, _, path = _sequence.search(
            ChainLoss(_sequence.PREDICT, np.zeros(self._states(examples)), np.zeros(1), False),
            examples.arrays,
            examples.labels,
            examples.costs,
            self._marked_weights(w, examples, marks),
            summed,
        )
        return self._without_marks(gradient, examples) if summed else None, values, path

    def _summed(
        self, w: np.ndarray, examples: SequenceExamples, marks: np.ndarray, epsilon: float
    ) -> Any:
        """Σ c_i E[Φ], ε log Z (n,), and marginals of labels, (tokens, L)."""
        held = np.where(marks == _FORBIDDEN, _FORBIDDEN, marks / epsilon)
        weights = self._marked_weights(w / epsilon, examples, held)
        gradient, logz, shares = _sequence_soft.expectations(
            examples.arrays, examples.costs, weights
        )
        of_labels = shares.reshape(len(shares), -1, self.options.substates).sum(axis=2)
        return self._without_marks(gradient, examples), epsilon * logz, of_labels

    def _marked_weights(self, w: np.ndarray, examples: SequenceExamples, marks: np.ndarray) -> Any:
        """The weights of the kernel; those of the additional features follow the emissions."""
        states, o = self._states(examples), self.options
        place = (examples.width - examples.label_count) * states
        whole = np.concatenate([w[:place], marks.ravel(), w[place:]])
        shape = ChainShape(examples.width, states, o.order, o.ends)
        return _sequence.Weights(whole, shape, examples.is_sparse)

    def _without_marks(self, gradient: np.ndarray, examples: SequenceExamples) -> np.ndarray:
        end = examples.width * self._states(examples)
        start = end - examples.label_count * self._states(examples)
        return np.concatenate([gradient[:start], gradient[end:]])
