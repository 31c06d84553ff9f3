"""Equal values give equal bits, whatever was asked before, of them or of what they came from."""

import random

import pytest

import shuffledp as sd
from objects.examples import NAMES, example
from shuffledp.arithmetic.balls import ctx
from shuffledp.randomizers import Randomizer

# Of each kind of law: atoms, cells, cells and atoms, a tail, several pairs, many inputs, messages.
SOURCES = {
    "k-rr": (sd.KRR(k=10, eps0=4.0), 10_000),
    "few": (sd.KRR(k=3, eps0=1.0), 4),
    "hierarchy": (sd.Hierarchy(domain=64, eps0=2.0), 1000),
    "channel": (sd.Channel([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]), 500),
    "laplace": (sd.Laplace(eps0=2.0), 10_000),
    "gaussian": (sd.Gaussian(sigma=2.0), 1000),
    "discrete": (sd.DiscreteGaussian(top=30, sigma=40.0), 5000),
    "joint": (sd.Joint([sd.Laplace(eps0=1.0), sd.KRR(k=3, eps0=0.5)]), 1000),
    "messages": (sd.PureDUMP(d=8, blankets=5), 1000),
}
# Rounds of these take long.
HEAVY = set(SOURCES) - {"few"}


def questions(name):
    """Questions about one mechanism among n users, and about rounds of it."""
    asked = [lambda a, d=10.0**-k: a.epsilon(delta=d) for k in (3, 6, 8)]
    asked += [lambda a, e=e: a.delta(epsilon=e) for e in (0.01, 0.05, 0.052)]
    asked += [lambda a: a.upper_epsilon(delta=1e-4), lambda a: a.log_upper(0.04)]
    if name not in HEAVY:
        asked += [
            lambda a: a.compose(rounds=4).epsilon(delta=1e-6),
            lambda a: a.compose(rounds=9).delta(epsilon=0.3),
            lambda a: a.compose(rounds=4).epsilon(delta=1e-3),
        ]
    return asked


@pytest.mark.many(14)
@pytest.mark.parametrize("name", [*NAMES, "best privunit"])
def test_pairs_and_data_sets_do_not_depend_on_the_precision(name):
    m = sd.PrivUnit.best(d=10, eps0=2.0) if name == "best privunit" else example(name)
    if not isinstance(m, Randomizer):
        return
    said = []
    for bits in (53, 200):
        with ctx.workprec(bits):
            said.append((m.worst_pairs(), m.datasets()))
    assert repr(said[0]) == repr(said[1])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(s, marks=[] if s in {"k-rr", "messages"} else [pytest.mark.long])
        for s in SOURCES
    ],
)
def test_answers_do_not_depend_on_what_was_asked_before(name):
    m, n = SOURCES[name]
    asked = questions(name)
    alone = [question(sd.shuffle(m, n)) for question in asked]
    for seed in (1,):
        order = list(range(len(asked)))
        random.Random(seed).shuffle(order)
        one = sd.shuffle(m, n)
        for i in order:
            assert asked[i](one) == alone[i], i
