"""Whether a claim of a certificate holds: its setting is accounted for again, with more bits."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from shuffledp.bound import Bound
from shuffledp.bounds.local import log_local_delta
from shuffledp.certificate.checks import Check, Verdict, said
from shuffledp.certificate.files import first_difference
from shuffledp.certificate.model import Claim
from shuffledp.deployment.accounting import Answer
from shuffledp.deployment.setting import Setting
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.laws.sources import Family
from shuffledp.rounds import Composed

__all__ = ["check_claim", "estimate_check", "guarantee_check", "shown"]

# Mechanisms state pure guarantees up to 300 nats; a little less, for sums that are
# rounded up beyond it.
_LARGEST_GUARANTEE = 299.0
# Ordered pairs of inputs that are looked at one by one for a local guarantee.
_MOST_PAIRS = 4096
# A number that is farther than this from the one that was computed again is refused; a nearer one
# is undecided, as proposals may differ between versions and machines.
_NEAR = 1e-3
# How far from the certified log delta an estimate in plain floats may be, for deltas of order 1; it
# grows with log delta, because estimates have a fixed number of digits. Measured for deltas from
# 1e-2 to 1e-9: at most 0.0008 for laws of classes of outputs, at most 0.005 for Laplace noise, and
# 0.4 for Gaussian noise of few users, whose largest gains are cut in an estimate. Sums of few gains
# are estimated roughly: off by 0.033 for 40 users.
_APART, _APART_OF_CELLS, _GROWTH, _OF_FEW = 0.01, 1.0, 0.1, 2.0
# Just below the local guarantee delta falls to 0, and gains are of the size of rounding errors.
_EDGE = 1e-3


def check_claim(claim: Claim, again: Claim, name: str) -> Check:
    """Compare a claim with what its setting gives now, without a margin.

    Parameters
    ----------
    claim : Claim
        As it is written.
    again : Claim
        The same end, computed again.
    name : str
        Where the check stands.
    """
    words = f"{claim.end} {claim.quantity} {shown(claim)}"
    if claim.rounds > 1:
        words += f" after {claim.rounds:,} rounds"
    if claim.trust == "published" and again.trust == "published":
        words += " (published theorems)"
    fault = _difference(claim, again) or _number_fault(claim)
    verdict: tuple[Verdict, str] = ("does not hold", fault) if fault else _compared(claim, again)
    return Check(name, words, *verdict)


def _difference(claim: Claim, again: Claim) -> str:
    """What is said beside the number, and is not so; empty if nothing is."""
    given, wanted = (one.model_dump(mode="json", exclude={"value"}) for one in (claim, again))
    return first_difference(given, wanted)


def _compared(claim: Claim, again: Claim) -> tuple[Verdict, str]:
    upper = claim.end == "upper"
    if claim.nothing and (again.nothing or not upper):
        return "holds", "nothing is claimed"
    if claim.value is None:
        return "does not hold", "no number is given"
    given, found = claim.value, math.inf if again.value is None else again.value
    how = f"computed again: {shown(again)}"
    beyond = found - given if upper else given - found
    if given == found or beyond <= 0.0:
        return "holds", how
    near = beyond <= _NEAR * found < math.inf
    return ("undecided" if near else "does not hold"), how


def _number_fault(claim: Claim) -> str:
    """What is wrong with a number whatever is computed: a sign, or a delta above 1."""
    if claim.value is None:
        return ""
    if math.copysign(1.0, claim.value) < 0.0:
        return f"{claim.value!r}: wanted no sign"
    above = claim.quantity == "delta" and claim.value > 1.0
    return f"{claim.value!r}: wanted a delta of at most 1" if above else ""


def shown(claim: Claim) -> str:
    """The number that is claimed."""
    return "not claimed" if claim.value is None else repr(claim.value)


# ------------------------------------------------------------------- estimates in plain floats


def estimate_check(answer: Answer) -> Check | None:
    """Check that estimates in plain floats, another method, are near the recomputed ends.

    None where there is no estimate: of sums, crowds, several users, declared shufflers, and ends
    that are no delta's.
    """
    setting, bound = answer.setting, answer.bound
    if not setting.plain or setting.failed or bound.upper_theorem is None:
        return None
    found = [_estimated(setting, bound, "upper")]
    if setting.rounds == 1 and bound.lower > 0.0:
        found.append(_estimated(setting, bound, "lower"))
    told = [one for one in found if one is not None]
    if not told:
        return None
    after = f" after {setting.rounds:,} rounds" if setting.rounds > 1 else ""
    which = "both ends" if len(told) > 1 else f"the {told[0].end} end"
    how = "; ".join(
        f"{one.end}: log delta = {one.rough:.4g} by plain floats, {one.log:.4g} by balls"
        for one in told
    )
    near = all(one.beyond <= one.room for one in told)
    return Check(setting.name, f"an estimate is near {which}{after}", said(near), how)


class _Estimate(NamedTuple):
    """An estimate of log delta at an end, the log delta that is claimed there, and their room."""

    end: str
    rough: float
    log: float
    room: float

    @property
    def beyond(self) -> float:
        """How far the estimate is on the side on which the end would be false."""
        return self.rough - self.log if self.end == "upper" else self.log - self.rough


def _estimated(setting: Setting, bound: Bound, end: Literal["upper", "lower"]) -> _Estimate | None:
    """By the analysis of this end, or by all rounds; None where it has no estimate."""
    epsilon, log = getattr(bound, end), math.log(setting.content.target.value or 1.0)
    if bound.quantity == "delta":
        epsilon, log = setting.content.target.value, float(getattr(bound, f"log_{end}") or 0.0)
    if epsilon > (1.0 - _EDGE) * setting.guarantee:
        return None
    messages: Any = setting.account.seen
    if setting.rounds > 1:
        composed: Composed = messages.composed()
        rough, one_law = composed.rough_log_delta(epsilon), False
    else:
        key = bound.witness.get(end, {}).get("analysis", "")
        by = None if key in {"", "local"} else messages.certifier(key)
        rough = math.nan if by is None else by.rough(epsilon)
        one_law = by is not None and all(one.pair.one_law for one in by.profiles)
    if not (math.isfinite(rough) and math.isfinite(log)):
        return None
    room = (_APART if one_law else _APART_OF_CELLS) * (1.0 + _GROWTH * abs(rough))
    return _Estimate(end, rough, log, room + _OF_FEW / setting.n)


# ------------------------------------------------------------------------ what a report tells alone


def guarantee_check(setting: Setting, eps0: float | None, where: str) -> Check:
    """Check that no two neighbours' reports differ by more, and that no guarantee is left out.

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
    try:
        found = _guaranteed(setting, eps0)
    except (NotCertified, ParameterError) as error:
        found = "undecided", f"not checked: {error}"
    return Check(where, claim, *found)


def _guaranteed(setting: Setting, eps0: float | None) -> tuple[Verdict, str]:
    source, asked = setting.source, _LARGEST_GUARANTEE if eps0 is None else eps0
    if setting.sums is not None:
        holds, how = asked >= setting.eps0, "log ratios of the changed coordinates"
    elif isinstance(source, Family):
        holds, how = asked >= source.eps0, "eps0 of the family"
    else:
        worst = _left_over(source, asked)
        holds = worst == -math.inf
        how = "no divergence is left" if holds else f"log delta up to {worst:.6g} is left"
        how = f"local divergence at eps = {asked:g}: {how}"
        if not holds and eps0 is not None and eps0 >= setting.mechanism.get("eps0", math.inf):
            # Equality at eps0 itself: rounding leaves a remainder that says nothing.
            return "undecided", how
    if eps0 is None:
        return said(not holds), f"the mechanism has one: {how}" if holds else how
    return said(holds), how


def _left_over(mechanism: Any, eps0: float) -> float:
    """log of the divergence that is left at eps0, of any two values; -inf if none is."""
    whole = mechanism.unrestricted()
    pairs = whole.worst_pairs().pairs
    if len(pairs) > _MOST_PAIRS:
        words = f"{len(pairs):,} ordered pairs of inputs, too many to verify"
        raise NotCertified(f"{mechanism.name}: {words}")
    return max(log_local_delta(whole, x0, x1, eps0).high for x0, x1 in pairs)
