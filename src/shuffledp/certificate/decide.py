"""Whether one claim of a certificate holds: its end of eps or of delta, recomputed in balls."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shuffledp.ball.one_bit import EXACT, EXACT_LOWER
from shuffledp.ball.pairs import ordered_pairs, without_limit
from shuffledp.ball.statements import ALONE, GENERIC
from shuffledp.bounds.local import log_local_delta
from shuffledp.bounds.stealing_claims import log_delta_stealing
from shuffledp.certificate.apart import apart
from shuffledp.certificate.checks import SILENT, Check, Report, Verdict
from shuffledp.certificate.composed import decide_composed
from shuffledp.certificate.expected import (
    AnyClaim,
    is_protocol,
    nothing_claimed,
    statement_fault,
)
from shuffledp.certificate.messages import MESSAGES, message_call
from shuffledp.certificate.model import (
    Certificate,
    ComposedClaim,
    ComposedWitness,
    Scenario,
    SumsWitness,
    Witness,
)
from shuffledp.certificate.one_bit import holds_for_all, log_delta_others
from shuffledp.certificate.one_round import log_delta
from shuffledp.certificate.sums import (
    decide_sums,
    is_sums,
)
from shuffledp.certificate.widened import widened_at
from shuffledp.errors import NotCertified, ParameterError

__all__ = [
    "FAR",
    "WIDTHS",
    "check_claim",
    "claimed_at",
    "left_over",
    "number_fault",
    "shown",
    "target_fault",
]

# Each is tried only if the one before could not tell.
WIDTHS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
# A bracket that much wider than asked for is not narrowed by asking for less.
_MISSED = 3.0
# Randomizers that are eps0-LDP, so that a bound for all of these is none below theirs.
_MEMBERS: dict[str, dict[str, Any]] = {
    "binary-rr": {"name": "binary-rr"},
    "3-rr": {"name": "k-rr", "k": 3},
}
# A number is its logarithm's exponential, rounded outward in some digits of the last place.
_AGREE = 1e-13
STEALING = "label-stealing"
# In log delta: a bound that far above a claim is not what was claimed. Half of that may be due to
# the cells of a bound with one distinguished gain.
FAR = 1e-2


def check_claim(
    certificate: Certificate, scenario: Scenario, claim: AnyClaim, report: Report = SILENT
) -> Check:
    """Recompute one end, or say why it is undecided."""
    words = f"{claim.end} {certificate.quantity} {shown(claim)}"
    if isinstance(claim, ComposedClaim):
        words += f" after {certificate.rounds:,} rounds"
    if claim.trust == "published" and certificate.deployment.content.accounting.trust == "all":
        words += " (published theorems)"
    verdict, how = or_undecided(lambda: _decide(certificate, scenario, claim, report))
    return Check(scenario.name, words, verdict, how)


def or_undecided(decide: Callable[[], tuple[Verdict, str]]) -> tuple[Verdict, str]:
    """What is decided of a claim; undecided, and why, where it cannot be recomputed."""
    try:
        return decide()
    except (NotCertified, ParameterError) as error:
        return "undecided", str(error)
    except ArithmeticError:
        # Numbers of a witness that nobody would write: they prove nothing.
        return "undecided", "a number of the witness leaves the range of floats"
    except (TypeError, ValueError, RecursionError) as error:
        # Nor does what is no witness of this mechanism, wherever that shows.
        return "undecided", f"not to be recomputed as it is written: {type(error).__name__}"


def shown(claim: Any) -> str:
    """The number that is claimed, or its logarithm where that is all there is of it."""
    if claim.value is None:
        return "not claimed"
    if claim.log is not None and claim.value < sys.float_info.min:
        return f"e^{claim.log!r}"
    return repr(claim.value)


def _decide(
    certificate: Certificate, scenario: Scenario, claim: AnyClaim, report: Report
) -> tuple[Verdict, str]:
    fault = (
        target_fault(certificate)
        or statement_fault(certificate, claim, scenario.name)
        or number_fault(certificate, claim)
    )
    if fault:
        return "does not hold", fault
    if nothing_claimed(claim) or claim.witness is None:
        return "holds", "nothing is claimed"
    if claim.end == "upper" and certificate.quantity == "delta" and claim.value == 1.0:
        return "holds", "trivially"
    at = widened_at(certificate, claim, scenario.name, claimed_at(certificate, claim))
    if at is None:
        return "does not hold", "the order's distance from uniform alone costs more than is claimed"
    epsilon, targets = at
    if is_sums(certificate):
        return decide_sums(certificate, scenario, claim, at=(epsilon, targets), report=report)
    if isinstance(claim, ComposedClaim):
        return decide_composed(
            certificate,
            scenario,
            claim,
            at=(epsilon, targets),
            calls=_calls(certificate, claim),
            compare=_compare,
            report=report,
        )
    calls = list(_calls(certificate, claim))
    parameters = certificate.deployment.content.randomizer
    if is_protocol(parameters) and claim.witness.analysis != "local":
        upper = claim.end == "upper"
        call = message_call(parameters, users=scenario.n, upper=upper)
        # Both directions: an upper end has to hold for each, a lower one is of one of them.
        both = [call | {"swap": swap} for swap in (False, True)]
        calls = both if upper else [call | {"swap": claim.witness.swap}]
    return _compare(calls, scenario.n, epsilon, targets, upper=claim.end == "upper")


def target_fault(certificate: Certificate) -> str:
    """Whether what is bounded, and at what, is what the deployment asks for."""
    target = certificate.deployment.content.target
    same = (certificate.quantity, certificate.at) == (target.quantity, target.value)
    return "" if same else f"the deployment asks for {target.quantity} at {target.value!r}"


def number_fault(certificate: Certificate, claim: Any) -> str:
    """Whether a number and its logarithm, which deltas have, are the same claim."""
    if claim.value is not None and math.copysign(1.0, claim.value) < 0.0:
        return f"{claim.value!r}: wanted no sign"
    if certificate.quantity == "epsilon":
        return "" if claim.log is None else "log: wanted null, for an epsilon"
    if claim.value is None or (claim.value == 0.0 and claim.log is None):
        return ""
    if claim.log is None or claim.log > 0.0 or claim.value > 1.0:
        return "wanted a delta of at most 1 and its logarithm"
    if claim.value < sys.float_info.min:
        # Rounded outward among the last floats: the logarithm is what is claimed.
        rounded = math.exp(claim.log)
        near = abs(claim.value - rounded) <= 4 * math.ulp(0.0)
        outward = claim.value >= rounded if claim.end == "upper" else claim.value <= rounded
        return "" if near and outward else "the number and its logarithm disagree"
    agree = abs(math.log(claim.value) - claim.log) <= _AGREE * max(1.0, abs(claim.log))
    return "" if agree else "the number and its logarithm disagree"


def claimed_at(certificate: Certificate, claim: Any) -> tuple[float, tuple[float, float]]:
    """Where delta is recomputed, and the float below and above the log it is compared with."""
    value = float(claim.value or 0.0)
    if certificate.quantity == "epsilon":
        return value, _log_around(certificate.at)
    if claim.log is None:
        return certificate.at, (-math.inf, -math.inf)
    if value == 0.0:
        return certificate.at, (claim.log, claim.log)
    low, high = _log_around(value)
    # Number and logarithm are both claimed: the stronger of the two is checked.
    stronger = (
        (min(low, claim.log), min(high, claim.log))
        if claim.end == "upper"
        else (max(low, claim.log), max(high, claim.log))
    )
    return certificate.at, stronger


def _log_around(value: float) -> tuple[float, float]:
    log = math.log(value)
    ulps = 2.0 * math.ulp(log)
    return log - ulps, log + ulps


def _calls(certificate: Certificate, claim: AnyClaim) -> Iterable[dict[str, Any]]:
    """Arguments of log_delta; an upper end has to hold for all of them."""
    parameters = certificate.deployment.content.randomizer
    witness = claim.witness
    if witness is None or isinstance(witness, SumsWitness):
        return
    by_blanket = isinstance(witness, ComposedWitness) and witness.frees is not None
    # Of values by label stealing those without free numbers are the blanket's, or of a family the
    # clone's.
    instead = "stronger-clone" if parameters["name"] == GENERIC else "blanket"
    analysis = instead if by_blanket else witness.analysis
    if analysis in {"clone", "stronger-clone"}:
        eps0 = parameters.get("eps0", certificate.local_guarantee)
        if eps0 is None:
            raise ParameterError("eps0 is missing: a clone bound wanted a local guarantee")
        if "eps0" not in parameters and left_over(parameters, eps0) > -math.inf:
            raise NotCertified(f"{eps0!r} is no local guarantee of every two values")
        yield {"mechanism": {"name": "generic", "eps0": eps0}, "analysis": analysis}
        return
    if witness.analysis in {STEALING, ALONE} and not by_blanket:
        yield {
            "mechanism": parameters,
            "analysis": witness.analysis,
            "free": _free_numbers(witness),
        }
        return
    if witness.analysis in {EXACT, EXACT_LOWER}:
        yield {
            "mechanism": parameters,
            "analysis": witness.analysis,
            **_held(witness),
        }
        return
    if witness.analysis == "dataset":
        yield {
            "mechanism": _member(parameters, witness.member),
            "analysis": "dataset",
            "x0": witness.x0,
            "x1": witness.x1,
            "x2": witness.x2,
            "swap": witness.swap,
        }
        return
    if witness.analysis == MESSAGES:
        return
    for x0, x1 in ordered_pairs(parameters):
        yield {"mechanism": _member(parameters), "analysis": analysis, "x0": x0, "x1": x1}


def left_over(parameters: Mapping[str, Any], eps0: float) -> float:
    """log of the divergence that is left at eps0, of any two values; -inf if none is."""
    mechanism = without_limit(parameters)
    return max(log_local_delta(mechanism, x0, x1, eps0).high for x0, x1 in ordered_pairs(mechanism))


def _free_numbers(witness: Witness) -> Any:
    """What a bound by label stealing leaves free, as its claim has it."""
    return [numbers.model_dump() for numbers in witness.free or ()]


def _held(witness: Witness) -> dict[str, Any]:
    """Who holds what, of one data set; nothing where all of them are looked at."""
    if witness.others is None:
        return {}
    return {"x0": witness.x0, "x1": witness.x1, "others": witness.others}


def _member(parameters: Mapping[str, Any], member: str | None = None) -> dict[str, Any]:
    """What is checked: the mechanism, or for a family the member its lower end is of."""
    if parameters["name"] == "generic":
        return {**_MEMBERS[member or "binary-rr"], "eps0": parameters["eps0"]}
    if member is not None:
        raise NotCertified(f"witness.member = {member!r}: wanted none, of one mechanism")
    return dict(parameters)


def _compare(
    calls: list[dict[str, Any]],
    n: int,
    epsilon: float,
    target: tuple[float, float],
    *,
    upper: bool,
) -> tuple[Verdict, str]:
    worst: Verdict = "holds"
    closest = -math.inf
    how = ""
    for call in calls:
        verdict, bracket, width = _one(call, n, epsilon, target, upper=upper)
        distance = bracket[1] if upper else -bracket[0]
        if not how or distance > closest or verdict != "holds":
            closest, how = distance, _how(call, bracket, target, width)
        if verdict == "does not hold":
            return verdict, how
        if verdict == "undecided":
            worst = verdict
    many = f"; {len(calls)} ordered pairs" if len(calls) > 2 else ""
    return worst, how + many


def _one(
    call: dict[str, Any], n: int, epsilon: float, target: tuple[float, float], *, upper: bool
) -> tuple[Verdict, tuple[float, float], float]:
    if call["analysis"] in {STEALING, ALONE}:
        return _stolen(call, n, epsilon, target)
    if call["analysis"] in {EXACT, EXACT_LOWER}:
        return _searched(call, n, epsilon, target)
    asked: dict[str, Any] = {"n": n, **call}
    bracket, width = (-math.inf, 0.0), math.inf
    for width in WIDTHS:
        bracket = log_delta(**asked, epsilon=epsilon, rel=width)
        low, high = bracket
        if high <= target[0] if upper else low >= target[1]:
            return "holds", bracket, width
        if low > target[1] if upper else high < target[0]:
            return "does not hold", bracket, width
        if bracket.width > _MISSED * width:
            break
    return "undecided", bracket, width


def _stolen(
    call: dict[str, Any], n: int, epsilon: float, target: tuple[float, float]
) -> tuple[Verdict, tuple[float, float], float]:
    """A bound by label stealing with the claim's own free numbers: an upper end, no bracket."""
    guess = target[0] if math.isfinite(target[0]) else None
    if "along" in call:
        high = call["along"](call["free"], epsilon, target[0])
    else:
        high = log_delta_stealing(
            call["mechanism"],
            call["free"],
            n=n,
            epsilon=epsilon,
            guess=guess,
            jump=call["analysis"] == ALONE,
        )
    bracket = (-math.inf, high)
    if high <= target[0]:
        return "holds", bracket, 0.0
    # What is little above may be no more than a step that was chosen otherwise.
    return "does not hold" if high > target[1] + FAR else "undecided", bracket, 0.0


def _searched(
    call: dict[str, Any], n: int, epsilon: float, target: tuple[float, float]
) -> tuple[Verdict, tuple[float, float], float]:
    """One-bit reports: all data sets, or the one that is named."""
    mechanism = call["mechanism"]
    if call["analysis"] == EXACT:
        holds, seen = holds_for_all(mechanism, n=n, epsilon=epsilon, log_claimed=target[0])
        # Where it fails a data set was seen whose delta is not below that.
        wrong = not holds and seen > target[1]
        verdict: Verdict = "holds" if holds else "does not hold" if wrong else "undecided"
        return verdict, (seen, seen), 0.0
    data = {key: call[key] for key in ("x0", "x1", "others")}
    bracket = log_delta_others(mechanism, **data, n=n, epsilon=epsilon)
    if bracket[0] >= target[1]:
        return "holds", bracket, 0.0
    return "does not hold" if bracket[1] < target[0] else "undecided", bracket, 0.0


def _how(
    call: dict[str, Any], bracket: tuple[float, float], target: tuple[float, float], width: float
) -> str:
    where = ""
    if call["analysis"] in {STEALING, ALONE}:
        far = apart("the bound is", bracket[1], target[0])
        return f"{call['analysis']}, its free numbers as given: {far}"
    if call["analysis"] == EXACT:
        far = apart("the bound is", bracket[1], target[0])
        return f"{call['analysis']}, all data sets: {far}"
    if "others" in call:
        held = ", ".join(f"{count:,} others {x}" for x, count in call["others"])
        where = f" ({call['x0']}, {call['x1']}; {held})"
    elif "x0" in call:
        where = f" ({call['x0']}, {call['x1']}" + (
            f"; others {call['x2']})" if "x2" in call else ")"
        )
        where += " swapped" if call.get("swap") else ""
    if bracket[1] == -math.inf:
        return f"{call['analysis']}{where}: delta is exactly 0"
    middle = 0.5 * (bracket[0] + bracket[1])
    if not math.isfinite(target[0]):
        return f"{call['analysis']}{where}: log delta is {middle:.6g}, and 0 was claimed"
    far = apart("delta", middle, target[0])
    return f"{call['analysis']}{where}: {far} (balls: {width:.0e})"
