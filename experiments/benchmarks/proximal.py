"""The proximal bundle compared with the bundle: passes, CPU seconds and objective at a gap of 1e-3.

The problems are letters (a chain over the words of Kassel and Taskar, without hidden values), motif
and ranking (hidden values, CCCP to its end from one start; the configurations are those in
``configs/``, with the first part of LETOR 4.0 MQ2008 for ranking if it is there). The proximal
bundle solves its quadratic programs by exact steps and, at the smallest C, also by OSQP alone. All
runs use one thread, one after another. Passes include those for the first weights. Both methods end
where CCCP leads them, so with hidden values their objectives may differ.

Usage: python -m experiments.benchmarks.proximal [--data FOLDER of data sets] [--quick]
"""

import argparse
import os
import sys
import time
from pathlib import Path

from scipy import sparse
from threadpoolctl import threadpool_limits

from experiments.common.ocr_letters import load_letters
from lssvm.config import Config, load_config
from lssvm.executor import Executor
from lssvm.oracle import DataOracle
from lssvm.output.tables import text_table
from lssvm.training.cccp import Observer
from lssvm.training.setup import new_run, rules_of

ROOT = Path(__file__).resolve().parents[2]
METHODS = {
    "bundle": {"method": "bundle"},
    "proximal": {"method": "proximal"},
    "proximal, OSQP": {"method": "proximal", "qp": "osqp"},
}
LETTERS = ([0], range(1, 10))  # training folds of the two problems
WEIGHTS = (0.01, 0.1, 1.0)  # values of C for the letters
QUERIES = "letor4-mq2008/S1.txt.gz"


def letters(data, folds):
    """The words of these folds, with sparse rows."""
    words = load_letters(data / "ocr-letters", list(folds))
    return words.with_inputs(sparse.csr_array(words.dense))


def of_letters(data, folds, weights):
    """The training problems of these folds of the letters, or nothing if the data are absent."""
    if (data / "ocr-letters").exists():
        words = letters(data, folds)
        for C in weights:
            values = {"application": {"name": "sequence"}, "objective": {"model": "ssvm", "C": C}}
            yield f"letters, {len(words):,d} words", C, Config.from_dict(values), {}, words


def problems(data, quick):
    """Each problem: its name, C, configuration, application's state, and examples."""
    yield from of_letters(data, LETTERS[0], WEIGHTS[: 1 if quick else None])
    for name, weights in (("motif", (0.03, 0.3, 3.0)), ("precision_at_k", (0.1, 1.0, 10.0))):
        config = load_config(ROOT / "configs" / f"{name}.yaml")
        queries = name == "precision_at_k" and (data / QUERIES).exists()
        if queries:
            train = {"train": str(data / QUERIES)}
            config = Config.from_dict({**config.to_dict(), "data": train})
        application = config.create_application()
        examples = application.read(config.sources("train"))
        shown = f"ranking, {len(examples)} queries" if name == "precision_at_k" else name
        for C in weights[: 1 if quick else None]:
            yield shown, C, config, application.state(), examples
    if not quick:
        yield from of_letters(data, LETTERS[1], WEIGHTS)


def solved(config, state, examples, C, method):
    """A row of the table: passes, CPU seconds, CCCP problems, objective and gap."""
    values = config.to_dict()
    values["objective"] = {**values["objective"], "C": C}
    values["solver"] = {"epsilon": 1e-3, **METHODS[method]}
    config = Config.from_dict(values)
    application = config.create_application()
    if state:
        application.restore(state)
    began = time.process_time()
    with threadpool_limits(1), Executor(1) as executor:
        oracle = DataOracle(application, examples, executor)
        run = new_run(oracle, config, 0, None)
        run.proceed(oracle, rules_of(config, len(examples), application.hidden), Observer())
    return {
        "passes": round(run.passes),
        "CPU s": f"{time.process_time() - began:.2f}",
        "problems": run.iteration,
        "objective": f"{run.objective:.6g}",
        "gap": f"{run.gap:.1e}",
    }


def main():
    """Run all problems and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    default = Path(os.environ.get("LSSVM_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default, help="folder of the data sets")
    parser.add_argument(
        "--quick", action="store_true", help="only the smallest problem of each kind"
    )
    options = parser.parse_args()
    rows = []
    for name, C, config, state, examples in problems(options.data.resolve(), options.quick):
        least = name not in {row["problem"] for row in rows}
        for method in METHODS if least else list(METHODS)[:2]:
            head = {"problem": name, "C": f"{C:g}", "solver": method}
            rows.append({**head, **solved(config, state, examples, C, method)})
            print(*rows[-1].values(), sep=", ", file=sys.stderr, flush=True)
    print(text_table("To a relative gap of 1e-3, one thread", rows))
    print(f"load average at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
