"""Objects in partly labelled photographs: Table 4 of Ping, Liu & Ihler (ICML 2014), superpixels.

    python -m experiments.ping_2014.table4 --data msrc21-superpixels --out out/mssvm-table4

The 591 photographs of MSRC, with 21 classes, are cut into about 70 superpixels each. One superpixel
in five is void: nobody gave it a label. In training, it is a hidden variable of its photograph;
horse and mountain, which do not belong to the 21 classes, count as void too. The paper uses patches
and five classes (see ``photographs``), so its figures cannot be compared with these.

A node has the constant 1 and 42 features of its superpixel, scaled to mean 0 and variance 1 on the
training photographs. Neighbours are joined by an edge with three features: 1; the similarity
exp(−‖a − b‖² / 2σ²) of mean colours in Lab / 100 with σ = 0.1; and how far the second node lies
below the first, in thirds of the height. This gives 3 × 21 × 21 weights. All of this was fixed
beforehand.

The split is the official one. The C with the highest accuracy on the validation photographs is
chosen, the smallest one if several are equal; then training and validation photographs train the
model that is tested. The random fields are compared with logistic regression of single superpixels,
and with a structural SVM of the labelled superpixels alone ("labelled only"), which shows what the
hidden superpixels add.

The table counts labelled test superpixels, with standard errors over photographs. The paired
differences are means over test photographs.
"""

import zipfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.common import command
from experiments.ping_2014 import segments
from lssvm.errors import DataError
from lssvm.formats.mrf_text import MISSING, Features, GraphFile
from lssvm.formats.text import open_text
from lssvm.offsets import cumulated
from lssvm.output.tables import text_table, write_results

CLASSES = (
    *("building", "grass", "tree", "cow", "", "sheep", "sky", "", "aeroplane", "water", "face"),
    *("car", "bicycle", "flower", "sign", "bird", "book", "chair", "road", "cat", "dog", "body"),
    "boat",
)  # by number; those without a name are left out
NAMES = tuple(name for name in CLASSES if name)
VOID = 255
FILE = "superpixels.npz"
SPLITS = ("Train", "Validation", "Test")
COLOURS = slice(3, 6)  # mean colours, Lab / 100
ROW = 10  # the feature that is the height of the centre, from 0 to 1
LIKENESS = 0.1
FULL = segments.Settings((0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0), (0.1, 1.0, 10.0), 10)
QUICK = segments.Settings((0.03,), (0.1,), 2)
FEW = 12  # photographs of each part of the split with --quick


class Superpixels(NamedTuple):
    """All photographs, with their superpixels one after another.

    names : of the photographs; nodes, edges : (photographs + 1,) where those of each begin
    features : (superpixels, 42) float64; labels : (superpixels,) int32
    ends : (edges, 2) int32, numbers of superpixels within their photograph
    """

    names: list[str]
    nodes: np.ndarray
    edges: np.ndarray
    features: np.ndarray
    labels: np.ndarray
    ends: np.ndarray


def experiment(arguments: command.Arguments) -> str:
    """Train all models, test them, and write the table."""
    segments.check_installed()
    data = read_superpixels(arguments.data / FILE)
    rows = [read_split(arguments.data / f"split_{split}.txt", data.names) for split in SPLITS]
    settings = FULL
    if arguments.quick:
        rows, settings = [part[:FEW] for part in rows], QUICK
    parts = parts_of(data, *rows)
    shared = parts, settings
    outcomes = segments.with_cccp(
        arguments.solved(segments.solve, shared, segments.METHODS),
        partial(arguments.solved, segments.solve_by_cccp, shared),
    )
    title = f"Accuracy (%) on {len(rows[2])} test photographs, superpixels that have a label"
    found = segments.table(outcomes, parts.test, NAMES)
    by_cccp = [each for each in outcomes if each.method in segments.BY_CCCP]
    others = [each for each in outcomes if each.method not in segments.BY_CCCP]
    paired = [row for own in (others, by_cccp) for row in segments.differences(own, parts.test)]
    text = "\n".join(
        [text_table(title, found), text_table("Paired differences, photographs", paired)]
    )
    runs = segments.every_run(outcomes, {})
    summary = {
        "accuracies": segments.accuracies(outcomes, parts.test, NAMES),
        "differences": paired,
        "tried": {each.method: each.record.get("tried") for each in outcomes},
    }
    write_results(arguments.out, "table4", text, runs, summary)
    return text


def read_superpixels(path: Path) -> Superpixels:
    """Read the archive of the data set. Raises DataError if it does not have the expected form."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return _superpixels({name: archive[name] for name in archive.files})
    except KeyError as error:
        raise DataError(path, None, f"there is no array {error}; expected superpixels") from None
    except (OSError, ValueError, EOFError, IndexError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(path, None, f"cannot be read: {reason}; expected superpixels") from None


def _superpixels(arrays: dict[str, np.ndarray]) -> Superpixels:
    """Check the arrays and renumber the classes. Raises ValueError, KeyError."""
    state = np.full(VOID + 1, MISSING, dtype=np.int32)
    state[[k for k, name in enumerate(CLASSES) if name]] = np.arange(len(NAMES))
    found = Superpixels(
        arrays["image_names"].tolist(),
        arrays["sp_offsets"].astype(np.int64),
        arrays["edge_offsets"].astype(np.int64),
        arrays["X"].astype(np.float64),
        state[arrays["y"]],
        arrays["edges"].astype(np.int32),
    )
    count = len(found.names) + 1
    if not len(found.nodes) == len(found.edges) == count:
        raise ValueError("offsets and names differ in number")
    if (found.nodes[-1], found.edges[-1]) != (len(found.labels), len(found.ends)):
        raise ValueError("offsets do not end where the arrays do")
    if len(found.features) != len(found.labels) or not np.all(np.isfinite(found.features)):
        raise ValueError("features are missing or not finite")
    if np.any(found.ends >= np.repeat(np.diff(found.nodes), np.diff(found.edges))[:, None]):
        raise ValueError("an edge leads to a superpixel that does not exist")
    return found


def read_split(path: Path, names: Sequence[str]) -> list[int]:
    """The indices of the photographs ``NAME.bmp`` that a file lists. Raises DataError."""
    number = {name: k for k, name in enumerate(names)}
    found = []
    with open_text(path) as lines:
        for line_number, line in lines:
            name = line.strip().removesuffix(".bmp")
            if name and name not in number:
                message = f"there is no photograph {name!r}; expected one of {FILE}"
                raise DataError(path, line_number, message)
            found += [number[name]] if name else []
    if not found:
        raise DataError(path, None, "no photographs; expected one per line")
    return found


def parts_of(
    data: Superpixels, train: list[int], validate: list[int], test: list[int]
) -> segments.Parts:
    """The graphs of the parts, with features scaled by the training photographs."""
    own = np.concatenate([data.features[data.nodes[k] : data.nodes[k + 1]] for k in train])
    spread = own.std(axis=0)
    scaled = (data.features - own.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    made = [as_graphs(data, scaled, rows) for rows in (train, validate, train + validate, test)]
    return segments.Parts(*made)


def as_graphs(data: Superpixels, scaled: np.ndarray, rows: Sequence[int]) -> GraphFile:
    """The photographs of some rows as graphs, with scaled features."""
    nodes, node_offsets = _places(data.nodes, rows)
    edges, edge_offsets = _places(data.edges, rows)
    ends = data.ends[edges]
    first, second = (ends + np.repeat(data.nodes[rows], np.diff(edge_offsets))[:, None]).T
    colours = data.features[:, COLOURS]
    apart = np.sum((colours[first] - colours[second]) ** 2, axis=1)
    below = 3.0 * (data.features[second, ROW] - data.features[first, ROW])
    likeness = np.exp(-apart / (2 * LIKENESS**2))
    return GraphFile(
        names=[data.names[row] for row in rows],
        costs=np.full(len(rows), np.nan),
        lines=np.zeros(len(rows), dtype=np.int64),
        node_offsets=node_offsets,
        edge_offsets=edge_offsets,
        node_names=[str(k) for k in nodes.tolist()],
        node_classes=["superpixel"] * len(nodes),
        states=np.full(len(nodes), len(NAMES), dtype=np.int32),
        labels=data.labels[nodes],
        node_features=_dense(np.column_stack([np.ones(len(nodes)), scaled[nodes]])),
        edge_classes=["neighbours"] * len(edges),
        ends=ends,
        edge_features=_dense(np.column_stack([np.ones(len(edges)), likeness, below])),
        node_lines=None,
        edge_lines=None,
    )


def _places(offsets: np.ndarray, rows: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The indices of the entries of some rows, and where each row begins among them."""
    parts = [np.arange(offsets[row], offsets[row + 1]) for row in rows]
    return np.concatenate(parts), cumulated([len(p) for p in parts])


def _dense(matrix: np.ndarray) -> Features:
    rows, width = matrix.shape
    columns = np.tile(np.arange(width, dtype=np.int32), rows)
    return Features(width * np.arange(rows + 1, dtype=np.int64), columns, matrix.ravel())


if __name__ == "__main__":
    command.main(
        "Objects in partly labelled photographs, by superpixels.",
        f"folder of {FILE} and the files of the split",
        "12 photographs of each part, one value of C, two epochs",
        experiment,
        {"training": 0},
    )
