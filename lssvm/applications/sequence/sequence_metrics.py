"""Entity precision, recall and F1 of label sequences, by seqeval.

Of labels like B-PER, I-PER, O. seqeval's lenient mode, which is what conlleval counts, takes any
change of type or prefix as a border; its strict mode wants the labels to keep to a scheme. Which
one is seen from the true labels: IOBES if any begins with E or S; IOB2 if every entity begins
with B; IOB1 otherwise, where B only parts neighbours of one type.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

_TAG = re.compile(r"O|[BIES]-.+", re.DOTALL)
NAMES = ("precision", "recall", "f1", "f1_strict")


def are_entities(labels: Iterable[str]) -> bool:
    """Whether all labels are O or a prefix and a type, and at least one is not O."""
    names = set(labels)
    return bool(names - {"O"}) and all(map(_TAG.fullmatch, names))


def scheme_of(truth: Sequence[Sequence[str]]) -> str:
    """``IOBES``, ``IOB2`` or ``IOB1``, from the true labels of all sequences."""
    if any(label[0] in "ES" for labels in truth for label in labels):
        return "IOBES"
    for labels in truth:
        for before, label in pairwise(["O", *labels]):
            if label[0] == "I" and before[1:] != label[1:]:
                return "IOB1"
    return "IOB2"


def entity_scores(
    truth: Sequence[Sequence[str]], found: Sequence[Sequence[str]]
) -> dict[str, float | None]:
    """Precision, recall and F1 in percent as conlleval counts, and F1 in strict mode.

    All None where the labels are not of entities, and where seqeval is not installed.
    """
    if not are_entities(label for part in (truth, found) for labels in part for label in labels):
        return dict.fromkeys(NAMES)
    try:
        from seqeval import metrics, scheme
    except ImportError:
        return dict.fromkeys(NAMES)
    rows = [list(labels) for labels in truth], [list(labels) for labels in found]
    lenient = {
        name: 100 * float(count(*rows, zero_division=0))
        for name, count in (
            ("precision", metrics.precision_score),
            ("recall", metrics.recall_score),
            ("f1", metrics.f1_score),
        )
    }
    strict = metrics.f1_score(
        *rows, mode="strict", scheme=getattr(scheme, scheme_of(rows[0])), zero_division=0
    )
    return {**lenient, "f1_strict": 100 * float(strict)}
