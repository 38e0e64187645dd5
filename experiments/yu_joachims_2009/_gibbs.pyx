"""One sweep of the site sampler over all sequences."""


def sweep(
    const unsigned char[::1] quads,
    const long long[::1] offsets,
    const double[::1] weights,
    double[:, ::1] counts,
    const double[::1] pseudocounts,
    long long[::1] sites,
    const double[::1] uniforms,
):
    """Draw a new site for every sequence, given the sites of all others.

    quads : (total + width,) codes 0..255 of the four letters from each position
    offsets : (n + 1,) where each sequence starts in ``quads``
    weights : (total,) 1 / background probability of the window that starts there; 0 if
        no site may start there
    counts : (width, 4) counts of letters at the current sites; updated
    pseudocounts : (4,) added to every row of ``counts``
    sites : (n,) the current sites, as indices into ``quads``; replaced by the new ones
    uniforms : (n,) random numbers from [0, 1), one for each sequence

    The site h of sequence i is drawn with probability proportional to
    weights[h] · Π_j (counts[j, x_{h+j}] + pseudocounts[x_{h+j}]), where the counts
    are without its own site (Lawrence et al., Science 262, 1993). Every sequence needs a
    window of weight > 0, and every pseudocount must be > 0. Raises ValueError if shapes do not fit.
    """
    cdef Py_ssize_t n = sites.shape[0], width = counts.shape[0], i, h, q, j, first, count
    cdef Py_ssize_t n_tables = (width + 3) // 4, longest = 1
    cdef double total, product, goal, scale, size
    if (
        counts.shape[1] != 4
        or pseudocounts.shape[0] != 4
        or offsets.shape[0] != n + 1
        or uniforms.shape[0] != n
        or quads.shape[0] != weights.shape[0] + width
        or width < 1
        or n < 1
        or offsets[0] != 0
        or offsets[n] != weights.shape[0]
    ):
        raise ValueError("sweep: the shapes of the arrays do not fit together")
    for i in range(n):
        if offsets[i + 1] < offsets[i] or sites[i] < offsets[i] or sites[i] >= offsets[i + 1]:
            raise ValueError(f"sweep: site {sites[i]} is outside of sequence {i}")
        longest = max(longest, offsets[i + 1] - offsets[i])
    size = n - 1 + pseudocounts[0] + pseudocounts[1] + pseudocounts[2] + pseudocounts[3]
    scale = 1.0 / size
    cdef double[:, ::1] tables = view_of_doubles(n_tables, 256)
    cdef double[:, ::1] cumulative = view_of_doubles(1, longest)
    with nogil:
        for i in range(n):
            count_site(quads, sites[i], -1.0, counts)
            for q in range(n_tables):
                fill_table(counts, pseudocounts, scale, tables, q)
            first = offsets[i]
            count = offsets[i + 1] - first
            total = 0.0
            for h in range(count):
                product = weights[first + h]
                for q in range(n_tables):
                    product = product * tables[q, quads[first + h + 4 * q]]
                total = total + product
                cumulative[0, h] = total
            goal = uniforms[i] * total
            h = 0
            while cumulative[0, h] <= goal and h < count - 1:
                h = h + 1
            sites[i] = first + h
            count_site(quads, sites[i], 1.0, counts)


cdef double[:, ::1] view_of_doubles(Py_ssize_t rows, Py_ssize_t columns):
    return memoryview(bytearray(8 * rows * columns)).cast("d", (rows, columns))


cdef void count_site(
    const unsigned char[::1] quads, Py_ssize_t site, double sign, double[:, ::1] counts
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(counts.shape[0]):
        counts[j, quads[site + j] >> 6] += sign


cdef void fill_table(
    double[:, ::1] counts,
    const double[::1] pseudocounts,
    double scale,
    double[:, ::1] tables,
    Py_ssize_t q,
) noexcept nogil:
    """tables[q, quad] = Π of the scaled factors of the quad's letters at rows 4q..4q+3."""
    cdef Py_ssize_t size = 1, j, c, k, repeat
    cdef double factor
    tables[q, 0] = 1.0
    for j in range(min(4 * q + 4, counts.shape[0]) - 1, 4 * q - 1, -1):
        for c in range(3, -1, -1):
            factor = scale * (counts[j, c] + pseudocounts[c])
            for k in range(size):
                tables[q, c * size + k] = factor * tables[q, k]
        size = 4 * size
    repeat = 256 // size
    if repeat > 1:  # fewer than four letters are left: the rest of a quad must not matter
        for k in range(255, -1, -1):
            tables[q, k] = tables[q, k // repeat]
