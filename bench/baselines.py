"""The contour against the papers' own algorithms, at the width that each of them reaches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import shuffledp as sd
from bench import cases, machine
from shuffledp.baselines import HALVINGS, binomial, certified_fft, grid, halved_epsilon
from shuffledp.divergence import PairProfile
from shuffledp.pair import ShuffledPair
from shuffledp.reductions import (
    VariationRatio,
    blanket_pair,
    clone_pair,
    published_pair,
    ratio_of,
    stronger_clone_pair,
)

COUNTS = (10**4, 10**6, 10**8)
GRID_WIDTH, FFT_WIDTH = 0.1, 0.5
LIMIT = 120.0  # seconds, foreseen: what would take longer is not started

INTRODUCTION = """\
10-RR, eps0 = {eps0:g}, delta = {delta:g}. CPU seconds of one thread, one run of a baseline and the
median of five of the contour, from fresh objects. A baseline's own width (upper/lower - 1 of delta,
in exact arithmetic) is given to the contour as its target, so both brackets are as wide; for the
clones' sums, which have no bracket, it is the absolute accuracy of 20 halvings, eps0/2^20 in eps,
and certified only on the contour's side.
"""


def report() -> str:
    """The table as Markdown."""
    lines = [
        "# Contour against the papers' algorithms\n",
        machine.description() + "\n",
        INTRODUCTION.format(eps0=cases.EPS0, delta=cases.DELTA),
        "| algorithm | n | width | seconds | contour, same width | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for n in COUNTS:
        lines += [_row(*case) for case in (*_brackets(n), *_sums(n))]
    return "\n".join(lines)


def _row(name: str, n: int, width: str, baseline: float | str, contour: float) -> str:
    if isinstance(baseline, str):
        return f"| {name} | {n:,} | {width} | {baseline} | {contour:.2g} | |"
    ratio = _times(baseline / contour)
    return f"| {name} | {n:,} | {width} | {baseline:.2g} | {contour:.2g} | {ratio} |"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10.0 else f"{ratio:.2g}"


def _brackets(n: int) -> list[tuple[str, int, str, float | str, float]]:
    """One delta of the blanket by both FFTs."""
    randomizer = sd.KRR(k=10, eps0=cases.EPS0)
    epsilon = sd.shuffle(randomizer, n=n).epsilon(delta=cases.DELTA, analysis="blanket").upper
    pair = blanket_pair(randomizer, 0, 1, n=n)
    rows = []
    for name, run, width in (
        ("FFT on a grid, rounded up and down", grid.grid_bracket, GRID_WIDTH),
        ("certified FFT", certified_fft.fft_delta, FFT_WIDTH),
    ):
        seconds: float | str
        try:
            seconds, found = _timed(lambda run=run, w=width: run(pair, epsilon=epsilon, width=w))
            reached = found.high / found.low - 1.0 if found.low > 0.0 else math.inf
        except sd.NotCertified as error:
            seconds, reached = str(error).split(": ")[-1], width
        rows.append((name, n, f"{reached:.2g} in delta", seconds, _contour(pair, epsilon, reached)))
    return rows


def _contour(pair: ShuffledPair, epsilon: float, width: float) -> float:
    runs = [_timed(lambda: PairProfile(pair).log_delta(epsilon, width=width))[0] for _ in range(5)]
    return sorted(runs)[2]


def _sums(n: int) -> list[tuple[str, int, str, float | str, float]]:
    """eps by 20 halvings over binomial sums."""
    eps0 = cases.EPS0
    ratio, _ = ratio_of(sd.KRR(k=10, eps0=eps0))[0]
    cases_of: tuple[tuple[str, Callable[[float], float], ShuffledPair], ...] = (
        (
            "clone, binomial sums",
            lambda e: binomial.clone_delta(eps0=eps0, n=n, epsilon=e),
            clone_pair(eps0=eps0, n=n),
        ),
        (
            "stronger clone, binomial sums",
            lambda e: binomial.stronger_clone_delta(eps0=eps0, n=n, epsilon=e),
            stronger_clone_pair(eps0=eps0, n=n),
        ),
        ("variation ratio, binomial sums", _ratio_sum(ratio, n), published_pair(ratio, n=n)),
    )
    rows = []
    for name, delta_at, pair in cases_of:
        once, _ = _timed(lambda f=delta_at: f(0.1))
        exact = _solve(pair, 1e-6)[1]
        rtol = max(eps0 * 2.0**-HALVINGS / exact, 1e-9)
        contour = sorted(_timed(lambda p=pair, r=rtol: _solve(p, r))[0] for _ in range(5))[2]
        seconds: float | str = f"> {LIMIT:g} (one delta {once:.2g})"
        if once * HALVINGS < LIMIT:
            seconds, _ = _timed(lambda f=delta_at: halved_epsilon(f, cases.DELTA, cap=eps0))
        rows.append((name, n, f"{rtol:.2g} in eps", seconds, contour))
    return rows


def _ratio_sum(ratio: VariationRatio, n: int) -> Callable[[float], float]:
    beta = float(ratio.total_variation)
    return lambda e: binomial.variation_ratio_delta(p=ratio.p, beta=beta, q=ratio.q, n=n, epsilon=e)


def _solve(pair: ShuffledPair, rtol: float) -> tuple[float, float]:
    from shuffledp.divergence import solve_epsilon

    found = solve_epsilon(
        [PairProfile(pair)], math.log(cases.DELTA), cap=cases.EPS0, rtol=rtol, need_all=True
    )
    return found.low, found.high


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    found = run()
    return max(time.process_time() - started, 1e-6), found
