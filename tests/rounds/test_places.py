"""Dots that are put one by one where they matter: fewer of them, and never a wrong end."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import log_ndtr

import shuffledp as sd
from shuffledp.neighbours.one_user import REPLACEMENT
from shuffledp.numerics import LogInterval
from shuffledp.rounds import Round, compose
from shuffledp.rounds.aims import Aim, Aims
from shuffledp.rounds.curve import Envelope
from shuffledp.rounds.delta import log_delta
from shuffledp.rounds.dots import upper_pair
from shuffledp.rounds.loss import LossLaw
from shuffledp.rounds.part import _joined_to_0
from shuffledp.rounds.places import flow, places

MU, ROUNDS, DELTA = 0.4, 12, 1e-6


def log_gaussian(mu, eps):
    """log of Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)."""
    first, second = log_ndtr(mu / 2 - eps / mu), eps + log_ndtr(-mu / 2 - eps / mu)
    return float(first + np.log(-np.expm1(second - first)))


class Gaussian:
    """The curve of Gaussian noise, known to 1e-9; estimates may lie."""

    def __init__(self, lie=lambda eps, log: log):
        self.lie, self.asked = lie, []

    def log_delta(self, epsilon, *, width=1.0):
        self.asked.append(epsilon)
        log = log_gaussian(MU, epsilon)
        return LogInterval(log - 1e-9, min(log + 1e-9, 0.0))

    def rough_log_delta(self, epsilon):
        return min(self.lie(epsilon, log_gaussian(MU, epsilon)), 0.0)

    def log_floor(self):
        return -math.inf


def composed(source, *, placed=True, rounds=ROUNDS):
    one = Round(
        "gaussian",
        [[source]],
        (),
        math.inf,
        ("gaussian", MU),
        relation=REPLACEMENT,
        steps=8.0,
        rtol=6e-3,
        placed=placed,
    )
    return compose([one], rounds=rounds)


def exact(rounds=ROUNDS, delta=DELTA):
    low, high = 0.0, 100.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        over = log_gaussian(MU * math.sqrt(rounds), middle) > math.log(delta)
        low, high = (middle, high) if over else (low, middle)
    return high


@pytest.mark.parametrize("rounds", [1, 2, 12, 100])
def test_few_dots_are_as_near_as_was_asked(rounds):
    source = Gaussian()
    truth = exact(rounds)
    upper = composed(source, rounds=rounds).upper_epsilon(delta=DELTA)
    assert truth <= upper <= truth * (1.0 + 7e-4)
    assert len(set(source.asked)) <= 65
    along = Gaussian()
    other = composed(along, placed=False, rounds=rounds).upper_epsilon(delta=DELTA)
    # What dots add falls like the square of their number: by so much fewer are as good.
    squares = len(set(source.asked)) ** 2, len(set(along.asked)) ** 2
    assert squares[0] * (upper - truth) < 0.6 * squares[1] * (other - truth)


def test_delta_is_as_near_too():
    source = Gaussian()
    truth = log_gaussian(MU * math.sqrt(ROUNDS), exact())
    found = composed(source).log_upper(exact())
    # d log delta/d log eps is about 30 there.
    assert truth <= found <= truth + 30 * 1.5e-3
    assert len(set(source.asked)) <= 80


def test_what_chords_add_is_what_is_said():
    """delta of rounds whose dots are those, less the truth: the budget to a factor of two."""
    eps = np.linspace(0.0, 12 * MU, 600)
    fine = upper_pair(eps, np.exp([log_gaussian(MU, e) for e in eps])).forward
    at = exact()
    found = flow(fine, [(fine, ROUNDS - 1)], epsilon=at, tilt=5.0)
    for budget in (1e-3, 1e-2):
        dots = places(found, budget=budget * DELTA / ROUNDS, refine=0)
        law = upper_pair(np.array(dots), np.exp([log_gaussian(MU, e) for e in dots])).forward
        added = delta_of(law, at) / DELTA - 1.0
        assert 0.4 * budget < added < 2.0 * budget


def delta_of(law: LossLaw, eps):
    return math.exp(log_delta([(law, ROUNDS)], eps, width=1e-6).high)


def test_halving_keeps_the_places():
    eps = np.linspace(0.0, 8 * MU, 60)
    law = upper_pair(eps, np.exp([log_gaussian(MU, e) for e in eps])).forward
    found = flow(law, [(law, 3)], epsilon=1.0, tilt=5.0)
    once, twice = (places(found, budget=1e-9, refine=r) for r in (0, 1))
    assert len(twice) == 2 * len(once) - 1
    assert np.allclose(twice[::2], once, rtol=1e-12)
    assert once[0] == 0.0
    assert once[-1] == found.ends[-1]


WRONG = {
    "far too low": lambda eps, log: log - 5.0,
    "lower and lower": lambda eps, log: log - 40.0 * eps,
    "far too high": lambda eps, log: 0.2 * log,
    "flat": lambda eps, log: -4.0,
    "wild": lambda eps, log: -3.0 - 2.0 * math.sin(50.0 * eps),
}


@pytest.mark.parametrize("lie", WRONG.values(), ids=WRONG)
def test_wrong_estimates_make_ends_loose_never_wrong(lie):
    rounds = composed(Gaussian(lie))
    bound = rounds.epsilon(delta=DELTA)
    assert exact() <= bound.upper < math.inf
    assert rounds.log_upper(1.0) >= log_gaussian(MU * math.sqrt(ROUNDS), 1.0)


def test_what_was_asked_before_changes_nothing():
    fresh = composed(Gaussian()).upper_epsilon(delta=DELTA)
    again = composed(Gaussian())
    for eps in (0.3, 1.0, exact() * 1.01):
        again.log_upper(eps)
    again.upper_epsilon(delta=1e-9)
    assert again.upper_epsilon(delta=DELTA) == fresh


def test_a_search_shares_the_dots_of_both_questions():
    """delta at an eps, and eps at that delta: one set of places."""
    source = Gaussian()
    rounds = composed(source)
    rounds.log_upper(2.0 ** (1 / 8))
    log = rounds.log_upper(2.0 ** (1 / 8))
    before = len(set(source.asked))
    rounds.upper_epsilon(delta=math.exp(log))
    assert len(set(source.asked)) == before


class Stolen:
    """A bound beside a group's, its estimate given apart."""

    many = False

    def __init__(self, upper, promised):
        self.upper, self.promised, self.asked = upper, promised, 0

    def log_upper(self, epsilon):
        self.asked += 1
        return self.upper

    def rough(self, epsilon):
        return self.promised

    def reproduced(self, epsilon):
        return None


@pytest.mark.parametrize(("promised", "asked"), [(-0.05, 0), (-0.3, 1), (0.2, 0)])
def test_a_slow_bound_is_not_asked_where_it_promises_next_to_nothing(promised, asked):
    source = Gaussian()
    log = log_gaussian(MU, 0.3)
    stolen = Stolen(log - 0.3, log + promised)
    found = Envelope([[source]], stolen, slow=True).log_delta(0.3, width=1.0)
    assert stolen.asked == asked
    assert found.high == (log - 0.3 if asked else min(log + 1e-9, 0.0))
    # Where it is quick it is.
    Envelope([[source]], stolen).log_delta(0.3, width=1.0)
    assert stolen.asked == asked + 1


def test_eps_ends_where_delta_meets_the_target():
    """It ended up to 6e-4 beyond, and a search for a parameter had to step inward by as much."""
    rounds = composed(Gaussian())
    upper = rounds.upper_epsilon(delta=DELTA)
    assert rounds.log_upper(upper * (1.0 - 1e-4)) > math.log(DELTA)


def test_dots_are_placed_for_slow_curves_where_estimates_serve():
    slow = sd.shuffle(sd.Laplace(eps0=1.0), n=1000).as_round()
    quick = sd.shuffle(sd.KRR(k=3, eps0=1.0), n=1000).as_round()
    assert slow.placed
    assert not quick.placed
    aims = Aims([(slow, 4)], 6e-3)
    assert not Aims([(quick, 4)], 6e-3).serve(-20.0)
    # Of four rounds: one has a quarter of delta, and levels are e^-14 below that.
    target = math.log(1e-11)
    assert aims.serve(target + 0.4 - math.log(4) - 14.0)
    assert not aims.serve(target + 0.3 - math.log(4) - 14.0)
    for level, some in ((-30.0, True), (-60.0, False)):
        assert bool(aims.places(0, level, 0, Aim(aims.tilt_at(0.3, level), 0.3))) is some


def test_a_first_gap_is_filled_for_lower_laws():
    filled = _joined_to_0((0.0, 8.0, 8.1, 9.0))
    assert filled[0] == 0.0
    assert filled[-3:] == (8.0, 8.1, 9.0)
    assert list(filled) == sorted(set(filled))
    assert max(b / a for a, b in itertools.pairwise(filled[1:])) <= 2.0
    for known in ((), (0.0, 1.0), (0.0, 1.0, 2.0, 3.0)):
        assert _joined_to_0(known) == known


@pytest.mark.long
def test_one_round_of_narrow_noise_has_a_lower_end():
    """All dots were around its eps, from where nothing was known down to 0: the end was 0."""
    asked = sd.shuffle(sd.Gaussian(sigma=0.4), 1000, rtol=1e-3)
    one, composed = asked.epsilon(delta=1e-6), asked.compose(rounds=1).epsilon(delta=1e-6)
    assert 0.99 * one.lower <= composed.lower <= one.upper
