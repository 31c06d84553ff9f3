"""Around a jump: positive sums of many types at once, a little less sharp than one by one.

Atoms with gains next to each other count as one at their mean. With p_k the tilted weights, m_k
the mean of the cluster that k is in, W = sum p_k (x_k - m_k)^2 and R the sum over the clusters of
|sum p_k (x_k - m_k)|, which is rounding,

    |sum p_k e^{itx_k} - sum p_k e^{itm_k}| <= t^2 W/2 + t R

(docs/theory-stealing.md, Lemma 3.5). So |phi| of all types is that of far fewer atoms and a
little more, in dense arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF, Array
from shuffledp.stealing.measures import Measure
from shuffledp.stealing.positive_sum import (
    ELEMENTARY,
    NEVER,
    Contour,
    Tilted,
    spreads,
    spreads_of_many,
    summed,
)

U = UNIT_ROUNDOFF
# Atoms that count as one. Of cells in some hundred groups six leave W below 2e-3 of the variance.
CLUSTER = 6
# Of a sum that is next to nothing, its rise: log(1 - 2^-52) is the least that is said.
_NOTHING = 2.0 * U - 1.0


class Many:
    """Types side by side, each one's atoms in the order of their gains.

    Parameters
    ----------
    types : sequence of Measure
        Whole laws, masses upper bounds.
    excess : sequence of float
        Upper bounds of the masses of the reservoir and a type less 1.
    cluster : int
        Atoms that count as one.
    """

    def __init__(
        self, types: Sequence[Measure], excess: Sequence[float], *, cluster: int = CLUSTER
    ) -> None:
        self._cluster = cluster
        longest = -(-max(law.mass.size for law in types) // cluster) * cluster
        self._mass, self._gain = (np.zeros((len(types), longest)) for _ in range(2))
        for j, law in enumerate(types):
            order = np.argsort(law.gain, kind="stable")
            self._mass[j, : order.size] = law.mass[order]
            # What is filled up has no mass, and the last gain: no exponent beyond the others'.
            self._gain[j] = law.gain[order[-1]]
            self._gain[j, : order.size] = law.gain[order]
        self._excess = np.array(excess)

    def tilted(self, alpha: float) -> Clusters:
        """All types times e^{alpha gain}, alpha times every gain at most 600."""
        mass, gain = self._mass, self._gain
        size = (mass.shape[1] + 64) * U
        exponent = alpha * gain
        growth = mass * np.expm1(exponent)
        far = np.maximum(exponent, -NEVER)
        grown = mass * np.exp(far)
        err = (ELEMENTARY + 4 * U + size) * np.abs(growth).sum(axis=1)
        err += 8 * U * np.sum(grown * np.abs(far), axis=1)
        # Leaving atoms out makes 1 - |phi|^2 smaller, which is outward.
        weight = np.where(exponent > -NEVER, grown, 0.0)
        total = weight.sum(axis=1)
        rel = 2.0 * ((ELEMENTARY + 4 * U) + 2 * U * float(np.abs(far).max()) + size)
        safe = np.where(total > 0.0, total, 1.0)[:, None]
        return Clusters(
            total,
            growth.sum(axis=1),
            err,
            self._excess,
            *_clustered(weight / safe, gain, self._cluster),
            rel,
        )


class Clusters(NamedTuple):
    """Tilted types: what is known of their masses, and clusters of their gains.

    Attributes
    ----------
    mass, rise, rise_err, excess : ndarray, shape (T,)
        Tilted mass, that less the mass before with a bound of its error, and as for ``Many``.
    weights, offsets : ndarray, shape (T, C)
        Shares of the mass in each cluster, and their means less that of all.
    within, rounding : ndarray, shape (T,)
        W and R.
    spread : ndarray, shape (T,)
        About the variance.
    rel : float
        Relative error of the weights.
    """

    mass: Array
    rise: Array
    rise_err: Array
    excess: Array
    weights: Array
    offsets: Array
    within: Array
    rounding: Array
    spread: Array
    rel: float

    def some(self, rows: Sequence[int]) -> Clusters:
        """Some of the types."""
        parts = {name: part[rows] for name, part in self._asdict().items() if name != "rel"}
        return self._replace(**parts)

    def variance(self, common: Tilted) -> float:
        """About the largest variance of one user's gain, the reservoir's included."""
        own = common.mass * float(common.weights @ (common.offsets * common.offsets))
        return float(np.max((own + self.mass * self.spread) / (common.mass + self.mass)))

    def log_chernoff(self, common: Tilted, n: int, alpha: float, smooth: float) -> Array:
        """Upper bounds of log J with psi <= 1 (Corollary 3.2), parameters as for ``log``."""
        log_power = self._log_power(common, n)
        rest = np.full(log_power.shape, 0.5 * smooth * smooth - math.log(2.0 * alpha))
        return _product(log_power, rest, n)

    def log(self, common: Tilted, n: int, at: Contour) -> Array:
        """Upper bounds of log J.

        Parameters
        ----------
        common : Tilted
            The reservoir, at the same tilt.
        n : int
            Factors.
        at : Contour
            Where all sums are taken, at that tilt; any is valid.
        """
        total = common.mass + self.mass
        lost = (common.mass / total)[:, None] * spreads(common, at.step, at.nodes)
        lost = lost + (self.mass / total)[:, None] * self._lower(at)
        # Masses have relative errors up to rel: so has each part of 1 - psi.
        lost *= 0.5 * (1.0 - 4.0 * (common.rel + self.rel) - 16 * U)
        return _product(self._log_power(common, n), np.log(summed(lost, n, at)), n)

    def _log_power(self, common: Tilted, n: int) -> Array:
        """n log(c0 + d0), rounded up; c0 + d0 = 1 + rise."""
        rise = common.rise + self.rise
        err = common.rise_err + self.rise_err + 2 * U * (np.abs(rise) + np.abs(self.excess))
        log_mass = np.log1p(np.maximum(rise + err + self.excess, _NOTHING))
        return n * (log_mass + 8 * U * np.abs(log_mass))

    def _lower(self, at: Contour) -> Array:
        """Lower bounds of 1 - |phi|^2 of the types themselves at the nodes, at least 0."""
        t = at.step * np.arange(at.nodes + 1)
        # Sums of positive terms, and weights that do not quite sum to one: far below a billionth.
        off = (0.5 * t * t * self.within[:, None] + t * self.rounding[:, None]) * (1.0 + 1e-9)
        found = spreads_of_many(self.weights, self.offsets, at.step, at.nodes)
        # 2 e - e^2 would do: |phi| <= 1, so that e <= 1 - |phi'| where the bound is met.
        more = 2.0 + 1e-9 + off  # mutate: equivalent, the sign of e^2 is no matter
        return np.maximum(found - off * more, 0.0)


def _clustered(weight: Array, gain: Array, size: int) -> tuple[Array, Array, Array, Array, Array]:
    """Weights and offsets of clusters, W, R and the variance; atoms of shape (T, K)."""
    mean = np.sum(weight * gain, axis=1)
    cut = (len(weight), -1, size)
    weight, gain = weight.reshape(cut), gain.reshape(cut)
    weights = weight.sum(axis=2)
    some = weights > 0.0
    means = np.where(some, np.sum(weight * gain, axis=2) / np.where(some, weights, 1.0), 0.0)
    off = gain - means[:, :, None]
    first = weight * off
    within = np.sum(first * off, axis=(1, 2))
    # A difference is off by U of itself, a sum of few terms by their number times that.
    rounding = np.abs(first.sum(axis=2)) + (size + 10) * U * np.abs(first).sum(axis=2)
    offsets = np.where(some, means - mean[:, None], 0.0)
    spread = np.sum(weights * offsets * offsets, axis=1) + within
    return weights, offsets, within, rounding.sum(axis=1), spread


def _product(log_power: Array, log_sum: Array, n: int) -> Array:
    """log of a power times a sum over n, rounded up."""
    size = np.abs(log_power) + np.abs(log_sum) + math.log(n) + 1.0
    return log_power + log_sum - math.log(n) + 16 * U * size
