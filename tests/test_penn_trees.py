"""Penn trees are read as written, without traces and function tags as in evalb, or refused."""

import gzip

import numpy as np
import pytest

from lssvm.errors import DataError
from lssvm.formats.penn_trees import bracketed, read_trees, without_function

TWO = "( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ barks))) )\n"


def shown(file, tree=0):
    """A tree as it would be written."""
    own = slice(file.offsets[tree], file.offsets[tree + 1])
    labels = [file.labels.texts[code] for code in file.node_labels[own]]
    words = [None if code < 0 else file.words.texts[code] for code in file.node_words[own]]
    starts, ends = file.starts[own], file.ends[own]
    stops, open_ = [0] * len(labels), []
    for row, word in enumerate(words):
        while open_ and ends[open_[-1]] <= starts[row]:
            stops[open_.pop()] = row
        if word is None:
            open_.append(row)
        else:
            stops[row] = row + 1
    for row in open_:
        stops[row] = len(labels)
    return bracketed(labels, words, stops)


def read(tmp_path, text, **options):
    path = tmp_path / "t.ptb"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_trees(path, **options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S (NP (NN a)) (VP (VB b)))", "(S (NP (NN a)) (VP (VB b)))"),
        ("(S(NP(NN a))\n\n   (VP (VB b)\n)) ", "(S (NP (NN a)) (VP (VB b)))"),
        ("( (S (NP (NN a))))", "( (S (NP (NN a))))"),
        ("(NP-SBJ=2 (NN a))", "(NP (NN a))"),
        ("(S (NP (-NONE- *T*-1)) (VP (VB go) (NP (-NONE- *))))", "(S (VP (VB go)))"),
        ("(X (-LRB- -LRB-) (NN-X a-b))", "(X (-LRB- -LRB-) (NN a-b))"),
        ("(NN a)", "(NN a)"),
        ("\ufeff(NN a)\r\n", "(NN a)"),
    ],
)
def test_a_tree_is_read(tmp_path, text, expected):
    assert shown(read(tmp_path, text)) == expected


def test_stripping_can_be_switched_off(tmp_path):
    text = "(S (NP-SBJ (-NONE- *)) (VP (VB go)))"
    assert shown(read(tmp_path, text, strip_functions=False, strip_traces=False)) == text
    assert shown(read(tmp_path, text, strip_traces=False)) == text.replace("-SBJ", "")
    assert shown(read(tmp_path, text, strip_functions=False)) == "(S (VP (VB go)))"


def test_trees_of_several_lines_and_of_one_line_keep_their_places(tmp_path):
    file = read(tmp_path, gzip.compress(f"\n{TWO}(NN a) (NN b)\n(NP\n(NN c))".encode()))
    assert file.lines.tolist() == [2, 3, 3, 4]
    assert np.diff(file.offsets).tolist() == [7, 1, 1, 2]
    assert [shown(file, k) for k in (1, 2, 3)] == ["(NN a)", "(NN b)", "(NP (NN c))"]


def test_positions_count_words_without_traces(tmp_path):
    file = read(tmp_path, "(S (NP (-NONE- *)) (NP (NN a) (NN b)) (VP (VB c)))")
    assert list(zip(file.starts.tolist(), file.ends.tolist(), strict=True)) == [
        *((0, 3), (0, 2), (0, 1), (1, 2), (2, 3), (2, 3)),
    ]


@pytest.mark.parametrize(
    ("label", "bare"),
    [("NP-SBJ", "NP"), ("NP=1", "NP"), ("-LRB-", "-LRB-"), ("S", "S"), ("-", "-"), ("--", "--")],
)
def test_function_tags_are_cut_off_but_of_labels_that_begin_like_one(label, bare):
    assert without_function(label) == bare


MALFORMED = {
    "empty": ("", None, "there are no trees"),
    "blank lines": ("\n \n", None, "there are no trees"),
    "closed too often": ("(NN a))\n", 1, "')' without '('"),
    "closed first": ("\n) (NN a)", 2, "')' without '('"),
    "not closed": ("(NN a)\n(S\n(NN a)\n", 2, "1 bracket is not closed"),
    "cut short": ("(S (NP (NN a", 1, "3 brackets are not closed"),
    "words outside": ("the dog\n", 1, "'the' is outside of all brackets"),
    "a word behind": ("(NN a) b\n", 1, "'b' is outside of all brackets"),
    "an empty bracket": ("(S ())\n", 1, "an empty bracket '()'"),
    "an empty root": ("()\n", 1, "an empty bracket '()'"),
    "no word": ("(S (NP))\n", 1, "nothing is in the bracket 'NP'"),
    "a label alone": ("(S)\n", 1, "nothing is in the bracket 'S'"),
    "two words": ("(S (NN big dog))\n", 1, "'dog' follows a word in a bracket"),
    "a word and brackets": ("(S dog (NN a))\n", 1, "a bracket follows the word 'dog'"),
    "brackets and a word": ("(S\n(NN a)\ndog)\n", 3, "'dog' follows other brackets in a bracket"),
    "no inner label": ("(S ((NN a)))\n", 1, "a bracket without a label"),
    "only traces": ("(S (NP (-NONE- *)))\n", 1, "the tree has no words"),
    "nested too deeply": ("(S " * 1200, 1, "brackets are nested too deeply"),
    "not UTF-8": (b"(NN \xff)\n", 1, "byte 0xff is not UTF-8"),
    "zeros": (b"(NN \x00)\n", 1, "byte 0x00 is not text"),
    "binary": (bytes(range(128, 256)), 1, "is not UTF-8"),
    "truncated gzip": (gzip.compress(TWO.encode() * 50)[:40], None, "the gzip stream is cut short"),
    "damaged gzip": (gzip.compress(TWO.encode() * 50)[:-9] + b"x" * 9, None, "cut short or damage"),
    "CoNLL columns": ("the\tDT\tB\ndog\tNN\tI\n", 1, "'the' is outside of all brackets"),
    "JSON": ('{"tree": "(NN a)"}\n', 1, "'{\"tree\":' is outside of all brackets"),
    "square brackets": ("[S [NN a]]\n", 1, "'[S' is outside of all brackets"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_refused_with_its_line(name, tmp_path):
    text, line, wrong = MALFORMED[name]
    with pytest.raises(DataError) as error:
        read(tmp_path, text)
    place = tmp_path / "t.ptb"
    told = str(error.value)
    assert told.startswith(f"{place}: " if line is None else f"{place}:{line}: ")
    assert wrong in told
    assert "; expected " in told
    assert "\n" not in told


def test_trees_are_those_of_nltk(tmp_path):
    nltk = pytest.importorskip("nltk")
    rng = np.random.default_rng(0)

    def grown(depth):
        if depth == 0 or rng.random() < 0.3:
            return f"({rng.choice(['NN', 'VB', '.'])} {rng.choice(['a', 'b-c', '%'])})"
        inner = " ".join(grown(depth - 1) for _ in range(rng.integers(1, 4)))
        return f"({rng.choice(['S', 'NP', 'VP'])} {inner})"

    texts = [grown(5) for _ in range(50)]
    file = read(tmp_path, "\n".join(texts))
    for k, text in enumerate(texts):
        tree = nltk.Tree.fromstring(text)
        assert nltk.Tree.fromstring(shown(file, k)) == tree
        assert shown(file, k) == text
