import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.common import command
from experiments.yu_joachims_2009 import coref_data, figure2
from lssvm.applications.base import Source
from lssvm.config import Config
from lssvm.errors import MissingExtraError
from lssvm.training.session import learn_on

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data"))
SMALL = {  # options, file of shipped data, number of examples, grid
    "motif finding": (
        {"name": "motif", "length": 11, "background_order": 0, "initialisation": "random"},
        "motif/simulated/train.fa",
        40,
        (0.01, 0.1),
    ),
    "coreference": ({"name": "coreference"}, "coreference/train.conll", 6, (0.01, 1.0)),
    "precision at 10": (
        {"name": "precision_at_k", "k": 5},
        "ranking/train.txt",
        9,
        (0.1, 10.0),
    ),
}


def subject(name):
    """Two folds of half of a few shipped examples."""
    options, file, count, grid = SMALL[name]
    application = Config.from_dict({"application": options}).create_application()
    examples = application.read([Source(str(ROOT / "data" / file))])
    rows = np.linspace(0, len(examples) - 1, min(count, len(examples))).round().astype(int)
    parts = [examples.take(rows[fold::2]) for fold in range(2)]
    return figure2.Subject(options, 1e-3, grid, parts)


@pytest.fixture
def small(monkeypatch):
    made = {name: (lambda data, out, plan, name=name: subject(name)) for name in SMALL}
    monkeypatch.setattr(figure2, "SUBJECTS", made)


def test_the_first_small_fall_ends_the_count():
    assert figure2.settled_after([9.0, 5.0, 4.5, 4.4, 1.0], 1.0) == 3
    assert figure2.settled_after([9.0, 5.0, 4.0, 4.0], 1.0) == 4  # 1 is not less than 1
    assert figure2.settled_after([9.0, 5.0], 1.0) == 2  # none is small
    assert figure2.settled_after([9.0], 1.0) == 1


@pytest.mark.parametrize("name", list(SMALL))
def test_the_count_is_that_of_a_run_that_stops_there(name, monkeypatch):
    # So precise that the tolerance of CCCP has no say in how precisely a problem is solved.
    monkeypatch.setattr(figure2, "EPSILON", 1e-7)
    made = subject(name)
    for C in made.grid:
        row = figure2.trained({name: made}, figure2.Task(name, C, 1))
        share = float(np.mean(made.parts[1].costs))
        for key, multiple in figure2.COUNTS.items():
            config = Config.from_dict(
                {
                    "application": made.options,
                    "objective": {"C": C, "c_scaling": "sum"},
                    "solver": {"epsilon": figure2.EPSILON},
                    "cccp": {
                        "tolerance": multiple * made.tolerance * share,
                        "inexactness": figure2.EXACT,
                    },
                }
            )
            record = learn_on(config.create_application(), made.parts[1], config).record
            assert record["converged"]
            assert row[key] == record["cccp_iterations"]
        assert row["converged"]
        assert 2 <= row["iterations"] <= row["iterations_tighter"]


def test_the_experiment_writes_the_figure_the_table_and_every_run(small, tmp_path):
    pytest.importorskip("matplotlib")
    text = figure2.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    assert (tmp_path / "figure2.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "figure2.txt").read_text() == text + "\n"
    with (tmp_path / "figure2.csv").open() as file:
        rows = list(csv.DictReader(file))
    expected = [
        (name, C, fold) for name, (*_, grid) in SMALL.items() for C in grid for fold in (0, 1)
    ]
    assert [(r["application"], float(r["C"]), int(r["fold"])) for r in rows] == expected
    table = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    for name, C, _ in expected[::2]:
        own = [r for r in rows if (r["application"], float(r["C"])) == (name, C)]
        counts = [int(r["iterations"]) for r in own]
        (cells,) = [line for line in table if line[:2] == [name, f"{C:g}"]]
        assert cells[2] == f"{np.mean(counts):.1f} ± {np.std(counts, ddof=1) / np.sqrt(2):.1f}"
    assert len(json.loads((tmp_path / "figure2.json").read_text())["runs"]) == len(rows)


def test_every_c_is_begun_anew(small):
    made = {name: subject(name) for name in SMALL}
    tasks = [figure2.Task(name, C, 0) for name, one in made.items() for C in one.grid]
    forwards = [figure2.trained(made, task) for task in tasks]
    backwards = [figure2.trained(made, task) for task in reversed(tasks)]
    assert forwards == backwards[::-1]


def test_the_lines_are_the_means_over_folds(monkeypatch, tmp_path):
    kept = []
    monkeypatch.setattr(
        figure2.report, "draw_lines", lambda path, lines, **options: kept.extend(lines)
    )
    rows = [
        {"application": name, "C": C, "iterations": 2 + fold, "iterations_tighter": 6 + 3 * fold}
        for name in figure2.SUBJECTS
        for C in (1.0, 0.1)
        for fold in (0, 2)
    ]
    figure2.draw(tmp_path / "x.png", rows)
    assert [line.dashed for line in kept] == [False] * 3 + [True] * 3
    assert [line.hue for line in kept] == [0, 1, 2] * 2
    for line in kept:
        assert line.x == [0.1, 1.0]
        assert line.y == ((9.0, 9.0) if line.dashed else (3.0, 3.0))
        assert line.errors == pytest.approx((3.0, 3.0) if line.dashed else (1.0, 1.0))


def test_missing_matplotlib_is_told_before_any_work(monkeypatch, tmp_path):
    def lacking():
        raise MissingExtraError("the figure", "matplotlib", "plot")

    monkeypatch.setattr(figure2.report, "check_installed", lacking)
    monkeypatch.setattr(figure2, "SUBJECTS", {"x": lambda *_: pytest.fail("data were read")})
    with pytest.raises(MissingExtraError):
        figure2.experiment(command.Arguments(tmp_path, tmp_path, True, 1))


def test_missing_data_are_refused_in_one_line(tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "experiments.yu_joachims_2009.figure2"),
            *("--data", str(tmp_path), "--out", str(tmp_path / "out"), "--quick"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {tmp_path}/yeast-ars/")
    assert done.stderr.count("\n") == 1


def test_real_data_are_those_of_the_other_experiments(tmp_path):
    if not all((DATA / name).is_dir() for name in ("yeast-ars", "letor3-ohsumed", "litbank-coref")):
        pytest.skip(f"{DATA} lacks the data; set LSSVM_DATA to the folder of the data")
    plan = figure2.QUICK._replace(documents=16)
    made = {name: make(DATA, tmp_path, plan) for name, make in figure2.SUBJECTS.items()}
    motif, coreference, ranking = made.values()
    for part in motif.parts:
        assert np.sum(part.costs < 1) == pytest.approx(0.9 * plan.background, abs=1)
        assert np.sum(part.labels > 0) > np.sum((part.labels < 0) & (part.costs == 1)) > 50
    training = {Path(source.path).stem for source in coref_data.litbank(DATA / "litbank-coref")[0]}
    for part in coreference.parts:
        assert len(part) in (12, 13)  # of 16 documents in five folds
        assert set(part.names) < training
    assert [len(part) for part in ranking.parts] == [63, 63]
    for one in made.values():
        assert len(one.parts) == plan.folds
        assert Config.from_dict({"application": one.options})
