"""delta of one round (or one coordinate) at any eps, as a claim's witness says to compute it.

The engine is asked again with more bits than wrote the claim; nothing is searched for but data sets
of one-bit reports, all of which an upper end is about.
"""

from __future__ import annotations

import functools
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.bits import Bits
from shuffledp.ball.one_bit import EXACT, EXACT_LOWER, added_bits, bits_of
from shuffledp.ball.outputs import positive
from shuffledp.ball.pairs import ordered_pairs, without_limit
from shuffledp.bounds.crowds import Stealing, common_pair, set_of
from shuffledp.bounds.data_sets import DataSet
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.bounds.local import log_local_delta
from shuffledp.bounds.one_bit_curve import Curve as BitCurve
from shuffledp.bounds.profile import Profile
from shuffledp.bounds.stealing_claims import StealingClaims
from shuffledp.certificate.apart import apart
from shuffledp.certificate.checks import Verdict
from shuffledp.certificate.model import Claim, FreeNumbers, Witness
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

__all__ = ["AllDataSets", "Curve", "compared", "curve_of", "left_over", "log_delta_normal"]

# Relative widths of delta; each is tried only if the one before could not tell.
_WIDTHS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
# A bracket that much wider than asked for is not narrowed by asking for less.
_MISSED = 3.0
# In log delta: a bound that far above a claim is not what was claimed. Half of that may be due to
# the cells of a bound with one distinguished gain.
_FAR = 1e-2
# Bits beyond the engine's own working precision.
_MORE_BITS = 64
# Where a bound of all data sets decides nothing: as near to the largest one found.
_NEAR = 1e-9
# Randomizers that are eps0-LDP, so that a bound for all of these is none below theirs.
_MEMBERS: Mapping[str, Mapping[str, Any]] = {
    "binary-rr": {"name": "binary-rr"},
    "3-rr": {"name": "k-rr", "k": 3},
}
Answer = tuple[Verdict, str]
# (epsilon, relative width) -> ends of log delta.
Bracket = Callable[[float, float], Target]


class Curve(ABC):
    """One claim's way to delta."""

    @abstractmethod
    def decide(self, epsilon: float, target: Target) -> Answer:
        """Whether delta at this eps is on the claim's side of a number, and what was recomputed.

        Parameters
        ----------
        epsilon : float
            eps >= 0.
        target : tuple of two floats
            Floats below and above the log of the number.
        """

    def value(self, place: int, epsilon: float, target: Target) -> Answer:
        """The same of one of the witness' values, of which some have numbers of their own."""
        del place
        return self.decide(epsilon, target)

    def bracket(self, *, swap: bool) -> Bracket:
        """delta of the witness' data set, in one order or the other."""
        raise NotCertified(f"no data set: {swap}")


def compared(bracket: Target, target: Target, *, upper: bool) -> Verdict:
    """Whether log delta, in this bracket, is on the claim's side of the target for sure."""
    low, high = bracket
    if high <= target[0] if upper else low >= target[1]:
        return "holds"
    if low > target[1] if upper else high < target[0]:
        return "does not hold"
    return "undecided"


def bounded(bound: float, target: Target, *, upper: bool) -> Verdict:
    """The same of one bound alone: what is little beyond it may be due to another step."""
    if bound <= target[0] if upper else bound >= target[1]:
        return "holds"
    far = bound > target[1] + _FAR if upper else bound < target[0] - _FAR
    return "does not hold" if far else "undecided"


class Directed(Protocol):
    """Something with brackets in both directions."""

    def __call__(self, *, swap: bool) -> Bracket:
        """In the one, or the other."""
        ...


class Brackets(Curve):
    """Brackets of several pairs: an upper end has to hold for all of them.

    Parameters
    ----------
    named : sequence of (str, callable)
        Words for each, and its brackets.
    upper : bool
        Which end.
    swap : bool or None
        The direction; None: both, each of them to hold.
    """

    def __init__(
        self,
        named: Sequence[tuple[str, Directed]],
        *,
        upper: bool,
        swap: bool | None = False,
    ) -> None:
        self._named, self._upper = named, upper
        self._swaps = (False, True) if swap is None else (swap,)

    def decide(self, epsilon: float, target: Target) -> Answer:
        """For each, with narrower brackets where the one before could not tell."""
        worst: Verdict = "holds"
        closest, how = -math.inf, ""
        for (words, made), swap in itertools.product(self._named, self._swaps):
            verdict, found, width = self._one(made(swap=swap), epsilon, target)
            distance = found[1] if self._upper else -found[0]
            if not how or distance > closest or verdict != "holds":
                closest, how = distance, f"{words}{_distance(found, target)} (balls: {width:.0e})"
            if verdict == "does not hold":
                return verdict, how
            worst = verdict if verdict == "undecided" else worst
        many = f"; {len(self._named)} ordered pairs" if len(self._named) > 2 else ""
        return worst, how + many

    def _one(
        self, bracket: Bracket, epsilon: float, target: Target
    ) -> tuple[Verdict, Target, float]:
        found, width = (-math.inf, 0.0), math.inf
        for width in _WIDTHS:
            found = bracket(epsilon, width)
            verdict = compared(found, target, upper=self._upper)
            if verdict != "undecided" or found[1] - found[0] > _MISSED * width:
                return verdict, found, width
        return "undecided", found, width

    def bracket(self, *, swap: bool) -> Bracket:
        """Of the one data set that a lower end names."""
        return self._named[0][1](swap=swap)


class Stolen(Curve):
    """A bound by label stealing with the claim's own free numbers: an upper end, no bracket.

    Parameters
    ----------
    setting : Setting
        One mechanism.
    witness : Witness
        With ``free``, or with ``frees`` for each of its values.
    otherwise : Curve
        For values that need no free numbers.
    """

    def __init__(self, setting: Setting, witness: Witness, otherwise: Curve | None) -> None:
        self._setting, self._witness, self._otherwise = setting, witness, otherwise
        self._claims: StealingClaims | None = None

    def decide(self, epsilon: float, target: Target) -> Answer:
        """By the free numbers of the claim."""
        return self._by(self._witness.free or [], epsilon, target)

    def value(self, place: int, epsilon: float, target: Target) -> Answer:
        """By the value's own, if it has some."""
        free = (self._witness.frees or [None])[place]
        if free is not None:
            return self._by(free, epsilon, target)
        if self._otherwise is None:
            raise NotCertified("a value without free numbers")
        return self._otherwise.decide(epsilon, target)

    def _by(self, free: Sequence[FreeNumbers], epsilon: float, target: Target) -> Answer:
        analysis = self._witness.analysis
        if self._claims is None:
            values = [math.log(one) for one in self._witness.values or () if one > 0.0]
            least = min(values, default=target[0] if math.isfinite(target[0]) else -60.0)
            setting = self._setting
            self._claims = StealingClaims(
                setting.mechanism, setting.own, least, jump=analysis == JUMP
            )
        numbers = [one.model_dump() for one in free]
        # The bound itself, or any number up to what is claimed.
        high = self._claims.log_delta(numbers, epsilon=epsilon, enough=target[0])
        words = f"{analysis}, its free numbers as given: {apart('the bound is', high, target[0])}"
        return bounded(high, target, upper=True), words


class AllDataSets(Curve):
    """One-bit reports, or one coordinate of sums of bits: every data set, or one that is named.

    Parameters
    ----------
    bits : Bits
        Of one report.
    n : int
        Users.
    noise : NoiseLaw, optional
        The aggregator's own.
    held : (input, int), optional
        Of a lower end: the victim's first value, and how many others hold that.
    words : str
        What is recomputed.
    """

    def __init__(
        self,
        bits: Bits,
        n: int,
        words: str,
        *,
        noise: NoiseLaw | None = None,
        held: tuple[Any, int] | None = None,
    ) -> None:
        self._curve = BitCurve(bits, n, noise=noise, more_bits=_MORE_BITS)
        self._bits, self._n, self._held, self._words = bits, n, held, words
        if held is not None and not 0 <= held[1] <= n - 1:
            raise ParameterError(f"others = {held[1]!r}: wanted at most {n - 1:,}")

    def decide(self, epsilon: float, target: Target) -> Answer:
        """All data sets are below the target, or some is above it; or the one is."""
        if not math.isfinite(epsilon):
            raise ParameterError(f"epsilon = {epsilon!r}: wanted a finite number")
        if self._held is not None:
            found = self.bracket(swap=False)(epsilon, 0.0)
            words = f"{self._words}: {_distance(found, target)}"
            return compared(found, target, upper=False), words
        seen = self._curve.point(epsilon, width=_NEAR, enough=target[0], given_up=target[0])
        holds = seen.log_high <= target[0]
        log = seen.log_high if holds else seen.log_low
        # Where it fails a data set was seen whose delta is not below that.
        verdict: Verdict = "holds" if holds else "does not hold" if log > target[1] else "undecided"
        words = f"{self._words}, all data sets: {apart('the bound is', log, target[0])}"
        return verdict, words

    def bracket(self, *, swap: bool) -> Bracket:
        """Of the data set that is named; swapped, the victim holds the other value first."""
        first, count = self._held or (None, 0)
        low, high = self._bits.inputs
        if swap:
            first, count = (high if first == low else low), self._n - 1 - count

        def ends(epsilon: float, _width: float) -> Target:
            found = self._curve.of_order(first, count, epsilon)
            return found.log_low, found.log_high

        return ends


class Bound(Curve):
    """One bound, from above or from below."""

    def __init__(self, words: str, made: Callable[[float], float], *, upper: bool) -> None:
        self._words, self._made, self._upper = words, made, upper

    def decide(self, epsilon: float, target: Target) -> Answer:
        """As far as one bound tells."""
        found = self._made(epsilon)
        what = "the bound is" if self._upper else "the best test shows"
        words = f"{self._words}: {apart(what, found, target[0])}"
        return bounded(found, target, upper=self._upper), words


class Guarantee(Curve):
    """What all reports of a user tell alone: nothing is left beyond it."""

    def __init__(self, eps0: float) -> None:
        self._eps0 = eps0

    def decide(self, epsilon: float, target: Target) -> Answer:
        """Whatever delta is claimed."""
        del target
        holds = epsilon >= self._eps0
        words = "no log ratio of a user's reports is larger" if holds else "one may be larger"
        return ("holds" if holds else "does not hold"), f"local: {words}"


# ------------------------------------------------------------------------------ which of them


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


def _distance(bracket: Target, target: Target) -> str:
    """How far a delta is from the one that is claimed."""
    low, high = bracket
    if high == -math.inf:
        return "delta is exactly 0"
    middle = high if low == -math.inf else 0.5 * (low + high)
    if not math.isfinite(target[0]):
        return f"log delta is {middle:.6g}, and 0 was claimed"
    return apart("delta", middle, target[0])
