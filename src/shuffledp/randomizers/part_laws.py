"""Laws in balls of reports made of parts: several in one report, or one of several.

Classes multiply, or stand side by side; equal parts are counted instead of multiplied out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.outputs import Law, OutputClass, rational_ball
from shuffledp.ball.record import Definition, Masses
from shuffledp.errors import NotCertified

_MOST_CLASSES = 20_000
# Classes of outputs of all combinations of labels together.
_MOST_MASSES = 300_000
# Of one part: labels that dominate all of its own.
Options = list[list[Masses]]


def joint_law(parts: Sequence[Definition], rows: Sequence[tuple[Any, ...]]) -> Law:
    """All parts in one report; a row has one input for each part."""
    groups: dict[tuple[Definition, str], tuple[tuple[Any, ...], int]] = {}
    for part, column in zip(parts, zip(*rows, strict=True), strict=True):
        key = (part, repr(column))
        groups[key] = (column, groups[key][1] + 1 if key in groups else 1)
    total: Law = [_nothing(Fraction(1), len(rows))]
    for (part, _), (column, times) in groups.items():
        law = _power(_part_law(part, column), times)
        if len(total) * len(law) > _MOST_CLASSES:
            raise NotCertified(f"joint: more than {_MOST_CLASSES:,} classes of outputs")
        total = [_times(x, y) for x in total for y in law]
    return _exact_or_not(total)


def one_of_law(
    parts: Sequence[Definition], shares: Sequence[Fraction], rows: Sequence[tuple[Any, ...]]
) -> Law:
    """One of the parts, and which one; with the rest of the shares a report that says nothing."""
    found: Law = []
    for part, share, column in zip(parts, shares, zip(*rows, strict=True), strict=True):
        found += _scaled(_part_law(part, column), share)
    absent = 1 - sum(shares, Fraction(0))
    return _exact_or_not([*found, _nothing(absent, len(rows))] if absent > 0 else found)


def _exact_or_not(law: Law) -> Law:
    """Masses are given as fractions for all classes or for none."""
    if all(c.rational is not None for c in law):
        return law
    return [replace(c, rational=None) for c in law]


def _part_law(part: Definition, inputs: Sequence[Any]) -> Law:
    """Of one part; NotCertified where outputs are cut off."""
    law = part.output_law(inputs)
    if any(c.beyond for c in law):
        raise NotCertified(f"{part.name!r}: outputs are cut off, which no part's may be")
    return law


def _power(law: Law, times: int) -> Law:
    """The joint law of equal independent parts, by how many of them fell in each class."""
    if math.comb(times + len(law) - 1, times) > _MOST_CLASSES:
        raise NotCertified(f"joint: more than {_MOST_CLASSES:,} classes of outputs")
    size = len(law[0].probability)
    found = []
    for chosen in itertools.combinations_with_replacement(range(len(law)), times):
        ways = math.factorial(times)
        made = _nothing(Fraction(1), size)
        for j in sorted(set(chosen)):
            ways //= math.factorial(chosen.count(j))
        for j in chosen:
            made = _times(made, law[j])
        found.append(_scaled([made], Fraction(ways))[0])
    return found


def _nothing(mass: Fraction, rows: int) -> OutputClass:
    """Outputs that say nothing, of this mass under every input."""
    zero = tuple(arb(0) for _ in range(rows))
    balls = tuple(rational_ball(mass) for _ in range(rows))
    return OutputClass(rational_ball(mass), balls, zero, tuple([mass] * (rows + 1)))


def _times(x: OutputClass, y: OutputClass) -> OutputClass:
    level = rational = None
    if x.level is not None and y.level is not None:
        level = tuple(a + b for a, b in zip(x.level, y.level, strict=True))
    if x.rational is not None and y.rational is not None:
        rational = tuple(a * b for a, b in zip(x.rational, y.rational, strict=True))
    both = zip(x.probability, y.probability, strict=True)
    return OutputClass(x.blanket * y.blanket, tuple(a * b for a, b in both), level, rational)


def _scaled(law: Law, share: Fraction) -> Law:
    ball = rational_ball(share)
    return [
        OutputClass(
            c.blanket * ball,
            tuple(p * ball for p in c.probability),
            c.level,
            None if c.rational is None else tuple(v * share for v in c.rational),
        )
        for c in law
    ]


# ------------------------------------ labels of three inputs, docs/theory-stealing.md, section 5.8


def is_settled(part: Definition) -> bool:
    """Whether labels of the part dominate all of its own inside of other reports."""
    if part.alike:
        return True
    found = part.others()
    return found is not None and found.how in {"mixed", "corners"}


def options_of_labels(part: Definition, *, together: bool) -> Options:
    """Labels of one part that dominate all of its own, beside other parts or together with them."""
    found = part.others()
    if part.alike:
        chosen = [(0, 1, x) for x in range(min(part.alike, 3))]
        # Together with others, pairs of equal inputs, another holding it or a different one.
        chosen += [(0, 0, 0), (0, 0, 1)] if together else []
    elif found is not None and found.how == "mixed":
        chosen = list(itertools.product(found.inputs, repeat=3))
    elif found is not None and found.labels is not None:
        return list(found.labels())
    else:
        raise NotCertified(f"label-stealing of {part.name} as a part is not recomputed")
    return [_masses_of(_part_law(part, triple)) for triple in chosen]


def masses_beside(
    parts: Sequence[Definition], shares: Sequence[Fraction], row: Sequence[Any]
) -> list[Masses]:
    """One of the parts in a report, each under its inputs 0, 1 and that of the row."""
    return [
        masses
        for part, share, x in zip(parts, shares, row, strict=True)
        for masses in _shared(_masses_of(_part_law(part, (0, 1, x))), rational_ball(share))
    ]


def with_absent(law: list[Masses], rate: Fraction) -> list[Masses]:
    """A label of a report with the probability ``rate``, else the constant message."""
    rest = rational_ball(1 - rate)
    found = _shared(law, rational_ball(rate))
    return [*found, (rest, rest, rest)] if rate < 1 else found


def labels_side_by_side(
    options: Sequence[Options], shares: Sequence[Fraction]
) -> Iterator[list[Masses]]:
    """Labels of one of the parts in each report."""
    longest = sum(max(map(len, option), default=0) for option in options)
    if math.prod(map(len, options)) * longest > _MOST_MASSES:
        raise NotCertified("label-stealing of so many parts side by side is not recomputed")
    by = [rational_ball(share) for share in shares]
    for chosen in itertools.product(*options):
        parts = [_shared(law, p) for law, p in zip(chosen, by, strict=True)]
        yield [masses for part in parts for masses in part]


def labels_together(options: Sequence[Options], most: int) -> Iterator[list[Masses]]:
    """Of all parts in one report: at most so many of the victim's attributes differ, and one does.

    What balls leave open is looked at: a triple too many makes no bound smaller.
    """
    if math.prod(sum(map(len, option)) for option in options) > _MOST_MASSES:
        raise NotCertified("label-stealing of so many parts in one report is not recomputed")
    for chosen in itertools.product(*options):
        if sum(map(_differs, chosen)) > most or all(map(_is_one, chosen)):
            continue
        total: list[Masses] = [(arb(1), arb(1), arb(1))]
        for law in chosen:
            both = itertools.product(total, law)
            total = [(p0 * q0, p1 * q1, x * y) for (p0, p1, x), (q0, q1, y) in both]
        yield total


def _masses_of(law: Law) -> list[Masses]:
    """Of a law under three inputs."""
    found: list[Masses] = []
    for one in law:
        first, second, third = one.probability
        found.append((first, second, third))
    return found


def _shared(law: list[Masses], by: arb) -> list[Masses]:
    return [(by * p0, by * p1, by * x) for p0, p1, x in law]


def _differs(law: list[Masses]) -> bool:
    """Whether the victim's two laws are different for sure."""
    return any(not (p0 - p1).contains(0) for p0, p1, _ in law)


def _is_one(law: list[Masses]) -> bool:
    """Whether they are one law for sure: worked out alike, ball by ball."""
    return all(p0.mid() == p1.mid() and p0.rad() == p1.rad() for p0, p1, _ in law)
