"""Which way to delta a claim's witness names, from its setting.

Profiles are those of the analyses that issue certificates, with more bits, and compared with an
estimate in plain floats.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from shuffledp.amplification.analyses import analysis_named
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.record import Definition, not_known
from shuffledp.ball.record import Pair as Inputs
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
from shuffledp.certificate.grounds import (
    CROWD_COMMON,
    CROWD_STEALING,
    LOCAL,
    NORMAL,
    OF_ALL,
    SUMS_LOCAL,
)
from shuffledp.certificate.model import Claim, Witness
from shuffledp.certificate.widened import Target
from shuffledp.certificate.witness import DATASET, EXACT, EXACT_LOWER, JUMP, STEALING, place
from shuffledp.deployment.setting import Deployed, Setting
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.kernel.crowd_sum import Free
from shuffledp.laws.pairs import Pair, dataset_pair, message_pair
from shuffledp.laws.sources import Family
from shuffledp.multimessage import MultiMessage
from shuffledp.population.member import Member
from shuffledp.randomizers import KRR, BinaryRR, Gaussian, Randomizer
from shuffledp.rounds.gaussian import delta_gaussian, enclosed
from shuffledp.views.datasets import local_guarantee

__all__ = ["Alone", "Checked", "curve_of", "left_over", "log_delta_normal", "worst_of"]

# Bits beyond those of the issuer.
_MORE_BITS = 64
# How far from the bracket, in log delta, an estimate in plain floats may be, for deltas of order 1;
# it grows with log delta, of which estimates have so many digits. Measured for deltas from 1e-2 to
# 1e-9: at most 0.0008 for laws of classes of outputs, at most 0.005 for Laplace noise, and 0.4 for
# Gaussian noise of few users, whose largest gains are cut in an estimate.
_APART, _APART_OF_CELLS, _GROWTH = 0.01, 1.0, 0.1
# Ordered pairs of inputs that are looked at one by one.
_MOST_PAIRS = 4096


def curve_of(setting: Setting, claim: Claim, witness: Witness) -> Curve:
    """The way to delta that a claim's witness names.

    Parameters
    ----------
    setting : Setting
        What the claim is about.
    claim, witness
        With a witness that has what it needs.

    Raises
    ------
    NotCertified
        Where nothing is recomputed.
    """
    upper, analysis = claim.end == "upper", witness.analysis
    if not setting.source.in_files:
        raise not_known(setting.source.name)
    if setting.sums is not None:
        return _of_sums(setting, witness, upper=upper)
    if setting.crowd is not None and analysis in OF_ALL:
        return _of_crowd(setting.crowd, witness)
    if analysis in {EXACT, EXACT_LOWER}:
        return _one_bit(setting, witness)
    if analysis in {STEALING, JUMP}:
        other = "stronger-clone" if isinstance(setting.source, Family) else "blanket"
        otherwise = None if witness.frees is None else _pairs(setting, other)
        return Stolen(setting, witness, otherwise)
    if analysis == DATASET:
        return _data_set(setting, witness)
    return _pairs(setting, analysis)


class Checked:
    """Brackets of a pair's profile with more bits, each beside an estimate in plain floats."""

    def __init__(self, pair: Pair) -> None:
        self._made = functools.cache(
            lambda swap: Profile(pair.swap() if swap else pair, more_bits=_MORE_BITS)
        )

    def __call__(self, *, swap: bool) -> Bracket:
        """In the one direction, or the other."""
        profile: Profile = self._made(swap)

        def ends(epsilon: float, width: float) -> Target:
            found = profile.log_delta(epsilon, width=width)
            estimate = profile.rough_log_delta(epsilon)
            apart = _APART if profile.pair.one_law else _APART_OF_CELLS
            if math.isfinite(estimate):
                apart *= 1.0 + _GROWTH * abs(estimate)
            if not found.low - apart <= estimate <= found.high + apart:
                raise NotCertified(
                    f"an estimate in plain floats says log delta = {estimate:.6g}, and balls say "
                    f"{found.low:.6g} to {found.high:.6g}"
                )
            return found.low, found.high

        return ends


class Alone:
    """Brackets of the divergence of one report."""

    def __init__(self, mechanism: Definition, x0: Any, x1: Any) -> None:
        self._mechanism, self._inputs = mechanism, (x0, x1)

    def __call__(self, *, swap: bool) -> Bracket:
        """In the one direction, or the other."""
        x0, x1 = self._inputs[::-1] if swap else self._inputs

        def ends(epsilon: float, _width: float) -> Target:
            found = log_local_delta(self._mechanism, x0, x1, epsilon)
            return found.low, found.high

        return ends


def _data_set(setting: Setting, witness: Witness) -> Curve:
    """A lower end: the data set that the witness names, of a family one of a member's."""
    x0, x1, x2 = witness.x0, witness.x1, witness.x2
    source, n = _member(setting.source, witness.member), setting.own
    if isinstance(source, MultiMessage):
        one = source.lower_pairs(setting.n)[0]
        words, swap = f"dataset of {setting.n:,} users: ", bool(witness.swap)
        return Brackets([(words, Checked(message_pair(one)))], upper=False, swap=swap)
    words = f"dataset ({x0}, {x1}; others {x2}){_swapped(witness)}: "
    made = Alone(source, x0, x1) if n == 1 else Checked(dataset_pair(source, x0, x1, x2, n=n))
    return Brackets([(words, made)], upper=False, swap=_order(witness))


def _order(witness: Witness) -> bool:
    """The direction of a lower end; of several rounds both are recomputed, forward first."""
    return bool(witness.swap) and witness.dots is None


def _one_bit(setting: Setting, witness: Witness) -> Curve:
    bits = setting.source.one_bit()
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


def left_over(mechanism: Definition, eps0: float) -> float:
    """log of the divergence that is left at eps0, of any two values; -inf if none is."""
    if not mechanism.in_files:
        raise not_known(mechanism.name)
    whole = mechanism.unrestricted()
    return max(log_local_delta(whole, x0, x1, eps0).high for x0, x1 in worst_of(whole))


def worst_of(mechanism: Definition) -> tuple[Inputs, ...]:
    """Ordered pairs of inputs that together dominate all neighbouring ones."""
    found = mechanism.worst_pairs().pairs
    if len(found) > _MOST_PAIRS:
        words = f"{len(found):,} ordered pairs of inputs, too many to verify"
        raise NotCertified(f"{mechanism.name}: {words}")
    return found


def _pairs(setting: Setting, analysis: str) -> Curve:
    """An upper end by the pairs of laws that the analysis makes; of one report its divergence."""
    source, n = setting.source, setting.own
    clones = analysis in {"clone", "stronger-clone"}
    if isinstance(source, Randomizer):
        declared = "eps0" in setting.mechanism or not clones
        if not declared and left_over(source, source.eps0) > -math.inf:
            raise NotCertified(f"{source.eps0!r} is no local guarantee of every two values")
        worst = () if clones else worst_of(source)
        if worst and (analysis == LOCAL or n == 1):
            alone = [(f"{analysis} ({x0}, {x1}): ", Alone(source, x0, x1)) for x0, x1 in worst]
            return Brackets(alone, upper=True)
    if analysis == LOCAL:
        member = _member(source, None)
        return Brackets([("local: ", Alone(member, *member.worst_pairs().pairs[0]))], upper=True)
    found: Any = analysis_named(analysis).make(source, n)
    named = [
        (f"{analysis}{_inputs(words)}: ", Checked(profile.pair))
        for profile, words in zip(found.profiles, found.witnesses, strict=True)
    ]
    return Brackets(named, upper=True)


def _inputs(words: dict[str, Any]) -> str:
    return f" ({words['x0']}, {words['x1']})" if "x0" in words else ""


def _swapped(witness: Witness) -> str:
    return " swapped" if witness.swap else ""


def _member(source: Deployed, member: str | None) -> Randomizer | MultiMessage:
    """The mechanism, or of a family the member that is looked at.

    Members are eps0-LDP, so that a bound for all of these is none below theirs.
    """
    if not isinstance(source, Family):
        return source
    return KRR(k=3, eps0=source.eps0) if member == "3-rr" else BinaryRR(eps0=source.eps0)


def _of_sums(setting: Setting, witness: Witness, *, upper: bool) -> Curve:
    """One coordinate of what is added up; of normal noise the Gaussian mechanism, all rounds."""
    sums, mechanism = setting.sums, setting.source
    if sums is None:
        raise NotCertified("messages, not sums")
    if witness.analysis == SUMS_LOCAL:
        return Guarantee(local_guarantee(sums))
    if witness.analysis == NORMAL and isinstance(mechanism, Gaussian):

        def of(*, swap: bool) -> Bracket:
            del swap  # normal noise is symmetric
            asked = {"n": setting.n, "rounds": setting.rounds}
            return lambda epsilon, _width: log_delta_normal(mechanism, **asked, epsilon=epsilon)

        return Brackets([(f"{NORMAL}: ", of)], upper=upper)
    bits = mechanism.added_bits()
    if bits is None:
        raise NotCertified(f"{mechanism.name}: reports are no vectors of bits")
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


def log_delta_normal(mechanism: Gaussian, *, n: int, rounds: int, epsilon: float) -> Target:
    """Ends of log delta of sums of n inputs with normal noise of deviation sigma each, in T rounds.

    The Gaussian mechanism's with mu = sqrt(T/n) (high - low)/sigma (Balle and Wang 2018).

    Parameters
    ----------
    mechanism : Gaussian
        What each user adds.
    n, rounds : int
        Users; rounds.
    epsilon : float
        eps >= 0.
    """
    if not math.isfinite(epsilon):
        raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number")

    def delta() -> arb:
        width = arb(mechanism.high) - arb(mechanism.low)
        mu = (arb(rounds) / n).sqrt() * width / arb(mechanism.sigma)
        return delta_gaussian(mu, arb(epsilon))

    found = enclosed(delta)
    return found.low, found.high


def _of_crowd(crowd: Member, witness: Witness) -> Curve:
    """What rests on all groups."""
    kind, k, groups = crowd.kind, crowd.victim, crowd.groups
    if kind is None:
        raise NotCertified("a crowd whose groups' messages are of different sets")
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
        pairs = [common_pair(groups, kind, k, pair) for pair in kind.pairs[k]]
        return Brackets([(f"{CROWD_COMMON}: ", Checked(pair)) for pair in pairs], upper=True)
    pair = (place(kind, k, witness.x0) or 0, place(kind, k, witness.x1) or 0)
    others = witness.others if isinstance(witness.others, list) else []
    held = [place(kind, i, x) or 0 for i, (x, _) in enumerate(others)]
    laws = functools.partial(set_of, groups, kind, k, pair, held)
    total = sum(users for _, users in groups)
    data = DataSet(laws, total, {})
    said = ", ".join(f"{count:,} of group {i} hold {x}" for i, (x, count) in enumerate(others))
    words = f"{witness.analysis} ({witness.x0}, {witness.x1}; {said})"
    return Bound(words, lambda epsilon: data.log_delta(epsilon, again=True), upper=False)
