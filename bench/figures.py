"""The pictures of the documentation, legible in grey and to colour-blind readers."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import shuffledp as sd
from bench import cases

DIRECTORY = Path(__file__).resolve().parent.parent / "docs" / "figures"

# Okabe and Ito's palette; every line has its own dashes as well.
BLUE, ORANGE, GREEN, BLACK = "#0072B2", "#D55E00", "#009E73", "black"
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "legend.frameon": False,
    "hatch.linewidth": 0.4,
}


def write() -> list[Path]:
    """Draw all pictures; their paths."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        drawn = (("amplification", _amplification), ("profile", _profile), ("lost_users", _lost))
        return [_save(draw(), name) for name, draw in drawn]


def _save(figure, name: str) -> Path:
    path = DIRECTORY / f"{name}.png"
    # No date or version inside: the same numbers give the same file.
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return path


def _amplification():
    """Central eps against n at fixed delta."""
    counts = [int(n) for n in np.logspace(2, 9, 29)]
    figure, axes = plt.subplots(figsize=(6.4, 3.9), layout="constrained")
    axes.axhline(cases.EPS0, color=BLACK, lw=0.8, ls=(0, (1, 3)))
    axes.text(1.1e9, cases.EPS0, "no shuffler", va="bottom", ha="right", fontsize=8)
    everything = [sd.generic(eps0=cases.EPS0, n=n).epsilon(delta=cases.DELTA) for n in counts]
    axes.plot(
        counts, [b.upper for b in everything], color=BLACK, ls="--", lw=1.2,
        label="any 4-LDP randomizer, upper end",
    )  # fmt: skip
    response = sd.KRR(k=10, eps0=cases.EPS0)
    name = "10-ary randomized response"
    _band(axes, counts, response, colour=BLUE, dashes="-", hatch="", label=name)
    hashing = sd.BLH(domain=cases.DOMAIN, eps0=cases.EPS0)
    name = "binary local hashing, 100 values"
    _band(axes, counts, hashing, colour=ORANGE, dashes="-.", hatch="////", label=name)
    axes.set(
        xscale="log", yscale="log", xlim=(100, 1.1e9),
        xlabel="n (users in one shuffle)", ylabel="central ε (nats)",
        title="Certified ε after shuffling; each user 4-LDP, δ = 1e-6",
    )  # fmt: skip
    axes.legend(loc="lower left")
    return figure


def _band(axes, counts, randomizer, *, colour, dashes, hatch, label) -> None:
    bounds = [sd.shuffle(randomizer, n=n).epsilon(delta=cases.DELTA) for n in counts]
    lower, upper = [b.lower for b in bounds], [b.upper for b in bounds]
    axes.fill_between(
        counts, lower, upper, facecolor=colour, alpha=0.25, hatch=hatch, edgecolor=colour, lw=0.0
    )
    axes.plot(counts, upper, color=colour, ls=dashes, lw=1.4, label=f"{label}, both ends")
    axes.plot(counts, lower, color=colour, ls=dashes, lw=0.7)


def _profile():
    """Logarithm of delta against eps, far below the smallest float."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for n, colour, dashes in ((10**3, GREEN, "-."), (10**4, BLUE, "-"), (10**5, ORANGE, "--")):
        randomizer = sd.KRR(k=10, eps0=cases.EPS0)
        epsilons = np.linspace(0.0, 3.5, 36)
        bounds = sd.shuffle(randomizer, n=n).profile(epsilons)
        high = np.array([_decimal(b.log_upper) for b in bounds])
        low = np.array([_decimal(b.log_lower) for b in bounds])
        axes.fill_between(epsilons, low, high, color=colour, alpha=0.25, lw=0.0)
        axes.plot(epsilons, high, color=colour, ls=dashes, lw=1.4, label=f"n = {n:,}")
    axes.axhline(-324, color=BLACK, lw=0.8, ls=(0, (1, 3)))
    axes.text(0.03, -320, "smallest float", va="bottom", fontsize=8)
    axes.set(
        xlim=(0, 3.5), ylim=(-1000, 20),
        xlabel="ε (nats)", ylabel="log10 δ",
        title="Certified privacy profile: 10-ary randomized response, ε₀ = 4",
    )  # fmt: skip
    axes.legend(loc="lower left")
    return figure


def _lost():
    """Central eps over the share of users who collude or drop out, behind four shufflers."""
    figure, axes = plt.subplots(figsize=(6.4, 3.9), layout="constrained")
    shares = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95]
    response = sd.KRR(k=10, eps0=cases.EPS0)
    for shuffler, label in (
        (sd.Shuffler(), "one perfect shuffler"),
        (sd.Shuffler(distance=1e-7), "within 1e-7 of uniform"),
        (sd.Shuffler(shards=10), "ten public shards"),
        (sd.Shuffler(shards=10, dummies=5_000), "ten public shards, 5,000 dummies in each"),
    ):
        acc = sd.shuffle(response, 100_000, shuffler=shuffler)
        acc.plot(delta=cases.DELTA, lost=shares, label=label, ax=axes)
    axes.set_title("Certified ε: 10-ary randomized response, ε₀ = 4, n = 100,000, δ = 1e-6")
    return figure


def _decimal(log: float | None) -> float:
    return -np.inf if log is None else log / np.log(10.0)
