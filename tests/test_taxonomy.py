import bz2
import io
import json
from dataclasses import replace
from pathlib import Path

import class_cases
import numpy as np
import pytest
from click.testing import CliRunner
from refusals import check_broken_training_file, told

from lssvm.applications.base import Source
from lssvm.applications.multiclass.class_tree import ClassTree, WeightColumns
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.applications.multiclass.taxonomy import Taxonomy, TaxonomyOptions
from lssvm.cli import classify, learn, main
from lssvm.config import Config, load_config
from lssvm.errors import ConfigError
from lssvm.formats.taxonomy_file import read_taxonomy
from lssvm.model import Model
from lssvm.training.session import learn_on

TREE = {"a": "r", "b": "r", "c": "a", "d": "a", "e": "d", "f": "b"}


def classifier(formulation=None, **options):
    return Taxonomy(TaxonomyOptions(**options), formulation)


# slow twins, from the definitions


def ancestors(parents, node):
    """The node and all above it, the root included."""
    found = [node]
    while found[-1] in parents:
        found.append(parents[found[-1]])
    return found


def height(parents, node):
    below = [child for child, parent in parents.items() if parent == node]
    return 1 + max(height(parents, child) for child in below) if below else 0


def tree_loss(parents, first, second):
    """0 for equal nodes, else the height of the lowest node that is above or at both."""
    if first == second:
        return 0
    above = ancestors(parents, second)
    return height(parents, next(node for node in ancestors(parents, first) if node in above))


def random_tree(rng, count):
    """The parent of each of n1 … below the root n0, and labels at leaves and inside."""
    parents = {f"n{k}": f"n{rng.integers(0, k)}" for k in range(1, count + 1)}
    labels = sorted(rng.choice(sorted(parents), int(rng.integers(1, count + 1)), replace=False))
    return parents, [str(label) for label in labels]


def test_heights_of_first_common_ancestors_by_hand():
    tree = ClassTree(TREE)
    labels = ["c", "d", "e", "f", "a"]
    #     r: height 3; a: 2; b: 1; d: 1
    expected = [
        [0, 2, 2, 3, 2],
        [2, 0, 1, 3, 2],
        [2, 1, 0, 3, 2],
        [3, 3, 3, 0, 3],
        [2, 2, 2, 3, 0],
    ]
    np.testing.assert_array_equal(tree.losses(labels, labels), expected)
    assert tree.steps("e") == ("a", "d", "e")


def test_heights_are_those_of_the_definition_for_random_trees():
    rng = np.random.default_rng(0)
    for _ in range(200):
        parents, labels = random_tree(rng, int(rng.integers(1, 12)))
        names = sorted(parents)
        tops = [child for child, parent in parents.items() if parent == "n0"]
        expected = [[tree_loss(parents, a, b) for b in labels] for a in names]
        np.testing.assert_array_equal(ClassTree(parents).losses(names, labels), expected)
        if len(tops) > 1:
            # The same tree as paths, and as the forest below its root.
            path = {name: "/".join(ancestors(parents, name)[-2::-1]) for name in names}
            found = ClassTree(None, path.values()).losses(
                [path[a] for a in names], [path[b] for b in labels]
            )
            np.testing.assert_array_equal(found, expected)
            forest = {child: parent for child, parent in parents.items() if parent != "n0"}
            own = sorted({*forest, *forest.values()})
            if len({parent for parent in forest.values() if parent not in forest}) > 1:
                inside = [label for label in labels if label in own]
                if inside:
                    whole = {**forest, **{n: "n0" for n in own if n not in forest}}
                    np.testing.assert_array_equal(
                        ClassTree(forest).losses(own, inside),
                        [[tree_loss(whole, a, b) for b in inside] for a in own],
                    )


def test_a_path_that_lies_deeper_than_the_tree_raises_what_is_above_it():
    tree = ClassTree(None, ["a/b", "a/c", "d"])
    np.testing.assert_array_equal(
        tree.losses(["a/b/x/y", "a/z", "e"], ["a/b", "a/c", "d"]), [[2, 3, 4], [1, 1, 2], [2, 2, 2]]
    )


def test_columns_are_the_nodes_above_the_classes_below_the_root():
    columns = WeightColumns(["e", "c", "a"], ClassTree(TREE))
    assert columns.names == ("a", "c", "d", "e")
    assert columns.parents.tolist() == [-1, 0, 0, 2]
    assert columns.places.tolist() == [3, 1, 0]
    paths = np.split(columns.paths, columns.path_starts[1:-1])
    assert [path.tolist() for path in paths] == [[0, 2, 3], [0, 1], [0]]
    flat = WeightColumns(["e", "c", "a"])
    assert flat.names == ("e", "c", "a")
    assert (len(flat.parents), flat.places.tolist()) == (0, [0, 1, 2])


@pytest.mark.parametrize(("rescaling", "norm"), class_cases.FORMULATIONS)
@pytest.mark.parametrize("features", ["tree", "flat"])
@pytest.mark.parametrize("loss", ["tree", "zero_one"])
def test_inference_equals_enumeration(loss, features, rescaling, norm):
    rng = np.random.default_rng([norm, rescaling == "slack", loss == "tree", features == "tree"])
    for trial in range(200):
        parents, labels = random_tree(rng, int(rng.integers(1, 12)))
        width = int(rng.integers(1, 5))
        app = classifier(
            class_cases.formulation(rescaling, norm),
            taxonomy=parents,
            features=features,
            loss=loss,
            bias=0.0,
        )
        app.fix(labels, width)
        names = list(app.columns.names)
        losses = np.array([[tree_loss(parents, a, b) for b in labels] for a in labels], dtype=float)
        losses = losses if loss == "tree" else np.minimum(losses, 1.0)
        above = [
            [float(z in ancestors(parents, y) if features == "tree" else z == y) for z in names]
            for y in labels
        ]
        examples, x, truth = class_cases.rows_of(rng, app, labels, width)
        w = rng.integers(-8, 9, width * len(names)) / 8 * (trial > 4)

        def phi(row, k, above=above):
            return np.outer(row, above[k]).ravel()

        class_cases.check_against_enumeration(app, examples, x, truth, phi, losses, w)


def test_a_tree_of_one_level_is_the_flat_machine():
    rng = np.random.default_rng(3)
    rows, labels = rng.normal(size=(80, 5)), rng.integers(0, 6, 80)
    names = [f"c{k}" for k in range(6)]
    objectives = []
    for features in ("tree", "flat"):
        config = Config.from_dict(
            {
                "application": {"name": "taxonomy", "features": features},
                "solver": {"epsilon": 1e-5},
            }
        )
        app = config.create_application()
        app.fix(names, 4)
        examples = in_memory(rows, labels, names, len(app.columns))
        objectives.append(learn_on(app, examples, config).record["objective"])
    assert objectives[0] == objectives[1]


def test_shared_weights_are_those_of_the_kernel_of_the_tree():
    """½‖w‖² with shared weights is that of a flat machine with kernel Λ(y)·Λ(y') x·x'."""
    rng = np.random.default_rng(4)
    names = ["a/x", "a/y", "b/x", "b/y"]
    rows, labels = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    similar = np.array(
        [
            [sum(s == t for s, t in zip(_ways(a), _ways(b), strict=True)) for b in names]
            for a in names
        ]
    )
    root = np.linalg.cholesky(similar.astype(float))
    config = Config.from_dict(
        {
            "application": {"name": "taxonomy", "loss": "zero_one", "bias": 0.0},
            "solver": {"epsilon": 1e-6},
        }
    )
    app = config.create_application()
    app.fix(names, 3)
    examples = in_memory(rows, labels, names, len(app.columns))
    model = learn_on(app, examples, config)
    scores = app.scores(model.w, examples)
    # In the space of flat class weights V = U root', ½‖U‖² is the same regulariser.
    flat = np.linalg.lstsq(rows, scores, rcond=None)[0]
    u = np.linalg.solve(root, flat.T)
    assert 0.5 * np.sum(u**2) == pytest.approx(0.5 * model.w @ model.w, rel=1e-3)


def _ways(path):
    return path.split("/")[0], path


def test_scores_are_those_of_scikit_learn_and_of_the_definition():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(5)
    for loss in ("tree", "zero_one"):
        app = classifier(taxonomy=TREE, loss=loss)
        labels = ["c", "d", "e", "f"]
        app.fix(labels, 2)
        names = [*labels, "a", "b"]
        truth = rng.integers(0, 6, 50)
        examples = in_memory(rng.normal(size=(50, 3)), truth, names, len(app.columns))
        predictions = app.predict(rng.normal(size=3 * len(app.columns)), examples)
        found = predictions.labels
        score = app.score(examples, predictions)
        assert score["accuracy"] == pytest.approx(100 * metrics.accuracy_score(truth, found))
        assert score["accuracy"] + score["error"] == pytest.approx(100)
        losses = [tree_loss(TREE, names[a], names[b]) for a, b in zip(truth, found, strict=True)]
        assert score["tree_loss"] == pytest.approx(np.mean(losses))
        trained = losses if loss == "tree" else np.minimum(losses, 1)
        assert score["loss"] == pytest.approx(np.mean(trained))
        assert score["unseen_labels"] == np.sum(truth > 3)
        assert [r["loss"] for r in app.records(examples, predictions)] == list(trained)


# the data


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def _read(app, text, name="x.txt"):
        Path(name).write_text(text, encoding="utf-8")
        return app.read([Source(name)])

    return _read


def test_labels_that_training_did_not_see_have_their_place_in_the_tree(read):
    app = classifier(bias=0.0)
    read(app, "a/b 1:1\na/c 2:1\nd 3:1\n")
    assert app.columns.names == ("a", "a/b", "a/c", "d")
    test = read(app, "a/z 1:1\nd/q/r 1:1\n", "test.txt")
    predictions = app.predict(np.arange(12.0)[::-1] / 8, test)
    assert [app.classes[y] for y in predictions.labels] == ["a/b", "a/b"]
    score = app.score(test, predictions)
    assert (score["accuracy"], score["tree_loss"], score["unseen_labels"]) == (0.0, (1 + 3) / 2, 2)
    assert app.warnings(test)[0].startswith("2 examples have labels that training does not have")


@pytest.mark.parametrize(
    ("label", "taxonomy", "message"),
    [
        ("a//b", "paths", "label 'a//b' has a step without a name; expected one such as a/b/c"),
        ("/a", "paths", "label '/a' has a step without a name; expected one such as a/b/c"),
        ("q", TREE, "label 'q' is not in the taxonomy; expected one of its nodes"),
        ("r", TREE, "label 'r' is the root of the taxonomy; expected one below it"),
    ],
)
def test_a_label_without_a_place_is_told_by_its_line(read, label, taxonomy, message):
    app = classifier(taxonomy=taxonomy)
    assert told(read, app, f"c 1:1\n# none\n{label} 1:1\n") == f"x.txt:3: {message}"
    read(app, "c 1:1\nd 1:2\n")
    assert told(read, app, f"c 1:1\n{label} 1:1\n", "test.txt") == f"test.txt:2: {message}"


def test_a_model_keeps_its_tree(read):
    Path("t.txt").write_text("".join(f"{child} {parent}\n" for child, parent in TREE.items()))
    Path("x.txt").write_text("c 1:1\nd 2:1\nf 1:-1\n")
    Path("c.yaml").write_text(
        "application: {name: taxonomy, taxonomy: t.txt}\ndata: {train: x.txt}\n"
    )
    config = load_config("c.yaml")
    app = config.create_application()
    model = learn_on(app, app.read(config.sources("train")), config)
    model.save("m")
    Path("t.txt").unlink()
    loaded = Model.load("m")
    assert loaded.feature_names() == list(app.feature_names())
    np.testing.assert_array_equal(loaded.application.losses, app.losses)
    assert loaded.application.columns.names == ("a", "c", "d", "b", "f")
    examples = read(loaded.application, "c 1:1\n", "t")
    np.testing.assert_array_equal(
        loaded.application.scores(loaded.w, examples), app.scores(model.w, examples)
    )


def test_folds_that_lack_labels_keep_all_columns(read):
    app = classifier()
    examples = read(app, "a/b 1:1\na/c 2:1\nd 3:1\n")
    fold = examples.take(np.array([2]))
    assert app.dimension(fold) == app.dimension(examples) == 16
    assert app.augmented(np.zeros(16), fold)[0].loss == 2.0


TREES = {
    "empty": ("", "x: no nodes"),
    "comments alone": ("# nothing\n", "x: no nodes"),
    "one name": ("a\n", "x:1: 1 name;"),
    "three names": ("a r\nb r r\n", "x:2: 3 names"),
    "an empty name": ("a\tr\nb\t\n", "x:2: column 2 (parent) is empty"),
    "a blank for a tab": ("a\tr\nb r\n", "x:2: no tab"),
    "a tab for a blank": ("a r\nb\tr\n", "x:2: a tab"),
    "three names with tabs": ("New York\tUSA\tAmerica\n", "x:1: 3 names, with tabs"),
    "two parents": ("a r\nb r\na b\n", "x:3: 'a' has a parent already, 'r' in line 1"),
    "a parent twice": ("a r\na r\n", "x:2: 'a' has a parent already"),
    "a node below itself": ("a a\n", "x:1: 'a' is below itself"),
    "a cycle": ("a r\nb c\nc d\nd b\ne b\n", "x:2: 'b' is below itself"),
    "a cycle that others hang from": ("e b\nb c\nc b\n", "x:2: 'b' is below itself"),
    "not UTF-8": (b"a \xff\n", "x:1: byte 0xff is not UTF-8"),
    "truncated bzip2": (bz2.compress(b"a r\n" * 99)[:30], "x: the bzip2 stream is cut short"),
}


@pytest.mark.parametrize("name", TREES)
def test_a_broken_taxonomy_gives_one_clear_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    content, wrong = TREES[name]
    Path("x").write_bytes(content if isinstance(content, bytes) else content.encode())
    message = told(read_taxonomy, "x")
    assert message.startswith(wrong)
    assert "; expected " in message


@pytest.mark.parametrize("packed", [bytes, bz2.compress])
def test_a_taxonomy_may_be_compressed_and_come_from_windows(tmp_path, packed):
    (tmp_path / "x").write_bytes(packed("\ufeffa r # first\r\n\r\n# none\r\nb  a".encode()))
    assert read_taxonomy(tmp_path / "x") == {"a": "r", "b": "a"}


def test_names_of_a_taxonomy_with_tabs_may_hold_blanks(tmp_path):
    (tmp_path / "x").write_text("New York\tUSA\t# a town\nRome \t Italy\n")
    assert read_taxonomy(tmp_path / "x") == {"New York": "USA", "Rome": "Italy"}


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("{a: b, b: a}", "'a' is below itself; expected a tree"),
        ("{}", "no nodes; expected the parent of each node"),
        ("absent.txt", "absent.txt: cannot be read"),
    ],
)
def test_a_tree_in_the_configuration_is_checked(tmp_path, monkeypatch, tree, message):
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(f"application: {{name: taxonomy, taxonomy: {tree}}}\n")
    with pytest.raises(ConfigError) as caught:
        load_config("c.yaml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("c.yaml:1:")


# the commands

CONFIG = "application: {name: taxonomy}\ndata: {train: train.txt, test: train.txt}\n"
TRAIN = "a/b 1:1 2:0.5\na/b 1:1.5\na/c 2:1\na/c 1:0.1 2:1.2\nd/e 1:-1 2:-1\nd/e 1:-1.2\n"

BROKEN = {
    "empty": b"",
    "blank lines": b"\n \n",
    "comments alone": b"# nothing\n",
    "binary": bytes(range(256)),
    "not UTF-8": b"a/b 1:1 # \xff\n",
    "truncated gzip": b"\x1f\x8b\x08\x00",
    "no label": b"1:1 2:1\n",
    "a qid for a label": b"qid:1 1:1\n",
    "a feature without a value": b"a/b 1:\n",
    "a feature without a colon": b"a/b 1\n",
    "two labels": b"a/b a/c 1:1\n",
    "a value of words": b"a/b 1:one\n",
    "a value that is not a number": b"a/b 1:nan\n",
    "an infinite value": b"a/b 1:-inf\n",
    "a negative index": b"a/b -1:1\n",
    "indices that decrease": b"a/b 2:1 1:1\n",
    "an index twice": b"a/b 2:1 2:1\n",
    "an index beyond all bounds": b"a/b 99999999999:1\n",
    "more weights than there can be": b"a/b 2000000000:1\n",
    "a step without a name": b"a/b 1:1\na//b 1:1\n",
    "a path that ends in a slash": b"a/b/ 1:1\n",
    "a slash alone": b"/ 1:1\n",
    "labels that are not known": b"? 1:1\n? 1:2\n",
    "a label that is not known": b"a/b 1:1\n? 1:2\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(CONFIG)
    Path("train.txt").write_text(TRAIN)
    return tmp_path


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_gives_one_line_and_exit_code_2(folder, name):
    check_broken_training_file(BROKEN[name])


def run(command, *arguments):
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.stderr
    return result


def test_the_commands_train_predict_and_score(folder):
    run(learn, "c.yaml", "model", "-q")
    result = run(classify, "c.yaml", "model", "labels")
    metrics = dict(row.split() for row in result.stdout.splitlines())
    expected = ["accuracy", "tree_loss", "error", "loss", "examples", "unseen_labels"]
    assert list(metrics) == expected
    assert metrics["accuracy"] == "100"
    assert Path("labels").read_text().split() == [row.split()[0] for row in TRAIN.splitlines()]
    record = json.loads(
        run(classify, "c.yaml", "model", "-", "-q", "--json").stdout.splitlines()[4]
    )
    assert (record["y"], record["gold"], record["loss"]) == ("d/e", "d/e", 0.0)
    assert "× a" in run(main, "show", "model", "--top", "20").stdout
    grid = "search={grid: {objective.C: [0.1, 1]}, folds: 3}"
    Path("train.txt").write_text(TRAIN * 3)
    assert "validation accuracy" in run(main, "cv", "c.yaml", "--jobs", "1", "--set", grid).stdout


@pytest.mark.parametrize("setting", ["features=both", "loss=half", "taxonomy=3", "bias=-1"])
def test_a_wrong_option_gives_one_line_and_exit_code_2(folder, setting):
    result = CliRunner().invoke(learn, ["c.yaml", "model", "--set", f"application.{setting}"])
    assert result.exit_code == 2, result.exception
    (message,) = result.stderr.splitlines()
    assert message.startswith(f"error: --set application.{setting.partition('=')[0]}: ")


def test_the_starter_configuration_trains(folder):
    Path("starter.yaml").write_text(run(main, "init", "taxonomy").stdout)
    run(learn, "starter.yaml", "model", "-q")
    assert Path("model").stat().st_size > 0


def test_a_table_of_labels_that_training_lacks_is_written(read):
    app = classifier()
    read(app, "a/b 1:1\na/c 2:1\n")
    examples = read(app, "a/b 1:1\nz 1:1\n", "t")
    file = io.StringIO()
    app.write_confusion(examples, app.predict(np.zeros(9), examples), file)
    assert file.getvalue() == "true\ta/b\ta/c\na/b\t1\t0\na/c\t0\t0\nz\t1\t0\n"
    costs = replace(examples, costs=np.array([1.0, 2.0])).fingerprint()
    assert costs != examples.fingerprint()


def test_a_taxonomy_is_at_most_a_thousand_steps_deep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x").write_text("n1 1:1\nn2 2:1\n")
    wrong = "is more than 1,000 steps below the top; expected at most that many"
    for depth in (1000, 1001, 100_000):
        Path("tree").write_text("".join(f"n{k} n{k - 1}\n" for k in range(1, depth + 1)))
        Path("c.yaml").write_text(
            "application: {name: taxonomy, taxonomy: tree}\ndata: {train: x}\n"
        )
        done = CliRunner().invoke(learn, ["c.yaml", "m", "--dry-run"])
        expected = "" if depth == 1000 else f"error: application.taxonomy: label 'n1001' {wrong}\n"
        assert done.exit_code == (0 if depth == 1000 else 2)
        assert done.stderr.endswith(expected)
    Path("x").write_text("a" + "/a" * 1000 + " 1:1\nb 2:1\n")
    Path("c.yaml").write_text("application: {name: taxonomy, taxonomy: paths}\ndata: {train: x}\n")
    done = CliRunner().invoke(learn, ["c.yaml", "m", "--dry-run"])
    assert done.stderr == f"error: x:1: label '{'a/' * 10}…' {wrong}\n"
