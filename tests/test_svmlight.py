import bz2
import gzip
import io
import lzma
import os
import time
from pathlib import Path

import numpy as np
import pytest
from refusals import told

from lssvm.formats.svmlight import read_svmlight

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data"))
LETOR = pytest.mark.skipif(
    not (DATA / "letor3-ohsumed").is_dir(),
    reason=f"no folder letor3-ohsumed in LSSVM_DATA ({DATA})",
)

RANKING = """\
# LETOR has none of these, svm_rank allows them
2 qid:7 1:0.5 3:-1e-2 # docid = GX1 inc = 1

0 qid:9 2:1#second
1 qid:7
"""

BROKEN = {
    "a label that is none": ("good qid:1 1:2", "label 'good' is not a number"),
    "no label": ("qid:1 1:2", "label 'qid:1' is not a number"),
    "a label that is not finite": ("nan qid:1 1:2", "label 'nan' is not finite"),
    "a label too large": ("1e999 qid:1 1:2", "label '1e999' is too large"),
    "an underscore": ("1_0 qid:1 1:2", "label '1_0' is not a number"),
    "digits of another script": ("1 qid:1 ١:2", "'١:2' is not a feature"),
    "an empty qid": ("1 qid: 1:2", "'qid:' names no query"),
    "a qid too late": ("1 1:2 qid:3", "'qid:3' is not a feature"),
    "a feature without a value": ("1 qid:1 1:", "value of feature 1 '' is not a number"),
    "a feature without an index": ("1 qid:1 :2", "':2' is not a feature"),
    "a feature without a colon": ("1 qid:1 1=2", "'1=2' is not a feature"),
    "a feature of three parts": ("1 qid:1 1:2:3", "value of feature 1 '2:3' is not a number"),
    "three parts made up for by one": ("1 1:2:3 4", "value of feature 1 '2:3' is not a number"),
    "a value of words": ("1 1:2 2:two", "value of feature 2 'two' is not a number"),
    "a value that is not finite": ("1 1:NaN", "value of feature 1 'NaN' is not finite"),
    "an infinite value": ("1 1:-Infinity", "value of feature 1 '-Infinity' is not finite"),
    "a value too large": ("1 1:1e400", "value of feature 1 '1e400' is too large"),
    "a value in hexadecimal": ("1 1:0x1p3", "value of feature 1 '0x1p3' is not a number"),
    "index 0": ("1 0:2", "index '0' is out of range"),
    "a negative index": ("1 -1:2", "'-1:2' is not a feature"),
    "an index that is too high": ("1 2147483648:1", "index '2147483648' is out of range"),
    "an endless index": ("1 " + "9" * 5000 + ":1", "index '99999999999999999999…' is out of range"),
    "a fractional index": ("1 1.5:2", "'1.5:2' is not a feature"),
    "an index twice": ("1 3:1 3:2", "index 3 follows 3; expected increasing indices"),
    "indices that decrease": ("1 3:1 2:2", "index 2 follows 3; expected increasing indices"),
}


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return read_svmlight(path)


def test_labels_queries_features_and_comments_are_read(tmp_path):
    found = write(tmp_path / "x", RANKING)
    assert found.labels.tolist() == [2.0, 0.0, 1.0]
    assert found.names == ("7", "9")
    assert found.queries.tolist() == [0, 1, 0]
    assert found.offsets.tolist() == [0, 2, 3, 3]
    assert found.indices.tolist() == [0, 2, 1]
    assert found.values.tolist() == [0.5, -0.01, 1.0]
    assert found.comments == ("docid = GX1 inc = 1", "second", "")
    assert found.lines.tolist() == [2, 4, 5]
    assert found.dimension == 3
    assert (found.indices.dtype, found.offsets.dtype) == (np.int32, np.int64)


def test_queries_may_be_left_out(tmp_path):
    found = write(tmp_path / "x", "3 1:1\n-1.5 2:1 4:0.25\n+2\n")
    assert found.labels.tolist() == [3.0, -1.5, 2.0]
    assert found.queries.tolist() == [-1, -1, -1]
    assert found.names == ()
    assert found.dimension == 4


def test_values_are_those_that_python_reads(tmp_path):
    rng = np.random.default_rng(0)
    values = [*rng.normal(size=200) * 10.0 ** rng.integers(-300, 300, 200), 5e-324, 1e308, 1e308]
    text = "1 " + " ".join(f"{i}:{value!r}" for i, value in enumerate(map(float, values), 1))
    np.testing.assert_array_equal(write(tmp_path / "x", text).values, values)


def test_numbers_may_be_written_in_every_usual_way(tmp_path):
    found = write(tmp_path / "x", "1 1:.5 2:5. 3:+1E2 4:-0 5:007")
    assert found.values.tolist() == [0.5, 5.0, 100.0, 0.0, 7.0]


def test_a_qid_may_hold_any_characters_but_blanks(tmp_path):
    found = write(tmp_path / "x", "1 qid:a_b 1:1\n1 qid:é:7 1:1\n")
    assert found.names == ("a_b", "é:7")


@pytest.mark.parametrize("packed", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files_windows_lines_and_byte_order_marks_are_read(tmp_path, packed):
    text = "\ufeff" + RANKING.replace("\n", "\r\n").removesuffix("\r\n")
    (tmp_path / "x").write_bytes(packed(text.encode()))
    assert read_svmlight(tmp_path / "x").labels.tolist() == [2.0, 0.0, 1.0]


def test_standard_input_is_read(monkeypatch):
    class Input:
        buffer = io.BytesIO(RANKING.encode())

    monkeypatch.setattr("sys.stdin", Input)
    assert read_svmlight("-").labels.tolist() == [2.0, 0.0, 1.0]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_line_gives_its_place_and_what_was_expected(tmp_path, name):
    line, wrong = BROKEN[name]
    path = tmp_path / "x"
    message = told(write, path, f"1 qid:1 1:1\n# comment\n{line}\n")
    assert message.startswith(f"{path}:3: {wrong}")
    assert "; expected " in message


@pytest.mark.parametrize("content", ["", "\n\n", "# only a comment\n"])
def test_a_file_without_rows_is_refused(tmp_path, content):
    expected = f"{tmp_path / 'x'}: no rows; expected 'label qid:ID index:value …'"
    assert told(write, tmp_path / "x", content) == expected


@LETOR
def test_a_real_file_is_as_scikit_learn_reads_it():
    datasets = pytest.importorskip("sklearn.datasets")
    path = DATA / "letor3-ohsumed" / "S1.txt.gz"
    found = read_svmlight(path)
    with gzip.open(path) as file:
        rows, labels, queries = datasets.load_svmlight_file(file, query_id=True, zero_based=False)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_array_equal([int(found.names[q]) for q in found.queries], queries)
    np.testing.assert_array_equal(found.offsets, rows.indptr)
    np.testing.assert_array_equal(found.indices, rows.indices)
    np.testing.assert_array_equal(found.values, rows.data)


@LETOR
def test_reading_a_real_file_takes_at_most_a_second():
    began = time.process_time()
    found = read_svmlight(DATA / "letor3-ohsumed" / "S3.txt.gz")
    assert time.process_time() - began < 1.0
    assert len(found.labels) == 3573
