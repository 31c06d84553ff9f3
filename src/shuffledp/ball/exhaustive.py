"""Few users of a finite mechanism in ball arithmetic: the divergence of every data set.

The law of the histogram of m users who hold x, by its generating function (sum_y R_x(y) z_y)^m with
z_y = z^((n + 1)^(y - 1)), z_0 = 1: exponents of different histograms of n reports differ, and a
data set's law is a product of such polynomials. delta of a pair is the sum over the exponents of
the positive parts of P - e^eps Q. Nothing is merged and no symmetry is used but renaming the inputs
of mechanisms whose definition has none in particular.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations
from typing import Any

from shuffledp.errors import NotCertified, ParameterError

from ._flint import arb, arb_poly, ctx, float_above, float_below
from .laws import finite_law
from .outputs import Law, Parameters
from .registry import seen

__all__ = ["all_datasets_hold", "finite_inputs", "log_delta_of_datasets", "written_fault"]

# Bits of a ball, more where deltas are small; of one data set until its ends are close.
_BITS, _BITS_OF_ONE = 128, (128, 512, 2048)
# Coefficients of products, and differences of two laws: about a minute.
_MOST_COEFFICIENTS = 30_000_000
_MOST_USERS = 3_000
# Of one data set: products of polynomials, some ten seconds, and inputs that are held by somebody,
# of which a law is made by who hits an output (two to the number of inputs).
_MOST_PRODUCTS, _MOST_HELD = 3_000_000, 14
# Logarithms of deltas below that are no claims of floats.
_LOWEST = -1000.0
# Ends of a logarithm that are that close are those of floats.
_CLOSE = 1e-14
# Polynomials of a higher degree are mostly zeros: digits of more outputs are kept apart.
_DEGREE = 300

Counts = tuple[int, ...]


def finite_inputs(mechanism: Parameters) -> tuple[int, bool] | None:
    """How many inputs there are, and whether all are alike; None for other mechanisms."""
    record = seen(mechanism)
    if record.few is None:
        return None
    return int(record.few(mechanism)), record.alike is not None


def written_fault(
    mechanism: Parameters, x0: Any, x1: Any, others: Sequence[tuple[Any, int]]
) -> str:
    """What is wrong with how a data set is written, which is in one way; empty if nothing is.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    x0, x1 : input
        The victim's.
    others : sequence of (input, count)
        What the others hold: inputs in increasing order. Where all inputs are alike the victim's
        are 0 and 1, and the counts of the others do not rise from 2 on.
    """
    held = [x for x, _ in others]
    known = finite_inputs(mechanism)
    whole = [x for x in (x0, x1, *held) if not isinstance(x, bool) and isinstance(x, int)]
    if known is None or len(whole) < 2 + len(held) or not all(0 <= x < known[0] for x in whole):
        return "witness: wanted inputs of the mechanism as x0, x1 and in others"
    if x0 == x1 or held != sorted(set(held)) or any(count < 1 for _, count in others):
        return "witness: wanted two inputs, and what the others hold once each, in order"
    more = [(x, count) for x, count in others if x > 1]
    falling = [x for x, _ in more] == list(range(2, 2 + len(more)))
    falling = falling and all(a[1] >= b[1] for a, b in pairwise(more))
    if known[1] and ((x0, x1) != (0, 1) or not falling):
        return "witness: wanted 0 and 1 as x0 and x1, and of other inputs those held most first"
    return ""


# ------------------------------------------------------------------------------ one data set


def log_delta_of_datasets(
    mechanism: Parameters,
    *,
    x0: Any,
    x1: Any,
    others: Sequence[tuple[Any, int]],
    n: int,
    epsilon: float,
) -> tuple[float, float]:
    """Enclose log delta for a victim x0 or x1 among others of any inputs.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}, with finitely many inputs and outputs.
    x0, x1 : input
        The victim's, in the order of the divergence.
    others : sequence of (input, count)
        What the others hold, n - 1 in all.
    n : int
        Users.
    epsilon : float
        eps >= 0.

    Raises
    ------
    ParameterError
        For inputs that the mechanism does not have, and counts that are not n - 1.
    NotCertified
        For other mechanisms, or too many users or outputs.
    """
    _check(mechanism, n, epsilon)
    fault = written_fault(mechanism, x0, x1, others)
    if fault:
        raise ParameterError(fault)
    if sum(count for _, count in others) != n - 1:
        raise ParameterError(f"others = {others!r}: wanted {n - 1} of them in all")
    inputs, counts = sorted({x0, x1, *(x for x, _ in others)}), dict(others)
    if len(inputs) > _MOST_HELD:
        raise NotCertified(f"exhaustive: at most {_MOST_HELD} inputs are looked at together")
    bracket = (-math.inf, 0.0)
    for bits in _BITS_OF_ONE:
        with ctx.workprec(bits):
            users = _Users(finite_law(mechanism, inputs), n)
            if users.products([counts.get(x, 0) for x in inputs]) > _MOST_PRODUCTS:
                raise NotCertified("exhaustive: too many histograms for the verifier")
            law = users.nobody
            for place, x in enumerate(inputs):
                law = _product(law, users.power(place, counts.get(x, 0)))
            found = users.divergence(law, inputs.index(x0), inputs.index(x1), arb(epsilon))
            bracket = _log(found, up=False), _log(found, up=True)
        if bracket[1] - bracket[0] <= _CLOSE * (1.0 + abs(bracket[1])):
            break
    return bracket


def _check(mechanism: Parameters, n: int, epsilon: float) -> None:
    if finite_inputs(mechanism) is None:
        raise NotCertified(f"{mechanism['name']}: not a mechanism with finitely many inputs")
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number >= 0")
    if not 1 <= n <= _MOST_USERS:
        raise NotCertified(f"n = {n:,}: data sets of up to {_MOST_USERS:,} users are recomputed")


def _log(value: arb, *, up: bool) -> float:
    if not value.is_finite() or (not up and not value > 0):
        return math.inf if up else -math.inf
    if up:
        top = value.upper()
        return float_above(top.log()) if top > 0 else -math.inf
    return float_below(value.lower().log())


# Exponents of the outputs that are not in the polynomial, and the polynomial of the others.
_Histogram = dict[int, arb_poly]


def _product(first: _Histogram, second: _Histogram) -> _Histogram:
    """The law of the sum of two independent histograms."""
    found: _Histogram = {}
    for i, p in first.items():
        for j, q in second.items():
            found[i + j] = found[i + j] + p * q if i + j in found else p * q
    return found


class _Users:
    """Laws of histograms of at most n reports: the outputs 1, 2, .. are digits in base n + 1.

    As many of these digits as give polynomials of a moderate degree are exponents, the others keys.
    """

    def __init__(self, law: Law, n: int) -> None:
        base, outputs = n + 1, len(law)
        digits = 1
        while digits < outputs - 1 and base ** (digits + 1) <= _DEGREE:
            digits += 1
        self._keyed = max(outputs - 1 - digits, 0)
        self.nobody: _Histogram = {0: arb_poly([1])}
        self.rows: list[_Histogram] = []
        for x in range(len(law[0].probability)):
            row: _Histogram = {}
            for y, output in enumerate(law):
                exponent = base ** (y - 1) if 1 <= y <= digits else 0
                key = base ** (y - 1 - digits) if y > digits else 0
                term = arb_poly([0] * exponent + [output.probability[x]])
                row[key] = row[key] + term if key in row else term
            self.rows.append(row)
        self._powers = [[self.nobody] for _ in self.rows]

    def products(self, counts: Sequence[int]) -> int:
        """How many polynomials are multiplied for a data set: keys are counts of some outputs."""

        def keys(users: int) -> int:
            return math.comb(users + self._keyed, self._keyed)

        found = sum(keys(c) for count in counts for c in range(count)) * (self._keyed + 1)
        together = itertools.accumulate(counts, initial=0)
        return found + sum(keys(m) * keys(c) for m, c in zip(together, counts, strict=False))

    def power(self, x: int, count: int) -> _Histogram:
        """The law of so many users who hold x."""
        known = self._powers[x]
        while len(known) <= count:
            known.append(_product(known[-1], self.rows[x]))
        return known[count]

    def divergence(self, others: _Histogram, x0: int, x1: int, epsilon: arb) -> arb:
        """The divergence of a victim's x0 from x1."""
        grow, keys = epsilon.exp(), {*self.rows[x0], *self.rows[x1]}
        none = arb_poly([0])
        gap = {k: self.rows[x0].get(k, none) - grow * self.rows[x1].get(k, none) for k in keys}
        total = arb(0)
        for poly in _product(others, gap).values():
            for value in poly.coeffs():
                total += value.nonnegative_part()
        return total


# ------------------------------------------------------------------------------ all data sets


def all_datasets_hold(
    mechanism: Parameters, *, n: int, epsilon: float, log_claimed: float
) -> tuple[bool, float]:
    """Whether delta(epsilon) is at most what is claimed for every data set and pair of inputs.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}, with finitely many inputs and outputs.
    n : int
        Users.
    epsilon : float
        eps >= 0.
    log_claimed : float
        Natural logarithm of the delta claimed.

    Returns
    -------
    (holds, log_seen) : tuple
        The largest upper end where it holds; a lower end of a data set where it does not.

    Raises
    ------
    NotCertified
        For other mechanisms, or too much work.
    """
    _check(mechanism, n, epsilon)
    count, alike = finite_inputs(mechanism) or (0, False)
    # Of inputs that are all alike no two neighbouring data sets hold more than n + 1.
    inputs = min(count, n + 1) if alike else count
    # Any law has two outputs, or there is nothing to see: what is too much even so has no law made.
    datasets = math.comb(n - 1 + inputs - 1, inputs - 1)
    if datasets * (n + 1) > _MOST_COEFFICIENTS or inputs * (inputs - 1) > _MOST_COEFFICIENTS:
        raise NotCertified("exhaustive: too many data sets for the verifier")
    pairs = [(0, 1)] if alike else list(permutations(range(inputs), 2))
    with ctx.workprec(_BITS + math.ceil(1.5 * -max(min(log_claimed, 0.0), _LOWEST))):
        law = finite_law(mechanism, tuple(range(inputs)))
        work = datasets * len(pairs) * math.comb(n + len(law) - 1, len(law) - 1)
        if work > _MOST_COEFFICIENTS:
            raise NotCertified("exhaustive: too many data sets for the verifier")
        users, grow, highest = _Users(law, n), arb(epsilon), -math.inf
        for others in _data_sets(users, inputs, n - 1, alike=alike):
            for x0, x1 in pairs:
                found = users.divergence(others, x0, x1, grow)
                top = _log(found, up=True)
                if not top <= log_claimed:
                    return False, _log(found, up=False)
                highest = max(highest, top)
        return True, highest


def _data_sets(users: _Users, inputs: int, total: int, *, alike: bool) -> Iterator[_Histogram]:
    """Laws of all data sets of so many others; where inputs are alike one of each kind."""

    def further(law: _Histogram, x: int, left: int, most: int) -> Iterator[_Histogram]:
        if x == inputs - 1:
            if left <= most:
                yield _product(law, users.power(x, left))
            return
        for count in range(min(left, most) + 1):
            # From the third input on counts do not rise.
            limit = count if alike and x >= 2 else total
            yield from further(_product(law, users.power(x, count)), x + 1, left - count, limit)

    yield from further(users.nobody, 0, total, total)
