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
    length: int = Field(default=10, ge=1, le=100, description="letters of the motif")
    background_order: int = Field(
        default=3, ge=0, le=6, description="most letters before a letter that the background sees"
    )
    strands: Literal["given", "both"] = Field(
        default="given",
        description="given: as the file has it; both: reverse complement too, then a sequence and "
        "its reverse complement are one and the same",
    )
    initialisation: Literal["seeds", "random"] = Field(
        default="seeds",
        description="first sites: found from windows drawn at random (seeds), "
        "or a random window of every positive, as in the papers",
    )
    trials: int = Field(default=300, ge=1, description="windows drawn to find the first sites")
    loss: Literal["zero_one"] = Field(default="zero_one", description="1 for a wrong label")
    class_costs: ClassCosts = Field(default={}, description=DESCRIPTION)
    skip_unusable: bool = Field(
        default=False,
        description="leave training sequences without a window out, with a count, and take "
        "records without letters; predictions have a line for each record all the same",
    )
    background: str | dict[str, float] = Field(
        default=LEARNED,
        description="learned, or a background file of the MEME suite (its order, at most "
        "background_order, is used; the frequencies are kept with the model)",
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
        """Put the frequencies in the place of the file that holds them."""
        if value == LEARNED:
            return value
        if isinstance(value, dict):
            return meme.complete_background(value)
        try:
            return meme.read_background(base.named_file(value, info))
        except DataError as error:
            raise ValueError(str(error)) from None
