"""Names such as /dev/stdout that stand for what is open already.

Opened anew, a file behind such a name would be written from its start once more, and a pipe has
no other name. So the open descriptor itself is used.
"""

import os
import re
from pathlib import Path

_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_NUMBERED = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,9})")


def descriptor_of(path: str | Path) -> int | None:
    """The number of the descriptor that a path stands for; None for a path like any other."""
    found = _NUMBERED.fullmatch(str(path))
    return int(found[1]) if found else _STANDARD.get(str(path))


def place_of(path: str | Path) -> str | Path | int:
    """What ``open`` takes: the path, or a new descriptor of what it stands for.

    Raises OSError if that is not open.
    """
    number = descriptor_of(path)
    return path if number is None else os.dup(number)
