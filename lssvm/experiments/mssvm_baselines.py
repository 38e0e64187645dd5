"""Two baselines of Ping, Liu & Ihler (ICML 2014, Table 3), on chains y, h, y, h, …

Given y the hidden nodes of such a chain are independent of each other, which makes exact what is
intractable in general.

**M3E**, max-margin min-entropy (Miller, Kumar, Packer, Goodman & Koller, AISTATS 2012). The
prediction is the y whose generalised distribution P(y, · | x), which sums to less than 1, has the
least Rényi entropy of order α. With s = w · Φ and up to a constant, that is the y of largest

    G(y) = (log Σ_h exp(α s) − log Σ_h exp(s)) / (α − 1)

which tends to max_h s as α → ∞: the latent structural SVM. A margin on entropies gives

    F(w) = ½‖w‖² + C Σ c_i [ max_y (Δ(y_i, y) + G_i(y)) − G_i(y_i) ]

Σ over h parts into sums over single hidden nodes, so G is a sum over pairs of neighbouring y, and
its maximum is found by dynamic programming. G is itself a difference of convex functions, so that
planes of the first term are no lower bounds: it is trained by stochastic descent on F, which needs
none. The paper linearises the concave parts instead (CCCP).

**ModLat** (Kumar, Packer & Koller, ICML 2012, equations of section 3). Two distributions: one of h
given (x, y), log-linear with weights θ, and a prediction argmax over (y, h) of w · Φ. The loss
compares hidden values too; here it is the number of wrong nodes, hidden ones included. Turn by turn

- for w, a latent structural SVM with the loss expected under θ: Δ plus, for each hidden node, the
  probability that its state is another one (by CCCP and the bundle, to a certified gap);
- for θ, with (ŷ, ĥ) predicted by w, the least ½‖θ‖² + C Σ c_i [E Δ(h, ĥ) − β E Δ(h, h')], h and h'
  drawn independently (by SciPy's L-BFGS; the paper: stochastic descent).

Open in the comparison of Ping et al. are α, β, the loss between hidden values and how often turns
are taken. Here α is an argument, β and the number of turns are those below, the first θ is 0, with
which the first w is that of the latent structural SVM.

Ties go to the lowest state, from the last node of the chain to the first.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse
from scipy.special import logsumexp, softmax

from lssvm.applications.base import Formulation
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.applications.mrf.mrf_output import Predictions
from lssvm.config import Config
from lssvm.errors import LssvmError
from lssvm.formats.mrf_text import HIDDEN
from lssvm.model import Model
from lssvm.plane import Plane
from lssvm.train import learn_on

ALPHA = 2.0
BETA = 0.1
TURNS = 5
EPOCHS = 50
THETA_STEPS = 100
EPSILON, TOLERANCE = 1e-2, 1e-2


@dataclass(frozen=True)
class Chains:
    """n chains of V nodes with K states, the 1st, 3rd, … of them outputs, the others hidden.

    rows : (n (V K + (V − 1) K K), d) features of every state of every node and edge
    flipped : (V − 1,) edges that the graphs have from the later node to the earlier one
    states : (n, V) labels, those of hidden nodes negative; costs : (n,)
    """

    rows: sparse.csr_array
    flipped: np.ndarray
    states: np.ndarray
    costs: np.ndarray
    count: int

    def scores(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w · φ of the states of nodes, (n, V, K), and of neighbours in order, (n, V − 1, K, K)."""
        n, size = self.states.shape
        flat = (self.rows @ w).reshape(n, -1)
        nodes = flat[:, : size * self.count].reshape(n, size, self.count)
        pairs = flat[:, size * self.count :].reshape(n, size - 1, self.count, self.count)
        return nodes, self._turned(pairs)

    def gradient(self, nodes: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Σ c_i times the features with these weights, shaped as the scores, (d,)."""
        n = len(self.costs)
        flat = np.hstack([nodes.reshape(n, -1), self._turned(pairs).reshape(n, -1)])
        return self.rows.T @ (flat * self.costs[:, None]).ravel()

    def _turned(self, pairs: np.ndarray) -> np.ndarray:
        flipped = self.flipped[None, :, None, None]
        return np.where(flipped, pairs.transpose(0, 1, 3, 2), pairs)

    def wrong(self) -> np.ndarray:
        """1 for every state of an output but its label, (n, V, K)."""
        wrong = np.zeros((*self.states.shape, self.count))
        wrong[:, ::2] = 1.0 - one_hot(self.states[:, ::2], self.count)
        return wrong


def chains_of(examples: Graphs) -> Chains:
    """The graphs as chains; kept with them. Raises LssvmError if they are none."""
    if "chains" not in examples.cache:
        examples.cache["chains"] = _chains_of(examples)
    return examples.cache["chains"]


def _chains_of(examples: Graphs) -> Chains:
    n, size = len(examples), int(examples.node_offsets[1] - examples.node_offsets[0])
    items = slice(int(examples.item_offsets[0]), int(examples.item_offsets[-1]))
    tables, count = examples.tables[items].astype(np.int64), int(examples.tables[items][0])
    expected = np.repeat([count, count * count], [size, size - 1])
    if not np.array_equal(tables, np.tile(expected, n)):
        raise LssvmError("not all graphs are chains of one length and number of states")
    edges = slice(int(examples.edge_offsets[0]), int(examples.edge_offsets[-1]))
    ends = examples.ends[edges].reshape(n, size - 1, 2)
    forward = np.column_stack([np.arange(size - 1), np.arange(1, size)])
    hidden = examples.labels[examples.nodes].reshape(n, size) == HIDDEN
    if np.any(np.sort(ends, axis=2) != forward) or np.any(ends != ends[0]):
        raise LssvmError("not all graphs are chains whose nodes follow each other")
    if np.any(hidden != (np.arange(size) % 2 == 1)):
        raise LssvmError("not all chains have outputs and hidden nodes in turn, an output first")
    return Chains(
        _rows(examples, items, tables),
        ends[0, :, 0] > ends[0, :, 1],
        examples.labels[examples.nodes].reshape(n, size).astype(np.int64),
        examples.costs,
        count,
    )


def _rows(examples: Graphs, items: slice, tables: np.ndarray) -> sparse.csr_array:
    """The feature vector of every state of every item, one after another."""
    starts = examples.starts[items.start : items.stop + 1]
    counts = np.diff(starts)
    features = slice(int(starts[0]), int(starts[-1]))
    item = np.repeat(np.arange(len(tables)), counts)
    first = examples.bases[items][item] + examples.indices[features] * tables[item]
    sizes = tables[item]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    begins = np.cumsum(tables) - tables
    return sparse.csr_array(
        (
            np.repeat(examples.values[features], sizes),
            (np.repeat(begins[item], sizes) + within, np.repeat(first, sizes) + within),
        ),
        shape=(int(tables.sum()), examples.classes.dimension),
    )


def best_path(nodes: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """The states of highest score of n chains, (n, T): nodes (n, T, K), pairs (n, T − 1, K, K)."""
    n, length, _ = nodes.shape
    heads = [nodes[:, 0]]
    for t in range(1, length):
        heads.append(nodes[:, t] + np.max(heads[-1][:, :, None] + pairs[:, t - 1], axis=1))
    states = np.empty((n, length), dtype=np.int64)
    states[:, -1] = np.argmax(heads[-1], axis=1)
    for t in range(length - 2, -1, -1):
        following = pairs[np.arange(n), t, :, states[:, t + 1]]
        states[:, t] = np.argmax(heads[t] + following, axis=1)
    return states


def one_hot(states: np.ndarray, count: int) -> np.ndarray:
    """1 at the state of each place, 0 elsewhere: (…, count)."""
    return (states[..., None] == np.arange(count)).astype(np.float64)


def hidden_scores(nodes: np.ndarray, pairs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The scores of the states of hidden nodes given the outputs y, (n, H, K)."""
    hidden = nodes[:, 1::2].copy()
    rows = np.arange(len(y))[:, None]
    count, after = hidden.shape[1], y.shape[1] - 1
    hidden += pairs[rows, 2 * np.arange(count), y[:, :count]]
    hidden[:, :after] += pairs[rows, 2 * np.arange(after) + 1, :, y[:, 1:]]
    return hidden


def weights_of(y: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights of all states of nodes and neighbours where y is fixed and the hidden nodes are
    independent, with weights (n, H, K): shaped as the scores."""
    n, count, states = hidden.shape
    nodes = np.zeros((n, y.shape[1] + count, states))
    nodes[:, ::2], nodes[:, 1::2] = one_hot(y, states), hidden
    return nodes, nodes[:, :-1, :, None] * nodes[:, 1:, None, :]


class MinEntropy(MarkovRandomField):
    """M3E of order α > 0, not 1; infinity gives the latent structural SVM.

    Planes of ``augmented`` touch where they are made and are no bounds: for descent only.
    """

    def __init__(self, alpha: float) -> None:
        super().__init__(MrfOptions(), Formulation("lssvm"))
        if not alpha > 0.0 or alpha == 1.0:
            raise LssvmError(f"alpha {alpha:g}: expected a number above 0 other than 1")
        self.alpha = alpha

    def augmented(self, w: np.ndarray, examples: Graphs) -> tuple[Plane, float]:
        """Σ c_i max_y (Δ + G)."""
        chains = chains_of(examples)
        nodes, pairs = chains.scores(w)
        wrong = chains.wrong()
        y = self._best(nodes + wrong, pairs)
        losses = np.take_along_axis(wrong[:, ::2], y[..., None], axis=2).sum(axis=(1, 2))
        plane = self._of_outputs(w, chains, nodes, pairs, y)
        plane = Plane(plane.gradient, plane.loss + float(chains.costs @ losses))
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: Graphs) -> Plane:
        """Σ c_i G(y_i)."""
        chains = chains_of(examples)
        return self._of_outputs(w, chains, *chains.scores(w), chains.states[:, ::2])

    def predict(self, w: np.ndarray, examples: Graphs, top: int = 1) -> Predictions:
        """The y of largest G, and the best h given it."""
        nodes, pairs = chains_of(examples).scores(w)
        y = self._best(nodes, pairs)
        hidden = hidden_scores(nodes, pairs, y)
        states = np.empty(nodes.shape[:2], dtype=np.int32)
        states[:, ::2], states[:, 1::2] = y, np.argmax(hidden, axis=2)
        given = np.take_along_axis(nodes[:, ::2], y[..., None], axis=2).sum(axis=(1, 2))
        values = given + self._entropies(hidden).sum(axis=1)
        return Predictions(states.ravel(), values, np.ones(len(y), dtype=bool), w)

    def _entropies(self, scores: np.ndarray) -> np.ndarray:
        """(log Σ exp(α s) − log Σ exp(s)) / (α − 1) over the last axis."""
        if np.isinf(self.alpha):
            return scores.max(axis=-1)
        powers = logsumexp(self.alpha * scores, axis=-1) - logsumexp(scores, axis=-1)
        return powers / (self.alpha - 1.0)

    def _slopes(self, scores: np.ndarray) -> np.ndarray:
        """The derivatives of that by the scores."""
        if np.isinf(self.alpha):
            return one_hot(np.argmax(scores, axis=-1), scores.shape[-1])
        rough = self.alpha * softmax(self.alpha * scores, axis=-1) - softmax(scores, axis=-1)
        return rough / (self.alpha - 1.0)

    def _best(self, nodes: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """The outputs of largest G, (n, Y)."""
        outputs, hidden = nodes[:, ::2].copy(), nodes[:, 1::2]
        after = outputs.shape[1] - 1
        # (n, pairs of outputs, first output, second output, hidden state between them)
        joint = pairs[:, 0::2][:, :after, :, None] + hidden[:, :after, None, None]
        joint = joint + pairs[:, 1::2].transpose(0, 1, 3, 2)[:, :, None]
        if hidden.shape[1] > after:
            outputs[:, -1] += self._entropies(pairs[:, -1] + hidden[:, -1, None])
        return best_path(outputs, self._entropies(joint))

    def _of_outputs(
        self, w: np.ndarray, chains: Chains, nodes: np.ndarray, pairs: np.ndarray, y: np.ndarray
    ) -> Plane:
        hidden = hidden_scores(nodes, pairs, y)
        given = np.take_along_axis(nodes[:, ::2], y[..., None], axis=2).sum(axis=(1, 2))
        value = float(chains.costs @ (given + self._entropies(hidden).sum(axis=1)))
        gradient = chains.gradient(*weights_of(y, self._slopes(hidden)))
        return Plane(gradient, value - float(gradient @ w))


def fitted_min_entropy(
    training: Graphs, C: float, alpha: float = ALPHA, epochs: int = EPOCHS, seed: int = 0
) -> Model:
    """M3E trained with this C an example."""
    application = MinEntropy(alpha)
    application.classes = training.classes
    config = _config(C, seed, {"method": "sgd", "epochs": epochs})
    return learn_on(application, training, config)


class ExpectedLoss(MarkovRandomField):
    """A latent structural SVM whose loss compares hidden nodes with their probabilities.

    shares : (N, K) probabilities of the states of the nodes of the training graphs
    """

    def __init__(self, shares: np.ndarray) -> None:
        super().__init__(MrfOptions(), Formulation("lssvm"))
        self.shares = shares

    def augmented(self, w: np.ndarray, examples: Graphs) -> tuple[Plane, float]:
        """Σ c_i max over (y, h) of score and expected loss."""
        chains = chains_of(examples)
        nodes, pairs = chains.scores(w)
        losses = chains.wrong()
        losses[:, 1::2] = 1.0 - self.shares[examples.nodes].reshape(losses.shape)[:, 1::2]
        states = best_path(nodes + losses, pairs)
        found = np.take_along_axis(losses, states[..., None], axis=2).sum(axis=(1, 2))
        hidden = one_hot(states[:, 1::2], chains.count)
        gradient = chains.gradient(*weights_of(states[:, ::2], hidden))
        plane = Plane(gradient, float(chains.costs @ found))
        return plane, plane.value(w)


def fitted_uncertain(
    training: Graphs, C: float, beta: float = BETA, turns: int = TURNS, seed: int = 0
) -> Model:
    """ModLat trained with this C an example; predictions are those of a latent structural SVM."""
    config = _config(C, seed, {"method": "bundle"})
    chains = chains_of(training)
    theta = np.zeros(training.classes.dimension)
    model: Model | None = None
    for turn in range(turns + 1):
        shares = np.zeros((*chains.states.shape, chains.count))
        shares[:, 1::2] = hidden_shares(chains, theta)
        application = ExpectedLoss(shares.reshape(-1, chains.count))
        application.classes = training.classes
        model = learn_on(application, training, config, initial=model)
        if turn < turns:
            found = application.predict(model.w, training).states.reshape(chains.states.shape)
            theta = fitted_theta(chains, found[:, 1::2], theta, C, beta)
    assert model is not None
    return model


def hidden_shares(chains: Chains, theta: np.ndarray) -> np.ndarray:
    """P(state of a hidden node | x, y_i) under θ, (n, H, K)."""
    return softmax(hidden_scores(*chains.scores(theta), chains.states[:, ::2]), axis=2)


def fitted_theta(
    chains: Chains, predicted: np.ndarray, theta: np.ndarray, C: float, beta: float
) -> np.ndarray:
    """The weights of the distribution, from θ; predicted : (n, H) hidden states by w."""

    def valued(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = dissimilarity(chains, predicted, theta, beta)
        return 0.5 * float(theta @ theta) + C * value, theta + C * gradient

    options = {"maxiter": THETA_STEPS}
    return optimize.minimize(valued, theta, jac=True, method="L-BFGS-B", options=options).x


def dissimilarity(
    chains: Chains, predicted: np.ndarray, theta: np.ndarray, beta: float
) -> tuple[float, np.ndarray]:
    """Σ c_i [E Δ(h, ĥ) − β E Δ(h, h')] of hidden nodes, and its gradient by θ."""
    shares = hidden_shares(chains, theta)
    chosen = one_hot(predicted, chains.count)
    wrong = 1.0 - np.sum(shares * chosen, axis=2)
    spread = 1.0 - np.sum(shares**2, axis=2)
    value = float(chains.costs @ np.sum(wrong - beta * spread, axis=1))
    slopes = 2.0 * beta * shares - chosen
    scores = shares * (slopes - np.sum(shares * slopes, axis=2, keepdims=True))
    nodes, pairs = weights_of(chains.states[:, ::2], scores)
    nodes[:, ::2] = 0.0
    return value, chains.gradient(nodes, pairs)


def _config(C: float, seed: int, solver: dict[str, Any]) -> Config:
    return Config.from_dict(
        {
            "application": {"name": "mrf"},
            "objective": {"model": "lssvm", "C": C},
            "solver": {"epsilon": EPSILON, **solver},
            "cccp": {"tolerance": TOLERANCE},
            "seed": seed,
        }
    )
