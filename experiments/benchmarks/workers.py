"""Training on workers of this machine that read the files themselves: memory, and seconds a pass.

``memory`` trains a classifier of ten classes on simulated files in the format of SVM-light, 50 of
5,000 features a row, and prints the largest memory of every process. ``passes`` prints the median
seconds of a pass over few rows, so that nearly all of it is what workers cost, for models of some
numbers of weights.

Usage: python -m experiments.benchmarks.workers memory [--files N] [--mb MB] [--workers N]
       python -m experiments.benchmarks.workers passes [--weights D …] [--workers N]
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

import numpy as np

from lssvm import learn, load_config
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.training.arithmetic import arithmetic
from lssvm.training.cccp import Observer, Summary
from lssvm.training.distributed.cluster import cluster_of
from lssvm.training.distributed.crew import Crew
from lssvm.training.distributed.reading import read_by_workers
from lssvm.training.distributed.worker import Recipe

CLASSES, FEATURES, VALUES = 10, 5_000, 50
WIDTH = 10  # bytes of an index with its value, blanks included
COVERED = 100  # features of a row, where every feature occurs
REPEATS = 15
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


def passes(weights: list[int], workers: int, folder: Path) -> None:
    """Print the seconds of a pass for each number of weights."""
    print("      weights  one thread s   workers s")
    with scheduler(workers, folder) as executor:
        for d in weights:
            for number in range(workers):
                path = folder / f"part-{number:03d}.txt"
                write_covering(path, number, workers, d // CLASSES)
            settings = [*SETTINGS, f"data.train={folder}/part-*.txt"]
            config = load_config("configs/multiclass.yaml", settings)
            here, there = config.create_application(), config.create_application()
            alone = DataOracle(here, here.read(config.sources("train")), Executor())
            with cluster_of(executor, workers) as cluster:
                crew = Crew(cluster, Recipe.of(there, read=False))
                examples = read_by_workers(crew, there, config, print)
                at = examples.at
                spread = DataOracle(at, examples, Executor(), summing=at.sums)
                w = np.random.default_rng(0).normal(size=here.known_dimension())
                print(f"{len(w):13,d} {median(alone, w):13.4f} {median(spread, w):11.4f}")


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
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["memory", "passes"])
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--mb", type=float, default=16.0)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--weights", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.what == "memory":
            memory(options.files, options.mb, options.workers, Path(folder))
            return
        passes(options.weights, options.workers, Path(folder))


if __name__ == "__main__":
    main()
