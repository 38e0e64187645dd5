"""Graphs in files that are read apart, wherever they lie."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lssvm.applications.apart import Ask, Here, ReadsApart, Taught
from lssvm.applications.base import Source
from lssvm.applications.mrf import graph_parts
from lssvm.applications.mrf.graph_classes import GraphClasses
from lssvm.applications.mrf.graphs import Graphs, Known, check_weights, packed

MISSING_WHAT = {
    "features": "has no features, and no other graph has any; expected features",
    "labels": "has no labels, and no other graph has any; expected labels",
}


class GraphFacts(NamedTuple):
    """What a file of graphs teaches.

    classes : of its nodes and edges, in the order in which they occur
    node_places, edge_places : which node or edge of the file is the first of each class
    node_lines, edge_lines : the lines of these; None if the file has no lines
    """

    classes: GraphClasses
    node_places: tuple[int, ...]
    edge_places: tuple[int, ...]
    node_lines: tuple[int, ...] | None
    edge_lines: tuple[int, ...] | None


class GraphsApart(ReadsApart[Graphs]):
    """A random field whose files are read one by one."""

    options: Any
    formulation: Any
    classes: GraphClasses | None

    def taught(self, source: Source) -> Taught:
        """The classes of a file. Raises DataError."""
        file, known = graph_parts.read_file(source), Known(None)
        known.take_names(source.path, file.state_names)
        classes = known.classes([(source, file)], [known.numbers(source.path, file)])
        lines = []
        places = [_firsts(file.node_classes), _firsts(file.edge_classes)]
        for own, given in zip(places, (file.node_lines, file.edge_lines), strict=True):
            lines.append(None if given is None else tuple(int(given[place]) for place in own))
        return Taught(len(file.names), GraphFacts(classes, *places, *lines))

    def learn_from(self, sources: Sequence[Source], taught: Sequence[Taught]) -> None:
        """The classes of all files. Raises DataError where those of two files do not fit."""
        known, facts = Known(None), [each.facts for each in taught]
        for source, fact in zip(sources, facts, strict=True):
            known.take_names(source.path, fact.classes.state_names)
        for source, fact in zip(sources, facts, strict=True):
            known.take_classes(
                *(source.path, fact.classes, fact.node_places, fact.edge_places),
                *(fact.node_lines, fact.edge_lines),
            )
        widths: tuple[dict[str, int], dict[str, int]] = ({}, {})
        for fact in facts:
            own = fact.classes
            _widen(widths[0], own.node_names, own.node_widths)
            _widen(widths[1], own.edge_names, own.edge_widths)
        self.classes = known.with_widths(
            *(np.array([*each.values()], dtype=np.int64) for each in widths)
        )
        check_weights(self.classes, sources[0].path)

    def read_share(self, sources: Sequence[Source], plan: None, before: int) -> Graphs:
        """The graphs of neighbouring files. Raises DataError."""
        files = [(source, graph_parts.read_file(source)) for source in sources]
        return packed(files, self.classes)

    def start(self, examples: Graphs, rng: np.random.Generator) -> Any:
        """The initial weights.

        Raises DataError if nothing may be hidden and something is, if all is, or without features.
        """
        return self.start_apart(Here(self, examples, whole=True), rng)

    def start_apart(self, ask: Ask, rng: np.random.Generator) -> np.ndarray:
        """The same by shares."""
        told, free = zip(*ask("labels_there"), strict=True)
        size, wrong, place = ask("dimension")[0], "", 0
        if not size:
            wrong = "features"
        elif not any(told):
            wrong = "labels"
        elif self.formulation.model == "ssvm" and any(free):
            wrong, place = "node", free.index(True)
        if wrong:
            ask("refuse_start", wrong, each=[share == place for share in range(ask.count)])
        if self.options.initialisation == "zero":
            return np.zeros(size)
        return self.options.initialisation_scale * rng.normal(size=size)

    def labels_there(self, examples: Graphs) -> tuple[bool, bool]:
        """Whether some nodes have labels, and whether some have none."""
        free = examples.labels[examples.nodes] < 0
        return not np.all(free), bool(np.any(free))

    def refuse_start(self, examples: Graphs, wrong: str, here: bool) -> None:
        """Raise DataError for the first graph that training cannot begin with, if it is here."""
        if not here:
            return
        if wrong in MISSING_WHAT:
            raise examples.error(0, MISSING_WHAT[wrong])
        free = np.flatnonzero(examples.labels[examples.nodes] < 0)
        place = examples.node_offsets[0] + free[0]
        row = int(np.searchsorted(examples.node_offsets, place, side="right")) - 1
        raise examples.error(
            row,
            f"has a node without a label, {examples.node_names[place]!r}; "
            "expected labels, or an objective.model other than ssvm",
        )


def _firsts(names: Sequence[str]) -> tuple[int, ...]:
    """Where each of the names is for the first time."""
    found: dict[str, int] = {}
    for place, name in enumerate(names):
        found.setdefault(name, place)
    return tuple(found.values())


def _widen(widths: dict[str, int], names: Sequence[str], own: Sequence[int]) -> None:
    """Let classes be as wide as those of one more file."""
    for name, width in zip(names, own, strict=True):
        widths[name] = max(widths.get(name, 0), width)
