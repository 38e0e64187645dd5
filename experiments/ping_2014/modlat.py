"""ModLat, latent-variable uncertainty for loss-based learning, on the graphs of ``mrf``.

ModLat is a baseline of Ping, Liu & Ihler (ICML 2014, Table 3), by Kumar, Packer & Koller (ICML
2012). It has two distributions: one of h given (x, y), log-linear with weights θ, and a prediction
(ŷ, ĥ), the argmax of w · Φ. Rao's dissimilarity coefficient between the two is minimised:

    min over w, θ of  Σ c_i [ E Δ(y_i, h; ŷ, ĥ) − β E Δ(y_i, h; y_i, h') ]

with h and h' drawn independently given (x_i, y_i). Here Δ is the number of wrong nodes, hidden
nodes included; every node without a label is hidden. Two problems are solved in turn:

- for w, a latent structural SVM with the loss expected under θ: the number of wrong labels plus,
  for each hidden node, the probability that its state is another one (by CCCP and the bundle, to a
  certified gap);
- for θ, with (ŷ, ĥ) predicted by w, the minimum of ½‖θ‖² + C Σ c_i [E Δ(h, ĥ) − β E Δ(h, h')] (by
  SciPy's L-BFGS; the paper uses stochastic descent).

Inference is the application's, and exact; a graph that needs a table above its limit is refused. An
expected loss is a number for each state of a hidden node: see ``Tilted``. Since the loss is a sum
over nodes, the function D(p) that θ minimises depends only on the marginals p, and

    ∇_θ D = Cov(Φ, Σ_v ∂D/∂p_v(h_v)) = d/dt E_t[Φ] at t = 0

where E_t has t · ∂D/∂p added to the scores of the nodes. This is a central difference along one
direction, and needs two calls of inference for any graph.

The paper's abstract and poster give the two distributions, the coefficient with its β, the turns
between w and θ, and the latent SVM as the special case of a loss that does not depend on h. The
bound by which w is trained and the term ½‖θ‖² are from memory. The comparison of Ping et al. leaves
open β, the loss between hidden values, and the number of turns. β and the number of turns are
constants below. The first θ is 0, so that the first w is that of the latent structural SVM.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from experiments.ping_2014.trials import Method, config_of
from lssvm.applications.base import Formulation
from lssvm.applications.mrf.elimination import Temperatures
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.mrf.inference import AUGMENTED, COMPLETED, Inference
from lssvm.applications.mrf.mrf import MrfOptions, RandomField
from lssvm.applications.mrf.propagation import node_states
from lssvm.model import Model
from lssvm.offsets import cumulated
from lssvm.plane import Plane
from lssvm.training.session import learn_on

BETA = 0.1
TURNS = 5
THETA_STEPS = 100
STEP = 1e-5  # step of the central difference: about the cube root of the relative rounding error


@dataclass(frozen=True)
class Tilted:
    """Graphs whose unlabelled nodes have one more feature, of value 1.

    No other node shares the weights of this feature, so that inference with these weights can add
    any number to the score of each state.

    states : (entries,) bool, of all states of all nodes: those of nodes without a label
    places : the indices of the weights of these states in the longer w
    dimension, length : the length of w without them and with them
    """

    graphs: Graphs
    states: np.ndarray
    places: np.ndarray
    dimension: int
    length: int

    def weights(self, w: np.ndarray, added: np.ndarray) -> np.ndarray:
        """The longer w, which adds ``added`` to the scores of the states."""
        longer = np.zeros(self.length)
        longer[: self.dimension] = w
        longer[self.places] = added
        return longer


def tilted(examples: Graphs) -> Tilted:
    """The graphs with these features; they are computed once and cached."""
    if "tilted" not in examples.cache:
        examples.cache["tilted"] = _tilted(examples)
    return examples.cache["tilted"]


def _tilted(examples: Graphs) -> Tilted:
    whole = examples.take(np.arange(len(examples)))
    nodes = np.diff(whole.node_offsets)
    items = np.arange(len(whole.labels)) + np.repeat(
        whole.item_offsets[:-1] - whole.node_offsets[:-1], nodes
    )
    free = whole.labels < 0
    own = items[free]
    counts, bases = whole.tables[own].astype(np.int64), whole.bases[own]
    dimension = whole.classes.dimension
    # The weights of a feature begin at a multiple of the number of states after the node's base.
    ends = dimension + cumulated(2 * counts)
    first = ends[:-1] + (bases - ends[:-1]) % counts
    after = whole.starts[own + 1]
    more = np.zeros(len(whole.tables), dtype=np.int64)
    more[own] = 1
    graphs = replace(
        whole,
        starts=whole.starts + cumulated(more),
        indices=np.insert(whole.indices, after, (first - bases) // counts),
        values=np.insert(whole.values, after, 1.0),
        cache={},
    )
    within = np.arange(counts.sum()) - np.repeat(cumulated(counts)[:-1], counts)
    return Tilted(
        graphs,
        np.repeat(free, whole.tables[items]),
        np.repeat(first, counts) + within,
        dimension,
        int(ends[-1]),
    )


class ExpectedLoss(RandomField):
    """A latent structural SVM whose loss compares hidden nodes with their probabilities.

    shares : (N, K) probabilities of the states of the nodes of the training graphs, where K is the
        largest number of states of a node; those of nodes with a label are not read
    """

    def __init__(self, shares: np.ndarray, table: int = MrfOptions().max_table) -> None:
        super().__init__(MrfOptions(inference="exact", max_table=table), Formulation("lssvm"))
        self.shares = shares

    def augmented(self, w: np.ndarray, examples: Graphs) -> tuple[Plane, float]:
        """Σ c_i max over (y, h) of score and expected loss. Raises DataError."""
        own = tilted(examples)
        losses = 1.0 - _flat(self.shares[examples.nodes], node_states(examples))[own.states]
        longer = own.weights(w, losses)
        found = self.inference.infer(
            AUGMENTED, longer, own.graphs, Temperatures(0.0, 0.0), charged=True
        )
        hidden = float(found.gradient[own.places] @ losses)
        gradient = found.gradient[: own.dimension]
        plane = Plane(gradient, float(examples.costs @ found.losses) + hidden)
        return plane, plane.value(w)


def fitted_uncertain(training: Graphs, C: float, beta: float = BETA, turns: int = TURNS) -> Model:
    """Train ModLat with this C per example; it predicts like a latent structural SVM.

    Raises DataError for a graph that is too wide.
    """
    config = config_of(Method("lssvm", {"method": "bundle"}), C)
    counts = node_states(training)
    theta = np.zeros(training.classes.dimension)
    model: Model | None = None
    for turn in range(turns + 1):
        inference = ExpectedLoss(np.empty((0, 0))).inference
        shares = _padded(hidden_shares(inference, training, theta), counts)
        application = ExpectedLoss(shares)
        application.classes = training.classes
        model = learn_on(application, training, config, initial=model)
        if turn < turns:
            predicted = application.predict(model.w, training).states
            theta = fitted_theta(inference, training, predicted, theta, C, beta)
    assert model is not None
    return model


def hidden_shares(inference: Inference, examples: Graphs, theta: np.ndarray) -> np.ndarray:
    """P(state of a node | x, y_i) under θ, for all states of one node after another."""
    return inference.infer(
        COMPLETED, theta, examples, Temperatures(1.0, 1.0), marginals=True
    ).marginals


def fitted_theta(
    inference: Inference,
    examples: Graphs,
    predicted: np.ndarray,
    theta: np.ndarray,
    C: float,
    beta: float,
) -> np.ndarray:
    """The weights of the distribution, starting from θ; predicted : (N,) states of nodes by w."""

    def valued(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = dissimilarity(inference, examples, predicted, theta, beta)
        return 0.5 * float(theta @ theta) + C * value, theta + C * gradient

    options = {"maxiter": THETA_STEPS}
    return optimize.minimize(valued, theta, jac=True, method="L-BFGS-B", options=options).x


def dissimilarity(
    inference: Inference,
    examples: Graphs,
    predicted: np.ndarray,
    theta: np.ndarray,
    beta: float,
) -> tuple[float, np.ndarray]:
    """Σ c_i [E Δ(h, ĥ) − β E Δ(h, h')] of hidden nodes, and its gradient with respect to θ."""
    own = tilted(examples)
    shares = hidden_shares(inference, examples, theta)[own.states]
    counts = node_states(examples)
    chosen = _flat(np.eye(int(counts.max()))[predicted], counts)[own.states]
    costs = np.repeat(examples.costs, np.diff(examples.node_offsets))
    free = examples.labels[examples.nodes] < 0
    each = np.repeat(costs, counts)[own.states]
    value = (1.0 - beta) * float(costs[free].sum()) + float(
        each @ (beta * shares**2 - shares * chosen)
    )
    slopes = 2.0 * beta * shares - chosen
    ends = [
        inference.infer(
            COMPLETED, own.weights(theta, step * slopes), own.graphs, Temperatures(1.0, 1.0)
        ).gradient[: own.dimension]
        for step in (STEP, -STEP)
    ]
    return value, (ends[0] - ends[1]) / (2.0 * STEP)


def _padded(flat: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Numbers for all states of all nodes as (N, K), with 0 where a node has fewer states."""
    padded = np.zeros((len(counts), int(counts.max())))
    padded[np.arange(padded.shape[1]) < counts[:, None]] = flat
    return padded


def _flat(padded: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The inverse of ``_padded``."""
    return padded[np.arange(padded.shape[1]) < counts[:, None]]
