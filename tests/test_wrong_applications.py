"""What is wrong in an application is refused, with the example's name where it can be known."""

import re
from importlib.metadata import EntryPoint

import pytest
import toy
import wrong_applications as wrong
from click.testing import CliRunner

from lssvm import applications
from lssvm.cli import learn
from lssvm.config import Config
from lssvm.errors import ApplicationCrashError, ApplicationError
from lssvm.training import session as train

CERTIFYING = ("bundle", "proximal", "cutting-plane", "n-slack", "dual-coordinate", "gradient")
METHODS = (*CERTIFYING, "sgd")
NAMED = re.compile(r"example 'x\d+'")


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    known = {"toy": EntryPoint("toy", "toy:Toy", applications.GROUP)}
    monkeypatch.setattr(applications, "registered", lambda: known)


def trained(kind, method, seed=0, n=12, C=10.0, threads=1, passes=100, **sizes):
    app, pairs = toy.random_problem(seed, n=n, **sizes)
    config = Config.from_dict(
        {
            "application": {"name": "toy"},
            "objective": {"C": C},
            "solver": {"method": method, "epsilon": 1e-4, "max_passes": passes},
        }
    )
    return train.learn_on(kind(app.tables, app.losses), pairs, config, threads=threads)


@pytest.mark.parametrize("method", CERTIFYING)
@pytest.mark.parametrize(
    "kind",
    [
        wrong.RandomInference,
        wrong.OtherOutput,
        wrong.NoLossInInference,
        wrong.OtherFeatures,
        wrong.NegativeLoss,
        wrong.LossAtTheTruth,
        wrong.LowestCompletion,
        wrong.OtherLossEachTime,
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_no_certificate_comes_of_wrong_answers(kind, method, seed):
    with pytest.raises(ApplicationError) as caught:
        trained(kind, method, seed)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (wrong.LossAtTheTruth, r"example 'x0': the loss of its true output is 1; expected 0"),
        (wrong.NegativeLoss, r"example 'x\d+': its loss is -1; expected at least 0"),
        (wrong.NotANumber, r"example 'x3': feature 'f0' is not finite"),
        (wrong.OtherShape, r"example 'x3': joint_feature has shape \(4,\); expected \(5,\)"),
        (wrong.NoArray, r"example 'x3': joint_feature .* expected"),
        (wrong.NoPair, r"example 'x3': loss_augmented_inference gave a int; expected \(y, h\)"),
        (wrong.NoNumber, r"example 'x\d+': loss gave a str; expected a number"),
    ],
)
def test_what_one_example_shows_is_told_with_its_name(kind, found, method):
    with pytest.raises(ApplicationError, match=f"^application 'toy': {found}"):
        trained(kind, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "function",
    ["joint_feature", "loss_augmented_inference", "complete_latent", "first_completion"],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_a_function_names_it_and_its_example(function, method, threads):
    if (function, method) == ("complete_latent", "sgd") or function == "first_completion":
        threads = 1
    with pytest.raises(ApplicationCrashError) as caught:
        trained(wrong.fails(function), method, n=30, threads=threads)
    assert str(caught.value) == (
        f"application 'toy': {function} of example 'x3': ZeroDivisionError: "
        "integer division or modulo by zero (LSSVM_TRACEBACK=1 shows the traceback)"
    )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("kind", [wrong.RandomInference, wrong.OtherFeatures])
def test_descent_that_knows_no_gap_certifies_nothing(kind):
    try:
        record = trained(kind, "sgd").record
    except ApplicationError:
        return
    assert not record["certified"]
    assert record["gap"] is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("C", [1e-4, 1e4])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_right_applications_are_never_refused(method, C, scale):
    for signal in (0.0, 2.0):
        trained(toy.Toy, method, n=8, C=C, passes=15, scale=scale, signal=signal)


@pytest.fixture
def trained_as(tmp_path, monkeypatch):
    """Train on a file as a user of an installed application does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LSSVM_TRACEBACK", raising=False)
    (tmp_path / "train.txt").write_text("1 1 2\n1 2 1\n1 2 2\n-1 -1 -2\n-1 -2 -1\n-1 0 -2\n")
    (tmp_path / "c.yaml").write_text(
        "application: {name: lines, length: 2}\ndata: {train: train.txt}\n"
        "solver: {method: bundle}\n"
    )

    def trained_as(kind, *options):
        entry = EntryPoint("lines", f"wrong_applications:{kind}", applications.GROUP)
        monkeypatch.setattr(applications, "registered", lambda: {"lines": entry})
        result = CliRunner().invoke(learn, ["c.yaml", "m", *options])
        assert isinstance(result.exception, SystemExit)
        assert not (tmp_path / "m").exists()
        return result.exit_code, result.stderr

    return trained_as


CRASH = (
    "error: application 'lines': augmented of examples '1'–'6': ZeroDivisionError: "
    "integer division or modulo by zero (LSSVM_TRACEBACK=1 shows the traceback)\n"
)


def test_an_error_in_an_application_is_one_line_and_its_traceback_is_there_to_ask(
    trained_as, monkeypatch
):
    assert trained_as("FailingLines") == (1, CRASH)
    for options, variable in ((("-v", "3"), ""), (("-q",), "1")):
        monkeypatch.setenv("LSSVM_TRACEBACK", variable)
        code, told = trained_as("FailingLines", *options)
        assert code == 1
        assert told.endswith(CRASH)
        assert "Traceback (most recent call last):" in told
        assert "return 1 // 0" in told


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("ExitingLines", "completed of examples '1'–'6': called sys.exit(0) "),
        ("UnmadeLines", "__init__: KeyError: 'key' "),
        ("ScorelessLines", "score of examples '1'–'6': RuntimeError: first line "),
    ],
)
def test_whatever_an_application_raises_is_no_success(trained_as, kind, found):
    code, told = trained_as(kind, "-q")
    assert code == 1
    assert told.startswith(f"error: application 'lines': {found}(LSSVM")
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (
            "OneWrongLine",
            r"example '4': loss-augmented inference is not a maximum: its value \S+ is below the "
            r"true output's \S+; return the maximiser",
        ),
        ("ShortLines", r"examples '1'–'6': gradient of shape \(2,\); expected a plane of 3 "),
        ("LowBoundLines", r"examples '1'–'6': augmented: the upper bound \S+ is below"),
        ("NegativeLines", r"examples '1'–'6': augmented: the loss is -1; expected at least 0"),
        ("LossOfTruthLines", r"examples '1'–'6': start: the loss is 1; expected 0"),
    ],
)
def test_answers_for_many_examples_that_cannot_be_right_are_refused(trained_as, kind, found):
    code, told = trained_as(kind, "-q")
    assert code == 2
    assert re.match(f"error: application 'lines': {found}", told)
    assert told.count("\n") == 1
