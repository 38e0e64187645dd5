"""Predicting part after part writes and scores what predicting everything at once does."""

import bz2
import gzip
import json
import lzma
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from lssvm.applications.coreference import mention_clustering
from lssvm.cli import classify, learn
from lssvm.formats import (
    conll_columns,
    fasta,
    gapped_fasta,
    image_list,
    mrf_text,
    penn_trees,
    relation_bags,
    svm_hmm,
    svmlight,
    text,
)
from lssvm.model import Model

ROOT = Path(__file__).parent.parent
CONFIGS = {
    "multiclass": "{name: multiclass}",
    "taxonomy": "{name: taxonomy}",
    "precision_at_k": "{name: precision_at_k, k: 2}",
    "sequence": "{name: sequence, columns: [word, pos, label], templates: [word, 'word[1] & pos']}",
    "latent_sequence": "{name: latent_sequence, columns: [word, pos, label], templates: [word]}",
    "numeric_sequence": "{name: sequence, format: svm_hmm, scaling: max_abs}",
    "motif": "{name: motif, length: 5, background_order: 1, strands: both, trials: 20, "
    "skip_unusable: true}",
    "mrf": "{name: mrf}",
    "coreference": "{name: coreference}",
    "coreference_pairs": "{name: coreference, features: 3}",
    "alignment": "{name: alignment, alphabet: ABC}",
    "alignment_pairs": "{name: alignment, alphabet: ABC, task: pairs, neighbours: A, "
    "neighbourhood: 2}",
    "parsing": "{name: parsing, loss: zero_one}",
    "latent_parsing": "{name: latent_parsing, tags: predicted, span_features: [length]}",
    "relation": "{name: relation}",
    "relation_numbers": "{name: relation, none_weights: true}",
}
FORMATS = {
    "multiclass": ["labels", "scores", "confusion"],
    "taxonomy": ["labels", "scores", "confusion"],
    "precision_at_k": ["scores", "trec"],
    "sequence": ["conll", "tags"],
    "latent_sequence": ["conll", "tags"],
    "numeric_sequence": ["tags"],
    "motif": ["default"],
    "mrf": ["labels", "marginals"],
    "coreference": ["default"],
    "coreference_pairs": ["default"],
    "alignment": ["scores", "fasta", "text"],
    "alignment_pairs": ["scores", "fasta", "text", "svg"],
    "parsing": ["trees", "drawing", "svg"],
    "latent_parsing": ["trees"],
    "relation": ["facts", "candidates"],
    "relation_numbers": ["facts", "candidates"],
}
EXAMPLES = {
    "multiclass": 300,
    "taxonomy": 300,
    "sequence": 200,
    "latent_sequence": 200,
    "precision_at_k": 60,
    "numeric_sequence": 60,
    "motif": 150,
    "mrf": 70,
    "coreference": 50,
    "coreference_pairs": 50,
    "alignment": 50,
    "alignment_pairs": 60,
    "parsing": 60,
    "latent_parsing": 60,
    "relation": 60,
    "relation_numbers": 60,
}
SEVERAL = ("numeric_sequence", "motif", "sequence", "parsing")  # best outputs, with --top
LATENT = (
    *("latent_sequence", "precision_at_k", "motif", "mrf", "coreference", "coreference_pairs"),
    *("latent_parsing", "relation", "relation_numbers"),
)
WHOLE = {"confusion", "trec"}  # formats, and for ranking JSON too
TRAINED = """\
application: {application}
data: {{train: train.txt}}
objective: {{model: {model}, C: 1}}
solver: {{epsilon: 0.1}}
cccp: {{max_iterations: 2}}
"""


def rows(rng, count, labels, unseen=()):
    """Lines of an SVM-light file, sparse and noisy."""
    lines = []
    for number in range(count):
        label = rng.integers(len(labels))
        picked = np.flatnonzero(rng.random(30) < 0.2)
        values = rng.normal(size=len(picked)) + (picked % len(labels) == label)
        name = unseen[number % len(unseen)] if unseen and number % 7 == 0 else labels[label]
        features = " ".join(f"{i + 1}:{v:.3f}" for i, v in zip(picked, values, strict=True))
        lines.append(f"{name} {features} # {number}\n")
    return "".join(lines)


def queries(rng, count):
    """Documents of queries of five, one with a docid."""
    lines = rows(rng, count, ["0", "1", "2"]).splitlines(keepends=True)
    named = [line.replace(" ", f" qid:q{k // 5} ", 1) for k, line in enumerate(lines)]
    return "".join(named).replace("# 0", "# docid = D0")


def sentences(rng, count, labels=("O", "B-X", "I-X")):
    """Sentences of a CoNLL file with words that training does not have, and documents."""
    lines = []
    for number in range(count):
        for _ in range(rng.integers(1, 6)):
            word = rng.integers(40)
            label = labels[word % 3] if rng.random() < 0.9 else labels[rng.integers(len(labels))]
            lines.append(f"w{word} p{word % 5} {label}\n")
        lines.append("\n" if number % 5 else "-DOCSTART- -X- O\n\n")
    return "".join(lines)


def tagged(rng, count):
    """Tokens of svm_hmm in sequences of one to nine; the values of a part may be many or few."""
    lines = []
    for number in range(count):
        for _ in range(rng.integers(1, 10)):
            tag = rng.integers(3)
            share = 0.1 + 0.8 * (number % 20 < 10)
            picked = np.flatnonzero(rng.random(12) < share)
            values = rng.normal(size=len(picked)) + (picked % 3 == tag)
            features = " ".join(f"{i + 1}:{v:.3f}" for i, v in zip(picked, values, strict=True))
            lines.append(f"{'ABC'[tag]} qid:s{number} {features}\n")
        lines.append("# between sequences\n")
    return "".join(lines)


def records(rng, count):
    """FASTA records, those of one label with a motif; some have no letters, or no known ones."""
    lines = []
    for number in range(count):
        letters = "".join(rng.choice(list("ACGT"), size=rng.integers(6, 40)))
        if number % 2:
            place = rng.integers(len(letters) - 4)
            letters = f"{letters[:place]}TTGCA{letters[place + 5 :]}"
        letters = {11: "", 12: "NNNN", 13: f"N{letters[1:]}"}.get(number % 17, letters)
        lines.append(f">r{number} label={'+1' if number % 2 else '-1'} cost={1 + number % 3}\n")
        lines += [f"{letters[first : first + 15]}\n" for first in range(0, len(letters), 15)]
    return "".join(lines)


def chains(rng, count):
    """Graphs that are chains of two to five nodes; some labels are missing, the first is hidden."""
    lines = []
    for number in range(count):
        if number % 2:
            lines.append(f"graph g{number}{' cost=2' if number % 3 else ''}\n")
        size = int(rng.integers(2, 6))
        for place in range(size):
            state = rng.integers(3)
            label = "-" if place == 0 else "?" if rng.random() < 0.1 else state
            values = rng.normal(size=2) + np.array([state, -state])
            lines.append(f"node v{place} x 3 {label} 1:{values[0]:.3f} 2:{values[1]:.3f}\n")
        lines += [f"edge v{place - 1} v{place} next\n" for place in range(1, size)]
        lines.append("\n" if number % 4 else "# a comment\n\n")
    return "".join(lines)


def documents(rng, count):
    """Documents of words and mentions, with comments between them."""
    lines = []
    for number in range(count):
        lines.append(f"#begin document (d{number});\n")
        for place in range(int(rng.integers(3, 12))):
            cluster = rng.integers(3)
            mention = f"({cluster})" if rng.random() < 0.6 else "-"
            lines.append(f"{['Ann', 'he', 'Bob'][cluster]}\t{mention}\n")
            lines += ["\n"] if place % 5 == 4 else []
        lines.append(f"#end document\n\n# behind {number}\n")
    return "".join(lines)


def pairs(rng, count):
    """Documents given as features of pairs of mentions."""
    lines = []
    for number in range(count):
        clusters = rng.integers(3, size=rng.integers(1, 6))
        lines.append(f"document d{number}{' cost=2' if number % 3 else ''}\n")
        lines.append(f"clusters {' '.join(f'c{cluster}' for cluster in clusters)}\n")
        for i, j in zip(*np.triu_indices(len(clusters), 1), strict=True):
            value = rng.normal() + (clusters[i] == clusters[j])
            lines.append(f"pair {i + 1} {j + 1} 1:1 {i % 2 + 2}:{value:.3f}\n")
    return "".join(lines)


def aligned(rng, first="a", second="b", roles=("", "")):
    """Two records of a few letters in common, aligned without gaps."""
    row = rng.choice(list("ABC"), rng.integers(3, 9))
    other = np.where(rng.random(len(row)) < 0.4, rng.choice(list("ABC"), len(row)), row)
    rows = zip((first, second), roles, (row, other), strict=True)
    return "".join(f">{name}{role}\n{''.join(letters)}\n" for name, role, letters in rows)


def natives(rng, count):
    """Natives with homologs of the same length, and one to three decoys."""
    lines = []
    for number in range(count):
        roles = (f" role=native{' cost=2' if number % 3 else ''}", " role=homolog")
        lines.append(aligned(rng, f"n{number}", f"h{number}", roles))
        for decoy in range(rng.integers(1, 4)):
            letters = "".join(rng.choice(list("ABC"), rng.integers(1, 9)))
            lines.append(f">d{number}.{decoy} role=decoy\n{letters[:3]}\n{letters[3:]}\n")
    return "".join(lines)


def rows_of_pairs(rng, count):
    return "".join(aligned(rng, f"a{k}", f"b{k}") for k in range(count))


def bracketed(rng, count):
    """Trees of a random grammar on one or two lines, with words and tags of their own."""
    lines = []
    for number in range(count):
        inner = " ".join(
            f"(NP (D d{rng.integers(9)}) (N n{rng.integers(40)}))"
            for _ in range(rng.integers(1, 4))
        )
        verb = f"({'VX'[number % 11 == 5]} v{number})"
        lines.append(f"(ROOT (S (NP (N n{rng.integers(9)}))\n (VP {verb} {inner})))")
        lines.append(" " if number % 20 == 3 else "\n")
    return "".join(lines)


def pairs_of_entities(rng, count):
    """Relations of a pair, and the features of each of its mentions; the last relation is rare."""
    for number in range(count):
        own = np.flatnonzero(rng.random(4) < (0.3, 0.3, 0.3, 0.05)).tolist()
        mentions = [[*np.flatnonzero(rng.random(20) < 0.1) + 5] for _ in range(rng.integers(1, 4))]
        for relation, mention in zip(own, mentions, strict=False):
            mention.insert(0, relation + 1)
        yield number, own, mentions


def described_pairs(rng, count):
    """JSON lines with names of features and relations, some of pairs and mentions."""
    lines = []
    for number, own, mentions in pairs_of_entities(rng, count):
        pair = {"relations": [f"r{relation}" for relation in own]}
        if number % 3:
            pair["entities"] = [f"a{number}", f"b{number}"]
        told = [{"features": [f"f{feature}" for feature in mention]} for mention in mentions]
        if number % 2:
            told[0] |= {"id": f"s{number}", "text": "words"}
        lines.append(json.dumps({**pair, "mentions": told}) + "\n" * (1 + (number % 4 == 0)))
    return "".join(lines)


def numbered_pairs(rng, count):
    """The same numbers as text."""
    lines = [f"{count} # pairs\n4\n"]
    for _, own, mentions in pairs_of_entities(rng, count):
        lines.append(f"{len(own)} # relations\n")
        lines += [f"{relation + 1} # relation\n" for relation in own]
        lines.append(f"{len(mentions)}\n")
        for mention in mentions:
            values = " ".join(f"{feature}:1" for feature in mention)
            lines.append(f"{len(mention)} {values}\n")
    return "".join(lines)


DATA = {
    "relation": described_pairs,
    "relation_numbers": numbered_pairs,
    "alignment": natives,
    "alignment_pairs": rows_of_pairs,
    "parsing": bracketed,
    "latent_parsing": bracketed,
    "numeric_sequence": tagged,
    "motif": records,
    "mrf": chains,
    "coreference": documents,
    "coreference_pairs": pairs,
}
KNOWN = {  # what a label is in a line, and what stands for an unknown one
    "relation": (r'"relations": \[[^]]*\]', '"relations": null'),
    "relation_numbers": (r"\d+ # relations\n(\d+ # relation\n)*", "?\n"),
    "alignment": (r"role=(homolog|decoy)", "role=candidate"),
    "alignment_pairs": (r"(?m)(^>b.*\n[ABC]+)[ABC]$", r"\1"),
    "motif": (r"label=[+-]1", "label=?"),
    "parsing": (r"\(ROOT", "(?"),
    "latent_parsing": (r"\(ROOT", "(?"),
    "mrf": (r"(node \S+ \S+ 3) \d", r"\1 ?"),
    "coreference": (r"\(\d\)", "(?)"),
    "coreference_pairs": (r"\bc\d\b", "?"),
    "sequence": (r"(?m) [OBI]\S*$", " ?"),
    "latent_sequence": (r"(?m) [OBI]\S*$", " ?"),
}


def unlabelled(name, content):
    """The content of a file without its labels."""
    return re.sub(*KNOWN.get(name, (r"(?m)^\S+ (?=\d+:|#|qid:)", "? ")), content)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with model, files and configuration of an application, made when asked for."""
    made = {}

    def folder(name):
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name)
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(made[name])
                train(name)
        return made[name]

    return folder


def train(name):
    """Write model, files and configuration of an application to the folder at hand."""
    rng = np.random.default_rng(0)
    if name in DATA:
        make = DATA[name]
        train, test = make(rng, 40), make(rng, EXAMPLES[name])
    elif "sequence" in name:
        train, test = sentences(rng, 60), sentences(rng, 200, ("O", "B-X", "I-X", "B-Y"))
    elif name == "precision_at_k":
        train, test = queries(rng, 80), queries(rng, 300)
    else:
        labels = ["a/x", "a/y", "b"] if name == "taxonomy" else ["1", "-1", "dog"]
        unseen = ["a/z", "a/w"] if name == "taxonomy" else ["+3", "3", "cat"]
        train, test = rows(rng, 80, labels), rows(rng, 300, labels, unseen)
    Path("train.txt").write_text(train, encoding="utf-8")
    Path("test.txt").write_text(test, encoding="utf-8")
    model = "lssvm" if name in LATENT else "ssvm"
    config = TRAINED.format(application=CONFIGS[name], model=model)
    Path("c.yaml").write_text(config, encoding="utf-8")
    result = CliRunner().invoke(learn, ["c.yaml", "model", "-q"])
    assert result.exit_code in (0, 3), result.stderr


@pytest.fixture(params=CONFIGS)
def name(request, trained, tmp_path, monkeypatch):
    """An application whose model lies in the folder at hand, with a file of test examples."""
    shutil.copytree(trained(request.param), tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return request.param


def outcome(*options, path="test.txt"):
    """What the command wrote and said."""
    for left in ("out.txt", "m.json"):
        shutil.rmtree(left) if Path(left).is_dir() else Path(left).unlink(missing_ok=True)
    arguments = [path, "model", "out.txt", "--metrics", "m.json", *options]
    result = CliRunner().invoke(classify, arguments)
    written = [content(Path(p)) for p in ("out.txt", "m.json")]
    return result.exit_code, result.stdout, result.stderr, written


def content(path):
    """That of a file, or of all files of a folder by name; None for what is not there."""
    if path.is_dir():
        return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}
    return path.read_text("utf-8") if path.exists() else None


PARTS = {
    svmlight: 40,
    conll_columns: 30,
    svm_hmm: 40,
    fasta: 300,
    mrf_text: 40,
    image_list: 10,
    mention_clustering: 400,
    gapped_fasta: 300,
    penn_trees: 60,
    relation_bags: 40,
}


def in_small_parts(monkeypatch, size=500, least=False):
    """Read blocks of a few lines, and parts of a few blocks. Returns the sizes of parts.

    least : whether each part ends as soon as it can
    """
    application, sizes = type(Model.load("model").application), []
    read_parts = application.read_parts

    def counted(self, sources):
        for part in read_parts(self, sources):
            sizes.append(len(part))
            yield part

    monkeypatch.setattr(application, "read_parts", counted)
    monkeypatch.setattr(text, "_PIECE", size)
    for module, part in PARTS.items():
        monkeypatch.setattr(module, "_PART", 0 if least else part)
    return sizes


def test_predictions_and_scores_are_those_of_all_examples_at_once(name, monkeypatch):
    kinds = [["--format", kind] for kind in FORMATS[name]] + [["--json"], ["-q"]]
    if name in SEVERAL:
        kinds += [["--top", "3"], ["--top", "2", "--json"]]
    whole = [outcome(*kind) for kind in kinds]
    assert all(code == 0 and metrics for code, _, _, (_, metrics) in whole)
    sizes = in_small_parts(monkeypatch)
    for kind, expected in zip(kinds, whole, strict=True):
        sizes.clear()
        assert outcome(*kind) == expected, kind
        whole_only = kind[-1] in WHOLE or (name, kind) == ("precision_at_k", ["--json"])
        assert len(sizes) > 5 or whole_only
        assert sum(sizes) == (0 if whole_only else EXAMPLES[name])


def test_a_part_may_be_one_example(name, monkeypatch):
    expected = outcome()
    sizes = in_small_parts(monkeypatch, size=1, least=True)
    assert outcome() == expected
    share = 0.8 if name == "relation_numbers" else 0.9  # of pairs, where parts grow until one ends
    assert len(sizes) > share * EXAMPLES[name]  # the label of a query may begin a new one


@pytest.mark.parametrize("kernel", ["type: rbf, gamma: 0.1", "type: poly, degree: 2"])
def test_models_with_kernels_predict_in_parts(tmp_path, monkeypatch, kernel):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    Path("train.txt").write_text(rows(rng, 60, ["a", "b", "c"]), encoding="utf-8")
    Path("test.txt").write_text(rows(rng, 200, ["a", "b", "c"]), encoding="utf-8")
    config = TRAINED.format(application="{name: multiclass}", model="ssvm")
    config = config.replace("{epsilon: 0.1}", "{method: n-slack, epsilon: 0.1}")
    Path("c.yaml").write_text(f"{config}kernel: {{{kernel}}}\n", encoding="utf-8")
    result = CliRunner().invoke(learn, ["c.yaml", "model", "-q"])
    assert result.exit_code == 0, result.stderr
    expected = outcome("--format", "scores")
    assert expected[0] == 0
    sizes = in_small_parts(monkeypatch)
    assert outcome("--format", "scores") == expected
    assert len(sizes) > 5


def test_several_files_are_predicted_one_after_another(name, monkeypatch):
    text = Path("c.yaml").read_text(encoding="utf-8")
    Path("c.yaml").write_text(
        text.replace("train.txt}", "train.txt, test: [test.txt, train.txt]}"), encoding="utf-8"
    )
    expected = outcome("--json", path="c.yaml")
    assert expected[0] == 0
    in_small_parts(monkeypatch)
    assert outcome("--json", path="c.yaml") == expected


def test_queries_that_go_on_after_others_are_read_as_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = queries(np.random.default_rng(0), 300).splitlines(keepends=True)
    Path("train.txt").write_text("".join(lines[:80]), encoding="utf-8")
    Path("test.txt").write_text("".join(lines[::2] + lines[1::2]), encoding="utf-8")
    config = TRAINED.format(application=CONFIGS["precision_at_k"], model="lssvm")
    Path("c.yaml").write_text(config, encoding="utf-8")
    assert CliRunner().invoke(learn, ["c.yaml", "model", "-q"]).exit_code in (0, 3)
    expected = outcome()
    sizes = in_small_parts(monkeypatch)
    assert outcome() == expected
    assert sizes == [60]


def test_a_query_may_be_longer_than_many_parts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = queries(np.random.default_rng(0), 300).splitlines(keepends=True)
    Path("train.txt").write_text("".join(lines[:80]), encoding="utf-8")
    long = [re.sub(r"qid:\S+", "qid:long", line) for line in lines]
    Path("test.txt").write_text("".join(lines[:70] + long + lines[70:]), encoding="utf-8")
    config = TRAINED.format(application=CONFIGS["precision_at_k"], model="lssvm")
    Path("c.yaml").write_text(config, encoding="utf-8")
    assert CliRunner().invoke(learn, ["c.yaml", "model", "-q"]).exit_code in (0, 3)
    expected = outcome()
    sizes = in_small_parts(monkeypatch)
    assert outcome() == expected
    assert len(sizes) > 2


def test_a_broken_line_far_down_leaves_what_was_there(name, monkeypatch):
    content = Path("test.txt").read_text(encoding="utf-8")
    Path("test.txt").write_text(content + "a 1:x y z\n", encoding="utf-8")
    expected = outcome()
    assert (expected[0], expected[3]) == (2, [None, None])
    in_small_parts(monkeypatch)
    assert outcome() == expected


@pytest.mark.parametrize(
    ("name", "pattern", "text", "place"),
    [
        ("motif", r"(?m)^>r100 ", ">r3 ", 0.4),
        ("motif", r"(?m)^>r70 .*", ">", 0.4),
        ("motif", r"(?m)^>r100 ", ">r100 label=-1 ", 0.5),
        ("motif", r"(?m)^[ACGT]+$", "AC-GT", 0.3),
        ("mrf", r"graph g61", "graph g1", 0.5),
        ("mrf", r"node v0 x", "node v0 y", 0.5),
        ("mrf", r"(?m)^edge v0 v1", "edge v0 v9", 0.5),
        ("numeric_sequence", r"qid:s50 ", "qid:s1 ", 0.5),
        ("numeric_sequence", r" 2:\S+", " 2:x", 0.5),
        ("parsing", r"\(N n", "(N", 0.5),
        ("parsing", r"\(ROOT", "", 0.5),
        ("coreference", r"#end document", "", 0.5),
        ("coreference", r"\(1\)", "(1", 0.5),
        ("coreference", r"#begin document", "", 0.5),
        ("coreference_pairs", r"document d40", "document d2", 0.5),
        ("coreference_pairs", r"(?m)^pair 1 2", "pair 1 3", 0.5),
        ("alignment", r"role=native", "role=friend", 0.5),
        ("alignment", r"role=decoy", "role=homolog", 0.5),
        ("alignment", r"(?m)^[ABC]+$", "A1", 0.5),
        ("alignment", r"(?m)^[ABC]+$", "", 0.9),
        ("alignment_pairs", r">a40\n", ">", 0.4),
        ("alignment_pairs", r"(?m)^[ABC]+$", "A-A-A-A-A-A", 0.5),
        ("alignment_pairs", r">b40\n[ABC]+\n", "", 0.4),
        ("relation", r'"mentions"', '"sentences"', 0.5),
        ("relation", r'"f\d+"', "1", 0.5),
        ("relation_numbers", r":1\n", ":x\n", 0.5),
        ("relation_numbers", r"(?m)^\d+ # relation$", "9", 0.5),
    ],
    indirect=["name"],
)
def test_errors_far_down_name_their_lines(name, pattern, text, place, monkeypatch):
    content = Path("test.txt").read_text(encoding="utf-8")
    half = int(place * len(content))
    broken, count = re.subn(pattern, text, content[half:], count=1)
    assert count
    Path("test.txt").write_text(content[:half] + broken, encoding="utf-8")
    expected = outcome()
    assert expected[0] == 2
    assert re.search(r"test\.txt:\d\d+: ", expected[2])
    assert expected[3] == [None, None]
    in_small_parts(monkeypatch)
    assert outcome() == expected


def test_records_without_letters_are_found_in_any_part(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    train = records(rng, 10)
    Path("train.txt").write_text(train, encoding="utf-8")
    Path("test.txt").write_text(records(rng, 150) + ">last\nAC\n", encoding="utf-8")
    config = TRAINED.format(application="{name: motif, length: 5, trials: 9}", model="lssvm")
    Path("c.yaml").write_text(config, encoding="utf-8")
    result = CliRunner().invoke(learn, ["c.yaml", "model", "-q"])
    assert result.exit_code in (0, 3), result.stderr
    expected = outcome()
    assert "record 'r11' has no letters" in expected[2]
    assert expected[3] == [None, None]
    in_small_parts(monkeypatch)
    assert outcome() == expected


def test_lists_of_images_are_predicted_in_parts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["label dark 0 0 0\n", "label light 255 255 255\n"]
    for number in range(8):
        truth = (rng.random((3, 4)) < 0.5).astype(np.uint8)
        np.save(f"{number}.npy", truth[:, :, None] + 0.3 * rng.normal(size=(3, 4, 2)))
        Image.fromarray(255 * truth).save(f"{number}.png")
        lines.append(f"image {number}.npy {f'{number}.png' if number != 3 else '-'}\n")
    Path("train.images").write_text("".join(lines), encoding="utf-8")
    config = TRAINED.format(application=CONFIGS["mrf"], model="lssvm")
    Path("c.yaml").write_text(config.replace("train.txt", "train.images"), encoding="utf-8")
    result = CliRunner().invoke(learn, ["c.yaml", "model", "-q"])
    assert result.exit_code in (0, 3), result.stderr
    kinds = (["--json"], ["--format", "images"])
    expected = [outcome(*kind, path="train.images") for kind in kinds]
    assert all(code == 0 for code, *_ in expected)
    assert len(expected[1][3][0]) == 8
    sizes = in_small_parts(monkeypatch)
    assert [outcome(*kind, path="train.images") for kind in kinds] == expected
    assert sizes == [1] * 16
    Path("train.images").write_text("".join([*lines, "image 3.npy -\n"]), encoding="utf-8")
    code, _, message, written = outcome(path="train.images")
    assert (code, written) == (2, [None, None])
    assert "train.images:11: the image 3.npy is given twice" in message


def test_files_without_labels_are_predicted_and_not_scored(name, monkeypatch):
    bare = unlabelled(name, Path("test.txt").read_text(encoding="utf-8"))
    Path("test.txt").write_text(bare, encoding="utf-8")
    refused = outcome()
    assert refused[0] == 2
    assert "no labels" in refused[2]
    arguments = ["test.txt", "model", "out.txt"]
    expected = CliRunner().invoke(classify, arguments), Path("out.txt").read_text("utf-8")
    in_small_parts(monkeypatch)
    assert outcome() == refused
    again = CliRunner().invoke(classify, arguments), Path("out.txt").read_text("utf-8")
    assert again[1] == expected[1]
    assert (again[0].stdout, again[0].stderr) == (expected[0].stdout, expected[0].stderr)


def test_examples_of_a_file_whose_labels_are_not_known_are_counted(name, monkeypatch):
    content = Path("test.txt").read_text(encoding="utf-8")
    ends = r"(?m)(?<=^#end document\n)" if name == "coreference" else r"(?m)^"
    ends = r"(?m)^(?=document)" if name == "coreference_pairs" else ends
    ends = r"(?m)^(?=\d+ # relations)" if name == "relation_numbers" else ends
    ends = r"(?m)^(?=>[na]\d)" if name.startswith("alignment") else ends
    pieces = re.split(ends, content)
    for place in range(0, len(pieces), 9):
        pieces[place] = unlabelled(name, pieces[place])
    Path("test.txt").write_text("".join(pieces), encoding="utf-8")
    expected = outcome()
    refused = name == "precision_at_k"  # which wants all labels or none
    assert expected[0] == (2 if refused else 0)
    if name != "mrf":  # which scores labels, not graphs
        assert ("no label" if refused else "without labels: they are not scored") in expected[2]
    records = outcome("--json")
    in_small_parts(monkeypatch)
    assert outcome() == expected
    assert outcome("--json") == records


def test_graphs_without_labels_count_if_others_have_some(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = chains(np.random.default_rng(0), 60)
    Path("train.txt").write_text(content, encoding="utf-8")
    half = content.index("\n\n", len(content) // 2)
    Path("test.txt").write_text(unlabelled("mrf", content[:half]) + content[half:], "utf-8")
    config = TRAINED.format(application=CONFIGS["mrf"], model="lssvm")
    Path("c.yaml").write_text(config, encoding="utf-8")
    assert CliRunner().invoke(learn, ["c.yaml", "model", "-q"]).exit_code in (0, 3)
    expected = outcome()
    assert json.loads(expected[3][1])["graphs"] == 60
    in_small_parts(monkeypatch)
    assert outcome() == expected


@pytest.mark.parametrize("packed", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_compressed_files_and_standard_input_are_read_in_parts(name, packed, monkeypatch):
    expected = outcome("--json")
    assert expected[0] == 0
    sizes = in_small_parts(monkeypatch)
    content = packed(Path("test.txt").read_bytes())
    Path("test.bin").write_bytes(content)
    assert outcome("--json", path="test.bin") == expected
    result = CliRunner().invoke(classify, ["-", "model", "again.txt", "--json"], input=content)
    assert result.stdout == expected[1]
    assert Path("again.txt").read_text("utf-8") == expected[3][0]
    assert len(sizes) > 5 or name == "precision_at_k"


def test_predictions_go_to_standard_output_as_they_come(name, monkeypatch):
    expected = CliRunner().invoke(classify, ["test.txt", "model", "-", "--json"])
    assert expected.exit_code == 0
    in_small_parts(monkeypatch)
    found = CliRunner().invoke(classify, ["test.txt", "model", "-", "--json"])
    assert (found.stdout, found.stderr) == (expected.stdout, expected.stderr)
    lines = [line for line in found.stdout.splitlines() if line.startswith("{")]
    assert len([json.loads(line)["id"] for line in lines]) == EXAMPLES[name]
