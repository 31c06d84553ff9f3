"""Random questions of all kinds against exhaustive enumeration under the relation they print.

One report and rounds, parts in parts, families, protocols; default and named analyses; epsilon,
delta and Renyi divergence. The exact answers are `crowds`, from the definitions (`channels`,
`multimessage.definitions`). `python -m adversary.test_random_questions 20000 0` in tests/ prints
how many were asked, and what was on the wrong side.
"""

import itertools
import random
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from adversary import questions
from adversary.crowds import LONG, Experiment, adaptive, datasets, long
from adversary.neighbours import Neighbours
from adversary.questions import KINDS, ask, exact_rows
from adversary.tally import Tally, violations


@pytest.mark.many(3)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "continuous"])
def test_nothing_on_the_wrong_side(kind):
    tally, rng = Tally(), random.Random(f"quick {kind}")
    # A question of rounds costs some seconds.
    while tally.total < (8 if kind == "rounds" else 50):
        KINDS[kind](rng, tally)
    assert not tally.wrong, tally.wrong[:3]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_nothing_of_twenty_thousand_on_the_wrong_side(seed):
    tally = ask(2000, seed)
    assert tally.total >= 2000
    assert set(tally.asked) >= {"single", "parts", "named", "rounds", "continuous"}
    assert not tally.wrong, tally.wrong[:3]


# ----------------------------------------------------------------- what it is measured with


MECHANISMS = [
    sd.BinaryRR(eps0=1.3),
    sd.KRR(k=3, eps0=2.0),
    sd.Joint([sd.BinaryRR(eps0=0.5), sd.KRR(k=2, eps0=1.0)], hamming=1),
    sd.PoissonSubsample(sd.SubsetSelection(d=3, k=1, eps0=1.0), rate=0.4),
]


def experiment_of(mechanism, n):
    form = mechanism.relation.to_dict()
    return Experiment(datasets(exact_rows(mechanism), n, questions.pairs_of(mechanism, form)))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_long_doubles_agree_with_whole_numbers(mechanism, n):
    form = mechanism.relation.to_dict()
    exact = Neighbours(questions.rows_of(mechanism), n, questions.pairs_of(mechanism, form))
    made = experiment_of(mechanism, n)
    for epsilon in (0.0, 0.1, 0.7, 1.2):
        most, least = exact.worst(epsilon)
        low, high, _ = made.deltas(epsilon)
        assert low <= long(most) * (1 + LONG(2) ** -60)
        assert high >= long(least) * (1 - LONG(2) ** -60)
        assert high - low <= 1e-12


def test_fractions_become_long_doubles():
    rng = random.Random(4)
    for _ in range(200):
        value = Fraction(
            rng.getrandbits(rng.randint(1, 300)), 1 + rng.getrandbits(rng.randint(1, 900))
        )
        found = long(value)
        back = Fraction(*np.longdouble(found).as_integer_ratio())
        assert abs(back - value) <= value * Fraction(1, 1 << 61)


def test_rounds_multiply():
    """Two rounds as one: the product of the laws, pair by pair, in fractions."""
    rows = [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 4), Fraction(3, 4)]]
    laws = datasets(rows, 2, [(0, 1)])
    one = Experiment(laws)
    both = one.times(one, [(i, i) for i in range(len(one))])
    worst = max(
        sum(
            max(p[a] * p[b] - 2 * q[a] * q[b], Fraction(0))
            for a, b in itertools.product({*p, *q}, repeat=2)
        )
        for pair in laws
        for p, q in (pair, pair[::-1])
    )
    low, high, _ = both.deltas(float(np.log(2.0)))
    assert float(low) == pytest.approx(float(worst), rel=1e-12)
    assert low <= high


def test_users_in_a_random_order_are_a_shuffle():
    """With one channel at every position the messages in order say what the histogram says."""
    rows = [[LONG(0.75), LONG(0.25)], [LONG(0.125), LONG(0.875)]]
    inputs = [(x, 0, 1) for x in (0, 1)]
    ordered = Experiment([tuple(adaptive(lambda _: rows, who) for who in inputs)])
    counted = Experiment([tuple(questions.counts_law([rows[x] for x in who]) for who in inputs)])
    for epsilon in (0.0, 0.3, 0.9):
        assert float(ordered.deltas(epsilon)[0]) == pytest.approx(
            float(counted.deltas(epsilon)[0]), rel=1e-12
        )


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
@pytest.mark.parametrize("ask", ["delta", "epsilon", "renyi"])
def test_ends_on_the_wrong_side_are_found(mechanism, ask):
    """An end moved inward beyond the truth by a ten-thousandth of it."""
    made, acc = experiment_of(mechanism, 2), sd.shuffle(mechanism, n=2)
    bound = {
        "delta": lambda: acc.delta(epsilon=0.2),
        "epsilon": lambda: acc.epsilon(delta=1e-2),
        "renyi": lambda: acc.renyi(order=4.0),
    }[ask]()
    assert not list(violations(bound, made, made))
    small = replace(bound, lower=bound.lower * 0.999, upper=bound.lower * 0.9999)
    if ask == "renyi":
        small = replace(bound, lower=0.0, upper=float(made.renyi(4.0)[0]) * 0.9999)
    assert any("upper" in words for words in violations(small, made, made))
    large = replace(bound, lower=bound.upper * 1.0001, upper=bound.upper * 1.001)
    assert any("lower" in words for words in violations(large, made, made))


if __name__ == "__main__":
    found = ask(int(sys.argv[1]), sys.argv[2])
    print(found.total, found.asked, "wrong:", len(found.wrong))
    for entry in found.wrong[:20]:
        print(*entry, sep="\n  ")
    sys.exit(bool(found.wrong))
