"""The base class of the options of applications."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationInfo


class Options(BaseModel):
    """Base of an application's section of the configuration; unknown keys are refused.

    renamed : former names of options, and what they are called now: a configuration that has a
        former name is refused with the present one, and an older model is translated
    renamed_values : the same for the words that an option takes, by the option
    """

    renamed: ClassVar[Mapping[str, str]] = {}
    renamed_values: ClassVar[Mapping[str, Mapping[str, str]]] = {}

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str


def named_file(value: str, info: ValidationInfo) -> Path:
    """The file that an option names, for validators that replace the name by the contents.

    Relative paths start from the folder of the configuration. Raises ValueError for the options of
    a model: a model contains the contents, and opens no other file.
    """
    if is_stored(info):
        raise ValueError("names a file; expected its contents, which a model holds itself")
    return Path((info.context or {}).get("base", ".")) / value


def is_stored(info: ValidationInfo) -> bool:
    """Whether options of a model are validated, not options of a configuration."""
    return (info.context or {}).get("base", ".") is None
