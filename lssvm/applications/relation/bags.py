"""Pairs of entities with their mentions, packed in flat arrays.

A bag is a pair of entities with all sentences that mention both. Each mention has sparse features;
the relations belong to the pair, and nobody knows which mention expresses which of them.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from lssvm.applications.apart import share_edges
from lssvm.applications.names import LazyNames
from lssvm.applications.packing import Packed, digest
from lssvm.offsets import gathered


class MentionNames(LazyNames):
    """The names of mentions: as the data give them, or their number within the pair, from 1."""

    def __init__(self, texts: np.ndarray, places: np.ndarray) -> None:
        self._texts, self._places = texts, places

    def __len__(self) -> int:
        return int(self._places[-1])

    def name(self, place: int) -> str:
        """The name at a place."""
        if len(self._texts):
            return str(self._texts[place])
        first = self._places[np.searchsorted(self._places, place, side="right") - 1]
        return str(place - first + 1)


@dataclass(frozen=True, eq=False)
class Bags(Packed):
    """n pairs of entities with mentions and relations.

    inputs : csr_array (mentions, features) float64; the columns are the features that occur in
        training, others are left out
    places : (n + 1,) int64, the mentions of pair i are places[i] .. places[i + 1] − 1
    label_places : (n + 1,) int64, the same for ``labels``
    labels : int32, the relations of each pair, increasing; no relation is an empty range. They are
        places in ``relations``
    known : (n,) bool, whether the relations of a pair are known
    relations : the relations of training, followed by those that only these data have
    entities : (n, 2) object, the names of both entities, or None
    mention_texts : (mentions,) object, the names of mentions, or empty if they have none
    left_out : number of values left out because training has no such feature

    A block made by ``slice`` shares inputs, labels and names of mentions with the whole: ``places``
    and ``label_places`` count from the start of the whole data set.
    """

    KIND: ClassVar = "pair"
    OFFSETS: ClassVar = ("places", "label_places")
    EACH: ClassVar = ("known", "entities")

    inputs: Any
    places: np.ndarray
    label_places: np.ndarray
    labels: np.ndarray
    known: np.ndarray
    relations: tuple[str, ...]
    entities: np.ndarray
    mention_texts: np.ndarray
    left_out: int = 0

    @property
    def shares(self) -> np.ndarray:
        """Where pairs of other files begin, as far as they are cut apart; see ``apart``."""
        return share_edges(self.files)

    @property
    def mention_names(self) -> MentionNames:
        """The names of all mentions in ``inputs``."""
        return MentionNames(self.mention_texts, self.places)

    @property
    def span(self) -> slice:
        """The mentions of these pairs, rows of ``inputs``."""
        return slice(int(self.places[0]), int(self.places[-1]))

    @property
    def label_span(self) -> slice:
        """The relations of these pairs, places in ``labels``."""
        return slice(int(self.label_places[0]), int(self.label_places[-1]))

    @property
    def mention_counts(self) -> np.ndarray:
        """Mentions of each pair, (n,) int64."""
        return np.diff(self.places)

    @property
    def label_counts(self) -> np.ndarray:
        """Relations of each pair, (n,) int64."""
        return np.diff(self.label_places)

    @property
    def reachable(self) -> np.ndarray:
        """Whether a pair has at least as many mentions as relations, (n,) bool.

        Each mention expresses one relation at most, so other pairs cannot reach their truth.
        """
        return self.mention_counts >= self.label_counts

    @property
    def sizes(self) -> np.ndarray:
        """Numbers to read for each pair, (n,) int64."""
        values = np.diff(self.inputs.indptr[self.places].astype(np.int64))
        return values + self.mention_counts + 1

    def truth(self, count: int) -> np.ndarray:
        """Whether a pair has a relation, (n, count) bool, for the first ``count`` relations."""
        found = np.zeros((len(self), count), dtype=bool)
        labels = self.labels[self.label_span]
        pairs = np.repeat(np.arange(len(self)), self.label_counts)
        own = labels < count
        found[pairs[own], labels[own]] = True
        return found

    def with_inputs(self, matrix: Any) -> Self:
        """The same pairs with other features, csr_array (mentions, any width)."""
        return replace(self, inputs=matrix)

    def take(self, rows: np.ndarray) -> Self:
        """A copy of the chosen pairs, in the order of ``rows``."""
        rows = np.asarray(rows, dtype=np.int64)
        mentions, places = gathered(self.places, rows)
        labels, label_places = gathered(self.label_places, rows)
        texts = self.mention_texts
        return replace(
            self,
            inputs=self.inputs[mentions],
            places=places,
            label_places=label_places,
            labels=self.labels[labels],
            mention_texts=texts[mentions] if len(texts) else texts,
            **self.each(rows),
        )

    def fingerprint(self) -> str:
        """SHA-256 of features, relations and costs, in hexadecimal."""
        matrix, span = self.inputs, self.span
        starts = matrix.indptr[span.start : span.stop + 1].astype(np.int64)
        own = slice(int(starts[0]), int(starts[-1]))
        return digest(
            matrix.shape[1],
            len(self.relations),
            self.places - span.start,
            self.label_places - self.label_places[0],
            self.labels[self.label_span],
            self.known,
            self.costs,
            starts - starts[0],
            matrix.indices[own],
            matrix.data[own],
        )
