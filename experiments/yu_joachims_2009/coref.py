"""Noun-phrase coreference: Table 2 of Yu & Joachims (ICML 2009), on LitBank and GUM.

    python -m experiments.yu_joachims_2009.coref --data DATA --out out/coref

The input is DATA/litbank-coref/brat with LitBank's stand-off files (100 excerpts of fiction, in
which every mention of an entity is annotated, including singletons), and DATA/gum with the column
files of its OntoNotes-style layer (coref_ontogum, without singletons), its trees (const) and
splits.md. Parts of speech and sentences come from the trees, if they have the same tokens as the
column file. The MUC-6 data of the paper are not public.

The protocol was fixed before any result on test documents was seen. Mentions are the annotated
ones. LitBank: the documents are sorted by name and shuffled with seed 0; the first 40 are for
training, the last 30 for testing. GUM: 60 documents of the official training list, drawn with seed
0, are for training, and all available documents of the official test list for testing. The rows:

    correlation clustering    structural SVM, pair loss (Finley & Joachims 2005)
    own criterion             the same, C chosen by the pair loss, for which it is trained
    latent SSVM               a wrong edge costs 1
    modified loss             a wrong edge costs r

C is chosen by 10-fold cross-validation on the training documents, and r from {0.1, 0.01, 0.001}
together with C. The criterion is the MITRE loss of a fold, averaged over folds, except in the
second row; the first setting is chosen if several are equal. C is from {0.001, 0.01, 0.1, 1}, for
correlation clustering, whose loss is in percent, from {1e-5, 1e-4, 0.001, 0.01}; while the chosen
value of C or r is the smallest, or that of C the largest, that was tried, the values are a power of
ten more, at most three times. Training is warm-started along C. The relative gap is 1e-2, and the
tolerance of CCCP 1 link per document.

The row of the own criterion and its grid and the growing grids were added after test figures of the
other rows had been seen; those of r, whose values were {0.3, 0.1, 0.03, 0.01, 0.003}, last. So was
the tolerance, which was 0.1 links; it was chosen by training objectives, which rise by less than
0.5 % in the rows that were tried, and by time.

The losses are means over documents with their standard errors; a document without a link in both
truth and prediction has no MITRE loss. MUC, B³, CEAF_e and their mean are computed over all test
documents together; singletons count in truth and prediction. p-values are those of the paired
t-test over documents.
"""

import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.common.paired import p_value
from experiments.papers.published import YU_TABLE_2
from experiments.yu_joachims_2009 import coref_data
from lssvm.applications.coreference import coreference_scores
from lssvm.applications.coreference.mentions import Documents
from lssvm.config import Config
from lssvm.model import Model
from lssvm.output.tables import plus_minus, text_table, write_results
from lssvm.training.cross_validation import assign_folds
from lssvm.training.session import learn_path

CLUSTERING, LATENT, MODIFIED = "correlation clustering", "latent SSVM", "modified loss"
CRITERIA = {  # the rows of the table: what is trained, and by which loss its settings are chosen
    CLUSTERING: (CLUSTERING, "mitre_loss"),
    f"{CLUSTERING}, own criterion": (CLUSTERING, "pair_loss"),
    LATENT: (LATENT, "mitre_loss"),
    MODIFIED: (MODIFIED, "mitre_loss"),
}
SETTINGS = {"solver": {"epsilon": 1e-2}, "cccp": {"tolerance": 1.0}}


class Plan(NamedTuple):
    """The size of the experiment.

    folds : their number; documents : for training at most
    grid, clustering_grid : values of C, for correlation clustering the latter
    penalties : values of r; more : how often the values of C and of r may become more
    """

    folds: int
    documents: int
    grid: tuple[float, ...]
    clustering_grid: tuple[float, ...]
    penalties: tuple[float, ...]
    more: int


FULL = Plan(
    folds=10,
    documents=max(coref_data.TRAIN.values()),
    grid=(1e-3, 1e-2, 1e-1, 1.0),
    clustering_grid=(1e-5, 1e-4, 1e-3, 1e-2),
    penalties=(0.1, 0.01, 0.001),
    more=3,
)
QUICK = Plan(3, 6, (1e-2,), (1e-3,), (0.1,), 0)


class Row(NamedTuple):
    """A row of the table: an application, and the cost of a wrong edge if it has one."""

    name: str
    application: str
    penalty: float | None = None

    def config(self, C: float) -> Config:
        """The configuration of this row for a value of C."""
        section = {"name": self.application}
        options = {} if self.penalty is None else {"penalty": self.penalty}
        values = {"application": {**section, **options}, "objective": {"C": C}, **SETTINGS}
        return Config.from_dict(values)


class Task(NamedTuple):
    """All values of C for one row and one fold of a data set; fold −1 trains on all documents."""

    data: str
    row: Row
    grid: tuple[float, ...]
    fold: int


class Split(NamedTuple):
    """Training and test documents of a data set, and the fold of each training document."""

    train: Documents
    test: Documents
    fold: np.ndarray


def experiment(arguments: command.Arguments) -> str:
    """Cross-validate, train and test every row on both data sets; write the table."""
    plan = QUICK if arguments.quick else FULL
    splits = {
        name: _split(documents, plan)
        for name, documents in coref_data.prepare(arguments.data, arguments.out).items()
    }
    tried = cross_validated(splits, plan, arguments)
    chosen = choose(tried)
    final = [
        Task(
            data,
            best.row._replace(name=label),
            tuple(C for C in tried[data, best.row].grid if C <= best.C),
            -1,
        )
        for (data, label), best in chosen.items()
    ]
    results = arguments.solved(tested, splits, final)
    text, summary = report(results)
    text += "\n\n" + told_edges(chosen, tried)
    summary["cross_validation"] = [
        {"data": data, "row": row._asdict(), **each._asdict()}
        for (data, row), each in tried.items()
    ]
    runs = list(itertools.chain(*(result["documents"] for result in results)))
    write_results(arguments.out, "coref", text, runs, summary)
    return text


def candidates(penalties: Sequence[float]) -> list[Row]:
    """What is trained, with one row of the modified loss for each r."""
    return [
        Row(CLUSTERING, "correlation_clustering"),
        Row(LATENT, "coreference", 1.0),
        *(Row(MODIFIED, "coreference", r) for r in penalties),
    ]


class Tried(NamedTuple):
    """The values of C of a row, and for each criterion the mean of the loss over the folds."""

    grid: tuple[float, ...]
    losses: dict[str, list[float]]


class Best(NamedTuple):
    """A row (with its r) and C of lowest loss. edge : 0, or the factor by which C should go on"""

    row: Row
    C: float
    edge: float


def cross_validated(
    splits: dict[str, Split], plan: Plan, arguments: command.Arguments
) -> dict[tuple[str, Row], Tried]:
    """Cross-validate every row, and those with a choice at an edge again on a larger grid."""
    lean = {name: _lean(split) for name, split in splits.items()}
    grids = {
        (data, row): plan.clustering_grid if row.name == CLUSTERING else plan.grid
        for data, row in itertools.product(splits, candidates(plan.penalties))
    }
    found: dict[tuple[str, Row], Tried] = {}
    for _ in range(1 + plan.more):
        tasks = [
            Task(data, row, grid, fold)
            for (data, row), grid in grids.items()
            for fold in range(plan.folds)
        ]
        losses = arguments.solved(validated, lean, tasks)
        for key, group in itertools.groupby(
            zip(tasks, losses, strict=True), key=lambda pair: (pair[0].data, pair[0].row)
        ):
            own = [each for _, each in group]
            means = {
                name: np.mean([each[name] for each in own], axis=0).tolist() for name in own[0]
            }
            found[key] = Tried(grids[key], means)
        grids = {}
        for (data, label), best in choose(found).items():
            if label == MODIFIED and best.row.penalty == min(penalties_of(found, data)):
                grids[data, best.row._replace(penalty=best.row.penalty / 10)] = plan.grid
            if best.edge:
                key = data, best.row
                more = best.C * best.edge
                grids[key] = tuple(sorted({*grids.get(key, found[key].grid), more}))
        if not grids:
            break
    return found


def _split(documents: tuple[Documents, Documents], plan: Plan) -> Split:
    train, test = documents
    train = train.take(np.arange(min(len(train), plan.documents)))
    return Split(train, test, assign_folds(len(train), plan.folds, np.random.default_rng(0)))


def _lean(split: Split) -> Split:
    """The training documents without their words; cross-validation needs nothing else."""
    bare = coref_data.without_words(split.train)
    return Split(bare, bare.slice(0, 0), split.fold)


def trained(split: Split, task: Task) -> list[Model]:
    """Train a model for each C of the task on the other folds."""
    configs = [task.row.config(C) for C in task.grid]
    rows = np.flatnonzero(split.fold != task.fold)
    return learn_path(
        configs[0].create_application(), split.train.take(rows), configs, scored=False
    )


def validated(splits: dict[str, Split], task: Task) -> dict[str, list[float]]:
    """The losses on the fold for each C: MITRE's, 100 if undefined; of pairs, mean of documents."""
    split = splits[task.data]
    held = split.train.take(np.flatnonzero(split.fold == task.fold))
    losses: dict[str, list[float]] = {"mitre_loss": [], "pair_loss": []}
    for model in trained(split, task):
        application: Any = model.application
        counts = application.counts(held, application.predict(model.w, held))
        loss = coreference_scores.total(counts).mitre_loss  # all measures would take long
        losses["mitre_loss"].append(100.0 if loss is None else loss)
        pairs = [each.pair_loss for each in counts if each.pair_loss is not None]
        losses["pair_loss"].append(float(np.mean(pairs)) if pairs else 100.0)
    return losses


def choose(tried: Mapping[tuple[str, Row], Tried]) -> dict[tuple[str, str], Best]:
    """The row (with its r) and the C of lowest mean loss, by data set and row of the table."""
    chosen = {}
    for data, (label, (name, criterion)) in itertools.product(
        dict.fromkeys(data for data, _ in tried), CRITERIA.items()
    ):
        own = [
            (loss, row, C, each.grid)
            for (place, row), each in tried.items()
            if (place, row.name) == (data, name)
            for C, loss in zip(each.grid, each.losses[criterion], strict=True)
        ]
        if own:
            _, row, C, grid = min(own, key=lambda one: one[0])
            edge = 0.1 if min(grid) == C else 10.0 if max(grid) == C else 0.0
            chosen[data, label] = Best(row, C, edge)
    return chosen


def penalties_of(tried: Mapping[tuple[str, Row], Tried], data: str) -> list[float]:
    """The values of r that were tried on a data set."""
    return [
        row.penalty
        for place, row in tried
        if (place, row.name) == (data, MODIFIED) and row.penalty is not None
    ]


def told_edges(
    chosen: Mapping[tuple[str, str], Best], tried: Mapping[tuple[str, Row], Tried]
) -> str:
    """Which choices are at an edge of what was tried."""

    def ends(data: str) -> tuple[float, float]:
        return min(penalties_of(tried, data)), max(penalties_of(tried, data))

    found = [
        f"{data}, {label}: {name}"
        for (data, label), best in chosen.items()
        for name, at_edge in (
            (f"C {best.C:g}", best.edge),
            (f"r {best.row.penalty}", label == MODIFIED and best.row.penalty in ends(data)),
        )
        if at_edge
    ]
    return "Choices at an edge of what was tried: " + ("; ".join(found) or "none")


def tested(splits: dict[str, Split], task: Task) -> dict[str, Any]:
    """Train on all training documents, for the values of C up to the chosen one, and test."""
    split = splits[task.data]
    began = time.perf_counter()
    models = trained(split, task)
    seconds = time.perf_counter() - began
    model = models[-1]
    application: Any = task.row.config(task.grid[-1]).create_application()
    predictions = application.predict(model.w, split.test)
    counts = application.counts(split.test, predictions)
    key = {"data": task.data, "row": task.row.name}
    return {
        **key,
        "penalty": task.row.penalty,
        "C": task.grid[-1],
        "documents": [
            {**key, "document": name, "mitre_loss": count.mitre_loss, "pair_loss": count.pair_loss}
            for name, count in zip(split.test.names, counts, strict=True)
        ],
        "scores": application.score(split.test, predictions),
        "passes": sum(each.record["passes"] for each in models),
        "gap": model.record["gap"],
        "certified": model.record["certified"],
        "seconds": round(seconds, 2),
        "top": _top(model),
    }


def _top(model: Model) -> list[tuple[str, float]]:
    names = model.feature_names()
    order = np.argsort(-np.abs(model.w), kind="stable")[:10]
    return [(names[j], float(model.w[j])) for j in order]


def report(results: Sequence[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """The tables as text, and all results as plain values."""
    blocks, tests = [], []
    for data, group in itertools.groupby(results, key=lambda result: result["data"]):
        rows = list(group)
        blocks.append(text_table(_title(data, rows), [_line(row) for row in rows]))
        for first, second in itertools.combinations(rows, 2):
            for loss in ("mitre_loss", "pair_loss"):
                tests.append({"data": data, "loss": loss, **_paired(first, second, loss)})
    blocks.append(text_table("Paired t-tests over test documents", tests))
    published = [
        {"row": name, "MITRE loss": mitre, "pair loss": pair}
        for name, (mitre, pair) in YU_TABLE_2.rows.items()
    ]
    blocks.append(
        text_table("For comparison: the paper on MUC-6, which has other documents", published)
    )
    return "\n\n".join(blocks), {"results": list(results), "tests": tests}


def _title(data: str, rows: Sequence[dict[str, Any]]) -> str:
    scores = rows[0]["scores"]
    return (
        f"{data}: {scores['documents']} test documents, {scores['mentions']} mentions, "
        f"{scores['clusters']} clusters, of which {scores['singletons']} are singletons; percent"
    )


def _line(result: dict[str, Any]) -> dict[str, Any]:
    documents, scores = result["documents"], result["scores"]
    return {
        "row": result["row"],
        "r": result["penalty"],
        "C": f"{result['C']:g}",
        "MITRE loss": plus_minus(_defined(documents, "mitre_loss")),
        "pair loss": plus_minus(_defined(documents, "pair_loss")),
        **{
            title: None if scores[name] is None else f"{scores[name]:.2f}"
            for title, name in (
                ("MUC", "muc"),
                ("B³", "b_cubed"),
                ("CEAF_e", "ceaf_e"),
                ("CoNLL", "conll"),
            )
        },
        "gap": f"{result['gap']:.0e}" if result["certified"] else "not certified",
        "passes": result["passes"],
        "seconds": f"{result['seconds']:.1f}",
    }


def _defined(documents: Sequence[dict[str, Any]], loss: str) -> list[float]:
    return [document[loss] for document in documents if document[loss] is not None]


def _paired(first: dict[str, Any], second: dict[str, Any], loss: str) -> dict[str, Any]:
    """The mean difference of a loss over documents where both rows have it, and its p-value."""
    pairs = [
        (a[loss], b[loss])
        for a, b in zip(first["documents"], second["documents"], strict=True)
        if a[loss] is not None and b[loss] is not None
    ]
    a, b = np.array(pairs).T
    return {
        "rows": f"{first['row']} − {second['row']}",
        "difference": plus_minus(a - b),
        "documents": len(pairs),
        "p": p_value(a, b),
    }


if __name__ == "__main__":
    command.main(
        "Noun-phrase coreference on LitBank and GUM.",
        "folder of litbank-coref and gum",
        "3 folds, 6 training documents, one value of C and of r",
        experiment,
        {"documents and folds": 0},
    )
