"""Where coverage is measured: small counts, large ones, every kind of mechanism.

Run as a script it writes docs/figures/coverage.csv (minutes): ``python
tests/protocol/coverage_cases.py``.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import shuffledp as sd
from shuffledp.protocol import simulate
from shuffledp.randomizers.composed import field

REPETITIONS = 1000
SEED = 1


@dataclass(frozen=True)
class Case:
    """A mechanism on n users' fixed values.

    kind: "exact" where limits come from the law of the counts (at least 0.95 for every data set),
    "bound" where they hold for the worst data with these reports, "normal" where noise is taken to
    be normal, "mixed" where the attributes of a joint report have limits of either kind.
    """

    mechanism: object
    n: int
    kind: str = "exact"
    spread: str = "zipf"

    @property
    def name(self):
        return self.mechanism.name

    @property
    def about(self):
        m = self.mechanism
        shown = m.parameters().items() if not isinstance(m, sd.Joint) else ()
        return ", ".join(f"{k} = {v}" for k, v in shown if v is not None) or "k-rr and laplace"

    def values(self):
        rng = np.random.default_rng(self.n)
        m, n = self.mechanism, self.n
        if isinstance(m, sd.Joint):
            rows = np.zeros(n, [(field(0), "i8"), (field(1), "f8")])
            rows[field(0)], rows[field(1)] = _zipf(rng, n, 4), rng.random(n)
            return rows
        low = getattr(m, "low", None)
        if low is not None:
            both = rng.choice([low, m.high], n, p=[0.3, 0.7])
            return both if self.spread == "ends" else low + (m.high - low) * rng.beta(2, 5, n)
        return _zipf(rng, n, m.domain if isinstance(m, sd.Hierarchy) else m.items)

    def measured(self, repetitions=REPETITIONS):
        return simulate(self.mechanism, self.values(), repetitions=repetitions, seed=SEED)


def _zipf(rng, n, items):
    weights = 1.0 / np.arange(1, items + 1)
    return rng.choice(items, n, p=weights / weights.sum())


CASES = [
    Case(sd.KRR(k=100, eps0=10.0), 20_000),
    Case(sd.KRR(k=1000, eps0=10.0), 20_000),
    Case(sd.KRR(k=1000, eps0=4.0), 20_000),
    Case(sd.KRR(k=1000, eps0=2.0), 100_000),
    Case(sd.KRR(k=10, eps0=1.0), 1000),
    Case(sd.KRR(k=10, eps0=1.0), 100),
    Case(sd.KRR(k=4, eps0=3.0), 50),
    Case(sd.BinaryRR(eps0=5.0), 200),
    Case(sd.PureDUMP(d=1000, blankets=1), 2000),
    Case(sd.PureDUMP(d=1000, blankets=1), 20_000),
    Case(sd.PureDUMP(d=100, blankets=10, rate=0.5), 1000),
    Case(sd.MixDUMP(d=50, f=0.05, blankets=1), 1000),
    Case(sd.BallsIntoBins(d=1000, s=2, blankets=1), 2000),
    Case(sd.CheuZhilyaev(d=50, f=0.01, blankets=1), 500),
    Case(sd.BalcerCheu(p=0.99), 200),
    Case(sd.BalcerEtAl(blankets=1), 100),
    Case(sd.RAPPOR(d=50, eps0=8.0), 500),
    Case(sd.OUE(d=50, eps0=6.0), 1000),
    Case(sd.OUE(d=10, eps0=1.0), 5000),
    Case(sd.SubsetSelection(d=50, eps0=4.0), 1000),
    Case(sd.OLH(domain=100, eps0=6.0), 1000),
    Case(sd.BLH(domain=20, eps0=2.0), 1000),
    Case(sd.HadamardResponse(domain=100, eps0=2.0), 2000),
    Case(sd.HadamardResponse(domain=100, eps0=6.0, blocks=100), 2000),
    Case(sd.HadamardResponse(domain=100, eps0=6.0, blocks=50), 2000, "bound"),
    Case(sd.Duchi(eps0=10.0), 20_000, "bound", "ends"),
    Case(sd.Duchi(eps0=1.0), 1000, "bound"),
    Case(sd.Piecewise(eps0=4.0), 200, "normal"),
    Case(sd.Piecewise(eps0=1.0), 1000, "normal", "ends"),
    Case(sd.Laplace(eps0=1.0), 100, "normal"),
    Case(sd.Joint((sd.KRR(k=4, eps0=6.0), sd.Laplace(eps0=2.0))), 500, "mixed"),
    Case(sd.Hierarchy(domain=64, eps0=3.0), 5000, "normal"),
]
HEAD = ("mechanism", "parameters", "n", "intervals", "each alone", "all at once")


TABLE = Path(__file__).parents[2] / "docs" / "figures" / "coverage.csv"


def row(case, found):
    """A line of the table."""
    numbers = (f"{found.coverage:.3f}", f"{found.joint_coverage:.3f}")
    return [case.name, case.about, str(case.n), case.kind, *numbers]


if __name__ == "__main__":
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEAD, *(row(case, case.measured()) for case in CASES)])
