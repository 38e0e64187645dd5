"""The first index of features in SVM-light files: 1, or 0 if the options or the data say so."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from lssvm import checked
from lssvm.applications.reading import Source
from lssvm.formats.svmlight import SvmLight

Choice = Literal["auto", 0, 1]
DESCRIPTION = (
    "first index of features: 0 or 1; auto: 0 if an index 0 occurs in training, otherwise 1 (the "
    "model keeps it)"
)
_STATE = "index_base"


class IndexBase:
    """The first feature index: given by the options, or found in the first files that are read.

    known : the first index, 0 or 1; None as long as it is unknown
    """

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self.known: int | None = None if choice == "auto" else choice

    @property
    def base(self) -> int:
        """The first index; it is 1 as long as no file was read."""
        return 1 if self.known is None else self.known

    @property
    def why(self) -> str:
        """The reason, for a message, why index 0 is refused if indices count from 1."""
        if self._choice == 1:
            return "because index_base is 1 (0 and auto accept it)"
        return "because the indices of the model count from 1 (index_base)"

    def read(
        self, sources: Sequence[Source], read: Callable[[Source, int | None, str], SvmLight]
    ) -> list[SvmLight]:
        """Read the files of sources; all have the same first index. Raises DataError.

        read : a function that reads one file, with the arguments ``base`` and ``why`` of
            :func:`read_svmlight`
        """
        files = [read(source, self.known, self.why) for source in sources]
        if self.known is None:
            self.known = min(file.base for file in files)
        return [file.counted_from(self.base) for file in files]

    def state(self) -> dict[str, np.ndarray]:
        """The array that a model keeps; there is none if indices count from 1."""
        return {} if self.base else {_STATE: np.array([0])}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the first index from a model. Raises ModelError."""
        self.known = 1
        if _STATE in state:
            self.known = int(checked.array(state, _STATE, np.int64, (1,), least=0, most=0)[0])

    def warnings(self) -> list[str]:
        """A warning if indices count from 0 because of the data, and not because of the options."""
        if self._choice == "auto" and self.known == 0:
            return ["an index 0 occurs in training, so indices count from 0 (index_base)"]
        return []
