"""A small part of ``make faults``: runs that are stopped at random times, places not writable."""

from typing import get_args

import faults
import faults_places
import pytest

from lssvm.config.sections import Method

SMALL = {"dual-coordinate, rows": 2, "cv, 1 process": 2, "check": 1}


@pytest.mark.parametrize("name", SMALL)
def test_a_run_stopped_at_a_random_time_loses_nothing(name, tmp_path):
    told = []
    (case,) = [case for case in faults.CASES if case.name == name]
    assert faults.shots([case], SMALL[name], 0.0, 0, tmp_path, told.append) == 0, told


@pytest.mark.parametrize("name", ["full disk by a limit on files", "read only folder"])
def test_a_place_that_cannot_be_written_is_told_in_one_line(name, tmp_path):
    try:
        assert faults_places.CHECKS[name](tmp_path) is None
    except faults_places.SkippedError as skipped:
        pytest.skip(str(skipped))


def test_every_application_and_every_solver_is_among_the_runs():
    """A kind of run that is added is stopped at random times too."""
    text = " ".join(word for case in faults.CASES for word in case.arguments)
    names = {path.stem for path in (faults.ROOT / "configs").glob("*.yaml")}
    assert {name for name in names if f"configs/{name}.yaml" not in text} == set()
    assert {name for name in get_args(Method) if f"solver.method={name}" not in text} == set()
