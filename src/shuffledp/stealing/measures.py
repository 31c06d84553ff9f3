"""Gains as finite measures: what the label-stealing bound needs to know of one user.

A measure is a list of atoms (mass, gain). Its masses are lower bounds and its gains upper bounds of
what they stand for; mass that is missing is put at the largest gain, where it can only make the
bound larger (docs/theory-stealing.md, Lemma 4.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.randomizers import JointLaw

U = UNIT_ROUNDOFF
Mask = npt.NDArray[np.bool_]
# Below it a float has lost bits, so that a relative error says nothing of it.
_SMALLEST = 1e-290


@dataclass(frozen=True, eq=False)
class Measure:
    """Atoms of a finite measure on the gains.

    Attributes
    ----------
    mass, gain : ndarray, shape (K,)
        Masses > 0 and the gains they have.
    lost : float
        Upper bound of the divergence in outputs that are left out of it.
    rel : float
        The true masses are at most 1 + rel times these, but for mass that is missing altogether.
    dropped : float
        Upper bound of mass that is missing altogether and could not have been left out of the
        reservoir by choice: it is dominated by what is here only as a whole.
    """

    mass: Array
    gain: Array
    lost: float
    rel: float
    dropped: float = 0.0

    @property
    def second_moment(self) -> float:
        """int gain^2, in floats: for choosing."""
        return float(self.mass @ (self.gain * self.gain))

    def raised(self) -> Measure:
        """Masses that are upper bounds: rel 0."""
        mass = self.mass * (1.0 + self.rel) * (1.0 + 4 * U)
        return Measure(mass, self.gain, self.lost, 0.0)

    def cut(self, ceiling: float) -> Measure:
        """Gains cut at a ceiling; what is cut off counts as lost.

        (x + y)_+ <= (min(x, c) + y)_+ + (x - c)_+.
        """
        over = self.gain > ceiling
        if not bool(over.any()):
            return self
        excess = self.mass[over] * (self.gain[over] - ceiling)
        lost = math.fsum(excess) * (1.0 + self.rel) * (1.0 + 8 * U)
        gain = np.minimum(self.gain, ceiling)
        return Measure(self.mass, gain, self.lost + lost, self.rel, self.dropped)

    def merged(self) -> Measure:
        """Equal gains once."""
        gain, index = np.unique(self.gain, return_inverse=True)
        if gain.size == self.gain.size:
            return self
        mass = np.bincount(index, weights=self.mass) * (1.0 - self.gain.size * U)
        return Measure(mass, gain, self.lost, self.rel + 2 * self.gain.size * U, self.dropped)


@dataclass(frozen=True, eq=False)
class Difference:
    """g = P0 - a P1 on every class or cell of a law, a = e^eps.

    Attributes
    ----------
    high : ndarray, shape (C,)
        Upper bounds of its mass there.
    positive : ndarray, shape (C,)
        Upper bounds of the mass of its positive part.
    """

    high: Array
    positive: Array


def difference(law: JointLaw, epsilon: float) -> Difference:
    """P0 - e^eps P1 of a law's first two rows, rounded up."""
    p0, p1 = law.mass[0], law.mass[1]
    grow, more = math.exp(epsilon), math.expm1(epsilon)
    rel = law.rel + 8 * U
    same = (p0 == p1) & law.ties
    err = np.where(same, rel * more * p1, rel * (p0 + grow * p1))
    high = (p0 - p1) - more * p1 + err
    high += 4 * U * (np.abs(high) + err)
    positive = np.maximum(high, 0.0)
    if law.edges is not None:
        # Within a cell the sign may change.
        ratio = np.minimum(
            law.edges.left[1] - law.edges.left[0], law.edges.right[1] - law.edges.right[0]
        )
        most = -np.expm1(np.minimum(epsilon + ratio - law.edges.err, 0.0))
        positive = np.maximum(positive, np.minimum(p0, p0 * most) * (1.0 + rel + 8 * U))
    return Difference(high, positive)


@dataclass(frozen=True, eq=False)
class Split:
    """How the reports of a law's classes are split.

    Attributes
    ----------
    beta : ndarray, shape (C,)
        Mass of the reservoir, the part that all inputs have in common; at most the blanket's.
    join : ndarray, shape (C,)
        Probability s with which a victim with this report joins the reservoir instead of stealing
        a label, 0 <= s <= 1; 0 where beta is 0.
    """

    beta: Array
    join: Array


def reservoir(law: JointLaw, g: Difference, split: Split) -> Measure:
    """The measure beta of the gains s g/beta (law of rows x0, x1)."""
    rel = law.rel + 8 * U
    some = split.beta > _SMALLEST
    low, high = split.beta * (1.0 - rel), split.beta * (1.0 + rel)
    lost = _seen((split.join * g.positive)[~some])
    return _measure(low, high, split.join * g.high, some, lost)


def labelled(law: JointLaw, row: int, g: Difference, split: Split) -> Measure:
    """The measure t = R_x - beta of the gains (1 - s) g/t, x the law's given row.

    Outputs where it vanishes are seen for sure with probability (1 - s) g_+.
    """
    rel = law.rel + 8 * U
    mass = law.mass[row]
    err = rel * (mass + split.beta)
    low, high = (mass - split.beta) - err, (mass - split.beta) + err
    some = low > _SMALLEST
    lost = _seen(((1.0 - split.join) * g.positive)[~some])
    return _measure(low, high, (1.0 - split.join) * g.high, some, lost)


def _seen(positive: Array) -> float:
    return math.fsum(positive) * (1.0 + 8 * U)


def _measure(low: Array, high: Array, g: Array, some: Mask, lost: float) -> Measure:
    """Classes with masses between low and high, and the gains g/mass, rounded up."""
    low, high, g = low[some], high[some], g[some]
    gain = np.where(g > 0.0, g / low, g / high)
    gain += 8 * U * np.abs(gain)
    rel = float((high / low).max(initial=1.0)) - 1.0 + 4 * U
    return Measure(low, gain, lost, rel).merged()
