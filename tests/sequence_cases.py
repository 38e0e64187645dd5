"""Label sequences by enumeration, straight from the definitions, and tiny random problems."""

import itertools

import numpy as np
from scipy import sparse

from lssvm.applications.base import Formulation
from lssvm.applications.sequence.examples import packed
from lssvm.applications.sequence.sequence import SequenceLabelling, SequenceOptions
from lssvm.applications.sequence.vocabulary import Vocabulary


def joint_feature(x, y, L, order=1, ends=False):
    """Φ(x, y): emissions, first-order, second-order, begin and end."""
    return joint_features(x, [y], L, order, ends)[0]


def joint_features(x, outputs, L, order=1, ends=False):
    """Φ(x, y) of several labellings of one sequence, (len(outputs), d)."""
    chosen = np.eye(L)[np.array(outputs)]  # (outputs, places, labels)
    parts = [
        np.einsum("tm,ntl->nml", x, chosen),
        np.einsum("nta,ntb->nab", chosen[:, :-1], chosen[:, 1:]),
    ]
    if order == 2:
        before, middle, last = chosen[:, :-2], chosen[:, 1:-1], chosen[:, 2:]
        parts.append(np.einsum("nta,ntb,ntc->nabc", before, middle, last))
    if ends:
        parts += [chosen[:, 0], chosen[:, -1]]
    return np.concatenate([part.reshape(len(outputs), -1) for part in parts], axis=1)


def labellings(length, L):
    """Every labelling; lowest last label first, then lowest before it, and so on."""
    return [y[::-1] for y in itertools.product(range(L), repeat=length)]


def hamming(truth, y, costs):
    return float(sum(costs[a] for a, b in zip(truth, y, strict=True) if a != b))


def errors(truth, y):
    return sum(a != b for a, b in zip(truth, y, strict=True))


class Problem:
    """A few random sequences, all numbers multiples of 1/8, with an application for them."""

    def __init__(self, rng, loss="hamming", rescaling="margin", norm=1, model="ssvm", **options):
        self.L = int(rng.integers(1, 4))
        self.width = int(rng.integers(1, 4))
        n = int(rng.integers(1, 5))
        sizes = [int(rng.integers(1, 6)) for _ in range(n)]
        self.x = [rng.integers(-4, 5, (size, self.width)) / 8 for size in sizes]
        self.y = [tuple(rng.integers(0, self.L, size).tolist()) for size in sizes]
        self.c = rng.integers(0, 9, n) / 8
        names = tuple("abcd"[: self.L])
        self.options = {"order": 1, "ends": False, **options}
        self.class_costs = [1.0] * self.L
        if options.pop("costly", False):
            costs = rng.integers(0, 17, self.L) / 8
            # Without slack a loss is 0 or at least 1.
            self.class_costs = (costs if norm else costs + (costs > 0)).tolist()
            options["class_costs"] = dict(zip(names, self.class_costs, strict=True))
        formulation = Formulation(model, rescaling, norm)
        self.app = SequenceLabelling(SequenceOptions(loss=loss, **options), formulation)
        rows = np.vstack(self.x)
        self.examples = packed(
            sparse.csr_array(rows) if rng.random() < 0.5 else rows,
            [names[label] for y in self.y for label in y],
            np.cumsum([0, *sizes]),
            Vocabulary(names, self.width),
            costs=self.c,
        )
        self.d = self.app.dimension(self.examples)

    def weights(self, rng, zero):
        return rng.integers(-8, 9, self.d) / 8 * (not zero)

    def phi(self, i, y):
        return joint_feature(self.x[i], y, self.L, self.options["order"], self.options["ends"])

    def phis(self, i, outputs):
        return joint_features(
            self.x[i], outputs, self.L, self.options["order"], self.options["ends"]
        )

    def outputs(self, i):
        return labellings(len(self.y[i]), self.L)

    def loss(self, i, y):
        if self.app.options.loss == "zero_one":
            return float(y != self.y[i])
        return hamming(self.y[i], y, self.class_costs)

    def margin(self, i, y):
        loss = self.loss(i, y)
        return np.sqrt(loss) if self.app.formulation.slack_norm == 2 else loss

    def margins(self, i, outputs):
        """The margins of several outputs, (len(outputs),)."""
        wrong = np.array(outputs) != self.y[i]
        if self.app.options.loss == "zero_one":
            losses = wrong.any(axis=1).astype(float)
        else:
            losses = wrong @ np.array(self.class_costs)[list(self.y[i])]
        return np.sqrt(losses) if self.app.formulation.slack_norm == 2 else losses

    def plane(self, i, y):
        """Gradient and loss part of the plane that an output gives."""
        margin, phi = self.margin(i, y), self.phi(i, y)
        if self.app.formulation.rescaling == "slack":
            truth = self.phi(i, self.y[i])
            return margin * (phi - truth) + truth, margin
        return phi, margin

    def best(self, i, w):
        """The first output of highest value, as the application breaks ties, and the value."""
        outputs = self.outputs(i)
        plain = self.app.options.loss == "hamming" and (
            self.app.formulation.rescaling == "margin" and self.app.formulation.slack_norm != 2
        )
        if not plain and self.app.options.loss == "zero_one":
            outputs = sorted(outputs, key=lambda y: y != self.y[i])
        elif not plain:
            outputs = sorted(outputs, key=lambda y: errors(self.y[i], y))
        margins = self.margins(i, outputs)
        slopes = self.phis(i, outputs)
        if self.app.formulation.rescaling == "slack":
            truth = self.phi(i, self.y[i])
            slopes = margins[:, None] * (slopes - truth) + truth
        values = margins + slopes @ w
        k = int(np.argmax(values))
        return outputs[k], float(values[k])
