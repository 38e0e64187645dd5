"""The process of a command: it starts and ends without work that is not its own."""

import json
import os
import subprocess
import sys

import pytest

ENDED = """
import atexit, gc, json, sys
from lssvm.cli import program
def told():
    import numpy
    from threadpoolctl import threadpool_info
    blas = [found for found in threadpool_info() if found["internal_api"] == "openblas"]
    print(json.dumps([gc.get_freeze_count(), [found["num_threads"] for found in blas]]))
atexit.register(told)
"""


def ended(call, **environment):
    """What a process tells at its end: frozen objects and threads of each OpenBLAS."""
    shown = {key: value for key, value in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", ENDED + call],
        capture_output=True,
        text=True,
        env=shown | environment,
        check=False,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("door", ["learn", "classify", "main"])
@pytest.mark.parametrize("argument", ["--version", "--no-such-option"])
def test_a_command_ends_without_a_search_for_garbage_and_keeps_blas_to_one_thread(door, argument):
    call = f"sys.argv = ['lssvm', {argument!r}]\nprogram.{door}()"
    frozen, threads = ended(call)
    assert frozen > 5_000
    assert set(threads) <= {1}
    assert ended("")[0] == 0


def test_who_sets_the_threads_of_blas_is_asked_first():
    call = "sys.argv = ['lssvm', '--version']\nprogram.main()"
    _, threads = ended(call, OPENBLAS_NUM_THREADS="2")
    assert set(threads) <= {min(2, os.cpu_count())}
