"""Error of frequencies at one central guarantee: every mechanism and protocol, over n.

    python -m papers.frequency_error

No paper's figure, but what all of them are about. Each mechanism is calibrated so that its
certified upper end meets the target, and then its exact error is drawn; 100 items. Over items of
any frequencies the mean of variances that are affine in the frequency is the variance at 1/d, so
that the data do not matter; Hadamard response alone has them uniform.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import shuffledp as sd
from papers.draw import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    Line,
    Panel,
    counts,
    draw,
    run,
)

EPSILON, DELTA, ITEMS = 1.0, 1e-8, 100
SHARE = 1.0 / ITEMS
USERS = counts(100, 10**7, 11)
Error = Callable[[int], float]  # the root mean squared error of an item's frequency among n users

TARGET = {"epsilon": EPSILON, "delta": DELTA}
# Where two items change: each of the two runs has half of eps and half of delta.
HALF = {"epsilon": EPSILON / 2, "delta": DELTA / 2}


def single(family: Callable[[float], sd.Randomizer]) -> Callable[[int], float]:
    """Error of a mechanism at the largest eps0 that meets the target."""

    def error(n: int) -> float:
        found = sd.calibrate(lambda e: sd.shuffle(family(e), n=n), **TARGET, rtol=1e-4)
        return math.sqrt(variance(found.account.source) / n)

    return error


def variance(randomizer: sd.Randomizer) -> float:
    """Mean over the items, per user."""
    if isinstance(randomizer, sd.HadamardResponse):
        return randomizer.variance(SHARE, block=randomizer.even_block)
    return randomizer.variance(SHARE)


def blocks(e: float) -> sd.HadamardResponse:
    """As many blocks as have the least variance, about e^eps0."""
    return sd.HadamardResponse(
        domain=ITEMS, eps0=e, blocks=min(ITEMS, max(1, round(math.exp(min(e, 5.0)))))
    )


def dummies(protocol: Any) -> Callable[[int], float]:
    """Error with the least rate of dummies that meets the target, and as few as will do."""

    def each(count: float) -> sd.MultiMessage:
        whole = math.ceil(count)
        return replace(protocol, blankets=whole, rate=count / whole)

    def error(n: int) -> float:
        ends = {"find": "smallest", "low": 1e-7, "high": 1e4}
        found = sd.calibrate(lambda m: sd.shuffle(each(m), n=n), **TARGET, **ends, rtol=1e-4)
        return math.sqrt(found.account.source.variance(SHARE) / n)

    return error


def _least_noise(make: Callable[[float], Any], n: int, target: dict[str, float]) -> Any:
    """The protocol with the least noise of its coin, below 1/2, that meets the target."""
    ends = {"find": "smallest", "low": 2.0**-40, "high": 0.5 * (1.0 - 1e-9)}
    coin = lambda noise: sd.shuffle(make(noise), n=n)  # noqa: E731
    return sd.calibrate(coin, **target, **ends, rtol=1e-3).account.source


def flips(blankets: int) -> Callable[[int], float]:
    """Fake users of Cheu and Zhilyaev, each bit with the least flips that meet the target."""

    def error(n: int) -> float:
        make = lambda f: sd.CheuZhilyaev(d=ITEMS, f=f, blankets=blankets)  # noqa: E731
        try:
            return math.sqrt(_least_noise(make, n, TARGET).variance(SHARE) / n)
        except sd.NotCertified:
            return math.nan

    return error


def biased(n: int) -> float:
    """One count an item."""
    try:
        return math.sqrt(
            _least_noise(lambda noise: sd.BalcerCheu(p=1.0 - noise), n, HALF).variance() / n
        )
    except sd.NotCertified:
        return math.nan


def fair(n: int) -> float:
    """The same with fair bits, at least one a user."""
    found = sd.calibrate(
        lambda m: sd.shuffle(sd.BalcerEtAl(blankets=m), n=n), **HALF, find="smallest", whole=True
    )
    return math.sqrt(found.account.source.variance() / n)


def central(n: int) -> float:
    """A trusted server: Laplace noise of scale 2/(eps n) on each frequency, delta = 0."""
    return math.sqrt(2.0) * 2.0 / (EPSILON * n)


def local(n: int) -> float:
    """No shuffler: subset selection at eps0 = eps, delta = 0."""
    return math.sqrt(sd.SubsetSelection(d=ITEMS, eps0=EPSILON).variance(SHARE) / n)


def _family(label: str, colour: str, marker: str, make: Callable[[float], sd.Randomizer]):
    return Line(label, label, colour, marker=marker), single(make)


d = ITEMS
REFERENCES: tuple[tuple[Line, Error], ...] = (
    (Line("central", "central model (Laplace)", BLACK, thick=True), central),
    (Line("local", "local model, ε₀ = 1 (subset selection)", BLACK, end="lower"), local),
)
ONE: tuple[tuple[Line, Error], ...] = (
    _family("binary local hashing", PURPLE, "s", lambda e: sd.BLH(domain=d, eps0=e)),
    _family(
        "Hadamard response, 1 block", SKY, "P", lambda e: sd.HadamardResponse(domain=d, eps0=e)
    ),
    _family("RAPPOR", GREEN, "^", lambda e: sd.RAPPOR(d=d, eps0=e)),
    _family("sampling RAPPOR, s = 1", GREEN, "v", lambda e: sd.SamplingRAPPOR(d=d, s=1, eps0=e)),
    _family("OUE", ORANGE, "D", lambda e: sd.OUE(d=d, eps0=e)),
    _family("optimized local hashing", ORANGE, "<", lambda e: sd.OLH(domain=d, eps0=e)),
    _family("wheel, s = 1", ORANGE, ">", lambda e: sd.Wheel(domain=d, s=1, eps0=e)),
    _family("Hadamard response, about e^ε₀ blocks", SKY, "v", blocks),
    _family("PCKV-GRR, s = 1", GREY, "x", lambda e: sd.PCKVGRR(domain=d, s=1, eps0=e)),
    _family("k-RR", BLUE, "o", lambda e: sd.KRR(k=d, eps0=e)),
    _family("subset selection", BLACK, "+", lambda e: sd.SubsetSelection(d=d, eps0=e)),
)
SEVERAL: tuple[tuple[Line, Error], ...] = (
    (Line("fair", "count an item, fair bits (Balcer et al.)", PURPLE), fair),
    (
        Line("mixdump", "mixDUMP, flips f = 0.01", GREEN),
        dummies(sd.MixDUMP(d=d, f=0.01, blankets=2)),
    ),
    (Line("biased", "count an item, biased bits (Balcer, Cheu)", ORANGE), biased),
    (Line("cheu", "Cheu, Zhilyaev, 1 fake message a user", SKY), flips(1)),
    (Line("cheu", "Cheu, Zhilyaev, 16 a user", GREY), flips(16)),
    (Line("puredump", "pureDUMP", BLUE), dummies(sd.PureDUMP(d=d, blankets=2))),
    (
        Line("bins", "balls into bins, s = 1", BLUE, marker="s"),
        dummies(sd.BallsIntoBins(d=d, s=1, blankets=2)),
    ),
)


def panels(values: dict[str, list[float]]) -> list[Panel]:
    """Errors by label, and over that of the central model; one message a user, and several."""
    found, base = [], values[REFERENCES[0][0].label]
    for label, under in (
        ("error of a frequency (RMS)", [1.0] * len(USERS)),
        ("ratio to the central model's", base),
    ):
        for title, curves in (("one message a user", ONE), ("several messages a user", SEVERAL)):
            suffix = ": ratio" if under is base else ""
            panel = Panel(f"{title}{suffix}", USERS, "n (users)", label)
            for line, _ in (*REFERENCES, *curves):
                own = zip(values[line.label], under, strict=True)
                panel.curves.append((line, [value / unit for value, unit in own]))
            found.append(panel)
    return found


def main(out: Path) -> None:
    """Compute, draw, write."""
    values = {
        line.label: [error(n) for n in USERS] for line, error in (*REFERENCES, *ONE, *SEVERAL)
    }
    title = f"Error at equal central privacy, ε = {EPSILON:g}, δ = {DELTA:g}; {ITEMS} items"
    print(*draw(out, "frequency_error", title, panels(values), columns=2))


if __name__ == "__main__":
    run(main, __doc__)
