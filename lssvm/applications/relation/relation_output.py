"""The output formats of predictions for bags."""

from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np

from lssvm.applications.relation.bags import Bags
from lssvm.applications.relation.predictions import NONE, Predictions

_HEADER = ("pair", "relation", "score", "best_mention")


def write_facts(
    examples: Bags, predictions: Predictions, file: TextIO, *, header: bool = True
) -> None:
    """A table with tabs: pair, predicted relation, score, and the mention that speaks most for it.

    One line for each predicted relation, in the order of pairs and relations.
    """
    _write(examples, predictions, predictions.relations(examples), file, header)


def write_candidates(
    examples: Bags, predictions: Predictions, file: TextIO, *, header: bool = True
) -> None:
    """The same table for every relation of every pair, predicted or not."""
    every = np.ones(predictions.scores.shape, dtype=bool)
    _write(examples, predictions, every, file, header)


def _write(
    examples: Bags, predictions: Predictions, chosen: np.ndarray, file: TextIO, header: bool
) -> None:
    if header:
        file.write("\t".join(_HEADER) + "\n")
    pairs, relations = np.nonzero(chosen)
    mentions = examples.places[pairs] + predictions.best_mentions[pairs, relations]
    scores = predictions.scores[pairs, relations].tolist()
    names, labels, texts = examples.identifiers, examples.relations, examples.mention_names
    for pair, relation, score, mention in zip(
        pairs.tolist(), relations.tolist(), scores, mentions.tolist(), strict=True
    ):
        file.write(f"{names[pair]}\t{labels[relation]}\t{score:.10g}\t{texts[mention]}\n")


def records(
    examples: Bags, predictions: Predictions, losses: np.ndarray
) -> Iterator[dict[str, Any]]:
    """One dictionary per pair.

    id; entities if they are known; y : the predicted relations; h : the name and the relation of
    every mention, null for none; score : w · Φ; scores and best_mentions : of the relations in y;
    and if its relations are known gold : those; loss : how many relations are wrong
    """
    found, first = predictions.relations(examples), int(examples.places[0])
    texts, names = examples.mention_names, examples.relations
    for i, (begin, end) in enumerate(
        zip(examples.places[:-1].tolist(), examples.places[1:].tolist(), strict=True)
    ):
        own = np.flatnonzero(found[i]).tolist()
        record: dict[str, Any] = {"id": examples.identifiers[i]}
        if examples.entities[i, 0] is not None:
            record["entities"] = examples.entities[i].tolist()
        labels = predictions.mention_labels[begin - first : end - first].tolist()
        best = predictions.best_mentions[i]
        record |= {
            "y": [names[relation] for relation in own],
            "h": [
                {"mention": texts[place], "relation": None if label == NONE else names[label]}
                for place, label in zip(range(begin, end), labels, strict=True)
            ],
            "score": float(predictions.values[i]),
            "scores": {names[r]: float(predictions.scores[i, r]) for r in own},
            "best_mentions": {names[r]: texts[begin + int(best[r])] for r in own},
        }
        if examples.known[i]:
            gold = examples.labels[examples.label_places[i] : examples.label_places[i + 1]]
            record |= {"gold": [names[label] for label in gold], "loss": float(losses[i])}
        yield record
