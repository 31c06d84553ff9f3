"""Noise that an aggregator adds to a sum of bits: on the integers, symmetric and log-concave.

With weight tau^z, tau >= 1, as ``binary.crowd`` computes sums: discrete Laplace noise becomes
geometric to both sides, with ratios tau e^(-1/t) and e^(-1/t)/tau, discrete Gaussian noise is moved
by sigma^2 log tau. Nothing is dropped: what is outside a window counts as mass that may be
anywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from shuffledp import _check
from shuffledp._check import exact
from shuffledp.numerics.recursion import geometric_sums
from shuffledp.pair import UNIT_ROUNDOFF, Array

__all__ = ["KINDS", "LARGEST_SCALE", "SMALLEST_SCALE", "AddedNoise", "Part"]

U = UNIT_ROUNDOFF
Kind = Literal["discrete-laplace", "discrete-gaussian"]
KINDS: tuple[Kind, ...] = ("discrete-laplace", "discrete-gaussian")
# Less is next to no noise; more takes windows of millions of integers.
SMALLEST_SCALE, LARGEST_SCALE = 0.05, 2000.0
# Windows end where what follows is about e^-74 of the whole: 12.2 standard deviations.
_DEEP, _WIDE = 74.0, 12.2
# Discrete Laplace noise is tilted by at most this share of its own rate: less, and windows are
# shorter; more, and what is looked for lies nearer to the middle.
_SHARE = 0.75


class Part(NamedTuple):
    """Masses of a tilted law from ``start`` on.

    ``rel`` bounds their relative errors, ``missing`` the mass that is not here.
    """

    start: int
    mass: Array
    rel: float
    missing: float


@dataclass(frozen=True, kw_only=True)
class AddedNoise:
    """Noise Z, an integer, that an aggregator adds to the sum of every coordinate.

    P(Z = z) is proportional to e^(-|z|/scale) ("discrete-laplace") or to
    e^(-z^2/(2 scale^2)) ("discrete-gaussian"); each coordinate's and each round's is its own.

    Parameters
    ----------
    kind : {"discrete-laplace", "discrete-gaussian"}
        Which law.
    scale : float
        In units of the sums (reports): 0.05 to 2,000.

    Examples
    --------
    >>> import shuffledp as sd
    >>> sd.AddedNoise(kind="discrete-laplace", scale=2.0).guarantee
    0.5
    """

    kind: Kind
    scale: float

    def __post_init__(self) -> None:
        _check.choice("added.kind", self.kind, KINDS)
        scale = _check.real("added.scale", self.scale, low=SMALLEST_SCALE, high=LARGEST_SCALE)
        object.__setattr__(self, "scale", scale)

    @property
    def guarantee(self) -> float:
        """Pure guarantee in nats where a sum moves by one, about; inf if there is none."""
        return 1.0 / self.scale if self.kind == "discrete-laplace" else math.inf

    @property
    def words(self) -> str:
        """The law and who adds it, for a reader."""
        law = (
            f"exp(-|z|/{exact(self.scale)})"
            if self.kind == "discrete-laplace"
            else f"exp(-z^2/(2*{exact(self.scale)}^2))"
        )
        name = "Laplace" if self.kind == "discrete-laplace" else "Gaussian"
        return (
            f"to every coordinate's sum the aggregator adds discrete {name} noise z of its own, "
            f"exactly with probability proportional to {law}; nobody else knows the noise, or the "
            "sum without it"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {"kind": self.kind, "scale": self.scale}

    def pure(self, odds_low: float, odds_high: float) -> float:
        """Pure guarantee in nats of a noisy sum with one bit of these odds; inf if there is none.

        log (1 + p x)/(1 + q x) with x = e^(1/t) - 1, and the same with the names of the bits
        exchanged (docs/theory-sums.md, Lemma 6.3).

        Parameters
        ----------
        odds_low, odds_high : float
            P(1)/P(0) of the bit under the two values.
        """
        if self.kind != "discrete-laplace":
            return math.inf
        shares = [1.0 if math.isinf(o) else o / (1.0 + o) for o in (odds_low, odds_high)]
        # 1/(1 + o): no difference from 1, which would lose what is left of a small one.
        others = [0.0 if math.isinf(o) else 1.0 / (1.0 + o) for o in (odds_low, odds_high)]
        x = math.expm1(1.0 / self.scale)
        q, p = shares
        first = math.log1p((p - q) * x / (1.0 + q * x))
        q, p = others[1], others[0]
        second = math.log1p((p - q) * x / (1.0 + q * x))
        # Shares to 2 u, their difference to 4 u of the larger, x to 4 u (1 + 1/t).
        err = 16 * U * (1.0 + 1.0 / self.scale) * math.log1p(x)
        return min(max(first, second) + err, (1.0 + 4 * U) / self.scale)

    def nothing_left(self, more: float) -> bool:
        """Whether P(S = k - 1)/P(S = k) is below 1 + more for every k, for certain."""
        # Both sides to 4 u; of 1 + more itself a small ``more`` would lose its bits.
        laplace = self.kind == "discrete-laplace"
        return laplace and math.log1p(more) * (1.0 - 8 * U) > (1.0 + 8 * U) / self.scale

    def most_tilted(self, tau: float) -> float:
        """The largest tilt up to tau under which windows are no wider than need be."""
        if self.kind != "discrete-laplace":
            return tau
        return min(tau, math.exp(min(_SHARE / self.scale, 700.0)))

    def joined(self, part: Part, tau: float) -> Part:
        """The law of a tilted part and of the noise with the same tilt.

        Parameters
        ----------
        part : Part
            An independent sum of bits, tilted by tau.
        tau : float
            At least 1, and what ``most_tilted`` gave.
        """
        log_tau = math.log1p(tau - 1.0)
        if self.kind == "discrete-laplace":
            return _with_laplace(part, 1.0 / self.scale, log_tau)
        noise = _gaussian(self.scale, log_tau)[0]
        size = min(part.mass.size, noise.mass.size)
        rel = (part.rel + noise.rel + (size + 4.0) * U) * (1.0 + 1e-6)
        missing = part.missing + noise.missing + 1e-300 * size
        mass = np.convolve(part.mass, noise.mass)
        return Part(part.start + noise.start, mass, rel, missing)

    def log_mean(self, tau: float) -> tuple[float, float]:
        """log E tau^Z, and a bound of its error."""
        log_tau = math.log1p(tau - 1.0)
        if self.kind == "discrete-laplace":
            return _laplace_log_mean(1.0 / self.scale, log_tau)
        moved, held = (_gaussian(self.scale, x) for x in (log_tau, 0.0))
        # z*^2/(2 sigma^2) = sigma^2 log^2 tau/2.
        top = 0.5 * (self.scale * log_tau) ** 2
        found = top + math.log(moved[1]) - math.log(held[1])
        err = 16 * U * top + moved[0].rel + held[0].rel + 16 * U * (1.0 + abs(found))
        return found, err + 1.1 * (moved[0].missing + held[0].missing)


def _ratios(rate: float, log_tau: float) -> tuple[float, float, float]:
    """tau r and r/tau, r = e^-rate, and a bound of the errors of their logs."""
    return math.exp(log_tau - rate), math.exp(-log_tau - rate), 8 * U * (log_tau + rate)


def _weight(rate: float, log_tau: float) -> float:
    """1/(sum over z of tau^z r^|z|), to 200 u: log_tau is at most three quarters of the rate."""
    # 1 - up = -expm1(log up), off by 8 u (log_tau + rate)/(rate - log_tau) <= 56 u.
    down = math.exp(-log_tau - rate)
    return 1.0 / (-1.0 / math.expm1(log_tau - rate) - down / math.expm1(-log_tau - rate))


def _laplace_log_mean(rate: float, log_tau: float) -> tuple[float, float]:
    # Without a tilt (1 - r)/(1 + r).
    plain = math.log(-math.expm1(-rate)) - math.log1p(math.exp(-rate))
    found = plain - math.log(_weight(rate, log_tau))
    return found, 512 * U * (1.0 + abs(plain) + abs(found))


def _with_laplace(part: Part, rate: float, log_tau: float) -> Part:
    """X + Z by two recursions: U_k = X_k + up U_(k-1) and W_k = X_k + down W_(k+1)."""
    up, down, err = _ratios(rate, log_tau)
    more = math.ceil(_DEEP / (rate - log_tau)) + 2
    less = math.ceil(_DEEP / (rate + log_tau)) + 2
    size = less + part.mass.size + more
    masses = np.zeros(size)
    masses[less : less + part.mass.size] = part.mass
    rising = geometric_sums(masses, up)
    falling = geometric_sums(masses[::-1], down)[::-1]
    # Z = 0 is in the first alone.
    both = rising + down * np.append(falling[1:], 0.0)
    weight = _weight(rate, log_tau)
    # Beyond the window both are geometric.
    beyond = float(rising[-1]) * up / -math.expm1(log_tau - rate)
    beyond += down * float(falling[0]) / -math.expm1(-log_tau - rate)
    # A step multiplies and adds; its ratio is off by ``err`` and what exp rounds.
    rel = (part.rel + size * (6 * U + err) + 256 * U) * (1.0 + 1e-6)
    missing = part.missing + 1.01 * weight * beyond + size * 1e-300
    return Part(part.start - less, weight * both, rel, missing)


def _gaussian(sigma: float, log_tau: float) -> tuple[Part, float]:
    """Discrete Gaussian noise with weight tau^z, and the sum of e^(-(z - z*)^2/(2 sigma^2))."""
    top = sigma * sigma * log_tau
    middle, reach = round(top), math.ceil(_WIDE * sigma) + 3
    z = np.arange(middle - reach, middle + reach + 1, dtype=float)
    weights = np.exp(-0.5 * ((z - top) / sigma) ** 2)
    total = math.fsum(weights)
    far = (reach + 1.0) / sigma
    # z* to 8 u, quotient and square to 6 u; z itself is a whole number below 2^53.
    err = 8 * U * (abs(top) + 1.0) * far / sigma + 8 * U * far * far
    # From the ends on each mass is at most this share of the one before.
    share = math.exp(-(reach - 1.0) / (sigma * sigma))
    last = float(weights[0] + weights[-1])
    beyond = 1.01 * last * share / (1.0 - share) / total if share < 1.0 else math.inf
    missing = min(beyond + z.size * 1e-300, 1.0)
    rel = (2.0 * err + missing + 16 * U) * (1.0 + 1e-6)
    return Part(middle - reach, weights / total, rel, missing), total
