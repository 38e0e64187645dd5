"""The container that models and checkpoints are kept in.

It is an uncompressed zip file: ``header.json`` first, which lists every array with its type and
shape, then one ``.npy`` member an array. ``unzip -p FILE header.json`` and ``numpy.load`` read it.
Order and dates are fixed, so equal content is equal bytes. Nothing is ever unpickled, and a file
that differs from what was written is refused.
"""

import io
import json
import math
import os
import struct
import tokenize
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

import lssvm
from lssvm.errors import LssvmError, ModelError
from lssvm.output.whole import replacing

FORMAT_VERSION = 1
HEADER = "header.json"
KINDS = "biufSU"  # array types that hold plain values
DEEPEST = 50  # nesting of a header
QUOTED = 100  # characters of what a library says of a file
_DATE = (1980, 1, 1, 0, 0, 0)
_MAGIC = b"PK\x03\x04"
_UNREADABLE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    struct.error,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    OSError,
    SyntaxError,
    tokenize.TokenError,
)


def write_container(
    path: str | Path, format: str, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write ``header`` and ``arrays`` to ``path``, whole or not at all.

    header : plain JSON values, all numbers finite; the keys format, format_version and
        arrays are added
    arrays : of numbers, truth values or text; objects are refused

    Raises ModelError if they cannot be stored, LssvmError if the file cannot be written.
    """
    plain = {name: _plain_array(path, name, array) for name, array in arrays.items()}
    listed = [
        {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)}
        for name, array in plain.items()
    ]
    full = {"format": format, "format_version": FORMAT_VERSION, **header, "arrays": listed}
    try:
        text = _indented(full)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path}: the header cannot be stored: {error}") from None
    with replacing(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(HEADER, _DATE), text + "\n")
        for name, array in plain.items():
            member = zipfile.ZipInfo(f"{name}.npy", _DATE)
            with archive.open(member, "w", force_zip64=array.nbytes > 2**31 - 2**16) as stream:
                npy.write_array(stream, array, version=(1, 0), allow_pickle=False)


def read_container(path: str | Path, format: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a container of the given format.

    Raises ModelError, one line that names the file, if it is not exactly what was written.
    """
    try:
        with open(path, "rb") as file:
            return _read(file, format)
    except _RefusedError as error:
        raise ModelError(f"{path}: {error}") from None
    except OSError as error:
        reason = error.strerror or "damaged"
        raise ModelError(f"{path}: cannot be read: {reason}") from None
    except RecursionError:
        raise ModelError(f"{path}: damaged: the header is nested too deeply") from None
    except _UNREADABLE as error:
        reason = _line(error) or type(error).__name__
        raise ModelError(f"{path}: damaged: {reason}") from None


def is_container(path: str | Path) -> bool:
    """Whether a file starts like a container; False if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


class MisfitError(ModelError):
    """A model that is whole, but not for what is installed here."""


@contextmanager
def refused_as_damaged(path: str | Path, advice: str = "") -> Iterator[None]:
    """Make one line with the file's name of whatever is wrong with what it holds.

    advice : what the user can do about it
    """
    try:
        yield
    except MisfitError as error:
        raise ModelError(f"{path}: {_line(error)}{advice}") from None
    except Exception as error:
        # A plug-in's restore may raise anything; ours raise ModelError.
        reason = _line(error) if isinstance(error, LssvmError) else f"{type(error).__name__}"
        raise ModelError(f"{path}: damaged: {reason}{advice}") from None


def _line(error: Exception) -> str:
    """What an error says, in one line; libraries may quote whole members."""
    text = " ".join(str(error).split())
    return text if isinstance(error, LssvmError) else text[:QUOTED]


class _RefusedError(Exception):
    """What is wrong with a container, without its name."""


class _Listed(NamedTuple):
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


def _read(file: Any, format: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    start = file.read(len(_MAGIC))
    if start != _MAGIC:
        found = "empty" if not start else f"it starts with {start!r}"
        raise _RefusedError(f"not a file of lssvm ({found}); expected a {format}")
    with zipfile.ZipFile(file) as archive:
        members = _members(archive, os.fstat(file.fileno()).st_size)
        header = _header(archive.read(members[0]).decode("utf-8"))
        listed = _checked_header(header, format)
        names = [member.filename for member in members[1:]]
        if names != [f"{entry.name}.npy" for entry in listed]:
            raise _RefusedError("damaged: its members are not those that the header lists")
        arrays = {
            entry.name: _array(archive.read(member), entry)
            for entry, member in zip(listed, members[1:], strict=True)
        }
    return header, arrays


def _members(archive: zipfile.ZipFile, size: int) -> list[zipfile.ZipInfo]:
    """The members, once it is sure that reading them takes no more memory than the file."""
    members = archive.infolist()
    if not members or members[0].filename != HEADER or members[0].header_offset != 0:
        raise _RefusedError(f"not a file of lssvm: its first member is not {HEADER}")
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise _RefusedError(
                f"member {member.filename!r} is compressed; expected stored members"
            )
        if member.flag_bits & 1:
            raise _RefusedError(f"member {member.filename!r} is encrypted; expected plain members")
    names = [member.filename for member in members]
    if len(set(names)) != len(names):
        raise _RefusedError("damaged: a member is there twice")
    if sum(member.file_size for member in members) > size:
        raise _RefusedError("damaged: its members are larger than the file")
    return members


def _checked_header(header: dict[str, Any], format: str) -> list[_Listed]:
    """The arrays that a header lists, its format and version being right."""
    found, version = header.get("format"), header.get("format_version")
    if found != format:
        raise _RefusedError(f"is a {found!r} file; expected a {format!r}")
    if type(version) is not int or version < 1:
        raise _RefusedError(f"format version {version!r} is not known; expected {FORMAT_VERSION}")
    if version > FORMAT_VERSION:
        made = header.get("lssvm_version", "unknown")
        raise _RefusedError(
            f"format version {version} was written by a newer lssvm ({made}), this is "
            f"{lssvm.__version__} and reads up to {FORMAT_VERSION}; upgrade lssvm"
        )
    listed = [
        _Listed(str(entry["name"]), np.dtype(entry["dtype"]), tuple(entry["shape"]))
        for entry in header["arrays"]
    ]
    for entry in listed:
        if entry.dtype.kind not in KINDS or entry.dtype.hasobject:
            raise _RefusedError(
                f"array {entry.name!r} has type {entry.dtype}; expected plain values"
            )
        if not all(type(length) is int and length >= 0 for length in entry.shape):
            raise _RefusedError(f"array {entry.name!r} has shape {str(list(entry.shape))[:QUOTED]}")
    return listed


def _array(data: bytes, entry: _Listed) -> np.ndarray:
    """The array of one member, equal in type, shape and size to what the header says."""
    stream = io.BytesIO(data)
    if npy.read_magic(stream) != (1, 0):
        raise _RefusedError(f"array {entry.name!r} has another npy version; expected 1.0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # about what Python 2 wrote, and old names of types
        try:
            shape, fortran_order, dtype = npy.read_array_header_1_0(stream)
        except Warning:
            raise _RefusedError(
                f"array {entry.name!r} has a header of an old kind; expected that of a model"
            ) from None
    if dtype.hasobject:
        raise _RefusedError(f"array {entry.name!r} holds objects; expected plain values")
    if (shape, dtype) != (entry.shape, entry.dtype) or fortran_order:
        raise _RefusedError(
            f"array {entry.name!r} is {dtype.str} of shape {list(shape)}; "
            f"the header says {entry.dtype.str} of shape {list(entry.shape)}"
        )
    start = stream.tell()
    if len(data) - start != math.prod(shape) * dtype.itemsize:
        raise _RefusedError(
            f"array {entry.name!r} has {len(data) - start} bytes, too few or too many"
        )
    return np.frombuffer(bytearray(data), dtype, offset=start).reshape(shape)


def _header(text: str) -> dict[str, Any]:
    """The header, all its numbers finite and all its texts such that they can be written."""
    header = json.loads(text, parse_constant=_no_constant, parse_float=_finite_number)
    if not isinstance(header, dict):
        raise _RefusedError("damaged: the header is not a JSON object")
    _check_depth(header)
    if "\\u" in text:
        json.dumps(header, ensure_ascii=False).encode("utf-8")
    return header


def _check_depth(header: Any) -> None:
    """Refuse nesting that whoever writes the header, or shows it, may not bear."""
    level = [header]
    for _ in range(DEEPEST):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise _RefusedError("damaged: the header is nested too deeply")


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} in the header; expected a finite number")


def _finite_number(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_constant(text)


def _indented(header: Mapping[str, Any]) -> str:
    """The header as ``json.dumps`` writes it with ``indent=1``.

    With an indent it does without its compiled encoder, which long lists of texts are given to.
    """
    parts = []
    for key, value in header.items():
        if isinstance(value, list) and value and all(type(each) is str for each in value):
            inner = json.dumps(value, ensure_ascii=False, separators=(",\n  ", ": "))[1:-1]
            text = f"[\n  {inner}\n ]"
        else:
            text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False, default=_scalar)
            text = text.replace("\n", "\n ")
        parts.append(f"{json.dumps(key, ensure_ascii=False)}: {text}")
    return "{\n " + ",\n ".join(parts) + "\n}"


def _scalar(value: Any) -> Any:
    """The plain value of a NumPy scalar, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is not a plain value")


def _plain_array(path: str | Path, name: str, array: np.ndarray) -> np.ndarray:
    array = np.asarray(array, order="C")
    if array.dtype.kind not in KINDS or array.dtype.hasobject:
        raise ModelError(f"{path}: array {name!r} of type {array.dtype} cannot be stored")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
