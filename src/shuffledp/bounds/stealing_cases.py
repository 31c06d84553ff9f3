"""The cases of label stealing: pairs of the victim's inputs, and labels of the others.

docs/theory-stealing.md, section 5, says which pairs and which inputs of the others suffice; the
mechanisms' records (``ball.record.Others``) say which theorem holds. All laws here are balls at the
working precision.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from shuffledp.arithmetic.balls import arb, arb_mat, total
from shuffledp.ball.outputs import Law, OutputClass, largest
from shuffledp.ball.record import Definition, Masses, Others, Pair
from shuffledp.errors import NotCertified

# Tilt for pairs that are bounded together, relative to that of the worst pair: pairs whose gains
# spread less have a larger one.
_STEEPER = arb("1.2")

__all__ = ["Case", "Group", "InputCases", "Label", "Numbers", "cases_of"]

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
    shares : tuple of float
        q_k of every group of a crowd, from 0 to 1; 1 for a single mechanism.
    """

    share: tuple[float, ...]
    join: tuple[float, ...]
    alpha: float
    smoothing: float
    step: float
    ceiling: float | None = None
    shares: tuple[float, ...] = (1.0,)


class Label(NamedTuple):
    """Masses of one label's outputs.

    Attributes
    ----------
    first, second, other : sequence of arb
        Under x0, x1 and the other user's input x.
    hidden : sequence of arb
        The measure of which a share goes to the reservoir: t = R_x - share hidden. In a crowd it
        is q_k times the reservoir's measure in place of it.
    group : int
        The group of a crowd that the other user is in.
    """

    first: Row
    second: Row
    other: Row
    hidden: Row
    group: int = 0


class Group(NamedTuple):
    """One group of a crowd: its number of users without the victim, and the least of its laws."""

    users: int
    least: Row


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
    groups : tuple of Group
        The groups of a crowd, whose reservoir is a share of the least of ``least/q_k``; none of a
        single mechanism.
    """

    blanket: Row
    first: Row
    second: Row
    labels: list[Label]
    parts: tuple[int, ...] | None = None
    beyond: arb | None = None
    unbounded: bool = False
    groups: tuple[Group, ...] = ()


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

    Attributes
    ----------
    rows : list of rows
        The laws under all inputs.
    blanket : row
        A measure below all of them, B.
    pairs : list of (int, int)
        Each case's pair of inputs, by their places in ``rows``.
    labels : list of int
        Places of the inputs of the others.
    """

    def __init__(self, mechanism: Definition, found: Others) -> None:
        several = found.how == "alike" and len(found.inputs) > 2
        inputs = [*dict.fromkeys(itertools.chain(*found.pairs, found.inputs))]
        law, place = mechanism.output_law(inputs), {x: i for i, x in enumerate(inputs)}
        self.rows = [[one.probability[i] for one in law] for i in range(len(inputs))]
        self.blanket = [one.blanket for one in law]
        self.pairs = [(place[x0], place[x1]) for x0, x1 in found.pairs]
        self.labels = [place[x] for x in found.inputs]
        self._parts = [tuple(range(len(law)))] * len(found.pairs)
        if several:
            self._parts = [_alike(law, pair) for pair in self.pairs]

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, i: Any) -> Any:
        (x0, x1), rows, blanket = self.pairs[i], self.rows, self.blanket
        labels = [Label(rows[x0], rows[x1], rows[x], blanket) for x in self.labels]
        return Case(blanket, rows[x0], rows[x1], labels, self._parts[i])

    def surely_met(self, free: Numbers, n: int, epsilon: float, target: arb) -> set[int]:
        """Cases whose bound by Corollary 3.2 at these numbers is certainly at most the target.

        With beta = share B, the moments c0 and d0 at the tilt alpha of all pairs are products of
        two matrices for each label, as e^(alpha w (R_i - a R_j)) is a factor of i times one of j.
        """
        share, join = ([arb(x) for x in row] for row in (free.share, free.join))
        alpha, grow = _STEEPER * arb(free.alpha), arb(epsilon).exp()
        beta = [x * b for x, b in zip(share, self.blanket, strict=True)]
        hidden = total(beta)
        # The loss if nobody else is in the reservoir: int (1 - s) g_+ <= 1.
        left = target - (1 - hidden).nonnegative_part() ** (n - 1)
        if free.ceiling is not None or not (left > 0 and all(b > 0 for b in beta)):
            return set()
        limit, met = (2 * alpha * n * left) ** (arb(1) / n), set(range(len(self)))
        steps = [alpha * s / b for s, b in zip(join, beta, strict=True)]
        joined = _tilted_masses(self.rows, beta, steps, grow)
        for x in self.labels:
            rest = [r - b for r, b in zip(self.rows[x], beta, strict=True)]
            if not all(t > 0 for t in rest):
                return set()
            steps = [alpha * (1 - s) / t for s, t in zip(join, rest, strict=True)]
            stolen = _tilted_masses(self.rows, rest, steps, grow)
            room = limit - (1 - hidden - total(rest)).nonnegative_part()
            at = {k: self.pairs[k] for k in met}
            met = {k for k, (i, j) in at.items() if joined[i][j] + stolen[i][j] <= room}
        return met


def _tilted_masses(rows: Sequence[Row], masses: Row, steps: Row, grow: arb) -> list[list[arb]]:
    """The sums over outputs of m e^(w (R_i - a R_j)) for all i and j."""
    turned = [-grow * w for w in steps]
    left = [[m * (w * r).exp() for m, w, r in zip(masses, steps, row, strict=True)] for row in rows]
    right = [[(w * r).exp() for w, r in zip(turned, row, strict=True)] for row in rows]
    return (arb_mat(left) * arb_mat(right).transpose()).tolist()


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
        raise NotCertified("label-stealing: discrete noise on too many integers")
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
