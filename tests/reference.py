"""Slow answers, straight from the definitions; never shipped with the package."""

import itertools

import numpy as np


def motif_candidates(sequence, length, both):
    """Every window (start, strand) without an ambiguous letter, in the order of the ties.

    With both strands the first is the one whose letters come first, A, C, G, T, others.
    """
    starts = [
        start
        for start in range(len(sequence) - length + 1)
        if set(sequence[start : start + length]) <= set("ACGT")
    ]
    if not both:
        return [(start, 0) for start in starts]
    own, other = ranked(sequence), ranked(reverse_complement(sequence))
    if other < own:
        return [(start, strand) for strand in (1, 0) for start in reversed(starts)]
    return [(start, strand) for strand in (0, 1) for start in starts]


def ranked(sequence):
    """The places of letters in the order A, C, G, T, all others."""
    return [("ACGT" + letter).index(letter) for letter in sequence]


def background_features(order):
    """(context, letter) in the order of the background weights."""
    return [
        ("".join(context), letter)
        for size in range(order + 1)
        for context in itertools.product("ACGT", repeat=size)
        for letter in "ACGT"
    ]


def reverse_complement(letters):
    return "".join({"A": "T", "C": "G", "G": "C", "T": "A"}.get(x, x) for x in reversed(letters))


def motif_context(sequence, i, order):
    """Up to ``order`` letters before position i, not past the start or an ambiguous letter."""
    context = ""
    while len(context) < order and i - len(context) > 0:
        before = sequence[i - len(context) - 1]
        if before not in "ACGT":
            break
        context = before + context
    return context


def motif_joint_feature(sequence, y, h, length, order, both=False):
    """Phi(x, y, h) as in the paper: the matrix inside of the window, the background outside.

    With both strands the mean of Phi of the sequence and of its reverse complement.
    """
    if both:
        other = None if h is None else (len(sequence) - length - h[0], 1 - h[1])
        turned = motif_joint_feature(reverse_complement(sequence), y, other, length, order)
        return (motif_joint_feature(sequence, y, h, length, order) + turned) / 2
    matrix = np.zeros((length, 4))
    inside = range(0)
    if y > 0:
        start, strand = h
        inside = range(start, start + length)
        window = sequence[start : start + length]
        if strand:
            window = reverse_complement(window)
        for j, letter in enumerate(window):
            matrix[j, "ACGT".index(letter)] += 1
    number = {feature: k for k, feature in enumerate(background_features(order))}
    background = np.zeros(len(number))
    for i, letter in enumerate(sequence):
        if letter in "ACGT" and i not in inside:
            background[number[motif_context(sequence, i, order), letter]] += 1
    return np.concatenate([matrix.ravel(), background])


def motif_window_scores(sequence, w, length, order, both):
    """w . (Phi(x, +1, h) - Phi(x, -1)) of every window, from the letters of the window alone."""
    number = {feature: k for k, feature in enumerate(background_features(order))}
    matrix, background = w[: 4 * length].reshape(length, 4), w[4 * length :]
    texts = (sequence, reverse_complement(sequence))
    scores = []
    for start, strand in motif_candidates(sequence, length, both):
        places = (start, len(sequence) - length - start)
        read = texts[strand][places[strand] : places[strand] + length]
        total = sum(matrix[j, "ACGT".index(letter)] for j, letter in enumerate(read))
        for text, place in list(zip(texts, places, strict=True))[: 1 + both]:
            for i in range(place, place + length):
                weight = background[number[motif_context(text, i, order), text[i]]]
                total -= weight / (1 + both)
        scores.append(total)
    return np.array(scores)


def first_maximum(w, outputs):
    """The first (loss, feature, y, h) with the highest loss + w . feature, and that value."""
    best, value = None, -np.inf
    for loss, feature, y, h in outputs:
        if loss + w @ feature > value:
            best, value = (loss, feature, y, h), loss + w @ feature
    return best, value


def motif_outputs(sequence, truth, length, order, both):
    """(loss, Phi, y, h) for every output of a sequence, y = -1 first."""
    absent = motif_joint_feature(sequence, -1, None, length, order, both)
    yield float(truth > 0), absent, -1, None
    for h in motif_candidates(sequence, length, both):
        yield float(truth < 0), motif_joint_feature(sequence, 1, h, length, order, both), 1, h


def mention_pairs(n, reach):
    """Every pair (i, j), i < j <= i + reach, in the order of the ties."""
    return [(i, j) for i, j in itertools.combinations(range(n), 2) if j - i <= reach]


def trees_of(n, edges):
    """The first mention of each mention's tree, or None if the edges close a cycle."""
    root = list(range(n))
    for i, j in edges:
        a, b = root[i], root[j]
        if a == b:
            return None
        root = [min(a, b) if label in (a, b) else label for label in root]
    return root


def forests(n, reach):
    """Every forest on n mentions as a list of pairs."""
    pairs = mention_pairs(n, reach)
    for size in range(n):
        for edges in itertools.combinations(pairs, size):
            if trees_of(n, edges) is not None:
                yield list(edges)


def forest_loss(clusters, edges, penalty):
    """n(y) - k(y) - sum over the edges of l, as in the paper."""
    links = [1.0 if clusters[i] == clusters[j] else -penalty for i, j in edges]
    return len(clusters) - len(set(clusters)) - sum(links)


def kruskal(n, weights, least):
    """The edges, heaviest first, that join two trees; weights by pair, stable on ties."""
    edges = []
    for pair in sorted(weights, key=lambda pair: (-weights[pair], pair)):
        if weights[pair] > least and trees_of(n, [*edges, pair]) is not None:
            edges.append(pair)
    return edges


def clusterings(n):
    """Every clustering of n mentions as labels, each the first mention of its cluster."""
    if n == 0:
        yield []
        return
    for labels in clusterings(n - 1):
        for label in sorted({*labels, n - 1}):
            yield [*labels, label]


def pair_loss(truth, labels, pairs):
    """Pairs that are put together or apart wrongly, in percent."""
    wrong = [(truth[i] == truth[j]) != (labels[i] == labels[j]) for i, j in pairs]
    return 100 * sum(wrong) / len(pairs) if pairs else 0.0
