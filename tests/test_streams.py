"""Commands whose standard streams are closed, full or of another encoding."""

import json
import os
import subprocess
import sys

import pytest

CODE = "import sys; from lssvm import cli; getattr(cli, sys.argv[1])(sys.argv[2:])"
TRAIN = "hünd 1:1\nkatze 2:1\nhünd 1:1 2:.1\nkatze 2:2\n"
FULL = "No space left on device"
CLOSED = "Bad file descriptor"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"}

needs_full = pytest.mark.skipif(
    not os.path.exists("/dev/full"), reason="needs a device that is full"
)


def run(words, redirected="", **environment):
    """A command in a process of its own, under a shell that redirects its streams."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-c", CODE, *words],
        capture_output=True,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A folder with a configuration, data and what comes of them where nothing is amiss."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / "t.txt").write_text(TRAIN, encoding="utf-8")
    (folder / "c.yaml").write_text("application: multiclass\ndata: {train: t.txt, test: t.txt}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["learn", "c.yaml", "whole", "-q"]).stderr == b""
        assert run(["classify", "t.txt", "whole", "predicted"]).returncode == 0
        yield folder


@pytest.fixture
def folder(known, tmp_path, monkeypatch):
    for file in known.iterdir():
        os.link(file, tmp_path / file.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def one_line(done, code=2):
    assert done.returncode == code, done.stderr
    (line,) = done.stderr.decode("ascii").splitlines()
    return line


@pytest.mark.parametrize(
    "redirected",
    ["2>&-", "<&- >&- 2>&-", pytest.param("2>/dev/full", marks=needs_full)],
)
def test_training_ends_in_its_model_with_no_one_to_tell(folder, redirected):
    done = run(["learn", "c.yaml", "m", "-v", "3", "--log", "log"], redirected)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()
    events = [json.loads(line)["event"] for line in (folder / "log").read_text().splitlines()]
    assert events[0] == "start"
    assert events[-1] == "written"


def test_training_goes_on_when_the_reader_of_its_messages_goes(folder):
    code = [sys.executable, "-c", CODE, "learn", "c.yaml", "m", "-v", "3"]
    with subprocess.Popen(code, stderr=subprocess.PIPE) as process:
        process.stderr.close()
    assert process.returncode == 0
    assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()


def test_a_refusal_has_its_exit_code_with_no_one_to_tell(folder):
    done = run(["learn", "absent.yaml", "m"], "2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")


@pytest.mark.parametrize(
    ("redirected", "reason"),
    [(">&-", CLOSED), pytest.param(">/dev/full", FULL, marks=needs_full)],
)
@pytest.mark.parametrize(
    "words",
    [
        ["classify", "t.txt", "whole", "-", "-q"],
        ["classify", "t.txt", "whole", "p"],
        ["main", "show", "whole", "--json"],
        ["main", "--help"],
    ],
    ids=" ".join,
)
def test_results_that_cannot_be_written_are_an_error(folder, words, redirected, reason):
    line = one_line(run(words, redirected))
    assert line == f"error: standard output: cannot be written: {reason}"
    if "p" in words:
        assert (folder / "p").read_bytes() == (folder / "predicted").read_bytes()


def test_results_that_nobody_reads_end_a_command_quietly(folder):
    code = [sys.executable, "-c", CODE, "classify", "t.txt", "whole", "-"]
    with subprocess.Popen(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_data_from_a_closed_standard_input_are_an_error(folder):
    line = one_line(run(["classify", "-", "whole", "p"], "<&-"))
    assert line == f"error: -: cannot be read: {CLOSED}; expected a file"
    assert not (folder / "p").exists()


@needs_full
def test_a_log_that_cannot_be_written_is_left_behind(folder):
    done = run(["learn", "c.yaml", "m", "--log", "/dev/full"])
    assert done.returncode == 0
    told = [line for line in done.stderr.decode().splitlines() if "warning" in line]
    assert told == [f"warning: /dev/full: cannot be written: {FULL}; the run goes on without it"]
    assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()


@needs_full
def test_a_model_on_a_full_disk_is_an_error(folder):
    assert one_line(run(["learn", "c.yaml", "/dev/full", "-q"])) == (
        f"error: /dev/full: cannot be written: {FULL}"
    )


def test_predictions_are_the_same_bytes_on_an_ascii_terminal(folder):
    done = run(["classify", "t.txt", "whole", "-", "-q"], **ASCII)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (folder / "predicted").read_bytes()
    assert "hünd".encode() in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["main", "show", "whole"], r"h\xfcnd"),
        (["learn", "--help"], "1/2||w||^2"),
    ],
    ids=["labels", "help"],
)
def test_what_people_read_is_ascii_on_an_ascii_terminal(folder, words, told):
    done = run(words, **ASCII)
    assert (done.returncode, done.stderr) == (0, b"")
    assert told in done.stdout.decode("ascii")


def test_errors_are_ascii_on_an_ascii_terminal(folder):
    (folder / "bad.txt").write_text("hünd 1:ä\n", encoding="utf-8")
    line = one_line(run(["classify", "bad.txt", "whole", "p"], **ASCII))
    assert r"\xe4" in line


def test_names_that_are_no_utf8_are_names(folder):
    name = os.fsdecode(b"m\xff\n\x1b")
    log = os.fsdecode(b"log\xff")
    done = run(["learn", "c.yaml", name, "--log", log])
    assert done.returncode == 0
    assert (folder / name).read_bytes() == (folder / "whole").read_bytes()
    last = json.loads((folder / log).read_text(encoding="utf-8").splitlines()[-1])
    assert last["path"] == name
    assert rb"wrote m\udcff\n\x1b (d = " in done.stderr.splitlines()[-1]


def test_standard_output_by_its_name_is_what_is_open(folder):
    with open("both", "wb") as file:
        words = [sys.executable, "-c", CODE, "classify", "t.txt", "whole", "/dev/stdout"]
        assert subprocess.run(words, stdout=file, check=True).returncode == 0
    written = (folder / "both").read_bytes()
    assert written.startswith((folder / "predicted").read_bytes() + b"error ")
    done = run(["classify", "t.txt", "whole", "/dev/stdout", "-q"])
    assert done.stdout == (folder / "predicted").read_bytes()


def test_a_configuration_can_come_through_a_pipe(folder):
    text = (folder / "c.yaml").read_bytes()
    code = [sys.executable, "-c", CODE, "main", "config", "/dev/stdin"]
    done = subprocess.run(code, input=text, capture_output=True, check=True)
    assert b"path: t.txt" in done.stdout
