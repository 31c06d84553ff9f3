"""What a notebook shows: one line, a table, a data frame, a picture with units."""

import html
import re
import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt

import shuffledp as sd
from shuffledp.bound import Bound
from shuffledp.certificate.checks import Check, Checks
from shuffledp.drawing.bands import apart, tradeoff
from shuffledp.neighbours import REPLACEMENT
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


def test_frames_of_the_library_in_use(monkeypatch):
    import pandas as pd
    import polars as pl

    assert isinstance(BOUND.to_frame(), pd.DataFrame)
    monkeypatch.delitem(sys.modules, "pandas")
    assert isinstance(BOUND.to_frame(), pl.DataFrame)
    with pytest.raises(sd.ParameterError, match="library = 'dask': wanted pandas or polars"):
        BOUND.to_frame(library="dask")


# ------------------------------------------------------------------------------------ pictures


def lines_of(axes):
    return [line.get_xydata() for line in axes.get_lines()]


def words_of(axes):
    return " ".join(text.get_text() for text in axes.get_legend().get_texts())


def test_delta_over_eps():
    axes = ACC.plot(epsilons=[0.2, 0.1, 0.3])
    upper, lower = lines_of(axes)
    bounds = [ACC.delta(epsilon=e) for e in (0.1, 0.2, 0.3)]
    assert upper[:, 0].tolist() == [0.1, 0.2, 0.3]
    assert np.all(10 ** upper[:, 1] >= [b.lower for b in bounds])
    assert np.all(10 ** lower[:, 1] <= [b.upper for b in bounds])
    assert axes.get_xlabel() == "central eps (nats)"
    assert axes.get_ylabel() == "central delta"
    assert "k-rr, n = 1,000" in words_of(axes)
    assert "both certified ends, too near to tell apart at this scale" in words_of(axes)


def test_eps_over_n_and_a_second_curve_beside_it():
    axes = ACC.plot(delta=1e-6, ns=[500, 1000])
    upper, *_ = lines_of(axes)
    assert upper[:, 0].tolist() == [500.0, 1000.0]
    assert upper[1, 1] == BOUND.upper
    assert axes.get_xlabel() == "users, n; certified at the dots, joined by lines"
    assert "(nats)" in axes.get_ylabel()
    before = len(axes.get_lines())
    other = sd.shuffle(sd.BinaryRR(eps0=2.0), n=1000)
    again = other.plot(delta=1e-6, ns=[100, 200], label="any", ax=axes)
    assert again is axes
    first, other = axes.get_lines()[0], axes.get_lines()[before]
    assert first.get_color() != other.get_color()
    assert first.get_linestyle() != other.get_linestyle()  # told apart in grey
    assert "k-rr" in words_of(axes)
    assert "any: both certified ends, too near to tell apart at this scale" in words_of(axes)
    plt.figure()
    assert ACC.plot(epsilons=[0.2, 0.3]).figure is not axes.figure


def wide(lower, upper):
    at = {"delta": 1e-6, "n": 10.0}
    return Bound("epsilon", lower, upper, at, relation=REPLACEMENT)


def test_apart_is_what_is_seen():
    assert not apart([wide(0.5, 0.5), wide(1.0, 1.0)])
    assert apart([wide(0.5, 0.5), wide(1.0, 1.2)])
    assert apart([wide(0.0, 0.5), wide(1.0, 1.0)])  # a lower end of 0 is not on the axis


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


def test_a_bound_draws_what_it_leaves_to_tests():
    axes = wide(0.5, 1.5).plot()
    upper, lower, guess = lines_of(axes)
    assert np.all(upper[:, 1] <= lower[:, 1])
    assert np.any(upper[:, 1] < lower[:, 1] - 0.05)
    assert guess.tolist() == [[0, 1], [1, 0]]
    assert "epsilon <= 1.5" in words_of(axes)
    assert "reaches into this band" in words_of(axes)
    assert "under the same line" in words_of(BOUND.plot())
    assert "delta <= " in words_of(ACC.delta(epsilon=0.3).plot())
    with pytest.raises(sd.ParameterError, match="quantity = 'renyi': wanted epsilon or delta"):
        ACC.renyi(order=4.0).plot()


def test_rows_as_dots(shown, plan):
    compared = shown["comparison"]
    axes = compared.plot()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [row.analysis.key for row in compared.applying()]
    drawn = {y for line in axes.get_lines() for x, y in line.get_xydata() if np.isfinite(x)}
    assert len(drawn) == len(names)  # each row has one mark
    assert "(nats)" in axes.get_xlabel()
    errors = plan.plot()
    assert errors.get_lines()[0].get_xdata().tolist() == [row.error for row in plan.rows]
    assert "trusted server" in words_of(errors)


def test_the_verifiers_list_says_its_verdict():
    found = Checks([Check("now", "c", "holds", "h"), Check("now", "d", "does not hold", "h")])
    assert found.sheet().caption == "NOT VERIFIED: 1 of 2 claims do not hold"
    assert found == list(found)
