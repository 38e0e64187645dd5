import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from scipy.stats import norm

from lssvm import applications, simulation
from lssvm.cli import learn, main
from lssvm.errors import LssvmError
from lssvm.simulation import classes, mrf, ranking, sequences
from lssvm.simulation import motif as simulate
from lssvm.simulation.background import Background, drawn, estimate

KINDS = {name: simulation.load(name) for name in simulation.MODULES}
CONFIGURATIONS = [(name, file) for name, kind in KINDS.items() for file in kind.configurations]
SMALL = {
    "motif": {"n": 20, "n_test": 6, "length": 30, "width": 6},
    "classes": {"n": 4, "n_test": 3},
    "sequences": {"n": 12, "n_test": 6, "names": 8},
    "ranking": {"n": 6, "n_test": 3},
    "mrf": {"n": 6, "n_test": 4, "pairs": 3},
    "coreference": {"n": 3, "n_test": 2, "sentences": 4},
    "parsing": {"n": 12, "n_test": 6, "words": 8},
    "alignment": {"n": 6, "n_test": 4, "decoys": 2, "length": 12},
    "relation": {"n": 30, "n_test": 10, "relations": 2, "features": 100},
}
APPROXIMATE = {"correlation_clustering.yaml"}  # their gap is not certified: exit code 3


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


# every simulation


def files_of(folder):
    return {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}


def told_figures(told):
    """The numbers that a simulation tells, by the names before them."""
    pairs = re.findall(r"^(\S.*?)\s+([\d.e-]+)$", told, re.MULTILINE)
    return {name: float(value) for name, value in pairs}


def test_every_application_has_simulated_data():
    texts = [text for kind in KINDS.values() for text in kind.configurations.values()]
    named = {yaml.safe_load(text.replace("$", ""))["application"]["name"] for text in texts}
    assert named == set(applications.registered())


@pytest.mark.parametrize(("name", "file"), CONFIGURATIONS)
def test_two_commands_lead_from_nothing_to_a_scored_model(name, file, tmp_path):
    sizes = [f"--{key.replace('_', '-')}={value}" for key, value in SMALL[name].items()]
    made = CliRunner().invoke(main, ["simulate", name, "--out", f"{tmp_path}/data", *sizes])
    assert made.exit_code == 0, made.output
    assert f"wrote {tmp_path}/data/{file}" in made.stdout
    trained = CliRunner().invoke(learn, [f"{tmp_path}/data/{file}", f"{tmp_path}/model"])
    assert trained.exit_code == (3 if file in APPROXIMATE else 0), trained.output
    assert re.search(r"^held-out \w+ [\d.]+ after", trained.stderr, re.MULTILINE)


@pytest.mark.parametrize("name", KINDS)
def test_a_simulation_writes_its_files_and_no_others_the_same_for_one_seed(name, tmp_path):
    kind = KINDS[name]
    told = [kind.simulate(tmp_path / str(k), seed=k // 2, **SMALL[name]) for k in range(3)]
    first, again, other = (files_of(tmp_path / str(k)) for k in range(3))
    assert set(first) == {Path(file) for file in kind.files}
    assert told[0] == told[1]
    assert all(first[path].read_bytes() == again[path].read_bytes() for path in first)
    assert any(first[path].read_bytes() != other[path].read_bytes() for path in first)


@pytest.mark.parametrize("name", KINDS)
def test_the_options_are_those_of_the_function_with_its_defaults(name):
    defaults = KINDS[name].write.__kwdefaults__
    assert {each.name: each.default for each in KINDS[name].options} == {
        key: value for key, value in defaults.items() if key != "seed"
    }


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("classes", {"n": 0}, "n must be at least 1, got 0"),
        ("ranking", {"n_test": -1}, "n_test must be at least 1, got -1"),
        ("mrf", {"pairs": 0}, "pairs must be at least 1, got 0"),
        ("sequences", {"names": 1}, "names must be at least 2 and at most 1000, got 1"),
        ("coreference", {"sentences": 0}, "sentences must be at least 1, got 0"),
    ],
)
def test_sizes_below_one_are_refused_before_anything_is_written(name, sizes, message, tmp_path):
    with pytest.raises(LssvmError) as caught:
        KINDS[name].simulate(tmp_path / "out", **sizes)
    assert str(caught.value) == message
    assert not (tmp_path / "out").exists()


def test_the_configuration_has_the_width_that_was_asked_for(tmp_path):
    KINDS["motif"].simulate(tmp_path, **SMALL["motif"])
    assert yaml.safe_load((tmp_path / "motif.yaml").read_text())["application"]["length"] == 6


# the best possible rules


def rows_of(path):
    for line in path.read_text().splitlines():
        label, *pairs = line.partition("#")[0].split()
        pairs = dict(pair.split(":") for pair in pairs if not pair.startswith("qid"))
        yield label, np.array([float(pairs.get(str(j), 0)) for j in range(1, 7)])


def test_the_error_of_classes_is_that_of_the_likeliest_class(tmp_path):
    told = told_figures(KINDS["classes"].simulate(tmp_path, seed=3, n=2, n_test=50))
    means = classes.class_means(np.random.default_rng(3))
    wrong, costs = [], []
    for label, row in rows_of(tmp_path / "multiclass" / "test.txt"):
        there = row != 0
        chances = {each: norm.pdf(row, mean)[there].prod() for each, mean in means.items()}
        wrong.append(max(chances, key=chances.get) != label)

        def cost(true, found):
            return (
                0 if true == found else 1 if classes.PARENTS[true] == classes.PARENTS[found] else 3
            )

        expected = {
            found: sum(chance * cost(true, found) for true, chance in chances.items())
            for found in means
        }
        costs.append(cost(label, min(expected, key=expected.get)))
    assert told["error (of either)"] == pytest.approx(100 * np.mean(wrong), rel=1e-5)
    assert told["loss of multiclass"] == pytest.approx(np.mean(costs), rel=1e-5)
    assert 0 < np.mean(wrong) < 0.5


def test_marginals_of_chains_are_sums_over_all_states():
    chains = mrf.drawn(np.random.default_rng(0))
    x = np.array([1, 3, 0, 2])
    sums = np.zeros((4, mrf.STATES))
    for states in itertools.product(range(mrf.STATES), repeat=4):
        score = sum(chains.symbols[t % 2, x[t], states[t]] for t in range(4))
        score += sum(chains.pairs[t % 2, states[t], states[t + 1]] for t in range(3))
        sums[np.arange(4), states] += np.exp(score)
    expected = sums / sums.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(mrf.log_marginals(chains, x)), expected, rtol=1e-10)


def test_the_error_of_chains_counts_the_outputs_that_are_written(tmp_path):
    told = told_figures(KINDS["mrf"].simulate(tmp_path, seed=2, n=1, n_test=30, pairs=4))
    chains = mrf.drawn(np.random.default_rng(2))
    wrong = []
    for graph in (tmp_path / "test.txt").read_text().strip().split("\n\n"):
        nodes = [line.split() for line in graph.splitlines() if line.startswith("node")]
        x = np.array([int(node[5].partition(":")[0]) - 1 for node in nodes])
        best = mrf.log_marginals(chains, x).argmax(axis=1)
        wrong += [str(best[t]) != node[4] for t, node in enumerate(nodes) if node[2] == "y"]
    assert len(wrong) == 30 * 4
    assert told["error"] == pytest.approx(100 * np.mean(wrong), rel=1e-5)
    assert 0 < np.mean(wrong) < 0.6


def test_a_document_is_the_likelier_relevant_the_more_useful_it_is():
    rng = np.random.default_rng(0)
    features = rng.integers(1, 1001, (20, ranking.FEATURES)) / 1000
    useful = features @ ranking.WEIGHTS
    drawn_values = useful + rng.normal(0.0, ranking.ERROR, (20_000, 20))
    relevant = np.argsort(np.argsort(-drawn_values, axis=1), axis=1) < 6
    chances = relevant.mean(axis=0)[np.argsort(-useful)]
    assert (np.diff(chances) < 0.015).all()
    assert chances[0] > 0.7 > 0.2 > chances[-1]


def test_the_precision_of_rankings_is_that_of_the_order_by_usefulness(tmp_path):
    told = told_figures(KINDS["ranking"].simulate(tmp_path, seed=4, n=1, n_test=15))
    queries = {}
    lines = (tmp_path / "test.txt").read_text().splitlines()
    for line, (label, row) in zip(lines, rows_of(tmp_path / "test.txt"), strict=True):
        useful = 2 * row[0] + row[1] - row[3]
        queries.setdefault(line.split()[1], []).append((useful, label))
    for k in (1, 3, 5, 10):
        found = [
            sum(label != "0" for _, label in sorted(documents, key=lambda d: -d[0])[:k]) / k
            for documents in queries.values()
        ]
        assert told[f"P@{k}"] == pytest.approx(np.mean(found), rel=1e-5)


def test_labels_of_sentences_are_the_likeliest_of_all_that_could_be_drawn(monkeypatch):
    """Two patterns that differ in nothing but the kind of their slot, one of them twice."""
    monkeypatch.setattr(sequences, "PATTERNS", ("{PER} won/VBD", "{ORG} won/VBD", "{LOC} won/VBD"))
    names = {"first": ["Ida"], "place": ["Burg", "Ford"], "company": ["Tech"]}
    rng = np.random.default_rng(0)
    counts = {}
    for _ in range(6000):
        tokens = sequences._sentence(rng, names)
        words = tuple(word for word, _, _ in tokens)
        labels = tuple(label for _, _, label in tokens)
        counts.setdefault(words, {}).setdefault(labels, 0)
        counts[words][labels] += 1
    assert len(counts[("Burg", "won")]) == 3
    for words, found in counts.items():
        tags = ["VBD" if word == "won" else "NNP" for word in words]
        tokens = [(word, tag, "?") for word, tag in zip(words, tags, strict=True)]
        assert tuple(sequences.best_labels(tokens, names)) == max(found, key=found.get)


def test_the_sentences_of_all_patterns_can_be_read_back():
    rng = np.random.default_rng(1)
    names = {"first": ["Ida", "Ada"], "place": ["Burg", "Ford"], "company": ["Tech", "Co"]}
    for _ in range(300):
        tokens = sequences._sentence(rng, names)
        assert sequences.best_labels(tokens, names) == [label for _, _, label in tokens]
