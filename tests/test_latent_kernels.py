"""Kernels with hidden values: against enumeration, the explicit map and another solver."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sequence_cases import joint_feature
from test_feature_space import _Countdown

from lssvm.applications.base import Maxima
from lssvm.applications.feature_space import rows_of, with_rows
from lssvm.applications.sequence.examples import packed
from lssvm.applications.sequence.latent_sequence import LatentSequenceLabelling
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.config import Config
from lssvm.model import Model
from lssvm.plane import Plane
from lssvm.training.checkpoint import StoppedError
from lssvm.training.session import Saving, classify, learn_on

POLY = {"type": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}
RBF = {"type": "rbf", "gamma": 0.4}
LABELS, STATES = "ab", 2
SIZES = (3, 1, 4, 2, 3, 2)


def config_of(kernel, method="n-slack", substates=STATES, name="latent_sequence"):
    hidden = name == "latent_sequence"
    options = {"name": name, **({"substates": substates} if hidden else {})}
    return Config.from_dict(
        {
            "application": options,
            "kernel": kernel,
            "objective": {"model": "lssvm" if hidden else "ssvm", "C": 0.5},
            "solver": {"method": method, "epsilon": 1e-7},
            "cccp": {"tolerance": 1e-5, "inexactness": 1e-6},
        }
    )


def problem(kernel, dense=True, **settings):
    """Tokens of two labels, each of two kinds that no line separates."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(sum(SIZES), 3))
    tags = [LABELS[int(a * b > 0)] for a, b, _ in x]
    config = config_of(kernel, **settings)
    application = config.create_application()
    rows = x if dense else sparse.csr_array(x * (rng.random(x.shape) < 0.7))
    examples = packed(rows, tags, np.cumsum([0, *SIZES]), Vocabulary(tuple(LABELS), 3))
    if isinstance(application, LatentSequenceLabelling):
        examples = application.marked(examples)
    return config, application, examples


def value(kernel, a, b):
    """A kernel from its definition."""
    if kernel["type"] == "rbf":
        return np.exp(-kernel["gamma"] * np.sum((a - b) ** 2))
    return (kernel["gamma"] * a @ b + kernel["coef0"]) ** kernel["degree"]


def by_definition(model, kernel, examples, C):
    """F from all paths of sub-states, with the kernel's definition; and the best paths' labels."""
    count = len(LABELS) * STATES
    rows = np.asarray(model.space.rows)
    coefficients = model.w[: len(rows) * count].reshape(-1, count)
    transitions = model.w[len(rows) * count :]
    gram = np.array([[value(kernel, a, b) for b in rows] for a in rows])
    total = 0.5 * np.sum(coefficients * (gram @ coefficients)) + 0.5 * transitions @ transitions
    x, found = rows_of(examples), []
    for start, stop in itertools.pairwise(examples.offsets):
        values = np.array([[value(kernel, a, b) for b in rows] for a in x[start:stop]])
        truth = examples.labels[start:stop]
        scores, wrong = [], []
        for path in itertools.product(range(count), repeat=stop - start):
            # The first part of Φ is the rows', scored apart; the rest is the transitions'.
            rest = joint_feature(np.zeros((stop - start, 1)), path, count, 1, False)[count:]
            own = (values @ coefficients)[np.arange(stop - start), path].sum()
            scores.append(own + rest @ transitions)
            wrong.append(np.sum(np.array(path) // STATES != truth))
        scores, wrong = np.array(scores), np.array(wrong)
        total += C * (np.max(scores + wrong) - np.max(scores[wrong == 0]))
        best = np.unravel_index(np.argmax(scores), (count,) * (stop - start))
        found += [int(state) // STATES for state in best]
    return total, found


@pytest.mark.parametrize("kernel", [POLY, RBF], ids=["poly", "rbf"])
def test_the_objective_and_the_labels_are_those_of_the_definition(kernel):
    config, application, examples = problem(kernel)
    model = learn_on(application, examples, config)
    assert model.record["converged"]
    total, labels = by_definition(model, kernel, examples, config.objective.C)
    assert model.record["objective"] == pytest.approx(total, rel=1e-9)
    assert classify(model, examples).labels[:, 0].tolist() == labels
    history = [objective for objective, _ in model.record["restarts"][0]["history"]]
    assert (np.diff(history) <= 1e-9 * np.array(history[:-1])).all()
    assert len(history) > 1


def first_path(examples):
    """Sub-states of the true labels in turn, so that a completion does not depend on weights."""
    tokens = np.arange(len(examples.labels), dtype=np.int32)
    return STATES * examples.labels + tokens % STATES


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
def test_a_kernel_goes_through_the_problems_of_its_explicit_map(monkeypatch, dense):
    """From one first completion, by the dual with a Gram matrix and by a bundle of all weights."""

    def start_each(self, examples, rng):
        zeros = np.zeros(len(examples))
        return Maxima(zeros, zeros, zeros, first_path(examples))

    def start(self, examples, rng):
        every = np.arange(len(examples))
        found = self.gradients(examples, start_each(self, examples, rng), every)
        return Plane(np.asarray(found.sum(axis=0)).ravel(), 0.0)

    def start_apart(self, ask, rng):
        return ask("start", rng)

    monkeypatch.setattr(LatentSequenceLabelling, "start_each", start_each)
    monkeypatch.setattr(LatentSequenceLabelling, "start", start)
    monkeypatch.setattr(LatentSequenceLabelling, "start_apart", start_apart)
    found = []
    for method, explicit in (("n-slack", False), ("bundle", True)):
        config, application, examples = problem(
            {**POLY, "explicit": explicit}, dense, method=method
        )
        model = learn_on(application, examples, config)
        history = [objective for objective, _ in model.record["restarts"][0]["history"]]
        found.append((history, classify(model, examples), model))
    (dual, one, _), (plain, other, _) = found
    count = min(len(dual), len(plain))
    assert count > 1
    np.testing.assert_allclose(dual[:count], plain[:count], rtol=1e-4)
    np.testing.assert_allclose(one.scores, other.scores, atol=0.01)
    assert found[0][2].space.columns == len(LABELS) * STATES


def test_one_substate_is_a_sequence_with_this_kernel():
    models = []
    for name in ("sequence", "latent_sequence"):
        config, application, examples = problem(RBF, name=name, substates=1)
        models.append((learn_on(application, examples, config), examples))
    (plain, x), (latent, marked) = models
    assert latent.record["objective"] == pytest.approx(plain.record["objective"], rel=1e-6)
    shown = [classify(*pair).scores for pair in ((plain, x), (latent, marked))]
    np.testing.assert_allclose(*shown, atol=1e-3)


def test_marks_stay_behind_the_rows_and_are_not_mapped():
    for dense in (True, False):
        _, _, examples = problem(RBF, dense)
        assert rows_of(examples).shape[1] == 3
        other = with_rows(examples, np.ones((len(examples.labels), 5)))
        assert (other.width, other.marked_columns) == (7, 2)
        np.testing.assert_array_equal(other.inputs[:, 5:], np.eye(2)[examples.labels])
        units = with_rows(examples, sparse.csr_array(np.ones((len(examples.labels), 5))))
        np.testing.assert_array_equal(units.inputs.toarray(), other.inputs)


def test_a_run_resumed_between_completions_gives_the_bytes_of_the_whole_one(tmp_path, monkeypatch):
    config, application, examples = problem(RBF)
    record = learn_on(application, examples, config).record
    first = record["restarts"][0]["history"][0][1]  # passes of the first problem
    assert record["passes"] > first
    learn_on(application, examples, config).save(tmp_path / "whole")
    saving = Saving(tmp_path / "checkpoint", every=1)
    monkeypatch.setattr("lssvm.training.checkpoint.stoppable", lambda: _Countdown(first + 1))
    with pytest.raises(StoppedError):
        learn_on(application, examples, config, saving=saving)
    monkeypatch.undo()
    resumed = Saving(tmp_path / "checkpoint", every=1, resume=True)
    learn_on(application, examples, config, saving=resumed).save(tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_saved_model_predicts_the_same_also_tokens_without_labels(tmp_path):
    config, application, examples = problem(RBF)
    model = learn_on(application, examples, config)
    model.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    _, _, plain = problem(RBF, name="sequence")
    unknown = application.marked(replace(plain, labels=np.full_like(plain.labels, -1)))
    expected = classify(model, examples)
    for shown in (classify(again, examples), classify(again, unknown)):
        np.testing.assert_array_equal(shown.labels, expected.labels)
        np.testing.assert_allclose(shown.scores, expected.scores, rtol=1e-12)
