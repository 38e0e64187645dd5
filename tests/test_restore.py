"""Models and checkpoints from elsewhere: refused in one line, or of use.

Kernels do not check what they are handed: a case that is not refused in time ends the process.
"""

import copy
import json
import os
import re
import sys
import zipfile

import numpy as np
import pytest
import restore_cases as cases

from lssvm.errors import ModelError
from lssvm.model import Model
from lssvm.model.container import read_container, write_container
from lssvm.model.model import MODEL
from lssvm.training.checkpoint import CHECKPOINT

ARRAYS_EVERY, HEADERS_EVERY = 7, 41  # of the systematic damages, those that are tried here
TO_THE_END = 4  # of the damaged checkpoints, those that are trained to the end


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A trained model of each kind with its data, by its name, made when it is asked for."""
    folder, made = tmp_path_factory.mktemp("models"), {}

    def model(name):
        if name not in made:
            made[name] = cases.saved_model(folder, name)
        return made[name]

    return model


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """An interrupted run of each kind, by its name, made when it is asked for."""
    folder, made = tmp_path_factory.mktemp("runs"), {}

    def run(name):
        if name not in made:
            made[name] = cases.Interrupted(folder, name)
        return made[name]

    return run


def tried(path, format):
    """Some of the damages of a container, spread evenly."""
    arrays = headers = 0
    for what, header, changed in cases.damages(path, format):
        of_header = what.startswith("(")
        headers, arrays = headers + of_header, arrays + (not of_header)
        if (headers % HEADERS_EVERY if of_header else arrays % ARRAYS_EVERY) == 0:
            yield what, header, changed


def written(path, format, header, arrays):
    """Whether the file could be written: not all damages can be."""
    path.unlink(missing_ok=True)  # file systems wait for the disk where a file replaces another
    try:
        write_container(path, format, header, arrays)
    except (ModelError, UnicodeEncodeError):
        return False
    return True


def one_line(error):
    text = str(error)
    return "\n" not in text and len(text) < 1000


@pytest.mark.parametrize("name", cases.MODELS)
def test_a_damaged_model_is_refused_in_one_line_or_works(models, tmp_path, name):
    path, data = models(name)
    cases.used(path, data)
    refused = count = 0
    for what, header, arrays in tried(path, MODEL):
        if not written(tmp_path / "m", MODEL, header, arrays):
            continue
        count += 1
        told = cases.refusal(cases.used, tmp_path / "m", data)
        assert one_line(told), what
        refused += told != ""
    assert count > 40
    assert refused > count / 4


@pytest.mark.parametrize("name", cases.CHECKPOINTS)
def test_a_damaged_checkpoint_is_refused_in_one_line_or_works(runs, tmp_path, name):
    run = runs(name)
    refused = count = 0
    for what, header, arrays in tried(run.path, CHECKPOINT):
        if not written(tmp_path / "c", CHECKPOINT, header, arrays):
            continue
        count += 1
        passes = None if count % TO_THE_END == 0 else 3
        told = cases.refusal(run.resumed, tmp_path / "c", passes)
        assert one_line(told), what
        refused += told != ""
    assert count > 30
    assert refused > count / 4


@pytest.mark.parametrize("name", cases.CHECKPOINTS)
def test_a_good_checkpoint_leads_to_the_model_of_the_whole_run(runs, name):
    run = runs(name)
    model = run.resumed(run.path)
    assert model.w.tobytes() == run.whole.w.tobytes()
    assert model.record == run.whole.record


@pytest.mark.parametrize("name", cases.MODELS)
def test_a_model_that_was_loaded_is_saved_as_it_was(models, tmp_path, name):
    path, _ = models(name)
    Model.load(path).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def text(*lines):
    return np.frombuffer("\n".join(lines).encode(), dtype=np.uint8)


def altered(array, place, value):
    found = array.copy()
    found[place] = value
    return found


def longer_rows(header, arrays):
    """One feature more for each token, with weights for it, but without a name."""
    labels = len(arrays["state.labels"].tobytes().split(b"\n"))
    arrays["state.width"][0] += 1
    arrays["w"] = np.append(arrays["w"], np.zeros(labels))
    header["dimension"] += labels
    header["feature_names"] += ["another"] * labels


def repeated_label(header, arrays):
    arrays["state.labels"] = altered(arrays["state.labels"], 1, arrays["state.labels"][0])


def classes_of(place, value):
    def change(header, arrays):
        fields = json.loads(arrays["state.classes"].tobytes())
        fields[place] = value
        arrays["state.classes"] = np.frombuffer(json.dumps(fields).encode(), dtype=np.uint8)

    return change


def entry(name, place, value):
    def change(header, arrays):
        arrays[name] = altered(arrays[name], place, value)

    return change


def whole(name, value):
    def change(header, arrays):
        arrays[name] = np.asarray(value)

    return change


def option(name, value):
    def change(header, arrays):
        header["config"]["application"][name] = value

    return change


def key(value, *path):
    def change(header, arrays):
        place = header
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value

    return change


def without(name):
    def change(header, arrays):
        del arrays[name]

    return change


MISFITS = [
    ("sequence", longer_rows, "array 'attributes' has "),
    ("sequence", whole("state.labels", text("N", "N")), "two labels have one name"),
    ("sequence", whole("state.labels", text("N")), "weights; expected "),
    ("sequence", whole("state.labels", np.array([78, 255, 10, 79], np.uint8)), "is not text"),
    ("sequence", whole("state.width", np.array([-1, 0])), "array 'width' holds -1 at [0]"),
    ("sequence", whole("state.width", np.array([2**40, 0])), "array 'width' holds 1099511627776"),
    ("sequence", option("order", 2), "weights; expected "),
    ("sequence of numbers", entry("state.width", 0, 9), "weights; expected "),
    ("sequence of numbers", entry("state.width", 1, 2), "expected a width, and 0 or 1"),
    ("latent_sequence", option("substates", 3), "weights; expected "),
    ("multiclass", repeated_label, "two labels have one name"),
    ("multiclass", entry("state.features", 0, 3), "weights; expected "),
    ("multiclass", entry("state.features", 0, -1), "array 'features' holds -1 at [0]"),
    ("multiclass", whole("state.labels", [1, 2, 3]), "expected text of shape (any,)"),
    ("multiclass", without("state.labels"), "'labels' is missing"),
    ("multiclass", whole("state.more", [1]), "'more' is not known; expected labels, features"),
    ("multiclass", whole("more", [1]), "'more' is not known; expected nothing"),
    ("multiclass", entry("w", 0, 1e200), "array 'w' holds 1e+200 at [0]"),
    ("multiclass with losses", entry("state.labels", 0, "z"), "'z' is not in the loss matrix"),
    ("taxonomy of a file", entry("state.labels", 0, "z"), "'z' is not in the taxonomy"),
    ("taxonomy of paths", entry("state.labels", 0, "x//"), "has a step without a name"),
    (
        "taxonomy of paths",
        lambda header, arrays: arrays.update({"state.labels": np.array(["x/" * 1200, "b", "c"])}),
        "is more than 1,000 steps below the top; expected at most that many",
    ),
    ("multiclass, rbf", entry("space.shape", 0, 1), "array 'rows' is "),
    ("multiclass, rbf", entry("space.shape", 1, 9), "array 'shape' ends in (9, 3); expected "),
    ("multiclass, rbf", entry("space.shape", 2, 1), "expected (5, 3)"),
    ("multiclass, rbf", entry("space.rows", (0, 0), np.nan), "array 'rows' holds nan at [0, 0]"),
    ("multiclass, rbf", entry("space.gamma", 0, 0.0), "array 'gamma' holds 0.0"),
    ("multiclass, rbf", key(2.5, "config", "kernel", "gamma"), "expected 2.5"),
    ("multiclass, sparse poly", entry("space.indices", 0, 40), "array 'indices' holds 40 at [0]"),
    ("multiclass, sparse poly", entry("space.indices", 0, -1), "array 'indices' holds -1 at [0]"),
    ("multiclass, sparse poly", entry("space.indptr", 1, 10**6), "array 'indptr' holds 1000000"),
    ("multiclass, sparse poly", entry("space.indptr", 0, 1), "array 'indptr' does not rise"),
    ("multiclass, products", entry("space.pairs", 0, 10**6), "array 'pairs' does not increase"),
    ("multiclass, products", entry("space.pairs", -1, 10**6), "not products of two of 5 features"),
    ("multiclass", key("rbf", "config", "kernel", "type"), "rbf cannot be trained"),
    ("mrf", classes_of(1, [2, 4]), "weights; expected "),
    ("mrf", classes_of(1, [2]), "other numbers of states than classes of nodes"),
    ("mrf", classes_of(1, [2**31, 3]), "is not JSON of classes"),
    ("mrf", classes_of(4, [[2, 2], [2**31 - 1, 2**31 - 1]]), "more than 2,147,483,647 weights"),
    ("mrf", classes_of(0, ["y", "y"]), "two classes of nodes have one name"),
    ("mrf", whole("state.classes", text("[" * 100_000)), "is not JSON of classes"),
    ("motif", option("length", 5), "weights; expected "),
    ("motif", option("background_order", 2), "weights; expected "),
    ("motif", entry("sites", (0, 0), 10**6), "array 'sites' has rows of different sums"),
    ("motif", entry("frequencies", 0, 0.0), "array 'frequencies' holds 0.0"),
    ("motif", entry("frequencies", 0, 0.9), "array 'frequencies' does not sum to 1"),
    ("motif", entry("background_scores", 0, np.nan), "array 'background_scores' holds nan"),
    ("motif", without("sites"), "'sites' is missing"),
    ("coreference", option("features", ["one", "two"]), "weights; expected 2"),
    ("correlation_clustering", whole("state.x", [1]), "'x' is not known; expected nothing"),
    (
        "precision_at_k",
        key("multiclass", "application", "name"),
        "the header gives two names of its application",
    ),
    ("multiclass", key(None, "config"), "config is None; expected a mapping"),
    ("multiclass", key("x", "record", "gap"), "record.gap: expected a number, got 'x'"),
    ("multiclass", key("x", "record", "warnings"), "record.warnings: expected a list, got 'x'"),
    ("multiclass", key({"a": []}, "record", "training"), "record.training.a: expected a number"),
    ("multiclass", key(["a"], "feature_names"), "feature_names has not 15 names"),
    ("multiclass", key(0.0, "config", "objective", "C"), "objective.C: expected a number"),
]


@pytest.mark.parametrize(("name", "change", "message"), MISFITS)
def test_arrays_that_do_not_fit_are_refused_with_what_is_wrong(
    models, tmp_path, name, change, message
):
    header, arrays = read_container(models(name)[0], MODEL)
    change(header, arrays)
    write_container(tmp_path / "m", MODEL, header, arrays)
    with pytest.raises(ModelError, match=re.escape(message)) as caught:
        Model.load(tmp_path / "m")
    assert str(caught.value).startswith(f"{tmp_path / 'm'}: ")
    assert one_line(caught.value)


def turned(name):
    def change(header, arrays):
        arrays[name] = arrays[name][::-1].copy()

    return change


def negated(name):
    def change(header, arrays):
        arrays[name] = -arrays[name]

    return change


ROWS = "dual-coordinate, rows"
TORN = [
    ("bundle", entry("solver.beta", 0, -0.5), "array 'beta' is not on the simplex"),
    ("bundle", entry("solver.gram", (0, 1), 9.0), "array 'gram' is not a Gram matrix"),
    ("bundle", entry("solver.w", 0, np.inf), "array 'w' holds inf at [0]"),
    ("bundle", entry("solver.gradients", (0, 0), 1e200), "array 'gradients' holds 1e+200"),
    ("bundle", entry("solver.losses", 0, 1e6), " where the sum is at most "),
    ("bundle with a cache", entry("solver.sets_losses", 0, 1e6), " where the sum is at most "),
    ("bundle", key(99, "solver", "row"), "row is 99; expected one of "),
    ("bundle", key(1e9, "solver", "lower"), "lower is 1000000000.0, above the objective"),
    ("bundle", key("-infinity", "solver", "slack"), "slack is -inf; expected "),
    ("bundle", key("osqp", "solver", "qp_method"), "qp_method is 'osqp'; expected 'auto'"),
    ("bundle", key(3.0, "run", "total_cost"), "total_cost is 3.0; expected that of the examples"),
    ("bundle", key([[1.0, 2]] * 9, "run", "history"), "history has 9 rows; expected "),
    ("bundle", key(9, "run", "iteration"), "rows; expected 9"),
    ("bundle", key(None, "run"), "there is a solver without a run"),
    ("bundle", key([{}], "finished"), "finished.seed: missing"),
    ("bundle", whole("best_w", np.zeros(15)), "array 'best_w' is "),
    ("bundle", whole("solver.more", [1.0]), "'more' is not known"),
    ("proximal", key(0.0, "solver", "weight"), "weight is 0.0; expected "),
    ("proximal", key(-1.0, "solver", "promised"), "promised is -1.0; expected "),
    (
        "proximal",
        key("osqp", "solver", "near_qp_method"),
        "near_qp_method is 'osqp'; expected 'auto'",
    ),
    ("proximal", entry("solver.beta", 0, -0.5), "array 'beta' is not on the simplex"),
    ("n-slack", entry("solver.costs", 0, 2.0), "array 'costs' is not that of the examples"),
    ("bundle with a cache", entry("solver.truth_indices", 0, 15), "'truth_indices' holds 15"),
    ("n-slack", entry("solver.sets_owner", 0, 12), "array 'sets_owner' holds 12 at [0]"),
    ("n-slack", entry("solver.sets_indices", 0, 15), "array 'sets_indices' holds 15 at [0]"),
    ("n-slack", turned("solver.sets_indices"), "array 'sets_indices' is not in order"),
    ("n-slack", entry("solver.sets_ends", 0, 10**6), "array 'sets_ends' holds 1000000"),
    ("n-slack", entry("solver.sets_begins", 1, 0), "do not rise; expected rows in order"),
    ("n-slack", entry("solver.sets_alpha", 0, 1e9), "array 'sets_alpha' exceeds"),
    ("n-slack", entry("solver.sets_alpha", 0, -1.0), "array 'sets_alpha' holds -1.0"),
    ("n-slack", entry("solver.sets_scores", 0, 7.0), "array 'sets_scores' is not 'sets_w'"),
    ("n-slack, kernel", without("solver.kernel_scores"), "'kernel_scores' is missing"),
    (ROWS, entry("solver.order", 0, 10**6), "the order of the examples is impossible"),
    (ROWS, entry("solver.planes_alpha", 0, 1e9), "array 'planes_alpha' exceeds"),
    (ROWS, entry("solver.planes_outputs", 0, 7), "array 'planes_outputs' does not number the rows"),
    (ROWS, entry("solver.planes_counts", 0, 99), "array 'planes_"),
    (ROWS, entry("solver.rows_indices", 0, 10**6), "array 'rows_indices' holds 1000000 at [0]"),
    (ROWS, turned("solver.rows_indices"), "array 'rows_indices' is not in order"),
    (ROWS, entry("solver.rows_starts", 0, 1), "array 'rows_starts' does not rise"),
    ("gradient", whole("solver.cut", np.zeros(0)), "array 'cut' is float64 of shape (0,)"),
    ("sgd", key(1.5, "solver", "learning_rate"), "learning_rate is 1.5; expected "),
    ("lbfgs", negated("solver.changes"), "are not those of a convex function"),
    ("restarts", key([], "finished"), "array 'best_w' is "),
    ("held out", key(9, "scores", "best"), "best is 9; expected a whole number from 0 to "),
    ("held out", key([[1, None]], "scores", "looks"), "value is None; expected "),
]


@pytest.mark.parametrize(("name", "change", "message"), TORN)
def test_a_torn_checkpoint_is_refused_with_what_is_wrong_and_what_to_do(
    runs, tmp_path, name, change, message
):
    run = runs(name)
    header, arrays = read_container(run.path, CHECKPOINT)
    change(header, arrays)
    write_container(tmp_path / "c", CHECKPOINT, header, arrays)
    with pytest.raises(ModelError, match=re.escape(message)) as caught:
        run.resumed(tmp_path / "c")
    assert str(caught.value).startswith(f"{tmp_path / 'c'}: damaged: ")
    assert str(caught.value).endswith("; delete it, or train without --resume")


OPENED: list[str] = []
WATCHING = []


def _note(event, arguments):
    if event == "open" and WATCHING:
        path = os.fsdecode(arguments[0]) if not isinstance(arguments[0], int) else "a descriptor"
        # Which applications are installed is looked up in the packages' own files.
        if not path.startswith(tuple(filter(None, [*sys.path, sys.prefix, sys.base_prefix]))):
            OPENED.append(path)


@pytest.fixture
def opened():
    """The files that are opened in the test, those of the installation left aside."""
    if not hasattr(sys, "_noted_by_test_restore"):
        sys.addaudithook(_note)
        sys._noted_by_test_restore = True
    OPENED.clear()
    WATCHING.append(True)
    yield OPENED
    WATCHING.clear()


@pytest.mark.parametrize("name", cases.MODELS)
def test_loading_a_model_opens_no_other_file(models, opened, name):
    path, _ = models(name)
    Model.load(path)
    opened.clear()
    Model.load(path)
    assert opened == [str(path)]


@pytest.mark.parametrize("kind", ["file", "pipe", "none"])
@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("multiclass", "loss"),
        ("multiclass with losses", "loss"),
        ("taxonomy of paths", "taxonomy"),
        ("taxonomy of a file", "taxonomy"),
        ("motif", "background"),
        ("motif, background given", "background"),
        ("coreference", "features"),
        ("correlation_clustering", "features"),
    ],
)
def test_a_path_in_the_place_of_contents_is_refused_unopened(
    models, opened, tmp_path, name, place, kind
):
    secret = tmp_path / "elsewhere"
    if kind == "file":
        secret.write_text("what nobody else should read\n")
    elif kind == "pipe":
        os.mkfifo(secret)
    header, arrays = read_container(models(name)[0], MODEL)
    option(place, str(secret))(header, arrays)
    write_container(tmp_path / "m", MODEL, header, arrays)
    opened.clear()
    expected = f"application.{place}: names a file; expected its contents"
    with pytest.raises(ModelError, match=expected) as caught:
        Model.load(tmp_path / "m")
    assert "nobody" not in str(caught.value)
    assert opened == [str(tmp_path / "m")]


def test_the_contents_of_files_are_in_the_model_and_give_its_configuration_again(models):
    stored = {
        "multiclass with losses": ("loss", {"labels", "rows"}),
        "taxonomy of a file": ("taxonomy", {"a", "b", "c"}),
        "motif, background given": ("background", set("ACGT")),
        "coreference": ("features", {"one", "two", "three"}),
    }
    for name, (place, expected) in stored.items():
        model = Model.load(models(name)[0])
        assert set(model.config["application"][place]) == expected
        kind = type(model.application)
        assert kind.Options.model_validate_json(json.dumps(model.config["application"]))


def test_what_other_versions_add_or_lack_is_no_fault(models, tmp_path):
    path, data = models("multiclass")
    header, arrays = read_container(path, MODEL)
    older = copy.deepcopy(header)
    for section in ("kernel", "held_out", "search"):
        del older["config"][section]
    for name in ("planes", "held_out", "passes_saved", "validation"):
        del older["record"][name]
    newer = copy.deepcopy(header)
    newer["record"] |= {"energy": 3.5, "more": {"deep": [1]}}
    for changed in (older, newer):
        write_container(tmp_path / "m", MODEL, changed, arrays)
        cases.used(tmp_path / "m", data)
    assert Model.load(tmp_path / "m").record["energy"] == 3.5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"gap": ', '"gap": 1e999, "x": ', "1e999 in the header; expected a finite number"),
        ('"gap": ', '"gap": "\\ud800", "x": ', "surrogates not allowed"),
        ('"gap": ', '"x": ' + "[" * 60 + "]" * 60 + ', "gap": ', "nested too deeply"),
        ('"format_version": 1', '"format_version": true', "format version True is not known"),
    ],
)
def test_headers_that_could_not_be_shown_are_refused(models, tmp_path, old, new, message):
    with zipfile.ZipFile(models("multiclass")[0]) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    found = members["header.json"].decode()
    assert old in found
    members["header.json"] = found.replace(old, new, 1).encode()
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelError, match=message) as caught:
        Model.load(tmp_path / "m")
    assert one_line(caught.value)
