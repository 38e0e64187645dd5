"""Scores of clusterings of mentions: MITRE loss, pair loss, MUC, B³, CEAF_e and their mean.

Counts of all documents are summed before a ratio is taken, as the scorers of the CoNLL-2011
and 2012 tasks do. Mentions are those of the annotation in truth and prediction alike, and
singletons, clusters of one mention, count on both sides: MUC ignores them by definition, B³ and
CEAF_e do not.
"""

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

CONLL = ("b_cubed", "ceaf_e", "conll", "undefined_as_0")


class Counts(NamedTuple):
    """The counts from which losses are computed; the counts of several documents add up.

    mentions; clusters : of the truth; found : predicted clusters
    joint : parts into which the true clusters are cut by the predicted ones
    wrong : pairs put together or apart wrongly, of ``pairs``
    """

    mentions: int = 0
    clusters: int = 0
    found: int = 0
    joint: int = 0
    wrong: int = 0
    pairs: int = 0

    @property
    def muc(self) -> tuple[float | None, float | None, float | None]:
        """Recall, precision and F1 of MUC (Vilain et al. 1995) in percent; None if 0 / 0."""
        links = self.mentions - self.joint
        true, made = self.mentions - self.clusters, self.mentions - self.found
        return percent(links, true), percent(links, made), percent(2 * links, true + made)

    @property
    def mitre_loss(self) -> float | None:
        """100 − MUC F1; None where neither side has a link."""
        f1 = self.muc[2]
        return None if f1 is None else 100.0 - f1

    @property
    def pair_loss(self) -> float | None:
        """The pairs i < j put together or apart wrongly, in percent of all pairs."""
        return percent(self.wrong, self.pairs)


def count(gold: np.ndarray, found: np.ndarray) -> Counts:
    """The counts of one document: true and predicted clusters of its mentions, (n,) int each."""
    n = len(gold)
    if n == 0:
        return Counts()
    sizes = [
        np.unique(labels, return_counts=True)[1]
        for labels in (gold, found, np.asarray(gold, np.int64) * (int(found.max()) + 1) + found)
    ]
    true, made, joint = (int(np.sum(size * (size - 1) // 2)) for size in sizes)
    clusters, predicted, parts = map(len, sizes)
    return Counts(n, clusters, predicted, parts, true + made - 2 * joint, n * (n - 1) // 2)


def total(counts: Iterable[Counts]) -> Counts:
    """The counts of several documents together."""
    return Counts(*(sum(column) for column in zip(*counts, strict=True)))


def conll_table(documents: Iterable[tuple[np.ndarray, np.ndarray]]) -> dict[str, float | None]:
    """B³, CEAF_e and the mean of MUC, B³ and CEAF_e (F1 in percent), by the package scorch.

    documents : true and predicted clusters of the mentions of each document

    All are None if scorch is not installed. An F1 whose denominators are all 0 is not defined and
    is None: that of MUC if neither side has a link, that of B³ and CEAF_e if there is no mention.
    In the mean it counts as 0, as in the official scorer (reference-coreference-scorers,
    ``ShowRPF``); ``undefined_as_0`` is the number of the three that are not defined.
    """
    if find_spec("scorch") is None:
        return dict.fromkeys(CONLL)
    import scorch.scores

    sums = {name: np.zeros(4) for name in ("muc", "b_cubed", "ceaf_e")}
    for gold, found in documents:
        if not len(gold):
            continue
        key, response = as_sets(gold), as_sets(found)
        n = len(gold)
        weights = {
            "muc": (n - len(key), n - len(response)),
            "b_cubed": (n, n),
            "ceaf_e": (len(key), len(response)),
        }
        for name, weight in weights.items():
            recall, precision, _ = getattr(scorch.scores, name)(key, response)
            sums[name] += [recall * weight[0], weight[0], precision * weight[1], weight[1]]
    f1 = {name: _f1(*values) for name, values in sums.items()}
    return {
        "b_cubed": f1["b_cubed"],
        "ceaf_e": f1["ceaf_e"],
        "conll": float(np.mean([value or 0.0 for value in f1.values()])),
        "undefined_as_0": sum(value is None for value in f1.values()),
    }


def as_sets(labels: np.ndarray) -> list[set[Any]]:
    """The clusters as sets of mention numbers."""
    clusters: dict[int, set[Any]] = {}
    for mention, label in enumerate(labels):
        clusters.setdefault(int(label), set()).add(mention)
    return list(clusters.values())


def percent(part: int, whole: int) -> float | None:
    """``part`` of ``whole`` in percent, None where ``whole`` is 0."""
    return 100 * part / whole if whole else None


def _f1(recalled: float, true: float, right: float, made: float) -> float | None:
    if not (true or made):
        return None
    recall, precision = recalled / true if true else 0.0, right / made if made else 0.0
    both = recall + precision
    return 100 * 2 * recall * precision / both if both else 0.0
