"""From motif weights to probabilities, bits, a consensus, MEME's format and a logo.

The score of a window is the sum over its positions j of psm_j(x) minus the background
weight of x in its context. Averaged over contexts as they occur in training, letter c adds
psm_j(c) − b(c): a log-odds score up to a scale, which depends on the norm of w and not on the data.
So the probabilities are

    p_j(c) ∝ q(c) exp(λ (psm_j(c) − b(c))),

where q are the letter frequencies of the training set, and λ ≥ 0 maximises the likelihood of the
sites of the training positives (one pseudo-site with letter frequencies q is added, so that the
maximum exists). λ is the same for all positions, so that windows with equal scores stay equal.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from lssvm.checked import LARGEST, ROUNDING, array, known
from lssvm.errors import LssvmError, MissingExtraError, ModelError, nearest
from lssvm.formats.meme import LETTERS, write_motif
from lssvm.output.whole import replacing

NAME = "motif_1"
ALTERNATIVE = "lssvm"
_IUPAC = {"AC": "M", "AG": "R", "AT": "W", "CG": "S", "CT": "Y", "GT": "K"}
_MOST_SITES = 2**40
_RAREST = 1e-15  # a letter's share: one was added to the count of each
_STEEPEST = 1e6  # a λ beyond this gives the same probabilities to the last printed digit


def check(arrays: Mapping[str, np.ndarray], length: int, both: bool = False) -> None:
    """Refuse arrays that ``Motif.summary`` of a motif of so many letters would not give.

    both : whether letters of both strands count, so that A is as frequent as T, and C as G. Models
        of earlier versions scored a sequence and its reverse complement differently

    Raises ModelError.
    """
    known(arrays, "sites", "frequencies", "background_scores")
    sites = array(arrays, "sites", np.int64, (length, 4), least=0, most=_MOST_SITES)
    if len(set(sites.sum(axis=1).tolist())) > 1:
        raise ModelError("array 'sites' has rows of different sums; expected a letter of each site")
    shares = array(arrays, "frequencies", np.float64, (4,), least=_RAREST, most=1.0)
    if abs(float(shares.sum()) - 1.0) > ROUNDING:
        raise ModelError("array 'frequencies' does not sum to 1; expected shares of the letters")
    if both and not np.array_equal(shares, shares[::-1]):
        raise ModelError(
            "the frequencies of a letter and its complement differ, though both strands are read; "
            "train again if an earlier version wrote the model"
        )
    array(arrays, "background_scores", np.float64, (4,), least=-LARGEST, most=LARGEST)


def probabilities(w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """p_j(c) as in the description of the module, (l, 4).

    w : weights, of which the first 4 l are the matrix
    arrays : sites (l, 4), frequencies (4,) and background_scores (4,), see ``Motif.summary``
    """
    sites, q = arrays["sites"], arrays["frequencies"]
    advantage = w[: sites.size].reshape(-1, 4) - arrays["background_scores"]
    counts = sites + q

    def distribution(scale: float) -> np.ndarray:
        logits = np.log(q) + scale * advantage
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def slope(scale: float) -> float:
        """Derivative of the log-likelihood, which decreases in λ."""
        expected = counts.sum(axis=1, keepdims=True) * distribution(scale)
        return float(np.sum((counts - expected) * advantage))

    if slope(0.0) <= 0:
        return distribution(0.0)
    high = 1.0
    while slope(high) > 0 and high < _STEEPEST:
        high *= 2
    return distribution(high if slope(high) > 0 else brentq(slope, 0.0, high, xtol=1e-12))


def information_content(p: np.ndarray, background: np.ndarray | None = None) -> float:
    """Information content in bits: Σ_j Σ_c p_j(c) log2(p_j(c) / q(c)).

    p : (l, 4)
    background : q, (4,). Stormo's definition, relative to the letters outside of the motif;
        without it q is uniform and the sum is Σ_j (2 − H_j) of Schneider et al., the height
        of a logo
    """
    q = np.full(4, 0.25) if background is None else background
    ratio = np.where(p > 0, p / q, 1.0)
    return float(np.sum(p * np.log2(ratio)))


def consensus(p: np.ndarray) -> str:
    """The motif in IUPAC letters, by Cavener's rule.

    One letter if its probability is above 1/2 and above twice the next one; otherwise two letters
    if they have more than 3/4 together; otherwise N.
    """
    letters = []
    for row in p:
        best, second = np.argsort(-row, kind="stable")[:2]
        if row[best] > 0.5 and row[best] > 2 * row[second]:
            letters.append(LETTERS[best])
        elif row[best] + row[second] > 0.75:
            letters.append(_IUPAC["".join(sorted(LETTERS[best] + LETTERS[second]))])
        else:
            letters.append("N")
    return "".join(letters)


def write_meme(
    w: np.ndarray, arrays: Mapping[str, np.ndarray], path: str | Path, *, both: bool
) -> None:
    """Write the motif in MEME's minimal format. Raises LssvmError if that cannot be done."""
    sites = round(float(arrays["sites"][0].sum()))
    with replacing(path) as file:
        write_motif(
            file,
            probabilities(w, arrays),
            arrays["frequencies"],
            name=NAME,
            alternative=ALTERNATIVE,
            sites=sites,
            both=both,
        )


def draw_logo(w: np.ndarray, arrays: Mapping[str, np.ndarray], path: str | Path) -> None:
    """Draw the motif as a logo of information content in bits; the path's ending is the format.

    Raises MissingExtraError without logomaker, LssvmError if the format is not known.
    """
    try:
        import logomaker
        import pandas
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("the logo", "logomaker", "bio") from None
    kind = Path(path).suffix.lstrip(".").lower()
    known = FigureCanvasAgg(Figure()).get_supported_filetypes()
    if kind not in known:
        raise LssvmError(
            f"{path}: format {kind!r} is not known; expected one of {', '.join(known)}"
            f"{nearest(kind, known)}"
        )
    p = probabilities(w, arrays)
    height = np.array([information_content(row[None]) for row in p])
    table = pandas.DataFrame(p * height[:, None], columns=list(LETTERS), index=range(1, len(p) + 1))
    figure = Figure(figsize=(max(3.0, 0.45 * len(p) + 1), 2.2), layout="constrained")
    axes = FigureCanvasAgg(figure).figure.add_subplot()
    logomaker.Logo(table, ax=axes, color_scheme="classic")
    axes.set(xlabel="position", ylabel="bits", ylim=(0, 2), xticks=list(table.index))
    with replacing(path, "wb") as file:
        figure.savefig(file, format=kind, dpi=150)
