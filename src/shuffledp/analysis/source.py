"""What a bound can be of, and what analyses ask of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeGuard

from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.labels import others_of
from shuffledp.ball.one_bit import bits_of
from shuffledp.ball.record import Others
from shuffledp.bounds.variation_ratio import VariationRatio
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import table_of
from shuffledp.laws.ratios import ratio_of
from shuffledp.mechanism import LocalEpsilon, Switch
from shuffledp.multimessage import MultiMessage
from shuffledp.neighbours import REPLACEMENT, Relation
from shuffledp.randomizers import Randomizer


@dataclass(frozen=True)
class Family:
    """Everything eps0-LDP, for ``generic``: no randomizer of its own.

    Parameters
    ----------
    eps0 : float
        Local privacy of one report, in nats.
    adaptive : bool
        A randomizer may depend on the messages before it.
    """

    name: ClassVar[str] = "generic"
    summary: ClassVar[str] = "any eps0-LDP randomizer"
    eps0: LocalEpsilon
    adaptive: Switch = False

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


def of_reports(source: Source, n: int) -> bool:
    """Of one report a user: a randomizer, or all eps0-LDP ones."""
    del n
    return isinstance(source, Randomizer | Family)


def refuse_protocol(source: Source, key: str) -> None:
    """NotCertified for a multi-message protocol.

    Parameters
    ----------
    source : Randomizer, family or protocol
        What each user runs.
    key : str
        The analysis that asks.
    """
    if isinstance(source, MultiMessage):
        msg = f"analysis = {key!r}: wanted a randomizer; a protocol has 'multi-message' only"
        raise NotCertified(msg)


def one_randomizer(source: Source, key: str, *, lacks: str = "common blanket") -> Randomizer:
    """The randomizer that every user runs; NotCertified for a family or a protocol.

    Parameters
    ----------
    source : Randomizer or family
        What each user runs.
    key : str
        The analysis that asks.
    lacks : str
        What a family of randomizers does not have in common, for the message.
    """
    refuse_protocol(source, key)
    if not isinstance(source, Randomizer):
        msg = f"analysis = {key!r}: wanted a randomizer; a family of them has no {lacks}"
        raise NotCertified(msg)
    return source


def pure_eps0(source: Source, key: str) -> float:
    """The local guarantee; NotCertified where there is no finite one."""
    if isinstance(source, RatioFamily):
        raise NotCertified(f"analysis = {key!r}: wanted an eps0-LDP randomizer, not p, beta and q")
    refuse_protocol(source, key)
    if not math.isfinite(source.eps0):
        msg = f"analysis = {key!r}: wanted an eps0-LDP randomizer; this one has no finite eps0"
        raise NotCertified(msg)
    return float(source.eps0)


def has_bits(source: Source) -> TypeGuard[Randomizer]:
    """Whether it is a mechanism of one-bit reports whose inputs' laws differ."""
    return isinstance(source, Randomizer) and bits_of(table_of(source)) is not None


def one_bit_of(source: Source, key: str) -> Randomizer:
    """A mechanism of one-bit reports; NotCertified for all others."""
    refuse_protocol(source, key)
    if has_bits(source):
        return source
    msg = f"analysis = {key!r}: wanted a randomizer with two outputs, whose inputs' laws differ"
    raise NotCertified(msg)


def settled_triples(source: Source) -> None:
    """NotCertified unless the others' worst inputs are known: label stealing rests on them."""
    refuse_protocol(source, "label-stealing")
    if isinstance(source, RatioFamily) or (isinstance(source, Family) and source.adaptive):
        what = "p, beta and q" if isinstance(source, RatioFamily) else "an adaptive choice of them"
        raise NotCertified(f"analysis = 'label-stealing': wanted one randomizer, not {what}")
    if isinstance(source, Randomizer) and settled_others(source) is None:
        msg = (
            f"analysis = 'label-stealing': of {source.name} it is not settled which inputs of the "
            "others are the worst"
        )
        raise NotCertified(msg)


@lru_cache(maxsize=64)
def settled_others(source: Randomizer) -> Others | None:
    """What label stealing looks at; None where that is not settled, or too much."""
    try:
        found = others_of(table_of(source))
        if found is not None and found.labels is not None:
            next(found.labels(), None)
    except NotCertified:
        return None
    return found


def on_interval(source: Source) -> bool:
    """Whether the others' inputs fill an interval, so that they have to be covered."""
    found = settled_others(source) if isinstance(source, Randomizer) else None
    return found is not None and found.how == "span"


def has_lone_jumps(source: Source) -> bool:
    """Whether single gains without bound may decide: noise whose worst triples span an interval."""
    found = settled_others(source) if isinstance(source, Randomizer) else None
    return found is not None and found.how == "span" and found.unbounded


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
