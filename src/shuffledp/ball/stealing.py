"""The label-stealing bound in ball arithmetic (docs/theory-stealing.md, Theorems 2.1, 2.3, 3.1).

    delta <= tail + lost_0 + max over types j of (J_j + lost_j),
    J <= ((c0 + d0)^n/n) [(D/2 pi) sum_{|j| <= m} psi(j D)^n w(j D) + rest(m D)],

with c the reservoir's gains and d those of a type's labelled part, left-over at 0 included. Alpha,
the smoothing h and the numbers that split the laws are the certificate's, and any of them are
valid; step D and number of nodes are chosen here, and any are valid too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.arithmetic.balls import arb, float_above, float_below
from shuffledp.errors import NotCertified, ParameterError

from .exponentials import squared_moduli

__all__ = [
    "Atom",
    "Line",
    "Measures",
    "Tilted",
    "log_bound",
    "log_chernoff",
    "log_power",
    "log_sum",
    "number",
    "squares_of",
    "step_for",
    "tilted",
    "with_more",
    "without",
]

# (mass, gain).
Atom = tuple[arb, arb]

# Aliases of e^{-(2 pi/0.9)^2/2} and e^{-2 pi/0.45}, nodes up to 4/h: these do not show in 1e-6.
_SUM_STEP, _PAYOFF_STEP, _REACH = 0.9, 0.45, 4.0
# What tells most types to be no worse than the worst: h alpha = 0.15, which costs 1 % of J.
_ROUGH = 0.15
_MOST_NODES = 50_000
_MOST_WORK = 60_000_000
# Some ulps of a float, relatively.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Measures:
    """What the bound needs of a victim's pair at one eps.

    Attributes
    ----------
    reservoir : list of (mass, gain)
        The part beta that all inputs have in common, with the gains of a victim who joins it.
    types : list of lists of (mass, gain)
        The labelled part of each type of the others; what is left over is not listed.
    unhidden : arb
        int (1 - s) g_+, paid where nobody is in the reservoir.
    lost : arb
        What is seen for sure in outputs that are left out of the reservoir.
    lost_labelled : list of arb
        Likewise of each type's labelled part.
    """

    reservoir: list[Atom]
    types: list[list[Atom]]
    unhidden: arb
    lost: arb
    lost_labelled: list[arb]


def log_bound(
    measures: Iterable[Measures],
    contours: Sequence[Mapping[str, Any]],
    n: int,
    *,
    enough: float = -math.inf,
) -> float:
    """Upper end of log delta: the largest of all pairs' bounds. Working precision: the caller's.

    Parameters
    ----------
    measures : iterable of Measures
        One for each pair of inputs.
    contours : sequence of mappings
        "alpha" and "smoothing" of each, finite and > 0.
    n : int
        Users, the victim included, 2 <= n.
    enough : float
        A bound up to that need not be told from a smaller one.

    Raises
    ------
    ParameterError
        For contours outside their range, and for n < 2.
    NotCertified
        Where it would be too much work.
    """
    if n < 2:
        raise ParameterError(f"n = {n}: label stealing wanted at least two users")
    best = -math.inf
    for found, contour in zip(measures, contours, strict=True):
        alpha, smoothing = number(contour, "alpha"), number(contour, "smoothing")
        best = max(best, _log_one(found, n, alpha, smoothing, enough))
    return best


def number(contour: Mapping[str, Any], key: str) -> float:
    """A number of the certificate's that has to be positive."""
    value = contour.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{key} = {value!r}: wanted a finite number > 0")
    if not (math.isfinite(value) and value > 0):
        raise ParameterError(f"{key} = {value!r}: wanted a finite number > 0")
    return float(value)


def _log_one(found: Measures, n: int, alpha: float, smoothing: float, enough: float) -> float:
    reservoir = sum((mass for mass, _ in found.reservoir), arb(0))
    tail = found.unhidden
    if found.reservoir:
        tail = tail * ((n - 1) * (1 - reservoir).log()).exp()
    paid = tail + found.lost
    if not found.reservoir:
        return float_above(paid.log())
    common = tilted(found.reservoir, alpha)
    laws = [tilted(_with_left_over(atoms, reservoir), alpha) for atoms in found.types]
    lost = found.lost_labelled
    coarse = [
        with_more(log_chernoff(common, law, n, alpha, smoothing), seen)
        for law, seen in zip(laws, lost, strict=True)
    ]
    step = step_for(common, laws, n, alpha)
    fine = Line(common, alpha, smoothing, step)
    rough = Line(common, alpha, max(smoothing, _ROUGH / alpha), step)
    # What is no more than this is not looked at any closer.
    best = without(enough, paid)
    for j in sorted(range(len(laws)), key=coarse.__getitem__, reverse=True):
        if coarse[j] <= best:
            break
        # Any smoothing is valid.
        value = with_more(log_sum(rough, laws[j], n), lost[j])
        if value > best:
            value = min(value, with_more(log_sum(fine, laws[j], n), lost[j]), coarse[j])
        best = max(best, value)
    if not laws or not math.isfinite(best):
        return math.inf
    return with_more(best, paid)


def with_more(log: float, more: arb) -> float:
    """log(e^log + more), rounded up."""
    if more.is_zero() or not math.isfinite(log):
        return log
    return float_above((arb(log).exp() + more).log())


def without(log: float, paid: arb) -> float:
    """A float to which what is paid may be added without leaving e^log; -inf if there is none."""
    if log == -math.inf:
        return log
    rest = arb(log).exp() - paid
    # A little less: the sum is rounded up.
    return float_below(rest.log() - _ROUNDING * abs(log)) if rest > 0 else -math.inf


def _with_left_over(atoms: list[Atom], reservoir: arb) -> list[Atom]:
    rest = 1 - reservoir - sum((mass for mass, _ in atoms), arb(0))
    return [*atoms, (rest.nonnegative_part(), arb(0))]


@dataclass(frozen=True)
class Tilted:
    """Masses times e^(alpha gain), their sum, the gains, and how much these vary (in floats)."""

    weights: list[arb]
    total: arb
    gains: list[arb]
    variance: float


def tilted(atoms: list[Atom], alpha: float) -> Tilted:
    """The measure that is tilted by alpha."""
    weights = [mass * (alpha * gain).exp() for mass, gain in atoms]
    total = sum(weights, arb(0))
    gains = [gain for _, gain in atoms]
    mean = sum((w * x for w, x in zip(weights, gains, strict=True)), arb(0)) / total
    second = sum(
        # Products: a power of a ball around 0 has no bound.
        (w * (x - mean) * (x - mean) for w, x in zip(weights, gains, strict=True)),
        arb(0),
    )
    return Tilted(weights, total, gains, float((second / total).mid()))


def log_power(common: Tilted, law: Tilted, n: int) -> arb:
    """log((c0 + d0)^n/n)."""
    return n * (common.total + law.total).log() - arb(n).log()


def log_chernoff(common: Tilted, law: Tilted, n: int, alpha: float, smoothing: float) -> float:
    """Corollary 3.2: psi <= 1."""
    smooth = (arb(smoothing) * alpha) ** 2 / 2
    value = log_power(common, law, n) + smooth - (2 * arb(alpha)).log()
    return float_above(value)


class Line:
    """The line that the sum is taken along, and the reservoir's |phi|^2 at its nodes.

    Those are worked out for the first law that is summed, and serve for the others.
    """

    def __init__(self, common: Tilted, alpha: float, smoothing: float, step: float) -> None:
        self.common, self.alpha, self.smoothing, self.step = (
            common,
            arb(alpha),
            arb(smoothing),
            step,
        )
        nodes = _REACH / smoothing / step
        self.nodes = max(1, math.ceil(min(nodes, _MOST_NODES)))
        self._squares: list[arb] | None = None

    def squares(self) -> list[arb]:
        """|phi_c|^2 at every node."""
        if self._squares is None:
            self._squares = list(squares_of(self.common, self.step, self.nodes))
        return self._squares


def log_sum(line: Line, law: Tilted, n: int) -> float:
    """Theorem 3.1."""
    common, a, h = line.common, line.alpha, line.smoothing
    if line.nodes * (len(common.gains) + len(law.gains)) > _MOST_WORK:
        raise NotCertified("label stealing: too many outputs for the verifier")
    both = common.total + law.total
    total = arb(0)
    pairs = zip(line.squares(), squares_of(law, line.step, line.nodes), strict=True)
    for j, (first, second) in enumerate(pairs):
        t = arb(line.step) * j
        psi = (common.total * (1 + first) + law.total * (1 + second)) / (2 * both)
        term = (n * psi.log() + h * h * (a * a - t * t) / 2).exp() / (a * a + t * t)
        total += term if j == 0 else 2 * term
    total *= arb(line.step) / (2 * arb.pi())
    far = arb(line.step) * line.nodes
    rest = (h * h * (a * a - far * far) / 2).exp() / (arb.pi() * h * h * far**3)
    return float_above(log_power(common, law, n) + (total + rest).log())


def step_for(common: Tilted, laws: Sequence[Tilted], n: int, alpha: float) -> float:
    """A step for all types: in floats, any is valid."""
    within = 0.0
    for law in laws:
        c0, d0 = float(common.total.mid()), float(law.total.mid())
        variance = n * (c0 * common.variance + d0 * law.variance) / (c0 + d0)
        within = max(within, math.sqrt(max(variance, 0.0)))
    step = min(_SUM_STEP / within if within > 0.0 else math.inf, _PAYOFF_STEP * alpha)
    if not (math.isfinite(step) and step > 0.0):
        raise NotCertified("label stealing: gains too large for this alpha")
    return step


def squares_of(law: Tilted, step: float, nodes: int) -> Iterable[arb]:
    """|phi(j step)|^2, j = 0 .. nodes, of the tilted law."""
    weights = [w / law.total for w in law.weights]
    return squared_moduli(weights, law.gains, arb(step), nodes)
