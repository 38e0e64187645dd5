"""Every solver on OCR letters: time, passes and test error at relative gaps 1e-2, 1e-3 and 1e-4.

The model is a linear chain over the words of Kassel and Taskar (128 pixels, 26 labels), with
Hamming loss, margin rescaling, and C per word. It is trained on fold 0 (626 words), fold 1 (704
words) or folds 1 to 9 (6,251 words), and tested on the others. Each row runs in its own process
with one thread, one after another; it ends at a gap of 1e-4 or when its CPU seconds are over. The
gap at the end is proved in both cases. For comparison, CRFsuite (L-BFGS, c2 = 1, one attribute for
each pixel that is set) runs until it stops by itself.

On fold 1, the table also shows the absolute gap 0.6, at which svm_hmm with -w 4 -e .01 ended when
it was measured on this problem (31,680 oracle calls).

Optima on which independent solvers agreed must lie between the lower bound and the objective of
every row; otherwise the benchmark fails. Last, one fused pass over 6,251 words is timed with one
thread and with two.

Usage: python -m experiments.benchmarks.letters_solvers [--data FOLDER] [--out FOLDER] [--quick]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from experiments.benchmarks.letters_pass import measured
from experiments.common.ocr_letters import FOLDS, load_letters
from lssvm.applications.base import Formulation
from lssvm.applications.sequence.sequence import SequenceLabelling, SequenceOptions
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.output.tables import make_folder, text_table, write_results
from lssvm.training.cccp import Observer
from lssvm.training.setup import new_run, rules_of

SOLVERS = ("bundle", "proximal", "cutting-plane", "n-slack", "dual-coordinate")
GAPS = (1e-2, 1e-3, 1e-4)
ABSOLUTE = 0.6
# Training folds, C, CPU seconds allowed for a row, and bounds of the known optimum.
PROBLEMS = (
    ("0", 0.01, 20, (34.8525, 34.8535)),
    ("0", 0.1, 20, (203.095, 203.105)),
    ("1", 0.1, 20, (246.08, 246.41)),
    ("1-9", 0.01, 40, None),
    ("1-9", 0.1, 40, (1927.0, 1944.7)),
    ("1-9", 1.0, 80, None),
)
CRF = "CRFsuite"


class OverTimeError(Exception):
    """Raised when the CPU seconds of a row are over."""


def folds(name):
    """The numbers of the training folds."""
    first, _, last = name.partition("-")
    return list(range(int(first), int(last or first) + 1))


def training_and_test(data, name):
    """The training words and the test words, with sparse rows."""
    chosen = folds(name)
    parts = (chosen, [fold for fold in range(FOLDS) if fold not in chosen])
    words = [load_letters(data, part) for part in parts]
    return [each.with_inputs(sparse.csr_array(each.dense)) for each in words]


class Clock(Observer):
    """Records the time, the passes and the point at which each gap is first reached."""

    def __init__(self, C, seconds):
        self.C, self.seconds = C, seconds
        self.began, self.used = time.perf_counter(), time.process_time()
        self.run, self.reached = None, {}

    def passed(self, passes, gap, goal, not_converged, objective):
        """Record the state of the run, and stop it if it takes too long."""
        self.note()
        if time.process_time() - self.used > self.seconds:
            raise OverTimeError

    def note(self):
        """Record the gaps that are reached now for the first time, with time, passes and w."""
        solver = self.run.solver
        primal = solver.primal(self.C)
        self.gap = primal - solver.lower
        if not np.isfinite(primal):
            return
        found = [f"{gap:g}" for gap in GAPS if self.gap <= gap * primal]
        found += ["absolute"] if self.gap <= ABSOLUTE else []
        for name in found:
            if name not in self.reached:
                self.reached[name] = (
                    time.process_time() - self.used,
                    time.perf_counter() - self.began,
                    self.run.passes,
                    solver.w.copy(),
                )


def ssvm_row(data, name, C, method, seconds):
    """Train by one of our solvers: a row of the results, and the time to the absolute gap."""
    train, test = training_and_test(data, name)
    config = Config.from_dict(
        {
            "application": {"name": "sequence"},
            "objective": {"model": "ssvm", "C": C},
            "solver": {"method": method, "epsilon": GAPS[-1]},
        }
    )
    application = config.create_application()
    with threadpool_limits(1), Executor(1) as executor:
        oracle = DataOracle(application, train, executor)
        clock = Clock(C, seconds)
        run = clock.run = new_run(oracle, config, 0, None)
        try:
            run.proceed(oracle, rules_of(config, len(train), hidden=False), clock)
            clock.note()
        except OverTimeError:
            pass
    objective = run.solver.primal(C)
    row = {"objective": objective, "lower": run.solver.lower, "gap": clock.gap / objective}
    for gap in (f"{gap:g}" for gap in GAPS):
        cpu, wall, passes, w = clock.reached.get(gap, (None, None, None, None))
        row |= {f"cpu {gap}": cpu, f"wall {gap}": wall}
        row |= {f"passes {gap}": None if passes is None else round(passes)}
        score = {} if w is None else application.score(test, application.predict(w, test))
        row[f"error {gap}"] = score.get("error")
    cpu, wall, passes, _ = clock.reached.get("absolute", (None, None, None, None))
    row |= {"cpu absolute": cpu, "wall absolute": wall}
    row["calls absolute"] = None if passes is None else round(passes * len(train))
    return row


def crf_row(data, name):
    """Train CRFsuite: its seconds and its test error."""
    import pycrfsuite

    train, test = training_and_test(data, name)

    def items(words):
        rows = words.inputs
        for first, last in zip(words.offsets[:-1], words.offsets[1:], strict=True):
            tokens = [
                [f"p{j}" for j in rows.indices[rows.indptr[t] : rows.indptr[t + 1]]]
                for t in range(first, last)
            ]
            yield pycrfsuite.ItemSequence(tokens), list(words.tags[first:last])

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params={"c1": 0.0, "c2": 1.0}, verbose=False)
    for tokens, tags in items(train):
        trainer.append(tokens, tags)
    began, used = time.perf_counter(), time.process_time()
    path = f"letters-{os.getpid()}.crf"
    try:
        trainer.train(path)
        row = {"cpu": time.process_time() - used, "wall": time.perf_counter() - began}
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        wrong = [
            np.count_nonzero(np.array(tagger.tag(tokens)) != np.array(tags))
            for tokens, tags in items(test)
        ]
        tagger.close()
    finally:
        Path(path).unlink(missing_ok=True)
    return row | {"error": 100.0 * float(np.sum(wrong)) / len(test.tags)}


def in_own_process(out, *arguments):
    """Run this script for one row, in a process of its own, and return the row."""
    process = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "--row", json.dumps(arguments)],
        cwd=out,
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        raise LssvmError(f"row {arguments}: {process.stderr.strip().splitlines()[-1]}")
    return json.loads(process.stdout)


def solver_rows(data, out, quick):
    """Run all our solvers: the rows, and a line for each that excludes the known optimum."""
    rows, wrong = [], []
    for name, C, seconds, known in PROBLEMS[: 1 if quick else None]:
        for method in SOLVERS:
            row = in_own_process(out, data, name, C, method, seconds)
            rows.append({"folds": name, "C": C, "solver": method, **row})
            print(f"folds {name}, C = {C:g}, {method}: {row['gap']:.1e}", file=sys.stderr)
            if known and not (row["lower"] <= known[1] and row["objective"] >= known[0]):
                wrong.append(f"{name}, C = {C:g}, {method}: {row['lower']} … {row['objective']}")
    return rows, wrong


def shown(rows):
    """The rows in the form in which they are printed."""
    table = []
    for row in rows:
        line = {key: row[key] for key in ("folds", "C", "solver")}
        for gap in (f"{gap:g}" for gap in GAPS):
            numbers = [row[f"{key} {gap}"] for key in ("cpu", "wall", "passes", "error")]
            reached = numbers[0] is not None
            cell = "{:.2f} / {:.2f} s, {}, {:.2f} %".format(*numbers) if reached else "–"
            line[f"to {gap}"] = cell
        table.append(line | {"gap at end": f"{row['gap']:.1e}", "MB": f"{row['mb']:.0f}"})
    title = "Letters: CPU / wall seconds, oracle passes and test error to relative duality gaps"
    return text_table(title, table)


def other_rows(data, out, rows, quick):
    """The lines to print, and the rows: CRFsuite, the absolute gap on fold 1, and one pass."""
    names = list(dict.fromkeys(row["folds"] for row in rows))
    peers = [{"folds": name, "peer": CRF, **in_own_process(out, data, name)} for name in names]
    texts = [text_table("CRFsuite, L-BFGS, c2 = 1", peers)]
    own = [row for row in rows if row["folds"] == "1"]
    if own:
        keys = {"cpu": "cpu absolute", "wall": "wall absolute", "oracle calls": "calls absolute"}
        table = [
            {"solver": row["solver"], **{name: row[key] for name, key in keys.items()}}
            for row in own
        ]
        texts.append(text_table(f"Fold 1, C = 0.1: to the absolute gap {ABSOLUTE}", table))
    return [*texts, one_pass(data, "0" if quick else "1-9")], peers


def one_pass(data, name):
    """The time of a fused pass, with one thread and with two."""
    application = SequenceLabelling(SequenceOptions(), Formulation("ssvm"))
    train, _ = training_and_test(data, name)
    w = 0.1 * np.random.default_rng(0).normal(size=application.dimension(train))
    lines, walls = [], []
    for threads in (1, 2):
        with Executor(threads) as executor:
            cpu, wall = measured(DataOracle(application, train, executor), w)
        walls.append(wall)
        lines.append(
            f"pass over {len(train):,d} words, {threads} threads: {cpu:.1f} ms cpu, "
            f"{wall:.1f} ms wall"
        )
    load = os.getloadavg()[0]
    return "\n".join([*lines, f"ratio {walls[0] / walls[1]:.2f} at load {load:.1f}"])


def main():
    """Run all rows, print and write the tables; with --row, run one row and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    default = Path(os.environ.get("LSSVM_DATA", "../shared/data")) / "ocr-letters"
    parser.add_argument("--data", type=Path, default=default, help="folder of letters.npz")
    parser.add_argument("--out", type=Path, default=Path("out/bench-letters"))
    parser.add_argument("--quick", action="store_true", help="only fold 0 with C = 0.01")
    parser.add_argument("--row", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row is not None:
        row = ssvm_row(*options.row) if len(options.row) > 2 else crf_row(*options.row)
        row["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(row))
        return
    try:
        make_folder(options.out)
        data = str(options.data.resolve())
        load_letters(data, [0])
        rows, wrong = solver_rows(data, options.out, options.quick)
        text = shown(rows)
        texts, peers = other_rows(data, options.out, rows, options.quick)
        text = "\n\n".join([text, *texts])
        write_results(options.out, "letters", text, rows, {"peers": peers})
    except LssvmError as error:
        sys.exit(f"error: {error}")
    print(text)
    if wrong:
        sys.exit("bounds that exclude the known optimum:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
