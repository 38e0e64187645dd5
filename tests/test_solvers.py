"""What solvers say of themselves, and that what they keep in a checkpoint is all that they are."""

import json
import numbers
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import toy
from restore_cases import StopError, Stopper
from scipy import sparse

from lssvm.applications.multiclass.multiclass import Multiclass
from lssvm.cli.learn_command import KERNELS, METHODS, RESCALINGS, SLACKS
from lssvm.config import Config
from lssvm.config.sections import Method, SolverOptions
from lssvm.errors import ConfigError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.plane import Planes
from lssvm.solvers.example_planes import ExamplePlanes
from lssvm.solvers.kept import KEPT
from lssvm.solvers.needs import Asked, Needs
from lssvm.solvers.table import AUTO, CLASSES, solver_class
from lssvm.training import checkpoint
from lssvm.training.cccp import Observer, Run
from lssvm.training.setup import new_run, new_solver, rules_of

# What may differ between a solver and the one that is made of its checkpoint: the clock, and what
# every problem takes from its oracle or its limits anew.
NOT_KEPT = {"seconds", "parts", "most_passes"}
SCRATCH = {"cache.cache.sets": {"sets_w", "sets_scores"}}  # set anew before each use
SENTENCES = Path(__file__).parents[1] / "data" / "sequence" / "train.conll"
VARIANTS = {
    **{name: {"method": name} for name in CLASSES},
    "cache": {"method": "bundle", "cache": 3},
    "OSQP": {"method": "proximal", "qp": "osqp"},
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_solver_has_the_name_that_it_is_found_by(name):
    assert solver_class(name).name == name


def test_the_configuration_and_its_help_know_the_solvers_of_the_table():
    assert get_args(Method) == (AUTO, *CLASSES)
    assert SolverOptions().method == AUTO
    described = SolverOptions.model_fields["method"].description.split("; ")
    assert sorted(line.split(":")[0] for line in described) == sorted([AUTO, *CLASSES])


def test_the_letters_of_svm_struct_stand_for_solvers_that_can_do_what_they_ask():
    for letters in (METHODS, RESCALINGS, SLACKS, KERNELS):
        for settings in letters.values():
            values = dict(each.split("=") for each in settings)
            needs = solver_class(values.get("solver.method", "bundle")).needs
            assert int(values.get("objective.slack_norm", 1)) in needs.slack_norms
            assert needs.kernels or values.get("kernel.type", "linear") == "linear"


def test_checking_a_configuration_imports_no_solver_of_quadratic_programs():
    code = (
        "import sys; from lssvm.config import Config\n"
        "for method in ('bundle', 'proximal'):\n"
        "    Config.from_dict({'application': {'name': 'multiclass'},"
        " 'solver': {'method': method}})\n"
        "assert not {'osqp', 'lssvm.solvers.n_slack', 'lssvm.solvers.sgd'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


ANY = Asked("toy", True, True, True, frozenset({"crf"}), "crf", False, 1)


@pytest.mark.parametrize(
    ("needs", "change", "message"),
    [
        (Needs(each=True), {"each": False}, "needs planes by example, which application 'toy'"),
        (Needs(each=True), {"decomposes": False}, "needs a loss of each example, which"),
        (Needs(decomposes=True), {"decomposes": False}, "needs a loss of each example, which"),
        (Needs(smooth=True), {"model": "ssvm"}, "needs a smooth objective.model (crf)"),
        (Needs(smooth=True), {"sharp": True}, "needs objective.epsilon_y and epsilon_h above 0"),
        (Needs(), {"slack_norm": 2}, "cannot solve objective.slack_norm: 2"),
    ],
)
def test_what_a_problem_lacks_is_said_and_nothing_else(needs, change, message):
    assert needs.unmet(ANY) == ""
    assert needs.unmet(ANY._replace(**change)).startswith(message)


def test_solvers_that_would_do_are_named():
    with pytest.raises(
        ConfigError,
        match=r"slack_norm: 2; expected n-slack, working-set or dual-coordinate$",
    ):
        Config.from_dict(
            {
                "application": {"name": "multiclass"},
                "objective": {"slack_norm": 2},
                "solver": {"method": "proximal"},
            }
        )
    assert 2 in Multiclass.slack_norms


def same(one, other, path):
    """Compare all that two objects hold."""
    if isinstance(one, numbers.Real):
        assert one == other, path
        return
    assert type(one) is type(other), path
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, path)
    elif sparse.issparse(one):
        assert one.shape == other.shape, path
        np.testing.assert_array_equal(one.toarray(), other.toarray(), path)
    elif isinstance(one, np.random.Generator):
        assert one.bit_generator.state == other.bit_generator.state, path
    elif isinstance(one, Planes):
        same(one.gradients, other.gradients, path)
        same(one.losses, other.losses, path)
    elif hasattr(one, "state") and is_dataclass(one) and path.endswith("sets"):
        for name, array in one.state().items():
            if name not in SCRATCH.get(path, ()):
                same(array, other.state()[name], f"{path}.{name}")
    elif isinstance(one, ExamplePlanes):
        same(one.state(), other.state(), path)
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for name, found in one.items():
            same(found, other[name], f"{path}.{name}")
    elif is_dataclass(one):
        assert vars(one).keys() == vars(other).keys(), path
        for name, found in vars(one).items():
            if name not in NOT_KEPT:
                same(found, vars(other)[name], f"{path}.{name}")
    else:
        assert one == other, path


@pytest.mark.parametrize("passes", [1, 2, 5])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_restored_solver_differs_in_nothing_from_the_one_that_was_saved(variant, passes):
    """So an attribute that nobody keeps is found here."""
    application, examples, config = problem(VARIANTS[variant])
    oracle = DataOracle(application, examples, Executor(1))
    run = new_run(oracle, config, 0, None)
    rules = rules_of(config, len(examples), application.hidden)
    with pytest.raises(StopError):
        run.proceed(oracle, rules, Stopper(passes))
    values, arrays = run.solver.state()
    restored = new_solver(application, examples, config)
    stored = json.dumps({name: checkpoint._stored(found) for name, found in values.items()})
    values = {name: checkpoint._restored(found) for name, found in json.loads(stored).items()}
    restored.restore(values, {name: array.copy() for name, array in arrays.items()})
    same(run.solver, restored, variant)


@pytest.mark.parametrize("variant", sorted({*VARIANTS} - {"sgd"}))
def test_a_problem_takes_no_more_passes_than_it_may(variant):
    """But for those that it needs to leave w = 0."""
    gaps = []
    for most in (1, 2, 3, 4, 6, 9):
        application, examples, config = problem(VARIANTS[variant])
        oracle = DataOracle(application, examples, Executor(1))
        run = new_run(oracle, config, 0, None)
        rules = rules_of(config, len(examples), application.hidden)
        run.proceed(oracle, rules._replace(max_passes=most, max_iterations=1), Observer())
        assert round(run.passes) <= max(most, 3)
        gaps.append(run.gap)
    assert 0.0 <= gaps[-1] < 1.0
    assert np.any(run.solver.w)


@pytest.mark.parametrize(("most", "opened"), [(1, False), (4, False), (5, True)])
def test_a_bundle_begins_with_block_steps_where_there_are_passes_for_them(most, opened):
    application, examples, values = sentences("ssvm")
    config = Config.from_dict({**values, "solver": {"method": "bundle", "max_passes": most}})
    oracle = DataOracle(application, examples, Executor(1))
    run = new_run(oracle, config, 0, None)
    assert run.solver.opening > 0
    run.proceed(oracle, rules_of(config, len(examples), False), Observer())
    assert round(run.passes) == max(most, 2)
    assert run.solver.planes_kept == (3 if opened else max(most, 2))


def problem(settings):
    """A small problem for a solver: application, examples, and configuration."""
    method = settings["method"]
    if method in ("lbfgs", "dual-coordinate"):
        application, examples, values = sentences("crf" if method == "lbfgs" else "ssvm")
    elif method == "bundle-newton":
        application, examples, values = rankings()
    else:
        application, examples = toy.random_problem(
            3, n=24, n_hidden=1 if "cache" in settings else 3
        )
        values = {"application": {"name": "multiclass"}}
    application.hidden = application.hidden and "cache" not in settings
    config = Config.from_dict({**values, "solver": {"epsilon": 1e-8, **settings}})
    return application, examples, config


def sentences(model):
    """A problem of label sequences: application, examples, and sections of a configuration."""
    values = {
        "application": {"name": "sequence", "columns": ["word", "tag", "label"]},
        "data": {"train": str(SENTENCES)},
        "objective": {"model": model},
    }
    config = Config.from_dict(values)
    application = config.create_application()
    return application, application.read(config.sources("train")).slice(0, 20), values


def rankings():
    """The same for queries."""
    values = {
        "application": {"name": "precision_at_k", "k": 3, "initialisation": "random"},
        "data": {"train": str(SENTENCES.parent.parent / "ranking" / "train.txt")},
    }
    config = Config.from_dict(values)
    application = config.create_application()
    return application, application.read(config.sources("train")).slice(0, 8), values


def test_all_of_a_run_but_its_solver_and_its_messages_is_kept():
    apart = {each.name for each in fields(Run) if KEPT not in each.metadata}
    assert apart == {"solver", "not_converged", "carried"}  # the last one is kept as an array
