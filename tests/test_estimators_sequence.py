"""Estimators of label sequences: words, attributes and arrays; the model of the command."""

import pickle
from collections import Counter

import numpy as np
import pycrfsuite
import pytest
from estimator_cases import check_same_model, learnt
from sklearn import base, model_selection

from lssvm.applications.sequence.given_tokens import attributes_of
from lssvm.estimators import LatentSequenceLabeler, SequenceLabeler

SENTENCES = ["the dog barks", "a cat sleeps", "the cat", "dogs sleep a lot", "Rex barks"]
X = [sentence.split() for sentence in SENTENCES]
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N"], ["N", "V", "D", "N"], ["N", "V"]]


def attributes(words, place):
    """As the tutorial of sklearn-crfsuite makes them."""
    word = words[place]
    found = {"bias": 1.0, "word.lower()": word.lower(), "word[-3:]": word[-3:]}
    found["word.istitle()"] = word.istitle()
    found |= {"BOS": True} if place == 0 else {"-1:word.lower()": words[place - 1].lower()}
    return found


DICTS = [[attributes(words, place) for place in range(len(words))] for words in X]
RNG = np.random.default_rng(0)
ARRAYS = [np.round(RNG.normal(size=(len(words), 4)), 3) for words in X]


def conll(rows, labels):
    return "\n".join(
        "".join(f"{row} {label}\n" for row, label in zip(*pair, strict=True))
        for pair in zip(rows, labels, strict=True)
    )


def svm_hmm(sequences, labels):
    lines = []
    for number, (rows, tags) in enumerate(zip(sequences, labels, strict=True), 1):
        for row, tag in zip(rows, tags, strict=True):
            cells = " ".join(f"{place}:{value}" for place, value in row)
            lines.append(f"{tag} qid:{number} {cells}\n")
    return "".join(lines)


@pytest.mark.parametrize(
    ("parameters", "application", "objective"),
    [
        ({}, {}, {}),
        ({"model": "crf", "C": 4.0}, {}, {"model": "crf", "C": 4.0}),
        (
            {"templates": ["word", "lower(word)"], "order": 2, "ends": True, "bias": 2.0},
            {"templates": ["word", "lower(word)"], "order": 2, "ends": True, "bias": 2.0},
            {},
        ),
        ({"class_weight": {"N": 3.0}}, {"class_costs": {"N": 3.0}}, {}),
        ({"min_count": 2}, {"min_count": 2}, {}),
    ],
)
def test_of_words_it_makes_the_model_of_the_command(parameters, application, objective, tmp_path):
    check_same_model(
        SequenceLabeler(**parameters).fit(X, Y),
        tmp_path,
        {"train.conll": conll(X, Y)},
        application={"name": "sequence", **application},
        objective=objective,
    )


def test_of_columns_it_makes_the_model_of_the_command(tmp_path):
    tokens = [[[word, word[0].upper()] for word in words] for words in X]
    rows = [[" ".join(token) for token in tokens] for tokens in tokens]
    templates = ["word", "letter[-1] & letter"]
    estimator = SequenceLabeler(columns=["word", "letter"], templates=templates).fit(tokens, Y)
    check_same_model(
        estimator,
        tmp_path,
        {"train.conll": conll(rows, Y)},
        application={
            "name": "sequence",
            "columns": ["word", "letter", "label"],
            "templates": templates,
        },
    )


@pytest.mark.parametrize("scaling", ["none", "standard"])
def test_of_arrays_it_makes_the_model_of_the_command(scaling, tmp_path):
    numbered = [[list(enumerate(row, 1)) for row in rows] for rows in ARRAYS]
    estimator = SequenceLabeler(scaling=scaling).fit(ARRAYS, Y)
    check_same_model(
        estimator,
        tmp_path,
        {"train.hmm": svm_hmm(numbered, Y)},
        application={"name": "sequence", "format": "svm_hmm", "scaling": scaling},
    )
    assert estimator.n_features_in_ == 4


def test_of_attributes_it_makes_the_weights_of_the_command(tmp_path):
    """A file has numbers in the place of the attributes' names."""
    number = {}
    numbered = [
        [
            sorted((number.setdefault(name, len(number) + 1), v) for name, v in attributes_of(t))
            for t in tokens
        ]
        for tokens in DICTS
    ]
    estimator = SequenceLabeler(C=2.0).fit(DICTS, Y)
    _, arrays = learnt(
        tmp_path,
        {"train.hmm": svm_hmm(numbered, Y)},
        application={"name": "sequence", "format": "svm_hmm"},
        objective={"C": 2.0},
    )
    assert estimator.model_.w.tobytes() == arrays["w"].tobytes()
    assert estimator.attributes_ == list(number)


def test_attributes_are_those_of_crfsuite():
    """A model of CRFsuite names what it saw of the same tokens."""
    token = {"a": "x:y", "b": 2.5, "c": True, "d": ["p", "q"], "e": {"f": "g", "h": 3}, "i": ""}
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append(pycrfsuite.ItemSequence([token]), ["T"])
    assert sorted(trainer_items(token)) == sorted(attributes_of(token))


def trainer_items(token):
    (item,) = pycrfsuite.ItemSequence([token]).items()
    return item.items()


def test_it_takes_the_place_of_a_crf_of_crfsuite(tmp_path):
    """The same objective, ½‖w‖² / C − log-likelihood, so the same probabilities."""
    ours = SequenceLabeler(model="crf", C=5.0, epsilon=1e-9).fit(DICTS, Y)
    trainer = pycrfsuite.Trainer(verbose=False)
    for tokens, labels in zip(DICTS, Y, strict=True):
        trainer.append(pycrfsuite.ItemSequence(tokens), labels)
    options = {"c1": 0.0, "c2": 1 / (2 * 5.0), "epsilon": 1e-9, "max_iterations": 5000}
    options |= {"feature.possible_states": True, "feature.possible_transitions": True}
    trainer.set_params({**options, "delta": 1e-12})
    trainer.train(str(tmp_path / "crf"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "crf"))
    weights = tagger.info()
    assert sorted(ours.classes_) == sorted(weights.labels)
    found = Counter(ours.transition_features_)
    for pair, weight in weights.transitions.items():
        assert found[pair] == pytest.approx(weight, abs=1e-2)
    for pair, weight in weights.state_features.items():
        assert ours.state_features_.get(pair, 0.0) == pytest.approx(weight, abs=1e-2)
    for tokens, marginals in zip(DICTS, ours.predict_marginals(DICTS), strict=True):
        assert tagger.tag(pycrfsuite.ItemSequence(tokens)) == ours.predict_single(tokens)
        for place, shares in enumerate(marginals):
            for label, share in shares.items():
                assert share == pytest.approx(tagger.marginal(label, place), abs=1e-3)


def test_a_structural_svm_has_no_probabilities():
    assert not hasattr(SequenceLabeler(), "predict_marginals")
    assert hasattr(SequenceLabeler(model="crf"), "predict_marginals")


def test_labels_come_back_as_they_were_given():
    numbers = [[{"D": 0, "N": 7, "V": 3}[label] for label in labels] for labels in Y]
    estimator = SequenceLabeler(C=100).fit(X, numbers)
    assert estimator.classes_ == [0, 7, 3]
    assert estimator.predict(X) == numbers


def test_searches_and_copies_work_on_lists():
    search = model_selection.GridSearchCV(SequenceLabeler(), {"C": [1e-3, 10.0]}, cv=2).fit(
        DICTS, Y
    )
    assert search.best_params_["C"] in (1e-3, 10.0)
    scores = model_selection.cross_val_score(SequenceLabeler(C=10.0), X, Y, cv=2)
    assert scores.shape == (2,)
    estimator = base.clone(SequenceLabeler(C=10.0)).fit(DICTS, Y)
    assert pickle.loads(pickle.dumps(estimator)).predict(DICTS) == estimator.predict(DICTS) == Y
    assert estimator.score(DICTS, Y) == 1.0


def test_what_was_not_seen_in_training_is_left_out():
    estimator = SequenceLabeler(C=10.0).fit(DICTS, Y)
    assert estimator.predict([[{"nothing": "known"}]])[0][0] in estimator.classes_
    assert estimator.score(DICTS[:1], [["D", "N", "X"]]) == pytest.approx(2 / 3)


def test_the_latent_labeler_is_that_of_the_command(tmp_path):
    parameters = {"substates": 3, "restarts": 2, "random_state": 5, "C": 2.0}
    check_same_model(
        LatentSequenceLabeler(**parameters).fit(X, Y),
        tmp_path,
        {"train.conll": conll(X, Y)},
        application={"name": "latent_sequence", "substates": 3},
        objective={"C": 2.0},
        cccp={"restarts": 2},
        seed=5,
    )


def test_labels_that_are_none_are_hidden_in_training():
    hidden = [[None, *labels[1:]] for labels in Y]
    estimator = LatentSequenceLabeler(C=10.0).fit(X, hidden)
    assert set(estimator.classes_) == {"N", "V", "D"}


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "X has no tokens; expected sequences of tokens"),
        ([["a"]], [["N", "V"]], "y: sequence 1 has 2 labels for 1 token; expected one for each"),
        ([["a"], ["b"]], [["N"]], "y has 1 sequence, X has 2; expected as many"),
        ([["a"], [3]], [["N"], ["N"]], "X: a token is 3; expected a word, or a list of words"),
        ([["a\nb"]], [["N"]], r"X: column 'word': value 'a\\nb'; expected one line of text"),
        ([[{"a": np.inf}]], [["N"]], "X: an attribute has a value that is not finite"),
        ([[{"a": object}]], [["N"]], "X: attribute 'a' is <class 'object'>; expected a number"),
        ([[[1.0], [1.0, 2.0]]], [["N", "N"]], "expected rows of numbers, as many in all tokens"),
        ([[{"a": 1}]], [[None]], "no token has a label; expected labels for training"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(X, y, message):
    with pytest.raises(ValueError, match=message) as caught:
        SequenceLabeler().fit(X, y)
    assert "\n" not in str(caught.value)
