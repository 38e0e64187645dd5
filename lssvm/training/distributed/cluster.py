"""The one door to Dask: its workers, an actor on each of them, and what is lost on the way."""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from multiprocessing import resource_tracker
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from lssvm.errors import LssvmError, MissingExtraError, SchedulerLostError, counted
from lssvm.training.distributed.worker import Blocks, Recipe, versions

DASK = "dask"
CONNECT = 20.0  # seconds until a scheduler must answer
LOOK = 2.0  # seconds between two looks whether a worker is still there
STARTS = 3  # tries to start the workers of this machine
WAIT = 50.0  # seconds until there must be workers
ROUNDS = 4  # of losses in one pass or one task, before the run ends
PAUSE = 0.02  # seconds between two looks whether a task has ended


class WorkerLostError(Exception):
    """A worker is no longer there; what it had can be sent to others."""


class Worker(NamedTuple):
    """A worker as the scheduler knows it: its address, its name, and its threads."""

    address: str
    name: str
    threads: int

    def __str__(self) -> str:
        return f"worker {self.name} ({self.address})"


def _distributed() -> ModuleType:
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("executor: dask", "dask and distributed", "dask") from None
    return distributed


@contextmanager
def cluster_of(executor: str, workers: int | None) -> Iterator["Cluster"]:
    """The workers that the value of ``executor`` names: started here, or those of a scheduler.

    executor : ``dask``; or ``dask:`` and the address of a scheduler, or its scheduler file
    workers : how many; None: all cores, or all that the scheduler has

    Raises LssvmError if Dask is not installed, if there is no such scheduler, or if the workers of
    this machine cannot be started.
    """
    distributed = _distributed()
    place = executor.removeprefix(DASK).removeprefix(":")
    with _silence():
        local = None if place else _local(distributed, workers)
        try:
            client = _client(distributed, local or place, place)
            try:
                yield Cluster(client, place or "the local cluster", workers)
            finally:
                with suppress(Exception):
                    client.close(timeout=LOOK)
        finally:
            if local is not None:
                with suppress(Exception):
                    local.close(timeout=LOOK)


@contextmanager
def _silence() -> Iterator[None]:
    """Dask tells of lost workers in many lines; here one line says what follows from it."""
    logger = logging.getLogger("distributed")
    names = [name for name in logging.Logger.manager.loggerDict if name.startswith("distributed.")]
    loggers = [logger, *map(logging.getLogger, names)]
    before = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for each, level in zip(loggers, before, strict=True):
            each.setLevel(level)


def _local(distributed: ModuleType, workers: int | None) -> Any:
    """A cluster of processes on this machine, begun anew if one of them is lost while it starts.

    Raises LssvmError if they cannot be started.
    """
    for _ in range(STARTS - 1):
        with suppress(RuntimeError):
            return _started(distributed, workers)
    try:
        return _started(distributed, workers)
    except RuntimeError as error:
        wrong = f"executor: dask: the workers cannot be started ({error})"
        raise LssvmError(f"{wrong}; expected processes of this machine") from error


def _started(distributed: ModuleType, workers: int | None) -> Any:
    with _without_interrupts():
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL + 1,
        )


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Threads that begin within, and processes that they ever start, are not reached by Ctrl-C.

    It is for this process alone, which says what happens, and may need its workers once more.
    """
    _start_tracker()  # would let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_tracker() -> None:
    """Start what removes the semaphores of a killed process, as one that does so without a word."""
    key = "PYTHONWARNINGS"
    before = os.environ.get(key)
    quiet = "ignore::UserWarning:multiprocessing.resource_tracker"
    os.environ[key] = f"{before},{quiet}" if before else quiet
    try:
        resource_tracker.ensure_running()
    finally:
        if before is None:
            del os.environ[key]
        else:
            os.environ[key] = before


def _client(distributed: ModuleType, where: Any, place: str) -> Any:
    options: dict[str, Any] = {"direct_to_workers": True, "timeout": CONNECT}
    if place and "://" not in place and Path(place).suffix == ".json":
        if not Path(place).is_file():
            raise LssvmError(f"{place}: no such file; expected a scheduler file of Dask")
        options["scheduler_file"] = place
    else:
        options["address"] = where
    try:
        return distributed.Client(**options)
    except (OSError, ValueError, TimeoutError) as error:
        why = str(error).partition("\n")[0] or type(error).__name__
        raise LssvmError(
            f"executor: no scheduler of Dask answers at {place}: {why}; expected an address such "
            "as tcp://host:8786"
        ) from None


class Cluster:
    """The workers of a scheduler."""

    def __init__(self, client: Any, place: str, wanted: int | None) -> None:
        self._client, self._place = client, place
        self._wanted, self._looked = wanted, time.monotonic()
        self.names: dict[str, Worker] = {}

    @property
    def dashboard(self) -> str:
        """The address of Dask's dashboard; empty if it is off, as without the package bokeh."""
        return str(self._client.dashboard_link or "") if find_spec("bokeh") else ""

    def first(self) -> list[Worker]:
        """The workers to begin with. Raises LssvmError if they do not come."""
        try:
            self._client.wait_for_workers(self._wanted or 1, timeout=WAIT)
        except (TimeoutError, OSError):
            found = len(self.present())
            raise LssvmError(
                f"executor: {counted(found, 'worker')} at {self._place} after {WAIT:.0f} seconds; "
                f"expected at least {self._wanted or 1}"
            ) from None
        return self.present()[: self._wanted]

    def present(self) -> list[Worker]:
        """The workers that are there now. Raises SchedulerLostError."""
        try:
            threads = self._client.nthreads(callback_timeout=self._patience())
            new = threads.keys() - self.names.keys()
            if new:
                known = self._client.scheduler_info(n_workers=-1)["workers"]
                for address in new & known.keys():
                    worker = Worker(address, str(known[address]["name"]), threads[address])
                    self.names[address] = worker
        except Exception as error:
            raise SchedulerLostError(
                f"the scheduler of Dask at {self._place} does not answer any more"
            ) from error
        return [self.names[address] for address in threads if address in self.names]

    def _patience(self) -> float:
        """How long the scheduler may take to answer: it can be busy, or no longer there."""
        return CONNECT if self._client.status == "running" else LOOK

    def actor(self, worker: Worker, recipe: Recipe) -> Any:
        """A ``Blocks`` on a worker. Raises LssvmError if it has other versions, WorkerLostError."""
        self._check_versions(worker, recipe.name)
        future = self._client.submit(
            Blocks,
            worker.threads,
            actor=True,
            workers=[worker.address],
            allow_other_workers=False,
            pure=False,
        )
        return self.result(future, worker)

    def check_workers(self, application: str | None, function: Callable[..., Any]) -> None:
        """Raise LssvmError if a worker has other versions, or if there are no workers.

        application : as of ``worker.versions``; function : what workers must be able to import
        """
        for worker in self.first():
            with suppress(WorkerLostError):
                self._check_versions(worker, application, function)

    def solved(
        self, function: Callable[[Any, int], Any], shared: Any, count: int
    ) -> Iterator[tuple[int, Any]]:
        """Numbers below ``count`` and function(shared, number), in the order in which they come.

        What tasks are is shared too: the scheduler, which looks at all else, need not know it. Dask
        gives a task whose worker is lost to another one; if what they share is lost, it is
        sent again. Raises LssvmError if too many workers are lost, SchedulerLostError.
        """
        left = set(range(count))
        for _ in range(ROUNDS):
            there = self._spread(shared)
            if there is None:
                continue
            waiting = {
                number: self._client.submit(function, there, number, pure=False)
                for number in sorted(left)
            }
            while waiting:
                ready = [number for number, future in waiting.items() if future.done()]
                for number in ready:
                    answer = self._answer(waiting.pop(number))
                    if answer is not None:
                        left.discard(number)
                        yield number, answer
                if not ready:
                    time.sleep(PAUSE)
                    self._look()
            if not left:
                return
        raise LssvmError(f"executor: worker after worker of {self._place} was lost in its task")

    def _spread(self, shared: Any) -> Any:
        """What tasks share, at all workers; None if one was lost meanwhile.

        Raises SchedulerLostError, at once: Dask waits for a scheduler that it has lost.
        """
        self.present()
        try:
            return self._client.scatter(shared, broadcast=True, hash=False)
        except (OSError, RuntimeError, CancelledError):
            self.present()
            return None

    def _answer(self, future: Any) -> Any:
        """What a task that has ended became; None if its worker was lost."""
        try:
            return future.result(timeout=CONNECT)
        except (OSError, TimeoutError, CancelledError):
            return None
        except Exception as error:
            if type(error).__module__.partition(".")[0] == "distributed":
                return None
            raise

    def _look(self) -> None:
        """Ask for the workers from time to time, which tells whether the scheduler is there."""
        if time.monotonic() - self._looked > LOOK:
            self.present()
            self._looked = time.monotonic()

    def _check_versions(self, worker: Worker, application: str | None, *imported: Any) -> None:
        found = self._run(worker, versions, application, *imported)
        # Of an error that Dask cannot send, its words are sent as a plain exception.
        if isinstance(found, ImportError) or type(found) is Exception:
            raise LssvmError(f"{worker}: {found}; expected the same modules as here")
        if isinstance(found, BaseException):
            raise WorkerLostError from found
        (version, package), (our_version, our_package) = found, versions(application)
        if version != our_version:
            raise LssvmError(f"{worker}: lssvm {version}; expected {our_version}, as here")
        if package != our_package:
            theirs, ours = (" ".join(each or ("none",)) for each in (package, our_package))
            raise LssvmError(
                f"{worker}: application {application!r} is from {theirs}; expected {ours}, as here"
            )

    def _run(self, worker: Worker, function: Any, *arguments: Any) -> Any:
        """What a function returns on a worker, or what it raises there."""
        try:
            run = self._client.run(
                function, *arguments, workers=[worker.address], on_error="return"
            )
        except Exception as error:
            self._judge(worker, error)
        return run[worker.address]

    def call(self, worker: Worker, actor: Any, method: str, *arguments: Any) -> Any:
        """The future of a method's result. Raises WorkerLostError, SchedulerLostError."""
        try:
            return getattr(actor, method)(*arguments)
        except RuntimeError as error:  # which Dask raises where it knows of the loss
            self._judge(worker, error)

    def result(self, future: Any, worker: Worker) -> Any:
        """What a future becomes. Raises WorkerLostError, SchedulerLostError."""
        fetched = 0.0
        while True:
            try:
                return future.result(timeout=LOOK)
            except TimeoutError as error:
                # An answer that is there still has to be fetched, from a machine that may be busy.
                fetched += LOOK * future.done()
                if fetched > CONNECT or worker not in self.present():
                    raise WorkerLostError from error
            except (OSError, RuntimeError, CancelledError) as error:
                self._judge(worker, error)
            except Exception as error:
                if type(error).__module__.partition(".")[0] == "distributed":
                    self._judge(worker, error)
                raise

    def _judge(self, worker: Worker, error: BaseException) -> NoReturn:
        """A worker did not answer: it is lost, unless the scheduler is."""
        self.present()
        raise WorkerLostError from error
