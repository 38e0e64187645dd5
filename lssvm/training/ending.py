"""The end of training: the model of the best restart, its scores and its record."""

from dataclasses import replace

import numpy as np

from lssvm.applications.base import Examples
from lssvm.applications.equal_features import Merged
from lssvm.applications.feature_space import Linear
from lssvm.applications.occurring import Occurring
from lssvm.errors import ApplicationError
from lssvm.model import Model
from lssvm.oracle import INEXACT
from lssvm.training import record
from lssvm.training.cccp import Observer
from lssvm.training.prediction import classify, predicted, prepared
from lssvm.training.problem import Problem, Stage
from lssvm.training.whereabouts import Ended


def model_of(problem: Problem, stage: Stage, observer: Observer, scored: bool) -> Model:
    """The model of the best restart, with the record of how it was trained.

    scored : whether the model is scored on its training data and on held-out ones

    Raises ApplicationError where its training predictions lose more than F has room for.
    """
    application, examples, _ = problem.data
    where = problem.where
    config, finished = stage.config, stage.progress.finished
    space, w = problem.training.space.reduced(stage.progress.best_w)
    summary = where.summary(w, examples)
    model = Model(application, config.to_dict(), w, {}, summary, space)
    ready = _prepared(problem, stage.progress.best_w, model)
    ended = where.ended(ready[0].w, ready[1], lambda: predicted(*ready))
    if config.objective.slack_norm == 1:
        _check_losses(problem, stage, model.space.squared_norm(w), ready, ended)
    shown, predictions, _ = ended
    training: record.Metrics = application.score(shown, predictions) if scored else {}
    warnings = application.training_warnings(shown, predictions)
    validation = _validation(problem, stage, model, observer) if scored else None
    trained = record.of_training(finished, config.seed)
    short = not trained["converged"] and trained["gap"] is not None
    uneven = where.scale_warnings(examples) if short else []
    zero = [] if np.any(w) else [record.of_zero_weights(application.hidden)]
    whole = {
        **trained,
        **({"uneven": uneven[0]} if uneven else {}),
        **record.of_data(problem, training, validation),
        "warnings": [*warnings, *uneven, *zero],
    }
    for text in whole["warnings"]:
        observer.warned(text)
    return replace(model, record=whole)


def _validation(
    problem: Problem, stage: Stage, model: Model, observer: Observer
) -> record.Metrics | None:
    """The model's scores on held-out examples; None if there are none."""
    held, section = problem.data.held, stage.config.held_out
    if held is None:
        return None
    found = model.application.score(held, classify(model, held))
    if not section.every:
        name = section.metric or next(iter(found))
        value = found.get(name)
        if value is not None:
            passes = sum(each["passes"] for each in stage.progress.finished)
            observer.scored(passes, name, float(value))
    return found


def _prepared(problem: Problem, w: np.ndarray, model: Model) -> tuple[Model, Examples]:
    """What ``prepared`` gives for the examples of training, which may be what they were already.

    w : the weights as they were trained, of which the model is made
    """
    if isinstance(problem.training.space, Linear | Occurring | Merged):
        return replace(model, w=w, space=Linear()), problem.training.examples
    return prepared(model, problem.data.examples)


def _check_losses(
    problem: Problem, stage: Stage, square: float, ready: tuple[Model, Examples], ended: Ended
) -> None:
    """Raise ApplicationError where training predictions lose more than F has room for.

    square : ‖w‖²; ready : the model and the examples as predictions take them; ended : these

    For the best output ŷ of any w, U⁺ ≥ Δ(y, ŷ) + w · Φ(ŷ) and U⁻ ≤ w · Φ(ŷ). So C Σ c_i Δ_i is
    at most C Σ c_i (U⁺_i − U⁻_i), but for the rounding of what that sums up.
    """
    best = min(stage.progress.finished, key=lambda restart: restart["objective"])
    losses = ended.losses
    if not best["certified"] or losses is None:
        return
    C, objective = stage.rules.C, best["objective"]
    room = objective - 0.5 * square
    charged = C * float(problem.data.examples.costs @ losses)
    size = charged + abs(objective)
    if charged - room <= INEXACT * size:
        return
    w = ready[0].w
    size += C * problem.asked.completed(w, ready[1]).size(w)
    if charged - room > INEXACT * size:
        raise ApplicationError(
            f"the losses of the predictions for the training data add up to {charged:.6g}, times "
            f"C, but the objective bounds them by {room:.6g}: loss-augmented inference does not "
            "find its maximum, or prediction does not"
        )
