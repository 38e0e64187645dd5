"""With ``strands: both`` a sequence and its reverse complement are one and the same."""

import io
import re

import numpy as np
import pytest
import reference

from lssvm.applications.base import Source
from lssvm.applications.motif.motif import Motif, MotifOptions
from lssvm.config import Config
from lssvm.errors import ModelError
from lssvm.model import Model
from lssvm.training.session import learn_on

COMPLEMENT = str.maketrans("ACGTRYSWKMBDHVNX.", "TGCAYRSWMKVHDBNX.")
SITE = "TGGCCAAAATG"
MODELS = {
    "lssvm": {},
    "random": {"application": {"initialisation": "random"}},
    "order 0": {"application": {"background_order": 0}},
    "weighted": {"application": {"class_costs": "balanced"}},
    "background": {"application": {"background": {"A": 0.3, "C": 0.2, "G": 0.1, "T": 0.4}}},
    "mssvm": {"objective": {"model": "mssvm"}},
    "epsilon": {"objective": {"model": "epsilon", "epsilon_y": 0.2, "epsilon_h": 0.5}},
}


def turned(letters):
    return letters[::-1].translate(COMPLEMENT)


def records(rng, count=24):
    """(letters, label): even and odd lengths, ambiguous letters, palindromes, a copy."""
    found = []
    for i in range(count):
        letters = "".join(rng.choice(list("ACGT"), size=int(rng.integers(30, 60))))
        if i % 2 == 0:
            place = int(rng.integers(len(letters) - len(SITE)))
            site = turned(SITE) if rng.integers(2) else SITE
            letters = letters[:place] + site + letters[place + len(SITE) :]
        if i % 5 == 0:
            letters += "".join(rng.choice(list("RYKMBDHVNX.A"), size=4)) + "ACGTTGCA"
        if i % 7 == 1:
            letters += turned(letters)
        found.append((letters, 1 if i % 2 == 0 else -1))
    return [*found, (found[2][0], 1)]


def written(path, pairs):
    path.write_text("".join(f">s{i} label={y:+d}\n{x}\n" for i, (x, y) in enumerate(pairs)))
    return [Source(str(path))]


def trained(sources, seed, settings):
    section = {"name": "motif", "length": 11, "strands": "both", "trials": 60}
    config = Config.from_dict(
        {
            "application": section | settings.get("application", {}),
            "objective": {"C": 0.3} | settings.get("objective", {}),
            "solver": {"epsilon": 0.01},
            "cccp": {"restarts": 2, "max_iterations": 4},
            "seed": seed,
        }
    )
    application = config.create_application()
    examples = application.read(sources)
    return learn_on(application, examples, config), examples


def table(model, examples, top):
    file = io.StringIO()
    application = model.application
    application.write(examples, application.predict(model.w, examples, top), file)
    return [line.split("\t") for line in file.getvalue().splitlines()[1:]]


def mirrored(row, size):
    start, stop, strand = row[3:6]
    if start == ".":
        return row
    places = [str(size + 1 - int(stop)), str(size + 1 - int(start)), "+-"[strand == "+"]]
    return [*row[:3], *places, *row[6:]]


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_depends_on_the_strand_that_the_file_holds(tmp_path, seed, settings):
    rng = np.random.default_rng(seed)
    pairs = records(rng)
    other = [(turned(x) if rng.integers(2) else x, y) for x, y in pairs]
    assert other != pairs
    model, examples = trained(written(tmp_path / "a.fa", pairs), seed, settings)
    again, examples_again = trained(written(tmp_path / "b.fa", other), seed, settings)
    assert np.any(model.w)
    model.save(tmp_path / "a.model")
    again.save(tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
    application = model.application
    one = application.predict(model.w, examples, 3)
    two = application.predict(model.w, examples_again, 3)
    for name in ("y", "scores", "values"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    rows = {row[2]: [] for row in table(model, examples, 3)}
    for row, row_again in zip(
        table(model, examples, 3), table(again, examples_again, 3), strict=True
    ):
        rows[row[2]].append((row, row_again))
    for i, (letters, _) in enumerate(pairs):
        for row, row_again in rows[f"s{i}"]:
            same = other[i][0] == letters
            assert row_again == (row if same else mirrored(row, len(letters)))


def test_the_sites_written_are_those_of_the_file(tmp_path):
    pairs = records(np.random.default_rng(2))
    model, examples = trained(written(tmp_path / "a.fa", pairs), 0, {})
    assert set(examples.turned.tolist()) == {False, True}
    for row in table(model, examples, 5):
        letters = pairs[int(row[2][1:])][0]
        site = letters[int(row[3]) - 1 : int(row[4])]
        assert row[7] == (turned(site) if row[5] == "-" else site)


def test_exports_do_not_depend_on_the_strand(tmp_path):
    pairs = records(np.random.default_rng(3))
    other = [(turned(x), y) for x, y in pairs]
    for name, own in (("a", pairs), ("b", other)):
        model, _ = trained(written(tmp_path / f"{name}.fa", own), 0, {})
        model.application.exports["meme"](model.w, model.arrays, tmp_path / f"{name}.meme")
    assert (tmp_path / "a.meme").read_bytes() == (tmp_path / "b.meme").read_bytes()


def test_a_site_scores_the_same_whatever_stands_far_from_it(tmp_path):
    rng = np.random.default_rng(4)
    app = Motif(MotifOptions(length=11, strands="both"))
    start = "".join(rng.choice(list("ACGT"), size=40))
    sources = written(tmp_path / "a.fa", [("A" + start + "A", 1), ("T" + start + "C", 1)])
    examples = app.read(sources)
    assert examples.turned.tolist() == [False, True]
    w = rng.normal(size=app.dimension(examples))
    for i, place in ((0, 10), (0, 25), (1, 10)):
        for strand in (0, 1):
            scores = [
                w
                @ (
                    app.joint_feature(examples, row, 1, (place, strand))
                    - app.joint_feature(examples, row, -1)
                )
                for row in (i, 1 - i)
            ]
            assert scores[0] == pytest.approx(scores[1], abs=1e-12)


def test_a_palindrome_is_kept_as_it_is(tmp_path):
    app = Motif(MotifOptions(length=3, strands="both"))
    examples = app.read(written(tmp_path / "a.fa", [("ACGRYCGT", 1), ("TTAA", 1), ("TAAT", -1)]))
    assert examples.turned.tolist() == [False, False, True]


def test_several_best_sites_are_several_places(tmp_path):
    app = Motif(MotifOptions(length=6, background_order=0, strands="both"))
    letters = "CCGAATTCCCGAATTACC"  # the first site, GAATTC, reads the same on both strands
    examples = app.read(written(tmp_path / "a.fa", [(letters, 1), ("GAATTC", -1)]))
    w = np.zeros(app.dimension(examples))
    for j, letter in enumerate("GAATTC"):
        w[4 * j + "ACGT".index(letter)] = 1.0
    found = app.predict(w, examples, top=3)
    assert found.starts[0, :2].tolist() == [2, 10]
    assert found.scores[0, :2].tolist() == [6.0, 5.0]
    assert found.strands[0, 0] in (0, 1)
    assert len(set(found.starts[0].tolist())) == 3
    assert found.starts[1].tolist() == [0, -1, -1]
    assert found.scores[1].tolist() == [6.0, -np.inf, -np.inf]


def matrix_of(path):
    """Letter frequencies (4,) and probabilities (l, 4) of a motif file."""
    text = path.read_text()
    numbers = re.search(r"frequencies\nA (\S+) C (\S+) G (\S+) T (\S+)\n", text).groups()
    rows = text.split("E= 0\n")[1].strip().splitlines()
    return np.array([*map(float, numbers)]), np.array([[*map(float, r.split())] for r in rows])


def log_odds(letters, q, p):
    """(start, strand) of every window, and its log-odds, as motif scanners have it."""
    windows = reference.motif_candidates(letters, len(p), True)
    scores = []
    for start, strand in windows:
        site = letters[start : start + len(p)]
        read = ["ACGT".index(letter) for letter in (turned(site) if strand else site)]
        scores.append(np.log(np.maximum(p[range(len(p)), read], 1e-7) / q[read]).sum())
    return windows, np.array(scores)


@pytest.mark.parametrize("settings", [{}, MODELS["background"], MODELS["mssvm"]], ids=str)
def test_with_order_0_the_exported_matrix_finds_the_sites_of_the_model(tmp_path, settings):
    pairs = records(np.random.default_rng(5), 60)
    settings = settings | {"application": settings.get("application", {}) | {"background_order": 0}}
    model, examples = trained(written(tmp_path / "a.fa", pairs), 0, settings)
    app = model.application
    app.exports["meme"](model.w, model.arrays, tmp_path / "a.meme")
    q, p = matrix_of(tmp_path / "a.meme")
    assert (q[0], q[1]) == (q[3], q[2])
    found = app.predict(model.w, examples)
    spread = 0
    for i, (letters, _) in enumerate(pairs):
        windows, scores = log_odds(letters, q, p)
        own = scores[windows.index((found.starts[i, 0], found.strands[i, 0]))]
        assert own >= scores.max() - 1e-4  # six digits are written
        spread += np.sum(scores < scores.max() - 1)
    assert spread > 1000


def test_a_model_whose_background_is_that_of_one_strand_is_refused(tmp_path):
    model, _ = trained(written(tmp_path / "train.fa", records(np.random.default_rng(0))), 0, {})
    model.arrays["frequencies"] = np.array([0.4, 0.2, 0.1, 0.3])
    model.save(tmp_path / "old.model")
    with pytest.raises(ModelError, match="train again if an earlier version wrote the model"):
        Model.load(tmp_path / "old.model")
