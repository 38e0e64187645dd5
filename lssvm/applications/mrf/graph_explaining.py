"""Explanations of predicted states, and pictures."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lssvm.applications.explaining import Explainer, Rival
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.mrf.mrf_output import Predictions
from lssvm.applications.picturing import Picturer, by_label, confusions
from lssvm.errors import LssvmError, MissingExtraError, counted
from lssvm.formats.images import png, require_pillow
from lssvm.formats.mrf_text import HIDDEN

if TYPE_CHECKING:
    from lssvm.output.charts import Figure, Images

MOST_SHOWN = 40  # nodes
MOST_IMAGES = 6
GREY = np.array([128, 128, 128], dtype=np.uint8)  # of pixels whose label is unknown


class GraphExplainer(Explainer[Graphs, Predictions], Picturer[Graphs, Predictions]):
    """Random fields; hidden nodes stay hidden."""

    def as_truth(self, w: np.ndarray, examples: Graphs, predictions: Predictions) -> Graphs:
        """The predicted states as labels."""
        return _labelled(examples, predictions.states)

    def rival(
        self, w: np.ndarray, examples: Graphs, predictions: Predictions, label: str | None
    ) -> Rival | None:
        """The prediction with other states of some nodes, ``NODE=STATE`` separated by blanks."""
        if label is None:
            return None
        states, names = predictions.states.copy(), list(examples.node_names[examples.nodes])
        for word in label.split():
            node, _, state = word.rpartition("=")
            if node not in names or not state.isdecimal():
                raise LssvmError(f"--against {word}: expected NODE=STATE, a node of this graph")
            place = names.index(node)
            count = int(examples.states(0)[place])
            if int(state) >= count or examples.labels[examples.nodes][place] == HIDDEN:
                raise LssvmError(
                    f"--against {word}: expected a state below {count} of a node that is not hidden"
                )
            states[place] = int(state)
        return Rival(label, self.completed(w, _labelled(examples, states)))

    def shown(self, examples: Graphs, predictions: Predictions) -> list[str]:
        """The nodes whose states are wrong first, then the others, up to a number of lines."""
        labels, names = examples.labels[examples.nodes], examples.node_names[examples.nodes]
        wrong = (labels >= 0) & (labels != predictions.states)
        lines = [f"{int(wrong.sum()):,d} of {int((labels >= 0).sum()):,d} known labels are wrong"]
        wide = max(len(str(name)) for name in names)
        for j in np.argsort(~wrong, kind="stable")[:MOST_SHOWN].tolist():
            told = "hidden" if labels[j] == HIDDEN else "?" if labels[j] < 0 else str(labels[j])
            mark = "  wrong" if wrong[j] else ""
            state = int(predictions.states[j])
            lines.append(f"{names[j]!s:<{wide}}  true {told:>6}  predicted {state}{mark}")
        if len(names) > MOST_SHOWN:
            lines.append(f"and {counted(len(names) - MOST_SHOWN, 'more node')}")
        return lines

    def data_figures(
        self, w: np.ndarray, examples: Graphs, predictions: Predictions
    ) -> "Iterator[Figure]":
        """Confusions of states, and images with their true and predicted labels."""
        labels = examples.labels[examples.nodes]
        known = labels >= 0
        if not known.any():
            return
        count = int(max(labels.max(), predictions.states.max())) + 1
        places = labels[known].astype(np.int64) * count + predictions.states[known]
        table = np.bincount(places, minlength=count * count).reshape(count, count)
        names = examples.classes.state_names
        names = names if len(names) == count else tuple(map(str, range(count)))
        yield confusions(names, table, "labelled node")
        yield by_label(names, table)
        pictures = [i for i, one in enumerate(examples.pictures) if one is not None]
        try:
            if pictures:
                require_pillow("images in a report")
        except MissingExtraError:
            return
        for i in pictures[:MOST_IMAGES]:
            yield _fields(examples, predictions, i)


def _fields(examples: Graphs, predictions: Predictions, i: int) -> "Images":
    """The true and the predicted labels of an image, and where they differ."""
    from lssvm.output.charts import Images

    offsets = examples.node_offsets - examples.node_offsets[0]
    own, picture = slice(int(offsets[i]), int(offsets[i + 1])), examples.pictures[i]
    labels, states = examples.labels[examples.nodes][own], predictions.states[own]
    wrong = (labels >= 0) & (labels != states)
    shape = (picture.height, picture.width, 3)

    def image(colours: Any) -> bytes:
        return png(np.ascontiguousarray(colours, dtype=np.uint8).reshape(shape))

    true = np.where((labels >= 0)[:, None], picture.colours[np.maximum(labels, 0)], GREY)
    differ = np.where(wrong, 0, 255)[:, None] * np.ones(3)
    return Images(
        title=f"Image {examples.identifiers[i]}",
        note=f"{int(wrong.sum()):,d} of {int((labels >= 0).sum()):,d} known labels are wrong.",
        images=[
            ("true", image(true)),
            ("predicted", image(picture.colours[states])),
            ("wrong pixels (black)", image(differ)),
        ],
    )


def _labelled(examples: Graphs, states: np.ndarray) -> Graphs:
    labels = np.array(examples.labels)
    own = labels[examples.nodes]
    labels[examples.nodes] = np.where(own == HIDDEN, own, states)
    return replace(examples, labels=labels, labelled=True, cache={})
