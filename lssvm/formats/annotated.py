"""A text with annotated mentions, independent of its file format."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lssvm.errors import DataError, counted

UNKNOWN = "?"  # the cluster of a mention whose cluster is not known


@dataclass(frozen=True)
class Mention:
    """A noun phrase.

    start, stop : its first token, and the token after its last one
    cluster : the name of its cluster, ``?`` if it is not known
    kind : PROP, NOM or PRON as annotated, empty if the format does not have it
    entity : type of its entity as annotated, empty if the format does not have it
    """

    start: int
    stop: int
    cluster: str
    kind: str = ""
    entity: str = ""


@dataclass(frozen=True)
class AnnotatedText:
    """A document of words, with its mentions in the order of the text.

    mentions : by first token, longer ones first, no span twice
    words, tags, speakers : one per token; tags and speakers are empty if they are not known
    sentences : (tokens,) int64, the number of each token's sentence
    repeated : number of mentions left out because another mention has the same span
    line : where the document begins in its file
    columns : the lines of a column file, to write the document again: the text before and after
        the last column of a token, or a whole line and None; empty for other formats
    none : the text in the last column of a token where no mention begins or ends
    """

    name: str
    path: str
    line: int
    words: tuple[str, ...]
    tags: tuple[str, ...]
    speakers: tuple[str, ...]
    sentences: np.ndarray
    mentions: tuple[Mention, ...]
    repeated: int = 0
    columns: tuple[tuple[str, str | None], ...] = field(default=(), repr=False)
    none: str = "-"


def in_order(mentions: list[Mention]) -> tuple[tuple[Mention, ...], int]:
    """Mentions in the order of the text without repeated spans, and the number of those.

    Of several mentions with the same span, the first one of the list is kept.
    """
    first: dict[tuple[int, int], Mention] = {}
    for mention in mentions:
        first.setdefault((mention.start, mention.stop), mention)
    ordered = sorted(first.values(), key=lambda mention: (mention.start, -mention.stop))
    return tuple(ordered), len(mentions) - len(first)


def check_all_known(path: str | Path, line: int, name: str, clusters: list[str]) -> None:
    """Raise DataError if some mentions of a document have a cluster and others have none."""
    unknown = clusters.count(UNKNOWN)
    if 0 < unknown < len(clusters):
        message = (
            f"document {name!r} has {counted(unknown, 'mention')} of unknown cluster '?' among "
            f"{len(clusters)}; expected all or none"
        )
        raise DataError(path, line, message)
