import io
import itertools

import numpy as np
import pytest

from lssvm.errors import DataError
from lssvm.formats.meme import complete_background, log_conditionals, read_background, write_motif

ORDER_0 = "# order 0\nA 0.3\nC 0.2\nG 0.2\nT 0.3\n"


def _order_1(joint):
    pairs = ["".join(pair) for pair in itertools.product("ACGT", repeat=2)]
    return "# order 1\n" + "".join(f"{a} {p}\n" for a, p in zip(pairs, joint, strict=True))


def _write(probabilities, background=(0.3, 0.2, 0.2, 0.3), *, sites=7, both=False):
    file = io.StringIO()
    write_motif(
        file,
        np.array(probabilities),
        np.array(background),
        name="motif_1",
        alternative="lssvm",
        sites=sites,
        both=both,
    )
    return file.getvalue()


def test_minimal_format_is_written_as_the_suite_describes_it():
    assert _write([[1, 0, 0, 0], [0.25] * 4], both=True) == (
        "MEME version 4\n\nALPHABET= ACGT\n\nstrands: + -\n\n"
        "Background letter frequencies\nA 0.300000 C 0.200000 G 0.200000 T 0.300000\n\n"
        "MOTIF motif_1 lssvm\n"
        "letter-probability matrix: alength= 4 w= 2 nsites= 7 E= 0\n"
        " 1.000000  0.000000  0.000000  0.000000\n"
        " 0.250000  0.250000  0.250000  0.250000\n\n"
    )


def test_biopython_reads_the_motif_back():
    motifs = pytest.importorskip("Bio.motifs")
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=11)
    record = motifs.parse(io.StringIO(_write(p, sites=10**6)), "minimal")
    assert record.alphabet == "ACGT"
    assert record.background == {"A": 0.3, "C": 0.2, "G": 0.2, "T": 0.3}
    (motif,) = record
    assert motif.name == "motif_1"
    assert motif.length == 11
    assert motif.num_occurrences == 10**6
    read = np.array([motif.counts[letter] for letter in "ACGT"]).T / 10**6
    np.testing.assert_allclose(read, p, atol=2e-6)  # it keeps whole counts


def test_background_of_order_1_gives_joint_frequencies(tmp_path):
    joint = np.random.default_rng(1).dirichlet(np.ones(16)) * 0.9 + 0.1 / 16
    path = tmp_path / "b"
    path.write_text(ORDER_0.lower().replace("t 0.3", "u 0.3") + _order_1(joint))
    read = read_background(path)
    assert list(read)[:6] == ["A", "C", "G", "T", "AA", "AC"]
    assert [read[x] for x in "ACGT"] == [0.3, 0.2, 0.2, 0.3]
    assert list(read.values())[4:] == pytest.approx(joint, abs=0)


def test_conditionals_are_joint_over_the_sum_of_the_context():
    joint = np.random.default_rng(2).dirichlet(np.ones(16))
    pairs = ["".join(pair) for pair in itertools.product("ACGT", repeat=2)]
    frequencies = dict(zip("ACGT", [0.3, 0.2, 0.2, 0.3], strict=True))
    frequencies |= dict(zip(pairs, joint, strict=True))
    table = np.exp(log_conditionals(complete_background(frequencies), 1))
    np.testing.assert_allclose(table[:4], [0.3, 0.2, 0.2, 0.3], rtol=1e-12)
    for row, letter in enumerate("ACGT"):
        context = [frequencies[letter + x] for x in "ACGT"]
        np.testing.assert_allclose(table[4 + 4 * row : 8 + 4 * row], context / np.sum(context))


MALFORMED = {
    "empty": ("", "b: no frequencies; expected those of A, C, G and T at least"),
    "comments": ("# order 0\n", "b: no frequencies; expected those of A, C, G and T at least"),
    "words": ("A 0.3 0.3\n", "b:1: 'A 0.3 0.3' has 3 words; expected a tuple and its frequency"),
    "protein": ("# x\nL 0.5\n", "b:2: tuple 'L' is not DNA; expected A, C, G, T"),
    "word": (
        "A much\n",
        "b:1: frequency 'much' cannot be used; expected a number above 0, at most 1",
    ),
    "nan": ("A nan\n", "b:1: frequency 'nan' cannot be used; expected a number above 0, at most 1"),
    "zero": (
        "A 0\n",
        "b:1: frequency '0' cannot be used; expected a number above 0, at most 1 (a tuple that "
        "does not occur needs a pseudocount, as fasta-get-markov -pseudo 1 adds, or a background "
        "file of lower order)",
    ),
    "above": (
        "A 1.5\n",
        "b:1: frequency '1.5' cannot be used; expected a number above 0, at most 1",
    ),
    "twice": (
        ORDER_0 + "a 0.3\n",
        "b:6: tuple 'A' is given twice, first on line 2; expected it once",
    ),
    "missing": (
        "A 0.3\nC 0.3\nG 0.4\n",
        "b: tuple 'T' has no frequency; expected all tuples of up to 1 letter",
    ),
    "long": (
        ORDER_0 + "ACGTACGTACGTACGTACGTACGT 0.1\n",
        "b: tuple 'AA' has no frequency; expected all tuples of up to 24 letters",
    ),
    "sum": (
        "A 0.3\nC 0.3\nG 0.3\nT 0.3\n",
        "b: the frequencies of tuples of length 1 sum to 1.2; expected 1",
    ),
    "sum-2": (
        ORDER_0 + _order_1(np.full(16, 0.05)),
        "b: the frequencies of tuples of length 2 sum to 0.8; expected 1",
    ),
}


@pytest.mark.parametrize(("content", "message"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_background_gives_one_clear_line(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b").write_text(content)
    with pytest.raises(DataError) as caught:
        read_background("b")
    assert str(caught.value) == message


def test_tuples_of_other_letters_are_refused():
    with pytest.raises(ValueError, match="tuple 'X' is not DNA; expected A, C, G, T"):
        complete_background({"A": 0.3, "C": 0.2, "G": 0.2, "T": 0.3, "X": 0.1})
