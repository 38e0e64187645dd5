"""Checks of planes by example, predictions, state, and rows for kernels."""

import io
import itertools
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lssvm.applications.base import Application, ByExample, KernelRows
from lssvm.applications.enumeration import Listing
from lssvm.applications.feature_space import rows_of, with_rows
from lssvm.applications.per_example import PerExample, same
from lssvm.errors import LssvmError, counted
from lssvm.oracle import INEXACT
from lssvm.plane import Plane
from lssvm.problem import Maxima
from lssvm.testing.planes import Planes

MOST_CANDIDATES = 5_000  # of an example that are compared


class Answers(Planes):
    """All other checks, after those of planes."""

    def enumerated(self) -> None:
        """Compare inference of every example with all of its candidates."""
        app = self.application
        if isinstance(app, PerExample) and isinstance(app, Listing):
            for i in self.augmented:
                self.attempt(partial(self._listed, app, app.candidates, i))

    def _listed(
        self, app: PerExample[Any, Any, Any], candidates: Callable[[Any], Any], i: int
    ) -> None:
        name, (x,), (y,) = self.names[i], self.parts[i].inputs, self.parts[i].outputs
        listed = self.ask(
            f"{name}: candidates", lambda: [*itertools.islice(candidates(x), MOST_CANDIDATES)]
        )
        of_truth = np.array([same(y, y_hat) for y_hat, _ in listed], dtype=bool)
        if not np.any(of_truth):
            self.tell("candidates", f"{name}: its true output is none of {len(listed)} candidates")
            return
        features = np.array(
            [self.ask(f"{name}: joint_feature", app.joint_feature, x, *p) for p in listed]
        )
        losses = np.array([self.ask(f"{name}: loss", app.loss, y, *p) for p in listed])
        for p in np.flatnonzero(of_truth & (losses != 0.0))[:1]:
            self.tell("truth", f"{name}: the true output has loss {losses[p]:.6g}; expected 0")
        margins = self.ask(f"{name}: loss", app.formulation.margin, losses)
        scores = features @ self.W.T
        values = margins[:, None] + scores
        if not self.margin:
            truth = scores[of_truth][0]
            values = margins[:, None] * (1.0 + scores - truth) + truth
        cost = float(self.parts[i].costs[0])
        found = (np.diag(self.augmented[i].values), np.diag(self.completed[i].values))
        for what, mine, every in (
            ("loss-augmented inference", found[0], values),
            ("latent completion", found[1], scores[of_truth]),
        ):
            self._highest(f"{name}: {what}", mine, cost * every)

    def _highest(self, what: str, found: np.ndarray, every: np.ndarray) -> None:
        """found : (K,) values at each w; every : (candidates, K)."""
        best = every.max(axis=0)
        gaps = np.abs(found - best) - INEXACT * (1.0 + np.abs(every).max(axis=0))
        k = int(np.argmax(gaps))
        if gaps[k] > 0.0:
            self.tell(
                f"{what.rpartition(': ')[2]} beside candidates",
                f"{what} at {self.weights[k].name} has value {found[k]:.6g}, but the best of "
                f"{len(every)} candidates has {best[k]:.6g}; expected the same value",
            )

    def by_example(self) -> None:
        """Planes of single examples add up to those of the sum."""
        app = self.application
        if not isinstance(app, ByExample) or not app.decomposes:
            return
        for k, (at, w) in enumerate(self.weights):
            try:
                both = app.augmented_each(w, self.few), app.completed_each(w, self.few)
            except LssvmError as error:
                if type(error) is not LssvmError:  # it means: no such planes
                    self.tell("error of augmented_each", f"by example at {at}: {error}")
                return
            except Exception as error:  # whatever an application raises is a finding
                wrong = f"{type(error).__name__}: {error}"
                self.tell("error of augmented_each", f"by example at {at} raised {wrong}")
                return
            self._each(app, both[0], "augmented_each", k)
            self._each(app, both[1], "completed_each", k)

    def _each(self, app: ByExample[Any], found: Maxima, what: str, k: int) -> None:
        at, w = self.weights[k]
        stacks = self.augmented if what == "augmented_each" else self.completed
        rows = np.arange(len(self.few))
        gradients = self.ask("gradients", app.gradients, self.few, found, rows)
        if gradients.shape != (len(self.few), self.d):
            shape = (len(self.few), self.d)
            self.tell("gradients", f"gradients have shape {gradients.shape}; expected {shape}")
            return
        scores = gradients @ w
        sizes = np.abs(gradients) @ np.abs(w)
        for i, stack in stacks.items():
            cost, value, loss = float(self.few.costs[i]), found.values[i], found.losses[i]
            expected, room = float(stack.values[k, k]), float(stack.rounding[k, k])
            room += INEXACT * cost * (abs(loss) + float(sizes[i]))
            for name, mine in (("value", cost * value), ("plane", cost * (loss + scores[i]))):
                if not abs(mine - expected) <= room:
                    self.tell(
                        what,
                        f"{self.names[i]}: the {name} of {what} at {at} is {mine:.6g} times its "
                        f"cost, in the sum it is {expected:.6g}; expected the same",
                    )

    def predictions(self) -> None:
        """Predictions are maxima, are the same again and example by example; records and scores."""
        for k, (at, w) in enumerate(self.weights):
            found = self.ask(
                f"predict at {at}",
                self.application.predict,
                w,
                self.few,
            )
            records = self._records(found, at)
            if k < 3:
                self._output(found, records, at)
                again = self.ask("predict", self.application.predict, w, self.few)
                self._alike(records, self._records(again, at), f"predicted again at {at}")
                alone = [
                    record
                    for part in self.parts
                    for record in self.application.records(part, self.application.predict(w, part))
                ]
                self._alike(records, alone, f"predicted by itself at {at}")
            self._maxima(found, k)

    def _records(self, found: Any, at: str) -> list[dict[str, Any]]:
        app = self.application
        records = self.ask("records", lambda: list(app.records(self.few, found)))
        if len(records) != len(self.few):
            self.tell(
                "records",
                f"{counted(len(records), 'record')} of {counted(len(self.few), 'example')}; "
                "expected as many",
            )
        for name, record in zip(self.few.names, records, strict=False):
            self.ask(f"records: {name!r}", json.dumps, record)
            gold, loss = record.get("gold"), record.get("loss")
            right = gold is not None and same(gold, record.get("y")) and not record.get("h")
            if loss is not None and (loss < 0.0 or (right and loss != 0.0)):
                expected = "0, as its output is right" if right else "at least 0"
                self.tell(
                    "loss of predictions",
                    f"example {str(name)!r}: the loss of the prediction at {at} is {loss:.6g}; "
                    f"expected {expected}",
                )
        return records

    def _alike(self, records: list[dict[str, Any]], others: list[dict[str, Any]], how: str) -> None:
        for name, one, other in zip(self.few.names, records, others, strict=False):
            if json.dumps(one.get("y")) != json.dumps(other.get("y")):
                self.tell(
                    "predictions",
                    f"example {str(name)!r}: {how} it is {other.get('y')!r:.60}, but before it was "
                    f"{one.get('y')!r:.60}; expected the same",
                )

    def _output(self, found: Any, records: list[dict[str, Any]], at: str) -> None:
        """Scores, losses, and the file."""
        app = self.application
        scores = self.ask("score", app.score, self.few, found)
        for name, value in scores.items():
            if value is not None and not np.isfinite(value):
                self.tell("score", f"score {name} at {at} is {value}; expected a number or None")
        losses = self.ask("training_losses", app.training_losses, self.few, found)
        if losses is not None:
            told = [record.get("loss") for record in records]
            for name, one, other in zip(self.few.names, losses, told, strict=False):
                if other is not None and abs(one - other) > INEXACT * (1.0 + abs(one)):
                    self.tell(
                        "training_losses",
                        f"example {str(name)!r}: its loss at {at} is {one:.6g} in training_losses, "
                        f"{other:.6g} in records; expected the same",
                    )
        self.ask("write", app.write, self.few, found, io.StringIO())

    def _maxima(self, found: Any, k: int) -> None:
        """Compare the values of predictions with all outputs of inference at any w."""
        app, at = self.application, self.weights[k].name
        values = self.ask("prediction_values", app.prediction_values, self.few, found)
        if values is None or not app.decomposes:
            return
        for i in self.augmented:
            cost, value = float(self.few.costs[i]), float(values[i])
            stacks = [(self.completed[i], self.completed[i].values[:, k])]
            if self.margin:  # gradients are features of outputs
                stacks.append((self.augmented[i], self.augmented[i].products[:, k]))
            for stack, others in stacks:
                room = stack.rounding[:, k] + INEXACT * abs(cost * value)
                j = int(np.argmax(others - room))
                if others[j] - room[j] > cost * value:
                    self.tell(
                        "prediction",
                        f"{self.names[i]}: the prediction at {at} has value {cost * value:.6g}, "
                        f"but the output of inference at {self.weights[j].name} has "
                        f"{others[j]:.6g} there; expected a maximum",
                    )
            most = self.augmented[i].values[k, k] + self.augmented[i].rounding[k, k]
            if self.hard and self.margin and cost * value > most + INEXACT * abs(cost * value):
                self.tell(
                    "prediction above",
                    f"{self.names[i]}: the prediction at {at} has value {cost * value:.6g}, "
                    f"but loss-augmented inference has {most:.6g}; expected at most that",
                )

    def rows_of_kernels(self) -> None:
        """Check the rows that kernels may replace."""
        app = self.application
        if not isinstance(app, KernelRows):
            return
        columns = self.ask("columns_per_row", app.columns_per_row, self.few)
        inputs = self.ask("inputs", lambda: rows_of(self.few))
        if inputs.shape[1] * columns > self.d:
            there = f"{counted(inputs.shape[1], 'feature')} in {counted(columns, 'column')}"
            self.tell("columns_per_row", f"{there} need more than {counted(self.d, 'weight')}")
        at, w = self.weights[1]
        again = self.ask("with_inputs", with_rows, self.few, inputs)
        one = self.ask("augmented", app.augmented, w, again)[0]
        self.near(f"augmented with the same inputs at {at}", one, self._sum(1), w)

    def _sum(self, k: int) -> Plane:
        return self.ask("augmented", self.application.augmented, self.W[k], self.few)[0]

    def restored(self, fresh: Callable[[], Application[Any, Any]] | None) -> None:
        """Another application with the restored state gives the same bytes."""
        app = self.application
        kind = type(app)
        make = fresh or (lambda: kind(app.options, app.formulation))
        state = self.ask("state", app.state)
        other = self.ask("making the application anew", make)
        self.ask("restore", other.restore, state)
        told = self.ask("state", other.state)
        if told.keys() != state.keys() or any(
            not np.array_equal(told[name], state[name]) for name in state
        ):
            self.tell(
                "restore",
                f"the state differs once restored: {sorted(state)}, then {sorted(told)}; expected "
                "the same arrays",
            )
        for k, (at, w) in enumerate(self.weights[:4]):
            planes = [
                self.ask(whose, one.augmented, w, self.few)[0]
                for whose, one in (("augmented", app), ("with the state restored", other))
            ]
            if planes[0].gradient.tobytes() != planes[1].gradient.tobytes() or (
                planes[0].loss != planes[1].loss
            ):
                values = [plane.value(self.W[k]) for plane in planes]
                self.tell(
                    "restore",
                    f"loss-augmented inference at {at} has value {values[0]:.6g}, but in an "
                    f"application with the restored state {values[1]:.6g}; expected the same bytes",
                )
