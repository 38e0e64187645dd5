"""Charts of models: what they show is what the model and the log of its run say."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import lssvm
from lssvm.cli import learn, main
from lssvm.config import load_config
from lssvm.errors import DataError, LssvmError, ModelError
from lssvm.model import Model
from lssvm.model.record import checked_record
from lssvm.output.charts import Bars, Heat, Lines, Logo, Series
from lssvm.output.plots import draw, svg_of
from lssvm.training.charts import KINDS, chart
from lssvm.training.run_log import read_log

pytest.importorskip("matplotlib")
ROOT = Path(__file__).parent.parent
RUNS = {"m": ("cccp.restarts=2",), "scored": ("held_out.every=5", "cccp.restarts=1")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("plotted")
    config = str(ROOT / "configs" / "motif-simulated.yaml")
    test = load_config(config).to_dict()["data"]["test"]
    for name, own in RUNS.items():
        data = json.dumps([{"path": str(ROOT / "configs" / one["path"])} for one in test])
        sets = ("application.length=5", "objective.C=1", *own)
        if name == "scored":
            sets = (*sets, f"data.validate={data}")
        words = [config, str(found / name), "-v", "3", "--log", str(found / f"{name}.log")]
        words += [word for setting in sets for word in ("--set", setting)]
        run = CliRunner().invoke(learn, words)
        assert run.exit_code in (0, 3), run.output
    return found


@cache
def model_of(folder, name="m"):
    return Model.load(folder / name)


def test_without_a_log_the_objective_is_that_of_the_record(folder):
    model = model_of(folder)
    found = chart(model, "objective")
    rows = model.record["restarts"]
    best = model.record["best_restart"]
    assert [one.label for one in found.series] == [
        f"restart {best + 1}",
        f"restart {2 - best}",
    ]
    for one, place in zip(found.series, (best, 1 - best), strict=True):
        assert [*zip(one.y, one.x, strict=True)] == [tuple(row) for row in rows[place]["history"]]
        assert np.all(np.diff(one.y) <= 1e-9)


def test_with_a_log_bounds_stay_below_the_objective_and_meet_it(folder):
    model, log = model_of(folder), read_log(folder / "m.log")
    objective, bound = chart(model, "objective", log).series
    assert objective.y[-1] == pytest.approx(model.record["objective"], rel=1e-6)
    assert bound.y[-1] == pytest.approx(model.record["lower_bound"], rel=1e-6)
    assert min(bound.y) < bound.y[-1] <= objective.y[-1] <= max(objective.y)
    (gap,) = chart(model, "gap", log).series
    assert gap.y[-1] == pytest.approx(model.record["gap"])
    timed = chart(model, "objective", log, x="seconds")
    assert timed.x_label == "seconds"
    assert np.all(np.diff(timed.series[0].x) >= 0)


def test_restarts_weights_and_scores_are_those_of_the_model(folder):
    model = model_of(folder)
    found = chart(model, "restarts")
    assert found.values == [row["objective"] for row in model.record["restarts"]]
    assert found.values[found.marked] == model.record["objective"]
    bars = chart(model, "weights", top=3)
    names = model.feature_names()
    assert [model.w[names.index(name)] for name in bars.names] == bars.values
    assert np.sort(np.abs(model.w))[-3:].tolist() == sorted(map(abs, bars.values))


def test_scores_are_those_of_the_record(folder):
    model = model_of(folder, "scored")
    way, best = chart(model, "held_out").series
    looks = model.record["held_out"]["looks"]
    assert [[x, y] for x, y in zip(way.x, way.y, strict=True)] == looks
    assert [best.x[0], best.y[0]] == looks[model.record["held_out"]["best"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_command_draws_every_kind_with_the_same_bytes(folder, tmp_path, kind, ending):
    kept = []
    for _ in range(2):
        path = tmp_path / f"p.{ending}"
        name = "scored" if kind == "held_out" else "m"
        words = ["plot", folder / name, path, "--kind", kind, "--log", folder / f"{name}.log"]
        run = CliRunner().invoke(main, list(map(str, words)))
        assert (run.exit_code, run.output) == (0, "")
        kept.append(path.read_bytes())
    assert kept[0] == kept[1]
    assert kept[0].startswith(b"\x89PNG" if ending == "png" else b"<?xml")


def test_plot_is_part_of_the_package(folder, tmp_path):
    lssvm.plot(folder / "m", "weights", tmp_path / "w.svg", top=2)
    assert "<svg" in (tmp_path / "w.svg").read_text()


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("p.png", "--kind", "gap"), "gap: a model has the last gap alone; expected --log"),
        (("p.nothing", "--kind", "weights"), "format 'nothing' is not known; expected one of"),
        (("p.png", "--kind", "objective", "--x", "seconds"), "a model has no times; expected"),
        (("p.png", "--kind", "nothing"), "--kind nothing: expected 'objective', "),
        (("p.png", "--kind", "gap", "--log", "missing"), "missing: cannot be read"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(folder, tmp_path, monkeypatch, words, wrong):
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke(main, ["plot", str(folder / "m"), *words])
    assert (run.exit_code, run.stdout) == (2, "")
    (line,) = run.stderr.splitlines()
    assert line.startswith("error: ")
    assert wrong in line
    assert list(tmp_path.iterdir()) == []


def test_what_a_model_does_not_have_is_refused(folder):
    model = model_of(folder)
    bare = Model(model.application, model.config, model.w, {})
    for kind in ("objective", "restarts", "held_out"):
        with pytest.raises(LssvmError, match=f"^{kind}: .*expected"):
            chart(bare, kind)


@pytest.mark.parametrize(
    "rows",
    ["x", ["x"], [{"history": [1]}], [{"history": [["x", 1]]}], [{"objective": "x"}]],
)
def test_a_record_with_other_restarts_is_no_model(rows):
    with pytest.raises(ModelError, match=r"record\.restarts"):
        checked_record({"restarts": rows})


def test_a_best_restart_that_is_not_there_is_the_last_one(folder):
    model = model_of(folder)
    record = model.record | {"best_restart": 9}
    other = Model(model.application, model.config, model.w, record)
    assert chart(other, "restarts").marked == 1
    assert chart(other, "objective").series[0].label == "restart 2"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "is empty; expected the log"),
        ("{}\n{}\n", "log:1: is no line of a log"),
        ('{"event": "restart"}\nx\n{"event": "restart"}\n', "log:2: is no line of a log"),
        ('{"event": "pass"}\n', "log:1: a line that is no pass"),
        ('{"event": "pass", "passes": NaN, "seconds": 1, "objective": 1, "gap": 1}\n', "log:1:"),
    ],
)
def test_a_file_that_is_no_log_is_refused(tmp_path, text, wrong):
    (tmp_path / "log").write_text(text)
    with pytest.raises(DataError, match=wrong):
        read_log(tmp_path / "log")


def test_the_log_of_a_run_that_was_killed_and_resumed_is_one_run(tmp_path):
    row = {"event": "pass", "passes": 1, "seconds": 0.5, "objective": 2.0, "gap": 0.25}
    rows = [
        {"event": "start", "resume": False},
        {"event": "restart", "number": 1, "of": 1},
        row,
        {"event": "start", "resume": True},
        row | {"passes": 2, "gap": None, "objective": None},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows) + '{"event": "pa'
    (tmp_path / "log").write_text(text)
    (points,) = read_log(tmp_path / "log").restarts
    assert [one.passes for one in points] == [1, 2]
    assert points[0].bound == 1.5
    assert points[1].gap == float("inf")


CHARTS = [
    Lines(title="t", series=[Series("$a$", [1, 2], [3, 4], hue=6)], x_label="<x>", y_label="y & z"),
    Bars(title="t", names=["$x_1$ <b>", "n" * 90], values=[1.0, -2.0], label="weight"),
    Heat(
        title="t",
        rows=["a", "b"],
        columns=["c", "d"],
        values=[[1, 2.5], [-3, 4]],
        row_label="true",
        column_label="predicted",
        signed=True,
    ),
    Logo(title="t", letters="ACGT", heights=[[0, 1, 0.5, 0.001]] * 3, y_label="bits", top=2.0),
]


@pytest.mark.parametrize("one", CHARTS, ids=lambda one: type(one).__name__)
def test_a_chart_for_a_page_takes_the_colour_of_its_text(one):
    import xml.etree.ElementTree as ET

    text = svg_of(one, "key")
    assert text == svg_of(one, "key")
    root = ET.fromstring(text)
    assert "currentColor" in text
    assert "#010203" not in text
    assert "width" not in root.attrib
    assert "viewBox" in root.attrib
    ids = {each.attrib["id"] for each in root.iter() if "id" in each.attrib}
    other = ET.fromstring(svg_of(one, "other key"))
    others = {each.attrib["id"] for each in other.iter() if "id" in each.attrib}
    assert not ids & others


def test_names_with_characters_that_no_font_has_are_drawn_without_a_word(tmp_path, recwarn):
    bars = Bars(title="", names=["a\x1bb\x01", "\U0001f9ec\u4e2d"], values=[1.0, 2.0], label="w")
    draw(tmp_path / "bars.png", bars)
    page = svg_of(bars, "bars")
    assert [str(each.message) for each in recwarn] == []
    assert r"a\x1bb\x01" in page
    assert not set(page) & {"\x1b", "\x01"}
