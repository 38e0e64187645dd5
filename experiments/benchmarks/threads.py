"""Passes with one thread against two: wall time, in pairs that take turns.

A pass is inference over all examples, with the sum of their planes or expectations, as the solvers
of sums ask for it: loss-augmented for ``bundle``, over all outputs for ``lbfgs``. The data are
those of letters_pass (6,251 words, or random words of the same sizes), motif_pass, ranking_pass and
mrf_pass. Both passes of a pair give the same bytes, which is checked.

The speed-up is the median over the pairs of the wall time with one thread divided by that with two.
It means something only if two cores are free. Two other columns do not depend on that. The first
is the share of a pass that is not spent in blocks of examples, with one thread. The second is the
share of a block's time that the smallest block takes, one of a single example: it stands for what
is done in Python, which two threads cannot do at once.

Usage: python -m experiments.benchmarks.threads [FOLDER of letters.npz]
"""

import sys
import time
from functools import partial

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from experiments.benchmarks import letters_pass, mrf_pass, ranking_pass
from experiments.common.measuring import best_of
from experiments.common.measuring import simulated as simulated_motif
from experiments.common.ocr_letters import load_letters
from lssvm.applications.base import Formulation
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.applications.ranking.precision_at_k import PrecisionAtK, RankingOptions
from lssvm.applications.sequence.sequence import SequenceLabelling, SequenceOptions
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.output.tables import text_table

PAIRS = 41
WORDS = 6251


class Timed(Executor):
    """One thread that measures the time in blocks."""

    seconds = 0.0

    def in_order(self, function, blocks, take):
        """As in ``Executor``."""

        def timed(block):
            began = time.perf_counter()
            found = function(block)
            self.seconds += time.perf_counter() - began
            return found

        super().in_order(timed, blocks, take)


def problems():
    """Names, applications and examples."""
    dense = letters_pass.simulated(WORDS)
    if sys.argv[1:]:
        dense = load_letters(sys.argv[1], range(1, 10))
    rows = dense.with_inputs(sparse.csr_array(dense.dense))
    for name in ("ssvm", "crf"):
        application = SequenceLabelling(SequenceOptions(), Formulation(name))
        yield f"sequence, {name}, dense", application, dense
        yield f"sequence, {name}, sparse", application, rows
    yield "motif", *simulated_motif(0, n=10_000, length=1000, width=17)
    single = ranking_pass.simulated()
    copies = np.tile(np.arange(len(single)), ranking_pass.COPIES)
    yield "ranking", PrecisionAtK(RankingOptions(k=10)), single.take(copies)
    ends = [(t, t + 1) for t in range(mrf_pass.LENGTH - 1)]
    rng = np.random.default_rng(0)
    chains = mrf_pass.graphs(mrf_pass.CHAINS, mrf_pass.LENGTH, ends, rng)
    for name in ("ssvm", "hcrf"):
        yield f"mrf, {name}", MarkovRandomField(MrfOptions(), Formulation(name)), chains


def compared(application, examples):
    """The row of the table for one problem."""
    w = 0.1 * np.random.default_rng(0).normal(size=application.dimension(examples))
    timed = Timed()
    alone = DataOracle(application, examples, timed)
    with Executor(2) as executor:
        pair = (
            DataOracle(application, examples, Executor()),
            DataOracle(application, examples, executor),
        )
        first, second = (oracle.augmented(w)[0] for oracle in pair)
        assert first.gradient.tobytes() == second.gradient.tobytes()
        times = np.array([[best_of(partial(own.augmented, w), 1) for own in pair]
                          for _ in range(PAIRS)])  # fmt: skip
    began = time.perf_counter()
    timed.seconds = 0.0
    for _ in range(PAIRS):
        alone.augmented(w)
    outside = 1.0 - timed.seconds / (time.perf_counter() - began)
    ratios = times[:, 0] / times[:, 1]
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    return {
        "weights": len(w),
        "blocks": len(alone.blocks),
        "1 thread, ms": 1e3 * times[:, 0].min(),
        "2 threads, ms": 1e3 * times[:, 1].min(),
        "speed-up": f"{middle:.2f}",
        "quartiles": f"{low:.2f} {high:.2f}",
        "outside, %": 100.0 * outside,
        "smallest block, %": 100.0 * overhead(alone, w),
    }


def overhead(oracle, w):
    """The time of a block of a single example as a share of that of a usual block."""
    block = oracle.blocks[len(oracle.blocks) // 2]
    ask = oracle.application.augmented
    if oracle._gathering is not None:
        ask = oracle.application.coefficients
    small, usual = (best_of(partial(ask, w, own), 99) for own in (block.slice(0, 1), block))
    return small / usual


def main():
    """Print the table."""
    with threadpool_limits(1):
        rows = [{"problem": name, **compared(*problem)} for name, *problem in problems()]
    print(text_table("Passes with one thread and with two, wall time", rows))


if __name__ == "__main__":
    main()
