"""CPU seconds of ``lssvm-learn`` on a small sample compared with those of importing its libraries.

Each round runs one of each, so that both see the same state of the machine; the result is the
median of the ratios.

    python -m experiments.benchmarks.start_up [--rounds N] [--config FILE]
"""

import statistics
import tempfile
from pathlib import Path

import click

from experiments.common.usage import ROOT, usage

LIBRARIES = "import numpy, scipy.sparse, pydantic, yaml, click"
LEARN = """
import sys
from lssvm.cli.program import learn
sys.argv = ["lssvm-learn", {config!r}, {model!r}, "--quiet"]
learn()
"""


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=11, show_default=True)
@click.option("--config", default=str(ROOT / "configs" / "multiclass.yaml"))
def main(rounds: int, config: str) -> None:
    """Print the median seconds of both, and the median of their ratios."""
    with tempfile.TemporaryDirectory() as folder:
        learn = LEARN.format(config=config, model=str(Path(folder) / "model"))
        for code in (LIBRARIES, learn):
            usage("-c", code)
        pairs = [
            (usage("-c", LIBRARIES).seconds, usage("-c", learn).seconds) for _ in range(rounds)
        ]
    libraries, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(b / a for a, b in pairs)
    click.echo(f"imports {libraries:.3f} s, lssvm-learn {whole:.3f} s, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
