"""A constant feature of large value comes as near to an unregularised one as is promised."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.config import Config
from lssvm.training.session import learn_on

DATA = Path(__file__).parents[1] / "data"
C = 0.5


def rows(seed, n=40, features=3):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    return rng.normal(size=(n, features)) + labels[:, None] + 5.0, labels


def unregularised(x, labels):
    """Smallest ½‖W‖² + C Σ ξ with scores W x + b, b free: its value, and b, by a QP solver."""
    clarabel = pytest.importorskip("clarabel")
    (n, m), K = x.shape, 3
    size = m * K + K + n
    lines, bounds = [], []
    for i in range(n):
        for k in range(K):
            line = np.zeros(size)
            for column, sign in ((k, 1.0), (labels[i], -1.0)):
                line[column * m : (column + 1) * m] += sign * x[i]
                line[m * K + column] += sign
            line[m * K + K + i] = -1.0
            lines.append(line)
            bounds.append(-float(k != labels[i]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    weights = np.concatenate([np.ones(m * K), np.zeros(K + n)])
    linear = np.concatenate([np.zeros(m * K + K), np.full(n, C)])
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(weights)),
        linear,
        sparse.csc_matrix(np.array(lines)),
        np.array(bounds),
        [clarabel.NonnegativeConeT(len(bounds))],
        settings,
    ).solve()
    b = np.array(found.x[m * K : m * K + K])
    return found.obj_val, b - b.mean()


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_within_half_the_squared_bias_over_its_squared_value(seed):
    """½‖b / B‖² is all that a bias b = B v can cost; adding a constant to b changes no score."""
    x, labels = rows(seed)
    best, b = unregularised(x, labels)
    for value in (1.0, 10.0, 100.0, 1000.0):
        config = Config.from_dict(
            {
                "application": {"name": "multiclass", "bias": value},
                "objective": {"C": C},
                "solver": {"epsilon": 1e-6},
            }
        )
        application = config.create_application()
        application.fix(list("abc"), 3)
        inputs = np.column_stack([x, np.full(len(x), value)])
        record = learn_on(application, in_memory(inputs, labels, list("abc"), 3), config).record
        assert record["converged"]
        assert record["objective"] >= best * (1 - 1e-6)
        assert record["objective"] <= best * (1 + 1e-5) + 0.5 * b @ b / value**2
