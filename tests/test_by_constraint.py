"""Algorithm 1 of Tsochantaridis et al. (2004): its constraints, and what they prove."""

from pathlib import Path

import numpy as np
import pytest
import toy
from scipy import optimize
from test_checkpoint import Stopper, essentials

from lssvm.config import Config, load_config
from lssvm.errors import StoppedError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.solvers.by_constraint import WorkingSet, most_constraints
from lssvm.solvers.solver import Initialisation
from lssvm.training.session import Saving, learn_on

ROOT = Path(__file__).parent.parent
SMALL = {"multiclass": 30, "sequence": 12}


def problem(name, norm=1, rescaling="margin", n=None, **solver):
    section = ", ".join(f"{key}: {value}" for key, value in solver.items())
    settings = [
        f"solver={{{section}}}",
        f"objective.slack_norm={norm}",
        f"objective.rescaling={rescaling}",
        "objective.C=0.5",
    ]
    config = load_config(ROOT / "configs" / f"{name}.yaml", settings)
    application = config.create_application()
    examples = application.read(config.sources("train"))
    return config, application, examples.slice(0, n or SMALL[name])


class Recorder(WorkingSet):
    """Remembers, of each constraint, its example, δ and L, and the dual before and after it."""

    def __post_init__(self):
        super().__post_init__()
        self.made, self.duals = [], []

    def _solve(self):
        self.duals.append((self.sets.dual(), None))
        super()._solve()
        self.duals[-1] = (self.duals[-1][0], self.sets.dual())
        row = self.sets.matrix(np.array([len(self.sets) - 1])).toarray()[0]
        self.made.append((int(self.sets.owner[-1]), row, float(self.sets.losses[-1])))


def followed(application, examples, norm, violation, C=0.5):
    """A run of the algorithm, with all that it did."""
    solver = Recorder(application.dimension(examples), norm, violation=violation)
    oracle = DataOracle(application, examples, Executor())
    first = oracle.completed_each(np.zeros(application.dimension(examples)))
    solver.initialise(oracle, Initialisation(first))
    solution = solver.minimise(oracle, C, lambda primal: 0.0)
    assert solution.converged
    return solver, solution


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("norm", [1, 2])
def test_its_objective_is_that_of_others_within_epsilon(norm, rescaling, name):
    violation = 0.02
    other = "bundle" if norm == 1 else "n-slack"
    found = {
        method: learn_on(application, examples, config)
        for method, settings in (
            ("working-set", {"violation": violation}),
            (other, {"epsilon": 1e-6}),
        )
        for config, application, examples in [
            problem(name, norm, rescaling, method=method, **settings)
        ]
    }
    record, best = found["working-set"].record, found[other].record
    assert record["converged"]
    assert record["certified"]
    weight = 0.5 * SMALL[name]
    if norm == 1:
        allowed = violation * weight
    else:  # ½ u ((ξ + ε)² − ξ²) of every example
        mean = np.sqrt(2 * record["objective"] / weight)
        allowed = weight * violation * (mean + violation)
    excess = record["objective"] - best["objective"]
    assert -1e-6 * best["objective"] <= excess <= 1.1 * allowed
    assert record["objective"] * record["gap"] <= 1.1 * allowed
    if norm == 1:
        assert np.linalg.norm(found["working-set"].w - found[other].w) ** 2 <= 2.2 * allowed + 1e-4


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_each_constraint_raises_the_dual_by_what_the_theorem_says(rescaling):
    _, application, examples = problem("multiclass", 2, rescaling, method="working-set")
    violation, n, C = 0.1, len(examples), 0.5
    solver, _ = followed(application, examples, 2, violation, C)
    losses = [example_loss for _, _, example_loss in solver.made]
    deltas = np.array([row for _, row, _ in solver.made])
    # With slack rescaling δ and L have the factor √Δ, and L = √Δ; with margin rescaling L = √Δ.
    loss = max(losses) ** 2
    lengths = np.linalg.norm(deltas, axis=1)
    length = max(lengths / (np.array(losses) if rescaling == "slack" else 1.0))
    most = most_constraints(violation, C, n, loss, length, slack=rescaling == "slack")
    assert 10 < len(solver.made) <= most
    squares = length**2 * (loss if rescaling == "slack" else 1.0)
    least = 0.5 * violation**2 / (squares + 1.0 / C)
    rises = np.array([after - before for before, after in solver.duals])
    assert np.all(rises >= 0.95 * least)
    assert solver.duals[-1][1] <= 0.5 * C * n * loss


def test_nothing_is_dropped_and_no_output_joins_twice():
    _, application, examples = problem("multiclass", method="working-set")
    solver, _ = followed(application, examples, 1, 0.05)
    assert len(solver.sets) == solver.sets.added == len(solver.made)
    seen = {(row, delta.tobytes(), loss) for row, delta, loss in solver.made}
    assert len(seen) == len(solver.made)


def quadratic(deltas, losses, owners, limits):
    """The multipliers that maximise the dual with squared slack, by L-BFGS-B."""
    gram, same = deltas @ deltas.T, owners[:, None] == owners[None, :]
    gram = gram + same / limits[owners][:, None]

    def negative(alpha):
        product = gram @ alpha
        return 0.5 * alpha @ product - losses @ alpha, product - losses

    start = np.zeros(len(losses))
    found = optimize.minimize(
        negative,
        start,
        jac=True,
        bounds=[(0, None)] * len(losses),
        method="L-BFGS-B",
        options={"maxiter": 10**5, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10},
    )
    return found.x


def test_it_adds_what_the_algorithm_adds_one_example_at_a_time():
    """Against the algorithm written down in dense arrays, with another QP solver."""
    _, application, examples = problem("multiclass", 2, n=9, method="working-set")
    violation, C = 0.13, 0.5
    solver, solution = followed(application, examples, 2, violation, C)
    d = application.dimension(examples)
    oracle = DataOracle(application, examples, Executor())
    truth = oracle.completed_each(np.zeros(d)).gradients(np.arange(len(examples))).toarray()
    sets, limits, w = [], np.full(len(examples), C), np.zeros(d)
    changed = True
    while changed:
        changed = False
        for i in range(len(examples)):
            found = oracle.augmented_rows(w, i, i + 1)
            delta = found.gradients(np.zeros(1, dtype=np.int64)).toarray()[0] - truth[i]
            height = found.losses[0] + delta @ w
            slack = max([0.0, *(loss + other @ w for own, other, loss in sets if own == i)])
            if height > slack + violation:
                sets.append((i, delta, found.losses[0]))
                deltas = np.array([each[1] for each in sets])
                owners = np.array([each[0] for each in sets])
                alpha = quadratic(deltas, np.array([each[2] for each in sets]), owners, limits)
                w, changed = -deltas.T @ alpha, True
    assert [each[0] for each in sets] == [each[0] for each in solver.made]
    for (_, delta, loss), (_, own, other) in zip(sets, solver.made, strict=True):
        np.testing.assert_allclose(delta, own, atol=1e-9)
        assert loss == pytest.approx(other)
    np.testing.assert_allclose(solution.w, w, atol=0.02 * np.linalg.norm(w))


def test_the_bound_of_the_theorem():
    """(C Δ² R² + n Δ) / ε² with the paper's C, which is n times the one of here."""
    assert most_constraints(0.5, 2.0, 10, 3.0, 4.0, slack=True) == (20 * 9 * 16 + 30) / 0.25
    assert most_constraints(0.5, 2.0, 10, 3.0, 4.0, slack=False) == (20 * 3 * 16 + 30) / 0.25


@pytest.mark.parametrize("norm", [1, 2])
def test_a_run_resumed_after_every_other_epoch_gives_the_same_model(norm, tmp_path):
    config, application, examples = problem("multiclass", norm, method="working-set")
    whole = learn_on(application, examples, config)
    path, stops, model = tmp_path / "model.checkpoint", 0, None
    while model is None:
        saving = Saving(path, 1000, resume=stops > 0)
        try:
            model = learn_on(application, examples, config, saving=saving, observer=Stopper(3))
        except StoppedError:
            stops += 1
    assert stops >= 2
    assert essentials(model) == essentials(whole)


def test_hidden_values_are_completed_between_its_problems():
    app, pairs = toy.random_problem(0, n=20, signal=1.0)
    settings = {"method": "working-set", "violation": 0.01}
    values = {"application": {"name": "multiclass"}, "objective": {"C": 3.0}, "solver": settings}
    record = learn_on(app, pairs, Config.from_dict(values)).record
    assert record["converged"]
    objectives = [objective for objective, _ in record["restarts"][0]["history"]]
    assert 1 < len(objectives) < 100
    assert objectives[-1] < objectives[0]
