"""Tasks shared out to processes that end when this one does, however it does.

The processes are started anew (spawn) and joined to this one by pipes alone: the standard
library's pool keeps semaphores, which a killed program leaves behind with a warning.
"""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import connection, resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any

from lssvm import applications
from lssvm.errors import ApplicationCrashError, ApplicationError, LssvmError
from lssvm.output.stopping import SIGNALS, at_stop, held_back

Pipe = connection.Connection
DONE, REFUSED, FAILED = "done", "refused", "failed"


def run_by_processes(
    function: Callable[[Any, Any], Any],
    shared: Any,
    tasks: Sequence[Any],
    jobs: int,
    take: Callable[[int, Any], None],
) -> None:
    """take(number, function(shared, task)) for every task, in the order in which they end.

    An interrupt or a failing task ends all processes before the exception goes on.
    Raises LssvmError if a task does, or if a process is ended from outside.
    """
    if jobs == 1 or len(tasks) <= 1:
        for number, task in enumerate(tasks):
            take(number, function(shared, task))
        return
    with _crew(min(jobs, len(tasks)), function, shared) as pipes:
        for number, result in _answers(pipes, tasks):
            take(number, result)


@contextmanager
def _crew(size: int, function: Callable[..., Any], shared: Any) -> Iterator[list[Pipe]]:
    """Pipes to processes that wait for tasks; they are ended with the block."""
    context = multiprocessing.get_context("spawn")
    resource_tracker.ensure_running()  # would let the signals through that are held back below
    workers: list[BaseProcess] = []
    pipes: list[Pipe] = []

    def end() -> None:
        for worker in workers:
            worker.kill()

    with at_stop(end):
        try:
            for _ in range(size):
                ours, theirs = context.Pipe()
                worker: BaseProcess = context.Process(
                    target=_work, args=(theirs, function, shared), daemon=True
                )
                with held_back():
                    worker.start()
                    workers.append(worker)
                theirs.close()
                pipes.append(ours)
            yield pipes
        except BaseException:
            end()
            raise
        finally:
            for pipe in pipes:
                pipe.close()  # at which they end by themselves
            for worker in workers:
                worker.join()


def _answers(pipes: Sequence[Pipe], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """The numbers of the tasks and their results, in the order in which they come."""
    waiting, busy = iter(enumerate(tasks)), {}

    def hand(pipe: Pipe) -> None:
        for number, task in waiting:
            busy[pipe] = number
            pipe.send(task)
            return

    try:
        for pipe in pipes:
            hand(pipe)
        while busy:
            ready = connection.wait(list(busy))
            for pipe in [pipe for pipe in busy if pipe in ready]:
                value = settled(*pipe.recv())
                number = busy.pop(pipe)
                hand(pipe)
                yield number, value
    except (EOFError, ConnectionError):
        raise LssvmError(
            "a process of the search was ended from outside, perhaps because memory ran out; "
            "use fewer --jobs"
        ) from None


def _work(pipe: Pipe, function: Callable[[Any, Any], Any], shared: Any) -> None:
    """What a process does: the one that started it ends it, and no signal else."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        while True:
            task = pipe.recv()
            pipe.send(tried(function, shared, task))
    except (EOFError, OSError):
        os._exit(0)


def tried(function: Callable[[Any, Any], Any], shared: Any, task: Any) -> tuple[str, Any]:
    """What a task becomes, to be sent to another process."""
    try:
        return DONE, function(shared, task)
    except LssvmError as error:
        return REFUSED, (type(error).__name__, str(error))
    except SystemExit as error:
        return REFUSED, (ApplicationCrashError.__name__, applications.of_exit(error))
    except Exception:
        return FAILED, traceback.format_exc()


def settled(kind: str, value: Any) -> Any:
    """The result of a task that was :func:`tried`. Raises what the task raised."""
    if kind == REFUSED:
        raise raised_there(*value)
    if kind == FAILED:
        raise RuntimeError(f"in another process:\n{value}")
    return value


def raised_there(name: str, text: str) -> LssvmError:
    """The error of another process. Most classes need more than a message to be made again."""
    kinds = {kind.__name__: kind for kind in (ApplicationCrashError, ApplicationError)}
    return kinds.get(name, LssvmError)(text)


def _end_with_parent() -> None:
    """A killed parent cannot end its processes, and they would wait for it for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
