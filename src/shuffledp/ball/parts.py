"""Output laws of reports made of parts: joint, parallel, subsampled, and range queries by a tree.

Classes multiply, or stand side by side; equal parts are counted instead of multiplied out. Weights
and rates mean the multiples of 2^-64 that the mechanisms say they are rounded to.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from shuffledp.arithmetic.balls import arb
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.theorems import JOINT_PAIRS

from .outputs import Law, OutputClass, Parameters, check_inputs, rational_ball
from .ranges import DOMAIN, EPS0, SHARE, integer
from .record import LawOf, Masses, Options, Parts, Record

__all__ = ["RECORDS", "part_law", "rate_of"]

_UNIT = 1 << 64
_MOST_CLASSES = 20_000
# Classes of outputs of all combinations of labels together.
_MOST_MASSES = 300_000
# Of the class: how far shares may be from one together.
_SLACK = 1e-9
# What the levels of a tree may be: the parameter that is the size of the domain.
_DOMAINS = {"k-rr": "k", "oue": "d", "rappor": "d", "olh": "domain", "blh": "domain"}
# Those of them that the class takes.
_BASES = ("k-rr", "oue", "rappor", "olh")


# ------------------------------------------------------------------------------------- the laws


def _exact_or_not(law: Law) -> Law:
    """Masses are given as fractions for all classes or for none."""
    if all(c.rational is not None for c in law):
        return law
    return [replace(c, rational=None) for c in law]


def _joint_law(mechanism: Parameters, inputs: Sequence[Any], law_of: LawOf) -> Law:
    """All parts in one report."""
    return _exact_or_not(_joint(mechanism["randomizers"], _records(mechanism, inputs), law_of))


def _records(mechanism: Parameters, inputs: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Inputs that have a value for each part."""
    count = len(mechanism["randomizers"])
    for x in inputs:
        if not isinstance(x, (tuple, list)) or len(x) != count:
            raise ParameterError(f"input = {x!r}: wanted a value for each of {count} parts")
    return [tuple(x) for x in inputs]


def _parallel_law(mechanism: Parameters, inputs: Sequence[Any], law_of: LawOf) -> Law:
    """One of the parts, and which one."""
    shares, rows = shares_of(mechanism["weights"]), _records(mechanism, inputs)
    return _exact_or_not(_parallel(mechanism["randomizers"], shares, rows, law_of))


def _tree_law(mechanism: Parameters, inputs: Sequence[Any], law_of: LawOf) -> Law:
    """The node of one level, and which level."""
    parts, widths = tree_levels(mechanism)
    check_inputs(tuple(inputs), mechanism["domain"])
    rows = [tuple(x // width for width in widths) for x in inputs]
    return _exact_or_not(_parallel(parts, shares_of([1.0] * len(parts)), rows, law_of))


def _sampled_law(mechanism: Parameters, inputs: Sequence[Any], law_of: LawOf) -> Law:
    """A report with the probability ``rate``, else the constant message."""
    rate = rate_of(mechanism)
    law = _scaled(part_law(mechanism["randomizer"], list(inputs), law_of), rate)
    return _exact_or_not([*law, _nothing(1 - rate, len(inputs))] if rate < 1 else law)


def rate_of(mechanism: Parameters) -> Fraction:
    """Of Poisson subsampling: the multiple of 2^-64 nearest to the rate, at least one."""
    return Fraction(min(max(round(Fraction(mechanism["rate"]) * _UNIT), 1), _UNIT), _UNIT)


def _joint(parts: Sequence[Parameters], rows: Sequence[tuple[Any, ...]], law_of: LawOf) -> Law:
    groups: dict[str, tuple[Parameters, tuple[Any, ...], int]] = {}
    for part, column in zip(parts, zip(*rows, strict=True), strict=True):
        key = repr((sorted(part.items(), key=repr), column))
        times = groups[key][2] if key in groups else 0
        groups[key] = (part, column, times + 1)
    total: Law = [_nothing(Fraction(1), len(rows))]
    for part, column, times in groups.values():
        law = _power(part_law(part, list(column), law_of), times)
        if len(total) * len(law) > _MOST_CLASSES:
            raise NotCertified(f"joint: more than {_MOST_CLASSES:,} classes of outputs")
        total = [_times(x, y) for x in total for y in law]
    return total


def part_law(part: Parameters, inputs: Sequence[Any], law_of: LawOf) -> Law:
    """Of one part; NotCertified where outputs are cut off."""
    law = law_of(part, list(inputs))
    if any(c.beyond for c in law):
        name = part["name"]
        raise NotCertified(f"{name!r}: the verifier does not know this mechanism as a part")
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


def _parallel(
    parts: Sequence[Parameters],
    shares: Sequence[Fraction],
    rows: Sequence[tuple[Any, ...]],
    law_of: LawOf,
) -> Law:
    found: Law = []
    for part, share, column in zip(parts, shares, zip(*rows, strict=True), strict=True):
        found += _scaled(part_law(part, list(column), law_of), share)
    return found


def tree_levels(mechanism: Parameters) -> tuple[list[Parameters], list[int]]:
    """Mechanisms of a tree's levels and leaves under a node, top level first."""
    widths = [1]
    while widths[-1] * mechanism["branching"] < mechanism["domain"]:
        widths.append(widths[-1] * mechanism["branching"])
    widths.reverse()
    base = mechanism["base"]
    parts: list[Parameters] = [
        {"name": base, _DOMAINS[base]: -(-mechanism["domain"] // w), "eps0": mechanism["eps0"]}
        for w in widths
    ]
    return parts, widths


def shares_of(weights: Sequence[float]) -> list[Fraction]:
    """Multiples of 2^-64 nearest to the shares of the weights: floors, one more for large rests.

    Raises
    ------
    NotCertified
        Where a weight is below 2^-64 of the whole.
    """
    exact = [Fraction(w) for w in weights]
    shares = [w / sum(exact) * _UNIT for w in exact]
    words = [int(share) for share in shares]
    if min(words) < 1:
        raise NotCertified("parallel: a weight below 2^-64")
    order = sorted(range(len(words)), key=lambda j: (int(shares[j]) - shares[j], j))
    for j in order[: _UNIT - sum(words)]:
        words[j] += 1
    return [Fraction(word, _UNIT) for word in words]


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


def masses_of(law: Law) -> list[Masses]:
    """Of a law under three inputs."""
    found: list[Masses] = []
    for one in law:
        first, second, third = one.probability
        found.append((first, second, third))
    return found


def _shared(law: list[Masses], by: arb) -> list[Masses]:
    return [(by * p0, by * p1, by * x) for p0, p1, x in law]


def _joint_labels(mechanism: Parameters, options: Options, _: LawOf) -> Iterator[list[Masses]]:
    known = [options(part) for part in mechanism["randomizers"]]
    return _products(known, mechanism.get("hamming") or len(known))


def _parallel_labels(mechanism: Parameters, options: Options, _: LawOf) -> Iterator[list[Masses]]:
    known = [options(part) for part in mechanism["randomizers"]]
    return _side_by_side(known, shares_of(mechanism["weights"]))


def _side_by_side(
    options: list[list[list[Masses]]], shares: Sequence[Fraction]
) -> Iterator[list[Masses]]:
    longest = sum(max(map(len, option), default=0) for option in options)
    if math.prod(map(len, options)) * longest > _MOST_MASSES:
        raise NotCertified("label-stealing of so many parts side by side is not recomputed")
    by = [rational_ball(share) for share in shares]
    for chosen in itertools.product(*options):
        parts = [_shared(law, p) for law, p in zip(chosen, by, strict=True)]
        yield [masses for part in parts for masses in part]


def _differs(law: list[Masses]) -> bool:
    """Whether the victim's two laws are different for sure."""
    return any(not (p0 - p1).contains(0) for p0, p1, _ in law)


def _is_one(law: list[Masses]) -> bool:
    """Whether they are one law for sure: worked out alike, ball by ball."""
    return all(p0.mid() == p1.mid() and p0.rad() == p1.rad() for p0, p1, _ in law)


def _products(options: list[list[list[Masses]]], most: int) -> Iterator[list[Masses]]:
    """At most so many of the victim's attributes differ, and one does.

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


def _levels_of_tree(mechanism: Parameters, _: Options, law_of: LawOf) -> Iterator[list[Masses]]:
    """Values in different nodes of all levels; a third one leaves one of them at some level."""
    parts, widths = tree_levels(mechanism)
    shares = shares_of([1.0] * len(parts))
    nodes = [-(-mechanism["domain"] // width) for width in widths]
    for depth, own in itertools.product(range(len(parts) + 1), (0, 1)):
        row = [own] * depth + [2] * (len(parts) - depth)
        if any(x >= count for x, count in zip(row, nodes, strict=True)):
            # Of two nodes there is no third.
            continue
        yield [
            masses
            for part, share, x in zip(parts, shares, row, strict=True)
            for masses in _shared(
                masses_of(part_law(part, (0, 1, x), law_of)), rational_ball(share)
            )
        ]


# ---------------------------------------------------------------------------------- the records


def _few(value: Any, table: Parameters) -> bool:
    return value is None or (type(value) is int and 1 <= value <= len(table["randomizers"]))


def _table(value: Any, _: Parameters) -> bool:
    """Of a mechanism: which one, and what it may be, is looked at where all records are known."""
    return isinstance(value, dict)


def _tables(value: Any, table: Parameters) -> bool:
    return isinstance(value, list) and bool(value) and all(_table(part, table) for part in value)


def _shares(value: Any, table: Parameters) -> bool:
    if not (isinstance(value, list) and value and all(type(x) is float for x in value)):
        return False
    if len(value) != len(table["randomizers"]):
        return False
    return all(share > 0.0 for share in value) and abs(math.fsum(value) - 1.0) <= _SLACK


_TABLES = ("tables of randomizers", _tables)

RECORDS = {
    "joint": Record(
        ranges={
            "randomizers": _TABLES,
            "hamming": ("none, or at most as many as there are parts", _few),
        },
        parts=Parts(
            _joint_law, ("randomizers",), records=True, labels=_joint_labels, together=True
        ),
        pair_step=JOINT_PAIRS,
    ),
    "parallel": Record(
        ranges={
            "randomizers": _TABLES,
            "weights": ("shares that add up to one, one a part", _shares),
        },
        parts=Parts(_parallel_law, ("randomizers",), records=True, labels=_parallel_labels),
        pair_step=JOINT_PAIRS,
    ),
    "poisson-subsample": Record(
        ranges={"randomizer": ("a table of a randomizer", _table), "rate": SHARE},
        parts=Parts(_sampled_law, ("randomizer",), like=True),
    ),
    "hierarchy": Record(
        ranges={
            "domain": DOMAIN,
            "eps0": EPS0,
            "branching": integer(2),
            "base": (f"one of {', '.join(_BASES)}", lambda value, _: value in _BASES),
        },
        parts=Parts(_tree_law, labels=_levels_of_tree),
        pair=lambda m: (0, m["domain"] - 1),
        pair_step=JOINT_PAIRS,
    ),
}
