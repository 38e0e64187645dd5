"""Text for people: on one line, of a bounded length, and without characters that steer a terminal.

Names and words of files go into messages as they are; what is printed passes through here.
"""

import re
from collections.abc import Iterable

LONGEST = 290  # characters of a message, file names not counted; with "warning: " below 300
_TOKEN = 40  # characters that a quoted word keeps at least
_TAIL = 120  # and the end of a message, which says what was expected
_LOOKED_AT = 1000  # characters at both ends of a text that are looked at for quoted words
# C0, DEL, C1, line and paragraph separators, marks that reorder text (Unicode TR 36, section 2.5)
# letters of no width, and halves of surrogate pairs, which stand for bytes of file names that are
# not UTF-8.
_UNSAFE = (
    "\x00-\x1f\x7f-\x9f\u2028\u2029\u061c"
    "\u00ad\u200b-\u200f\u2060-\u2064\ufeff\u202a-\u202e\u2066-\u2069\ud800-\udfff"
)
# Compiled where they are used first, which a help text does without.
_CONTROLS = f"[{_UNSAFE}]"
_INLINE = _CONTROLS.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f")
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    r"""One line: control characters are written out, such as ``\n``, ``\x1b`` and ``\u202e``."""
    return re.sub(_CONTROLS, _written_out, text)


def printable_lines(text: str) -> str:
    """The same, but line ends and tabs stay."""
    return re.sub(_INLINE, _written_out, text)


def printable_json(text: str) -> str:
    """JSON with control characters in strings written out as JSON has it; the meaning stays."""
    return re.sub(_INLINE, lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    letter = found[0]
    if letter in _NAMED:
        return _NAMED[letter]
    return f"\\x{ord(letter):02x}" if letter < "\xa0" else f"\\u{ord(letter):04x}"


def message(text: str, names: Iterable[str] = (), longest: int = LONGEST) -> str:
    """A message on one line, of at most ``longest`` characters beside the ``names`` of files.

    Of one that is longer the longest quoted words are shortened first, then its middle: where it
    is and what was expected stay.
    """
    parts, files = _apart(printable(text), [printable(name) for name in names])
    excess = sum(map(len, parts)) - longest
    if excess > 0:
        parts = [_ends(part) for part in parts]
        parts = _with_short_words(parts, sum(map(len, parts)) - longest)
    excess = sum(map(len, parts)) - longest
    if excess > 0:
        parts = _without_middle(parts, longest)
    return "".join(part + file for part, file in zip(parts, [*files, ""], strict=True))


def _apart(text: str, names: list[str]) -> tuple[list[str], list[str]]:
    """What stands before, between and behind file names, and these names."""
    known = sorted({name for name in names if name}, key=len, reverse=True)
    if not known:
        return [text], []
    pattern = rf"(?<!\w)({'|'.join(map(re.escape, known))})(?!\w)"
    found = re.split(pattern, text, maxsplit=3)
    return found[::2], found[1::2]


def _ends(part: str) -> str:
    """What is looked at of a text, so that one without end takes no time."""
    return part if len(part) <= 2 * _LOOKED_AT else f"{part[:_LOOKED_AT]}…{part[-_LOOKED_AT:]}"


def _with_short_words(parts: list[str], excess: int) -> list[str]:
    """The parts with their longest quoted words cut by ``excess`` characters, if they have them."""
    words = [
        (len(found[0]), place, found.end() - 1)
        for place, part in enumerate(parts)
        for found in re.finditer(_QUOTED, part)
        if len(found[0]) > _TOKEN
    ]
    cuts: list[tuple[int, int, int]] = []
    for length, place, end in sorted(words, reverse=True):
        if excess > 0:
            cut = min(excess + 1, length - _TOKEN)
            cuts.append((place, end, cut))
            excess -= cut - 1
    short = list(parts)
    for place, end, cut in sorted(cuts, reverse=True):
        short[place] = f"{short[place][: end - cut]}…{short[place][end:]}"
    return short


def _without_middle(parts: list[str], longest: int) -> list[str]:
    """The parts without what stands in the middle of all of them together."""
    end = "".join(parts).rpartition("; expected")
    tail = min(_TAIL, len(end[2]) + len(end[1])) if end[1] else _TAIL
    room = longest - 1 - tail
    kept = []
    for part in parts:
        kept.append(part[:room])
        room -= len(kept[-1])
    for place in reversed(range(len(parts))):
        last = parts[place][len(kept[place]) :]
        if tail > 0 and last:
            piece = last[-tail:]
            tail -= len(piece)
            kept[place] += ("…" if len(piece) < len(last) else "") + piece
    return kept
