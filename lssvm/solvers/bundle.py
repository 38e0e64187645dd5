"""The bundle method for one convex problem of CCCP, its cuts kept for the next.

    P(w) = ½‖w‖² + C [ Σ c_i U⁺_i(w) − (φ · w + ℓ) ]

with φ · w + ℓ the completion plane, which touches Σ c_i U⁻_i from below. Cutting planes of
Σ c_i U⁺_i are stored as they are, the completion apart, so that every cut stays exact for
every later completion and for every C (Yu & Joachims 2009, section 4; Teo et al., JMLR 2010
for the bundle method). The completion plane itself bounds U⁺ from below and is always in
the bundle: measured from it, it is the zero plane.

Each pass adds one cutting plane, computed between the best iterate and the minimiser of the model
("in-out", after Ben-Ameur & Neto 2007). That needs a fraction of the passes of the plain
cutting-plane method, and one QP for each.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from lssvm import sparse
from lssvm.checked import ROUNDING, Arrays, Values, same, whole
from lssvm.checked import vector as checked_vector
from lssvm.errors import ModelError
from lssvm.oracle import Oracle
from lssvm.plane import MEGABYTE, Plane, Planes
from lssvm.solvers import long_planes
from lssvm.solvers.kept import Kept, State, array, kept, plane, value, vector
from lssvm.solvers.long_planes import LongPlanes
from lssvm.solvers.needs import Needs
from lssvm.solvers.opening import EPOCHS, opened, parts_of
from lssvm.solvers.plane_cache import PlaneCache
from lssvm.solvers.qp import SimplexQP
from lssvm.solvers.solver import Initialisation, InnerProduct, SummedSolver

QP_SHARE = 1e-3  # the QP's own gap, as a share of the duality gap
QP_FLOOR = 1e-12  # and never below this share of the bound
CACHE_SHARE = 0.1  # of the gap, that a cut of kept planes must raise the model by
LEVEL_SHARE = 1e-2  # cuts may differ in height by this share of the goal
MOST_CACHED_CUTS = 200  # cuts of kept planes in a row, without an oracle pass
COMPARED = 8  # cuts, those of the largest multipliers, that must not exceed a new value
PRODUCT_ROUNDING = 1e-13  # of an inner product, as a share of the largest square
ASYMMETRY = 1e-8  # of a Gram matrix, as a share of its largest entry: rounding


def _by_cut(owner: Any, arrays: Arrays) -> tuple[int]:
    return (len(owner.planes),)


def _with_zero(owner: Any, arrays: Arrays) -> tuple[int]:
    return (len(owner.planes) + 1,)


def _square(owner: Any, arrays: Arrays) -> tuple[int, int]:
    return (len(owner.planes) + 1, len(owner.planes) + 1)


class _KeptPlanes(Kept):
    def save(self, owner: Any, name: str) -> State:
        return long_planes.saved(owner.planes)

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> Planes | LongPlanes:
        return long_planes.restored(arrays, len(owner.w))


class KeptQP(Kept):
    """Saves and restores the method and the last dual point of a QP solver."""

    def save(self, owner: Any, name: str) -> State:
        """The method, the number of calls, and the dual point."""
        qp = getattr(owner, name)
        values = {f"{name}_method": qp.method, f"{name}_osqp_calls": qp.osqp_calls}
        return values, {f"{name}_dual": qp.dual}

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> SimplexQP:
        """The QP solver that was saved. Raises ModelError if its values are impossible."""
        method = same(values, f"{name}_method", getattr(owner, name).method)
        dual = checked_vector(arrays, f"{name}_dual", (None,))
        return SimplexQP(method, dual, whole(values, f"{name}_osqp_calls"))


class _KeptCache(Kept):
    """Saves and restores the cache; nothing if there is none."""

    def save(self, owner: Any, name: str) -> State:
        cache = owner.cache
        return ({}, {}) if cache is None else ({"cache_saved": cache.saved}, cache.state())

    def restore(self, owner: Any, name: str, values: Values, arrays: Arrays) -> PlaneCache | None:
        cache = owner.cache
        return None if cache is None else cache.restored(arrays, whole(values, "cache_saved"))


@dataclass
class Bundle(SummedSolver):
    """Cuts, their Gram matrix and multipliers, and the incumbent.

    planes : the cuts as they were made
    completion : the plane from which differences are measured
    gram : (k + 1, k + 1) inner products of the differences; index 0 is the completion
    beta : (k + 1,) multipliers on the simplex
    idle : (k,) number of QPs since a cut had a multiplier
    w : (d,) the incumbent; row : its own cut (−1: there is none yet)
    step : share of the way from the incumbent to the model's minimiser (κ)
    cached, cache_bytes : planes of each example that ``cache`` keeps, and the most memory of it
    cache : planes of single examples; a cut of them that helps saves an oracle pass
    cached_cuts : number of such cuts since the last pass
    square, above : ½‖w‖² at the incumbent, and how far its cut is above the completion there
    opening : examples of a part, where the first cut is that of ``opening``; 0: it is not
    """

    name: ClassVar[str] = "bundle"
    needs: ClassVar[Needs] = Needs(cache=True)
    keys: ClassVar[frozenset[str]] = frozenset(
        {"qp", "step", "max_planes", "cache", "max_cache_mb"}
    )
    opens: ClassVar[bool] = True  # whether a run may begin as ``opening`` has it

    w: np.ndarray = field(metadata=vector())
    completion: Plane = field(metadata=plane())
    qp: SimplexQP = field(metadata=kept(KeptQP()))
    step: float = 0.08
    max_planes: int = 300
    cached: int = 0
    cache_bytes: float = np.inf
    opening: int = field(default=0, metadata=value(whole))
    planes: Planes | LongPlanes = field(init=False, metadata=kept(_KeptPlanes()))
    cache: PlaneCache | None = field(init=False, metadata=kept(_KeptCache()))
    gram: np.ndarray = field(init=False, metadata=array(np.float64, _square))
    beta: np.ndarray = field(init=False, metadata=array(np.float64, _with_zero))
    idle: np.ndarray = field(init=False, metadata=array(np.int64, _by_cut, least=0))
    row: int = field(default=-1, metadata=value(partial(whole, least=-1)))
    cached_cuts: int = field(default=0, metadata=value(whole))
    square: float = field(default=0.0, init=False)
    above: float = field(default=0.0, init=False)

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0."""
        w, section = np.zeros(dimension), config.solver
        return cls(
            w,
            Plane(w, 0.0),
            SimplexQP(section.qp),
            section.step,
            section.max_planes,
            section.cache,
            section.max_cache_mb * MEGABYTE,
        )

    def initialise(self, oracle: Any, initial: Initialisation) -> None:
        """Begin at the first weights, completed there, or at w = 0 with the first completion."""
        if self.cached:
            truth = oracle.completed_each(self.w).gradients(np.arange(len(oracle.costs)))
            self.cache = PlaneCache(oracle.costs, truth, self.cached, self.cache_bytes)
        elif self.opens and initial.by_parts:
            self.opening = parts_of(len(oracle.costs), len(self.w))
        super().initialise(oracle, initial)

    def __post_init__(self) -> None:
        none = np.zeros(0), sparse.csr_array((0, len(self.w)))
        self.cache = PlaneCache(*none, self.cached, self.cache_bytes) if self.cached else None
        self.planes = long_planes.new_stack(self.completion.gradient)
        self.gram = np.zeros((1, 1))
        self.beta = np.ones(1)
        self.idle = np.zeros(0, dtype=np.int64)

    @property
    def planes_kept(self) -> int:
        """The number of cuts that are kept now."""
        return len(self.planes)

    @property
    def passes_saved(self) -> int:
        """The number of cuts that needed no oracle pass."""
        return 0 if self.cache is None else self.cache.saved

    @property
    def osqp_calls(self) -> int:
        """The number of quadratic programs that OSQP solved."""
        return self.qp.osqp_calls

    def measure_from(self, completion: Plane) -> None:
        """Set a new completion; the bound and the Gram matrix are of differences from it."""
        self.completion = completion
        if not len(self.planes):
            self.planes = long_planes.new_stack(completion.gradient)
        self.begin_problem()
        self.gram = np.zeros((len(self.beta), len(self.beta)))
        self.gram[1:, 1:] = self.planes.gram(completion.gradient)
        self._measure()

    def primal(self, C: float) -> float:
        """P at the incumbent.

        Where no upper bound of it is known, the highest cut there stands for U⁺: a lower
        bound, but none of the cuts that prove ``lower`` is above it.
        """
        if np.isfinite(self.slack) and self.row >= 0:
            return self.square + C * (self.above + self.slack)
        return self._objective(C, self.w, self.own_plane(), self.slack)

    def _measure(self) -> None:
        """Store the parts of P at the incumbent, which is read many times in each pass."""
        if self.row >= 0:
            self.square = 0.5 * float(self.w @ self.w)
            self.above = self.planes.above(self.row, self.completion, self.w)

    def own_plane(self) -> Plane:
        """The cut that was computed at the incumbent."""
        return self._cut(self.row)

    def _cut(self, row: int) -> Plane:
        return self.planes.plane(row)

    def finish(self, oracle: Any) -> None:
        """Refuse the value at the incumbent if any cut exceeds it, too."""
        super().finish(oracle)
        highest = int(np.argmax(self.planes.dots(self.w) + self.planes.losses))
        self._compare(oracle, self.w, self.own_plane(), self.slack, highest)

    def _begin(self, oracle: Oracle, C: float) -> None:
        """Compute a first cut if there is none yet."""
        if self.row < 0:
            self._ask(oracle, C, self.w)
            self.at_zero = not np.any(self.w)
            room = self.most_passes >= self.problem_passes + EPOCHS + 1
            if self.opening and room and np.isfinite(self.slack):
                self._open(oracle, C)

    def _improve(self, oracle: Oracle, C: float, target: Callable[[], float]) -> bool:
        """Add a cut near the minimiser of the model, unless the model already closes the gap."""
        point = self._model_minimiser(C, target())
        if not self.is_unsolved(C, target()):
            return False
        if (
            self.cache is None
            or self.cached_cuts >= MOST_CACHED_CUTS
            or not self._cut_from_cache(C, point)
        ):
            point = point - self.w
            point *= self.step
            point += self.w
            self._ask(oracle, C, point)
        return True

    def _objective(self, C: float, w: np.ndarray, plane: Plane, slack: float) -> float:
        """P at w, of which plane is the cut. The difference from the completion is taken before
        its value, since the values alone may be larger than it by many orders."""
        height = plane.above(self.completion, w)
        if np.isfinite(slack):
            height += slack
        else:
            height = max(height, float(self._heights(w).max()))
        return 0.5 * float(w @ w) + C * height

    def _model_minimiser(self, C: float, goal: float) -> np.ndarray:
        """Solve the QP, raise the lower bound, and return the minimiser of the model.

        The objective is divided by C: ½‖w‖²/C + max over the cuts. Any multipliers give a
        bound, however rough the QP was; it is taken from their combined plane itself.
        """
        began = time.perf_counter()
        offsets = np.concatenate([[0.0], self.planes.losses - self.completion.loss])
        tolerance = max(QP_SHARE * goal, QP_FLOOR * self.lower) / C
        self._use(self.qp.solve(C * self.gram, offsets, self.beta, tolerance).beta)
        slope, bound = self._combined(C)
        self.lower = max(self.lower, bound)
        point = self._levelled(np.negative(slope, out=slope), C, goal)
        self.seconds += time.perf_counter() - began
        return point

    def _use(self, beta: np.ndarray) -> None:
        """Set new multipliers, and count for how many QPs each cut has had none."""
        self.beta = beta
        self.idle = np.where(beta[1:] > 0.0, 0, self.idle + 1)

    def _combined(self, C: float) -> tuple[np.ndarray, float]:
        """C times the gradient of the cuts' mean by multiplier, (d,), and the bound it proves."""
        weights = C * self.beta[1:]
        model = self.planes.combine(weights)
        share = float(weights.sum())
        slope = model.gradient
        slope -= share * self.completion.gradient
        return slope, model.loss - share * self.completion.loss - 0.5 * float(slope @ slope)

    def _levelled(self, point: np.ndarray, C: float, goal: float) -> np.ndarray:
        """The minimiser of the model with the rounding of its multipliers taken out.

        At the minimiser all active cuts are equally high. Where the multipliers cancel each
        other by many orders (C and features both large), their rounding tilts the cuts
        apart by more than the goal: the smallest step that levels them is tried then. Where that
        rounding is far too small, the heights come from the Gram matrix, without the gradients.
        """
        rounding = PRODUCT_ROUNDING * C * C * float(np.diag(self.gram).max())
        if rounding <= LEVEL_SHARE * goal:
            heights = self._above(-C * (self.gram[1:] @ self.beta))
        else:
            heights = self._heights(point)
        active = np.flatnonzero(self.beta)
        spread = heights[active] - heights[active[0]]
        if C * np.ptp(spread) <= LEVEL_SHARE * goal:
            return point
        first, others = active[0], active[1:]
        gram = self.gram[np.ix_(others, others)] - self.gram[others, first][:, None]
        gram += self.gram[first, first] - self.gram[first, others]
        moves = np.zeros(len(self.beta))
        moves[others] = np.linalg.lstsq(gram, spread[1:], rcond=1e-13)[0]
        moves[first] = -moves[others].sum()
        step = self.planes.combine(moves[1:]).gradient
        level = point - (step - float(moves[1:].sum()) * self.completion.gradient)
        before = 0.5 * float(point @ point) + C * heights.max()
        after = 0.5 * float(level @ level) + C * self._heights(level).max()
        return level if after < before else point

    def _heights(self, w: np.ndarray) -> np.ndarray:
        """The value at w of the zero plane and of every cut, (k + 1,)."""
        return self._above(self.planes.dots_above(self.completion.gradient, w))

    def _above(self, dots: np.ndarray) -> np.ndarray:
        """The zero plane's height, and those of the cuts with these inner products, (k + 1,)."""
        return np.concatenate([[0.0], dots + self.planes.losses - self.completion.loss])

    def _ask(self, oracle: Any, C: float, w: np.ndarray) -> None:
        """Make an oracle pass at w: add its cut, and make w the incumbent if P is lower there."""
        plane, upper = self._found(oracle, C, w)
        self.problem_passes += 1
        self.cached_cuts = 0
        slack = upper - plane.value(w)
        self._check(oracle, w, plane, slack)
        began = time.perf_counter()
        better = self.row < 0 or self.at_zero or self._moves(C, w, plane, slack)
        self._make_room()
        self._append(plane)
        if better:
            self.w, self.row, self.slack = w, len(self.planes) - 1, slack
            self.at_zero = False
            self._measure()
        self.seconds += time.perf_counter() - began

    def _found(self, oracle: Any, C: float, w: np.ndarray) -> tuple[Plane, float]:
        """A plane and an upper bound at w, by one oracle pass."""
        return oracle.augmented(w) if self.cache is None else self.cache.ask(oracle, w)

    def _moves(self, C: float, w: np.ndarray, plane: Plane, slack: float) -> bool:
        """Whether w, of which plane is the cut, becomes the incumbent."""
        return self._objective(C, w, plane, slack) < self.primal(C)

    def _open(self, oracle: Any, C: float) -> None:
        """Block steps from where the hidden values were completed; their cut, and a pass there."""
        began, spent = time.perf_counter(), oracle.seconds
        point, cut = opened(oracle.parts(self.opening), C, self.w)
        self.problem_passes += EPOCHS
        self._append(cut)
        self.seconds += time.perf_counter() - began - (oracle.seconds - spent)
        self._ask(oracle, C, point)

    def _cut_from_cache(self, C: float, point: np.ndarray) -> bool:
        """Add the cut of kept planes at the model's minimiser, if that raises the model enough."""
        began = time.perf_counter()
        cut = self.cache.cut(point)  # type: ignore[union-attr]
        rise = (cut - self.completion).value(point) - float(self._heights(point).max())
        helps = C * rise >= CACHE_SHARE * self.gap(C)
        if helps:
            self._make_room()
            self._append(cut)
            self.cached_cuts += 1
            self.cache.saved += 1  # type: ignore[union-attr]
        self.seconds += time.perf_counter() - began
        return helps

    def _check(self, oracle: Any, w: np.ndarray, plane: Plane, slack: float) -> None:
        """Refuse a loss-augmented maximum below the true outputs, or below the existing cuts."""
        self.check_truth(oracle, w, plane, slack, self.completion)
        rows = np.argsort(-self.beta[1:], kind="stable")[:COMPARED]
        if len(rows):
            heights = self.planes.dots(w, rows) + self.planes.losses[rows]
            self._compare(oracle, w, plane, slack, int(rows[np.argmax(heights)]))

    def _compare(self, oracle: Any, w: np.ndarray, plane: Plane, slack: float, row: int) -> None:
        if np.isfinite(slack) and self.planes.above(row, plane, w) > slack:
            self.check_plane(oracle, w, plane, slack, self._cut(row))

    def _append(self, plane: Plane) -> None:
        self.planes.append(plane)
        inner = self._inner(plane)
        gram = np.zeros((len(inner) + 1, len(inner) + 1))
        gram[:-1, :-1] = self.gram
        gram[-1, 1:] = gram[1:, -1] = inner
        self.gram = gram
        self.beta = np.append(self.beta, 0.0)
        self.idle = np.append(self.idle, 0)

    def _inner(self, plane: Plane) -> np.ndarray:
        """Inner products of the cuts' differences from the completion with a plane's, (k,)."""
        difference = plane.gradient - self.completion.gradient
        return self.planes.dots_above(self.completion.gradient, difference)

    def _make_room(self) -> None:
        """Drop the longest idle cuts once there are ``max_planes``, never the incumbent's.

        Where too few are idle, the smallest multipliers' cuts go into one aggregate, their
        average by multiplier, which is a valid cut: the bound never falls.
        """
        if len(self.planes) < self.max_planes:
            return
        spare = len(self.planes) - self.max_planes * 3 // 4
        order = np.lexsort((self.beta[1:], -self.idle))
        order = order[order != self.row]
        dropped = order[: max(spare, 2)]
        moved = np.zeros(len(self.planes))
        moved[dropped] = self.beta[1:][dropped]
        mass = float(moved.sum())
        aggregate = self.planes.combine(moved / mass) if mass > 0.0 else None
        self._keep(np.setdiff1d(np.arange(len(self.planes)), dropped))
        if aggregate is not None:
            self._append(aggregate)
            self.beta[-1] = mass

    def _keep(self, rows: np.ndarray) -> None:
        self.planes.keep(rows)
        with_zero = np.concatenate([[0], rows + 1])
        self.gram = self.gram[np.ix_(with_zero, with_zero)]
        self.beta = self.beta[with_zero]
        self.idle = self.idle[rows]
        if self.row >= 0:
            self.row = int(np.searchsorted(rows, self.row))
        self.qp.keep(with_zero)

    def _check_restored(self) -> None:
        """Refuse an impossible Gram matrix, multipliers, incumbent or cuts."""
        rounding = ASYMMETRY * np.abs(self.gram).max()
        crooked = np.abs(self.gram - self.gram.T).max() > rounding
        if crooked or np.any(np.diag(self.gram) < -rounding):
            raise ModelError("array 'gram' is not a Gram matrix; expected a symmetric one")
        if np.any(self.beta < 0.0) or abs(float(self.beta.sum()) - 1.0) > ROUNDING:
            raise ModelError("array 'beta' is not on the simplex; expected multipliers of sum 1")
        if self.row >= len(self.idle):
            raise ModelError(f"row is {self.row}; expected one of {len(self.idle)} cuts, or -1")
        if self.row >= 0:
            self._check_cuts()
        self._measure()

    def _check_cuts(self) -> None:
        """Refuse cuts, kept planes too, above what they bound from below at the incumbent."""
        heights = self.planes.dots(self.w) + self.planes.losses
        highest = float(heights.max())
        if self.cache is not None:
            highest = max(highest, self.cache.height(self.w))
        top = float(heights[self.row]) + self.slack
        if not highest <= top + ROUNDING * (1.0 + abs(top) + float(np.abs(heights).max())):
            raise ModelError(f"a cut has height {highest:g} where the sum is at most {top:g}")


class CuttingPlane(Bundle):
    """The plain cutting-plane method: cuts are computed at the model's minimiser itself."""

    name: ClassVar[str] = "cutting-plane"
    keys: ClassVar[frozenset[str]] = Bundle.keys - {"step"}
    opens: ClassVar[bool] = False

    @classmethod
    def from_config(
        cls, config: Any, dimension: int, restart: int, inner_product: InnerProduct
    ) -> Self:
        """The solver that a configuration asks for, at w = 0."""
        solver = super().from_config(config, dimension, restart, inner_product)
        solver.step = 1.0
        return solver
