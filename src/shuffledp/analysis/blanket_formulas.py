"""Closed forms of the blanket by the moments of its gains: Hoeffding and Bennett."""

from __future__ import annotations

from collections.abc import Callable

from shuffledp import theorems
from shuffledp.analysis.formulas import Formula, Made, OfFormula
from shuffledp.analysis.source import Family, Source, one_randomizer, pure_eps0
from shuffledp.closed_forms import blanket
from shuffledp.closed_forms.interval import Interval
from shuffledp.errors import NotCertified
from shuffledp.pair import UNIT_ROUNDOFF as U
from shuffledp.randomizers import KRR, BinaryRR, Laplace

_SAME = "one eps0-LDP randomizer for all users, not adaptive"


def _moments(source: Source, key: str) -> blanket.Moments:
    """Range and second moment of the mechanism, or what its blanket's mass alone gives."""
    if isinstance(source, KRR | BinaryRR):
        return blanket.k_rr(source.k if isinstance(source, KRR) else 2, source.eps0)
    if isinstance(source, Laplace):
        return blanket.laplace(source.eps0)
    eps0 = pure_eps0(source, key)
    randomizer = one_randomizer(source, key)
    pair = randomizer.worst_pairs().pairs[0]
    law = randomizer.law(pair)
    gamma = float(law.blanket.sum())
    pad = law.rel + (law.blanket.size + 4) * U
    top = min(gamma * (1.0 + pad) + float(law.tails().max()), 1.0)
    return blanket.known_blanket(eps0, Interval(gamma * (1.0 - pad), top))


def _bennett(source: Source, n: int) -> Made:
    _refuse_adaptive(source, "bennett")
    return _of_moments(_moments(source, "bennett"), n, blanket.log_bennett)


def _bennett_generic(source: Source, n: int) -> Made:
    key = "bennett-generic"
    _refuse_adaptive(source, key)
    return _of_moments(blanket.generic(pure_eps0(source, key)), n, blanket.log_bennett)


def _hoeffding(source: Source, n: int) -> Made:
    _refuse_adaptive(source, "hoeffding")
    return _of_moments(_moments(source, "hoeffding"), n, blanket.log_hoeffding)


def _hoeffding_generic(source: Source, n: int) -> Made:
    key = "hoeffding-generic"
    _refuse_adaptive(source, key)
    return _of_moments(blanket.generic(pure_eps0(source, key)), n, blanket.log_hoeffding)


def _of_moments(moments: blanket.Moments, n: int, bound: Callable[..., float]) -> Made:
    return Formula(None, lambda epsilon: bound(moments, n=n, epsilon=epsilon)), {}


def _refuse_adaptive(source: Source, key: str) -> None:
    if isinstance(source, Family) and source.adaptive:
        raise NotCertified(f"analysis = {key!r}: not proved for adaptive randomizers")


BENNETT = OfFormula(
    "bennett",
    "upper",
    theorems.BENNETT,
    f"k-RR, binary RR and Laplace by their own moments, others by gamma; {_SAME}",
    worst="pairs",
    formula=_bennett,
)
BENNETT_GENERIC = OfFormula(
    "bennett-generic",
    "upper",
    theorems.BENNETT_GENERIC,
    _SAME,
    formula=_bennett_generic,
)
HOEFFDING = OfFormula(
    "hoeffding",
    "upper",
    theorems.HOEFFDING,
    f"k-RR, binary RR and Laplace by their own range, others by gamma; {_SAME}",
    worst="pairs",
    formula=_hoeffding,
)
HOEFFDING_GENERIC = OfFormula(
    "hoeffding-generic",
    "upper",
    theorems.HOEFFDING_GENERIC,
    _SAME,
    formula=_hoeffding_generic,
)
