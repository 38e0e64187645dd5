import itertools
from math import lgamma

import numpy as np
import pytest

from experiments.yu_joachims_2009 import _gibbs, gibbs
from lssvm.errors import LssvmError
from lssvm.simulation import motif as simulate
from lssvm.simulation.background import drawn, estimate


def packed(*texts):
    codes = np.array(["ACGTN".index(letter) for text in texts for letter in text], dtype=np.uint8)
    return codes, np.cumsum([0, *map(len, texts)])


def complement(text):
    return text[::-1].translate(str.maketrans("ACGT", "TGCA"))


def random_texts(rng, n, shortest, longest, letters="ACGT"):
    lengths = rng.integers(shortest, longest + 1, size=n)
    return ["".join(rng.choice(list(letters), size=length)) for length in lengths]


def all_windows(text, logs, width, strands):
    """(letters of the motif, background log probability) of each window, or None if ambiguous."""
    given = []
    for h in range(len(text) - width + 1):
        word = text[h : h + width]
        given.append(None if "N" in word else (word, sum(logs[h : h + width])))
    if strands == "given":
        return given
    other = [None if window is None else (complement(window[0]), window[1]) for window in given]
    return given + other[::-1]


def count_letters(words, width):
    counts = np.zeros((width, 4))
    for word in words:
        for j, letter in enumerate(word):
            counts[j, "ACGT".index(letter)] += 1
    return counts


@pytest.mark.parametrize("strands", ["given", "both"])
@pytest.mark.parametrize("width", [1, 3, 4, 6])
def test_sweep_draws_each_site_from_its_conditional_distribution(width, strands):
    rng = np.random.default_rng(width)
    for _ in range(20):
        background = drawn(rng, 2, np.full(4, 0.25), 3.0)
        texts = random_texts(rng, 4, width, 14)
        codes, offsets = packed(*texts)
        logs = background.log_probabilities(codes, offsets)
        choices = [
            all_windows(text, logs[offsets[i] : offsets[i + 1]], width, strands)
            for i, text in enumerate(texts)
        ]
        state = [int(rng.integers(len(windows))) for windows in choices]
        pseudocounts = rng.uniform(0.1, 1.0, size=4)
        uniforms = rng.random(4)

        found = gibbs.windows(codes, offsets, background, width, strands)
        open_at = [
            first + np.flatnonzero(np.isfinite(found.log_weights[first:last]))
            for first, last in itertools.pairwise(found.offsets)
        ]
        sites = np.array([at[s] for at, s in zip(open_at, state, strict=True)])
        counts = count_letters([w[s][0] for w, s in zip(choices, state, strict=True)], width)
        weights = np.exp(found.log_weights)
        _gibbs.sweep(found.quads, found.offsets, weights, counts, pseudocounts, sites, uniforms)

        for i, windows in enumerate(choices):
            others = [choices[k][state[k]][0] for k in range(4) if k != i]
            matrix = count_letters(others, width) + pseudocounts
            chances = np.array(
                [
                    np.prod([matrix[j, "ACGT".index(c)] for j, c in enumerate(word)])
                    / np.exp(log_background)
                    for word, log_background in windows
                ]
            )
            cumulative = np.cumsum(chances / chances.sum())
            state[i] = int(np.searchsorted(cumulative, uniforms[i], side="right"))
        np.testing.assert_array_equal(
            sites, [at[s] for at, s in zip(open_at, state, strict=True)]
        )  # fmt: skip
        words = [w[s][0] for w, s in zip(choices, state, strict=True)]
        np.testing.assert_array_equal(counts, count_letters(words, width))


def test_sweeps_visit_the_states_as_often_as_the_posterior_says():
    texts, width, pseudocounts = ["ACGTA", "CGGAC"], 2, np.array([0.4, 0.3, 0.2, 0.1])
    codes, offsets = packed(*texts)
    background = drawn(np.random.default_rng(0), 1, np.full(4, 0.25), 3.0)
    logs = background.log_probabilities(codes, offsets)
    choices = [
        all_windows(text, logs[offsets[i] : offsets[i + 1]], width, "given")
        for i, text in enumerate(texts)
    ]
    posterior = np.empty((4, 4))
    for a, b in itertools.product(range(4), repeat=2):
        counts = count_letters([choices[0][a][0], choices[1][b][0]], width) + pseudocounts
        posterior[a, b] = sum(map(lgamma, counts.ravel())) - choices[0][a][1] - choices[1][b][1]
    posterior = np.exp(posterior - posterior.max())
    posterior /= posterior.sum()

    rng = np.random.default_rng(1)
    found = gibbs.windows(codes, offsets, background, width, "given")
    sites = np.array([0, 5])
    counts = count_letters(["AC", "CG"], width)
    weights, visits = np.exp(found.log_weights), np.zeros((4, 4))
    for _ in range(20_000):
        _gibbs.sweep(
            found.quads, found.offsets, weights, counts, pseudocounts, sites, rng.random(2)
        )
        visits[sites[0], sites[1] - 5] += 1
    assert np.abs(visits / visits.sum() - posterior).sum() < 0.05


@pytest.mark.parametrize("strands", ["given", "both"])
def test_scores_and_sites_are_those_of_the_best_window(strands):
    rng = np.random.default_rng(2)
    background = drawn(rng, 3, np.full(4, 0.25), 3.0)
    matrix = rng.dirichlet(np.ones(4), size=5)
    model = gibbs.SiteModel(matrix, background, strands, 0.0)
    texts = [*random_texts(rng, 30, 5, 20, "ACGTACGTACGTN"), "ACG", "ACNGTNA"]
    codes, offsets = packed(*texts)
    logs = background.log_probabilities(codes, offsets)
    scores, sites = model.scores(codes, offsets), model.sites(codes, offsets)
    for i, text in enumerate(texts):
        odds = [
            -np.inf
            if window is None
            else sum(np.log(matrix[j, "ACGT".index(c)]) for j, c in enumerate(window[0]))
            - window[1]
            for window in all_windows(text, logs[offsets[i] : offsets[i + 1]], 5, strands)
        ]
        if not odds or max(odds) == -np.inf:
            assert scores[i] == -np.inf
            continue
        assert scores[i] == pytest.approx(max(odds), abs=1e-9)
        best, count = int(np.argmax(odds)), len(text) - 4
        assert sites[i] == (best if best < count else 2 * count - 1 - best)


@pytest.mark.parametrize("conservation", [0.95, 0.85])
def test_planted_motif_is_found_about_as_well_as_the_oracle_does(conservation):
    rng = np.random.default_rng(3)
    model = simulate.motif_model(rng, 11, conservation)
    train, test = simulate.motif(rng, model, 300, 200), simulate.motif(rng, model, 2000, 200)
    background = estimate(train.codes.ravel(), 200 * np.arange(301), 3, 1.0)
    positives = train.codes[train.labels > 0].ravel()
    found = gibbs.sample(
        positives, 200 * np.arange(151), background, width=11, strands="given", rng=rng
    )
    codes, offsets = test.codes.ravel(), 200 * np.arange(2001)
    scores = found.scores(codes, offsets)
    threshold = gibbs.best_threshold(scores, test.labels)
    best = simulate.oracle(model, test)
    assert ((scores > threshold) != (test.labels > 0)).mean() < best.error + 0.03
    recall = simulate.site_recall(test.starts, found.sites(codes, offsets))
    assert recall > best.site_recall - 0.03


def test_motif_on_either_strand_is_found_with_both_strands():
    rng = np.random.default_rng(4)
    model = simulate.motif_model(rng, 10, 0.95)
    train = simulate.motif(rng, model, 200, 100)
    rows = train.codes[train.labels > 0]
    flipped = np.where(np.arange(100)[:, None] % 2 == 0, rows, 3 - rows[:, ::-1])
    codes, offsets = flipped.ravel(), 100 * np.arange(101)
    background = estimate(codes, offsets, 1, 1.0)
    found = gibbs.sample(codes, offsets, background, width=10, strands="both", rng=rng)
    consensus = "".join("ACGT"[c] for c in found.matrix.argmax(axis=1))
    assert consensus in (model.consensus, complement(model.consensus))
    starts = train.starts[train.labels > 0]
    truth = np.where(np.arange(100) % 2 == 0, starts, 90 - starts)
    assert simulate.site_recall(truth, found.sites(codes, offsets)) > 0.9


def test_shift_mends_an_alignment_that_is_off_by_some_positions():
    rng = np.random.default_rng(5)
    model = simulate.motif_model(rng, 9, 0.97)
    train = simulate.motif(rng, model, 100, 120)
    rows, starts = train.codes[train.labels > 0], train.starts[train.labels > 0]
    codes, offsets = rows.ravel(), 120 * np.arange(51)
    background = estimate(codes, offsets, 0, 1.0)
    sampler = gibbs._Sampler(
        gibbs.windows(codes, offsets, background, 9, "given"), 9, np.full(4, 1.0)
    )
    truth = offsets[:-1] + starts
    off = sampler.moved(truth, 3)
    assert (off != truth).mean() > 0.9
    mended = sampler.shifted(off, rng)
    assert (mended == truth).mean() > 0.9


def test_same_seed_gives_the_same_motif():
    codes = np.random.default_rng(6).integers(4, size=2000).astype(np.uint8)
    offsets = 100 * np.arange(21)
    background = estimate(codes, offsets, 2, 1.0)
    first, second = (
        gibbs.sample(
            codes, offsets, background, width=6, strands="both", rng=np.random.default_rng(7)
        )
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.matrix, second.matrix)
    assert first.log_posterior == second.log_posterior


def test_threshold_errs_least_of_all_thresholds():
    rng = np.random.default_rng(8)
    for _ in range(100):
        scores = rng.integers(0, 6, size=9) / 2.0
        scores[rng.random(9) < 0.1] = -np.inf
        labels = rng.choice([-1, 1], size=9)
        threshold = gibbs.best_threshold(scores, labels)
        errors = [
            ((scores > t) != (labels > 0)).sum() for t in [-np.inf, *np.arange(-0.25, 3.0, 0.5)]
        ]
        assert ((scores > threshold) != (labels > 0)).sum() == min(errors)


def test_positive_sequence_without_a_window_is_refused():
    codes, offsets = packed("ACGTACGT", "ACN")
    background = estimate(codes, offsets, 0, 1.0)
    with pytest.raises(LssvmError) as caught:
        gibbs.sample(
            codes, offsets, background, width=3, strands="given", rng=np.random.default_rng(0)
        )
    assert str(caught.value) == "positive sequence 2 has no window of 3 known letters"


def test_kernel_refuses_arrays_that_do_not_fit():
    codes, offsets = packed("ACGTACGT", "ACGTT")
    found = gibbs.windows(codes, offsets, estimate(codes, offsets, 0, 1.0), 3, "given")
    weights, counts = np.exp(found.log_weights), np.zeros((3, 4))
    arguments = [found.quads, found.offsets, weights, counts, np.ones(4)]
    with pytest.raises(ValueError, match="shapes of the arrays do not fit"):
        _gibbs.sweep(*arguments, np.array([0, 8]), np.zeros(3))
    with pytest.raises(ValueError, match="site 13 is outside of sequence 1"):
        _gibbs.sweep(*arguments, np.array([0, 13]), np.zeros(2))
