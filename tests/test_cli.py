import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import lines
import numpy as np
import pytest
from click.testing import CliRunner

import lssvm
from lssvm import applications
from lssvm.applications.multivariate.decomposition import NOT_MET
from lssvm.cli import classify, learn, main
from lssvm.cli.console import (
    Console,
    iteration_line,
    metric_lines,
    progress_of,
    size,
    summary_lines,
)
from lssvm.errors import LssvmError
from lssvm.model import Model
from lssvm.output import stopping
from lssvm.training.cccp import Iteration, Summary
from lssvm.training.record import keeps_earlier
from lssvm.training.shortfall import shortfall

ROOT = Path(__file__).parent.parent
TRAIN = "1 1 2\n1 2 1\n1 2 2\n-1 -1 -2\n-1 -2 -1\n-1 0 -2\n"
TEST = "1 1 1\n-1 -1 -1\n1 -2 -1\n"
CONFIG = """\
application: {name: lines, length: 2}
data: {train: train.txt, test: test.txt}
objective: {C: 1}
"""


@pytest.fixture(autouse=True)
def lines_application(monkeypatch):
    known = {
        "broken": EntryPoint("broken", "no_such_module:Broken", applications.GROUP),
        "lines": EntryPoint("lines", "lines:Lines", applications.GROUP),
    }
    monkeypatch.setattr(applications, "registered", lambda: known)
    monkeypatch.setattr(applications, "_built_in", dict)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text(TRAIN)
    (tmp_path / "test.txt").write_text(TEST)
    (tmp_path / "c.yaml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def run(folder):
    """Run a command; an exception that is no exit fails the test."""

    def run(command, *arguments, expect=0, **options):
        result = CliRunner().invoke(command, [str(each) for each in arguments], **options)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == expect, result.stderr
        return result

    return run


@pytest.fixture
def trained(run, folder):
    run(learn, "c.yaml", "m", "-q")
    return folder / "m"


def refused(run, command, *arguments):
    """The one line of a command that ends with exit code 2."""
    result = run(command, *arguments, expect=2)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def modules_after(code):
    script = f"import sys\ntry:\n {code}\nexcept SystemExit:\n pass\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("command", ["learn", "classify", "main"])
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(command, option):
    loaded = modules_after(f"from lssvm.cli import {command} as c; c(['{option}'])")
    assert "lssvm.cli" in loaded
    heavy = {"numpy", "scipy", "pydantic", "yaml", "rich", "osqp", "lssvm.applications"}
    assert not loaded & heavy
    slow = {"dataclasses", "string", "traceback"} | ({"json"} if command != "classify" else set())
    assert not slow & (loaded - modules_after("import click"))


def test_dense_rows_are_learnt_and_predicted_without_what_others_need(tmp_path):
    rows = "".join(f"{1 + place % 2} 1:{place % 5} 2:{place % 2} 3:1\n" for place in range(40))
    (tmp_path / "train.txt").write_text(rows)
    (tmp_path / "c.yaml").write_text("application: multiclass\ndata: {train: train.txt}\n")
    names = [repr(str(tmp_path / name)) for name in ("c.yaml", "m", "train.txt", "out")]
    config, model, data, out = names
    learnt = modules_after(f"from lssvm.cli import learn as c; c([{config}, {model}, '-q'])")
    found = modules_after(f"from lssvm.cli import classify as c; c([{data}, {model}, {out}, '-q'])")
    assert "lssvm.training.session" in learnt
    assert "lssvm.training.prediction" in found
    others = {"scipy", "numpy.ma", "concurrent.futures", "osqp", "matplotlib", "seqeval"}
    others |= {"lssvm.solvers.bundle", "lssvm.applications.motif", "lssvm.output.charts"}
    assert not (learnt | found) & others


@pytest.mark.parametrize("command", [learn, classify, main])
def test_the_version_is_that_of_the_package(run, command):
    assert run(command, "--version").stdout.endswith(f"version {lssvm.__version__}\n")


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_tool_has_help_that_begins_with_what_it_does(run, name):
    text = run(main, name, "--help").stdout
    assert text.startswith("Usage: main ")
    assert main.commands[name].help


def test_the_help_of_learn_explains_every_column(run):
    text = run(learn, "--help").stdout
    for column in ("iter", "objective", "decrease", "loss", "gap", "planes", "passes", "secs"):
        assert re.search(rf"^  {column} +\S", text, re.MULTILINE)


def test_an_unknown_option_is_answered_with_the_nearest(run):
    result = run(learn, "c.yaml", "m", "--resum", expect=2)
    assert re.search(r"Did you mean .*--resume", result.stderr)


def test_training_writes_the_model_and_says_how_to_score_it(run, folder):
    result = run(learn, "c.yaml", "m")
    assert result.stdout == ""
    choice, *lines = result.stderr.splitlines()
    assert re.fullmatch(r"solver: bundle, because .+ \(solver\.method: auto\)", choice)
    assert lines[0] == "iter    objective     decrease    loss      gap  planes  passes    secs"
    assert re.fullmatch(r" +1 +\d\S* +- +\S+ +\S+ +\d+ +\d+ +\S+", lines[1])
    assert lines[-4].startswith("objective ")
    assert lines[-1] == (
        f"wrote m (d = 3; {size((folder / 'm').stat().st_size)}). "
        "Score it: lssvm-classify c.yaml m predictions"
    )
    assert sorted(os.listdir(folder)) == ["c.yaml", "m", "test.txt", "train.txt"]
    assert Model.load("m").config["objective"]["C"] == 1.0


def test_quiet_training_prints_nothing(run):
    result = run(learn, "c.yaml", "m", "-q")
    assert result.output == ""
    assert run(learn, "c.yaml", "m", "-v", "0").output == ""


def test_a_higher_verbosity_tells_each_start_and_each_pass(run):
    text = run(learn, "c.yaml", "m", "-v", "3", "--set", "cccp.restarts=2").stderr
    assert "restart 1 of 2\n" in text
    assert re.search(r"^restart 2 ended at objective \d", text, re.MULTILINE)
    assert re.search(r"^pass \d+: gap \S+, goal \S+$", text, re.MULTILINE)


def test_the_log_has_one_json_object_for_each_event(run, folder):
    run(learn, "c.yaml", "m", "-q", "--log", "log.jsonl")
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [row["event"] for row in rows[:2]] == ["start", "restart"]
    assert rows[0]["config"]["application"]["length"] == 2
    iterations = [row for row in rows if row["event"] == "iteration"]
    assert [row["iteration"] for row in iterations] == list(range(1, len(iterations) + 1))
    assert iterations[0]["decrease"] is None
    assert [row["event"] for row in rows[-2:]] == ["summary", "written"]
    assert rows[-2]["objective"] == Model.load("m").record["objective"]


def test_settings_reach_the_model(run):
    run(learn, "c.yaml", "m", "-q", "--set", "objective.C=0.5", "--set", "seed=3")
    config = Model.load("m").config
    assert (config["objective"]["C"], config["seed"]) == (0.5, 3)


def test_the_letters_of_svm_struct_are_translated(run):
    letters = ["-c", "2", "-e", "0.01", "-w", "3", "-o", "2", "-p", "1", "-l", "0"]
    run(learn, "c.yaml", "m", "-q", "--set", "objective.C=9", *letters)
    config = Model.load("m").config
    assert config["objective"]["C"] == 2.0
    assert config["objective"]["c_scaling"] == "mean"
    assert config["solver"]["epsilon"] == 0.01
    assert config["cccp"]["tolerance"] == 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "-w 5",
            "-w 5: not available; expected 0 or 1: solver n-slack; 2, 3 or 4: one slack variable "
            "(solver bundle)",
        ),
        ("-o 3", "-o 3: not available; expected 1: slack rescaling; 2: margin rescaling"),
        ("-l 1", "-l 1: not available; expected 0: zero-one loss, if the application has it"),
        ("-c -1", "-c -1: expected a finite number greater than 0"),
        ("-c nan", "-c nan: expected a finite number greater than 0"),
        ("-c inf", "-c inf: expected a finite number greater than 0"),
        ("-e 0", "-e 0: expected a number between 0 and 1"),
        ("-e 1", "-e 1: expected a number between 0 and 1"),
        ("--set seed=x", "--set seed: expected a whole number, got 'x'"),
        ("--init absent", "absent: cannot be read: No such file or directory"),
        ("--init m", "m: is given as MODEL and as --init; expected two files"),
        ("--resume", "m.checkpoint: does not exist; nothing to resume"),
        ("--log c.yaml", "c.yaml: is given as --log and as CONFIG; expected two files"),
        ("--log m", "m: is given as MODEL and as --log; expected two files"),
        (
            "--log train.txt",
            "train.txt: is given as --log and as data.train of c.yaml; expected two files",
        ),
        ("--log no/log", "no/log: cannot be written: No such file or directory"),
    ],
)
def test_options_that_mean_nothing_are_refused(run, folder, arguments, message):
    assert refused(run, learn, "c.yaml", "m", *arguments.split()) == f"error: {message}"
    assert not (folder / "m").exists()
    assert (folder / "train.txt").read_text() == TRAIN


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("c.yaml", "c.yaml: is given as MODEL and as CONFIG; expected two files"),
        ("./c.yaml", "./c.yaml: is given as MODEL and as CONFIG; expected two files"),
        (
            "train.txt",
            "train.txt: is given as MODEL and as data.train of c.yaml; expected two files",
        ),
        ("-", "MODEL: expected a file name, got '-'"),
        (".", ".: is a directory; expected a file name"),
        ("no/m", "no/m: the folder 'no' does not exist"),
    ],
)
def test_the_path_of_the_model_is_checked_before_training(run, path, message):
    assert refused(run, learn, "c.yaml", path) == f"error: {message}"


def test_every_fault_of_a_configuration_has_its_own_line(run, folder):
    (folder / "c.yaml").write_text(CONFIG + "sed: 3\ncccp: {restarts: 0}\n")
    assert run(learn, "c.yaml", "m", expect=2).stderr.splitlines() == [
        "error: c.yaml:4:1: sed: unknown key; did you mean 'seed'? "
        "(known: version, application, data, kernel, objective, solver, cccp, held_out, "
        "search, seed, executor, workers)",
        "error: c.yaml:5:8: cccp.restarts: expected a number of at least 1, got 0",
    ]


def test_workers_are_refused_where_there_are_none(run):
    wrong = "executor threads has no workers; expected --executor dask, or --threads"
    told = refused(run, learn, "c.yaml", "m", "--workers", "3", "--dry-run")
    assert told == f"error: --workers 3: {wrong}"
    run(learn, "c.yaml", "m", "-q")
    told = refused(run, classify, "train.txt", "m", "p", "--workers", "3")
    assert told == f"error: --workers 3: {wrong.removesuffix(', or --threads')}"
    search = ("--set", "search={grid: {objective.C: [1]}, folds: 3}")
    told = refused(run, main, "cv", "c.yaml", *search, "--workers", "3")
    assert told == f"error: --workers 3: {wrong.replace('--threads', '--jobs')}"


def test_a_dry_run_reads_the_data_and_trains_nothing(run, folder):
    result = run(learn, "c.yaml", "m", "--dry-run")
    assert result.stderr == "6 training examples, d = 3; nothing was trained (--dry-run)\n"
    assert not (folder / "m").exists()
    (folder / "train.txt").write_text("1 1\n")
    assert refused(run, learn, "c.yaml", "m", "--dry-run") == (
        f"error: {folder}/train.txt:1: expected 2 numbers, got 1".replace(f"{folder}/", "")
    )


def test_exit_code_3_says_that_the_precision_was_not_reached(run):
    result = run(learn, "c.yaml", "m", "--set", "cccp.max_iterations=1", expect=3)
    last = result.stderr.splitlines()[-1]
    assert re.fullmatch(
        r"warning: the requested precision was not reached "
        r"\(the CCCP iterations ran out, gap \S+\); "
        r"raise cccp\.max_iterations or cccp\.tolerance(, or solver\.epsilon)?",
        last,
    )
    assert not Model.load("m").record["converged"]
    assert "the requested precision was NOT reached" in run(main, "show", "m").stdout


@pytest.mark.parametrize(
    ("settings", "why", "keys"),
    [
        (["cccp.max_iterations=1"], "CCCP iterations", "cccp.max_iterations or cccp.tolerance"),
        (["solver.max_passes=1"], "passes", "solver.max_passes or solver.epsilon"),
        (["objective.model=ssvm", "solver.max_passes=1"], "passes", "solver.max_passes or solver."),
    ],
)
def test_a_run_that_falls_short_names_the_keys_that_ended_it(run, settings, why, keys):
    given = [word for setting in settings for word in ("--set", setting)]
    last = run(learn, "c.yaml", "m", *given, expect=3).stderr.splitlines()[-1]
    assert f"not reached (the {why} ran out, gap " in last
    assert f"); raise {keys}" in last


def test_a_gap_that_is_small_enough_was_short_of_the_tolerance(run):
    run(learn, "c.yaml", "m", "--set", "solver.max_passes=1", expect=3)
    model = Model.load("m")
    assert shortfall(model) == (
        "the passes ran out",
        "raise solver.max_passes or solver.epsilon",
    )
    near = replace(model, record={**model.record, "gap": model.config["solver"]["epsilon"] / 2})
    assert shortfall(near)[1] == "raise solver.max_passes or cccp.tolerance"
    stalled = replace(near, record={**near.record, "stalled": True})
    assert shortfall(stalled)[1] == "raise cccp.tolerance; more passes would not help"


def test_a_failed_run_leaves_the_old_model(run, trained, folder):
    before = trained.read_bytes()
    (folder / "train.txt").write_text("1 1\n")
    assert refused(run, learn, "c.yaml", "m") == ("error: train.txt:1: expected 2 numbers, got 1")
    assert trained.read_bytes() == before


def test_an_unexpected_error_is_not_hidden(run, monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("lssvm.training.session.learn", fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run(learn, "c.yaml", "m")


def test_ctrl_c_while_reading_ends_with_130(run, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("lssvm.training.session.learn", interrupt)
    assert run(learn, "c.yaml", "m", expect=130).stderr == "interrupted\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_checkpoint_from_which_the_same_model_comes(
    run, folder, monkeypatch, number, code
):
    run(learn, "c.yaml", "whole", "-q")

    def stop_once(self, row):
        if row.iteration == 1 and not stopped:
            stopped.append(row)
            os.kill(os.getpid(), number)

    stopped = []
    monkeypatch.setattr(Console, "iterated", stop_once)
    result = run(learn, "c.yaml", "m", "-q", expect=code)
    name = signal.Signals(number).name
    assert result.stderr == (
        f"stopped by {name}; m.checkpoint was written, go on with the same command and --resume\n"
    )
    assert not (folder / "m").exists()
    run(learn, "c.yaml", "m", "-q", "--resume")
    assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()
    assert not (folder / "m.checkpoint").exists()


def test_a_checkpoint_that_will_be_overwritten_is_mentioned(run, folder):
    (folder / "m.checkpoint").write_text("")
    first = run(learn, "c.yaml", "m").stderr.splitlines()[0]
    assert first == (
        "warning: m.checkpoint of an interrupted run is overwritten; --resume would continue it"
    )


def test_training_starts_from_a_given_model(run, trained, folder):
    run(learn, "c.yaml", "m2", "-q", "--init", "m")
    first, second = Model.load("m").record, Model.load("m2").record
    assert second["objective"] <= first["objective"] * (1 + 1e-3)


def test_predictions_are_written_and_scored(run, trained, folder):
    result = run(classify, "c.yaml", "m", "p")
    assert result.stdout == "error    33.3333\nexamples 3\nauc      n/a\n"
    assert result.stderr == ""
    rows = [line.split("\t") for line in (folder / "p").read_text().splitlines()]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert [float(row[1]) > 0 for row in rows] == [True, False, False]


def test_predictions_on_standard_output_leave_the_metrics_to_standard_error(run, trained):
    result = run(classify, "test.txt", "m", "-")
    assert [line.split("\t")[0] for line in result.stdout.splitlines()] == ["1", "2", "3"]
    assert result.stderr == "error    33.3333\nexamples 3\nauc      n/a\n"


def test_json_predictions_are_one_object_a_line(run, trained):
    result = run(classify, "test.txt", "m", "-", "--json", "-q")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["y"] for row in rows] == [1, -1, -1]
    assert result.stderr == ""


def test_metrics_are_written_as_json(run, trained, folder):
    assert run(classify, "test.txt", "m", "p", "-q", "--metrics", "metrics.json").output == ""
    assert json.loads((folder / "metrics.json").read_text()) == {
        "error": pytest.approx(100 / 3),
        "examples": 3,
        "auc": None,
    }


def test_a_label_can_be_given_for_all_examples(run, trained):
    result = run(classify, "test.txt", "m", "p", "--label", "-1")
    assert result.stdout.splitlines()[0] == "error    33.3333"


def test_examples_without_labels_are_predicted_and_not_scored(run, trained, folder):
    (folder / "new.txt").write_text("0 1 1\n")
    result = run(classify, "new.txt", "m", "p")
    assert result.stdout == ""
    assert result.stderr == "1 example without labels: nothing to score\n"
    message = "error: --metrics: new.txt has no labels; expected labelled examples"
    assert refused(run, classify, "new.txt", "m", "q", "--metrics", "x") == message
    assert not (folder / "q").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("absent m p", "absent: cannot be read: No such file or directory"),
        ("test.txt absent p", "absent: cannot be read: No such file or directory"),
        (
            "test.txt c.yaml p",
            "c.yaml: not a file of lssvm (it starts with b'appl'); expected a lssvm-model",
        ),
        ("test.txt m m", "m: is given as PREDICTIONS and as MODEL; expected two files"),
        (
            "test.txt m test.txt",
            "test.txt: is given as PREDICTIONS and as EXAMPLES; expected two files",
        ),
        (
            "c.yaml m test.txt",
            "test.txt: is given as PREDICTIONS and as data.test of c.yaml; expected two files",
        ),
        ("test.txt m .", ".: is a directory; expected a file name"),
        ("test.txt m no/p", "no/p: the folder 'no' does not exist"),
        (
            "test.txt m p --metrics p",
            "p: is given as PREDICTIONS and as --metrics; expected two files",
        ),
        (
            "c.yaml m p --label 1",
            "--label: c.yaml names the labels itself; expected a file of examples",
        ),
        ("train.yaml m p", "train.yaml: data.test: no files; expected at least one"),
        (
            "motif.yaml m p",
            "motif.yaml:1:15: application.name: unknown application 'motif' (known: broken, lines)",
        ),
    ],
)
def test_wrong_arguments_of_classify_are_told(run, trained, folder, arguments, message):
    before = trained.read_bytes()
    (folder / "train.yaml").write_text("application: {name: lines, length: 2}\n")
    (folder / "motif.yaml").write_text("application: {name: motif}\n")
    assert refused(run, classify, *arguments.split()) == f"error: {message}"
    assert not (folder / "p").exists()
    assert trained.read_bytes() == before
    assert (folder / "test.txt").read_text() == TEST


def test_a_configuration_of_another_application_is_refused(run, trained, folder, monkeypatch):
    known = {**applications.registered()}
    known["other"] = EntryPoint("other", "lssvm.applications.motif.motif:Motif", applications.GROUP)
    monkeypatch.setattr(applications, "registered", lambda: known)
    (folder / "o.yaml").write_text("application: {name: other}\n")
    line = refused(run, classify, "o.yaml", "m", "p")
    assert line.startswith("error: o.yaml:1:15: application.name: expected 'motif', got 'other'")


def test_init_prints_a_configuration_that_loads(run, folder):
    text = run(main, "init", "lines").stdout
    (folder / "i.yaml").write_text(text)
    assert "  # numbers on a line\n  length: 2\n" in text
    assert run(main, "config", "i.yaml").stdout.startswith("version: 1\napplication:\n")
    assert refused(run, main, "init", "line") == (
        "error: unknown application 'line'; did you mean 'lines'? (known: broken, lines)"
    )


def test_config_fills_in_every_default(run, folder):
    text = run(main, "config", "c.yaml", "--set", "seed=4").stdout
    assert "  max_planes: 300\n" in text
    assert text.endswith("seed: 4\n")
    (folder / "full.yaml").write_text(text)
    assert run(main, "config", "full.yaml").stdout == text


def test_config_of_a_model_is_that_of_its_run_with_the_solver_that_was_chosen(run, trained):
    asked = run(main, "config", "c.yaml").stdout
    assert "  method: auto\n" in asked
    assert run(main, "config", "m").stdout == asked.replace("method: auto", "method: bundle")
    assert refused(run, main, "config", "m", "--set", "seed=3") == (
        "error: --set: m is a model; expected a configuration"
    )


def test_config_prints_the_schema(run):
    schema = json.loads(run(main, "config", "--schema").stdout)
    assert "objective" in schema["properties"]
    named = json.loads(run(main, "config", "--schema", "c.yaml").stdout)
    assert "length" in named["properties"]["application"]["anyOf"][0]["properties"]
    assert refused(run, main, "config") == (
        "error: config: no FILE; expected a configuration or a model, or --schema"
    )


def test_check_counts_and_warns(run, folder):
    (folder / "test.txt").write_text("1 1 2\n1 5 5\n")
    assert run(main, "check", "c.yaml").stdout == (
        "application lines\n"
        "train: 6 examples in 1 file, size 6, d = 3, total cost 6\n"
        "test: 2 examples in 1 file, size 2, d = 3, total cost 2\n"
        "warning: data.test: all examples have one label\n"
        "warning: data.test: 1 example is also in data.train: '1' = '1'\n"
    )
    facts = json.loads(run(main, "check", "c.yaml", "--json").stdout)
    assert facts["splits"]["train"]["examples"] == 6
    assert len(facts["warnings"]) == 2


def test_show_prints_settings_record_and_largest_weights(run, trained):
    text = run(main, "show", "m", "--top", "2").stdout
    assert text.splitlines()[0] == "application lines"
    weights = text.partition("largest weights\n")[2].splitlines()
    assert len(weights) == 2
    model = Model.load("m")
    largest = int(np.argmax(np.abs(model.w)))
    assert weights[0].split() == [f"{model.w[largest]:.5g}", model.feature_names()[largest]]
    facts = json.loads(run(main, "show", "m", "--json").stdout)
    assert facts["record"]["objective"] == model.record["objective"]
    assert "largest weights" not in run(main, "show", "m", "--top", "0").stdout


def test_show_refuses_what_the_application_cannot_write(run, trained):
    assert refused(run, main, "show", "m", "--export", "meme=x.meme") == (
        "error: --export: application 'lines' has none; expected no --export"
    )


@pytest.mark.parametrize("name", ["meme", "logo"])
def test_show_tells_the_new_name_of_an_option_for_one_application(run, trained, name):
    assert refused(run, main, "show", "m", f"--{name}", "x") == (
        f"error: show: no such option --{name}; what an application writes of a model is "
        f"--export {name}=FILE"
    )


def test_show_writes_what_the_application_exports(run, trained, monkeypatch):
    def count(w, arrays, path):
        Path(path).write_text(f"{len(w)}\n")

    monkeypatch.setattr(lines.Lines, "exports", {"count": count})
    run(main, "show", "m", "--export", "count=count.txt")
    assert Path("count.txt").read_text() == f"{len(Model.load('m').w)}\n"
    assert refused(run, main, "show", "m", "--export", "sum=x") == (
        "error: --export sum: application 'lines' cannot write it (known: count)"
    )
    unknown = "--export =x: application 'lines' cannot write it (known: count)"
    for text, wanted in (
        ("count", "--export count: no file; expected count=FILE"),
        ("count=", "--export count=: no file; expected count=FILE"),
        ("=x", unknown),
    ):
        assert refused(run, main, "show", "m", "--export", text) == f"error: {wanted}"
    assert refused(run, main, "show", "m", "--export", "count=a", "--export", "count=b") == (
        "error: --export count=b: a is given too; expected one file"
    )


def test_list_names_applications_and_what_is_broken(run):
    assert run(main, "list").stdout.splitlines() == [
        "broken  (unknown package)",
        "  error: application 'broken' (no_such_module:Broken) cannot be loaded: "
        "ModuleNotFoundError(\"No module named 'no_such_module'\")",
        "lines  (unknown package; models: lssvm, ssvm)",
        "  An example is a label and numbers; nothing is hidden.",
    ]
    rows = json.loads(run(main, "list", "--json").stdout)
    assert [row["name"] for row in rows] == ["broken", "lines"]


def test_info_tells_versions_and_machine(run):
    rows = dict(line.split(None, 1) for line in run(main, "info").stdout.splitlines())
    assert rows["lssvm"] == lssvm.__version__
    assert rows["numpy"] == np.__version__
    assert int(rows["cores"]) >= 1


def test_simulate_writes_data_and_prints_what_the_oracle_reaches(run, folder):
    arguments = ["simulate", "motif", "--out", "sim", "--n", "20", "--n-test", "10"]
    text = run(main, *arguments, "--length", "50", "--width", "6").stdout
    assert text.startswith("consensus ")
    assert (folder / "sim" / "train.fa").read_text().count(">") == 20
    before = (folder / "sim" / "train.fa").read_bytes()
    assert refused(run, main, *arguments, "--seed", "1") == (
        "error: sim/train.fa: exists already, with other content; expected a folder without it"
    )
    assert (folder / "sim" / "train.fa").read_bytes() == before
    assert run(main, *arguments, "--length", "50", "--width", "6").stdout == text
    assert refused(run, main, *arguments, "--length", "5") == (
        "error: a motif of width 11 does not fit into 5 letters"
    )


def test_cv_prints_a_table_and_writes_its_runs(run, folder):
    (folder / "train.txt").write_text(TRAIN * 3)
    (folder / "cv.yaml").write_text(CONFIG + "search: {grid: {objective.C: [0.1, 1]}, folds: 3}\n")
    result = run(main, "cv", "cv.yaml", "--jobs", 1, "--csv", "runs.csv", "--json", "cv.json")
    assert "objective.C" in result.stdout
    assert len((folder / "runs.csv").read_text().splitlines()) == 1 + 2 * 3
    assert json.loads((folder / "cv.json").read_text())["folds"] == 3
    assert refused(run, main, "cv", "cv.yaml", "--csv", "train.txt") == (
        "error: train.txt: is given as --csv and as data.train of cv.yaml; expected two files"
    )
    assert refused(run, main, "cv", "cv.yaml", "--jobs", "1", "--criterion", "f2") == (
        "error: unknown criterion 'f2' (known: error, examples, auc)"
    )


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("colour", [True, False])
def test_a_bar_is_drawn_on_a_terminal_only_and_without_colour_if_asked(folder, colour):
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    if not colour:
        environment["NO_COLOR"] = "1"
    config = ROOT / "configs" / "motif-simulated.yaml"
    code = f"from lssvm.cli import learn; learn([{str(config)!r}, 'm'])"
    ours, theirs = os.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, env=environment)
    os.close(theirs)
    shown = read_all(ours)
    assert process.wait() == 0
    assert "━" in shown
    assert "iter    objective     decrease" in shown
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]", shown)) == colour


def read_all(descriptor):
    """Everything that a terminal was sent until its writer went away."""
    parts = []
    with suppress(OSError):
        while part := os.read(descriptor, 65536):
            parts.append(part)
    os.close(descriptor)
    return b"".join(parts).decode()


def test_a_closed_pipe_ends_the_command_quietly(folder):
    process = subprocess.Popen(
        [sys.executable, "-c", "from lssvm.cli import main; main(['info'])"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    stderr = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 141
    assert stderr == b""


def test_the_bar_measures_the_way_to_the_goal_in_logarithms():
    assert progress_of(1.0, 1e-4) == 0.0
    assert progress_of(1e-2, 1e-4) == pytest.approx(0.5)
    assert progress_of(1e-4, 1e-4) == progress_of(0.0, 0.0) == 1.0
    assert progress_of(np.inf, 1e-3) == progress_of(0.5, 0.0) == 0.0


def test_an_early_stop_is_what_was_asked_for_and_spent_passes_are_not(run, folder):
    held = ("--set", "data.validate=test.txt", "--set", "held_out.every=1")
    bounds = ("--set", "solver.epsilon=1e-9", "--set", "cccp.tolerance=1e-9")
    result = run(learn, "c.yaml", "m", *held, *bounds, "--set", "held_out.patience=1")
    assert "the weights are those after" in result.stderr
    assert "was not reached" not in result.stderr
    assert "stopped early: the held-out scores did not improve" in run(main, "show", "m").stdout
    few = ("--set", "solver.max_passes=1", "--set", "cccp.max_iterations=1")
    result = run(learn, "c.yaml", "m", *held, *bounds, *few, expect=3)
    assert "the requested precision was not reached" in result.stderr
    assert "the requested precision was NOT reached" in run(main, "show", "m").stdout


def test_lines_of_iterations_stand_under_their_heading():
    row = Iteration(0, 12, 123456.789, 0.5, 0.25, 1e-3, 300, 4567, 12.34, {})
    assert iteration_line(row) == (
        "  12       123457          0.5  0.2500  1.0e-03     300    4567    12.3"
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("propagation", "belief propagation did not converge in 1,012 of 4,000 runs"),
        (
            NOT_MET,
            "the lower and the upper bound of loss-augmented inference did not meet in 1,012 of "
            "4,000 passes",
        ),
        ("my search", "my search did not converge in 1,012 of 4,000 runs"),
    ],
)
def test_lines_of_iterations_say_in_a_sentence_what_did_not_converge(name, sentence):
    row = Iteration(0, 1, 2.0, 0.5, 0.25, 1e-3, 3, 4, 5.0, {name: (1012, 4000), "other": (0, 7)})
    assert iteration_line(row) == f"{iteration_line(row._replace(not_converged={}))}  {sentence}"


def test_the_summary_says_when_a_gap_is_not_certified():
    summary = Summary(
        3.0, 5.0, -2.0, 0.01, False, False, 4, 50, 70, 20, 3, 2, 3.5, 0.7071, 1.0, 2.0, 3.0, 99.9
    )
    assert summary_lines(summary) == [
        "2 restarts: objective 3.5 ± 0.71 (mean ± standard deviation); the lowest is kept",
        "objective 3 = convex 5 + concave -2; gap: not certified (approximate inference)",
        "4 CCCP iterations, 50 passes and 70 saved, 20 planes kept, "
        "3 quadratic programs solved by OSQP",
        "seconds: inference 1.0, QP 2.0, rest 3.0; peak memory 100 MB",
    ]
    spread = summary._replace(workers=2, sent_mb=1.25, received_mb=30.0, communication=0.052)
    traffic = "1.2 MB sent, 30.0 MB received, 5 % of the passes' time in communication"
    assert summary_lines(spread)[4:] == [f"2 workers: {traffic}"]
    lossy = spread._replace(workers_lost=1)
    assert summary_lines(lossy)[4:] == [f"2 workers, 1 lost: {traffic}"]
    assert "50 passes, 20 planes" in summary_lines(summary._replace(passes_saved=0))[2]


def test_the_summary_counts_in_words_that_are_true():
    summary = Summary(
        3.0, 5.0, -2.0, 0.01, True, False, 1, 1, 0, 1, 1, 1, 3.0, 0.0, 1.0, 2.0, 3.0, 99.9
    )
    one = "1 CCCP iteration, 1 pass, 1 plane kept, 1 quadratic program solved by OSQP"
    assert summary_lines(summary)[1] == one
    descent = summary._replace(descent=True, passes=1234)
    assert summary_lines(descent)[1] == "descent on the objective itself, 1,234 passes"


def test_a_gap_of_earlier_weights_is_not_said_to_be_that_of_the_last_problem():
    last = Summary(
        3.0, 5.0, -2.0, 0.25, True, False, 1, 1, 0, 1, 1, 1, 3.0, 0.0, 1.0, 2.0, 3.0, 99.9
    )
    kept = last._replace(earlier=True)
    for summary, words in (
        (last, "gap 2.5e-01 (of the last convex problem)"),
        (kept, "gap 2.5e-01 (of the kept weights, the best on held-out data)"),
        (
            kept._replace(gap=1.0),
            "gap 1.0e+00 (of the kept weights, the best on held-out data; no bound above 0 is "
            "known there)",
        ),
    ):
        assert summary_lines(summary)[0].endswith(f"; {words}")
    record = {"held_out": {"looks": [[1, 0.5], [2, 0.6]], "best": 0, "stopped": False}}
    assert keeps_earlier(record)
    record["held_out"]["best"] = 1
    assert not keeps_earlier(record)
    assert not keeps_earlier({"held_out": None})


def test_zero_has_no_sign():
    nothing = [0.0, -0.0, -0.0, 0.0, True, False, 1, 1, 0, 1, 1, 1, 0.0, 0.0, 1.0, 2.0, 3.0, 99.9]
    assert summary_lines(Summary(*nothing))[0].startswith("objective 0 = convex 0 + concave 0;")
    row = iteration_line(Iteration(0, 1, 2.0, -0.0, -1e-9, 1e-3, 3, 4, 5.0, {}))
    assert row.split()[:4] == ["1", "2", "0", "0.0000"]


def test_metrics_and_sizes_are_printed_for_people():
    assert metric_lines({"a": 1 / 3, "bcd": None, "e": 12345, "f": "x", "g": -0.0}) == [
        "a   0.333333",
        "bcd n/a",
        "e   12,345",
        "f   x",
        "g   0",
    ]
    assert [size(n) for n in (999, 1234, 56789, 1_500_000, 3 * 10**9)] == [
        "999 B",
        "1.2 kB",
        "57 kB",
        "1.5 MB",
        "3.0 GB",
    ]


def test_a_run_that_is_stopped_at_once_says_what_is_true(run, folder, monkeypatch):
    told = []

    def note(*arguments, checkpoint, **options):
        told.append(stopping._how())
        checkpoint.write_text("of this run")
        told.append(stopping._how())
        raise LssvmError("enough")

    monkeypatch.setattr("lssvm.training.session.learn", note)
    go_on = "m.checkpoint is safe, go on with the same command and --resume"
    for options in ((), (), ("--resume",)):
        run(learn, "c.yaml", "m", "-q", *options, expect=2)
    earlier = "nothing was written; m.checkpoint is still that of an earlier run"
    assert told == ["nothing was written", go_on, earlier, go_on, go_on, go_on]


def test_an_exit_code_of_a_command_is_its_own(run, folder):
    """A precision that is not reached is no plug-in's exit."""
    told = run(learn, "c.yaml", "m", "--set", "solver.max_passes=1", expect=3)
    assert "sys.exit" not in told.stderr
    assert (folder / "m").exists()
