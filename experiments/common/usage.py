"""What a process of its own takes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from lssvm.errors import LssvmError

ROOT = Path(__file__).parents[2]


class Usage(NamedTuple):
    """CPU seconds, user and system, and the peak of resident memory in MB."""

    seconds: float
    MB: float


def usage(*arguments: str) -> Usage:
    """What ``python arguments …`` takes, its start included.

    The peak is at least that of the process that calls, because the system counts from there.
    Raises LssvmError if it does not succeed.
    """
    # Compiled modules are kept, as in an installed package.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise LssvmError(f"exit code {process.returncode} of: {' '.join(arguments)}")
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
