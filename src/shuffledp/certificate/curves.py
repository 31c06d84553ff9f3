"""delta of one round (or one coordinate) at any eps, as a claim's witness says to compute it.

The engine is asked again with more bits than wrote the claim; nothing is searched for but data sets
of one-bit reports, all of which an upper end is about. Every way to delta is a ``Bracket``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from shuffledp.ball.record import Bits, Definition
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.bounds.local import log_local_delta
from shuffledp.certificate.checks import Verdict
from shuffledp.certificate.model import Witness
from shuffledp.certificate.widened import Target
from shuffledp.deployment.setting import Setting
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.laws.pairs import Pair
from shuffledp.propose.one_bit_curve import Curve
from shuffledp.propose.profile import Profile
from shuffledp.propose.stealing_claims import StealingClaims

__all__ = [
    "Answer",
    "Asked",
    "Bracket",
    "Way",
    "all_data_sets",
    "alone",
    "checked",
    "compared",
    "from_above",
    "from_below",
    "one_data_set",
    "share_of",
    "stolen",
]

# Relative widths of delta; each is tried only if the one before could not tell.
_WIDTHS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
# Asking for less is over where it made a bracket no narrower than this times the one before.
_NARROWER = 0.9
# In log delta: a bound that far above a claim is not what was claimed. Half of that may be due to
# the cells of a bound with one distinguished gain.
_FAR = 1e-2
# Bits beyond those of the issuer.
_MORE_BITS = 64
# Where a bound of all data sets decides nothing: as near to the largest one found.
_NEAR = 1e-9
# How far from the bracket, in log delta, an estimate in plain floats may be, for deltas of order 1;
# it grows with log delta, of which estimates have so many digits. Measured for deltas from 1e-2 to
# 1e-9: at most 0.0008 for laws of classes of outputs, at most 0.005 for Laplace noise, and 0.4 for
# Gaussian noise of few users, whose largest gains are cut in an estimate.
_APART, _APART_OF_CELLS, _GROWTH = 0.01, 1.0, 0.1
# Log delta that label stealing is prepared for where a claim says none.
_USUAL = -60.0

Answer = tuple[Verdict, str]


class Asked(NamedTuple):
    """What is asked of delta.

    Attributes
    ----------
    epsilon : float
        eps >= 0.
    target : tuple of two floats
        Floats below and above the log of the number that delta is compared with.
    swap : bool
        The other order of the divergence.
    place : int or None
        Which of the witness' values it is, of which some have numbers of their own.
    width : float
        Relative width of delta that is wanted.
    """

    epsilon: float
    target: Target
    swap: bool = False
    place: int | None = None
    width: float = _WIDTHS[0]


# Ends of log delta.
Bracket = Callable[[Asked], Target]


@dataclass(frozen=True)
class Way:
    """A claim's way to delta: the largest of some brackets, each with what it is of."""

    named: Sequence[tuple[str, Bracket]]

    def decide(self, asked: Asked, *, upper: bool) -> Answer:
        """Whether delta is on the claim's side of a number for sure, and what was recomputed."""
        worst: Verdict = "holds"
        closest, how = -math.inf, ""
        for words, bracket in self.named:
            verdict, found = _settled(bracket, asked, upper=upper)
            distance = found[1] if upper else -found[0]
            if not how or distance > closest or verdict != "holds":
                closest, how = distance, f"{words}: {share_of(found[upper], asked.target[0])}"
            if verdict == "does not hold":
                return verdict, how
            worst = verdict if verdict == "undecided" else worst
        many = f"; {len(self.named)} ordered pairs" if len(self.named) > 2 else ""
        return worst, how + many

    def ends(self, asked: Asked) -> Target:
        """The largest, as one bracket."""
        found = [bracket(asked) for _, bracket in self.named]
        return max(low for low, _ in found), max(high for _, high in found)


def _settled(bracket: Bracket, asked: Asked, *, upper: bool) -> tuple[Verdict, Target]:
    """What a bracket says, narrower ones where the one before could not tell."""
    found = (-math.inf, math.inf)
    for width in _WIDTHS:
        before, found = found, bracket(asked._replace(width=width))
        verdict = compared(found, asked.target, upper=upper)
        narrower = found[1] - found[0] < _NARROWER * (before[1] - before[0])
        if verdict != "undecided" or not narrower:
            return verdict, found
    return "undecided", found


def compared(bracket: Target, target: Target, *, upper: bool) -> Verdict:
    """Whether log delta, in this bracket, is on the claim's side of the target for sure."""
    low, high = bracket
    if high <= target[0] if upper else low >= target[1]:
        return "holds"
    if low > target[1] if upper else high < target[0]:
        return "does not hold"
    return "undecided"


def share_of(log_found: float, log_claimed: float) -> str:
    """A delta as a multiple of the one that is claimed, of which logarithms are given."""
    if log_claimed == -math.inf:
        return "delta 0, as claimed" if log_found == -math.inf else "delta above 0"
    return f"delta {math.exp(min(700.0, log_found - log_claimed)):.9g} times the claim"


def from_above(log: float) -> Target:
    """A bound alone, as a bracket: what is little above a claim may be due to another step."""
    return log - _FAR, log


def from_below(log: float) -> Target:
    """The same of a bound from below."""
    return log, log + _FAR


# --------------------------------------------------------------------------------- the brackets


def checked(pair: Pair) -> Bracket:
    """A pair's profile with more bits, beside an estimate in plain floats."""
    made = functools.cache(
        lambda swap: Profile(pair.swap() if swap else pair, more_bits=_MORE_BITS)
    )

    @functools.cache
    def ends(epsilon: float, width: float, swap: bool) -> Target:  # noqa: FBT001 (a cache's key)
        profile: Profile = made(swap)
        found = profile.log_delta(epsilon, width=width)
        estimate = profile.rough_log_delta(epsilon)
        apart = _APART if profile.pair.one_law else _APART_OF_CELLS
        if math.isfinite(estimate):
            apart *= 1.0 + _GROWTH * abs(estimate)
        if not found.low - apart <= estimate <= found.high + apart:
            raise NotCertified(
                f"an estimate in plain floats says log delta = {estimate:.6g}, and balls say "
                f"{found.low:.6g} to {found.high:.6g}"
            )
        return found.low, found.high

    return lambda asked: ends(asked.epsilon, asked.width, asked.swap)


def alone(mechanism: Definition, x0: Any, x1: Any) -> Bracket:
    """The divergence of one report."""

    def ends(asked: Asked) -> Target:
        first, second = (x1, x0) if asked.swap else (x0, x1)
        found = log_local_delta(mechanism, first, second, asked.epsilon)
        return found.low, found.high

    return ends


def all_data_sets(bits: Bits, n: int, *, noise: NoiseLaw | None = None) -> Bracket:
    """The largest delta of one-bit reports, or of one coordinate of sums of bits.

    Parameters
    ----------
    bits : Bits
        Of one report.
    n : int
        Users.
    noise : NoiseLaw, optional
        The aggregator's own.
    """
    curve = Curve(bits, n, noise=noise, more_bits=_MORE_BITS)

    def ends(asked: Asked) -> Target:
        enough = asked.target[0]
        seen = curve.point(_finite(asked.epsilon), width=_NEAR, enough=enough, given_up=enough)
        # Some data set's delta is not below the lower one.
        return seen.log_low, seen.log_high

    return ends


def one_data_set(
    bits: Bits, n: int, held: tuple[Any, int], *, noise: NoiseLaw | None = None
) -> Bracket:
    """The delta of one data set of such reports.

    Parameters
    ----------
    bits, n, noise
        As for ``all_data_sets``.
    held : (input, int)
        The victim's first value, and how many others hold that.
    """
    curve = Curve(bits, n, noise=noise, more_bits=_MORE_BITS)
    low, high = bits.inputs
    first, count = held
    if not 0 <= count <= n - 1:
        raise ParameterError(f"others = {count!r}: wanted at most {n - 1:,}")

    def ends(asked: Asked) -> Target:
        x, others = first, count
        if asked.swap:  # the victim holds the other value first
            x, others = (high if first == low else low), n - 1 - count
        found = curve.of_order(x, others, _finite(asked.epsilon))
        return found.log_low, found.log_high

    return ends


def _finite(epsilon: float) -> float:
    if not math.isfinite(epsilon):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number")
    return epsilon


def stolen(setting: Setting, witness: Witness, otherwise: Way | None, *, jump: bool) -> Bracket:
    """A bound by label stealing with the claim's own free numbers.

    Parameters
    ----------
    setting : Setting
        One mechanism.
    witness : Witness
        With ``free``, or with ``frees`` for each of its values.
    otherwise : Way
        For values that need no free numbers.
    jump : bool
        Whether one large gain is kept whole.
    """
    values = [math.log(one) for one in witness.values or () if one > 0.0]

    @functools.cache
    def claims(least: float) -> StealingClaims:
        return StealingClaims(setting.source, setting.own, least, jump=jump)

    def ends(asked: Asked) -> Target:
        at = asked.target[0]
        free = witness.free if asked.place is None else (witness.frees or [None])[asked.place]
        if free is None:
            if otherwise is None:
                raise NotCertified("a value without free numbers")
            return otherwise.ends(asked)
        least = min(values, default=at if math.isfinite(at) else _USUAL)
        numbers = [one.model_dump() for one in free]
        # The bound itself, or any number up to what is claimed.
        return from_above(claims(least).log_delta(numbers, epsilon=asked.epsilon, enough=at))

    return ends
