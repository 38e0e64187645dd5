"""Dual coordinate ascent: its kernels against explicit planes, its optimum against others."""

import itertools
import multiprocessing

import numpy as np
import pytest
from scipy import sparse

from lssvm.applications.base import Formulation, Maxima
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.applications.multiclass.multiclass import Multiclass, MulticlassOptions
from lssvm.applications.multiclass.taxonomy import Taxonomy, TaxonomyOptions
from lssvm.applications.sequence.examples import packed
from lssvm.applications.sequence.latent_sequence import (
    LatentSequenceLabelling,
    LatentSequenceOptions,
)
from lssvm.applications.sequence.sequence import SequenceLabelling, SequenceOptions
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.executor import Executor
from lssvm.kernels import _dual_coordinate
from lssvm.oracle import DataOracle
from lssvm.solvers import dual_coordinate, example_planes
from lssvm.solvers.example_planes import UNKNOWN, ExamplePlanes
from lssvm.training import setup
from lssvm.training.cccp import Observer

TREE = {"a": "top", "b": "top", "c": "b", "top": "", "d": ""}


def rows_of(rng, count, width, dense):
    matrix = rng.normal(size=(count, width)) * (rng.random((count, width)) < 0.6)
    return matrix if dense else sparse.csr_array(matrix)


def classes(rng, formulation, dense=True, tree=False, n=30):
    names = ("a", "b", "c", "d")
    if tree:
        options = TaxonomyOptions(taxonomy=TREE)
        application = Taxonomy(options, formulation)
    else:
        application = Multiclass(MulticlassOptions(), formulation)
    width = 5
    application.fix(names, width)
    columns = application.columns_per_row(None)
    labels = rng.integers(4, size=n)
    examples = in_memory(rows_of(rng, n, width, dense), labels, names, columns)
    return application, examples


def sequences(
    rng,
    formulation,
    dense=True,
    order=1,
    ends=False,
    loss="hamming",
    costs=None,
    n=12,
    long=1,
    width=4,
    labels=3,
    attributes=0,
):
    lengths = long * rng.integers(1, 6, size=n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    options = SequenceOptions(
        format="svm_hmm", order=order, ends=ends, loss=loss, class_costs=costs or {}
    )
    application = SequenceLabelling(options, formulation)
    names = tuple("pqrstuvwxy"[:labels])
    tags = [names[k] for k in rng.integers(labels, size=offsets[-1])]
    rows = rows_of(rng, offsets[-1], width, dense)
    if width > 4:
        rows = sparse.csr_array(rows.multiply(rng.random(rows.shape) < 5 / width))
    if attributes:
        rows = sparse.csr_array(1.0 * (rng.random(rows.shape) < attributes / width))
    examples = packed(rows, tags, offsets, Vocabulary(names, width))
    application.dimension(examples)
    return application, examples


SSVM = Formulation("ssvm")
FORMS = {
    "classes": lambda rng: classes(rng, SSVM),
    "classes, sparse": lambda rng: classes(rng, SSVM, dense=False),
    "classes, slack rescaling": lambda rng: classes(rng, Formulation("ssvm", "slack", 1)),
    "classes, quadratic": lambda rng: classes(rng, Formulation("ssvm", "margin", 2)),
    "tree": lambda rng: classes(rng, SSVM, tree=True),
    "tree, sparse, slack rescaling": lambda rng: classes(
        rng, Formulation("ssvm", "slack", 1), dense=False, tree=True
    ),
    "tree, quadratic, slack rescaling": lambda rng: classes(
        rng, Formulation("ssvm", "slack", 2), tree=True
    ),
    "sequences": lambda rng: sequences(rng, SSVM),
    "sequences, sparse": lambda rng: sequences(rng, SSVM, dense=False),
    "sequences, sparse, nine labels": lambda rng: sequences(rng, SSVM, dense=False, labels=9),
    "sequences, few attributes": lambda rng: sequences(rng, SSVM, dense=False, attributes=2),
    "sequences, attributes": lambda rng: sequences(
        rng, SSVM, dense=False, width=30, n=6, long=2, attributes=11
    ),
    "sequences, ends": lambda rng: sequences(rng, SSVM, ends=True, costs={"p": 3.0}),
    "sequences, order 2": lambda rng: sequences(rng, SSVM, order=2, dense=False, ends=True),
    "sequences, long": lambda rng: sequences(rng, SSVM, n=3, long=12),
    "sequences, long, sparse, order 2": lambda rng: sequences(
        rng, SSVM, order=2, dense=False, ends=True, n=3, long=8
    ),
    "sequences, zero-one": lambda rng: sequences(rng, SSVM, loss="zero_one"),
    "sequences, slack rescaling": lambda rng: sequences(rng, Formulation("ssvm", "slack", 1)),
    "sequences, order 2, quadratic": lambda rng: sequences(
        rng, Formulation("ssvm", "margin", 2), order=2
    ),
}

# The gap of the method of n slacks, whose quadratic programs take long for small ones.
OTHER_GAP = 1e-4

# So many outputs are kept here that small gaps take long.
LONG = {
    "sequences, long, many features": lambda rng: sequences(
        rng, SSVM, dense=False, ends=True, n=3, long=7, width=100
    ),
}


def solved(application, examples, method, formulation, *, C=0.7, epsilon=1e-7, threads=1):
    """The run of a solver to its gap."""
    config = Config.from_dict(
        {
            "application": {"name": "multiclass"},
            "objective": {"model": "ssvm", "C": C, "slack_norm": formulation.slack_norm},
            "solver": {"method": method, "epsilon": epsilon},
        }
    )
    with Executor(threads) as executor:
        oracle = DataOracle(application, examples, executor)
        run = setup.new_run(oracle, config, 0, None)
        run.proceed(oracle, setup.rules_of(config, len(examples), hidden=False), Observer())
    return run


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_its_optimum_is_that_of_the_n_slack_method(form, seed):
    application, examples = FORMS[form](np.random.default_rng(seed))
    costs = np.random.default_rng(seed).uniform(0.5, 2.0, size=len(examples))
    costs[0] = 0.0
    object.__setattr__(examples, "costs", costs)
    mine = solved(application, examples, "dual-coordinate", application.formulation)
    other = solved(application, examples, "n-slack", application.formulation, epsilon=OTHER_GAP)
    assert mine.gap <= 1e-7
    assert mine.lower <= other.objective * (1 + 1e-12)
    assert other.lower <= mine.objective * (1 + 1e-12)
    # ½‖w‖² makes P strongly convex: ½‖w − w*‖² is at most the gap.
    near = sum(np.sqrt(2.0 * (run.objective - run.lower)) for run in (mine, other))
    assert np.linalg.norm(mine.solver.w - other.solver.w) <= near * (1 + 1e-6)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 31, 33, 71])
def test_scores_of_many_columns_are_products(count, dense):
    """Vectors of columns overlap where their number is no multiple of a vector's length."""
    rng = np.random.default_rng(count)
    application = Multiclass(MulticlassOptions(bias=0.0), SSVM)
    application.fix(tuple(f"{k:02}" for k in range(count)), 6)
    labels, rows = rng.integers(count, size=20), rows_of(rng, 20, 6, dense)
    names = tuple(f"{k:02}" for k in range(count))
    examples = in_memory(rows, labels, names, application.columns_per_row(None))
    oracle = application.example_oracle(examples)
    w, out = rng.normal(size=6 * count), np.empty((2, 20))
    planes = ExamplePlanes(oracle.places, oracle.size, norm=1, slack=False, exact=True)
    _dual_coordinate.heights(oracle.capsule, planes, oracle.truth, oracle.load(w), 0, 20, out)
    scores = rows @ w.reshape(6, count)
    own = scores[np.arange(20), labels]
    highest = np.max(scores + (np.arange(count) != labels[:, None]), axis=1)
    np.testing.assert_allclose(out[1], own, atol=1e-12)
    np.testing.assert_allclose(out[0], highest - own, atol=1e-12)


MANY = tuple(f"{k:02}" for k in range(41))
FOREST = {name: f"group {int(name) // 6}" for name in MANY} | {
    f"group {k}": "" if k else "group 1" for k in range(7)
}


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("tree", [True, False])
def test_with_many_classes_the_optimum_is_that_of_the_n_slack_method(tree, dense):
    rng = np.random.default_rng(12)
    options = TaxonomyOptions(taxonomy=FOREST) if tree else MulticlassOptions()
    application = (Taxonomy if tree else Multiclass)(options, SSVM)
    application.fix(MANY, 7)
    columns = application.columns_per_row(None)
    labels = rng.integers(len(MANY), size=60)
    examples = in_memory(rows_of(rng, 60, 7, dense), labels, MANY, columns)
    mine = solved(application, examples, "dual-coordinate", SSVM, epsilon=1e-6)
    other = solved(application, examples, "n-slack", SSVM, epsilon=1e-6)
    assert mine.gap <= 1e-6
    assert mine.lower <= other.objective * (1 + 1e-12)
    assert other.lower <= mine.objective * (1 + 1e-12)
    planes, total = mine.solver.planes, np.zeros(mine.solver.dimension)
    for _, differences, _, alpha in kept_planes(application, examples, planes):
        total -= differences.T @ alpha
    np.testing.assert_allclose(planes.w, total, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_compiled_planes_are_those_of_the_application(form):
    rng = np.random.default_rng(5)
    application, examples = FORMS[form](rng)
    oracle = application.example_oracle(examples)
    d, n = application.dimension(examples), len(examples)
    w = rng.normal(size=d)
    np.testing.assert_array_equal(oracle.unload(oracle.load(w)), w)
    planes = ExamplePlanes(oracle.places, oracle.size, norm=1, slack=oracle.slack, exact=False)
    out = np.empty((2, n))
    _dual_coordinate.heights(oracle.capsule, planes, oracle.truth, oracle.load(w), 0, n, out)
    heights, scores = out
    truth = application.completed_each(w, examples)
    np.testing.assert_allclose(scores, truth.values, atol=1e-12)
    found = application.augmented_each(w, examples)
    np.testing.assert_allclose(heights, found.values - truth.values, atol=1e-12)


BATCHED = [
    "sequences",
    "sequences, attributes",
    "sequences, ends",
    "sequences, long, sparse, order 2",
    "sequences, slack rescaling",
    "sequences, order 2, quadratic",
    "tree, sparse, slack rescaling",
    "tree, quadratic, slack rescaling",
]


@pytest.fixture
def batches(monkeypatch):
    """However few and small the examples are, they are visited in batches, by all threads."""
    monkeypatch.setattr(dual_coordinate, "BATCH_WORK", 0)
    monkeypatch.setattr(dual_coordinate, "BATCH_SHARE", 0)
    monkeypatch.setattr(dual_coordinate, "TEAM_WORK", 0)
    monkeypatch.setattr(dual_coordinate, "ALONE", 0)


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("form", BATCHED)
def test_in_batches_the_optimum_is_that_of_the_n_slack_method(form):
    application, examples = FORMS[form](np.random.default_rng(4))
    mine = solved(application, examples, "dual-coordinate", application.formulation)
    other = solved(application, examples, "n-slack", application.formulation, epsilon=OTHER_GAP)
    assert mine.solver.planes.batch == dual_coordinate.BATCH
    assert mine.gap <= 1e-7
    assert mine.lower <= other.objective * (1 + 1e-12)
    assert other.lower <= mine.objective * (1 + 1e-12)


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("form", BATCHED)
def test_in_batches_pauses_and_threads_change_no_bit(form, monkeypatch):
    found = set()
    for seconds, threads in ((0.05, 1), (0.0, 1), (0.05, 2), (0.0, 3), (0.05, 3)):
        monkeypatch.setattr(dual_coordinate, "SECONDS", seconds)
        application, examples = FORMS[form](np.random.default_rng(8))
        run = solved(
            application, examples, "dual-coordinate", application.formulation, threads=threads
        )
        found.add((run.solver.w.tobytes(), run.objective, run.lower, round(run.passes, 6)))
    assert len(found) == 1


def dual_value(planes, w):
    """D of the multipliers, w as the kernel keeps it being theirs."""
    live = planes.planes()
    alpha = planes.alpha[live]
    owner = np.repeat(np.arange(len(planes.counts)), planes.counts)
    sums = np.bincount(owner, alpha, minlength=len(planes.counts))
    value = float(alpha @ planes.losses[live]) - 0.5 * float(w @ w)
    return value - (0.5 * float(sums @ (sums / planes.limits)) if planes.norm == 2 else 0.0)


@pytest.mark.parametrize("form", BATCHED)
def test_no_batch_lowers_the_dual_though_its_examples_are_all_alike(form):
    application, examples = FORMS[form](np.random.default_rng(3))
    kernel = application.example_oracle(examples.take(np.zeros(8, dtype=int)))
    planes = ExamplePlanes(
        kernel.places,
        kernel.size,
        norm=application.formulation.slack_norm,
        slack=kernel.slack,
        exact=False,
    )
    planes.limits, planes.truth = np.full(8, 0.7), kernel.truth
    planes.hold(8)
    order, before = np.arange(8, dtype=np.int32), 0.0
    for cached in (False, True, False, True, False, True):
        status = _dual_coordinate.FULL
        while status == _dual_coordinate.FULL:
            status, *_ = _dual_coordinate.epoch(kernel.capsule, planes, order, 0, 0.0, 60.0, cached)
            if status == _dual_coordinate.FULL:
                planes.grow()
        value = dual_value(planes, kernel.unload(planes.w))
        assert value >= before - 1e-12
        before = value
    assert before > 0.0


def kept_planes(application, examples, planes):
    """The k-th plane of every example that has one: examples, s δ by the application, L and α."""
    every = np.arange(len(examples))
    truth = application.completed_each(np.zeros(application.dimension(examples)), examples)
    base = application.gradients(examples, truth, every)
    for k in range(int(planes.counts.max())):
        outputs, losses, alpha = truth.outputs.copy(), np.zeros(len(every)), np.zeros(len(every))
        own = np.flatnonzero(planes.counts > k)
        for i in own:
            size = planes.places[i + 1] - planes.places[i]
            first = planes.first_output[i] + k * size
            outputs[planes.places[i] : planes.places[i + 1]] = planes.outputs[first : first + size]
            losses[i] = planes.losses[planes.first[i] + k]
            alpha[i] = planes.alpha[planes.first[i] + k]
        kept = Maxima(np.zeros(len(every)), losses, np.zeros(len(every)), outputs)
        # The gradients of slack-rescaled planes hold L already.
        yield own, application.gradients(examples, kept, every) - base, losses, alpha


@pytest.mark.parametrize("form", FORMS)
def test_w_is_the_sum_of_the_planes_that_are_kept(form):
    application, examples = FORMS[form](np.random.default_rng(6))
    run = solved(application, examples, "dual-coordinate", application.formulation, epsilon=1e-3)
    planes, oracle = run.solver.planes, application.example_oracle(examples)
    total, gained, sums = np.zeros(run.solver.dimension), 0.0, np.zeros(len(examples))
    for _, differences, losses, alpha in kept_planes(application, examples, planes):
        total -= differences.T @ alpha
        gained += float(alpha @ losses)
        sums += alpha
    np.testing.assert_allclose(oracle.unload(planes.w), total, atol=1e-10)
    if application.formulation.slack_norm == 1:
        assert np.all(sums <= planes.limits * (1 + 1e-9))
        lower = gained - 0.5 * float(total @ total)
        assert run.solver.lower - 1e-9 <= lower <= run.solver.objective * (1 + 1e-12)


@pytest.mark.parametrize("at_once", [1, 7])
def test_outputs_are_copied_in_any_parts(monkeypatch, at_once):
    def state():
        application, examples = LONG["sequences, long, many features"](np.random.default_rng(7))
        run = solved(application, examples, "dual-coordinate", SSVM, epsilon=1e-2)
        planes, other = run.solver.planes, application.example_oracle(examples)
        found = planes.state()
        assert found["outputs"].tolist() == planes.outputs[planes.output_places()].tolist()
        again = ExamplePlanes(other.places, other.size, norm=1, slack=False, exact=False)
        again.restore(found)
        assert again.outputs[again.output_places()].tolist() == found["outputs"].tolist()
        return found

    expected = state()
    monkeypatch.setattr(example_planes, "AT_ONCE", at_once)
    for name, found in state().items():
        np.testing.assert_array_equal(found, expected[name])


def test_products_stay_known_when_the_arenas_grow(monkeypatch):
    monkeypatch.setattr(example_planes, "AT_ONCE", 50)
    application, examples = LONG["sequences, long, many features"](np.random.default_rng(7))
    planes = solved(application, examples, "dual-coordinate", SSVM, epsilon=1e-2).solver.planes

    def blocks():
        for first, room, count in zip(
            planes.first_product, planes.rooms, planes.counts, strict=True
        ):
            block = planes.products[first : first + room * room].reshape(room, room)
            yield block[:count, :count].copy()

    before, arena = list(blocks()), len(planes.products)
    assert sum(int(np.sum(block != UNKNOWN)) for block in before) > 0
    planes.rooms[-1] *= 2  # as if its block had moved, so that others lie elsewhere than before
    planes.first_product[-1] = arena
    planes.products = np.append(planes.products, np.full(planes.rooms[-1] ** 2, UNKNOWN))
    planes.grow()
    for old, new in zip(before[:-1], list(blocks())[:-1], strict=True):
        np.testing.assert_array_equal(old, new)
    assert np.all(list(blocks())[-1] == UNKNOWN)
    planes.tighten()
    assert all(np.all(block == UNKNOWN) for block in blocks())


@pytest.mark.parametrize("form", FORMS | LONG)
def test_products_are_those_of_the_planes_and_symmetric_to_the_last_bit(form):
    application, examples = (FORMS | LONG)[form](np.random.default_rng(7))
    run = solved(application, examples, "dual-coordinate", application.formulation, epsilon=1e-2)
    planes, known = run.solver.planes, 0
    if planes.exact:
        assert len(planes.products) == 1
        return
    rows = [each[1].toarray() for each in kept_planes(application, examples, planes)]
    for i in np.flatnonzero(planes.counts):
        count, room, first = planes.counts[i], planes.rooms[i], planes.first_product[i]
        block = planes.products[first : first + room * room].reshape(room, room)[:count, :count]
        np.testing.assert_array_equal(block, block.T)
        own = np.array([row[i] for row in rows[:count]]).reshape(count, -1)
        found = block != UNKNOWN
        np.testing.assert_allclose(block[found], (own @ own.T)[found], atol=1e-10)
        known += int(found.sum())
    assert known > 0


@pytest.mark.parametrize("form", ["classes", "tree", "sequences, order 2", "sequences"])
def test_pauses_and_threads_change_no_bit(form, monkeypatch):
    found = []
    for seconds, threads in ((0.05, 1), (0.0, 1), (0.05, 2)):
        monkeypatch.setattr(dual_coordinate, "SECONDS", seconds)
        application, examples = FORMS[form](np.random.default_rng(8))
        run = solved(
            application, examples, "dual-coordinate", application.formulation, threads=threads
        )
        found.append((run.solver.w.tobytes(), run.objective, run.lower))
    assert found[0] == found[1] == found[2]


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("form", [form for form in BATCHED if "long" not in form])
def test_in_batches_a_run_goes_on_as_if_it_had_not_been_stopped(form, monkeypatch):
    test_a_run_goes_on_from_its_state_as_if_it_had_not_been_stopped(form, monkeypatch)


@pytest.mark.parametrize("form", ["classes", "tree, quadratic, slack rescaling", "sequences"])
def test_a_run_goes_on_from_its_state_as_if_it_had_not_been_stopped(form, monkeypatch):
    monkeypatch.setattr(dual_coordinate, "SECONDS", 0.0)
    application, examples = FORMS[form](np.random.default_rng(9))
    whole = solved(application, examples, "dual-coordinate", application.formulation)
    config = Config.from_dict(
        {
            "application": {"name": "multiclass"},
            "objective": {
                "model": "ssvm",
                "C": 0.7,
                "slack_norm": application.formulation.slack_norm,
            },
            "solver": {"method": "dual-coordinate", "epsilon": 1e-7},
        }
    )
    oracle = DataOracle(application, examples, Executor(1))
    rules = setup.rules_of(config, len(examples), hidden=False)

    class StopError(Exception):
        pass

    run = setup.new_run(oracle, config, 0, None)
    for stop in itertools.count(3, 7):

        def between(countdown=iter(range(stop))):  # noqa: B008
            if next(countdown, None) is None:
                raise StopError

        try:
            run.proceed(oracle, rules, Observer(), between=between)
            break
        except StopError:
            values, arrays = run.solver.state()
            arrays = {name: array.copy() for name, array in arrays.items()}
            solver = setup.new_solver(application, examples, config)
            solver.restore(values, arrays)
            run.solver = solver
    assert run.solver.w.tobytes() == whole.solver.w.tobytes()
    assert run.lower == whole.lower


def test_an_order_is_drawn_evenly():
    state, order = np.array([3], dtype=np.uint64), np.arange(4, dtype=np.int32)
    counts = np.zeros((4, 4))
    for _ in range(8000):
        _dual_coordinate.shuffle(order, state)
        counts[np.arange(4), order] += 1
    assert sorted(order) == [0, 1, 2, 3]
    assert np.all(np.abs(counts / 2000 - 1) < 0.1)


def hidden(rng, dense, order=1, missing=True, n=10):
    """Sequences whose labels have two sub-states each; some labels are missing."""
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, size=n))])
    options = LatentSequenceOptions(
        format="svm_hmm", order=order, ends=True, substates=2, class_costs={"p": 2.0}
    )
    application = LatentSequenceLabelling(options, Formulation("lssvm"))
    names = ("p", "q", "r")
    tags = [names[k] for k in rng.integers(3, size=offsets[-1])]
    for t in np.flatnonzero(rng.random(len(tags)) < 0.2 * missing):
        tags[t] = None
    rows = rows_of(rng, offsets[-1], 4, dense)
    return application, application.marked(packed(rows, tags, offsets, Vocabulary(names, 4)))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dense", [True, False])
def test_hidden_states_are_completed_as_the_application_completes_them(dense, order):
    rng = np.random.default_rng(11)
    application, examples = hidden(rng, dense, order)
    oracle, n = application.example_oracle(examples), len(examples)
    w = rng.normal(size=application.dimension(examples))
    planes = ExamplePlanes(oracle.places, oracle.size, norm=1, slack=False, exact=False)
    truth, scores, out = oracle.truth.copy(), np.empty(n), np.empty((2, n))
    inner = oracle.load(w)
    np.testing.assert_array_equal(oracle.unload(inner), w)
    _dual_coordinate.completed(oracle.capsule, planes, inner, 0, n, truth, scores)
    completion = application.completed_each(w, examples)
    np.testing.assert_array_equal(truth, completion.outputs)
    np.testing.assert_allclose(scores, completion.values, atol=1e-12)
    _dual_coordinate.heights(oracle.capsule, planes, truth, inner, 0, n, out)
    found = application.augmented_each(w, examples)
    np.testing.assert_allclose(out[0] + out[1], found.values, atol=1e-12)
    gradients = application.gradients(examples, found, np.arange(n))
    np.testing.assert_allclose(gradients @ w + found.losses, found.values, atol=1e-12)
    plane, upper = application.augmented(w, examples)
    assert upper == pytest.approx(float(found.values.sum()))
    np.testing.assert_allclose(gradients.sum(axis=0), plane.gradient, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dense", [True, False])
def test_with_hidden_states_the_objective_falls_and_each_convex_problem_is_certified(dense, seed):
    rng = np.random.default_rng(seed)
    application, examples = hidden(rng, dense)
    config = Config.from_dict(
        {
            "application": {"name": "latent_sequence"},
            "objective": {"model": "lssvm", "C": 0.7},
            "solver": {"method": "dual-coordinate", "epsilon": 1e-5},
        }
    )
    oracle = DataOracle(application, examples, Executor(1))
    rules = setup.rules_of(config, len(examples), hidden=True)
    run = setup.new_run(oracle, config, 0, None)
    run.proceed(oracle, rules, Observer())
    w, C = run.solver.w, 0.7

    def objective(w, completed):
        return 0.5 * float(w @ w) + C * (application.augmented(w, examples)[1] - completed)

    assert run.objective == pytest.approx(
        objective(w, application.completed(w, examples).value(w)), rel=1e-10
    )
    assert run.converged
    falls = [value for value, _ in run.history]
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(falls))
    # The lower bound holds everywhere, for the completion that the last problem had.
    completion = application.completed(w, examples)
    for scale in (0.0, 1e-3, 1e-2, 0.1, 1.0):
        other = w + scale * rng.normal(size=len(w))
        assert objective(other, completion.value(other)) >= run.objective - 1e-4 * run.objective


def visited_in_a_grid(seeds):
    """Epochs over rows that stand on a grid, so that many scores are equal but for rounding."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        names = ("a", "b", "c", "d", "e")[: int(rng.integers(2, 6))]
        application = Multiclass(MulticlassOptions(), SSVM)
        application.fix(names, 6)
        grid = np.column_stack([rng.integers(-2, 3, size=(6, 5)) / 4.0, np.ones(6)])
        labels = rng.integers(len(names), size=24)
        examples = in_memory(grid[rng.integers(6, size=24)], labels, names, len(names))
        oracle = application.example_oracle(examples)
        planes = ExamplePlanes(oracle.places, oracle.size, norm=1, slack=False, exact=True)
        planes.limits, planes.truth = np.ones(24), oracle.truth
        order, place = np.arange(24, dtype=np.int32), 0
        for _ in range(30):
            status, place = _dual_coordinate.FULL, 0
            while status != _dual_coordinate.DONE:
                status, place, *_ = _dual_coordinate.epoch(
                    oracle.capsule, planes, order, place, 0.0, 60.0, False
                )
                if status == _dual_coordinate.FULL:
                    planes.grow()


def test_the_steps_over_all_classes_end_whatever_is_rounded():
    """A visit has no other way out, so another process makes it."""
    process = multiprocessing.get_context("spawn").Process(
        target=visited_in_a_grid, args=(range(20),)
    )
    process.start()
    process.join(60)
    ended = process.exitcode
    process.kill()
    assert ended == 0


def test_planes_that_take_too_much_memory_end_the_run_and_are_not_restored():
    application, examples = FORMS["sequences"](np.random.default_rng(0))
    run = solved(application, examples, "dual-coordinate", application.formulation, epsilon=1e-2)
    values, arrays = run.solver.state()
    config = Config.from_dict(
        {
            "application": {"name": "multiclass"},
            "objective": {"C": 0.7},
            "solver": {"method": "dual-coordinate", "epsilon": 1e-7, "max_cache_mb": 0.01},
        }
    )
    oracle = DataOracle(application, examples, Executor(1))
    small = setup.new_run(oracle, config, 0, None)
    with pytest.raises(LssvmError, match=r"the planes of 12 examples take .* solver.max_cache_mb"):
        small.proceed(oracle, setup.rules_of(config, len(examples), hidden=False), Observer())
    solver = setup.new_solver(application, examples, config)
    solver.max_bytes = 1e9
    solver.restore(values, arrays)
    many = {**arrays, "planes_rooms": np.full(len(examples), 2**24, dtype=np.int32)}
    with pytest.raises(LssvmError, match="max_cache_mb"):
        setup.new_solver(application, examples, config).restore(values, many)
