"""StructuralSVC: scikit-learn's own checks, and the model of the command."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimator_cases import check_same_model
from scipy import sparse
from sklearn import model_selection, pipeline, preprocessing, svm
from sklearn.utils import estimator_checks

from lssvm.estimators import StructuralSVC

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(40, 5)), 3)
Y = (X @ RNG.normal(size=(5, 3))).argmax(axis=1)
WORDS = np.array(["cat", "dog", "ant"])[Y]


def svmlight(X, y):
    rows = (" ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) for row in X)
    return "".join(f"{label} {row}\n" for label, row in zip(y, rows, strict=True))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_all_checks_of_scikit_learn_pass():
    # A gap of 1e-10: one of the checks compares two trainings to seven digits.
    estimator = StructuralSVC(epsilon=1e-10, solver="cutting-plane")
    found = estimator_checks.check_estimator(estimator, on_skip=None)
    assert {check["status"] for check in found} <= {"passed", "skipped"}
    assert [c["check_name"] for c in found if c["status"] == "skipped"] == ["check_array_api_input"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_weights_of_examples_are_repetitions_with_the_solver_that_is_chosen():
    estimator = StructuralSVC(epsilon=1e-10)
    estimator_checks.check_sample_weight_equivalence_on_dense_data("StructuralSVC", estimator)
    estimator_checks.check_sample_weight_equivalence_on_sparse_data("StructuralSVC", estimator)


@pytest.mark.parametrize(
    ("parameters", "application", "objective"),
    [
        ({}, {}, {}),
        ({"scaling": "standard", "bias": 3.0}, {"scaling": "standard", "bias": 3.0}, {}),
        ({"class_weight": "balanced"}, {"class_costs": "balanced"}, {}),
        ({"rescaling": "slack", "C": 0.3}, {}, {"rescaling": "slack", "C": 0.3}),
    ],
)
def test_the_model_is_that_of_the_command(parameters, application, objective, tmp_path):
    estimator = StructuralSVC(**parameters).fit(X, WORDS)
    check_same_model(
        estimator,
        tmp_path,
        {"train.svm": svmlight(X, WORDS)},
        application={"name": "multiclass", **application},
        objective={"C": 1.0, **objective},
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_of_few_values_are_stored_as_those_of_a_file(kind, tmp_path):
    thin = np.where(RNG.random((40, 30)) < 0.1, 1.5, 0.0)
    thin[0, 29] = 2.0  # a file has as many features as its highest index
    estimator = StructuralSVC(C=2.0).fit(kind(thin), Y)
    check_same_model(
        estimator,
        tmp_path,
        {"train.svm": svmlight(thin, Y)},
        application="multiclass",
        objective={"C": 2.0},
    )


def test_a_taxonomy_of_paths_is_that_of_the_command(tmp_path):
    labels = np.array(["a/b/x", "a/b/y", "a/c/z"])[Y]
    estimator = StructuralSVC(taxonomy="paths").fit(X, labels)
    check_same_model(
        estimator, tmp_path, {"train.svm": svmlight(X, labels)}, application="taxonomy"
    )
    assert list(estimator.classes_) == sorted(set(labels))
    assert estimator.score(X, labels) > 0.8


def test_a_taxonomy_of_parents_is_that_of_the_command(tmp_path):
    parents = {"cat": "pet", "dog": "pet", "ant": "insect"}
    lines = "".join(f"{child} {parent}\n" for child, parent in parents.items())
    estimator = StructuralSVC(taxonomy=parents).fit(X, WORDS)
    files = {"train.svm": svmlight(X, WORDS), "tree.txt": lines}
    check_same_model(
        estimator, tmp_path, files, application={"name": "taxonomy", "taxonomy": "tree.txt"}
    )


def test_a_matrix_of_costs_is_that_of_the_command(tmp_path):
    costs = [[0, 1, 5], [1, 0, 5], [2, 2, 0]]  # in the order of the classes: ant, cat, dog
    names = ["ant", "cat", "dog"]
    rows = [f"{name} {' '.join(map(str, row))}" for name, row in zip(names, costs, strict=True)]
    estimator = StructuralSVC(loss=costs).fit(X, WORDS)
    files = {"train.svm": svmlight(X, WORDS), "loss.txt": "\n".join([" ".join(names), *rows])}
    check_same_model(
        estimator, tmp_path, files, application={"name": "multiclass", "loss": "loss.txt"}
    )


def test_decisions_are_those_of_the_machine_of_crammer_and_singer():
    """Another implementation of the same objective, without bias and with C for each example."""
    ours = StructuralSVC(C=0.5, bias=0.0, epsilon=1e-9).fit(X, Y)
    theirs = svm.LinearSVC(
        C=0.5, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=100_000
    ).fit(X, Y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


def test_numbers_as_labels_are_sorted_by_value_and_words_by_letters():
    many = np.array([2, 10, 9])[Y]
    numbers = StructuralSVC(C=10).fit(X, many)
    assert numbers.classes_.tolist() == [2, 9, 10]
    assert np.mean(numbers.predict(X) == many) > 0.9
    words = StructuralSVC(C=10).fit(X, many.astype(str))
    assert words.classes_.tolist() == ["10", "2", "9"]
    np.testing.assert_array_equal(words.predict(X), numbers.predict(X).astype(str))
    np.testing.assert_array_equal(
        words.decision_function(X), numbers.decision_function(X)[:, [2, 0, 1]]
    )


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_tables_have_names(table):
    frame = table({f"f{j}": X[:, j] for j in range(5)})
    estimator = StructuralSVC().fit(frame, WORDS)
    assert estimator.feature_names_in_.tolist() == ["f0", "f1", "f2", "f3", "f4"]
    assert estimator.n_features_in_ == 5
    np.testing.assert_array_equal(
        estimator.predict(frame), StructuralSVC().fit(X, WORDS).predict(X)
    )


def test_it_is_part_of_a_pipeline_and_of_a_search_in_parallel():
    steps = pipeline.make_pipeline(preprocessing.StandardScaler(), StructuralSVC())
    search = model_selection.GridSearchCV(
        steps, {"structuralsvc__C": [1e-4, 10.0]}, cv=3, n_jobs=2
    ).fit(X, Y)
    assert search.best_params_ == {"structuralsvc__C": 10.0}
    assert model_selection.cross_val_score(StructuralSVC(C=10), X, Y, cv=3).mean() > 0.7


def test_weights_of_examples_are_costs():
    cost = np.where(WORDS == "cat", 5.0, 1.0)
    weighed = StructuralSVC(epsilon=1e-9).fit(X, WORDS, sample_weight=cost)
    by_class = StructuralSVC(epsilon=1e-9, class_weight={"cat": 5.0}).fit(X, WORDS)
    np.testing.assert_array_equal(weighed.model_.w, by_class.model_.w)
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        StructuralSVC().fit(X, WORDS, sample_weight=-cost)


def test_threads_do_not_change_the_model():
    one, two = (StructuralSVC(n_jobs=jobs).fit(X, Y).model_.w for jobs in (None, 2))
    assert one.tobytes() == two.tobytes()


def test_a_pickle_holds_the_file_of_the_model():
    estimator = StructuralSVC().fit(X, WORDS)
    text = pickle.dumps(estimator)
    assert b"lssvm-model" in text
    again = pickle.loads(text)
    np.testing.assert_array_equal(again.decision_function(X), estimator.decision_function(X))
    assert again.model_.record == estimator.model_.record


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": -1}, "StructuralSVC: objective.C: expected a number greater than 0, got -1"),
        ({"n_jobs": 0}, "n_jobs is 0; expected a number of threads, or -1 for all cores"),
        ({"settings": {"solver.stepp": 1}}, r"solver.stepp: unknown key; did you mean 'step'\?"),
        ({"loss": [[0, 1], [1, 0]]}, r"loss has the shape \(2, 2\) for 3 classes"),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(parameters, message):
    with pytest.raises(ValueError, match=message) as caught:
        StructuralSVC(**parameters).fit(X, Y)
    assert "\n" not in str(caught.value)
