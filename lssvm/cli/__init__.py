"""The command line: ``lssvm-learn``, ``lssvm-classify`` and the group ``lssvm``.

Nothing heavy is imported before a command runs, so that help and completion are quick.
"""

from lssvm.cli.classify_command import classify
from lssvm.cli.learn_command import learn
from lssvm.tools import main

__all__ = ["classify", "learn", "main"]
