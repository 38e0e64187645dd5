"""Training by workers of Dask: the same bytes as by threads, whatever happens to the workers."""

from contextlib import contextmanager

import pytest

from lssvm import learn, load_config, oracle
from lssvm.errors import LssvmError

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
    "motif": ("motif", "cccp.restarts=2", "cccp.max_iterations=3"),
    "precision_at_k": ("precision_at_k", "solver.method=bundle", "solver.max_passes=60"),
    "mrf": ("mrf", "solver.method=bundle", "solver.max_passes=40"),
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
    monkeypatch.setattr(oracle, "BLOCK_WORK", 2_000)


def saved(model, folder):
    model.save(folder / "found.model")
    return (folder / "found.model").read_bytes()


@pytest.mark.parametrize("case", CASES)
def test_workers_train_the_model_of_threads_to_the_last_byte(case, scheduler, tmp_path):
    config = config_of(case)
    expected = saved(learn(config), tmp_path)
    for workers in (1, 2, 3):
        found = learn(config, executor=f"dask:{scheduler}", workers=workers)
        assert saved(found, tmp_path) == expected
