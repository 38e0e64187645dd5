"""Simulated pairs of entities with mentions, for relation extraction: the files in data/relation.

    lssvm simulate relation --out data/relation

A pair has M mentions, 1 + a geometric number, at most 10. Its relations are drawn next: none with
the given share; else one, relation l with a chance proportional to 1 / l; and, with two mentions or
more, sometimes the next relation as well (after the last comes the first). Then every mention
expresses one of the relations of its pair or none, independently, given that each relation is
expressed at least once: which mention does is hidden.

A mention has three patterns, drawn from a distribution that belongs to what it expresses, and eight
words that say nothing. Each relation has its own patterns, but uses those of others and of none as
well, and none uses all of them. The value of a feature is how often it was drawn.

Words cancel out of the posterior, and the chance that all relations of a pair are expressed is a
sum of products over its mentions (inclusion and exclusion), so that the chance of every relation of
every pair is known exactly. The rule that predicts the relations above a threshold has the largest
expected F1 if the threshold is chosen so (Lipton, Elkan & Naryanaswamy, ECML 2014); its F1 is the
best possible one, but for chance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lssvm.errors import LssvmError, counted
from lssvm.output.whole import replacing
from lssvm.simulation.base import Option, Simulation, begin

MOST_MENTIONS = 10
MORE = 0.5  # chance of a further mention
SECOND = 0.15  # chance of a second relation, of a pair with two mentions or more
EXPRESSED = 0.5  # chance that a mention expresses the relation of its pair
EXPRESSED_TWO = 0.35  # the same for either of two relations
OWN = 0.6  # share of the patterns of a relation that are its own
SPREAD = 0.5  # share of the patterns of none that are those of relations
PATTERNS, WORDS = 3, 8  # of a mention
OWN_PATTERNS = 12  # of each relation, and four times as many of none
_NONE = -1
_AT_ONCE = 20_000  # pairs whose chances are computed at a time


@dataclass(frozen=True)
class Facts:
    """The distribution that pairs are drawn from, of L relations, P patterns and W words.

    none : share of pairs without a relation
    shares : (L,) of the relations among the others
    patterns : (L + 1, P), the distribution of what a mention expresses; none is the last one
    words : (W,)
    """

    none: float
    shares: np.ndarray
    patterns: np.ndarray
    words: np.ndarray


@dataclass(frozen=True)
class Pairs:
    """n pairs.

    places : (n + 1,) where the mentions of each pair begin
    truth : (n, L) bool, its relations
    expressed : (mentions,) the relation of each mention, -1: none
    patterns, words : (mentions, 3) and (mentions, 8)
    """

    places: np.ndarray
    truth: np.ndarray
    expressed: np.ndarray
    patterns: np.ndarray
    words: np.ndarray


def facts(relations: int, features: int, none: float) -> Facts:
    """The distribution of so many relations and features. Raises LssvmError for too few."""
    if not 0.0 <= none < 1.0:
        raise LssvmError(f"none must be at least 0 and below 1, got {none:g}")
    count = (relations + 4) * OWN_PATTERNS
    if features <= count:
        raise LssvmError(
            f"{counted(features, 'feature is', 'features are')} too few for "
            f"{counted(relations, 'relation')}; expected more than {count:,d}"
        )
    own = _falling(OWN_PATTERNS)
    patterns = np.zeros((relations + 1, count))
    patterns[relations, relations * OWN_PATTERNS :] = (1 - SPREAD) * _falling(4 * OWN_PATTERNS)
    patterns[relations, : relations * OWN_PATTERNS] = np.tile(own, relations) * SPREAD / relations
    patterns[:relations] = (1 - OWN) * patterns[relations]
    for relation in range(relations):
        place = relation * OWN_PATTERNS
        patterns[relation, place : place + OWN_PATTERNS] += OWN * own
    return Facts(none, _falling(relations), patterns, _falling(features - count))


def _falling(count: int) -> np.ndarray:
    """Shares proportional to 1, 1/2, 1/3 …"""
    found = 1.0 / np.arange(1, count + 1)
    return found / found.sum()


def drawn(rng: np.random.Generator, world: Facts, n: int) -> Pairs:
    """n pairs."""
    counts = np.minimum(rng.geometric(1 - MORE, n), MOST_MENTIONS)
    relations = len(world.shares)
    first = rng.choice(relations, n, p=world.shares)
    first[rng.random(n) < world.none] = _NONE
    both = (first >= 0) & (counts > 1) & (rng.random(n) < _second(relations))
    second = np.where(both, (first + 1) % relations, _NONE)
    places = np.concatenate([[0], np.cumsum(counts)])
    expressed = _expressed(rng, places, first, second)
    truth = np.zeros((n, relations + 1), dtype=bool)
    truth[np.arange(n), first] = truth[np.arange(n), second] = True
    mentions = len(expressed)
    return Pairs(
        places,
        truth[:, :relations],
        expressed,
        _patterns(rng, world, expressed),
        rng.choice(len(world.words), (mentions, WORDS), p=world.words),
    )


def _second(relations: int) -> float:
    return SECOND if relations > 1 else 0.0


def _expressed(
    rng: np.random.Generator, places: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """What each mention expresses: drawn again until each relation of a pair is expressed."""
    pair = np.repeat(np.arange(len(first)), np.diff(places))
    found = np.full(len(pair), _NONE)
    waiting = first >= 0
    while waiting.any():
        rows = np.flatnonzero(waiting[pair])
        chance, a, b = rng.random(len(rows)), first[pair[rows]], second[pair[rows]]
        one = np.where(chance < EXPRESSED, a, _NONE)
        two = np.where(chance < EXPRESSED_TWO, a, np.where(chance < 2 * EXPRESSED_TWO, b, _NONE))
        found[rows] = np.where(b >= 0, two, one)
        says_first = np.bincount(pair, found == first[pair]) > 0
        says_second = (second < 0) | (np.bincount(pair, found == second[pair]) > 0)
        waiting &= ~(says_first & says_second)
    return found


def _patterns(rng: np.random.Generator, world: Facts, expressed: np.ndarray) -> np.ndarray:
    """The patterns of mentions that express these relations, (mentions, 3)."""
    found = np.empty((len(expressed), PATTERNS), dtype=np.int64)
    for relation in range(-1, len(world.shares)):
        rows = np.flatnonzero(expressed == relation)
        shares = world.patterns[relation]
        found[rows] = rng.choice(len(shares), (len(rows), PATTERNS), p=shares)
    return found


def chances(world: Facts, pairs: Pairs) -> np.ndarray:
    """The posterior chance of every relation of every pair, given all its features, (n, L)."""
    found = np.empty(pairs.truth.shape)
    for row in range(0, len(found), _AT_ONCE):
        places = pairs.places[row : row + _AT_ONCE + 1]
        patterns = pairs.patterns[places[0] : places[-1]]
        found[row : row + _AT_ONCE] = _chances(world, places - places[0], patterns)
    return found


def _chances(world: Facts, places: np.ndarray, patterns: np.ndarray) -> np.ndarray:
    logs = np.log(world.patterns[:-1]) - np.log(world.patterns[-1])
    ratios = np.exp(logs.T[patterns].sum(axis=1))  # (mentions, L), of the relation and of none

    def product(none: float, first: float, second: float = 0.0) -> np.ndarray:
        """Π over mentions of none + first R_l + second R_l+1, (n, L)."""
        factors = none + first * ratios
        if second:
            factors += second * np.roll(ratios, -1, axis=1)
        return np.multiply.reduceat(factors, places[:-1], axis=0)

    counts = np.diff(places)[:, None]
    rest, rest_two = 1 - EXPRESSED, 1 - 2 * EXPRESSED_TWO
    one = (product(rest, EXPRESSED) - rest**counts) / (1 - rest**counts)
    several = counts > 1
    apart = product(rest_two, EXPRESSED_TWO)
    two = product(rest_two, EXPRESSED_TWO, EXPRESSED_TWO)
    two += rest_two**counts - apart - np.roll(apart, -1, axis=1)
    possible = 1 - 2 * (1 - EXPRESSED_TWO) ** counts + rest_two**counts
    two = np.where(several, np.maximum(two, 0.0) / np.where(several, possible, 1.0), 0.0)
    second = np.where(several, _second(len(world.shares)), 0.0)
    shares = (1 - world.none) * world.shares
    one, two = shares * (1 - second) * one, shares * second * two
    total = world.none + one.sum(axis=1) + two.sum(axis=1)
    return (one + two + np.roll(two, 1, axis=1)) / total[:, None]


def best_rule(found: np.ndarray) -> np.ndarray:
    """The relations with the largest expected F1 in all pairs together, (n, L) bool.

    found : (n, L), the chance of each
    """
    ranked = np.sort(found, axis=None)[::-1]
    expected = 2 * np.cumsum(ranked) / (found.sum() + np.arange(1, ranked.size + 1))
    return found >= ranked[np.argmax(expected)]


def write_pairs(
    folder: Path,
    *,
    seed: int = 0,
    n: int = 400,
    n_test: int = 200,
    relations: int = 5,
    features: int = 1000,
    none: float = 0.5,
) -> str:
    """Write train.txt and test.txt; returns precision, recall and F1 of the best possible rule.

    n, n_test : pairs; relations, features : how many there are; none : share of pairs without a
    relation. Raises LssvmError for impossible sizes, or if files cannot be written.
    """
    sizes = {"n": n, "n_test": n_test, "relations": relations}
    if min(sizes.values()) >= 1:
        world = facts(relations, features, none)
    begin(folder, **sizes)
    rng = np.random.default_rng(seed)
    for name, count in {"train": n, "test": n_test}.items():
        pairs = drawn(rng, world, count)
        write_bags(folder / f"{name}.txt", world, pairs)
    with replacing(folder / "relations.tsv") as file:
        file.writelines(f"{number}\trelation-{number}\n" for number in range(1, relations + 1))
    with replacing(folder / "features.tsv") as file:
        file.writelines(_feature_lines(world, features))
    rule = best_rule(chances(world, pairs))
    both, true, found = (rule & pairs.truth).sum(), pairs.truth.sum(), rule.sum()
    figures = {
        "precision": both / max(1, found),
        "recall": both / max(1, true),
        "f1": 2 * both / max(1, true + found),
    }
    lines = ["test.txt with the rule of the largest expected F1 under the true model:"]
    return "\n".join([*lines, *(f"{name:<9} {100 * x:.6g}" for name, x in figures.items())])


def write_bags(path: Path, world: Facts, pairs: Pairs) -> None:
    """Write a file in the text format. Raises LssvmError if it cannot be written."""
    with replacing(path) as file:
        file.writelines(_lines(pairs, world.patterns.shape[1], len(world.shares)))


def _feature_lines(world: Facts, features: int) -> Iterator[str]:
    """Lines of the number and the name of each feature."""
    relations, count = len(world.shares), world.patterns.shape[1]
    for number in range(1, features + 1):
        relation, place = divmod(number - 1, OWN_PATTERNS)
        if relation < relations:
            yield f"{number}\tpattern-{relation + 1}-{place + 1}\n"
        elif number <= count:
            yield f"{number}\tpattern-none-{number - relations * OWN_PATTERNS}\n"
        else:
            yield f"{number}\tword-{number - count}\n"


def _lines(pairs: Pairs, first_word: int, relations: int) -> Iterator[str]:
    """The lines of a file in the text format. first_word : the number of patterns"""
    drawn_features = np.concatenate([pairs.patterns, pairs.words + first_word], axis=1)
    width = int(drawn_features.max()) + 1
    codes = drawn_features + width * np.arange(len(drawn_features))[:, None]
    different, counts = np.unique(codes, return_counts=True)
    starts = np.searchsorted(different, width * np.arange(len(drawn_features) + 1)).tolist()
    numbers = (different % width + 1).tolist()
    words = [f"{number}:{count}" for number, count in zip(numbers, counts.tolist(), strict=True)]
    places = pairs.places.tolist()
    yield f"{len(pairs.truth)}\n{relations}\n"
    for pair, labels in enumerate(pairs.truth):
        own = (np.flatnonzero(labels) + 1).tolist()
        yield "".join(f"{number}\n" for number in [len(own), *own])
        first, last = places[pair], places[pair + 1]
        yield f"{last - first}\n"
        for a, b in zip(starts[first:last], starts[first + 1 : last + 1], strict=True):
            yield f"{b - a}\t{' '.join(words[a:b])}\n"


CONFIGURATION = """\
# Relations of pairs of entities whose mentions are not labelled, trained for F1 over all pairs.
# lssvm-learn relation.yaml relation.model
application:
  name: relation
  relation_names: relations.tsv
  feature_names: features.tsv
  loss: f_beta
  beta: 1.0
data: {train: train.txt, validate: test.txt, test: test.txt}
objective: {model: lssvm, C: 0.1}
solver: {method: bundle, epsilon: 5e-2}
cccp: {tolerance: 5e-2, max_iterations: 20}
seed: 0
"""
SIMULATION = Simulation(
    text="Pairs of entities with mentions, few of which express a relation of their pair.",
    options=(
        Option("n", 400, "Training pairs."),
        Option("n_test", 200, "Test pairs."),
        Option("relations", 5, "Number of relations."),
        Option("features", 1000, "Number of features."),
        Option("none", 0.5, "Share of pairs without a relation.", "X"),
    ),
    data=("train.txt", "test.txt", "relations.tsv", "features.tsv"),
    configurations={"relation.yaml": CONFIGURATION},
    write=write_pairs,
)
