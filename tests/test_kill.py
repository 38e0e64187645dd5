"""kill -9 at random times, resumed each time: the bytes of a run left alone."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

CONFIG = Path(__file__).parent.parent / "configs" / "motif-simulated.yaml"
SETTINGS = ["objective.C=1", "cccp.restarts=2", "application.initialisation=random"]
LEARN = "from lssvm.cli import learn; learn()"


def command(model, *options):
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    arguments = [str(CONFIG), str(model), "-q", "--checkpoint-every", "5", *settings, *options]
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


def test_five_kills_and_another_number_of_threads_change_no_byte(tmp_path):
    whole, killed = tmp_path / "whole.model", tmp_path / "killed.model"
    subprocess.run(command(whole, "--threads", "1"), check=True)
    checkpoint = tmp_path / "killed.model.checkpoint"
    rng = random.Random(0)
    for kill in range(5):
        resume = ["--resume"] if kill else []
        process = subprocess.Popen(command(killed, "--threads", "2", *resume))
        kill_after(process, checkpoint, rng.randint(1, 6), rng.uniform(0.0, 0.02))
        assert not killed.exists()
    subprocess.run(command(killed, "--threads", "2", "--resume"), check=True)
    assert killed.read_bytes() == whole.read_bytes()
    assert not checkpoint.exists()
