"""Files of sequences, alignments and matrices, good ones and broken ones."""

import gzip
import os
import re

import numpy as np
import pytest
from click.testing import CliRunner

from lssvm.applications.alignment import reading
from lssvm.applications.alignment.alignment import Alignment, AlignmentOptions
from lssvm.applications.base import Source
from lssvm.cli import classify, learn, main
from lssvm.errors import DataError, LssvmError
from lssvm.formats.blast_matrix import named_matrix, read_blast_matrix, write_blast_matrix
from lssvm.formats.gapped_fasta import read_aligned_pairs, read_gapped, read_homologs
from lssvm.formats.multiple_alignment import read_multiple

HOMOLOGS = ">n role=native\nAC-B\n>h role=homolog\nA-CB\n>d role=decoy\nBBC\n"
PAIRS = ">a\nAC-B\n>b\nA-CB\n"
MSF = """PileUp

   MSF:    6  Type: P    Check:  1   ..

 Name: one oo  Len:    6  Check:  1  Weight:  10.0
 Name: two oo  Len:    6  Check:  1  Weight:  10.0

//

one      AC.BAA
two      A.CBAA
"""
STOCKHOLM = "# STOCKHOLM 1.0\none AC-BAA\ntwo A-CBAA\n//\n"
CLUSTAL = "CLUSTAL W (1.82) multiple sequence alignment\n\n\none AC-BAA\ntwo A-CBAA\n    *  ***\n"
MATRIX = "# letters\n   A  B  C\nA  2 -1 -1\nB -1  3 -2\nC -1 -2  2\n"

ANY_FASTA = {
    "empty": b"",
    "blank lines": b"\n\n\n",
    "only comments": b"; nothing\n# at all\n",
    "binary": bytes(range(256)),
    "zeros": bytes(1000),
    "not UTF-8": b">a\xff role=native\nACB\n",
    "truncated gzip": gzip.compress(HOMOLOGS.encode() * 50)[:40],
    "damaged gzip": gzip.compress(HOMOLOGS.encode() * 50)[:-9] + b"xxxxxxxxx",
    "letters before the first header": b"ACB\n" + HOMOLOGS.encode(),
    "a header without a name": b">\nACB\n",
    "a number": HOMOLOGS.replace("AC-B", "AC1B").encode(),
    "a blank among the letters": HOMOLOGS.replace("AC-B", "AC -B").encode(),
    "a letter of another script": HOMOLOGS.replace("AC-B", "AC-Б").encode(),
    "a letter with an accent": HOMOLOGS.replace("AC-B", "AC-é").encode(),
    "a character of control": HOMOLOGS.replace("AC-B", "AC-\x07").encode(),
}
HOMOLOG_FILES = ANY_FASTA | {
    "no role": HOMOLOGS.replace(" role=decoy", "").encode(),
    "another role": HOMOLOGS.replace("role=decoy", "role=friend").encode(),
    "an empty role": HOMOLOGS.replace("role=decoy", "role=").encode(),
    "two roles": HOMOLOGS.replace("role=decoy", "role=decoy role=homolog").encode(),
    "no native": HOMOLOGS.partition(">h")[2].join((">h", "")).encode(),
    "nothing but a native": b">n role=native\nACB\n",
    "two homologs": HOMOLOGS.replace("role=decoy", "role=homolog").encode(),
    "no homolog": HOMOLOGS.replace("role=homolog", "role=decoy").replace("A-CB", "ACB").encode(),
    "roles known in part": HOMOLOGS.replace("role=decoy", "role=candidate").encode(),
    "gaps of a decoy": HOMOLOGS.replace("BBC", "B-BC").encode(),
    "rows of different lengths": HOMOLOGS.replace("A-CB", "A-C").encode(),
    "gaps alone": HOMOLOGS.replace("A-CB", "----").encode(),
    "a record without letters": (HOMOLOGS + ">e role=decoy\n").encode(),
    "a cost of words": HOMOLOGS.replace("role=native", "role=native cost=dear").encode(),
    "a negative cost": HOMOLOGS.replace("role=native", "role=native cost=-1").encode(),
    "a cost that is no number": HOMOLOGS.replace("role=native", "role=native cost=nan").encode(),
    "an infinite cost": HOMOLOGS.replace("role=native", "role=native cost=inf").encode(),
    "two costs": HOMOLOGS.replace("role=native", "role=native cost=1 cost=1").encode(),
    "another native without candidates": (HOMOLOGS + ">m role=native\nAB\n").encode(),
}
PAIR_FILES = ANY_FASTA | {
    "an odd record": (PAIRS + ">c\nABC\n").encode(),
    "rows of different lengths": PAIRS.replace("A-CB", "A-C").encode(),
    "rows without a pair": b">a\nAC--\n>b\n--CB\n",
    "gaps alone": PAIRS.replace("A-CB", "----").encode(),
    "a record without letters": b">a\nACB\n>b\n",
    "unaligned": b">a\nACB\n>b\nAC\n",
    "a cost of words": PAIRS.replace(">a", ">a cost=dear").encode(),
    "a negative cost": PAIRS.replace(">a", ">a cost=-1").encode(),
    "a cost that is no number": PAIRS.replace(">a", ">a cost=nan").encode(),
    "two costs": PAIRS.replace(">a", ">a cost=1 cost=2").encode(),
}
MATRIX_FILES = {
    "empty": b"",
    "blank lines": b"\n\n",
    "only comments": b"# nothing\n",
    "binary": bytes(range(256)),
    "zeros": bytes(100),
    "not UTF-8": b"  A B C\n\xff 1 1 1\n",
    "truncated gzip": gzip.compress(MATRIX.encode() * 50)[:40],
    "only letters": b"  A B C\n",
    "a row missing": b"  A B C\nA 1 1 1\nB 1 1 1\n",
    "a row twice": MATRIX.replace("C -1 -2  2", "B -1 -2  2").encode(),
    "a row of another letter": (MATRIX + "D 1 1 1\n").encode(),
    "a letter twice": MATRIX.replace("A  B  C\n", "A  B  B\n", 1).encode(),
    "a letter twice, in both cases": MATRIX.replace("A  B  C\n", "A  B  b\n", 1).encode(),
    "a word for a letter": MATRIX.replace("A  B  C\n", "A  B  CC\n", 1).encode(),
    "a score too few": MATRIX.replace("B -1  3 -2", "B -1  3").encode(),
    "a score too many": MATRIX.replace("B -1  3 -2", "B -1  3 -2 1").encode(),
    "a word for a score": MATRIX.replace(" 3", " x").encode(),
    "a score that is no number": MATRIX.replace(" 3", " nan").encode(),
    "an infinite score": MATRIX.replace(" 3", " inf").encode(),
    "a score beyond all numbers": MATRIX.replace(" 3", " 1e999").encode(),
    "digits of another script": MATRIX.replace(" 3", " ٣").encode(),
    "a score with an underline": MATRIX.replace(" 3", " 1_0").encode(),
    "no row letter": MATRIX.replace("B -1", "-1").encode(),
    "a letter of the alphabet missing": b"  A B\nA 1 1\nB 1 1\n",
    "not symmetric": MATRIX.replace("B -1  3 -2", "B -1  3 -1").encode(),
}
TABLE = "native\tcandidate\tscore\nn\th\t2.5\nn\td\t-1\n"
SCORE_FILES = {
    "empty": b"",
    "blank lines": b"\n\n",
    "binary": bytes(range(128, 256)),
    "zeros": bytes(100),
    "not UTF-8": TABLE.encode().replace(b"2.5", b"\xff"),
    "truncated gzip": gzip.compress(TABLE.encode() * 50)[:40],
    "damaged gzip": gzip.compress(TABLE.encode() * 50)[:-9] + b"xxxxxxxxx",
    "no header": TABLE.partition("\n")[2].encode(),
    "blanks for tabs": TABLE.replace("\t", " ").encode(),
    "commas": TABLE.replace("\t", ",").encode(),
    "a column missing": TABLE.replace("\tscore", "\tvalue").encode(),
    "capitals in the header": TABLE.replace("native", "Native").encode(),
    "a header without rows": TABLE.partition("n\th")[0].encode(),
    "a row missing": TABLE.replace("n\td\t-1\n", "").encode(),
    "a row too many": (TABLE + "n\te\t0\n").encode(),
    "a row twice": TABLE.replace("d\t-1", "h\t2.5").encode(),
    "rows in another order": b"native\tcandidate\tscore\nn\td\t-1\nn\th\t2.5\n",
    "another native": TABLE.replace("n\th", "m\th").encode(),
    "another candidate": TABLE.replace("\td\t", "\tx\t").encode(),
    "a cell too few": TABLE.replace("d\t-1", "d").encode(),
    "a cell too many": TABLE.replace("d\t-1", "d\t-1\t0").encode(),
    "an empty score": TABLE.replace("-1", "").encode(),
    "a word for a score": TABLE.replace("-1", "low").encode(),
    "a score that is no number": TABLE.replace("-1", "nan").encode(),
    "an infinite score": TABLE.replace("-1", "-inf").encode(),
    "a score beyond all numbers": TABLE.replace("-1", "1e999").encode(),
    "a comma in a score": TABLE.replace("2.5", "2,5").encode(),
    "JSON": b'{"native": "n", "candidate": "h", "score": 2.5}\n',
    "FASTA": HOMOLOGS.encode(),
}
WHOLE_TABLES = ("a header without rows", "a row missing", "a row too many")  # without a line
MULTIPLE_FILES = {
    "x.msf": {
        "empty": "",
        "blank lines": "\n\n",
        "text": "hello\n",
        "another format": CLUSTAL,
        "no rows": MSF.partition("//")[0] + "//\n",
        "no names": MSF.replace(" Name: one", " one").replace(" Name: two", " two"),
        "a row too short": MSF.replace("A.CBAA", "A.CB"),
        "a number": MSF.replace("A.CBAA", "A.C1AA"),
        "gaps alone": MSF.replace("A.CBAA", "......"),
        "one row": "\n".join(line for line in MSF.splitlines() if "two" not in line) + "\n",
    },
    "x.sto": {
        "empty": "",
        "text": "hello\n",
        "another format": CLUSTAL,
        "no rows": "# STOCKHOLM 1.0\n//\n",
        "rows of different lengths": STOCKHOLM.replace("A-CBAA", "A-CB"),
        "one row": "# STOCKHOLM 1.0\none AC-BAA\n//\n",
        "two alignments": STOCKHOLM * 2,
        "a row twice": STOCKHOLM.replace("two", "one"),
        "gaps alone": STOCKHOLM.replace("A-CBAA", "------"),
        "a number": STOCKHOLM.replace("A-CBAA", "A-C1AA"),
    },
    "x.aln": {
        "empty": "",
        "text": "hello\n",
        "another format": STOCKHOLM,
        "no rows": "CLUSTAL W\n\n\n",
        "rows of different lengths": CLUSTAL.replace("A-CBAA", "A-CB"),
        "one row": CLUSTAL.replace("two A-CBAA\n", ""),
        "gaps alone": CLUSTAL.replace("A-CBAA", "------"),
        "a number": CLUSTAL.replace("A-CBAA", "A-C1AA"),
        "no letters": CLUSTAL.replace("one AC-BAA", "one"),
    },
    "x.fa": {
        "one row": ">a\nABC\n",
        "rows of different lengths": ">a\nABC\n>b\nAB\n",
        "no column in common": ">a\nAB--\n>b\n--BC\n",
    },
}


ANY_MULTIPLE = {
    "binary": bytes(range(256)),
    "zeros": bytes(1000),
    "truncated gzip": gzip.compress(STOCKHOLM.encode() * 50)[:40],
}
for cases in MULTIPLE_FILES.values():
    cases |= ANY_MULTIPLE
WITHOUT_LINES = (  # the file as a whole is wrong
    *("empty", "blank lines", "only comments", "truncated gzip", "damaged gzip"),
)


def located(name, file):
    """What a message about a broken file begins with: the file, and its line if there is one."""
    return rf"{re.escape(file)}: " if name in WITHOUT_LINES else rf"{re.escape(file)}:\d+: "


def test_each_reader_is_tried_with_25_broken_files():
    for files in (HOMOLOG_FILES, PAIR_FILES, MATRIX_FILES, SCORE_FILES):
        assert len(files) >= 25
    assert sum(map(len, MULTIPLE_FILES.values())) >= 25


def refusal(folder, application, files):
    """The line with which training is refused; nothing else is written."""
    options = {"name": "alignment", "alphabet": "ABC", **application}
    shown = ", ".join(f"{key}: {value}" for key, value in options.items())
    train = next(iter(files))
    (folder / "c.yaml").write_text(
        f"application: {{{shown}}}\ndata: {{train: {train}}}\nobjective: {{model: ssvm}}\n"
    )
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "old").write_text("the model that was there before")
    result = CliRunner().invoke(learn, ["c.yaml", "old", "-q"])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert sorted(os.listdir(folder)) == sorted(["c.yaml", "old", *files])
    assert (folder / "old").read_text() == "the model that was there before"
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


@pytest.fixture(autouse=True)
def _within(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", HOMOLOG_FILES)
def test_a_broken_file_of_homologs_is_refused_in_one_line(name, tmp_path):
    assert re.match(located(name, "t.fa"), refusal(tmp_path, {}, {"t.fa": HOMOLOG_FILES[name]}))


@pytest.mark.parametrize("name", PAIR_FILES)
def test_a_broken_file_of_pairs_is_refused_in_one_line(name, tmp_path):
    line = refusal(tmp_path, {"task": "pairs"}, {"t.fa": PAIR_FILES[name]})
    assert re.match(located(name, "t.fa"), line)


@pytest.mark.parametrize("name", HOMOLOG_FILES)
def test_a_broken_file_is_refused_by_prediction_as_by_training(name, tmp_path):
    expected = refusal(tmp_path, {}, {"t.fa": HOMOLOG_FILES[name]})
    (tmp_path / "good.fa").write_text(HOMOLOGS)
    (tmp_path / "c.yaml").write_text(
        "application: {name: alignment, alphabet: ABC}\ndata: {train: good.fa}\n"
        "objective: {model: ssvm}\n"
    )
    assert CliRunner().invoke(learn, ["c.yaml", "m", "-q"]).exit_code == 0
    before = sorted(os.listdir(tmp_path))
    result = CliRunner().invoke(classify, ["t.fa", "m", "out", "--format", "fasta"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [f"error: {expected}"]
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("name", SCORE_FILES)
def test_a_broken_table_of_scores_is_refused_in_one_line(name, tmp_path):
    (tmp_path / "t.fa").write_text(HOMOLOGS)
    (tmp_path / "p").write_bytes(SCORE_FILES[name])
    (tmp_path / "out").write_text("what was there before")
    before = sorted(os.listdir(tmp_path))
    words = ["score", "p", "t.fa", "--application", "alignment", "--json", "out"]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    whole = "truncated gzip" in name or "damaged gzip" in name or name in WHOLE_TABLES
    assert re.match(r"error: p: " if whole else r"error: p:\d+: ", line), line
    assert "expected " in line
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "out").read_text() == "what was there before"


@pytest.mark.parametrize("name", MATRIX_FILES)
def test_a_broken_matrix_is_refused_in_one_line(name, tmp_path):
    files = {"t.fa": HOMOLOGS, "m.txt": MATRIX_FILES[name]}
    line = refusal(tmp_path, {"prior": "m.txt"}, files)
    assert "application.prior" in line or "prior" in line
    if name not in ("not symmetric", "a letter of the alphabet missing"):
        assert re.search(located(name, "m.txt"), line)


@pytest.mark.parametrize(
    ("file", "name"), [(file, name) for file, cases in MULTIPLE_FILES.items() for name in cases]
)
def test_a_broken_multiple_alignment_is_refused_in_one_line(file, name, tmp_path):
    pytest.importorskip("Bio")
    options = {"task": "pairs", "format": "multiple"}
    line = refusal(tmp_path, options, {file: MULTIPLE_FILES[file][name]})
    assert re.match(located(name, file), line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (">n role=native\nAC1B\n", "t.fa:2: '1' is no letter; expected letters, '*' and the gaps"),
        (">n\nAC\n", "t.fa:1: record 'n' has no role; expected role=native"),
        (
            HOMOLOGS.replace("A-CB", "A-C"),
            "t.fa:3: record 'h' has 3 symbols, 'n' has 4; expected rows of one length, or no gaps",
        ),
        (
            HOMOLOGS.replace("BBC", "B-BC"),
            "t.fa:5: record 'd' has gaps; expected a sequence without gaps",
        ),
    ],
)
def test_a_message_says_where_and_what_was_expected(text, line, tmp_path):
    (tmp_path / "t.fa").write_text(text)
    with pytest.raises(DataError) as caught:
        read_homologs("t.fa")
    assert str(caught.value).startswith(line)


def test_rows_are_read_in_either_case_with_either_gap(tmp_path):
    (tmp_path / "t.fa").write_bytes(b"\xef\xbb\xbf>a one two\r\nac.\r\nB\r\n\r\n>b\nA-*B")
    found = read_gapped("t.fa")
    assert found.names == ("a", "b")
    assert found.descriptions == ("one two", "")
    assert found.row(0).tobytes() == b"AC-B"
    assert found.row(1).tobytes() == b"A-*B"
    assert found.lines.tolist() == [1, 5]
    (tmp_path / "t.fa.gz").write_bytes(gzip.compress((tmp_path / "t.fa").read_bytes()))
    assert read_aligned_pairs("t.fa.gz").symbols.tobytes() == found.symbols.tobytes()


@pytest.mark.parametrize(
    ("file", "text"), [("x.msf", MSF), ("x.sto", STOCKHOLM), ("x.aln", CLUSTAL)]
)
def test_multiple_alignments_are_read_as_aligned_fasta_is(file, text, tmp_path):
    pytest.importorskip("Bio")
    (tmp_path / file).write_text(text)
    (tmp_path / "x.fa").write_text(">one\nAC-BAA\n>two\nA-CBAA\n")
    found, plain = read_multiple(file), read_multiple("x.fa")
    assert found.names == plain.names
    assert found.symbols.tobytes() == plain.symbols.tobytes()


def test_all_pairs_of_a_multiple_alignment_are_examples(tmp_path):
    (tmp_path / "x.fa").write_text(">a\nAB--\n>b\nABC-\n>c\n--CC\n")
    app = Alignment(AlignmentOptions(task="pairs", format="multiple", alphabet="ABC"))
    examples = app.read([Source("x.fa")])
    assert examples.names == ["a b", "b c"]  # a and c have no column in common
    assert examples.partners[:2].tolist() == [0, 1]
    assert examples.partners[examples.places[2] : examples.places[3]].tolist() == [-1, -1, 0]
    again = examples.take(np.array([1]))
    assert again.sequence(0) == "ABC"
    assert again.fingerprint() == examples.slice(1, 2).fingerprint()


def test_matrices_are_written_and_read(tmp_path):
    scores = np.array([[2, -1], [-13, 4]])
    with open("m.txt", "w") as file:
        write_blast_matrix(file, "AB", scores, ["a comment"])
    found = read_blast_matrix("m.txt")
    assert found == {"A": {"A": 2.0, "B": -1.0}, "B": {"A": -13.0, "B": 4.0}}


def test_named_matrices_are_those_of_biopython():
    align = pytest.importorskip("Bio.Align")
    matrix = align.substitution_matrices.load("BLOSUM62")
    found = named_matrix("BLOSUM62")
    assert all(found[a][b] == matrix[a, b] for a in found for b in found)
    with pytest.raises(LssvmError, match="matrix 'BLOSUM6' is not known"):
        named_matrix("BLOSUM6")


def test_a_prior_by_name_is_kept_by_the_model(tmp_path):
    pytest.importorskip("Bio")
    (tmp_path / "t.fa").write_text(HOMOLOGS)
    (tmp_path / "c.yaml").write_text(
        "application: {name: alignment, prior: BLOSUM62, prior_scale: 0.1}\n"
        "data: {train: t.fa}\nobjective: {model: ssvm}\n"
    )
    for command, words in (
        (learn, ["c.yaml", "m", "-q"]),
        (main, ["show", "m", "--export", "matrix=x.txt"]),
    ):
        result = CliRunner().invoke(command, words)
        assert result.exit_code == 0, result.output
    found = read_blast_matrix("x.txt")
    assert found["F"]["F"] == 60.0  # 6 in BLOSUM62, times 0.1 and the matrix_scale 100
    assert found["W"]["W"] == 110.0


def test_the_pairs_of_a_multiple_alignment_are_read_in_parts(tmp_path, monkeypatch):
    """The parts of several files are the examples that are read at once, a few at a time."""
    rows = ["ABC-", "AB-C", "-BCA", "ABCA"]
    (tmp_path / "x.fa").write_text("".join(f">r{k}\n{row}\n" for k, row in enumerate(rows)))
    (tmp_path / "y.fa").write_text(">s\nAB\n>t\nAC\n")
    app = Alignment(AlignmentOptions(task="pairs", format="multiple", alphabet="ABC"))
    sources = [Source("x.fa", cost=2.0), Source("y.fa")]
    whole = app.read(sources)
    monkeypatch.setattr(reading, "PART", 15)
    parts = list(app.read_parts(sources))
    assert [len(part) for part in parts] == [2, 2, 2, 1]
    for name in ("identifiers", "costs", "files", "lines", "truth"):
        found = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(found, getattr(whole, name))
    for part, begin in zip(parts, (0, 2, 4, 6), strict=True):
        own = whole.take(np.arange(begin, begin + len(part)))
        assert part.fingerprint() == own.fingerprint()
