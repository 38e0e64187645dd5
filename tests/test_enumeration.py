"""Applications written one example at a time: what has a default, and what it is."""

import itertools
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from click.testing import CliRunner

from lssvm import applications
from lssvm.applications.base import Application, ByExample, Formulation, KernelRows, Options
from lssvm.applications.enumeration import Enumerated
from lssvm.applications.pairs import Pairs
from lssvm.applications.per_example import PerExample
from lssvm.cli import classify, learn, main
from lssvm.config import Config
from lssvm.errors import ApplicationError, LssvmError
from lssvm.testing import check_application
from lssvm.training.session import learn_on

FORMULATIONS = list(itertools.product(("margin", "slack"), (0, 1, 2)))


class Labels(Enumerated):
    """Pairs of labels with a term for both, of lines such as ``10 0.5 1``; no Options."""

    hidden = False

    def examples(self, source):
        with open(source.path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                y, *x = line.split()
                truth = None if y == "?" else tuple(map(int, y))
                yield f"line{number}", tuple(map(float, x)), truth

    def candidates(self, x):
        return [(y, None) for y in itertools.product((0, 1), repeat=2)]

    def joint_feature(self, x, y, h):
        return np.append(np.outer(y, x).ravel(), y[0] * y[1])

    def loss(self, y, y_hat, h_hat):
        return float(sum(a != b for a, b in zip(y, y_hat, strict=True)))


class WrongLabels(Labels):
    """Takes the first of the worst ones."""

    def loss_augmented_inference(self, w, x, y):
        return min(self.candidates(x), key=lambda pair: w @ self.joint_feature(x, *pair))


class Points(Enumerated):
    """The sign of a bag whose hidden point decides."""

    def examples(self, source):
        yield from ()

    def candidates(self, x):
        return [(y, h) for y in (-1, 1) for h in range(len(x))]

    def joint_feature(self, x, y, h):
        return np.array(x[h]) if y > 0 else np.zeros(2)

    def loss(self, y, y_hat, h_hat):
        return float(y != y_hat)


def labelled(rng, n=12):
    inputs = tuple(tuple(row) for row in rng.integers(-8, 9, (n, 2)) / 8)
    outputs = tuple(tuple(row) for row in rng.integers(0, 2, (n, 2)).tolist())
    return Pairs(inputs, outputs, tuple(f"x{i}" for i in range(n)), rng.integers(1, 9, n) / 8)


def bags(rng, n=10):
    inputs = tuple(tuple(map(tuple, rng.integers(-8, 9, (3, 2)) / 8)) for _ in range(n))
    outputs = tuple(int(y) for y in rng.choice([-1, 1], n))
    return Pairs(inputs, outputs, tuple(f"bag{i}" for i in range(n)), np.ones(n))


@pytest.fixture
def installed(monkeypatch, tmp_path):
    known = {
        name: EntryPoint(name.lower(), f"test_enumeration:{name}", applications.GROUP)
        for name in ("Labels", "WrongLabels", "Points", "Unfinished")
    }
    found = {entry.name: entry for entry in known.values()}
    monkeypatch.setattr(applications, "registered", lambda: found)
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("train", "test"):
        pairs = labelled(rng, 30)
        signs = [tuple(int(v > 0) for v in x) for x in pairs.inputs]
        lines = [f"{a}{b} {x[0]} {x[1]}" for (a, b), x in zip(signs, pairs.inputs, strict=True)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "c.yaml").write_text(
        "application: {name: labels}\ndata: {train: train.txt, test: test.txt}\n"
    )
    return tmp_path


def invoked(command, *arguments):
    return CliRunner().invoke(command, [*arguments])


@pytest.mark.parametrize(("rescaling", "norm"), FORMULATIONS)
def test_without_hidden_values_every_formulation_is_exact(rescaling, norm):
    pairs = labelled(np.random.default_rng(0))
    app = Labels(Options(name="labels"), Formulation("ssvm", rescaling, norm))
    assert check_application(app, pairs) == []
    assert app.dimension(pairs) == 5
    w = np.random.default_rng(1).integers(-8, 9, 5) / 8
    plane, upper = app.augmented(w, pairs)
    value = 0.0
    for x, y, cost in zip(pairs.inputs, pairs.outputs, pairs.costs, strict=True):
        own = w @ app.joint_feature(x, y, None)
        terms = []
        for y_hat, _ in app.candidates(x):
            margin = app.loss(y, y_hat, None) ** (0.5 if norm == 2 else 1.0)
            score = w @ app.joint_feature(x, y_hat, None)
            slack = margin * (1 + score - own) + own
            terms.append(slack if rescaling == "slack" else margin + score)
        value += cost * max(terms)
    assert plane.value(w) == upper == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("method", ["bundle", "n-slack", "dual-coordinate"])
def test_all_solvers_find_one_optimum(method, installed):
    pairs = labelled(np.random.default_rng(3))
    settings = {
        "application": {"name": "labels"},
        "solver": {"method": method, "epsilon": 1e-6, "max_passes": 5000},
    }
    record = learn_on(Labels(Options(name="labels")), pairs, Config.from_dict(settings)).record
    assert record["certified"]
    settings["solver"]["method"] = "cutting-plane"
    other = learn_on(Labels(Options(name="labels")), pairs, Config.from_dict(settings)).record
    assert record["objective"] == pytest.approx(other["objective"], rel=1e-5)


def test_norms_and_rescalings_are_offered_where_enumeration_is_right():
    assert Labels.models == {"ssvm"}
    assert Labels.slack_norms == {0, 1, 2}
    assert Labels.rescalings == {"margin", "slack"}
    assert (Points.models, Points.slack_norms) == ({"lssvm"}, {1})

    class Own(Labels):
        def loss_augmented_inference(self, w, x, y):
            return super().loss_augmented_inference(w, x, y)

    assert Own.slack_norms == {0, 1}
    assert Own.rescalings == {"margin"}


@pytest.mark.parametrize("seed", range(3))
def test_hidden_values_have_an_exact_completion_and_a_random_first_one(seed):
    pairs = bags(np.random.default_rng(seed))
    app = Points(Options(name="points"))
    assert check_application(app, pairs) == []
    rng = np.random.default_rng(0)
    first = {app.first_completion(pairs.inputs[0], 1, rng) for _ in range(50)}
    assert first == {0, 1, 2}
    w = np.array([1.0, -0.5])
    scores = [np.dot(point, w) for point in pairs.inputs[0]]
    assert app.complete_latent(w, pairs.inputs[0], 1) == int(np.argmax(scores))
    assert app.predict_one(np.zeros(2), pairs.inputs[0]) == (-1, 0)  # the first of equal ones


def test_names_are_numbers_and_as_many_as_weights():
    app = Points(Options(name="points"))
    app.dimension(bags(np.random.default_rng(0)))
    assert list(app.feature_names()) == ["feature 1", "feature 2"]


def test_features_of_another_length_are_refused_with_the_example():
    pairs = labelled(np.random.default_rng(0))
    inputs = (*pairs.inputs[:4], (1.0,), *pairs.inputs[5:])
    pairs = Pairs(inputs, pairs.outputs, pairs.names, pairs.costs)
    app = Labels(Options(name="labels"))
    expected = r"example 'x4': joint_feature has shape \(3,\); expected \(5,\)"
    with pytest.raises(ApplicationError, match=expected):
        app.augmented(np.zeros(app.dimension(pairs)), pairs)


def test_a_true_output_that_is_no_candidate_is_refused():
    pairs = bags(np.random.default_rng(0))
    pairs = Pairs(pairs.inputs, (7, *pairs.outputs[1:]), pairs.names, pairs.costs)
    app = Points(Options(name="points"))
    with pytest.raises(ApplicationError, match="example 'bag0': its true output is none of its"):
        app.start(pairs, np.random.default_rng(0))


def test_completion_alone_tells_no_number_of_weights():
    class Bare(PerExample):
        examples = joint_feature = loss = loss_augmented_inference = None
        predict_one = None

        def complete_latent(self, w, x, y):
            return 0

    with pytest.raises(LssvmError, match="expected the method dimension or first_completion"):
        Bare(Options(name="bare")).dimension(bags(np.random.default_rng(0)))


class Unfinished(Enumerated):
    def examples(self, source):
        yield from ()


def test_a_class_that_lacks_methods_is_refused_by_their_names(installed):
    with pytest.raises(LssvmError) as caught:
        applications.load("unfinished")
    assert str(caught.value) == (
        "application 'unfinished' (test_enumeration:Unfinished) lacks candidates, joint_feature, "
        "loss; expected these methods"
    )


@pytest.mark.parametrize(("flag", "kind"), [("each", ByExample), ("kernels", KernelRows)])
def test_flags_of_before_are_refused_with_the_type_to_derive_from(flag, kind):
    with pytest.raises(TypeError, match=rf"Old\.{flag} is no longer read; .*{kind.__name__} where"):
        type("Old", (Application,), {flag: True})


def test_the_commands_work_without_options_of_its_own(installed):
    assert invoked(learn, "-q", "c.yaml", "m").exit_code == 0
    done = invoked(classify, "test.txt", "m", "p")
    assert done.exit_code == 0, done.stderr
    first = (installed / "p").read_text().splitlines()[0].split("\t")
    assert [first[0], first[1]] == ["line1", first[1]]
    assert len(first) == 3
    (installed / "unknown.txt").write_text("? 0.5 0.25\n")
    assert invoked(classify, "unknown.txt", "m", "p").exit_code == 0
    for norm, rescaling in ((0, "margin"), (2, "margin"), (2, "slack"), (1, "slack")):
        settings = [f"objective.slack_norm={norm}", f"objective.rescaling={rescaling}"]
        given = [part for text in settings for part in ("--set", text)]
        done = invoked(learn, "-q", "c.yaml", "m", *given, "--set", "solver.method=n-slack")
        assert done.exit_code == 0, done.stderr
    assert "labels" in invoked(main, "list").stdout


def test_check_tells_whether_the_contract_is_kept(installed):
    done = invoked(main, "check", "c.yaml", "--contract")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == "application labels: nothing was found (looked at 20 of 30 examples)\n"
    wrong = invoked(main, "check", "c.yaml", "--contract", "--set", "application.name=wronglabels")
    assert wrong.exit_code == 2
    assert wrong.stdout == ""
    assert all(line.startswith("error: ") for line in wrong.stderr.splitlines())
    assert "example 'line1'" in wrong.stderr
    found = invoked(main, "check", "c.yaml", "--contract", "--json")
    assert '"findings": []' in found.stdout
