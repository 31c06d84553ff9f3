"""Su, Cheng, Wang 2025, both versions: what is said of the figures, and of the method."""

from __future__ import annotations

import math
from functools import cache, partial
from itertools import pairwise, product

import shuffledp as sd
from papers.printed import rows
from papers.printed.rows import (
    DELTA,
    SU,
    Found,
    down,
    ends,
    number,
    percent,
    says,
    short,
    span,
    up,
    upper_of,
)
from papers.printed.su import LARGE, make
from papers.printed.timed import seconds_of

row = partial(rows.row, SU)
LOW, HIGH = 0.1, 4.0  # the two eps0 of the figures
SMALL_GAP = 0.1  # ours: what we call small
NAMES = ("k-RR", "BLH", "RAPPOR", "OUE", "Laplace")
SETTINGS = tuple(product((LOW, HIGH), (10**3, 10**4, 10**5)))
RATES = (0.1, 0.3, 0.5, 0.8)  # of their released code

rows.no_number(SU, "Fig. 1", "hierarchy of decompositions", "a drawing")


@cache
def _bounds(name: str, eps0: float, n: int) -> dict[str, float]:
    acc = sd.shuffle(make(name, eps0, 10 if name == "k-RR" else LARGE), n=n, rtol=1e-3)
    found = {key: upper_of(acc, key) for key in ("hoeffding", "bennett", "clone", "blanket")}
    found["lower"] = acc.epsilon(delta=DELTA, analysis="dataset").lower
    found["ours"] = acc.epsilon(delta=DELTA).upper
    return found


def _saved(name: str, eps0: float, n: int) -> float:
    found = _bounds(name, eps0, n)
    return 1 - found["blanket"] / min(found[key] for key in ("hoeffding", "bennett", "clone"))


def _blanket(mechanism: sd.Randomizer, n: int, rtol: float) -> float:
    return sd.shuffle(mechanism, n=n, rtol=rtol).epsilon(delta=DELTA, analysis="blanket").upper


@row("Fig. 2, 3", "eps below every baseline, eps0 = 0.1 and 4", "at least 10 %", slow=True)
def _ten() -> Found:
    saved = {(name, *at): _saved(name, *at) for name in NAMES for at in SETTINGS}
    reached = sum(value >= 0.10 for value in saved.values())
    words = f"blanket saves {span(list(saved.values()))}; n = 1e3, 1e4, 1e5, delta = 1e-6"
    least = min(saved, key=saved.__getitem__)
    where = f"{least[0]}, eps0 = {least[1]:g}, n = {short(least[2])}"
    no = f"does not: in {reached} of {len(saved)}; least at {where}"
    return Found(words, says(reached == len(saved), no))


@row(
    "Fig. 2, 3", "eps below every baseline where eps0 is large and n small", "up to 50 %",
    slow=True,
)  # fmt: skip
def _fifty() -> Found:
    saved = {(name, n): _saved(name, HIGH, n) for name in NAMES for n in (10**3, 10**4)}
    best = max(saved, key=saved.__getitem__)
    words = f"up to {percent(saved[best])} at eps0 = 4 ({best[0]}, n = {short(best[1])})"
    return Found(words, says(saved[best] >= 0.50, yes="holds, and more"))


@row("Fig. 2, 3", "gap between upper and lower bound", "generally small", slow=True)
def _gap() -> Found:
    words, far = [], {"blanket": [], "ours": []}
    for name in NAMES:
        shown = []
        for key, wide in far.items():
            found = {at: _bounds(name, *at) for at in SETTINGS}
            gaps = {at: bounds[key] / bounds["lower"] - 1 for at, bounds in found.items()}
            shown.append(span(list(gaps.values())))
            (eps0, n), most = max(gaps.items(), key=lambda gap: gap[1])
            if most > SMALL_GAP:
                wide.append(f"{name} ({percent(most)} at eps0 = {eps0:g}, n = {short(n)})")
        words.append(f"{name} {', '.join(shown)}")
    shown = (
        f"blanket, and our default upper end, above our lower end: {'; '.join(words)}; the "
        "settings of the rows above"
    )
    left = f"for {', '.join(far['ours'])}" if far["ours"] else "none"
    no = f"does not by the blanket for {', '.join(far['blanket'])}; by our upper end {left}"
    return Found(shown, says(not far["blanket"], no))


@row("section 5", "a curve of bounds against the clone's code", "30 s against 5 min")
def _time() -> Found:
    words = f"20 eps of 10-RR over n, both ends: {number(seconds_of('curve'), 2)} s"
    return Found(words, "their code was not run; ours is faster than both")


@row(
    "section 6", "amplification over the number k of joint copies, eps0 in all", "grows with k",
    slow=True,
)  # fmt: skip
def _copies() -> Found:
    words, rising = [], []
    kinds = {
        "10-RR": lambda e: sd.KRR(k=10, eps0=e),
        "BLH": lambda e: sd.BLH(domain=LARGE, eps0=e),
    }
    for (name, one), eps0 in product(kinds.items(), (2.0, 4.0)):
        found = [_blanket(sd.Joint((one(eps0 / k),) * k), 10**5, 1e-5) for k in (1, 2, 4, 8)]
        if any(y > x * (1 + 1e-4) for x, y in pairwise(found)):
            rising.append(f"{name} at eps0 = {eps0:g}")
        words.append(f"{name}, eps0 = {eps0:g}: {', '.join(map(up, found))}")
    shown = f"blanket, n = 1e5, delta = 1e-6, k = 1, 2, 4, 8: {'; '.join(words)}"
    return Found(shown, says(not rising, f"does not for {' and '.join(rising)}"))


@row("section 6", "joint composition, specific against generic", "much tighter", slow=True)
def _joint_generic() -> Found:
    n, eps0 = 10**4, 4.0
    joint = sd.shuffle(sd.Joint((sd.KRR(k=10, eps0=eps0 / 2),) * 2), n=n, rtol=1e-3)
    generic = sd.generic(eps0=eps0, n=n, rtol=1e-3).epsilon(delta=DELTA)
    found = joint.epsilon(delta=DELTA)
    words = (
        f"two copies of 10-RR, eps0 = 4 in all, n = 1e4, delta = 1e-6: {ends(found)}, "
        f"any mechanism {ends(generic)}"
    )
    return Found(words, f"holds: {percent(1 - found.upper / generic.upper)} less")


@row("SU0 Fig. 5, 6; SU2 Fig. 4", "10-RR and BLH by halves", "between its parts")
def _parallel() -> Found:
    holds, words = True, []
    for eps0 in (LOW, HIGH):
        parts = (sd.KRR(k=10, eps0=eps0), sd.BLH(domain=10, eps0=eps0))
        mixed = sd.Parallel(parts, weights=(0.5, 0.5))
        *ends_of, between = (_blanket(m, 10**4, 1e-3) for m in (*parts, mixed))
        holds = holds and min(ends_of) <= between <= max(ends_of)
        words.append(f"{', '.join(map(up, ends_of))}, mixed {up(between)}")
    shown = f"blanket, n = 1e4, delta = 1e-6, eps0 = 0.1: {words[0]}; 4: {words[1]}"
    return Found(shown, says(holds))


@row("SU2 Fig. 5", "RAPPOR's bound over D", "indistinguishable from D = 5 on")
def _domain() -> Found:
    change = {}
    for eps0 in (LOW, HIGH):
        *near, far = (_blanket(sd.RAPPOR(d=d, eps0=eps0), 10**4, 1e-4) for d in (3, 5, 100))
        change[eps0] = [value / far - 1 for value in near]
    words = "; ".join(
        f"eps0 = {e:g}: D = 3 by {percent(v[0])}, D = 5 by {percent(v[1])}"
        for e, v in change.items()
    )
    holds = all(abs(v[1]) < 0.05 for v in change.values())
    return Found(f"blanket, n = 1e4, delta = 1e-6, from D = 100: {words}", says(holds))


@row(
    "SU2 Fig. 6", "10-RR, Poisson sampling, lower against upper bound", "closely matches",
    slow=True,
)  # fmt: skip
def _poisson() -> Found:
    gaps = []
    for eps0, rate in product((LOW, HIGH), RATES):
        mechanism = sd.PoissonSubsample(sd.KRR(k=10, eps0=eps0), rate=rate)
        acc = sd.shuffle(mechanism, n=10**4, rtol=1e-5)
        lower = acc.epsilon(delta=DELTA, analysis="dataset").lower
        gaps.append(upper_of(acc, "blanket") / lower - 1)
    words = f"{span(gaps)} apart (eps0 = 0.1 and 4, rates 0.1 to 0.8, n = 1e4, delta = 1e-6)"
    return Found(words, says(max(gaps) < 0.02))


@row(
    "SU2 Fig. 7", "joint k-RR, pairs that differ in 1 to 4 coordinates", "all four the worst",
    slow=True,
)  # fmt: skip
def _hamming() -> Found:
    found = []
    for m in (1, 2, 3, 4):
        mechanism = sd.Joint((sd.KRR(k=10, eps0=1.0),) * 4, hamming=m)
        found.append(sd.shuffle(mechanism, n=10**4, rtol=1e-3).epsilon(delta=DELTA))
    rising = all(x.upper < y.lower for x, y in pairwise(found))
    words = f"eps0 = 4 in all, n = 1e4, delta = 1e-6, 1 to 4 differ: {'; '.join(map(ends, found))}"
    return Found(words, says(rising, yes="holds; proved for the blanket (parts, Theorem 2.2)"))


@row("SU0 section 5", "numerical clone against Bennett for the mechanism", "weaker", slow=True)
def _clone() -> Found:
    found = [_bounds(name, *at) for name in NAMES for at in SETTINGS]
    weaker = sum(bounds["clone"] > bounds["bennett"] for bounds in found)
    words = f"in {weaker} of {len(found)} settings, those of Fig. 2 and 3 above"
    return Found(words, says(weaker == len(found), "does not: in some, not in all"))


@row("section 5", "most vulnerable data set", "x0, x1, all others a third")
def _worst() -> Found:
    acc = sd.shuffle(sd.KRR(k=3, eps0=2.0), n=50)
    one = acc.estimate(delta=DELTA, analysis="one-dataset").value
    best = acc.epsilon(delta=DELTA, analysis="dataset").lower
    words = (
        f"lower ends, 3-RR, eps0 = 2, n = 50, delta = 1e-6: {down(one)} there, {down(best)} where "
        "others hold x0 or x1"
    )
    return Found(words, says(best <= one * (1 + 1e-6), "does not: false at finite n"))


@row(
    "Algorithm 7", "factor of its error",
    "exp(-(2a^2/b^2 - l)n), a = e^eps-1, b = (E-1)(e^eps+1)",
)  # fmt: skip
def _fft() -> Found:
    # Hoeffding for a mean that is a - l below 0, values in an interval of length b.
    words, follows = [], []
    for eps0, epsilon, step in ((1.0, 0.1, 5e-4), (0.1, 0.05, 1e-2)):
        a, b = math.expm1(epsilon), math.expm1(eps0) * (math.exp(epsilon) + 1)
        theirs, ours = 2 * a * a / (b * b) - step, 2 * (a - step) ** 2 / (b * b)
        follows.append(theirs <= ours)
        setting = f"eps0 = {eps0:g}, eps = {epsilon:g}, l = {step:g}"
        words.append(f"{number(theirs, 3)} n, Hoeffding's {number(ours, 3)} n ({setting})")
    no = "does not follow where 4a > b^2 (small eps0)"
    return Found(f"exponent {'; '.join(words)}", says(all(follows), no))
