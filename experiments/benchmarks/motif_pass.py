"""One oracle pass of motif finding: bases per second by threads, and the share of the kernel.

The data are 10,000 sequences of 1,000 bases, with l = 17 and a background of order 3.

Usage: python -m experiments.benchmarks.motif_pass
"""

import time
from functools import partial

import numpy as np

from experiments.common.measuring import best_of, simulated
from lssvm.executor import Executor
from lssvm.kernels import _motif
from lssvm.oracle import DataOracle

N, LENGTH, WIDTH = 10_000, 1_000, 17


def main():
    """Print the time of a pass with one thread, with two threads, and of the kernel alone."""
    for strands in ("given", "both"):
        application, examples = simulated(
            0, n=N, length=LENGTH, width=WIDTH, conservation=0.9, strands=strands
        )
        w = np.random.default_rng(1).normal(size=application.dimension(examples))
        seconds = {}
        for threads in (1, 2):
            with Executor(threads) as executor:
                oracle = DataOracle(application, examples, executor)
                seconds[threads] = best_of(partial(oracle.augmented, w), 15)
        began = time.process_time()
        application._search(_motif.AUGMENT, w, examples)
        kernel = time.process_time() - began
        bases = N * LENGTH
        print(
            f"strands {strands}: 1 thread {1e3 * seconds[1]:.1f} ms "
            f"({bases / seconds[1] / 1e6:.0f} Mbase/s), 2 threads {1e3 * seconds[2]:.1f} ms "
            f"({bases / seconds[2] / 1e6:.0f} Mbase/s, {seconds[1] / seconds[2]:.2f} times), "
            f"kernel {100 * min(1.0, kernel / seconds[1]):.0f} % of the pass"
        )


if __name__ == "__main__":
    main()
