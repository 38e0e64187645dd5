"""Simulated queries of the shape of MSLR-WEB, and a pairwise linear SVM on them.

About 120 documents a query and 136 features on scales from 0.1 to 1,000, half of them with a heavy
tail. What a query's documents have in common is larger in most features than what tells them apart;
labels from 0 to 4 come from a hidden usefulness with an error, and documents from label 2 on, a
tenth of them, are relevant.
"""

import time
from itertools import pairwise

import numpy as np

from lssvm.applications.ranking.queries import Queries

FEATURES, MEAN = 136, 120
RELEVANT_FROM = 2.0
THRESHOLDS = (0.05, 1.3, 2.4, 3.1)  # of the labels 1 to 4
PAIRS = 50  # of a query, that the pairwise SVM is given
TEST_SEED, TEST_DOCUMENTS = 1, 50_000


class World:
    """What the features of all queries have in common."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.scales = 10.0 ** rng.uniform(-1, 3, FEATURES)
        self.strength = 0.45 * rng.normal(size=FEATURES) * (rng.random(FEATURES) < 0.5)
        self.heavy = rng.random(FEATURES) < 0.5
        self.factors = 0.5 * rng.normal(size=(8, FEATURES))

    def query(self, rng, count):
        """Labels (count,) and features (FEATURES, count) of the documents of a query."""
        useful = rng.normal(size=count)
        values = self.strength * useful[:, None] + 0.7 * rng.normal(size=FEATURES)
        values += rng.normal(size=(count, 8)) @ self.factors + rng.normal(size=(count, FEATURES))
        values[:, self.heavy] = np.exp(0.7 * values[:, self.heavy])
        labels = useful + 0.4 * rng.normal() + 0.8 * rng.normal(size=count)
        return np.digitize(labels, THRESHOLDS), (values * self.scales).T


def simulated(documents, seed=2):
    """About so many documents in queries, in memory."""
    rng, world, n = np.random.default_rng(seed), World(), documents // MEAN
    sizes = np.maximum(20, rng.poisson(MEAN, n) + rng.integers(-60, 61, n))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    total = int(offsets[-1])
    labels, dense = np.empty(total), np.empty(total * FEATURES)
    for a, b in pairwise(offsets.tolist()):
        labels[a:b], values = world.query(rng, b - a)
        dense[a * FEATURES : b * FEATURES] = values.ravel()
    return Queries(
        offsets=offsets,
        labels=labels,
        relevant=(labels >= RELEVANT_FROM).astype(np.uint8),
        dense=dense,
        indices=np.empty(0, dtype=np.int32),
        values=np.empty(0),
        starts=np.empty(0, dtype=np.int64),
        dimension=FEATURES,
        costs=np.ones(n),
        positions=np.arange(total),
        documents=np.full(total, "", dtype=object),
        named=np.zeros(total, dtype=bool),
        identifiers=np.arange(n).astype(str).astype(object),
        lines=offsets[:-1] + 1,
        files=np.zeros(n, dtype=np.int32),
        paths=("simulated",),
        labelled=True,
    )


def scores_of(application, w):
    """MAP and P@10 of held-out queries, scaled as the training data were."""
    test = application.scaler.scaled(simulated(TEST_DOCUMENTS, TEST_SEED))
    found = application.score(test, application.predict(w, test))
    return {"MAP": found["MAP"], "P@10": found["P@10"]}


def differences(examples):
    """Relevant less other documents, PAIRS drawn in each query, and signs of halves of them."""
    rng, pairs = np.random.default_rng(3), []
    for a, b in pairwise(examples.offsets.tolist()):
        better = np.flatnonzero(examples.relevant[a:b])
        worse = np.flatnonzero(examples.relevant[a:b] == 0)
        if len(better) and len(worse):
            block = examples.dense[a * FEATURES : b * FEATURES].reshape(FEATURES, b - a)
            pairs.append((block, rng.choice(better, PAIRS), rng.choice(worse, PAIRS)))
    rows = np.empty((PAIRS * len(pairs), FEATURES))
    for place, (block, better, worse) in enumerate(pairs):
        rows[PAIRS * place : PAIRS * (place + 1)] = (block[:, better] - block[:, worse]).T
    signs = np.where(np.arange(len(rows)) % 2, 1.0, -1.0)
    rows *= signs[:, None]
    return rows, signs


def pairwise_svm(examples, C, tolerance):
    """LinearSVC with squared hinges in the primal: its weights, seconds and relative gap.

    Every query weighs as much as in the ranking: each pair has C / PAIRS.
    """
    from sklearn.svm import LinearSVC

    rows, signs = differences(examples)
    each = C / PAIRS
    peer = LinearSVC(C=each, loss="squared_hinge", dual=False, tol=tolerance, fit_intercept=False)
    used = time.process_time()
    peer.fit(rows, signs)
    seconds, w = time.process_time() - used, peer.coef_[0]
    slacks = np.maximum(0.0, 1.0 - signs * (rows @ w))
    alpha = 2.0 * each * slacks
    primal = 0.5 * float(w @ w) + each * float(slacks @ slacks)
    combined = (alpha * signs) @ rows
    dual = float(alpha.sum() - alpha @ alpha / (4.0 * each) - 0.5 * (combined @ combined))
    return w, seconds, (primal - dual) / primal, len(rows)
