"""Bounds on |phi| of laws with a continuous part: against |phi| itself, and against the proof.

The proof's bound is computed again from the exact masses of a law that fits the cells; what the
library subtracts from 1 may never be more.
"""

import math

import numpy as np
import pytest

from divergence.oracle import ball
from shuffledp.contour.stop import RATIO
from shuffledp.divergence.decay import Decay, SplitDecay
from shuffledp.divergence.gain import CellGains


def cells_of(w, low, high, *, mean=None, err=0.0):
    w, low, high = (np.array(x, dtype=float) for x in (w, low, high))
    mean = 0.5 * (low + high) if mean is None else np.array(mean, dtype=float)
    zero = np.zeros_like(w)
    return CellGains(w, mean, low, high, zero + err, float((w * mean).sum()), 0.0, zero, zero)


def tilted(atoms, alpha):
    """Masses of atoms (w, g) under the tilt, and log M; what is missing to mass 1 sits at 0."""
    w, g = np.array(atoms, dtype=float).T
    rest = 1.0 - w.sum()
    rise = w * np.exp(alpha * g)
    total = rise.sum() + rest
    return rise / total, g, rest / total, math.log(total)


def modulus(atoms, alpha, t):
    p, g, rest, _ = tilted(atoms, alpha)
    return abs(complex((p * np.exp(1j * t * g)).sum()) + rest)


def fitting(rng, cells, alpha):
    """Atoms inside the cells with the cells' masses and (plain) means: the adversary's choice."""
    atoms = []
    for w, low, high, mean in zip(cells.w, cells.low, cells.high, cells.mean, strict=True):
        style = rng.integers(4)
        if style == 0 or high == low:
            atoms.append((w, mean))
            continue
        share = (mean - low) / (high - low)
        left, right = low, high
        if style == 2:
            left = mean - (mean - low) * rng.random()
            share = (mean - left) / (right - left) if right > left else 0.0
        if style == 3:
            right = mean + (high - mean) * rng.random()
            share = (mean - left) / (right - left) if right > left else 0.0
        atoms += [(w * (1 - share), left), (w * share, right)]
    return [a for a in atoms if a[0] > 0.0]


def random_cells(rng, count, spread, *, lattice=False):
    if lattice:
        start = rng.integers(-5, 6, count) * spread / 5
        width = np.zeros(count)
    else:
        start = np.sort(rng.normal(size=count) * spread)
        width = rng.random(count) * spread * 10.0 ** rng.uniform(-4, -1)
    w = rng.random(count) ** 2
    w *= rng.choice([1.0, 0.5, 0.05]) / w.sum()
    mean = start + width * rng.choice([0.1, 0.5, 0.9])
    return cells_of(w, start, start + width, mean=mean)


@pytest.mark.many(14)
@pytest.mark.parametrize("seed", range(60))
def test_modulus_is_below_its_bound(seed):
    """Lattices as well, where |phi| comes back to 1."""
    rng = np.random.default_rng(seed)
    cells = random_cells(rng, int(rng.choice([2, 5, 60, 700])), 1.0, lattice=seed % 3 == 0)
    for alpha in (1e-3, 0.05, 1.0):
        atoms = fitting(rng, cells, alpha)
        *_, log_m = tilted(atoms, alpha)
        decay = Decay(cells, rel=1e-12, alpha=alpha, log_m=log_m + 1e-12)
        for t in 10.0 ** rng.uniform(-1.5, 3.0, 12):
            bound = decay.log_modulus(float(t))
            assert bound <= 0.0
            for at in t * np.linspace(1.0, RATIO, 7):
                assert modulus(atoms, alpha, at) <= math.exp(bound) * (1 + 1e-12)
            assert decay.log_power(float(t), 50) == 50 * bound


def proof(atoms, alpha, t, cut, first=0.0):
    """1 - sum mu (1 - sqrt(1 - 4 t^2 V/pi^2)) over windows [first + k cut, first + (k + 1) cut)."""
    p, g, _, _ = tilted(atoms, alpha)
    windows = np.floor((g - first) / cut + 1e-9)
    drop = 0.0
    for k in np.unique(windows):
        inside = windows == k
        mu = p[inside].sum()
        m = (p[inside] * g[inside]).sum() / mu
        v = (p[inside] * (g[inside] - m) ** 2).sum() / mu
        drop += mu * (1.0 - math.sqrt(max(1.0 - 4.0 * t * t * v / math.pi**2, 0.0)))
    return drop


@pytest.mark.parametrize("seed", range(30))
def test_what_is_subtracted_is_never_more_than_the_proof_allows(seed):
    """Points for cells: windows hold the same atoms for the library and for the proof."""
    rng = np.random.default_rng(100 + seed)
    count = int(rng.choice([2, 4, 20]))
    sharp = False
    for alpha in (1e-4, 0.2):
        t = float(10.0 ** rng.uniform(-1, 1))
        cut = math.pi / (RATIO * t * (1.0 + 1e-12))
        place = (rng.integers(-3, 3, count) + rng.choice([0.001, 0.3, 0.97], count)) * cut
        place += 1e-3 * cut * rng.random(count)
        place = np.sort(place)
        w = rng.random(count) / count
        cells = cells_of(w, place, place)
        atoms = list(zip(w, place, strict=True))
        *_, log_m = tilted(atoms, alpha)
        decay = Decay(cells, rel=0.0, alpha=alpha, log_m=log_m)
        drop = -math.expm1(decay.log_modulus(t))
        allowed = proof(atoms, alpha, t, cut, place[0])
        # The variance is known up to the tilt inside a cell: a factor e^-0.02 of it is given up.
        assert drop <= allowed * (1.0 - 1e-6)
        sharp = sharp or (allowed > 0.0 and drop >= 0.97 * allowed) or allowed < 1e-3
    assert sharp


@pytest.mark.parametrize("shrink", [0.1, 0.4, 0.5])
@pytest.mark.parametrize("alpha", [0.02, 0.3])
def test_means_may_be_off_within_a_cell(shrink, alpha):
    """Two cells of the widest tilt step: their true tilted means are nearer than the plain ones."""
    step = 0.019 / alpha
    for gap in (2.0 * step, 20.0 * step):
        low = np.array([0.0, gap])
        cells = cells_of([0.5, 0.5], low, low + step, mean=low + shrink * step, err=0.25 * step)
        # Plain means off by ``err``, towards each other.
        true = [(0.5, shrink * step + 0.25 * step), (0.5, gap + shrink * step - 0.25 * step)]
        *_, log_m = tilted(true, alpha)
        decay = Decay(cells, rel=0.0, alpha=alpha, log_m=log_m)
        for t in (0.3 / gap, 1.0 / gap, 2.0 / gap):
            cut = math.pi / (RATIO * t * (1.0 + 1e-12))
            drop = -math.expm1(decay.log_modulus(t))
            assert drop <= proof(true, alpha, t, cut)


def one_cell(windows, size, *, t=1.0):
    """A uniform cell ``windows`` windows of a period below 0, ``size`` windows long."""
    window = 2.0 * math.pi / (RATIO * t)
    low = np.array([-windows * window])
    high = low + size * window
    zero = np.zeros(1)
    mean = 0.5 * (low + high)
    density = 1.0 / (high - low)
    return CellGains(np.ones(1), mean, low, high, zero, 0.0, 0.0, zero, zero, density=density)


@pytest.mark.parametrize("windows", [0.5, 1e3, 3e11, 1e12 + 0.3, 4e12 + 0.3, 2.0**49])
@pytest.mark.parametrize("size", [0.5, 0.97, 1.4307, 2.3])
def test_windows_far_below_0_are_no_longer_than_they_may_be(windows, size):
    """A cell longer than the window says nothing, wherever it lies; a pad on its place would."""
    cells = one_cell(windows, size)
    length = float(cells.high[0] - cells.low[0])
    alpha = 1e-3 / (windows + 2.0)
    truth = -alpha * windows * 2.0 * math.pi / RATIO
    decay = Decay(cells, rel=0.0, alpha=alpha, log_m=truth + 0.05)
    for u in np.linspace(1.0, RATIO, 40):
        half = 0.5 * u * length
        assert abs(math.sin(half) / half) <= math.exp(decay.log_modulus(1.0))
    fits = length <= 2.0 * math.pi / RATIO
    assert (decay._by_density(1.0) > 0.0) == fits


@pytest.mark.parametrize("windows", [0.0, 1e6, 1e12, 2.0**52, 2.0**54])
def test_places_far_from_0_keep_their_variance(windows):
    """Two points half a window apart: far out their rounded mean would be windows away."""
    cut = math.pi / RATIO
    far = -windows * cut
    place = far + np.array([0.0, 0.5 * cut]) if windows < 2.0**50 else np.array([far, far])
    cells = cells_of([0.5, 0.5], place, place, mean=place)
    alpha = 1e-3 / (windows + 2.0)
    atoms = [(0.5, place[0]), (0.5, place[1])]
    *_, log_m = tilted(atoms, alpha)
    drop = -math.expm1(Decay(cells, rel=0.0, alpha=alpha, log_m=log_m).log_modulus(1.0))
    allowed = proof(atoms, alpha, 1.0, cut * (1.0 + 1e-9), place[0])
    assert drop <= allowed
    # Beyond 1e10 windows the rounding of merged means is given up in full.
    assert windows > 1e7 or drop >= 0.95 * allowed


def test_small_losses_keep_their_digits():
    """n = 1e15 messages: what is lost is about 1/n, and 1 - sqrt(1 - x) would round it by u."""
    for spread in (1e-9, 3.3e-9, 1.05e-8):
        place = np.array([0.0, 2.0 * spread])
        cells = cells_of([0.5, 0.5], place, place, mean=place)
        decay = Decay(cells, rel=0.0, alpha=1e-6, log_m=1e-6 * spread)
        allowed = mpf_lost(spread)
        assert -decay.log_power(1.0, 10**15) <= 1e15 * allowed
        assert -decay.log_power(1.0, 10**15) >= 0.95e15 * allowed


def mpf_lost(spread):
    """1 - sqrt(1 - (2 s/pi)^2), from its series."""
    x = (2.0 * spread / math.pi) ** 2
    return 0.5 * x * (1.0 + 0.25 * x)


def test_masses_may_be_smaller_by_their_relative_error():
    for rel in (1e-3, 1e-2):
        low = np.array([0.0, 1.0])
        cells = cells_of(np.array([0.5, 0.5]) * (1.0 + rel), low, low)
        atoms = [(0.5, 0.0), (0.5, 1.0)]
        *_, log_m = tilted(atoms, 1e-3)
        decay = Decay(cells, rel=1.01 * rel, alpha=1e-3, log_m=log_m)
        for t in (0.5, 1.0, 2.0):
            drop = -math.expm1(decay.log_modulus(t))
            assert drop <= proof(atoms, 1e-3, t, math.pi / (RATIO * t))


def test_unequal_errors_of_masses_move_the_variance():
    """One mass too large, the other too small: the variance of their window is below."""
    rel = 5e-3
    place = np.array([0.0, 1.0])
    for share in (0.1, 0.5, 0.9):
        true = np.array([1.0 - share, share])
        for sign in (-1.0, 1.0):
            given = true * (1.0 + sign * rel * np.array([1.0, -1.0]))
            cells = cells_of(given, place, place)
            atoms = list(zip(true * 0.999, place, strict=True))
            *_, log_m = tilted(atoms, 1e-3)
            decay = Decay(cells, rel=2 * rel, alpha=1e-3, log_m=log_m)
            for t in (0.5, 1.0, 2.0):
                drop = -math.expm1(decay.log_modulus(t))
                assert drop <= proof(atoms, 1e-3, t, math.pi / (RATIO * t))


@pytest.mark.parametrize("n", [2, 31, 1000])
@pytest.mark.parametrize("part", [1e-6, 0.01, 0.2])
def test_split_decay(n, part):
    """|M^n - M_s^n| on the axis and off it, in units of the scale, however the scale is chosen."""
    rng = np.random.default_rng(5)
    place = np.sort(rng.normal(size=300)) * 0.5 - 0.1
    w = np.full(300, (1.0 - part) / 300)
    cells = cells_of(w, place, place)
    alpha = 0.4
    large = 3.0
    small_m = float((w * np.exp(alpha * place)).sum())
    up = part * math.exp(alpha * large)
    for scale in (0.0, 7.0, n * math.log(small_m + up)):
        bound = SplitDecay(
            Decay(cells, rel=1e-13, alpha=alpha, log_m=math.log(small_m + up)),
            log_small=math.log(small_m + up),
            log_part=math.log(up),
            log_scale=scale,
        )
        for t in (0.01, 0.5, 2.0, 9.0):
            most = bound.log_power(t, n)
            for at in np.linspace(t, RATIO * t, 5):
                s = alpha + 1j * at
                below = complex((w * np.exp(s * place)).sum())
                whole = below + part * np.exp(s * large)
                gap = abs(whole**n - below**n)
                assert gap == 0.0 or math.log(gap) - scale <= most + 1e-12


def test_split_decay_in_closed_form():
    """Nothing known of the small part: n V (M_s + V)^(n-1)."""
    cells = cells_of([0.5], [0.0], [0.0])
    for n, log_small, log_part, scale in ((1, 0.1, -2.0, 0.3), (9, -0.5, -1.0, -4.0)):
        decay = Decay(cells, rel=0.0, alpha=0.1, log_m=log_small)
        bound = SplitDecay(decay, log_small=log_small, log_part=log_part, log_scale=scale)
        exact = math.log(n) + log_part - scale
        exact += (n - 1) * math.log(math.exp(log_small) + math.exp(log_part))
        assert exact <= bound.log_power(1.0, n) + 1e-14 * abs(exact) + 1e-15
        assert bound.log_power(1.0, n) <= exact + 1e-9
    assert SplitDecay(decay, log_small=800.0, log_part=0.0, log_scale=0.0).log_power(1.0, 3) > 1e3


@pytest.mark.parametrize("n", [10**6, 10**12, 10**15])
@pytest.mark.parametrize("log_small", [-3e-16, 4.4e-16, 1e-9, 0.37, -0.37])
@pytest.mark.parametrize("log_part", [-40.0, -36.6, -30.0, -1.0])
def test_split_decay_of_many_messages(n, log_small, log_part):
    """n V (M_s + V)^(n-1) in balls: the sum M_s + V, rounded, would be off by u, n times."""
    cells = cells_of([0.5], [0.0], [0.0])
    decay = Decay(cells, rel=0.0, alpha=0.1, log_m=log_small)
    scale = (n - 1) * log_small
    bound = SplitDecay(decay, log_small=log_small, log_part=log_part, log_scale=scale)
    size = (ball(log_small).exp() + ball(log_part).exp()).log()
    exact = ball(n).log() + ball(log_part) + (n - 1) * size - ball(scale)
    found = bound.log_power(1.0, n)
    assert exact <= ball(found)
    assert found <= float(exact.mid()) + 1e-13 * n * (abs(log_small) + math.exp(log_part)) + 1e-9


@pytest.mark.parametrize("alpha", [1e-3, 0.4, 50.0])
@pytest.mark.parametrize("rel", [0.0, 1e-6, 1e-2])
def test_what_is_taken_from_each_cell(alpha, rel):
    """Least tilted mass, and how far the tilted mean may be from the plain one."""
    rng = np.random.default_rng(9)
    low = np.sort(rng.normal(size=40)) / alpha
    width = rng.random(40) * 0.03 / alpha
    err = rng.random(40) * 1e-4 / alpha
    cells = cells_of(rng.random(40) / 40, low, low + width, err=err)
    decay = Decay(cells, rel=rel, alpha=alpha, log_m=0.25)
    level = decay._levels[0]
    narrow = alpha * width <= 0.02
    assert level.mass.size == narrow.sum() > 5
    order = np.argsort(cells.mean[narrow], kind="stable")
    w, start, size, off = (x[narrow][order] for x in (cells.w, low, width, err))
    least = w * np.exp(alpha * start - 0.25) * (1.0 - rel)
    assert (level.mass <= least * (1.0 - 5e-13)).all()
    assert (level.mass >= least * (1.0 - 1e-9)).all()
    shift = np.minimum(size, 0.25 * alpha * size**2) + off
    assert (level.shift >= level.mass * shift**2 * (1.0 - 1e-12)).all()
    assert decay._loss <= math.exp(-0.02) * (1.0 - 2.0 * rel)
    assert (level.low <= start).all()
    assert (level.high >= start + size).all()


def test_wide_cells_say_nothing():
    for alpha in (0.1, 1.0):
        cells = cells_of([0.5, 0.4], [-0.02 / alpha, -0.3], [0.02 / alpha, 0.3], mean=[0.0, 0.1])
        decay = Decay(cells, rel=0.0, alpha=alpha, log_m=0.0)
        for t in (0.1, 1.0, 30.0):
            assert decay.log_modulus(t) == 0.0


def test_coarser_levels_keep_what_the_finer_ones_know():
    """Merged neighbours: their mass, their variance and their shifts, and intervals around both."""
    from shuffledp.divergence.decay import _coarser

    rng = np.random.default_rng(10)
    low = np.sort(rng.normal(size=81))
    cells = cells_of(rng.random(81) / 81, low, low + 1e-3, err=1e-5)
    fine = Decay(cells, rel=0.0, alpha=0.1, log_m=0.1)._levels[0]
    level = _coarser(fine)
    assert level.mass.size == 40
    for i in range(40):
        pair = slice(2 * i, 2 * i + 2)
        p, m = fine.mass[pair], fine.mean[pair]
        centre = (p * m).sum() / p.sum()
        assert level.mass[i] == pytest.approx(p.sum(), rel=1e-14)
        assert level.mean[i] == pytest.approx(centre, rel=1e-12, abs=1e-14)
        spread = fine.spread[pair].sum() + (p * (m - centre) ** 2).sum()
        assert level.spread[i] <= spread * (1 + 1e-9) + 1e-20
        assert level.shift[i] >= fine.shift[pair].sum() * (1 - 1e-14)
        assert level.low[i] <= fine.low[pair].min()
        assert level.high[i] >= fine.high[pair].max()
        assert level.density[i] <= fine.density[pair].min()
        gap = max(fine.low[2 * i + 1] - fine.high[2 * i], 0.0)
        assert level.gap[i] >= (fine.gap[pair].sum() + gap) * (1 - 1e-14)
    again = _coarser(level)
    assert again.mass.size == 20
    # Variance within both, carried along.
    p, m = fine.mass[:4], fine.mean[:4]
    centre = (p * m).sum() / p.sum()
    assert again.spread[0] <= (p * (m - centre) ** 2).sum() * (1 + 1e-9)
