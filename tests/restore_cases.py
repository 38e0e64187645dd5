"""Small models and checkpoints of every kind, and ways to damage what they hold."""

import copy
import io
import json
from contextlib import suppress

import numpy as np
import relation_files

from lssvm.applications.base import Source
from lssvm.cli.info import model_facts, model_lines
from lssvm.config import Config
from lssvm.config.yaml12 import dump
from lssvm.errors import LssvmError
from lssvm.model import Model
from lssvm.model.container import read_container
from lssvm.training import session as train
from lssvm.training.cccp import Observer

RNG = np.random.default_rng(0)


def numeric_rows(count, features, labels, some=1.0):
    lines = []
    for row in range(count):
        x = RNG.integers(-4, 5, features) / 4
        chosen = np.flatnonzero(RNG.random(features) < some)
        values = " ".join(f"{j + 1}:{x[j] + (j == row % len(labels))}" for j in chosen)
        lines.append(f"{labels[row % len(labels)]} {values}")
    return "\n".join(lines) + "\n"


def queries():
    lines = []
    for query in range(4):
        for document in range(5):
            x = RNG.integers(-4, 5, 3) / 4
            values = " ".join(f"{j + 1}:{value}" for j, value in enumerate(x))
            lines.append(f"{int(document < 2)} qid:{query} {values}")
    return "\n".join(lines) + "\n"


def letters(count):
    lines = []
    for row in range(count):
        text = "".join(RNG.choice(list("ACGT"), 24))
        if row % 2:
            text = f"{text[:8]}TATAAT{text[14:]}"
        lines.append(f">s{row} label={'+1' if row % 2 else '-1'}\n{text}")
    return "\n".join(lines) + "\n"


def tagged():
    lines = []
    for _ in range(5):
        for _ in range(4):
            word = str(RNG.choice(["Ann", "went", "to", "Rome", "42"]))
            lines.append(f"{word} {'N' if word[0].isupper() else 'O'}")
        lines.append("")
    return "\n".join(lines) + "\n"


def hmm():
    lines = []
    for query in range(1, 5):
        for _ in range(4):
            label = int(RNG.integers(1, 4))
            lines.append(f"{label} qid:{query} {label}:1 4:{RNG.integers(-4, 5) / 4}")
    return "\n".join(lines) + "\n"


def pairs():
    lines = []
    for number in range(4):
        clusters = RNG.integers(0, 2, 4)
        lines += [f"document d{number}", "clusters " + " ".join(map(str, clusters))]
        for i in range(4):
            for j in range(i + 1, 4):
                lines.append(f"pair {i + 1} {j + 1} 1:1 2:{int(clusters[i] == clusters[j])} 3:0.5")
    return "\n".join(lines) + "\n"


def graphs():
    blocks = []
    for number in range(4):
        first, second = RNG.integers(0, 2, 2)
        blocks.append(
            f"graph g{number}\nnode x y 2 {first} 1:{first + 0.5} 2:0.5\n"
            f"node z y 2 {second} 1:{second - 0.5}\nnode u h 3 - 2:1\n"
            "edge x z near\nedge x u far\n"
        )
    return "\n".join(blocks)


TREES = """(S (NP (DT a) (NN b)) (VP (VB c) (NP (NN d))))
(S (NP (NN b)) (VP (VB c) (NP (DT a) (NN d)) (PP (IN b) (NP (NN c)))))
(NP (NN c)) (S (S (NP (NN b)) (VP (VB b))))
"""


def homologs():
    lines = []
    for number in range(5):
        words = ["".join(RNG.choice(list("ABC"), 6)) for _ in range(4)]
        roles = ("native", "homolog", "decoy", "decoy")
        for k, (role, word) in enumerate(zip(roles, words, strict=True)):
            lines.append(f">s{number}.{k} role={role}\n{words[0][:5] if k == 1 else word}")
    return "\n".join(lines) + "\n"


SCORES = {a: {b: 1.0 if a == b else -0.5 for b in "ABC"} for a in "ABC"}
LOSSES = "a b c\na 0 1 2\nb 1 0 3\nc 2 2 0\n"
TREE = "a top\nb top\nc b\n"
BACKGROUND = "A 0.3\nC 0.2\nG 0.2\nT 0.3\n"
ROWS = numeric_rows(12, 4, "abc")
THIN = numeric_rows(12, 40, "abc", some=0.1)
PATHS = numeric_rows(12, 4, ["x/a", "x/b", "y"])


KERNEL = {"solver": {"method": "n-slack"}}
POLY = {"type": "poly", "degree": 2, "coef0": 1.0}
# Name: text of the training file, its name, application, other sections.
MODELS = {
    "multiclass": (ROWS, "multiclass", {}, {}),
    "multiclass with losses": (ROWS, "multiclass", {"loss": "losses.txt"}, {}),
    "multiclass, rbf": (ROWS, "multiclass", {}, {"kernel": {"type": "rbf"}, **KERNEL}),
    "multiclass, sparse poly": (THIN, "multiclass", {"bias": 0.0}, {"kernel": POLY, **KERNEL}),
    "multiclass, products": (ROWS, "multiclass", {}, {"kernel": {**POLY, "explicit": True}}),
    "taxonomy of a file": (ROWS, "taxonomy", {"taxonomy": "tree.txt"}, {}),
    "taxonomy of paths": (PATHS, "taxonomy", {}, {}),
    "sequence": (tagged(), "sequence", {}, {}),
    "sequence of numbers": (
        hmm(),
        "sequence",
        {"format": "svm_hmm", "bias": 1.0, "order": 2, "ends": True},
        {},
    ),
    "sequence, poly": (hmm(), "sequence", {"format": "svm_hmm"}, {"kernel": POLY, **KERNEL}),
    "latent_sequence": (tagged(), "latent_sequence", {}, {}),
    "mrf": (graphs(), "mrf", {}, {"objective": {"model": "mssvm"}}),
    "motif": (letters(16), "motif", {"length": 4, "background_order": 1}, {}),
    "motif, background given": (
        letters(16),
        "motif",
        {"length": 4, "background_order": 1, "background": "background.txt"},
        {},
    ),
    "coreference": (pairs(), "coreference", {"features": "names.txt"}, {}),
    "correlation_clustering": (pairs(), "correlation_clustering", {"features": 3}, {}),
    "parsing": (TREES, "parsing", {"span_features": ["length", "first_tag"]}, {}),
    "parsing, tags predicted": (TREES, "parsing", {"tags": "predicted", "min_count": 1}, {}),
    "latent_parsing": (TREES, "latent_parsing", {}, {}),
    "alignment": (homologs(), "alignment", {"alphabet": "ABC", "neighbourhood": 1}, {}),
    "alignment with a prior": (
        homologs(),
        "alignment",
        {"alphabet": "ABC", "prior": SCORES, "gaps": "linear"},
        {},
    ),
    "precision_at_k": (queries(), "precision_at_k", {"k": 2}, {}),
    "relation": (relation_files.KNOWN, "relation", {"none_weights": True}, {}),
    "relation with names": (relation_files.KNOWN_JSON, "relation", {"loss": "f_beta"}, {}),
}
LIMITS = {"solver": {"max_passes": 20, "epsilon": 1e-2}, "cccp": {"max_iterations": 3}}


def configuration(folder, name, text, application, options, sections):
    """The configuration of a case, its files being written to the folder."""
    contents = {
        "losses.txt": LOSSES,
        "tree.txt": TREE,
        "background.txt": BACKGROUND,
        "names.txt": "one\ntwo\nthree\n",
    }
    for file, content in contents.items():
        (folder / file).write_text(content)
    suffix = ".pairs" if "c" in application and text and text.startswith("document") else ".txt"
    path = folder / f"{name.replace(' ', '-').replace(',', '')}{suffix}"
    path.write_text(text)
    whole = copy.deepcopy(LIMITS)
    for section, values in sections.items():
        whole[section] = {**whole.get(section, {}), **values}
    whole["application"] = {"name": application, **options}
    whole["data"] = {"train": path.name, **whole.get("data", {})}
    return Config.from_dict(whole, base=folder), path


def saved_model(folder, name):
    """A trained model of a kind; its file, and the data that it was trained on."""
    config, data = configuration(folder, name, *MODELS[name])
    path = folder / f"{data.stem}.model"
    train.learn(config).save(path)
    return path, data


def used(path, data):
    """Load a model and do with it all that commands do. Raises LssvmError."""
    model = Model.load(path)
    examples = model.application.read([Source(str(data))])
    ready, packed = train.prepared(model, examples)
    application = ready.application
    found = application.predict(ready.w, packed)
    for write in application.formats.values():
        with suppress(LssvmError):  # marginals, where there are none
            write(packed, found, io.StringIO())
    for record in application.records(packed, found):
        json.dumps(record, allow_nan=False)
    application.score(packed, found)
    facts = model_facts(model, 10)
    "\n".join(model_lines(facts, path)).encode()
    json.dumps(facts, allow_nan=False)
    dump(model.config)


def refusal(function, *arguments):
    """What a call is refused with; nothing if it is not."""
    try:
        function(*arguments)
    except LssvmError as error:
        return str(error)
    return ""


class StopError(Exception):
    """Ends a run in the middle."""


class Stopper(Observer):
    """Ends a run after so many passes."""

    def __init__(self, after):
        self.left = after

    def passed(self, passes, gap, goal, not_converged, objective):
        self.left -= 1
        if self.left == 0:
            raise StopError


def solver(method, **options):
    return {"solver": {"method": method, **options}}


# Name: training file, application, options, other sections, passes before the end.
CHECKPOINTS = {
    "bundle": (ROWS, "multiclass", {}, solver("bundle", epsilon=1e-5), 3),
    "bundle with a cache": (ROWS, "multiclass", {}, solver("bundle", epsilon=1e-5, cache=3), 3),
    "what is carried": (
        relation_files.NUMBERED.replace("?", "0"),
        "relation",
        {"loss": "f_beta", "decomposition": "pairs"},
        solver("bundle", epsilon=1e-8),
        3,
    ),
    "bundle-newton": (queries(), "precision_at_k", {"k": 2}, solver("bundle-newton"), 3),
    "proximal": (ROWS, "multiclass", {}, solver("proximal", epsilon=1e-5), 3),
    "n-slack": (ROWS, "multiclass", {}, solver("n-slack", epsilon=1e-6), 2),
    "n-slack, kernel": (
        ROWS,
        "multiclass",
        {},
        {"kernel": {"type": "rbf"}, **solver("n-slack", epsilon=1e-6)},
        2,
    ),
    "dual-coordinate, rows": (
        graphs(),
        "mrf",
        {},
        {"objective": {"model": "mssvm"}, **solver("dual-coordinate", epsilon=1e-6)},
        9,
    ),
    "gradient": (ROWS, "multiclass", {}, solver("gradient", epsilon=1e-6), 3),
    "sgd": (ROWS, "multiclass", {}, solver("sgd", epochs=5), 3),
    "lbfgs": (
        tagged(),
        "sequence",
        {},
        {"objective": {"model": "crf"}, **solver("lbfgs", epsilon=1e-8)},
        4,
    ),
    "restarts": (
        letters(16),
        "motif",
        {"length": 4, "background_order": 1, "trials": 10},
        {"cccp": {"restarts": 2, "max_iterations": 2}, **solver("bundle", max_passes=6)},
        14,
    ),
    "held out": (
        ROWS,
        "multiclass",
        {},
        {"held_out": {"every": 1}, "data": {"validate": "held-out.txt"}},
        4,
    ),
}


class Interrupted:
    """A run that was ended in the middle, and its checkpoint."""

    def __init__(self, folder, name):
        *case, passes = CHECKPOINTS[name]
        config, data = configuration(folder, f"{name} checkpoint", *case)
        (folder / "held-out.txt").write_text(case[0])
        self.config, self.path = config, folder / f"{data.stem}.checkpoint"
        self.application = config.create_application()
        self.examples = self.application.read(config.sources("train"))
        self.held = None
        if config.data.validate_:
            self.held = self.application.read(config.sources("validate"))
        self.whole = self.run()
        try:
            self.run(observer=Stopper(passes), saving=train.Saving(self.path, 1))
        except StopError:
            return
        raise AssertionError(f"{name}: the run ended before it was stopped")

    def run(self, **options):
        return train.learn_on(
            self.application, self.examples, self.config, held=self.held, **options
        )

    def resumed(self, path, passes=None):
        """The model of a run that goes on from another checkpoint. Raises LssvmError.

        passes : None is returned after so many more
        """
        options = {} if passes is None else {"observer": Stopper(passes)}
        with suppress(StopError):
            return self.run(saving=train.Saving(path, 1000, resume=True), **options)
        return None


def array_damages(name, array):
    """Arrays in the place of one, each with a word for what was done to it."""
    yield "0-d", np.zeros((), dtype=array.dtype)
    yield "empty", np.zeros(0, dtype=array.dtype)
    if array.ndim == 0:
        yield "1-d", array.reshape(1)
        yield "negative", array - array - 1
        yield "float", array.astype(np.float64)
        return
    yield "one less", array[:-1]
    yield "one more", np.concatenate([array, array[-1:]])
    yield "twice", np.concatenate([array, array])
    yield "column", array.reshape(*array.shape, 1)
    yield "row", array.reshape(1, *array.shape)
    yield "reversed", array[::-1]
    if array.ndim == 2:
        yield "transposed", array.T
        yield "one column less", array[:, :-1]
    if array.dtype.kind == "U":
        for text in ("", "a\nb", "\ud800", "a" * 5000, "a/" * 3000):
            yield f"text {text[:5]!a}", np.array([text, *array[1:]])
        yield "number", np.zeros(len(array))
        return
    others = (np.float64, np.float32, np.int64, np.int32, np.uint8, bool)
    for other in others:
        if array.dtype != other:
            with np.errstate(all="ignore"):
                changed = array.astype(other)
            yield f"as {np.dtype(other)}", changed
    yield "text", array.astype(str)
    if not array.size:
        return
    values = [0, 1, -1, 2**31 - 1, 2**62, -(2**63), np.nan, np.inf, -np.inf, 1e200, -1e200, 255, 10]
    for place in sorted({0, array.size // 2, array.size - 1}):
        for value in values:
            changed = array.copy()
            try:
                with np.errstate(over="ignore"):  # infinite in single precision
                    changed.ravel()[place] = value
            except (OverflowError, ValueError):
                continue
            yield f"{value} at {place}", changed
        changed = array.copy()
        changed.ravel()[place] = changed.ravel()[place - 1]
        yield f"repeated at {place}", changed


REPLACEMENTS = (
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**400,
    1.5,
    1e308,
    "",
    "x",
    "/etc/hostname",
    [],
    [None],
    {},
    {"x": None},
)


def paths_of(value, path=()):
    """Where something stands in a header: all keys, and the first two places of lists."""
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value[:2]))
    else:
        children = []
    for key, child in children:
        yield (*path, key)
        yield from paths_of(child, (*path, key))


def replaced(value, path, new):
    """A dictionary or list with something else in one place; what is beside it is shared."""
    changed, key = copy.copy(value), path[0]
    if len(path) > 1:
        changed[key] = replaced(value[key], path[1:], new)
    elif new == "gone":
        del changed[key]
    else:
        changed[key] = new
    return changed


def header_damages(header):
    """Headers in the place of one, each with where it differs and what stands there."""
    kept = {key: value for key, value in header.items() if key != "arrays"}
    for path in paths_of(kept):
        for new in (*REPLACEMENTS, "gone"):
            yield f"{path} {str(new)[:20]}", replaced(header, path, new)


def damages(path, format):
    """Damaged copies of a container: what was done, its header and its arrays."""
    header, arrays = read_container(path, format)
    for name, array in arrays.items():
        yield f"{name} gone", header, {key: a for key, a in arrays.items() if key != name}
        yield f"{name} and another", header, {**arrays, f"{name}.x": array}
        for what, changed in array_damages(name, array):
            yield f"{name} {what}", header, {**arrays, name: changed}
    for name in arrays:
        for other in arrays:
            if name != other:
                yield f"{name} is {other}", header, {**arrays, name: arrays[other]}
    for what, changed in header_damages(header):
        yield what, changed, arrays
