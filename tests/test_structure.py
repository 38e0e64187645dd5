"""The rules of the layout: who may import whom, one door for each library, sizes."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "lssvm"
KERNELS = sorted((ROOT / "cython_ext").glob("*.p[yx][xd]"))
LONGEST_MODULE = 500
LONGEST_FUNCTION = 60

MAY_IMPORT = {
    "errors": set(),
    "checked": {"errors"},
    "stopping": set(),
    "plane": set(),
    "kernels": set(),
    "formats": {"errors", "formats", "stopping"},
    "executors": {"errors", "plane"},
    "solvers": {"checked", "errors", "executors", "kernels", "plane", "solvers"},
    "cccp": {"errors", "executors", "plane", "solvers"},
    "applications": {"applications", "checked", "errors", "formats", "kernels", "plane"},
    "feature_space": {"applications", "errors"},
}
KNOW_SOLVERS = {"beginning", "cccp", "checkpoint", "solvers"}
DOORS = {
    "PIL": {"formats/images.py"},
    "cv2": {"experiments/photographs.py"},
    "osqp": {"solvers/qp.py"},
    "yaml": {"formats/yaml12.py"},
    "click": {
        "cli/classify_command.py",
        "cli/learn_command.py",
        "command.py",
        "tools.py",
    },
    "matplotlib": {"applications/motif/motif_matrix.py", "report.py"},
    "logomaker": {"applications/motif/motif_matrix.py"},
    "pandas": {"applications/motif/motif_matrix.py"},
    "seqeval": {"applications/sequence/sequence_metrics.py"},
    "threadpoolctl": {"train.py"},
}
NEVER = {"pickle", "cloudpickle", "joblib", "marshal", "shelve", "dill"}


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
COMPILED = {f"lssvm.kernels.{path.stem}" for path in KERNELS if path.suffix == ".pyx"}


def imported(name):
    """Full names of all that a module imports, those inside functions included."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES or inner in COMPILED else node.module)
    return found


IMPORTS = {name: imported(name) for name in MODULES}


def part(name):
    """The first part of a name below the package: ``solvers`` of ``lssvm.solvers.qp``."""
    return name.split(".")[1] if "." in name else ""


def ours(name):
    return {other for other in IMPORTS[name] if other.split(".")[0] == "lssvm"}


def importers(library):
    return {
        MODULES[name].relative_to(PACKAGE).as_posix()
        for name, found in IMPORTS.items()
        if library in {other.split(".")[0] for other in found}
    }


@pytest.mark.parametrize("layer", sorted(MAY_IMPORT))
def test_a_layer_imports_only_what_lies_below_it(layer):
    members = [name for name in MODULES if part(name) == layer]
    assert members
    pairs = [(name, other) for name in members for other in ours(name) - {"lssvm"}]
    wrong = {(name, other) for name, other in pairs if part(other) not in MAY_IMPORT[layer]}
    assert wrong == set()


def test_solvers_and_applications_meet_where_a_run_begins_alone():
    users = {part(name) for name in MODULES for other in ours(name) if part(other) == "solvers"}
    assert users == KNOW_SOLVERS


def test_nothing_imports_the_commands():
    users = {name for name in MODULES if "lssvm.cli" in IMPORTS[name]}
    assert users == {"lssvm.cli.program"}
    assert [name for name in MODULES if "lssvm.cli.program" in IMPORTS[name]] == []
    assert [name for name in MODULES if "lssvm.cli.group" in IMPORTS[name]] == ["lssvm.cli"]


def test_imports_have_no_cycle():
    graph = {name: ours(name) - {"lssvm", name} for name in MODULES}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("lssvm.solvers.solution") < order.index("lssvm.training.cccp")
    later = [order.index(f"lssvm.{name}") for name in ("cccp", "beginning", "train", "cli")]
    assert later == sorted(later)


@pytest.mark.parametrize("library", sorted(DOORS))
def test_a_library_has_one_door(library):
    assert importers(library) == DOORS[library]


def test_nothing_is_ever_unpickled():
    assert {library for library in NEVER if importers(library)} == set()
    for name, path in MODULES.items():
        assert "allow_pickle=True" not in path.read_text(encoding="utf-8"), name


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.name)
def test_a_kernel_stands_alone(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\b(import|from|cimport)\s+lssvm\b", text)
    assert not re.search(r"\bcimport\s+numpy\b|\bprange\b|\bopenmp\b", text)
    assert not re.search(r"\b(malloc|calloc|realloc)\b", text)


@pytest.mark.parametrize(
    "path", [*MODULES.values(), *KERNELS], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_a_module_is_short_enough_to_read(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("name", sorted(MODULES))
def test_functions_fit_a_screen(name):
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    long = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


def test_random_numbers_come_from_generators_that_are_passed():
    pattern = re.compile(r"np\.random\.(?!default_rng|Generator|PCG64|SeedSequence)\w+")
    found = {name for name, path in MODULES.items() if pattern.search(path.read_text("utf-8"))}
    assert found == set()
    assert importers("random") == set()
