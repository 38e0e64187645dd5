"""One relation for each bag, by logistic regression on its merged mentions (scikit-learn).

The features of a bag are the sums over its mentions (Mintz et al., ACL 2009). Each class, none
among them, is told from the rest; a bag with several relations is given once for each in training.
The prediction is the likeliest class, which may be none. The score of a relation is its share of
the probabilities of all classes.
"""

from collections.abc import Mapping

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from lssvm import sparse
from lssvm.applications.relation.bags import Bags
from lssvm.offsets import narrowed

ITERATIONS = 2000  # at most; scikit-learn's 100 are too few for some classes


def merged(bags: Bags) -> "sparse.csr_array":
    """The sums of the features of the mentions of each bag, (n, features)."""
    mentions = bags.inputs.shape[0]
    ones, places = np.ones(mentions), np.arange(mentions, dtype=np.int32)
    adding = sparse.csr_array((ones, places, narrowed(bags.places)), (len(bags), mentions))
    return sparse.csr_array(adding @ bags.inputs)


def trained(bags: Bags, relations: int, C: float) -> dict[str, np.ndarray]:
    """Classes (K,), and weights (features, K) and intercepts (K,) of each; class L is none."""
    counts = np.maximum(bags.label_counts, 1)
    rows = np.repeat(np.arange(len(bags)), counts)
    labels = np.full(len(rows), relations)
    labels[np.repeat(bags.label_counts > 0, counts)] = bags.labels
    inputs, classes = merged(bags)[rows.astype(np.int32)], np.unique(labels)
    models = [
        LogisticRegression(C=C, solver="liblinear", max_iter=ITERATIONS).fit(inputs, labels == each)
        for each in classes
    ]
    weights = np.column_stack([model.coef_[0] for model in models])
    intercepts = np.array([model.intercept_[0] for model in models])
    return {"classes": classes, "weights": weights, "intercepts": intercepts}


def predicted(
    model: Mapping[str, np.ndarray], bags: Bags, relations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which relations each bag has, (n, L) bool, and their probabilities, (n, L)."""
    own = expit(merged(bags) @ model["weights"] + model["intercepts"])
    chances = np.zeros((len(bags), relations + 1))
    chances[:, model["classes"]] = own / own.sum(axis=1, keepdims=True)
    found = np.zeros_like(chances, dtype=bool)
    found[np.arange(len(bags)), chances.argmax(axis=1)] = True
    return found[:, :relations], chances[:, :relations]
