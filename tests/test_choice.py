"""``solver.method: auto``: what is chosen, by what, and what is told of it."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from lssvm.applications.multiclass.labelled_rows import in_memory
from lssvm.applications.multiclass.multiclass import Multiclass
from lssvm.applications.multiclass.taxonomy import Taxonomy
from lssvm.applications.sequence.latent_sequence import LatentSequenceLabelling
from lssvm.applications.sequence.sequence import SequenceLabelling
from lssvm.cli import learn
from lssvm.config import Config
from lssvm.config.checks import asked_of
from lssvm.model import Model
from lssvm.problem import answers_in_c, sums_in_c
from lssvm.solvers.choice import COMMON, HARD, LARGE, SPREAD, WEIGHTS, Sizes, chosen
from lssvm.solvers.needs import Asked
from lssvm.solvers.table import CLASSES, solver_class
from lssvm.training.session import learn_on

ASKED = Asked("toy", True, True, True, frozenset({"crf"}), "ssvm", False, 1)
FEW = Sizes(10, 10 * WEIGHTS, HARD + 1)  # few weights, many steps
LONG = Sizes(20, 20 * WEIGHTS, (20 / SPREAD) ** 2, places=1.1)  # outputs of several places


@pytest.mark.parametrize(
    ("changes", "sizes", "options", "name"),
    [
        ({}, FEW, {"kernel": True}, "n-slack"),
        ({"slack_norm": 0}, FEW, {}, "n-slack"),
        ({"model": "crf"}, FEW, {}, "lbfgs"),
        ({"model": "crf", "sharp": True, "compiled": False}, FEW, {}, "bundle"),
        ({}, FEW, {"cache": True}, "bundle"),
        ({}, FEW, {}, "bundle"),
        ({}, FEW._replace(square=HARD), {}, "dual-coordinate"),
        ({}, LONG, {}, "dual-coordinate"),
        ({}, LONG._replace(square=1.01 * LONG.square), {}, "bundle"),
        ({}, LONG._replace(dimension=19), {}, "bundle"),
        ({}, LONG._replace(dimension=200, square=99 * LONG.square), {}, "dual-coordinate"),
        ({}, FEW._replace(exact=True), {}, "dual-coordinate"),
        ({}, FEW._replace(exact=True, common=COMMON), {}, "dual-coordinate"),
        ({}, FEW._replace(exact=True, common=0.999), {}, "bundle"),
        ({}, FEW._replace(dimension=11, common=0.999), {}, "bundle"),
        ({"slack_norm": 2}, FEW._replace(common=0.999), {}, "dual-coordinate"),
        ({}, FEW._replace(dimension=11), {}, "dual-coordinate"),
        ({"slack_norm": 2}, FEW, {}, "dual-coordinate"),
        ({"compiled": False}, FEW, {}, "bundle"),
        ({"compiled": False}, FEW._replace(dimension=LARGE - 1), {}, "bundle"),
        ({"compiled": False}, FEW._replace(dimension=LARGE), {}, "dual-coordinate"),
        ({"compiled": False, "each": False}, FEW._replace(dimension=LARGE), {}, "bundle"),
        ({"compiled": False, "decomposes": False}, FEW._replace(dimension=LARGE), {}, "bundle"),
        ({"compiled": False, "slack_norm": 2}, FEW, {}, "dual-coordinate"),
    ],
)
def test_the_rule(changes, sizes, options, name):
    asked = ASKED._replace(**changes)
    found, why = chosen(asked, sizes, **{"kernel": False, "cache": False, **options})
    assert found == name
    assert why
    assert solver_class(found).needs.unmet(asked) == ""


def test_whatever_is_asked_what_is_chosen_can_do_it():
    for model, sharp in (("ssvm", False), ("crf", False), ("crf", True)):
        for slack_norm in (0, 1, 2) if model == "ssvm" else (1,):
            for each, compiled in ((True, True), (True, False), (False, False)):
                asked = ASKED._replace(model=model, sharp=sharp, slack_norm=slack_norm, each=each)
                asked = asked._replace(compiled=compiled and not sharp)
                able = [name for name in CLASSES if not solver_class(name).needs.unmet(asked)]
                hard = FEW._replace(exact=True, common=1.0)
                for sizes in (FEW, FEW._replace(dimension=11), FEW._replace(exact=True), hard):
                    found, _ = chosen(asked, sizes, kernel=False, cache=False)
                    assert not able or found in able


CONFIG = """\
application: {name: multiclass}
data: {train: t.svm}
objective: {C: 1}
solver: {epsilon: 1e-2}
"""


def test_the_choice_is_told_and_stands_in_the_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text(CONFIG)
    (tmp_path / "t.svm").write_text("1 1:1\n2 2:1\n1 1:1 2:0.5\n2 1:0.2 2:1\n")
    result = CliRunner().invoke(learn, ["c.yaml", "m", "--log", "log"])
    assert result.exit_code == 0, result.output
    told = "solver: dual-coordinate, because"
    assert told in result.stderr
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    notes = [each["text"] for each in events if each["event"] == "note"]
    assert [note.startswith(told) for note in notes] == [True]
    assert Model.load(tmp_path / "m").config["solver"]["method"] == "dual-coordinate"


@pytest.mark.parametrize("name", ["multiclass", "sequence"])
def test_a_large_constant_feature_leads_to_the_bundle(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    lines = ["1 qid:1 1:1", "2 qid:1 2:1", "1 qid:2 1:1 2:0.5", "2 qid:2 1:0.2 2:1"]
    text = "\n".join(lines)
    (tmp_path / "t.svm").write_text(text)
    form = ", format: svm_hmm" if name == "sequence" else ""
    for bias, solver in ((1, "dual-coordinate"), (1000, "bundle")):
        (tmp_path / "c.yaml").write_text(
            f"application: {{name: {name}, bias: {bias}{form}}}\ndata: {{train: t.svm}}\n"
        )
        result = CliRunner().invoke(learn, ["c.yaml", "m"])
        assert result.exit_code == 0, result.output
        assert f"solver: {solver}, because" in result.stderr


def _as_before(name):
    def method(self, *arguments):
        return getattr(super(type(self), self), name)(*arguments)

    return method


@pytest.mark.parametrize("kind", [Multiclass, Taxonomy, SequenceLabelling, LatentSequenceLabelling])
@pytest.mark.parametrize("name", ["augmented", "augmented_each", "completed_each", "gradients"])
def test_inference_that_a_subclass_changes_is_not_that_of_the_inherited_c_code(kind, name):
    assert answers_in_c(kind)
    changed = type("Changed", (kind,), {name: _as_before(name)})
    assert not answers_in_c(changed)
    assert not asked_of(changed, "changed", {"model": "ssvm"}).compiled
    assert answers_in_c(type("Renamed", (kind,), {"write": _as_before("write")}))
    if sums_in_c(kind):
        assert sums_in_c(changed) == (name != "augmented")


def test_an_oracle_asks_the_inference_that_a_subclass_has():
    asked = []

    class Counted(Multiclass):
        def augmented(self, w, examples):
            asked.append(len(examples))
            return super().augmented(w, examples)

    config = Config.from_dict({"application": {"name": "multiclass", "bias": 0.0}})
    application = Counted(config.application, config.objective.formulation())
    application.fix(("a", "b", "c"), 3)
    rows = in_memory(np.eye(3), np.arange(3), ("a", "b", "c"), application.columns_per_row(None))
    learn_on(application, rows, config)
    assert sum(asked) >= 3
