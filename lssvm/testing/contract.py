"""All checks of an application."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lssvm.applications.base import Application, labelled_part
from lssvm.testing.answers import Answers

MOST_EXAMPLES = 20


def check_application(
    application: Application[Any, Any],
    examples: Any,
    *,
    fresh: Callable[[], Application[Any, Any]] | None = None,
    most: int = MOST_EXAMPLES,
    seed: int = 0,
) -> list[str]:
    """The errors of an application, one sentence each; empty if none was found.

    examples : with true outputs, as ``for_training`` gives them; at most ``most`` are used
    fresh : makes another application of the same options and formulation, which has read nothing;
        by default the class is called with both
    """
    known = labelled_part(examples)
    if known is None or not len(known):
        return ["no example has a true output; expected at least one"]
    rows = np.unique(np.linspace(0, len(known) - 1, min(most, len(known))).astype(int))
    contract = Answers(application, known, rows, seed)
    with np.errstate(all="ignore"):
        for check in (contract.prepare, contract.examples, contract.feature_names, contract.start):
            contract.attempt(check)
        if contract.weights:
            for check in (contract.sums, contract.enumerated, contract.by_example):
                contract.attempt(check)
            contract.attempt(contract.predictions)
            contract.attempt(contract.rows_of_kernels)
            contract.attempt(lambda: contract.restored(fresh))
    return contract.texts
