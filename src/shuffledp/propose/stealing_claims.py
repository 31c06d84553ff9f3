"""Check claims by label stealing: evaluate the bound again at the claim's own free numbers.

The step of the sums is smaller than the issuer's, and there are more bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from shuffledp.arithmetic.balls import ctx, precision_for
from shuffledp.ball.record import Definition
from shuffledp.bounds.stealing import Numbers, log_delta
from shuffledp.bounds.stealing_cases import Case, cases_of
from shuffledp.errors import ParameterError
from shuffledp.propose.interval_ends import IntervalStealing
from shuffledp.propose.lone_jump_ends import LoneJump

__all__ = ["StealingClaims"]

# Bits beyond the issuer's, and the divisor of the step of the sums.
_MORE_BITS, _FINER = 64, 2
# Largest free number accepted: tilts and steps of real claims are below 1e20.
_LARGEST = 1e100


class StealingClaims:
    """The laws that claims about one mechanism among n users share.

    Parameters
    ----------
    mechanism : Definition
        "generic" stands for all mechanisms with a local guarantee.
    n : int
        Number of users, the victim included, n >= 2.
    log_least : float
        An estimate of log of the least delta claimed.
    jump : bool
        Whether the claims are by the bound with one distinguished gain.
    """

    def __init__(
        self, mechanism: Definition, n: int, log_least: float, *, jump: bool = False
    ) -> None:
        self._mechanism, self._n, self._log_least = mechanism, n, log_least
        self._bits, self._cases = precision_for(n) + _MORE_BITS, list[Case]()
        found = mechanism.others()
        covered = found is not None and found.how == "span"
        self._covered: IntervalStealing | None = None
        if jump:
            self._covered = LoneJump(mechanism, n, more_bits=_MORE_BITS)
        elif covered:
            self._covered = IntervalStealing(mechanism, n, more_bits=_MORE_BITS)

    def log_delta(
        self, free: Sequence[Mapping[str, Any]], *, epsilon: float, enough: float
    ) -> float:
        """log of the bound, rounded up to a float; ``enough`` if the bound is surely at most that.

        Parameters
        ----------
        free : sequence of mappings
            The free numbers of each pair of inputs, in the order of its theorem.
        epsilon : float
            eps >= 0 in nats.
        enough : float
            log of the claimed delta.

        Raises
        ------
        ParameterError
            If a number is out of range.
        NotCertified
            If no theorem says which pairs and inputs suffice.
        """
        # Merge equal sets: pairs that share one are bounded together.
        kept: dict[Numbers, Numbers] = {}
        numbers = [kept.setdefault(one, one) for one in map(_numbers, free)]
        if self._covered is not None:
            if len(numbers) != 1:
                raise ParameterError(f"free: {len(numbers)} sets of numbers, wanted 1")
            about = self._log_least if enough == -math.inf else enough
            return self._covered.claimed(numbers[0], epsilon, about, enough)
        with ctx.workprec(self._bits):
            self._cases = self._cases or cases_of(self._mechanism, self._log_least)
            return log_delta(self._cases, numbers, self._n, epsilon, enough=enough, finer=_FINER)


def _numbers(free: Mapping[str, Any]) -> Numbers:
    """The free numbers of a file's entry; ParameterError for values of a wrong type."""
    rows = [free.get(key) for key in ("share", "join")]
    if not all(isinstance(row, list | tuple) and all(map(_is_number, row)) for row in rows):
        raise ParameterError("share, join: wanted lists of numbers from 0 to 1")
    for key in ("alpha", "smoothing", "step"):
        if not _is_number(free.get(key)):
            raise ParameterError(f"{key} = {free.get(key)!r}: wanted a finite number > 0")
    ceiling = free.get("ceiling")
    if not (ceiling is None or _is_number(ceiling)):
        raise ParameterError(f"ceiling = {ceiling!r}: wanted a finite number >= 0, or none")
    share, join = (tuple(row) for row in rows if row is not None)
    return Numbers(share, join, free["alpha"], free["smoothing"], free["step"], ceiling)


def _is_number(value: Any) -> bool:
    """Whether the value is a number so small that products of such numbers are finite floats."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST
