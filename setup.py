"""The compiled kernels; everything else about the package is in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

LIMITED_API = "0x030B0000"  # one abi3 wheel serves Python 3.11 and later
OPTIMISE = [] if os.name == "nt" else ["-O3"]
# Only for kernels whose inputs are checked to be finite: maxima then vectorise.
FINITE = [] if os.name == "nt" else ["-ffinite-math-only", "-fno-signed-zeros"]
CHECKED = {"_sequence", "_sequence_soft"}
# Choices between two numbers then vectorise; infinities stay what they are.
QUIET = [] if os.name == "nt" else ["-fno-trapping-math", "-fno-signed-zeros"]
CHOOSING = {"_motif_soft", "_mrf", "_mrf_bp"}


def kernel(path: Path) -> Extension:
    """The extension lssvm.kernels.NAME built from cython_ext/NAME.pyx."""
    return Extension(
        f"lssvm.kernels.{path.stem}",
        [path.as_posix()],
        define_macros=[("Py_LIMITED_API", LIMITED_API)],
        py_limited_api=True,
        include_dirs=["cython_ext"],
        depends=[path.as_posix() for path in sorted(Path("cython_ext").glob("*.h"))],
        extra_compile_args=OPTIMISE
        + (FINITE if path.stem in CHECKED else [])
        + (QUIET if path.stem in CHOOSING else []),
    )


setup(
    ext_modules=cythonize(
        [kernel(path) for path in sorted(Path("cython_ext").glob("*.pyx"))],
        include_path=["cython_ext"],
        build_dir="build",
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
        },
    ),
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
