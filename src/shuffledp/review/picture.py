"""The figure of a report: the curve that an account computed, and the certificate's own numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shuffledp._check import exact
from shuffledp.bound import Bound, outward
from shuffledp.review.claims import FAILURES, WORDS, Ends, one_round, who
from shuffledp.review.drawing import Band, Item, Level, Line, Mark, Picture

# A line is about a hundredth of the axis wide (drawing.py: 2.6 of 300).
_LINE = 0.008
Y_LABELS = {"epsilon": "central eps (nats)", "delta": "central delta"}
_SHAPES = {"now": "dot", "minimum batch": "square"}


def picture_of(certificate: Any, curve: Any, *, label: str, name: str) -> Picture | None:
    """The curve over n with the deployment marked; None where no end is finite.

    Parameters
    ----------
    certificate : Certificate
        For what is marked.
    curve : Curve
        Bounds over n.
    label : str
        The mechanism in a few words.
    name : str
        Distinguishes the figures of a page.
    """
    found = one_round(certificate)
    highs = [_height(bound, up=True) for bound in curve.bounds]
    if all(high is None for high in highs):
        return None
    lows = [_height(bound, up=False) for bound in curve.bounds]
    items = _ends_of(curve.n, lows, highs, certificate.quantity)
    if curve.generic:
        words = "upper end for any randomizer with this local guarantee"
        ys = [_height(bound, up=True) for bound in curve.generic]
        items.append(Line("any", words, curve.generic_n, ys))
    items += [*_without_shuffler(certificate), *_wanted(certificate), *_marks(found)]
    quantity, unit = certificate.quantity, certificate.deployment.content.unit
    word, fixed = WORDS[quantity], WORDS["delta" if quantity == "epsilon" else "epsilon"]
    rounds = ", one round" if certificate.rounds > 1 else ""
    at = f"{fixed} = {exact(certificate.at)}{rounds}"
    said = "; ".join(_said(ends) for ends in found)
    return Picture(
        title=f"Central {word} over the number of {unit}, {label}, at {at}",
        description=f"A band between certified lower and upper ends that falls with n. {said}.",
        x_label=f"honest {unit} in the batch, n{'' if unit == 'users' else ' (users)'}; "
        f"certified at {len(curve.n)} n, joined by lines",
        y_label=f"{Y_LABELS[quantity]} at {at}",
        logarithmic=quantity == "epsilon",
        items=items,
        name=name,
    )


def _ends_of(
    ns: Sequence[int],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    quantity: str,
) -> list[Item]:
    """The band and its two lines; one line where the thick one covers the other."""
    open_below = any(a is None for a, b in zip(lows, highs, strict=True) if b is not None)
    if not open_below and _covered(lows, highs, quantity):
        return [Line("upper", "both certified ends coincide in this line", ns, highs)]
    zero = " (0 where there is no line)" if open_below else ""
    return [
        Band("the truth lies in this band", ns, lows, highs),
        Line("upper", "certified upper end", ns, highs),
        Line("lower", f"certified lower end{zero}", ns, lows),
    ]


def _covered(lows: Sequence[float | None], highs: Sequence[float | None], quantity: str) -> bool:
    pairs = [(a, b) for a, b in zip(lows, highs, strict=True) if a is not None and b is not None]
    if quantity == "epsilon":
        pairs = [(math.log(low), math.log(high)) for low, high in pairs]
    tops = [high for _, high in pairs]
    return max(high - low for low, high in pairs) <= _LINE * (max(tops) - min(tops))


def _height(bound: Bound, *, up: bool) -> float | None:
    if up:
        return place(bound.quantity, bound.upper, bound.log_upper)
    return place(bound.quantity, bound.lower, bound.log_lower)


def place(quantity: str, value: float | None, log: float | None) -> float | None:
    """Where an end is drawn: eps itself, log10 of delta; None where there is nothing to draw."""
    if quantity == "delta":
        return None if log is None or math.isinf(log) else log / math.log(10.0)
    return value if value is not None and 0.0 < value < math.inf else None


def _without_shuffler(certificate: Any) -> list[Item]:
    eps0 = certificate.local_guarantee
    if certificate.quantity != "epsilon":
        return []
    if eps0 is not None:
        return [Level("local", f"no {who(certificate)}: eps0 = {outward(eps0, up=True)}", eps0)]
    (ends,) = (one for one in one_round(certificate) if one.scenario.name in FAILURES)
    height = place("epsilon", ends.upper.value, None)
    return (
        [] if height is None else [Level("local", f"no {who(certificate)}: {_said(ends)}", height)]
    )


def _wanted(certificate: Any) -> list[Item]:
    """The limit of the file, where the figure shows what it is of."""
    limit = certificate.deployment.content.target.at_most
    if limit is None or certificate.rounds > 1:
        return []
    word = WORDS[certificate.quantity]
    height = limit if certificate.quantity == "epsilon" else math.log10(limit)
    return [Level("wanted", f"wanted: {word} at most {limit!r}", height)]


def _marks(found: Sequence[Ends]) -> list[Item]:
    marks: list[Item] = []
    published: list[tuple[int, float]] = []
    for ends in found:
        if ends.scenario.name in FAILURES:
            continue
        quantity, n = ends.quantity, ends.scenario.n
        high = place(quantity, ends.upper.value, ends.upper.log)
        if high is None:
            continue
        low = place(quantity, ends.lower.value, ends.lower.log)
        label = f"{ends.scenario.name}, n = {n:,}: {_said(ends)}"
        marks.append(Mark(_SHAPES[ends.scenario.name], label, [n], [high], [low]))
        other = place(quantity, ends.published.value, ends.published.log)
        if ends.differs and other is not None:
            published.append((n, other))
    if published:
        ns, heights = zip(*published, strict=True)
        marks.append(Mark("cross", "upper end by published theorems alone", ns, heights))
    return marks


def _said(ends: Ends) -> str:
    return f"{ends.shown('lower')} <= {WORDS[ends.quantity]} <= {ends.shown('upper')}"
