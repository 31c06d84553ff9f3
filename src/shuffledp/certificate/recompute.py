"""Which way to delta a claim's witness names, from its setting.

Profiles are those of the analyses that issue certificates.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from shuffledp.amplification.analyses import analysis_named
from shuffledp.arithmetic.balls import arb
from shuffledp.ball.record import Definition, not_known
from shuffledp.ball.record import Pair as Inputs
from shuffledp.bounds.crowds import common_pair, set_of
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.bounds.local import log_local_delta
from shuffledp.certificate.curves import (
    Asked,
    Bracket,
    Way,
    all_data_sets,
    alone,
    checked,
    from_above,
    from_below,
    one_data_set,
    stolen,
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
from shuffledp.laws.pairs import dataset_pair, message_pair
from shuffledp.laws.sources import Family
from shuffledp.multimessage import MultiMessage
from shuffledp.population.member import Member
from shuffledp.propose.crowd_ends import Stealing
from shuffledp.propose.data_sets import DataSet
from shuffledp.randomizers import KRR, BinaryRR, Gaussian, Randomizer
from shuffledp.rounds.gaussian import delta_gaussian, enclosed
from shuffledp.views.datasets import local_guarantee

__all__ = ["curve_of", "left_over", "log_delta_normal", "worst_of"]

# A way to delta, and what it is of.
Named = tuple[str, Bracket]
# Ordered pairs of inputs that are looked at one by one.
_MOST_PAIRS = 4096


def curve_of(setting: Setting, claim: Claim, witness: Witness) -> Way:
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
        return Way([_of_sums(setting, witness, upper=upper)])
    if setting.crowd is not None and analysis in OF_ALL:
        return _of_crowd(setting.crowd, witness)
    if analysis in {EXACT, EXACT_LOWER}:
        return Way([_one_bit(setting, witness)])
    if analysis in {STEALING, JUMP}:
        other = "stronger-clone" if isinstance(setting.source, Family) else "blanket"
        otherwise = None if witness.frees is None else _pairs(setting, other)
        words = f"{analysis}, its free numbers as given"
        return Way([(words, stolen(setting, witness, otherwise, jump=analysis == JUMP))])
    if analysis == DATASET:
        return Way([_data_set(setting, witness)])
    return _pairs(setting, analysis)


def _data_set(setting: Setting, witness: Witness) -> Named:
    """A lower end: the data set that the witness names, of a family one of a member's."""
    x0, x1, x2 = witness.x0, witness.x1, witness.x2
    source, n = _member(setting.source, witness.member), setting.own
    if isinstance(source, MultiMessage):
        pair = message_pair(source.lower_pairs(setting.n)[0])
        return f"dataset of {setting.n:,} users", checked(pair)
    made = alone(source, x0, x1) if n == 1 else checked(dataset_pair(source, x0, x1, x2, n=n))
    return f"dataset ({x0}, {x1}; others {x2}){_swapped(witness)}", made


def _one_bit(setting: Setting, witness: Witness) -> Named:
    bits = setting.source.one_bit()
    if bits is None:
        raise NotCertified(f"{setting.mechanism['name']}: not a mechanism of one-bit reports")
    if not isinstance(witness.others, list):
        return f"{witness.analysis}, all data sets", all_data_sets(bits, setting.own)
    if sum(count for _, count in witness.others) != setting.own - 1:
        raise ParameterError(f"others: wanted {setting.own - 1:,} in all")
    held = sum(count for x, count in witness.others if x == witness.x0)
    others = ", ".join(f"{count:,} others {x}" for x, count in witness.others)
    words = f"{witness.analysis} ({witness.x0}, {witness.x1}; {others})"
    return words, one_data_set(bits, setting.own, (witness.x0, held))


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


def _pairs(setting: Setting, analysis: str) -> Way:
    """An upper end by the pairs of laws that the analysis makes; of one report its divergence."""
    source, n = setting.source, setting.own
    clones = analysis in {"clone", "stronger-clone"}
    if isinstance(source, Randomizer):
        declared = "eps0" in setting.mechanism or not clones
        if not declared and left_over(source, source.eps0) > -math.inf:
            raise NotCertified(f"{source.eps0!r} is no local guarantee of every two values")
        worst = () if clones else worst_of(source)
        if worst and (analysis == LOCAL or n == 1):
            return Way([(f"{analysis} ({x0}, {x1})", alone(source, x0, x1)) for x0, x1 in worst])
    if analysis == LOCAL:
        member = _member(source, None)
        return Way([("local", alone(member, *member.worst_pairs().pairs[0]))])
    found: Any = analysis_named(analysis).make(source, n)
    named = [
        (f"{analysis}{_inputs(words)}", checked(profile.pair))
        for profile, words in zip(found.profiles, found.witnesses, strict=True)
    ]
    return Way(named)


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


def _of_sums(setting: Setting, witness: Witness, *, upper: bool) -> Named:
    """One coordinate of what is added up; of normal noise the Gaussian mechanism, all rounds."""
    sums, mechanism = setting.sums, setting.source
    if sums is None:
        raise NotCertified("messages, not sums")
    if witness.analysis == SUMS_LOCAL:
        guarantee = local_guarantee(sums)

        def left(asked: Asked) -> Target:
            """Nothing beyond what all reports of a user tell alone."""
            log = -math.inf if asked.epsilon >= guarantee else math.inf
            return log, log

        return "local, all log ratios of a user's reports", left
    if witness.analysis == NORMAL and isinstance(mechanism, Gaussian):
        many = {"n": setting.n, "rounds": setting.rounds}
        return NORMAL, lambda asked: log_delta_normal(mechanism, **many, epsilon=asked.epsilon)
    bits = mechanism.added_bits()
    if bits is None:
        raise NotCertified(f"{mechanism.name}: reports are no vectors of bits")
    noise = None if sums.added is None else NoiseLaw(sums.added.kind, float(sums.added.scale))
    if upper:
        return "sums, all data sets", all_data_sets(bits, setting.n, noise=noise)
    if not isinstance(witness.others, int):
        raise ParameterError("witness.others: wanted how many others hold a 1")
    ones, rest = witness.others, setting.n - 1 - witness.others
    words = f"{ones:,} others 1, {rest:,} others 0{_swapped(witness)}"
    return words, one_data_set(bits, setting.n, (bits.inputs[1], ones), noise=noise)


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


def _of_crowd(crowd: Member, witness: Witness) -> Way:
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
        return Way([(words, lambda asked: from_above(made.recomputed(asked.epsilon, free)))])
    if witness.analysis == CROWD_COMMON:
        pairs = [common_pair(groups, kind, k, pair) for pair in kind.pairs[k]]
        return Way([(CROWD_COMMON, checked(pair)) for pair in pairs])
    pair = (place(kind, k, witness.x0) or 0, place(kind, k, witness.x1) or 0)
    others = witness.others if isinstance(witness.others, list) else []
    held = [place(kind, i, x) or 0 for i, (x, _) in enumerate(others)]
    laws = functools.partial(set_of, groups, kind, k, pair, held)
    data = DataSet(laws, sum(users for _, users in groups), {})
    said = ", ".join(f"{count:,} of group {i} hold {x}" for i, (x, count) in enumerate(others))
    words = f"{witness.analysis} ({witness.x0}, {witness.x1}; {said})"
    return Way([(words, lambda asked: from_below(data.log_delta(asked.epsilon, again=True)))])
