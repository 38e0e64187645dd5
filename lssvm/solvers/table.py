"""The solvers by name: the one place where a new one is entered.

This module imports none of them: a class is imported when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from lssvm.solvers.solver import Solver

CLASSES = {  # the value of ``solver.method``: module of this package, class
    "bundle": ("bundle", "Bundle"),
    "bundle-newton": ("bundle_newton", "BundleNewton"),
    "proximal": ("proximal", "Proximal"),
    "cutting-plane": ("bundle", "CuttingPlane"),
    "n-slack": ("n_slack", "NSlack"),
    "working-set": ("by_constraint", "WorkingSet"),
    "dual-coordinate": ("dual_coordinate", "DualCoordinate"),
    "lbfgs": ("lbfgs", "Lbfgs"),
    "gradient": ("gradient", "Gradient"),
    "sgd": ("sgd", "Sgd"),
}
# The class where the application does not answer for single examples in C, if it is another one.
BY_ROWS = {"dual-coordinate": ("dual_coordinate_rows", "DualCoordinateRows")}
AUTO = "auto"  # the default; see ``choice``
if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[(AUTO, *CLASSES)]  # the type of ``solver.method``


def solver_class(name: str, compiled: bool = True) -> "type[Solver]":
    """The class of the solver with this name. Raises KeyError.

    compiled : whether the application answers for single examples in C; needs are the same
    """
    module, kind = CLASSES[name] if compiled else BY_ROWS.get(name, CLASSES[name])
    return getattr(import_module(f"lssvm.solvers.{module}"), kind)


def keys_of(name: str) -> frozenset[str]:
    """The keys of the section ``solver`` that this solver reads, in one form or the other."""
    return solver_class(name).keys | solver_class(name, compiled=False).keys
