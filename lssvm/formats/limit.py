"""The limit of the size of a file, which every reader observes."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lssvm.errors import DataError

DEFAULT_MAX_MB = 1000.0  # where nothing else is said
_BYTES = 1_000_000  # of a megabyte


@dataclass(frozen=True)
class Limit:
    """Largest size of a file after decompression, in megabytes (10⁶ bytes).

    key : the setting that raises the limit, for messages; empty where there is none
    skipped : a :class:`lssvm.formats.skipping.Skipped`, if bad examples may be left out
    """

    megabytes: float = DEFAULT_MAX_MB
    key: str = field(default="", compare=False)
    skipped: Any = field(default=None, compare=False, repr=False)

    @property
    def bytes(self) -> int:
        """The limit in bytes."""
        return int(self.megabytes * _BYTES)

    def exceeded(self, path: str | Path, line: int | None = None, what: str = "it") -> DataError:
        """The error for a file that is larger, or that needs more memory.

        what : takes more than the limit
        """
        raised = f" ({self.key} raises the limit)" if self.key else ""
        message = f"{what} takes more than {self.megabytes:,g} MB; expected at most that{raised}"
        return DataError(path, line, message)

    def check(self, path: str | Path, size: int, what: str = "it") -> None:
        """Raise DataError if ``size`` bytes are more than the limit."""
        if size > self.bytes:
            raise self.exceeded(path, None, what)


DEFAULT = Limit()
