"""Names of features that are made when they are asked for: there may be millions."""

from collections.abc import Sequence
from typing import overload


class NumberedNames(Sequence[str]):
    """``feature 1``, ``feature 2`` …, as files count, as many as there may be."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[j] for j in range(*index.indices(len(self)))]
        return f"feature {range(len(self))[index] + 1}"


class ColumnNames(Sequence[str]):
    """``feature 1 × a``, ``feature 1 × b`` … for features as files count, ``bias × a`` …"""

    def __init__(self, features: int, bias: bool, columns: Sequence[str]) -> None:
        self._features, self._bias, self._columns = features, bias, columns

    def __len__(self) -> int:
        return (self._features + self._bias) * len(self._columns)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[j] for j in range(*index.indices(len(self)))]
        feature, column = divmod(range(len(self))[index], len(self._columns))
        name = "bias" if feature == self._features else f"feature {feature + 1}"
        return f"{name} × {self._columns[column]}"
