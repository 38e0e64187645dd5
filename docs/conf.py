"""Settings of Sphinx; ``make docs`` builds the pages."""

import sys
from importlib.metadata import version as installed
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
html_static_path = ["static"]
html_css_files = ["narrow.css"]
html_show_copyright = False
exclude_patterns = ["build"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
lexers["mermaid"] = TextLexer()  # the diagram of the parts stays text


def setup(app):
    """Show docstrings as they are written: they are plain text."""

    def plain(app, what, name, obj, options, lines):
        lines[:] = ["::", "", *(f"   {line.replace('``', '`')}" for line in lines), ""]

    app.connect("autodoc-process-docstring", plain)
