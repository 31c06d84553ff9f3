"""The law of a pair's gain at one eps: cuts of its outputs, and estimates in floats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np

from shuffledp.arithmetic.balls import arb, total
from shuffledp.bounds.continuous import (
    CellPair,
    Cells,
    Source,
    bracketed,
    law_above,
    law_below,
)
from shuffledp.bounds.line import Line
from shuffledp.bounds.pairs import End, Gains, LawPair
from shuffledp.kernel.cells import Atom, Gain, gains
from shuffledp.propose.cells import Aim, Floats, Sketch, edges, places, rough_law, sketch

__all__ = ["Pair", "Rough", "gains_of", "in_floats"]

Pair = LawPair | CellPair
# log of the mass beyond the first cut of an unbounded law. Other cuts are multiples of it, so that
# one law serves many eps.
_CUT = -16.0
# log of the mass that may be cut off for an estimate.
_DEEP = -80.0
# `Profile` allows for outputs that are cut off an error of e^-3 of a bracket's width. Cells may
# take e^_MORE times as much, about a third of the width at each end.
_MORE = 2.0
# Laws with at most this many atoms are neither grouped nor spread over common places.
_EXACT = 300
# Number of groups of cells in an estimate's law.
_GROUPS = 160
# Larger gains are lowered to this: a single such gain outweighs all others.
_HUGE = 1e100
# Outputs with a smaller share of the mass, under P and the reference, do not matter to an estimate,
# as delta >= 1e-100.
_SEEN = 1e-110
# log of the mass beyond which a sketch of a law stops, relative to the allowed error.
_DEEPER = -6.0
# A gain this many times the largest positive one outweighs all draws that matter to an estimate.
_OUTWEIGHS = 1e4
# Least mass under P of the gains that an estimate's groups tell apart.
_COUNTS = 1e-40
# log of the mass under P of gains that are charged to delta as a whole, relative to the allowed
# error.
_RARE = -3.0


class Rough(NamedTuple):
    """A law of gains in floats, for estimates.

    Attributes
    ----------
    masses, gains : arrays of the same size.
    surplus : the sum of the masses less 1, more exact than the sum of the floats.
    seen : a term added to delta.
    """

    masses: Floats
    gains: Floats
    surplus: float
    seen: float


def gains_of(pair: Pair, eps: arb, log_error: float, end: End, guess: float) -> Gains:
    """The law of the gain at eps, where log delta is near ``guess``.

    Each end of delta may be wrong by about e^log_error.
    """
    if isinstance(pair, LawPair):
        return pair.gains(eps, _log_cut(eps, log_error))
    aim = Aim(pair.n, guess, log_error + _MORE)
    ends = {"upper": end != "lower", "lower": end != "upper"}
    made = pair.source.made()
    if isinstance(made, Cells):
        return _of_cells(made, eps, aim, **ends)
    sketched = _sketch(pair.source, aim.log_error)
    return _of_line(made, sketched, eps, aim, **ends)


def _log_cut(eps: arb, log_error: float) -> float:
    # Mass of Q that is cut off counts e^eps times.
    return _CUT * max(math.ceil((log_error - float(eps)) / _CUT), 1)


def _of_line(line: Line, seen: Sketch, eps: arb, aim: Aim, *, upper: bool, lower: bool) -> Gains:
    def found(*, upper: bool) -> list[Gain]:
        return gains(line.cells(edges(seen, aim, epsilon=float(eps), upper=upper)), eps.exp())

    below = law_below(found(upper=False)) if lower else None
    above = law_above(found(upper=True)) if upper else None
    return bracketed(below, above)


def _of_cells(source: Cells, eps: arb, aim: Aim, *, upper: bool, lower: bool) -> Gains:
    epsilon, above, below = float(eps), None, None
    if upper:
        above = source.above(eps, math.exp(aim.log_error + _RARE), aim.n)
        if len(above.atoms) > _EXACT:
            at = places(*_floats(above.atoms), aim, epsilon=epsilon, upper=True)
            above = above.spread([float(x) for x in at])
    if lower:
        below = source.below(eps)
        if len(below.atoms) > _EXACT:
            mass, gain = _floats(below.atoms)
            at = places(mass, gain, aim, epsilon=epsilon, upper=False)
            ends = np.unique(np.append(np.searchsorted(gain, at[1:-1]), gain.size))
            below = below.gathered([int(end) for end in ends if end > 0])
    return bracketed(below, above)


def _sketch(source: Source, log_error: float) -> Sketch:
    return _sketched(source, 10.0 * math.floor((log_error + _DEEPER) / 10.0))


# Equal sources have equal laws.
@lru_cache(maxsize=64)
def _sketched(source: Source, depth: float) -> Sketch:
    return sketch(cast("Line", source.made()), depth)


# ------------------------------------------------------------------------------------ estimates


def in_floats(pair: Pair, epsilon: float) -> Rough:
    """An estimate of the law of the gain at eps, without outputs of negligible mass."""
    if isinstance(pair, LawPair):
        eps = arb(epsilon)
        made = pair.gains(eps, _log_cut(eps, _DEEP))
        atoms = made.above or ([], [])
        masses, gains = (np.array([float(x) for x in row]) for row in atoms)
        return Rough(masses, gains, float(total(atoms[0]) - 1), float(made.seen.upper()))
    rough = _rough_cells if isinstance(pair.source.made(), Cells) else _rough_line
    masses, found, heavy = rough(pair.source, epsilon)
    seen = heavy > _SEEN * float(heavy.sum())
    rest = max(1.0 - math.fsum(masses[seen]), 0.0)
    found = np.minimum(found[seen], _HUGE)
    return Rough(np.append(masses[seen], rest), np.append(found, 0.0), 0.0, 0.0)


@lru_cache(maxsize=64)
def _nodes(source: Source) -> tuple[Floats, Floats, Floats]:
    return rough_law(cast("Line", source.made()))


def _rough_line(source: Source, epsilon: float) -> tuple[Floats, Floats, Floats]:
    """Masses, gains and masses of P at Gauss-Legendre nodes."""
    masses, u, v = _nodes(source)
    with np.errstate(over="ignore"):
        return masses, u - math.exp(epsilon) * v, masses * np.maximum(u, 1.0)


@lru_cache(maxsize=64)
def _rows(source: Source) -> Floats:
    """Masses of cells under the reference, P and Q."""
    cells = cast("Cells", source.made()).cells
    return np.array([[float(c.mass), float(c.p), float(c.q)] for c in cells])


def _rough_cells(source: Source, epsilon: float) -> tuple[Floats, Floats, Floats]:
    """Masses, gains and masses of P for groups of cells at their mean gains."""
    rows, grow = _rows(source).reshape(-1, 3), math.exp(epsilon)
    if not rows.size:
        return rows[:, 0], rows[:, 0], rows[:, 0]  # every output reveals its input
    rows = rows[np.argsort(rows[:, 1] / rows[:, 0] - grow * rows[:, 2] / rows[:, 0])]
    mass, gain = rows[:, 0], (rows[:, 1] - grow * rows[:, 2]) / rows[:, 0]
    # Beyond many times the largest gain that counts, a gain's exact value does not matter.
    counts = np.cumsum(rows[::-1, 1])[::-1] > _COUNTS
    top = min(float(gain[counts].max(initial=1.0)), 1e65)
    seen = np.clip(gain, -_OUTWEIGHS * top, top)
    cost = mass * np.diff(seen, prepend=seen[0]) ** 2
    # Half of the groups serve the bulk of the law, half its tails.
    both = [cost ** (1.0 / 3.0), cost ** (1.0 / 12.0)]
    part = sum(one / max(float(one.sum()), 1e-300) for one in both) / 2.0
    share = np.floor(np.cumsum(part) * _GROUPS * (1.0 - 1e-9))
    starts = np.flatnonzero(np.diff(share, prepend=-1.0))
    rows = np.add.reduceat(rows, starts, axis=0)
    gain = (rows[:, 1] - grow * rows[:, 2]) / rows[:, 0]
    return rows[:, 0], gain, np.maximum(rows[:, 0], rows[:, 1])


def _floats(atoms: Sequence[Atom]) -> tuple[Floats, Floats]:
    """Masses and gains of atoms as float arrays."""
    return np.array([float(m) for m, _ in atoms]), np.array([float(g) for _, g in atoms])
