"""Laws in floats for tests: midpoints of laws in balls, and ratios of cells with their ranges."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import shuffledp as sd
from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.ball.record import Definition
from shuffledp.bounds import stealing
from shuffledp.bounds.clones import clone_pair, stronger_clone_pair
from shuffledp.bounds.local import log_local_delta
from shuffledp.bounds.pairs import LawPair, Laws
from shuffledp.bounds.stealing_cases import Numbers, cases_of
from shuffledp.laws.pairs import blanket_pair as of_blanket
from shuffledp.laws.pairs import cells_of
from shuffledp.laws.pairs import dataset_pair as of_dataset
from shuffledp.laws.sources import Family
from shuffledp.mechanism.base import mechanism_from_dict
from shuffledp.multimessage import MultiMessage
from shuffledp.propose.profile import Profile

BITS = 100
CUT = -320.0


def mechanism_of(table):
    """The mechanism of a table; a mechanism itself."""
    if isinstance(table, Definition):
        return table
    if table["name"] == "generic":
        return Family(table["eps0"], table.get("adaptive", False))
    return mechanism_from_dict(table)


def finite_law(table, inputs):
    return mechanism_of(table).output_law(tuple(inputs))


def cut_law(table, inputs, *, log_cut):
    return mechanism_of(table).cut_law(tuple(inputs), log_cut=log_cut)


def others_of(table):
    return mechanism_of(table).others()


def ordered_pairs(table):
    """The pairs that together dominate all neighbouring ones."""
    return list(mechanism_of(table).worst_pairs().pairs)


def log_delta(table, *, analysis, n, epsilon, x0=None, x1=None, x2=None, swap=False, rel=1e-4):
    """Ends of log delta of one pair of laws, in balls."""
    if analysis in {"clone", "stronger-clone"}:
        make = clone_pair if analysis == "clone" else stronger_clone_pair
        return _profile(make(eps0=table["eps0"], n=n), epsilon, swap, rel)
    mechanism = mechanism_of(table)
    if isinstance(mechanism, MultiMessage) and n > 1:
        law = mechanism.output_law
        pair = LawPair(("messages", mechanism), n, Laws(lambda _: law((x0, x1, x2))), "input")
    elif analysis == "local" or n == 1:
        first, second = (x1, x0) if swap else (x0, x1)
        return tuple(log_local_delta(mechanism, first, second, epsilon))
    elif analysis == "blanket":
        pair = of_blanket(mechanism, x0, x1, n=n)
    else:
        pair = of_dataset(mechanism, x0, x1, x2, n=n)
    return _profile(pair, epsilon, swap, rel)


def _profile(pair, epsilon, swap, rel):
    found = Profile(pair.swap() if swap else pair).log_delta(epsilon, width=rel)
    return found.low, found.high


def log_delta_stealing(table, free, *, n, epsilon, guess=-60.0, enough=-math.inf):
    """The bound at given free numbers, with more bits; ``guess`` is about log delta."""
    numbers = [
        Numbers(**{**one, "share": tuple(one["share"]), "join": tuple(one["join"])}) for one in free
    ]
    with ctx.workprec(precision_for(n) + 64):
        cases = cases_of(mechanism_of(table), guess)
        return stealing.log_delta(cases, numbers, n, epsilon, enough=enough)


@dataclass(frozen=True)
class Law:
    """Masses of classes under some inputs and the blanket; all are exact but for ``rel``."""

    mass: np.ndarray
    blanket: np.ndarray
    rel: float


def law_of(randomizer, inputs):
    """The law of a mechanism of finitely many classes."""
    with ctx.workprec(BITS):
        law = randomizer.cut_law(inputs, CUT)
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
        pair = of_blanket(randomizer, *inputs[:2], n=1)
        if isinstance(pair, LawPair) and not isinstance(randomizer, sd.LaplaceBall):
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
