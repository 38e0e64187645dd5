"""Explanations of predicted relations, and pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lssvm.applications.explaining import Explainer, Rival
from lssvm.applications.picturing import Picturer, precision_recall
from lssvm.applications.relation import inference, relation_metrics
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.predictions import NONE, Predictions
from lssvm.errors import LssvmError
from lssvm.offsets import cumulated

if TYPE_CHECKING:
    from lssvm.output.charts import Figure, Table

NO_RELATION = "none"


class RelationExplainer(Explainer[Bags, Predictions], Picturer[Bags, Predictions]):
    """Sets of relations by the mentions that express them."""

    relations: Any
    columns: Any

    def as_truth(self, w: np.ndarray, examples: Bags, predictions: Predictions) -> Bags:
        """The predicted relations as true ones: all of them are used by some mention."""
        return _with_relations(examples, predictions.relations(examples))

    def rival(
        self, w: np.ndarray, examples: Bags, predictions: Predictions, label: str | None
    ) -> Rival | None:
        """Relations with commas between them, or none; by default the second best ones."""
        if label is None:
            chosen = self._second(w, examples, predictions)
        else:
            chosen = self._named(label)
            count, mentions = int(chosen.sum()), int(examples.mention_counts[0])
            if count > mentions:
                raise LssvmError(
                    f"--against {label}: {count} relations need as many mentions, and the pair has "
                    f"{mentions}; expected at most so many relations"
                )
        own = [name for name, there in zip(self.relations, chosen.tolist(), strict=True) if there]
        plane = self.completed(w, _with_relations(examples, chosen[None]))
        return Rival(", ".join(own) or NO_RELATION, plane)

    def _named(self, label: str) -> np.ndarray:
        """Which relations a text names, (L,) bool. Raises LssvmError."""
        chosen = np.zeros(len(self.relations), dtype=bool)
        names = [label] if label in self.relations else label.split(",")
        if names == [NO_RELATION]:
            return chosen
        for name in map(str.strip, names):
            if name not in self.relations:
                raise LssvmError(
                    f"--against {label}: {name!r} is no relation of the model; expected relations "
                    f"with commas between them, or {NO_RELATION}"
                )
            chosen[self.relations.index(name)] = True
        return chosen

    def _second(self, w: np.ndarray, examples: Bags, predictions: Predictions) -> np.ndarray:
        """The relations of the best labels with other relations than the predicted ones, (L,).

        Such labels use one that is not predicted, or do without one that is. The score of a
        relation is what that costs.
        """
        used, count = predictions.relations(examples)[0], len(self.relations)
        costs = np.where(used, predictions.scores[0], -predictions.scores[0])
        other = int(np.argmin(costs))
        labels = np.where(
            predictions.mention_labels == NONE, count, predictions.mention_labels
        ).astype(np.int64)
        if used[other]:
            scores = np.array(inference.scored(w, examples, self.columns).scores)
            scores[:, other] = -np.inf
            changed = labels == other
            labels[changed] = scores[changed].argmax(axis=1)
        else:
            labels[predictions.best_mentions[0, other]] = other
        return np.bincount(labels, minlength=count + 1)[:count] > 0

    def shown(self, examples: Bags, predictions: Predictions) -> list[str]:
        """The mentions with their predicted relations, and the true relations of the pair."""
        names, first = examples.mention_names, int(examples.places[0])
        lines = ["mention: its predicted relation"]
        for place, label in enumerate(predictions.mention_labels.tolist(), first):
            found = NO_RELATION if label == NONE else self.relations[label]
            lines.append(f"{names[place]}: {found}")
        if examples.known[0]:
            gold = [examples.relations[label] for label in examples.labels[examples.label_span]]
            lines.append(f"true relations of the pair: {', '.join(gold) or NO_RELATION}")
        return lines

    def data_figures(
        self, w: np.ndarray, examples: Bags, predictions: Predictions
    ) -> "Iterator[Figure]":
        """Precision against recall of all pairs and relations, and both for each relation."""
        truth = examples.truth(len(examples.relations))
        if truth.any():
            own = truth[:, : predictions.scores.shape[1]]
            positives = int(np.count_nonzero(truth))
            yield precision_recall(own.ravel(), predictions.scores.ravel(), positives)
        counts = relation_metrics.counts(truth, predictions.relations(examples))
        yield _by_relation(examples.relations, counts)


def _with_relations(examples: Bags, chosen: np.ndarray) -> Bags:
    """The same pairs with other relations, (n, L) bool, all known."""
    pairs, labels = np.nonzero(chosen)
    counts = np.bincount(pairs, minlength=len(chosen))
    return replace(
        examples,
        labels=labels.astype(np.int32),
        label_places=cumulated(counts),
        known=np.ones(len(chosen), dtype=bool),
        labelled=True,
    )


def _by_relation(names: Sequence[str], counts: relation_metrics.Counts) -> "Table":
    """Precision, recall and F1 of every relation that is true or predicted, in percent."""
    from lssvm.output.charts import Table

    rows = []
    for name, *own in zip(names, *(part.tolist() for part in counts), strict=True):
        true, found, both = own
        if true or found:
            shares = (100.0 * share for share in relation_metrics.shares(*map(float, own)))
            rows.append((name, *shares, true, found, both))
    heads = ("relation", "precision", "recall", "f1", "true", "predicted", "both")
    return Table(title="By relation", note="In percent, and pairs.", heads=heads, rows=rows)
