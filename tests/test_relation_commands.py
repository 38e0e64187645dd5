"""Relation extraction through the commands: files, outputs, and one line for what is wrong."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import relation_files as cases
import test_relation_formats as formats
from click.testing import CliRunner

from lssvm.applications.base import Source
from lssvm.cli import classify, learn
from lssvm.formats.relation_bags import read_bags
from lssvm.model import Model

PAGE = Path(__file__).parent.parent / "docs" / "tutorials" / "relation.md"


def run(command, *arguments, code=0):
    done = CliRunner().invoke(command, [str(each) for each in arguments])
    assert done.exit_code == code, done.output
    return done


def configured(folder, train, name="c.yaml", **options):
    lines = "".join(f"  {key}: {value}\n" for key, value in options.items())
    (folder / name).write_text(
        f"application:\n  name: relation\n{lines}data: {{train: {train}}}\n"
        "objective: {model: lssvm, C: 1.0}\nsolver: {epsilon: 1e-2}\n"
    )
    return folder / name


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a drawn file, its pairs as JSON lines, and a model of each."""
    folder = tmp_path_factory.mktemp("relation")
    text, told = cases.drawn_text(np.random.default_rng(0), 60)
    (folder / "test.txt").write_text(text)
    known = [pair for pair in told if pair[1]]
    lines = [str(len(known)), "5"]
    with (folder / "train.jsonl").open("w") as file:
        for number, (labels, _, mentions) in enumerate(known):
            lines += [str(len(labels)), *map(str, labels), str(len(mentions))]
            lines += [
                " ".join([str(len(m)), *(f"{j}:{x}" for j, x in m.items())]) for m in mentions
            ]
            pair = {
                "entities": [f"a{number}", f"b{number}"],
                "relations": [f"r{label}" for label in labels],
                "mentions": [
                    {"id": f"d{number}:{place}", "features": {f"f{j}": x for j, x in m.items()}}
                    for place, m in enumerate(mentions)
                ],
            }
            file.write(json.dumps(pair) + "\n")
    (folder / "train.txt").write_text("\n".join(lines) + "\n")
    for name in ("train.txt", "train.jsonl"):
        run(learn, configured(folder, name, f"{name}.yaml"), folder / f"{name}.model", "-q")
    return folder


def metrics_of(folder, data, model, *more):
    path = folder / "metrics.json"
    run(classify, folder / data, folder / model, folder / "out.tsv", "--metrics", path, *more)
    return json.loads(path.read_text())


def test_both_formats_hold_the_same_pairs(trained):
    numbers, names = (
        (Model.load(trained / f"{name}.model").application, name)
        for name in ("train.txt", "train.jsonl")
    )
    found = []
    for application, name in (numbers, names):
        bags = application.read([Source(str(trained / name))])
        width, count = application.vocabulary.width, len(application.relations)
        features = [
            application.vocabulary.feature(j).removeprefix("feature ").removeprefix("f")
            for j in range(width)
        ]
        relations = [relation.removeprefix("r") for relation in application.relations]
        rows = bags.inputs.toarray()[:, np.argsort(features)]
        found.append((rows, bags.places, bags.truth(count)[:, np.argsort(relations)]))
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)


def test_the_metrics_begin_with_the_one_that_held_out_data_are_scored_by(trained):
    metrics = metrics_of(trained, "train.txt", "train.txt.model", "-q")
    assert next(iter(metrics)) == "f1"
    assert {"macro_f1", "average_precision", "pr_auc", "P@100", "P@500"} <= set(metrics)


def test_names_come_back_in_the_output(trained):
    out = trained / "out.jsonl"
    run(classify, trained / "train.jsonl", trained / "train.jsonl.model", out, "--json", "-q")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert rows[3]["entities"] == ["a3", "b3"]
    assert rows[3]["id"] == "a3 | b3"
    assert [m["mention"] for m in rows[3]["h"]] == [f"d3:{k}" for k in range(len(rows[3]["h"]))]
    for row in rows:
        assert sorted(row["y"]) == sorted({m["relation"] for m in row["h"]} - {None})
        assert set(row["scores"]) == set(row["best_mentions"]) == set(row["y"])
        assert row["loss"] == len(set(row["y"]) ^ set(row["gold"]))


def test_pairs_without_known_relations_are_predicted_and_not_scored(trained):
    done = run(classify, trained / "test.txt", trained / "train.txt.model", trained / "out.tsv")
    unknown = int(np.count_nonzero(~read_bags(trained / "test.txt").known))
    assert unknown > 0
    assert f"{unknown} examples without labels: they are not scored" in done.stderr


def test_files_in_parts_give_the_same_output_and_metrics(trained, monkeypatch):
    outputs = []
    for held in (1_000_000, 20):
        monkeypatch.setattr("lssvm.formats.relation_bags._PART", held)
        monkeypatch.setattr("lssvm.formats.text._PIECE", 128)
        told = metrics_of(trained, "test.txt", "train.txt.model", "-q")
        outputs.append(((trained / "out.tsv").read_text(), told))
        for more in (["--format", "candidates"], ["--json"]):
            out = trained / "out.other"
            run(classify, trained / "test.txt", trained / "train.txt.model", out, *more, "-q")
            outputs[-1] += (out.read_text(),)
    assert outputs[0] == outputs[1]
    assert outputs[0][0].startswith("pair\trelation\tscore\tbest_mention\n")


def test_the_curve_is_drawn(trained):
    path = trained / "curve.png"
    metrics_of(trained, "test.txt", "train.txt.model", "--curve", path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_curve_in_an_unknown_format_is_refused_before_anything_is_written(trained):
    out, path = trained / "never.tsv", trained / "curve.xyz"
    model = trained / "train.txt.model"
    done = run(classify, trained / "test.txt", model, out, "--curve", path, code=2)
    assert f"{path}: format 'xyz' is not known; expected one of " in done.stderr
    assert not out.exists()


def test_a_curve_needs_labels(trained):
    lines = ["1", "5", "?", "1", "1 1:1"]
    (trained / "unknown.txt").write_text("\n".join(lines) + "\n")
    model, out = trained / "train.txt.model", trained / "never.tsv"
    path = trained / "none.png"
    done = run(classify, trained / "unknown.txt", model, out, "--curve", path, code=2)
    expected = "has no labels; expected labelled examples"
    assert done.stderr == f"error: --curve: {trained / 'unknown.txt'} {expected}\n"


def test_other_applications_have_no_curve(tmp_path, trained):
    rows = "a 1:1\nb 2:1\n"
    (tmp_path / "rows.txt").write_text(rows)
    config = tmp_path / "c.yaml"
    config.write_text(
        "application: {name: multiclass}\ndata: {train: rows.txt}\nobjective: {model: ssvm, C: 1}\n"
    )
    run(learn, config, tmp_path / "m", "-q")
    done = run(
        classify, tmp_path / "rows.txt", tmp_path / "m", "-", "--curve", tmp_path / "c.png", code=2
    )
    expected = "error: --curve: application 'multiclass' has none; expected no --curve\n"
    assert done.stderr == expected


TEXTS = {name: text for name, (text, _) in formats.MALFORMED.items()}
LINES = {
    f"json, {name}": formats.pair(relations=["r1"]) + "\n" + text + "\n"
    for name, (text, _) in formats.MALFORMED_JSON.items()
}


@pytest.mark.parametrize("name", [*TEXTS, *LINES])
def test_a_malformed_file_ends_in_one_line_and_code_2(trained, tmp_path, name):
    text = {**TEXTS, **LINES}[name]
    path = formats.written(tmp_path, text, "bad")
    expected = formats.refusal(path)
    done = run(learn, configured(tmp_path, "bad"), tmp_path / "m", "-q", code=2)
    assert done.stderr == f"error: {expected}\n"
    assert not (tmp_path / "m").exists()
    model = "train.jsonl.model" if name.startswith("json") else "train.txt.model"
    done = run(classify, path, trained / model, tmp_path / "out", code=2)
    assert done.stderr == f"error: {expected}\n"
    assert not (tmp_path / "out").exists()


def test_the_pair_of_the_documentation_is_read(tmp_path):
    (text,) = re.findall(
        r"^```json\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )[:1]
    file = read_bags(formats.written(tmp_path, text))
    assert (list(file.names), file.relations) == (["p1"], ("born in",))
    assert list(file.mention_names) == ["a7:3", "b2:1"]


def test_the_text_of_the_documentation_is_read(tmp_path):
    blocks = re.findall(
        r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (block,) = [each for each in blocks if "number of pairs" in each]
    lines = [line[:21].rstrip() for line in block.splitlines()]
    lines += ["1", "1 1:1"]  # of the second pair
    assert len(read_bags(formats.written(tmp_path, "\n".join(lines) + "\n"))) == 2
