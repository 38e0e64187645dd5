"""Relations from memory: the estimator has the model of the command, and tells what it found."""

import json
import pickle

import numpy as np
import pytest
from estimator_cases import check_same_model
from scipy import sparse
from sklearn import base, model_selection

from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.estimators import RelationExtractor

RELATIONS, FEATURES = 3, 12


def drawn(n=60, seed=0):
    """Matrices of mentions, and the numbers of the relations of pairs: features say them."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        own = np.sort(rng.permutation(RELATIONS)[: rng.integers(3)] + 1).tolist()
        rows = rng.integers(0, 2, (max(1, len(own) + rng.integers(2)), FEATURES)) / 4.0
        rows[np.arange(len(own)), np.array(own, dtype=int) - 1] += rng.integers(1, 5, len(own))
        X.append(rows)
        y.append(own)
    return X, y


X, Y = drawn()


def text_of(pairs, known):
    """The text format."""
    lines = [str(len(pairs)), str(RELATIONS)]
    for rows, own in zip(pairs, known, strict=True):
        lines += [str(len(own)), *map(str, own), str(len(rows))]
        for row in rows:
            words = [f"{j}:{value}" for j, value in enumerate(row, 1) if value]
            lines.append(" ".join([str(len(words)), *words]))
    return "\n".join(lines) + "\n"


def named(pairs, known):
    """The same with names: lists of names, dictionaries of values, and whole dictionaries."""
    found = []
    for number, rows in enumerate(pairs):
        mentions = [{f"f{j}": float(value) for j, value in enumerate(row) if value} for row in rows]
        if number % 3 == 0:
            mentions = [list(own) for own in mentions]
        described = {"id": f"p{number}", "entities": ("a", "b")}
        described["mentions"] = [{"id": "s", "features": own} for own in mentions]
        found.append(described if number % 2 else mentions)
    return found, [[f"relation {label}" for label in own] for own in known]


def json_of(pairs, known):
    """JSON lines of named pairs."""
    rows = [
        pair if isinstance(pair, dict) else {"mentions": [{"features": own} for own in pair]}
        for pair in pairs
    ]
    lines = [json.dumps({**row, "relations": own}) for row, own in zip(rows, known, strict=True)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "options",
    [
        {"loss": "hamming", "none_weights": True, "initialisation": "random"},
        {"loss": "f_beta", "beta": 2.0, "iterations": 30, "bias": 0.5},
    ],
    ids=lambda options: options["loss"],
)
def test_relations_are_those_of_the_command(options, form, tmp_path):
    pairs, known = (X, Y) if form == "text" else named(X, Y)
    text = text_of(pairs, known) if form == "text" else json_of(pairs, known)
    settings = {"C": 0.5, "epsilon": 0.05, "tolerance": 0.01, "random_state": 3}
    estimator = RelationExtractor(**settings, **options).fit(pairs, known)
    check_same_model(
        estimator,
        tmp_path,
        {"train": text},
        application={"name": "relation", **options},
        objective={"C": 0.5},
        solver={"epsilon": 0.05},
        cccp={"tolerance": 0.01},
        seed=3,
    )
    wanted = [1, 2, 3] if form == "text" else [f"relation {label}" for label in (1, 2, 3)]
    assert sorted(estimator.classes_.tolist()) == wanted


def test_sparse_matrices_and_sets_are_the_same_examples():
    application = Config.from_dict({"application": "relation"}).create_application()
    dense = application.examples_from(X, Y)
    other = application.examples_from([sparse.csr_array(own) for own in X], list(map(set, Y)))
    assert other.fingerprint() == dense.fingerprint()
    pairs, known = named(X, Y)
    application = Config.from_dict({"application": "relation"}).create_application()
    lists = application.examples_from(pairs, known)
    sets = application.examples_from(pairs, [frozenset(own) for own in known])
    assert sets.fingerprint() == lists.fingerprint()
    assert lists.identifiers[:3].tolist() == ["1", "p1", "3"]
    assert lists.entities[1].tolist() == ["a", "b"]


def test_what_is_predicted_agrees():
    pairs, known = named(X, Y)
    extractor = base.clone(RelationExtractor(C=10.0, epsilon=0.01)).fit(pairs, known)
    found, scores = extractor.predict(pairs), extractor.decision_function(pairs)
    both = sum(len({*own} & {*true}) for own, true in zip(found, known, strict=True))
    total = sum(map(len, found)) + sum(map(len, known))
    assert extractor.score(pairs, known) == pytest.approx(2 * both / total)
    assert both > 0.8 * sum(map(len, known))
    for own, mentions, row in zip(found, extractor.mentions(pairs), scores, strict=True):
        assert {*own} == {*mentions} - {None}
        assert {*own} == {*extractor.classes_[row > 0].tolist()}
    assert [len(own) for own in extractor.mentions(pairs)] == list(map(len, X))
    again = pickle.loads(pickle.dumps(extractor))
    np.testing.assert_array_equal(again.decision_function(pairs), scores)


def test_numbers_come_back_as_numbers():
    extractor = RelationExtractor(C=10.0, epsilon=0.01).fit(X, Y)
    found = extractor.predict(X)
    assert extractor.score(X, found) == 1.0
    assert {type(label) for own in found for label in own} == {int}


def test_costs_weigh_pairs_and_a_grid_is_searched():
    pairs, known = named(X, Y)
    weights = np.arange(len(X)) % 3
    settings = {"C": 1.0, "epsilon": 1e-6, "tolerance": 1e-6}
    weighed = RelationExtractor(**settings).fit(pairs, known, sample_weight=weights)
    rows = np.repeat(np.arange(len(X)), weights)
    repeated = RelationExtractor(**settings).fit(
        [pairs[row] for row in rows], [known[row] for row in rows]
    )
    assert weighed.objective_ == pytest.approx(repeated.objective_, rel=1e-4)
    grid = {"C": [1e-4, 10.0]}
    search = model_selection.GridSearchCV(RelationExtractor(epsilon=0.01), grid, cv=2)
    assert search.fit(pairs, known).best_params_ == {"C": 10.0}


MENTION = [["f"]]


@pytest.mark.parametrize(
    ("pairs", "known", "message"),
    [
        ([], [], "X: no pairs; expected at least one"),
        ([MENTION], [[], []], "y has 2 pairs, X has 1; expected as many"),
        ([MENTION], ["r"], "y: pair 1 has 'r'; expected a list of relations"),
        ([MENTION], [3], "y: pair 1 has 3; expected a list of relations"),
        ([MENTION], [["r", "r"]], "X, y: pair 1: relation 'r' again"),
        ([MENTION], [[1]], "X, y: pair 1: 'relations' is a list with other values"),
        ([MENTION], [[]], "no pair has a relation"),
        ([MENTION], None, "no pair has a relation"),
        ([MENTION, []], [["r"], []], "X, y: pair 2: 'mentions' is empty"),
        ([["f"]], [["r"]], "X, y: pair 1: a mention is 'f'; expected its features"),
        ([[3]], [["r"]], "X, y: pair 1: a mention is 3; expected its features"),
        (["f"], [["r"]], "X, y: pair 1: 'f' is no pair; expected a list of mentions"),
        ([[[3]]], [["r"]], "mention 1: a feature is a number; expected its name"),
        ([[[""]]], [["r"]], "a name is empty; expected a text"),
        ([[{3: 1.0}]], [["r"]], "a feature is 3; expected its name"),
        ([[{"f": "1"}]], [["r"]], "the value of 'f' is '1'; expected a number"),
        ([[{"f": np.nan}]], [["r"]], "the value of 'f' is nan; expected a finite number"),
        ([{"mentions": [{"words": []}]}], [["r"]], "mention 1 has no 'features'"),
        ([{"mentions": None}], [["r"]], "'mentions' is null; expected a list"),
        ([{"id": "a"}], [["r"]], "the line has no 'mentions'"),
        ([{"relations": []}], [["r"]], "'relations' is not known; expected id, entities, mentions"),
        ([{"entities": 3, "mentions": []}], [["r"]], "'entities' is a number"),
        ([np.ones((1, 2)), np.ones((1, 3))], [[1], []], r"pair 2 has the shape \(1, 3\)"),
        ([np.ones((0, 2))], [[1]], r"pair 1 has the shape \(0, 2\); expected a row for each"),
        ([np.ones((1, 2)), MENTION], [[1], []], r"pair 2 has the shape \(1, 1\)"),
        ([np.ones((1, 2))], [["r"]], "pair 1 has the relation 'r'; expected numbers from 1"),
        ([np.ones((1, 2))], [[0]], "pair 1 has the relation 0; expected numbers from 1"),
        ([np.ones((1, 2))], [[1, 1]], "y: pair 1 has a relation twice"),
        ([np.full((1, 2), np.inf)], [[1]], "X: row 1, column 1 is inf"),
    ],
)
def test_pairs_that_cannot_be_used_are_refused_in_one_line(pairs, known, message):
    with pytest.raises(ValueError, match=message) as caught:
        RelationExtractor().fit(pairs, known)
    assert "\n" not in str(caught.value)


def test_names_and_numbers_do_not_mix():
    extractor = RelationExtractor(epsilon=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="are names, and those of training numbers"):
        extractor.predict([MENTION])
    with pytest.raises(ValueError, match=r"costs: -1.0; expected finite numbers, none below 0"):
        extractor.fit([MENTION], [["r"]], sample_weight=[-1])


def test_the_loss_of_the_whole_data_set_has_no_costs():
    with pytest.raises(ValueError, match="cost"):
        RelationExtractor(loss="f_beta").fit(X, Y, sample_weight=np.arange(len(X)) + 1.0)
    application = Config.from_dict({"application": "relation"}).create_application()
    with pytest.raises(LssvmError, match="costs: 1 for 2 examples"):
        application.examples_from(X[:2], Y[:2], costs=[1.0])
