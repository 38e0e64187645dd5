"""What a stored record of training must be: see ``record``, which makes it.

Keys that are not known are left alone, and any may be missing, so that the models of other versions
can be read. A checkpoint's records of restarts become part of a model: they have all their keys.
"""

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lssvm.config.faults import explained
from lssvm.config.yaml12 import Document, Place
from lssvm.errors import ModelError

Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class HeldOutRecord(BaseModel):
    """Scores of held-out examples during a restart."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    looks: Annotated[list[tuple[Count, Number]], Field(min_length=1)]
    best: Count
    stopped: bool


class RestartRecord(BaseModel):
    """How one restart ended."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    seed: tuple[Count, Count]
    objective: Number
    concave: Number
    lower_bound: Number | None
    gap: Number | None
    certified: bool
    converged: bool
    stalled: bool = False  # there only if it is so
    iterations: Count
    passes: Count
    passes_saved: Count
    completions: Count
    planes: Count
    history: list[tuple[Number, Count]]
    held_out: HeldOutRecord | None


class StoredRestart(BaseModel):
    """The figures of a restart that reports show."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    objective: Number | None = None
    lower_bound: Number | None = None
    gap: Number | None = None
    iterations: Count = 0
    passes: Count = 0
    planes: Count = 0
    history: list[tuple[Number, Count]] = []


class TrainingRecord(BaseModel):
    """How a model was trained."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    objective: Number | None = None
    convex: Number | None = None
    concave: Number | None = None
    lower_bound: Number | None = None
    gap: Number | None = None
    certified: bool = True
    converged: bool = True
    stalled: bool = False  # there only if it is so
    uneven: str = ""  # about the scales of features, if they may be why the gap was not reached
    cccp_iterations: Count = 0
    passes: Count = 0
    passes_saved: Count = 0
    completions: Count = 0
    planes: Count = 0
    seed: Count = 0
    best_restart: Count = 0
    held_out: HeldOutRecord | None = None
    restarts: list[StoredRestart] = []
    objective_mean: Number | None = None
    objective_std: Number | None = None
    training: dict[str, Number | str | None] = {}
    validation: dict[str, Number | str | None] | None = None
    data_sha256: str = ""
    n_examples: Count = 0
    warnings: list[str] = []


def checked_record(record: dict[str, Any]) -> dict[str, Any]:
    """The record of a model, as it is. Raises ModelError."""
    return _checked(TrainingRecord, record, "record")


def checked_restart(record: dict[str, Any]) -> dict[str, Any]:
    """The record of a restart, as it is. Raises ModelError."""
    found = _checked(RestartRecord, record, "finished")
    held_out = found["held_out"]
    if held_out is not None and held_out["best"] >= len(held_out["looks"]):
        raise ModelError(f"finished.held_out.best is {held_out['best']}; expected a row of looks")
    return found


def _checked(kind: type[BaseModel], record: Any, name: str) -> dict[str, Any]:
    try:
        kind.model_validate_json(json.dumps(record), strict=True)
    except ValidationError as error:
        document = Document({name: record}, {(): Place((0, 0, 0), name)})
        raise ModelError(explained(error, kind, document, (name,))[0][1]) from None
    return record
