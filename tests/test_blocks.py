"""What compiled code reads of a file is what Python reads of it, to the bit, errors in words."""

import bz2
import dataclasses
import gzip
import lzma
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lssvm.errors import DataError
from lssvm.formats import blocks, conll_columns, fasta, mrf_text, svm_hmm, svmlight
from lssvm.formats.limit import Limit

# How numbers are and are not written: exact and rounded ones, those at the ends of the range.
NUMBERS = [
    *("0", "-0", "+1", "007", ".5", "5.", "1e3", "-1E+2", "1e-3", "12345678901234567890", "1e22"),
    *("9007199254740993", "9007199254740992", "9007199254740993e0", "1e23", "123456789e-23"),
    *("0.30000000000000004", "1.7976931348623157e308", "5e-324", "2.2250738585072011e-308"),
    *("1e-400", "-1e-400", "0e999", "0.000000000000000000001", "18446744073709551616", "1e0000022"),
    *("1" + "0" * 40 + "e-40", "." + "0" * 40 + "1e41", "1e0000000000000000000005", "1e400"),
    *(
        "-1e400",
        "nan",
        "inf",
        "-Infinity",
        "1_000",
        "0x1p3",
        "١",
        "1e",
        "1e+",
        "e5",
        ".",
        "+",
        "--1",
    ),
    *("", "1.2.3", "1e5.5", "1d5", "1\xa0", "1\x0c"),
]
INDICES = [
    "1",
    "2",
    "3",
    "12",
    "007",
    "2147483647",
    "2147483648",
    "99999999999",
    "0",
    "-1",
    "x",
    "",
]
BLANKS = [" ", "\t", "  ", " \t ", "\x0b", "\x0c", "\xa0", "\u3000", "\x1c", "\r"]
LABELS = [
    "é\xa0",
    "né",
    "\u2003x",
    "日本",
    "x\x85",
    "\ufeff1",
    "ñ:1",
    "1",
    "-1",
    "+1",
    "?",
    "1.0",
    "2e0",
    "dog",
    "a,b",
    "nan",
    "??",
    "1:1",
    "qid:1",
    "é",
    "1#",
]
QUERIES = ["qid:1", "qid:2", "qid:a:b", "qid:é", "qid:", "qid:1#x", "QID:1", ""]
COMMENTS = ["", "# docid = GX1 ", "#", "#é", "#\xa0x\xa0", "#\x00", "##", "# a # b", "#\t x \r"]
ENDS = ["\n", "\n", "\n", "\r\n", "\r\r\n", "\n\n", "\n# only\n", "", "\x00\n", "\ufeff\n", "\r"]


def mostly(usual, others):
    """Values of a strategy nine times out of ten, else one of a list."""
    return st.integers(0, 9).flatmap(lambda n: st.sampled_from(others) if n == 0 else usual)


blank = mostly(st.just(" "), BLANKS)
number = mostly(st.sampled_from(NUMBERS[:26]) | st.floats().map(repr), NUMBERS)
pairs = st.lists(
    st.builds(
        "{}{}{}{}".format,
        blank,
        mostly(st.integers(1, 99), INDICES),
        mostly(st.just(":"), ["", " :", "::"]),
        number,
    ),
    max_size=4,
)
sorted_pairs = st.lists(
    st.tuples(st.integers(1, 99), number), max_size=4, unique_by=lambda p: p[0]
).map(lambda found: [f" {i}:{x}" for i, x in sorted(found)])


@st.composite
def rows(draw):
    """A line of labels and features, plain or damaged."""
    label = draw(mostly(st.sampled_from(LABELS[1:13:2]), LABELS))
    query = draw(mostly(st.sampled_from(QUERIES[:2]), QUERIES))
    features = "".join(draw(mostly(sorted_pairs, [[]]) | pairs))
    parts = (label, draw(blank), query, features, draw(mostly(st.just(""), COMMENTS)))
    return draw(mostly(st.just(""), BLANKS)) + "".join(parts) + draw(mostly(st.just("\n"), ENDS))


texts = st.lists(rows(), max_size=6).map("".join)
sequences = st.lists(
    st.builds(
        "{} qid:{} 1:{}{}".format,
        st.sampled_from("ab?"),
        st.integers(1, 3),
        number,
        st.sampled_from(["\n", " #é\n", "\x0b\n"]),
    ),
    max_size=8,
).map("".join)
LINES = [
    *(">a", ">b x y", ">c label=+1 cost=2", "> d", ">", ">e é", ">f\x00", ">g cost=x label=-1"),
    *("AC GT", " ACGT", "AC>GT", "AC-GT", "é", "A\xa0", "A\xa0C", "ACGT\x00", "A\rC", "\ufeff>h"),
    *("", " ", "# c", "; c", "\xa0", "A\x0c"),
]
plain_lines = st.text("ACGTacgtuNRx.", min_size=1) | st.integers(0, 99).map(">r{} some".format)
fasta_lines = mostly(plain_lines, LINES)
fastas = st.lists(st.tuples(fasta_lines, mostly(st.just("\n"), ENDS)).map("".join), max_size=12)
fasta_texts = st.tuples(mostly(st.just(">z\n"), [""]), fastas).map(lambda t: t[0] + "".join(t[1]))


CELLS = ["a", "é", "B-LOC", "#", "\xa0", "x\ry", "a\x0bb", "\x00", "", "-DOCSTART-", "?"]
BREAKS = ["", "", " ", " \t", "-DOCSTART- x", "-DOCSTART-x a b", " -DOCSTART-\t", "-DOCSTART-"]
cell = mostly(st.sampled_from(CELLS[:5]) | st.text("ab", min_size=1), CELLS)


@st.composite
def tables(draw):
    """Lines of three columns, or two, separated by blanks or tabs, plain or damaged."""
    between = draw(st.sampled_from([" ", "\t", "  ", " \t "]))
    width = draw(st.sampled_from([3, 3, 2, 1]))
    row = st.lists(cell, min_size=width, max_size=width) | st.just(["a"] * width)
    line = mostly(row.map(between.join), ["a b c", "a\tb\tc", "a", " a b c ", "a\tb ", "\ta\tb"])
    lines = st.lists(st.tuples(mostly(line, BREAKS), mostly(st.just("\n"), ENDS)), max_size=12)
    return "".join(map("".join, draw(lines)))


GRAPHS = [
    *("graph g", "graph h cost=2", "graph", "# c", "#é", "node a", "edge a b", "nodes a b", "é"),
    *("node a y 2 2", "node a y 0 0", "edge a a k", "edge a z k", "node\x0ba y 2 1", "graph é"),
    *("node c y 2 1 #", "node d y 2 1 1:1#x", "node é y 2 0 1:1", "edge a b k 1:1 1:2", "\x00"),
]
node = st.builds(
    "node {} y 3 {}{}".format,
    st.integers(10, 99),
    st.sampled_from("012?-"),
    mostly(sorted_pairs.map("".join), [" 0:1", " 1:x", " "]),
)
edge = st.builds(
    "edge {} {} k{}".format,
    st.integers(0, 3),
    st.integers(4, 8),
    mostly(sorted_pairs.map("".join), ["", " 1:1 1:1"]),
)
graph_line = mostly(node | node | edge, [*GRAPHS, ""])
graph_lines = st.lists(st.tuples(graph_line, mostly(st.just("\n"), ENDS)).map("".join), max_size=9)
FIRST = "".join(f"node {name} y 3 ? 1:0.5\n" for name in range(9))
graphs = st.tuples(mostly(st.just(FIRST), [""]), graph_lines).map(lambda t: t[0] + "".join(t[1]))


def graph_file(path):
    """A file of graphs as plain values."""
    found = mrf_text.read_graphs(path)
    flat = {part.name: getattr(found, part.name) for part in dataclasses.fields(found)}
    for which in ("node_features", "edge_features"):
        rows = flat.pop(which)
        flat |= {f"{which}_{name}": getattr(rows, name) for name in ("starts", "indices", "values")}
    flat.pop("pictures")
    return dataclasses.make_dataclass("Graphs", flat)(**flat)


def columns(path):
    """A column file as plain values."""
    found = conll_columns.read_columns(path, ("word", "pos", "label"), optional=1)
    return Plain(found.values, tuple(found.rows), found.offsets, found.lines)


@dataclasses.dataclass
class Plain:
    values: tuple
    rows: tuple
    offsets: np.ndarray
    lines: np.ndarray


READERS = {
    "svmlight": (svmlight, svmlight.read_svmlight, texts),
    "svmlight of words": (svmlight, lambda path: svmlight.read_svmlight(path, words=True), texts),
    "svm_hmm": (svm_hmm, svm_hmm.read_svm_hmm, texts | sequences),
    "columns": (conll_columns, columns, tables()),
    "graphs": (mrf_text, graph_file, graphs),
    "fasta": (fasta, fasta.read_fasta, fasta_texts),
    "fasta with labels": (fasta, lambda path: fasta.read_fasta(path, given=True), fasta_texts),
    "fasta without letters": (fasta, lambda path: fasta.read_fasta(path, empty=True), fasta_texts),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("blocks") / "file"


def outcome(reader, path, limit=None):
    """What was read, field by field, or what was said."""
    try:
        found = reader(path) if limit is None else reader(path, limit=limit)
    except DataError as error:
        return str(error)
    return {
        field.name: (value.dtype.str, value.shape, value.tobytes())
        if isinstance(value := getattr(found, field.name), np.ndarray) and value.dtype != object
        else value
        if isinstance(value, int)
        else list(value)
        for field in dataclasses.fields(found)
    }


def by_lines(module, read):
    """What a reader gives where compiled code understands nothing."""

    def understood_nothing(path, limit, compiled, line, **options):
        return blocks.read_blocks(path, limit, lambda block, at, number: (at, 0), line, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "read_blocks", understood_nothing)
        return read()


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_compiled_code_reads_what_python_reads(name, path, data):
    module, reader, strategy = READERS[name]
    path.write_bytes(data.draw(strategy).encode())
    assert outcome(reader, path) == by_lines(module, lambda: outcome(reader, path))


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_bytes_that_are_no_text_are_told_alike(name, path, data):
    module, reader, strategy = READERS[name]
    before, after = data.draw(strategy), data.draw(strategy)
    path.write_bytes(before.encode() + data.draw(st.binary(max_size=3)) + after.encode())
    assert outcome(reader, path) == by_lines(module, lambda: outcome(reader, path))


@given(st.text("0123456789+-.eE_xn", min_size=1, max_size=30) | st.floats().map(repr))
def test_numbers_are_those_of_float(path, word):
    path.write_text(f"1 1:{word}\n", encoding="utf-8")
    found = outcome(svmlight.read_svmlight, path)
    if not isinstance(found, str):
        assert found["values"][2] == np.float64(float(word)).tobytes()
    assert found == by_lines(svmlight, lambda: outcome(svmlight.read_svmlight, path))


@pytest.mark.parametrize("digits", [15, 16, 17, 18, 19, 20])
def test_many_numbers_of_all_lengths_are_those_of_float(path, digits):
    rng = np.random.default_rng(digits)
    whole = rng.integers(0, 10, (5_000, digits)).tolist()
    exponents = rng.integers(-40, 40, len(whole)).tolist()
    words = ["".join(map(str, own)) + f"e{e}" for own, e in zip(whole, exponents, strict=True)]
    path.write_text("1" + "".join(f" {i}:{w}" for i, w in enumerate(words, 1)), encoding="utf-8")
    found = svmlight.read_svmlight(path).values
    np.testing.assert_array_equal(
        found.view(np.int64), np.array(list(map(float, words))).view(np.int64)
    )


def many_rows():
    """Lines of an SVM-light file of several blocks, a few of which are not plain."""
    rng = np.random.default_rng(0)
    lines = [
        f"{i % 7} qid:{i // 10} "
        + " ".join(f"{j}:{x!r}" for j, x in enumerate(rng.normal(size=i % 40).tolist(), 1))
        for i in range(2_000)
    ]
    lines[500] += " # é"
    lines[700] = "# é"
    return "\n".join(lines)


LONG = {
    "svmlight": many_rows,
    "svmlight of words": many_rows,
    "svm_hmm": many_rows,
    "columns": lambda: "".join(
        f"w{i} é{i % 7} L{i % 3}\n" + "\n" * (i % 11 == 0) for i in range(40_000)
    ),
    "graphs": lambda: "".join(
        f"node n{i} y 3 ? 1:{i}.5\n"
        + f"edge n{i} n{i - 1} k\n" * (i % 50 > 0)
        + "#é\n" * (i % 99 == 7)
        for i in range(15_000)
    ),
    "fasta": lambda: "".join(f">r{i} é\nACGTNACGT\nAC \n" for i in range(25_000)),
}


@pytest.mark.parametrize("name", LONG)
def test_files_of_many_blocks_are_read_alike_however_they_are_compressed(path, name):
    module, reader, _ = READERS[name]
    text = LONG[name]()
    assert len(text) > 500_000
    path.write_text(text, encoding="utf-8")
    expected = by_lines(module, lambda: outcome(reader, path))
    assert not isinstance(expected, str)
    for packed in (bytes, gzip.compress, bz2.compress, lzma.compress):
        path.write_bytes(packed(text.encode()))
        assert outcome(reader, path) == expected, packed


def test_standard_input_is_read_as_a_file_is(path):
    path.write_text("1 qid:1 1:0.5 # é\n" * 30_000, encoding="utf-8")
    code = (
        "from lssvm.formats.svmlight import read_svmlight\n"
        "found = read_svmlight('-')\n"
        "print(len(found.labels), ascii(found.comments[-1]))"
    )
    with open(path, "rb") as file:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdin=file,
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout == "30000 '\\xe9'\n"


@pytest.mark.parametrize("megabytes", [0.1, 0.27, 0.6])
def test_limits_are_kept_at_the_same_line(path, megabytes):
    good = "1 1:1\n" * 80_000
    for text in (good, good + "wrong line\n", "1 1:1 1:1\n" + good, good[:240_000] + "x\n" + good):
        path.write_text(text, encoding="utf-8")
        limit = Limit(megabytes)
        found = outcome(svmlight.read_svmlight, path, limit)
        assert found == by_lines(
            svmlight, lambda limit=limit: outcome(svmlight.read_svmlight, path, limit)
        )


@pytest.mark.parametrize("width", [60, 300_000, 900_000])
def test_letters_of_many_blocks_are_read_whatever_the_lines(path, width):
    rng = np.random.default_rng(width)
    text = "".join(np.array(list("ACGTN"))[rng.integers(0, 5, 900_000)])
    lines = [text[at : at + width] for at in range(0, len(text), width)]
    records = "".join(f">r{i} {i}\nAC\n" for i in range(20_000))
    path.write_text(">a\n" + "\n".join(lines) + " \n" + records, encoding="utf-8")
    found = fasta.read_fasta(path)
    assert np.array(list("ACGTN"))[found.letters[:900_000]].tolist() == list(text)
    assert found.offsets.tolist() == [0, *range(900_000, 940_001, 2)]
    assert found.descriptions == ("", *(str(i) for i in range(20_000)))
    assert found.lines.tolist() == [1, *range(2 + len(lines), 2 + len(lines) + 40_000, 2)]
