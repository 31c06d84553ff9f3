"""Sampling RAPPOR in ball arithmetic: one of a user's s items, as a noisy one-hot vector.

With w = e^(eps0/2), R_0 the law of d bits each set with probability 1/(w + 1): RAPPOR of item i has
the density w (bit i set) or 1/w (not set) against R_0, so a set with c of its s bits set has
(c w + (s - c)/w)/s. The least c over all sets of s items is max(0, s - zeros).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from shuffledp.arithmetic.balls import arb, total
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.theorems import FEWEST_SHARED, OVERLAP_TRIPLES

from .outputs import Law, OutputClass, Parameters, positive, rational_ball, whole
from .ranges import DOMAIN, EPS0
from .record import Masses, Others, Pair, Record

__all__ = ["RECORDS"]

_MOST_COUNTS = 200_000
_MOST_CLASSES = 6_000
# Items of a user up to which all overlaps of three sets are looked at, and those the class takes.
_FEW_ITEMS, _MOST_ITEMS = 6, 100
# Items by which of the windows hold them, and how many of each.
_Groups = list[tuple[tuple[bool, ...], int]]
# R_0 mass by set bits in every window, and the least number of them in any set.
_Totals = dict[tuple[tuple[int, ...], int], arb]


def _sampling_rappor(mechanism: Parameters, inputs: tuple[Any, ...]) -> Law:
    """Law by set bits in every window; window i is the items i .. i + s - 1, modulo d.

    Raises
    ------
    NotCertified
        If there are too many classes of outputs.
    """
    d, s, eps0 = whole(mechanism, "d", 2), whole(mechanism, "s", 1), positive(mechanism, "eps0")
    if not s < d:
        raise ParameterError(f"s = {s!r}: wanted fewer than the {d} items")
    for x in inputs:
        if isinstance(x, bool) or not isinstance(x, int) or not 0 <= x < d:
            raise ParameterError(f"input = {x!r}: wanted the number of a window, 0 to {d - 1}")
    w = (eps0 / 2).exp()
    groups, rest = _groups(inputs, d, s)
    if math.prod(size + 1 for _, size in groups) * (min(s, rest) + 1) > _MOST_COUNTS:
        raise NotCertified(f"sampling-rappor: more than {_MOST_COUNTS:,} counts of set bits")
    totals = _by_counts(groups, _few_zeros(rest, s, w), s, w)
    if len(totals) > _MOST_CLASSES:
        raise NotCertified(f"sampling-rappor: more than {_MOST_CLASSES:,} classes of outputs")
    return _law_of(totals, s, w, eps0)


def _cut_sampling_rappor(
    mechanism: Parameters, inputs: tuple[Any, ...], *, log_cut: float
) -> Law | None:
    """The law of large sets with rare counts of set bits cut off; None where all classes are few.

    Outputs have s zeros or more nearly always: the blanket is R_0/w or more, and here R_0/w.
    """
    s = mechanism["s"]
    try:
        made = _sampling_rappor(mechanism, inputs)
    except NotCertified:
        made = None
    if made is not None:
        return None
    eps0 = positive(mechanism, "eps0")
    w = (eps0 / 2).exp()
    groups, _ = _groups(inputs, whole(mechanism, "d", 2), s)
    # A set's law is at most w R_0.
    least = (arb(log_cut) - (w * len(groups)).log()).exp()
    totals = _by_counts(groups, [(s, arb(1))], s, w, least=least)
    if len(totals) > _MOST_CLASSES:
        raise NotCertified(f"sampling-rappor: more than {_MOST_CLASSES:,} classes of outputs")
    law = _law_of(totals, s, w, eps0)
    kept = [total(c.probability[i] for c in law) for i in range(len(inputs))]
    gone = tuple((1 - x).nonnegative_part() for x in kept)
    return [*law, OutputClass(arb(0), gone, beyond=True)]


def _law_of(totals: _Totals, s: int, w: arb, eps0: arb) -> Law:
    """Classes of outputs, by set bits in every window and the least of them in any set."""

    def height(count: int) -> arb:
        return (count * w + (s - count) / w) / s

    law = []
    for (favoured, least), base in totals.items():
        level = None
        if all(c == least or (c == s and least == 0) for c in favoured):
            level = tuple(arb(0) if c == least else eps0 for c in favoured)
        probability = tuple(base * height(c) for c in favoured)
        law.append(OutputClass(base * height(least), probability, level))
    return law


def _law_of_groups(mechanism: Parameters, groups: _Groups) -> list[tuple[arb, arb, arb]]:
    """Masses under three sets, of which these groups of items are in one or more."""
    s, w = whole(mechanism, "s", 1), (positive(mechanism, "eps0") / 2).exp()
    found = []
    for (favoured, _), base in _by_counts(groups, [(s, arb(1))], s, w).items():
        first, second, third = (base * (c * w + (s - c) / w) / s for c in favoured)
        found.append((first, second, third))
    return found


def _groups(
    inputs: tuple[Any, ...], d: int, s: int
) -> tuple[list[tuple[tuple[bool, ...], int]], int]:
    """Items by the windows that hold them, and how many are in none."""
    sizes: dict[tuple[bool, ...], int] = {}
    touched = {(x + i) % d for x in inputs for i in range(s)}
    for item in touched:
        key = tuple((item - x) % d < s for x in inputs)
        sizes[key] = sizes.get(key, 0) + 1
    return list(sizes.items()), d - len(touched)


def _few_zeros(rest: int, s: int, w: arb) -> list[tuple[int, arb]]:
    """(zeros among the rest, probability), s standing for s or more."""
    zero = w / (w + 1)
    found = []
    left = arb(1)
    for zeros in range(min(s, rest + 1)):
        share = rational_ball(Fraction(math.comb(rest, zeros)))
        p = share * zero**zeros * (1 - zero) ** (rest - zeros)
        found.append((zeros, p))
        left -= p
    if rest >= s:
        found.append((s, left))
    return found


def _by_counts(
    groups: _Groups, few: list[tuple[int, arb]], s: int, w: arb, *, least: arb | None = None
) -> _Totals:
    """R_0 mass by set bits in every window and the least number of them in any set.

    ``least``: a group's counts of less mass than it, over how many there are, are left out.
    """
    one, zero = 1 / (w + 1), w / (w + 1)
    size = len(groups[0][0])
    totals: _Totals = {}
    tables = [[math.comb(k, c) * one**c * zero ** (k - c) for c in range(k + 1)] for _, k in groups]
    kept = [
        [c for c, mass in enumerate(table) if least is None or not mass < least / len(table)]
        for table in tables
    ]
    for counts in itertools.product(*kept):
        mass = math.prod((t[c] for t, c in zip(tables, counts, strict=True)), start=arb(1))
        both = list(zip(groups, counts, strict=True))
        favoured = tuple(sum(c for (key, _), c in both if key[i]) for i in range(size))
        zeros = sum(k - c for (_, k), c in both)
        for more, share in few:
            key = (favoured, max(0, s - zeros - more))
            added = mass * share
            totals[key] = totals[key] + added if key in totals else added
    return totals


def _sets(mechanism: Parameters) -> Iterator[list[Masses]]:
    """Sampling RAPPOR: all overlaps of three sets of s items of d, the first two different."""
    d, s = whole(mechanism, "d", 2), whole(mechanism, "s", 1)
    hits = [key for key in itertools.product((False, True), repeat=3) if any(key)]
    for sizes in itertools.product(range(s + 1), repeat=len(hits)):
        held = [sum(n for key, n in zip(hits, sizes, strict=True) if key[i]) for i in range(3)]
        both = sum(n for key, n in zip(hits, sizes, strict=True) if key[0] and key[1])
        if held == [s, s, s] and both < s and sum(sizes) <= d:
            groups = [(key, n) for key, n in zip(hits, sizes, strict=True) if n]
            yield _law_of_groups(mechanism, groups)


# ---------------------------------------------------------------------------------- the record


def _smaller(value: Any, table: Parameters) -> bool:
    d = table["d"]
    fits = type(value) is int and type(d) is int and 1 <= value < d
    return fits and value <= _MOST_ITEMS


def _fewest_shared(mechanism: Parameters) -> Pair:
    return 0, mechanism["s"] % mechanism["d"]


def _overlaps(mechanism: Parameters) -> Others | None:
    if mechanism.get("s") not in range(2, _FEW_ITEMS + 1):
        return None
    pairs = (_fewest_shared(mechanism),)
    return Others("overlaps", OVERLAP_TRIPLES, pairs, labels=lambda: _sets(mechanism))


RECORDS = {
    "sampling-rappor": Record(
        ranges={
            "d": DOMAIN,
            "s": (f"a whole number below d, at most {_MOST_ITEMS}", _smaller),
            "eps0": EPS0,
        },
        law=_sampling_rappor,
        cut_law=_cut_sampling_rappor,
        pair=_fewest_shared,
        pair_step=FEWEST_SHARED,
        # Of one item each.
        alike=lambda m: m["d"] if m.get("s") == 1 else 0,
        others=_overlaps,
    ),
}
