"""Parsers that read blocks of whole lines and write numbers and words to flat arrays.

Functions read a block (bytes, every line ends in LF) from a given place. They stop at the first
line that is not of the simplest form; the caller then reads that line in Python, which accepts it
or says what is wrong with it. Nothing here raises an error because of the content of a file.

Numbers are the same as those of ``float``, to the bit. Up to 19 digits make a whole number of 64
bits. If it has at most 53 bits and the power of ten is at most 22, both are exact in double
precision, so their product or quotient is rounded once (Clinger 1990). All other numbers are read
by ``PyOS_string_to_double``, the function that ``float`` calls.
"""

from libc.math cimport NAN, isfinite
from libc.string cimport memchr, memcmp, memcpy

cdef extern from "Python.h":
    double PyOS_string_to_double(const char*, char**, void*) except? -1.0

ctypedef unsigned char byte

LABELS_ARE_NUMBERS = 0
LABELS_ARE_WORDS = 1
SEQUENCES = 2

NODE = 5
EDGE = 4
OTHER = 0

cdef enum:
    NODE_WORDS = 5  # words before the features of a line
    EDGE_WORDS = 4
    NUMERIC = 0
    SEQUENTIAL = 2
    DIGITS = 19  # every whole number of so many digits has at most 64 bits
    NINE = 9  # every exponent of so many digits has at most 32 bits

cdef unsigned long long EXACT = 1ULL << 53
cdef double[23] POWERS
cdef int _i
for _i in range(23):
    POWERS[_i] = float(10 ** _i)


def rows(const byte[::1] block, Py_ssize_t at, int form, bint utf8, int least, int most, found):
    """Read rows ``label qid:ID index:value … # comment`` from place ``at`` of a block.

    form : LABELS_ARE_NUMBERS (``?`` is allowed too), LABELS_ARE_WORDS, or SEQUENCES (labels are
        words, and every row has a qid)
    utf8 : whether the block is known to be UTF-8; only then may words and comments go beyond ASCII
    least, most : the lowest and the highest index of a feature
    found : RowBuffers to write to

    Returns the place of the first line that was not read, and the numbers of rows, features and
    lines that were read and are in ``found``.
    """
    found.check(len(block))
    cdef int[::1] indices = found.indices, sizes = found.sizes, lines = found.lines
    cdef int[:, ::1] spans = found.spans
    cdef double[::1] values = found.values, labels = found.labels
    cdef const byte* start = &block[0]
    cdef const byte* end = start + block.shape[0]
    cdef const byte* begin = start + at
    cdef const byte* p
    cdef Py_ssize_t count = 0, size = 0, line = 0
    cdef int taken
    cdef bint empty
    if (end - 1)[0] != c"\n":
        raise ValueError("rows: the last line of the block does not end")
    while begin < end:
        p = _blanks(begin)
        taken = 0
        empty = p[0] == c"\n" or p[0] == c"\r" or p[0] == c"#"
        if not empty:
            p = _head(p, start, utf8, form, &labels[count], &spans[count, 0])
            if p != NULL:
                p = _features(p, least, most, &indices[size], &values[size], &taken)
        if p != NULL:
            p = _rest(p, start, utf8, &spans[count, 4])
        if p == NULL:
            break
        if not empty:
            sizes[count], lines[count] = taken, <int>line
            count += 1
            size += taken
        line += 1
        begin = p
    return begin - start, count, size, line


cdef inline const byte* _blanks(const byte* p) noexcept:
    while p[0] == c" " or p[0] == c"\t":
        p += 1
    return p


cdef inline bint _ends(byte c) noexcept:
    """Whether a byte ends a word."""
    return c == c" " or c == c"\t" or c == c"\n" or c == c"\r" or c == c"#"


cdef inline bint _odd(const byte* p) noexcept:
    """Whether a non-ASCII character here may be a Unicode blank or a byte order mark."""
    return (
        (p[0] == 0xC2 and (p[1] == 0x85 or p[1] == 0xA0))
        or (p[0] == 0xE1 and p[1] == 0x9A)
        or (p[0] == 0xE2 and (p[1] == 0x80 or p[1] == 0x81))
        or (p[0] == 0xE3 and p[1] == 0x80)
        or (p[0] == 0xEF and p[1] == 0xBB)
    )


cdef inline const byte* _word(const byte* p, const byte* start, bint utf8, int* span) noexcept:
    """Write the span of the word that begins here, and return its end; NULL if it is not simple.

    utf8 : whether the word may contain characters beyond ASCII
    """
    span[0] = <int>(p - start)
    while (c"!" <= p[0] < 127 and p[0] != c"#") or (p[0] > 127 and utf8 and not _odd(p)):
        p += 1
    span[1] = <int>(p - start)
    return p if span[0] < span[1] and _ends(p[0]) else NULL


cdef const byte* _head(
    const byte* p, const byte* start, bint utf8, int form, double* label, int* spans
) except? NULL:
    """Read the label and the query of a row, and return their end; NULL if they are not simple."""
    cdef const byte* first = p
    spans[2] = spans[3] = -1
    if form == NUMERIC and p[0] != c"?":
        p = _number(p, label)
        if p == NULL or not _ends(p[0]):
            return NULL
    else:
        p = _word(p, start, utf8, spans)
        if p == NULL or (form == NUMERIC and p - first > 1):
            return NULL
        label[0] = NAN
        while first < p:
            if first[0] == c":":
                return NULL
            first += 1
    p = _blanks(p)
    if p[0] == c"q" and p[1] == c"i" and p[2] == c"d" and p[3] == c":":
        return _word(p + 4, start, utf8, &spans[2])
    if form == SEQUENTIAL:
        return NULL
    return p


cdef const byte* _features(
    const byte* p, int least, int most, int* indices, double* values, int* taken
) except? NULL:
    """Write the features of a row, and return their end; NULL if they are not simple."""
    cdef long long index, last = <long long>least - 1
    cdef const byte* first
    cdef int count = 0
    while True:
        p = _blanks(p)
        if p[0] == c"\n" or p[0] == c"\r" or p[0] == c"#":
            break
        index, first = 0, p
        while c"0" <= p[0] <= c"9" and p - first < 11:
            index = 10 * index + (p[0] - c"0")
            p += 1
        if p[0] != c":" or p == first or index <= last or index > most:
            return NULL
        p = _number(p + 1, &values[count])
        if p == NULL or not _ends(p[0]):
            return NULL
        indices[count] = <int>index
        last = index
        count += 1
    taken[0] = count
    return p


cdef const byte* _rest(const byte* p, const byte* start, bint utf8, int* comment) noexcept:
    """Write the span of the comment, and return the place after the line; NULL: not simple."""
    comment[0] = comment[1] = -1
    if p[0] == c"#":
        comment[0] = <int>(p + 1 - start)
        while p[0] != c"\n":
            if p[0] == 0 or (p[0] > 127 and not utf8):
                return NULL
            p += 1
        comment[1] = <int>(p - start)
    while p[0] == c"\r":
        p += 1
    return p + 1 if p[0] == c"\n" else NULL


cdef const byte* _number(const byte* first, double* value) except? NULL:
    """Write the finite number that begins here, and return its end; NULL if there is none."""
    cdef const byte* p = first
    cdef const byte* begin
    cdef unsigned long long digits = 0
    cdef long long exponent = 0
    cdef Py_ssize_t count
    cdef bint negative = p[0] == c"-"
    if negative or p[0] == c"+":
        p += 1
    begin = p
    while c"0" <= p[0] <= c"9":
        digits = 10 * digits + (p[0] - c"0")
        p += 1
    count = p - begin
    if p[0] == c".":
        p += 1
        begin = p
        while c"0" <= p[0] <= c"9":
            digits = 10 * digits + (p[0] - c"0")
            p += 1
        exponent = begin - p
        count -= exponent
    if count == 0:
        return NULL
    if p[0] == c"e" or p[0] == c"E":
        p = _exponent(p + 1, &exponent)
        if p == NULL:
            return NULL
    if count <= DIGITS and digits <= EXACT and -22 <= exponent <= 22:
        value[0] = <double>digits
        if exponent < 0:
            value[0] /= POWERS[-exponent]
        else:
            value[0] *= POWERS[exponent]
        if negative:
            value[0] = -value[0]
        return p
    value[0] = PyOS_string_to_double(<const char*>first, <char**>&begin, NULL)
    return p if begin == p and isfinite(value[0]) else NULL


cdef const byte* _exponent(const byte* p, long long* exponent) noexcept:
    """Add the number that begins here to exponent, and return its end.

    NULL if there are no digits, or too many.
    """
    cdef const byte* first
    cdef long long found = 0
    cdef bint negative = p[0] == c"-"
    if negative or p[0] == c"+":
        p += 1
    first = p
    while c"0" <= p[0] <= c"9" and p - first <= NINE:
        found = 10 * found + (p[0] - c"0")
        p += 1
    if not 1 <= p - first <= NINE:
        return NULL
    exponent[0] += -found if negative else found
    return p


def graph_lines(const byte[::1] block, Py_ssize_t at, int most, found):
    """Read lines of nodes and edges, and other lines, from place ``at`` of a block.

    most : the highest index of a feature
    found : RowBuffers to write to; spans hold, for each line, begin and end of the words before
        the features, and NODE, EDGE or OTHER; an edge without features gets the feature 1:1

    Returns the place of the first line that was not read, and the numbers of lines and features.
    """
    found.check(len(block))
    cdef int[::1] indices = found.indices, sizes = found.sizes
    cdef int[:, ::1] spans = found.spans
    cdef double[::1] values = found.values
    cdef const byte* start = &block[0]
    cdef const byte* end = start + block.shape[0]
    cdef const byte* begin = start + at
    cdef const byte* p
    cdef Py_ssize_t count = 0, size = 0
    cdef int taken, kind
    if (end - 1)[0] != c"\n":
        raise ValueError("graph_lines: the last line of the block does not end")
    while begin < end and count < sizes.shape[0]:
        p, taken = _blanks(begin), 0
        kind = _kind(p)
        spans[count, 0], spans[count, 2] = <int>(p - start), kind
        p = _words(p, kind)
        spans[count, 1] = <int>(p - start)
        if kind:
            p = _features(p, 1, most, &indices[size], &values[size], &taken)
        if p == NULL:
            break
        while p[0] == c"\r":
            p += 1
        if p[0] != c"\n":
            break
        if kind == EDGE_WORDS and taken == 0:
            indices[size], values[size], taken = 1, 1.0, 1
        sizes[count] = taken
        count += 1
        size += taken
        begin = p + 1
    return begin - start, count, size


cdef inline int _kind(const byte* p) noexcept:
    """The kind of the line whose words begin here."""
    if p[0] == c"n" and p[1] == c"o" and p[2] == c"d" and p[3] == c"e":
        return NODE_WORDS if p[4] == c" " or p[4] == c"\t" else 0
    if p[0] == c"e" and p[1] == c"d" and p[2] == c"g" and p[3] == c"e":
        return EDGE_WORDS if p[4] == c" " or p[4] == c"\t" else 0
    return 0


cdef inline const byte* _words(const byte* p, int count) noexcept:
    """The end of the first ``count`` words (0: all words) of a line that are printable ASCII."""
    cdef int i = 0
    p = _blanks(p)
    while c"!" <= p[0] < 127:
        while c"!" <= p[0] < 127:
            p += 1
        i += 1
        if i == count:
            break
        p = _blanks(p)
    return p


def letters(
    const byte[::1] block, Py_ssize_t at, const byte[::1] codes, byte[::1] found,
    int[:, ::1] headers,
):
    """Read letters and header lines from place ``at`` of a block, which may be within a line.

    codes : (256,), the code of each byte; it is at least 128 if the byte is not a letter
    found : (room,), to write the codes of the letters to
    headers : (room, 4), to write one row to for each line that begins with ``>``: the number of
        letters before it, its begin and end in the block, and the number of its line, from 0

    Returns the place where reading stopped, and the numbers of letters, headers and lines. Reading
    stops if ``found`` or ``headers`` is full, and at anything that is neither a letter nor a blank
    at the end of a line.
    """
    cdef const byte* start = &block[0]
    cdef const byte* end = start + block.shape[0]
    cdef const byte* p = start + at
    cdef const byte* after
    cdef byte* out = &found[0]
    cdef byte* full = out + found.shape[0]
    cdef Py_ssize_t line = 0, count = 0
    cdef byte code
    if codes.shape[0] != 256 or headers.shape[1] != 4 or (end - 1)[0] != c"\n":
        raise ValueError("letters: the last line of the block does not end, or codes are missing")
    while p < end and out < full:
        code = codes[p[0]]
        if code < 128:
            out[0] = code
            out += 1
            p += 1
            continue
        after = p
        if p[0] == c">" and (p == start or (p - 1)[0] == c"\n"):
            if count == headers.shape[0]:
                break
            while after[0] != c"\n":
                after += 1
            headers[count, 0], headers[count, 1] = <int>(out - &found[0]), <int>(p - start)
            headers[count, 2], headers[count, 3] = <int>(after - start), <int>line
            count += 1
        while after[0] == c" " or after[0] == c"\t" or after[0] == c"\r":
            after += 1
        if after[0] != c"\n":
            break
        p = after + 1
        line += 1
    return p - start, out - &found[0], count, line


def cells(const byte[::1] block, Py_ssize_t at, int columns, bint tabs, found):
    """Read lines of ``columns`` values each from place ``at`` of a block.

    tabs : whether tabs separate the values; otherwise blanks do
    found : CellBuffers to write to

    Returns the place of the first line that was not read, and the numbers of lines of values, ends
    of sentences and lines in total that are in ``found``.
    """
    found.check(len(block))
    cdef int[:, ::1] spans = found.spans
    cdef int[::1] lines = found.lines, ends = found.ends, breaks = found.breaks
    cdef byte[::1] text = found.text
    cdef const byte* start = &block[0]
    cdef const byte* end = start + block.shape[0]
    cdef const byte* begin = start + at
    cdef const byte* p
    cdef const byte* stop
    cdef const byte* after
    cdef Py_ssize_t count = 0, broken = 0, line = 0, size = 0
    if columns < 1 or (end - 1)[0] != c"\n":
        raise ValueError("cells: the last line of the block does not end, or it has no columns")
    while begin < end:
        after = <const byte*>memchr(begin, c"\n", end - begin)
        if memchr(begin, 0, after - begin) != NULL:
            break
        stop = after
        while stop > begin and (stop - 1)[0] == c"\r":
            stop -= 1
        p = _blanks(begin)
        if p >= stop or _document(p, stop):
            if broken == 0 or breaks[broken - 1] != count:
                breaks[broken] = <int>count
                broken += 1
        else:
            if not _cells(begin, stop, start, columns, tabs, &spans[count * columns, 0]):
                break
            memcpy(&text[size], begin, stop - begin)
            size += stop - begin
            ends[count], lines[count] = <int>size, <int>line
            count += 1
        line += 1
        begin = after + 1
    return begin - start, count, broken, line


cdef inline bint _document(const byte* p, const byte* stop) noexcept:
    """Whether a line marks the start of a document."""
    return stop - p >= 10 and memcmp(p, <const char*>b"-DOCSTART-", 10) == 0 and (
        p + 10 == stop or p[10] == c" " or p[10] == c"\t"
    )


cdef inline bint _cells(
    const byte* p, const byte* stop, const byte* start, int columns, bint tabs, int* spans
) noexcept:
    """Write the spans of the values of a line.

    Returns whether their number is right and none is empty.
    """
    cdef const byte* last
    cdef int count = 0
    while True:
        while p < stop and p[0] == c" ":
            p += 1
        if p == stop and not tabs:
            return count == columns
        if count == columns:
            return False
        spans[2 * count] = <int>(p - start)
        while p < stop and p[0] != c"\t" and (tabs or p[0] != c" "):
            p += 1
        if p < stop and p[0] == c"\t" and not tabs:
            return False
        last = p
        while (last - 1)[0] == c" " and last - start > spans[2 * count]:
            last -= 1
        spans[2 * count + 1] = <int>(last - start)
        if spans[2 * count] == spans[2 * count + 1]:
            return False
        count += 1
        if tabs:
            if p == stop:
                return count == columns
            p += 1
