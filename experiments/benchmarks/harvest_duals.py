"""Collect duals of the bundle method from real runs into tests/data/bundle_duals.npz.

The script trains on the motif data in data/motif and stores, for each cut, its difference from the
completion and its loss; the first k cuts give a dual with k variables. The gradients are sums of
counts, so the file is small and the Gram matrices that are computed from it are exact.

Usage: python -m experiments.benchmarks.harvest_duals
"""

import contextlib
from pathlib import Path

import numpy as np

from lssvm.config import load_config
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.training.cccp import Observer
from lssvm.training.setup import new_run, rules_of

ROOT = Path(__file__).parent.parent
RUNS = {
    "yeast": (ROOT / "configs" / "motif.yaml", (1e-2, 1.0, 1e4)),
    "simulated": (ROOT / "configs" / "motif-simulated.yaml", (1e-1, 1e2, 1e4)),
}
CUTS = 299


class _FullError(Exception):
    """Raised when the bundle has reached its full size."""


def harvest(config_path, C):
    """The differences (k, d) and losses (k,) of the first k cuts of a run, in order."""
    config = load_config(config_path, [f"objective.C={C}", "objective.c_scaling=sum"])
    application = config.create_application()
    examples = application.read(config.sources("train"))
    oracle = DataOracle(application, examples, Executor(1))
    run = new_run(oracle, config, 0, None)
    rules = rules_of(config, len(examples), application.hidden)._replace(
        epsilon=1e-9, tolerance=1e-9, inexactness=1e-9
    )
    bundle = run.solver

    def between():
        if len(bundle.planes) >= CUTS:
            raise _FullError

    with contextlib.suppress(_FullError):
        run.proceed(oracle, rules, Observer(), 0, between)
    differences = bundle.planes.gradients - bundle.completion.gradient
    losses = bundle.planes.losses - bundle.completion.loss
    counts = differences.astype(np.int16)
    assert np.array_equal(counts, differences), "the differences are not whole numbers"
    return counts, losses


def main():
    arrays = {}
    for name, (path, weights) in RUNS.items():
        for C in weights:
            key = f"{name} C={C:g}"
            arrays[f"{key}|differences"], arrays[f"{key}|losses"] = harvest(path, C)
            print(key, arrays[f"{key}|differences"].shape)
    target = ROOT / "tests" / "data"
    target.mkdir(exist_ok=True)
    np.savez_compressed(target / "bundle_duals.npz", **arrays)


if __name__ == "__main__":
    main()
