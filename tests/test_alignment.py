"""Alignment beside an enumeration of all candidates and alignments."""

import functools
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import alignment_cases as cases
import numpy as np
import pytest
from click.testing import CliRunner

from lssvm import cli as commands
from lssvm.applications.alignment import drawing
from lssvm.applications.alignment.alignment import Alignment
from lssvm.applications.alignment.alignment_options import AlignmentOptions
from lssvm.applications.base import ANNEALED, Formulation, Source, labelled_part
from lssvm.config import Config
from lssvm.errors import DataError, LssvmError
from lssvm.formats.blast_matrix import read_blast_matrix
from lssvm.training.session import learn

PROBLEMS = 200
LETTERS = "ABC"
MODES = [{"mode": "local"}, {"mode": "global"}, {"mode": "global", "free_ends": True}]
FORMS = [
    Formulation("ssvm"),
    Formulation("ssvm", "margin", 2),
    Formulation("ssvm", "margin", 0),
    Formulation("ssvm", "slack", 0),
    Formulation("ssvm", "slack", 1),
    Formulation("ssvm", "slack", 2),
    Formulation("lssvm"),
    Formulation("mssvm"),
    Formulation("hcrf"),
    Formulation("loss_augmented_likelihood"),
    Formulation(ANNEALED, epsilon_y=0.5, epsilon_h=0.25),
    Formulation(ANNEALED, epsilon_y=0.0, epsilon_h=0.5),
    Formulation(ANNEALED, epsilon_y=0.5, epsilon_h=0.0),
]


def word(rng, most=5):
    return "".join(rng.choice(list(LETTERS), rng.integers(1, most + 1)))


def rows(rng, x, z, some=False):
    """Two aligned rows, of any alignment; some : of one with a pair at least."""
    every = cases.alignments(len(x), len(z))[some:]
    pairs = every[rng.integers(len(every))]
    ends = [*pairs, (len(x), len(z))]
    first, second, i, j = "", "", 0, 0
    for k, m in ends:
        first += x[i:k] + "-" * (m - j)
        second += "-" * (k - i) + z[j:m]
        first, second = first + x[k : k + 1], second + z[m : m + 1]
        i, j = k + 1, m + 1
    return first, second, pairs


def homolog_file(rng, n=1):
    """Natives with homologs and decoys; the truth of each: words, place, pairs."""
    text, truth = "", []
    for i in range(n):
        x, z = word(rng), word(rng)
        first, second, pairs = rows(rng, x, z)
        decoys = [word(rng) for _ in range(rng.integers(1, 4))]
        place = int(rng.integers(len(decoys) + 1))
        cost = int(rng.integers(1, 4))
        records = [f">h{i} role=homolog\n{second}\n"]
        records += [f">d{i}.{k} role=decoy\n{decoy}\n" for k, decoy in enumerate(decoys)]
        records.insert(place, records.pop(0))
        text += f">n{i} role=native cost={cost}\n{first}\n" + "".join(records)
        words = list(decoys)
        words.insert(place, z)
        truth.append((x, words, place, pairs, cost))
    return text, truth


def pairs_file(rng, n=1):
    text, truth = "", []
    for i in range(n):
        x, z = word(rng), word(rng)
        first, second, pairs = rows(rng, x, z, some=True)
        text += f">a{i} cost={i + 1}\n{first}\n>b{i}\n{second}\n"
        truth.append((x, [z], 0, pairs, i + 1))
    return text, truth


def made(folder, form, text, **options):
    path = folder / "x.fa"
    path.write_text(text)
    app = Alignment(AlignmentOptions(alphabet=LETTERS, **options), form)
    return app, app.read([Source(str(path))])


def eighths(rng, d, seed):
    return np.zeros(d) if seed == 0 else rng.integers(-8, 9, d) / 8


def encoded(text):
    return [LETTERS.index(letter) for letter in text]


def soft(values, epsilon):
    if epsilon == 0.0:
        return max(values)
    return epsilon * cases.log_sum(np.array(values) / epsilon)


@functools.lru_cache(maxsize=20_000)
def every_score(x, z, table, shape, model):
    """The scores of all alignments; every formulation asks for those of the same problems."""
    table = np.frombuffer(table).reshape(shape)
    return np.array(cases.every_score(encoded(x), encoded(z), table, model))


def expected_values(app, w, truth):
    """U⁺ and U⁻ of each example, by enumeration."""
    table, model = app.scoring.scores(w)
    table = np.ascontiguousarray(table, dtype=np.float64)
    key = table.tobytes(), table.shape, tuple(map(float, model[:2])) + tuple(model[2:])
    form = app.formulation
    found = []
    for x, words, place, pairs, _ in truth:
        every = [every_score(x, z, *key) for z in words]
        values = [soft(scores, app.epsilon_h) for scores in every]
        own = given_score(app, w, x, words[place], pairs)
        if form.model == "ssvm":
            values[place] = own
        augmented = [
            value + (k != place and form.model != "hcrf") for k, value in enumerate(values)
        ]
        found.append((soft(augmented, app.epsilon_y), values[place]))
    return np.array(found)


def given_score(app, w, x, z, pairs):
    """w · Φ of an alignment of a file: of two free ends the shorter one counts."""
    table, model = app.scoring.scores(w)
    choices = cases.scores(encoded(x), encoded(z), table, model, pairs)
    if model[2] != cases.FREE or not pairs:
        return choices[0]
    ends = [pairs[0], (len(x) - 1 - pairs[-1][0], len(z) - 1 - pairs[-1][1])]
    chosen = [cases.gap(model, min(end)) if min(end) else 0.0 for end in ends]
    inside = cases.scores(encoded(x), encoded(z), table, (*model[:2], cases.LOCAL), pairs)[0]
    return inside + sum(chosen)


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    """Options, two w, truth and examples of random problems by mode, for every formulation."""
    folder, known = tmp_path_factory.mktemp("problems"), {}

    def of(mode, seed):
        key = str(mode), seed
        if key not in known:
            rng = np.random.default_rng(seed)
            options = {
                "gaps": ["affine", "linear"][seed % 2],
                "first_letter": ["open", "open_extend"][seed // 2 % 2],
                "symmetric": bool(seed // 4 % 2),
            }
            text, truth = homolog_file(rng)
            app, examples = made(folder, Formulation("ssvm"), text, **mode, **options)
            weights = [eighths(rng, app.dimension(examples), zero) for zero in (seed, 1)]
            known[key] = options, weights, truth, examples
        return known[key]

    return of


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_planes_are_those_of_the_enumeration(mode, form, problems):
    exact = form.model in ("ssvm", "lssvm")
    for seed in range(PROBLEMS):
        options, (w, other), truth, examples = problems(mode, seed)
        app = Alignment(AlignmentOptions(alphabet=LETTERS, **mode, **options), form)
        costs = np.array([each[4] for each in truth])
        expected = costs @ expected_values(app, w, truth)
        plane, upper = app.augmented(w, examples)
        below = app.completed(w, examples)
        if exact:
            assert plane.value(w) == upper == expected[0]
            assert below.value(w) == expected[1]
        else:
            np.testing.assert_allclose(plane.value(w), expected[0], rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(below.value(w), expected[1], rtol=1e-10, atol=1e-10)
        for found, k in ((plane, 0), (below, 1)):
            most = costs @ expected_values(app, other, truth)[:, k]
            assert found.value(other) <= most + 1e-9 * (1 + abs(most))


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("shift", [0, 1])
def test_planes_of_pairs_are_those_of_the_enumeration(mode, shift, tmp_path):
    for seed in range(PROBLEMS):
        rng = np.random.default_rng([seed, shift])
        text, truth = pairs_file(rng)
        app, examples = made(tmp_path, Formulation("ssvm"), text, task="pairs", shift=shift, **mode)
        w = eighths(rng, app.dimension(examples), seed)
        table, model = app.scoring.scores(w)
        expected, own, losses = 0.0, 0.0, []
        exact = all(len(pairs) in (1, 2, 4) for *_, pairs, _ in truth)
        best = app.predict(w, examples)
        for x, (z,), _, pairs, cost in truth:
            partner = dict(pairs)

            def bonus(i, j, partner=partner, pairs=pairs):
                return -(i in partner and abs(partner.get(i, 0) - j) <= shift) / len(pairs)

            scores = cases.every_score(encoded(x), encoded(z), table, model, bonus)
            expected += cost * (1.0 + max(scores))
            own += cost * given_score(app, w, x, z, pairs)
        plane, upper = app.augmented(w, examples)
        assert app.completed(w, examples).value(w) == own
        if exact:
            assert plane.value(w) == upper == expected
        np.testing.assert_allclose(plane.value(w), expected, rtol=1e-12, atol=1e-12)
        for i, (x, (z,), _, pairs, _) in enumerate(truth):
            own = slice(best.found.arrays.starts[i], best.found.arrays.starts[i + 1])
            found = cases.pairs_of(best.found.partners[own])
            right = sum(abs(dict(pairs).get(a, 99) - b) <= shift for a, b in found)
            losses.append(1 - right / len(pairs))
            assert best.scores[i] == max(cases.every_score(encoded(x), encoded(z), table, model))
        np.testing.assert_allclose(app.losses(examples, best), losses, atol=1e-15)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_field_over_alignments_has_the_gradient_of_its_sum(mode, tmp_path):
    for seed in range(PROBLEMS):
        rng = np.random.default_rng(seed)
        text, truth = pairs_file(rng)
        app, examples = made(tmp_path, Formulation("crf"), text, task="pairs", **mode)
        w = eighths(rng, app.dimension(examples), seed)

        def total(w, app=app, truth=truth):
            table, model = app.scoring.scores(w)
            return sum(
                cost * cases.log_sum(cases.every_score(encoded(x), encoded(z), table, model))
                for x, (z,), _, _, cost in truth
            )

        plane = app.augmented(w, examples)[0]
        assert plane.value(w) == pytest.approx(total(w), rel=1e-10, abs=1e-10)
        move = rng.normal(size=len(w))
        slope = (total(w + 1e-5 * move) - total(w - 1e-5 * move)) / 2e-5
        assert plane.gradient @ move == pytest.approx(slope, rel=1e-6, abs=1e-6)
        own = sum(cost * given_score(app, w, x, z, pairs) for x, (z,), _, pairs, cost in truth)
        assert app.completed(w, examples).value(w) == own


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize(
    ("model", "task"),
    [(name, "homolog") for name in ("ssvm", "lssvm", "mssvm", "hcrf")]
    + [(name, "pairs") for name in ("ssvm", "crf")],
)
def test_a_prior_is_added_to_the_scores(mode, model, task, tmp_path):
    """Planes with a prior at w are those without one at w + w₀, less w₀ · Φ of a given truth."""
    file = homolog_file if task == "homolog" else pairs_file
    exact = 0.0 if model in ("ssvm", "lssvm") and task == "homolog" else 1e-10
    rng = np.random.default_rng(5)
    prior = {a: {b: float(rng.integers(-4, 5)) for b in LETTERS} for a in LETTERS}
    options = {"symmetric": False, "prior": prior, "prior_scale": 0.5, "prior_gaps": (-2.0, -0.5)}
    for seed in range(40):
        text, _ = file(np.random.default_rng(seed))
        app, examples = made(tmp_path, Formulation(model), text, task=task, **mode, **options)
        plain, same = made(tmp_path, Formulation(model), text, task=task, **mode, symmetric=False)
        w = eighths(np.random.default_rng(seed), app.dimension(examples), seed)
        whole = w + app.prior
        assert app.prior[0] == prior["A"]["A"] / 2
        np.testing.assert_array_equal(app.prior[-2:], [-1.0, -0.25])
        shift = 0.0
        if model in ("ssvm", "crf"):
            shift = app.prior @ plain.completed(whole, same).gradient
        above = plain.augmented(whole, same)[1] - shift
        truth = plain.completed(whole, same).value(whole) - shift
        near = {"rel": exact, "abs": exact}
        assert app.augmented(w, examples)[1] == pytest.approx(above, **near)
        assert app.completed(w, examples).value(w) == pytest.approx(truth, **near)
        found, other = app.predict(w, examples), plain.predict(whole, same)
        np.testing.assert_array_equal(found.values, other.values)


def sized(folder, task="homolog", n=6, seed=11):
    """A file of examples that are a little larger."""
    rng = np.random.default_rng(seed)
    text, _ = (homolog_file if task == "homolog" else pairs_file)(rng, n)
    (folder / "x.fa").write_text(text)
    return folder / "x.fa"


PRIOR = {a: {b: 1.0 if a == b else -0.5 for b in LETTERS} for a in LETTERS}


def trained(path, method, model="ssvm", task="homolog", objective=None, passes=0, **options):
    config = {
        "application": {"name": "alignment", "alphabet": LETTERS, "task": task, **options},
        "data": {"train": str(path)},
        "objective": {"model": model, "C": 0.5, **(objective or {})},
        "solver": {
            "method": method,
            "epsilon": 1e-4,
            "max_passes": passes or (100 if method == "gradient" else 10000),
        },
        "seed": 1,
    }
    return learn(Config.from_dict(config)).record


SOLVERS = ("bundle", "proximal", "cutting-plane", "n-slack", "dual-coordinate", "gradient")


@pytest.mark.parametrize("prior", ["none", PRIOR], ids=["no prior", "prior"])
@pytest.mark.parametrize("task", ["homolog", "pairs"])
def test_every_solver_finds_the_optimum(task, prior, tmp_path):
    path = sized(tmp_path, task)
    options = {"task": task, "prior": prior, "prior_gaps": (-1.0, -0.5)}
    found = {method: trained(path, method, **options) for method in SOLVERS}
    best = min(record["objective"] for record in found.values())
    for method, record in found.items():
        gap = 1e-4 if method != "gradient" else max(1e-4, record["gap"])
        assert record["objective"] <= best * (1 + gap) + 1e-9, method
        if method != "gradient":
            assert record["converged"], method


@pytest.mark.parametrize("task", ["homolog", "pairs"])
def test_the_solver_by_example_and_the_bundle_agree_within_their_gaps(task, tmp_path):
    path = sized(tmp_path, task)
    found = [trained(path, method, task=task) for method in ("bundle", "n-slack")]
    lowest = [record["objective"] * (1.0 - record["gap"]) for record in found]
    assert all(record["gap"] <= 1e-4 for record in found)
    assert max(lowest) <= min(record["objective"] for record in found) * (1 + 1e-12)


@pytest.mark.parametrize("task", ["homolog", "pairs"])
def test_stochastic_descent_comes_near_the_optimum(task, tmp_path):
    path = sized(tmp_path, task)
    best = trained(path, "bundle", task=task)["objective"]
    found = trained(path, "sgd", task=task, passes=200)["objective"]
    assert best * (1 - 1e-4) <= found <= 1.05 * best


@pytest.mark.parametrize("prior", ["none", PRIOR], ids=["no prior", "prior"])
@pytest.mark.parametrize("method", ["bundle", "n-slack", "dual-coordinate"])
def test_hidden_alignments_are_found_by_every_solver(method, prior, tmp_path):
    record = trained(sized(tmp_path), method, "lssvm", prior=prior, prior_gaps=(-1.0, -0.5))
    assert record["converged"]
    assert record["objective"] >= 0.0


@pytest.mark.parametrize("norm", [0, 1, 2])
def test_rescalings_of_the_zero_one_loss_are_the_same_problem(norm, tmp_path):
    text = "".join(
        f">n{i} role=native\n{x}\n>h{i} role=homolog\n{x}\n>d{i} role=decoy\n{z}\n"
        for i, (x, z) in enumerate([("AABC", "BBBB"), ("CCA", "BAB"), ("BAC", "CBB")])
    )
    (tmp_path / "x.fa").write_text(text)
    found = [
        trained(
            tmp_path / "x.fa",
            "n-slack",
            objective={"slack_norm": norm, "rescaling": rescaling, "C": 10.0},
            mode="global",
        )["objective"]
        for rescaling in ("margin", "slack")
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-3)
    assert found[0] > 0.0


@pytest.mark.parametrize("model", ["mssvm", "hcrf", "loss_augmented_likelihood"])
def test_models_with_sums_are_trained(model, tmp_path):
    path = sized(tmp_path)
    records = [trained(path, "bundle", model)]
    if model != "mssvm":
        records.append(trained(path, "lbfgs", model))
    assert all(record["converged"] for record in records)
    objectives = [record["objective"] for record in records]
    assert max(objectives) <= min(objectives) * (1 + 1e-2)


def test_a_field_over_alignments_is_trained(tmp_path):
    path = sized(tmp_path, "pairs")
    found = [trained(path, method, "crf", "pairs") for method in ("bundle", "lbfgs")]
    assert found[0]["objective"] == pytest.approx(found[1]["objective"], rel=1e-3)


@pytest.mark.parametrize(
    ("form", "options", "line"),
    [
        (Formulation("lssvm"), {"task": "pairs"}, "the alignment is the output; expected"),
        (Formulation("mssvm"), {"task": "pairs"}, "the alignment is the output; expected"),
        (Formulation("crf"), {}, "has no hidden values; expected objective.model: ssvm"),
        (Formulation("ssvm", "slack"), {"task": "pairs"}, "expected rescaling: margin"),
        (Formulation("ssvm", "margin", 2), {"task": "pairs"}, "expected rescaling: margin"),
        (Formulation("lssvm", "margin", 2), {}, "expected rescaling: margin, slack_norm: 1"),
    ],
)
def test_what_does_not_fit_together_is_refused(form, options, line):
    with pytest.raises(LssvmError, match=line):
        Alignment(AlignmentOptions(**options), form)


def test_a_hidden_local_alignment_does_not_start_at_zero(tmp_path):
    text, _ = homolog_file(np.random.default_rng(0))
    for mode in MODES:
        app, examples = made(tmp_path, Formulation("lssvm"), text, initialisation="zero", **mode)
        if mode["mode"] == "local":
            with pytest.raises(LssvmError, match="the best local alignment is the empty one"):
                app.start(examples, np.random.default_rng(0))
        else:
            assert not np.any(app.start(examples, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("model", "options", "text", "line"),
    [
        ("ssvm", {}, ">n role=native\nAC\n>h role=homolog\nA\n>d role=decoy\nB\n", "x.fa:1: .*"
         "is not aligned with its homolog"),
        ("lssvm", {}, ">n role=native\nAC\n>c role=candidate\nA\n", "x.fa:1: .*has no homolog"),
        ("lssvm", {"initialisation": "given"}, ">n role=native\nAC\n>h role=homolog\nA\n"
         ">d role=decoy\nA\n", "x.fa:1: .*initialisation: given needs"),
        ("ssvm", {"task": "pairs"}, ">a\nAC\n>b\nA\n", "x.fa:1: .*rows of different lengths"),
    ],
)  # fmt: skip
def test_examples_without_what_training_needs_are_refused(model, options, text, line, tmp_path):
    app, examples = made(tmp_path, Formulation(model), text, **options)
    with pytest.raises(DataError, match=line):
        app.start(examples, np.random.default_rng(0))


def test_classes_and_neighbourhoods_are_features(tmp_path):
    """Φ by hand: A C are a class, B is alone; a letter has many A or B beside it, or few."""
    text = ">a\nABC-A\n>b\nABCBA\n"
    options = {"task": "pairs", "mode": "global", "classes": ("AC", "B"), "neighbourhood": 1}
    app, examples = made(tmp_path, Formulation("ssvm"), text, neighbours="AB", **options)
    found = dict(
        zip(app.feature_names(), app.completed(np.zeros(1), examples).gradient, strict=True)
    )
    expected = {"A A": 2, "B B": 1, "C C": 1, "class AC, class AC": 3, "class B, class B": 1}
    # x = ABCA: B, A C, B A, C -> many, many, many, few; z = ABCBA: B, A C, B B, C A, B -> all many
    expected |= {"many AB, many AB": 3, "few AB, many AB": 1, "gap open": 1}
    assert {name: value for name, value in found.items() if value} == expected


def test_outputs_show_the_alignment(tmp_path):
    text = ">n role=native\nAACBB\n>h role=homolog\nAA-BA\n>d role=decoy\nCCC\n"
    app, examples = made(tmp_path, Formulation("ssvm"), text, mode="global")
    w = app.scoring.simple()
    w[-2:] = -1.0
    found = app.predict(w, examples)
    files = {}
    for name, write in app.formats.items():
        with io.StringIO() as file:
            write(examples, found, file)
            files[name] = file.getvalue()
    assert files["fasta"] == ">n role=native\nAACBB\n>h role=homolog\nAA-BA\n"
    assert files["text"].splitlines() == [
        "# n h score 1 pairs 4 identical 3",
        "n      1 AACBB 5",
        "         || |.",
        "h      1 AA-BA 4",
        "",
    ]
    assert files["scores"].splitlines() == [
        "native\tcandidate\tscore\trank\tpredicted\tlabel",
        "n\th\t1\t1\t1\t1",
        f"n\td\t{found.values[1]:.6g}\t2\t0\t0",
    ]
    (record,) = app.records(examples, found)
    assert json.loads(json.dumps(record)) == {
        "id": "n", "y": "h", "h": [[1, 1], [2, 2], [4, 3], [5, 4]], "score": 1.0, "gold": "h",
        "loss": 0.0,
    }  # fmt: skip
    (tmp_path / "y.fa").write_text(files["fasta"] + ">d role=decoy\nCCC\n")
    again = app.read([Source(str(tmp_path / "y.fa"))])
    np.testing.assert_array_equal(again.partners[:5], examples.partners[:5])


def test_marks_say_what_columns_score(tmp_path):
    """Equal letters, other pairs that score above 0, pairs that do not, and gaps."""
    text = ">a\nABCA-C\n>b\nACBABC\n"
    options = {"task": "pairs", "mode": "global", "symmetric": False}
    app, examples = made(tmp_path, Formulation("ssvm"), text, **options)
    w = app.scoring.simple()
    names = app.feature_names()
    w[names.index("B C")], w[names.index("C B")], w[-2:] = 0.5, -0.25, -0.5
    found = app.predict(w, examples)
    with io.StringIO() as file:
        app.formats["text"](examples, found, file)
        lines = file.getvalue().splitlines()
    assert lines[0] == "# a b score 2.75 pairs 5 identical 3"
    assert lines[1:4] == ["a      1 ABCA-C 5", "         |:.| |", "b      1 ACBABC 6"]
    pictures = app.folder_formats["svg"]
    assert pictures.names(pictures.marks(examples)) == ["1.svg"]
    (content,) = pictures.contents(examples, found)
    svg = ElementTree.fromstring(content)
    boxes = [each.get("fill") for each in svg.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert boxes[:6] == [drawing.COLOURS[mark] for mark in "|:.| |"]
    letters = [each.text for each in svg.iter("{http://www.w3.org/2000/svg}text")]
    columns = [letter for letter in letters if letter in ("A", "B", "C", "-")]
    assert "".join(columns) == "AABCCBAA-BCC"


def test_the_picture_of_the_readme_is_made_by_its_commands(tmp_path):
    root = Path(__file__).parent.parent
    model, folder = str(tmp_path / "m"), str(tmp_path / "pictures")
    test = str(root / "data/alignment/test-pairs.fa")
    for command, words in (
        (commands.learn, [str(root / "configs/alignment-pairs.yaml"), model, "-q"]),
        (commands.classify, [test, model, folder, "--format", "svg"]),
    ):
        result = CliRunner().invoke(command, words)
        assert result.exit_code == 0, result.output
    made, shown = (
        path.read_text("utf-8").splitlines()
        for path in (tmp_path / "pictures" / "4.svg", root / "docs/alignment.svg")
    )
    scores = [line for line in made if " score " in line]
    assert len(scores) == 1  # its last digits are those of the machine
    assert [line for line in made if line not in scores] == [
        line for line in shown if " score " not in line
    ]


def test_equal_candidates_are_an_error(tmp_path):
    text = ">n role=native\nAB\n>h role=homolog\nAB\n>d role=decoy\nAB\n>e role=decoy\nC\n"
    app, examples = made(tmp_path, Formulation("ssvm"), text)
    found = app.score(examples, app.predict(app.scoring.simple(), examples))
    assert found["error"] == 100.0
    assert found["mean_rank"] == 1.5
    assert found["ties"] == 1


def test_q_and_modeler_score_are_shares_of_pairs(tmp_path):
    text = ">a\nABCA--\n>b\nAB--CB\n"
    app, examples = made(tmp_path, Formulation("ssvm"), text, task="pairs", mode="global")
    found = app.predict(app.scoring.simple(), examples)
    scores = app.score(examples, found)
    pairs = set(cases.pairs_of(found.found.partners))
    true = {(0, 0), (1, 1)}
    assert scores["q_score"] == len(pairs & true) / 2
    assert scores["modeler_score"] == len(pairs & true) / len(pairs)


def test_given_alignments_are_those_of_one_order_of_gaps(tmp_path):
    """Letters of x and of z that are not paired may stand in any order in a file."""
    found = []
    for second, first in (("A-BCC", "AA-BC"), ("AB-CC", "A-ABC")):
        text = f">n role=native\n{first}\n>h role=homolog\n{second}\n>d role=decoy\nB\n"
        app, examples = made(tmp_path, Formulation("ssvm"), text, mode="global")
        found.append((examples.fingerprint(), app.completed(np.zeros(1), examples).gradient))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_the_share_of_first_places_after_rounding_is_told(tmp_path):
    """Scores below one half become 0: no candidate is first any more but the last one."""
    text = "".join(
        f">n{i} role=native\nAB\n" + "".join(
            f">{role}{i} role={role}\n{z}\n" for role, z in pairs
        )
        for i, pairs in enumerate([
            (("homolog", "AB"), ("decoy", "CC")), (("decoy", "CC"), ("homolog", "AB"))
        ])
    )  # fmt: skip
    for scale, share in ((0.4, 0.5), (1.0, 1.0)):
        app, examples = made(tmp_path, Formulation("ssvm"), text, matrix_scale=scale)
        w = app.scoring.simple()
        arrays = app.summary(w, examples)
        assert arrays["kept_first"] == [share]
        assert app.describe(w, arrays)["first places kept by the rounded matrix"] == share
        app.exports["matrix"](w, arrays, tmp_path / "m.txt")
        told = f"first places that are the same as without rounding: {100 * share:g} %"
        assert told in (tmp_path / "m.txt").read_text()


def test_the_exported_matrix_is_read_back(tmp_path):
    text, _ = homolog_file(np.random.default_rng(1), 4)
    app, examples = made(tmp_path, Formulation("ssvm"), text, symmetric=False, matrix_scale=8)
    w = eighths(np.random.default_rng(1), app.dimension(examples), 1)
    arrays = app.summary(w, examples)
    app.check_summary(w, arrays)
    assert arrays["kept_first"] == [1.0]
    app.exports["matrix"](w, arrays, tmp_path / "m.txt")
    found = read_blast_matrix(tmp_path / "m.txt")
    whole = 8 * app.scoring.matrix(w)
    assert [[found[a][b] for b in LETTERS] for a in LETTERS] == whole.tolist()
    Align = pytest.importorskip("Bio.Align")
    with open(tmp_path / "m.txt") as file:
        matrix = Align.substitution_matrices.read(file)
    assert all(matrix[a, b] == found[a][b] for a in LETTERS for b in LETTERS)
    parasail = pytest.importorskip("parasail")
    own = parasail.Matrix(str(tmp_path / "m.txt"))
    order = {letter: k for k, letter in enumerate([*LETTERS, "X"])}
    for a in LETTERS:
        for b in LETTERS:
            assert own.matrix[order[a], order[b]] == found[a][b]


@pytest.mark.parametrize("model", ["lssvm", "hcrf"])
def test_models_are_the_same_bytes_for_any_number_of_threads(model, tmp_path):
    rng = np.random.default_rng(3)
    natives = ["".join(rng.choice(list(LETTERS), 60)) for _ in range(24)]
    text = "".join(
        f">n{i} role=native\n{x}\n>h{i} role=homolog\n{x[:20]}{x[:30:-1]}{x[50:]}\n"
        f">d{i} role=decoy\n{natives[i - 1]}\n"
        for i, x in enumerate(natives)
    )
    (tmp_path / "x.fa").write_text(text)
    config = {
        "application": {"name": "alignment", "alphabet": LETTERS, "mode": "global"},
        "data": {"train": str(tmp_path / "x.fa")},
        "objective": {"model": model, "C": 0.1},
        "cccp": {"max_iterations": 2},
        "solver": {"max_passes": 8, "epsilon": 0.1},
    }
    found = []
    for threads in (1, 3):
        learn(Config.from_dict(config), threads=threads).save(tmp_path / "m")
        found.append((tmp_path / "m").read_bytes())
    assert found[0] == found[1]


def test_sequences_of_unknown_relation_are_predicted_and_not_scored(tmp_path):
    text = (
        ">n role=native\nAB\n>h role=homolog\nAB\n>d role=decoy\nCC\n"
        ">m role=native\nABC\n>x role=candidate\nCC\n>y role=candidate\nABC\n"
    )
    app, examples = made(tmp_path, Formulation("lssvm"), text)
    assert not examples.labelled
    assert examples.known.tolist() == [True, False]
    found = app.predict(app.scoring.simple(), examples)
    assert [record["y"] for record in app.records(examples, found)] == ["h", "y"]
    assert [record.get("gold") for record in app.records(examples, found)] == ["h", None]
    with io.StringIO() as file:
        app.write(examples, found, file)
        assert [line[-1] for line in file.getvalue().splitlines()[1:]] == ["1", "0", ".", "."]
    part = labelled_part(examples)
    assert app.score(part, app.predict(app.scoring.simple(), part))["natives"] == 1
    pairs, rows = made(
        tmp_path, Formulation("ssvm"), ">a\nAB\n>b\nA-\n>c\nABC\n>d\nA\n", task="pairs"
    )
    assert rows.known.tolist() == [True, False]
    assert len(list(pairs.records(rows, pairs.predict(pairs.scoring.simple(), rows)))) == 2
