"""Tests whether two methods differ on the same folds or documents."""

import numpy as np
from scipy import stats


def p_value(first: np.ndarray, second: np.ndarray) -> float | None:
    """The two-sided p of the paired t-test, (n,) each; None if the differences are all the same."""
    differences = first - second
    if len(differences) < 2 or np.ptp(differences) == 0:
        return None
    return float(stats.ttest_rel(first, second).pvalue)
