"""Small samples of every kind of file that the commands read, and the commands that read them."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import relation_files
from fuzz_mutators import words
from PIL import Image

from lssvm.config import Data, load_config
from lssvm.config.template import starter
from lssvm.config.yaml12 import dump
from lssvm.training.cccp import Observer
from lssvm.training.session import learn

ROOT = Path(__file__).parent.parent
LIMIT_MB = 5  # of data, where the schema has such a limit
LIMITS = {
    "solver.max_passes": 4,
    "cccp.max_iterations": 2,
    "cccp.restarts": 1,
    "search.folds": 3,
    "search.seeds": 1,
}
OPTIONS = {  # what decides how long a run of an application is
    "motif": {"trials": 3, "length": 4},
    "mrf": {"sweeps": 5, "max_table": 1000},
    "correlation_clustering": {"sweeps": 2},
}
SEVERAL = {
    "motif",
    "sequence",
    "coreference",
    "correlation_clustering",
    "parsing",
}  # those with --top
RUN = ("-q", "--threads", "1")
FASTA = """>p1 label=+1 cost=0.5
ACGTTGCATGACGTCAATGCACGT
>n1 label=-1
TTTTGGCCAAGGTTNNACGTAC
ggttaaccaa
>p2 label=+1
CATGACGTCAGGGTTTACACAC
>n2 label=-1
GGGGTTTTCCCCAAAAGGTTAC
"""
BACKGROUND = "# order 0\nA 0.3\nC 0.2\nG 0.2\nT 0.3\n"
ROWS = "".join(
    f"{'abc'[i % 3]} 1:{i % 5 - 2}.5 2:{i % 3} {4 + i % 2}:{i * 0.25} # row {i}\n"
    for i in range(12)
)
LOSSES = "a b c\na 0 1 2\nb 1 0 1.5\nc 2 1 0\n"
TAXONOMY = "# child parent\nx top\ny top\na x\nb x\nc y\n"
PATHS = "".join(f"1/{i % 2 + 1}/{i % 3 + 1} 1:{i * 0.5} 3:{i % 4}\n" for i in range(10))
QUERIES = "".join(
    f"{(i * 7) % 3} qid:{i // 5} 1:{i * 0.1:.1f} 2:{i % 4} 4:{(i * i) % 5} # docid = d{i}\n"
    for i in range(15)
)
TAGS = "".join(
    f"{'NV?'[i % 5 % 2]} qid:{i // 4} {1 + i % 3}:1 {4 + i % 2}:0.5 # w{i}\n" for i in range(12)
)
GRAPHS = """graph g1 cost=0.5
node y1 y 2 1 1:1 2:0.5
node h1 h 3 - 1:1
node y2 y 2 0 1:1 2:-1
edge y1 h1 yh
edge h1 y2 hy 1:1

graph g2
node y1 y 2 0 1:1
node h1 h 3 - 1:1
node y2 y 2 ? 1:1 2:2
edge y1 h1 yh
edge h1 y2 hy 1:0.5
"""
IMAGES = """# a list
label sky 0 0 255
label grass 0 255 0
missing 0 0 0
image one.png one-labels.png
image two.npy two-labels.bmp cost=0.5
"""
ANNOTATIONS = """T1\tPROP_PER 0 4\tAnna
T2\tanna 0 4\tAnna
T3\tNOM_FAC 10 17\tthe key
T4\tkey 10 17\tthe key
T5\tPRON_PER 19 22\tShe
T6\tanna 19 22\tShe
T7\tPRON_FAC 34 36\tit
T8\tkey 34 36\tit
R1\tREL Arg1:T1 Arg2:T2
"""
HOMOLOGS = """; natives
>n1 role=native cost=0.5
ACC-BA
>h1 role=homolog
A-CABA
>d1 role=decoy
BBC
>d2 role=decoy
CAB
>n2 role=native
BBA
>h2 role=homolog
BCA
>d3 role=decoy
CCXB
"""
ALIGNED_PAIRS = """>x1 cost=2
ACCA-B
>z1
A-CABB
>x2
bb.a
>z2
bcaa
"""
SCORES = "# letters\n   A  B  C\nA  2 -1 -1\nB -1  3 -2\nC -1 -2  2\n"
CLUSTAL = """CLUSTAL W (1.82) multiple sequence alignment

one        ACC-BA
two        A-CABA
three      ACCAB-
           *
"""
STORY = "Anna lost the key. She looked for it\n"


class Target(NamedTuple):
    """Files, which of them a mutator may change, and the commands that then read them."""

    name: str
    files: dict[str, bytes]
    changed: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]


def shipped(name: str, lines: int) -> str:
    """The beginning of a file of the folder ``data``."""
    text = (ROOT / "data" / name).read_text(encoding="utf-8")
    return "\n".join(text.split("\n")[:lines]) + "\n"


def image(size: tuple[int, int], form: str, colours: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.resize(colours, (*size, 3)).astype(np.uint8)).save(stream, form)
    return stream.getvalue()


def saved(write, *arguments, **arrays) -> bytes:
    stream = io.BytesIO()
    write(stream, *arguments, **arrays)
    return stream.getvalue()


def pictures() -> dict[str, bytes]:
    palette = np.array([[0, 0, 255], [0, 255, 0], [0, 0, 0], [0, 255, 0], [0, 0, 255]])
    return {
        "one.png": image((3, 4), "PNG", np.arange(36).reshape(12, 3) * 7),
        "one-labels.png": image((3, 4), "PNG", palette),
        "two.npy": saved(np.save, np.linspace(0, 1, 18).reshape(2, 3, 3)),
        "two-labels.bmp": image((2, 3), "BMP", palette),
    }


def graph_arrays() -> bytes:
    """The graphs of GRAPHS' first example as an archive."""
    return saved(
        np.savez_compressed,
        names=np.array(["g1"]),
        costs=np.array([0.5]),
        node_offsets=np.array([0, 3]),
        edge_offsets=np.array([0, 2]),
        node_names=np.array(["y1", "h1", "y2"]),
        node_classes=np.array(["y", "h", "y"]),
        states=np.array([2, 3, 2]),
        labels=np.array([1, -2, 0]),
        node_starts=np.array([0, 2, 3, 5]),
        node_indices=np.array([0, 1, 0, 0, 1]),
        node_values=np.array([1.0, 0.5, 1.0, 1.0, -1.0]),
        edge_classes=np.array(["yh", "hy"]),
        ends=np.array([[0, 1], [1, 2]]),
        edge_starts=np.array([0, 0, 1]),
        edge_indices=np.array([0]),
        edge_values=np.array([1.0]),
    )


def pair_arrays() -> bytes:
    return saved(
        np.savez,
        mentions=np.array([3, 2]),
        clusters=np.array([1, 2, 1, 4, 4]),
        features=np.linspace(-1, 1, 12).reshape(4, 3),
        costs=np.array([1.0, 0.5]),
        names=np.array(["d1", "d2"]),
    )


CLASSES, LABELLER = {"name": "multiclass", "bias": 1.0}, {"name": "sequence", "bias": 1.0}
COLUMNS = {"columns": ["word", "pos", "label"], "templates": ["word", "pos[-1]", "suffix(word, 2)"]}
HIDDEN = {"name": "latent_sequence", "substates": 2, **COLUMNS}
# name: options, files (the first of them to train on), other sections
PROBLEMS: dict[str, tuple[dict, dict[str, bytes | str], dict]] = {
    "fasta": ({"name": "motif", "background_order": 1}, {"t.fa": FASTA}, {}),
    "background": (
        {"name": "motif", "background": "bg.txt", "strands": "both"},
        {"t.fa": FASTA, "bg.txt": BACKGROUND},
        {},
    ),
    "svmlight": (CLASSES, {"t.txt": ROWS}, {}),
    "losses": ({**CLASSES, "loss": "losses.txt"}, {"t.txt": ROWS, "losses.txt": LOSSES}, {}),
    "taxonomy": (
        {"name": "taxonomy", "taxonomy": "tree.txt"},
        {"t.txt": ROWS, "tree.txt": TAXONOMY},
        {},
    ),
    "paths": ({"name": "taxonomy", "bias": 0.0}, {"t.txt": PATHS}, {}),
    "ranking": ({"name": "precision_at_k", "k": 2}, {"t.txt": QUERIES}, {}),
    "relations in text": (
        {"name": "relation", "relation_names": "r.tsv", "feature_names": "f.tsv"},
        {"t.txt": relation_files.KNOWN, "r.tsv": "1 born in\n3 x\n", "f.tsv": "7 PER\n"},
        {},
    ),
    "relations in JSON": (
        {"name": "relation", "loss": "f_beta"},
        {"t.jsonl": relation_files.KNOWN_JSON},
        {},
    ),
    "conll": ({**LABELLER, **COLUMNS}, {"t.conll": shipped("sequence/train.conll", 24)}, {}),
    "svm_hmm": ({**LABELLER, "format": "svm_hmm"}, {"t.txt": TAGS.replace("?", "N")}, {}),
    "latent": (
        HIDDEN,
        {"t.conll": shipped("sequence/train.conll", 16)},
        {"objective": {"model": "hcrf"}},
    ),
    "coreference": (
        {"name": "coreference", "penalty": 0.1},
        {"t.conll": shipped("coreference/train.conll", 30)},
        {},
    ),
    "brat": (
        {"name": "coreference", "penalty": 0.5},
        {"texts/t.ann": ANNOTATIONS, "texts/t.txt": STORY},
        {},
    ),
    "pairs": (
        {"name": "coreference", "features": "names.txt"},
        {
            "t.pairs": "# pairs\ndocument d cost=0.5\nclusters 1 2 1\npair 1 2 1:1 3:0.5\n"
            "pair 1 3 2:1\npair 2 3 1:-1\n\ndocument e\nclusters 1 1\npair 1 2 3:1\n",
            "names.txt": "bias\nsame string\napart\n",
        },
        {},
    ),
    "pairs-npz": ({"name": "correlation_clustering", "features": 3}, {"t.npz": pair_arrays()}, {}),
    "graphs": ({"name": "mrf"}, {"t.txt": GRAPHS}, {}),
    "trees": (
        {"name": "parsing", "span_features": ["length", "first_word"], "tags": "predicted"},
        {"t.ptb": shipped("parsing/train.ptb", 12)},
        {},
    ),
    "heads": (
        {"name": "parsing", "binarisation": "head", "heads": "heads.txt", "loss": "brackets"},
        {"t.ptb": shipped("parsing/train.ptb", 12), "heads.txt": "S right VP\n* left NN\n"},
        {},
    ),
    "hidden-trees": (
        {"name": "latent_parsing", "horizontal": None},
        {"t.ptb": shipped("parsing/train.ptb", 6)},
        {"objective": {"model": "hcrf"}},
    ),
    "graphs-npz": ({"name": "mrf"}, {"t.npz": graph_arrays()}, {}),
    "images": ({"name": "mrf", "inference": "bp"}, {"t.images": IMAGES, **pictures()}, {}),
    "homologs": (
        {"name": "alignment", "alphabet": "ABC", "prior": "./scores.txt", "symmetric": False},
        {"t.fa": HOMOLOGS, "scores.txt": SCORES},
        {},
    ),
    "aligned-pairs": (
        {"name": "alignment", "alphabet": "ABC", "task": "pairs", "mode": "global"},
        {"t.fa": ALIGNED_PAIRS},
        {"objective": {"model": "ssvm"}},
    ),
    "clustal": (
        {"name": "alignment", "alphabet": "ABC", "task": "pairs", "format": "multiple"},
        {"t.aln": CLUSTAL},
        {"objective": {"model": "ssvm"}},
    ),
    "gzip": (CLASSES, {"t.gz": gzip.compress(ROWS.encode(), mtime=0)}, {}),
    "bzip2": ({**LABELLER, "format": "svm_hmm"}, {"t.bz2": bz2.compress(TAGS.encode())}, {}),
    "xz": ({"name": "precision_at_k", "k": 2}, {"t.xz": lzma.compress(QUERIES.encode())}, {}),
}
SOLVERS: dict[str, dict] = {
    "bundle": {"qp": "auto"},
    "bundle-osqp": {"method": "bundle", "qp": "osqp", "max_planes": 12},
    "proximal": {"qp": "osqp", "max_planes": 12},
    "cutting-plane": {"cache": 3},
    "n-slack": {"sweeps": 3},
    "working-set": {},
    "dual-coordinate": {},
    "gradient": {"max_passes": 6},
    "sgd": {"epochs": 4},
    "lbfgs": {},
}
# name of a model: problem, other sections
MODELS: dict[str, tuple[str, dict]] = {
    **{name: (name, {}) for name in PROBLEMS if name not in ("gzip", "bzip2", "xz", "paths")},
    "rbf": ("svmlight", {"kernel": {"type": "rbf"}, "solver": {"method": "n-slack", "sweeps": 3}}),
    "explicit": ("svm_hmm", {"kernel": {"type": "poly", "degree": 2, "explicit": True}}),
    "poly": ("svm_hmm", {"kernel": {"type": "poly"}, "solver": {"method": "n-slack", "sweeps": 3}}),
    "soft-motif": ("fasta", {"objective": {"model": "hcrf"}}),
    "annealed": ("graphs", {"objective": {"model": "epsilon", "epsilon_y": 0.5, "epsilon_h": 0.5}}),
}
CHECKPOINTS: dict[str, tuple[str, dict]] = {
    **{
        name: (
            "latent" if name == "lbfgs" else "svmlight",
            {"solver": {"method": name.removesuffix("-osqp"), **settings}},
        )
        for name, settings in SOLVERS.items()
    },
    "restarts": ("fasta", {"cccp": {"restarts": 3, "max_iterations": 3}}),
    "held-out": ("svmlight", {"held_out": {"every": 1}, "data": {"validate": ["t.txt"]}}),
    "gram": ("svmlight", {"kernel": {"type": "rbf"}, "solver": {"method": "n-slack", "sweeps": 3}}),
    "hidden": ("graphs", {"solver": {"method": "n-slack", "sweeps": 3}}),
}
SETTINGS = words("""
solver.epsilon=1e-3 objective.C=10 seed=3 data.train=t.txt data.train=[t.txt,t.txt]
application.bias=0 application={name:multiclass} search.grid={objective.C:[1,2]} kernel.type=rbf
application.class_costs={a:2} objective={model:ssvm,C:2} data={train:t.txt}
solver.method=n-slack
""")


class _EnoughError(Exception):
    """A run has a checkpoint."""


class _Stopper(Observer):
    def __init__(self, passes: int) -> None:
        self.left = passes

    def passed(self, *told) -> None:
        self.left -= 1
        if self.left < 0:
            raise _EnoughError


def settings_of(name: str, extra: dict) -> dict:
    """The configuration of a problem, small enough for a run of milliseconds."""
    options, files, sections = PROBLEMS[name]
    train = "texts" if name == "brat" else next(iter(files))
    bounds = {**options, **OPTIONS.get(options["name"], {})}
    values: dict = {
        "application": bounds,
        "data": {"train": [train], "test": [train], **limit()},
        "solver": {"max_passes": 4, "epsilon": 0.05},
        "cccp": {"max_iterations": 2, "tolerance": 0.1},
    }
    for more in (sections, extra):
        for key, section in more.items():
            values[key] = {**values.get(key, {}), **section}
    return values


def limit() -> dict[str, int]:
    return {"max_mb": LIMIT_MB} if "max_mb" in Data.model_fields else {}


def dumped(values: dict) -> bytes:
    return dump(values).encode()


def files_of(name: str, extra: dict) -> dict[str, bytes]:
    files = {
        key: raw.encode() if isinstance(raw, str) else raw for key, raw in PROBLEMS[name][1].items()
    }
    return {"c.yaml": dumped(settings_of(name, extra)), **files}


@contextlib.contextmanager
def placed(folder: Path, files: dict[str, bytes]):
    """The files in a folder, which is the working directory meanwhile."""
    before = os.getcwd()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(content)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        for name in os.listdir(folder):
            shutil.rmtree(folder / name) if (folder / name).is_dir() else os.unlink(folder / name)


def read_commands(train: str) -> tuple[tuple[str, ...], ...]:
    return (
        ("check", "c.yaml"),
        ("learn", "c.yaml", "m", *RUN),
        ("learn", "c.yaml", "m", "-q", "--dry-run"),
        ("classify", train, "known.model", "out", "-q"),
        ("classify", train, "known.model", "out", "--json", "--metrics", "metrics"),
    )


def data_targets(models: dict[str, bytes]) -> list[Target]:
    found = []
    for name, (_, files, _) in PROBLEMS.items():
        train = "texts" if name == "brat" else next(iter(files))
        commands = read_commands(train)[: None if name in models else 3]
        if name in ("svmlight", "ranking", "conll"):
            commands = (*commands, ("cv", "c.yaml", "--jobs", "1", "-q", "--csv", "cv.csv"))
        given = files_of(name, {"search": {"grid": {"objective.C": [0.1, 1]}, "folds": 3}})
        known = {"known.model": models[name]} if name in models else {}
        found.append(Target(f"data/{name}", {**given, **known}, tuple(files), commands))
    return found


def configuration_targets() -> list[Target]:
    bounds = [f"{key}={value}" for key, value in LIMITS.items()]
    found = []
    sources = {
        f"shipped/{path.stem}": path.read_bytes() for path in (ROOT / "configs").glob("*.yaml")
    }
    problems = {settings["name"]: name for name, (settings, _, _) in reversed(PROBLEMS.items())}
    for name in problems:
        sources[f"init/{name}"] = starter(name).encode()
        sources[f"small/{name}"] = dumped(settings_of(problems[name], {}))
    for source, text in sorted(sources.items()):
        files = {"c.yaml": text}
        commands: list[tuple[str, ...]] = [("config", "c.yaml"), ("check", "c.yaml")]
        if source.startswith("small/"):
            problem = problems[source.removeprefix("small/")]
            files |= {key: raw for key, raw in files_of(problem, {}).items() if key != "c.yaml"}
            options = OPTIONS.get(source.removeprefix("small/"), {})
            limits = [*bounds, *(f"application.{key}={value}" for key, value in options.items())]
            limits += [f"data.{key}={value}" for key, value in limit().items()]
            settings = [part for setting in limits for part in ("--set", setting)]
            commands.append(("learn", "c.yaml", "m", *RUN, *settings))
            commands.append(("learn", "c.yaml", "m", "-q", "--dry-run"))
        found.append(Target(f"config/{source}", files, ("c.yaml",), tuple(commands)))
    return found


def model_targets(models: dict[str, bytes]) -> list[Target]:
    found = []
    for name, content in models.items():
        problem, extra = MODELS[name]
        files = {**files_of(problem, extra), "a.model": content}
        train = "texts" if problem == "brat" else next(iter(PROBLEMS[problem][1]))
        commands: list[tuple[str, ...]] = [
            ("classify", train, "a.model", "out", "-q"),
            ("classify", train, "a.model", "out", "--json", "--metrics", "metrics"),
            ("show", "a.model"),
            ("show", "a.model", "--json", "--top", "3"),
            ("config", "a.model"),
            ("plot", "a.model", "out.svg", "--kind", "objective"),
            ("report", "a.model", train, "--out", "out", "--mistakes", "1"),
            ("explain", "a.model", train, "--example", "#1", "--json", "out"),
        ]
        if extra.get("kernel", {"explicit": True}).get("explicit"):  # others have no named weights
            commands.append(("plot", "a.model", "out.svg", "--kind", "weights", "--top", "3"))
        application = PROBLEMS[problem][0]["name"]
        if application in SEVERAL:
            commands.append(("classify", train, "a.model", "out", "--top", "2", "-q"))
        if application == "motif":
            commands.append(("show", "a.model", "--export", "meme=out"))
        if "kernel" not in extra:
            commands.append(("learn", "c.yaml", "m", *RUN, "--init", "a.model"))
        found.append(Target(f"model/{name}", files, ("a.model",), tuple(commands)))
    return found


def checkpoint_targets(checkpoints: dict[str, bytes]) -> list[Target]:
    command = (
        "learn",
        "c.yaml",
        "m",
        "-q",
        "--threads",
        "1",
        "--resume",
        "--checkpoint-every",
        "1",
    )
    return [
        Target(
            f"checkpoint/{name}",
            {**files_of(*CHECKPOINTS[name]), "m.checkpoint": content},
            ("m.checkpoint",),
            (command,),
        )
        for name, content in checkpoints.items()
    ]


def setting_targets() -> list[Target]:
    files = files_of("svmlight", {})
    return [
        Target(
            "settings",
            {**files, **{f"{number}.set": setting.encode()}},
            (f"{number}.set",),
            (
                ("config", "c.yaml", "--set", "@"),
                ("learn", "c.yaml", "m", "-q", "--dry-run", "--set", "@"),
            ),
        )
        for number, setting in enumerate(SETTINGS)
    ]


def trained(folder: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Models and checkpoints, of runs in an empty folder."""
    models, checkpoints = {}, {}
    for name, (problem, extra) in MODELS.items():
        with placed(folder, files_of(problem, extra)):
            learn(load_config("c.yaml")).save("a.model")
            models[name] = Path("a.model").read_bytes()
    for name, (problem, extra) in CHECKPOINTS.items():
        with placed(folder, files_of(problem, extra)):
            path = Path("m.checkpoint")
            with contextlib.suppress(_EnoughError):
                learn(
                    load_config("c.yaml"), checkpoint=path, checkpoint_every=1, observer=_Stopper(3)
                )
            checkpoints[name] = path.read_bytes()
    return models, checkpoints


def targets(folder: Path) -> list[Target]:
    """Everything that is mutated; ``folder`` is empty before and after."""
    models, checkpoints = trained(folder)
    return [
        *data_targets(models),
        *configuration_targets(),
        *model_targets(models),
        *checkpoint_targets(checkpoints),
        *setting_targets(),
    ]
