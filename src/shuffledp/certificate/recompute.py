"""Which way to delta a claim's witness names, from its setting."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.one_bit import EXACT, EXACT_LOWER, added_bits, bits_of
from shuffledp.ball.outputs import positive
from shuffledp.ball.pairs import ordered_pairs, without_limit
from shuffledp.bounds.crowds import Stealing, common_pair, set_of
from shuffledp.bounds.data_sets import DataSet
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.bounds.local import log_local_delta
from shuffledp.bounds.profile import Profile
from shuffledp.certificate.curves import (
    AllDataSets,
    Bound,
    Bracket,
    Brackets,
    Curve,
    Guarantee,
    Stolen,
)
from shuffledp.certificate.model import Claim, Witness
from shuffledp.certificate.one_round import log_delta
from shuffledp.certificate.setting import (
    CROWD_COMMON,
    CROWD_STEALING,
    NORMAL,
    OF_ALL,
    SUMS_LOCAL,
    Crowd,
    Setting,
)
from shuffledp.certificate.widened import Target
from shuffledp.certificate.witness import DATASET, JUMP, STEALING, place
from shuffledp.deployment.model import GENERIC
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel.crowd_sum import Free
from shuffledp.multimessage import MultiMessage
from shuffledp.rounds.gaussian import delta_gaussian, enclosed
from shuffledp.views.datasets import local_guarantee

__all__ = ["curve_of", "left_over", "log_delta_normal"]

# Randomizers that are eps0-LDP, so that a bound for all of these is none below theirs.
_MEMBERS: Mapping[str, Mapping[str, Any]] = {
    "binary-rr": {"name": "binary-rr"},
    "3-rr": {"name": "k-rr", "k": 3},
}


def curve_of(setting: Setting, claim: Claim, witness: Witness, eps0: float | None) -> Curve:
    """The way to delta that a claim's witness names.

    Parameters
    ----------
    setting : Setting
        What the claim is about.
    claim, witness
        With a witness that has what it needs.
    eps0 : float or None
        Local guarantee of the mechanism, which is checked apart.

    Raises
    ------
    NotCertified
        Where nothing is recomputed.
    """
    upper, analysis = claim.end == "upper", witness.analysis
    if setting.sums is not None:
        return _of_sums(setting, witness, upper=upper)
    if setting.crowd is not None and analysis in OF_ALL:
        return _of_crowd(setting.crowd, witness)
    if analysis in {EXACT, EXACT_LOWER}:
        return _one_bit(setting, witness)
    if analysis in {STEALING, JUMP}:
        family = setting.mechanism["name"] == GENERIC
        other = "stronger-clone" if family else "blanket"
        otherwise = None if witness.frees is None else _pairs(setting, other, eps0)
        return Stolen(setting, witness, otherwise)
    if analysis == "multi-message" or (analysis == DATASET and setting.protocol):
        return _messages(setting, witness, upper=upper)
    if analysis == DATASET:
        return _data_set(setting, witness)
    return _pairs(setting, analysis, eps0)


def _data_set(setting: Setting, witness: Witness) -> Curve:
    call = {"analysis": DATASET, "x0": witness.x0, "x1": witness.x1, "x2": witness.x2}
    words = f"dataset ({witness.x0}, {witness.x1}; others {witness.x2}){_swapped(witness)}: "
    asked = _Asked(_member(setting.mechanism, witness.member), setting.own, call)
    return Brackets([(words, asked)], upper=False, swap=_order(witness))


def _order(witness: Witness) -> bool:
    """The direction of a lower end; of several rounds both are recomputed, forward first."""
    return bool(witness.swap) and witness.dots is None


def _one_bit(setting: Setting, witness: Witness) -> Curve:
    bits = bits_of(setting.mechanism)
    if bits is None:
        raise NotCertified(f"{setting.mechanism['name']}: not a mechanism of one-bit reports")
    if not isinstance(witness.others, list):
        return AllDataSets(bits, setting.own, witness.analysis)
    if sum(count for _, count in witness.others) != setting.own - 1:
        raise ParameterError(f"others: wanted {setting.own - 1:,} in all")
    held = sum(count for x, count in witness.others if x == witness.x0)
    others = ", ".join(f"{count:,} others {x}" for x, count in witness.others)
    words = f"{witness.analysis} ({witness.x0}, {witness.x1}; {others})"
    return AllDataSets(bits, setting.own, words, held=(witness.x0, held))


def left_over(parameters: Mapping[str, Any], eps0: float) -> float:
    """log of the divergence that is left at eps0, of any two values; -inf if none is."""
    mechanism = without_limit(parameters)
    return max(log_local_delta(mechanism, x0, x1, eps0).high for x0, x1 in ordered_pairs(mechanism))


def _pairs(setting: Setting, analysis: str, eps0: float | None) -> Curve:
    """An upper end by the pairs of inputs that its theorem names, or by a clone's law."""
    parameters, n = setting.mechanism, setting.own
    if analysis not in {"clone", "stronger-clone"}:
        mechanism, named = _member(parameters, None), []
        for x0, x1 in ordered_pairs(parameters):
            call = {"analysis": analysis, "x0": x0, "x1": x1}
            named.append((f"{analysis} ({x0}, {x1}): ", _Asked(mechanism, n, call)))
        return Brackets(named, upper=True)
    eps0 = parameters.get("eps0", eps0)
    if eps0 is None:
        raise ParameterError("eps0 is missing: a clone bound wanted a local guarantee")
    if "eps0" not in parameters and left_over(parameters, eps0) > -math.inf:
        raise NotCertified(f"{eps0!r} is no local guarantee of every two values")
    asked = _Asked({"name": GENERIC, "eps0": eps0}, n, {"analysis": analysis})
    return Brackets([(f"{analysis}: ", asked)], upper=True)


class _Asked(NamedTuple):
    """Brackets of ``one_round.log_delta``, in either direction."""

    mechanism: Mapping[str, Any]
    n: int
    call: Mapping[str, Any]

    def __call__(self, *, swap: bool) -> Bracket:
        def ends(epsilon: float, width: float) -> Target:
            found = log_delta(
                self.mechanism, n=self.n, epsilon=epsilon, swap=swap, rel=width, **self.call
            )
            return found.low, found.high

        return ends


def _swapped(witness: Witness) -> str:
    return " swapped" if witness.swap else ""


def _member(parameters: Mapping[str, Any], member: str | None) -> dict[str, Any]:
    """The mechanism, or of a family the member that is looked at."""
    if parameters["name"] != GENERIC:
        return dict(parameters)
    return {**_MEMBERS[member or "binary-rr"], "eps0": parameters["eps0"]}


def _messages(setting: Setting, witness: Witness, *, upper: bool) -> Curve:
    """One data message of a protocol among all blanket messages, as many as its theorem counts.

    An upper end has to hold in both directions, a lower one is of one of them.
    """
    source = setting.one.accountant(setting.n).source
    if not isinstance(source, MultiMessage):
        raise NotCertified(f"{setting.mechanism['name']}: not a protocol")
    one = (source.pairs if upper else source.lower_pairs)(setting.n)[0]
    call = {"analysis": "dataset", "x0": 0, "x1": 1, "x2": 2}
    words = f"{witness.analysis} of {setting.n:,} users: "
    asked = _Asked(one.table, one.messages, call)
    return Brackets([(words, asked)], upper=upper, swap=None if upper else bool(witness.swap))


def _of_sums(setting: Setting, witness: Witness, *, upper: bool) -> Curve:
    """One coordinate of what is added up; of normal noise the Gaussian mechanism, all rounds."""
    sums, mechanism = setting.sums, setting.mechanism
    if sums is None:
        raise NotCertified("messages, not sums")
    if witness.analysis == SUMS_LOCAL:
        return Guarantee(local_guarantee(sums))
    if witness.analysis == NORMAL:

        def of(*, swap: bool) -> Bracket:
            del swap  # normal noise is symmetric
            asked = {"n": setting.n, "rounds": setting.rounds}
            return lambda epsilon, _width: log_delta_normal(mechanism, **asked, epsilon=epsilon)

        return Brackets([(f"{NORMAL}: ", of)], upper=upper)
    bits = added_bits(mechanism)
    if bits is None:
        raise NotCertified(f"{mechanism['name']}: reports are no vectors of bits")
    noise = None if sums.added is None else NoiseLaw(sums.added.kind, float(sums.added.scale))
    if upper:
        return AllDataSets(bits, setting.n, "sums", noise=noise)
    if not isinstance(witness.others, int):
        raise ParameterError("witness.others: wanted how many others hold a 1")
    swap, ones = _order(witness), witness.others
    zero, one = bits.inputs
    if ones > setting.n - 1:
        raise ParameterError(f"others = {ones:,}: wanted at most {setting.n - 1:,}")
    held = (zero, setting.n - 1 - ones) if swap else (one, ones)
    words = f"{ones:,} others 1, {setting.n - 1 - ones:,} others 0{_swapped(witness)}"
    return AllDataSets(bits, setting.n, words, noise=noise, held=held)


def log_delta_normal(
    mechanism: Mapping[str, Any], *, n: int, rounds: int, epsilon: float
) -> Target:
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
    if not math.isfinite(epsilon):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number")

    def delta() -> arb:
        width = arb(mechanism["high"]) - arb(mechanism["low"])
        mu = (arb(rounds) / n).sqrt() * width / positive(mechanism, "sigma")
        return delta_gaussian(mu, arb(epsilon))

    found = enclosed(delta)
    return found.low, found.high


def _of_crowd(crowd: Crowd, witness: Witness) -> Curve:
    """What rests on all groups."""
    kind, k, groups = crowd.kind, crowd.victim, crowd.groups
    if witness.analysis == CROWD_STEALING:
        free = [
            (
                Free(one.gain or 0.0, one.loss or 0.0, one.theta or 0.0, tuple(one.shares or ())),
                one.alpha,
                one.smoothing,
            )
            for one in witness.free or ()
        ]
        made = Stealing(groups, kind, k)
        words = f"{CROWD_STEALING}, its free numbers as given"
        return Bound(words, lambda epsilon: made.recomputed(epsilon, free), upper=True)
    if witness.analysis == CROWD_COMMON:
        profiles = [Profile(common_pair(groups, kind, k, pair)) for pair in kind.pairs[k]]
        named = [(f"{CROWD_COMMON}: ", functools.partial(_profile, one)) for one in profiles]
        return Brackets(named, upper=True)
    pair = (place(kind, k, witness.x0) or 0, place(kind, k, witness.x1) or 0)
    others = witness.others if isinstance(witness.others, list) else []
    held = [place(kind, i, x) or 0 for i, (x, _) in enumerate(others)]
    laws = functools.partial(set_of, groups, kind, k, pair, held)
    total = sum(users for _, users in groups)
    data = DataSet(laws, total, {})
    said = ", ".join(f"{count:,} of group {i} hold {x}" for i, (x, count) in enumerate(others))
    words = f"{witness.analysis} ({witness.x0}, {witness.x1}; {said})"
    return Bound(words, lambda epsilon: data.log_delta(epsilon, again=True), upper=False)


def _profile(profile: Profile, *, swap: bool) -> Bracket:
    del swap  # pairs are listed in both directions

    def ends(epsilon: float, width: float) -> Target:
        found = profile.log_delta(epsilon, width=width)
        return found.low, found.high

    return ends
