"""The report: one page that says what the model says, and that a browser shows as it should."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from paper_cases import whole_page
from test_explain import trained

import lssvm
from lssvm.applications import picturing
from lssvm.cli import main
from lssvm.output import page as pages
from lssvm.output.charts import Heat, Table, Text
from lssvm.output.page import Page, Section, html_of
from lssvm.training.charts import weights
from lssvm.training.explaining import explain
from lssvm.training.prediction import classify
from lssvm.training.reporting import Data, page_of

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
ROOT = Path(__file__).parent.parent
NAMES = (
    "multiclass",
    "multiclass, rbf",
    "taxonomy",
    "sequence",
    "latent_sequence, hcrf",
    "precision_at_k",
    "coreference",
    "coreference-correlation",
    "mrf",
    "parsing",
    "latent_parsing",
    "alignment",
    "alignment-pairs",
    "motif-simulated",
    "relation",
)
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",
]
WIDTHS = (390, 1440)
EMPTY = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


@cache
def page(name):
    model, examples = trained(name)
    return page_of(model, "a model", [Data("test", examples)], None, 2)


@cache
def text(name):
    return html_of(page(name))


class Checker(HTMLParser):
    """Tags that are closed as they were opened, ids, and addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.addresses = [], [], []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        for name in ("src", "href", "xlink:href", "data", "action"):
            self.addresses += [found[name]] if name in found else []
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_whole_and_needs_no_network(name):
    checker = Checker()
    checker.feed(text(name))
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    assert [one for one in checker.addresses if not one.startswith(("#", "data:"))] == []
    for target in re.findall(r"url\(([^)]*)\)", text(name)):
        assert target.strip("'\"").removeprefix("#") in checker.ids
    assert "<script" not in text(name)


def figures(found, title):
    return [one for part in found.sections for one in part.figures if one.title == title]


@pytest.mark.parametrize("name", NAMES)
def test_metrics_are_those_of_the_application(name):
    model, examples = trained(name)
    (table,) = figures(page(name), "Metrics")
    column = list(table.heads).index("test")
    wanted = model.application.score(examples, classify(model, examples))
    assert {row[0]: row[column] for row in table.rows if row[column] is not None} == {
        key: value for key, value in wanted.items() if value is not None
    }


@pytest.mark.parametrize("name", sorted({*NAMES} - {"coreference", "coreference-correlation"}))
def test_an_application_has_pictures_of_its_own(name):
    titles = [part.title for part in page(name).sections]
    assert titles == ["Scores", "Pictures", "Training", "Weights", "Worst mistakes"]
    assert text(name).count("<svg") >= 1 + (name != "multiclass, rbf")


def test_the_worst_mistakes_are_explained():
    model, examples = trained("mrf")
    losses = [row["loss"] for row in model.application.records(examples, classify(model, examples))]
    (section,) = (part for part in page("mrf").sections if part.title == "Worst mistakes")
    worst = np.argsort(-np.array(losses), kind="stable")[:2]
    names = [f"Example {examples.names[row]}" for row in worst]
    assert [group.title for group in section.figures] == names
    found = explain(model, examples, int(worst[0]))
    table = section.figures[0].parts[-1]
    assert table.rows[-1][2:] == [found.score, found.other_score, found.margin]
    assert sum(row[2] for row in table.rows[:-1]) == pytest.approx(found.score)


def test_confusions_are_counted():
    model, examples = trained("multiclass")
    predictions = classify(model, examples)
    (heat,) = figures(page("multiclass"), "Confusions")
    assert np.sum(heat.values) == len(examples)
    right = np.sum(predictions.labels == examples.labels)
    assert np.trace(heat.values) == right
    (table,) = figures(page("multiclass"), "By label")
    f1 = [row[3] for row in table.rows]
    assert np.mean(f1) == pytest.approx(model.application.score(examples, predictions)["macro_f1"])


def test_many_labels_have_a_list_of_confusions():
    labels = [f"l{k}" for k in range(40)]
    counts = np.diag(np.arange(40))
    counts[3, 5], counts[7, 1] = 2, 9
    found = picturing.confusions(labels, counts)
    assert found.rows == [("l7", "l1", 9), ("l3", "l5", 2)]


def test_curves_have_the_areas_of_the_metrics():
    rng = np.random.default_rng(0)
    truth, scores = rng.random(300) < 0.3, np.round(rng.normal(size=300), 1)
    pairs = np.sign(scores[truth][:, None] - scores[~truth][None, :])
    note = picturing.roc(truth, scores).note
    assert f"{(1 + pairs.mean()) / 2:.4f}" in note
    found = picturing.precision_recall(truth, scores)
    steps = 0.0
    for threshold in np.unique(scores[truth]):
        above = scores >= threshold
        steps += np.mean(truth[above]) * np.sum(truth & (scores == threshold)) / truth.sum()
    assert f"{steps:.4f}" in found.note


def test_ranking_curves_are_the_metrics_at_each_rank():
    model, examples = trained("precision_at_k")
    wanted = model.application.score(examples, classify(model, examples))
    (curves,) = figures(page("precision_at_k"), "Ranking curves")
    for one in curves.series:
        for k in (1, 3, 5, 10):
            assert one.y[k - 1] == pytest.approx(wanted[one.label.replace("k", str(k))])


def test_transitions_are_weights_by_name():
    model, _ = trained("sequence")
    (heat,) = figures(page("sequence"), "Transitions")
    names = model.feature_names()
    for row, first in enumerate(heat.rows):
        for column, second in enumerate(heat.columns):
            assert heat.values[row][column] == model.w[names.index(f"{first} -> {second}")]


def test_text_is_escaped():
    hostile = "<b>&\"'</b></script>$x$"
    table = Table(title=hostile, heads=(hostile,), rows=[(hostile,), (float("nan"),)])
    parts = [table, Text(title=hostile, lines=[hostile])]
    parts.append(
        Heat(
            title=hostile,
            rows=[hostile],
            columns=[hostile],
            values=[[1.0]],
            row_label=hostile,
            column_label=hostile,
        )
    )
    found = html_of(
        Page(hostile, hostile, [(hostile, hostile)], [Section(hostile, parts)], [hostile])
    )
    assert "<b>" not in found
    assert "</script>" not in found
    checker = Checker()
    checker.feed(found)
    assert checker.open == []


def test_the_command_writes_the_same_page_each_time(tmp_path, monkeypatch):
    model, _ = trained("multiclass")
    monkeypatch.chdir(tmp_path)
    model.save("m")
    config = str(ROOT / "configs" / "multiclass.yaml")
    for name in ("a.html", "b.html"):
        run = CliRunner().invoke(main, ["report", "m", config, "--out", name])
        assert (run.exit_code, run.output) == (0, "")
    assert Path("a.html").read_bytes() == Path("b.html").read_bytes()
    assert html.escape(weights(model).names[0]) in Path("a.html").read_text()


def test_a_model_alone_has_a_report(tmp_path):
    model, _ = trained("motif-simulated")
    lssvm.report(model, tmp_path / "r.html")
    found = (tmp_path / "r.html").read_text()
    assert "No data were given" in found
    assert "Worst mistakes" not in found
    assert "Probabilities of letters" in found


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--out", "/nowhere/r.html"), "the folder '/nowhere' does not exist"),
        (("missing.txt", "--out", "r.html"), "missing.txt: cannot be read"),
        (("--out", "r.html", "--log", "m"), "m: is no text; expected the log"),
        ((), "Missing option '--out'"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(tmp_path, monkeypatch, words, wrong):
    model, _ = trained("multiclass")
    monkeypatch.chdir(tmp_path)
    model.save("m")
    run = CliRunner().invoke(main, ["report", "m", *words])
    assert (run.exit_code, run.stdout) == (2, "")
    (line,) = run.stderr.splitlines()
    assert line.startswith("error: ")
    assert wrong in line
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_without_jinja2_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(lssvm.errors.MissingExtraError, match=r"jinja2.*lssvm\[report\]"):
        pages.check_installed()


def browsed(folder, content, *flags):
    """The page as a browser has built it, and what it complained of."""
    path = folder / "page.html"
    path.write_text(content, encoding="utf-8")
    run = subprocess.run(
        [
            CHROMIUM,
            *FLAGS,
            f"--user-data-dir={folder / 'profile'}",
            *flags,
            "--dump-dom",
            str(path),
        ],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout, [line for line in run.stderr.splitlines() if "CONSOLE" in line]


MEASURE = """
<pre id="result"></pre><script>
window.addEventListener('load', () => {
  const told = {};
  for (const frame of document.querySelectorAll('iframe')) {
    const page = frame.contentDocument, view = frame.contentWindow, wide = [];
    for (const one of page.body.querySelectorAll('*')) {
      if (one.closest('.scroll') !== null && !one.classList.contains('scroll')) continue;
      if (one.ownerSVGElement) continue;
      const box = one.getBoundingClientRect();
      if (box.right > view.innerWidth + 0.5) wide.push(one.outerHTML.slice(0, 80));
    }
    const heights = [...page.querySelectorAll('svg')].map(s => s.getBoundingClientRect().height);
    const cut = [...page.querySelectorAll('.scroll > table')].filter(
      table => table.parentNode.scrollWidth > table.parentNode.clientWidth);
    told[frame.title] = {
      cut: cut.map(table => table.querySelector('tr').innerText.trim()),
      width: view.innerWidth, scroll: page.documentElement.scrollWidth, wide: wide,
      empty: heights.filter(height => height < 30).length,
      background: view.getComputedStyle(page.body).backgroundColor};
  }
  document.getElementById('result').textContent = JSON.stringify(told);
});
</script>"""


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium in the PATH")
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_nothing_overflows_on_a_phone_or_a_screen(tmp_path, scheme):
    shown = {**{name: text(name) for name in NAMES}, "papers": html_of(whole_page())}
    frames = [
        f'<iframe title="{name} {width}" style="width:{width}px;height:800px;border:0" '
        f'srcdoc="{html.escape(content)}"></iframe>'
        for name, content in shown.items()
        for width in WIDTHS
    ]
    dark = f"--blink-settings=preferredColorScheme={int(scheme == 'light')}"
    content = f'<!DOCTYPE html><meta charset="utf-8">{"".join(frames)}{MEASURE}'
    built, complaints = browsed(tmp_path, content, dark, "--window-size=1500,900")
    assert complaints == []
    told = json.loads(html.unescape(re.search(r'<pre id="result">(.*?)</pre>', built)[1]))
    assert len(told) == len(frames)
    for name, one in told.items():
        assert one["width"] == int(name.split()[-1])
        assert (one["wide"], one["empty"]) == ([], 0), name
        assert one["scroll"] <= one["width"], name
        assert one["cut"] == [], name  # tables that have to be pushed to be read
        red, green, blue = map(int, re.findall(r"\d+", one["background"])[:3])
        assert (red + green + blue > 380) == (scheme == "light")


def test_the_curve_of_relations_counts_those_that_nothing_can_find():
    model, examples = trained("relation")
    predictions = classify(model, examples)
    wanted = model.application.score(examples, predictions)
    (curve,) = figures(page("relation"), "Precision and recall")
    assert f"{wanted['average_precision'] / 100:.4f}" in curve.note
    (table,) = figures(page("relation"), "By relation")
    assert {row[0]: row[3] for row in table.rows} == {
        name: pytest.approx(wanted[f"f1 ({name})"]) for name in model.application.relations
    }
    extra = replace(
        examples,
        relations=(*examples.relations, "unseen"),
        labels=np.where(examples.labels == 0, len(examples.relations), examples.labels),
    )
    unseen = next(model.application.data_figures(model.w, extra, predictions))
    share = model.application.score(extra, predictions)["average_precision"] / 100
    assert f"{share:.4f}" in unseen.note
    assert max(unseen.series[0].y) <= 1.0
    assert max(unseen.series[0].x) < 1.0
