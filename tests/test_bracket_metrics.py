"""Scores of trees by evalb's published rules, on cases that were counted by hand."""

import numpy as np
import pytest

from lssvm.applications.parsing import bracket_metrics, parsing_written
from lssvm.applications.parsing.bracket_metrics import Brackets

LABELS = ["S", "NP", "VP", "PP", "ADVP", "PRT"]
TAGS = ["NN", "VB", ".", ",", "``", "''", ":", "IN"]


def brackets(*trees):
    """From one list a tree of (label, start, end)."""
    flat = [each for tree in trees for each in tree]
    offsets = np.cumsum([0, *map(len, trees)])
    columns = [np.array([each[k] for each in flat], dtype=np.int64) for k in (1, 2)]
    labels = np.array([LABELS.index(each[0]) for each in flat], dtype=np.int64)
    return Brackets(labels, *columns, offsets)


def counted(gold, test, tags, found=None, collins=True):
    """Counts of one tree as a dictionary."""
    codes = [np.array([TAGS.index(tag) for tag in each]) for each in (tags, found or tags)]
    words = np.array([0, len(tags)])
    counts = bracket_metrics.count(
        brackets(gold), brackets(test), words, tuple(codes), (LABELS, TAGS), collins=collins
    )
    return {name: int(value[0]) for name, value in zip(counts._fields, counts, strict=True)}


PLAIN = ["NN", "VB", "IN", "NN"]
GOLD = [("S", 0, 4), ("NP", 0, 1), ("VP", 1, 4), ("PP", 2, 4), ("NP", 3, 4)]


@pytest.mark.parametrize(
    ("gold", "test", "expected"),
    [
        (GOLD, GOLD, (5, 5, 5, 0)),
        (GOLD, [*GOLD[:2], ("VP", 1, 2), ("PP", 2, 4)], (5, 4, 3, 0)),
        # The label counts.
        (GOLD, [("NP", 0, 4), ("NP", 0, 1)], (5, 2, 1, 0)),
        # Each bracket matches once, however often it is predicted.
        ([("NP", 0, 1)], [("NP", 0, 1), ("NP", 0, 1)], (1, 2, 1, 0)),
        ([("NP", 0, 1), ("NP", 0, 1)], [("NP", 0, 1)], (2, 1, 1, 0)),
        ([("NP", 0, 1), ("NP", 0, 1)], [("NP", 0, 1)] * 3, (2, 3, 2, 0)),
        # (0, 2) crosses (1, 4); a bracket that crosses two is counted once.
        (GOLD, [("S", 0, 4), ("VP", 0, 2)], (5, 2, 1, 1)),
        (GOLD, [("S", 0, 4), ("VP", 0, 3), ("NP", 1, 3)], (5, 3, 1, 2)),
        # The order of a chain of one-child brackets does not count.
        ([("S", 0, 4), ("VP", 0, 4)], [("VP", 0, 4), ("S", 0, 4)], (2, 2, 2, 0)),
        ([], [("S", 0, 4)], (0, 1, 0, 0)),
        ([("S", 0, 4)], [], (1, 0, 0, 0)),
    ],
)
def test_brackets_are_counted_as_evalb_does(gold, test, expected):
    found = counted(gold, test, PLAIN)
    assert tuple(found[name] for name in ("gold", "test", "matched", "crossing")) == expected


def test_punctuation_is_left_out_and_positions_close_up():
    tags = ["``", "NN", ",", "VB", "."]
    gold = [("S", 0, 5), ("NP", 0, 2), ("VP", 3, 4)]
    test = [("S", 0, 4), ("NP", 1, 3), ("VP", 3, 5)]
    assert counted(gold, test, tags)["matched"] == 3
    assert counted(gold, test, tags)["words"] == 2
    assert counted(gold, test, tags, collins=False)["matched"] == 0
    # A bracket of punctuation alone is none.
    found = counted([*gold, ("NP", 2, 3)], [*test, ("PP", 4, 5)], tags)
    assert (found["gold"], found["test"]) == (3, 3)


def test_a_bracket_that_crosses_only_punctuation_does_not_cross():
    tags = ["NN", ",", "VB", "NN"]
    assert counted([("NP", 0, 2)], [("VP", 1, 4)], tags)["crossing"] == 0
    assert counted([("NP", 0, 2)], [("VP", 1, 4)], tags, collins=False)["crossing"] == 1


def test_advp_and_prt_are_the_same_label_with_the_exceptions_of_collins():
    gold, test = [("PRT", 1, 2)], [("ADVP", 1, 2)]
    assert counted(gold, test, PLAIN)["matched"] == 1
    assert counted(gold, test, PLAIN, collins=False)["matched"] == 0


def test_tagging_accuracy_is_over_the_words_that_count():
    tags, found = ["NN", "VB", "."], ["NN", "NN", "NN"]
    counts = counted([], [], tags, found)
    assert (counts["words"], counts["tagged"]) == (2, 1)


def test_corpus_figures_are_those_of_all_brackets_together():
    gold = brackets(GOLD, [("S", 0, 4)], [("S", 0, 4), ("VP", 1, 4)])
    test = brackets(GOLD, [("NP", 0, 4)], [("S", 0, 4), ("NP", 0, 2), ("VP", 0, 3)])
    words = np.array([0, 4, 8, 12])
    tags = np.array([TAGS.index(tag) for tag in PLAIN * 3])
    counts = bracket_metrics.count(gold, test, words, (tags, tags), (LABELS, TAGS))
    found = bracket_metrics.scores(counts)
    assert found["precision"] == pytest.approx(100 * 6 / 9)
    assert found["recall"] == pytest.approx(100 * 6 / 8)
    assert found["f1"] == pytest.approx(100 * 12 / 17)
    assert found["exact_match"] == pytest.approx(100 / 3)
    assert found["crossing"] == pytest.approx(2 / 3)
    assert found["no_crossing"] == pytest.approx(200 / 3)
    assert found["few_crossing"] == 100
    assert found["tagging_accuracy"] == 100


def test_sentences_of_punctuation_alone_are_skipped_by_sentence():
    gold = brackets([("NP", 0, 2)], GOLD)
    test = brackets([("NP", 0, 2)], [("S", 0, 4), ("VP", 0, 2)])
    tags = np.array([TAGS.index(tag) for tag in [".", ",", *PLAIN]])
    counts = bracket_metrics.count(gold, test, np.array([0, 2, 6]), (tags, tags), (LABELS, TAGS))
    found = bracket_metrics.scores(counts)
    assert counts.exact.tolist() == [True, False]
    assert (found["exact_match"], found["crossing"], found["no_crossing"]) == (0, 1, 0)
    assert found["few_crossing"] == 100
    assert parsing_written.written_counts(["1", "2"], counts).scores() == pytest.approx(found)
    only = bracket_metrics.Counts(*(column[:1] for column in counts))
    assert set(bracket_metrics.scores(only).values()) == {None}
    assert set(parsing_written.written_counts(["1"], only).scores().values()) == {None}


def test_without_brackets_there_is_no_figure():
    none = brackets([], [])
    tags = np.zeros(4, dtype=int)
    counts = bracket_metrics.count(none, none, np.array([0, 2, 4]), (tags, tags), (LABELS, TAGS))
    found = bracket_metrics.scores(counts)
    assert (found["precision"], found["recall"], found["f1"]) == (None, None, None)
    assert found["exact_match"] == 100


def test_losses_of_trees():
    gold, test, matched = np.array([2, 2, 0, 0]), np.array([2, 4, 0, 1]), np.array([2, 1, 0, 0])
    losses = bracket_metrics.f1_losses(gold, test, matched)
    assert losses.tolist() == [0.0, 1 - 2 / 6, 0.0, 1.0]
