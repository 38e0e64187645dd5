"""Values of 1, as attributes have them, are stored once; nothing but the memory tells."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from lssvm.applications.base import Formulation
from lssvm.applications.sequence.examples import is_one, packed
from lssvm.applications.sequence.latent_sequence import (
    LatentSequenceLabelling,
    LatentSequenceOptions,
)
from lssvm.applications.sequence.sequence import SequenceLabelling, SequenceOptions
from lssvm.applications.sequence.vocabulary import Vocabulary
from lssvm.config import Config
from lssvm.training.session import learn_on

WIDTH = 40


def application(model):
    formulation = Formulation(model)
    if model == "hcrf":
        options = LatentSequenceOptions(format="svm_hmm", substates=2)
        return LatentSequenceLabelling(options, formulation)
    return SequenceLabelling(SequenceOptions(format="svm_hmm"), formulation)


def attributes(value=1.0, tokens=36):
    """Sequences of tokens with some 10 attributes."""
    rng = np.random.default_rng(1)
    rows = sparse.csr_array(value * (rng.random((tokens, WIDTH)) < 0.25))
    tags = list(np.array(["a", "b", "c"])[rng.integers(3, size=tokens)])
    offsets = np.array([0, 5, 5, 6, 20, tokens])
    return packed(rows, tags, offsets, Vocabulary(("a", "b", "c"), WIDTH))


def written_out(examples):
    """The same examples, with every value stored by itself."""
    return replace(examples, values=np.ones(len(examples.indices)))


def test_values_of_one_take_no_memory_and_others_do():
    assert is_one(attributes().values)
    assert not is_one(attributes(2.0).values)
    assert not is_one(written_out(attributes()).values)
    assert np.all(attributes().values == 1.0)
    assert len(attributes().values) == len(attributes().indices)


def test_a_selection_of_such_examples_is_stored_in_the_same_way():
    examples = attributes()
    for part in (examples.take(np.array([3, 1, 0])), examples.slice(1, 4)):
        assert is_one(part.values)
        expected = part.inputs
        np.testing.assert_array_equal(written_out(part).inputs.toarray(), expected.toarray())
    assert examples.fingerprint() == written_out(examples).fingerprint()


@pytest.mark.parametrize("model", ["ssvm", "crf", "hcrf"])
def test_planes_and_predictions_are_the_same_to_the_last_bit(model):
    own, examples = application(model), attributes()
    other = written_out(examples)
    w = np.random.default_rng(2).normal(size=own.dimension(examples))
    for first, second in ((examples, other), (examples.slice(2, 5), other.slice(2, 5))):
        mine, theirs = own.augmented(w, first), own.augmented(w, second)
        np.testing.assert_array_equal(mine[0].gradient, theirs[0].gradient)
        assert mine[0].loss == theirs[0].loss
        assert mine[1] == theirs[1]
        found, expected = own.predict(w, first), own.predict(w, second)
        np.testing.assert_array_equal(found.labels, expected.labels)


@pytest.mark.parametrize("method", ["dual-coordinate", "bundle", "n-slack"])
def test_models_are_the_same_to_the_last_bit(method):
    config = Config.from_dict(
        {
            "application": {"name": "sequence", "format": "svm_hmm"},
            "objective": {"C": 1.0},
            "solver": {"method": method, "epsilon": 1e-4},
        }
    )
    models = [
        learn_on(config.create_application(), examples, config)
        for examples in (attributes(), written_out(attributes()))
    ]
    np.testing.assert_array_equal(models[0].w, models[1].w)
    assert np.any(models[0].w)
    assert models[0].record == models[1].record
