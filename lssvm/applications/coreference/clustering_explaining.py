"""Explanations of predicted clusters, and pictures."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lssvm.applications.coreference.mentions import Documents
from lssvm.applications.explaining import Explainer
from lssvm.applications.picturing import Picturer

if TYPE_CHECKING:
    from lssvm.output.charts import Figure

MOST_DOCUMENTS = 15  # in a table
WORDS = 6  # of a mention that are shown


class ClusteringExplainer(Explainer[Documents, Any], Picturer[Documents, Any]):
    """Mentions of a document in clusters."""

    counts: Any

    def as_truth(self, w: np.ndarray, examples: Documents, predictions: Any) -> Documents:
        """The predicted clusters as true ones."""
        clusters = np.ascontiguousarray(predictions.clusters, dtype=np.int32)
        return replace(examples, clusters=clusters, targets=clusters, labelled=True)

    def shown(self, examples: Documents, predictions: Any) -> list[str]:
        """The predicted clusters, each mention with its true cluster."""
        names = mention_names(examples)
        gold = examples.gold
        lines = []
        for cluster in range(int(predictions.clusters.max(initial=-1)) + 1):
            members = np.flatnonzero(predictions.clusters == cluster).tolist()
            true = [f"{names[m]} [{gold[m] + 1 if gold[m] >= 0 else '?'}]" for m in members]
            lines.append(f"{cluster + 1}: {', '.join(true)}")
        return ["predicted cluster: its mentions [their true clusters]", *lines]

    def data_figures(
        self, w: np.ndarray, examples: Documents, predictions: Any
    ) -> "Iterator[Figure]":
        """The documents with the lowest MUC F1."""
        from lssvm.output.charts import Table

        rows = []
        for name, where, counts in zip(
            examples.names, examples.places, self.counts(examples, predictions), strict=True
        ):
            found = predictions.clusters[where]
            rows.append(
                (
                    str(name),
                    len(found),
                    len(np.unique(examples.gold[where])),
                    len(np.unique(found)),
                    counts.muc[2],
                    counts.pair_loss,
                )
            )
        rows.sort(key=lambda row: 100.0 if row[4] is None else row[4])
        heads = ("document", "mentions", "true clusters", "predicted", "MUC F1", "wrong pairs (%)")
        yield Table(
            title="Documents with the lowest MUC F1", heads=heads, rows=rows[:MOST_DOCUMENTS]
        )


def mention_names(examples: Documents) -> list[str]:
    """The first words of each mention of a document, or its number."""
    text = examples.texts[0]
    if text is None:
        return [f"mention {m + 1}" for m in range(int(np.diff(examples.mentions)[0]))]
    names = []
    for mention in text.mentions:
        words = text.words[mention.start : mention.stop]
        names.append(" ".join(words[:WORDS]) + (" …" if len(words) > WORDS else ""))
    return names
