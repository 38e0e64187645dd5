import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.common.command import Arguments
from experiments.papers import found
from experiments.yu_joachims_2009 import coref, coref_data
from lssvm.errors import DataError
from lssvm.formats.conll_coreference import read_conll

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data"))
ROW = coref.Row("latent SSVM", "coreference", 1.0)


def gum(folder, tokens, tree, cells):
    (folder / "coref_ontogum").mkdir(exist_ok=True)
    (folder / "const").mkdir(exist_ok=True)
    lines = [
        f"{k}\t{word}\t{cell}\n" for k, (word, cell) in enumerate(zip(tokens, cells, strict=True))
    ]
    text = "# begin document \n" + "".join(lines) + "# end document\n"
    (folder / "coref_ontogum" / "d.conll").write_text(text)
    (folder / "const" / "d.ptb").write_text(tree)


TREES = "(ROOT\n  (S (NP (NNP Ann)) (-LRB- -LRB-) (VBD sat)))\n\n(ROOT (NP (PRP She)) (. .))\n"
TOKENS = ["Ann", "(", "sat", "She", "."]
CELLS = ["(1)", "_", "_", "(1)", "_"]


def test_parts_of_speech_and_sentences_come_from_the_trees(tmp_path):
    gum(tmp_path, TOKENS, TREES, CELLS)
    coref_data.write_gum(tmp_path, ["d"], tmp_path / "out.conll")
    (text,) = read_conll(tmp_path / "out.conll")
    assert text.words == tuple(TOKENS)
    assert text.tags == ("NNP", "-LRB-", "VBD", "PRP", ".")
    assert list(text.sentences) == [0, 0, 0, 1, 1]
    assert [(m.start, m.stop) for m in text.mentions] == [(0, 1), (3, 4)]


def test_trees_of_other_tokens_are_not_used(tmp_path):
    gum(tmp_path, [*TOKENS[:4], "again", "."], TREES, [*CELLS[:4], "_", "_"])
    coref_data.write_gum(tmp_path, ["d"], tmp_path / "out.conll")
    (text,) = read_conll(tmp_path / "out.conll")
    assert set(text.tags) == {""}
    assert list(text.sentences) == [0] * 6


def test_lists_of_documents_are_read_by_heading(tmp_path):
    (tmp_path / "splits.md").write_text("# S\n\n## train\n\n  * a\n  * b\n\n## test\n\n  * c\n")
    lists = coref_data.read_splits(tmp_path / "splits.md")
    assert lists == {"train": ["a", "b"], "test": ["c"]}
    (tmp_path / "splits.md").write_text("## train\n  * a\n")
    with pytest.raises(DataError, match="lists no documents under '## test'"):
        coref_data.read_splits(tmp_path / "splits.md")


def test_the_lowest_mean_loss_chooses_and_the_first_of_equals_wins():
    other = ROW._replace(name="modified loss", penalty=0.1)
    third = ROW._replace(name="modified loss", penalty=0.01)
    clustering = coref.Row(coref.CLUSTERING, "correlation_clustering")
    grid = (1.0, 10.0, 100.0)
    tried = {
        ("x", ROW): coref.Tried(grid, {"mitre_loss": [20.0, 20.0, 30.0]}),
        ("x", other): coref.Tried(grid, {"mitre_loss": [9.0, 9.0, 9.0]}),
        ("x", third): coref.Tried(grid, {"mitre_loss": [9.0, 8.5, 9.0]}),
        ("x", clustering): coref.Tried(
            grid, {"mitre_loss": [7.0, 6.0, 5.0], "pair_loss": [7.0, 6.0, 6.5]}
        ),
    }
    assert coref.choose(tried) == {
        ("x", "correlation clustering"): (clustering, 100.0, 10.0),
        ("x", "correlation clustering, own criterion"): (clustering, 10.0, 0.0),
        ("x", "latent SSVM"): (ROW, 1.0, 0.1),
        ("x", "modified loss"): (third, 10.0, 0.0),
    }


def test_grids_grow_while_a_choice_is_at_an_edge(monkeypatch):
    asked = []

    def validated(splits, task):
        if task.fold == 0:
            asked.append((task.row.name, task.grid))
        best = {coref.CLUSTERING: 1e-6, coref.LATENT: 1e-2, coref.MODIFIED: 1e9}[task.row.name]
        costly = abs(np.log10((task.row.penalty or 0.01) / 0.01)) * (
            task.row.name == coref.MODIFIED
        )
        losses = [abs(np.log10(C / best)) + 3 * costly for C in task.grid]
        return {"mitre_loss": losses, "pair_loss": [abs(np.log10(C / 1e-3)) for C in task.grid]}

    monkeypatch.setattr(coref, "validated", validated)
    monkeypatch.setattr(coref, "_lean", lambda split: split)
    plan = coref.Plan(2, 5, (1e-3, 1e-2, 1e-1), (1e-4, 1e-3, 1e-2), (0.1,), 3)
    tried = coref.cross_validated({"x": None}, plan, Arguments(Path(), Path(), True, 1))
    grids = {(row.name, row.penalty): each.grid for (_, row), each in tried.items()}
    assert grids[coref.LATENT, 1.0] == plan.grid
    assert grids[coref.CLUSTERING, None] == pytest.approx((1e-7, 1e-6, 1e-5, *plan.clustering_grid))
    assert sorted(r for name, r in grids if name == coref.MODIFIED) == [0.001, 0.01, 0.1]
    assert grids[coref.MODIFIED, 0.1] == pytest.approx((*plan.grid, 1.0))
    assert grids[coref.MODIFIED, 0.01] == pytest.approx((*plan.grid, 1.0, 10.0))
    assert grids[coref.MODIFIED, 0.001] == plan.grid
    assert [name for name, _ in asked].count(coref.LATENT) == 1
    told = coref.told_edges(coref.choose(tried), tried)
    assert told == "Choices at an edge of what was tried: x, modified loss: C 10"
    del tried["x", coref.Row(coref.MODIFIED, "coreference", 0.001)]
    assert coref.told_edges(coref.choose(tried), tried).endswith("; x, modified loss: r 0.01")


def result(name, losses, penalty=1.0):
    documents = [
        {"data": "x", "row": name, "document": str(k), "mitre_loss": loss, "pair_loss": 2.0}
        for k, loss in enumerate(losses)
    ]
    scores = dict.fromkeys(("muc", "b_cubed", "ceaf_e", "conll"), 50.0)
    return {
        "data": "x",
        "row": name,
        "penalty": penalty,
        "C": 1.0,
        "documents": documents,
        "scores": {**scores, "documents": 3, "mentions": 9, "clusters": 4, "singletons": 1},
        "passes": 7,
        "gap": 1e-3,
        "certified": penalty is not None,
        "seconds": 1.0,
    }


def test_the_report_has_means_tests_and_what_is_not_certified():
    rows = [result("correlation clustering", [30.0, 20.0, None], None)]
    rows.append(result("latent SSVM", [20.0, 18.0, 4.0]))
    text, summary = coref.report(rows)
    assert "25.00 ± 5.00" in text
    assert "not certified" in text
    mitre, pair = summary["tests"]
    assert (mitre["documents"], mitre["difference"]) == (2, "6.00 ± 4.00")
    assert mitre["p"] == pytest.approx(0.3743, abs=1e-4)  # t = 1.5 with one degree of freedom
    assert pair["p"] is None
    json.dumps(summary, allow_nan=False)
    assert found.coref(summary).rows["x, correlation clustering"] == [(25.0, 5.0), (2.0, 0.0)]


def test_missing_data_are_refused_in_one_line(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(DataError, match=r"0 files called \.ann; expected LitBank's 100"):
        coref_data.prepare(tmp_path, tmp_path / "out")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "experiments.yu_joachims_2009.coref"),
            *("--data", str(tmp_path / "nowhere"), "--out", str(tmp_path / "o")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path / 'nowhere'}")
    assert done.stderr.count("\n") == 1


def test_folds_train_validate_and_test_on_real_documents(tmp_path):
    if not (DATA / "litbank-coref").is_dir() or not (DATA / "gum").is_dir():
        pytest.skip(f"{DATA} lacks litbank-coref or gum; set LSSVM_DATA to the folder of the data")
    documents = coref_data.prepare(DATA, tmp_path)
    assert [len(part) for part in documents["LitBank"]] == [40, 30]
    assert [len(part) for part in documents["GUM"]] == [60, 30]
    for train, test in documents.values():
        assert not set(train.names) & set(test.names)
    split = coref._split(documents["GUM"], coref.FULL._replace(folds=3, documents=12))
    task = coref.Task("GUM", ROW, (0.001, 0.01), 0)
    losses = coref.validated({"GUM": coref._lean(split)}, task)
    assert len(losses["mitre_loss"]) == len(losses["pair_loss"]) == 2
    assert min(losses["mitre_loss"]) < 60
    assert max(losses["pair_loss"]) < 20
    found = coref.tested({"GUM": split}, task._replace(fold=-1))
    assert found["certified"]
    assert found["scores"]["documents"] == len(found["documents"]) == 30
    means = [row["mitre_loss"] for row in found["documents"]]
    assert 100 - found["scores"]["muc"] == pytest.approx(np.mean(means), abs=8)
