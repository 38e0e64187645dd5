"""What a run with workers sent through the network."""

from typing import NamedTuple


class Traffic(NamedTuple):
    """What went through the network.

    workers : that took part at once; lost : how many of them were lost
    sent, received : bytes
    seconds : of passes; computing : of these, while the slowest worker computed
    """

    workers: int = 0
    sent: int = 0
    received: int = 0
    seconds: float = 0.0
    computing: float = 0.0
    lost: int = 0

    @property
    def share(self) -> float:
        """The share of the passes' time in which no worker computed."""
        return max(0.0, 1.0 - self.computing / self.seconds) if self.seconds else 0.0
