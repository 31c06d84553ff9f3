"""Feldman, McMillan, Talwar 2021 (arXiv 2012.12803), Figures 2 to 4, with ours added.

    python -m papers.feldman_clones

The printed axes and parameters were not at hand; the settings are ours (delta = 1e-6). Compared
are the bounds that the paper compares: earlier closed forms, the clone in closed form and by
numbers, k-RR by its own clones.
"""

from __future__ import annotations

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
    counts,
    draw,
    panel_over,
    run,
    steps,
)

DELTA = 1e-6
LOCAL = [0.05, 0.1, 0.2, 0.3, 0.4, 0.49, 0.7, *steps(1.0, 8.0, 15)]
GENERAL = (
    Line(
        "stronger-clone", "stronger clone (ours: proved for all)", BLACK, thick=True, on="generic"
    ),
    Line("dataset", "binary RR, certified lower end (ours)", ORANGE, end="lower"),
    Line("efmrtt19", "Erlingsson et al. 2019", GREY, on="generic"),
    Line("csuzz19", "Cheu et al. 2019, binary RR", YELLOW, end="estimate"),
    Line("hoeffding-generic", "blanket, Hoeffding generic", PURPLE, on="generic"),
    Line("bennett-generic", "blanket, Bennett generic", SKY, on="generic"),
    Line("fmt-3.1", "clone, closed form (Thm 3.1)", GREEN, on="generic"),
    Line("clone", "clone, numerical (Thm 3.2)", BLUE, on="generic"),
)
RESPONSE = (
    Line("blanket", "blanket, exact (ours)", BLACK, thick=True),
    Line("dataset", "certified lower end (ours)", YELLOW, end="lower"),
    Line("bennett", "blanket, Bennett for k-RR", SKY),
    Line("hoeffding", "blanket, Hoeffding for k-RR", PURPLE),
    Line("clone", "clone, numerical (any randomizer)", BLUE),
    Line("fmt-4.1", "clones of three laws (Thm 4.1)", ORANGE),
    Line("fmt-4.2", "clones for k-RR (Cor. 4.2)", GREEN),
)


def both(eps0: float, n: int):
    """Binary RR, and everything eps0-LDP."""
    return sd.shuffle(sd.BinaryRR(eps0=eps0), n=n), sd.generic(eps0=eps0, n=n, adaptive=False)


def main(out: Path) -> None:
    """Draw all figures."""
    panels = [
        panel_over(
            f"ε₀ = {eps0:g}", "n (users)", counts(1000, 10**7, 13),
            lambda n, e=eps0: both(e, n), GENERAL, delta=DELTA,
        )
        for eps0 in (0.25, 1.0, 4.0)
    ]  # fmt: skip
    title = "Any ε₀-LDP randomizer, central ε over n at δ = 1e-6 (FMT 2021, Fig. 2; settings ours)"
    print(*draw(out, "feldman_fig2", title, panels))
    panels = [
        panel_over(
            f"n = {n:,}", "local ε₀ (nats)", LOCAL,
            lambda e, n=n: both(e, n), GENERAL, delta=DELTA,
        )
        for n in (10**4, 10**6, 10**8)
    ]  # fmt: skip
    for panel in panels:
        panel.xscale = "linear"
    title = "Any ε₀-LDP randomizer, central ε over ε₀ at δ = 1e-6 (FMT 2021, Fig. 3; settings ours)"
    print(*draw(out, "feldman_fig3", title, panels))
    panels = [
        panel_over(
            f"{k}-RR, n = {n:,}", "local ε₀ (nats)", LOCAL,
            lambda e, n=n, k=k: (sd.shuffle(sd.KRR(k=k, eps0=e), n=n), None), RESPONSE,
            delta=DELTA,
        )
        for k, n in ((10, 10**4), (100, 10**4), (10, 10**6))
    ]  # fmt: skip
    for panel in panels:
        panel.xscale = "linear"
    title = "k-RR, central ε over ε₀ at δ = 1e-6 (FMT 2021, Fig. 4; settings ours)"
    print(*draw(out, "feldman_fig4", title, panels))


if __name__ == "__main__":
    run(main, __doc__)
