"""The experiments of alignment, on little data."""

import os
from pathlib import Path

import numpy as np
import pytest

from experiments.papers import found
from experiments.tsochantaridis_2004 import alignment, alignment_balibase
from lssvm.errors import DataError
from lssvm.simulation import alignment as simulate

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data")) / "balibase3"
OTHER = alignment.Setting("random decoys", length=20, decoys=2, random=True)
PLAN = alignment.Plan((1, 3), 2, 8, (OTHER,), (1, 2), 2, 6)


@pytest.fixture(scope="module")
def rows():
    tasks = [alignment.Task(draw, setting) for setting in (None, OTHER) for draw in range(2)]
    return [row for task in tasks for row in alignment.solve(PLAN, task)]


def test_a_draw_has_a_row_for_each_number_of_natives(rows):
    assert [(row["draw"], row["n"]) for row in rows[:4]] == [(0, 1), (0, 3), (1, 1), (1, 3)]
    assert [(row["draw"], row["n"]) for row in rows[4:]] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert {row["setting"] for row in rows[4:]} == {"random decoys"}
    for row in rows[:4]:
        assert 0 < row[alignment.LITERAL] <= row[alignment.BOUND]
    for row in rows:
        assert row["converged"]
        assert row["train error, SVM"] == 0.0
        assert 0 < row["kept"] <= row["added"]
        assert len(row["test error, generative"]) == len(alignment.PENALTIES)
    assert rows[4:6] == alignment.solve(PLAN, alignment.Task(0, OTHER))
    assert rows[2:4] == alignment.solve(PLAN, alignment.Task(1))


def test_the_table_says_which_model_is_better(rows):
    text, summary = alignment.report(rows, PLAN)
    assert "constraints added: n^" in text
    cells = [{"n": n, "difference": pair} for n, pair in ((1, (5, 1)), (2, (-5, 1)), (4, (1, 1)))]
    assert alignment.verdicts(cells, "difference") == [
        "the SVM is better: n = 1",
        "the generative model is better: n = 2",
        "no difference: n = 4",
    ]
    assert [cell["n"] for cell in summary["cells"]] == [1, 3]
    shown = found.alignment(summary).rows["n = 3"][0]
    assert shown[0] == np.mean([row["test error, SVM"] for row in rows[:4] if row["n"] == 3])
    assert [(cell["setting"], cell["n"]) for cell in summary["settings"]] == [
        ("random decoys", 1), ("random decoys", 2),
    ]  # fmt: skip
    for cell in summary["cells"]:
        own = [row for row in rows[:4] if row["n"] == cell["n"]]
        errors = np.array([row["test error, generative"] for row in own])
        assert cell["best penalty each"][0] == errors.min(axis=1).mean()
        assert cell["best penalty each"][0] <= cell["test error, generative"][0]
    mean = np.mean([row["test error, generative"] for row in rows[:4]], axis=0)
    assert alignment.penalty_of(rows[:4]) == np.argmin(mean)


def test_the_theorems_bound_counts_the_operations_of_the_longest_pair():
    application = alignment.config_of().create_application()
    native, homolog, decoy = (np.arange(size) for size in (3, 4, 6))
    drawn = simulate.Example(native, homolog, np.array([[0, 0]]), [decoy])
    examples = alignment.packed(application, [drawn])
    found = alignment.to_the_letter(application, alignment.config_of(2.0), examples)
    squares = 2.0 * (3 + 6) ** 2
    assert found[alignment.BOUND] == pytest.approx((2.0 * squares + 1.0) / alignment.VIOLATION**2)


def test_random_decoys_have_the_lengths_of_others():
    plain, changed = (
        alignment.drawn_of(PLAN, alignment.Task(0, OTHER._replace(random=random)))[1]
        for random in (False, True)
    )
    assert np.array_equal(plain[0].homolog, changed[0].homolog)
    for one, other in zip(plain, changed, strict=True):
        assert [len(z) for z in one.decoys] == [len(z) for z in other.decoys]
        assert not all(map(np.array_equal, one.decoys, other.decoys))


def test_log_odds_are_those_of_counts_with_one_added():
    application = alignment.config_of().create_application()
    x = np.array([0, 0, 1])
    pairs = np.array([[0, 0], [1, 1], [2, 2]])
    drawn = [simulate.Example(x, np.array([0, 0, 2]), pairs, [x])]
    examples = alignment.packed(application, drawn)
    counts = np.ones((20, 20))
    counts[0, 0] += 2
    counts[1, 2] += 1
    joint = counts / counts.sum()
    odds = np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))
    padded = np.zeros((21, 21))
    padded[:20, :20] = odds
    found = alignment.generative(application, examples, examples)
    errors = [alignment.wrong(padded, penalty, examples) for penalty in alignment.PENALTIES]
    assert found == {f"{name} error, generative": errors for name in ("train", "test")}


MSF = """PileUp

   MSF:    {n}  Type: P    Check:  1   ..

 Name: one oo  Len:    {n}  Check:  1  Weight:  10.0
 Name: two oo  Len:    {n}  Check:  1  Weight:  10.0

//

one      {a}
two      {b}
"""


def test_families_are_apart_and_aligned_by_all(tmp_path):
    pytest.importorskip("Bio")
    pytest.importorskip("parasail")
    rng = np.random.default_rng(0)
    (tmp_path / "RV12").mkdir()
    for family in range(10):
        a = "".join(rng.choice(list(simulate.LETTERS), 20))
        b = a[:8] + "W" + a[9:12] + "..." + a[15:]
        text = MSF.format(n=20, a=a, b=b)
        (tmp_path / "RV12" / f"BB12{family:03d}.msf").write_text(text)
    plan = alignment_balibase.Plan(("RV12",), 2, (0.01, 0.1), (0.02,), 0, 0)
    shared = alignment_balibase.collected(tmp_path, plan)
    assert len(shared.examples) == 10
    rows = [row for fold in range(2) for row in alignment_balibase.solve(
        shared, alignment_balibase.Task(fold)
    )]  # fmt: skip
    assert [row["fold"] for row in rows] == [0, 0, 1, 1]
    for row in rows:
        assert row["BLOSUM62, tuned"] > 0.9
        assert row["learnt, prior BLOSUM62"] > 0.5
        assert row["C, learnt"] in plan.grid
        assert row["scale of the prior"] == 0.02
    text, summary = alignment_balibase.report(rows, plan)
    assert "RV12 (4)" in text
    shown = found.alignment_balibase(summary)
    assert shown.columns == alignment_balibase.KINDS
    tuned = np.mean([row["BLOSUM62, tuned"] for row in rows])
    place = shown.columns.index("BLOSUM62, tuned")
    assert shown.rows["all families"][place][0] == pytest.approx(tuned)


def test_our_alignments_score_what_those_of_parasail_score(tmp_path):
    parasail = pytest.importorskip("parasail")
    pytest.importorskip("Bio")
    from lssvm.applications.alignment.scoring import Scoring
    from lssvm.kernels import _alignment
    from lssvm.kernels.alignment_arrays import AlignmentArrays

    rng = np.random.default_rng(1)
    words = [rng.integers(0, 20, size) for size in rng.integers(1, 120, 40)]
    texts = ["".join(simulate.LETTERS[code] for code in word) for word in words]
    places = np.concatenate([[0], np.cumsum([len(word) for word in words])])
    codes = np.concatenate(words).astype(np.int32)
    x = np.arange(0, 40, 2)
    arrays = AlignmentArrays(codes, places, x, x + 1)
    kinds = {"nw": ("global", False), "sg": ("global", True), "sw": ("local", False)}
    for kind, (mode, free) in kinds.items():
        options = alignment_balibase.application_of(
            {"prior": "BLOSUM62", "prior_gaps": (-11, -2), "mode": mode, "free_ends": free}
        )[1].options
        scoring = Scoring(options)
        found, _ = _alignment.best(arrays, *scoring.scores(np.zeros(scoring.dimension)))
        function = getattr(parasail, f"{kind}_trace_striped_32")
        expected = [
            function(texts[i], texts[i + 1], 11, 2, parasail.blosum62).score for i in x.tolist()
        ]
        np.testing.assert_array_equal(found, expected)


def test_a_folder_without_alignments_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no files \*.msf"):
        alignment_balibase.collected(tmp_path, alignment_balibase.QUICK)


@pytest.mark.skipif(not DATA.exists(), reason="without BAliBASE")
def test_the_families_of_balibase_are_read():
    plan = alignment_balibase.QUICK._replace(families=3, longest=0)
    shared = alignment_balibase.collected(DATA, plan)
    assert 0 < len(shared.examples) <= 6
