import builtins

import numpy as np
import pytest

from lssvm.errors import LssvmError, MissingExtraError
from lssvm.output import plots as report
from lssvm.output.plots import Series

LINES = [
    Series("one", [1, 10, 100], [2.0, 4.0, 3.0], [0.5, float("nan"), 1.0]),
    Series("two", [1, 10], [5.0, 6.0], hue=1, dashed=True),
]


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """The axes that are drawn, by the options of ``draw_lines``."""
    pytest.importorskip("matplotlib")
    make, kept = report._figure, []

    def _figure(chart):
        kept.append(make(chart))
        return kept[-1]

    monkeypatch.setattr(report, "_figure", _figure)

    def _drawn(series, **options):
        report.draw_lines(tmp_path / "p.png", series, x_label="C", y_label="count", **options)
        (axes,) = kept[-1].axes
        return axes

    return _drawn


def test_every_point_and_bar_is_where_the_series_has_it(drawn, tmp_path):
    axes = drawn(LINES, log_x=True, title="t")
    one, two = axes.containers
    np.testing.assert_array_equal(one.lines[0].get_xydata(), [[1, 2], [10, 4], [100, 3]])
    bars = [segment[:, 1].tolist() for segment in one.lines[2][0].get_segments()]
    assert bars == [[1.5, 2.5], [4.0, 4.0], [2.0, 4.0]]
    np.testing.assert_array_equal(two.lines[0].get_xydata(), [[1, 5], [10, 6]])
    assert not two.has_yerr
    (legend,) = axes.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two"]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("C", "count", "t")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_hue_and_dashes_tell_the_series_apart(drawn):
    one, two = (container.lines[0] for container in drawn(LINES).containers)
    assert one.get_color() != two.get_color()
    assert one.get_marker() != two.get_marker()
    assert (one.get_linestyle(), two.get_linestyle()) == ("-", "--")


def test_axes_are_as_asked_and_counts_begin_at_0(drawn):
    linear = drawn(LINES)
    assert (linear.get_xscale(), linear.get_yscale()) == ("linear", "linear")
    assert linear.get_ylim()[0] == 0
    logarithmic = drawn(LINES, log_x=True, log_y=True)
    assert (logarithmic.get_xscale(), logarithmic.get_yscale()) == ("log", "log")
    assert drawn([Series("below", [1, 2], [-1.0, 2.0])]).get_ylim()[0] < -1


def test_one_series_needs_no_legend(drawn):
    assert drawn(LINES[:1]).figure.legends == []


def test_the_legend_hides_no_line(drawn):
    figure = drawn(
        [Series(f"a long name of line {i}", [1, 2], [i, 9.0], hue=i) for i in range(7)]
    ).figure
    figure.canvas.draw()
    (legend,) = figure.legends
    assert not legend.get_window_extent().overlaps(figure.axes[0].get_window_extent())


def test_an_unknown_format_is_refused_and_leaves_no_file(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(LssvmError) as caught:
        report.draw_lines(tmp_path / "p.gif2", LINES, x_label="x", y_label="y")
    assert str(caught.value).startswith(
        f"{tmp_path / 'p.gif2'}: format 'gif2' is not known; expected one of "
    )
    with pytest.raises(LssvmError, match="p: has no ending, which is the format; expected one of"):
        report.draw_lines(tmp_path / "p", LINES, x_label="x", y_label="y")
    assert list(tmp_path.iterdir()) == []


def test_missing_matplotlib_is_named_with_its_extra(monkeypatch):
    def lacking(name, *rest):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(MissingExtraError) as caught:
        report.check_installed()
    assert str(caught.value) == (
        "the figure needs matplotlib; install it with: pip install 'lssvm[plot]'"
    )
