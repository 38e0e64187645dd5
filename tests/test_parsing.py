"""Parsing from files to trees: reading, grammars, training, prediction, output, refusals."""

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_penn_trees import MALFORMED

from lssvm.applications.base import Formulation, Source
from lssvm.applications.parsing import drawing, nltk_trees
from lssvm.applications.parsing.grammar import Form, Learner, Node
from lssvm.applications.parsing.heads import head_of, read_heads
from lssvm.applications.parsing.latent_parsing import LatentParsing, LatentParsingOptions
from lssvm.applications.parsing.parsing import Parsing, ParsingOptions
from lssvm.applications.parsing.word_features import features_of, shape
from lssvm.cli import classify, learn, main
from lssvm.config import Config
from lssvm.errors import ConfigError, DataError, LssvmError
from lssvm.training.session import learn_on

TREES = """(TOP (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .)))
(S (NP (PRP he)) (VP (VBD saw) (NP (NP (DT the) (NN dog)) (PP (IN in) (NP (NNP Rome))))) (. .))
(TOP (S (NP (NNP Ann)) (VP (VBD met) (NP (DT a) (NN cat)) (PP (IN in) (NP (NNP Rome)))) (. .)))
(TOP (NP (NN dog)))
(TOP (S (VP (VBD go))))
"""


def written(folder, text=TREES, name="t.ptb"):
    path = folder / name
    path.write_text(text)
    return Source(str(path))


def read(folder, text=TREES, kind=Parsing, form=None, **options):
    app = kind(kind.Options(**options), form)
    return app, app.read([written(folder, text)])


def bracketed(app, examples, predictions):
    file = io.StringIO()
    app.write(examples, predictions, file)
    return file.getvalue().splitlines()


def test_true_weights_give_the_training_trees(tmp_path):
    app, examples = read(tmp_path)
    w = app.completed(np.zeros(app.dimension(examples)), examples).gradient
    value = app.predict(w, examples)
    assert bracketed(app, examples, value)[0] == TREES.splitlines()[0]
    assert bracketed(app, examples, value)[3:] == TREES.splitlines()[3:]


@pytest.mark.parametrize("binarisation", ["left", "right", "head"])
@pytest.mark.parametrize(("vertical", "horizontal"), [(1, None), (1, 0), (2, 1), (3, 2)])
def test_every_training_tree_can_be_made_whatever_the_grammar(
    tmp_path, binarisation, vertical, horizontal
):
    heads = {"S": ["right", "VP"], "*": ["left"]} if binarisation == "head" else None
    app, examples = read(
        tmp_path,
        binarisation=binarisation,
        vertical=vertical,
        horizontal=horizontal,
        heads=heads,
    )
    assert np.all(examples.made)
    found = app.completed_each(np.zeros(app.dimension(examples)), examples)
    values = app._search(0, np.zeros(app.dimension(examples)), examples)
    assert np.array_equal(found.outputs.rules, values.rules)
    # The derivations are those of the trees: their brackets are the true ones.
    from lssvm.applications.parsing.predicted_trees import trees_of

    trees = trees_of(app.features.grammar, values.rules, values.offsets)
    names = app.learnt.grammar.labels
    mine = [
        (names[label], int(start), int(end))
        for label, start, end in zip(*trees.brackets[:3], strict=True)
    ]
    true = examples.brackets
    assert sorted(mine) == sorted(
        (examples.label_texts[label], int(start), int(end))
        for label, start, end in zip(*true[:3], strict=True)
    )


def test_a_grammar_without_markovisation_knows_all_sisters(tmp_path):
    form = {None: 0, 1: 0, 0: 0}
    for horizontal in form:
        learner = Learner(Form("right", {}, 1, horizontal))
        leaves = [Node(tag, (), True) for tag in "abcd"]
        learner.add([Node("", (1,), False), Node("X", (2, 3, 4, 5), False), *leaves])
        learner.add([Node("", (1,), False), Node("X", (3, 2, 4, 5), False), *leaves])
        form[horizontal] = len(learner.learnt().symbols)
    assert form == {None: 5, 1: 3, 0: 2}


def test_several_files_folders_and_compressed_ones_are_read_in_order(tmp_path):
    folder = tmp_path / "trees"
    folder.mkdir()
    (folder / "b.mrg").write_text("(NP (NN b))\n")
    (folder / "a.ptb.gz").write_bytes(gzip.compress(b"(NP (NN a))\n"))
    (folder / "notes.txt").write_text("no trees\n")
    app = Parsing(ParsingOptions())
    examples = app.read([Source(str(folder), cost=2.0), written(tmp_path, "(NP (NN c))")])
    assert [examples.word_texts[code] for code in examples.words] == ["a", "b", "c"]
    assert examples.costs.tolist() == [2.0, 2.0, 1.0]
    assert [name.rpartition("/")[2] for name in Parsing.companions(str(folder))] == [
        "a.ptb.gz",
        "b.mrg",
    ]
    (folder / "a.ptb.gz").unlink()
    (folder / "b.mrg").unlink()
    with pytest.raises(DataError, match="a folder without trees; expected files named"):
        app.read([Source(str(folder))])


def test_a_sentence_without_a_parse_gets_a_flat_tree_and_is_counted(tmp_path):
    app, examples = read(tmp_path)
    w = np.ones(app.dimension(examples))
    other = app.read([written(tmp_path, "(? (VBD go) (VBD go) (IN in))\n", "u.ptb")])
    found = app.predict(w, other)
    assert found.parsed.tolist() == [False]
    (line,) = bracketed(app, other, found)
    assert line == "(TOP (S (VP (VBD go))) (S (VP (VBD go))) (IN in))"
    assert not other.labelled
    assert "1 sentence has no tree" in app.warnings(other)
    known = app.read([written(tmp_path, "(S (VP (VBD go) (VBD go)))\n", "u.ptb")])
    assert app.score(known, app.predict(w, known))["no_parse"] == 1


def test_an_unknown_part_of_speech_may_be_any(tmp_path):
    app, examples = read(tmp_path)
    other = app.read([written(tmp_path, "(? (XX the) (NN dog) (VBD saw) (. .))\n", "u.ptb")])
    found = app.predict(np.zeros(app.dimension(examples)), other)
    assert found.parsed.tolist() == [True]
    assert "(XX the)" in bracketed(app, other, found)[0]
    assert any("did not see" in text for text in app.warnings(other))


def test_training_trees_that_the_grammar_does_not_make_are_refused_or_skipped(tmp_path):
    app, examples = read(tmp_path, longest_chain=0)
    assert examples.made.tolist() == [True, False, False, False, False]
    with pytest.raises(DataError, match=r"t.ptb:2: sentence '2' and 3 others have trees that"):
        app.for_training(examples)
    app, examples = read(tmp_path, longest_chain=0, unparsable="skip")
    assert len(app.for_training(examples)) == 1
    assert any("cannot be made by the grammar" in text for text in app.warnings(examples))


def test_long_sentences_are_left_out_of_training_and_of_the_grammar(tmp_path):
    app, examples = read(tmp_path, max_words=2)
    assert app.for_training(examples).lengths.tolist() == [1, 1]
    assert "NP → DT NN" not in list(app.feature_names())
    with pytest.raises(DataError, match="no tree to learn a grammar from"):
        read(tmp_path, "(S (NP (NN a)) (VP (VB b)))", max_words=1)


SOLVERS = ["bundle", "n-slack", "dual-coordinate", "cutting-plane", "proximal"]


@pytest.mark.parametrize("loss", ["f1", "brackets", "zero_one"])
def test_solvers_agree_within_their_gaps(tmp_path, loss):
    bounds = []
    for method in SOLVERS:
        config = Config.from_dict(
            {
                "application": {"name": "parsing", "loss": loss, "horizontal": 0},
                "objective": {"model": "ssvm", "C": 1.0},
                "solver": {"method": method, "epsilon": 1e-3},
            }
        )
        app = config.create_application()
        examples = app.read([written(tmp_path)])
        record = learn_on(app, examples, config).record
        assert record["converged"]
        assert record["certified"]
        bounds.append((record["lower_bound"], record["objective"]))
    lower, upper = (max(each[0] for each in bounds), min(each[1] for each in bounds))
    assert lower <= upper * (1 + 1e-9)
    assert max(each[1] for each in bounds) <= upper * (1 + 3e-3)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_quadratic_slack_is_solved_by_n_slack(tmp_path, rescaling):
    config = Config.from_dict(
        {
            "application": {"name": "parsing", "horizontal": 0},
            "objective": {"model": "ssvm", "slack_norm": 2, "rescaling": rescaling},
        }
    )
    app = config.create_application()
    model = learn_on(app, app.read([written(tmp_path)]), config)
    assert model.record["converged"]
    assert model.record["gap"] <= 1e-3


@pytest.mark.parametrize("loss", ["f1", "brackets", "zero_one"])
def test_solvers_of_sums_and_by_example_agree_within_their_gaps(tmp_path, loss):
    bounds = []
    for method in ("bundle", "proximal", "cutting-plane", "n-slack", "dual-coordinate"):
        config = Config.from_dict(
            {
                "application": {"name": "parsing", "horizontal": 0, "loss": loss},
                "objective": {"model": "ssvm"},
                "solver": {"method": method, "epsilon": 1e-4},
            }
        )
        app = config.create_application()
        record = learn_on(app, app.read([written(tmp_path)]), config).record
        assert record["converged"], method
        value = record["objective"]
        bounds.append((value * (1.0 - 1.001e-4), value))
    assert max(low for low, _ in bounds) <= min(high for _, high in bounds)


@pytest.mark.parametrize("model", ["lssvm", "hcrf"])
def test_hidden_parts_are_trained(tmp_path, model):
    config = Config.from_dict(
        {
            "application": {"name": "latent_parsing", "substates": 2, "horizontal": 0},
            "objective": {"model": model, "C": 1.0},
            "solver": {"method": "bundle", "epsilon": 1e-2},
            "cccp": {"max_iterations": 10},
        }
    )
    app = config.create_application()
    examples = app.read([written(tmp_path)])
    trained = learn_on(app, examples, config)
    found = app.predict(trained.w, examples)
    assert found.approximate == (model == "hcrf")
    assert (app.prediction_values(examples, found) is None) == (model == "hcrf")
    assert "NP/1 → DT NN" in list(app.feature_names())
    with pytest.raises(LssvmError, match="finds the best tree only"):
        app.predict(trained.w, examples, 2)


def test_parts_of_speech_are_predicted_from_words(tmp_path):
    app, examples = read(tmp_path, tags="predicted", min_count=1)
    w = app.completed(np.zeros(app.dimension(examples)), examples).gradient
    scores = app.score(examples, app.predict(w, examples))
    assert scores["tagging_accuracy"] > 90
    with pytest.raises(LssvmError, match="first_tag needs tags: given"):
        Parsing(ParsingOptions(tags="predicted", span_features=["first_tag"]))


def test_words_have_features():
    assert shape("Mid-90s") == "Xx-dx"
    assert features_of("Dogs") == [
        *("always", "word=Dogs", "lower=dogs", "shape=Xx", "suffix=s", "suffix=gs", "suffix=ogs"),
    ]


def test_the_best_few_trees_are_written_in_order(tmp_path):
    app, examples = read(tmp_path)
    w = np.arange(app.dimension(examples)) / 64
    lines = bracketed(app, examples.slice(1, 2), app.predict(w, examples.slice(1, 2), 5))
    scores = [float(line.split()[2]) for line in lines[::2]]
    assert [line.split()[:2] for line in lines[::2]] == [["#", str(k)] for k in range(len(scores))]
    assert len(scores) > 1
    assert scores == sorted(scores, reverse=True)
    assert len(set(lines[1::2])) == len(scores)
    (record,) = app.records(examples.slice(1, 2), app.predict(w, examples.slice(1, 2), 5))
    assert [each["y"] for each in record["trees"]] == lines[1::2]
    json.dumps(record)


def test_losses_of_predictions_are_those_of_training(tmp_path):
    for loss in ("f1", "brackets", "zero_one"):
        app, examples = read(tmp_path, loss=loss)
        w = 5.0 * np.array([name == "NP → NP PP" for name in app.feature_names()])
        found = app.predict(w, examples)
        losses = app.training_losses(examples, found)
        above = app.augmented_each(w, examples)
        assert np.all(above.values >= found.scores + losses - 1e-12)
        assert np.any(losses > 0)


def test_trees_are_drawn_in_text_and_as_pictures():
    text = "(ROOT (S (NP (NN dog)) (VP (VBD <saw>))))"
    assert drawing.text_drawing(text).splitlines() == [
        "ROOT",
        "└── S",
        "    ├── NP",
        "    │   └── NN dog",
        "    └── VP",
        "        └── VBD <saw>",
    ]
    picture = drawing.svg_drawing(text)
    assert picture.count("<line") == 5
    assert "&lt;saw&gt;" in picture
    assert picture.startswith("<svg ")
    assert '<rect width="100%" height="100%" fill="white"/>' in picture


def test_the_tree_of_the_documentation_is_made_by_its_commands(tmp_path):
    root = Path(__file__).parent.parent
    model, test = str(tmp_path / "m"), str(root / "data/parsing/test.ptb")
    for command, words in (
        (learn, [str(root / "configs/parsing.yaml"), model, "-q"]),
        (classify, [test, model, str(tmp_path / "pictures"), "--format", "svg"]),
    ):
        result = CliRunner().invoke(command, words)
        assert result.exit_code == 0, result.output
    made = (tmp_path / "pictures" / "1.svg").read_text("utf-8")
    assert made == (root / "docs/tree.svg").read_text("utf-8")


def test_trees_of_nltk_are_read_and_made(tmp_path):
    nltk = pytest.importorskip("nltk")
    app, examples = read(tmp_path)
    w = app.completed(np.zeros(app.dimension(examples)), examples).gradient
    found = nltk_trees.to_nltk(app, examples, app.predict(w, examples))
    assert found[0][0] == nltk.Tree.fromstring(TREES.splitlines()[0])
    again = nltk_trees.from_nltk(app, map(nltk.Tree.fromstring, TREES.splitlines()))
    assert again.fingerprint() == examples.fingerprint()


def test_a_head_table_says_which_child_is_the_head(tmp_path):
    (tmp_path / "heads.txt").write_text("# heads\nVP left VBD VP\nNP right NN NNP\n* right\n")
    table = read_heads(tmp_path / "heads.txt")
    assert head_of(table, "VP", ["ADVP", "VP", "VBD"]) == 2
    assert head_of(table, "NP", ["NN", "DT", "NN", "PP"]) == 2
    assert head_of(table, "NP", ["DT", "PP"]) == 1
    assert head_of(table, "XX", ["A", "B"]) == 1
    assert head_of({}, "XX", ["A", "B"]) == 0
    for text, wrong in (
        ("VP up\n", "is no line"),
        ("VP left\nVP left\n", "two lines"),
        ("", "no l"),
    ):
        (tmp_path / "heads.txt").write_text(text)
        with pytest.raises(ValueError, match=wrong):
            read_heads(tmp_path / "heads.txt")
    with pytest.raises(LssvmError, match=r"application.heads: missing"):
        Parsing(ParsingOptions(binarisation="head"))


def test_what_no_grammar_can_have_is_refused(tmp_path):
    with pytest.raises(DataError, match="'NN' is the label of a bracket and of a word"):
        read(tmp_path, "(S (NN (NN a)) (VP (VB b)))")
    deep = "(A " * 14 + "(NN a)" + ")" * 14
    with pytest.raises(DataError, match=r"t.ptb:1: the tree: 13 brackets with one child"):
        read(tmp_path, deep)
    with pytest.raises(LssvmError, match="without slack"):
        Parsing(ParsingOptions(), Formulation("ssvm", "margin", 0))
    with pytest.raises(LssvmError, match="model crf has no slack"):
        Parsing(ParsingOptions(), Formulation("crf", "slack", 1))
    app, examples = read(tmp_path, max_mb=1e-3)
    with pytest.raises(DataError, match="its charts take"):
        app.predict(np.zeros(app.dimension(examples)), examples)


CONFIG = """\
application: {name: parsing}
data: {train: t.ptb, test: t.ptb}
objective: {model: ssvm}
"""


@pytest.mark.parametrize("name", MALFORMED)
def test_commands_refuse_a_malformed_file_in_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text(CONFIG)
    text, number, _ = MALFORMED[name]
    (tmp_path / "t.ptb").write_bytes(text if isinstance(text, bytes) else text.encode())
    before = sorted(tmp_path.iterdir())
    for command, arguments in ((learn, ("c.yaml", "m.model")), (main, ("check", "c.yaml"))):
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 2, result.output
        (line,) = result.stderr.splitlines()
        assert line.startswith("error: t.ptb: " if number is None else f"error: t.ptb:{number}: ")
        assert sorted(tmp_path.iterdir()) == before


def test_commands_train_and_write_trees(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text(CONFIG)
    written(tmp_path)
    for command, arguments in (
        (learn, ("c.yaml", "m.model", "-q")),
        (classify, ("c.yaml", "m.model", "trees.ptb")),
        (classify, ("c.yaml", "m.model", "pictures", "--format", "svg")),
        (classify, ("c.yaml", "m.model", "drawn.txt", "--format", "drawing")),
    ):
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 0, result.output
    assert len((tmp_path / "trees.ptb").read_text().splitlines()) == 5
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir())[0] == "1.svg"
    result = CliRunner().invoke(classify, ("trees.ptb", "m.model", "again.ptb"))
    assert result.exit_code == 0, result.output


def test_latent_options_have_their_own_name():
    assert LatentParsing(LatentParsingOptions(substates=3)).parts == 3


def test_a_head_table_is_read_by_the_configuration_and_kept_in_the_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    (tmp_path / "heads.txt").write_text("S right VP\n* left NN\n")
    text = CONFIG.replace("parsing}", "parsing, binarisation: head, heads: heads.txt}")
    (tmp_path / "c.yaml").write_text(text)
    result = CliRunner().invoke(learn, ("c.yaml", "m.model", "-q"))
    assert result.exit_code == 0, result.output
    (tmp_path / "heads.txt").unlink()
    result = CliRunner().invoke(classify, ("t.ptb", "m.model", "trees.ptb"))
    assert result.exit_code == 0, result.output


def test_a_marginal_machine_is_refused_with_the_reason(tmp_path):
    with pytest.raises(ConfigError, match=r"no model 'mssvm': the best tree .* is NP-hard to find"):
        Config.from_dict(
            {"application": {"name": "latent_parsing"}, "objective": {"model": "mssvm"}}
        )


UNUSUAL = {
    "parts of speech alone": "(NN a)\n(VB b)\n",
    "a root of many": "(ROOT (NN a) (VB b) (NN c) (NP (NN d) (NN e)))\n(ROOT (NP (NN a)) (VB b))\n",
    "one tree": "(S (NP (NN a)) (VP (VB b)))\n",
    "labels that repeat in a chain": "(S (S (S (NP (S (NN a))))))\n(S (NN a) (NN b))\n",
}
SETTINGS = [
    ("parsing", "ssvm", {}),
    ("parsing", "ssvm", {"loss": "zero_one", "tags": "predicted", "min_count": 1}),
    ("parsing", "crf", {"span_features": ["length", "first_word"]}),
    ("latent_parsing", "lssvm", {"loss": "brackets"}),
    ("latent_parsing", "hcrf", {"horizontal": None, "vertical": 2}),
]


@pytest.mark.parametrize("name", UNUSUAL)
@pytest.mark.parametrize(("application", "model", "options"), SETTINGS)
def test_unusual_trees_are_learnt(tmp_path, name, application, model, options):
    config = Config.from_dict(
        {
            "application": {"name": application, **options},
            "objective": {"model": model},
            "cccp": {"max_iterations": 3},
        }
    )
    app = config.create_application()
    examples = app.read([written(tmp_path, UNUSUAL[name])])
    trained = learn_on(app, examples, config)
    assert np.isfinite(trained.record["objective"])
    assert np.all(app.predict(trained.w, examples).parsed)
