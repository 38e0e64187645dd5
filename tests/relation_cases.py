"""Tiny data sets of pairs with mentions, and slow answers about them from the definitions."""

import itertools

import numpy as np
from scipy import sparse

from lssvm.applications.base import Formulation
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.relation import Relation
from lssvm.applications.relation.relation_options import RelationOptions
from lssvm.applications.relation.vocabulary import Vocabulary


def bags_of(inputs, counts, labels, relations, costs=None):
    """Pairs with so many mentions and these relations, in memory."""
    n, places = len(counts), np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Bags(
        costs=np.ones(n) if costs is None else costs,
        identifiers=np.array([f"b{i}" for i in range(n)], dtype=object),
        lines=np.arange(n) + 1,
        files=np.zeros(n, dtype=np.int32),
        paths=("x",),
        labelled=True,
        inputs=sparse.csr_array(inputs),
        places=places,
        label_places=np.concatenate([[0], np.cumsum(list(map(len, labels)))]).astype(np.int64),
        labels=np.concatenate(labels).astype(np.int32),
        known=np.ones(n, dtype=bool),
        relations=relations,
        entities=np.full((n, 2), None, dtype=object),
        mention_texts=np.empty(0, dtype=object),
    )


def problem(rng, n=4, mentions=3, relations=3, features=3, costs=False, **options):
    """An application and pairs that can reach their truth; all numbers are multiples of 1/4."""
    counts = rng.integers(1, mentions + 1, n)
    inputs = rng.integers(-4, 5, (int(counts.sum()), features)) / 4
    labels = [
        np.sort(rng.permutation(relations)[: rng.integers(0, min(relations, count) + 1)])
        for count in counts
    ]
    names = tuple(f"r{k}" for k in range(relations))
    app = Relation(RelationOptions(bias=0.0, **options), Formulation("lssvm"))
    app.vocabulary = Vocabulary(
        names, np.arange(relations) + 1, np.arange(features), None, bias=False
    )
    given = 1.0 + rng.integers(0, 3, n) if costs else None
    return app, bags_of(inputs, counts, labels, names, given)


def labellings(count, relations):
    """All labels of so many mentions, none being the last one."""
    return itertools.product(range(relations + 1), repeat=count)


def used(labels, relations):
    return frozenset(label for label in labels if label < relations)


def best_by_set(scores):
    """The highest score of a pair for each set of relations that its mentions can have."""
    found = {}
    relations = scores.shape[1] - 1
    for labels in labellings(len(scores), relations):
        key = used(labels, relations)
        value = sum(scores[m, label] for m, label in enumerate(labels))
        found[key] = max(found.get(key, -np.inf), value)
    return found


def micro_loss(truth, chosen, beta, n):
    hits = sum(len(t & c) for t, c in zip(truth, chosen, strict=True))
    missed = sum(len(t - c) for t, c in zip(truth, chosen, strict=True))
    extra = sum(len(c - t) for t, c in zip(truth, chosen, strict=True))
    if missed + extra == 0:
        return 0.0
    return n * (1.0 - (1 + beta**2) * hits / ((1 + beta**2) * hits + beta**2 * missed + extra))


def macro_loss(truth, chosen, beta, n):
    occurring = sorted(frozenset().union(*truth))
    if not occurring:
        return 0.0
    losses = [
        micro_loss([t & {k} for t in truth], [c & {k} for c in chosen], beta, n) for k in occurring
    ]
    return sum(losses) / len(losses)
