"""Check a claim about delta(epsilon) in ball arithmetic: holds, does not hold, or undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shuffledp.errors import NotCertified, ParameterError

from .api import log_delta

__all__ = ["Verdict", "check_claim"]

_WIDTHS = (1e-3, 1e-5, 1e-7)
_SLACK_STEPS = 6


@dataclass(frozen=True)
class Verdict:
    """What ball arithmetic says of a claim.

    Attributes
    ----------
    answer : "holds", "does not hold" or "undecided".
    log_delta : (lower, upper), the tightest bracket of log delta(epsilon) found, in nats.
    log_claimed : the logarithm of the delta claimed.
    epsilon_proved : float or None
        The claimed epsilon where the claim holds; otherwise an epsilon close to it at which it
        was seen to hold: not below it for an upper end, not above it for a lower end.
    """

    answer: Literal["holds", "does not hold", "undecided"]
    log_delta: tuple[float, float]
    log_claimed: float
    epsilon_proved: float | None

    def __str__(self) -> str:
        lower, upper = self.log_delta
        if self.answer != "undecided":
            return f"{self.answer}: log delta in [{lower:.12g}, {upper:.12g}]"
        proved = "" if self.epsilon_proved is None else f"; holds at eps = {self.epsilon_proved!r}"
        return f"undecided at this precision: log delta in [{lower:.12g}, {upper:.12g}]{proved}"


def check_claim(
    mechanism: Mapping[str, Any],
    *,
    end: Literal["upper", "lower"],
    analysis: str,
    n: int,
    epsilon: float,
    log_claimed: float,
    x0: float | None = None,
    x1: float | None = None,
    x2: float | None = None,
    swap: bool = False,
) -> Verdict:
    """Check delta(epsilon) <= delta claimed (end "upper") or >= (end "lower") for one analysis.

    Parameters
    ----------
    end : "upper" or "lower".
    log_claimed : natural logarithm of the delta claimed (-inf for 0).
    mechanism, analysis, n, epsilon, x0, x1, x2, swap : as for `shuffledp.ball.api.log_delta`.

    Returns
    -------
    Verdict
        Brackets of relative width 1e-3, 1e-5 and 1e-7 are tried in turn until one decides.

    Raises
    ------
    ParameterError
        Arguments outside their domain.
    NotCertified
        No bracket at all could be computed.
    """
    if end not in ("upper", "lower"):
        raise ParameterError(f"end = {end!r}: wanted 'upper' or 'lower'")
    if math.isnan(log_claimed):
        raise ParameterError("log_claimed = nan: wanted a logarithm of delta")

    def bracket(eps: float, rel: float) -> tuple[float, float]:
        return log_delta(
            mechanism, analysis=analysis, n=n, epsilon=eps, x0=x0, x1=x1, x2=x2, swap=swap, rel=rel
        )

    sign = 1 if end == "upper" else -1
    best: tuple[float, float] | None = None
    reached = _WIDTHS[0]
    for rel in _WIDTHS:
        try:
            best, reached = bracket(epsilon, rel), rel
        except NotCertified:
            if best is None:
                raise
            break
        far, near = (best[1], best[0]) if sign > 0 else (best[0], best[1])
        if sign * (far - log_claimed) <= 0 or far == log_claimed:
            return Verdict("holds", best, log_claimed, epsilon)
        if sign * (near - log_claimed) > 0:
            break
    if best is None:  # pragma: no cover (the first width either succeeds or raises)
        raise NotCertified("no bracket of log delta could be computed")
    near = best[0] if sign > 0 else best[1]
    answer = "does not hold" if sign * (near - log_claimed) > 0 else "undecided"
    proved = _nearest_proved(
        bracket, epsilon, best, log_claimed=log_claimed, sign=sign, rel=reached
    )
    return Verdict(answer, best, log_claimed, proved)


def _nearest_proved(
    bracket: Callable[[float, float], tuple[float, float]],
    epsilon: float,
    best: tuple[float, float],
    *,
    log_claimed: float,
    sign: int,
    rel: float,
) -> float | None:
    """Step outward by secants on log delta until the claim is seen to hold."""
    index = 1 if sign > 0 else 0
    far = best[index]
    if not (math.isfinite(far) and math.isfinite(log_claimed)):
        return None
    eps, step = epsilon, sign * max(abs(epsilon), 1e-12) * 1e-4
    try:
        slope = abs((bracket(epsilon + step, rel)[index] - far) / step)
        for attempt in range(_SLACK_STEPS):
            missing = sign * (far - log_claimed) + 2.0 * rel * attempt
            eps += sign * max(1.02 * missing / max(slope, 1e-300), abs(eps) * 1e-12)
            far = bracket(eps, rel)[index]
            if sign * (far - log_claimed) <= 0:
                return eps
    except (NotCertified, ParameterError):
        return None
    return None
