"""Kills and interrupts commands at random times, and takes away what they write to.

    python tests/faults.py --shots 100 --seed 0
    python tests/faults.py --seconds 600

Every application and every solver, lssvm cv included: whatever the moment, the outputs are the
old ones or the new ones, the exit code says what happened in one line, the next run gives the
bytes of a run left alone, and no other file stays. The exit code is 1 if anything failed.
"""

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import faults_places

ROOT = Path(__file__).resolve().parents[1]
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
LONGEST = 300  # seconds that any of these runs may take
OLD = b"an output of yesterday\n"
DONE = (0, 3)  # 3: the requested precision was not reached, the model is written


class FaultError(Exception):
    """What must not be."""


class Case(NamedTuple):
    """A command: arguments with {folder} for where its outputs go.

    outputs : files that it writes; state : its checkpoint, if it can be resumed
    before : another command whose outputs it reads
    """

    name: str
    command: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    state: str | None = None
    before: "Case | None" = None


def learning(name, config, *settings):
    words = [word for setting in settings for word in ("--set", setting)]
    arguments = (f"configs/{config}.yaml", "{folder}/m", "-q", "--checkpoint-every", "5", *words)
    return Case(name, "learn", arguments, ("m",), "m.checkpoint")


APPLICATIONS = [
    learning("motif", "motif-simulated", "objective.C=1", "cccp.restarts=3"),
    learning("motif, both strands", "motif", "cccp.restarts=2", "application.length=7"),
    learning("motif, proximal", "motif-proximal", "cccp.restarts=2", "application.length=7"),
    learning("sequence", "sequence"),
    learning("latent_sequence", "latent_sequence", "solver.epsilon=1e-2"),
    learning("coreference", "coreference"),
    learning("coreference, pairs", "coreference-pairs"),
    learning("correlation_clustering", "coreference-correlation"),
    learning("multiclass", "multiclass"),
    learning("taxonomy", "taxonomy"),
    learning("precision_at_k", "precision_at_k"),
    learning("mrf", "mrf", "objective.C=0.01"),
    learning("relation", "relation", "solver.epsilon=1e-2"),
    learning("alignment", "alignment", "objective.model=lssvm"),
    learning("alignment of pairs", "alignment-pairs"),
    learning("parsing", "parsing", "solver.epsilon=1e-2"),
    learning("latent_parsing", "latent_parsing", "solver.epsilon=1e-2"),
]
HIDDEN = ("objective.model=lssvm", "objective.C=0.01")
SOLVERS = [
    learning(method, "multiclass", f"solver.method={method}", "objective.C=1")
    for method in (
        "bundle",
        "proximal",
        "cutting-plane",
        "n-slack",
        "working-set",
        "dual-coordinate",
        "sgd",
    )
] + [
    learning("auto", "sequence", "solver.method=auto"),
    learning("bundle-newton", "precision_at_k", "solver.method=bundle-newton"),
    learning(
        "dual-coordinate, hidden",
        "latent_sequence",
        "objective.model=lssvm",
        "solver.method=dual-coordinate",
    ),
    learning("dual-coordinate, graphs", "mrf", *HIDDEN, "solver.method=dual-coordinate"),
    learning("bundle by OSQP", "multiclass", "solver.method=bundle", "solver.qp=osqp"),
    learning("proximal by OSQP", "multiclass", "solver.method=proximal", "solver.qp=osqp"),
    learning("kernel", "multiclass", "solver.method=n-slack", "kernel.type=rbf"),
    learning("n-slack, hidden", "mrf", *HIDDEN, "solver.method=n-slack"),
    learning("dual-coordinate, rows", "mrf", *HIDDEN, "solver.method=dual-coordinate"),
    *(
        learning(f"{method}, smooth", "sequence", "objective.model=crf", f"solver.method={method}")
        for method in ("lbfgs", "gradient", "sgd")
    ),
]


def searching(name, config, grid, jobs):
    arguments = (f"configs/{config}.yaml", "--set", f"search={{grid: {grid}, folds: 3}}")
    files = ("--csv", "{folder}/cv.csv", "--json", "{folder}/cv.json", "-q", "--jobs", str(jobs))
    outputs = ("cv.csv", "cv.json")
    return Case(name, "cv", (*arguments, *files), outputs, "cv.json.checkpoint")


SEARCHES = [
    searching("cv, 1 process", "multiclass", "{objective.C: [0.1, 1, 10]}", 1),
    searching("cv, 2 processes", "multiclass", "{objective.C: [0.1, 1]}", 2),
    searching("cv of a model", "sequence", "{application.min_count: [1, 2]}", 2),
]
MOTIF = learning("motif", "motif-simulated", "objective.C=0.1", "cccp.restarts=1")
OTHERS = [
    Case(
        "classify",
        "classify",
        ("configs/motif-simulated.yaml", "{before}/m", "{folder}/p", "--metrics", "{folder}/s"),
        ("p", "s"),
        before=MOTIF,
    ),
    Case("show", "show", ("{before}/m", "--export", "meme={folder}/p"), ("p",), before=MOTIF),
    Case(
        "explain",
        "explain",
        ("{before}/m", "configs/motif-simulated.yaml", "--example", "#1", "--json", "{folder}/p"),
        ("p",),
        before=MOTIF,
    ),
    Case(
        "plot",
        "plot",
        ("{before}/m", "{folder}/p.svg", "--kind", "weights"),
        ("p.svg",),
        before=MOTIF,
    ),
    Case(
        "report",
        "report",
        ("{before}/m", "configs/motif-simulated.yaml", "--out", "{folder}/p"),
        ("p",),
        before=MOTIF,
    ),
    Case(
        "score",
        "score",
        (
            *("data/multiclass/test.txt", "data/multiclass/test.txt"),
            *("--application", "multiclass", "--json", "{folder}/p", "--csv", "{folder}/q"),
        ),
        ("p", "q"),
    ),
    Case("check", "check", ("configs/multiclass.yaml",), ()),
]
CASES = [*APPLICATIONS, *SOLVERS, *SEARCHES, *OTHERS]


def program(command):
    """What starts a command as the installed scripts do."""
    door = command if command in ("learn", "classify") else "main"
    words = [] if command in ("learn", "classify") else [command]
    return [sys.executable, "-c", f"from lssvm.cli.program import {door}; {door}()", *words]


def started(case, folder, before, *options):
    places = {"{folder}": str(folder), "{before}": str(before)}
    arguments = list(case.arguments)
    for name, place in places.items():
        arguments = [word.replace(name, place) for word in arguments]
    return subprocess.Popen(
        [*program(case.command), *arguments, *options],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that a signal to the group is one to all its processes
    )


def ended(process):
    """Exit code and standard error of a run; it is the only one of its group that is left."""
    try:
        _, err = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise FaultError(f"no end in {LONGEST} seconds") from None
    return process.returncode, err.decode(errors="replace")


class Reference:
    """What a case gives when it is left alone, and how long that takes."""

    def __init__(self, case, folder):
        self.case, self.before = case, folder / "before"
        if case.before is not None:
            self.before.mkdir(parents=True)
            ended(started(case.before, self.before, None))
        own = folder / "whole"
        own.mkdir(parents=True)
        began = time.perf_counter()
        self.code, err = ended(started(case, own, self.before))
        self.seconds = time.perf_counter() - began
        if self.code not in DONE:
            raise FaultError(f"exit code {self.code} of a run left alone: {err.strip()}")
        if sorted(os.listdir(own)) != sorted(case.outputs):
            raise FaultError(f"a run left alone leaves {sorted(os.listdir(own))}")
        self.contents = {name: (own / name).read_bytes() for name in case.outputs}


def shoot(reference, folder, rng):
    """Stop one run, perhaps the one that goes on too, and let the last one end.

    Returns how the first run ended.
    """
    case = reference.case
    for name in case.outputs:
        (folder / name).write_bytes(OLD)
    outcome, resumed = None, ()
    while True:
        number, group = rng.choice(SIGNALS), rng.random() < 0.5
        delay = rng.uniform(0.0, 1.05) * reference.seconds
        there = set(os.listdir(folder))
        process = started(case, folder, reference.before, *resumed)
        time.sleep(delay)
        if process.poll() is None:
            (os.killpg if group else os.kill)(process.pid, number)
        code, err = ended(process)
        where = f"{number.name}{' to all' if group else ''} after {delay:.3f} s"
        stopped = judge(reference, folder, number, code, err, where)
        left = set(os.listdir(folder)) - {*there, *case.outputs, case.state}
        if left and stopped != "killed":
            raise FaultError(f"{where}: {sorted(left)} stays")
        outcome = outcome or stopped
        resumed = ("--resume",) if case.state and (folder / case.state).exists() else ()
        if rng.random() < 0.7:
            break
    code, err = ended(started(case, folder, reference.before, *resumed))
    if code != reference.code:
        raise FaultError(f"{where}: the next run ends with {code}: {err.strip()}")
    if sorted(os.listdir(folder)) != sorted(case.outputs):
        raise FaultError(f"{where}: the next run leaves {sorted(os.listdir(folder))}")
    if contents(case, folder) != reference.contents:
        raise FaultError(f"{where}: the next run gives other bytes")
    return outcome


def contents(case, folder):
    return {name: (folder / name).read_bytes() for name in case.outputs}


def judge(reference, folder, number, code, err, where):
    """What a run left when it was stopped."""
    found = contents(reference.case, folder)
    for name, content in found.items():
        if content not in (OLD, reference.contents[name]):
            raise FaultError(f"{where}: {name} is neither the old nor the new one")
    lines = err.splitlines()
    ours = str(ROOT / "lssvm") in err
    # The interpreter answers itself before our first line; while it sets itself up, by code 1.
    early = number == signal.SIGINT and code in (-number, 1) and not ours
    if len(lines) > 1 and not early:
        raise FaultError(f"{where}: more than one line: {lines[-1]}")
    if code == reference.code and not lines:
        if found != reference.contents:
            raise FaultError(f"{where}: exit code {code}, but the outputs are not the new ones")
        return "ended"
    if number == signal.SIGKILL:
        if code != -number or err:
            raise FaultError(f"{where}: exit code {code}: {err}")
        return "killed"
    if (early or code == -number) and not ours and set(found.values()) <= {OLD}:
        return "too early"  # the interpreter had not come to our first line, and said so
    if code != 128 + number or len(lines) != 1 or not lines[0].startswith("stopped by SIG"):
        raise FaultError(f"{where}: exit code {code}: {err}")
    return "stopped"


def shots(cases, count, seconds, seed, folder, say=print):
    """Shoot at the cases in turn, two runs at a time; the number of faults."""
    deadline = time.monotonic() + seconds if seconds else None
    per_case = [count // len(cases) + (place < count % len(cases)) for place in range(len(cases))]
    say(f"{'run':24} {'secs':>5}  outcomes")

    def one(place):
        case, outcomes, faults = cases[place], Counter(), []
        own = folder / str(place)
        try:
            reference = Reference(case, own)
        except FaultError as fault:
            say(f"{case.name:24}        FAULT: {fault}")
            return 1
        for number in range(max(1, per_case[place])):
            if deadline and time.monotonic() > deadline:
                break
            rng = random.Random(hashlib.sha256(f"{seed} {case.name} {number}".encode()).digest())
            target = own / f"shot{number}"
            target.mkdir()
            try:
                outcomes[shoot(reference, target, rng)] += 1
            except FaultError as fault:
                faults.append(f"  shot {number}: {fault}")
        told = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
        say("\n".join([f"{case.name:24} {reference.seconds:5.1f}  {told}", *faults]))
        return len(faults)

    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(one, range(len(cases))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shots", type=int, default=100, help="runs that are stopped")
    parser.add_argument("--seconds", type=float, default=0.0, help="stop shooting after so long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cases and places whose name begins so")
    options = parser.parse_args()
    cases = [case for case in CASES if case.name.startswith(options.only)]
    with TemporaryDirectory(prefix="faults") as folder:
        count = 0
        if cases:
            count = shots(cases, options.shots, options.seconds, options.seed, Path(folder))
        count += faults_places.all_places(options.only, Path(folder))
    print(f"{count} faults")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
