"""Sums of bits in ball arithmetic: all data sets of one coordinate at many eps at once.

From the definition alone. A coordinate of n users is a sum S' = S + B: S of the bits of N = n - 1
others, m of whom hold a 1 (their bit is 1 with probability p) and N - m a 0 (with q < p), B of the
victim. S is a sum of independent bits, so that its masses f are log-concave and f(s-1)/f(s) rises;
with it rises the ratio of P(S' = s) = (1-p) f(s) + p f(s-1), the victim holding a 1, to the same
with q. The largest P(E) - a Q(E) is therefore that of a threshold, with T(j) = P(S >= j)

    D_m(a) = max_j (1-p - a(1-q)) T(j) + (p - a q) T(j-1),

and P(S' = j) - a Q(S' = j) changes its sign once, from - to +: a certain minus before j and a
certain plus after it bound where the largest is. The other order is the same with the names of the
bits exchanged: 1-q for p, 1-p for q, N - m for m.

To leave some of the others out is to give their bits away: for m1 <= m <= m2, D_m is at most D
among m1 who hold a 1 and N - m2 who hold a 0. Intervals are halved until each is decided at every
eps. Where an aggregator adds noise of its own to a sum, S stands for the others' ones and that
noise: its masses are log-concave as well, and all of this holds alike (docs/theory-sums.md, section
6). Sums of normal variables are at the end: (P, Q) is N(mu, 1) against N(0, 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from shuffledp.arithmetic.balls import arb, arb_poly, ctx, float_above, float_below
from shuffledp.errors import NotCertified, ParameterError

from .binary import bits_of
from .bits import Coordinate
from .outputs import Parameters, positive
from .registry import seen

__all__ = ["Coordinate", "coordinate_of", "log_delta_normal", "others_bracket", "sums_hold"]

# Beside the bits that the smallest value takes: rounding is then far below what is claimed.
_BITS = 112
# What is cut off the tails is this share of the smallest value at the most: e^-30.
_CUT = 30.0
_MOST_USERS = 10_000_000
# About a minute: a unit is a mass of a convolution.
_MOST_WORK = 60_000_000
# Integers on either side that noise is followed to.
_FARTHEST = 200_000
# Deltas below e^-1000 are not asked for by any certificate.
_LOWEST = -1000.0
_NEAR = 2


def coordinate_of(mechanism: Parameters) -> Coordinate | None:
    """The bits that an aggregator adds up, from the mechanism's definition; None of others.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}: symmetric or optimized unary encoding, or a one-bit report.
    """
    made = seen(mechanism).coordinate
    if made is not None:
        return made(mechanism)
    bits = bits_of(mechanism)
    if bits is None:
        return None
    low, high = (bits.law(x) for x in bits.inputs)
    return Coordinate(low.share, high.share, 1, symmetric=bits.mirrored, several=False)


class _Noise(NamedTuple):
    """What an aggregator adds: masses from ``first`` on, what is not among them, and 1/r.

    ``steepest`` bounds f(j-1)/f(j) of anything that discrete Laplace noise is added to.
    """

    first: int
    mass: arb_poly
    size: int
    missing: arb
    steepest: arb | None


def _noise(added: Parameters, cut: arb) -> _Noise:
    """From the definition: proportional to e^(-|z|/t), or to e^(-z^2/(2 t^2))."""
    scale = positive(added, "scale")
    laplace = added["kind"] == "discrete-laplace"
    log_cut, weights = float(cut.log().mid()), [arb(1)]
    # As far as masses are not below the cut, and once more.
    width = float(scale.mid())
    reach = -log_cut * width if laplace else math.sqrt(-2.0 * log_cut) * width
    if reach > _FARTHEST:
        raise NotCertified("added: noise too wide for the verifier")
    weights += [
        (-(z / scale) if laplace else -(z * z) / (2 * scale * scale)).exp()
        for z in range(1, math.ceil(reach) + 2)
    ]
    # Each is at most this share of the one before: e^(-1/t), e^(-(2z+1)/(2 t^2)).
    end = len(weights) - 1
    share = (-1 / scale if laplace else -(2 * end + 1) / (2 * scale * scale)).exp()
    rest = 2 * weights[-1] * share / (1 - share)
    inside = 2 * sum(weights[1:], arb(0)) + 1
    total = inside + arb(rest.upper() / 2, rest.upper() / 2)
    mass = [w / total for w in [*weights[:0:-1], *weights]]
    steepest = (1 / scale).exp() if laplace else None
    return _Noise(-end, arb_poly(mass), len(mass), (rest / inside).upper(), steepest)


class _Law(NamedTuple):
    """Tails T(j) = P(S >= j) at first <= j <= first + len(tails) - 1, each at most ``missing`` low.

    Below ``first`` it is 1, at most ``missing`` more than the first tail says; beyond the last 0.
    """

    first: int
    mass: list[arb]
    tails: list[arb]
    missing: arb
    steepest: arb | None = None

    def tail(self, j: int) -> arb:
        """P(S >= j), what is missing left out."""
        at = j - self.first
        if at < 0:  # mutate: equivalent, at 0 the two are the same
            return self.tails[0]
        return self.tails[at] if at < len(self.tails) else arb(0)

    def point(self, j: int) -> arb:
        """P(S = j), what is missing left out."""
        at = j - self.first
        return self.mass[at] if 0 <= at < len(self.mass) else arb(0)


def _binomial(count: int, p: arb, cut: arb) -> tuple[int, list[arb], arb]:
    """First value, masses down to ``cut`` on either side of the mode, and a bound of the rest."""
    if count == 0 or p.is_zero():
        # mutate: equivalent, a shift of all sums
        return 0, [arb(1)], arb(0)
    if (1 - p).is_zero():
        return count, [arb(1)], arb(0)
    odds = p / (1 - p)
    mode = min(max(math.floor((count + 1) * float(p.mid())), 0), count)
    log = arb(count + 1).lgamma() - arb(mode + 1).lgamma() - arb(count - mode + 1).lgamma()
    top = (log + mode * p.log() + (count - mode) * (1 - p).log()).exp()
    above, high = _outward(
        top, cut, count - mode, lambda k: odds * (count - mode - k) / (mode + k + 1)
    )
    below, low = _outward(top, cut, mode, lambda k: (mode - k) / (odds * (count - mode + k + 1)))
    return mode - len(below), [*below[::-1], top, *above], high + low


def _outward(top: arb, cut: arb, most: int, ratio: Any) -> tuple[list[arb], arb]:
    """Masses beyond a mode by their ratios, and what is left: ratios only fall."""
    found: list[arb] = []
    mass = top
    for k in range(most):
        step = ratio(k)
        if mass < cut and step < 0.9:  # mutate: equivalent, any place to cut is valid
            return found, (mass * step / (1 - step)).upper()
        mass = mass * step
        found.append(mass)
    return found, arb(0)


class _Others:
    """Laws of S, with what a smallest value asks of precision."""

    def __init__(
        self, coordinate: Coordinate, log_smallest: float, added: Parameters | None
    ) -> None:
        self._coordinate = coordinate
        self._cut = arb(max(log_smallest, _LOWEST) - _CUT).exp() / 100_000
        self._added = None if added is None else _noise(added, self._cut)
        self.work = 0

    def law(self, ones: int, zeros: int) -> _Law:
        """Of so many others who hold a 1, and a 0."""
        found = self._coordinate
        start, first, lost = _binomial(ones, found.p, self._cut)
        other, second, gone = _binomial(zeros, found.q, self._cut)
        self.work += 50 + 4 * (len(first) + len(second))
        if self.work > _MOST_WORK:
            raise NotCertified("sums: too many data sets for the verifier")
        product, at, missing = arb_poly(first) * arb_poly(second), start + other, lost + gone
        noise, steepest = self._added, None
        if noise is not None:
            self.work += 8 * noise.size
            product, at = product * noise.mass, at + noise.first
            missing, steepest = missing + noise.missing, noise.steepest
        mass = product.coeffs()
        # Trailing zeros of a product are not there.
        total, tails = arb(0), []
        for one in reversed(mass):
            total = total + one
            tails.append(total)
        return _Law(at, mass, tails[::-1], missing, steepest)


def _threshold(law: _Law, first: arb, second: arb) -> tuple[int, int]:
    """Where the largest first T(j) + second T(j - 1) is: between these, for certain.

    ``first`` < 0 < ``second``. P(S' = j) - a Q(S' = j) is first f(j) + second f(j - 1).
    """
    low, high = law.first, law.first + len(law.mass)
    ratio = float((-first / second).mid())
    while low < high:
        # f(j - 1)/f(j) rises in j: the first j where it is at least the ratio.
        middle = (low + high) // 2
        here, before = law.point(middle), law.point(middle - 1)
        if float(before.mid()) >= ratio * float(here.mid()):
            high = middle
        else:
            low = middle + 1
    begin, end = low, low
    while begin > law.first and not _sign(law, first, second, begin - 1) < 0:
        begin -= _NEAR
    while end <= law.first + len(law.mass) and not _sign(law, first, second, end + 1) > 0:
        end += _NEAR
    return begin - 1, end + 1


def _sign(law: _Law, first: arb, second: arb, j: int) -> arb:
    """P(S' = j) - a Q(S' = j), with all that may be missing."""
    rest = law.missing
    spread = arb(rest / 2, rest / 2) if not rest.is_zero() else arb(0)
    return first * (law.point(j) + spread) + second * (law.point(j - 1) + spread)


def _divergence(law: _Law, first: arb, second: arb) -> tuple[arb, arb]:
    """Balls below and above D for the given factors of T(j) and T(j - 1)."""
    if second <= 0:  # mutate: equivalent, at 0 the next line says the same
        # Neither output speaks for the victim's first value: the largest is that of no event.
        return arb(0), arb(0)
    if not second > 0 or not first < 0:
        # mutate: equivalent, ``first`` is not above 0 for any eps >= 0
        return arb(0), second.nonnegative_part() + first.nonnegative_part()
    if law.steepest is not None and first + second * law.steepest <= 0:
        # P(S' = j) <= a Q(S' = j) for every j.
        return arb(0), arb(0)
    begin, end = _threshold(law, first, second)
    low, high = arb(0), arb(0)
    rest = law.missing
    for j in range(begin, end + 1):
        here, before = law.tail(j), law.tail(j - 1)
        low = arb.max(low, first * (here + rest) + second * before)
        high = arb.max(high, first * here + second * (before + rest))
    return low, high


def _factors(coordinate: Coordinate, epsilon: float) -> tuple[arb, arb]:
    """1-p - a(1-q) and p - a q."""
    a, p, q = arb(epsilon).exp(), coordinate.p, coordinate.q
    return (1 - p) - a * (1 - q), p - a * q


def _log(value: arb, *, up: bool) -> float:
    end = value.upper() if up else value.lower()
    if not end > 0:
        return -math.inf
    return float_above(end.log()) if up else float_below(end.log())


def _bits_for(log_smallest: float) -> int:
    return _BITS + math.ceil(1.5 * -max(min(log_smallest, 0.0), _LOWEST))


def _check(n: int, epsilons: Sequence[float]) -> None:
    if not 1 <= n <= _MOST_USERS:
        raise NotCertified(f"n = {n:,}: sums of up to {_MOST_USERS:,} reports are recomputed")
    if not all(math.isfinite(e) and e >= 0.0 for e in epsilons):
        raise ParameterError("epsilon: wanted finite numbers >= 0")


def sums_hold(
    mechanism: Parameters,
    *,
    n: int,
    epsilons: Sequence[float],
    logs: Sequence[float],
    added: Parameters | None = None,
) -> tuple[bool, bool, float]:
    """Whether delta of one coordinate is at most what is claimed at every eps, for all data sets.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    n : int
        Users whose reports are added up, at most 10,000,000.
    epsilons : sequence of float
        eps >= 0.
    logs : sequence of float
        Natural logarithms of the deltas claimed there; -inf for 0.
    added : mapping, optional
        Noise of the aggregator's own: kind and scale.

    Returns
    -------
    (holds, refuted, excess) : tuple
        ``refuted``: some data set's delta is certainly more. ``excess``: the largest log of a bound
        over a claim that decided.

    Raises
    ------
    NotCertified
        For other mechanisms, more users, or too much work.
    """
    _check(n, epsilons)
    finite = [log for log in logs if log > -math.inf]
    smallest = min(finite, default=0.0)
    with ctx.workprec(_bits_for(smallest)):
        coordinate = _known(mechanism)
        ways = [coordinate] if coordinate.symmetric else [coordinate, coordinate.flipped]
        worst = (True, False, -math.inf)
        for way in ways:
            source = _Others(way, smallest, added)
            found = _search(source, way, n - 1, epsilons, logs)
            if not found[0]:
                return found
            worst = (True, False, max(worst[2], found[2]))
        return worst


def _known(mechanism: Parameters) -> Coordinate:
    found = coordinate_of(mechanism)
    if found is None:
        raise NotCertified(f"{mechanism['name']}: reports are no vectors of independent bits")
    return found


def _search(
    source: _Others,
    way: Coordinate,
    others: int,
    epsilons: Sequence[float],
    logs: Sequence[float],
) -> tuple[bool, bool, float]:
    """All m from 0 to ``others``, in halves until each is decided at every eps."""
    factors = [_factors(way, epsilon) for epsilon in epsilons]
    excess = -math.inf
    waiting = [(0, others, list(range(len(logs))))]
    while waiting:
        first, last, asked = waiting.pop()
        law = source.law(first, others - last)
        left = []
        for k in asked:
            low, high = (
                _log(x, up=up)
                for x, up in zip(_divergence(law, *factors[k]), (False, True), strict=True)
            )
            if high <= logs[k]:
                excess = max(excess, high - logs[k] if logs[k] > -math.inf else -math.inf)
            elif first == last:
                # Undecided where the ball has the claim in it: then it is not shown to hold.
                return False, low > logs[k], high - logs[k]
            else:
                left.append(k)
        if left:
            middle = (first + last) // 2
            waiting += [(middle + 1, last, left), (first, middle, left)]
    return True, False, excess


class others_bracket:  # noqa: N801 (called as a function is)
    """Brackets of log delta of one data set at many eps, in one order.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    n : int
        Users.
    ones : int
        m: others whose coordinate is a 1.
    swap : bool
        The victim holds a 0 in the first data set, a 1 in the second.
    log_smallest : float
        About the log of the smallest delta that will be asked for.
    added : mapping, optional
        Noise of the aggregator's own: kind and scale.
    """

    def __init__(
        self,
        mechanism: Parameters,
        *,
        n: int,
        ones: int,
        swap: bool,
        log_smallest: float,
        added: Parameters | None = None,
    ) -> None:
        _check(n, ())
        if not 0 <= ones <= n - 1:
            raise ParameterError(f"others = {ones!r}: wanted 0 to {n - 1:,}")
        self._bits = _bits_for(log_smallest)
        with ctx.workprec(self._bits):
            found = _known(mechanism)
            self._way = found.flipped if swap else found
            held = n - 1 - ones if swap else ones
            source = _Others(self._way, log_smallest, added)
            self._law = source.law(held, n - 1 - held)

    def __call__(self, epsilon: float) -> tuple[float, float]:
        """Floats below and above log delta at an eps >= 0."""
        with ctx.workprec(self._bits):
            low, high = _divergence(self._law, *_factors(self._way, epsilon))
            return _log(low, up=False), _log(high, up=True)


# ---------------------------------------------------------------------------------- normal noise


def log_delta_normal(
    mechanism: Parameters, *, n: int, rounds: int, epsilon: float
) -> tuple[float, float]:
    """Floats below and above log delta of sums of inputs with normal noise, in so many rounds.

    The sum's noise is normal with variance n sigma^2; in T rounds the likelihood ratio is that of
    one with mu = sqrt(T) (high - low)/(sigma sqrt(n)), and with Phi the normal distribution

        delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).

    Parameters
    ----------
    mechanism : mapping
        Gaussian noise: sigma, low, high.
    n, rounds : int
        Users; rounds.
    epsilon : float
        eps >= 0.
    """
    _check(1, (epsilon,))
    bits = 256
    while True:
        with ctx.workprec(bits):
            spread = positive(mechanism, "sigma") * arb(n).sqrt()
            mu = arb(rounds).sqrt() * (arb(mechanism["high"]) - arb(mechanism["low"])) / spread
            if not mu > 0:
                raise ParameterError("low, high: wanted low < high")
            root = arb(2).sqrt()
            # Phi(x) = erfc(-x/sqrt 2)/2
            first = ((arb(epsilon) / mu - mu / 2) / root).erfc()
            second = ((arb(epsilon) / mu + mu / 2) / root).erfc()
            delta = (first - arb(epsilon).exp() * second) / 2
            if delta > 0 and delta.rel_accuracy_bits() > 60:
                return float_below(delta.log()), float_above(delta.log())
        bits *= 2
        if bits > 1 << 16:
            raise NotCertified("gaussian: delta is too small for the verifier")
