"""Coreference in stand-off files of brat, as in LitBank: NAME.ann beside NAME.txt.

Lines ``T1<tab>LABEL START STOP<tab>TEXT``, with character offsets into the text. A label such as
``PROP_PER``, ``NOM_FAC`` or ``PRON_PER`` gives the kind and the entity type of a span; any other
label is the cluster of the span. A span with a cluster is a mention; a span without one is not. A
span in pieces ``3 9;14 20`` is replaced by its hull. Lines of other kinds (R, A, E, N, #, *) are
skipped. Words are separated by blanks, sentences by line ends.
"""

import re
from pathlib import Path

import numpy as np

from lssvm.errors import DataError
from lssvm.formats import tokens
from lssvm.formats.annotated import AnnotatedText, Mention, check_all_known, in_order
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.text import open_text

_KIND = re.compile(r"(?P<kind>PROP|NOM|PRON)_(?P<entity>[A-Z]+)")
_LINE = re.compile(
    r"T\d+\t(?P<label>\S+) (?P<places>[0-9]+ [0-9]+(?:;[0-9]+ [0-9]+)*)\t(?P<text>.*)"
)
_OTHERS = "RAENM#*"


def read_brat(path: str | Path, limit: Limit = DEFAULT) -> AnnotatedText:
    """The document whose annotations are ``path``; its text is beside it, with the suffix .txt.

    limit : of each of the two files

    Raises DataError, with the line, if either file is not what it should be.
    """
    name = Path(path).name.partition(".")[0]
    texts = text_of(path)
    content = _content(texts, limit)
    words = [match.span() for match in re.finditer(r"\S+", content)]
    if not words:
        raise DataError(texts, None, "the text is empty; expected words")
    kinds: dict[tuple[int, int], tuple[str, str]] = {}
    clusters: list[tuple[tuple[int, int], str]] = []
    with open_text(path, limit) as lines:
        for number, line in lines:
            if not line.strip() or line[0] in _OTHERS:
                continue
            span, label = _annotation(path, number, line, content)
            kind = _KIND.fullmatch(label)
            if kind:
                kinds.setdefault(span, (kind["kind"], kind["entity"].lower()))
            else:
                clusters.append((span, label))
    if not clusters:
        raise DataError(
            path, None, "no mentions; expected lines T1<tab>CLUSTER START STOP<tab>TEXT"
        )
    starts = np.array([start for start, _ in words])
    mentions = [
        Mention(*_tokens_of(span, starts), label, *kinds.get(span, ("", "")))
        for span, label in clusters
    ]
    ordered, repeated = in_order(mentions)
    check_all_known(path, 1, name, [mention.cluster for mention in ordered])
    ends = np.array([match.start() for match in re.finditer("\n", content)])
    breaks = np.searchsorted(ends, starts)
    return AnnotatedText(
        name,
        str(path),
        1,
        tuple(content[a:b] for a, b in words),
        ("",) * len(words),
        ("",) * len(words),
        np.unique(breaks, return_inverse=True)[1].astype(np.int64),
        ordered,
        repeated,
    )


def text_of(path: str | Path) -> Path:
    """The file of the text that annotations belong to."""
    source = Path(path)
    return source.with_name(source.name.partition(".")[0] + ".txt")


def _content(path: Path, limit: Limit) -> str:
    """The whole text, line ends as one character each, as offsets count them."""
    with open_text(path, limit) as lines:
        return "".join(f"{line}\n" for _, line in lines)


def _annotation(
    path: str | Path, number: int, line: str, content: str
) -> tuple[tuple[int, int], str]:
    """Span and label of a T line."""
    parts = _LINE.fullmatch(line)
    if not parts:
        message = f"{tokens.cut(line)!r} cannot be read; expected T1<tab>LABEL START STOP<tab>TEXT"
        raise DataError(path, number, message)
    try:
        places = [
            tokens.whole(place, "offset", 0, len(content))
            for place in re.split("[ ;]", parts["places"])
        ]
    except ValueError as error:
        raise DataError(path, number, error) from None
    start, stop = places[0], places[-1]
    if not start < stop or not content[start:stop].strip():
        message = (
            f"span {start} {stop} holds no text; expected offsets within the "
            f"{len(content)} characters of the text"
        )
        raise DataError(path, number, message)
    if len(places) == 2 and content[start:stop].replace("\n", " ") != parts["text"]:
        message = (
            f"{parts['text']!r} is not the text at {start} {stop}; expected {content[start:stop]!r}"
        )
        raise DataError(path, number, message)
    return (start, stop), parts["label"]


def _tokens_of(span: tuple[int, int], starts: np.ndarray) -> tuple[int, int]:
    """First token of a span of characters, and the token after its last one."""
    first = int(np.searchsorted(starts, span[0], side="right")) - 1
    last = int(np.searchsorted(starts, span[1] - 1, side="right")) - 1
    return max(first, 0), last + 1
