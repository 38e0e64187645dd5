import bz2
import gzip
import io
import lzma
import math
import os

import numpy as np
import pytest
from refusals import told

from lssvm.formats.fasta import AMBIGUOUS, read_fasta
from lssvm.formats.text import open_text

GOOD = ">one first label=+1 cost=0.5\nACGT\nacgu\n\n>two\nRYN-".replace("-", "n")


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a file in the working directory, so that messages hold its bare name."""
    monkeypatch.chdir(tmp_path)

    def _write(content, name="x.fa"):
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return name

    return _write


def test_records_are_packed_one_after_another(write):
    fasta = read_fasta(write(GOOD))
    assert list(fasta.names) == ["one", "two"]
    assert fasta.descriptions == ("first label=+1 cost=0.5", "")
    assert fasta.lines.tolist() == [1, 5]
    assert fasta.letters.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, *[AMBIGUOUS] * 4]
    assert fasta.letters.dtype == np.uint8
    assert fasta.offsets.tolist() == [0, 8, 12]
    assert fasta.offsets.dtype == np.int64
    assert fasta.labels.tolist() == [1, 0]
    assert fasta.costs[0] == 0.5
    assert math.isnan(fasta.costs[1])


def _same(first, second):
    return (
        first.letters.tolist() == second.letters.tolist()
        and first.offsets.tolist() == second.offsets.tolist()
        and list(first.names) == list(second.names)
        and first.labels.tolist() == second.labels.tolist()
    )


@pytest.mark.parametrize(
    "content",
    [
        GOOD + "\n",
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        "; a comment\n# another\n\n" + GOOD,
        GOOD.replace("ACGT\nacgu", "A\nCG\nTACGT  "),
        GOOD.lower().replace("first", "Tabbed").replace("one ", "one\t"),
        gzip.compress(GOOD.encode()),
        gzip.compress(GOOD[:20].encode()) + gzip.compress(GOOD[20:].encode()),
        bz2.compress(GOOD.encode()),
        lzma.compress(GOOD.encode()),
    ],
    ids=[
        "newline",
        "crlf",
        "bom",
        "comments",
        "wrapped",
        "tab",
        "gzip",
        "gzip-members",
        "bzip2",
        "xz",
    ],
)
def test_every_wrapping_gives_the_same_records(write, content):
    expected = read_fasta(write(GOOD, "plain.fa"))
    assert _same(read_fasta(write(content)), expected)


def test_a_dash_is_standard_input(write, monkeypatch):
    expected = read_fasta(write(GOOD))
    for data in (GOOD.encode(), gzip.compress(GOOD.encode())):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert _same(read_fasta("-"), expected)


def test_a_pipe_is_read_like_a_file(write):
    expected = read_fasta(write(GOOD))
    reader, writer = os.pipe()
    os.write(writer, gzip.compress(GOOD.encode()))
    os.close(writer)
    assert _same(read_fasta(f"/dev/fd/{reader}"), expected)
    os.close(reader)


def test_every_iupac_code_is_one_ambiguous_letter(write):
    fasta = read_fasta(write(">x\nRYSWKMBDHVNryswkmbdhvn"))
    assert fasta.letters.tolist() == [AMBIGUOUS] * 22


def test_the_wildcards_of_the_meme_suite_are_ambiguous_letters(write):
    fasta = read_fasta(write(">x\nAXxC.\nG..X\n"))
    assert fasta.letters.tolist() == [0, 4, 4, 1, 4, 2, 4, 4, 4]


def test_blanks_between_the_mark_and_the_name_are_skipped(write):
    fasta = read_fasta(write("> a  some text\nAC\n>\tb label=-1\nG\n"))
    assert list(fasta.names) == ["a", "b"]
    assert fasta.descriptions == ("some text", "label=-1")
    assert fasta.labels.tolist() == [0, -1]
    twice = ">a\nA\n> a\nC\n"
    assert told(read_fasta, write(twice)) == (
        "x.fa:3: name 'a' is given twice, first on line 1; expected distinct names"
    )


def test_words_that_are_no_labels_and_no_costs_are_text(write):
    text = (
        ">a label=enhancer cost=high\nA\n>b label=\nC\n>c label=2 label=x cost=0.5\nG\n"
        ">d label=x label=+1\nT\n"
    )
    fasta = read_fasta(write(text))
    assert fasta.labels.tolist() == [0, 0, 0, 1]
    assert fasta.unread.tolist() == ["enhancer", "", "2", ""]
    assert fasta.costs[2] == 0.5
    assert np.isnan(fasta.costs[[0, 1, 3]]).all()


def test_text_beside_a_label_is_a_wrong_cost_unless_labels_are_given(write):
    text = ">a label=+1 cost=high\nA\n"
    wrong = "x.fa:1: cost 'high' is not a number; expected one >= 0"
    assert told(read_fasta, write(text)) == wrong
    fasta = read_fasta(write(text), given=True)
    assert fasta.labels.tolist() == [1]
    assert np.isnan(fasta.costs[0])


def test_records_without_letters_are_taken_where_they_are_wanted(write):
    fasta = read_fasta(write(">a\n>b\n\n>c\nAC\n>d\n"), empty=True)
    assert fasta.offsets.tolist() == [0, 0, 0, 2, 2]
    assert list(fasta.names) == list("abcd")
    assert len(read_fasta(write(">a\n"), empty=True).letters) == 0


def test_labels_with_and_without_sign_are_read(write):
    fasta = read_fasta(write(">a label=1\nA\n>b label=-1 cost=0\nC\n>c relabel=7\nG\n"))
    assert fasta.labels.tolist() == [1, -1, 0]
    assert fasta.costs[1] == 0


MALFORMED = {
    "empty": ("", "x.fa: the file is empty; expected FASTA records"),
    "blank": ("\n  \n\n", "x.fa: the file is empty; expected FASTA records"),
    "comments": ("# nothing\n; here\n", "x.fa: no records, only comments; expected FASTA records"),
    "no-header": (
        "ACGTACGTACGTACGTACGTACGT\n",
        "x.fa:1: 'ACGTACGTACGTACGTACGT…' comes before the first header; expected '>name'",
    ),
    "late-header": (
        "\n\nAC\n>x\nA\n",
        "x.fa:3: 'AC' comes before the first header; expected '>name'",
    ),
    "no-letters": (
        ">a\nAC\n>b\n\n>c\nA\n",
        "x.fa:3: record 'b' has no letters; expected a sequence below its header",
    ),
    "last-no-letters": (
        ">a\nAC\n>b",
        "x.fa:3: record 'b' has no letters; expected a sequence below its header",
    ),
    "letter": (
        ">a\nACGT\nACZT\n",
        "x.fa:3: illegal letter 'Z'; expected A, C, G, T, U or an IUPAC code",
    ),
    "protein": (
        ">a\nMKL*\n",
        "x.fa:2: illegal letter 'L'; expected A, C, G, T, U or an IUPAC code",
    ),
    "gap": (
        ">a\nAC-T\n",
        "x.fa:2: '-' is a gap; expected sequences without gaps, not an alignment",
    ),
    "space": (">a\nAC GT\n", "x.fa:2: illegal letter ' '; expected A, C, G, T, U or an IUPAC code"),
    "latin": (">a\nACéT\n", "x.fa:2: illegal letter 'é'; expected A, C, G, T, U or an IUPAC code"),
    "greek": (">a\nACαT\n", "x.fa:2: illegal letter 'α'; expected A, C, G, T, U or an IUPAC code"),
    "late-comment": (
        ">a\nACGT\n;note\n",
        "x.fa:3: illegal letter ';'; expected A, C, G, T, U or an IUPAC code",
    ),
    "duplicate": (
        ">a x\nA\n>b\nC\n>a y\nG\n",
        "x.fa:5: name 'a' is given twice, first on line 1; expected distinct names",
    ),
    "nameless": (">\nACGT\n", "x.fa:1: the header has no name; expected '>name'"),
    "space-name": (">  \nACGT\n", "x.fa:1: the header has no name; expected '>name'"),
    "label-twice": (
        ">a label=1 label=-1\nA\n",
        "x.fa:1: 'label=' is given twice; expected it once",
    ),
    "cost-word": (
        ">a label=1 cost=dear\nA\n",
        "x.fa:1: cost 'dear' is not a number; expected one >= 0",
    ),
    "cost-empty": (
        ">a cost= label=1\nA\n",
        "x.fa:1: cost '' is not a number; expected one >= 0",
    ),
    "cost-twice": (">a cost=1 cost=2\nA\n", "x.fa:1: 'cost=' is given twice; expected it once"),
    "cost-nan": (
        ">a cost=nan\nA\n",
        "x.fa:1: cost 'nan' is out of range; expected a finite number >= 0",
    ),
    "cost-negative": (
        ">a\nA\n>b cost=-1\nC\n",
        "x.fa:3: cost '-1' is out of range; expected a finite number >= 0",
    ),
    "cost-infinite": (
        ">a cost=inf\nA\n",
        "x.fa:1: cost 'inf' is out of range; expected a finite number >= 0",
    ),
    "binary": (b">a\nAC\xff\n", "x.fa:2: byte 0xff is not UTF-8; expected text"),
    "utf-16": (">a\nACGT\n".encode("utf-16"), "x.fa:1: byte 0xff is not UTF-8; expected text"),
    "nul": (
        b">a\nAC\x00T\n",
        "x.fa:2: byte 0x00 is not text; expected text",
    ),
    "gzip-short": (
        gzip.compress(GOOD.encode())[:-9],
        "x.fa: the gzip stream is cut short or damaged; expected a complete gzip file",
    ),
    "gzip-head": (
        b"\x1f\x8b",
        "x.fa: the gzip stream is cut short or damaged; expected a complete gzip file",
    ),
    "gzip-crc": (
        gzip.compress(GOOD.encode())[:-8] + bytes(8),
        "x.fa: the gzip stream is cut short or damaged; expected a complete gzip file",
    ),
    "bzip2-damaged": (
        bz2.compress(GOOD.encode())[:10] + b"nonsense" * 4,
        "x.fa: the bzip2 stream is cut short or damaged; expected a complete bzip2 file",
    ),
    "xz-short": (
        lzma.compress(GOOD.encode())[:-20],
        "x.fa: the xz stream is cut short or damaged; expected a complete xz file",
    ),
}


@pytest.mark.parametrize(("content", "message"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_file_gives_one_clear_line(write, content, message):
    assert told(read_fasta, write(content)) == message


def test_missing_file_and_directory_are_named(write, tmp_path):
    write("")
    (tmp_path / "folder").mkdir()
    for name, reason in {
        "none.fa": "No such file or directory",
        "folder": "Is a directory",
    }.items():
        assert told(read_fasta, name) == f"{name}: cannot be read: {reason}; expected a file"


def test_lines_are_numbered_from_one_without_their_ends(write):
    with open_text(write("a\r\n\nb \r\n c")) as lines:
        assert list(lines) == [(1, "a"), (2, ""), (3, "b "), (4, " c")]
