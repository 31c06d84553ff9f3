"""Labels' laws that dominate those of all triples of inputs, for label stealing, in balls.

docs/theory-stealing.md, sections 5.4 and 5.5. What is listed here may be more than is needed: all
that is listed are inputs, or corners of what inputs there are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from shuffledp.errors import NotCertified

from ._flint import arb, fmpq, fmpq_mat
from .items import law_of_groups
from .kinds import alike_size, is_mixed
from .lattice import staircase_at
from .laws import finite_law
from .levels import Point, is_one_bit, window_parts
from .outputs import Law, positive, rational_ball, whole
from .pairs import ordered_pairs
from .parts import part_law, rate_of, shares_of, tree_levels

__all__ = ["label_laws", "label_mechanism", "label_pairs"]

# Masses under x0, x1 and x of one class of outputs.
Masses = tuple[arb, arb, arb]
Parameters = Mapping[str, Any]
# Items of a user up to which all overlaps of three sets are looked at.
_MOST_ITEMS = 6
# Classes of outputs of all combinations of parts together.
_MOST_MASSES = 300_000
_CORNERS = {"piecewise", "hybrid", "staircase", "pckv-grr"}
_OF_PARTS = {"joint", "parallel", "hierarchy"}


def label_laws(mechanism: Parameters) -> Iterator[list[Masses]] | None:
    """Laws of a label under three inputs; None where no theorem says which are enough."""
    name = mechanism["name"]
    if name == "poisson-subsample":
        inner = label_laws(mechanism["randomizer"])
        return None if inner is None else _with_absent(inner, rate_of(mechanism))
    if name in _OF_PARTS:
        return _of_parts(mechanism)
    if name == "hybrid" and is_one_bit(mechanism):
        return None
    if name == "sampling-rappor" and mechanism.get("s") not in range(2, _MOST_ITEMS + 1):
        return None
    return _LABELS[name](mechanism) if name in _LABELS else None


def _with_absent(laws: Iterator[list[Masses]], rate: Fraction) -> Iterator[list[Masses]]:
    """A report with the probability ``rate``, else the constant message."""
    p, rest = rational_ball(rate), rational_ball(1 - rate)
    for law in laws:
        reports = [(p * p0, p * p1, p * x) for p0, p1, x in law]
        yield [*reports, (rest, rest, rest)] if rate < 1 else reports


# ---------------------------------------------------------- reports made of parts, section 5.8


def _of_parts(mechanism: Parameters) -> Iterator[list[Masses]] | None:
    """None where a part is not settled, or where the worst pair of records is not one."""
    if mechanism["name"] == "hierarchy":
        return _levels_of_tree(mechanism)
    joint = mechanism["name"] == "joint"
    if len(label_pairs(label_mechanism(mechanism))) != 1:
        return None
    options = [_options(part, joint=joint) for part in mechanism["randomizers"]]
    known = [option for option in options if option is not None]
    if len(known) < len(options):
        return None
    if joint:
        return _products(known, label_mechanism(mechanism).get("hamming") or len(known))
    return _side_by_side(known, shares_of(mechanism["weights"]))


def label_pairs(mechanism: Parameters) -> list[Any]:
    """The pair of records that dominates all others, or several that may."""
    pairs = ordered_pairs(mechanism)
    most = mechanism.get("hamming") if mechanism["name"] == "joint" else None
    if most is None:
        return pairs
    # Of parts that are settled a pair of equal inputs is dominated by others (section 5.8), and
    # equal parts may change places.
    kinds = [repr(sorted(part.items(), key=repr)) for part in mechanism["randomizers"]]
    found = {}
    for x0, x1 in pairs:
        changes = list(zip(kinds, x0, x1, strict=True))
        if sum(a != b for _, a, b in changes) == most:
            found.setdefault(repr(sorted(changes, key=repr)), (x0, x1))
    return list(found.values())


def label_mechanism(mechanism: Parameters) -> Parameters:
    """The mechanism itself, or without ``hamming`` if several pairs may be the worst within it."""
    if mechanism.get("hamming") is None or len(label_pairs(mechanism)) == 1:
        return mechanism
    return {key: value for key, value in mechanism.items() if key != "hamming"}


def _options(part: Parameters, *, joint: bool) -> list[list[Masses]] | None:
    """Labels of one part that dominate all of its own, beside other parts or together with them."""
    inner = part
    while inner["name"] == "poisson-subsample":
        inner = inner["randomizer"]
    size = alike_size(inner)
    if size:
        chosen = [(0, 1, x) for x in range(min(size, 3))]
        # Together with others, pairs of equal inputs, another holding it or a different one.
        chosen += [(0, 0, 0), (0, 0, 1)] if joint else []
    elif is_mixed(inner):
        chosen = list(itertools.product((inner["low"], inner["high"]), repeat=3))
    elif inner["name"] in _CORNERS:
        laws = label_laws(part)
        return None if laws is None else list(laws)
    else:
        return None
    return [_masses(part_law(part, triple, finite_law)) for triple in chosen]


def _masses(law: Law) -> list[Masses]:
    found: list[Masses] = []
    for one in law:
        first, second, third = one.probability
        found.append((first, second, third))
    return found


def _scaled(law: list[Masses], by: arb) -> list[Masses]:
    return [(by * p0, by * p1, by * x) for p0, p1, x in law]


def _side_by_side(
    options: list[list[list[Masses]]], shares: Sequence[Fraction]
) -> Iterator[list[Masses]]:
    by = [rational_ball(share) for share in shares]
    for chosen in itertools.product(*options):
        parts = [_scaled(law, p) for law, p in zip(chosen, by, strict=True)]
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


def _levels_of_tree(mechanism: Parameters) -> Iterator[list[Masses]]:
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
            for masses in _scaled(
                _masses(part_law(part, (0, 1, x), finite_law)), rational_ball(share)
            )
        ]


# ------------------------------------------------------------- steps on an interval, section 5.4


def _places(w: arb) -> list[Point]:
    """Ends of the interval and what is one or two steps 1/w from one: p + q/w as (p, q)."""
    found = []
    for p, q in itertools.product((0, 1), range(-2, 3)):
        x = p + q / w
        if (p, q) in {(0, 0), (1, 0)} or (x > 0 and x < 1):
            found.append((Fraction(p), Fraction(q)))
        elif not (x < 0 or x > 1):
            raise NotCertified("label stealing: the order of two places is not clear in balls")
    return found


def _windows(mechanism: Parameters) -> Iterator[list[Masses]]:
    """Piecewise; and hybrid, with Duchi's bit in the share 1/w."""
    eps0 = positive(mechanism, "eps0")
    w, gain = (eps0 / 2).exp(), eps0.expm1()
    rest = 1 / w if mechanism["name"] == "hybrid" else arb(0)
    for triple in itertools.product(_places(w), repeat=3):
        # p + q/w is at w times that, p w + q, in units of the window.
        masses: list[Masses] = []
        for mass, favours in window_parts(triple, eps0, 1 - rest):
            first, second, third = (mass * (1 + gain * rational_ball(f)) for f in favours)
            masses.append((first, second, third))
        if not rest.is_zero():
            places = [rational_ball(p) + rational_ball(q) / w for p, q in triple]
            base = rest / (eps0.exp() + 1)
            for own in (places, [1 - x for x in places]):
                first, second, third = (base * (1 + gain * x) for x in own)
                masses.append((first, second, third))
        yield masses


def _stairs(mechanism: Parameters) -> Iterator[list[Masses]]:
    """Distances u, v of x0 and x1 from x, and their own, where jumps of two densities meet.

    That is at multiples of g, up to two, and whole numbers more: u and v are sums of two of these.
    """
    g = Fraction(mechanism["width"])
    places = {k * g + m for k in range(-4, 5) for m in range(-5, 6)}
    places = {x for x in places if -1 <= x <= 1}
    for u, v in itertools.product(places, repeat=2):
        # The noise is symmetric: of (u, v) and (-u, -v) one is enough.
        if abs(u - v) <= 1 and (u, v) >= (-u, -v):
            low = min(u, v, Fraction(0))
            law = staircase_at(mechanism, (u - low, v - low, -low))
            found: list[Masses] = []
            for one in law:
                first, second, third = one.probability
                found.append((first, second, third))
            yield found


# -------------------------------------------------------------------- sets of items, section 5.5


def _keys(mechanism: Parameters) -> Iterator[list[Masses]]:
    """PCKV: numbers of keys by who holds them with which sign, at the corners of what is possible.

    Four linear equations (keys in all, and held by each of three inputs): four states, a basis.
    """
    domain, s, eps0 = (
        whole(mechanism, "domain", 1),
        whole(mechanism, "s", 1),
        positive(mechanism, "eps0"),
    )
    keys = domain + s if mechanism.get("padding") else domain
    total = s * eps0.expm1() + 2 * keys
    states = list(itertools.product((-1, 0, 1), repeat=3))
    # The two symbols of a key change places if all signs change.
    states = [state for state in states if state >= tuple(-v for v in state)]
    wanted = fmpq_mat([[fmpq(v)] for v in (keys, s, s, s)])
    seen = set()
    for basis in itertools.combinations(states, 4):
        table = fmpq_mat([[fmpq(1)] * 4, *([fmpq(abs(z[i])) for z in basis] for i in range(3))])
        if table.det() == 0:
            continue
        numbers = [table.solve(wanted)[i, 0] for i in range(4)]
        if min(numbers) < 0:
            continue
        counts: dict[tuple[bool, ...], Fraction] = {}
        for number, state in zip(numbers, basis, strict=True):
            for sign in (-1, 1):
                hits = tuple(v == sign for v in state)
                counts[hits] = counts.get(hits, Fraction(0)) + Fraction(
                    int(number.p), int(number.q)
                )
        key = tuple(sorted((hits, count) for hits, count in counts.items() if count))
        if key in seen:
            continue
        seen.add(key)
        found: list[Masses] = []
        for hits, count in key:
            base = rational_ball(count) / total
            first, second, third = (base * eps0.exp() if hit else base for hit in hits)
            found.append((first, second, third))
        yield found


def _sets(mechanism: Parameters) -> Iterator[list[Masses]]:
    """Sampling RAPPOR: all overlaps of three sets of s items of d, the first two different."""
    d, s = whole(mechanism, "d", 2), whole(mechanism, "s", 1)
    hits = [key for key in itertools.product((False, True), repeat=3) if any(key)]
    for sizes in itertools.product(range(s + 1), repeat=len(hits)):
        held = [sum(n for key, n in zip(hits, sizes, strict=True) if key[i]) for i in range(3)]
        both = sum(n for key, n in zip(hits, sizes, strict=True) if key[0] and key[1])
        if held == [s, s, s] and both < s and sum(sizes) <= d:
            groups = [(key, n) for key, n in zip(hits, sizes, strict=True) if n]
            yield law_of_groups(mechanism, groups)


_LABELS: dict[str, Callable[[Parameters], Iterator[list[Masses]]]] = {
    "piecewise": _windows,
    "hybrid": _windows,
    "staircase": _stairs,
    "pckv-grr": _keys,
    "sampling-rappor": _sets,
}
