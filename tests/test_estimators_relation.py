"""The estimator of relations: the model of the command, and what it tells."""

import json
import pickle

import numpy as np
import pytest
import relation_files
from estimator_cases import check_same_model
from scipy import sparse
from sklearn import base, model_selection

from lssvm.applications.base import Source
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.estimators import RelationExtractor

TOLD = relation_files.drawn_text(np.random.default_rng(2), 60)
KNOWN = [own if known else [] for own, known, _ in TOLD[1]]
TEXT = TOLD[0].replace("?", "0")
WIDTH = 30
LOSSES = [
    {"loss": "hamming", "none_weights": True},
    {"loss": "f_beta", "beta": 2.0, "iterations": 30},
    {"loss": "f_beta", "average": "macro", "bias": 0.0},
]


def matrices(mentions=None):
    """Mentions as matrices whose first column is the feature 1."""
    found = []
    for _, _, own in TOLD[1]:
        rows = np.zeros((len(own), WIDTH))
        for row, features in zip(rows, own, strict=True):
            row[list(features)] = list(features.values())
        found.append(rows[:, 1:])
    return found


def text_without_feature_0():
    """The text without its feature 0, which no matrix has."""
    return "\n".join(
        " ".join(
            word if "\t" not in line else word
            for word in line.split(" ")
        )
        for line in TEXT.splitlines()
    )


def named():
    """Pairs as lists and dictionaries, and the same as JSON lines."""
    X, y, lines = [], [], []
    for number, (labels, (_, _, mentions)) in enumerate(zip(KNOWN, TOLD[1], strict=True)):
        features = [
            {f"f{j}": value for j, value in own.items()} if number % 2 else [f"f{j}" for j in own]
            for own in mentions
        ]
        names = [f"r{label}" for label in labels]
        entities = [f"a{number}", f"b{number}"]
        described = {"entities": entities, "mentions": [{"features": own} for own in features]}
        X.append(described if number % 3 else features)
        y.append(names)
        line = described if number % 3 else {"mentions": described["mentions"]}
        lines.append(json.dumps({**line, "relations": names}))
    return X, y, "\n".join(lines) + "\n"


@pytest.mark.parametrize("options", LOSSES, ids=lambda options: "-".join(map(str, options.values())))
def test_relations_of_names_are_those_of_the_command(options, tmp_path):
    X, y, text = named()
    check_same_model(
        RelationExtractor(C=2.0, epsilon=0.3, tolerance=0.1, **options).fit(X, y),
        tmp_path,
        {"train.jsonl": text},
        application={"name": "relation", **options},
        objective={"C": 2.0},
        solver={"epsilon": 0.3},
        cccp={"tolerance": 0.1},
    )
