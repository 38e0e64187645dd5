"""Ranking for precision at k (Yu & Joachims, ICML 2009, section 5.3).

x is a query with its documents x_1 … x_m, y says which n(y) of them are relevant, and h is the
ordering, of which only the first k count: h_1 … h_k. As in the paper,

    Φ(x, y, h) = 1/k Σ_{j ≤ k} x_{h_j},   Δ(y, ŷ, h) = min(1, n(y)/k) − 1/k Σ_{j ≤ k} [y_{h_j} = 1]

depend on the ordering and not on ŷ. So for each query

    U⁺ = max over h of Δ + w · Φ      the k documents of highest w · x − [relevant]
    U⁻ = max over h of w · Φ with Δ = 0      relevant documents by score, then the others by score

and prediction is ranking by w · x. Ties go to the document that comes first in the file, in the
three problems and in the order of the predictions.

A query with m < k documents has only one choice of the first k: all m. Φ and Δ are still divided by
k, and Δ is 0. For this and every other query whose orderings all have loss 0 (no relevant document,
or only relevant ones), U⁺ = U⁻ for every w: such queries take no part in training and are kept for
scores. (All documents are examples of the classifier for the initial weights.) The objective would
be the same with them, but in the convex problem their U⁺ would pull w towards the completion.

The initial weights are those of a classifier of relevant documents against the others over the same
queries, as in the paper (``initialisation: classification``),

    ½‖w‖² + C₀ Σ_i c_i 1/m_i Σ_j max(0, 1 − y_ij w · x_ij),   y_ij = ±1

or those of a ranking SVM over pairs of documents with different labels (``initialisation:
pairwise``, see ``ranking_start``), with C₀ = ``initialisation_weight`` C; or an ordering for every
query, drawn at random among those of loss 0 (``initialisation: random``).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, TextIO

import numpy as np
from pydantic import Field

from lssvm import checked
from lssvm.applications import base
from lssvm.applications.apart import Ask, Here
from lssvm.applications.index_base import DESCRIPTION as INDEX_BASE
from lssvm.applications.index_base import Choice, IndexBase
from lssvm.applications.names import NumberedNames
from lssvm.applications.parts import InParts
from lssvm.applications.ranking import query_parts, ranking_metrics
from lssvm.applications.ranking.given_queries import FromRows
from lssvm.applications.ranking.queries import MOST_FEATURES, Queries, read_queries
from lssvm.applications.ranking.queries_apart import QueriesApart
from lssvm.applications.ranking.query_scaling import DESCRIPTION as SCALING
from lssvm.applications.ranking.query_scaling import QueryScaler, QueryScaling
from lssvm.applications.ranking.ranking_explaining import RankingExplainer
from lssvm.applications.ranking.ranking_start import Classifier, PairwiseRanking, Start
from lssvm.applications.ranking.ranking_written import RankingWritten
from lssvm.errors import LssvmError, counted
from lssvm.kernels import _ranking, _ranking_smooth
from lssvm.kernels.arrays import QueryArrays
from lssvm.offsets import cumulated
from lssvm.plane import Plane
from lssvm.smoothing import Smoothed, Smoothing

RUN_TAG = "lssvm"
ALIKE = 1e-6  # training asks for differences of score of 1
_SHOWN = 3  # qids that a warning names


class RankingOptions(base.Options):
    """What relevant documents are, k, and the initial weights."""

    renamed: ClassVar = {"start": "initialisation", "start_weight": "initialisation_weight"}

    name: Literal["precision_at_k"] = Field(
        default="precision_at_k", description="ranking of documents by query, for precision at k"
    )
    k: int = Field(
        default=10, ge=1, le=100_000, description="number of documents at the top that count"
    )
    relevant_from: float = Field(
        default=1.0, allow_inf_nan=False, description="lowest label of a relevant document"
    )
    index_base: Choice = Field(default="auto", description=INDEX_BASE)
    initialisation: Literal["classification", "pairwise", "random"] = Field(
        default="classification",
        description="initial weights; classification: of a classifier of relevant documents, as in "
        "the paper; pairwise: of a ranking SVM; random: no weights, but a random ordering with the "
        "relevant documents first",
    )
    initialisation_weight: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="C of the problem for the initial weights, as a multiple of objective.C",
    )
    scaling: QueryScaling = Field(default="none", description=SCALING)


@dataclass(frozen=True)
class Predictions:
    """The scores of all documents of n queries, and the best k of each query.

    scores : (documents,) float64, w · x
    order : (documents,) int64, positions in ``scores`` query by query, best first
    top : (n, k or the most documents of a query) int32, the best k by their place in the query,
        increasing; -1: there is none
    """

    scores: np.ndarray
    order: np.ndarray
    top: np.ndarray


class PrecisionAtK(
    FromRows,
    QueriesApart,
    RankingExplainer,
    RankingWritten,
    base.Application[Queries, Predictions],
    InParts[Queries, Predictions],
    Smoothed[Queries],
):
    """Ranking for precision at k; the hidden value is the order of a query's documents."""

    Options = RankingOptions
    models = frozenset({"lssvm"})
    whole_formats = frozenset({"trec", base.JSON})

    def __init__(
        self, options: RankingOptions, formulation: base.Formulation | None = None
    ) -> None:
        super().__init__(options, formulation)
        self.k = options.k
        self.indices = IndexBase(options.index_base)
        self.scaler = QueryScaler(options.scaling)

    def read(self, sources: Sequence[base.Source]) -> Queries:
        """The queries of SVM-light files. Raises DataError."""
        examples = read_queries(sources, self.options.relevant_from, self.indices)
        return self.scaler.scaled(examples)

    def read_parts(self, sources: Sequence[base.Source]) -> Iterator[Queries]:
        """The queries of :meth:`read`, in parts if the documents of each query are neighbours."""
        if self.indices.known is None or not query_parts.divisible(sources, self.indices):
            yield self.read(sources)
        else:
            relevant_from = self.options.relevant_from
            parts = query_parts.query_parts(sources, relevant_from, self.indices)
            yield from map(self.scaler.scaled, parts)

    def kept(self, examples: Queries, predictions: Predictions) -> tuple[Queries, Predictions]:
        """The labels of documents, and their scores."""
        return query_parts.labels_alone(examples), replace(predictions, top=np.empty((0, 0)))

    def joined(self, parts: Sequence[tuple[Queries, Predictions]]) -> tuple[Queries, Predictions]:
        """The labels and scores of all parts."""
        before = cumulated([len(found.scores) for _, found in parts])[:-1].tolist()
        pairs = [(found, start) for (_, found), start in zip(parts, before, strict=True)]
        return query_parts.joined_labels([examples for examples, _ in parts]), Predictions(
            np.concatenate([found.scores for found, _ in pairs]),
            np.concatenate([found.order + start for found, start in pairs]),
            np.empty((0, 0)),
        )

    def state(self) -> dict[str, np.ndarray]:
        """The first index of features, unless it is 1, and the scales of features, if any."""
        return self.indices.state() | self.scaler.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the first index of features and their scales. Raises ModelError."""
        checked.known(state, *self.scaler.names, optional=["index_base"])
        self.indices.restore(state)
        self.scaler.restore(state, None)

    def dimension(self, examples: Queries) -> int:
        """The highest feature index of the file."""
        return examples.dimension

    def feature_names(self) -> NumberedNames:
        """``feature 1``, ``feature 2`` … as the files count."""
        return NumberedNames(MOST_FEATURES, self.indices.base)

    def trained(self, examples: Queries) -> np.ndarray:
        """Whether each query takes part in training, (n,) bool; see the module."""
        positives, sizes = examples.relevant_counts, np.diff(examples.offsets)
        return (positives > 0) & (positives < sizes) & (sizes > self.k)

    def start(self, examples: Queries, rng: np.random.Generator) -> Plane | base.FirstProblem:
        """The problem for the initial weights, or a random ordering with relevant documents first.

        Raises DataError if there is no query to train on.
        """
        found = self.start_apart(Here(self, examples, whole=True), rng)
        if isinstance(found, list):
            return found[0]
        return base.FirstProblem(found, examples)

    def start_apart(self, ask: Ask, rng: np.random.Generator) -> Any:
        """The same by shares."""
        documents = self.check_start(ask)
        first = self.first_problem()
        if first is not None:
            return first
        keys = rng.random(sum(documents))
        return ask("_completion", each=np.split(keys, np.cumsum(documents)[:-1]))

    def first_problem(self) -> Start | None:
        """The problem for the initial weights; None for a random ordering."""
        if self.options.initialisation == "random":
            return None
        kind = Classifier if self.options.initialisation == "classification" else PairwiseRanking
        return kind(self.options.initialisation_weight)

    def augmented(self, w: np.ndarray, examples: Queries) -> tuple[Plane, float]:
        """Σ c_i max over h of Δ + w · Φ; exact."""
        gradient, loss, _ = self._search(_ranking.AUGMENT, w, examples)
        plane = Plane(gradient, loss)
        return plane, plane.value(w)

    def smoothed(self, w: np.ndarray, examples: Queries, width: float) -> Smoothing:
        """Σ c_i of the smoothed maxima: documents near the k-th are chosen in part."""
        weights = np.ascontiguousarray(w, dtype=np.float64)
        rows, relevant, costs = examples.rows, examples.relevant, examples.costs
        found = _ranking_smooth.smoothed(rows, relevant, costs, weights, self.k, width)
        gradient, loss, slack, bulge, curvature = found
        return Smoothing(Plane(gradient, loss), slack, bulge, curvature)

    def completed(self, w: np.ndarray, examples: Queries) -> Plane:
        """Σ c_i max over h with Δ = 0 of w · Φ."""
        gradient, _, _ = self._search(_ranking.COMPLETE, w, examples)
        return Plane(gradient, 0.0)

    def predict(self, w: np.ndarray, examples: Queries, top: int = 1) -> Predictions:
        """Documents by w · x. A feature unseen in training has weight 0.

        Raises LssvmError if ``top`` is not 1: all documents are ranked anyway.
        """
        if top != 1:
            raise LssvmError(f"--top {top}: all documents are ranked anyway; expected no --top")
        weights = np.zeros(examples.dimension)
        shared = min(len(w), examples.dimension)
        weights[:shared] = w[:shared]
        scores = _ranking.scores(examples.rows, weights)
        order = ranking_metrics.ranked(scores, examples.offsets - examples.offsets[0])
        return Predictions(scores, order, self._search(_ranking.PREDICT, weights, examples)[2])

    def prediction_values(self, examples: Queries, predictions: Predictions) -> np.ndarray:
        """Mean score of the first k of each query, (n,)."""
        offsets = examples.offsets - examples.offsets[0]
        first = [predictions.order[a : min(b, a + self.k)] for a, b in pairwise(offsets)]
        return np.array([predictions.scores[own].sum() / self.k for own in first])

    def metrics(self, examples: Queries, predictions: Predictions) -> dict[str, np.ndarray]:
        """The metrics of every query, (n,) each; see ``ranking_metrics``."""
        span = examples.span
        return ranking_metrics.by_query(
            examples.labels[span],
            examples.relevant[span],
            examples.offsets - examples.offsets[0],
            predictions.order,
            self.k,
        )

    def score(self, examples: Queries, predictions: Predictions) -> dict[str, float | None]:
        """MAP, P@1, 3, 5, 10 and k, and NDCG@1, 3, 5, 10 as LETOR defines them, in 0..1.

        Means over all queries. A query without a relevant document counts as 0 in each, even if
        there are no other queries; ``without_relevant`` is their number. loss is the mean of Δ. MAP
        is the first metric, which ``lssvm cv`` uses: it compares models of different k.
        """
        found = self.metrics(examples, predictions)
        positives = examples.relevant_counts
        best = np.minimum(1.0, positives / self.k)
        return {
            **{name: float(np.mean(values)) for name, values in found.items()},
            "loss": float(np.mean(best - found["P@k"])),
            "queries": len(examples),
            "without_relevant": int(np.sum(positives == 0)),
        }

    @property
    def formats(self) -> Mapping[str, Callable[[Queries, Predictions, TextIO], None]]:
        """The formats that ``lssvm-classify`` can write; the first one is the default."""
        return {"scores": self.write, "trec": self.write_trec}

    def write(self, examples: Queries, predictions: Predictions, file: TextIO) -> None:
        """One score per line in the order of the input, as svm_rank writes it."""
        places = examples.positions[examples.span]
        for score in predictions.scores[np.argsort(places, kind="stable")]:
            file.write(f"{score:.10g}\n")

    def write_trec(self, examples: Queries, predictions: Predictions, file: TextIO) -> None:
        """A run file of TREC: ``qid Q0 docid rank score lssvm``, ranks from 1.

        trec_eval uses only the scores, in single precision, and orders equal ones by docid. So
        scores are written in single precision, and a score that is not below that of the previous
        rank is lowered until it is.
        """
        docids = examples.documents[examples.span]
        offsets = examples.offsets - examples.offsets[0]
        for i, name in enumerate(examples.identifiers):
            below = np.float32(np.inf)
            for rank, place in enumerate(predictions.order[offsets[i] : offsets[i + 1]], 1):
                score = min(np.float32(predictions.scores[place]), below)
                below = np.nextafter(score, np.float32(-np.inf))
                file.write(f"{name} Q0 {docids[place]} {rank} {score!s} {RUN_TAG}\n")

    def records(self, examples: Queries, predictions: Predictions) -> Iterator[dict[str, Any]]:
        """One dictionary per query.

        id : the qid; y : whether each document, in the order of the input, is among the first
        k; h : docids of the first k, best first; score : w · Φ; scores : of every document;
        and with labels gold : whether each document is relevant; loss : Δ
        """
        docids, offsets = examples.documents[examples.span], examples.offsets - examples.offsets[0]
        relevant = examples.relevant[examples.span]
        for i, name in enumerate(examples.identifiers):
            own = slice(offsets[i], offsets[i + 1])
            first = predictions.order[own][: self.k]
            y = np.zeros(own.stop - own.start, dtype=int)
            y[first - own.start] = 1
            record = {
                "id": name,
                "y": y.tolist(),
                "h": docids[first].tolist(),
                "score": float(predictions.scores[first].sum() / self.k),
                "scores": predictions.scores[own].tolist(),
            }
            if examples.labelled:
                gold = relevant[own].astype(int)
                best = min(self.k, int(gold.sum()))
                loss = (best - int(relevant[first].sum())) / self.k
                record |= {"gold": gold.tolist(), "loss": loss}
            yield record

    def warnings(self, examples: Queries) -> list[str]:
        """Warnings: queries without use in training or in two files, documents given twice."""
        found = self.indices.warnings()
        positives, sizes = examples.relevant_counts, np.diff(examples.offsets)
        if examples.labelled:
            for count, what in (
                (np.sum(positives == 0), "no relevant document (score 0)"),
                (np.sum(positives == sizes), "relevant documents only"),
                (np.sum(sizes <= self.k), f"at most {counted(self.k, 'document')} (k)"),
            ):
                if count:
                    queries = counted(int(count), "query has", "queries have")
                    found.append(f"{queries} {what}: left out of training")
        names, counts = np.unique(examples.identifiers.astype(str), return_counts=True)
        if np.any(counts > 1):
            shown = _listed(list(names[counts > 1]))
            found.append(f"qids that occur in several files count as separate queries: {shown}")
        return found + _copies(examples) + self.scaler.warnings(examples)

    def scale_warnings(self, examples: Queries) -> list[str]:
        """A warning if the scales of features differ much."""
        return self.scale_warnings_of(self.largest_of(examples))

    def output_warnings(self, examples: Queries, name: str) -> list[str]:
        """Warnings: documents of a run file without their own docid, and no relevant document."""
        found = []
        if name in ("trec", base.JSON):
            nameless = int(np.sum(~examples.named[examples.span]))
            if nameless:
                found.append(
                    f"{counted(nameless, 'document has', 'documents have')} no docid in a "
                    "comment, such as '#docid = D1': "
                    "the numbers of their rows are written"
                )
            found += _copies(examples)
        if examples.labelled and not examples.relevant_counts.any():
            found.append(
                "no query has a relevant document: every metric is 0; "
                "labels that are not known are written as ?"
            )
        return found

    def training_warnings(self, examples: Queries, predictions: Predictions) -> list[str]:
        """A warning if the weights have collapsed: the scores of each query are all equal."""
        starts = examples.offsets[:-1] - examples.offsets[0]
        scores = predictions.scores
        spread = np.maximum.reduceat(scores, starts) - np.minimum.reduceat(scores, starts)
        found = [*self.indices.warnings(), *self.scaler.warnings(examples)]
        if spread.max() > ALIKE:
            return found
        return [
            *found,
            "the scores of every query's documents are almost equal: the weights collapsed to "
            "zero, and the order is that of the input; try a larger C or "
            "initialisation: classification",
        ]

    def _search(self, task: int, w: np.ndarray, examples: Queries) -> Any:
        weights = np.ascontiguousarray(w, dtype=np.float64)
        relevant, costs = examples.relevant, examples.costs
        return _ranking.search(task, examples.rows, relevant, costs, weights, self.k)

    def _completion(self, examples: Queries, keys: np.ndarray) -> Plane:
        """Σ c_i Φ with, for each query, the ordering of loss 0 with the highest ``keys``."""
        documents, none = len(examples.labels), np.empty(0)
        # A single feature, whose weight is 1: the keys themselves are the scores.
        keys, own = np.zeros(documents), keys
        keys[examples.span] = own
        sparse = none.astype(np.int32), none, none.astype(np.int64)
        keyed = QueryArrays(keys, *sparse, examples.offsets, 1)
        _, _, chosen = _ranking.search(
            _ranking.COMPLETE, keyed, examples.relevant, examples.costs, np.ones(1), self.k
        )
        coefficients = np.zeros(documents)
        rows, columns = np.nonzero(chosen >= 0)
        places = examples.offsets[rows] + chosen[rows, columns]
        coefficients[places] = examples.costs[rows]
        inside = coefficients[examples.span]
        return Plane(_ranking.combination(examples.rows, inside) / self.k, 0.0)


def _copies(examples: Queries) -> list[str]:
    """A warning if documents have the docid of another document of their query."""
    documents = examples.documents[examples.span]
    pairs = set(zip(examples.query_of.tolist(), documents, strict=True))
    copies = len(documents) - len(pairs)
    told = counted(copies, "document has", "documents have")
    return [f"{told} the docid of another one of the same query"] if copies else []


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, map(str, names[:_SHOWN])))
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown
