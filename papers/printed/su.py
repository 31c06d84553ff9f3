"""Su, Cheng, Wang 2025: tables of laws. SU0 is the first version, SU2 the later one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from math import exp, expm1, tanh

import numpy as np

import shuffledp as sd
from papers.printed import rows
from papers.printed.rows import SU, Found, agrees, number, numbers, says
from shuffledp.laws.pairs import midpoints

row = partial(rows.row, SU)
EPS0, SMALL, LARGE = 2.0, 4, 64
AT = f"eps0 = {EPS0:g}"
EPSILON = 0.5  # of rows about G
E, W, A = exp(EPS0), exp(EPS0 / 2), exp(EPSILON)


def make(name: str, eps0: float, size: int) -> sd.Randomizer:
    """A mechanism of the paper on a domain of this size."""
    made = {
        "k-RR": lambda: sd.KRR(k=size, eps0=eps0),
        "BLH": lambda: sd.BLH(domain=size, eps0=eps0),
        "RAPPOR": lambda: sd.RAPPOR(d=size, eps0=eps0),
        "OUE": lambda: sd.OUE(d=size, eps0=eps0),
        "HR": lambda: sd.HadamardResponse(domain=size, eps0=eps0),
        "Laplace": lambda: sd.Laplace(eps0=eps0, binary=True),
    }
    return made[name]()


def classes(name: str, size: int) -> tuple[float, ...]:
    """p, q, r, gamma and 1 - gamma of the library's law: masses of (E, 1), (E, E) and (1, 1)."""
    randomizer = make(name, EPS0, size)
    law = midpoints(randomizer, randomizer.worst_pairs().pairs[0])
    high0, high1 = (side / law.reference > 0.5 * E for side in (law.first, law.second))
    gamma = float(law.reference.sum())
    p, q, r = (
        float(law.reference[chosen].sum())
        for chosen in (high0 & ~high1, high0 & high1, ~high0 & ~high1)
    )
    return p, q, r, gamma, 1 - gamma


def compared(ours: Sequence[float], theirs: Sequence[float], at: str = AT) -> Found:
    """Holds where all numbers agree."""
    same = all(map(agrees, ours, theirs))
    return Found(
        f"{numbers(ours, 5)} at {at}", says(same, f"does not: printed {numbers(theirs, 5)}")
    )


def _of_law(name: str, size: int, part: slice, theirs: Sequence[float]) -> Found:
    ours = classes(name, size)[part]
    if name != "HR":
        return compared(ours, theirs)
    # The printed law is that of infinitely many rows: column 0 is favoured by all inputs.
    columns = sd.HadamardResponse(domain=size, eps0=EPS0).columns
    far = max(abs(x - y) for x, y in zip(ours, theirs, strict=True))
    yes = f"holds as K grows; off by up to {number(far, 2)} at K = {columns}"
    return Found(f"{numbers(ours, 5)} at {AT}", says(far <= 2 / columns, yes=yes))


THREE, GAMMA, ZERO = slice(3), slice(3, 4), slice(4, 5)
ALL_ALIKE = (0.5 / (E + 1),) * 3
# Table, what, how it is printed, mechanism, domain, which of its classes, and the printed values.
TABLES: tuple[tuple[str, str, str, str, int, slice, Sequence[float]], ...] = (
    ("SU2 Table 2", "p, q, r of k-RR, k = 4", "1/(E+k-1), 0, (k-2)/(E+k-1)", "k-RR", SMALL, THREE,
     (1 / (E + 3), 0.0, 2 / (E + 3))),
    ("SU2 Table 2", "p, q, r of BLH, D = 4",
     "1/(2(E+1)), 1/(2(E+1)) - 1/(2^(D-1)(E+1)), 1/(2(E+1)) + E/(2^(D-1)(E+1))", "BLH", SMALL,
     THREE, (0.5 / (E + 1), 0.375 / (E + 1), (0.5 + E / 8) / (E + 1))),
    ("SU2 Table 2", "p, q, r of RAPPOR, D = 4",
     "1/(w+1)^2, (1/w)/(w+1)^2 - (1/w)/(w+1)^D, w/(w+1)^2 + w/(w+1)^D", "RAPPOR", SMALL, THREE,
     ((W + 1) ** -2, ((W + 1) ** -2 - (W + 1) ** -4) / W, W * ((W + 1) ** -2 + (W + 1) ** -4))),
    ("SU2 Table 2", "p, q, r of OUE, D = 4",
     "1/(2(E+1)), (1/E)(1/(2(E+1)) - 1/(2(E+1)^(D-1))), E/(2(E+1)) + 1/(2(E+1)^(D-1))", "OUE",
     SMALL, THREE, (0.5 / (E + 1), (0.5 / (E + 1) - 0.5 * (E + 1) ** -3) / E,
                    0.5 * E / (E + 1) + 0.5 * (E + 1) ** -3)),
    ("SU2 Table 2", "p, q, r of HR, D = 64", "1/(2(E+1)) each", "HR", LARGE, THREE, ALL_ALIKE),
    ("SU2 Table 3, SU0 Table 2", "p, q, r of BLH, D large (here 64)", "1/(2(E+1)) each", "BLH",
     LARGE, THREE, ALL_ALIKE),
    ("SU2 Table 3, SU0 Table 2", "p, q, r of RAPPOR, D large (here 64)",
     "1/(w+1)^2, 1/(w(w+1)^2), w/(w+1)^2", "RAPPOR", LARGE, THREE,
     ((W + 1) ** -2, (W + 1) ** -2 / W, W * (W + 1) ** -2)),
    ("SU2 Table 3, SU0 Table 2", "p, q, r of OUE, D large (here 64)",
     "1/(2(E+1)), 1/(2E(E+1)), E/(2(E+1))", "OUE", LARGE, THREE,
     (0.5 / (E + 1), 0.5 / E / (E + 1), 0.5 * E / (E + 1))),
    ("SU2 App. A", "gamma of BLH, D = 4", "2/(1+E) + (E-1)/(2^(D-1)(1+E))", "BLH", SMALL, GAMMA,
     ((2 + (E - 1) / 8) / (1 + E),)),
    ("SU2 App. A", "gamma of RAPPOR, D = 4", "1/w + (w-1/w)/(1+w)^D", "RAPPOR", SMALL, GAMMA,
     (1 / W + (W - 1 / W) * (1 + W) ** -4,)),
    ("SU2 App. A", "gamma of OUE, D = 4", "(1+E)/(2E) + (1-1/E)/(2(1+E)^(D-1))", "OUE", SMALL,
     GAMMA, ((1 + E) / (2 * E) + (1 - 1 / E) / 2 * (1 + E) ** -3,)),
    ("SU2 App. A", "gamma of HR, D = 64", "2/(1+E)", "HR", LARGE, GAMMA, (2 / (1 + E),)),
    ("Table 1", "P(G = 0) of k-RR, k = 10", "(E-1)/(E+k-1)", "k-RR", 10, ZERO,
     ((E - 1) / (E + 9),)),
    ("Table 1", "P(G = 0) of BLH, D large (here 64)", "(E-1)/(E+1)", "BLH", LARGE, ZERO,
     (tanh(EPS0 / 2),)),
    ("Table 1", "P(G = 0) of RAPPOR, D large (here 64)", "1 - 1/w", "RAPPOR", LARGE, ZERO,
     (1 - 1 / W,)),
    ("Table 1", "P(G = 0) of OUE, D large (here 64)", "(1-1/E)/2", "OUE", LARGE, ZERO,
     ((1 - 1 / E) / 2,)),
    ("Table 1", "P(G = 0) of HR, D large (here 64)", "(E-1)/(E+1)", "HR", LARGE, ZERO,
     (tanh(EPS0 / 2),)),
    ("SU0 Tables 1, 2", "r of RAPPOR, first version", "1/(w+1)^2", "RAPPOR", LARGE, slice(2, 3),
     ((W + 1) ** -2,)),
)  # fmt: skip
for _where, _what, _printed, *_law in TABLES:
    row(_where, _what, _printed)(partial(_of_law, *_law))


@row("SU2 Table 3", "error of the limit in D", "O(2^-D)")
def _limit() -> Found:
    limits = {name: theirs for where, *_, name, _, _, theirs in TABLES if "Table 3" in where}
    off = {
        name: max(
            2**D * max(abs(x - y) for x, y in zip(classes(name, D)[:3], limit, strict=True))
            for D in (3, 6, 12)
        )
        for name, limit in limits.items()
    }
    words = ", ".join(f"{name} {number(x, 2)}" for name, x in off.items())
    shown = f"2^D times it, at most (D = 3, 6, 12; {AT}): {words}"
    return Found(shown, says(max(off.values()) < 4))


def _mean(printed: float) -> Callable[[], Found]:
    law = midpoints(sd.KRR(k=SMALL, eps0=EPS0), (0, 1))
    mean = float((law.first - A * law.second).sum())  # E[G] = sum of R(x0) - a R(x1)
    return lambda: compared((mean,), (printed,), f"eps = {EPSILON:g}")


row("SU0 Property 2", "E[G], first version", "1 - e^-eps")(_mean(-expm1(-EPSILON)))
row("SU2 Property 2", "E[G]", "1 - e^eps")(_mean(-expm1(EPSILON)))


@row("SU2 Property 2", "range of G", "1 - e^(eps0+eps) to E - e^eps")
def _range() -> Found:
    gains = []
    for name in ("k-RR", "BLH", "RAPPOR", "OUE", "HR"):
        randomizer = make(name, EPS0, SMALL)
        law = midpoints(randomizer, randomizer.worst_pairs().pairs[0])
        gains += list((law.first - A * law.second) / law.reference)
    least, most = min(gains), max(gains)
    words = f"{number(least, 5)} to {number(most, 5)} at {AT}, eps = {EPSILON:g}"
    return Found(words, says(agrees(least, 1 - A * E) and agrees(most, E - A)))


@row(
    "SU2 section 5.3", "values of L for 10-RR, x2 a third value",
    "E - a, 1 - aE, 1 - a, (1 - a)/E; a = e^eps",
)  # fmt: skip
def _four_values() -> Found:
    law = midpoints(sd.KRR(k=10, eps0=EPS0), (0, 1, 2))
    values = sorted({round(float(x), 9) for x in (law.first - A * law.second) / law.reference})
    return compared(values, sorted((E - A, 1 - A * E, 1 - A, (1 - A) / E)), f"{AT}, eps = 0.5")


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


@row(
    "SU0 Fig. 4, SU2 Fig. 8", "law of L, Laplace, eps0 = 1, eps = 0.1",
    "three pieces, atoms 1/(2w) at both ends",
)  # fmt: skip
def _laplace() -> Found:
    eps0, epsilon = 1.0, 0.1
    # L = gamma (r0 - a r1) with r0, r1 the ratios to the blanket, at y of the blanket's law.
    y = np.linspace(-12.0, 13.0, 200_001)
    zero, one = np.exp(-np.abs(y)), np.exp(-np.abs(y - 1.0))
    blanket = np.minimum(zero, one)
    values = exp(-eps0 / 2) * (zero - exp(epsilon) * one) / blanket
    density = blanket / blanket.sum()
    points = np.linspace(float(values.min()) - 0.1, float(values.max()) + 0.1, 41)
    far = max(
        abs(float(density[values <= t + 1e-9].sum()) - laplace_cdf(t, eps0=eps0, epsilon=epsilon))
        for t in points
    )
    return Found(f"the law on a fine grid is within {number(far, 1)} of it", says(far < 1e-3))
