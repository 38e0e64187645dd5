import io
import itertools
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import reference
from pydantic import ValidationError

from lssvm.applications.base import Source
from lssvm.applications.motif import motif_matrix
from lssvm.applications.motif.motif import Motif, MotifOptions, Predictions, roc_auc
from lssvm.config import Config
from lssvm.errors import DataError, LssvmError
from lssvm.training.session import learn_on

HEAD = [
    *("motif_id", "motif_alt_id", "sequence_name", "start", "stop", "strand", "score"),
    *("matched_sequence", "prediction", "label"),
]


def _motif(**options):
    return Motif(MotifOptions(name="motif", **options))


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Examples of an application from (letters, label, cost) or letters alone."""
    monkeypatch.chdir(tmp_path)

    def _read(app, records):
        lines = []
        for i, record in enumerate(records):
            letters, label, cost = (record, None, None) if isinstance(record, str) else record
            fields = f" label={label:+d} cost={cost}" if label else ""
            lines.append(f">s{i}{fields}\n{letters}\n")
        (tmp_path / "x.fa").write_text("".join(lines))
        return app.read([Source("x.fa")])

    return _read


def _letters(rng, size, ambiguous=0.04):
    p = [(1 - ambiguous) / 4] * 4 + [ambiguous]
    return "".join(rng.choice(list("ACGTN"), p=p, size=size))


def _problem(rng):
    """A tiny random problem: options, records, weights that are multiples of 1/8."""
    length, order, both = int(rng.integers(1, 5)), int(rng.integers(4)), bool(rng.integers(2))
    records = []
    for _ in range(rng.integers(1, 6)):
        letters = _letters(rng, rng.integers(1, 13))
        found = reference.motif_candidates(letters, length, both)
        label = int(rng.choice([-1, 1])) if found else -1
        records.append((letters, label, rng.integers(17) / 8))
    options = {
        "length": length,
        "background_order": order,
        "strands": "both" if both else "given",
    }
    dimension = 4 * length + len(reference.background_features(order))
    return options, records, rng.integers(-8, 9, dimension) / 8


def _outputs(options, record):
    both = options["strands"] == "both"
    sizes = options["length"], options["background_order"]
    return list(reference.motif_outputs(record[0], record[1], *sizes, both))


@pytest.mark.parametrize("block", range(8))
def test_kernels_equal_enumeration_to_the_last_bit(read, block):
    rng = np.random.default_rng(block)
    for trial in range(25):
        options, records, w = _problem(rng)
        w = w * (trial > 2)  # w = 0: the loss and the order of the outputs alone decide
        app = _motif(**options)
        examples = read(app, records)
        predictions = app.predict(w, examples)
        augmented, completed, loss = np.zeros_like(w), np.zeros_like(w), 0.0
        for i, (_, label, cost) in enumerate(records):
            outputs = _outputs(options, records[i])
            absent = outputs[0][1]
            (delta, phi, _, _), _ = reference.first_maximum(w, outputs)
            augmented += cost * (phi - absent)
            loss += cost * delta
            without_loss = [(0.0, *output[1:]) for output in outputs]
            if label > 0:
                (_, phi, _, _), _ = reference.first_maximum(w, without_loss[1:])
                completed += cost * (phi - absent)
            (_, _, y, h), _ = reference.first_maximum(w, without_loss)
            assert predictions.y[i] == y
            if h is not None:
                assert (predictions.starts[i, 0], predictions.strands[i, 0]) == h
            _, score = reference.first_maximum(w, without_loss[1:])
            assert predictions.scores[i, 0] == score - w @ absent
        plane, upper = app.augmented(w, examples)
        np.testing.assert_array_equal(plane.gradient, augmented)
        assert plane.loss == loss
        assert upper == loss + w @ augmented
        plane = app.completed(w, examples)
        np.testing.assert_array_equal(plane.gradient, completed)
        assert plane.loss == 0


def test_joint_feature_is_the_papers(read):
    rng = np.random.default_rng(10)
    for _ in range(50):
        options, records, _ = _problem(rng)
        app = _motif(**options)
        examples = read(app, records)
        for i, record in enumerate(records):
            for _, phi, y, h in _outputs(options, record):
                np.testing.assert_array_equal(app.joint_feature(examples, i, y, h), phi)


def test_scores_are_differences_of_the_joint_feature(read):
    rng = np.random.default_rng(11)
    for _ in range(50):
        options, records, w = _problem(rng)
        app = _motif(**options)
        examples = read(app, records)
        predictions = app.predict(w, examples, top=40)
        for i in range(len(records)):
            absent = app.joint_feature(examples, i, -1)
            for k in np.flatnonzero(predictions.starts[i] >= 0):
                h = predictions.starts[i, k], predictions.strands[i, k]
                difference = app.joint_feature(examples, i, 1, h) - absent
                assert predictions.scores[i, k] == w @ difference


def test_the_joint_feature_of_a_small_case_is_as_the_docstring_says(read):
    app = _motif(length=2, background_order=1)
    examples = read(app, ["ACGNT"])
    names = np.array(app.feature_names())
    absent = names[app.joint_feature(examples, 0, -1) > 0]
    assert list(absent) == [
        "background A at start",
        "background T at start",
        "background C after A",
        "background G after C",
    ]
    # The window is AC; G stands right after it, so C is its context. T follows the N.
    present = names[app.joint_feature(examples, 0, 1, (0, 0)) > 0]
    assert list(present) == [
        "motif 1 A",
        "motif 2 C",
        "background T at start",
        "background G after C",
    ]
    # The reverse complement of CG is CG, of AC it is GT.
    assert list(names[app.joint_feature(examples, 0, 1, (0, 1)) > 0][:2]) == [
        "motif 1 G",
        "motif 2 T",
    ]


@pytest.mark.parametrize("length", [1, 4, 5, 8, 9, 16, 17, 24, 33, 100])
@pytest.mark.parametrize("strands", ["given", "both"])
def test_long_sequences_and_motifs_are_searched_exactly(read, length, strands):
    rng = np.random.default_rng(length)
    app = _motif(length=length, strands=strands)
    records = [_letters(rng, size, 0.002) for size in (1100, 255 + length, 256 + length, length)]
    examples = read(app, records)
    w = rng.integers(-8, 9, app.dimension(examples)) / 8
    predictions = app.predict(w, examples, top=30)
    for i, letters in enumerate(records):
        both = strands == "both"
        scores = reference.motif_window_scores(letters, w, length, 3, both)
        windows = np.array(reference.motif_candidates(letters, length, both)).reshape(-1, 2)
        best = np.argsort(-scores, kind="stable")
        _, first = np.unique(windows[best, 0], return_index=True)  # a start counts once
        best = best[np.sort(first)][:30]
        windows = windows[best]
        found = predictions.starts[i] >= 0
        np.testing.assert_array_equal(predictions.scores[i, found], scores[best])
        np.testing.assert_array_equal(predictions.starts[i, found], windows[:, 0])
        np.testing.assert_array_equal(predictions.strands[i, found], windows[:, 1])


def test_the_best_window_is_the_first_of_the_top_windows(read):
    rng = np.random.default_rng(12)
    app = _motif(length=5, strands="both")
    examples = read(app, [_letters(rng, 700) for _ in range(20)])
    for w in (np.zeros(app.dimension(examples)), rng.normal(size=app.dimension(examples))):
        one, many = app.predict(w, examples), app.predict(w, examples, top=3)
        np.testing.assert_array_equal(one.starts[:, 0], many.starts[:, 0])
        np.testing.assert_array_equal(one.strands[:, 0], many.strands[:, 0])
        np.testing.assert_array_equal(one.scores[:, 0], many.scores[:, 0])


@pytest.fixture
def data(read):
    """A both-strand application, 60 random sequences with labels and costs, weights."""
    rng = np.random.default_rng(13)
    app = _motif(length=6, background_order=2, strands="both")
    records = [
        (_letters(rng, 80), int(rng.choice([-1, 1])), rng.integers(1, 9) / 8) for _ in range(60)
    ]
    examples = read(app, records)
    return app, examples, records, rng.normal(size=app.dimension(examples))


def test_threads_give_the_same_bytes(data):
    app, examples, _, w = data
    blocks = [examples.slice(i, i + 5) for i in range(0, 60, 5)] * 4

    def answer(block):
        planes = app.augmented(w, block)[0], app.completed(w, block)
        return b"".join(plane.gradient.tobytes() for plane in planes), planes[0].loss

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(answer, blocks)) == list(map(answer, blocks))


def test_blocks_sum_to_the_whole(data):
    app, examples, _, w = data
    w = np.round(8 * w) / 8
    whole = app.augmented(w, examples)[0]
    parts = [app.augmented(w, examples.slice(a, b))[0] for a, b in ((0, 1), (1, 40), (40, 60))]
    summed = parts[0] + parts[1] + parts[2]
    np.testing.assert_array_equal(summed.gradient, whole.gradient)
    assert summed.loss == whole.loss
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(parts[1].gradient, whole.gradient)


def test_chosen_rows_are_as_if_read_alone(data, read):
    app, examples, records, w = data
    rows = np.array([59, 3, 3, 20])
    taken = examples.take(rows).slice(1, 4)
    alone = read(app, [records[i] for i in rows[1:]])
    assert taken.fingerprint() == alone.fingerprint()
    for name in ("offsets", "runs", "bounds", "windows", "contexts"):
        whole = getattr(examples.take(rows[1:]), name)
        np.testing.assert_array_equal(whole, getattr(alone, name))
    planes = app.augmented(w, taken)[0], app.augmented(w, alone)[0]
    np.testing.assert_array_equal(planes[0].gradient, planes[1].gradient)
    assert taken.names == ["s3", "s3", "s20"]


def test_the_fingerprint_sees_letters_lengths_labels_and_costs(read):
    app = _motif(length=2)
    first = [("ACGT", 1, 1.0), ("AC", -1, 1.0)]
    variants = [
        [("ACGA", 1, 1.0), ("AC", -1, 1.0)],
        [("ACG", 1, 1.0), ("TAC", -1, 1.0)],
        [("ACGT", 1, 1.0), ("AC", 1, 1.0)],
        [("ACGT", 1, 1.0), ("AC", -1, 0.5)],
    ]
    prints = [read(app, records).fingerprint() for records in [first, *variants]]
    assert len(set(prints)) == 5
    assert read(app, first).fingerprint() == prints[0]


def test_the_random_first_completion_is_uniform_over_the_windows(read):
    app = _motif(length=3, background_order=0, strands="both", initialisation="random")
    records = [("AAANCGTTC", 1, 0.5), ("TTTT", -1, 1.0)]
    examples = read(app, records)
    windows = reference.motif_candidates(records[0][0], 3, True)
    absent = app.joint_feature(examples, 0, -1)
    expected = {
        (0.5 * (app.joint_feature(examples, 0, 1, h) - absent)).tobytes(): h for h in windows
    }
    assert len(expected) == len(windows) == 8
    rng = np.random.default_rng(14)
    counts = dict.fromkeys(windows, 0)
    for _ in range(4000):
        plane = app.start(examples, rng)
        assert plane.loss == 0
        counts[expected[plane.gradient.tobytes()]] += 1
    assert max(abs(count - 500) for count in counts.values()) < 5 * np.sqrt(500 * 7 / 8)


def test_a_positive_without_a_window_stops_training_and_not_prediction(read):
    app = _motif(length=4)
    examples = read(app, [("ACGT", 1, 1.0), ("ACGNT", 1, 2.0), ("AC", -1, 1.0)])
    w = np.ones(app.dimension(examples))
    message = (
        "x.fa:3: record 's1' is positive but has no window of 4 unambiguous letters; "
        "expected at least one, or application.skip_unusable: true"
    )
    for call in (
        lambda: app.start(examples, np.random.default_rng(0)),
        lambda: app.completed(w, examples),
        lambda: app.summary(w, examples),
    ):
        with pytest.raises(DataError) as caught:
            call()
        assert str(caught.value) == message
    predictions = app.predict(w, examples)
    assert predictions.y.tolist() == [-1, -1, -1]
    assert predictions.starts.tolist() == [[0], [-1], [-1]]
    assert predictions.scores[1:, 0].tolist() == [-np.inf, -np.inf]
    assert app.augmented(w, examples)[0].loss == 1.0 + 2.0


def test_training_without_labels_is_refused(read):
    app = _motif(length=2)
    examples = read(app, ["ACGT", "GGCC"])
    assert not examples.labelled
    with pytest.raises(DataError) as caught:
        app.completed(np.zeros(app.dimension(examples)), examples)
    assert str(caught.value) == (
        "x.fa:1: record 's0' has no label; expected label=+1 or label=-1 for training"
    )
    with pytest.raises(LssvmError) as caught:
        app.score(examples, app.predict(np.zeros(app.dimension(examples)), examples))
    assert str(caught.value) == "the sequences have no labels; expected label=+1 or -1 for scores"


def test_labels_and_costs_come_from_the_file_or_the_configuration(tmp_path):
    (tmp_path / "a.fa").write_text(">a1\nACGT\n>a2 cost=3\nACGT\n")
    (tmp_path / "b.fa").write_text(">b1 label=-1\nACGT\n")
    sources = [Source(f"{tmp_path}/a.fa", "+1", 0.5), Source(f"{tmp_path}/b.fa")]
    examples = _motif(length=2).read(sources)
    assert examples.labels.tolist() == [1, 1, -1]
    assert examples.costs.tolist() == [0.5, 3.0, 1.0]
    assert examples.names == ["a1", "a2", "b1"]
    assert examples.sizes.tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    ("label", "content", "message"),
    [
        (
            "-1",
            ">a\nAC\n>b label=+1\nAC\n",
            "x.fa:3: record 'b' has label +1, the configuration gives -1 to its file; "
            "expected one label",
        ),
        ("0", ">a\nAC\n", "x.fa: label '0' in the configuration is not known; expected +1 or -1"),
    ],
)
def test_labels_that_do_not_fit_give_one_clear_line(tmp_path, monkeypatch, label, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_text(content)
    with pytest.raises(DataError) as caught:
        _motif(length=2).read([Source("x.fa", label)])
    assert str(caught.value) == message


def test_metrics_are_those_of_scikit_learn(data):
    metrics = pytest.importorskip("sklearn.metrics")
    app, examples, _, w = data
    w[:24] -= np.median(app.predict(w, examples).scores) / 6
    predictions = app.predict(w, examples)
    truth, y = examples.labels, predictions.y
    assert len(set(y)) == 2
    score = app.score(examples, predictions)
    assert score["error"] == pytest.approx(100 * (1 - metrics.accuracy_score(truth, y)))
    assert score["precision"] == pytest.approx(100 * metrics.precision_score(truth, y))
    assert score["recall"] == pytest.approx(100 * metrics.recall_score(truth, y))
    assert score["f1"] == pytest.approx(100 * metrics.f1_score(truth, y))
    auc = metrics.roc_auc_score(truth, predictions.scores[:, 0])
    assert score["roc_auc"] == pytest.approx(auc)
    assert (score["sequences"], score["positives"]) == (60, int(np.sum(truth > 0)))


def test_area_under_the_curve_counts_ties_half():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(15)
    for _ in range(50):
        truth = np.append(rng.integers(2, size=20), [0, 1]) > 0
        scores = rng.integers(4, size=22).astype(float)
        assert roc_auc(truth, scores) == pytest.approx(metrics.roc_auc_score(truth, scores))
    assert roc_auc(np.array([True, False]), np.array([0.0, -np.inf])) == 1.0
    assert roc_auc(np.array([True, False]), np.array([-np.inf, -np.inf])) == 0.5


def test_metrics_of_empty_classes_are_undefined(read):
    app = _motif(length=2)
    examples = read(app, [("ACGT", -1, 1.0)])
    score = app.score(examples, app.predict(np.zeros(app.dimension(examples)), examples))
    assert score == {
        "error": 0.0,
        "precision": None,
        "recall": None,
        "f1": None,
        "roc_auc": None,
        "sequences": 1,
        "positives": 0,
    }


@pytest.fixture
def sites(read):
    """Weights that look for AC on both strands, in four sequences."""
    app = _motif(length=2, background_order=0, strands="both")
    examples = read(
        app, [("GGACG", 1, 1.0), ("ttgtt", -1, 1.0), ("CCCC", -1, 1.0), ("ANA", -1, 1.0)]
    )
    w = np.zeros(app.dimension(examples))
    w[[0, 5]] = 1.0
    w[8:] = 0.25
    return app, examples, w


def test_predictions_are_written_as_a_table_of_sites(sites):
    app, examples, w = sites
    file = io.StringIO()
    app.write(examples, app.predict(w, examples, top=2), file)
    table = [line.split("\t") for line in file.getvalue().splitlines()]
    assert table == [
        HEAD,
        ["motif_1", "lssvm", "s0", "3", "4", "+", "1.5", "AC", "+1", "+1"],
        ["motif_1", "lssvm", "s0", "2", "3", "-", "0.5", "TC", "+1", "+1"],
        ["motif_1", "lssvm", "s1", "3", "4", "-", "1.5", "AC", "+1", "-1"],
        ["motif_1", "lssvm", "s1", "4", "5", "-", "0.5", "AA", "+1", "-1"],
        ["motif_1", "lssvm", "s2", "1", "2", "+", "0.5", "CC", "+1", "-1"],
        ["motif_1", "lssvm", "s2", "2", "3", "+", "0.5", "CC", "+1", "-1"],
        ["motif_1", "lssvm", "s3", ".", ".", ".", ".", ".", "-1", "-1"],
    ]


def test_records_hold_sites_score_and_loss(sites, read):
    app, examples, w = sites
    records = list(app.records(examples, app.predict(w, examples)))
    site = {"start": 3, "stop": 4, "strand": "-", "score": 1.5, "sequence": "AC"}
    assert records[1] == {"id": "s1", "y": 1, "h": [site], "score": 1.5, "gold": -1, "loss": 1.0}
    assert records[3] == {"id": "s3", "y": -1, "h": [], "score": None, "gold": -1, "loss": 0.0}
    unlabelled = read(app, ["GGACG"])
    (record,) = app.records(unlabelled, app.predict(w, unlabelled))
    assert list(record) == ["id", "y", "h", "score"]


def test_every_coordinate_has_a_name_of_its_own():
    for order, strands in itertools.product(range(4), ("given", "both")):
        app = _motif(length=3, background_order=order, strands=strands)
        names = app.feature_names()
        assert len(set(names)) == len(names) == 12 + (4 ** (order + 2) - 4) // 3
        assert app.dimension(None) == len(names)
    assert _motif(length=1, background_order=0).feature_names()[-1] == "background T"
    assert _motif(length=1, background_order=2).feature_names()[-1] == "background T after TT"


@pytest.fixture
def background(tmp_path):
    """A MEME background file of order 1 and its frequencies."""
    rng = np.random.default_rng(16)
    joint = rng.dirichlet(np.full(16, 5.0)).reshape(4, 4)
    frequencies = {"ACGT"[a]: joint[a].sum() for a in range(4)}
    frequencies |= {"ACGT"[a] + "ACGT"[b]: joint[a, b] for a in range(4) for b in range(4)}
    path = tmp_path / "background.txt"
    path.write_text("".join(f"{letters} {p}\n" for letters, p in frequencies.items()))
    return path, frequencies


def test_a_given_background_is_one_feature_the_log_probability(background, read):
    path, frequencies = background
    app = _motif(length=3, background=str(path), strands="both")
    letters = "ACGGNGATTACA"
    examples = read(app, [(letters, 1, 2.0)])
    assert app.dimension(examples) == 13
    assert app.feature_names()[-1] == "background"

    def one_strand(letters, i):
        context = reference.motif_context(letters, i, 1)
        total = sum(frequencies[context + x] for x in "ACGT")
        return np.log(frequencies[context + letters[i]] / total)

    def log_probability(i):
        other = one_strand(reference.reverse_complement(letters), len(letters) - 1 - i)
        return (one_strand(letters, i) + other) / 2

    for y, h in [(-1, None), (1, (0, 0)), (1, (5, 1))]:
        inside = range(h[0], h[0] + 3) if h else ()
        outside = [i for i in range(len(letters)) if letters[i] != "N" and i not in inside]
        phi = app.joint_feature(examples, 0, y, h)
        assert phi[-1] == pytest.approx(sum(map(log_probability, outside)), rel=1e-12)
        matrix = reference.motif_joint_feature(letters, y, h, 3, 1)[:12]
        np.testing.assert_array_equal(phi[:12], matrix)
    w = np.random.default_rng(17).normal(size=13)
    windows = reference.motif_candidates(letters, 3, True)
    values = [w @ app.joint_feature(examples, 0, 1, h) for h in windows]
    best = int(np.argmax(values))
    predictions = app.predict(w, examples)
    assert (predictions.starts[0, 0], predictions.strands[0, 0]) == windows[best]
    absent = app.joint_feature(examples, 0, -1)
    assert predictions.scores[0, 0] == pytest.approx(values[best] - w @ absent, rel=1e-12)
    gradient = 2 * (app.joint_feature(examples, 0, 1, windows[best]) - absent)
    np.testing.assert_allclose(app.completed(w, examples).gradient, gradient, rtol=1e-12)


def test_a_given_background_is_kept_with_the_options(background, tmp_path):
    path, frequencies = background
    context = {"base": str(tmp_path)}
    section = {"name": "motif", "length": 3, "background": path.name}
    options = MotifOptions.model_validate(section, context=context)
    path.unlink()
    assert options.background == pytest.approx(frequencies)
    again = MotifOptions.model_validate_json(options.model_dump_json(), strict=True)
    assert again == options
    assert Motif(again).order == 1
    assert _motif(length=3, background_order=0, background=options.background).order == 0
    with pytest.raises(ValidationError, match=r"background\.txt: cannot be read: No such file"):
        MotifOptions.model_validate(section, context=context)


def test_unknown_options_are_refused():
    for wrong in (
        {"lenght": 3},
        {"length": 0},
        {"background_order": 7},
        {"strands": "reverse"},
        {"loss": "hinge"},
        {"background": {"A": 0.5}},
    ):
        with pytest.raises(ValidationError):
            _motif(**wrong)


def _arrays(p, q, sites):
    return {"sites": np.round(sites * p), "frequencies": q, "background_scores": np.zeros(4)}


def test_log_odds_weights_give_their_probabilities_back_at_any_scale():
    rng = np.random.default_rng(18)
    p, q = rng.dirichlet(np.ones(4), size=8), np.array([0.3, 0.2, 0.2, 0.3])
    for scale in (0.01, 1.0, 20.0):
        w = np.append(scale * np.log(p / q).ravel(), np.zeros(4))
        found = motif_matrix.probabilities(w, _arrays(p, q, 10**6))
        np.testing.assert_allclose(found, p, atol=1e-4)


def test_the_scale_of_the_probabilities_is_the_most_likely():
    rng = np.random.default_rng(19)
    q = np.array([0.3, 0.2, 0.2, 0.3])
    w = rng.normal(size=24)
    arrays = {
        "sites": np.array(
            [rng.multinomial(30, np.exp(x) / np.exp(x).sum()) for x in w.reshape(6, 4)]
        ),
        "frequencies": q,
        "background_scores": rng.normal(size=4) / 4,
    }
    p = motif_matrix.probabilities(w, arrays)
    advantage = w.reshape(6, 4) - arrays["background_scores"]

    def likelihood(scale):
        model = q * np.exp(scale * advantage)
        model /= model.sum(axis=1, keepdims=True)
        return np.sum((arrays["sites"] + q) * np.log(model)), model

    values = [likelihood(scale) for scale in np.linspace(0, 5, 5001)]
    best = max(values, key=lambda pair: pair[0])[1]
    np.testing.assert_allclose(p, best, atol=2e-3)


def test_weights_against_the_sites_give_the_background():
    q = np.array([0.4, 0.1, 0.1, 0.4])
    w = np.array([1.0, 0.0, 0.0, 0.0])
    arrays = {
        "sites": np.array([[0, 5, 5, 0]]),
        "frequencies": q,
        "background_scores": np.zeros(4),
    }
    np.testing.assert_allclose(motif_matrix.probabilities(w, arrays), [q])
    np.testing.assert_allclose(motif_matrix.probabilities(0 * w, arrays), [q])


def test_information_content_of_known_matrices():
    sure, half = np.array([[1.0, 0, 0, 0]]), np.array([[0.5, 0.5, 0, 0]])
    assert motif_matrix.information_content(sure) == 2
    assert motif_matrix.information_content(np.vstack([sure, half])) == 3
    assert motif_matrix.information_content(np.full((5, 4), 0.25)) == 0
    q = np.array([0.5, 0.25, 0.125, 0.125])
    assert motif_matrix.information_content(sure, q) == 1
    assert motif_matrix.information_content(q[None], q) == 0


def test_consensus_follows_cavener():
    rows = {
        "A": [0.6, 0.2, 0.1, 0.1],
        "W": [0.5, 0.1, 0.0, 0.4],
        "R": [0.55, 0.0, 0.35, 0.1],
        "N": [0.4, 0.3, 0.2, 0.1],
        "Y": [0.1, 0.45, 0.05, 0.4],
    }
    assert motif_matrix.consensus(np.array(list(rows.values()))) == "AWRNY"


def test_summary_counts_the_completed_sites(read):
    app = _motif(length=2, background_order=1, strands="both")
    examples = read(
        app, [("GGACG", 1, 0.5), ("TTGTT", 1, 4.0), ("ACAC", -1, 1.0), ("NNN", -1, 1.0)]
    )
    w = np.zeros(app.dimension(examples))
    w[[0, 5]] = 4.0
    names = app.feature_names()
    w[names.index("background A at start")] = 1.0
    w[names.index("background A after C")] = 3.0
    arrays = app.summary(w, examples)
    assert arrays["sites"].tolist() == [[2, 0, 0, 0], [0, 2, 0, 0]]
    # GGACG TTGTT ACAC and CGTCC AACAA GTGT: of the seven A one begins AACAA, one ACAC, and one
    # is after C in each of them; half of it counts for T, which the other strand has there.
    np.testing.assert_allclose(arrays["frequencies"], np.array([8, 8, 8, 8]) / 32)
    np.testing.assert_allclose(arrays["background_scores"], [4 / 7, 0, 0, 4 / 7])
    description = app.describe(w, arrays)
    assert description["consensus"] == "AC"
    p = motif_matrix.probabilities(w, arrays)
    bits = np.sum(p * np.log2(p / arrays["frequencies"]))
    assert description["information_content"] == pytest.approx(bits)


def test_the_motif_is_exported_for_meme_and_as_a_logo(sites, tmp_path):
    app, examples, w = sites
    arrays = app.summary(w, examples)
    app.exports["meme"](w, arrays, tmp_path / "motif.meme")
    text = (tmp_path / "motif.meme").read_text()
    assert "strands: + -\n" in text
    assert (
        "MOTIF motif_1 lssvm\nletter-probability matrix: alength= 4 w= 2 nsites= 1 E= 0\n" in text
    )
    pytest.importorskip("logomaker")
    for name, magic in (("logo.png", b"\x89PNG"), ("logo.svg", b"<?xml")):
        app.exports["logo"](w, arrays, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(magic)
    with pytest.raises(LssvmError, match=r"logo\.txt: format 'txt' is not known; expected one of"):
        app.exports["logo"](w, arrays, tmp_path / "logo.txt")
    assert sorted(path.name for path in tmp_path.glob("logo*")) == ["logo.png", "logo.svg"]


def test_warnings_name_what_looks_wrong(read):
    app = _motif(length=4)
    long, other = "ACGTACGTAC", "GGGGACGTAC"
    assert app.warnings(read(app, [(long, 1, 1.0)])) == [
        "all sequences are positive (label=+1): there is nothing to tell apart"
    ]
    assert [app.group_name(None, label) for label in (1, -1)] == ["+1", "-1"]
    assert _motif(length=1).warnings(read(app, [("N", 1, 1.0), (long, -1, 1.0)]))[:2] == [
        "only 1 positive sequence and 1 negative one",
        "1 positive sequence has no window of 1 known letter",
    ]
    assert app.warnings(read(app, [("ACG", 1, 1.0), (long, -1, 1.0), (long, -1, 1.0)])) == [
        "only 1 positive sequence and 2 negative ones",
        "1 positive sequence has no window of 4 known letters",
        "33 % of the sequences have no window and count as negative",
        "1 sequence is a copy of another",
    ]
    rng = np.random.default_rng(20)
    records = [(_letters(rng, 50, 0), label, 1.0) for label in (1, -1) * 6]
    assert app.warnings(read(app, records)) == []
    torn = [*records, (other, 1, 1.0), (other, -1, 1.0)]
    assert app.warnings(read(app, torn)) == [
        "1 sequence occurs with both labels",
        "1 sequence is a copy of another",
    ]
    assert app.warnings(read(app, [long, other])) == []


def test_records_without_a_window_are_left_out_of_training_on_request(tmp_path):
    rng = np.random.default_rng(21)
    good = [f">g{i} label={i % 2 * 2 - 1:+d}\n{_letters(rng, 40, 0)}\n" for i in range(20)]
    bad = [">none label=+1\n", ">short label=+1\nACG\n", ">masked label=-1\nNNNNNACNNXX.AA\n"]
    mixed = [*good[:7], bad[0], *good[7:15], bad[1], *good[15:], bad[2]]
    (tmp_path / "good.fa").write_text("".join(good))
    (tmp_path / "mixed.fa").write_text("".join(mixed))
    models = []
    for name in ("good", "mixed"):
        section = {"name": "motif", "length": 5, "background_order": 1, "skip_unusable": True}
        config = Config.from_dict({"application": section})
        app = config.create_application()
        examples = app.read([Source(str(tmp_path / f"{name}.fa"))])
        models.append(learn_on(app, examples, config))
    assert models[0].w.tobytes() == models[1].w.tobytes()
    told = (
        "3 sequences have no window of 5 known letters: left out of training, negative in "
        "predictions (skip_unusable)"
    )
    assert told in app.warnings(examples)
    assert told in models[1].record["warnings"]
    assert models[0].record["warnings"] == []
    assert models[1].record["n_examples"] == 20
    file = io.StringIO()
    app.write(examples, app.predict(models[1].w, examples), file)
    table = [line.split("\t") for line in file.getvalue().splitlines()[1:]]
    assert [row[2] for row in table] == [text.split()[0][1:] for text in mixed]
    assert [row[3:8] + row[8:] for row in table if row[3] == "."] == [
        [*["."] * 5, "-1", "+1"],
        [*["."] * 5, "-1", "+1"],
        [*["."] * 5, "-1", "-1"],
    ]
    strict = _motif(length=5, background_order=1)
    message = "record 'none' has no letters; expected a sequence below its header"
    with pytest.raises(DataError, match=message):
        strict.read([Source(str(tmp_path / "mixed.fa"))])


def test_nothing_left_to_train_on_is_refused(tmp_path):
    (tmp_path / "x.fa").write_text(">a label=+1\n>b label=-1\nNN\n")
    for strands in ("given", "both"):
        section = {"name": "motif", "length": 5, "skip_unusable": True, "strands": strands}
        config = Config.from_dict({"application": section})
        app = config.create_application()
        examples = app.read([Source(str(tmp_path / "x.fa"))])
        assert app.predict(np.zeros(app.dimension(examples)), examples).y.tolist() == [-1, -1]
        with pytest.raises(LssvmError, match="there are no examples to train on"):
            learn_on(app, examples, config)


def test_text_in_headers_is_no_label_where_none_is_needed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = _motif(length=2)
    (tmp_path / "x.fa").write_text(">a label=enhancer cost=high\nACGT\n>b label=2\nACGT\n")
    given = app.read([Source("x.fa", "+1", 0.5)])
    assert given.labels.tolist() == [1, 1]
    assert given.costs.tolist() == [0.5, 0.5]
    plain = app.read([Source("x.fa")])
    assert not plain.labelled
    assert len(app.predict(np.zeros(app.dimension(plain)), plain).y) == 2
    with pytest.raises(DataError) as caught:
        app.start(plain, np.random.default_rng(0))
    assert str(caught.value) == (
        "x.fa:1: record 'a' has no label (label=enhancer is not one); "
        "expected label=+1 or label=-1 for training"
    )
    (tmp_path / "x.fa").write_text(">a label=+1\nACGT\n>b label=yes\nACGT\n")
    mixed = app.read([Source("x.fa")])
    assert mixed.labels.tolist() == [1, 0]
    with pytest.raises(DataError) as caught:
        app.start(mixed, np.random.default_rng(0))
    assert str(caught.value) == (
        "x.fa:3: record 'b' has no label (label=yes is not one); "
        "expected label=+1 or label=-1 for training"
    )


def test_a_strong_difference_in_composition_is_told(read):
    app, rng = _motif(length=4), np.random.default_rng(22)

    def records(share, size=100, count=10):
        p = {1: [(1 - share) / 2, share / 2, share / 2, (1 - share) / 2], -1: [0.25] * 4}
        return [
            ("".join(rng.choice(list("ACGT"), p=p[label], size=size)), label, 1.0)
            for label in (1, -1) * count
        ]

    (warning,) = app.warnings(read(app, records(0.7)))
    assert re.fullmatch(
        r"G\+C is (6[5-9]|7[0-5]) % in positive and (4[5-9]|5[0-5]) % in negative sequences: "
        "composition alone may separate them; negatives of similar composition give better motifs",
        warning,
    )
    assert app.warnings(read(app, records(0.55))) == []
    few = [("GCGCGA", 1, 1.0), ("GACTGT", -1, 1.0)] * 3
    assert not any("G+C" in text for text in app.warnings(read(app, few)))


def test_folds_are_stratified_by_label(data):
    app, examples, _, _ = data
    assert app.groups(examples).tolist() == examples.labels.tolist()


def test_no_sequence_at_all_is_answered(data):
    app, examples, _, w = data
    none = examples.take(np.array([], dtype=np.int64))
    assert app.augmented(w, none)[0].loss == 0
    assert isinstance(app.predict(w, none), Predictions)
    assert app.score(none, app.predict(w, none))["error"] is None
