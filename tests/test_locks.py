"""One run at a time for each output, and what killed runs left is removed by the next one."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lssvm.errors import LssvmError
from lssvm.output.locks import owned
from lssvm.output.whole import beside, check_writable, replacing

HOLDER = """
import sys, time
from lssvm.output.locks import owned
from lssvm.output.whole import replacing, write_folder
def files():
    yield "a/b", b"half"
    print("ready", flush=True)
    time.sleep(60)
with owned(*sys.argv[1:]), replacing(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    write_folder(sys.argv[2], files())
"""


@pytest.fixture
def holder(tmp_path):
    """A process that owns m and the folder f, in the middle of writing them."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "m", tmp_path / "f"], stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("name", ["m", "./m", "../{folder}/m", "link", "f"])
def test_a_second_run_on_an_output_is_refused_by_any_of_its_names(tmp_path, holder, name):
    (tmp_path / "link").symlink_to("m")
    path = f"{tmp_path}/{name.format(folder=tmp_path.name)}"
    with pytest.raises(LssvmError) as caught, owned(path):
        pass
    assert str(caught.value) == (
        f"{path}: another run, process {holder.pid}, is writing it; expected one at a time"
    )


def test_other_outputs_of_the_folder_are_not_disturbed(tmp_path, holder):
    before = set(os.listdir(tmp_path))
    with owned(tmp_path / "m2", tmp_path / "m.checkpoint"), replacing(tmp_path / "m2") as file:
        file.write("x")
    assert set(os.listdir(tmp_path)) == before | {"m2"}


def test_what_a_killed_run_left_goes_with_the_next_run_on_the_same_output(tmp_path, holder):
    other = Path(beside(str(tmp_path / "m2"), "01234567.part"))
    other.write_text("of another run")
    (tmp_path / ".m.1.part").write_text("of the user's own")
    holder.kill()
    holder.wait()
    left = set(os.listdir(tmp_path))
    assert len(left) == 6  # both locks and both parts are among them
    with owned(tmp_path / "m", tmp_path / "f") as unlocked:
        assert not unlocked
        assert set(os.listdir(tmp_path)) - left == set()
    assert set(os.listdir(tmp_path)) == {".m.1.part", other.name}


def test_names_that_are_cut_stay_apart(tmp_path):
    long, longer = "é" * 120, "é" * 120 + "x"
    part = beside(str(tmp_path / longer), "01234567.part")
    assert len(os.path.basename(os.fsencode(part))) <= 255
    assert beside(str(tmp_path / long), "lock") != beside(str(tmp_path / longer), "lock")
    Path(part).write_text("")
    with owned(tmp_path / long):
        pass
    assert os.path.exists(part)
    with owned(tmp_path / longer), replacing(tmp_path / longer) as file:
        file.write("x")
    assert os.listdir(tmp_path) == [longer]


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a\nb", b"x" * 255, b" "])
def test_any_name_that_a_file_can_have_is_locked_and_written(tmp_path, name):
    path = os.path.join(str(tmp_path), os.fsdecode(name))
    with owned(path), replacing(path) as file:
        check_writable(path)
        file.write("x")
    assert os.listdir(os.fsencode(tmp_path)) == [name]


def test_streams_and_devices_have_no_owner():
    with owned(None, "-", "/dev/null") as one, owned(None, "-", "/dev/null") as two:
        assert one == two == []


def test_a_file_system_without_locks_is_told_and_nothing_removed(tmp_path, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    part = Path(beside(str(tmp_path / "m"), "01234567.part"))
    part.write_text("perhaps somebody's")
    with owned(tmp_path / "m") as unlocked:
        assert unlocked == [str(tmp_path / "m")]
    assert os.listdir(tmp_path) == [part.name]


def test_of_many_at_once_one_alone_has_the_lock(tmp_path):
    """Whoever waits for a lock file that its holder then removes has no lock at all."""
    inside, most, taken = [], [], []

    def compete():
        for _ in range(300):
            try:
                with owned(tmp_path / "m"):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
                    taken.append(1)
            except LssvmError:
                continue

    threads = [threading.Thread(target=compete) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(taken) > 100
    assert os.listdir(tmp_path) == []


def test_a_folder_that_does_not_exist_is_told(tmp_path):
    with (
        pytest.raises(LssvmError, match=r"the folder '.*no' does not exist"),
        owned(tmp_path / "no" / "m"),
    ):
        pass
