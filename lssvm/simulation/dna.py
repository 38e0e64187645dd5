"""DNA sequences of the experiments, written as FASTA for the application to read."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from lssvm.output.whole import replacing
from lssvm.simulation.background import LETTERS


def spelled(codes: np.ndarray) -> list[str]:
    """Rows of codes 0..3, (n, length), as n texts of A, C, G and T."""
    letters = np.frombuffer(LETTERS.encode(), dtype=np.uint8)[codes]
    return [row.tobytes().decode() for row in letters]


def write_fasta(path: Path, records: Iterable[tuple[str, str]]) -> None:
    """Write (header, letters) pairs. Raises LssvmError if the file cannot be written."""
    with replacing(path) as file:
        for header, letters in records:
            file.write(f">{header}\n{letters}\n")
