"""What certified answers cost, in FFTs of the same process, and how far apart their ends are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import shuffledp as sd
from bench import machine
from bench.timing import Cell, measure

DELTA = 1e-6
HEAD = """\
CPU time of one thread, median of {rounds} run(s); every run starts from a fresh object. Unit: one
complex FFT of length 2^18 by NumPy, {fft:.2f} ms, measured in the same run. `ends`: upper/lower.
"""


class Question(NamedTuple):
    """One answer: what is asked, and at most how many FFTs it may cost."""

    name: str
    target: float
    ask: Callable[[], Any]


def channel(inputs: int, outputs: int, *, seed: int) -> sd.Channel:
    """A random channel whose probabilities are multiples of 1/4096."""
    rng = np.random.default_rng(seed)
    counts = 1 + rng.multinomial(4096 - outputs, rng.dirichlet(np.ones(outputs), size=inputs))
    return sd.Channel(matrix=tuple(tuple(float(x) for x in row) for row in counts / 4096.0))


def _epsilon(mechanism: Callable[[], sd.Randomizer], n: int, delta: float = DELTA) -> Any:
    return lambda: sd.shuffle(mechanism(), n=n).epsilon(delta=delta)


def _rounds(mechanism: Callable[[], sd.Randomizer], n: int, rounds: int) -> Any:
    return lambda: sd.shuffle(mechanism(), n=n).compose(rounds=rounds).epsilon(delta=DELTA)


def _renyi(mechanism: Callable[[], sd.Randomizer], n: int) -> Any:
    orders = np.geomspace(1.5, 64.0, 10)

    def ask() -> Any:
        account = sd.shuffle(mechanism(), n=n)
        return [account.renyi(order=float(order)) for order in orders][-1]

    return ask


def _profile(mechanism: Callable[[], sd.Randomizer], n: int) -> Any:
    def ask() -> Any:
        account = sd.shuffle(mechanism(), n=n)
        top = account.epsilon(delta=DELTA).upper
        return account.profile(list(np.linspace(0.0, top, 101)[1:]))[-1]

    return ask


def questions() -> list[Question]:
    """The answers that the engine was designed for, with their targets."""
    krr, rappor = partial(sd.KRR, k=10, eps0=4.0), partial(sd.RAPPOR, d=16, eps0=4.0)
    laplace, gaussian = partial(sd.Laplace, eps0=4.0), partial(sd.Gaussian, sigma=1.0)
    bit, hashing = partial(sd.BinaryRR, eps0=4.0), partial(sd.BLH, domain=1000, eps0=2.0)
    small, large = partial(channel, 6, 12, seed=1), partial(channel, 64, 64, seed=2)
    narrow = partial(sd.Gaussian, sigma=0.5)
    return [
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
        Question("Gaussian(.5), n = 1e4", 200.0, _epsilon(narrow, 10**4)),
        Question("52 rounds of k-RR, n = 1e6", 150.0, _rounds(krr, 10**6, 52)),
        Question("52 rounds of Gaussian(1), n = 1e6", 500.0, _rounds(gaussian, 10**6, 52)),
        Question("ten Renyi orders, k-RR, n = 1e4", 100.0, _renyi(krr, 10**4)),
        Question("ten Renyi orders, Laplace(4), n = 1e4", 100.0, _renyi(laplace, 10**4)),
        Question("100-point profile, k-RR, n = 1e4", 40.0, _profile(krr, 10**4)),
        Question("100-point profile, 6 x 12, n = 1e4", 220.0, _profile(small, 10**4)),
        Question(
            "1,000 steps of DP-SGD",
            100.0,
            lambda: (
                sd.sgd(
                    n=100_000,
                    noise=1.0,
                    clip=1.0,
                    epochs=10,
                    batch=1000,
                    delta=1e-8,
                    sampler="poisson",
                ).at_target
            ),
        ),
    ]


def report(*, rounds: int, limit: float, budget: float) -> str:
    """Measure every question and return a Markdown table."""
    asked = questions()
    cells: dict[Any, Cell] = {one.name: Cell(one.ask) for one in asked}
    (_, fft), done = measure(cells, rounds=rounds, limit=limit, budget=budget)
    lines = [["answer", "ends", "FFTs", "at most"]]
    for one in asked:
        cell = cells[one.name]
        if cell.median is None:
            lines.append([one.name, "-", cell.failure, f"{one.target:g}"])
            continue
        units, bound = cell.median / fft, cell.result
        apart = f"{bound.upper / bound.lower:.5f}" if bound.lower > 0.0 else "-"
        lines.append([one.name, apart, f"{units:.1f}", f"{one.target:g}"])
    return f"{machine.description()}\n\n{HEAD.format(rounds=done, fft=1e3 * fft)}\n{table(lines)}"


def table(rows: list[list[str]]) -> str:
    """A Markdown table whose columns also line up as plain text."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [" | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, " | ".join("-" * w for w in widths))
    return "\n".join(f"| {line} |" for line in lines)
