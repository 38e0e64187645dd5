"""Training by workers of Dask: the same bytes as by threads, whatever happens to the workers."""

import os
import signal
import threading

import pytest

from lssvm import learn, load_config, oracle
from lssvm.training.cccp import Observer

distributed = pytest.importorskip(
    "distributed", reason="needs Dask: pip install 'lssvm[dask]' (make test installs it)"
)

# What some coroutine of Dask leaves when its loop ends is not ours.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CASES = {
    "multiclass": ("multiclass", "solver.method=bundle"),
    "multiclass-proximal": ("multiclass", "solver.method=proximal"),
    "sequence-ssvm": ("sequence", "solver.method=cutting-plane", "solver.max_passes=60"),
    "sequence-crf": ("sequence", "objective.model=crf", "solver.method=lbfgs"),
    "sequence-gradient": ("sequence", "objective.model=crf", "solver.method=gradient")
    + ("solver.max_passes=30",),
    "motif": ("motif", "cccp.restarts=1", "cccp.max_iterations=2"),
    "precision_at_k": ("precision_at_k", "solver.method=bundle", "solver.max_passes=60"),
    "mrf": ("mrf", "solver.method=bundle", "solver.max_passes=10", "cccp.max_iterations=2"),
    "coreference": ("coreference", "solver.method=bundle", "solver.max_passes=60"),
}


def config_of(case):
    name, *settings = CASES[case]
    return load_config(f"configs/{name}.yaml", settings)


@pytest.fixture(scope="module")
def scheduler():
    """The address of a scheduler with three workers."""
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address=":0", silence_logs=60
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(autouse=True)
def _many_blocks(monkeypatch):
    """Sample data in many blocks. They are cut here, so workers need not know."""
    monkeypatch.setattr(oracle, "BLOCK_WORK", 300)


def saved(model, folder):
    model.save(folder / "found.model")
    return (folder / "found.model").read_bytes()


class Watching(Observer):
    """Keeps the summary, and does something before a pass; ``at`` is the number of the pass."""

    def __init__(self, at=-1, act=None):
        self.at, self.act, self.warnings = at, act, []

    def passed(self, passes, gap, goal, not_converged, objective):
        if passes >= self.at >= 0:
            self.at = -1
            self.act()

    def finished(self, summary):
        self.summary = summary


@pytest.mark.parametrize("case", CASES)
def test_workers_train_the_model_of_threads_to_the_last_byte(case, scheduler, tmp_path):
    config = config_of(case)
    expected = saved(learn(config), tmp_path)
    for workers in (1, 2, 3):
        watching = Watching()
        found = learn(config, executor=f"dask:{scheduler}", workers=workers, observer=watching)
        assert saved(found, tmp_path) == expected
        assert watching.summary.workers == workers
        assert watching.summary.sent_mb > 0
        assert watching.summary.received_mb > 0
        assert 0 < watching.summary.communication < 1


def processes(scheduler):
    """The processes of the workers by the names of these."""
    with distributed.Client(scheduler, set_as_default=False) as client:
        names = {
            address: worker["name"]
            for address, worker in client.scheduler_info(n_workers=-1)["workers"].items()
        }
        return {names[address]: pid for address, pid in client.run(os.getpid).items()}


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.02])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_worker_loses_nothing(scheduler, tmp_path, workers, delay):
    config = config_of("sequence-ssvm")
    expected = saved(learn(config), tmp_path)

    def kill():
        pid = processes(scheduler)[0]
        threading.Timer(delay, os.kill, (pid, signal.SIGKILL)).start()

    watching = Watching(20, kill)
    found = learn(config, executor=f"dask:{scheduler}", workers=workers, observer=watching)
    assert saved(found, tmp_path) == expected
    with distributed.Client(scheduler, set_as_default=False) as client:
        client.wait_for_workers(3, timeout=30)
