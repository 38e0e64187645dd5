"""Attributes of tokens from columns, by templates.

A template is one or more terms joined by ``&``. A term is a column at an offset, ``pos[-1]``, where
[0] may be left out, or a function of such a column, ``suffix(word[1], 3)``:

    lower(c)           in lower case
    prefix(c, n)       its first n characters; suffix(c, n): its last n; absent if it has fewer
    shape(c)           capitals as X, other letters as x, digits as 0: ``Ley-25`` gives ``Xxx-00``
    brief_shape(c)     the same with repeats left out: ``Xx-0``
    capitalised(c), uppercase(c), has_digit(c), number(c), has_hyphen(c), punctuation(c)
                       present where true

So CRF++'s ``U05:%x[-1,0]/%x[0,0]``, with words in column 0, is ``word[-1] & word``. Transitions
between labels need no template.

The attribute is called ``template=value``; the values of several terms are joined by ``|``. Before
the first token and after the last one a term has the value ``<-1>``, ``<-2>`` … or ``<+1>`` …, at
any distance; functions leave these values unchanged.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np

from lssvm.errors import nearest
from lssvm.kernels.text_arrays import paired, renumbered

_TERM = re.compile(
    r"(?:(?P<function>\w+)\()?\s*(?P<column>[^\W\d][\w-]*)\s*(?:\[\s*(?P<offset>[+-]?\d+)\s*\])?\s*"
    r"(?:,\s*(?P<length>\d+)\s*)?(?P<close>\))?",
)
_REPEATS = re.compile(r"(.)\1+", re.DOTALL)
MOST_OFFSET, MOST_LENGTH = 20, 30


class _Kinds(dict[int, str]):
    """The character of a shape for each character of a text, by its code."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        kind = "0" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c
        self[code] = kind
        return kind


_KINDS = _Kinds()


def _shape(text: str) -> str:
    return text.translate(_KINDS)


def _brief_shape(text: str) -> str:
    return _without_repeats(_shape(text))


@lru_cache(maxsize=1 << 14)
def _without_repeats(shape: str) -> str:
    return _REPEATS.sub(r"\1", shape)


def _flag(test: Callable[[str], object]) -> Callable[[str], str | None]:
    return lambda text: "1" if test(text) else None


# The result of a function for the text of a column; None: the attribute is absent.
FUNCTIONS: Mapping[str, Callable[[str], str | None]] = {
    "lower": str.lower,
    "shape": _shape,
    "brief_shape": _brief_shape,
    "capitalised": _flag(lambda text: text[:1].isupper()),
    "uppercase": _flag(str.isupper),
    "has_digit": _flag(lambda text: any(map(str.isdigit, text))),
    "number": _flag(lambda text: re.fullmatch(r"[+-]?\d+([.,:/]\d+)*%?", text)),
    "has_hyphen": _flag(lambda text: "-" in text),
    "punctuation": _flag(lambda text: all(unicodedata.category(c)[0] == "P" for c in text)),
}
CUTS: Mapping[str, Callable[[int], Callable[[str], str | None]]] = {
    "prefix": lambda n: lambda text: text[:n] if len(text) >= n else None,
    "suffix": lambda n: lambda text: text[-n:] if len(text) >= n else None,
}


@dataclass(frozen=True)
class Term:
    """One part of a template: a function of a column at an offset."""

    column: str
    offset: int
    function: str | None = None
    length: int = 0

    def __str__(self) -> str:
        inner = f"{self.column}[{self.offset}]"
        if self.function is None:
            return inner
        return f"{self.function}({inner}{f',{self.length}' if self.length else ''})"

    def function_of_text(self) -> Callable[[str], str | None]:
        """The function from the text of a column to the term; its value is None if it is absent."""
        if self.function is None:
            return str
        if self.function in CUTS:
            return CUTS[self.function](self.length)
        return FUNCTIONS[self.function]


Template = tuple[Term, ...]


def parse(text: str, columns: Sequence[str]) -> Template:
    """The terms of a template. Raises ValueError with what is wrong."""
    return tuple(_term(part.strip(), columns) for part in text.split("&"))


def _term(text: str, columns: Sequence[str]) -> Term:
    match = _TERM.fullmatch(text)
    if not match or (match["function"] is None) != (match["close"] is None):
        raise ValueError(f"{text!r} is not a term; expected one such as word[-1] or lower(word)")
    column, function, length = match["column"], match["function"], match["length"]
    if column not in columns:
        near = nearest(column, columns)
        raise ValueError(f"there is no column {column!r}{near} (known: {', '.join(columns)})")
    if function is not None and function not in {**FUNCTIONS, **CUTS}:
        functions = [*CUTS, *FUNCTIONS]
        known, near = ", ".join(functions), nearest(function, functions)
        raise ValueError(f"there is no function {function!r}{near} (known: {known})")
    if (length is not None) != (function in CUTS):
        example = "suffix(word, 3)" if function in CUTS else "lower(word)"
        raise ValueError(f"{text!r}: a length belongs to prefix and suffix; expected {example}")
    offset, cut = int(match["offset"] or 0), int(length or 0)
    if abs(offset) > MOST_OFFSET or cut > MOST_LENGTH or (length is not None and cut < 1):
        limits = f"offsets up to {MOST_OFFSET} and lengths from 1 to {MOST_LENGTH}"
        raise ValueError(f"{text!r} reaches too far; expected {limits}")
    return Term(column, offset, function, cut)


def start_of(template: Template) -> str:
    """What the names of its attributes begin with."""
    return "&".join(map(str, template)) + "="


class Tokens:
    """The columns of tokens, with each text stored once, from which attributes are made.

    columns : name -> (tokens,) strings; offsets : (n + 1,) where each sequence starts
    """

    def __init__(self, columns: Mapping[str, Sequence[str]], offsets: np.ndarray) -> None:
        self._texts: dict[str, Sequence[str]] = {}
        self._codes: dict[str, np.ndarray] = {}
        self._known: dict[Term, tuple[dict[str, int], np.ndarray]] = {}
        for name, values in columns.items():
            known: dict[str, int] = {}
            codes = [known.setdefault(value, len(known)) for value in values]
            self._texts[name], self._codes[name] = list(known), np.array(codes, dtype=np.int32)
        self._begin, self._end = offsets[:-1], offsets[1:]

    @classmethod
    def numbered(
        cls, columns: Mapping[str, tuple[Sequence[str], np.ndarray]], offsets: np.ndarray
    ) -> Self:
        """The same from distinct texts of each column, and (tokens,) int32 rows of them."""
        found = cls({}, offsets)
        for name, (texts, codes) in columns.items():
            found._texts[name], found._codes[name] = texts, codes
        return found

    def __len__(self) -> int:
        return int(self._end[-1]) if len(self._end) else 0

    def attributes(self, template: Template) -> tuple[list[str], np.ndarray]:
        """The distinct attributes of a template, in the order of their first token, and numbers.

        Returns names and codes, (tokens,) int32: a row of names, -1 where there is no attribute
        """
        names, codes = self.values(template)
        start = start_of(template)
        return [start + name for name in names], codes

    def values(self, template: Template) -> tuple[list[str], np.ndarray]:
        """The same with names that lack ``start_of`` the template."""
        names, codes = self._values(template[0])
        for term in template[1:]:
            others, more = self._values(term)
            pairs = zip(*(part.tolist() for part in paired(codes, more)), strict=True)
            names = [f"{names[first]}|{others[second]}" for first, second in pairs]
        return names, codes

    def _values(self, term: Term) -> tuple[list[str], np.ndarray]:
        """The distinct values of a term, in the order of their first token, and (tokens,) codes."""
        values, own = self._here(replace(term, offset=0))
        codes = own[self._codes[term.column]]
        if term.offset:
            values = values.copy()
            codes = self._shifted(codes, term.offset, values)
        names = list(values)
        return [names[code] for code in renumbered(codes, len(names)).tolist()], codes

    def _here(self, term: Term) -> tuple[dict[str, int], np.ndarray]:
        """The values of a term without an offset by number, and the number for each text.

        They are kept: words are often asked for at several distances.
        """
        if term not in self._known:
            values: dict[str, int] = {}
            own = [
                -1 if value is None else values.setdefault(value, len(values))
                for value in map(term.function_of_text(), self._texts[term.column])
            ]
            self._known[term] = values, np.array(own, dtype=np.int32)
        return self._known[term]

    def _shifted(self, codes: np.ndarray, offset: int, values: dict[str, int]) -> np.ndarray:
        """The codes of the tokens at a distance of ``offset``; beyond the ends those of borders."""
        found = np.empty_like(codes)
        count, distance = len(codes), abs(offset)
        if offset > 0:
            found[: max(0, count - distance)] = codes[distance:]
        else:
            found[distance:] = codes[: max(0, count - distance)]
        for beyond in range(1, distance + 1):
            if offset > 0:
                tokens = self._end - 1 - distance + beyond
                tokens = tokens[tokens >= self._begin]
            else:
                tokens = self._begin + distance - beyond
                tokens = tokens[tokens < self._end]
            if len(tokens):
                border = f"<{'+' if offset > 0 else '-'}{beyond}>"
                found[tokens] = values.setdefault(border, len(values))
        return found
