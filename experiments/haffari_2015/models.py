"""The structural SVMs of these experiments: settings, training, and what is watched."""

from typing import Any, NamedTuple

import numpy as np

from experiments.haffari_2015.evaluation import Outcome
from lssvm.applications.multivariate.decomposition import NOT_MET
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.relation import Relation
from lssvm.applications.relation.relation_options import RelationOptions
from lssvm.config import Config
from lssvm.training.cccp import Iteration, Observer, Summary
from lssvm.training.session import learn_on

EPSILON = 1e-2  # relative gap of the last convex problem


class Watch(Observer):
    """Keeps what a run tells.

    curve : passes, objective, and the bound of the mean training loss after each CCCP iteration
    """

    summary: Summary

    def __init__(self) -> None:
        self.curve: list[tuple[float, float, float]] = []
        self._open = self._passes = 0

    def iterated(self, row: Iteration) -> None:
        """A CCCP iteration ended."""
        self.curve.append((row.passes, row.objective, row.loss))
        missed, of = dict(row.not_converged).get(NOT_MET, (0, 0))
        self._open += missed
        self._passes += of

    def finished(self, summary: Summary) -> None:
        """The run ended."""
        self.summary = summary

    @property
    def share(self) -> float:
        """The share of the time in inference, in percent."""
        own = self.summary
        whole = own.seconds_inference + own.seconds_qp + own.seconds_rest
        return 100.0 * own.seconds_inference / max(whole, 1e-9)

    @property
    def met(self) -> float | None:
        """The share of passes whose bounds met (``Bounds.apart``); None without any."""
        return 1.0 - self._open / self._passes if self._passes else None


class Trained(NamedTuple):
    """Weights, and what training told."""

    w: np.ndarray
    watch: Watch


def options_of(beta: float | None) -> dict[str, Any]:
    """The application's section: loss F_β, or Hamming loss without a β."""
    loss = {"loss": "hamming"} if beta is None else {"loss": "f_beta", "beta": beta}
    return {"name": "relation", **loss}


def trained(
    application: Relation, train: Bags, C: float, beta: float | None, passes: int, rounds: int
) -> Trained:
    """Train on bags that an application with the same options but for the loss has read.

    passes : at most, for one convex problem; rounds : CCCP iterations at most
    """
    config = Config.from_dict(
        {
            "application": options_of(beta),
            "objective": {"model": "lssvm", "C": C},
            "solver": {"epsilon": EPSILON, "max_passes": passes},
            "cccp": {"max_iterations": rounds},
        }
    )
    own = Relation(RelationOptions(**options_of(beta)))
    own.vocabulary = application.vocabulary
    watch = Watch()
    model = learn_on(own, own.for_training(train), config, observer=watch, scored=False)
    linear = getattr(model.space, "linear", None)
    return Trained(model.w if linear is None else np.asarray(linear(model.w)), watch)


def outcome_of(application: Relation, w: np.ndarray, examples: Bags) -> Outcome:
    """What a model says of bags."""
    predictions = application.predict(w, examples)
    truth = examples.truth(len(examples.relations))
    return Outcome(truth, predictions.relations(examples), predictions.scores)
