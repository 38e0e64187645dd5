"""A page of charts, tables and text: one HTML file that needs no network.

It is readable on a phone, in light and dark, and on paper. jinja2, which the extra ``report``
brings, is imported where a page is written.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, get_args

from lssvm.errors import MissingExtraError
from lssvm.output import plots
from lssvm.output.charts import Drawing, Drawn, Figure, Group, Images, Table, Text
from lssvm.output.whole import replacing

MOST_DIGITS = 5


class Section(NamedTuple):
    """A part of a page with a heading."""

    title: str
    figures: Sequence[Figure]
    note: str = ""


@dataclass(frozen=True)
class Page:
    """A page.

    title, subtitle : at its head; facts : name and value of each
    warnings : sentences that stand out; folded : title and text of what is shown on demand
    """

    title: str
    subtitle: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    warnings: Sequence[str] = ()
    folded: Sequence[tuple[str, str]] = field(default_factory=tuple)


def check_installed() -> None:
    """Raise MissingExtraError if no page can be written: better before long work than after it."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise MissingExtraError("the report", "jinja2", "report") from None
    plots.check_installed()


def write_page(path: str | Path, page: Page) -> None:
    """Write the page, whole or not at all; the same page gives the same bytes.

    Raises MissingExtraError without jinja2 or matplotlib, LssvmError if it cannot be written.
    """
    text = html_of(page)
    with replacing(path) as file:
        file.write(text)


def html_of(page: Page) -> str:
    """The page as HTML."""
    check_installed()
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    pictures = _Pictures()
    environment.filters |= {"svg": pictures.svg, "png": _png, "cell": _cell}
    environment.tests |= {name: _kind(name) for name in ("Drawn", "Table", "Text", "Images")}
    environment.tests |= {name: _kind(name) for name in ("Drawing", "Group")}
    environment.tests["numeric"] = lambda value: isinstance(value, int | float)
    return environment.from_string(TEMPLATE).render(page=page, style=STYLE)


class _Pictures:
    """Charts as SVG, each with names of its own."""

    def __init__(self) -> None:
        self._count = 0

    def svg(self, one: Any) -> str:
        """The picture, which needs no escaping."""
        if isinstance(one, Drawing):
            text = one.svg
        else:
            self._count += 1
            text = plots.svg_of(one, f"picture {self._count}")
        label = escape(one.title)
        return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def _kind(name: str) -> Any:
    kinds: dict[str, Any] = {
        "Drawn": get_args(Drawn),
        "Table": Table,
        "Text": Text,
        "Images": Images,
        "Drawing": Drawing,
        "Group": Group,
    }
    return lambda value: isinstance(value, kinds[name])


def _png(content: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(content).decode()


def _cell(value: Any) -> str:
    """The text of a cell."""
    if value is None:
        return "n/a"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,d}" if isinstance(value, int) else f"{value:z.{MOST_DIGITS}g}"


STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #ffffff;
  --card: #f6f8fa; --line: #d0d7de; --accent: #0b62a8; --warn: #9a4b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --paper: #0d1117;
  --card: #161b22; --line: #30363d; --accent: #6cb6ff; --warn: #ffb265; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.2rem 1rem 3rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.7rem; line-height: 1.2; }
h2 { margin: 2.4rem 0 .6rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line);
  font-size: 1.25rem; }
h3 { margin: 1.4rem 0 .2rem; font-size: 1.02rem; }
h4 { margin: 1rem 0 .3rem; font-size: .95rem; }
p { margin: .3rem 0 .6rem; }
.soft { color: var(--soft); font-size: .92rem; }
nav { margin-top: .9rem; display: flex; flex-wrap: wrap; gap: .3rem 1rem; font-size: .92rem; }
a { color: var(--accent); }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .25rem 1rem;
  margin: 1.2rem 0; padding: .8rem 1rem; background: var(--card); border-radius: 8px; }
dt { color: var(--soft); }
dd { margin: 0; }
.warn { margin: .5rem 0; padding: .5rem .8rem; border-left: 4px solid var(--warn);
  background: var(--card); }
figure { margin: 0 0 1rem; break-inside: avoid; }
figure > svg { display: block; width: 100%; max-width: 40rem; height: auto; }
.scroll { overflow-x: auto; max-width: 100%; background: var(--card); border-radius: 8px; }
.scroll > svg { display: block; max-width: none; }
.drawing { padding: .4rem; background: #ffffff; }
pre { margin: 0; padding: .7rem .9rem; font: .84rem/1.4 ui-monospace, monospace;
  white-space: pre; overflow-wrap: normal; width: max-content; min-width: 100%; }
table { border-collapse: collapse; min-width: 100%; font-size: .9rem;
  font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .28rem .7rem; text-align: left; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
td.number, th.number { text-align: right; }
tr:last-child td { border-bottom: 0; }
.images { display: flex; flex-wrap: wrap; gap: .8rem; }
.images figure { margin: 0; max-width: 100%; font-size: .85rem; }
.images img { display: block; max-width: 100%; image-rendering: pixelated; }
details { margin: .6rem 0; }
summary { cursor: pointer; color: var(--accent); }
.group { margin: 1rem 0 1.6rem; padding: .2rem 1rem .6rem; border: 1px solid var(--line);
  border-radius: 8px; break-inside: avoid-page; }
@media (max-width: 30rem) { body { padding: .8rem .7rem 2rem; } dl { grid-template-columns: 1fr; }
  dt { margin-top: .3rem; } .group { padding: .2rem .6rem .6rem; } table { font-size: .7rem; }
  th, td { padding: .25rem .12rem; white-space: normal; } th { vertical-align: bottom; }
  td.number { white-space: nowrap; } th { font-weight: 500; }
  td:not(.number) { min-width: 3.5rem; overflow-wrap: anywhere; } }
@media print { :root { --ink: #000; --soft: #444; --paper: #fff; --card: #fff; --line: #bbb; }
  nav { display: none; } body { max-width: none; font-size: 11pt; padding: 0; }
  .scroll { overflow: visible; } pre { white-space: pre-wrap; width: auto; font-size: 8pt; }
  th, td { white-space: normal; } }
"""

TEMPLATE = """\
{% macro show(one, level) %}
{% if one is Group %}
<div class="group">
<h{{ level }}>{{ one.title }}</h{{ level }}>
{% if one.note %}
<p class="soft">{{ one.note }}</p>
{% endif %}
{% for part in one.parts %}
{{ show(part, level + 1) }}
{% endfor %}
</div>
{% else %}
<figure>
{% if one.title %}
<h{{ level }}>{{ one.title }}</h{{ level }}>
{% endif %}
{% if one.note %}
<p class="soft">{{ one.note }}</p>
{% endif %}
{% if one is Drawn %}
{{ one | svg | safe }}
{% elif one is Drawing %}
<div class="scroll drawing">{{ one | svg | safe }}</div>
{% elif one is Table %}
{% set numbers = [] %}
{% for head in one.heads %}
{% set column = one.rows | map(attribute=loop.index0) | list %}
{{- numbers.append(column and (column | select("numeric") | list | length) > 0) or "" }}
{% endfor %}
<div class="scroll" tabindex="0"><table>
<thead><tr>
{% for head in one.heads %}
<th{% if numbers[loop.index0] %} class="number"{% endif %}>{{ head }}</th>
{% endfor %}
</tr></thead>
<tbody>
{% for row in one.rows %}
<tr>
{% for value in row %}
<td{% if numbers[loop.index0] %} class="number"{% endif %}>{{ value | cell }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table></div>
{% elif one is Text and one.lines %}
<div class="scroll" tabindex="0"><pre>{{ one.lines | join("\\n") }}</pre></div>
{% elif one is Images %}
<div class="images">
{% for caption, content in one.images %}
<figure><img src="{{ content | png }}" alt="{{ caption }}">{{ caption }}</figure>
{% endfor %}
</div>
{% endif %}
</figure>
{% endif %}
{% endmacro %}
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{{ page.title }}</title>
<style>{{ style | safe }}</style>
</head>
<body>
<header>
<h1>{{ page.title }}</h1>
<p class="soft">{{ page.subtitle }}</p>
<nav>
{% for section in page.sections %}
<a href="#part{{ loop.index }}">{{ section.title }}</a>
{% endfor %}
</nav>
</header>
<main>
<dl>
{% for name, value in page.facts %}
<dt>{{ name }}</dt><dd>{{ value }}</dd>
{% endfor %}
</dl>
{% for text in page.warnings %}
<p class="warn">{{ text }}</p>
{% endfor %}
{% for section in page.sections %}
<section id="part{{ loop.index }}">
<h2>{{ section.title }}</h2>
{% if section.note %}
<p>{{ section.note }}</p>
{% endif %}
{% for one in section.figures %}
{{ show(one, 3) }}
{% endfor %}
</section>
{% endfor %}
{% for title, text in page.folded %}
<details><summary>{{ title }}</summary>
<div class="scroll" tabindex="0"><pre>{{ text }}</pre></div>
</details>
{% endfor %}
</main>
</body>
</html>
"""
