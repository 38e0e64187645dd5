"""Rows of tokens are looked at without SciPy, whose import takes longer than a small run."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from lssvm.applications.sequence.examples import packed
from lssvm.applications.sequence.sequence import SequenceLabelling, SequenceOptions
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.problem import LARGEST, CompiledByExample, KernelRows

ROOT = Path(__file__).parents[1]


def application():
    return SequenceLabelling(SequenceOptions(format="svm_hmm"))


def examples_of(matrix):
    tags = ["a", "b"] * (matrix.shape[0] // 2)
    return packed(matrix, tags, np.array([0, 2, matrix.shape[0]]), Vocabulary(("a", "b"), 7))


def test_sparse_sequences_are_learnt_without_scipy_sparse(tmp_path):
    code = (
        "import sys; from lssvm.cli.program import learn\n"
        f"sys.argv = ['lssvm-learn', 'configs/sequence.yaml', {str(tmp_path / 'm')!r}, '-q']\n"
        "try:\n    learn()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print('scipy.sparse' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("alike", [True, False])
def test_what_is_seen_in_flat_arrays_is_what_their_matrix_has(dense, start, alike):
    rng = np.random.default_rng(start)
    rows = (1.0 if alike else rng.normal(size=(8, 7))) * (rng.random((8, 7)) < 0.4)
    examples = examples_of(rows if dense else sparse.csr_array(rows)).slice(start, 2)
    own, squares = application(), float(np.sum(rows**2))
    counts, sums = CompiledByExample.row_sums(own, examples)
    assert counts == own.row_sums(examples).counts == len(rows) - 2 * start
    np.testing.assert_allclose(own.row_sums(examples).sums, sums, rtol=1e-12)
    mean = rows[2 * start :].mean(axis=0)
    expected = counts * float(mean @ mean) / squares
    assert own.common_share(examples, squares) == pytest.approx(expected, rel=1e-12)
    assert own.common_share(examples, 0.0) == 0.0
    assert own.has_example_oracle(examples)
    found, expected = own.features_of_values(examples), KernelRows.features_of_values(own, examples)
    if dense:
        assert found is expected is None
        return
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1] == 7
    assert examples.inputs.toarray().tolist() == rows[2 * start :].tolist()


@pytest.mark.parametrize("dense", [True, False])
def test_rows_whose_squares_overflow_are_not_for_inference_in_c(dense):
    rows = np.zeros((4, 7))
    rows[1, 3] = -LARGEST
    assert not application().has_example_oracle(
        examples_of(rows if dense else sparse.csr_array(rows))
    )


@pytest.mark.parametrize(
    ("indices", "starts", "ordered"),
    [
        ([0, 3, 1, 2], [0, 2, 2, 4, 4], True),
        ([0, 3, 3, 1], [0, 2, 2, 4, 4], False),
        ([3, 0, 1, 2], [0, 2, 2, 4, 4], False),
        ([6, 5, 4, 3], [0, 1, 2, 3, 4], True),
        ([], [0, 0, 0, 0, 0], True),
    ],
)
def test_indices_increase_within_rows(indices, starts, ordered):
    parts = (np.ones(len(indices)), np.array(indices, dtype=np.int32), np.array(starts))
    examples = examples_of(sparse.csr_array(parts, shape=(4, 7)))
    assert examples.is_sorted == ordered
    assert bool(examples.inputs.has_sorted_indices) == ordered
