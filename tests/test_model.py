import io
import json
import os
import random
import stat
import struct
import time
import zipfile
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import lssvm
from lssvm import applications
from lssvm.config import Config
from lssvm.errors import LssvmError, ModelError
from lssvm.model import Model
from lssvm.model.container import FORMAT_VERSION, read_container, write_container
from lssvm.model.model import MODEL
from lssvm.output.whole import check_writable, replacing

CORRUPTIONS = 3000


@pytest.fixture(autouse=True)
def lines_application(monkeypatch):
    known = {"lines": EntryPoint("lines", "lines:Lines", applications.GROUP)}
    monkeypatch.setattr(applications, "registered", lambda: known)


@pytest.fixture
def model():
    config = Config.from_dict({"application": {"name": "lines", "length": 2}})
    arrays = {"sites": np.arange(8, dtype=np.int64).reshape(4, 2)}
    record = {"objective": 0.1 + 0.2, "gap": 1e-4, "certified": True, "lower_bound": -np.inf}
    w = np.array([1 / 3, -2.0, 1e-300])
    return Model(config.create_application(), config.to_dict(), w, record, arrays)


@pytest.fixture
def refusal(tmp_path):
    """The message with which bytes are refused as a model, without the file's name."""

    def refusal(data, format=MODEL):
        path = tmp_path / "refused"
        path.write_bytes(data)
        with pytest.raises(ModelError) as caught:
            Model.load(path) if format == MODEL else read_container(path, format)
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        return message.removeprefix(f"{path}: ")

    return refusal


def parts(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members, compression=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return stream.getvalue()


def changed(model, path, **changes):
    """The model's bytes with some keys of the header replaced."""
    model.save(path)
    members = parts(path)
    header = json.loads(members["header.json"]) | changes
    members["header.json"] = json.dumps(header).encode()
    return packed(members.items())


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def test_a_model_is_what_it_was_after_saving_and_loading(model, tmp_path):
    model.save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    assert loaded.w.tobytes() == model.w.tobytes()
    assert loaded.config == model.config
    assert loaded.record == {**model.record, "lower_bound": None}
    assert list(loaded.arrays) == ["sites"]
    np.testing.assert_array_equal(loaded.arrays["sites"], model.arrays["sites"], strict=True)
    assert loaded.application.options == model.application.options
    assert loaded.feature_names() == ["number_1", "number_2", "bias"]


def test_equal_models_are_equal_bytes(model, tmp_path):
    model.save(tmp_path / "a")
    time.sleep(0.01)
    Model.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_anyone_can_read_a_model(model, tmp_path):
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(np.load(tmp_path / "m")["w"], model.w)
    members = parts(tmp_path / "m")
    assert list(members) == ["header.json", "w.npy", "sites.npy"]
    header = json.loads(members["header.json"])
    assert header["format"] == "lssvm-model"
    assert header["format_version"] == 1
    assert header["lssvm_version"] == lssvm.__version__
    assert header["application"] == {"name": "lines", "distribution": None, "version": None}
    assert header["dimension"] == 3
    assert header["feature_names"] == ["number_1", "number_2", "bias"]
    assert header["arrays"] == [
        {"name": "w", "dtype": "<f8", "shape": [3]},
        {"name": "sites", "dtype": "<i8", "shape": [4, 2]},
    ]


def test_arrays_of_every_plain_type_and_shape_come_back(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        "empty": np.empty((0, 3)),
        "scalar": np.array(2.5),
        "fortran": np.asfortranarray(rng.normal(size=(3, 4))),
        "big": np.arange(3, dtype=">i4"),
        "bool": np.array([True, False]),
        "text": np.array(["é", "abc"]),
        "nan": np.array([np.nan, np.inf], dtype=np.float32),
    }
    write_container(tmp_path / "c", "test", {"n": np.int64(3)}, arrays)
    header, found = read_container(tmp_path / "c", "test")
    assert header["n"] == 3
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("<")
        assert found[name].flags.writeable


def test_the_header_is_json_with_an_indent_of_one(tmp_path):
    texts = ["é", 'a "quoted" one', "two\nlines", "\\n", ""]
    header = {
        "texts": texts,
        "mixed": ["a", 1, None],
        "none": [],
        "within": {"texts": texts, "deeper": [{"a": [1, 2.5, True]}, {}]},
        "text": "two\nlines",
        "é": 1,
    }
    write_container(tmp_path / "c", "test", header, {"w": np.zeros(2)})
    with zipfile.ZipFile(tmp_path / "c") as archive:
        text = archive.read("header.json").decode()
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
    assert header.items() <= json.loads(text).items()


def test_what_cannot_be_stored_is_refused_and_leaves_no_file(model, tmp_path):
    path = tmp_path / "m"
    cases = [
        ({}, {"a": np.array([None])}, "array 'a' of type object cannot be stored"),
        ({"x": float("nan")}, {}, "the header cannot be stored: "),
        ({"x": object}, {}, "the header cannot be stored: <class 'object'> is not a plain value"),
    ]
    for header, arrays, message in cases:
        with pytest.raises(ModelError) as caught:
            write_container(path, "test", header, arrays)
        assert str(caught.value).startswith(f"{path}: {message}")
    model.w[1] = np.nan
    with pytest.raises(ModelError) as caught:
        model.save(path)
    assert str(caught.value) == f"{path}: weight 1 is nan; expected finite weights"
    assert os.listdir(tmp_path) == []


def test_a_file_and_then_its_folder_are_on_the_disk_when_it_has_its_name(tmp_path, monkeypatch):
    written = []

    def fsync(descriptor):
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        written.append((folder, (tmp_path / "m").exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    with replacing(tmp_path / "m", "wb") as file:
        file.write(b"whole")
    assert written == [(False, False), (True, True)]


def test_a_failed_save_leaves_the_old_model_as_it_was(model, tmp_path, monkeypatch):
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lssvm.model.container.npy.write_array", full)
    with pytest.raises(LssvmError) as caught:
        model.save(tmp_path / "m")
    assert str(caught.value) == f"{tmp_path}/m: cannot be written: No space left on device"
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


def test_a_file_that_is_no_container_is_told(refusal):
    assert refusal(b"") == "not a file of lssvm (empty); expected a lssvm-model"
    expected = "not a file of lssvm (it starts with b'appl'); expected a lssvm-model"
    assert refusal(b"application: motif\n") == expected
    expected = "not a file of lssvm (it starts with b'\\x80\\x04K\\x01'); expected a lssvm-model"
    assert refusal(b"\x80\x04K\x01.") == expected
    assert refusal(packed([("a.txt", "b")])) == (
        "not a file of lssvm: its first member is not header.json"
    )


def test_a_missing_model_and_a_folder_are_told(tmp_path):
    for path, reason in [
        (tmp_path / "x", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ]:
        with pytest.raises(ModelError) as caught:
            Model.load(path)
        assert str(caught.value) == f"{path}: cannot be read: {reason}"


def test_a_file_of_another_format_is_told(refusal, model, tmp_path):
    assert refusal(changed(model, tmp_path / "m"), "lssvm-checkpoint") == (
        "is a 'lssvm-model' file; expected a 'lssvm-checkpoint'"
    )


def test_a_newer_version_is_refused_with_advice(refusal, model, tmp_path):
    data = changed(model, tmp_path / "m", format_version=7, lssvm_version="9.0")
    assert refusal(data) == (
        f"format version 7 was written by a newer lssvm (9.0), this is {lssvm.__version__} "
        f"and reads up to {FORMAT_VERSION}; upgrade lssvm"
    )
    assert refusal(changed(model, tmp_path / "m", format_version="1")) == (
        "format version '1' is not known; expected 1"
    )


def test_a_zip_bomb_is_refused_unopened(refusal, model, tmp_path):
    model.save(tmp_path / "m")
    members = parts(tmp_path / "m")
    members["w.npy"] = bytes(10_000_000)
    assert refusal(packed(members.items(), zipfile.ZIP_DEFLATED)) == (
        "member 'header.json' is compressed; expected stored members"
    )


def test_overlapping_members_are_refused(refusal, model, tmp_path):
    model.save(tmp_path / "m")
    data = bytearray((tmp_path / "m").read_bytes())
    entry = data.rindex(b"PK\x01\x02")
    struct.pack_into("<II", data, entry + 20, 2**31, 2**31)
    assert refusal(bytes(data)) == "damaged: its members are larger than the file"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (["header.json", "w.npy"], "damaged: its members are not those that the header lists"),
        (
            ["header.json", "w.npy", "sites.npy", "evil.npy"],
            "damaged: its members are not those that the header lists",
        ),
        (
            ["header.json", "sites.npy", "w.npy"],
            "damaged: its members are not those that the header lists",
        ),
        (["w.npy", "header.json"], "not a file of lssvm: its first member is not header.json"),
    ],
)
def test_members_that_are_not_as_listed_are_refused(refusal, model, tmp_path, members, message):
    model.save(tmp_path / "m")
    found = parts(tmp_path / "m") | {"evil.npy": b""}
    assert refusal(packed([(name, found[name]) for name in members])) == message


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused(refusal, model, tmp_path):
    model.save(tmp_path / "m")
    members = [*parts(tmp_path / "m").items()]
    assert refusal(packed([*members, members[1]])) == "damaged: a member is there twice"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy(np.zeros(4)), "array 'w' is <f8 of shape [4]; the header says <f8 of shape [3]"),
        (
            npy(np.zeros(3, dtype=np.float32)),
            "array 'w' is <f4 of shape [3]; the header says <f8 of shape [3]",
        ),
        (
            npy(np.array([1, "x", None], dtype=object)),
            "array 'w' holds objects; expected plain values",
        ),
        (npy(np.zeros(3))[:-1], "array 'w' has 23 bytes, too few or too many"),
        (npy(np.zeros(3)) + b"x", "array 'w' has 25 bytes, too few or too many"),
        (npy(np.zeros(3)).replace(b"(3,)", b"(10*"), "damaged: "),
        (npy(np.zeros(3)).replace(b"(3,)", b"[30]"), "damaged: shape is not valid: [30]"),
        # Python 2 wrote numbers so; NumPy reads them with a warning.
        (
            npy(np.zeros(3)).replace(b"(3,), } ", b"(3L,), }"),
            "array 'w' has a header of an old kind; expected that of a model",
        ),
        (
            npy(np.zeros(3)).replace(b"(3,), }          ", b"(1000000000,), } "),
            "array 'w' is <f8 of shape [1000000000]; the header says <f8 of shape [3]",
        ),
        (
            b"\x93NUMPY\x02" + npy(np.zeros(3))[7:],
            "array 'w' has another npy version; expected 1.0",
        ),
        (b"", "damaged: EOF: reading magic string, expected 8 bytes got 0"),
        (
            npy(np.array([1.0, np.inf, 2.0])),
            "damaged: array 'w' holds inf at [1]; expected finite numbers from -1e+100",
        ),
    ],
)
def test_arrays_that_are_not_as_listed_are_refused(refusal, model, tmp_path, data, message):
    model.save(tmp_path / "m")
    members = parts(tmp_path / "m") | {"w.npy": data}
    assert refusal(packed(members.items())).startswith(message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arrays": None}, "damaged: 'NoneType' object is not iterable"),
        ({"arrays": [{"name": "w"}]}, "damaged: 'dtype'"),
        (
            {"arrays": [{"name": "w", "dtype": "O", "shape": [3]}]},
            "array 'w' has type object; expected plain values",
        ),
        (
            {"arrays": [{"name": "w", "dtype": "<f8", "shape": [-3]}]},
            "array 'w' has shape [-3]",
        ),
        (
            {"dimension": 4},
            "damaged: array 'w' is float64 of shape (3,); expected float64 of shape (4,)",
        ),
        ({"config": None}, "damaged: config is None; expected a mapping"),
        (
            {"application": {"name": "motif"}},
            "damaged: the header gives two names of its application; expected one",
        ),
        (
            {"application": {"name": "x"}, "config": {"application": {"name": "x"}}},
            "a model of application 'x': unknown application 'x' (known: lines)",
        ),
        (
            {"config": {"application": {"name": "lines"}}},
            "a model of application 'lines': application.length: missing; expected a value, "
            "there is no default",
        ),
        (
            {"config": {"application": {"name": "lines", "length": 2, "old": 1}}},
            "a model of application 'lines': application.old: unknown key "
            "(known: name, length, scale, kind, widths, bias)",
        ),
    ],
)
def test_headers_that_do_not_fit_are_refused(refusal, model, tmp_path, changes, message):
    assert refusal(changed(model, tmp_path / "m", **changes)).startswith(message)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"{", "damaged: Expecting property name enclosed in double quotes"),
        (b"[]", "damaged: the header is not a JSON object"),
        (b"[" * 100_000, "damaged: the header is nested too deeply"),
        (b'{"x": NaN}', "damaged: NaN in the header; expected a finite number"),
        (b"\xff", "damaged: 'utf-8' codec can't decode byte 0xff in position 0"),
    ],
)
def test_headers_that_are_no_json_are_refused(refusal, header, message):
    assert refusal(packed([("header.json", header)])).startswith(message)


def corrupted(data, rng):
    data = bytearray(data)
    place, count = rng.randrange(len(data)), rng.randrange(1, 9)
    how = rng.randrange(5)
    if how == 0:
        data[place] ^= 1 << rng.randrange(8)
    elif how == 1:
        data[place : place + count] = rng.randbytes(count)
    elif how == 2:
        del data[place : place + count]
    elif how == 3:
        data[place:place] = rng.randbytes(count)
    else:
        del data[place:]
    return bytes(data)


def test_corruption_is_refused_in_one_line_or_changes_nothing(model, tmp_path):
    model.save(tmp_path / "m")
    good, expected = (tmp_path / "m").read_bytes(), Model.load(tmp_path / "m")
    rng = random.Random(0)
    refused, lines = 0, []
    for _ in range(CORRUPTIONS):
        (tmp_path / "x").write_bytes(corrupted(good, rng))
        try:
            found = Model.load(tmp_path / "x")
        except ModelError as error:
            refused += 1
            lines.append(str(error).count("\n"))
            continue
        assert found.w.tobytes() == expected.w.tobytes()
        assert found.record == expected.record
        assert found.config == expected.config
        np.testing.assert_array_equal(found.arrays["sites"], expected.arrays["sites"], strict=True)
    assert not any(lines)
    assert refused > 0.9 * CORRUPTIONS


def test_a_block_that_raises_leaves_the_old_file(tmp_path):
    (tmp_path / "f").write_text("old")

    def fail_halfway():
        with replacing(tmp_path / "f") as file:
            file.write("half of the new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert (tmp_path / "f").read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]


def test_new_files_have_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "f") as file:
            file.write("x")
    finally:
        os.umask(before)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640


def test_the_target_of_a_link_is_replaced_and_the_link_kept(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with replacing(tmp_path / "link") as file:
        file.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_device_is_written_directly():
    with replacing("/dev/null") as file:
        file.write("x")
    assert not os.path.isfile("/dev/null")


def test_paths_that_cannot_be_written_are_told(tmp_path):
    (tmp_path / "f").write_text("")
    cases = {
        tmp_path: "is a directory; expected a file name",
        tmp_path / "no" / "f": f"the folder '{tmp_path}/no' does not exist",
        tmp_path / "f" / "g": f"the folder '{tmp_path}/f' does not exist",
        tmp_path / ("x" * 300): "cannot be written: File name too long",
    }
    for path, message in cases.items():
        with pytest.raises(LssvmError) as caught:
            check_writable(path)
        assert str(caught.value) == f"{path}: {message}"
    check_writable(tmp_path / "new")
    assert os.listdir(tmp_path) == ["f"]
