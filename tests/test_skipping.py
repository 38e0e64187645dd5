"""Bad examples that are left out: the others are read as if the bad ones were not in the file."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from lssvm.cli import learn, main
from lssvm.config import Config
from lssvm.errors import DataError
from lssvm.formats import text as texts
from lssvm.formats.limit import Limit
from lssvm.formats.skipping import Skipped, after_blank, at_header, every_line
from lssvm.formats.text import open_text
from lssvm.training.reading import read_split

FASTA = ">{} label={}\nACGTACGTACGTTTGAC\nGGAT{}\n"
GRAPH = "graph {0}\nnode a y 2 {1} 1:1\nnode b y 2 0 1:{0}\nedge a b yy\n\n"
# application, good examples in order, a bad one, its line that is told, and what is wrong there
CASES = {
    "svmlight": (
        {"name": "multiclass"},
        [f"{1 + i % 2} 1:{i} 3:1\n" for i in range(6)],
        "other 3:1 2:1\n",
        0,
        "index 2 follows 3; expected increasing indices",
    ),
    "fasta": (
        {"name": "motif", "length": 4, "trials": 2},
        [FASTA.format(f"s{i}", "+-"[i % 2] + "1", "AC" * i) for i in range(6)],
        FASTA.format("bad", "+1", "4"),
        2,
        "illegal letter '4'; expected A, C, G, T, U or an IUPAC code",
    ),
    "conll": (
        {"name": "sequence", "columns": ["word", "label"]},
        [f"one{i} A\ntwo B\n\n" for i in range(6)],
        "one C\ntwo\nthree D\n\n",
        1,
        "1 column; expected 2 as on the lines before",
    ),
    "graphs": (
        {"name": "mrf"},
        [GRAPH.format(i, i % 2) for i in range(1, 7)],
        GRAPH.format(9, 7),
        1,
        "label '7' is out of range",
    ),
}


def contents(folder, application, **data):
    values = {"application": application, "data": {"train": "t.txt", **data}}
    told = []
    _, examples = read_split(Config.from_dict(values, base=folder), "train", warned=told.append)
    return examples, told


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_bad_example_is_left_out_whole_and_told_with_its_line(name, place, tmp_path):
    application, good, bad, at, wrong = CASES[name]
    (tmp_path / "t.txt").write_text("".join(good))
    expected, told = contents(tmp_path, application)
    assert told == []
    text = "".join([*good[:place], bad, *good[place:]])
    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(DataError):
        contents(tmp_path, application)
    found, told = contents(tmp_path, application, skip_bad=1)
    assert found.fingerprint() == expected.fingerprint()
    number = "".join(good[:place]).count("\n") + at + 1
    assert told[0].startswith(f"bad example skipped: {tmp_path / 't.txt'}:{number}: ")
    assert wrong in told[0]
    assert told[1:] == ["data.train: 1 bad example skipped in all"]


def test_a_carriage_return_within_a_line_ends_none(tmp_path):
    good = "1 1:2 # one\rline\n1 2:3\n2 1:1\n"
    (tmp_path / "t.txt").write_text(good, newline="")
    expected, _ = contents(tmp_path, {"name": "multiclass"})
    first, rest = good[: good.index("\n") + 1], good[good.index("\n") + 1 :]
    (tmp_path / "t.txt").write_text(f"{first}2 1:x\n{rest}", newline="")
    found, told = contents(tmp_path, {"name": "multiclass"}, skip_bad=1)
    assert "t.txt:2: value of feature 1 'x'" in told[0]
    assert found.fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("name", CASES)
def test_more_bad_examples_than_allowed_end_the_run(name, tmp_path):
    application, good, bad, at, _ = CASES[name]
    other = bad.replace("bad", "worse")
    (tmp_path / "t.txt").write_text("".join([bad, *good, other]))
    found, told = contents(tmp_path, application, skip_bad=2)
    assert len(told) == 3
    (tmp_path / "t.txt").write_text("".join(good))
    assert found.fingerprint() == contents(tmp_path, application)[0].fingerprint()
    (tmp_path / "t.txt").write_text("".join([bad, *good, other]))
    number = (bad + "".join(good)).count("\n") + at + 1
    with pytest.raises(DataError) as caught:
        contents(tmp_path, application, skip_bad=1)
    assert str(caught.value).startswith(f"{tmp_path / 't.txt'}:{number}: ")
    assert str(caught.value).endswith(" (data.skip_bad: 1 allows no more bad examples)")


def test_the_commands_warn_of_every_bad_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, good, bad, _, wrong = CASES["svmlight"]
    Path("t.txt.gz").write_bytes(gzip.compress("".join([bad, *good]).encode()))
    Path("c.yaml").write_text(
        "application: {name: multiclass}\ndata: {train: t.txt.gz, validate: t.txt.gz}\n"
        "search: {grid: {objective.C: [1, 2]}, folds: 3}\n"
    )
    invoke = CliRunner().invoke
    first = f"warning: bad example skipped: t.txt.gz:1: {wrong}\n"
    last = "warning: data.{}: 1 bad example skipped in all\n"
    result = invoke(learn, ["c.yaml", "m", "--skip-bad", "1"])
    assert result.exit_code == 0, result.stderr
    told = [first + last.format(split) for split in ("train", "validate")]
    assert result.stderr.startswith("".join(told))
    for arguments in (["check", "c.yaml"], ["cv", "c.yaml", "--jobs", "1"]):
        result = invoke(main, [*arguments, "--set", "data.skip_bad=3"])
        assert result.exit_code == 0, result.stderr
        told = result.stdout + result.stderr
        assert first.rstrip() in told
        assert last.format("train").rstrip() in told
    result = invoke(learn, ["c.yaml", "m"])
    assert (result.exit_code, result.stderr) == (2, f"error: t.txt.gz:1: {wrong}\n")


@pytest.mark.parametrize(
    ("application", "text"),
    [
        ({"name": "precision_at_k", "k": 1}, "1 qid:1 1:1\n0 qid:1 1:x\n0 qid:1 1:3\n"),
        ({"name": "sequence", "format": "svm_hmm"}, "1 qid:1 1:1\n2 qid:1 1:x\n"),
    ],
)
def test_an_example_of_several_lines_is_never_left_out_in_part(application, text, tmp_path):
    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(DataError) as caught:
        contents(tmp_path, application, skip_bad=5)
    assert str(caught.value).startswith(f"{tmp_path / 't.txt'}:2: ")
    assert "(data.skip_bad cannot skip parts of a file of this format)" in str(caught.value)


LINES = st.lists(st.sampled_from([b"", b"a", b" ", b">b", b"cc"]), max_size=20)


@settings(deadline=None, max_examples=80)
@given(
    lines=LINES,
    bad=st.sets(st.integers(1, 20), max_size=3),
    begins=st.sampled_from([every_line, after_blank, at_header]),
    piece=st.integers(1, 7),
    ended=st.booleans(),
)
def test_other_lines_keep_their_numbers_wherever_blocks_end(
    lines, bad, begins, piece, ended, tmp_path_factory
):
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    path.write_bytes(b"\n".join(lines) + b"\n" * (ended and bool(lines)))
    with open_text(path) as found:
        whole = [(number, text) for number, text in found]
    starts = [
        number
        for number, text in whole
        if begins(text.encode(), whole[number - 2][1].encode() if number > 1 else b"")
    ]
    owners = np.searchsorted(starts, [number for number, _ in whole], side="right")
    bad = sorted(number for number in bad if number <= len(whole))
    skipped = Skipped(5)
    skipped._begins[str(path)] = begins
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "_PIECE", piece)
        left_out = set()
        for number in bad:
            if owners[number - 1] not in left_out:
                skipped.add(DataError(path, number, "bad"))
                left_out.add(owners[number - 1])
        with open_text(path, Limit(skipped=skipped)) as found:
            rest = list(found)
    assert rest == [
        line for line, owner in zip(whole, owners, strict=True) if owner not in left_out
    ]
