"""Column files with coreference in the last column: CoNLL-2012, GUM, the official scorer.

There is one token per line. Columns are separated only by tabs if the file has tabs, otherwise by
blanks (see ``separators``). Documents are between ``#begin document`` and ``#end document`` (a
blank after ``#`` is allowed; a file without such lines is one document). Each part of a document is
read as a separate document. Other lines that begin with ``#`` are comments. The last column opens
and closes mentions: ``(12`` … ``12)``, or ``(12)`` for one token; several are separated by ``|`` or
not at all; ``-``, ``_`` and ``*`` mean none. Mentions may nest and cross. Columns:

    2            word, coreference (``#`` and a mention or none is a token there)
    3            number, word, coreference (GUM)
    4            number, word, part of speech, coreference
    5            document, part, number, word, coreference (the official scorer's keys)
    11           document, part, number, word, part of speech, parse, lemma, frame, sense, speaker,
                 coreference
    12 or more   CoNLL-2012: the same with named entities, and then one column for each predicate
                 of the sentence, before coreference

All lines of a sentence have the same number of columns, all sentences of a document the same
layout. The values of missing columns are not known; an empty column is an empty value, and an empty
last column means none.

GUM writes ``(person-3-Wikipedia_name``: entity type, cluster and more. A cluster ``?`` is not
known. Sentences end at blank lines; in a document without blank lines, they end after ``.``, ``!``
and ``?``.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from lssvm.errors import DataError, counted
from lssvm.formats.annotated import AnnotatedText, Mention, check_all_known, in_order
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.separators import Separator
from lssvm.formats.text import Line, open_text

NONE = ("-", "_", "*")
ENDS = (".", "!", "?")
CONLL_2012 = 12  # columns of the layout with named entities, at the least
_BEGIN = re.compile(r"#\s*begin document\b\s*(.*)")
_END = re.compile(r"#\s*end document\b")
_PART = re.compile(r"\((?P<name>.*)\);?(?:\s*part\s+(?P<part>\S+))?\s*")
_BRACKET = re.compile(r"\(?[^()|]+\)?")
_GUM = re.compile(r"(?P<entity>[a-z]+)-(?P<cluster>\d+)(?:-.*)?", re.DOTALL)
_ENDS = "\r\n"
_SHOWN = 20  # characters of a wrong value that a message quotes


class _Layout(NamedTuple):
    """The columns of each kind of value; -1 if there is no such column."""

    word: int
    tag: int
    speaker: int
    entity: int


_LAYOUTS = {
    2: _Layout(0, -1, -1, -1),
    3: _Layout(1, -1, -1, -1),
    4: _Layout(1, 2, -1, -1),
    5: _Layout(3, -1, -1, -1),
    11: _Layout(3, 4, 9, -1),
    CONLL_2012: _Layout(3, 4, 9, 10),
}
_KEY = 5  # columns of the official scorer's keys, where the third is a number


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
    columns: list[tuple[str, str | None]] = field(default_factory=list)
    layout: int = 0  # its key in _LAYOUTS, 0 before the first token
    width: int = 0  # columns of the sentence, 0 before its first token
    none: str = ""
    entity: str = ""


def read_conll(path: str | Path, limit: Limit = DEFAULT) -> list[AnnotatedText]:
    """The documents of a column file, plain or compressed, ``-`` for standard input.

    Raises DataError, with the line, if it is not such a file.
    """
    return list(conll_documents(path, limit))


def conll_documents(path: str | Path, limit: Limit = DEFAULT) -> Iterator[AnnotatedText]:
    """The documents of :func:`read_conll`, each once it is read."""
    reader = _Reader(str(path))
    with open_text(path, limit, ends=True, owns=document_lines) as lines:
        for number, line in lines:
            try:
                reader.take(number, line)
            except ValueError as error:
                raise DataError(path, number, error) from None
            yield from reader.complete()
    yield reader.finished()


def document_lines(lines: Iterable[tuple[int, Line]], number: int) -> list[range]:
    """The lines of the document that has a line, as of :data:`lssvm.formats.text.Owns`.

    A document that does not end before the next one begins is found wrong there.
    """
    begins, ends, stop = list[int](), list[int | None](), 1
    for at, line in lines:
        text, stop = line.decode(errors="replace"), at + 1
        if _BEGIN.match(text):
            begins.append(at)
            ends.append(None)
        elif _END.match(text) and ends and ends[-1] is None:
            ends[-1] = stop
    place = bisect_right(begins, number) - 1
    if place > 0 and begins[place] == number and ends[place - 1] is None:
        place -= 1
    behind = begins[place + 1] if place + 1 < len(begins) else stop
    own = range(begins[place], ends[place] or behind) if place >= 0 else range(0)
    if number not in own and number != behind:
        raise ValueError("cannot skip what is outside of the lines of a document")
    return [own]


class _Reader:
    """The documents of a file, from its lines in their order."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._texts: list[AnnotatedText] = []  # that have ended, at least the last one
        self._draft: _Draft | None = None
        self._separator = Separator()
        self._outside: list[tuple[str, str | None]] = []  # lines since the last document

    def take(self, number: int, line: str) -> None:
        """Read one line with its end. Raises ValueError, or DataError for another line."""
        bare = line.rstrip(_ENDS)
        begin = _BEGIN.match(bare)
        if begin:
            self._begin(number, line, begin[1])
        elif _END.match(bare):
            self._end(line)
        elif not bare.strip() or (bare.lstrip().startswith("#") and not self._is_token(bare)):
            lines = self._outside if self._draft is None else self._draft.columns
            lines.append((line, None))
            if self._draft is not None and not bare.strip():
                self._draft.breaks.append(len(self._draft.words))
                self._draft.width = 0
        else:
            if self._draft is None:
                self._check_alone()
                self._draft = self._new(number, Path(self._path).stem, begun=False)
            _token(self._draft, number, self._separator, bare, line[len(bare) :])

    def complete(self) -> Iterator[AnnotatedText]:
        """The documents to which no further line can belong; they are forgotten."""
        while len(self._texts) > 1:
            yield self._texts.pop(0)

    def finished(self) -> AnnotatedText:
        """The last document, once all lines are read. Raises DataError."""
        draft = self._draft
        if draft is not None and draft.begun:
            message = f"the file ends within document {draft.name!r}; expected '#end document'"
            raise DataError(self._path, draft.line, message)
        if draft is not None:
            self._texts.append(_finished(draft))
        if not self._texts:
            message = "no documents; expected token lines with a coreference column"
            raise DataError(self._path, None, message)
        last = self._texts[-1]
        return replace(last, columns=(*last.columns, *self._outside))

    def _new(self, number: int, name: str, begun: bool) -> _Draft:
        draft = _Draft(self._path, number, name, begun, columns=self._outside)
        self._outside = []
        return draft

    def _begin(self, number: int, line: str, name: str) -> None:
        draft = self._draft
        if draft is not None and draft.begun:
            message = f"a document begins within {draft.name!r}; expected '#end document'"
            raise ValueError(message)
        if draft is not None:
            message = "a token outside of a document; expected '#begin document' before it"
            raise DataError(self._path, draft.line, message)
        self._draft = self._new(number, _name(name) or Path(self._path).stem, begun=True)
        self._draft.columns.append((line, None))

    def _end(self, line: str) -> None:
        draft = self._draft
        if draft is None or not draft.begun:
            message = "'#end document' without a document; expected '#begin document'"
            raise ValueError(message)
        draft.columns.append((line, None))
        self._texts.append(_finished(draft))
        self._draft = None

    def _check_alone(self) -> None:
        if self._texts:
            raise ValueError("a token outside of a document; expected '#begin document' before it")

    def _is_token(self, line: str) -> bool:
        """Whether ``#`` begins a word of a file of words and coreference alone."""
        if self._draft is None or self._draft.layout != 2:
            return False
        cells = line.split("\t" if self._separator.tab else None)
        last = cells[-1].strip()
        return len(cells) == 2 and (last in NONE or last.startswith("(") or last.endswith(")"))


def _name(text: str) -> str:
    """The name of a document with its part: ``bn/cnn_1 part 000`` of ``(bn/cnn_1); part 000``."""
    parts = _PART.fullmatch(text)
    if not parts:
        return text.strip()
    return parts["name"] + (f" part {parts['part']}" if parts["part"] else "")


def _token(draft: _Draft, number: int, separator: Separator, line: str, end: str) -> None:
    """Add one token line to the draft. Raises ValueError."""
    cells = separator.cells(number, line)
    width = draft.width or (draft.layout if draft.layout < CONLL_2012 else 0)
    if len(cells) == width + 1 and not cells[-1]:
        cells.pop()  # a tab behind the last column, as in some of the official scorer's files
    elif cells and len(cells) + 1 == width == 2 and line[-1:].isspace():
        cells.append("")  # a name and a blank, as in others
    layout = _layout(draft, cells, separator)
    if not (cells[-1] or width):
        raise ValueError("the last column is empty; expected a value such as (12), or - for none")
    draft.width = len(cells)
    token = len(draft.words)
    draft.words.append(cells[layout.word])
    for column, place in ((draft.tags, layout.tag), (draft.speakers, layout.speaker)):
        cell = cells[place] if place >= 0 else "-"
        column.append("" if cell in NONE else cell)
    draft.entities.append(_entity(draft, cells[layout.entity]) if layout.entity >= 0 else "")
    stop = len(line.rstrip(" \t")) if cells[-1] else len(line)
    draft.columns.append((line[: stop - len(cells[-1])], line[stop:] + end))
    if cells[-1] in NONE:
        draft.none = draft.none or cells[-1]
    elif cells[-1]:
        _brackets(draft, number, token, cells[-1])


def _layout(draft: _Draft, cells: list[str], separator: Separator) -> _Layout:
    """The layout of a token line. Raises ValueError if it differs from the lines before."""
    columns = f"{counted(len(cells), 'column')}{separator.means}"
    if draft.width and draft.width != len(cells):
        raise ValueError(f"{columns}; expected {draft.width} as on the lines before")
    number = min(len(cells), CONLL_2012)
    if number not in _LAYOUTS:
        raise ValueError(f"{columns}; expected 2 to 5, or at least 11")
    if draft.layout and draft.layout != number:
        least = "at least " * (draft.layout == CONLL_2012)
        raise ValueError(f"{columns}; expected {least}{draft.layout} as in the sentences before")
    if number == _KEY and not cells[2].isdecimal():
        wrong = f"{cells[2][:_SHOWN]!r} is no number"
        raise ValueError(f"{wrong}; expected document, part, number, word, coreference")
    draft.layout = number
    return _LAYOUTS[number]


def _entity(draft: _Draft, cell: str) -> str:
    """The named entity that a token is in, from a column such as ``(PERSON*``, ``*``, ``*)``."""
    if cell.startswith("("):
        draft.entity = cell.strip("(*)").lower()
    found = draft.entity
    if cell.endswith(")"):
        draft.entity = ""
    return found


def _brackets(draft: _Draft, number: int, token: int, cell: str) -> None:
    """Open and close the mentions of one cell. Raises ValueError."""
    found = _BRACKET.findall(cell)
    if "".join(found) != cell.replace("|", ""):
        raise ValueError(f"{cell[:_SHOWN]!r} cannot be read; expected a value such as (12)|(3")
    for bracket in found:
        name = bracket.strip("()")
        opens, closes = bracket.startswith("("), bracket.endswith(")")
        if not (opens or closes):
            wrong = f"{bracket[:_SHOWN]!r} has no bracket"
            raise ValueError(f"{wrong}; expected a value such as (12, 12) or (12)")
        if opens:
            draft.open.setdefault(name, []).append((token, number))
        if closes:
            if not draft.open.get(name):
                message = f"{bracket[:_SHOWN]!r} closes a mention that is not open"
                raise ValueError(f"{message}; expected ({name[:_SHOWN]} before")
            start, line = draft.open[name].pop()
            draft.closed.append((start, token + 1, line, name))


def _finished(draft: _Draft) -> AnnotatedText:
    """The document, once its last line is read."""
    for name, starts in draft.open.items():
        if starts:
            shown = name[:_SHOWN]
            message = f"'({shown}' is never closed; expected {shown}) before the document ends"
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
        sentences_of(draft.words, draft.breaks),
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


def sentences_of(words: Sequence[str], breaks: Sequence[int]) -> np.ndarray:
    """The number of each token's sentence, (tokens,) int64.

    breaks : the tokens before which a sentence ends; without any, it ends after ``.``, ``!``, ``?``
    """
    count = len(words)
    starts = np.zeros(count, dtype=np.int64)
    inner = [place for place in breaks if 0 < place < count]
    if not inner:
        inner = [t + 1 for t, word in enumerate(words[:-1]) if word in ENDS]
    starts[inner] = 1
    return np.cumsum(starts)


def write_conll(text: AnnotatedText, clusters: Sequence[int], file: TextIO) -> bool:
    """Write a document with its mentions in the given clusters as the last column.

    clusters : one number per mention, in the order of ``text.mentions``
    Returns whether the last line has a line end.

    The rest of a column file does not change: other columns, separators, comments, blank lines and
    line ends. A text of another format is written as number, word and coreference. Opening brackets
    come before closing ones; the longest mention opens first and closes last.
    """
    cells = iter(_cells(text, clusters))
    line = ""
    for before, behind in text.columns or _made_columns(text):
        line = before if behind is None else f"{before}{next(cells)}{behind}"
        file.write(line)
    return line.endswith("\n")


def _made_columns(text: AnnotatedText) -> Iterator[tuple[str, str | None]]:
    yield f"#begin document ({text.name}); part 000\n", None
    for token, word in enumerate(text.words):
        if token and text.sentences[token] != text.sentences[token - 1]:
            yield "\n", None
        yield f"{token}\t{word}\t", "\n"
    yield "#end document\n", None


def _cells(text: AnnotatedText, clusters: Sequence[int]) -> list[str]:
    """The last column, one cell per token."""
    opening: list[list[str]] = [[] for _ in text.words]
    closing: list[list[str]] = [[] for _ in text.words]
    for mention, cluster in zip(text.mentions, clusters, strict=True):
        if mention.stop == mention.start + 1:
            opening[mention.start].append(f"({cluster})")
        else:
            opening[mention.start].append(f"({cluster}")
            closing[mention.stop - 1].insert(0, f"{cluster})")
    return ["|".join(a + b) or text.none for a, b in zip(opening, closing, strict=True)]
