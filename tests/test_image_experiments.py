"""Experiments on partly labelled images, on small ones that are made here."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from paper_cases import found_of
from PIL import Image

from experiments.common import command
from experiments.papers.published import MODELS
from experiments.ping_2014 import figure4 as mssvm_figure4
from experiments.ping_2014 import partial_labels, photographs, segments
from experiments.ping_2014 import table4 as mssvm_table4
from experiments.ping_2014.partial_labels import labelled_part
from lssvm.errors import DataError
from lssvm.formats.image_list import Grid, as_graphs
from lssvm.formats.mrf_text import MISSING, read_graphs

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data")) / "msrc21-superpixels"


def test_what_is_labelled_keeps_its_edges_and_features(tmp_path):
    (tmp_path / "g").write_text(
        "graph a cost=2\nnode p y 3 ? 1:1\nnode q y 3 2 2:5\nnode r y 3 0 1:7 3:8\n"
        "edge p q e 1:1\nedge r q f 2:3\n\n"
        "graph nothing\nnode p y 3 ?\n\n"
        "graph b\nnode p y 3 1 1:4\nnode q y 3 - 1:9\nnode r y 3 2\nedge p r e 1:6\nedge q r e\n"
    )
    (tmp_path / "h").write_text(
        "graph a cost=2\nnode q y 3 2 2:5\nnode r y 3 0 1:7 3:8\nedge r q f 2:3\n\n"
        "graph b\nnode p y 3 1 1:4\nnode r y 3 2\nedge p r e 1:6\n"
    )
    found, expected = labelled_part(read_graphs(tmp_path / "g")), read_graphs(tmp_path / "h")
    for name in ("node_offsets", "edge_offsets", "states", "labels", "ends", "costs"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    for name in ("names", "node_names", "node_classes", "edge_classes"):
        assert list(getattr(found, name)) == list(getattr(expected, name))
    for name in ("node_features", "edge_features"):
        for own, other in zip(
            vars(getattr(found, name)).values(),
            vars(getattr(expected, name)).values(),
            strict=True,
        ):
            np.testing.assert_array_equal(own, other)


def test_a_graph_whose_labels_are_all_known_is_its_labelled_part():
    rng = np.random.default_rng(0)
    grid = Grid("a", rng.normal(size=(3, 4, 2)), rng.integers(0, 3, (3, 4)))
    whole = as_graphs([grid, grid._replace(name="b")], 3)
    found = labelled_part(whole)
    np.testing.assert_array_equal(found.ends, whole.ends)
    np.testing.assert_array_equal(found.node_features.values, whole.node_features.values)
    assert partial_labels.in_memory(found).fingerprint() == (
        partial_labels.in_memory(whole).fingerprint()
    )


def test_the_scene_has_all_labels_and_the_noise_its_variance():
    truth = mssvm_figure4.scene()
    assert truth.shape == (20, 40)
    assert set(truth.ravel()) == set(range(5))
    rng = np.random.default_rng(0)
    noise = [
        mssvm_figure4.image("a", truth, rng, 1.0).channels[:, :, 0] - (1 + truth)
        for _ in range(100)
    ]
    assert np.var(noise) == pytest.approx(5.0, rel=0.03)
    assert np.mean(noise) == pytest.approx(0.0, abs=0.05)


def test_c_is_that_of_the_highest_mean_and_the_smallest_of_equal_ones():
    rows = [
        {"setting": "s", "share": 0.5, "method": method, "C": C, "test": test}
        for method, C, test in [
            ("a", 1.0, 50.0),
            ("a", 0.1, 60.0),
            ("a", 0.1, 20.0),
            ("b", 1.0, 70.0),
            ("b", 0.1, 70.0),
        ]
    ]
    assert mssvm_figure4.best(rows) == {("s", 0.5, "a"): 1.0, ("s", 0.5, "b"): 0.1}


def test_the_features_of_the_paper_are_the_value_of_a_pixel_and_one_of_each_pair_of_labels():
    values = np.random.default_rng(0).normal(size=(3, 4, 1))
    found = mssvm_figure4.graphs_of([Grid("a", values, np.zeros((3, 4), dtype=int))], True)
    examples = partial_labels.in_memory(found)
    assert examples.classes.node_widths == examples.classes.edge_widths == (1,)
    assert examples.classes.shapes == ((5, 5),)
    np.testing.assert_array_equal(found.node_features.values, values.ravel())
    np.testing.assert_array_equal(found.edge_features.values, np.ones(3 * 3 + 2 * 4))


def test_figure_4_writes_its_figures_its_tables_and_every_run(tmp_path, monkeypatch):
    settings = {
        mssvm_figure4.PAPER: mssvm_figure4.Setting(2, 1, 1, (1.0,), 0, True),
        mssvm_figure4.MORE: mssvm_figure4.Setting(1, 1, 2, (0.03, 0.3), 1, False),
    }
    monkeypatch.setattr(mssvm_figure4, "QUICK", mssvm_figure4.Plan((0.5,), settings))
    for name, value in (("HEIGHT", 8), ("WIDTH", 12)):
        monkeypatch.setattr(mssvm_figure4, name, value)
    monkeypatch.setitem(mssvm_figure4.TRAINING, "cccp", {"tolerance": 0.5, "max_iterations": 2})
    monkeypatch.setitem(mssvm_figure4.TRAINING, "solver", {"epsilon": 0.3, "max_passes": 8})
    text = mssvm_figure4.experiment(command.Arguments(Path(), tmp_path, True, 1))
    assert (tmp_path / "figure4.txt").read_text() == text + "\n"
    for name in ("figure4", "figure4-more"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "figure4.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["setting"], row["method"], row["trial"]) for row in rows] == [
        (name, method, str(trial))
        for name, setting in settings.items()
        for method in mssvm_figure4.METHODS
        for trial in range(setting.trials)
    ]
    for row in rows:
        assert 0 <= float(row["test"]) <= 100
        assert float(row["C"]) in settings[row["setting"]].grid
        assert row["certified"] == "False"
    shown = found_of("mssvm-figure4", tmp_path)
    assert shown.columns == mssvm_figure4.METHODS
    own = [float(row["test"]) for row in rows[4:6]]
    assert shown.rows["more features, 50 % missing"][0][0] == pytest.approx(np.mean(own))
    assert shown.rows["the paper's, 50 % missing"][0][0] == float(rows[0]["test"])


def test_a_trial_is_the_same_for_every_method_and_differs_from_others(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        mssvm_figure4, "labelled_part", lambda graphs: drawn.append(graphs) or labelled_part(graphs)
    )
    monkeypatch.setitem(mssvm_figure4.TRAINING, "cccp", {"tolerance": 0.5, "max_iterations": 1})
    for method, trial in (("lssvm", 0), (partial_labels.LABELLED, 0), ("lssvm", 1)):
        task = mssvm_figure4.Task(mssvm_figure4.MORE, 0.9, method, trial, 0.01)
        mssvm_figure4.solve(mssvm_figure4.QUICK, task)
    first, second, other = drawn
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.node_features.values, second.node_features.values)
    assert np.any(first.labels != other.labels)
    assert np.mean(first.labels == MISSING) == pytest.approx(0.9, abs=0.05)


def superpixels(rng, count):
    """Arrays of photographs in which the colour tells the class, a tenth of them void."""
    sizes = rng.integers(4, 8, count)
    total = int(sizes.sum())
    classes = rng.choice([1, 4, 6], total)
    features = 0.5 * rng.normal(size=(total, 42)) + 2 * (classes[:, None] == np.arange(42))
    classes[rng.random(total) < 0.1] = 255
    chains = [np.column_stack([np.arange(n - 1), np.arange(1, n)]) for n in sizes]
    return {
        "image_names": np.array([f"p{k}" for k in range(count)]),
        "X": features.astype(np.float16),
        "y": classes.astype(np.uint8),
        "sp_offsets": np.concatenate([[0], np.cumsum(sizes)]),
        "edges": np.concatenate(chains).astype(np.uint8),
        "edge_offsets": np.concatenate([[0], np.cumsum(sizes - 1)]),
    }


@pytest.fixture
def folder(tmp_path):
    arrays = superpixels(np.random.default_rng(0), 40)
    np.savez(tmp_path / mssvm_table4.FILE, **arrays)
    for split, rows in zip(
        mssvm_table4.SPLITS, (range(20), range(20, 30), range(39, 29, -1)), strict=True
    ):
        lines = "".join(f"p{k}.bmp\n" for k in rows)
        (tmp_path / f"split_{split}.txt").write_text(lines)
    return tmp_path


def test_classes_without_a_name_are_missing_labels(folder):
    data = mssvm_table4.read_superpixels(folder / mssvm_table4.FILE)
    with np.load(folder / mssvm_table4.FILE) as arrays:
        raw = arrays["y"]
    assert len(mssvm_table4.NAMES) == 21
    np.testing.assert_array_equal(data.labels[raw == 1], mssvm_table4.NAMES.index("grass"))
    np.testing.assert_array_equal(data.labels[raw == 6], mssvm_table4.NAMES.index("sky"))
    np.testing.assert_array_equal(data.labels[(raw == 4) | (raw == 255)], MISSING)


def test_features_are_scaled_by_the_photographs_that_c_is_chosen_with(folder):
    data = mssvm_table4.read_superpixels(folder / mssvm_table4.FILE)
    parts = mssvm_table4.parts_of(data, [0, 1, 2], [3], [7, 5])
    own = parts.train.node_features.values.reshape(-1, 43)
    np.testing.assert_array_equal(own[:, 0], 1.0)
    np.testing.assert_allclose(own[:, 1:].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(own[:, 1:].std(axis=0), 1.0)
    assert parts.both.names == ["p0", "p1", "p2", "p3"]
    assert parts.test.names == ["p7", "p5"]
    np.testing.assert_array_equal(parts.both.node_features.values[: own.size], own.ravel())


def test_edges_have_likeness_and_height(folder):
    data = mssvm_table4.read_superpixels(folder / mssvm_table4.FILE)
    graphs = mssvm_table4.as_graphs(data, data.features, [3, 1])
    edge = graphs.edge_offsets[1]  # the first one of the second photograph
    first, second = data.features[data.nodes[1]], data.features[data.nodes[1] + 1]
    apart = sum((first[k] - second[k]) ** 2 for k in (3, 4, 5))
    expected = [1.0, np.exp(-apart / 0.02), 3 * (second[10] - first[10])]
    np.testing.assert_allclose(graphs.edge_features.values[3 * edge : 3 * edge + 3], expected)


BROKEN_ARCHIVES = {
    "an array missing": lambda arrays: arrays.pop("X"),
    "features too few": lambda arrays: arrays.update(X=arrays["X"][1:]),
    "not a number": lambda arrays: arrays["X"].__setitem__(0, np.nan),
    "offsets too few": lambda arrays: arrays.update(sp_offsets=arrays["sp_offsets"][1:]),
    "offsets that end early": lambda arrays: arrays.update(y=np.append(arrays["y"], 1)),
    "an edge that leads out": lambda arrays: arrays["edges"].__setitem__(0, 99),
    "objects": lambda arrays: arrays.update(X=np.array([{}])),
}


@pytest.mark.parametrize("name", BROKEN_ARCHIVES)
def test_a_broken_archive_of_superpixels_is_refused(tmp_path, name):
    arrays = superpixels(np.random.default_rng(0), 3)
    BROKEN_ARCHIVES[name](arrays)
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(DataError, match=r"x\.npz: .*; expected superpixels"):
        mssvm_table4.read_superpixels(tmp_path / "x.npz")


@pytest.mark.parametrize("content", [None, b"", b"text", b"PK\x03\x04"])
def test_what_is_no_archive_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"x\.npz: cannot be read: .*; expected superpixels"):
        mssvm_table4.read_superpixels(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "s: no photographs; expected one per line"),
        ("a.bmp\n\nc.bmp\n", "s:3: there is no photograph 'c'; expected one of superpixels.npz"),
    ],
)
def test_a_broken_split_is_refused_with_its_line(tmp_path, monkeypatch, text, expected):
    monkeypatch.chdir(tmp_path)
    Path("s").write_text(text)
    with pytest.raises(DataError) as caught:
        mssvm_table4.read_split(Path("s"), ["a", "b"])
    assert str(caught.value) == expected


def test_superpixels_are_told_by_every_method(folder, monkeypatch):
    monkeypatch.setattr(mssvm_table4, "FULL", segments.Settings((0.1, 1.0), (0.1, 1.0), 6))
    mssvm_table4.experiment(command.Arguments(folder, folder, False, 1))
    summary = json.loads((folder / "table4.json").read_text())
    runs = {run["method"]: run for run in summary["runs"]}
    assert list(runs) == [*segments.METHODS, *segments.BY_CCCP]
    pairs = [(row["first"], row["second"]) for row in summary["differences"]]
    assert pairs[-2:] == [("mssvm, CCCP", "lssvm, CCCP"), ("mssvm, CCCP", "hcrf, CCCP")]
    for method, run in runs.items():
        mean, error = summary["accuracies"]["all"][method]
        assert mean > 85
        assert 0 <= error < 10
        model, _, trainer = method.partition(", ")
        if model.upper() in MODELS:
            place = MODELS.index(model.upper())
            row = "all" if trainer else "all, SGD"
            assert found_of("mssvm-table4", folder).rows[row][place] == (mean, error)
        if trainer:
            assert run["C"] == runs[model]["C"]
            assert run["passes"] > 0
            continue
        tried = {float(C): right for C, right in summary["tried"][method].items()}
        assert run["validation"] == max(tried.values()) == tried[run["C"]]
        assert run["C"] == min(C for C, right in tried.items() if right == run["validation"])


def test_test_photographs_are_not_looked_at_before_c_is_chosen(folder):
    data = mssvm_table4.read_superpixels(folder / mssvm_table4.FILE)
    settings = segments.Settings((0.1, 1.0), (0.1,), 5)
    parts = mssvm_table4.parts_of(data, [*range(20)], [*range(20, 30)], [*range(30, 40)])
    spoiled = parts._replace(test=parts.train)
    for method in ("lssvm", segments.SINGLE):
        found, other = (segments.solve((p, settings), method).record for p in (parts, spoiled))
        for record in (found, other):
            record.pop("seconds")
            record.pop("not_converged", None)
        assert found == other


def test_tables_count_labelled_nodes_and_pair_photographs():
    labels = [np.array([[0, 1, MISSING]]), np.array([[1, 1, 1]]), np.array([[MISSING]])]
    grids = [Grid(str(k), np.zeros((*own.shape, 1)), own) for k, own in enumerate(labels)]
    test = as_graphs(grids, 3)
    first = segments.Outcome("first", np.array([0, 0, 1, 1, 1, 0, 1]), {})
    second = segments.Outcome("second", np.array([1, 0, 1, 1, 0, 0, 1]), {})
    found = segments.table([first, second], test, ["a", "b", "c"])
    assert found == [
        {"class": "all", "first": "60.0 ± 8.0", "second": "20.0 ± 16.0"},
        {"class": "mean of classes", "first": "75.0 ± 12.5", "second": "12.5 ± 6.2"},
        {"class": "a", "first": "100.0 ± 0.0", "second": "0.0 ± 0.0"},
        {"class": "b", "first": "50.0 ± 25.0", "second": "25.0 ± 12.5"},
    ]
    (row,) = segments.differences([first, second], test)
    apart = [50.0, 100 / 3]
    assert row["mean"] == pytest.approx(np.mean(apart))
    assert row["error"] == pytest.approx(np.std(apart, ddof=1) / np.sqrt(2))


def test_the_real_superpixels_are_whole():
    if not DATA.is_dir():
        pytest.skip(f"no folder msrc21-superpixels in LSSVM_DATA ({DATA.parent})")
    data = mssvm_table4.read_superpixels(DATA / mssvm_table4.FILE)
    parts = [
        mssvm_table4.read_split(DATA / f"split_{split}.txt", data.names)
        for split in mssvm_table4.SPLITS
    ]
    assert [len(part) for part in parts] == [276, 59, 256]
    assert len(set().union(*parts)) == 591
    assert (len(data.labels), len(data.ends)) == (40357, 101556)
    known = [
        int(np.sum(mssvm_table4.as_graphs(data, data.features, part).labels >= 0)) for part in parts
    ]
    assert (known[0] + known[1], known[2]) == (17984, 14134)


COWS, GRASS, SKY = photographs.COLOURS["cow"], photographs.COLOURS["grass"], (128, 128, 128)


def write_photograph(folder, name, rng, size=(50, 70), suffix="bmp"):
    """Sky above grass with stripes, a band between them without a label."""
    height, width = size
    middle = height // 2 + int(rng.integers(-5, 6))
    pixels = rng.integers(0, 30, (height, width, 3))
    pixels[:middle] += (60, 90, 200)
    pixels[middle:] += (40, 150, 40)
    pixels[middle:, ::4] += 50
    colours = np.zeros((height, width, 3), dtype=np.uint8)
    colours[: middle - 4], colours[middle + 4 :] = SKY, GRASS
    (folder / "Images").mkdir(exist_ok=True)
    (folder / "GroundTruth").mkdir(exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(folder / "Images" / f"{name}.{suffix}")
    Image.fromarray(colours).save(folder / "GroundTruth" / f"{name}_GT.{suffix}")


def test_patches_lie_on_their_grid():
    pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    pixels = rng.random((47, 60, 3))
    assert photographs.sift_of(pixels).shape == (3, 5, 128)
    found = photographs.histograms(pixels)
    assert found.shape == (3, 5, 48)
    patch = pixels[20:40, 30:50]
    for k in range(3):
        expected = np.histogram(patch[:, :, k], bins=16, range=(0, 1))[0] / 400
        np.testing.assert_allclose(found[2, 3, 16 * k : 16 * k + 16], expected, atol=1e-15)


def test_white_is_in_the_last_bin():
    found = photographs.histograms(np.ones((20, 20, 3)))
    assert found.shape == (1, 1, 48)
    assert np.flatnonzero(found[0, 0]).tolist() == [15, 31, 47]


def test_a_patch_has_the_label_of_most_of_its_pixels():
    labels = np.full((20, 40), MISSING)
    labels[:11, :20] = 3
    labels[11:, :20] = 5
    labels[:10, 20:] = 2
    assert photographs.majority(labels).tolist() == [
        [3, 3, MISSING]
    ]  # the middle one: 110 pixels of 3


def test_the_five_most_frequent_classes_are_kept():
    rows = np.array([[0, 1, 2, 3, 4, 5, MISSING], [0, 1, 2, 3, 4, 4, 6], [0, 1, 2, 3, 4, 4, 5]])
    given = [photographs.Photograph("a", rows, rows, rows[:1]), photographs.Photograph(
        "b", rows, rows, rows[1:]
    )]  # fmt: skip
    found, names = photographs.limited(given)
    assert names == list(photographs.NAMES[:5])
    assert found[0].labels.tolist() == [[0, 1, 2, 3, 4, MISSING, MISSING]]
    assert found[1].labels.tolist() == [[0, 1, 2, 3, 4, 4, MISSING], [0, 1, 2, 3, 4, 4, MISSING]]


def test_halves_take_turns():
    (first, second), (third, fourth) = photographs.halves(11)
    assert sorted([*first, *second]) == list(range(11))
    assert (first.tolist(), second.tolist()) == (fourth.tolist(), third.tolist())


def test_words_are_those_of_the_training_fold_alone(tmp_path):
    pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    for k in range(6):
        write_photograph(tmp_path, f"p{k}", rng)
    found = [photographs.read_photograph(*pair) for pair in photographs.pairs(tmp_path)]
    fold = (np.array([0, 1, 2]), np.array([3, 4, 5]))
    parts = photographs.parts_of(found, fold, 23, 4)
    spoiled = [each._replace(sift=each.sift[::-1] if k > 2 else each.sift)
               for k, each in enumerate(found)]  # fmt: skip
    other = photographs.parts_of(spoiled, fold, 23, 4)
    np.testing.assert_array_equal(
        parts.both.node_features.indices, other.both.node_features.indices
    )
    counts = np.diff(parts.both.node_features.starts)
    words = parts.both.node_features.indices[parts.both.node_features.starts[:-1] + 1]
    assert counts.min() >= 2
    assert set(words.tolist()) <= {1, 2, 3, 4}


def test_small_photographs_are_told_by_every_method(tmp_path, monkeypatch):
    pytest.importorskip("cv2")
    rng = np.random.default_rng(1)
    for k in range(8):
        write_photograph(tmp_path, f"{k}_s", rng, suffix="png" if k % 2 else "bmp")
    monkeypatch.setattr(photographs, "QUICK", segments.Settings((0.1,), (1.0,), 5))
    out = tmp_path / "out"
    out.mkdir()
    photographs.experiment(command.Arguments(tmp_path, out, True, 1))
    summary = json.loads((out / "photographs.json").read_text())
    assert summary["classes"] == ["grass", "sky"]
    assert [(run["fold"], run["method"]) for run in summary["runs"]] == [
        (fold, method) for fold in (1, 2) for method in (*segments.METHODS, *segments.BY_CCCP)
    ]
    rows = [row.split() for row in (out / "photographs.txt").read_text().splitlines()]
    for row in rows:
        if row[0] == "all":
            assert min(map(float, row[1::3])) > 90


def broken(change):
    """Photographs of which the first one was changed."""

    def make(folder):
        rng = np.random.default_rng(0)
        for k in range(6):
            write_photograph(folder, f"p{k}", rng)
        change(folder / "Images" / "p0.bmp", folder / "GroundTruth" / "p0_GT.bmp")

    return make


def save(path, pixels):
    Image.fromarray(np.array(pixels, dtype=np.uint8)).save(path)


BROKEN_FOLDERS = {
    "nothing": (lambda folder: None, "0 photographs with label images NAME_GT; expected at least"),
    "no photograph": (broken(lambda image, labels: image.unlink()), "there is no photograph p0"),
    "no label image": (broken(lambda image, labels: labels.unlink()), "5 photographs with label"),
    "an empty photograph": (
        broken(lambda image, labels: image.write_bytes(b"")),
        "is not an image in a known format",
    ),
    "a photograph cut short": (
        broken(lambda image, labels: image.write_bytes(image.read_bytes()[:500])),
        "is cut short or damaged",
    ),
    "a grey photograph": (
        broken(lambda image, labels: save(image, np.zeros((50, 70)))),
        "is grey; expected colours",
    ),
    "a smaller label image": (
        broken(lambda image, labels: save(labels, np.zeros((50, 60, 3)))),
        "is 60 x 50 pixels; expected 70 x 50, as p0.bmp",
    ),
    "a photograph smaller than a patch": (
        broken(
            lambda image, labels: (
                save(image, np.zeros((19, 70, 3))),
                save(labels, np.zeros((19, 70, 3))),
            )
        ),
        "is smaller than a patch; expected at least 20 pixels",
    ),
    "another colour": (
        broken(lambda image, labels: save(labels, np.full((50, 70, 3), 7))),
        "pixel 0,0 has the colour 7 7 7; expected one of MSRC's",
    ),
    "labels as jpeg": (
        broken(
            lambda image, labels: Image.fromarray(np.zeros((50, 70, 3), np.uint8)).save(
                labels, "JPEG"
            )
        ),
        "is JPEG, which changes colours",
    ),
    "labels that are text": (
        broken(lambda image, labels: labels.write_text("grass")),
        "is not an image in a known format",
    ),
}


@pytest.mark.parametrize("name", BROKEN_FOLDERS)
def test_broken_photographs_are_refused_in_one_line(tmp_path, name):
    pytest.importorskip("cv2")
    make, expected = BROKEN_FOLDERS[name]
    make(tmp_path)
    with pytest.raises(DataError) as caught:
        photographs.experiment(command.Arguments(tmp_path, tmp_path, True, 1))
    message = str(caught.value)
    assert expected in message
    assert message.startswith(str(tmp_path))
    assert "; expected" in message
    assert "\n" not in message
