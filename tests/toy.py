"""A latent problem small enough to enumerate: tables of features, one for each (x, y, h)."""

from typing import ClassVar

import numpy as np

from lssvm.applications.base import Options
from lssvm.applications.per_example import Pairs, PerExample


class Toy(PerExample):
    """x is an index into ``tables`` (n, n_outputs, n_hidden, d); the loss is in ``losses``."""

    Options = Options
    models: ClassVar[frozenset[str]] = frozenset({"lssvm"})

    def __init__(self, tables, losses):
        super().__init__(Options(name="toy"))
        self.tables, self.losses = tables, losses

    def examples(self, source):
        raise NotImplementedError

    def dimension(self, examples):
        return self.tables.shape[-1]

    def joint_feature(self, x, y, h):
        return self.tables[x, y, h]

    def loss(self, y, y_hat, h_hat):
        return self.losses[y, y_hat]

    def loss_augmented_inference(self, w, x, y):
        return _first_maximum(self.tables[x] @ w + self.losses[y][:, None])

    def complete_latent(self, w, x, y):
        return int(np.argmax(self.tables[x, y] @ w))

    def predict_one(self, w, x):
        return _first_maximum(self.tables[x] @ w)

    def first_completion(self, x, y, rng):
        return int(rng.integers(self.tables.shape[2]))

    def feature_names(self):
        return [f"f{i}" for i in range(self.tables.shape[-1])]


def _first_maximum(scores):
    return divmod(int(scores.argmax()), scores.shape[1])


def random_problem(seed, n=8, n_outputs=3, n_hidden=3, d=5, scale=1.0, signal=0.0):
    """An application and its examples; ``signal`` makes the true output's features stand out."""
    rng = np.random.default_rng(seed)
    tables = rng.normal(size=(n, n_outputs, n_hidden, d))
    outputs = rng.integers(n_outputs, size=n)
    tables[np.arange(n), outputs, 0, 0] += signal
    losses = rng.uniform(0.2, 2.0, size=(n_outputs, n_outputs))
    np.fill_diagonal(losses, 0.0)
    costs = rng.uniform(0.5, 2.0, size=n)
    names = tuple(f"x{i}" for i in range(n))
    pairs = Pairs(tuple(range(n)), tuple(int(y) for y in outputs), names, costs)
    return Toy(scale * tables, losses), pairs


def convex_optimum(app, pairs, completion, C):
    """min ½‖w‖² + C (Σ c_i U⁺_i − completion · w) with every plane of every example, by Clarabel.

    Variables (w, ξ): one slack an example, one constraint an (example, output, hidden value).
    The problem is scaled, w' = w / s and the objective divided by C, so that the solver sees
    moderate numbers. Returns the optimum and its w.
    """
    import clarabel
    from scipy import sparse

    n, n_outputs, n_hidden, d = app.tables.shape
    s = 1.0 / np.abs(app.tables).max()
    rows, bounds = [], []
    for x, y, _ in zip(pairs.inputs, pairs.outputs, pairs.costs, strict=True):
        slack = np.zeros(n)
        slack[x] = -1.0
        for y_hat in range(n_outputs):
            for h_hat in range(n_hidden):
                rows.append(np.concatenate([s * app.tables[x, y_hat, h_hat], slack]))
                bounds.append(-app.losses[y, y_hat])
    quadratic = sparse.csc_matrix(np.diag(np.concatenate([np.full(d, s**2 / C), np.zeros(n)])))
    linear = np.concatenate([-s * completion.gradient, pairs.costs])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solution = clarabel.DefaultSolver(
        quadratic,
        linear,
        sparse.csc_matrix(np.array(rows)),
        np.array(bounds),
        [clarabel.NonnegativeConeT(len(bounds))],
        settings,
    ).solve()
    return C * solution.obj_val, s * np.array(solution.x[:d])
