"""What a model predicts for examples that its application has read."""

from dataclasses import replace
from typing import Any

from lssvm.applications.base import Examples
from lssvm.applications.feature_space import Linear
from lssvm.model import Model
from lssvm.training.arithmetic import arithmetic


def classify(model: Model, examples: Examples, *, top: int = 1) -> Any:
    """The model's predictions for examples that its application has read.

    top : best hidden values, or label sequences, that are kept for each example

    Returns predictions as ``model.application`` scores and writes them.
    """
    return predicted(*prepared(model, examples), top=top)


def prepared(model: Model, examples: Examples) -> tuple[Model, Examples]:
    """Examples as the model's weights take them, and the model of these weights.

    Both are as they were unless the model has a kernel. They go to :func:`predicted`.
    """
    with arithmetic():
        examples, w = model.space.prepared(examples, model.w)
    return replace(model, w=w, space=Linear()), examples


def predicted(model: Model, examples: Examples, *, top: int = 1) -> Any:
    """The predictions of a model for examples that are both :func:`prepared`."""
    with arithmetic():
        return model.application.predict(model.w, examples, top)
