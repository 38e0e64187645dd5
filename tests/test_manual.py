"""Hints, completion and manual pages, all made from the commands."""

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lssvm.cli import main
from lssvm.cli.group import ELSEWHERE
from lssvm.cli.manual_command import manual_pages, programs
from lssvm.config import load_config
from lssvm.errors import ConfigError

ROOT = Path(__file__).parent.parent
PAGES = dict(manual_pages())


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_another_program_does_is_pointed_to(name):
    run = CliRunner().invoke(main, [name, "c.yaml", "m"], prog_name="lssvm")
    assert (run.exit_code, run.stdout) == (2, "")
    meant = f"did you mean the program {ELSEWHERE[name]}?"
    assert run.stderr == f"error: no command '{name}'; {meant}; see 'lssvm --help'\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("lern c.yaml m", "no command 'lern'; did you mean the program lssvm-learn?"),
        ("clasify c.yaml", "no command 'clasify'; did you mean the program lssvm-classify?"),
        ("chek c.yaml", "no command 'chek'; did you mean 'check'?"),
        ("Init motif", "no command 'Init'; did you mean 'init'?"),
        ("xyzzy", "no command 'xyzzy'"),
        ("simulate motfi", "no command 'motfi'; did you mean 'motif'?"),
        ("plot m f.png --kind objectve", "did you mean 'objective'?"),
        ("completion fsh", "did you mean 'fish'?"),
        ("plot m f.png --kind xyzzy", "'restarts', 'held_out' or 'weights'"),
        ("init motfi", "unknown application 'motfi'; did you mean 'motif'?"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest(words, told):
    run = CliRunner().invoke(main, words.split(), prog_name="lssvm")
    assert (run.exit_code, run.stdout) == (2, "")
    (line,) = run.stderr.splitlines()
    assert told in line
    assert ("did you mean" in line) == ("did you mean" in told)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("show m --top x", "--top x: expected a whole number of at least 0"),
        ("show m --top -1", "--top -1: expected a whole number of at least 0"),
        ("plot m f.png --kind gap --x y", "--x y: expected 'passes' or 'seconds'"),
        ("completion tcsh", "SHELL tcsh: expected 'bash', 'zsh' or 'fish'"),
        ("completion", "no SHELL; expected 'bash', 'zsh' or 'fish'"),
        ("simulate motif --out o --n 1.5", "--n 1.5: expected a whole number"),
        ("simulate motif --out o --conservation x", "--conservation x: expected a number"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_told_with_what_was_expected(words, told):
    run = CliRunner().invoke(main, words.split(), prog_name="lssvm")
    assert (run.exit_code, run.stderr) == (2, f"error: {told}\n")


@pytest.mark.parametrize(
    ("setting", "meant"),
    [
        ("solver.method=bundel", "bundle"),
        ("solver.method=LBFGS", "lbfgs"),
        ("objective.model=ssvn", "ssvm"),
        ("objective.c_scaling=men", "mean"),
        ("application.loss=haming", "hamming"),
        ("application.columns=[wrod, label]", "word"),
        ("application.templates=['sufix(word, 3)']", "suffix"),
        ("kernel.type=liner", "linear"),
    ],
)
def test_a_wrong_value_is_answered_with_the_nearest(setting, meant):
    templates = ["--set", "application.templates=[word]"] if "columns" in setting else []
    words = ["config", str(ROOT / "configs" / "sequence.yaml"), *templates, "--set", setting]
    run = CliRunner().invoke(main, words)
    assert run.exit_code == 2
    hints = [line for line in run.stderr.splitlines() if "did you mean" in line]
    assert len(hints) == 1
    if "columns" not in setting:
        assert f"; did you mean '{meant}'?" in hints[0]


@pytest.mark.parametrize(
    ("key", "meant"), [("objective.c", "C"), ("SEED", "seed"), ("solver.Epsilon", "epsilon")]
)
def test_a_key_in_the_wrong_case_is_told(key, meant):
    with pytest.raises(ConfigError, match=f"did you mean '{meant}'\\?"):
        load_config(ROOT / "configs" / "multiclass.yaml", [f"{key}=1"])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_program(shell):
    run = CliRunner().invoke(main, ["completion", shell])
    assert run.exit_code == 0
    for name in programs():
        assert f"_{name.upper().replace('-', '_')}_COMPLETE" in run.stdout


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("lssvm expl", "explain"), ("lssvm show --to", "--top"), ("lssvm plot m f --kind ga", "gap")],
)
def test_commands_options_and_values_are_completed(words, wanted):
    told = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    env = {"_LSSVM_COMPLETE": "bash_complete", **told}
    run = CliRunner().invoke(main, [], prog_name="lssvm", env=env)
    assert run.stdout == f"plain,{wanted}\n"


def commands(name, command):
    yield name, command
    for other, own in getattr(command, "commands", {}).items():
        yield from commands(f"{name}-{other}", own)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_has_its_place_in_a_page(page):
    known = dict(pair for name, one in programs().items() for pair in commands(name, one))
    assert PAGES.keys() >= known.keys() - {"lssvm-simulate"}
    text = PAGES[page].replace("\\-", "-").replace("\\&", "")
    assert re.match(r'\.TH "[A-Z_-]+" 1 ', text)
    for each in known[page].params if page in known else ():
        if isinstance(each, click.Option):
            assert each.opts[0] in text
    for line in text.splitlines():
        assert not re.match(r"\.(?!TH|SH|PP|TP|nf|fi|$)", line), line


def test_pages_are_written_whole(tmp_path):
    run = CliRunner().invoke(main, ["man", str(tmp_path / "man1")])
    assert (run.exit_code, run.output) == (0, "")
    found = {path.name: path.read_text() for path in (tmp_path / "man1").iterdir()}
    assert found == {f"{name}.1": text for name, text in PAGES.items()}
    assert {"lssvm.1", "lssvm-learn.1", "lssvm-explain.1", "lssvm-cv.1"} <= found.keys()
    again = CliRunner().invoke(main, ["man", str(tmp_path / "man1")])
    assert again.exit_code == 2
    assert "is not empty; expected a new or an empty one" in again.stderr


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff in the PATH")
@pytest.mark.parametrize("page", ["lssvm", "lssvm-learn", "lssvm-cv"])
def test_groff_takes_the_pages(page):
    run = subprocess.run(
        ["groff", "-k", "-man", "-Tutf8", "-ww"], input=PAGES[page], capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, "")
