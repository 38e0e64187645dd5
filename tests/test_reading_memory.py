"""Reading takes at most two and a half times the memory of what is read, predicting none of it."""

import dataclasses
import gc
import tracemalloc

import numpy as np
import pytest
from click.testing import CliRunner

from lssvm.applications.base import Source
from lssvm.applications.multiclass.multiclass import Multiclass
from lssvm.applications.ranking.queries import read_queries
from lssvm.applications.sequence.sequence import SequenceLabelling
from lssvm.cli import classify, learn
from lssvm.formats.fasta import read_fasta
from lssvm.formats.svmlight import read_svmlight

MOST = 2.5  # times the memory of the arrays
SEQUENCE = SequenceLabelling.Options(
    columns=("word", "pos", "label"), templates=("word", "word[-1]", "pos", "suffix(word, 2)")
)


def line(rng, label, features, share, comment=""):
    kept = np.flatnonzero(rng.random(features) < share)
    return f"{label} " + " ".join(f"{i + 1}:{rng.random():.6f}" for i in kept) + f"{comment}\n"


def sparse_rows(rng):
    return "".join(line(rng, k % 5, 2_000, 0.02) for k in range(200)) * 120


def dense_queries(rng):
    lines = [line(rng, k % 3, 136, 1, f" #docid = G{k}") for k in range(200)]
    return "".join(text.replace(" ", f" qid:{copy} ", 1) for copy in range(40) for text in lines)


def columns(rng):
    words = [f"w{k}" for k in rng.zipf(1.5, 4_000) % 500]
    tokens = [f"{word} p{k % 7} {'BIO'[k % 3]}\n" for k, word in enumerate(words)]
    return "".join(text + "\n" * (k % 9 == 0) for k, text in enumerate(tokens)) * 60


def letters(rng):
    letters = "".join(np.array(list("ACGT"))[rng.integers(0, 4, 60)])
    return "".join(f">r{k} some words\n" + f"{letters}\n" * 5_000 for k in range(40))


READERS = {
    "svmlight": (sparse_rows, lambda path: read_svmlight(path, words=True)),
    "rows": (sparse_rows, lambda path: Multiclass(Multiclass.Options()).read([Source(path)])),
    "queries": (dense_queries, lambda path: read_queries([Source(path)], 1.0)),
    "columns": (columns, lambda path: SequenceLabelling(SEQUENCE).read([Source(path)])),
    "fasta": (letters, read_fasta),
}


def held(examples):
    """Bytes of all arrays."""
    values = [getattr(examples, field.name) for field in dataclasses.fields(examples)]
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


def peak(function, *arguments):
    """What a call gives, and the most bytes that were allocated during it."""
    gc.collect()
    tracemalloc.start()
    try:
        found = function(*arguments)
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", READERS)
def test_reading_takes_little_more_memory_than_what_is_read(name, tmp_path):
    make, read = READERS[name]
    path = tmp_path / "file"
    path.write_text(make(np.random.default_rng(0)), encoding="utf-8")
    examples, most = peak(read, str(path))
    assert held(examples) > 4e6
    assert most < MOST * held(examples)


def test_predicting_takes_no_more_memory_for_a_longer_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = "".join(line(rng, k % 3, 400, 0.2) for k in range(300))
    (tmp_path / "train.txt").write_text(lines, encoding="utf-8")
    (tmp_path / "c.yaml").write_text(
        "{application: {name: multiclass}, data: {train: train.txt}, objective: {C: 1}}",
        encoding="utf-8",
    )
    assert CliRunner().invoke(learn, ["c.yaml", "model", "-q"]).exit_code == 0

    def memory(copies):
        (tmp_path / "test.txt").write_text(lines * copies, encoding="utf-8")
        arguments = ["test.txt", "model", "out.txt", "-q"]
        result, most = peak(CliRunner().invoke, classify, arguments)
        assert result.exit_code == 0
        return most

    memory(1)
    some, many = memory(150), memory(450)
    assert many - some < 0.1 * some
