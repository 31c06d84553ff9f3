"""Both ends beside the blanket's: the table and the picture of docs/ends-that-meet.md."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

import shuffledp as sd
from bench.figures import BLUE, DIRECTORY, ORANGE, STYLE

NOTE = DIRECTORY.parent / "ends-that-meet.md"
BLOCK = re.compile(r"(<!-- table -->\n).*?(?=\n!\[both ends)", re.DOTALL)
PICTURE = DIRECTORY / "ends_meet.png"
DELTAS = (1e-6, 1e-12)
USERS = (10**4, 10**5, 10**6, 10**8)
MECHANISMS: tuple[sd.Randomizer, ...] = (
    sd.BinaryRR(eps0=2.0),
    sd.BinaryRR(eps0=4.0),
    sd.Duchi(eps0=4.0),
    sd.KRR(k=10, eps0=4.0),
    sd.BLH(domain=100, eps0=2.0),
    sd.BLH(domain=100, eps0=4.0),
    sd.OLH(domain=100, eps0=2.0),
    sd.RAPPOR(d=10, eps0=2.0),
    sd.RAPPOR(d=10, eps0=4.0),
    sd.OUE(d=10, eps0=2.0),
    sd.SubsetSelection(d=16, eps0=2.0),
    sd.HadamardResponse(domain=10, eps0=2.0),
    sd.DiscreteLaplace(top=10, eps0=4.0),
    sd.DiscreteLaplace(top=100, eps0=4.0),
    sd.Laplace(eps0=2.0),
    sd.Laplace(eps0=4.0),
    sd.Gaussian(sigma=2.0),
    sd.Gaussian(sigma=1.0),
    sd.Piecewise(eps0=1.0),
    sd.Hybrid(eps0=2.0),
    sd.Hybrid(eps0=4.0),
    sd.Staircase(eps0=2.0),
    sd.SamplingRAPPOR(d=20, s=3, eps0=2.0),
    sd.PCKVGRR(domain=10, s=8, eps0=2.0),
    sd.Wheel(domain=100, s=1, eps0=2.0),
    sd.Hierarchy(domain=256, eps0=2.0),
    sd.Joint([sd.RAPPOR(d=10, eps0=1.0)] * 2),
    sd.PoissonSubsample(sd.RAPPOR(d=10, eps0=2.0), rate=0.5),
)
GENERIC = (1.0, 2.0, 4.0)
DRAWN = (
    sd.BinaryRR(eps0=2.0),
    sd.BLH(domain=100, eps0=2.0),
    sd.RAPPOR(d=10, eps0=2.0),
    sd.SubsetSelection(d=16, eps0=2.0),
    sd.Duchi(eps0=4.0),
    sd.DiscreteLaplace(top=10, eps0=4.0),
    sd.Laplace(eps0=2.0),
    sd.Gaussian(sigma=1.0),
)
DRAWN_USERS = tuple(int(10 ** (0.5 * k)) for k in range(5, 17))


def write() -> list[Path]:
    """The table and the picture; their paths."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    text = NOTE.read_text(encoding="utf-8")
    NOTE.write_text(BLOCK.sub(lambda found: found[1] + "\n" + table(), text), encoding="utf-8")
    with plt.rc_context(STYLE):
        figure = _picture()
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return [NOTE, PICTURE]


def table() -> str:
    """How far the upper end lies above the lower one, in per cent: now, and the blanket alone."""
    heads = [f"n = {n:.0e}".replace("e+0", "e") for n in USERS]
    lines = []
    for delta in DELTAS:
        lines += [
            f"| delta = {delta:g} | " + " | ".join(heads) + " |",
            "|---|" + "---|" * len(heads),
        ]
        for randomizer in MECHANISMS:
            cells = [_cell(sd.shuffle(randomizer, n=n), delta, "blanket") for n in USERS]
            lines.append(f"| {_title(randomizer)} | " + " | ".join(cells) + " |")
        for eps0 in GENERIC:
            accounts = (sd.generic(eps0=eps0, n=n) for n in USERS)
            cells = [_cell(account, delta, "stronger-clone") for account in accounts]
            lines.append(f"| any {eps0:g}-LDP mechanism | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _title(randomizer: sd.Randomizer) -> str:
    if isinstance(randomizer, sd.Joint):
        return f"joint of {len(randomizer.randomizers)}: {_title(randomizer.randomizers[0])}"
    if isinstance(randomizer, sd.PoissonSubsample):
        return f"{_title(randomizer.randomizer)}, subsampled"
    parameter = getattr(randomizer, "sigma", randomizer.eps0)
    more = f" of {randomizer.top + 1}" if isinstance(randomizer, sd.DiscreteLaplace) else ""
    return f"{randomizer.name}{more} {parameter:g}"


def _cell(account: sd.Shuffled, delta: float, before: str) -> str:
    """Excess of the upper end over the lower one, and of the analysis that was best before."""
    bound = account.epsilon(delta=delta)
    old = account.epsilon(delta=delta, analysis=before)
    if bound.lower == 0.0:
        return f"upper {bound.upper:.3g}"
    now, then = (100.0 * (b.upper / bound.lower - 1.0) for b in (bound, old))
    return f"{bound.lower:.5g}, {now:.2g} ({then:.2g})"


def _picture() -> plt.Figure:
    """Upper over lower end against n: the default, and the blanket."""
    figure, panels = plt.subplots(2, 4, figsize=(9.0, 4.6), sharex=True, layout="constrained")
    for randomizer, axes in zip(DRAWN, panels.flat, strict=True):
        lower, upper, blanket = [], [], []
        for n in DRAWN_USERS:
            account = sd.shuffle(randomizer, n=n)
            bound = account.epsilon(delta=1e-6)
            lower.append(bound.lower)
            upper.append(bound.upper)
            blanket.append(account.epsilon(delta=1e-6, analysis="blanket").upper)
        axes.loglog(DRAWN_USERS, blanket, color=ORANGE, ls="--", lw=1.2, label="blanket")
        axes.loglog(DRAWN_USERS, upper, color=BLUE, lw=1.4, label="upper end")
        axes.loglog(DRAWN_USERS, lower, color="black", ls=":", lw=1.4, label="lower end")
        axes.set_title(_title(randomizer), fontsize=9)
    for axes in panels[-1]:
        axes.set_xlabel("users n")
    for axes in panels[:, 0]:
        axes.set_ylabel("central eps (nats)")
    panels[0, 0].legend(fontsize=7)
    return figure
