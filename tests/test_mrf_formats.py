"""Files of graphs: what is read, and what is refused in one line."""

import bz2
import gzip
import lzma
import re
from dataclasses import fields

import numpy as np
import pytest
from click.testing import CliRunner
from mrf_cases import write_npz

from lssvm.cli import learn
from lssvm.errors import DataError
from lssvm.formats import mrf_npz
from lssvm.formats.mrf_npz import npz_parts, read_npz
from lssvm.formats.mrf_text import HIDDEN, MISSING, read_graphs

GOOD = """\
# two graphs
graph first cost=0.5
node a y 3 2 1:1.5 4:-2e-1
node b h 2 -
node c y 3 ?
edge a b yh
# a comment is no blank line
edge b c hy 1:0.5 2:1

node x y 3 0
"""

BROKEN = {
    "": "no graphs; expected lines 'node NAME CLASS STATES LABEL …'",
    "# nothing\n\n": "no graphs; expected lines 'node NAME CLASS STATES LABEL …'",
    "vertex a\n": "1: 'vertex' cannot begin a line; expected graph, node or edge",
    "node a y\n": "1: 2 words follow 'node'; expected 'node NAME CLASS STATES LABEL …'",
    "node a y 2 0\nedge a\n": "2: 1 word follows 'edge'; expected 'edge A B CLASS …'",
    "graph\n": "1: '' follows 'graph'; expected 'graph NAME [cost=C]'",
    "graph a b\n": "1: 'a b' follows 'graph'; expected 'graph NAME [cost=C]'",
    "graph a cost=-1\nnode a y 2 0\n": "1: cost '-1' is negative; expected at least 0",
    "graph a cost=nan\n": "1: cost 'nan' is not finite; expected a finite number",
    "graph a\n\nnode a y 2 0\n": "2: graph 'a' has no nodes; expected some",
    "graph a": "1: graph 'a' has no nodes; expected some",
    "node a y 2 0\ngraph b\n": "2: 'graph' occurs within a graph; expected a blank line before it",
    "graph a\nnode a y 2 0\n\ngraph a\n": "4: there are two graphs 'a'; expected different names",
    "node a y 2 0\nnode a y 2 0\n": "2: there are two nodes 'a'; expected different names",
    "node a y two 0\n": "1: number of states 'two' is not a whole number; expected 1 to 10,000",
    "node a y 0 0\n": "1: number of states '0' is out of range; expected 1 to 10,000",
    "node a y 2 2\n": "1: label '2' is out of range; expected 0 to 1, ? (not known) or - (hidden)",
    "node a y 2 x\n": "1: label 'x' is not a whole number; expected 0 to 1, ? (not known) or - "
    "(hidden)",
    "node a y 2 -1\n": "1: label '-1' is not a whole number; expected 0 to 1, ? (not known) or - "
    "(hidden)",
    "node a y 2 0 1\n": "1: '1' is not a feature; expected index:value",
    "node a y 2 0 0:1\n": "1: index '0' is out of range; expected 1 to 1,000,000",
    "node a y 2 0 x:1\n": "1: 'x:1' is not a feature; expected index:value",
    "node a y 2 0 2:1 1:1\n": "1: index 1 follows 2; expected increasing indices",
    "node a y 2 0 1:1 1:1\n": "1: index 1 follows 1; expected increasing indices",
    "node a y 2 0 1:one\n": "1: value of feature 1 'one' is not a number; expected one such as 0.5",
    "node a y 2 0 1:1e999\n": "1: value of feature 1 '1e999' is too large; expected a finite "
    "number",
    "node a y 2 0\nedge a b e\n": "2: there is no node 'b' above in this graph",
    "node a y 2 0\n\nnode b y 2 0\nedge a b e\n": "4: there is no node 'a' above in this graph",
    "edge a b e\n": "1: there is no node 'a' above in this graph",
    "node a y 2 0\nedge a a e\n": "2: the edge joins 'a' to itself; expected two nodes",
    "node a y 2 0\nnode b y 2 0\nedge a b e\nedge a b e\n": "4: there are two edges a b e; "
    "expected one",
    "node a y 1000 0 1000000:1\n": "1,000,000,000 weights for states times features of all "
    "classes; expected at most 268,435,456",
    "node a y 2 0\nnode b y 3 0\n": "2: class 'y' has 3 states here; expected 2 as before",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_stops_training_in_one_line_with_its_place(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.txt").write_text(text)
    (tmp_path / "c.yaml").write_text("application: {name: mrf}\ndata: {train: g.txt}\n")
    result = CliRunner().invoke(learn, ["c.yaml", "m", "-q"])
    assert result.exit_code == 2
    assert result.stdout == ""
    separator = ":" if re.match(r"\d+: ", BROKEN[text]) else ": "
    assert result.stderr == f"error: g.txt{separator}{BROKEN[text]}\n"
    assert not (tmp_path / "m").exists()


def test_nodes_edges_labels_and_features_are_read(tmp_path):
    (tmp_path / "g").write_text(GOOD)
    found = read_graphs(tmp_path / "g")
    assert found.names == ("first", "2")
    assert found.costs[0] == 0.5
    assert np.isnan(found.costs[1])
    assert found.lines.tolist() == [2, 10]
    assert found.node_offsets.tolist() == [0, 3, 4]
    assert found.edge_offsets.tolist() == [0, 2, 2]
    assert found.node_names == ["a", "b", "c", "x"]
    assert found.node_classes == ["y", "h", "y", "y"]
    assert found.states.tolist() == [3, 2, 3, 3]
    assert found.labels.tolist() == [2, HIDDEN, MISSING, 0]
    assert found.node_features.starts.tolist() == [0, 2, 2, 2, 2]
    assert found.node_features.indices.tolist() == [0, 3]
    assert found.node_features.values.tolist() == [1.5, -0.2]
    assert found.edge_classes == ["yh", "hy"]
    assert found.ends.tolist() == [[0, 1], [1, 2]]
    assert found.edge_features.starts.tolist() == [0, 1, 3]
    assert found.edge_features.indices.tolist() == [0, 0, 1]
    assert found.edge_features.values.tolist() == [1.0, 0.5, 1.0]
    assert list(found.node_lines) == [3, 4, 5, 10]
    assert list(found.edge_lines) == [6, 8]


def plain(graphs):
    """All fields as lists, NaN as None."""
    found = {}
    for part in fields(graphs):
        value = getattr(graphs, part.name)
        if part.name in ("lines", "node_lines", "edge_lines"):
            continue
        if part.name.endswith("features"):
            found[part.name] = [
                value.starts.tolist(),
                value.indices.tolist(),
                value.values.tolist(),
            ]
        else:
            found[part.name] = (
                np.nan_to_num(np.array(value), nan=-7).tolist()
                if (part.name == "costs")
                else np.array(value).tolist()
            )
    return found


@pytest.mark.parametrize("spoil", [
    lambda text: text.encode(),
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: b"\xef\xbb\xbf" + text.encode(),
    lambda text: text.rstrip("\n").encode(),
    lambda text: text.replace(" ", "\t").encode(),
    lambda text: gzip.compress(text.encode()),
    lambda text: bz2.compress(text.encode()),
    lambda text: lzma.compress(text.encode()),
])  # fmt: skip
def test_line_ends_marks_and_compression_do_not_matter(spoil, tmp_path):
    (tmp_path / "plain").write_text(GOOD)
    (tmp_path / "other").write_bytes(spoil(GOOD))
    assert plain(read_graphs(tmp_path / "other")) == plain(read_graphs(tmp_path / "plain"))


def test_an_archive_holds_the_same_graphs(tmp_path):
    (tmp_path / "g").write_text(GOOD)
    graphs = read_graphs(tmp_path / "g")
    write_npz(tmp_path / "g.npz", graphs)
    assert plain(read_npz(tmp_path / "g.npz")) == plain(graphs)


@pytest.mark.parametrize("part", [0, 20, 10**6])
def test_parts_of_an_archive_are_its_graphs(part, tmp_path, monkeypatch):
    monkeypatch.setattr(mrf_npz, "_PART", part)
    texts = (GOOD.replace("first", f"first{k}") for k in range(15))
    (tmp_path / "g").write_text(
        "\n".join(text.replace("node x", f"graph {k}\nnode x") for k, text in enumerate(texts))
    )
    write_npz(tmp_path / "g.npz", read_graphs(tmp_path / "g"))
    with np.load(tmp_path / "g.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["ends"] = np.asfortranarray(arrays["ends"])
    del arrays["node_names"]
    np.savez_compressed(tmp_path / "g.npz", **arrays)
    whole, parts = read_npz(tmp_path / "g.npz"), list(npz_parts(tmp_path / "g.npz"))
    assert len(parts) == {0: 30, 10**6: 1}.get(part, len(parts))
    assert len(parts) > 3 or part > 20
    for name in ("names", "node_names", "node_classes", "edge_classes"):
        assert [word for own in parts for word in getattr(own, name)] == list(getattr(whole, name))
    for name in ("costs", "states", "labels", "ends"):
        joined = np.concatenate([getattr(own, name) for own in parts])
        np.testing.assert_array_equal(joined, getattr(whole, name))
    for name in ("node_features", "edge_features"):
        for column in ("indices", "values"):
            joined = np.concatenate([getattr(getattr(own, name), column) for own in parts])
            np.testing.assert_array_equal(joined, getattr(getattr(whole, name), column))


def one_node_without_edges(tmp_path):
    (tmp_path / "g").write_text("node a y 2 0\n")
    write_npz(tmp_path / "g.npz", read_graphs(tmp_path / "g"))
    return tmp_path / "g.npz"


def test_an_archive_may_have_no_edges(tmp_path):
    assert read_npz(one_node_without_edges(tmp_path)).ends.shape == (0, 2)


def changed(**arrays):
    def change(found):
        found.update({name: np.array(value) for name, value in arrays.items()})

    return change


BROKEN_ARCHIVES = {
    "no array 'labels'": lambda found: found.pop("labels"),
    "unknown array 'colour'": changed(colour=[1]),
    "array 'names' holds int64; expected text": changed(names=[1, 2]),
    "array 'states' holds float64; expected whole numbers": changed(states=[3.0, 2, 3, 3]),
    "array 'labels' has shape (1,); expected (4,)": changed(labels=[0]),
    "array 'ends' has shape (2,); expected (2, 2)": changed(ends=[0, 1]),
    "array 'node_offsets' has shape (2,); expected (3,)": changed(node_offsets=[0, 4]),
    "'node_offsets' does not increase from 0 to 4; expected each number at least 1 above": changed(
        node_offsets=[0, 4, 4]
    ),
    "'edge_offsets' does not increase from 0 to 2; expected each number at least 0 above": changed(
        edge_offsets=[0, 3, 2]
    ),
    "array 'node_starts' does not increase from 0 to 2": changed(node_starts=[0, 2, 1, 2, 2]),
    "arrays 'node_indices' and 'node_values' have shapes (2,) and (1,)": changed(node_values=[1.0]),
    "'node_indices' is out of range at row 1, -3; expected 0 to 999999": changed(
        node_indices=[0, -3]
    ),
    "array 'node_values' holds a number that is not finite": changed(node_values=[0, np.nan]),
    "two graphs have the same name": changed(names=["a", "a"]),
    "two nodes of graph 'first' have the same name": changed(node_names=["a", "b", "a", "a"]),
    "array 'names' holds 'a\\tb'; expected words without tabs": changed(names=["a\tb", "c"]),
    "array 'node_names' holds ''; expected words": changed(node_names=["a", "", "c", "d"]),
    "array 'node_classes' holds ''; expected words": changed(node_classes=["p", "", "p", "p"]),
    "array 'edge_classes' holds 'a\\nb'; expected words": changed(edge_classes=["e", "a\nb"]),
    "array 'states' is out of range at row 2, 0; expected 1 to 10000": changed(states=[3, 2, 0, 3]),
    "array 'labels' is out of range at row 0, 3; expected -2 to 2": changed(labels=[3, -2, -1, 0]),
    "'labels' is out of range at row 3, -3; expected -2 to 2": changed(labels=[2, -2, -1, -3]),
    "array 'costs' holds a negative or infinite number": changed(costs=[1.0, -1.0]),
    "array 'ends' is out of range at row 1": changed(ends=[[0, 1], [1, 3]]),
    "array 'ends' joins a node to itself": changed(ends=[[0, 1], [1, 1]]),
}


@pytest.mark.parametrize("message", BROKEN_ARCHIVES)
def test_a_broken_archive_is_refused_with_the_name_of_its_array(message, tmp_path, monkeypatch):
    """Whether it is read whole, or in parts of a graph each."""
    monkeypatch.setattr(mrf_npz, "_PART", 0)
    (tmp_path / "g").write_text(GOOD)
    path = tmp_path / "g.npz"
    write_npz(path, read_graphs(tmp_path / "g"))
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    BROKEN_ARCHIVES[message](arrays)
    np.savez(path, **arrays)
    for read in (read_npz, lambda path: list(npz_parts(path))):
        with pytest.raises(DataError) as caught:
            read(path)
        assert message in str(caught.value)
        assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("data", [b"", b"text", b"PK\x03\x04broken", b"\x80\x04N."])
def test_what_is_no_archive_is_refused(data, tmp_path):
    (tmp_path / "g.npz").write_bytes(data)
    with pytest.raises(DataError, match=r"g\.npz: is cut short or damaged; expected \.npz"):
        read_npz(tmp_path / "g.npz")


def test_arrays_of_objects_are_refused(tmp_path):
    one_node_without_edges(tmp_path)
    with np.load(tmp_path / "g.npz") as archive:
        arrays = {**archive, "names": np.array([{}], dtype=object)}
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(
        DataError, match="array 'names' holds object; expected plain numbers or text"
    ):
        read_npz(tmp_path / "g.npz")
