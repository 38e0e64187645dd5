"""Explanations of predicted states."""

from dataclasses import replace

import numpy as np

from lssvm.applications.explaining import Explainer, Rival
from lssvm.applications.mrf.graphs import Graphs
from lssvm.applications.mrf.mrf_output import Predictions
from lssvm.errors import LssvmError
from lssvm.formats.mrf_text import HIDDEN

MOST_SHOWN = 40  # nodes


class GraphExplainer(Explainer[Graphs, Predictions]):
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
            lines.append(f"and {len(names) - MOST_SHOWN:,d} more nodes")
        return lines


def _labelled(examples: Graphs, states: np.ndarray) -> Graphs:
    labels = np.array(examples.labels)
    own = labels[examples.nodes]
    labels[examples.nodes] = np.where(own == HIDDEN, own, states)
    return replace(examples, labels=labels, labelled=True, cache={})
