"""What all tests need of the process that they run in."""

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def _interruptible():
    """Let SIGINT interrupt, here and in child processes, where a shell started us with it ignored.

    That is how shells start what runs in the background, and lssvm leaves ignored signals so.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
