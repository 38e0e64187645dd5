"""Motif finding in DNA (Yu & Joachims, ICML 2009, section 5.1, and their 2008 workshop paper).

x is a sequence, y = +1 if it contains the motif, and then h is the window of l letters where the
motif is. The joint feature map is

    Φ(x, +1, h) = Σ_{j < l} φ_PSM^(j)(x_{h+j}) + Σ_{i outside of the window} φ_BG(x_i | before)
    Φ(x, −1)    = Σ_i φ_BG(x_i | before)

φ_PSM^(j) counts letters by position. φ_BG counts a letter together with up to ``background_order``
letters before it. The first letters of a sequence have a shorter context; there are separate
features for each length of context. After an ambiguous letter the context begins anew; an ambiguous
letter itself is not counted, and no window contains one. Right after the window, the context
consists of the window's letters as in x. Windows are ordered by their starts.

With ``strands: both`` the matrix may also read the reverse complement of a window, and neither
strand is preferred. With φ_BG of one strand alone, a site would have different scores in x and in
the reverse complement of x, so φ_BG is the mean over both strands:

    ½ Σ_i φ_BG(x_i | before) + ½ Σ_i φ_BG(complement of x_i | complement of what follows)

Then w · Φ does not depend on the strand of x that is given, nor on letters far from a site, as it
would if each sequence were read in one orientation. With a background of order 0, A and T have the
same weight, and so have C and G: the background of the exported matrix is then the same on both
strands, and the matrix ranks the windows of a sequence as the model does. With a higher order this
is impossible: a matrix scores single letters, but the background scores pairs and longer words,
which also reach beyond the window.

Sums of the same numbers in another order differ in their last bits. Therefore sequences are also
stored in one orientation, see ``Sequences``: a sequence and its reverse complement are the same
bytes from the first window drawn to the last score. Places are given for the orientation in the
file. Windows are ordered first by strand, the stored one first, then by start. Several best windows
have different starts: a site that reads the same on both strands is one place.

Training and prediction depend only on differences of Φ between outputs of the same x. So planes,
scores, U⁺ and U⁻ are computed relative to Φ(x, −1):

    ψ(x, −1) = 0,   ψ(x, +1, h) = PSM counts of the window − background counts of its letters

This does not change F, gaps and predictions; sums need not visit the whole sequence, and there is
no cancellation. ``joint_feature`` returns Φ itself.

Besides ``lssvm`` there are the models of Ping, Liu & Ihler (ICML 2014), with

    z(+1) = ε_h log Σ_h exp(w · ψ(x, +1, h) / ε_h),   z(−1) = 0

instead of the maxima over h, and ε_y log Σ_y exp(([y ≠ y_i] + z(y)) / ε_y) instead of the maximum
over y. y = −1 has no site, and therefore a single hidden value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, TextIO

import numpy as np

from lssvm.applications import base, class_costs
from lssvm.applications.motif import motif_matrix, motif_output
from lssvm.applications.motif.data_checks import data_warnings, left_out
from lssvm.applications.motif.given_sequences import FromTexts
from lssvm.applications.motif.metrics import percent, roc_auc
from lssvm.applications.motif.motif_apart import MotifApart, class_rows
from lssvm.applications.motif.motif_explaining import MotifExplainer
from lssvm.applications.motif.motif_output import Predictions, distinct, without_sites
from lssvm.applications.motif.motif_written import SitesWritten
from lssvm.applications.motif.options import CLASSES, MotifOptions
from lssvm.applications.motif.sequences import (
    Reading,
    Sequences,
    joined_labels,
    labels_alone,
    read_sequences,
    sequence_parts,
    unlabelled,
)
from lssvm.applications.parts import Form, InParts, headed
from lssvm.errors import LssvmError, counted
from lssvm.formats import meme
from lssvm.formats.fasta import AMBIGUOUS, LETTERS
from lssvm.kernels import _motif, _motif_soft
from lssvm.kernels.arrays import MotifArrays
from lssvm.plane import Plane


class Motif(
    FromTexts,
    MotifApart,
    MotifExplainer,
    SitesWritten,
    base.Application[Sequences, Predictions],
    InParts[Sequences, Predictions],
):
    """Motif finding; the hidden value of a positive sequence is the site of its motif."""

    Options = MotifOptions
    models = frozenset({*base.TEMPERATURES, base.ANNEALED}) - {"ssvm"}
    smooth = base.SMOOTH
    starter_files: ClassVar = {
        split: [{"path": f"bound{end}", "label": "+1"}, {"path": f"unbound{end}", "label": "-1"}]
        for split, end in (("train", ".fa"), ("test", "-test.fa"))
    }

    def __init__(self, options: MotifOptions, formulation: base.Formulation | None = None) -> None:
        super().__init__(options, formulation or base.Formulation("lssvm"))
        self.soft = self.formulation.model != "lssvm"
        self.length = options.length
        self.both = options.strands == "both"
        self.order = options.background_order
        self._log_background: np.ndarray | None = None
        if isinstance(options.background, dict):
            self.order = min(self.order, max(map(len, options.background)) - 1)
            self._log_background = meme.log_conditionals(options.background, self.order)

    def read(self, sources: Sequence[base.Source]) -> Sequences:
        """The records of FASTA files. Raises DataError."""
        return read_sequences(sources, self._reading)

    def read_parts(self, sources: Sequence[base.Source]) -> Iterator[Sequences]:
        """The records of :meth:`read` in parts. Raises DataError."""
        return sequence_parts(sources, self._reading)

    @property
    def _reading(self) -> Reading:
        return Reading(self.order, self.length, self.both, self.options.skip_unusable)

    def kept(self, examples: Sequences, predictions: Predictions) -> tuple[Sequences, Predictions]:
        """The labels, and the scores by which sequences are ranked."""
        return labels_alone(examples), without_sites(predictions.y, predictions.values)

    def joined(
        self, parts: Sequence[tuple[Sequences, Predictions]]
    ) -> tuple[Sequences, Predictions]:
        """The labels and scores of all parts."""
        y, values = (
            np.concatenate([getattr(found, name) for _, found in parts]) for name in ("y", "values")
        )
        return joined_labels([part for part, _ in parts]), without_sites(y, values)

    def for_training(self, examples: Sequences) -> Sequences:
        """The examples with class costs, and without unusable sequences if the options say so."""
        examples = self.usable(examples)
        factors = self.options.class_costs
        if not factors or not examples.labelled:
            return examples
        rows = class_rows(examples.labels)
        costs = class_costs.weighted(examples.costs, factors, rows, CLASSES)
        return replace(examples, costs=costs)

    def dimension(self, examples: Sequences) -> int:
        """4 l matrix weights and those of the background: 4 + 16 + … + 4^(k + 1), or one."""
        return len(self.feature_names())

    def feature_names(self) -> list[str]:
        """``motif 1 A`` … and ``background T after ACG``; ``background`` if it is given."""
        names = [f"motif {j + 1} {letter}" for j in range(self.length) for letter in LETTERS]
        if self._log_background is not None:
            return [*names, "background"]
        for count in range(self.order + 1):
            for context in map("".join, product(LETTERS, repeat=count)):
                after = f" after {context}" if context else " at start" if self.order else ""
                names += [f"background {letter}{after}" for letter in LETTERS]
        return names

    def augmented(self, w: np.ndarray, examples: Sequences) -> tuple[Plane, float]:
        """Σ c_i U⁺_i: with ``lssvm`` max over (y, h) of [y ≠ y_i] + w · ψ(x_i, y, h); exact.

        Ties go to y = −1, then to the first window.
        """
        if self.soft:
            plane = self._expected(_motif.AUGMENT, w, examples)
            return plane, plane.value(w)
        gradient, loss, *_ = self._search(_motif.AUGMENT, w, examples)
        plane = self._plane(gradient, loss)
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: Sequences) -> Plane:
        """Σ c_i z_i(+1) over the positives: with ``lssvm`` max over h of w · ψ(x_i, +1, h).

        Ties go to the first window. Raises DataError if a positive has no window.
        """
        self._check_trainable(examples)
        if self.soft:
            return self._expected(_motif.COMPLETE, w, examples)
        gradient, loss, *_ = self._search(_motif.COMPLETE, w, examples)
        return self._plane(gradient, loss)

    def predict(self, w: np.ndarray, examples: Sequences, top: int = 1) -> Predictions:
        """The y with the highest z(y), +1 if z(+1) is above 0, and the ``top`` best windows."""
        several = self.both and top > 1
        found = self._search(_motif.PREDICT, w, examples, (1 + several) * top)
        y, starts, strands, scores = found[2:]
        values = scores[:, 0]
        if several:
            starts, strands, scores = distinct(starts, strands, scores, top)
        starts, strands = examples.windows_turned(starts, strands, self.length)
        if self.soft:
            _, values = self._sums(_motif.PREDICT, w, examples)
            y = np.where(values > 0.0, 1, -1).astype(np.int8)
        return Predictions(y, starts, strands, scores, values)

    def prediction_values(self, examples: Sequences, predictions: Predictions) -> np.ndarray:
        """z of the predicted y, (n,); z(−1) is 0."""
        return np.maximum(predictions.values, 0.0)

    def joint_feature(
        self, examples: Sequences, i: int, y: int, h: tuple[int, int] | None = None
    ) -> np.ndarray:
        """Φ(x_i, y, h) as above, (d,); h = (start from 0, strand) if y = +1."""
        first, last = examples.offsets[i], examples.offsets[i + 1]
        known = examples.letters[first:last] != AMBIGUOUS
        gradient = np.zeros(self._kernel_dimension)
        strands = (examples.contexts, examples.opposite)[: 1 + self.both]
        for contexts in strands:
            share = 1.0 / len(strands)
            np.add.at(gradient, 4 * self.length + contexts[first:last][known], share)
        if y > 0:
            if h is None:
                raise ValueError("joint_feature: y = +1 needs a window h")
            one = examples.slice(i, i + 1)
            window = np.array([[h[0]]]), np.array([[h[1]]], dtype=np.int8)
            start, strand = one.windows_turned(*window, self.length)
            unit = np.ones(1)
            gradient += self._features(one, np.ones(1, np.int8), start[0], strand[0], unit)
        return self._plane(gradient, 0.0).gradient

    def groups(self, examples: Sequences) -> np.ndarray:
        """The labels: folds keep the share of positives."""
        return examples.labels.astype(np.int64)

    def group_name(self, examples: Sequences, group: int) -> str:
        """The label as files have it."""
        return f"{group:+d}"

    def known_dimension(self) -> int | None:
        """As ``dimension``."""
        return len(self.feature_names())

    def check_summary(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> None:
        """Check the arrays of ``summary``; see ``motif_matrix``. Raises ModelError."""
        motif_matrix.check(arrays, self.length, self.both)

    def describe(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """The motif of a model: consensus, and bits relative to the training letters."""
        p = motif_matrix.probabilities(w, arrays)
        return {
            "consensus": motif_matrix.consensus(p),
            "information_content": motif_matrix.information_content(p, arrays["frequencies"]),
        }

    @property
    def exports(self) -> Mapping[str, base.Export]:
        """What ``lssvm show`` can write: name -> function of (w, summary arrays, path)."""

        def write_meme(w: np.ndarray, arrays: Mapping[str, np.ndarray], path: Any) -> None:
            motif_matrix.write_meme(w, arrays, path, both=self.both)

        return {"meme": write_meme, "logo": motif_matrix.draw_logo}

    def warnings(self, examples: Sequences) -> list[str]:
        """Warnings about a data set, see ``data_checks``."""
        return data_warnings(examples, self.length, self.options.skip_unusable)

    def training_warnings(self, examples: Sequences, predictions: Predictions) -> list[str]:
        """Warnings about sequences left out, and about predictions that are all of one class."""
        found = [left_out(examples.left_out, self.length)] if examples.left_out else []
        found += class_costs.collapse(
            class_rows(predictions.y),
            class_rows(examples.labels),
            CLASSES,
            self.options.class_costs,
        )
        return found

    def score(self, examples: Sequences, predictions: Predictions) -> dict[str, float | None]:
        """Error, precision, recall and F1 of the positives in percent; ROC AUC in 0..1.

        A sequence without a window ranks below all others; ties in the ranking count half.
        """
        if not examples.labelled:
            raise LssvmError("the sequences have no labels; expected label=+1 or -1 for scores")
        truth, y = examples.labels > 0, predictions.y > 0
        hits = int(np.sum(truth & y))
        return {
            "error": percent(int(np.sum(truth != y)), len(examples)),
            "precision": percent(hits, int(np.sum(y))),
            "recall": percent(hits, int(np.sum(truth))),
            "f1": percent(2 * hits, int(np.sum(y) + np.sum(truth))),
            "roc_auc": roc_auc(truth, predictions.values),
            "sequences": len(examples),
            "positives": int(np.sum(truth)),
        }

    def write(self, examples: Sequences, predictions: Predictions, file: TextIO) -> None:
        """A table of sites, see ``motif_output.write_table``."""
        motif_output.write_table(examples, predictions, self.length, file)

    def part_writer(self, name: str) -> Form:
        """The table with one header."""
        return headed(self.write, partial(motif_output.write_rows, self.length))

    def records(self, examples: Sequences, predictions: Predictions) -> Iterator[dict[str, Any]]:
        """id, y, h (the sites, best first), score (z(+1); None without a window), gold and loss."""
        return motif_output.records(examples, predictions, self.length)

    def _check_trainable(self, examples: Sequences) -> None:
        """Refuse data without labels, and positive sequences that cannot contain the motif."""
        if not examples.labelled:
            row = int(np.flatnonzero(examples.labels == 0)[0])
            wrong = unlabelled(examples, row)
            raise examples.error(row, f"{wrong}; expected label=+1 or label=-1 for training")
        lost = np.flatnonzero((examples.windows == 0) & (examples.labels > 0))
        if len(lost):
            letters = counted(self.length, "unambiguous letter")
            message = f"is positive but has no window of {letters}"
            message += "; expected at least one, or application.skip_unusable: true"
            raise examples.error(int(lost[0]), message)

    @property
    def _kernel_dimension(self) -> int:
        return 4 * self.length + (4 ** (self.order + 2) - 4) // 3

    def _kernel_weights(self, w: np.ndarray) -> np.ndarray:
        """w with one background weight for each context and letter, as the kernel takes it."""
        if self._log_background is None:
            return np.ascontiguousarray(w, dtype=np.float64)
        return np.concatenate([w[:-1], w[-1] * self._log_background])

    def _plane(self, gradient: np.ndarray, loss: float) -> Plane:
        """A plane over w from the kernel's gradient."""
        if self._log_background is None:
            return Plane(gradient, loss)
        matrix, background = np.split(gradient, [4 * self.length])
        return Plane(np.append(matrix, np.sum(background * self._log_background)), loss)

    def _expected(self, task: int, w: np.ndarray, examples: Sequences) -> Plane:
        gradient, values = self._sums(task, w, examples)
        plane = self._plane(gradient, 0.0)
        return Plane(plane.gradient, float(examples.costs @ values) - plane.value(w))

    def _sums(self, task: int, w: np.ndarray, examples: Sequences) -> Any:
        return _motif_soft.expectations(
            task,
            self._arrays(examples),
            self._kernel_weights(w),
            self.length,
            self.formulation.charged,
            *self.formulation.temperatures,
        )

    def _search(self, task: int, w: np.ndarray, examples: Sequences, top: int = 1) -> Any:
        return self._scan(task, self._kernel_weights(w), examples, top)

    def _scan(self, task: int, weights: np.ndarray, examples: Sequences, top: int) -> Any:
        return _motif.search(task, self._arrays(examples), weights, self.length, top)

    def _arrays(self, examples: Sequences) -> MotifArrays:
        if len(examples.contexts) and self.both != examples.arrays.both:
            raise ValueError("motif: the sequences are indexed for other strands")
        return examples.arrays

    def _features(
        self,
        examples: Sequences,
        y: np.ndarray,
        starts: np.ndarray,
        strands: np.ndarray,
        costs: np.ndarray | None = None,
    ) -> np.ndarray:
        return _motif.joint_features(
            examples.arrays,
            y,
            np.ascontiguousarray(starts),
            np.ascontiguousarray(strands),
            examples.costs if costs is None else costs,
            self.length,
            self._kernel_dimension,
        )
