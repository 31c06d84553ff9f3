"""Reports of one bit in ball arithmetic: exact divergences, and all data sets by halving.

With S the number of ones among the others, A of whom send a 1 with probability p and B with q,
alpha = v0 - a v1 and a = e^eps (docs/theory-binary.md, Theorem 2.1),

    D = max_j F_j,  F_j = alpha P(S = j) - (a - 1) P(S > j),
    h_k = alpha P(S = k - 1) - (alpha + a - 1) P(S = k) changes its sign once, from - to +.

Sums over how many of the first kind send a 1 have log-concave terms: what is left out of them is
at most a geometric series. For m1 <= m <= m2 of N others with p, D(m) is at most D among m1 and
N - m2 of the two kinds (Theorem 3.1).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from shuffledp.arithmetic.balls import arb, ctx, float_above, float_below
from shuffledp.errors import NotCertified, ParameterError

from .bits import Bit, Bits
from .outputs import Parameters
from .registry import seen

__all__ = [
    "EXACT",
    "EXACT_LOWER",
    "binary_inputs",
    "bit_of",
    "bits_of",
    "holds_for_all",
    "log_delta_others",
    "written_fault",
]

# The analyses that look at data sets of one-bit reports one by one, which are their theorems' names
# too: the largest of all data sets, and the one that a witness names.
EXACT, EXACT_LOWER = "binary-exact", "binary-exact-lower"


_BITS = 160
_MOST_USERS = 1_000_000
# About a minute: a unit is a term of a sum.
_MOST_WORK = 20_000_000


def binary_inputs(mechanism: Parameters) -> tuple[Any, Any] | None:
    """The inputs with the least and the largest probability of a 1; None for other reports."""
    bits = bits_of(mechanism)
    return None if bits is None else bits.inputs


def written_fault(
    mechanism: Parameters, x0: Any, x1: Any, others: Sequence[tuple[Any, int]]
) -> str:
    """What is wrong with how a data set is written, which is in one way; empty if nothing is.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    x0, x1 : input
        The victim's: the two inputs that matter, in either order.
    others : sequence of (input, count)
        What the others hold, in the order of the victim's inputs.
    """
    inputs = binary_inputs(mechanism) or ()
    known = [json.dumps(list(inputs)), json.dumps(list(inputs[::-1]))]
    pair = [x0, x1]
    if json.dumps(pair) not in known or json.dumps([x for x, _ in others]) != json.dumps(pair):
        return (
            f"witness: wanted the inputs {known[0]} as x0 and x1, and of the others in that order"
        )
    return ""


def bits_of(mechanism: Parameters) -> Bits | None:
    """Its reports of one bit; None for other reports."""
    find = seen(mechanism).bits
    return None if find is None else find(mechanism)


def bit_of(mechanism: Parameters, x: Any) -> Bit:
    """The law of one of the two inputs."""
    bits = bits_of(mechanism)
    inputs = None if bits is None else bits.inputs
    if bits is None or x not in bits.inputs:
        raise ParameterError(f"input {x!r}: wanted one of {inputs!r}")
    return bits.law(x)


# ------------------------------------------------------------------------------ one data set


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
        The victim's, in the order of the divergence.
    others : sequence of (input, count)
        Two kinds of others, n - 1 in all.
    n : int
        Users, at most 1,000,000.
    epsilon : float
        eps >= 0.

    Raises
    ------
    ParameterError
        For inputs that are none of the two, and counts that are not n - 1.
    NotCertified
        For more users.
    """
    _check_size(n, epsilon)
    counts = [count for _, count in others]
    if len(others) != 2 or min(counts) < 0 or sum(counts) != n - 1 or x0 == x1:
        raise ParameterError(f"others = {others!r}: wanted two kinds of others, {n - 1} in all")
    with ctx.workprec(_BITS):
        kinds = [(bit_of(mechanism, x), count) for x, count in others]
        low, high = _divergence(bit_of(mechanism, x0), bit_of(mechanism, x1), kinds, arb(epsilon))
        return _log(low, up=False), _log(high, up=True)


def _log(value: arb, *, up: bool) -> float:
    if not value.is_finite() or (not up and not value > 0):
        return math.inf if up else -math.inf
    if up:
        top = value.upper()
        return float_above(top.log()) if top > 0 else -math.inf
    return float_below(value.lower().log())


def _check_size(n: int, epsilon: float) -> None:
    if not 1 <= n <= _MOST_USERS:
        raise NotCertified(f"n = {n:,}: one-bit reports of up to {_MOST_USERS:,} are recomputed")
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number >= 0")


def _divergence(
    victim0: Bit, victim1: Bit, kinds: Sequence[tuple[Bit, int]], epsilon: arb
) -> tuple[arb, arb]:
    """Balls below and above D."""
    grow = epsilon.exp()
    alpha = victim0.share - grow * victim1.share
    total = grow * victim1.rest - victim0.rest
    if not alpha > 0:
        # alpha - total = 1 - a <= 0: not both outputs speak for the victim's x0.
        if not total < 0:
            # Next to the local guarantee: each output adds no more than its positive part.
            return arb(0), alpha.nonnegative_part() + (-total).nonnegative_part()
        flipped = [(bit.flipped, count) for bit, count in kinds]
        return _divergence(victim0.flipped, victim1.flipped, flipped, epsilon)
    ones = _Ones(kinds)
    j = ones.guess(float((total / alpha).mid()))
    for _ in range(64):
        steps = {k: alpha * ones.mass(k - 1) - total * ones.mass(k) for k in range(j - 1, j + 3)}
        if not (steps[j - 1] <= 0 or j - 1 <= 0):
            j -= 1
        elif not (steps[j + 2] >= 0 or j + 2 > ones.users):
            j += 1
        else:
            break
    else:
        return arb(0), arb(1)
    best = alpha * ones.mass(j) - (grow - 1) * ones.beyond(j)
    # All h before j are <= 0 and all after j + 1 are >= 0: D = F_j + (h_j)_+ + (-h_(j+1))_+.
    whole = best + steps[j].nonnegative_part() + (-steps[j + 1]).nonnegative_part()
    return whole, whole


class _Ones:
    """How many of the others send a 1: masses and tails of a sum of two binomial laws."""

    def __init__(self, kinds: Sequence[tuple[Bit, int]]) -> None:
        # Kinds that always send the same bit only shift.
        self.shift = sum(count for bit, count in kinds if bit.zero.is_zero())
        rest = [(bit, n) for bit, n in kinds if not (bit.zero.is_zero() or bit.one.is_zero()) and n]
        rest += [(Bit(arb(1), arb(1)), 0)] * (2 - len(rest))
        (self.first, self.size), (self.second, self.more) = rest[:2]
        self.users = sum(count for _, count in kinds)
        self.odds = (self.first.one / self.first.zero, self.second.one / self.second.zero)
        self.least, self.most = -1, -1

    def guess(self, ratio: float) -> int:
        """Mean of S tilted by (alpha + b)/alpha, about where the best j is; in floats."""
        self._place(ratio)
        return self.middle + self.shift

    def _place(self, ratio: float) -> None:
        """Windows of both kinds, by the tilted law: enough for every j next to the best."""
        means, variances = [], []
        for odds, count in zip(self.odds, (self.size, self.more), strict=True):
            log = float(odds.log().mid()) + math.log(max(ratio, 1.0))
            share = 1.0 / (1.0 + math.exp(-log)) if log > -700 else 0.0
            means.append(count * share)
            variances.append(count * share * (1.0 - share))
        reach = [math.ceil(13.5 * math.sqrt(v)) + 60 for v in variances]
        self.middle = round(sum(means))
        self.least = max(0, round(means[0]) - reach[0])
        self.most = min(self.size, round(means[0]) + reach[0])
        low = max(0, min(round(means[1]) - reach[1], self.middle - self.most - 8))
        high = min(self.more, max(round(means[1]) + reach[1], self.middle - self.least + 8))
        self.own = _run(self.size, self.odds[0], self.first.rest, self.least, self.most)
        self.low = low
        self.other = _run(self.more, self.odds[1], self.second.rest, low, high)
        # P(Y > l) for l = low - 1, .. , high: what is beyond the window is geometric.
        beyond = _rest(self.other[-1], _ratio(self.more, self.odds[1], high))
        tails = [beyond]
        for mass in reversed(self.other):
            tails.append(tails[-1] + mass)
        self.tails = tails[::-1]

    def mass(self, k: int) -> arb:
        """P(S = k)."""
        k -= self.shift
        return self._sum(lambda x: self._other(k - x), k, tail=False)

    def beyond(self, j: int) -> arb:
        """P(S > j)."""
        j -= self.shift
        return self._sum(lambda x: self._tail(j - x), j, tail=True)

    def _other(self, y: int) -> arb | None:
        """P(Y = y); None where that is in no window."""
        if not 0 <= y <= self.more:
            return arb(0)
        at = y - self.low
        return self.other[at] if 0 <= at < len(self.other) else None

    def _tail(self, y: int) -> arb | None:
        """P(Y > y)."""
        if y < 0:
            return arb(1)
        if y >= self.more:
            return arb(0)
        at = y - self.low + 1
        return self.tails[at] if 0 <= at < len(self.tails) else None

    def _sum(self, factor: Any, k: int, *, tail: bool) -> arb:
        """sum_x P(X = x) factor(x); terms are log-concave, so those left out are geometric."""
        terms = []
        for x in range(self.least, self.most + 1):
            found = factor(x)
            terms.append(None if found is None else self.own[x - self.least] * found)
        known = [i for i, term in enumerate(terms) if term is not None]
        if not known:
            return arb(0.5, 0.5)
        first, last = known[0], known[-1]
        kept = terms[first : last + 1]
        if any(term is None for term in kept):
            return arb(0.5, 0.5)
        total = sum(kept, arb(0))
        # Where the sum of all x is not in the windows, on either side.
        if self.least + first > max(0, 0 if tail else k - self.more):
            total += _outside(kept[0], kept[1] if len(kept) > 1 else None)
        if self.least + last < min(self.size, self.size if tail else k):
            total += _outside(kept[-1], kept[-2] if len(kept) > 1 else None)
        return total


def _outside(edge: arb, inner: arb | None) -> arb:
    """From 0 to what log-concave terms beyond an edge can add up to."""
    if edge.is_zero():
        # Terms are zero from here on.
        return arb(0)
    if inner is None or not inner > 0:
        return arb(0.5, 0.5)
    return _rest(edge, edge / inner)


def _rest(last: arb, ratio: arb) -> arb:
    """A ball with last (ratio + ratio^2 + ..) and 0 in it, for ratios that only fall."""
    if last.is_zero() or ratio.is_zero():
        return arb(0)
    if not ratio < 1:
        return arb(0.5, 0.5)
    most = (last * ratio / (1 - ratio)).upper()
    return arb(most / 2, most / 2)


def _ratio(count: int, odds: arb, k: int) -> arb:
    """P(k + 1)/P(k) of a binomial law."""
    return odds * (count - k) / (k + 1)


def _run(count: int, odds: arb, rest: arb, low: int, high: int) -> list[arb]:
    """Masses of a binomial law at low .. high."""
    log = arb(count + 1).lgamma() - arb(low + 1).lgamma() - arb(count - low + 1).lgamma()
    mass = (log + low * odds.log() + count * rest.log()).exp()
    found = [mass]
    for k in range(low, high):
        mass = mass * odds * (count - k) / (k + 1)
        found.append(mass)
    return found


# ------------------------------------------------------------------------------ all data sets


def holds_for_all(
    mechanism: Parameters, *, n: int, epsilon: float, log_claimed: float
) -> tuple[bool, float]:
    """Whether delta(epsilon) is at most what is claimed for every data set and pair of inputs.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}, with two outputs.
    n : int
        Users, at most 1,000,000.
    epsilon : float
        eps >= 0.
    log_claimed : float
        Natural logarithm of the delta claimed.

    Returns
    -------
    (holds, log_seen) : tuple
        With the largest bound that decided: of an interval of counts where it holds, of a data set
        where it does not.

    Raises
    ------
    NotCertified
        For other mechanisms, more users, or too much work.
    """
    bits = bits_of(mechanism)
    if bits is None:
        raise NotCertified(f"{mechanism['name']}: not a mechanism of one-bit reports")
    _check_size(n, epsilon)
    with ctx.workprec(_BITS):
        low, high = (bits.law(x) for x in bits.inputs)
        first = _Search(high, low, n - 1, arb(epsilon)).decide(log_claimed)
        if not first[0] or bits.mirrored:
            # The other order is the mirror image.
            return first
        second = _Search(low, high, n - 1, arb(epsilon)).decide(log_claimed)
        return (True, max(first[1], second[1])) if second[0] else second


class _Search:
    """All numbers m of others like the victim's x0, in halves until each is decided."""

    def __init__(self, victim0: Bit, victim1: Bit, others: int, epsilon: arb) -> None:
        self.victims = (victim0, victim1)
        self.others, self.epsilon, self.work = others, epsilon, 0

    def decide(self, log_claimed: float) -> tuple[bool, float]:
        """Whether all are at most the claim."""
        highest = -math.inf
        waiting = [(0, self.others)]
        while waiting:
            first, last = waiting.pop()
            low, high = self._bound(first, last)
            if high <= log_claimed:
                highest = max(highest, high)
            elif first == last:
                # Undecided where the ball has the claim in it: then it is not shown to hold.
                return False, low
            else:
                middle = (first + last) // 2
                waiting += [(middle + 1, last), (first, middle)]
        return True, highest

    def _bound(self, first: int, last: int) -> tuple[float, float]:
        """log of D among the others that are certain."""
        victim0, victim1 = self.victims
        kinds = ((victim0, first), (victim1, self.others - last))
        self.work += 400 + sum(30 * math.isqrt(count) for _, count in kinds)
        if self.work > _MOST_WORK:
            raise NotCertified("binary-exact: too many data sets for the verifier")
        low, high = _divergence(victim0, victim1, kinds, self.epsilon)
        return _log(low, up=False), _log(high, up=True)
