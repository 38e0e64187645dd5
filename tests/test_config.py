import json
import os
import time
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from lssvm import applications
from lssvm.applications.base import Source
from lssvm.config import Config, load_config, set_values, yaml12
from lssvm.config.checks import meaningful
from lssvm.config.template import json_schema, starter
from lssvm.errors import ConfigError

ROOT = Path(__file__).parent.parent
BUILT_IN = [*applications.registered()]
KNOWN = ", ".join([*BUILT_IN, "lines", "broken"])
GOOD = """\
application: {name: lines, length: 2}
data:
  train: [a.txt, {path: b.txt, label: +1, cost: 0.5}]
  test: c.txt
objective: {C: 1e3, c_scaling: mean}
"""


@pytest.fixture(autouse=True)
def lines_application(monkeypatch):
    known = applications.registered()
    known["lines"] = EntryPoint("lines", "lines:Lines", applications.GROUP)
    known["broken"] = EntryPoint("broken", "no_such_module:Broken", applications.GROUP)
    monkeypatch.setattr(applications, "registered", lambda: known)


@pytest.fixture
def load(tmp_path):
    def load(text, *overrides):
        path = tmp_path / "c.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_config(path, overrides)

    return load


@pytest.fixture
def faults(load, tmp_path):
    """The messages of a faulty configuration, without its folder."""

    def faults(text, *overrides):
        with pytest.raises(ConfigError) as caught:
            load(text, *overrides)
        assert str(caught.value) == "\n".join(caught.value.messages)
        return [message.replace(f"{tmp_path}/", "") for message in caught.value.messages]

    return faults


def test_values_not_given_are_the_defaults_of_the_schema(load):
    config = load("application: {name: lines, length: 2}")
    assert config.to_dict() == {
        "version": 1,
        "application": {
            "name": "lines",
            "length": 2,
            "scale": 1.0,
            "kind": "plain",
            "widths": [],
            "bias": True,
        },
        "data": {"train": [], "validate": [], "test": [], "max_mb": 1000.0, "skip_bad": 0},
        "kernel": {
            "type": "linear",
            "degree": 3,
            "gamma": "scale",
            "coef0": 0.0,
            "explicit": False,
            "max_mb": 2000.0,
        },
        "objective": {
            "model": "lssvm",
            "C": 1.0,
            "c_scaling": "sum",
            "rescaling": "margin",
            "slack_norm": 1,
            "epsilon_y": None,
            "epsilon_h": None,
        },
        "solver": {
            "method": "auto",
            "epsilon": 1e-3,
            "step": 0.08,
            "max_passes": 10000,
            "max_planes": 300,
            "qp": "auto",
            "cache": 0,
            "max_cache_mb": 4000.0,
            "sweeps": 20,
            "violation": 0.1,
            "batch_size": 8,
            "learning_rate": None,
            "decay": "inverse",
            "gradient_norm": None,
            "epochs": 100,
            "average": True,
        },
        "cccp": {
            "tolerance": 1e-3,
            "max_iterations": 100,
            "restarts": 1,
            "inexactness": 0.1,
        },
        "held_out": {"every": 0, "patience": 5, "metric": ""},
        "search": {"grid": {}, "folds": 10, "seeds": 1},
        "seed": 0,
    }


def test_a_pattern_stands_for_the_files_that_it_matches_in_the_order_of_their_names(
    load, tmp_path, monkeypatch
):
    for name in ("p-10.txt", "p-2.txt", "p-1.txt", "[a].txt", "a.txt", "in/deep/p-0.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "p-3.txt").mkdir()
    entries = "[{path: 'p-*.txt', label: pos, cost: 0.5}, '[a].txt', '**/p-0.txt', 'p-[12].txt']"
    config = load(GOOD, f"data={{train: {entries}, test: 'q*'}}")
    monkeypatch.chdir(tmp_path)
    found = config.sources("train")
    names = ["p-1.txt", "p-10.txt", "p-2.txt", "[a].txt", "in/deep/p-0.txt", "p-1.txt", "p-2.txt"]
    assert [source.path for source in found] == names
    assert [source.label for source in found[:4]] == ["pos", "pos", "pos", None]
    assert [source.cost for source in found[:4]] == [0.5, 0.5, 0.5, 1.0]
    assert config.to_dict()["data"]["train"][0]["path"] == "p-*.txt"
    with pytest.raises(ConfigError) as caught:
        config.sources("test")
    assert str(caught.value).endswith(": data.test: 'q*' matches no file; expected at least one")


@pytest.mark.parametrize("name", ["*" + 300 * "x", 5000 * "[a]", "a*/" + 300 * "x", "["])
def test_a_pattern_that_no_file_can_have_matches_none(load, name):
    config = load(GOOD, f'data={{test: "{name}"}}')
    with pytest.raises(ConfigError, match="matches no file"):
        config.sources("test")


def test_relative_paths_count_from_the_folder_of_the_file(load, tmp_path):
    config = load(GOOD)
    assert config.sources("train") == [
        Source(f"{tmp_path}/a.txt"),
        Source(f"{tmp_path}/b.txt", "1", 0.5),
    ]
    assert config.sources("test") == [Source(f"{tmp_path}/c.txt")]


def test_paths_of_overrides_count_from_the_working_directory(load, tmp_path):
    config = load(GOOD, "data.test=[x.txt, /y.txt, '-']")
    assert [source.path for source in config.sources("test")] == ["x.txt", "/y.txt", "-"]
    assert config.sources("train")[0].path == f"{tmp_path}/a.txt"


def test_all_splits_of_an_overriding_data_section_count_from_the_working_directory(load):
    config = load(GOOD, "data={train: x.txt, test: y.txt}")
    assert config.sources("train") == [Source("x.txt")]
    assert config.sources("test") == [Source("y.txt")]


def test_an_option_given_as_an_existing_file_counts_from_the_working_directory(
    tmp_path, monkeypatch
):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "letters.txt").write_text("A 0.4\nC 0.1\nG 0.1\nT 0.4\n")
    (tmp_path / "c.yaml").write_text("application: {name: motif}\n")
    monkeypatch.chdir(tmp_path / "here")
    config = load_config("../c.yaml", ["application.background=letters.txt"])
    assert config.application.background == {"A": 0.4, "C": 0.1, "G": 0.1, "T": 0.4}


def test_an_option_that_is_a_path_counts_from_the_folder_of_the_file(tmp_path):
    (tmp_path / "letters.txt").write_text("A 0.4\nC 0.1\nG 0.1\nT 0.4\n")
    (tmp_path / "c.yaml").write_text("application: {name: motif, background: letters.txt}\n")
    assert load_config(tmp_path / "c.yaml").application.background["A"] == 0.4


def test_paths_are_kept_as_they_were_written(load):
    assert [entry["path"] for entry in load(GOOD).to_dict()["data"]["train"]] == ["a.txt", "b.txt"]


def test_the_effective_configuration_loads_to_itself(load):
    config = load(GOOD, "search.grid={objective.C: [1, 2], application.length: [2, 3]}")
    values = json.loads(json.dumps(config.to_dict()))
    assert Config.from_dict(values).to_dict() == config.to_dict()
    assert load(yaml12.dump(config.to_dict())).to_dict() == config.to_dict()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e3", 1000.0),
        ("1E-5", 1e-5),
        ("+1", 1),
        (".5", 0.5),
        ("-.5e1", -5.0),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("1_000", "1_000"),
        ("12:30:00", "12:30:00"),
        ("2026-11-27", "2026-11-27"),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("'1'", "1"),
        ("=", "="),
        ("<<", "<<"),
        ("!!str 1", "1"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text, value):
    found, wrong = yaml12.parse_value(text, "here")
    assert wrong == []
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", ["1e3", "no", "010", "+1", "true", "~", "", "a: b", "é", "12:30"])
def test_text_that_looks_like_something_else_is_quoted_when_written(value):
    assert yaml12.parse_value(yaml12.dump_inline(value), "here") == (value, [])


def test_all_faults_are_told_at_once_in_the_order_of_the_file(faults):
    text = """\
application:
  name: lines
  lenth: 3
  widths: [1, x]
  bias: 1
modle: 3
objective:
  C: -1
  model: hcrf
solver: {method: bundel, epsilon: .inf, step: 2}
seed: 1.0
seed: 2
cccp: {restarts: yes, tolerance: 1, max_iterations: 0}
data: {train: {pth: x}, test: [3], validate: [{path: a, cost: 0}]}
"""
    assert faults(text) == [
        "c.yaml:1:1: application.length: missing; expected a value, there is no default",
        "c.yaml:3:3: application.lenth: unknown key; did you mean 'length'? "
        "(known: name, length, scale, kind, widths, bias)",
        "c.yaml:4:15: application.widths[1]: expected a whole number, got 'x'",
        "c.yaml:5:3: application.bias: expected true or false, got 1",
        "c.yaml:6:1: modle: unknown key "
        "(known: version, application, data, kernel, objective, solver, cccp, held_out, "
        "search, seed, executor, workers)",
        "c.yaml:8:3: objective.C: expected a number greater than 0, got -1",
        "c.yaml:9:3: objective.model: application 'lines' has no model 'hcrf' (known: lssvm, ssvm)",
        "c.yaml:10:10: solver.method: expected 'auto', 'bundle', 'bundle-newton', 'proximal', "
        "'cutting-plane', 'n-slack', 'working-set', 'dual-coordinate', 'lbfgs', "
        "'gradient' or 'sgd', got 'bundel'; did you mean 'bundle'?",
        "c.yaml:10:26: solver.epsilon: expected a finite number, got '.inf'",
        "c.yaml:10:41: solver.step: expected a number of at most 1, got 2",
        "c.yaml:11:1: seed: expected a whole number, got 1.0",
        "c.yaml:12:1: seed: key given twice, first on line 11",
        "c.yaml:13:8: cccp.restarts: expected a whole number, got 'yes'",
        "c.yaml:13:37: cccp.max_iterations: expected a number of at least 1, got 0",
        "c.yaml:14:8: data.train[0].path: missing; expected a value, there is no default",
        "c.yaml:14:16: data.train[0].pth: unknown key; did you mean 'path'? "
        "(known: path, label, cost)",
        "c.yaml:14:32: data.test[0]: expected a mapping, got 3",
        "c.yaml:14:57: data.validate[0].cost: expected a number greater than 0, got 0",
    ]


def test_numbers_are_strict_but_a_whole_number_is_a_number(load, faults):
    assert load(GOOD, "objective.C=3").objective.C == 3.0
    assert faults(GOOD, "seed=true", "cccp.restarts=3.0", "objective.C='3'") == [
        "--set seed: expected a whole number, got true",
        "--set cccp.restarts: expected a whole number, got 3.0",
        "--set objective.C: expected a number, got '3'",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "c.yaml: empty; expected a mapping (key: value)"),
        ("# only a comment\n", "c.yaml: empty; expected a mapping (key: value)"),
        ("- a\n", "c.yaml:1:1: expected a mapping (key: value), got a list"),
        ("just text\n", "c.yaml:1:1: expected a mapping (key: value), got 'just text'"),
        (
            "a:\n\tb: 3\n",
            "c.yaml:2:1: a tab character where YAML wants spaces; indent with spaces",
        ),
        ("a: *x\n", "c.yaml:1:4: aliases (*name) are not supported; write the value out"),
        (
            "a: &x 3\n",
            "c.yaml:1:4: anchors (&name) are not supported; write the value out, or quote the text",
        ),
        (
            "a: [1, 2\n",
            "c.yaml:2:1: not valid YAML: while parsing a flow sequence, "
            "expected ',' or ']', but got '<stream end>'",
        ),
        ("a: 3\n---\nb: 3\n", "c.yaml:2:1: a second document ('---'); expected one mapping"),
        (b"a: \xff\n", "c.yaml:1: byte 0xff is not UTF-8; expected a text file"),
        (b"a: 3\nb: \x00\n", "c.yaml:2: character '\\x00' is not allowed in YAML"),
        ("[" * 5000, "c.yaml: nested too deeply; expected a YAML configuration"),
        ("a: " * 3 + "3\n", "c.yaml:1:5: not valid YAML: mapping values are not allowed here"),
        ("x" * 1_000_001, "c.yaml: larger than 1,000,000 bytes; expected a YAML configuration"),
    ],
)
def test_a_file_that_is_no_mapping_is_told_in_one_line(faults, text, message):
    assert faults(text) == [message]


def test_values_nested_deeper_than_any_configuration_are_refused(faults):
    text = "a: " + "[" * 60 + "]" * 60
    assert faults(text) == ["c.yaml:1:54: nested too deeply"]


def test_tags_are_refused_and_run_nothing(faults):
    assert faults(GOOD + "seed: !!python/object/apply:os.getcwd []\n") == [
        "c.yaml:6:1: seed: tag 'tag:yaml.org,2002:python/object/apply:os.getcwd' is not supported"
    ]


def test_keys_and_text_that_no_file_name_can_hold_are_refused(faults):
    assert faults(GOOD + '? [a]\n: 3\n"\\0": 4\nseed: "\\ud800"\n') == [
        "c.yaml:6:3: a key must be text, got a list",
        "c.yaml:8:1: a key must be text, got '\\x00'",
        "c.yaml:9:1: seed: '\\ud800' is not of the type 'tag:yaml.org,2002:str'",
    ]


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(load):
    text = b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()
    assert load(text).to_dict() == load(GOOD).to_dict()


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "absent.yaml")
    assert str(caught.value) == f"{tmp_path}/absent.yaml: cannot be read: No such file or directory"
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory"


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            "seed: 3\n",
            f"c.yaml: application: missing; expected {{name: …}} with one of {KNOWN}",
        ),
        (
            "application: 3\n",
            "c.yaml:1:1: application: expected a mapping, got 3",
        ),
        (
            "application: {length: 3}\n",
            f"c.yaml:1:1: application.name: missing; expected one of {KNOWN}",
        ),
        (
            "application: {name: [x]}\n",
            f'c.yaml:1:15: application.name: expected one of {KNOWN}, got ["x"]',
        ),
        (
            "application: {name: motfi}\n",
            "c.yaml:1:15: application.name: unknown application 'motfi'; did you mean 'motif'? "
            f"(known: {KNOWN})",
        ),
        (
            "application: {name: broken}\n",
            "c.yaml:1:15: application.name: application 'broken' (no_such_module:Broken) cannot "
            "be loaded: ModuleNotFoundError(\"No module named 'no_such_module'\")",
        ),
    ],
)
def test_an_application_that_cannot_be_used_is_told(faults, section, message):
    assert faults(section) == [message]


def test_the_name_alone_stands_for_an_application_without_options(load):
    assert load("application: motif\n").application.name == "motif"


def test_a_value_of_several_types_has_one_message(faults):
    assert faults("application: {name: motif, background: 3}\n") == [
        "c.yaml:1:28: application.background: expected text or a mapping, got 3"
    ]


def test_faults_of_overrides_name_the_override(faults):
    assert faults(
        GOOD,
        "solver.epsilom=1e-4",
        "seed",
        "=3",
        "solver..step=1",
        "cccp=[",
        "objective.C.x=3",
        "data.train.cost=3",
        "search={folds: 2, folds: 3}",
    ) == [
        "--set solver.epsilom: unknown key; did you mean 'epsilon'? "
        "(known: method, epsilon, step, max_passes, max_planes, qp, cache, "
        "max_cache_mb, sweeps, violation, batch_size, learning_rate, decay, gradient_norm, epochs, "
        "average)",
        "--set seed: expected KEY=VALUE, such as solver.epsilon=1e-4",
        "--set =3: expected KEY=VALUE, such as solver.epsilon=1e-4",
        "--set solver..step=1: expected KEY=VALUE, such as solver.epsilon=1e-4",
        "--set cccp: not valid YAML: while parsing a flow node, "
        "expected the node content, but found '<stream end>'",
        "--set objective.C.x: 'objective.C' is not a mapping; set it as a whole",
        "--set data.train.cost: 'data.train' is not a mapping; set it as a whole",
        "--set search: folds: key given twice, first on line 1",
    ]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("solver.max_iterations", "max_passes"),
        ("solver.max_iter", "max_passes"),
        ("solver.tolerance", "epsilon"),
        ("cccp.max_iter", "max_iterations"),
        ("objective.tolerance", None),
    ],
)
def test_keys_of_other_names_are_understood_where_their_meaning_is_known(key, meant, faults):
    (fault,) = faults(GOOD, f"{key}=1")
    hint = f"; did you mean {meant!r}?" if meant else ""
    assert fault.startswith(f"--set {key}: unknown key{hint} (known: ")


def test_a_later_override_wins(load):
    assert load(GOOD, "seed=1", "seed=2").seed == 2


def test_grid_entries_are_checked_against_the_schema(faults):
    grid = "{objective.C: [1, -1], application.length: [2, x], seed: [1], solver.epsilom: [1e-3],"
    grid += " solver.qp: [], application.name: [motif]}"
    assert faults(GOOD + "search:\n  grid: {solver.qp: []}\n") == [
        "c.yaml:7:10: search.grid.solver.qp: expected a length of at least 1, got []"
    ]
    text = GOOD + f"search:\n  grid: {grid.replace('solver.qp: [], ', '')}\n"
    every = "application.*, kernel.*, objective.*, solver.*, cccp.*"
    assert faults(text) == [
        "c.yaml:7:10: search.grid.objective.C: expected a number greater than 0, got -1",
        "c.yaml:7:32: search.grid.application.length: expected a whole number, got 'x'",
        f"c.yaml:7:60: search.grid.seed: cannot be searched; expected a key of {every}",
        "c.yaml:7:71: search.grid.solver.epsilom: unknown key; did you mean 'epsilon'? "
        "(known: method, epsilon, step, max_passes, max_planes, qp, cache, "
        "max_cache_mb, sweeps, violation, batch_size, learning_rate, decay, gradient_norm, epochs, "
        "average)",
        f"c.yaml:7:95: search.grid.application.name: cannot be searched; expected a key of {every}",
    ]


def test_set_values_leaves_files_of_options_where_they_are():
    options = {"name": "relation", "relation_names": "../names.tsv"}
    config = Config.from_dict({"application": options}, base="configs")
    for _ in range(2):
        config = set_values(config, {"objective.C": 2, "application.bias": 0.0})
        assert config.application.relation_names == "configs/../names.tsv"
    assert (config.objective.C, config.application.bias) == (2, 0.0)


def test_set_values_replaces_and_checks(load, tmp_path):
    config = load(GOOD)
    changed = set_values(config, {"objective.C": 2, "seed": 5})
    assert (changed.objective.C, changed.seed, config.seed) == (2.0, 5, 0)
    assert changed.sources("train") == config.sources("train")
    with pytest.raises(ConfigError) as caught:
        set_values(config, {"objective.C": 0, "seed.x": 1})
    assert caught.value.messages == [
        f"{tmp_path}/c.yaml: seed.x: 'seed' is not a mapping; set it as a whole",
        f"{tmp_path}/c.yaml: objective.C: expected a number greater than 0, got 0",
    ]


def test_a_split_without_files_is_told_when_it_is_needed(load, tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(GOOD).sources("validate")
    assert str(caught.value) == f"{tmp_path}/c.yaml: data.validate: no files; expected at least one"


def test_the_application_is_made_with_its_options(load):
    assert load(GOOD).create_application().options.length == 2


def keys_of(schema, section=None, prefix=""):
    """The dotted keys below a section of a JSON schema."""
    section = schema if section is None else section
    while "$ref" in section:
        section = schema["$defs"][section["$ref"].rpartition("/")[2]]
    if "properties" not in section:
        return {prefix}
    return set().union(
        *(keys_of(schema, part, f"{prefix}.{key}") for key, part in section["properties"].items())
    )


@pytest.mark.parametrize("name", [*BUILT_IN, "lines"])
def test_a_starter_configuration_writes_every_key_of_the_schema(load, name):
    options = applications.load(name).Options
    schema = Config.model_json_schema()
    del schema["properties"]["application"]
    known = keys_of(schema) | keys_of(options.model_json_schema(), prefix=".application")
    written = yaml12.parse_value(starter(name), "starter")[0]
    sections = {key: value for key, value in written.items() if isinstance(value, dict)}
    single = {f".{key}" for key in written.keys() - sections.keys()}
    assert known == single | {f".{s}.{key}" for s, keys in sections.items() for key in keys}


@pytest.mark.parametrize("name", [*BUILT_IN, "lines"])
def test_a_starter_configuration_holds_the_default_values(load, name):
    config = load(starter(name))
    options = {
        key: getattr(config.application, key) for key in ("name", "length")[: 1 + (name == "lines")]
    }
    plain = Config.from_dict({"application": options})
    found, default = config.to_dict(), plain.to_dict()
    assert config.data.train
    del found["data"], default["data"]
    assert found == default


@pytest.mark.parametrize("name", [*BUILT_IN, "lines"])
def test_every_starter_configuration_loads(load, name):
    config = load(starter(name))
    assert config.application.name == name
    assert config.solver == type(config.solver)()


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda p: p.name)
def test_every_shipped_configuration_loads_and_names_existing_files(path):
    config = load_config(path)
    for source in [*config.sources("train"), *config.sources("test")]:
        assert os.path.isfile(source.path)


def test_a_built_in_application_is_found_without_a_search_of_what_is_installed(monkeypatch):
    monkeypatch.setattr(applications, "registered", lambda: pytest.fail("a search"))
    for name in BUILT_IN:
        assert applications.entry_of(name).name == name
        assert applications.load(name).__module__.startswith("lssvm.applications.")


def test_every_application_has_a_shipped_configuration():
    shipped = [load_config(path).application.name for path in (ROOT / "configs").glob("*.yaml")]
    assert set(shipped) == set(BUILT_IN)


def test_the_schema_describes_the_sections_and_the_named_application():
    schema = json_schema("lines")
    assert list(schema["properties"]) == [
        "version",
        "application",
        "data",
        "kernel",
        "objective",
        "solver",
        "cccp",
        "held_out",
        "search",
        "seed",
        "executor",
        "workers",
    ]
    (section,) = schema["properties"]["application"]["anyOf"]
    assert section["properties"]["length"]["description"] == "numbers on a line"
    names = [each["title"] for each in json_schema()["properties"]["application"]["anyOf"]]
    built_in = [applications.load(name).Options.__name__ for name in BUILT_IN]
    assert names == [*built_in, "LinesOptions"]


def test_a_formulation_that_the_application_lacks_is_refused_with_the_list(load):
    with pytest.raises(ConfigError, match=r"has no rescaling 'slack'.*known: margin"):
        load("application: {name: lines, length: 2}\nobjective: {rescaling: slack}")
    with pytest.raises(ConfigError, match=r"has no slack_norm 2.*known: 1"):
        load("application: {name: lines, length: 2}\nobjective: {slack_norm: 2}")


def test_held_out_scores_need_files_one_start_and_slack(load):
    base = "application: {name: lines, length: 2}\nheld_out: {every: 5}\n"
    with pytest.raises(ConfigError, match=r"no files under data\.validate"):
        load(base)
    with pytest.raises(ConfigError, match=r"expected cccp\.restarts: 1"):
        load(base + "data: {validate: x}\ncccp: {restarts: 2}")


@pytest.mark.parametrize(
    "text",
    [
        "application: {name: lines, length: 2}\n" + "".join(f"key{i}: 1\n" for i in range(3000)),
        "application:\n  name: lines\n  length: 2\n"
        + "".join(f"  key{i}: 1\n" for i in range(3000)),
        "application: {name: lines, length: 2}\ndata:\n  train:\n" + "  - 3\n" * 3000,
        "application: {name: lines, length: 2}\nsearch:\n  grid:\n"
        + "".join(f"    objective.C{i}: [1]\n" for i in range(3000)),
        "application: {name: lines, length: 2}\n" + "seed: 1\n" * 3001,
    ],
    ids=["sections", "options", "items", "grid", "twice"],
)
def test_thousands_of_faults_are_found_at_once_and_the_first_are_told(faults, text):
    begun = time.process_time()
    told = faults(text)
    assert time.process_time() - begun < 5  # 15 s where each fault asks for the schema anew
    assert len(told) == 21
    assert len(set(told)) == 21
    assert told[-1] == "and 2,980 more of such faults"


def test_a_fault_more_than_are_told_is_counted(faults):
    text = "application: {name: lines, length: 2}\n"
    keys = [f"key{i}: 1\n" for i in range(21)]
    assert len(faults(text + "".join(keys[:20]))) == 20
    assert faults(text + "".join(keys))[20:] == ["and 1 more of such faults"]


def test_thousands_of_overrides_are_applied_in_time_that_grows_with_their_number(load):
    begun = time.process_time()
    config = load(
        GOOD, *(f"search.grid.objective.C{i}={{}}" for i in range(3000)), "search.grid={}"
    )
    assert time.process_time() - begun < 3
    assert config.search.grid == {}


LARGE = {
    "keys": ("".join(f"{i}: 1\n" for i in range(110_000)), "more than 100,000 keys and values"),
    "nested lists": ("[" * 900_000, "nested too deeply"),
    "nested mappings": ("{a: " * 200_000, "nested too deeply"),
    "nested items": ("- " * 400_000, "nested too deeply"),
    "documents": ("---\n" * 200_000, "a second document"),
    "aliases": ("a: &a [1]\nb: [" + "*a, " * 200_000 + "]", "anchors (&name) are not supported"),
    "a key": ("b" * 900_000 + ": 1", "not valid YAML"),
    "a quoted key": ('? "' + "b" * 900_000 + '"\n: 1', "unknown key"),
    "a value": ("seed: " + "b" * 900_000, "expected a whole number"),
    "a text": ('data: "' + "a b " * 200_000 + '"', "expected a mapping"),
    "a block": ("data: |\n" + " a\n" * 300_000, "expected a mapping"),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_configurations_are_refused_soon_and_briefly(faults, name):
    text, wrong = LARGE[name]
    begun = time.process_time()
    told = faults(text)
    assert time.process_time() - begun < 5
    assert wrong in "\n".join(told)
    assert max(map(len, told)) < 300


@pytest.mark.parametrize("text", ["a: [" + "1," * 2_000 + "]", "a: [" + "a: 1," * 700 + "]"])
def test_entries_of_lists_and_mappings_count_as_keys_do(faults, text, monkeypatch):
    monkeypatch.setattr(yaml12, "MOST", 1_000)
    assert "more than 1,000 keys and values" in "\n".join(faults(text))


def test_keys_and_values_in_messages_are_printable(faults):
    told = faults(
        'application: {name: lines, length: 2}\n"a\\nb\\u2028\\e": 1\nseed: ["\\u2028", "\\x85"]\n'
    )
    assert all(line.isprintable() for line in told)
    assert "a\\nb\\u2028\\x1b: unknown key" in told[0]


def test_a_search_of_too_many_settings_is_refused(faults):
    grid = ", ".join(
        f"solver.{key}: [1, 2, 3, 4]" for key in ("batch_size", "sweeps", "max_passes", "cache")
    )
    more = ", ".join(f"cccp.{key}: [1, 2, 3, 4, 5, 6, 7]" for key in ("restarts", "max_iterations"))
    assert faults(f"{GOOD}search: {{grid: {{{grid}, {more}}}}}") == [
        "c.yaml:6:10: search.grid: more than 10,000 settings to try; expected fewer"
    ]


def test_temperatures_that_mean_nothing_are_not_shown(load):
    plain, annealed = load(GOOD), "application: mrf\nobjective: {model: epsilon, epsilon_y: 0"
    settings = meaningful(plain.to_dict())
    assert settings["objective"].keys() == {"model", "C", "c_scaling", "rescaling", "slack_norm"}
    assert Config.from_dict(settings).to_dict() == plain.to_dict()
    kept = meaningful(load(annealed + ", epsilon_h: 0.5}").to_dict())["objective"]
    assert (kept["epsilon_y"], kept["epsilon_h"]) == (0.0, 0.5)


def test_an_unknown_key_below_one_of_several_types_is_told_without_the_name_of_the_type(faults):
    (message, *_) = faults("application: {name: multiclass, loss: {seed: 3}}")
    assert message.startswith("c.yaml:1:")
    assert "application.loss" in message
    assert "LossMatrix" not in message
