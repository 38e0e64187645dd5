"""Plain arrays of NumPy files ``.npy`` and ``.npz``, checked before memory is allocated.

The claims of a file (sizes of members, shapes) are compared with the bytes that it has and with a
limit. Nothing is ever unpickled. Arrays are returned in C order and in the byte order of the
machine; all their whole numbers fit into int64.
"""

import io
import math
import os
import stat
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from lssvm.errors import DataError
from lssvm.formats.limit import DEFAULT, Limit

SUFFIX = ".npy"
_CALLED = {"U": "text", "i": "whole numbers", "f": "numbers"}
_TYPES = {"U": "U", "i": "iu", "f": "fiu"}  # kinds of types that are read as each of them
_EMPTY = {"U": "U1", "i": "i8", "f": "f8"}
_COUNTED = 8  # bytes of a number of any type, as readers store it
_HEADER = 1 << 14  # bytes that contain the longest header and all before it
_MOST_AXES = 8
_PIECE = 1 << 20
_RATIO = 1040  # deflate makes at most 1,032 bytes of one
_ENCRYPTED = 1  # flag of a member
_HIGHEST_CHARACTER = 0x10FFFF
_UNREADABLE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    MemoryError,
    OSError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


class _RefusedError(Exception):
    """What is wrong with a file, without its name."""


class _Header(NamedTuple):
    """What an array claims to be; its numbers begin behind ``start`` bytes."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    start: int

    @property
    def entries(self) -> int:
        return math.prod(self.shape)

    @property
    def memory(self) -> int:
        return self.entries * max(self.dtype.itemsize, _COUNTED)


def read_array(path: str | Path, limit: Limit = DEFAULT) -> np.ndarray:
    """The numbers or truth values of a file ``.npy``.

    limit : of the array, numbers counted at 8 bytes each

    Raises DataError for a file of another kind, one that is cut short, and one that is too large.
    """
    with _opened(path, "an array .npy") as file:
        size = os.fstat(file.fileno()).st_size
        header = _header(file, size)
        if header.dtype.kind not in "fiub":
            raise _RefusedError(f"holds {header.dtype}; expected numbers")
        limit.check(path, header.memory)
        file.seek(0)
        return _body(file, header)


def read_archive(
    path: str | Path,
    kinds: Mapping[str, str],
    optional: Collection[str] = (),
    limit: Limit = DEFAULT,
    *,
    others: bool = False,
) -> dict[str, np.ndarray]:
    """The arrays of a file ``.npz`` by name, each with one axis at least.

    kinds : of each array that is read: U text, i whole numbers, f numbers of any kind; one
        without entries may be of any type
    optional : names that may be missing
    limit : of all arrays together, numbers counted at 8 bytes each
    others : whether arrays of other names are passed over, not refused

    Raises DataError, with the name of the array, for a file that is of another kind, encrypted,
    compressed in another way than NumPy does, damaged or too large.
    """
    with opened_archive(path, kinds, optional, limit, others=others) as archive:
        return {name: archive.rows(name) for name in archive.shapes}


class Archive:
    """The arrays of a file ``.npz``, whose rows are read in order, some at a time.

    shapes : of the arrays by name
    """

    def __init__(self, kinds: Mapping[str, str], headers: Mapping[str, _Header]) -> None:
        self._kinds, self._headers = kinds, headers
        self._streams: dict[str, IO[bytes]] = {}
        self._read = dict.fromkeys(headers, 0)
        self._whole: dict[str, np.ndarray] = {}
        self.shapes = {name: header.shape for name, header in headers.items()}

    def open(self, name: str, stream: IO[bytes]) -> None:
        """Read an array from a stream at the beginning of its header."""
        stream.read(self._headers[name].start)
        self._streams[name] = stream

    def rows(self, name: str, count: int | None = None) -> np.ndarray:
        """The next ``count`` rows of an array, or all that are left. Raises DataError."""
        header, first = self._headers[name], self._read[name]
        total = header.shape[0]
        last = total if count is None else first + count
        self._read[name] = last
        with _named(name):
            if header.fortran and len(header.shape) > 1:  # its rows lie apart
                if name not in self._whole:
                    flat = _entries(self._streams[name], header, header.entries, True)
                    self._whole[name] = flat.reshape(header.shape[::-1]).T
                found = np.ascontiguousarray(self._whole[name][first:last])
            else:
                row = math.prod(header.shape[1:])
                flat = _entries(self._streams[name], header, (last - first) * row, last == total)
                found = flat.reshape((last - first, *header.shape[1:]))
        return found if header.entries else found.astype(_EMPTY[self._kinds[name]])


@contextmanager
def opened_archive(
    path: str | Path,
    kinds: Mapping[str, str],
    optional: Collection[str] = (),
    limit: Limit = DEFAULT,
    *,
    others: bool = False,
) -> Iterator[Archive]:
    """The archive of :func:`read_archive`, the claims of all its arrays checked.

    Raises DataError as that does, also for what the block raises while it reads.
    """
    with _opened(path, ".npz") as file:
        size = os.fstat(file.fileno()).st_size
        limit.check(path, size)
        with zipfile.ZipFile(file) as archive:
            members = _members(archive, size, kinds, others)
            missing = [name for name in kinds if name not in members and name not in optional]
            if missing:
                raise _RefusedError(f"there is no array {missing[0]!r}; expected all of them")
            headers = {}
            for name, member in members.items():
                with _named(name), archive.open(member) as stream:
                    headers[name] = _header(stream, member.file_size)
                    _check_kind(headers[name], kinds[name])
            limit.check(path, sum(header.memory for header in headers.values()))
            with ExitStack() as streams:
                arrays = Archive(kinds, headers)
                for name, member in members.items():
                    with _named(name):
                        arrays.open(name, streams.enter_context(archive.open(member)))
                yield arrays


@contextmanager
def _opened(path: str | Path, expected: str) -> Iterator[BinaryIO]:
    """A regular file; all its errors become a DataError."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _RefusedError(f"is not a regular file; expected {expected}")
        with open(path, "rb") as file:
            yield file
    except _RefusedError as error:
        raise DataError(path, None, error) from None
    except _UNREADABLE as error:
        reason = getattr(error, "strerror", None)
        wrong = f"cannot be read: {reason}" if reason else "is cut short or damaged"
        raise DataError(path, None, f"{wrong}; expected {expected}") from None


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Put the name of an array before the message about it."""
    try:
        yield
    except _RefusedError as error:
        raise _RefusedError(f"array {name!r} {error}") from None
    except _UNREADABLE as error:
        raise _RefusedError(
            f"array {name!r} is damaged, or not an array; expected a complete one"
        ) from error


def _members(
    archive: zipfile.ZipFile, size: int, known: Collection[str], others: bool
) -> dict[str, zipfile.ZipInfo]:
    """The members that are read, by name of their arrays, with possible claims."""
    found: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(SUFFIX)
        if name not in known or not member.filename.endswith(SUFFIX):
            if others:
                continue
            raise _RefusedError(f"unknown array {name!r}; known: {', '.join(known)}")
        if name in found:
            raise _RefusedError(f"array {name!r} is given twice; expected it once")
        if member.flag_bits & _ENCRYPTED:
            raise _RefusedError(f"array {name!r} is encrypted; expected plain members")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _RefusedError(f"array {name!r} is compressed in another way than deflate")
        ratio = 1 if member.compress_type == zipfile.ZIP_STORED else _RATIO
        if member.compress_size > size or member.file_size > ratio * member.compress_size:
            raise _RefusedError(f"array {name!r} is larger than the file; expected a complete one")
        found[name] = member
    return found


def _header(stream: IO[bytes], size: int) -> _Header:
    """The header of an array of ``size`` bytes; its claims match this number of bytes."""
    beginning = io.BytesIO(stream.read(_HEADER))
    version = npy.read_magic(beginning)
    if version not in ((1, 0), (2, 0)):
        raise _RefusedError("has another npy version; expected 1.0 or 2.0")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what Python 2 wrote, and old names of types
        shape, fortran, dtype = read(beginning)
    header = _Header(tuple(map(int, shape)), fortran, dtype, beginning.tell())
    if dtype.hasobject or dtype.kind not in "biufU" or dtype.itemsize == 0:
        raise _RefusedError(f"holds {dtype}; expected plain numbers or text")
    if dtype.kind != "U" and dtype.itemsize > _COUNTED:
        raise _RefusedError(f"holds {dtype}; expected numbers of at most 8 bytes")
    if min(header.shape, default=0) < 0 or len(header.shape) > _MOST_AXES:
        raise _RefusedError(f"has shape {header.shape}; expected an array")
    if header.start + header.entries * dtype.itemsize != size:
        raise _RefusedError(
            f"claims {header.entries:,d} entries of {dtype.itemsize} bytes and has "
            f"{size - header.start:,d} bytes; expected as many as it claims"
        )
    return header


def _check_kind(header: _Header, kind: str) -> None:
    if not header.shape:
        raise _RefusedError("is a single value; expected a row of them")
    if header.dtype.kind not in _TYPES[kind] and header.entries:
        raise _RefusedError(f"holds {header.dtype}; expected {_CALLED[kind]}")


def _body(stream: IO[bytes], header: _Header) -> np.ndarray:
    """The array, from a stream at the beginning of its header."""
    stream.read(header.start)
    flat = _entries(stream, header, header.entries, True)
    if header.fortran:
        return np.ascontiguousarray(flat.reshape(header.shape[::-1]).T)
    return flat.reshape(header.shape)


def _entries(stream: IO[bytes], header: _Header, count: int, ends: bool) -> np.ndarray:
    """The next entries of an array, (count,). ends : whether they are the last ones"""
    data = np.empty(count * header.dtype.itemsize, dtype=np.uint8)
    done = 0
    while done < len(data):
        piece = stream.read(min(_PIECE, len(data) - done))
        if not piece:
            raise EOFError
        data[done : done + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        done += len(piece)
    if ends and stream.read(1):  # the end of a member, where its checksum is compared
        raise _RefusedError("has more bytes than it claims; expected as many")
    native = data.view(header.dtype).astype(header.dtype.newbyteorder("="), copy=False)
    _check_entries(native)
    return native


def _check_entries(flat: np.ndarray) -> None:
    """Refuse bytes that are not values of their type."""
    kind = flat.dtype.kind
    if kind == "b" and np.any(flat.view(np.uint8) > 1):
        raise _RefusedError("holds invalid truth values; expected 0 and 1")
    if kind == "u" and len(flat) and flat.max() > np.iinfo(np.int64).max:
        raise _RefusedError(f"holds {flat.max()}; expected whole numbers below 2**63")
    if kind == "U":
        codes = flat.view(np.uint32)
        if np.any((codes > _HIGHEST_CHARACTER) | ((codes >= 0xD800) & (codes <= 0xDFFF))):
            raise _RefusedError("holds invalid characters; expected text")
