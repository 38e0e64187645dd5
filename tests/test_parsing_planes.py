"""Planes of parsing against enumeration, for each loss, rescaling and slack norm."""

import functools
import itertools

import numpy as np
import parsing_cases as cases
import pytest

from lssvm.applications.base import Formulation, Source
from lssvm.applications.parsing.latent_parsing import LatentParsing, LatentParsingOptions
from lssvm.applications.parsing.parsing import Parsing, ParsingOptions

PROBLEMS = 200
LOSSES = ["zero_one", "brackets", "f1"]
FORMS = [
    *itertools.product(LOSSES, ["margin", "slack"], [1, 2]),
    *itertools.product(LOSSES[:2], ["margin", "slack"], [0]),
]
COST = 2.0


def grown(rng, words):
    """A random tree of so many words in brackets, with chains of one-child rules."""
    if words == 1 and rng.random() < 0.6:
        return f"({rng.choice(['NN', 'VB'])} a)"
    label = rng.choice(["S", "NP"])
    if words == 1 or rng.random() < 0.2:
        return f"({label} {grown(rng, words) if words > 1 else '(NN a)'})"
    first = int(rng.integers(1, words))
    return f"({label} {grown(rng, first)} {grown(rng, words - first)})"


class Problem:
    """Random trees, at most 60 derivations of each sentence, and weights in eighths."""

    def __init__(self, seed, path, parts):
        rng = np.random.default_rng(seed)
        self.latent, n = parts > 1, 1 if parts > 1 else 3
        self.options = {"horizontal": 0, "longest_chain": 2}
        if self.latent:
            self.options["substates"] = parts
        app = self.app("zero_one", Formulation("lssvm" if self.latent else "ssvm"))
        self.cases = []
        while not self.cases or None in [case.all for case in self.cases]:
            app.learnt = app._map = None
            trees = [f"(ROOT {grown(rng, int(rng.integers(1, 6)))})" for _ in range(n)]
            path.write_text("\n".join(trees))
            self.examples = app.read([Source(str(path), cost=COST)])
            self.learnt = app.learnt
            size = app.dimension(self.examples)
            self.w, self.other = (rng.integers(-8, 9, size) / 8 for _ in range(2))
            if seed == 0:
                self.w[:] = 0.0
            kept = self.examples.made.all()
            self.cases = [self.case(app, row) for row in range(n)] if kept else []

    def app(self, loss, form):
        options = {"loss": loss, **self.options}
        if self.latent:
            return LatentParsing(LatentParsingOptions(**options), form)
        return Parsing(ParsingOptions(**options), form)

    def case(self, app, row):
        """A sentence as the enumeration has it."""
        grammar, arrays = app.features.grammar, app.features.sentences(self.examples)
        case = cases.Case.__new__(cases.Case)
        own = slice(arrays.offsets[row], arrays.offsets[row + 1])
        rules = slice(arrays.rule_offsets[row], arrays.rule_offsets[row + 1])
        case.grammar, case.tags = grammar, arrays.tags[own].tolist()
        case.truth = tuple(arrays.rules[rules].tolist())
        case.codes, case.kinds, case.rows = None, (), (0,)
        case.spans, case.emissions = np.zeros((0, grammar.labels)), np.zeros((0, grammar.tags))
        case.sentences = cases.sentences_of(grammar, [case.tags], [case.truth])
        case.gold = sum(case.sentences.gold[:, 3].tolist())
        case.all = cases.all_derivations(grammar, case.tags, most=60)
        if case.all:
            size = len(grammar.whole)
            case.rules = np.array([np.bincount(d, minlength=size) for d in case.all], dtype=float)
            case.same = [cases.as_read(grammar, d) == case.truth for d in case.all]
            case.losses = {
                loss: np.array([case.loss(d, loss) for d in case.all]) for loss in LOSSES
            }
        return case

    def values(self, w, loss, rescaling, norm):
        """Σ c_i U⁺_i and Σ c_i U⁻_i."""
        above = below = 0.0
        for case in self.cases:
            scores, own = case.rules @ w, case.losses[loss]
            truth = max(scores[case.same])
            own = np.sqrt(own) if norm == 2 else own
            slack = own * (1.0 + (scores - truth)) + truth
            values = slack if rescaling == "slack" else own + scores
            above += COST * max(values)
            below += COST * truth
        return above, below


@functools.cache
def built(folder, parts):
    return [Problem(seed, folder / "t.ptb", parts) for seed in range(PROBLEMS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("planes")


def check(problem, model, loss, rescaling, norm):
    app = problem.app(loss, Formulation(model, rescaling, norm))
    app.learnt = problem.learnt
    above, below = problem.values(problem.w, loss, rescaling, norm)
    plane, upper = app.augmented(problem.w, problem.examples)
    each = app.augmented_each(problem.w, problem.examples)
    assert app.completed(problem.w, problem.examples).value(problem.w) == below
    found = [plane.value(problem.w), COST * sum(each.values)]
    if loss != "f1" and (norm < 2 or loss == "zero_one"):
        assert found == [above, above]
    np.testing.assert_allclose([*found, upper], above, rtol=1e-12, atol=1e-12)
    if model == "ssvm":
        most, _ = problem.values(problem.other, loss, rescaling, norm)
        assert plane.value(problem.other) <= most + 1e-9


@pytest.mark.parametrize(("loss", "rescaling", "norm"), FORMS)
def test_planes_are_those_of_the_enumeration(loss, rescaling, norm, folder):
    problems = built(folder, 1)
    assert np.mean([max(len(case.all) for case in each.cases) > 3 for each in problems]) > 0.5
    for problem in problems:
        check(problem, "ssvm", loss, rescaling, norm)


@pytest.mark.parametrize("loss", LOSSES)
def test_planes_with_hidden_parts_are_those_of_the_enumeration(loss, folder):
    for problem in built(folder, 2):
        check(problem, "lssvm", loss, "margin", 1)
