"""The directive ``picture``: a picture that is made while the pages are built.

    ```{picture} configs/sequence.yaml
    :title: Confusions
    ```

trains on the small data set of a configuration and shows the picture with that title, of those that
``lssvm report`` makes with the test data, as an inline drawing that follows light and dark.
"""

import functools
import html
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

import lssvm
from lssvm.output import plots
from lssvm.output.charts import Drawing, Figure
from lssvm.training.charts import chart

ROOT = Path(__file__).parent.parent


@functools.cache
def figures(config: str) -> dict[str, Figure]:
    """The pictures of a model of this configuration, by title."""
    settings = lssvm.load_config(ROOT / config)
    model = lssvm.learn(settings)
    application = model.application
    examples = application.read(settings.sources("test"))
    found = [
        *application.model_figures(model.w, model.arrays),
        *application.data_figures(model.w, examples, lssvm.classify(model, examples)),
        chart(model, "weights"),
    ]
    return {figure.title: figure for figure in found}


class Picture(SphinxDirective):
    """One picture of a model."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"title": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """The drawing and its note."""
        known, title = figures(self.arguments[0]), self.options["title"]
        if title not in known:
            raise self.error(f"no picture {title!r} (known: {', '.join(known)})")
        figure = known[title]
        key = f"{self.arguments[0]} {title}"
        drawing = figure.svg if isinstance(figure, Drawing) else plots.svg_of(figure, key)
        label = html.escape(f"{title}. {figure.note}".strip(), quote=True)
        drawn = drawing.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
        kind = "drawn white" if isinstance(figure, Drawing) else "drawn"
        told = f"<b>{html.escape(title)}.</b> {html.escape(figure.note)}"
        text = f'<figure class="{kind}">{drawn}<figcaption>{told}</figcaption>'
        self.env.note_dependency(str(ROOT / self.arguments[0]))
        return [nodes.raw("", f"{text}</figure>", format="html")]


def setup(app: Any) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True}
