"""No output of a command is one of its inputs or another of its outputs, whatever it is called."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Literal

import click
import lines
import pytest
from click.testing import CliRunner
from pydantic import Field

from lssvm import applications
from lssvm.applications.base import FolderFormat
from lssvm.cli import classify, learn, main
from lssvm.cli.files import Files
from lssvm.errors import LssvmError
from lssvm.simulation.motif import SIMULATION

ROWS = "1 1 2\n1 2 1\n1 2 2\n-1 -1 -2\n-1 -2 -1\n-1 0 -2\n"
CONFIG = """\
application: {name: filed, length: 2, words: words.txt, tables: [table.txt, plain]}
data: {train: train.txt, validate: validate.txt, test: test.txt}
search: {grid: {application.words: [words.txt, grid.txt]}, folds: 3}
"""
OF_CONFIG = ["c.yaml", "train.txt", "validate.txt", "test.txt", "words.txt", "table.txt"]
OF_CONFIG += ["grid.txt", "train.txt.more", "validate.txt.more", "test.txt.more"]


class FiledOptions(lines.LinesOptions):
    name: Literal["filed"] = "filed"
    words: str = Field(description="a file")
    tables: list[str] = Field(description="files")


class Filed(lines.Lines):
    """What a plug-in may have: options that are files, files beside files, exports, folders."""

    Options = FiledOptions

    @classmethod
    def companions(cls, path: str) -> Iterable[str]:
        if os.path.isdir(path):
            return [os.path.join(path, name) for name in os.listdir(path)]
        return [f"{path}.more"]

    @property
    def exports(self):
        def write(w, arrays, path):
            Path(path).write_text("exported")

        return {"first": write, "second": write}

    @property
    def curve(self):
        return lambda examples, predictions, path: Path(path).write_text("drawn")

    @property
    def folder_formats(self):
        return {"folder": FolderFormat(lambda examples: ["0"], list, lambda *_: iter([b"0"]))}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with everything that the commands read."""
    entry = EntryPoint("filed", "test_outputs:Filed", applications.GROUP)
    known = {**applications.registered(), "filed": entry}
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(applications, "registered", lambda: known)
        patch.chdir(folder)
        for name in OF_CONFIG:
            Path(name).write_text(ROWS)
        Path("c.yaml").write_text(CONFIG)
        assert CliRunner().invoke(learn, ["c.yaml", "m", "-q"]).exit_code == 0
        yield folder


@pytest.fixture
def folder(trained, tmp_path, monkeypatch):
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def content(folder):
    """Everything that is there, with the times of change."""
    paths = sorted(folder.rglob("*"))
    return [(p, p.stat().st_mtime_ns, p.is_file() and p.read_bytes()) for p in paths]


def refused(folder, command, arguments, first, second):
    before = content(folder)
    result = CliRunner().invoke(command, list(arguments))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert first in line
    assert second in line
    assert content(folder) == before
    return line


# For each command the arguments without outputs, the option of each output, and the inputs. A
# name in braces is what the test puts there.
COMMANDS = {
    "learn": (
        learn,
        ["c.yaml", "{MODEL}", "--init", "m"],
        {"MODEL": [], "MODEL.checkpoint": [], "--log": ["--log", "{--log}"]},
        [*OF_CONFIG, "m"],
    ),
    "classify": (
        classify,
        ["c.yaml", "m", "{PREDICTIONS}"],
        {"PREDICTIONS": [], **{name: [name, f"{{{name}}}"] for name in ("--metrics", "--curve")}},
        [*OF_CONFIG, "m"],
    ),
    "classify a file": (
        classify,
        ["test.txt", "m", "{PREDICTIONS}"],
        {"PREDICTIONS": [], **{name: [name, f"{{{name}}}"] for name in ("--metrics", "--curve")}},
        ["test.txt", "test.txt.more", "m"],
    ),
    "show": (
        main,
        ["show", "m"],
        {
            "--export first": ["--export", "first={--export first}"],
            "--export second": ["--export", "second={--export second}"],
        },
        ["m"],
    ),
    "explain": (
        main,
        ["explain", "m", "test.txt", "--example", "1"],
        {"--json": ["--json", "{--json}"]},
        ["test.txt", "test.txt.more", "m"],
    ),
    "plot": (
        main,
        ["plot", "m", "{FILE}", "--kind", "weights"],
        {"FILE": []},
        ["m"],
    ),
    "report": (
        main,
        ["report", "m", "c.yaml", "test.txt"],
        {"--out": ["--out", "{--out}"]},
        [*OF_CONFIG, "m"],
    ),
    "score": (
        main,
        ["score", "p", "c.yaml"],
        {name: [name, f"{{{name}}}"] for name in ("--csv", "--json")},
        OF_CONFIG,
    ),
    "cv": (
        main,
        ["cv", "c.yaml", "--jobs", "1"],
        {name: [name, f"{{{name}}}"] for name in ("--csv", "--json", "--fit", "--checkpoint")},
        OF_CONFIG,
    ),
}
WITH_INPUT = [
    (name, output, other)
    for name, (_, _, outputs, inputs) in COMMANDS.items()
    for output in outputs
    for other in inputs
]
WITH_OUTPUT = [
    (name, output, other)
    for name, (_, _, outputs, _) in COMMANDS.items()
    for output in outputs
    for other in outputs
    if output < other and (output, other) != ("MODEL", "MODEL.checkpoint")
]
LINKS = {"itself": None, "a symbolic link": os.symlink, "a hard link": os.link}


def arguments_of(name, places):
    """The command's arguments with these outputs, the other arguments being new files."""
    _, fixed, outputs, _ = COMMANDS[name]
    words = list(fixed)
    for output in places:
        words += outputs[output]
    known = {**dict.fromkeys(outputs), **places}
    for output, path in known.items():
        words = [word.replace(f"{{{output}}}", path or "new") for word in words]
    return words


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("name", "output", "other"), WITH_INPUT)
def test_an_output_that_is_an_input_is_refused(folder, name, output, other, link):
    path = other
    if LINKS[link] is not None:
        path = "link" if output != "MODEL.checkpoint" else "link.checkpoint"
        LINKS[link](other, path)
    places = {output: path}
    if output == "MODEL.checkpoint":
        if link == "itself":
            os.rename(other, "x.checkpoint")
            os.symlink("x.checkpoint", other)
            path = "x.checkpoint"
        places = {"MODEL": path.removesuffix(".checkpoint")}
    command = COMMANDS[name][0]
    line = refused(folder, command, arguments_of(name, places), output, path)
    assert line.endswith("; expected two files")


@pytest.mark.parametrize("link", ["itself", "a symbolic link", "a hard link", "another folder"])
@pytest.mark.parametrize(("name", "output", "other"), WITH_OUTPUT)
def test_an_output_that_is_another_output_is_refused(folder, name, output, other, link):
    one = two = "out.checkpoint"
    if link == "another folder":
        (folder / "sub").mkdir()
        os.symlink("sub", "elsewhere")
        one, two = "sub/out.checkpoint", "elsewhere/out.checkpoint"
    elif LINKS[link] is not None:
        Path(one).write_text("kept")
        two = "link.checkpoint"
        LINKS[link](one, two)
    places = {output: one, other: two}
    model = places.pop("MODEL.checkpoint", None)
    if model is not None:
        places["MODEL"] = model.removesuffix(".checkpoint")
    refused(folder, COMMANDS[name][0], arguments_of(name, places), output, other)


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_checkpoint_that_is_the_model_is_refused(folder, link):
    link("m", "m.checkpoint")
    refused(folder, learn, ["c.yaml", "m"], "MODEL.checkpoint", "as MODEL and")


def test_every_file_of_a_command_is_in_these_lists():
    """An option that takes a path and is not declared would not be compared."""
    told = {"config", "model", "examples", "predictions", "initial", "log", "metrics", "curve"}
    told |= {"csv_file", "json_file", "checkpoint", "out", "file", "data", "fit_file", "gold"}
    group = main.commands["simulate"]
    simulations = [group.get_command(None, name) for name in group.list_commands(None)]
    commands = [learn, classify, *main.commands.values(), *simulations]
    taken = {
        each.name
        for command in commands
        for each in command.params
        if isinstance(each.type, click.Path)
    }
    assert taken == told


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("place", range(1, len(SIMULATION.files)))
def test_simulated_files_are_distinct(folder, link, place):
    files = SIMULATION.files
    (folder / "sim").mkdir()
    (folder / "sim" / files[0]).write_text("kept")
    link(folder / "sim" / files[0], folder / "sim" / files[place])
    arguments = ["simulate", "motif", "--out", "sim", "--n", "4"]
    refused(folder, main, arguments, f"sim/{files[0]}", f"sim/{files[place]}")


@pytest.mark.parametrize("name", ["config", "check", "show", "classify"])
def test_standard_output_that_is_an_input_is_refused(folder, name):
    code = "import sys; from lssvm import cli; getattr(cli, sys.argv[1])(sys.argv[2:])"
    Path("plain.yaml").write_text("application: multiclass\ndata: {train: t, test: t}\n")
    Path("t").write_text("1 1:1\n2 2:1\n")
    python = [sys.executable, "-c", code]
    subprocess.run([*python, "learn", "plain.yaml", "p", "-q"], check=True)
    arguments = {
        "config": (["main", "config", "plain.yaml"], "plain.yaml"),
        "check": (["main", "check", "plain.yaml"], "t"),
        "show": (["main", "show", "p"], "p"),
        "classify": (["classify", "t", "p", "-"], "t"),
    }
    words, other = arguments[name]
    before = Path(other).read_bytes()
    with open(other, "ab") as file:
        done = subprocess.run([*python, *words], stdout=file, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "is given as standard output" in line
    assert Path(other).read_bytes() == before


def test_a_folder_of_predictions_holds_no_other_file(folder):
    arguments = ["test.txt", "m", "new", "--format", "folder", "--metrics", "new/metrics"]
    line = refused(folder, classify, arguments, "--metrics", "PREDICTIONS")
    assert line.endswith("expected a place outside of it")


def test_an_output_within_a_folder_that_is_read_is_refused(folder):
    (folder / "read").mkdir()
    (folder / "read" / "data").write_text(ROWS)
    os.symlink("read", "alias")
    arguments = ["c.yaml", "alias/m", "--set", "data.test=read"]
    line = refused(folder, learn, arguments, "MODEL", "data.test of c.yaml")
    assert line.endswith("expected a place outside of it")
    os.link("read/data", "hard")
    refused(folder, learn, ["c.yaml", "hard", *arguments[2:]], "MODEL", "a file that read holds")


def test_a_folder_is_declared_before_or_after_what_lies_in_it(folder):
    (folder / "read").mkdir()
    os.symlink("read", "alias")
    before, after = Files(), Files()
    before.reads("the data", "alias", folder=True)
    with pytest.raises(LssvmError, match="MODEL lies in the folder alias, which is the data"):
        before.writes("MODEL", "read/sub/m")
    after.writes("MODEL", "read/sub/m")
    with pytest.raises(LssvmError, match="MODEL lies in the folder alias, which is the data"):
        after.reads("the data", "alias", folder=True)


def test_devices_may_be_given_many_times(folder):
    arguments = ["test.txt", "m", "/dev/null", "--metrics", "/dev/null"]
    assert CliRunner().invoke(classify, arguments).exit_code == 0
    arguments = ["c.yaml", "/dev/null", "--log", "/dev/null"]
    assert CliRunner().invoke(learn, arguments).exit_code == 0


def test_inputs_may_be_given_many_times(folder):
    Path("c.yaml").write_text(CONFIG.replace("validate.txt", "train.txt"))
    assert CliRunner().invoke(learn, ["c.yaml", "n", "-q"]).exit_code == 0


def test_a_word_that_an_option_chooses_is_no_input(folder):
    """The application's name, for instance, is a good name for a model, twice."""
    for name in ("filed", "filed"):
        assert CliRunner().invoke(learn, ["c.yaml", name, "-q"]).exit_code == 0, name


def test_a_file_that_is_given_by_set_is_an_input(folder):
    Path("other.txt").write_text(ROWS)
    arguments = ["c.yaml", "other.txt", "--set", "application.words=./other.txt"]
    refused(folder, learn, arguments, "MODEL", "application.words")


def test_images_that_a_list_names_are_inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.images").write_text("label sky 0 0 255\nimage a.png b.png\nimage a\0/b -\n")
    Path("a.png").write_text("")
    Path("c.yaml").write_text("application: mrf\ndata: {train: a.images}\n")
    refused(tmp_path, learn, ["c.yaml", "b.png"], "MODEL", "a file that a.images names")
    refused(tmp_path, learn, ["c.yaml", "m", "--log", "a.png"], "--log", "that a.images names")


def test_the_text_of_annotations_is_an_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    Path("d/a.ann").write_text("")
    Path("d/a.txt").write_text("words")
    Path("c.yaml").write_text("application: coreference\ndata: {train: d/a.ann}\n")
    refused(tmp_path, learn, ["c.yaml", "d/a.txt"], "MODEL", "a file that d/a.ann names")
    Path("c.yaml").write_text("application: coreference\ndata: {train: d}\n")
    os.link("d/a.txt", "hard")
    refused(tmp_path, learn, ["c.yaml", "hard"], "MODEL", "a file that d holds")
    refused(tmp_path, learn, ["c.yaml", "d/m"], "MODEL", "the folder d")
