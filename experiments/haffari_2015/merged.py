"""One relation for each bag, by logistic regression on its merged mentions (scikit-learn).

The features of a bag are the sums over its mentions (Mintz et al., ACL 2009). Each class, none
among them, is told from the rest; a bag with several relations is given once for each in training.
The prediction is the likeliest class, which may be none. The score of a relation is its share of
the probabilities of all classes.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from lssvm import sparse
from lssvm.applications.relation.bags import Bags
from lssvm.offsets import narrowed


def merged(bags: Bags) -> "sparse.csr_array":
    """The sums of the features of the mentions of each bag, (n, features)."""
    mentions = bags.inputs.shape[0]
    ones, places = np.ones(mentions), np.arange(mentions, dtype=np.int32)
    adding = sparse.csr_array((ones, places, narrowed(bags.places)), (len(bags), mentions))
    return sparse.csr_array(adding @ bags.inputs)


def trained(bags: Bags, relations: int, C: float) -> OneVsRestClassifier:
    """The classifier; class L is none."""
    counts = np.maximum(bags.label_counts, 1)
    rows = np.repeat(np.arange(len(bags)), counts)
    classes = np.full(len(rows), relations)
    classes[np.repeat(bags.label_counts > 0, counts)] = bags.labels
    model = OneVsRestClassifier(LogisticRegression(C=C, solver="liblinear"))
    return model.fit(merged(bags)[rows.astype(np.int32)], classes)


def predicted(
    model: OneVsRestClassifier, bags: Bags, relations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which relations each bag has, (n, L) bool, and their probabilities, (n, L)."""
    chances = np.zeros((len(bags), relations + 1))
    chances[:, model.classes_] = model.predict_proba(merged(bags))
    found = np.zeros_like(chances, dtype=bool)
    found[np.arange(len(bags)), chances.argmax(axis=1)] = True
    return found[:, :relations], chances[:, :relations]
