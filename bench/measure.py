"""What certified answers cost, in FFTs of the same process, and how far apart their ends are."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import shuffledp as sd
from bench.cases import DELTA

FFT_LENGTH = 1 << 18
SLOW = 0.7  # CPU seconds from which one run of an answer is enough
HEAD = """\
{machine}

CPU time of one thread, median of up to {runs} runs, each from a fresh object. Unit: an FFT of
2^18 complex numbers by NumPy, {fft:.2f} ms, measured between any two answers. `ends`: upper/lower.
"""


class Question(NamedTuple):
    """One answer: what is asked, and at most how many FFTs it may cost (infinity: no goal)."""

    name: str
    goal: float
    ask: Callable[[], Any]


def channel(inputs: int, outputs: int, *, seed: int) -> sd.Channel:
    """A random channel whose probabilities are multiples of 1/4096."""
    rng = np.random.default_rng(seed)
    counts = 1 + rng.multinomial(4096 - outputs, rng.dirichlet(np.ones(outputs), size=inputs))
    return sd.Channel(matrix=tuple(tuple(float(x) for x in row) for row in counts / 4096.0))


Make = Callable[[], Any]


def _epsilon(mechanism: Make, n: int | None, delta: float = DELTA, **more: Any) -> Make:
    return lambda: sd.shuffle(mechanism(), n, **more).epsilon(delta=delta)


def _rounds(mechanism: Make, n: int, rounds: int) -> Make:
    return lambda: sd.shuffle(mechanism(), n=n).compose(rounds=rounds).epsilon(delta=DELTA)


def _renyi(mechanism: Make, n: int) -> Make:
    orders = np.geomspace(1.5, 64.0, 10)

    def ask() -> Any:
        account = sd.shuffle(mechanism(), n=n)
        return [account.renyi(order=float(order)) for order in orders][-1]

    return ask


def _profile(mechanism: Make, n: int) -> Make:
    def ask() -> Any:
        account = sd.shuffle(mechanism(), n=n)
        top = account.epsilon(delta=DELTA).upper
        return account.profile(list(np.linspace(0.0, top, 101)[1:]))[-1]

    return ask


def _sgd(*, delta: float, **setting: Any) -> Make:
    return lambda: sd.SGD(noise=1.0, clip=1.0, epochs=10, **setting).epsilon(delta=delta)


def questions() -> list[Question]:
    """The answers that the engine was designed for, with their goals; and other views."""
    krr, rappor = partial(sd.KRR, k=10, eps0=4.0), partial(sd.RAPPOR, d=16, eps0=4.0)
    laplace, gaussian = partial(sd.Laplace, eps0=4.0), partial(sd.Gaussian, sigma=1.0)
    bit, hashing = partial(sd.BinaryRR, eps0=4.0), partial(sd.BLH, domain=1000, eps0=2.0)
    small, large = partial(channel, 6, 12, seed=1), partial(channel, 64, 64, seed=2)
    added = sd.AddedNoise(kind="discrete-gaussian", scale=20.0)
    crowd = [(sd.BinaryRR(eps0=1.0), 5_000), (sd.BinaryRR(eps0=4.0), 5_000)]
    goals = [
        Question("k-RR, n = 100", 40.0, _epsilon(krr, 100)),
        Question("k-RR, n = 1e3", 15.0, _epsilon(krr, 10**3)),
        Question("k-RR, n = 1e4", 4.0, _epsilon(krr, 10**4)),
        Question("k-RR, n = 1e6", 4.0, _epsilon(krr, 10**6)),
        Question("k-RR, n = 1e9", 4.0, _epsilon(krr, 10**9)),
        Question("k-RR, n = 1e4, 1e-30", 8.0, _epsilon(krr, 10**4, 1e-30)),
        Question("RAPPOR, n = 1e4", 4.0, _epsilon(rappor, 10**4)),
        Question("RAPPOR, n = 1e4, 1e-30", 8.0, _epsilon(rappor, 10**4, 1e-30)),
        Question("binary RR, n = 1e4", 4.0, _epsilon(bit, 10**4)),
        Question("BLH(1000), n = 1e4", 4.0, _epsilon(hashing, 10**4)),
        Question("channel 6 x 12, n = 1e4", 15.0, _epsilon(small, 10**4)),
        Question("channel 64 x 64, n = 1e5", 110.0, _epsilon(large, 10**5)),
        Question("Laplace(4), n = 1e4", 20.0, _epsilon(laplace, 10**4)),
        Question("Laplace(4), n = 1e4, 1e-12", 20.0, _epsilon(laplace, 10**4, 1e-12)),
        Question("Gaussian(1), n = 1e4", 60.0, _epsilon(gaussian, 10**4)),
        Question("Gaussian(1), n = 1e6, 1e-12", 60.0, _epsilon(gaussian, 10**6, 1e-12)),
        Question("Gaussian(.5), n = 1e4", 200.0, _epsilon(partial(sd.Gaussian, sigma=0.5), 10**4)),
        Question("52 rounds of k-RR, n = 1e6", 150.0, _rounds(krr, 10**6, 52)),
        Question("52 rounds of Gaussian(1), n = 1e6", 500.0, _rounds(gaussian, 10**6, 52)),
        Question("ten Renyi orders, k-RR, n = 1e4", 100.0, _renyi(krr, 10**4)),
        Question("ten Renyi orders, Laplace(4), n = 1e4", 100.0, _renyi(laplace, 10**4)),
        Question("100-point profile, k-RR, n = 1e4", 40.0, _profile(krr, 10**4)),
        Question("100-point profile, 6 x 12, n = 1e4", 220.0, _profile(small, 10**4)),
        Question(
            "1,000 steps of DP-SGD",
            100.0,
            _sgd(n=100_000, batch=1000, delta=1e-8, sampler="poisson"),
        ),
    ]
    views = {
        "sums, binary RR, n = 1e4": _epsilon(bit, 10**4, view="sums"),
        "sums, RAPPOR, n = 1e4": _epsilon(rappor, 10**4, view="sums"),
        "sums with noise, binary RR, n = 1e4": _epsilon(bit, 10**4, view="sums", added=added),
        "sums, 5 users at once, n = 1e3": _epsilon(bit, 10**3, view="sums", changed=5),
        "a crowd of two groups, n = 1e4": lambda: sd.shuffle(groups=crowd).epsilon(delta=DELTA),
        "four shards, k-RR, n = 1e4": _epsilon(krr, 10**4, shuffler=sd.Shuffler(shards=4)),
        "DP-SGD, balls-and-bins, 100 batches": _sgd(
            n=10_000, batch=100, delta=DELTA, sampler="balls-and-bins"
        ),
    }
    return [*goals, *(Question(name, float("inf"), ask) for name, ask in views.items())]


def report(asked: list[Question], *, runs: int, budget: float) -> str:
    """Measure every question and return a Markdown table.

    Parameters
    ----------
    asked : list of Question
        What is asked, in this order.
    runs : int
        Runs of each answer; one of an answer that takes longer than 0.7 s.
    budget : float
        CPU seconds for all of them: no run is started after that.
    """
    data = np.random.default_rng(0).normal(size=(FFT_LENGTH, 2)).view(complex).ravel()
    ffts: list[float] = []
    seconds: dict[str, list[float]] = {one.name: [] for one in asked}
    ends: dict[str, str] = {}
    started = time.process_time()
    for _ in range(runs):
        for one in asked:
            before = seconds[one.name]
            if (before and before[0] > SLOW) or time.process_time() - started > budget:
                continue
            np.fft.fft(data)  # the second one finds its data in the caches
            ffts.append(_timed(partial(np.fft.fft, data))[0])
            spent, bound = _timed(one.ask)
            before.append(spent)
            ends[one.name] = f"{bound.upper / bound.lower:.5f}" if bound.lower > 0.0 else "-"
    fft = statistics.median(ffts)
    lines = [["answer", "ends", "FFTs", "at most"]]
    for name, goal, _ in asked:
        if seconds[name]:
            cost = f"{statistics.median(seconds[name]) / fft:.1f}"
            lines.append([name, ends[name], cost, f"{goal:g}" if goal < float("inf") else ""])
    head = HEAD.format(machine=machine(), runs=runs, fft=1e3 * fft)
    return f"{head}\n{table(lines)}"


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    found = run()
    return time.process_time() - started, found


def machine() -> str:
    """Processor, cores, load and versions."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return (
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {load}; "
        f"Python {platform.python_version()}, NumPy {np.__version__}, shuffledp {sd.__version__}"
    )


def table(rows: list[list[str]]) -> str:
    """A Markdown table whose columns also line up as plain text."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [" | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, " | ".join("-" * w for w in widths))
    return "\n".join(f"| {line} |" for line in lines)
