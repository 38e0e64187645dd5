"""Simulated sentences with named entities, for a first sequence model: the files in data/sequence.

    lssvm simulate sequences --out data/sequence

Sentences are drawn from a few patterns with slots for persons, places and companies. Names are made
of syllables. Their endings depend on the kind, but last names of persons are also names of places,
and a company may have the name of its place, so that the words around a name are needed. About half
of the names in test sentences do not occur in training. The columns are word, part of speech and
label (IOB2).

The rule with the smallest expected token error takes the likeliest label of each token given the
whole sentence. The posterior is exact: every way in which a pattern and its names can spell the
sentence is found, with its probability. These patterns differ in the words beside their slots, so
the whole sentence always determines the labels, and the best possible error is 0.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lssvm.errors import LssvmError
from lssvm.output.whole import replacing
from lssvm.simulation.base import Option, Simulation, begin

Token = tuple[str, str, str]  # word, part of speech, label
Names = dict[str, list[str]]  # by kind
MOST_NAMES = 1000  # of each kind; more are possible, but it becomes slow to find new ones
SYLLABLES = [a + b for a in "bdfghklmnprstv" for b in "aeio"]
ENDINGS = {
    "first": ("no", "na", "el"),
    "place": ("ton", "burg", "ford"),
    "company": ("tech", "co"),
}
PATTERNS = (
    "{PER} arrived/VBD in/IN {LOC} on/IN Monday/NNP ./.",
    "{PER} in/IN {LOC} met/VBD {ORG} again/RB ./.",
    "{ORG} praised/VBD {PER} of/IN {LOC} ./.",
    "{LOC} met/VBD {LOC} in/IN the/DT final/NN ./.",
    "{PER} of/IN {ORG} met/VBD {PER} yesterday/RB ./.",
    "{ORG} opened/VBD an/DT office/NN in/IN {LOC} ./.",
    "The/DT mayor/NN of/IN {LOC} praised/VBD {PER} ./.",
    "{ORG} bought/VBD {ORG} for/IN {NUMBER} million/CD ./.",
    "In/IN {LOC} ,/, {PER} spoke/VBD to/TO workers/NNS of/IN {ORG} ./.",
    "Rain/NN fell/VBD near/IN {LOC} for/IN {NUMBER} days/NNS ./.",
    "The/DT report/NN surprised/VBD nobody/NN ./.",
    "{PER} left/VBD {ORG} after/IN {NUMBER} years/NNS ./.",
)


def write_sentences(
    folder: Path, *, seed: int = 0, n: int = 200, n_test: int = 100, names: int = 60
) -> str:
    """Write train.conll and test.conll; returns the token error of the best possible rule.

    n, n_test : sentences; names : names of each kind, of which training has the first half.
    Raises LssvmError if one of them is too small or too large, or if files cannot be written.
    """
    if not 2 <= names <= MOST_NAMES:
        raise LssvmError(f"names must be at least 2 and at most {MOST_NAMES}, got {names}")
    begin(folder, n=n, n_test=n_test)
    rng = np.random.default_rng(seed)
    known = {kind: _names(rng, endings, names) for kind, endings in ENDINGS.items()}
    half = {kind: words[: names // 2] for kind, words in known.items()}
    _write(folder / "train.conll", [_sentence(rng, half) for _ in range(n)])
    sentences = [_sentence(rng, known) for _ in range(n_test)]
    _write(folder / "test.conll", sentences)
    wrong = [
        best != label
        for tokens in sentences
        for best, (_, _, label) in zip(best_labels(tokens, known), tokens, strict=True)
    ]
    return (
        "test.conll with the best possible rule, the likeliest label of each token under the true "
        f"model:\nerror {100 * np.mean(wrong):.6g}"
    )


def best_labels(tokens: list[Token], names: Names) -> list[str]:
    """The likeliest label of each token, given words and parts of speech."""
    chances: list[dict[str, float]] = [{} for _ in tokens]
    for pattern in PATTERNS:
        for chance, labels in _readings(pattern.split(), tokens, names):
            for found, label in zip(chances, labels, strict=True):
                found[label] = found.get(label, 0.0) + chance
    return [max(found, key=found.__getitem__) for found in chances]


def _readings(
    parts: list[str], tokens: list[Token], names: Names
) -> Iterator[tuple[float, list[str]]]:
    """Every way in which the parts of a pattern spell the tokens: its probability and labels."""
    if not parts or not tokens:
        if not parts and not tokens:
            yield 1.0, []
        return
    for chance, labels in _slots(parts[0], tokens, names):
        for others, behind in _readings(parts[1:], tokens[len(labels) :], names):
            yield chance * others, labels + behind


def _slots(part: str, tokens: list[Token], names: Names) -> Iterator[tuple[float, list[str]]]:
    """Every way in which one part of a pattern spells the first tokens."""
    word, tag, _ = tokens[0]
    if part == "{NUMBER}":
        if tag == "CD":
            yield 1 / 98, ["O"]
    elif not part.startswith("{"):
        if part == f"{word}/{tag}":
            yield 1.0, ["O"]
    else:
        kind = part.strip("{}")
        for chance, spelled in _spellings(kind, tokens, names):
            labels = [f"{'I' if t else 'B'}-{kind}" for t in range(spelled)]
            yield chance, labels


def _spellings(kind: str, tokens: list[Token], names: Names) -> Iterator[tuple[float, int]]:
    """Probabilities and lengths of the names of a kind that the first tokens spell."""
    first = tokens[0][0]
    second = tokens[1][0] if len(tokens) > 1 else ""

    def chance(word: str, of: str) -> float:
        return (word in names[of]) / len(names[of])

    found = {
        "PER": [(0.7 * chance(first, "first") * chance(second, "place"), 2)],
        "LOC": [(0.3 * (first == "New") * chance(second, "place"), 2)],
        "ORG": [
            (0.7 * 0.5 * chance(first, "company") * (second == "Ltd"), 2),
            (0.7 * 0.5 * chance(first, "company"), 1),
        ],
    }[kind]
    found.append((chance(first, "place") * (0.7 if kind == "LOC" else 0.3), 1))
    return ((share, length) for share, length in found if share > 0)


def _write(path: Path, sentences: list[list[Token]]) -> None:
    with replacing(path) as file:
        for tokens in sentences:
            file.writelines(f"{' '.join(token)}\n" for token in tokens)
            file.write("\n")


def _names(rng: np.random.Generator, endings: tuple[str, ...], count: int) -> list[str]:
    """Different capitalised words with one of the endings."""
    found: dict[str, None] = {}
    while len(found) < count:
        stem = "".join(rng.choice(SYLLABLES, int(rng.integers(1, 3))))
        found[(stem + str(rng.choice(endings))).capitalize()] = None
    return list(found)


def _sentence(rng: np.random.Generator, names: Names) -> list[Token]:
    """Word, part of speech and label of each token."""
    tokens: list[Token] = []
    for part in str(rng.choice(PATTERNS)).split():
        if part == "{NUMBER}":
            tokens.append((str(rng.integers(2, 100)), "CD", "O"))
        elif part.startswith("{"):
            tokens += _entity(rng, part.strip("{}"), names)
        else:
            word, _, tag = part.rpartition("/")
            tokens.append((word, tag, "O"))
    return tokens


def _entity(rng: np.random.Generator, kind: str, names: Names) -> list[Token]:
    place = str(rng.choice(names["place"]))
    company = [str(rng.choice(names["company"])), *(["Ltd"] if rng.random() < 0.5 else [])]
    words = {
        "PER": [str(rng.choice(names["first"])), place] if rng.random() < 0.7 else [place],
        "LOC": ["New", place] if rng.random() < 0.3 else [place],
        "ORG": company if rng.random() < 0.7 else [place],
    }[kind]
    return [(word, "NNP", f"{'I' if t else 'B'}-{kind}") for t, word in enumerate(words)]


TEMPLATES = """\
  columns: [word, pos, label]
  templates:
    - word
    - word[-1]
    - word[1]
    - word[-1] & word
    - lower(word)
    - prefix(word, 2)
    - suffix(word, 3)
    - brief_shape(word)
    - pos[-1]
    - pos
    - pos[1]
data: {train: train.conll, validate: test.conll, test: test.conll}
"""
SEQUENCE = f"""\
# Named entities in simulated sentences.
# lssvm-learn sequence.yaml entities.model
application:
  name: sequence
{TEMPLATES}objective: {{model: ssvm, C: 0.1}}
seed: 0
"""
LATENT = f"""\
# The same with hidden sub-states of every label.
# lssvm-learn latent_sequence.yaml latent.model
application:
  name: latent_sequence
  substates: 2
{TEMPLATES}objective: {{model: hcrf, C: 0.1}}
solver: {{method: lbfgs}}
seed: 0
"""
SIMULATION = Simulation(
    text="Sentences with names of persons, places and companies.",
    options=(
        Option("n", 200, "Training sentences."),
        Option("n_test", 100, "Test sentences."),
        Option("names", 60, "Names of each kind; training has the first half of them."),
    ),
    data=("train.conll", "test.conll"),
    configurations={"sequence.yaml": SEQUENCE, "latent_sequence.yaml": LATENT},
    write=write_sentences,
)
