"""Predictions of sites of motifs, and their output formats."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from lssvm.applications.motif import motif_matrix
from lssvm.applications.motif.sequences import Sequences

COLUMNS = (
    "motif_id motif_alt_id sequence_name start stop strand score matched_sequence prediction label"
)
STRANDS = "+-"


@dataclass(frozen=True)
class Predictions:
    """Predicted labels and the best windows of n sequences, best first.

    y : (n,) int8, +1 or -1
    starts : (n, top) int64, from 0 within the sequence as in the file, -1 if there is no such
        window
    strands : (n, top) int8, 0 given, 1 reverse
    scores : (n, top) float64, w · ψ(x, +1, h); -inf where there is no such window
    values : (n,) float64, z(+1), the score of y = +1; -inf without a window
    """

    y: np.ndarray
    starts: np.ndarray
    strands: np.ndarray
    scores: np.ndarray
    values: np.ndarray


def write_table(examples: Sequences, predictions: Predictions, length: int, file: TextIO) -> None:
    """A table with the column names of FIMO, one row per site, best sites first.

    length : letters of a site

    start and stop count from 1 on the given strand, both included. score is that of the window
    against y = −1, in the units of w. FIMO's p-value and q-value are left out: the scores are not
    log-odds of a known null model. A sequence without a window has one row, with "." in the
    columns of the site; so has an unknown label.
    """
    file.write("\t".join(COLUMNS.split()) + "\n")
    write_rows(length, examples, predictions, file)


def write_rows(length: int, examples: Sequences, predictions: Predictions, file: TextIO) -> None:
    """The table without its header."""
    for i, sites in enumerate(_sites(examples, predictions, length)):
        label = f"{examples.labels[i]:+d}" if examples.labels[i] else "."
        for site in sites or [dict.fromkeys(("start", "stop", "strand", "sequence"), ".")]:
            score = f"{site['score']:.6g}" if "score" in site else "."
            where = (site["start"], site["stop"], site["strand"], score, site["sequence"])
            ends = (f"{predictions.y[i]:+d}", label)
            names = (motif_matrix.NAME, motif_matrix.ALTERNATIVE, examples.identifiers[i])
            file.write("\t".join(map(str, (*names, *where, *ends))) + "\n")


def records(examples: Sequences, predictions: Predictions, length: int) -> Iterator[dict[str, Any]]:
    """One dictionary per sequence.

    id; y; h : the sites, best first; score : z(+1), None without a window; and if the label is
    known gold and loss
    """
    for i, sites in enumerate(_sites(examples, predictions, length)):
        record = {
            "id": examples.identifiers[i],
            "y": int(predictions.y[i]),
            "h": sites,
            "score": float(predictions.values[i]) if sites else None,
        }
        if examples.labels[i]:
            gold = int(examples.labels[i])
            record |= {"gold": gold, "loss": float(gold != predictions.y[i])}
        yield record


def _sites(examples: Sequences, found: Predictions, length: int) -> Iterator[list[dict[str, Any]]]:
    """The sites of each sequence, best first."""
    kept = examples.windows_turned(found.starts, found.strands, length)
    windows = np.stack([found.starts, found.strands, *kept], axis=2)
    for i, row in enumerate(windows):
        yield [
            {
                "start": start + 1,
                "stop": start + length,
                "strand": STRANDS[strand],
                "score": float(score),
                "sequence": examples.text(i, place, length, read),
            }
            for (start, strand, place, read), score in zip(
                row.tolist(), found.scores[i], strict=True
            )
            if start >= 0
        ]


def without_sites(y: np.ndarray, values: np.ndarray) -> Predictions:
    """Labels and values alone, (n,) each."""
    none = np.empty((0, 0))
    return Predictions(y, none.astype(np.int64), none.astype(np.int8), none, values)


def distinct(
    starts: np.ndarray, strands: np.ndarray, scores: np.ndarray, top: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ``top`` best windows with different starts; of two windows at one start the better one.

    starts, strands, scores : (n, 2 top) windows, best first
    """
    order = np.argsort(starts, axis=1, kind="stable")
    ordered = np.take_along_axis(starts, order, axis=1)
    again = np.zeros(starts.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    again |= starts < 0
    kept = np.argsort(again, axis=1, kind="stable")[:, :top]
    none = np.take_along_axis(again, kept, axis=1)
    starts, strands, scores = (
        np.take_along_axis(array, kept, axis=1) for array in (starts, strands, scores)
    )
    starts[none], strands[none], scores[none] = -1, 0, -np.inf
    return starts, strands, scores
