"""An application, as the types that its callers need.

| caller | type | defined in |
|---|---|---|
| every solver | ``Problem``, planes of the sum | ``lssvm/problem.py`` |
| solvers that keep planes of examples | ``ByExample`` | the same |
| fewer features | ``FeatureRows`` | the same |
| kernels | ``KernelRows`` | the same |
| threads that share one sum over sparse rows | ``Gathering`` | the same |
| iterative inference that begins where it ended last | ``Continuing`` | the same |
| prediction and scores | ``Predictor`` | ``prediction.py`` |
| explanations of predictions | ``Explainer`` | ``explaining.py`` |
| pictures for a report | ``Picturer`` | ``picturing.py`` |
| scores of written predictions | ``WrittenScorer`` | ``written.py`` |
| reading, and what a model keeps of it | ``Reader`` | ``reading.py`` |
| writing | ``Writer`` | ``writing.py`` |
| predictions for files of any size | ``InParts`` | ``parts.py`` |
| files that are read where they lie | ``ReadsApart`` | ``apart.py`` |

An application is a ``Problem``, ``Predictor``, ``Explainer``, ``Picturer``, ``WrittenScorer``,
``Reader`` and ``Writer``. If it keeps planes by example or has rows for kernels, it also derives
from these types. To write an application for one example at a time, see
:mod:`lssvm.applications.per_example`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic

from lssvm.applications import guard
from lssvm.applications import options as sections
from lssvm.applications.apart import ReadsApart
from lssvm.applications.explaining import Explainer, Rival
from lssvm.applications.formulation import ANNEALED, SMOOTH, TEMPERATURES, Formulation
from lssvm.applications.options import Options, is_stored, named_file
from lssvm.applications.picturing import Picturer
from lssvm.applications.prediction import P, Predictor
from lssvm.applications.reading import Reader, Source, labelled_part
from lssvm.applications.writing import (
    JSON,
    Curve,
    Export,
    FolderFormat,
    Writer,
    numbered_files,
)
from lssvm.applications.written import WrittenScorer
from lssvm.problem import (
    ByExample,
    CompiledByExample,
    Continuing,
    E,
    Each,
    Examples,
    FeatureRows,
    FirstProblem,
    Gathering,
    KernelRows,
    Maxima,
    Problem,
    answers_in_c,
)

__all__ = [
    "ANNEALED",
    "JSON",
    "SMOOTH",
    "TEMPERATURES",
    "Application",
    "ByExample",
    "CompiledByExample",
    "Continuing",
    "Curve",
    "Each",
    "Examples",
    "Explainer",
    "Export",
    "FeatureRows",
    "FirstProblem",
    "FolderFormat",
    "Formulation",
    "Gathering",
    "KernelRows",
    "Maxima",
    "Options",
    "Picturer",
    "Predictor",
    "Problem",
    "Reader",
    "ReadsApart",
    "Rival",
    "Source",
    "Writer",
    "WrittenScorer",
    "answers_in_c",
    "is_stored",
    "labelled_part",
    "named_file",
    "numbered_files",
]

FLAGS = {"each": "ByExample", "kernels": "KernelRows"}  # that types took the place of


class Application(
    Problem[E],
    Predictor[E, P],
    Explainer[E, P],
    Picturer[E, P],
    WrittenScorer[E, P],
    Reader[E],
    Writer[E, P],
    Generic[E, P],
):
    """A structured problem with score w · Φ(x, y, h), solved for whole data sets.

    An error that a method raises, if it is not an LssvmError, becomes an ApplicationCrashError.
    """

    Options: ClassVar[type[sections.Options]] = sections.Options
    models: ClassVar[frozenset[str]]  # the values of objective.model that it supports
    refused_models: ClassVar[Mapping[str, str]] = {}  # others, and why it cannot have them
    rescalings: ClassVar[frozenset[str]] = frozenset({"margin"})
    slack_norms: ClassVar[frozenset[int]] = frozenset({1})
    smooth: ClassVar[frozenset[str]] = frozenset()  # those models whose U⁺ has a gradient
    hidden: bool = True  # False: U⁻ is linear, one CCCP iteration solves the problem
    # Whether the hidden states are permutation-symmetric: then w = 0 is a stationary point, and
    # warm starts along C stay near it.
    exchangeable: ClassVar[bool] = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Guard its methods. Raises TypeError for a flag that says what types say now."""
        super().__init_subclass__(**keywords)
        for flag, kind in FLAGS.items():
            if isinstance(cls.__dict__.get(flag), bool):
                raise TypeError(
                    f"{cls.__name__}.{flag} is no longer read; expected a class that derives from "
                    f"lssvm.applications.base.{kind} where it was True"
                )
        guard.protect(cls)

    def __init__(self, options: Any, formulation: Formulation | None = None) -> None:
        self.options = options
        self.formulation = formulation or Formulation(min(self.models))
