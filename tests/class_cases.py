"""Tiny random problems of multiclass and taxonomy, with answers from the definitions."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from lssvm.applications.base import Formulation
from lssvm.applications.multiclass.labelled_rows import in_memory

FORMULATIONS = [(rescaling, norm) for rescaling in ("margin", "slack") for norm in (0, 1, 2)]


def formulation(rescaling, norm):
    return Formulation("ssvm", rescaling, norm)


def rows_of(rng, app, classes, features):
    """Examples of a few classes, dense or sparse, all numbers multiples of 1/8."""
    count = int(rng.choice([1, 2, 5, 40]))
    x = rng.integers(-4, 5, (count, features)) / 8
    x[rng.random(x.shape) < 0.3] = 0.0
    if rng.random() < 0.3:
        x[:] = x[0]
    labels = rng.integers(0, len(classes), count)
    matrix = sparse.csr_array(x) if rng.random() < 0.5 else x
    examples = in_memory(matrix, labels, classes, len(app.columns))
    return replace(examples, costs=rng.integers(1, 17, count) / 8), x, labels


def equal(found, expected):
    """Compare two arrays; ten times as fast as numpy.testing, in thousands of problems."""
    assert np.array_equal(found, expected), (found, expected)


def check_against_enumeration(app, examples, x, labels, phi, losses, w):
    """Planes, maxima, classes and gradients against all classes of every example.

    phi : (row, class) -> (d,); losses : (classes, classes)
    """
    rescaling, norm = app.formulation.rescaling, app.formulation.slack_norm
    exact = norm != 2
    margins = np.sqrt(losses) if norm == 2 else losses
    gradient, truth, loss, found, values, parts = (
        np.zeros(len(w)),
        np.zeros(len(w)),
        0.0,
        [],
        [],
        [],
    )
    every = [[phi(row, k) for k in range(len(losses))] for row in x]
    for features, y, cost in zip(every, labels, examples.costs, strict=True):
        scores = [float(feature @ w) for feature in features]
        if rescaling == "margin":
            augmented = [margins[y, k] + scores[k] for k in range(len(losses))]
        else:
            augmented = [margins[y, k] * (1.0 + scores[k] - scores[y]) for k in range(len(losses))]
        best = augmented.index(max(augmented))
        slope = features[best]
        if rescaling == "slack":
            slope = margins[y, best] * (features[best] - features[y]) + features[y]
        found.append(best)
        values.append(augmented[best] + (scores[y] if rescaling == "slack" else 0.0))
        parts.append(slope)
        gradient += cost * slope
        truth += cost * features[y]
        loss += cost * margins[y, best]

    def same(got, expected):
        if exact:
            equal(got, expected)
        else:
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)

    plane, upper = app.augmented(w, examples)
    same(plane.gradient, gradient)
    same(plane.loss, loss)
    assert upper == plane.value(w)
    same(upper, float(examples.costs @ np.array(values)))
    each = app.augmented_each(w, examples)
    assert each.outputs.tolist() == found
    equal(each.values, values)
    equal(each.uppers, each.values)
    equal(each.losses, margins[labels, found])
    rows = np.arange(len(labels))[:: 1 + len(labels) // 4]
    slopes = app.gradients(examples, each, rows)
    same(slopes.toarray(), np.array(parts)[rows])
    same(slopes @ w + each.losses[rows], each.values[rows])
    completed = app.completed(w, examples)
    equal(completed.gradient, truth)
    assert completed.loss == 0.0
    start = app.start(examples, np.random.default_rng(0))
    equal(start.gradient, truth)
    own = app.completed_each(w, examples)
    expected = np.array([features[y] for features, y in zip(every, labels, strict=True)])
    equal(own.values, expected @ w)
    assert not own.losses.any()
    equal(app.gradients(examples, own, rows).toarray(), expected[rows])
    scores = np.array(every) @ w
    predictions = app.predict(w, examples)
    equal(predictions.labels, scores.argmax(axis=1))
    equal(predictions.values, scores.max(axis=1))
    equal(app.scores(w, examples), scores)
