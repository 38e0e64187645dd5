"""The step sizes of descent."""

from typing import NamedTuple

import numpy as np

from lssvm.plane import Plane


class Steps(NamedTuple):
    """Step sizes η_t for an objective with ½‖w‖² in it, t = 0, 1, …

    learning_rate : η_0, at most 1, as a longer step would overshoot the minimum of ½‖w‖² alone;
        None: chosen by the solver
    decay : ``inverse``, η_t = η_0 / (1 + η_0 t), which tends to the 1/t of Shalev-Shwartz et al.
        (Pegasos, Mathematical Programming 127, 2011); or ``constant``
    """

    learning_rate: float | None = None
    decay: str = "inverse"

    def size(self, taken: int) -> float:
        """η_t after so many steps; the learning rate must be known."""
        first = self.learning_rate
        assert first is not None
        return first / (1.0 + first * taken) if self.decay == "inverse" else first


def height(w: np.ndarray, C: float, plane: Plane, completion: Plane, slack: float) -> float:
    """½‖w‖² + C (U⁺ − U⁻), both as planes; a slack of infinity, an unknown one, counts as none.

    The difference of the planes is taken before its value: the values alone may be much larger.
    """
    above = plane.above(completion, w) + (slack if np.isfinite(slack) else 0.0)
    return 0.5 * float(w @ w) + C * above
