"""How a checkpoint's planes by example are read: nothing that a compiled loop could not stand."""

import numpy as np

from lssvm.checked import Arrays, array, rising, vector
from lssvm.errors import ModelError
from lssvm.solvers.example_planes import ExamplePlanes
from lssvm.solvers.room import check_room

MOST_PLANES = 2**24  # of one example


def restored_planes(
    arrays: Arrays, n: int, size: int, most: float, *, norm: int, slack: bool, exact: bool
) -> ExamplePlanes:
    """The planes of n examples that ``ExamplePlanes.state`` gave, under names with ``planes_``.

    size : of the weights; most : bytes that they may take

    That they are of these examples is checked where a run begins. Raises ModelError for what a
    state cannot be, LssvmError for planes that take too much memory.
    """
    end = int(array(arrays, "planes_places", np.int64, (n + 1,), least=0)[-1])
    places = rising(arrays, "planes_places", np.int64, n + 1, end)
    counts = array(arrays, "planes_counts", np.int32, (n,), least=0)
    for key in ("rooms", "rests", "streaks"):
        array(arrays, f"planes_{key}", np.int32, (n,), least=0, most=MOST_PLANES)
    count, length = int(counts.astype(np.int64).sum()), int(counts @ np.diff(places))
    vector(arrays, "planes_gaps", (n,))
    array(arrays, "planes_alpha", np.float64, (count,), least=0.0)
    array(arrays, "planes_idle", np.int32, (count,), least=0)
    vector(arrays, "planes_losses", (count,))
    array(arrays, "planes_outputs", np.int32, (length,), least=0)
    vector(arrays, "planes_w", (size,))
    if np.any(counts > arrays["planes_rooms"]):
        raise ModelError("array 'planes_counts' exceeds 'planes_rooms'")
    planes = ExamplePlanes(places, size, norm=norm, slack=slack, exact=exact)
    check_room(n, planes.needed(arrays["planes_rooms"]), most)
    planes.restore({key: arrays[f"planes_{key}"] for key in planes.state()})
    return planes
