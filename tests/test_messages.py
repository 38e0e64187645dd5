"""What is printed: one line, of a bounded length, nothing that steers a terminal."""

import json
import time
import unicodedata

import numpy as np
import pytest
from click.testing import CliRunner

from lssvm.cli import learn, main, streams
from lssvm.cli.common import Command
from lssvm.cli.messages import LONGEST, message, printable, printable_json, printable_lines
from lssvm.errors import ConfigError, DataError, LssvmError

BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def steers(letter):
    no_width = letter in "\u00ad\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff"
    steering = unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
    return steering or no_width or letter in BIDIRECTIONAL


EVERY = "".join(map(chr, range(0x110000)))


def test_what_steers_a_terminal_and_nothing_else_is_written_out():
    assert {a for a in EVERY if printable(a) != a} == {a for a in EVERY if steers(a)}
    assert {a for a in EVERY if printable_lines(a) != a} == {a for a in EVERY if steers(a)} - {
        *"\n\t"
    }
    assert not any(map(steers, printable(EVERY)))


def test_what_is_written_out_can_be_recognised():
    assert printable("a\nb\r\t\x1b[31m\x9b\u2028\udcff") == r"a\nb\r\t\x1b[31m\x9b\u2028\udcff"


def test_json_means_the_same_with_controls_written_out():
    value = {"a\x1b\x9b\u202e": ["\udcff", "ü\n\t", EVERY[:3000]]}
    text = printable_json(json.dumps(value, ensure_ascii=False, indent=1))
    assert json.loads(text) == value
    assert not any(steers(letter) for letter in text if letter not in "\n\t")
    assert "ü" in text


def random_text(rng, size):
    letters = np.array(
        ["a", "b ", "'", '"', ": ", "; ", "ü", "\n", "\x1b", "\\", "1", "(", "expected"]
    )
    return "".join(rng.choice(letters, size=size))


def test_a_message_of_any_text_is_one_short_line():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        text = random_text(rng, int(rng.integers(0, 2000)))
        told = message(text)
        assert len(told) <= LONGEST
        assert not any(map(steers, told))
        if len(printable(text)) <= LONGEST:
            assert told == printable(text)


def test_a_long_message_says_where_it_is_and_what_was_expected():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        path = "folder/" + "n" * int(rng.integers(1, 4000)) + ".txt"
        token, rest = random_text(rng, 3000), random_text(rng, 3000)
        expected = "; expected a number greater than 0 and at most 17"
        told = message(str(DataError(path, 12, f"{token!r} is bad: {rest}{expected}")), [path])
        assert told.startswith(f"{path}:12: ")
        assert told.endswith(expected)
        assert len(told) <= LONGEST + len(path)


def test_the_longest_quoted_word_is_shortened_first():
    short, long = "s" * 80, "x" * 100_000
    told = message(f"f.txt:3: feature {short!r} of {long!r} is wrong; expected another")
    assert f"feature {short!r} of 'xxx" in told
    assert told.endswith("xxx…' is wrong; expected another")
    assert LONGEST - 5 <= len(told) <= LONGEST


def test_what_stands_in_the_middle_goes_where_no_word_is_quoted():
    told = message("f.txt:3: " + "y" * 5000 + "; expected z", ["f.txt"])
    assert told.startswith("f.txt:3: yyy")
    assert told.endswith("yyy; expected z") or told.endswith("…; expected z")
    assert len(told) <= LONGEST + len("f.txt")


@pytest.mark.parametrize("text", ["'\\", "'", '"' + "'", "\x1b", "a: ", "; expected "], ids=repr)
def test_a_message_without_end_is_short_at_once(text):
    began = time.process_time()
    assert len(message(text * 500_000, ["a"])) <= LONGEST + 3
    assert time.process_time() - began < 3


def test_names_of_files_are_not_shortened_but_words_like_them_are():
    name = "d/" * 300 + "m"
    told = message(f"{name}: is given as MODEL and as --log; expected two files", [name])
    assert told == f"{name}: is given as MODEL and as --log; expected two files"
    assert len(message("e" * 5000, ["e"])) <= LONGEST
    assert len(message("e " * 5000, ["e"])) <= LONGEST + 3


def told_of(error, capsys):
    with streams.standing():
        streams.tell_error(error)
    return capsys.readouterr().err.splitlines()


def test_every_fault_of_a_configuration_is_one_line(capsys):
    error = ConfigError(["c.yaml:1: a\nb", "c.yaml:2: " + "z" * 1000])
    first, second = told_of(error, capsys)
    assert first == r"error: c.yaml:1: a\nb"
    assert len(second) < 300


def test_a_line_break_in_a_name_makes_no_second_line(capsys):
    assert told_of(DataError("a\nb", 1, "wrong"), capsys) == [r"error: a\nb:1: wrong"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["a\nb\x1b", "m"],
        ["c.yaml", "a\nb\x1b/m"],
        ["c.yaml", "m", "--init", "a\nb\x1b"],
        ["c.yaml", "m", "--log", "a\nb\x1b/l"],
        ["c.yaml", "m", "--set", "a\nb\x1b"],
        ["c.yaml", "m", "--set", "a\nb\x1b=1"],
        ["c.yaml", "m", "--set", "data.train=a\udcff"],
        ["c.yaml", "m", "--a\nb\x1b"],
        ["c.yaml", "m", "a\nb\x1b"],
        ["c.yaml", "m", "-v", "a\nb\x1b"],
        ["c.yaml", "m", "-w", "a\nb\x1b" * 1000],
        ["c.yaml", "m" * 250],
        ["c.yaml", "m" * 256],
        ["c.yaml", "ü" * 127],
        ["c.yaml", "m" * 5000],
        [],
    ],
    ids=str,
)
def test_odd_arguments_are_answered_in_one_line(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text("application: multiclass\ndata: {train: t}\n")
    result = CliRunner().invoke(learn, arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert not any(map(steers, line))
    names = [each for each in arguments if len(each) > 200 and each in line]
    assert len(line) - sum(map(len, names)) <= 300
    assert [path.name for path in tmp_path.iterdir()] == ["c.yaml"]


def test_words_of_data_reach_the_terminal_without_control_characters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = ("a\x1b[31m", "b\x9b\u202e")
    (tmp_path / "t").write_text("".join(f"{label} 1:{i}\n" for i, label in enumerate(labels, 1)))
    (tmp_path / "c.yaml").write_text("application: multiclass\ndata: {train: t}\n")
    run = CliRunner()
    learned = run.invoke(learn, ["c.yaml", "m\x1b"])
    assert learned.exit_code == 0
    shown = run.invoke(main, ["show", "m\x1b"])
    assert r"× a\x1b[31m" in shown.stdout
    as_json = run.invoke(main, ["show", "m\x1b", "--json"])
    assert labels[0] in {
        row["feature"][-len(labels[0]) :] for row in json.loads(as_json.stdout)["weights"]
    }
    checked = run.invoke(main, ["check", "c.yaml"])
    for result in (learned, shown, as_json, checked):
        assert result.exit_code == 0
        assert not any(steers(letter) for letter in result.output if letter not in "\n\t")


def test_an_end_of_file_within_a_command_is_no_wish_to_stop():
    def broken():
        raise EOFError("a bug")

    with pytest.raises(EOFError, match="a bug"):
        Command("broken", callback=broken).main([])


def test_an_error_of_any_kind_has_faults():
    assert LssvmError("a").faults == ["a"]
    assert ConfigError(["a", "b"]).faults == ["a", "b"]
