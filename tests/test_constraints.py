import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.common import command
from experiments.tsochantaridis_2004 import constraints
from lssvm.applications.base import Source
from lssvm.config import Config
from lssvm.errors import MissingExtraError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.training.cccp import Observer
from lssvm.training.session import learn_on
from lssvm.training.setup import new_run, rules_of

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data"))
GRID = (10, 20, 40, 80)


def sentences(data=None):
    options = {"name": "sequence", "columns": ["word", "pos", "label"], "templates": ["word"]}
    return constraints.shuffled(options, [Source(str(ROOT / "data/sequence/train.conll"))])


def test_the_exponent_is_that_of_a_power_and_its_error_that_of_least_squares():
    rows = [{"data": "x", "n": n, "kept": 3 * n**0.7, "added": n} for n in GRID]
    slope, error = constraints.exponent(rows, "x", "kept")
    assert slope == pytest.approx(0.7)
    assert error == pytest.approx(0.0, abs=1e-12)
    linregress = pytest.importorskip("scipy.stats").linregress
    rng = np.random.default_rng(0)
    for row in rows:
        row["kept"] *= rng.uniform(0.5, 2.0)
    expected = linregress(np.log(GRID), np.log([row["kept"] for row in rows]))
    assert constraints.exponent(rows, "x", "kept") == pytest.approx(
        (expected.slope, expected.stderr)
    )


def test_counts_are_those_of_a_training_run():
    subject = sentences()
    row = constraints.counted(subject, 30)
    record = learn_on(subject.application, subject.examples.slice(0, 30), subject.config).record
    assert row["n"] == 30
    assert row["objective"] == record["objective"]
    assert row["passes"] == round(record["passes"])
    assert 0 < row["kept"] <= record["planes"] <= row["added"]
    assert row["converged"]
    assert row["gap"] <= constraints.EPSILON


def test_the_papers_algorithm_stays_within_its_theorem():
    subject = sentences()
    row = constraints.to_the_letter(subject, 12)
    assert row["n"] == 12
    assert row["converged"]
    assert 12 < row["added"] <= row["bound"]
    changes = {
        "objective": {"model": "ssvm", "C": constraints.C, "slack_norm": 2, "rescaling": "slack"},
        "solver": {"method": "working-set", "violation": constraints.VIOLATION},
    }
    config = Config.from_dict({**subject.config.to_dict(), **changes})
    application = config.create_application()
    application.restore(subject.application.state())
    examples = subject.examples.slice(0, 12)
    assert learn_on(application, examples, config).record["objective"] == row["objective"]
    with Executor() as executor:
        oracle = DataOracle(application, examples, executor)
        length, loss = constraints.longest(oracle)
        run = new_run(oracle, config, 0, None)
        run.proceed(oracle, rules_of(config, 12, hidden=False), Observer())
    sets = run.solver.sets
    # With slack rescaling and squared slack, a plane is √Δ δ, and its loss part √Δ.
    assert np.all(sets.losses**2 <= loss)
    assert np.all(np.sqrt(sets.column("squares")) / sets.losses <= length)


def test_training_sets_hold_the_smaller_ones():
    subject = sentences()
    whole = subject.application.read([Source(str(ROOT / "data/sequence/train.conll"))])
    order = np.random.default_rng(0).permutation(len(whole))
    assert subject.examples.fingerprint() == whole.take(order).fingerprint()
    assert not np.array_equal(order, np.arange(len(whole)))
    assert constraints.counted(subject, 10**6)["n"] == len(whole)


def test_the_experiment_writes_figure_table_and_runs(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(constraints, "SUBJECTS", {"sentences": sentences})
    monkeypatch.setattr(constraints, "QUICK", GRID)
    monkeypatch.setattr(constraints, "LITERAL_QUICK", (5, 10, 15))
    text = constraints.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    assert (tmp_path / "constraints.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "constraints.txt").read_text() == text + "\n"
    with (tmp_path / "constraints.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["n"]) for row in rows] == list(GRID)
    kept = [int(row["kept"]) for row in rows]
    assert kept == sorted(kept)
    found = json.loads((tmp_path / "constraints.json").read_text())
    slope, _ = found["exponents"]["sentences, kept"]
    assert slope == pytest.approx(np.polyfit(np.log(GRID), np.log(kept), 1)[0])
    assert f"n^{slope:.2f}" in text
    literal = found["to the letter"]
    assert [row["n"] for row in literal] == [5, 10, 15]
    assert all(row["added"] <= row["bound"] for row in literal)
    slope, error = constraints.exponent(literal, "sentences", "added")
    assert f"Algorithm 1 to the letter: n^{slope:.2f} ± {error:.2f}" in text


def test_missing_matplotlib_is_told_before_any_work(monkeypatch, tmp_path):
    def lacking():
        raise MissingExtraError("the figure", "matplotlib", "plot")

    monkeypatch.setattr(constraints.report, "check_installed", lacking)
    monkeypatch.setattr(constraints, "SUBJECTS", {"x": lambda data: pytest.fail("data were read")})
    with pytest.raises(MissingExtraError):
        constraints.experiment(command.Arguments(tmp_path, tmp_path, True, 1))


def test_missing_data_are_refused_in_one_line(tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "experiments.tsochantaridis_2004.constraints"),
            *("--data", tmp_path / "none", "--out", tmp_path / "out"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {tmp_path / 'none' / 'conll2002-spanish' / 'esp.train'}")
    assert done.stderr.count("\n") == 1


def test_the_letters_are_enough():
    if not (DATA / "ocr-letters").is_dir():
        pytest.skip(f"no ocr-letters in {DATA} (set LSSVM_DATA)")
    subject = constraints.letters(DATA)
    assert subject.examples.label_count == 26
    assert len(subject.examples) >= max(constraints.FULL)
