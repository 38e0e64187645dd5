"""Estimators in the manner of scikit-learn, one for each kind of output.

    from lssvm.estimators import StructuralSVC
    StructuralSVC(C=10).fit(X, y).predict(X)

They train and predict as the commands do: with the same settings and data, weights and state are
the same to the last bit. They need scikit-learn, which ``pip install 'lssvm[sklearn]'`` brings.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lssvm.errors import MissingExtraError

if TYPE_CHECKING:
    from lssvm.estimators.alignment import Aligner
    from lssvm.estimators.coreference import CoreferenceResolver
    from lssvm.estimators.field import FieldLabeler
    from lssvm.estimators.motif import MotifClassifier
    from lssvm.estimators.multiclass import StructuralSVC
    from lssvm.estimators.parsing import TreeParser
    from lssvm.estimators.ranking import PrecisionRanker
    from lssvm.estimators.relation import RelationExtractor
    from lssvm.estimators.sequence import LatentSequenceLabeler, SequenceLabeler

_HOMES = {
    "Aligner": "alignment",
    "CoreferenceResolver": "coreference",
    "FieldLabeler": "field",
    "LatentSequenceLabeler": "sequence",
    "MotifClassifier": "motif",
    "PrecisionRanker": "ranking",
    "RelationExtractor": "relation",
    "SequenceLabeler": "sequence",
    "StructuralSVC": "multiclass",
    "TreeParser": "parsing",
}
__all__ = [
    "Aligner",
    "CoreferenceResolver",
    "FieldLabeler",
    "LatentSequenceLabeler",
    "MotifClassifier",
    "PrecisionRanker",
    "RelationExtractor",
    "SequenceLabeler",
    "StructuralSVC",
    "TreeParser",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import_module("sklearn.base")
    except ImportError:
        raise MissingExtraError(f"{__name__}.{name}", "scikit-learn", "sklearn") from None
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
