"""Error of frequencies at one central guarantee: every mechanism and protocol, over n.

    python -m papers.frequency_error

No paper's figure, but what all of them are about. Each mechanism is calibrated so that its
certified upper end meets the target, and then its exact error is drawn; 100 items.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import shuffledp as sd
from papers.common import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    STYLE,
    counts,
    run,
)

EPSILON, DELTA, ITEMS = 1.0, 1e-8, 100
SHARE = 1.0 / ITEMS
NAME = "frequency_error"
# What differs by less than this share a line: hashing and RAPPOR have sharp ends, their kin the
# blanket's.
SAME = 0.12


@dataclass
class Curve:
    """One line: the root mean squared error of an item's frequency at every n.

    Over items of any frequencies the mean of variances that are affine in the frequency is the
    variance at 1/d, so that the data do not matter; Hadamard response alone has them uniform.
    """

    label: str
    error: Callable[[int], float]
    colour: str
    dashes: str | tuple = "-"
    marker: str = ""
    along: tuple[tuple[str, Callable[[int], float]], ...] = ()
    values: dict[str, list[float]] = field(default_factory=dict)

    def evaluate(self, users: list[int]) -> None:
        """Errors of the line and of those that share it."""
        for name, error in ((self.label, self.error), *self.along):
            self.values[name] = [error(n) for n in users]
        own = self.values[self.label]
        for name, found in self.values.items():
            off = max(
                (abs(x / y - 1.0) for x, y in zip(found, own, strict=True) if not math.isnan(x)),
                default=0,
            )
            assert off <= SAME, f"{name} is {off:.1%} off {self.label}"


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


d = ITEMS
SINGLE = (
    Curve(
        "binary local hashing",
        single(lambda e: sd.BLH(domain=d, eps0=e)), PURPLE, (0, (4, 1.5)), "s",
    ),
    Curve(
        "Hadamard response, 1 block",
        single(lambda e: sd.HadamardResponse(domain=d, eps0=e)), SKY, (0, (1.2, 1.2)), "P",
    ),
    Curve(
        "RAPPOR", single(lambda e: sd.RAPPOR(d=d, eps0=e)), GREEN, (0, (6, 1.5, 1, 1.5)), "^",
        along=(("sampling RAPPOR, s = 1", single(lambda e: sd.SamplingRAPPOR(d=d, s=1, eps0=e))),),
    ),
    Curve(
        "OUE", single(lambda e: sd.OUE(d=d, eps0=e)), ORANGE, (0, (1.2, 1.2)), "D",
        along=(
            ("optimized local hashing", single(lambda e: sd.OLH(domain=d, eps0=e))),
            ("wheel, s = 1", single(lambda e: sd.Wheel(domain=d, s=1, eps0=e))),
        ),
    ),
    Curve(
        "Hadamard response, about e^ε₀ blocks", single(blocks), SKY, (0, (8, 2)), "v"),
    Curve(
        "PCKV-GRR, s = 1",
        single(lambda e: sd.PCKVGRR(domain=d, s=1, eps0=e)), GREY, (0, (3, 1)), "x",
    ),
    Curve(
        "k-RR", single(lambda e: sd.KRR(k=d, eps0=e)), BLUE, "-", "o"),
    Curve(
        "subset selection",
        single(lambda e: sd.SubsetSelection(d=d, eps0=e)), BLACK, (0, (1, 2)), "+",
    ),
)  # fmt: skip
MULTI = (
    Curve("count an item, fair bits (Balcer et al.)", fair, PURPLE, (0, (4, 1.5)), "s"),
    Curve(
        "mixDUMP, flips f = 0.01",
        dummies(sd.MixDUMP(d=d, f=0.01, blankets=2)), GREEN, (0, (6, 1.5, 1, 1.5)), "^",
    ),
    Curve("count an item, biased bits (Balcer, Cheu)", biased, ORANGE, (0, (1.2, 1.2)), "D"),
    Curve("Cheu, Zhilyaev, 1 fake message a user", flips(1), SKY, (0, (8, 2)), "v"),
    Curve("Cheu, Zhilyaev, 16 a user", flips(16), GREY, (0, (3, 1)), "x"),
    Curve(
        "pureDUMP", dummies(sd.PureDUMP(d=d, blankets=2)), BLUE, "-", "o",
        along=(("balls into bins, s = 1", dummies(sd.BallsIntoBins(d=d, s=1, blankets=2))),),
    ),
)  # fmt: skip
REFERENCES = (
    Curve("local model, ε₀ = 1 (subset selection)", local, BLACK, (0, (5, 3))),
    Curve("central model (Laplace)", central, BLACK, "-"),
)


def main(out: Path) -> None:
    """Compute, draw, write."""
    users = counts(100, 10**7, 11)
    for curve in (*SINGLE, *MULTI, *REFERENCES):
        curve.evaluate(users)
    print(draw(out, users), write(out, users))


def draw(out: Path, users: list[int]):
    """Error, and error over that of the central model; single messages left, several right."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            2, 2, figsize=(9.0, 8.2), sharex=True, sharey="row", layout="constrained",
            height_ratios=(1, 1.25),
        )  # fmt: skip
        base = REFERENCES[1].values[REFERENCES[1].label]
        for column, (title, curves) in enumerate(
            (("one message a user", SINGLE), ("several messages a user", MULTI))
        ):
            for row in range(2):
                ax = axes[row, column]
                for place, curve in enumerate((*REFERENCES, *curves)):
                    _plot(ax, users, curve, place, base if row else None)
                ax.set(xscale="log", yscale="log")
            axes[0, column].set_title(title)
            axes[1, column].set_xlabel("n (users)")
            axes[1, column].legend(
                loc="upper center", bbox_to_anchor=(0.5, -0.13), fontsize=7.5, handlelength=4.5
            )
        axes[0, 0].set_ylabel("error of a frequency (RMS over items)")
        axes[1, 0].set_ylabel("the same, over the central model's")
        axes[1, 0].set_ylim(0.8, 3000)
        figure.suptitle(
            f"Error at equal central privacy, ε = {EPSILON:g}, δ = {DELTA:g}, certified; "
            f"{ITEMS} items",
            fontsize=9.5,
        )
        path = out / f"{NAME}.png"
        figure.savefig(path, dpi=120, metadata={"Software": None})
        plt.close(figure)
    return path


def _plot(ax, users: list[int], curve: Curve, place: int, base: list[float] | None) -> None:
    label = " ≈ ".join(curve.values)
    values = curve.values[curve.label]
    if base is not None:
        values = [v / b for v, b in zip(values, base, strict=True)]
    reference = curve in REFERENCES
    ax.plot(
        users, values, color=curve.colour, ls=curve.dashes, marker=curve.marker, ms=4.5,
        lw=2.2 if reference else 1.3, markevery=(place % 2, 2), label=label,
        markerfacecolor="none" if curve.marker in "s^Dvo" else None,
    )  # fmt: skip


def write(out: Path, users: list[int]):
    """A column for each n, a row for each mechanism."""
    path = out / f"{NAME}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        written = csv.writer(file)
        written.writerow(["mechanism", *(f"n = {n}" for n in users)])
        for curve in (*REFERENCES, *SINGLE, *MULTI):
            for name, values in curve.values.items():
                cells = ("" if math.isnan(v) else f"{v:.5g}" for v in values)
                written.writerow([name, *cells])
    return path


if __name__ == "__main__":
    run(main, __doc__)
