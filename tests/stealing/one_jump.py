"""Theorem 9.3 of docs/theory-stealing.md as it is printed, in floats, for one group of types."""

import math

import numpy as np

# h alpha of the sums.
SMOOTHING = 0.05


def log_j(common, law, n, alpha, smoothing=SMOOTHING):
    """log of ((c0 + d0)^n/n) (1/2 pi) int psi^n w dt, by the trapezoidal rule."""
    both = np.array([(m * math.exp(alpha * x), x) for m, x in common])
    label = np.array([(m * math.exp(alpha * x), x) for m, x in law])
    c0, d0 = both[:, 0].sum(), label[:, 0].sum()
    widest = max(abs(x) for _, x in (*common, *law))
    step = 0.05 * min(alpha, 1.0 / (widest * math.sqrt(n)))
    t = np.arange(0.0, 6.0 * alpha / smoothing, step)
    square = [
        np.abs(np.exp(1j * np.outer(t, one[:, 1])) @ one[:, 0]) ** 2 / one[:, 0].sum() ** 2
        for one in (both, label)
    ]
    psi = (c0 * (1.0 + square[0]) + d0 * (1.0 + square[1])) / (2.0 * (c0 + d0))
    terms = psi**n * np.exp(0.5 * (smoothing / alpha) ** 2 * (alpha**2 - t * t))
    terms /= alpha**2 + t * t
    integral = (terms.sum() - 0.5 * terms[0]) * step / math.pi
    return n * math.log(c0 + d0) - math.log(n) + math.log(integral)


class Formula:
    """Theorem 9.3 for types that are one group, as it is printed."""

    def __init__(self, common, types, n, *, start, ceiling, floor, smoothings=(SMOOTHING,)):
        self.n, self.ceiling, self.smoothings = n, ceiling, smoothings
        self.laws = [[(m, max(x, -floor)) for m, x in law] for law in (common, *types)]
        self.jumps = [[(m, x) for m, x in law if x > start] for law in self.laws]
        self.silent = [[(m, 0.0 if x > start else x) for m, x in law] for law in self.laws]
        self.cut = [[(m, min(x, ceiling) if x > start else x) for m, x in law] for law in self.laws]

    def worst(self, laws, n, tilt):
        first, *rest = laws
        return max(min(log_j(first, law, n, tilt, h) for h in self.smoothings) for law in rest)

    def around(self, laws, x, forward, backward):
        others = self.n - 1
        found = [math.exp(t * x + self.worst(laws, others, t)) for t in forward]
        first, *means = [sum(m * g for m, g in law) for law in laws]
        if first <= 0.0 and max(means) <= 0.0:
            negated = [[(m, -g) for m, g in law] for law in self.silent]
            empty = (1.0 - sum(m for m, _ in self.laws[0])) ** (self.n - 2)
            line = x / others + first + (1.0 - empty) * max(means)
            found += [line + math.exp(self.worst(negated, others, t) - t * x) for t in backward]
        return max(min(found), 0.0)

    def value(self, alpha, forward, backward):
        over = [sum(m * max(x - self.ceiling, 0.0) for m, x in law) for law in self.laws]
        more = over[0] + max(over[1:])
        total = math.exp(self.worst(self.silent, self.n, alpha))
        for laws, extra in ((self.silent, 0.0), (self.cut, more)):
            beside = [
                sum(m * (self.around(laws, x, forward, backward) + extra) for m, x in jumps)
                for jumps in self.jumps
            ]
            total += 0.5 * (self.n - 1) * (beside[0] + max(beside[1:]))
        return total


def toy(rng):
    """A reservoir and two types with about as much in jumps: each term matters in some of them."""
    share, n = rng.uniform(0.05, 0.3), rng.randint(4, 30)
    loss = rng.choice([0.2, 1.0])
    rare, seldom = rng.choice([0.0, 0.01]), rng.choice([0.003, 0.03])
    # Next to the ceiling, and far beyond it.
    jump = rng.choice([4.0, 12.0])
    common = [(share - rare, -loss), (rare, jump)]
    # Of two types in one group the one with more jumps need not come first.
    types = [
        [(0.8 - share - part, -loss), (0.15, 0.3 * loss), (0.05, bend), (part, jump)]
        for bend, part in ((0.0, 0.97 * seldom), (-0.1, seldom))
    ]
    rng.shuffle(types)
    numbers = {
        "start": 3.0,
        "ceiling": rng.choice([3.5, 5.0, 20.0]),
        "floor": rng.choice([0.5, 9.0]),
    }
    return common, types, n, numbers
