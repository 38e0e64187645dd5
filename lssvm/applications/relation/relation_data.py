"""What relation extraction reads and writes, apart from what it learns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TextIO

import numpy as np

from lssvm import sparse
from lssvm.applications import base
from lssvm.applications.given import MEMORY
from lssvm.applications.parts import Form, InParts, headed
from lssvm.applications.relation import relation_metrics, relation_output
from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.given_pairs import FromPairs
from lssvm.applications.relation.predictions import Predictions
from lssvm.applications.relation.reading import Names, pair_parts, pairs_of, read_pairs
from lssvm.applications.relation.vocabulary import Vocabulary
from lssvm.errors import counted
from lssvm.formats.bag_file import BagFile
from lssvm.offsets import cumulated
from lssvm.output.plots import draw_lines

_FEW = 2  # a relation of fewer pairs is worth a warning
_FORMATS = {
    "facts": relation_output.write_facts,
    "candidates": relation_output.write_candidates,
}


class RelationData(
    FromPairs,
    base.Reader[Bags],
    InParts[Bags, Predictions],
    base.Writer[Bags, Predictions],
):
    """Bags of mentions from files; the first ones determine relations and features.

    options : has relation_names, feature_names and bias
    """

    options: Any
    vocabulary: Vocabulary | None = None

    def read(self, sources: Sequence[base.Source]) -> Bags:
        """The pairs of text or JSON files. Raises DataError."""
        found = read_pairs(sources, self.vocabulary, self._names, self.options.bias)
        examples, self.vocabulary = found
        return examples

    def packed(self, file: BagFile) -> Bags:
        """The pairs that are given in memory. Raises DataError."""
        found = pairs_of([file], [MEMORY], self.vocabulary, self._names, self.options.bias)
        examples, self.vocabulary = found
        return examples

    @property
    def _names(self) -> Names | None:
        """The names of relations and features, until the vocabulary has them. Raises DataError."""
        if self.vocabulary is not None:
            return None
        return Names.read(self.options.relation_names, self.options.feature_names)

    def read_parts(self, sources: Sequence[base.Source]) -> Iterator[Bags]:
        """The pairs of :meth:`read` in parts. Raises DataError."""
        assert self.vocabulary is not None
        return pair_parts(sources, self.vocabulary, self.options.bias)

    def state(self) -> dict[str, np.ndarray]:
        """The relations and the features of training."""
        return {} if self.vocabulary is None else self.vocabulary.arrays()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore relations and features. Raises ModelError."""
        self.vocabulary = Vocabulary.from_arrays(state, bias=self.options.bias != 0.0)

    @property
    def relations(self) -> tuple[str, ...]:
        """The L relations of training; none before something was read."""
        return () if self.vocabulary is None else self.vocabulary.relations

    def groups(self, examples: Bags) -> np.ndarray:
        """Whether each pair has a relation: folds have the same share of pairs without one."""
        return (examples.label_counts > 0).astype(np.int64)

    def group_name(self, examples: Bags, group: int) -> str:
        """The name of such a group."""
        return ("no relation", "a relation")[group]

    def kept(self, examples: Bags, predictions: Predictions) -> tuple[Bags, Predictions]:
        """Relations, scores, and the labels of mentions, without features and names."""
        places = examples.places - examples.places[0]
        labels = examples.labels[examples.label_span]
        none = np.empty(0, dtype=object)
        found = replace(
            examples,
            inputs=sparse.csr_array((int(places[-1]), 0)),
            places=places,
            label_places=examples.label_places - examples.label_places[0],
            labels=labels,
            mention_texts=none,
            entities=none,
            identifiers=none,
            lines=np.empty(0, dtype=np.int64),
            files=np.empty(0, dtype=np.int32),
        )
        return found, predictions

    def joined(self, parts: Sequence[tuple[Bags, Predictions]]) -> tuple[Bags, Predictions]:
        """All parts one after another."""
        bags, found = [part for part, _ in parts], [own for _, own in parts]
        count = len(self.relations)
        names = dict.fromkeys(name for part in bags for name in part.relations[count:])
        relations = (*self.relations, *names)
        number = {name: place for place, name in enumerate(relations)}
        labels = [
            np.array([number[name] for name in part.relations], dtype=np.int32)[part.labels]
            for part in bags
        ]
        places = cumulated(np.concatenate([np.diff(part.places) for part in bags]))
        whole = replace(
            bags[0],
            inputs=sparse.csr_array((int(places[-1]), 0)),
            places=places,
            label_places=cumulated(np.concatenate([part.label_counts for part in bags])),
            labels=np.concatenate(labels),
            known=np.concatenate([part.known for part in bags]),
            costs=np.concatenate([part.costs for part in bags]),
            relations=relations,
            left_out=sum(part.left_out for part in bags),
        )
        columns = ("scores", "mention_labels", "best_mentions", "values")
        return whole, Predictions(
            *(np.concatenate([getattr(own, name) for own in found]) for name in columns)
        )

    def score(self, examples: Bags, predictions: Predictions) -> dict[str, float | None]:
        """The metrics of :mod:`relation_metrics`, in percent."""
        truth = examples.truth(len(examples.relations))
        found = predictions.relations(examples)
        return relation_metrics.all_scores(truth, found, predictions.scores, examples.relations)

    @property
    def curve(self) -> base.Curve:
        """Precision against recall of all pairs and relations, ranked by their scores."""
        return _draw_curve

    @property
    def formats(self) -> Mapping[str, Callable[[Bags, Predictions, TextIO], None]]:
        """The formats that ``lssvm-classify`` can write; the first one is the default."""
        return _FORMATS

    def write(self, examples: Bags, predictions: Predictions, file: TextIO) -> None:
        """The predicted relations, see :func:`relation_output.write_facts`."""
        relation_output.write_facts(examples, predictions, file)

    def part_writer(self, name: str) -> Form | None:
        """The header stands before the first part alone."""
        write = _FORMATS[name]

        def rest(examples: Bags, predictions: Predictions, file: TextIO) -> None:
            write(examples, predictions, file, header=False)

        return headed(write, rest)

    def records(self, examples: Bags, predictions: Predictions) -> Iterator[dict[str, Any]]:
        """One dictionary per pair, see :func:`relation_output.records`."""
        truth = examples.truth(len(examples.relations))
        losses = relation_metrics.wrong(truth, predictions.relations(examples))
        return relation_output.records(examples, predictions, losses)

    def warnings(self, examples: Bags) -> list[str]:
        """Warnings about what training does not have, and what no prediction can reach."""
        count, found = len(self.relations), []
        labels = examples.labels[examples.label_span]
        unseen = np.unique(labels[labels >= count])
        if len(unseen):
            pairs = np.count_nonzero(np.isin(labels, unseen))
            names = ", ".join(examples.relations[label] for label in unseen[:5].tolist())
            found.append(
                f"{counted(int(pairs), 'fact is', 'facts are')} of relations that training does "
                f"not have, and cannot be found: {names}{' …' if len(unseen) > 5 else ''}"
            )
        short = np.count_nonzero(~examples.reachable)
        if short:
            found.append(
                f"{counted(int(short), 'pair has', 'pairs have')} more relations than mentions, a "
                "truth that cannot be reached: left out of training"
            )
        if examples.left_out:
            found.append(
                f"{counted(examples.left_out, 'value')} of features that training does not have: "
                "left out"
            )
        rare = np.bincount(labels, minlength=count)[:count]
        few = [name for name, n in zip(self.relations, rare.tolist(), strict=True) if 0 < n < _FEW]
        if few and not len(unseen):
            shown = ", ".join(few[:5]) + (" …" if len(few) > 5 else "")
            found.append(
                f"{counted(len(few), 'relation has', 'relations have')} a single pair: {shown}"
            )
        return found


def _draw_curve(examples: Bags, predictions: Predictions, path: Any) -> None:
    """Draw the precision-recall curve. Raises LssvmError if no pair has a relation."""
    from lssvm.output.charts import Series

    truth = examples.truth(len(examples.relations))
    if not truth.any():
        raise examples.error(None, "no pair has a relation; expected some for the curve")
    points = relation_metrics.curve(truth, predictions.scores)
    shown = relation_metrics.thinned(points)
    area = 100.0 * relation_metrics.average_precision(points)
    line = Series("relations", shown.recall.tolist(), shown.precision.tolist(), plain=True)
    title = f"average precision {area:.1f} %"
    draw_lines(path, [line], x_label="recall", y_label="precision", title=title)
