"""SIGINT and SIGTERM end a command at once, in one line, and leave nothing half-made.

An exception that a signal's handler raises is lost in a destructor, and an import or a compiled
module makes another one of it. So the handler ends the process itself: it does what was asked
for with :func:`at_stop`, writes one line, and exits with 128 + the signal's number.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
CLEAN_LINE = "\r\x1b[K\x1b[?25h"  # on a terminal: over a bar's line, the cursor shown again

_actions: dict[object, Callable[[], Any]] = {}
_how: Callable[[], str] = str
_process = 0  # the one that was armed
_holding = 0  # blocks of held_back that are open
_waiting = 0  # the signal that came within


def arm() -> None:
    """From here on SIGINT and SIGTERM end this process; an ignored signal stays ignored."""
    global _process
    if _process == os.getpid():
        return
    _process = os.getpid()
    with suppress(ValueError):  # another thread than the main one
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _end)


def finish() -> None:
    """All is done: a signal that comes while the interpreter ends has nothing to stop."""
    with suppress(ValueError):
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def tell(how: Callable[[], str]) -> None:
    """``how()`` ends the line of a command that is stopped: what is kept, and how to go on."""
    global _how
    _how = how


@contextmanager
def at_stop(action: Callable[[], Any]) -> Iterator[None]:
    """Do ``action()`` if a signal ends the process within the block; its errors are dropped."""
    key = object()
    _actions[key] = action
    try:
        yield
    finally:
        del _actions[key]


@contextmanager
def held_back() -> Iterator[None]:
    """Signals wait until the block has ended, in processes started within for ever."""
    global _holding
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    _holding += 1  # another thread may take the signal, and the handler is the main one's
    try:
        yield
    finally:
        _holding -= 1
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if _waiting and not _holding:
            _end(_waiting, None)


def line(number: int, how: str) -> str:
    """What a command that was stopped says."""
    return f"stopped by {signal.Signals(number).name}" + (f"; {how}" if how else "")


def _end(number: int, frame: Any) -> None:
    global _waiting
    _waiting = number
    if _holding:
        return
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    if os.getpid() != _process:  # a child of a plug-in's: the files are its parent's
        os._exit(128 + number)
    for action in reversed(list(_actions.values())):
        with suppress(Exception):
            action()
    text = ""
    with suppress(Exception):
        text = _how()
    if sys.stderr is not None:  # closed: its number may be that of another file by now
        with suppress(OSError, ValueError):
            descriptor = sys.__stderr__.fileno()  # type: ignore[union-attr]
            plain = os.environ.get("TERM", "dumb") == "dumb" or not os.isatty(descriptor)
            start = "" if plain else CLEAN_LINE
            os.write(descriptor, f"{start}{line(number, text)}\n".encode(errors="replace"))
    os._exit(128 + number)
