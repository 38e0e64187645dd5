"""What all tests need of the process that they run in."""

import gc
import os
import signal

import pytest
from hypothesis import settings

# The same examples in every run and on every machine, however slow it is, and no file is left.
settings.register_profile("same", derandomize=True, database=None, deadline=None, max_examples=60)
settings.load_profile("same")


# Thousands of tests live until the end: looking for garbage among them takes a tenth of a run.
gc.set_threshold(10_000, 20, 20)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """The garbage collector need not look at what has been collected."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _interruptible():
    """Let SIGINT interrupt, here and in child processes, where a shell started us with it ignored.

    That is how shells start what runs in the background, and lssvm leaves ignored signals so.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _not_waiting_for_the_disk():
    """No test can see a loss of power, and there are tens of thousands of files to wait for.

    That lssvm waits for the disk before a file takes its name is seen in ``test_model.py``.
    """
    before, os.fsync = os.fsync, lambda descriptor: None
    yield
    os.fsync = before
