"""Predictions for images as label images: what is written, what is refused, nothing by halves."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from lssvm.applications.base import Formulation, Source
from lssvm.applications.mrf import mrf_output
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.cli import classify, learn
from lssvm.errors import DataError, LssvmError
from lssvm.formats import image_list
from lssvm.output.whole import check_folder, write_folder

RED, GREEN, DARK, BLACK = (255, 0, 0), (0, 255, 0), (0, 128, 0), (0, 0, 0)
HEAD = "label sky 255 0 0\nlabel tree 0 255 0\nlabel tree 0 128 0\nmissing 0 0 0\n"
COLOURS = np.array([RED, GREEN], dtype=np.uint8)
MIXED = """application: {name: mrf}
data: {train: one/x.images, test: [one/x.images, two/y.images]}
objective: {model: mssvm, C: 1}
solver: {epsilon: 0.05}
"""


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.array(pixels, dtype=np.uint8)).save(path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two lists with images of equal names, and a model of the first, whose labels are partial."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    for name, (height, width) in (("one", (4, 6)), ("two", (5, 3))):
        truth = (np.arange(width) >= width // 2) * np.ones((height, 1), dtype=int)
        grey = 60 + 120 * truth + rng.integers(-50, 51, truth.shape)
        save(tmp_path / name / "images" / "1.png", grey)
        known = np.array([RED, DARK], dtype=np.uint8)[truth]
        known[rng.random(truth.shape) < 0.4] = BLACK
        save(tmp_path / name / "labels" / "1.png", known)
        listed = "xy"[name == "two"]
        line = "image images/1.png labels/1.png\n"
        (tmp_path / name / f"{listed}.images").write_text(HEAD + line)
    (tmp_path / "c.yaml").write_text(MIXED)
    assert CliRunner().invoke(learn, ["c.yaml", "m", "-q"]).exit_code == 0
    return tmp_path


def pixels_of(path):
    with Image.open(path) as image:
        return np.asarray(image)


def run(*arguments):
    return CliRunner().invoke(classify, [*arguments, "--format", "images"])


def files(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file()
    )


def predicted(path):
    """The states of every image of a list, by the table that is written by default."""
    assert CliRunner().invoke(classify, [path, "m", "table", "-q"]).exit_code == 0
    rows = [line.split("\t") for line in Path("table").read_text().splitlines()[1:]]
    return np.array([int(row[2]) for row in rows])


@pytest.mark.parametrize("place", ["new", "empty"])
def test_pixels_have_the_first_colour_of_the_state_in_the_table(place, folder):
    if place == "empty":
        (folder / "out").mkdir()
    result = run("one/x.images", "m", "out")
    assert result.exit_code == 0, result.stderr
    assert "accuracy" in result.stdout
    assert files("out") == ["1.png"]
    states = predicted("one/x.images")
    assert set(states.tolist()) == {0, 1}
    np.testing.assert_array_equal(pixels_of("out/1.png"), COLOURS[states.reshape(4, 6)])
    assert sorted(os.listdir()) == ["c.yaml", "m", "one", "out", "table", "two"]


def test_what_was_written_reads_back_as_labels_without_an_error(folder):
    assert run("two/y.images", "m", "out", "-q").exit_code == 0
    (folder / "again.images").write_text(HEAD + "image two/images/1.png out/1.png\n")
    found = image_list.read_images("again.images")
    assert found.labels.tolist() == predicted("two/y.images").tolist()
    scored = CliRunner().invoke(classify, ["again.images", "m", "t"]).stdout.splitlines()
    assert scored[0].split() == ["error", "0"]
    assert scored[4].split() == ["labels", "15"]


def test_images_of_equal_names_keep_their_folders(folder):
    assert run("c.yaml", "m", "out", "-q").exit_code == 0
    assert files("out") == ["one/images/1.png", "two/images/1.png"]
    for path, shape in (("one/images/1.png", (4, 6, 3)), ("two/images/1.png", (5, 3, 3))):
        assert pixels_of(Path("out") / path).shape == shape


def test_images_that_differ_in_their_suffix_alone_keep_it(folder):
    np.save("one/images/1.npy", np.zeros((2, 2)))
    text = HEAD + "image images/1.png -\nimage images/1.npy -\n"
    (folder / "one" / "z.images").write_text(text)
    assert run("one/z.images", "m", "out", "-q").exit_code == 0
    assert files("out") == ["1.npy.png", "1.png.png"]


def test_an_image_in_two_lists_is_refused(folder):
    (folder / "same.images").write_text(HEAD + "image two/images/1.png -\n")
    (folder / "d.yaml").write_text(MIXED.replace("one/x.images, two", "same.images, two"))
    result = run("d.yaml", "m", "out")
    expected = "two/y.images:5: graph 'images/1.png' is given twice; expected different images"
    assert (result.exit_code, result.stderr) == (2, f"error: {expected}\n")
    assert not Path("out").exists()


def test_graphs_that_are_no_images_are_refused(folder):
    lines = ["node a pixel 2 0 1:1", "node b pixel 2 1 1:1", "edge a b right", "edge a b down"]
    (folder / "g.txt").write_text("graph first\n" + "\n".join(lines) + "\n")
    result = run("g.txt", "m", "out")
    expected = "g.txt: graph 'first' is no image; expected a list .images, or --format labels"
    assert (result.exit_code, result.stderr) == (2, f"error: {expected}\n")
    assert not Path("out").exists()


def occupied():
    Path("out").mkdir()
    Path("out/keep").write_text("mine")


def plain_file():
    Path("out").write_text("mine")


UNFIT = {
    "out": (occupied, "out: the folder is not empty; expected a new or an empty one"),
    "./out": (plain_file, "./out: is not a folder; expected a new or an empty one"),
    "no/out": (lambda: None, "no/out: the folder 'no' does not exist"),
    "no/out/": (lambda: None, "no/out/: the folder 'no' does not exist"),
    "-": (lambda: None, "PREDICTIONS: expected the name of a folder, got '-'"),
    "m": (lambda: None, "m: is given as PREDICTIONS and as MODEL; expected two files"),
}


@pytest.mark.parametrize("out", UNFIT)
def test_a_folder_that_does_not_suit_is_refused_before_anything_is_read(out, folder):
    made, expected = UNFIT[out]
    made()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = run("missing.images", "m", out)
    assert (result.exit_code, result.stderr) == (2, f"error: {expected}\n")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_without_pillow_the_extra_is_named_and_nothing_is_written(folder, monkeypatch):
    np.save("a.npy", np.zeros((2, 2)))
    (folder / "a.images").write_text(HEAD + "image a.npy -\n")
    monkeypatch.setitem(sys.modules, "PIL", None)
    result = run("a.images", "m", "out")
    assert result.exit_code == 2
    expected = "error: writing images needs Pillow; install it with: pip install 'lssvm[image]'\n"
    assert result.stderr == expected
    assert not Path("out").exists()


def test_the_formats_of_other_applications_are_as_before(folder):
    result = CliRunner().invoke(classify, ["one/x.images", "m", "out", "--format", "image"])
    expected = (
        "application 'mrf' cannot write it; did you mean 'images'? "
        "(known: labels, marginals, images)"
    )
    assert (result.exit_code, result.stderr) == (2, f"error: --format image: {expected}\n")


def test_a_block_of_images_has_its_own_pictures(folder):
    application = MarkovRandomField(MrfOptions(), Formulation("mssvm"))
    examples = application.read([Source("one/x.images"), Source("two/y.images")])
    for own in (examples.slice(1, 2), examples.take(np.array([1]))):
        assert mrf_output.image_names(mrf_output.image_marks(own)) == ["1.png"]
        predictions = application.predict(np.zeros(application.dimension(own)), own)
        (content,) = mrf_output.label_images(own, predictions)
        Path("p.png").write_bytes(content)
        assert pixels_of("p.png").tolist() == [[list(RED)] * 3] * 5


def broken_off():
    yield "a/1", b"one"
    raise KeyboardInterrupt


@pytest.mark.parametrize("empty", [False, True])
def test_a_folder_that_is_broken_off_leaves_nothing(empty, tmp_path):
    if empty:
        (tmp_path / "out").mkdir()
    before = os.listdir(tmp_path)
    check_folder(tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "out", broken_off())
    assert os.listdir(tmp_path) == before
    assert not files(tmp_path)
    write_folder(tmp_path / "out", [("a/1", b"one"), ("2", b"two")])
    assert {name: (tmp_path / "out" / name).read_bytes() for name in files(tmp_path / "out")} == {
        "a/1": b"one",
        "2": b"two",
    }
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("head", ["label tree 0 255 0\nlabel sky 255 0 0\n", "label a 1 2 3\n"])
def test_labels_in_another_order_or_of_other_names_are_refused(head, folder):
    (folder / "two" / "y.images").write_text(head + "image images/1.png -\n")
    result = run("two/y.images", "m", "out")
    assert result.exit_code == 2
    names = ", ".join(line.split()[1] for line in head.splitlines())
    wanted = f"two/y.images: the labels are {names}; expected sky, tree, as before"
    assert wanted in result.stderr
    assert not (folder / "out").exists()
    app = MarkovRandomField(MrfOptions())
    with pytest.raises(DataError, match="the labels are"):
        app.read([Source("one/x.images"), Source("two/y.images")])


def test_weights_are_named_by_the_labels(folder):
    app = MarkovRandomField(MrfOptions())
    app.read([Source("one/x.images")])
    names = list(app.feature_names())
    assert names[:2] == ["pixel feature 1: sky", "pixel feature 1: tree"]
    assert names[-1] == "down feature 2: tree, tree"


def test_two_files_of_a_folder_with_one_name_are_refused(tmp_path):
    with pytest.raises(LssvmError, match=r"'a/1' is the name of two files"):
        write_folder(tmp_path / "out", [("a/1", b"one"), ("a/1", b"two")])
    assert list(tmp_path.iterdir()) == []
