"""The structural SVMs of these experiments: settings, training, and what is watched."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.haffari_2015.evaluation import Outcome
from lssvm.applications.multivariate.decomposition import NOT_MET
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.relation import Relation
from lssvm.applications.relation.relation_options import RelationOptions
from lssvm.config import Config
from lssvm.training.cccp import Iteration, Observer, Summary
from lssvm.training.session import learn_path

EPSILON = 1e-2  # relative gap of the last convex problem


class Effort(NamedTuple):
    """How long is trained for one value of C.

    passes : at most, for one convex problem; rounds : CCCP iterations at most
    """

    passes: int
    rounds: int


class Watch(Observer):
    """Keeps what the runs of a path of C tell, those of each value of C apart.

    curves : passes, objective, and the bound of the mean training loss after each CCCP iteration
    summaries : of each run; seconds : CPU time of each
    missed : passes whose bounds of inference did not meet, and all passes, of each run
    """

    def __init__(self) -> None:
        self.curves: list[list[tuple[float, float, float]]] = []
        self.summaries: list[Summary] = []
        self.seconds: list[float] = []
        self.missed: list[tuple[int, int]] = []
        self._last = time.process_time()

    def iterated(self, row: Iteration) -> None:
        """A CCCP iteration ended; the first one of a run begins a new run."""
        if row.iteration == 1:
            self.curves.append([])
            self.missed.append((0, 0))
            self.seconds.append(0.0)
        self.curves[-1].append((row.passes, row.objective, row.loss))
        own, before = dict(row.not_converged).get(NOT_MET, (0, 0)), self.missed[-1]
        self.missed[-1] = before[0] + own[0], before[1] + own[1]
        now = time.process_time()
        self.seconds[-1] += now - self._last
        self._last = now

    def finished(self, summary: Summary) -> None:
        """A run ended."""
        self.summaries.append(summary)

    def facts(self, run: int) -> dict[str, Any]:
        """Figures of a run, to be written as JSON.

        inference : the share of the time in inference so far, in percent
        met : the share of passes whose bounds met (``Bounds.apart``); None without any
        """
        own, (missed, passes) = self.summaries[run], self.missed[run]
        whole = own.seconds_inference + own.seconds_qp + own.seconds_rest
        return {
            "objective": own.objective,
            "gap": own.gap,
            "certified": own.certified,
            "iterations": own.iterations,
            "passes": own.passes,
            "seconds": self.seconds[run],
            "inference": 100.0 * own.seconds_inference / max(whole, 1e-9),
            "met": 1.0 - missed / passes if passes else None,
            "curve": self.curves[run],
        }


class Trained(NamedTuple):
    """Weights, and figures of their training."""

    w: np.ndarray
    facts: dict[str, Any]


def options_of(beta: float | None) -> dict[str, Any]:
    """The application's section: loss F_β, or Hamming loss without a β."""
    loss = {"loss": "hamming"} if beta is None else {"loss": "f_beta", "beta": beta}
    return {"name": "relation", **loss}


def trained(
    application: Relation, train: Bags, path: Sequence[float], beta: float | None, effort: Effort
) -> list[Trained]:
    """Train for each C of a path, with the cutting planes of those before.

    train : bags that an application with the same options but for the loss has read
    """
    configs = [
        Config.from_dict(
            {
                "application": options_of(beta),
                "objective": {"model": "lssvm", "C": C},
                "solver": {"epsilon": EPSILON, "max_passes": effort.passes},
                "cccp": {"max_iterations": effort.rounds},
            }
        )
        for C in path
    ]
    own = Relation(RelationOptions(**options_of(beta)))
    own.vocabulary = application.vocabulary
    watch = Watch()
    models = learn_path(own, own.for_training(train), configs, observer=watch, scored=False)
    found = []
    for run, model in enumerate(models):
        linear = getattr(model.space, "linear", None)
        w = model.w if linear is None else np.asarray(linear(model.w))
        found.append(Trained(w, watch.facts(run)))
    return found


def outcome_of(application: Relation, w: np.ndarray, examples: Bags) -> Outcome:
    """What a model says of bags."""
    predictions = application.predict(w, examples)
    truth = examples.truth(len(examples.relations))
    return Outcome(truth, predictions.relations(examples), predictions.scores)
