"""Broken files through the real commands: one line each, exit code 2, nothing left behind."""

import bz2
import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lssvm.applications.base import Source
from lssvm.cli import classify, learn, main
from lssvm.config import Config
from lssvm.model import Model

CONFIG = """\
application: {name: motif, length: 4}
data:
  train: train.fa
cccp: {max_iterations: 2}
"""
FASTA = ">a label=+1\nACGTACGT\n>b label=-1\nTTTTTTTT\n"
MODEL = "the good model that was there before"

FASTA_FILES = {
    "empty": b"",
    "blank lines": b"\n\n\n",
    "only comments": b"; nothing\n# at all\n",
    "letters before the first header": b"ACGT\n>a label=+1\nACGTACGT\n",
    "binary": bytes(range(256)),
    "zeros": bytes(1000),
    "not UTF-8": b">a\xff label=+1\nACGTACGT\n",
    "truncated gzip": gzip.compress(FASTA.encode() * 50)[:40],
    "damaged gzip": gzip.compress(FASTA.encode() * 50)[:-9] + b"xxxxxxxxx",
    "truncated bzip2": bz2.compress(FASTA.encode() * 50)[:40],
    "truncated xz": b"\xfd7zXZ\x00\x00\x04",
    "a record without letters": b">a label=+1\n>b label=-1\nACGTACGT\n",
    "a last record without letters": b">a label=+1\nACGTACGT\n>b label=-1\n",
    "a letter that is none": b">a label=+1\nACGTACJT\n>b label=-1\nACGT\n",
    "a number among the letters": b">a label=+1\nACGT1ACGT\n",
    "a gap": b">a label=+1\nACGT-ACGT\n",
    "the same name twice": b">a label=+1\nACGTACGT\n>a label=-1\nTTTTTTTT\n",
    "a header without a name": b">\nACGTACGT\n",
    "no labels": b">a\nACGTACGT\n>b\nTTTTTTTT\n",
    "a label missing": b">a label=+1\nACGTACGT\n>b\nTTTTTTTT\n",
    "a label of three": b">a label=3\nACGTACGT\n>b label=-1\nTTTTTTTT\n",
    "a label of words": b">a label=yes\nACGTACGT\n>b label=-1\nTTTTTTTT\n",
    "an empty label": b">a label=\nACGTACGT\n>b label=-1\nTTTTTTTT\n",
    "a cost that is not a number": b">a label=+1 cost=NaN\nACGTACGT\n>b label=-1\nTTTTTTTT\n",
    "a negative cost": b">a label=+1 cost=-1\nACGTACGT\n>b label=-1\nTTTTTTTT\n",
    "an infinite cost": b">a label=+1 cost=inf\nACGTACGT\n>b label=-1\nTTTTTTTT\n",
    "a cost of words": b">a label=+1 cost=dear\nACGTACGT\n>b label=-1\nTTTTTTTT\n",
    "a positive shorter than the motif": b">a label=+1\nACG\n>b label=-1\nTTTTTTTT\n",
    "a positive without a window": b">a label=+1\nACNACNACN\n>b label=-1\nTTTTTTTT\n",
}

CONFIG_FILES = {
    "empty": "",
    "text": "hello\n",
    "a list": "- application\n",
    "binary": b"\x89PNG\r\n\x1a\n\x00\x00",
    "not UTF-8": b"application: \xff\n",
    "an open bracket": "application: {name: motif\n",
    "a tab": "application:\n\tname: motif\n",
    "two documents": CONFIG + "---\n" + CONFIG,
    "brackets without end": "[" * 5000,
    "an alias bomb": "a: &a [x, x]\nb: [*a, *a]\n",
    "a merge": CONFIG + "base: &b {x: 1}\nseed: {<<: *b}\n",
    "python code": "application: !!python/object/apply:os.system ['touch hacked']\n",
    "no application": "data: {train: train.fa}\n",
    "an unknown application": CONFIG.replace("motif", "motiff"),
    "an unknown key": CONFIG + "sede: 3\n",
    "an unknown option": CONFIG.replace("length", "lenght"),
    "a key twice": CONFIG + "seed: 1\nseed: 2\n",
    "text for a number": CONFIG.replace("4", "four"),
    "a fraction for a count": CONFIG.replace("4", "4.0"),
    "no motif": CONFIG.replace("4", "0"),
    "a negative C": CONFIG + "objective: {C: -1}\n",
    "no C": CONFIG + "objective: {C: }\n",
    "an infinite C": CONFIG + "objective: {C: .inf}\n",
    "a model that there is not": CONFIG + "objective: {model: crf}\n",
    "no data": "application: {name: motif}\n",
    "a data file that there is not": CONFIG.replace("train.fa", "absent.fa"),
    "a folder for a data file": CONFIG.replace("train.fa", "."),
    "a NUL in a path": CONFIG.replace("train.fa", '"a\\0b"'),
    "a label against that of the file": CONFIG.replace("train.fa", "{path: train.fa, label: -1}"),
    "a label that there is not": CONFIG.replace("train.fa", "{path: train.fa, label: 7}"),
    "a background file that there is not": CONFIG.replace("4}", "4, background: absent.txt}"),
    "a newer version": "version: 2\n" + CONFIG,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text(CONFIG)
    (tmp_path / "train.fa").write_text(FASTA)
    (tmp_path / "old").write_text(MODEL)
    return tmp_path


def refusal(command, *arguments):
    """The line with which a command refuses; it must be the only one and no traceback."""
    result = CliRunner().invoke(command, arguments)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def saved_model(path):
    config = Config.from_dict({"application": {"name": "motif", "length": 4}})
    application = config.create_application()
    examples = application.read([Source(str(path.parent / "train.fa"))])
    w = np.zeros(application.dimension(examples))
    arrays = application.summary(w, examples)
    Model(application, config.to_dict(), w, {"objective": 0.0}, arrays).save(path)


def without_arrays(path):
    members = members_of(path)
    header = json.loads(members["header.json"])
    header["arrays"] = header["arrays"][:1]
    return packed({"header.json": json.dumps(header), "w.npy": members["w.npy"]})


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members, compression=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def with_header(path, **changes):
    members = members_of(path)
    header = {**json.loads(members["header.json"]), **changes}
    return packed({**members, "header.json": json.dumps(header)})


def with_w(path, array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return packed({**members_of(path), "w.npy": stream.getvalue()})


MODEL_FILES = {
    "empty": lambda path: b"",
    "text": lambda path: CONFIG.encode(),
    "pickle": lambda path: b"\x80\x04\x95\x10\x00cos\nsystem\n",
    "truncated": lambda path: path.read_bytes()[:-30],
    "first half": lambda path: path.read_bytes()[: path.stat().st_size // 2],
    "one bit": lambda path: path.read_bytes().replace(b"motif 1 A", b"motif 1 B"),
    "another zip": lambda path: packed({"readme.txt": "hello"}),
    "compressed": lambda path: packed(members_of(path), zipfile.ZIP_DEFLATED),
    "zip bomb": lambda path: packed(
        {**members_of(path), "w.npy": bytes(50_000_000)}, zipfile.ZIP_DEFLATED
    ),
    "newer": lambda path: with_header(path, format_version=2),
    "checkpoint": lambda path: with_header(path, format="lssvm-checkpoint"),
    "unknown application": lambda path: with_header(
        path, application={"name": "x"}, config={"application": {"name": "x"}}
    ),
    "old option": lambda path: with_header(
        path, config={"application": {"name": "motif", "colour": "red"}}
    ),
    "other dimension": lambda path: with_header(path, dimension=5),
    "no weights": lambda path: packed({"header.json": members_of(path)["header.json"]}),
    "objects": lambda path: with_w(path, np.array([{}], dtype=object)),
    "short weights": lambda path: with_w(path, np.zeros(3)),
    "weights that are no numbers": lambda path: with_w(
        path, np.full(json.loads(members_of(path)["header.json"])["dimension"], np.nan)
    ),
}


@pytest.mark.parametrize("name", FASTA_FILES)
def test_a_broken_fasta_file_stops_training_in_one_line(folder, name):
    (folder / "train.fa").write_bytes(FASTA_FILES[name])
    assert refusal(learn, "c.yaml", "old", "-q").startswith("train.fa")
    assert sorted(os.listdir(folder)) == ["c.yaml", "old", "train.fa"]
    assert (folder / "old").read_text() == MODEL


@pytest.mark.parametrize("name", CONFIG_FILES)
def test_a_broken_configuration_stops_training_in_one_line(folder, name):
    text = CONFIG_FILES[name]
    (folder / "c.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    line = refusal(learn, "c.yaml", "old", "-q")
    assert line.startswith(("c.yaml", "absent.fa", ".", "train.fa"))
    assert sorted(os.listdir(folder)) == ["c.yaml", "old", "train.fa"]
    assert (folder / "old").read_text() == MODEL


@pytest.mark.parametrize("name", MODEL_FILES)
def test_a_broken_model_is_refused_in_one_line_that_names_it(folder, name):
    saved_model(folder / "m")
    data = MODEL_FILES[name](folder / "m")
    assert data != (folder / "m").read_bytes()
    (folder / "m").write_bytes(data)
    assert refusal(classify, "train.fa", "m", "p").startswith("m: ")
    assert not (folder / "p").exists()


def test_a_model_without_the_arrays_of_its_application_is_refused(folder):
    saved_model(folder / "m")
    (folder / "m").write_bytes(without_arrays(folder / "m"))
    expected = "m: damaged: 'sites' is missing"
    assert refusal(main, "show", "m", "--export", "meme=x") == expected
    assert refusal(classify, "train.fa", "m", "p") == expected
    assert not (folder / "x").exists()


def test_a_good_model_is_not_refused(folder):
    saved_model(folder / "m")
    result = CliRunner().invoke(classify, ["train.fa", "m", "p"])
    assert result.exit_code == 0
    assert (folder / "p").exists()


@pytest.mark.parametrize("name", ["empty", "binary", "truncated gzip", "a letter that is none"])
def test_a_broken_fasta_file_stops_prediction_in_one_line(folder, name):
    saved_model(folder / "m")
    (folder / "x.fa").write_bytes(FASTA_FILES[name])
    assert refusal(classify, "x.fa", "m", "p", "--metrics", "q").startswith("x.fa")
    assert sorted(os.listdir(folder)) == ["c.yaml", "m", "old", "train.fa", "x.fa"]


def test_the_installed_command_ends_like_the_function(folder):
    (folder / "train.fa").write_bytes(FASTA_FILES["a letter that is none"])
    command = Path(sys.executable).with_name("lssvm-learn")
    if not command.exists():
        pytest.skip("lssvm-learn is not installed beside this Python")
    done = subprocess.run([command, "c.yaml", "old"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: train.fa:2: ")
    assert done.stderr.count("\n") == 1
