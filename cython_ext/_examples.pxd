"""What a kernel answers for one example at a time, in C: the oracle of ``_dual_coordinate``.

An output is a run of whole numbers, as many for all outputs of an example: its labels, states or
class. The plane of an output is δ = Φ(x, output) − Φ(x, truth), where the truth is an output too:
with hidden values the completion. ``w`` is as the kernel keeps weights. Each function returns 0, or
a number below 0 that ends the run. They raise nothing and allocate nothing; ``reals`` and
``integers`` are room for them, one for each thread.
"""

from cpython.pycapsule cimport PyCapsule_New

cdef struct Room:
    double* reals
    int* integers

cdef struct Kept:
    Py_ssize_t count  # outputs, one behind another
    const int* truth
    const int* outputs

cdef struct Found:
    double loss  # L of what was found
    double height  # L + w . delta, or L (1 + w . delta) with slack rescaling
    double score  # w . Phi of the truth

# Loss-augmented inference. output : what was found; products : (count,) w . delta of the outputs
# that are kept.
ctypedef int (*best_type)(const void* self, const double* w, Py_ssize_t i, const Kept* kept,
                          Room room, int* output, Found* found,
                          double* products) noexcept nogil

# products : (count,) w . delta of the outputs that are kept.
ctypedef int (*heights_type)(const void* self, const double* w, Py_ssize_t i, const Kept* kept,
                             Room room, double* products) noexcept nogil

# products : (count,) delta_k . delta of the outputs that are kept, found where it is
# ``unknown``. In whatever order they are asked for, the product of two planes is the same to the
# last bit.
ctypedef int (*inner_type)(const void* self, Py_ssize_t i, const Kept* kept, Py_ssize_t k,
                           Room room, double* products) noexcept nogil

# w += sum of coefficient * delta.
ctypedef int (*add_type)(const void* self, double* w, Py_ssize_t i, const Kept* kept,
                         const double* coefficients, Room room) noexcept nogil

# The exact minimum over the multipliers of all outputs of example i, whose sum is at most
# ``limit``; w moves along. count, outputs, losses, alpha : those above 0, before and after, at most
# ``most``; gap : what the example added to P - D before. Returns 1, and has changed nothing,
# where there are more than ``most``.
ctypedef int (*solve_type)(const void* self, double* w, Py_ssize_t i, const int* truth,
                           double limit, Py_ssize_t most, int* count, int* outputs, double* losses,
                           double* alpha, Room room, double* gap) noexcept nogil

# The best output that agrees with what is known of example i; score : w . Phi of it.
ctypedef int (*complete_type)(const void* self, const double* w, Py_ssize_t i, Room room,
                              int* output, double* score) noexcept nogil

# change : w times the sum of coefficient * delta.
ctypedef int (*along_type)(const void* self, const double* w, Py_ssize_t i, const Kept* kept,
                           const double* coefficients, Room room, double* change) noexcept nogil

cdef struct Oracle:
    const void* self
    Py_ssize_t n, size  # examples, and weights as the kernel keeps them
    const long long* places  # (n + 1,) where the output of each example begins
    Py_ssize_t reals, integers  # room of one thread
    best_type best
    heights_type heights
    inner_type inner
    add_type add
    solve_type solve  # null unless all outputs can be gone through
    complete_type complete
    along_type along  # null where it would be no quicker than ``heights``


cdef inline double unknown() noexcept nogil:
    """What stands for a product that is not known; kernels may be compiled without NaN."""
    return -1e300


cdef inline object capsule_of(memory):
    """A capsule of the oracle at the beginning of an array of bytes, which must outlive it."""
    cdef unsigned char[::1] view = memory
    return PyCapsule_New(&view[0], "lssvm.example_oracle", NULL)
