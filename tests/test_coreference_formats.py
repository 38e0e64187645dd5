"""Readers and writers of coreference files, and broken files through the real commands."""

import gzip
import io
import os
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lssvm.applications.base import Source
from lssvm.applications.coreference.coreference import Coreference, CoreferenceOptions
from lssvm.applications.coreference.mention_clustering import Predictions
from lssvm.cli import classify, learn
from lssvm.config import Config
from lssvm.errors import DataError
from lssvm.formats.brat import read_brat
from lssvm.formats.conll_coreference import read_conll, write_conll
from lssvm.formats.limit import Limit
from lssvm.formats.mention_pairs import read_pairs, read_pairs_npz

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("LSSVM_DATA", ROOT / "../shared/data"))


def conll(folder, text, name="x.conll"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_conll(folder / name)


def spans(text):
    return [(m.start, m.stop, m.cluster) for m in text.mentions]


def written(text, clusters):
    file = io.StringIO()
    write_conll(text, clusters, file)
    return file.getvalue()


def renumbered(text):
    numbers = {}
    return [numbers.setdefault(m.cluster, len(numbers) + 1) for m in text.mentions]


# CoNLL columns


def test_nested_and_crossing_mentions_are_read(tmp_path):
    cells = ["(1|(2", "(3)", "1)", "(4|(4)|2)", "4)", "-"]
    (text,) = conll(tmp_path, "\n".join(f"{k} w{k} {c}" for k, c in enumerate(cells)))
    assert spans(text) == [(0, 4, "2"), (0, 3, "1"), (1, 2, "3"), (3, 5, "4"), (3, 4, "4")]


def test_a_mention_closes_the_one_of_its_cluster_that_opened_last(tmp_path):
    cells = ["(1", "(1", "1)", "1)"]
    (text,) = conll(tmp_path, "\n".join(f"{k} w {c}" for k, c in enumerate(cells)))
    assert spans(text) == [(0, 4, "1"), (1, 3, "1")]


@pytest.mark.parametrize("none", ["-", "_", "*"])
def test_every_sign_for_no_mention_is_known(tmp_path, none):
    (text,) = conll(tmp_path, f"0 a (1)\n1 b {none}\n")
    assert spans(text) == [(0, 1, "1")]
    assert written(text, [1]) == f"0 a (1)\n1 b {none}\n"


def test_parts_are_documents_of_their_own(tmp_path):
    part = "0 a (1)\n\n1 b (1)\n#end document\n"
    head = "#begin document (bn/cnn); part 00"
    texts = conll(tmp_path, f"{head}0\n{part}{head}1\n{part}")
    assert [text.name for text in texts] == ["bn/cnn part 000", "bn/cnn part 001"]
    assert [text.line for text in texts] == [1, 6]


def test_the_twelve_columns_of_conll_2012_are_read(tmp_path):
    row = "bn/cnn 0 {0} {1} {2} (TOP* - - - Ann {3} * {4}"
    lines = [
        row.format(0, "New", "NNP", "(GPE*", "(7"),
        row.format(1, "York", "NNP", "*)", "7)"),
        row.format(2, "slept", "VBD", "*", "-"),
    ]
    (text,) = conll(
        tmp_path, "#begin document (bn/cnn); part 000\n" + "\n".join(lines) + "\n#end document"
    )
    assert text.words == ("New", "York", "slept")
    assert text.tags == ("NNP", "NNP", "VBD")
    assert text.speakers == ("Ann",) * 3
    assert [m.entity for m in text.mentions] == ["gpe"]


# As published: columns are padded with blanks, and behind the named entities there is one column
# for each predicate of the sentence.
PUBLISHED = """\
#begin document (nw/wsj/00/wsj_0004); part 000
nw/wsj/00/wsj_0004   0    0      The    DT   (TOP(S(NP*        -    -   -   -           *   (ARG0*       *     (4
nw/wsj/00/wsj_0004   0    1     town    NN           *)        -    -   -   -           *        *)  (ARG0*)    4)
nw/wsj/00/wsj_0004   0    2     said   VBD        (VP*       say   01   1   -           *      (V*)      *      -
nw/wsj/00/wsj_0004   0    3       it   PRP       (NP*)         -    -   -   -           *   (ARG1*)    (V*)    (4)
nw/wsj/00/wsj_0004   0    4        .     .         *))         -    -   -   -           *        *       *      -

nw/wsj/00/wsj_0004   0    0       In    IN   (TOP(PP*          -    -   -   Ann         *    -
nw/wsj/00/wsj_0004   0    1      New   NNP        (NP*         -    -   -   Ann     (GPE*   (7
nw/wsj/00/wsj_0004   0    2     York   NNP         *)))        -    -   -   Ann         *)   7)

nw/wsj/00/wsj_0004   0    0       He   PRP  (TOP(S(NP*)        -    -   -   Bo   (PERSON)  (ARG0*)   (9)
nw/wsj/00/wsj_0004   0    1    slept   VBD      (VP*)))    sleep   01   1   Bo          *     (V*)    -

#end document

#begin document (nw/wsj/00/wsj_0004); part 001
nw/wsj/00/wsj_0004   1    0      Yes    UH      (TOP*)         -    -   -   -           *    -
#end document
"""  # noqa: E501


def last_changed(text, cell="X"):
    """The text with another last column in every line of a token."""
    lines = text.splitlines(keepends=True)
    for place, line in enumerate(lines):
        if line.strip() and not line.startswith("#"):
            bare = line.rstrip()
            lines[place] = bare[: bare.rindex(bare.split()[-1])] + cell + line[len(bare) :]
    return "".join(lines)


def test_conll_2012_as_published_has_other_columns_in_every_sentence(tmp_path):
    first, second = conll(tmp_path, PUBLISHED)
    assert spans(first) == [(0, 2, "4"), (3, 4, "4"), (6, 8, "7"), (8, 9, "9")]
    assert first.words == ("The", "town", "said", "it", ".", "In", "New", "York", "He", "slept")
    assert first.tags[:3] == ("DT", "NN", "VBD")
    assert first.speakers == ("",) * 5 + ("Ann",) * 3 + ("Bo",) * 2
    assert [mention.entity for mention in first.mentions] == ["", "", "gpe", "person"]
    assert list(first.sentences) == [0] * 5 + [1] * 3 + [2] * 2
    assert (second.name, second.words) == ("nw/wsj/00/wsj_0004 part 001", ("Yes",))


KEY = """\
# made by hand
#begin document (a test);\x20

test1\t0\t0\ta1\t(0
test1\t0\t1\ta2\t0)
test1\t0\t2\tb1\t(1(2
test1\t0\t3\tb2\t1)2)
test1\t0\t4\t.\t-\t

test2\t0\t0\tb3\t(1)
#end document
# the end
"""
TWO = "#begin document (a); part 000\nnw/a (1)\nnw/a \nnw/a (1)\n# x\n# -\n#y (1)\n#end document"


def test_keys_of_the_official_scorer_are_read(tmp_path):
    (text,) = conll(tmp_path, KEY)
    assert spans(text) == [(0, 2, "0"), (2, 4, "1"), (5, 6, "1")]
    assert text.repeated == 1
    assert text.words == ("a1", "a2", "b1", "b2", ".", "b3")
    assert (text.tags, text.speakers) == (("",) * 6, ("",) * 6)
    assert text.name == "a test"


def test_files_of_two_columns_are_read(tmp_path):
    (text,) = conll(tmp_path, TWO)
    assert text.words == ("nw/a", "nw/a", "nw/a", "#", "#y")
    assert spans(text) == [(0, 1, "1"), (2, 3, "1"), (4, 5, "1")]
    assert written(text, [1, 1, 1]) == TWO.replace("nw/a \n", "nw/a -\n")
    (tabbed,) = conll(tmp_path, "New York\t(1)\n# a note\n#\t-\nit \t(1)\nis\t\n")
    assert tabbed.words == ("New York", "#", "it", "is")


@pytest.mark.parametrize("text", [PUBLISHED, KEY, "\n# a\n0 he (1)\n\n# b\n1 it (1)\n\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "  \r\n"])
def test_what_is_written_differs_in_the_last_column_alone(tmp_path, monkeypatch, text, end):
    monkeypatch.chdir(tmp_path)
    text = text.replace("\n", end)
    (tmp_path / "x.conll").write_bytes(text.encode())
    (tmp_path / "c.yaml").write_text("application: {name: coreference}\ndata: {train: x.conll}\n")
    assert CliRunner().invoke(learn, ["c.yaml", "m", "-q"]).exit_code == 0
    done = CliRunner().invoke(classify, ["x.conll", "m", "out", "-q"])
    assert done.exit_code == 0, done.output
    out = (tmp_path / "out").read_bytes().decode()
    assert last_changed(out) == last_changed(text)
    assert [len(t.mentions) for t in read_conll("out")] == [
        len(t.mentions) for t in read_conll("x.conll")
    ]


def test_mentions_numbered_as_in_the_file_are_written_to_the_same_bytes(tmp_path):
    for source in (PUBLISHED, PUBLISHED.replace("\n", "\r\n"), PUBLISHED[:-1]):
        texts = conll(tmp_path, source)
        assert "".join(written(t, [int(m.cluster) for m in t.mentions]) for t in texts) == source


def test_files_written_together_begin_on_lines_of_their_own(tmp_path):
    for name in ("a.conll", "b.conll"):
        (tmp_path / name).write_text("0 he (1)\n1 it (1)")
    app = Coreference(CoreferenceOptions())
    examples = app.read([Source(str(tmp_path))])
    file = io.StringIO()
    app.write(examples, Predictions(examples.clusters, None, np.zeros(2)), file)
    assert file.getvalue() == "0 he (1)\n1 it (1)\n0 he (1)\n1 it (1)"


def test_what_a_layout_lacks_is_not_known(tmp_path):
    row = "d 0 {0} {1} {2} * - - - Ann{3}\n"
    (eleven,) = conll(tmp_path, row.format(0, "he", "PRP", " (1)") + row.format(1, "a", "X", " -"))
    assert (eleven.words, eleven.speakers) == (("he", "a"), ("Ann", "Ann"))
    assert [mention.entity for mention in eleven.mentions] == [""]
    app = Coreference(CoreferenceOptions())
    for text in (KEY, TWO, "he (1)\nit (1)\n"):
        (tmp_path / "y.conll").write_text(text)
        examples = app.read([Source(str(tmp_path / "y.conll"))])
        used = {app.feature_names()[j] for j in examples.indices}
        assert not {name for name in used if "speaker" in name or "entity" in name}


def test_entity_types_and_names_of_gum_are_read(tmp_path):
    text = "0\tIn\t_\n1\tMecca\t(event-2(place-3-Mecca)\n2\tcrane\tevent-2)\n"
    text += "3\tit\t(place-3-Mecca)(x)\n"
    (text,) = conll(tmp_path, "# begin document a\n" + text + "# end document\n")
    assert spans(text) == [(1, 3, "2"), (1, 2, "3"), (3, 4, "3")]
    assert [m.entity for m in text.mentions] == ["event", "place", "place"]
    assert text.repeated == 1


def test_windows_ends_bom_compression_and_no_last_end_change_nothing(tmp_path):
    plain = "#begin document (a); part 000\n0 he (1)\n\n1 him (1)\n#end document\n"
    variants = [
        plain.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + plain.encode(),
        gzip.compress(plain.encode()),
        plain[:-1].encode(),
    ]
    (expected,) = conll(tmp_path, plain)
    for variant in variants:
        (found,) = conll(tmp_path, variant)
        assert (found.name, found.words, spans(found)) == (
            "a part 000",
            ("he", "him"),
            spans(expected),
        )
        assert list(found.sentences) == [0, 1]


def test_sentences_end_at_blank_lines_or_else_at_full_stops(tmp_path):
    (blank,) = conll(tmp_path, "0 a -\n1 . -\n\n2 b -\n3 . -\n4 c -\n")
    assert list(blank.sentences) == [0, 0, 1, 1, 1]
    (stops,) = conll(tmp_path, "0 a -\n1 . -\n2 b -\n3 . -\n4 c -\n")
    assert list(stops.sentences) == [0, 0, 1, 1, 2]


def test_a_file_is_written_back_with_another_last_column_and_nothing_else(tmp_path):
    source = (
        "#begin document (a); part 000\n# a comment\n0  he   (5)\n\n1  his  (7|(5)\n"
        "2  dog  7)\n#end document\n"
    )
    (text,) = conll(tmp_path, source)
    expected = source.replace("(5)", "(1)").replace("(7|(1)", "(2|(1)").replace("7)", "2)")
    assert written(text, [1, 2, 1]) == expected


def test_what_is_written_reads_as_the_same_mentions(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(50):
        count = int(rng.integers(1, 8))
        ends = {tuple(sorted(rng.choice(count + 1, 2, replace=False))) for _ in range(6)}
        lines = [[] for _ in range(count)]
        for number, (a, b) in enumerate(sorted(map(tuple, ends), key=lambda e: (e[0], -e[1]))):
            if b == a + 1:
                lines[a].append(f"({number})")
            else:
                lines[a].append(f"({number}")
                lines[b - 1].append(f"{number})")
        source = "\n".join(f"{k} w {'|'.join(cell) or '-'}" for k, cell in enumerate(lines))
        (text,) = conll(tmp_path, source)
        assert {m[:2] for m in spans(text)} == {(int(a), int(b)) for a, b in ends}
        distinct = list(range(1, len(text.mentions) + 1))
        (again,) = conll(tmp_path, written(text, distinct), "y.conll")
        assert [m[:2] for m in spans(again)] == [m[:2] for m in spans(text)]
        assert renumbered(again) == distinct


def test_mentions_of_one_cluster_that_share_an_end_read_back(tmp_path):
    (text,) = conll(tmp_path, "0 a (1|(1\n1 b 1)\n2 c (1|1)\n3 d 1)\n")
    (again,) = conll(tmp_path, written(text, renumbered(text)), "y.conll")
    assert {m[:2] for m in spans(again)} == {m[:2] for m in spans(text)}


# brat


def brat(folder, annotations, content="Emma met\nMr. K .\n"):
    (folder / "d_brat.txt").write_text(content)
    (folder / "d_brat.ann").write_text(annotations)
    return read_brat(folder / "d_brat.ann")


def test_brat_mentions_have_clusters_kinds_and_types(tmp_path):
    text = brat(
        tmp_path,
        "T1\tPROP_PER 0 4\tEmma\nT2\tEmma-1 0 4\tEmma\nT3\tNOM_FAC 5 8\tmet\n"
        "T4\tMr-2 9 14\tMr. K\nR1\tcop Arg1:T1 Arg2:T4\n#1\tnote\n",
    )
    assert spans(text) == [(0, 1, "Emma-1"), (2, 4, "Mr-2")]
    assert [(m.kind, m.entity) for m in text.mentions] == [("PROP", "per"), ("", "")]
    assert text.words == ("Emma", "met", "Mr.", "K", ".")
    assert list(text.sentences) == [0, 0, 1, 1, 1]


def test_a_span_in_pieces_becomes_its_hull(tmp_path):
    assert spans(brat(tmp_path, "T1\tc-1 0 4;9 12\tEmma Mr.\n")) == [(0, 3, "c-1")]


def test_brat_documents_are_written_as_columns(tmp_path):
    text = brat(tmp_path, "T2\tEmma-1 0 4\tEmma\nT4\tMr-2 9 14\tMr. K\n")
    (again,) = conll(tmp_path, written(text, [4, 9]))
    assert spans(again) == [(0, 1, "4"), (2, 4, "9")]
    assert again.words == text.words
    assert list(again.sentences) == list(text.sentences)


# pairs


def test_npz_and_text_of_the_same_pairs_are_the_same_documents(tmp_path):
    features = np.array([[0.5, 0.0], [0.0, 0.0], [0.0, -2.0], [1.0, 1.0]])
    np.savez(
        tmp_path / "x.npz",
        mentions=[3, 2],
        clusters=[7, 7, 1, -1, -1],
        features=features,
        costs=[2.0, 1.0],
        names=np.array(["a", "b"]),
    )
    (tmp_path / "x.pairs").write_text(
        "# pairs\ndocument a cost=2\nclusters 7 7 1\npair 1 2 1:.5\npair 1 3\npair 2 3 2:-2\n\n"
        "document b\nclusters ? ?\npair 1 2 1:1 2:1\n"
    )
    texts, arrays = read_pairs(tmp_path / "x.pairs", 2), read_pairs_npz(tmp_path / "x.npz", 2)
    for a, b in zip(texts, arrays, strict=True):
        assert (a.name, a.clusters, a.starts, a.indices, a.values) == (
            b.name,
            b.clusters,
            b.starts,
            b.indices,
            b.values,
        )
    assert [document.cost for document in texts] == [2.0, None]


def test_names_of_features_may_come_from_a_file_and_are_kept_with_the_configuration(tmp_path):
    (tmp_path / "names.txt").write_text("one\ntwo words\n")
    config = Config.from_dict(
        {"application": {"name": "coreference", "features": "names.txt"}}, base=tmp_path
    )
    assert config.create_application().feature_names() == ["one", "two words"]
    again = Config.from_dict(config.to_dict(), base=tmp_path / "elsewhere")
    assert again.application == config.application


def test_a_folder_is_read_file_by_file_and_documents_may_be_mixed(tmp_path):
    brat(tmp_path, "T2\tEmma-1 0 4\tEmma\n")
    conll(tmp_path, "0 he (1)\n1 him (1)\n")
    examples = Coreference(CoreferenceOptions()).read([Source(str(tmp_path))])
    assert examples.names == ["d_brat", "x"]


# real files


def needed(*parts):
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not there; set LSSVM_DATA to the folder of the data sets")
    return path


@pytest.mark.parametrize("layer", ["coref_gum", "coref_ontogum"])
def test_files_of_gum_are_read_and_written_back(tmp_path, layer):
    for path in sorted(needed("gum", layer).glob("GUM_news_*.conll"))[:8]:
        (text,) = read_conll(path)
        (again,) = conll(tmp_path, written(text, renumbered(text)))
        assert [m[:2] for m in spans(again)] == [m[:2] for m in spans(text)]
        assert renumbered(again) == renumbered(text)
        assert len(text.mentions) > 10


def test_a_document_of_litbank_has_the_mentions_of_its_annotation(tmp_path):
    path = needed("litbank-coref", "brat", "158_emma_brat.ann")
    text = read_brat(path)
    assert len(text.mentions) == 303
    assert text.words[:6] == ("VOLUME", "I", "CHAPTER", "I", "Emma", "Woodhouse")
    app = Coreference(CoreferenceOptions())
    examples = app.read([Source(str(path))])
    gold = Predictions(examples.clusters, None, np.zeros(1))
    scores = app.score(examples, gold)
    assert (scores["muc"], scores["pair_loss"]) == (100, 0)


# broken files

GOOD = "#begin document (a); part 000\n0 he (1)\n1 him (1)\n#end document\n"
CONLL_FILES = {
    "empty": b"",
    "blank lines": b"\n\n",
    "only comments": b"# nothing\n",
    "binary": bytes(range(256)),
    "truncated gzip": gzip.compress(GOOD.encode() * 50)[:40],
    "two columns, the last of them a word": b"0 he\n",
    "one column": b"(1)\n",
    "a coreference column that is missing": b"he (1)\nit\n",
    "a column of blanks that is missing": b"0 0 0 he (1)\n0 0 1 him \n",
    "an empty coreference column": b"0\the\t\n1\thim\t(1)\n",
    "five columns that are no key": b"0 he PRP x (1)\n",
    "a predicate that comes and goes": PUBLISHED.replace("  (ARG0*)    4)", "    4)").encode(),
    "another layout in the next sentence": b"0 he (1)\n\n0 him PRP (1)\n",
    "less than CONLL-2012 in the next sentence": (
        b"d 0 0 he PRP * - - - - * (1)\n\nd 0 0 him PRP * - - - - (1)\n"
    ),
    "a tab among blanks": b"0 he (1)\n1\thim\t(1)\n",
    "blanks among tabs": b"0\the\t(1)\n1 him (1)\n",
    "tokens before a document": b"0 he (1)\n#begin document (a)\n0 he (1)\n#end document\n",
    "tokens behind a document": b"#begin document (a)\n0 he (1)\n#end document\n0 he (1)\n",
    "six columns": b"0 he PRP x y (1)\n",
    "columns that change": b"0 he (1)\n1 him PRP (1)\n",
    "a mention that is never closed": b"0 he (1\n1 him -\n",
    "a mention that was never opened": b"0 he (1)\n1 him 2)\n",
    "a number without brackets": b"0 he 1\n",
    "brackets without a number": b"0 he ()\n",
    "a bracket too many": b"0 he ((1)\n",
    "a document without an end": b"#begin document (a)\n0 he (1)\n",
    "a document within a document": b"#begin document (a)\n#begin document (b)\n0 he (1)\n",
    "an end without a document": b"#end document\n",
    "a document without tokens": b"#begin document (a)\n#end document\n",
    "clusters known in part": b"0 he (1)\n1 him (?)\n",
    "no clusters": b"0 he (?)\n1 him (?)\n",
}
PAIR_FILES = {
    "empty": "",
    "a pair before a document": "pair 1 2 1:1\n",
    "an unknown word": "document a\nclusters 1 1\nedge 1 2\n",
    "no clusters": "document a\npair 1 2 1:1\n",
    "clusters twice": "document a\nclusters 1 1\nclusters 1 1\npair 1 2\n",
    "a pair missing": "document a\nclusters 1 1 1\npair 1 2\npair 2 3\n",
    "a pair too many": "document a\nclusters 1 1\npair 1 2\npair 1 3\n",
    "an early end": "document a\nclusters 1 1 1\npair 1 2\n",
    "a feature out of range": "document a\nclusters 1 1\npair 1 2 5:1\n",
    "feature zero": "document a\nclusters 1 1\npair 1 2 0:1\n",
    "indices that fall": "document a\nclusters 1 1\npair 1 2 2:1 1:1\n",
    "an index of 5,000 digits": f"document a\nclusters 1 1\npair 1 2 {'9' * 5000}:1\n",
    "a number with an underscore": "document a cost=1_0\nclusters 1 1\npair 1 2 1:1\n",
    "a value of words": "document a\nclusters 1 1\npair 1 2 1:much\n",
    "a value that is not finite": "document a\nclusters 1 1\npair 1 2 1:nan\n",
    "a feature without value": "document a\nclusters 1 1\npair 1 2 1\n",
    "a negative cost": "document a cost=-1\nclusters 1 1\npair 1 2\n",
    "the same name twice": "document a\nclusters 1\ndocument a\nclusters 1\n",
    "clusters known in part": "document a\nclusters 1 ?\npair 1 2\n",
    "an empty cluster": "document\ta\nclusters\t1\t\t1\npair\t1\t2\n",
    "a cluster with a blank": "document\ta\nclusters\tNew York\t1\npair\t1\t2\n",
    "a name with a blank": "document\tNew York\nclusters\t1\t1\npair\t1\t2\n",
    "blanks among tabs": "document\ta\nclusters 1 1\npair\t1\t2\n",
}
ANNOTATIONS = {
    "empty": "",
    "no clusters": "T1\tPROP_PER 0 4\tEmma\n",
    "a line that cannot be read": "T1 Emma-1 0 4 Emma\n",
    "an offset behind the end": "T1\tEmma-1 0 400\tEmma\n",
    "an offset of 5,000 digits": f"T1\tEmma-1 0 {'9' * 5000}\tEmma\n",
    "digits of another script": "T1\tEmma-1 0 ٤\tEmma\n",
    "an empty span": "T1\tEmma-1 4 4\t\n",
    "another text": "T1\tEmma-1 0 4\tAnne\n",
}


def refusal(folder, data, options=""):
    """The one line with which training on a file is refused."""
    text = f"application: {{name: coreference{options}}}\ndata: {{train: {data}}}\n"
    (folder / "c.yaml").write_text(text)
    done = CliRunner().invoke(learn, ["c.yaml", "m", "-q"])
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert not (folder / "m").exists()
    return done.stderr.removeprefix("error: ")


@pytest.mark.parametrize("name", CONLL_FILES)
def test_a_broken_column_file_is_refused_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.conll").write_bytes(CONLL_FILES[name])
    assert refusal(tmp_path, "x.conll").startswith("x.conll")


@pytest.mark.parametrize("name", PAIR_FILES)
def test_a_broken_file_of_pairs_is_refused_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.pairs").write_text(PAIR_FILES[name])
    line = refusal(tmp_path, "x.pairs", ", features: 4")
    assert line.startswith("x.pairs")
    assert "expected" in line


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_broken_annotations_are_refused_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.txt").write_text("Emma met\n")
    (tmp_path / "x.ann").write_text(ANNOTATIONS[name])
    assert refusal(tmp_path, "x.ann").startswith("x.ann")


def test_annotations_without_their_text_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.ann").write_text("T1\tEmma-1 0 4\tEmma\n")
    assert refusal(tmp_path, "x.ann").startswith("x.txt: cannot be read")


def test_pairs_that_take_more_memory_than_allowed_are_refused_before_they_are_made(tmp_path):
    lines = [f"{number}\tword\tNN\t({number % 7})\n" for number in range(2000)]
    (tmp_path / "x.conll").write_text("".join(lines))
    options = {"name": "coreference"}
    application = Config.from_dict({"application": options}).create_application()
    source = Source(str(tmp_path / "x.conll"), limit=Limit(100.0, "data.max_mb"))
    with pytest.raises(DataError, match=r"x\.conll:1: document 'x', 1,999,000 pairs of mentions"):
        application.read([source])
    near = Config.from_dict({"application": {**options, "max_distance": 3}}).create_application()
    assert len(near.read([source])) == 1


def test_sentences_of_annotated_texts_are_found_in_time(tmp_path):
    content = "a b\n" * 100_000
    (tmp_path / "d.txt").write_text(content)
    (tmp_path / "d.ann").write_text("T1\tx-1 0 1\ta\n")
    began = time.process_time()
    assert read_brat(tmp_path / "d.ann").sentences[-1] == 99_999
    assert time.process_time() - began < 5  # it would be minutes, were it quadratic


def npz(**changes):
    arrays = {"mentions": np.array([2]), "clusters": np.array([1, 1]), "features": np.ones((1, 4))}
    arrays |= changes
    buffer = io.BytesIO()
    np.savez(buffer, **{name: array for name, array in arrays.items() if array is not None})
    return buffer.getvalue()


ARRAY_FILES = {
    "text": b"hello",
    "truncated": npz()[:100],
    "an empty archive": b"PK\x05\x06" + bytes(18),
    "one array missing": npz(clusters=None),
    "features of another number": npz(features=np.ones((1, 3))),
    "a pair too many": npz(features=np.ones((2, 4))),
    "clusters too few": npz(clusters=np.array([1])),
    "numbers that are not finite": npz(features=np.full((1, 4), np.inf)),
    "fractions for clusters": npz(clusters=np.array([0.5, 1])),
    "objects": npz(clusters=np.array([{}, {}], dtype=object)),
    "a document without mentions": npz(mentions=np.array([0, 2])),
    "a negative cost": npz(costs=np.array([-1.0])),
}


@pytest.mark.parametrize("name", ARRAY_FILES)
def test_a_broken_array_file_is_refused_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.npz").write_bytes(ARRAY_FILES[name])
    assert refusal(tmp_path, "x.npz", ", features: 4").startswith("x.npz: ")


def test_what_does_not_belong_together_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.npz").write_bytes(npz())
    assert "application.features" in refusal(tmp_path, "x.npz")
    (tmp_path / "folder").mkdir()
    assert refusal(tmp_path, "folder").startswith("folder: a folder without documents")
    (tmp_path / "x.conll").write_text(GOOD)
    app = Coreference(CoreferenceOptions())
    with pytest.raises(DataError, match="label 'a' has no meaning for documents"):
        app.read([Source("x.conll", "a")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("features: 0", "expected 1 to 1,000,000 features, got 0"),
        ("features: 9223372036854775808", "expected 1 to 1,000,000 features, got 92"),
        ("features: [a, a]", "'a' is named twice"),
        ("features: absent.txt", "absent.txt: cannot be read"),
        ("max_distance: 0", "max_distance"),
        ("penalty: -1", "penalty"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.conll").write_text(GOOD)
    assert message in refusal(tmp_path, "x.conll", f", {options}")


def test_an_archive_that_says_too_much_is_no_array_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for name in ("mentions", "clusters", "features"):
            archive.writestr(f"{name}.npy", b"no array at all")
    assert refusal(tmp_path, "x.npz", ", features: 4").startswith("x.npz: array 'mentions'")


def test_a_name_that_no_file_can_have_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "x" * 5000
    Path("c.yaml").write_text(f"application: coreference\ndata: {{train: {name}}}\n")
    told = CliRunner().invoke(learn, ["c.yaml", "m", "-q"])
    assert (told.exit_code, told.stderr) == (
        2,
        f"error: {name}: cannot be read: File name too long; expected a file\n",
    )
