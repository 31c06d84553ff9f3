"""Check what a certificate claims of sums of reports.

An upper end rests on values that are not below delta of one coordinate at some eps, the dots: all
data sets are looked at again in balls, then the loss law of their chords is composed again over the
coordinates that a neighbour changes. A lower end rests on both ends of delta of one data set;
likewise. One coordinate alone, and sums of normal noise, are recomputed as they are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.outputs import Parameters, positive
from shuffledp.ball.views import (
    LOCAL,
    NORMAL,
    SUMS,
    View,
    guarantee_holds,
    view_assumptions,
    view_of,
    view_relation,
    view_statement,
)
from shuffledp.certificate.apart import apart
from shuffledp.certificate.checks import Verdict
from shuffledp.certificate.composed import (
    between,
    compared,
    composed_again,
    dots_fault,
    logs_of,
)
from shuffledp.certificate.model import Certificate, ComposedClaim, Scenario, SumsWitness
from shuffledp.certificate.one_bit import Coordinates
from shuffledp.errors import ParameterError
from shuffledp.rounds import stated_above, stated_below
from shuffledp.rounds.gaussian import delta_gaussian, enclosed

__all__ = [
    "decide_sums",
    "is_sums",
    "log_delta_normal",
    "sums_fault",
    "sums_guarantee_fault",
    "sums_relation",
    "sums_view_fault",
]

Target = tuple[float, float]


def is_sums(certificate: Certificate) -> bool:
    """Whether the analyst sees sums, by the deployment."""
    return certificate.deployment.content.view == "sums"


# Where whoever adds up fails there is no noise of theirs.
_FAILED = "aggregator fails"


def _view(certificate: Certificate, scenario: str = "") -> View:
    content = certificate.deployment.content
    added = None if scenario == _FAILED else content.added
    return view_of(
        content.randomizer,
        content.ones,
        content.relation,
        None if added is None else added.model_dump(),
    )


def sums_view_fault(certificate: Certificate) -> str:
    """What is wrong with what the certificate says the analyst sees; empty if nothing is."""
    if not is_sums(certificate):
        return "" if certificate.view is None else "the deployment's analyst sees messages"
    view, said = _view(certificate), certificate.view
    wanted = {"key": "sums", "ones": view.ones, "changed": view.changed, "words": view.seen}
    wanted["added"] = view.added
    if said is None:
        return "wanted what the analyst sees: sums"
    for key, value in wanted.items():
        given = getattr(said, key)
        given = given.model_dump() if key == "added" and given is not None else given
        if json.dumps(given) != json.dumps(value):
            return f"view.{key} = {given!r}: wanted {value!r}"
    return ""


def sums_relation(certificate: Certificate) -> tuple[dict[str, Any], str]:
    """The neighbouring relation as a table and in words."""
    return view_relation(_view(certificate))


def sums_guarantee_fault(certificate: Certificate) -> str:
    """What is wrong with the local guarantee that is claimed; empty if nothing is."""
    view, eps0 = _view(certificate), certificate.local_guarantee
    if eps0 is None:
        # Of bits one of 299 nats would be one; of normal noise there is none.
        return "the mechanism has one" if guarantee_holds(view, 299.0) else ""
    return "" if guarantee_holds(view, eps0) else "a log ratio of two reports may be larger"


def sums_fault(certificate: Certificate, claim: Any, scenario: str) -> str:
    """What is wrong with what a claim says beside its number; empty if nothing is."""
    view, witness, end = _view(certificate, scenario), claim.witness, claim.end
    if not isinstance(witness, SumsWitness):
        return "witness: wanted one of sums"
    wanted = view_statement(view, witness.analysis, end)
    if wanted is None:
        return f"a {end} end of these sums cannot rest on {witness.analysis}"
    given = {} if claim.theorem is None else claim.theorem.model_dump()
    if given != wanted.to_dict():
        return f"theorem: wanted {wanted.title!r}, {wanted.source!r} [{wanted.provenance}]"
    words = view_assumptions(view, rounds=_rounds(certificate, claim)) if end == "upper" else ()
    if tuple(claim.assumptions) != words:
        return "not the assumptions of its theorem"
    return _shape_fault(view, witness, end, _rounds(certificate, claim))


def _shape_fault(view: View, witness: SumsWitness, end: str, rounds: int) -> str:
    """Whether the witness gives what its analysis needs, and nothing that is not looked at."""
    wanted: set[str] = set()
    if witness.analysis not in {NORMAL, LOCAL}:
        # Where one coordinate changes its delta is the end itself.
        several = view.changed * rounds > 1
        if end == "upper":
            wanted = {"dots", "values"} if several else set()
        else:
            wanted = {"others", "swap"} | ({"dots", "ends"} if several else set())
    for key in ("others", "swap", "dots", "values", "ends"):
        if (getattr(witness, key) is not None) != (key in wanted):
            return f"witness.{key}: wanted {'some' if key in wanted else 'none'}"
    return ""


def _rounds(certificate: Certificate, claim: Any) -> int:
    return certificate.rounds if isinstance(claim, ComposedClaim) else 1


# --------------------------------------------------------------------------------- the numbers


def decide_sums(
    certificate: Certificate,
    scenario: Scenario,
    claim: Any,
    *,
    at: tuple[float, Target],
    report: Callable[[str], None],
) -> tuple[Verdict, str]:
    """Whether a claim about sums holds, and what was recomputed.

    Parameters
    ----------
    certificate, scenario, claim
        The claim and where it stands.
    at : (float, (float, float))
        The eps of the claim, and floats below and above the log of its delta.
    report : callable
        Told what is being recomputed.
    """
    view, rounds = _view(certificate, scenario.name), _rounds(certificate, claim)
    witness = claim.witness
    epsilon, target = at
    upper = claim.end == "upper"
    if witness.analysis == LOCAL:
        holds = guarantee_holds(view, epsilon, rounds=rounds)
        words = "no log ratio of a user's reports is larger" if holds else "one may be larger"
        return ("holds" if holds else "does not hold"), f"local, {rounds:,} rounds: {words}"
    if witness.analysis == NORMAL:
        bracket = log_delta_normal(view.mechanism, n=scenario.n, rounds=rounds, epsilon=epsilon)
        return compared(bracket, target, NORMAL, upper=upper)
    if witness.dots is None:
        return _one(view, scenario.n, witness, at, upper=upper)
    if fault := dots_fault(witness, upper=upper):
        return "does not hold", fault
    if upper:
        verdict, how = _values_hold(view, scenario.n, witness, report)
        times = view.changed * rounds
        pair = stated_above(witness.dots, witness.values or [])
    else:
        verdict, how = _ends_hold(view, scenario.n, witness, report)
        times = view.alike * rounds
        pair = stated_below(witness.dots, witness.ends or [])
    if verdict != "holds":
        return verdict, how
    report(f"{scenario.name}: composing {times:,} coordinates")
    bracket = composed_again(pair, times, epsilon, swap=bool(witness.swap) and not upper)
    return compared(bracket, target, f"{how}; {times:,} coordinates composed", upper=upper)


def log_delta_normal(mechanism: Parameters, *, n: int, rounds: int, epsilon: float) -> Target:
    """Ends of log delta of sums of n inputs with normal noise of deviation sigma each, in T rounds.

    The Gaussian mechanism's with mu = sqrt(T/n) (high - low)/sigma (Balle and Wang 2018).

    Parameters
    ----------
    mechanism : mapping
        Gaussian noise: sigma, low, high.
    n, rounds : int
        Users; rounds.
    epsilon : float
        eps >= 0.
    """
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number >= 0")
    if not mechanism["low"] < mechanism["high"]:
        raise ParameterError("low, high: wanted low < high")

    def delta() -> arb:
        width = arb(mechanism["high"]) - arb(mechanism["low"])
        mu = (arb(rounds) / n).sqrt() * width / positive(mechanism, "sigma")
        return delta_gaussian(mu, arb(epsilon))

    found = enclosed(delta)
    return found.low, found.high


def _one(
    view: View, n: int, witness: SumsWitness, at: tuple[float, Target], *, upper: bool
) -> tuple[Verdict, str]:
    """One coordinate: all data sets, or the one that is named."""
    epsilon, target = at
    if not upper:
        bracket = _bracket(view, n, witness)(epsilon)
        return compared(bracket, target, _held(n, witness), upper=False)
    asked = Coordinates(view.mechanism, n=n, added=view.added)
    holds, refuted, excess = asked.hold([epsilon], [target[0]])
    verdict: Verdict = "holds" if holds else "does not hold" if refuted else "undecided"
    return verdict, f"{SUMS}, all data sets: {apart('the bound is', excess, 0.0)}"


def _bracket(view: View, n: int, witness: SumsWitness) -> Callable[[float], tuple[float, float]]:
    """eps -> log delta of the witness' data set, both ends."""
    asked = Coordinates(view.mechanism, n=n, added=view.added)
    ones, swap = witness.others or 0, bool(witness.swap)
    return lambda epsilon: asked.of_dataset(ones, epsilon, swap=swap)


def _held(n: int, witness: SumsWitness) -> str:
    ones = witness.others or 0
    return f"{ones:,} others 1, {n - 1 - ones:,} others 0{', swapped' if witness.swap else ''}"


def _values_hold(
    view: View, n: int, witness: SumsWitness, report: Callable[[str], None]
) -> tuple[Verdict, str]:
    """Whether every value is at least one coordinate's delta at its eps, for all data sets."""
    dots, values = witness.dots or [], witness.values or []
    report(f"one coordinate, {len(values)} values, all data sets")
    asked = [(e, logs_of(v)[0]) for e, v in zip(dots, values, strict=True) if v < 1.0]
    one = Coordinates(view.mechanism, n=n, added=view.added)
    holds, refuted, excess = one.hold([e for e, _ in asked], [log for _, log in asked])
    if holds:
        return "holds", f"{len(values)} values of one coordinate, all data sets"
    words = f"a value of one coordinate is {math.expm1(min(excess, 700.0)):.1e} too small"
    return ("does not hold" if refuted else "undecided"), words


def _ends_hold(
    view: View, n: int, witness: SumsWitness, report: Callable[[str], None]
) -> tuple[Verdict, str]:
    """Whether all values are on their side of one coordinate's delta, and of its swap's."""
    dots = witness.dots or []
    if not 0 <= (witness.others or 0) <= n - 1:
        return "does not hold", f"others = {witness.others:,}: wanted at most {n - 1:,}"
    for swap, ends in enumerate(witness.ends or []):
        report(f"one coordinate from below, {len(dots)} values")
        bracket = _bracket(view, n, witness.model_copy(update={"swap": bool(swap)}))
        for k, epsilon in enumerate(dots):
            found = bracket(epsilon)
            verdict = between(lambda _, found=found: found, (ends[0][k], ends[1][k]))
            if verdict != "holds":
                return verdict, f"one coordinate at eps = {epsilon:.6g}: not between its ends"
    return "holds", f"{len(dots)} values of one coordinate from below ({_held(n, witness)})"
