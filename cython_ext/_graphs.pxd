"""Graphs and their elimination plans as the kernels of random fields read them."""

cdef extern from "_mrf_tables.h" nogil:
    enum:
        LANES
    ctypedef struct MrfGraphs:
        const double* w
        const long long* offsets
        const long long* starts
        const long long* bases
        const long long* nodes
        const int* indices
        const int* sizes
        const int* labels
        const int* states
        const double* values
        const double* costs
        const unsigned char* charged
    ctypedef struct MrfPlan:
        const long long* steps
        const long long* factors
        const long long* strides
        const long long* others
        const long long* evidence
        const long long* constants
        long count
        long messages
        long evidence_count
        long constant_count
        double eps[2]
    ctypedef struct MrfRoom:
        long long* places
        long long* counter
        long long* at
        double* table
        double* back
        double* kept
        double* chunk
        double* sums


cdef inline int point_to_graphs(
    MrfGraphs* out, graphs, const double[::1] w, const unsigned char[::1] charged,
) except -1:
    """Point to GraphArrays, which must outlive ``out``, and to weights that fit them."""
    cdef const long long[::1] offsets = graphs.offsets, starts = graphs.starts
    cdef const long long[::1] bases = graphs.bases, nodes = graphs.nodes
    cdef const int[::1] indices = graphs.indices, sizes = graphs.sizes, labels = graphs.labels
    cdef const double[::1] values = graphs.values, costs = graphs.costs
    if w.shape[0] < graphs.width:
        raise ValueError(f"mrf: {w.shape[0]} weights; expected {graphs.width} or more")
    if charged.shape[0] and charged.shape[0] < labels.shape[0]:
        raise ValueError(f"mrf: {charged.shape[0]} charges for {labels.shape[0]} nodes")
    out.w, out.offsets, out.starts, out.bases = &w[0], &offsets[0], &starts[0], &bases[0]
    out.nodes, out.indices, out.sizes = &nodes[0], &indices[0], &sizes[0]
    out.labels, out.states, out.values, out.costs = &labels[0], NULL, &values[0], &costs[0]
    out.charged = &charged[0] if charged.shape[0] else NULL
    return 0


cdef struct Plans:
    const long long* step_starts
    const long long* evidence_starts
    const long long* constant_starts
    const long long* steps
    const long long* factors
    const long long* strides
    const long long* other_states
    const long long* evidence
    const long long* constants
    const long long* message_sizes
    const long long* numbers
    const long long* joint_sizes
    const long long* chosen
    Py_ssize_t count


cdef inline int point_to_plans(Plans* out, plans) except -1:
    """Point to plans.Plans, which must outlive ``out``."""
    cdef const long long[::1] step_starts = plans.step_starts
    cdef const long long[::1] evidence_starts = plans.evidence_starts
    cdef const long long[::1] constant_starts = plans.constant_starts, strides = plans.strides
    cdef const long long[::1] other_states = plans.other_states, constants = plans.constants
    cdef const long long[::1] message_sizes = plans.message_sizes, numbers = plans.numbers
    cdef const long long[::1] joint_sizes = plans.joint_sizes, chosen = plans.chosen
    cdef const long long[:, ::1] steps = plans.steps, factors = plans.factors
    cdef const long long[:, ::1] evidence = plans.evidence
    out.step_starts, out.evidence_starts = &step_starts[0], &evidence_starts[0]
    out.constant_starts, out.constants = &constant_starts[0], &constants[0]
    out.steps, out.factors, out.strides = &steps[0, 0], &factors[0, 0], &strides[0]
    out.other_states, out.evidence = &other_states[0], &evidence[0, 0]
    out.message_sizes, out.numbers = &message_sizes[0], &numbers[0]
    out.joint_sizes, out.chosen, out.count = &joint_sizes[0], &chosen[0], message_sizes.shape[0]
    return 0


cdef inline void plan_at(const Plans* plans, Py_ssize_t p, MrfPlan* out) noexcept nogil:
    """Let ``out`` be plan p; its temperatures stay."""
    out.steps = plans.steps + 9 * plans.step_starts[p]
    out.count = plans.step_starts[p + 1] - plans.step_starts[p]
    out.factors, out.strides = plans.factors, plans.strides
    out.others, out.messages = plans.other_states, plans.message_sizes[p]
    out.evidence_count = plans.evidence_starts[p + 1] - plans.evidence_starts[p]
    out.constant_count = plans.constant_starts[p + 1] - plans.constant_starts[p]
    out.evidence = plans.evidence + 3 * plans.evidence_starts[p]
    out.constants = plans.constants + plans.constant_starts[p]
