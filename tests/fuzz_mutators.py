"""Mutators: bytes of a file and a random generator make the bytes of a damaged or odd file.

Each kind of file has those that know its structure and those that do not. Equal generators make
equal bytes.
"""

import bz2
import copy
import gzip
import io
import json
import lzma
import re
import struct
import warnings
import zipfile
import zlib

import numpy as np
import yaml
from numpy.lib import format as npy


def words(text):
    """What stands between the blanks."""
    return text.split()


NUMBERS = words("""
0 -0 1 -1 2 3 7 1e400 -1e400 1e-400 nan NaN inf -inf Infinity 0x10 0o17 1_000 1e3 +1 .5 5. 1e308
-1e308 1e16 127 128 255 256 32767 65536 2147483647 2147483648 4294967296 9223372036854775807
9223372036854775808 -9223372036854775809 18446744073709551616 1e18 1e19 0.1e-1 1,5 ² ٣ １ ½ Ⅷ
""")
WORDS = words("""
? - * # : ; , | = == " ' ( ) [ ] { } & ! % @ ` ~ . .. / \\ null true false yes no None qid:
qid:1 1:1 0:1 -1:1 1: :1 1:1:1 label=+1 cost=nan cost=-1 docid=3 #docid=3 /dev/zero /etc/passwd
. train missing image graph node edge document clusters pair begin end B-X I-X O <s> (1 1) (1|(2
1)|2) >x ACGT acgu NNNN XXXX é ß 字 😀 _ -- --- ... !!python/object:os.system &a *a <<:
""")
CONTROL = [
    *map(chr, range(32)),
    "\x7f",
    "\x85",
    "\xa0",
    "\u2028",
    "\u200b",
    "\ufeff",
    "\ud800",
    "\u202e",
]
BROKEN = [
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\x00",
    b"\xef\xbb\xbf",
    b"\xfe\xff",
]
VALUES = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    3,
    2**31,
    2**63,
    10**30,
    -(10**30),
    0.5,
    -0.0,
    1e308,
    1e-320,
]
VALUES += [
    "",
    "0",
    "x",
    "\x00",
    "a\nb",
    "é",
    "😀",
    "/dev/zero",
    "/etc/passwd",
    "..",
    "w",
    [],
    {},
    [[]],
]
VALUES += [[1], [1, "x"], {"x": 1}, {"": {}}, [None] * 3, "x" * 3000, list(range(3000))]


def pick(rng, values):
    return values[int(rng.integers(len(values)))]


def token(rng):
    """A word that readers may not expect."""
    kind = int(rng.integers(10))
    if kind < 5:
        return pick(rng, NUMBERS)
    if kind < 8:
        return pick(rng, WORDS)
    if kind == 8:
        return pick(rng, CONTROL)
    return pick(rng, ["9", "x", "1e", "0.", "-", "é", "\\", "a:"]) * pick(
        rng, [50, 400, 5000, 20000]
    )


def flipped(data, rng):
    """Single bytes replaced, inserted or deleted."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        place, kind = int(rng.integers(len(out) + 1)), int(rng.integers(4))
        if kind == 0 and place < len(out):
            out[place] ^= 1 << int(rng.integers(8))
        elif kind == 1 and place < len(out):
            out[place] = int(rng.integers(256))
        elif kind == 2:
            out[place:place] = (
                pick(rng, BROKEN) if rng.integers(2) else bytes([int(rng.integers(256))])
            )
        else:
            del out[place : place + int(rng.integers(1, 9))]
    return bytes(out)


def cut(data, rng):
    """The beginning or the end alone, or a piece left out or there twice."""
    start, stop = sorted(map(int, rng.integers(len(data) + 1, size=2)))
    parts = [data[:start], data[stop:], data[:start] + data[stop:], data[:stop] + data[start:], b""]
    return pick(rng, parts)


def encoded(text):
    return text.encode("utf-8", "surrogatepass")


def lines_moved(data, rng):
    """Lines swapped, doubled, deleted or emptied."""
    lines = data.split(b"\n")
    i, j = map(int, rng.integers(len(lines), size=2))
    kind = int(rng.integers(5))
    if kind == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 1:
        lines.insert(i, lines[j])
    elif kind == 2:
        del lines[i]
    elif kind == 3:
        lines[i] = b""
    else:
        lines[i] = lines[i] + b" " + lines[j]
    return b"\n".join(lines)


def tokens_changed(data, rng):
    """Words and numbers replaced, swapped, doubled or emptied."""
    parts = re.split(rb"([^A-Za-z0-9_.+\-]+)", data)
    words = range(0, len(parts), 2)
    for _ in range(int(rng.integers(1, 4))):
        i, j = pick(rng, words), pick(rng, words)
        kind = int(rng.integers(6))
        if kind < 3:
            parts[i] = encoded(token(rng))
        elif kind == 3:
            parts[i], parts[j] = parts[j], parts[i]
        elif kind == 4:
            parts[i] = parts[i] + b" " + parts[j]
        else:
            parts[i] = b""
    return b"".join(parts)


def inserted(data, rng):
    """A word, a control character or a line anywhere."""
    place, word = int(rng.integers(len(data) + 1)), encoded(token(rng))
    return data[:place] + pick(rng, [b"", b" ", b"\n", b"\t"]) + word + data[place:]


def whitespace(data, rng):
    """Other ends of lines and blanks, throughout or once."""
    count = pick(rng, [1, 3, -1])
    before, after = pick(
        rng,
        [
            (b"\n", b"\r\n"),
            (b"\n", b"\r"),
            (b"\n", b"\n\n"),
            (b" ", b"\t"),
            (b"\t", b" "),
            (b" ", b"  "),
            (b" ", b""),
            (b"\n", b""),
            (b"\n", b" "),
            (b" ", b"\xc2\xa0"),
            (b"\n", b"\xe2\x80\xa8"),
            (b"\n", b"\x0b"),
        ],
    )
    return data.replace(before, after, count)


def wrapped(data, rng):
    """A byte order mark, a prefix, a very long line, deep nesting."""
    long = pick(
        rng, [b"1 ", b"x", b"9", b"1:1 ", b"ACGT", b"[", b"{a: ", b"- ", b"\x00", b" ", b"(1|"]
    )
    kind = int(rng.integers(4))
    if kind == 0:
        return pick(rng, BROKEN) + data
    if kind == 1:
        return data + long * pick(rng, [10, 100, 100, 1000, 30000])
    if kind == 2:
        place = int(rng.integers(len(data) + 1))
        return data[:place] + long * pick(rng, [10, 100, 100, 1000, 30000]) + data[place:]
    return data * pick(rng, [2, 3, 20])


DUMB = (flipped, cut, lines_moved, inserted, wrapped)
TEXT = (
    flipped,
    cut,
    lines_moved,
    tokens_changed,
    tokens_changed,
    tokens_changed,
    inserted,
    whitespace,
    wrapped,
)


def several(mutators, data, rng):
    for _ in range(pick(rng, [1, 1, 1, 2, 3])):
        data = pick(rng, mutators)(data, rng)
    return data


def text(data, rng, others=()):
    """A text file; sometimes a piece of another sample is put in."""
    if others and rng.integers(12) == 0:
        other = pick(rng, others)
        return data[: int(rng.integers(len(data) + 1))] + other[int(rng.integers(len(other) + 1)) :]
    return several(TEXT, data, rng)


def tree(value, rng):
    """Plain values with one of them replaced, deleted, renamed or doubled."""
    value = copy.deepcopy(value)
    holders = [value] if isinstance(value, dict | list) and value else []
    for holder in holders:
        parts = holder.values() if isinstance(holder, dict) else holder
        holders += [part for part in parts if isinstance(part, dict | list) and part]
    if not holders:
        return pick(rng, VALUES)
    holder = pick(rng, holders)
    key = pick(rng, [*holder] if isinstance(holder, dict) else range(len(holder)))
    kind = int(rng.integers(8))
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[pick(rng, ["x", "", "w", key + "x", key.upper()])] = holder.pop(key)
    elif kind == 1 or kind == 2:
        other = pick(rng, holders)
        holder[key] = copy.deepcopy(
            pick(rng, [*other.values()] if isinstance(other, dict) else other)
        )
    elif kind == 3 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = pick(
            rng, [-holder[key], holder[key] + 1, holder[key] - 1, holder[key] * 10**6]
        )
    elif kind == 3 and isinstance(holder[key], list) and holder[key]:
        holder[key] = pick(
            rng, [holder[key][:-1], holder[key] * 2, holder[key][::-1], holder[key][:1]]
        )
    else:
        holder[key] = copy.deepcopy(pick(rng, VALUES))
    return value


def configuration(data, rng, others=()):
    """A YAML file: its values, or its text."""
    if rng.integers(2):
        return text(data, rng, others)
    value = yaml.safe_load(data)
    for _ in range(pick(rng, [1, 1, 2, 4])):
        value = tree(value, rng)
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=bool(rng.integers(2))).encode()


def array(values, rng):
    """An array of another shape or type, or with odd values."""
    kind = int(rng.integers(9))
    if kind == 0 and values.ndim:
        return values[:-1]
    if kind == 1 and values.ndim:
        return np.concatenate([values, values[-1:]])
    if kind == 2:
        return pick(rng, [values[None], values.ravel(), values.T, np.array(values)[..., None]])
    if kind == 3:
        return np.empty((0,) * pick(rng, [1, 1, 2, 3]), values.dtype)
    if kind == 4:
        return np.zeros((), values.dtype)
    if kind == 5:
        types = [
            "?",
            "i1",
            "u1",
            "<i4",
            "<u8",
            "<f4",
            "<f8",
            ">f8",
            "<f2",
            "<U3",
            "S3",
            "<c16",
            "<M8[s]",
        ]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return values.astype(pick(rng, types))
            except (ValueError, TypeError, RuntimeError):
                return values
    if values.size == 0:
        return values
    values = values.copy()
    flat = values.reshape(-1)
    place, other = map(int, rng.integers(values.size, size=2))
    if values.dtype.kind == "f":
        odd = pick(rng, [np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0, 1e-320, 1e30, 0.5])
    elif values.dtype.kind in "iu":
        bounds = np.iinfo(values.dtype)
        odd = pick(rng, [-1, 0, 1, 2, bounds.max, bounds.min, 10**6, len(flat), len(flat) + 1])
        odd = min(max(odd, bounds.min), bounds.max)
    elif values.dtype.kind == "U":
        odd = pick(rng, ["", "x", "a\nb", "\x1b", "é", str(flat[other])])
    else:
        odd = flat[other]
    with np.errstate(over="ignore"):  # half floats hold less
        if kind == 6:
            flat[place], flat[other] = flat[other], flat[place]
        elif kind == 7:
            flat[:] = odd
        else:
            flat[place] = odd
    return values


def npy_bytes(values):
    stream = io.BytesIO()
    npy.write_array(stream, np.asanyarray(values), version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def npy_file(data, rng, others=()):
    """A file of one array: its values, its header, its bytes."""
    kind = int(rng.integers(3))
    if kind == 0:
        return npy_bytes(array(np.load(io.BytesIO(data)), rng))
    if kind == 1:
        return npy_header(data, rng)
    return several(DUMB, data, rng)


def npy_header(data, rng):
    """The header of an array with another word in it, its length being right."""
    length = struct.unpack("<H", data[8:10])[0]
    head = data[10 : 10 + length].decode("latin1").rstrip()
    words = [
        "'<f8'",
        "'|O'",
        "'<U9'",
        "'<f8', ",
        "[('a', '<f8')]",
        "'V8'",
        "True",
        "(3,)",
        "(10**15,)",
    ]
    words += [
        "(1000000000000000,)",
        "(-1,)",
        "(2, 1000000000)",
        "()",
        "{}",
        "{",
        "(",
        "'",
        "é",
        "\n",
        "\0",
    ]
    words += [
        "('<f8', (1000000,))",
        "'<M8[s]'",
        "None",
        "-1",
        "9" * 5000,
        "(" * 300,
        "b'x'",
        "(1.5,)",
    ]
    if rng.integers(2):
        old = pick(rng, re.findall(r"'[^']*'|\([^)]*\)|True|False|[{},:]", head) or ["{"])
        head = head.replace(old, pick(rng, words), 1)
    else:
        place = int(rng.integers(len(head) + 1))
        head = head[:place] + pick(rng, words) + head[place:]
    raw = head.encode("utf-8") + b"\n"
    return data[:8] + struct.pack("<H", len(raw)) + raw + data[10 + length :]


def unzipped(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members, compression=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", compression) as archive:
        warnings.simplefilter("ignore")  # of a name that is there twice
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, compression)
    return stream.getvalue()


def members_changed(members, rng):
    """Members of an archive renamed, doubled, dropped, swapped or broken."""
    members = list(members)
    i, j = map(int, rng.integers(len(members), size=2))
    kind = int(rng.integers(7))
    if kind == 0:
        del members[i]
    elif kind == 1:
        members.append(members[i])
    elif kind == 2:
        members[i] = (
            pick(rng, ["", "x", "../x.npy", "a\nb.npy", "é.npy", members[j][0]]),
            members[i][1],
        )
    elif kind == 3:
        members[i], members[j] = (members[i][0], members[j][1]), (members[j][0], members[i][1])
    elif kind == 4 and members[i][0].endswith(".npy"):
        members[i] = (members[i][0], npy_file(members[i][1], rng))
    else:
        members[i] = (members[i][0], several(DUMB, members[i][1], rng))
    return members


def directory_changed(data, rng):
    """Flags, methods, sizes and offsets of a zip file's headers."""
    out = bytearray(data)
    places = [
        match.start() for match in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06|\x06\x06)", data)
    ]
    for _ in range(pick(rng, [1, 1, 2])):
        place = pick(rng, places)
        central = out[place + 2 : place + 3] == b"\x01"
        offset, size = pick(
            rng,
            [(8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (42, 4)]
            if central
            else [(4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2)],
        )
        limit = 256**size
        value = pick(rng, [0, 1, 8, 9, 12, 14, 99, limit - 1, limit // 2, int(rng.integers(limit))])
        out[place + offset : place + offset + size] = value.to_bytes(size, "little")
    return bytes(out)


def archive(data, rng, others=()):
    """An .npz file: its arrays, its members, its directory, its bytes."""
    kind = int(rng.integers(6))
    if kind < 3:
        members = [*unzipped(data).items()]
        for _ in range(pick(rng, [1, 1, 2])):
            i = int(rng.integers(len(members)))
            values = np.load(io.BytesIO(members[i][1]))
            members[i] = (members[i][0], npy_bytes(array(values, rng)))
        return zipped(members, pick(rng, [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    if kind == 3:
        methods = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
        return zipped(members_changed(unzipped(data).items(), rng), pick(rng, methods))
    return directory_changed(data, rng) if kind == 4 else several(DUMB, data, rng)


def container(data, rng, others=()):
    """A model or a checkpoint: its header, its arrays, its members, its directory, its bytes.

    What the header says of arrays follows the arrays most of the time.
    """
    kind = int(rng.integers(8))
    if kind == 6:
        return directory_changed(data, rng) if rng.integers(2) else several(DUMB, data, rng)
    if kind == 7:
        return zipped(members_changed(unzipped(data).items(), rng))
    members = unzipped(data)
    header = json.loads(members.pop("header.json"))
    arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(raw)) for name, raw in members.items()}
    if kind < 3:
        for _ in range(pick(rng, [1, 1, 2])):
            header = tree(header, rng)
            if not isinstance(header, dict):
                break
    else:
        for _ in range(pick(rng, [1, 1, 2])):
            name = pick(rng, [*arrays])
            arrays[name] = array(arrays[name], rng)
        if rng.integers(8) == 0:
            arrays[pick(rng, ["x", "state.x", "space.x", "solver.x"])] = arrays.pop(
                pick(rng, [*arrays])
            )
        listed = [{"name": n, "dtype": a.dtype.str, "shape": [*a.shape]} for n, a in arrays.items()]
        header["arrays"] = listed
        if "dimension" in header and "w" in arrays and rng.integers(2):
            header["dimension"] = len(arrays["w"]) if arrays["w"].ndim else 0
    head = json.dumps(header, indent=1, ensure_ascii=bool(rng.integers(2)))
    if rng.integers(10) == 0:
        head = text(head.encode(), rng).decode("utf-8", "replace")
    raw = [(f"{name}.npy", npy_bytes(values)) for name, values in arrays.items()]
    return zipped([("header.json", encoded(head)), *raw])


def png(data, rng, others=()):
    """A PNG image: its chunks, with right check sums, or its bytes."""
    if rng.integers(3) == 0:
        return several(DUMB, data, rng)
    chunks, place = [], 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        chunks.append((data[place + 4 : place + 8], data[place + 8 : place + 8 + length]))
        place += 12 + length
    i = int(rng.integers(len(chunks)))
    name, content = chunks[i]
    kind = int(rng.integers(6))
    if kind == 0:
        chunks[i] = (name, flipped(content, rng))
    elif kind == 1:
        width, height = (pick(rng, [0, 1, 2, 5, 2000, 60000, 2**31 - 1, 2**32 - 1]) for _ in "wh")
        rest = bytes(pick(rng, [0, 1, 2, 3, 4, 6, 8, 16]) for _ in range(5))
        chunks[0] = (
            b"IHDR",
            struct.pack(">II", width, height) + pick(rng, [chunks[0][1][8:], rest]),
        )
    elif kind == 2:
        raw = [(n, c) for n, c in chunks if n != b"IDAT"]
        rows = cut(zlib.decompress(b"".join(c for n, c in chunks if n == b"IDAT")), rng)
        chunks = [*raw[:-1], (b"IDAT", zlib.compress(rows)), raw[-1]]
    elif kind == 3:
        bomb = b"x\0\0" + zlib.compress(bytes(pick(rng, [10, 10**6, 3 * 10**7])))
        extra = pick(rng, [(b"zTXt", bomb), (b"iCCP", bomb), (b"tEXt", b"x"), (b"PLTE", bytes(7))])
        chunks.insert(int(rng.integers(len(chunks) + 1)), extra)
    elif kind == 4:
        del chunks[i]
    else:
        chunks[i] = (
            pick(rng, [b"tRNS", b"PLTE", b"acTL", b"fcTL", b"IDAT", b"gAMA", b"abcd"]),
            content,
        )
    parts = [
        struct.pack(">I", len(c)) + n + c + struct.pack(">I", zlib.crc32(n + c)) for n, c in chunks
    ]
    return data[:8] + b"".join(parts)


def raw(data, rng, others=()):
    """Any other file, such as an image of another format."""
    return several(DUMB, data, rng)


OPENERS = {b"\x1f\x8b": gzip, b"BZ": bz2, b"\xfd7": lzma}


def compressed(data, rng, others=()):
    """A compressed text: the text, or the bytes of the file."""
    module = OPENERS[data[:2]]
    if rng.integers(2):
        return several(DUMB, data, rng)
    if rng.integers(20) == 0:
        return data + module.compress(pick(rng, [b"\0", b"x", b"1 "]) * 10**7)
    plain = text(module.decompress(data), rng)
    return gzip.compress(plain, mtime=0) if module is gzip else module.compress(plain)


def word(data, rng, others=()):
    """A setting KEY=VALUE of the command line, which cannot hold a NUL."""
    found = (
        text(data, rng) if rng.integers(2) else data.partition(b"=")[0] + b"=" + encoded(token(rng))
    )
    return found.replace(b"\0", b"")[:100_000]


BY_SUFFIX = {
    ".yaml": configuration,
    ".npz": archive,
    ".npy": npy_file,
    ".png": png,
    ".bmp": raw,
    ".model": container,
    ".checkpoint": container,
    ".gz": compressed,
    ".bz2": compressed,
    ".xz": compressed,
    ".set": word,
}
