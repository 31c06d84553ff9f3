"""All published formulas that the library does not certify, by the name that ``analysis`` takes."""

from __future__ import annotations

import copyreg
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shuffledp.arithmetic.balls import arb
from shuffledp.ball.outputs import Law, OutputClass
from shuffledp.bound import Theorem
from shuffledp.bounds.continuous import CellPair
from shuffledp.bounds.pairs import LawPair, Laws
from shuffledp.bounds.variation_ratio import published_pair, published_reason
from shuffledp.errors import NotCertified
from shuffledp.laws.pairs import (
    Midpoints,
    Pair,
    blanket_mass,
    blanket_pair,
    midpoints,
)
from shuffledp.laws.sources import (
    Family,
    RatioFamily,
    Source,
    both_ways,
    one_randomizer,
    pairs_of,
    pure_eps0,
    ratios_of,
)
from shuffledp.multimessage import MultiMessage
from shuffledp.propose.inverse import lower_epsilon, upper_epsilon
from shuffledp.propose.profile import LARGEST_EPSILON, Profile
from shuffledp.published import formulas as forms
from shuffledp.published import limits
from shuffledp.published.estimate import NOT_CERTIFIED, Formula, epsilon_of
from shuffledp.randomizers import KRR, BinaryRR, Laplace, Randomizer

# eps of a key, a source, n and delta.
_Epsilon = Callable[[str, Source, int, float], float]

_FLOATS = "not certified: the formula in plain floating point"
_MEMORY = "not certified: the formula's constants are from memory of the paper"
# Relative widths of eps of pairs' curves: of cells a hundred times narrower ones take ten times as
# long.
_OF_CLASSES, _OF_CELLS = 1e-6, 5e-5
# Relative difference of two probabilities that rounding makes.
_EQUAL = 1e-12
# Shares of delta/n that delta0 may have in Theorem 3.8.
_SHARES = tuple(10.0**-k for k in range(1, 9))


# ---------------------------------------------------------------------- any eps0-LDP randomizer


def _of_eps0(form: Callable[..., float]) -> _Epsilon:
    """A formula of eps0, n and delta."""
    return lambda key, source, n, delta: form(eps0=pure_eps0(source, key), n=n, delta=delta)


def _csuzz19(key: str, source: Source, n: int, delta: float) -> float:
    if not (isinstance(source, KRR) and source.k == 2):
        raise NotCertified(f"analysis = {key!r}: wanted binary randomized response")
    return forms.cheu(eps0=source.eps0, n=n, delta=delta)


# -------------------------------------------------------------------------------- one randomizer


def _fmt_3_8(key: str, source: Source, n: int, delta: float) -> float:
    """Half of delta to the clones; the best delta0 whose part fits into the rest."""
    randomizer = one_randomizer(source, key)
    if math.isfinite(randomizer.eps0):
        raise NotCertified(f"analysis = {key!r}: this randomizer is eps0-LDP; wanted 'fmt-3.1'")
    # The clones hide among users whose values are no neighbours of the victim's.
    randomizer = randomizer.unrestricted()
    best, reason = math.inf, "no delta0 tried leaves room"
    for delta0 in (share * delta / n for share in _SHARES):
        eps0 = randomizer.local_epsilon(delta0)
        if not 0.0 < eps0 <= LARGEST_EPSILON:
            continue
        given = {"eps0": eps0, "delta0": delta0, "n": n, "delta": 0.5 * delta}
        try:
            epsilon, total = forms.clone_approximate(**given)
        except NotCertified as error:
            reason = str(error)
            continue
        best = epsilon if total <= delta and epsilon < best else best
    if math.isinf(best):
        raise NotCertified(f"analysis = {key!r}: {reason}")
    return best


def _fmt_4_1(key: str, source: Source, n: int, delta: float) -> float:
    randomizer = one_randomizer(source, key)
    worst = randomizer.worst_pairs().pairs
    laws = [_three_laws(key, midpoints(randomizer, pair)) for pair in worst]
    return max(forms.decomposition(p=p, q=q, n=n, delta=delta) for p, q in laws)


def _three_laws(key: str, law: Midpoints) -> tuple[float, float]:
    """p and q of Theorem 4.1 with Q0 the common part of R_x0 and R_x1.

    q = TV, and p the largest number with p (Q1_0 + Q1_1 + Q0) <= the blanket, so that every input's
    law contains the three, those of x0 and x1 too.
    """
    if law.continuous:
        raise NotCertified(f"analysis = {key!r}: wanted finitely many likelihood ratios")
    gap, common = np.abs(law.first - law.second), np.minimum(law.first, law.second)
    q, shared = 0.5 * float(gap.sum()), float(common.sum())
    if q <= 0.0:
        raise NotCertified(f"analysis = {key!r}: the two laws are the same")
    laws = gap / q + (common / shared if shared > 0.0 else 0.0)
    p = float((law.reference[laws > 0.0] / laws[laws > 0.0]).min())
    if p <= 0.0:
        raise NotCertified(f"analysis = {key!r}: the blanket misses an output of the victim's")
    return min(p, 1.0 / 3.0), q


def _fmt_4_2(key: str, source: Source, n: int, delta: float) -> float:
    if not isinstance(source, KRR):
        raise NotCertified(f"analysis = {key!r}: wanted k-RR")
    return forms.k_rr(k=source.k, eps0=source.eps0, n=n, delta=delta)


def _inequality(bound: Callable[..., float], *, generic: bool) -> _Epsilon:
    """Hoeffding's or Bennett's inequality, by the mechanism's own moments or by eps0 alone."""

    def epsilon(key: str, source: Source, n: int, delta: float) -> float:
        if isinstance(source, Family) and source.adaptive:
            raise NotCertified(f"analysis = {key!r}: not proved for adaptive randomizers")
        eps0 = pure_eps0(source, key)
        of_any = functools.partial(forms.moments_of_any, eps0)
        moments = of_any if generic else _moments(key, source, eps0)
        return epsilon_of(lambda e: bound(moments(e), n=n, epsilon=e), delta, eps0)

    return epsilon


def _moments(key: str, source: Source, eps0: float) -> Callable[[float], forms.Moments]:
    """Range and second moment of the mechanism, or what its blanket's mass alone gives."""
    if isinstance(source, KRR):
        return functools.partial(forms.moments_of_k_rr, source.k, eps0)
    if isinstance(source, Laplace):
        return functools.partial(forms.moments_of_laplace, eps0)
    randomizer = one_randomizer(source, key)
    gamma = blanket_mass(randomizer, randomizer.worst_pairs().pairs[0])
    return functools.partial(forms.moments_of_blanket, eps0, gamma)


# ----------------------------------------------------------------------- pairs, by the library


def _of_pairs(pairs: Sequence[Pair], cap: float, delta: float, *, lower: bool) -> float:
    """eps of the largest of the curves of some pairs."""
    rtol = _OF_CELLS if any(isinstance(pair, CellPair) for pair in pairs) else _OF_CLASSES
    solve = lower_epsilon if lower else upper_epsilon
    profiles = [Profile(pair) for pair in pairs]
    found = solve(profiles, math.log(delta), cap=cap, rtol=rtol)
    return found.low if lower else found.high


def _variation_ratio(key: str, source: Source, n: int, delta: float) -> float:
    del key
    pairs = [published_pair(ratio, n=n) for ratio, _ in ratios_of(source)]
    return _of_pairs(pairs, source.eps0, delta, lower=False)


def _no_bound(source: Source) -> str:
    """Why the published pair does not bound the source; empty where it does."""
    reasons = [published_reason(ratio) for ratio, _ in ratios_of(source)]
    return next((f"not a bound: {reason}" for reason in reasons if reason is not None), "")


def _ratio_form(form: Callable[..., float]) -> _Epsilon:
    """A closed form of p, beta and q: the largest over the worst pairs."""

    def epsilon(key: str, source: Source, n: int, delta: float) -> float:
        if _no_bound(source):
            raise NotCertified(f"analysis = {key!r}: {_no_bound(source)}")
        given = [(r.p, float(r.total_variation), r.q, n) for r, _ in ratios_of(source)]
        return max(form(*one, delta) for one in given)

    return epsilon


def _one_dataset(key: str, source: Source, n: int, delta: float) -> float:
    """One triple: the first whose x2 is neither x0 nor x1, as in Su et al., or else the first."""
    randomizer = one_randomizer(source, key, lacks="dataset of its own")
    triples = randomizer.datasets()
    third = next((t for t in triples if t[2] not in (t[0], t[1])), triples[0])
    pairs = [pair for pair, _ in pairs_of(randomizer, (third,), n)]
    return _of_pairs(pairs, source.eps0, delta, lower=True)


def _merged_dataset(key: str, source: Source, n: int, delta: float) -> float:
    randomizer = one_randomizer(source, key, lacks="dataset of its own")
    pairs = []
    for triple in randomizer.datasets():
        laws, name = Laws(functools.partial(_merged, randomizer, triple)), repr(triple)
        found = LawPair(("merged", randomizer, name), n, laws, "input")
        pairs += [pair for pair, _ in both_ways(found, {})]
    return _of_pairs(pairs, source.eps0, delta, lower=True)


def _merged(randomizer: Randomizer, triple: tuple[Any, Any, Any], log_cut: float) -> Law:
    """Outputs likelier under x0, those likelier under x1, and those equally likely."""
    del log_cut
    law = midpoints(randomizer, triple)
    more, less = law.first - law.second, _EQUAL * (law.first + law.second)
    sides = more > less, more < -less, abs(more) <= less
    masses = [[law.first[side], law.second[side], law.reference[side]] for side in sides]
    return [OutputClass(arb(0), tuple(arb(float(one.sum())) for one in row)) for row in masses]


# --------------------------------------------------------------------------- limits of the blanket


def _member(key: str, source: Source) -> Randomizer:
    """The randomizer; for all eps0-LDP ones binary RR, whose blanket is their stronger clone."""
    if isinstance(source, RatioFamily | MultiMessage):
        raise NotCertified(f"analysis = {key!r}: wanted a randomizer or eps0")
    return BinaryRR(eps0=source.eps0) if isinstance(source, Family) else source


def _gaussian(key: str, source: Source, n: int, delta: float) -> float:
    randomizer = _member(key, source)
    worst = randomizer.worst_pairs().pairs
    pairs = [blanket_pair(randomizer, x0, x1, n=n) for x0, x1 in worst]
    return max(limits.gaussian_epsilon(pair, delta=delta, cap=source.eps0) for pair in pairs)


def _index(key: str, source: Source, n: int, delta: float) -> float:
    chi = limits.shuffle_index(_member(key, source)).lower.value
    return limits.band_epsilon(chi=chi, n=n, delta=delta)


def _index_lower(key: str, source: Source, n: int, delta: float) -> float:
    """By the least chi of a data set of any member."""
    members = [_member(key, source)]
    if isinstance(source, Family):
        members.append(KRR(k=3, eps0=source.eps0))
    chi = min(limits.shuffle_index(m).upper.value for m in members)
    return limits.band_epsilon(chi=chi, n=n, delta=delta)


# ------------------------------------------------------------------------------------- the table

_ANY = "any eps0-LDP randomizers, adaptive too"
_SAME = "one eps0-LDP randomizer for all users, not adaptive"
_OWN = "k-RR, binary RR and Laplace by their own moments, others by gamma"
_BBGN = "Balle, Bell, Gascon, Nissim 2019, section 5"
_FMT = "Feldman, McMillan, Talwar 2021"
_FMT23 = "Feldman, McMillan, Talwar 2023"
_WANG = "Wang et al. 2024"
_S2 = "Analysis of Shuffling Beyond Pure Local Differential Privacy, 2026"
# Key, title, source, what it applies to, and its eps.
_ROWS: tuple[tuple[str, str, str, str, _Epsilon], ...] = (
    ("variation-ratio", "variation ratio as published, whether or not it bounds",
     f"{_WANG}, Theorem 4.1", "can be too small where beta is not (p-1)/(p+1)", _variation_ratio),
    ("variation-ratio-4.2", "variation ratio, closed form",
     f"{_WANG}, Theorem 4.2, under the conditions of docs/theory.md, Theorem 5.11",
     "beta = (p-1)/(p+1); conditions on n and delta", _ratio_form(forms.variation_ratio_4_2)),
    ("variation-ratio-4.3", "variation ratio, simpler closed form", f"{_WANG}, Theorem 4.3",
     "beta = (p-1)/(p+1); n >= 8 log(2/delta)/r", _ratio_form(forms.variation_ratio_4_3)),
    ("variation-ratio-5.1", "lower bound by three classes of outputs", f"{_WANG}, Theorem 5.1",
     "one randomizer; never above the dataset bound", _merged_dataset),
    ("one-dataset", "one pair of neighbouring datasets, a third input for all others",
     "Su, Cheng, Wang 2025, Theorem 14", "one randomizer; never above the dataset bound",
     _one_dataset),
    ("bennett", "Bennett's inequality on the blanket, moments of the mechanism",
     _BBGN, f"{_OWN}; {_SAME}", _inequality(forms.log_bennett, generic=False)),
    ("bennett-generic", "Bennett's inequality on the blanket, any eps0-LDP randomizer",
     _BBGN, _SAME, _inequality(forms.log_bennett, generic=True)),
    ("hoeffding", "Hoeffding's inequality on the blanket, range of the mechanism",
     _BBGN, f"{_OWN}; {_SAME}", _inequality(forms.log_hoeffding, generic=False)),
    ("hoeffding-generic", "Hoeffding's inequality on the blanket, any eps0-LDP randomizer",
     _BBGN, _SAME, _inequality(forms.log_hoeffding, generic=True)),
    ("fmt-3.1", "standard clone, closed form",
     f"{_FMT}, Theorem 3.1, with log(4/delta) in its condition",
     f"{_ANY}; eps0 <= log(n/(16 log(4/delta)))", _of_eps0(forms.clone)),
    ("fmt-3.8", "standard clone for (eps0, delta0)-LDP randomizers, closed form",
     f"{_FMT}, Theorem 3.8", "no finite eps0; conditions of fmt-3.1 at (eps0, delta/2)", _fmt_3_8),
    ("fmt-4.1", "clones of three laws that every input's output law contains, closed form",
     f"{_FMT}, Theorem 4.1, with log(4 q/delta) in its condition",
     "finitely many likelihood ratios, not adaptive; p >= 8 log(4 q/delta)/n", _fmt_4_1),
    ("fmt-4.2", "clones for k-RR, closed form",
     f"{_FMT}, Corollary 4.2, under the condition of Theorem 4.1 too",
     "k-RR; conditions of fmt-3.1 and of fmt-4.1", _fmt_4_2),
    ("efmrtt19", "12 eps0 sqrt(log(1/delta)/n)",
     "Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019, Theorem 7",
     f"{_ANY}; eps0 < 1/2, n >= 1000, delta < 1/100", _of_eps0(forms.erlingsson)),
    ("csuzz19", "binary randomized response, closed form",
     "Cheu, Smith, Ullman, Zeber, Zhilyaev 2019, constants from memory",
     "binary RR; 2n/(e^eps0 + 1) >= 14 log(4/delta)", _csuzz19),
    ("stronger-clone-3.2", "stronger clone, closed form",
     f"{_FMT23}, Theorem 3.2, constants from memory",
     f"{_ANY}; eps0 <= log(n/(8 log(2/delta)) - 1)", _of_eps0(forms.stronger_clone)),
    ("girgis-renyi", "Renyi bound of any eps0-LDP randomizer, converted",
     "Girgis, Data, Diggavi, Suresh, Kairouz 2021, constants from memory",
     "eps0-LDP, not adaptive; whole Renyi orders", _of_eps0(forms.girgis_epsilon)),
    ("gaussian", "central limit theorem for the blanket's gains, before Mills' ratio is expanded",
     f"{_S2}, in its first step", "large n; finite variance of the blanket's gains", _gaussian),
    ("shuffle-index", "phi(chi eps sqrt n)/(chi^3 eps^2 n^1.5), chi of the blanket", _S2,
     "large n, eps well above n^-1/2; follows the upper bounds", _index),
    ("shuffle-index-lower", "phi(chi eps sqrt n)/(chi^3 eps^2 n^1.5), chi of datasets", _S2,
     "large n, eps well above n^-1/2; follows the lower bounds", _index_lower),
)  # fmt: skip
_FROM_MEMORY = ("csuzz19", "stronger-clone-3.2", "girgis-renyi")
_BY_THE_LIBRARY = (
    *("variation-ratio-5.1", "one-dataset", "gaussian", "shuffle-index", "shuffle-index-lower"),
)


def _warning(key: str, source: Source) -> str:
    """Why the number of this formula is not certified."""
    if key == "variation-ratio":
        return _no_bound(source) or NOT_CERTIFIED
    if key in _BY_THE_LIBRARY:
        return NOT_CERTIFIED
    return _MEMORY if key in _FROM_MEMORY else _FLOATS


FORMULAS: dict[str, Formula] = {
    key: Formula(
        Theorem(key, title, source, "published"),
        validity,
        functools.partial(epsilon, key),
        functools.partial(_warning, key),
    )
    for key, title, source, validity, epsilon in _ROWS
}


def formula_named(key: str) -> Formula:
    """The formula with this key."""
    return FORMULAS[key]


# A copy is the formula with the same key: there is one of each.
copyreg.pickle(Formula, lambda one: (formula_named, (one.key,)))
