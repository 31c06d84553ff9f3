"""Su, Cheng, Wang 2025, both versions: what is said of the figures, and of the method."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import shuffledp as sd
from papers.printed.items import SU_TABLE_3, Item
from papers.printed.kit import Found, down, ends, number, percent, row, span, up, upper_of
from papers.printed.su import AT, EPS0, LARGE, classes, make
from papers.printed.timed import seconds_of

LOW, HIGH = 0.1, 4.0  # the two eps0 of the figures
DELTA = 1e-6


@cache
def _bounds(name: str, eps0: float, n: int) -> dict[str, float]:
    size = 10 if name == "k-RR" else LARGE
    acc = sd.shuffle(make(name, eps0, size), n=n, rtol=1e-3)
    keys = ("hoeffding", "bennett", "clone", "blanket")
    found = {key: upper_of(acc, key, DELTA) for key in keys}
    found["lower"] = acc.epsilon(delta=DELTA, analysis="dataset").lower
    found["ours"] = acc.epsilon(delta=DELTA).upper
    return found


NAMES = ("k-RR", "BLH", "RAPPOR", "OUE", "Laplace")
SMALL_GAP = 0.1  # ours: what we call small
SETTINGS = tuple((eps0, n) for eps0 in (LOW, HIGH) for n in (10**3, 10**4, 10**5))


def _saved(name: str, eps0: float, n: int) -> float:
    found = _bounds(name, eps0, n)
    return 1 - found["blanket"] / min(found[key] for key in ("hoeffding", "bennett", "clone"))


@row("su-ten", slow=True)
def _ten(item: Item) -> Found:
    saved = {(name, *at): _saved(name, *at) for name in NAMES for at in SETTINGS}
    assert isinstance(item.value, float)
    below = [key for key, value in saved.items() if value < item.value]
    words = f"blanket saves {span(list(saved.values()))}; n = 1e3, 1e4, 1e5, delta = 1e-6"
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
                sd.shuffle(sd.Joint((one(eps0 / k),) * k), n=10**5, rtol=1e-5)
                .epsilon(delta=DELTA, analysis="blanket")
                .upper
                for k in (1, 2, 4, 8)
            ]
            if any(y > x * (1 + 1e-4) for x, y in pairwise(found)):
                rising.append(f"{name} at eps0 = {eps0:g}")
            words.append(f"{name}, eps0 = {eps0:g}: {', '.join(up(x) for x in found)}")
    verdict = f"does not for {' and '.join(rising)}" if rising else "holds"
    return Found(f"blanket, n = 1e5, delta = 1e-6, k = 1, 2, 4, 8: {'; '.join(words)}", verdict)


@row("su-joint-generic", slow=True)
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
            for d in (3, 5, 100)
        }
        change[eps0] = [found[d] / found[100] - 1 for d in (3, 5)]
    words = "; ".join(
        f"eps0 = {e:g}: D = 3 by {percent(v[0])}, D = 5 by {percent(v[1])}"
        for e, v in change.items()
    )
    holds = all(abs(v[1]) < 0.05 for v in change.values())
    return Found(f"blanket, n = 1e4, delta = 1e-6, from D = 100: {words}",
                 "holds" if holds else "does not")  # fmt: skip


RATES = (0.1, 0.3, 0.5, 0.8)  # of their released code


@row("su-poisson", slow=True)
def _poisson() -> Found:
    gaps = []
    for eps0 in (LOW, HIGH):
        for rate in RATES:
            mechanism = sd.PoissonSubsample(sd.KRR(k=10, eps0=eps0), rate=rate)
            acc = sd.shuffle(mechanism, n=10**4, rtol=1e-5)
            upper = acc.epsilon(delta=DELTA, analysis="blanket").upper
            gaps.append(upper / acc.epsilon(delta=DELTA, analysis="dataset").lower - 1)
    words = f"{span(gaps)} apart (eps0 = 0.1 and 4, rates 0.1 to 0.8, n = 1e4, delta = 1e-6)"
    return Found(words, "holds" if max(gaps) < 0.02 else "does not")


@row("su-hamming", slow=True)
def _hamming() -> Found:
    found = []
    for m in (1, 2, 3, 4):
        mechanism = sd.Joint((sd.KRR(k=10, eps0=1.0),) * 4, hamming=m)
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
    one = acc.estimate(delta=DELTA, analysis="one-dataset").value
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
            2**D * max(abs(x - y) for x, y in zip(classes(name, D)[:3], limit, strict=True))
            for D in (3, 6, 12)
        )
    words = ", ".join(f"{name} {number(x, 2)}" for name, x in off.items())
    return Found(f"2^D times it, at most (D = 3, 6, 12; {AT}): {words}",
                 "holds" if max(off.values()) < 4 else "does not")  # fmt: skip
