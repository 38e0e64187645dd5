"""Sums over sparse rows by column: against matrix products, for blocks, threads and costs."""

import numpy as np
import pytest
from scipy import sparse
from test_sequence_inference import large

from lssvm import oracle
from lssvm.applications.row_sums import by_column, summed
from lssvm.executor import Executor
from lssvm.oracle import DataOracle


def one_by_one(function, parts):
    return [function(part) for part in parts]


@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize("shape", [(50, 7), (3, 200), (0, 4), (5, 1), (30_000, 5)])
def test_sums_equal_the_product_with_the_turned_matrix(shape, ones):
    rng = np.random.default_rng([*shape, ones])
    rows = sparse.random_array(shape, density=0.3, format="csr", rng=rng)
    rows.data[:] = 1.0 if ones else np.rint(8 * rng.normal(size=rows.nnz)) / 8
    starts, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    columns = by_column(starts, indices, rows.data, shape[1])
    assert len(columns.values) == (0 if ones else rows.nnz)
    coefficients = np.rint(8 * rng.normal(size=(shape[0], 3))) / 8
    found = np.full((shape[1], 3), np.nan)
    summed(columns, coefficients, found, one_by_one)
    np.testing.assert_array_equal(found, rows.T @ coefficients)


@pytest.mark.parametrize("count", [40, 25_000])
@pytest.mark.parametrize("ones", [True, False])
def test_a_column_is_summed_in_the_order_of_its_rows_however_many_are_read_at_a_time(count, ones):
    rng = np.random.default_rng(count)
    rows = sparse.random_array((count, 4), density=0.3, format="csr", rng=rng)
    rows.data[:] = 1.0 if ones else rng.normal(size=rows.nnz)
    coefficients = rng.normal(size=(count, 9))
    columns = by_column(rows.indptr.astype(np.int64), rows.indices, rows.data, 4)
    found, turned = np.empty((4, 9)), rows.tocsc()
    summed(columns, coefficients, found, lambda function, parts: [function((0, 4))])
    for column in range(4):
        own = slice(*turned.indptr[column : column + 2])
        terms = turned.data[own, None] * coefficients[turned.indices[own]]
        np.testing.assert_array_equal(found[column], np.cumsum(terms, axis=0)[-1])


def test_a_block_of_rows_has_columns_of_its_own():
    rows = sparse.random_array((30, 9), density=0.4, format="csr", rng=np.random.default_rng(1))
    starts, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    columns = by_column(starts[10:21], indices, rows.data, 9)
    found = np.empty((9, 10))
    summed(columns, np.eye(10), found, one_by_one)
    np.testing.assert_array_equal(found, rows[10:20].toarray().T)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_pass_of_a_random_field_has_the_same_bytes_in_blocks_and_threads(threads, monkeypatch):
    rng = np.random.default_rng(4)
    app, _, thin = large(rng, L=6, n=80, model="crf")
    w = rng.normal(size=app.dimension(thin))
    whole, value = app.augmented(w, thin)
    monkeypatch.setattr(oracle, "BLOCK_RULES", ((50, 64),))
    with Executor(threads) as executor:
        data = DataOracle(app, thin, executor)
        assert len(data.blocks) > 3
        plane, upper = data.augmented(w)
    emissions = 6 * thin.width
    np.testing.assert_array_equal(plane.gradient[:emissions], whole.gradient[:emissions])
    np.testing.assert_allclose(plane.gradient, whole.gradient, rtol=1e-13)
    assert upper == pytest.approx(value, rel=1e-13)


def test_the_curvature_of_tokens_alone_is_the_diagonal_of_the_hessian():
    rng = np.random.default_rng(5)
    app, _, thin = large(rng, L=4, width=6, n=40, model="crf")
    thin = thin.take(np.flatnonzero(np.diff(thin.offsets) == 1))
    assert len(set(thin.costs)) > 1
    w, small = rng.normal(size=app.dimension(thin)), 1e-5
    data = DataOracle(app, thin, Executor(1))
    data.augmented(w)
    found = data.curvature(w)
    for k in range(4 * thin.width):
        step = np.zeros(len(w))
        step[k] = small
        above, below = (data.augmented(w + s * step)[0].gradient[k] for s in (1, -1))
        assert found[k] == pytest.approx((above - below) / (2 * small), abs=1e-6)
    assert np.all(found >= 0.0)


def test_dense_rows_tell_no_curvature():
    rng = np.random.default_rng(6)
    app, dense, _ = large(rng, L=4, model="crf")
    assert DataOracle(app, dense, Executor(1)).curvature(np.zeros(app.dimension(dense))) is None


@pytest.mark.parametrize(("model", "least"), [("ssvm", 3), ("crf", 10)])
def test_a_pass_of_a_few_milliseconds_is_cut_into_blocks_for_threads(model, least):
    rng = np.random.default_rng(7)
    app, dense, thin = large(rng, L=9, n=2_000, model=model)
    for examples in (dense, thin):
        work = app.work(examples)
        assert len(work) == len(examples)
        data = DataOracle(app, examples, Executor(1))
        assert len(data.blocks) >= least
        count = min(16, int(work.sum() // 250_000))
        assert len(data.blocks) == count + count % 2


def test_blocks_with_long_sums_of_their_own_are_few_and_those_that_share_one_are_not():
    rng = np.random.default_rng(8)
    app, _, thin = large(rng, L=9, n=400, model="ssvm")
    soft = large(rng, L=9, n=400, model="crf")[0]
    rows = sparse.csr_array((thin.values, thin.indices, thin.starts), (len(thin.labels), 10**6))
    wide = thin.with_inputs(rows)
    assert app.work(wide).sum() < 0.01 * app.work(thin).sum()
    assert soft.work(wide).sum() == soft.work(thin).sum()
