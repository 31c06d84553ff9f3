"""What label stealing looks at, decided from the records: triples of inputs, or labels' laws.

docs/theory-stealing.md, section 5. Reports made of parts and sampled ones follow from what is known
of their parts (sections 5.7 and 5.8). What is listed here may be more than is needed: all that are
listed are inputs, or corners of what inputs there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

from shuffledp.errors import NotCertified
from shuffledp.theorems import ALIKE_TRIPLES, PART_TRIPLES

from .laws import finite_law
from .outputs import Parameters, rational_ball
from .pairs import ordered_pairs
from .parts import masses_of, part_law, rate_of
from .record import Masses, Others, Pair, Parts
from .registry import seen

__all__ = ["label_mechanism", "label_pairs", "others_of"]

_Labels = Callable[[], Iterator[list[Masses]]]


def others_of(mechanism: Parameters) -> Others | None:
    """What label stealing looks at; None where no theorem says what is enough."""
    record = seen(mechanism)
    if record.parts is not None:
        return _of_parts(mechanism, record.parts)
    size = 0 if record.alike is None else record.alike(mechanism)
    if size:
        return Others("alike", ALIKE_TRIPLES, ((0, 1),), tuple(range(min(size, 3))))
    return None if record.others is None else record.others(mechanism)


def _of_parts(mechanism: Parameters, parts: Parts) -> Others | None:
    if parts.like:
        return _sampled(mechanism)
    labels = parts.labels
    if labels is None:
        return None
    inner = label_mechanism(mechanism)
    pairs = label_pairs(inner)
    settled = all(map(_is_settled, mechanism["randomizers"])) if parts.records else True
    # Where a part is not settled, or the worst pair of records is not one.
    if len(pairs) != 1 or not settled:
        return None

    def options(part: Parameters) -> list[list[Masses]]:
        return _options(part, together=parts.together)

    def made() -> Iterator[list[Masses]]:
        return labels(inner, options, finite_law)

    return Others("parts", PART_TRIPLES, tuple(pairs), labels=made)


# --------------------------------------------------------------------- a report or nothing, 5.7


def _sampled(mechanism: Parameters) -> Others | None:
    """What is sampled says what is looked at; not of noise, and of labels with nothing added."""
    found = others_of(mechanism["randomizer"])
    if found is None or found.how in {"shifts", "span", "family"}:
        return None
    if found.labels is None:
        return found
    return found._replace(labels=_with_absent(found.labels, rate_of(mechanism)))


def _with_absent(labels: _Labels, rate: Fraction) -> _Labels:
    """A report with the probability ``rate``, else the constant message."""

    def made() -> Iterator[list[Masses]]:
        p, rest = rational_ball(rate), rational_ball(1 - rate)
        for law in labels():
            reports = [(p * p0, p * p1, p * x) for p0, p1, x in law]
            yield [*reports, (rest, rest, rest)] if rate < 1 else reports

    return made


# ---------------------------------------------------------------------- several parts, section 5.8


def label_pairs(mechanism: Parameters) -> list[Pair]:
    """The pair of records that dominates all others, or several that may."""
    pairs, parts = ordered_pairs(mechanism), seen(mechanism).parts
    most = mechanism.get("hamming") if parts is not None and parts.together else None
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


def _is_settled(part: Parameters) -> bool:
    """Whether labels of the part dominate all of its own inside of other reports."""
    found = others_of(part)
    return bool(_size(part)) or (found is not None and found.how in {"mixed", "corners"})


def _size(part: Parameters) -> int:
    """Of its domain, where all its inputs are alike, be it sampled or not."""
    record = seen(part)
    if record.parts is not None and record.parts.like:
        return _size(part["randomizer"])
    return 0 if record.alike is None else record.alike(part)


def _options(part: Parameters, *, together: bool) -> list[list[Masses]]:
    """Labels of one part that dominate all of its own, beside other parts or together with them."""
    size, found = _size(part), others_of(part)
    if size:
        chosen = [(0, 1, x) for x in range(min(size, 3))]
        # Together with others, pairs of equal inputs, another holding it or a different one.
        chosen += [(0, 0, 0), (0, 0, 1)] if together else []
    elif found is not None and found.how == "mixed":
        chosen = list(itertools.product(found.inputs, repeat=3))
    elif found is not None and found.labels is not None:
        return list(found.labels())
    else:
        raise NotCertified(f"label-stealing of {part['name']} as a part is not recomputed")
    return [masses_of(part_law(part, triple, finite_law)) for triple in chosen]
