"""Files that are larger than they look, or claim to be: refused before memory is taken."""

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
import time
import tracemalloc
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from refusals import told

from lssvm.applications.base import Source
from lssvm.applications.sequence import reading
from lssvm.cli import classify, learn, main
from lssvm.config import Config
from lssvm.errors import DataError
from lssvm.formats.fasta import read_fasta
from lssvm.formats.limit import Limit
from lssvm.formats.loss_matrix import read_loss_matrix
from lssvm.formats.svmlight import read_svmlight
from lssvm.formats.text import open_text

FASTA = ">a label=+1\nACGTACGT\n>b label=-1\nTTTTTTTT\n"
PACKED = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
KEYED = Limit(1.0, "data.max_mb")


def lines_of(path, *limits):
    with open_text(path, *limits) as lines:
        return list(lines)


def refusal(command, *arguments):
    """The one line with which a command ends, exit code 2."""
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2, result.exception
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line.removeprefix("error: ")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.fa").write_text(FASTA)
    (tmp_path / "c.yaml").write_text(
        "application: {name: motif, length: 4}\ndata: {train: train.fa}\n"
    )
    return tmp_path


@pytest.mark.parametrize("kind", PACKED)
def test_a_line_that_is_packed_well_is_unpacked_up_to_the_limit_alone(kind, tmp_path):
    (tmp_path / "x").write_bytes(PACKED[kind](b"A" * 50_000_000))
    tracemalloc.start()
    message = told(lines_of, tmp_path / "x", KEYED, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    expected = "it takes more than 1 MB; expected at most that (data.max_mb raises the limit)"
    assert message == f"{tmp_path}/x: {expected}"
    assert peak < 20_000_000


def test_a_file_of_exactly_the_limit_is_read(tmp_path):
    (tmp_path / "x").write_bytes(gzip.compress(b"A" * 999_999 + b"\n"))
    assert lines_of(tmp_path / "x", KEYED) == [(1, "A" * 999_999)]
    (tmp_path / "x").write_bytes(gzip.compress(b"A" * 1_000_000 + b"\n"))
    assert "more than 1 MB" in told(lines_of, tmp_path / "x", KEYED)


def test_a_plain_file_is_refused_by_its_size_and_without_a_key_by_the_default(tmp_path):
    (tmp_path / "x").touch()
    os.truncate(tmp_path / "x", 1_000_000_001)
    expected = f"{tmp_path}/x: it takes more than 1,000 MB; expected at most that"
    assert told(lines_of, tmp_path / "x") == expected


@pytest.mark.parametrize("size", [1, 262_143, 262_144, 262_145, 700_000])
def test_lines_are_those_of_python_whatever_their_length(size, tmp_path):
    text = f"a\r\n\n{'ä' * size}\nb\r\r\n{'c' * size}\n\nend"
    (tmp_path / "x").write_text(text, newline="")
    with open(tmp_path / "x", newline="\n", encoding="utf-8") as file:
        expected = list(enumerate((line.rstrip("\r\n") for line in file), 1))
    assert lines_of(tmp_path / "x") == expected


def test_sequences_stand_on_lines_of_any_length_and_words_do_not(tmp_path):
    letters = "ACGT" * 8_250_000  # longer than the longest line of words
    (tmp_path / "x.fa").write_text(f">a\n{letters}\n")
    assert len(read_fasta(tmp_path / "x.fa").letters) == len(letters)
    (tmp_path / "x").write_text(f"1 1:1\n{letters}\n")
    message = f"{tmp_path}/x:2: the line is longer than 32 MB; expected a shorter line"
    assert told(read_svmlight, tmp_path / "x") == message


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/null"])
def test_a_device_is_no_data(device, folder):
    if not os.path.exists(device):
        pytest.skip("there is no such device")
    assert refusal(learn, "c.yaml", "m", "--set", f"data.train={device}") == (
        f"{device}: is a device; expected a file"
    )


def written(path, pieces):
    """A pipe with a name into which the pieces are written until nobody reads."""

    def write():
        with open(path, "wb", buffering=0) as file:
            try:
                for piece in pieces:
                    file.write(piece)
            except BrokenPipeError:
                pass

    os.mkfifo(path)
    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def test_a_pipe_is_data_and_ends_at_the_limit(tmp_path):
    thread = written(tmp_path / "good", [b"a\n", gzip.compress(b"")[:0], b"b\nc"])
    assert lines_of(tmp_path / "good") == [(1, "a"), (2, "b"), (3, "c")]
    thread.join()
    thread = written(tmp_path / "endless", iter(lambda: bytes(65536), None))
    assert "more than 1 MB" in told(lines_of, tmp_path / "endless", KEYED)
    thread.join()


class Endless(io.RawIOBase):
    def readable(self):
        return True

    def readinto(self, buffer):
        buffer[:] = b"A" * len(buffer)
        return len(buffer)


def test_standard_input_ends_at_the_limit(monkeypatch):
    stdin = SimpleNamespace(buffer=io.BufferedReader(Endless()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert "more than 1 MB" in told(lines_of, "-", KEYED)


def test_standard_input_is_read_from_where_it_stands(monkeypatch, tmp_path):
    (tmp_path / "x").write_bytes(b"header\nbody\n")
    with open(tmp_path / "x", "rb") as file:
        file.readline()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=file))
        assert lines_of("-") == [(1, "body")]


def test_the_configuration_and_the_command_set_the_limit(folder):
    wrong = "it takes more than 1e-05 MB; expected at most that"
    line = refusal(learn, "c.yaml", "m", "-q", "--set", "data.max_mb=1e-5")
    assert line == f"train.fa: {wrong} (data.max_mb raises the limit)"
    assert CliRunner().invoke(learn, ["c.yaml", "m", "-q"]).exit_code in (0, 3)
    line = refusal(classify, "train.fa", "m", "p", "--max-mb", "1e-5")
    assert line == f"train.fa: {wrong} (--max-mb raises the limit)"
    (folder / "t.yaml").write_text(
        "application: {name: motif, length: 4}\ndata: {test: train.fa, max_mb: 1e-5}\n"
    )
    assert "data.max_mb" in refusal(classify, "t.yaml", "m", "p")
    done = CliRunner().invoke(classify, ["t.yaml", "m", "p", "--max-mb", "1"])
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf"])
def test_a_limit_is_a_finite_number_above_0(value, folder):
    CliRunner().invoke(learn, ["c.yaml", "m", "-q"])
    line = refusal(classify, "train.fa", "m", "p", "--max-mb", value)
    assert line == f"--max-mb {value}: expected a number greater than 0, at most 1e9"
    assert "max_mb" in refusal(learn, "c.yaml", "m", "--set", f"data.max_mb={value}")


WIDE = {
    "multiclass": ("a 1:1\nb 2000000000:1\n", ":2: feature 2,000,000,000: a model of 2 columns"),
    "precision_at_k": ("1 qid:1 1:1\n0 qid:1 2000000000:1\n", ":2: feature 2,000,000,000 is too"),
    "mrf": ("node a y 100 0 1000000:1\n", ": data.train: a model of 100,000,000 weights takes"),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_number_in_a_file_makes_no_model_larger_than_the_limit(name, folder):
    text, message = WIDE[name]
    (folder / "x").write_text(text)
    (folder / "c.yaml").write_text(
        f"application: {{name: {name}}}\ndata: {{train: x, max_mb: 100}}\n"
    )
    for command, arguments in (
        (learn, ("c.yaml", "m", "-q")),
        (learn, ("c.yaml", "m", "--dry-run")),
        (main, ("check", "c.yaml")),
    ):
        assert message in refusal(command, *arguments)


def test_labels_of_sequences_are_counted_before_their_pairs_take_memory(folder, monkeypatch):
    monkeypatch.setattr(reading, "MOST_LABELS", 2)
    (folder / "x").write_text("a A\nb B\n\nc C\n")
    (folder / "c.yaml").write_text(
        "application: {name: sequence, columns: [word, tag]}\ndata: {train: x}\n"
    )
    assert refusal(learn, "c.yaml", "m") == "x: 3 different labels; expected at most 2"


def test_every_application_hands_the_limit_to_its_reader(folder):
    (folder / "x").write_text("a" * 200)
    for name in ("motif", "precision_at_k", "sequence", "coreference", "multiclass", "mrf"):
        options = {"name": name, **({"length": 4} if name == "motif" else {})}
        application = Config.from_dict({"application": options}).create_application()
        source = Source("x", limit=Limit(1e-4, "the key"))
        assert "the key raises the limit" in told(application.read, [source], kind=DataError)


def test_a_header_of_many_labels_is_read_in_time(tmp_path):
    (tmp_path / "x").write_text(" ".join(map(str, range(200_000))) + "\n")
    began = time.process_time()
    assert "no row for label '0'" in told(read_loss_matrix, tmp_path / "x")
    assert time.process_time() - began < 5  # it would be many minutes, were it quadratic
