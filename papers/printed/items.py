"""What the papers print: numbers, formulas and claims, each with its place, and nothing of ours.

``papers.printed_numbers`` puts ours beside each of these. Notation: E = e^eps0, w = e^(eps0/2),
a = e^eps. A formula is kept as words and as a function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from math import comb, exp, expm1
from typing import Any

FMT = "Feldman, McMillan, Talwar 2021"
VR = "Wang et al. 2024"
SU = "Su, Cheng, Wang 2025"
INDEX = "Beyond Pure Local DP, 2026"


@dataclass(frozen=True)
class Item:
    """One thing that is printed: paper, figure or table or section, what it is, and how it reads.

    ``value`` is the number, or the formula as a function of what the row says.
    """

    key: str
    paper: str
    where: str
    what: str
    printed: str
    value: float | Callable[..., Any] | None = None  # a number, or several


# ------------------------------------------------------------------ Wang et al., Table 5
# (eps0, n): eps and seconds with T = 20 halvings, then with T = 10; delta = 0.01/n.
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


def _table_5() -> list[Item]:
    found = []
    for (eps0, n), (t20, s20, t10, s10) in TABLE_5.items():
        for halvings, eps, seconds in ((20, t20, s20), (10, t10, s10)):
            what = f"any {eps0:g}-LDP mechanism, n = 1e{round(math.log10(n))}, T = {halvings}"
            key = f"vr-table5-{eps0:g}-{n}-{halvings}"
            found.append(Item(key, VR, "Table 5", what, f"{eps} in {seconds:g} s", float(eps)))
    return found


# ------------------------------------------------------------------ Wang et al., Tables 1 to 4


def _subset_beta(eps0: float, d: int, k: int) -> float:
    E = exp(eps0)
    top = (E - 1) * (comb(d - 1, k - 1) - comb(d - 2, k - 2) if k > 1 else 1)
    return top / (E * comb(d - 1, k - 1) + comb(d - 1, k))


def _wheel_beta(eps0: float, s: int, p: float) -> float:
    E = exp(eps0)
    return s * p * (E - 1) / (s * p * E + 1 - s * p)


def _privunit_beta(eps0: float, c: float) -> float:
    return c * expm1(eps0) / (c * exp(eps0) + 1 - c)


def planar_beta(distance: float) -> float:
    """2 int_0^{d/2} int_R exp(-|(x - d/2, y)|)/(2 pi) dy dx = (1/pi) int_0^{d/2} 2 u K_1(u) du."""
    from scipy.integrate import quad
    from scipy.special import k1

    return 2.0 / math.pi * quad(lambda u: u * k1(u), 0.0, distance / 2.0)[0]


_T2 = "Table 2"
_PARAMETERS = [
    Item("vr-table2-general", VR, _T2, "beta of all eps0-LDP mechanisms", "(E-1)/(E+1)",
         lambda eps0: math.tanh(eps0 / 2)),
    Item("vr-table2-laplace", VR, _T2, "beta of Laplace on [0, 1]", "1 - 1/w",
         lambda eps0: -expm1(-eps0 / 2)),
    Item("vr-table2-privunit-small", VR, _T2, "beta of PrivUnit, c = 0.3", "c(E-1)/(cE+1-c)",
         lambda eps0: _privunit_beta(eps0, 0.3)),
    Item("vr-table2-privunit-large", VR, _T2, "beta of PrivUnit, c = 0.7", "c(E-1)/(cE+1-c)",
         lambda eps0: _privunit_beta(eps0, 0.7)),
    Item("vr-table2-grr", VR, _T2, "beta of d-RR", "(E-1)/(E+d-1)",
         lambda eps0, d: expm1(eps0) / (exp(eps0) + d - 1)),
    Item("vr-table2-rappor", VR, _T2, "beta of binary RR on d options", "(w-1)/(w+1)",
         lambda eps0: math.tanh(eps0 / 4)),
    Item("vr-table2-subset", VR, _T2, "beta of k-subset of d, k = 3",
         "(E-1)(C(d-1,k-1)-C(d-2,k-2))/(E C(d-1,k-1)+C(d-1,k))", _subset_beta),
    Item("vr-table2-hash", VR, _T2, "beta of local hashing, l = 8", "(E-1)/(E+l-1)",
         lambda eps0, l: expm1(eps0) / (exp(eps0) + l - 1)),
    Item("vr-table2-hadamard-1", VR, _T2, "beta of Hadamard response (K, s, B = 1)",
         "(s(E-1)/2)/(sE+K-s)", lambda eps0, K, s: s * expm1(eps0) / 2 / (s * exp(eps0) + K - s)),
    Item("vr-table2-hadamard-2", VR, _T2, "beta of Hadamard response (K, s, B = 2)",
         "s(E-1)/(sE+K-s)", lambda eps0, K, s: s * expm1(eps0) / (s * exp(eps0) + K - s)),
    Item("vr-table2-sampling", VR, _T2, "beta of sampling RAPPOR, s = 3 of d",
         "s(w-1)/(d(w+1))", lambda eps0, s, d: s / d * math.tanh(eps0 / 4)),
    Item("vr-table2-wheel", VR, _T2, "beta of Wheel, s = 2, p = 0.1", "sp(E-1)/(spE+1-sp)",
         _wheel_beta),
    Item("vr-table2-pq", VR, _T2, "p and q of all these", "p = q = E", exp),
    Item("vr-table3-general", VR, "Table 3", "beta at distance d01 = 1, any",
         "(e^d01-1)/(e^d01+1)", lambda d01: math.tanh(d01 / 2)),
    Item("vr-table3-laplace", VR, "Table 3", "beta of Laplace noise on R, d01 = 1",
         "1 - e^(-d01/2)", lambda d01: -expm1(-d01 / 2)),
    Item("vr-table3-planar", VR, "Table 3", "beta of planar Laplace noise, d01 = 1",
         "2 int int exp(-|(x-d01/2, y)|)/(2 pi)", planar_beta),
    Item("vr-table3-pq", VR, "Table 3", "p and q of planar noise in a disc of radius 5",
         "p = e^d01, q = e^dmax", exp),
    Item("vr-table4-balcer-cheu", VR, "Table 4", "p, beta, q of Balcer-Cheu, coin 0.2",
         "inf, 1, max(1/p, 1/(1-p))", lambda p: max(1 / p, 1 / (1 - p))),
    Item("vr-table4-balcer", VR, "Table 4", "p, beta, q of Balcer et al., a fair coin",
         "inf, 1, 2", 2.0),
    Item("vr-table4-cheu", VR, "Table 4", "p, beta, q of Cheu-Zhilyaev, f = 0.25",
         "(1-f)^2/f^2, 1-2f, (1-f)/f"),
    Item("vr-table4-bins", VR, "Table 4", "p, beta, q of balls into bins, 2 special of 16",
         "inf, 1, d/s"),
    Item("vr-table4-mixdump", VR, "Table 4", "p, beta, q of mixDUMP, f = 0.2, d = 16",
         "(1-f)(d-1)/f, ((1-f)(d-1)-f)/(d-1), (1-f)d"),
    Item("vr-table4-puredump", VR, "Table 4", "pureDUMP: in the text, no row",
         "-"),
]  # fmt: skip

_ORDERS = [
    Item(f"vr-table1-{key}", VR, "Table 1", f"order of eps, {name}", text, order)
    for key, name, text, order in (
        ("efmrtt19", "Erlingsson et al.", "sqrt(E^3 L/n), L = log(1/delta)",
         lambda e, L, n: math.sqrt(exp(3 * e) * L / n)),
        ("blanket", "privacy blanket", "sqrt(E^2 L/n)",
         lambda e, L, n: math.sqrt(exp(2 * e) * L / n)),
        ("clone", "clone", "(E-1)/(E+1) sqrt(E L/n)",
         lambda e, L, n: math.tanh(e / 2) * math.sqrt(exp(e) * L / n)),
        ("stronger", "stronger clone", "sqrt((E-1)^2 L/(n(E+1)))",
         lambda e, L, n: math.sqrt(expm1(e) ** 2 * L / (n * (exp(e) + 1)))),
        ("ratio", "variation ratio (10-RR)", "sqrt(beta(E-1) L/n)",
         lambda e, L, n: math.sqrt(expm1(e) ** 2 / (exp(e) + 9) * L / n)),
    )
]  # fmt: skip

_TIGHT = [
    Item(f"vr-tight-{key}", VR, "section 5", f"{name}: upper and lower bound are equal", words)
    for key, name, words in (
        ("grr", "d-RR, d = 10", "tight for d > 2"),
        ("subset2", "2-subset of 16", "tight for k <= 2"),
        ("hash", "OLH, d = 16", "tight for l >= 3; Fig. 2 for l > 2"),
        ("hadamard", "Hadamard response, d = 16", "tight"),
        ("privunit", "PrivUnit, c = 0.3", "tight for c <= 1/2"),
        ("pckv", "PCKV-GRR, s = 3 of 10", "tight"),
        ("wheel", "Wheel, s = 2, p = 0.25", "tight for p >= 1/(2s)"),
        ("laplace", "Laplace on [0, 1]", "roughly tight"),
        ("subset3", "3-subset of 16", "roughly tight for k >= 3"),
        ("cheu", "Cheu-Zhilyaev, d = 16", "tight for d >= 3"),
        ("bins", "balls into bins, d = 16, s = 2", "tight for d >= 3s"),
        ("puredump", "pureDUMP, d = 16", "tight for d >= 3"),
        ("mixdump", "mixDUMP, d = 16", "tight for d >= 3"),
    )
]

_VR_CLAIMS = [
    Item("vr-abstract", VR, "abstract", "saved: one message, many, parallel",
         "up to 30 %, 75 %, 75 to 95 %"),
    Item("vr-fig1", VR, "Fig. 1", "subset selection, saved against the best bound before",
         "about 30 %", 0.30),
    Item("vr-fig2", VR, "Fig. 2", "OLH, saved against the best bound before", "about 30 %", 0.30),
    Item("vr-fig3", VR, "Fig. 3", "Cheu-Zhilyaev, saved against the original bound",
         "about 75 %, Thm 4.2 above 50 %", 0.75),
    Item("vr-fig4", VR, "Fig. 4", "balls into bins, saved against the original bound",
         "about 75 %, Thm 4.2 above 50 %", 0.75),
    Item("vr-fig4-closed", VR, "Fig. 4", "balls into bins, closed forms", "both beat the original"),
    Item("vr-many-related", VR, "related work", "many messages, saved", "70 to 85 %", 0.70),
    Item("vr-many-section", VR, "section 4.3", "many messages, saved", "more than 70 %", 0.70),
    Item("vr-fig5-basic", VR, "Fig. 5", "range queries, advanced against basic",
         "about 75 % less", 0.75),
    Item("vr-fig5-code", VR, "Fig. 5, released code", "advanced with the beta of the authors' code",
         "the last level's term of the sum alone"),
    Item("vr-fig5-separate", VR, "Fig. 5", "range queries, advanced against separate",
         "80 to 95 % less", 0.80),
    Item("vr-order", VR, "Thm 4.2", "its conditions let in p = 3, beta = 0.05, q = 2.05, n = 1e4, "
         "delta = 1e-40", "eps at which delta <= 1e-40", 1e-40),
    Item("vr-clones", VR, "Lemma 4.4", "clone probability 2r", "2 alpha p/q, alpha = beta/(p-1)",
         lambda p, beta, q: 2 * beta / (p - 1) * p / q),
    Item("vr-faster", VR, "section 7", "time against the clone's code", "about ten times less",
         10.0),
    Item("vr-linear", VR, "section 7", "time over n", "linear in n"),
    Item("vr-cap", VR, "Table 5 (text)", "time at n = 1e8", "below 10 s; within a dozen", 10.0),
]  # fmt: skip

# ------------------------------------------------------------------ Su, Cheng, Wang


def _w(eps0: float) -> float:
    return exp(eps0 / 2)


# p, q, r of the optimal decompositions by eps0 and domain size D (SU2 Table 2).
SU_TABLE_2: dict[str, tuple[str, Callable[[float, int], tuple[float, ...]]]] = {
    "k-RR": (
        "1/(E+k-1), 0, (k-2)/(E+k-1)",
        lambda e, k: (1 / (exp(e) + k - 1), 0.0, (k - 2) / (exp(e) + k - 1)),
    ),
    "BLH": (
        "1/(2(E+1)), 1/(2(E+1)) - 1/(2^(D-1)(E+1)), 1/(2(E+1)) + E/(2^(D-1)(E+1))",
        lambda e, D: (
            0.5 / (exp(e) + 1),
            0.5 / (exp(e) + 1) - 2.0 ** (1 - D) / (exp(e) + 1),
            0.5 / (exp(e) + 1) + exp(e) * 2.0 ** (1 - D) / (exp(e) + 1),
        ),
    ),
    "RAPPOR": (
        "1/(w+1)^2, (1/w)/(w+1)^2 - (1/w)/(w+1)^D, w/(w+1)^2 + w/(w+1)^D",
        lambda e, D: (
            (_w(e) + 1) ** -2,
            ((_w(e) + 1) ** -2 - (_w(e) + 1) ** -D) / _w(e),
            _w(e) * ((_w(e) + 1) ** -2 + (_w(e) + 1) ** -D),
        ),
    ),
    "OUE": (
        "1/(2(E+1)), (1/E)(1/(2(E+1)) - 1/(2(E+1)^(D-1))), E/(2(E+1)) + 1/(2(E+1)^(D-1))",
        lambda e, D: (
            0.5 / (exp(e) + 1),
            exp(-e) * (0.5 / (exp(e) + 1) - 0.5 * (exp(e) + 1) ** (1 - D)),
            0.5 * exp(e) / (exp(e) + 1) + 0.5 * (exp(e) + 1) ** (1 - D),
        ),
    ),
    "HR": (
        "1/(2(E+1)) each",
        lambda e, _: (0.5 / (exp(e) + 1),) * 3,
    ),
}
# The same with the terms in D dropped (SU2 Table 3, SU0 Table 2).
SU_TABLE_3: dict[str, tuple[str, Callable[[float], tuple[float, ...]]]] = {
    "BLH": ("1/(2(E+1)) each", lambda e: (0.5 / (exp(e) + 1),) * 3),
    "RAPPOR": (
        "1/(w+1)^2, 1/(w(w+1)^2), w/(w+1)^2",
        lambda e: ((_w(e) + 1) ** -2, (_w(e) + 1) ** -2 / _w(e), _w(e) * (_w(e) + 1) ** -2),
    ),
    "OUE": (
        "1/(2(E+1)), 1/(2E(E+1)), E/(2(E+1))",
        lambda e: (0.5 / (exp(e) + 1), 0.5 * exp(-e) / (exp(e) + 1), 0.5 * exp(e) / (exp(e) + 1)),
    ),
}
SU_GAMMA: dict[str, tuple[str, Callable[[float, int], float]]] = {
    "BLH": (
        "2/(1+E) + (E-1)/(2^(D-1)(1+E))",
        lambda e, D: (2 + expm1(e) * 2.0 ** (1 - D)) / (1 + exp(e)),
    ),
    "RAPPOR": (
        "1/w + (w-1/w)/(1+w)^D",
        lambda e, D: 1 / _w(e) + (_w(e) - 1 / _w(e)) * (1 + _w(e)) ** -D,
    ),
    "OUE": (
        "(1+E)/(2E) + (1-1/E)/(2(1+E)^(D-1))",
        lambda e, D: (1 + exp(e)) / (2 * exp(e)) + (1 - exp(-e)) / 2 * (1 + exp(e)) ** (1 - D),
    ),
    "HR": ("2/(1+E)", lambda e, _: 2 / (1 + exp(e))),
}
# Mass of G = 0: what is left of the five classes (SU0 and SU2 Table 1; D large).
SU_TABLE_1_ZERO: dict[str, tuple[str, Callable[[float, int], float]]] = {
    "k-RR": ("(E-1)/(E+k-1)", lambda e, k: expm1(e) / (exp(e) + k - 1)),
    "BLH": ("(E-1)/(E+1)", lambda e, _: math.tanh(e / 2)),
    "RAPPOR": ("1 - 1/w", lambda e, _: -expm1(-e / 2)),
    "OUE": ("(1-1/E)/2", lambda e, _: -expm1(-e) / 2),
    "HR": ("(E-1)/(E+1)", lambda e, _: math.tanh(e / 2)),
}


def laplace_cdf(t: float, *, eps0: float, epsilon: float) -> float:
    """Pr[L <= t] for Laplace noise on {0, 1} (SU0 Fig. 4, SU2 Fig. 8)."""
    w, E, a = exp(eps0 / 2), exp(eps0), exp(epsilon)
    gamma = 1 / w
    if t < gamma * (1 - a * E):
        return 0.0
    if t < gamma * (1 - a):
        return 0.5 * math.sqrt(a / (1 - w * t))
    if t < gamma * (E - a):
        return 1 - 0.5 / math.sqrt(w * t + a)
    return 1.0


# At which size formulas in D are compared.
SIZES = {"k-RR": "k = 4", "HR": "D = 64"}


def _su_tables() -> list[Item]:
    found = []
    for name, (words, formula) in SU_TABLE_2.items():
        found.append(Item(f"su-table2-{name}", SU, "SU2 Table 2",
                          f"p, q, r of {name}, {SIZES.get(name, 'D = 4')}", words,
                          formula))  # fmt: skip
    for name, (words, law) in SU_TABLE_3.items():
        what = f"p, q, r of {name}, D large (here 64)"
        found.append(Item(f"su-table3-{name}", SU, "SU2 Table 3, SU0 Table 2", what, words, law))
    for name, (words, gamma) in SU_GAMMA.items():
        what = f"gamma of {name}, {SIZES.get(name, 'D = 4')}"
        found.append(Item(f"su-gamma-{name}", SU, "SU2 App. A", what, words, gamma))
    for name, (words, zero) in SU_TABLE_1_ZERO.items():
        what = f"P(G = 0) of {name}, {'k = 10' if name == 'k-RR' else 'D large (here 64)'}"
        found.append(Item(f"su-table1-{name}", SU, "Table 1", what, words, zero))
    return found


_SU_CLAIMS = [
    Item("su-drawings", SU, "Fig. 1", "hierarchy of decompositions", "a drawing"),
    Item("su-limit", SU, "SU2 Table 3", "error of the limit in D", "O(2^-D)"),
    Item("su0-rappor", SU, "SU0 Tables 1, 2", "r of RAPPOR, first version", "1/(w+1)^2",
         lambda e: (_w(e) + 1) ** -2),
    Item("su0-mean", SU, "SU0 Property 2", "E[G], first version", "1 - e^-eps",
         lambda eps: -expm1(-eps)),
    Item("su2-mean", SU, "SU2 Property 2", "E[G]", "1 - e^eps", lambda eps: -expm1(eps)),
    Item("su2-range", SU, "SU2 Property 2", "range of G", "1 - e^(eps0+eps) to E - e^eps"),
    Item("su-fig8", SU, "SU0 Fig. 4, SU2 Fig. 8", "law of L, Laplace, eps0 = 1, eps = 0.1",
         "three pieces, atoms 1/(2w) at both ends"),
    Item("su-four", SU, "SU2 section 5.3", "values of L for 10-RR, x2 a third value",
         "E - a, 1 - aE, 1 - a, (1 - a)/E; a = e^eps",
         lambda e, a: (exp(e) - a, 1 - a * exp(e), 1 - a, (1 - a) / exp(e))),
    Item("su-ten", SU, "Fig. 2, 3", "eps below every baseline, eps0 = 0.1 and 4", "at least 10 %",
         0.10),
    Item("su-fifty", SU, "Fig. 2, 3", "eps below every baseline where eps0 is large and n small",
         "up to 50 %", 0.50),
    Item("su-gap", SU, "Fig. 2, 3", "gap between upper and lower bound", "generally small"),
    Item("su-time", SU, "section 5", "a curve of bounds against the clone's code",
         "30 s against 5 min", 30.0),
    Item("su-joint", SU, "section 6", "amplification over the number k of joint copies, eps0 in "
         "all", "grows with k"),
    Item("su-joint-generic", SU, "section 6", "joint composition, specific against generic",
         "much tighter"),
    Item("su-parallel", SU, "SU0 Fig. 5, 6; SU2 Fig. 4", "10-RR and BLH by halves",
         "between its parts"),
    Item("su-rappor-domain", SU, "SU2 Fig. 5", "RAPPOR's bound over D",
         "indistinguishable from D = 5 on"),
    Item("su-poisson", SU, "SU2 Fig. 6", "10-RR, Poisson sampling, lower against upper bound",
         "closely matches"),
    Item("su-hamming", SU, "SU2 Fig. 7", "joint k-RR, pairs that differ in 1 to 4 coordinates",
         "all four the worst"),
    Item("su0-clone", SU, "SU0 section 5", "numerical clone against Bennett for the mechanism",
         "weaker"),
    Item("su-worst", SU, "section 5", "most vulnerable data set", "x0, x1, all others a third"),
    Item("su-fft", SU, "Algorithm 7", "factor of its error",
         "exp(-(2a^2/b^2 - l)n), a = e^eps-1, b = (E-1)(e^eps+1)"),
]  # fmt: skip

# ------------------------------------------------------------------ Feldman, McMillan, Talwar

_FMT = [
    Item("fmt-drawings", FMT, "Fig. 1, 5", "steps of two proofs", "drawings"),
    Item("fmt-fig2-better", FMT, "Fig. 2", "clone below the generic blanket bounds",
         "in every setting"),
    Item("fmt-fig2-gain", FMT, "Fig. 2c", "where it gains most", "at large eps0"),
    Item("fmt-fig2-lower", FMT, "Fig. 2c", "clone against exact binary RR, n = 1e6",
         "close, most at small eps0"),
    Item("fmt-fig2-bkmtt", FMT, "Fig. 2", "Balle, Kairouz, McMahan, Thakkar, Thakurta 2020",
         "a curve, above the clone"),
    Item("fmt-fig2-csuzz", FMT, "Fig. 2", "Cheu et al. 2019, binary RR", "a curve"),
    Item("fmt-fig3-limit", FMT, "Fig. 3a", "Renyi divergence as the order grows", "tends to eps0"),
    Item("fmt-fig3-girgis", FMT, "Fig. 3a", "clone against Girgis et al. 2021", "far below"),
    Item("fmt-fig3-rounds", FMT, "Fig. 3", "rounds, Renyi against Girgis et al.",
         "clearly tighter"),
    Item("fmt-fig4", FMT, "Fig. 4", "eps of binary RR at log(1/delta) = n/(2E)",
         "turns sharply from below eps0 to eps0"),
    Item("fmt-table1-binary", FMT, "Table 1", "order for binary RR", "w/sqrt(n)",
         lambda e, n: exp(e / 2) / math.sqrt(n)),
    Item("fmt-table1-fixed", FMT, "Table 1", "order, not adaptive", "w/sqrt(n), before: E/sqrt(n)",
         lambda e, n: exp(e / 2) / math.sqrt(n)),
    Item("fmt-table1-adaptive", FMT, "Table 1", "order, adaptive",
         "w/sqrt(n), before: E^2.5, E^3", lambda e, n: exp(e / 2) / math.sqrt(n)),
    Item("fmt-table1-approximate", FMT, "Table 1", "order for (eps0, delta0)",
         "w/sqrt(n), delta + n delta0; before: E^20",
         lambda e, n: exp(e / 2) / math.sqrt(n)),
    Item("fmt-table1-krr", FMT, "Table 1", "order for 10-RR", "E/sqrt(n(E+k))",
         lambda e, n: exp(e) / math.sqrt(n * (exp(e) + 10))),
    Item("fmt-thm31", FMT, "Thm 3.1", "closed form, a bound on the pair of Thm 3.2",
         "eps0 <= log(n/(16 log(2/delta)))"),
    Item("fmt-thm31-sign", FMT, "after Thm 3.1", "the same condition",
         "log(2/delta) <= n e^eps0/16"),
    Item("fmt-sqrt32", FMT, "section 4.1", "Thm 4.1 at p = e^-eps0/3 over Thm 3.1", "sqrt(3/2)",
         math.sqrt(1.5)),
    Item("fmt-thm38", FMT, "Thm 3.8", "Gaussian noise: amplification through (eps0, delta0)",
         "a bound"),
    Item("fmt-cor42", FMT, "Cor 4.2", "k-RR, k = 5e7, eps0 = 6.39, n = 1e6, delta = 1e-40",
         "a bound under Thm 3.1's condition"),
    Item("fmt-thm51", FMT, "after Thm 5.1", "error of frequencies, sum over k (Feldman, Talwar "
         "2021; Thm 5.1 itself has no constant)", "1 + 4kE/(E-1)^2 over n",
         lambda e, k: 4 * k * exp(e) / expm1(e) ** 2),
    Item("fmt-thm51-bits", FMT, "Thm 5.1", "bits of a message", "log2 k + 2"),
    Item("fmt-thm52", FMT, "Thm 5.2", "eps0 for a target above sqrt(log(1/delta)/n)",
         "log(eps^2 n/(100 log(1/delta)))"),
    Item("fmt-thm52-small", FMT, "Thm 5.2", "eps0 for a target below it",
         "eps sqrt(n)/(16 sqrt(log(1/delta)))"),
    Item("fmt-reduction", FMT, "section 1", "earlier reductions (8 eps0, E^20, E^30/n; Renyi "
         "alpha E^6, alpha E^2)", "orders of other papers"),
    Item("fmt-sgd", FMT, "Algorithm 2", "sigma for (eps0, delta0) of a gradient clipped to 1",
         "(1 + sqrt(2 log(1/delta0)))/eps0",
         lambda e, d: (1 + math.sqrt(2 * math.log(1 / d))) / e),
    Item("fmt-bst14", FMT, "(13)", "batches drawn with replacement (Bassily et al. 2014)",
         "(eps, n delta + delta0/n)"),
    Item("fmt-sampling", FMT, "section 5", "mean squared distance of n draws from their law",
         "at most 1/n", 1.0),
    Item("fmt-lemma-a1", FMT, "Lemma A.1", "its condition", "p n >= 16 log(2/delta)"),
    Item("fmt-lemma-23", FMT, "Lemma 2.3", "D at 1 + q(a-1) of two mixtures with one law",
         "q D_a(P1 || (1-theta) P0 + theta Q1), theta = (1+q(a-1))/a"),
    Item("fmt-lemma-c1", FMT, "Lemma C.1", "D_a of two laws, each within TV delta' of others",
         "D_a of the others + (a+1) delta'"),
]  # fmt: skip

# ------------------------------------------------------------------ Beyond pure local DP

_INDEX = [
    Item("index-drawings", INDEX, "Fig. 1 to 3", "the extended mechanism; normal approximation; an "
         "integrand", "drawings"),
    Item("index-numbers", INDEX, "all", "settings and numbers of its figures",
         "not in the text at hand"),
    Item("index-krr", INDEX, "Table 1", "chi of k-RR, eps0 to 0 (rebuilt)", "sqrt(k/2)/eps0",
         lambda e, k: math.sqrt(k / 2) / e),
    Item("index-krr-low", INDEX, "Table 1", "chi of k-RR, eps0 large (rebuilt)",
         "e^(-eps0/2)/sqrt(2)", lambda e: exp(-e / 2) / math.sqrt(2)),
    Item("index-rr2-high", INDEX, "Table 1", "chi_lo/chi_up, k = 2, eps0 to 0 (rebuilt)", "1",
         1.0),
    Item("index-rr2", INDEX, "Table 1", "chi_lo/chi_up, k = 2, eps0 large (rebuilt)", "1/sqrt(2)",
         math.sqrt(0.5)),
    Item("index-rr3", INDEX, "Table 1", "chi_lo/chi_up, k >= 3 (rebuilt)", "1", 1.0),
    Item("index-laplace-high", INDEX, "Table 1", "chi_lo/sigma, Laplace, sigma large (rebuilt)",
         "1/sqrt(2)", math.sqrt(0.5)),
    Item("index-gauss-high", INDEX, "Table 1", "chi_lo/sigma, Gaussian, sigma large (rebuilt)",
         "1", 1.0),
    Item("index-noise-high", INDEX, "Table 1", "chi_lo/chi_up, noise, sigma large (rebuilt)", "1",
         1.0),
    Item("index-noise-low", INDEX, "Table 1", "chi_lo/chi_up, noise, sigma small (rebuilt)",
         "1/sqrt(2)", math.sqrt(0.5)),
    Item("index-noise-zero", INDEX, "Table 1", "chi_lo of noise, sigma small (rebuilt)",
         "tends to 0", 0.0),
    Item("index-lemma32", INDEX, "Lemma 3.2", "leading term of the blanket's delta",
         "phi(chi eps sqrt(n))/(chi^3 eps^2 n^1.5)",
         lambda chi, eps, n: exp(-((chi * eps) ** 2) * n / 2) / math.sqrt(2 * math.pi)
         / (chi**3 * eps**2 * n**1.5)),
    Item("index-thm34", INDEX, "Thm 3.4", "eps at delta = 0.01/n (rebuilt)",
         "sqrt(2 W0(sqrt(n)/(2 sqrt(2 pi) alpha chi)))/(chi sqrt(n))"),
    Item("index-thm37", INDEX, "Thm 3.7", "chi_lo = chi_up",
         "k-RR (k >= 3), local hashing, PrivUnit with small caps; not Laplace, Gaussian"),
    Item("index-fig4a-krr", INDEX, "Fig. 4a", "k-RR: upper and lower end", "indistinguishable"),
    Item("index-fig4a-gauss", INDEX, "Fig. 4a", "Gaussian: upper and lower end",
         "a visible, narrow band"),
    Item("index-fig4b", INDEX, "Fig. 4b", "Gaussian by (eps0, delta0), against directly",
         "no amplification, then several times larger"),
    Item("index-fig4c", INDEX, "Fig. 4c", "FFT: error over eta", "falls linearly, time like a "
         "power of 1/eta"),
    Item("index-fig4d", INDEX, "Fig. 4d", "FFT: over n at fixed eta", "flat error, time near "
         "linear"),
    Item("index-fig4e", INDEX, "Fig. 4e", "at equal error of the mean, k-RR's chi_lo",
         "the largest"),
    Item("index-moments", INDEX, "section 5.3", "errors of variance and third moment",
         "the Gaussian's the smallest over a wide range"),
    Item("index-fig5", INDEX, "Fig. 5a", "chi_lo over the shape at equal variance",
         "rises to the Gaussian, then falls"),
]  # fmt: skip

ITEMS: tuple[Item, ...] = (
    *_FMT,
    *_ORDERS,
    *_PARAMETERS,
    *_table_5(),
    *_TIGHT,
    *_VR_CLAIMS,
    *_su_tables(),
    *_SU_CLAIMS,
    *_INDEX,
)
