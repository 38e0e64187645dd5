"""Examples that are here, and with copies of which workers compute."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lssvm.applications.base import Application
from lssvm.executor import Executor
from lssvm.oracle.answers import Answers
from lssvm.oracle.block_sums import Sums
from lssvm.training.distributed.traffic import Traffic
from lssvm.training.whereabouts import Here

if TYPE_CHECKING:
    from lssvm.training.distributed.crew import Crew


class Sent(Here):
    """Every block of the examples is sent to a worker."""

    def __init__(self, application: Application, crew: "Crew") -> None:
        """Tell the workers what the application has learnt. Raises LssvmError."""
        super().__init__(application)
        self._crew = crew
        crew.learnt(application)

    def sums(self, answers: Answers[Any], blocks: Sequence[Any], executor: Executor) -> Sums:
        """Sums by workers."""
        return self._crew.sums(answers, blocks, executor)

    @property
    def traffic(self) -> Traffic:
        """What went through the network so far."""
        return self._crew.traffic

    @property
    def dashboard(self) -> str:
        """The address of Dask's dashboard; empty if it is off."""
        return self._crew.dashboard
