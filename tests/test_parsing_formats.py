"""Broken trees and head tables are refused in one line, by every command that reads them."""

import gzip
import os
import re

import pytest
from click.testing import CliRunner
from test_penn_trees import MALFORMED as TREES

from lssvm.applications.parsing.heads import head_of, read_heads
from lssvm.cli import classify, learn, main

TABLE = "# heads\nS left VP\nNP right NN NNP\nVP left VB VBD\n* right\n"
TREE = "(S (NP (DT the) (JJ big) (NN dog)) (VP (VBD barked)))\n"
CONFIG = """\
application: {name: parsing, binarisation: head, heads: heads.txt}
data: {train: t.ptb}
objective: {model: ssvm}
"""

# contents, line of the message (None: the file as a whole), what is wrong
TABLES = {
    "empty": ("", None, "there are no lines"),
    "blank lines": ("\n \n\t\n", None, "there are no lines"),
    "only comments": ("# NP left NN\n  # VP left VB\n", None, "there are no lines"),
    "a byte order mark alone": ("\ufeff", None, "there are no lines"),
    "binary": (bytes(range(128, 256)), 1, "is not UTF-8"),
    "zeros": (bytes(100), 1, "byte 0x00 is not text"),
    "not UTF-8": (b"NP left NN\nVP left \xff\n", 2, "byte 0xff is not UTF-8"),
    "truncated gzip": (
        gzip.compress(TABLE.encode() * 50)[:40],
        None,
        "the gzip stream is cut short",
    ),
    "damaged gzip": (
        gzip.compress(TABLE.encode() * 50)[:-9] + b"x" * 9,
        None,
        "cut short or damage",
    ),
    "a label alone": (TABLE + "ADJP\n", 6, "'ADJP' is no line of a head table"),
    "an end alone": ("left\n", 1, "'left' is no line of a head table"),
    "the end first": ("left NP NN\n", 1, "'left NP NN' is no line of a head table"),
    "the end last": ("NP NN left\n", 1, "'NP NN left' is no line of a head table"),
    "no end": ("NP NN NNP\n", 1, "'NP NN NNP' is no line of a head table"),
    "another end": (TABLE + "ADJP up JJ\n", 6, "'ADJP up JJ' is no line of a head table"),
    "an end in capitals": ("NP LEFT NN\n", 1, "'NP LEFT NN' is no line of a head table"),
    "a number for an end": ("NP 1 NN\n", 1, "'NP 1 NN' is no line of a head table"),
    "a comment for an end": ("NP # left NN\n", 1, "'NP' is no line of a head table"),
    "a label twice": (TABLE + "NP left NN\n", 6, "'NP' has two lines"),
    "all labels twice": (TABLE + "* left\n", 6, "'*' has two lines"),
    "commas": ("NP,left,NN\n", 1, "'NP,left,NN' is no line of a head table"),
    "commas between heads": ("NP left NN, NNP\n", 1, "'NN,' is no label"),
    "a colon behind the label": ("NP: left NN\n", 1, "'NP:' is no label"),
    "semicolons": ("S right VP\nNP left NN;\n", 2, "'NN;' is no label"),
    "a tree": (TREE, 1, "is no line of a head table"),
    "brackets": ("(NP left NN)\n", 1, "'(NP' is no label"),
    "a list": ("NP left [NN NNP]\n", 1, "'[NN' is no label"),
    "YAML": ("NP:\n  - left\n", 1, "'NP:' is no line of a head table"),
    "JSON": ('{"NP": ["left", "NN"]}\n', 1, "is no line of a head table"),
    "a head twice": ("NP left NN NNP NN\n", 1, "'NN' stands twice"),
    "any label as a head": ("NP left NN *\n", 1, "'*' is among the heads"),
}


def test_each_reader_is_tried_with_25_broken_files():
    assert len(TABLES) >= 25
    assert len(TREES) >= 25


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A trained model."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "t.ptb").write_text(TREE)
    (folder / "c.yaml").write_text(CONFIG.replace(", binarisation: head, heads: heads.txt", ""))
    result = CliRunner().invoke(learn, [str(folder / "c.yaml"), str(folder / "m"), "-q"])
    assert result.exit_code == 0, result.output
    return str(folder / "m")


@pytest.mark.parametrize("name", TREES)
def test_broken_trees_are_refused_in_one_line(name, model, tmp_path, monkeypatch):
    """As input of prediction, and as true trees and as predicted ones that are scored."""
    monkeypatch.chdir(tmp_path)
    text, number, wrong = TREES[name]
    (tmp_path / "t.ptb").write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "good.ptb").write_text(TREE)
    (tmp_path / "out").write_text("what was there before")
    before = sorted(os.listdir(tmp_path))
    application = ["--application", "parsing", "--json", "out"]
    for command, words in (
        (classify, ["t.ptb", model, "out"]),
        (classify, ["t.ptb", model, "pictures", "--format", "svg"]),
        (main, ["score", "t.ptb", "good.ptb", *application]),
        (main, ["score", "good.ptb", "t.ptb", *application]),
    ):
        result = CliRunner().invoke(command, words)
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        (line,) = result.stderr.splitlines()
        assert line.startswith("error: t.ptb: " if number is None else f"error: t.ptb:{number}: ")
        assert wrong in line
        assert "; expected " in line
        assert sorted(os.listdir(tmp_path)) == before
        assert (tmp_path / "out").read_text() == "what was there before"


@pytest.mark.parametrize("name", TABLES)
def test_a_broken_head_table_is_refused_in_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, number, wrong = TABLES[name]
    (tmp_path / "heads.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "t.ptb").write_text(TREE)
    (tmp_path / "c.yaml").write_text(CONFIG)
    (tmp_path / "old").write_text("the model that was there before")
    before = sorted(os.listdir(tmp_path))
    for command, words in ((learn, ["c.yaml", "old"]), (main, ["check", "c.yaml"])):
        result = CliRunner().invoke(command, words)
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        (line,) = result.stderr.splitlines()
        place = r"heads\.txt: " if number is None else rf"heads\.txt:{number}: "
        assert re.match(r"error: c\.yaml:1:\d+: application\.heads: " + place, line), line
        assert wrong in line
        assert "; expected " in line
        assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "old").read_text() == "the model that was there before"


def test_punctuation_marks_are_labels(tmp_path):
    (tmp_path / "heads.txt").write_text("NP left , : NN\n, left\n-LRB- right -RRB-\n")
    table = read_heads(tmp_path / "heads.txt")
    assert table == {"NP": ["left", ",", ":", "NN"], ",": ["left"], "-LRB-": ["right", "-RRB-"]}
    assert head_of(table, "NP", ["NN", ":"]) == 1
