"""How an application reads data, and what it keeps of the first ones."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic

import numpy as np

from lssvm.checked import known
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.problem import E


@dataclass(frozen=True)
class Source:
    """One file of a data set, as the configuration gives it.

    path : file to read, ``-`` for standard input
    label : the label of all its examples, or None if the file itself has labels
    cost : the cost c_i of its examples where the file gives none
    limit : how large it may be, which readers keep to
    """

    path: str
    label: str | None = None
    cost: float = 1.0
    limit: Limit = DEFAULT


class Reader(ABC, Generic[E]):
    """Reads examples. What it learns from the first ones for good is its ``state``."""

    # What ``lssvm init`` writes under ``data``: entries by split.
    starter_files: ClassVar[Mapping[str, Sequence[Any]]] = {
        "train": ["train.txt"],
        "test": ["test.txt"],
    }

    @abstractmethod
    def read(self, sources: Sequence[Source]) -> E:
        """The examples of the sources, in order. Raises DataError.

        The first data that an application reads are those to train on: what it learns from them
        for good (names of labels and of features) is its ``state``.
        """

    @classmethod
    def companions(cls, path: str) -> Iterable[str]:
        """Files that reading ``path`` opens besides, such as images that it names.

        Of a folder, where folders can be read, the files in it. None by default. Nothing is
        raised: what is wrong with a file, ``read`` tells.
        """
        return ()

    def state(self) -> dict[str, np.ndarray]:
        """What the first ``read`` fixed, as arrays that the model keeps (nothing by default)."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over the ``state`` of a model, before anything is read.

        Raises ModelError (see ``checked``) for any array that :meth:`state` would not have given:
        what a kernel is handed is checked here or nowhere.
        """
        known(state)

    def known_dimension(self) -> int | None:
        """d as options and state fix it; None where only examples do."""
        return None

    def for_training(self, examples: E) -> E:
        """The examples as they are trained on, by default as they are.

        What training alone does to them: costs by class, examples that it leaves out.
        """
        return examples

    def groups(self, examples: E) -> np.ndarray | None:
        """The class of each example, (n,) int, by which folds are stratified; or None."""
        return None

    def group_name(self, examples: E, group: int) -> str:
        """What a class of :meth:`groups` is called."""
        return str(group)

    def warnings(self, examples: E) -> list[str]:
        """What looks wrong with a data set, one sentence each."""
        return []


def labelled_part(examples: Any) -> Any:
    """The examples whose true outputs are known, as labelled ones; None if there are none.

    An example without its output, ``?`` in files, has a prediction like any other and no score.
    """
    if examples.labelled:
        return examples
    known = np.flatnonzero(getattr(examples, "known", ()))
    if not len(known):
        return None
    part = examples.take(known)
    return part if part.labelled else replace(part, labelled=True)
