"""Explanations of predicted label sequences, and pictures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lssvm.applications.explaining import Explainer, Rival
from lssvm.applications.picturing import Picturer, by_label, confusions
from lssvm.applications.sequence.examples import SequenceExamples
from lssvm.applications.sequence.sequence_output import Predictions
from lssvm.errors import LssvmError, counted

if TYPE_CHECKING:
    from lssvm.output.charts import Figure

MOST_STATES = 60  # in a picture of transitions


class SequenceExplainer(
    Explainer[SequenceExamples, Predictions], Picturer[SequenceExamples, Predictions]
):
    """Label sequences."""

    hidden: bool
    vocabulary: Any
    options: Any
    feature_names: Any

    def as_truth(
        self, w: np.ndarray, examples: SequenceExamples, predictions: Predictions
    ) -> SequenceExamples:
        """The best labels as true ones."""
        return _labelled(examples, predictions.labels[:, 0])

    def rival(
        self, w: np.ndarray, examples: SequenceExamples, predictions: Predictions, label: str | None
    ) -> Rival | None:
        """Labels separated by blanks, or the second best ones, which only ``sequence`` finds."""
        names = examples.vocabulary.labels
        if label is None:
            if self.hidden or len(names) < 2:
                return None
            found: Predictions = self.predict(w, examples, top=2)  # type: ignore[attr-defined]
            labels = found.labels[:, 1]
        else:
            labels = _numbered(label, examples)
        plane = self.completed(w, _labelled(examples, labels))
        return Rival(" ".join(names[number] for number in labels), plane)

    def shown(self, examples: SequenceExamples, predictions: Predictions) -> list[str]:
        """A line for each token: what the file has, the true label, the predicted label."""
        names = examples.vocabulary.labels
        rows = []
        for token, (tag, label) in enumerate(
            zip(examples.tags, predictions.labels[:, 0], strict=True)
        ):
            row = examples.rows[token : token + 1]
            text = row[0].split() if len(row) and row[0] is not None else [str(token + 1)]
            true, found = "?" if tag is None else str(tag), names[label]
            rows.append((" ".join(text), true, found, "" if true in (found, "?") else "wrong"))
        heads = ("token", "true", "predicted", "")
        widths = [max(len(row[k]) for row in (heads, *rows)) for k in range(len(heads))]
        return [
            "  ".join(f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)).rstrip()
            for row in (heads, *rows)
        ]

    def model_figures(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> "Iterator[Figure]":
        """The weights of transitions between labels, or between their sub-states."""
        from lssvm.output.charts import Heat

        names: Sequence[str] = self.feature_names()
        states = len(self.vocabulary.labels) * getattr(self.options, "substates", 1)
        tail = states**2 + states**3 * (self.options.order == 2) + 2 * states * self.options.ends
        first, before = len(w) - tail, len(names) - tail
        if states > MOST_STATES or first < 0:
            return
        ends = [names[before + place].partition(" -> ")[2] for place in range(states)]
        yield Heat(
            title="Transitions",
            note="Weights of pairs of neighbours.",
            rows=ends,
            columns=ends,
            values=w[first : first + states**2].reshape(states, states).tolist(),
            row_label="from",
            column_label="to",
            signed=True,
        )

    def data_figures(
        self, w: np.ndarray, examples: SequenceExamples, predictions: Predictions
    ) -> "Iterator[Figure]":
        """Confusions of tokens, and figures by label."""
        labels = list(examples.vocabulary.labels)
        told, count = examples.told, len(labels)
        unseen = sorted({str(tag) for tag in examples.tags[told & (examples.labels < 0)]})
        number = {name: count + place for place, name in enumerate(unseen)}
        true = examples.labels.astype(np.int64)
        for token in np.flatnonzero(told & (true < 0)).tolist():
            true[token] = number[str(examples.tags[token])]
        names = labels + unseen
        places = true[told] * count + predictions.labels[told, 0]
        table = np.bincount(places, minlength=len(names) * count).reshape(len(names), count)
        yield confusions(names, table, "token")
        yield by_label(names, table)


def _labelled(examples: SequenceExamples, labels: np.ndarray) -> SequenceExamples:
    return replace(examples, labels=np.ascontiguousarray(labels, dtype=np.int32), labelled=True)


def _numbered(text: str, examples: SequenceExamples) -> np.ndarray:
    """The numbers of labels that are given by name. Raises LssvmError."""
    number = {name: place for place, name in enumerate(examples.vocabulary.labels)}
    words, count = text.split(), len(examples.labels)
    if len(words) != count:
        raise LssvmError(
            f"--against: {counted(len(words), 'label')} for {counted(count, 'token')} of "
            f"{examples.identifiers[0]!r}; expected one for each, separated by blanks"
        )
    unknown = next((word for word in words if word not in number), None)
    if unknown is not None:
        raise LssvmError(f"--against: {unknown!r} is no label of the model; expected its labels")
    return np.array([number[word] for word in words], dtype=np.int32)
