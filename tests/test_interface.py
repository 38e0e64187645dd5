"""The names that ``import lssvm`` offers: loaded when asked for, and known to type checkers."""

import ast
import subprocess
import sys
from importlib.resources import files

import pytest

import lssvm

HEAVY = ("numpy", "pydantic", "scipy", "yaml", "lssvm.config", "lssvm.training")


def modules_after(program):
    """Which of the heavy modules are loaded after the program, run in a fresh interpreter."""
    text = f"{program}\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return ast.literal_eval(done.stdout)


def test_the_package_alone_imports_nothing_heavy():
    assert modules_after("import lssvm; lssvm.__version__; dir(lssvm)") == []


def test_a_name_is_loaded_when_it_is_asked_for():
    assert modules_after("from lssvm import load_config") != []


def test_the_names_are_those_that_type_checkers_see():
    tree = ast.parse((files(lssvm) / "__init__.py").read_text(encoding="utf-8"))
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)]
    homes = {alias.name: node.module for node in typed.body for alias in node.names}
    assert sorted(homes) == sorted(lssvm.__all__)
    for name, home in homes.items():
        assert getattr(lssvm, name) is getattr(sys.modules[home], name)
        assert name in dir(lssvm)


def test_other_names_are_no_attributes():
    with pytest.raises(AttributeError, match="module 'lssvm' has no attribute 'train'"):
        lssvm.train  # noqa: B018


def test_the_package_tells_type_checkers_that_it_has_types():
    assert (files(lssvm) / "py.typed").is_file()
