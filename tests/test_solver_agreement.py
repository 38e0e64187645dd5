"""All solvers find the same optimum of a convex problem, and certify it."""

import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest

from lssvm.applications.base import Source
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.config import Config
from lssvm.training.session import learn_on

DATA = Path(__file__).parent.parent / "data"
METHODS = ("n-slack", "cutting-plane", "bundle", "proximal", "dual-coordinate")
PROBLEMS = {  # options, objective, file, examples taken
    "multiclass, zero-one": ({"name": "multiclass"}, {}, "multiclass/train.txt", 60),
    "multiclass, loss matrix, slack": (
        {"name": "multiclass", "loss": str(DATA / "multiclass/losses.txt")},
        {"rescaling": "slack"},
        "multiclass/train.txt",
        60,
    ),
    "taxonomy, tree loss": (
        {"name": "taxonomy", "taxonomy": str(DATA / "taxonomy/taxonomy.txt")},
        {},
        "taxonomy/train.txt",
        60,
    ),
    "sequence, Hamming": ({"name": "sequence", "templates": ["word"]}, {}, "sequence", 25),
    "sequence, Hamming, slack": (
        {"name": "sequence", "templates": ["pos", "shape(word)"], "ends": True},
        {"rescaling": "slack"},
        "sequence",
        40,
    ),
}
EPSILON = 1e-4


def problem(name):
    options, objective, file, count = PROBLEMS[name]
    if options["name"] == "sequence":
        options, file = options | {"columns": ["word", "pos", "label"]}, "sequence/train.conll"
    application = Config.from_dict({"application": options}).create_application()
    examples = application.read([Source(str(DATA / file))])
    return options, {"model": "ssvm", **objective}, application.state(), examples, count


def trained(options, objective, state, examples, method):
    config = Config.from_dict(
        {
            "application": options,
            "objective": objective,
            "solver": {"method": method, "epsilon": EPSILON},
        }
    )
    application = config.create_application()
    application.restore(state)
    return application, learn_on(application, examples, config)


def objective_at(application, examples, w, C):
    """P at w, from the definition of the objective and one look at every example."""
    upper = application.augmented_each(w, examples).uppers
    truth = application.completed_each(w, examples).values
    return 0.5 * w @ w + C * examples.costs @ (upper - truth)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
def test_objectives_agree_within_the_gaps_that_are_certified(name, C):
    """Every lower bound is below every objective, so two differ by one of the gaps at most."""
    options, objective, state, examples, count = problem(name)
    examples = examples.take(np.arange(count))
    examples.costs[:] = np.random.default_rng(0).integers(1, 5, count) / 2
    records = {}
    for method in METHODS:
        application, model = trained(options, {**objective, "C": C}, state, examples, method)
        record = model.record
        assert record["converged"]
        assert record["certified"]
        assert record["gap"] <= EPSILON
        assert record["objective"] == pytest.approx(
            objective_at(application, examples, model.w, C), rel=1e-9
        )
        start = objective_at(application, examples, np.zeros_like(model.w), C)
        assert record["objective"] < 0.99 * start
        records[method] = record
    for one, other in itertools.permutations(records.values(), 2):
        assert one["lower_bound"] <= other["objective"] * (1 + 1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_digits_reach_the_optimum_and_the_predictions_of_crammer_and_singer(method):
    datasets = pytest.importorskip("sklearn.datasets")
    selection = pytest.importorskip("sklearn.model_selection")
    svm = pytest.importorskip("sklearn.svm")
    rows, labels = datasets.load_digits(return_X_y=True)
    split = selection.train_test_split(
        rows / 16, labels, train_size=1000, random_state=0, stratify=labels
    )
    train, test, labels, _ = (np.ascontiguousarray(part) for part in split)
    names = [str(k) for k in range(10)]
    config = Config.from_dict(
        {
            "application": {"name": "multiclass", "bias": 0.0},
            "solver": {"method": method, "epsilon": 1e-6},
        }
    )
    application = config.create_application()
    application.fix(names, 64)
    model = learn_on(application, in_memory(train, labels, names, 10), config)
    peer = svm.LinearSVC(
        C=1.0, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=10**6
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        peer.fit(train, labels)
    scores = train @ peer.coef_.T
    right = scores[np.arange(1000), labels]
    scores[np.arange(1000), labels] -= 1.0
    objective = 0.5 * np.sum(peer.coef_**2) + np.sum(1.0 + scores.max(axis=1) - right)
    assert model.record["gap"] <= 1e-6
    assert model.record["objective"] == pytest.approx(objective, rel=1e-5)
    found = application.predict(model.w, in_memory(test, np.zeros(len(test)), names, 10)).labels
    np.testing.assert_array_equal(found, peer.predict(test))
