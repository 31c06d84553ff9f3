"""Check what a certificate claims of all rounds together.

An upper end rests on values that are not below delta of one round at eps = 0, h, 2h, ...: each of
them is recomputed in balls, then the loss law of their chords is composed in balls. A lower end
rests on convex polygons that are below delta of one round for a pair of datasets; likewise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

from shuffledp.ball.along import StealingAlong
from shuffledp.ball.api import log_delta
from shuffledp.ball.labels import others_of
from shuffledp.ball.rounds import (
    first_by_symmetry,
    law_above,
    law_below,
    log_delta_of_rounds,
    violation_below,
)
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
from shuffledp.errors import NotCertified

__all__ = [
    "compared",
    "decide_composed",
    "logs_of",
    "missing_composed",
    "multiples_are_exact",
]

Target = tuple[float, float]
# (calls, n, eps, log target): whether one round's delta is below (upper) or above it.
# Free numbers, eps and the log delta that is claimed there -> the bound, or any number up to that.
Along = Callable[[list[dict[str, Any]], float, float], float]
Compare = Callable[..., tuple[Verdict, str]]

_WIDTHS = (1e-3, 1e-4, 1e-5)
_SLACK = 1e-12


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
    if witness.step is None or not multiples_are_exact(witness):
        return "does not hold", "no values of one round on a lattice are given"
    if upper:
        verdict, how = _values_hold(witness, list(calls), scenario.n, compare, report)
        if verdict != "holds":
            return verdict, how
        law = law_above(witness.step, witness.values or ())
    else:
        verdict, how = _polygons_hold(witness, next(iter(calls)), scenario.n, report)
        if verdict != "holds":
            return verdict, how
        sides = witness.vertices or []
        forward, backward = sides[0], sides[-1]
        law = law_below(
            witness.step, *((backward, forward) if witness.swap else (forward, backward))
        )
    report(f"{scenario.name}: composing {rounds:,} rounds")
    low, high = log_delta_of_rounds(law, rounds=rounds, epsilon=epsilon)
    return compared((low, high), target, f"{how}; composed", upper=upper)


def compared(bracket: Target, target: Target, words: str, *, upper: bool) -> tuple[Verdict, str]:
    """Whether log delta, in this bracket, is on the claim's side of the target for sure."""
    low, high = bracket
    how = f"{words}, {_distance_words(low, high, target)}"
    if high <= target[0] if upper else low >= target[1]:
        return "holds", how
    if low > target[1] if upper else high < target[0]:
        return "does not hold", how
    return "undecided", how


def multiples_are_exact(witness: Any) -> bool:
    """Whether k step is a float for every k up to two beyond the last: eps is then what it says."""
    step = witness.step or 0.0
    last = max([len(witness.values or ()), *(side[-1][0] for side in witness.vertices or ())])
    return all(Fraction(k * step) == k * Fraction(step) for k in range(last + 3))


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
    values, step = witness.values or [], witness.step or 0.0
    if not values:
        return "does not hold", "no values of one round are given"
    undecided, along = "", _along(witness, calls, n)
    for k, value in enumerate(values):
        report(f"one round, value {k + 1} of {len(values)}")
        if value >= 1.0 or (k == 0 and witness.frees and first_by_symmetry(step, values)):
            continue
        target = logs_of(value)
        asked = calls if along is None else _asked(witness, calls, k, along)
        verdict, how = compare(asked, n, k * step, target, upper=True)
        if verdict == "does not hold":
            return verdict, f"one round at eps = {k * step:.6g}: {how}"
        if verdict == "undecided":
            undecided = f"one round at eps = {k * step:.6g}: {how}"
    if undecided:
        return "undecided", undecided
    return "holds", f"{len(values)} values of one round ({witness.analysis})"


def _along(witness: ComposedWitness, calls: list[dict[str, Any]], n: int) -> Along | None:
    """What label stealing of one mechanism at many eps shares, for values as small as these."""
    if witness.frees is None:
        return None
    values, step = witness.values or [], witness.step or 0.0
    least = min((value for value in values if value > 0.0), default=1.0)
    mechanism, log_least = calls[0]["mechanism"], logs_of(least)[0]
    found = others_of(mechanism)
    if found is None or found.how != "span":
        claims = StealingClaims(mechanism, n, log_least)
        return lambda free, eps, claimed: claims.log_delta(free, epsilon=eps, enough=claimed)
    steps = next((k for k, value in enumerate(values) if value < values[0] / math.e), 1)
    along = StealingAlong(mechanism, scale=max(steps, 1) * step, log_least=log_least)
    return lambda free, eps, claimed: along.log_delta(free, n=n, epsilon=eps, log_claimed=claimed)


def _asked(
    witness: ComposedWitness, calls: list[dict[str, Any]], k: int, along: Along
) -> list[dict[str, Any]]:
    """What a value has to hold for: label stealing with its own free numbers, or all pairs."""
    free = None if witness.frees is None else witness.frees[k]
    if free is None:
        return calls
    numbers = [one.model_dump() for one in listed(free)]
    return [{"along": along, "analysis": "label-stealing", "free": numbers}]


def _polygons_hold(
    witness: ComposedWitness, call: dict[str, Any], n: int, report: Callable[[str], None]
) -> tuple[Verdict, str]:
    """Whether both polygons are below one round's delta for the pair of datasets and its swap."""
    sides, step = witness.vertices or [], witness.step or 0.0
    if not sides:
        return "does not hold", "no values of one round are given"
    points = 0
    where = ""
    for swap in (False, True):
        side = sides[-1] if swap else sides[0]
        points = max(points, side[-1][0] + 1)
        for width in _WIDTHS:
            report(f"one round{' swapped' if swap else ''} from below")

            asked = {**call, "swap": swap, "n": n, "rel": width}
            try:
                found = violation_below(step, side, partial(_bracket, asked, step))
            except NotCertified as error:
                return "undecided", str(error)
            if found is None:
                break
            where = f"one round at eps = {found[0] * step:.6g}"
            if found[1]:
                return "does not hold", f"{where}: delta is smaller"
        else:
            return "undecided", f"{where}: not certainly below"
    return "holds", f"{points} values of one round from below"


def _bracket(asked: dict[str, Any], step: float, k: int) -> Target:
    return log_delta(**asked, epsilon=k * step)


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
