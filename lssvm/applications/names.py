"""Names of weights and examples that are made on demand, because there may be millions."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import overload


class LazyNames(Sequence[str]):
    """Names by number. Subclasses define the number of names and each name."""

    @abstractmethod
    def name(self, place: int) -> str:
        """The name at a place, 0 to len − 1."""

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        places = range(len(self))[index]
        return self.name(places) if isinstance(places, int) else self.several(places)

    def several(self, places: range) -> list[str]:
        """The names at some places."""
        return list(map(self.name, places))


class NumberedNames(LazyNames):
    """``feature 1``, ``feature 2`` …, with the first index ``base``, without an upper limit."""

    def __init__(self, count: int, base: int = 1) -> None:
        self._count, self._base = count, base

    def __len__(self) -> int:
        return self._count

    def name(self, place: int) -> str:
        """The name at a place."""
        return f"feature {place + self._base}"


class ColumnNames(LazyNames):
    """``feature 1 × a``, ``feature 1 × b`` … as files count from ``base``, ``bias × a`` …"""

    def __init__(self, features: int, bias: bool, columns: Sequence[str], base: int = 1) -> None:
        self._features, self._bias, self._columns, self._base = features, bias, columns, base

    def __len__(self) -> int:
        return (self._features + self._bias) * len(self._columns)

    def name(self, place: int) -> str:
        """The name at a place."""
        feature, column = divmod(place, len(self._columns))
        name = "bias" if feature == self._features else f"feature {feature + self._base}"
        return f"{name} × {self._columns[column]}"
