"""Text cut into numbers and words: blocks of whole lines in, flat arrays out.

Functions go through a block (bytes, every line ended by LF) from one place on. They stop at the
first line that is not of the plainest kind: the caller reads that line in Python, which takes it or
says what is wrong with it. Nothing here raises an error for what a file holds.

Numbers are those that ``float`` gives, to the bit. Up to 19 digits make a whole number of 64 bits.
Where it has 53 bits at most and the power of ten 22 at most, both are exact in double precision, so
their product or quotient is rounded once (Clinger 1990); ``PyOS_string_to_double``, which is what
``float`` calls, reads all others.
"""

from libc.math cimport isfinite
from libc.string cimport memcmp, memcpy

cdef extern from "Python.h":
    double PyOS_string_to_double(const char*, char**, void*) except? -1.0

ctypedef unsigned char byte

LABELS_ARE_NUMBERS = 0
LABELS_ARE_WORDS = 1
SEQUENCES = 2

cdef enum:
    NUMERIC = 0
    SEQUENTIAL = 2
    FIELDS = 6  # of the spans of a row: of its label, its query and its comment
    DIGITS = 19  # of any whole number of 64 bits
    NINE = 9  # digits of any exponent of 32 bits

cdef unsigned long long EXACT = 1ULL << 53
cdef double[23] POWERS
cdef int _i
for _i in range(23):
    POWERS[_i] = float(10 ** _i)


def rows(const byte[::1] block, Py_ssize_t at, int form, bint utf8, int least, int most, found):
    """Rows ``label qid:ID index:value … # comment`` from place ``at`` of a block on.

    form : LABELS_ARE_NUMBERS or ``?``; LABELS_ARE_WORDS; SEQUENCES, words and a qid each
    utf8 : whether the block is known to be UTF-8, so that comments may hold any characters
    least, most : lowest and highest index of a feature
    found : RowBuffers to write to

    Returns the place of the first line that was not read, and how many rows, features and lines
    were read: ``found`` holds these many.
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
            p = _head(p, start, form, &labels[count], &spans[count, 0])
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
    """Whether a byte stands behind a word."""
    return c == c" " or c == c"\t" or c == c"\n" or c == c"\r" or c == c"#"


cdef inline const byte* _word(const byte* p, const byte* start, int* span) noexcept:
    """Behind a word of printable ASCII that begins here, whose first and last place are noted."""
    span[0] = <int>(p - start)
    while c"!" <= p[0] < 127 and p[0] != c"#":
        p += 1
    span[1] = <int>(p - start)
    return p if span[0] < span[1] and _ends(p[0]) else NULL


cdef const byte* _head(
    const byte* p, const byte* start, int form, double* label, int* spans
) except? NULL:
    """Behind the label and the query; NULL if they are not plain."""
    cdef const byte* first = p
    spans[2] = spans[3] = -1
    if form == NUMERIC and p[0] != c"?":
        p = _number(p, label)
        if p == NULL or not _ends(p[0]):
            return NULL
    else:
        p = _word(p, start, spans)
        if p == NULL or (form == NUMERIC and p - first > 1):
            return NULL
        label[0] = float("nan")
        while first < p:
            if first[0] == c":":
                return NULL
            first += 1
    p = _blanks(p)
    if p[0] == c"q" and p[1] == c"i" and p[2] == c"d" and p[3] == c":":
        return _word(p + 4, start, &spans[2])
    return NULL if form == SEQUENTIAL else p


cdef const byte* _features(
    const byte* p, int least, int most, int* indices, double* values, int* taken
) except? NULL:
    """Behind the features of a row, which are written; NULL if they are not plain."""
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
    """Behind the end of a line, the comment before it noted; NULL if it is not plain."""
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
    """Behind a finite number that begins here; NULL if there is none."""
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
    """Behind the digits of an exponent that is added; NULL if there are none, or too many."""
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


def intern(const byte[::1] block, const int[:, :] spans, Py_ssize_t done, int[::1] codes, words):
    """Number the words of a block, equal ones alike, in the order in which they first occur.

    spans : (n, 2), where each begins and ends; a beginning below 0: there is none, code -1
    done : words that have their codes
    codes : (n,), to write to
    words : DistinctWords, which the new ones are added to

    Returns how many have codes now: fewer than n if ``words`` has to grow.
    """
    cdef byte[::1] pool = words.pool
    cdef long long[::1] ends = words.ends, counts = words.counts
    cdef unsigned int[::1] hashes = words.hashes
    cdef int[::1] table = words.table
    cdef unsigned int mask = <unsigned int>(table.shape[0] - 1), hashed, slot
    cdef long long begin
    cdef int first, length, code, size = <int>block.shape[0]
    if codes.shape[0] < spans.shape[0] or spans.shape[1] != 2 or ends.shape[0] != hashes.shape[0]:
        raise ValueError(f"intern: {codes.shape[0]} codes, {spans.shape[0]} words")
    while done < spans.shape[0]:
        first, length = spans[done, 0], spans[done, 1] - spans[done, 0]
        if first < 0:
            codes[done] = -1
            done += 1
            continue
        if length < 0 or length > size - first:
            raise ValueError(f"intern: word {done} is not within the block")
        hashed = _hash(&block[0] + first, length)
        slot = hashed & mask
        while table[slot] >= 0:
            code = table[slot]
            begin = ends[code - 1] if code else 0
            if hashes[code] == hashed and ends[code] - begin == length:
                if memcmp(&pool[0] + begin, &block[0] + first, length) == 0:
                    break
            slot = (slot + 1) & mask
        code = table[slot]
        if code < 0:
            code = <int>counts[0]
            begin = ends[code - 1] if code else 0
            if code >= ends.shape[0] or 2 * code >= table.shape[0] or begin + length > pool.shape[0]:
                break
            memcpy(&pool[0] + begin, &block[0] + first, length)
            hashes[code], ends[code], table[slot] = hashed, begin + length, code
            counts[0] += 1
        codes[done] = code
        done += 1
    return done


def spread(const unsigned int[::1] hashes, Py_ssize_t count, int[::1] table):
    """Put the first ``count`` words into a table of places, all -1, a power of two of them."""
    cdef unsigned int mask = <unsigned int>(table.shape[0] - 1), slot
    cdef Py_ssize_t code
    if count > hashes.shape[0] or 2 * count > table.shape[0]:
        raise ValueError(f"spread: {count} words, {table.shape[0]} places")
    for code in range(count):
        slot = hashes[code] & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = <int>code


cdef inline unsigned int _hash(const byte* word, Py_ssize_t length) noexcept:
    """A hash of bytes, eight at a time: multiplied by the golden ratio, the upper half kept."""
    cdef unsigned long long found = length, eight
    while length >= 8:
        memcpy(&eight, word, 8)
        found = (found ^ eight) * 0x9E3779B97F4A7C15ULL
        found ^= found >> 32
        word += 8
        length -= 8
    eight = 0
    memcpy(&eight, word, length)
    found = (found ^ eight) * 0x9E3779B97F4A7C15ULL
    return <unsigned int>((found ^ (found >> 29)) * 0xBF58476D1CE4E5B9ULL >> 32)


def letters(
    const byte[::1] block, Py_ssize_t at, const byte[::1] codes, byte[::1] found, int[:, ::1] headers
):
    """Letters and headers of lines, from place ``at`` of a block on, which may be within a line.

    codes : (256,), of each byte; from 128: it is no letter
    found : (room,), codes of letters to write to
    headers : (room, 4), lines that begin with ``>`` to write to: how many letters stand before
        each, where it begins and ends in the block, and its line, from 0

    Returns the place where reading stopped, and how many letters, headers and lines were read. It
    stops where ``found`` or ``headers`` is full, and at anything but letters, and blanks at the end
    of a line.
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
