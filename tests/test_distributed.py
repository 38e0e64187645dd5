"""Training by workers of Dask: the same bytes as by threads, whatever happens to the workers."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import apart_samples as samples
import numpy as np
import pytest
from click.testing import CliRunner

import lssvm
from experiments.common.command import Arguments
from experiments.yu_joachims_2009 import random_starts
from lssvm import learn, load_config, oracle
from lssvm.cli import classify, main
from lssvm.config import set_values
from lssvm.errors import LssvmError, MissingExtraError
from lssvm.executor import Executor
from lssvm.oracle.answers import Answers
from lssvm.solvers import opening
from lssvm.training.cccp import Observer
from lssvm.training.cross_validation import cross_validate, study_of
from lssvm.training.distributed import cluster, crew, tasks
from lssvm.training.distributed.cluster import CONNECT, LOOK, Cluster, Worker, WorkerLostError
from lssvm.training.distributed.worker import Recipe, Reply
from lssvm.training.session import rehearse

distributed = pytest.importorskip(
    "distributed", reason="needs Dask: pip install 'lssvm[dask]' (make test installs it)"
)

Client = distributed.Client

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
    "sequence-gradient": (
        *("sequence", "objective.model=crf", "solver.method=gradient", "solver.max_passes=30"),
    ),
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
    """The address of a scheduler with four workers."""
    with distributed.LocalCluster(
        n_workers=4, threads_per_worker=1, dashboard_address=":0", silence_logs=60
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(autouse=True)
def _many_blocks(monkeypatch):
    """Sample data in many blocks, and fewer parts. They are cut here: workers need not know."""
    monkeypatch.setattr(oracle, "BLOCK_RULES", ((300, 64),))
    monkeypatch.setattr(oracle, "PIECE", 300)
    monkeypatch.setattr(opening, "PARTS", 12)


def saved(model, folder):
    model.save(folder / "found.model")
    return (folder / "found.model").read_bytes()


class Watching(Observer):
    """Keeps the summary, and does something before a pass; ``at`` is the number of the pass."""

    def __init__(self, at=-1, act=None):
        self.at, self.act, self.notes = at, act, []

    def passed(self, passes, gap, goal, not_converged, objective):
        if passes >= self.at >= 0:
            self.at = -1
            self.act()

    def finished(self, summary):
        self.summary = summary

    def noted(self, text):
        self.notes.append(text)


@pytest.mark.parametrize("case", CASES)
def test_workers_train_the_model_of_threads_to_the_last_byte(case, scheduler, tmp_path):
    config = config_of(case)
    expected = saved(learn(config), tmp_path)
    for workers in (1, 2, 3, 4) if case == "multiclass" else (4,):
        watching = Watching()
        found = learn(config, executor=f"dask:{scheduler}", workers=workers, observer=watching)
        assert saved(found, tmp_path) == expected
        assert watching.summary.workers == workers
        assert watching.summary.sent_mb > 0
        assert watching.summary.received_mb > 0
        assert 0 < watching.summary.communication < 1


APART = {
    "multiclass": (
        *("multiclass", samples.rows, "solver.method=bundle", "solver.max_passes=25"),
        "application.class_costs=balanced",
    ),
    "multiclass-hashed": (
        *("multiclass", samples.far_rows, "solver.method=proximal", "application.loss=zero_one"),
    ),
    "multiclass-short": (
        *("multiclass", samples.uneven_rows, "solver.method=bundle", "solver.max_passes=2"),
    ),
    "sequence": (
        *("sequence", lambda: samples.sentences(None), "solver.method=cutting-plane"),
        "solver.max_passes=30",
    ),
    "sequence-crf": (
        *("sequence", lambda: samples.sentences(None), "objective.model=crf"),
        "solver.method=lbfgs",
    ),
    "coreference": (
        *("coreference", samples.documents, "solver.method=bundle", "solver.max_passes=20"),
    ),
    "precision_at_k": (
        *("precision_at_k", samples.queries, "solver.method=bundle", "solver.max_passes=15"),
    ),
    "precision_at_k-random": (
        *("precision_at_k", samples.queries, "solver.method=bundle", "solver.max_passes=10"),
        "application.initialisation=random",
    ),
    "motif": (
        *("motif", samples.records, "cccp.restarts=1", "cccp.max_iterations=2"),
        *("application.trials=20", "application.class_costs=balanced"),
        *("application.background_order=1", "application.skip_unusable=true"),
    ),
    "motif-random": (
        *("motif", samples.records, "cccp.restarts=1", "cccp.max_iterations=2"),
        *("application.length=8", "application.initialisation=random", "solver.max_passes=10"),
        "application.skip_unusable=true",
    ),
    "mrf": ("mrf", samples.graphs, "cccp.max_iterations=2", "solver.max_passes=6"),
    "latent_sequence": (
        *("latent_sequence", lambda: samples.half_labelled()[:20], "solver.max_passes=4"),
    ),
    "relation": (
        *("relation", samples.pairs, "application.loss=hamming", "solver.max_passes=8"),
        *("application.initialisation=random", "cccp.max_iterations=2"),
    ),
    "alignment": (*("alignment", samples.natives, "solver.method=bundle", "solver.max_passes=4"),),
    "alignment-hidden": (
        *("alignment", samples.natives, "objective.model=lssvm", "solver.method=bundle"),
        *("solver.max_passes=3", "cccp.max_iterations=2"),
    ),
    "parsing": (
        *("parsing", samples.trees, "solver.method=bundle", "solver.max_passes=4"),
        *("application.loss=brackets", "objective.slack_norm=1", "application.max_words=12"),
    ),
    "latent_parsing": (
        *("latent_parsing", samples.chains, "solver.method=bundle", "solver.max_passes=3"),
        *("application.max_words=9", "cccp.max_iterations=2"),
    ),
}


def parted(case, count, folder):
    """A configuration whose training data are in several files, as a pattern."""
    name, pieces, *settings = APART[case]
    samples.parted(pieces(), count, folder)
    pattern = folder / "part-*.txt"
    file = Path(f"configs/{name}.yaml").absolute()
    return load_config(file, [f"data.train={pattern}", *settings])


@pytest.mark.parametrize("case", APART)
def test_workers_that_read_the_files_train_the_model_of_threads(case, scheduler, tmp_path):
    config = parted(case, 5, tmp_path)
    expected = saved(learn(config, threads=2), tmp_path)
    for workers in (1, 2, 3, 4) if case == "multiclass" else (3,):
        watching = Watching()
        found = learn(config, executor=f"dask:{scheduler}", workers=workers, observer=watching)
        assert saved(found, tmp_path) == expected
        assert watching.notes == []
        assert watching.summary.workers == workers
    assert (found.record.get("uneven") is not None) == (case == "multiclass-short")


@pytest.mark.parametrize("files", [1, 4])
def test_weights_that_a_worker_does_not_read_and_sums_of_0_are_not_sent(files, scheduler, tmp_path):
    names = samples.parted(samples.wide_rows(), files, tmp_path)
    settings = [f"data.train={names}", "solver.method=cutting-plane", "application.bias=0"]
    settings += ["application.loss=zero_one", "solver.max_passes=8"]
    config, watching = load_config("configs/multiclass.yaml", settings), Watching()
    found = learn(config, executor=f"dask:{scheduler}", observer=watching)
    assert saved(found, tmp_path) == saved(learn(config), tmp_path)
    summary = watching.summary
    # By each of four workers, and for single examples at the end where workers alone have these.
    asked = 4 * (summary.passes + 2) + (0 if files == 1 else 2 * oracle.LOOKS)
    data = files == 1 and 120 * 200 * 12 / 1e6
    assert summary.sent_mb - data < 0.4 * asked * found.w.nbytes / 1e6
    assert summary.received_mb < 0.2 * asked * found.w.nbytes / 1e6


SEARCH = ["search.grid={objective.C: [0.1, 1]}", "search.folds=3", "solver.max_passes=20"]


def test_an_experiment_finds_the_same_by_workers(scheduler, monkeypatch):
    monkeypatch.undo()  # these workers cut blocks themselves
    settings = ["search.grid={objective.C: [1]}", "search.folds=3", "cccp.max_iterations=1"]
    study = study_of(load_config("configs/motif.yaml", [*settings, "solver.max_passes=2"]))
    found = []
    for executor in ("threads", f"dask:{scheduler}"):
        arguments = Arguments(Path(), Path(), True, 1, executor)
        found.append(random_starts.runs_of(study, (1.0,), 2, arguments))
    assert len(found[0]) == 6
    assert found[0] == found[1]


def test_workers_search_as_processes_do_even_if_one_is_killed(scheduler):
    config = load_config("configs/multiclass.yaml", SEARCH)
    expected = cross_validate(config).summary()
    with distributed.Client(scheduler, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
        pids = iter(client.run(os.getpid).values())
    told = []

    def progress(done, of):
        told.append((done, of))
        if done == 1:
            os.kill(next(pids), signal.SIGKILL)

    own = set_values(config, {"executor": f"dask:{scheduler}"})
    assert cross_validate(own, progress=progress).summary() == expected
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_what_a_search_cannot_train_is_told_by_workers_in_the_same_words(scheduler, tmp_path):
    (tmp_path / "few.txt").write_text("a 1:1\nb 1:2\n" + 6 * "? 1:3\n", "utf-8")
    settings = [f"data.train={tmp_path}/few.txt", "application.loss=zero_one", *SEARCH]
    told = []
    for executor in ("threads", f"dask:{scheduler}"):
        config = load_config("configs/multiclass.yaml", [*settings, f"executor={executor}"])
        with pytest.raises(LssvmError) as caught:
            cross_validate(config)
        told.append(re.sub(r":\d+:", ":", str(caught.value)))  # of the fold that is done first
    assert told[0] == told[1]


def test_the_command_searches_where_its_options_say(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "CONNECT", 0.2)
    command = ["cv", "configs/multiclass.yaml", "-q", "--checkpoint", str(tmp_path / "runs")]
    command += ["--executor", "dask:tcp://127.0.0.1:1"]
    found = CliRunner().invoke(main, command)
    assert found.exit_code == 2
    assert "no scheduler of Dask answers at tcp://127.0.0.1:1" in found.output


class Short:
    """A client whose scheduler is lost as the first task has ended."""

    status = "running"

    def __init__(self):
        self.submitted = 0

    def nthreads(self, callback_timeout):
        if self.submitted:
            self.status = "connecting"
            raise OSError("connection refused")
        return {"tcp://1": 1}

    def wait_for_workers(self, count, timeout):
        pass

    def scheduler_info(self, n_workers):
        return {"workers": {"tcp://1": {"name": "1"}}}

    def run(self, function, *arguments, workers, on_error):
        return dict.fromkeys(workers, function(*arguments))

    def scatter(self, shared, broadcast, hash):
        return shared

    def submit(self, function, shared, number, pure):
        self.submitted += 1
        future = Future()
        future.cancel() if number else future.set_result(function(shared, number))
        return future


def test_a_search_that_loses_the_scheduler_keeps_what_was_finished(monkeypatch, tmp_path):
    client, runs = Short(), tmp_path / "runs"
    found = nullcontext(Cluster(client, "tcp://a:1", None))
    monkeypatch.setattr(tasks, "cluster_of", lambda executor, workers: found)
    command = ["cv", "configs/multiclass.yaml", "-q", "--checkpoint", str(runs)]
    command += [
        "--executor",
        "dask:tcp://a:1",
        *(word for each in SEARCH for word in ("--set", each)),
    ]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.output) == (
        1,
        f"error: the scheduler of Dask at tcp://a:1 does not answer any more; {runs} has the "
        "finished runs, go on with the same command and --resume\n",
    )
    assert client.submitted == 3
    assert len(runs.read_text("utf-8").splitlines()) == 2


@pytest.mark.parametrize("case", ["mrf", "parsing"])
def test_workers_predict_what_threads_do(case, scheduler, tmp_path, monkeypatch):
    """In the same file, with the same scores and warnings; each file is a part at least."""
    asked, predicted = [], crew.Crew.predicted

    def counting(self, parts, top):
        asked.append(len(parts))
        return predicted(self, parts, top)

    monkeypatch.setattr(crew.Crew, "predicted", counting)
    own = {"solver.max_passes": 2, "cccp.max_iterations": 1}
    learn(set_values(parted(case, 5, tmp_path), own)).save(tmp_path / "found.model")
    config = tmp_path / "test.yaml"
    config.write_text(f"application: {APART[case][0]}\ndata: {{test: part-*.txt}}\n", "utf-8")
    told = []
    for place in (["threads"], [f"dask:{scheduler}", "--workers", "3"]):
        command = [config, tmp_path / "found.model", tmp_path / "found", "--executor", *place]
        command += ["--metrics", tmp_path / "scores"]
        found = CliRunner().invoke(classify, list(map(str, command)))
        assert found.exit_code == 0, found.output
        files = [(tmp_path / name).read_bytes() for name in ("found", "scores")]
        told.append((found.output, *files))
    assert told[0] == told[1]
    assert asked == [3, 2]


def test_a_place_to_predict_at_is_one_of_those_to_train_at(tmp_path):
    learn(set_values(config_of("multiclass"), {"solver.max_passes": 1})).save(tmp_path / "m")
    command = ["data/multiclass/test.txt", str(tmp_path / "m"), str(tmp_path / "p")]
    found = CliRunner().invoke(classify, [*command, "--executor", "spark"])
    assert found.exit_code == 2
    assert "--executor spark: expected threads, dask or dask:ADDRESS" in found.output
    assert not (tmp_path / "p").exists()


def test_the_choice_of_a_solver_does_not_depend_on_who_reads(scheduler, tmp_path):
    few = {"solver.method": "auto", "solver.max_passes": 2, "cccp.max_iterations": 1}
    for case, settings in (
        ("multiclass", {"objective.C": 0.001}),
        ("multiclass", {"objective.C": 1000.0}),
        ("mrf", {"objective.model": "lssvm"}),
    ):
        own = set_values(parted(case, 5, tmp_path), {**few, **settings})
        chosen = learn(own).config["solver"]["method"]
        try:
            found = learn(own, executor=f"dask:{scheduler}").config["solver"]["method"]
        except LssvmError as error:
            found = str(error).split()[1]
        assert found == chosen


def test_a_worker_that_reads_files_and_is_killed_loses_nothing(scheduler, tmp_path):
    """Others read its files again."""
    config = parted("sequence", 5, tmp_path)
    expected = saved(learn(config), tmp_path)
    with distributed.Client(scheduler, set_as_default=False) as client:
        client.wait_for_workers(4, timeout=30)
        pids = iter(client.run(os.getpid).values())
    first = Watching(10, lambda: os.kill(next(pids), signal.SIGKILL))
    assert saved(learn(config, executor=f"dask:{scheduler}", observer=first), tmp_path) == expected
    assert first.summary.workers_lost == 1


def test_what_threads_began_workers_that_read_the_files_end(scheduler, tmp_path):
    config, checkpoint = parted("sequence", 5, tmp_path), tmp_path / "checkpoint"
    expected = saved(learn(config), tmp_path)

    def stop():
        raise InterruptedError

    with pytest.raises(InterruptedError):
        learn(config, checkpoint=checkpoint, checkpoint_every=5, observer=Watching(12, stop))
    found = learn(config, checkpoint=checkpoint, resume=True, executor=f"dask:{scheduler}")
    assert saved(found, tmp_path) == expected


def test_a_file_that_a_worker_cannot_open_is_told_with_its_name(scheduler, tmp_path):
    config = set_values(
        parted("multiclass", 5, tmp_path), {"data.train": [str(tmp_path / "part-000.txt"), "gone"]}
    )
    with pytest.raises(LssvmError) as caught:
        learn(config, executor=f"dask:{scheduler}", workers=2)
    assert re.fullmatch(
        rf"worker \S+ \(tcp://\S+\): {re.escape(str(Path('gone').absolute()))}: cannot be read: No "
        "such file or directory; expected a file",
        str(caught.value),
    )


def test_what_is_wrong_in_a_file_is_told_in_the_words_of_threads(scheduler, tmp_path):
    config = parted("multiclass", 5, tmp_path)
    with (tmp_path / "part-003.txt").open("a") as file:
        file.write("birch 1:nan\n")
    told = []
    for executor in ("threads", f"dask:{scheduler}"):
        with pytest.raises(LssvmError) as caught:
            learn(config, executor=executor)
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert "part-003.txt:" in told[0]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["application.scaling=standard"], "application.scaling: standard looks at all examples"),
        (["workers=3"], "it has 2 files for 3 workers; expected at least as many"),
        (
            ["kernel={type: poly, degree: 2, explicit: true}"],
            "kernel.type: poly looks at all rows",
        ),
    ],
)
def test_files_that_have_to_be_read_together_are_read_here(scheduler, tmp_path, settings, told):
    parted("multiclass", 2, tmp_path)
    config = load_config(
        "configs/multiclass.yaml",
        [f"data.train={tmp_path}/part-*.txt", "solver.method=bundle", "workers=2", *settings],
    )
    watching = Watching()
    found = saved(learn(config, executor=f"dask:{scheduler}", observer=watching), tmp_path)
    assert watching.notes == [f"data.train is read here and sent to the workers: {told}"]
    assert found == saved(learn(config), tmp_path)


def test_the_address_of_the_dashboard_is_told_where_it_is_on(scheduler, monkeypatch):
    link = "http://127.0.0.1:8787/status"
    monkeypatch.setattr(Client, "dashboard_link", link)
    read_here = "data.train is read here and sent to the workers: it has 1 file for 4 workers; "
    read_here += "expected at least as many"
    for package, expected in ((None, []), (object(), [f"dashboard of Dask: {link}"])):
        monkeypatch.setattr(cluster, "find_spec", lambda name, found=package: found)
        watching = Watching()
        learn(config_of("multiclass"), executor=f"dask:{scheduler}", observer=watching)
        assert watching.notes == [read_here, *expected]


@pytest.mark.parametrize("lost", [1, cluster.STARTS])
def test_workers_that_are_lost_while_they_start_are_started_again(lost, monkeypatch):
    tries = []

    def local(**options):
        tries.append(options)
        if len(tries) <= lost:
            raise RuntimeError("Nanny failed to start.")
        return SimpleNamespace(close=lambda timeout: None)

    dask = SimpleNamespace(LocalCluster=local, Client=lambda *place, **options: Mock())
    monkeypatch.setattr(cluster, "_distributed", lambda: dask)
    told = r"the workers cannot be started \(Nanny failed to start.\); expected processes of this"
    known = pytest.raises(LssvmError, match=told) if lost == cluster.STARTS else nullcontext()
    with known, cluster.cluster_of("dask", 2):
        assert len(tries) == lost + 1
    assert tries == [tries[0]] * min(lost + 1, cluster.STARTS)


@pytest.mark.parametrize(("workers", "delay"), [(1, 0.003), (2, 0.0), (2, 0.02)])
def test_a_killed_worker_loses_nothing(scheduler, tmp_path, workers, delay):
    """Its blocks are sent to others; or to its successor, where it was the only one."""
    config = config_of("sequence-ssvm")
    expected = saved(learn(config), tmp_path)
    with distributed.Client(scheduler, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
        address, pid = next(iter(client.run(os.getpid).items()))

    def kill():
        threading.Timer(delay, os.kill, (pid, signal.SIGKILL)).start()

    watching = Watching(20, kill)
    found = learn(config, executor=f"dask:{scheduler}", workers=workers, observer=watching)
    assert saved(found, tmp_path) == expected
    assert watching.summary.workers_lost in ([1] if delay == 0.0 else [0, 1])
    with distributed.Client(scheduler, set_as_default=False) as client:
        while address in client.nthreads():
            time.sleep(0.05)


def run_learn(*arguments, **options):
    """The command in a process of its own, with sample data in many blocks."""
    code = (
        "import lssvm.oracle\n"
        "lssvm.oracle.BLOCK_RULES = ((300, 64),)\n"
        "from lssvm.cli import learn\n"
        "if __name__ == '__main__':\n    learn()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


SEQUENCE = ["configs/sequence.yaml", "--set", "solver.method=cutting-plane"]
SEQUENCE += ["--set", "solver.max_passes=40", "--set", "solver.epsilon=1e-9"]


def test_a_lost_scheduler_ends_the_run_in_one_line_and_others_resume_it(tmp_path, uninterrupted):
    """By threads, and by workers of another number: the bytes of the uninterrupted run."""
    model, file = tmp_path / "found.model", tmp_path / "scheduler.json"
    scheduler, *workers = started(file, 3)
    run = run_learn(
        *SEQUENCE,
        model,
        "-q",
        *("--checkpoint-every", "5", "--executor", f"dask:{file}", "--workers", "3"),
    )
    checkpoint = Path(f"{model}.checkpoint")
    while not checkpoint.exists():
        assert run.poll() is None, run.stderr.read()
        time.sleep(0.01)
    scheduler.kill()
    _, told = run.communicate(timeout=60)
    for worker in workers:
        worker.kill()
        worker.wait()
    scheduler.wait()
    assert told == (
        f"error: the scheduler of Dask at {file} does not answer any more; {checkpoint} is "
        "safe, go on with the same command and --resume\n"
    )
    assert run.returncode == 1
    assert not model.exists()
    safe = checkpoint.read_bytes()
    for then in (["--threads", "2"], ["--executor", "dask", "--workers", "2"]):
        checkpoint.write_bytes(safe)
        model.unlink(missing_ok=True)
        resumed = run_learn(*SEQUENCE, model, "-q", "--resume", *then)
        resumed.communicate(timeout=60)
        assert model.read_bytes() == uninterrupted


def started(file, count):
    """A scheduler and workers that find it by a file, as on a cluster."""

    def start(program, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}"]
        null = subprocess.DEVNULL
        return subprocess.Popen(
            [*command, "--scheduler-file", str(file), *arguments], stdout=null, stderr=null
        )

    scheduler = start(
        "scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"
    )
    while not file.exists():
        time.sleep(0.05)
    return scheduler, *(start("worker", "--nthreads", "1", "--no-nanny") for _ in range(count))


@contextmanager
def changed(scheduler, code, back):
    """Run code on one of the workers, and what undoes it at the end; the name of the worker."""
    with distributed.Client(scheduler, set_as_default=False) as client:
        address, worker = next(iter(client.scheduler_info(n_workers=-1)["workers"].items()))
        client.run(exec, code, {}, workers=[address])
        yield f"worker {worker['name']} ({address})"
        client.run(exec, back, {}, workers=[address])


def refusal(scheduler, **settings):
    with pytest.raises(LssvmError) as caught:
        learn(config_of("multiclass"), executor=f"dask:{scheduler}", **settings)
    return str(caught.value)


def test_a_worker_with_another_version_is_named(scheduler):
    ours = lssvm.__version__
    with changed(
        scheduler,
        "import lssvm; lssvm.__version__ = '0.0.1'",
        f"import lssvm; lssvm.__version__ = {ours!r}",
    ) as worker:
        assert refusal(scheduler) == f"{worker}: lssvm 0.0.1; expected {ours}, as here"


def test_a_worker_with_another_version_of_the_application_is_named(scheduler):
    module = "import lssvm.training.distributed.worker as module\n"
    with changed(
        scheduler,
        module + "module.kept, module._package = module._package, lambda name: ('plug', '3')",
        module + "module._package = module.kept",
    ) as worker:
        assert refusal(scheduler) == (
            f"{worker}: application 'multiclass' is from plug 3; expected lssvm "
            f"{metadata.version('lssvm')}, as here"
        )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("MemoryError()", "{}: out of memory; use more workers, or workers with more memory"),
        ("errors.ApplicationError('a wrong answer')", "a wrong answer"),
        ("errors.ApplicationCrashError('it crashed')", "it crashed"),
        ("SystemExit(3)", "<string>:5 called sys.exit(3); expected an exception"),
    ],
)
def test_what_fails_on_a_worker_is_told_in_one_line(scheduler, error, told):
    code = f"""
from lssvm import errors
import lssvm.training.distributed.worker as module
def fails(*arguments):
    raise {error}
module.kept, module.summed = module.summed, fails
"""
    back = "import lssvm.training.distributed.worker as module; module.summed = module.kept"
    with changed(scheduler, code, back) as worker:
        found = refusal(scheduler)
    assert found.startswith(told.format(worker))


class Lossy:
    """Workers that are lost again and again."""

    def __init__(self):
        self.number = 0

    def first(self):
        return self.present()

    def present(self):
        self.number += 1
        return [Worker(f"tcp://{self.number}", str(self.number), 1)]

    def actor(self, worker, recipe):
        return worker

    def call(self, worker, actor, method, *arguments):
        return method

    def result(self, method, worker):
        if method == "ask":
            raise WorkerLostError
        return Reply()


def test_a_pass_that_loses_worker_after_worker_is_given_up(monkeypatch):
    monkeypatch.setattr(crew, "NEWCOMERS", 0.0)
    application = config_of("multiclass").create_application()
    examples = application.read(config_of("multiclass").sources("train"))
    sums = crew.Crew(Lossy(), Recipe.of(application)).sums(
        Answers(application), oracle.blocks(examples), Executor()
    )
    told = (
        r"worker \d+ \(tcp://\d+\) was lost in the pass, as others before; if memory ran out, use"
    )
    with pytest.raises(LssvmError, match=told):
        sums.total("augmented", np.zeros(application.dimension(examples)))


def test_workers_that_do_not_come_back_are_waited_for_for_a_while(monkeypatch):
    class Gone(Lossy):
        def present(self):
            return [Worker("tcp://1", "1", 1)]

    monkeypatch.setattr(crew, "NEWCOMERS", 0.01)
    monkeypatch.setattr(crew, "WAIT", 0.05)
    application = config_of("multiclass").create_application()
    examples = application.read(config_of("multiclass").sources("train"))
    sums = crew.Crew(Gone(), Recipe.of(application)).sums(
        Answers(application), oracle.blocks(examples), Executor()
    )
    with pytest.raises(LssvmError, match=r"^all workers were lost, the last one was worker 1 \("):
        sums.total("augmented", np.zeros(application.dimension(examples)))


class Late:
    """A future whose answer comes just after so many waits for it have ended."""

    def __init__(self, waits):
        self.left = waits

    def result(self, timeout):
        self.left -= 1
        if self.left >= 0:
            raise TimeoutError
        return "found"

    def done(self):
        return self.left <= 0


def test_an_answer_that_comes_as_the_wait_for_it_ends_is_taken(monkeypatch):
    worker = Worker("tcp://1", "1", 1)
    found = Cluster(None, "here", None)
    monkeypatch.setattr(found, "present", lambda: [worker])
    assert [found.result(Late(waits), worker) for waits in (0, 1, 3)] == ["found"] * 3
    endless = Late(1)
    endless.done = lambda: True  # the answer itself is that time is up
    endless.left = 100
    with pytest.raises(WorkerLostError):
        found.result(endless, worker)
    assert endless.left == 100 - CONNECT // LOOK - 1
    monkeypatch.setattr(found, "present", list)
    with pytest.raises(WorkerLostError):
        found.result(Late(1), worker)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["solver.method=n-slack"], "solver.method: n-slack has no form for executor: dask; exp"),
        (["solver.method=sgd"], "ected one of bundle, proximal, cutting-plane, lbfgs, gradient"),
        (["solver.method=bundle-newton"], "solver.method: bundle-newton has no form for executor"),
        (["solver.method=bundle", "solver.cache=2"], "expected solver.cache: 0"),
        (["objective.C=0.001"], "solver.method: dual-coordinate has no form for executor: dask"),
    ],
)
def test_a_method_without_such_a_form_is_refused(scheduler, settings, told):
    name = "precision_at_k" if "bundle-newton" in settings[0] else "multiclass"
    config = load_config(f"configs/{name}.yaml", settings)
    with pytest.raises(LssvmError) as caught:
        learn(config, executor=f"dask:{scheduler}")
    assert told in str(caught.value).replace(f"dask:{scheduler}", "dask")
    with pytest.raises(LssvmError) as caught:
        rehearse(load_config(f"configs/{name}.yaml", [*settings, "executor=dask"]))
    assert told in str(caught.value)


def test_a_loss_of_the_whole_data_set_is_refused():
    config = load_config("configs/relation.yaml")
    with pytest.raises(
        LssvmError, match="the loss of application 'relation' with these options is"
    ):
        learn(config, executor="dask")


def test_where_a_model_is_trained_is_no_part_of_it():
    plain = config_of("multiclass")
    other = load_config("configs/multiclass.yaml", ["executor=dask:tcp://a:1", "workers=3"])
    assert other.executor == "dask:tcp://a:1"
    assert other.workers == 3
    assert "executor" not in plain.to_dict()
    assert load_config("configs/multiclass.yaml", ["executor=threads"]).to_dict() == (
        load_config("configs/multiclass.yaml", ["executor=dask"]).to_dict()
    )
    with pytest.raises(LssvmError, match="executor: expected threads, dask or dask:ADDRESS"):
        load_config("configs/multiclass.yaml", ["executor=spark"])


def test_dask_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'lssvm\[dask\]'"):
        learn(config_of("multiclass"), executor="dask")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The bytes of the model that the command trains by threads."""
    model = tmp_path_factory.mktemp("uninterrupted") / "found.model"
    run_learn(*SEQUENCE, model, "-q").communicate(timeout=60)
    return model.read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_command_takes_its_workers_along(tmp_path, uninterrupted, number):
    """Ctrl-C reaches the whole group, workers included; they compute until the pass has ended."""
    model, checkpoint = tmp_path / "found.model", tmp_path / "found.model.checkpoint"
    run = run_learn(
        *[*SEQUENCE, model, "-q", "--checkpoint-every", "5", "--executor", "dask"],
        *["--workers", "2"],
        start_new_session=True,
    )
    while not checkpoint.exists():
        assert run.poll() is None, run.stderr.read()
        time.sleep(0.01)
    (os.killpg if number == signal.SIGINT else os.kill)(run.pid, number)
    _, told = run.communicate(timeout=60)  # standard error is closed by all processes then
    stopped = f"stopped by {number.name}; {checkpoint} was written, go on with the same command"
    assert told == ("" if number == signal.SIGKILL else f"{stopped} and --resume\n")
    resumed = run_learn(*SEQUENCE, model, "-q", "--resume")
    assert resumed.communicate(timeout=60)[1] == ""
    assert model.read_bytes() == uninterrupted
