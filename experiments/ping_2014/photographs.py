"""Objects in partly labelled photographs: Table 4 of Ping, Liu & Ihler (ICML 2014), patches.

    python -m experiments.ping_2014.photographs --data MSRC --out out/photographs

The folder holds photographs with label images, as Microsoft Research Cambridge distributes them:
NAME.bmp with NAME_GT.bmp, in one folder or in the folders Images and GroundTruth, in any lossless
format; the colours of labels are theirs. The photographs may not be passed on, so the tests make
small photographs of their own. ``table4`` is the same experiment on superpixels.

As in the paper, the nodes are patches of 20 × 20 pixels on a grid of 10 pixels. They are described
by a SIFT word (one of 500, by k-means) and a histogram of colours with 48 bins. There are five
classes and two folds; each fold is tested by a model trained on the other one. A patch whose label
is missing is a hidden variable.

The paper leaves the following open, and this experiment assumes it. SIFT is computed at the centre
of the patch, upright, at the size of the patch. k-means uses the patches of the training fold only.
A histogram has 16 bins for each of red, green and blue, as shares. A patch has the label of most of
its pixels, or no label if that is none of the classes; the classes are the five that most patches
have. Neighbours on the grid of patches have an edge with the feature 1 and the mean absolute
difference of their histograms, with separate weights for right and down. C is chosen on a third of
the training fold, which is then used for training as well.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.common import command
from experiments.ping_2014 import segments
from lssvm.errors import DataError, MissingExtraError
from lssvm.formats.image_list import Grid, as_graphs
from lssvm.formats.images import read_channels, read_colours
from lssvm.formats.mrf_text import MISSING
from lssvm.output.tables import text_table, write_results

COLOURS = {
    "building": (128, 0, 0),
    "grass": (0, 128, 0),
    "tree": (128, 128, 0),
    "cow": (0, 0, 128),
    "horse": (128, 0, 128),
    "sheep": (0, 128, 128),
    "sky": (128, 128, 128),
    "mountain": (64, 0, 0),
    "aeroplane": (192, 0, 0),
    "water": (64, 128, 0),
    "face": (192, 128, 0),
    "car": (64, 0, 128),
    "bicycle": (192, 0, 128),
    "flower": (64, 128, 128),
    "sign": (192, 128, 128),
    "bird": (0, 64, 0),
    "book": (128, 64, 0),
    "chair": (0, 192, 0),
    "road": (128, 64, 128),
    "cat": (0, 192, 128),
    "dog": (128, 192, 128),
    "body": (64, 64, 0),
    "boat": (192, 64, 0),
}
NAMES = tuple(COLOURS)
VOID = (0, 0, 0)
LABELS = "_GT"
PATCH, STEP = 20, 10
BINS = 16  # bins of each of three colours
CLASSES = 5
SEED = 0
GREY = (0.299, 0.587, 0.114)  # weights of the luminance (ITU-R BT.601)
FULL = segments.Settings((0.003, 0.01, 0.03, 0.1), (0.01, 0.1, 1.0), 10)
QUICK = segments.Settings((0.03,), (0.1,), 2)
WORDS = {False: 500, True: 50}  # the number of words, without and with --quick


class Photograph(NamedTuple):
    """The patches of a photograph, a grid of (rows, columns).

    sift : (rows, columns, 128) float64; colours : (rows, columns, 48) float64, shares
    labels : (rows, columns) int, indices of NAMES, or MISSING
    """

    name: str
    sift: np.ndarray
    colours: np.ndarray
    labels: np.ndarray


class Task(NamedTuple):
    """One model of one fold."""

    fold: int
    method: str


def experiment(arguments: command.Arguments) -> str:
    """Describe the patches, train and test on two folds, and write the table."""
    segments.check_installed()
    photographs = [read_photograph(*pair) for pair in pairs(arguments.data)]
    photographs, names = limited(photographs)
    folds = [
        parts_of(photographs, fold, len(names), WORDS[arguments.quick])
        for fold in halves(len(photographs))
    ]
    shared = folds, QUICK if arguments.quick else FULL
    tasks = [Task(fold, method) for method in segments.METHODS for fold in range(len(folds))]
    found = arguments.solved(solve, shared, tasks)
    tables, runs = [], list[dict[str, Any]]()
    for number, parts in enumerate(folds):
        own = segments.with_cccp(
            [each for task, each in zip(tasks, found, strict=True) if task.fold == number],
            partial(arguments.solved, segments.solve_by_cccp, (parts, shared[1])),
        )
        tables.append(
            text_table(
                f"Accuracy (%) on patches that have a label, fold {number + 1}",
                segments.table(own, parts.test, names),
            )
        )
        runs += segments.every_run(own, {"fold": number + 1})
    text = "\n".join(tables)
    write_results(arguments.out, "photographs", text, runs, {"classes": names})
    return text


def solve(shared: tuple[Sequence[segments.Parts], segments.Settings], task: Task) -> Any:
    """Train and test one model on one fold."""
    return segments.solve((shared[0][task.fold], shared[1]), task.method)


def pairs(folder: Path) -> list[tuple[Path, Path]]:
    """The photographs and their label images, by name. Raises DataError."""
    labelled = sorted(path for path in folder.rglob(f"*{LABELS}.*") if path.is_file())
    others = {path.stem: path for path in sorted(folder.rglob("*.*")) if path.is_file()}
    found = []
    for path in labelled:
        name = path.stem.removesuffix(LABELS)
        if name not in others:
            raise DataError(path, None, f"there is no photograph {name}; expected one beside it")
        found.append((others[name], path))
    if len(found) < 6:
        message = f"{len(found)} photographs with label images NAME{LABELS}; expected at least 6"
        raise DataError(folder, None, message)
    return found


def read_photograph(path: Path, labels: Path) -> Photograph:
    """The patches of a photograph and their labels. Raises DataError, MissingExtraError."""
    pixels, colours = read_channels(path), read_colours(labels)
    if pixels.shape[2] != 3:
        raise DataError(path, None, "is grey; expected colours")
    if pixels.shape[:2] != colours.shape[:2]:
        sizes = [f"{width} x {height}" for height, width in (colours.shape[:2], pixels.shape[:2])]
        message = f"is {sizes[0]} pixels; expected {sizes[1]}, as {path.name}"
        raise DataError(labels, None, message)
    if min(pixels.shape[:2]) < PATCH:
        raise DataError(path, None, f"is smaller than a patch; expected at least {PATCH} pixels")
    return Photograph(
        path.stem, sift_of(pixels), histograms(pixels), majority(numbers_of(labels, colours))
    )


def windows(array: np.ndarray) -> np.ndarray:
    """Cut an array (height, width, …) into patches, (rows, columns, …, PATCH, PATCH)."""
    view = np.lib.stride_tricks.sliding_window_view(array, (PATCH, PATCH), axis=(0, 1))
    return view[::STEP, ::STEP]


def sift_of(pixels: np.ndarray) -> np.ndarray:
    """The SIFT descriptor (Lowe, IJCV 60, 2004) of every patch, upright."""
    try:
        import cv2
    except ImportError:
        raise MissingExtraError("SIFT", "opencv-python-headless", "bench") from None
    grey = np.rint(255 * pixels @ GREY).astype(np.uint8)
    rows, columns = ((size - PATCH) // STEP + 1 for size in grey.shape)
    centres = [
        cv2.KeyPoint(STEP * column + PATCH / 2, STEP * row + PATCH / 2, PATCH, 0.0)
        for row, column in np.ndindex(rows, columns)
    ]
    _, found = cv2.SIFT_create().compute(grey, centres)
    return np.asarray(found, dtype=np.float64).reshape(rows, columns, -1)


def histograms(pixels: np.ndarray) -> np.ndarray:
    """The shares of the pixels of every patch in the bins of red, green and blue."""
    bins = np.minimum((BINS * pixels).astype(np.int64), BINS - 1)
    held = bins[..., None] == np.arange(BINS)
    return np.concatenate([windows(held[:, :, k]).mean(axis=(-2, -1)) for k in range(3)], axis=2)


def numbers_of(path: Path, colours: np.ndarray) -> np.ndarray:
    """Indices of NAMES, or MISSING, (height, width). Raises DataError for other colours."""
    found = np.full(colours.shape[:2], len(NAMES), dtype=np.int64)
    for number, colour in enumerate(COLOURS.values()):
        found[np.all(colours == colour, axis=2)] = number
    found[np.all(colours == VOID, axis=2)] = MISSING
    if np.any(found == len(NAMES)):
        y, x = np.argwhere(found == len(NAMES))[0]
        shown = " ".join(map(str, colours[y, x]))
        raise DataError(path, None, f"pixel {x},{y} has the colour {shown}; expected one of MSRC's")
    return found


def majority(labels: np.ndarray) -> np.ndarray:
    """The label of most pixels of each patch; ties go to MISSING, then to the lowest label."""
    patches = windows(labels)
    counts = np.stack([np.sum(patches == k, axis=(-2, -1)) for k in range(MISSING, len(NAMES))])
    return counts.argmax(axis=0) + MISSING


def limited(photographs: Sequence[Photograph]) -> tuple[list[Photograph], list[str]]:
    """The photographs with labels of the most frequent classes only, and their names."""
    labels = np.concatenate([each.labels.ravel() for each in photographs])
    counts = np.bincount(labels[labels >= 0], minlength=len(NAMES))
    kept = np.sort(np.argsort(-counts, kind="stable")[:CLASSES])
    kept = kept[counts[kept] > 0]
    state = np.full(len(NAMES) + 1, MISSING)  # the last entry stands for MISSING
    state[kept] = np.arange(len(kept))
    return [each._replace(labels=state[each.labels]) for each in photographs], [
        NAMES[k] for k in kept
    ]


def halves(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to train on and rows to test on: two random halves, then the same exchanged."""
    order = np.random.default_rng(SEED).permutation(count)
    first, second = np.sort(order[: count // 2]), np.sort(order[count // 2 :])
    return [(first, second), (second, first)]


def parts_of(
    photographs: Sequence[Photograph], fold: tuple[np.ndarray, np.ndarray], states: int, words: int
) -> segments.Parts:
    """The graphs of a fold; the words are those of its training photographs."""
    training, test = fold
    centres = vocabulary([photographs[k] for k in training], words)
    held = training[::3]
    rows = (np.setdiff1d(training, held), held, training, test)
    made = [[as_grid(photographs[k], centres) for k in part] for part in rows]
    return segments.Parts(*(as_graphs(part, states) for part in made))


def vocabulary(photographs: Sequence[Photograph], words: int) -> Any:
    """k-means of the SIFT descriptors of some photographs; no more words than descriptors."""
    from sklearn.cluster import MiniBatchKMeans

    found = np.concatenate([each.sift.reshape(-1, each.sift.shape[2]) for each in photographs])
    count = min(words, len(np.unique(found, axis=0)))
    return MiniBatchKMeans(count, random_state=SEED, n_init=3).fit(found)


def as_grid(photograph: Photograph, centres: Any) -> Grid:
    """A photograph whose channels are the words and colours of its patches."""
    sift, colours = photograph.sift, photograph.colours
    words = centres.predict(sift.reshape(-1, sift.shape[2])).reshape(sift.shape[:2])
    held = words[:, :, None] == np.arange(len(centres.cluster_centers_))
    channels = np.concatenate([held, colours], axis=2)
    return Grid(photograph.name, channels, photograph.labels, compared=colours)


if __name__ == "__main__":
    command.main(
        "Objects in partly labelled photographs, by patches.",
        "folder of photographs NAME.bmp and label images NAME_GT.bmp",
        "50 words, one value of C, two epochs",
        experiment,
        {"folds and words": SEED},
    )
