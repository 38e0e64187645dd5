"""The options of motif finding."""

from typing import ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from lssvm.applications import base
from lssvm.applications.class_costs import DESCRIPTION, ClassCosts
from lssvm.errors import DataError
from lssvm.formats import meme

LEARNED = "learned"
CLASSES = ("-1", "+1")


class MotifOptions(base.Options):
    """What the motif is."""

    renamed: ClassVar = {"start": "initialisation"}

    name: Literal["motif"] = Field(default="motif", description="motif finding in DNA")
    length: int = Field(default=10, ge=1, le=100, description="length of the motif in letters")
    background_order: int = Field(
        default=3, ge=0, le=6, description="order of the background Markov model"
    )
    strands: Literal["given", "both"] = Field(
        default="given",
        description="given: sequences are read as the file has them; both: the reverse complement "
        "is read too, so that a sequence and its reverse complement count as the same",
    )
    initialisation: Literal["seeds", "random"] = Field(
        default="seeds",
        description="first sites; seeds: found by windows that are drawn as trial motifs; "
        "random: a random window of every positive sequence, as in the papers",
    )
    trials: int = Field(default=300, ge=1, description="seeds: number of windows that are drawn")
    loss: Literal["zero_one"] = Field(
        default="zero_one", description="zero_one: 1 for a wrong label"
    )
    class_costs: ClassCosts = Field(default={}, description=DESCRIPTION)
    skip_unusable: bool = Field(
        default=False,
        description="leave training sequences without a window out and count them, and accept "
        "records without letters; predictions still have a line for each record",
    )
    background: str | dict[str, float] = Field(
        default=LEARNED,
        description="learned, or the name of a background file of the MEME suite (its order is "
        "used, but at most background_order; the model keeps the frequencies)",
    )

    @field_validator("class_costs")
    @classmethod
    def _known(cls, value: str | dict[str, float]) -> str | dict[str, float]:
        """Write 1 as +1. Raises ValueError for other labels."""
        if isinstance(value, str):
            return value
        found: dict[str, float] = {}
        for label, factor in value.items():
            name = "+1" if label == "1" else label
            if name not in CLASSES:
                raise ValueError(f"label {label!r} is not known; expected +1 or -1")
            if name in found:
                raise ValueError(f"label {name!r} is given twice; expected it once")
            found[name] = factor
        return found

    @field_validator("background")
    @classmethod
    def _read(cls, value: str | dict[str, float], info: ValidationInfo) -> str | dict[str, float]:
        """Replace the name of a file by the frequencies in it."""
        if value == LEARNED:
            return value
        if isinstance(value, dict):
            return meme.complete_background(value)
        try:
            return meme.read_background(base.named_file(value, info))
        except DataError as error:
            raise ValueError(str(error)) from None
