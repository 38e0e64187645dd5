"""Where training of a motif begins."""

import numpy as np
import pytest

from lssvm.applications.base import Source
from lssvm.applications.motif.motif import Motif, MotifOptions
from lssvm.applications.motif.motif_start import drawn_windows

LETTERS = np.array(list("ACGT"))
SITE = "TGGCCAAAATG"
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def planted(path, seed, strands, n=60, length=100):
    """n sequences, every second with the site, on a random strand if ``strands`` is both."""
    rng = np.random.default_rng(seed)
    truth = []
    with open(path, "w") as file:
        for i in range(n):
            letters = "".join(LETTERS[rng.integers(4, size=length)])
            start, strand = int(rng.integers(length - len(SITE))), 0
            if i % 2 == 0:
                strand = int(rng.integers(2)) if strands == "both" else 0
                site = SITE[::-1].translate(COMPLEMENT) if strand else SITE
                letters = letters[:start] + site + letters[start + len(SITE) :]
            truth.append((start, strand))
            file.write(f">s{i} label={'+1' if i % 2 == 0 else '-1'}\n{letters}\n")
    return np.array(truth)


def application(**options):
    return Motif(MotifOptions(length=len(SITE), **options))


@pytest.mark.parametrize("strands", ["given", "both"])
@pytest.mark.parametrize("seed", range(3))
def test_the_seeds_lead_to_the_planted_sites(tmp_path, strands, seed):
    truth = planted(tmp_path / "x.fa", seed, strands)
    app = application(strands=strands, trials=1000)
    examples = app.read([Source(str(tmp_path / "x.fa"))])
    plane = app.start(examples, np.random.default_rng(seed))
    counts = plane.gradient[: 4 * len(SITE)].reshape(-1, 4)
    expected = np.array(["ACGT".index(letter) for letter in SITE])
    if counts.argmax(axis=1)[0] != expected[0]:  # the motif of the other strand is as good
        expected = 3 - expected[::-1]
        assert strands == "both"
    np.testing.assert_array_equal(counts.argmax(axis=1), expected)
    assert counts.max(axis=1).min() == len(truth) // 2


def test_a_seed_gives_the_same_start(tmp_path):
    planted(tmp_path / "x.fa", 0, "given")
    app = application()
    examples = app.read([Source(str(tmp_path / "x.fa"))])
    one, two, other = (
        app.start(examples, np.random.default_rng(seed)).gradient for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(one, two)
    assert one.shape == other.shape


def test_windows_are_drawn_once_each_and_all_can_be(tmp_path):
    path = tmp_path / "x.fa"
    path.write_text(">a label=+1\nACGTNACGTAC\n>b label=-1\nACGTACGT\n>c label=+1\nACGTA\n")
    app = Motif(MotifOptions(length=4, strands="both"))
    examples = app.read([Source(str(path))])
    rows = np.array([0, 2])
    found, ranks, strands = drawn_windows(examples.windows, rows, 2, np.random.default_rng(0), 100)
    everything = {(0, rank, s) for rank in range(4) for s in (0, 1)}
    everything |= {(2, rank, s) for rank in range(2) for s in (0, 1)}
    assert set(zip(found.tolist(), ranks.tolist(), strands.tolist(), strict=True)) == everything
    few = drawn_windows(examples.windows, rows, 2, np.random.default_rng(0), 5)
    assert len(set(zip(*(column.tolist() for column in few), strict=True))) == 5


def test_positives_alone_have_a_start_too(tmp_path):
    path = tmp_path / "x.fa"
    path.write_text(">a label=+1\nACGTNACGTACTT\n>b label=+1\nACGTACGTTTT\n")
    app = Motif(MotifOptions(length=4))
    plane = app.start(app.read([Source(str(path))]), np.random.default_rng(0))
    assert plane.gradient[:16].sum() == 8.0
