"""Install a wheel into new virtual environments, train a model for each of configs, classify.

Usage: python tests/try_wheel.py WHEEL [PYTHON …]

PYTHON is an interpreter; by default those of 3.11 to 3.14 that are found. What is installed
is used, not this folder. Exit code 1 if any environment fails, or if there is none.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("python3.11", "python3.12", "python3.13", "python3.14")
BEGUN = ("--set", "solver.max_passes=3", "--set", "cccp={max_iterations: 1}")


def try_in(python, wheel, folder):
    """Raises CalledProcessError where a step fails."""
    own = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    if strange := [name for name in sorted(own) if name.split("-")[0] != "lssvm"]:
        raise RuntimeError(f"the wheel contains {', '.join(strange)}; expected lssvm alone")
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run([python, "-m", "venv", folder / "venv"])
    run([scripts / "python", "-m", "pip", "--disable-pip-version-check", "install", "-q", wheel])
    shutil.copytree(ROOT / "configs", folder / "configs")
    shutil.copytree(ROOT / "data", folder / "data")
    where = run([scripts / "python", "-c", "import lssvm; print(lssvm.__file__)"], folder)
    if not where.startswith(str(folder)):
        raise RuntimeError(f"{where.strip()} is not what was installed in {folder}")
    run([scripts / "lssvm-learn", "configs/motif.yaml", "model", "-q"], folder)
    result = run([scripts / "lssvm-classify", "configs/motif.yaml", "model", "sites.tsv"], folder)
    if not (folder / "sites.tsv").stat().st_size:
        raise RuntimeError("lssvm-classify wrote nothing")
    if not result.strip():
        raise RuntimeError("lssvm-classify printed no scores")
    for path in sorted((folder / "configs").glob("*.yaml")):  # so that every kernel is loaded
        run([scripts / "lssvm-learn", path, "begun", "-q", *BEGUN], folder, allowed=(0, 3))
        run([scripts / "lssvm-classify", "-q", path, "begun", "begun.out"], folder)
    return run([scripts / "python", "--version"]).strip(), result.strip().splitlines()[-1]


def run(words, folder=None, allowed=(0,)):
    """What a command prints; nothing of this environment reaches it.

    allowed : exit codes; raises CalledProcessError for any other
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    words = [str(word) for word in words]
    done = subprocess.run(words, cwd=folder, env=kept, stdout=subprocess.PIPE, text=True)
    if done.returncode not in allowed:
        done.check_returncode()
    return done.stdout


def starts(python):
    """Whether there is such an interpreter; a command of pyenv may be there without one."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "--version"], capture_output=True).returncode == 0


def main(wheel, *given):
    """Print one line for each environment."""
    found = given or [name for name in VERSIONS if starts(name)]
    missing = [] if given else [name for name in VERSIONS if name not in found]
    failed = not found
    for python in found:
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(*try_in(python, Path(wheel).resolve(), Path(folder).resolve()), sep=": ")
            except (subprocess.CalledProcessError, OSError, RuntimeError) as error:
                failed = True
                print(f"{python}: {error}")
    if missing:
        print("not found, not tried:", ", ".join(missing))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
