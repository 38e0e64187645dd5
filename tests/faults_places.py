"""Places that cannot be written, closed streams, strange names, plug-ins that end the process.

Each check returns what is wrong, or nothing, or raises SkippedError with the reason.
"""

import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIG = "application: {name: multiclass}\ndata: {train: t.txt}\nobjective: {C: 1}\n"
ROWS = "a 1:1 2:.5\nb 1:-1 2:1\na 1:.9 2:.1\nb 1:-.5 2:2\na 1:2\nb 2:1\n"
SEARCH = ("--set", "search={grid: {objective.C: [0.1, 1]}, folds: 3}", "--jobs", "2")
LEARN = ("learn", "c.yaml", "m", "-q")
CHECKS = {}


class SkippedError(Exception):
    """This machine cannot show it."""


def check(function):
    CHECKS[function.__name__.replace("_", " ")] = function
    return function


def run(folder, *words, prelude="", shell="", environment=(), timeout=120):
    """A command as the installed scripts run it; ``shell`` is a redirection such as ``2>&-``."""
    name, *arguments = words
    door = name if name in ("learn", "classify") else "main"
    code = f"{prelude}\nfrom lssvm.cli.program import {door}; {door}()"
    line = [sys.executable, "-c", code, *([] if door == name else [name]), *arguments]
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {shell}', "sh", *line],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | dict(environment),
        capture_output=True,
        timeout=timeout,
    )


def one_line(done, *codes, contains=""):
    """What is wrong with a refusal: one line, one of these exit codes."""
    err = done.stderr.decode(errors="replace")
    if done.returncode not in codes or len(err.splitlines()) != 1 or contains not in err:
        return f"exit code {done.returncode}, expected {codes}: {err.strip()[-300:]!r}"
    return None


def quiet(done, *codes):
    """What is wrong with a run that may succeed or refuse, but not break."""
    err = done.stderr.decode(errors="replace")
    if done.returncode not in codes or "Traceback" in err or "Exception ignored" in err:
        return f"exit code {done.returncode}, expected {codes}: {err.strip()[-300:]!r}"
    return None


def prepare(folder):
    (folder / "t.txt").write_text(ROWS)
    (folder / "c.yaml").write_text(CONFIG)


def trained(folder):
    prepare(folder)
    done = run(folder, *LEARN)
    assert done.returncode == 0, done.stderr
    return (folder / "m").read_bytes()


def first(*problems):
    return next((problem for problem in problems if problem), None)


def listing(folder, *expected):
    found = sorted({*os.listdir(folder)} - {"c.yaml", "t.txt", "plug", "__pycache__"})
    return None if found == sorted(expected) else f"left in the folder: {found}"


@check
def full_disk_by_a_limit_on_files(folder):
    old = trained(folder)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4, 4))"
    problems = [one_line(run(folder, *LEARN, prelude=limit), 2, contains="cannot be written")]
    problems.append(None if (folder / "m").read_bytes() == old else "the old model is gone")
    for words in (("classify", "t.txt", "m", "p", "-q"), ("cv", "c.yaml", *SEARCH, "--csv", "p")):
        problems.append(one_line(run(folder, *words, prelude=limit), 2, contains="cannot be"))
    return first(*problems, listing(folder, "m"))


@check
def full_disk_by_a_small_file_system(folder):
    with mounted(folder, ["-t", "tmpfs", "-o", "size=1m", "none"]) as small:
        prepare(folder)
        words = ("learn", "c.yaml", "small/m", "-q")
        problem = quiet(run(folder, *words), 0)
        if problem:
            return problem
        old = (small / "m").read_bytes()
        with open(small / "fill", "wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(512))
        full = one_line(run(folder, *words), 2, contains="No space")
        kept = None if (small / "m").read_bytes() == old else "the old model is gone"
        left = sorted(os.listdir(small))
        return first(full, kept, None if left == ["fill", "m"] else f"left: {left}")


@check
def full_devices(folder):
    trained(folder)
    problems = []
    for words in (
        ("learn", "c.yaml", "/dev/full", "-q"),
        ("classify", "t.txt", "m", "/dev/full", "-q"),
        ("classify", "t.txt", "m", "p", "-q", "--metrics", "/dev/full"),
    ):
        problem = one_line(run(folder, *words), 2, contains="/dev/full")
        problems.append(f"{' '.join(words)}: {problem}" if problem else None)
    log = run(folder, "learn", "c.yaml", "n", "--log", "/dev/full")
    told = log.returncode == 0 and log.stderr.count(b"/dev/full") == 1 and (folder / "n").is_file()
    problems.append(None if told else f"a log that is full: {log.returncode}: {log.stderr!r}")
    for words in (("check", "c.yaml"), ("show", "m"), ("classify", "t.txt", "m", "-")):
        done = run(folder, *words, shell=">/dev/full")
        problem = first(quiet(done, 1, 2), one_line(done, 1, 2))
        problems.append(f"{' '.join(words)} >/dev/full: {problem}" if problem else None)
    return first(*problems)


@contextmanager
def mounted(folder, arguments):
    if os.geteuid() != 0:
        raise SkippedError("only root may mount")
    small = folder / "small"
    small.mkdir()
    done = subprocess.run(["mount", *arguments, small], capture_output=True, check=False)
    if done.returncode:
        raise SkippedError(f"no mount here: {done.stderr.decode().strip()}")
    try:
        yield small
    finally:
        subprocess.run(["umount", small], check=True)


@contextmanager
def read_only(folder):
    """A folder with a model in it that nobody can write to, not even root."""
    if os.geteuid() != 0:
        os.chmod(folder, 0o555)
        try:
            yield
        finally:
            os.chmod(folder, 0o755)
        return
    done = subprocess.run(["mount", "--bind", folder, folder], capture_output=True, check=False)
    if done.returncode:
        raise SkippedError(f"no mount here: {done.stderr.decode().strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


@check
def read_only_folder(folder):
    old = trained(folder)
    commands = (
        LEARN,
        ("classify", "t.txt", "m", "p", "-q"),
        ("show", "m", "--export", "nothing=p"),
        ("cv", "c.yaml", *SEARCH, "-q"),
        ("cv", "c.yaml", *SEARCH, "-q", "--json", "p"),
    )
    problems = []
    with read_only(folder):
        for words in commands:
            problem = one_line(run(folder, *words), 2)
            problems.append(f"{' '.join(words)}: {problem}" if problem else None)
    kept = None if (folder / "m").read_bytes() == old else "the old model is gone"
    return first(*problems, kept, listing(folder, "m"))


@check
def closed_streams(folder):
    old = trained(folder)
    problems = []
    for shell in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        for words in (
            ("learn", "c.yaml", "n", "--log", "log"),
            ("classify", "t.txt", "m", "p", "--metrics", "s"),
            ("cv", "c.yaml", *SEARCH, "--csv", "cv.csv"),
            ("check", "c.yaml"),
            ("show", "m"),
        ):
            done = run(folder, *words, shell=shell)
            prints = words[0] != "learn" and ">&-" in shell.replace("2>&-", "")
            codes = (2,) if prints else (0,)  # results that nobody can get are an error
            problem = quiet(done, *codes)
            if words[0] == "learn" and not problem and (folder / "n").read_bytes() != old:
                problem = "other bytes"
            problems.append(f"{' '.join(words)} {shell}: {problem}" if problem else None)
    return first(*problems, listing(folder, "m", "n", "p", "s", "cv.csv", "log"))


@check
def ascii_terminal(folder):
    prepare(folder)
    rows = ROWS.replace("a ", "größe ").replace("b ", "mañana ")
    (folder / "t.txt").write_text(rows, encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    problems = []
    for words in (
        ("learn", "c.yaml", "m", "-v", "3", "--log", "log"),
        ("check", "c.yaml"),
        ("show", "m"),
        ("classify", "t.txt", "m", "p"),
        ("classify", "t.txt", "m", "-"),
        ("cv", "c.yaml", *SEARCH, "--json", "cv.json"),
        ("learn", "größe.yaml", "m"),
    ):
        codes = (2,) if words[1] == "größe.yaml" else (0,)
        problem = quiet(run(folder, *words, environment=plain), *codes)
        problems.append(f"{' '.join(words)}: {problem}" if problem else None)
    return first(*problems, listing(folder, "m", "p", "log", "cv.json"))


@check
def long_and_strange_names(folder):
    old = trained(folder)
    problems = []
    for length in (255, 256, 245):  # with .checkpoint they are too long
        done = run(folder, "learn", "c.yaml", "n" * length, "-q")
        problems.append(one_line(done, 2, contains="File name too long"))
    for name in ("n" * 244, b"m\xff\xfe", "a\nb", "größe", " ", "-m"):
        words = ("--", "c.yaml", name)
        done = run(folder, "learn", "-q", *words)
        path = os.path.join(os.fsencode(folder), os.fsencode(name))
        if done.returncode or not os.path.exists(path):
            problems.append(f"{name!r}: {quiet(done, 0) or 'no model'}")
            continue
        with open(path, "rb") as file:
            problems.append(None if file.read() == old else f"{name!r}: other bytes")
        missing = one_line(run(folder, "classify", "--", b"no-" + os.fsencode(name), name, "p"), 2)
        problems.append(f"{name!r}: {missing}" if missing else None)
        os.unlink(path)
    predictions = run(folder, "classify", "t.txt", "m", "p" * 255, "-q")
    problems.append(quiet(predictions, 0))
    return first(*problems, listing(folder, "m", "p" * 255))


SLOW = (
    "import time; from lssvm.training.session import Session; own = Session.run\n"
    "def wait(*a, **k): open('begun', 'w').close(); time.sleep(60); return own(*a, **k)\n"
    "Session.run = wait"
)


@check
def a_second_run_on_one_model(folder):
    old = trained(folder)
    (folder / "link").symlink_to("m")
    code = f"{SLOW}\nfrom lssvm.cli.program import learn; learn()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *LEARN[1:]],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as holder:
        while not (folder / "begun").exists():
            if holder.poll() is not None:
                return "the first run ended before it was waited for"
            time.sleep(0.01)
        problems = []
        for name in ("m", "./m", "link", folder / "m", "m.checkpoint"):
            done = run(folder, "learn", "c.yaml", name, "-q")
            problems.append(one_line(done, 2, contains=f"process {holder.pid}"))
        problems.append(quiet(run(folder, "learn", "c.yaml", "other", "-q"), 0))
        holder.kill()
    problems.append(quiet(run(folder, *LEARN), 0))
    kept = None if (folder / "m").read_bytes() == old else "another model"
    return first(*problems, kept, listing(folder, "m", "link", "other", "begun"))


PLUGIN = """\
import sys
from typing import Literal
from lssvm.applications.multiclass.multiclass import Multiclass, MulticlassOptions

{at_import}

class EndsOptions(MulticlassOptions):
    name: Literal["ends"] = "ends"

class Ends(Multiclass):
    Options = EndsOptions

    def __init__(self, *arguments):
        {at_start}
        super().__init__(*arguments)

    def augmented(self, w, examples):
        {at_inference}
        return super().augmented(w, examples)
"""


@check
def plugins_that_call_exit(folder):
    prepare(folder)
    (folder / "c.yaml").write_text(CONFIG.replace("multiclass", "ends"))
    plug = folder / "plug"
    (plug / "ends-1.dist-info").mkdir(parents=True)
    (plug / "ends-1.dist-info" / "METADATA").write_text("Name: ends\nVersion: 1\n")
    entry = "[lssvm.applications]\nends = ends:Ends\n"
    (plug / "ends-1.dist-info" / "entry_points.txt").write_text(entry)
    path = {"PYTHONPATH": os.pathsep.join([str(plug), str(ROOT)]), "PYTHONDONTWRITEBYTECODE": "1"}
    problems = []
    for where in ("at_import", "at_start", "at_inference"):
        text = dict.fromkeys(("at_import", "at_start", "at_inference"), "pass")
        (plug / "ends.py").write_text(PLUGIN.format(**text | {where: "sys.exit(0)"}))
        for words in (
            (*LEARN, "--threads", "2"),
            ("cv", "c.yaml", *SEARCH, "-q"),
            ("check", "c.yaml"),
        ):
            if words[0] == "check" and where == "at_inference":
                continue
            done = run(folder, *words, environment=path)
            problem = one_line(done, 1, 2, contains="application 'ends'")
            problems.append(f"{where}, {words[0]}: {problem}" if problem else None)
    return first(*problems)


def all_places(only, folder):
    """Run the checks whose name begins so; the number of faults."""
    count = 0
    for name, function in CHECKS.items():
        if not name.startswith(only):
            continue
        own = folder / re.sub(r"\W", "-", name)
        own.mkdir()
        try:
            problem = function(own)
        except SkippedError as skipped:
            print(f"{name:34} skipped: {skipped}")
            continue
        count += problem is not None
        print(f"{name:34} {'FAULT: ' + problem if problem else 'as it should be'}")
    return count
