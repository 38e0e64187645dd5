"""Settings of Sphinx; ``make docs`` builds the pages."""

import sys
from importlib.metadata import version as installed
from itertools import groupby
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

sys.path.insert(0, str(Path(__file__).parent))  # of formulas and the directive picture

project = "lssvm"
author = "the lssvm developers"
release = version = installed("lssvm")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "formulas",
    "sphinx_click",
    "pictures",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "lssvm"
smartquotes = False  # two hyphens begin an option of a command
html_static_path = ["static"]
html_css_files = ["narrow.css"]
html_show_copyright = False
exclude_patterns = ["build"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
lexers["mermaid"] = TextLexer()  # the diagram of the parts stays text


def setup(app):
    """Show docstrings, and tables and commands in help texts, as they are written."""

    def plain(app, what, name, obj, options, lines):
        lines[:] = ["::", "", *(f"   {line.replace('``', '`')}" for line in lines), ""]

    def aligned(app, ctx, lines):
        parts = groupby(list(lines), key=lambda line: line.startswith("| "))
        lines.clear()
        for kept, part in parts:
            rows = [line.replace("| ", "   ", 1) if kept else line for line in part]
            lines += [".. code-block:: text", "", *rows, ""] if kept else rows

    app.connect("autodoc-process-docstring", plain)
    for part in ("description", "epilog"):
        app.connect(f"sphinx-click-process-{part}", aligned)
