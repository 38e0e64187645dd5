"""The compiled kernels; everything else about the package is in pyproject.toml.

What all kernels are compiled with stands here, and what one of them needs besides at the head of
its own file, as ``# distutils: extra_compile_args``.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCES = Path("cython_ext")
SHARED = "lssvm.kernels._shared"  # Cython's own functions, compiled once for all kernels
LIMITED_API = "0x030B0000"  # one abi3 wheel serves Python 3.11 and later


def extension(name: str, source: Path, *flags: str) -> Extension:
    """One compiled module of the limited API, without debugging symbols."""
    return Extension(
        name,
        [source.as_posix()],
        define_macros=[("Py_LIMITED_API", LIMITED_API)],
        py_limited_api=True,
        include_dirs=[SOURCES.as_posix()],
        depends=[path.as_posix() for path in sorted(SOURCES.glob("*.h"))],
        extra_compile_args=[] if os.name == "nt" else [*flags, "-g0"],
    )


class SideBySide(build_ext):
    """Compile as many modules at a time as there are processors."""

    def finalize_options(self) -> None:
        """Fill in the number of processors."""
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()


kernels = [
    extension(f"lssvm.kernels.{path.stem}", path, "-O3") for path in sorted(SOURCES.glob("*.pyx"))
]
setup(
    ext_modules=cythonize(
        [extension(SHARED, SOURCES / "_shared.c", "-O1"), *kernels],
        shared_utility_qualified_name=SHARED,
        include_path=[SOURCES.as_posix()],
        build_dir="build",
        nthreads=os.cpu_count() or 1,
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
        },
    ),
    cmdclass={"build_ext": SideBySide},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
