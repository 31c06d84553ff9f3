"""Figures say what their axes count, and have a dot where an end is certified."""

import functools
import json
from dataclasses import replace
from pathlib import Path

import pytest

from shuffledp import plots
from shuffledp.certificate import issue
from shuffledp.deployment import Curve, DeploymentFile, account, parse

TABLE = {
    "title": "A test",
    "population": {"users": 400},
    "randomizer": {"name": "rappor", "d": 4, "eps0": 6.0},
    "target": {"delta": 1e-4},
}


@functools.cache
def accounted(content):
    return account(parse(json.loads(content), where="t.toml"))


def drawn(found, curve):
    certificate = issue(DeploymentFile(Path("t.toml"), "a" * 64, found.deployment), found)
    return plots.account_figure(certificate, curve, label="a mechanism")


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
