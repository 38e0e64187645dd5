"""What the experiments on partly labelled images share: first weights, and training from them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lssvm.applications.base import Source
from lssvm.applications.mrf.graph_classes import GraphClasses
from lssvm.applications.mrf.graphs import Graphs, packed
from lssvm.applications.mrf.mrf import MarkovRandomField
from lssvm.config import Config, set_values
from lssvm.formats.mrf_text import Features, GraphFile
from lssvm.model import Model
from lssvm.offsets import cumulated
from lssvm.training.session import learn_on

MODELS = ("mssvm", "lssvm", "hcrf")
SOLVERS = {"hcrf": "lbfgs"}  # solvers other than the bundle, by model
LABELLED = "labelled only"  # a structural SVM of labelled nodes, from which the others start


def in_memory(graphs: GraphFile, classes: GraphClasses | None = None) -> Graphs:
    """Pack graphs as examples. Raises DataError."""
    return packed([(Source("memory"), graphs)], classes)


def labelled_part(graphs: GraphFile) -> GraphFile:
    """The labelled nodes and the edges between them; graphs without labelled nodes are left out."""
    kept = graphs.labels >= 0
    number = np.cumsum(kept) - 1
    firsts = graphs.node_offsets[:-1]
    counts = np.add.reduceat(kept, firsts, dtype=np.int64)
    rows = np.flatnonzero(counts)
    nodes = np.flatnonzero(kept).tolist()
    edge_graphs = np.repeat(np.arange(len(graphs.names)), np.diff(graphs.edge_offsets))
    ends = graphs.ends + firsts[edge_graphs][:, None]
    whole = np.all(kept[ends], axis=1)
    starts = cumulated(counts)
    edge_counts = np.bincount(edge_graphs[whole], minlength=len(graphs.names))[rows]
    return replace(
        graphs,
        names=[graphs.names[row] for row in rows.tolist()],
        costs=graphs.costs[rows],
        lines=graphs.lines[rows],
        node_offsets=cumulated(counts[rows]),
        edge_offsets=cumulated(edge_counts),
        node_names=[graphs.node_names[j] for j in nodes],
        node_classes=[graphs.node_classes[j] for j in nodes],
        states=graphs.states[kept],
        labels=graphs.labels[kept],
        node_features=_rows(graphs.node_features, kept),
        edge_classes=[graphs.edge_classes[e] for e in np.flatnonzero(whole).tolist()],
        ends=(number[ends] - starts[edge_graphs][:, None])[whole].astype(np.int32),
        edge_features=_rows(graphs.edge_features, whole),
        node_lines=None,
        edge_lines=None,
    )


def _rows(features: Features, kept: np.ndarray) -> Features:
    counts = np.diff(features.starts)
    places = np.repeat(kept, counts)
    starts = cumulated(counts[kept])
    return Features(starts, features.indices[places], features.values[places])


def application_of(config: Config, classes: GraphClasses) -> MarkovRandomField:
    """The application of a configuration, with the classes of the training data."""
    application = config.create_application()
    assert isinstance(application, MarkovRandomField)
    application.classes = classes
    return application


def trained(
    config: Config, settings: Mapping[str, Any], examples: Graphs, start: Model | None = None
) -> Model:
    """Train on examples, from the weights of ``start`` if given, else from the default weights.

    settings : values of the configuration by dotted key
    """
    own = set_values(config, settings)
    return learn_on(application_of(own, examples.classes), examples, own, initial=start)
