"""Examples that are here, and with copies of which workers compute."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lssvm.applications.base import Application
from lssvm.executor import Executor
from lssvm.oracle.answers import Answers
from lssvm.oracle.block_sums import Sums
from lssvm.training.whereabouts import InMemory

if TYPE_CHECKING:
    from lssvm.training.distributed.crew import Crew


class Sent(InMemory):
    """Every block of the examples is sent to a worker."""

    crew: "Crew"

    def __init__(self, application: Application, crew: "Crew") -> None:
        """Tell the workers what the application has learnt. Raises LssvmError."""
        super().__init__(application)
        self.crew = crew
        crew.learnt(application)

    def sums(self, answers: Answers[Any], blocks: Sequence[Any], executor: Executor) -> Sums:
        """Sums by workers."""
        return self.crew.sums(answers, blocks, executor)
