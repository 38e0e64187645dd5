"""Training on workers of this machine that read the files themselves: memory, and seconds a pass.

``memory`` trains a classifier of ten classes on simulated files in the format of SVM-light, 50 of
5,000 features a row, and prints the largest memory of every process. ``passes`` prints the median
seconds of a pass over few rows, so that nearly all of it is what workers cost, for models of some
numbers of weights. It can do so behind a network that is slow on purpose, and prints what the model
of docs/how_to/scale.md expects.

Usage: python -m experiments.benchmarks.workers memory [--files N] [--mb MB] [--workers N]
       python -m experiments.benchmarks.workers passes [--weights D …] [--workers N …] [--overlap]
           [--delay MS] [--bandwidth MB]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lssvm import learn, load_config
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.training.arithmetic import arithmetic
from lssvm.training.cccp import Observer, Summary
from lssvm.training.distributed.cluster import Cluster, Worker, cluster_of
from lssvm.training.distributed.crew import Crew, bytes_of
from lssvm.training.distributed.reading import read_by_workers
from lssvm.training.distributed.worker import Recipe, Reply

CLASSES, FEATURES, VALUES = 10, 5_000, 50
WIDTH = 10  # bytes of an index with its value, blanks included
COVERED = 100  # features of a row, where every feature occurs
REPEATS = 15
WAITING, MESSAGE, PACKED = 1.5e-3, 1e-3, 350e6  # a, b and B of the model
LIMIT = "1.5GB"
OFF = {f"DASK_DISTRIBUTED__WORKER__MEMORY__{key}": "False" for key in ("TARGET", "SPILL", "PAUSE")}
SETTINGS = [
    *("application={name: multiclass, bias: 0}", "data.test=[]", "search.grid={}"),
    *("solver.method=bundle", "objective.C=10", "objective.c_scaling=mean"),
]


def write_rows(path: Path, rng: np.random.Generator, mb: float) -> None:
    """A file of so many megabytes, whose classes can be told apart in part."""
    values = [[f"{i + 1}:{v / 10:.1f}".rjust(WIDTH) for v in range(1, 21)] for i in range(FEATURES)]
    tokens = np.array(values, dtype=f"S{WIDTH}")
    labels = np.array([f"class-{k}".ljust(WIDTH) for k in range(CLASSES)], dtype=f"S{WIDTH}")
    rows, step = int(mb * 1e6 / ((VALUES + 1) * WIDTH + 1)), FEATURES // VALUES
    classes = rng.integers(CLASSES, size=rows)
    places = rng.integers(step, size=(rows, VALUES))
    told = rng.random((rows, VALUES)) < 0.15
    places = np.where(told, places // CLASSES * CLASSES + classes[:, None], places)
    text = np.empty((rows, VALUES + 1), dtype=f"S{WIDTH}")
    text[:, 0] = labels[classes]
    text[:, 1:] = tokens[np.arange(VALUES) * step + places, rng.integers(20, size=(rows, VALUES))]
    lines = np.full((rows, (VALUES + 1) * WIDTH + 1), ord("\n"), dtype=np.uint8)
    lines[:, :-1] = text.view(np.uint8).reshape(rows, -1)
    path.write_bytes(lines.tobytes())


def write_covering(path: Path, number: int, files: int, features: int) -> None:
    """Rows that have every feature once, all files together."""
    own = np.arange(number, features // COVERED, files)
    with path.open("w") as file:
        for row in own.tolist():
            values = " ".join(f"{row * COVERED + k + 1}:1" for k in range(COVERED))
            file.write(f"class-{row % CLASSES} {values}\n")


@contextmanager
def scheduler(workers: int, folder: Path) -> Iterator[str]:
    """The executor of workers that are limited to 1.5 GB and do not spill."""
    file = folder / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_{}", "--scheduler-file", str(file)]
    more = {
        "scheduler": ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
        "worker": ["--nworkers", str(workers), "--nthreads", "1", "--memory-limit", LIMIT],
    }
    started = []
    try:
        for kind, arguments in more.items():
            whole = [part.format(kind) for part in command] + arguments
            null = subprocess.DEVNULL
            started.append(subprocess.Popen(whole, env=os.environ | OFF, stdout=null, stderr=null))
            while not file.exists():
                time.sleep(0.1)
        yield f"dask:{file}"
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def peak() -> float:
    """The largest memory of this process so far, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1000


class Last(Observer):
    """Keeps the summary."""

    def finished(self, summary: Summary) -> None:
        """The end of the run."""
        self.summary = summary


def memory(files: int, mb: float, workers: int, folder: Path) -> None:
    """Train, and print the largest memory of every process."""
    import distributed

    for number in range(files):
        rng = np.random.default_rng(number)
        write_rows(folder / f"part-{number:03d}.txt", rng, mb)
    config = load_config("configs/multiclass.yaml", [*SETTINGS, f"data.train={folder}/part-*.txt"])
    began, last = time.perf_counter(), Last()
    with scheduler(workers, folder) as executor:
        model = learn(config, executor=executor, workers=workers, observer=last)
        seconds = time.perf_counter() - began
        with distributed.Client(scheduler_file=executor.removeprefix("dask:")) as client:
            peaks = sorted(client.run(peak).values())
    record = model.record
    print(f"{files} files of {mb:g} MB, {record['n_examples']:,d} rows, {workers} workers")
    print(f"gap {record['gap']:.1e} after {record['passes']} passes, {seconds:.0f} s")
    print(f"driver {peak():.0f} MB, workers {', '.join(f'{each:.0f}' for each in peaks)} MB")
    print(f"{last.summary.workers_lost} workers lost")


class Slow:
    """The workers of a cluster behind a network that has a delay and carries few bytes a second.

    All messages go through one link of this process, one after another; delays do not add up.
    """

    def __init__(self, cluster: Cluster, delay: float, bandwidth: float) -> None:
        """delay : seconds of a message; bandwidth : bytes a second"""
        self._cluster, self._delay, self._bandwidth = cluster, delay, bandwidth
        self._began: dict[Any, float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def call(self, worker: Worker, actor: Any, method: str, *arguments: Any) -> Any:
        """As of a cluster, once the question would be sent."""
        time.sleep(bytes_of(arguments) / self._bandwidth)
        self._began[worker] = time.perf_counter()
        return self._cluster.call(worker, actor, method, *arguments)

    def result(self, future: Any, worker: Worker) -> Any:
        """As of a cluster, once the answer would be here."""
        found = self._cluster.result(future, worker)
        if isinstance(found, Reply):
            there = self._began[worker] + 2 * self._delay + found.seconds
            time.sleep(max(0.0, there - time.perf_counter()))
            time.sleep(bytes_of(found.found) / self._bandwidth)
        return found


def passes(options: argparse.Namespace, folder: Path) -> None:
    """Print the seconds of a pass for each number of weights and of workers, and those expected."""
    delay, bandwidth = options.delay / 1e3, options.bandwidth * 1e6
    print("      weights  workers      MB  one thread s   workers s     model s")
    for workers in options.workers:
        with scheduler(workers, folder) as executor:
            for d in options.weights:
                own = folder / f"{workers}-{d}"
                own.mkdir()
                for number in range(workers):
                    place = (0, 1) if options.overlap else (number, workers)
                    write_covering(own / f"part-{number:03d}.txt", *place, d // CLASSES)
                alone, here, mb, w = passed(own, executor, workers, delay, bandwidth)
                expected = alone / workers + WAITING + 2 * delay + workers * MESSAGE
                expected += mb * 1e6 * (1 / PACKED + 1 / bandwidth)
                print(
                    f"{w:13,d} {workers:8d} {mb:7.2f} {alone:13.4f} {here:11.4f} {expected:11.4f}"
                )


def passed(
    folder: Path, executor: str, workers: int, delay: float, bandwidth: float
) -> tuple[float, float, float, int]:
    """Seconds of a pass by one thread and by workers, megabytes that it sends, and weights."""
    config = load_config("configs/multiclass.yaml", [*SETTINGS, f"data.train={folder}/part-*.txt"])
    here, there = config.create_application(), config.create_application()
    alone = DataOracle(here, here.read(config.sources("train")), Executor())
    w = np.random.default_rng(0).normal(size=here.known_dimension())
    with cluster_of(executor, workers) as cluster:
        slow: Any = Slow(cluster, delay, bandwidth)
        crew = Crew(slow, Recipe.of(there, read=False))
        examples = read_by_workers(crew, there, config, print)
        at = examples.at
        spread = DataOracle(at, examples, Executor(), summing=at.sums)
        spread.augmented(w)
        before = crew.traffic
        seconds = median(spread, w)
        sent = crew.traffic.sent + crew.traffic.received - before.sent - before.received
        return median(alone, w), seconds, sent / REPEATS / 1e6, len(w)


def median(oracle: DataOracle, w: np.ndarray) -> float:
    """The median seconds of a pass."""
    found = []
    with arithmetic():
        for _ in range(REPEATS):
            began = time.perf_counter()
            oracle.augmented(w)
            found.append(time.perf_counter() - began)
    return float(np.median(found))


def main() -> None:
    """Run one of the two."""
    fast = 1e6  # MB a second
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["memory", "passes"])
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--mb", type=float, default=16.0)
    parser.add_argument("--workers", type=int, nargs="+", default=[4])
    parser.add_argument("--overlap", action="store_true", help="all files have all features")
    parser.add_argument("--delay", type=float, default=0.0, help="milliseconds of a message")
    parser.add_argument("--bandwidth", type=float, default=fast, help="megabytes a second")
    parser.add_argument("--weights", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.what == "memory":
            memory(options.files, options.mb, options.workers[0], Path(folder))
            return
        passes(options, Path(folder))


if __name__ == "__main__":
    main()
