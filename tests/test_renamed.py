import json
from functools import reduce

import pytest

from lssvm import applications
from lssvm.config import Config, load_config, stored_config
from lssvm.config.config import SEARCHABLE
from lssvm.config.renamed import RENAMED
from lssvm.errors import ConfigError

FORMER = {
    "solver.block": ("solver.batch_size", 3),
    "solver.rate": ("solver.learning_rate", 0.25),
    "cccp.looseness": ("cccp.inexactness", 0.5),
}
FORMER_OPTIONS = {
    ("motif", "start"): ("initialisation", "random"),
    ("mrf", "start"): ("initialisation", "zero"),
    ("mrf", "start_scale"): ("initialisation_scale", 0.5),
    ("mrf", "table"): ("max_table", 512),
    ("latent_sequence", "start_scale"): ("initialisation_scale", 0.5),
    ("precision_at_k", "start"): ("initialisation", "pairwise"),
    ("precision_at_k", "start_weight"): ("initialisation_weight", 2.0),
}
CASES = [("motif", former, *present) for former, present in FORMER.items()] + [
    (name, f"application.{former}", f"application.{present}", value)
    for (name, former), (present, value) in FORMER_OPTIONS.items()
]


def refusal(tmp_path, text, *overrides):
    """The one line with which a configuration is refused, without its folder."""
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides)
    (message,) = caught.value.messages
    return message.removeprefix(f"{tmp_path}/")


def test_all_former_names_are_among_the_cases():
    assert FORMER.keys() == RENAMED.keys()
    own = {
        (name, former)
        for name in applications.registered()
        for former in applications.load(name).Options.renamed
    }
    assert own == FORMER_OPTIONS.keys()


@pytest.mark.parametrize(("name", "former", "present", "value"), CASES)
def test_a_former_key_is_refused_with_the_present_one(tmp_path, name, former, present, value):
    section, _, key = former.partition(".")
    keys = f"{{name: {name}, {key}: {value}}}" if section == "application" else f"{{name: {name}}}"
    text = f"application: {keys}\n"
    if section != "application":
        text += f"{section}:\n  {key}: {value}\n"
    told = refusal(tmp_path, text)
    assert told.startswith("c.yaml:")
    assert told.endswith(f": {former}: renamed; expected {present}")


@pytest.mark.parametrize(("name", "former", "present", "value"), CASES)
def test_a_former_key_is_refused_by_set_and_in_a_grid(tmp_path, name, former, present, value):
    text = f"application: {{name: {name}}}\n"
    told = refusal(tmp_path, text, f"{former}={value}")
    assert told == f"--set {former}: renamed; expected {present}"
    assert former.partition(".")[0] in SEARCHABLE
    grid = f"search:\n  grid: {{{former}: [{value}, {value}]}}\n"
    told = refusal(tmp_path, text + grid)
    assert told.endswith(f": search.grid.{former}: renamed; expected {present}")


@pytest.mark.parametrize(("name", "former", "present", "value"), CASES)
def test_a_former_key_of_a_stored_model_is_translated(name, former, present, value):
    values = Config.from_dict({"application": {"name": name}}).to_dict()
    section, _, key = former.partition(".")
    del values[section][present.partition(".")[2]]
    values[section][key] = value
    before = json.dumps(values)
    found = stored_config(values, "a model").to_dict()
    assert reduce(dict.__getitem__, present.split("."), found) == value
    assert json.dumps(values) == before


def test_a_stored_model_with_both_names_is_refused():
    values = Config.from_dict({"application": {"name": "motif"}}).to_dict()
    values["solver"]["block"] = 3
    with pytest.raises(ConfigError, match=r"solver\.block: renamed; expected solver\.batch_size"):
        stored_config(values, "a model")


def test_a_former_solver_is_refused_with_the_present_one_and_translated_in_models(tmp_path):
    wrong = "solver.method: 'bcfw' was renamed; expected 'dual-coordinate'"
    text = "application: {name: mrf}\n"
    assert refusal(tmp_path, text + "solver: {method: bcfw}\n") == f"c.yaml:2:10: {wrong}"
    assert refusal(tmp_path, text, "solver.method=bcfw") == f"--set {wrong}"
    values = Config.from_dict({"application": {"name": "mrf"}}).to_dict()
    values["solver"]["method"] = "bcfw"
    assert stored_config(values, "a model").solver.method == "dual-coordinate"


def test_a_former_word_of_an_option_is_refused_and_translated(tmp_path):
    wrong = "application.inference: 'trw' was renamed; expected 'spanning-forests'"
    text = "application: {name: mrf, inference: trw}\n"
    assert refusal(tmp_path, text) == f"c.yaml:1:26: {wrong}"
    assert (
        refusal(tmp_path, "application: {name: mrf}", "application.inference=trw")
        == f"--set {wrong}"
    )
    values = Config.from_dict({"application": {"name": "mrf"}}).to_dict()
    values["application"]["inference"] = "trw"
    stored = stored_config(values, "a model")
    assert stored.to_dict()["application"]["inference"] == "spanning-forests"
