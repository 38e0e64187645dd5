"""Which files the options of an application name, whatever application it is."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_origin

from pydantic import BaseModel

PREFIX = "application."


def named_files(
    section: Mapping[str, Any], grid: Mapping[str, Any], options: type[BaseModel], base: Path
) -> Iterator[tuple[str, str]]:
    """The files that options name, as (dotted key, path).

    section, grid : the application's section and ``search.grid``, as they were written
    options : the application's own, whose names of words are no files
    base : the folder from which paths count

    Every text counts that leads to a file, in lists and mappings too, unless the option takes
    only certain words. So options of plug-ins are found that nobody here knows of.
    """
    values = [(key, f"{PREFIX}{key}", value) for key, value in section.items()]
    values += [
        (key.removeprefix(PREFIX), f"search.grid.{key}", value)
        for key, value in grid.items()
        if key.startswith(PREFIX)
    ]
    for option, name, value in values:
        field = options.model_fields.get(option)
        if field is None or get_origin(field.annotation) is Literal:
            continue
        for text in _texts(value):
            path = os.path.join(base, text)
            if _is_file(path):
                yield name, path


def _texts(value: Any) -> Iterator[str]:
    """Every text that a value is or contains."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _is_file(path: str) -> bool:
    try:
        return os.path.isfile(path)
    except ValueError:  # a text that no name of a file can be
        return False
