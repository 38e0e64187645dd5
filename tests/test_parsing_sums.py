"""Sums over derivations against enumeration, by products and in the log domain."""

import numpy as np
import parsing_cases as cases
import pytest
from scipy.special import logsumexp

from lssvm.kernels import _parsing_soft

KINDS = {"plain": {}, "spans": {"spans": True}, "free": {"free": True}, "parts": {"parts": 2}}


def features(case, derivation):
    """Counts of rules, of rows and labels of spans, and of words and parts of speech."""
    nodes, tags = cases.nodes_of(case.grammar, derivation)
    rules = np.bincount([r for r, _, _ in nodes], minlength=len(case.w)).astype(float)
    spans = np.zeros(case.spans.shape)
    for (label, start, end), count in cases.brackets_of(case.grammar, derivation).items():
        for row in case.rows_of(start, end):
            spans[row, label] += count
    words = np.zeros(case.emissions.shape)
    for i, tag in enumerate(tags if len(words) else ()):
        words[i, tag] += 1
    return np.concatenate([rules, spans.ravel(), words.ravel()])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_sums_are_those_of_enumeration(kind, scale):
    for seed in range(50 if scale > 1 else 200):
        case = cases.Case(seed, zero=seed % 5 == 0, **KINDS[kind])
        case.w, case.spans, case.emissions = (
            scale * each for each in (case.w, case.spans, case.emissions)
        )
        same = np.array([cases.as_read(case.grammar, d) == case.truth for d in case.all])
        every = np.array([features(case, d) for d in case.all])
        scores = np.array(list(map(case.score, case.all)))
        for over, chosen in (
            (_parsing_soft.ALL, same | True),
            (_parsing_soft.LOGS, same | True),
            (_parsing_soft.TRUE, same),
        ):
            logz, *sums = _parsing_soft.expected(
                *(case.grammar, case.sentences, case.w, case.spans, case.emissions),
                *(np.array([0.5]), over),
            )
            total = logsumexp(scores[chosen])
            assert logz[0] == pytest.approx(total, rel=1e-12, abs=1e-10)
            mean = np.exp(scores[chosen] - total) @ every[chosen]
            found = np.concatenate([each.ravel() for each in sums])
            np.testing.assert_allclose(found, 0.5 * mean, atol=1e-10)
