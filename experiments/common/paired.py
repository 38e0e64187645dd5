"""Tests whether two methods differ on the same folds or documents."""

import numpy as np
from scipy import stats


def p_value(first: np.ndarray, second: np.ndarray) -> float | None:
    """The two-sided p of the paired t-test, (n,) each; None if the differences are all the same.

    For values that do not depend on each other: trials with data of their own, or documents that
    one model is tested on.
    """
    return corrected_p_value(first, second, 0.0)


def corrected_p_value(first: np.ndarray, second: np.ndarray, share: float) -> float | None:
    """The same for folds that share training data: the corrected resampled t-test.

    first, second : (folds,)
    share : the number of test examples of a fold divided by that of its training examples

    The variance of the mean difference is estimated by (1 / folds + share) times that of the
    differences: Nadeau & Bengio, "Inference for the generalization error", Machine Learning 52
    (2003) 239-281.
    """
    differences = first - second
    count = len(differences)
    if count < 2 or np.ptp(differences) == 0:
        return None
    spread = np.sqrt((1.0 / count + share) * np.var(differences, ddof=1))
    return float(2.0 * stats.t.sf(abs(np.mean(differences)) / spread, count - 1))
