"""What docstrings show of examples in memory and of estimators is what happens."""

import doctest
from importlib import import_module

import numpy as np
import pytest
from toy import random_problem

from lssvm import Config, applications, cross_validate, learn, learn_on
from lssvm.applications.reading import Reader
from lssvm.errors import LssvmError

PACKAGE = [
    "training.session",
    "applications.alignment.given_alignments",
    "applications.coreference.given_documents",
    "applications.motif.given_sequences",
    "applications.mrf.given_graphs",
    "applications.multiclass.given_rows",
    "applications.parsing.given_trees",
    "applications.ranking.given_queries",
    "applications.relation.given_pairs",
    "applications.sequence.given_tokens",
]
ESTIMATORS = [
    "alignment",
    "coreference",
    "field",
    "motif",
    "multiclass",
    "parsing",
    "ranking",
    "relation",
    "sequence",
]


def check(name):
    found = doctest.testmod(import_module(f"lssvm.{name}"), optionflags=doctest.REPORT_NDIFF)
    assert found.attempted
    assert not found.failed


@pytest.mark.parametrize("name", PACKAGE)
def test_what_a_docstring_of_the_package_shows(name):
    check(name)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_a_docstring_of_an_estimator_shows(name):
    check(f"estimators.{name}")


RNG = np.random.default_rng(0)
DATA = {"X": RNG.normal(size=(30, 3)), "y": RNG.integers(0, 2, 30)}
CONFIG = Config.from_dict(
    {
        "application": "multiclass",
        "objective": {"C": 1},
        "search": {"grid": {"objective.C": [0.1, 1]}, "folds": 3},
    }
)


def test_every_application_takes_examples_from_memory():
    for name in applications.registered():
        kind = applications.load(name)
        assert kind.examples_from is not Reader.examples_from, name


def test_learning_from_memory_is_learning_from_examples():
    application = CONFIG.create_application()
    examples = application.examples_from(**DATA)
    held = {"X": DATA["X"][:5], "y": DATA["y"][:5]}
    model = learn(CONFIG, data=DATA, held=held)
    assert model.w.tobytes() == learn_on(application, examples, CONFIG).w.tobytes()
    assert model.record["validation"]["examples"] == 5


def test_cross_validation_takes_examples_from_memory(tmp_path):
    rows = (" ".join(f"{j}:{v!r}" for j, v in enumerate(row, 1)) for row in DATA["X"].tolist())
    lines = (f"{y} {row}\n" for y, row in zip(DATA["y"], rows, strict=True))
    (tmp_path / "train.svm").write_text("".join(lines))
    values = CONFIG.to_dict() | {"data": {"train": str(tmp_path / "train.svm")}}
    of_files = cross_validate(Config.from_dict(values))
    assert cross_validate(CONFIG, data=DATA) == of_files


def test_an_application_without_such_a_method_says_so():
    class Silent(Reader):
        def read(self, sources):
            return None

    with pytest.raises(LssvmError, match="Silent reads files only; expected read"):
        Silent().examples_from([])


def test_applications_for_one_example_at_a_time_take_any_values():
    application, examples = random_problem(0)[:2]
    found = application.examples_from(examples.inputs, examples.outputs, costs=examples.costs)
    assert (found.inputs, found.outputs) == (examples.inputs, examples.outputs)
    assert found.fingerprint() == examples.fingerprint()
    with pytest.raises(LssvmError, match="1 output for 2 inputs; expected as many"):
        application.examples_from([0, 1], [0])
