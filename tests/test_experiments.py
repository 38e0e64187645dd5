import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from paper_cases import found_of
from scipy import stats

from experiments.common import command
from experiments.common.paired import corrected_p_value, p_value
from experiments.kumar_2010 import motif_pbm
from experiments.yu_joachims_2009 import (
    motif_planted,
    motif_promoters,
    motif_yeast,
    random_starts,
    yeast_data,
)
from lssvm.errors import DataError
from lssvm.formats.fasta import read_fasta
from lssvm.output import tables
from lssvm.simulation import motif as simulate
from lssvm.simulation.dna import spelled, write_fasta
from lssvm.training.session import learn_on

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data"))
SHIPPED = {"ars": 119, "intergenic": 239, "ars-test": 60, "intergenic-test": 119}


def random_letters(rng, length):
    return "".join(rng.choice(list("ACGT"), size=length))


# tables


def test_mean_and_standard_error_are_those_of_the_textbook():
    assert tables.mean_and_error([1.0, 3.0, 5.0]) == pytest.approx((3.0, 2 / np.sqrt(3)))
    assert tables.plus_minus([1.0, 3.0, 5.0]) == "3.00 ± 1.15"
    assert tables.plus_minus([2.5], 1) == "2.5"


def test_rows_need_not_have_the_same_keys(tmp_path):
    tables.write_csv(tmp_path / "x.csv", [{"a": 1}, {"a": 2, "b": 3}, {"b": 4}])
    assert (tmp_path / "x.csv").read_text() == "a,b\n1,\n2,3\n,4\n"


def test_text_table_shows_every_cell_and_marks_what_is_missing():
    rows = [{"name": "a", "value": 1.23456}, {"name": "b", "value": None}]
    lines = tables.text_table("title", rows).splitlines()
    assert lines[0] == "title"
    assert lines[1].split() == ["name", "value"]
    assert [line.split() for line in lines[3:]] == [["a", "1.235"], ["b", "–"]]


def test_results_are_written_as_text_csv_and_json(tmp_path):
    tables.write_results(tmp_path, "x", "text", [{"a": 1, "b": 0.5}], {"mean": 2.0})
    assert (tmp_path / "x.txt").read_text() == "text\n"
    assert (tmp_path / "x.csv").read_text() == "a,b\n1,0.5\n"
    expected = {"mean": 2.0, "runs": [{"a": 1, "b": 0.5}]}
    assert json.loads((tmp_path / "x.json").read_text()) == expected


# yeast data


def write_yeast(folder, ars, intergenic):
    write_fasta(folder / yeast_data.ARS_FILE, ars)
    write_fasta(folder / yeast_data.INTERGENIC_FILE, intergenic)


def test_ars_give_their_middle_and_regions_a_drawn_place(tmp_path):
    rng = np.random.default_rng(0)
    ars, region = random_letters(rng, 301), random_letters(rng, 400)
    write_yeast(
        tmp_path,
        [("A1 chr=3 start=1001 end=1301", ars), ("A2 chr=3 start=1 end=239", ars[:239])],
        [("r1 chr=4 start=11 end=410 far=0", region)],
    )
    found, far = yeast_data.yeast_crops(tmp_path, np.random.default_rng(1), away_from=["far"])
    assert found.names == ["A1"]
    assert found.places == ["chr=3 start=1031 end=1270"]
    assert spelled(found.codes) == [ars[30:270]]
    start = int(far.places[0].split()[1].removeprefix("start="))
    assert spelled(far.codes) == [region[start - 11 : start - 11 + 240]]
    assert far.places == [f"chr=4 start={start} end={start + 239}"]


def test_flagged_regions_and_repeats_on_either_strand_are_left_out(tmp_path):
    rng = np.random.default_rng(2)
    first, second, third = (random_letters(rng, 240) for _ in range(3))
    reverse = first[::-1].translate(str.maketrans("ACGT", "TGCA"))
    quarter, more = first[:60] + third[60:], first[:90] + third[90:]
    fields = "chr=1 start=1 end=240"
    write_yeast(
        tmp_path,
        [(f"A {fields}", first), (f"copy {fields}", reverse)],
        [
            (f"near {fields} x=1 y=0", second),
            (f"much {fields} x=0 y=0", more),
            (f"some {fields} x=0 y=1", quarter),
        ],
    )
    ars, both = yeast_data.yeast_crops(tmp_path, rng, away_from=["x", "y"])
    assert (ars.names, both.names) == (["A"], [])
    assert yeast_data.yeast_crops(tmp_path, rng, away_from=["x"])[1].names == ["some"]
    assert yeast_data.yeast_crops(tmp_path, rng, away_from=[])[1].names == ["near", "some"]


def test_region_without_the_flag_is_an_error_with_its_line(tmp_path):
    letters = random_letters(np.random.default_rng(3), 240)
    write_yeast(tmp_path, [("A chr=1 start=1", letters)], [("r chr=1 start=1", letters)])
    with pytest.raises(DataError) as caught:
        yeast_data.yeast_crops(tmp_path, np.random.default_rng(0), away_from=["far"])
    path = tmp_path / yeast_data.INTERGENIC_FILE
    assert str(caught.value) == f"{path}:1: no 'far=' with a value in the header of 'r'"


def test_shipped_yeast_files_hold_what_their_page_says():
    folder = ROOT / "data/motif"
    page = (folder / "README.md").read_text()
    for name, count in SHIPPED.items():
        records = read_fasta(folder / f"{name}.fa")
        assert (np.diff(records.offsets) == 240).all()
        assert len(records.names) == count
        assert f"| `{name}.fa` | {count} |" in page
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 500_000


@pytest.mark.skipif(
    not (DATA / "yeast-ars").is_dir(), reason=f"no folder yeast-ars in LSSVM_DATA ({DATA})"
)
def test_shipped_yeast_files_are_made_by_the_documented_command(tmp_path):
    yeast_data.write_shipped(DATA / "yeast-ars", tmp_path, 0)
    for name in SHIPPED:
        made, shipped = tmp_path / f"{name}.fa", ROOT / "data/motif" / f"{name}.fa"
        assert made.read_bytes() == shipped.read_bytes()


def test_shipped_simulated_files_are_made_by_the_documented_command(tmp_path):
    simulate.write_motif(tmp_path, seed=0, conservation=0.9)
    for path in (ROOT / "data/motif/simulated").iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


# protein-binding microarrays


def write_probes(path, rng, n):
    lines = ["\t".join(motif_pbm.COLUMNS)]
    for number in range(n):
        letters = random_letters(rng, 30)
        if number % 2:
            letters = letters[:8] + "TGACGTCA" + letters[16:]
        splits = "".join(rng.choice(["T", "E", "."], p=[0.5, 0.4, 0.1], size=5))
        lines.append(f"{letters}\t{1 if number % 2 else -1}\t0\t{splits}")
    path.write_text("\n".join(lines) + "\n")


def test_probe_table_becomes_fasta_with_labels_and_halves(tmp_path):
    write_probes(tmp_path / "052.tsv", np.random.default_rng(0), 40)
    motif_pbm.prepare(tmp_path / "052.tsv", tmp_path / "052.fa")
    records = read_fasta(tmp_path / "052.fa")
    np.testing.assert_array_equal(records.labels, [-1, 1] * 20)
    table = [line.split("\t") for line in (tmp_path / "052.tsv").read_text().splitlines()[1:]]
    for split in range(1, 6):
        task = motif_pbm.Task("052", split, 8, "seeds", False)
        train, test = motif_pbm.halves(tmp_path / "052.fa", task)
        assert [row for row, cells in enumerate(table) if cells[3][split - 1] == "T"] == [*train]
        assert sorted([*train, *test]) == list(range(40))


@pytest.mark.parametrize(("start", "most"), [("seeds", 5), ("random", 25)])
def test_model_of_planted_probes_finds_the_motif(tmp_path, start, most):
    write_probes(tmp_path / "052.tsv", np.random.default_rng(1), 200)
    motif_pbm.prepare(tmp_path / "052.tsv", tmp_path / "052.fa")
    row = motif_pbm.trained(tmp_path, motif_pbm.Task("052", 2, 8, start, False))
    assert row["test_error"] < most
    assert row["train_size"] + row["test_size"] == 200
    assert row["gap"] <= 1e-3
    assert row["converged"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n", ":1: expected the columns sequence, label, non_background, splits1to5"),
        (
            "\t".join(motif_pbm.COLUMNS) + "\nACGT\t1\t0\tTE\n",
            ":2: expected 4 columns and 5 splits",
        ),
    ],
)
def test_broken_probe_table_is_one_clear_line(tmp_path, text, message):
    (tmp_path / "x.tsv").write_text(text)
    with pytest.raises(DataError) as caught:
        motif_pbm.prepare(tmp_path / "x.tsv", tmp_path / "x.fa")
    assert str(caught.value) == f"{tmp_path / 'x.tsv'}{message}"


def test_every_width_protein_and_split_is_planned_once_and_random_starts_for_one_width():
    tasks = motif_pbm.planned(False)
    assert len(set(tasks)) == len(tasks) == 2 + 2 * 4 * 5 + 2 * 4
    assert {task.width for task in tasks if task.start == "random"} == {10}
    assert all(task.small for task in motif_pbm.planned(True))


def probe_rows(objectives, error):
    """Results as ``trained`` gives them, whose mean over splits is the protein's objective."""
    return [
        {
            **task._asdict(),
            "objective": objectives[task.protein] + task.split - 3 + 100 * (task.width != 10),
            "objective_std": 0.5,
            "train_error": 25.0,
            "test_error": error,
            "consensus": "ACGT",
            "converged": True,
            "seconds": 1.0,
        }
        for task in motif_pbm.planned(False)
    ]


def test_means_stand_beside_those_of_every_four_published_columns():
    objectives = dict(zip(motif_pbm.PROTEINS, (93.01, 116, 105, 76), strict=True))
    text, summary = motif_pbm.report(probe_rows(objectives, 27.002))
    found = summary["seeds"]
    assert (found["objective"], found["error"]) == pytest.approx((97.5025, 27.002))
    assert len(found["matches"]) == 5
    total = sum(objective for objective, _ in motif_pbm.PUBLISHED)
    for one in found["matches"]:
        mean = (total - one["left_out"][0]) / 4
        assert one["objective_difference"] == pytest.approx(97.5025 - mean)
    assert (
        "mean objective, ours - published: -4.97 in the best match, +5.31 in the worst; "
        "no worse in 3 of 5" in text
    )
    assert (
        "mean error, ours - published: -3.44 in the best match, +0.35 in the worst; "
        "no worse in 4 of 5" in text
    )


def test_columns_are_sorted_each_by_itself():
    objectives = dict(zip(motif_pbm.PROTEINS, (93, 116, 105, 76), strict=True))
    lines = motif_pbm.report(probe_rows(objectives, 27.0))[0].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Width 10, start: seeds"))
    assert [line.split() for line in lines[start + 3 : start + 8]] == [
        ["76.00", "75.51", "27.00", "20.25"],
        ["93.00", "92.77", "27.00", "27.10"],
        ["105.00", "94.00", "27.00", "27.10"],
        ["116.00", "106.50", "27.00", "32.15"],
        ["–", "116.63", "–", "35.42"],
    ]


# planted motifs


def test_planted_experiment_shows_every_setting_beside_the_oracle(tmp_path, monkeypatch):
    monkeypatch.setattr(motif_planted, "SIZES", {"n": 80, "n_test": 60, "length": 50, "width": 8})
    text = motif_planted.experiment(command.Arguments(Path(), tmp_path, True, 1))
    summary = json.loads((tmp_path / "motif_planted.json").read_text())
    assert len(summary["runs"]) == 2 * 2 * 2
    for run in summary["runs"]:
        folder = tmp_path / f"conservation-0.95-seed-{run['seed']}"
        oracle = json.loads((folder / "truth.json").read_text())["oracle"]["test"]
        assert run["oracle_error"] == 100 * oracle["error"]
        assert run["recall"] > 50
    kept = {(run["order"], run["seed"], run["restarts"]): run for run in summary["runs"]}
    assert all(
        kept[order, seed, 5]["objective"] <= kept[order, seed, 1]["objective"]
        for order in (0, 3)
        for seed in (1000, 1001)
    )
    count = sum(
        motif_planted.close(kept[3, seed, 1]) for seed in (1000, 1001)
    )  # the first row of the summary
    assert summary["summary"][0]["close to oracle"] == f"{count} of 2"
    assert text == (tmp_path / "motif_planted.txt").read_text().rstrip("\n")


def test_planted_sites_are_read_from_0_and_are_minus_1_where_there_are_none(tmp_path):
    simulate.write_motif(tmp_path, seed=3, n=4, n_test=20, length=30, width=5)
    starts = motif_planted.true_starts(
        tmp_path / "test-sites.tsv", read_fasta(tmp_path / "test.fa").names
    )
    rng = np.random.default_rng(3)
    model = simulate.motif_model(rng, 5, 0.85)
    simulate.motif(rng, model, 4, 30)
    np.testing.assert_array_equal(starts, simulate.motif(rng, model, 20, 30).starts)


@pytest.mark.parametrize(
    ("error", "recall", "close"),
    [(13.0, 87.0, True), (1.0, 99.0, True), (13.1, 90.0, False), (10.0, 86.9, False)],
)
def test_close_means_at_most_three_points_worse_in_both(error, recall, close):
    row = {"error": error, "recall": recall, "oracle_error": 10.0, "oracle_recall": 90.0}
    assert motif_planted.close(row) is close


# yeast origins


PLAN = motif_yeast.Plan((11,), (0.1, 1), 5, 2, None, 2, (1 / 50,))
SMALL = PLAN._replace(grid=(1,), seeds=1, starts=1)


def one_hot(text):
    return 0.01 + 0.96 * np.eye(4)[["ACGT".index(letter) for letter in text]]


@pytest.mark.parametrize(
    ("motif", "agree", "shift"),
    [
        ("TTTTACATTTA", 11, 0),
        ("TAAATGTAAAA", 11, 0),  # the other strand
        ("GGTTTTACATTTAGG", 11, -2),
        ("TACATTTA", 8, 3),
        ("TTTTGCATTTA", 10, 0),
    ],
)
def test_known_motif_is_recognised_shifted_and_on_either_strand(motif, agree, shift):
    found = motif_yeast.beside_known(one_hot(motif))
    assert (found["agree"], found["shift"]) == (agree, shift)


@pytest.fixture(scope="module")
def yeast(tmp_path_factory):
    folder = tmp_path_factory.mktemp("yeast")
    rng = np.random.default_rng(5)
    for name, count in zip(motif_yeast.FILES, (40, 25, 120), strict=True):
        records = []
        for number in range(count):
            letters = random_letters(rng, 80)
            if name == "positive.fa":
                start = rng.integers(70)
                letters = f"{letters[:start]}TTTTATGTTTA{letters[start + 11 :]}"
            records.append((f"{name[:3]}{number}", letters))
        write_fasta(folder / name, records)
    return folder


def test_yeast_experiment_tells_planted_sequences_apart_with_both_methods(
    yeast, tmp_path, monkeypatch
):
    monkeypatch.setattr(motif_yeast, "QUICK", SMALL)
    monkeypatch.setattr(motif_yeast, "SHOWN_RESTARTS", 1)
    text = motif_yeast.experiment(command.Arguments(yeast, tmp_path, True, 1))
    summary = json.loads((tmp_path / "motif_yeast.json").read_text())
    assert [part["background"] for part in summary["parts"]] == [True, False]
    for part in summary["parts"]:
        errors = {name: np.array(values) for name, values in part["errors"].items()}
        assert list(errors) == [
            motif_yeast.BEST,
            motif_yeast.MEAN,
            motif_yeast.PROTOCOL,
            motif_yeast.FAVOURED,
            motif_yeast.HONEST,
            "all called positive",
        ]
        assert errors[motif_yeast.BEST].mean() < 10
        np.testing.assert_allclose(errors["all called positive"], 100 * 5 / 13)
        assert (errors[motif_yeast.FAVOURED] <= errors[motif_yeast.HONEST]).all()
    assert np.mean(summary["parts"][0]["errors"][motif_yeast.HONEST]) < 10
    with open(tmp_path / "motif_yeast.csv") as file:
        rows = list(csv.DictReader(file))
    starts = [row for row in rows if row["method"] == motif_yeast.PROTOCOL]
    assert len(starts) == 2 * 5
    assert len(rows) - len(starts) == 2 * 5 * (1 + 2)  # two thresholds of the sampler
    shown = found_of("motif-yeast", tmp_path)
    honest = np.mean(summary["parts"][0]["errors"][motif_yeast.HONEST])
    assert shown.rows[motif_yeast.HONEST][0][0] == pytest.approx(honest)
    assert [found["agree"] for found in summary["motifs"][0].values()] == [11, 11]
    assert "length 11, Gibbs: agrees at 11 of 11" in text


def test_folds_stay_the_same_without_the_background(yeast):
    whole = motif_yeast.study_with_strata(motif_yeast.configuration(yeast, PLAN, 11))
    small = motif_yeast.without_background(whole)
    names = np.array(list(whole.examples[0].identifiers))
    for fold in range(5):
        members = names[(whole.fold == fold) & whole.counted]
        np.testing.assert_array_equal(
            members, np.array(list(small.examples[0].identifiers))[small.fold == fold]
        )
    assert (small.examples[0].costs == 1).all()


def test_p_value_is_that_of_the_paired_test_and_undefined_for_equal_differences():
    first, second = np.array([1.0, 2.0, 4.0]), np.array([0.0, 2.0, 1.0])
    statistic = (4 / 3) / (np.std([1, 0, 3], ddof=1) / np.sqrt(3))
    expected = 2 * stats.t.sf(statistic, 2)
    assert p_value(first, second) == pytest.approx(expected)
    assert p_value(first, first) is None


def test_the_corrected_test_widens_the_variance_by_the_share_of_test_examples():
    first, second = np.array([1.0, 2.0, 4.0]), np.array([0.0, 2.0, 1.0])
    variance = np.var([1, 0, 3], ddof=1) * (1 / 3 + 1 / 2)
    expected = 2 * stats.t.sf((4 / 3) / np.sqrt(variance), 2)
    assert corrected_p_value(first, second, 0.5) == pytest.approx(expected)
    assert corrected_p_value(first, second, 0.0) == pytest.approx(
        stats.ttest_rel(first, second).pvalue
    )
    assert corrected_p_value(first, second, 0.5) > p_value(first, second)


def start(cost, fold, seed, C, validation, test):
    values = {"cost": cost, "fold": fold, "seed": seed, "C": C}
    return {**values, "validation": validation, "test": test, "objective": 1.0}


def test_c_seed_and_cost_are_those_of_the_fewest_validation_errors():
    rows = [
        start(0.02, 0, 0, 1.0, 10.0, 30.0),
        start(0.02, 0, 1, 1.0, 5.0, 50.0),
        start(0.1, 0, 0, 1.0, 10.0, 20.0),
        start(0.02, 0, 0, 0.1, 5.0, 40.0),
        start(0.1, 1, 0, 10.0, 0.0, 8.0),
        start(0.1, 1, 1, 10.0, 1.0, 4.0),
    ]
    found = random_starts.summarised(rows, 2)
    assert found["errors"] == [40.0, 8.0]  # the smaller C of two equal ones
    assert found["picked"] == ["0.1/0.02/0", "10/0.1/0"]
    # One seed at C = 0.1 in the first fold.
    assert found["spread"] == pytest.approx(np.sqrt(8.0))
    rows.append(start(0.02, 0, 1, 0.1, 9.0, 40.0))
    assert random_starts.summarised(rows, 2)["spread"] == pytest.approx(np.sqrt(8.0) / 2)
    assert random_starts.summarised(rows[:4], 1)["spread"] is None


def test_each_fold_keeps_its_own_cost_and_the_test_fold_has_no_say(yeast, monkeypatch):
    study = motif_yeast.study_with_strata(motif_yeast.configuration(yeast, PLAN, 11))
    seen = []

    def trained(study, task):
        seen.append(task)
        right = (1.0 if task.cost == 0.1 else 3.0) * (-1) ** task.fold
        return [{**task._asdict(), "C": 1.0, "validation": right, "test": task.cost}]

    monkeypatch.setattr(random_starts, "trained", trained)
    random_starts.runs_of(
        study, motif_yeast.FULL.costs, 3, command.Arguments(Path(), Path(), True, 1)
    )
    assert len(seen) == 3 * 5 + 3 * 5
    assert {(t.seed, t.most) for t in seen[:15]} == {(0, random_starts.MOST)}
    assert {(t.seed, t.most) for t in seen[15:]} == {(seed, np.inf) for seed in range(3)}
    assert {(t.fold, t.cost) for t in seen[15:]} == {
        (fold, 0.02 if fold % 2 else 0.1) for fold in range(5)
    }


def test_random_starts_train_on_the_other_folds_with_the_cost_that_is_asked_for(yeast, monkeypatch):
    study = motif_yeast.study_with_strata(motif_yeast.configuration(yeast, PLAN, 11))
    seen = []

    def learnt(application, training, config, scored):
        seen.append((config, training))
        assert application.options.initialisation == "random"  # for every C, as no model is given
        return learn_on(application, training, config, scored=scored)

    monkeypatch.setattr(random_starts, "learn_on", learnt)
    rows = random_starts.trained(study, random_starts.Start(0.25, 1, 7))
    assert [row["C"] for row in rows] == list(PLAN.grid)
    assert rows[:1] == random_starts.trained(study, random_starts.Start(0.25, 1, 7, PLAN.grid[0]))
    del seen[len(PLAN.grid) :]
    assert [config.objective.C for config, _ in seen] == list(PLAN.grid)
    for config, training in seen:
        assert config.seed == 7
        assert len(training) == np.sum(~np.isin(study.fold, (1, 2)))
        assert set(training.costs) == {0.25, 1.0}


def test_values_of_c_end_when_two_in_a_row_have_no_fewer_validation_errors():
    errors = [50.0, 50.0, 40.0, 45.0, 40.0]
    assert [random_starts.ended(errors[:k]) for k in range(1, 6)] == [False] * 4 + [True]
    assert not random_starts.ended([50.0, 50.0])


def test_honest_threshold_does_not_see_the_test_fold(yeast):
    config = motif_yeast.configuration(yeast, PLAN, 11)
    study = motif_yeast.study_with_strata(config)
    examples = study.examples[0]
    flipped = np.where(study.fold == 0, -examples.labels, examples.labels)
    other = replace(study, examples=[replace(examples, labels=flipped.astype(np.int8))])
    task = motif_yeast.GibbsTask(11, 0, 0)
    before, after = motif_yeast.control_run(study, task), motif_yeast.control_run(other, task)
    assert after["honest"] == pytest.approx(100 - before["honest"])
    assert after["log_posterior"] == before["log_posterior"]


def test_background_sequences_are_trained_on_but_never_counted(yeast):
    study = motif_yeast.study_with_strata(motif_yeast.configuration(yeast, PLAN, 11))
    np.testing.assert_array_equal(study.counted, study.examples[0].costs == 1)
    for fold in range(5):
        members = study.examples[0].take(np.flatnonzero(study.fold == fold))
        assert (members.labels > 0).sum() == 8
        assert ((members.labels < 0) & (members.costs == 1)).sum() == 5
        assert (members.costs < 1).sum() == 24


def test_far_regions_are_split_into_negatives_and_background(tmp_path):
    rng = np.random.default_rng(6)
    flags = " ".join(f"{flag}=0" for flag in motif_yeast.FAR)
    regions = [(f"r{i} chr=1 start=1 {flags}", random_letters(rng, 240)) for i in range(9)]
    write_yeast(
        tmp_path,
        [(f"A{i} chr=1 start=1", random_letters(rng, 240)) for i in range(5)],
        [*regions, ("near chr=1 start=1 sgd_ars_within_100bp=0 oridb_within_500bp=1", "A" * 240)],
    )
    out = tmp_path / "out"
    out.mkdir()
    assert motif_yeast.prepare(tmp_path, out, motif_yeast.FULL) == out
    names = [list(read_fasta(out / name).names) for name in motif_yeast.FILES]
    assert [len(part) for part in names] == [5, 3, 6]
    assert sorted(names[1] + names[2]) == [f"r{i}" for i in range(9)]


# promoters


@pytest.fixture(scope="module")
def promoters(tmp_path_factory):
    folder = tmp_path_factory.mktemp("promoters")
    rng = np.random.default_rng(7)
    lines = []
    for number in range(20):
        letters = random_letters(rng, 40).lower()
        if number % 2 == 0:
            letters = letters[:20] + "tataat" + letters[26:]
        lines.append(f"{'-' if number % 2 else '+'},P{number},\t\t{letters}")
    (folder / "promoters.data").write_text("\n".join(lines) + "\n")
    return folder


def test_promoter_table_becomes_fasta_with_labels(promoters, tmp_path):
    motif_promoters.prepare(promoters / "promoters.data", tmp_path / "p.fa")
    records = read_fasta(tmp_path / "p.fa")
    assert list(records.names) == [f"P{number}" for number in range(20)]
    np.testing.assert_array_equal(records.labels, [1, -1] * 10)


def test_left_out_sequence_has_no_say_in_its_own_prediction(promoters, tmp_path):
    motif_promoters.prepare(promoters / "promoters.data", tmp_path / "p.fa")
    study = motif_promoters.study_of(motif_promoters.configuration(tmp_path, "p.fa"))
    before = motif_promoters.left_out(study, motif_promoters.Left(3))
    flipped = []
    for examples in study.examples:
        labels = examples.labels.copy()
        labels[3] = -labels[3]
        flipped.append(replace(examples, labels=labels))
    after = motif_promoters.left_out(replace(study, examples=flipped), motif_promoters.Left(3))
    assert (before["label"], after["label"]) == (-1, 1)
    same = set(before) - {"label"}
    assert {key: before[key] for key in same} == {key: after[key] for key in same}


def test_broken_promoter_table_is_one_clear_line(tmp_path):
    (tmp_path / "promoters.data").write_text("+,A,acgt\n*,B,acgt\n")
    with pytest.raises(DataError) as caught:
        motif_promoters.prepare(tmp_path / "promoters.data", tmp_path / "p.fa")
    expected = "expected '+,name,sequence' or '-,…', got '*,B,acgt'"
    assert str(caught.value) == f"{tmp_path / 'promoters.data'}:2: {expected}"


# the command line


def test_missing_input_is_one_line_and_exit_code_2(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "experiments.yu_joachims_2009.motif_promoters"),
            *("--data", str(tmp_path), "--out", str(tmp_path / "out")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"error: {tmp_path / 'promoters.data'}: ")


def test_experiment_that_makes_its_own_data_asks_for_none(monkeypatch, capsys, tmp_path):
    def show(arguments):
        return f"jobs {arguments.jobs}"

    monkeypatch.setattr(sys, "argv", ["x", "--out", str(tmp_path / "out"), "--jobs", "3"])
    command.main("x", None, "little", show, {"all": 7})
    assert capsys.readouterr() == ("jobs 3\n", "")
    assert (tmp_path / "out").is_dir()
    with pytest.raises(SystemExit) as caught:
        command.main("x", "folder", "little", show, {})
    assert caught.value.code == 2
    assert "the following arguments are required: --data" in capsys.readouterr().err
