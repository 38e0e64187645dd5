"""The kernel of alignments beside an enumeration of all alignments."""

import subprocess
import sys

import alignment_cases as cases
import numpy as np
import pytest

from lssvm.applications.alignment.partners import counted
from lssvm.kernels import _alignment
from lssvm.kernels.alignment_arrays import AlignmentArrays

CODES = 4
MODES = [_alignment.GLOBAL, _alignment.FREE, _alignment.LOCAL]
PROBLEMS = 200


def problem(seed, mode, count=None, most=5):
    """Random pairs of short sequences, scores that are multiples of 1/8, and a model."""
    rng = np.random.default_rng([seed, mode])
    count = count or int(rng.integers(1, 12))
    sizes = rng.integers(1, most + 1, 2 * count)
    places = np.concatenate([[0], np.cumsum(sizes)])
    codes = rng.integers(0, CODES, places[-1]).astype(np.int32)
    x, z = 2 * np.arange(count), 2 * np.arange(count) + 1
    scale = 0 if seed == 0 else 8
    table = rng.integers(-8, 9, (CODES, CODES)) / 8 * (scale > 0)
    model = (*(rng.integers(-scale, scale // 2 + 1, 2) / 8), mode)
    return rng, AlignmentArrays(codes, places, x, z), table, model


def sequences(arrays, p):
    return [
        arrays.codes[arrays.places[s] : arrays.places[s + 1]] for s in (arrays.x[p], arrays.z[p])
    ]


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_the_best_alignment_is_that_of_the_enumeration(mode, kind):
    for seed in range(PROBLEMS if kind == 0 else 20):
        _, arrays, table, model = problem(seed, mode)
        values, partners = _alignment.best(arrays, table, model, kind=kind)
        alone, _ = _alignment.best(arrays, table, model, traced=False, kind=kind)
        np.testing.assert_array_equal(values, alone)
        counts = counted(arrays, partners, model, CODES)
        sums = np.bincount(counts.rows, table.ravel()[counts.pairs], len(values))
        np.testing.assert_array_equal(values, sums + counts.gaps @ model[:2])
        for p in range(len(values)):
            x, z = sequences(arrays, p)
            assert values[p] == max(cases.every_score(x, z, table, model))
            own = cases.pairs_of(partners[arrays.starts[p] : arrays.starts[p + 1]])
            assert max(cases.scores(x, z, table, model, own)) == values[p]


@pytest.mark.parametrize("mode", MODES)
def test_losses_are_added_to_pairs_near_true_ones(mode):
    for seed in range(PROBLEMS):
        rng, arrays, table, model = problem(seed, mode)
        truth = np.full(len(arrays.codes), -1, dtype=np.int32)
        for p in range(len(arrays.x)):
            n, m = arrays.sizes[p]
            chosen = rng.integers(len(cases.alignments(n, m)))
            for i, j in cases.alignments(n, m)[chosen]:
                truth[arrays.places[arrays.x[p]] + i] = j
        bonuses, shift = rng.integers(-8, 1, len(arrays.x)) / 8, int(rng.integers(0, 3))
        values, partners = _alignment.best(arrays, table, model, (truth, bonuses, shift))
        for p in range(len(values)):
            x, z = sequences(arrays, p)
            own = truth[arrays.places[arrays.x[p]] :]

            def bonus(i, j, amount=bonuses[p], own=own, shift=shift):
                return amount * (own[i] >= 0 and abs(own[i] - j) <= shift)

            assert values[p] == max(cases.every_score(x, z, table, model, bonus))
            found = cases.pairs_of(partners[arrays.starts[p] : arrays.starts[p + 1]])
            assert max(cases.scores(x, z, table, model, found, bonus)) == values[p]


@pytest.mark.parametrize("mode", MODES)
def test_sums_and_expectations_are_those_of_the_enumeration(mode):
    for seed in range(PROBLEMS):
        rng, arrays, table, model = problem(seed, mode)
        weights = rng.random(len(arrays.x))
        values, pairs, gaps = _alignment.sums(arrays, table, model, weights)
        plain, *_ = _alignment.sums(arrays, table, model)
        np.testing.assert_array_equal(values, plain)
        for p in range(len(values)):
            x, z = sequences(arrays, p)
            expected = cases.log_sum(cases.every_score(x, z, table, model))
            np.testing.assert_allclose(values[p], expected, rtol=1e-10, atol=1e-12)
        if seed % 20:
            continue
        step = 1e-5

        def total(table, model, arrays=arrays, weights=weights):
            return weights @ _alignment.sums(arrays, table, model)[0]

        for a, b in np.ndindex(CODES, CODES):
            move = np.zeros((CODES, CODES))
            move[a, b] = step
            slope = (total(table + move, model) - total(table - move, model)) / (2 * step)
            assert pairs[a, b] == pytest.approx(slope, abs=1e-7)
        for k in range(2):
            up, down = list(model), list(model)
            up[k], down[k] = model[k] + step, model[k] - step
            slope = (total(table, up) - total(table, down)) / (2 * step)
            assert gaps[k] == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize("mode", MODES)
def test_no_result_depends_on_the_companions(mode):
    _, arrays, table, model = problem(7, mode, count=19, most=40)
    table = table + 1 / 3
    values, partners = _alignment.best(arrays, table, model)
    sums, *_ = _alignment.sums(arrays, table, model)
    for p in range(len(values)):
        one = AlignmentArrays(arrays.codes, arrays.places, arrays.x[p : p + 1], arrays.z[p : p + 1])
        value, own = _alignment.best(one, table, model)
        assert value[0] == values[p]
        np.testing.assert_array_equal(own, partners[arrays.starts[p] : arrays.starts[p + 1]])
        assert _alignment.sums(one, table, model)[0][0] == sums[p]
        for kind in (1, 2):
            other, again = _alignment.best(one, table, model, kind=kind)
            assert other[0] == value[0]
            np.testing.assert_array_equal(again, own)


@pytest.mark.parametrize("mode", MODES)
def test_expected_features_add_up_over_many_rows(mode):
    """Blocks of rows are computed again: their expectations are the slopes of the sum."""
    _, arrays, table, model = problem(3, mode, count=3, most=90)
    weights = np.array([1.0, 0.5, 2.0])
    _, pairs, gaps = _alignment.sums(arrays, table, model, weights)
    rng = np.random.default_rng(0)
    move, of_gaps = rng.normal(size=table.shape), rng.normal(size=2)

    def total(step):
        moved = (*(np.array(model[:2]) + step * of_gaps), mode)
        return weights @ _alignment.sums(arrays, table + step * move, moved)[0]

    slope = (total(1e-5) - total(-1e-5)) / 2e-5
    assert np.sum(pairs * move) + gaps @ of_gaps == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_expectations_of_long_sequences_do_not_depend_on_blocks_of_blocks(mode, monkeypatch):
    for most in (2, 30, 300):
        _, arrays, table, model = problem(5, mode, count=9, most=most)
        weights = np.linspace(0.5, 1.5, 9)
        every = _alignment.sums(arrays, table, model, weights)
        with monkeypatch.context() as patch:
            patch.setattr(_alignment, "MOST_SUMS", 1)
            again = _alignment.sums(arrays, table, model, weights)
        for mine, other in zip(every, again, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


MEMORY = """
import resource, sys
import numpy as np
from lssvm.kernels import _alignment
from lssvm.kernels.alignment_arrays import AlignmentArrays
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
rng, n = np.random.default_rng(0), int(sys.argv[1])
codes, places = rng.integers(0, 4, 4 * n).astype(np.int32), n * np.arange(5)
arrays = AlignmentArrays(codes, places, np.array([0, 2]), np.array([1, 3]))
table, model = np.eye(4) - 0.5, (-1.0, -0.5, _alignment.LOCAL)
_alignment.MOST_SUMS = 1 << 20
before = peak()
if sys.argv[2] == "best":
    _alignment.best(arrays, table, model)
else:
    _alignment.sums(arrays, table, model, np.ones(2))
print(peak() - before)
"""


@pytest.mark.parametrize(("what", "letters", "most"), [("best", 6000, 50), ("sums", 1500, 17)])
def test_memory_does_not_grow_with_the_square_of_the_length(what, letters, most):
    """One call of one thread, in MB. All bits of 6,000 letters are 180 MB; the rows that are kept
    for the sums of 1,500 letters are 26 MB without blocks of blocks."""
    command = [sys.executable, "-c", MEMORY, str(letters), what]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert float(told) < most


def test_arrays_that_do_not_fit_are_refused():
    codes, places = np.zeros(4, np.int32), np.array([0, 2, 4])
    one = np.array([0])
    for wrong in (
        (codes, np.array([0, 0, 4]), one, one + 1),
        (codes, np.array([0, 2, 5]), one, one + 1),
        (codes, places, one, one + 2),
        (codes - 1, places, one, one + 1),
        (codes, places, one, np.array([0, 1])),
    ):
        with pytest.raises(ValueError, match="AlignmentArrays"):
            AlignmentArrays(*wrong)
    arrays = AlignmentArrays(codes + 3, places, one, one + 1)
    with pytest.raises(ValueError, match="3 x 3 scores of 4 codes"):
        _alignment.best(arrays, np.zeros((3, 3)), (0.0, 0.0, _alignment.GLOBAL))


@pytest.mark.parametrize("most", [1, 700])
@pytest.mark.parametrize("mode", MODES)
def test_long_sequences_are_followed_back_in_blocks_of_rows(mode, most, monkeypatch):
    _, arrays, table, model = problem(9, mode, count=17, most=60)  # the last one is alone
    truth = np.arange(len(arrays.codes), dtype=np.int32) % 7 - 1
    losses = (truth, -np.linspace(0.5, 1.5, 17), 1)
    every = [_alignment.best(arrays, table, model, given) for given in (None, losses)]
    monkeypatch.setattr(_alignment, "MOST_TRACE", most)
    for given, (values, partners) in zip((None, losses), every, strict=True):
        again, others = _alignment.best(arrays, table, model, given)
        np.testing.assert_array_equal(again, values)
        np.testing.assert_array_equal(others, partners)
