"""Parsing with a weighted context-free grammar (Tsochantaridis et al., ICML 2004, section 4.5).

x is a sentence with its parts of speech, y its tree. The joint features count the rules of the
tree, as they are read off the training trees (see ``grammar``), and declared features of brackets
and their words, which no generative grammar can have; w · Φ is the sum of their weights, and the
best tree is found by CKY. With ``tags: predicted`` parts of speech belong to y, and have features
of their words.

Brackets are those of evalb: neither the root nor parts of speech. Δ is one of

- ``zero_one``: 1 if the tree is wrong. The best tree that differs from the true one is exact;
- ``brackets``: the number of predicted brackets that are wrong. With margin rescaling and linear
  slack it is exact in the chart, each true bracket matching as often as it is there;
- ``f1``: 1 − F1 of the brackets, and ``brackets`` in all other forms: by bounds (see
  ``_parsing_bounds.h``), which give the best tree that was seen and a proved upper bound of the
  maximum. Where there is a gap between them, the brackets of all trees that the bounds do not
  exclude are counted (``_parsing_exact.h``), which is exact; only if these trees are too many, or
  the sentence is longer than ``exact_words``, the gap remains.

With ``model: crf`` it is a conditional random field: U⁺ = log Z and Δ ≡ 0, by inside and outside
sums. Ties are broken as ``_parsing`` says. The derivation of a tree is what counts (see
``grammar``); a tree has one unless ``binarisation`` is ``head``.

A sentence without a parse is predicted as a flat tree: the fewest brackets and words of the chart
that cover it, of these the best, below the root. Such sentences are counted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, TextIO

import numpy as np
from scipy import sparse

from lssvm.applications import base
from lssvm.applications.parsing import bracket_metrics, predicted_trees, searching
from lssvm.applications.parsing.bracket_metrics import Brackets
from lssvm.applications.parsing.examples import Treebank, joined_trees, trees_alone
from lssvm.applications.parsing.features import FeatureMap, ParsingNames
from lssvm.applications.parsing.given_trees import FromTrees
from lssvm.applications.parsing.parsing_explaining import ParsingExplainer
from lssvm.applications.parsing.parsing_options import ParsingOptions
from lssvm.applications.parsing.parsing_written import TreesWritten
from lssvm.applications.parsing.predicted_trees import Predictions, Texts
from lssvm.applications.parsing.reading import (
    FileRead,
    Learnt,
    files_of,
    read_treebank,
    treebank_of,
    treebank_parts,
)
from lssvm.applications.parsing.searching import Found
from lssvm.applications.parsing.trees_apart import TreesApart
from lssvm.applications.parts import InParts
from lssvm.errors import DataError, LssvmError, ModelError, counted
from lssvm.formats.penn_trees import TreeFile
from lssvm.kernels import _parsing
from lssvm.plane import Plane

CRF = "crf"
MOST_TREES = 1000


class GrammarParsing(
    FromTrees,
    ParsingExplainer,
    TreesWritten,
    TreesApart,
    base.Application[Treebank, Predictions],
    base.ByExample[Treebank],
    InParts[Treebank, Predictions],
):
    """The base of applications of parsing."""

    Options: ClassVar[type[base.Options]] = ParsingOptions
    starter_files: ClassVar = {"train": ["train.ptb"], "test": ["test.ptb"]}

    def __init__(
        self, options: ParsingOptions, formulation: base.Formulation | None = None
    ) -> None:
        super().__init__(options, formulation or base.Formulation("ssvm"))
        self.learnt: Learnt | None = None
        self._map: FeatureMap | None = None
        form = self.formulation
        if not form.hard and (form.rescaling == "slack" or form.slack_norm != 1):
            raise LssvmError(
                f"model {form.model} has no slack; expected rescaling: margin, slack_norm: 1"
            )
        if options.loss == "f1":
            form.margin(np.array([0.5]))  # refuses what does not fit without slack
        if options.binarisation == "head" and options.heads is None:
            raise LssvmError(
                "application.heads: missing; expected the name of a file with a head table for "
                "binarisation: head"
            )
        tagged = [name for name in options.span_features if "tag" in name]
        if options.tags == "predicted" and tagged:
            raise LssvmError(
                f"application.span_features: {tagged[0]} needs tags: given; expected features of "
                "words and lengths"
            )

    @property
    def parts(self) -> int:
        """Parts of each symbol."""
        return 1

    @classmethod
    def companions(cls, path: str) -> Iterable[str]:
        """The files of a folder."""
        with suppress(DataError):
            yield from (file for file in files_of(path) if file != path)

    def read(self, sources: Sequence[base.Source]) -> Treebank:
        """The trees of files and folders; the first ones determine the grammar. Raises DataError.

        A sentence without a tree has ``?`` as the label of its outermost bracket.
        """
        examples, learnt = read_treebank(sources, self.own, self.learnt)
        self.learnt = learnt
        return examples

    def read_parts(self, sources: Sequence[base.Source]) -> Iterator[Treebank]:
        """The trees of :meth:`read` in parts. Raises DataError."""
        if self.learnt is None:
            yield self.read(sources)
        else:
            yield from treebank_parts(sources, self.own, self.learnt)

    def kept(self, examples: Treebank, predictions: Predictions) -> tuple[Treebank, Predictions]:
        """The true trees, and the best ones."""
        return trees_alone(examples), predictions.best()

    def joined(self, parts: Sequence[tuple[Treebank, Predictions]]) -> tuple[Treebank, Predictions]:
        """The trees of all parts."""
        found = predicted_trees.joined([predictions for _, predictions in parts])
        return joined_trees([examples for examples, _ in parts]), found

    def packed(
        self, files: Sequence[tuple[str, int, TreeFile]], sources: Sequence[base.Source]
    ) -> Treebank:
        """As ``read``, for files that were read. Raises DataError."""
        read = [FileRead(*file) for file in files]
        examples, self.learnt = treebank_of(read, sources, self.own, self.learnt)
        return examples

    @property
    def own(self) -> ParsingOptions:
        """The options."""
        assert isinstance(self.options, ParsingOptions)
        return self.options

    @property
    def features(self) -> FeatureMap:
        """Φ for the grammar of training. Raises LssvmError before anything was read."""
        if self._map is None:
            if self.learnt is None:
                raise LssvmError("there is no grammar yet; expected training trees first")
            grammar = self.learnt.grammar.arrays(self.parts, self.own.longest_chain)
            self._map = FeatureMap(self.learnt, grammar)
        return self._map

    def state(self) -> dict[str, np.ndarray]:
        """The grammar, and the values of features."""
        return {} if self.learnt is None else self.learnt.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the grammar of a model. Raises ModelError."""
        self.learnt = Learnt.from_state(self.own, state)
        try:
            _ = self.features
        except (ValueError, LssvmError) as error:
            raise ModelError(str(error)) from None

    def known_dimension(self) -> int | None:
        """As ``dimension``."""
        return None if self.learnt is None else self.features.places[2]

    def dimension(self, examples: Treebank) -> int:
        """Rules by parts, features of words by tags, and features of spans by labels."""
        return self.features.places[2]

    def feature_names(self) -> Sequence[str]:
        """``S → NP VP`` for rules, ``word=dog : NN``, ``length=3 : NP``."""
        return () if self.learnt is None else ParsingNames(self.features)

    def work(self, examples: Treebank) -> np.ndarray:
        """About ns: pairs of children times splits of spans, and what each span takes."""
        grammar = self.features.grammar
        pairs, n = grammar.flat[2][5], examples.lengths.astype(np.float64)
        charts = 0.3 * pairs * (0.3 * n**3 / 6 + 8 * n) + grammar.flat[2][0] * n * n
        soft = 1.0 if self.formulation.hard else 6.0
        counted = 2.0 if self.own.loss == "f1" and self.formulation.hard else 1.0
        return soft * counted * charts + 1.0

    def completed(self, w: np.ndarray, examples: Treebank) -> Plane:
        """Σ c_i U⁻_i."""
        found = self._search(_parsing.TRUTH, w, examples)
        return Plane(self._summed(examples, found, examples.costs), 0.0)

    def augmented(self, w: np.ndarray, examples: Treebank) -> tuple[Plane, float]:
        """Σ c_i U⁺_i, and an upper bound, which is its value where inference is exact."""
        found = self._augmented(w, examples)
        gradient = self._rescaled(examples, found, examples.costs)
        plane = Plane(gradient, float(examples.costs @ found.margins))
        gap = float(examples.costs @ np.maximum(found.uppers - found.values, 0.0))
        return plane, plane.value(w) + gap

    def augmented_each(self, w: np.ndarray, examples: Treebank) -> base.Maxima:
        """U⁺_i of each sentence; ``outputs`` are rules and their offsets.

        Raises LssvmError for a model that sums over trees.
        """
        self._check_hard()
        found = self._augmented(w, examples)
        return base.Maxima(found.values, found.margins, found.uppers, found)

    def completed_each(self, w: np.ndarray, examples: Treebank) -> base.Maxima:
        """U⁻_i of each sentence; as ``augmented_each``."""
        self._check_hard()
        found = self._search(_parsing.TRUTH, w, examples)
        return base.Maxima(found.values, found.margins, found.values, found)

    def gradients(
        self, examples: Treebank, found: base.Maxima, rows: np.ndarray
    ) -> sparse.csr_array:
        """Φ of the derivations that were found, (len(rows), d), without costs.

        With slack rescaling L Φ(x, ŷ) + (1 − L) Φ(x, y).
        """
        rows = np.asarray(rows, dtype=np.int64)
        size, chosen = self.dimension(examples), found.outputs.part(rows)
        own, ones = examples.take(rows), np.ones(len(rows))
        entries = self.features.entries(own, chosen.rules, chosen.offsets)
        if self.formulation.rescaling != "slack":
            return entries.matrix(ones, size)
        truth = self._search(_parsing.TRUTH, np.zeros(size), own)
        others = self.features.entries(own, truth.rules, truth.offsets)
        share = chosen.margins
        both = searching.joined((entries, share), (others, 1.0 - share))
        return both.matrix(ones, size)

    def _check_hard(self) -> None:
        if not self.formulation.hard:
            raise LssvmError(
                f"model {self.formulation.model} has no planes by example; expected solver.method: "
                "bundle or lbfgs"
            )

    def _search(self, task: int, w: np.ndarray, examples: Treebank) -> Found:
        if task != _parsing.PREDICT:
            self._check_trainable(examples)
        self._check_room(examples)
        return searching.search(self.features, w, examples, task)

    def _augmented(self, w: np.ndarray, examples: Treebank) -> Found:
        """Loss-augmented inference. Raises DataError without true trees."""
        self._check_trainable(examples)
        self._check_room(examples)
        form, loss = self.formulation, self.own.loss
        if loss == "zero_one":
            return searching.search(self.features, w, examples, _parsing.ZERO_ONE)
        if loss == "brackets" and form.rescaling == "margin" and form.slack_norm != 2:
            return searching.search(self.features, w, examples, _parsing.ADDITIVE)
        kind = (int(loss == "f1"), int(form.slack_norm == 2), int(form.rescaling == "slack"))
        charged = (*kind, self.own.exact_words)
        return searching.search(self.features, w, examples, _parsing.BOUNDED, charged)

    def _check_trainable(self, examples: Treebank) -> None:
        lost = np.flatnonzero(~examples.made)
        if len(lost):
            row = int(lost[0])
            what = "has a tree that the grammar does not make"
            if not examples.known[row]:
                what = "has no tree"
            raise examples.error(row, f"{what}; expected one for training")

    def _check_room(self, examples: Treebank) -> None:
        """Raise DataError for a sentence whose charts take too much memory."""
        if not len(examples):
            return
        row = int(np.argmax(examples.lengths))
        n = int(examples.lengths[row])
        copies = 2 if self.formulation.hard else 6
        size = 8 * copies * self.features.grammar.flat[2][0] * n * (n + 15)
        if size > 1e6 * self.own.max_mb:
            raise examples.error(
                row,
                f"has {n:,d} words: its charts take {size / 1e6:,.0f} MB; expected at most "
                f"application.max_mb ({self.own.max_mb:g})",
            )

    def _summed(self, examples: Treebank, found: Found, coefficients: np.ndarray) -> np.ndarray:
        entries = self.features.entries(examples, found.rules, found.offsets)
        return entries.summed(coefficients, self.dimension(examples))

    def _rescaled(self, examples: Treebank, found: Found, costs: np.ndarray) -> np.ndarray:
        """Σ c_i of the gradients of planes."""
        if self.formulation.rescaling != "slack":
            return self._summed(examples, found, costs)
        truth = self._search(_parsing.TRUTH, np.zeros(self.dimension(examples)), examples)
        mine = self._summed(examples, found, costs * found.margins)
        return mine + self._summed(examples, truth, costs * (1.0 - found.margins))

    # ---- prediction ---------------------------------------------------------------------------

    def predict(self, w: np.ndarray, examples: Treebank, top: int = 1) -> Predictions:
        """The ``top`` trees with the highest w · Φ, best first; exact.

        Raises LssvmError for more than 1,000.
        """
        if top > MOST_TREES:
            raise LssvmError(f"--top {top}: too many trees; expected at most {MOST_TREES:,d}")
        self._check_room(examples)
        return searching.predicted(self.features, w, examples, top)

    def prediction_values(self, examples: Treebank, predictions: Predictions) -> np.ndarray | None:
        """w · Φ of the best trees, (n,); None if some are not maxima."""
        if predictions.approximate or not np.all(predictions.parsed):
            return None
        return predictions.scores[predictions.first]

    def counts(self, examples: Treebank, predictions: Predictions) -> bracket_metrics.Counts:
        """Brackets and words that are right, by evalb's rules."""
        return self._counts(examples, predictions, self.own.exceptions == "collins")

    def _counts(
        self, examples: Treebank, predictions: Predictions, collins: bool
    ) -> bracket_metrics.Counts:
        trees = predictions.trees.part(predictions.first)
        grammar = self.features.learnt.grammar
        names = list(examples.label_texts)
        number = {name: row for row, name in enumerate(names)}
        for name in (*grammar.labels, *grammar.tags):
            if number.setdefault(name, len(names)) == len(names):
                names.append(name)
        label = np.array([number[name] for name in grammar.labels], dtype=np.int64)
        tag = np.array([number[name] for name in grammar.tags], dtype=np.int64)
        found = trees.brackets
        test = Brackets(label[found.labels], found.starts, found.ends, found.offsets)
        words = examples.offsets - examples.offsets[0]
        true = examples.tags[examples.own_words].astype(np.int64)
        tags = tag[trees.tags] if self.features.predicted else true
        return bracket_metrics.count(
            examples.brackets, test, words, (true, tags), (names, names), collins=collins
        )

    def training_losses(self, examples: Treebank, predictions: Predictions) -> np.ndarray:
        """Δ of the best trees, (n,): of all brackets, without the exceptions of COLLINS.prm."""
        counts = self._counts(examples, predictions, collins=False)
        if self.own.loss == "f1":
            return bracket_metrics.f1_losses(counts.gold, counts.test, counts.matched)
        if self.own.loss == "brackets":
            return (counts.test - counts.matched).astype(np.float64)
        right = (counts.gold == counts.matched) & (counts.test == counts.matched)
        return 1.0 - (right & (counts.words == counts.tagged))

    def score(self, examples: Treebank, predictions: Predictions) -> dict[str, float | None]:
        """The figures of evalb, see ``bracket_metrics``, and others.

        error : wrong trees in percent of all sentences; loss : mean Δ
        no_parse : sentences without a parse
        """
        counts = self.counts(examples, predictions)
        return {
            "error": 100.0 * float(np.mean(~counts.exact)),
            **bracket_metrics.scores(counts),
            "loss": float(np.mean(self.training_losses(examples, predictions))),
            "sentences": len(examples),
            "no_parse": int(np.sum(~predictions.parsed)),
        }

    # ---- output -------------------------------------------------------------------------------

    @property
    def formats(self) -> Mapping[str, Callable[[Any, Any, TextIO], None]]:
        """The formats that ``lssvm-classify`` can write; the first one is the default."""
        return {"trees": self.write, "drawing": self.write_drawings}

    @property
    def folder_formats(self) -> Mapping[str, base.FolderFormat]:
        """Pictures of the best trees, one file for each sentence."""
        return {"svg": base.numbered_files(".svg", self._pictures)}

    def _pictures(self, examples: Treebank, predictions: Predictions) -> Iterator[bytes]:
        from lssvm.applications.parsing.drawing import svg_drawing

        texts = self.texts(examples, predictions)
        for row in range(len(examples)):
            yield svg_drawing(texts.trees(row)[0]).encode()

    def texts(self, examples: Treebank, predictions: Predictions) -> Texts:
        """The predicted trees as text."""
        given = not self.features.predicted
        return Texts(examples, predictions, self.features.learnt.grammar, given=given)

    def write(self, examples: Treebank, predictions: Predictions, file: TextIO) -> None:
        """One bracketed tree a line; each of several trees follows ``# rank score``."""
        predicted_trees.write_trees(self.texts(examples, predictions), file)

    def write_drawings(self, examples: Treebank, predictions: Predictions, file: TextIO) -> None:
        """The best tree of each sentence, drawn in text, a blank line after each."""
        from lssvm.applications.parsing.drawing import text_drawing

        texts = self.texts(examples, predictions)
        for row in range(len(examples)):
            file.write(f"{text_drawing(texts.trees(row)[0])}\n\n")

    def records(self, examples: Treebank, predictions: Predictions) -> Iterator[dict[str, Any]]:
        """One dictionary per sentence, see ``predicted_trees.records``."""
        losses = self.training_losses(examples, predictions)
        return predicted_trees.records(self.texts(examples, predictions), losses)

    def warnings(self, examples: Treebank) -> list[str]:
        """Sentences without trees, trees that the grammar does not make, and unknown tags."""
        found = []
        counts = [
            (np.sum(~examples.known), "sentence has", "sentences have", "no tree"),
            (
                *(np.sum(examples.known & ~examples.made), "tree", "trees"),
                "cannot be made by the grammar of training: an error in scores",
            ),
            (
                *(np.sum(examples.seen[examples.own_words] < 0), "word has", "words have"),
                "a part of speech that training did not see: any will do",
            ),
        ]
        most = self.own.max_words
        if most is not None:
            told = f"more than {counted(most, 'word')}: left out of training"
            counts.append((np.sum(examples.lengths > most), "sentence has", "sentences have", told))
        for count, one, several, what in counts:
            if count:
                found.append(f"{counted(int(count), one, several)} {what}")
        return found

    def training_warnings(self, examples: Treebank, predictions: Predictions) -> list[str]:
        """How many sentences have no parse."""
        count = int(np.sum(~predictions.parsed))
        told = counted(len(examples), "sentence")
        return [f"no parse for {count:,d} of {told}"] if count else []

    def describe(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Sizes of the grammar."""
        grammar, kept = self.features.learnt.grammar, self.features.grammar
        return {
            "parts of speech": len(grammar.tags),
            "labels": len(grammar.labels),
            "symbols": len(grammar.tags) + len(grammar.symbols),
            "rules": len(grammar.rules),
            "longest chain": kept.chain,
        }


class Parsing(GrammarParsing):
    """Parsing without hidden values."""

    models = frozenset({"ssvm", CRF})
    smooth = frozenset({CRF})
    rescalings = frozenset({"margin", "slack"})
    slack_norms = frozenset({0, 1, 2})
    hidden = False

    def __init__(
        self, options: ParsingOptions, formulation: base.Formulation | None = None
    ) -> None:
        super().__init__(options, formulation)
        self.soft = self.formulation.model == CRF

    def augmented(self, w: np.ndarray, examples: Treebank) -> tuple[Plane, float]:
        """Σ c_i U⁺_i, and an upper bound, which is its value where inference is exact."""
        if not self.soft:
            return super().augmented(w, examples)
        self._check_trainable(examples)
        self._check_room(examples)
        plane = searching.summed_plane(self.features, w, examples)
        return plane, plane.value(w)
