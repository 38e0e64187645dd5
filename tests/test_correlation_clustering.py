import numpy as np
import pytest
import reference
from click.testing import CliRunner
from clustering_cases import cut, dense, random_documents, read, told_apart

from lssvm.applications.base import Source
from lssvm.applications.coreference.correlation_clustering import (
    CorrelationClustering,
    CorrelationClusteringOptions,
)
from lssvm.cli import learn
from lssvm.config import load_config
from lssvm.errors import ConfigError, DataError
from lssvm.training.session import learn_on

NAME = "correlation_clustering"
DIMENSION = 4


def clustering(**options):
    return CorrelationClustering(CorrelationClusteringOptions(**{"features": DIMENSION, **options}))


def joint(features, labels, reach):
    together = [
        p for p in reference.mention_pairs(len(labels), reach) if labels[p[0]] == labels[p[1]]
    ]
    return sum((dense(features, p, DIMENSION) for p in together), np.zeros(DIMENSION))


def as_labels(clusters):
    return [list(clusters).index(cluster) for cluster in clusters]


@pytest.mark.parametrize("block", range(8))
def test_clusterings_are_scored_as_defined_and_never_above_the_best_of_all(tmp_path, block):
    rng = np.random.default_rng(block)
    for trial in range(25):
        reach = int(rng.integers(1, 6))
        app = clustering(max_distance=reach)
        documents = random_documents(rng, DIMENSION)
        examples = read(app, tmp_path, documents)
        w = rng.integers(-8, 9, DIMENSION) / 8 * (trial > 2)
        predictions = app.predict(w, examples)
        best = 0.0
        truth = np.zeros(DIMENSION)
        for number, (clusters, features, cost) in enumerate(documents):
            found = list(predictions.clusters[examples.places[number]])
            every = list(reference.clusterings(len(clusters)))
            assert as_labels(found) in every
            values = [w @ joint(features, labels, reach) for labels in every]
            assert predictions.scores[number] == w @ joint(features, found, reach)
            assert 0 <= predictions.scores[number] <= max(values)
            aimed, pairs = cut(clusters, reach), reference.mention_pairs(len(clusters), reach)
            losses = [reference.pair_loss(aimed, labels, pairs) for labels in every]
            best += cost * max(a + b for a, b in zip(values, losses, strict=True))
            truth += cost * joint(features, aimed, reach)
        plane, upper = app.augmented(w, examples)
        assert upper == np.inf
        assert w @ truth - 1e-9 <= plane.value(w) <= best + 1e-9
        completed = app.completed(w, examples)
        np.testing.assert_array_equal(completed.gradient, truth)
        assert completed.loss == 0


def test_a_search_finds_the_best_of_all_clusterings_most_of_the_time(tmp_path):
    rng = np.random.default_rng(10)
    app, hits = clustering(), 0
    for _ in range(100):
        clusters, features, _ = max(random_documents(rng, DIMENSION), key=lambda d: len(d[0]))
        examples = read(app, tmp_path, [(clusters, features, 1)])
        w = rng.normal(size=DIMENSION)
        every = reference.clusterings(len(clusters))
        best = max(w @ joint(features, labels, 5) for labels in every)
        hits += app.predict(w, examples).scores[0] >= best - 1e-9
    assert hits >= 90


def test_no_move_of_a_single_mention_improves_a_prediction(tmp_path):
    rng = np.random.default_rng(11)
    app = clustering()
    for _ in range(30):
        clusters, features, _ = max(random_documents(rng, DIMENSION, 9), key=lambda d: len(d[0]))
        examples = read(app, tmp_path, [(clusters, features, 1)])
        w = rng.integers(-8, 9, DIMENSION) / 8
        predictions = app.predict(w, examples)
        labels = list(predictions.clusters)
        for i in range(len(labels)):
            for other in {*labels, max(labels) + 1}:
                moved = [*labels[:i], other, *labels[i + 1 :]]
                assert w @ joint(features, moved, 9) <= predictions.scores[0]


def test_planes_of_approximate_inference_bound_the_sum_from_below_everywhere(tmp_path):
    rng = np.random.default_rng(12)
    app = clustering()
    documents = random_documents(rng, DIMENSION)
    examples = read(app, tmp_path, documents)
    for _ in range(30):
        u, v = rng.normal(size=(2, DIMENSION))
        plane, _ = app.augmented(u, examples)
        exact = 0.0
        for clusters, features, cost in documents:
            pairs = reference.mention_pairs(len(clusters), 5)
            exact += cost * max(
                v @ joint(features, labels, 5) + reference.pair_loss(clusters, labels, pairs)
                for labels in reference.clusterings(len(clusters))
            )
        assert plane.value(v) <= exact + 1e-9


def test_the_joint_feature_sums_over_pairs_in_one_cluster(tmp_path):
    rng = np.random.default_rng(13)
    documents = random_documents(rng, DIMENSION)
    app = clustering(max_distance=3)
    examples = read(app, tmp_path, documents)
    for number, (clusters, features, _) in enumerate(documents):
        found = app.joint_feature(examples, number, clusters)
        np.testing.assert_array_equal(found, joint(features, clusters, 3))


def test_the_loss_of_a_record_is_the_pair_loss(tmp_path):
    rng = np.random.default_rng(14)
    app, documents = clustering(), random_documents(rng, DIMENSION)
    examples = read(app, tmp_path, documents)
    records = app.records(examples, app.predict(rng.normal(size=DIMENSION), examples))
    for record, (clusters, _, _) in zip(records, documents, strict=True):
        pairs = reference.mention_pairs(len(clusters), 5)
        assert record["h"] is None
        assert record["loss"] == pytest.approx(reference.pair_loss(clusters, record["y"], pairs))


def test_training_solves_one_problem_and_its_gap_is_not_certified(tmp_path):
    config, documents = told_apart(np.random.default_rng(15), NAME, DIMENSION, tmp_path)
    assert config.objective.model == "ssvm"
    app = config.create_application()
    examples = read(app, tmp_path, documents)
    model = learn_on(app, examples, config)
    assert not model.record["certified"]
    assert model.record["training"]["pair_loss"] == 0


def test_the_command_says_that_the_gap_is_not_certified(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, documents = told_apart(np.random.default_rng(16), NAME, DIMENSION, tmp_path)
    read(clustering(), tmp_path, documents)
    text = "application: {name: correlation_clustering, features: 4}\ndata: {train: x.pairs}\n"
    (tmp_path / "c.yaml").write_text(text)
    done = CliRunner().invoke(learn, ["c.yaml", "m"])
    assert done.exit_code == 3
    assert "the gap is not certified" in done.stderr
    assert "no bound is known where inference is approximate" in done.stderr
    assert "raise cccp" not in done.stderr
    assert (tmp_path / "m").exists()


def test_the_model_that_the_application_has_is_the_default_and_others_are_refused(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("application: {name: correlation_clustering}\n")
    assert load_config(path).objective.model == "ssvm"
    path.write_text("application: {name: correlation_clustering}\nobjective: {model: lssvm}\n")
    with pytest.raises(ConfigError, match="has no model 'lssvm'"):
        load_config(path)
    path.write_text("application: {name: coreference}\n")
    assert load_config(path).objective.model == "lssvm"


def test_documents_without_clusters_cannot_be_trained_on(tmp_path):
    (tmp_path / "x.pairs").write_text("document a\nclusters ? ?\npair 1 2\n")
    app = clustering()
    examples = app.read([Source(str(tmp_path / "x.pairs"))])
    with pytest.raises(
        DataError, match="document 'a' has no clusters; expected true clusters for training"
    ):
        app.start(examples, np.random.default_rng(0))
