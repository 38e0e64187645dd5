"""Features that are equal in all training examples are trained as one."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from lssvm.applications import equal_features
from lssvm.applications.equal_features import Merged, sums_of
from lssvm.applications.feature_space import Linear
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.applications.multiclass.multiclass import Multiclass
from lssvm.applications.occurring import Occurring
from lssvm.config import Config
from lssvm.training.session import learn_on

LAST = 1  # feature that stays alone


def matrix_of(seed, rows=9, width=30):
    """Sparse rows, many of whose features are equal; some rows are equal, some features empty."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, size=(rows, 6)) * rng.choice([0.5, 1.0, -2.0], size=(rows, 6))
    dense = kinds[:, rng.integers(6, size=width)]
    dense[:, rng.random(width) < 0.2] = 0.0
    dense[-2:] = dense[:2]
    return sparse.csr_array(dense)


def given(inputs):
    """Examples that are their rows alone."""
    return SimpleNamespace(inputs=inputs, with_inputs=given)


def merged(matrix, whole=None):
    sums = sums_of(matrix)
    return Merged.of(*sums, matrix.shape[1], 2, whole or Linear())


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Merging is never too little to be worth its cost."""
    monkeypatch.setattr(equal_features, "LEAST", 0)
    monkeypatch.setattr(equal_features, "SHARE", 1.0)
    monkeypatch.setattr(Multiclass, "merges", True)


@pytest.mark.parametrize(("chunk", "table"), [(3, 0), (equal_features.CHUNK, 1_000)])
@pytest.mark.parametrize("seed", range(6))
def test_groups_are_the_features_with_equal_columns(seed, chunk, table, monkeypatch):
    monkeypatch.setattr(equal_features, "CHUNK", chunk)
    monkeypatch.setattr(equal_features, "TABLE", table)
    matrix = matrix_of(seed)
    dense, found = matrix.toarray(), {}
    for place in range(matrix.shape[1]):
        if np.any(dense[:, place]):
            key = place if place == matrix.shape[1] - LAST else dense[:, place].tobytes()
            found.setdefault(key, []).append(place)
    expected = np.full(matrix.shape[1], -1)
    for group, own in enumerate(found.values()):
        expected[own] = group
    space = merged(matrix)
    np.testing.assert_array_equal(space.groups, expected)
    np.testing.assert_array_equal(space.counts, [len(own) for own in found.values()])


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_shares_are_those_of_the_whole_in_any_order_of_rows(seed):
    matrix = matrix_of(seed, rows=12)
    shares = [sums_of(matrix[rows]) for rows in ([7, 8, 9, 10, 11], [3, 0, 1], [2, 6, 5, 4])]
    features, sums = (np.concatenate(own) for own in zip(*shares, strict=True))
    space, whole = Merged.of(features, sums, 30, 2, Linear()), merged(matrix)
    np.testing.assert_array_equal(space.groups, whole.groups)


@pytest.mark.parametrize("occurring", [False, True])
def test_scores_norms_and_weights_are_those_of_all_features(occurring):
    matrix, rng = matrix_of(1), np.random.default_rng(0)
    own = np.flatnonzero(np.diff(matrix.tocsc().indptr))
    whole = Occurring(own, 30, 2) if occurring else None
    space = merged(matrix, whole=whole)
    w = rng.normal(size=2 * len(space.counts) + 3)
    last, weights = space.reduced(w)
    linear = weights if whole is None else whole.linear(weights)
    assert last is whole if occurring else isinstance(last, Linear)
    assert len(weights) == len(w) + space.saved
    np.testing.assert_allclose(space.restricted(linear), w, rtol=1e-14)
    assert float(weights @ weights) == pytest.approx(space.squared_norm(w))
    others = sparse.csr_array(rng.normal(size=(5, 30)))  # of no group in particular
    for rows in (matrix, others):
        shown, same = space.prepared(given(rows), w)
        scores = shown.inputs @ w[:-3].reshape(-1, 2)
        np.testing.assert_allclose(scores, rows @ linear[:-3].reshape(-1, 2), atol=1e-12)
        assert same is w
    assert len(space.names([str(k) for k in range(63)])) == len(w)
    assert space.names([str(k) for k in range(63)])[-1] == "62"


@pytest.mark.parametrize("method", ["bundle", "n-slack", "dual-coordinate"])
def test_a_model_is_that_of_features_that_are_not_merged(method, monkeypatch):
    matrix, rng = matrix_of(3, rows=60), np.random.default_rng(1)
    labels, config = (
        rng.integers(3, size=60),
        Config.from_dict(
            {"application": "multiclass", "solver": {"method": method, "epsilon": 1e-8}}
        ),
    )

    def trained(least):
        monkeypatch.setattr(equal_features, "LEAST", least)
        monkeypatch.setattr("lssvm.applications.feature_space.LEAST", 0)
        application = config.create_application()
        application.fix(("a", "b", "c"), 30)
        examples = in_memory(matrix, labels, ("a", "b", "c"), 3)
        return learn_on(application, examples, config)

    model, other = trained(0), trained(10**9)
    assert len(model.w) == len(other.w)
    np.testing.assert_allclose(model.w, other.w, atol=1e-3)
    assert model.record["objective"] == pytest.approx(other.record["objective"], rel=1e-6)
