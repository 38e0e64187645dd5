"""Soft inference for motifs against enumeration: values, gradients, limits, training."""

import numpy as np
import pytest
import reference
from mrf_cases import shares, softmax_value
from scipy.optimize import approx_fprime

from lssvm.applications.base import Formulation, Source
from lssvm.applications.motif.motif import Motif, MotifOptions
from lssvm.config import Config
from lssvm.errors import ConfigError
from lssvm.training.session import learn_on

FORMS = {
    "lssvm": (None, None),
    "mssvm": (None, None),
    "hcrf": (None, None),
    "loss_augmented_likelihood": (None, None),
    "epsilon-y0": (0.0, 0.25),
    "epsilon-h0": (0.5, 0.0),
    "epsilon-both": (0.25, 2.0),
    "epsilon-none": (0.0, 0.0),
}


def letters(rng, size):
    return "".join(rng.choice(list("ACGTN"), p=[0.24] * 4 + [0.04], size=size))


class Problem:
    """A few short sequences with an application, and their outputs enumerated."""

    def __init__(self, rng, path, form, size=13):
        self.both, self.length = bool(rng.integers(2)), int(rng.integers(1, 6))
        self.order = int(rng.integers(3))
        options = MotifOptions(
            length=self.length,
            background_order=self.order,
            strands="both" if self.both else "given",
        )
        model = form.split("-")[0]
        self.app = Motif(options, Formulation(model, "margin", 1, *FORMS[form]))
        self.records, self.enumerated = [], {}
        for _ in range(int(rng.integers(1, 6))):
            text = letters(rng, rng.integers(1, size))
            found = reference.motif_candidates(text, self.length, self.both)
            label = int(rng.choice([-1, 1])) if found else -1
            self.records.append((text, label, rng.integers(17) / 8))
        file = path / "x.fa"
        lines = [f">s{i} label={y:+d} cost={c}\n{t}\n" for i, (t, y, c) in enumerate(self.records)]
        file.write_text("".join(lines))
        self.examples = self.app.read([Source(str(file))])
        self.d = self.app.dimension(self.examples)

    def outputs(self, i):
        """Features of every window of sequence i, less those of y = -1, in the order of ties."""
        if i not in self.enumerated:
            text, label, _ = self.records[i]
            found = list(reference.motif_outputs(text, label, self.length, self.order, self.both))
            self.enumerated[i] = [phi - found[0][1] for _, phi, _, _ in found[1:]]
        return self.enumerated[i]

    def present(self, w, i):
        """z(+1) and the expected features; minus infinity without a window."""
        features = self.outputs(i)
        if not features:
            return -np.inf, np.zeros(self.d)
        scores = [phi @ w for phi in features]
        epsilon = self.app.formulation.temperatures[1]
        return softmax_value(scores, epsilon), shares(scores, epsilon) @ np.array(features)

    def convex(self, w):
        value, gradient = 0.0, np.zeros(self.d)
        epsilon = self.app.formulation.temperatures[0]
        for i, (_, label, cost) in enumerate(self.records):
            own, slope = self.present(w, i)
            loss = 1.0 if self.app.formulation.charged else 0.0
            scores = [loss * (label > 0), own + loss * (label < 0)]
            value += cost * softmax_value(scores, epsilon)
            gradient += cost * shares(scores, epsilon)[1] * slope
        return value, gradient

    def concave(self, w):
        value, gradient = 0.0, np.zeros(self.d)
        for i, (_, label, cost) in enumerate(self.records):
            if label > 0:
                own, slope = self.present(w, i)
                value, gradient = value + cost * own, gradient + cost * slope
        return value, gradient


@pytest.mark.parametrize("form", FORMS)
def test_values_and_gradients_equal_enumeration(form, tmp_path):
    rng = np.random.default_rng([len(form), ord(form[-1])])
    for trial in range(200):
        problem = Problem(rng, tmp_path, form)
        w = rng.integers(-8, 9, problem.d) / 8 * (trial > 4)
        plane, upper = problem.app.augmented(w, problem.examples)
        value, gradient = problem.convex(w)
        assert upper == plane.value(w) == pytest.approx(value, abs=1e-10)
        np.testing.assert_allclose(plane.gradient, gradient, rtol=0, atol=1e-10)
        completion = problem.app.completed(w, problem.examples)
        value, gradient = problem.concave(w)
        assert completion.value(w) == pytest.approx(value, abs=1e-10)
        np.testing.assert_allclose(completion.gradient, gradient, rtol=0, atol=1e-10)
        if problem.app.formulation.temperatures == (0.0, 0.0):
            assert upper == problem.convex(w)[0]
            np.testing.assert_array_equal(completion.gradient, gradient)
        found = problem.app.predict(w, problem.examples)
        for i in range(len(problem.records)):
            score = problem.present(w, i)[0]
            assert found.values[i] == pytest.approx(score, abs=1e-10)
            if abs(score) > 1e-9:
                assert found.y[i] == (1 if score > 0 else -1)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "lssvm"])
def test_gradients_equal_differences(form, tmp_path):
    rng = np.random.default_rng(3)
    for _ in range(5):
        problem = Problem(rng, tmp_path, form)
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
def test_sums_hold_at_any_scale_and_for_long_sequences(scale, tmp_path):
    rng = np.random.default_rng(4)
    for form in ("mssvm", "hcrf", "epsilon-both"):
        problem = Problem(rng, tmp_path, form, size=300)
        w = scale * rng.normal(size=problem.d)
        plane, upper = problem.app.augmented(w, problem.examples)
        value, gradient = problem.convex(w)
        assert upper == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(plane.gradient, gradient, rtol=0, atol=1e-9)


def test_both_parts_fall_monotonically_to_the_maximum_as_the_temperature_falls(tmp_path):
    rng = np.random.default_rng(5)
    for _ in range(20):
        problem = Problem(rng, tmp_path, "mssvm")
        w, rows = rng.normal(size=problem.d), []
        for epsilon in (2.0, 1.0, 0.5, 0.1, 1e-3, 0.0):
            app = Motif(problem.app.options, Formulation("epsilon", "margin", 1, 0.0, epsilon))
            upper = app.augmented(w, problem.examples)[1]
            rows.append((upper, app.completed(w, problem.examples).value(w)))
        assert np.all(np.diff(np.array(rows), axis=0) <= 1e-12)
        np.testing.assert_allclose(rows[-2], rows[-1], atol=0.1)


@pytest.mark.parametrize("model", ["mssvm", "hcrf", "loss_augmented_likelihood", "epsilon"])
def test_it_learns_to_a_certified_gap(model, tmp_path):
    rng = np.random.default_rng(6)
    lines = []
    for i in range(40):
        text = letters(rng, 40).replace("N", "A")
        if i % 2:
            place = int(rng.integers(30))
            text = text[:place] + "TGACTCA" + text[place + 7 :]
        lines.append(f">s{i} label={'+1' if i % 2 else '-1'}\n{text}\n")
    file = tmp_path / "x.fa"
    file.write_text("".join(lines))
    objective = {"model": model, "C": 0.5}
    if model == "epsilon":
        objective |= {"epsilon_y": 0.1, "epsilon_h": 0.5}
    settings = Config.from_dict(
        {
            "application": {"name": "motif", "length": 7, "background_order": 0},
            "objective": objective,
        }
    )
    app = settings.create_application()
    examples = app.read([Source(str(file))])
    found = learn_on(app, examples, settings)
    assert found.record["certified"]
    assert found.record["converged"]
    assert found.record["gap"] <= 1e-3
    objectives = [value for value, _ in found.record["restarts"][0]["history"]]
    assert objectives == sorted(objectives, reverse=True)
    scores = app.score(examples, app.predict(found.w, examples))
    assert scores["error"] <= 5
    assert scores["roc_auc"] > 0.95


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("multiclass", "ssvm"),
        ("taxonomy", "ssvm"),
        ("sequence", "crf, ssvm"),
        ("precision_at_k", "lssvm"),
        ("coreference", "lssvm"),
        ("correlation_clustering", "ssvm"),
        ("latent_sequence", "epsilon, hcrf, loss_augmented_likelihood, lssvm"),
    ],
)
def test_other_applications_refuse_soft_inference_and_say_what_they_have(name, known):
    values = {"application": {"name": name}, "objective": {"model": "mssvm"}}
    with pytest.raises(ConfigError, match=r"application '.*' has no model 'mssvm'") as caught:
        Config.from_dict(values)
    assert f"(known: {known})" in str(caught.value)
