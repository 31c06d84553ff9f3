"""Titles in any script: a font that has the letters, or one line that none does; no warnings."""

import subprocess
import sys
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.font_manager import fontManager

from shuffledp import plots
from shuffledp.drawing import fonts
from shuffledp.drawing.bands import handles, legend

DEPLOYMENT = """
title = "{title}"
[population]
users = 5000
[randomizer]
name = "k-rr"
k = 3
eps0 = 1.0
[target]
delta = 1e-6
"""
JAPANESE = "\N{CJK UNIFIED IDEOGRAPH-65E5}\N{CJK UNIFIED IDEOGRAPH-672C}"
PRIVATE = "\N{GOTHIC LETTER AHSA}\uf8f0"


def run(*args, cwd):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "shuffledp", *map(str, args)],
        capture_output=True, text=True, check=False, cwd=cwd,
    )  # fmt: skip


@pytest.mark.long
def test_letters_without_a_font_are_one_line(tmp_path):
    (tmp_path / "d.toml").write_text(DEPLOYMENT.format(title=f"Plain {PRIVATE}"), encoding="utf-8")
    done = run("account", "d.toml", "--no-warn", "all", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("shuffledp: no installed font has ")
    assert "site-packages" not in done.stderr
    assert PRIVATE in done.stdout
    assert (tmp_path / "d.png").stat().st_size > 1000


TITLES = ["costs $5, not $6", r"$\\frac$ and $\frac$", "a_b^c {x} 50%", "Größe, δ ≤ ε₀", PRIVATE]


def blank(title):
    """A line with this label, under this title."""
    figure = plots.picture(lambda ax: ax.plot([1, 2], [1, 2], label=title))
    (axes,) = figure.axes
    plots.titled(axes, title)
    return figure, axes


@pytest.mark.many(8)
@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_titles_are_drawn_as_they_are_written(tmp_path, title, kind):
    """Dollars are no formula, and a letter without a glyph is no warning (which is an error)."""
    figure, axes = blank(title)
    legend(axes, handles(axes))
    assert plots.write(figure, tmp_path / f"x.{kind}", kind) == (
        PRIVATE if title == PRIVATE else ""
    )
    assert (tmp_path / f"x.{kind}").stat().st_size > 1000


@pytest.fixture
def installed(tmp_path):
    """A font with these two letters, known to matplotlib while the test runs."""
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "one", "two"])
    builder.setupCharacterMap({ord(JAPANESE[0]): "one", ord(JAPANESE[1]): "two"})
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    pen.lineTo((500, 700))
    pen.lineTo((500, 0))
    pen.closePath()
    glyph = pen.glyph()
    builder.setupGlyf(dict.fromkeys((".notdef", "one", "two"), glyph))
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", "one", "two"), (600, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Shuffled Test", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    path = tmp_path / "test.ttf"
    builder.save(path)
    before = list(fontManager.ttflist)
    fontManager.addfont(path)
    clear()
    yield "Shuffled Test"
    fontManager.ttflist[:] = before
    clear()


def clear():
    fonts._families.cache_clear()
    fonts._installed.cache_clear()


def test_a_font_that_has_the_letters_is_taken(installed, tmp_path):
    figure, axes = blank(f"{JAPANESE} 1")
    assert plots.write(figure, tmp_path / "x.png", "png") == ""
    assert axes.get_title(loc="left") == f"{JAPANESE} 1"
    assert installed in axes._left_title.get_fontfamily()
    # What it does not have is said; other texts keep their font.
    figure, axes = blank(f"{JAPANESE} {PRIVATE}")
    assert plots.write(figure, tmp_path / "y.png", "png") == PRIVATE
    assert installed not in axes.xaxis.label.get_fontfamily()


def test_font_lists_are_read_once(installed):
    assert Path(dict(fonts._installed())[installed]).name == "test.ttf"
