"""Documents as mentions and feature vectors of pairs, computed by another program.

Either text, plain or compressed; blank lines and lines that begin with ``#`` are skipped:

    document NAME              begins a document; ``cost=0.5`` may follow
    clusters 1 2 1 ?…          the cluster of each of its n mentions, any word; all ``?`` if unknown
    pair 1 2 3:0.5 7:1         features of mentions 1 and 2: index from 1, increasing, and value
    …                          one line for each pair i < j, ordered by i, then by j

Words are separated only by tabs if the file has tabs, otherwise by blanks (see ``separators``); no
name of a document or a cluster contains a blank. Or an .npz file with the arrays

    mentions (documents,) int      number of mentions of each document
    clusters (sum,) int            their clusters, -1 if unknown
    features (pairs, d) float      one row per pair, in the same order
    costs (documents,) float       optional
    names (documents,) text        optional
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lssvm.errors import DataError, counted
from lssvm.formats import tokens
from lssvm.formats.annotated import UNKNOWN, check_all_known
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.npy_arrays import read_archive
from lssvm.formats.separators import Separator, check_filled
from lssvm.formats.skipping import from_beginning
from lssvm.formats.text import Line, open_text
from lssvm.offsets import cumulated

_KINDS = {"mentions": "i", "clusters": "i", "features": "f", "costs": "f", "names": "U"}
_OPTIONAL = ("costs", "names")
EXPECTED = "expected 'document NAME', 'clusters …' or 'pair I J INDEX:VALUE …'"


@dataclass
class PairDocument:
    """n mentions with a sparse feature vector for each of their n (n - 1) / 2 pairs.

    clusters : n names, ``?`` if unknown
    starts : first entry of each pair in ``indices`` and ``values``, and the end; pairs are ordered
        by their first, then by their second mention
    indices : features, from 0; values : finite
    """

    name: str
    path: str
    line: int
    cost: float | None = None
    clusters: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    indices: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return len(self.clusters) * (len(self.clusters) - 1) // 2


def read_pairs(path: str | Path, dimension: int, limit: Limit = DEFAULT) -> list[PairDocument]:
    """The documents of a text file of pairs with ``dimension`` features.

    Raises DataError, with the line, if it is not such a file.
    """
    return list(pair_documents(path, dimension, limit))


def pair_documents(path: str | Path, dimension: int, limit: Limit) -> Iterator[PairDocument]:
    """The documents of :func:`read_pairs`, each once it is read."""
    document: PairDocument | None = None
    names: dict[str, int] = {}
    expected = (1, 2)
    separator = Separator()
    with open_text(path, limit, owns=document_lines) as lines:
        for number, line in lines:
            if line.lstrip(" \t").startswith("#"):
                continue
            try:
                words = separator.cells(number, line)
                if not words:
                    continue
                _check_words(words)
                if words[0] == "document":
                    _check_whole(path, document, expected)
                    ended, document = document, _header(path, number, words, names)
                    expected = (1, 2)
                elif document is None:
                    raise ValueError(f"{words[0]!r} before the first document; {EXPECTED}")
                elif words[0] == "clusters":
                    _clusters(document, words)
                elif words[0] == "pair":
                    expected = _pair(document, words, expected, dimension)
                else:
                    raise ValueError(f"{words[0]!r} is not known; {EXPECTED}")
            except ValueError as error:
                raise DataError(path, number, error) from None
            if words[0] == "document" and ended is not None:
                yield ended
    _check_whole(path, document, expected)
    if document is None:
        raise DataError(path, None, f"no documents; {EXPECTED}")
    yield document


def document_lines(lines: Iterable[tuple[int, Line]], number: int) -> list[range]:
    """The lines of the document that has a line, as of :data:`lssvm.formats.text.Owns`."""
    kinds = [(at, line, (line.split(None, 1) or [b"#"])[0]) for at, line in lines]
    known = [b"document", b"clusters", b"pair"]
    begun = [at for at, _, kind in kinds if kind == known[0] and at <= number]
    if not begun:
        raise ValueError("cannot skip what comes before the first document")
    if any(at == number and kind not in known for at, _, kind in kinds):
        raise ValueError("cannot skip a line of no kind: its document is not known")
    return from_beginning(
        ((at, line) for at, line, _ in kinds), number, lambda line, _: line.split()[:1] == known[:1]
    )


def _check_words(words: list[str]) -> None:
    """Raise ValueError for an empty word, and for a word with a blank."""
    check_filled(words, ())
    spaced = next((word for word in words if " " in word), None)
    if spaced is not None:
        raise ValueError(f"{spaced[:20]!r} holds a blank; expected words with tabs between them")


def _header(path: str | Path, number: int, words: list[str], names: dict[str, int]) -> PairDocument:
    if len(words) not in (2, 3) or (len(words) == 3 and not words[2].startswith("cost=")):
        raise ValueError("expected 'document NAME' or 'document NAME cost=0.5'")
    name = words[1]
    if name in names:
        raise ValueError(
            f"document {name!r} is given twice, first on line {names[name]}; "
            "expected distinct names"
        )
    names[name] = number
    cost = tokens.cost(words[2].removeprefix("cost=")) if len(words) == 3 else None
    return PairDocument(name, str(path), number, cost)


def _clusters(document: PairDocument, words: list[str]) -> None:
    if document.clusters:
        raise ValueError(f"'clusters' is given twice for {document.name!r}; expected it once")
    if len(words) < 2:
        raise ValueError("no clusters; expected the cluster of each mention")
    document.clusters = words[1:]


def _pair(
    document: PairDocument, words: list[str], expected: tuple[int, int], dimension: int
) -> tuple[int, int]:
    """Add the features of one pair; returns the pair that should come next."""
    if not document.clusters:
        raise ValueError("a pair before its document's clusters; expected 'clusters …' first")
    count = len(document.clusters)
    if expected[0] >= count:
        raise ValueError(
            f"there are too many pairs; expected {document.pairs} for {counted(count, 'mention')}"
        )
    if words[1:3] != [str(expected[0]), str(expected[1])]:
        got = " ".join(words[1:3])
        raise ValueError(f"pair {got!r}; expected pair {expected[0]} {expected[1]}")
    indices, values = tokens.features(" ".join(words[3:]), dimension)
    document.indices += [index - 1 for index in indices]
    document.values += values
    document.starts.append(len(document.indices))
    i, j = expected
    return (i, j + 1) if j < count else (i + 1, i + 2)


def _check_whole(path: str | Path, last: PairDocument | None, expected: tuple[int, int]) -> None:
    """Raise DataError if a document that ends lacks its clusters or some of its pairs."""
    if last is None:
        return
    if not last.clusters:
        message = f"document {last.name!r} has no clusters; expected 'clusters …' below it"
        raise DataError(path, last.line, message)
    if len(last.starts) - 1 < last.pairs:
        message = f"document {last.name!r} ends early; expected pair {expected[0]} {expected[1]}"
        raise DataError(path, last.line, message)
    check_all_known(path, last.line, last.name, last.clusters)


def read_pairs_npz(path: str | Path, dimension: int, limit: Limit = DEFAULT) -> list[PairDocument]:
    """The documents of an .npz file of pairs. Raises DataError if it is not such a file."""
    arrays = read_archive(path, _KINDS, _OPTIONAL, limit, others=True)
    mentions, clusters, features = (arrays[name] for name in ("mentions", "clusters", "features"))
    counts = mentions.astype(np.int64)
    pairs = counts * (counts - 1) // 2
    shapes = {
        "mentions": (len(counts),),
        "clusters": (int(counts.sum()),),
        "features": (int(pairs.sum()), dimension),
        "costs": (len(counts),),
        "names": (len(counts),),
    }
    for name, array in arrays.items():
        if array.shape != shapes[name]:
            message = f"array {name!r} has the shape {array.shape}; expected {shapes[name]}"
            raise DataError(path, None, message)
    if not len(counts) or counts.min() < 1:
        raise DataError(path, None, "a document without mentions; expected at least one in each")
    for name in ("features", "costs"):
        if name in arrays and not np.isfinite(arrays[name]).all():
            place = np.argwhere(~np.isfinite(arrays[name]))[0]
            at = ", ".join(map(str, place))
            raise DataError(path, None, f"{name}[{at}] is not finite; expected finite numbers")
    if "costs" in arrays and arrays["costs"].min() < 0:
        raise DataError(path, None, "a cost is negative; expected costs >= 0")
    documents = []
    first, row = 0, 0
    for i, (n, p) in enumerate(zip(counts, pairs, strict=True)):
        block = features[row : row + p]
        where, indices = np.nonzero(block)
        name = str(arrays["names"][i]) if "names" in arrays else f"document {i + 1}"
        known = [UNKNOWN if c < 0 else str(c) for c in clusters[first : first + n]]
        check_all_known(path, i + 1, name, known)
        documents.append(
            PairDocument(
                name,
                str(path),
                i + 1,
                float(arrays["costs"][i]) if "costs" in arrays else None,
                known,
                cumulated(np.bincount(where, minlength=p)).tolist(),
                indices.tolist(),
                block[where, indices].astype(float).tolist(),
            )
        )
        first, row = first + n, row + p
    return documents
