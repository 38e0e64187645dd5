"""PrecisionRanker: queries by qid, by group and as a list; the model of the command."""

import pickle

import numpy as np
import pytest
from estimator_cases import check_same_model
from scipy import sparse
from sklearn import model_selection
from sklearn.utils import estimator_checks

from lssvm.estimators import PrecisionRanker

RNG = np.random.default_rng(0)
QID = np.repeat([7, 3, 5, 4], 8)
X = np.round(RNG.normal(size=(32, 4)), 3)
Y = (X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * RNG.normal(size=32) > 0.5).astype(int)
GROUPS = [8, 8, 8, 8]


def svmlight(X, y, qid):
    rows = (" ".join(f"{j}:{v}" for j, v in enumerate(row, 1) if v) for row in X)
    return "".join(f"{a} qid:{b} {c}\n" for a, b, c in zip(y, qid, rows, strict=True))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_all_checks_of_scikit_learn_pass():
    # Their labels are of any kind, and their data may have two rows.
    found = estimator_checks.check_estimator(PrecisionRanker(k=1, relevant_from=None), on_skip=None)
    assert {check["status"] for check in found} <= {"passed", "skipped"}


@pytest.mark.parametrize("scaling", ["none", "standard", "query_range"])
@pytest.mark.parametrize("order", [np.arange(32), RNG.permutation(32)])
def test_the_model_is_that_of_the_command(scaling, order, tmp_path):
    x, y, qid = X[order], Y[order], QID[order]
    estimator = PrecisionRanker(k=3, C=2.0, scaling=scaling).fit(x, y, qid=qid)
    check_same_model(
        estimator,
        tmp_path,
        {"train.svm": svmlight(x, y, qid)},
        application={"name": "precision_at_k", "k": 3, "scaling": scaling},
        objective={"C": 2.0},
    )


def test_rows_of_few_values_are_stored_as_those_of_a_file(tmp_path):
    thin = np.where(RNG.random((32, 20)) < 0.1, 1.5, 0.0)
    thin[:, 19] = Y
    estimator = PrecisionRanker(k=2).fit(sparse.csr_array(thin), Y, qid=QID)
    check_same_model(
        estimator,
        tmp_path,
        {"train.svm": svmlight(thin, Y, QID)},
        application={"name": "precision_at_k", "k": 2},
    )


def test_queries_by_qid_by_group_and_as_a_list_are_the_same():
    by_qid = PrecisionRanker(k=3).fit(X, Y, qid=QID)
    by_group = PrecisionRanker(k=3).fit(X, Y, group=GROUPS)
    as_list = PrecisionRanker(k=3).fit(np.split(X, 4), np.split(Y, 4))
    np.testing.assert_array_equal(by_qid.coef_, by_group.coef_)
    np.testing.assert_array_equal(by_qid.coef_, as_list.coef_)
    scores = as_list.predict(np.split(X, 4))
    assert [len(own) for own in scores] == GROUPS
    np.testing.assert_allclose(np.concatenate(scores), by_qid.predict(X), rtol=1e-12)


def test_scores_are_in_the_order_of_the_rows():
    estimator = PrecisionRanker(k=3).fit(X, Y, qid=QID)
    order = RNG.permutation(32)
    np.testing.assert_allclose(estimator.predict(X), X @ estimator.coef_)
    found = estimator.predict(X[order], qid=QID[order])
    np.testing.assert_allclose(found, estimator.predict(X)[order], rtol=1e-12)


def test_the_score_is_the_precision_of_the_first_k():
    estimator = PrecisionRanker(k=3).fit(X, Y, qid=QID)
    found = estimator.predict(X)
    precision = [
        Y[rows][np.argsort(-found[rows], kind="stable")[:3]].mean()
        for rows in (np.flatnonzero(query == QID) for query in np.unique(QID))
    ]
    assert estimator.score(X, Y, qid=QID) == pytest.approx(np.mean(precision))
    assert estimator.metrics(X, Y, group=GROUPS)["P@3"] == pytest.approx(np.mean(precision))


def test_a_search_splits_a_list_between_queries():
    queries, labels = np.split(X, 4), np.split(Y, 4)
    search = model_selection.GridSearchCV(PrecisionRanker(k=3), {"C": [1e-3, 1.0]}, cv=2)
    search.fit(queries, labels)
    best = search.best_estimator_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(best)).predict(X), best.predict(X))


def test_weights_of_queries_are_their_costs():
    queries, labels = np.split(X, 4), np.split(Y, 4)
    twice = PrecisionRanker(k=3, epsilon=1e-6).fit([*queries, queries[0]], [*labels, labels[0]])
    weighed = PrecisionRanker(k=3, epsilon=1e-6).fit(queries, labels, query_weight=[2, 1, 1, 1])
    assert weighed.objective_ == pytest.approx(twice.objective_, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"qid": QID, "group": GROUPS}, "qid and group are given; expected one of them"),
        ({"group": [8, 8]}, "group adds up to 16; expected 32, as many as rows"),
        ({"qid": QID[:5]}, "5 labels for 32 examples; expected one for each"),
        ({"qid": QID, "query_weight": [1, 1]}, "costs: 2 for 4 examples; expected one for each"),
        ({"qid": QID, "query_weight": [1, 1, 1, -1]}, "costs: -1.0; expected finite numbers"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(arguments, message):
    with pytest.raises(ValueError, match=message):
        PrecisionRanker(k=3).fit(X, Y, **arguments)
