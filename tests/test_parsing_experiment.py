"""The experiment on parsing: relative frequencies, splits, comparisons, a run on small trees."""

import json

import numpy as np
import pytest
from paper_cases import found_of

from experiments.common.command import Arguments
from experiments.tsochantaridis_2004 import parsing as table
from experiments.tsochantaridis_2004 import parsing_longer
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
    shown = list(found_of("parsing", tmp_path).rows.values())
    assert [figures[1][0] for figures in shown] == [row["test_f1"] for row in rows]


def test_the_grid_of_c_grows_while_the_best_is_at_its_edge(monkeypatch):
    """Scores of dev are highest at C = 1e-3; all else is only handed on."""
    method = table.METHODS["SVM_2"]
    config = table.config_of(method, 10, 1.0)
    tried = []

    def learnt(application, training, path, scored):
        tried.extend(each.objective.C for each in path)
        return [each.objective.C for each in path]

    def scored(application, dev, C):
        return {"exact_match": 50.0 - abs(round(np.log10(C)) + 3)}, None

    monkeypatch.setattr(table, "learn_path", learnt)
    monkeypatch.setattr(table, "weights", lambda model: model)
    monkeypatch.setattr(table, "scored", scored)
    C, edge = table.chosen_C(method, None, None, None, config, (0.1, 1.0))
    assert np.log10(C) == pytest.approx(-3)
    assert tried == pytest.approx([0.1, 1.0, 1e-2, 1e-3, 1e-4])
    assert not edge
    assert table.chosen_C(method, None, None, None, config, (10.0, 100.0)) == (
        pytest.approx(0.01),
        True,
    )
    assert table.chosen_C(method, None, None, None, config, (10.0,)) == (10.0, False)


def test_parts_come_last_and_keep_their_c():
    batches = table.batches(parsing_longer.FULL)
    names = [name for batch in batches for name, _ in batch]
    assert names[:4] == ["PCFG"] * 4
    assert names[-2:] == ["2 parts", "4 parts"]
    assert max(len(batch) for batch in batches) == 4
    short = [each for batch in table.batches(table.FULL) for each in batch]
    assert set(short) == {
        each for batch in batches for each in batch if each[1] <= 15 and "parts" not in each[0]
    }
    rows = [
        {"method": name, "length": 10, "C": C} for name, C in (("2 parts", 0.1), ("SVM_2", 9.0))
    ]
    assert table.task_of(parsing_longer.FULL, rows, "4 parts", 10).C == 0.1
    assert table.task_of(parsing_longer.FULL, rows, "SVM_2", 15).C is None
    rows.append({"method": "SVM_2", "length": 15, "C": 1.0})
    assert table.task_of(parsing_longer.FULL, rows[::-1], "SVM_2", 25).C == 1.0
