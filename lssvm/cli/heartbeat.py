"""Something said at least every so many seconds, also while a single pass takes minutes."""

import threading
import time
from collections.abc import Callable


class Heartbeat:
    """Calls ``say`` from a thread of its own whenever nothing was said for ``seconds``.

    The kernels let other threads run while they work, so a line comes in the middle of a pass too.
    """

    def __init__(self, seconds: float, say: Callable[[], None]) -> None:
        self.seconds = seconds
        self._say = say
        self._over = threading.Event()
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._beat, name="progress", daemon=True)

    def start(self) -> None:
        """Begin to count the seconds."""
        self._thread.start()

    def heard(self) -> None:
        """Something was said by others: the seconds are counted from here."""
        self._last = time.monotonic()

    def stop(self) -> None:
        """Say no more; what is being said is said to its end."""
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._over.wait(self._last + self.seconds - time.monotonic()):
            if time.monotonic() - self._last >= self.seconds:
                self._say()
                self._last = time.monotonic()
