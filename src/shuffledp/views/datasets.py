"""Ends of sums by every data set of a coordinate, with what a certificate's reader needs.

The upper end of several coordinates rests on values on a lattice of eps that are above every data
set's delta of one coordinate, the lower end on polygons below that of one data set; where one
coordinate changes, on its delta itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from shuffledp import theorems
from shuffledp.amplification.seen import Quantity
from shuffledp.arithmetic.balls import arb, ctx, float_above
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.bound import Bound, delta_from_log
from shuffledp.bounds import shufflers
from shuffledp.bounds.pairs import End
from shuffledp.neighbours import REPLACEMENT
from shuffledp.propose.inverse import lower_epsilon, upper_epsilon
from shuffledp.propose.one_bit import AllDataSets, DataSet
from shuffledp.propose.profile import LARGEST_EPSILON
from shuffledp.rounds import Candidate, Round, compose
from shuffledp.views.added_up import AddedUp

# How near to the crossing both ends of eps of one coordinate are, relatively: the upper end, the
# lower end, whose data set is known, and both with Laplace noise, where a search takes longer.
_ABOVE, _BELOW, _LAPLACE = 1e-6, 1e-8, 5e-4
# Values of a curve are this far apart at the most (``Round``); what follows asks for no less;
# with Laplace noise, where searches take longer, somewhat farther.
_STEADY, _STEADY_LAPLACE = 1e-3, 4e-3
# Relative width of eps of several coordinates together, where none is asked for.
_RTOL_TOGETHER = 5e-4
# Bits of a pure guarantee.
_BITS = 128


def local_guarantee(view: AddedUp) -> float:
    """Pure guarantee in nats of one user's reports in all rounds, seen alone; inf if there is none.

    Of a 0 and a 1 the outputs' log ratios are at most L_1 = log P(1|1)/P(1|0) and
    L_0 = log P(0|0)/P(0|1); with f coordinates that fall and r <= f that rise, at most
    f max(L_0, L_1) + r min(L_0, L_1) (docs/theory-sums.md, Lemma 1.4).

    Parameters
    ----------
    view : AddedUp
        What is added up.
    """
    ones, whole = min(view.ones, view.count), view.mechanism.eps0
    if view.normal is None and view.count > 1 and not (view.items and view.relation == REPLACEMENT):
        rising = min(ones, view.count - ones) if view.relation == REPLACEMENT else 0
        with ctx.workprec(_BITS):
            first, second = _log_ratios(view)
            whole = float_above(ones * first.max(second) + rising * first.min(second))
    return shufflers.local_guarantee(whole, 1, view.rounds)


def _log_ratios(view: AddedUp) -> tuple[arb, arb]:
    """Largest log ratios L_1 of a bit that is 1, and L_0 of one that is 0; maybe infinite."""
    low, high = (view.bits.law(x).share for x in view.bits.inputs)
    pairs = [(high, low), (1 - low, 1 - high)]
    first, second = ((p / q).log() if q > 0 else arb.pos_inf() for p, q in pairs)
    return first, second


def searched(view: AddedUp, *, quantity: Quantity, value: float) -> Bound:
    """Both ends for sums of bits, by every data set of a coordinate.

    Parameters
    ----------
    view : AddedUp
        What is added up, and how often.
    quantity : {"epsilon", "delta"}
        What is bounded.
    value : float
        What is held fixed: delta for "epsilon", eps for "delta".
    """
    if view.changed == 1:
        return _capped(view, _one(view, quantity, value))
    return _capped(view, _several(view, quantity, value))


def _capped(view: AddedUp, bound: Bound) -> Bound:
    """No round tells more than its reports do."""
    eps0 = local_guarantee(view)
    witness = {**bound.witness, "upper": {"analysis": "sums-local"}}
    if bound.quantity == "epsilon" and bound.upper >= eps0:
        lower = min(bound.lower, eps0)
        return replace(
            bound,
            lower=lower,
            upper=eps0,
            upper_theorem=theorems.SUMS_LOCAL,
            witness=witness,
            upper_width=None,
        )
    if bound.quantity == "delta" and bound.at["epsilon"] >= eps0:
        return replace(
            bound,
            lower=0.0,
            upper=0.0,
            log_lower=-math.inf,
            log_upper=-math.inf,
            upper_theorem=theorems.SUMS_LOCAL,
            witness=witness | {"lower": {}},
            lower_theorem=None,
            upper_width=None,
        )
    return bound


# ------------------------------------------------------------------------------- one coordinate


def _one(view: AddedUp, quantity: Quantity, value: float) -> Bound:
    """One coordinate in one round: the largest divergence of all data sets."""
    curve, slow = view.of_all, view.added is not None and view.added.kind == "discrete-laplace"
    above, below = (_LAPLACE, _LAPLACE) if slow else (_ABOVE, _BELOW)
    if quantity == "epsilon":
        log, cap = math.log(value), pure_of_one(view)
        low = lower_epsilon([curve], log, cap=cap, rtol=below).low
        high = upper_epsilon([curve], log, cap=cap, rtol=above).high
        ends, logs, at = (min(low, high), high), (None, None), low
        width = high / low - 1.0 if low > 0.0 and math.isfinite(high) else None
    else:
        logs, at = curve.log_delta(value, width=10.0 * above), value
        ends, width = delta_from_log(*logs), math.expm1(logs.width)
    zero = ends[0] == 0.0 and logs[0] in (None, -math.inf)
    return view.bound_of(
        quantity,
        value,
        (ends, logs),
        {"upper": {"analysis": "sums"}, "lower": {} if zero else _held(view, curve.witness(at))},
        (width, None),
    )


def pure_of_one(view: AddedUp) -> float:
    """Pure guarantee of one coordinate, with the aggregator's noise if there is some; or inf."""
    noise = view.added
    with ctx.workprec(_BITS):
        found = max(map(float_above, _log_ratios(view)))
        if noise is None or noise.kind != "discrete-laplace":
            return found
        low, high = (view.bits.law(x).share for x in view.bits.inputs)
        return min(found, float_above(noise.law.guarantee(low, high)))


def _held(view: AddedUp, named: dict[str, Any]) -> dict[str, Any]:
    """A data set as a witness has it: how many of the others hold a 1, and the victim's order."""
    one = view.bits.inputs[1]
    ones = sum(count for value, count in named["others"] if value == one)
    return {"analysis": "sums-dataset", "others": ones, "swap": named["x0"] != one}


# ----------------------------------------------------------------------------- many coordinates


def _several(view: AddedUp, quantity: Quantity, value: float) -> Bound:
    """Coordinates by one coordinate's values at dots; no lower end where some of them rise."""
    found = compose([(one_coordinate(view), view.changed)]).bound(quantity, value)
    low, log_low, lower = found.lower, found.log_lower, {}
    own = found.witness.get("lower", {}).get("round 1", {})
    if view.falling != view.changed:
        # Those that rise have other laws.
        low, log_low = 0.0, None if log_low is None else -math.inf
    elif "others" in own:
        lower = {"analysis": "sums-dataset", "others": own["others"]}
    made = view.bound_of(
        quantity,
        value,
        ((min(low, found.upper), found.upper), (log_low, found.log_upper)),
        {"upper": {"analysis": "sums"}, "lower": lower},
        (None, None),
    )
    return replace(made, notes=found.notes)


@dataclass(frozen=True)
class OneDataset:
    """delta of one coordinate, of one data set in one order: a curve's source.

    Attributes
    ----------
    of_all : AllDataSets
        Of all data sets.
    held : DataSet
        The victim's first value, and the number of others who hold it.
    """

    of_all: AllDataSets
    held: DataSet

    def log_delta(self, epsilon: float, *, width: float = 0.0, end: End = "both") -> LogInterval:
        """Certified bracket of log delta(eps)."""
        del width, end
        return self.of_all.of_dataset(self.held, epsilon)

    def rough_log_delta(self, epsilon: float) -> float:
        """About log delta(eps)."""
        return self.log_delta(epsilon).low

    def log_floor(self) -> float:
        """Lower bound of log delta at every eps that a curve has."""
        told = self.of_all.log_floor() > -math.inf
        return self.log_delta(LARGEST_EPSILON).low if told else -math.inf


def candidate(of_all: AllDataSets, ones: int) -> Candidate:
    """A coordinate that falls while this many of the others hold a 1 there; and back."""
    zero, one = of_all.bits.inputs
    down = OneDataset(of_all, DataSet(one, ones))
    up = OneDataset(of_all, DataSet(zero, of_all.n - 1 - ones))
    return Candidate(down, up, {"others": ones})


def one_coordinate(view: AddedUp) -> Round:
    """One coordinate as a round, by all data sets from above and by two from below."""
    n, added = view.n, view.added
    slow = added is not None and added.kind == "discrete-laplace"
    upper, lower = view.theorems
    return Round(
        label=f"sum of {view.mechanism.name}",
        groups=((view.of_all,),),
        # It falls while all others hold a 0 there, or all a 1.
        candidates=tuple(candidate(view.of_all, ones) for ones in sorted({0, n - 1})),
        eps0=pure_of_one(view),
        key=("sum", view.mechanism, n, added),
        relation=REPLACEMENT,
        rtol=_RTOL_TOGETHER if view.rtol is None else view.rtol,
        width=_STEADY_LAPLACE if slow else _STEADY,
        upper_theorem=upper,
        lower_theorem=lower,
        at={"n": n},
    )


def alike_round(view: AddedUp, *, falls: bool, ones: bool) -> Round:
    """The sum of a coordinate that falls, or rises, while all others hold a 1 there, or a 0."""
    n = view.n
    found = candidate(view.of_all, n - 1 if ones else 0)
    if not falls:
        found = Candidate(found.backward, found.forward, found.witness)
    theorem = view.theorems[1]
    return Round(
        label="sum of a coordinate",
        groups=((found.forward,),),
        backward_groups=((found.backward,),),
        candidates=(found,),
        eps0=pure_of_one(view),
        key=("sum of bits", view.mechanism, n, view.added, falls, ones),
        relation=REPLACEMENT,
        upper_theorem=theorem,
        lower_theorem=theorem,
    )
