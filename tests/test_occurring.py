"""Features that do not occur in training are not numbered: neither in w nor in models."""

from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from lssvm import learn, load_config
from lssvm.applications import occurring
from lssvm.applications.feature_space import Kernel
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.applications.multiclass.multiclass import Multiclass
from lssvm.applications.occurring import LEAST, SHARE, Occurring
from lssvm.cli import classify
from lssvm.cli import learn as learn_command
from lssvm.config import Config
from lssvm.errors import ApplicationError, ModelError
from lssvm.model import Model
from lssvm.model.space import restored
from lssvm.training.session import learn_on

WIDTH = 200_000
CONFIG = """\
application: {name: multiclass, bias: 1}
data: {train: t.svm, test: e.svm}
objective: {C: 1}
solver: {epsilon: 1e-6, method: METHOD}
"""


def rows(places, count, seed, more=()):
    """Lines of three classes whose features stand at these places."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        label, lines = int(rng.integers(3)), []
        values = rng.normal(size=len(places)) + np.arange(len(places)) * (label - 1)
        found = dict(zip(places, values, strict=True)) | dict.fromkeys(more, 5.0)
        lines = [f"{place}:{found[place]:.3f}" for place in sorted(found)]
        yield f"{label} {' '.join(lines)}\n"


def written(folder, places, more=()):
    folder.mkdir()
    (folder / "t.svm").write_text("".join(rows(places, 40, 1)))
    (folder / "e.svm").write_text("".join(rows(places, 30, 2, more)))


@pytest.mark.parametrize("method", ["bundle", "n-slack", "dual-coordinate"])
def test_a_model_and_its_predictions_are_those_of_the_features_numbered_in_a_row(method, tmp_path):
    wide = [7, 90_000, 150_001, WIDTH]
    written(tmp_path / "wide", wide, more=[8, 123_456])  # in no training example
    written(tmp_path / "narrow", [1, 2, 3, 4])
    found = {}
    for name in ("wide", "narrow"):
        (tmp_path / name / "c.yaml").write_text(CONFIG.replace("METHOD", method))
        config, path = str(tmp_path / name / "c.yaml"), str(tmp_path / name / "m")
        for command, arguments in (
            (learn_command, [config, path, "-q"]),
            (classify, [config, path, str(tmp_path / name / "out")]),
        ):
            result = CliRunner().invoke(command, arguments)
            assert result.exit_code in (0, 3), result.output
        found[name] = Model.load(path), (tmp_path / name / "out").read_text()
    (model, out), (other, other_out) = found["wide"], found["narrow"]
    assert out == other_out
    assert model.w.tobytes() == other.w.tobytes()
    assert isinstance(model.space, Occurring)
    assert list(model.space.features) == [*(place - 1 for place in wide), WIDTH]  # and the bias
    assert not other.space.arrays()
    assert (tmp_path / "wide" / "m").stat().st_size < 20_000
    names = model.feature_names()
    assert len(names) == len(model.w) == 15
    assert names[3:6] == [f"feature 90000 × {k}" for k in range(3)]
    assert names[-1] == "bias × 2"


def test_weights_to_begin_with_may_come_from_other_features(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "d", [7, 90_000, 150_001, WIDTH])
    (tmp_path / "c.yaml").write_text(
        CONFIG.replace("METHOD", "bundle").replace("t.svm", "d/t.svm").replace("e.svm", "d/e.svm")
    )
    config = load_config("c.yaml")
    model = learn(config)
    again = learn(config, initial=model)
    assert abs(again.record["objective"] / model.record["objective"] - 1) < 1e-5


def test_a_space_of_features_keeps_weights_and_rows():
    rng = np.random.default_rng(3)
    features = np.array([1, 4, 9])
    space = Occurring(features, 12, 2)
    w = rng.normal(size=3 * 2 + 5)
    linear = space.linear(w)
    assert len(linear) == 12 * 2 + 5
    np.testing.assert_array_equal(space.restricted(linear), w)
    assert space.squared_norm(w) == pytest.approx(float(linear @ linear))


@pytest.mark.parametrize(
    ("occurring", "width", "columns", "kept"),
    [
        (10, 10 + LEAST, 1, True),
        (10, 9 + LEAST, 1, False),
        (10, 10 + LEAST // 4, 4, True),
        (int(SHARE * 2_000_000) + 1, 2_000_000, 5, False),
    ],
)
def test_numbering_anew_is_for_what_it_saves(occurring, width, columns, kept):
    indices = np.arange(occurring, dtype=np.int32)
    matrix = sparse.csr_array((np.ones(occurring), indices, [0, occurring]), shape=(1, width))
    assert (Occurring.of(matrix.indices, width, columns) is not None) == kept


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": None}, "'shape' is missing"),
        ({"features": np.array([9, 4, 1])}, "'features' does not increase"),
        ({"features": np.array([1, 4, 12])}, "'features' holds 12"),
        ({"features": np.array([1.0, 4.0])}, "'features' is float64"),
        ({"shape": np.array([11, 2])}, "'shape' ends in"),
        ({"more": np.array([1])}, "'more' is not known"),
    ],
)
def test_a_damaged_space_is_refused(changes, message):
    arrays = {**Occurring(np.array([1, 4, 9]), 12, 2).arrays(), **changes}
    arrays = {name: found for name, found in arrays.items() if found is not None}
    with pytest.raises(ModelError, match=message):
        restored(Kernel(), arrays, (12, 2))


@pytest.mark.parametrize("table", [0, 1_000])
@pytest.mark.parametrize("width", [5, 12, 30])
def test_features_are_numbered_in_order_and_unknown_ones_left_out(monkeypatch, table, width):
    """Whether they are found in a table or by bisection; rows may have more or fewer features."""
    monkeypatch.setattr(occurring, "TABLE", table)
    rng = np.random.default_rng(width)
    features = np.array([0, 3, 4, 11])
    dense = rng.integers(0, 2, size=(6, width)) * rng.normal(size=(6, width))
    kept = [place for place in features if place < width]
    expected = np.zeros((6, 4))
    expected[:, : len(kept)] = dense[:, kept]
    given = SimpleNamespace(inputs=sparse.csr_array(dense), with_inputs=lambda matrix: matrix)
    w = np.ones(4)
    matrix, same = Occurring(features, 12, 1).prepared(given, w)
    np.testing.assert_array_equal(matrix.toarray(), expected)
    assert matrix.indices.dtype == np.int32
    assert same is w


@pytest.mark.parametrize("kernel", [{}, {"type": "poly", "degree": 2, "explicit": True}])
def test_wrong_predictions_are_an_error_of_the_application_in_any_space(kernel, monkeypatch):
    """The losses of training are compared with F on the rows that were trained on."""
    rng = np.random.default_rng(0)
    places = np.tile([5, 70_000, 150_000], 30)
    parts = (rng.normal(size=90), places, np.arange(0, 91, 3))
    matrix = sparse.csr_array(parts, shape=(30, WIDTH))
    config = Config.from_dict({"application": {"name": "multiclass", "bias": 0}, "kernel": kernel})
    application = config.create_application()
    application.fix(("a", "b", "c"), WIDTH)
    columns = application.columns_per_row(None)
    examples = in_memory(matrix, rng.integers(3, size=30), ("a", "b", "c"), columns)
    monkeypatch.setattr(Multiclass, "training_losses", lambda *_: np.full(30, 100.0))
    with pytest.raises(ApplicationError, match="losses of the predictions"):
        learn_on(application, examples, config)
