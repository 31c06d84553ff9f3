"""The benchmark: its table says what was found, and every question has an answer."""

import pytest
from bench import measure

import shuffledp as sd


def test_the_table_says_what_was_found():
    (one,) = (q for q in measure.questions() if q.name == "k-RR, n = 1e4")
    bound = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10**4).epsilon(delta=1e-6)
    lines = measure.report([one], runs=2, budget=60.0).splitlines()
    assert lines[-1].startswith(f"| {one.name} | {bound.upper / bound.lower:.5f} | ")
    assert lines[-1].endswith(" | 4       |")


@pytest.mark.long
@pytest.mark.parametrize("one", measure.questions(), ids=lambda one: one.name)
def test_every_question_has_an_answer(one):
    bound = one.ask()
    assert 0.0 <= bound.lower <= bound.upper
