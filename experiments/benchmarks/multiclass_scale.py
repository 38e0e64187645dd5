"""Multiclass training on a large data set: 1,000,000 rows x 100 features x 10 classes, simulated.

Features are normal, and the label is the class of highest w . x + noise under normal weights. The
noise has standard deviation 3, so that about a quarter of the labels cannot be learnt. The bundle
method trains to a relative gap of 1e-2. The memory shown is that of the process: after the data are
made, and its maximum during training.

Then single passes of the kernel are timed: seconds, GB/s of the data and multiply-adds, together
with NumPy's product of the rows and the weights in one thread, which computes scores only.

Usage: python -m experiments.benchmarks.multiclass_scale [--rows N] [--features D] [--classes K]
           [--threads T] [--C C] [--epsilon E] [--slack]
"""

import argparse
import resource
import time
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.common.measuring import best_of
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.config import Config
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.training.session import learn_on

NOISE = 3.0
AT_ONCE = 10_000


def simulated(rows, features, classes, seed=0):
    """A matrix (rows, features + 1), whose last feature is 1, and labels; no copy is made.
    The current memory of this process, in bytes.
    """
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(features, classes))
    matrix, labels = np.ones((rows, features + 1)), np.empty(rows, dtype=np.int32)
    for first in range(0, rows, AT_ONCE):
        part = matrix[first : first + AT_ONCE, :features]
        part[...] = rng.normal(size=part.shape)
        noise = NOISE * rng.normal(size=(len(part), classes))
        labels[first : first + AT_ONCE] = np.argmax(part @ weights + noise, axis=1)
    return matrix, labels


def resident():
    """Memory of this process now, in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS"):
            return 1024 * int(line.split()[1])
    raise OSError("no VmRSS in /proc/self/status")


def show_passes(application, examples):
    """Print the time of a pass, and the time that NumPy needs for the scores alone."""
    w = np.random.default_rng(1).normal(size=application.dimension(examples))
    size = examples.dense.nbytes
    work = 2 * examples.dense.size * len(application.columns)
    for threads in (1, 2):
        with Executor(threads) as executor:
            oracle = DataOracle(application, examples, executor)
            seconds = best_of(partial(oracle.augmented, w), 3)
        print(
            f"pass, {threads} thread{'s' * (threads > 1)}: {seconds:.3f} s, "
            f"{size / seconds / 1e9:.1f} GB/s, {work / seconds / 1e9:.1f} Gflop/s of scores"
        )
    with threadpool_limits(1):
        table = w.reshape(examples.width, -1)
        print(f"NumPy, X @ W, 1 thread: {best_of(lambda: examples.dense @ table, 3):.3f} s")


def main():
    """Print the times of passes, then the time and memory of training."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--C", type=float, default=1e-4)
    parser.add_argument("--epsilon", type=float, default=1e-2)
    parser.add_argument(
        "--slack", action="store_true", help="slack rescaling instead of margin rescaling"
    )
    options = parser.parse_args()
    config = Config.from_dict(
        {
            "application": {"name": "multiclass"},
            "objective": {"C": options.C, "rescaling": "slack" if options.slack else "margin"},
            "solver": {"epsilon": options.epsilon},
        }
    )
    application = config.create_application()
    names = [str(k) for k in range(options.classes)]
    application.fix(names, options.features)
    matrix, labels = simulated(options.rows, options.features, options.classes)
    examples = in_memory(matrix, labels, names, options.classes)
    before, began = resident(), time.perf_counter()
    model = learn_on(application, examples, config, threads=options.threads)
    seconds = time.perf_counter() - began
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    record = model.record
    print(
        f"{options.rows:,d} x {options.features} x {options.classes}, C = {options.C:g}, "
        f"{options.threads} threads: {seconds:.1f} s, {record['passes']} passes, objective "
        f"{record['objective']:.6g}, gap {record['gap']:.1e}, training error "
        f"{record['training']['error']:.2f} %"
    )
    print(
        f"memory: rows {matrix.nbytes / 1e6:.0f} MB, process with the data {before / 1e6:.0f} MB, "
        f"at most {peak / 1e6:.0f} MB = {peak / matrix.nbytes:.2f} times the rows"
    )
    show_passes(application, examples)


if __name__ == "__main__":
    main()
