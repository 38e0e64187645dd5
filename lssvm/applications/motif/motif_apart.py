"""DNA sequences in files that are read apart: what the sequences of a share answer."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lssvm.applications.apart import Ask, Here, ReadsApart, Taught
from lssvm.applications.class_costs import factors_of
from lssvm.applications.motif import motif_start
from lssvm.applications.motif.motif_start import Sites
from lssvm.applications.motif.options import CLASSES
from lssvm.applications.motif.sequences import Reading, Sequences, read_sequences
from lssvm.applications.reading import Source
from lssvm.formats.fasta import AMBIGUOUS
from lssvm.kernels import _motif
from lssvm.plane import Plane


class MotifApart(ReadsApart[Sequences]):
    """Motif finding whose files are read one by one; it learns nothing from them but counts."""

    options: Any
    length: int
    both: bool

    @property
    @abstractmethod
    def _reading(self) -> Reading:
        """How sequences are read."""

    @property
    @abstractmethod
    def _kernel_dimension(self) -> int:
        """The number of weights as the kernel takes them."""

    @abstractmethod
    def _check_trainable(self, examples: Sequences) -> None:
        """Raise DataError for sequences that cannot be trained on."""

    @abstractmethod
    def _kernel_weights(self, w: np.ndarray) -> np.ndarray:
        """w as the kernel takes it."""

    @abstractmethod
    def _scan(self, task: int, weights: np.ndarray, examples: Sequences, top: int) -> Any:
        """The search of the kernel."""

    @abstractmethod
    def _features(
        self,
        examples: Sequences,
        y: np.ndarray,
        starts: np.ndarray,
        strands: np.ndarray,
        costs: np.ndarray | None = None,
    ) -> np.ndarray:
        """Σ c_i ψ as the kernel takes it."""

    @abstractmethod
    def _plane(self, gradient: np.ndarray, loss: float) -> Plane:
        """A plane over w from the kernel's gradient."""

    def usable(self, examples: Sequences) -> Sequences:
        """Without unusable sequences, if the options say so."""
        if not self.options.skip_unusable or np.all(examples.windows > 0):
            return examples
        kept = np.flatnonzero(examples.windows > 0)
        return replace(examples.take(kept), left_out=len(examples) - len(kept))

    def taught(self, source: Source) -> Taught:
        """How many sequences of each class there are. Raises DataError."""
        examples = self.usable(read_sequences([source], self._reading))
        counts = np.bincount(class_rows(examples.labels), minlength=len(CLASSES))
        return Taught(len(examples), counts)

    def learn_from(self, sources: Sequence[Source], taught: Sequence[Taught]) -> np.ndarray:
        """Nothing for the state; the plan is the factors of the costs of both classes."""
        counts = np.sum([each.facts for each in taught], axis=0)
        return factors_of(self.options.class_costs, counts, CLASSES)

    def read_share(self, sources: Sequence[Source], plan: np.ndarray, before: int) -> Sequences:
        """The sequences of neighbouring files, their costs those of training. Raises DataError."""
        found = self.usable(read_sequences(sources, self._reading))
        if not self.options.class_costs or not found.labelled:
            return found
        return replace(found, costs=found.costs * plan[class_rows(found.labels)])

    def start(self, examples: Sequences, rng: np.random.Generator) -> Plane:
        """Σ c_i ψ(x_i, +1, h_i) over the positives, h_i as the option ``initialisation`` says.

        Raises DataError if a positive has no window.
        """
        (plane,) = self.start_apart(Here(self, examples, whole=True), rng)
        return plane

    def start_apart(self, ask: Ask, rng: np.random.Generator) -> list[Plane]:
        """The same by shares: sites are looked for in all of them together."""
        sites = Sites.of(ask("start_facts"))
        rows = np.flatnonzero(sites.labels > 0)
        starts = np.full(len(sites.labels), -1, dtype=np.int64)
        strands = np.zeros(len(sites.labels), dtype=np.int8)
        if self.options.initialisation == "random":
            windows = sites.windows[rows]
            strands[rows], starts[rows] = np.divmod(
                rng.integers(0, windows * (1 + self.both)), np.maximum(windows, 1)
            )
            return ask("start_at_ranks", each=sites.parted(starts, strands))
        if len(rows):
            trials = motif_start.drawn_windows(
                sites.windows, rows, 1 + self.both, rng, self.options.trials
            )
            starts, strands = motif_start.found_sites(ask, sites, self.length, trials, self.both)
        return ask("start_at", each=sites.parted(starts, strands))

    def start_facts(
        self, examples: Sequences
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Labels, costs and windows of sequences, and how often each letter is there.

        Raises DataError if they cannot be trained on.
        """
        self._check_trainable(examples)
        letters = np.bincount(examples.flat, minlength=5)[:4]
        return examples.labels, examples.costs, examples.windows, letters

    def best_windows(
        self, examples: Sequences, matrix: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Start, strand and score of the best window of each sequence by a matrix (l, 4) alone."""
        weights = np.zeros(self._kernel_dimension)
        weights[: matrix.size] = matrix.ravel()
        _, _, _, starts, strands, scores = self._scan(_motif.PREDICT, weights, examples, 1)
        return starts[:, 0], strands[:, 0], scores[:, 0]

    def window_letters(
        self, examples: Sequences, windows: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> list[np.ndarray]:
        """The letters (l,) of windows. windows : sequences, ranks of starts, and strands"""
        rows, ranks, strands = windows
        starts = examples.nth_window(rows, ranks, self.length)
        found = zip(rows, starts, strands, strict=True)
        return [examples.site(row, start, self.length, strand) for row, start, strand in found]

    def site_counts(self, examples: Sequences, sites: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """The letters at sites and on both sides of them. sites : starts and strands, (n,) each"""
        return motif_start.site_counts(examples, self.length, *sites)

    def start_at_ranks(self, examples: Sequences, sites: tuple[np.ndarray, np.ndarray]) -> Plane:
        """Σ c_i ψ(x_i, +1, h_i). sites : ranks of starts, and strands, of all sequences"""
        ranks, strands = sites
        rows = np.flatnonzero(examples.labels > 0)
        starts = ranks.copy()
        starts[rows] = examples.nth_window(rows, ranks[rows], self.length)
        return self.start_at(examples, (starts, strands))

    def start_at(self, examples: Sequences, sites: tuple[np.ndarray, np.ndarray]) -> Plane:
        """Σ c_i ψ(x_i, +1, h_i). sites : starts and strands of all sequences"""
        return self._plane(self._features(examples, examples.labels, *sites), 0.0)

    def summary(self, w: np.ndarray, examples: Sequences) -> dict[str, np.ndarray]:
        """The arrays that turn the weights into probabilities, see ``motif_matrix``.

        sites : (l, 4) int64, letters at the completed sites of the training positives
        frequencies : (4,), letter frequencies of the training set, one of each letter added
        background_scores : (4,), mean background weight of a letter over its contexts

        If both strands are read, the letters of both count.
        """
        return self.summary_apart(Here(self, examples), w)

    def summary_apart(self, ask: Ask, w: np.ndarray) -> dict[str, np.ndarray]:
        """The same by shares."""
        sites, counts = (sum(parts) for parts in zip(*ask("summary_counts", w), strict=True))
        background = self._kernel_weights(w)[4 * self.length :]
        totals = counts.reshape(-1, 4).sum(axis=0)
        weighted = (counts * background).reshape(-1, 4).sum(axis=0)
        if self.both:
            weighted = (weighted + weighted[::-1]) / 2
        return {
            "sites": sites,
            "frequencies": (totals + 1) / (totals.sum() + 4),
            "background_scores": weighted / np.maximum(totals, 1),
        }

    def summary_counts(self, examples: Sequences, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Letters (l, 4) at the sites of positives, and the letters of each context."""
        self._check_trainable(examples)
        weights = self._kernel_weights(w)
        _, _, y, starts, strands, _ = self._scan(_motif.COMPLETE, weights, examples, 1)
        sites = self._features(examples, y, starts[:, 0], strands[:, 0], np.ones(len(examples)))
        whole = slice(examples.offsets[0], examples.offsets[-1])
        known = examples.flat != AMBIGUOUS
        size = len(weights) - 4 * self.length
        counts = np.bincount(examples.contexts[whole][known], minlength=size)
        if self.both:
            counts += np.bincount(examples.opposite[whole][known], minlength=size)
        return np.rint(sites[: 4 * self.length]).astype(np.int64).reshape(-1, 4), counts


def class_rows(labels: np.ndarray) -> np.ndarray:
    """Rows of ``CLASSES``, (n,), of labels +1 and -1."""
    return (labels > 0).astype(np.int64)
