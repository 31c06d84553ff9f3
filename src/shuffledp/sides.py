"""What stands behind each end: which analyses apply to a source, and the pairs each evaluates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffledp import theorems
from shuffledp.analyses import Analysis, analysis_named
from shuffledp.binary.curve import quick
from shuffledp.bound import Theorem
from shuffledp.divergence import (
    EpsilonInterval,
    LogInterval,
    PairProfile,
    narrowest,
    slope,
    solve_epsilon,
)
from shuffledp.errors import NotCertified
from shuffledp.multimessage import MultiMessage
from shuffledp.neighbours import REPLACEMENT, Relation
from shuffledp.pair import UNIT_ROUNDOFF, ShuffledPair
from shuffledp.randomizers import KRR, BinaryRR, Randomizer
from shuffledp.randomizers.bits import Bits
from shuffledp.reductions import (
    VariationRatio,
    blanket_pair,
    clone_pair,
    dataset_pair,
    merged_dataset_pair,
    published_pair,
    published_reason,
    ratio_of,
    repaired_pair,
    stronger_clone_pair,
)
from shuffledp.stealing import promising

HONEST = "all n messages are randomized as stated and reach the shuffler"
_SHUFFLER = "the analyst sees the messages in a uniformly random order and nothing else of them"
ONE_ROUND = "one report per user and one round"
# The largest delta of all data sets of one-bit reports: its upper and its lower end.
BINARY = ("binary-exact", "binary-exact-lower")
# Up to so many profiles a loose bracket of each costs more than it saves.
_FEW = 2

Named = tuple[ShuffledPair, dict[str, Any]]


@dataclass(frozen=True)
class Family:
    """Everything eps0-LDP, for ``generic``: no randomizer of its own."""

    name: ClassVar[str] = "generic"
    eps0: float
    adaptive: bool

    def to_dict(self) -> dict[str, Any]:
        """As certificates and deployment files name it."""
        return {"name": self.name, "eps0": self.eps0, "adaptive": self.adaptive}

    @property
    def relation(self) -> Relation:
        """Any value for any other."""
        return REPLACEMENT


@dataclass(frozen=True)
class RatioFamily:
    """Everything with given p, beta and q, for ``variation_ratio``: no randomizer of its own."""

    ratio: VariationRatio
    adaptive: bool

    @property
    def eps0(self) -> float:
        """log p: what the victim's report alone gives away."""
        return self.ratio.eps0

    @property
    def relation(self) -> Relation:
        """Any two values whose laws have these numbers."""
        return REPLACEMENT


Source = Randomizer | Family | RatioFamily | MultiMessage


@dataclass(frozen=True)
class Found:
    """One end: its value, what certifies it, its numerical width, and what reproduces it."""

    value: float
    theorem: Theorem | None
    width: float | None
    witness: dict[str, Any]
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """The profiles of one analysis and what each of them stands for."""

    analysis: Analysis
    theorem: Theorem
    profiles: tuple[PairProfile, ...]
    witnesses: tuple[dict[str, Any], ...]
    assumptions: tuple[str, ...]

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """The end of eps at this delta; an upper one may be as large as ``cap`` without saying so.

        Parameters
        ----------
        delta : float
            Target.
        cap : float
            eps by the local guarantee.
        rtol : float
            Relative width wanted.
        width : float, optional
            Relative width of delta that will be asked for at the end.
        """
        upper = self.analysis.end == "upper"
        found = solve_epsilon(
            self.profiles, math.log(delta), cap=cap, rtol=rtol, need_all=upper, width=width
        )
        return Found(
            found.high if upper else found.low,
            self.theorem,
            _relative(found),
            self.witnesses[found.which],
            self.assumptions,
        )

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The end of log delta at this eps, numerically about a relative ``width`` wide."""
        brackets = self._brackets(epsilon, width)
        upper = self.analysis.end == "upper"
        ends = [bracket.high if upper else bracket.low for bracket in brackets]
        which = max(range(len(ends)), key=ends.__getitem__)
        low, high = brackets[which]
        low = max(bracket.low for bracket in brackets) if upper else low
        gap = 0.0 if high == low else math.expm1(min(high - low, 700.0))
        return Found(ends[which], self.theorem, gap, self.witnesses[which], self.assumptions)

    def _brackets(self, epsilon: float, width: float) -> list[LogInterval]:
        """Of all profiles; of many, those that loose brackets rule out stay loose."""
        if len(self.profiles) <= _FEW:
            return [narrowest(profile, epsilon, width)[0] for profile in self.profiles]
        brackets = [profile.log_delta(epsilon) for profile in self.profiles]
        largest = max(bracket.low for bracket in brackets)
        for i, bracket in enumerate(brackets):
            if bracket.high >= largest:
                found = narrowest(self.profiles[i], epsilon, width)[0]
                low, high = max(bracket.low, found.low), min(bracket.high, found.high)
                brackets[i] = LogInterval(low, high)
        return brackets

    def slope(self, epsilon: float, cap: float) -> float:
        """About -d log delta/d eps, below cap, of the highest profile; certifies nothing."""
        highest = max(self.profiles, key=lambda profile: profile.rough_log_delta(epsilon))
        return slope(highest, epsilon, cap)


def _relative(found: EpsilonInterval) -> float:
    if found.high == found.low:
        return 0.0
    return found.high / found.low - 1.0 if found.low > 0.0 else math.inf


def default_exact(source: Source, n: int) -> bool:
    """Whether all data sets are searched by default: what that takes grows with n."""
    bits = source.bits() if isinstance(source, Randomizer) else None
    return bits is not None and quick(bits, n)


def default_uppers(source: Source) -> tuple[str, ...]:
    """The analyses of which the best is taken, tightest first."""
    if isinstance(source, RatioFamily):
        return ("variation-ratio", "repaired-variation-ratio")
    if isinstance(source, MultiMessage):
        return ("multi-message",)
    if isinstance(source, Randomizer) and not promising(source):
        return ("blanket", "stronger-clone", "clone")
    return ("label-stealing", "blanket", "stronger-clone", "clone")


def require(source: Source, key: str) -> None:
    """Raise NotCertified, with the reason, where the analysis does not apply to the source."""
    if isinstance(source, MultiMessage) or key == "multi-message":
        _require_messages(source, key)
        return
    family = isinstance(source, Family | RatioFamily)
    _require_others(source, key)
    if key in {"blanket", "one-dataset", "variation-ratio-5.1"} and family:
        what = "blanket" if key == "blanket" else "dataset of its own"
        msg = f"analysis = {key!r}: wanted a randomizer; a family of them has no common {what}"
        raise NotCertified(msg)
    if key in {"clone", "stronger-clone"}:
        if isinstance(source, RatioFamily):
            msg = f"analysis = {key!r}: wanted an eps0-LDP randomizer, not p, beta and q"
            raise NotCertified(msg)
        if not math.isfinite(source.eps0):
            msg = f"analysis = {key!r}: wanted an eps0-LDP randomizer; this one has no finite eps0"
            raise NotCertified(msg)
    if key == "variation-ratio":
        for ratio, _ in ratios(source):
            reason = published_reason(ratio)
            if reason is not None:
                raise NotCertified(f"analysis = 'variation-ratio': {reason}")


def _require_others(source: Source, key: str) -> None:
    """What is known of the others' worst inputs, where the analysis asks for it."""
    if key in {"label-stealing", "lone-jump"}:
        _require_triples(source, key)
    if key in BINARY:
        bits_of(source, key)


def bits_of(source: Source, key: str) -> Bits:
    """The odds of a one-bit mechanism; NotCertified for all others."""
    bits = source.bits() if isinstance(source, Randomizer) else None
    if bits is None:
        msg = f"analysis = {key!r}: wanted a randomizer with two outputs, whose inputs' laws differ"
        raise NotCertified(msg)
    return bits


def has_lone_jumps(source: Source) -> bool:
    """Whether single gains without bound may decide: noise whose worst triples span an interval."""
    if not isinstance(source, Randomizer) or math.isfinite(source.eps0):
        return False
    triples = source.worst_triples()
    return triples is not None and triples.theorem is theorems.SPANNING_TRIPLES


def _require_triples(source: Source, key: str) -> None:
    """Label stealing: one randomizer whose worst triples are known, or all eps0-LDP ones."""
    if key == "lone-jump" and not has_lone_jumps(source):
        raise NotCertified("analysis = 'lone-jump': wanted Gaussian noise that is not very narrow")
    if isinstance(source, RatioFamily) or (isinstance(source, Family) and source.adaptive):
        what = "p, beta and q" if isinstance(source, RatioFamily) else "an adaptive choice of them"
        raise NotCertified(f"analysis = 'label-stealing': wanted one randomizer, not {what}")
    if isinstance(source, Randomizer) and source.worst_triples() is None:
        msg = (
            f"analysis = 'label-stealing': of {source.name} it is not settled which inputs of the "
            "others are the worst"
        )
        raise NotCertified(msg)


def _require_messages(source: Source, key: str) -> None:
    if not isinstance(source, MultiMessage):
        raise NotCertified(f"analysis = {key!r}: wanted a multi-message protocol")
    if key not in {"multi-message", "dataset"}:
        msg = f"analysis = {key!r}: wanted a randomizer; a protocol has 'multi-message' only"
        raise NotCertified(msg)


def ratios(source: Source) -> tuple[tuple[VariationRatio, dict[str, Any]], ...]:
    """p, beta and q of every pair that has to be looked at, and words for the pair."""
    if isinstance(source, RatioFamily):
        return ((source.ratio, {}),)
    if isinstance(source, MultiMessage):
        raise NotCertified("a multi-message protocol has no p, beta and q of one report")
    if isinstance(source, Family):
        return ((generic_ratio(source.eps0), {}),)
    return tuple((ratio, {"x0": x0, "x1": x1}) for ratio, (x0, x1) in ratio_of(source))


def generic_ratio(eps0: float) -> VariationRatio:
    """p = q = e^eps0, rounded up, and the largest beta: any eps0-LDP randomizer."""
    grow = math.exp(eps0) * (1.0 + 16 * UNIT_ROUNDOFF)
    return VariationRatio(p=grow, beta=1.0, q=grow)


def theorem_of(source: Source, key: str) -> Theorem:
    """What certifies the analysis for this source, the step that names its worst pairs included."""
    theorem = analysis_named(key).theorem
    if isinstance(source, MultiMessage):
        return source.lower_theorem() if key == "dataset" else source.theorem()
    if isinstance(source, RatioFamily):
        return theorems.ATTAINED if key == "dataset" else theorem
    if isinstance(source, Family):
        if key == "label-stealing":
            return theorems.LABEL_STEALING_FAMILY
        return theorems.FAMILY if key == "dataset" else theorem
    if key in {"label-stealing", "lone-jump"}:
        triples = source.worst_triples()
        return theorem if triples is None else theorem.with_step(triples.theorem)
    if key == "blanket" or key in RATIOS:
        return theorem.with_step(source.worst_pairs().theorem)
    return theorem


def make_side(source: Source, key: str, *, n: int, cells: int) -> Side:
    """The profiles of one analysis of a pair; NotCertified where it cannot be made."""
    require(source, key)
    pairs = _MAKERS[key](source, n, cells)
    theorem = theorem_of(source, key)
    # A step that is proved here matters where all others are published.
    seen = key == "blanket" and any(pair.outside.any() for pair, _ in pairs)
    if seen and theorem.provenance == "published":
        theorem = theorem.with_step(theorems.OUTSIDE)
    profiles, witnesses = _distinct(pairs)
    return Side(analysis_named(key), theorem, profiles, witnesses, words_for(source, key))


def own_assumptions(source: Source) -> tuple[str, ...]:
    """What the mechanism itself takes for granted, in words."""
    return source.assumptions() if isinstance(source, Randomizer) else ()


def words_for(source: Source, key: str) -> tuple[str, ...]:
    """The assumptions under which the analysis holds for this source."""
    if isinstance(source, MultiMessage):
        return source.assumptions()
    words = (source.relation.sentence, HONEST, _SHUFFLER, ONE_ROUND, *own_assumptions(source))
    if analysis_named(key).end == "lower":
        return words
    adaptive = not isinstance(source, Randomizer) and source.adaptive
    if isinstance(source, RatioFamily):
        return (*words, _RATIO_ADAPTIVE if adaptive else _RATIO)
    if isinstance(source, Family) and key == "label-stealing":
        return (*words, _SAME_FAMILY)
    if not analysis_named(key).any_randomizer or (isinstance(source, Randomizer) and key in RATIOS):
        return (*words, SAME)
    return (*words, _ADAPTIVE if adaptive else IN_ORDER)


def _clone_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    return [(clone_pair(eps0=source.eps0, n=n), {"analysis": "clone"})]


def _stronger_clone_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    return [(stronger_clone_pair(eps0=source.eps0, n=n), {"analysis": "stronger-clone"})]


def _repaired_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    key = "repaired-variation-ratio"
    return [
        (repaired_pair(ratio, n=n), {"analysis": key, **words, **_numbers(ratio)})
        for ratio, words in ratios(source)
    ]


def _message_pairs(source: Source, n: int, cells: int) -> list[Named]:
    del cells
    return source.pairs(n) if isinstance(source, MultiMessage) else []


def published_ratio_pairs(source: Source, n: int, cells: int) -> list[Named]:
    """The published variation-ratio pairs, whether or not they bound anything."""
    del cells
    key = "variation-ratio"
    return [
        (published_pair(ratio, n=n), {"analysis": key, **words, **_numbers(ratio)})
        for ratio, words in ratios(source)
    ]


def _numbers(ratio: VariationRatio) -> dict[str, Any]:
    p = ratio.p if math.isfinite(ratio.p) else None
    return {"p": p, "beta": float(ratio.total_variation), "q": ratio.q}


def _blanket_pairs(source: Source, n: int, cells: int) -> list[Named]:
    randomizer = _member(source)
    return [
        (
            blanket_pair(randomizer, x0, x1, n=n, cells=cells),
            {"analysis": "blanket", "x0": x0, "x1": x1, "swap": False},
        )
        for x0, x1 in randomizer.worst_pairs().pairs
    ]


def dataset_pairs(source: Source, n: int, cells: int) -> list[Named]:
    """Pairs of the datasets worth trying for a lower bound, each followed by its swap."""
    if isinstance(source, MultiMessage):
        return source.lower_pairs(n)
    if isinstance(source, RatioFamily):
        pair = repaired_pair(source.ratio, n=n)
        witness = {"analysis": "dataset", "member": "attains", **_numbers(source.ratio)}
        return [(pair, {**witness, "swap": False}), (pair.swap(), {**witness, "swap": True})]
    if isinstance(source, Family):
        return _family_pairs(source.eps0, n, cells)
    randomizer = _member(source)
    return _dataset_pairs(randomizer, randomizer.datasets(), n, cells, "dataset")


def _family_pairs(eps0: float, n: int, cells: int) -> list[Named]:
    """Two members of the family of all eps0-LDP randomizers: binary RR, and 3-RR, others at 2.

    To first order none is worse: the integral of (R_x1 - R_x0)^2/R_x over all eps0-LDP randomizers
    and inputs is at most (E - 1)^2 max(1/E, 2/(E + 2)), binary RR's for E <= 2 and 3-RR's above.
    """
    two = BinaryRR(eps0=eps0)
    members = (("binary-rr", two, two.datasets()), ("3-rr", KRR(k=3, eps0=eps0), ((0, 1, 2),)))
    return [
        (pair, {**words, "member": name})
        for name, member, triples in members
        for pair, words in _dataset_pairs(member, triples, n, cells, "dataset")
    ]


def _one_dataset_pairs(source: Source, n: int, cells: int) -> list[Named]:
    """One triple: the first whose x2 is neither x0 nor x1, as in Su et al., or else the first."""
    randomizer = _member(source)
    triples = randomizer.datasets()
    third = next((t for t in triples if t[2] not in (t[0], t[1])), triples[0])
    return _dataset_pairs(randomizer, (third,), n, cells, "one-dataset")


def _merged_dataset_pairs(source: Source, n: int, cells: int) -> list[Named]:
    randomizer = _member(source)
    found = []
    for x0, x1, x2 in randomizer.datasets():
        pair = merged_dataset_pair(randomizer, x0, x1, x2, n=n, cells=cells)
        witness = {"analysis": "variation-ratio-5.1", "x0": x0, "x1": x1, "x2": x2}
        found.append((pair, {**witness, "swap": False}))
        found.append((pair.swap(), {**witness, "swap": True}))
    return found


def _dataset_pairs(
    randomizer: Randomizer,
    triples: Sequence[tuple[Any, Any, Any]],
    n: int,
    cells: int,
    key: str,
) -> list[Named]:
    found = []
    for x0, x1, x2 in triples:
        pair = dataset_pair(randomizer, x0, x1, x2, n=n, cells=cells)
        witness = {"analysis": key, "x0": x0, "x1": x1, "x2": x2}
        found.append((pair, {**witness, "swap": False}))
        found.append((pair.swap(), {**witness, "swap": True}))
    return found


def _member(source: Source) -> Randomizer:
    """The randomizer itself; a family has none of its own."""
    if isinstance(source, MultiMessage):
        raise NotCertified("a multi-message protocol has no one randomizer")
    if isinstance(source, Family | RatioFamily):
        raise NotCertified("a family has no randomizer of its own")
    return source


def _distinct(
    pairs: Sequence[Named],
) -> tuple[tuple[PairProfile, ...], tuple[dict[str, Any], ...]]:
    """Profiles of the pairs, equal laws once."""
    seen: set[tuple[bytes, ...]] = set()
    profiles, witnesses = [], []
    for pair, witness in pairs:
        profile = PairProfile(pair)
        key = profile.fingerprint()
        if key not in seen:
            seen.add(key)
            profiles.append(profile)
            witnesses.append(witness)
    return tuple(profiles), tuple(witnesses)


SAME = "every user runs the same randomizer, chosen before any message is seen"
_SAME_FAMILY = "every user runs the same eps0-LDP randomizer, chosen before any message is seen"
_ADAPTIVE = (
    "every randomizer is eps0-LDP for every history it may depend on; users are "
    "shuffled first, then randomized one after another"
)
IN_ORDER = (
    "every user runs the same eps0-LDP randomizer, or the i-th message of the "
    "shuffled users is made by the i-th randomizer"
)
_RATIO = (
    "p, beta and q hold for the victim's two laws and every other user's law on one alphabet, "
    "chosen before any message is seen"
)
_RATIO_ADAPTIVE = (
    "p, beta and q hold at every position and for every history; users are shuffled first, then "
    "randomized one after another"
)
_MAKERS: dict[str, Callable[[Source, int, int], list[Named]]] = {
    "blanket": _blanket_pairs,
    "stronger-clone": _stronger_clone_pairs,
    "clone": _clone_pairs,
    "multi-message": _message_pairs,
    "repaired-variation-ratio": _repaired_pairs,
    "variation-ratio": published_ratio_pairs,
    "dataset": dataset_pairs,
    "one-dataset": _one_dataset_pairs,
    "variation-ratio-5.1": _merged_dataset_pairs,
}
PAIR_KEYS = frozenset(_MAKERS)
# Of a randomizer these take p, beta and q of its worst pairs, so rest on their being the worst.
RATIOS = frozenset(
    {
        "repaired-variation-ratio",
        "variation-ratio",
        "variation-ratio-4.2",
        "variation-ratio-4.3",
    }
)
