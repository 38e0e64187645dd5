"""Files of pairs with mentions and relations: text, JSON lines, and names of numbers."""

import bz2
import gzip
import io
import json
import lzma

import numpy as np
import pytest
import relation_files as cases

from lssvm.errors import DataError
from lssvm.formats import relation_bags
from lssvm.formats.numbered_names import read_names
from lssvm.formats.relation_bags import bag_parts, read_bags


def told(file):
    """Relations, whether they are known, and mentions as dictionaries, of each pair of a file."""
    names = file.features
    found = []
    for i in range(len(file)):
        labels = file.labels[file.label_places[i] : file.label_places[i + 1]].tolist()
        mentions = []
        for m in range(file.places[i], file.places[i + 1]):
            own = slice(file.starts[m], file.starts[m + 1])
            indices = file.indices[own].tolist()
            indices = indices if names is None else [names[j] for j in indices]
            mentions.append(list(zip(indices, file.values[own].tolist(), strict=True)))
        found.append(([file.relations[label] for label in labels], bool(file.known[i]), mentions))
    return found


def in_numbers(expected):
    return [
        ([str(label) for label in labels], known, [list(m.items()) for m in mentions])
        for labels, known, mentions in expected
    ]


def written(tmp_path, text, name="pairs.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path):
    with pytest.raises(DataError) as caught:
        read_bags(path)
    return str(caught.value)


# the text format


def test_numbers_are_read_as_they_are_written(tmp_path):
    file = read_bags(written(tmp_path, cases.NUMBERED))
    assert told(file) == [
        (["1", "3"], True, [[(1, 1.0), (7, 0.5)], [], [(9, 2.0)]]),
        ([], True, [[(1, 1.0), (7, 1.0)]]),
        ([], False, [[(5, -1.0)]]),
    ]
    assert file.lines.tolist() == [3, 10, 13]
    assert (file.names, file.features, file.mention_names) == (None, None, None)


@pytest.mark.parametrize("seed", range(5))
def test_a_drawn_file_is_what_was_drawn(tmp_path, seed):
    text, expected = cases.drawn_text(np.random.default_rng(seed), 40)
    assert told(read_bags(written(tmp_path, text))) == in_numbers(expected)


@pytest.mark.parametrize("opened", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_is_the_same(tmp_path, opened):
    plain = told(read_bags(written(tmp_path, cases.NUMBERED)))
    assert told(read_bags(written(tmp_path, opened(cases.NUMBERED.encode())))) == plain


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.rstrip("\n"),
        lambda text: (
            "# pairs of entities\n\n" + text.replace("\t", " \t ").replace("3\n", "3 # …\n")
        ),
        lambda text: text.replace("1:1.0", "01:+1.00"),
    ],
)
def test_line_ends_blanks_and_comments_change_nothing(tmp_path, changed):
    plain = told(read_bags(written(tmp_path, cases.NUMBERED)))
    assert told(read_bags(written(tmp_path, changed(cases.NUMBERED)))) == plain


def test_standard_input_is_read(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(cases.NUMBERED.encode())))
    assert len(read_bags("-")) == 3


def joined(parts):
    return [pair for part in parts for pair in told(part)]


@pytest.mark.parametrize("held", [0, 50, 300])
def test_parts_are_the_whole_in_order(tmp_path, held, monkeypatch):
    monkeypatch.setattr(relation_bags, "_PART", held)
    monkeypatch.setattr("lssvm.formats.text._PIECE", 256)  # bytes read at a time
    text, expected = cases.drawn_text(np.random.default_rng(7), 60)
    path = written(tmp_path, text)
    parts = list(bag_parts(path))
    assert len(parts) > 1
    assert joined(parts) == in_numbers(expected)
    lines = np.concatenate([part.lines for part in parts])
    np.testing.assert_array_equal(lines, read_bags(path).lines)


FIRST_LINES = "2\n3\n"
EITHER = "expected the number of pairs, or JSON objects, one a line"
MALFORMED = {
    "no header": ("", "no pairs; expected their number, or JSON objects, one a line"),
    "a word": ("pairs\n", f":1: the file begins with 'pairs'; {EITHER}"),
    "a list in JSON": ('["a"]\n{}\n', f""":1: the file begins with '["a"]'; {EITHER}"""),
    "no relations": ("2\n", ":1: the file ends before the number of relations; expected 1 to "
                     "10,000"),
    "no pairs": ("0\n3\n", ":1: the number of pairs is 0; expected 1 to 2,147,483,647"),
    "unknown count": ("?\n3\n", ":1: the number of pairs is ?; expected 1 to 2,147,483,647"),
    "too many relations": ("1\n10001\n", ":2: the number of relations is 10,001; expected 1 to "
                           "10,000"),
    "an SVM-light file": ("1 1:0.5 2:1\n-1 2:1\n", ":2: number '-1' is not a whole number; "
                          "expected 0 to 2,147,483,647"),
    "features in the header": ("1 1:0.5\n2 2:1\n", ":1: features in the line of the number of "
                               "pairs; expected a whole number alone"),
    "only a header": (FIRST_LINES, ":2: the file ends within pair 1; expected 2 pairs, as its "
                      "first line says"),
    "too few pairs": (FIRST_LINES + "0\n1\n1 1:1\n", ":5: the file ends within pair 2; expected "
                      "2 pairs, as its first line says"),
    "cut within a pair": (FIRST_LINES + "0\n2\n1 1:1\n", ":5: the file ends within pair 1; "
                          "expected 2 pairs, as its first line says"),
    "a line too many": ("1\n3\n0\n1\n1 1:1\n0\n", ":6: a line behind the last pair; expected 1 "
                        "pair"),
    "relation 0": ("1\n3\n1\n0\n1\n1 1:1\n", ":4: not a relation; expected 1 to 3"),
    "relation 4 of 3": ("1\n3\n1\n4\n1\n1 1:1\n", ":4: not a relation; expected 1 to 3"),
    "relation ?": ("1\n3\n1\n?\n1\n1 1:1\n", ":4: not a relation; expected 1 to 3"),
    "relation with features": ("1\n3\n1\n1 1:1\n1\n1 1:1\n", ":4: not a relation; expected 1 to 3"),
    "a relation twice": ("1\n3\n3\n2\n1\n2\n1\n1 1:1\n", ":6: relation 2 again; expected each "
                         "relation once"),
    "no mentions": ("1\n3\n0\n0\n", ":4: 0 in place of the number of mentions; expected at "
                    "least 1"),
    "mentions ?": ("1\n3\n0\n?\n", ":4: ? in place of the number of mentions; expected at least 1"),
    "mention lines begun": ("1\n3\n0\n1 1:1\n", ":4: features in place of the number of "
                            "mentions; expected at least 1"),
    "pair begins with features": ("2\n3\n0\n1\n1 1:1\n1 1:1\n", ":6: features in a line that "
                                  "begins a pair; expected its number of relations"),
    "too few features": ("1\n3\n0\n1\n2 1:1\n", ":5: 2 as the number of features; "
                         "expected 1, as many as follow"),
    "too many features": ("1\n3\n0\n1\n1 1:1 2:1\n", ":5: 1 as the number of features; "
                          "expected 2, as many as follow"),
    "features ?": ("1\n3\n0\n1\n? 1:1\n", ":5: ? as the number of features; expected 1, "
                   "as many as follow"),
    "index twice": ("1\n3\n0\n1\n2 1:1 1:1\n", ":5: index 1 follows 1; expected increasing "
                    "indices"),
    "index too large": ("1\n3\n0\n1\n1 2147483648:1\n", ":5: index '2147483648' is out of range; "
                        "expected 0 to 2,147,483,647"),
    "value not finite": ("1\n3\n0\n1\n1 1:nan\n", ":5: value of feature 1 'nan' is not finite; "
                         "expected a finite number"),
    "value missing": ("1\n3\n0\n1\n1 1\n", ":5: '1' is not a feature; expected index:value"),
    "a query": ("1\n3\n0\n1\n1 qid:1 1:1\n", ":5: 'qid:1' is no feature; expected index:value"),
    "a float": ("1.0\n3\n", f":1: the file begins with '1.0'; {EITHER}"),
    "a power": ("1\n1e2\n", ":2: number '1e2' is not a whole number; expected 0 to 2,147,483,647"),
    "not UTF-8": (b"1\n3\n0\n1\n1 \xff:1\n", ":5: byte 0xff is not UTF-8; expected text"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_text_is_refused_with_its_line(tmp_path, name):
    text, message = MALFORMED[name]
    path = written(tmp_path, text)
    assert refusal(path) == f"{path}{'' if message.startswith(':') else ': '}{message}"


def test_a_damaged_gzip_file_is_refused(tmp_path):
    path = written(tmp_path, gzip.compress(cases.NUMBERED.encode())[:-12])
    assert refusal(path).startswith(f"{path}: the gzip stream is cut short or damaged; expected")


# JSON lines


def test_json_lines_are_read_with_names_and_values(tmp_path):
    file = read_bags(written(tmp_path, "\n" + cases.JSON))
    assert told(file) == [
        (
            ["born in", "lives in"],
            True,
            [[("was born in", 1.0), ("PER", 1.0), ("PER", 1.0)],
             [("lives in", 1.0), ("distance", 0.5)]],
        ),
        ([], True, [[("PER", 1.0)]]),
        ([], False, [[], [("PER", 2.0)]]),
    ]  # fmt: skip
    assert list(file.names) == ["p1", "Bob | Rome", "3"]
    assert list(file.entities) == [("Ada", "London"), ("Bob", "Rome"), None]
    assert list(file.mention_names) == ["d1:3", "d2:1", "1", "1", "7"]
    assert file.lines.tolist() == [2, 3, 4]
    np.testing.assert_array_equal(file.costs, [np.nan, np.nan, 0.25])


def test_json_parts_are_the_whole_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(relation_bags, "_PART", 20)
    monkeypatch.setattr("lssvm.formats.text._PIECE", 256)
    path = written(tmp_path, cases.JSON * 20)
    parts = list(bag_parts(path))
    assert len(parts) > 3
    assert joined(parts) == told(read_bags(path))
    names = [name for part in parts for name in part.names]
    assert names == list(read_bags(path).names)


def pair(**changes):
    return json.dumps({"mentions": [{"features": ["a"]}], **changes})


def mention(**changes):
    return json.dumps({"mentions": [{"features": ["a"], **changes}]})


PAIR_KEYS = "id, entities, relations, mentions, cost"
MALFORMED_JSON = {
    "cut": ('{"mentions": ', "Expecting value at character 14; expected one object in JSON on "
            "each line"),
    "text behind": (pair() + " x", "Extra data at character 37; expected one object in JSON on "
                    "each line"),
    "no mentions": ("{}", f"the line has no 'mentions'; expected it, and perhaps {PAIR_KEYS}"),
    "mentions empty": (pair(mentions=[]), "'mentions' is empty; expected a list of at least one"),
    "mentions text": (pair(mentions="a"), "'mentions' is a text; expected a list of at least one"),
    "unknown key": (pair(realtions=[]), "the line: 'realtions' is not known; expected "
                    f"{PAIR_KEYS}"),
    "key twice": ('{"id": "a", "id": "b"}', "'id' is given twice; expected each key once"),
    "feature twice": ('{"mentions": [{"features": {"a": 1, "a": 2}}]}', "'a' is given twice; "
                      "expected each key once"),
    "NaN": ('{"mentions": [{"features": {"a": NaN}}]}', "NaN is not finite; expected a finite "
            "number"),
    "infinite": ('{"mentions": [{"features": {"a": 1e999}}]}', "mention 1: values are too large; "
                 "expected finite numbers"),
    "huge whole number": (f'{{"mentions": [{{"features": {{"a": {"9" * 400}}}}}]}}', "mention 1: "
                          "values are too large; expected finite numbers"),
    "digits": (f'{{"cost": {"9" * 5000}}}', "a number has too many digits; expected a finite "
               "number"),
    "value text": (mention(features={"a": "1"}), "mention 1: the value of 'a' is a text; expected "
                   "a number"),
    "value true": (mention(features={"a": True}), "mention 1: the value of 'a' is true or false; "
                   "expected a number"),
    "feature number": (mention(features=[1]), "mention 1: a feature is a number; expected its "
                       "name, a text"),
    "features text": (mention(features="a"), "mention 1: 'features' is a text; expected a list of "
                      "names, or names with values"),
    "no features": ('{"mentions": [{}]}', "mention 1 has no 'features'; expected it, and perhaps "
                    "id, features, text"),
    "mention text": (pair(mentions=["a"]), "mention 1 is a text; expected an object with id, "
                     "features, text"),
    "mention key": (mention(words=[]), "mention 1: 'words' is not known; expected id, features, "
                    "text"),
    "feature empty": (mention(features=[""]), "a name is empty; expected a text"),
    "feature with tab": (mention(features=["a\tb"]), "'a\\tb' has a control character; expected a "
                         "name on one line"),
    "half a surrogate": ('{"mentions": [{"features": ["\\ud800"]}]}', "'\\ud800' has a control "
                         "character; expected a name on one line"),
    "id list": (pair(id=[1]), "'id' is a list; expected a text or a whole number"),
    "mention id": (mention(id=1.5), "mention 1: 'id' is a number; expected a text or a whole "
                   "number"),
    "id with line break": (pair(id="a\nb"), "'a\\nb' has a control character; expected a name on "
                           "one line"),
    "one entity": (pair(entities=["a"]), "'entities' is a list of 1; expected the names of two "
                   "entities"),
    "entities text": (pair(entities="ab"), "'entities' is a text; expected the names of two "
                      "entities"),
    "relations text": (pair(relations="born"), "'relations' is a text; expected a list of names, "
                       "or null"),
    "relations numbers": (pair(relations=[1]), "'relations' is a list with other values; expected "
                          "a list of names, or null"),
    "relation twice": (pair(relations=["b", "b"]), "relation 'b' again; expected each relation "
                       "once"),
    "cost negative": (pair(cost=-1), "cost is -1; expected a finite number, at least 0"),
    "cost text": (pair(cost="1"), "cost is 1; expected a finite number, at least 0"),
    "deep": ('{"a": ' + "[" * 100_000, "brackets are nested too deeply; expected a pair"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED_JSON)
def test_a_malformed_json_line_is_refused_with_its_line(tmp_path, name):
    text, message = MALFORMED_JSON[name]
    path = written(tmp_path, pair() + "\n" + text + "\n")
    assert refusal(path) == f"{path}:2: {message}"


def test_a_line_of_text_in_json_lines_is_refused(tmp_path):
    path = written(tmp_path, pair() + "\n7\n")
    assert refusal(path) == f"{path}:2: the line is a number; expected an object with {PAIR_KEYS}"


# names of numbers


def test_names_are_the_rest_of_the_line(tmp_path):
    path = written(tmp_path, "# relations\n2\tlives in\n\n1 born\n")
    assert read_names(path, "relation") == {2: "lives in", 1: "born"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": no names; expected lines with the number of a relation, a name"),
        ("a born\n", ":1: relation 'a' is not a whole number; expected 0 to 2,147,483,647"),
        ("1\n", ":1: relation 1 has no name; expected 'number name'"),
        ("1 a\n1 b\n", ":2: relation 1 has a name already; expected one name each"),
        ("1 a\n2 a\n", ":2: the name 'a' is that of line 1; expected different names"),
        ("1 a\tb\n", ":1: the name of relation 1 has a tab; expected 'number name'"),
    ],
)
def test_malformed_names_are_refused_with_their_line(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(DataError) as caught:
        read_names(path, "relation")
    assert str(caught.value) == f"{path}{message}"
