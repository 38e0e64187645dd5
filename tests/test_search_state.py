"""A search that was stopped goes on from its finished runs and gives the tables of a whole one."""

import json
import os
import signal
import sys
import time
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from click.testing import CliRunner

from lssvm import applications
from lssvm.cli import learn, main
from lssvm.errors import LssvmError
from lssvm.training.journal import Journal
from lssvm.training.tasks import run_tasks

ROWS = "a 1:1 2:.5\nb 1:-1 2:1\na 1:.9 2:.1\nb 1:-.5 2:2\na 1:2\nb 2:1\n"
CONFIG = """\
application: {name: multiclass}
data: {train: t.txt}
search: {grid: {objective.C: [0.1, 1], application.bias: [0.0, 1.0]}, folds: 3}
"""
FILES = ("--csv", "cv.csv", "--json", "cv.json", "--jobs", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.txt").write_text(ROWS)
    Path("c.yaml").write_text(CONFIG)
    return tmp_path


def cv(*arguments, command=main):
    return CliRunner().invoke(command, ["cv", "c.yaml", *arguments])


@pytest.fixture
def stopped_after(monkeypatch):
    """Run cv so that it is interrupted after some finished tasks."""

    def stop(count, *arguments):
        add, left = Journal.add, [count]

        def counted(self, entry):
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            return add(self, entry)

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "add", counted)
            assert cv(*arguments).exit_code == 130

    return stop


ONE = ("--jobs", "1")


@pytest.mark.parametrize(
    "files", [FILES, ("--csv", "cv.csv"), ONE, (*ONE, "--checkpoint", "state")]
)
def test_the_tables_are_those_of_a_search_that_was_not_stopped(folder, stopped_after, files):
    whole = cv(*files)
    outputs = {name: Path(name).read_bytes() for name in ("cv.csv", "cv.json") if name in files}
    assert whole.exit_code == 0
    assert sorted(os.listdir()) == sorted(["c.yaml", "t.txt", *outputs])
    for name in outputs:
        Path(name).write_text("old")
    stopped_after(2, *files)
    assert all(Path(name).read_text() == "old" for name in outputs)
    (state,) = set(os.listdir()) - {"c.yaml", "t.txt", *outputs}
    assert len(Path(state).read_text().splitlines()) == 3
    stopped_after(1, *files, "--resume")
    with open(state, "a") as file:
        file.write('{"task": 4, "ru')  # cut by a killed program
    told = cv(*files, "--resume")
    assert (told.exit_code, told.stdout, told.stderr) == (0, whole.stdout, "")
    assert {name: Path(name).read_bytes() for name in outputs} == outputs
    assert sorted(os.listdir()) == sorted(["c.yaml", "t.txt", *outputs])


def test_finished_runs_are_not_trained_again(folder, stopped_after, monkeypatch):
    stopped_after(5, *FILES)
    seen = []
    monkeypatch.setattr(
        "lssvm.training.cross_validation._solve", lambda study, task: seen.append(task)
    )
    cv(*FILES, "--resume")
    assert len(seen) == 1


@pytest.mark.parametrize("change", ["data", "configuration"])
def test_the_state_of_another_search_is_refused(folder, stopped_after, change):
    stopped_after(1, *FILES)
    state = Path("cv.json.checkpoint").read_bytes()
    if change == "data":
        Path("t.txt").write_text(ROWS.replace("a 1:2\n", "a 1:2.5\n"))
    options = ("--set", "seed=1") if change == "configuration" else ()
    told = cv(*FILES, *options, "--resume")
    assert told.exit_code == 2
    assert told.stderr == (
        "error: cv.json.checkpoint: belongs to another configuration or other data; "
        "run without --resume, or with those that it was made with\n"
    )
    assert Path("cv.json.checkpoint").read_bytes() == state


def damaged(kind, lines):
    head, first = lines[0], json.loads(lines[1])
    if kind == "no journal":
        return ["a model"]
    if kind == "empty":
        return []
    if kind == "no line":
        return [head, "{"]
    if kind == "nested":
        return [head, "[" * 100_000]
    if kind == "another version":
        return [json.dumps(json.loads(head) | {"format_version": 9})]
    if kind == "no such task":
        return [head, json.dumps(first | {"task": 60})]
    if kind == "other task":
        return [head, json.dumps(first | {"task": 1})]
    run = first["runs"][0]
    changed = {
        "text": run | {"objective": "1"},
        "list": [run],
        "lacking": {"setting": 0},
        "scores": run | {"test": {"error": [1]}},
        "truth": run | {"fold": False},
    }[kind]
    return [head, json.dumps(first | {"runs": [changed, *first["runs"][1:]]})]


KINDS = ["no journal", "empty", "no line", "nested", "another version", "no such task"]
KINDS += ["other task", "text", "list", "lacking", "scores", "truth"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_is_not_what_was_written_is_refused_in_one_line(folder, stopped_after, kind):
    stopped_after(1, *FILES)
    state = Path("cv.json.checkpoint")
    lines = damaged(kind, state.read_text().splitlines())
    state.write_text("".join(f"{line}\n" for line in lines))
    told = cv(*FILES, "--resume")
    assert told.exit_code == 2, told.exception
    assert told.stderr.startswith("error: cv.json.checkpoint: ")
    assert len(told.stderr.splitlines()) == 1
    assert not Path("cv.json").exists()


def test_nothing_to_resume_and_what_is_overwritten_are_told(folder, stopped_after):
    missing = cv(*FILES, "--resume")
    expected = "error: cv.json.checkpoint: does not exist; nothing to resume\n"
    assert (missing.exit_code, missing.stderr) == (2, expected)
    stopped_after(1, *FILES)
    told = cv(*FILES)
    assert told.exit_code == 0
    assert told.stderr == (
        "warning: cv.json.checkpoint of an interrupted run is overwritten; "
        "--resume would continue it\n"
    )


def test_searches_of_other_settings_have_states_of_their_own(folder, stopped_after):
    stopped_after(0)
    stopped_after(0, "--set", "objective.c_scaling=mean")
    names = sorted(set(os.listdir()) - {"c.yaml", "t.txt"})
    assert len(names) == 2
    assert all(name.startswith("c.yaml.") and name.endswith(".checkpoint") for name in names)


def _exits(shared, task):
    raise SystemExit(0)


def _is_killed(shared, task):
    if task == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def _breaks(shared, task):
    raise ZeroDivisionError("a bug")


def test_a_task_that_exits_does_not_end_the_run_with_success():
    with pytest.raises(LssvmError) as caught:
        run_tasks(_exits, None, [0, 1], jobs=2)
    assert str(caught.value).endswith("called sys.exit(0); expected an exception")
    assert Path(__file__).name in str(caught.value)


def test_a_process_that_is_killed_ends_the_run_in_one_line():
    with pytest.raises(LssvmError, match="a process of the search was ended from outside"):
        run_tasks(_is_killed, None, [0, 1], jobs=2)


def test_a_bug_in_a_task_keeps_its_traceback():
    with pytest.raises(RuntimeError, match=r"(?s)in _breaks.*ZeroDivisionError: a bug"):
        run_tasks(_breaks, None, [0, 1], jobs=2)


@pytest.mark.parametrize("where", ["import", "constructor", "inference"])
def test_an_application_that_exits_does_not_end_a_run_with_success(folder, monkeypatch, where):
    body = dict.fromkeys(("import", "constructor", "inference"), "pass") | {
        where: '__import__("sys").exit(0)'
    }
    Path("ends.py").write_text(
        f"""\
from lssvm.applications.multiclass.multiclass import Multiclass
{body["import"]}
class Ends(Multiclass):
    def __init__(self, *arguments):
        {body["constructor"]}
        super().__init__(*arguments)
    def augmented(self, w, examples):
        {body["inference"]}
        return super().augmented(w, examples)
"""
    )
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "ends", raising=False)
    entry = EntryPoint("multiclass", "ends:Ends", applications.GROUP)
    monkeypatch.setattr(applications, "entry_of", {"multiclass": entry}.get)
    bundle = ["--set", "solver.method=bundle"]
    told = CliRunner().invoke(learn, ["c.yaml", "m", "-q", "--threads", "2", *bundle])
    assert told.exit_code == (2 if where == "import" else 1)
    assert told.stderr.startswith("error: ")
    assert "application 'multiclass'" in told.stderr
    assert len(told.stderr.splitlines()) == 1
    assert not Path("m").exists()
    assert "called sys.exit(0)" in told.stderr
