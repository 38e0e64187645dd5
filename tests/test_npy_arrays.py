"""Arrays of NumPy's files: what they claim is held against what they are."""

import io
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest
from mrf_cases import write_npz
from refusals import told

from lssvm.formats.limit import Limit
from lssvm.formats.mention_pairs import read_pairs_npz
from lssvm.formats.mrf_npz import read_npz
from lssvm.formats.mrf_text import read_graphs
from lssvm.formats.npy_arrays import read_archive, read_array

KINDS = {"a": "i", "b": "f"}
SMALL = Limit(1.0, "data.max_mb")


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def claiming(shape, descr="<f8", version=1, body=b"", order="False"):
    """An array file with the header as it is written here."""
    header = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes((version, 0)) + length + header + body


def archive(*members, compression=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", compression) as target:
        warnings.simplefilter("ignore")  # of a name that is there twice
        for name, data in members:
            target.writestr(name, data)
    return file.getvalue()


GOOD_A = ("a.npy", npy(np.arange(3)))
GOOD_B = ("b.npy", npy(np.ones((2, 2))))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
        np.asfortranarray(np.arange(24, dtype=np.float16).reshape(2, 3, 4)),
        np.array([[True, False]]),
        np.zeros((0, 3)),
    ],
)
def test_arrays_of_every_order_are_read_as_numpy_reads_them(array, tmp_path):
    (tmp_path / "x.npy").write_bytes(npy(array))
    found = read_array(tmp_path / "x.npy")
    np.testing.assert_array_equal(found, array)
    assert found.flags.c_contiguous
    assert found.dtype.isnative
    (tmp_path / "x.npz").write_bytes(archive(GOOD_A, ("b.npy", npy(array.astype("f8")))))
    np.testing.assert_array_equal(read_archive(tmp_path / "x.npz", KINDS)["b"], array)


def test_headers_of_version_2_are_read(tmp_path):
    (tmp_path / "x.npy").write_bytes(claiming("(2,)", version=2, body=np.ones(2).tobytes()))
    np.testing.assert_array_equal(read_array(tmp_path / "x.npy"), [1.0, 1.0])


DAMAGED = "is cut short or damaged; expected an array .npy"
BROKEN_ARRAYS = {
    "a type that is a tuple": (claiming("(2,)").replace(b"'<f8'", b"()   "), DAMAGED),
    "a shape of 10¹⁵": (claiming("(1000000000000000,)"), "claims 1,000,000,000,000,000 entries"),
    "a shape beyond int64": (claiming("(2, 36893488147419103232)"), "claims 73,786,976,294,838"),
    "a negative shape": (claiming("(-1,)", body=bytes(8)), "has shape (-1,); expected an array"),
    "many axes": (claiming("(1,)" + "*1", body=bytes(8)), DAMAGED),
    "forty axes": (claiming(f"({'1,' * 40})", body=bytes(8)), "has shape (1, 1,"),
    "no numbers": (claiming("(2,)"), "claims 2 entries of 8 bytes and has 0 bytes"),
    "too many numbers": (
        claiming("(2,)", body=bytes(24)),
        "claims 2 entries of 8 bytes and has 24",
    ),
    "empty words": (claiming("(1000000000000000,)", "<U0"), "holds <U0; expected plain"),
    "objects": (claiming("(1,)", "|O", body=b"\x80\x04N."), "holds object; expected plain"),
    "long floats": (claiming("(1,)", "<f16", body=bytes(16)), "holds float128; expected numbers"),
    "records": (claiming("(1,)", "<f8,<i4", body=bytes(12)), "holds [('f0'"),
    "dates": (claiming("(1,)", "<M8[s]", body=bytes(8)), "holds datetime64[s]; expected plain"),
    "no type": (claiming("(1,)", "foo", body=bytes(8)), DAMAGED),
    "an open bracket": (claiming("(1,", body=bytes(8)), DAMAGED),
    "brackets without end": (claiming("(" * 5000, body=bytes(8)), DAMAGED),
    "a long header": (claiming("(1,)" + " " * 20000, body=bytes(8)), DAMAGED),
    "a later version": (claiming("(1,)", version=3, body=bytes(8)), "has another npy version"),
    "truth values that are none": (
        claiming("(1,)", "|b1", body=b"\x07"),
        "holds invalid truth values",
    ),
    "beyond int64": (
        npy(np.array([2**63], np.uint64)),
        "holds 9223372036854775808; expected whole",
    ),
    "words": (npy(np.array(["a"])), "holds <U1; expected numbers"),
    "empty": (b"", DAMAGED),
    "magic alone": (b"\x93NUMPY", DAMAGED),
}


@pytest.mark.parametrize("name", BROKEN_ARRAYS)
def test_what_is_no_array_of_numbers_is_refused_in_one_line(name, tmp_path):
    data, message = BROKEN_ARRAYS[name]
    (tmp_path / "x.npy").write_bytes(data)
    assert told(read_array, tmp_path / "x.npy").startswith(f"{tmp_path}/x.npy: {message}")


def test_headers_of_python_2_are_read_without_a_warning(tmp_path):
    (tmp_path / "x.npy").write_bytes(claiming("(2L,)", body=np.ones(2).tobytes()))
    np.testing.assert_array_equal(read_array(tmp_path / "x.npy"), [1.0, 1.0])


def encrypted(data):
    """The archive with the flag of encryption on every member."""
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        parts = data.split(mark)
        parts[1:] = [
            part[: place - 4] + bytes([part[place - 4] | 1]) + part[place - 3 :]
            for part in parts[1:]
        ]
        data = mark.join(parts)
    return data


def other_size(data, size):
    """The archive whose directory claims another size of its first member."""
    place = data.index(b"PK\x01\x02") + 24
    return data[:place] + size.to_bytes(4, "little") + data[place + 4 :]


def broken_stream():
    data = bytearray(archive(GOOD_A, GOOD_B))
    place = data.index(b"a.npy") + 10
    data[place : place + 20] = b"\xff" * 20
    return bytes(data)


PLAIN = archive(GOOD_A, GOOD_B)
BROKEN_ARCHIVES = {
    "encrypted": (encrypted(PLAIN), "array 'a' is encrypted; expected plain members"),
    "bzip2": (
        archive(GOOD_A, GOOD_B, compression=zipfile.ZIP_BZIP2),
        "array 'a' is compressed in another way than deflate",
    ),
    "broken zlib": (
        broken_stream(),
        "array 'a' is damaged, or not an array; expected a complete one",
    ),
    "text": (archive(("a.npy", "text"), GOOD_B), "array 'a' is damaged, or not an array"),
    "another member": (archive(GOOD_A, GOOD_B, ("x.txt", "text")), "unknown array 'x.txt'; known"),
    "no suffix": (archive(("a", GOOD_A[1]), GOOD_B), "unknown array 'a'; known: a, b"),
    "twice": (archive(GOOD_A, GOOD_B, GOOD_A), "array 'a' is given twice; expected it once"),
    "one value": (archive(("a.npy", npy(np.array(1))), GOOD_B), "array 'a' is a single value"),
    "missing": (archive(GOOD_A), "there is no array 'b'; expected all of them"),
    "fractions": (
        archive(("a.npy", npy(np.ones(1))), GOOD_B),
        "array 'a' holds float64; expected whole numbers",
    ),
    "no character": (
        archive(("a.npy", claiming("(1,)", "<U1", body=b"\xff" * 4)), GOOD_B),
        "array 'a' holds <U1; expected whole numbers",
    ),
    "a claim of 4 GB": (other_size(PLAIN, 2**32 - 2), "array 'a' is larger than the file"),
    "a claim of less": (other_size(PLAIN, 100), "array 'a' is damaged, or not an array"),
    "a claim of one more": (other_size(PLAIN, len(GOOD_A[1]) + 1), "array 'a' claims 3 entries"),
    "half": (PLAIN[: len(PLAIN) // 2], "is cut short or damaged; expected .npz"),
}


@pytest.mark.parametrize("name", BROKEN_ARCHIVES)
def test_a_broken_archive_is_refused_in_one_line(name, tmp_path):
    data, message = BROKEN_ARCHIVES[name]
    (tmp_path / "x.npz").write_bytes(data)
    found = told(read_archive, tmp_path / "x.npz", KINDS)
    assert found.startswith(f"{tmp_path}/x.npz: {message}")


@pytest.mark.parametrize("point", [0x110000, 0xD800])
def test_text_of_what_are_no_characters_is_refused(point, tmp_path):
    body = point.to_bytes(4, "little")
    (tmp_path / "x.npz").write_bytes(archive(("a.npy", claiming("(1,)", "<U1", body=body))))
    message = told(read_archive, tmp_path / "x.npz", {"a": "U"})
    assert "array 'a' holds invalid characters; expected text" in message


def refused_within(bytes_of_memory, read, *arguments):
    """The message of a refusal that took no more memory."""
    tracemalloc.start()
    message = told(read, *arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < bytes_of_memory
    return message


@pytest.mark.parametrize("kind", ["float64", "int8"])
def test_numbers_that_are_packed_well_are_counted_before_they_take_memory(kind, tmp_path):
    zeros = archive(GOOD_A, ("b.npy", npy(np.zeros(40_000_000 // 8, dtype=kind))))
    assert len(zeros) < 100_000
    (tmp_path / "x.npz").write_bytes(zeros)
    message = refused_within(1_000_000, read_archive, tmp_path / "x.npz", KINDS, (), SMALL)
    assert message.endswith(
        "it takes more than 1 MB; expected at most that (data.max_mb raises the limit)"
    )


def test_a_member_that_unpacks_to_more_than_it_claims_is_not_unpacked_further(tmp_path):
    data = archive(("a.npy", npy(np.zeros(5_000_000, dtype=np.int64))))
    header = npy(np.zeros(10, dtype=np.int64))
    bomb = archive(("a.npy", header + bytes(40_000_000)))
    for lying in (other_size(data, 1000), other_size(bomb, len(header))):
        (tmp_path / "x.npz").write_bytes(lying)
        refused_within(1_000_000, read_archive, tmp_path / "x.npz", {"a": "i"}, (), SMALL)


def test_other_arrays_are_passed_over_where_they_may_be(tmp_path):
    (tmp_path / "x.npz").write_bytes(archive(GOOD_A, GOOD_B, ("c.npy", "text"), ("d", "")))
    assert set(read_archive(tmp_path / "x.npz", KINDS, others=True)) == {"a", "b"}


def test_arrays_without_entries_have_the_type_that_is_asked_for(tmp_path):
    members = [("a.npy", npy(np.zeros(0))), ("b.npy", npy(np.zeros((0, 3), dtype="U7")))]
    (tmp_path / "x.npz").write_bytes(archive(*members))
    found = read_archive(tmp_path / "x.npz", KINDS)
    assert (found["a"].dtype, found["b"].dtype) == (np.int64, np.float64)
    assert found["b"].shape == (0, 3)


def test_readers_hold_the_limit(tmp_path):
    (tmp_path / "g").write_text("node a y 2 0 1:1\n")
    write_npz(tmp_path / "g.npz", read_graphs(tmp_path / "g"))
    assert len(read_npz(tmp_path / "g.npz").states) == 1
    assert "more than 0.0001 MB" in told(read_npz, tmp_path / "g.npz", Limit(1e-4))
    np.savez(tmp_path / "p.npz", mentions=[2], clusters=[0, 0], features=np.ones((1, 3)))
    assert len(read_pairs_npz(tmp_path / "p.npz", 3)) == 1
    assert "more than 1e-05 MB" in told(read_pairs_npz, tmp_path / "p.npz", 3, Limit(1e-5))


def test_whole_numbers_of_every_type_are_graphs(tmp_path):
    (tmp_path / "g").write_text("node a y 3 0 1:1\nnode b y 3 1\nedge a b e\n")
    expected = read_graphs(tmp_path / "g")
    write_npz(tmp_path / "g.npz", expected)
    with np.load(tmp_path / "g.npz") as found:
        arrays = dict(found)
    for kind in ("i1", "u1", ">i2", "u8"):
        typed = {
            name: array.astype(kind) if array.dtype.kind == "i" else array
            for name, array in arrays.items()
        }
        np.savez(tmp_path / "g.npz", **typed)
        graphs = read_npz(tmp_path / "g.npz")
        np.testing.assert_array_equal(graphs.ends, expected.ends)
        np.testing.assert_array_equal(graphs.labels, expected.labels)
