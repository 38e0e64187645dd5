"""Entity precision, recall and F1 of label sequences, by seqeval.

Labels are O or a prefix with a type, B-PER, I-PER. If no label has a type, they are prefixes alone,
B, I, O, and all entities have one type. The prefixes belong to one family:

    IOB     B, I             B begins an entity; I is inside and, in IOB1, begins one too
    IOE     I, E             E ends an entity
    IOBES   B, I, E, S       S is an entity of one token
    BILOU   B, I, L, U       the same, E being called L and S U
    BMES    B, M, E, S       the same, I being called M

seqeval's lenient mode, which counts as conlleval does, takes any change of type or prefix as a
border; its strict mode requires that labels follow a scheme. The scheme is found from the true
labels: IOBES for the last three families; IOB2 if every entity begins with B, otherwise IOB1, where
B only separates neighbouring entities of one type; IOE2 if every entity ends with E, otherwise
IOE1, where E only separates neighbouring entities, and for which seqeval has no reliable strict
mode.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

_TYPED = re.compile(r"[BIESLUM]-.+", re.DOTALL)
_OUTSIDE = "O"
_IOB, _IOE = "BI", "IE"
_FAMILIES = (_IOB, _IOE, "BIES", "BILU", "BMES")
_AS_IOBES = {"L": "E", "U": "S", "M": "I"}
_UNSURE = "IOE1"
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


def scheme_of(truth: Sequence[Sequence[str]], family: str | None = None) -> str:
    """``IOBES``, ``IOB2``, ``IOB1``, ``IOE2`` or ``IOE1``, from the true labels of all sequences.

    family : the prefixes of all labels; by default those of the true ones
    """
    family = family or family_of(label for labels in truth for label in labels)
    if family == _IOB:
        first = (
            label[0] != "I" or _alike(label, before)
            for labels in truth
            for before, label in pairwise([_OUTSIDE, *labels])
        )
        return "IOB2" if all(first) else "IOB1"
    if family == _IOE:
        last = (
            label[0] != "I" or _alike(label, after)
            for labels in truth
            for label, after in pairwise([*labels, _OUTSIDE])
        )
        return "IOE2" if all(last) else _UNSURE
    return "IOBES"


def _alike(label: str, other: str) -> bool:
    """Whether a neighbour of a label is of an entity of the same type."""
    return other != _OUTSIDE and label[1:] == other[1:]


def entity_scores(
    truth: Sequence[Sequence[str]], found: Sequence[Sequence[str]]
) -> dict[str, float | None]:
    """Precision, recall and F1 in percent as conlleval counts, and F1 in strict mode.

    All are None if the labels do not describe entities or seqeval is not installed; F1 in strict
    mode is None for IOE1.
    """
    family = family_of(label for part in (truth, found) for labels in part for label in labels)
    if family is None:
        return dict.fromkeys(NAMES)
    try:
        from seqeval import metrics, scheme
    except ImportError:
        return dict.fromkeys(NAMES)
    rows = [[list(map(_as_iobes, labels)) for labels in part] for part in (truth, found)]
    lenient: dict[str, float | None] = {
        name: 100 * float(count(*rows, zero_division=0))
        for name, count in (
            ("precision", metrics.precision_score),
            ("recall", metrics.recall_score),
            ("f1", metrics.f1_score),
        )
    }
    name = scheme_of(rows[0], family)
    if name == _UNSURE:
        return {**lenient, "f1_strict": None}
    strict = metrics.f1_score(*rows, mode="strict", scheme=getattr(scheme, name), zero_division=0)
    return {**lenient, "f1_strict": 100 * float(strict)}


def _as_iobes(label: str) -> str:
    return _AS_IOBES.get(label[0], label[0]) + label[1:]
