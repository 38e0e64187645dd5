"""What the experiments found, as tables of means and errors, read from their JSON files.

Each function gets the values of a file and returns a Found. Its rows and columns have the names of
those of the paper's table where the paper has them, so that ``targets`` can set the two beside each
other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.papers.published import MODELS, PING_TABLE_3, PING_TABLE_4, SIGMAS
from lssvm.output.tables import mean_and_error

Figure = tuple[float, float | None]  # a mean and its standard error, None where there is none


class Found(NamedTuple):
    """A table. columns : their names; rows : for each name the figures, None where there is none"""

    columns: tuple[str, ...]
    rows: Mapping[str, Sequence[Figure | None]]


def of_values(values: Iterable[float]) -> Figure | None:
    """Mean and standard error of values; None if there are none."""
    own = list(values)
    return whole(*mean_and_error(own)) if own else None


def whole(mean: float, error: float | None = None) -> Figure:
    """A figure, without an error that is no number."""
    return mean, error if error is not None and np.isfinite(error) else None


def select(runs: Iterable[Mapping[str, Any]], **place: Any) -> list[Mapping[str, Any]]:
    """The runs that have these values."""
    return [run for run in runs if all(run[key] == value for key, value in place.items())]


def mssvm_table2(values: Mapping[str, Any]) -> Found:
    """Accuracy by field, trainer and rule for C; C = 1 is the paper's."""
    rows = {}
    for rule, mark in (("1", ""), ("picked", ", C picked")):
        for shape in dict.fromkeys(run["shape"] for run in values["runs"]):
            for trainer in ("CCCP", "SGD"):
                place = {"shape": shape, "trainer": trainer, "rule": rule}
                rows[f"{shape}, {trainer}{mark}"] = [
                    of_values(run["accuracy"] for run in select(values["runs"], method=m, **place))
                    for m in MODELS
                ]
    return Found(MODELS, rows)


def mssvm_table3(values: Mapping[str, Any]) -> Found:
    """Accuracy by σ_h, rule for C and model; the error of a mean is that of the trials' means."""
    sigmas = [s for s in SIGMAS if any(run["sigma"] == s for run in values["runs"])]
    columns = PING_TABLE_3.columns
    rows = {}
    for rule, mark in (("1", ""), ("picked", ", C picked")):
        found = {
            sigma: [
                [r["accuracy"] for r in select(values["runs"], sigma=sigma, method=m, rule=rule)]
                for m in columns
            ]
            for sigma in sigmas
        }
        for sigma, own in found.items():
            rows[f"σ_h = {sigma:g}{mark}"] = [of_values(each) for each in own]
        models = zip(*found.values(), strict=True)  # some have C = 1 alone
        rows[f"mean{mark}"] = [of_values(np.mean(own, axis=0).tolist()) for own in models]
    return Found(columns, rows)


def mssvm_table4(values: Mapping[str, Any]) -> Found:
    """Accuracy of the paper's classes and of all labelled superpixels, by CCCP and by SGD."""
    own = values["accuracies"]
    rows = {}
    for place in (*PING_TABLE_4.rows, "all"):
        for trainer, mark in ((", CCCP", ""), ("", ", SGD")):
            if place in own:
                rows[place + mark] = [whole(*own[place][m.lower() + trainer]) for m in MODELS]
    return Found(MODELS, rows)


def mssvm_figure3(values: Mapping[str, Any]) -> Found:
    """Test error by the number of training chains, C = 1, all trials."""
    sizes = sorted({run["size"] for run in values["runs"]})
    rows = {
        f"{size} chains": [
            of_values(run["error"] for run in select(values["runs"], size=size, method=method))
            for method in MODELS
        ]
        for size in sizes
    }
    return Found(MODELS, rows)


def mssvm_figure4(values: Mapping[str, Any]) -> Found:
    """Accuracy on new images by the share of labels that is missing, in both settings."""
    columns = tuple(dict.fromkeys(run["method"] for run in values["runs"]))
    cells = sorted({(run["setting"], run["share"]) for run in values["runs"]}, reverse=True)
    rows = {
        f"{setting}, {100 * share:g} % missing": [
            of_values(
                run["test"]
                for run in select(values["runs"], setting=setting, share=share, method=method)
            )
            for method in columns
        ]
        for setting, share in cells
    }
    return Found(columns, rows)


def mssvm_figure5(values: Mapping[str, Any]) -> Found:
    """Log-likelihood of the test labels, after the last epoch and of the returned model."""
    columns = tuple(dict.fromkeys(run["method"] for run in values["runs"] if run["path"]))
    runs = {method: list(select(values["runs"], method=method)) for method in columns}
    return Found(
        columns,
        {
            "after the last epoch": [of_values(r["path"][-1] for r in runs[m]) for m in columns],
            "of the returned model": [of_values(r["own"] for r in runs[m]) for m in columns],
        },
    )


YEAST = {"latent SSVM, the paper's protocol": "latent SSVM"}  # the paper's name of the row


def motif_yeast(values: Mapping[str, Any]) -> Found:
    """Test error of every row, by length and background."""
    parts = {
        f"l = {part['length']}" + ("" if part["background"] else ", no background"): part["errors"]
        for part in values["parts"]
    }
    names = dict.fromkeys(name for errors in parts.values() for name in errors)
    rows = {
        YEAST.get(name, name): [of_values(errors.get(name, ())) for errors in parts.values()]
        for name in names
    }
    return Found(tuple(parts), rows)


def motif_pbm(values: Mapping[str, Any]) -> Found:
    """The means over the proteins, of both kinds of first sites; nothing in a short run."""
    rows = {
        f"mean of ours, start: {start}": [
            whole(values[start]["objective"]),
            whole(values[start]["error"]),
        ]
        for start in ("seeds", "random")
        if start in values
    }
    return Found(("objective", "test error"), rows)


# The paper's names of the methods of the ranking experiment.
RANKERS = {
    "initial weights: classifier": "its initial weights",
    "initial weights: ranking SVM": "ranking SVM",
}


def precision_at_k(values: Mapping[str, Any]) -> Found:
    """Precision at k of every method, by the rule for its settings."""
    columns = ("P@1", "P@3", "P@5", "P@10")
    rows = {}
    for row in values["rows"]:
        name = RANKERS.get(row["method"], row["method"].strip())
        mark = "" if row["rule"] == "MAP" else f", chosen by {row['rule']}"
        means = row["means"]
        rows[name + mark] = [whole(*means[c]) if c in means else None for c in columns]
    return Found(columns, rows)


def coref(values: Mapping[str, Any]) -> Found:
    """The mean losses over test documents, by data set."""
    columns = {"MITRE loss": "mitre_loss", "pair loss": "pair_loss"}
    rows = {
        f"{each['data']}, {each['row']}": [
            of_values(d[key] for d in each["documents"] if d[key] is not None)
            for key in columns.values()
        ]
        for each in values["results"]
    }
    return Found(tuple(columns), rows)


def ner(values: Mapping[str, Any]) -> Found:
    """The test error of every method."""
    cells = select(values["cells"], measure="test_error")
    return Found(
        ("test error",), {cell["method"]: [whole(*cell["mean_and_error"])] for cell in cells}
    )


def taxonomy(values: Mapping[str, Any]) -> Found:
    """Accuracy and tree loss of each method, by data set and examples of a class."""
    columns = tuple(dict.fromkeys(cell["method"] for cell in values["cells"]))
    rows: dict[str, list[Figure | None]] = {}
    for cell in values["cells"]:
        size = cell["examples per class"]
        name = f"{cell['data']}, {size} a class, {cell['measure'].replace('_', ' ')}"
        rows.setdefault(name, []).append(whole(*cell["mean_and_error"]))
    return Found(columns, rows)


def taxonomy_simulated(values: Mapping[str, Any]) -> Found:
    """The difference of accuracies with and without the tree, by examples of a class and share."""
    sizes, shares = ({cell[key] for cell in values["cells"]} for key in ("size", "share"))
    rows = {
        f"{size} a class": [
            whole(*cell["tree − flat, 0/1, accuracy"])
            for cell in select(values["cells"], size=size)
        ]
        for size in sorted(sizes)
    }
    return Found(tuple(f"share {share:g}" for share in sorted(shares)), rows)


def alignment(values: Mapping[str, Any]) -> Found:
    """Test errors by the number of natives."""
    columns = {
        "SVM": "test error, SVM",
        "generative, favoured": "test error, generative",
        "best possible": "test error, best",
    }
    rows = {
        f"n = {cell['n']}": [whole(*cell[key]) for key in columns.values()]
        for cell in values["cells"]
    }
    return Found(tuple(columns), rows)


def alignment_balibase(values: Mapping[str, Any]) -> Found:
    """The Q-score of every method, by set of families."""
    columns = tuple(key for key in values["cells"][0] if key != "families" and "−" not in key)
    rows = {
        f"{cell['families']} families": [whole(*cell[key]) for key in columns]
        for cell in values["cells"]
    }
    return Found(columns, rows)


def parsing(values: Mapping[str, Any]) -> Found:
    """Whole trees and F1 on test sentences, by length and method."""
    columns = {"whole trees": "test_accuracy", "F1": "test_f1"}
    rows = {
        f"{run['length']} tokens, {run['method']}": [whole(run[key]) for key in columns.values()]
        for run in values["runs"]
    }
    return Found(tuple(columns), rows)


def relation(values: Mapping[str, Any]) -> Found:
    """Precision, recall and F1 on the test bags, with the difference from Hamming loss."""
    columns = {"precision": "precision", "recall": "recall", "F1": "f1"}
    columns |= {"F1 − Hamming": "more_than_hamming"}
    rows = {run["method"]: [whole(run[key]) for key in columns.values()] for run in values["runs"]}
    return Found(tuple(columns), rows)


def bags(values: Mapping[str, Any]) -> Found:
    """F1 of the test bags by data set and loss."""
    losses = tuple(dict.fromkeys(run["loss"] for run in values["runs"]))
    rows = {
        name: [
            whole(run["f1"])
            for loss in losses
            for run in select(values["runs"], set=name, loss=loss)
        ]
        for name in dict.fromkeys(run["set"] for run in values["runs"])
    }
    return Found(tuple(f"{loss} loss" for loss in losses), rows)


Reader = Callable[[Mapping[str, Any]], Found]
