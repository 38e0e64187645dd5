"""Bags from files, and the vocabulary that the first ones determine.

In later data, features outside of the vocabulary are left out; relations outside of it are kept as
names that no prediction can reach.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from lssvm import sparse
from lssvm.applications.base import Source
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.vocabulary import Vocabulary
from lssvm.checked import MOST_WEIGHTS
from lssvm.errors import DataError
from lssvm.formats.bag_file import BagFile
from lssvm.formats.numbered_names import read_names
from lssvm.formats.relation_bags import bag_parts, read_bags
from lssvm.offsets import cumulated, narrowed

_TABLE = 2**24  # features up to which places are looked up in a table
_NEW = -1  # the place of a feature that training does not have


@dataclass(frozen=True)
class Names:
    """Names of numbered relations and features, by number; empty where there are none."""

    relations: Mapping[int, str] = field(default_factory=dict)
    features: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def read(cls, relations: str | None, features: str | None) -> "Names":
        """The names in files of lines ``number name``. Raises DataError."""
        return cls(
            read_names(relations, "relation") if relations else {},
            read_names(features, "feature") if features else {},
        )


class PairFacts(NamedTuple):
    """What a file of pairs teaches.

    numbered : whether relations and features are numbers; those of the other kind are empty
    relations, names : of relations and of features, as they are numbered in the file
    numbers, features : of relations and of features, increasing, int64
    """

    numbered: bool
    relations: tuple[str, ...]
    names: tuple[str, ...] | None
    numbers: np.ndarray
    features: np.ndarray


def read_pairs(
    sources: Sequence[Source],
    vocabulary: Vocabulary | None,
    names: Names | None = None,
    bias: float = 0.0,
) -> tuple[Bags, Vocabulary]:
    """The pairs of files, and their vocabulary.

    vocabulary : of training; None if these are the training data
    names : used only to make a vocabulary; bias : value of the constant feature, 0 for none

    Raises DataError.
    """
    files = [read_file(source) for source in sources]
    return pairs_of(files, sources, vocabulary, names, bias)


def read_file(source: Source) -> BagFile:
    """The pairs of one file. Raises DataError."""
    return _checked(source, read_bags(source.path, source.limit))


def pairs_of(
    files: Sequence[BagFile],
    sources: Sequence[Source],
    vocabulary: Vocabulary | None,
    names: Names | None = None,
    bias: float = 0.0,
) -> tuple[Bags, Vocabulary]:
    """The pairs of files that were read, as :func:`read_pairs` has them. Raises DataError."""
    if vocabulary is None:
        facts = [facts_of(file) for file in files]
        vocabulary = vocabulary_of(facts, sources, names or Names(), bias != 0.0)
    return _packed(files, sources, vocabulary, bias), vocabulary


def pair_parts(
    sources: Sequence[Source], vocabulary: Vocabulary, bias: float = 0.0
) -> Iterator[Bags]:
    """The pairs of :func:`read_pairs` in parts, in order, at least one. Raises DataError."""
    paths = tuple(source.path for source in sources)
    for number, source in enumerate(sources):
        count = 0
        for file in bag_parts(source.path, source.limit):
            found = _packed([_checked(source, file)], [source], vocabulary, bias, count)
            count += len(found)
            files = np.full(len(found), number, dtype=np.int32)
            yield replace(found, files=files, paths=paths)


def _checked(source: Source, file: BagFile) -> BagFile:
    """The file, once it is sure that its source gives no label. Raises DataError."""
    if source.label is not None:
        message = f"label {source.label!r} in the configuration has no meaning for pairs"
        raise DataError(source.path, None, f"{message}; expected relations in the file")
    return file


def facts_of(file: BagFile) -> PairFacts:
    """What a file of pairs teaches."""
    used = np.unique(file.labels)
    if file.features is None:
        numbers, features = used.astype(np.int64) + 1, _occurring([file.indices])
        return PairFacts(True, (), None, numbers, features)
    relations = tuple(file.relations[label] for label in used.tolist())
    none = np.empty(0, dtype=np.int64)
    return PairFacts(False, relations, file.features, none, none)


def vocabulary_of(
    facts: Sequence[PairFacts], sources: Sequence[Source], names: Names, bias: bool
) -> Vocabulary:
    """The vocabulary of training data, from what each file teaches. Raises DataError."""
    numbered = facts[0].numbered
    for fact, source in zip(facts, sources, strict=True):
        _check_kind(fact.numbered, source, numbered, "the first file of training")
    if not any(len(fact.relations) + len(fact.numbers) for fact in facts):
        message = "no pair has a relation; expected relations for training"
        raise DataError(sources[0].path, None, message)
    numbers = features = np.empty(0, dtype=np.int64)
    feature_names: tuple[str, ...] | None = None
    if numbered:
        numbers = np.unique(np.concatenate([fact.numbers for fact in facts]))
        relations = tuple(names.relations.get(n, str(n)) for n in numbers.tolist())
        features = _occurring([fact.features for fact in facts])
        if names.features:
            feature_names = tuple(names.features.get(n, f"feature {n}") for n in features.tolist())
    else:
        relations = tuple(dict.fromkeys(text for fact in facts for text in fact.relations))
        feature_names = tuple(dict.fromkeys(name for fact in facts for name in fact.names or ()))
    found = Vocabulary(relations, numbers, features, feature_names, bias)
    _check_size(found, sources[0])
    return found


def _check_size(found: Vocabulary, source: Source) -> None:
    """Raise DataError if names are not different, or w is too long or empty."""
    for what, texts in (("relations", found.relations), ("features", found.names or ())):
        if len(set(texts)) < len(texts):
            message = f"two {what} have one name; expected different names"
            raise DataError(source.path, None, message)
    if not found.width:
        raise DataError(source.path, None, "no features, and no bias; expected one of them")
    columns = len(found.relations) + 1  # one for none
    if found.width * columns > MOST_WEIGHTS:
        message = f"{found.width:,d} features times {columns:,d} relations are too many weights"
        raise DataError(source.path, None, f"{message}; expected at most {MOST_WEIGHTS:,d}")


def _check_kind(found: bool, source: Source, numbered: bool, others: str) -> None:
    """Raise DataError if a file has names where others have numbers, or the other way round.

    found, numbered : whether the file has numbers, and whether others do
    """
    if found != numbered:
        words = ("names", "numbers") if numbered else ("numbers", "names")
        message = f"features and relations are {words[0]}, and those of {others} {words[1]}"
        raise DataError(source.path, None, f"{message}; expected {words[1]}")


def _occurring(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The different numbers of parts, increasing, int64."""
    highest = max((int(part.max(initial=0)) for part in parts), default=0)
    if highest < _TABLE:
        marks = np.zeros(highest + 1, dtype=bool)
        for part in parts:
            marks[part] = True
        return np.flatnonzero(marks)
    return np.unique(np.concatenate([np.unique(part) for part in parts])).astype(np.int64)


def _feature_places(file: BagFile, vocabulary: Vocabulary) -> np.ndarray:
    """The places of the features of a file, int32, -1 for those that training does not have."""
    if file.features is not None:
        place_of = vocabulary.place_of
        own = [place_of.get(name, _NEW) for name in file.features]
        return np.array([*own, _NEW], dtype=np.int32)[file.indices]
    known = vocabulary.features
    highest = int(known[-1]) if len(known) else 0
    if highest < _TABLE:
        table = np.full(highest + 2, _NEW, dtype=np.int32)
        table[known] = np.arange(len(known))
        return table[np.minimum(file.indices, highest + 1)]
    places = np.searchsorted(known, file.indices)
    there = np.append(known, -1)[places] == file.indices
    return np.where(there, places, _NEW).astype(np.int32)


def _matrix(file: BagFile, vocabulary: Vocabulary, bias: float) -> tuple["sparse.csr_array", int]:
    """The features of the mentions of a file, (mentions, width), and how many are left out."""
    places, starts, values = _feature_places(file, vocabulary), file.starts, file.values
    kept = places >= 0
    left_out = int(len(kept) - np.count_nonzero(kept))
    if left_out:
        places, values, starts = places[kept], values[kept], cumulated(kept)[starts]
    if vocabulary.bias:
        places = np.insert(places, starts[1:], vocabulary.count)
        values = np.insert(values, starts[1:], bias)
        starts = starts + np.arange(len(starts))
    shape = len(starts) - 1, vocabulary.width
    matrix = sparse.csr_array((values, places, narrowed(starts)), shape=shape)
    if file.features is not None:
        matrix.sum_duplicates()
    return matrix, left_out


def _labels(
    files: Sequence[BagFile], vocabulary: Vocabulary
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """The relations of all pairs, increasing in each, their places, and the names of relations."""
    place_of, parts = dict(vocabulary.relation_of), []
    numbers = {number: place for place, number in enumerate(vocabulary.numbers.tolist())}
    for file in files:
        table = np.zeros(len(file.relations) + 1, dtype=np.int32)
        for label in np.unique(file.labels).tolist():
            name = file.relations[label]
            if file.features is None and label + 1 in numbers:
                table[label] = numbers[label + 1]
            else:
                if file.features is None and name in vocabulary.relation_of:
                    name = f"relation {name}"  # the name of another number
                table[label] = place_of.setdefault(name, len(place_of))
        parts.append(table[file.labels])
    counts = np.concatenate([np.diff(file.label_places) for file in files])
    labels = np.concatenate(parts)
    order = np.lexsort((labels, np.repeat(np.arange(len(counts)), counts)))
    return labels[order], cumulated(counts), tuple(place_of)


def _packed(
    files: Sequence[BagFile],
    sources: Sequence[Source],
    vocabulary: Vocabulary,
    bias: float,
    before: int = 0,
) -> Bags:
    """The pairs of files. Raises DataError. before : pairs of the same file before these"""
    for file, source in zip(files, sources, strict=True):
        _check_kind(file.features is None, source, vocabulary.numbered, "training")
    labels, label_places, relations = _labels(files, vocabulary)
    matrices, left_out = zip(*(_matrix(file, vocabulary, bias) for file in files), strict=True)
    counts = [len(file) for file in files]
    costs = np.concatenate(
        [
            np.where(np.isnan(file.costs), source.cost, file.costs)
            for file, source in zip(files, sources, strict=True)
        ]
    )
    known = np.concatenate([file.known for file in files])
    return Bags(
        inputs=matrices[0] if len(files) == 1 else sparse.csr_array(sparse.vstack(matrices, "csr")),
        places=cumulated(np.concatenate([np.diff(file.places) for file in files])),
        label_places=label_places,
        labels=labels,
        known=known,
        relations=relations,
        entities=_entities(files),
        mention_texts=_mention_texts(files),
        left_out=sum(left_out),
        costs=costs,
        identifiers=np.array(
            [name for file in files for name in _pair_names(file, before)], dtype=object
        ),
        lines=np.concatenate([file.lines for file in files]),
        files=np.repeat(np.arange(len(files), dtype=np.int32), counts),
        paths=tuple(source.path for source in sources),
        labelled=bool(known.all()),
    )


def _pair_names(file: BagFile, before: int) -> Sequence[str]:
    """The names of pairs: their numbers in the file if they have none."""
    if file.names is not None:
        return file.names
    return [str(number) for number in range(before + 1, before + len(file) + 1)]


def _entities(files: Sequence[BagFile]) -> np.ndarray:
    """The names of the entities of each pair, (n, 2) object."""
    found = np.full((sum(map(len, files)), 2), None, dtype=object)
    begin = 0
    for file in files:
        for row, entities in enumerate(file.entities or (), begin):
            if entities is not None:
                found[row] = entities
        begin += len(file)
    return found


def _mention_texts(files: Sequence[BagFile]) -> np.ndarray:
    """The names of mentions, (mentions,) object; empty if they have none."""
    if files[0].mention_names is None:
        return np.empty(0, dtype=object)
    return np.array([name for file in files for name in file.mention_names or ()], dtype=object)
