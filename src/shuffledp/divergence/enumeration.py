"""Exact enumeration of E[S]_+ over all count vectors, where n is small."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.numerics.factorials import log_factorials
from shuffledp.pair import UNIT_ROUNDOFF, Array, ShuffledPair

U = UNIT_ROUNDOFF
# Count vectors that are enumerated for every eps without a thought: some ten milliseconds.
CHEAP_ENUMERATION = 30_000


def composition_count(pair: ShuffledPair) -> int:
    """How many count vectors (c_1, .., c_K, left-over) with sum n there are."""
    kinds = pair.w.size + (1 if sum(pair.leftover_mass()) > 0.0 else 0)
    if kinds == 0:
        return 0
    return math.comb(min(pair.n, 1 << 40) + kinds - 1, kinds - 1)


class Enumeration:
    """All count vectors of a pair of atoms, made once and used for every eps.

    S = sum_j c_j a_j - e^eps sum_j c_j b_j has multinomial probability; only the two sums and the
    probability of each count vector are kept.
    """

    def __init__(self, pair: ShuffledPair) -> None:
        keep = pair.w > 0.0
        w, a, b = pair.w[keep], pair.a[keep], pair.b[keep]
        above = below = np.full(w.size, 1.01 * pair.rel)
        leftover, leftover_err = pair.leftover_mass()
        if leftover + leftover_err > 0.0:
            # The left-over goes last: its count is what remains. It is given its largest mass.
            most = leftover + leftover_err
            w, a, b = (np.append(x, y) for x, y in ((w, most), (a, 0.0), (b, 0.0)))
            above = np.append(above, 2 * U)
            below = np.append(below, min(2.0 * leftover_err / most + 2 * U, 1.0))
        n = pair.n
        left = np.array([n])
        total_a, total_b = np.zeros(1), np.zeros(1)
        log_p, size, up, down = np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1)
        for j in range(w.size):
            last = j == w.size - 1
            repeats = np.ones(left.size, dtype=np.int64) if last else left + 1
            index = np.repeat(np.arange(left.size), repeats)
            if last:
                c = left
            else:
                starts = np.cumsum(repeats) - repeats
                c = np.arange(index.size) - np.repeat(starts, repeats)
            rest = left[index] - c
            log_factorial = log_factorials(c)
            term = c * math.log(w[j]) - log_factorial
            log_p = log_p[index] + term
            size = size[index] + np.abs(term) + log_factorial
            up = up[index] + c * above[j]
            down = down[index] + c * below[j]
            total_a = total_a[index] + c * a[j]
            total_b = total_b[index] + c * b[j]
            left = rest
        whole = math.lgamma(n + 1)
        self.log_p = log_p + whole
        rounding = 16 * U * (size + 4.0 + whole)
        self.log_high = self.log_p + up * (1.0 + 1e-9) + rounding
        # (1 - x)^c >= 1 - c x.
        self.sure = np.maximum(1.0 - down * (1.0 + 1e-9) - np.expm1(np.minimum(rounding, 1.0)), 0.0)
        self.total_a: Array = total_a
        self.total_b: Array = total_b
        self.rounding = 1.01 * pair.rel + (2 * w.size + 16) * U

    def expected_positive_part(self, epsilon: float) -> LogInterval:
        """log E[S]_+ with every rounding outward."""
        scale = math.exp(epsilon)
        s = self.total_a - scale * self.total_b
        slack = self.rounding * (self.total_a + scale * self.total_b)
        high = _log_sum(self.log_high, s + slack)
        low = _log_sum(self.log_p, (s - slack) * self.sure)
        pad = (self.log_p.size + 64) * U
        return LogInterval(
            low - pad * (1.0 + abs(low)) if math.isfinite(low) else low,
            high + pad * (1.0 + abs(high)) if math.isfinite(high) else high,
        )


def _log_sum(log_p: Array, value: Array) -> float:
    """log sum e^{log_p} value over the entries with value > 0; -inf where there is none."""
    keep = value > 0.0
    if not bool(keep.any()):
        return -math.inf
    terms = log_p[keep] + np.log(value[keep])
    top = float(terms.max())
    return top + math.log(float(np.exp(np.maximum(terms - top, -745.0)).sum()))
