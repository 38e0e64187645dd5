"""Bad examples that are left out: the others are read as if the bad ones were not in the file."""

import codecs
import gzip
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from lssvm.cli import classify, learn, main
from lssvm.config import Config
from lssvm.errors import DataError
from lssvm.formats import text as texts
from lssvm.formats.limit import Limit
from lssvm.formats.skipping import Skipped, after_blank, at_header, every_line, same_qid
from lssvm.formats.text import open_text
from lssvm.training.reading import read_split

FASTA = ">{} label={}\nACGTACGTACGTTTGAC\nGGAT{}\n"
GRAPH = "graph {0}\nnode a y 2 {1} 1:1\nnode b y 2 0 1:{0}\nedge a b yy\n\n"
PAIR = '{{"entities": ["e{}", "e"], "relations": {}, "mentions": [{{"features": ["f"]}}]}}\n'
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
    "letor": (
        {"name": "precision_at_k", "k": 1},
        [f"1 qid:{i} 1:{i}\n0 qid:{i} 2:1\n" for i in range(6)],
        "1 qid:bad 1:1\n0 qid:bad 1:x\n0 qid:bad 1:3\n",
        1,
        "value of feature 1 'x'",
    ),
    "svm_hmm": (
        {"name": "sequence", "format": "svm_hmm"},
        [f"A qid:{i} 1:{i}\nB qid:{i} 2:1\n" for i in range(6)],
        "A qid:bad 1:1\n# no token\nqid:bad 2:1\nB qid:bad 2:1\n",
        2,
        "'qid:bad' is in the place of the tag",
    ),
    "json": (
        {"name": "relation"},
        [PAIR.format(i, "[]" if i % 2 else '["r"]') for i in range(6)],
        PAIR.format("bad", 3),
        0,
        "'relations' is a number; expected a list of names, or null",
    ),
    "numbers": (
        {"name": "relation"},
        [f"1\n{1 + i % 2}\n2\n1 {i}:1\n0\n" for i in range(6)],
        "? # unknown\n3\n1 1:bad\n\n0\n1 4:1\n",
        2,
        "value of feature 1 'bad'",
    ),
    "trees": (
        {"name": "parsing"},
        [f"(S (A a{i})\n (B (C c)))\n\n" if i % 2 else f"(S (A a{i}) (D d))\n" for i in range(6)],
        "(S (A bad)\n ()\n (B b))\n",
        1,
        "an empty bracket '()'",
    ),
    "trees by line": (
        {"name": "parsing"},
        [f"(S (A a{i}) (D d))\n\n" for i in range(8)],
        "(S (A bad)) (D d))\n",
        0,
        "')' without '('",
    ),
    "open trees": (
        {"name": "parsing"},
        [f"(S (A a{i})\n (B (C c)))\n\n" for i in range(8)],
        "(S (A bad)\n (B (C c))\n\n",
        0,
        "1 bracket is not closed at the end of the file",
    ),
    "pairs": (
        {"name": "alignment", "task": "pairs"},
        [f">a{i}\nARN{'ND'[i % 2]}\n\n>b{i}\nARNN\n" for i in range(6)],
        ">bad\nAR\n>other\nA1\nND\n",
        3,
        "'1' is no letter",
    ),
    "homologs": (
        {"name": "alignment"},
        [
            f">n{i} role=native\nAR{'ND' * i}\n>h{i} role=homolog\nARN\n>d{i} role=decoy\nAA\n"
            for i in range(1, 7)
        ],
        ">bad role=native\nAR\n>x role=homolog\nARN\n>y role=homolog\nARN\n>z role=decoy\nAA\n",
        4,
        "native 'bad' has a second homolog",
    ),
    "documents": (
        {"name": "coreference"},
        [
            f"#begin document (d{i});\n1 He (1)\n2 saw -\n3 him (1)\n\n4 go (2)\n#end document\n"
            for i in range(6)
        ],
        "#begin document (bad);\n1 He (1\n2 saw -\n#end document\n",
        1,
        "'(1' is never closed",
    ),
    "mentions": (
        {"name": "coreference", "features": ["near", "far"]},
        [f"document d{i}\nclusters 1 {i}\npair 1 2 1:{i}.5\n\n" for i in range(1, 7)],
        "document bad\nclusters 1 2\npair 1 2 3:1\n",
        2,
        "index '3' is out of range",
    ),
    "images": (
        {"name": "mrf"},
        [f"image {name}.npy - cost=2\n" for name in "abcdef"],
        "image a.npy bad.png\n",
        0,
        "bad.png",
    ),
}
HEADS = {"numbers": "{}\n3\n", "images": "label one 0 0 0\nmissing 0 0 1\n"}


def written(folder, name, parts):
    """Write a file of examples, and the images that a list names; its name, and lines above."""
    head = HEADS.get(name, "").format(len(parts))
    for image in "abcdef" * (name == "images"):
        np.save(folder / f"{image}.npy", np.full((2, 3, 1), float(ord(image))))
    path = folder / ("t.images" if name == "images" else "t.txt")
    path.write_text(head + "".join(parts))
    return path, head.count("\n")


def contents(folder, application, **data):
    path = next(path.name for path in folder.iterdir() if path.stem == "t")
    values = {"application": application, "data": {"train": path, **data}}
    if application.get("task") == "pairs":
        values["objective"] = {"model": "ssvm"}
    told = []
    _, examples = read_split(Config.from_dict(values, base=folder), "train", warned=told.append)
    return examples, told


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_bad_example_is_left_out_whole_and_told_with_its_line(name, place, tmp_path):
    application, good, bad, at, wrong = CASES[name]
    written(tmp_path, name, good)
    expected, told = contents(tmp_path, application)
    assert told == []
    file, above = written(tmp_path, name, [*good[:place], bad, *good[place:]])
    file.write_bytes(codecs.BOM_UTF8 + file.read_bytes())
    with pytest.raises(DataError):
        contents(tmp_path, application)
    found, told = contents(tmp_path, application, skip_bad=1)
    assert found.fingerprint() == expected.fingerprint()
    number = above + "".join(good[:place]).count("\n") + at + 1
    assert told[0].startswith(f"bad example skipped: {file}:{number}: ")
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
    several = [bad, *good, bad.replace("bad", "worse")]
    written(tmp_path, name, several)
    found, told = contents(tmp_path, application, skip_bad=2)
    assert len(told) == 3
    written(tmp_path, name, good)
    assert found.fingerprint() == contents(tmp_path, application)[0].fingerprint()
    file, above = written(tmp_path, name, several)
    number = above + "".join(several[:-1]).count("\n") + at + 1
    with pytest.raises(DataError) as caught:
        contents(tmp_path, application, skip_bad=1)
    assert str(caught.value).startswith(f"{file}:{number}: ")
    first = f"(data.skip_bad: 1 allows no more bad examples; the first: {file}:{above + at + 1}: "
    assert first in str(caught.value)


@pytest.mark.parametrize("name", ["svmlight", "numbers"])
def test_a_file_of_bad_examples_only_is_refused_with_their_number_and_the_first(name, tmp_path):
    application, _, bad, at, wrong = CASES[name]
    file, above = written(tmp_path, name, [bad, bad, bad])
    with pytest.raises(DataError) as caught:
        contents(tmp_path, application, skip_bad=5)
    told = str(caught.value)
    assert told.startswith(f"{file}: without 3 bad examples that data.skip_bad skipped: no ")
    assert f" (the first: {file}:{above + at + 1}: {wrong}" in told


@pytest.mark.parametrize("place", [0, 2, 3])
def test_a_document_that_does_not_end_is_the_one_left_out(place, tmp_path):
    """What is wrong is found where the next one begins, or at the end of the file."""
    good = [f"#begin document (d{i});\n1 He (1)\n2 him (1)\n#end document\n" for i in range(3)]
    written(tmp_path, "", good)
    expected, _ = contents(tmp_path, {"name": "coreference"})
    bad = "#begin document (bad);\n1 He (1)\n"
    file, _ = written(tmp_path, "", [*good[:place], bad, *good[place:]])
    found, told = contents(tmp_path, {"name": "coreference"}, skip_bad=1)
    assert found.fingerprint() == expected.fingerprint()
    assert told[0].startswith(f"bad example skipped: {file}:{4 * place + 1 + 2 * (place < 3)}: ")


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


def test_nothing_is_skipped_where_predictions_follow_the_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, good, bad, _, wrong = CASES["svmlight"]
    Path("good.txt").write_text("".join(good))
    Path("bad.txt").write_text("".join([bad, *good]))
    Path("c.yaml").write_text(
        "application: {name: multiclass}\ndata: {train: good.txt, test: bad.txt, skip_bad: 1}\n"
    )
    invoke = CliRunner().invoke
    assert invoke(learn, ["c.yaml", "m"]).exit_code == 0
    order = "because predictions follow the order of the examples"
    told = f"error: bad.txt:1: {wrong} (data.skip_bad skips none of data.test, {order})\n"
    for command, *arguments in (main, "check", "c.yaml"), (classify, "c.yaml", "m", "p"):
        result = invoke(command, arguments)
        assert (result.exit_code, result.stderr) == (2, told)
    for option in ("--skip-bad", "--set"):
        result = invoke(classify, ["bad.txt", "m", "p", option, "1"])
        assert result.exit_code == 2
        assert result.stderr.startswith(f"error: {option}: ")
    result = invoke(classify, ["bad.txt", "m", "p"])
    assert (result.exit_code, result.stderr) == (2, f"error: bad.txt:1: {wrong}\n")


@pytest.mark.parametrize("last", ["0 qid:1 1:y\n", "0 qid:1 1:y"])
def test_a_query_is_left_out_with_all_its_lines_wherever_they_stand(last, tmp_path):
    """Its second bad line is left out with the first, and is not counted."""
    application = {"name": "precision_at_k", "k": 1}
    good = ["1 qid:2 1:1\n", "0 qid:2 2:1 # qid:1\n", "1 qid:10 1:2\n", "0 qid:10 1:1\n"]
    (tmp_path / "t.txt").write_text("".join(good))
    expected, _ = contents(tmp_path, application)
    lines = ["1 qid:1 1:3\n", good[0], "0 qid:1 1:x\n", *good[1:], last]
    (tmp_path / "t.txt").write_text("".join(lines))
    found, told = contents(tmp_path, application, skip_bad=1)
    assert found.fingerprint() == expected.fingerprint()
    assert told[0].startswith(f"bad example skipped: {tmp_path / 't.txt'}:3: ")
    assert len(told) == 2


def test_a_sequence_that_is_continued_later_is_left_out_with_both_parts(tmp_path):
    application = {"name": "sequence", "format": "svm_hmm"}
    good = "A qid:2 1:1\nB qid:2 2:1\n"
    (tmp_path / "t.txt").write_text(good)
    expected, _ = contents(tmp_path, application)
    (tmp_path / "t.txt").write_text(f"A qid:1 1:1\n{good}B qid:1 1:2\n")
    found, told = contents(tmp_path, application, skip_bad=1)
    assert found.fingerprint() == expected.fingerprint()
    assert "t.txt:4: sequence '1' continues after other sequences" in told[0]


@pytest.mark.parametrize(
    ("application", "text"),
    [
        (CASES["letor"][0], "1 qid:1 1:1\n0 1:2\n0 qid:1 1:3\n"),
        (CASES["svm_hmm"][0], "A qid:1 1:1\nA qid: 1:2\nB qid:1 1:1\n"),
    ],
)
def test_a_line_without_a_qid_is_never_left_out(application, text, tmp_path):
    """It may belong to the example before it, to the one after it, or to any other query."""
    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(DataError) as caught:
        contents(tmp_path, application, skip_bad=5)
    assert str(caught.value).startswith(f"{tmp_path / 't.txt'}:2: ")
    why = "(data.skip_bad cannot skip a line without a qid: its example is not known)"
    assert str(caught.value).endswith(why)


NO_END = {
    "counts": ({"name": "relation"}, "2\n2\n1\n2\n1\n1 1:x\n0\n2\n0\n", 6, "counts are wrong"),
    "header": ({"name": "relation"}, "1\nx\n0\n1\n0\n", 2, "not of a pair"),
    "one tree": ({"name": "parsing"}, "(S (A a))\n(S (A\n", 2, "do not match"),
    "open tree": ({"name": "parsing"}, "(S (A a)\n(S (B b))\n", 1, "do not match"),
    "two on a line": ({"name": "parsing"}, "(S (A a)) (S)\n", 1, "shares a line"),
    "outside": ({"name": "parsing"}, "word\n(S (A a))\n", 1, "outside of all brackets"),
    "odd": ({"name": "alignment", "task": "pairs"}, ">a\nA\n>b\nA\n>c\nA\n", 5, "odd number"),
    "above": ({"name": "alignment", "task": "pairs"}, "A\n>b\nA\n>c\nA\n", 1, "comes before"),
    "role": (
        *({"name": "alignment"}, ">n role=native\nA\n>h role=homolog\nA\n>m role=nativ\nA\n", 5),
        "no role",
    ),
    "whole file": ({"name": "coreference"}, "1 He (1\n2 him (2)\n", 1, "outside of the lines"),
    "between": (
        {"name": "coreference"},
        "#begin document (a);\n1 He (1)\n#end document\n1 He (1)\n",
        *(4, "outside of the lines"),
    ),
    "kind": (
        {"name": "coreference", "features": 2},
        *("document a\nclusters 1 1\npair 1 2 1:1\ndocment b\n", 4, "a line of no kind"),
    ),
    "colour": ({"name": "mrf"}, "label one 0 0 x\nimage a.npy -\n", 1, "no image"),
}


def test_what_does_not_tell_its_example_is_never_left_out(tmp_path):
    for name, (application, text, line, why) in NO_END.items():
        file = tmp_path / ("t.images" if name == "colour" else "t.txt")
        file.write_text(text)
        with pytest.raises(DataError) as caught:
            contents(tmp_path, application, skip_bad=5)
        file.unlink()
        assert str(caught.value).startswith(f"{file}:{line}: "), name
        assert "(data.skip_bad cannot skip " in str(caught.value), name
        assert why in str(caught.value), name


def test_formats_whose_parts_cannot_be_left_out(tmp_path):
    (tmp_path / "t.msf").write_text("PileUp\n")
    application = {"name": "alignment", "task": "pairs", "format": "multiple"}
    with pytest.raises(DataError) as caught:
        contents(tmp_path, application, skip_bad=5)
    assert "(data.skip_bad cannot skip parts of a file of this format)" in str(caught.value)


LINES = st.lists(
    st.sampled_from([b"", b"a", b" ", b">b", b"cc", b"1 qid:1", b"2 qid:2"]), max_size=20
)
BEGINS = {
    every_line: lambda line, before: True,
    after_blank: lambda line, before: not before.strip(),
    at_header: lambda line, before: line.startswith(">"),
}


def owners(whole, owns):
    """For each line what tells its example from others; None if that is not known."""
    if owns is same_qid:
        return [text[-1] if "qid" in text else None for _, text in whole]
    begins, before, found = BEGINS[owns], "", []
    for number, text in whole:
        begun = not found or begins(text, before)
        found.append(number if begun else found[-1])
        before = text
    return found


@settings(deadline=None, max_examples=80)
@given(
    lines=LINES,
    bad=st.sets(st.integers(1, 20), max_size=3),
    owns=st.sampled_from([*BEGINS, same_qid]),
    piece=st.integers(1, 7),
    ended=st.booleans(),
)
def test_other_lines_keep_their_numbers_wherever_blocks_end(
    lines, bad, owns, piece, ended, tmp_path_factory
):
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    path.write_bytes(b"\n".join(lines) + b"\n" * (ended and bool(lines)))
    with open_text(path) as found:
        whole = [(number, text) for number, text in found]
    own = owners(whole, owns)
    skipped = Skipped(5)
    skipped._owns[str(path)] = owns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "_PIECE", piece)
        left_out = set()
        for number in sorted(number for number in bad if number <= len(whole)):
            owner = own[number - 1]
            if owner is None:
                with pytest.raises(DataError, match="its example is not known"):
                    skipped.add(DataError(path, number, "bad"))
            elif owner not in left_out:
                skipped.add(DataError(path, number, "bad"))
                left_out.add(owner)
        with open_text(path, Limit(skipped=skipped)) as found:
            rest = list(found)
    assert rest == [line for line, owner in zip(whole, own, strict=True) if owner not in left_out]
