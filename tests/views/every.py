"""Sums of bits by every pair of data sets, in balls: rates by definition, noise as it is printed.

The words that a bound prints name the law of the aggregator's noise; what is enumerated is read off
them. Noise is cut off where all that is left is below 1e-45, and what was cut is in the bracket.
"""

import functools
import itertools
import math
import re

from flint import arb

import shuffledp as sd

PRINTED = re.compile(
    r"the aggregator adds discrete (Laplace|Gaussian) noise z of its own, exactly with probability "
    r"proportional to exp\(-(\|z\|/|z\^2/\(2\*)([0-9.e+-]+?)(\^2\))?\);"
)


def printed_noise(words):
    """Masses on -w .. w of the law that the assumptions print, and what is beyond them."""
    name, shape, size, _ = PRINTED.search(" ".join(words)).groups()
    laplace = shape == "|z|/"
    assert laplace == (name == "Laplace")
    scale, far = arb(float(size)), 120
    reach = math.ceil(float(size) * (far if laplace else math.sqrt(2 * far))) + 2
    weights = {
        z: (-(abs(z) / scale if laplace else arb(z) ** 2 / (2 * scale**2))).exp()
        for z in range(-reach, reach + 1)
    }
    # Ratios of neighbours only fall: at most a geometric series on either side.
    share = weights[reach] / weights[reach - 1]
    rest = 2 * weights[reach] * share / (1 - share)
    total = sum(weights.values(), arb(0)) + arb(rest.upper() / 2, rest.upper() / 2)
    return [w / total for w in weights.values()], (rest / total).upper()


def convolved(first, second):
    found = [arb(0)] * (len(first) + len(second) - 1)
    for i, x in enumerate(first):
        for j, y in enumerate(second):
            found[i + j] += x * y
    return found


def number_of_ones(column, rates):
    """The law of a coordinate's sum."""
    return functools.reduce(convolved, ([1 - rates[b], rates[b]] for b in column), [arb(1)])


def chances(mechanism):
    """P(bit = 1) where the bit is 0 and where it is 1, from the definitions."""
    if isinstance(mechanism, sd.Channel):
        return [arb(row[1]) / (arb(row[0]) + arb(row[1])) for row in mechanism.matrix]
    grow = arb(mechanism.eps0).exp()
    if isinstance(mechanism, sd.OUE):
        return 1 / (grow + 1), arb(1) / 2
    root = grow if isinstance(mechanism, sd.BinaryRR) else grow.sqrt()
    return 1 / (root + 1), root / (root + 1)


def vectors(d, ones):
    found = [v for v in itertools.product((0, 1), repeat=d) if sum(v) <= ones]
    return [v for v in found if sum(v) == 1] if ones == 1 and d > 1 else found


def hockey(p, q, a):
    return sum((g for g in (x - a * y for x, y in zip(p, q, strict=True)) if g > 0), arb(0))


class Exact:
    """The largest divergence of data sets that differ in up to k users, by the printed relation."""

    def __init__(self, view):
        one = view.seen
        self.view, self.rates, self.d = view, chances(one.mechanism), one.count
        self.noise, self.rest = [arb(1)], arb(0)
        if one.added is not None:
            self.noise, self.rest = printed_noise(one.assumptions())
        self.values, self.zero = vectors(self.d, one.ones), (0,) * self.d
        self.special = one.relation.key == "replace-special"
        self.column, self.law = (functools.cache(f) for f in (self._column, self._law))

    def _column(self, column):
        return convolved(number_of_ones(column, self.rates), self.noise)

    def _law(self, users):
        laws = [self.column(tuple(sorted(c))) for c in zip(*users, strict=True)]
        return [math.prod(masses, start=arb(1)) for masses in itertools.product(*laws)]

    def steps(self, v):
        """What one user who holds v may hold in the other data set."""
        if not self.special:
            return self.values
        return [v, self.zero] if v != self.zero else [*self.values, self.zero]

    def __call__(self, *epsilons):
        """Brackets of delta at each eps: the largest of all pairs in both orders."""
        k, n = self.view.changed, self.view.n
        values = dict.fromkeys([*self.values, self.zero] if self.special else self.values)
        pairs = [
            (first, second)
            for first in itertools.combinations_with_replacement(values, k)
            for second in itertools.product(*map(self.steps, first))
            if first != second
        ]
        worst = [arb(0)] * len(epsilons)
        for others in itertools.combinations_with_replacement(self.values, n - k):
            for pair in pairs:
                p, q = (self.law(tuple(sorted((*held, *others)))) for held in pair)
                for i, epsilon in enumerate(epsilons):
                    worst[i] = arb.max(worst[i], hockey(p, q, arb(epsilon).exp()))
        # With what was cut of the noise an event's P - a Q is larger by P's part of it at the most,
        # and smaller by a times Q's.
        cut = self.d * self.rest
        return [
            ((x - arb(e).exp() * cut).lower(), (x + cut).upper())
            for x, e in zip(worst, epsilons, strict=True)
        ]
