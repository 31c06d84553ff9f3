"""A rigorous bracket of delta for a gain law at one eps: choose the method, then the precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from shuffledp.arithmetic.balls import arb, ctx, float_above, float_below
from shuffledp.errors import NotCertified

from .contour import PrecisionError, positive_part_by_contour
from .enumeration import compositions, positive_part_by_enumeration
from .gains import GainLaw
from .powers import Power, Powers

__all__ = ["log_divergence", "log_divergence_by_panels"]

_COARSE = 0.1
_ENUMERABLE = 60_000  # compositions; about a microsecond each
_DOUBLINGS = 4
_REFINEMENTS = 8
_FIRST_CUT, _SMALLEST_CUT = -8.0, -5e4
_MARGIN = 18.0


def log_divergence(
    make_law: Callable[[], GainLaw], *, n: int, rel: float, work: int = 20_000_000
) -> tuple[float, float]:
    """Enclose log delta, delta = (1/n) E[G_1 + ... + G_n]_+ + outside.

    Parameters
    ----------
    make_law : builds the gain law at the current working precision.
    n : number of messages, at least 1.
    rel : relative width of delta wanted.
    work : how many exponentials may be spent (about a million a second).

    Returns
    -------
    (lower, upper)
        Natural logarithms, rounded outward; (-inf, -inf) where delta is exactly zero.

    Raises
    ------
    NotCertified
        If the width cannot be reached within the work allowed.
    """
    bits = 160 + 2 * n.bit_length()
    reason = ""
    for _ in range(_DOUBLINGS):
        with ctx.workprec(bits):
            try:
                law = make_law()
                lower, upper = _delta(law, n, rel, work)
            except PrecisionError as error:
                reason = str(error)
            else:
                if upper.is_zero():
                    return -math.inf, -math.inf
                if lower > 0 and upper - lower <= 1.01 * rel * lower:
                    return float_below(lower.log()), float_above(upper.log())
                reason = f"delta in [{lower.str(8)}, {upper.str(8)}]"
                if law.outside.rad() > rel * lower:
                    break  # what was cut off shows: more bits change nothing
        bits *= 2
    raise NotCertified(f"rel = {rel!r} not reached with {bits} bits at most: {reason}")


def log_divergence_by_panels(
    make_terms: Callable[[float, float], tuple[Iterable[Powers], arb]],
    *,
    n: int,
    rel: float,
    guess: float | None = None,
    work: int = 60_000_000,
) -> tuple[float, float]:
    """Enclose log delta for a continuous mechanism.

    Parameters
    ----------
    make_terms : builds what adds up to the positive part, and the outside, for the logarithm of
        the probability that may be cut off, and that of the error of a panel.
    guess : what log delta may be; saves time where it is about right.
    n, rel, work : as for `log_divergence`.
    """
    with ctx.workprec(160 + 2 * n.bit_length()):
        if guess is not None:
            lower, upper = _refined(make_terms, math.log(rel / 5) + guess, n, rel, work)
            if lower > 0 and upper - lower <= 1.01 * rel * lower:
                return float_below(lower.log()), float_above(upper.log())
        log_cut = _FIRST_CUT
        lower, upper = _refined(make_terms, log_cut, n, _COARSE, work)
        while not lower > 0:
            # What was cut off may be all of delta: cut less.
            log_cut *= 1.4
            if log_cut < _SMALLEST_CUT:
                raise NotCertified(f"delta <= {upper.str(5)}: too small to enclose")
            lower, upper = _refined(make_terms, log_cut, n, _COARSE, work)
        log_cut = math.log(rel / 5) + float_below(lower.log())
        lower, upper = _refined(make_terms, log_cut, n, rel, work)
        if not (lower > 0 and upper - lower <= 1.01 * rel * lower):
            raise NotCertified(
                f"rel = {rel!r} not reached: delta in [{lower.str(8)}, {upper.str(8)}]"
            )
        return float_below(lower.log()), float_above(upper.log())


def _refined(
    make_terms: Callable[[float, float], tuple[Iterable[Powers], arb]],
    log_cut: float,
    n: int,
    rel: float,
    work: int,
) -> tuple[arb, arb]:
    """Evaluate with more and more accurate panels."""
    reason = ""
    log_error = math.log(rel / n) - _MARGIN
    for _ in range(_REFINEMENTS):
        try:
            return _of_terms(*make_terms(log_cut, log_error), n, rel * 0.7, work)
        except PrecisionError as error:  # noqa: PERF203 (a retry, not a hot loop)
            reason = str(error)
            log_error -= _MARGIN
    raise NotCertified(f"rel = {rel!r} not reached with the finest panels tried: {reason}")


def _of_terms(
    terms: Iterable[Powers], outside: arb, n: int, rel: float, work: int
) -> tuple[arb, arb]:
    found = list(terms)
    if len(found) == 1:
        brackets = [positive_part_by_contour(found[0], rel, work)]
    else:
        # All roughly first: most terms matter little, and need few digits.
        brackets = [positive_part_by_contour(term, max(rel, _COARSE), work) for term in found]
        share = rel * float_below(_total(brackets, 0)) / len(found)
        for i, term in enumerate(found):
            low, high = brackets[i]
            if high - low > share:
                brackets[i] = positive_part_by_contour(term, share / float_above(high), work)
    lower, upper = (_total(brackets, end) / n + outside for end in (0, 1))
    return lower.lower(), upper.upper()


def _total(brackets: list[tuple[arb, arb]], end: int) -> arb:
    return sum((bracket[end] for bracket in brackets), start=arb(0))


def _delta(law: GainLaw, n: int, rel: float, work: int) -> tuple[arb, arb]:
    lower, upper = _positive_part(law, n, rel, work)
    lower, upper = lower / n + law.outside, upper / n + law.outside
    return lower.lower(), upper.upper()


def _positive_part(law: GainLaw, n: int, rel: float, work: int) -> tuple[arb, arb]:
    zero = arb(0)
    if all(g <= 0 for g in law.gain):
        return zero, zero
    mean = sum((w * g for w, g in zip(law.weight, law.gain, strict=True)), start=zero)
    if all(g >= 0 for g in law.gain):
        return n * mean, n * mean
    if compositions(n, len(law.gain)) <= _ENUMERABLE:
        value = positive_part_by_enumeration(law.weight, law.gain, n)
        return value, value
    if mean > 0:
        # x_+ = x + (-x)_+: keeps the tilt on the side where the sum is rare.
        mirrored = GainLaw(law.weight, [-g for g in law.gain], zero)
        lower, upper = positive_part_by_contour(Power(mirrored, n), rel, work)
        return n * mean + lower, n * mean + upper
    if not any(g > 0 for g in law.gain):
        raise PrecisionError("the sign of the largest gain")
    return positive_part_by_contour(Power(law, n), rel, work)
