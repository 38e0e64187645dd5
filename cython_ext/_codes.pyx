"""Words and whole numbers in place of which small numbers stand, in the order of their first ones.

Tables are open, with linear probing: a hash says where to look first. Functions stop where a table
has to grow, which the caller does, and go on from there.
"""

from libc.string cimport memcmp, memcpy

ctypedef unsigned char byte


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
            if code >= ends.shape[0] or 2 * code >= table.shape[0]:
                break
            if begin + length > pool.shape[0]:
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


def relabel(int[::1] codes, int[::1] number, long long[::1] firsts):
    """Number codes anew in the order in which they first occur, in place; below 0 they stay.

    number : (highest code + 1,) all -1; on return the number of each code that occurs
    firsts : as long; on return the codes by number

    Returns how many numbers there are.
    """
    cdef Py_ssize_t i
    cdef int code, count = 0
    if firsts.shape[0] != number.shape[0]:
        raise ValueError(f"relabel: {number.shape[0]} numbers, {firsts.shape[0]} codes")
    for i in range(codes.shape[0]):
        code = codes[i]
        if code < 0:
            continue
        if code >= number.shape[0]:
            raise ValueError(f"relabel: code {code}; expected at most {number.shape[0] - 1}")
        if number[code] < 0:
            number[code] = count
            firsts[count] = code
            count += 1
        codes[i] = number[code]
    return count


def renumber(
    const int[::1] first, const int[::1] second, Py_ssize_t done, int[::1] found, distinct,
    int[::1] table,
):
    """Number pairs in the order in which they first occur, equal ones alike.

    first, second : (n,); below 0 in either: none; done : how many have their numbers
    found : (n,) int32, their numbers, or -1, to write to; may be ``first``
    distinct : GrowingCodes, first * 2³² + second by number, which new ones are added to
    table : (a power of two,) numbers by hash, or -1

    Returns how many have numbers now: fewer than n if ``distinct`` and ``table`` have to grow.
    """
    cdef long long[::1] known = distinct.codes
    cdef long long[::1] counts = distinct.counts
    cdef unsigned int mask = <unsigned int>(table.shape[0] - 1), slot
    cdef Py_ssize_t count = counts[0], room = min(known.shape[0], table.shape[0] // 2)
    cdef long long code
    if found.shape[0] < first.shape[0] or second.shape[0] < first.shape[0]:
        raise ValueError(f"renumber: {found.shape[0]} numbers, {first.shape[0]} pairs")
    while done < first.shape[0]:
        if first[done] >= 0 and second[done] >= 0:
            code = (<long long>first[done] << 32) | second[done]
            slot = _mixed(code) & mask
            while table[slot] >= 0 and known[table[slot]] != code:
                slot = (slot + 1) & mask
            if table[slot] < 0:
                if count >= room:
                    break
                known[count] = code
                table[slot] = <int>count
                count += 1
            found[done] = table[slot]
        else:
            found[done] = -1
        done += 1
    counts[0] = count
    return done


def scatter(const long long[::1] codes, int[::1] table):
    """Put the numbers of different codes into a table of twice as many places or more, all -1."""
    cdef unsigned int mask = <unsigned int>(table.shape[0] - 1), slot
    cdef Py_ssize_t number
    if 2 * codes.shape[0] > table.shape[0]:
        raise ValueError(f"scatter: {codes.shape[0]} codes, {table.shape[0]} places")
    for number in range(codes.shape[0]):
        slot = _mixed(codes[number]) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = <int>number


cdef inline unsigned int _mixed(long long code) noexcept:
    return <unsigned int>((<unsigned long long>code * 0x9E3779B97F4A7C15ULL) >> 32)
