"""Label sequences (Tsochantaridis, Hofmann, Joachims & Altun, ICML 2004, section 4.3).

x is a sequence of tokens with features φ(x_t) of dimension m, y has a label for each token. The
joint feature map of the hidden Markov SVM (Altun, Tsochantaridis & Hofmann, ICML 2003) is

    Φ(x, y) = Σ_t φ(x_t) ⊗ e(y_t)  ⊕  Σ_{t > 1} e(y_{t-1}) ⊗ e(y_t)

with e(a) the unit vector of label a; ``order: 2`` adds Σ_{t > 2} e(y_{t-2}) ⊗ e(y_{t-1}) ⊗ e(y_t),
and ``ends`` adds e(y_1) ⊕ e(y_T). w consists of emissions (m, L), first-order transitions (L, L)
from row to column, second-order transitions (L, L, L), then begin and end (L each).

Δ is the number of wrong labels, each counted with the cost of its true label (``hamming``), or 1
if any label is wrong (``zero_one``). All maxima are exact:

- Hamming, margin rescaling, linear slack: Viterbi with the loss added token by token;
- any other form of Hamming: the best path for each number e of errors by Viterbi over (state,
  errors), O(T² L²), then the best e. Costs of labels must then be equal;
- zero-one: the best path with an error against the truth (both rescalings are the same problem).

Ties go to the path with the lowest last label, then the lowest label before it, and so on; the
second and third kind first prefer fewer errors (none).

With ``model: crf`` it is a conditional random field (Lafferty, McCallum & Pereira, ICML 2001):
U⁺ = log Z and Δ ≡ 0, by forward and backward recursions; the loss part of a plane is then the
entropy log Z − w · E[Φ].
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TextIO

import numpy as np

from lssvm import sparse
from lssvm.applications import base, scaling
from lssvm.applications.names import NumberedNames
from lssvm.applications.parts import InParts
from lssvm.applications.scaling import Scaler
from lssvm.applications.sequence import marginals, reading, sequence_metrics, sequence_output
from lssvm.applications.sequence.compiled_tokens import CompiledTokens
from lssvm.applications.sequence.examples import SequenceExamples
from lssvm.applications.sequence.given_tokens import FromLists, examples_of
from lssvm.applications.sequence.marginals import Marginals
from lssvm.applications.sequence.sequence_counts import (
    SequenceCounts,
    added,
    counts_of,
    scores_of,
    unseen_alone,
    unseen_joined,
)
from lssvm.applications.sequence.sequence_explaining import SequenceExplainer
from lssvm.applications.sequence.sequence_options import SequenceOptions
from lssvm.applications.sequence.sequence_output import Predictions
from lssvm.applications.sequence.sequence_written import SequenceWritten
from lssvm.applications.sequence.sequences_apart import SequencesApart
from lssvm.applications.sequence.vocabulary import Vocabulary, WeightNames
from lssvm.errors import LssvmError, counted, nearest
from lssvm.kernels import _sequence, _sequence_examples, _sequence_soft
from lssvm.kernels.arrays import ChainLoss, ChainShape
from lssvm.plane import Plane

CRF = "crf"
MOST_PATHS = 1000
_SHOWN = 3  # labels that a warning names


class LabelSequences(
    FromLists,
    SequenceExplainer,
    SequenceWritten,
    SequencesApart,
    base.Application[SequenceExamples, Predictions],
    InParts[SequenceExamples, Predictions],
):
    """The base of applications of label sequences; only subclasses have hidden values."""

    Options: ClassVar[type[base.Options]] = SequenceOptions
    hidden = False
    starter_files: ClassVar = {"train": ["train.conll"], "test": ["test.conll"]}

    def __init__(
        self, options: SequenceOptions, formulation: base.Formulation | None = None
    ) -> None:
        super().__init__(options, formulation or base.Formulation("ssvm"))
        self.vocabulary: Vocabulary | None = None
        self.scaler = Scaler(options.scaling)
        self.soft = self.formulation.model == CRF
        self.slack = self.formulation.rescaling == "slack"
        if self.soft and (self.slack or self.formulation.slack_norm != 1):
            raise LssvmError("model crf has no slack; expected rescaling: margin, slack_norm: 1")
        if options.class_costs and (self.soft or options.loss == "zero_one"):
            raise LssvmError(
                "application.class_costs: model crf and loss: zero_one do not weigh errors; "
                "expected model: ssvm and loss: hamming"
            )
        self.task = _sequence.COUNTED
        if options.loss == "zero_one":
            self.task = _sequence.ZERO_ONE
        elif not self.slack and self.formulation.slack_norm != 2:
            self.task = _sequence.HAMMING

    def read(self, sources: Sequence[base.Source]) -> SequenceExamples:
        """The sequences of files; the first ones fix labels and attributes. Raises DataError."""
        read = reading.read_conll if self.options.format == "conll" else reading.read_numeric
        return self._fitted(read(sources, self._layout(), self.vocabulary))

    def _taken(self, X: Any, y: Any, costs: Any) -> SequenceExamples:
        texts = self.options.format == "conll"
        return self._fitted(examples_of(X, y, costs, self._layout(), texts, self.vocabulary))

    def _fitted(self, examples: SequenceExamples) -> SequenceExamples:
        """The examples as training takes them; the first ones fix labels and attributes."""
        self._adopt(examples)
        return self.scaler.scaled(examples, examples.width - examples.vocabulary.bias)

    def read_parts(self, sources: Sequence[base.Source]) -> Iterator[SequenceExamples]:
        """The sequences of :meth:`read` in parts. Raises DataError."""
        if self.vocabulary is None:
            yield self.read(sources)
            return
        read = reading.conll_parts if self.options.format == "conll" else reading.numeric_parts
        for examples in read(sources, self._layout(), self.vocabulary):
            yield self.scaler.scaled(examples, examples.width - examples.vocabulary.bias)

    def kept(
        self, examples: SequenceExamples, predictions: Predictions
    ) -> tuple[SequenceExamples, Predictions]:
        """The labels that training does not have, and what scores add up from."""
        none, found = np.empty((0, 0)), self._counts(examples, predictions)
        return unseen_alone(examples), Predictions(none, none, none.ravel(), found)

    def joined(
        self, parts: Sequence[tuple[SequenceExamples, Predictions]]
    ) -> tuple[SequenceExamples, Predictions]:
        """Those of all parts."""
        none = np.empty((0, 0))
        found = added([predictions.counts for _, predictions in parts if predictions.counts])
        others = unseen_joined([part for part, _ in parts])
        return others, Predictions(none, none, none.ravel(), found)

    def _layout(self) -> reading.Layout:
        o = self.options
        return reading.Layout(o.columns, o.label_column, o.templates, o.bias, o.min_count)

    def state(self) -> dict[str, np.ndarray]:
        """The names of labels and features."""
        names = {} if self.vocabulary is None else self.vocabulary.arrays()
        return names | self.scaler.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the names of a model. Raises ModelError."""
        scales = self.scaler.names
        names = {name: array for name, array in state.items() if name not in scales}
        self.vocabulary = Vocabulary.from_arrays(names)
        self.scaler.restore(state, self.vocabulary.width - self.vocabulary.bias)

    def known_dimension(self) -> int | None:
        """As ``dimension``."""
        return None if self.vocabulary is None else len(self.feature_names())

    def dimension(self, examples: SequenceExamples) -> int:
        """m L + L², plus L³ if the order is 2, plus 2 L with ``ends``."""
        self._adopt(examples)
        o = self.options
        return _sequence.dimension(examples.width, examples.label_count, o.order, o.ends)

    def feature_names(self) -> Sequence[str]:
        """``feature : label`` for emissions, ``a -> b`` for transitions."""
        vocabulary = self.vocabulary or Vocabulary((), 0)
        return WeightNames(vocabulary, self.options.order, self.options.ends)

    def start(self, examples: SequenceExamples, rng: np.random.Generator) -> Plane:
        """Σ c_i Φ(x_i, y_i). Raises DataError if a token has no label."""
        return self.completed(np.zeros(self.dimension(examples)), examples)

    def completed(self, w: np.ndarray, examples: SequenceExamples) -> Plane:
        """Σ c_i Φ(x_i, y_i), for any w. Raises DataError if a token has no label."""
        self._check_trainable(examples)
        gradient, *_ = self._search(_sequence.TRUTH, w, examples, summed=True)
        return Plane(gradient, 0.0)

    def work(self, examples: SequenceExamples) -> np.ndarray:
        """From tokens, features, states and the recursion; reduced if w is long."""
        sums = 0 if self._shared(examples) else self.dimension(examples)
        soft, order = not self.formulation.hard, self.options.order
        found = examples.work(self._states(examples), order, soft, sums)
        return found * np.diff(examples.offsets) if self.task == _sequence.COUNTED else found

    def augmented(self, w: np.ndarray, examples: SequenceExamples) -> tuple[Plane, float]:
        """Σ c_i U⁺_i; exact."""
        if self.soft:
            gradient, logz, _ = self._expected(w, examples)
            plane = Plane(gradient, float(np.sum(examples.costs * logz) - gradient @ w))
        else:
            gradient, _, losses, _ = self._search(self.task, w, examples, summed=True)
            plane = Plane(gradient, float(np.sum(examples.costs * losses)))
        return plane, plane.value(w)

    def predict(self, w: np.ndarray, examples: SequenceExamples, top: int = 1) -> Predictions:
        """The ``top`` label sequences with the highest w · Φ, best first; exact.

        Raises LssvmError for more than 1,000, DataError where a sequence is too long for them.
        """
        if top == 1:
            _, values, _, labels = self._search(_sequence.PREDICT, w, examples)
            return Predictions(labels[:, None], values[:, None], w)
        if top > MOST_PATHS:
            raise LssvmError(f"--top {top}: too many paths; expected at most {MOST_PATHS:,d}")
        examples.check_room(examples.label_count**self.options.order, 2 * top)
        weights = self._weights(w, examples)
        labels, scores = _sequence_soft.best_paths(examples.arrays, weights, top)
        return Predictions(labels, scores, w)

    def prediction_values(self, examples: SequenceExamples, predictions: Predictions) -> np.ndarray:
        """Values of the best paths, or ε log Z, (n,)."""
        return predictions.scores[:, 0]

    def marginals(self, w: np.ndarray, examples: SequenceExamples) -> np.ndarray:
        """P(label of a token | x) under exp(w · Φ) / Z, (tokens, L)."""
        return self._expected(w, examples)[2]

    def losses(self, examples: SequenceExamples, predictions: Predictions) -> np.ndarray:
        """Δ of the best path of each example, (n,); labels unseen in training cost 1."""
        wrong = (predictions.labels[:, 0] != examples.labels) & examples.told
        starts = examples.offsets[:-1]
        if self.options.loss == "zero_one":
            return np.logical_or.reduceat(wrong, starts).astype(np.float64)
        charges = np.append(self._charges(examples), 1.0)[examples.labels]
        return np.add.reduceat(charges * wrong, starts)

    def score(
        self, examples: SequenceExamples, predictions: Predictions
    ) -> dict[str, float | None]:
        """Errors of tokens and of whole sequences in percent, mean Δ, and scores of entities.

        precision, recall and f1 are those of conlleval; f1_strict requires that labels follow their
        scheme (see ``sequence_metrics``). They are None if the labels do not describe entities. A
        label unseen in training is an error; such labels are counted. Tokens with unknown labels
        are left out, and so are the entities of their sequences.
        """
        return scores_of(predictions.counts or self._counts(examples, predictions))

    def _counts(self, examples: SequenceExamples, predictions: Predictions) -> SequenceCounts:
        none = np.empty((0, 0))

        def losses(own: SequenceExamples, labels: np.ndarray) -> np.ndarray:
            return self.losses(own, Predictions(labels[:, None], none, none.ravel()))

        return counts_of(examples, predictions.labels[:, 0], losses)

    @property
    def formats(self) -> Mapping[str, Callable[[Any, Any, TextIO], None]]:
        """The formats that ``lssvm-classify`` can write; the first one is the default."""
        kinds = {"tags": sequence_output.write_tags, "marginals": self.write_marginals}
        if self.options.format == "conll":
            return {"conll": sequence_output.write_columns, **kinds}
        return kinds

    def write(self, examples: SequenceExamples, predictions: Predictions, file: TextIO) -> None:
        """The lines of a CoNLL file with a predicted label, or else one label per line."""
        next(iter(self.formats.values()))(examples, predictions, file)

    def write_marginals(
        self, examples: SequenceExamples, predictions: Predictions, file: TextIO
    ) -> None:
        """The probability of every label of every token. Raises LssvmError if not a CRF."""
        if not self.soft:
            raise LssvmError("--format marginals: a structural SVM has none; expected model: crf")
        shares = self.marginals(predictions.w, examples)
        sequence_output.write_marginals(examples, predictions, shares, file)

    def records(
        self, examples: SequenceExamples, predictions: Predictions
    ) -> Iterator[dict[str, Any]]:
        """One dictionary per sequence, see ``sequence_output.records``."""
        return sequence_output.records(examples, predictions, self.losses(examples, predictions))

    def warnings(self, examples: SequenceExamples) -> list[str]:
        """Warnings about labels unseen in training, and about data with one label only."""
        found = []
        unseen = sorted({tag for tag in examples.tags[examples.labels < 0] if tag is not None})
        if unseen:
            count = int(np.sum((examples.labels < 0) & examples.told))
            shown = ", ".join(map(repr, unseen[:_SHOWN]))
            more = f" and {len(unseen) - _SHOWN} more" if len(unseen) > _SHOWN else ""
            found.append(
                f"{counted(count, 'token has a label', 'tokens have labels')} that training did "
                f"not see ({shown}{more}): an error in scores"
            )
        if examples.labelled and len(set(examples.tags)) == 1:
            found.append(f"all labels are {examples.tags[0]!r}: there is nothing to tell apart")
        return found + self._unscored(examples) + self.scaler.warnings(examples)

    def training_warnings(self, examples: SequenceExamples, predictions: Predictions) -> list[str]:
        """A warning if sparse rows are not centred although ``scaling`` asks for it."""
        return self.scaler.warnings(examples)

    def scale_warnings(self, examples: SequenceExamples) -> list[str]:
        """A warning if the scales of numeric features differ much."""
        if self.options.format != "svm_hmm":
            return []
        count = examples.vocabulary.width - examples.vocabulary.bias
        facts = scaling.facts_of(examples.inputs[:, :count])
        return scaling.uneven(facts.largest, NumberedNames(count), scaling.BY_DATA)

    def output_warnings(self, examples: SequenceExamples, name: str) -> list[str]:
        """A warning about the label because of which entities are not scored, if there is one."""
        return self._unscored(examples) if examples.labelled else []

    def _unscored(self, examples: SequenceExamples) -> list[str]:
        others = examples.tags[examples.labels < 0]
        names = {*examples.vocabulary.labels, *others} - {None}
        odd = sequence_metrics.misfit(names)
        if odd is None:
            return []
        return [
            f"entities are not scored: label {odd!r} does not fit a scheme of the other labels; "
            "expected O and B-…, I-… (or IOE, IOBES, BILOU, BMES)"
        ]

    def _adopt(self, examples: SequenceExamples) -> None:
        """Set the vocabulary: examples made in memory have their own. Raises LssvmError."""
        if self.vocabulary is not None:
            return
        labels = examples.vocabulary.labels
        unknown = [name for name in self.options.class_costs if name not in labels]
        if unknown:
            known, near = ", ".join(labels[:20]), nearest(unknown[0], labels)
            wrong = f"no token has the label {unknown[0]!r}{near} (known: {known})"
            raise LssvmError(f"application.class_costs: {wrong}")
        if self.task != _sequence.HAMMING and len(set(self._charges(examples))) > 1:
            raise LssvmError(
                "application.class_costs: costs that differ need loss: hamming, "
                "rescaling: margin and slack_norm: 1"
            )
        self.formulation.margin(self._charges(examples))  # refuses what does not fit without slack
        self.vocabulary = examples.vocabulary

    def _check_trainable(self, examples: SequenceExamples) -> None:
        lost = np.flatnonzero(examples.labels < 0)
        if len(lost):
            row = int(np.searchsorted(examples.offsets, lost[0], side="right")) - 1
            raise examples.error(
                row,
                "has a token without a label; expected labels for training, or application "
                "latent_sequence, in which they are hidden",
            )

    def _states(self, examples: SequenceExamples) -> int:
        """States of a token: L."""
        return examples.label_count

    def _shared(self, examples: SequenceExamples) -> bool:
        """Whether blocks of examples have no sums of their own."""
        return False

    def _charges(self, examples: SequenceExamples) -> np.ndarray:
        """The cost of an error by true label, (L,)."""
        costs = self.options.class_costs
        return np.array([costs.get(name, 1.0) for name in examples.vocabulary.labels])

    def _search(
        self, task: int, w: np.ndarray, examples: SequenceExamples, summed: bool = False
    ) -> Any:
        return _sequence.search(
            self._loss(task, examples),
            examples.arrays,
            examples.labels,
            examples.costs,
            self._weights(w, examples),
            summed,
        )

    def _loss(self, task: int, examples: SequenceExamples) -> ChainLoss:
        charges, margins = self._charges(examples), np.zeros(1)
        if task == _sequence.COUNTED:
            longest = int(np.max(np.diff(examples.offsets), initial=1))
            examples.check_room(examples.label_count**self.options.order, longest)
            margins = self.formulation.margin(charges[0] * np.arange(longest + 1))
        slack = self.slack and task not in (_sequence.TRUTH, _sequence.PREDICT)
        return ChainLoss(task, charges, margins, slack)

    def _expected(self, w: np.ndarray, examples: SequenceExamples) -> Any:
        weights = self._weights(w, examples)
        return _sequence_soft.expectations(examples.arrays, examples.costs, weights)

    def _weights(self, w: np.ndarray, examples: SequenceExamples) -> Any:
        w = np.ascontiguousarray(w, dtype=np.float64)
        return _sequence.Weights(w, self._shape(examples), examples.is_sparse)

    def _shape(self, examples: SequenceExamples) -> ChainShape:
        o = self.options
        return ChainShape(examples.width, examples.label_count, o.order, o.ends)


class SequenceLabelling(
    LabelSequences,
    CompiledTokens,
    base.KernelRows[SequenceExamples],
    base.Gathering[SequenceExamples],
):
    """Label sequences: named entities, parts of speech, letters of words."""

    models = frozenset({"ssvm", CRF})
    smooth = frozenset({CRF})
    rescalings = frozenset({"margin", "slack"})
    slack_norms = frozenset({0, 1, 2})

    def known_inputs(self) -> tuple[int, int] | None:
        """Features of a token, and labels."""
        found = self.vocabulary
        return None if found is None else (found.width, len(found.labels))

    def gathers(self, examples: SequenceExamples) -> bool:
        """For a conditional random field with sparse rows."""
        return self._shared(examples)

    def _shared(self, examples: SequenceExamples) -> bool:
        return self.soft and examples.is_sparse

    def coefficients(self, w: np.ndarray, examples: SequenceExamples) -> Marginals:
        """Expectations at w."""
        return marginals.marginals_of(examples, self._weights(w, examples))

    def gathered(
        self, w: np.ndarray, examples: SequenceExamples, parts: list[Marginals], each: base.Each
    ) -> tuple[Plane, float]:
        """Σ c_i U⁺_i; exact."""
        whole = marginals.joined(parts, each)  # before room for the gradient is taken
        gradient = marginals.gradient(examples, whole, each)
        plane = Plane(gradient, whole.value - float(gradient @ w))
        return plane, plane.value(w)

    def curvature(
        self, w: np.ndarray, examples: SequenceExamples, parts: list[Marginals], each: base.Each
    ) -> np.ndarray:
        """That of independent labels, see ``marginals.curvature``."""
        return marginals.curvature(examples, marginals.joined(parts, each), each)

    def columns_per_row(self, examples: SequenceExamples) -> int:
        """L, the number of labels."""
        return examples.label_count

    def features_of_values(self, examples: SequenceExamples) -> tuple[np.ndarray, int] | None:
        """The feature of each value of sparse rows, and their number; None if rows are dense."""
        return (examples.own_rows.indices, examples.width) if examples.is_sparse else None

    def augmented_each(self, w: np.ndarray, examples: SequenceExamples) -> base.Maxima:
        """The path that attains U⁺_i for each example; ``outputs`` are labels, (tokens,).

        Raises LssvmError with ``model: crf``, which has no single path.
        """
        if self.soft:
            raise LssvmError("model crf has no planes by example; expected solver.method: bundle")
        return self._each(self.task, w, examples)

    def completed_each(self, w: np.ndarray, examples: SequenceExamples) -> base.Maxima:
        """w · Φ(x_i, y_i) for each example; ``outputs`` are its labels, (tokens,)."""
        self._check_trainable(examples)
        return self._each(_sequence.TRUTH, w, examples)

    def gradients(
        self, examples: SequenceExamples, found: base.Maxima, rows: np.ndarray
    ) -> "sparse.csr_array":
        """Φ of the paths that were found, (len(rows), d), without costs.

        With slack rescaling L Φ(x, ŷ) + (1 − L) Φ(x, y). Each coordinate is summed token by token,
        so that the common part of two paths cancels exactly in the difference of their rows.
        """
        shares = found.losses if self.slack else np.ones(len(examples))
        starts, indices, values = _sequence.gradients(
            examples.arrays,
            found.outputs,
            examples.labels,
            np.ascontiguousarray(shares),
            np.ascontiguousarray(rows, dtype=np.int64),
            self._shape(examples),
        )
        shape = (len(rows), self.dimension(examples))
        matrix = sparse.csr_array((values, indices, starts), shape=shape)
        matrix.sort_indices()
        return matrix

    def example_oracle(self, examples: SequenceExamples) -> Any:
        """Inference for one sequence at a time, in C. Raises DataError without all labels."""
        self._check_trainable(examples)
        if not examples.is_sorted:
            examples = examples.with_inputs(examples.inputs.sorted_indices())
        loss, shape = self._loss(self.task, examples), self._shape(examples)
        return _sequence_examples.ExampleOracle(loss, examples.arrays, examples.labels, shape)

    def _each(self, task: int, w: np.ndarray, examples: SequenceExamples) -> base.Maxima:
        _, values, losses, labels = self._search(task, w, examples)
        return base.Maxima(values, losses, values, labels)
