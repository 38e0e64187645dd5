"""The output formats of alignments, and the exported matrix."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from lssvm import checked
from lssvm.applications.alignment.alignment_metrics import Quality
from lssvm.applications.alignment.alignment_options import AlignmentOptions
from lssvm.applications.alignment.examples import AlignmentExamples
from lssvm.applications.alignment.inference import Alignments
from lssvm.applications.alignment.scoring import Scoring
from lssvm.errors import LssvmError
from lssvm.formats.blast_matrix import write_blast_matrix
from lssvm.output.whole import replacing

COLUMNS = ("native", "candidate", "score", "rank", "predicted", "label")
WIDTH = 60  # columns of an alignment in a line
LARGEST = 2**31 - 1
UNKNOWN_LETTERS = "XN*"  # the first one that is not in the alphabet stands for other letters


@dataclass(frozen=True)
class Predictions:
    """What was predicted for n examples.

    chosen : (n,) which candidate, from 0; values : (candidates,) z(y) of every candidate
    scores : (n,) of the chosen ones; found : their best alignments
    similar : (codes, codes) bool, which pairs of codes score above 0
    quality : of the alignments, if they are the output and were compared with the true ones
    """

    chosen: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    found: Alignments
    similar: np.ndarray
    quality: Quality | None = None


def _marks(rows: tuple[str, str], pairs: np.ndarray, found: Predictions, i: int) -> str:
    """What each column of an alignment is, see ``drawing.MEANINGS``."""
    arrays = found.found.arrays
    codes = (
        arrays.codes[arrays.places[of[i]] + own]
        for of, own in zip((arrays.x, arrays.z), pairs.T, strict=True)
    )
    similar = iter(found.similar[tuple(codes)].tolist())
    marks = []
    for a, b in zip(*rows, strict=True):
        paired = "-" not in (a, b)
        above = paired and next(similar)
        marks.append(" " if not paired else "|" if a == b else ":" if above else ".")
    return "".join(marks)


def aligned_rows(
    examples: AlignmentExamples, found: Alignments, i: int
) -> tuple[str, str, list[tuple[int, int]]]:
    """An alignment as two rows with gaps, and its pairs."""
    x, z = (examples.sequence(int(of[i])) for of in (found.arrays.x, found.arrays.z))
    partners = found.partners[found.arrays.starts[i] : found.arrays.starts[i + 1]].tolist()
    rows: tuple[list[str], list[str]] = ([], [])
    pairs, done, begun = [], 0, 0
    for place, partner in enumerate([*partners, len(z)]):
        if partner < 0:
            continue
        unpaired = x[begun:place], z[done:partner]
        rows[0].append(unpaired[0] + "-" * len(unpaired[1]))
        rows[1].append("-" * len(unpaired[0]) + unpaired[1])
        if place < len(x):
            rows[0].append(x[place])
            rows[1].append(z[partner])
            pairs.append((place, partner))
        begun, done = place + 1, partner + 1
    return "".join(rows[0]), "".join(rows[1]), pairs


def write_scores(examples: AlignmentExamples, predictions: Predictions, file: TextIO) -> None:
    """A table with a row for each candidate of each native: score, rank from 1, whether predicted.

    label : 1 for the homolog, 0 for decoys, "." if that is not known
    """
    file.write("\t".join(COLUMNS) + "\n")
    write_rows(examples, predictions, file)


def write_rows(examples: AlignmentExamples, predictions: Predictions, file: TextIO) -> None:
    """The rows of :func:`write_scores` without the names of the columns."""
    for i in range(len(examples)):
        own = slice(examples.candidates[i], examples.candidates[i + 1])
        values = predictions.values[own]
        ranks = 1 + len(values) - np.searchsorted(np.sort(values), values, side="right")
        first = int(examples.offsets[i])
        for k, (value, rank) in enumerate(zip(values.tolist(), ranks.tolist(), strict=True)):
            label = "." if examples.truth[i] < 0 else str(int(k == examples.truth[i]))
            names = examples.sequence_names[first], examples.sequence_names[first + 1 + k]
            predicted = int(k == predictions.chosen[i])
            row = (*names, f"{value:.6g}", rank, predicted, label)
            file.write("\t".join(map(str, row)) + "\n")


def write_fasta(examples: AlignmentExamples, predictions: Predictions, file: TextIO) -> None:
    """Two aligned rows for each example: the native and the candidate that is predicted."""
    for i in range(len(examples)):
        *rows, _ = aligned_rows(examples, predictions.found, i)
        names = _names(examples, predictions, i)
        roles = ("role=native", "role=homolog")
        for name, role, row in zip(names, roles, rows, strict=True):
            file.write(f">{name} {role}\n")
            file.writelines(f"{row[k : k + WIDTH]}\n" for k in range(0, len(row), WIDTH))


def write_text(examples: AlignmentExamples, predictions: Predictions, file: TextIO) -> None:
    """Alignments for people, with marks between the rows.

    ``|`` stands for equal letters, ``:`` for other pairs that score above 0, ``.`` for the rest.
    The numbers are those of the first and the last letter of a line, from 1.
    """
    for i in range(len(examples)):
        (x, z), marks, title = _shown(examples, predictions, i)
        names = _names(examples, predictions, i)
        file.write(f"# {title}\n")
        wide = max(map(len, names))
        done = [0, 0]
        for k in range(0, len(x), WIDTH):
            lines = []
            for place, row in enumerate((x, z)):
                part = row[k : k + WIDTH]
                start = done[place] + 1
                done[place] += len(part) - part.count("-")
                lines.append(f"{names[place]:<{wide}} {start:>6} {part} {done[place]}\n")
            between = marks[k : k + WIDTH].rstrip()
            middle = f"{'':<{wide}} {'':>6} {between}".rstrip() + "\n"
            file.write(lines[0] + middle + lines[1] + "\n")


def pictures(examples: AlignmentExamples, predictions: Predictions) -> Iterator[bytes]:
    """A picture of each alignment."""
    from lssvm.applications.alignment.drawing import svg_drawing

    for i in range(len(examples)):
        rows, marks, title = _shown(examples, predictions, i)
        yield svg_drawing(_names(examples, predictions, i), rows, marks, title, WIDTH).encode()


def _shown(
    examples: AlignmentExamples, predictions: Predictions, i: int
) -> tuple[tuple[str, str], str, str]:
    """The rows of an alignment, the marks of its columns, and what is told of it."""
    x, z, pairs = aligned_rows(examples, predictions.found, i)
    marks = _marks((x, z), np.array(pairs, dtype=np.int64).reshape(-1, 2), predictions, i)
    names = " ".join(_names(examples, predictions, i))
    score, equal = predictions.scores[i], marks.count("|")
    return (x, z), marks, f"{names} score {score:.6g} pairs {len(pairs)} identical {equal}"


def records(
    examples: AlignmentExamples, predictions: Predictions, losses: np.ndarray, pairs: bool
) -> Iterator[dict[str, Any]]:
    """One dictionary per example.

    y : the name of the candidate that is predicted, or, if the alignment is the output, the pairs
    of places from 1; h : these pairs; score; gold and loss if they are known
    """
    for i, name in enumerate(examples.identifiers):
        own = predictions.found.partners[
            predictions.found.arrays.starts[i] : predictions.found.arrays.starts[i + 1]
        ]
        found = _listed(own)
        score = float(predictions.scores[i])
        known = examples.truth[i] >= 0
        first = int(examples.offsets[i])
        if pairs:
            record: dict[str, Any] = {"id": name, "y": found, "score": score}
            x = slice(examples.places[first], examples.places[first + 1])
            gold: Any = _listed(examples.partners[x])
        else:
            candidate = first + 1 + int(predictions.chosen[i])
            record = {"id": name, "y": str(examples.sequence_names[candidate]), "h": found}
            record["score"] = score
            gold = str(examples.sequence_names[first + 1 + int(examples.truth[i])])
        if known:
            record |= {"gold": gold, "loss": float(losses[i])}
        yield record


def _listed(partners: np.ndarray) -> list[list[int]]:
    places = np.flatnonzero(partners >= 0)
    return np.column_stack([places + 1, partners[places] + 1]).tolist()


def _names(examples: AlignmentExamples, predictions: Predictions, i: int) -> list[str]:
    arrays = predictions.found.arrays
    return [examples.name(int(of[i])) for of in (arrays.x, arrays.z)]


def rounded(
    w: np.ndarray, scoring: Scoring, scale: float
) -> tuple[np.ndarray, tuple[float, float, int]]:
    """Scores of codes and gaps as whole numbers, neighbourhoods left out.

    Raises LssvmError if a number is too large for the programs that read it.
    """
    table, (first, other, ends) = scoring.scores(w)
    letters = table[: scoring.size + 1, : scoring.size + 1]
    whole = np.rint(scale * np.tile(letters, (scoring.kinds, scoring.kinds)))
    gaps = np.rint(scale * np.array([first, other])) + 0.0  # no number is -0
    largest = max(np.abs(whole).max(), np.abs(gaps).max())
    if largest > LARGEST:
        raise LssvmError(
            f"the rounded matrix has scores of {largest:.3g}; expected a smaller "
            "application.matrix_scale"
        )
    return whole, (float(gaps[0]), float(gaps[1]), ends)


def write_matrix(
    w: np.ndarray,
    arrays: Mapping[str, np.ndarray],
    path: Any,
    scoring: Scoring,
    options: AlignmentOptions,
) -> None:
    """Write the rounded matrix, with the scores of gaps in comments. Raises LssvmError."""
    whole, (first, other, _) = rounded(w, scoring, options.matrix_scale)
    letters = scoring.letters
    unknown = [letter for letter in UNKNOWN_LETTERS if letter not in letters][:1]
    count = scoring.size + len(unknown)
    comments = [
        f"lssvm, {options.mode} alignment, scores times {options.matrix_scale:g}",
        f"gaps: the first letter scores {first:g}, every other one {other:g}",
        f"in the convention of BLAST: opening {first - other:g}, every letter {other:g}",
    ]
    if options.neighbourhood:
        comments.append("the weights of neighbourhoods are left out")
    if options.task == "homolog":
        share = 100 * float(arrays["kept_first"][0])
        comments.append(f"first places that are the same as without rounding: {share:.4g} %")
    with replacing(path) as file:
        scores = whole[:count, :count].astype(np.int64)
        write_blast_matrix(file, "".join([*letters, *unknown]), scores, comments)


def check(arrays: Mapping[str, np.ndarray]) -> None:
    """Check the arrays that a model keeps. Raises ModelError."""
    checked.known(arrays, "kept_first")
    checked.array(arrays, "kept_first", np.float64, (1,), least=0.0, most=1.0)
