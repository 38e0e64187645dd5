"""What an estimator tells of its training, and how a callback ends it."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn import exceptions

from lssvm import learn_on
from lssvm.applications.given import word
from lssvm.estimators import LatentSequenceLabeler, StructuralSVC

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 4))
Y = (X @ RNG.normal(size=(4, 3))).argmax(axis=1)


def test_the_attributes_are_those_of_the_record():
    found = StructuralSVC(C=2.0).fit(X, Y)
    record = found.model_.record
    assert found.objective_ == record["objective"]
    assert found.gap_ == record["gap"] <= 1e-3
    assert found.lower_bound_ <= found.objective_
    assert found.n_passes_ == record["passes"]
    assert found.converged_
    assert found.certified_
    assert found.history_[-1].objective == found.objective_
    assert [step.passes for step in found.history_] == sorted(
        step.passes for step in found.history_
    )


def test_the_callback_sees_each_pass():
    seen = []
    found = StructuralSVC(solver="bundle").fit(X, Y, callback=seen.append)
    assert seen == found.history_[:-1]  # the last one is the end of the CCCP iteration
    assert [step.passes for step in seen][-1] < found.n_passes_ + 1
    objectives = [step.objective for step in seen]
    assert objectives == sorted(objectives, reverse=True)


@pytest.mark.parametrize("solver", ["bundle", "n-slack", "dual-coordinate", "proximal", "sgd"])
@pytest.mark.parametrize("after", [0, 4])
@pytest.mark.filterwarnings("ignore:all ")
def test_a_callback_ends_training_with_the_best_weights_so_far(solver, after):
    found = StructuralSVC(C=5.0, solver=solver, epsilon=1e-12).fit(
        X, Y, callback=lambda step: step.passes >= after
    )
    assert not found.converged_
    model = found.model_
    application = model.application
    examples = application.examples_from(X, Y)
    w = model.space.linear(model.w) if hasattr(model.space, "linear") else model.w
    planes = application.augmented(w, examples)[1] - application.completed(w, examples).value(w)
    assert found.objective_ == pytest.approx(0.5 * w @ w + 5.0 * planes, rel=1e-9)
    if np.isfinite(found.gap_):
        best = StructuralSVC(C=5.0, epsilon=1e-6).fit(X, Y).objective_
        assert found.lower_bound_ <= best <= found.objective_ * (1 + 1e-9)


def test_a_callback_that_stops_begins_no_further_restart():
    words = [["a", "b"], ["b", "c"]]
    tags = [["D", "N"], ["N", "V"]]
    found = LatentSequenceLabeler(restarts=3).fit(words, tags, callback=lambda step: True)
    assert len(found.model_.record["restarts"]) == 1
    whole = LatentSequenceLabeler(restarts=3).fit(words, tags)
    assert {step.restart for step in whole.history_} == {1, 2, 3}


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_signal_is_what_it_is_in_python(number, kind):
    with pytest.raises(kind):
        StructuralSVC(solver="bundle").fit(X, Y, callback=lambda step: os.kill(os.getpid(), number))


def test_training_that_ends_early_warns():
    with pytest.warns(
        exceptions.ConvergenceWarning, match=r"the passes ran out\); raise max_passes or epsilon"
    ):
        StructuralSVC(C=100.0, solver="bundle", epsilon=1e-9, max_passes=3).fit(X, Y)


def test_advice_names_the_parameters_that_ended_the_run():
    advice = r"the CCCP iterations ran out\); raise max_iter or tolerance"
    words, labels = [["a", "b", "a"], ["b", "b"]], [["x", "y", "x"], ["y", "x"]]
    with pytest.warns(exceptions.ConvergenceWarning, match=advice):
        LatentSequenceLabeler(C=10.0, max_iter=1, random_state=0).fit(words, labels)


def test_verbose_prints_a_line_for_each_iteration_or_pass(capsys):
    StructuralSVC(solver="bundle").fit(X, Y)
    assert capsys.readouterr().out == ""
    found = StructuralSVC(solver="bundle", verbose=1).fit(X, Y)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"restart 1, iteration 1, pass {found.n_passes_}: objective ")
    found = StructuralSVC(solver="bundle", verbose=2).fit(X, Y)
    assert len(capsys.readouterr().out.splitlines()) == len(found.history_)


def test_a_state_of_random_numbers_is_drawn_from():
    seeds = [
        StructuralSVC(random_state=state)._config().seed
        for state in (7, np.random.RandomState(3), np.random.RandomState(3))
    ]
    assert seeds[0] == 7
    assert seeds[1] == seeds[2] > 0


def test_the_functions_of_the_package_give_the_same_model():
    estimator = StructuralSVC(C=3.0).fit(X, Y)
    config = estimator._config()
    application = config.create_application()
    examples = application.examples_from(X, [word(label) for label in Y.tolist()])
    assert learn_on(application, examples, config).w.tobytes() == estimator.model_.w.tobytes()


def test_without_scikit_learn_one_line_says_what_to_install():
    program = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import lssvm\n"
        "try:\n"
        "    lssvm.estimators.StructuralSVC\n"
        "except lssvm.errors.MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == (
        "lssvm.estimators.StructuralSVC needs scikit-learn; install it with: "
        "pip install 'lssvm[sklearn]'\n"
    )
