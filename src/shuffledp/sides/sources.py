"""What a bound can be of, which analyses apply to it, and by which theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffledp import theorems
from shuffledp.analyses import analysis_named
from shuffledp.binary.curve import quick
from shuffledp.bound import Theorem
from shuffledp.errors import NotCertified
from shuffledp.multimessage import MultiMessage
from shuffledp.neighbours import REPLACEMENT, Relation
from shuffledp.pair import UNIT_ROUNDOFF
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.bits import Bits
from shuffledp.reductions import (
    VariationRatio,
    published_reason,
    ratio_of,
)
from shuffledp.stealing import promising

# The largest delta of all data sets of one-bit reports: its upper and its lower end.
BINARY = ("binary-exact", "binary-exact-lower")


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


# Of a randomizer these take p, beta and q of its worst pairs, so rest on their being the worst.
RATIOS = frozenset(
    {
        "repaired-variation-ratio",
        "variation-ratio",
        "variation-ratio-4.2",
        "variation-ratio-4.3",
    }
)
