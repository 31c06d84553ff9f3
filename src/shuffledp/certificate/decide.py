"""Whether one claim of a certificate holds: its end of eps or of delta, recomputed in balls."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from shuffledp.certificate.apart import apart
from shuffledp.certificate.checks import SILENT, Check, Report, Verdict
from shuffledp.certificate.curves import Curve, compared, curve_of
from shuffledp.certificate.model import Claim, Witness
from shuffledp.certificate.setting import LOCAL, Setting
from shuffledp.certificate.widened import Target, one_user
from shuffledp.certificate.witness import witness_fault
from shuffledp.deployment.widened import shuffler_of
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.rounds import LossPair, stated_above, stated_below
from shuffledp.rounds.total import Total

__all__ = ["check_claim", "composed_again", "or_undecided", "shown"]

Answer = tuple[Verdict, str]
# A number is its logarithm's exponential, rounded outward in some digits of the last place.
_AGREE = 1e-13
# What log delta of one round at delta/T may be off by, relatively, in floats.
_SLACK = 1e-12
# Relative widths of delta at the dots of a lower end; each is tried only if the one before could
# not tell.
_WIDTHS = (1e-3, 1e-4, 1e-5)
# Rounds are composed again to this relative width of delta, with so many bits more.
_FINER, _MORE_BITS = 5e-5, 64


def check_claim(
    setting: Setting, claim: Claim, eps0: float | None, report: Report = SILENT
) -> Check:
    """Recompute one end, or say why it is undecided.

    Parameters
    ----------
    setting : Setting
        What it is about.
    claim : Claim
        The claim.
    eps0 : float or None
        The local guarantee that the certificate gives, which is checked apart.
    report : callable
        Told what is being recomputed.
    """
    words = f"{claim.end} {claim.quantity} {shown(claim)}"
    if claim.rounds > 1:
        words += f" after {claim.rounds:,} rounds"
    if claim.trust == "published" and setting.content.accounting.trust == "all":
        words += " (published theorems)"
    verdict, how = or_undecided(lambda: _decide(setting, claim, eps0, report))
    return Check(setting.name, words, verdict, how)


def or_undecided(decide: Callable[[], Answer]) -> Answer:
    """What is decided of a claim; undecided, and why, where it cannot be recomputed."""
    try:
        return decide()
    except (NotCertified, ParameterError) as error:
        return "undecided", f"not checked: {error}"
    except ArithmeticError:
        # Numbers of a witness that nobody would write: they prove nothing.
        return "undecided", "not checked: a number of the witness leaves the range of floats"
    except (TypeError, ValueError, RecursionError) as error:
        # Nor does what is no witness of this mechanism, wherever that shows.
        kind = type(error).__name__
        return "undecided", f"not checked: not to be recomputed as it is written: {kind}"


def shown(claim: Claim) -> str:
    """The number that is claimed, or its logarithm where that is all there is of it."""
    if claim.value is None:
        return "not claimed"
    if claim.log is not None and claim.value < sys.float_info.min:
        return f"e^{claim.log!r}"
    return repr(claim.value)


def _decide(setting: Setting, claim: Claim, eps0: float | None, report: Report) -> Answer:
    fault = _question_fault(setting, claim) or _grounds_fault(setting, claim)
    if fault:
        return "does not hold", fault
    witness = claim.witness
    if claim.nothing or witness is None:
        return "holds", "nothing is claimed"
    if claim.end == "upper" and claim.quantity == "delta" and claim.value == 1.0:
        return "holds", "trivially"
    at: tuple[float, Target] | None = _claimed_at(claim)
    if setting.one.widened and claim.end == "upper" and math.isfinite(at[0]):
        # A lower end is that of one user and a uniform order, which are among what is declared.
        uniform = setting.failed or witness.analysis == LOCAL
        at = one_user(
            *at,
            changed=setting.one.changed,
            distance=0.0 if uniform else shuffler_of(setting.one).farthest,
            guarantee=eps0,
        )
    if at is None:
        return "does not hold", "the order's distance from uniform alone costs more than is claimed"
    if setting.rounds > 1 and witness.analysis == LOCAL and not witness.basic:
        return _adds_up(setting, claim, eps0)
    curve = curve_of(setting, claim, witness, eps0)
    if witness.basic:
        return _basic(curve, setting.rounds, *at, upper=claim.end == "upper")
    if witness.dots is None:
        return curve.decide(*at)
    return _composed(setting, claim, witness, curve, at, report)


# --------------------------------------------------------------------------- beside the number


def _question_fault(setting: Setting, claim: Claim) -> str:
    """Whether what is bounded, at what, of which neighbours, is what the deployment asks for."""
    target = setting.content.target
    if (claim.quantity, claim.at) != (target.quantity, target.value):
        return f"the deployment asks for {target.quantity} at {target.value!r}"
    if claim.n != setting.n:
        return f"n = {claim.n:,}: wanted {setting.n:,}, {setting.how}"
    if claim.relation != setting.relation.to_dict():
        return f"relation: wanted {setting.relation.to_dict()!r}"
    return ""


def _grounds_fault(setting: Setting, claim: Claim) -> str:
    """What is wrong with what a claim says beside its number; empty if nothing is.

    Theorem and assumptions, and what its witness gives, have to be what follows from the setting
    and the analysis.
    """
    if claim.nothing:
        empty = not (claim.theorem or claim.assumptions or claim.witness) and claim.log is None
        return "" if empty else "wanted no theorem, witness or assumption where nothing is claimed"
    witness = claim.witness
    if claim.value is None or witness is None:
        what = "number" if claim.value is None else "witness"
        return f"no {what} is given for an end that is not trivial"
    wanted = setting.grounds(claim.end, witness.analysis, basic=bool(witness.basic))
    if wanted is None:
        name = setting.mechanism["name"]
        return f"a {claim.end} end of {name} cannot rest on {witness.analysis}"
    if claim.trust == "published" and wanted.theorem.provenance != "published":
        return f"its theorem is not published: {wanted.theorem.source}"
    if tuple(claim.theorem) != wanted.theorem.ids:
        return f"theorem: wanted {', '.join(wanted.theorem.ids)}"
    if tuple(claim.assumptions) != wanted.ids:
        return f"not the assumptions of its theorem: wanted {', '.join(wanted.ids)}"
    return _number_fault(claim) or witness_fault(setting, claim, witness)


def _number_fault(claim: Claim) -> str:
    """Whether a number and its logarithm, which deltas have, are the same claim."""
    if claim.value is not None and math.copysign(1.0, claim.value) < 0.0:
        return f"{claim.value!r}: wanted no sign"
    if claim.quantity == "epsilon":
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


def _claimed_at(claim: Claim) -> tuple[float, Target]:
    """Where delta is recomputed, and the float below and above the log it is compared with."""
    value = float(claim.value or 0.0)
    if claim.quantity == "epsilon":
        return value, _logs_of(claim.at)
    if claim.log is None:
        return claim.at, (-math.inf, -math.inf)
    if value == 0.0:
        return claim.at, (claim.log, claim.log)
    low, high = _logs_of(value)
    # Number and logarithm are both claimed: the stronger of the two is checked.
    stronger = min if claim.end == "upper" else max
    return claim.at, (stronger(low, claim.log), stronger(high, claim.log))


def _logs_of(value: float) -> Target:
    """Floats below and above the log of a value."""
    if value == 0.0:
        return -math.inf, -math.inf
    log = math.log(value)
    return log - 2.0 * math.ulp(log), log + 2.0 * math.ulp(log)


# ------------------------------------------------------------------------------- several rounds


def _adds_up(setting: Setting, claim: Claim, eps0: float | None) -> Answer:
    """Whether the claim is no better than the sum of the local guarantees."""
    times = f"{setting.rounds:,} times the local guarantee"
    claimed = claim.value if claim.quantity == "epsilon" else claim.at
    if eps0 is None or claimed is None:
        return "does not hold", "no local guarantee is given"
    if Fraction(claimed) >= Fraction(eps0) * setting.rounds:
        return "holds", f"at least {times}"
    return "does not hold", f"less than {times}"


def _basic(curve: Curve, rounds: int, epsilon: float, target: Target, *, upper: bool) -> Answer:
    """One round at eps/T and delta/T from above; one round as it is from below."""
    if not upper:
        return curve.decide(epsilon, target)
    log = math.log(rounds)
    # What is far below one rounds by more.
    slack = _SLACK * (1.0 + abs(target[0]) + abs(target[1]))
    lowered = (target[0] - log - slack, target[1] - log + slack)
    share = math.nextafter(epsilon / rounds, -math.inf)
    verdict, how = curve.decide(max(share, 0.0), lowered)
    return verdict, f"one round at eps/{rounds}, delta/{rounds}: {how}"


def _composed(
    setting: Setting,
    claim: Claim,
    witness: Witness,
    curve: Curve,
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
        _values_hold(curve, dots, values, what, report)
        if upper
        else _ends_hold(curve, dots, ends, what, report)
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
    return compared(found, at[1], upper=upper), words + apart("delta", middle, at[1][0])


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


def _values_hold(
    curve: Curve, dots: list[float], values: list[float], what: str, report: Report
) -> Answer:
    """Whether every value is at least one round's delta at its eps."""
    undecided = ""
    for k, (epsilon, value) in enumerate(zip(dots, values, strict=True)):
        report(f"one {what}, value {k + 1} of {len(values)}")
        if value >= 1.0:
            continue
        verdict, how = curve.value(k, epsilon, _logs_of(value))
        words = f"one {what} at eps = {epsilon:.6g}: {how}"
        if verdict == "does not hold":
            return verdict, words
        undecided = words if verdict == "undecided" else undecided
    if undecided:
        return "undecided", undecided
    return "holds", f"{len(values)} values of one {what}"


def _ends_hold(curve: Curve, dots: list[float], ends: Any, what: str, report: Report) -> Answer:
    """Whether all values are on their side of one round's delta for the pair, and for its swap."""
    for swap, rows in enumerate(ends):
        bracket = curve.bracket(swap=bool(swap))
        for k, epsilon in enumerate(dots):
            report(f"one {what}{' swapped' * swap} from below, {k + 1} of {len(dots)}")
            low, high = rows[0][k], rows[1][k]
            verdict = _between(lambda width, at=epsilon, of=bracket: of(at, width), low, high)
            if verdict != "holds":
                return verdict, f"one {what} at eps = {epsilon:.6g}: {_OUTSIDE[verdict]}"
    return "holds", f"{len(dots)} values of one {what} from below"


_OUTSIDE = {"does not hold": "delta is not between its ends", "undecided": "not certainly between"}


def _between(bracket: Callable[[float], Target], below: float, above: float) -> Verdict:
    """Whether delta, in a bracket of a given relative width, is between two values for sure."""
    low, high = _logs_of(below)[1], _logs_of(above)[0] if above < 1.0 else 0.0
    for width in _WIDTHS:
        try:
            found = bracket(width)
        except NotCertified:
            return "undecided"
        if low <= found[0] and found[1] <= high:
            return "holds"
        if found[1] < _logs_of(below)[0] or found[0] > high:
            return "does not hold"
    return "undecided"
