"""Experiments are whole: every module can be imported, and every name means one thing."""

import importlib
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXPERIMENTS = sorted((ROOT / "experiments").rglob("*.py"))
# Two papers have a second figure; every other name is one module.
SHARED_NAMES = {"__init__", "figure2"}


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_module_of_the_experiments_can_be_imported(path):
    if path.stem == "build_kernels":
        pytest.importorskip("Cython")
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    assert importlib.import_module(name).__doc__


def test_no_two_modules_of_the_experiments_share_a_name():
    names = Counter(path.stem for path in EXPERIMENTS)
    assert {name for name, count in names.items() if count > 1} == SHARED_NAMES


def test_the_folders_of_experiments_are_listed():
    text = (ROOT / "experiments" / "README.md").read_text(encoding="utf-8")
    for folder in sorted(path.parent for path in EXPERIMENTS if path.name == "__init__.py"):
        assert f"`{folder.relative_to(ROOT)}/`" in text or folder.name == "experiments", folder


def test_kernels_of_experiments_are_compiled_and_not_shipped():
    kernels = sorted((ROOT / "experiments").rglob("*.pyx"))
    assert kernels
    for path in kernels:
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert settings["setuptools"]["packages"]["find"]["include"] == ["lssvm*"]
