"""Pairs of entities in files that are read apart, wherever they lie."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lssvm.applications.apart import Ask, Here, ReadsApart, Taught
from lssvm.applications.base import Source
from lssvm.applications.relation import reading
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.reading import Names
from lssvm.applications.relation.vocabulary import Vocabulary
from lssvm.plane import Plane


class PairsApart(ReadsApart[Bags]):
    """Relation extraction whose files are read one by one."""

    options: Any
    vocabulary: Vocabulary | None
    relations: Any
    plane_of: Callable[..., Plane]

    @property
    @abstractmethod
    def _names(self) -> Names | None:
        """The names of relations and features. Raises DataError."""

    @abstractmethod
    def for_training(self, examples: Bags) -> Bags:
        """The pairs whose relations are not more than their mentions."""

    @abstractmethod
    def _check(self, examples: Bags) -> None:
        """Raise DataError for a pair that training cannot take."""

    def taught(self, source: Source) -> Taught:
        """The relations and features of a file. Raises DataError."""
        file = reading.read_file(source)
        reachable = np.diff(file.places) >= np.diff(file.label_places)
        return Taught(int(np.count_nonzero(reachable)), reading.facts_of(file))

    def learn_from(self, sources: Sequence[Source], taught: Sequence[Taught]) -> None:
        """The vocabulary. Raises DataError as ``read`` would."""
        facts = [each.facts for each in taught]
        bias = self.options.bias != 0.0
        self.vocabulary = reading.vocabulary_of(facts, sources, self._names or Names(), bias)

    def read_share(self, sources: Sequence[Source], plan: None, before: int) -> Bags:
        """The pairs of neighbouring files that training takes. Raises DataError."""
        found, _ = reading.read_pairs(sources, self.vocabulary, bias=self.options.bias)
        return self.for_training(found)

    def start(self, examples: Bags, rng: np.random.Generator) -> Plane:
        """The relations of each pair in turn on its mentions. Raises DataError without them."""
        (plane,) = self.start_apart(Here(self, examples, whole=True), rng)
        return plane

    def start_apart(self, ask: Ask, rng: np.random.Generator) -> list[Plane]:
        """The same by shares."""
        counts = ask("checked_mentions")
        keys = [None] * len(counts)
        if self.options.initialisation == "random":
            keys = [rng.random(count) for count in counts]
        return ask("start_by", each=keys)

    def checked_mentions(self, examples: Bags) -> int:
        """The number of mentions. Raises DataError for a pair that training cannot take."""
        self._check(examples)
        return int(examples.mention_counts.sum())

    def start_by(self, examples: Bags, keys: np.ndarray | None) -> Plane:
        """The plane of the first labels. keys : as of ``first_labels``"""
        return self.plane_of(examples, self.first_labels(examples, keys), 0.0)

    def first_labels(self, examples: Bags, keys: np.ndarray | None) -> np.ndarray:
        """First labels of all mentions, which use the relations of their pairs.

        keys : (mentions,) by which the mentions of a pair take turns; None: by their places
        """
        counts, mentions = examples.label_counts, examples.mention_counts
        starts = examples.places[:-1] - examples.places[0]
        turns = np.arange(int(mentions.sum())) - np.repeat(starts, mentions)
        if keys is not None:
            order = np.lexsort((keys, np.repeat(np.arange(len(examples)), mentions)))
            shuffled = np.empty_like(turns)
            shuffled[order] = turns
            turns = shuffled
        own = np.repeat(counts, mentions)
        places = np.repeat(examples.label_places[:-1], mentions) + turns % np.maximum(own, 1)
        labels = np.append(examples.labels, 0)[np.where(own > 0, places, -1)]
        return np.where(own > 0, labels, len(self.relations)).astype(np.int32)
