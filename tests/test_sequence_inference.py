"""Inference for label sequences against enumeration: exact to the last bit where sums are."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sequence_cases import Problem

from lssvm.applications.base import Formulation
from lssvm.applications.sequence.examples import packed
from lssvm.applications.sequence.sequence import SequenceLabelling, SequenceOptions
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.errors import LssvmError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle

FORMS = [
    *itertools.product(["hamming", "zero_one"], ["margin", "slack"], [0, 1, 2]),
]
SHAPES = list(itertools.product([1, 2], [False, True]))


def split(problem, flat):
    """Labels of all tokens as one tuple a sequence."""
    edges = itertools.pairwise(problem.examples.offsets)
    return [tuple(flat[a:b].tolist()) for a, b in edges]


@pytest.mark.parametrize(("order", "ends"), SHAPES)
@pytest.mark.parametrize(("loss", "rescaling", "norm"), FORMS)
def test_the_maximum_equals_enumeration(loss, rescaling, norm, order, ends):
    rng = np.random.default_rng([len(loss), len(rescaling), norm, order, ends])
    exact = norm != 2 or loss == "zero_one"
    seen = set()
    for trial in range(200):
        problem = Problem(rng, loss, rescaling, norm, order=order, ends=ends)
        app, examples = problem.app, problem.examples
        seen.add(examples.is_sparse)
        w = problem.weights(rng, trial % 10 == 0)
        found = app.augmented_each(w, examples)
        gradient, margins, value = np.zeros(problem.d), 0.0, 0.0
        for i, y in enumerate(split(problem, found.outputs)):
            expected, best = problem.best(i, w)
            slope, margin = problem.plane(i, expected)
            if exact:
                assert y == expected
                assert (found.values[i], found.losses[i]) == (best, margin)
            else:
                assert sum(problem.plane(i, y)[0] * w) + problem.margin(i, y) == pytest.approx(
                    best, abs=1e-12
                )
                assert found.values[i] == pytest.approx(best, abs=1e-12)
                slope, margin = problem.plane(i, y)
                assert found.losses[i] == margin
            gradient += problem.c[i] * slope
            margins += problem.c[i] * margin
            value += problem.c[i] * best
        plane, upper = app.augmented(w, examples)
        tolerance = 0 if exact else 1e-12
        np.testing.assert_allclose(plane.gradient, gradient, rtol=0, atol=tolerance)
        assert plane.loss == pytest.approx(margins, rel=0, abs=tolerance)
        assert upper == plane.value(w) == pytest.approx(value, rel=0, abs=tolerance)
        np.testing.assert_array_equal(found.uppers, found.values)
    assert seen == {False, True}


@pytest.mark.parametrize("norm", [0, 1])
def test_costs_of_labels_weigh_errors(norm):
    rng = np.random.default_rng(norm)
    for trial in range(200):
        problem = Problem(rng, "hamming", "margin", norm, costly=True)
        w = problem.weights(rng, trial % 10 == 0)
        found = problem.app.augmented_each(w, problem.examples)
        for i, y in enumerate(split(problem, found.outputs)):
            assert (y, found.values[i]) == problem.best(i, w)
            assert found.losses[i] == problem.loss(i, y)


def test_equal_costs_of_labels_scale_the_counted_losses():
    rng = np.random.default_rng(5)
    for rescaling, norm in (("slack", 1), ("margin", 2), ("slack", 2)):
        for _ in range(30):
            problem = Problem(rng, "hamming", rescaling, norm)
            problem.class_costs = [0.5] * problem.L
            names = problem.examples.vocabulary.labels
            options = SequenceOptions(class_costs=dict.fromkeys(names, 0.5))
            app = SequenceLabelling(options, Formulation("ssvm", rescaling, norm))
            w = problem.weights(rng, False)
            found = app.augmented_each(w, problem.examples)
            for i in range(len(problem.y)):
                assert found.values[i] == pytest.approx(problem.best(i, w)[1], abs=1e-12)


@pytest.mark.parametrize(
    ("loss", "rescaling", "norm"),
    [("hamming", "slack", 1), ("hamming", "margin", 2), ("hamming", "slack", 2)],
)
def test_costs_of_labels_that_differ_are_refused_where_they_do_not_fit(loss, rescaling, norm):
    options = SequenceOptions(loss=loss, class_costs={"a": 2.0})
    app = SequenceLabelling(options, Formulation("ssvm", rescaling, norm))
    examples = packed(np.ones((2, 1)), ["a", "b"], [0, 2], Vocabulary(("a", "b"), 1))
    with pytest.raises(LssvmError, match="costs that differ need loss: hamming, rescaling: margin"):
        app.dimension(examples)


@pytest.mark.parametrize(("order", "ends"), SHAPES)
def test_the_best_paths_equal_enumeration(order, ends):
    rng = np.random.default_rng([7, order, ends])
    for trial in range(200):
        problem = Problem(rng, order=order, ends=ends)
        w = problem.weights(rng, trial % 10 == 0)
        top = int(rng.integers(2, 9))
        found = problem.app.predict(w, problem.examples, top)
        first = problem.app.predict(w, problem.examples)
        np.testing.assert_array_equal(first.labels[:, 0], found.labels[:, 0])
        np.testing.assert_array_equal(first.scores[:, 0], found.scores[:, 0])
        for i, (a, b) in enumerate(itertools.pairwise(problem.examples.offsets)):
            outputs = problem.outputs(i)
            scores = problem.phis(i, outputs) @ w
            ranked = np.argsort(-scores, kind="stable")[:top]
            kept = len(ranked)
            np.testing.assert_array_equal(found.scores[i, :kept], scores[ranked])
            assert np.all(found.scores[i, kept:] == -np.inf)
            assert np.all(found.labels[a:b, kept:] == -1)
            for k, place in enumerate(ranked):
                assert tuple(found.labels[a:b, k].tolist()) == outputs[place]


@pytest.mark.parametrize("scale", [0.0, 1.0, 40.0])
@pytest.mark.parametrize(("order", "ends"), SHAPES)
def test_sums_over_all_paths_equal_enumeration(order, ends, scale):
    rng = np.random.default_rng([8, order, ends])
    for _ in range(200):
        problem = Problem(rng, model="crf", order=order, ends=ends)
        app, examples = problem.app, problem.examples
        w = scale * rng.normal(size=problem.d)
        gradient, loss, total, rows = np.zeros(problem.d), 0.0, 0.0, []
        for i, cost in enumerate(problem.c):
            outputs = problem.outputs(i)
            features = problem.phis(i, outputs)
            scores = features @ w
            logz = scores.max() + np.log(np.sum(np.exp(scores - scores.max())))
            p = np.exp(scores - logz)
            gradient += cost * (p @ features)
            total += cost * logz
            loss += cost * (logz - p @ scores)
            rows.append(np.tensordot(p, np.eye(problem.L)[np.array(outputs)], 1))
        plane, upper = app.augmented(w, examples)
        np.testing.assert_allclose(plane.gradient, gradient, rtol=0, atol=1e-10)
        assert plane.loss == pytest.approx(loss, abs=1e-10)
        assert upper == pytest.approx(total, abs=1e-10)
        np.testing.assert_allclose(app.marginals(w, examples), np.vstack(rows), atol=1e-10)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scale", [1e3, 1e5, 1e12])
def test_sums_over_all_paths_hold_at_any_scale(order, scale):
    rng = np.random.default_rng([9, order])
    for _ in range(50):
        problem = Problem(rng, model="crf", order=order, ends=True)
        w = scale * rng.normal(size=problem.d)
        plane, upper = problem.app.augmented(w, problem.examples)
        total = 0.0
        for i, cost in enumerate(problem.c):
            scores = problem.phis(i, problem.outputs(i)) @ w
            total += cost * (scores.max() + np.log(np.sum(np.exp(scores - scores.max()))))
        assert upper == pytest.approx(total, rel=1e-12)
        assert np.isfinite(plane.gradient).all()
        sums = problem.app.marginals(w, problem.examples).sum(axis=1)
        np.testing.assert_allclose(sums, 1.0, atol=max(1e-10, scale * 1e-14))


def large(rng, L=26, width=40, n=30, model="ssvm", **options):
    sizes = rng.integers(1, 15, n)
    names = tuple(f"l{k}" for k in range(L))
    tags = [names[k] for k in rng.integers(0, L, sizes.sum())]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = rng.normal(size=(sizes.sum(), width)) * (rng.random((sizes.sum(), width)) < 0.2)
    app = SequenceLabelling(SequenceOptions(**options), Formulation(model))
    vocabulary = Vocabulary(names, width)
    dense = packed(rows, tags, offsets, vocabulary, costs=rng.random(n))
    return app, dense, dense.with_inputs(sparse.csr_array(rows))


@pytest.mark.parametrize(
    ("L", "order"),
    [*itertools.product([1, 7, 8, 9, 16, 26], [1, 2]), (33, 1), (41, 1), (70, 1)],
)
def test_every_width_of_the_labels_gives_the_best_path_of_a_plain_recursion(L, order):
    rng = np.random.default_rng([L, order])
    app, dense, rows = large(rng, L, n=6, order=order)
    w = rng.integers(-8, 9, app.dimension(dense)) / 8
    rounded = dense.with_inputs(np.rint(8 * dense.dense) / 8)
    for examples in (rounded, rounded.with_inputs(sparse.csr_array(rounded.dense))):
        found = app.predict(w, examples)
        transitions = w[40 * L : 40 * L + L * L].reshape(L, L)
        triples = w[40 * L + L * L :].reshape(L, L, L) if order == 2 else np.zeros((1, L, L))
        unary = rounded.dense @ w[: 40 * L].reshape(40, L)
        for i, (a, b) in enumerate(itertools.pairwise(examples.offsets)):
            best = unary[a] if order == 1 or b - a == 1 else None
            if order == 1:
                for t in range(a + 1, b):
                    best = np.max(best[:, None] + transitions, axis=0) + unary[t]
            elif b - a > 1:
                best = unary[a][:, None] + transitions + unary[a + 1]
                for t in range(a + 2, b):
                    paths = best[:, :, None] + triples + transitions
                    best = np.max(paths, axis=0) + unary[t]
            assert found.scores[i, 0] == np.max(best)
            phi = sum_of(app, examples.take([i]), found.labels[a:b, 0])
            assert phi @ w == np.max(best)
    assert len(rows) == len(dense)


def sum_of(app, example, labels):
    """Φ of one sequence with the given labels, by the kernel that the plain tests have checked."""
    names = example.vocabulary.labels
    given = packed(example.inputs, [names[k] for k in labels], example.offsets, example.vocabulary)
    return app.completed(np.zeros(app.dimension(example)), given).gradient


@pytest.mark.parametrize("model", ["ssvm", "crf"])
@pytest.mark.parametrize("order", [1, 2])
def test_dense_and_sparse_rows_agree(model, order):
    rng = np.random.default_rng(order)
    app, dense, rows = large(rng, 9, model=model, order=order, ends=True)
    w = 0.3 * rng.normal(size=app.dimension(dense))
    (one, _), (other, _) = app.augmented(w, dense), app.augmented(w, rows)
    np.testing.assert_allclose(one.gradient, other.gradient, atol=1e-10)
    assert one.loss == pytest.approx(other.loss)


@pytest.mark.parametrize("model", ["ssvm", "crf"])
def test_blocks_sum_to_the_whole_and_threads_give_the_same_bytes(model):
    rng = np.random.default_rng(3)
    app, dense, rows = large(rng, model=model, n=4000)
    w = rng.normal(size=app.dimension(dense))
    for examples in (dense, rows):
        whole, _ = app.augmented(w, examples)
        planes = []
        for threads in (1, 3):
            with Executor(threads) as executor:
                oracle = DataOracle(app, examples, executor)
                assert len(oracle.blocks) > 1
                planes.append(oracle.augmented(w)[0])
        np.testing.assert_array_equal(planes[0].gradient, planes[1].gradient)
        np.testing.assert_allclose(planes[0].gradient, whole.gradient, atol=1e-9)
        assert planes[0].loss == planes[1].loss == pytest.approx(whole.loss)
        parts = [examples.slice(i, i + 7) for i in range(0, 196, 7)]
        with ThreadPoolExecutor(4) as pool:
            labels = list(pool.map(lambda part: app.predict(w, part).labels, parts))
        np.testing.assert_array_equal(
            np.concatenate(labels), app.predict(w, examples).labels[: len(np.vstack(labels))]
        )


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_by_example_are_those_of_the_sum(rescaling, order):
    rng = np.random.default_rng(4)
    for _ in range(100):
        problem = Problem(rng, "hamming", rescaling, 1, order=order, ends=True)
        app, examples = problem.app, problem.examples
        w = problem.weights(rng, False)
        rows = np.arange(len(examples))
        found, truth = app.augmented_each(w, examples), app.completed_each(w, examples)
        planes = app.gradients(examples, found, rows)
        np.testing.assert_array_equal(problem.c @ planes, app.augmented(w, examples)[0].gradient)
        np.testing.assert_array_equal(found.losses + planes @ w, found.values)
        true = app.gradients(examples, truth, rows)
        np.testing.assert_array_equal(problem.c @ true, app.completed(w, examples).gradient)
        np.testing.assert_array_equal(true @ w, truth.values)
        assert not truth.losses.any()
        chosen = rows[::2]
        part = app.gradients(examples, found, chosen)
        np.testing.assert_array_equal(part.toarray(), planes.toarray()[chosen])


def test_what_two_paths_share_cancels_exactly():
    rng = np.random.default_rng(11)
    app, dense, rows = large(rng, L=4)
    w = np.zeros(app.dimension(dense))
    for examples in (dense, rows):
        all_rows = np.arange(len(examples))
        truth = app.completed_each(w, examples)
        changed = truth.outputs.copy()
        changed[rng.integers(0, len(changed), 20)] = 0
        found = replace(truth, outputs=changed)
        difference = app.gradients(examples, found, all_rows) - app.gradients(
            examples, truth, all_rows
        )
        emissions = difference.toarray()[:, : 40 * 4].reshape(-1, 40, 4)
        shared = 0
        for i, (a, b) in enumerate(itertools.pairwise(examples.offsets)):
            one, other = found.outputs[a:b], truth.outputs[a:b]
            for label in range(4):
                same = np.array_equal(one == label, other == label)
                shared += same
                assert emissions[i, :, label].any() != same
        assert 10 < shared < 4 * len(examples)


def test_a_crf_has_no_planes_by_example_and_no_slack():
    problem = Problem(np.random.default_rng(0), model="crf")
    with pytest.raises(LssvmError, match="model crf has no planes by example"):
        problem.app.augmented_each(np.zeros(problem.d), problem.examples)
    for rescaling, norm in (("slack", 1), ("margin", 2)):
        with pytest.raises(LssvmError, match="model crf has no slack"):
            SequenceLabelling(SequenceOptions(), Formulation("crf", rescaling, norm))


@pytest.mark.parametrize(("loss", "model"), [("zero_one", "ssvm"), ("hamming", "crf")])
def test_costs_of_labels_are_refused_where_errors_are_not_weighed(loss, model):
    options = SequenceOptions(loss=loss, class_costs={"a": 2.0})
    with pytest.raises(LssvmError, match="class_costs: model crf and loss: zero_one do not weigh"):
        SequenceLabelling(options, Formulation(model))


def test_planes_of_a_crf_bound_it_from_below():
    rng = np.random.default_rng(12)
    app, dense, _ = large(rng, L=5, model="crf")
    d = app.dimension(dense)
    plane, _ = app.augmented(rng.normal(size=d), dense)
    for scale in (0.0, 0.1, 1.0, 10.0):
        v = scale * rng.normal(size=d)
        assert app.augmented(v, dense)[1] >= plane.value(v) - 1e-9


def test_more_paths_than_there_may_be_are_refused():
    problem = Problem(np.random.default_rng(0))
    with pytest.raises(LssvmError, match="--top 1001: too many paths; expected at most 1,000"):
        problem.app.predict(np.zeros(problem.d), problem.examples, 1001)
