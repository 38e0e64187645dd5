"""A small part of ``make fuzz``, and whether the harness sees what is wrong."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import click
import fuzz
import fuzz_mutators
import fuzz_samples
import numpy as np
import pytest
from fuzz_samples import Target

CASES = 200


def test_damaged_and_odd_files_end_in_one_line_or_work():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, fuzz.__file__, "--cases", str(CASES), "--seed", "11"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{CASES} cases in " in run.stdout
    assert run.stdout.endswith("\n0 failed\n")


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return fuzz_samples.targets(tmp_path_factory.mktemp("samples"))


def test_a_case_is_the_same_whenever_it_is_made(samples, tmp_path):
    again = fuzz_samples.targets(tmp_path)
    assert again == samples
    for number in range(0, 600, 7):
        assert fuzz.case_of(samples, 3, number) == fuzz.case_of(again, 3, number)
    assert fuzz.case_of(samples, 3, 1) != fuzz.case_of(samples, 4, 1)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_samples_are_read_without_a_word_before_they_are_changed(samples, tmp_path, monkeypatch):
    cases = [
        fuzz.Case(target.name, "", target.files, arguments)
        for number, target in enumerate(samples)
        for arguments in target.commands
        if not target.name.startswith(("config/shipped", "config/init", "settings"))
        # Drawing takes longest; of every application it is tried in tests of its own.
        if arguments[0] not in ("plot", "report") or number % 4 == 0
    ]
    monkeypatch.setattr(fuzz, "case_of", lambda samples, seed, number: cases[number])
    run = fuzz.Fuzz(samples, tmp_path, seed=0, jobs=1)
    run.run(range(len(cases)), 600)
    run.close()
    assert [(cases[number], outcome) for number, outcome in run.failures] == []
    assert run.codes.keys() <= {0, 3}
    assert run.done == len(cases) > 200


def test_every_application_and_every_reader_has_samples(samples):
    from lssvm import applications

    used = {options["name"] for options, _, _ in fuzz_samples.PROBLEMS.values()}
    assert used == set(applications.registered())
    for part in ("data", "config", "model", "checkpoint", "settings"):
        assert any(target.name.startswith(part) for target in samples)


def test_mutators_change_what_they_are_given(samples):
    changed = []
    for number in range(300):
        case, target = fuzz.case_of(samples, 0, number), samples[number % len(samples)]
        if case.changed in case.files:
            changed.append(case.files[case.changed] != target.files[case.changed])
    assert np.mean(changed) > 0.9


def test_a_container_is_written_so_that_its_header_is_read(tmp_path):
    from lssvm.model.container import read_container, write_container

    path = tmp_path / "m"
    write_container(path, "x", {"a": 1}, {"w": np.zeros(3), "v": np.array(["a", "b"])})
    members = fuzz_mutators.unzipped(path.read_bytes())
    path.write_bytes(fuzz_mutators.zipped(members.items()))
    header, arrays = read_container(path, "x")
    assert (header["a"], arrays["w"].shape, [*arrays["v"]]) == (1, (3,), ["a", "b"])


def grow():
    np.ones(10**7)


def spin():
    while True:
        pass


def tell(text, code=2):
    click.echo(text, err=True)
    sys.exit(code)


ILL = {
    "raise": (lambda: 1 / 0, "ZeroDivisionError at "),
    "abort": (os.abort, "crash SIGABRT"),
    "spin": (spin, "hang"),
    "grow": (grow, "growth"),
    "warn": (lambda: warnings.warn("odd", RuntimeWarning, stacklevel=1), "warning "),
    "one": (lambda: sys.exit(1), "exit code 1"),
    "trace": (lambda: tell("Traceback (most recent call last):"), "traceback on standard error"),
    "long": (lambda: tell("error: " + "x" * 300), "message of 307 characters"),
    "control": (lambda: tell("error: \x07"), "message not printable"),
    "chatter": (lambda: tell("error: x\nwell"), "exit code 2 with other lines"),
    "silence": (lambda: sys.exit(2), "exit code 2 with other lines"),
    "nothing": (lambda: None, "outputs"),
    "leave": (lambda: (Path(".m.x.part").touch(), tell("error: x")), "files left with exit code 2"),
    "half": (lambda: Path("m").write_bytes(b"PK"), "output cannot be read: ModelError"),
    "write": (lambda: (Path("c.yaml").unlink(), tell("error: x")), "inputs changed"),
}


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_the_harness_sees_each_kind_of_fault(monkeypatch, tmp_path):
    @click.command()
    @click.argument("kind")
    @click.argument("model")
    def learn(kind, model):
        ILL[kind][0]() if kind in ILL else tell("error: fine")

    monkeypatch.setattr(fuzz, "learn", learn)
    monkeypatch.setattr(fuzz, "SLOWEST", 2.0)
    monkeypatch.setattr(fuzz, "GROWTH", 50 * 2**20)
    samples = [
        Target(kind, {"c.yaml": b"a: 1"}, ("c.yaml",), (("learn", kind, "m"),))
        for kind in ["fine", *ILL]
    ]
    run = fuzz.Fuzz(samples, tmp_path, seed=0, jobs=1)
    run.run(range(len(samples)), 600)
    run.close()
    found = {samples[number].name: outcome.fault for number, outcome in run.failures}
    assert found.keys() == ILL.keys()
    for kind, (_, fault) in ILL.items():
        assert found[kind].startswith(fault), (kind, run.failures)
