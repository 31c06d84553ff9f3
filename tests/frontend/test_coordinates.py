"""Sums of bits in balls: against every data set in fractions of the definition itself."""

import math
import random

import pytest
from flint import arb, ctx

from laws import mechanism_of
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.propose.one_bit_curve import Curve


class Coordinates:
    """One coordinate of what is added up, as accounts look at it."""

    def __init__(self, mechanism, *, n, added=None):
        noise = None if added is None else NoiseLaw(added["kind"], added["scale"])
        self.n, bits = n, mechanism_of(mechanism).added_bits()
        self.curve = Curve(bits, n, noise=noise)

    def of_dataset(self, ones, epsilon, *, swap):
        """Ends of log delta where so many others hold a 1; swapped, the victim's 0 comes first."""
        zero, one = self.curve.bits.inputs
        found = self.curve.of_order(*((zero, self.n - 1 - ones) if swap else (one, ones)), epsilon)
        return found.log_low, found.log_high

    def hold(self, epsilons, logs):
        """Whether all are above every data set's, and whether one is certainly not."""
        found = [self.curve.point(epsilon, width=1e-9) for epsilon in epsilons]
        pairs = list(zip(found, logs, strict=True))
        return all(p.log_high <= log for p, log in pairs), any(p.log_low > log for p, log in pairs)


def rates(mechanism):
    """P(bit = 1) of a 0 and of a 1, from the papers."""
    name = mechanism["name"]
    if name == "channel":
        return tuple(arb(row[1]) for row in mechanism["matrix"])
    grow = arb(mechanism["eps0"]).exp()
    if name == "oue":
        return 1 / (1 + grow), arb(1) / 2
    if name == "rappor":
        grow = (arb(mechanism["eps0"]) / 2).exp()
    return 1 / (1 + grow), grow / (1 + grow)


def law(bits):
    """The number of ones of independent bits with these chances."""
    found = [arb(1)]
    for p in bits:
        found = [
            (found[k] * (1 - p) if k < len(found) else 0) + (found[k - 1] * p if k else 0)
            for k in range(len(found) + 1)
        ]
    return found


def exact(mechanism, n, ones, epsilon, *, swap):
    """sum of (P - a Q)_+ of one data set, all sums listed."""
    q, p = rates(mechanism)
    others = [p] * ones + [q] * (n - 1 - ones)
    first, second = (q, p) if swap else (p, q)
    masses = [law([*others, r]) for r in (first, second)]
    gains = [x - arb(epsilon).exp() * y for x, y in zip(*masses, strict=True)]
    return sum((g for g in gains if g > 0), start=arb(0))


def random_mechanism(rng):
    name = rng.choice(("rappor", "oue", "binary-rr", "channel"))
    if name == "channel":
        # With a 0 or a 1 some of the others' bits are no coins.
        ends = rng.choice(((0.0, rng.random()), (rng.random(), 1.0), (rng.random(), rng.random())))
        low, high = sorted(ends)
        return {"name": name, "matrix": [[1.0 - low, low], [1.0 - high, high]]}
    size = {"d": rng.randint(2, 9)} if name in {"rappor", "oue"} else {}
    return {"name": name, **size, "eps0": math.exp(rng.uniform(-3.0, 2.5))}


@pytest.fixture(autouse=True)
def many_bits():
    before, ctx.prec = ctx.prec, 200
    yield
    ctx.prec = before


def test_all_data_sets_at_many_eps():
    """Values just above the largest hold, and one value just below it is refuted."""
    rng = random.Random("all data sets")
    for _ in range(25):
        mechanism, n = random_mechanism(rng), rng.randint(1, 9)
        epsilons = [rng.uniform(0.0, 1.2) * mechanism.get("eps0", 1.0) for _ in range(3)]
        largest = [
            max(
                (exact(mechanism, n, m, e, swap=swap) for m in range(n) for swap in (False, True)),
                key=lambda x: float(x.mid()),
            )
            for e in epsilons
        ]
        logs = [math.log(x.upper()) + 1e-9 if x > 0 else -math.inf for x in largest]
        holds, refuted = Coordinates(mechanism, n=n).hold(epsilons, logs)
        assert holds, (mechanism, n, epsilons, logs)
        assert not refuted
        for k in range(3):
            if logs[k] > -60.0:
                less = [log - (1e-6 if i == k else 0.0) for i, log in enumerate(logs)]
                found = Coordinates(mechanism, n=n).hold(epsilons, less)
                assert found == (False, True), (mechanism, n, epsilons, k)
