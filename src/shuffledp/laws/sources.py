"""What a bound can be of, and the pairs of neighbouring laws that are looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from shuffledp import _check, theorems
from shuffledp.arithmetic.balls import arb, ctx, float_above, precision_for, total
from shuffledp.arithmetic.floats import UNIT_ROUNDOFF
from shuffledp.ball.record import Definition, Others
from shuffledp.bounds.continuous import Cells
from shuffledp.bounds.pairs import LawPair
from shuffledp.bounds.variation_ratio import VariationRatio, largest_ratio, repaired_pair
from shuffledp.errors import NotCertified, rejected
from shuffledp.kernel.cells import Cell
from shuffledp.laws.pairs import Pair, blanket_pair, cells_of, dataset_pair
from shuffledp.mechanism.parameters import LocalEpsilon, Switch
from shuffledp.multimessage import MultiMessage
from shuffledp.neighbours import REPLACEMENT, Relation
from shuffledp.randomizers import KRR, BinaryRR, Randomizer
from shuffledp.theorems import Theorem

__all__ = ["ratio_of"]

U = UNIT_ROUNDOFF


def ratio_of(
    randomizer: Randomizer,
) -> tuple[tuple[VariationRatio, tuple[object, object]], ...]:
    """p, beta, q of each of the randomizer's worst pairs, with that pair.

    q is taken against the blanket, so the repaired bound of these pairs is at least the blanket
    bound of every pair of inputs (docs/theory.md, Theorem 5.7).

    Raises
    ------
    NotCertified
        If q is infinite: outputs that some other input never gives.
    """
    found = []
    for pair in randomizer.worst_pairs().pairs:
        laws = blanket_pair(randomizer, *pair, n=1)
        if isinstance(laws, LawPair):
            p, beta, q = largest_ratio(laws)
        else:
            with ctx.workprec(precision_for(1)):
                p, beta, q = _of_cells(cells_of(randomizer, pair))
        grow = math.exp(randomizer.eps0) * (1.0 + 16 * U) if randomizer.eps0 < 700.0 else math.inf
        p, q = min(p, grow), min(q, grow)
        if not math.isfinite(q):
            msg = (
                "variation ratio: q is infinite, for some output of the victim's is impossible (or "
                "has unbounded likelihood ratio) under another input"
            )
            raise NotCertified(msg)
        found.append((VariationRatio(max(p, 1.0), min(beta, 1.0), max(q, 1.0)), pair))
    return tuple(found)


def _of_cells(cells: Cells) -> tuple[float, float, float]:
    """p, beta and q of a continuous output, from its cells, rounded up.

    int (P - Q)_+ over a cell is at most P (1 - Q/P) where Q/P is least, and it is P - Q more than
    int (Q - P)_+, which is at most Q (1 - P/Q) where P/Q is least.
    """
    beta = min(float_above(total(_excess(cell) for cell in cells.cells) + cells.p), 1.0)
    if not cells.p.is_zero():
        # Beyond the cells ratios are not known: only the local guarantee bounds them there.
        return math.inf, beta, math.inf
    ratios = [x / y for c in cells.cells for x, y in (c.top, c.bottom[::-1])]
    heights = [x for c in cells.cells for x in (c.plain().top.u, c.plain().bottom.v)]
    p, q = (
        max(float_above(x) if x.is_finite() else math.inf for x in found)
        for found in (ratios, heights)
    )
    return p, beta, q


def _excess(cell: Cell) -> arb:
    """At least the integral of (P - Q)_+ over the cell."""
    (low_u, high_v), (high_u, low_v) = cell.bottom, cell.top
    part = (1 - low_v / high_u).nonnegative_part() if high_u.is_finite() else arb(1)
    other = (1 - low_u / high_v).nonnegative_part() if high_v.is_finite() else arb(1)
    return (cell.p * part).min(cell.p - cell.q + cell.q * other)


# A pair, and the words that reproduce it.
Named = tuple[Pair, dict[str, Any]]


@dataclass(frozen=True)
class Family(Definition):
    """Everything eps0-LDP, for ``generic``: no randomizer of its own, and no law.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", _check.local_epsilon("eps0", self.eps0))
        if not isinstance(self.adaptive, bool):
            raise rejected("adaptive", self.adaptive, "True or False")

    def to_dict(self) -> dict[str, Any]:
        """As certificates and deployment files name it."""
        return {"name": self.name, "eps0": self.eps0, "adaptive": self.adaptive}

    def others(self) -> Others | None:
        """One pair; randomizers that depend on earlier messages have none."""
        found = Others("family", theorems.LABEL_STEALING_FAMILY, ((0, 1),))
        return None if self.adaptive else found

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


def refuse_protocol(source: Source, key: str) -> None:
    """NotCertified for a multi-message protocol; ``key`` is the analysis that asks."""
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


@lru_cache(maxsize=64)
def settled_others(source: Randomizer) -> Others | None:
    """What label stealing looks at; None where that is not settled, or too much."""
    try:
        found = source.others()
        if found is not None and found.labels is not None:
            next(found.labels(), None)
    except NotCertified:
        return None
    return found


# ------------------------------------------------------------------------------ p, beta and q


def ratios_of(source: Source) -> tuple[tuple[VariationRatio, dict[str, Any]], ...]:
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


def numbers(ratio: VariationRatio) -> dict[str, Any]:
    """p, beta and q as witnesses have them."""
    p = ratio.p if math.isfinite(ratio.p) else None
    return {"p": p, "beta": float(ratio.total_variation), "q": ratio.q}


# ---------------------------------------------------------------------- data sets: lower ends


def lower_theorem(source: Source) -> Theorem:
    """The theorem of a lower end: of the randomizer, the protocol, or a member of the family."""
    if isinstance(source, MultiMessage):
        return theorems.MESSAGE_DATASET
    if isinstance(source, RatioFamily):
        return theorems.ATTAINED
    return theorems.FAMILY if isinstance(source, Family) else theorems.DATASET


def dataset_pairs(source: Source, n: int) -> list[Named]:
    """Pairs of the data sets worth trying for a lower bound, each followed by its swap.

    Parameters
    ----------
    source : Randomizer, family or protocol
        What each user runs.
    n : int
        Users (messages in the shuffle).
    """
    if isinstance(source, MultiMessage):
        return [*source.lower_pairs(n)]
    if isinstance(source, RatioFamily):
        pair = repaired_pair(source.ratio, n=n, attained=True)
        witness = {"analysis": "dataset", "member": "attains", **numbers(source.ratio)}
        witness["beta"] = float(source.ratio.attained_variation)
        return both_ways(pair, witness)
    if isinstance(source, Family):
        return _family_pairs(source.eps0, n)
    return pairs_of(source, source.datasets(), n)


def _family_pairs(eps0: float, n: int) -> list[Named]:
    """Two members of the family of all eps0-LDP randomizers: binary RR, and 3-RR, others at 2.

    To first order none is worse: the integral of (R_x1 - R_x0)^2/R_x over all eps0-LDP randomizers
    and inputs is at most (E - 1)^2 max(1/E, 2/(E + 2)), binary RR's for E <= 2 and 3-RR's above.
    """
    two = BinaryRR(eps0=eps0)
    members = (("binary-rr", two, two.datasets()), ("3-rr", KRR(k=3, eps0=eps0), ((0, 1, 2),)))
    return [
        (pair, {**named, "member": name})
        for name, member, triples in members
        for pair, named in pairs_of(member, triples, n)
    ]


def pairs_of(
    randomizer: Randomizer, triples: Sequence[tuple[Any, Any, Any]], n: int
) -> list[Named]:
    """Pairs of the data sets (x0, x1, x2), where all others hold x2, each followed by its swap.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    triples : sequence of (x0, x1, x2)
        The data sets.
    n : int
        Users.
    """
    found = []
    for x0, x1, x2 in triples:
        pair = dataset_pair(randomizer, x0, x1, x2, n=n)
        found += both_ways(pair, {"analysis": "dataset", "x0": x0, "x1": x1, "x2": x2})
    return found


def both_ways(pair: Pair, witness: dict[str, Any]) -> list[Named]:
    """The pair and its swap, with the witness of each."""
    return [(pair, {**witness, "swap": False}), (pair.swap(), {**witness, "swap": True})]
