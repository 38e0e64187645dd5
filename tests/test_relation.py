"""Relation extraction as training has it: planes, certified gaps, checkpoints and predictions."""

import itertools
import os
import pickle
import signal

import clarabel
import numpy as np
import pytest
import relation_cases as cases
from scipy import sparse

from lssvm.applications.multivariate import whole
from lssvm.applications.multivariate.decomposition import NOT_MET, Bounds
from lssvm.config import Config
from lssvm.errors import ConfigError, DataError, LssvmError, StoppedError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.training import session as train
from lssvm.training import setup
from lssvm.training.cccp import Observer
from lssvm.training.session import Saving

F = {"loss": "f_beta"}
WHOLE = [F, {**F, "decomposition": "pairs"}, {**F, "average": "macro", "none_weights": True}]
C = 0.5


def configuration(options, **solver):
    return Config.from_dict(
        {
            "application": {"name": "relation", "bias": 0.0, **options},
            "objective": {"C": C},
            "solver": {"method": "bundle", "epsilon": 1e-3, "max_passes": 20, **solver},
            "cccp": {"tolerance": 1e-3, "max_iterations": 3},
        }
    )


def features(app, examples, row):
    """Of every set of relations that a pair can reach, the features of all of its labellings."""
    columns, count = app.columns.count, len(app.relations)
    own = examples.inputs[examples.places[row] : examples.places[row + 1]].toarray()
    found = {}
    for labels in cases.labellings(len(own), count):
        total = np.zeros((own.shape[1], columns))
        for x, label in zip(own, labels, strict=True):
            if label < columns:
                total[:, label] += x
        found.setdefault(cases.used(labels, count), []).append(total.ravel())
    return found


def optimum(rows, bounds, linear, C):
    """min ½‖w‖² + C max over rows of (row · w + bound) − C linear · w, by Clarabel."""
    d = rows.shape[1]
    quadratic = sparse.csc_matrix(np.diag(np.append(np.ones(d), 0.0)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    found = clarabel.DefaultSolver(
        quadratic,
        np.append(-C * linear, C),
        sparse.csc_matrix(np.column_stack([rows, -np.ones(len(rows))])),
        -np.asarray(bounds),
        [clarabel.NonnegativeConeT(len(rows))],
        settings,
    ).solve()
    return found.obj_val


def every_output(app, examples):
    """Features and loss of every labelling of all pairs together."""
    truth = [
        frozenset(examples.labels[a:b].tolist())
        for a, b in itertools.pairwise(examples.label_places.tolist())
    ]
    loss = cases.macro_loss if app.options.average == "macro" else cases.micro_loss
    parts = [list(features(app, examples, row).items()) for row in range(len(examples))]
    rows, bounds = [], []
    for chosen in itertools.product(*parts):
        own = loss(truth, [sets for sets, _ in chosen], app.options.beta, len(examples))
        for planes in itertools.product(*(planes for _, planes in chosen)):
            rows.append(np.sum(planes, axis=0))
            bounds.append(own)
    return np.array(rows), np.array(bounds)


class Problems(Observer):
    """Remembers the completion, the objective and the bound of the first convex problem."""

    def iterated(self, row):
        self.rows = [*getattr(self, "rows", []), row]


@pytest.mark.parametrize("relations", [1, 2])
@pytest.mark.parametrize("seed", range(50))
def test_the_certified_gap_holds_the_optimum_of_the_convex_problem(seed, relations):
    rng = np.random.default_rng(seed)
    options = {**WHOLE[seed % 3], "beta": (0.5, 1.0, 2.0)[seed % 2]}
    app, examples = cases.problem(rng, n=2, mentions=2, relations=relations, features=2, **options)
    config = configuration(options)
    first = app.start(examples, np.random.default_rng([config.seed, 0]))
    oracle = DataOracle(app, examples, Executor())
    run = setup.new_run(oracle, config, 0, None)
    solution = run.solver.minimise(
        oracle,
        C,
        lambda primal: 1e-4 * primal,
        0.0,
        40 if relations > 1 else 400,
        lambda gap, goal: None,
    )
    rows, bounds = every_output(app, examples)
    best = optimum(rows, bounds, first.gradient, C)
    room = 1e-6 * (1.0 + abs(best))
    assert solution.lower <= best + room
    assert solution.primal >= best - room
    assert solution.certified
    assert solution.converged or relations > 1  # inference is exact with a single relation
    if solution.converged:
        assert solution.primal - best <= 2e-4 * (1.0 + abs(best))


@pytest.mark.parametrize("options", [{}, *WHOLE])
@pytest.mark.parametrize("seed", range(2))
def test_training_is_certified_and_the_objective_falls(seed, options):
    app, examples = cases.problem(np.random.default_rng(seed), n=12, **options)
    told = Problems()
    model = train.learn_on(app, examples, configuration(options), observer=told)
    objectives = [row.objective for row in told.rows]
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(objectives))
    assert np.isfinite(model.record["gap"])


@pytest.mark.parametrize("options", WHOLE)
def test_threads_and_a_checkpoint_change_no_byte(options, tmp_path):
    app, examples = cases.problem(np.random.default_rng(1), n=150, features=6, **options)
    config = configuration(options, max_passes=12)
    whole = train.learn_on(app, examples, config)
    assert train.learn_on(app, examples, config, threads=3).w.tobytes() == whole.w.tobytes()
    path, stops, model = tmp_path / "m.checkpoint", 0, None
    while model is None:
        saving = Saving(path, 1, resume=stops > 0)
        try:
            model = train.learn_on(
                app, examples, config, saving=saving, observer=Interrupting(5 + stops)
            )
        except StoppedError:
            stops += 1
    assert stops > 1
    assert model.w.tobytes() == whole.w.tobytes()
    assert model.record == whole.record


class Interrupting(Observer):
    """Sends this process a signal after so many passes."""

    def __init__(self, after):
        self.left = after

    def passed(self, passes, gap, goal, not_converged, objective):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


def test_what_is_carried_is_kept_and_changes_the_next_pass():
    options = {**F, "decomposition": "pairs", "iterations": 6}
    app, examples = cases.problem(np.random.default_rng(3), n=30, **options)
    oracle = DataOracle(app, examples, Executor())
    w = np.random.default_rng(4).integers(-8, 9, app.dimension(examples)) / 8
    plane, first, carried = oracle.augmented_from(w, None)
    again = oracle.augmented_from(w, None)
    assert again[0].gradient.tobytes() == plane.gradient.tobytes()
    assert again[2].tobytes() == carried.tobytes()
    assert carried.shape == oracle.carried_shape
    uppers = [first]
    for _ in range(6):
        _, upper, carried = oracle.augmented_from(w, carried)
        uppers.append(upper)
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(uppers))
    assert uppers[-1] < first


def test_bounds_that_do_not_meet_are_counted():
    options = {**F, "decomposition": "pairs", "iterations": 1}
    app, examples = cases.problem(np.random.default_rng(3), n=30, **options)
    assert app.not_converged() == {}
    w = np.random.default_rng(4).integers(-8, 9, app.dimension(examples)) / 8
    app.augmented(w, examples)
    app.augmented(np.zeros(len(w)), examples)
    ((name, (failed, runs)),) = app.not_converged().items()
    assert (name, failed, runs) == (NOT_MET, 1, 2)
    assert app.not_converged() == {}


@pytest.mark.parametrize(
    ("value", "upper", "counted"),
    [(999.5, 1000.0, 0), (998.5, 1000.0, 1), (-1000.0, -999.5, 0), (0.0, 0.0, 0), (0.0, 1e-9, 1)],
)
def test_bounds_that_hardly_differ_are_not_counted_and_yet_certified(
    value, upper, counted, monkeypatch
):
    app, examples = cases.problem(np.random.default_rng(3), **F)
    w = np.zeros(app.dimension(examples))

    def bounded(bags, loss, truth, carried, limits, each):
        return Bounds(truth.labels, value, value, upper, carried)

    monkeypatch.setattr(whole, "decomposed", bounded)
    plane, certified = app.augmented(w, examples)
    assert plane.value(w) == value
    assert certified == pytest.approx(upper)
    assert app.not_converged() == {NOT_MET: (counted, 1)}


def test_pairs_that_cannot_reach_their_relations_are_left_out_of_training():
    app, examples = cases.problem(np.random.default_rng(0), n=3, relations=2)
    few = cases.bags_of(np.eye(3), [1, 2], [np.array([0, 1]), np.array([1])], ("r0", "r1"))
    assert app.for_training(examples) is examples
    kept = app.for_training(few)
    assert list(kept.names) == ["b1"]
    assert kept.labels.tolist() == [1]
    with pytest.raises(DataError, match="'b0' has more relations than mentions"):
        app.start(few, np.random.default_rng(0))


@pytest.mark.parametrize("how", ["labels", "random"])
def test_first_labels_use_the_relations_of_every_pair(how):
    app, examples = cases.problem(
        np.random.default_rng(0), n=40, mentions=5, relations=4, initialisation=how
    )
    labels = app.start_each(examples, np.random.default_rng(0)).outputs
    for row, (a, b) in enumerate(itertools.pairwise(examples.places.tolist())):
        own = examples.labels[examples.label_places[row] : examples.label_places[row + 1]]
        assert cases.used(labels[a:b].tolist(), 4) == set(own.tolist())


def test_prediction_takes_the_best_label_of_every_mention():
    app, examples = cases.problem(np.random.default_rng(5), n=20, none_weights=True)
    w = np.random.default_rng(6).integers(-8, 9, app.dimension(examples)) / 8
    scores = examples.inputs @ w.reshape(-1, 4)
    found = app.predict(w, examples)
    best = scores.max(axis=1)
    labels = np.where(found.mention_labels < 0, 3, found.mention_labels)
    assert np.array_equal(scores[np.arange(len(best)), labels], best)
    assert np.array_equal(found.relations(examples), found.scores > 0) or np.any(
        found.scores[found.relations(examples)] == 0
    )
    with pytest.raises(LssvmError, match="--top 2"):
        app.predict(w, examples, top=2)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"solver": {"method": "n-slack"}}, "solver.method: n-slack needs a loss of each example"),
        ({"solver": {"method": "sgd"}}, "solver.method: sgd needs a loss of each example"),
        ({"objective": {"model": "ssvm"}}, "the labels of mentions are hidden"),
        ({"objective": {"model": "hcrf"}}, "sums over the labels of all mentions"),
    ],
)
def test_what_the_loss_over_the_data_set_does_not_have_is_refused(section, message):
    with pytest.raises(ConfigError, match=message):
        Config.from_dict({"application": {"name": "relation", **F}, **section})
    if "solver" in section:
        Config.from_dict({"application": {"name": "relation"}, **section})


def test_counts_need_a_loss_of_counts():
    values = {**F, "average": "macro", "decomposition": "counts"}
    with pytest.raises(ConfigError, match="counts needs average: micro"):
        Config.from_dict({"application": {"name": "relation", **values}})


def test_other_costs_of_examples_are_refused():
    app, examples = cases.problem(np.random.default_rng(0), costs=True, **F)
    with pytest.raises(LssvmError, match="costs of their own"):
        train.learn_on(app, examples, configuration(F))


@pytest.mark.parametrize("loss", ["hamming", "f_beta"])
def test_an_application_can_be_sent_to_another_process(loss):
    config = Config.from_dict({"application": {"name": "relation", "loss": loss}})
    again = pickle.loads(pickle.dumps(config.create_application()))
    assert again.options == config.create_application().options
    assert again.not_converged() == {}
