"""The parts of a simulation: its options, its files, and the function that writes them."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from lssvm.errors import LssvmError


class Option(NamedTuple):
    """A number that a simulation depends on: ``n_test`` is ``--n-test`` of the command line."""

    name: str
    default: int | float
    text: str
    metavar: str | None = None


class Simulation(NamedTuple):
    """A kind of simulated data.

    text : one sentence about the data
    options : the arguments of the function ``write`` besides the folder and ``seed``
    data : the files that ``write`` writes, by their paths in the folder
    configurations : files for lssvm-learn beside them, by name, with their content, in which
        ``$width`` stands for the value of the option ``width``
    write : write(folder, seed=..., **options) writes the data and returns a text for the terminal
        about them, above all the best possible error; the same seed and options give the same
        bytes. Raises LssvmError.
    """

    text: str
    options: tuple[Option, ...]
    data: tuple[str, ...]
    configurations: dict[str, str]
    write: Callable[..., str]

    @property
    def files(self) -> tuple[str, ...]:
        """All files, by their paths in the folder."""
        return (*self.data, *self.configurations)

    def simulate(self, folder: Path, seed: int = 0, **options: int | float) -> str:
        """Write data and configurations into the folder; returns a text about the data.

        Raises LssvmError for impossible sizes and if the folder cannot be written.
        """
        from string import Template  # slow for a help text, as are UUIDs and hashes

        from lssvm.output.whole import replacing

        told = self.write(folder, seed=seed, **options)
        values = {option.name: option.default for option in self.options} | options
        for name, text in self.configurations.items():
            with replacing(folder / name) as file:
                file.write(Template(text).substitute(values))
        return told


def begin(folder: Path, **sizes: int) -> None:
    """Check that sizes are at least 1, then make the folder. Raises LssvmError."""
    for name, size in sizes.items():
        if size < 1:
            raise LssvmError(f"{name} must be at least 1, got {size}")
    from lssvm.output.tables import make_folder  # NumPy and rich: slow for a help text

    make_folder(folder)
