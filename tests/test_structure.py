"""The rules of the layout: who may import whom, one door for each library, sizes.

``python tests/test_structure.py`` draws the diagram of docs/architecture.md anew.
"""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ARCHITECTURE = ROOT / "docs" / "architecture.md"
DIAGRAM = re.compile(r"(?<=```mermaid\n).*?(?=```)", re.DOTALL)
PACKAGE = ROOT / "lssvm"
KERNELS = sorted((ROOT / "cython_ext").glob("*.p[yx][xd]"))
HEADERS = sorted((ROOT / "cython_ext").glob("*.h"))
LONGEST_MODULE = 500
LONGEST_FUNCTION = 60

FLOORS = 9  # of imports, experiments on top
BOTTOM = {"errors", "executor", "kernels", "offsets", "plane", "sparse"}
MAY_IMPORT = {
    "errors": set(),
    "plane": set(),
    "kernels": set(),
    "offsets": set(),
    "sparse": set(),
    "checked": {"errors", "sparse"},
    "output": {"errors"},
    "problem": {"errors", "plane", "sparse"},
    "smoothing": {"errors", "plane"},
    "executor": set(),
    "oracle": {"errors", "executor", "plane", "problem", "smoothing", "sparse"},
    "formats": {"errors", "kernels", "offsets"},
    "solvers": {
        *("checked", "errors", "kernels", "offsets", "oracle", "plane", "smoothing", "sparse"),
    },
    "applications": {
        *("checked", "errors", "formats", "kernels", "offsets", "output", "plane", "problem"),
        *("smoothing", "sparse"),
    },
    "testing": {"applications", "errors", "executor", "oracle", "plane", "problem"},
    "simulation": {"errors", "output"},
    "config": {"applications", "errors", "formats", "smoothing", "solvers"},
    "model": {"applications", "checked", "config", "errors", "output"},
    "training": {
        *("applications", "checked", "config", "errors", "executor", "model", "oracle", "output"),
        *("plane", "problem", "smoothing", "solvers"),
    },
    "estimators": {"applications", "config", "errors", "model", "training"},
    "cli": {"applications", "config", "errors", "formats", "model", "output", "simulation"}
    | {"testing", "training"},
}
KNOW_SOLVERS = {"config", "solvers", "training"}
DOORS = {
    "PIL": {"formats/images.py"},
    "osqp": {"solvers/qp.py"},
    "yaml": {"config/yaml12.py"},
    "click": {
        "cli/classify_command.py",
        "cli/common.py",
        "cli/explain_command.py",
        "cli/group.py",
        "cli/simulate_command.py",
        "cli/usage.py",
        "cli/learn_command.py",
        "cli/manual_command.py",
        "cli/plot_command.py",
        "cli/report_command.py",
        "cli/score_command.py",
    },
    "matplotlib": {"applications/motif/motif_matrix.py", "output/plots.py"},
    "jinja2": {"output/page.py"},
    "logomaker": {"applications/motif/motif_matrix.py"},
    "pandas": {"applications/motif/motif_matrix.py"},
    "distributed": {"training/distributed/cluster.py"},
    "threadpoolctl": {"training/arithmetic.py"},
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


def test_every_module_and_package_has_rules():
    assert {part(name) for name in MODULES} - {""} == MAY_IMPORT.keys()


@pytest.mark.parametrize("layer", sorted(MAY_IMPORT))
def test_a_layer_imports_only_what_lies_below_it(layer):
    members = [name for name in MODULES if part(name) == layer]
    allowed = MAY_IMPORT[layer] | {layer}
    pairs = [(name, other) for name in members for other in ours(name) - {"lssvm"}]
    assert {(name, other) for name, other in pairs if part(other) not in allowed} == set()


def test_floors_of_imports_are_few():
    floors: dict[str, int] = {}

    def floor(layer):
        if layer not in floors:
            floors[layer] = 1 + max(map(floor, MAY_IMPORT[layer]), default=0)
        return floors[layer]

    assert max(map(floor, MAY_IMPORT)) < FLOORS
    assert {layer for layer, number in floors.items() if number == 1} == BOTTOM


def test_solvers_and_applications_meet_in_training_alone():
    users = {part(name) for name in MODULES for other in ours(name) if part(other) == "solvers"}
    assert users == KNOW_SOLVERS


def test_losses_over_a_data_set_belong_to_no_application():
    """Rows and pairs share them: ``multivariate`` knows neither, and neither knows the other."""

    def package(name):
        return ".".join(name.split(".")[2:-1]) if name.startswith("lssvm.applications.") else ""

    users = {
        package(name)
        for name in MODULES
        for other in ours(name)
        if package(other) == "multivariate"
    }
    assert users == {"multiclass", "multivariate", "relation"}
    for name in MODULES:
        own = {package(other) for other in ours(name)}
        if package(name) == "multivariate":
            assert own <= {"", "multivariate"}, name
        if package(name) == "multiclass":
            assert "relation" not in own, name


def test_nothing_of_the_package_imports_the_commands_or_experiments():
    for name in MODULES:
        if part(name) != "cli":
            assert not any(part(other) == "cli" for other in ours(name)), name
        assert not any(other.split(".")[0] in ("experiments", "tests") for other in IMPORTS[name])


def test_imports_have_no_cycle():
    graph = {name: ours(name) - {"lssvm", name} for name in MODULES}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("lssvm.solvers.solution") < order.index("lssvm.training.cccp")


@pytest.mark.parametrize("library", sorted(DOORS))
def test_a_library_has_one_door(library):
    assert importers(library) == DOORS[library]


def test_scikit_learn_is_imported_by_estimators_alone():
    found = importers("sklearn")
    assert found
    assert {path.split("/")[0] for path in found} == {"estimators"}


def test_nothing_is_ever_unpickled():
    assert {library for library in NEVER if importers(library)} == set()
    for name, path in MODULES.items():
        assert "allow_pickle=True" not in path.read_text(encoding="utf-8"), name


@pytest.mark.parametrize("path", [*KERNELS, *HEADERS], ids=lambda path: path.name)
def test_a_kernel_stands_alone(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\b(import|from|cimport)\s+lssvm\b", text)
    assert not re.search(r"\bcimport\s+numpy\b|\bprange\b|\bopenmp\b", text)
    assert not re.search(r"\b(malloc|calloc|realloc)\b", text)


def test_a_module_is_short_enough_to_read():
    lines = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in (*MODULES.values(), *KERNELS, *HEADERS)
    }
    assert {path for path, count in lines.items() if count > LONGEST_MODULE} == set()


def test_functions_fit_a_screen():
    long = [
        (name, node.name)
        for name, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


def test_random_numbers_come_from_generators_that_are_passed():
    pattern = re.compile(r"np\.random\.(?!default_rng|Generator|PCG64|SeedSequence)\w+")
    found = {name for name, path in MODULES.items() if pattern.search(path.read_text("utf-8"))}
    assert found == set()
    assert importers("random") == set()


def arrows():
    """Who imports whom, without arrows that follow from others."""
    direct = {
        layer: {part(other) for name in MODULES if part(name) == layer for other in ours(name)}
        - {"", layer}
        for layer in MAY_IMPORT
    }

    def below(layer):
        return direct[layer].union(*map(below, direct[layer]))

    return {
        (layer, other)
        for layer, others in direct.items()
        for other in others
        if not any(other in below(between) for between in others - {other})
    }


def diagram():
    lines = [f"    {layer} --> {other}" for layer, other in sorted(arrows())]
    return "\n".join(["flowchart TD", *lines]) + "\n"


def test_the_diagram_of_the_architecture_shows_the_imports():
    drawn = DIAGRAM.search(ARCHITECTURE.read_text(encoding="utf-8")).group()
    assert drawn == diagram(), "run: python tests/test_structure.py"


def test_the_architecture_tells_every_part():
    rows = re.findall(r"^\| `lssvm/([\w/.]+)` \|", ARCHITECTURE.read_text("utf-8"), re.MULTILINE)
    assert sorted(Path(row).stem for row in rows) == sorted(MAY_IMPORT)
    assert [row for row in rows if not (PACKAGE / row).exists()] == []


if __name__ == "__main__":
    text = ARCHITECTURE.read_text(encoding="utf-8")
    ARCHITECTURE.write_text(DIAGRAM.sub(lambda _: diagram(), text), encoding="utf-8")
