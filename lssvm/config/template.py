"""What is made from the schema: a commented configuration to begin with, and a JSON schema."""

import textwrap
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from lssvm import applications
from lssvm.applications.base import Application
from lssvm.config import Config, Data, Objective
from lssvm.config.checks import default_model
from lssvm.config.yaml12 import dump_inline
from lssvm.errors import LssvmError

WIDTH = 96


def starter(name: str) -> str:
    """A configuration of the application called ``name``, every key with its meaning.

    It loads as it is; the file names in ``data`` are to be filled in. Raises LssvmError if
    there is no such application or it gives no example of an option without a default.
    """
    kind = applications.load(name)
    lines = [f"# lssvm-learn THIS-FILE {name}.model"]
    for key, info in Config.model_fields.items():
        lines += ["", *_part(key, info, name, kind)]
    return "\n".join(lines) + "\n"


def _part(key: str, info: FieldInfo, name: str, kind: type[Application]) -> list[str]:
    """A section of the configuration, or a value that stands outside of all sections."""
    if key == "application":
        return [f"{key}:", f"  name: {name}", *_keys(kind.Options, {}, ("name",), name)]
    section = info.annotation
    if not (isinstance(section, type) and issubclass(section, BaseModel)):
        value = dump_inline(_value(key, info, name))
        return [*_comment(info.description or "", ""), f"{key}: {value}"]
    chosen: Mapping[str, Any] = {"model": default_model(kind)} if section is Objective else {}
    notes = []
    if section is Data:
        chosen = kind.starter_files
        notes = [
            "  # Each entry is a file name, or a mapping that says more of its examples, such as",
            "  # {path: positive.txt, label: +1, cost: 0.5}; - is standard input.",
        ]
    return [*_comment(_summary(section), ""), f"{key}:", *notes, *_keys(section, chosen)]


def _keys(
    section: type[BaseModel],
    values: Mapping[str, Any],
    skip: tuple[str, ...] = (),
    application: str = "",
) -> list[str]:
    lines = []
    for name, info in section.model_fields.items():
        key = info.alias or name
        if key in skip:
            continue
        value = values[key] if key in values else _value(key, info, application)
        lines += [*_comment(info.description or "", "  "), f"  {key}: {dump_inline(value)}"]
    return lines


def _value(key: str, info: FieldInfo, application: str) -> Any:
    default = info.get_default(call_default_factory=True, validated_data={})
    if default is PydanticUndefined:
        if not info.examples:
            raise LssvmError(f"application {application!r} gives no example of its option {key!r}")
        default = info.examples[0]
    return list(default) if isinstance(default, tuple) else default


def _summary(section: type[BaseModel]) -> str:
    return (section.__doc__ or "").strip().splitlines()[0]


def _comment(text: str, indent: str) -> list[str]:
    prefix = f"{indent}# "
    return textwrap.wrap(
        text, WIDTH, initial_indent=prefix, subsequent_indent=prefix, break_on_hyphens=False
    )


def json_schema(name: str | None = None) -> dict[str, Any]:
    """The JSON schema of a configuration, for editors.

    name : the application whose section is described, by default any that can be loaded
    """
    names = [name] if name else [*applications.registered()]
    schema = Config.model_json_schema()
    sections = []
    for each in names:
        with suppress(LssvmError):
            options = applications.load(each).Options.model_json_schema()
            schema["$defs"] |= options.pop("$defs", {})
            sections.append(options)
    description = schema["properties"]["application"]["description"]
    schema["properties"]["application"] = {"description": description, "anyOf": sections}
    return schema
