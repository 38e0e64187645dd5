"""Relation extraction from pairs of entities with unlabelled mentions (distant supervision).

x is a pair of entities with mentions, each with features; y the set of relations of the pair; h the
label of every mention, one of L relations or none. A pair has the relations that its mentions have
(deterministic OR, Hoffmann et al., ACL 2011), so y follows from h:

    w · Φ(x, y, h) = Σ_m w[h_m] · x_m,   none having weights or the score 0

Completion takes the best labels by which every relation of y_i is used by some mention and no other
one is: each of the relations is assigned to a mention of its own by what the mentions lose, all
others take their best label. Prediction takes the best label of every mention. Pairs with more
relations than mentions cannot reach their truth, and training leaves them out.

Losses: ``hamming``, the number of wrong relations of each pair, for which loss-augmented inference
is exact: relations that are not true gain 1 each if they are used, once, and true ones cost 1. And
``f_beta`` over the whole data set, n (1 − F), n the number of pairs (Haffari, Nagesh &
Ramakrishnan, NAACL 2015): there is one maximum over all pairs together,

    U⁺ = max over Y of n (1 − F(Y)) + Σ_i max over h with y_i of w · Φ(x_i, y_i, h)

whose bounds the module ``multivariate.decomposition`` finds.

Ties go to none, then to the first relation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lssvm import sparse
from lssvm.applications import base
from lssvm.applications.multivariate.decomposition import Bounds, Limits
from lssvm.applications.multivariate.f_beta import FLoss
from lssvm.applications.multivariate.labelling import Labelling, in_turn
from lssvm.applications.multivariate.whole import WholeLoss, nowhere
from lssvm.applications.names import LazyNames
from lssvm.applications.relation import inference
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.inference import Columns
from lssvm.applications.relation.pairs_apart import PairsApart
from lssvm.applications.relation.predictions import NONE, Predictions
from lssvm.applications.relation.relation_data import RelationData
from lssvm.applications.relation.relation_explaining import RelationExplainer
from lssvm.applications.relation.relation_options import F_BETA, RelationOptions
from lssvm.applications.relation.relation_written import FactsWritten
from lssvm.errors import LssvmError
from lssvm.kernels import _relation
from lssvm.plane import Plane
from lssvm.problem import Each

NO_SUMS = "sums over the labels of all mentions are not known for it"
NUMBER_NS = 0.5  # of a feature and a relation, about
BLOCK_NS = 100_000.0  # of a block at least


class RelationNames(LazyNames):
    """``feature × relation`` for each weight."""

    def __init__(self, vocabulary: Any, columns: Sequence[str]) -> None:
        self._vocabulary, self._columns = vocabulary, columns

    def __len__(self) -> int:
        return self._vocabulary.width * len(self._columns)

    def name(self, place: int) -> str:
        """The name at a place."""
        feature, column = divmod(place, len(self._columns))
        return f"{self._vocabulary.feature(feature)} × {self._columns[column]}"


class Relation(
    RelationData,
    RelationExplainer,
    FactsWritten,
    PairsApart,
    WholeLoss[Bags],
    base.Application[Bags, Predictions],
    base.ByExample[Bags],
    base.FeatureRows[Bags],
):
    """Relations of pairs; the labels of mentions are hidden."""

    Options = RelationOptions
    models = frozenset({"lssvm"})
    merges = True
    refused_models: ClassVar[Mapping[str, str]] = {
        "ssvm": "the labels of mentions are hidden",
        **dict.fromkeys(("mssvm", "hcrf", "loss_augmented_likelihood", base.ANNEALED), NO_SUMS),
    }

    def __init__(
        self, options: RelationOptions, formulation: base.Formulation | None = None
    ) -> None:
        super().__init__(options, formulation)
        self.decomposes = options.loss != F_BETA
        inverse, counts = options.steps == "inverse", options.by_counts
        self.limits = Limits(options.iterations, inverse, options.label_sets, counts)

    @classmethod
    def decomposes_with(cls, options: Mapping[str, Any]) -> bool:
        """False for the loss over the whole data set."""
        return options.get("loss") != F_BETA

    @property
    def columns(self) -> Columns:
        """The columns of w."""
        return Columns(len(self.relations), self.options.none_weights)

    def known_dimension(self) -> int | None:
        """Features times columns."""
        return None if self.vocabulary is None else self.vocabulary.width * self.columns.count

    def columns_per_row(self, examples: Bags) -> int:
        """The columns of w."""
        return self.columns.count

    def known_inputs(self) -> tuple[int, int] | None:
        """Features of a mention, and the columns of w."""
        return None if self.vocabulary is None else (self.vocabulary.width, self.columns.count)

    def dimension(self, examples: Bags) -> int:
        """Features times relations, and none if it has weights."""
        return int(examples.inputs.shape[1]) * self.columns.count

    def feature_names(self) -> Sequence[str]:
        """``feature 1 × founder`` …, see :class:`RelationNames`."""
        names = (*self.relations, *(["none"] if self.options.none_weights else []))
        return RelationNames(self.vocabulary, names) if self.vocabulary else []

    def for_training(self, examples: Bags) -> Bags:
        """The pairs whose relations are not more than their mentions."""
        reachable = examples.reachable
        return examples if reachable.all() else examples.take(np.flatnonzero(reachable))

    def work(self, examples: Bags) -> np.ndarray:
        """By features and relations. A block has a sum as long as w, and gets as much work."""
        return (NUMBER_NS * self.columns.count * self._share(examples)) * examples.sizes

    def _share(self, examples: Bags) -> float:
        return min(1.0, BLOCK_NS / self.dimension(examples))

    def start_each(self, examples: Bags, rng: np.random.Generator) -> base.Maxima:
        """As ``start``, for every pair apart."""
        count, keys = self.checked_mentions(examples), None
        if self.options.initialisation == "random":
            keys = rng.random(count)
        labels, none = self.first_labels(examples, keys), np.zeros(len(examples))
        return base.Maxima(none, none, none, labels)

    def _check(self, examples: Bags) -> None:
        """Raise DataError for a pair that training cannot take."""
        known = examples.known & examples.reachable
        if not known.all():
            row = int(np.argmin(known))
            wrong = "has more relations than mentions; expected at most as many"
            if not examples.known[row]:
                wrong = "has no known relations ('?'); expected them for training"
            raise examples.error(row, wrong)
        labels = examples.labels[examples.label_span]
        unseen = np.flatnonzero(labels >= len(self.relations))
        if len(unseen):
            row = int(
                np.searchsorted(
                    examples.label_places - examples.label_places[0], unseen[0], side="right"
                )
            )
            name = examples.relations[labels[unseen[0]]]
            raise examples.error(
                row - 1, f"has the relation {name!r}, which the model does not have; expected its"
            )

    def augmented(self, w: np.ndarray, examples: Bags) -> tuple[Plane, float]:
        """Σ c_i U⁺_i, or U⁺ of the whole data set with its upper bound."""
        if not self.decomposes:
            return self.augmented_from(w, examples, None, in_turn)[:2]
        found, losses = self._worst(w, examples)
        plane = self.plane_of(examples, found.labels, float(examples.costs @ losses))
        slack = float(examples.costs @ found.excess)
        return plane, plane.value(w) + slack

    def completed(self, w: np.ndarray, examples: Bags) -> Plane:
        """Σ c_i U⁻_i. Raises DataError for pairs that cannot reach their relations."""
        self._check(examples)
        bags = inference.scored(w, examples, self.columns)
        if not np.isfinite(bags.scores).all():
            return nowhere(w)
        return self.plane_of(examples, inference.completed(bags, examples).labels, 0.0)

    @property
    def counted(self) -> int:
        """L."""
        return len(self.relations)

    def worst(
        self, w: np.ndarray, examples: Bags, carried: np.ndarray, each: Each
    ) -> Bounds | None:
        """What the decomposition finds for F_β; None if scores are not finite."""
        bags = inference.scored(w, examples, self.columns, each)
        if not np.isfinite(bags.scores).all():
            return None
        truth = inference.completed(bags, examples)
        square, macro = self.options.beta**2, self.options.average == "macro"
        loss = FLoss(examples.truth(self.counted), square, macro)
        return self.decomposed(bags, loss, truth, carried, each)

    def plane_of(self, examples: Bags, labels: np.ndarray, loss: float) -> Plane:
        """The plane of labels of all mentions; loss : with costs."""
        return inference.plane(examples, labels, loss, self.columns)

    def augmented_each(self, w: np.ndarray, examples: Bags) -> base.Maxima:
        """The labels that attain U⁺_i for each pair. Raises LssvmError for loss f_beta."""
        if not self.decomposes:
            raise LssvmError("loss f_beta is that of the whole data set; expected loss: hamming")
        found, losses = self._worst(w, examples)
        values = found.values + examples.label_counts
        return base.Maxima(values, losses, values + found.excess, found.labels)

    def completed_each(self, w: np.ndarray, examples: Bags) -> base.Maxima:
        """The best labels of each pair that use its relations. Raises DataError."""
        self._check(examples)
        bags = inference.scored(w, examples, self.columns)
        none = np.zeros(len(examples))
        if not np.isfinite(bags.scores).all():
            return _undefined(bags.labels, none + np.nan, int(bags.places[-1]))
        found = inference.completed(bags, examples)
        return base.Maxima(found.values, none, found.values, found.labels)

    def gradients(self, examples: Bags, found: base.Maxima, rows: np.ndarray) -> "sparse.csr_array":
        """Φ of the labels that were found, (len(rows), d), without costs."""
        return inference.gradients(examples, found.outputs, np.asarray(rows), self.columns)

    def _worst(self, w: np.ndarray, examples: Bags) -> tuple[Labelling, np.ndarray]:
        """Loss-augmented inference for Hamming loss: labels, and the loss of each pair."""
        bags = inference.scored(w, examples, self.columns)
        found, n = Labelling.empty(bags), len(examples)
        truth = examples.truth(len(self.relations))
        if not np.isfinite(bags.scores).all():
            found.values[:] = np.nan
            return found, np.full(n, np.nan)
        gains = np.where(truth, -1.0, 1.0)
        found.improve(bags, gains, np.arange(n), self.limits.label_sets)
        losses = np.count_nonzero(found.used(bags) != truth, axis=1).astype(np.float64)
        return found, losses

    def predict(self, w: np.ndarray, examples: Bags, top: int = 1) -> Predictions:
        """The best label of every mention, and how much they speak for each relation.

        The score of a relation is by how much the best labels that use it exceed the best ones
        that do not: above 0 for predicted relations, apart from ties.
        Raises LssvmError if ``top`` is not 1.
        """
        if top != 1:
            raise LssvmError(f"--top {top}: application 'relation' finds the best labels only")
        bags = inference.scored(w, examples, self.columns)
        found, n, count = Labelling.empty(bags), len(examples), len(self.relations)
        none = np.zeros((n, count))
        found.improve(bags, none, np.arange(n), 1)
        margins, mentions = none, np.zeros((n, count), dtype=np.int32)
        _relation.evidence(bags, found.labels, margins, mentions)
        labels = np.where(found.labels == count, NONE, found.labels).astype(np.int32)
        return Predictions(margins, labels, mentions, found.values)

    def prediction_values(self, examples: Bags, predictions: Predictions) -> np.ndarray:
        """w · Φ of the best labels, (n,)."""
        return predictions.values

    def training_losses(self, examples: Bags, predictions: Predictions) -> np.ndarray | None:
        """The number of wrong relations of each pair, (n,); None for loss f_beta."""
        if not self.decomposes:
            return None
        truth = examples.truth(len(examples.relations))
        found = np.zeros_like(truth)
        found[:, : len(self.relations)] = predictions.relations(examples)
        return np.count_nonzero(truth != found, axis=1).astype(np.float64)


def _undefined(label: int, values: np.ndarray, mentions: int) -> base.Maxima:
    return base.Maxima(values, values, values, np.full(mentions, label, dtype=np.int32))
