"""Planes kept by example with their dual multipliers, for the n-slack form.

    P(w) = ½‖w‖² + C Σ c_i ξ_i  (norm 1),   ½‖w‖² + C/2 Σ c_i ξ_i²  (norm 2),   ½‖w‖²  (norm 0)
    ξ_i(w) = U⁺_i(w) − U⁻_i(w),  with norm 0 restricted to ξ_i = 0

A plane is kept as its difference δ from the completion, Φ(x, ŷ, ĥ) − Φ(x, y, h*), in which most
coordinates cancel, with its loss part L: ξ_i(w) ≥ L + w · δ. The dual is in
``lssvm.kernels._sweep`` (Tsochantaridis et al. 2004, Proposition 1 and section 3; Joachims,
Finley & Yu 2009). w is always −Σ α δ, so every α gives a lower bound.
"""

from dataclasses import dataclass, field

import numpy as np

from lssvm import sparse
from lssvm.checked import Arrays, array, vector
from lssvm.errors import ModelError
from lssvm.kernels import _sweep
from lssvm.kernels.dual_arrays import DualArrays, PlaneArrays, SpaceArrays
from lssvm.solvers.conjugate_gradients import climb, kernel_scores_of

GARBAGE = 0.5  # share of the arena that may be dropped planes
STEPS = 1  # at most, at each visit of an example by a sweep
CG_STEPS = 20  # at most, after each sweep
INSEPARABLE = 1e-6  # norm 0: margin, as a share of the length of planes, that counts as none
COLUMNS = {
    "begins": np.int64,
    "ends": np.int64,
    "losses": np.float64,
    "squares": np.float64,
    "alpha": np.float64,
    "owner": np.int32,
    "idle": np.int32,
}
OVERFULL = 1e-6  # share by which multipliers may exceed their limit: rounding


@dataclass
class WorkingSets:
    """Planes of n examples in a growing arena, and the multipliers.

    limits : (n,) u_i = C c_i
    norm : of the slacks
    w : (d,) −Σ α δ; with a kernel its coefficients, and ``scores`` its kernel scores
    gram, labels : inner products of the rows and number of labels, (0, 0) without a kernel
    indices, values : entries of the rows δ, an arena with spare room of which ``used`` are taken
    added : planes that were ever appended
    slots, counts : (n, most) and (n,), the planes of each example in the order of their making
    gaps : (n,) what the last visit of an example found that it could gain
    """

    limits: np.ndarray
    dimension: int
    norm: int = 1
    gram: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    labels: int = 0

    def __post_init__(self) -> None:
        n = len(self.limits)
        self.w = np.zeros(self.dimension)
        self.scores = self.w if not len(self.gram) else np.zeros(self.dimension)
        self.indices = np.empty(0, dtype=np.int32)
        self.values = np.empty(0)
        self.used, self.added = 0, 0
        self._columns = {name: np.empty(0, dtype=kind) for name, kind in COLUMNS.items()}
        self._count = 0
        self._checked: PlaneArrays | None = None  # all planes, until one comes or goes
        self.slots = np.full((n, 4), -1, dtype=np.int32)
        self.counts = np.zeros(n, dtype=np.int32)
        self.gaps = np.zeros(n)

    def __len__(self) -> int:
        return self._count

    def column(self, name: str) -> np.ndarray:
        """One value by plane, a view, (m,): begins, ends, losses, squares, alpha, owner or idle."""
        return self._columns[name][: self._count]

    @property
    def alpha(self) -> np.ndarray:
        """The multipliers, (m,)."""
        return self.column("alpha")

    @property
    def owner(self) -> np.ndarray:
        """The example of each plane, (m,)."""
        return self.column("owner")

    @property
    def losses(self) -> np.ndarray:
        """L of each plane, (m,)."""
        return self.column("losses")

    @property
    def nbytes(self) -> int:
        """Memory of the arena and the tables, in bytes."""
        return self.indices.nbytes + self.values.nbytes + self.slots.nbytes + 56 * len(self)

    @property
    def squared_norm(self) -> float:
        """‖w‖²."""
        return float(self.w @ self.kernel_scores())

    def kernel_scores(self) -> np.ndarray:
        """The product of w with the unit vector of every coordinate, (d,): w without a kernel."""
        rows = len(self.gram)
        if not rows:
            return self.w
        inner = self.scores[: rows * self.labels].reshape(self.labels, rows).T.ravel()
        return np.concatenate([inner, self.scores[rows * self.labels :]])

    def kernel_scores_of(self, w: np.ndarray) -> np.ndarray:
        """The kernel scores of any vector of coefficients, (d,)."""
        return kernel_scores_of(w, self.gram, self.labels)

    def dual(self) -> float:
        """D(α), a lower bound of every P(w)."""
        value = float(self.alpha @ self.losses) - 0.5 * self.squared_norm
        if self.norm == 2:
            value -= 0.5 * float(np.sum(self.shares(self.sums() ** 2)))
        return value

    def sums(self) -> np.ndarray:
        """The sum of the multipliers of each example, (n,)."""
        return np.bincount(self.owner, self.alpha, minlength=len(self.limits))

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Values (n,) divided by u_i; 0 where u_i is 0, because all multipliers are 0 there."""
        return np.divide(values, self.limits, out=np.zeros(len(values)), where=self.limits > 0.0)

    def slacks(self) -> np.ndarray:
        """The slacks ξ_i at w over the kept planes, (n,)."""
        return self.highest(np.arange(len(self.limits)))[1]

    def gap(self) -> float:
        """An upper bound of the possible rise of the dual over the kept planes.

        With norm 0 it is infinite unless a multiple of w needs no slack for any of them.
        """
        slacks = self.slacks()
        if self.norm == 0:
            rest = 1.0 - float(slacks.max(initial=0.0))
            return 0.5 * self.squared_norm / rest**2 - self.dual() if rest > 0.0 else np.inf
        powers = slacks if self.norm == 1 else 0.5 * slacks**2
        return float(self.limits @ powers) + 0.5 * self.squared_norm - self.dual()

    def highest(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The highest plane at w of each example of ``rows``, −1 if it is the zero plane, and
        its height, (k,) each."""
        planes = np.full(len(rows), -1, dtype=np.int32)
        heights = np.zeros(len(rows))
        _sweep.highest(rows.astype(np.int32), self._dual(), planes, heights)
        return planes, heights

    def append(self, owner: np.ndarray, rows: "sparse.csr_array", losses: np.ndarray) -> None:
        """Add planes with multiplier 0, at most one for each example.

        owner : (k,) examples; rows : (k, d) the differences δ; losses : (k,)
        """
        if len(owner) == 0:
            return
        rows.sort_indices()
        size, first, count = len(rows.indices), self._count, self._count + len(owner)
        self._reserve(size, count)
        self.indices[self.used : self.used + size] = rows.indices
        self.values[self.used : self.used + size] = rows.data
        bounds = self.used + rows.indptr.astype(np.int64)
        self.used, self._count = self.used + size, count
        self.added += len(owner)
        for name, added in (
            ("begins", bounds[:-1]),
            ("ends", bounds[1:]),
            ("losses", losses),
            ("alpha", 0.0),
            ("owner", owner),
            ("idle", 0),
        ):
            self._columns[name][first:count] = added
        self._checked = None
        self._measure(first)
        if self.counts[owner].max() == self.slots.shape[1]:
            self.slots = np.hstack([self.slots, np.full_like(self.slots, -1)])
        self.slots[owner, self.counts[owner]] = np.arange(first, count, dtype=np.int32)
        self.counts[owner] += 1

    def sweep(self, rows: np.ndarray, steps: int) -> float:
        """Visit the examples ``rows`` in order, at most ``steps`` steps each.

        Returns the sum of their gaps before the steps, which are kept in ``gaps``.
        """
        rows = rows.astype(np.int32)
        _sweep.sweep(rows, self._dual(), self.norm, steps)
        return float(self.gaps[rows].sum())

    def climb(self, most: int) -> None:
        """Raise the dual over the multipliers that are free; see ``conjugate_gradients``."""
        climb(self, most)

    def settle(self, rounds: int, goal: float) -> int:
        """Sweep, each time followed by conjugate gradients, until the kept planes' gap is small.

        rounds : the highest number of rounds; goal : the gap that ends them. Sweeps go through the
        examples alternately upwards and downwards. Returns the number of rounds that were made.
        """
        rows = np.flatnonzero(self.counts)
        for done in range(rounds):
            self.sweep(rows, STEPS)
            self.climb(CG_STEPS)
            if self.norm == 0:
                if self.inseparable():
                    return done + 1
                self.stretch()
            if self.gap() <= goal:
                return done + 1
            rows = rows[::-1]
        return rounds

    def stretch(self) -> None:
        """With norm 0: multiply all multipliers by the factor that raises the dual most."""
        square = self.squared_norm
        if square > 0.0:
            self.alpha[:] *= float(self.alpha @ self.losses) / square
            self.refresh()

    def least_norm(self) -> float:
        """With norm 0: a lower bound of ‖w‖ over all w without slack; infinite if there is none.

        Such a w has w · δ ≤ −L for every plane, so Σ α L ≤ −w · Σ α δ ≤ ‖w‖ ‖Σ α δ‖.
        """
        needed = float(self.alpha @ self.losses)
        norm = float(np.sqrt(max(self.squared_norm, 0.0)))
        return 0.0 if needed <= 0.0 else needed / norm if norm > 0.0 else np.inf

    def inseparable(self) -> bool:
        """Whether, with norm 0, the largest margin is too small a share of the planes' length."""
        longest = float(np.sqrt(self.column("squares").max(initial=0.0)))
        return self.losses.max(initial=0.0) < INSEPARABLE * longest * self.least_norm()

    def evict(self, age: int) -> None:
        """Drop planes whose multiplier has been 0 at ``age`` calls in a row."""
        idle = self.column("idle")
        idle[:] = np.where(self.alpha > 0.0, 0, idle + 1)
        self.keep(np.flatnonzero(idle < age))

    def keep(self, planes: np.ndarray) -> None:
        """Drop every plane that is not in ``planes`` (increasing)."""
        if len(planes) == self._count:
            return
        for column in self._columns.values():
            column[: len(planes)] = column[planes]
        self._count = len(planes)
        self._checked = None
        if int(np.sum(self.column("ends") - self.column("begins"))) < GARBAGE * self.used:
            self._replace(self.matrix(np.arange(self._count)))
        self._index()

    def refresh(self) -> None:
        """Recompute w and its kernel scores from the multipliers; rounding does not add up."""
        self.w[:] = -self.combined(np.arange(self._count), self.alpha)
        bound = len(self.gram) * self.labels
        if bound:
            kernel_scores = self.kernel_scores_of(self.w)
            self.scores[:bound] = kernel_scores[:bound].reshape(-1, self.labels).T.ravel()
            self.scores[bound:] = kernel_scores[bound:]

    def move(self, rows: np.ndarray, shifts: "sparse.csr_array", losses: np.ndarray) -> None:
        """Add ``shifts`` (k, d) to every plane of the examples ``rows``: their completion moved.

        losses : (k,) what is added to the planes' loss parts
        """
        place = np.full(len(self.limits), -1)
        place[rows] = np.arange(len(rows))
        moved = place[self.owner]
        picked = sparse.csr_array(
            (
                np.ones(int(np.sum(moved >= 0))),
                (np.flatnonzero(moved >= 0), moved[moved >= 0]),
            ),
            shape=(len(self), len(rows)),
        )
        self._replace(sparse.csr_array(self.matrix(np.arange(self._count)) + picked @ shifts))
        self.losses[moved >= 0] += losses[moved[moved >= 0]]
        self._measure(0)
        self.refresh()

    def state(self) -> dict[str, np.ndarray]:
        """The planes, multipliers and the dual point."""
        return {
            **{f"sets_{name}": self.column(name) for name in COLUMNS},
            "sets_indices": self.indices[: self.used],
            "sets_values": self.values[: self.used],
            "sets_w": self.w,
            "sets_scores": self.scores,
            "sets_added": np.array(self.added),
        }

    def restore(self, arrays: Arrays) -> None:
        """Continue from a result of ``state``. Raises ModelError for an impossible one."""
        d, last = self.dimension, len(self.limits) - 1
        values = vector(arrays, "sets_values", (None,))
        used = len(values)
        indices = array(arrays, "sets_indices", np.int32, (used,), least=0, most=d - 1)
        count = len(array(arrays, "sets_alpha", np.float64, (None,), least=0.0))
        most = {"begins": used, "ends": used, "owner": last}
        for name, kind in COLUMNS.items():
            least, highest = -np.inf if name == "losses" else 0, most.get(name, np.inf)
            array(arrays, f"sets_{name}", kind, (count,), least=least, most=highest)
        w = vector(arrays, "sets_w", (d,))
        scores = vector(arrays, "sets_scores", (d,))
        added = array(arrays, "sets_added", np.int64, (), least=count)
        _check_places(arrays["sets_begins"], arrays["sets_ends"], indices)
        if not len(self.gram) and not np.array_equal(w, scores):
            raise ModelError("array 'sets_scores' is not 'sets_w'; expected the same numbers")
        self._columns = {name: arrays[f"sets_{name}"] for name in COLUMNS}
        self._count = count
        self.indices, self.values, self.used = indices, values, used
        self._checked = None
        if self.norm == 1 and np.any(self.sums() > self.limits * (1.0 + OVERFULL)):
            raise ModelError("array 'sets_alpha' exceeds what the examples may have in all")
        self.w[:] = w
        self.scores[:] = scores
        self.added = int(added)
        self._index()

    def _planes(self, first: int = 0) -> PlaneArrays:
        """The planes from ``first`` on, in the form that the kernel needs."""
        if first == 0 and self._checked is not None:
            return self._checked
        begins, ends = self.column("begins")[first:], self.column("ends")[first:]
        found = PlaneArrays(self.indices, self.values, begins, ends)
        if first == 0:
            self._checked = found
        return found

    def _space(self) -> SpaceArrays:
        return SpaceArrays(self.w, self.scores, self.gram, self.labels)

    def _dual(self) -> DualArrays:
        return DualArrays(
            planes=self._planes(),
            space=self._space(),
            losses=self.losses,
            squares=self.column("squares"),
            alpha=self.alpha,
            slots=self.slots,
            counts=self.counts,
            limits=self.limits,
            gaps=self.gaps,
        )

    def matrix(self, planes: np.ndarray) -> sparse.csr_array:
        """The rows δ of the given planes, (len(planes), d)."""
        begins = self.column("begins")[planes]
        lengths = self.column("ends")[planes] - begins
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(begins - bounds[:-1], lengths) + np.arange(bounds[-1])
        return sparse.csr_array(
            (self.values[places], self.indices[places], bounds),
            shape=(len(planes), self.dimension),
        )

    def dots(self, planes: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """The products δ · vector for the given planes, (len(planes),)."""
        out = np.empty(len(planes))
        vector = np.ascontiguousarray(vector)
        _sweep.dots(planes.astype(np.int32, copy=False), self._planes(), vector, out)
        return out

    def combined(self, planes: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """The sum of coefficients times δ over the given planes, (d,)."""
        out = np.empty(self.dimension)
        _sweep.combine(planes.astype(np.int32, copy=False), self._planes(), coefficients, out)
        return out

    def _measure(self, first: int) -> None:
        """‖δ‖² of the planes from ``first`` on."""
        _sweep.squared_norms(self._planes(first), self._space(), self.column("squares")[first:])

    def _reserve(self, size: int, count: int) -> None:
        """Make room for ``size`` more entries, and for ``count`` planes in total."""
        if self.used + size > len(self.indices):
            room = max(self.used + size, 2 * len(self.indices))
            self.indices = _enlarged(self.indices, self.used, room)
            self.values = _enlarged(self.values, self.used, room)
        if count > len(self._columns["alpha"]):
            room = max(count, 2 * self._count)
            for name, column in self._columns.items():
                self._columns[name] = _enlarged(column, self._count, room)

    def _replace(self, matrix: "sparse.csr_array") -> None:
        """Take the rows of a matrix, (m, d), for those of the planes."""
        matrix.sort_indices()
        self.indices, self.values = matrix.indices.astype(np.int32), matrix.data
        self.used = len(self.values)
        self.column("begins")[:] = matrix.indptr[:-1]
        self.column("ends")[:] = matrix.indptr[1:]
        self._checked = None

    def _index(self) -> None:
        """Fill the slots anew: planes by example, each example's in the order of their making."""
        order = np.argsort(self.owner, kind="stable")
        owner = self.owner[order]
        self.counts = np.bincount(owner, minlength=len(self.limits)).astype(np.int32)
        first = np.cumsum(self.counts) - self.counts
        width = max(4, int(self.counts.max(initial=0)))
        self.slots = np.full((len(self.limits), width), -1, dtype=np.int32)
        self.slots[owner, np.arange(len(order)) - first[owner]] = order


def _check_places(begins: np.ndarray, ends: np.ndarray, indices: np.ndarray) -> None:
    """Refuse rows of planes that overlap, or whose coordinates are not in order."""
    if np.any(begins > ends) or np.any(begins[1:] < ends[:-1]):
        raise ModelError("arrays 'sets_begins' and 'sets_ends' do not rise; expected rows in order")
    edges = np.zeros(len(indices) + 1, dtype=np.int64)
    long = ends > begins
    np.add.at(edges, begins[long] + 1, 1)
    np.add.at(edges, ends[long], -1)
    inside = np.cumsum(edges)[1 : len(indices)] > 0
    if np.any(np.diff(indices)[inside] < 0):
        raise ModelError("array 'sets_indices' is not in order; expected rising coordinates")


def _enlarged(old: np.ndarray, used: int, room: int) -> np.ndarray:
    larger = np.empty(room, dtype=old.dtype)
    larger[:used] = old[:used]
    return larger
