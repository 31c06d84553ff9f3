"""Wang et al. 2024: Tables 1 to 5, and the tightness that section 5 claims."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from math import comb, exp, expm1, tanh

import shuffledp as sd
from papers.printed import rows
from papers.printed.rows import (
    VR,
    Found,
    agrees,
    down,
    ends,
    number,
    numbers,
    percent,
    says,
    short,
    span,
    upper_of,
)
from papers.printed.timed import seconds_of
from shuffledp.bounds.variation_ratio import VariationRatio, published_pair
from shuffledp.propose.inverse import upper_epsilon
from shuffledp.propose.profile import Profile

row = partial(rows.row, VR)
order = partial(rows.order, VR)
Mechanism = sd.Randomizer | sd.MultiMessage
EPS0 = 2.0  # of the parameter tables
SLACK = 1e-6  # to which eps of the published pair is solved
WIDE = 1e-3  # a bracket wider than that settles nothing


def delta_at(n: int) -> float:
    """Table 5's, the only delta that is printed."""
    return 0.01 / n


# -------------------------------------------------------------------------------- Table 1

AT = ((1.0, 3.0, 5.0), 10**10, delta_at(10**10), "0.01/n")


def _any(analysis: str) -> Callable[[float, int], float]:
    return lambda e, n: upper_of(sd.generic(eps0=e, n=n), analysis, delta_at(n))


row("Table 1", "order of eps, Erlingsson et al.", "sqrt(E^3 L/n), L = log(1/delta)")(
    lambda: Found(
        "our formula of it ends at eps0 = 1/2",
        "not comparable: its general form is not in the text",
    )
)
order(
    "order of eps, privacy blanket", "sqrt(E^2 L/n)",
    lambda e, L, n: math.sqrt(exp(2 * e) * L / n), _any("bennett-generic"), AT, slow=False,
)  # fmt: skip
order(
    "order of eps, clone", "(E-1)/(E+1) sqrt(E L/n)",
    lambda e, L, n: tanh(e / 2) * math.sqrt(exp(e) * L / n), _any("clone"), AT, slow=False,
)  # fmt: skip
order(
    "order of eps, stronger clone", "sqrt((E-1)^2 L/(n(E+1)))",
    lambda e, L, n: math.sqrt(expm1(e) ** 2 * L / (n * (exp(e) + 1))), _any("stronger-clone"), AT,
    slow=False,
)  # fmt: skip
order(
    "order of eps, variation ratio (10-RR)", "sqrt(beta(E-1) L/n)",
    lambda e, L, n: math.sqrt(expm1(e) ** 2 / (exp(e) + 9) * L / n),
    lambda e, n: sd.shuffle(sd.KRR(k=10, eps0=e), n=n).epsilon(delta=delta_at(n)).upper, AT,
    slow=False,
)  # fmt: skip


# --------------------------------------------------------- Tables 2 to 4: p, beta and q


def _beta(
    where: str, what: str, printed: str, mechanism: Mechanism, theirs: float, at: str
) -> None:
    """A row that compares a printed beta with the mechanism's total variation."""

    def make() -> Found:
        ours = sd.ratios(mechanism).beta
        larger = says(theirs > ours, "does not: too small", "holds as a bound, larger than it is")
        words = f"{number(ours, 6)} (printed: {number(theirs, 6)}){at}"
        return Found(words, "holds" if agrees(ours, theirs) else larger)

    row(where, what, printed)(make)


E, W = exp(EPS0), exp(EPS0 / 2)
RESPONSE = sd.HadamardResponse(domain=16, eps0=EPS0)  # K columns, s of them favoured by an input
K, S = RESPONSE.columns, RESPONSE.half_block
BLOCKS = sd.HadamardResponse(domain=16, eps0=EPS0, blocks=2)
K2, S2 = BLOCKS.columns, BLOCKS.half_block
# What, how beta is printed, its value at d = 16, and the mechanism.
TABLE_2: tuple[tuple[str, str, float, sd.Randomizer], ...] = (
    ("beta of all eps0-LDP mechanisms", "(E-1)/(E+1)", (E - 1) / (E + 1), sd.BinaryRR(eps0=EPS0)),
    ("beta of Laplace on [0, 1]", "1 - 1/w", 1 - 1 / W, sd.Laplace(eps0=EPS0)),
    ("beta of PrivUnit, c = 0.3", "c(E-1)/(cE+1-c)", 0.3 * (E - 1) / (0.3 * E + 0.7),
     sd.PrivUnit(d=5, c=0.3, eps0=EPS0)),
    ("beta of PrivUnit, c = 0.7", "c(E-1)/(cE+1-c)", 0.7 * (E - 1) / (0.7 * E + 0.3),
     sd.PrivUnit(d=5, c=0.7, eps0=EPS0)),
    ("beta of d-RR", "(E-1)/(E+d-1)", (E - 1) / (E + 15), sd.KRR(k=16, eps0=EPS0)),
    ("beta of binary RR on d options", "(w-1)/(w+1)", (W - 1) / (W + 1),
     sd.RAPPOR(d=16, eps0=EPS0)),
    ("beta of k-subset of d, k = 3", "(E-1)(C(d-1,k-1)-C(d-2,k-2))/(E C(d-1,k-1)+C(d-1,k))",
     (E - 1) * (comb(15, 2) - 14) / (E * comb(15, 2) + comb(15, 3)),
     sd.SubsetSelection(d=16, k=3, eps0=EPS0)),
    ("beta of local hashing, l = 8", "(E-1)/(E+l-1)", (E - 1) / (E + 7),
     sd.LocalHash(domain=16, l=8, eps0=EPS0)),
    ("beta of Hadamard response (K, s, B = 1)", "(s(E-1)/2)/(sE+K-s)",
     S * (E - 1) / 2 / (S * E + K - S), RESPONSE),
    ("beta of Hadamard response (K, s, B = 2)", "s(E-1)/(sE+K-s)",
     S2 * (E - 1) / (S2 * E + K2 - S2), BLOCKS),
    ("beta of sampling RAPPOR, s = 3 of d", "s(w-1)/(d(w+1))", 3 / 16 * (W - 1) / (W + 1),
     sd.SamplingRAPPOR(d=16, s=3, eps0=EPS0)),
    ("beta of Wheel, s = 2, p = 0.1", "sp(E-1)/(spE+1-sp)", 0.2 * (E - 1) / (0.2 * E + 0.8),
     sd.Wheel(domain=16, s=2, p=0.1, eps0=EPS0)),
)  # fmt: skip
for _what, _printed, _theirs, _mechanism in TABLE_2:
    _beta("Table 2", _what, _printed, _mechanism, _theirs, f" at eps0 = {EPS0:g}")


@row("Table 2", "p and q of all these", "p = q = E")
def _p_and_q() -> Found:
    found = [value for *_, m in TABLE_2 for value in (sd.ratios(m).p, sd.ratios(m).q)]
    shown = span(found, lambda x: number(x, 7))
    same = all(agrees(value, E) for value in found)
    return Found(f"{shown} (E = {number(E, 7)}, eps0 = {EPS0:g})", says(same, "does not for all"))


def planar_beta(distance: float) -> float:
    """2 int_0^{d/2} int_R exp(-|(x - d/2, y)|)/(2 pi) dy dx = (1/pi) int_0^{d/2} 2 u K_1(u) du."""
    from scipy.integrate import quad
    from scipy.special import k1

    return 2.0 / math.pi * quad(lambda u: u * k1(u), 0.0, distance / 2.0)[0]


PLANAR = sd.LaplaceBall(d=2, scale=1.0, radius=5.0, distance=1.0)
# Binary randomized response attains the largest total variation at a given p.
_beta("Table 3", "beta at distance d01 = 1, any", "(e^d01-1)/(e^d01+1)", sd.BinaryRR(eps0=1.0),
      tanh(0.5), "")  # fmt: skip
_beta("Table 3", "beta of Laplace noise on R, d01 = 1", "1 - e^(-d01/2)",
      sd.MetricLaplace(scale=1.0, low=0.0, high=10.0, distance=1.0), -expm1(-0.5), "")  # fmt: skip
_beta("Table 3", "beta of planar Laplace noise, d01 = 1", "2 int int exp(-|(x-d01/2, y)|)/(2 pi)",
      PLANAR, planar_beta(1.0), "")  # fmt: skip


@row("Table 3", "p and q of planar noise in a disc of radius 5", "p = e^d01, q = e^dmax")
def _planar() -> Found:
    found, theirs = sd.ratios(PLANAR), (exp(1.0), exp(10.0))
    words = f"{numbers((found.p, found.q), 6)} (printed: {numbers(theirs, 6)})"
    return Found(words, says(agrees(found.p, theirs[0]) and agrees(found.q, theirs[1])))


def _messages(what: str, printed: str, protocol: sd.MultiMessage, theirs: tuple) -> None:
    """A row of Table 4: p, beta and q of a protocol."""

    def make() -> Found:
        found = sd.ratios(protocol)
        ours = (found.p, found.beta, found.q)
        yes = "no row; balls into bins with s = 1" if printed == "-" else "holds"
        return Found(numbers(ours, 6), says(all(map(agrees, ours, theirs)), yes=yes))

    row("Table 4", what, printed)(make)


_messages("p, beta, q of Balcer-Cheu, coin 0.2", "inf, 1, max(1/p, 1/(1-p))", sd.BalcerCheu(p=0.2),
          (math.inf, 1.0, 5.0))  # fmt: skip
_messages("p, beta, q of Balcer et al., a fair coin", "inf, 1, 2", sd.BalcerEtAl(blankets=1),
          (math.inf, 1.0, 2.0))  # fmt: skip
_messages("p, beta, q of Cheu-Zhilyaev, f = 0.25", "(1-f)^2/f^2, 1-2f, (1-f)/f",
          sd.CheuZhilyaev(d=16, f=0.25, blankets=1), (9.0, 0.5, 3.0))  # fmt: skip
_messages("p, beta, q of balls into bins, 2 special of 16", "inf, 1, d/s",
          sd.BallsIntoBins(d=16, s=2, blankets=1), (math.inf, 1.0, 8.0))  # fmt: skip
_messages("p, beta, q of mixDUMP, f = 0.2, d = 16",
          "(1-f)(d-1)/f, ((1-f)(d-1)-f)/(d-1), (1-f)d",
          sd.MixDUMP(d=16, f=0.2, blankets=1), (60.0, 11.8 / 15, 12.8))  # fmt: skip
_messages("pureDUMP: in the text, no row", "-", sd.PureDUMP(d=16, blankets=1),
          (math.inf, 1.0, 16.0))  # fmt: skip


# ------------------------------------------------------------------------------- Table 5

# (eps0, n): eps and seconds with 20 halvings, then with 10; delta = 0.01/n.
TABLE_5: dict[tuple[float, int], tuple[str, float, str, float]] = {
    (1.0, 10**4): ("0.0433", 0.45, "0.0440", 2.3),
    (1.0, 10**6): ("0.00503", 16.7, "0.00586", 4.7),
    (1.0, 10**8): ("0.000566", 106.2, "0.000977", 0.43),
    (3.0, 10**4): ("0.227", 3.8, "0.229", 1.5),
    (3.0, 10**6): ("0.0255", 13.9, "0.0264", 2.8),
    (3.0, 10**8): ("0.00283", 117.5, "0.00293", 5.2),
    (5.0, 10**4): ("0.743", 2.4, "0.743", 0.9),
    (5.0, 10**6): ("0.0778", 9.3, "0.0782", 3.1),
    (5.0, 10**8): ("0.00853", 44.6, "0.00977", 7.9),
    (7.0, 10**4): ("6.99", 0.24, "6.99", 0.31),
    (7.0, 10**6): ("0.224", 2.8, "0.225", 1.2),
    (7.0, 10**8): ("0.0242", 17.9, "0.0273", 5.1),
}


@cache
def _generic(eps0: float, n: int) -> tuple[float, sd.Bound]:
    acc = sd.generic(eps0=eps0, n=n)
    return upper_of(acc, "stronger-clone", delta_at(n)), acc.epsilon(delta=delta_at(n))


def _any_mechanism(eps0: float, n: int, halvings: int, printed: str) -> Found:
    pair, bound = _generic(eps0, n)
    step = eps0 / 2**halvings
    end = math.ceil(pair / step) * step
    theirs, unit = float(printed), 0.5 * 10.0 ** -len(printed.split(".")[1])
    same = abs(theirs - end) <= unit
    how = "the pair's" if same else f"{100 * (theirs / end - 1):+.2g} % of the pair's"
    seconds = number(seconds_of(f"generic-{eps0:g}-{n}"), 2)
    words = f"any mechanism {ends(bound)}, in {seconds} s; "
    words += f"the pair after {halvings} halvings {number(end)}"
    return Found(words, f"{says(theirs + unit >= bound.upper, 'too small')}; {how}")


for (_eps0, _n), (*_twenty, _ten, _in) in TABLE_5.items():
    for _halvings, _eps, _seconds in ((20, *_twenty), (10, _ten, _in)):
        _what = f"any {_eps0:g}-LDP mechanism, n = {short(_n)}, T = {_halvings}"
        _make = partial(_any_mechanism, _eps0, _n, _halvings, str(_eps))
        row("Table 5", _what, f"{_eps} in {_seconds:g} s")(_make)


# -------------------------------------------------------------------------------- tight?

TIGHT_EPS0, TIGHT_N = 3.0, 10**4
TIGHT: tuple[tuple[str, str, Mechanism], ...] = (
    ("d-RR, d = 10", "tight for d > 2", sd.KRR(k=10, eps0=TIGHT_EPS0)),
    ("2-subset of 16", "tight for k <= 2", sd.SubsetSelection(d=16, k=2, eps0=TIGHT_EPS0)),
    ("OLH, d = 16", "tight for l >= 3; Fig. 2 for l > 2", sd.OLH(domain=16, eps0=TIGHT_EPS0)),
    ("Hadamard response, d = 16", "tight", sd.HadamardResponse(domain=16, eps0=TIGHT_EPS0)),
    ("PrivUnit, c = 0.3", "tight for c <= 1/2", sd.PrivUnit(d=5, c=0.3, eps0=TIGHT_EPS0)),
    ("PCKV-GRR, s = 3 of 10", "tight", sd.PCKVGRR(domain=10, s=3, eps0=TIGHT_EPS0)),
    ("Wheel, s = 2, p = 0.25", "tight for p >= 1/(2s)",
     sd.Wheel(domain=16, s=2, p=0.25, eps0=TIGHT_EPS0)),
    ("Laplace on [0, 1]", "roughly tight", sd.Laplace(eps0=TIGHT_EPS0)),
    ("3-subset of 16", "roughly tight for k >= 3",
     sd.SubsetSelection(d=16, k=3, eps0=TIGHT_EPS0)),
    ("Cheu-Zhilyaev, d = 16", "tight for d >= 3", sd.CheuZhilyaev(d=16, f=0.25, blankets=1)),
    ("balls into bins, d = 16, s = 2", "tight for d >= 3s",
     sd.BallsIntoBins(d=16, s=2, blankets=1)),
    ("pureDUMP, d = 16", "tight for d >= 3", sd.PureDUMP(d=16, blankets=1)),
    ("mixDUMP, d = 16", "tight for d >= 3", sd.MixDUMP(d=16, f=0.2, blankets=1)),
)  # fmt: skip


def published(mechanism: Mechanism, n: int, delta: float) -> float:
    """eps of the published pair; it certifies nothing."""
    if isinstance(mechanism, sd.Randomizer):
        acc = sd.shuffle(mechanism, n=n)
        return acc.estimate(delta=delta, analysis="variation-ratio").value
    return of_pair(sd.ratios(mechanism), mechanism.blanket_total(n) + 1, delta, 50.0)


def of_pair(ratio: VariationRatio, n: int, delta: float, cap: float, rtol: float = SLACK) -> float:
    """eps of the published pair of some p, beta and q."""
    pair = Profile(published_pair(ratio, n=n))
    return upper_epsilon([pair], math.log(delta), cap=cap, rtol=rtol).high


def _tight(mechanism: Mechanism) -> Found:
    delta, digits = delta_at(TIGHT_N), 6  # the published pair's eps differs from ours in the fifth
    eps = published(mechanism, TIGHT_N, delta)
    acc = sd.shuffle(mechanism, n=TIGHT_N)
    bound = acc.epsilon(delta=delta)
    words = f"{number(eps, digits)} as published, {ends(bound, digits)} certified"
    setting = f"n = {short(TIGHT_N)}, delta = {short(delta)}"
    if isinstance(mechanism, sd.Randomizer):
        lower = acc.estimate(delta=delta, analysis="variation-ratio-5.1").value
        words = f"lower bound of section 5 {down(lower, digits)}, {words}"
        setting = f"eps0 = {TIGHT_EPS0:g}, {setting}"
    words += f" ({setting})"
    if eps < bound.lower * (1 - SLACK):
        return Found(words, f"does not: {percent(1 - eps / bound.lower)} too small to be a bound")
    if eps > bound.upper * (1 + SLACK):
        return Found(words, f"does not: {percent(eps / bound.upper - 1)} above the truth")
    return Found(words, says(bound.upper <= bound.lower * (1 + WIDE), "open"))


for _name, _claim, _kind in TIGHT:
    row("section 5", f"{_name}: upper and lower bound are equal", _claim, slow=True)(
        partial(_tight, _kind)
    )
