"""One sum-product pass over random fields: messages per second, with one and two threads.

The data are 1,000 chains of 40 nodes (exact inference by elimination, and belief propagation) and
100 grids of 20 x 31 nodes (ten sweeps of belief propagation); every node has five states. A message
is one vector of five numbers along an edge in one direction: exact inference on a chain computes
two for every edge, like a sweep of belief propagation. A pass is everything from the features to
the expected features.

The result is compared with the time of the arithmetic that a pass needs at least: exponentials and
logarithms by NumPy, which vectorises them, and multiply-adds of a matrix product, all in the
nearest cache. In exact inference, an edge costs 25 exponentials, 5 logarithms, and six additions or
products for each of 25 entries. In a sweep, a message costs 5 exponentials, 5 logarithms and 25
multiply-adds; in addition, every edge costs 25 exponentials before the first sweep and 25 after the
last. Other libraries, where they are installed, get problems of the same shapes, but they begin
with tables of numbers and end with marginals.

Usage: python -m experiments.benchmarks.mrf_pass
"""

import itertools
import time
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.benchmarks import mrf_peers
from experiments.common.measuring import best_of
from lssvm.applications.base import Formulation, Source
from lssvm.applications.mrf.graphs import packed
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.executor import Executor
from lssvm.formats.mrf_text import Features, GraphFile
from lssvm.oracle import DataOracle

STATES, SWEEPS, REPEATS, ROUNDS, SIDE = 5, 10, 9, 1000, 48
CHAINS, LENGTH = 1000, 40
GRIDS, ROWS, COLUMNS = 100, 20, 31


def graphs(count, nodes, ends, rng):
    """``count`` graphs of one shape, packed; each node has one random feature."""
    total, edges = count * nodes, count * len(ends)
    return packed(
        [
            (
                Source("memory"),
                GraphFile(
                    names=[str(i) for i in range(count)],
                    costs=np.full(count, np.nan),
                    lines=np.arange(count),
                    node_offsets=nodes * np.arange(count + 1),
                    edge_offsets=len(ends) * np.arange(count + 1),
                    node_names=["n"] * total,
                    node_classes=["y"] * total,
                    states=np.full(total, STATES, dtype=np.int32),
                    labels=rng.integers(0, STATES, total).astype(np.int32),
                    node_features=one_each(rng.integers(0, STATES, total), rng),
                    edge_classes=["yy"] * edges,
                    ends=np.tile(np.array(ends, dtype=np.int32), (count, 1)),
                    edge_features=one_each(np.zeros(edges, dtype=np.int64), rng),
                    node_lines=None,
                    edge_lines=None,
                ),
            )
        ]
    )


def one_each(indices, rng):
    """Rows with one random feature each."""
    count = len(indices)
    return Features(np.arange(count + 1), indices.astype(np.int32), rng.normal(size=count))


def grid_ends():
    """The edges of a grid, row by row."""
    places = list(itertools.product(range(ROWS), range(COLUMNS)))
    number = {place: k for k, place in enumerate(places)}
    steps = [((a, b), (a + da, b + db)) for a, b in places for da, db in ((0, 1), (1, 0))]
    return [(number[first], number[second]) for first, second in steps if second in number]


def main():
    """Print one line for each data set, kind of inference and number of threads."""
    rng = np.random.default_rng(0)
    chains = graphs(CHAINS, LENGTH, [(t, t + 1) for t in range(LENGTH - 1)], rng)
    grids = graphs(GRIDS, ROWS * COLUMNS, grid_ends(), rng)
    costs = arithmetic(rng)
    # No change is below this tolerance, so that every sweep is made.
    loopy = {"inference": "bp", "sweeps": SWEEPS, "tolerance": 1e-300}
    single = {"inference": "bp", "sweeps": 1, "tolerance": 1e-300}
    for name, examples, options, sweeps in (
        ("chains, exact", chains, {"inference": "exact"}, 1),
        ("chains, bp, 1 sweep", chains, single, 1),
        (f"grids, bp, {SWEEPS} sweeps", grids, loopy, SWEEPS),
    ):
        alone = limit(costs, options["inference"] == "exact", sweeps)
        app = MarkovRandomField(MrfOptions(**options), Formulation("hcrf"))
        w = rng.normal(size=app.dimension(examples))
        messages = 2 * sweeps * len(examples.ends)
        for threads in (1, 2):
            with Executor(threads) as executor:
                oracle = DataOracle(app, examples, executor)
                cpu, wall = measured(oracle, w)
            print(
                f"{name}, {threads} thread{'s' * (threads > 1)}: {1e3 * cpu:.1f} ms cpu, "
                f"{1e3 * wall:.1f} ms wall, {messages / wall / 1e6:.2f} million messages/s, "
                f"{messages / cpu / 1e6:.2f} per CPU second, "
                f"{100 * messages / cpu / alone:.0f} % of "
                f"{1e-6 * alone:.0f} for the arithmetic alone"
            )
    peers(rng)


def arithmetic(rng):
    """The seconds of an exponential, a logarithm and a multiply-add, vectorised, on one thread."""
    numbers, matrix = -rng.random(2000), rng.random((SIDE, SIDE))
    out, positive, product = np.empty_like(numbers), 1.0 - numbers, np.empty_like(matrix)
    with threadpool_limits(1):
        exponential, logarithm, product = (
            best_of(partial(repeated, call)) / ROUNDS / count
            for call, count in (
                (partial(np.exp, numbers, out=out), len(numbers)),
                (partial(np.log, positive, out=out), len(numbers)),
                (partial(np.matmul, matrix, matrix, out=product), SIDE**3),
            )
        )
    print(
        f"on one thread {1e9 * exponential:.2f} ns for an exponential, {1e9 * logarithm:.2f} for a "
        f"logarithm, {1e9 * product:.3f} for a multiply-add"
    )
    return exponential, logarithm, product


def limit(costs, exact, sweeps):
    """The messages per second if only the arithmetic took time."""
    exponential, logarithm, product = costs
    entries = STATES**2
    if exact:
        return 2 / (entries * exponential + STATES * logarithm + 6 * entries * product)
    message = STATES * (exponential + logarithm) + entries * product
    return 1 / (message + entries * exponential / sweeps)


def repeated(call):
    """Repeat the call ``ROUNDS`` times."""
    for _ in range(ROUNDS):
        call()


def peers(rng):
    """Print one line for each other library that is installed."""
    chain_messages = 2 * CHAINS * (LENGTH - 1)
    grid_messages = 2 * SWEEPS * GRIDS * len(grid_ends())
    for messages, runs in (
        (chain_messages, mrf_peers.chains_by_torch_struct(CHAINS, LENGTH, STATES, rng)),
        (chain_messages, mrf_peers.chains_by_dynamax(CHAINS, LENGTH, STATES, rng)),
        (chain_messages, mrf_peers.chains_by_pgmpy(CHAINS, LENGTH, STATES, rng)),
        (grid_messages, mrf_peers.grids_by_pgmax(GRIDS, (ROWS, COLUMNS), STATES, SWEEPS, rng)),
    ):
        for name, (cpu, wall) in runs:
            print(
                f"{name}: {1e3 * cpu:.1f} ms cpu, {1e3 * wall:.1f} ms wall, "
                f"{messages / wall / 1e6:.4f} million messages/s, "
                f"{messages / cpu / 1e6:.4f} per CPU second"
            )


def measured(oracle, w):
    """The median CPU time and the median wall time of a pass, in seconds."""
    oracle.augmented(w)  # computes the plans, which later passes use again
    cpu, wall = [], []
    for _ in range(REPEATS):
        began, used = time.perf_counter(), time.process_time()
        oracle.augmented(w)
        cpu.append(time.process_time() - used)
        wall.append(time.perf_counter() - began)
    return float(np.median(cpu)), float(np.median(wall))


if __name__ == "__main__":
    main()
