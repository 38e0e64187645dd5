"""Parsing beyond the paper: sentences of up to 40 tokens, and grammars with parts of symbols.

    python -m experiments.tsochantaridis_2004.parsing_longer --data gum --out out/parsing-longer

This is ``parsing`` with further lengths, whose rows are made again because C is chosen there. It
takes about 42 minutes of one core.
"""

from experiments.common import command
from experiments.tsochantaridis_2004 import parsing

FULL = parsing.FULL._replace(lengths=(10, 15, 25, 40), longest={"2 parts": 10, "4 parts": 10})


def experiment(arguments: command.Arguments) -> str:
    """Train and test every method for every length, write the table."""
    return parsing.planned(arguments, parsing.QUICK if arguments.quick else FULL)


if __name__ == "__main__":
    command.main(
        "Parsing of longer sentences with grammars that are read off trees.",
        "folder of GUM",
        "80 sentences of at most 6 tokens",
        experiment,
        {"training": 0},
    )
