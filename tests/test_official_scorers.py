"""Files of predictions are what the scorers of the fields read, by the rules that they publish."""

import json
import math
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from lssvm.cli import classify, learn

PAGE = Path(__file__).parent.parent / "docs" / "how_to" / "official_scorers.md"
WORDS = "Ann B-PER\nmet O\nBob B-PER\nRay I-PER\n\nwe O\nmet O\nAnn B-PER\n\n"
TREES = """(TOP (S (NP-SBJ (PRP he)) (VP (VBD saw) (NP (DT the) (NN dog)) (-NONE- *T*)) (. .)))
( (S (NP (NNP Ann))
     (VP (VBD saw))))
(S (NP (NNP Ann)) (VP (VBD saw) (NP (DT the) (NN dog))))
"""
DOCUMENTS = (
    "2 qid:a 1:1 #docid = d1\n0 qid:a 1:-1 2:1 #docid = d2\n1 qid:a 1:.5 #docid = d3\n"
    "0 qid:b 1:-1 #docid = d1\n1 qid:b 1:.2 #docid = d9\n"
)


@pytest.fixture
def predicted(tmp_path, monkeypatch):
    """Train on a text, predict it, and return the file of predictions and the metrics."""
    monkeypatch.chdir(tmp_path)

    def predicted(application, text, *options):
        Path("t.txt").write_text(text, encoding="utf-8")
        Path("c.yaml").write_text(
            json.dumps({"application": application, "data": {"train": "t.txt", "test": "t.txt"}})
        )
        words = ["c.yaml", "m", "p", "--metrics", "metrics.json", *options]
        for command, given in ((learn, ["c.yaml", "m", "-q"]), (classify, words)):
            result = CliRunner().invoke(command, given)
            assert result.exit_code == 0, result.output
        return Path("p").read_text(encoding="utf-8"), json.loads(Path("metrics.json").read_text())

    return predicted


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_conlleval_finds_truth_and_prediction_in_the_last_columns(predicted, blank):
    """It splits lines at single blanks, or at what -d says, and wants as many in each."""
    application = {"name": "sequence", "columns": ["word", "label"]}
    text, metrics = predicted(application, WORDS.replace(" ", blank))
    lines = [line.split(blank) if line else [] for line in text.splitlines()]
    assert [line[:2] for line in lines] == [line.split() for line in WORDS.splitlines()]
    assert {len(line) for line in lines} == {0, 3}
    right = [line[1] == line[2] for line in lines if line]
    assert metrics["accuracy"] == pytest.approx(100 * sum(right) / len(right))


def test_evalb_finds_two_trees_of_the_same_words_on_each_line(predicted):
    """COLLINS.prm leaves out the label TOP alone; traces and function tags are gone before it."""
    text, metrics = predicted({"name": "parsing"}, TREES, "--json")
    pairs = [json.loads(line) for line in text.splitlines()]
    assert len(pairs) == metrics["sentences"] == 3
    for pair in pairs:
        assert pair["gold"].startswith("(TOP (S (NP (")
        assert pair["y"].startswith("(TOP (")
        words, found = (re.findall(r" ([^ ()]+)\)", pair[key]) for key in ("gold", "y"))
        assert words == found
    assert pairs[0]["gold"] == (
        "(TOP (S (NP (PRP he)) (VP (VBD saw) (NP (DT the) (NN dog))) (. .)))"
    )


def test_the_simulated_queries_have_the_form_that_letors_script_reads():
    lines = (PAGE.parents[2] / "data" / "ranking" / "test.txt").read_text("utf-8").splitlines()
    found = [re.fullmatch(r"([0-2]) qid:(\d+) [^#]*#docid = (\S+)", line) for line in lines]
    assert all(found)
    assert len({match.group(2, 3) for match in found}) == len(lines)


def test_letors_script_finds_a_score_for_each_line(predicted):
    """It sorts the lines of a query by their scores, equal ones in the order of the file.

    It counts NDCG@10 of fewer than ten documents as 0, and lssvm takes that of all of them.
    """
    text, metrics = predicted({"name": "precision_at_k", "k": 1}, DOCUMENTS)
    scores = [float(line) for line in text.splitlines()]
    queries: dict[str, list[tuple[float, int]]] = {}
    for line, score in zip(DOCUMENTS.splitlines(), scores, strict=True):
        queries.setdefault(line.split()[1], []).append((score, int(line[0])))
    precision, gain = [], []
    for query in queries.values():
        labels = [label for _, label in sorted(query, key=lambda pair: -pair[0])]
        sums = [
            sum((2**x - 1) / max(1, math.log2(i)) for i, x in enumerate(order, 1))
            for order in (labels, sorted(labels, reverse=True))
        ]
        precision.append(labels[0] > 0)
        gain.append(sums[0] / sums[1])
    assert metrics["P@1"] == pytest.approx(sum(precision) / 2)
    assert metrics["NDCG@10"] == pytest.approx(sum(gain) / 2)


def test_the_qrels_of_the_page_are_those_of_trec_eval():
    pattern, made = re.search(r"sed -E 's/(.*#.*)/(.*)/'", PAGE.read_text("utf-8")).groups()
    lines = [re.sub(pattern, made, line) for line in DOCUMENTS.splitlines()]
    assert lines == ["a 0 d1 2", "a 0 d2 0", "a 0 d3 1", "b 0 d1 0", "b 0 d9 1"]
