"""Numbers that overflow are refused or end a run; no warning of NumPy's reaches a user."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import lssvm
from lssvm.cli import classify, learn
from lssvm.cli.group import cv, show
from lssvm.config import Config
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.training.arithmetic import arithmetic
from lssvm.training.cccp import Observer
from lssvm.training.session import learn_on
from lssvm.training.setup import new_run, rules_of

DATA = Path(__file__).parents[1] / "data" / "multiclass" / "train.txt"
METHODS = ("bundle", "gradient", "cutting-plane", "proximal", "dual-coordinate", "n-slack")


@pytest.fixture(autouse=True)
def _huge_features(tmp_path, monkeypatch):
    """The sample with features of 1e300, in the working directory."""
    monkeypatch.chdir(tmp_path)
    lines = []
    for line in DATA.read_text().splitlines():
        label, *features = line.split()
        pairs = (feature.split(":") for feature in features)
        lines.append(" ".join([label, *(f"{name}:{float(value)!r}e300" for name, value in pairs)]))
    Path("x.txt").write_text("\n".join(lines) + "\n")


def settings(method="bundle", **values):
    return {
        "application": {"name": "multiclass"},
        "data": {"train": "x.txt"},
        "objective": {"model": "ssvm"},
        "solver": {"method": method, "max_passes": 20},
        **values,
    }


def read(config):
    application = config.create_application()
    return application, application.read(config.sources("train"))


def test_the_numbers_do_overflow():
    config = Config.from_dict(settings())
    application, examples = read(config)
    oracle, rules = (
        DataOracle(application, examples, Executor()),
        rules_of(config, len(examples), False),
    )
    run = new_run(oracle, config, 0, None)
    with pytest.raises(RuntimeWarning, match="encountered in"):
        run.proceed(oracle, rules, Observer())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_commands_are_silent(method, threads):
    Path("c.yaml").write_text(repr(settings(method)))
    options = ["-q", "--threads", str(threads)]
    trained = CliRunner().invoke(learn, ["c.yaml", "m", *options])
    assert trained.exit_code in (0, 3)
    assert "Warning" not in trained.stderr
    for command, *arguments in ((classify, "x.txt", "m", "out", "-q"), (show, "m")):
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 0
        assert result.stderr == ""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_python_interface_is_silent(method, threads):
    config = Config.from_dict(settings(method))
    application, examples = read(config)
    model = learn_on(application, examples, config, threads=threads)
    found = lssvm.classify(model, examples)
    assert application.score(examples, found)["error"] >= 0.0


def test_cross_validation_is_silent():
    Path("c.yaml").write_text(repr(settings(search={"folds": 3, "grid": {"objective.C": [1]}})))
    result = CliRunner().invoke(cv, ["c.yaml", "-q", "--csv", "out.csv"])
    assert result.exit_code == 0
    assert "Warning" not in result.stderr


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ({"type": "rbf"}, "kernel.gamma: the features are too large for 'scale'; rescale them"),
        ({"type": "rbf", "gamma": 0.1}, "kernel: values are too large; rescale the features, or "),
        ({"type": "poly", "gamma": 0.1}, "kernel: values are too large; rescale the features, or "),
        (
            {"type": "poly", "degree": 2, "gamma": 0.1, "explicit": True},
            "kernel: products are too large; rescale the features",
        ),
    ],
)
def test_kernels_refuse_them_in_one_line(kernel, message):
    Path("c.yaml").write_text(repr(settings("n-slack", kernel=kernel)))
    result = CliRunner().invoke(learn, ["c.yaml", "m", "-q"])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {message}")
    assert len(result.stderr.splitlines()) == 1


def test_threads_are_silent_too():
    with arithmetic(), Executor(2) as executor:
        found = executor.map(lambda value: value * 10.0, [np.float64(1e308)] * 4)
    assert found == [np.inf] * 4


def test_what_a_program_asks_of_numpy_is_left_as_it_was():
    for wanted in ("raise", "warn"):
        with np.errstate(all=wanted):
            with arithmetic():
                assert not np.isfinite(np.float64(1e308) * 10)
            assert set(np.geterr().values()) == {wanted}


IMPORTED_LATER = """
import numpy
from threadpoolctl import threadpool_info
from lssvm.training.arithmetic import arithmetic

def threads():
    return [library["num_threads"] for library in threadpool_info()]

with arithmetic():
    pass
before = len(threads())
import scipy.linalg
assert len(threads()) > before, "SciPy brings no library of its own"
free = threads()
for _ in range(2):
    with arithmetic():
        assert set(threads()) == {1}
        with arithmetic():
            pass
        assert set(threads()) == {1}
    assert threads() == free
"""


def test_libraries_that_are_imported_later_work_with_one_thread_too():
    environment = {"OPENBLAS_NUM_THREADS": "2", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED_LATER],
        cwd=Path(__file__).parents[1],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
