"""One pass of the sequence kernels over OCR letters: milliseconds of CPU time and of wall time.

A pass of the structural SVM scores every letter (128 pixels, 26 labels), finds the best path with
the loss added, and sums its joint features; a pass of the CRF sums over all paths. Folds 1 to 9 are
6,251 words, fold 0 is 626 words; if the data are absent, random words of the same sizes are used.

Usage: python -m experiments.benchmarks.letters_pass [FOLDER of letters.npz]
"""

import sys
import time

import numpy as np
from scipy import sparse

from experiments.common.ocr_letters import load_letters
from lssvm.applications.base import Formulation
from lssvm.applications.sequence.examples import packed
from lssvm.applications.sequence.sequence import SequenceLabelling, SequenceOptions
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.executor import Executor
from lssvm.offsets import cumulated
from lssvm.oracle import DataOracle

REPEATS = 21
FORMS = {
    "Hamming, margin": Formulation("ssvm"),
    "Hamming, slack": Formulation("ssvm", "slack"),
    "CRF": Formulation("crf"),
}


def simulated(words):
    """Random words of 2 to 13 letters; two of nine pixels are 1."""
    rng = np.random.default_rng(0)
    offsets = cumulated(rng.integers(2, 14, words))
    tags = [chr(97 + label) for label in rng.integers(0, 26, offsets[-1])]
    pixels = (rng.random((offsets[-1], 128)) < 2 / 9).astype(float)
    return packed(pixels, tags, offsets, Vocabulary(tuple(map(chr, range(97, 123))), 128))


def main():
    """Print one line for each data set, objective and number of threads."""
    for words, folds in ((626, [0]), (6251, range(1, 10))):
        dense = load_letters(sys.argv[1], folds) if sys.argv[1:] else simulated(words)
        rows = dense.with_inputs(sparse.csr_array(dense.dense))
        for name, formulation in FORMS.items():
            application = SequenceLabelling(SequenceOptions(), formulation)
            w = 0.1 * np.random.default_rng(0).normal(size=application.dimension(dense))
            for kind, examples in (("dense", dense), ("sparse", rows)):
                for threads in (1, 2):
                    with Executor(threads) as executor:
                        oracle = DataOracle(application, examples, executor)
                        cpu, wall = measured(oracle, w)
                    print(
                        f"{len(examples):,d} words, {name}, {kind}, {threads} threads: "
                        f"{cpu:.2f} ms cpu, {wall:.2f} ms wall, {len(oracle.blocks)} blocks"
                    )


def measured(oracle, w):
    """The least CPU time and the least wall time of a pass, in milliseconds."""
    cpu, wall = [], []
    for _ in range(REPEATS):
        began, used = time.perf_counter(), time.process_time()
        oracle.augmented(w)
        cpu.append(time.process_time() - used)
        wall.append(time.perf_counter() - began)
    return 1e3 * min(cpu), 1e3 * min(wall)


if __name__ == "__main__":
    main()
