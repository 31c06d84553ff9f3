"""Su, Cheng, Wang 2025, both versions: tables of laws, and what is said of the figures."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

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
from papers.printed.kit import Found, agrees, down, ends, number, percent, row, span, up, upper_of
from papers.printed.timed import seconds_of

EPS0, SMALL, LARGE = 2.0, 4, 64
AT = f"eps0 = {EPS0:g}"
LOW, HIGH = 0.1, 4.0  # the two eps0 of the figures
DELTA = 1e-6


def _make(name: str, eps0: float, size: int) -> sd.Randomizer:
    made = {
        "k-RR": lambda: sd.KRR(k=size, eps0=eps0),
        "BLH": lambda: sd.BLH(domain=size, eps0=eps0),
        "RAPPOR": lambda: sd.RAPPOR(d=size, eps0=eps0),
        "OUE": lambda: sd.OUE(d=size, eps0=eps0),
        "HR": lambda: sd.HadamardResponse(domain=size, eps0=eps0),
        "Laplace": lambda: sd.Laplace(eps0=eps0, binary=True),
    }
    return made[name]()


def _classes(name: str, size: int, eps0: float = EPS0) -> tuple[float, float, float, float]:
    """p, q, r and gamma of the library's law: masses of (E, 1), (E, E) and (1, 1)."""
    randomizer = _make(name, eps0, size)
    law = randomizer.law(randomizer.worst_pairs().pairs[0])
    E = math.exp(eps0)
    r0, r1 = law.mass[0] / law.blanket, law.mass[1] / law.blanket
    high0, high1 = r0 > 0.5 * E, r1 > 0.5 * E
    masses = [
        float(law.blanket[chosen].sum())
        for chosen in (high0 & ~high1, high0 & high1, ~high0 & ~high1)
    ]
    return masses[0], masses[1], masses[2], float(law.blanket.sum())


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
    ours, theirs = _classes(name, size)[:3], item.value(EPS0, size)
    if name != "HR":
        return _tabulated(ours, theirs)  # type: ignore[arg-type]
    return _hadamard(ours, theirs)  # type: ignore[arg-type]


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
    return _tabulated(_classes(name, LARGE)[:3], item.value(EPS0))  # type: ignore[arg-type]


@row(*(f"su-gamma-{name}" for name in SU_GAMMA))
def _gamma(item: Item) -> Found:
    name = item.key.removeprefix("su-gamma-")
    assert callable(item.value)
    size = LARGE if name == "HR" else SMALL
    compare = _hadamard if name == "HR" else _tabulated
    return compare((_classes(name, size)[3],), (item.value(EPS0, size),))


@row(*(f"su-table1-{name}" for name in SU_TABLE_1_ZERO))
def _zero(item: Item) -> Found:
    name = item.key.removeprefix("su-table1-")
    size = 10 if name == "k-RR" else LARGE
    assert callable(item.value)
    compare = _hadamard if name == "HR" else _tabulated
    return compare((1 - _classes(name, size)[3],), (item.value(EPS0, size),))


@row("su0-rappor")
def _first_version(item: Item) -> Found:
    assert callable(item.value)
    return _tabulated((_classes("RAPPOR", LARGE)[2],), (item.value(EPS0),))


@row("su0-mean", "su2-mean")
def _mean(item: Item) -> Found:
    epsilon = 0.5
    law = sd.KRR(k=SMALL, eps0=EPS0).law((0, 1))
    # E[G] = sum of R(x0) - a R(x1).
    mean = float((law.mass[0] - math.exp(epsilon) * law.mass[1]).sum())
    assert callable(item.value)
    return _tabulated((mean,), (item.value(epsilon),), f"eps = {epsilon:g}")


@row("su2-range")
def _range() -> Found:
    epsilon = 0.5
    a, E = math.exp(epsilon), math.exp(EPS0)
    least, most = math.inf, -math.inf
    for name in SU_TABLE_2:
        randomizer = _make(name, EPS0, SMALL)
        law = randomizer.law(randomizer.worst_pairs().pairs[0])
        gains = (law.mass[0] - a * law.mass[1]) / law.blanket
        least, most = min(least, float(gains.min())), max(most, float(gains.max()))
    holds = agrees(least, 1 - a * E) and agrees(most, E - a)
    return Found(f"{number(least, 5)} to {number(most, 5)} at eps0 = 2, eps = 0.5",
                 "holds" if holds else "does not")  # fmt: skip


@row("su-four")
def _four_values(item: Item) -> Found:
    epsilon = 0.5
    a = math.exp(epsilon)
    first, second, third = sd.KRR(k=10, eps0=EPS0).law((0, 1, 2)).mass
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


# ------------------------------------------------------------------------------- claims


@cache
def _bounds(name: str, eps0: float, n: int) -> dict[str, float]:
    size = 10 if name == "k-RR" else LARGE
    acc = sd.shuffle(_make(name, eps0, size), n=n, rtol=1e-3)
    keys = ("hoeffding", "bennett", "clone", "blanket")
    found = {key: upper_of(acc, key, DELTA) for key in keys}
    found["lower"] = acc.epsilon(delta=DELTA, analysis="dataset").lower
    found["ours"] = acc.epsilon(delta=DELTA).upper
    return found


NAMES = ("k-RR", "BLH", "RAPPOR", "OUE", "Laplace")
SMALL_GAP = 0.1  # ours: what we call small
SETTINGS = tuple((eps0, n) for eps0 in (LOW, HIGH) for n in (10**3, 10**4, 10**6))


def _saved(name: str, eps0: float, n: int) -> float:
    found = _bounds(name, eps0, n)
    return 1 - found["blanket"] / min(found[key] for key in ("hoeffding", "bennett", "clone"))


@row("su-ten", slow=True)
def _ten(item: Item) -> Found:
    saved = {(name, *at): _saved(name, *at) for name in NAMES for at in SETTINGS}
    assert isinstance(item.value, float)
    below = [key for key, value in saved.items() if value < item.value]
    words = f"blanket saves {span(list(saved.values()))}; n = 1e3, 1e4, 1e6, delta = 1e-6"
    if not below:
        return Found(words, "holds")
    least = min(saved, key=saved.__getitem__)
    where = f"{least[0]}, eps0 = {least[1]:g}, n = 1e{round(math.log10(least[2]))}"
    return Found(words, f"does not: in {len(saved) - len(below)} of {len(saved)}; least at {where}")


@row("su-fifty", slow=True)
def _fifty(item: Item) -> Found:
    saved = {(name, n): _saved(name, HIGH, n) for name in NAMES for n in (10**3, 10**4)}
    best = max(saved, key=saved.__getitem__)
    words = (
        f"up to {percent(saved[best])} at eps0 = 4 ({best[0]}, n = 1e{round(math.log10(best[1]))})"
    )
    assert isinstance(item.value, float)
    return Found(words, "holds, and more" if saved[best] >= item.value else "does not")


@row("su-gap", slow=True)
def _gap() -> Found:
    words = []
    far: dict[str, list[str]] = {"blanket": [], "ours": []}
    for name in NAMES:
        shown = []
        for key, wide in far.items():
            gaps = {at: _bounds(name, *at)[key] / _bounds(name, *at)["lower"] - 1
                    for at in SETTINGS}  # fmt: skip
            shown.append(span(list(gaps.values())))
            (eps0, n), most = max(gaps.items(), key=lambda gap: gap[1])
            if most > SMALL_GAP:
                where = f"eps0 = {eps0:g}, n = 1e{round(math.log10(n))}"
                wide.append(f"{name} ({percent(most)} at {where})")
        words.append(f"{name} {', '.join(shown)}")
    shown = (
        f"blanket, and our default upper end, above our lower end: {'; '.join(words)}; the "
        "settings of the rows above"
    )
    if not far["blanket"]:
        return Found(shown, "holds")
    verdict = f"does not by the blanket for {', '.join(far['blanket'])}"
    left = f"for {', '.join(far['ours'])}" if far["ours"] else "none"
    return Found(shown, f"{verdict}; by our upper end {left}")


@row("su-time")
def _time() -> Found:
    return Found(f"20 eps of 10-RR over n, both ends: {number(seconds_of('curve'), 2)} s",
                 "their code was not run; ours is faster than both")  # fmt: skip


@row("su-joint", slow=True)
def _copies() -> Found:
    words, rising = [], []
    for name, one in (
        ("10-RR", lambda e: sd.KRR(k=10, eps0=e)),
        ("BLH", lambda e: sd.BLH(domain=LARGE, eps0=e)),
    ):
        for eps0 in (2.0, 4.0):
            found = [
                sd.shuffle(sd.Joint([one(eps0 / k)] * k), n=10**5, rtol=1e-5)
                .epsilon(delta=DELTA, analysis="blanket")
                .upper
                for k in (1, 2, 3)
            ]
            if any(y > x * (1 + 1e-4) for x, y in pairwise(found)):
                rising.append(f"{name} at eps0 = {eps0:g}")
            words.append(f"{name}, eps0 = {eps0:g}: {', '.join(up(x) for x in found)}")
    verdict = f"does not for {' and '.join(rising)}" if rising else "holds"
    return Found(f"blanket, n = 1e5, delta = 1e-6, k = 1, 2, 3: {'; '.join(words)}", verdict)


@row("su-joint-generic", slow=True)
def _joint_generic() -> Found:
    n, eps0 = 10**4, 4.0
    joint = sd.shuffle(sd.Joint([sd.KRR(k=10, eps0=eps0 / 2)] * 2), n=n, rtol=1e-3)
    generic = sd.generic(eps0=eps0, n=n, rtol=1e-3).epsilon(delta=DELTA)
    found = joint.epsilon(delta=DELTA)
    words = (
        f"two copies of 10-RR, eps0 = 4 in all, n = 1e4, delta = 1e-6: {ends(found)}, "
        f"any mechanism {ends(generic)}"
    )
    return Found(words, f"holds: {percent(1 - found.upper / generic.upper)} less")


@row("su-parallel")
def _parallel() -> Found:
    holds, words = True, []
    for eps0 in (LOW, HIGH):
        parts = (sd.KRR(k=10, eps0=eps0), sd.BLH(domain=10, eps0=eps0))
        mixed = sd.Parallel(parts, weights=(0.5, 0.5))
        found = [
            sd.shuffle(m, n=10**4, rtol=1e-3).epsilon(delta=DELTA, analysis="blanket").upper
            for m in (*parts, mixed)
        ]
        holds = holds and min(found[:2]) <= found[2] <= max(found[:2])
        words.append(f"{up(found[0])}, {up(found[1])}, mixed {up(found[2])}")
    return Found(f"blanket, n = 1e4, delta = 1e-6, eps0 = 0.1: {words[0]}; 4: {words[1]}",
                 "holds" if holds else "does not")  # fmt: skip


@row("su-rappor-domain")
def _domain() -> Found:
    change = {}
    for eps0 in (LOW, HIGH):
        found = {
            d: sd.shuffle(sd.RAPPOR(d=d, eps0=eps0), n=10**4, rtol=1e-4)
            .epsilon(delta=DELTA, analysis="blanket")
            .upper
            for d in (2, 5, 100)
        }
        change[eps0] = [found[d] / found[100] - 1 for d in (2, 5)]
    words = "; ".join(
        f"eps0 = {e:g}: D = 2 by {percent(v[0])}, D = 5 by {percent(v[1])}"
        for e, v in change.items()
    )
    holds = all(abs(v[1]) < 0.05 for v in change.values())
    return Found(f"blanket, n = 1e4, delta = 1e-6, from D = 100: {words}",
                 "holds" if holds else "does not")  # fmt: skip


@row("su-poisson", slow=True)
def _poisson() -> Found:
    gaps = []
    for eps0 in (LOW, HIGH):
        for rate in (0.1, 0.5):
            mechanism = sd.PoissonSubsample(sd.KRR(k=10, eps0=eps0), rate=rate)
            acc = sd.shuffle(mechanism, n=10**4, rtol=1e-5)
            upper = acc.epsilon(delta=DELTA, analysis="blanket").upper
            gaps.append(upper / acc.epsilon(delta=DELTA, analysis="dataset").lower - 1)
    words = f"{span(gaps)} apart (eps0 = 0.1 and 4, rates 0.1 and 0.5, n = 1e4, delta = 1e-6)"
    return Found(words, "holds" if max(gaps) < 0.02 else "does not")


@row("su-hamming", slow=True)
def _hamming() -> Found:
    found = []
    for m in (1, 2, 3, 4):
        mechanism = sd.Joint([sd.KRR(k=10, eps0=1.0)] * 4, hamming=m)
        found.append(sd.shuffle(mechanism, n=10**4, rtol=1e-3).epsilon(delta=DELTA))
    rising = all(x.upper < y.lower for x, y in pairwise(found))
    words = "; ".join(ends(b) for b in found)
    verdict = "holds; proved for the blanket (parts, Theorem 2.2)" if rising else "does not"
    return Found(f"eps0 = 4 in all, n = 1e4, delta = 1e-6, 1 to 4 differ: {words}", verdict)


@row("su0-clone", slow=True)
def _clone() -> Found:
    weaker = [
        (name, *at)
        for name in NAMES
        for at in SETTINGS
        if _bounds(name, *at)["clone"] > _bounds(name, *at)["bennett"]
    ]
    settings = len(NAMES) * len(SETTINGS)
    words = f"in {len(weaker)} of {settings} settings, those of Fig. 2 and 3 above"
    if len(weaker) == settings:
        return Found(words, "holds")
    return Found(words, "does not: in some, not in all" if weaker else "does not")


@row("su-worst")
def _worst() -> Found:
    acc = sd.shuffle(sd.KRR(k=3, eps0=2.0), n=50)
    one = acc.epsilon(delta=DELTA, analysis="one-dataset").lower
    best = acc.epsilon(delta=DELTA, analysis="dataset").lower
    words = (
        f"lower ends, 3-RR, eps0 = 2, n = 50, delta = 1e-6: {down(one)} there, {down(best)} where "
        "others hold x0 or x1"
    )
    return Found(words, "does not: false at finite n" if best > one * (1 + 1e-6) else "holds")


@row("su-fft")
def _fft() -> Found:
    # Hoeffding for a mean that is a - l below 0, values in an interval of length b.
    words, follows = [], []
    for eps0, epsilon, step in ((1.0, 0.1, 5e-4), (0.1, 0.05, 1e-2)):
        a, b = math.expm1(epsilon), math.expm1(eps0) * (math.exp(epsilon) + 1)
        theirs, ours = 2 * a * a / (b * b) - step, 2 * (a - step) ** 2 / (b * b)
        follows.append(theirs <= ours)
        setting = f"eps0 = {eps0:g}, eps = {epsilon:g}, l = {step:g}"
        words.append(f"{number(theirs, 3)} n, Hoeffding's {number(ours, 3)} n ({setting})")
    verdict = "holds" if all(follows) else "does not follow where 4a > b^2 (small eps0)"
    return Found(f"exponent {'; '.join(words)}", verdict)


@row("su-drawings")
def _drawings() -> Found:
    return Found("-", "nothing to compute")


@row("su-limit")
def _limit() -> Found:
    off = {}
    for name in SU_TABLE_3:
        limit = SU_TABLE_3[name][1](EPS0)
        off[name] = max(
            2**D * max(abs(x - y) for x, y in zip(_classes(name, D)[:3], limit, strict=True))
            for D in (3, 6, 12)
        )
    words = ", ".join(f"{name} {number(x, 2)}" for name, x in off.items())
    return Found(f"2^D times it, at most (D = 3, 6, 12; {AT}): {words}",
                 "holds" if max(off.values()) < 4 else "does not")  # fmt: skip
