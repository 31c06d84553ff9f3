"""Output laws of reports made of parts: joint, parallel, subsampled, and range queries by a tree.

Classes multiply, or stand side by side; equal parts are counted instead of multiplied out. Weights
and rates mean the multiples of 2^-64 that the mechanisms say they are rounded to.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from shuffledp.errors import NotCertified, ParameterError

from ._flint import arb
from .outputs import Law, OutputClass, rational_ball

__all__ = ["part_law", "parts_law", "rate_of", "shares_of", "tree_levels"]

_UNIT = 1 << 64
_MOST_CLASSES = 20_000
_DOMAINS = {"k-rr": "k", "rappor": "d", "oue": "d", "blh": "domain", "olh": "domain"}

Parameters = Mapping[str, Any]
# The law of one part: `laws.finite_law`, which asks for those of parts in turn.
LawOf = Callable[[Parameters, Sequence[Any]], Law]


def parts_law(mechanism: Parameters, inputs: Sequence[Any], law_of: LawOf) -> Law:
    """Joint law of the output of a mechanism made of parts under several inputs.

    Masses are given as fractions for all classes or for none.
    """
    law = _made(mechanism, inputs, law_of)
    if all(c.rational is not None for c in law):
        return law
    return [replace(c, rational=None) for c in law]


def _made(mechanism: Parameters, inputs: Sequence[Any], law_of: LawOf) -> Law:
    name = mechanism["name"]
    if name == "joint":
        return _joint(mechanism["randomizers"], [tuple(x) for x in inputs], law_of)
    if name == "parallel":
        shares = shares_of(mechanism["weights"])
        return _parallel(mechanism["randomizers"], shares, [tuple(x) for x in inputs], law_of)
    if name == "hierarchy":
        parts, widths = tree_levels(mechanism)
        rows = [tuple(x // width for width in widths) for x in inputs]
        return _parallel(parts, shares_of([1.0] * len(parts)), rows, law_of)
    rate = rate_of(mechanism)
    law = _scaled(part_law(mechanism["randomizer"], list(inputs), law_of), rate)
    return [*law, _nothing(1 - rate, len(inputs))] if rate < 1 else law


def rate_of(mechanism: Parameters) -> Fraction:
    """Of Poisson subsampling: the multiple of 2^-64 nearest to the rate, at least one."""
    return Fraction(min(max(round(Fraction(mechanism["rate"]) * _UNIT), 1), _UNIT), _UNIT)


def _joint(parts: Sequence[Parameters], rows: Sequence[tuple[Any, ...]], law_of: LawOf) -> Law:
    if any(len(row) != len(parts) for row in rows):
        raise ParameterError(f"inputs = {rows!r}: wanted a value for each of {len(parts)} parts")
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
    law = law_of(_named(part), list(inputs))
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


def _named(part: Parameters) -> dict[str, Any]:
    """Under the names the laws have."""
    found = dict(part)
    if found["name"] == "blh":
        found |= {"name": "local-hash", "l": 2}
    elif found["name"] == "olh":
        found |= {"name": "local-hash", "l": round(math.exp(found["eps0"])) + 1}
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
