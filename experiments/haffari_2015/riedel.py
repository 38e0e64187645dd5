"""The public bags of Riedel, Yao & McCallum (2010), divided for training, validation and test.

Two bags are the same if they have the same mentions in any order, whatever their relations. A bag
that also occurs in the test data is left out of training and validation, and one that also occurs
in validation is left out of training. For this the test data are read; nothing else is done with
them before all settings are fixed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lssvm.applications.base import Source
from lssvm.errors import DataError
from lssvm.formats.relation_bags import read_bags
from lssvm.formats.text import open_text
from lssvm.output.whole import replacing

PARTS = {
    "train": "reidel_train75.pos.data.gz",
    "valid": "reidel_valid25.pos.data.gz",
    "test": "reidel_test.pos.data",
}
SUBSET = "reidel_trainSVM.s_subset.data"
SEED = 0  # of the division of the bags without relation


class Bag(NamedTuple):
    """The lines of a bag, and the lines of its mentions in order, by which bags are compared."""

    lines: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def positive(self) -> bool:
        """Whether it has a relation."""
        return self.lines[0].strip() != "0"


def bags_of(path: Path) -> tuple[list[Bag], str]:
    """The bags of a file, and its number of relations. Raises DataError."""
    file = read_bags(path)
    with open_text(path) as numbered:
        lines = [line for _, line in numbered]
    ends = [*(file.lines[1:] - 1).tolist(), len(lines)]
    mentions = np.diff(file.places).tolist()
    found = []
    for begin, end, count in zip((file.lines - 1).tolist(), ends, mentions, strict=True):
        own = tuple(lines[begin:end])
        found.append(Bag(own, tuple(sorted(own[-count:]))))
    return found, lines[1]


def divide(folder: Path, out: Path, most: int | None = None) -> tuple[dict[str, Source], list[str]]:
    """Write the three parts as files to ``out``; returns them, and what was done in words.

    most : bags of each part at most, half of them without relation; None: all
    Raises DataError if a file is missing.
    """
    parts, relations = {}, "0"
    for name, file in PARTS.items():
        if not (folder / file).exists():
            raise DataError(folder / file, None, "is missing; expected the bags of Riedel et al.")
        parts[name], relations = bags_of(folder / file)
    none = [bag for bag in bags_of(folder / SUBSET)[0] if not bag.positive]
    order = np.random.default_rng(SEED).permutation(len(none))
    sizes = np.array([len(bags) for bags in parts.values()])
    cuts = np.round(len(none) * np.cumsum(sizes)[:-1] / sizes.sum()).astype(int)
    for bags, rows in zip(parts.values(), np.split(order, cuts), strict=True):
        bags += [none[row] for row in rows]
    told, seen = [], set()
    for name in ("test", "valid", "train"):
        kept = [bag for bag in parts[name] if bag.key not in seen]
        dropped, parts[name] = len(parts[name]) - len(kept), kept
        seen |= {bag.key for bag in kept}
        own = sum(bag.positive for bag in kept)
        told.append(
            f"{name}: {own:,d} bags with and {len(kept) - own:,d} without relation; {dropped:,d} "
            "that also occur in another part are left out"
        )
    return {name: _written(out, name, bags, relations, most) for name, bags in parts.items()}, told


def _written(out: Path, name: str, bags: Sequence[Bag], relations: str, most: int | None) -> Source:
    if most is not None:
        kinds = [[bag for bag in bags if bag.positive is kind] for kind in (True, False)]
        bags = [bag for kind in kinds for bag in kind[: most // 2]]
    path = out / f"{name}.txt"
    with replacing(path) as file:
        file.write(f"{len(bags)}\n{relations}\n")
        file.writelines(f"{line}\n" for bag in bags for line in bag.lines)
    return Source(str(path))
