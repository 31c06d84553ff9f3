"""The figures of three papers whose settings are printed, or in released code, with ours added.

    python -m papers.figures

Feldman, McMillan, Talwar 2021, Figure 2; Wang et al. 2024, Figures 1 to 5; Su, Cheng, Wang 2025,
Figures 2 to 8 of the later version. Titles say which settings are those of the authors' released
code, and which are ours. What the papers claim of their other figures are rows of
``papers.printed``.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import shuffledp as sd
from papers.draw import (
    BLACK,
    BLUE,
    DARK,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    YELLOW,
    Line,
    Panel,
    counts,
    draw,
    epsilon_of,
    run,
)
from papers.printed.feldman import bkmtt
from papers.printed.rows import DELTA
from papers.printed.su import laplace_cdf
from papers.printed.su_claims import RATES
from papers.printed.wang import delta_at, published
from papers.printed.wang_claims import cheu, range_queries, subset, users_of_bins
from shuffledp.laws.pairs import midpoints
from shuffledp.published.formulas import variation_ratio_4_2, variation_ratio_4_3

RTOL = 1e-3  # at which a picture does not change
UPPER = Line("best", "upper end, our evaluation", BLACK, thick=True)
LOWER = Line("dataset", "lower end, our evaluation", YELLOW, end="lower")
Figure = tuple[str, str, list[Panel], int]  # name, title, panels, columns


def shuffled(randomizer: sd.Randomizer, n: int) -> sd.Account:
    """At the accuracy of a picture."""
    return sd.shuffle(randomizer, n=n, rtol=RTOL)


# --------------------------------------------------------- Feldman, McMillan, Talwar 2021

# Each line of any mechanism (generic), or of binary randomized response.
GENERIC = (
    Line("label-stealing", "any mechanism, upper end, our evaluation", BLACK, thick=True),
    Line("dataset", "any mechanism, lower end, our evaluation", YELLOW, end="lower"),
    Line("clone", "Clones (Thm 3.2)", BLUE),
    Line("fmt-3.1", "Clones, Theoretical (Thm 3.1)", GREEN),
    Line("bennett-generic", "BBGN'19 (Bennett, generic)", SKY),
)
BINARY = (
    Line("dataset", "2RR, lower bound (Alg. 7)", ORANGE, end="lower"),
    Line("csuzz19", "CSUZZ'19, 2RR", PURPLE, end="estimate"),
)
BKMTT = Line("bkmtt20", "BKMTT'20 (constants rebuilt)", GREY, end="estimate")


def _of_feldman(eps0: float, n: int) -> list[float]:
    everything = sd.generic(eps0=eps0, n=n, rtol=RTOL)
    binary = shuffled(sd.BinaryRR(eps0=eps0), n)
    curve = bkmtt(eps0=eps0, n=n, delta=DELTA)
    return [
        *(epsilon_of(everything, line, DELTA) for line in GENERIC),
        *(epsilon_of(binary, line, DELTA) for line in BINARY),
        curve if curve < eps0 else math.nan,
    ]


def feldman() -> Iterator[Figure]:
    """Printed: (a) eps0 = 0.1 and (b) 6, n from 1e5 to 1e7; (c) n = 1e6, eps0 from 0.01 to 8."""
    users, lines = counts(10**5, 10**7, 7), (*GENERIC, *BINARY, BKMTT)
    local = [0.01, 0.03, 0.1, 0.3, 0.6, *(float(e) for e in range(1, 9))]
    panels = [
        Panel(f"({part}) ε₀ = {eps0:g}", users, "n (users)").add(
            lines, [_of_feldman(eps0, n) for n in users]
        )
        for part, eps0 in (("a", 0.1), ("b", 6.0))
    ]
    last = Panel("(c) n = 1,000,000", local, "local ε₀ (nats)", xscale="linear")
    panels.append(last.add(lines, [_of_feldman(eps0, 10**6) for eps0 in local]))
    title = "FMT 2021, Fig. 2: any ε₀-LDP mechanism, δ = 1e-6 (settings as printed, points not)"
    yield "feldman_fig2", title, panels, 3


# ------------------------------------------------------------------------ Wang et al. 2024

USERS, DOMAINS = (10**4, 10**5), (16, 128)
OWN = (
    UPPER,
    LOWER,
    Line("variation-ratio", "variation-ratio", ORANGE, end="estimate"),
    Line("stronger-clone", "stronger clone", BLUE),
    Line("clone", "clone", SKY),
    Line("bennett or hoeffding", "privacy-blanket, specific", GREEN),
)
OF_ALL = (
    Line("bennett-generic or hoeffding-generic", "privacy-blanket, general", PURPLE),
    Line("efmrtt19", "EFMRTT19", GREY),
)
MANY = (
    Line("best", "upper end, our evaluation", BLACK, thick=True),
    Line("dataset", "lower end, our evaluation", YELLOW, end="lower"),
    Line("published", "variation-ratio (numerical)", ORANGE, end="estimate"),
    Line("4.2", "variation-ratio, analytic (Thm 4.2)", GREEN, end="estimate"),
    Line("4.3", "variation-ratio, asymptotic (Thm 4.3)", BLUE, end="estimate"),
)
# With p infinite and beta = 1 the published pair is exact, and what bounds it a bound.
CLEAR = (*MANY[:2], *(replace(line, end="upper") for line in MANY[2:]))
RANGES = (
    Line("best", "the same reports, upper end, our evaluation", BLACK, thick=True),
    Line("dataset", "the same reports, lower end, our evaluation", YELLOW, end="lower"),
    Line("advanced", "advanced parallel", ORANGE, end="estimate"),
    Line("code", "the same with the β of their released code", SKY, end="estimate"),
    Line("basic", "basic parallel", BLUE),
    Line("separate best", "separate, best", GREEN, end="estimate"),
    Line("separate worst", "separate, worst", PURPLE),
)


def _gain(title: str, x: Sequence[float], lines: Sequence[Line], rows, *, of: str) -> Panel:
    """log2 of x over every value: the axis of these figures."""
    xlabel = "local ε₀ (nats)" if of == "ε₀" else "ε' of the original analysis"
    panel = Panel(title, x, xlabel, f"log₂({of}/ε)", xscale="linear", yscale="linear")
    gains = [
        [math.log2(at / value) if value > 0 else math.nan for value in row]
        for at, row in zip(x, rows, strict=True)
    ]
    return panel.add(lines, gains)


def _one_message(make: Callable[[int, float], sd.Randomizer]) -> list[Panel]:
    """Figures 1 and 2: a panel for each d and n."""
    local = [0.1, 0.4, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]

    def row(d: int, n: int, eps0: float) -> list[float]:
        own, generic = shuffled(make(d, eps0), n), sd.generic(eps0=eps0, n=n, rtol=RTOL)
        found = [epsilon_of(own, line, delta_at(n)) for line in OWN]
        return found + [epsilon_of(generic, line, delta_at(n)) for line in OF_ALL]

    return [
        _gain(f"d = {d}, n = {n:,}", local, (*OWN, *OF_ALL), [row(d, n, e) for e in local], of="ε₀")
        for d in DOMAINS
        for n in USERS
    ]


def _protocol(protocol: sd.MultiMessage | None, n: int, delta: float) -> list[float]:
    """eps of the five curves of Figures 3 and 4."""
    if protocol is None:
        return [math.nan] * len(MANY)
    bound = sd.shuffle(protocol, n=n, rtol=RTOL).epsilon(delta=delta)
    found = [bound.upper, bound.lower, published(protocol, n, delta)]
    r, among = sd.ratios(protocol), protocol.blanket_total(n) + 1
    for form in (variation_ratio_4_2, variation_ratio_4_3):
        found.append(math.nan)
        with contextlib.suppress(sd.NotCertified):  # its domain ends
            found[-1] = form(p=r.p, beta=r.beta, q=r.q, n=among, delta=delta)
    return found


def _ranges(d: int, n: int, eps0: float) -> list[float]:
    """Figure 5 by p, beta and q as printed; ours is the tree's own law."""
    tree = shuffled(sd.Hierarchy(domain=d, eps0=eps0, branching=2, base="k-rr"), n)
    theirs = range_queries(d, n, eps0)
    found = [epsilon_of(tree, line, delta_at(n)) for line in RANGES[:2]]
    found += [theirs[line.key] for line in RANGES[2:]]
    return [value if value < 0.9999 * eps0 else math.nan for value in found]


def wang() -> Iterator[Figure]:
    """delta = 0.01/n, the size of subsets and Figure 3's axis are those of their released code."""
    title = "Wang et al. 2024, Fig. 1: subset selection (as printed; δ, sizes of their code)"
    yield "wang_fig1", title, _one_message(subset), 2
    title = "Wang et al. 2024, Fig. 2: optimal local hashing (as printed; δ = 0.01/n of their code)"
    yield "wang_fig2", title, _one_message(lambda d, e: sd.OLH(domain=d, eps0=e)), 2
    targets = [0.01, 0.05, 0.14, 0.16, 0.2, 0.25, 0.3, 0.35, 0.42, 0.45, 0.5, 0.6, 0.8, 1.0, 1.25,
               1.5]  # fmt: skip
    panels = []
    for n in USERS:
        rows = [_protocol(cheu(n, target), n, delta_at(n)) for target in targets]
        panels.append(_gain(f"d = 16 and 128, n = {n:,}", targets, MANY, rows, of="ε'"))
    title = "Wang et al. 2024, Fig. 3: Cheu-Zhilyaev (as printed; δ = 0.01/n, f of their code)"
    yield "wang_fig3", title, panels, 3
    targets = [0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5]
    panels = []
    for share in DOMAINS:
        bins = sd.BallsIntoBins(d=share, s=1, blankets=1)  # of d and s only d/s matters
        rows = [_protocol(bins, users_of_bins(t, share, DELTA), DELTA) for t in targets]
        panels.append(_gain(f"d/s = {share}", targets, CLEAR, rows, of="ε'"))
    title = "Wang et al. 2024, Fig. 4: balls into bins (n over ε' as printed; δ = 1e-6, d/s ours)"
    yield "wang_fig4", title, panels, 3
    local = [0.5, 1.0, 2.0, 3.0, 4.0, 5.0]
    panels = [
        _gain(f"d = {d}, n = {n:,}", local, RANGES, [_ranges(d, n, e) for e in local], of="ε₀")
        for d in (64, 2048)
        for n in USERS
    ]
    title = "Wang et al. 2024, Fig. 5: range queries (as printed; δ = 0.01/n of their code)"
    yield "wang_fig5", title, panels, 2


# -------------------------------------------------------------------- Su, Cheng, Wang 2025

LOCAL, SU_USERS, DOMAIN = (0.1, 4.0), counts(1000, 10**5, 7), 64
BLANKET = Line("blanket", "optimal decomposition", GREEN)
THIRD = Line("one-dataset", "lower bound, all others a third value", ORANGE, end="lower")
HOEFFDING = Line("hoeffding", "privacy blanket, Hoeffding", PURPLE)
BENNETT = Line("bennett", "privacy blanket, Bennett", SKY)
CLONE = Line("clone", "standard clone, numerical", BLUE)
MECHANISMS: dict[str, Callable[[float], sd.Randomizer]] = {
    "10-RR": lambda e: sd.KRR(k=10, eps0=e),
    "BLH": lambda e: sd.BLH(domain=DOMAIN, eps0=e),
    "RAPPOR": lambda e: sd.RAPPOR(d=DOMAIN, eps0=e),
    "OUE": lambda e: sd.OUE(d=DOMAIN, eps0=e),
    "Laplace on {0, 1}": lambda e: sd.Laplace(eps0=e, binary=True),
}
Drawn = list[tuple[Line, sd.Randomizer]]


def _of(label: str, colour: str, randomizer: sd.Randomizer, *, thick: bool = False):
    """The blanket's bound of one mechanism among several."""
    return Line("blanket", label, colour, thick=thick), randomizer


def _over_users(title: str, drawn: Drawn) -> Panel:
    """e^eps - 1 over n, the axes of these figures."""
    accounts = {id(r): [shuffled(r, n) for n in SU_USERS] for _, r in drawn}
    panel = Panel(title, SU_USERS, "n (users)", "exp(ε) - 1")
    for line, randomizer in drawn:
        found = (epsilon_of(acc, line, DELTA) for acc in accounts[id(randomizer)])
        panel.curves.append((line, [math.expm1(value) for value in found]))
    return panel


def _baselines(name: str, eps0: float) -> Panel:
    """Figures 2 and 3: every bound, and those of copies that share eps0."""
    make = MECHANISMS[name]
    one = make(eps0)
    lines = (UPPER, LOWER, BLANKET, THIRD, HOEFFDING, BENNETT, CLONE)
    drawn: Drawn = [(line, one) for line in lines]
    for k, colour in ((2, GREY), (4, DARK)):
        joint = sd.Joint((make(eps0 / k),) * k)
        drawn.append(_of(f"optimal decomposition, {k}-joint", colour, joint))
    return _over_users(f"{name}, ε₀ = {eps0:g}", drawn)


def _parallel(eps0: float) -> Panel:
    """Figure 4: 10-RR and BLH by halves."""
    parts = (sd.KRR(k=10, eps0=eps0), sd.BLH(domain=10, eps0=eps0))
    mixed = sd.Parallel(parts, weights=(0.5, 0.5))
    hoeffding = replace(HOEFFDING, colour=DARK)
    drawn: Drawn = [
        (line, mixed) for line in (UPPER, LOWER, BLANKET, THIRD, BENNETT, CLONE, hoeffding)
    ]
    drawn += [_of("10-RR alone", PURPLE, parts[0]), _of("BLH alone", GREY, parts[1])]
    return _over_users(f"10-RR and BLH by halves, ε₀ = {eps0:g}", drawn)


SIZES = ((3, ORANGE), (5, PURPLE), (10, BLUE), (20, GREEN))
LIMIT = 100  # stands for a large domain: the error of the limit is about 2^-D


def _domains(eps0: float) -> Panel:
    """Figure 5: RAPPOR's bound over D, its limit and lower bound, and the clone."""
    limit = sd.RAPPOR(d=LIMIT, eps0=eps0)
    drawn = [_of(f"D = {d}", colour, sd.RAPPOR(d=d, eps0=eps0)) for d, colour in SIZES]
    drawn.append(_of(f"D = {LIMIT}", BLACK, limit))
    drawn += [(replace(THIRD, colour=YELLOW), limit), (replace(CLONE, colour=SKY), limit)]
    return _over_users(f"RAPPOR, ε₀ = {eps0:g}", drawn)


def _differences(eps0: float) -> Panel:
    """The same: by how much eps is below that at D = 100, in per cent."""
    panel = Panel(f"RAPPOR, ε₀ = {eps0:g}", SU_USERS, "n (users)", "ε below that at D = 100, %",
                  yscale="linear")  # fmt: skip

    def row(n: int) -> list[float]:
        *found, far = (
            epsilon_of(shuffled(sd.RAPPOR(d=d, eps0=eps0), n), BLANKET, DELTA)
            for d in (*(d for d, _ in SIZES), LIMIT)
        )
        return [100 * (1 - value / far) for value in found]

    lines = [Line("blanket", f"D = {d}", colour) for d, colour in SIZES]
    return panel.add(lines, [row(n) for n in SU_USERS])


def _poisson(eps0: float) -> Panel:
    """Figure 6: 10-RR sampled with a rate, then shuffled."""
    drawn: Drawn = []
    for rate, colour in zip(RATES, (BLUE, GREEN, PURPLE, ORANGE), strict=True):
        mechanism = sd.PoissonSubsample(sd.KRR(k=10, eps0=eps0), rate=rate)
        lower = Line("one-dataset", f"rate {rate:g}, lower bound", YELLOW, end="lower")
        drawn += [_of(f"rate {rate:g}, optimal decomposition", colour, mechanism)]
        drawn += [(lower, mechanism)]
    drawn.append(_of("not sampled", BLACK, sd.KRR(k=10, eps0=eps0), thick=True))
    return _over_users(f"10-RR, Poisson sampling, ε₀ = {eps0:g}", drawn)


def _hamming(eps0: float) -> Panel:
    """Figure 7: four k-RR of eps0/4, records that differ in 1 to 4 of them."""
    drawn: Drawn = []
    for m, colour in zip((1, 2, 3, 4), (SKY, BLUE, GREEN, BLACK), strict=True):
        mechanism = sd.Joint((sd.KRR(k=10, eps0=eps0 / 4),) * 4, hamming=m)
        lower = Line("dataset", f"{m} of 4 differ, lower end", ORANGE, end="lower")
        drawn += [_of(f"{m} of 4 differ, upper end", colour, mechanism), (lower, mechanism)]
    return _over_users(f"four 10-RR, ε₀ = {eps0:g} in all", drawn)


def _laplace_law() -> Panel:
    """Figure 8: the distribution function of L, eps0 = 1 and eps = 0.1, printed in full."""
    eps0, epsilon = 1.0, 0.1
    law = midpoints(sd.Laplace(eps0=eps0, binary=True), (0, 1))
    gamma = float(law.reference.sum())
    values = gamma * (law.first - math.exp(epsilon) * law.second) / law.reference
    x = list(np.linspace(float(values.min()) - 0.1, float(values.max()) + 0.1, 301))
    lines = (
        Line("law", "the library's law", BLACK, thick=True),
        Line("formula", "their formula", ORANGE),
    )
    rows = [
        (
            float(law.reference[values <= t].sum()) / gamma,
            laplace_cdf(t, eps0=eps0, epsilon=epsilon),
        )
        for t in x
    ]
    panel = Panel("Laplace on {0, 1}, ε₀ = 1, ε = 0.1", x, "t", "P(L ≤ t)", xscale="linear",
                  yscale="linear")  # fmt: skip
    return panel.add(lines, rows)


def su() -> Iterator[Figure]:
    """n, delta, the number of copies, D and rates are those of their released code."""
    paper = "Su, Cheng, Wang 2025, Fig."
    for figure, names in ((2, list(MECHANISMS)[:3]), (3, list(MECHANISMS)[3:])):
        panels = [_baselines(name, eps0) for eps0 in LOCAL for name in names]
        title = f"{paper} {figure} (mechanisms, ε₀ as printed; n, δ = 1e-6, copies of their code)"
        yield f"su_fig{figure}", title, panels, len(names)
    for figure, *makers in (
        (4, _parallel), (5, _domains, _differences), (6, _poisson), (7, _hamming)
    ):  # fmt: skip
        panels = [make(eps0) for make in makers for eps0 in LOCAL]
        yield f"su_fig{figure}", f"{paper} {figure} (settings of their released code)", panels, 2
    yield "su_fig8", f"{paper} 8 (all as printed)", [_laplace_law()], 1


def main(out: Path) -> None:
    """Draw all figures."""
    for figures in (feldman, wang, su):
        for name, title, panels, columns in figures():
            print(*draw(out, name, title, panels, columns=columns))


if __name__ == "__main__":
    run(main, __doc__)
