"""Features of words, for parts of speech that are predicted, and of the words around brackets."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from lssvm import checked

_SAME = re.compile(r"(.)\1+")
SUFFIXES = 1, 2, 3, 4  # letters
OTHER = "<other>"  # the value of spans of all words that are too rare
LENGTHS = (*range(1, 11), 15, 20, 30, 40)  # the greatest length of each class but the last
SPAN_KINDS = {"length": 0, "first": 1, "last": 2, "before": 3, "behind": 4}


def shape(word: str) -> str:
    """The kinds of letters of a word, runs of them once: ``Xx-d`` of ``Mid-90``."""
    kinds = "".join(
        "d" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in word
    )
    return _SAME.sub(r"\1", kinds)


def features_of(word: str) -> list[str]:
    """The features of a word that its part of speech is predicted from."""
    lower = word.lower()
    ends = [f"suffix={lower[-k:]}" for k in SUFFIXES if len(word) > k]
    return ["always", f"word={word}", f"lower={lower}", f"shape={shape(word)}", *ends]


@dataclass(frozen=True, eq=False)
class WordFeatures:
    """Features of words that occur often enough in training."""

    names: tuple[str, ...]

    @classmethod
    def learnt(cls, texts: Sequence[str], counts: np.ndarray, least: int) -> "WordFeatures":
        """Those of distinct words with these counts, each at least ``least`` times."""
        seen: dict[str, int] = {}
        for text, count in zip(texts, counts.tolist(), strict=True):
            for name in features_of(text) if count else ():
                seen[name] = seen.get(name, 0) + count
        return cls(tuple(name for name, count in seen.items() if count >= least) or ("always",))

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each feature."""
        return {name: row for row, name in enumerate(self.names)}

    def matrix(self, texts: Sequence[str]) -> sparse.csr_array:
        """The features of distinct words, (texts, features), ones."""
        rows = [[self.number[n] for n in features_of(text) if n in self.number] for text in texts]
        starts = np.cumsum([0, *map(len, rows)])
        columns = np.array([column for row in rows for column in row], dtype=np.int64)
        ones = np.ones(len(columns))
        return sparse.csr_array((ones, columns, starts), shape=(len(texts), len(self.names)))


@dataclass(frozen=True, eq=False)
class SpanFeatures:
    """The features of brackets: templates, each with its values.

    templates : as in the options, ``length`` first; values : of each, without what is outside of
        the sentence, which is the last row of every template
    """

    templates: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    @classmethod
    def learnt(
        cls,
        templates: Sequence[str],
        words: tuple[Sequence[str], np.ndarray],
        tags: tuple[Sequence[str], np.ndarray],
        least: int,
    ) -> "SpanFeatures":
        """The values of training. words, tags : distinct texts, and how often each occurs."""
        order = sorted(templates, key=lambda name: name != "length")
        frequent = [
            text for text, count in zip(words[0], words[1].tolist(), strict=True) if count >= least
        ]
        seen = [text for text, count in zip(tags[0], tags[1].tolist(), strict=True) if count]
        lengths = [str(most) for most in LENGTHS] + ["more"]
        chosen = {"length": lengths, "word": [OTHER, *frequent], "tag": seen}
        kinds = ["length" if name == "length" else kind_of(name)[1] for name in order]
        return cls(tuple(order), tuple(tuple(chosen[kind]) for kind in kinds))

    @cached_property
    def rows(self) -> np.ndarray:
        """Where the weights of each template begin, and the end, int32."""
        return np.cumsum([0, *(len(values) + 1 for values in self.values)]).astype(np.int32)

    @property
    def kinds(self) -> np.ndarray:
        """What the kernel takes each template's value from, int32."""
        kinds = [SPAN_KINDS[kind_of(name)[0]] for name in self.templates]
        return np.array(kinds, dtype=np.int32)

    @cached_property
    def names(self) -> list[str]:
        """A name for each row of weights."""
        return [
            f"{template}={value}"
            for template, values in zip(self.templates, self.values, strict=True)
            for value in (*values, "<outside>")
        ]

    def codes(
        self, words: tuple[Sequence[str], np.ndarray], tags: tuple[Sequence[str], np.ndarray]
    ) -> np.ndarray:
        """The value of every word for each template, (templates, words) int32; -1: none.

        words, tags : distinct texts, and which one each word is
        """
        found = np.full((len(self.templates), len(words[1])), -1, dtype=np.int32)
        for row, (template, values) in enumerate(zip(self.templates, self.values, strict=True)):
            if template == "length":
                continue
            of_word = kind_of(template)[1] == "word"
            texts, places = words if of_word else tags
            number = {value: place for place, value in enumerate(values)}
            other = 0 if of_word else -1
            codes = np.array([number.get(text, other) for text in texts], dtype=np.int32)
            found[row] = codes[places]
        return found

    def state(self) -> dict[str, np.ndarray]:
        """The values of words and tags, for a model; all templates of a kind have the same."""
        found = {}
        for template, values in zip(self.templates, self.values, strict=True):
            if template != "length":
                found[f"span_{kind_of(template)[1]}s"] = np.array(values)
        return found

    @classmethod
    def from_state(
        cls, templates: Sequence[str], arrays: Mapping[str, np.ndarray]
    ) -> "SpanFeatures":
        """The features of a model's arrays. Raises ModelError."""
        order = sorted(templates, key=lambda name: name != "length")
        values = []
        for name in order:
            if name == "length":
                values.append((*(str(most) for most in LENGTHS), "more"))
            else:
                values.append(checked.words(arrays, f"span_{kind_of(name)[1]}s"))
        return cls(tuple(order), tuple(values))


def kind_of(template: str) -> tuple[str, str]:
    """Which word or tag a template takes, and which of the two: first and tag of ``first_tag``."""
    if template == "length":
        return template, template
    first, _, second = template.partition("_")
    return (second, first) if first in ("word", "tag") else (first, second)


def buckets() -> np.ndarray:
    """The class of each length up to 64, (65,) int32."""
    return np.searchsorted(LENGTHS, np.maximum(np.arange(65), 1)).astype(np.int32)
