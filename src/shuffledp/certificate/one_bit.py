"""One-bit reports as a certificate claims them: the engine's functions, with more bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shuffledp.ball.bits import Bits
from shuffledp.ball.one_bit import added_bits, bits_of
from shuffledp.ball.outputs import Parameters, positive
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.bounds.one_bit_curve import Curve
from shuffledp.errors import NotCertified, ParameterError

__all__ = ["Coordinates", "holds_for_all", "log_delta_others"]

# Beside the engine's own working precision.
_MORE_BITS = 64
# Where a bound of all data sets decides nothing: as near to the largest one found.
_NEAR = 1e-9


def _known(bits: Bits | None, mechanism: Parameters) -> Bits:
    if bits is None:
        raise NotCertified(f"{mechanism['name']}: not a mechanism of one-bit reports")
    return bits


def _check(n: int, epsilon: float) -> None:
    if n < 1 or not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(f"epsilon = {epsilon!r}, n = {n!r}: wanted epsilon >= 0 and users")


def log_delta_others(
    mechanism: Parameters,
    *,
    x0: Any,
    x1: Any,
    others: Sequence[tuple[Any, int]],
    n: int,
    epsilon: float,
) -> tuple[float, float]:
    """Enclose log delta for a victim x0 or x1 among others of the two inputs that matter.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}, with two outputs.
    x0, x1 : input
        The victim's, in the order of the divergence: the two inputs that matter.
    others : sequence of (input, count)
        How many of the others hold x0, and x1: n - 1 in all.
    n : int
        Users.
    epsilon : float
        eps >= 0.

    Raises
    ------
    ParameterError
        For inputs that are none of the two, and counts that are not n - 1.
    """
    _check(n, epsilon)
    bits = _known(bits_of(mechanism), mechanism)
    counts = dict(others)
    if len(others) != 2 or min(counts.values()) < 0 or sum(counts.values()) != n - 1:
        raise ParameterError(f"others = {others!r}: wanted two kinds of others, {n - 1} in all")
    low, high = bits.inputs
    if (x0, x1) not in {(low, high), (high, low)} or set(counts) != {x0, x1}:
        raise ParameterError(f"x0 = {x0!r}, x1 = {x1!r}: wanted {bits.inputs!r}")
    curve = Curve(bits, n, more_bits=_MORE_BITS)
    found = curve.of_order(x0, counts[x0], epsilon)
    return found.log_low, found.log_high


def holds_for_all(
    mechanism: Parameters, *, n: int, epsilon: float, log_claimed: float
) -> tuple[bool, float]:
    """Whether delta(epsilon) is at most what is claimed for every data set and pair of inputs.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}, with two outputs.
    n : int
        Users.
    epsilon : float
        eps >= 0.
    log_claimed : float
        Natural logarithm of the delta claimed.

    Returns
    -------
    (holds, log_seen) : tuple
        With the bound of all data sets where it holds, the largest of those evaluated where not.

    Raises
    ------
    NotCertified
        For other mechanisms.
    """
    _check(n, epsilon)
    curve = Curve(_known(bits_of(mechanism), mechanism), n, more_bits=_MORE_BITS)
    return _decided(curve, epsilon, log_claimed)


def _decided(curve: Curve, epsilon: float, log_claimed: float) -> tuple[bool, float]:
    seen = curve.point(epsilon, width=_NEAR, enough=log_claimed, given_up=log_claimed)
    holds = seen.log_high <= log_claimed
    return holds, seen.log_high if holds else seen.log_low


class Coordinates:
    """delta of one coordinate of sums of bits, at any eps.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}, whose reports' bits are added up.
    n : int
        Users.
    added : mapping, optional
        Noise of the aggregator's own: kind and scale.

    Raises
    ------
    NotCertified
        For mechanisms whose reports are no bits.
    """

    def __init__(self, mechanism: Parameters, *, n: int, added: Parameters | None = None) -> None:
        bits = _known(added_bits(mechanism), mechanism)
        noise = None
        if added is not None:
            positive(added, "scale")
            noise = NoiseLaw(added["kind"], float(added["scale"]))
        self._bits, self._n = bits, n
        self._curve = Curve(bits, n, noise=noise, more_bits=_MORE_BITS)

    def hold(self, epsilons: Sequence[float], logs: Sequence[float]) -> tuple[bool, bool, float]:
        """Whether delta is at most what is claimed at every eps, for all data sets.

        Parameters
        ----------
        epsilons, logs : sequence of float
            eps >= 0, and natural logarithms of the deltas claimed there; -inf for 0.

        Returns
        -------
        (holds, refuted, excess) : tuple
            ``refuted``: some data set's delta is certainly more. ``excess``: the largest log of a
            bound over a claim.
        """
        excess = -math.inf
        for epsilon, log in zip(epsilons, logs, strict=True):
            _check(self._n, epsilon)
            holds, seen = _decided(self._curve, epsilon, log)
            if not holds:
                return False, seen > log, seen - log
            if log > -math.inf:
                excess = max(excess, seen - log)
        return True, False, excess

    def of_dataset(self, ones: int, epsilon: float, *, swap: bool) -> tuple[float, float]:
        """Enclose log delta of one data set.

        Parameters
        ----------
        ones : int
            Others whose coordinate is a 1.
        epsilon : float
            eps >= 0.
        swap : bool
            The victim holds a 0 in the first data set, a 1 in the second.
        """
        _check(self._n, epsilon)
        if not 0 <= ones <= self._n - 1:
            raise ParameterError(f"others = {ones!r}: wanted 0 to {self._n - 1:,}")
        zero, one = self._bits.inputs
        held = self._n - 1 - ones if swap else ones
        found = self._curve.of_order(zero if swap else one, held, epsilon)
        return found.log_low, found.log_high
