"""YAML as configurations use it: YAML 1.2 scalars, nothing repeated, a place for every value.

PyYAML follows YAML 1.1, where ``1e3`` is text, ``no`` is false, ``010`` is eight,
``12:30:00`` is a number, and the last of two equal keys wins without a word. Here numbers
and words are those of the YAML 1.2 core schema, equal keys are faults, and tags, anchors
and aliases are refused, so that no file can run code or unfold into more than it holds.
"""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from lssvm.errors import ConfigError

LARGEST = 1_000_000  # bytes; a configuration is written by hand
DEEPEST = 50  # levels of nesting
MOST = 100_000  # keys and values; PyYAML takes 25 µs for each
LONGEST = 60  # characters of a key that a message shows
KeyPath = tuple[str | int, ...]


class Place(NamedTuple):
    """Where a value was written: a key by which places sort, and the text that a user sees."""

    order: tuple[int, int, int]
    text: str


class NotAMappingError(Exception):
    """A path leads through something that has no keys."""


@dataclass
class Document:
    """A parsed mapping.

    value : plain dict, list, str, int, float, bool and None
    places : the place of every key and every list item, by its path
    faults : what is wrong with it although it could be parsed
    """

    value: dict[str, Any]
    places: dict[KeyPath, Place] = field(default_factory=dict)
    faults: list[tuple[Place, str]] = field(default_factory=list)

    def place(self, path: KeyPath) -> Place:
        """The place of ``path``, or of the nearest enclosing value that has one.

        A single value may stand where a list is meant, so numbers in the path may be absent.
        """
        bare = tuple(part for part in path if isinstance(part, str))
        for length in range(len(path), 0, -1):
            found = self.places.get(path[:length]) or self.places.get(bare[:length])
            if found is not None:
                return found
        return self.places[()]

    def put(self, path: KeyPath, value: Any) -> None:
        """Set the value at a path of keys; sections on the way are made.

        Raises NotAMappingError.
        """
        values: Any = self.value
        for depth, part in enumerate(path[:-1], 1):
            values = values.setdefault(part, {})
            if not isinstance(values, dict):
                raise NotAMappingError(
                    f"{dotted(path[:depth])!r} is not a mapping; set it as a whole"
                )
        self._forget(path, values.get(path[-1]))
        values[path[-1]] = value

    def _forget(self, path: KeyPath, value: Any) -> None:
        """Drop the places of a value that another one replaces, and of all within it."""
        self.places.pop(path, None)
        parts: Any = value.items() if isinstance(value, dict) else ()
        for part, item in enumerate(value) if isinstance(value, list) else parts:
            self._forget((*path, part), item)


class _RefusedError(yaml.MarkedYAMLError):
    """What is valid YAML, but not in a configuration."""


class _Loader(yaml.SafeLoader):
    """SafeLoader with the implicit types of the YAML 1.2 core schema."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (PyYAML's own attribute)

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.composed = 0

    def fetch_alias(self) -> None:
        wrong = "aliases (*name) are not supported; write the value out"
        raise _RefusedError(problem=wrong, problem_mark=self.get_mark())

    def fetch_anchor(self) -> None:
        wrong = "anchors (&name) are not supported; write the value out, or quote the text"
        raise _RefusedError(problem=wrong, problem_mark=self.get_mark())

    def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
        self.composed += 1
        if self.composed > MOST:
            wrong = f"more than {MOST:,} keys and values; expected a YAML configuration"
            raise _RefusedError(problem=wrong, problem_mark=self.get_mark())
        return super().compose_node(parent, index)


_INTEGER = r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
_FINITE = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_FLOAT = _FINITE + r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
for _name, _pattern in (
    ("null", r"~|null|Null|NULL|"),
    ("bool", r"true|True|TRUE|false|False|FALSE"),
    ("int", _INTEGER),
    ("float", _FLOAT),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})$"), None
    )


def load(path: str | Path) -> Document:
    """Read a file that holds one mapping. Raises ConfigError if it cannot be parsed."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from None
    if len(data) > LARGEST:
        raise ConfigError([f"{path}: larger than {LARGEST:,} bytes; expected a YAML configuration"])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        wrong = f"byte 0x{data[error.start]:02x} is not UTF-8; expected a text file"
        raise ConfigError([f"{path}:{line}: {wrong}"]) from None
    node = _compose(text, str(path))
    if node is None:
        raise ConfigError([f"{path}: empty; expected a mapping (key: value)"])
    builder = _Builder(str(path))
    if not isinstance(node, yaml.MappingNode):
        place = builder.place(node)
        raise ConfigError([f"{place.text}: expected a mapping (key: value), got {kind(node)}"])
    document = Document(builder.build(node, ()), builder.places, builder.faults)
    document.places[()] = Place((0, 0, 0), str(path))
    return document


def parse_value(text: str, source: str) -> tuple[Any, list[str]]:
    """The value of a piece of YAML given elsewhere than in a file, and what is wrong with it.

    Raises ConfigError, each line starting with ``source``, if it cannot be parsed.
    """
    node = _compose(text, source, marks=False)
    if node is None:
        return None, []
    builder = _Builder(source)
    value = builder.build(node, ())
    return value, [fault for _, fault in builder.faults]


def kind(node: yaml.Node) -> str:
    """What a node is, in words."""
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return repr(_shortened(node.value))


def _compose(text: str, source: str, marks: bool = True) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=_Loader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        where = f"{source}:{line}" if marks else source
        wrong = f"character {chr(int(error.character))!r} is not allowed in YAML"
        raise ConfigError([f"{where}: {wrong}"]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source}:{mark.line + 1}:{mark.column + 1}" if marks and mark else source
        raise ConfigError([f"{where}: {_explained(error)}"]) from None
    except RecursionError:
        raise ConfigError([f"{source}: nested too deeply; expected a YAML configuration"]) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise ConfigError([f"{source}: not valid YAML: {' '.join(str(error).split())}"]) from None


def _explained(error: yaml.MarkedYAMLError) -> str:
    problem = " ".join((error.problem or "cannot be parsed").split())
    if isinstance(error, _RefusedError):
        return problem
    if "'\\t'" in problem:
        return "a tab character where YAML wants spaces; indent with spaces"
    if "single document" in (error.context or ""):
        return "a second document ('---'); expected one mapping"
    context = " ".join((error.context or "").split())
    return f"not valid YAML: {context + ', ' if context else ''}{problem}"


def _shortened(text: str, longest: int = 40) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


class _Builder:
    """Turns nodes into values, noting places and faults on the way."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.places: dict[KeyPath, Place] = {}
        self.faults: list[tuple[Place, str]] = []

    def place(self, node: yaml.Node) -> Place:
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        return Place((0, line, column), f"{self.source}:{line}:{column}")

    def fault(self, place: Place, path: KeyPath, message: str) -> None:
        where = dotted(path)
        self.faults.append((place, f"{where}: {message}" if where else message))

    def value_fault(self, node: yaml.Node, path: KeyPath, message: str) -> None:
        """A fault of a value is placed at its key, as all that is found later will be."""
        self.fault(self.places.get(path) or self.place(node), path, message)

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        if len(path) > DEEPEST:
            raise ConfigError([f"{self.place(node).text}: nested too deeply"])
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            if node.tag != "tag:yaml.org,2002:seq":
                self.value_fault(node, path, f"tag {node.tag!r} is not supported")
            for index, item in enumerate(node.value):
                self.places[(*path, index)] = self.place(item)
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        if node.tag != "tag:yaml.org,2002:map":
            self.value_fault(node, path, f"tag {node.tag!r} is not supported")
        result: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or not is_text(key.value):
                self.fault(self.place(key), path, f"a key must be text, got {kind(key)}")
            elif key.value in lines:
                first = lines[key.value]
                self.fault(
                    self.place(key), (*path, key.value), f"key given twice, first on line {first}"
                )
            else:
                lines[key.value] = line
                self.places[(*path, key.value)] = self.place(key)
                result[key.value] = self.build(value, (*path, key.value))
        return result

    def _scalar(self, node: yaml.Node, path: KeyPath) -> Any:
        name, text = node.tag.removeprefix("tag:yaml.org,2002:"), node.value
        try:
            if name == "str":
                if is_text(text):
                    return text
                raise ValueError(text)
            if name == "null":
                return None
            if name == "bool":
                return {"true": True, "false": False}[text.lower()]
            if name == "int":
                return _integer(text)
            if name == "float":
                return self._float(node, path)
        except (ValueError, KeyError):
            self.value_fault(node, path, f"{_shortened(text)!r} is not of the type {node.tag!r}")
            return None
        self.value_fault(node, path, f"tag {node.tag!r} is not supported")
        return None

    def _float(self, node: yaml.Node, path: KeyPath) -> float:
        text = node.value
        value = math.inf if text[-3:].lower() in ("inf", "nan") else float(text)
        if not math.isfinite(value):
            self.value_fault(node, path, f"expected a finite number, got {_shortened(text)!r}")
            return 1.0
        return value


def is_text(text: str) -> bool:
    """Whether escapes made no NUL and no half of a surrogate pair, which no file name can hold."""
    return not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in text)


def _integer(text: str) -> int:
    if len(text) > 100:
        raise ValueError("too long")
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    return int(text, base)


def dotted(path: KeyPath) -> str:
    """A path as ``data.train[0].cost``; a key that has a dot itself is left as it is.

    Keys are shortened, and characters that cannot be printed are escaped: it is for messages.
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            key = printable(_shortened(part, LONGEST))
            text += f".{key}" if text else key
    return text


def printable(text: str) -> str:
    """``text`` with the characters that cannot be printed on a line as Python escapes them."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


class _Dumper(yaml.SafeDumper):
    """SafeDumper that quotes what the loader above would not read back as text."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: Any) -> bool:
        return True


def dump(value: Any) -> str:
    """``value`` as YAML that :func:`load` reads back; keys keep their order."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)


def dump_inline(value: Any) -> str:
    """``value`` as YAML on a single line."""
    text = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=10**6,
        default_flow_style=True,
    )
    return text.removesuffix("...\n").strip()
