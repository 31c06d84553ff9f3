"""The contour alone, never hidden behind the enumeration, against exact rational arithmetic."""

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from divergence.oracle import assert_inside, ball, positive_part, positive_part_on_lattice, truth
from shuffledp.contour import ONE_ROUND
from shuffledp.contour.integrand import integrand
from shuffledp.divergence import PairProfile, nodes
from shuffledp.divergence.gain import atom_gains
from shuffledp.divergence.nodes import _BulkPowers, _Columns, node_blocks
from shuffledp.divergence.positive_part import GainSum, expected_positive_part
from shuffledp.divergence.tilt import find_tilt, log_expm1, log_moment, tilted_law
from shuffledp.pair import ShuffledPair
from strategies import exact_pair

U = 2.0**-53


def draw(seed, *, largest=30):
    """A small random pair, its atoms as Fractions, eps: two-sided gains."""
    rng = random.Random(seed)
    while True:
        atoms = rng.choice([1, 2, 2, 3])
        n = rng.randint(1, largest if atoms < 3 else min(largest, 24))
        pair, true = exact_pair(
            rng,
            atoms=atoms,
            n=n,
            gamma=rng.choice([1, 1, 0.3, 1e-2, 1e-5]),
            bits=rng.choice([2, 10]),
            outside=rng.random() < 0.5,
        )
        epsilon = rng.choice([0.0, 0.01, 0.1, 0.5, 1.0, 2.0])
        law = atom_gains(pair, epsilon)
        if law.low < 0.0 < law.high and float(law.g.max()) > 0.0:
            return pair, true, epsilon


def bracket(pair, epsilon, width, tilt=None):
    law = atom_gains(pair, epsilon)
    chosen = find_tilt(law, pair.n) if tilt is None else tilt
    return expected_positive_part(law, pair.n, chosen, width=width)[0]


@pytest.mark.many(6)
@pytest.mark.parametrize("seed", range(70))
def test_small_pairs(seed):
    pair, true, epsilon = draw(seed, largest=60 if seed % 7 == 0 else 30)
    exact = truth(true, pair.n, epsilon)
    for width in (1e-2, 1e-5) if seed % 5 else (1e-2, 1e-8):
        assert_inside(bracket(pair, epsilon, width), *exact)
        found = PairProfile(pair).log_delta(epsilon, width=width)
        assert found.width <= width


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_small_pairs_long(seed):
    pair, true, epsilon = draw(seed, largest=60)
    exact = truth(true, pair.n, epsilon)
    for width in (1e-2, 1e-5, 1e-8):
        assert_inside(bracket(pair, epsilon, width), *exact)


# --------------------------------------------------------------------------- all internal regimes


def lattice_pair(rng, *, atoms, n, lost, bits=4, left=0.3):
    """G on a lattice at eps = 0; ``lost`` is the P-mass outside: the mean of G is about -lost."""
    unit = 1 << 16
    whole = [rng.randint(1, 40) for _ in range(atoms)]
    whole = [max(1, int((1 - left) * unit * x / sum(whole))) for x in whole]
    w = [Fraction(x, unit) for x in whole]
    scale = 1 << bits
    true = []
    for share in w:
        b = Fraction(rng.randint(1, scale), scale)
        a = Fraction(rng.randint(0, scale), scale) * (1 if rng.random() < 0.5 else Fraction(1, 2))
        true.append((share, a, b))
    p = 1 - sum(x * a for x, a, _ in true)
    q = 1 - sum(x * b for x, _, b in true)
    # Q's mass is made up by an atom; P's up to ``lost``.
    last = Fraction(1, 4 * scale)
    true.append((last, max(Fraction(0), (p - Fraction(lost)) / last // 1), (q / last) // 1))
    p = 1 - sum(x * a for x, a, _ in true)
    q = 1 - sum(x * b for x, _, b in true)
    total = sum(x for x, _, _ in true)
    assert total < 1
    assert min(p, q) >= 0
    columns = (np.array([float(t[i]) for t in true]) for i in range(3))
    w, a, b = columns
    outside = np.array([[float(p), float(q)]])
    pair = ShuffledPair(w=w, a=a, b=b, n=n, outside=outside, rel=U, leftover=(float(1 - total), U))
    return pair, true


LATTICES = [
    (atoms, n, lost, width)
    for atoms, n in [(3, 60), (3, 300), (5, 500), (40, 100), (200, 40), (1500, 12)]
    for lost in ("0", "1/64", "1/8")
    for width in (1e-2, 1e-5)
]


@pytest.mark.many(4)
@pytest.mark.parametrize(("atoms", "n", "lost", "width"), LATTICES)
def test_lattices(atoms, n, lost, width):
    rng = random.Random(f"{atoms} {n} {lost}")
    pair, true = lattice_pair(rng, atoms=atoms, n=n, lost=Fraction(lost))
    exact = positive_part_on_lattice([(w, a - b) for w, a, b in true], n)
    found = bracket(pair, 0.0, width)
    assert_inside(found, exact)
    if found.width > width:  # an atom on the kink: the profile enumerates then
        assert PairProfile(pair).log_delta(0.0, width=width).width <= width


@pytest.mark.long
@pytest.mark.parametrize(("atoms", "n", "lost"), sorted({case[:3] for case in LATTICES}))
def test_lattices_to_eight_digits(atoms, n, lost):
    rng = random.Random(f"{atoms} {n} {lost}")
    pair, true = lattice_pair(rng, atoms=atoms, n=n, lost=Fraction(lost))
    exact = positive_part_on_lattice([(w, a - b) for w, a, b in true], n)
    assert_inside(bracket(pair, 0.0, 1e-8), exact)


def coin(n, heads):
    """G = +1 with probability heads, else -1 (eps = 0); what P and Q lack is outside."""
    tails = 1 - heads
    return ShuffledPair(
        w=np.array([float(heads), float(tails)]),
        a=np.array([1.0, 0.0]),
        b=np.array([0.0, 1.0]),
        n=n,
        outside=np.array([[float(tails), float(heads)]]),
        rel=U,
        leftover=(0.0, 0.0),
    )


def coin_truth(n, heads):
    """E(2K - n)_+, K binomial, in balls."""
    p, q = ball(heads), ball(1 - heads)
    first = n // 2 + 1
    term = binomial(n, first) * p**first * q ** (n - first)
    total = arb(0)
    for k in range(first, n + 1):
        total += (2 * k - n) * term
        term = term * (n - k) / (k + 1) * p / q
    return total


def binomial(n, k):
    return (arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()).exp()


COINS = [
    (10**3, Fraction(1, 2)),
    (10**4, Fraction(1, 2)),
    (10**4, Fraction(509, 1024)),
    (10**4, Fraction(300, 1024)),
    (3 * 10**4, Fraction(1, 2)),
    (3 * 10**4, Fraction(511, 1024)),
    (3 * 10**4, Fraction(461, 1024)),
    (3 * 10**4, Fraction(520, 1024)),
]


@pytest.mark.parametrize(
    ("n", "heads"),
    COINS[:1] + [pytest.param(*coin, marks=pytest.mark.long) for coin in COINS[1:]],
)
def test_coins(n, heads):
    """Many messages: centred form, middle zone, and tails down to e^-3000."""
    exact = coin_truth(n, heads)
    for width in (1e-2, 1e-5, 1e-8):
        found = bracket(coin(n, heads), 0.0, width)
        assert_inside(found, exact)
        # S = 0 on the kink with probability about n^-1/2: many digits are beyond the contour.
        assert found.width <= max(width, 1e-2)


@pytest.mark.long
@pytest.mark.parametrize("heads", [Fraction(1, 2), Fraction(1023, 2048), Fraction(500, 1024)])
def test_a_million_coins(heads):
    exact = coin_truth(10**6, heads)
    for width in (1e-2, 1e-5, 1e-8):
        assert_inside(bracket(coin(10**6, heads), 0.0, width), exact)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("n", [10**3, 10**4])
def test_perturbed_coins(n, sign):
    """Relative errors of w, a, b in the centred form and the middle zone."""
    rel = 1e-7
    exact = coin_truth(n, Fraction(1, 2))
    pair = coin(n, Fraction(1, 2))
    push = 1.0 + sign * 0.999 * rel
    other = _unchecked(pair, pair.w * push, pair.a * push, pair.b / push, rel)
    assert_inside(bracket(other, 0.0, 1e-7), exact)


def test_the_cases_go_through_every_regime(monkeypatch):
    """Bulk in direct and in centred form, the rare form, the middle zone."""
    seen = set()
    call, stop = nodes._BulkPowers.__call__, GainSum._stop_by_range

    def spied_call(self, x, *, centred):
        seen.add("centred" if centred else "direct")
        return call(self, x, centred=centred)

    def spied_stop(*arguments):
        found = stop(*arguments)
        seen.add("whole contour" if found is None else "middle zone")
        return found

    monkeypatch.setattr(nodes._BulkPowers, "__call__", spied_call)
    monkeypatch.setattr(GainSum, "_stop_by_range", spied_stop)
    for atoms, n, lost, width in LATTICES:
        if atoms > 10 and n > 100:
            continue
        rng = random.Random(f"{atoms} {n} {lost}")
        pair, _ = lattice_pair(rng, atoms=atoms, n=n, lost=Fraction(lost))
        seen.add("rare" if find_tilt(atom_gains(pair, 0.0), n).rare else "bulk")
        bracket(pair, 0.0, width)
    for n, heads in COINS:
        bracket(coin(n, heads), 0.0, 1e-2)
    assert seen == {"rare", "bulk", "middle zone", "whole contour", "centred", "direct"}


# --------------------------------------------------------------------- any tilt gives a valid end


def forced(law, n, tilt, *, rare, alpha):
    """The same kernel with another alpha, and with or without the rare event taken out."""
    log_m, _ = log_moment(law, alpha)
    at = tilted_law(law, n, alpha)
    if rare and at.negative > 0.0:
        scale = n * math.log(at.negative) + log_expm1(at.log_ratio)
        return replace(
            tilt, alpha=alpha, log_m=log_m, log_scale=scale, rare=True, variance=at.variance
        )
    return replace(
        tilt, alpha=alpha, log_m=log_m, log_scale=n * log_m, rare=False, variance=at.variance
    )


@pytest.mark.many(3)
@pytest.mark.parametrize("seed", range(8))
def test_any_tilt_and_either_form(seed):
    pair, true, epsilon = draw(5000 + seed, largest=12)
    exact = truth(true, pair.n, epsilon)
    law = atom_gains(pair, epsilon)
    tilt = find_tilt(law, pair.n)
    for rare in (True, False):
        for factor in (0.5, 1.0, 1.6):
            chosen = forced(law, pair.n, tilt, rare=rare, alpha=factor * tilt.alpha)
            assert_inside(bracket(pair, epsilon, 1e-2, chosen), *exact)


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("lost", ["1/64", "1/8"])
def test_any_unit_of_scale(n, lost):
    """log_m need not be exact: it is only the unit."""
    rng = random.Random(n)
    pair, true = lattice_pair(rng, atoms=3, n=n, lost=Fraction(lost))
    exact = positive_part_on_lattice([(w, a - b) for w, a, b in true], n)
    law = atom_gains(pair, 0.0)
    tilt = forced(law, n, find_tilt(law, n), rare=False, alpha=find_tilt(law, n).alpha)
    for off in (-1.0, 0.3):
        log_m = tilt.log_m + off / n
        moved = replace(tilt, log_m=log_m, log_scale=n * log_m)
        assert_inside(bracket(pair, 0.0, 1e-3, moved), exact)


# ------------------------------------------------------------------------ errors of the input


@pytest.mark.parametrize("rel", [1e-6, 1e-9])
@pytest.mark.parametrize("seed", range(16))
def test_perturbed_pairs_keep_the_true_value(seed, rel):
    """w, a and b moved by up to rel: the bracket is about the true pair."""
    rng = random.Random(f"{seed} {rel}")
    pair, true, epsilon = draw(7000 + seed, largest=20)
    exact = truth(true, pair.n, epsilon)
    style = seed % 4

    def moved(column, sign):
        push = np.array(
            [
                {0: rng.uniform(-1, 1), 1: sign, 2: -sign, 3: rng.choice([-1, 1])}[style]
                for _ in column
            ]
        )
        return column * (1.0 + 0.999 * rel * push)

    other = _unchecked(pair, moved(pair.w, 1), moved(pair.a, 1), moved(pair.b, -1), rel)
    assert_inside(PairProfile(other)._positive_part(epsilon, 1e-5), *exact)
    law = atom_gains(other, epsilon)
    if law.low < 0.0 < law.high and float(law.g.max()) > 0.0:
        assert_inside(bracket(other, epsilon, 1e-5), *exact)


def _unchecked(pair, w, a, b, rel):
    """ShuffledPair insists on sums within 1e-9; the kernel itself does not."""
    other = replace(pair)
    for name, value in (("w", w), ("a", a), ("b", b), ("rel", rel)):
        object.__setattr__(other, name, value)
    return other


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("sign", [-1, 1])
def test_perturbed_lattices(n, sign):
    """The same in the bulk, centred and direct, and in the middle zone."""
    rel = 1e-6
    for lost in ("1/64", "1/8"):
        pair, true = lattice_pair(random.Random(n), atoms=3, n=n, lost=Fraction(lost))
        exact = positive_part_on_lattice([(w, a - b) for w, a, b in true], n)
        push = 1.0 + sign * 0.999 * rel
        other = _unchecked(pair, pair.w * push, pair.a * push, pair.b / push, rel)
        assert_inside(bracket(other, 0.0, 1e-5), exact)


# ------------------------------------------------------------------------------ one-sided laws


@pytest.mark.parametrize("seed", range(30))
def test_one_sided_laws(seed):
    """All gains above 0, or none: the profile answers without the contour."""
    rng = random.Random(seed)
    while True:
        pair, true = exact_pair(rng, atoms=rng.choice([1, 2, 40]), n=rng.randint(1, 6), gamma=0.5)
        epsilon = rng.choice([0.0, 0.3, 3.0])
        up = [a for _, a, b in true if a > 22 * b]
        if len(up) == len(true) or not any(float(a) > float(b) for _, a, b in true):
            break
        pair = None
        keep = (
            [t for t in true if t[1] > 22 * t[2]] if seed % 2 else [t for t in true if t[1] <= t[2]]
        )
        if keep:
            pair, true = rebuilt(keep, rng.choice([1, 2, 5, 10**6]))
            break
    exact = [
        sum((w * max(a - alpha * b, Fraction(0)) for w, a, b in true), Fraction(0)) * pair.n
        for alpha in reversed(_alphas(epsilon))
    ]
    profile = PairProfile(pair)
    assert_inside(profile._positive_part(epsilon, 1e-6), *exact)


def _alphas(epsilon):
    from divergence.oracle import exponential

    return exponential(epsilon)


def rebuilt(true, n):
    p = 1 - sum(w * a for w, a, _ in true)
    q = 1 - sum(w * b for w, _, b in true)
    left = 1 - sum(w for w, _, _ in true)
    w, a, b = (np.array([float(t[i]) for t in true]) for i in range(3))
    return ShuffledPair(
        w=w,
        a=a,
        b=b,
        n=n,
        outside=np.array([[float(p), float(q)]]),
        rel=U,
        leftover=(float(left), U),
    ), true


def test_a_node_sum_is_the_transform():
    """The integrand on its nodes, against M(s)^n in plain complex arithmetic."""
    pair, _, epsilon = draw(3, largest=10)
    law = atom_gains(pair, epsilon)
    n, tilt = pair.n, find_tilt(law, pair.n)
    h, step, count = 0.1 / tilt.alpha, 0.3 * tilt.alpha, 200
    for rare in (True, False):
        chosen = forced(law, n, tilt, rare=rare, alpha=tilt.alpha)
        seen = []
        for found in node_blocks(law, n, chosen, step=step, count=count):
            assert found.first == (not seen)
            assert found.t.flat[0] == 0.0 or seen
            block = integrand(found, ONE_ROUND, chosen.alpha, h)
            rows = zip(
                block.upper.ravel(),
                block.err.ravel(),
                found.t.ravel(),
                np.broadcast_to(found.inside, found.t.shape).ravel(),
                strict=True,
            )
            for upper, err, t, inside in rows:
                if not inside:
                    assert upper == err == 0.0
                    continue
                seen.append(round(t / step))
                assert abs(t - seen[-1] * step) <= 4 * U * t
                s = complex(chosen.alpha, t)
                moment = 1.0 + sum(
                    w * (np.exp(s * g) - 1.0) for w, g in zip(law.w, law.g, strict=True)
                )
                value = moment**n
                if chosen.rare:
                    up = law.active
                    value -= (
                        moment
                        - sum(w * np.exp(s * g) for w, g in zip(law.w[up], law.g[up], strict=True))
                    ) ** n
                value *= math.exp(-chosen.log_scale)
                value *= np.exp(0.5 * (h * s) ** 2 - 0.5 * (h * chosen.alpha) ** 2)
                value *= (chosen.alpha / s) ** 2
                assert abs(value.real - upper) <= 1e-11 * (1.0 + abs(value)) + err
        # Each node once, and the one on the axis, which counts once, at the first place.
        assert sorted(seen) == list(range(count + 1))
        assert seen[0] == 0


def test_exact_arithmetic_of_this_file():
    """The two oracles agree with each other and with a hand count."""
    atoms = [(Fraction(1, 4), Fraction(2)), (Fraction(1, 2), Fraction(-1))]
    # n = 2: sums 4 (1/16), 1 (1/4), 2 (1/8), others <= 0.
    assert positive_part(atoms, 2) == Fraction(4, 16) + Fraction(1, 4) + Fraction(2, 8)
    assert positive_part_on_lattice(atoms, 2) == positive_part(atoms, 2)


def test_masses_that_underflow_do_not_stop_the_search_for_a_tilt():
    """A cell of a far tail may have mass 0 in floating point and the largest gain of all."""
    law = atom_gains(draw(5000, largest=12)[0], 0.1)
    for g in (law.g * 1e3, law.g * 1e120, law.g * 1e-120):
        w = np.where(np.arange(g.size) == int(np.argmax(g)), 0.0, law.w)
        gone = replace(law, g=g, w=w, active=g > 0.0)
        for whole in (False, True):
            for alpha in (1e-200, 1.0, 1e3):
                at = tilted_law(gone, 1000, alpha, whole=whole)
                assert not math.isnan(at.slope + at.variance + at.log_ratio + at.negative)
        assert 0.0 < find_tilt(gone, 1000).alpha < math.inf


def test_powers_lost_in_their_rounding_stay_below_their_error():
    """1 + excess is all error here, so the power says nothing: |value| <= error has to hold."""
    law, n = atom_gains(draw(5000, largest=12)[0], 0.1), 10**6
    tilt = replace(find_tilt(law, n), log_m=-36.0, log_scale=-36.0 * n, rare=False)
    powers = _BulkPowers(law, n, tilt, _Columns(np.zeros(1)))
    for lost in (0.0, 1e-13, 1e-15):
        found = powers._power(np.array([[lost - 1.0 + 0.0j]]), np.array([[1e-13]]), n)
        assert np.all(np.abs(found.value) <= found.err)
