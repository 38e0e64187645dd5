import io
import itertools
import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from refusals import check_broken_training_file, told

from lssvm.applications.base import FirstProblem, Source
from lssvm.applications.ranking import ranking_metrics
from lssvm.applications.ranking.precision_at_k import PrecisionAtK, RankingOptions
from lssvm.applications.ranking.queries import read_queries
from lssvm.cli import classify, learn, main
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.executor import Executor
from lssvm.kernels import _ranking
from lssvm.kernels.arrays import QueryArrays
from lssvm.model import Model
from lssvm.oracle import DataOracle
from lssvm.training.session import learn_on
from lssvm.training.setup import new_run

ROOT = Path(__file__).parents[1]


def ranker(k=2, **options):
    return PrecisionAtK(RankingOptions(k=k, **options))


def line(label, qid, x, comment=""):
    features = " ".join(f"{j}:{value:g}" for j, value in enumerate(x, 1) if value)
    return f"{label} qid:{qid} {features}{comment}\n"


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Queries of an application from (relevant, rows, cost) each, or from text."""
    monkeypatch.chdir(tmp_path)

    def _read(app, queries):
        if isinstance(queries, str):
            Path("x.txt").write_text(queries, encoding="utf-8")
            return app.read([Source("x.txt")])
        sources = []
        for i, (relevant, rows, cost) in enumerate(queries):
            text = "".join(line(y, i, x) for y, x in zip(relevant, rows, strict=True))
            # The last feature must be there, or d would depend on chance.
            text = text.replace("\n", f" {len(rows[0]) + 1}:1\n") if i == 0 else text
            Path(f"{i}.txt").write_text(text, encoding="utf-8")
            sources.append(Source(f"{i}.txt", None, cost))
        return app.read(sources)

    return _read


def problem(rng, sparse):
    """Tiny random queries, all numbers multiples of 1/8, and k."""
    d, k = int(rng.integers(1, 12)), int(rng.integers(1, 5))
    queries = []
    for _ in range(rng.integers(1, 6)):
        m = int(rng.integers(1, 8))
        rows = rng.integers(-4, 5, (m, d)) / 8
        if sparse:
            rows = rows * (rng.random((m, d)) < 0.15)
        if rng.random() < 0.3:
            rows[:] = rows[0]
        relevant = (rng.random(m) < rng.choice([0.2, 0.5, 0.9])).astype(int).tolist()
        queries.append((relevant, rows, rng.integers(1, 17) / 8))
    return queries, k, d


def features(queries, d):
    """The rows of every query with the last feature that the fixture adds."""
    added = [np.full((len(rows), 1), float(i == 0)) for i, (_, rows, _) in enumerate(queries)]
    return [np.hstack([rows, last]) for (_, rows, _), last in zip(queries, added, strict=True)]


def every_ordering(m, k):
    """Every choice of the first min(k, m) of m documents, increasing, in the order of the ties."""
    return list(itertools.combinations(range(m), min(k, m)))


def loss_by_definition(relevant, h, k):
    """k times Delta = min(k, relevant documents) - relevant documents among the first k."""
    return min(k, sum(relevant)) - sum(relevant[j] for j in h)


def first_best(keys, orderings):
    """The choice of highest sum of keys; of equal ones, that whose documents come first.

    Choices of equal highest sum differ in documents of equal key alone, so the first documents
    win the tie in the choice that comes first as a list of places.
    """
    best = max(sum(keys[j] for j in h) for h in orderings)
    return min(h for h in orderings if sum(keys[j] for j in h) == best)


@pytest.mark.parametrize("block", range(8))
@pytest.mark.parametrize("sparse", [False, True])
def test_kernels_equal_enumeration_to_the_last_bit(read, block, sparse):
    rng = np.random.default_rng([block, sparse])
    stored = set()
    for trial in range(25):
        queries, k, d = problem(rng, sparse)
        w = rng.integers(-8, 9, d + 1) / 8 * (trial > 2)  # w = 0: loss and places alone decide
        app = ranker(k)
        examples = read(app, queries)
        stored.add(len(examples.starts) > 0)
        augmented, completed, loss, value, best = np.zeros(d + 1), np.zeros(d + 1), 0.0, 0.0, 0.0
        predictions = app.predict(w, examples)
        for i, ((relevant, _, cost), rows) in enumerate(
            zip(queries, features(queries, d), strict=True)
        ):
            m = len(relevant)
            orderings, scores = every_ordering(m, k), rows @ w
            h = first_best(scores, orderings)
            found = predictions.top[i]
            assert found[found >= 0].tolist() == list(h)
            losses = {h: loss_by_definition(relevant, h, k) for h in orderings}
            assert app.trained(examples)[i] == any(losses.values())
            if not any(losses.values()):
                continue
            h = first_best(scores - np.array(relevant), orderings)
            augmented += cost * rows[list(h)].sum(axis=0)
            loss += cost * losses[h]
            value += cost * max(losses[h] + scores[list(h)].sum() for h in orderings)
            harmless = [h for h in orderings if losses[h] == 0]
            h = first_best(scores, harmless)
            completed += cost * rows[list(h)].sum(axis=0)
            best += cost * max(scores[list(h)].sum() for h in harmless)
        plane, upper = app.augmented(w, examples)
        np.testing.assert_array_equal(plane.gradient, augmented / k)
        assert plane.loss == loss / k
        assert upper == plane.value(w)
        if k in (1, 2, 4):
            assert upper == value / k
        plane = app.completed(w, examples)
        np.testing.assert_array_equal(plane.gradient, completed / k)
        assert plane.loss == 0
        if k in (1, 2, 4):
            assert plane.value(w) == best / k
    assert sparse in stored


@pytest.mark.parametrize("kinds", [2, 5, 1000])
def test_long_lists_are_selected_as_a_stable_sort_would(read, kinds):
    rng = np.random.default_rng(kinds)
    rows = rng.integers(0, kinds, (700, 1)) / 8
    relevant = (rng.random(700) < 0.3).astype(int)
    for k in (1, 7, 100, 350, 699, 700, 900):
        app = ranker(k)
        examples = read(app, [(relevant, rows, 1.0)])
        w = np.array([1.0, 0.0])
        expected = np.sort(np.argsort(-rows[:, 0], kind="stable")[:k])
        top = app.predict(w, examples).top[0]
        np.testing.assert_array_equal(top[top >= 0], expected)
        for task, keys in (
            (_ranking.AUGMENT, rows[:, 0] - relevant),
            (_ranking.COMPLETE, rows[:, 0] + 1e6 * relevant),
        ):
            _, _, chosen = _ranking.search(
                task, examples.rows, examples.relevant, examples.costs, w, k
            )
            expected = np.sort(np.argsort(-keys, kind="stable")[:k])
            if k < 700:
                np.testing.assert_array_equal(chosen[0], expected)
            else:
                assert (chosen == -1).all()


@pytest.mark.parametrize("documents", [1, 3, 7, 8, 9, 31, 33, 45, 90])
def test_equal_documents_have_equal_scores_wherever_they_stand(documents):
    rng = np.random.default_rng(documents)
    empty = np.empty(0, dtype=np.int32), np.empty(0), np.empty(0, dtype=np.int64)
    for width in range(1, 41):
        values, w = rng.normal(size=width), rng.normal(size=width)
        offsets = np.array([0, documents])
        queries = QueryArrays(np.repeat(values, documents), *empty, offsets, width)
        scores = _ranking.scores(queries, w)
        assert len(set(np.asarray(scores).tolist())) == 1
        # Both sums are off by a rounding for each term at most.
        bound = 2 * width * np.finfo(float).eps * (np.abs(values) @ np.abs(w))
        assert scores[0] == pytest.approx(values @ w, abs=bound)


@pytest.mark.parametrize("shape", ["rising", "falling", "organ pipe", "equal"])
def test_selection_does_not_slow_down_on_sorted_keys(read, shape):
    n = 20_000
    keys = {
        "rising": np.arange(n),
        "falling": -np.arange(n),
        "organ pipe": -np.abs(np.arange(n) - n // 2),
        "equal": np.ones(n),
    }[shape] / 8.0
    empty = np.empty(0, dtype=np.int32), np.empty(0), np.empty(0, dtype=np.int64)
    offsets, relevant = np.array([0, n]), np.zeros(n, dtype=np.uint8)
    queries = QueryArrays(keys, *empty, offsets, 1)
    _, _, chosen = _ranking.search(_ranking.PREDICT, queries, relevant, np.ones(1), np.ones(1), 100)
    expected = np.sort(np.argsort(-keys, kind="stable")[:100])
    np.testing.assert_array_equal(chosen[0], expected)


@pytest.fixture
def data(read):
    """An application, 40 random queries and weights."""
    rng = np.random.default_rng(13)
    queries = []
    for _ in range(40):
        m = int(rng.integers(5, 30))
        relevant = (rng.random(m) < 0.3).astype(int)
        queries.append((relevant, np.round(rng.normal(size=(m, 6)), 3), rng.integers(1, 9) / 8))
    app = ranker(3)
    return app, read(app, queries), queries, rng.normal(size=7)


def test_planes_bound_the_sum_from_below_and_the_completion_is_searched(data):
    app, examples, _, w = data
    rng = np.random.default_rng(14)
    plane, _ = app.augmented(w, examples)
    completion = app.completed(w, examples)
    for scale in (0.0, 0.1, 1.0, 10.0):
        v = scale * rng.normal(size=7)
        value = app.augmented(v, examples)[1]
        assert value >= plane.value(v) - 1e-9
        assert value >= completion.value(v) - 1e-9
        assert app.completed(v, examples).value(v) >= completion.value(v) - 1e-9


def test_threads_give_the_same_bytes(data):
    app, examples, _, w = data
    blocks = [examples.slice(i, i + 5) for i in range(0, 40, 5)] * 4
    first = app.start(examples, np.random.default_rng(0)).application

    def answer(block):
        planes = app.augmented(w, block)[0], app.completed(w, block), first.augmented(w, block)[0]
        return b"".join(plane.gradient.tobytes() for plane in planes), planes[0].loss

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(answer, blocks)) == list(map(answer, blocks))


def test_blocks_sum_to_the_whole(data):
    app, examples, _, w = data
    parts = [examples.slice(a, b) for a, b in itertools.pairwise((0, 1, 25, 40))]
    first = app.start(examples, np.random.default_rng(0)).application
    for ask in (app.augmented, first.augmented):
        whole, _ = ask(w, examples)
        planes = [ask(w, part)[0] for part in parts]
        summed = planes[0] + planes[1] + planes[2]
        np.testing.assert_allclose(summed.gradient, whole.gradient, rtol=1e-12)
        assert summed.loss == pytest.approx(whole.loss)
    scores = [app.predict(w, part).scores for part in parts]
    np.testing.assert_array_equal(np.concatenate(scores), app.predict(w, examples).scores)


def test_chosen_queries_are_as_if_read_alone(read):
    rng = np.random.default_rng(15)
    for sparse in (False, True):
        app = ranker(2)
        queries = [
            (
                [0, 1, 0],
                np.round(rng.normal(size=(3, 9)) * (rng.random((3, 9)) < 1 - 0.9 * sparse), 2),
                c,
            )
            for c in (1.0, 0.5, 2.0, 1.5)
        ]
        examples = read(app, queries)
        assert bool(len(examples.starts)) == sparse
        taken = examples.take(np.array([0, 3, 3, 1])).slice(0, 2)
        alone = read(app, [queries[0], queries[3]])
        assert taken.fingerprint() == alone.fingerprint()
        np.testing.assert_array_equal(taken.matrix(), alone.matrix())
        assert taken.names == ["0", "3"]
        w = rng.normal(size=10)
        for found, expected in zip(app.augmented(w, taken), app.augmented(w, alone), strict=True):
            assert getattr(found, "loss", found) == getattr(expected, "loss", expected)


def test_the_fingerprint_sees_features_queries_relevance_and_costs(read):
    app = ranker(1)
    base = ([1, 0], np.array([[1.0, 2.0], [3.0, 4.0]]), 1.0)
    other = ([1, 0], np.array([[1.0, 2.0], [3.0, 5.0]]), 1.0)
    swapped = ([0, 1], base[1], 1.0)
    dear = (base[0], base[1], 2.0)
    prints = [read(app, [first, base]).fingerprint() for first in (base, other, swapped, dear)]
    assert len(set(prints)) == 4
    assert read(app, [base, base]).fingerprint() == prints[0]


# the data


def test_queries_are_grouped_in_any_order_and_documents_keep_theirs(read):
    text = (
        "1 qid:b 1:1 # docid = B1 inc = 1\n0 qid:a 1:2 #docid = A1\n0 qid:b 1:3 # x7\n"
        "2 qid:a 1:4 # two words\n"
    )
    app = ranker(1)
    examples = read(app, text)
    assert examples.names == ["b", "a"]
    assert examples.documents.tolist() == ["B1", "x7", "A1", "two"]
    assert examples.named.all()
    assert examples.relevant.tolist() == [1, 0, 0, 1]
    assert examples.lines.tolist() == [1, 2]
    predictions = app.predict(np.array([1.0]), examples)
    file = io.StringIO()
    app.write(examples, predictions, file)
    assert file.getvalue().split() == ["1", "2", "3", "4"]


def test_labels_may_be_graded(read):
    assert read(ranker(1, relevant_from=2), "1 qid:1 1:1\n2 qid:1 1:1\n").relevant.tolist() == [
        0,
        1,
    ]


def test_files_have_their_costs_and_the_same_qid_in_two_is_two_queries(tmp_path):
    (tmp_path / "a").write_text("1 qid:1 1:1\n0 qid:1 2:1\n")
    (tmp_path / "b").write_text("0 qid:1 3:1\n")
    app = ranker(1)
    examples = app.read([Source(f"{tmp_path}/a", None, 0.5), Source(f"{tmp_path}/b")])
    assert examples.costs.tolist() == [0.5, 1.0]
    assert examples.offsets.tolist() == [0, 2, 3]
    assert app.dimension(examples) == 3
    assert app.warnings(examples) == [
        "1 query has no relevant document (score 0): left out of training",
        "1 query has at most 1 document (k): left out of training",
        "qids that occur in several files count as separate queries: '1'",
    ]


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        (
            Source("x.txt", "+1"),
            "1 qid:1 1:1\n",
            "x.txt: label '+1' in the configuration has no meaning for ranking; "
            "expected a label on every line of the file",
        ),
        (
            Source("x.txt"),
            "1 qid:1 1:1\n1 1:1\n",
            "x.txt:2: the document has no query; expected qid:ID after the label",
        ),
        (
            Source("x.txt"),
            "1 qid:1 1:1\n1 qid:1 3:1 2000000000:1\n1 qid:1 1:1\n",
            "x.txt:2: feature 2,000,000,000 is too many; expected at most 10,000,000",
        ),
    ],
)
def test_files_that_cannot_be_ranked_give_one_clear_line(
    tmp_path, monkeypatch, source, text, message
):
    monkeypatch.chdir(tmp_path)
    Path("x.txt").write_text(text)
    assert told(read_queries, [source], 1.0) == message


def test_features_that_training_did_not_see_weigh_nothing(read):
    app = ranker(1)
    examples = read(app, "1 qid:1 1:1 3:5\n0 qid:1 2:1\n")
    assert app.predict(np.array([2.0]), examples).scores.tolist() == [2.0, 0.0]
    assert app.predict(np.arange(1.0, 9.0), examples).scores.tolist() == [16.0, 2.0]


def test_a_number_of_hidden_values_is_refused(data):
    app, examples, _, w = data
    wrong = "--top 3: all documents are ranked anyway; expected no --top"
    assert told(app.predict, w, examples, top=3, kind=LssvmError) == wrong


# where training begins


def test_training_without_a_relevant_document_is_refused(read):
    for app, text, why in (
        (ranker(1), "0 qid:1 1:1\n0 qid:1 1:2\n", "no query has a relevant document"),
        (
            ranker(2),
            "1 qid:1 1:1\n0 qid:1 1:2\n",
            "no query has 3 documents or more, relevant and other ones",
        ),
    ):
        wrong = f"x.txt: {why}; expected at least one such query for training"
        assert told(app.start, read(app, text), np.random.default_rng(0)) == wrong


def test_the_first_problem_is_the_weighted_classifier(data):
    app, examples, queries, _ = data
    first = app.start(examples, np.random.default_rng(0))
    assert isinstance(first, FirstProblem)
    rng = np.random.default_rng(16)
    for scale in (0.0, 0.3, 3.0):
        w, expected = scale * rng.normal(size=7), 0.0
        for (relevant, _, cost), rows in zip(queries, features(queries, 6), strict=True):
            signs = 2 * np.array(relevant) - 1
            expected += cost * np.mean(np.maximum(0.0, 1.0 - signs * (rows @ w)))
        plane, upper = first.application.augmented(w, first.examples)
        assert upper == plane.value(w) == pytest.approx(expected)
        other = rng.normal(size=7)
        assert first.application.augmented(other, examples)[1] >= plane.value(other) - 1e-9
        assert first.application.completed(w, examples).value(w) == 0


def test_the_pairwise_problem_is_the_mean_over_pairs(read):
    rng = np.random.default_rng(22)
    app = ranker(1, initialisation="pairwise", initialisation_weight=0.5)
    text, queries = "", []
    for q in range(30):
        m = int(rng.integers(1, 9))
        labels, rows = rng.integers(0, 4, m), rng.integers(-8, 9, (m, 3)) / 8
        text += "".join(line(y, q, x) for y, x in zip(labels, rows, strict=True))
        queries.append((labels, rows))
    examples = read(app, text)
    first = app.start(examples, rng)
    for trial in range(6):
        w, gradient, loss = rng.integers(-8, 9, 3) / 4 * (trial > 0), np.zeros(3), 0.0
        for labels, rows in queries:
            pairs = [
                rows[a] - rows[b]
                for a, b in itertools.product(range(len(labels)), repeat=2)
                if labels[a] > labels[b]
            ]
            inside = [difference for difference in pairs if w @ difference < 1.0]
            if pairs:
                gradient -= 0.5 * np.sum(np.reshape(inside, (-1, 3)), axis=0) / len(pairs)
                loss += 0.5 * len(inside) / len(pairs)
        plane, upper = first.application.augmented(w, examples)
        np.testing.assert_allclose(plane.gradient, gradient, atol=1e-12)
        assert plane.loss == pytest.approx(loss, rel=1e-12)
        assert upper == plane.value(w)
        halves = [
            first.application.augmented(w, examples.slice(*part))[0] for part in ((0, 11), (11, 30))
        ]
        np.testing.assert_allclose((halves[0] + halves[1]).gradient, gradient, atol=1e-12)


def test_the_weight_of_the_start_is_a_factor_of_its_c(data):
    _, examples, _, _ = data
    found = []
    for C, weight in ((2.0, 1.0), (0.5, 4.0)):
        app = ranker(3, initialisation="pairwise", initialisation_weight=weight)
        config = Config.from_dict(
            {
                "application": app.options.model_dump(),
                "objective": {"C": C},
                "solver": {"method": "bundle", "epsilon": 1e-8},
            }
        )
        oracle = DataOracle(app, examples, Executor(1))
        found.append(new_run(oracle, config, 0, None).solver.w)
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)


def test_the_first_weights_are_those_of_scikit_learn(data):
    svm = pytest.importorskip("sklearn.svm")
    app, examples, queries, _ = data
    config = Config.from_dict(
        {
            "application": {"name": "precision_at_k", "k": 3},
            "objective": {"C": 2.0},
            "solver": {"method": "bundle", "epsilon": 1e-8},
        }
    )
    oracle = DataOracle(app, examples, Executor(1))
    w = new_run(oracle, config, 0, None).solver.w
    rows = np.vstack(features(queries, 6))
    relevant = np.concatenate([query[0] for query in queries])
    weights = np.concatenate([np.full(len(y), c / len(y)) for y, _, c in queries])
    peer = svm.LinearSVC(
        C=2.0, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6, random_state=0
    )
    peer.fit(rows, relevant, sample_weight=weights)
    np.testing.assert_allclose(w, peer.coef_[0], atol=2e-3)


def test_the_random_start_is_uniform_over_the_orderings_of_loss_0(read):
    app = ranker(2, initialisation="random")
    first, second = np.split(np.eye(8), 2)
    examples = read(app, [([1, 1, 1, 0], first, 1.0), ([0, 0, 1, 0], second, 1.0)])
    expected = {}
    for a in itertools.combinations(range(3), 2):
        for b in ((6, 4), (6, 5), (6, 7)):
            phi = np.zeros(9)
            phi[list(a + b)] = 0.5
            phi[8] = 1.0
            expected[phi.tobytes()] = 0
    rng = np.random.default_rng(17)
    for _ in range(1800):
        plane = app.start(examples, rng)
        assert plane.loss == 0
        expected[plane.gradient.tobytes()] += 1
    assert len(expected) == 9
    assert max(abs(count - 200) for count in expected.values()) < 5 * math.sqrt(200 * 8 / 9)


def separable(rng, queries=12, m=20):
    """Queries whose relevant documents stand out by feature 1."""
    made = []
    for _ in range(queries):
        relevant = (np.arange(m) < 4).astype(int)
        rows = np.round(rng.random((m, 3)), 2)
        rows[:, 0] = np.round(np.clip(0.6 * relevant + rng.normal(0.2, 0.02, m), 0, 1), 3)
        made.append((relevant, rows, 1.0))
    return made


@pytest.mark.parametrize("start", ["classification", "pairwise", "random"])
def test_training_lowers_the_objective_and_finds_the_relevant_documents(read, start):
    config = Config.from_dict(
        {
            "application": {"name": "precision_at_k", "k": 3, "initialisation": start},
            "objective": {"C": 10.0},
        }
    )
    app = config.create_application()
    examples = read(app, separable(np.random.default_rng(18)))
    model = learn_on(app, examples, config)
    (restart,) = model.record["restarts"]
    objectives = [objective for objective, _ in restart["history"]]
    assert model.record["converged"]
    assert objectives == sorted(objectives, reverse=True)
    assert model.record["training"]["P@3"] == 1.0
    assert model.record["warnings"] == []
    gap = model.record["gap"]
    assert gap <= config.solver.epsilon


@pytest.mark.parametrize("start", ["classification", "pairwise", "random"])
def test_training_with_two_threads_gives_the_same_bytes(read, start):
    rng = np.random.default_rng(23)
    rows = np.round(rng.random((60, 60, 60)), 2)
    relevant = (rows[:, :, 0] + rng.normal(0, 0.3, (60, 60)) > 0.9).astype(int)
    config = Config.from_dict(
        {
            "application": {"name": "precision_at_k", "k": 3, "initialisation": start},
            "cccp": {"max_iterations": 3},
        }
    )
    app = config.create_application()
    examples = read(app, list(zip(relevant, rows, itertools.repeat(1.0))))
    # Every query has a file of its own, and no block is part of two.
    assert len(DataOracle(app, examples, Executor(1)).blocks) == 60
    models = [learn_on(app, examples, config, threads=threads) for threads in (1, 2)]
    assert models[0].w.tobytes() == models[1].w.tobytes()
    assert models[0].record == models[1].record


def test_a_collapse_of_the_weights_is_told(read):
    config = Config.from_dict(
        {
            "application": {"name": "precision_at_k", "k": 3, "initialisation": "random"},
            "objective": {"C": 1e-9},
        }
    )
    app = config.create_application()
    model = learn_on(app, read(app, separable(np.random.default_rng(19))), config)
    (warning,) = model.record["warnings"]
    assert warning == (
        "the scores of every query's documents are almost equal: the weights collapsed to "
        "zero, and the order is that of the input; try a larger C or initialisation: classification"
    )


def test_queries_without_a_choice_do_not_change_the_training(read):
    config = Config.from_dict(
        {
            "application": {"name": "precision_at_k", "k": 3, "initialisation": "random"},
            "objective": {"C": 1.0},
        }
    )
    app = config.create_application()
    rng = np.random.default_rng(20)
    useful = separable(rng)
    idle = [
        ([0] * 9, rng.normal(size=(9, 3)), 1.0),
        ([1] * 9, rng.normal(size=(9, 3)), 1.0),
        ([1, 0, 1], rng.normal(size=(3, 3)), 1.0),
    ]
    with_idle, without = read(app, useful + idle), read(app, useful)
    np.testing.assert_array_equal(app.trained(with_idle), [True] * 12 + [False] * 3)
    w = rng.normal(size=4)
    for ask in (lambda e: app.augmented(w, e)[0], lambda e: app.completed(w, e)):
        np.testing.assert_array_equal(ask(with_idle).gradient, ask(without).gradient)
        assert ask(with_idle).loss == ask(without).loss
    assert learn_on(app, with_idle, config).record["converged"]


# scores


def test_metrics_of_a_small_case_are_those_by_hand(read):
    # Query 1 is ranked 2 0 1 0 by label, query 2 has nothing relevant, query 3 two documents.
    text = (
        "2 qid:1 1:4\n0 qid:1 1:3\n1 qid:1 1:2\n0 qid:1 1:1\n"
        "0 qid:2 1:1\n0 qid:2 1:2\n"
        "0 qid:3 1:2\n1 qid:3 1:1\n"
    )
    app = ranker(3)
    examples = read(app, text)
    found = app.metrics(examples, app.predict(np.ones(1), examples))
    by_hand = {
        "MAP": [(1 + 2 / 3) / 2, 0, 1 / 2],
        "P@1": [1, 0, 0],
        "P@3": [2 / 3, 0, 1 / 3],
        "P@5": [2 / 5, 0, 1 / 5],
        "P@10": [2 / 10, 0, 1 / 10],
        "P@k": [2 / 3, 0, 1 / 3],
        # gains 3 and 1, discounts 1 at ranks 1 and 2 and log2(3) at 3; ideal 3/1 + 1/1.
        "NDCG@1": [1, 0, 0],
        "NDCG@3": [(3 + 1 / math.log2(3)) / 4, 0, 1],
        "NDCG@5": [(3 + 1 / math.log2(3)) / 4, 0, 1],
        "NDCG@10": [(3 + 1 / math.log2(3)) / 4, 0, 1],
    }
    assert list(found) == list(by_hand)
    for name, values in by_hand.items():
        assert found[name] == pytest.approx(values), name
    score = app.score(examples, app.predict(np.ones(1), examples))
    assert score["MAP"] == pytest.approx((5 / 6 + 1 / 2) / 3)
    assert score["loss"] == pytest.approx(((2 / 3 - 2 / 3) + 0 + (1 / 3 - 1 / 3)) / 3)
    assert (score["queries"], score["without_relevant"]) == (3, 1)
    assert next(iter(score)) == "MAP"


def test_ties_are_ranked_in_the_order_of_the_input():
    order = ranking_metrics.ranked(np.array([1.0, 2.0, 1.0, 2.0, 0.0, 0.0]), np.array([0, 4, 6]))
    assert order.tolist() == [1, 3, 0, 2, 4, 5]


def test_the_mean_loss_is_what_the_training_loss_bounds(data):
    app, examples, queries, w = data
    score = app.score(examples, app.predict(w, examples))
    losses = [
        loss_by_definition(relevant.tolist(), np.argsort(-(rows @ w), kind="stable")[:3], 3) / 3
        for (relevant, _, _), rows in zip(queries, features(queries, 6), strict=True)
    ]
    assert score["loss"] == pytest.approx(np.mean(losses))


def judged(measures, app, examples, predictions):
    """Labels and run file as ir-measures takes them."""
    file = io.StringIO()
    app.write_trec(examples, predictions, file)
    documents = zip(examples.query_of, examples.documents, examples.labels, strict=True)
    qrels = [measures.Qrel(examples.names[q], name, int(label)) for q, name, label in documents]
    return qrels, list(measures.read_trec_run(io.StringIO(file.getvalue())))


def test_precision_and_map_are_those_of_ir_measures(data):
    measures = pytest.importorskip("ir_measures")
    app, examples, _, w = data
    predictions = app.predict(w, examples)
    assert len(np.unique(predictions.scores)) == len(predictions.scores)
    judgement = judged(measures, app, examples, predictions)
    wanted = [measures.P @ 1, measures.P @ 3, measures.P @ 5, measures.P @ 10, measures.AP]
    found = app.metrics(examples, predictions)
    for value in measures.iter_calc(wanted, *judgement):
        name = "MAP" if str(value.measure) == "AP" else str(value.measure)
        assert found[name][int(value.query_id)] == pytest.approx(value.value), name


def test_a_run_file_with_ties_is_read_in_our_order(read):
    measures = pytest.importorskip("ir_measures")
    rng = np.random.default_rng(21)
    app = ranker(3)
    queries = [
        ((rng.random(12) < 0.4).astype(int), rng.integers(0, 2, (12, 1)) / 8, 1.0)
        for _ in range(20)
    ]
    examples = read(app, queries)
    predictions = app.predict(np.array([1.0, 0.0]), examples)
    judgement = judged(measures, app, examples, predictions)
    found = app.metrics(examples, predictions)["P@3"]
    for value in measures.iter_calc([measures.P @ 3], *judgement):
        assert found[int(value.query_id)] == pytest.approx(value.value)


# output


def test_a_run_file_has_the_six_columns_of_trec(read):
    app = ranker(1)
    examples = read(app, "0 qid:q 1:1 # docid = a\n1 qid:q 1:2 # docid = b\n0 qid:q 1:1\n")
    file = io.StringIO()
    app.write_trec(examples, app.predict(np.ones(1), examples), file)
    rows = [row.split() for row in file.getvalue().splitlines()]
    assert [row[:4] for row in rows] == [
        ["q", "Q0", "b", "1"],
        ["q", "Q0", "a", "2"],
        ["q", "Q0", "3", "3"],
    ]
    assert [row[4] for row in rows] == ["2.0", "1.0", "0.99999994"]
    assert {row[5] for row in rows} == {"lssvm"}


def test_records_give_the_ordering_and_its_loss(read):
    app = ranker(2)
    text = "0 qid:q 1:1 # a\n1 qid:q 1:3 # b\n0 qid:q 1:2 # c\n1 qid:q 1:0.5 # d\n"
    examples = read(app, text)
    (record,) = app.records(examples, app.predict(np.ones(1), examples))
    assert json.loads(json.dumps(record)) == {
        "id": "q",
        "y": [0, 1, 1, 0],
        "h": ["b", "c"],
        "score": 2.5,
        "scores": [1.0, 3.0, 2.0, 0.5],
        "gold": [0, 1, 0, 1],
        "loss": 0.5,
    }


# the commands


CONFIG = "application: {name: precision_at_k, k: 2}\ndata: {train: train.txt, test: train.txt}\n"
TRAIN = (
    "1 qid:1 1:1 2:0.5\n0 qid:1 1:0.2\n0 qid:1 2:1\n1 qid:2 1:0.9\n0 qid:2 2:0.3\n0 qid:2 1:0.1\n"
)

BROKEN = {
    "empty": b"",
    "blank lines": b"\n \n",
    "comments alone": b"# nothing\n",
    "binary": bytes(range(256)),
    "not UTF-8": b"1 qid:1 1:1 # \xff\n",
    "truncated gzip": b"\x1f\x8b\x08\x00",
    "no label": b"qid:1 1:1\n",
    "a label of words": b"good qid:1 1:1\n",
    "a label that is not finite": b"nan qid:1 1:1\n",
    "a relevance whose gain is no number": b"0 qid:1 1:1\n1e300 qid:1 1:1\n",
    "no qid": b"1 1:1\n",
    "an empty qid": b"1 qid: 1:1\n",
    "a qid in the last place": b"1 1:1 qid:1\n",
    "a feature without a value": b"1 qid:1 1:\n",
    "a feature without a colon": b"1 qid:1 1\n",
    "a value of words": b"1 qid:1 1:one\n",
    "a value that is not a number": b"1 qid:1 1:nan\n",
    "an infinite value": b"1 qid:1 1:inf\n",
    "index 0": b"1 qid:1 0:1\n",
    "indices that decrease": b"1 qid:1 2:1 1:1\n",
    "an index twice": b"1 qid:1 2:1 2:1\n",
    "an index beyond all bounds": b"1 qid:1 99999999999:1\n",
    "more features than weights can be": b"1 qid:1 2000000000:1\n",
    "labels that are not known": b"? qid:1 1:1\n? qid:1 1:2\n? qid:1 1:3\n",
    "a label that is not known among others": b"0 qid:1 1:1\n1 qid:1 1:2\n? qid:1 1:3\n",
    "several labels": b"1,3 qid:1 1:1\n",
    "no relevant document": b"0 qid:1 1:1\n0 qid:1 1:2\n0 qid:1 1:3\n",
    "no query with more than k documents": b"1 qid:1 1:1\n0 qid:1 1:2\n",
    "only relevant documents": b"1 qid:1 1:1\n1 qid:1 1:2\n1 qid:1 1:3\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(CONFIG)
    Path("train.txt").write_text(TRAIN)
    return tmp_path


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_gives_one_line_and_exit_code_2(folder, name):
    check_broken_training_file(BROKEN[name])


@pytest.mark.parametrize(
    "setting",
    ["k=0", "k=2.5", "relevant_from=.nan", "initialisation=zero", "depth=3", "relevant_from=one"],
)
def test_a_wrong_option_gives_one_line_and_exit_code_2(folder, setting):
    result = CliRunner().invoke(learn, ["c.yaml", "model", "--set", f"application.{setting}"])
    assert result.exit_code == 2, result.exception
    (message,) = result.stderr.splitlines()
    assert message.startswith(f"error: --set application.{setting.partition('=')[0]}: ")


def run(command, *arguments):
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.stderr
    return result


def test_the_commands_train_rank_and_score(folder):
    run(learn, "c.yaml", "model", "-q")
    result = run(classify, "c.yaml", "model", "scores")
    metrics = dict(row.split() for row in result.stdout.splitlines())
    assert metrics["P@1"] == "1"
    assert list(metrics)[:5] == ["MAP", "P@1", "P@3", "P@5", "P@10"]
    scores = [float(row) for row in Path("scores").read_text().splitlines()]
    assert len(scores) == 6
    assert scores[0] > max(scores[1:3])
    result = run(classify, "c.yaml", "model", "-", "-q", "--format", "trec")
    assert result.stdout.splitlines()[0].split()[:4] == ["1", "Q0", "1", "1"]
    result = run(classify, "c.yaml", "model", "-", "-q", "--json")
    assert [json.loads(row)["id"] for row in result.stdout.splitlines()] == ["1", "2"]
    assert "feature 1" in run(main, "show", "model", "--top", "1").stdout
    assert "application: precision_at_k" not in run(main, "check", "c.yaml").stdout
    Path("unlabelled").write_text(TRAIN.replace("1 qid", "? qid").replace("0 qid", "? qid"))
    result = run(classify, "unlabelled", "model", "scores")
    assert result.stderr == "2 examples without labels: nothing to score\n"


def test_a_query_without_a_relevant_document_counts_as_0_alone_and_beside_others(folder):
    run(learn, "c.yaml", "model", "-q")
    Path("none").write_text("0 qid:7 1:1\n0 qid:7 1:2\n0 qid:8 1:1\n")
    Path("both").write_text("0 qid:7 1:1\n0 qid:7 1:2\n1 qid:8 1:1\n")
    for name, mean, without in (("none", 0, 2), ("both", 0.5, 1)):
        run(classify, name, "model", "scores", "--metrics", "metrics.json")
        metrics = json.loads(Path("metrics.json").read_text())
        assert metrics["without_relevant"] == without
        assert [metrics[key] for key in ("MAP", "P@1", "NDCG@1", "NDCG@10")] == [mean] * 4
        assert metrics["P@k"] == mean / 2
    said = "no query has a relevant document: every metric is 0; "
    said = f"warning: {said}labels that are not known are written as ?\n"
    assert run(classify, "none", "model", "scores").stderr == said
    assert run(classify, "both", "model", "scores").stderr == ""
    checked = run(main, "check", "c.yaml", "--set", "data.test=none").stdout
    said = "data.test: 2 queries have no relevant document (score 0): left out of training"
    assert f"warning: {said}" in checked
    assert "without label" not in checked
    Path("unknown").write_text("? qid:7 1:1\n? qid:7 1:2\n")
    checked = run(main, "check", "c.yaml", "--set", "data.test=unknown").stdout
    assert "warning: data.test: examples without labels" in checked
    assert "no relevant document" not in checked


def test_a_file_of_queries_without_a_relevant_document_does_not_change_training(folder):
    pairs = ("-q", "--set", "application.initialisation=pairwise")
    run(learn, "c.yaml", "model", *pairs)
    Path("none.txt").write_text("0 qid:7 1:1\n0 qid:7 1:2\n0 qid:7 2:1\n")
    run(learn, "c.yaml", "other", *pairs, "--set", "data.train=[train.txt, none.txt]")
    weights = [Model.load(name).w for name in ("model", "other")]
    np.testing.assert_array_equal(*weights)


NAMED = """\
1 qid:1 1:9 #docid = D1 inc = 1 prob = 0.08
0 qid:1 1:8 # DocId:D2, inc = 1
0 qid:1 1:7 # GX3 and more
0 qid:1 1:6 # prob = 1 doc_id=D4
0 qid:1 1:5 #DOCID : D5
0 qid:1 1:4 # docid D6
0 qid:1 1:3 #
0 qid:1 1:2
0 qid:1 1:1 # docid =
"""


def test_docids_are_those_of_the_comments(folder):
    Path("train.txt").write_text(NAMED)
    run(learn, "c.yaml", "model", "-q")
    result = run(classify, "c.yaml", "model", "out", "--format", "trec")
    rows = [row.split() for row in Path("out").read_text().splitlines()]
    assert [row[2] for row in rows] == ["D1", "D2", "GX3", "D4", "D5", "D6", "7", "8", "9"]
    assert result.stderr == (
        "warning: 3 documents have no docid in a comment, such as '#docid = D1': "
        "the numbers of their rows are written\n"
    )
    assert run(classify, "c.yaml", "model", "out").stderr == ""
    assert run(classify, "c.yaml", "model", "out", "--json").stderr == result.stderr
    assert run(classify, "c.yaml", "model", "out", "--format", "trec", "-q").stderr == ""


def test_a_docid_that_a_query_has_twice_is_told_where_it_is_written(folder):
    Path("train.txt").write_text(TRAIN.replace("\n", " # D\n"))
    run(learn, "c.yaml", "model", "-q")
    said = "4 documents have the docid of another one of the same query"
    result = run(classify, "c.yaml", "model", "out", "--format", "trec")
    assert result.stderr == f"warning: {said}\n"
    assert run(classify, "c.yaml", "model", "out").stderr == ""
    assert f"warning: data.train: {said}" in run(main, "check", "c.yaml").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--format", "letor"],
            "error: --format letor: application 'precision_at_k' cannot write it "
            "(known: scores, trec)",
        ),
        (
            ["--format", "trec", "--json"],
            "error: --json and --format exclude each other; expected one of them",
        ),
        (["--top", "2"], "error: --top 2: all documents are ranked anyway; expected no --top"),
    ],
)
def test_formats_that_there_are_not_are_refused(folder, arguments, message):
    run(learn, "c.yaml", "model", "-q")
    result = CliRunner().invoke(classify, ["c.yaml", "model", "scores", *arguments])
    assert (result.exit_code, result.stderr) == (2, message + "\n")
    assert not Path("scores").exists()


def test_the_starter_configuration_trains(folder):
    Path("starter.yaml").write_text(run(main, "init", "precision_at_k").stdout)
    run(learn, "starter.yaml", "model", "-q", "--set", "application.k=2")
    assert Path("model").stat().st_size > 0


def test_cross_validation_compares_models_of_different_k(folder):
    Path("train.txt").write_text(
        "".join(
            TRAIN.replace("qid:1", f"qid:{q}").replace("qid:2", f"qid:{q + 1}")
            for q in range(0, 12, 2)
        )
    )
    grid = "search={grid: {application.k: [1, 2]}, folds: 3}"
    result = run(main, "cv", "c.yaml", "--jobs", "1", "--set", grid)
    assert "validation MAP" in result.stdout
