"""Su, Cheng, Wang 2025 (arXiv 2504.07414): laws of G, times, and the FFT bound beside the contour.

    python -m papers.su_decomposition

Tables 1 and 2: the law of G of each mechanism, from the library's law and from the formula. Table
3: times. delta over eps of each mechanism (settings ours), with the optimal decomposition bound by
gains rounded up to a grid and an FFT: where that returns its own rounding. Their figures are drawn
by ``papers.su_figures``.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import shuffledp as sd
from papers.common import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    YELLOW,
    Line,
    Panel,
    draw,
    run,
    steps,
    table,
)
from papers.printed.algorithms import Ratios, grid_bracket, grid_delta, grid_step
from shuffledp.amplification.analyses import UNCERTIFIED
from shuffledp.bounds.pairs import LawPair
from shuffledp.bounds.profile import Profile
from shuffledp.laws.midpoints import midpoints
from shuffledp.laws.pairs import blanket_pair

DELTA = 1e-6
LINES = (
    Line("blanket", "optimal decomposition, certified contour, our evaluation", BLACK, thick=True),
    Line("dataset", "certified lower end, best x2, our evaluation", ORANGE, end="lower"),
    Line("one-dataset", "lower end, one x2 (Thm 14)", YELLOW, end="lower"),
    Line("bennett", "Bennett", SKY),
    Line("hoeffding", "Hoeffding", PURPLE),
    Line("stronger-clone", "stronger clone", BLUE),
    Line("clone", "clone", GREY),
)
GRID = Line("blanket-grid", "the same by FFT on a grid", GREEN, end="estimate", marker="x")
MECHANISMS = {
    "k-rr": ("10-RR", lambda e: sd.KRR(k=10, eps0=e)),
    "blh": ("binary local hashing, 100 values", lambda e: sd.BLH(domain=100, eps0=e)),
    "rappor": ("RAPPOR, 100 bits", lambda e: sd.RAPPOR(d=100, eps0=e)),
    "oue": ("OUE, 100 bits", lambda e: sd.OUE(d=100, eps0=e)),
    "hadamard": (
        "Hadamard response, 100 values",
        lambda e: sd.HadamardResponse(domain=100, eps0=e),
    ),
    "laplace": ("Laplace on [0, 1]", lambda e: sd.Laplace(eps0=e)),
}


def profile(label: str, make) -> Panel:
    """delta over eps at n = 1000 and eps0 = 2, the grid's values as far as floats carry them."""
    acc = sd.shuffle(make(2.0), n=1000, rtol=1e-4)
    x = steps(0.02, 0.8, 14)
    panel = Panel(f"{label}, ε₀ = 2, n = 1,000", x, "ε (nats)", "δ", xscale="linear")
    for line in LINES:
        panel.curves.append((line, [_delta(acc, line, epsilon) for epsilon in x]))
    randomizer = make(2.0)
    x0, x1 = randomizer.worst_pairs().pairs[0]
    pair = blanket_pair(randomizer, x0, x1, n=1000)
    values = [_by_grid(pair, epsilon) for epsilon in x]
    panel.curves.append((GRID, [v if v > 1e-30 else math.nan for v in values]))
    panel.ylim = (1e-24, 1.0)
    return panel


def _by_grid(pair: Ratios | LawPair, epsilon: float) -> float:
    try:
        step = grid_step(pair, epsilon=epsilon, width=0.2)
        return grid_delta(pair, epsilon=epsilon, step=step, up=True)[0]
    except sd.NotCertified:
        return math.nan


def _delta(acc: sd.Account, line: Line, epsilon: float) -> float:
    try:
        if line.key in UNCERTIFIED:
            found = acc.estimate(epsilon=epsilon, analysis=line.key).value
            return found if found > 0.0 else math.nan
        bound = acc.delta(epsilon=epsilon, analysis=line.key)
    except sd.NotCertified:
        return math.nan
    value = bound.lower if line.end == "lower" else bound.upper
    return value if value > 0.0 else math.nan


def laws(out: Path) -> None:
    """Tables 1 and 2: masses of G = E - a, 1 - aE, E(1 - a), 1 - a and 0 at eps0 = 2."""
    e0 = 2.0
    E, w = math.exp(e0), math.exp(e0 / 2)
    d = 100
    size = 128  # Hadamard: the power of two above 100 values
    cases = [
        ("k-RR, k = 10", sd.KRR(k=10, eps0=e0), (1 / (E + 9), 0.0, 8 / (E + 9)), "agrees"),
        (
            "RAPPOR, 100 bits", sd.RAPPOR(d=d, eps0=e0),
            (
                1 / (w + 1) ** 2,
                1 / (w * (w + 1) ** 2) - 1 / (w * (w + 1) ** d),
                w / (w + 1) ** 2 + w / (w + 1) ** d,
            ),
            "agrees; the first version's Tables 1 and 2 have another mass at 1 - a",
        ),
        (
            "OUE, 100 bits", sd.OUE(d=d, eps0=e0),
            (
                1 / (2 * (E + 1)),
                1 / (2 * E * (E + 1)) - 1 / (2 * E * (E + 1) ** (d - 1)),
                E / (2 * (E + 1)) + 1 / (2 * (E + 1) ** (d - 1)),
            ),
            "agrees",
        ),
        (
            "BLH, 100 values", sd.BLH(domain=d, eps0=e0),
            (
                1 / (2 * (E + 1)),
                1 / (2 * (E + 1)) - 2.0 ** (1 - d) / (E + 1),
                1 / (2 * (E + 1)) + E * 2.0 ** (1 - d) / (E + 1),
            ),
            "agrees",
        ),
        (
            "Hadamard response, 100 values", sd.HadamardResponse(domain=d, eps0=e0),
            (
                1 / (2 * (E + 1)),
                1 / (2 * (E + 1)) - 2 / (size * (E + 1)),
                1 / (2 * (E + 1)) + 2 * E / (size * (E + 1)),
            ),
            "the printed row is the limit of large K; column 0 is common to all rows",
        ),
    ]  # fmt: skip
    rows = []
    for name, randomizer, formula, note in cases:
        x0, x1 = randomizer.worst_pairs().pairs[0]
        law = midpoints(randomizer, (x0, x1))
        r0, r1 = law.first / law.reference, law.second / law.reference
        for label, want, value in (
            ("G = E - a (and, by symmetry, 1 - aE)", (True, False), formula[0]),
            ("G = E(1 - a)", (True, True), formula[1]),
            ("G = 1 - a", (False, False), formula[2]),
        ):
            chosen = ((r0 > 0.5 * E) == want[0]) & ((r1 > 0.5 * E) == want[1])
            rows.append((name, label, float(law.reference[chosen].sum()), value, note))
        gamma = float(law.reference.sum())
        rows.append((name, "gamma", gamma, 2 * formula[0] + formula[1] + formula[2], note))
    table(
        out, "su_tables_1_2", ("mechanism", "value", "mass (library)", "mass (formula)", ""), rows
    )


def times(out: Path) -> None:
    """Table 3: one delta of 10-RR, eps0 = 4, at the eps of delta = 1e-6; CPU seconds."""
    rows = []
    for n in (10**3, 10**4, 10**6, 10**8):
        randomizer = sd.KRR(k=10, eps0=4.0)
        epsilon = sd.shuffle(randomizer, n=n).epsilon(delta=DELTA, analysis="blanket").upper
        pair = blanket_pair(randomizer, 0, 1, n=n)
        started = time.process_time()
        log = Profile(pair).log_delta(epsilon, width=1e-3)
        contour = time.process_time() - started
        started = time.process_time()
        try:
            found = grid_bracket(pair, epsilon=epsilon, width=0.1)
            by_grid: list[object] = [time.process_time() - started, found.low, found.high]
        except sd.NotCertified as error:
            by_grid = [str(error).split(": ")[1], "", ""]
        rows.append([n, epsilon, contour, math.exp(log.low), math.exp(log.high), *by_grid])
    header = ("n", "eps", "contour, seconds", "low", "high", "grid (width 0.1), seconds", "low",
              "high")  # fmt: skip
    table(out, "su_table_3", header, rows)


def main(out: Path) -> None:
    """Draw all figures, write all tables."""
    laws(out)
    times(out)
    panels = [profile(label, make) for label, make in MECHANISMS.values()]
    title = "δ over ε, and the FFT on a grid (after Su, Cheng, Wang 2025; settings ours)"
    print(*draw(out, "su_profiles", title, panels))


if __name__ == "__main__":
    run(main, __doc__)
