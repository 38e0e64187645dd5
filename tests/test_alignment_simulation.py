"""Simulated homologs: their distribution, the best possible rule, and the shipped files."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from lssvm.applications.alignment.alignment import Alignment, AlignmentOptions
from lssvm.applications.base import Source
from lssvm.errors import LssvmError
from lssvm.simulation import alignment as simulate

ROOT = Path(__file__).parent.parent


def test_shipped_files_are_those_of_the_simulation(tmp_path):
    simulate.write_alignment(tmp_path, seed=0)
    folder = ROOT / "data" / "alignment"
    names = {path.name for path in folder.glob("*.fa")}
    assert names == {path.name for path in tmp_path.glob("*.fa")}
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()


def test_rows_are_read_back_with_their_pairs(tmp_path):
    simulate.write_alignment(tmp_path, seed=3, n=5, n_test=2, decoys=2, length=16)
    rng = np.random.default_rng(3)
    model = simulate.evolution(rng, 0.3, 0.05)
    drawn = [simulate.drawn(rng, model, 16, 2) for _ in range(5)]
    for task, name in (("homolog", "train.fa"), ("pairs", "train-pairs.fa")):
        app = Alignment(AlignmentOptions(task=task))
        examples = app.read([Source(str(tmp_path / name))])
        assert np.all(examples.aligned)
        for i, example in enumerate(drawn):
            first = examples.offsets[i]
            own = examples.partners[examples.places[first] : examples.places[first + 1]]
            found = [(int(place), int(own[place])) for place in np.flatnonzero(own >= 0)]
            assert found == [tuple(pair) for pair in example.pairs.tolist()]
            assert examples.sequence(first + 1) == "".join(
                simulate.LETTERS[code] for code in example.homolog
            )


def test_likelihoods_are_those_of_an_enumeration_of_histories():
    """Of a short native: every part, flanks, deletions and insertions, one after another."""
    model = simulate.evolution(np.random.default_rng(1), 0.3, 0.2)
    length, quarter, gap, extend = 8, 2, model.gap_rate, simulate.EXTENSION
    rng = np.random.default_rng(2)
    native = rng.integers(0, 20, length)
    z = rng.integers(0, 20, 5)
    odds = model.P[native][:, z] / model.r[z]

    def histories(place, last, j, weight):
        """Σ of the weights of all ways on, once letter j of z is paired with ``place``."""
        weight *= odds[place, j]
        if place == last:
            behind = len(z) - 1 - j
            return weight / (quarter + 1) if behind <= quarter else 0.0
        total = 0.0
        for inserted in range(len(z) - j):
            share = 1 - gap if not inserted else gap * (1 - extend) * extend ** (inserted - 1)
            for to in range(place + 1, last + 1):
                removed = to - place - 1
                chance = 1.0
                if removed:
                    chance = gap * extend ** (removed - 1)
                    chance *= 1.0 if to == last else 1 - extend
                elif to < last:
                    chance = 1 - gap
                if j + inserted + 1 < len(z):
                    total += histories(to, last, j + inserted + 1, weight * share * chance)
        return total

    expected = 0.0
    starts, ends = range(quarter + 1), range(length - 1 - quarter, length)
    for start, end, before in itertools.product(starts, ends, range(quarter + 1)):
        expected += histories(start, end, before, 1.0) / (quarter + 1) ** 3
    assert simulate._likelihood(model, odds) == pytest.approx(expected, rel=1e-12)


def test_the_best_rule_gives_each_candidate_its_share():
    """Where it says that a candidate is the homolog with probability p, it is in a share p."""
    rng = np.random.default_rng(5)
    model = simulate.evolution(rng, 0.2, 0.1)
    told, right = [], []
    for _ in range(300):
        example = simulate.drawn(rng, model, 12, 3)
        found = simulate.posteriors(model, example.native, [example.homolog, *example.decoys])
        shares = np.exp(found - found.max())
        told += list(shares / shares.sum())
        right += [1.0, 0.0, 0.0, 0.0]
    told, right = np.array(told), np.array(right)
    deviation = np.sum(right - told) / np.sqrt(np.sum(told * (1 - told)))
    assert abs(deviation) < 1e-6 or abs(deviation) < 3
    weighted = np.sum(told * (right - told)) / np.sqrt(np.sum(told**3 * (1 - told)))
    assert abs(weighted) < 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"conservation": 1.0}, "conservation must be in"),
        ({"gap_rate": -0.1}, "gap_rate must be in"),
        ({"length": 7}, "length must be at least 8"),
        ({"decoys": 0}, "decoys must be at least 1"),
    ],
)
def test_impossible_options_are_refused(options, message, tmp_path):
    with pytest.raises(LssvmError, match=message):
        simulate.write_alignment(tmp_path / "x", **options)
