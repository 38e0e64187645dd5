"""Errors of predicted labels, counted some sequences at a time."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lssvm.applications.sequence.examples import SequenceExamples
from lssvm.applications.sequence.sequence_metrics import blocks
from lssvm.applications.sequence.sequence_output import Predictions

Losses = Callable[[SequenceExamples, Predictions], np.ndarray]


class TokenErrors(NamedTuple):
    """The errors of n sequences.

    wrong : tokens with another label; told : tokens with a known label; unseen : of those, tokens
        whose label does not occur in training
    whole : (n,) bool, whether all labels are known; spoilt : (n,) bool, whether one is wrong
    losses : (n,) Δ
    """

    wrong: int
    told: int
    unseen: int
    whole: np.ndarray
    spoilt: np.ndarray
    losses: np.ndarray


def token_errors(examples: SequenceExamples, found: np.ndarray, losses: Losses) -> TokenErrors:
    """The errors of labels that were found, (tokens,).

    losses : the function that gives Δ of some of the sequences
    """
    parts = []
    for block in blocks(examples.offsets):
        tokens = slice(*examples.offsets[[block.start, block.stop]].tolist())
        own = examples.slice(block.start, block.stop)
        parts.append(_errors(own, found[tokens], losses))
    return TokenErrors(
        wrong=sum(part.wrong for part in parts),
        told=sum(part.told for part in parts),
        unseen=sum(part.unseen for part in parts),
        whole=np.concatenate([part.whole for part in parts]),
        spoilt=np.concatenate([part.spoilt for part in parts]),
        losses=np.concatenate([part.losses for part in parts]),
    )


def _errors(examples: SequenceExamples, found: np.ndarray, losses: Losses) -> TokenErrors:
    told = examples.told
    wrong, none = (found != examples.labels) & told, np.empty((0, 0))
    return TokenErrors(
        wrong=int(wrong.sum()),
        told=int(told.sum()),
        unseen=int(np.sum((examples.labels < 0) & told)),
        whole=examples.known,
        spoilt=np.logical_or.reduceat(wrong, examples.offsets[:-1]),
        losses=losses(examples, Predictions(found[:, None], none, none.ravel())),
    )
