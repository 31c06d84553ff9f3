"""Free numbers and places for the bound with one distinguished gain, in plain floats.

Any proposal gives a valid bound (``bounds.lone_jump``).
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp.bounds.around_jumps import Around, Place
from shuffledp.propose.interval import Floats, Free, Laws, Sketch
from shuffledp.propose.jump_covers import Surrounding

__all__ = ["around", "jump_numbers", "moved_jump", "surroundings"]

_TINY = 1e-300
# Least tilt, in units of 1/deviation of the others' sum.
_LEAST = 1.4
# Number of places at which h is bounded, and how far they reach beyond the mean of the others' sum,
# in standard deviations.
_PLACES, _BEYOND = 14, 4.0
# First guesses of C, relative to the mean of the others' sum.
_SCAN = (0.03, 0.1, 0.25, 0.5)
# Forward tilts are used up to this many standard deviations beyond the mean, backward ones from
# this many before it.
_FORWARD, _BACKWARD = 2.0, 1.0
# Largest tilt times C at the start of Newton's method for the tilt.
_LARGEST = 10.0
# Factor by which the sum around a jump may be larger with labels without jumps.
_ROOM = 1.9


def around(noise: Sketch, n: int, eps: float, free: Free) -> Around:
    """Places from C to beyond the others' pull, each with the tilts of its saddle points."""
    laws = Laws(noise, n, eps, free.log_delta)
    b, cut = (1 - free.theta) / (1 - free.kappa), free.ceiling
    pool = np.minimum(free.theta / free.kappa * laws.pool, cut)
    mass, up = (1 - free.kappa) * laws.f0, np.minimum(b * laws.up, cut)
    c = free.kappa * laws.common, np.maximum(pool, laws.floor)
    square = float(mass @ up**2) + float(c[0] @ np.maximum(pool, -cut) ** 2)
    mean, sd = _mean(c, (mass, up)), math.sqrt(n * square)
    # Gains below -C are raised, as they would make backward sums as heavy-tailed as forward ones.
    pull, floor = max(-n * mean, 0.0), -cut
    laws_up = (c[0], np.maximum(c[1], floor)), (mass, np.maximum(up, floor))
    laws_down = (c[0], -laws_up[0][1]), (mass, -np.maximum(b * laws.down, floor))
    end = max(1.05 * cut, pull + _BEYOND * sd)
    gains = [cut, *(float(x) for x in np.linspace(cut, end, _PLACES)[1:])]
    places: list[Place] = []
    tilt = 1 / sd
    for x in gains:
        apart = (pull - x) / sd
        if apart > -_FORWARD:
            tilt = max(laws.saddle(*laws_up, tilt, x), _LEAST / sd)
            places.append(Place(x, tilt, min(1.1 / sd, 0.5 * tilt), True))  # noqa: FBT003
        if apart < _BACKWARD:
            back = max(laws.saddle(*laws_down, 1 / sd, -x), _LEAST / sd)
            places.append(Place(x, back, min(1.1 / sd, 0.5 * back), False))  # noqa: FBT003
    good = tuple(place for place in places if 0.0 < place.tilt < math.inf)
    return Around(good, -floor, _ROOM)


def _value(laws: Laws, free: Free) -> Free:
    """An estimate of the bound at these numbers; the sum without jumps has its own saddle."""
    n, b, join = laws.n, (1 - free.theta) / (1 - free.kappa), free.theta / free.kappa
    made = around(laws.noise, n, laws.eps, free)
    if not made.places:
        return free._replace(log_delta=math.inf)
    cut, floor = free.ceiling, -made.floor
    c, pool = free.kappa * laws.common, np.maximum(join * laws.pool, floor)
    mass = np.append((1 - free.kappa) * laws.f0, free.kappa * (1 - laws.blanket))
    gains = [np.append(np.maximum(b * g, floor), 0.0) for g in (laws.up, laws.down)]
    xs, *groups = _heights(
        laws, made, (c, np.minimum(pool, cut)), [(mass, np.minimum(g, cut)) for g in gains]
    )

    def charge(m: Floats, g: Floats, hs: Floats) -> float:
        h = np.where(g > xs[-1], hs[-1] + (g - xs[-1]) / (n - 1), np.interp(g, xs, hs))
        return (n - 1) * float((m * h)[g > cut].sum())

    empty = (1 - free.theta) * laws.positive * (1 - free.kappa * laws.blanket) ** (n - 1)
    over = [float(m @ np.maximum(g - cut, 0)) for m, g in ((c, pool), *((mass, g) for g in gains))]
    some = [float(m[g > cut].sum()) for m, g in ((c, pool), *((mass, g) for g in gains))]
    second = (n - 1) * (over[0] + max(over[1:])) * (some[0] + max(some[1:]))
    silent = [(mass, np.where(g > cut, 0.0, g)) for g in gains]
    quiet = (c, np.where(pool > cut, 0.0, pool))
    first = free.alpha if free.alpha * cut < _LARGEST else _LARGEST / cut
    alpha = laws.saddle(quiet, silent[0], first)
    sums = [laws.value_of(quiet, d, alpha, 0.0, _mean(quiet, d)) for d in silent]
    one, two = (math.exp(min(value, 600.0)) for _, value, _ in sums)
    alike = one + charge(mass, gains[0], groups[0]) + charge(c, pool, groups[0])
    apart = one + charge(mass, gains[0], groups[1]) + charge(c, pool, groups[0])
    other = two + charge(c, pool, groups[1])
    worst = max(alike, (apart + other) / 2, other)
    log = math.log(max(empty + second + worst, _TINY))
    return free._replace(alpha=alpha, deviation=sums[0][0], log_delta=log)


def _heights(
    laws: Laws, made: Around, c: tuple[Floats, Floats], types: list[tuple[Floats, Floats]]
) -> tuple[Floats, Floats, Floats]:
    """Places, and estimates of h there among others like (1, 0, 0) and others like (0, 1, 0)."""
    n = laws.n - 1
    means = float(c[0] @ c[1]) + max(float(m @ g) for m, g in types)
    found: list[tuple[float, float, float]] = []
    for place in made.places:
        sign = 1.0 if place.forward else -1.0
        pool = c[0], sign * c[1]
        others = [(m, sign * g) for m, g in types]
        logs = [laws.value_of(pool, d, place.tilt, 0.0, _mean(pool, d))[1] for d in others]
        logs[1] = max(logs[1], logs[0] + math.log(made.room))
        values = [math.exp(min(log + sign * place.tilt * place.gain, 600.0)) for log in logs]
        if not place.forward:
            values = [max(place.gain / n + means, 0.0) + value for value in values]
        if found:
            last, *before = found[-1]
            rise = (place.gain - last) / n
            values = min(values, [before[0] + rise, before[1] + rise])
            if last == place.gain:
                found.pop()
        found.append((place.gain, values[0], values[1]))
    x, one, two = (np.array(row) for row in zip(*found, strict=True))
    return x, one, two


def _mean(c: tuple[Floats, Floats], d: tuple[Floats, Floats]) -> float:
    return float(c[0] @ c[1] + d[0] @ d[1])


def surroundings(noise: Sketch, n: int, eps: float, free: Free, made: Around) -> list[Surrounding]:
    """Estimated log J_N at all places, then log J_n without jumps: limits for remainders."""
    laws, b = Laws(noise, n, eps, free.log_delta), (1 - free.theta) / (1 - free.kappa)
    mass, cut = np.append((1 - free.kappa) * laws.f0, free.kappa * (1 - laws.blanket)), free.ceiling
    gain = free.theta / free.kappa * laws.pool
    pool = np.clip(gain, -made.floor, cut)
    found = []
    for place in made.places:
        sign = 1.0 if place.forward else -1.0
        c = free.kappa * laws.common, sign * pool
        logs = []
        for one in (laws.up, laws.down):
            d = mass, sign * np.append(np.clip(b * one, -made.floor, cut), 0.0)
            logs.append(laws.value_of(c, d, place.tilt, 0.0, _mean(c, d))[1])
        found.append(Surrounding(place.tilt, sign, max(math.log(made.room) + logs[0], logs[1])))
    c, logs = (free.kappa * laws.common, np.where(gain > cut, 0.0, pool)), []
    for one in (laws.up, laws.down):
        kept = np.append(np.maximum(b * one, -made.floor), 0.0)
        d = mass, np.where(kept > cut, 0.0, kept)
        logs.append(laws.value_of(c, d, free.alpha, 0.0, _mean(c, d))[1])
    found.append(Surrounding(free.alpha, 1.0, max(logs)))
    return found


def moved_jump(noise: Sketch, n: int, eps: float, free: Free, log_delta: float) -> Free:
    """The same numbers at another eps."""
    return _value(Laws(noise, n, eps, log_delta), free)


def jump_numbers(noise: Sketch, n: int, eps: float, log_delta: float, start: Free) -> Free:
    """Free numbers from those of label stealing, varied in turn while the estimate falls."""
    laws, factors = Laws(noise, n, eps, log_delta), (1.5, 1.2)
    start = start._replace(log_delta=log_delta)
    pull = n * math.expm1(eps)
    scan = (start._replace(ceiling=pull * share) for share in _SCAN)
    best = min((_value(laws, one) for one in scan), key=lambda one: one.log_delta)
    for factor in factors:
        for key in ("ceiling", "kappa", "theta"):
            for by in (factor, 1 / factor):
                while True:
                    new = {key: getattr(best, key) * by}
                    if key == "kappa":
                        new["theta"] = best.theta * by
                    trial = best._replace(**new)
                    if not (0 < trial.kappa < 0.9 and 0 < trial.theta < 1):
                        break
                    trial = _value(laws, trial)
                    if not trial.log_delta < best.log_delta - 1e-4:
                        break
                    best = trial
    return best
