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
    "bcfw": ("bcfw", "Bcfw"),
    "dual-coordinate": ("dual_coordinate", "DualCoordinate"),
    "lbfgs": ("lbfgs", "Lbfgs"),
    "gradient": ("gradient", "Gradient"),
    "sgd": ("sgd", "Sgd"),
}
AUTO = "auto"  # the default; see ``choice``
if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[(AUTO, *CLASSES)]  # the type of ``solver.method``


def solver_class(name: str) -> "type[Solver]":
    """The class of the solver with this name. Raises KeyError."""
    module, kind = CLASSES[name]
    return getattr(import_module(f"lssvm.solvers.{module}"), kind)
