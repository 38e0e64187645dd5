"""The feature space of a stored model, taken from its arrays once it is sure that they fit."""

from collections.abc import Mapping

import numpy as np

from lssvm.applications.feature_space import (
    Kernel,
    KernelFunction,
    Linear,
    Products,
    Space,
    Support,
)
from lssvm.applications.occurring import Occurring
from lssvm.checked import LARGEST, MOST, MOST_WEIGHTS, array, known, sparse_rows
from lssvm.errors import ModelError, counted

DENSE = ("gamma", "shape", "rows")
SPARSE = ("gamma", "shape", "data", "indices", "indptr")


def restored(
    kernel: Kernel, arrays: Mapping[str, np.ndarray], inputs: tuple[int, int] | None
) -> Space:
    """The space whose ``arrays`` these are.

    inputs : features of a row, and columns of weights, that it must have; None if not known

    Raises ModelError.
    """
    if kernel.type == "linear":
        if not arrays:
            return Linear()
        return _occurring(arrays, inputs)
    return (
        _products(kernel, arrays, inputs) if kernel.explicit else _support(kernel, arrays, inputs)
    )


def dimension(space: Space, linear: int | None) -> int | None:
    """Length of w in this space, where linear weights are so many; None where they are not known.

    Weights of features, one for each column, give way to those of the space; others stay.
    """
    if linear is None or isinstance(space, Linear):
        return linear
    if isinstance(space, Support):
        count, width = space.rows.shape
    elif isinstance(space, Products):
        count, width = len(space.pairs), space.width
    elif isinstance(space, Occurring):
        count, width = len(space.features), space.width
    else:
        return None
    return linear + (count - width) * space.columns


def _occurring(arrays: Mapping[str, np.ndarray], inputs: tuple[int, int] | None) -> Occurring:
    known(arrays, "features", "shape")
    width, columns = _shape(arrays, 2, inputs)
    features = array(arrays, "features", np.int64, (None,), least=0, most=width - 1)
    if np.any(features[1:] <= features[:-1]):
        raise ModelError("array 'features' does not increase; expected each feature once, in order")
    return Occurring(features, width, columns)


def _products(
    kernel: Kernel, arrays: Mapping[str, np.ndarray], inputs: tuple[int, int] | None
) -> Products:
    known(arrays, "pairs", "gamma", "shape")
    width, columns = _shape(arrays, 2, inputs)
    pairs = array(arrays, "pairs", np.int64, (None,), least=0, most=MOST)
    first, second = np.divmod(pairs, width + 1)
    constant = kernel.coef0 > 0.0
    if np.any(pairs[1:] <= pairs[:-1]):
        raise ModelError("array 'pairs' does not increase; expected each product once, in order")
    if np.any(first > second) or np.any(second >= width + constant):
        own = counted(width, "feature")
        raise ModelError(f"array 'pairs' holds what are not products of two of {own}")
    return Products(pairs, width, columns, _gamma(kernel, arrays), kernel.coef0)


def _support(
    kernel: Kernel, arrays: Mapping[str, np.ndarray], inputs: tuple[int, int] | None
) -> Support:
    dense = "rows" in arrays
    known(arrays, *(DENSE if dense else SPARSE))
    count, width, columns = _shape(arrays, 3, inputs)
    if dense:
        rows = array(arrays, "rows", np.float64, (count, width), least=-LARGEST, most=LARGEST)
    else:
        rows = sparse_rows(arrays, "", (count, width), most=LARGEST)
    function = KernelFunction(kernel.type, kernel.degree, _gamma(kernel, arrays), kernel.coef0)
    return Support(function, rows, columns)


def _shape(
    arrays: Mapping[str, np.ndarray], length: int, inputs: tuple[int, int] | None
) -> tuple[int, ...]:
    """The array ``shape``, whose last two numbers are those of the application."""
    found = array(arrays, "shape", np.int64, (length,), least=0, most=MOST_WEIGHTS)
    shape = tuple(found.tolist())
    if inputs is not None and shape[-2:] != inputs:
        raise ModelError(f"array 'shape' ends in {shape[-2:]}; expected {inputs}")
    if shape[-1] < 1:
        raise ModelError("array 'shape' says that there are no columns; expected one at least")
    return shape


def _gamma(kernel: Kernel, arrays: Mapping[str, np.ndarray]) -> float:
    found = float(array(arrays, "gamma", np.float64, (1,), least=0.0, most=LARGEST)[0])
    if found == 0.0 or (kernel.gamma != "scale" and found != kernel.gamma):
        raise ModelError(f"array 'gamma' holds {found}; expected {kernel.gamma}")
    return found
