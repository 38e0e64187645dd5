"""Values as JSON can hold them."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def finite(value: Any) -> Any:
    """``value`` with every number in it that is not finite replaced by None.

    Mappings become dicts, lists and tuples lists, numpy's numbers Python's.
    """
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value
