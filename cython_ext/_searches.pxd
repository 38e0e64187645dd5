"""The searches for the best label sequence, which the kernels for sequences share."""

from _chains cimport UNREACHABLE, Chain, chain_states

cdef extern from "_sequence_core.h" nogil:
    double sequence_viterbi(const Chain*, const double*, long, double*, int*)
    double sequence_counted(
        const Chain*, const double*, const int*, long, const double*, int, double*, int*, long*)
    double sequence_other(const Chain*, const double*, const int*, long, double*, int*)
    double sequence_score(const Chain*, const double*, const int*, long)

cdef enum:
    PREDICT_TASK = 0
    TRUTH_TASK = 1
    HAMMING_TASK = 2
    COUNTED_TASK = 3
    ZERO_ONE_TASK = 4

cdef struct Task:
    int kind
    bint slack
    const double* charges
    const double* margins
    Py_ssize_t charge_count, margin_count


cdef inline Py_ssize_t scratch_of(int task, const Chain* chain, Py_ssize_t length) noexcept nogil:
    """How many floats the dynamic program needs for a sequence of this length."""
    if task == COUNTED_TASK:
        return (length + 1) * (length + 2) * chain_states(chain)
    return 2 * (length + 1) * chain_states(chain)


cdef inline void add_losses(
    const Chain* chain, const int* truth, Py_ssize_t length, const double* charges, double* scores,
) noexcept nogil:
    """Add the charge of each token to the scores of all its labels except the true one."""
    cdef Py_ssize_t t, l
    cdef double kept, charge
    cdef double* row
    for t in range(length):
        row, charge = scores + t * chain.padded, charges[truth[t]]
        kept = row[truth[t]]
        for l in range(chain.padded):
            row[l] += charge
        row[truth[t]] = kept


cdef inline double solve(
    const Task* task, const Chain* chain, double* scores, const int* truth, Py_ssize_t length,
    double* states, int* path, double* margin,
) noexcept nogil:
    """Write the path that a task asks for, and its loss to margin; return the maximum."""
    cdef Py_ssize_t t
    cdef long errors = 0
    cdef double value, other
    margin[0] = 0.0
    if task.kind == PREDICT_TASK:
        return sequence_viterbi(chain, scores, length, states, path)
    if task.kind == HAMMING_TASK:
        add_losses(chain, truth, length, task.charges, scores)
        value = sequence_viterbi(chain, scores, length, states, path)
        for t in range(length):
            if path[t] != truth[t]:
                margin[0] += task.charges[truth[t]]
        return value
    if task.kind == COUNTED_TASK:
        value = sequence_counted(chain, scores, truth, length, task.margins, task.slack, states, path,
                                 &errors)
        margin[0] = task.margins[errors]
        return value
    value = sequence_score(chain, scores, truth, length)
    if task.kind == ZERO_ONE_TASK:
        other = sequence_other(chain, scores, truth, length, states, path)
        if other > UNREACHABLE and 1.0 + other > value:
            margin[0] = 1.0
            return 1.0 + other
    for t in range(length):
        path[t] = truth[t]
    return value


cdef inline int point_to_task(Task* out, loss) except -1:
    """Let ``out`` point to the arrays of ChainLoss, which must outlive it."""
    cdef const double[::1] charges = loss.charges, margins = loss.margins
    out.kind, out.slack = loss.task, loss.slack
    out.charges, out.margins = &charges[0], &margins[0]
    out.charge_count, out.margin_count = charges.shape[0], margins.shape[0]
    return 0


cdef inline int check_labels(
    const Task* task, const int[::1] labels, Py_ssize_t tokens, Py_ssize_t count, Py_ssize_t most,
) except -1:
    cdef Py_ssize_t t
    if labels.shape[0] < tokens:
        raise ValueError(f"sequence: {labels.shape[0]} labels for {tokens} tokens")
    if task.charge_count != count:
        raise ValueError(f"sequence: {task.charge_count} charges for {count} labels")
    if task.kind == COUNTED_TASK and task.margin_count <= most:
        raise ValueError(f"sequence: {task.margin_count} margins for {most} errors")
    if task.kind != PREDICT_TASK:
        for t in range(tokens):
            if labels[t] < 0 or labels[t] >= count:
                raise ValueError(f"sequence: label {labels[t]} is not one of {count}")
    return 0
