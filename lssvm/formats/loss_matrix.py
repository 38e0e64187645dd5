"""Loss matrices as text: the cost of predicting one label if another one is true.

The first line names the labels; then there is one line for each of them, in any order: the true
label, and the loss of each label in the order of the first line. They are separated only by tabs if
the file has tabs, otherwise by blanks (see ``separators``); with tabs, the first line may begin
with an empty column. ``#`` begins a comment.

    #       cat  dog  car
            cat  dog  car
    cat       0    1    5
    dog       1    0    5
    car       5    5    0
"""

from pathlib import Path

import numpy as np

from lssvm.errors import DataError, counted
from lssvm.formats import tokens
from lssvm.formats.separators import Separator, check_filled, without_comment
from lssvm.formats.text import open_text


def read_loss_matrix(path: str | Path) -> tuple[tuple[str, ...], np.ndarray]:
    """The labels, and the losses (labels, labels) of a true label (row) and another one.

    Raises DataError, with the line, for rows that are missing, repeated or of another length,
    for losses that are negative or not finite and for a diagonal that is not 0.
    """
    labels: dict[str, int] = {}
    rows: dict[str, list[float]] = {}
    separator = Separator()
    with open_text(path) as lines:
        for number, line in lines:
            try:
                words = separator.cells(number, without_comment(line))
                if words and not labels:
                    labels = _header(words)
                elif words:
                    rows[words[0]] = _row(words, labels, rows, separator)
            except ValueError as error:
                raise DataError(path, number, error) from None
    if not labels:
        raise DataError(path, None, "no labels; expected a line that names them")
    missing = [label for label in labels if label not in rows]
    if missing:
        raise DataError(path, None, f"no row for label {missing[0]!r}; expected one for each label")
    return tuple(labels), np.array([rows[label] for label in labels])


def _header(words: list[str]) -> dict[str, int]:
    """The places of the labels. Raises ValueError with what is wrong."""
    words = words[1:] if not words[0] else words
    check_filled(words, ())
    places: dict[str, int] = {}
    for word in words:
        if word in places:
            raise ValueError(f"label {word!r} is named twice; expected distinct labels")
        places[word] = len(places)
    return places


def _row(
    words: list[str], labels: dict[str, int], rows: dict[str, list[float]], separator: Separator
) -> list[float]:
    """The losses of a line. Raises ValueError with what is wrong."""
    check_filled(words, ("label",))
    truth, *losses = words
    if truth not in labels:
        raise ValueError(f"label {truth!r} is not in the first line; expected one that is")
    if truth in rows:
        raise ValueError(f"label {truth!r} has a row already; expected one row for each label")
    if len(losses) != len(labels):
        raise ValueError(
            f"{counted(len(losses), 'loss', 'losses')} of {truth!r}{separator.means}; "
            f"expected {len(labels)}, one for each label"
        )
    values = [_loss(word) for word in losses]
    own = values[labels[truth]]
    if own != 0.0:
        raise ValueError(f"the loss of {truth!r} where it is true is {own:g}; expected 0")
    return values


def _loss(word: str) -> float:
    value = tokens.finite(word, "loss")
    if value < 0:
        raise ValueError(f"loss {tokens.cut(word)!r} is negative; expected at least 0")
    return value
