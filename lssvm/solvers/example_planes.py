"""The planes that are kept for each example, in the arrays that ``_dual_coordinate`` reads."""

import itertools
import threading
from collections.abc import Iterator

import numpy as np

from lssvm.offsets import cumulated

FIRST_ROOM = 4  # planes for which an example has room at first
UNKNOWN = -1e300  # stands for a product that is not computed yet, see ``_examples.pxd``
BY_EXAMPLE = ("counts", "rooms", "rests", "streaks", "gaps")
BY_PLANE = ("alpha", "losses", "idle")
SPARE = 0.5  # spare room of an arena, as a share of the room that blocks take
AT_ONCE = 1 << 16  # places of outputs that are copied at a time
TEAM = 48  # int64 numbers by which threads coordinate, see ``team.h``


class ExamplePlanes:
    """Blocks of planes, one for each of n examples, in arenas (flat arrays with spare room).

    truth : (k,) int32, the true outputs with their completion, one example after another
    places : (n + 1,) int64, where the output of each example begins
    limits : (n,) u_i = C c_i; norm : the norm of the slacks
    slack : whether the loss rescales the slack, so that it multiplies differences of features
    exact : whether the oracle solves for all outputs at once, so that no products are kept

    first, first_output, first_product : (n,) int64, where a block begins in each arena
    counts, rooms : (n,) int32, how many planes a block has, and how many it has room for
    rests : (n,) int32, for how many more epochs an example is left out
    streaks : (n,) int32, how often in a row its gap was small, up to a limit
    gaps : (n,) what each example added to P − D at its last visit
    alpha, losses, idle : arenas of planes; outputs : int32, the arena of their outputs
    products : the arena of the inner products of the planes of an example with each other
    used : (3,) int64, how much of the arenas of planes, outputs and products is in use
    longest : the length of the longest output; batch : the examples for which there is scratch
        memory; team : the numbers by which the threads that visit a batch coordinate
    helped : whether other threads visit examples too
    w : (size,) −Σ α s δ, in the kernel's own layout
    """

    def __init__(
        self, places: np.ndarray, size: int, *, norm: int, slack: bool, exact: bool
    ) -> None:
        n = len(places) - 1
        self.truth = np.zeros(0, dtype=np.int32)
        self.places, self.norm, self.slack, self.exact = places, norm, slack, exact
        self.limits, self.gaps, self.w = np.zeros(n), np.zeros(n), np.zeros(size)
        self.counts, self.rests, self.streaks = (np.zeros(n, dtype=np.int32) for _ in range(3))
        self.rooms = np.full(n, FIRST_ROOM, dtype=np.int32)
        self.widest = 2 * FIRST_ROOM
        self.alpha, self.losses = np.zeros(0), np.zeros(0)
        self.idle, self.outputs = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
        self.products = np.zeros(1)
        self.longest = int(np.max(np.diff(places), initial=1))
        self.team = np.zeros(TEAM, dtype=np.int64)
        self.batch_reals, self.batch_integers = np.zeros(0), np.zeros(0, dtype=np.int32)
        self.first, self.first_output = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._room = threading.local()
        self.batch, self.helped = 1, False
        self._lay_out()

    @property
    def nbytes(self) -> int:
        """The memory of the arenas and of the arrays by example, in bytes."""
        arrays = (self.alpha, self.losses, self.idle, self.outputs, self.products, self.first)
        return sum(array.nbytes for array in arrays) + 7 * self.first.nbytes

    def needed(self, rooms: np.ndarray) -> float:
        """The bytes that arenas would take for blocks with room for ``rooms`` planes, (n,)."""
        rooms = rooms.astype(np.float64)
        products = 0.0 if self.exact else 8.0 * float(rooms @ rooms)
        return (20.0 * rooms.sum() + 4.0 * float(rooms @ np.diff(self.places)) + products) * (
            1.0 + SPARE
        )

    def __len__(self) -> int:
        return int(self.counts.sum())

    def scratch(self, reals: int, integers: int) -> tuple[np.ndarray, np.ndarray]:
        """Two scratch arrays of this thread, float64 and int32, of at least these lengths."""
        found = getattr(self._room, "arrays", None)
        if found is None or len(found[0]) < reals or len(found[1]) < integers:
            found = np.zeros(max(1, reals)), np.zeros(max(1, integers), dtype=np.int32)
            self._room.arrays = found
        return found

    def hold(self, batch: int) -> None:
        """Room for a batch of so many examples; threads that help begin anew."""
        reals, integers = batch * (3 + 3 * self.widest), batch * (2 + self.longest)
        if len(self.batch_reals) < reals or len(self.batch_integers) < integers:
            self.batch_reals = np.zeros(reals)
            self.batch_integers = np.zeros(integers, dtype=np.int32)
        self.batch = batch
        self.team[:] = 0

    def grow(self) -> None:
        """Make room for more planes: larger arenas, in which blocks follow each other closely."""
        self.widest = max(self.widest, 2 * int(self.rooms.max()))
        self._lay_out(with_products=True)

    def tighten(self) -> None:
        """Leave blocks no more room than their planes need."""
        self.rooms = np.maximum(FIRST_ROOM, self.counts).astype(np.int32)
        self._lay_out()

    def planes(self) -> np.ndarray:
        """The indices of all planes in the arenas, in the order of the examples, (m,)."""
        return runs(self.first, self.counts.astype(np.int64))

    def output_places(self) -> np.ndarray:
        """The indices of the outputs of all planes in their arena, in the same order."""
        return runs(self.first_output, self.counts * np.diff(self.places))

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next visit reads; blocks are stored without spare room."""
        planes = self.planes()
        return {
            **{name: getattr(self, name) for name in BY_EXAMPLE},
            **{name: getattr(self, name)[planes] for name in BY_PLANE},
            "outputs": self._packed_outputs(),
            "places": self.places,
            "w": self.w,
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a result of :meth:`state`, whose arrays were checked by the caller."""
        for name in BY_EXAMPLE:
            setattr(self, name, state[name].copy())
        self.widest = 2 * int(self.rooms.max(initial=FIRST_ROOM))
        counts, self.counts = self.counts, np.zeros_like(self.counts)
        self._lay_out()
        self.counts = counts
        planes = self.planes()
        for name in BY_PLANE:
            getattr(self, name)[planes] = state[name]
        self._unpack_outputs(state["outputs"])
        self.w[:] = state["w"]

    def _packed_outputs(self) -> np.ndarray:
        """The outputs of all planes, in the order of the examples."""
        found = np.empty(int(self.counts @ np.diff(self.places)), dtype=np.int32)
        for part, places in self._output_parts():
            found[part] = self.outputs[places]
        return found

    def _unpack_outputs(self, packed: np.ndarray) -> None:
        """Write what :meth:`_packed_outputs` gave to where the blocks are now."""
        for part, places in self._output_parts():
            self.outputs[places] = packed[part]

    def _output_parts(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Parts of all outputs, and of :meth:`output_places`.

        All indices at once would take twice the memory of the outputs.
        """
        counts = self.counts * np.diff(self.places)
        ends = cumulated(counts)
        for a, b in _at_once(ends):
            yield slice(ends[a], ends[b]), runs(self.first_output[a:b], counts[a:b])

    def _lay_out(self, with_products: bool = False) -> None:
        """Move the blocks to new arenas.

        with_products : blocks keep their room, and the products in them; otherwise these are
            computed again when they are needed
        """
        rooms = self.rooms.astype(np.int64)
        planes = self.planes()
        kept = [self.alpha[planes], self.losses[planes], self.idle[planes]]
        # Old and new arenas are never there at once: together they would be the peak of a run.
        outputs, self.outputs = self._packed_outputs(), np.zeros(0, dtype=np.int32)
        ends = [
            cumulated(part)
            for part in (rooms, rooms * np.diff(self.places), rooms**2 * (not self.exact))
        ]
        self.used = np.array([end[-1] for end in ends], dtype=np.int64)
        sizes = [int(taken * (1 + SPARE)) + self.widest**2 for taken in self.used]
        self.products = self._moved_products(ends[2], sizes[2], with_products)
        self.first, self.first_output, self.first_product = (end[:-1].copy() for end in ends)
        self.alpha, self.losses = np.zeros(sizes[0]), np.zeros(sizes[0])
        self.idle = np.zeros(sizes[0], dtype=np.int32)
        self.outputs = np.zeros(sizes[1] + self.widest * self.longest, dtype=np.int32)
        planes = self.planes()
        self.alpha[planes], self.losses[planes], self.idle[planes] = kept[:3]
        self._unpack_outputs(outputs)
        self.hold(self.batch)

    def _moved_products(self, ends: np.ndarray, size: int, kept: bool) -> np.ndarray:
        """A new arena of products, where the block of example i lies from ends_i to ends_{i+1}.

        kept : whether the products are taken over from the blocks as they lie now
        """
        if self.exact:
            return np.full(1, UNKNOWN)
        if not kept:
            self.products = np.zeros(1)  # to be gone before the new ones are there
        found = np.full(size, UNKNOWN)
        for a, b in _at_once(ends) if kept else ():
            places = runs(self.first_product[a:b], np.diff(ends[a : b + 1]))
            found[ends[a] : ends[b]] = self.products[places]
        return found


def _at_once(ends: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of blocks from ends_i to ends_{i+1}, with some ``AT_ONCE`` places each."""
    # np.unique would import NumPy's masked arrays, which takes longer than a short run.
    marks = sorted(set(np.searchsorted(ends, np.arange(0, ends[-1], AT_ONCE)).tolist()))
    return itertools.pairwise([*marks, len(ends) - 1])


def runs(first: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The runs first_i, first_i + 1, …, each of counts_i numbers, for all i one after another."""
    ends = cumulated(counts)
    return np.arange(ends[-1]) + np.repeat(first - ends[:-1], counts)
