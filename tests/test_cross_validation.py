import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from solver_cases import solving

from lssvm.cli import main
from lssvm.config import Config, load_config, set_values
from lssvm.errors import DataError, LssvmError
from lssvm.model import Model
from lssvm.simulation import motif as simulate
from lssvm.training.cross_validation import (
    CrossValidation,
    FoldRun,
    assign_folds,
    chosen,
    cross_validate,
    evaluate,
    study_of,
)
from lssvm.training.session import learn, learn_on, learn_path
from lssvm.training.tasks import run_tasks


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    simulate.write_motif(folder, n=45, n_test=2, length=40, width=6, conservation=0.95)
    return Config.from_dict(
        {
            "application": {"name": "motif", "length": 6, "background_order": 1},
            "data": {"train": "train.fa"},
            "objective": {"c_scaling": "mean"},
            "search": {
                "grid": {"application.length": [5, 6], "objective.C": [100, 1]},
                "folds": 3,
                "seeds": 2,
            },
        },
        base=folder,
    )


@pytest.fixture(scope="module")
def result(config):
    return cross_validate(config)


@pytest.mark.parametrize("folds", [2, 3, 10])
def test_folds_have_equal_sizes_and_shares_of_every_group(folds):
    rng = np.random.default_rng(0)
    groups = rng.integers(3, size=97)
    fold = assign_folds(97, folds, rng, groups)
    sizes = np.bincount(fold, minlength=folds)
    assert sizes.max() - sizes.min() <= 1
    for group in range(3):
        share = np.bincount(fold[groups == group], minlength=folds)
        assert share.max() - share.min() <= 1


def test_folds_are_drawn_by_the_generator_alone():
    first, again, other = (assign_folds(50, 5, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_more_folds_than_examples_are_refused():
    with pytest.raises(LssvmError) as caught:
        assign_folds(4, 5, np.random.default_rng(0))
    assert str(caught.value) == "5 folds need at least 5 examples; there are 4"


def test_every_setting_fold_and_seed_is_run_once(result):
    assert result.settings == [
        {"application.length": length, "objective.C": C} for length in (5, 6) for C in (100, 1)
    ]
    keys = [(run.setting, run.fold, run.seed) for run in result.runs]
    assert keys == [(s, f, seed) for s in range(4) for f in range(3) for seed in range(2)]


def test_smaller_values_of_C_end_at_lower_objectives(result):
    objective = np.zeros((4, 6))
    for number, one in enumerate(result.runs):
        objective[one.setting, number % 6] = one.objective
    assert (objective[0] > objective[1]).all()
    assert (objective[2] > objective[3]).all()


def test_a_run_equals_training_and_scoring_on_its_folds_by_hand(config, result):
    study = study_of(config)
    setting = {"application.length": 6, "objective.C": 1}
    one = next(r for r in result.runs if (r.setting, r.fold, r.seed) == (3, 1, 1))
    application, examples = study.applications[1], study.examples[1]
    parts = [examples.take(np.flatnonzero(study.fold == fold)) for fold in (0, 1, 2)]
    model = learn_on(application, parts[0], set_values(config, {**setting, "seed": 1}))
    assert one.objective == model.record["objective"]
    assert one.test == application.score(parts[1], application.predict(model.w, parts[1]))
    assert one.validation == application.score(parts[2], application.predict(model.w, parts[2]))


def test_larger_C_goes_on_from_the_next_smaller_one(config, result):
    study = study_of(config)
    one = next(r for r in result.runs if (r.setting, r.fold, r.seed) == (2, 1, 1))
    training = study.examples[1].take(np.flatnonzero(study.fold == 0))
    path = [
        set_values(config, {"application.length": 6, "objective.C": C, "seed": 1}) for C in (1, 100)
    ]
    models = learn_path(study.applications[1], training, path)
    cold = learn_on(study.applications[1], training, path[-1])
    assert one.objective == models[-1].record["objective"]
    assert one.passes == models[-1].record["passes"] != cold.record["passes"]


@pytest.mark.parametrize(
    ("model", "method"),
    [("ssvm", "bundle"), ("crf", "lbfgs"), ("crf", "gradient"), ("crf", "sgd")],
)
def test_every_value_of_c_is_solved_as_if_it_were_the_only_one(model, method):
    """Gap and passes of the problem before do not end the next one."""
    values = {
        "application": {"name": "sequence", "columns": ["word", "pos", "label"]},
        "data": {"train": [str(Path(__file__).parents[1] / "data/sequence/train.conll")]},
        "solver": solving(method, epochs=5),
    }
    path = [
        Config.from_dict(values | {"objective": {"model": model, "C": C}}) for C in (0.01, 0.1, 1)
    ]
    application = path[0].create_application()
    examples = application.read(path[0].sources("train"))
    bounded = method != "sgd"
    for config, found in zip(path, learn_path(application, examples, path), strict=True):
        warm, cold = found.record, learn_on(application, examples, config).record
        assert warm["converged"] == cold["converged"] == bounded
        assert warm["objective"] == pytest.approx(cold["objective"], rel=2e-3 if bounded else 0.05)
        if bounded:
            assert warm["lower_bound"] <= min(warm["objective"], cold["objective"])
        else:
            assert warm["lower_bound"] is cold["lower_bound"] is None


@pytest.mark.parametrize("name", ["mrf", "latent_sequence"])
def test_every_value_of_c_begins_anew_where_hidden_values_can_be_exchanged(name):
    """What a small C leads to is nearly stationary for a larger one, and far above its minimum."""
    section, train = {
        "mrf": ({}, "mrf/train.txt"),
        "latent_sequence": ({"columns": ["word", "pos", "label"]}, "sequence/train.conll"),
    }[name]
    path = [
        Config.from_dict(
            {
                "application": {"name": name, **section},
                "data": {"train": [str(Path(__file__).parents[1] / "data" / train)]},
                "objective": {"model": "hcrf", "C": C},
                "solver": {"method": "lbfgs"},
            }
        )
        for C in (0.01, 0.3)
    ]
    application = path[0].create_application()
    examples = application.read(path[0].sources("train")).take(np.arange(20))
    warm = learn_path(application, examples, path)[1]
    cold = learn_on(application, examples, path[1])
    np.testing.assert_array_equal(warm.w, cold.w)
    assert warm.record["objective"] == cold.record["objective"]
    assert warm.record["passes"] == cold.record["passes"]


def test_result_is_the_same_for_any_number_of_processes(config, result):
    parallel = cross_validate(config, jobs=2)
    assert parallel.runs == result.runs
    assert parallel.text() == result.text()


def test_only_counted_examples_are_scored_but_all_are_trained_on(config):
    single = set_values(config, {"search": {"grid": {"application.length": [6]}, "folds": 3}})
    study = study_of(single, counted=lambda examples: examples.labels > 0)
    found = evaluate(study)
    for one in found.runs:
        assert one.test["positives"] == one.test["sequences"] > 0
    everything = cross_validate(single)
    assert [one.objective for one in found.runs] == [one.objective for one in everything.runs]


def scored(setting, fold, validation, test, seed=0, objective=1.0):
    return FoldRun(setting, fold, seed, objective, 0.0, True, True, 1, 1, validation, test)


def test_setting_is_picked_on_the_validation_fold_and_scored_on_the_test_fold():
    errors = {0: [(10.0, 7.0), (30.0, 8.0)], 1: [(20.0, 1.0), (20.0, 2.0)]}
    runs = [
        scored(setting, fold, {"error": validation}, {"error": test})
        for setting, pairs in errors.items()
        for fold, (validation, test) in enumerate(pairs)
    ]
    found = CrossValidation([{"a": 1}, {"a": 2}], runs, 2, "error")
    assert found.chosen == [0, 1]
    np.testing.assert_array_equal(found.test("error"), [7.0, 2.0])
    assert found.best == {"a": 1}
    summary = found.summary()
    assert summary["test"]["error"] == {"mean": 4.5, "standard_error": 2.5}


def test_settings_are_judged_by_their_mean_over_seeds():
    validation = {0: [0.0, 50.0], 1: [20.0, 20.0]}
    runs = [
        scored(setting, 0, {"error": value}, {"error": value}, seed)
        for setting, values in validation.items()
        for seed, value in enumerate(values)
    ]
    assert CrossValidation([{"a": 1}, {"a": 2}], runs, 1, "error").chosen == [1]


def test_best_of_seeds_is_kept_by_objective_and_not_by_its_errors():
    runs = [
        scored(setting, fold, {"error": error}, {"error": error + 1}, seed, objective)
        for setting, fold, seed, objective, error in [
            (0, 0, 0, 3.0, 10.0),
            (0, 0, 1, 2.0, 40.0),  # lowest objective, highest error
            (0, 1, 0, 2.0, 20.0),
            (0, 1, 1, 2.0, 5.0),  # no lower: the first one stays
            (1, 0, 0, 9.0, 30.0),
            (1, 0, 1, 8.0, 35.0),
            (1, 1, 0, 8.0, 30.0),
            (1, 1, 1, 9.0, 1.0),
        ]
    ]
    best = CrossValidation([{"a": 1}, {"a": 2}], runs, 2, "error").best_of_seeds()
    assert [run.seed for run in best.runs] == [1, 0, 1, 0]
    assert best.chosen == [1, 0]
    np.testing.assert_array_equal(best.test("error"), [36.0, 21.0])


def test_table_names_the_best_setting_and_leaves_out_what_only_counts_the_data():
    scores = {"error": 20.0, "auc": 0.51234, "sequences": 9}
    runs = [scored(number, 0, scores, scores) for number in range(2)]
    lines = CrossValidation([{"objective.C": 0.1}, {"objective.C": 1}], runs, 1, "error").text()
    assert "  error        20.00\n  auc          0.512\n" in lines
    assert "sequences" not in lines
    assert lines.endswith("best over all validation folds: --set objective.C=0.1")


def test_table_says_where_a_metric_is_undefined():
    values = [{"error": 20.0, "f1": 50.0}, {"error": 20.0, "f1": None}]
    runs = [scored(0, fold, one, one) for fold, one in enumerate(values)]
    text = CrossValidation([{}], runs, 2, "error").text()
    assert text.endswith(
        "  error        20.00 ± 0.00\n  f1           50.00 (defined in 1 of 2 folds)"
    )


def test_metrics_other_than_errors_and_losses_are_maximised():
    scores = [{"error": 5.0, "recall": 10.0}, {"error": 6.0, "recall": 20.0}]
    runs = [scored(number, 0, values, values) for number, values in enumerate(scores)]
    found = CrossValidation([{"a": 1}, {"a": 2}], runs, 1, "error")
    assert found.chosen == [0]
    assert replace(found, criterion="recall").chosen == [1]


def test_setting_without_a_defined_criterion_is_never_picked():
    runs = [scored(0, 0, {"f1": None}, {"f1": None}), scored(1, 0, {"f1": 1.0}, {"f1": 2.0})]
    found = CrossValidation([{"a": 1}, {"a": 2}], runs, 1, "f1")
    assert found.chosen == [1]
    assert "f1           2.00" in found.text()


def test_rows_are_flat_and_complete(result):
    rows = result.rows()
    assert len(rows) == 24
    assert list(rows[0])[:4] == ["application.length", "objective.C", "setting", "fold"]
    assert {"validation.error", "test.roc_auc", "objective", "passes"} <= set(rows[0])


def test_unknown_criterion_is_refused(config):
    single = set_values(config, {"search": {"grid": {}, "folds": 3}})
    with pytest.raises(LssvmError) as caught:
        cross_validate(single, criterion="eror")
    assert str(caught.value).startswith(
        "unknown criterion 'eror'; did you mean 'error'? (known: error,"
    )


@pytest.mark.parametrize("jobs", [1, 2])
def test_error_of_a_task_arrives_as_one_line(jobs):
    with pytest.raises(LssvmError) as caught:
        run_tasks(_failing, 3, [0, 1], jobs=jobs)
    assert str(caught.value) == "data.fa:3: broken"


def _failing(line, task):
    raise DataError("data.fa", line, "broken")


def test_tasks_keep_their_order():
    assert run_tasks(_power, 2, list(range(6)), jobs=2) == [1, 2, 4, 8, 16, 32]


def _power(base, exponent):
    time.sleep(0.02 * (exponent % 2))
    return base**exponent


INTERRUPTED = """
import os, time
from lssvm.training.tasks import run_tasks

def sleep(folder, task):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(60)

if __name__ == "__main__":
    try:
        run_tasks(sleep, {folder!r}, [0, 1, 2], jobs=2)
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.fixture
def sleeping(tmp_path):
    """A process that waits for two others, and the numbers of these."""
    folder = tmp_path / "pids"
    folder.mkdir()
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED.format(folder=str(folder)))
    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while len(list(folder.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = [int(path.name) for path in folder.iterdir()]
    assert len(workers) == 2
    return process, workers


def test_interrupt_ends_all_processes_at_once_and_quietly(sleeping):
    process, workers = sleeping
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20) == ("interrupted\n", "")
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_processes_end_with_a_parent_that_is_killed(sleeping):
    process, _ = sleeping
    process.kill()
    output, _ = process.communicate(timeout=20)  # ends when nobody holds the pipes any more
    assert output == ""


LETOR = """application: {name: precision_at_k, k: 1}
data: {train: [S1.txt, S2.txt, S3.txt, S4.txt, S5.txt]}
objective: {C: 1}
search: {folds: [S2.txt, S1.txt, S3.txt, S4.txt, S5.txt]}
"""


@pytest.fixture
def letor(tmp_path):
    rng = np.random.default_rng(0)
    for fold in range(1, 6):
        rows = [
            f"{document % 3} qid:{fold}{query} 1:{document % 3 + rng.normal():.3f}\n"
            for query in range(fold)
            for document in range(4)
        ]
        (tmp_path / f"S{fold}.txt").write_text("".join(rows))
    (tmp_path / "c.yaml").write_text(LETOR)
    return tmp_path


def test_folds_are_the_files_in_the_order_that_is_given(letor):
    config = load_config(letor / "c.yaml")
    study = study_of(config)
    assert np.bincount(study.fold).tolist() == [2, 1, 3, 4, 5]
    names = study.examples[0].identifiers[study.fold == 0].tolist()
    assert names == ["20", "21"]
    found = cross_validate(config)
    assert [run.test["queries"] for run in found.runs] == [2, 1, 3, 4, 5]
    assert [run.validation["queries"] for run in found.runs] == [1, 3, 4, 5, 2]


@pytest.mark.parametrize(
    ("folds", "wrong"),
    [
        ("[S1.txt, S2.txt, S3.txt]", "expected the files of data.train as they are written there"),
        ("[S1.txt, S2.txt, S3.txt, S4.txt, S4.txt]", "each once: S1.txt, S2.txt"),
        ("[S1.txt, S2.txt]", r"search.folds: expected at least 3 folds \(one to test on, one to "),
        ("2", r"search.folds: expected at least 3 folds \(one to test on, one to select the "),
        ("many", "search.folds"),
    ],
)
def test_folds_that_are_not_the_files_are_refused(letor, folds, wrong):
    with pytest.raises(LssvmError, match=wrong):
        study_of(load_config(letor / "c.yaml", [f"search.folds={folds}"]))


def test_a_file_without_examples_is_no_fold(letor):
    (letor / "S3.txt").write_text("# nothing\n")
    with pytest.raises(LssvmError, match=r"S3\.txt"):
        study_of(load_config(letor / "c.yaml"))


def test_fit_writes_the_model_of_the_best_setting_trained_on_all_data(letor, monkeypatch):
    monkeypatch.chdir(letor)
    words = ["cv", "c.yaml", "--set", "search.grid={objective.C: [0.1, 10]}", "--jobs", "1"]
    run = CliRunner().invoke(main, [*words, "--fit", "m", "-q"])
    assert run.exit_code == 0, run.output
    config = load_config("c.yaml", ["search.grid={objective.C: [0.1, 10]}"])
    found = cross_validate(config)
    learn(chosen(config, found)).save("again")
    assert Path("m").read_bytes() == Path("again").read_bytes()
    assert Model.load("m").config["objective"]["C"] == found.best["objective.C"]
    assert sorted(path.name for path in letor.iterdir() if "S" not in path.name) == [
        "again",
        "c.yaml",
        "m",
    ]
