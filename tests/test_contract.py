"""Every application keeps its contract, and ``lssvm.testing`` finds one that does not."""

import itertools
import re

import clustering_cases
import mrf_cases
import numpy as np
import pytest
import relation_cases
import sequence_cases
import toy
import wrong_applications as wrong
from scipy import sparse

from lssvm import applications
from lssvm.applications.alignment.alignment import Alignment
from lssvm.applications.alignment.alignment_options import AlignmentOptions
from lssvm.applications.base import ANNEALED, Formulation, Source
from lssvm.applications.coreference.coreference import Coreference
from lssvm.applications.coreference.correlation_clustering import CorrelationClustering
from lssvm.applications.motif.motif import Motif, MotifOptions
from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.applications.multiclass.multiclass import Multiclass, MulticlassOptions
from lssvm.applications.multiclass.taxonomy import Taxonomy, TaxonomyOptions
from lssvm.applications.parsing.latent_parsing import LatentParsing
from lssvm.applications.parsing.parsing import Parsing
from lssvm.applications.ranking.precision_at_k import PrecisionAtK, RankingOptions
from lssvm.applications.sequence.latent_sequence import (
    LatentSequenceLabelling,
    LatentSequenceOptions,
)
from lssvm.testing import check_application

SLACK = [
    Formulation("ssvm", rescaling, norm)
    for rescaling, norm in itertools.product(("margin", "slack"), (0, 1, 2))
]
TEMPERED = [
    Formulation("lssvm"),
    Formulation("hcrf"),
    Formulation("loss_augmented_likelihood"),
    Formulation(ANNEALED, epsilon_y=0.5, epsilon_h=0.5),
]
MARGINAL = [Formulation("mssvm"), Formulation(ANNEALED, epsilon_y=0.5, epsilon_h=0.25)]


def motif(form, folder, **options):
    rng = np.random.default_rng(0)
    letters = ["".join(rng.choice(list("ACGTN"), 14)) for _ in range(8)]
    heads = [f">s{i} label={'-+'[i % 2]}1 cost={1 + i % 3}" for i in range(8)]
    text = "".join(f"{head}\n{row}\n" for head, row in zip(heads, letters, strict=True))
    (folder / "x.fa").write_text(text)
    app = Motif(MotifOptions(length=3, background_order=1, skip_unusable=True, **options), form)
    return app, app.for_training(app.read([Source(str(folder / "x.fa"))]))


def rows(form, folder, kind, options, classes):
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, (12, 3)) / 8
    app = kind(options(bias=0.0), form)
    app.fix(classes, 3)
    labels = np.arange(12) % len(classes)
    return app, in_memory(sparse.csr_array(x), labels, classes, len(app.columns))


def multiclass(form, folder):
    return rows(form, folder, Multiclass, MulticlassOptions, ("a", "b", "c"))


def taxonomy(form, folder):
    classes = ("a/b", "a/c", "d")
    return rows(form, folder, Taxonomy, TaxonomyOptions, classes)


def sequence(form, folder, **options):
    found = sequence_cases.Problem(
        np.random.default_rng(2), "hamming", form.rescaling, form.slack_norm, form.model, **options
    )
    return found.app, found.examples


def latent_sequence(form, folder, **options):
    _, plain = sequence(Formulation("ssvm"), folder)
    app = LatentSequenceLabelling(LatentSequenceOptions(**options), form)
    return app, app.marked(plain)


def random_field(form, folder, **options):
    temperatures = (form.epsilon_y, form.epsilon_h)
    shape = options.pop("shape", "tree")
    found = mrf_cases.Problem(
        np.random.default_rng(1), form.model, temperatures, shape, n=4, **options
    )
    return found.app, found.examples


def clusters(kind):
    def made(form, folder):
        documents = clustering_cases.random_documents(np.random.default_rng(3), 3)
        app = kind(kind.Options(features=3), form)
        return app, clustering_cases.read(app, folder, documents)

    return made


def ranking(form, folder):
    rng = np.random.default_rng(0)
    lines = [
        f"{j % 2} qid:{q} 1:{rng.integers(-8, 9) / 8} 2:{rng.integers(-8, 9) / 8}"
        for q in range(1, 6)
        for j in range(5)
    ]
    (folder / "x.dat").write_text("\n".join(lines) + "\n")
    app = PrecisionAtK(RankingOptions(k=2), form)
    return app, app.read([Source(str(folder / "x.dat"))])


TREES = """(S (NP (DT a) (NN b)) (VP (VB c) (NP (NN d))))
(ROOT (S (NP (NP (NN a)) (PP (IN b) (NP (NN c)))) (VP (VB d))))
(S (NP (NN b)) (VP (VB c) (NP (DT a) (NN d)) (PP (IN b) (NP (NN c)))))
(NP (NN c)) (S (S (NP (NN b)) (VP (VB b))))
"""


def trees(kind):
    def made(form, folder, **options):
        (folder / "x.ptb").write_text(TREES)
        app = kind(kind.Options(**options), form)
        return app, app.read([Source(str(folder / "x.ptb"), cost=1.5)])

    return made


SPANS = ["length", "first_tag", "word_before"]


def alignment(form, folder, **options):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ABC"), rng.integers(2, 7))) for _ in range(18)]
    if form.model == "crf" or options.get("task") == "pairs":
        rows = [f">s{i} cost={1 + i % 3}\n{word[:2]}\n" for i, word in enumerate(words)]
        form = form if form.model == "crf" else Formulation("ssvm")
        options |= {"task": "pairs", "mode": "global"}
    else:
        roles = ("native", "homolog", "decoy")
        rows = [f">s{i} role={roles[i % 3]}\n{w[: 2 + i % 3 // 2]}\n" for i, w in enumerate(words)]
    (folder / "x.fa").write_text("".join(rows))
    app = Alignment(AlignmentOptions(alphabet="ABC", **options), form)
    return app, app.read([Source(str(folder / "x.fa"))])


def relations(form, folder, **options):
    return relation_cases.problem(np.random.default_rng(0), n=8, **options)


ALIGNED_PRIOR = {a: {b: 1.0 if a == b else -0.5 for b in "ABC"} for a in "ABC"}
CASES = {
    "alignment": [
        (alignment, form, {}) for form in [*SLACK, *TEMPERED, *MARGINAL, Formulation("crf")]
    ]
    + [
        (alignment, form, {"mode": "global", "free_ends": True, "prior": ALIGNED_PRIOR})
        for form in [SLACK[1], *TEMPERED, *MARGINAL]
    ]
    + [(alignment, SLACK[1], {"task": "pairs", "shift": 1, "neighbourhood": 1})],
    "motif": [(motif, form, {}) for form in [*TEMPERED, *MARGINAL]]
    + [(motif, TEMPERED[0], {"strands": "both", "initialisation": "random"})],
    "multiclass": [(multiclass, form, {}) for form in SLACK],
    "taxonomy": [(taxonomy, form, {}) for form in SLACK],
    "sequence": [(sequence, form, {}) for form in [*SLACK, Formulation("crf")]]
    + [(sequence, SLACK[1], {"order": 2, "ends": True})],
    "latent_sequence": [(latent_sequence, form, {}) for form in TEMPERED],
    "mrf": [(random_field, form, {}) for form in [*TEMPERED, *MARGINAL, Formulation("ssvm")]]
    + [
        (random_field, TEMPERED[0], {"shape": "loop", "inference": how})
        for how in ("bp", "spanning-forests")
    ],
    "coreference": [(clusters(Coreference), TEMPERED[0], {})],
    "correlation_clustering": [(clusters(CorrelationClustering), Formulation("ssvm"), {})],
    "parsing": [(trees(Parsing), form, {"loss": "brackets"}) for form in SLACK]
    + [(trees(Parsing), form, {}) for form in SLACK if form.slack_norm]
    + [(trees(Parsing), form, {"loss": "zero_one"}) for form in SLACK[1:3]]
    + [(trees(Parsing), SLACK[1], {"tags": "predicted", "min_count": 1})]
    + [(trees(Parsing), SLACK[1], {"span_features": SPANS, "horizontal": None})]
    + [(trees(Parsing), Formulation("crf"), {"span_features": SPANS})],
    "latent_parsing": [
        (trees(LatentParsing), form, options)
        for form in TEMPERED[:2]
        for options in ({"span_features": SPANS}, {"tags": "predicted", "loss": "brackets"})
    ],
    "relation": [
        (relations, TEMPERED[0], options)
        for options in (
            {},
            {"none_weights": True, "costs": True},
            {"loss": "f_beta", "beta": 2.0},
            {"loss": "f_beta", "average": "macro", "none_weights": True},
            {"loss": "f_beta", "decomposition": "pairs", "iterations": 3, "label_sets": 1},
        )
    ],
    "precision_at_k": [(ranking, TEMPERED[0], {})],
}


@pytest.mark.parametrize(
    ("make", "form", "options"),
    [
        pytest.param(*case, id=f"{name}-{number}")
        for name, cases in CASES.items()
        for number, case in enumerate(cases)
    ],
)
def test_an_application_of_the_package_keeps_its_contract(make, form, options, tmp_path):
    app, examples = make(form, tmp_path, **options)
    assert check_application(app, examples) == []


def test_every_registered_application_has_a_case_for_each_of_its_models(tmp_path):
    own = {
        name: entry
        for name, entry in applications.registered().items()
        if entry.value.startswith("lssvm.")
    }
    assert own.keys() == CASES.keys()
    for name in own:
        kind = applications.load(name)
        assert {form.model for _, form, _ in CASES[name]} == kind.models
        assert {form.slack_norm for _, form, _ in CASES[name]} == kind.slack_norms
        assert {form.rescaling for _, form, _ in CASES[name]} == kind.rescalings


class ListedToy(toy.Toy):
    """Lists what its tables hold."""

    def candidates(self, x):
        return list(itertools.product(*map(range, self.tables.shape[1:3])))


def findings(kind, seed=0):
    """What is found in an application of this class on random tables."""
    app, pairs = toy.random_problem(seed, n=12)
    bases = (kind, ListedToy) if kind is not toy.Toy else (ListedToy,)
    listed = type(kind.__name__, bases, {})

    def fresh():
        return listed(app.tables, app.losses)

    return check_application(fresh(), pairs, fresh=fresh)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found_in_an_application_that_is_right(seed):
    assert findings(toy.Toy, seed) == []


class LastFeature(toy.Toy):
    """Predicts the output of the last feature."""

    def predict_one(self, w, x):
        return toy._first_maximum(self.tables[x][:, :, -1])


class Counting(toy.Toy):
    """Adds up how often it was asked."""

    asked = 0

    def joint_feature(self, x, y, h):
        self.asked += 1
        return self.tables[x, y, h] * (1.0 + 1e-6 * self.asked)


class TwoNames(toy.Toy):
    def feature_names(self):
        return ["a", "b"]


NUMBER = r"-?[\d.e+-]+"


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (wrong.OtherOutput, rf"example 'x\d+': .* at .* has value {NUMBER}, .* {NUMBER}"),
        (wrong.RandomInference, r"example 'x\d+': .* gave other bytes when called again .*"),
        (wrong.NoLossInInference, rf"example 'x\d+': .* has value {NUMBER}, .* {NUMBER}.*"),
        (wrong.OtherFeatures, rf"example 'x\d+': .* has value {NUMBER}, .* {NUMBER}.*"),
        (wrong.LowestCompletion, rf".*example 'x\d+': .* has value {NUMBER}, .* {NUMBER}.*"),
        (LastFeature, rf"example 'x\d+': the prediction at .* has value {NUMBER}, .* {NUMBER}.*"),
        (wrong.NegativeLoss, r".*example 'x\d+': its loss is -1; expected at least 0"),
        (wrong.LossAtTheTruth, r".*example 'x\d+': the loss of its true output is 1; expected 0"),
        (wrong.NotANumber, r".*example 'x3': feature 'f0' is not finite"),
        (wrong.OtherShape, r".*example 'x3': joint_feature has shape \(4,\); expected \(5,\)"),
        (wrong.NoArray, r".*example 'x3': joint_feature .* expected.*"),
        (wrong.NoPair, r".*example 'x3': .* gave a int; expected \(y, h\)"),
        (wrong.NoNumber, r".*example 'x\d+': loss gave a str; expected a number"),
        (wrong.OtherLossEachTime, r"example 'x\d+': .* gave other bytes when called again .*"),
        (Counting, r"example 'x\d+': .* gave other bytes when called again .*"),
        (TwoNames, r"there are 5 weights, but 2 names .* expected as many"),
        (wrong.fails("joint_feature"), r".*joint_feature of example 'x3': ZeroDivisionError.*"),
        (wrong.fails("complete_latent"), r".*complete_latent of example 'x3': ZeroDivisionError.*"),
    ],
)
def test_what_is_wrong_is_found_and_named(kind, sentence):
    found = findings(kind)
    assert any(re.match(sentence, text) for text in found), found
    assert all("\n" not in text for text in found)
