"""Feldman, McMillan, Talwar 2021 (arXiv 2012.12803): many rounds, with ours added.

    python -m papers.feldman_rounds

Compared are the ways to account for rounds of a shuffled eps0-LDP randomizer: the clone's (eps,
delta) with advanced composition, the same with the best composition of (eps, delta), the Renyi
divergence of the clone bound, and the certified composition of the whole curve. The printed
parameters were not at hand; the settings are ours.
"""

from __future__ import annotations

import math
from pathlib import Path

import shuffledp as sd
from papers.common import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, Line, Panel, draw, run

DELTA = 1e-6
ROUNDS = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000]
SETTINGS = ((1.0, 10_000), (4.0, 100_000), (6.0, 1_000_000))
ORDERS = [1.0 + 10.0 ** (k / 8.0) for k in range(-8, 41)]
OURS = Line("ours", "any mechanism, composed curve, our evaluation", BLACK, thick=True)
LOWER = Line("lower", "any mechanism, certified lower end, our evaluation", ORANGE, end="lower")
CLONE = Line("clone", "clone, composed curve, our evaluation", BLUE)
RENYI = Line("renyi", "clone, Renyi divergence", GREEN, marker="s")
BEST = Line("best", "clone (ε, δ), best composition", SKY, marker="^")
ADVANCED = Line("advanced", "clone (ε, δ), advanced or basic composition", PURPLE, marker="o")
LINES = (OURS, LOWER, CLONE, RENYI, BEST, ADVANCED)


def advanced(clone: sd.Account, rounds: int) -> float:
    """Dwork, Roth 2014, Theorem 3.20, half of delta for it; basic composition if that is less."""
    if rounds == 1:
        return clone.epsilon(delta=DELTA).upper
    one = clone.epsilon(delta=DELTA / 2 / rounds).upper
    if one > 300.0:
        return math.nan
    basic = rounds * clone.epsilon(delta=DELTA / rounds).upper
    return min(
        basic, one * math.sqrt(2 * rounds * math.log(2 / DELTA)) + rounds * one * math.expm1(one)
    )


def best(clone: sd.Account, rounds: int) -> float:
    """Kairouz, Oh, Viswanath 2015: what (eps, delta) of one round can come to; a few splits."""
    found = math.inf
    for share in (0.1, 0.5, 0.9):
        delta = share * DELTA / rounds
        part = sd.central.approximate(epsilon=clone.epsilon(delta=delta).upper, delta=delta)
        found = min(found, sd.compose([(part, rounds)]).epsilon(delta=DELTA).upper)
    return found


def renyi(divergences: list[float], rounds: int) -> float:
    """The least over orders, each converted as Balle et al. 2020, Theorem 21."""
    found = math.inf
    for order, divergence in zip(ORDERS, divergences, strict=True):
        slack = math.log1p(-1.0 / order) - math.log(DELTA * order) / (order - 1.0)
        found = min(found, rounds * divergence + slack)
    return max(found, 0.0)


def panels_for(eps0: float, n: int) -> tuple[Panel, Panel]:
    """eps over rounds, and the same as multiples of ours."""
    values: dict[str, list[float]] = {line.key: [] for line in LINES}
    stronger = sd.generic(eps0=eps0, n=n)
    clone = sd.generic(eps0=eps0, n=n, trust="published")
    divergences = [clone.renyi(order=order).upper for order in ORDERS]
    for rounds in ROUNDS:
        bound = stronger.compose(rounds=rounds).epsilon(delta=DELTA)
        values["ours"].append(bound.upper)
        values["lower"].append(bound.lower)
        values["clone"].append(clone.compose(rounds=rounds).epsilon(delta=DELTA).upper)
        values["renyi"].append(renyi(divergences, rounds))
        values["best"].append(best(clone, rounds))
        values["advanced"].append(advanced(clone, rounds))
    shown = {
        key: [v if v < eps0 * t else math.nan for v, t in zip(found, ROUNDS, strict=True)]
        for key, found in values.items()
    }
    title = f"ε₀ = {eps0:g}, n = {n:,}"
    first = Panel(title, ROUNDS, "rounds", "central ε after all rounds")
    second = Panel(f"{title}: over ours", ROUNDS, "rounds", "multiple of ours")
    for line in LINES:
        first.curves.append((line, shown[line.key]))
        ratios = [v / b for v, b in zip(shown[line.key], values["ours"], strict=True)]
        second.curves.append((line, ratios))
    second.ylim = (0.5, 60.0)
    return first, second


def main(out: Path) -> None:
    """Draw, and print how much is gained."""
    pairs = [panels_for(eps0, n) for eps0, n in SETTINGS]
    title = "Rounds of any shuffled ε₀-LDP randomizer, δ = 1e-6 (after FMT 2021; settings ours)"
    panels = [first for first, _ in pairs] + [second for _, second in pairs]
    print(*draw(out, "feldman_rounds", title, panels))
    for _, second in pairs:
        for line, ratios in second.curves:
            known = [f"{r:.2f}" for r in ratios]
            print(f"{second.title:40} {line.label:40} {' '.join(known)}")


if __name__ == "__main__":
    run(main, __doc__)
