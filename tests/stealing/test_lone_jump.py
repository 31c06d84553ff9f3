"""The bound with one large gain kept whole: enumeration, the theorem as printed, and end to end."""

from __future__ import annotations

import itertools
import math
import random

import pytest

import shuffledp as sd
from shuffledp.arithmetic.balls import arb, ctx, more_bits
from shuffledp.bounds.around_jumps import Around, Place
from shuffledp.bounds.covers import Cover, Row, Share
from shuffledp.bounds.lone_jump import Laws, Type, bound_of, laws_of, log_delta_with_jump
from shuffledp.bounds.stealing import Numbers
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel.positive_sum import Atom, Line
from shuffledp.propose.lone_jump_ends import LoneJump
from stealing.interval_noise import GOOD, least_delta, outputs, simple_cover
from stealing.one_jump import At, Law, Printed, random_laws, worst_f

# Of labels worth less than a tenth of the most, none is in the group with jumps.
FEW = 0.1


def law_in_balls(law: Law) -> list[tuple[arb, arb]]:
    return [(arb(m), arb(x)) for m, x in law]


def laws_in_balls(common: Law, types: list[Law], sure: float = 0.0) -> Laws:
    made = [Type(law_in_balls(law), law_in_balls(law), arb(0)) for law in types]
    hidden = sum((arb(m) for m, _ in common), arb(0))
    return Laws(law_in_balls(common), hidden, made, [], arb(sure))


def line_of(alpha: float, smoothing: float) -> Line:
    step = 0.05 * alpha
    return Line(alpha, smoothing, step, math.ceil(6.0 / (smoothing * step)), 1e-9)


def random_around(rng: random.Random, cut: float) -> Around:
    """Any places from C on, room and floor."""
    gains = sorted(rng.uniform(cut, cut + 8.0) for _ in range(rng.randint(0, 4)))
    places = [
        Place(gain, math.exp(rng.uniform(-3.0, 0.3)), math.exp(rng.uniform(-4.0, 1.0)), forward)
        for gain in (cut, *gains)
        for forward in rng.choice([(True,), (True, False)])
    ]
    return Around(tuple(places), rng.choice([0.0, 0.7, 50.0]), rng.choice([1.0, 1.5, 10.0]))


# ---------------------------------------------------------------------------------- the theorem


def check(rng: random.Random, settings: int) -> list[float]:
    """log of the bound over the largest F of all data sets; it is never negative."""
    common, types = random_laws(rng)
    n = rng.randint(3, 5)
    truth = math.log(worst_f(common, types, n - 1))
    found = []
    for _ in range(settings):
        cut = rng.choice([0.0, 0.5, 1.5, 2.5, 5.0])
        alpha = math.exp(rng.uniform(-2.0, 0.3))
        with ctx.workprec(96):
            value = bound_of(
                laws_in_balls(common, types),
                arb(cut),
                n,
                random_around(rng, cut),
                line_of(alpha, math.exp(rng.uniform(-2.0, 0.0)) / alpha),
            )
        gap = float(value.log().lower()) - truth
        assert gap >= -1e-12, (common, types, n, cut)
        found.append(gap)
    return found


def test_above_f_for_every_data_set() -> None:
    rng = random.Random(1)
    found = [gap for _ in range(12) for gap in check(rng, 3)]
    assert min(found) < 0.8


@pytest.mark.long
def test_above_f_for_every_data_set_many() -> None:
    rng = random.Random(2)
    assert len([gap for _ in range(150) for gap in check(rng, 5)]) == 750


def toy(rng: random.Random) -> tuple[Law, list[Law], int, float]:
    """A reservoir, two types with jumps and one or none without: each term matters in some."""
    share, n = rng.uniform(0.05, 0.3), rng.randint(4, 30)
    loss, seldom = rng.choice([0.2, 1.0]), rng.choice([0.003, 0.03])
    rare = rng.choice([0.0, 0.01])
    # Next to C, and far beyond all places.
    jump, cut = rng.choice([4.0, 12.0]), rng.choice([3.0, 3.5])
    common = [(share - rare, -loss), (rare, jump)]
    types = [
        [(0.8 - share - part, -loss), (0.15, 0.3 * loss), (0.05, bend), (part, jump)]
        for bend, part in ((0.0, 0.97 * seldom), (-0.1, seldom))
    ]
    if rng.random() < 0.7:
        types.append([(0.6 - share, -loss), (0.4, 1.2 * loss)])
    rng.shuffle(types)
    return common, types, n, cut


@pytest.mark.many(8)
@pytest.mark.parametrize("seed", range(16))
def test_the_bound_is_that_of_the_theorem(seed: int) -> None:
    rng = random.Random(seed)
    common, types, n, cut = toy(rng)
    gains = (cut, cut + 1.0, cut + 5.0)
    forward, back = rng.choice([0.05, 0.15]), rng.choice([0.1, 0.4])
    ways = rng.choice([(True,), (True, False)])
    places = tuple((x, forward if way else back, way) for x in gains for way in ways)
    alpha = rng.choice([0.1, 0.3])
    at = At(places, rng.choice([0.5, 9.0]), alpha, 0.2 / alpha)
    want = Printed(common, types, n, at, FEW).value()
    made = Around(
        tuple(Place(x, tilt, min(0.2 * tilt, 0.02), way) for x, tilt, way in places), at.floor, 1.0
    )
    sure = rng.choice([0.0, 0.5])
    with ctx.workprec(96):
        laws = laws_in_balls(common, types, sure)
        found = float(bound_of(laws, arb(cut), n, made, line_of(alpha, at.smoothing)))
    # Between places h rises by no more than 1/N, which chords need not know.
    assert found <= (want + sure) * 1.01
    # Among few users the sum is sharper than psi^n/n of the theorem (theory-crowds.md, 3.1).
    assert found >= (want + sure) * 0.8


@pytest.mark.parametrize("seed", [4, 5])
def test_what_is_seen_beside_labels_is_paid(seed: int) -> None:
    common, types, n, cut = toy(random.Random(seed))
    around = Around((Place(cut, 0.1, 0.02, forward=True),), 9.0, 1.0)
    with ctx.workprec(96):
        laws = laws_in_balls(common, types)
        paid = laws._replace(types=[one._replace(lost=arb("0.25")) for one in laws.types])
        both = [
            float(bound_of(one, arb(cut), n, around, line_of(0.1, 2.0))) for one in (laws, paid)
        ]
    assert both[1] - both[0] == pytest.approx(0.25, rel=1e-9)


# --------------------------------------------------------------------------------- noise


@pytest.mark.parametrize("width", [0.5, 1.0])
@pytest.mark.parametrize("eps", [0.02, 0.3, 0.8])
def test_never_below_the_worst_data_set(width: float, eps: float) -> None:
    """Three users; random and absurd free numbers, places and covers."""
    rng = random.Random(int(1000 * eps + width))
    others = list(itertools.combinations_with_replacement((0.0, 0.3, 1.0), 2))
    pairs = [(1.0, 0.0), (0.0, 1.0), (1.0, 0.4), (0.4, 1.0)]
    true = max(least_delta(x, pair, eps, width, normal=True) for x in others for pair in pairs)
    at = outputs(width, normal=True)
    for trial in range(5):
        cut, alpha = math.exp(rng.uniform(-3.0, 3.0)), math.exp(rng.uniform(-5.0, 1.0))
        share, join = rng.uniform(0.05, 0.95), rng.uniform(0.05, 0.95)
        one = Numbers((share,), (join,), alpha, 0.3 / alpha, 0.3 * alpha, cut)
        eta = tuple(rng.uniform(0.05, 0.9) for _ in range(4))
        made = simple_cover(width, normal=True, cells=36)
        made = made._replace(
            first=Row(made.first.places, eta), second=Row(made.first.places, eta[::-1])
        )
        if trial == 0:
            made = made._replace(third=())
            true = max(
                least_delta(x, pair, eps, width, normal=True)
                for x in itertools.combinations_with_replacement((0.0, 1.0), 2)
                for pair in pairs[:2]
            )
        around = random_around(rng, cut)
        with ctx.workprec(80):
            found = log_delta_with_jump(at, made, around, one, 3, eps, two_inputs=trial == 0)
        assert found >= math.log(true) - 1e-9


def stop_loss(law: list[Atom], at: arb) -> arb:
    return sum((mass * (gain - at).max(arb(0)) for mass, gain in law), arb(0))


@pytest.mark.parametrize("middle", [0.2, 0.5, 0.823])
def test_laws_of_the_others_are_above_those_of_labels(middle: float) -> None:
    """In increasing convex order, also where a gain turns near one end of a cell."""
    width, grow, place = 1.356416, 17.67877, 0.00940943
    turn = width * width * math.log(grow * place) / (1 - place) + (1 + place) / 2
    left, cell = turn - 0.0047595, 0.0094977
    edges = (left - 20, left - width, left, left + middle * cell, left + cell, left + 3, left + 22)
    row = Row((0.0, place, 1.0), (0.3, 0.3))
    cover = Cover(edges, tuple(sorted({*edges, 0.5})), edges, row, row, (0.0, 0.5))
    with ctx.workprec(120):
        share = Share(arb(0.3), arb(0.4))
        made = laws_of(outputs(width, normal=True), cover, arb(grow).log(), share, 10)
        for one in made.types:
            for _, at in (*one.atoms, *one.rough):
                above = stop_loss(one.rough, at) * (1 + arb(2) ** -80)
                assert stop_loss(one.atoms, at) <= above + arb(2) ** -80


AROUND = Around((Place(3.0, 0.1, 0.1, forward=True),), 5.0, 1.0)
NUMBERS = Numbers((0.2,), (0.2,), 0.1, 3.0, 0.03, 3.0)


@pytest.mark.parametrize(
    "bad",
    [
        AROUND._replace(places=()),
        AROUND._replace(places=(AROUND.places[0]._replace(gain=2.0),)),
        AROUND._replace(places=(AROUND.places[0]._replace(gain=4.0),)),
        AROUND._replace(places=(AROUND.places[0]._replace(tilt=0.0),)),
        AROUND._replace(places=(AROUND.places[0]._replace(step=math.nan),)),
        AROUND._replace(places=(AROUND.places[0]._replace(gain=math.nan),)),
        AROUND._replace(places=(AROUND.places[0], AROUND.places[0]._replace(gain=math.inf))),
        AROUND._replace(floor=-1.0),
        AROUND._replace(floor=math.nan),
        AROUND._replace(room=0.5),
        AROUND._replace(room=math.nan),
    ],
)
def test_places_that_are_none_are_refused(bad: Around) -> None:
    with ctx.workprec(80), pytest.raises(NotCertified, match="lone-jump"):
        log_delta_with_jump(outputs(1.0, normal=True), GOOD, bad, NUMBERS, 5, 0.3, two_inputs=False)


def test_numbers_out_of_range_are_refused() -> None:
    at = outputs(1.0, normal=True)
    for numbers, n, eps in (
        (NUMBERS, 2, 0.3),
        (NUMBERS, 5, math.nan),
        (NUMBERS, 5, -0.1),
        (NUMBERS._replace(ceiling=None), 5, 0.3),
        (NUMBERS._replace(share=(1.0,)), 5, 0.3),
    ):
        with pytest.raises(ParameterError):
            log_delta_with_jump(at, GOOD, AROUND, numbers, n, eps, two_inputs=False)
    at, made = outputs(1.0, normal=False), simple_cover(1.0, normal=False)
    with pytest.raises(ParameterError):
        log_delta_with_jump(at, made, AROUND, NUMBERS, 5, 0.3, two_inputs=False)


# ------------------------------------------------------------------------------ end to end

GAUSSIAN = sd.Gaussian(sigma=1.0)


@pytest.mark.long
def test_an_end_holds_with_more_bits() -> None:
    target = math.log(1e-6)
    end = LoneJump(GAUSSIAN, 1_000).epsilon(target, cap=4.0)
    assert end is not None
    with more_bits(64):
        again = LoneJump(GAUSSIAN, 1_000).epsilon(target, cap=4.0)
    assert again is not None
    assert again.epsilon == pytest.approx(end.epsilon, rel=2e-4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("sigma", "n", "delta", "gap"),
    [
        (1.0, 1_000, 1e-6, 0.013),
        (1.0, 10_000, 1e-12, 0.006),
        (0.5, 10**7, 1e-6, 0.009),
    ],
)
def test_ends_meet_for_a_delta(sigma: float, n: int, delta: float, gap: float) -> None:
    account = sd.shuffle(sd.Gaussian(sigma=sigma), n=n)
    bound = account.epsilon(delta=delta)
    assert bound.upper_theorem is not None
    assert bound.upper_theorem.key == "lone-jump"
    assert bound.lower < bound.upper <= (1.0 + gap) * bound.lower


@pytest.mark.long
def test_ends_meet_where_single_reports_decide() -> None:
    """The blanket is 7 % above the lower end here."""
    account = sd.shuffle(sd.Gaussian(sigma=0.7), n=10_000)
    bound = account.delta(epsilon=0.158)
    assert bound.upper_theorem is not None
    assert bound.upper_theorem.key == "lone-jump"
    assert bound.log_lower is not None
    assert bound.log_upper is not None
    assert bound.log_lower < bound.log_upper <= bound.log_lower + 0.2
    assert account.seen.bound("delta", 0.158) == bound
    checked = account.seen.bound("delta", 0.158, closing=False)
    assert checked.upper_theorem is not None
    assert checked.upper_theorem.key != "lone-jump"
    assert checked.upper > bound.upper


def test_only_where_ratios_have_no_bound() -> None:
    with pytest.raises(NotCertified, match="lone-jump"):
        sd.shuffle(sd.Laplace(eps0=2.0), n=1000).epsilon(delta=1e-6, analysis="lone-jump")
    with pytest.raises(NotCertified, match="unbounded"):
        LoneJump(sd.Laplace(eps0=2.0), 1000)


def test_two_users_have_no_such_bound() -> None:
    made = LoneJump(GAUSSIAN, 2)
    assert made.epsilon(-10.0, cap=1.0) is None
    assert made.log_delta(0.5) is None


def test_silent_jumps_lose_nothing() -> None:
    """They are at gain 0: with one jump a data set, and gains of order one, that is seen."""
    common, types, n = [(0.1, -0.005)], [[(0.85, -0.005), (0.05, 1.0)]], 20
    at = At(((0.5, 0.8, True), (1.0, 0.8, True)), 5.0, 0.8, 0.1)
    want = Printed(common, types, n, at, FEW).value()
    made = Around(tuple(Place(x, t, 0.1 * t, way) for x, t, way in at.places), 5.0, 1.0)
    with ctx.workprec(96):
        laws = laws_in_balls(common, types)
        found = float(bound_of(laws, arb(0.5), n, made, line_of(at.alpha, at.smoothing)))
    assert 0.97 * want <= found <= 1.03 * want
