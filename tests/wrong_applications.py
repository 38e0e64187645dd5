"""Applications with one mistake each, such as their authors make."""

import sys

import lines
import numpy as np
import toy

from lssvm.plane import Plane


class RandomInference(toy.Toy):
    """Guesses."""

    rng = np.random.default_rng(0)

    def loss_augmented_inference(self, w, x, y):
        _, n_outputs, n_hidden, _ = self.tables.shape
        return int(self.rng.integers(n_outputs)), int(self.rng.integers(n_hidden))


class OtherOutput(toy.Toy):
    """Finds the maximum, and gives the output beside it."""

    def loss_augmented_inference(self, w, x, y):
        y_hat, h_hat = super().loss_augmented_inference(w, x, y)
        return (y_hat + 1) % self.tables.shape[1], h_hat


class NoLossInInference(toy.Toy):
    """Minimises where the maximum is asked for."""

    def loss_augmented_inference(self, w, x, y):
        return super().loss_augmented_inference(-w, x, y)


class OtherFeatures(toy.Toy):
    """Maximises the score of other features than those that it gives."""

    def joint_feature(self, x, y, h):
        return self.tables[x, y, h][::-1]


class NegativeLoss(toy.Toy):
    def loss(self, y, y_hat, h_hat):
        return super().loss(y, y_hat, h_hat) if y == y_hat else -1.0

    def loss_augmented_inference(self, w, x, y):
        return toy._first_maximum(self.tables[x] @ w - (np.arange(3) != y)[:, None])


class LossAtTheTruth(toy.Toy):
    def loss(self, y, y_hat, h_hat):
        return super().loss(y, y_hat, h_hat) + 1.0


class LowestCompletion(toy.Toy):
    def complete_latent(self, w, x, y):
        return int(np.argmin(self.tables[x, y] @ w))


class NotANumber(toy.Toy):
    def joint_feature(self, x, y, h):
        return self.tables[x, y, h] * (np.nan if x == 3 else 1.0)


class OtherShape(toy.Toy):
    def joint_feature(self, x, y, h):
        return self.tables[x, y, h][:-1] if x == 3 else self.tables[x, y, h]


class NoArray(toy.Toy):
    def joint_feature(self, x, y, h):
        return None if x == 3 else self.tables[x, y, h]


class NoPair(toy.Toy):
    def loss_augmented_inference(self, w, x, y):
        found = super().loss_augmented_inference(w, x, y)
        return found[0] if x == 3 else found


class NoNumber(toy.Toy):
    def loss(self, y, y_hat, h_hat):
        return "none" if y_hat != y else 0.0


class OtherLossEachTime(toy.Toy):
    """The loss of wrong outputs is drawn anew whenever it is asked for, up to ten times as large"""

    rng = np.random.default_rng(0)

    def loss(self, y, y_hat, h_hat):
        return super().loss(y, y_hat, h_hat) * self.rng.uniform(0.0, 10.0)


def fails(method):
    """An application in which one of the functions divides by zero for the example x3."""

    def function(self, *arguments):
        x = arguments[0] if method in ("joint_feature", "first_completion") else arguments[1]
        if x == 3:
            return 1 // 0
        return getattr(super(kind, self), method)(*arguments)

    kind = type(f"Fails_{method}", (toy.Toy,), {method: function})
    return kind


class FailingLines(lines.Lines):
    """Answers for whole data sets, and divides by zero."""

    def augmented(self, w, examples):
        return 1 // 0


class ExitingLines(lines.Lines):
    def completed(self, w, examples):
        sys.exit(0)


class UnmadeLines(lines.Lines):
    def __init__(self, options, formulation=None):
        super().__init__(options, formulation)
        self.missing = {}["key"]


class ScorelessLines(lines.Lines):
    def score(self, examples, predictions):
        raise RuntimeError("first line\nsecond \x1b line")


class OneWrongLine(lines.Lines):
    """Finds the maximum for all examples but the fourth, of which it takes the other output."""

    def augmented(self, w, examples):
        side = examples.labels * (examples.features @ w)
        fourth = (examples.features[:, 0] == -1.0) & (examples.features[:, 1] == -2.0)
        wrong = (1.0 - side > side) & ~fourth
        output = np.where(wrong | fourth, -examples.labels, examples.labels)
        plane = Plane((output * examples.costs) @ examples.features, float(examples.costs @ wrong))
        return plane, plane.value(w)


class ShortLines(lines.Lines):
    def augmented(self, w, examples):
        plane, upper = super().augmented(w, examples)
        return Plane(plane.gradient[:-1], plane.loss), upper


class LowBoundLines(lines.Lines):
    def augmented(self, w, examples):
        plane, upper = super().augmented(w, examples)
        return plane, upper - 1.0


class NegativeLines(lines.Lines):
    def augmented(self, w, examples):
        plane = Plane(super().augmented(w, examples)[0].gradient, -1.0)
        return plane, plane.value(w)


class LossOfTruthLines(lines.Lines):
    def completed(self, w, examples):
        return super().completed(w, examples) + Plane(np.zeros(len(w)), 1.0)
