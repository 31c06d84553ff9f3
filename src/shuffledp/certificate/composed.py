"""Check what a certificate claims of all rounds together.

An upper end rests on values that are not below delta of one round at some eps, the dots: each of
them is recomputed in balls, then the loss law of their chords is composed again. A lower end rests
on lower and upper values of delta of one round for a pair of datasets; likewise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from shuffledp.bounds.stealing_claims import StealingClaims
from shuffledp.certificate.apart import apart
from shuffledp.certificate.checks import Verdict
from shuffledp.certificate.model import (
    Certificate,
    ComposedClaim,
    ComposedWitness,
    Scenario,
    listed,
)
from shuffledp.certificate.one_round import log_delta
from shuffledp.errors import NotCertified
from shuffledp.rounds import LossPair, stated_above, stated_below
from shuffledp.rounds.total import Total

__all__ = [
    "between",
    "compared",
    "composed_again",
    "decide_composed",
    "dots_fault",
    "logs_of",
    "missing_composed",
]

Target = tuple[float, float]
# (calls, n, eps, log target): whether one round's delta is below (upper) or above it.
# Free numbers, eps and the log delta that is claimed there -> the bound, or any number up to that.
Along = Callable[[list[dict[str, Any]], float, float], float]
Compare = Callable[..., tuple[Verdict, str]]

_WIDTHS = (1e-3, 1e-4, 1e-5)
_SLACK = 1e-12
# Rounds are composed again to this relative width of delta, with so many bits more.
_FINER, _MORE_BITS = 5e-5, 64


def missing_composed(certificate: Certificate) -> str:
    """What is missing, or there without need, in words; empty if nothing is."""
    for scenario in certificate.scenarios:
        ends = {claim.end for claim in scenario.composed}
        if certificate.rounds > 1 and not {"upper", "lower"} <= ends:
            return f"{scenario.name}: both ends after all rounds are wanted"
        if certificate.rounds == 1 and ends:
            return f"{scenario.name}: there is one round"
    return ""


def decide_composed(
    certificate: Certificate,
    scenario: Scenario,
    claim: ComposedClaim,
    *,
    at: tuple[float, Target],
    calls: Iterable[dict[str, Any]],
    compare: Compare,
    report: Callable[[str], None],
) -> tuple[Verdict, str]:
    """Whether a claim about all rounds holds, and what was recomputed.

    Parameters
    ----------
    certificate, scenario, claim
        The claim and where it stands.
    at : (float, (float, float))
        The eps of the claim, and floats below and above the log of its delta.
    calls : iterable of dict
        What of one round an upper end has to hold for.
    compare : callable
        Decides a claim about one round.
    report : callable
        Told what is being recomputed.
    """
    witness, rounds = claim.witness, certificate.rounds
    epsilon, target = at
    if not isinstance(witness, ComposedWitness):
        return "does not hold", "no witness is given"
    upper = claim.end == "upper"
    if witness.basic:
        return _basic(list(calls), scenario.n, at, rounds=rounds, compare=compare, upper=upper)
    if upper and witness.analysis == "local":
        return _adds_up(certificate, claim)
    if fault := dots_fault(witness, upper=upper):
        return "does not hold", fault
    dots = witness.dots or []
    if upper:
        verdict, how = _values_hold(witness, list(calls), scenario.n, compare, report)
    else:
        verdict, how = _ends_hold(witness, next(iter(calls)), scenario.n, report)
    if verdict != "holds":
        return verdict, how
    if upper:
        pair = stated_above(dots, witness.values or [])
    else:
        pair = stated_below(dots, witness.ends or [])
    report(f"{scenario.name}: composing {rounds:,} rounds")
    bracket = composed_again(pair, rounds, epsilon, swap=bool(witness.swap) and not upper)
    return compared(bracket, target, f"{how}; composed", upper=upper)


def composed_again(pair: LossPair, rounds: int, epsilon: float, *, swap: bool) -> Target:
    """Ends of log delta of rounds of one law, finer and with more bits than they were issued by."""
    law = pair.backward if swap else pair.forward
    found = Total([(law, rounds)]).log_delta(epsilon, rel=_FINER, bits=_MORE_BITS)
    return found.low, found.high


def dots_fault(witness: Any, *, upper: bool) -> str:
    """What is wrong with dots and the values there, in words; empty if nothing is."""
    dots = witness.dots or []
    rows = [witness.values] if upper else [row for ends in witness.ends or () for row in ends]
    if not rows or any(row is None or len(row) != len(dots) for row in rows):
        return "as many values of one round as dots are wanted"
    if dots[0] != 0.0 or any(not a < b for a, b in itertools.pairwise(dots)):
        return "dots: wanted 0 and increasing numbers"
    return ""


def compared(bracket: Target, target: Target, words: str, *, upper: bool) -> tuple[Verdict, str]:
    """Whether log delta, in this bracket, is on the claim's side of the target for sure."""
    low, high = bracket
    how = f"{words}, {_distance_words(low, high, target)}"
    if high <= target[0] if upper else low >= target[1]:
        return "holds", how
    if low > target[1] if upper else high < target[0]:
        return "does not hold", how
    return "undecided", how


def _adds_up(certificate: Certificate, claim: ComposedClaim) -> tuple[Verdict, str]:
    """Whether the claim is no better than the sum of the local guarantees."""
    eps0, times = certificate.local_guarantee, f"{certificate.rounds:,} times the local guarantee"
    claimed = claim.value if certificate.quantity == "epsilon" else certificate.at
    if eps0 is None or claimed is None:
        return "does not hold", "no local guarantee is given"
    if Fraction(claimed) >= Fraction(eps0) * certificate.rounds:
        return "holds", f"at least {times}"
    return "does not hold", f"less than {times}"


def _basic(
    calls: list[dict[str, Any]],
    n: int,
    at: tuple[float, Target],
    *,
    rounds: int,
    compare: Compare,
    upper: bool,
) -> tuple[Verdict, str]:
    """One round at eps/T and delta/T from above; one round as it is from below."""
    epsilon, target = at
    if not upper:
        return compare(calls, n, epsilon, target, upper=False)
    log = math.log(rounds)
    # What is far below one rounds by more.
    slack = _SLACK * (1.0 + abs(target[0]) + abs(target[1]))
    lowered = (target[0] - log - slack, target[1] - log + slack)
    share = math.nextafter(epsilon / rounds, -math.inf)
    verdict, how = compare(calls, n, max(share, 0.0), lowered, upper=True)
    return verdict, f"one round at eps/{rounds}, delta/{rounds}: {how}"


def _values_hold(
    witness: ComposedWitness,
    calls: list[dict[str, Any]],
    n: int,
    compare: Compare,
    report: Callable[[str], None],
) -> tuple[Verdict, str]:
    """Whether every value is at least one round's delta at its eps."""
    dots, values = witness.dots or [], witness.values or []
    undecided, along = "", _along(witness, calls, n)
    for k, (epsilon, value) in enumerate(zip(dots, values, strict=True)):
        report(f"one round, value {k + 1} of {len(values)}")
        if value >= 1.0:
            continue
        target = logs_of(value)
        asked = calls if along is None else _asked(witness, calls, k, along)
        verdict, how = compare(asked, n, epsilon, target, upper=True)
        if verdict == "does not hold":
            return verdict, f"one round at eps = {epsilon:.6g}: {how}"
        if verdict == "undecided":
            undecided = f"one round at eps = {epsilon:.6g}: {how}"
    if undecided:
        return "undecided", undecided
    return "holds", f"{len(values)} values of one round ({witness.analysis})"


def _along(witness: ComposedWitness, calls: list[dict[str, Any]], n: int) -> Along | None:
    """What label stealing of one mechanism at many eps shares, for values as small as these."""
    if witness.frees is None:
        return None
    values = witness.values or []
    least = min((value for value in values if value > 0.0), default=1.0)
    mechanism, log_least = calls[0]["mechanism"], logs_of(least)[0]
    claims = StealingClaims(mechanism, n, log_least)
    return lambda free, eps, claimed: claims.log_delta(free, epsilon=eps, enough=claimed)


def _asked(
    witness: ComposedWitness, calls: list[dict[str, Any]], k: int, along: Along
) -> list[dict[str, Any]]:
    """What a value has to hold for: label stealing with its own free numbers, or all pairs."""
    free = None if witness.frees is None else witness.frees[k]
    if free is None:
        return calls
    numbers = [one.model_dump() for one in listed(free)]
    return [{"along": along, "analysis": "label-stealing", "free": numbers}]


def _ends_hold(
    witness: ComposedWitness, call: dict[str, Any], n: int, report: Callable[[str], None]
) -> tuple[Verdict, str]:
    """Whether all values are on their side of one round's delta for the pair, and for its swap."""
    dots = witness.dots or []
    for swap, ends in enumerate(witness.ends or []):
        asked = {**call, "swap": bool(swap), "n": n}
        for k, epsilon in enumerate(dots):
            report(f"one round{' swapped' * swap} from below, {k + 1} of {len(dots)}")
            verdict = between(
                lambda width, asked=asked, at=epsilon: log_delta(**asked, epsilon=at, rel=width),
                (ends[0][k], ends[1][k]),
            )
            if verdict != "holds":
                return verdict, f"one round at eps = {epsilon:.6g}: {_OUTSIDE[verdict]}"
    return "holds", f"{len(dots)} values of one round from below"


_OUTSIDE = {"does not hold": "delta is not between its ends", "undecided": "not certainly between"}


def between(bracket: Callable[[float], Target], ends: tuple[float, float]) -> Verdict:
    """Whether delta, in a bracket of a given relative width, is between two values for sure."""
    low, high = logs_of(ends[0])[1], logs_of(ends[1])[0] if ends[1] < 1.0 else 0.0
    for width in _WIDTHS:
        try:
            found = bracket(width)
        except NotCertified:
            return "undecided"
        if low <= found[0] and found[1] <= high:
            return "holds"
        if found[1] < logs_of(ends[0])[0] or found[0] > high:
            return "does not hold"
    return "undecided"


def logs_of(value: float) -> Target:
    """Floats below and above the log of a value."""
    if value == 0.0:
        return -math.inf, -math.inf
    log = math.log(value)
    return log - 2.0 * math.ulp(log), log + 2.0 * math.ulp(log)


def _distance_words(low: float, high: float, target: Target) -> str:
    """How far a delta is from the one that is claimed."""
    if high == -math.inf:
        return "delta is exactly 0"
    middle = high if low == -math.inf else 0.5 * (low + high)
    return apart("delta", middle, target[0])
