"""Claims about all rounds, or all coordinates that a neighbour changes, from one's delta.

An upper end rests on values that are not below delta of one round at some eps, the dots; a lower
end on lower and upper values for a pair of data sets. Each is recomputed, then the loss law of
their chords is composed again (docs/theory-composition.md, section 2.4).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

from shuffledp.certificate.checks import Report
from shuffledp.certificate.curves import Answer, Asked, Way, compared, share_of
from shuffledp.certificate.model import Claim, Witness
from shuffledp.certificate.widened import Target
from shuffledp.deployment.setting import Setting
from shuffledp.rounds import LossPair, stated_above, stated_below
from shuffledp.rounds.total import Total

__all__ = ["adds_up", "composed", "composed_again", "logs_of", "values_hold"]

# Rounds are composed again to this relative width of delta, with so many bits more.
_FINER, _MORE_BITS = 5e-5, 64


def logs_of(value: float) -> Target:
    """Floats below and above the log of a value."""
    if value == 0.0:
        return -math.inf, -math.inf
    log = math.log(value)
    return log - 2.0 * math.ulp(log), log + 2.0 * math.ulp(log)


def adds_up(setting: Setting, claim: Claim, eps0: float | None) -> Answer:
    """Whether the claim is no better than the sum of the local guarantees."""
    times = f"{setting.rounds:,} times the local guarantee"
    claimed = claim.value if claim.quantity == "epsilon" else claim.at
    if eps0 is None or claimed is None:
        return "does not hold", "no local guarantee is given"
    if Fraction(claimed) >= Fraction(eps0) * setting.rounds:
        return "holds", f"at least {times}"
    return "does not hold", f"less than {times}"


def composed(
    setting: Setting,
    claim: Claim,
    witness: Witness,
    way: Way,
    at: tuple[float, Target],
    report: Report,
) -> Answer:
    """All rounds, or all coordinates that a neighbour changes, from one's values at dots.

    Each value is recomputed, then the loss law of their chords is composed again.
    """
    upper, sums = claim.end == "upper", setting.sums
    if fault := _dots_fault(witness, upper=upper):
        return "does not hold", fault
    what = "round" if sums is None else "coordinate"
    # Of a lower end those coordinates whose sums have the same pair of laws.
    times = setting.rounds
    if sums is not None:
        times = sums.changed if upper else sums.falling
    dots, values, ends = witness.dots or [], witness.values or [], witness.ends or []
    verdict, how = (
        values_hold(way, dots, values, what, report)
        if upper
        else _ends_hold(way, dots, ends, what, report)
    )
    if verdict != "holds":
        return verdict, how
    report(f"{setting.name}: composing {times:,} {what}s")
    pair = stated_above(dots, values) if upper else stated_below(dots, ends)
    found = composed_again(pair, times, at[0], swap=bool(witness.swap) and not upper)
    words = f"{how} ({witness.analysis}); {times:,} {what}s composed, "
    if found[1] == -math.inf:
        return compared(found, at[1], upper=upper), f"{words}delta is exactly 0"
    middle = found[1] if found[0] == -math.inf else 0.5 * (found[0] + found[1])
    return compared(found, at[1], upper=upper), words + share_of(middle, at[1][0])


def composed_again(pair: LossPair, rounds: int, epsilon: float, *, swap: bool) -> Target:
    """Ends of log delta of rounds of one law, finer and with more bits than they were issued by.

    Parameters
    ----------
    pair : LossPair
        Laws of the losses of one round, in both directions.
    rounds : int
        How many.
    epsilon : float
        eps >= 0.
    swap : bool
        The other direction.
    """
    law = pair.backward if swap else pair.forward
    found = Total([(law, rounds)]).log_delta(epsilon, rel=_FINER, bits=_MORE_BITS)
    return found.low, found.high


def _dots_fault(witness: Witness, *, upper: bool) -> str:
    """What is wrong with dots and the values there, in words; empty if nothing is."""
    dots = witness.dots or []
    rows: list[Any] = [witness.values] if upper else [row for e in witness.ends or () for row in e]
    if not rows or any(row is None or len(row) != len(dots) for row in rows):
        return "as many values as dots are wanted"
    if dots[0] != 0.0 or any(not a < b for a, b in itertools.pairwise(dots)):
        return "dots: wanted 0 and increasing numbers"
    return ""


def values_hold(
    way: Way, dots: list[float], values: list[float], what: str, report: Report
) -> Answer:
    """Whether every value is at least one round's delta at its eps."""
    undecided = ""
    for k, (epsilon, value) in enumerate(zip(dots, values, strict=True)):
        report(f"one {what}, value {k + 1} of {len(values)}")
        if value >= 1.0:
            continue
        verdict, how = way.decide(Asked(epsilon, logs_of(value), place=k), upper=True)
        words = f"one {what} at eps = {epsilon:.6g}: {how}"
        if verdict == "does not hold":
            return verdict, words
        undecided = words if verdict == "undecided" else undecided
    if undecided:
        return "undecided", undecided
    return "holds", f"{len(values)} values of one {what}"


def _ends_hold(way: Way, dots: list[float], ends: Any, what: str, report: Report) -> Answer:
    """Whether all values are on their side of one round's delta for the pair, and for its swap."""
    for swap, rows in enumerate(ends):
        for k, epsilon in enumerate(dots):
            report(f"one {what}{' swapped' * swap} from below, {k + 1} of {len(dots)}")
            for value, upper in ((rows[0][k], False), (rows[1][k], True)):
                if upper and value >= 1.0:
                    continue
                asked = Asked(epsilon, logs_of(value), swap=bool(swap))
                verdict, how = way.decide(asked, upper=upper)
                if verdict != "holds":
                    return verdict, f"one {what} at eps = {epsilon:.6g}: {how}"
    return "holds", f"{len(dots)} values of one {what} from below"
