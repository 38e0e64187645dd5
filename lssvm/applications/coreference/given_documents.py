"""Documents that are given in memory: mentions of texts, or features of their pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lssvm.applications.coreference.mentions import Documents, UnpackedDocument, pack
from lssvm.applications.coreference.unpacked import packed_pairs, with_features
from lssvm.applications.given import MEMORY, costs_of, rows_of, word
from lssvm.errors import LssvmError, counted
from lssvm.formats.annotated import UNKNOWN, AnnotatedText, Mention, check_all_known
from lssvm.formats.conll_coreference import sentences_of
from lssvm.formats.mention_pairs import PairDocument

_PARTS = ("words", "mentions", "tags", "speakers", "sentences", "kinds", "entities")
_NEEDED = {"words", "mentions"}


class FromDocuments:
    """Examples from texts or arrays, packed as the documents of a file are."""

    options: Any
    reach: int

    def examples_from(self, X: Any, y: Any = None, *, costs: Any = None) -> Documents:
        """The documents that are given in memory, packed as those of files are.

        X : n documents. With the option ``features`` a document is a matrix (pairs, features), with
            a row for each pair i < j of its mentions, ordered by i, then by j. Without it, it is a
            dictionary with words, and with mentions, pairs (start, stop) of tokens from 0 in the
            order of the text, longer ones first; and, where they are known, tags and speakers of
            the words, sentences (numbers) of the words, kinds (PROP, NOM, PRON) and entities of the
            mentions
        y : n sequences with the cluster of each mention, words or numbers; None: not known
        costs : (n,) the costs c_i of the documents, 1 by default

        Raises LssvmError for what cannot be used.

        >>> from lssvm import Config
        >>> application = Config.from_dict({"application": "coreference"}).create_application()
        >>> text = {"words": ["Anna", "lost", "her", "key"], "mentions": [(0, 1), (2, 4), (2, 3)]}
        >>> examples = application.examples_from([text], [["a", "k", "a"]])
        >>> examples.clusters, examples.mentions
        (array([0, 1, 0], dtype=int32), array([0, 3]))
        """
        n = len(X)
        if not n:
            raise LssvmError("X: no documents; expected at least one")
        if y is not None and len(y) != n:
            raise LssvmError(f"y has {counted(len(y), 'document')}, X has {n:,d}; expected as many")
        known = [None] * n if y is None else y
        weights = costs_of(costs, n).tolist()
        rows = zip(range(1, n + 1), X, known, weights, strict=True)
        return pack([self._document(*row) for row in rows], self.reach)

    def _document(
        self, number: int, given: Any, clusters: Sequence[Any] | None, cost: float
    ) -> UnpackedDocument:
        if self.options.features:
            pairs = _pairs(number, given, clusters, len(self.options.features))
            return packed_pairs(pairs, cost, self.reach)
        return with_features(_text(number, given, clusters), cost, self.reach)


def _clusters(number: int, clusters: Sequence[Any] | None, count: int) -> list[str]:
    """The cluster of each mention as a word, ``?`` if it is not known. Raises LssvmError."""
    if clusters is None:
        return [UNKNOWN] * count
    if len(clusters) != count:
        raise LssvmError(
            f"y: document {number} has {counted(len(clusters), 'cluster')} for "
            f"{counted(count, 'mention')}; "
            "expected one for each"
        )
    found = [word(cluster) for cluster in clusters]
    check_all_known(MEMORY.path, number, str(number), found)
    return found


def _pairs(number: int, given: Any, clusters: Sequence[Any] | None, dimension: int) -> PairDocument:
    """A document of pairs. Raises LssvmError."""
    rows = rows_of(given)
    pairs = len(rows.offsets) - 1
    count = round((1 + (1 + 8 * pairs) ** 0.5) / 2)
    if rows.width != dimension or count * (count - 1) // 2 != pairs:
        raise LssvmError(
            f"X: document {number} has the shape ({pairs}, {rows.width}); expected a row for each "
            f"pair of mentions, and {counted(dimension, 'column')} (features)"
        )
    return PairDocument(
        str(number),
        MEMORY.path,
        number,
        None,
        _clusters(number, clusters, count),
        rows.offsets.tolist(),
        rows.indices.tolist(),
        rows.values.tolist(),
    )


def _text(number: int, given: Any, clusters: Sequence[Any] | None) -> AnnotatedText:
    """A text with mentions. Raises LssvmError."""
    if not isinstance(given, Mapping) or not _NEEDED <= given.keys() <= {*_PARTS}:
        raise LssvmError(
            f"X: document {number} is not a dictionary of words, mentions and, if they are known, "
            f"{', '.join(_PARTS[2:])}"
        )
    words, spans = tuple(map(str, given["words"])), [(int(a), int(b)) for a, b in given["mentions"]]
    for a, b in spans:
        if not 0 <= a < b <= len(words):
            raise LssvmError(
                f"X: document {number}: mention ({a}, {b}) is not within its "
                f"{counted(len(words), 'word')}"
            )
    if spans != sorted(set(spans), key=lambda span: (span[0], -span[1])):
        raise LssvmError(
            f"X: document {number}: mentions are not in the order of the text, each once; expected "
            "them by their first word, longer ones first"
        )
    sizes = {"tags": len(words), "speakers": len(words), "sentences": len(words)}
    sizes |= {"kinds": len(spans), "entities": len(spans)}
    for name, size in sizes.items():
        if name in given and len(given[name]) != size:
            raise LssvmError(
                f"X: document {number} has {len(given[name])} {name}; expected {size}, one for each"
            )
    names = _clusters(number, clusters, len(spans))
    kinds, entities = (
        list(map(str, given.get(name, [""] * len(spans)))) for name in ("kinds", "entities")
    )
    sentences = given.get("sentences")
    return AnnotatedText(
        str(number),
        MEMORY.path,
        number,
        words,
        tuple(map(str, given.get("tags", [""] * len(words)))),
        tuple(map(str, given.get("speakers", [""] * len(words)))),
        sentences_of(words, ()) if sentences is None else np.asarray(sentences, dtype=np.int64),
        tuple(
            Mention(a, b, name, kind, entity)
            for (a, b), name, kind, entity in zip(spans, names, kinds, entities, strict=True)
        ),
    )
