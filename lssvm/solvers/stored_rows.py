"""Planes kept by example as sparse rows, in the place of ``WorkingSets`` for the compiled loop.

A plane is kept as its difference δ from the completion's, as ``working_sets`` has it; the loop of
``lssvm.kernels._dual_coordinate`` finds rows by their numbers, see ``_sparse_examples``. Rows lie
one behind another; those of planes that the loop has dropped are left out where room is needed.
"""

from typing import Any

import numpy as np
from scipy import sparse

from lssvm.checked import Arrays, array, vector
from lssvm.errors import ModelError
from lssvm.kernels import _sparse_examples
from lssvm.solvers.example_planes import UNKNOWN, ExamplePlanes, runs
from lssvm.solvers.kept_outputs import KeptOutputs
from lssvm.solvers.kept_planes import restored_planes
from lssvm.solvers.room import check_room

ENTRY = 12  # bytes: an index and a value
ROOMIER = 0.5  # of what is taken, that an arena has besides
OVERFULL = 1e-6  # share by which multipliers may exceed their limit: rounding
AGE = 1  # visits without weight, after which a plane is dropped where memory is short
FIRST_ROWS = 16
Table = tuple[np.ndarray, np.ndarray, np.ndarray]  # starts, columns and values of sparse rows


class StoredRows:
    """Planes of n examples, their multipliers, and the rows that they are.

    planes : multipliers, losses and numbers of rows
    kernel : C functions that read the rows
    begins, ends, squares : (count,) where each row lies, and ‖δ‖², with spare room
    indices, values : entries, of which ``used`` are taken
    answers, answer_losses : (n,) the row that the next visit of an example takes for what inference
        has found, −1 for the completion's, and its loss part
    most : bytes that all of it may take
    """

    def __init__(self, limits: np.ndarray, dimension: int, norm: int, most: float) -> None:
        n = len(limits)
        self.dimension, self.norm, self.most = dimension, norm, most
        self.kernel = _sparse_examples.ExampleOracle(n, dimension)
        self.planes = self._new_planes(limits)
        self.begins, self.ends = (np.zeros(FIRST_ROWS, dtype=np.int64) for _ in range(2))
        self.squares = np.zeros(FIRST_ROWS)
        self.indices, self.values = np.zeros(1, dtype=np.int32), np.zeros(1)
        self.count, self.used = 0, 0
        self.answers, self.answer_losses = (
            np.full(max(1, n), -1, dtype=np.int32),
            np.zeros(max(1, n)),
        )
        self.kernel.point(self)

    def _new_planes(self, limits: np.ndarray) -> ExamplePlanes:
        places = self.kernel.places
        planes = ExamplePlanes(places, self.dimension, norm=self.norm, slack=False, exact=False)
        return self._completed(planes, limits)

    def _completed(self, planes: ExamplePlanes, limits: np.ndarray) -> ExamplePlanes:
        planes.truth, planes.limits = np.zeros(max(1, len(limits)), dtype=np.int32), limits
        return planes

    def __len__(self) -> int:
        return len(self.planes)

    @property
    def limits(self) -> np.ndarray:
        """u_i = C c_i, (n,)."""
        return self.planes.limits

    @limits.setter
    def limits(self, limits: np.ndarray) -> None:
        self.planes.limits = limits

    @property
    def w(self) -> np.ndarray:
        """−Σ α δ, (d,)."""
        return self.planes.w

    def kernel_scores(self) -> np.ndarray:
        """w itself: there is no kernel."""
        return self.planes.w

    def kernel_scores_of(self, w: np.ndarray) -> np.ndarray:
        """The same for any vector."""
        return w

    def side_by_side(self) -> "KeptRows":
        """All planes as conjugate gradients take them."""
        return KeptRows(self)

    def dual(self) -> float:
        """The dual value D; w is first recomputed from the multipliers."""
        return self.side_by_side().dual()[0]

    def numbers(self) -> np.ndarray:
        """The rows of all planes in the order of the examples, (m,)."""
        return self.planes.outputs[self.planes.output_places()]

    @property
    def owner(self) -> np.ndarray:
        """The example of each of them, (m,)."""
        return np.repeat(np.arange(len(self.limits)), self.planes.counts)

    @property
    def losses(self) -> np.ndarray:
        """L of each, (m,)."""
        return self.planes.losses[self.planes.planes()]

    def matrix(self, planes: np.ndarray) -> sparse.csr_array:
        """The rows δ of some of them, (len(planes), d)."""
        numbers = self.numbers()[planes]
        lengths = self.ends[numbers] - self.begins[numbers]
        entries, starts = runs(self.begins[numbers], lengths), np.append(0, np.cumsum(lengths))
        parts = self.values[entries], self.indices[entries], starts
        return sparse.csr_array(parts, shape=(len(numbers), self.dimension))

    def scale(self, factor: float) -> None:
        """Multiply all multipliers."""
        self.planes.alpha[self.planes.planes()] *= factor
        self.planes.w *= factor

    def highest(self, rows: np.ndarray) -> np.ndarray:
        """The height at w of the highest plane of each example of ``rows``, at least 0, (k,)."""
        found: np.ndarray = _sparse_examples.highest(self.kernel, self.planes, _whole(rows))
        return found

    def answer(
        self, owner: np.ndarray, found: sparse.csr_array, truth: Table, losses: np.ndarray
    ) -> None:
        """Keep ready what inference has found of the examples ``owner``, (k,), for their visits.

        found : (k, d) gradients; truth : of the completion, of all examples; losses : (k,) the
            difference of both
        """
        if len(owner) == 0:
            return
        owner, size = _whole(owner), int((truth[0][owner + 1] - truth[0][owner]).sum())
        gradients = table_of(found)
        self._reserve(len(owner), len(gradients[1]) + size)
        self.used = _sparse_examples.store(self, gradients, truth, owner)
        self.answers[owner] = np.arange(self.count, self.count + len(owner))
        self.answer_losses[owner] = losses
        self.count += len(owner)

    def answered(self, rows: np.ndarray) -> None:
        """The answers for the examples ``rows`` were taken up.

        Raises LssvmError if what is kept takes too much memory.
        """
        self.answers[rows] = -1
        self._reserve(0, 0)

    def _reserve(self, count: int, size: int) -> None:
        """Make room for more rows. Raises LssvmError if there may not be so much.

        What is dropped depends on the planes alone, not on the room that they happen to have.
        """
        fits = self.count + count <= len(self.begins) and self.used + size <= len(self.values)
        if fits and ENTRY * self.used + self.planes.nbytes <= self.most:
            return  # the planes need no more than what they have
        live = self._live()
        if ENTRY * live + self._needed() > self.most:
            _sparse_examples.drop(self.kernel, self.planes, AGE)
            self.planes.tighten()
            live = self._live()
            check_room(len(self.limits), ENTRY * live + self._needed(), self.most)
        if not fits or self.used > (1.0 + ROOMIER) * live:
            self._pack(count, size)

    def _live(self) -> int:
        """Entries of rows that are kept."""
        numbers = self.numbers()
        return int(np.sum(self.ends[numbers] - self.begins[numbers]))

    def _needed(self) -> float:
        return self.planes.needed(self.planes.rooms)

    @property
    def nbytes(self) -> int:
        """Memory of the rows and their tables."""
        return ENTRY * len(self.values) + 24 * len(self.begins) + self.planes.nbytes

    def _pack(self, count: int = 0, size: int = 0) -> None:
        """Lay out what is kept in the order of the planes, with room for more."""
        kept = self.matrix(np.arange(len(self)))
        self._take(kept, self.squares[self.numbers()], count, size)

    def _take(
        self, matrix: sparse.csr_array, squares: np.ndarray, count: int = 0, size: int = 0
    ) -> None:
        """The rows of a matrix are those of the planes; room for more rows and entries."""
        self.count, self.used = len(squares), len(matrix.data)
        rows = max(len(self.begins), int((1.0 + ROOMIER) * (self.count + count)))
        room = max(len(self.values), int((1.0 + ROOMIER) * (self.used + size)))
        self.begins = _enlarged(matrix.indptr[:-1].astype(np.int64), rows)
        self.ends = _enlarged(matrix.indptr[1:].astype(np.int64), rows)
        self.squares = _enlarged(squares, rows)
        self.indices = _enlarged(matrix.indices.astype(np.int32), room)
        self.values = _enlarged(matrix.data, room)
        self.planes.outputs[self.planes.output_places()] = np.arange(self.count)
        self.kernel.point(self)

    def move(self, rows: np.ndarray, shifts: sparse.csr_array, losses: np.ndarray) -> None:
        """Add ``shifts`` (k, d) to every plane of the examples ``rows``: their completion moved.

        losses : (k,) what is added to the planes' loss parts
        """
        planes, place = self.planes, np.full(len(self.limits), -1)
        place[rows] = np.arange(len(rows))
        moved = place[self.owner]
        touched = np.flatnonzero(moved >= 0)
        shape = (len(self), len(rows))
        picked = sparse.csr_array((np.ones(len(touched)), (touched, moved[touched])), shape=shape)
        matrix = sparse.csr_array(self.matrix(np.arange(len(self))) + picked @ shifts)
        matrix.sort_indices()
        self._take(matrix, (matrix * matrix).sum(axis=1))
        planes.losses[planes.planes()[touched]] += losses[moved[touched]]
        planes.products[:] = UNKNOWN
        self.side_by_side().refresh()

    def state(self) -> dict[str, np.ndarray]:
        """The planes and their rows, in the order of the planes."""
        self._pack()
        rows = {
            "starts": np.append(self.begins[: self.count], self.used),
            "indices": self.indices[: self.used],
            "values": self.values[: self.used],
        }
        planes = self.planes.state()
        return {f"planes_{name}": found for name, found in planes.items()} | {
            f"rows_{name}": found for name, found in rows.items()
        }

    def restore(self, arrays: Arrays) -> None:
        """Take over what ``state`` gave. Raises ModelError for what it cannot have given."""
        n, d = len(self.limits), self.dimension
        limits = self.limits
        planes = restored_planes(arrays, n, d, self.most, norm=self.norm, slack=False, exact=False)
        if not np.array_equal(planes.places, self.kernel.places):
            raise ModelError("array 'planes_places' is not that of rows")
        matrix = _restored_rows(arrays, len(planes), d)
        if not np.array_equal(arrays["planes_outputs"], np.arange(len(planes))):
            raise ModelError("array 'planes_outputs' does not number the rows in their order")
        self.planes = self._completed(planes, limits)
        self._take(matrix, (matrix * matrix).sum(axis=1))
        if self.norm == 1 and np.any(self.side_by_side().sums() > limits * (1.0 + OVERFULL)):
            raise ModelError("array 'planes_alpha' exceeds what the examples may have in all")


class KeptRows(KeptOutputs):
    """Planes that are rows, whose lengths are known."""

    def __init__(self, rows: StoredRows) -> None:
        super().__init__(rows.kernel, rows.planes)
        self._squares = rows.squares[rows.numbers()]

    def column(self, name: str) -> np.ndarray:
        """``squares``, ‖δ‖², (m,)."""
        return self._squares


def table_of(matrix: Any) -> Table:
    """A matrix of sparse rows as kernels read it: columns rise, and each is there once."""
    matrix.sum_duplicates()
    return (
        np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        _filled(np.ascontiguousarray(matrix.indices, dtype=np.int32)),
        _filled(np.ascontiguousarray(matrix.data, dtype=np.float64)),
    )


def _restored_rows(arrays: Arrays, count: int, d: int) -> sparse.csr_array:
    """The rows of a state. Raises ModelError."""
    values = vector(arrays, "rows_values", (None,))
    indices = array(arrays, "rows_indices", np.int32, (len(values),), least=0, most=d - 1)
    starts = array(arrays, "rows_starts", np.int64, (count + 1,), least=0, most=len(values))
    if starts[0] != 0 or starts[-1] != len(values) or np.any(np.diff(starts) < 0):
        raise ModelError("array 'rows_starts' does not rise; expected rows in order")
    inside = np.ones(max(0, len(values) - 1), dtype=bool)
    inside[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(values))] - 1] = False
    if np.any(np.diff(indices)[inside] <= 0):
        raise ModelError("array 'rows_indices' is not in order; expected rising coordinates")
    return sparse.csr_array((values, indices, starts), shape=(count, d))


def _whole(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows, dtype=np.int32)


def _filled(values: np.ndarray) -> np.ndarray:
    """At least one element, for a pointer to it."""
    return values if len(values) else np.zeros(1, dtype=values.dtype)


def _enlarged(values: np.ndarray, room: int) -> np.ndarray:
    larger = np.zeros(room, dtype=values.dtype)
    larger[: len(values)] = values
    return larger
