"""The sums of a crowd against all data sets of small ones, from the definition."""

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from crowds.exact import datasets, exact, row
from enumerated import divergence, shuffled
from shuffledp.arithmetic.balls import arb, ctx, fmpq
from shuffledp.bounds.stealing import Numbers, log_delta
from shuffledp.bounds.stealing_cases import Case, Label
from shuffledp.bounds.stealing_cases import Group as Part
from shuffledp.kernel.contour import Contour
from shuffledp.kernel.linear_test import DataSets, LinearTest, advantage
from shuffledp.propose import linear_test
from shuffledp.propose.stealing_solve import FiniteStealing, numbers_of


@pytest.fixture(autouse=True)
def _many_bits():
    with ctx.workprec(128):
        yield


def ball(value):
    return arb(fmpq(value.numerator, value.denominator))


def balls(law):
    return [ball(Fraction(x)) for x in law]


def floats(law):
    return np.array([float(x) for x in law])


def least(rows):
    return [min(column) for column in zip(*rows, strict=True)]


def at_most(truth, bound):
    """Whether a fraction is certainly no more than a ball."""
    return bool(ball(Fraction(truth)) <= bound)


# ------------------------------------------------------------------------------ label stealing


def crowd(rng, size):
    """Groups of random laws, and a victim's pair that is none of them."""
    outputs, zeros = rng.randint(2, 3), rng.random() < 0.3
    groups = [
        (rng.randint(1, 3), [row(rng, outputs, zeros=zeros) for _ in range(rng.randint(1, 2))])
        for _ in range(size)
    ]
    return groups, [row(rng, outputs, zeros=zeros) for _ in range(2)]


def case_of(victim, groups):
    """The case of label stealing, each output a part of its own."""
    first, second = (balls(law) for law in victim)
    leasts = [balls(least(rows)) for _, rows in groups]
    labels = [
        Label(first, second, balls(law), leasts[k], k)
        for k, (_, rows) in enumerate(groups)
        for law in rows
    ]
    members = tuple(Part(n, low) for (n, _), low in zip(groups, leasts, strict=True))
    return Case(leasts[0], first, second, labels, tuple(range(len(first))), groups=members)


def numbers(rng, outputs, size):
    """Any free numbers."""
    alpha = rng.choice((0.1, 0.5, 2.0, 8.0))
    return Numbers(
        tuple(rng.choice((0.0, 0.05, 0.5, 1.0)) for _ in range(outputs)),
        tuple(rng.choice((0.0, rng.random(), 1.0)) for _ in range(outputs)),
        alpha, rng.choice((0.05, 0.3, 3.0)) / alpha, rng.choice((0.1, 1.0, 6.0)) * alpha,
        shares=tuple(rng.choice((1.0, 0.5, 0.2, 0.05)) for _ in range(size)),
    )  # fmt: skip


def users(groups):
    return 1 + sum(count for count, _ in groups)


def proposed(case, n, epsilon):
    """Numbers that a search finds; none where it finds none."""
    plans = FiniteStealing(lambda _: [case], n).searched(epsilon)[1]
    return [numbers_of(plan) for plan in plans]


def check(seed, size):
    """One random crowd: every data set, proposed and random numbers."""
    rng = random.Random(f"{seed} {size}")
    groups, victim = crowd(rng, size)
    epsilon, n = rng.choice((0.0, 0.2, 0.7)), users(groups)
    truth = max(exact(victim, others, epsilon) for others in datasets(groups))
    case = case_of(victim, groups)
    asked = [numbers(rng, len(victim[0]), size) for _ in range(4)]
    if epsilon and rng.random() < 0.3:
        asked += proposed(case, n, epsilon)
    for free in asked:
        found = arb(log_delta([case], [free], n, epsilon)).exp()
        assert at_most(truth, found), (seed, free)
        enough = log_delta([case], [free], n, epsilon, enough=math.log(float(truth) + 0.01))
        assert at_most(truth, arb(enough).exp()), (seed, free)


@pytest.mark.many(10)
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.usefixtures("rough_proposals")
def test_two_groups_all_data_sets(seed):
    check(seed, 2)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.usefixtures("rough_proposals")
def test_three_groups_all_data_sets(seed):
    check(seed, 3)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 5.0])
def test_what_only_the_victim_sends_is_paid_in_full(epsilon):
    """Half of the time a message says what the victim holds, whatever eps is: ``lost``."""
    victim = [[Fraction(1, 2), Fraction(1, 2)], [Fraction(0), Fraction(1)]]
    rows = [[Fraction(0), Fraction(1)], [Fraction(1, 4), Fraction(3, 4)]]
    free = Numbers((0.5, 0.5), (0.5, 0.5), 1.0, 0.2, 0.5, shares=(1.0,))
    bound = arb(log_delta([case_of(victim, [(3, rows)])], [free], 4, epsilon)).exp()
    truth = max(exact(victim, held, epsilon) for held in datasets([(3, rows)]))
    assert truth >= Fraction(1, 2)
    assert at_most(truth, bound)


def binomial(shares):
    law = np.ones(1)
    for p, count in shares:
        for _ in range(count):
            law = np.convolve(law, [1.0 - p, p])
    return law


@pytest.mark.parametrize(("own", "sizes"), [(0, (40, 25)), (1, (40, 25)), (1, (60, 6))])
def test_bits_of_two_kinds_against_all_counts(own, sizes):
    """Every number of ones held in each group; the numbers that are proposed are close."""
    p = [math.exp(e) / (1.0 + math.exp(e)) for e in (1.0, 2.0)]
    rows = [[[x, 1.0 - x], [1.0 - x, x]] for x in p]
    groups = list(zip(sizes, rows, strict=True))
    victim = rows[own][::-1]
    case = case_of(victim, groups)
    for epsilon in (0.15, 0.4):
        truth, a = 0.0, math.exp(epsilon)
        for m in itertools.product(*(range(n + 1) for n in sizes)):
            law = binomial([(q, k) for x, n, k in zip(p, sizes, m, strict=True)
                            for q, k in ((x, k), (1.0 - x, n - k))])  # fmt: skip
            up, here = np.append(0.0, law), np.append(law, 0.0)
            gain = (p[own] - a * (1 - p[own])) * up + ((1 - p[own]) - a * p[own]) * here
            truth = max(truth, float(np.maximum(gain, 0.0).sum()))
        bound = math.exp(
            log_delta([case], proposed(case, users(groups), epsilon), users(groups), epsilon)
        )
        assert truth * (1.0 - 1e-9) <= bound <= truth * math.e


def test_many_choices_are_bounded_together(monkeypatch):
    rng = random.Random(5)
    groups, victim = crowd(rng, 3)
    case, free, n = case_of(victim, groups), numbers(rng, len(victim[0]), 3), users(groups)
    each = log_delta([case], [free], n, 0.2)
    monkeypatch.setattr("shuffledp.bounds.stealing._MOST_CHOICES", 0)
    assert each <= log_delta([case], [free], n, 0.2) + 1e-15


# --------------------------------------------------------------------------------- linear tests


def sets(rng):
    """Two data sets of up to six users, of whom some change."""
    outputs, changed = rng.randint(2, 3), rng.randint(1, 2)
    first, second, *rows = (row(rng, outputs, zeros=rng.random() < 0.2) for _ in range(4))
    counts = [rng.randint(0, 3), rng.randint(1, 2)]
    return first, second, changed, list(zip(rows, counts, strict=True))


@pytest.mark.many(10)
@pytest.mark.parametrize("seed", range(30))
def test_no_test_tells_more_than_the_divergence(seed):
    """Proposed tests and contours, and any others."""
    rng = random.Random(seed)
    first, second, changed, others = sets(rng)
    epsilon = rng.choice((0.0, 0.2, 0.7))
    held = [law for law, count in others for _ in range(count)]
    laws = [shuffled([law] * changed + held) for law in (first, second)]
    truth = divergence(*laws, Fraction(math.exp(epsilon)))
    in_balls = DataSets(balls(first), balls(second), changed, [(balls(r), n) for r, n in others])
    laws = linear_test.Laws(
        floats(first), floats(second), changed,
        np.array([floats(r) for r, n in others if n]), np.array([float(n) for _, n in others if n]),
    )  # fmt: skip
    asked = []
    found = linear_test.propose(laws, epsilon)
    if found is not None:
        asked.append((found.test, found.contour))
    for _ in range(3):
        scores = [rng.choice((-1.0, 0.0, 0.25, 1.0)) for _ in first]
        alpha = rng.choice((0.2, 1.0, 4.0))
        contour = Contour(
            alpha, rng.choice((0.03, 0.3, 2.0)), rng.choice((3.0, 20.0)) / alpha,
            rng.choice((1e-9, 1e-3)), 0.5 * alpha, rng.choice((1.1, 2.0)) * alpha,
        )  # fmt: skip
        asked.append((LinearTest(scores, rng.choice((-2.5, -0.5, 0.5, 1.0, 3.5))), contour))
    for test, contour in asked:
        low = advantage(in_balls, arb(epsilon).exp(), test, contour)
        assert not low > ball(Fraction(truth)), (test, contour)


@pytest.mark.many(8)
@pytest.mark.parametrize("seed", range(25))
def test_of_bits_nothing_is_lost(seed):
    """The proposed test is that of the likelihood ratio, of several users, too."""
    rng = np.random.default_rng(seed)
    counts, changed = rng.integers(1, 200, 2), int(rng.integers(1, 4))
    p, epsilon = rng.uniform(0.1, 0.9, 4), float(rng.choice([0.0, 0.05, 0.2]))
    rows = [np.array([1.0 - q, q]) for q in p]
    law = binomial([(p[2], counts[0]), (p[3], counts[1])])
    first, second = (np.convolve(law, binomial([(q, changed)])) for q in p[:2])
    truth = float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())
    laws = linear_test.Laws(rows[0], rows[1], changed, np.array(rows[2:]), counts.astype(float))
    found = linear_test.propose(laws, epsilon)
    if truth < 1e-200:
        return
    assert found is not None
    in_balls = DataSets(
        balls(rows[0]), balls(rows[1]), changed,
        [(balls(r), int(n)) for r, n in zip(rows[2:], counts, strict=True)],
    )  # fmt: skip
    low = float(advantage(in_balls, arb(epsilon).exp(), found.test, found.contour))
    # The convolutions' own rounding is in the truth.
    assert truth * (1.0 - 1e-6) <= low <= truth * (1.0 + 1e-11)
    assert found.log_delta == pytest.approx(math.log(truth), abs=1e-5)


@pytest.mark.parametrize(("threshold", "above"), [(0.25, 3.0), (0.75, 20.0)])
def test_aliases_of_a_short_period_are_taken_off(threshold, above):
    """The victim's report alone tells: F is 1 between 0 and 1, where the sum meets it twice."""
    pair = DataSets(balls([0, 1]), balls([1, 0]), 1, [(balls([1, 0]), 1)])
    contour = Contour(1.0, 0.02, 0.5, 1e-9, 0.5, above)
    low = advantage(pair, arb(1), LinearTest([0.0, 1.0], threshold), contour)
    assert low <= 1
    fine = replace(contour, period=40.0)
    assert advantage(pair, arb(1), LinearTest([0.0, 1.0], threshold), fine) > 1 - 1e-9


@pytest.mark.parametrize("seed", range(1))
def test_more_users_of_any_group_never_hurt(seed):
    """Upper ends of one crowd at one target, whatever numbers are proposed: within their width."""
    rng = random.Random(seed)
    groups = [(sd.BinaryRR(eps0=rng.choice((0.5, 1.0, 2.0))), rng.randint(200, 900)),
              (sd.BinaryRR(eps0=rng.choice((1.5, 3.0))), rng.randint(200, 900))]  # fmt: skip
    more = [(mechanism, count + rng.randint(50, 900)) for mechanism, count in groups]
    for victim in (0, 1):
        ends = [sd.shuffle(groups=one, victim=victim).epsilon(delta=1e-6) for one in (groups, more)]
        assert ends[1].lower <= ends[0].upper
        assert ends[1].upper <= ends[0].upper * (1.0 + 1e-3)
