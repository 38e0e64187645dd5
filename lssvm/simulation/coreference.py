"""Simulated documents with noun phrases that refer to the same things.

    lssvm simulate coreference --out stories

A document is about a few persons and things. A person is first called by both names, later by the
last name or by a pronoun; a thing is first "a key", later "the key" or "it". Two persons of a
document may have the same last name and two things the same noun, and a pronoun may mean any person
or thing of its kind, so that no rule finds all clusters. The columns are number, word, part of
speech and coreference.

The best possible error is not known: it would take a sum over all partitions of the mentions.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lssvm.output.whole import replacing
from lssvm.simulation.base import Option, Simulation, begin

PERSONS, THINGS = 3, 3  # of a document
FIRST = {"She": ("Anna", "Ida", "Maria", "Rosa"), "He": ("Carl", "Jonas", "Otto", "Paul")}
LAST = ("Berg", "Holm", "Lind", "Strand", "Dahl", "Falk", "Moen", "Vik")
NOUNS = ("key", "book", "boat", "letter", "lamp", "map", "clock", "coat")
PATTERNS = (
    "PERSON found/VBD THING ./.",
    "PERSON gave/VBD THING to/IN PERSON ./.",
    "PERSON met/VBD PERSON yesterday/RB ./.",
    "THING was/VBD old/JJ ./.",
    "PERSON lost/VBD THING in/IN the/DT rain/NN ./.",
    "PERSON laughed/VBD ./.",
    "Then/RB PERSON sold/VBD THING ./.",
)
PRONOUN = 0.5  # probability that a later mention is a pronoun
OBJECTS = {"She": "her", "He": "him", "It": "it"}


@dataclass
class _Entity:
    """A person or thing: pronoun at the start of a sentence, words, whether it was mentioned."""

    number: int
    pronoun: str
    words: tuple[str, ...]
    known: bool = field(default=False)


def write_documents(
    folder: Path, *, seed: int = 0, n: int = 30, n_test: int = 20, sentences: int = 8
) -> str:
    """Write train.conll and test.conll; says that the best possible error is not known.

    n, n_test : documents; sentences : of a document. Raises LssvmError if one of them is below 1,
    or if files cannot be written.
    """
    begin(folder, n=n, n_test=n_test, sentences=sentences)
    rng = np.random.default_rng(seed)
    for split, count in {"train": n, "test": n_test}.items():
        with replacing(folder / f"{split}.conll") as file:
            for number in range(1, count + 1):
                file.write(f"#begin document ({split}{number}); part 000\n")
                file.writelines("\n".join(_document(rng, sentences)))
                file.write("#end document\n")
    return "The best possible error of coreference is not known."


def _document(rng: np.random.Generator, sentences: int) -> list[str]:
    """Lines of a document, an empty one after each sentence."""
    entities = {"PERSON": _persons(rng), "THING": _things(rng)}
    lines: list[str] = []
    number = 0
    for _ in range(sentences):
        said: set[int] = set()
        for part in str(rng.choice(PATTERNS)).split():
            word, _, tag = part.rpartition("/")
            begins = not lines or not lines[-1]
            if word:
                tokens = [(word, tag, "-")]
            else:
                free = [each for each in entities[part] if each.number not in said]
                entity = free[int(rng.integers(len(free)))]
                said.add(entity.number)
                tokens = _mention(rng, entity, begins)
            for token in tokens:
                lines.append("\t".join((str(number), *token)))
                number += 1
        lines.append("")
    return [*lines, ""]


def _persons(rng: np.random.Generator) -> list[_Entity]:
    persons = []
    for number in range(1, PERSONS + 1):
        pronoun = str(rng.choice(list(FIRST)))
        words = (str(rng.choice(FIRST[pronoun])), str(rng.choice(LAST)))
        persons.append(_Entity(number, pronoun, words))
    return persons


def _things(rng: np.random.Generator) -> list[_Entity]:
    numbers = range(PERSONS + 1, PERSONS + THINGS + 1)
    return [_Entity(number, "It", (str(rng.choice(NOUNS)),)) for number in numbers]


def _mention(rng: np.random.Generator, entity: _Entity, begins: bool) -> list[tuple[str, str, str]]:
    """Word, part of speech and coreference of the tokens of a mention; marks it as mentioned."""
    thing = entity.pronoun == "It"
    if entity.known and rng.random() < PRONOUN:
        word = entity.pronoun if begins else OBJECTS[entity.pronoun]
        return [(word, "PRP", f"({entity.number})")]
    article = "the" if entity.known else "a"
    if thing:
        words = [article.capitalize() if begins else article, *entity.words]
        tags = ["DT", "NN"]
    else:
        words = list(entity.words[1:] if entity.known else entity.words)
        tags = ["NNP"] * len(words)
    entity.known = True
    marks = ["-"] * len(words)
    marks[0], marks[-1] = f"({entity.number}", f"{entity.number})"
    if len(words) == 1:
        marks = [f"({entity.number})"]
    return list(zip(words, tags, marks, strict=True))


COREFERENCE = """\
# Coreference in simulated documents.
# lssvm-learn coreference.yaml coreference.model
application: {name: coreference, penalty: 0.1}
data: {train: train.conll, validate: test.conll, test: test.conll}
objective: {model: lssvm, C: 0.1}
cccp: {tolerance: 0.1}
seed: 0
"""
CORRELATION = """\
# The same data; inference of correlation clustering is approximate: the gap is not certified.
# lssvm-learn correlation_clustering.yaml correlation.model
application: {name: correlation_clustering}
data: {train: train.conll, validate: test.conll, test: test.conll}
objective: {model: ssvm, C: 0.1}
solver: {epsilon: 1e-2}
cccp: {tolerance: 0.1}
seed: 0
"""
SIMULATION = Simulation(
    text="Documents with persons and things that are mentioned again, by name or by pronoun.",
    options=(
        Option("n", 30, "Training documents."),
        Option("n_test", 20, "Test documents."),
        Option("sentences", 8, "Sentences per document."),
    ),
    data=("train.conll", "test.conll"),
    configurations={"coreference.yaml": COREFERENCE, "correlation_clustering.yaml": CORRELATION},
    write=write_documents,
)
