"""Column files with coreference in the last column: CoNLL-2012, GUM, and plain ones.

One token a line; columns apart by tabs or, in lines without one, by blanks. Documents lie
between ``#begin document`` and ``#end document`` (a blank after ``#`` is allowed; a file without
such lines is one document); each part of a document is read on its own; other lines that
begin with ``#`` are ignored. The last column opens and closes mentions: ``(12`` … ``12)``, ``(12)``
for one token, ``|`` between several or nothing at all; ``-``, ``_`` and ``*`` for none. Mentions
may nest and cross. Columns:

    3            number, word, coreference (GUM)
    4            number, word, part of speech, coreference
    11 or more   CoNLL-2012: document, part, number, word, part of speech, parse, lemma, frame,
                 sense, speaker, named entities, …, coreference

GUM writes ``(person-3-Wikipedia_name``: entity type, cluster and more. A cluster ``?`` is not
known. Sentences end at blank lines; in a document without any, after ``.``, ``!`` and ``?``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from lssvm.errors import DataError
from lssvm.formats.annotated import AnnotatedText, Mention, check_all_known, in_order
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.text import open_text

NONE = ("-", "_", "*")
ENDS = (".", "!", "?")
CONLL_2012 = 11  # columns of the layout with the document's name, at the least
_BEGIN = re.compile(r"#\s*begin document\b\s*(.*)")
_END = re.compile(r"#\s*end document\b")
_PART = re.compile(r"\((?P<name>.*)\);?(?:\s*part\s+(?P<part>\S+))?\s*")
_BRACKET = re.compile(r"\(?[^()|]+\)?")
_GUM = re.compile(r"(?P<entity>[a-z]+)-(?P<cluster>\d+)(?:-.*)?", re.DOTALL)
_BLANKS, _TABS = re.compile(r"\S+"), re.compile(r"[^\t]+|(?<=\t)(?=\t)")


class _Layout(NamedTuple):
    """Which columns hold what; -1 for one that there is not."""

    word: int
    tag: int
    speaker: int
    entity: int


_LAYOUTS = {3: _Layout(1, -1, -1, -1), 4: _Layout(1, 2, -1, -1)}
_WIDE = _Layout(3, 4, 9, 10)


@dataclass
class _Draft:
    """A document that is being read."""

    path: str
    line: int
    name: str
    begun: bool
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    speakers: list[str] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    open: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    closed: list[tuple[int, int, int, str]] = field(default_factory=list)
    columns: list[tuple[bool, str]] = field(default_factory=list)
    width: int = 0
    none: str = ""
    entity: str = ""


def read_conll(path: str | Path, limit: Limit = DEFAULT) -> list[AnnotatedText]:
    """The documents of a column file, plain or compressed, ``-`` for standard input.

    Raises DataError, with the line, if it is not such a file.
    """
    texts = []
    draft: _Draft | None = None
    with open_text(path, limit) as lines:
        for number, line in lines:
            begin = _BEGIN.match(line)
            if begin:
                if draft is not None and draft.begun:
                    message = f"a document begins within {draft.name!r}; expected '#end document'"
                    raise DataError(path, number, message)
                name = _name(begin[1]) or Path(path).stem
                draft = _Draft(str(path), number, name, True, columns=[(False, line)])
            elif _END.match(line):
                if draft is None or not draft.begun:
                    message = "'#end document' without a document; expected '#begin document'"
                    raise DataError(path, number, message)
                draft.columns.append((False, line))
                texts.append(_finished(draft))
                draft = None
            elif line.lstrip().startswith("#") or not line.strip():
                if draft is not None:
                    draft.columns.append((False, line))
                    draft.breaks += [] if line.strip() else [len(draft.words)]
            else:
                if draft is None:
                    draft = _Draft(str(path), number, Path(path).stem, False)
                _token(draft, number, line)
    if draft is not None and draft.begun:
        message = f"the file ends within document {draft.name!r}; expected '#end document'"
        raise DataError(path, draft.line, message)
    texts += [_finished(draft)] if draft is not None else []
    if not texts:
        raise DataError(path, None, "no documents; expected token lines with a coreference column")
    return texts


def _name(text: str) -> str:
    """The name of a document with its part: ``bn/cnn_1 part 000`` of ``(bn/cnn_1); part 000``."""
    parts = _PART.fullmatch(text)
    if not parts:
        return text.strip()
    return parts["name"] + (f" part {parts['part']}" if parts["part"] else "")


def _token(draft: _Draft, number: int, line: str) -> None:
    """Add one token line to the draft."""
    columns = _TABS if "\t" in line else _BLANKS
    spans = [match.span() for match in columns.finditer(line)]
    cells = [line[a:b].strip() for a, b in spans]
    layout = _LAYOUTS.get(len(cells)) or (_WIDE if len(cells) >= CONLL_2012 else None)
    if layout is None:
        message = f"{len(cells)} columns; expected 3, 4, or at least {CONLL_2012}"
        raise DataError(draft.path, number, message)
    if draft.width and draft.width != len(cells):
        message = f"{len(cells)} columns; expected {draft.width} as on the lines before"
        raise DataError(draft.path, number, message)
    draft.width = len(cells)
    token = len(draft.words)
    draft.words.append(cells[layout.word])
    for column, place in ((draft.tags, layout.tag), (draft.speakers, layout.speaker)):
        cell = cells[place] if place >= 0 else "-"
        column.append("" if cell in NONE else cell)
    draft.entities.append(_entity(draft, cells[layout.entity]) if layout.entity >= 0 else "")
    draft.columns.append((True, line[: spans[-1][0]]))
    if cells[-1] in NONE:
        draft.none = draft.none or cells[-1]
    else:
        _brackets(draft, number, token, cells[-1])


def _entity(draft: _Draft, cell: str) -> str:
    """The named entity that a token is in, from a column such as ``(PERSON*``, ``*``, ``*)``."""
    if cell.startswith("("):
        draft.entity = cell.strip("(*)").lower()
    found = draft.entity
    if cell.endswith(")"):
        draft.entity = ""
    return found


def _brackets(draft: _Draft, number: int, token: int, cell: str) -> None:
    """Open and close the mentions of one cell."""
    found = _BRACKET.findall(cell)
    if "".join(found) != cell.replace("|", ""):
        raise DataError(draft.path, number, f"{cell!r} cannot be read; expected such as (12)|(3")
    for bracket in found:
        name = bracket.strip("()")
        opens, closes = bracket.startswith("("), bracket.endswith(")")
        if not (opens or closes):
            message = f"{bracket!r} has no bracket; expected such as (12, 12) or (12)"
            raise DataError(draft.path, number, message)
        if opens:
            draft.open.setdefault(name, []).append((token, number))
        if closes:
            if not draft.open.get(name):
                message = f"{bracket!r} closes a mention that is not open; expected ({name} before"
                raise DataError(draft.path, number, message)
            start, line = draft.open[name].pop()
            draft.closed.append((start, token + 1, line, name))


def _finished(draft: _Draft) -> AnnotatedText:
    """The document, once its last line is read."""
    for name, starts in draft.open.items():
        if starts:
            message = f"'({name}' is never closed; expected {name}) before the document ends"
            raise DataError(draft.path, starts[-1][1], message)
    if not draft.words:
        message = f"document {draft.name!r} has no tokens; expected token lines"
        raise DataError(draft.path, draft.line, message)
    mentions = [_mention(draft, *closed) for closed in sorted(draft.closed)]
    ordered, repeated = in_order(mentions)
    clusters = [mention.cluster for mention in ordered]
    check_all_known(draft.path, draft.line, draft.name, clusters)
    return AnnotatedText(
        draft.name,
        draft.path,
        draft.line,
        tuple(draft.words),
        tuple(draft.tags),
        tuple(draft.speakers),
        _sentences(draft),
        ordered,
        repeated,
        tuple(draft.columns),
        draft.none or NONE[0],
    )


def _mention(draft: _Draft, start: int, stop: int, line: int, name: str) -> Mention:
    parts = _GUM.fullmatch(name)
    if parts:
        return Mention(start, stop, parts["cluster"], "", parts["entity"])
    inside = [entity for entity in draft.entities[start:stop] if entity]
    return Mention(start, stop, name, "", inside[-1] if inside else "")


def _sentences(draft: _Draft) -> np.ndarray:
    """The number of each token's sentence."""
    count = len(draft.words)
    starts = np.zeros(count, dtype=np.int64)
    inner = [place for place in draft.breaks if 0 < place < count]
    if not inner:
        inner = [t + 1 for t, word in enumerate(draft.words[:-1]) if word in ENDS]
    starts[inner] = 1
    return np.cumsum(starts)


def write_conll(text: AnnotatedText, clusters: Sequence[int], file: TextIO) -> None:
    """Write a document with its mentions in the given clusters as the last column.

    clusters : one number a mention, in the order of ``text.mentions``

    A column file keeps its other columns, comments and blank lines. A text of another format
    is written as number, word and coreference. Brackets that open stand before those that
    close; the longest opens first and closes last.
    """
    cells = iter(_cells(text, clusters))
    for is_token, line in text.columns or _made_columns(text):
        file.write(f"{line}{next(cells)}\n" if is_token else f"{line}\n")


def _made_columns(text: AnnotatedText) -> Iterator[tuple[bool, str]]:
    yield False, f"#begin document ({text.name}); part 000"
    for token, word in enumerate(text.words):
        if token and text.sentences[token] != text.sentences[token - 1]:
            yield False, ""
        yield True, f"{token}\t{word}\t"
    yield False, "#end document"


def _cells(text: AnnotatedText, clusters: Sequence[int]) -> list[str]:
    """The last column, one cell a token."""
    opening: list[list[str]] = [[] for _ in text.words]
    closing: list[list[str]] = [[] for _ in text.words]
    for mention, cluster in zip(text.mentions, clusters, strict=True):
        if mention.stop == mention.start + 1:
            opening[mention.start].append(f"({cluster})")
        else:
            opening[mention.start].append(f"({cluster}")
            closing[mention.stop - 1].insert(0, f"{cluster})")
    return ["|".join(a + b) or text.none for a, b in zip(opening, closing, strict=True)]
