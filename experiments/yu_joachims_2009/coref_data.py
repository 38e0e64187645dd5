"""The documents of the coreference experiments: LitBank and GUM, as ``coref`` describes them."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from lssvm.applications.base import Source
from lssvm.applications.coreference.mentions import Documents
from lssvm.config import Config
from lssvm.errors import DataError
from lssvm.formats.conll_coreference import read_conll
from lssvm.formats.text import open_text
from lssvm.output.whole import replacing

TRAIN = {"LitBank": 40, "GUM": 60}
LITBANK_TEST = 30
LEAF = re.compile(r"\(([^()\s]+) (\S+?)\)(?=[\s)]|$)")
TREE = re.compile(r"^\(", re.MULTILINE)


def prepare(data: Path, out: Path) -> dict[str, tuple[Documents, Documents]]:
    """Training and test documents of both data sets. Raises DataError."""
    application = Config.from_dict({"application": {"name": "coreference"}}).create_application()
    sets = {"LitBank": litbank(data / "litbank-coref")}
    lists = read_splits(data / "gum" / "splits.md")
    gum = data / "gum"
    names = {
        part: [name for name in lists[part] if (gum / "coref_ontogum" / f"{name}.conll").exists()]
        for part in ("train", "test")
    }
    drawn = np.random.default_rng(0).permutation(len(names["train"]))[: TRAIN["GUM"]]
    names["train"] = [names["train"][i] for i in sorted(drawn)]
    for part, chosen in names.items():
        write_gum(gum, chosen, out / f"gum-{part}.conll")
    sets["GUM"] = [[Source(str(out / f"gum-{part}.conll"))] for part in ("train", "test")]
    return {
        name: (application.read(train), application.read(test))
        for name, (train, test) in sets.items()
    }


def litbank(folder: Path) -> list[list[Source]]:
    """LitBank's training and test documents, drawn at random. Raises DataError."""
    paths = sorted(str(path) for path in (folder / "brat").glob("*.ann"))
    if len(paths) < TRAIN["LitBank"] + LITBANK_TEST:
        message = f"{len(paths)} files called .ann; expected LitBank's 100"
        raise DataError(folder / "brat", None, message)
    order = np.random.default_rng(0).permutation(len(paths))
    parts = order[: TRAIN["LitBank"]], order[-LITBANK_TEST:]
    return [[Source(paths[i]) for i in part] for part in parts]


def read_splits(path: Path) -> dict[str, list[str]]:
    """The documents under each heading ``## train``, ``## dev``, … Raises DataError."""
    lists: dict[str, list[str]] = {}
    heading = ""
    with open_text(path) as lines:
        for _, line in lines:
            words = line.split()
            if line.startswith("## ") and len(words) == 2:
                heading = words[1]
                lists[heading] = []
            elif heading and len(words) == 2 and words[0] == "*":
                lists[heading].append(words[1])
    for part in ("train", "test"):
        if not lists.get(part):
            raise DataError(path, None, f"lists no documents under '## {part}'; expected some")
    return lists


def write_gum(folder: Path, names: Sequence[str], target: Path) -> None:
    """Join the coreference and the trees of GUM's documents in one file of four columns.

    A document whose trees have another number of tokens gets ``_`` for parts of speech, and no
    blank lines between sentences. Raises DataError.
    """
    with replacing(target) as file:
        for name in names:
            (text,) = read_conll(folder / "coref_ontogum" / f"{name}.conll")
            tags, starts = _leaves(folder / "const" / f"{name}.ptb")
            if len(tags) != len(text.words):
                tags, starts = ["_"] * len(text.words), set()
            file.write(f"#begin document ({name}); part 000\n")
            with open_text(text.path) as lines:
                cells = [line.split("\t")[-1] for _, line in lines if line[:1] not in ("#", "")]
            for token, (word, tag, cell) in enumerate(zip(text.words, tags, cells, strict=True)):
                file.write("\n" if token in starts else "")
                file.write(f"{token}\t{word}\t{tag}\t{cell}\n")
            file.write("#end document\n")


def _leaves(path: Path) -> tuple[list[str], set[int]]:
    """The part of speech of each token of bracketed trees, and the first tokens of later trees."""
    with open_text(path) as lines:
        content = "\n".join(line for _, line in lines)
    places = [match.start() for match in LEAF.finditer(content)]
    trees = [match.start() for match in TREE.finditer(content)][1:]
    return [tag for tag, _ in LEAF.findall(content)], set(np.searchsorted(places, trees).tolist())


def without_words(documents: Documents) -> Documents:
    """The same documents without their words, so that less is sent to other processes."""
    return replace(documents, texts=np.full(len(documents), None))
