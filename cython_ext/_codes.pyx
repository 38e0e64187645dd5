"""Words and whole numbers are numbered 0, 1, 2, … in the order of their first occurrence.

The hash tables use open addressing with linear probing. If a table has to grow, a function returns;
the caller makes a larger table and calls the function again from where it stopped.
"""

from libc.string cimport memcmp, memcpy

ctypedef unsigned char byte


def intern(const byte[::1] block, const int[:, :] spans, Py_ssize_t done, int[::1] codes, words):
    """Number the words of a block by first occurrence; equal words have the same number.

    spans : (n, 2), begin and end of each word; if begin is negative, there is no word: code -1
    done : number of words that already have codes
    codes : (n,), to write to
    words : DistinctWords; new words are added

    Returns the number of words that have codes: fewer than n if ``words`` has to grow.
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
    """Enter the first ``count`` words into a table full of -1, whose length is a power of two."""
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
    """A multiplicative hash (golden ratio) of bytes, eight at a time; its upper 32 bits."""
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
    """Renumber codes by first occurrence, in place; negative codes stay.

    number : (highest code + 1,) full of -1; on return, the number of each code that occurs
    firsts : of the same length; on return, the code that has each number

    Returns the number of different codes.
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
    """Number pairs by first occurrence; equal pairs have the same number.

    first, second : (n,); if either is negative, there is no pair
    done : number of pairs that are already numbered
    found : (n,) int32, to write the numbers to, -1 if there is no pair; may be ``first`` itself
    distinct : GrowingCodes with first * 2³² + second of each number; new pairs are added
    table : (a power of two,) the hash table: numbers, or -1

    Returns the number of numbered pairs: fewer than n if ``distinct`` and ``table`` have to grow.
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
    """Enter the numbers of distinct codes into a table full of -1, at least twice as long."""
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
