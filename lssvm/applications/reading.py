"""Reading of data, and the state that is learnt from the first data."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic

import numpy as np

from lssvm.checked import known
from lssvm.errors import DataError, LssvmError
from lssvm.formats.limit import DEFAULT, Limit
from lssvm.formats.skipping import Skipped
from lssvm.formats.text import STDIN
from lssvm.problem import E


@dataclass(frozen=True)
class Source:
    """One file of a data set, as the configuration gives it.

    path : file to read, ``-`` for standard input
    label : the label of all its examples, or None if the file itself has labels
    cost : the cost c_i of its examples where the file gives none
    limit : how large it may be; readers observe it
    """

    path: str
    label: str | None = None
    cost: float = 1.0
    limit: Limit = DEFAULT

    @property
    def is_stdin(self) -> bool:
        """Whether it is standard input, which other processes do not have."""
        return self.path == STDIN


class Reader(ABC, Generic[E]):
    """Reads examples. What it learns permanently from the first ones is its ``state``."""

    # The entries that ``lssvm init`` writes under ``data``, by split.
    starter_files: ClassVar[Mapping[str, Sequence[Any]]] = {
        "train": ["train.txt"],
        "test": ["test.txt"],
    }

    @abstractmethod
    def read(self, sources: Sequence[Source]) -> E:
        """The examples of the sources, in order. Raises DataError.

        The first data that an application reads are the training data: what it learns permanently
        from them (names of labels and of features) is its ``state``.
        """

    def examples_from(self, *data: Any, **keywords: Any) -> E:
        """Examples from arrays and lists in memory, packed as :meth:`read` packs those of files.

        Each application says in its own ``examples_from`` what it takes: X, what y is there, and
        the costs c_i as ``costs``. As with ``read``, the first examples are those of training.

        Raises LssvmError for what cannot be used, and by default for everything.
        """
        raise LssvmError(f"{type(self).__name__} reads files only; expected read(sources)")

    @classmethod
    def companions(cls, path: str) -> Iterable[str]:
        """Further files that are opened when ``path`` is read, such as images that it names.

        For a folder, if folders can be read, these are its files. No files by default. Nothing
        is raised: errors in a file are reported by ``read``.
        """
        return ()

    def state(self) -> dict[str, np.ndarray]:
        """The result of the first ``read``, as arrays for the model (nothing by default)."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the ``state`` of a model, before anything is read.

        Raises ModelError (see ``checked``) for any array that :meth:`state` cannot return: arrays
        for kernels are checked only here.
        """
        known(state)

    def known_dimension(self) -> int | None:
        """d, if options and state determine it; None if only examples do."""
        return None

    def for_training(self, examples: E) -> E:
        """The examples for training, by default unchanged.

        Changes for training only: costs by class, examples that are left out.
        """
        return examples

    def groups(self, examples: E) -> np.ndarray | None:
        """The class of each example, (n,) int, by which folds are stratified; or None."""
        return None

    def group_name(self, examples: E, group: int) -> str:
        """The name of a class of :meth:`groups`."""
        return str(group)

    def scale_warnings(self, examples: E) -> list[str]:
        """A warning about features whose scales differ much, which makes training slow."""
        return []

    def warnings(self, examples: E) -> list[str]:
        """Warnings about a data set, one sentence each."""
        return []


def read_without_bad(
    application: Callable[[], Any], sources: Sequence[Source], most: int
) -> tuple[Any, Any, list[str]]:
    """Read sources without bad examples: the application, its examples, and what was skipped.

    application : returns the application that reads; it is asked again after every bad example,
        because one that has met a bad example may have learnt from it
    most : how many may be skipped; with more of them the last one's DataError is raised
    """
    skipped = Skipped(most)
    if most:
        sources = [
            replace(source, limit=replace(source.limit, skipped=skipped)) for source in sources
        ]
    while True:
        own = application()
        try:
            return own, own.read(sources), skipped.told
        except DataError as error:
            skipped.add(error)


def labelled_part(examples: Any) -> Any:
    """The examples whose true outputs are known; None if there are none.

    An example with an unknown output, ``?`` in files, is predicted like any other, but not scored.
    """
    if examples.labelled:
        return examples
    known = np.flatnonzero(getattr(examples, "known", ()))
    if not len(known):
        return None
    part = examples.take(known)
    return part if part.labelled else replace(part, labelled=True)
