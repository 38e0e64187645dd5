"""Simulated sentences with named entities, for a first sequence model: the files in data/sequence.

    python -m lssvm.simulation.sequences data/sequence

Sentences are drawn from a few patterns with slots for persons, places and companies. Names are
made of syllables; the endings tell something of the kind, but last names of persons are also names
of places, and a company may be called by that of its place alone, so that the words around have to
tell, and do not always. Test sentences draw from names of which about half do not occur in
training. The columns are word, part of speech and label (IOB2).
"""

import argparse
from pathlib import Path

import numpy as np

from lssvm.output.tables import make_folder
from lssvm.output.whole import replacing

SENTENCES = {"train": 200, "test": 100}
NAMES = 60  # of each kind; training knows the first half, testing all
SEED = 0
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


def write_sentences(folder: Path) -> None:
    """Write train.conll and test.conll. Raises LssvmError if they cannot be written."""
    make_folder(folder)
    rng = np.random.default_rng(SEED)
    names = {kind: _names(rng, endings) for kind, endings in ENDINGS.items()}
    for split, count in SENTENCES.items():
        known = NAMES // 2 if split == "train" else NAMES
        kept = {kind: words[:known] for kind, words in names.items()}
        with replacing(folder / f"{split}.conll") as file:
            for _ in range(count):
                file.writelines(f"{' '.join(token)}\n" for token in _sentence(rng, kept))
                file.write("\n")


def _names(rng: np.random.Generator, endings: tuple[str, ...]) -> list[str]:
    """Different capitalised words with one of the endings."""
    found: dict[str, None] = {}
    while len(found) < NAMES:
        stem = "".join(rng.choice(SYLLABLES, int(rng.integers(1, 3))))
        found[(stem + str(rng.choice(endings))).capitalize()] = None
    return list(found)


def _sentence(rng: np.random.Generator, names: dict[str, list[str]]) -> list[tuple[str, str, str]]:
    """Word, part of speech and label of each token."""
    tokens: list[tuple[str, str, str]] = []
    for part in str(rng.choice(PATTERNS)).split():
        if part == "{NUMBER}":
            tokens.append((str(rng.integers(2, 100)), "CD", "O"))
        elif part.startswith("{"):
            tokens += _entity(rng, part.strip("{}"), names)
        else:
            word, _, tag = part.rpartition("/")
            tokens.append((word, tag, "O"))
    return tokens


def _entity(
    rng: np.random.Generator, kind: str, names: dict[str, list[str]]
) -> list[tuple[str, str, str]]:
    place = str(rng.choice(names["place"]))
    company = [str(rng.choice(names["company"])), *(["Ltd"] if rng.random() < 0.5 else [])]
    words = {
        "PER": [str(rng.choice(names["first"])), place] if rng.random() < 0.7 else [place],
        "LOC": ["New", place] if rng.random() < 0.3 else [place],
        "ORG": company if rng.random() < 0.7 else [place],
    }[kind]
    return [(word, "NNP", f"{'I' if t else 'B'}-{kind}") for t, word in enumerate(words)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Simulated sentences with named entities.")
    parser.add_argument("folder", type=Path, help="folder of train.conll and test.conll")
    write_sentences(parser.parse_args().folder)
