"""Parsing with hidden parts of the symbols of the grammar (Matsuzaki, Miyao & Tsujii, ACL 2005).

Each symbol that is no part of speech has ``substates`` parts, which are the hidden values: the
derivations of a tree are all choices of the parts of its symbols, and w has a weight for each rule
of parts. Δ is that of ``parsing``.

| model | ε_y | ε_h | |
|---|---|---|---|
| lssvm | 0 | 0 | latent structural SVM: the best derivation |
| hcrf | 1 | 1 | hidden conditional random field, Δ ≡ 0: a grammar with latent annotations |

U⁻ is over the parts of the true tree, U⁺ over all derivations; both are exact. ``mssvm`` is not
offered: the best tree under a sum over the parts of its symbols is NP-hard to find (Sima'an 2002;
Matsuzaki et al. 2005, section 4).

For the same reason prediction with ε_h = 1 is approximate: it takes the tree with the highest
product of the posterior probabilities of its rules, the parts summed (max-rule; Petrov & Klein,
NAACL 2007). With ε_h = 0 it takes the tree of the best derivation. The initial weights are small
and random: parts are permutation-symmetric, so that w = 0 is a stationary point.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from lssvm.applications import base
from lssvm.applications.apart import Ask, Here
from lssvm.applications.parsing import searching
from lssvm.applications.parsing.examples import Treebank
from lssvm.applications.parsing.parsing import GrammarParsing
from lssvm.applications.parsing.parsing_options import ParsingOptions
from lssvm.applications.parsing.predicted_trees import Predictions
from lssvm.errors import LssvmError
from lssvm.plane import Plane


class LatentParsingOptions(ParsingOptions):
    """The options of ``parsing``, the number of parts, and the initial weights."""

    name: Literal["latent_parsing"] = Field(  # type: ignore[assignment]
        default="latent_parsing", description="parsing with hidden parts of symbols"
    )
    substates: int = Field(
        default=2, ge=1, le=16, description="number of hidden parts of each symbol"
    )
    initialisation_scale: float = Field(
        default=0.1, gt=0, description="standard deviation of the initial weights"
    )


class LatentParsing(GrammarParsing):
    """Parsing whose symbols have hidden parts."""

    Options = LatentParsingOptions
    models = frozenset({"lssvm", "hcrf"})
    refused_models: ClassVar = {
        "mssvm": "the best tree under a sum over the parts of its symbols is NP-hard to find"
    }
    smooth = frozenset({"hcrf"})
    hidden = True
    exchangeable: ClassVar[bool] = True

    def __init__(
        self, options: LatentParsingOptions, formulation: base.Formulation | None = None
    ) -> None:
        super().__init__(options, formulation or base.Formulation("lssvm"))
        self.soft = not self.formulation.hard

    @property
    def parts(self) -> int:
        """Parts of each symbol."""
        assert isinstance(self.options, LatentParsingOptions)
        return self.options.substates

    def start(self, examples: Treebank, rng: np.random.Generator) -> np.ndarray:
        """Small random weights. Raises DataError without true trees."""
        return self.start_apart(Here(self, examples, whole=True), rng)

    def start_apart(self, ask: Ask, rng: np.random.Generator) -> np.ndarray:
        """The same by shares."""
        ask("check_start")
        assert isinstance(self.options, LatentParsingOptions)
        return self.options.initialisation_scale * rng.normal(size=ask("dimension")[0])

    def check_start(self, examples: Treebank) -> None:
        """Raise DataError without true trees."""
        self._check_trainable(examples)

    def start_each(self, examples: Treebank, rng: np.random.Generator) -> np.ndarray:
        """As ``start``."""
        return self.start(examples, rng)

    def augmented(self, w: np.ndarray, examples: Treebank) -> tuple[Plane, float]:
        """Σ c_i U⁺_i, and an upper bound, which is its value where inference is exact."""
        if not self.soft:
            return super().augmented(w, examples)
        plane = self._sums(w, examples, true=False)
        return plane, plane.value(w)

    def completed(self, w: np.ndarray, examples: Treebank) -> Plane:
        """Σ c_i U⁻_i."""
        return self._sums(w, examples, true=True) if self.soft else super().completed(w, examples)

    def _sums(self, w: np.ndarray, examples: Treebank, *, true: bool) -> Plane:
        self._check_trainable(examples)
        self._check_room(examples)
        return searching.summed_plane(self.features, w, examples, true=true)

    def predict(self, w: np.ndarray, examples: Treebank, top: int = 1) -> Predictions:
        """The trees of the best derivations, or those with the highest product of posteriors.

        Raises LssvmError if ``top`` is not 1.
        """
        if top != 1:
            raise LssvmError(f"--top {top}: application 'latent_parsing' finds the best tree only")
        if not self.soft:
            return super().predict(w, examples)
        self._check_room(examples)
        return searching.by_rules(self.features, w, examples)

    def describe(self, w: np.ndarray, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """As ``parsing``, and how many parts symbols have."""
        told = {"parts of a symbol": self.parts}
        if self.soft:
            told["prediction"] = "approximate (max-rule)"  # type: ignore[assignment]
        return super().describe(w, arrays) | told
