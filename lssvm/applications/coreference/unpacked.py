"""Documents before they are packed: what texts and pairs of mentions become."""

import numpy as np

from lssvm.applications.coreference import coreference_features
from lssvm.applications.coreference.mentions import NO_LIMIT, UnpackedDocument, pair_ends
from lssvm.formats.annotated import AnnotatedText
from lssvm.formats.mention_pairs import PairDocument
from lssvm.offsets import cumulated


def with_features(text: AnnotatedText, cost: float, reach: int) -> UnpackedDocument:
    """A text with features made from its words."""
    rows, starts, indices, values = coreference_features.pair_features(text, reach)
    clusters = [mention.cluster for mention in text.mentions]
    return UnpackedDocument(
        text.name, text.path, text.line, cost, clusters, rows, starts, indices, values, text
    )


def packed_pairs(document: PairDocument, cost: float, reach: int) -> UnpackedDocument:
    """A document of pairs without those that are too far apart; each pair has its own row."""
    first, second = pair_ends(len(document.clusters), NO_LIMIT)
    starts = np.array(document.starts, dtype=np.int64)
    near = np.flatnonzero(second - first <= reach)
    lengths = np.diff(starts)
    chosen = np.repeat(second - first <= reach, lengths)
    return UnpackedDocument(
        document.name,
        document.path,
        document.line,
        cost if document.cost is None else document.cost,
        document.clusters,
        np.arange(len(near), dtype=np.int32),
        cumulated(lengths[near]),
        np.array(document.indices, dtype=np.int32)[chosen],
        np.array(document.values, dtype=np.float64)[chosen],
    )
