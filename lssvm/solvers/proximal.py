"""The proximal bundle method: a bundle whose next point stays near the best one.

    w' = argmin over w of  ½‖w‖² + C max over the cuts + μ/2 ‖w − ŵ‖²

with ŵ the centre, the point of the last serious step. As ½‖w‖² is part of the problem and not of
the cuts, the dual over multipliers β on the simplex is

    max over β of  C b·β + μ/(1 + μ) C (A ŵ)·β − C²/(2 (1 + μ)) β'Gβ
    w' = (μ ŵ − C A'β) / (1 + μ)

with A, b the gradients and heights of the cuts, measured from the completion, and G = A A'. The
plane is computed at w'. If P falls by at least a share of what the model promised, the step is
serious and w' becomes the centre; otherwise it is a null step, which only adds its cut (Kiwiel,
Mathematical Programming 46, 1990). The weight μ falls by a factor after a serious step, since w'
could have been farther away, and rises by a smaller one after a null step: so about one step in
four is serious. It falls after a null step too where the model promised less than a share of the
gap, for then the term hides what is left to gain. Where nothing is promised the QP was not solved
well enough; a larger weight makes it easier.

Any β gives a lower bound of P without the proximal term. Once the model promises less than the
goal, the QP without that term is solved too, since its multipliers give the best bound. The gap
then is at most 1 + μ/2 times what is promised: μ (ŵ − w') is a subgradient of the model, which is
strongly convex, so its minimum is at least its value at w' less μ²/2 ‖ŵ − w'‖², and μ ‖ŵ − w'‖² is
no more than what is promised.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from lssvm.checked import number, positive
from lssvm.oracle import Oracle
from lssvm.plane import Plane
from lssvm.solvers.bundle import QP_FLOOR, QP_SHARE, Bundle, KeptQP
from lssvm.solvers.kept import kept, value
from lssvm.solvers.needs import Needs
from lssvm.solvers.qp import SimplexQP

SERIOUS = 0.1  # share of the promised decrease that makes a step serious
FIRST = 10.0  # weight of the proximal term at the start
AFTER_SERIOUS, AFTER_NULL = 0.9, 1.03  # factors of the weight
LITTLE = 0.5  # share of the gap: if less is promised, the weight is too large
LEAST, MOST = 1e-6, 1e6  # of the weight


@dataclass
class Proximal(Bundle):
    """A bundle with a proximal term.

    w : (d,) the centre ŵ
    near_qp : solves the QPs with the proximal term, each from the dual of the last such; ``qp``
        those without it, which need fewer iterations of OSQP from a dual of their own
    weight : μ
    promised : what the model promises P to fall by at w'
    """

    name: ClassVar[str] = "proximal"
    needs: ClassVar[Needs] = Needs()
    keys: ClassVar[frozenset[str]] = frozenset({"qp", "max_planes"})
    opens: ClassVar[bool] = False

    near_qp: SimplexQP = field(init=False, metadata=kept(KeptQP()))
    weight: float = field(default=FIRST, metadata=value(partial(number, least=LEAST, most=MOST)))
    promised: float = field(default=0.0, metadata=value(positive))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.near_qp = SimplexQP(self.qp.method)

    @property
    def osqp_calls(self) -> int:
        """The number of quadratic programs that OSQP solved."""
        return self.qp.osqp_calls + self.near_qp.osqp_calls

    def _improve(self, oracle: Oracle, C: float, target: Callable[[], float]) -> bool:
        """Add a cut at the minimiser of the model with the proximal term."""
        began = time.perf_counter()
        point = self._proximal_point(C, target())
        self.seconds += time.perf_counter() - began
        if self.promised <= target() and self.is_unsolved(C, target()):
            self._model_minimiser(C, target())
        if not self.is_unsolved(C, target()):
            return False
        self._ask(oracle, C, point)
        return True

    def _proximal_point(self, C: float, goal: float) -> np.ndarray:
        """Solve the QP with the proximal term, raise the lower bound, and return w'."""
        near = self.weight / (1.0 + self.weight)
        losses = np.concatenate([[0.0], self.planes.losses - self.completion.loss])
        heights = self._heights(self.w)
        offsets = losses + near * (heights - losses)
        gram = (C / (1.0 + self.weight)) * self.gram
        tolerance = max(QP_SHARE * goal, QP_FLOOR * self.lower) / C
        beta = self.near_qp.solve(gram, offsets, self.beta, tolerance).beta
        self._use(beta)
        slope, bound = self._combined(C)
        self.lower = max(self.lower, bound)
        point = (self.weight * self.w - slope) / (1.0 + self.weight)
        model = 0.5 * float(point @ point) + C * float(self._heights(point).max())
        self.promised = max(0.0, self.primal(C) - model)
        return point

    def _moves(self, C: float, w: np.ndarray, plane: Plane, slack: float) -> bool:
        """Whether the step to w is serious; the weight of the proximal term is adapted."""
        fall = self.primal(C) - self._objective(C, w, plane, slack)
        serious = fall > 0.0 and fall >= SERIOUS * self.promised
        falls = serious or 0.0 < self.promised < LITTLE * self.gap(C)
        factor = AFTER_SERIOUS if falls else AFTER_NULL
        self.weight = min(MOST, max(LEAST, factor * self.weight))
        return serious

    def _keep(self, rows: np.ndarray) -> None:
        super()._keep(rows)
        self.near_qp.keep(np.concatenate([[0], rows + 1]))
