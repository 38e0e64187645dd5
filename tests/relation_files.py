"""Small data sets of pairs, mentions and relations, shared by tests."""

import json

import numpy as np

NUMBERED = """\
3
4
2
3
1
3
2\t1:1.0 7:0.5
0\t
1 9:2
0
1
2 1:1 7:1e0
?
1
1 5:-1
"""
PAIRS = [
    {
        "id": "p1",
        "entities": ["Ada", "London"],
        "relations": ["born in", "lives in"],
        "mentions": [
            {"id": "d1:3", "features": ["was born in", "PER", "PER"]},
            {"id": "d2:1", "features": {"lives in": 1, "distance": 0.5}, "text": "Ada of London"},
        ],
    },
    {"entities": ["Bob", "Rome"], "relations": [], "mentions": [{"features": ["PER"]}]},
    {"mentions": [{"features": []}, {"id": 7, "features": {"PER": 2}}], "cost": 0.25},
]
JSON = "".join(json.dumps(pair) + "\n" for pair in PAIRS)

KNOWN = NUMBERED.replace("?", "1\n3")
_RELATED = [{"relations": [], **pair} for pair in PAIRS]
KNOWN_JSON = "".join(
    json.dumps({key: value for key, value in pair.items() if key != "cost"}) + "\n"
    for pair in _RELATED
)


def drawn_text(rng, pairs, relations=5, features=30):
    """A random file in the text format, and what it says: relations and mentions of each pair."""
    lines, told = [str(pairs), str(relations)], []
    for _ in range(pairs):
        known = rng.random() < 0.9
        own = (
            sorted(rng.choice(relations, int(rng.integers(3)), replace=False) + 1) if known else []
        )
        mentions = []
        lines += [str(len(own)) if known else "?", *map(str, rng.permutation(own).astype(int))]
        count = int(rng.integers(1, 4))
        lines.append(str(count))
        for _ in range(count):
            chosen = np.sort(rng.choice(features, int(rng.integers(6)), replace=False))
            mentions.append({int(j): int(rng.integers(1, 9)) / 8 for j in chosen})
            words = " ".join(f"{j}:{value}" for j, value in mentions[-1].items())
            lines.append(f"{len(chosen)}\t{words}")
        told.append(([int(label) for label in own], known, mentions))
    return "\n".join(lines) + "\n", told
