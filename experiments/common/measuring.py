"""What the benchmarks share: simulated data in memory and timing."""

import tempfile
import time
from pathlib import Path

import numpy as np

from lssvm.applications.base import Source
from lssvm.applications.motif.motif import Motif, MotifOptions
from lssvm.simulation import motif as simulate
from lssvm.simulation.dna import spelled, write_fasta


def simulated(seed, n=200, length=200, width=11, conservation=0.95, order=3, **options):
    """The motif application, and n simulated sequences that it has read."""
    rng = np.random.default_rng(seed)
    model = simulate.motif_model(rng, width, conservation)
    drawn = simulate.motif(rng, model, n, length)
    application = Motif(MotifOptions(length=width, background_order=order, **options))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "simulated.fa"
        records = [
            (f"s{i} label={label:+d}", letters)
            for i, (letters, label) in enumerate(
                zip(spelled(drawn.codes), drawn.labels, strict=True)
            )
        ]
        write_fasta(path, records)
        return application, application.read([Source(str(path))])


def best_of(function, repeats=5):
    """The shortest wall time of several calls, in seconds."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)
