"""What the applications that cluster mentions share: input, output and scores."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TextIO

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from lssvm.applications import base
from lssvm.applications.apart import LearnsNothing
from lssvm.applications.coreference import coreference_features, coreference_scores
from lssvm.applications.coreference.clustering_explaining import ClusteringExplainer
from lssvm.applications.coreference.coreference_scores import Counts
from lssvm.applications.coreference.given_documents import FromDocuments
from lssvm.applications.coreference.mentions import (
    NO_LIMIT,
    Documents,
    UnpackedDocument,
    joined_labels,
    labels_alone,
    numbered_by_first,
    pack,
    pair_ends,
)
from lssvm.applications.coreference.unpacked import packed_pairs, with_features
from lssvm.applications.parts import Form, InParts
from lssvm.errors import DataError, LssvmError, counted
from lssvm.formats.annotated import AnnotatedText
from lssvm.formats.brat import read_brat, text_of
from lssvm.formats.conll_coreference import conll_documents, write_conll
from lssvm.formats.mention_pairs import pair_documents, read_pairs_npz
from lssvm.formats.text import open_text

BRAT, NPZ = ".ann", ".npz"
_WORK = 12  # ns of a mention or pair
_PART = 1_000_000  # pairs and numbers of a part; a mention takes as much memory as _MENTION
_MENTION = 100
_PAIR = 60  # bytes that a pair takes while features are made, a row for every fourteen pairs
MOST_FEATURES = 1_000_000  # of a pair; each has a name
SUFFIXES = (BRAT, NPZ, ".conll", "_conll", ".pairs")  # what is read of a folder


class MentionOptions(base.Options):
    """The options of both applications."""

    features: list[str] | int | str = Field(
        default=[],
        description="for documents given as pairs: the number of features, their names, or a file "
        "with one name per line; empty: features are computed from the words of annotated text",
    )
    max_distance: int | None = Field(
        default=None,
        ge=1,
        le=NO_LIMIT,
        description="largest distance of a pair, in mentions; in training, true clusters are cut "
        "where their mentions are further apart",
    )

    @field_validator("features")
    @classmethod
    def _named(cls, value: list[str] | int | str, info: ValidationInfo) -> list[str]:
        """Replace the number of features, or the name of a file, by the names of features."""
        if isinstance(value, int):
            if base.is_stored(info):
                raise ValueError("is a number; expected the names, which a model holds")
            if not 1 <= value <= MOST_FEATURES:
                raise ValueError(f"expected 1 to {MOST_FEATURES:,} features, got {value}")
            return [f"feature {number}" for number in range(1, value + 1)]
        names = value
        if isinstance(value, str):
            try:
                with open_text(base.named_file(value, info)) as lines:
                    names = [line.strip() for _, line in lines if line.strip()]
            except DataError as error:
                raise ValueError(str(error)) from None
            if not names:
                raise ValueError(f"{value} is empty; expected one name a line")
        counts = Counter(names)
        repeated = next((name for name in names if counts[name] > 1), None)
        if repeated is not None:
            raise ValueError(f"{repeated!r} is named twice; expected distinct names")
        return list(names)


@dataclass(frozen=True)
class Predictions:
    """Predicted clusterings of n documents with m mentions in all.

    clusters : (m,) int32, from 0 in each document in the order of the first mentions
    parents : (m,) int32, the parent of each mention in the forest, counted within its document,
        -1 at a root; None if there is no forest
    scores : (n,) float64, w · Φ
    """

    clusters: np.ndarray
    parents: np.ndarray | None
    scores: np.ndarray


class MentionClustering(
    FromDocuments,
    ClusteringExplainer,
    base.Application[Documents, Predictions],
    LearnsNothing[Documents],
    InParts[Documents, Predictions],
):
    """Mentions of a document are put into clusters."""

    Options: ClassVar[type[base.Options]] = MentionOptions
    starter_files: ClassVar[dict[str, list[str]]] = {
        "train": ["train.conll"],
        "test": ["test.conll"],
    }

    def __init__(self, options: Any, formulation: base.Formulation | None = None) -> None:
        super().__init__(options, formulation)
        self.reach = options.max_distance or NO_LIMIT

    @classmethod
    def companions(cls, path: str) -> Iterator[str]:
        """The files of a folder, and the texts that brat's annotations belong to."""
        with suppress(DataError):
            for file in _files(path):
                if file != path:
                    yield file
                if file.endswith(BRAT):
                    yield str(text_of(file))

    def read(self, sources: Sequence[base.Source]) -> Documents:
        """The documents of files, or of all files of a folder by name.

        With ``features``, documents of pairs: .npz files or text. Without, annotated text:
        stand-off files of brat if they are named .ann, else column files. Raises DataError.
        """
        return pack(list(self._each_document(sources)), self.reach)

    def files_of(self, source: base.Source) -> list[base.Source]:
        """The file, or those of a folder. Raises DataError for a folder without any."""
        return [replace(source, path=path) for path in _files(source.path)]

    def read_parts(self, sources: Sequence[base.Source]) -> Iterator[Documents]:
        """The documents of :meth:`read` in parts. Raises DataError."""
        documents, size = list[UnpackedDocument](), 0
        for document in self._each_document(sources):
            documents.append(document)
            size += len(document.rows) + len(document.indices) + _MENTION * len(document.clusters)
            if size > _PART:
                yield pack(documents, self.reach)
                documents, size = [], 0
        if documents:
            yield pack(documents, self.reach)

    def kept(self, examples: Documents, predictions: Predictions) -> tuple[Documents, Predictions]:
        """The true and the predicted clusters."""
        return labels_alone(examples), Predictions(predictions.clusters, None, np.empty(0))

    def joined(
        self, parts: Sequence[tuple[Documents, Predictions]]
    ) -> tuple[Documents, Predictions]:
        """The clusters of all parts."""
        clusters = np.concatenate([found.clusters for _, found in parts])
        found = Predictions(clusters, None, np.empty(0))
        return joined_labels([part for part, _ in parts]), found

    def work(self, examples: Documents) -> np.ndarray:
        """By mentions and pairs."""
        return _WORK * examples.sizes

    def dimension(self, examples: Documents) -> int:
        """The number of features of a pair."""
        return len(self.feature_names())

    def known_dimension(self) -> int | None:
        """As ``dimension``."""
        return len(self.feature_names())

    def feature_names(self) -> list[str]:
        """The names that the option gives, or those of the features made from words."""
        return list(self.options.features or coreference_features.NAMES)

    def pair(self, examples: Documents, i: int, first: int, second: int) -> np.ndarray:
        """The feature vector x of mentions first < second of document i, dense, (d,)."""
        count = int(examples.mentions[i + 1] - examples.mentions[i])
        ends = pair_ends(count, examples.reach)
        place = int(np.flatnonzero((ends[0] == first) & (ends[1] == second))[0])
        row = examples.tables[i] + examples.rows[examples.pairs[i] + place]
        chosen = slice(int(examples.starts[row]), int(examples.starts[row + 1]))
        vector = np.zeros(self.dimension(examples))
        np.add.at(vector, examples.indices[chosen], examples.values[chosen])
        return vector

    def counts(self, examples: Documents, predictions: Predictions) -> list[Counts]:
        """What the losses need, by document."""
        gold = examples.gold
        return [
            coreference_scores.count(gold[where], predictions.clusters[where])
            for where in examples.places
        ]

    def score(self, examples: Documents, predictions: Predictions) -> dict[str, float | None]:
        """MITRE loss, pair loss, MUC, B³, CEAF_e and their mean in percent.

        mitre_loss is 100 − MUC F1, pair_loss the share of pairs that are wrongly joined or
        separated; both are computed here. B³, CEAF_e and the CoNLL mean need scorch and are None
        without it. An undefined metric (0 / 0) is None and counts as 0 in the mean;
        ``undefined_as_0`` is the number of undefined ones among the three. See
        ``coreference_scores`` on sums over documents and on singletons.
        """
        if not examples.labelled:
            raise LssvmError("the documents have no clusters; expected true clusters for scores")
        counts = coreference_scores.total([Counts(), *self.counts(examples, predictions)])
        recall, precision, f1 = counts.muc
        places, gold = examples.places, examples.gold
        return {
            "mitre_loss": counts.mitre_loss,
            "pair_loss": counts.pair_loss,
            "muc": f1,
            "muc_precision": precision,
            "muc_recall": recall,
            **coreference_scores.conll_table((gold[p], predictions.clusters[p]) for p in places),
            "documents": len(examples),
            "mentions": counts.mentions,
            "clusters": counts.clusters,
            "singletons": sum(int(np.sum(np.bincount(gold[p]) == 1)) for p in places),
        }

    def prediction_values(self, examples: Documents, predictions: Predictions) -> np.ndarray:
        """w · Φ of the clusterings found, (n,)."""
        return predictions.scores

    def write(self, examples: Documents, predictions: Predictions, file: TextIO) -> None:
        """Each document with its predicted clusters, numbered from 1.

        A column file is written with a new last column and no other change, a document of brat as a
        column file of number, word and coreference; each span is written once, even if the input
        has it several times. A document of pairs is two lines: ``document NAME`` and
        ``clusters 1 1 2 …``.
        """
        _Writer().write(examples, predictions, file)

    def part_writer(self, name: str) -> Form:
        """The documents one after another, each on a new line."""
        return _Writer().write

    def records(self, examples: Documents, predictions: Predictions) -> Iterator[dict[str, Any]]:
        """id, y (the cluster of each mention, from 1), h (the edges of the forest, mentions from
        1, or None), score, gold and loss."""
        for i, (name, where) in enumerate(zip(examples.names, examples.places, strict=True)):
            clusters = predictions.clusters[where]
            record: dict[str, Any] = {"id": name, "y": (clusters + 1).tolist(), "h": None}
            parents = None if predictions.parents is None else predictions.parents[where]
            if parents is not None:
                record["h"] = [
                    sorted((v + 1, int(parents[v]) + 1))
                    for v in np.flatnonzero(parents >= 0).tolist()
                ]
            record["score"] = float(predictions.scores[i])
            gold = examples.gold[where]
            if np.all(gold >= 0):
                record |= {
                    "gold": (gold + 1).tolist(),
                    "loss": self.document_loss(gold, clusters, parents),
                }
            yield record

    @abstractmethod
    def document_loss(
        self, gold: np.ndarray, clusters: np.ndarray, parents: np.ndarray | None
    ) -> float:
        """Δ of the prediction for one document: clusters and parents of its mentions."""

    def warnings(self, examples: Documents) -> list[str]:
        """Repeated spans, clusters that are cut, documents without mentions or links."""
        found = []
        repeated = sum(text.repeated for text in examples.texts if text is not None)
        if repeated:
            found.append(
                f"{counted(repeated, 'mention is', 'mentions are')} left out because another "
                "mention has the same span"
            )
        if examples.cuts:
            found.append(
                f"{counted(examples.cuts, 'link is', 'links are')} longer than max_distance: "
                "true clusters are cut there in training, not in scores"
            )
        empty = int(np.sum(np.diff(examples.mentions) == 0))
        if empty:
            found.append(f"{counted(empty, 'document has', 'documents have')} no mentions")
        if examples.labelled:
            counts = [np.bincount(examples.gold[where]) for where in examples.places]
            bare = sum(len(sizes) > 0 and sizes.max() == 1 for sizes in counts)
            if bare:
                found.append(
                    f"{counted(bare, 'document has', 'documents have')} no two mentions in one "
                    "cluster"
                )
        return found

    def check_trainable(self, examples: Documents) -> None:
        """Raise DataError if a document has no true clusters."""
        if not examples.labelled:
            row = int(np.searchsorted(examples.mentions, np.argmin(examples.clusters), "right")) - 1
            raise examples.error(row, "has no clusters; expected true clusters for training")

    def _each_document(self, sources: Sequence[base.Source]) -> Iterator[UnpackedDocument]:
        for source in sources:
            if source.label is not None:
                message = f"label {source.label!r} has no meaning for documents; expected no label"
                raise DataError(source.path, None, message)
            for path in _files(source.path):
                yield from self._documents(path, source)

    def _documents(self, path: str, source: base.Source) -> Iterator[UnpackedDocument]:
        if self.options.features:
            read = read_pairs_npz if path.endswith(NPZ) else pair_documents
            for document in read(path, len(self.options.features), source.limit):
                yield packed_pairs(document, source.cost, self.reach)
        elif path.endswith(NPZ):
            message = "is a file of pairs; expected application.features, the features of pairs"
            raise DataError(path, None, message)
        else:
            whole = [read_brat(path, source.limit)] if path.endswith(BRAT) else None
            for text in whole or conll_documents(path, source.limit):
                _check_pairs(text, source, self.reach)
                yield with_features(text, source.cost, self.reach)


class _Writer:
    """Documents one after another in a file."""

    def __init__(self) -> None:
        self._ended = True  # the line

    def write(self, examples: Documents, predictions: Predictions, file: TextIO) -> None:
        """Write documents with their predicted clusters."""
        for name, text, where in zip(examples.names, examples.texts, examples.places, strict=True):
            clusters = (predictions.clusters[where] + 1).tolist()
            file.write("" if self._ended else "\n")
            self._ended = text is None or write_conll(text, clusters, file)
            if text is None:
                file.write(f"document {name}\nclusters {' '.join(map(str, clusters))}\n")


def clusters_of_roots(examples: Documents, roots: np.ndarray) -> np.ndarray:
    """Clusters from 0 in each document, from the first mention of each mention's cluster."""
    parts = [numbered_by_first(roots[where]) for where in examples.places]
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts])


def _files(path: str) -> list[str]:
    """The file itself, or the files of a folder that are called as documents are."""
    folder = Path(path)
    if not folder.is_dir():
        return [path]
    found = sorted(str(file) for file in folder.iterdir() if file.name.endswith(SUFFIXES))
    if not found:
        message = f"a folder without documents; expected files named {', '.join(SUFFIXES)}"
        raise DataError(path, None, message)
    return found


def _check_pairs(text: AnnotatedText, source: base.Source, reach: int) -> None:
    """Raise DataError if the features of a document's pairs take more memory than allowed."""
    count = len(text.mentions)
    near = min(reach, max(count - 1, 0))
    pairs = near * count - near * (near + 1) // 2
    if pairs * _PAIR > source.limit.bytes:
        what = f"document {text.name!r}, {pairs:,d} pairs of mentions (max_distance makes fewer),"
        raise source.limit.exceeded(text.path, text.line, what)
