"""Names of weights and examples that are made when they are asked for: there may be millions."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import overload


class LazyNames(Sequence[str]):
    """Names by number. Subclasses say how many there are and what one is called."""

    @abstractmethod
    def name(self, place: int) -> str:
        """The name at a place, 0 to len − 1."""

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        places = range(len(self))[index]
        return self.name(places) if isinstance(places, int) else list(map(self.name, places))
