"""Properties of a mention that its words show: kind, number, gender, head, and shared strings.

The head is the last word before a comma, a preposition or a relative pronoun. Strings are
compared in lower case, without determiners and possessive pronouns in front and without a
possessive 's at the end. Parts of speech, the annotated kind (PROP, NOM, PRON) and the entity type
are used if the file has them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lssvm.formats.annotated import AnnotatedText, Mention

PRONOUNS: dict[str, tuple[int, str, str]] = {
    **dict.fromkeys(["i", "me", "my", "mine", "myself"], (1, "singular", "")),
    **dict.fromkeys(["we", "us", "our", "ours", "ourselves"], (1, "plural", "")),
    **dict.fromkeys(["you", "your", "yours", "yourself", "thou", "thee", "thy"], (2, "", "")),
    **dict.fromkeys(["yourselves"], (2, "plural", "")),
    **dict.fromkeys(["he", "him", "his", "himself"], (3, "singular", "male")),
    **dict.fromkeys(["she", "her", "hers", "herself"], (3, "singular", "female")),
    **dict.fromkeys(["it", "its", "itself"], (3, "singular", "neuter")),
    **dict.fromkeys(["they", "them", "their", "theirs", "themselves"], (3, "plural", "")),
    **dict.fromkeys(["who", "whom", "whose", "which", "that"], (3, "", "")),
    **dict.fromkeys(["one", "oneself"], (3, "singular", "")),
}
DEMONSTRATIVES = frozenset(["this", "that", "these", "those"])
ARTICLES = frozenset(["a", "an", "some", "any", "another", "no", "every", "each"])
POSSESSIVES = frozenset(
    ["my", "our", "your", "his", "her", "its", "their", "thy", "whose", "mine", "thine"]
)
STRIPPED = POSSESSIVES | DEMONSTRATIVES | {"the", "a", "an"}
HEAD_ENDS = frozenset(
    [
        *("of", "in", "on", "at", "by", "for", "from", "with", "to", "as", "about", "between"),
        *("who", "whom", "which", "that", "whose", "where", "when", ",", "-", "--", "(", ";", ":"),
    ]
)
MALE = frozenset(
    [
        *("mr.", "mr", "sir", "man", "men", "boy", "boys", "father", "brother", "brothers", "son"),
        *("sons", "uncle", "king", "prince", "lord", "gentleman", "gentlemen", "husband"),
        *("grandfather", "nephew", "duke", "lad", "fellow", "master", "monsieur", "papa"),
    ]
)
FEMALE = frozenset(
    [
        *("mrs.", "mrs", "miss", "ms.", "ms", "madam", "madame", "woman", "women", "girl"),
        *("girls", "mother", "sister", "sisters", "daughter", "daughters", "aunt", "queen"),
        *("princess", "lady", "ladies", "wife", "grandmother", "niece", "duchess", "mamma"),
    ]
)
PERSONS = frozenset(["per", "person"])
PLURALS = frozenset(["men", "women", "people", "children", "ladies", "gentlemen", "folk"])
KINDS = ("pronoun", "proper", "nominal")
FORMS = ("definite", "demonstrative", "indefinite", "possessive", "bare")


class Facts(NamedTuple):
    """Properties of each mention of a document, (n,) each; numbers of texts are equal if and only
    if the texts are."""

    kind: np.ndarray  # place in KINDS
    form: np.ndarray  # place in FORMS, -1 for pronouns and names
    person: np.ndarray  # 1 to 3 for pronouns, else 0
    number: np.ndarray  # 1 singular, 2 plural, 0 unknown
    gender: np.ndarray  # 1 male, 2 female, 3 neuter, 0 unknown
    entity: np.ndarray  # number of the type, -1 if unknown
    speaker: np.ndarray  # number of the speaker, -1 if unknown
    sentence: np.ndarray
    quoted: np.ndarray  # within quotation marks
    reflexive: np.ndarray
    string: np.ndarray  # number of the string
    head: np.ndarray  # number of the head
    start: np.ndarray
    stop: np.ndarray


class Wording(NamedTuple):
    """The distinct strings of a document's mentions and the relations between each two of them."""

    within: np.ndarray  # the second's string is part of the first's, as whole words
    head_within: np.ndarray  # the head of the second is a word of the first
    shares_word: np.ndarray  # some word of four letters or more is in both
    last_alike: np.ndarray  # the last words are the same
    acronym: np.ndarray  # the initials of one are the other


def facts_of(text: AnnotatedText) -> tuple[Facts, Wording]:
    """The facts of a document's mentions, and of their distinct strings."""
    quotes = np.cumsum([word in ('"', "''", "``", "“", "”") for word in text.words]) % 2 == 1
    strings: dict[tuple[str, ...], int] = {}
    heads: list[str] = []
    columns: dict[str, list[int]] = {name: [] for name in Facts._fields}
    numbers: dict[str, dict[str, int]] = {"entity": {}, "speaker": {}, "head": {}}

    def numbered(table: str, value: str) -> int:
        return numbers[table].setdefault(value, len(numbers[table])) if value else -1

    for mention in text.mentions:
        words = [word.lower() for word in text.words[mention.start : mention.stop]]
        place = mention.start + _head(words)
        head, tag = text.words[place], text.tags[place]
        kind = _kind(mention, words, text, place)
        key = _stripped(words) if kind else tuple(words)
        if key not in strings:
            strings[key] = len(strings)
            heads.append(head.lower())
        person, number, gender = _grammar(mention, words, kind, head, tag)
        values = {
            "kind": kind,
            "form": _form(words, text, mention) if kind == 2 else -1,
            "person": person,
            "number": number,
            "gender": gender,
            "entity": numbered("entity", mention.entity),
            "speaker": numbered("speaker", text.speakers[mention.start]),
            "sentence": int(text.sentences[mention.start]),
            "quoted": int(quotes[mention.start]),
            "reflexive": int(kind == 0 and words[0].endswith(("self", "selves"))),
            "string": strings[key],
            "head": numbered("head", head.lower()),
            "start": mention.start,
            "stop": mention.stop,
        }
        for name, value in values.items():
            columns[name].append(value)
    facts = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
    facts |= {name: facts[name].astype(bool) for name in ("quoted", "reflexive")}
    return Facts(**facts), _wording(list(strings), heads)


def _head(words: Sequence[str]) -> int:
    """The last word before a comma, a preposition or a relative pronoun; not a possessive 's."""
    stop = next((k for k, word in enumerate(words) if k and word in HEAD_ENDS), len(words))
    while stop > 1 and words[stop - 1] in ("'s", "'", "’s"):
        stop -= 1
    return stop - 1


def _stripped(words: Sequence[str]) -> tuple[str, ...]:
    first, stop = 0, len(words)
    while first < stop - 1 and words[first] in STRIPPED:
        first += 1
    while stop - 1 > first and words[stop - 1] in ("'s", "'", "’s"):
        stop -= 1
    return tuple(words[first:stop])


def _kind(mention: Mention, words: Sequence[str], text: AnnotatedText, head: int) -> int:
    """0 pronoun, 1 name, 2 any other noun phrase."""
    if mention.kind:
        return ("PRON", "PROP", "NOM").index(mention.kind)
    tag = text.tags[head]
    if len(words) == 1 and (tag.startswith(("PRP", "WP")) or words[0] in PRONOUNS):
        return 0
    if tag:
        return 1 if tag.startswith(("NNP", "PROPN")) else 2
    opens = head == 0 or text.sentences[head] != text.sentences[head - 1]
    return 1 if text.words[head][:1].isupper() and not opens else 2


def _form(words: Sequence[str], text: AnnotatedText, mention: Mention) -> int:
    if words[0] == "the":
        return FORMS.index("definite")
    if words[0] in DEMONSTRATIVES:
        return FORMS.index("demonstrative")
    if words[0] in ARTICLES:
        return FORMS.index("indefinite")
    if words[0] in POSSESSIVES or "'s" in words[:-1]:
        return FORMS.index("possessive")
    return FORMS.index("bare")


def _grammar(
    mention: Mention, words: Sequence[str], kind: int, head: str, tag: str
) -> tuple[int, int, int]:
    """Person, number and gender as in :class:`Facts`."""
    numbers, genders = ("", "singular", "plural"), ("", "male", "female", "neuter")
    if kind == 0:
        person, number, sex = PRONOUNS.get(words[0], (0, "", ""))
        return person, numbers.index(number), genders.index(sex)
    lower = head.lower()
    if tag:
        plural = tag in ("NNS", "NNPS") or "and" in words
    else:
        ends = lower.endswith("s") and not lower.endswith(("ss", "us", "is"))
        plural = lower in PLURALS or (kind == 2 and ends) or "and" in words
    gender = 0
    if {lower, words[0]} & MALE:
        gender = 1
    elif {lower, words[0]} & FEMALE:
        gender = 2
    elif mention.entity and mention.entity not in PERSONS:
        gender = 3
    return 0, 2 if plural else 1, gender


def _wording(strings: Sequence[tuple[str, ...]], heads: Sequence[str]) -> Wording:
    count = len(strings)
    tables = [np.zeros((count, count), dtype=bool) for _ in Wording._fields]
    within, head_within, shares, last, acronym = tables
    sets = [frozenset(string) for string in strings]
    long = [frozenset(word for word in string if len(word) > 3) for string in strings]
    padded = [f" {' '.join(string)} " for string in strings]
    initials = ["".join(word[:1] for word in string) for string in strings]
    for a in range(count):
        for b in range(count):
            within[a, b] = padded[b] in padded[a]
            head_within[a, b] = heads[b] in sets[a]
            shares[a, b] = not long[a].isdisjoint(long[b]) or sets[a] == sets[b]
            last[a, b] = strings[a][-1] == strings[b][-1]
            acronym[a, b] = _is_acronym(strings[a], initials[b]) or _is_acronym(
                strings[b], initials[a]
            )
    return Wording(*tables)


def _is_acronym(string: tuple[str, ...], initials: str) -> bool:
    return len(string) == 1 and len(initials) > 1 and string[0].replace(".", "") == initials
