"""survey: estimates, intervals and the certificate of one column, in one call."""

import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import shuffledp as sd
from shuffledp.deployment import plan as planning
from shuffledp.surveys import Survey

PAGES = ["home", "help", "shop"]
SHARES = (0.5, 0.3, 0.2)
TARGET = {"epsilon": 1.0, "delta": 1e-6}
VALUES = [page for page, share in zip(PAGES, SHARES, strict=True) for _ in range(int(2000 * share))]
AGES = [20.0 + k % 41 for k in range(2000)]  # mean 40 within 0.2
# No true share lies that many standard errors away, in any of these tests: odds of 1 in 10^11.
FAR = 7.0


@pytest.fixture(scope="module")
def found():
    return sd.survey({"page": VALUES}, "page", domain=PAGES, mechanisms=["k-rr"], **TARGET)


def test_estimates_bound_and_certificate_agree(found):
    assert isinstance(found, Survey)
    assert (found.users, found.nulls, found.outside) == (2000, 0, 0)
    assert [row.item for row in found.rows] == PAGES
    for row, share in zip(found.rows, SHARES, strict=True):
        assert abs(row.estimate - share) <= FAR * row.noise_error
        assert row.low_all <= row.low <= row.estimate <= row.high <= row.high_all
    best = found.plan.recommended
    assert found.bound.upper <= TARGET["epsilon"]
    acc = sd.shuffle(best.source, n=2000)
    assert acc.epsilon(delta=1e-6).lower <= found.bound.upper
    claims = found.certificate.records()
    assert claims[0]["value"] >= found.bound.upper
    assert found.certificate.release.users == 2000
    assert found.certificate.deployment.content.randomizer == best.source.to_dict()


def test_a_mean():
    given = {"low": 0, "high": 100, "mechanisms": ["duchi"], **TARGET}
    found = sd.survey({"age": AGES}, "age", title="Ages", **given)
    (row,) = found.rows
    assert row.item == "mean"
    assert abs(row.estimate - np.mean(AGES)) <= FAR * row.noise_error
    assert found.certificate.deployment.content.title == "Ages"
    axes = found.plot()
    assert list(axes.get_yticks()) == []  # one number lies along its own axis
    assert axes.get_xlabel() == "mean"
    plt.close("all")


COLUMNS = {
    "page": {"domain": PAGES, "mechanisms": ["k-rr"]},
    "age": {"low": 0, "high": 100, "mechanisms": ["duchi"], "share": 3.0},
}


@pytest.fixture(scope="module")
def both():
    return sd.survey_columns({"page": VALUES, "age": AGES}, COLUMNS, **TARGET)


def test_several_columns_share_the_budget(both):
    assert both.shares == (0.25, 0.75)
    for part, share in zip(both.parts, both.shares, strict=True):
        target = part.certificate.deployment.content.target
        assert target.at_most <= share * TARGET["epsilon"]
        assert target.at_most == pytest.approx(share * TARGET["epsilon"], rel=1e-14)
        assert part.bound.upper <= target.at_most
        assert part.certificate.members[0].at <= share * TARGET["delta"]
    total = sum(Fraction(part.bound.upper) for part in both.parts)
    assert total <= Fraction(both.epsilon) <= Fraction(TARGET["epsilon"])
    deltas = sum(Fraction(part.certificate.members[0].at) for part in both.parts)
    assert deltas <= Fraction(both.delta) <= Fraction(TARGET["delta"])


NUMBERS = {"data": {"age": AGES}, "column": "age", "domain": None}
BAD = [
    ({"column": 3}, "column = 3: wanted the name of a column"),
    ({"column": "nope"}, "column = 'nope': wanted one of page"),
    ({"domain": None}, "domain is missing"),
    ({"domain": None, "low": 0}, "high is missing: wanted both ends of the numbers, as low = 0"),
    ({"low": 0, "high": 1}, "not both"),
    ({"domain": "abc"}, "domain = 'abc': wanted a list of items"),
    ({"domain": 7}, "domain = 7: wanted a list of items"),
    ({"domain": ["home"]}, "wanted 2 to"),
    ({"domain": ["home", "home"]}, "domain = 'home': wanted every item once"),
    ({"domain": ["home", "help"]}, "wanted an item of the domain"),
    ({"domain": [1, 2]}, "wanted an item of the domain"),
    ({"epsilon": 0}, "epsilon = 0: wanted"),
    ({"delta": float("nan")}, "delta = nan: wanted"),
    ({"confidence": 1}, "confidence = 1: wanted"),
    ({"nulls": "ignore"}, "nulls = 'ignore': wanted"),
    ({"mechanisms": ["blah"]}, "'blah': wanted one of"),
    ({"minimum_batch": 10**6}, "population.minimum_batch = 1000000: wanted"),
    ({"colluding": 1.0}, "population.colluding = 1.0: wanted"),
    ({"trust": "none"}, "trust = 'none': wanted"),
    ({"title": ""}, "title = '': wanted"),
    ({"data": 3}, "data is a int: wanted a data frame"),
    ({"data": {"page": []}}, "0 rows"),
    ({"data": {"page": ["SECRET", 3]}}, "wanted one kind of value"),
    ({"data": pd.concat([pd.DataFrame({"page": VALUES})] * 2, axis=1)}, "a name of its own"),
    *(({**NUMBERS, **change}, words) for change, words in (
        ({"ranges": "abc"}, "pairs (low, high)"),
        ({"ranges": [(0, 1)]}, "two ranges at least"),
        ({"ranges": [(0, 1), (1, 1)]}, "ranges = (1.0, 1.0)"),
        ({"ranges": [(0, 1), (1, math.inf)]}, "ranges = inf"),
        ({"ranges": [(0, 1), (0, 1), (1, 2)]}, "every range once"),
        ({"ranges": [(0, 1), 5]}, "ranges = 5"),
        ({"high": 100}, "low is missing: wanted both ends of the numbers, as high = 100"),
        ({"low": 0, "high": 100, "mechanisms": ["k-rr"]}, "mechanisms = 'k-rr': wanted one of"),
        ({"low": 0, "high": 100, "mechanisms": []}, "mechanisms = []: wanted one or more of"),
        ({"domain": range(121), "mechanisms": ["duchi"]}, "mechanisms = 'duchi': wanted one of"),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), BAD, ids=[words for _, words in BAD])
def test_one_clear_error(change, words):
    given = {"data": {"page": VALUES}, "column": "page", "domain": PAGES, **TARGET}
    with pytest.raises(sd.ParameterError, match=re.escape(words)) as caught:
        sd.survey(**{**given, **change})
    assert "\n" not in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_what_is_run_and_misses_the_target_is_not_released(monkeypatch):
    monkeypatch.setattr(planning, "plan", lambda *a, **k: sd.plan(*a, **{**k, "epsilon": 1.2}))
    with pytest.raises(sd.NotCertified, match="nothing is released"):
        sd.survey({"page": VALUES}, "page", domain=PAGES, mechanisms=["k-rr"], **TARGET)
