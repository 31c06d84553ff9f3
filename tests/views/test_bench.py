"""The benchmark of views: every case is one that the library answers, and its table."""

import pytest
from bench import views

import shuffledp as sd

QUICK = "sums, one bit, n = 10,000"


def test_every_case_is_one_of_its_own():
    asked = views.asked()
    assert len(asked) > 8
    for words in ("noise added", "crowd", "shards", "DP-SGD", "users at once"):
        assert any(words in name for name in asked)


def test_the_table_says_what_was_found_and_what_failed():
    def fails():
        raise ValueError

    given = {QUICK: views.asked()[QUICK], "nothing": fails}
    lines = views.report(given=given, limit=20.0, budget=40.0).splitlines()
    bound = sd.shuffle(sd.BinaryRR(eps0=2.0), 10_000, view="sums").epsilon(delta=1e-6)
    assert f"| {QUICK} | eps {bound.lower:.4g} to {bound.upper:.4g} | " in lines[4]
    assert lines[5] == "| nothing | ValueError | |"


@pytest.mark.long
@pytest.mark.parametrize("name", list(views.asked()))
def test_every_case_has_an_answer(name):
    assert views.asked()[name]() is not None
