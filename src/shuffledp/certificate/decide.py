"""Whether one claim of a certificate holds: its end of eps or of delta, recomputed in balls."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from shuffledp.certificate.checks import SILENT, Check, Report, said
from shuffledp.certificate.composed import adds_up, composed, logs_of
from shuffledp.certificate.curves import Answer, Asked
from shuffledp.certificate.files import first_difference
from shuffledp.certificate.grounds import LOCAL, grounds_of
from shuffledp.certificate.model import Claim
from shuffledp.certificate.recompute import curve_of, left_over
from shuffledp.certificate.widened import Target, one_user
from shuffledp.certificate.witness import witness_fault
from shuffledp.deployment.setting import Setting
from shuffledp.deployment.widened import shuffler_of
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.laws.sources import Family
from shuffledp.views.datasets import local_guarantee

__all__ = ["check_claim", "guarantee_check", "or_undecided", "shown"]

# A number is its logarithm's exponential, rounded outward in some digits of the last place.
_AGREE = 1e-13
# Mechanisms state pure guarantees up to 300 nats; a little less, for sums that are
# rounded up beyond it.
_LARGEST_GUARANTEE = 299.0


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
    if setting.rounds > 1 and witness.analysis == LOCAL:
        return adds_up(setting, claim, eps0)
    way, upper = curve_of(setting, claim, witness), claim.end == "upper"
    if witness.dots is not None:
        return composed(setting, claim, witness, way, at, report)
    return way.decide(Asked(*at, swap=bool(witness.swap)), upper=upper)


# --------------------------------------------------------------------------- beside the number


def _question_fault(setting: Setting, claim: Claim) -> str:
    """Whether what is bounded, at what, of which neighbours, is what the deployment asks for."""
    target = setting.content.target
    if (claim.quantity, claim.at) != (target.quantity, target.value):
        return f"the deployment asks for {target.quantity} at {target.value!r}"
    if claim.n != setting.n:
        return f"n = {claim.n:,}: wanted {setting.n:,}, {setting.how}"
    return first_difference(claim.relation, setting.relation.to_dict(), "relation")


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
    wanted = grounds_of(setting, claim.end, witness.analysis)
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
        return value, logs_of(claim.at)
    if claim.log is None:
        return claim.at, (-math.inf, -math.inf)
    if value == 0.0:
        return claim.at, (claim.log, claim.log)
    low, high = logs_of(value)
    # Number and logarithm are both claimed: the stronger of the two is checked.
    stronger = min if claim.end == "upper" else max
    return claim.at, (stronger(low, claim.log), stronger(high, claim.log))


# ------------------------------------------------------------------------ what a report tells alone


def guarantee_check(setting: Setting, eps0: float | None, where: str) -> Check:
    """That no two neighbours' reports differ by more, or that none is left out where there is one.

    Parameters
    ----------
    setting : Setting
        One round of the mechanism.
    eps0 : float or None
        What is claimed, in nats; None: that there is none.
    where : str
        Where the check stands.
    """
    claim = "no pure local guarantee is claimed"
    if eps0 is not None:
        whose = "two values" if setting.sums is None else "two neighbours' reports"
        claim = f"local guarantee eps0 <= {eps0!r}, of any {whose}"
    return Check(where, claim, *or_undecided(lambda: _guaranteed(setting, eps0)))


def _guaranteed(setting: Setting, eps0: float | None) -> Answer:
    source, asked = setting.source, _LARGEST_GUARANTEE if eps0 is None else eps0
    if setting.sums is not None:
        holds, how = asked >= local_guarantee(setting.sums), "log ratios of the changed coordinates"
    elif isinstance(source, Family):
        holds, how = asked >= source.eps0, "eps0 of the family"
    else:
        worst = left_over(source, asked)
        holds = worst == -math.inf
        how = "no divergence is left" if holds else f"log delta up to {worst:.6g} is left"
        how = f"local divergence at eps = {asked:g}: {how}"
        if not holds and eps0 is not None and eps0 >= setting.mechanism.get("eps0", math.inf):
            # Equality at eps0 itself: rounding leaves a remainder that says nothing.
            return "undecided", how
    if eps0 is None:
        return said(not holds), f"the mechanism has one: {how}" if holds else how
    return said(holds), how
