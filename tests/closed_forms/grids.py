"""The grid of eps0, n and delta on which closed forms are checked, and how."""

import itertools
import math

from flint import arb, ctx

import shuffledp as sd

ctx.prec = 300
EPS0 = (0.05, 0.3, 0.499, 1.0, 2.0, 3.5, 5.0)
COUNTS = (20, 1000, 30_000, 10**6, 10**9)
DELTAS = (1e-2, 1e-6, 1e-12)
GRID = tuple(itertools.product(EPS0, COUNTS, DELTAS))


def grid_of(form, **more):
    """Points of the grid where the formula applies, with its value; it must apply somewhere."""
    found = [(*point, value(form, point, more)) for point in GRID]
    inside = [point for point in found if point[-1] is not None]
    assert len(inside) > 5
    return inside


def value(form, point, more):
    eps0, n, delta = point
    try:
        return form(eps0=eps0, n=n, delta=delta, **more)
    except sd.NotCertified:
        return None


def true_at(profile, epsilon, delta):
    """The profile is at most delta at this eps, as far as its certified lower end can tell."""
    return profile.log_delta(epsilon, width=1e-3).low <= math.log(delta)


def formula_in_balls(value, truth):
    """Rounded up, by next to nothing."""
    assert arb(value) >= truth
    assert value <= float(truth.mid()) * (1 + 1e-11)
