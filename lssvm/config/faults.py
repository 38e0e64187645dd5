"""What a schema finds wrong with a configuration, in words that its user knows."""

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from lssvm.config.yaml12 import Document, KeyPath, Place, dotted, printable
from lssvm.errors import nearest

MOST_TOLD = 20  # faults of a configuration that are printed
_QUOTED = re.compile(r"'([^']*)'")


def explained(
    error: ValidationError, model: type[BaseModel], document: Document, prefix: KeyPath
) -> list[tuple[Place, str]]:
    """Pydantic's findings in our words, each with its place.

    Where a value may be of several types there is one finding for each type: they become one.
    """
    by_path: dict[KeyPath, list[Any]] = {}
    for found in error.errors(include_url=False):
        path = (*prefix, *found["loc"])
        if found["type"] in ("missing", "extra_forbidden"):
            path = (*_without_types(document.value, path[:-1]), path[-1])
        else:
            path = _existing(document.value, path)
        by_path.setdefault(path, []).append(found)
    return [
        (document.place(path), f"{dotted(path)}: {_message(found, model)}")
        for path, found in by_path.items()
    ]


def told(faults: list[tuple[Place, str]]) -> list[str]:
    """Faults as a user reads them, in the order of the file; an override names its key itself.

    Of many faults the first ``MOST_TOLD``, and how many more there are.
    """
    lines = []
    for place, message in sorted(faults, key=lambda fault: fault[0].order)[:MOST_TOLD]:
        key = place.text.removeprefix("--set ")
        lines.append(f"{place.text}: {message.removeprefix(f'{key}: ')}".removesuffix(": "))
    more = len(faults) - len(lines)
    return [*lines, f"and {more:,} more of such faults"] if more else lines


def _existing(value: Any, path: KeyPath) -> KeyPath:
    """The part of ``path`` that leads through ``value``; what follows are names of types."""
    for depth, part in enumerate(path):
        known = isinstance(part, int) if isinstance(value, list) else part in _keys(value)
        if known:
            value = value[part]
        elif not isinstance(part, int):
            return path[:depth]
    return path


def _without_types(value: Any, path: KeyPath) -> KeyPath:
    """``path`` without the names of types among its keys."""
    parts: list[str | int] = []
    for part in path:
        if part in _keys(value) or (isinstance(value, list) and isinstance(part, int)):
            value = value[part]
            parts.append(part)
        elif isinstance(part, int):
            parts.append(part)
    return tuple(parts)


def _keys(value: Any) -> Any:
    return value if isinstance(value, dict) else ()


EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "greater_than": "a number greater than {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number less than {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "literal_error": "{expected}",
    "string_too_short": "text that is not empty",
    "too_short": "a length of at least {min_length}",
    "too_long": "a length of at most {max_length}",
}


def _message(findings: list[Any], model: type[BaseModel]) -> str:
    """What is wrong with one value, and what was expected."""
    found = findings[0]
    if found["type"] == "extra_forbidden":
        known = known_keys(model, found["loc"][:-1])
        listed = f" (known: {', '.join(known)})" if known else ""
        return f"unknown key{nearest_key(found['loc'][-1], known)}{listed}"
    if found["type"] == "missing":
        return "missing; expected a value, there is no default"
    ours = [each for each in findings if each["type"] == "value_error"]
    if ours:
        return ours[0]["msg"].removeprefix("Value error, ")
    expected = " or ".join(dict.fromkeys(_expected(each) for each in findings))
    given = found["input"]
    near = nearest(given, _choices(findings)) if isinstance(given, str) else ""
    return f"expected {expected}, got {shown(given)}{near}"


def _choices(findings: list[Any]) -> list[str]:
    """The words among which a value is to be one."""
    told = [each["ctx"]["expected"] for each in findings if each["type"] == "literal_error"]
    return [word for text in told for word in _QUOTED.findall(text)]


def _expected(found: Any) -> str:
    if found["type"] in EXPECTED:
        return EXPECTED[found["type"]].format(**found.get("ctx", {}))
    return found["msg"].removeprefix("Input should be ")


def known_keys(model: type[BaseModel], path: Iterable[str | int]) -> list[str]:
    """The keys of the section at ``path`` below ``model``, in the order of the schema."""
    schema = _schema(model)
    section = schema
    for part in path:
        section = _below(section, part)
        while "$ref" in section:
            section = schema["$defs"][section["$ref"].rpartition("/")[2]]
    return list(section.get("properties", {}))


def _below(section: Mapping[str, Any], part: str | int) -> Any:
    """What a schema says of a key, of the items of a list, or of one of several types by name."""
    if isinstance(part, int):
        return section.get("items", {})
    if part in section.get("properties", {}):
        return section["properties"][part]
    types = section.get("anyOf", ())
    return next((each for each in types if each.get("$ref", "").endswith(f"/{part}")), {})


@functools.lru_cache(maxsize=64)
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


# What other tools, or other sections, call a key.
SYNONYMS = {
    "max_iter": "max_passes",
    "max_iterations": "max_passes",
    "tolerance": "epsilon",
}


def nearest_key(word: object, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the known key that means ``word`` or is most like it, if any."""
    words, meant = list(known), SYNONYMS.get(str(word), "")
    return nearest(meant if meant in words else word, words)


def shown(value: Any, longest: int = 60) -> str:
    """A value for a message: text in quotes, all else as YAML would write it, shortened."""
    if isinstance(value, str):
        text = repr(value[:longest])
    else:
        text = printable(json.dumps(value, ensure_ascii=False)[: longest + 1])
    return text if len(text) <= longest else text[: longest - 1] + "…"
