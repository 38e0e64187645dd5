"""What docstrings show of examples in memory and of estimators is what happens."""

import doctest
from importlib import import_module

import pytest

PACKAGE = [
    "applications.alignment.given_alignments",
    "applications.coreference.given_documents",
    "applications.motif.given_sequences",
    "applications.mrf.given_graphs",
    "applications.multiclass.given_rows",
    "applications.parsing.given_trees",
    "applications.ranking.given_queries",
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
