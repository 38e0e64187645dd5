"""The page that sets the papers' tables beside ours, and what it rests on."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from paper_cases import BY_NAME

from experiments.common import command, provenance
from experiments.papers import found, measured, page
from experiments.papers.comparison import markdown, result_of, table_of
from experiments.papers.found import Found
from experiments.papers.published import PING_TABLE_2, PING_TABLE_3
from experiments.papers.targets import TARGETS
from lssvm.errors import LssvmError

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
ROOT = Path(__file__).parents[1]
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\x40\0\0\0\xc8\x08\x06"
RUN = {"seconds": 3.4, "processor_seconds": 1234.6, "commit": "12345678", "changed": False}
RUN |= {"quick": False, "jobs": 2, "seeds": {"trials": 5}}
ACCURACY = {("CCCP", "MSSVM"): (70.0, 72.0), ("CCCP", "LSSVM"): (60.0, 60.0)}


def table2_rows():
    """Two trials of two models on the chain; the third model and the grid are not run."""
    return [
        {"shape": "chain", "trainer": t, "method": m, "rule": "1", "trial": k, "accuracy": value}
        for (t, m), values in ACCURACY.items()
        for k, value in enumerate(values)
    ]


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "mssvm-table2"
    folder.mkdir()
    (folder / "table2.json").write_text(json.dumps({"runs": table2_rows()}))
    (folder / "table2.txt").write_text("as printed\n")
    (folder / "some.png").write_bytes(PNG)
    (folder / provenance.FILE).write_text(json.dumps(RUN))
    return tmp_path


def results(out):
    return {target.name: result_of(target, out) for target in TARGETS}


def test_a_run_is_recorded_beside_its_results(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x", "--out", str(tmp_path), "--quick", "--jobs", "2"])
    command.main("x", None, "little", lambda _: str(sum(range(10**6))), {"all": 7})
    run = json.loads((tmp_path / provenance.FILE).read_text())
    assert (run["quick"], run["jobs"], run["seeds"]) == (True, 2, {"all": 7})
    assert (run["executor"], provenance.placed(run)) == ("threads", "")
    assert 0 <= run["processor_seconds"] < 60
    assert (run["commit"], run["changed"]) == provenance.commit_of(ROOT)


def test_a_run_that_fails_leaves_no_record_of_an_earlier_one(tmp_path):
    (tmp_path / provenance.FILE).write_text("{}")
    with pytest.raises(LssvmError), provenance.recorded(tmp_path, {}):
        raise LssvmError("no")
    assert not (tmp_path / provenance.FILE).exists()


def test_the_commit_is_that_of_the_tree_and_says_whether_files_differ(tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    assert provenance.commit_of(tmp_path) == (None, False)
    (tmp_path / "file").write_text("one")
    for words in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    commit, changed = provenance.commit_of(tmp_path)
    assert re.fullmatch("[0-9a-f]{8}", commit)
    assert not changed
    (tmp_path / "file").write_text("two")
    assert provenance.commit_of(tmp_path) == (commit, True)


def test_means_of_the_papers_table_are_those_of_its_rows():
    for place, name in enumerate(PING_TABLE_3.columns):
        own = [figures[place] for row, figures in PING_TABLE_3.rows.items() if row != "mean"]
        assert len(own) == 6
        assert PING_TABLE_3.figure("mean", name) == pytest.approx(np.mean(own), abs=0.005)


def test_every_printed_row_has_a_figure_or_none_for_each_column():
    for target in TARGETS:
        if target.printed:
            widths = {len(row) for row in target.printed.rows.values()}
            assert widths == {len(target.printed.columns)}, target.name


def test_ours_stands_below_the_papers_row_of_the_same_name(out):
    own = result_of(BY_NAME["mssvm-table2"], out).found
    table = table_of(BY_NAME["mssvm-table2"], own)
    assert list(table.heads) == ["", *PING_TABLE_2.columns]
    assert list(table.rows[0]) == ["chain, CCCP, paper", "69.63", "67.91", "69.03"]
    assert list(table.rows[1]) == ["chain, CCCP, ours", "71.00 ± 1.00", "60.00 ± 0.00", "–"]
    assert [row[0] for row in table.rows if "ours" in row[0]] == ["chain, CCCP, ours"]


def test_a_table_without_a_papers_has_our_rows_alone():
    target = BY_NAME["bags"]
    table = table_of(target, Found(("a", "b"), {"x": [(-0.5, 0.25), None], "y": [(1.0, None)] * 2}))
    assert markdown(table) == "|  | a | b |\n|---|---|---|\n" + (
        "| x | −0.500 ± 0.250 | – |\n| y | 1.000 | 1.000 |\n"
    )
    assert table_of(target, None) is None


def test_the_page_has_every_target_and_says_what_was_not_run(out, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["page", "--out", str(out)])
    page.main()
    assert capsys.readouterr().out.split() == [str(out / "papers.html"), str(out / "papers.md")]
    html, text = ((out / f"papers.{ending}").read_text() for ending in ("html", "md"))
    for shown in (html, text):
        assert all(f"make {target.name}" in shown for target in TARGETS)
        assert shown.count("Ours was not run.") == len(TARGETS) - 1
        assert "commit 12345678, seeds: trials 5; 1,235 CPU seconds in 2 processes" in shown
        assert shown.count("71.00 ± 1.00") == 1
        assert "as printed" in shown
        assert page.SOME_QUICK not in shown
    assert "![some](mssvm-table2/some.png)" in text
    assert 'viewBox="0 0 320 200"' in html


def test_short_runs_and_runs_without_a_record_are_told(out):
    folder = out / "mssvm-table2"
    (folder / provenance.FILE).write_text(json.dumps({**RUN, "quick": True}))
    assert page.page_of(results(out)).warnings == [page.SOME_QUICK]
    assert page.QUICK in page.markdown_of(results(out), out)
    (folder / provenance.FILE).unlink()
    assert "How ours was made is not known" in page.markdown_of(results(out), out)


def test_results_of_another_kind_are_refused_by_their_file(out):
    path = out / "mssvm-table2" / "table2.json"
    path.write_text('{"runs": [{"shape": 1}]}')
    with pytest.raises(LssvmError, match=rf"^{path}: not results of make mssvm-table2"):
        results(out)
    path.write_text("{")
    with pytest.raises(LssvmError, match=rf"^{path}: cannot be read"):
        results(out)


def test_figures_of_whole_runs_alone_are_kept(out, tmp_path, monkeypatch):
    monkeypatch.setattr(measured, "MEASURED", tmp_path / "measured.json")
    measured.MEASURED.write_text('{"bags": {"run": {}, "columns": [], "rows": {}}}')
    short = {**results(out)}
    short["mssvm-table2"] = short["mssvm-table2"]._replace(run={**RUN, "quick": True})
    measured.keep(short)
    assert list(measured.kept()) == ["bags"]
    measured.keep(results(out))
    assert list(measured.kept()) == ["mssvm-table2", "bags"]
    section = measured.section_of(BY_NAME["mssvm-table2"])
    assert "| chain, CCCP, ours | 71.00 ± 1.00 | 60.00 ± 0.00 | – |" in section
    assert "`make mssvm-table2`, commit 12345678: 1,235 CPU seconds." in section


def test_the_tables_of_the_documentation_are_those_that_are_kept():
    text = measured.PAGE.read_text(encoding="utf-8")
    marked = re.findall(r"<!-- (\S+): begin -->", text)
    assert len(marked) == len(set(marked))
    assert set(measured.kept()) <= set(marked) <= set(BY_NAME)
    assert measured.with_tables(text) == text, "run: make papers KEEP=1"


def test_the_targets_are_those_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = re.search(r"^EXPERIMENTS := ((?:.*\\\n)*.*)$", makefile, re.MULTILINE)[1]
    names = set(listed.replace("\\\n", " ").split())
    assert names == set(BY_NAME)
    assert len(TARGETS) == len(BY_NAME)


def test_proteins_and_bags_are_read_as_the_experiments_write_them():
    own = {"objective": 97.5, "error": 27.0, "matches": []}
    pbm = found.motif_pbm({"published": [], "seeds": own, "runs": []})
    assert pbm.rows == {"mean of ours, start: seeds": [(97.5, None), (27.0, None)]}
