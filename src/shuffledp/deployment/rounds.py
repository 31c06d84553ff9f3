"""All rounds of a deployment together: bounds, with what a verifier needs to compose them again."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from shuffledp import theorems
from shuffledp.amplification.messages import Messages
from shuffledp.amplification.seen import Quantity
from shuffledp.bound import Bound
from shuffledp.bounds.stealing_cases import cases_of
from shuffledp.errors import NotCertified
from shuffledp.laws.sources import Family, settled_others
from shuffledp.randomizers import Randomizer
from shuffledp.rounds import Round, StatedRound, compose, direction, stated

# The lowest log delta that dots are placed for.
_LOWEST = -560.0
# Classes of outputs of all pairs with all others' inputs that a verifier looks at in two seconds:
# of all ordered pairs, most of which come close, and of triples, most of which a glance rules out.
_MOST_LISTED, _MOST_SHIFTED = 500, 2000
# About log of the least delta that these classes are counted for.
_FEW_DIGITS = -40.0
# Of Laplace noise: its cover has the more inputs the smaller one round's eps is, 700 at these.
_MOST_SPANNING, _WIDEST = 1_000_000, 4.0


def after_rounds(one: Messages, *, rounds: int, quantity: Quantity, value: float) -> Bound:
    """eps (or delta) of the same mechanism in several rounds on the same users.

    Parameters
    ----------
    one : Messages
        One round.
    rounds : int
        How many.
    quantity : {"epsilon", "delta"}
        What is bounded.
    value : float
        What is held fixed: delta for "epsilon", eps for "delta".

    Returns
    -------
    Bound
        Its witness holds one round's values at dots, from which both ends follow.
        Nothing is certified where one round has no curve.
    """
    # What a certificate's reader recomputes value by value.
    if _quick_to_read(one):
        with contextlib.suppress(NotCertified):
            return _composed(one.as_round(), rounds, quantity, value)
    try:
        part = one.as_round(sharper=False)
    except NotCertified:
        return _nothing(one, rounds, quantity, value)
    return _composed(part, rounds, quantity, value)


def _quick_to_read(one: Messages) -> bool:
    """Whether a verifier computes label stealing at an eps within two seconds."""
    if not isinstance(one.source, Randomizer):
        return isinstance(one.source, Family) and not one.source.adaptive
    found = settled_others(one.source)
    if found is None:
        return False
    if found.how == "span":
        # Values of normal noise far from 0 take a verifier half a minute each.
        return one.eps0 <= _WIDEST and one.n <= _MOST_SPANNING
    most = {"listed": _MOST_LISTED, "shifts": _MOST_SHIFTED}
    if found.how not in most:
        return True
    cases = cases_of(one.source, _FEW_DIGITS)
    return sum(len(case.labels) * len(case.blanket) for case in cases) <= most[found.how]


def _composed(part: Round, rounds: int, quantity: Quantity, value: float) -> Bound:
    """Of one round's values at dots."""
    if quantity == "epsilon":
        log_target = math.log(value)
    else:
        log_target = max(compose([(part, rounds)]).rough_log_delta(value), _LOWEST)
    made = stated(part, log_target=log_target, rounds=rounds, sharper=True)
    composed = compose([(made, rounds)])
    return _witnessed(composed.bound(quantity, value), made, rounds)


def _witnessed(bound: Bound, made: StatedRound, rounds: int) -> Bound:
    """The bound with one round's values as its witness."""
    upper: dict[str, Any] = {"analysis": "local"}
    if bound.upper_theorem is not theorems.LOCAL and bound.upper_theorem is not None:
        upper = {
            "analysis": bound.upper_theorem.key,
            "dots": list(made.dots),
            "values": list(made.values),
        }
        if bound.upper_theorem.key == "label-stealing":
            upper["frees"] = list(made.free)
    lower: dict[str, Any] = {}
    if bound.lower > 0.0 or (bound.log_lower is not None and bound.log_lower > -math.inf):
        epsilon = bound.lower if bound.quantity == "epsilon" else bound.at["epsilon"]
        lower = {
            **made.reproduces,
            "swap": direction(made, rounds, float(epsilon)),
            "dots": list(made.lower_dots),
            "ends": [[list(end) for end in ends] for ends in made.ends],
        }
    if bound.upper_theorem is theorems.LOCAL and bound.quantity == "epsilon":
        bound = replace(bound, upper=max(_times(rounds, made.eps0), bound.lower))
    return replace(bound, witness={"upper": upper, "lower": lower})


def _times(rounds: int, eps0: float) -> float:
    """The smallest float that is at least rounds times eps0."""
    product = rounds * eps0
    return (
        product
        if Fraction(product) >= rounds * Fraction(eps0)
        else math.nextafter(product, math.inf)
    )


def _nothing(one: Messages, rounds: int, quantity: Quantity, value: float) -> Bound:
    """No end: of trust in published theorems alone, some mechanisms have no curve of one round."""
    delta = quantity == "delta"
    return Bound(
        quantity=quantity,
        relation=one.relation,
        lower=0.0,
        upper=1.0 if delta else math.inf,
        at={"n": one.n, "rounds": rounds, "epsilon" if delta else "delta": value},
        log_upper=0.0 if delta else None,
    )
