"""Simulated fields: drawn as said, sampled from the density, and packed with its weights."""

import itertools

import numpy as np
import pytest

from experiments.ping_2014.hidden_fields import Draw, drawn, graphs, lattice, sampled
from lssvm.applications.base import Formulation
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.formats.mrf_text import HIDDEN

SHAPES = {"chain": (3, 1), "grid": (2, 2), "wide grid": (2, 3)}


def log_density(field, x, states):
    """The exponent of p(x, y, h), term by term."""
    nodes = sum(
        field.observed[v, x[v]] + field.single[v, s] + field.symbols[v, x[v], s]
        for v, s in enumerate(states)
    )
    return nodes + sum(
        table[states[y], states[h]] for (y, h), table in zip(field.ends, field.pairs, strict=True)
    )


def test_every_edge_joins_an_output_and_a_hidden_node_beside_it():
    hidden, ends = lattice(6, 6)
    assert hidden.sum() == 18
    assert len(ends) == 2 * 6 * 5
    for y, h in ends:
        assert not hidden[y]
        assert hidden[h]
        assert abs(y // 6 - h // 6) + abs(y % 6 - h % 6) == 1
    hidden, ends = lattice(5, 1)
    assert hidden.tolist() == [False, True, False, True, False]
    assert sorted(map(sorted, ends.tolist())) == [[0, 1], [1, 2], [2, 3], [3, 4]]


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_samples_follow_the_density(shape, joint):
    rows, columns = SHAPES[shape]
    draw = Draw(rows, columns, 1.0, 1.5, 0.8, 0.7, 0.6, 0.5, joint=joint, states=2)
    rng = np.random.default_rng(3)
    field = drawn(rng, draw)
    size = rows * columns
    every = list(itertools.product(range(2), repeat=size))
    logs = np.array([[log_density(field, x, states) for states in every] for x in every])
    shares = np.exp(logs)
    if joint:
        shares /= shares.sum()
    else:
        own = [np.exp(sum(field.observed[v, s] for v, s in enumerate(x))) for x in every]
        shares *= (own / np.sum(own) / shares.sum(axis=1))[:, None]
    count = 2000
    x, states = sampled(rng, field, count)
    place = 2 ** np.arange(size)[::-1]
    found = np.zeros_like(shares)
    np.add.at(found, (x @ place, states @ place), 1.0)
    found /= count
    # Of all states, of all symbols, and of both together: what is often seen, within five errors.
    for expected, seen in (
        (shares.sum(axis=0), found.sum(axis=0)),
        (shares.sum(axis=1), found.sum(axis=1)),
        (shares, found),
    ):
        often = expected > 20 / count
        errors = np.sqrt(expected * (1 - expected) / count)
        assert often.any()
        assert np.all(np.abs(seen - expected)[often] <= 5 * errors[often])


@pytest.mark.parametrize("tied", [True, False])
def test_the_application_scores_samples_by_the_exponent_of_the_density(tied):
    draw = Draw(3, 2, tied=tied, states=3)
    rng = np.random.default_rng(5)
    field = drawn(rng, draw)
    x, states = sampled(rng, field, 4)
    examples = graphs(field, x, states)
    np.testing.assert_array_equal(examples.labels.reshape(4, 6) == HIDDEN, [field.hidden] * 4)
    # Completion: the maximum over the hidden states alone.
    application = MarkovRandomField(MrfOptions(), Formulation("lssvm"))
    assert application.dimension(examples) == len(field.weights)
    for i in range(4):
        best = max(
            log_density(field, x[i], np.where(field.hidden, h, states[i]))
            for h in itertools.product(range(3), repeat=6)
        )
        best -= sum(field.observed[v, x[i, v]] for v in range(6))  # the same for all states
        plane = application.completed(field.weights, examples.slice(i, i + 1))
        assert plane.value(field.weights) == pytest.approx(best)


def test_tied_fields_have_one_table_of_each_kind():
    field = drawn(np.random.default_rng(0), Draw(6, 1, tied=True))
    assert len(field.weights) == 2 * 20 + 16
    assert (field.single[::2] == field.single[0]).all()
    assert (field.symbols[::2] == field.symbols[0]).all()
    assert (field.symbols[1::2] == field.symbols[1]).all()
    assert (field.pairs == field.pairs[0]).all()


def test_the_scales_are_those_of_the_kinds_of_nodes_and_edges():
    draws = [Draw(400, 1, 1.0, 2.0, 3.0, 0.2, 0.4, sigma) for sigma in (0.1, 0.3)]
    weak, strong = (drawn(np.random.default_rng(0), draw) for draw in draws)
    assert weak.symbols[~weak.hidden].std() == pytest.approx(1.0, rel=0.1)
    assert weak.symbols[weak.hidden].std() == pytest.approx(3.0, rel=0.1)
    assert weak.pairs.std() == pytest.approx(2.0, rel=0.1)
    assert weak.observed.std() == pytest.approx(0.2, rel=0.1)
    assert weak.single[~weak.hidden].std() == pytest.approx(0.4, rel=0.1)
    assert weak.single[weak.hidden].std() == pytest.approx(0.1, rel=0.1)
    np.testing.assert_allclose(strong.single[strong.hidden], 3 * weak.single[weak.hidden])
    np.testing.assert_array_equal(strong.pairs, weak.pairs)


def test_the_numbers_of_the_paper_are_the_defaults():
    assert Draw() == Draw(20, 1, 2.0, 2.0, 2.0, 0.1, 0.1, 0.1, tied=False, joint=True, states=4)
