"""Su, Cheng, Wang 2025, both versions: tables of laws."""

from __future__ import annotations

import math

import numpy as np

import shuffledp as sd
from papers.printed.items import (
    SU_GAMMA,
    SU_TABLE_1_ZERO,
    SU_TABLE_2,
    SU_TABLE_3,
    Item,
    laplace_cdf,
)
from papers.printed.kit import Found, agrees, number, row
from shuffledp.laws.midpoints import midpoints

EPS0, SMALL, LARGE = 2.0, 4, 64
AT = f"eps0 = {EPS0:g}"


def make(name: str, eps0: float, size: int) -> sd.Randomizer:
    made = {
        "k-RR": lambda: sd.KRR(k=size, eps0=eps0),
        "BLH": lambda: sd.BLH(domain=size, eps0=eps0),
        "RAPPOR": lambda: sd.RAPPOR(d=size, eps0=eps0),
        "OUE": lambda: sd.OUE(d=size, eps0=eps0),
        "HR": lambda: sd.HadamardResponse(domain=size, eps0=eps0),
        "Laplace": lambda: sd.Laplace(eps0=eps0, binary=True),
    }
    return made[name]()


def classes(name: str, size: int, eps0: float = EPS0) -> tuple[float, float, float, float]:
    """p, q, r and gamma of the library's law: masses of (E, 1), (E, E) and (1, 1)."""
    randomizer = make(name, eps0, size)
    law = midpoints(randomizer, randomizer.worst_pairs().pairs[0])
    E = math.exp(eps0)
    r0, r1 = law.first / law.reference, law.second / law.reference
    high0, high1 = r0 > 0.5 * E, r1 > 0.5 * E
    masses = [
        float(law.reference[chosen].sum())
        for chosen in (high0 & ~high1, high0 & high1, ~high0 & ~high1)
    ]
    return masses[0], masses[1], masses[2], float(law.reference.sum())


def _tabulated(ours: tuple[float, ...], theirs: tuple[float, ...], at: str = AT) -> Found:
    words = f"{', '.join(number(x, 5) for x in ours)} at {at}"
    if all(agrees(x, y) for x, y in zip(ours, theirs, strict=True)):
        return Found(words, "holds")
    printed = ", ".join(number(x, 5) for x in theirs)
    return Found(words, f"does not: printed {printed}")


@row(*(f"su-table2-{name}" for name in SU_TABLE_2))
def _decomposition(item: Item) -> Found:
    name = item.key.removeprefix("su-table2-")
    size = LARGE if name == "HR" else SMALL
    assert callable(item.value)
    ours, theirs = classes(name, size)[:3], item.value(EPS0, size)
    if name != "HR":
        return _tabulated(ours, theirs)
    return _hadamard(ours, theirs)


def _hadamard(ours: tuple[float, ...], theirs: tuple[float, ...]) -> Found:
    """The printed law is that of infinitely many rows: column 0 is favoured by all inputs."""
    columns = sd.HadamardResponse(domain=LARGE, eps0=EPS0).columns
    far = max(abs(x - y) for x, y in zip(ours, theirs, strict=True))
    E = math.exp(EPS0)
    limit = far <= 2 * (E + 1) / (columns * (E + 1))
    words = f"{', '.join(number(x, 5) for x in ours)} at {AT}"
    verdict = f"holds as K grows; off by up to {number(far, 2)} at K = {columns}"
    return Found(words, verdict if limit else "does not")


@row(*(f"su-table3-{name}" for name in SU_TABLE_3))
def _asymptotic(item: Item) -> Found:
    name = item.key.removeprefix("su-table3-")
    assert callable(item.value)
    return _tabulated(classes(name, LARGE)[:3], item.value(EPS0))


@row(*(f"su-gamma-{name}" for name in SU_GAMMA))
def _gamma(item: Item) -> Found:
    name = item.key.removeprefix("su-gamma-")
    assert callable(item.value)
    size = LARGE if name == "HR" else SMALL
    compare = _hadamard if name == "HR" else _tabulated
    return compare((classes(name, size)[3],), (item.value(EPS0, size),))


@row(*(f"su-table1-{name}" for name in SU_TABLE_1_ZERO))
def _zero(item: Item) -> Found:
    name = item.key.removeprefix("su-table1-")
    size = 10 if name == "k-RR" else LARGE
    assert callable(item.value)
    compare = _hadamard if name == "HR" else _tabulated
    return compare((1 - classes(name, size)[3],), (item.value(EPS0, size),))


@row("su0-rappor")
def _first_version(item: Item) -> Found:
    assert callable(item.value)
    return _tabulated((classes("RAPPOR", LARGE)[2],), (item.value(EPS0),))


@row("su0-mean", "su2-mean")
def _mean(item: Item) -> Found:
    epsilon = 0.5
    law = midpoints(sd.KRR(k=SMALL, eps0=EPS0), (0, 1))
    # E[G] = sum of R(x0) - a R(x1).
    mean = float((law.first - math.exp(epsilon) * law.second).sum())
    assert callable(item.value)
    return _tabulated((mean,), (item.value(epsilon),), f"eps = {epsilon:g}")


@row("su2-range")
def _range() -> Found:
    epsilon = 0.5
    a, E = math.exp(epsilon), math.exp(EPS0)
    least, most = math.inf, -math.inf
    for name in SU_TABLE_2:
        randomizer = make(name, EPS0, SMALL)
        law = midpoints(randomizer, randomizer.worst_pairs().pairs[0])
        gains = (law.first - a * law.second) / law.reference
        least, most = min(least, float(gains.min())), max(most, float(gains.max()))
    holds = agrees(least, 1 - a * E) and agrees(most, E - a)
    return Found(f"{number(least, 5)} to {number(most, 5)} at eps0 = 2, eps = 0.5",
                 "holds" if holds else "does not")  # fmt: skip


@row("su-four")
def _four_values(item: Item) -> Found:
    epsilon = 0.5
    a = math.exp(epsilon)
    law = midpoints(sd.KRR(k=10, eps0=EPS0), (0, 1, 2))
    first, second, third = law.first, law.second, law.reference
    values = sorted({round(float(x), 9) for x in (first - a * second) / third})
    assert callable(item.value)
    printed = sorted(item.value(EPS0, a))
    same = len(values) == len(printed) and all(map(agrees, values, printed))
    words = f"{', '.join(number(x, 5) for x in values)} at {AT}, eps = {epsilon:g}"
    return Found(words, "holds" if same else "does not")


@row("su-fig8")
def _laplace() -> Found:
    eps0, epsilon = 1.0, 0.1
    a, w = math.exp(epsilon), math.exp(0.5)
    gamma = 1 / w
    # L = gamma (r0 - a r1) with r0, r1 the ratios to the blanket, at y of the blanket's law.
    y = np.linspace(-12.0, 13.0, 200_001)
    density = np.exp(-np.maximum(np.abs(y), np.abs(y - 1.0)))
    density /= density.sum()
    # gamma r_x: the ratio to the normalized blanket omega is gamma times that to the blanket.
    least = np.minimum(np.exp(-np.abs(y)), np.exp(-np.abs(y - 1.0)))
    values = gamma * (np.exp(-np.abs(y)) - a * np.exp(-np.abs(y - 1.0))) / least
    points = np.linspace(float(values.min()) - 0.1, float(values.max()) + 0.1, 41)
    far = max(
        abs(float(density[values <= t + 1e-9].sum()) - laplace_cdf(t, eps0=eps0, epsilon=epsilon))
        for t in points
    )
    holds = far < 1e-3
    return Found(f"the law on a fine grid is within {number(far, 1)} of it",
                 "holds" if holds else "does not")  # fmt: skip
