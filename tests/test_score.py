"""Scores of written predictions are those of the applications, and their intervals hold."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_explain import trained

from lssvm.applications.written import Written, class_counts
from lssvm.cli import main
from lssvm.training.prediction import classify

ROOT = Path(__file__).parent.parent
NAMES = (
    "multiclass",
    "taxonomy",
    "sequence",
    "precision_at_k",
    "motif-simulated",
    "mrf",
    "relation",
    "parsing",
    "alignment",
)


def run(*words):
    return CliRunner().invoke(main, ["score", *map(str, words)])


@pytest.fixture(params=NAMES)
def written(request, tmp_path):
    """The name of an application, its predictions in a file, and its own scores of them."""
    model, examples = trained(request.param)
    found = classify(model, examples)
    with open(tmp_path / "p", "w", encoding="utf-8") as file:
        formats = getattr(model.application, "formats", {})
        write = formats.get("candidates", model.application.write)
        write(examples, found, file)
    return request.param, tmp_path / "p", model.application.score(examples, found)


def test_scores_are_those_of_the_application(written, tmp_path):
    name, path, wanted = written
    gold = ROOT / "configs" / f"{name}.yaml"
    result = run(path, gold, "--json", tmp_path / "s", "--bootstrap", "50")
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "s").read_text())["metrics"]
    common = told.keys() & wanted.keys()
    assert len(common) >= 2
    for metric in common:
        assert told[metric]["value"] == pytest.approx(wanted[metric])
        low, high = told[metric]["interval"]
        assert low <= told[metric]["value"] <= high
    assert result.stdout.split()[0] in told


def test_gold_against_gold_is_perfect(tmp_path):
    files = {
        "multiclass": "multiclass/test.txt",
        "sequence": "sequence/test.conll",
    }
    for name, file in files.items():
        gold = ROOT / "data" / file
        config = ROOT / "configs" / f"{name}.yaml"
        predictions = tmp_path / name
        lines = gold.read_text().splitlines()
        if name == "multiclass":
            predictions.write_text(
                "".join(f"{line.split()[0]}\n" for line in lines if line.strip())
            )
        else:
            predictions.write_text("\n".join(lines) + "\n")
        result = run(predictions, config, "--json", tmp_path / "s")
        assert result.exit_code == 0, result.output
        told = json.loads((tmp_path / "s").read_text())["metrics"]
        assert told["error"] == {"value": 0.0, "interval": [0.0, 0.0]}
        best = told["f1" if name == "sequence" else "macro_f1"]
        assert best == {"value": 100.0, "interval": [100.0, 100.0]}


def test_every_query_has_its_row(tmp_path):
    model, examples = trained("precision_at_k")
    found = classify(model, examples)
    with open(tmp_path / "p", "w", encoding="utf-8") as file:
        model.application.write(examples, found, file)
    config = ROOT / "configs" / "precision_at_k.yaml"
    assert run(tmp_path / "p", config, "--csv", tmp_path / "q").exit_code == 0
    rows = list(csv.DictReader((tmp_path / "q").read_text().splitlines()))
    assert [row["query"] for row in rows] == list(examples.identifiers)
    wanted = model.application.metrics(examples, found)["NDCG@5"]
    assert [float(row["NDCG@5"]) for row in rows] == pytest.approx(wanted)


def test_labels_of_no_true_example_count_as_predicted(tmp_path):
    (tmp_path / "gold").write_text("+1 1:1\n+1 1:2\n-1 1:3\n")
    (tmp_path / "p").write_text("1\n7\n-1 0.5 0.2\n")
    result = run(
        tmp_path / "p", tmp_path / "gold", "--application", "multiclass", "--json", tmp_path / "s"
    )
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "s").read_text())
    assert told["metrics"]["error"]["value"] == pytest.approx(100 / 3)
    assert {row["label"]: row["f1"] for row in told["labels"]} == pytest.approx(
        {"+1": 200 / 3, "-1": 100.0, "7": 0.0}
    )
    assert told["metrics"]["macro_f1"]["value"] == pytest.approx(500 / 9)


def test_intervals_are_those_of_a_mean():
    rng = np.random.default_rng(3)
    values = rng.normal(size=400)
    found = Written(list(range(400)), "row", values[:, None], lambda s, n: {"mean": s[0] / n})
    low, high = found.intervals(2000, np.random.default_rng(0))["mean"]
    error = values.std() / 20
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.2 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.2 * error)
    again = found.intervals(2000, np.random.default_rng(0))["mean"]
    assert again == (low, high)


def test_sparse_counts_give_the_intervals_of_dense_ones():
    rng = np.random.default_rng(0)
    counts = class_counts(rng.integers(3, size=50), rng.integers(3, size=50), 3)

    def metrics(sums, n):
        return {"right": sums[6:].sum() / n, "first": sums[0] / n}

    both = [
        Written(list(range(50)), "row", each, metrics).intervals(100, np.random.default_rng(1))
        for each in (counts, counts.toarray())
    ]
    assert both[0] == both[1]


def test_a_metric_that_some_samples_lack_has_no_interval():
    counts = np.zeros((4, 1))
    counts[0] = 1
    one = Written(list("abcd"), "row", counts, lambda s, n: {"f": None if s[0] == 0 else 1.0})
    assert one.scores() == {"f": 1.0}
    assert one.intervals(200, np.random.default_rng(0)) == {"f": None}


@pytest.mark.parametrize(
    ("lines", "words", "wrong"),
    [
        (
            "a\n",
            ("--application", "multiclass"),
            "p: has 1 prediction; expected 2, one for each row",
        ),
        ("a\nb\n", (), "gold: is no configuration; expected --application NAME beside it"),
        ("a\nb\n", ("--application", "mrf"), "expected"),
        ("1\nx\n", ("--application", "precision_at_k"), "p:2: expected a score, got 'x'"),
        ("a\nb\n", ("--application", "motif", "--json", "x"), ""),
        ("a\nb\n", ("--application", "nothing"), "nothing"),
        ("a\nb\n", ("--application", "multiclass", "--csv", "p"), "expected two files"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(tmp_path, monkeypatch, lines, words, wrong):
    monkeypatch.chdir(tmp_path)
    Path("p").write_text(lines)
    Path("gold").write_text(
        "1 qid:1 1:1\n0 qid:1 1:2\n" if "precision" in str(words) else "a 1:1\nb 1:2\n"
    )
    result = run("p", "gold", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert wrong in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gold", "p"]
    assert Path("p").read_text() == lines


def test_an_application_that_reads_no_predictions_says_so(tmp_path):
    (tmp_path / "p").write_text("")
    result = run(tmp_path / "p", ROOT / "configs" / "coreference.yaml")
    assert result.exit_code == 2
    assert "application 'coreference': cannot score files of predictions" in result.stderr


def test_the_ranking_of_some_candidates_has_no_average(tmp_path):
    model, examples = trained("relation")
    found = classify(model, examples)
    with open(tmp_path / "p", "w", encoding="utf-8") as file:
        model.application.write(examples, found, file)
    result = run(tmp_path / "p", ROOT / "configs/relation.yaml", "--json", tmp_path / "s")
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "s").read_text())["metrics"]
    assert told["average_precision"] == {"value": None, "interval": None}
    assert told["f1"]["value"] == pytest.approx(model.application.score(examples, found)["f1"])


SITES = "sequence_name\tprediction\tscore\n"
SEQUENCE = ">a label=+1\n" + 12 * "A" + "\n"
NODES = "graph\tnode\tlabel\n"
GRAPH = "graph g\nnode a y 3 1 1:1\nnode b y 3 0 2:1\n"
FACTS = "pair\trelation\tscore\n"
PAIR = '{"id": "a", "relations": ["r"], "mentions": [{"features": ["f"]}]}\n'


@pytest.mark.parametrize(
    ("name", "gold", "lines", "wrong"),
    [
        ("motif", SEQUENCE, "x\n", "p:1: the header has no column 'sequence_name'"),
        ("motif", SEQUENCE, SITES, "has no prediction for sequence 'a'; expected one"),
        ("motif", SEQUENCE, SITES + "b\t1\t2\n", "p:2: sequence 'b' is not in the file"),
        ("motif", SEQUENCE, SITES + "a\t7\t2\n", "p:2: expected the prediction +1 or -1, got '7'"),
        ("motif", SEQUENCE, SITES + "a\t1\n", "p:2: has 2 columns; expected 3"),
        ("mrf", GRAPH, NODES + "g\ta\t1\n", "has no label for node 'b' of graph 'g'; expected one"),
        ("mrf", GRAPH, NODES + "g\tc\t1\n", "p:2: node 'g c' is not in the file"),
        ("mrf", GRAPH, NODES + "g\ta\t-1\n", "p:2: expected a label from 0, got '-1'"),
        ("mrf", GRAPH, NODES + 2 * "g\ta\t1\n", "p:3: node 'a' of graph 'g' has two labels"),
        ("relation", PAIR, FACTS + "b\tr\t1\n", "p:2: pair 'b' is not in the file"),
        ("relation", PAIR, FACTS + "a\ts\t1\n", "relation 's' and all others are not in the file"),
        ("relation", PAIR, FACTS + "a\tr\tx\n", "p:2: expected a score, got 'x'"),
        ("relation", PAIR, FACTS + 2 * "a\tr\t1\n", "p:3: pair 'a' has relation 'r' twice"),
        ("parsing", "(S (D a) (N b))\n", "(S (D a))\n", "p:1: has 1 word; expected 2"),
        ("parsing", "(S (D a))\n", "(S (D a))\n(S (D a))\n", "has 2 trees; expected 1"),
    ],
)
def test_what_does_not_fit_the_examples_is_named(tmp_path, monkeypatch, name, gold, lines, wrong):
    monkeypatch.chdir(tmp_path)
    Path("gold").write_text(gold)
    Path("p").write_text(lines)
    result = run("p", "gold", "--application", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert wrong in result.stderr


def test_true_trees_against_themselves_are_perfect(tmp_path):
    trees = tmp_path / "trees"
    trees.write_text("(S (NP (D a) (N b)) (V c))\n(S (V d) (N e))\n")
    result = run(trees, trees, "--application", "parsing", "--json", tmp_path / "s")
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "s").read_text())["metrics"]
    assert {told[name]["value"] for name in ("f1", "exact_match", "tagging_accuracy")} == {100.0}
