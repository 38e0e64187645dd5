import bz2
import gzip
import io
import itertools
import json
import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from pydantic import ValidationError
from refusals import told

from experiments.common.ocr_letters import load_letters
from lssvm.applications.base import Formulation, Source
from lssvm.applications.sequence import sequence_metrics, templates
from lssvm.applications.sequence.examples import packed
from lssvm.applications.sequence.sequence import SequenceLabelling, SequenceOptions
from lssvm.applications.sequence.vocabulary import Vocabulary, WeightNames
from lssvm.cli import classify, learn, main
from lssvm.config import Config
from lssvm.errors import DataError, LssvmError, ModelError
from lssvm.formats.conll_columns import read_columns
from lssvm.formats.svm_hmm import read_svm_hmm
from lssvm.offsets import cumulated
from lssvm.simulation import sequences as simulate_sequences
from lssvm.training.session import learn_on

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data"))

CONLL = """\
-DOCSTART- -X- O

Ana NNP B-PER
came VBD O
to TO O
New NNP B-LOC
Rome NNP I-LOC

Rome NNP B-LOC
fell VBD O
"""
HMM = """\
# two sentences
B qid:1 1:0.5 3:-2 # first
C qid:1 2:1e-1
B qid:7 1:1

C qid:7 3:.25
"""
COLUMNS = ("word", "pos", "label")


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Examples of an application from text or bytes."""
    monkeypatch.chdir(tmp_path)

    def _read(app, content, name="x.txt", cost=1.0):
        data = content if isinstance(content, bytes) else content.encode()
        Path(name).write_bytes(data)
        return app.read([Source(name, None, cost)])

    return _read


def conll(**options):
    options = {"columns": COLUMNS, "templates": ("word", "pos[-1]"), **options}
    return SequenceLabelling(SequenceOptions(**options))


def hmm(**options):
    return SequenceLabelling(SequenceOptions(format="svm_hmm", **options))


def names_of(examples):
    """The attributes of every token, by name."""
    rows = examples.inputs
    rows = rows.toarray() if examples.is_sparse else rows
    return [{examples.vocabulary.feature(j) for j in np.flatnonzero(row)} for row in rows]


def test_columns_become_attributes(read):
    examples = read(conll(), CONLL)
    assert examples.offsets.tolist() == [0, 5, 7]
    assert examples.vocabulary.labels == ("B-PER", "O", "B-LOC", "I-LOC")
    assert examples.labels.tolist() == [0, 1, 1, 2, 3, 2, 1]
    assert names_of(examples) == [
        {"word[0]=Ana", "pos[-1]=<-1>"},
        {"word[0]=came", "pos[-1]=NNP"},
        {"word[0]=to", "pos[-1]=VBD"},
        {"word[0]=New", "pos[-1]=TO"},
        {"word[0]=Rome", "pos[-1]=NNP"},
        {"word[0]=Rome", "pos[-1]=<-1>"},
        {"word[0]=fell", "pos[-1]=NNP"},
    ]
    assert examples.lines.tolist() == [3, 9]
    assert examples.names == ["1", "2"]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.rstrip("\n").encode(),
        lambda text: text.replace(" ", "\t").encode(),
        lambda text: text.replace("\n\n", "\n \n\n\n").encode(),
        lambda text: gzip.compress(text.encode()),
        lambda text: bz2.compress(text.encode()),
        lambda text: lzma.compress(text.encode()),
        lambda text: text.replace("-DOCSTART- -X- O\n\n", "").encode(),
        lambda text: text.replace("\n\nRome", "\n-DOCSTART-\nRome").encode(),
    ],
    ids=["crlf", "bom", "no final newline", "tabs", "blanks", "gz", "bz2", "xz", "one", "torn"],
)
def test_the_same_sentences_however_they_are_stored(read, change):
    expected, examples = read(conll(), CONLL), read(conll(), change(CONLL), "y.txt")
    assert examples.fingerprint() == expected.fingerprint()


def test_other_spaces_than_blanks_and_tabs_are_part_of_a_token(read):
    text = "10\u00a0000  CD O \n x\u2028y\x0bz NN   X\n"
    examples = read(conll(), text)
    tabs = text.replace(" CD O ", "\t CD\tO").replace(" NN   X", "\tNN \t X")
    assert read(conll(), tabs, "y.txt").fingerprint() == examples.fingerprint()
    assert examples.vocabulary.labels == ("O", "X")
    assert names_of(examples)[0] == {"word[0]=10\u00a0000", "pos[-1]=<-1>"}
    assert names_of(examples)[1] == {"word[0]=x\u2028y\x0bz", "pos[-1]=CD"}


@pytest.mark.parametrize(("rescaling", "top"), [("slack", 1), ("margin", 1000)])
def test_sequences_that_are_too_long_to_search_are_refused(rescaling, top):
    vocabulary = Vocabulary(tuple("abcd"), 1)
    count = 20_000 if top == 1 else 200_000
    examples = packed(np.zeros((count, 1)), ["a"] * count, [0, count], vocabulary)
    app = SequenceLabelling(SequenceOptions(), Formulation("ssvm", rescaling))
    w = np.zeros(app.dimension(examples))
    with pytest.raises(DataError, match=rf"memory:1: sequence '1' has {count:,d} tokens: a search"):
        app.augmented(w, examples) if top == 1 else app.predict(w, examples, top)


def test_standard_input_is_read(monkeypatch):
    for app, text in ((conll(), CONLL), (hmm(), HMM)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert len(app.read([Source("-")])) == 2


def test_numeric_tokens_are_those_of_the_file(read):
    examples = read(hmm(bias=2.0), HMM)
    np.testing.assert_array_equal(
        examples.dense, [[0.5, 0, -2, 2], [0, 0.1, 0, 2], [1, 0, 0, 2], [0, 0, 0.25, 2]]
    )
    assert examples.offsets.tolist() == [0, 2, 4]
    assert examples.vocabulary == Vocabulary(("B", "C"), 4, None, True)
    assert examples.labels.tolist() == [0, 1, 0, 1]
    assert examples.names == ["1", "7"]
    assert examples.lines.tolist() == [2, 4]


def test_rare_features_are_dropped(read):
    examples = read(hmm(min_count=2), HMM)
    rows = examples.inputs if not examples.is_sparse else examples.inputs.toarray()
    np.testing.assert_array_equal(rows, [[0.5, 0, -2], [0, 0, 0], [1, 0, 0], [0, 0, 0.25]])
    examples = read(conll(min_count=2), CONLL)
    assert set.union(*names_of(examples)) == {"word[0]=Rome", "pos[-1]=NNP", "pos[-1]=<-1>"}
    assert examples.width == 3


def test_rows_are_dense_where_a_quarter_is_there(read):
    assert not read(hmm(), "A qid:1 1:1\nA qid:1 4:1\n").is_sparse
    assert read(hmm(), "A qid:1 1:1\nA qid:1 5:1\n").is_sparse


def test_what_training_did_not_see_is_told(read):
    app = conll()
    read(app, CONLL)
    test = read(app, "Bea NNP B-PER\nfell VBD B-ORG\n\nRome NNP B-LOC\n", "test.txt")
    assert names_of(test) == [
        {"pos[-1]=<-1>"},
        {"word[0]=fell", "pos[-1]=NNP"},
        {"word[0]=Rome", "pos[-1]=<-1>"},
    ]
    assert test.labels.tolist() == [0, -1, 2]
    assert test.labelled
    assert app.warnings(test) == [
        "1 token has a label that training did not see ('B-ORG'): an error in scores"
    ]
    predictions = app.predict(np.zeros(app.dimension(test)), test)
    scores = app.score(test, predictions)
    assert scores["error"] == pytest.approx(200 / 3)
    assert (scores["sequence_error"], scores["loss"], scores["unseen_labels"]) == (100, 1.0, 1)
    with pytest.raises(DataError, match=r"test\.txt:1: sequence '1' has a token without a label"):
        app.start(test, np.random.default_rng(0))
    app = hmm()
    read(app, HMM)
    test = read(app, "B qid:1 2:1 9:4\n", "test.txt")
    assert test.width == 3


def test_files_may_be_without_labels(read):
    app = conll()
    read(app, CONLL)
    test = read(app, "Ana NNP\nfell VBD\n", "test.txt")
    assert not test.labelled
    assert test.labels.tolist() == [-1, -1]
    app = hmm()
    read(app, HMM)
    assert not read(app, "? qid:1 2:1\nB qid:1\n", "test.txt").labelled


def test_the_label_may_stand_in_any_column(read):
    app = conll(columns=("label", "word"), label="label", templates=("word",))
    examples = read(app, "X a\nY b\n")
    assert examples.vocabulary.labels == ("X", "Y")
    assert names_of(examples) == [{"word[0]=a"}, {"word[0]=b"}]


def test_files_have_costs_and_keep_their_order(tmp_path):
    (tmp_path / "a").write_text(CONLL)
    (tmp_path / "b").write_text("x X B-PER\n")
    app = conll()
    sources = [Source(str(tmp_path / "a"), None, 0.5), Source(str(tmp_path / "b"), None, 2.0)]
    examples = app.read(sources)
    assert examples.costs.tolist() == [0.5, 0.5, 2.0]
    assert examples.offsets.tolist() == [0, 5, 7, 8]
    assert str(examples.error(2, "wrong")) == f"{tmp_path / 'b'}:1: sequence '1' wrong"


TEXTS = ["Ley-25", "USA", "a", "¿", "3,5", "Álava", "2002"]
VALUES = {
    "word": TEXTS,
    "word[0]": TEXTS,
    "word[-1]": ["<-1>", *TEXTS[:-1]],
    "word[2]": [*TEXTS[2:], "<+1>", "<+2>"],
    "lower(word)": ["ley-25", "usa", "a", "¿", "3,5", "álava", "2002"],
    "prefix(word, 2)": ["Le", "US", None, None, "3,", "Ál", "20"],
    "suffix( word[ 0 ] , 3 )": ["-25", "USA", None, None, "3,5", "ava", "002"],
    "shape(word)": ["Xxx-00", "XXX", "x", "¿", "0,0", "Xxxxx", "0000"],
    "brief_shape(word)": ["Xx-0", "X", "x", "¿", "0,0", "Xx", "0"],
    "capitalised(word)": ["1", "1", None, None, None, "1", None],
    "uppercase(word)": [None, "1", None, None, None, None, None],
    "has_digit(word)": ["1", None, None, None, "1", None, "1"],
    "number(word)": [None, None, None, None, "1", None, "1"],
    "has_hyphen(word)": ["1", None, None, None, None, None, None],
    "punctuation(word)": [None, None, None, "1", None, None, None],
    "word[-1] & lower(word)": [
        f"{before}|{text.lower()}" for before, text in zip(["<-1>", *TEXTS], TEXTS, strict=False)
    ],
    "uppercase(word[1]) & prefix(word, 1)": ["1|L", None, None, None, None, None, "<+1>|2"],
}


@pytest.mark.parametrize("text", sorted(VALUES))
def test_templates_give_the_values_shown(text):
    tokens = templates.Tokens({"word": TEXTS}, np.array([0, len(TEXTS)]))
    template = templates.parse(text, ["word"])
    names, codes = tokens.attributes(template)
    title = "&".join(map(str, template))
    found = [names[c].removeprefix(f"{title}=") if c >= 0 else None for c in codes]
    assert found == VALUES[text]
    assert list(dict.fromkeys(names)) == names
    assert [c for c, _ in itertools.groupby(sorted(codes[codes >= 0]))] == list(range(len(names)))


def test_borders_are_those_of_the_sentence():
    tokens = templates.Tokens({"word": list("abcd")}, np.array([0, 1, 4]))
    names, codes = tokens.attributes(templates.parse("word[-2]", ["word"]))
    values = [names[c].partition("=")[2] for c in codes]
    assert values == ["<-2>", "<-2>", "<-1>", "b"]
    names, codes = tokens.attributes(templates.parse("word[2]", ["word"]))
    assert [names[c].partition("=")[2] for c in codes] == ["<+2>", "d", "<+1>", "<+2>"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a term; expected one such as word[-1] or lower(word)"),
        ("word &", "'' is not a term; expected one such as word[-1] or lower(word)"),
        ("word[x]", "'word[x]' is not a term; expected one such as word[-1] or lower(word)"),
        ("lower(word", "'lower(word' is not a term; expected one such as word[-1] or lower(word)"),
        ("word)", "'word)' is not a term; expected one such as word[-1] or lower(word)"),
        ("%x[0,0]", "'%x[0,0]' is not a term; expected one such as word[-1] or lower(word)"),
        ("wrod", "there is no column 'wrod'; did you mean 'word'? (known: word, pos)"),
        ("label", "there is no column 'label' (known: word, pos)"),
        ("word[21]", "'word[21]' reaches too far; expected offsets up to 20 and lengths from 1 to"),
        ("prefix(word, 0)", "'prefix(word, 0)' reaches too far; expected offsets up to 20"),
        ("prefix(word)", "'prefix(word)': a length belongs to prefix and suffix; expected suffix("),
        ("lower(word, 2)", "'lower(word, 2)': a length belongs to prefix and suffix; expected low"),
        (
            "lowr(word)",
            "there is no function 'lowr'; did you mean 'lower'? (known: prefix, suffix, lower",
        ),
        ("word[0] & word", None),
    ],
)
def test_templates_that_make_no_sense_are_refused(text, message):
    if message is None:
        templates.parse(text, ["word", "pos"])
        return
    with pytest.raises(ValidationError) as caught:
        SequenceOptions(columns=COLUMNS, templates=(text,))
    assert f"templates: {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ("a", "a")}, "two columns have the same name; expected different names"),
        (
            {"columns": ("word",)},
            "columns: 'word' is the only one, and has the labels; expected one for the templates",
        ),
        ({"label": "tag"}, "label: there is no column 'tag' (known: word, label)"),
        ({"templates": ("word", "word[0]")}, "templates: 'word[0]' is given twice"),
        ({"class_costs": {"O": -1.0}}, "greater than or equal to 0"),
        ({"order": 3}, "Input should be 1 or 2"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValidationError) as caught:
        SequenceOptions(**options)
    assert message in str(caught.value)


def test_costs_of_labels_that_there_are_not_are_refused(read):
    with pytest.raises(LssvmError, match="class_costs: no token has the label 'B-PRE'"):
        read(conll(class_costs={"B-PRE": 2.0}), CONLL)


HMM_FILES = {
    "empty": (b"", "no tokens; expected 'TAG qid:EX index:value …'"),
    "comments": (b"# a\n\n", "no tokens; expected 'TAG qid:EX index:value …'"),
    "not UTF-8": (b"A qid:1\n\xff qid:1\n", "byte 0xff is not UTF-8; expected text"),
    "cut gzip": (gzip.compress(HMM.encode() * 9)[:40], "the gzip stream is cut short or damaged"),
    "no qid": (b"A 1:1\n", "'1:1' follows the tag; expected qid:EX, the name of the sequence"),
    "tag only": (b"A\n", "nothing follows the tag; expected qid:EX, the name of the sequence"),
    "no tag": (b"qid:1 1:1\n", "'qid:1' is in the place of the tag; expected 'TAG qid:EX …'"),
    "feature first": (b"1:1 qid:1\n", "'1:1' is in the place of the tag; expected 'TAG qid"),
    "empty qid": (b"A qid: 1:1\n", "'qid:' names no sequence; expected qid:EX"),
    "torn": (
        b"A qid:1\nA qid:2\nA qid:1\n",
        "sequence '1' continues after other sequences; expected its",
    ),
    "no colon": (b"A qid:1 7\n", "'7' is not a feature; expected index:value"),
    "index of words": (b"A qid:1 x:1\n", "'x:1' is not a feature; expected index:value"),
    "index 0": (b"A qid:1 0:1\n", "index '0' is out of range; expected 1 to 2,147,483,647"),
    "negative index": (b"A qid:1 -1:1\n", "'-1:1' is not a feature; expected index:value"),
    "large index": (b"A qid:1 9999999999:1\n", "index '9999999999' is out of range; expected"),
    "index too many": (b"A qid:1 20000000:1\n", "feature 20,000,000 is too many; expected at"),
    "twice": (b"A qid:1 2:1 2:1\n", "index 2 follows 2; expected increasing indices"),
    "falling": (b"A qid:1 3:1 2:1\n", "index 2 follows 3; expected increasing indices"),
    "value of words": (b"A qid:1 1:x\n", "value of feature 1 'x' is not a number; expected one"),
    "no value": (b"A qid:1 1:\n", "value of feature 1 '' is not a number; expected one such as"),
    "nan": (b"A qid:1 1:nan\n", "value of feature 1 'nan' is not finite; expected a finite number"),
    "inf": (
        b"A qid:1 1:-inf\n",
        "value of feature 1 '-inf' is not finite; expected a finite number",
    ),
    "underscore": (b"A qid:1 1:1_0\n", "value of feature 1 '1_0' is not a number; expected one"),
    "overflow": (b"A qid:1 1:1e999\n", "value of feature 1 '1e999' is too large; expected a"),
    "no labels": (b"? qid:1 1:1\n", "no token has a label; expected labels for training"),
}
CONLL_FILES = {
    "empty": (b"", "no tokens; expected lines of word, pos, label"),
    "blank lines": (b"\n \n\t\n", "no tokens; expected lines of word, pos, label"),
    "documents only": (b"-DOCSTART- -X- O\n\n", "no tokens; expected lines of word, pos, label"),
    "not UTF-8": (b"a b c\n\xe9 b c\n", "byte 0xe9 is not UTF-8; expected text"),
    "binary": (bytes(range(128, 256)), "byte 0x80 is not UTF-8; expected text"),
    "cut xz": (
        b"\xfd7zXZ\x00\x00\x04",
        "the xz stream is cut short or damaged; expected a complete",
    ),
    "cut bzip2": (bz2.compress(CONLL.encode() * 9)[:30], "the bzip2 stream is cut short or dam"),
    "one column": (b"a\n", "1 column; expected 2 or 3: word, pos, label"),
    "four columns": (b"a b c d\n", "4 columns; expected 2 or 3: word, pos, label"),
    "a column less": (b"a b c\na b\n", "2 columns; expected 3 as on the lines before"),
    "a column more": (b"a b c\n\na b c d\n", "4 columns; expected 3 as on the lines before"),
    "a label late": (b"a b\na b c\n", "3 columns; expected 2 as on the lines before"),
    "a row of one column among tabs": (b"a\tb\tc\na b c\n", "no tab; expected columns with tabs"),
    "a tab among blanks": (b"a b c\na\tb c\n", "a tab; expected columns with blanks between them"),
    "an empty column": (b"a\tb\tc\na\t\tc\n", "column 2 (pos) is empty; expected a value"),
    "an empty label": (b"a\tb\t\n", "column 3 (label) is empty; expected a value"),
    "a blank in a column": (b"New York\tB\n\na\n", "no tab; expected columns with tabs between"),
    "two of three with tabs": (b"New York\n", "no token has a label; expected labels"),
    "four with tabs": (b"a\tb c\td\te\n", "4 columns, with tabs between them; expected 2 or 3"),
    "no labels": (
        b"\na b\n",
        "no token has a label; expected labels for training (line 2 has 2 columns: word, pos)",
    ),
    "unknown labels": (b"a b ?\n", "no token has a label; expected labels for training"),
}


@pytest.mark.parametrize("kind", sorted(HMM_FILES))
def test_broken_files_of_svm_hmm_are_refused_by_their_line(read, kind):
    content, message = HMM_FILES[kind]
    _refused(read, hmm(), content, message)


@pytest.mark.parametrize("kind", sorted(CONLL_FILES))
def test_broken_column_files_are_refused_by_their_line(read, kind):
    content, message = CONLL_FILES[kind]
    _refused(read, conll(), content, message)


def _refused(read, app, content, message):
    place, _, text = told(read, app, content).partition(": ")
    assert text.startswith(message)
    about_file = ("no token", "the ", "feature 20")
    number = content.rstrip(b"\n").count(b"\n") + 1
    assert place == ("x.txt" if message.startswith(about_file) else f"x.txt:{number}")


@pytest.mark.parametrize("app", [conll(), hmm()], ids=["conll", "svm_hmm"])
def test_other_faults_of_a_source_are_refused(app, tmp_path):
    with pytest.raises(DataError, match="label 'X' has no meaning for sequences"):
        app.read([Source("x", "X")])
    with pytest.raises(DataError, match="absent: cannot be read: No such file"):
        app.read([Source("absent")])
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        app.read([Source(str(tmp_path))])


def test_readers_can_be_used_alone(tmp_path):
    path = tmp_path / "x"
    path.write_text(CONLL)
    file = read_columns(path, COLUMNS)
    assert file.values[0] == ("Ana", "came", "to", "New", "Rome", "Rome", "fell")
    assert file.rows[4] == "Rome NNP I-LOC"
    path.write_text(HMM)
    tokens = read_svm_hmm(path)
    assert tokens.tags == ("B", "C", "B", "C")
    assert tokens.dimension == 3


def test_slices_and_chosen_sequences_are_as_if_read_alone(read):
    app = conll()
    for content, app in ((CONLL * 3, conll()), (HMM.replace("qid:7", "qid:2"), hmm(bias=1.0))):
        examples = read(app, content)
        order = np.arange(len(examples))[::-1]
        taken = examples.take(order)
        for place, row in enumerate(order):
            parts = examples.slice(row, row + 1), taken.slice(place, place + 1)
            parts += (examples.take([row]),)
            assert len({part.fingerprint() for part in parts}) == 1
            assert len({tuple(part.tags) for part in parts}) == 1
            assert {part.names[0] for part in parts} == {examples.names[row]}
        assert examples.sizes.tolist() == taken.sizes[::-1].tolist()
        changed = examples.with_inputs(2 * examples.inputs)
        assert changed.fingerprint() != examples.fingerprint()
        with pytest.raises(LssvmError, match="1 row for"):
            examples.with_inputs(np.ones((1, 2)))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("ends", [False, True])
def test_every_weight_has_a_name(order, ends):
    vocabulary = Vocabulary(("A", "B"), 3, ("x", "y"), bias=True)
    lazy = WeightNames(vocabulary, order, ends)
    names = list(lazy)
    for part in (slice(None), slice(0), slice(3), slice(8), slice(2, 9), slice(None, None, 3)):
        assert lazy[part] == names[part]
    assert len(names) == len(set(names))
    expected = ["x : A", "x : B", "y : A", "y : B", "bias : A", "bias : B"]
    expected += ["A -> A", "A -> B", "B -> A", "B -> B"]
    if order == 2:
        expected += [f"{a} -> {b} -> {c}" for a in "AB" for b in "AB" for c in "AB"]
    expected += ["begin -> A", "begin -> B", "A -> end", "B -> end"] * ends
    assert names == expected
    rows = np.zeros((1, 3))
    app = SequenceLabelling(SequenceOptions(order=order, ends=ends))
    assert app.dimension(packed(rows, ["A"], [0, 1], vocabulary)) == len(names)


def test_small_costs_need_slack(read):
    app = SequenceLabelling(
        SequenceOptions(format="svm_hmm", class_costs={"B": 0.5}), Formulation("ssvm", "margin", 0)
    )
    with pytest.raises(LssvmError, match="every loss must be 0 or at least 1"):
        read(app, HMM)


def test_the_vocabulary_is_kept_with_the_model(read):
    for app, other, content in ((conll(), conll(), CONLL), (hmm(bias=1.0), hmm(), HMM)):
        read(app, content)
        other.restore(app.state())
        assert other.vocabulary == app.vocabulary
        with pytest.raises(ModelError, match="'width' is missing"):
            other.restore({name: value for name, value in app.state().items() if name != "width"})
        with pytest.raises(ModelError, match="'odd' is not known"):
            other.restore({**app.state(), "odd": np.zeros(1)})


def entities(text):
    return [sentence.split() for sentence in text.split(" / ")]


@pytest.mark.parametrize(
    ("truth", "found", "f1", "strict"),
    [
        ("B-X I-X O / B-Y", "B-X I-X O / B-Y", 100, 100),
        ("B-X I-X O / B-Y", "B-X O O / B-Y", 50, 50),
        ("B-X I-X O / B-Y", "I-X I-X O / B-Y", 100, 200 / 3),  # the lenient mode takes I for B
        ("I-X I-X O / I-Y", "I-X I-X O / I-Y", 100, 100),  # IOB1
        ("I-X B-X O", "I-X B-X O", 100, 100),
        ("B-X E-X S-Y O", "B-X E-X O O", 200 / 3, 200 / 3),
        ("O O", "O B-X", 0, 0),
        ("B-X L-X O U-Y", "B-X L-X O U-Y", 100, 100),  # BILOU
        ("B-X I-X L-X U-Y O", "B-X I-X L-X O U-Y", 50, 50),
        ("B-X L-X O U-Y", "B-X I-X O U-Y", 100, 200 / 3),
        ("B-X M-X E-X S-Y", "B-X E-X S-X S-Y", 40, 40),  # BMES: 1 of 2 and of 3
        ("B M E S B E", "B E S S B E", 400 / 7, 400 / 7),  # 2 of 3 and of 4
        ("B I O B", "B I O B", 100, 100),
        ("B I O B", "B O O B", 50, 50),
        ("I O I I", "I O I O", 50, 50),
        ("B I I", "I I I", 100, 0),
        ("I-X E-X O E-X", "I-X E-X O O", 200 / 3, 200 / 3),  # IOE2
    ],
)
def test_entities_are_scored_as_conlleval_counts_them(truth, found, f1, strict):
    scores = entity_scores(entities(truth), entities(found))
    assert scores["f1"] == pytest.approx(f1)
    assert scores["f1_strict"] == pytest.approx(strict)


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        ("B-X I-X O", "IOB2"),
        ("O I-X", "IOB1"),
        ("B-X I-Y", "IOB1"),
        ("I-X B-X", "IOB1"),
        ("S-X O", "IOBES"),
        ("B-X B-X", "IOB2"),
        ("B-X U-Y L-X", "IOBES"),
        ("B-X M-X", "IOBES"),
        ("B I O", "IOB2"),
        ("I I O I", "IOB1"),
        ("I-X E-X O E-Y", "IOE2"),
        ("I-X O E-X I-X E-X", "IOE1"),
    ],
)
def test_the_scheme_is_seen_from_the_labels(labels, scheme):
    offsets, (numbers,), names = packed_labels(entities(labels))
    counts = sequence_metrics.entity_counts(names, numbers, numbers, offsets)
    assert sequence_metrics.scheme_of(counts) == scheme


SCHEMES = {  # entities of one, two and three tokens
    "IOB2": ("B", "BI", "BII"),
    "IOBES": ("S", "BE", "BIE"),
    "BILOU": ("U", "BL", "BIL"),
    "BMES": ("S", "BE", "BME"),
    "IOE2": ("E", "IE", "IIE"),
}


def random_pieces(rng):
    """30 sentences of (length, type) each, entities of types X and Y among single words, O."""
    return [
        [
            (1, "O") if rng.random() < 0.4 else (int(rng.integers(1, 4)), "XY"[rng.integers(2)])
            for _ in range(6)
        ]
        for _ in range(30)
    ]


def changed(rng, sentence):
    """The sentence with some entities of another type or none."""
    return [
        (length, "XYO"[rng.integers(3)] if rng.random() < 0.5 else kind)
        for length, kind in sentence
    ]


def encoded(sentence, scheme, typed):
    labels = []
    for length, kind in sentence:
        prefixes = "O" * length if kind == "O" else SCHEMES[scheme][length - 1]
        labels += [p if p == "O" or not typed else f"{p}-{kind}" for p in prefixes]
    return labels


@pytest.mark.parametrize(
    ("scheme", "typed"),
    [(name, typed) for name in SCHEMES for typed in (True, False) if typed or name != "IOE2"],
)
def test_the_same_entities_have_the_same_scores_in_every_scheme(scheme, typed):
    rng = np.random.default_rng(0)
    truth = random_pieces(rng)
    found = [changed(rng, sentence) for sentence in truth]
    pairs = [
        {(i, k, part) for i, row in enumerate(rows) for k, part in enumerate(row) if part[1] != "O"}
        for rows in (truth, found)
    ]
    if not typed:
        pairs = [{(i, k, part[0]) for i, k, part in side} for side in pairs]
    f1 = 200 * len(pairs[0] & pairs[1]) / (len(pairs[0]) + len(pairs[1]))
    rows = [[encoded(sentence, scheme, typed) for sentence in side] for side in (truth, found)]
    scores = entity_scores(*rows)
    assert scores["f1"] == pytest.approx(f1)
    assert scores["f1_strict"] == pytest.approx(f1)


FAMILIES = {  # prefixes, and the strict schemes that seqeval has for them
    "BI": ("IOB1", "IOB2"),
    "IE": ("IOE2", None),
    "BIES": ("IOBES",),
    "BILU": ("BILOU",),
    "BMES": ("IOBES",),
}


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_scores_of_random_labels_are_those_of_seqeval(family, typed):
    metrics = pytest.importorskip("seqeval.metrics")
    scheme = pytest.importorskip("seqeval.scheme")
    rng = np.random.default_rng(list(family.encode()))
    names = ["O", *(f"{p}-{t}" if typed else p for p in family for t in ("X", "Y", "X-Z"))]
    seen = set()
    for count in (1, 2, 3, 5, 9) * 40:
        truth, found = ([random_labels(rng, names) for _ in range(count)] for _ in range(2))
        found = [row[: len(own)] + own[len(row) :] for row, own in zip(found, truth, strict=True)]
        scores = entity_scores(truth, found)
        if scores["f1"] is None:  # by chance none but O, or bare labels of no scheme
            continue
        rows = [[[spelt(label) for label in row] for row in part] for part in (truth, found)]
        lenient = (metrics.precision_score, metrics.recall_score, metrics.f1_score)
        expected = [100 * count(*rows, zero_division=0) for count in lenient]
        assert [scores[name] for name in ("precision", "recall", "f1")] == expected
        offsets, numbers, used = packed_labels(truth, found)
        own = sequence_metrics.scheme_of(sequence_metrics.entity_counts(used, *numbers, offsets))
        seen.add(own)
        if own == "IOE1":
            assert scores["f1_strict"] is None
            continue
        if family == "BILU" and own == "IOBES":
            rows, own = (truth, found), "BILOU"
        strict = {"mode": "strict", "scheme": getattr(scheme, own), "zero_division": 0}
        assert scores["f1_strict"] == 100 * metrics.f1_score(*rows, **strict)
    assert seen >= {"IOBES" if name == "BILOU" else name or "IOE1" for name in FAMILIES[family]}


def random_labels(rng, names):
    """A few labels, mostly like the one before them, some sequences ending anew after one token."""
    row = [names[rng.integers(len(names))]]
    while rng.random() < 0.8:
        kept = [name for name in names if name[1:] == row[-1][1:]]
        row.append(str(rng.choice(kept if rng.random() < 0.7 else names)))
    return row


def spelt(label):
    """As IOBES spells it."""
    return {"L": "E", "U": "S", "M": "I"}.get(label[0], label[0]) + label[1:]


def packed_labels(*parts):
    """Offsets of sequences, the labels of each part by number, and the names of the numbers."""
    counts = [len(row) for row in parts[0]]
    names = sorted({label for part in parts for row in part for label in row})
    numbers = [np.array([names.index(x) for row in part for x in row], dtype=int) for part in parts]
    return cumulated(counts), numbers, names


def entity_scores(truth, found):
    """The scores, which are the same however few tokens are counted at a time."""
    offsets, numbers, names = packed_labels(truth, found)
    counts = sequence_metrics.entity_counts(names, *numbers, offsets)
    scores = sequence_metrics.entity_scores(counts)
    with pytest.MonkeyPatch.context() as patch:
        for tokens in (1, 7):
            patch.setattr(sequence_metrics, "_AT_ONCE", tokens)
            counts = sequence_metrics.entity_counts(names, *numbers, offsets)
            assert sequence_metrics.entity_scores(counts) == scores
    return scores


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        ("B-PER I-PER O X", "X"),
        ("B-PER I-PER O B", "B"),
        ("B I O X", "X"),
        ("B-X M-X E-X S-X L-X", "L-X"),
        ("B-X I-X O", None),
        ("B-X I-X U-X O", None),
        ("NN VB S-ADV", None),
        ("A B I O Z", None),
        ("O", None),
    ],
)
def test_the_label_that_keeps_entities_from_being_scored_is_named(read, labels, label):
    assert sequence_metrics.misfit(labels.split()) == label
    app = conll(columns=("word", "label"), templates=("word",))
    text = "".join(f"a {name}\n" for name in labels.split())
    told = [text for text in app.warnings(read(app, text)) if "entities" in text]
    assert told == (
        [
            f"entities are not scored: label {label!r} does not fit a scheme of the other labels; "
            "expected O and B-…, I-… (or IOE, IOBES, BILOU, BMES)"
        ]
        if label
        else []
    )


def test_classify_says_which_label_keeps_entities_from_being_scored(folder):
    Path("train.conll").write_text(CONLL.replace("fell VBD O", "fell VBD X"))
    run(learn, "c.yaml", "model", "-q")
    result = run(classify, "train.conll", "model", "out")
    assert result.stderr.startswith("warning: entities are not scored: label 'X' does not fit")
    assert result.stderr.count("\n") == 1
    assert "f1             n/a\n" in result.stdout
    Path("bare.conll").write_text("Ana\tNNP\n")
    assert "entities" not in run(classify, "bare.conll", "model", "out").stderr


@pytest.mark.parametrize("labels", ["a b", "O O", "B-X PER", "B-", "NN", "1 2", "B S", "N E S W"])
def test_labels_that_are_not_of_entities_have_no_f1(labels):
    scores = entity_scores(entities(labels), entities(labels))
    assert scores == dict.fromkeys(("precision", "recall", "f1", "f1_strict"))


def test_losses_are_those_of_the_option(read):
    for options, expected in (
        ({}, 1.5),
        ({"class_costs": {"O": 0.25}}, 0.375),
        ({"loss": "zero_one"}, 1.0),
    ):
        app = conll(**options)
        examples = read(app, "a X O\nb X P\nc X O\n\na X O\n")
        predictions = app.predict(np.zeros(app.dimension(examples)), examples)
        predictions.labels[:, 0] = [1, 1, 1, 1]
        assert app.score(examples, predictions)["loss"] == expected


CONFIG = """\
application: {name: sequence, columns: [word, pos, label], templates: [word, pos]}
data: {train: train.conll, test: test.conll}
objective: {model: ssvm, C: 10}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(CONFIG)
    Path("train.conll").write_text(CONLL)
    Path("test.conll").write_text("Ana NNP B-PER\nfell VBD O\n\nRome NNP B-LOC\n")
    return tmp_path


def run(command, *arguments):
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    return result


def test_predictions_are_the_input_with_a_column_more(folder):
    run(learn, "c.yaml", "model", "-q")
    run(classify, "test.conll", "model", "out", "--metrics", "metrics.json")
    assert Path("out").read_text() == (
        "Ana NNP B-PER B-PER\nfell VBD O O\n\nRome NNP B-LOC B-LOC\n\n"
    )
    metrics = json.loads(Path("metrics.json").read_text())
    assert (metrics["error"], metrics["sequences"], metrics["tokens"]) == (0, 2, 3)
    run(classify, "test.conll", "model", "out", "--format", "tags", "-q")
    assert Path("out").read_text() == "B-PER\nO\nB-LOC\n"
    Path("bare.conll").write_text("Ana\tNNP\n")
    result = run(classify, "bare.conll", "model", "out")
    assert Path("out").read_text() == "Ana\tNNP\tB-PER\n\n"
    assert result.stderr == "1 example without labels: nothing to score\n"


TOWNS = "in\tIN\tO\nNew York\tNNP NNP\tB town\n\nNew York\tNNP NNP\tB town\n"


def test_blanks_are_part_of_values_where_tabs_separate(folder):
    Path("train.conll").write_text("\t \t\n" + TOWNS)
    run(learn, "c.yaml", "model", "-q")
    app = conll(templates=("word", "pos[-1]"))
    examples = app.read([Source("train.conll")])
    assert examples.vocabulary.labels == ("O", "B town")
    assert names_of(examples)[1] == {"word[0]=New York", "pos[-1]=IN"}
    assert examples.lines.tolist() == [2, 5]
    run(classify, "train.conll", "model", "out", "--metrics", "metrics.json")
    rows = [line.split("\t") for line in TOWNS.splitlines() if line]
    found = [line.split("\t") for line in Path("out").read_text().splitlines() if line]
    assert found == [[*row, row[2]] for row in rows]
    assert json.loads(Path("metrics.json").read_text())["error"] == 0


def test_labels_with_blanks_are_not_written_beside_columns_with_blanks(folder):
    Path("train.conll").write_text(TOWNS)
    run(learn, "c.yaml", "model", "-q")
    Path("out").write_text("as it was")
    result = CliRunner().invoke(classify, ["test.conll", "model", "out"])
    assert result.exit_code == 2
    assert result.stderr == (
        "error: test.conll:1: sequence '1' has columns separated by blanks, and label "
        "'B town' of the model contains a blank; expected tabs, or --format tags\n"
    )
    assert Path("out").read_text() == "as it was"
    run(classify, "test.conll", "model", "out", "--format", "tags", "-q")
    assert len(Path("out").read_text().splitlines()) == 3


def test_several_paths_are_written_best_first(folder):
    run(learn, "c.yaml", "model", "-q")
    run(classify, "test.conll", "model", "out", "--top", "2", "-q")
    lines = Path("out").read_text().splitlines()
    heads = [line.split() for line in lines if line.startswith("#")]
    assert [head[1] for head in heads] == ["0", "1", "0", "1"]
    assert float(heads[0][2]) >= float(heads[1][2])
    assert len(lines) == 4 + 2 * 3 + 4
    run(classify, "test.conll", "model", "out", "--top", "5", "--json", "-q")
    first, second = map(json.loads, Path("out").read_text().splitlines())
    assert first["gold"] == first["y"] == ["B-PER", "O"]
    assert first["loss"] == 0
    assert len(first["paths"]) == 5
    assert len(second["paths"]) == 4  # one token, four labels
    scores = [path["score"] for path in first["paths"]]
    assert scores == sorted(scores, reverse=True)
    assert first["paths"][0] == {"y": first["y"], "score": first["score"]}


def test_a_crf_writes_the_probabilities_of_labels(folder):
    run(learn, "c.yaml", "model", "-q", "--set", "objective.model=crf")
    run(classify, "test.conll", "model", "out", "--format", "marginals", "-q")
    lines = Path("out").read_text().splitlines()
    assert lines[2] == lines[4] == ""
    row = lines[0].split()
    assert row[:4] == ["Ana", "NNP", "B-PER", "B-PER"]
    shares = dict(pair.split(":") for pair in row[4:])
    assert list(shares) == ["B-PER", "O", "B-LOC", "I-LOC"]
    assert sum(map(float, shares.values())) == pytest.approx(1, abs=1e-5)
    assert max(shares, key=lambda name: float(shares[name])) == "B-PER"
    run(learn, "c.yaml", "model", "-q")
    result = CliRunner().invoke(classify, ["test.conll", "model", "none", "--format", "marginals"])
    assert result.exit_code == 2
    message = "error: --format marginals: a structural SVM has none; expected model: crf\n"
    assert result.stderr == message
    assert not Path("none").exists()


def test_tags_of_svm_hmm_are_written_one_a_line(folder):
    Path("train.txt").write_text(HMM)
    settings = ["application={name: sequence, format: svm_hmm}", "data={train: train.txt}"]
    run(learn, "c.yaml", "model", "-q", *(f"--set={setting}" for setting in settings))
    run(classify, "train.txt", "model", "out", "-q")
    assert Path("out").read_text() == "B\nC\nB\nC\n"


def test_the_starter_configuration_trains(folder):
    Path("starter.yaml").write_text(run(main, "init", "sequence").stdout)
    Path("train.conll").write_text("a X\nb Y\n\nb Y\n")
    Path("test.conll").write_text("a X\n")
    run(learn, "starter.yaml", "model", "-q")
    assert Path("model").stat().st_size > 0


def test_two_trainings_give_the_same_bytes(folder):
    for name, threads in (("one", "1"), ("two", "3")):
        run(learn, "c.yaml", name, "-q", "--threads", threads)
    assert Path("one").read_bytes() == Path("two").read_bytes()


def test_the_simulated_sentences_are_those_shipped(tmp_path):
    simulate_sequences.write_sentences(tmp_path)
    for name in ("train", "test"):
        shipped = ROOT / "data" / "sequence" / f"{name}.conll"
        assert (tmp_path / f"{name}.conll").read_bytes() == shipped.read_bytes()


def test_the_shipped_configuration_learns_what_the_sentences_tell(tmp_path):
    config, model = str(ROOT / "configs" / "sequence.yaml"), str(tmp_path / "model")
    run(learn, config, model, "-q")
    run(classify, config, model, str(tmp_path / "out"), "--metrics", str(tmp_path / "m.json"))
    metrics = json.loads((tmp_path / "m.json").read_text())
    assert 85 < metrics["f1"] < 100


def letters(folds):
    folder = DATA / "ocr-letters"
    if not folder.is_dir():
        pytest.skip(f"no folder ocr-letters in LSSVM_DATA ({DATA})")
    return load_letters(folder, folds)


@pytest.mark.parametrize(
    ("fold", "C", "low", "high", "passes"),
    [(0, 0.01, 34.852, 34.854, 85), (0, 0.1, 203.09, 203.11, 275), (1, 0.1, 246.08, 246.41, 275)],
)
def test_letters_have_the_optimum_that_other_solvers_find(fold, C, low, high, passes):
    config = Config.from_dict(
        {
            "application": {"name": "sequence"},
            "objective": {"model": "ssvm", "C": C},
            "cccp": {"tolerance": 1.0},
        }
    )
    app, examples = config.create_application(), letters([fold])
    assert app.dimension(examples) == 128 * 26 + 26 * 26
    record = learn_on(app, examples, config).record
    assert record["lower_bound"] <= high
    assert record["objective"] >= low
    assert record["gap"] <= 1e-3
    assert record["passes"] <= passes


def test_letters_are_all_there():
    examples = letters(range(10))
    assert len(examples) == 6877
    assert len(examples.labels) == 52152
    assert sum(len(letters([fold])) for fold in range(10)) == 6877


def test_letters_that_are_not_there_are_reported(tmp_path):
    with pytest.raises(DataError, match=r"letters\.npz: cannot be read: .*; expected OCR letters"):
        load_letters(tmp_path)


def test_the_formulation_of_a_model_is_its_own():
    app = SequenceLabelling(SequenceOptions(), Formulation("ssvm", "slack", 2))
    assert app.slack
    assert SequenceLabelling(SequenceOptions()).formulation.model == "ssvm"
