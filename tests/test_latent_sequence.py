"""Label sequences with hidden states against enumeration: values, gradients, training."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from mrf_cases import shares, softmax_value
from scipy import sparse
from scipy.optimize import approx_fprime
from sequence_cases import joint_feature

from lssvm.applications.base import Formulation
from lssvm.applications.sequence.examples import packed
from lssvm.applications.sequence.latent_sequence import (
    LatentSequenceLabelling,
    LatentSequenceOptions,
)
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.cli import classify, learn
from lssvm.config import Config
from lssvm.errors import ConfigError, LssvmError
from lssvm.training.session import learn_on

DATA = Path(__file__).parent.parent / "data" / "sequence"
FORMS = {
    "lssvm": (None, None),
    "hcrf": (None, None),
    "loss_augmented_likelihood": (None, None),
    "epsilon": (0.25, 0.25),
}


class Problem:
    """A few short sequences, numbers multiples of 1/8, with an application for them."""

    def __init__(self, rng, model, **options):
        self.L, self.S = int(rng.integers(1, 3)), int(rng.integers(1, 3))
        self.width, n = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        sizes = [int(rng.integers(1, 5)) for _ in range(n)]
        self.x = [rng.integers(-4, 5, (size, self.width)) / 8 for size in sizes]
        self.y = [tuple(rng.integers(0, self.L, size).tolist()) for size in sizes]
        self.c = rng.integers(1, 9, n) / 8
        self.order, self.ends = int(rng.integers(1, 3)), bool(rng.integers(2))
        names = tuple("ab"[: self.L])
        self.charges = [float(c) for c in rng.integers(1, 17, self.L) / 8]
        self.app = LatentSequenceLabelling(
            LatentSequenceOptions(
                substates=self.S,
                order=self.order,
                ends=self.ends,
                class_costs=dict(zip(names, self.charges, strict=True)),
                **options,
            ),
            Formulation(model, "margin", 1, *FORMS[model]),
        )
        rows = np.vstack(self.x)
        self.examples = self.app.marked(
            packed(
                sparse.csr_array(rows) if rng.random() < 0.5 else rows,
                [names[label] for y in self.y for label in y],
                np.cumsum([0, *sizes]),
                Vocabulary(names, self.width),
                costs=self.c,
            )
        )
        self.d = self.app.dimension(self.examples)

    def paths(self, i):
        """Every path of sub-states; lowest last first, then lowest before it, and so on."""
        length = len(self.y[i])
        return [h[::-1] for h in itertools.product(range(self.L * self.S), repeat=length)]

    def labels(self, path):
        return tuple(state // self.S for state in path)

    def phi(self, i, path):
        return joint_feature(self.x[i], path, self.L * self.S, self.order, self.ends)

    def loss(self, i, path):
        pairs = zip(self.y[i], self.labels(path), strict=True)
        return float(sum(self.charges[a] for a, b in pairs if a != b))

    def expected(self, w, i, paths, charged):
        """Value, E[Φ] and the probabilities of paths."""
        features = np.array([self.phi(i, path) for path in paths])
        losses = np.array([self.loss(i, path) for path in paths])
        scores = features @ w + losses * charged
        p = shares(scores, self.app.epsilon)
        return softmax_value(scores, self.app.epsilon), p @ features, p

    def summed(self, w, truth):
        value, gradient = 0.0, np.zeros(self.d)
        for i, cost in enumerate(self.c):
            paths = [p for p in self.paths(i) if not truth or self.labels(p) == self.y[i]]
            charged = not truth and self.app.formulation.charged
            own, slope, _ = self.expected(w, i, paths, charged)
            value, gradient = value + cost * own, gradient + cost * slope
        return value, gradient


@pytest.mark.parametrize("model", FORMS)
def test_values_gradients_and_predictions_equal_enumeration(model):
    rng = np.random.default_rng(len(model))
    for trial in range(200):
        problem = Problem(rng, model)
        w = rng.integers(-8, 9, problem.d) / 8 * (trial > 4)
        plane, upper = problem.app.augmented(w, problem.examples)
        completion = problem.app.completed(w, problem.examples)
        value, gradient = problem.summed(w, truth=False)
        truth, slope = problem.summed(w, truth=True)
        if model == "lssvm":
            assert upper == value
            assert completion.value(w) == truth
            assert completion.loss == 0.0
        assert upper == plane.value(w) == pytest.approx(value, abs=1e-10)
        assert completion.value(w) == pytest.approx(truth, abs=1e-10)
        np.testing.assert_allclose(plane.gradient, gradient, rtol=0, atol=1e-10)
        np.testing.assert_allclose(completion.gradient, slope, rtol=0, atol=1e-10)
        found = problem.app.predict(w, problem.examples)
        for i, y in enumerate(problem.y):
            paths = problem.paths(i)
            own, _, p = problem.expected(w, i, paths, charged=False)
            start = problem.examples.offsets[i]
            labels = found.labels[start : start + len(y), 0]
            assert found.scores[i, 0] == pytest.approx(own, abs=1e-10)
            if model == "lssvm":
                assert tuple(labels) == problem.labels(paths[int(np.argmax(p))])
                continue
            marginals = np.zeros((len(y), problem.L))
            for share, path in zip(p, paths, strict=True):
                marginals[np.arange(len(y)), problem.labels(path)] += share
            best = marginals.max(axis=1)
            assert np.all(marginals[np.arange(len(y)), labels] >= best - 1e-10)


@pytest.mark.parametrize("model", FORMS)
def test_gradients_equal_differences(model):
    rng = np.random.default_rng(3)
    for _ in range(8):
        problem = Problem(rng, model)
        w = rng.normal(size=problem.d)
        plane, _ = problem.app.augmented(w, problem.examples)
        slopes = approx_fprime(w, lambda v, p=problem: p.app.augmented(v, p.examples)[1], 1e-6)
        np.testing.assert_allclose(plane.gradient, slopes, atol=2e-4)
        completion = problem.app.completed(w, problem.examples)
        slopes = approx_fprime(
            w, lambda v, p=problem: p.app.completed(v, p.examples).value(v), 1e-6
        )
        np.testing.assert_allclose(completion.gradient, slopes, atol=2e-4)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("model", ["hcrf", "loss_augmented_likelihood", "epsilon"])
def test_sums_hold_at_any_scale_of_the_weights(model, scale):
    rng = np.random.default_rng(4)
    for _ in range(30):
        problem = Problem(rng, model)
        w = scale * rng.normal(size=problem.d)
        plane, upper = problem.app.augmented(w, problem.examples)
        assert upper == pytest.approx(problem.summed(w, truth=False)[0], rel=1e-10)
        completion = problem.app.completed(w, problem.examples)
        assert completion.value(w) == pytest.approx(problem.summed(w, truth=True)[0], rel=1e-10)
        assert np.all(np.isfinite(plane.gradient))
        assert np.all(np.isfinite(completion.gradient))


def config(model, **application):
    objective = {"model": model, "C": 0.1}
    if model == "epsilon":
        objective |= {"epsilon_y": 0.5, "epsilon_h": 0.5}
    values = {
        "application": {
            "name": "latent_sequence",
            "columns": ["word", "pos", "label"],
            **application,
        },
        "objective": objective,
        "data": {"train": "train.conll", "test": "test.conll"},
        "solver": {"epsilon": 0.01},
    }
    return Config.from_dict(values, base=DATA)


@pytest.mark.parametrize("model", FORMS)
def test_it_learns_to_a_certified_gap(model):
    settings = config(model, min_count=2)
    app = settings.create_application()
    examples = app.read(settings.sources("train")).slice(0, 8)
    found = learn_on(app, examples, settings)
    assert found.record["certified"]
    assert found.record["gap"] <= 0.01
    objectives = [value for value, _ in found.record["restarts"][0]["history"]]
    assert objectives == sorted(objectives, reverse=True)
    assert len(found.w) == len(app.feature_names())


def test_one_substate_is_the_conditional_random_field():
    settings = config("hcrf", substates=1, min_count=2)
    app = settings.create_application()
    examples = app.read(settings.sources("train")).slice(0, 8)
    latent = learn_on(app, examples, settings)
    values = {
        "application": {"name": "sequence", "columns": ["word", "pos", "label"], "min_count": 2},
        "objective": {"model": "crf", "C": 0.1},
        "data": {"train": "train.conll"},
        "solver": {"epsilon": 0.01},
    }
    settings = Config.from_dict(values, base=DATA)
    app = settings.create_application()
    plain = learn_on(app, app.read(settings.sources("train")).slice(0, 8), settings)
    assert latent.record["objective"] == pytest.approx(plain.record["objective"], rel=0.02)


def test_substates_tell_kinds_of_tokens_apart_that_one_weight_cannot():
    # The label of a token is whether it differs from the one before: hidden states remember it.
    rng = np.random.default_rng(0)
    rows, tags, offsets = [], [], [0]
    for _ in range(60):
        bits = rng.integers(0, 2, 12)
        rows += [[1.0, 2.0 * bit - 1.0] for bit in bits]
        tags += ["same" if t and bits[t] == bits[t - 1] else "other" for t in range(12)]
        offsets.append(len(rows))
    errors = []
    for count in (1, 2):
        values = {
            "application": {
                "name": "latent_sequence",
                "substates": count,
                "initialisation_scale": 0.5,
            },
            "objective": {"model": "hcrf", "C": 100.0},
            "solver": {"method": "lbfgs", "epsilon": 0.01},
        }
        settings = Config.from_dict(values)
        app = settings.create_application()
        vocabulary = Vocabulary(("other", "same"), 2)
        examples = app.marked(packed(np.array(rows), tags, np.array(offsets), vocabulary))
        model = learn_on(app, examples, settings)
        errors.append(app.score(examples, app.predict(model.w, examples))["error"])
    assert errors[1] < 0.5 * errors[0]


def test_names_of_weights_say_the_substate():
    problem = Problem(np.random.default_rng(5), "hcrf")
    names = list(problem.app.feature_names())
    assert len(names) == problem.d
    assert names[0] == "feature 1 : a/1"


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ConfigError, match=r"has no model 'mssvm'.*known: epsilon, hcrf, loss_aug"):
        config("mssvm")
    options = LatentSequenceOptions()
    with pytest.raises(LssvmError, match=r"epsilon_y 0\.5 and epsilon_h 1 differ; expected equal"):
        LatentSequenceLabelling(options, Formulation("epsilon", "margin", 1, 0.5, 1.0))
    problem = Problem(np.random.default_rng(6), "hcrf")
    with pytest.raises(LssvmError, match="--top 2: application 'latent_sequence' finds the best"):
        problem.app.predict(np.zeros(problem.d), problem.examples, 2)


def test_the_commands_train_save_and_predict(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(
        "application: {name: latent_sequence, min_count: 2, columns: [word, pos, label]}\n"
        "objective: {model: hcrf, C: 0.1}\n"
        "solver: {epsilon: 0.05}\n"
        f"data: {{train: {DATA}/train.conll, test: {DATA}/test.conll}}\n"
    )
    model, out = str(tmp_path / "m"), tmp_path / "out"
    assert CliRunner().invoke(learn, [str(path), model, "-q"]).exit_code == 0
    arguments = [str(DATA / "test.conll"), model, str(out), "--format", "marginals"]
    done = CliRunner().invoke(classify, arguments)
    assert done.exit_code == 0, done.output
    assert "accuracy" in done.output
    rows = [line for line in out.read_text().splitlines() if line]
    assert len(rows) > 10
