import itertools
import json

import numpy as np
import pytest

from lssvm.errors import LssvmError
from lssvm.simulation import motif as simulate
from lssvm.simulation.background import Background, drawn, estimate


def packed(*texts):
    codes = np.array(["ACGTN".index(letter) for text in texts for letter in text], dtype=np.uint8)
    return codes, np.cumsum([0, *map(len, texts)])


def log_probability(background, text):
    """Letter by letter, straight from the definition."""
    logs, context = [], ""
    for letter in text:
        if letter == "N":
            logs.append(0.0)
            context = ""
            continue
        used = context[len(context) - min(len(context), background.order) :]
        row = int("0" + "".join(str("ACGT".index(c)) for c in used), 4)
        logs.append(np.log(background.tables[len(used)][row, "ACGT".index(letter)]))
        context += letter
    return logs


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_background_probabilities_follow_the_definition(order):
    background = drawn(np.random.default_rng(0), order, np.full(4, 0.25), 4.0)
    texts = ["ACGTACGGTTA", "T", "NACNNGATTACA", "GGN"]
    expected = [value for text in texts for value in log_probability(background, text)]
    np.testing.assert_allclose(background.log_probabilities(*packed(*texts)), expected, rtol=1e-12)


def test_background_is_estimated_from_the_tuples_that_occur():
    background = estimate(*packed("AACA", "ANCC"), 1, 1.0)
    np.testing.assert_allclose(background.letters, np.array([5, 4, 1, 1]) / 11)
    pairs = np.ones((4, 4))
    for first, second in ["AA", "AC", "CA", "CC"]:
        pairs["ACGT".index(first), "ACGT".index(second)] += 1
    np.testing.assert_allclose(background.tables[1], pairs / pairs.sum(axis=1, keepdims=True))


def test_background_is_recovered_from_a_long_sequence():
    rng = np.random.default_rng(1)
    model = simulate.motif_model(rng, 4, 0.5)
    examples = simulate.motif(rng, model, 8000, 200)
    codes = examples.codes[examples.labels < 0]
    found = estimate(codes.ravel(), 200 * np.arange(4001), 3, 1.0)
    for table, truth in zip(found.tables, model.background.tables, strict=True):
        assert np.abs(table - truth).max() < 0.03


def test_drawn_background_is_stationary_from_the_first_letter():
    background = drawn(np.random.default_rng(2), 2, np.full(4, 0.25), 4.0)
    chance = {}
    for word in itertools.product("ACGT", repeat=4):
        chance[word] = np.exp(sum(log_probability(background, "".join(word))))
    for pair in itertools.product("ACGT", repeat=2):
        first = sum(p for word, p in chance.items() if word[:2] == pair)
        last = sum(p for word, p in chance.items() if word[2:] == pair)
        assert first == pytest.approx(last, rel=1e-9)


def test_half_of_the_sequences_hold_one_site_anywhere():
    rng = np.random.default_rng(3)
    model = simulate.motif_model(rng, 6, 0.9)
    examples = simulate.motif(rng, model, 2001, 30)
    assert (examples.labels == 1).sum() == 1000
    np.testing.assert_array_equal(examples.starts >= 0, examples.labels == 1)
    counts = np.bincount(examples.starts[examples.starts >= 0], minlength=25)
    assert len(counts) == 25
    assert counts.min() > 15
    sites = np.array(
        [row[s : s + 6] for row, s in zip(examples.codes, examples.starts, strict=True) if s >= 0]
    )
    kept = (sites == model.matrix.argmax(axis=1)).mean(axis=0)
    np.testing.assert_allclose(kept, 0.9, atol=0.04)


def test_conservation_may_differ_between_positions():
    model = simulate.motif_model(np.random.default_rng(0), 3, [0.25, 0.7, 0.97])
    np.testing.assert_allclose(model.matrix.max(axis=1), [0.25, 0.7, 0.97])
    np.testing.assert_allclose(model.matrix.sum(axis=1), 1)


def test_oracle_is_the_bayes_rule_of_the_generating_distribution():
    rng = np.random.default_rng(4)
    model = simulate.motif_model(rng, 3, 0.7)
    codes = rng.integers(4, size=(20, 8)).astype(np.uint8)
    ratios, starts = simulate.posterior(model, codes)
    for row, ratio, start in zip(codes, ratios, starts, strict=True):
        logs = log_probability(model.background, "".join("ACGT"[c] for c in row))
        windows = []
        for h in range(6):
            inside = sum(np.log(model.matrix[j, row[h + j]]) for j in range(3))
            windows.append(inside - sum(logs[h : h + 3]))
        assert ratio == pytest.approx(np.log(np.mean(np.exp(windows))), abs=1e-12)
        assert start == int(np.argmax(windows))


def test_oracle_errs_less_the_better_the_motif_is_kept():
    errors = []
    for conservation in (0.6, 0.8, 0.95):
        rng = np.random.default_rng(5)
        model = simulate.motif_model(rng, 11, conservation)
        errors.append(simulate.oracle(model, simulate.motif(rng, model, 1000, 200)).error)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.08


def test_site_recall_counts_exact_starts_of_positives_only():
    truth, found = np.array([3, -1, 5, 0]), np.array([3, -1, 4, 0])
    assert simulate.site_recall(truth, found) == pytest.approx(2 / 3)


def test_written_files_hold_the_sequences_and_their_truth(tmp_path):
    text = simulate.write_motif(tmp_path, seed=7, n=10, n_test=6, length=40, width=5)
    lines = (tmp_path / "train.fa").read_text().splitlines()
    assert len(lines) == 20
    assert all(line in (f">train{i} label=+1", f">train{i} label=-1")
               for i, line in enumerate(lines[::2], 1))  # fmt: skip
    sequences = dict(zip((line[1:].split()[0] for line in lines[::2]), lines[1::2], strict=True))
    rows = [row.split("\t") for row in (tmp_path / "train-sites.tsv").read_text().splitlines()]
    assert rows[0] == ["sequence_name", "start", "stop", "strand", "matched_sequence"]
    assert len(rows) == 6
    for name, start, stop, strand, site in rows[1:]:
        assert sequences[name][int(start) - 1 : int(stop)] == site
        assert (len(site), strand) == (5, "+")
    truth = json.loads((tmp_path / "truth.json").read_text())
    background = Background(tuple(np.array(table) for table in truth["background"]))
    assert (background.order, np.shape(truth["matrix"])) == (3, (5, 4))
    assert f"consensus {truth['consensus']}" in text
    assert f"error {100 * truth['oracle']['test']['error']:6.2f} %" in text


def test_same_seed_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        simulate.write_motif(tmp_path / name, seed=3, n=20, n_test=4, length=50)
    simulate.write_motif(tmp_path / "c", seed=4, n=20, n_test=4, length=50)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()
        assert file.read_bytes() != (tmp_path / "c" / file.name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "the width of the motif must be at least 1, got 0"),
        ({"width": 60}, "a motif of width 60 does not fit into 50 letters"),
        ({"n": 1}, "at least 2 sequences are needed, one of each label; got 1"),
        ({"conservation": 1.0}, "conservation must be at least 0.25 and below 1, got 1.0"),
        ({"conservation": [0.5, 0.6]}, "conservation: expected 1 or 11 numbers, got 2"),
    ],
)
def test_impossible_sizes_are_refused_before_anything_is_written(tmp_path, arguments, message):
    with pytest.raises(LssvmError) as caught:
        simulate.write_motif(tmp_path / "out", **{"length": 50, **arguments})
    assert str(caught.value) == message
    assert not (tmp_path / "out").exists()


def test_unwritable_folder_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LssvmError) as caught:
        simulate.write_motif(tmp_path / "file", n=4, n_test=4, length=20)
    assert str(caught.value) == f"{tmp_path}/file: cannot be created: File exists"
