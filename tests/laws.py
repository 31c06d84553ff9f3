"""Laws in floats for tests: midpoints of laws in balls, and ratios of cells with their ranges."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import shuffledp as sd
from shuffledp.arithmetic.balls import ctx
from shuffledp.ball.laws import cut_law, finite_law
from shuffledp.laws.cells import cells_of
from shuffledp.laws.pairs import has_classes

BITS = 100
CUT = -320.0


@dataclass(frozen=True)
class Law:
    """Masses of classes under some inputs and the blanket; all are exact but for ``rel``."""

    mass: np.ndarray
    blanket: np.ndarray
    rel: float


def law_of(randomizer, inputs):
    """The law of a mechanism of finitely many classes."""
    with ctx.workprec(BITS):
        table = randomizer.to_dict()
        law = cut_law(table, inputs, log_cut=CUT) or finite_law(table, inputs)
        law = [c for c in law if not c.beyond]
        mass = np.array([[float(x) for x in c.probability] for c in law]).T
        balls = [x for c in law for x in (c.blanket, *c.probability)]
        rel = max(float(x.rad()) / float(x.mid()) for x in balls if float(x.mid()) > 0.0)
        return Law(mass, np.array([float(c.blanket) for c in law]), rel + 2.0**-50)


@dataclass(frozen=True)
class Ranges:
    """Where both ratios lie on each cell."""

    a_low: np.ndarray
    a_high: np.ndarray
    b_low: np.ndarray
    b_high: np.ndarray


@dataclass(frozen=True)
class Ratios:
    """Reference masses w, mean ratios a and b of R_x0 and R_x1, and what is left out."""

    w: np.ndarray
    a: np.ndarray
    b: np.ndarray
    outside: np.ndarray
    tail: tuple[float, float]
    rel: float
    ranges: Ranges | None
    leftover: tuple[float, float]

    def leftover_mass(self):
        return self.leftover


def blanket_pair(randomizer, x0, x1, *, n=1, cells=None):
    """Against the blanket."""
    del n, cells
    return _ratios(randomizer, (x0, x1))


def dataset_pair(randomizer, x0, x1, x2, *, n=1, cells=None):
    """Against the law of x2."""
    del n, cells
    return _ratios(randomizer, (x0, x1, x2))


def _ratios(randomizer, inputs):
    with ctx.workprec(BITS):
        if has_classes(randomizer, inputs, 1) and not isinstance(randomizer, sd.LaplaceBall):
            law = law_of(randomizer, inputs)
            reference = law.blanket if len(inputs) == 2 else law.mass[2]
            seen = reference > 0.0
            w, p, q = reference[seen], law.mass[0], law.mass[1]
            a, b = p[seen] / w, q[seen] / w
            outside = np.column_stack([p[~seen], q[~seen]])
            outside = outside[outside.max(axis=1) > 0.0]
            return Ratios(w, a, b, outside, (0.0, 0.0), law.rel, None, _left(w))
        made = cells_of(randomizer, inputs)
        rows = np.array([[float(x) for x in cell[:3]] for cell in made.cells])
        ranges = np.array(
            [[float(x) for x in (c.bottom.u, c.top.u, c.top.v, c.bottom.v)] for c in made.cells]
        )
        # Masses that floats hold as 0 are left out, with what the reference hardly ever gives.
        seen = rows[:, 0] > 0.0
        lost = rows[~seen].sum(axis=0)
        tail = float(made.p.upper()) + lost[1], float(made.q.upper()) + lost[2]
        rows, ranges = rows[seen], np.where(np.isnan(ranges), math.inf, ranges)[seen]
        w = rows[:, 0]
        a, b = rows[:, 1] / w, rows[:, 2] / w
        return Ratios(w, a, b, np.zeros((0, 2)), tail, 2.0**-40, Ranges(*ranges.T), _left(w))


def _left(w):
    return max(1.0 - math.fsum(w), 0.0), 1e-12
