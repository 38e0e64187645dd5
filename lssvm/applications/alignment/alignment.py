"""Learning to align sequences (Tsochantaridis, Hofmann, Joachims & Altun, ICML 2004, section 4.4).

An alignment of x and z is a set of pairs of their letters in increasing order. Φ counts pairs of
letters, gaps and their letters (see ``scoring``), so that w are substitution scores and gap scores,
and the best alignment is found by Smith-Waterman or Needleman-Wunsch with affine gaps. In a run
without pairs, letters of x come before letters of z, each a gap of its own: every alignment counts
once. With ``free_ends`` one of two gaps at an end is free, in the best alignment the one for which
the score is higher; of an alignment of a file it is the longer one.

With ``task: homolog`` an example is a native sequence with candidates, y is the candidate that is
its homolog, h the alignment with it, and Δ = [y ≠ y_i]. With ``model: ssvm`` the alignment with the
homolog is given, and the homolog competes by it alone, as in the paper:

    U⁺ = max{ w · Φ(x, z_i, a_i), max over decoys z and alignments a of 1 + w · Φ(x, z, a) }
    U⁻ = w · Φ(x, z_i, a_i)

With all other models it is hidden, and alignments of the files are not used, except as a start:

    z(y) = ε_h log Σ_a exp(w · Φ(x, y, a) / ε_h)
    U⁺ = ε_y log Σ_y exp((Δ + z(y)) / ε_y),   U⁻ = z(y_i)

with maxima for ε → 0 (``formulation.TEMPERATURES``). Prediction is the y with the highest z(y);
of equal candidates the last one, so that it is no advantage to be listed first.

With ``task: pairs`` y is the alignment itself, and Δ the share of truly aligned pairs that are
missed, 1 − Q, or of letters that are not within ``shift`` of their true partner. It is a sum over
pairs of positions, so loss-augmented inference is exact. Models are ``ssvm`` and ``crf``, a
conditional random field over alignments (Δ ≡ 0). Nothing is hidden: without true alignments there
is no output to learn from.

With a prior w₀, scores are (w + w₀) · Φ, and ½‖w‖² is the squared distance from the prior. Planes
contain w₀ · Φ in their loss part. Where nothing is hidden, w₀ · Φ of the truth is subtracted, a
constant.

All maxima are exact. Ties: the truth before decoys, then the first candidate; see ``_alignment``
for those of alignments.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TextIO

import numpy as np
from scipy import sparse

from lssvm.applications import base
from lssvm.applications.alignment import alignment_metrics, alignment_output, inference
from lssvm.applications.alignment.alignment_explaining import AlignmentExplainer
from lssvm.applications.alignment.alignment_options import CRF, AlignmentOptions, check_model
from lssvm.applications.alignment.alignment_output import Predictions
from lssvm.applications.alignment.alignment_parts import (
    joined_labels,
    joined_scores,
    labels_alone,
    scores_alone,
)
from lssvm.applications.alignment.alignment_written import AlignmentWritten
from lssvm.applications.alignment.alignments_apart import AlignmentsApart
from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.alignment.given_alignments import FromSequences
from lssvm.applications.alignment.inference import Alignments
from lssvm.applications.alignment.reading import read_example_parts, read_examples
from lssvm.applications.alignment.scoring import Scoring
from lssvm.applications.parts import Form, InParts, headed
from lssvm.errors import LssvmError
from lssvm.kernels import _alignment
from lssvm.plane import Plane

HARD_NS, SOFT_NS = 1.0, 40.0  # of a cell, about


@dataclass(frozen=True)
class WithPrior(base.Formulation):
    """A formulation whose planes have scores of the prior in their loss part."""

    @property
    def hard(self) -> bool:
        """False: the loss part of a plane is not a loss."""
        return False


class Alignment(
    FromSequences,
    AlignmentExplainer,
    AlignmentWritten,
    AlignmentsApart,
    base.ByExample[AlignmentExamples],
    InParts[AlignmentExamples, Predictions],
):
    """Alignment; which sequence is homologous, or the alignment itself, is predicted."""

    Options = AlignmentOptions
    models = frozenset({*base.TEMPERATURES, base.ANNEALED, CRF})
    smooth = base.SMOOTH | {CRF}
    rescalings = frozenset({"margin", "slack"})
    slack_norms = frozenset({0, 1, 2})
    starter_files: ClassVar = {"train": ["train.fa"], "test": ["test.fa"]}

    def __init__(
        self, options: AlignmentOptions, formulation: base.Formulation | None = None
    ) -> None:
        super().__init__(options, formulation or base.Formulation("ssvm"))
        form = self.formulation
        check_model(options, form)
        self.hidden = form.model not in ("ssvm", CRF)
        self.pairs = options.task == "pairs"
        self.epsilon_y, self.epsilon_h = (1.0, 1.0) if form.model == CRF else form.temperatures
        self.soft = self.epsilon_y > 0.0 or self.epsilon_h > 0.0
        self.scoring = Scoring(options)
        self.prior = self.scoring.prior
        if np.any(self.prior):
            self.formulation = WithPrior(**vars(form))

    def read(self, sources: Sequence[base.Source]) -> AlignmentExamples:
        """The examples of FASTA files or multiple alignments. Raises DataError."""
        return read_examples(sources, self.scoring, self.options.task, self.options.format)

    def read_parts(self, sources: Sequence[base.Source]) -> Iterator[AlignmentExamples]:
        """The examples of :meth:`read` in parts. Raises DataError."""
        return read_example_parts(sources, self.scoring, self.options.task, self.options.format)

    def part_writer(self, name: str) -> Form | None:
        """The table with one header."""
        if name != "scores":
            return None
        return headed(alignment_output.write_scores, alignment_output.write_rows)

    def kept(
        self, examples: AlignmentExamples, predictions: Predictions
    ) -> tuple[AlignmentExamples, Predictions]:
        """The true candidates and all scores, or how good the alignments are."""
        shift = self.options.shift if self.pairs else None
        return labels_alone(examples), scores_alone(examples, predictions, shift)

    def joined(
        self, parts: Sequence[tuple[AlignmentExamples, Predictions]]
    ) -> tuple[AlignmentExamples, Predictions]:
        """Those of all parts."""
        examples, found = zip(*parts, strict=True)
        return joined_labels(examples), joined_scores(found)

    def known_dimension(self) -> int:
        """As ``dimension``."""
        return self.scoring.dimension

    def dimension(self, examples: AlignmentExamples) -> int:
        """Pairs of letters, of classes and of neighbourhoods, and one or two for gaps."""
        return self.scoring.dimension

    def feature_names(self) -> list[str]:
        """``A R`` …, ``class DE, class KRH``, ``gap open``, ``gap extend``."""
        return self.scoring.names

    def work(self, examples: AlignmentExamples) -> np.ndarray:
        """By the cells of all alignments."""
        return (SOFT_NS if self.soft else HARD_NS) * examples.sizes

    def start_each(
        self, examples: AlignmentExamples, rng: np.random.Generator
    ) -> base.Maxima | np.ndarray:
        """As ``start``, for every example apart."""
        self.check_start(examples)
        if not self.starts_given:
            return self.first_weights()
        if not self.hidden:
            return self.completed_each(np.zeros(self.scoring.dimension), examples)
        found = inference.truth(examples, self.scoring)
        return self._maxima(np.zeros(self.scoring.dimension), found, np.zeros(len(examples)))

    def check_start(self, examples: AlignmentExamples) -> None:
        """Raise DataError without true outputs, or without alignments that are needed."""
        self._check_trainable(examples)
        if self.hidden and self.starts_given:
            self._check_aligned(examples, "initialisation: given")

    def augmented(self, w: np.ndarray, examples: AlignmentExamples) -> tuple[Plane, float]:
        """Σ c_i U⁺_i; exact."""
        if self.soft:
            plane = self._soft_augmented(w, examples)
        else:
            found, losses, _ = self._augmented(w, examples)
            plane = self._plane(
                found.gradient(self.scoring, examples.costs), float(examples.costs @ losses)
            )
            if not self.hidden and np.any(self.prior):
                shift = inference.truth(examples, self.scoring)
                of_truth = shift.gradient(self.scoring, examples.costs)
                plane = Plane(plane.gradient, plane.loss - float(self.prior @ of_truth))
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: AlignmentExamples) -> Plane:
        """Σ c_i U⁻_i: the given alignments, or those that are completed at w.

        Raises DataError as ``start`` does.
        """
        self._check_trainable(examples)
        if not self.hidden:
            found = inference.truth(examples, self.scoring)
            return Plane(found.gradient(self.scoring, examples.costs), 0.0)
        arrays = examples.pairs(examples.true_places)
        if self.epsilon_h == 0.0:
            found = inference.best(w, arrays, self.scoring)
            return self._plane(found.gradient(self.scoring, examples.costs), 0.0)
        costs = np.ascontiguousarray(examples.costs)
        values, gradient = inference.summed(w, arrays, costs, self.scoring, self.epsilon_h)
        return Plane(gradient, float(costs @ values) - float(gradient @ w))

    def augmented_each(self, w: np.ndarray, examples: AlignmentExamples) -> base.Maxima:
        """The output that attains U⁺_i for each example. Raises LssvmError for soft models."""
        self._check_hard()
        found, losses, _ = self._augmented(w, examples)
        return self._maxima(w, found, losses, self._shift(examples))

    def completed_each(self, w: np.ndarray, examples: AlignmentExamples) -> base.Maxima:
        """The given alignment of each example, or the one that is completed at w."""
        self._check_trainable(examples)
        if not self.hidden:
            found = inference.truth(examples, self.scoring)
            return self._maxima(w, found, np.zeros(len(examples)), self._shift(examples))
        self._check_hard()
        arrays = examples.pairs(examples.true_places)
        found = inference.best(w, arrays, self.scoring)
        return self._maxima(w, found, np.zeros(len(examples)))

    def gradients(
        self, examples: AlignmentExamples, found: base.Maxima, rows: np.ndarray
    ) -> sparse.csr_array:
        """Φ of the outputs that were found, (len(rows), d), without costs."""
        return sparse.csr_array(found.outputs[np.asarray(rows)])

    def predict(self, w: np.ndarray, examples: AlignmentExamples, top: int = 1) -> Predictions:
        """The candidate with the highest z(y), and its best alignment.

        Raises LssvmError if ``top`` is not 1.
        """
        if top != 1:
            raise LssvmError(f"--top {top}: application 'alignment' scores all candidates as it is")
        epsilon = 0.0 if self.pairs else self.epsilon_h
        values = inference.values(w, examples.pairs(), self.scoring, epsilon)
        chosen = inference.highest(values, examples.candidates, last=True)
        found = inference.best(w, examples.pairs(chosen), self.scoring)
        similar = self.scoring.scores(w)[0] > 0.0
        places = chosen - examples.candidates[:-1]
        return Predictions(places, values, values[chosen], found, similar)

    def prediction_values(
        self, examples: AlignmentExamples, predictions: Predictions
    ) -> np.ndarray | None:
        """z of the predictions, (n,); None where the truth competes by its given alignment."""
        if np.any(self.prior) or not (self.hidden or self.pairs):
            return None
        return predictions.scores

    def losses(self, examples: AlignmentExamples, predictions: Predictions) -> np.ndarray:
        """Δ of the predictions, (n,)."""
        if self.pairs:
            return alignment_metrics.missed(examples, predictions.found, self.options.shift)
        return (predictions.chosen != examples.truth).astype(np.float64)

    def score(
        self, examples: AlignmentExamples, predictions: Predictions
    ) -> dict[str, float | None]:
        """The share of wrong first places and the mean rank of homologs; or Q and modeler score."""
        if self.pairs:
            found = predictions.quality or alignment_metrics.quality(
                examples, predictions.found, self.options.shift
            )
            return alignment_metrics.alignment_scores(found)
        losses = self.losses(examples, predictions)
        return alignment_metrics.homolog_scores(examples, predictions.values, losses)

    @property
    def formats(self) -> Mapping[str, Callable[[Any, Any, TextIO], None]]:
        """The formats that ``lssvm-classify`` can write; the first one is the default."""
        return {
            "scores": alignment_output.write_scores,
            "fasta": alignment_output.write_fasta,
            "text": alignment_output.write_text,
        }

    @property
    def folder_formats(self) -> Mapping[str, base.FolderFormat]:
        """Pictures of the alignments, one file for each example."""
        return {"svg": base.numbered_files(".svg", alignment_output.pictures)}

    def write(self, examples: AlignmentExamples, predictions: Predictions, file: TextIO) -> None:
        """A table of natives, candidates and scores."""
        alignment_output.write_scores(examples, predictions, file)

    def records(
        self, examples: AlignmentExamples, predictions: Predictions
    ) -> Iterator[dict[str, Any]]:
        """One dictionary per example, see ``alignment_output.records``."""
        losses = self.losses(examples, predictions)
        return alignment_output.records(examples, predictions, losses, self.pairs)

    def check_summary(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> None:
        """Check the share of ``summary``. Raises ModelError."""
        alignment_output.check(arrays)

    def describe(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Scores of gaps, and the share of first places that rounding keeps."""
        _, (first, other, _) = self.scoring.scores(w)
        described = {"first letter of a gap": first, "further letters": other}
        if not self.pairs:
            described["first places kept by the rounded matrix"] = float(arrays["kept_first"][0])
        return described

    @property
    def exports(self) -> Mapping[str, base.Export]:
        """The substitution matrix in the text format of BLAST."""

        def write_matrix(w: np.ndarray, arrays: Mapping[str, np.ndarray], path: Any) -> None:
            alignment_output.write_matrix(w, arrays, path, self.scoring, self.options)

        return {"matrix": write_matrix}

    def warnings(self, examples: AlignmentExamples) -> list[str]:
        """Warnings about letters outside of the alphabet, and about alignments that are missing."""
        return alignment_metrics.data_warnings(examples, self.scoring)

    def _check_hard(self) -> None:
        if self.soft:
            raise LssvmError(
                f"model {self.formulation.model} has no planes by example; expected solver.method: "
                "bundle or lbfgs, or objective.model: ssvm or lssvm"
            )

    def _check_trainable(self, examples: AlignmentExamples) -> None:
        """Refuse examples without an output, and, where it is needed, without an alignment."""
        lost = np.flatnonzero(examples.truth < 0)
        if len(lost):
            wrong = "has rows of different lengths" if self.pairs else "has no homolog"
            expected = "aligned rows" if self.pairs else "role=homolog of one record"
            message = f"{wrong}; expected {expected} for training"
            raise examples.error(int(lost[0]), message)
        if not self.hidden:
            self._check_aligned(examples, f"objective.model: {self.formulation.model}")
        if (
            self.hidden
            and self.options.initialisation == "zero"
            and self.options.mode == "local"
            and not np.any(self.prior)
        ):
            raise LssvmError(
                "application.initialisation: zero: at w = 0 the best local alignment is the empty "
                "one, from which nothing is learnt; expected scores or given, or mode: global"
            )

    def _check_aligned(self, examples: AlignmentExamples, needed: str) -> None:
        lost = np.flatnonzero(~examples.aligned)
        if len(lost):
            raise examples.error(
                int(lost[0]),
                f"is not aligned with its homolog, which {needed} needs; expected two rows of one "
                "length, or objective.model: lssvm, in which alignments are hidden",
            )

    def _plane(self, gradient: np.ndarray, loss: float) -> Plane:
        return Plane(gradient, loss + float(self.prior @ gradient))

    def _shift(self, examples: AlignmentExamples) -> np.ndarray:
        """What is subtracted from U⁺ and U⁻ of each example, (n,)."""
        if self.hidden or not np.any(self.prior):
            return np.zeros(len(examples))
        of_truth = inference.truth(examples, self.scoring).gradients(self.scoring)
        return np.asarray(of_truth @ self.prior)

    def _maxima(
        self,
        w: np.ndarray,
        found: Alignments,
        losses: np.ndarray,
        shift: np.ndarray | float = 0.0,
    ) -> base.Maxima:
        gradients = found.gradients(self.scoring)
        parts = losses + gradients @ self.prior - shift
        values = parts + gradients @ w
        return base.Maxima(values, parts, values, gradients)

    def _augmented(
        self, w: np.ndarray, examples: AlignmentExamples
    ) -> tuple[Alignments, np.ndarray, np.ndarray]:
        """What attains U⁺_i, its Δ, and its score with Δ, for every example; maxima only."""
        if self.pairs:
            return self._augmented_pairs(w, examples)
        values = inference.values(w, examples.pairs(), self.scoring, 0.0)
        values = values + 1.0
        true = examples.true_places
        given = inference.truth(examples, self.scoring)
        if self.hidden:
            values[true] -= 1.0
        else:
            values[true] = given.scores(self.scoring, w)
        chosen = inference.highest(values, examples.candidates)
        chosen = np.where(values[true] >= values[chosen], true, chosen)
        losses = (chosen != true).astype(np.float64)
        if self.hidden or np.all(losses > 0.0):
            return inference.best(w, examples.pairs(chosen), self.scoring), losses, values[chosen]
        return self._with_given(w, examples, chosen, losses > 0.0), losses, values[chosen]

    def _with_given(
        self, w: np.ndarray, examples: AlignmentExamples, chosen: np.ndarray, wrong: np.ndarray
    ) -> Alignments:
        """The best alignments of candidates that are wrong, the given ones of all others."""
        arrays = examples.pairs(chosen)
        partners = examples.true_partners(arrays)
        found = inference.best(w, examples.pairs(chosen[wrong]), self.scoring)
        partners[np.repeat(wrong, arrays.sizes[:, 0])] = found.partners
        return Alignments(arrays, partners, found.model, ~wrong)

    def _augmented_pairs(
        self, w: np.ndarray, examples: AlignmentExamples
    ) -> tuple[Alignments, np.ndarray, np.ndarray]:
        arrays = examples.pairs()
        table, model = self.scoring.scores(w)
        counts = alignment_metrics.true_counts(examples)
        losses = (
            examples.partners[examples.own_letters],
            -1.0 / counts,
            self.options.shift,
        )
        values, partners = _alignment.best(arrays, table, model, losses)
        found = Alignments(arrays, partners, model, False)
        missed = alignment_metrics.missed(examples, found, self.options.shift)
        return found, missed, 1.0 + values

    def _soft_augmented(self, w: np.ndarray, examples: AlignmentExamples) -> Plane:
        if self.pairs:  # the only candidate has all the weight
            costs = np.ascontiguousarray(examples.costs)
            tops, gradient = inference.summed(
                w, examples.pairs(), costs, self.scoring, self.epsilon_h
            )
        else:
            tops, gradient = self._soft_candidates(w, examples)
        loss = float(examples.costs @ tops) - float(gradient @ w)
        if not self.hidden and np.any(self.prior):
            of_truth = inference.truth(examples, self.scoring)
            loss -= float(self.prior @ of_truth.gradient(self.scoring, examples.costs))
        return Plane(gradient, loss)

    def _soft_candidates(
        self, w: np.ndarray, examples: AlignmentExamples
    ) -> tuple[np.ndarray, np.ndarray]:
        """U⁺_i of candidates for soft models, (n,), and the gradient of their sum, (d,)."""
        values = inference.values(w, examples.pairs(), self.scoring, self.epsilon_h)
        if self.formulation.charged:
            values = values + 1.0
            values[examples.true_places] -= 1.0
        starts = examples.candidates
        tops = np.maximum.reduceat(values, starts[:-1])
        weights = np.zeros(len(values))
        if self.epsilon_y == 0.0:
            weights[inference.highest(values, starts)] = examples.costs
        else:
            shares = np.exp((values - tops[examples.owners]) / self.epsilon_y)
            sums = np.add.reduceat(shares, starts[:-1])
            weights = examples.costs[examples.owners] * shares / sums[examples.owners]
            tops = tops + self.epsilon_y * np.log(sums)
        return tops, inference.expected(w, examples, weights, self.scoring, self.epsilon_h)
