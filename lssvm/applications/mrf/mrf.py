"""Markov random fields with hidden variables (Ping, Liu & Ihler, ICML 2014).

A graph has nodes, each with one of finitely many states, and edges; x are the features φ of nodes
and edges, y the states of nodes that have labels, h those of all others. Weights are tied by class:

    w · Φ(x, y, h) = Σ_v φ_v · W[class of v][:, s_v]  +  Σ_vu φ_vu · W[class of vu][:, s_v, s_u]

An edge without features has the constant one; an edge between an observed node and another is a
node feature. Δ is the number of wrong labels. A missing label of an example is one of its hidden
values, and Δ does not count it.

With temperatures ε_y and ε_h (0 means the limit, a maximum)

    U⁺ = ε_y log Σ_y exp{ (ε_h / ε_y) log Σ_h exp([Δ + w · Φ] / ε_h) }
    U⁻ = ε_h log Σ_h exp(w · Φ(x, y_i, h) / ε_h)

| model | ε_y | ε_h | |
|---|---|---|---|
| ssvm | 0 | 0 | structural SVM: nothing may be hidden |
| lssvm | 0 | 0 | latent structural SVM |
| mssvm | 0 | 1 | marginal structural SVM |
| hcrf | 1 | 1 | hidden conditional random field: Δ ≡ 0 |
| loss_augmented_likelihood | 1 | 1 | the same with Δ |
| epsilon | as given | as given | |

Values and expected features are exact, by variable elimination: first h, then y if ε_h and ε_y
differ. An option limits the size of the factors; for a graph that needs larger factors, belief
propagation is used, or the graph is refused. Ties between states: in the reverse order of
elimination, each node takes the lowest state that attains the maximum given those before it. With
belief propagation no upper bound of U⁺ is known, and no gap is certified. With
``spanning-forests`` a larger convex function takes the place of U⁺ (see ``spanning``): the gap is
that of this problem.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, TextIO

import numpy as np
from pydantic import Field

from lssvm import sparse
from lssvm.applications import base
from lssvm.applications.mrf import by_graph, graph_parts, mrf_output
from lssvm.applications.mrf.elimination import Elimination, InferenceResult, Temperatures
from lssvm.applications.mrf.given_graphs import FromGraphs
from lssvm.applications.mrf.graph_classes import GraphClasses, GraphWeightNames
from lssvm.applications.mrf.graph_explaining import GraphExplainer
from lssvm.applications.mrf.graph_written import GraphWritten
from lssvm.applications.mrf.graphs import Graphs, packed
from lssvm.applications.mrf.graphs_apart import GraphsApart
from lssvm.applications.mrf.inference import (
    AUGMENTED,
    COMPLETED,
    PREDICTED,
    SUMMED,
    Inference,
)
from lssvm.applications.mrf.mrf_output import Predictions
from lssvm.applications.mrf.propagation import Propagation, modes
from lssvm.applications.parts import Form, InParts, headed
from lssvm.applications.prediction import Approximations
from lssvm.errors import LssvmError, counted
from lssvm.formats import image_list
from lssvm.formats.mrf_text import HIDDEN, MISSING
from lssvm.kernels import _mrf_examples
from lssvm.plane import Plane
from lssvm.problem import RowSums


class MrfOptions(base.Options):
    """How inference is done, and the initial weights."""

    renamed: ClassVar = {
        "start": "initialisation",
        "start_scale": "initialisation_scale",
        "table": "max_table",
    }
    renamed_values: ClassVar = {"inference": {"trw": "spanning-forests"}}

    name: Literal["mrf"] = Field(default="mrf", description="Markov random fields")
    inference: Literal["auto", "exact", "bp", "spanning-forests"] = Field(
        default="auto",
        description="exact: variable elimination; bp: belief propagation, for which no gap is "
        "certified; auto: exact if no factor is larger than max_table, otherwise bp; "
        "spanning-forests: as auto, but trained with an upper bound by spanning forests, for which "
        "the gap is certified",
    )
    max_table: int = Field(
        default=1_000_000,
        ge=1,
        le=2**27,
        description="largest factor, in entries, allowed in variable elimination",
    )
    damping: float = Field(
        default=0.3, ge=0, lt=1, description="bp: share of the old message in an update"
    )
    schedule: Literal["sequential", "parallel"] = Field(
        default="sequential",
        description="bp: sequential: messages are updated one after another, along the edges and "
        "back; parallel: all at once from the previous ones, independent of the order of the file",
    )
    sweeps: int = Field(
        default=200, ge=1, le=2**31 - 1, description="bp: maximum number of updates of all messages"
    )
    tolerance: float = Field(
        default=1e-6,
        gt=0,
        lt=1,
        description="bp: converged when messages change by less than this, relatively",
    )
    initialisation: Literal["random", "zero"] = Field(
        default="random",
        description="initial weights; w = 0 is a stationary point if hidden states are symmetric",
    )
    initialisation_scale: float = Field(
        default=0.1,
        gt=0,
        allow_inf_nan=False,
        description="standard deviation of random initial weights",
    )


class RandomField(
    FromGraphs,
    GraphExplainer,
    GraphWritten,
    GraphsApart,
    base.Application[Graphs, Predictions],
    InParts[Graphs, Predictions],
):
    """Random fields whose planes are those of whole data sets."""

    Options = MrfOptions
    models = frozenset({*base.TEMPERATURES, base.ANNEALED})
    smooth = base.SMOOTH
    exchangeable = True
    starter_files: ClassVar = {"train": ["train.txt"], "test": ["test.txt"]}

    def __init__(self, options: MrfOptions, formulation: base.Formulation | None = None) -> None:
        super().__init__(options, formulation or base.Formulation("lssvm"))
        self.epsilon_y, self.epsilon_h = self.formulation.temperatures
        self.charged = self.formulation.charged
        self.hidden = self.formulation.model != "ssvm"
        exact = Elimination(options.max_table)
        loopy = Propagation(
            exact,
            options.damping,
            options.sweeps,
            options.tolerance,
            options.schedule == "parallel",
        )
        self.inference = Inference(options.inference, exact, loopy)
        self.classes: GraphClasses | None = None
        self._propagated: list[tuple[int, int]] = []  # appended to by several threads

    @classmethod
    def companions(cls, path: str) -> Iterable[str]:
        """The images that a list names."""
        return image_list.named_images(path) if image_list.SUFFIX in Path(path).suffixes else ()

    def read(self, sources: Sequence[base.Source]) -> Graphs:
        """The graphs of text files, of archives named ``.npz``, of lists of images ``.images``.

        Raises DataError.
        """
        files = [(source, graph_parts.read_file(source)) for source in sources]
        return self._adopted(packed(files, self.classes))

    def _adopted(self, examples: Graphs) -> Graphs:
        """The examples, the first of which fix the classes."""
        self.classes = examples.classes
        return examples

    def read_parts(self, sources: Sequence[base.Source]) -> Iterator[Graphs]:
        """The graphs of :meth:`read` in parts. Raises DataError."""
        if self.classes is None:
            yield self.read(sources)
            return
        for examples in graph_parts.parts_of(sources, self.classes):
            yield examples
            self.inference.exact.forget_many()

    def to_score(self, examples: Graphs) -> Graphs:
        """All graphs, also those without labels: they count if any graph has labels."""
        return examples

    def kept(self, examples: Graphs, predictions: Predictions) -> tuple[Graphs, Predictions]:
        """The labels, and the predicted states."""
        return graph_parts.labels_alone(examples), replace(predictions, values=np.empty(0))

    def joined(self, parts: Sequence[tuple[Graphs, Predictions]]) -> tuple[Graphs, Predictions]:
        """The labels and states of all parts."""
        states, converged, approximate = (
            np.concatenate([getattr(found, name) for _, found in parts])
            for name in ("states", "converged", "approximate")
        )
        found = replace(parts[0][1], states=states, converged=converged, approximate=approximate)
        return graph_parts.joined_labels([part for part, _ in parts]), found

    def state(self) -> dict[str, np.ndarray]:
        """The classes of nodes and edges."""
        return {} if self.classes is None else self.classes.arrays()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the classes of a model. Raises ModelError."""
        self.classes = GraphClasses.from_arrays(state)

    def known_dimension(self) -> int | None:
        """As ``dimension``."""
        return None if self.classes is None else self.classes.dimension

    def dimension(self, examples: Graphs) -> int:
        """Features times states of every class, for edges the states of both ends."""
        if self.classes is None:
            self.classes = examples.classes
        return examples.classes.dimension

    def feature_names(self) -> Sequence[str]:
        """``class feature 1: state``, for edges both states."""
        return GraphWeightNames(self.classes or GraphClasses((), (), (), (), (), ()))

    def augmented(self, w: np.ndarray, examples: Graphs) -> tuple[Plane, float]:
        """Σ c_i U⁺_i, without an upper bound if belief propagation was used for some graph.

        Raises DataError for a graph that is too wide if all inference has to be exact.
        """
        temperatures = Temperatures(self.epsilon_h, self.epsilon_y)
        plane, exact = self._plane(AUGMENTED, w, examples, temperatures, self.charged)
        return plane, plane.value(w) if exact else np.inf

    def completed(self, w: np.ndarray, examples: Graphs) -> Plane:
        """Σ c_i U⁻_i. Raises DataError as ``augmented`` does."""
        temperatures = Temperatures(self.epsilon_h, self.epsilon_h)
        return self._plane(COMPLETED, w, examples, temperatures, charged=False)[0]

    def predict(self, w: np.ndarray, examples: Graphs, top: int = 1) -> Predictions:
        """The y with the highest ε_h log Σ_h exp(w · Φ / ε_h); known labels are not used.

        Raises LssvmError if ``top`` is not 1, DataError as ``augmented`` does.
        """
        if top != 1:
            raise LssvmError(f"--top {top}: application 'mrf' finds the best states only")
        temperatures = Temperatures(self.epsilon_h, 0.0)
        found = self.inference.infer(PREDICTED, w, examples, temperatures, marginals=True)
        rough = self.inference.approximated(examples, temperatures)
        states = modes(examples, found.marginals)
        return Predictions(states, found.values, found.converged, w, rough)

    def approximations(self, predictions: Predictions) -> Approximations | None:
        """Those that belief propagation found."""
        rough = predictions.approximate
        failed = int(np.sum(rough & ~predictions.converged))
        return Approximations("belief propagation", int(np.sum(rough)), failed)

    def prediction_values(self, examples: Graphs, predictions: Predictions) -> np.ndarray | None:
        """ε_h log Σ_h exp(w · Φ / ε_h) of the predicted y, (n,); None if it is not a maximum."""
        exact = self.options.inference != "spanning-forests" and bool(
            np.all(examples.labels != MISSING)
        )
        return predictions.values if exact else None

    def marginals(self, w: np.ndarray, examples: Graphs) -> np.ndarray:
        """P(state of a node | x) under exp(w · Φ) / Z, all states of all nodes one after another.

        Raises DataError as ``augmented`` does.
        """
        found = self.inference.infer(SUMMED, w, examples, Temperatures(1.0, 1.0), marginals=True)
        self._note(found)
        return found.marginals

    def losses(self, examples: Graphs, predictions: Predictions) -> np.ndarray:
        """Δ of the predictions, (n,): wrong labels among those that are known."""
        labels = examples.labels[examples.nodes]
        wrong = (labels >= 0) & (predictions.states != labels)
        starts = examples.node_offsets[:-1] - examples.node_offsets[0]
        return np.add.reduceat(wrong, starts, dtype=np.float64)

    def score(self, examples: Graphs, predictions: Predictions) -> dict[str, float | None]:
        """Share of wrong labels in percent among those that are known, None without any; mean Δ.

        approximate : graphs whose prediction is by belief propagation; not_converged : those for
            which it did not converge
        """
        labels = examples.labels[examples.nodes]
        known = labels >= 0
        wrong = predictions.states[known] != labels[known]
        error = 100 * float(np.mean(wrong)) if len(wrong) else None
        return {
            "error": error,
            "accuracy": None if error is None else 100 - error,
            "loss": float(np.mean(self.losses(examples, predictions))),
            "graphs": len(examples),
            "labels": int(np.sum(known)),
            "missing": int(np.sum(labels == MISSING)),
            "hidden": int(np.sum(labels == HIDDEN)),
            "approximate": int(np.sum(predictions.approximate)),
            "not_converged": int(np.sum(~predictions.converged)),
        }

    @property
    def formats(self) -> Mapping[str, Callable[[Any, Any, TextIO], None]]:
        """The formats that ``lssvm-classify`` can write; the first one is the default."""
        return {"labels": self.write, "marginals": self.write_marginals}

    @property
    def folder_formats(self) -> Mapping[str, base.FolderFormat]:
        """Label images, for graphs that are images."""
        return {
            "images": base.FolderFormat(
                mrf_output.image_marks, mrf_output.image_names, mrf_output.label_images
            )
        }

    def write(self, examples: Graphs, predictions: Predictions, file: TextIO) -> None:
        """A table of graph, node and label."""
        mrf_output.write_labels(examples, predictions, file)

    def write_marginals(
        self, examples: Graphs, predictions: Predictions, file: TextIO, header: bool = True
    ) -> None:
        """The table with the probability of every state under exp(w · Φ) / Z."""
        shares = self.marginals(predictions.w, examples)
        mrf_output.write_marginals(examples, predictions, shares, file, header)

    def part_writer(self, name: str) -> Form:
        """The tables with one header."""
        if name == "labels":
            return headed(self.write, mrf_output.write_label_rows)
        return headed(self.write_marginals, partial(self.write_marginals, header=False))

    def records(self, examples: Graphs, predictions: Predictions) -> Iterator[dict[str, Any]]:
        """One dictionary a graph, see ``mrf_output.records``."""
        return mrf_output.records(examples, predictions, self.losses(examples, predictions))

    def warnings(self, examples: Graphs) -> list[str]:
        """Warnings about unknown labels, and about graphs without labels."""
        labels = examples.labels[examples.nodes]
        starts = examples.node_offsets[:-1] - examples.node_offsets[0]
        bare = int(np.sum(np.add.reduceat(labels >= 0, starts, dtype=np.int64) == 0))
        missing = int(np.sum(labels == MISSING))
        found = []
        if bare:
            found.append(
                f"{counted(bare, 'graph has', 'graphs have')} no labels: nothing is learnt there"
            )
        if missing and bare < len(examples):
            found.append(
                f"{counted(missing, 'label is', 'labels are')} missing: hidden in training"
            )
        return found

    def not_converged(self) -> dict[str, tuple[int, int]]:
        """Graphs for which belief propagation did not converge, of those for which it ran."""
        counts, self._propagated = self._propagated, []
        if not counts:
            return {}
        failed, runs = (sum(column) for column in zip(*counts, strict=True))
        return {"propagation": (failed, runs)}

    def training_warnings(self, examples: Graphs, predictions: Predictions) -> list[str]:
        """How often belief propagation did not converge."""
        count, n = int(np.sum(~predictions.converged)), len(examples)
        if not count:
            return []
        return [f"belief propagation did not converge for {count:,d} of {n:,d} graphs at the end"]

    def _plane(
        self,
        task: str,
        w: np.ndarray,
        examples: Graphs,
        temperatures: Temperatures,
        charged: bool,
    ) -> tuple[Plane, bool]:
        found = self._trained(task, w, examples, temperatures, charged)
        if temperatures.first == temperatures.second == 0.0:
            return Plane(found.gradient, float(examples.costs @ found.losses)), found.exact
        value = float(examples.costs @ found.values)
        return Plane(found.gradient, value - float(found.gradient @ w)), found.exact

    def _trained(
        self,
        task: str,
        w: np.ndarray,
        examples: Graphs,
        temperatures: Temperatures,
        charged: bool,
    ) -> InferenceResult:
        """Inference in training; graphs for which belief propagation is used are counted."""
        found = self.inference.infer(task, w, examples, temperatures, charged=charged)
        self._note(found)
        return found

    def _note(self, found: InferenceResult) -> None:
        if found.propagated:
            self._propagated.append((int(np.sum(~found.converged)), found.propagated))


class MarkovRandomField(RandomField, base.CompiledByExample[Graphs]):
    """Pairwise Markov random fields: trees, graphs of small width, and others approximately."""

    def start_each(self, examples: Graphs, rng: np.random.Generator) -> np.ndarray:
        """As ``start``."""
        return self.start(examples, rng)

    def augmented_each(self, w: np.ndarray, examples: Graphs) -> base.Maxima:
        """U⁺_i for each graph; ``outputs`` are the gradients. Raises as ``augmented`` does."""
        temperatures = Temperatures(self.epsilon_h, self.epsilon_y)
        return self._each(AUGMENTED, w, examples, temperatures, self.charged)

    def completed_each(self, w: np.ndarray, examples: Graphs) -> base.Maxima:
        """U⁻_i for each graph; ``outputs`` are the gradients. Raises as ``augmented`` does."""
        temperatures = Temperatures(self.epsilon_h, self.epsilon_h)
        return self._each(COMPLETED, w, examples, temperatures, charged=False)

    def gradients(
        self, examples: Graphs, found: base.Maxima, rows: np.ndarray
    ) -> "sparse.csr_array":
        """The gradients that were found, those of ``rows``."""
        return found.outputs[rows]

    def has_example_oracle(self, examples: Graphs) -> bool:
        """Whether inference is exact for all of these graphs."""
        return self.inference.fits(examples)

    def row_sums(self, examples: Graphs) -> RowSums:
        """Over the items of each class, which have no coordinate in common with those of others."""
        return by_graph.row_sums(examples)

    def example_oracle(self, examples: Graphs) -> Any:
        """Inference for one graph at a time, in C: maxima alone.

        Raises LssvmError for sums and for belief propagation, DataError for a graph that is too
        wide.
        """
        if self.formulation.model not in self.compiled_models:
            raise LssvmError(f"there are no maxima alone with model {self.formulation.model}")
        if self.inference.kind == "bp":
            raise LssvmError(
                "solver.method: dual-coordinate needs exact inference; expected "
                "application.inference: auto or exact"
            )
        known = examples.labels[examples.nodes] >= 0
        return _mrf_examples.ExampleOracle(
            examples.arrays,
            self.dimension(examples),
            known.astype(np.uint8),
            self.inference.plans(AUGMENTED, examples),
            self.inference.plans(COMPLETED, examples) if self.hidden else None,
        )

    def _each(
        self,
        task: str,
        w: np.ndarray,
        examples: Graphs,
        temperatures: Temperatures,
        charged: bool,
    ) -> base.Maxima:
        def infer(weights: np.ndarray, graphs: Graphs) -> InferenceResult:
            return self._trained(task, weights, graphs, temperatures, charged)

        linear = temperatures.first == temperatures.second == 0.0
        return by_graph.each(infer, w, examples, linear=linear)
