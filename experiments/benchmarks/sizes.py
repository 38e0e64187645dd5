"""Training at real sizes on one machine, compared with the tools that people use for them.

Each row runs in its own process with one thread, one after another, so that its memory is measured
alone. Seconds are CPU seconds of training on data in memory; other tools solve the same problem on
the same features in the same run. "Whole job" is a process of its own from the data's file to the
model's file, its start included: lssvm-learn with default settings, which also scores the training
set, and a program in Python that reads the file, makes the same attributes, appends them to
CRFsuite's trainer and trains (crfsuite_entities).

entities    sentences of CoNLL 2002 (esp.train), attributes as in configs/sequence.yaml; F1 on
            testb. CRFsuite: averaged perceptron, 20 epochs; L-BFGS with c2 = 1 / (2 C)
text        simulated documents of 56 words from 100,000, 20 classes, half of the labels redrawn.
            LinearSVC (crammer_singer) with two tolerances; the primal value shows its precision
hashed      the same rows with columns spread over 2^20, and renumbered
digits      scikit-learn's digits, pixels from 0 to 1
taxonomy    5,000 documents of 40,000 words in a tree of 50 classes; LinearSVC ignores the tree
letters     6,251 words (Kassel & Taskar), C = 0.1
ranking     simulated documents with 136 features, about 120 per query, C = 1 per query; MAP and
            P@10 on 417 other queries. LinearSVC (squared hinge loss, primal) on 50 differences per
            query of a relevant document and another one, C = 1/50 each; its gap is that of its own
            problem

Usage: python -m experiments.benchmarks.sizes [--data FOLDER] [--out FOLDER] [--quick] [--only NAME]
"""

import argparse
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml
from scipy import sparse
from threadpoolctl import threadpool_limits

from experiments.benchmarks.ranking_sizes import (
    RELEVANT_FROM,
    pairwise_svm,
    scores_of,
    simulated,
)
from experiments.common.ocr_letters import load_letters
from experiments.common.usage import usage
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.applications.multiclass.multiclass import Multiclass
from lssvm.applications.multiclass.taxonomy import Taxonomy
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.output.tables import make_folder, text_table, write_results
from lssvm.training.cccp import Observer
from lssvm.training.session import learn_on

TEMPLATES = (
    "word", "word[-1]", "word[1]", "word[-1] & word", "lower(word)", "prefix(word, 2)",
    "suffix(word, 3)", "brief_shape(word)", "pos[-1]", "pos", "pos[1]",
)  # fmt: skip
GAPS = (1e-2, 1e-3)
HASHED = 2**20


def peak():
    """The highest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Clock(Observer):
    """Records the passes of a run."""

    def finished(self, summary):
        """Store the latest number of passes."""
        self.summary = summary


def trained(application, examples, config):
    """Train a model, and return it with the row of its training."""
    clock, before, used = Clock(), peak(), time.process_time()
    model = learn_on(application, examples, config, observer=clock, scored=False)
    seconds, found = time.process_time() - used, clock.summary
    return model, {
        "solver": model.config["solver"]["method"],
        "seconds of training": seconds,
        "passes": found.passes,
        "gap": found.gap,
        "objective": found.objective,
        "MB": peak(),
        "MB of training": peak() - before,
    }


def configured(name, C, epsilon, **application):
    """The configuration with these settings and default values for all others."""
    return Config.from_dict(
        {
            "application": {"name": name, **application},
            "objective": {"C": C},
            "solver": {"epsilon": epsilon},
        }
    )


# ---- entities


LEARN = """
import sys
from lssvm.cli.program import learn
sys.argv = ["lssvm-learn", *sys.argv[1:]]
learn()
"""


def whole(*arguments):
    """The columns of the whole job: what ``python arguments …`` takes."""
    used = usage(*arguments)
    return {"seconds of whole job": used.seconds, "MB of whole job": used.MB}


def entities_config(data, model, C, epsilon):
    """The configuration for the sentences."""
    folder = Path(data) / "conll2002-spanish"
    return Config.from_dict(
        {
            "application": {
                "name": "sequence",
                "columns": ["word", "pos", "label"],
                "templates": list(TEMPLATES),
            },
            "data": {"train": str(folder / "esp.train"), "test": str(folder / "esp.testb")},
            "objective": {"model": model, "C": C},
            "solver": {"epsilon": epsilon},
        }
    )


def entities(config):
    """The application and examples of the sentences, and the seconds of reading."""
    application, used = config.create_application(), time.process_time()
    examples = application.read(config.sources("train"))
    return application, examples, time.process_time() - used


def entities_row(data, model, C, epsilon):
    """Train with default settings."""
    config = entities_config(data, model, C, epsilon)
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "config.yaml"
        settings.write_text(yaml.safe_dump(config.to_dict()), encoding="utf-8")
        files = [str(settings), str(Path(folder) / "model")]
        job = whole("-c", LEARN, *files, "--quiet", "--threads", "1")
    application, examples, reading = entities(config)
    held = peak()
    found, row = trained(application, examples, config)
    test = application.read(config.sources("test"))
    score = application.score(test, application.predict(found.w, test))
    return {**row, **job, "MB of data": held, "seconds to read": reading, "F1": score["f1"]}


def crfsuite_row(data, algorithm, C):
    """Train CRFsuite on the same attributes."""
    import pycrfsuite

    config = entities_config(data, "ssvm", C, 1e-2)
    settings = {"c1": 0.0, "c2": 0.5 / C} if algorithm == "lbfgs" else {"max_iterations": 20}
    with tempfile.TemporaryDirectory() as folder:
        arguments = [config.sources("train")[0].path, str(Path(folder) / "crf"), algorithm]
        arguments += [f"{name}={value}" for name, value in settings.items()]
        job = whole("-m", "experiments.benchmarks.crfsuite_entities", *arguments)
    application, examples, _ = entities(config)
    names = np.array([f"f{j}" for j in range(examples.width)], dtype=object)

    def items(part):
        for first, last in zip(part.offsets[:-1], part.offsets[1:], strict=True):
            tokens = [
                list(names[part.indices[part.starts[t] : part.starts[t + 1]]])
                for t in range(first, last)
            ]
            yield pycrfsuite.ItemSequence(tokens), list(part.tags[first:last])

    trainer = pycrfsuite.Trainer(algorithm=algorithm, params=settings, verbose=False)
    for tokens, tags in items(examples):
        trainer.append(tokens, tags)
    with tempfile.TemporaryDirectory() as folder:
        path, before, used = str(Path(folder) / "crf"), peak(), time.process_time()
        trainer.train(path)
        seconds, after = time.process_time() - used, peak()
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        test = application.read(config.sources("test"))
        number = {name: i for i, name in enumerate(application.vocabulary.labels)}
        found = [number[tag] for tokens, _ in items(test) for tag in tagger.tag(tokens)]
        tagger.close()
    predictions = application.predict(np.zeros(application.dimension(test)), test)
    predictions.labels[:, 0] = found
    score = application.score(test, predictions)
    return {
        "solver": f"CRFsuite {algorithm}",
        "seconds of training": seconds,
        "MB": after,
        "MB of training": after - before,
        **job,
        "F1": score["f1"],
    }


# ---- rows of words


def documents(rows, words, classes, seed=1, noise=0.5, length=56):
    """Documents with words by Zipf's law, some of them typical of the class; noisy labels."""
    rng = np.random.default_rng(seed)
    shares = np.cumsum(1.0 / np.arange(1, words + 1))
    own = np.array([rng.permutation(words) for _ in range(classes)])
    labels, columns = rng.integers(classes, size=rows), []

    def drawn(count):
        return np.searchsorted(shares, shares[-1] * rng.random(count))

    for label in labels:
        found = np.unique(np.concatenate([drawn(48), own[label][drawn(30)]]))
        columns.append(np.sort(rng.choice(found, min(length, len(found)), replace=False)))
    counts = np.array([len(found) for found in columns])
    starts = np.concatenate([[0], np.cumsum(counts)])
    values = np.repeat(1.0 / np.sqrt(counts), counts)
    matrix = sparse.csr_array((values, np.concatenate(columns), starts), shape=(rows, words))
    changed = rng.random(rows) < noise
    labels[changed] = rng.integers(classes, size=int(changed.sum()))
    return matrix, labels


def spread(matrix):
    """The columns of a matrix, moved to random indices below 2^20."""
    places = np.sort(np.random.default_rng(0).choice(HASHED, matrix.shape[1], replace=False))
    shape = (matrix.shape[0], HASHED)
    return sparse.csr_array((matrix.data, places[matrix.indices], matrix.indptr), shape=shape)


def classifier(config, classes, features, tree=None):
    """An application for rows in memory."""
    kind = Multiclass if tree is None else Taxonomy
    application = kind(config.application, config.objective.formulation())
    application.fix(tuple(map(str, range(classes))), features)
    return application


def rows_row(matrix, labels, C, epsilon, tree=None):
    """Train on rows in memory with default settings."""
    settings = {"bias": 0.0} if tree is None else {"bias": 0.0, "taxonomy": tree}
    name = "multiclass" if tree is None else "taxonomy"
    config = configured(name, C, epsilon, **settings)
    classes = int(labels.max()) + 1
    application = classifier(config, classes, matrix.shape[1], tree)
    columns = application.columns_per_row(None)
    names = tuple(map(str, range(classes)))
    examples = in_memory(matrix, labels, names, columns)
    return trained(application, examples, config)[1]


def text_row(epsilon, hashed=False):
    """Train on documents of 20 classes."""
    matrix, labels = documents(20_000, 100_000, 20)
    return rows_row(spread(matrix) if hashed else matrix, labels, 1.0, epsilon)


def taxonomy_row(epsilon):
    """Train on documents of 50 classes in a tree."""
    matrix, labels = documents(5_000, 40_000, 50, noise=0.2)
    tree = {str(k): f"group {k // 7}" for k in range(50)}
    tree |= {f"group {k}": "all" for k in range(8)} | {"all": ""}
    return rows_row(matrix, labels, 1.0, epsilon, tree)


def digit_rows():
    """The rows and labels of scikit-learn's digits, with pixels from 0 to 1."""
    from sklearn.datasets import load_digits

    matrix, labels = load_digits(return_X_y=True)
    return matrix / 16.0, labels


def digits_row(epsilon):
    """Train on the digits of scikit-learn."""
    return rows_row(*digit_rows(), 1.0, epsilon)


def linear_row(problem, tolerance):
    """Train LinearSVC on the same rows, and compute the primal value of its weights."""
    from sklearn.svm import LinearSVC

    matrix, labels = {
        "text": lambda: documents(20_000, 100_000, 20),
        "taxonomy": lambda: documents(5_000, 40_000, 50, noise=0.2),
        "digits": digit_rows,
    }[problem]()
    if sparse.issparse(matrix):
        parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
        matrix = sparse.csr_matrix(parts, shape=matrix.shape)
    peer = LinearSVC(
        multi_class="crammer_singer", C=1.0, tol=tolerance, fit_intercept=False, max_iter=10_000
    )
    used = time.process_time()
    peer.fit(matrix, labels)
    seconds, weights = time.process_time() - used, peer.coef_
    scores, rows = np.asarray(matrix @ weights.T), np.arange(len(labels))
    highest = scores + 1.0
    highest[rows, labels] -= 1.0
    slacks = highest.max(axis=1) - scores[rows, labels]
    primal = 0.5 * float(np.sum(weights**2)) + float(slacks.sum())
    return {
        "solver": f"LinearSVC, tol {tolerance:g}",
        "seconds of training": seconds,
        "objective": primal,
        "MB": peak(),
    }


def letters_row(data, method, epsilon):
    """Train on the words of folds 1 to 9."""
    words = load_letters(str(Path(data) / "ocr-letters"), list(range(1, 10)))
    words = words.with_inputs(sparse.csr_array(words.dense))
    config = Config.from_dict(
        {
            "application": {"name": "sequence"},
            "objective": {"C": 0.1},
            "solver": {"epsilon": epsilon, "method": method},
        }
    )
    return trained(config.create_application(), words, config)[1]


def ranker(documents):
    """Simulated queries on like scales, and the application and configuration for them."""
    settings = {"relevant_from": RELEVANT_FROM, "scaling": "standard"}
    config = configured("precision_at_k", 1.0, GAPS[0], **settings)
    application = config.create_application()
    return config, application, application.scaler.scaled(simulated(documents))


def ranking_row(documents):
    """Ranking for precision at 10."""
    config, application, examples = ranker(documents)
    held = peak()
    model, row = trained(application, examples, config)
    size = {"MB of data": held, "MB of features": examples.dense.nbytes / 2**20}
    return {**row, **size, **scores_of(application, model.w)}


def pairwise_row(documents, tolerance):
    """A pairwise linear SVM on the same documents."""
    config, application, examples = ranker(documents)
    before = peak()
    w, seconds, gap, pairs = pairwise_svm(examples, config.objective.C, tolerance)
    return {
        "solver": f"LinearSVC, {pairs:,d} pairs, tol {tolerance:g}",
        "seconds of training": seconds,
        "gap": gap,
        "MB": peak(),
        "MB of training": peak() - before,
        **scores_of(application, w),
    }


ROWS = {
    "entities": (entities_row, crfsuite_row),
    "text": (text_row, linear_row),
    "taxonomy": (taxonomy_row, linear_row),
    "digits": (digits_row, linear_row),
    "letters": (letters_row,),
    "ranking": (ranking_row, pairwise_row),
}
KINDS = {kind.__name__: kind for kinds in ROWS.values() for kind in kinds}


def problems(data, quick):
    """The rows in order: the problem, the function and its arguments."""
    for gap in GAPS:
        yield "entities", "entities_row", [data, "ssvm", 0.1, gap]
    yield "entities", "crfsuite_row", [data, "averaged-perceptron", 0.1]
    if not quick:
        yield "entities", "entities_row", [data, "crf", 1.0, 8e-4]
        yield "entities", "crfsuite_row", [data, "lbfgs", 1.0]
    for gap in GAPS:
        yield "text", "text_row", [gap]
    for tolerance in (0.1, 0.01):
        yield "text", "linear_row", ["text", tolerance]
    yield "hashed", "text_row", [GAPS[0], True]
    yield "taxonomy", "taxonomy_row", [GAPS[0]]
    yield "taxonomy", "linear_row", ["taxonomy", 0.1]
    yield "digits", "digits_row", [GAPS[1]]
    yield "digits", "linear_row", ["digits", 0.001]
    for gap in GAPS:
        for method in ("auto", "bundle"):
            yield "letters", "letters_row", [data, method, gap]
    for documents in (50_000,) if quick else (50_000, 1_000_000):
        yield f"ranking {documents:,d}", "ranking_row", [documents]
        yield f"ranking {documents:,d}", "pairwise_row", [documents, 0.01]


def in_own_process(function, arguments):
    """Run this script for one row, in a process of its own, and return the row."""
    command = [sys.executable, "-m", "experiments.benchmarks.sizes", "--row"]
    process = subprocess.run(
        [*command, json.dumps([function, arguments])], capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise LssvmError(f"{function} {arguments}: {process.stderr.strip().splitlines()[-1]}")
    return json.loads(process.stdout.splitlines()[-1])


def shown(row):
    """A row in the form in which it is printed."""
    forms = {"seconds": "{:.2f}", "MB": "{:.0f}", "gap": "{:.1e}", "F1": "{:.2f}", "MAP": "{:.4f}",
             "P@10": "{:.4f}", "objective": "{:.2f}"}  # fmt: skip
    return {key: forms.get(key.split()[0], "{}").format(value) for key, value in row.items()}


def tables(rows):
    """A table of the rows for each problem, with the columns of these rows."""
    found = []
    for problem, part in itertools.groupby(rows, lambda row: row["problem"].split()[0]):
        own = [shown(row) for row in part]
        keys = dict.fromkeys(key for row in own for key in row)
        aligned = [{key: row.get(key, "") for key in keys} for row in own]
        found.append(text_table(f"{problem}: one thread, CPU seconds", aligned))
    return "\n\n".join(found)


def main():
    """Run all rows and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the data sets")
    parser.add_argument(
        "--out", type=Path, default=Path("out/bench-sizes"), help="folder for the results"
    )
    parser.add_argument("--only", help="run this problem only")
    parser.add_argument("--quick", action="store_true", help="leave out the rows that take minutes")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        function, arguments = json.loads(options.row)
        with threadpool_limits(1):
            print(json.dumps(KINDS[function](*arguments)))
        return
    make_folder(options.out)
    data, rows = str(options.data.resolve()), []
    for problem, function, arguments in problems(data, options.quick):
        if options.only in (None, problem, problem.split()[0]):
            rows.append({"problem": problem, **in_own_process(function, arguments)})
            print(shown(rows[-1]), file=sys.stderr)
    text = tables(rows)
    print(text)
    write_results(options.out, "sizes", text, rows, {})


if __name__ == "__main__":
    main()
