"""Label stealing: an upper end of delta for all data sets (docs/theory-crowds.md, 2.1, 2.2).

    delta <= tail + lost_0 + max over a label of each group of [J(c, d) + lost],
    tail = prod_k (1 - q_k |beta|)^N_k int (1 - s) g_+,

with g = R_x0 - e^eps R_x1. A single mechanism is one group of N = n - 1 others with q = 1
(docs/theory-stealing.md). The reservoir beta = share B has the gains s g/beta, with the law c. The
labelled part t = R_x - share hidden has the gains (1 - s) q_k g/t; with the left-over at gain 0 it
has the law d. Share, s, q, alpha, h and step are free: any are valid, and floats propose them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

from shuffledp.arithmetic.balls import arb, float_above, total
from shuffledp.bounds.stealing_cases import Case, InputCases, Label, Numbers, Row
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel.draws import Moments
from shuffledp.kernel.positive_sum import (
    Atom,
    Group,
    chernoff,
    line_at,
    rougher,
    sharpest,
    tilted,
    tilted_mass,
)

__all__ = ["Numbers", "check_question", "log_delta"]

# Number of cases with the same free numbers from which on they are bounded together first.
_MANY = 6
# Most choices of a label for each group that are bounded one by one, as of two groups of bits: it
# lowers their eps by 1e-4, but that of two k-RR only by 5e-6. With more choices, the largest factor
# of each group stands for its labels, which is above every choice.
_MOST_CHOICES = 4


def log_delta(
    cases: Sequence[Case],
    numbers: Sequence[Numbers],
    n: int,
    epsilon: float,
    *,
    enough: float = -math.inf,
) -> float:
    """log of the bound, rounded up to a float; ``enough`` if the bound is certainly at most that.

    Parameters
    ----------
    cases : sequence of Case
        All pairs of the victim's inputs that have to be bounded.
    numbers : sequence of Numbers
        Free numbers of each case.
    n : int
        Number of users, the victim included, n >= 2.
    epsilon : float
        eps >= 0 in nats.
    enough : float
        A log delta: a bound at most this is not computed any more sharply.

    Raises
    ------
    ParameterError
        If numbers are out of range or not one set for each case.
    NotCertified
        If a sum would have too many nodes.
    """
    check_question(n, epsilon)
    if len(cases) != len(numbers):
        raise ParameterError(f"free: {len(numbers)} sets of numbers, wanted {len(cases)}")
    if not cases or not (isinstance(cases, InputCases) or all(case.labels for case in cases)):
        raise NotCertified("label stealing: no pair of inputs, or no label, is looked at")
    grow, target = arb(epsilon).exp(), arb(0) if enough == -math.inf else arb(enough).exp()
    shared = _shared(numbers) if isinstance(cases, InputCases) else None
    alone = [i for i, free in enumerate(numbers) if free is not shared]
    worst = _worst(cases, numbers, alone, n, grow, target)
    if shared is not None and isinstance(cases, InputCases):
        others = set(range(len(numbers))).difference(alone)
        _checked(shared, cases[min(others)])
        # Leave out pairs whose bound is certainly no larger than one that counts anyhow.
        left = sorted(others - cases.surely_met(shared, n, epsilon, target.max(worst)))
        worst = worst.max(_worst(cases, numbers, left, n, grow, target.max(worst)))
    return enough if worst <= target else float_above(worst.log())


def check_question(n: int, epsilon: float, *, fewest: int = 2) -> None:
    """Raise ParameterError unless n >= ``fewest`` and eps is finite and >= 0."""
    if n < fewest:
        raise ParameterError(f"n = {n}: wanted at least {fewest} users")
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number >= 0")


def _shared(numbers: Sequence[Numbers]) -> Numbers | None:
    """Free numbers common to enough cases for bounding these together to pay; else None."""
    counts: dict[int, int] = {}
    for free in numbers:
        counts[id(free)] = counts.get(id(free), 0) + 1
    most = max(numbers, key=lambda free: counts[id(free)])
    return most if counts[id(most)] >= _MANY else None


def _worst(
    cases: Sequence[Case],
    numbers: Sequence[Numbers],
    which: Sequence[int],
    n: int,
    grow: arb,
    target: arb,
) -> arb:
    """The largest bound of some cases, computed only as far as it exceeds the target."""
    found: list[_Open] = []
    for i in which:
        free = _checked(numbers[i], cases[i])
        found += _Stolen(cases[i], free, n, grow).open_labels(target)
    worst = arb(0)
    # The order affects only the time.
    for one in sorted(found, key=lambda one: -float(one.rough.mid())):
        met = target.max(worst)
        if not one.rough <= met:
            worst = worst.max(one.sharp(met))
    return worst


class _Open(NamedTuple):
    """Labels whose Chernoff bound does not suffice, with a function for a sharper bound."""

    rough: arb
    sharp: Callable[[arb], arb]


class _Labelled(NamedTuple):
    """A label's law d, the largest q c0 + d(alpha), and the gains lost."""

    law: Sequence[Atom]
    size: arb
    lost: arb


class _Stolen:
    """The bound of one pair of inputs at its free numbers."""

    def __init__(self, case: Case, free: Numbers, n: int, grow: arb) -> None:
        self._case, self._grow = case, grow
        self._line = line_at(free.alpha, free.smoothing, free.step)
        self._alpha = arb(free.alpha)
        self._ceiling = None if free.ceiling is None else arb(free.ceiling)
        share, join = [arb(x) for x in free.share], [arb(x) for x in free.join]
        if case.parts is not None:
            share, join = ([one[k] for k in case.parts] for one in (share, join))
        self._share, self._join = share, join
        self._users = [group.users for group in case.groups] or [n - 1]
        self._q = [arb(q) for q in free.shares]
        self._blanket, self._hidden = case.blanket, list[Row]()
        if case.groups:
            leasts = (
                [x / q for x in one.least] for one, q in zip(case.groups, self._q, strict=True)
            )
            self._blanket = [reduce(arb.min, column) for column in zip(*leasts, strict=True)]
            self._hidden = [[q * b for b in self._blanket] for q in self._q]
        self._last_taken: tuple[Row, Row] = ((), ())
        self._last_stolen: tuple[Row, Row, Row] = ((), (), ())

    def open_labels(self, met: arb) -> list[_Open]:
        """Choices of labels whose bound by Corollary 3.2 is not certainly at most ``met``."""
        atoms, lost, unhidden = self._reservoir()
        hidden = total(mass for mass, _ in atoms)
        for users, q in zip(self._users, self._q, strict=True):
            unhidden *= (1 - q * hidden).nonnegative_part() ** users
        paid = lost + unhidden
        if not atoms:
            # The reservoir is empty: F = 0, and the whole gain is lost.
            return [_Open(paid, lambda _: paid)]
        c, found = tilted(atoms, self._alpha), []
        for choice in self._choices([self._labelled(x, hidden, c.mass) for x in self._case.labels]):
            worst = paid + reduce(arb.max, (one.lost for part in choice for one in part))
            sizes = (reduce(arb.max, (one.size for one in part)) for part in choice)
            sized = list(zip(self._users, self._q, sizes, strict=True))
            rough = chernoff(c.mass, sized, self._alpha) + worst
            if not rough <= met:
                found.append(_Open(rough, self._sharp(c, choice, worst)))
        return found

    def _choices(self, labels: list[_Labelled]) -> Iterator[Sequence[Sequence[_Labelled]]]:
        """A label of each group in every way, or all labels of each group together."""
        parts: list[list[_Labelled]] = [[] for _ in self._users]
        for made, label in zip(labels, self._case.labels, strict=True):
            parts[label.group].append(made)
        if len(parts) > 1 and math.prod(map(len, parts)) > _MOST_CHOICES:
            return iter([parts])
        return itertools.product(*([[one] for one in part] for part in parts))

    def _sharp(
        self, c: Moments, choice: Sequence[Sequence[_Labelled]], paid: arb
    ) -> Callable[[arb], arb]:
        """The bound by the first method that suffices."""

        def bound(met: arb) -> arb:
            groups = [
                Group(users, q, [tilted(one.law, self._alpha) for one in part])
                for users, q, part in zip(self._users, self._q, choice, strict=True)
            ]
            return sharpest(c, groups, (rougher(self._line), self._line), paid=paid, room=met)

        return bound

    def _reservoir(self) -> tuple[list[Atom], arb, arb]:
        """beta = share B with the gains s g/beta, the loss of cut gains, and int (1 - s) g_+."""
        case, atoms = self._case, list[Atom]()
        lost, unhidden = arb(0), arb(0)
        gains = self._differences(case.first, case.second)
        for b, g, (share, join) in zip(self._blanket, gains, self._numbers(), strict=False):
            beta, positive = share * b, g.max(arb(0))
            unhidden += (1 - join) * positive
            if beta > 0:
                lost += self._kept(atoms, beta, join * g / beta)
            else:
                lost += join * positive
        if case.beyond is not None:
            join, share, far = self._join[0], self._share[0], arb(case.beyond.upper())
            lost, unhidden = lost + join * far, unhidden + (1 - join) * far
            # The measure there lies between 0 and the mass of any input; its gain was taken out.
            atoms.append((arb(0).union(share * far), arb(0)))
        return atoms, lost, unhidden

    def _labelled(self, label: Label, hidden: arb, c0: arb) -> _Labelled:
        """t = R_x - share hidden, its gains (1 - s) q g/t with the left-over, the loss of cuts."""
        atoms, lost, q = list[Atom](), arb(0), self._q[label.group]
        taken = self._taken(self._hidden[label.group] if self._hidden else label.hidden)
        stolen = self._stolen(label.first, label.second)
        for r, h, g in zip(label.other, taken, stolen, strict=True):
            t = r - h
            if t > 0:
                lost += self._kept(atoms, t, q * g / t)
            else:
                lost += g.max(arb(0))
        if self._case.beyond is not None:
            lost += (1 - self._join[0]) * self._case.beyond
        rest = 1 - q * hidden - total(mass for mass, _ in atoms)
        law = [*atoms, (rest.nonnegative_part(), arb(0))]
        return _Labelled(law, q * c0 + tilted_mass(law, self._alpha), lost)

    def _taken(self, hidden: Row) -> Row:
        """share hidden, computed once for labels with the same row."""
        if self._last_taken[0] is not hidden:
            pairs = zip(hidden, self._numbers(), strict=False)
            self._last_taken = hidden, [share * h for h, (share, _) in pairs]
        return self._last_taken[1]

    def _stolen(self, first: Row, second: Row) -> Row:
        """(1 - s) g, computed once for labels with the same rows."""
        if self._last_stolen[0] is not first or self._last_stolen[1] is not second:
            gains = zip(self._differences(first, second), self._numbers(), strict=False)
            found = [(1 - join) * g for g, (_, join) in gains]
            self._last_stolen = first, second, found
        return self._last_stolen[2]

    def _numbers(self) -> Iterator[tuple[arb, arb]]:
        """share and s of each output; constants are repeated without end."""
        while True:
            yield from zip(self._share, self._join, strict=True)

    def _differences(self, first: Row, second: Row) -> Row:
        """g = R_x0 - e^eps R_x1 by output."""
        return [p - self._grow * q for p, q in zip(first, second, strict=True)]

    def _kept(self, atoms: list[Atom], mass: arb, gain: arb) -> arb | int:
        """Append an atom with its gain cut at the ceiling; return the loss from the cut."""
        top, lost = self._ceiling, 0
        if top is not None and not gain <= top:
            lost, gain = mass * (gain - top).max(arb(0)), gain.min(top)
        atoms.append((mass, gain))
        return lost


def _checked(free: Numbers, case: Case) -> Numbers:
    """The free numbers; ParameterError unless they are in range and one for each part."""
    count = 1 if case.parts is None else max(case.parts) + 1
    for key, values in (("share", free.share), ("join", free.join)):
        if len(values) != count:
            raise ParameterError(f"{key}: {len(values)} numbers, wanted {count}")
        if not all(0.0 <= x <= 1.0 for x in values):
            raise ParameterError(f"{key} = {values!r}: wanted numbers from 0 to 1")
    if case.groups:
        good = len(free.shares) == len(case.groups) and all(0.0 < q <= 1.0 for q in free.shares)
    else:
        good = free.shares == (1.0,)
    if not good:
        wanted = f"{len(case.groups)} from 0 to 1" if case.groups else "1 for a single mechanism"
        raise ParameterError(f"shares = {free.shares}: wanted {wanted}")
    line_at(free.alpha, free.smoothing, free.step)
    if free.ceiling is not None and not (case.unbounded and 0.0 <= free.ceiling < math.inf):
        raise ParameterError(f"ceiling = {free.ceiling!r}: wanted a finite number >= 0, or none")
    return free
