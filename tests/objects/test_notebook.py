"""What a notebook shows: one line, a table, a data frame, a picture with units."""

import html
import re

import numpy as np
import pytest
from matplotlib import pyplot as plt

import shuffledp as sd
from shuffledp.certificate.checks import Check, Checks
from shuffledp.drawing.bands import tradeoff
from shuffledp.values.notebook import Sheet, html_table

ACC = sd.shuffle(sd.KRR(k=4, eps0=2.0), n=1000)
BOUND = ACC.epsilon(delta=1e-6)


@pytest.fixture(scope="module")
def plan():
    return sd.plan(
        "frequencies", values=4, n=1000, epsilon=1, delta=1e-6, mechanisms=["k-rr", "oue"]
    )


@pytest.fixture(scope="module")
def shown(plan):
    return {
        "bound": BOUND,
        "delta": ACC.delta(epsilon=0.3),
        "renyi": ACC.renyi(order=4.0),
        "comparison": ACC.compare(delta=1e-6),
        "plan": plan,
        "checks": Checks([Check("now", "eps <= 1", "holds", "<recomputed>")]),
    }


TAGS = {"table", "caption", "thead", "tr", "th", "tbody", "td", "p"}
NAMES = ("bound", "delta", "renyi", "comparison", "plan", "checks")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", NAMES)
def test_a_line_a_table_and_frames(shown, name):
    value = shown[name]
    if name != "checks":  # a list is written as one
        assert len(repr(value)) < 200
    page = value._repr_html_()
    assert re.findall(r"</?(\w+)", page)[:2] == ["table", "caption"]
    assert set(re.findall(r"</?(\w+)", page)) <= TAGS
    sheet = value.sheet()
    assert html.escape(sheet.caption) in page
    assert all(len(row) == len(sheet.head) for row in sheet.rows)
    records = value.records()
    for library in ("pandas", "polars"):
        found = value.to_frame(library=library)
        assert type(found).__module__.startswith(library)
        assert list(found.columns) == list(records[0])
        assert len(found) == len(records)


def test_ends_are_the_numbers_themselves_and_shown_outward():
    found = BOUND.to_frame(library="polars")
    assert found["value"].to_list() == [BOUND.upper, BOUND.lower]
    upper, lower = (float(row[1]) for row in BOUND.sheet().rows)
    assert lower <= BOUND.lower <= BOUND.upper <= upper
    low, high = re.match(r"Bound\((\S+) <= epsilon <= (\S+) at", repr(BOUND)).groups()
    assert (float(low), float(high)) == (lower, upper)
    assert "n = 1,000" in repr(BOUND)
    tiny = sd.shuffle(sd.KRR(k=4, eps0=2.0), n=10_000).delta(epsilon=1.9)
    assert "10^-" in repr(tiny)
    assert "10^-" in tiny.sheet().rows[0][1]


def test_text_is_no_markup():
    sheet = Sheet("<script>", ("a&b",), (("<img src=x>",),) * 61, ("<b>",))
    page = html_table(sheet)
    assert "<script" not in page
    assert "<img" not in page
    assert "<b>" not in page
    assert "1 more rows" in page


# ------------------------------------------------------------------------------------ pictures


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.1), (3.0, 1e-9), (0.0, 0.0), (800.0, 0.0)])
def test_tradeoff_is_what_eps_and_delta_leave(epsilon, delta):
    alphas, betas = tradeoff(epsilon, delta)
    most = np.exp(min(epsilon, 700.0))
    # Both inequalities of (eps, delta) for the event and its complement, and no room above them.
    one, two = 1.0 - betas - most * alphas, 1.0 - alphas - most * betas
    assert np.all(np.maximum(one, two) <= delta + 1e-12 * most)
    tight = np.maximum(one, two) >= delta - 1e-9 * most
    assert np.all(tight | (betas == 0.0))
    assert np.all(np.diff(betas) <= 1e-12)
