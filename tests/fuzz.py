"""Damaged and odd files, given to the commands: ``make fuzz MINUTES=10`` or ``CASES=100000``.

A case is a sample (``fuzz_samples``), one file of which a mutator (``fuzz_mutators``) changes, and
a command that then reads it, run in this process as a user runs it. Right is: exit code 0, 2 or 3;
with 2, lines ``error: …`` of at most 300 characters beside file names, all printable, and no
output; with 0 and 3, whole outputs; never a traceback, a crash, a warning of Python's, more than
5 s, or more than 500 MB. Case K of seed S is the same bytes always:
``python tests/fuzz.py --seed S --case K``.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads of libraries do not survive a fork

import argparse
import collections
import contextlib
import faulthandler
import io
import itertools
import json
import multiprocessing
import multiprocessing.connection
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import fuzz_mutators as mutators
import numpy as np
from fuzz_samples import Target, targets

from lssvm.cli import classify, learn
from lssvm.cli import group as tools
from lssvm.model import Model

SLOWEST = 5.0  # seconds of computing, and of waiting WAITING times as long
WAITING = 4
GROWTH = 500 * 2**20  # bytes
LONGEST = 300  # characters of a message beside file names
RECYCLED = 3000  # cases of one process
ALLOWED = {0, 2, 3}
OUTPUTS = {
    "m": "a model",
    "out": "predictions",
    "out.svg": "a picture",
    "metrics": "metrics",
    "cv.csv": "a table",
}


class Case(NamedTuple):
    """What is run: the files, which of them was changed, the command."""

    target: str
    changed: str
    files: dict[str, bytes]
    arguments: tuple[str, ...]


class Outcome(NamedTuple):
    """What came of a case: ``fault`` says what is wrong, "" if nothing is."""

    fault: str
    detail: str = ""
    code: int | None = None


def case_of(samples: list[Target], seed: int, number: int) -> Case:
    """The case of that number: the same for equal samples, whatever else is run."""
    rng = np.random.default_rng([seed, number])
    target = samples[number % len(samples)]
    changed = mutators.pick(rng, target.changed)
    others = [
        other.files[name] for other in (mutators.pick(rng, samples),) for name in other.changed
    ]
    mutate = mutators.BY_SUFFIX.get(Path(changed).suffix, mutators.text)
    content = mutate(target.files[changed], rng, others)
    arguments = mutators.pick(rng, target.commands)
    files = {name: raw for name, raw in target.files.items() if not name.endswith(".set")}
    if changed.endswith(".set"):
        setting = os.fsdecode(content)
        arguments = tuple(setting if part == "@" else part for part in arguments)
    else:
        files[changed] = content
    return Case(target.name, changed, files, arguments)


class Runner:
    """Runs cases in a folder of its own, standard streams being files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.streams = [open(folder.parent / f"{folder.name}.{n}", "w+b") for n in (1, 2)]  # noqa: SIM115

    def run(self, case: Case) -> Outcome:
        """What came of a case. The folder is empty afterwards."""
        write(self.folder, case)
        before = peak(anew=True)
        code, raised = self._called(case.arguments)
        grown = peak() - before
        out, err = (self._taken(stream) for stream in self.streams)
        fault, detail = raised or judged(case, self.folder, code, out, err)
        if grown > GROWTH:
            fault, detail = "growth", f"{grown / 2**20:.0f} MB"
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return Outcome(fault, detail or err[-3000:], code)

    def close(self) -> None:
        """Close the files that stand for standard streams."""
        for stream in self.streams:
            stream.close()

    def _called(self, arguments: tuple[str, ...]) -> tuple[int, tuple[str, str] | None]:
        """The exit code, and what came out of the command that should not."""
        command = {"learn": learn, "classify": classify}.get(arguments[0])
        words = list(arguments[1:] if command else arguments)
        kept = [os.dup(number) for number in (1, 2)]
        try:
            for stream, number in zip(self.streams, (1, 2), strict=True):
                os.dup2(stream.fileno(), number)
            with shown_warnings():
                (command or tools.main).main(words, prog_name=arguments[0])
            return 0, None
        except SystemExit as stop:
            code = 0 if stop.code is None else stop.code
            return (code, None) if isinstance(code, int) else (1, ("exit code", repr(code)))
        except BaseException as error:
            return 1, (where(error), "".join(traceback.format_exception(error))[-6000:])
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            for saved, number in zip(kept, (1, 2), strict=True):
                os.dup2(saved, number)
                os.close(saved)

    @staticmethod
    def _taken(stream: Any) -> str:
        stream.seek(0)
        text = stream.read(10**7).decode("utf-8", "backslashreplace")
        stream.seek(0)
        stream.truncate()
        return text


@contextlib.contextmanager
def shown_warnings():
    """Python's warnings, each time, of those kinds that a user sees."""
    with warnings.catch_warnings():
        warnings.resetwarnings()
        hidden = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
        for kind in hidden:
            warnings.simplefilter("ignore", kind)
        warnings.simplefilter("always", RuntimeWarning)
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = write_warning
        yield


def write_warning(message: Any, category: type[Warning], file: str, line: int, *_: Any) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, file, line))


def peak(anew: bool = False) -> int:
    """Bytes of the largest resident memory, counted anew from now on where that is possible."""
    with contextlib.suppress(OSError):
        if anew:
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def where(error: BaseException) -> str:
    """The type of an exception, and the innermost line of the project that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "lssvm" in Path(frame.filename).parts]
    last = own[-1] if own else frames[-1]
    short = "/".join(Path(last.filename).parts[-2:])
    return f"{type(error).__name__} at {short}:{last.lineno} {last.name}"


def judged(case: Case, folder: Path, code: int, out: str, err: str) -> tuple[str, str]:
    """What is wrong with an exit code, the streams and the files; "" if nothing is."""
    lines = err.split("\n")[:-1]
    if "Traceback (most recent call last)" in err:
        return "traceback on standard error", err[-6000:]
    if "Warning: " in err:
        line = next(line for line in lines if "Warning: " in line)
        return f"warning {'/'.join(line.split('/')[-2:])[:100]}", err[-6000:]
    if code not in ALLOWED:
        return f"exit code {code}", err[-6000:]
    odd = [line for line in lines if not line.replace("\xa0", " ").isprintable()]
    if odd:
        return f"message not printable: {shape(odd[0])}", repr(odd[0])[:3000]
    long = [line for line in lines if length(line, case) > LONGEST]
    if long:
        return f"message of {len(long[0])} characters: {shape(long[0])}", long[0][:3000]
    if code == 2:
        other = [line for line in lines if not line.startswith(("error: ", "warning: "))]
        if other or not any(line.startswith("error: ") for line in lines):
            return f"exit code 2 with other lines: {shape((other or [''])[0])}", err[-3000:]
    return left(case, folder, code, out)


def length(line: str, case: Case) -> int:
    """Characters of a message beside the names of files."""
    line = re.sub(r"^error: .*: cannot be read: ", "", line, count=1)
    return len(line) - sum(len(name) for name in case.files if name in line)


def shape(line: str) -> str:
    """The beginning of a message without what differs from case to case, to count kinds."""
    words = line.encode("ascii", "replace").decode()[:400].split()
    return " ".join(word for word in words if word.strip(":;,.").isalpha() and len(word) < 20)[:90]


def left(case: Case, folder: Path, code: int, out: str) -> tuple[str, str]:
    """What is wrong with the files of the folder; "" if nothing is."""
    changed = {
        name
        for name, content in case.files.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != content
    }
    resumed = {"m.checkpoint"} if "--resume" in case.arguments else set()
    if changed - resumed:
        return "inputs changed", ", ".join(changed)
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    new = found - case.files.keys()
    given = {word.removeprefix("meme=") for word in case.arguments}
    wanted = {name for name in OUTPUTS if name in given}
    if "--dry-run" in case.arguments:
        wanted -= {"m"}
    if code == 2:
        new -= {"m.checkpoint", "cv.csv.checkpoint"}  # what a run had done until it was refused
        # Predictions are written before they are scored.
        new -= {"out"} if case.arguments[0] == "classify" else set()
        return ("files left with exit code 2", ", ".join(new)) if new else ("", "")
    if new != wanted:
        return "outputs", f"expected {sorted(wanted)}, got {sorted(new)}"
    try:
        if "m" in new:
            Model.load(folder / "m")
        if "--json" in case.arguments and case.arguments[0] == "show":
            json.loads(out)
        if case.arguments[0] == "explain" and "out" in new:
            json.loads((folder / "out").read_text(encoding="utf-8"))
        elif "--json" in case.arguments and "out" in new:
            for line in (folder / "out").read_text(encoding="utf-8").split("\n")[:-1]:
                json.loads(line)
    except Exception as error:
        return f"output cannot be read: {type(error).__name__}", str(error)[:3000]
    return "", ""


def worker(connection: Any, samples: list[Target], folder: Path, seed: int) -> None:
    """Answers numbers of cases with outcomes, until None comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.disable()
    sys.stdin = open(os.devnull)  # noqa: SIM115
    os.dup2(sys.stdin.fileno(), 0)
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(
        io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True
    )
    runner = Runner(folder)
    os.chdir(folder)
    first = samples[0]
    runner.run(Case(first.name, "", first.files, first.commands[0]))  # what it imports is here now
    connection.send(None)
    limit = virtual() + 3 * GROWTH
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    while (number := received(connection)) is not None:
        try:
            case = case_of(samples, seed, number)
        except Exception as error:
            connection.send(Outcome(f"harness: {where(error)}", traceback.format_exc()))
            continue
        connection.send(runner.run(case))


def received(connection: Any) -> int | None:
    """The next number; None if there is none, or nobody to send it any more."""
    parent = os.getppid()
    while not connection.poll(5.0):
        if os.getppid() != parent:
            return None
    return connection.recv()


def virtual() -> int:
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return 2**40


class Worker:
    """A process and what it works on."""

    def __init__(self, samples: list[Target], folder: Path, seed: int) -> None:
        folder.mkdir(exist_ok=True, parents=True)
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=worker, args=(theirs, samples, folder, seed), daemon=True
        )
        self.process.start()
        theirs.close()
        self.connection.recv()
        self.done, self.number = 0, -1
        self.recent: collections.deque[int] = collections.deque(maxlen=20)
        self.began = self.computed = 0.0

    def give(self, number: int) -> None:
        self.recent.append(number)
        self.number, self.began, self.computed = number, time.monotonic(), self._seconds()
        self.connection.send(number)

    def hangs(self) -> bool:
        waited = time.monotonic() - self.began
        return waited > SLOWEST and (
            self._seconds() - self.computed > SLOWEST or waited > WAITING * SLOWEST
        )

    def _seconds(self) -> float:
        """Seconds that the process has computed."""
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return time.monotonic()

    def end(self, kill: bool = False) -> None:
        if kill:
            self.process.kill()
        elif self.process.is_alive():
            with contextlib.suppress(OSError):
                self.connection.send(None)
        self.process.join()
        self.connection.close()


class Fuzz:
    """A run over many cases by several processes."""

    def __init__(self, samples: list[Target], folder: Path, seed: int, jobs: int) -> None:
        self.samples, self.folder, self.seed = samples, folder, seed
        self.workers = [self._worker(place) for place in range(jobs)]
        self.failures: list[tuple[int, Outcome]] = []
        self.codes: collections.Counter[int | None] = collections.Counter()
        self.done = 0

    def _worker(self, place: int) -> Worker:
        return Worker(self.samples, self.folder / str(place), self.seed)

    def run(self, numbers: Iterable[int], seconds: float) -> None:
        """Cases of these numbers, as far as the seconds allow."""
        numbers, until = iter(numbers), time.monotonic() + seconds
        for each in self.workers:
            self._next(each, numbers, until)
        while busy := [each for each in self.workers if each.number >= 0]:
            ready = multiprocessing.connection.wait([each.connection for each in busy], 0.5)
            for each in busy:
                outcome = self._outcome(each, each.connection in ready)
                if outcome is None:
                    continue
                self.done += 1
                if self.done % 1000 == 0:
                    told = f"{self.done:,d} cases, {len(self.failures):,d} failed"
                    print(told, file=sys.stderr, flush=True)
                self.codes[outcome.code] += 1
                if outcome.fault:
                    self.failures.append((each.number, outcome))
                each.number = -1
                self._next(self._fresh(each, outcome), numbers, until)

    def _outcome(self, each: Worker, ready: bool) -> Outcome | None:
        """What a worker answered, or what became of it; None while it works."""
        if ready:
            try:
                return each.connection.recv()
            except (EOFError, OSError):
                each.process.join()
                code = each.process.exitcode or 0
                name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                # Memory that one case damages may end the process in a later one.
                return Outcome(f"crash {name}", f"after the cases {[*each.recent]}")
        if each.hangs():
            return Outcome("hang", f"more than {SLOWEST:g} s")
        return None

    def _fresh(self, each: Worker, outcome: Outcome) -> Worker:
        """The worker, or another one in its place once it is dead, hangs or is old."""
        each.done += 1
        broken = outcome.fault.startswith(("crash", "hang"))
        if not broken and each.done < RECYCLED and outcome.fault != "growth":
            return each
        place = self.workers.index(each)
        each.end(kill=broken)
        self.workers[place] = self._worker(place)
        return self.workers[place]

    @staticmethod
    def _next(each: Worker, numbers: Any, until: float) -> None:
        if time.monotonic() < until and (number := next(numbers, None)) is not None:
            each.give(number)

    def close(self) -> None:
        for each in self.workers:
            each.end(kill=each.number >= 0)


def write(folder: Path, case: Case) -> None:
    """Put the files of a case into a folder."""
    for name, content in case.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)


def keep(folder: Path, case: Case, seed: int, number: int, outcome: Outcome) -> None:
    """Write a case down so that it can be run by hand."""
    place = folder / f"{seed}-{number}"
    place.mkdir(parents=True, exist_ok=True)
    write(place, case)
    told = {"command": case.arguments, "changed": case.changed, "fault": outcome.fault}
    (place / "case.json").write_text(json.dumps(told, indent=1) + "\n" + outcome.detail)


@contextlib.contextmanager
def scratch():
    """An empty folder, in memory where there is such a place."""
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=parent, prefix="fuzz-") as folder:
        yield Path(folder)


def chosen(samples: list[Target], numbers: Iterable[int], only: str) -> Iterator[int]:
    """The numbers of cases whose sample's name begins so."""
    if not any(target.name.startswith(only) for target in samples):
        known = ", ".join(target.name for target in samples)
        sys.exit(f"--only {only}: no sample is called so (known: {known})")
    return (n for n in numbers if samples[n % len(samples)].name.startswith(only))


def fuzz(
    numbers: Iterable[int], *, seed: int = 0, jobs: int = 2, seconds: float = 1e9, only: str = ""
) -> tuple[list[tuple[int, Case, Outcome]], Fuzz]:
    """Run cases; those that failed, each with its number."""
    with scratch() as folder:
        (folder / "made").mkdir()
        samples = targets(folder / "made")
        run = Fuzz(samples, folder, seed, jobs)
        try:
            run.run(chosen(samples, numbers, only), seconds)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        finally:
            run.close()
    found = [(number, case_of(samples, seed, number), outcome) for number, outcome in run.failures]
    return sorted(found, key=lambda each: each[0]), run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, help="cases to run")
    parser.add_argument("--minutes", type=float, help="minutes to run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--only", metavar="NAME", default="", help="samples whose names begin so")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="write the cases that failed")
    parser.add_argument("--case", metavar="K", type=int, help="run one case and show it")
    given = parser.parse_args()
    numbers: Iterable[int] = itertools.count()
    if given.case is not None:
        numbers = [given.case]
    elif given.cases or not given.minutes:
        numbers = range(given.cases or 2000)
    began = time.monotonic()
    seconds = 60 * given.minutes if given.minutes else 1e9
    failed, run = fuzz(numbers, seed=given.seed, jobs=given.jobs, seconds=seconds, only=given.only)
    took = time.monotonic() - began
    kinds = collections.defaultdict(list)
    for number, case, outcome in failed:
        kinds[outcome.fault, case.target.partition("/")[0]].append(number)
        if given.keep:
            keep(given.keep, case, given.seed, number, outcome)
        if given.case is not None:
            print(case.target, case.changed, *case.arguments, "\n" + outcome.detail)
    for (fault, area), numbers in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        print(f"{len(numbers):6d}  {area}: {fault}  (such as --case {numbers[0]})")
    codes = ", ".join(f"{code}: {n:,d}" for code, n in sorted(run.codes.items(), key=str))
    print(
        f"{run.done:,d} cases in {took:.0f} s, {run.done / took:.0f} a second; exit codes {codes}"
    )
    print(f"{len(failed):,d} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
