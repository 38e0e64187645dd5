"""Small random documents of mention pairs for the tests of both clustering applications."""

import numpy as np
import reference

from lssvm.applications.base import Source
from lssvm.config import Config


def pairs_text(documents):
    """The text form of documents (clusters, {pair: {feature: value}}, cost), mentions from 0."""
    lines = []
    for number, (clusters, features, cost) in enumerate(documents):
        lines += [f"document d{number} cost={cost}", "clusters " + " ".join(map(str, clusters))]
        for i, j in reference.mention_pairs(len(clusters), len(clusters)):
            values = " ".join(f"{k + 1}:{v}" for k, v in features[i, j].items())
            lines.append(f"pair {i + 1} {j + 1} {values}".rstrip())
    return "\n".join(lines) + "\n"


def random_documents(rng, dimension, most=5):
    """Up to three documents of up to ``most`` mentions, features multiples of 1/8."""
    documents = []
    for _ in range(rng.integers(1, 4)):
        n = int(rng.integers(1, most + 1))
        features = {
            pair: {
                int(k): int(rng.integers(-8, 9)) / 8
                for k in np.flatnonzero(rng.integers(2, size=dimension))
            }
            for pair in reference.mention_pairs(n, n)
        }
        documents.append((rng.integers(1, 4, size=n).tolist(), features, rng.integers(9) / 8))
    return documents


def told_apart(rng, name, dimension, folder):
    """A configuration and documents in which feature 2 says which mentions belong together."""
    documents = []
    for _ in range(12):
        clusters = rng.integers(0, 3, 7).tolist()
        features = {
            (i, j): {0: 1.0, 1: float(clusters[i] == clusters[j]), 2: float(rng.integers(2))}
            for i, j in reference.mention_pairs(7, 7)
        }
        documents.append((clusters, features, 1))
    sections = {
        "application": {"name": name, "features": dimension},
        "data": {"train": "x.pairs"},
        "objective": {"C": 10},
    }
    return Config.from_dict(sections, base=folder), documents


def dense(features, pair, dimension):
    """The feature vector of a pair."""
    vector = np.zeros(dimension)
    for k, value in features[pair].items():
        vector[k] = value
    return vector


def read(app, folder, documents):
    """The documents as an application reads them."""
    (folder / "x.pairs").write_text(pairs_text(documents))
    return app.read([Source(str(folder / "x.pairs"))])


def cut(clusters, reach):
    """Labels of the clusters with links longer than ``reach`` cut."""
    labels, last = [], {}
    for i, cluster in enumerate(clusters):
        known = cluster in last and i - last[cluster][0] <= reach
        label = last[cluster][1] if known else i
        last[cluster] = (i, label)
        labels.append(label)
    return labels
