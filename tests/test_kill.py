"""kill -9 at random times, resumed each time: the bytes of a run left alone."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import relation_files

CONFIG = Path(__file__).parent.parent / "configs" / "motif-simulated.yaml"
SETTINGS = ["objective.C=1", "cccp.restarts=2", "application.initialisation=random"]
SETTINGS += ["cccp.max_iterations=2", "solver.max_passes=100"]
MOTIF = [word for setting in SETTINGS for word in ("--set", setting)]
RELATION = """
application: {name: relation, loss: f_beta, decomposition: DECOMPOSITION, iterations: 6}
data: {train: bags.txt}
objective: {model: lssvm, C: 0.3}
solver: {epsilon: 1.0e-4, max_passes: 60}
cccp: {max_iterations: 2}
"""
LEARN = "from lssvm.cli import learn; learn()"


def command(config, model, *options):
    arguments = [str(config), str(model), "-q", "--checkpoint-every", "5", *options]
    return [sys.executable, "-c", LEARN, *arguments]


def kill_after(process, checkpoint, writes, delay):
    """Kill the process once the checkpoint has been written so many times more."""
    seen, deadline = None, time.monotonic() + 120
    while writes > 0:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline, "no checkpoint was written"
        if checkpoint.exists() and (now := checkpoint.stat().st_mtime_ns) != seen:
            writes, seen = writes - (seen is not None), now
        time.sleep(0.001)
    time.sleep(delay)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def killed_and_resumed(config, folder, settings, kills, code=0):
    """Kill a run so many times, resuming it each time: its bytes are those of one left alone."""
    whole, killed = folder / "whole.model", folder / "killed.model"
    done = subprocess.run(command(config, whole, "--threads", "1", *settings), check=False)
    assert done.returncode == code
    checkpoint = folder / "killed.model.checkpoint"
    rng = random.Random(0)
    for kill in range(kills):
        resume = ["--resume"] if kill else []
        process = subprocess.Popen(command(config, killed, "--threads", "2", *settings, *resume))
        kill_after(process, checkpoint, rng.randint(1, 6), rng.uniform(0.0, 0.02))
        assert not killed.exists()
    again = command(config, killed, "--threads", "2", *settings, "--resume")
    assert subprocess.run(again, check=False).returncode == code
    assert killed.read_bytes() == whole.read_bytes()
    assert not checkpoint.exists()


def test_three_kills_and_another_number_of_threads_change_no_byte(tmp_path):
    killed_and_resumed(CONFIG, tmp_path, MOTIF, 3, code=3)  # passes and iterations run out


@pytest.mark.parametrize("decomposition", ["counts", "pairs"])
def test_kills_change_no_byte_of_a_loss_over_the_whole_data_set(tmp_path, decomposition):
    text, _ = relation_files.drawn_text(np.random.default_rng(7), 300)
    (tmp_path / "bags.txt").write_text(text.replace("?", "0"))
    config = tmp_path / "c.yaml"
    config.write_text(RELATION.replace("DECOMPOSITION", decomposition))
    killed_and_resumed(config, tmp_path, [], 2, code=3)  # the passes do not reach the precision
