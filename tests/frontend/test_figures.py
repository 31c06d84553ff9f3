"""Figures say what their axes count, where two lines are one, and keep the domain's order."""

import functools
import json
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from shuffledp import plots
from shuffledp.deployment import Curve, account, parse
from shuffledp.protocol.answers import Row
from shuffledp.protocol.figure import draw_estimates

TABLE = {
    "title": "A test",
    "population": {"users": 400},
    "randomizer": {"name": "rappor", "d": 4, "eps0": 6.0},
    "target": {"delta": 1e-4},
}


@functools.cache
def accounted(content):
    return account(parse(json.loads(content), where="t.toml"))


def words_of(figure):
    (axes,) = figure.axes
    return [text.get_text() for text in axes.get_legend().get_texts()]


def drawn(found, curve):
    return plots.account_figure(found, curve, label="a mechanism")


def curve_of(found, *, lower):
    """Two points, the lower end a share of the upper one."""
    now = found.answers[0]
    low = replace(now.bound, lower=now.bound.upper * lower)
    far = replace(low, upper=low.upper / 8.0, lower=low.lower / 8.0)
    return Curve((now.n, 64 * now.n), (low, far))


@pytest.mark.parametrize(
    ("more", "unit"),
    [
        ({}, "honest messages in the batch, n (users)"),
        ({"view": "sums"}, "honest reports in the batch, n (users)"),
        (
            {"randomizer": {"name": "pure-dump", "d": 4, "blankets": 3}},
            "honest users in the batch, n",
        ),
    ],
    ids=["messages", "sums", "protocol"],
)
def test_the_axis_says_what_it_counts(more, unit):
    found = accounted(json.dumps({**TABLE, **more}))
    figure = drawn(found, curve_of(found, lower=0.5))
    (axes,) = figure.axes
    assert axes.get_xlabel() == f"{unit}; certified at the dots, joined by lines"


def test_what_is_certified_has_dots():
    found = accounted(json.dumps(TABLE))
    curve = curve_of(found, lower=0.5)
    (axes,) = drawn(found, curve).axes
    ends = [line for line in axes.lines if list(line.get_xdata()) == list(curve.n)]
    assert len(ends) == 2
    assert all(line.get_marker() == "o" for line in ends)


def test_ends_that_look_like_one_line_are_said_to_be_too_near():
    found = accounted(json.dumps(TABLE))
    one, band = (words_of(drawn(found, curve_of(found, lower=share))) for share in (0.999, 0.5))
    start = "a mechanism, delta = 0.0001: "
    assert one[0] == f"{start}both certified ends, too near to tell apart at this scale"
    assert [words.strip() for words in band[:2]] == [
        f"{start}certified upper end",
        "certified lower end",
    ]


def rows_of(estimates):
    return [
        Row(f"item {i}", value, 0.01, 0.01, value - 0.1, value + 0.1, value - 0.2, value + 0.2,
            value - 0.1, value + 0.1, value)
        for i, value in enumerate(estimates)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("estimates", "shown"),
    [
        ([0.1, 0.5, 0.4], ["item 0", "item 1", "item 2"]),
        (
            [i / 1000 for i in range(50)],
            [f"item {i}" for i in range(49, 9, -1)],
        ),
    ],
    ids=["all", "largest"],
)
def test_estimates_keep_the_order_of_the_domain_where_all_are_shown(estimates, shown):
    axes = Figure().add_subplot()
    draw_estimates(axes, rows_of(estimates), title="t", n=100)
    assert [label.get_text() for label in axes.get_xticklabels()] == shown
    assert ("not shown" in axes.get_xlabel()) == (len(estimates) > len(shown))


TITLES = ["costs $5, not $6", r"$\\frac$ and $\frac$", "a_b^c {x} 50%", "Größe, δ ≤ ε₀"]


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
@pytest.mark.parametrize("title", TITLES)
def test_titles_are_drawn_as_they_are_written(tmp_path, title, kind):
    """Dollars are no formula."""
    found = accounted(json.dumps({**TABLE, "title": title}))
    figure = plots.account_figure(found, curve_of(found, lower=0.5), label=title)
    path = tmp_path / f"x.{kind}"
    plots.write(figure, path, kind)
    assert path.stat().st_size > 1000
