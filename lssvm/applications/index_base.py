"""What the indices of features count from in SVM-light files: 1, or 0 where a model says so."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from lssvm import checked
from lssvm.applications.reading import Source
from lssvm.formats.svmlight import SvmLight

Choice = Literal["auto", 0, 1]
DESCRIPTION = (
    "what indices of features count from: 0 or 1; auto: from 0 if an index 0 occurs in training, "
    "else from 1 (kept with the model)"
)
_STATE = "index_base"


class IndexBase:
    """The base of an application: chosen, or found in the first files that it reads.

    known : 0 or 1; None before it is found
    """

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self.known: int | None = None if choice == "auto" else choice

    @property
    def base(self) -> int:
        """What indices count from, 1 as long as nothing was read."""
        return 1 if self.known is None else self.known

    @property
    def why(self) -> str:
        """Why 0 is no index where indices count from 1."""
        if self._choice == 1:
            return "as index_base is 1 (0 and auto take it)"
        return "as the model's indices count from 1 (index_base)"

    def read(
        self, sources: Sequence[Source], read: Callable[[Source, int | None, str], SvmLight]
    ) -> list[SvmLight]:
        """The files of sources, all with one base. Raises DataError.

        read : reads one, given base and why of :func:`read_svmlight`
        """
        files = [read(source, self.known, self.why) for source in sources]
        if self.known is None:
            self.known = min(file.base for file in files)
        return [file.counted_from(self.base) for file in files]

    def state(self) -> dict[str, np.ndarray]:
        """The array that a model keeps; none where indices count from 1."""
        return {} if self.base else {_STATE: np.array([0])}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what a model kept. Raises ModelError."""
        self.known = 1
        if _STATE in state:
            self.known = int(checked.array(state, _STATE, np.int64, (1,), least=0, most=0)[0])

    def warnings(self) -> list[str]:
        """That indices count from 0, where the data and not the options say so."""
        if self._choice == "auto" and self.known == 0:
            return ["an index 0 occurs in training, so indices count from 0 (index_base)"]
        return []
