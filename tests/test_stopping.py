"""A signal ends a command at once, in one line, and leaves nothing half-made."""

import os
import signal
import subprocess
import sys

import pytest

START = "import os, signal, sys\nfrom lssvm.output import stopping\nstopping.arm()\n"
NUMBERS = [signal.SIGINT, signal.SIGTERM]


def ran(code, *, redirect="", cwd=None):
    """Exit code, standard output and standard error of a program that stops itself."""
    line = ["sh", "-c", f'exec "$@" {redirect}', "sh", sys.executable, "-c", START + code]
    done = subprocess.run(line, capture_output=True, text=True, cwd=cwd, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("number", NUMBERS)
def test_a_stopped_program_says_so_and_ends_with_128_and_its_number(number):
    code = f"""
stopping.tell(lambda: "nothing was written")
class Late:
    def __del__(self):
        os.kill(os.getpid(), {int(number)})  # an exception would be lost here
Late()
print("not reached", flush=True)
"""
    line = f"stopped by {number.name}; nothing was written\n"
    assert ran(code) == (128 + number, "", line)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "end", ["with replacing('f') as file: file.write('new'); stop()", "write_folder('d', files())"]
)
def test_nothing_half_written_stays(number, end, tmp_path):
    (tmp_path / "f").write_text("old")
    code = f"""
from lssvm.output.locks import owned
from lssvm.output.whole import replacing, write_folder
def stop():
    os.kill(os.getpid(), {int(number)})
def files():
    yield "a", b"1"
    stop()
with owned("f", "d"):
    {end}
"""
    assert ran(code, cwd=tmp_path)[0] == 128 + number
    assert os.listdir(tmp_path) == ["f"]
    assert (tmp_path / "f").read_text() == "old"


def test_an_ignored_signal_stays_ignored():
    code = "os.kill(os.getpid(), signal.SIGINT)\nprint('on')"
    line = [sys.executable, "-c", START + code]
    ignoring = f"import os, signal; signal.signal(2, signal.SIG_IGN); os.execv({line[0]!r}, {line})"
    done = subprocess.run([sys.executable, "-c", ignoring], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"on\n", b"")


def test_the_line_goes_nowhere_if_standard_error_is_closed(tmp_path):
    """Its number may be that of a file which was opened since."""
    code = "file = open('f', 'w')\nassert file.fileno() == 2\nos.kill(os.getpid(), 15)"
    assert ran(code, redirect="2>&-", cwd=tmp_path) == (143, "", "")
    assert (tmp_path / "f").read_text() == ""


def test_a_signal_that_comes_in_a_block_that_holds_it_back_ends_the_program_after_it():
    code = """
with stopping.held_back():
    os.kill(os.getpid(), signal.SIGTERM)
    stopping._end(signal.SIGTERM, None)  # as when another thread took it
    print("whole", flush=True)
print("not reached", flush=True)
"""
    assert ran(code) == (143, "whole\n", "stopped by SIGTERM\n")


def test_what_a_plug_in_forked_ends_alone():
    code = """
with stopping.at_stop(lambda: print("cleaned", flush=True)):
    child = os.fork()
    if not child:
        os.kill(os.getpid(), signal.SIGTERM)
    print(os.waitpid(child, 0)[1] >> 8, flush=True)
"""
    assert ran(code) == (0, "143\n", "")


def test_a_signal_after_the_end_changes_nothing():
    code = "stopping.finish()\nos.kill(os.getpid(), 2)\nos.kill(os.getpid(), 15)\nprint('done')"
    assert ran(code) == (0, "done\n", "")


@pytest.mark.parametrize("door", ["learn", "classify", "main"])
@pytest.mark.parametrize("number", NUMBERS)
def test_commands_are_armed_before_they_are_imported(door, number):
    code = f"""
import importlib.abc
class Stop(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "click":
            os.kill(os.getpid(), {int(number)})
sys.meta_path.insert(0, Stop())
signal.signal(2, signal.default_int_handler), signal.signal(15, signal.SIG_DFL)
stopping._process = 0
from lssvm.cli.program import {door}
{door}()
"""
    assert ran(code) == (128 + number, "", f"stopped by {number.name}\n")
