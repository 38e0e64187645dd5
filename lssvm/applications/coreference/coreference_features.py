"""Features of a pair of mentions from words, in the spirit of Ng & Cardie (ACL 2002).

All features are 0 or 1. "First" and "second" are the mentions in the order of the text;
``mention_facts`` finds the properties of each mention. If the number, gender, entity type or
speaker of one mention is not known, neither "agrees" nor "differs" holds.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lssvm.applications.coreference.mention_facts import FORMS, KINDS, Facts, Wording, facts_of
from lssvm.applications.coreference.mentions import pair_counts, pair_ends
from lssvm.formats.annotated import AnnotatedText
from lssvm.offsets import cumulated

COPULAS = frozenset(["is", "was", "are", "were", "be", "been", "am", "'s", "became", "become"])
MENTION_STEPS = (1, 2, 4, 8, 16, 32, 64)  # upper ends of the bins of distance
SENTENCE_STEPS = (0, 1, 2, 4, 9)
_AT_ONCE = 200_000  # pairs whose features are made at a time


class Ends(NamedTuple):
    """The pairs of a document: facts of the first and of the second mentions."""

    first: np.ndarray
    second: np.ndarray
    one: Facts
    two: Facts
    wording: Wording
    text: AnnotatedText


def _bins(steps: Sequence[int], what: str) -> list[str]:
    """Names of the bins of a distance: up to each step, and beyond."""
    lower = [0, *(step + 1 for step in steps)]
    names = [
        f"{what} {a}" if a >= b else f"{what} {a} to {b}"
        for a, b in zip(lower, steps, strict=False)
    ]
    names[0] = f"{what} {steps[0]}"
    return [*names, f"{what} over {steps[-1]}"]


def pair_features(
    text: AnnotatedText, reach: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The feature rows of a document's pairs (i, j), i < j <= i + reach.

    Returns rows (pairs,) int32, the row of each pair, and the distinct sparse rows: starts
    (k + 1,) int64, indices int32 into :data:`NAMES`, values float64 (all 1).
    """
    facts, wording = facts_of(text)
    count = len(text.mentions)
    rows, tables = [], []
    for start, stop in pairwise(_parts(count, reach)):
        first, second = pair_ends(count, reach, start, stop)
        one, two = (Facts(*(column[side] for column in facts)) for side in (first, second))
        ends = Ends(first, second, one, two, wording, text)
        words = np.zeros((_WORDS, len(first)), dtype="<u8")
        for place, values in enumerate(_columns(ends)):
            words[place // 64] |= values.astype(np.uint64) << np.uint64(place % 64)
        own, distinct = _distinct(words)
        rows.append(own)
        tables.append(distinct)
    places, distinct = _distinct(np.concatenate(tables, axis=1))
    edges = cumulated([table.shape[1] for table in tables])
    for number, first in enumerate(edges[:-1]):
        rows[number] = places[first : edges[number + 1]][rows[number]]
    bits = np.ascontiguousarray(distinct.T).view(np.uint8)
    where, indices = np.nonzero(np.unpackbits(bits, axis=1, bitorder="little"))
    starts = cumulated(np.bincount(where, minlength=len(bits)))
    return np.concatenate(rows), starts, indices.astype(np.int32), np.ones(len(indices))


def _parts(count: int, reach: int) -> list[int]:
    """Edges of parts of the mentions, the first ones of about _AT_ONCE pairs each."""
    pairs = np.cumsum(pair_counts(count, reach))
    marks = np.searchsorted(pairs, np.arange(_AT_ONCE, pairs[-1] if count else 0, _AT_ONCE))
    return [0, *sorted({*(marks + 1).tolist(), count})]


def _distinct(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of each column of (k, pairs) among the distinct ones, and those."""
    order = np.lexsort(words[::-1])
    ordered = words[:, order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)
    rows = np.empty(len(order), dtype=np.int32)
    rows[order] = np.cumsum(fresh) - 1
    return rows, ordered[:, fresh]


Group = tuple[list[str], Callable[[Ends], list[np.ndarray]]]


def _same(ends: Ends) -> list[np.ndarray]:
    both = [(ends.one.kind == kind) & (ends.two.kind == kind) for kind in range(3)]
    string = ends.one.string == ends.two.string
    head = ends.one.head == ends.two.head
    words = ~(ends.one.kind == 0) & ~(ends.two.kind == 0)
    return [
        *(string & kind for kind in both),
        head & both[1],
        head & both[2],
        head & words & (ends.one.kind != ends.two.kind),
        words & (string | head) & (ends.one.start == ends.two.start),
    ]


def _words(ends: Ends) -> list[np.ndarray]:
    words = (ends.one.kind != 0) & (ends.two.kind != 0)
    proper = (ends.one.kind == 1) & (ends.two.kind == 1)
    a, b = ends.one.string, ends.two.string
    within, other = ends.wording.within[a, b], ends.wording.within[b, a]
    shares = ends.wording.shares_word[a, b]
    return [
        words & within & ~other,
        words & other & ~within,
        words & ends.wording.head_within[a, b],
        words & ends.wording.head_within[b, a],
        words & shares,
        words & ~shares,
        proper & ends.wording.last_alike[a, b],
        proper & ~shares,
        words & ends.wording.acronym[a, b],
    ]


def _kinds(ends: Ends) -> list[np.ndarray]:
    pairs = [
        (ends.one.kind == a) & (ends.two.kind == b)
        for a in range(len(KINDS))
        for b in range(len(KINDS))
    ]
    forms = [side.form == form for side in (ends.one, ends.two) for form in range(len(FORMS))]
    return pairs + forms


def _pronouns(ends: Ends) -> list[np.ndarray]:
    both = (ends.one.kind == 0) & (ends.two.kind == 0)
    persons = (ends.one.person > 0) & (ends.two.person > 0)
    alike = persons & (ends.one.person == ends.two.person)
    quoted = [ends.one.quoted & ends.two.quoted, ends.one.quoted ^ ends.two.quoted]
    local = [side.person == 1 for side in (ends.one, ends.two)]
    return [
        *(alike & (ends.one.person == person) & both for person in (1, 2, 3)),
        both & persons & ~alike,
        both & (ends.one.person + ends.two.person == 3) & persons,
        both & alike & quoted[0],
        both & alike & quoted[1],
        (local[0] ^ local[1]) & quoted[0],
        (local[0] ^ local[1]) & quoted[1],
        ends.two.reflexive & (ends.one.sentence == ends.two.sentence),
    ]


def _agreement(ends: Ends) -> list[np.ndarray]:
    found = []
    pronoun = ends.two.kind == 0
    for name, unknown in (("number", 0), ("gender", 0), ("entity", -1)):
        a, b = getattr(ends.one, name), getattr(ends.two, name)
        known = (a != unknown) & (b != unknown)
        found += [
            known & (a == b) & pronoun,
            known & (a == b) & ~pronoun,
            known & (a != b) & pronoun,
            known & (a != b) & ~pronoun,
        ]
    a, b = ends.one.speaker, ends.two.speaker
    known = (a >= 0) & (b >= 0)
    return [*found, known & (a == b), known & (a != b)]


def _distance(ends: Ends) -> list[np.ndarray]:
    mentions = np.searchsorted(MENTION_STEPS, ends.second - ends.first)
    sentences = np.searchsorted(SENTENCE_STEPS, ends.two.sentence - ends.one.sentence)
    found = []
    for kind in (ends.two.kind == 0, ends.two.kind == 1, ends.two.kind == 2):
        found += [kind & (mentions == k) for k in range(len(MENTION_STEPS) + 1)]
        found += [kind & (sentences == k) for k in range(len(SENTENCE_STEPS) + 1)]
    return found


def _places(ends: Ends) -> list[np.ndarray]:
    text = ends.text
    nested = ends.two.stop <= ends.one.stop
    comma = np.array([word == "," for word in (*text.words, "")])
    copula = np.array([word.lower() in COPULAS for word in (*text.words, "")])
    behind = np.minimum(ends.one.stop, len(text.words))
    gap = ends.two.start - ends.one.stop
    together = ends.one.sentence == ends.two.sentence
    return [
        nested,
        nested & (ends.two.kind == 0),
        together & (gap == 1) & comma[behind],
        together & (gap == 0),
        together & (gap >= 1) & (gap <= 2) & copula[behind],
    ]


_SECOND = [f"second is {kind}, " for kind in KINDS]
GROUPS: list[Group] = [
    (["bias"], lambda ends: [np.ones(len(ends.first), dtype=bool)]),
    (
        [
            *(f"same string, {kind}s" for kind in ("pronoun", "name", "nominal")),
            *("same head, names", "same head, nominals", "same head, name and nominal"),
            "same head or string, same first word",
        ],
        _same,
    ),
    (
        [
            *("second string within first", "first string within second"),
            *("head of second within first", "head of first within second"),
            *("share a word", "share no word", "names with the same last word"),
            *("names that share no word", "one is the acronym of the other"),
        ],
        _words,
    ),
    (
        [
            *(f"{a} then {b}" for a in KINDS for b in KINDS),
            *(f"{side} is {form}" for side in ("first", "second") for form in FORMS),
        ],
        _kinds,
    ),
    (
        [
            *(f"pronouns of person {person}" for person in (1, 2, 3)),
            *("pronouns of different persons", "pronouns of persons 1 and 2"),
            *("pronouns of one person, both quoted", "pronouns of one person, one quoted"),
            *("one of person 1, both quoted", "one of person 1, one quoted"),
            "second is reflexive, same sentence",
        ],
        _pronouns,
    ),
    (
        [
            *(
                f"{name} {verb}, second is {'a' if pronoun else 'no'} pronoun"
                for name in ("number", "gender", "entity type")
                for verb in ("agrees", "differs")
                for pronoun in (True, False)
            ),
            *("same speaker", "different speakers"),
        ],
        _agreement,
    ),
    (
        [
            prefix + name
            for prefix in _SECOND
            for name in (
                *_bins(MENTION_STEPS, "mentions apart"),
                *_bins(SENTENCE_STEPS, "sentences apart"),
            )
        ],
        _distance,
    ),
    (
        [
            *("second is inside of first", "second is a pronoun inside of first"),
            *("a comma between", "nothing between", "a copula between"),
        ],
        _places,
    ),
]
NAMES: tuple[str, ...] = tuple(name for names, _ in GROUPS for name in names)
_WORDS = (len(NAMES) + 63) // 64  # of 64 features, for each pair


def _columns(ends: Ends) -> Iterator[np.ndarray]:
    """The values of each feature, (pairs,) bool, in the order of the names."""
    for _, function in GROUPS:
        yield from function(ends)
