"""M3E, max-margin min-entropy models, on the graphs of the application ``mrf``.

M3E is a baseline of Ping, Liu & Ihler (ICML 2014, Table 3), by Miller, Kumar, Packer, Goodman &
Koller (AISTATS 2012). The prediction is the y whose generalised distribution P(y, · | x), which
sums to less than 1, has the lowest Rényi entropy of order α: the sum of −log P(y | x) and the Rényi
entropy of P(h | x, y). With s = w · Φ, this is the y that maximises, up to a constant,

    G(y) = (log Σ_h exp(α s) − log Σ_h exp(s)) / (α − 1)

For α → ∞, G tends to max_h s, the latent structural SVM. A margin on entropies gives

    F(w) = ½‖w‖² + C Σ c_i [ max_y (Δ(y_i, y) + G_i(y)) − G_i(y_i) ]

Inference is the application's, and exact. It finds V(y; ε) = ε log Σ_h exp(s / ε) with y clamped,
so that

    G(y) = (α V(y; 1/α) − V(y; 1)) / (α − 1)

and the gradients follow in the same way. The maximum over y is found by ``entropy_search``. Like
marginal MAP, it may need tables over all outputs that touch one component of hidden nodes, even on
trees; a graph that needs a table above the application's limit is refused. Missing labels are
hidden values in training: Δ does not count them, and they are predicted.

G is itself a difference of convex functions, so planes of the first term are not lower bounds. M3E
is therefore trained by stochastic descent on F, which needs no bounds. The paper instead linearises
the concave parts (CCCP).

The paper's abstract and poster give the prediction, its two parts, latent SVM as a member of the
family, and learning by a margin as a difference-of-convex program; the form of F is from memory.
The comparison of Ping et al. leaves α open, which is an argument here (Snoek, Larochelle & Adams,
NIPS 2012, repeat an experiment of the paper with α from 0.1 to 5).
"""

import numpy as np

from experiments.ping_2014.entropy_search import best_outputs, temperatures, term
from experiments.ping_2014.trials import Method, config_of
from lssvm.applications.base import Formulation
from lssvm.applications.mrf.elimination import InferenceResult, Temperatures
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.mrf.mrf import MrfOptions, RandomField
from lssvm.applications.mrf.mrf_output import Predictions
from lssvm.applications.mrf.plans import CLAMPED, FIRST
from lssvm.applications.mrf.propagation import modes
from lssvm.errors import LssvmError
from lssvm.formats.mrf_text import HIDDEN
from lssvm.model import Model
from lssvm.plane import Plane
from lssvm.training.session import learn_on

ALPHA = 2.0
EPOCHS = 50


class MinEntropy(RandomField):
    """M3E of order α > 0, α ≠ 1; infinity gives the latent structural SVM.

    table : the largest table of inference, in numbers
    Planes of ``augmented`` touch where they are computed but are not bounds: use them for descent
    only. All methods raise DataError for a graph that needs a larger table.
    """

    def __init__(self, alpha: float, table: int = MrfOptions().max_table) -> None:
        options = MrfOptions(inference="exact", max_table=table)
        super().__init__(options, Formulation("mssvm"))
        if not alpha > 0.0 or alpha == 1.0:
            raise LssvmError(f"alpha {alpha:g}: expected a number above 0 other than 1")
        self.alpha = alpha

    def augmented(self, w: np.ndarray, examples: Graphs) -> tuple[Plane, float]:
        """Σ c_i max_y (Δ + G)."""
        labels = examples.labels[examples.nodes]
        states = self._best(w, examples, labels >= 0, charged=True)
        wrong = np.add.reduceat(
            states != labels, examples.node_offsets[:-1] - examples.node_offsets[0], dtype=float
        )
        plane = self._of_outputs(w, examples, labels >= 0, states)
        plane = Plane(plane.gradient, plane.loss + float(examples.costs @ wrong))
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: Graphs) -> Plane:
        """Σ c_i G(y_i)."""
        labels = examples.labels[examples.nodes]
        return self._of_outputs(w, examples, labels >= 0, labels)

    def predict(self, w: np.ndarray, examples: Graphs, top: int = 1) -> Predictions:
        """The y of largest G, and the best h given it."""
        outputs = examples.labels[examples.nodes] != HIDDEN
        states = self._best(w, examples, outputs, charged=False)
        values = term(
            np.array([found.values for found in self._given(w, examples, outputs, states)]),
            self.alpha,
        )
        best = self._clamped(w, examples, outputs, states, 0.0, marginals=True)
        return Predictions(
            modes(examples, best.marginals), values, best.converged, w, ~best.converged
        )

    def _best(
        self, w: np.ndarray, examples: Graphs, outputs: np.ndarray, charged: bool
    ) -> np.ndarray:
        return best_outputs(self.inference.exact, w, examples, outputs, self.alpha, charged)

    def _of_outputs(
        self, w: np.ndarray, examples: Graphs, outputs: np.ndarray, states: np.ndarray
    ) -> Plane:
        """Σ c_i G at these outputs."""
        found = self._given(w, examples, outputs, states)
        gradient = term(np.array([own.gradient for own in found]), self.alpha)
        values = term(np.array([own.values for own in found]), self.alpha)
        return Plane(gradient, float(examples.costs @ values) - float(gradient @ w))

    def _given(
        self, w: np.ndarray, examples: Graphs, outputs: np.ndarray, states: np.ndarray
    ) -> list[InferenceResult]:
        """V(y; ε) and its gradient, for each ε that G needs."""
        return [
            self._clamped(w, examples, outputs, states, epsilon)
            for epsilon in temperatures(self.alpha)
        ]

    def _clamped(
        self,
        w: np.ndarray,
        examples: Graphs,
        outputs: np.ndarray,
        states: np.ndarray,
        epsilon: float,
        marginals: bool = False,
    ) -> InferenceResult:
        groups = np.where(outputs, CLAMPED, FIRST).astype(np.int8)
        both = Temperatures(epsilon, epsilon)
        return self.inference.exact.infer(
            w, examples, groups, both, states=states, marginals=marginals
        )


def fitted_min_entropy(
    training: Graphs, C: float, alpha: float = ALPHA, epochs: int = EPOCHS
) -> Model:
    """Train M3E with this C per example. Raises DataError for a graph that is too wide."""
    application = MinEntropy(alpha)
    application.classes = training.classes
    config = config_of(Method("lssvm", {"method": "sgd", "epochs": epochs}), C)
    return learn_on(application, training, config)
