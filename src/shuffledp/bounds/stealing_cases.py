"""The cases of label stealing: pairs of the victim's inputs, and labels of the others.

docs/theory-stealing.md, section 5, says which pairs and which inputs of the others suffice; the
mechanisms' records (``ball.record.Others``) say which theorem holds. All laws here are balls at the
working precision.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shuffledp.arithmetic.balls import arb, ctx, total
from shuffledp.ball.outputs import Law, OutputClass, largest
from shuffledp.ball.record import Definition, Masses, Others, Pair
from shuffledp.bounds.stealing_screen import (
    Floats,
    Moments,
    about_moments,
    about_weights,
    second_moments,
    surely_met,
)
from shuffledp.errors import NotCertified

# Tilt for pairs that are bounded together, relative to that of the worst pair; spacing, in logs, of
# the eps and tilts at which products of matrices are computed.
_STEEPER, _GRID = 1.2, 0.02
# Safety factor on a sum of squares in estimates, as eps and delta still move.
_NEARLY = 0.97

__all__ = ["Case", "InputCases", "Label", "Numbers", "cases_of"]

Row = Sequence[arb]

# Unbounded noise is cut off at e^-25 of the least delta requested.
_DEEPER = 25.0
# The log of the least mass at which noise is cut off: far below all deltas in the range of promise.
_LEAST_CUT = -3000.0
# Largest range of integers for two-sided geometric noise: more labels would take about a minute.
_MOST_SPANNING = 128


class Numbers(NamedTuple):
    """The free numbers of one pair of inputs.

    Attributes
    ----------
    share : tuple of float
        From 0 to 1, for each part of the outputs or one for all: the reservoir is share B.
    join : tuple of float
        From 0 to 1, likewise: s, with which the victim joins the reservoir and steals no label.
    alpha, smoothing, step : float
        Of the sum in Theorem 3.1, > 0.
    ceiling : float, optional
        Gains are cut here; the excess is added to the bound (Lemma 4.3).
    """

    share: tuple[float, ...]
    join: tuple[float, ...]
    alpha: float
    smoothing: float
    step: float
    ceiling: float | None = None


class Label(NamedTuple):
    """Masses of one label's outputs.

    Attributes
    ----------
    first, second, other : sequence of arb
        Under x0, x1 and the other user's input x.
    hidden : sequence of arb
        The measure of which a share goes to the reservoir: t = R_x - share hidden.
    """

    first: Row
    second: Row
    other: Row
    hidden: Row


@dataclass(frozen=True)
class Case:
    """One ordered pair of the victim's inputs, and labels that stand for all inputs of the others.

    Attributes
    ----------
    blanket, first, second : sequence of arb
        Masses of the reservoir's outputs under the measure B, x0 and x1.
    labels : list of Label
        The labels of the others.
    parts : tuple of int, or None
        The part of each output, if labels have the reservoir's outputs: free numbers may then
        depend on the part (section 5.1). None if they have to be constants (5.2 to 5.8).
    beyond : arb, optional
        Upper bound of the mass of any input on the outputs left out of all rows; None if none are.
    unbounded : bool
        Whether likelihood ratios are unbounded, so that gains may be cut at a ceiling.
    """

    blanket: Row
    first: Row
    second: Row
    labels: list[Label]
    parts: tuple[int, ...] | None = None
    beyond: arb | None = None
    unbounded: bool = False


def cases_of(mechanism: Definition, log_least: float) -> Sequence[Case]:
    """One case for each pair of ``mechanism.others()``, in that order.

    Parameters
    ----------
    mechanism : Definition
        "generic" stands for all mechanisms with a local guarantee.
    log_least : float
        An estimate of log of the least delta requested: unbounded noise is cut off below it.

    Raises
    ------
    NotCertified
        If no theorem says which pairs and inputs suffice, or there are infinitely many of them.
    """
    found = mechanism.others()
    if found is None or found.how == "span":
        raise NotCertified(f"label-stealing of {mechanism.name} is not recomputed")
    if found.how == "family":
        return [_of_family(arb(mechanism.eps0))]
    if found.how == "shifts":
        return [_of_shifts(mechanism, found, pair, log_least) for pair in found.pairs]
    if found.labels is not None:
        labels = _distinct(found.labels())
        return [_of_labels(mechanism.output_law(pair), labels) for pair in found.pairs]
    return InputCases(mechanism, found)


# ------------------------------------------------------------------- labels by inputs, section 5.1


class InputCases(Sequence[Case]):
    """The others hold any of given inputs: t_x = R_x - share B, and nothing is left over.

    A case is made when it is asked for.
    """

    def __init__(self, mechanism: Definition, found: Others) -> None:
        several = found.how == "alike" and len(found.inputs) > 2
        inputs = [*dict.fromkeys(itertools.chain(*found.pairs, found.inputs))]
        law = mechanism.output_law(inputs)
        columns = zip(*(one.probability for one in law), strict=True)
        self._rows = dict(zip(inputs, map(list, columns), strict=True))
        self._blanket = [one.blanket for one in law]
        self._pairs, self._inputs = found.pairs, found.inputs
        self._parts = [tuple(range(len(law)))] * len(found.pairs)
        if several:
            places = [(inputs.index(x0), inputs.index(x1)) for x0, x1 in found.pairs]
            self._parts = [_alike(law, place) for place in places]
        self._moments: dict[Hashable, Moments | None] = {}

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, i: Any) -> Any:
        x0, x1 = self._pairs[i]
        rows, blanket = self._rows, self._blanket
        labels = [Label(rows[x0], rows[x1], rows[x], blanket) for x in self._inputs]
        return Case(blanket, rows[x0], rows[x1], labels, self._parts[i])

    def spreads(self) -> list[float]:
        """For each pair, an estimate of the largest sum of (R_x0 - R_x1)^2/R_x over inputs x."""
        law = self._in_floats()
        with np.errstate(divide="ignore"):
            inverse = [np.where(row > 0.0, 1.0 / row, 0.0) for row in law]
        return self._of_pairs(about_moments(law, inverse, 1.0))

    def perhaps_above(
        self, numbers: tuple[Any, Any, float], n: int, epsilon: float, log_delta: float
    ) -> set[int]:
        """Cases that ``surely_met`` would hardly certify at this delta, estimated in floats."""
        share, join, alpha = numbers
        law, grow, tilt = self._in_floats(), math.exp(epsilon), _STEEPER * alpha
        beta = share * np.array([float(b.mid()) for b in self._blanket])
        with np.errstate(all="ignore"):
            weights = about_weights(law, beta, join, tilt)
            found = self._of_pairs(about_moments(law, weights, grow))
        power = (math.log(2.0 * tilt * n) + log_delta) / n
        limit = 2.0 * (math.expm1(power) + tilt * (grow - 1.0)) / (tilt * tilt)
        return {k for k, value in enumerate(found) if not value <= _NEARLY * limit}

    def _in_floats(self) -> Floats:
        return np.array([[float(p.mid()) for p in row] for row in self._rows.values()])

    def _of_pairs(self, values: Floats) -> list[float]:
        place = {x: i for i, x in enumerate(self._rows)}
        return [float(values[place[x0], place[x1]]) for x0, x1 in self._pairs]

    def surely_met(self, free: Numbers, n: int, epsilon: float, target: arb) -> set[int]:
        """Cases whose bound at these numbers is certainly at most the target.

        The products of matrices are computed on a grid of eps and tilts, and serve all values
        nearby.
        """
        if free.ceiling is not None or epsilon <= 0.0:
            return set()
        numbers = [arb(x) for x in free.share], [arb(x) for x in free.join]
        # Each pair has its own tilt: a larger one suits pairs whose gains spread less.
        tilt, rows = _STEEPER * free.alpha, list(self._rows.values())
        place = round(math.log(epsilon) / _GRID), math.ceil(math.log(tilt) / _GRID)
        asked = (free.share, free.join, place, ctx.prec)
        if asked not in self._moments:
            middle, most = (math.exp(k * _GRID) for k in (place[0], place[1] + 1))
            grow = arb(middle).exp()
            made = second_moments(rows, self._blanket, numbers, arb(most), grow)
            self._moments = {asked: made}
        moments = self._moments[asked]
        if moments is None:
            return set()
        hidden = total(x * b for x, b in zip(numbers[0], self._blanket, strict=True))
        grow = arb(epsilon).exp()
        met = surely_met(moments, rows, hidden, arb(tilt), n, grow, target)
        at = {x: i for i, x in enumerate(self._rows)}
        return {k for k, (x0, x1) in enumerate(self._pairs) if (at[x0], at[x1]) in met}


def _alike(law: Law, pair: tuple[int, int]) -> tuple[int, ...]:
    """Outputs with the same R_x0 : R_x1 : B that do not tell third inputs apart get one number."""
    found = []
    for one in law:
        if one.level is None:
            raise NotCertified("label stealing: wanted likelihood ratios known without error")
        found.append(sum(2**i * (not one.level[x].is_zero()) for i, x in enumerate(pair)))
    numbers = sorted(set(found))
    return tuple(map(numbers.index, found))


# ------------------------------------------------------- labels one by one, sections 5.2 to 5.8


def _whole(masses: tuple[Row, Row, Row]) -> Label:
    """A label whose hidden measure is R_x: t_x = (1 - share) R_x."""
    return Label(*masses, hidden=masses[2])


def _columns(law: Sequence[Masses]) -> tuple[Row, Row, Row]:
    first, second, other = zip(*law, strict=True)
    return first, second, other


def _distinct(laws: Iterable[Sequence[Masses]]) -> list[Label]:
    """Merge labels that agree to twelve digits; the merged masses enclose all of theirs.

    The bound depends on the law of masses alone: the order of outputs does not count, nor do
    outputs that nobody sends. Labels whose floats differ are kept apart.
    """
    found: dict[tuple[tuple[float, ...], ...], list[list[arb]]] = {}
    for law in laws:
        keyed = [(tuple(_about(mass) for mass in masses), masses) for masses in law]
        keyed = sorted((one for one in keyed if any(one[0])), key=lambda one: one[0])
        rows = [list(row) for row in zip(*(masses for _, masses in keyed), strict=True)]
        old = found.setdefault(tuple(key for key, _ in keyed), rows)
        if old is not rows:
            for mine, its in zip(old, rows, strict=True):
                mine[:] = [a.union(b) for a, b in zip(mine, its, strict=True)]
    return [_whole((first, second, other)) for first, second, other in found.values()]


def _about(mass: arb) -> float:
    """The mass to twelve digits; 0 only if it is exactly 0."""
    return 0.0 if mass.is_zero() else float(f"{float(mass.mid()):.12e}")


def _of_labels(law: Law, labels: list[Label]) -> Case:
    """Sections 5.4 to 5.8: the reservoir of the worst pair, with the labels' laws one by one."""
    blanket = [one.blanket for one in law]
    first, second = zip(*(one.probability for one in law), strict=True)
    return Case(blanket, first, second, labels)


def _of_shifts(mechanism: Definition, found: Others, pair: Pair, log_least: float) -> Case:
    """Section 5.2: labels by x0 - x and x1 - x, of the law without clamping."""
    top = pair[1]
    # The limit applies to bounded ratios, that is two-sided geometric noise.
    if not found.unbounded and top > _MOST_SPANNING:
        raise NotCertified("label-stealing of discrete noise on so many integers is not recomputed")
    inputs, cut = tuple(range(top + 1)), max(log_least - _DEEPER, _LEAST_CUT)
    law = mechanism.cut_law(inputs, cut)
    gone = [p for one in law if one.beyond for p in one.probability]
    kept: list[OutputClass] = [one for one in law if not one.beyond]
    rows = list(zip(*(one.probability for one in kept), strict=True))
    shifts = _shifts(top, spanning=not found.unbounded)
    labels = [_whole((rows[u + x], rows[v + x], rows[x])) for u, v, x in shifts]
    beyond = largest(gone) if gone else None
    blanket = [one.blanket for one in kept]
    ends = rows[pair[0]], rows[pair[1]]
    return Case(blanket, *ends, labels, beyond=beyond, unbounded=found.unbounded)


def _shifts(top: int, *, spanning: bool) -> Iterator[tuple[int, int, int]]:
    """u = x0 - x and v = x1 - x, each mirror image once, with an x for which all are in the range.

    For symmetric log-concave noise, x1 is moved outward until all three span the range, unless it
    lies between x and x0. ``spanning``: two-sided geometric noise, for which x0 is moved outward in
    that case too.
    """
    for u, v in itertools.product(range(-top, top + 1), repeat=2):
        low, high = min(u, v, 0), max(u, v, 0)
        # f is symmetric: one of (u, v) and (-u, -v) suffices.
        once = u != v and (u, v) >= (-u, -v)
        inner = 0 < v < u < top and not spanning
        if once and (high - low == top or inner):
            yield u, v, -low


def _of_family(eps0: arb) -> Case:
    """Theorem 5.3: the reservoir is a share of (R_x0 + R_x1)/2E; five extreme laws of ratios."""
    e, one = eps0.exp(), arb(1)
    more, less, inverse = e / (e + 1), 1 / (e + 1), 1 / e
    extremes: list[list[Masses]] = [  # (mass, R_x0/R_x, R_x1/R_x)
        [(less, one, e), (more, one, inverse)],
        [(less, e, one), (more, inverse, one)],
        [(1 / (e + 2), e, one), (1 / (e + 2), one, e), (e / (e + 2), inverse, inverse)],
        [
            (1 / (2 * e + 1), e, e),
            (e / (2 * e + 1), one, inverse),
            (e / (2 * e + 1), inverse, one),
        ],
        [(less, e, e), (more, inverse, inverse)],
    ]
    labels = []
    for law in extremes:
        first, second, other = _columns([(m * p, m * q, m) for m, p, q in law])
        hidden = [(p + q) * inverse / 2 for p, q in zip(first, second, strict=True)]
        labels.append(Label(first, second, other, hidden))
    return Case([inverse / 2] * 2, [more, less], [less, more], labels)
