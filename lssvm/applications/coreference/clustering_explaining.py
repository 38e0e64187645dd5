"""Explanations of predicted clusters."""

from dataclasses import replace
from typing import Any

import numpy as np

from lssvm.applications.coreference.mentions import Documents
from lssvm.applications.explaining import Explainer

WORDS = 6  # of a mention that are shown


class ClusteringExplainer(Explainer[Documents, Any]):
    """Mentions of a document in clusters."""

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
