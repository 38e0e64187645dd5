"""Entity precision, recall and F1 of label sequences.

Labels are O or a prefix with a type, B-PER, I-PER. If no label has a type, they are prefixes alone,
B, I, O, and all entities have one type. The prefixes belong to one family:

    IOB     B, I             B begins an entity; I is inside and, in IOB1, begins one too
    IOE     I, E             E ends an entity
    IOBES   B, I, E, S       S is an entity of one token
    BILOU   B, I, L, U       the same, E being called L and S U
    BMES    B, M, E, S       the same, I being called M

The lenient count takes any change of type or prefix as a border. For IOB and IOE it is that of
conlleval, which does not know the other prefixes: here they are read in the same manner. The strict
count, that of seqeval's strict mode, requires that labels follow a scheme. The scheme is found from
the true labels: IOBES for the last three families; IOB2 if every entity begins with B, otherwise
IOB1, where B only separates neighbouring entities of one type; IOE2 if every entity ends with E,
otherwise IOE1, where E only separates neighbouring entities, and for which seqeval has no reliable
strict mode.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lssvm.applications.sequence import entity_spans
from lssvm.applications.sequence.entity_spans import SCHEMES, I, Spans

_TYPED = re.compile(r"[BIESLUM]-.+", re.DOTALL)
_OUTSIDE = "O"
_IOB, _IOE = "BI", "IE"
_FAMILIES = (_IOB, _IOE, "BIES", "BILU", "BMES")
_FAMILIES_OF = {"IOB1": (_IOB,), "IOB2": (_IOB,), "IOE2": (_IOE,), "IOBES": _FAMILIES[2:]}
_UNSURE = "IOE1"
_AT_ONCE = 1_000_000  # tokens whose entities are counted at a time
NAMES = ("precision", "recall", "f1", "f1_strict")


def family_of(labels: Iterable[str]) -> str | None:
    """The prefixes of the first family that all labels are of; None if there is none."""
    names = set(labels)
    inner = names - {_OUTSIDE}
    if not inner or not (all(map(_TYPED.match, inner)) or _are_bare(names)):
        return None
    prefixes = {name[0] for name in inner}
    return next((family for family in _FAMILIES if prefixes <= set(family)), None)


def _are_bare(names: set[str]) -> bool:
    """Whether labels are prefixes without types; B and S alone may mean anything."""
    if any(len(name) > 1 for name in names) or names.isdisjoint("BI"):
        return False
    return _OUTSIDE in names or ("B" in names and not names.isdisjoint("IMEL"))


def misfit(labels: Iterable[str]) -> str | None:
    """The label because of which others, which look like entities, are not scored, or None.

    Labels look like entities if most have a prefix and a type, or if there is only one label
    besides B, I and O.
    """
    names = sorted(set(labels) - {_OUTSIDE})
    if family_of([*names, _OUTSIDE]) is not None:
        return None
    typed = [name for name in names if _TYPED.match(name)]
    others = [name for name in names if name not in typed]
    if others and len(typed) > len(others):
        return others[0]
    if not others and typed:
        fits = [[name for name in names if name[0] in family] for family in _FAMILIES]
        most = max(fits, key=len)
        return next(name for name in names if name not in most)
    beside = [name for name in names if name not in ("B", "I")]
    return beside[0] if len(beside) == 1 and len(names) == 3 else None


def numbered(
    names: Sequence[str], labels: np.ndarray, tags: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Numbers for labels that have none, after those of ``names``.

    labels : (tokens,) int, -1 where ``tags``, (tokens,) object, is none of ``names``
    Returns all names, and the labels with a number each.
    """
    all_names = dict.fromkeys(names)
    lost = np.flatnonzero(labels < 0)
    all_names.update(dict.fromkeys(tags[lost]))
    numbers = {name: number for number, name in enumerate(all_names)}
    found = labels.copy()
    found[lost] = [numbers[tag] for tag in tags[lost]]
    return list(all_names), found


class EntityCounts(NamedTuple):
    """Counts of the entities of some sequences, which add up over sequences.

    names : the labels that occur, true or predicted
    begun : whether each true entity begins with B; ended : whether each ends with E
    loose : (3,) how many entities are true, found, and both, as conlleval counts
    strict : (schemes, 3) the same by each of ``entity_spans.SCHEMES``, 0 where the labels that
        occur are of other schemes alone
    """

    names: frozenset[str]
    begun: bool
    ended: bool
    loose: np.ndarray
    strict: np.ndarray


def entity_counts(
    names: Sequence[str], truth: np.ndarray, found: np.ndarray, offsets: np.ndarray
) -> EntityCounts:
    """The counts of sequences, some of them at a time.

    names : what the numbers of labels mean
    truth, found : (tokens,) int, the true and the predicted label of each token
    offsets : (n + 1,) int, where the n sequences begin in both, and the end
    """
    parts = []
    for block in blocks(offsets):
        own = offsets[block.start : block.stop + 1]
        tokens = slice(int(own[0]), int(own[-1]))
        parts.append(_counted(names, truth[tokens], found[tokens], own))
    return added(parts)


def added(parts: Sequence[EntityCounts]) -> EntityCounts:
    """The counts of all parts together, at least one."""
    names, begun, ended, loose, strict = zip(*parts, strict=True)
    sums = (np.sum(counts, axis=0) for counts in (loose, strict))
    return EntityCounts(frozenset().union(*names), all(begun), all(ended), *sums)


def _counted(
    names: Sequence[str], truth: np.ndarray, found: np.ndarray, offsets: np.ndarray
) -> EntityCounts:
    used = np.zeros(len(names), dtype=bool)
    used[truth] = used[found] = True
    occurring = frozenset(name for name, occurs in zip(names, used, strict=True) if occurs)
    prefixes = {name[:1] for name in occurring} - {_OUTSIDE}
    loose, strict = np.zeros(3, dtype=np.int64), np.zeros((len(SCHEMES), 3), dtype=np.int64)
    if not prefixes <= set().union(*_FAMILIES):  # no entities, whatever else occurs
        return EntityCounts(occurring, True, True, loose, strict)
    own, other = entity_spans.tags_of(names, [truth, found], offsets)
    loose += _common(entity_spans.lenient(own), entity_spans.lenient(other))
    for row, (name, scheme) in enumerate(SCHEMES.items()):
        if any(prefixes <= set(family) for family in _FAMILIES_OF[name]):
            spans = (entity_spans.strict(tags, scheme) for tags in (own, other))
            strict[row] = _common(*spans)
    pairs = own.pairs
    begun = bool(np.all((pairs.after != I) | pairs.same))
    ended = bool(np.all((pairs.before != I) | pairs.same))
    return EntityCounts(occurring, begun, ended, loose, strict)


def scheme_of(counts: EntityCounts) -> str | None:
    """``IOBES``, ``IOB2``, ``IOB1``, ``IOE2`` or ``IOE1``, from the true labels; None without."""
    family = family_of(counts.names)
    if family == _IOB:
        return "IOB2" if counts.begun else "IOB1"
    if family == _IOE:
        return "IOE2" if counts.ended else _UNSURE
    return None if family is None else "IOBES"


def entity_scores(counts: EntityCounts) -> dict[str, float | None]:
    """Precision, recall and F1 in percent as conlleval counts, and F1 in strict mode.

    All are None if the labels that occur do not describe entities; F1 in strict mode is None for
    IOE1.
    """
    name = scheme_of(counts)
    if name is None:
        return dict.fromkeys(NAMES)
    scores = dict(zip(("precision", "recall", "f1"), _shares(counts.loose), strict=True))
    if name == _UNSURE:
        return {**scores, "f1_strict": None}
    return {**scores, "f1_strict": _shares(counts.strict[list(SCHEMES).index(name)])[2]}


def blocks(offsets: np.ndarray) -> Iterator[slice]:
    """Sequences in blocks of about ``_AT_ONCE`` tokens, at least one block."""
    first, n = 0, len(offsets) - 1
    while True:
        last = int(np.searchsorted(offsets, offsets[first] + _AT_ONCE, side="right")) - 1
        last = min(n, max(last, first + 1))
        yield slice(first, last)
        if last == n:
            return
        first = last


def _common(truth: Spans, found: Spans) -> np.ndarray:
    """How many entities are true, found, and both, (3,)."""
    both = entity_spans.common(truth, found)
    return np.array([len(truth.first), len(found.first), both], dtype=np.int64)


def _shares(counts: np.ndarray) -> tuple[float, float, float]:
    """Precision, recall and F1 in percent; 0 if there were no entities."""
    true, found, both = counts.tolist()
    precision, recall = both / max(found, 1), both / max(true, 1)
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    return 100 * precision, 100 * recall, 100 * f1
