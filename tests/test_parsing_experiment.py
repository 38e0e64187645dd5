"""The experiment on parsing: relative frequencies, splits, comparisons, a run on small trees."""

import json

import numpy as np
import pytest

from experiments.common.command import Arguments
from experiments.tsochantaridis_2004 import parsing as table
from lssvm.applications.base import Source
from lssvm.applications.parsing.parsing import Parsing, ParsingOptions
from lssvm.errors import DataError
from lssvm.simulation.parsing import write_trees


@pytest.fixture
def gum(tmp_path):
    """A folder as GUM's, with simulated trees."""
    folder = tmp_path / "gum"
    lines = []
    for number, split in enumerate(("train", "dev", "test")):
        write_trees(folder / split, seed=number, n=40, n_test=1, words=8)
        (folder / "const").mkdir(exist_ok=True)
        trees = (folder / split / "train.ptb").read_text()
        (folder / "const" / f"doc_{split}.ptb").write_text(trees)
        lines += [f"## {split}", "", f"  * doc_{split}", f"  * absent_{split}", ""]
    (folder / "splits.md").write_text("\n".join(lines))
    return folder


def test_documents_are_those_of_the_split_that_are_there(gum, tmp_path):
    (source,) = table.read_split(gum, "dev")
    assert source.path.endswith("const/doc_dev.ptb")
    with pytest.raises(DataError, match="no trees of 'test2' are there"):
        table.read_split(gum, "test2")
    with pytest.raises(DataError, match="expected the folder of GUM"):
        table.read_split(tmp_path, "train")


def test_relative_frequencies_of_the_rules_of_a_symbol_sum_to_one(gum):
    application = Parsing(ParsingOptions())
    examples = application.read([Source(str(gum / "const" / "doc_train.ptb"))])
    w = table.frequencies(application, examples)
    grammar = application.features.grammar
    totals = np.bincount(grammar.parent + 1, weights=np.exp(w))
    used = np.unique(grammar.parent + 1)
    np.testing.assert_allclose(totals[used], 1.0)
    names = list(application.feature_names())
    counts = application.completed(np.zeros(len(w)), examples).gradient
    phrases = [k for k, name in enumerate(names) if name.startswith("NP → ")]
    k = names.index("NP → PRP")
    assert np.exp(w[k]) == pytest.approx(counts[k] / counts[phrases].sum())


def test_mcnemar_counts_the_sentences_where_one_method_is_better():
    rows = [{"right": np.array([[3, k] for k in each])} for each in ([2, 0, 1, 1], [0, 0, 2, 0])]
    table.compare(rows)
    assert (rows[1]["better"], rows[1]["worse"]) == (2, 1)
    assert rows[1]["p"] == pytest.approx(1.0)
    assert rows[0]["p"] == 1.0


def test_every_method_is_trained_and_tested(gum, tmp_path):
    text = table.experiment(Arguments(gum, tmp_path, quick=True, jobs=1))
    assert all(name in text for name in table.METHODS)
    rows = json.loads((tmp_path / "parsing.json").read_text())["runs"]
    assert [row["method"] for row in rows] == list(table.METHODS)
    assert all(row["converged"] in (True, None) for row in rows)
    assert all(0 <= row["test_f1"] <= 100 for row in rows)
