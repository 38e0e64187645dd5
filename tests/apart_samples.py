"""Sample data in pieces, which are spread over files."""

import itertools
import json
import re
from pathlib import Path

import numpy as np


class Counted(list):
    """Pieces of files that begin with a header: the number of their pieces, and more lines."""

    header = ""

    def text(self, own):
        return f"{len(own)}\n{self.header}{''.join(own)}"


def lines(path):
    return Path(path).read_text("utf-8").splitlines(keepends=True)


def rows():
    return lines("data/multiclass/train.txt")


def few_values():
    """Rows with few values each, and labels that are one although they are written in two ways."""
    found = []
    for number, line in enumerate(rows()):
        label, *values = line.split()
        wide = [f"{7 * int(v.split(':')[0]) + number % 50}:{v.split(':')[1]}" for v in values[:2]]
        found.append(" ".join([f"{'+' * (number % 3 == 1)}{len(label)}{ord(label[-1])}", *wide]))
    return [f"{line}\n" for line in found]


def far_rows():
    """Rows whose numbers of features are far apart."""
    return [line.replace(":", "0000:") for line in rows()]


def uneven_rows():
    """Rows of features whose scales differ much."""
    found = enumerate(rows())
    return [re.sub(" 3:.*", f" 3:{number * 1e6}", line) for number, line in found]


def wide_rows():
    """Rows that have features of their own, so that a model has 72,000 weights."""
    labels = [line.split()[0] for line in rows()]
    values = [" ".join(f"{200 * k + j}:1" for j in range(1, 201)) for k in range(len(labels))]
    return [f"{label} {own}\n" for label, own in zip(labels, values, strict=True)]


def sentences(count=60):
    text = Path("data/sequence/train.conll").read_text("utf-8")
    return [f"{part}\n\n" for part in text.strip("\n").split("\n\n")[:count]]


def half_labelled():
    """Sentences; of every third one half of the labels are not known."""
    found = sentences()
    for k in range(0, len(found), 3):
        own = found[k].splitlines(keepends=True)
        own[1:-1:2] = [f"{line.rsplit(maxsplit=1)[0]} ?\n" for line in own[1:-1:2]]
        found[k] = "".join(own)
    return found


def numbered():
    """Sequences of svm_hmm."""
    rng, found = np.random.default_rng(0), []
    for number in range(40):
        for _ in range(1 + number % 3):
            columns = np.flatnonzero(rng.random(30) < 0.1) + 1
            values = " ".join(f"{column}:{rng.normal():.3f}" for column in columns)
            found.append(f"{'abc'[rng.integers(3)]} qid:{number} {values}\n")
    text = "".join(found)
    starts = [text.index(f" qid:{number} ") - 1 for number in range(40)]
    return [text[a:b] for a, b in itertools.pairwise([*starts, len(text)])]


def documents():
    text = Path("data/coreference/train.conll").read_text("utf-8")
    return [f"#begin document{part}" for part in text.split("#begin document")[1:]]


def queries():
    """The documents of each query."""
    found = itertools.groupby(lines("data/ranking/train.txt"), lambda line: line.split()[1])
    return ["".join(own) for _, own in found]


def wide_queries():
    return [own.replace(":", "00:").replace("qid00", "qid") for own in queries()]


def records():
    """DNA of both classes, some records without a window."""
    found = []
    for name, label in (("ars", "+1"), ("intergenic", "-1")):
        parts = Path(f"data/motif/{name}.fa").read_text("utf-8").split(">")[1:30]
        found += [f">{part}".replace("\n", f" label={label}\n", 1) for part in parts]
    return [*found, ">short label=-1\nACGT\n"]


def graphs(labels=" - "):
    """Graphs of several classes, some of which are in one file alone."""
    text = Path("data/mrf/train.txt").read_text("utf-8").strip("\n")
    found = [f"{part}\n\n".replace(" - ", labels) for part in text.split("\n\n")[:30]]
    found[9] = found[9].replace(" y 3", " z 3").replace(" yh", " zh").replace(" hy", " hz")
    found[20] = found[20].replace(" 3:1\n", " 3:1 9:0.5\n")
    return found


def seen_graphs():
    """Graphs without hidden nodes."""
    return graphs(" 1 ")


def pairs():
    """Entities with the numbers of relations and features."""
    _, relations, *rest = lines("data/relation/train.txt")
    found, place = Counted(), 0
    found.header = relations
    while place < len(rest) and len(found) < 80:
        end = place + 1 + int(rest[place])
        end += 1 + int(rest[end])
        found.append("".join(rest[place:end]))
        place = end
    return found


def named_pairs():
    """Entities with the names of relations and features, in JSON lines."""
    found = []
    for k in range(40):
        mentions = [{"features": {f"f{k * j % 17}": 1, f"g{k}": 0.5}} for j in range(1, 2 + k % 2)]
        relations = [f"r{k % 5}", "r7"][: k % 3]  # more than mentions for some
        found.append(f"{json.dumps({'relations': relations, 'mentions': mentions})}\n")
    return found


def natives():
    """Natives with their candidates."""
    parts = [f">{part}" for part in Path("data/alignment/train.fa").read_text("utf-8").split(">")]
    starts = [k for k, part in enumerate(parts) if "role=native" in part]
    return ["".join(parts[a:b]) for a, b in itertools.pairwise([*starts, len(parts)])]


def aligned():
    """Pairs of aligned rows."""
    text = Path("data/alignment/train-pairs.fa").read_text("utf-8")
    parts = [f">{part}" for part in text.split(">")[1:]]
    return ["".join(parts[k : k + 2]) for k in range(0, len(parts), 2)]


def trees():
    """Trees, each on a line."""
    return lines("data/parsing/train.ptb")[:60]


def unknown_trees():
    """The same; of two sentences they are not known."""
    found = trees()
    found[3] = "(? (NN dog) (VBZ unheard))\n"
    found[40] = "(? (XX new) (NN dog))\n"
    return found


def chains():
    """Trees, some of which have long chains."""
    found = lines("data/parsing/train.ptb")[:30]
    for k in (4, 20, 21):
        found[k] = f"(ROOT (A (B (C {found[k].strip()[6:-1]}))))\n"
    return found


def parted(pieces, count, folder):
    """The names of files that have the pieces in order."""
    names = []
    for k in range(count):
        path = folder / f"part-{k:03d}.txt"
        own = pieces[len(pieces) * k // count : len(pieces) * (k + 1) // count]
        text = pieces.text(own) if isinstance(pieces, Counted) else "".join(own)
        path.write_text(text, encoding="utf-8")
        names.append(str(path))
    return names
