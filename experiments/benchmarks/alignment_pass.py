"""Cells a second of best alignments with traceback, beside parasail.

    python -m experiments.benchmarks.alignment_pass

Pairs of protein sequences of 300 and of 1,000 letters, the second one a copy of the first in which
30 percent of the letters were drawn again and a few were removed; BLOSUM62, gaps −12 and −1, one
thread, float64. lssvm aligns 16 pairs at a time, eight side by side, as a native with its decoys;
parasail aligns one after another. Of its variants with traceback those count that do not saturate
at these scores; the fastest one is named. Times alternate, and the ratio is the median of the
rounds.

A cell needs five additions and four maxima at least: its pair, two gaps opened and two extended;
the states of the cell and of its gaps. A local alignment needs two more maxima, its start and its
end. The limit is what one thread does of additions and maxima of doubles in registers, in turn, in
the widest vectors of the machine: a loop of them is compiled by ``cc`` and measured (x86 only). The
look-up of the scores of pairs, and the comparisons and stores of the traceback do not count.
"""

import ctypes
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from lssvm.applications.alignment.alignment_options import AlignmentOptions
from lssvm.applications.alignment.scoring import Scoring
from lssvm.kernels import _alignment
from lssvm.kernels.alignment_arrays import AlignmentArrays

LETTERS = "ARNDCQEGHILKMFPSTWYV"
PAIRS, ROUNDS, MODEL = 16, 7, (12, 1)
OPERATIONS = {"global": 9, "local": 11}  # of a cell, see above
CHAINS, STEPS = 12, 2_000_000  # vectors in registers; turns of the loop
LOOP = """
#include <immintrin.h>
#if defined(__AVX512F__)
#define OF(name) _mm512_##name##_pd
typedef __m512d wide;
#elif defined(__AVX__)
#define OF(name) _mm256_##name##_pd
typedef __m256d wide;
#else
#define OF(name) _mm_##name##_pd
typedef __m128d wide;
#endif
double turns(long steps, double up, double least) {
    wide chain[CHAINS], add = OF(set1)(up), low = OF(set1)(least);
    double all[sizeof(wide) / sizeof(double)], sum = 0.0;
    for (int k = 0; k < CHAINS; k++) chain[k] = OF(set1)(-k);
    for (long i = 0; i < steps; i++)
        for (int k = 0; k < CHAINS; k++) chain[k] = OF(max)(OF(add)(chain[k], add), low);
    for (int k = 0; k < CHAINS; k++) {
        OF(storeu)(all, chain[k]);
        sum += all[0];
    }
    return sum;
}
long width(void) { return sizeof(wide) / sizeof(double); }
"""


def pairs_of(rng, length):
    found = []
    for _ in range(PAIRS):
        x = rng.integers(0, 20, length)
        z = np.where(rng.random(length) < 0.3, rng.integers(0, 20, length), x)
        kept = rng.random(length) > 0.02
        extra = rng.integers(0, 20, int(np.sum(~kept)))
        found.append((x, np.concatenate([z[kept], extra])))
    return found


def ours(pairs, mode):
    scoring = Scoring(AlignmentOptions(prior="BLOSUM62", prior_gaps=(-12.0, -1.0), mode=mode))
    table, model = scoring.scores(np.zeros(scoring.dimension))
    codes = np.concatenate([each for pair in pairs for each in pair]).astype(np.int32)
    places = np.concatenate([[0], np.cumsum([len(each) for pair in pairs for each in pair])])
    x = 2 * np.arange(len(pairs))
    arrays = AlignmentArrays(codes, places, x, x + 1)
    return lambda: _alignment.best(arrays, table, model)[0]


def theirs(pairs, kind):
    import parasail

    texts = [tuple("".join(LETTERS[code] for code in each) for each in pair) for pair in pairs]
    found = {}
    for form in ("striped", "scan", "diag"):
        for bits in ("8", "16", "32"):
            function = getattr(parasail, f"{kind}_trace_{form}_{bits}")
            results = [function(x, z, *MODEL, parasail.blosum62) for x, z in texts]
            if not any(result.saturated for result in results):
                name = f"{kind}_trace_{form}_{bits}"
                found[name] = (function, [result.score for result in results])
    timed = {name: seconds(lambda f=f: run(f, texts)) for name, (f, _) in found.items()}
    best = min(timed, key=timed.get)
    return best, (lambda: run(found[best][0], texts)), found[best][1]


def run(function, texts):
    import parasail

    for x, z in texts:
        function(x, z, *MODEL, parasail.blosum62)


def seconds(function):
    began = time.process_time()
    function()
    return time.process_time() - began


def limit():
    """Additions and maxima of doubles per second in registers; None where that cannot be told."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "turns.c", Path(folder) / "turns.so"
        source.write_text(LOOP, encoding="ascii")
        flags = ["-O3", "-march=native", "-shared", "-fPIC", f"-DCHAINS={CHAINS}"]
        command = ["cc", *flags, str(source), "-o", str(library)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        own = ctypes.CDLL(str(library))
        own.turns.restype = ctypes.c_double
        own.turns.argtypes = [ctypes.c_long, ctypes.c_double, ctypes.c_double]
        shortest = min(seconds(lambda: own.turns(STEPS, 1e-3, -1.0)) for _ in range(ROUNDS))
        return 2 * STEPS * CHAINS * own.width() / shortest


def main():
    most = limit()
    if most is not None:
        print(f"limit: {most / 1e9:.1f} G additions and maxima of doubles a second")
    rng = np.random.default_rng(0)
    for length in (300, 1000):
        pairs = pairs_of(rng, length)
        cells = sum(len(x) * len(z) for x, z in pairs)
        for mode, kind in (("global", "nw"), ("local", "sw")):
            mine = ours(pairs, mode)
            try:
                name, other, scores = theirs(pairs, kind)
            except ImportError:
                print(f"{length} {mode}: {cells / seconds(mine) / 1e9:.2f} Gcells/s; no parasail")
                continue
            assert np.array_equal(mine(), scores)
            times = np.array([(seconds(mine), seconds(other)) for _ in range(ROUNDS)])
            rates = cells / times.min(axis=0) / 1e9
            ratio = float(np.median(times[:, 1] / times[:, 0]))
            done = rates[0] * OPERATIONS[mode]
            share = "" if most is None else f", {100 * done * 1e9 / most:.0f} % of the limit"
            print(
                f"{length} x {length} {mode}: lssvm {rates[0]:.2f} Gcells/s, {name} "
                f"{rates[1]:.2f}; ratio {ratio:.2f}; {done:.1f} G operations/s{share}"
            )


if __name__ == "__main__":
    main()
