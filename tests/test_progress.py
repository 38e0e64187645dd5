"""What a long run tells: lines away from a terminal, passes in the log."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lssvm.cli import learn
from lssvm.cli.console import Console
from lssvm.cli.heartbeat import Heartbeat

PATIENCE = 30.0  # seconds that a thread may be late on a busy machine


def waited(condition):
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def test_a_heart_beats_while_nothing_is_heard():
    beats = []
    heart = Heartbeat(0.01, lambda: beats.append(time.monotonic()))
    heart.start()
    assert waited(lambda: len(beats) >= 3)
    heart.stop()
    count = len(beats)
    time.sleep(0.05)
    assert len(beats) == count
    assert min(np.diff(beats)) >= 0.009


def test_a_heart_is_silent_as_long_as_others_speak():
    beats = []
    heart = Heartbeat(PATIENCE, lambda: beats.append(1))
    heart.start()
    heart.heard()
    heart.stop()
    assert not beats


def test_lines_tell_passes_objective_gap_and_goal_within_a_pass_too(capsys):
    told = []
    with Console(silent=0.02) as console:
        assert waited(lambda: told.append(capsys.readouterr().err) or any(told))
        assert "".join(told).startswith("reading data; 0 s\n")
        console.passed(1200, 0.0123, 0.001, {}, 15.9917)
        console._asked -= 31  # as if the pass had begun then
        told.clear()
        wanted = "after 1,200 passes: objective 15.9917, gap 1.2e-02, goal 1.0e-03; "
        assert waited(lambda: told.append(capsys.readouterr().err) or wanted in "".join(told))
    line = next(line for line in "".join(told).splitlines() if line.startswith(wanted))
    assert line.endswith("s, 31 s of them in the pass under way")


@pytest.mark.parametrize("options", [{"verbosity": 0, "silent": 0.01}, {"silent": 0}])
def test_quiet_runs_and_those_that_ask_for_none_tell_nothing(options, capsys):
    with Console(**options) as console:
        console.passed(1, 0.1, 0.01, {}, 1.0)
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_a_run_without_a_known_gap_says_so(capsys):
    told = []
    with Console(silent=0.02) as console:
        console.passed(1, np.inf, 0.0, {}, np.inf)
        assert waited(lambda: told.append(capsys.readouterr().err) or "pass" in "".join(told))
    assert "after 1 pass: no gap is known; 0 s\n" in "".join(told)


def test_the_log_has_a_pass_a_second_and_every_pass_if_everything_is_told(tmp_path):
    def logged(verbosity, seconds):
        path = Path(tmp_path / "log")
        with Console(verbosity, path, silent=0) as console:
            for passes, late in enumerate(seconds):
                console._logged -= late
                console.passed(passes, 0.5, 0.01, {}, 2.0)
        return [json.loads(line) for line in path.read_text().splitlines()]

    rows = logged(1, [0, 1.5, 0, 0, 2])
    assert [row["passes"] for row in rows] == [1, 4]
    assert {**rows[0], "seconds": 0} == {
        **{"event": "pass", "passes": 1, "objective": 2.0, "gap": 0.5, "goal": 0.01},
        **{"seconds": 0, "not_converged": {}},
    }
    assert [row["passes"] for row in logged(3, [0, 0, 0])] == [0, 1, 2]


CONFIG = str(Path(__file__).parents[1] / "configs" / "multiclass.yaml")


@pytest.mark.parametrize("words", [(), ("--progress", "0"), ("--progress", "1e-4")])
def test_the_option_says_how_often_a_run_tells_its_progress(tmp_path, words):
    model = str(tmp_path / "m")
    result = CliRunner().invoke(learn, [CONFIG, model, *words])
    assert result.exit_code == 0
    told = [line for line in result.stderr.splitlines() if re.search(r"; \d+ s(,|$)", line)]
    assert bool(told) == ("1e-4" in words)
    assert all(line.startswith(("reading data; ", "after ")) for line in told)


def test_a_time_below_0_is_refused(tmp_path):
    result = CliRunner().invoke(learn, [CONFIG, str(tmp_path / "m"), "--progress", "-1"])
    assert result.exit_code == 2
    assert "--progress -1: expected a number of at least 0" in result.stderr
