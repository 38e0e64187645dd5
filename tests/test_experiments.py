import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lssvm.errors import DataError
from lssvm.experiments import (
    command,
    motif_pbm,
    motif_promoters,
    motif_yeast,
    simulate,
    tables,
    yeast_data,
)
from lssvm.experiments.sequences import spelled, write_fasta
from lssvm.formats.fasta import read_fasta

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
        task = motif_pbm.Task("052", split, 8, False)
        train, test = motif_pbm.halves(tmp_path / "052.fa", task)
        assert [row for row, cells in enumerate(table) if cells[3][split - 1] == "T"] == [*train]
        assert sorted([*train, *test]) == list(range(40))


def test_model_of_planted_probes_finds_the_motif(tmp_path):
    write_probes(tmp_path / "052.tsv", np.random.default_rng(1), 200)
    motif_pbm.prepare(tmp_path / "052.tsv", tmp_path / "052.fa")
    row = motif_pbm.trained(tmp_path, motif_pbm.Task("052", 2, 8, False))
    assert row["test_error"] < 15
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


def test_comparison_leaves_out_the_published_column_that_fits_worst():
    rows = [
        {
            "protein": protein,
            "split": split,
            "width": 10,
            "small": False,
            "objective": objective + split - 3,
            "objective_std": 0.5,
            "train_error": 25.0,
            "test_error": 26.0,
            "consensus": "ACGT",
            "converged": True,
            "seconds": 1.0,
        }
        for protein, objective in zip(motif_pbm.PROTEINS, (93, 116, 105, 76), strict=True)
        for split in motif_pbm.SPLITS
    ]
    text, summary = motif_pbm.report(rows)
    assert [ours for ours, _ in summary["ours"]] == [76, 93, 105, 116]
    assert [theirs for theirs, _ in summary["published"]] == [75.51, 92.77, 106.5, 116.63]
    assert "97.50" in text.splitlines()[-1]


# yeast origins


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
    monkeypatch.setattr(motif_yeast, "QUICK", motif_yeast.Plan((11,), (0.1, 1), 5, 1, None))
    text = motif_yeast.experiment(command.Arguments(yeast, tmp_path, True, 1))
    summary = json.loads((tmp_path / "motif_yeast.json").read_text())
    part = summary["parts"][0]
    assert list(part["errors"]) == [
        "latent SSVM",
        "Gibbs, favoured threshold",
        "Gibbs, honest threshold",
        "all called positive",
    ]
    assert part["motifs"]["Gibbs"]["agree"] == 11
    assert np.mean(part["errors"]["Gibbs, honest threshold"]) < 10
    assert np.mean(part["errors"]["latent SSVM"]) < 100 * 5 / 13
    np.testing.assert_allclose(part["errors"]["all called positive"], 100 * 5 / 13)
    assert all(
        favoured <= honest
        for favoured, honest in zip(
            part["errors"]["Gibbs, favoured threshold"],
            part["errors"]["Gibbs, honest threshold"],
            strict=True,
        )
    )
    with open(tmp_path / "motif_yeast.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5 * (2 + 2)
    assert "length 11, Gibbs: agrees at 11 of 11" in text


def test_honest_threshold_does_not_see_the_test_fold(yeast):
    config = motif_yeast.configuration(yeast, motif_yeast.QUICK, 11)
    study = motif_yeast.study_with_strata(config)
    examples = study.examples[0]
    flipped = np.where(study.fold == 0, -examples.labels, examples.labels)
    other = replace(study, examples=[replace(examples, labels=flipped.astype(np.int8))])
    task = motif_yeast.GibbsTask(11, 0, 0)
    before, after = motif_yeast.control_run(study, task), motif_yeast.control_run(other, task)
    assert after["honest"] == pytest.approx(100 - before["honest"])
    assert after["log_posterior"] == before["log_posterior"]


def test_background_sequences_are_trained_on_but_never_counted(yeast):
    study = motif_yeast.study_with_strata(motif_yeast.configuration(yeast, motif_yeast.QUICK, 11))
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
            *(sys.executable, "-m", "lssvm.experiments.motif_promoters"),
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
