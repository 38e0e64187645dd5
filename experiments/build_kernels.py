"""Compile the kernels that only experiments need; they are not part of the package.

Usage: python experiments/build_kernels.py
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Compile every kernel in its own folder."""
    os.chdir(ROOT)
    kernels = [
        Extension(
            ".".join(path.with_suffix("").parts), [path.as_posix()], extra_compile_args=["-O3"]
        )
        for path in sorted(Path("experiments").rglob("*.pyx"))
    ]
    directives = {"language_level": 3, "boundscheck": False, "wraparound": False}
    directives |= {"cdivision": True, "initializedcheck": False}
    setup(
        name="experiments",
        packages=[],
        ext_modules=cythonize(kernels, build_dir="build", compiler_directives=directives),
        # Whatever lies in the usual folder for built modules would get into the package's wheel.
        script_args=[
            "-q",
            "build_ext",
            "--inplace",
            "--build-lib",
            "build/experiments/lib",
            "--build-temp",
            "build/experiments/temp",
        ],
    )


if __name__ == "__main__":
    main()
