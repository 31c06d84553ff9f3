"""Exact divergences of ALL pairs of neighbouring datasets of a small channel, at many epsilons."""

import itertools
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from enumerated import with_user

BITS = 200
FEW = 60
ONE = 1 << BITS


def whole_rows(rows):
    """Rows of balls as whole multiples of 2^-200 that sum to one; off by 2^-198 at most."""
    found = []
    for row in rows:
        units = [int((p * ONE).mid().floor().unique_fmpz()) for p in row]
        units[units.index(max(units))] += ONE - sum(units)
        found.append(units)
    return found


def powers(epsilon):
    """e^epsilon from below and above."""
    with ctx.workprec(200):
        value = arb(epsilon).exp() * (1 << 120)
        low, high = value.lower().floor().unique_fmpz(), value.upper().ceil().unique_fmpz()
    return Fraction(int(low), 1 << 120), Fraction(int(high), 1 << 120)


class Neighbours:
    """All pairs of neighbouring datasets of n users.

    Parameters
    ----------
    rows : list of rows of balls, one for each input.
    n : number of users.
    pairs : unordered pairs of inputs that are neighbours; all by default.
    """

    def __init__(self, rows, n, pairs=None):
        whole = whole_rows(rows)
        inputs = range(len(whole))
        pairs = list(itertools.combinations(inputs, 2)) if pairs is None else pairs
        self.scale = ONE**n
        histograms = _all_histograms(len(whole[0]), n)
        self.exact = []
        for others in itertools.combinations_with_replacement(inputs, n - 1):
            base = {(0,) * len(whole[0]): 1}
            for x in others:
                base = with_user(base, whole[x])
            laws = {x: with_user(base, whole[x]) for x in {x for pair in pairs for x in pair}}
            dense = {x: [law.get(h, 0) for h in histograms] for x, law in laws.items()}
            for x, y in pairs:
                self.exact += [(dense[x], dense[y]), (dense[y], dense[x])]
        made = {}
        for law in itertools.chain.from_iterable(self.exact):
            if id(law) not in made:
                made[id(law)] = np.array([_ratio(v, self.scale) for v in law])
        self.p = np.array([made[id(p)] for p, _ in self.exact])
        self.q = np.array([made[id(q)] for _, q in self.exact])

    def worst(self, epsilon):
        """(most, least): the largest divergence at e^epsilon from below and from above."""
        low, high = powers(epsilon)
        gains = self.p - float(low) * self.q
        rough = np.where(gains > 0.0, gains, 0.0).sum(axis=1)
        order = np.argsort(-rough)
        if len(order) > FEW:
            order = order[: max(20, int((rough >= rough.max() * (1 - 1e-6) - 1e-13).sum()))]
        return tuple(max(self._exact(int(i), alpha) for i in order) for alpha in (low, high))

    def _exact(self, i, alpha):
        p, q = self.exact[i]
        top, bottom = alpha.numerator, alpha.denominator
        total = sum(max(bottom * a - top * b, 0) for a, b in zip(p, q, strict=True))
        return Fraction(total, bottom * self.scale)


def _ratio(value, scale):
    shift = max(value.bit_length() - 900, 0)
    return (value >> shift) / (scale >> shift) if scale >> shift else 0.0


def _all_histograms(size, n):
    return [
        tuple(chosen.count(j) for j in range(size))
        for chosen in itertools.combinations_with_replacement(range(size), n)
    ]
