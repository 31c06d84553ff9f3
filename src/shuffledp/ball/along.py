"""The label-stealing bound at many eps of noise on an interval, as rounds ask for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.errors import ParameterError

from .noise_triples import measures_of
from .spans import (
    COARSE,
    INTERVAL_BITS,
    Spans,
    cells_at,
    end_points,
    noise_on,
    spans_of,
    triples_of,
)
from .together import log_bound_together

__all__ = ["StealingAlong"]


class StealingAlong:
    """What bounds at many eps share: a cover of all inputs, and its cells.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}, of noise on an interval.
    scale : float
        About the eps at which delta has fallen by a factor e: the cover is as fine as for this.
    log_least : float
        About log of the least delta that will be asked for.
    """

    def __init__(self, mechanism: Mapping[str, Any], *, scale: float, log_least: float) -> None:
        self._mechanism, self._scale, self._log_least = mechanism, scale, log_least
        self._cover: tuple[Spans, list[Spans], bool] | None = None

    def log_delta(
        self, numbers: Sequence[Mapping[str, Any]], *, n: int, epsilon: float, log_claimed: float
    ) -> float:
        """A float certainly not below log of the bound, or any up to ``log_claimed`` if it is less.

        Parameters
        ----------
        numbers : sequence of mappings
            Free numbers of the one pair.
        n : int
            Users, the victim included, 2 <= n <= 10**15.
        epsilon : float
            eps >= 0 in nats.
        log_claimed : float
            log of the delta that is claimed there.

        Raises
        ------
        ParameterError
            For numbers out of range.
        NotCertified
            Where it would be too much work.
        """
        if len(numbers) != 1:
            raise ParameterError(f"free: {len(numbers)} sets of numbers, wanted 1")
        if n < 2 or not (math.isfinite(epsilon) and epsilon >= 0.0):
            raise ParameterError(f"n = {n}, epsilon = {epsilon!r}: wanted n >= 2, epsilon >= 0")
        with ctx.workprec(INTERVAL_BITS):
            grow = arb(epsilon).exp()
            ends, covers, normal = self._cover = self._cover or self._covered()
            found = measures_of(
                cells_at(ends, grow),
                (cells_at(one, grow) for one in covers),
                numbers[0],
                normal=normal,
            )
            return log_bound_together(found, numbers[0], n, enough=log_claimed)

    def _covered(self) -> tuple[Spans, list[Spans], bool]:
        with ctx.workprec(INTERVAL_BITS):
            noise = noise_on(self._mechanism, self._log_least)
            binary = bool(self._mechanism.get("binary"))
            triples = triples_of(noise, self._scale, two_inputs=binary, detail=COARSE)
            covers = [spans_of(noise, triple) for triple in triples]
            return spans_of(noise, end_points(COARSE)), covers, noise.normal
