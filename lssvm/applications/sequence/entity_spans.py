"""Where entities lie in label sequences, found with arrays instead of token by token.

All sequences lie one behind the other, with an O before the first and after each, so that every
rule looks at two neighbours alone. Two readings:

- lenient, as conlleval reads: any change of type or prefix is a border, and everything between
  two borders that is not O is an entity;
- strict, after the patterns of seqeval (``seqeval.scheme``): a scheme says which pairs of
  neighbours begin an entity, which go on inside one, and which end it properly; what does not end
  properly is none.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

O, B, I, E, S = range(5)  # noqa: E741 - the names that prefixes have in the field
PREFIXES = "OBIES"
_AS_IOBES = {"L": "E", "U": "S", "M": "I"}


class Tags(NamedTuple):
    """Labels of all sequences, an O before the first sequence and after each.

    prefixes : int8, of ``PREFIXES``; kinds : int32, a number for each type of entity
    """

    prefixes: np.ndarray
    kinds: np.ndarray

    @property
    def pairs(self) -> "Pairs":
        """Each label but the first beside the one before it."""
        same = self.kinds[1:] == self.kinds[:-1]
        return Pairs(self.prefixes[:-1], self.prefixes[1:], same)


class Pairs(NamedTuple):
    """Neighbours: prefixes before and after, and whether the type is the same."""

    before: np.ndarray
    after: np.ndarray
    same: np.ndarray


class Spans(NamedTuple):
    """Entities: the places of the first tokens, ascending, of the tokens after the last; types.

    Places are those in :class:`Tags`.
    """

    first: np.ndarray
    stop: np.ndarray
    kind: np.ndarray


Pattern = Callable[[Pairs], np.ndarray]


class Scheme(NamedTuple):
    """Which pairs of neighbours begin an entity, are inside one, and have its end between them.

    ends : only asked where an entity stops
    """

    begins: Pattern
    inside: Pattern
    ends: Pattern


def tags_of(names: Sequence[str], labels: Sequence[np.ndarray], offsets: np.ndarray) -> list[Tags]:
    """Each of several labellings of the same sequences, given by number.

    names : what the numbers mean, ``O``, a prefix, or a prefix, a hyphen and a type
    labels : (tokens,) int each; offsets : (n + 1,) int, where sequences begin, and the end
    """
    kinds = {kind: number for number, kind in enumerate(dict.fromkeys(n[2:] for n in names))}
    # Names that do not occur may be anything.
    prefix = [PREFIXES.find(_AS_IOBES.get(name[:1], name[:1])) for name in names]
    kind = [-1 if which == O else kinds[n[2:]] for n, which in zip(names, prefix, strict=True)]
    # An O stands for the end of each sequence, and for the beginning.
    tables = np.array([*prefix, O], dtype=np.int8), np.array([*kind, -1], dtype=np.int32)
    ends = offsets - offsets[0]
    padded = (np.insert(own.astype(np.int32), ends, len(names)) for own in labels)
    return [Tags(*(table[own] for table in tables)) for own in padded]


def lenient(tags: Tags) -> Spans:
    """The entities that conlleval counts, and by the same rule those of IOBES, BILOU and BMES."""
    before, after, same = tags.pairs
    border = ~same | _is(after, B, S) | _is(before, E, S)
    starts = np.flatnonzero(border & (after != O)) + 1
    stops = np.flatnonzero(border & (before != O)) + 1
    return Spans(starts, stops, tags.kinds[starts])


def strict(tags: Tags, scheme: Scheme) -> Spans:
    """The entities that keep to a scheme."""
    pairs = tags.pairs
    places = np.arange(1, len(tags.kinds), dtype=np.int32)
    begins, breaks = scheme.begins(pairs), ~scheme.inside(pairs)
    last_begin = np.maximum.accumulate(np.where(begins, places, 0))
    last_break = np.maximum.accumulate(np.where(breaks, places, 0))
    within = np.append(False, (last_begin >= last_break) & (last_begin > 0))
    first = places[begins & (breaks | ~within[:-1])]
    broken = places[breaks]
    stop = broken[np.searchsorted(broken, first, side="right")]
    proper = scheme.ends(pairs)[stop - 1]
    return Spans(first[proper], stop[proper], tags.kinds[first[proper]])


def common(one: Spans, other: Spans) -> int:
    """How many entities are in both, with the same borders and type."""
    if len(other.first) == 0:
        return 0
    near = np.minimum(np.searchsorted(other.first, one.first), len(other.first) - 1)
    same = (one.first == other.first[near]) & (one.stop == other.stop[near])
    return int(np.count_nonzero(same & (one.kind == other.kind[near])))


def _is(prefixes: np.ndarray, *kinds: int) -> np.ndarray:
    found = prefixes == kinds[0]
    for kind in kinds[1:]:
        found |= prefixes == kind
    return found


def _iob1_begins(pairs: Pairs) -> np.ndarray:
    before, after, same = pairs
    inner = (after == I) & (_is(before, O, B) | ((before == I) & ~same))
    return inner | ((after == B) & _is(before, B, I) & same)


def _iob1_ends(pairs: Pairs) -> np.ndarray:
    before, after, same = pairs
    return (after != B) | (before == I) | same


def _iob_inside(pairs: Pairs) -> np.ndarray:
    return (pairs.after == I) & _is(pairs.before, B, I) & pairs.same


def _ioe2_begins(pairs: Pairs) -> np.ndarray:
    before, after, same = pairs
    return (after != O) & ((before != I) | ~same)


SCHEMES = {
    "IOB1": Scheme(_iob1_begins, _iob_inside, _iob1_ends),
    "IOB2": Scheme(
        lambda pairs: pairs.after == B, _iob_inside, lambda pairs: np.ones_like(pairs.same)
    ),
    "IOE2": Scheme(
        _ioe2_begins,
        lambda pairs: (pairs.before == I) & (pairs.after != O) & pairs.same,
        lambda pairs: pairs.before == E,
    ),
    "IOBES": Scheme(
        lambda pairs: _is(pairs.after, B, S),
        lambda pairs: _is(pairs.before, B, I) & _is(pairs.after, I, E) & pairs.same,
        lambda pairs: _is(pairs.before, E, S),
    ),
}
