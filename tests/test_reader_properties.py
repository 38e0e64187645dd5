"""Readers: what is written is read back, and anything else is read or refused with a DataError."""

import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lssvm.errors import DataError
from lssvm.formats.blast_matrix import read_blast_matrix
from lssvm.formats.conll_columns import read_columns
from lssvm.formats.fasta import read_fasta
from lssvm.formats.gapped_fasta import read_aligned_pairs, read_homologs
from lssvm.formats.loss_matrix import read_loss_matrix
from lssvm.formats.mrf_text import HIDDEN, MISSING, read_graphs
from lssvm.formats.multiple_alignment import read_multiple
from lssvm.formats.numbered_names import read_names
from lssvm.formats.penn_trees import read_trees
from lssvm.formats.relation_bags import read_bags
from lssvm.formats.svm_hmm import read_svm_hmm
from lssvm.formats.svmlight import read_svmlight
from lssvm.formats.taxonomy_file import read_taxonomy

COLUMNS = ("word", "pos", "label")
READERS = {
    "svmlight": read_svmlight,
    "svmlight of words": lambda path: read_svmlight(path, words=True),
    "svm_hmm": read_svm_hmm,
    "columns": lambda path: read_columns(path, COLUMNS, optional=1),
    "fasta": read_fasta,
    "aligned pairs": read_aligned_pairs,
    "homologs": read_homologs,
    "multiple alignment": read_multiple,
    "matrix": read_blast_matrix,
    "graphs": read_graphs,
    "loss matrix": read_loss_matrix,
    "taxonomy": read_taxonomy,
    "trees": read_trees,
    "pairs with relations": read_bags,
    "names of numbers": lambda path: read_names(path, "relation"),
}
# Pieces of all formats and of none, so that lines are often nearly right.
PIECES = [
    *("(", ")", "(S", "(NN a)", "-NONE-"),
    *("1", "-1", "+1", "?", "-", "a", "b", "1:1", "2:0.5", "3:-1e3", "0:1", "1:nan", "1:x", ":"),
    *('{"mentions": [', '{"features": [', '"a"', "]}", ", ", "1 1:1\n", "2\n3\n1\n"),
    *("role=native", "role=homolog", "role=decoy", "\n>n role=native\nA-C\n", "A", "CLUSTAL"),
    *("qid:1", "qid:", "#", ">s1", ">", "ACGT", "label=+1", "cost=2", "-DOCSTART-", "é", "\x00"),
    *(
        "graph",
        "node",
        "edge",
        "y",
        "2",
        "999999999999",
        "\t",
        " ",
        " ",
        "\n",
        "\n",
        "\r\n",
        "\n\n",
    ),
]
PLACED = re.compile(r"^.*?file(:\d+)?: .+", re.DOTALL)

words = st.text(st.characters(categories=("Ll", "Lu", "Nd")), min_size=1, max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
rows = st.dictionaries(st.integers(1, 50), numbers, max_size=5).map(lambda row: sorted(row.items()))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("readers") / "file"


def written(features):
    return "".join(f" {index}:{value!r}" for index, value in features)


def split(array, offsets):
    return [part.tolist() for part in np.split(array, offsets[1:-1])]


def flat(features):
    """Indices from 0 and values, a list for each row."""
    return [[j - 1 for j, _ in row] for row in features], [[v for _, v in row] for row in features]


@pytest.mark.parametrize("name", READERS)
@given(content=st.lists(st.sampled_from(PIECES), max_size=40).map("".join).map(str.encode))
def test_text_that_is_nearly_right_is_read_or_refused(name, path, content):
    read_or_refused(READERS[name], path, content)


@pytest.mark.parametrize("name", READERS)
@given(content=st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(name, path, content):
    read_or_refused(READERS[name], path, content)


def read_or_refused(reader, path, content):
    path.write_bytes(content)
    told = None
    try:
        reader(path)
    except DataError as error:
        told = str(error)
    assert told is None or PLACED.match(told)


@given(st.lists(st.tuples(numbers, st.integers(1, 4), rows), min_size=1, max_size=8))
def test_svmlight_is_read_back(path, lines):
    text = "".join(f"{label!r} qid:q{query}{written(row)}\n" for label, query, row in lines)
    path.write_text(text, encoding="utf-8")
    found = read_svmlight(path)
    assert found.labels.tolist() == [label for label, _, _ in lines]
    assert [found.names[q] for q in found.queries] == [f"q{query}" for _, query, _ in lines]
    indices, values = flat([row for _, _, row in lines])
    assert split(found.indices, found.offsets) == indices
    assert split(found.values, found.offsets) == values
    assert found.lines.tolist() == list(range(1, len(lines) + 1))


@given(
    st.lists(
        st.lists(st.tuples(words | st.none(), rows), min_size=1, max_size=4), min_size=1, max_size=4
    )
)
def test_svm_hmm_is_read_back(path, sequences):
    lines = [
        f"{'?' if tag is None else tag} qid:s{number}{written(row)}\n"
        for number, tokens in enumerate(sequences)
        for tag, row in tokens
    ]
    path.write_text("".join(lines), encoding="utf-8")
    found = read_svm_hmm(path)
    tokens = [token for sequence in sequences for token in sequence]
    assert list(found.tags) == [tag for tag, _ in tokens]
    assert found.names == tuple(f"s{number}" for number in range(len(sequences)))
    assert np.diff(found.offsets).tolist() == [len(sequence) for sequence in sequences]
    indices, values = flat([row for _, row in tokens])
    assert split(found.indices, found.starts) == indices
    assert split(found.values, found.starts) == values


@given(
    st.lists(
        st.lists(st.tuples(words, words, words), min_size=1, max_size=4), min_size=1, max_size=4
    ),
    st.sampled_from(" \t"),
)
def test_columns_are_read_back(path, sentences, separator):
    text = "".join(
        "".join(separator.join(token) + "\n" for token in sentence) + "\n" for sentence in sentences
    )
    path.write_text(text, encoding="utf-8")
    found = read_columns(path, COLUMNS)
    tokens = [token for sentence in sentences for token in sentence]
    assert list(zip(*found.values, strict=True)) == tokens
    assert np.diff(found.offsets).tolist() == [len(sentence) for sentence in sentences]


@given(
    st.lists(
        st.tuples(
            st.text("ACGTacgtUuN", min_size=1, max_size=30),
            st.sampled_from([None, 1, -1]),
            st.integers(1, 30),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_fasta_is_read_back(path, records):
    lines = []
    for number, (letters, label, width) in enumerate(records):
        lines.append(f">s{number}" + ("" if label is None else f" label={label:+d}"))
        lines += [letters[at : at + width] for at in range(0, len(letters), width)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = read_fasta(path)
    spelled = [
        "".join("ACGTN"[code] for code in part) for part in split(found.letters, found.offsets)
    ]
    assert spelled == [letters.upper().replace("U", "T") for letters, _, _ in records]
    assert found.labels.tolist() == [label or 0 for _, label, _ in records]
    assert found.names.tolist() == [f"s{number}" for number in range(len(records))]


@st.composite
def graphs(draw):
    """Nodes (class, states, label, features) and edges (ends, class) of some graphs."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        nodes = []
        for _ in range(draw(st.integers(1, 4))):
            kind = draw(st.sampled_from("yh"))
            states = {"y": 2, "h": 3}[kind]
            labels = st.integers(0, states - 1) | st.sampled_from([MISSING, HIDDEN])
            nodes.append((kind, states, draw(labels), draw(rows)))
        pairs = [(a, b) for b in range(len(nodes)) for a in range(b)]
        edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
        found.append((nodes, edges))
    return found


@given(graphs())
def test_graphs_are_read_back(path, expected):
    lines = []
    for number, (nodes, edges) in enumerate(expected):
        lines.append(f"graph g{number}")
        for at, (kind, states, label, row) in enumerate(nodes):
            shown = {MISSING: "?", HIDDEN: "-"}.get(label, label)
            lines.append(f"node n{at} {kind} {states} {shown}{written(row)}")
        lines += [f"edge n{a} n{b} {nodes[a][0]}{nodes[b][0]}" for a, b in edges]
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = read_graphs(path)
    nodes = [node for inner, _ in expected for node in inner]
    assert list(found.names) == [f"g{number}" for number in range(len(expected))]
    assert list(found.node_classes) == [kind for kind, _, _, _ in nodes]
    assert found.states.tolist() == [states for _, states, _, _ in nodes]
    assert found.labels.tolist() == [label for _, _, label, _ in nodes]
    indices, values = flat([row for _, _, _, row in nodes])
    assert split(found.node_features.indices, found.node_features.starts) == indices
    assert split(found.node_features.values, found.node_features.starts) == values
    assert found.ends.tolist() == [list(pair) for _, edges in expected for pair in edges]
    assert np.diff(found.edge_offsets).tolist() == [len(edges) for _, edges in expected]


@given(st.lists(words, min_size=2, max_size=5, unique=True), st.data())
def test_loss_matrices_are_read_back(path, labels, data):
    assume(all(label.strip() == label for label in labels))
    costs = st.integers(1, 100).map(lambda n: n / 4)
    matrix = [
        [0.0 if a == b else data.draw(costs) for b in range(len(labels))]
        for a in range(len(labels))
    ]
    lines = [" ".join(labels)]
    lines += [f"{a} " + " ".join(map(str, row)) for a, row in zip(labels, matrix, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found, losses = read_loss_matrix(path)
    assert list(found) == labels
    assert losses.tolist() == matrix
