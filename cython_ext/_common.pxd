# Common parts of all kernels: the problems that they solve, offsets, and memory.

cdef enum:
    COMPLETE_TASK = 0  # latent completion
    AUGMENT_TASK = 1  # loss-augmented inference
    PREDICT_TASK = 2


cdef inline Py_ssize_t longest(const long long[::1] offsets) noexcept nogil:
    """The largest of the parts that begin and end at the offsets, 1 at least."""
    cdef Py_ssize_t i, found = 1
    for i in range(offsets.shape[0] - 1):
        found = max(found, <Py_ssize_t>(offsets[i + 1] - offsets[i]))
    return found


cdef inline double[::1] aligned(Py_ssize_t count):
    """(count,) numbers from the beginning of a line of the cache, of which a vector is one."""
    import numpy as np

    cdef double[::1] whole = np.empty(count + 8)
    cdef Py_ssize_t start = (8 - (<size_t>&whole[0] // 8) % 8) % 8
    return whole[start:start + count]
