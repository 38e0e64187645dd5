"""MotifClassifier: texts and objects of Biopython, sites, and the model of the command."""

import pickle

import numpy as np
import pytest
from Bio import motifs
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord
from estimator_cases import check_same_model
from sklearn import model_selection

from lssvm.estimators import MotifClassifier

RNG = np.random.default_rng(0)
SITE = "TGACTCA"


def drawn(with_site):
    text = "".join(RNG.choice(list("ACGT"), size=30))
    place = int(RNG.integers(0, 23))
    return text[:place] + SITE + text[place + 7 :] if with_site else text


Y = np.array([True, False] * 15)
X = [drawn(with_site) for with_site in Y]
SETTINGS = {"length": 7, "background_order": 1, "C": 50.0, "trials": 20, "epsilon": 1e-2}


def fasta(sequences, labels):
    return "".join(
        f">s{number} label={'+1' if label else '-1'}\n{text}\n"
        for number, (text, label) in enumerate(zip(sequences, labels, strict=True))
    )


@pytest.mark.parametrize(
    ("parameters", "application"),
    [
        ({}, {}),
        ({"strands": "both", "class_weight": "balanced"}, {"strands": "both"}),
        ({"initialisation": "random", "class_weight": {True: 2.0}}, {"initialisation": "random"}),
    ],
)
def test_the_model_is_that_of_the_command(parameters, application, tmp_path):
    costs = parameters.get("class_weight")
    more = {} if costs is None else {"class_costs": {"+1": 2.0} if costs != "balanced" else costs}
    estimator = MotifClassifier(**SETTINGS, **parameters, restarts=2, random_state=3).fit(X, Y)
    check_same_model(
        estimator,
        tmp_path,
        {"train.fa": fasta(X, Y)},
        application={
            "name": "motif",
            "length": 7,
            "background_order": 1,
            "trials": 20,
            **application,
            **more,
        },
        objective={"C": 50.0},
        solver={"epsilon": 1e-2},
        cccp={"restarts": 2},
        seed=3,
    )


def test_the_planted_sites_are_found():
    estimator = MotifClassifier(**SETTINGS).fit(X, Y)
    assert estimator.score(X, Y) == 1.0
    assert estimator.consensus_ == SITE
    np.testing.assert_allclose(estimator.motif_.sum(axis=1), 1.0)
    assert "".join("ACGT"[letter] for letter in estimator.motif_.argmax(axis=1)) == SITE
    for text, found in zip(X, estimator.sites(X, top=2), strict=True):
        best, second = found
        assert best["score"] >= second["score"]
        if SITE in text:
            assert text[best["start"] - 1 : best["stop"]] == best["sequence"] == SITE
    np.testing.assert_array_equal(estimator.decision_function(X) > 0, Y)


def test_objects_of_biopython_are_sequences():
    plain = MotifClassifier(**SETTINGS).fit(X, Y)
    for kind in (Seq, lambda text: SeqRecord(Seq(text))):
        found = MotifClassifier(**SETTINGS).fit([kind(text) for text in X], Y)
        np.testing.assert_array_equal(found.model_.w, plain.model_.w)


def test_the_motif_is_written_for_the_meme_suite_and_drawn(tmp_path):
    estimator = MotifClassifier(**SETTINGS).fit(X, Y)
    estimator.to_meme(tmp_path / "motif.meme")
    with open(tmp_path / "motif.meme", encoding="utf-8") as file:
        (found,) = motifs.parse(file, "minimal")
    assert found.consensus == SITE
    estimator.logo(tmp_path / "logo.svg")
    assert "<svg" in (tmp_path / "logo.svg").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="format 'xyz' is not known"):
        estimator.logo(tmp_path / "logo.xyz")


def test_searches_and_copies_work_on_texts():
    grid = {"C": [1.0, 50.0]}
    search = model_selection.GridSearchCV(
        MotifClassifier(length=7, background_order=0), grid, cv=3
    ).fit(X, Y)
    found = search.best_estimator_
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert again.consensus_ == found.consensus_


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (["ACGT", "AC-T"], [0, 1], "X: sequence 2: '-' is a gap; expected sequences without gaps"),
        (["ACGT", "ACET"], [0, 1], "X: sequence 2: illegal letter 'E'; expected A, C, G, T, U"),
        (["ACGT", 3], [0, 1], "X: sequence 2 is 3; expected text"),
        (["ACGT", ""], [0, 1], "X: sequence 2 has no letters; expected some"),
        (["ACGT", "ACGT"], [1, 1], "y has 1 class; expected 2: without and with"),
        (["ACGT", "ACGT"], [0, 1], "is positive but has no window of 7 unambiguous letters"),
        (["ACGT"], [0, 1], "2 labels for 1 sequence; expected one for each"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(X, y, message):
    with pytest.raises(ValueError, match=message) as caught:
        MotifClassifier(length=7).fit(X, y)
    assert "\n" not in str(caught.value)
