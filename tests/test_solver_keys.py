"""Keys of the section ``solver`` that the method does not use."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from lssvm.config import Config, load_config, set_values
from lssvm.config.checks import either
from lssvm.config.sections import SolverOptions
from lssvm.config.solver_keys import COMMON, uses
from lssvm.errors import ConfigError
from lssvm.solvers.choice import CANDIDATES, HARD, LARGE, WEIGHTS, Sizes, chosen
from lssvm.solvers.needs import Asked
from lssvm.solvers.solver import EUCLIDEAN
from lssvm.solvers.table import AUTO, BY_ROWS, CLASSES, keys_of, solver_class
from lssvm.training.cccp import Observer
from lssvm.training.session import learn

OTHERS = {  # of each key a value that is not the default
    **{"step": 0.5, "max_planes": 10, "qp": "osqp", "cache": 3, "max_cache_mb": 3999.0},
    **{"sweeps": 2, "violation": 0.5, "batch_size": 3, "learning_rate": 0.01, "decay": "constant"},
    **{"gradient_norm": 0.1, "epochs": 3, "average": False},
}
ROOT = Path(__file__).parent.parent
APPLICATIONS = {"bundle-newton": "precision_at_k", "lbfgs": "sequence"}
MODELS = {"lbfgs": ["objective.model=crf"]}


class Section:
    """Values of the section ``solver`` that remember which of them were read."""

    def __init__(self):
        self.read = set()

    def __getattr__(self, key):
        self.read.add(key)
        return getattr(SolverOptions(), key)


def test_every_key_is_used_by_all_methods_or_by_some():
    assert set(SolverOptions.model_fields) == COMMON | set(OTHERS)
    assert set().union(*map(keys_of, CLASSES)) == set(OTHERS)
    default = SolverOptions()
    assert all(getattr(default, key) != value for key, value in OTHERS.items())


@pytest.mark.parametrize(
    ("name", "compiled"),
    [*((name, True) for name in CLASSES), *((name, False) for name in BY_ROWS)],
)
def test_a_solver_reads_the_keys_that_it_names(name, compiled):
    section, kind = Section(), solver_class(name, compiled)
    kind.from_config(
        SimpleNamespace(solver=section, objective=SimpleNamespace(slack_norm=1), seed=0),
        2,
        0,
        EUCLIDEAN,
    )
    assert kind.keys <= section.read
    inherited = solver_class("bundle").keys if issubclass(kind, solver_class("bundle")) else set()
    assert section.read <= kind.keys | inherited | COMMON


@pytest.mark.parametrize("name", CLASSES)
def test_a_key_that_a_method_does_not_use_changes_nothing(name):
    application = APPLICATIONS.get(name, "multiclass")
    settings = [f"solver={{method: {name}, epsilon: 0.01, max_passes: 30}}"]
    settings += ["cccp.max_iterations=2", *MODELS.get(name, [])]
    config = load_config(ROOT / "configs" / f"{application}.yaml", settings)
    changed = {key: value for key, value in OTHERS.items() if not uses(name, key)}
    if name in ("bundle-newton", "proximal"):
        del changed["cache"]  # it is refused by itself
    assert changed
    other = config.model_copy(update={"solver": config.solver.model_copy(update=changed)})
    found, expected = learn(other), learn(config)
    assert found.config["solver"] != expected.config["solver"]
    np.testing.assert_array_equal(found.w, expected.w)
    assert np.any(found.w)


@pytest.mark.parametrize("method", [AUTO, *CLASSES])
@pytest.mark.parametrize("key", OTHERS)
def test_a_key_that_the_method_does_not_use_is_refused_with_those_that_do(key, method, tmp_path):
    path, model = tmp_path / "c.yaml", ", model: crf" if method == "lbfgs" else ""
    path.write_text(
        f"application: {{name: {APPLICATIONS.get(method, 'multiclass')}}}\n"
        f"objective: {{C: 1{model}}}\nsolver:\n  method: {method}\n  {key}: {OTHERS[key]}\n"
    )
    users = [name for name in CLASSES if key in keys_of(name)]
    if set(users) & (set(CANDIDATES) if method == AUTO else {method}):
        assert getattr(load_config(path).solver, key) == OTHERS[key]
        return
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    told = str(caught.value)
    if key == "cache":  # it needs an application without hidden values too, which is said instead
        assert "solver.cache: a cache needs the solver bundle or cutting-plane" in told
        return
    why = "auto never chooses a method that uses" if method == AUTO else f"{method} does not use"
    expected = f"no such key, or solver.method: {either(users)}"
    assert told == f"{path}:5:3: solver.{key}: {why} it; expected {expected}"


def test_a_value_that_is_the_default_may_stay():
    settings = {"method": "bundle", "learning_rate": None, "sweeps": 20, "decay": "inverse"}
    Config.from_dict({"application": {"name": "multiclass"}, "solver": settings})


def test_a_search_over_methods_may_set_keys_of_each_of_them():
    values = {
        "application": {"name": "multiclass"},
        "solver": {"method": "bundle", "epochs": 3},
        "search": {"grid": {"solver.method": ["bundle", "sgd"], "solver.batch_size": [2, 4]}},
    }
    config = Config.from_dict(values)
    found = {
        method: set_values(
            config, {"search.grid": {}, "solver.method": method, "solver.batch_size": 4}
        ).solver
        for method in ("bundle", "sgd")
    }
    assert (found["sgd"].epochs, found["sgd"].batch_size) == (3, 4)
    assert found["bundle"] == SolverOptions(method="bundle")
    values["search"] = {"grid": {"solver.method": ["sgdd", 3, [], "bundle"]}}
    with pytest.raises(ConfigError, match=r"solver\.epochs: bundle does not use it"):
        Config.from_dict(values)
    values["search"] = {"grid": {"solver.batch_size": [2, 4]}}
    with pytest.raises(ConfigError) as caught:
        Config.from_dict(values)
    assert caught.value.messages == [
        "configuration: solver.epochs: bundle does not use it; expected no such key, or "
        "solver.method: sgd",
        "configuration: search.grid.solver.batch_size: bundle does not use it; expected no such "
        "key, or solver.method: dual-coordinate or sgd",
    ]


def test_auto_can_choose_each_of_its_candidates_and_no_other():
    sizes = (Sizes(10, 10 * WEIGHTS, HARD + 1), Sizes(LARGE, 1.0))
    asked = Asked("toy", True, True, True, frozenset({"crf"}), "ssvm", False, 1)
    found = {
        chosen(one._replace(curved=curved, compiled=compiled), size, kernel=kernel, cache=cache)[0]
        for one in (asked, asked._replace(model="crf"), asked._replace(slack_norm=0))
        for curved, compiled, kernel, cache in itertools.product((False, True), repeat=4)
        for size in sizes
    }
    assert found == set(CANDIDATES)


def test_what_auto_has_chosen_is_told_with_the_keys_that_it_does_not_use():
    path = ROOT / "configs" / "multiclass.yaml"
    config = load_config(path, ["solver.sweeps=3", "solver.max_cache_mb=3000"])
    lines, observer = [], Observer()
    observer.noted = lines.append
    model = learn(config, observer=observer)
    (line,) = [line for line in lines if line.startswith("solver: ")]
    assert line.endswith("(solver.method: auto); it does not use solver.sweeps")
    stored = model.config["solver"]
    assert (stored["method"], stored["max_cache_mb"], stored["sweeps"]) == (
        "dual-coordinate",
        3000,
        SolverOptions().sweeps,
    )
    Config.from_dict({**model.config, "search": {}})  # it is a configuration as it is


KERNELS = """kernel.degree: linear does not use it; expected no such key, or kernel.type: poly
kernel.gamma: linear does not use it; expected no such key, or kernel.type: poly or rbf
kernel.coef0: rbf does not use it; expected no such key, or kernel.type: poly""".splitlines()


@pytest.mark.parametrize(
    ("key", "value", "kernel", "fault"),
    [
        ("degree", 5, "linear", KERNELS[0]),
        ("gamma", 0.5, "linear", KERNELS[1]),
        ("coef0", 1.0, "rbf", KERNELS[2]),
        *((key, value, "poly", None) for key, value in (("degree", 5), ("gamma", 2), ("coef0", 1))),
        ("gamma", 0.5, "rbf", None),
        ("degree", 3, "linear", None),  # the default
        ("max_mb", 9, "linear", None),
    ],
)
def test_a_key_that_no_kernel_of_the_configuration_uses_is_refused(key, value, kernel, fault):
    values = {"application": "multiclass", "kernel": {"type": kernel, key: value}}
    if fault is None:
        assert getattr(Config.from_dict(values).kernel, key) == value
        return
    with pytest.raises(ConfigError) as caught:
        Config.from_dict(values)
    assert str(caught.value) == f"configuration: {fault}"


def test_a_search_over_kernels_may_set_keys_of_all_of_them():
    grid = {"kernel.type": ["linear", "poly"], "kernel.degree": [2, 4]}
    values = {"application": "multiclass", "kernel": {"coef0": 1.0}, "search": {"grid": grid}}
    config = Config.from_dict(values)
    assert set_values(config, {"kernel.type": "poly"}).kernel.coef0 == 1.0
    linear = set_values(config, {"kernel.type": "linear", "kernel.degree": 2}).kernel
    assert (linear.degree, linear.coef0) == (3, 0.0)
    values["search"]["grid"] = {"kernel.degree": [2, 4]}
    with pytest.raises(ConfigError, match=r"search\.grid\.kernel\.degree: linear does not use it"):
        Config.from_dict(values)
