"""A progress line at least every few seconds, even while a single pass takes minutes."""

import threading
import time
from collections.abc import Callable


class Heartbeat:
    """Calls ``say`` from its own thread whenever nothing was printed for ``seconds``.

    The kernels release the GIL while they work, so a line can also appear during a pass.
    """

    def __init__(self, seconds: float, say: Callable[[], None]) -> None:
        self.seconds = seconds
        self._say = say
        self._over = threading.Event()
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._beat, name="progress", daemon=True)

    def start(self) -> None:
        """Start the thread, which begins to count the seconds."""
        self._thread.start()

    def heard(self) -> None:
        """Count the seconds from now, because the caller printed something."""
        self._last = time.monotonic()

    def stop(self) -> None:
        """Stop the thread; a call of ``say`` that is running is finished first."""
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._over.wait(self._last + self.seconds - time.monotonic()):
            if time.monotonic() - self._last >= self.seconds:
                self._say()
                self._last = time.monotonic()
