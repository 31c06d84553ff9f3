"""Exact experiments: every pair of neighbouring datasets of a few users, from the definition.

Laws of what the shuffler shows are enumerated, in whole numbers or in long doubles whose error is
counted; nothing of the package is used. ``Experiment`` keeps the two laws of each pair of datasets;
several of them are rounds.
"""

import itertools
import math

import numpy as np

LONG = np.longdouble
# Long doubles have 64 bits where they are wider than doubles; elsewhere they are doubles.
ROUNDOFF = float(np.finfo(LONG).eps)


def counts_law(rows):
    """Law of the histogram of independent messages with these laws; all zero weights left out."""
    law = {(0,) * len(rows[0]): 1}
    for row in rows:
        grown = {}
        for histogram, weight in law.items():
            for y, p in enumerate(row):
                if p:
                    key = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
                    grown[key] = grown.get(key, 0) + weight * p
        law = grown
    return law


class Experiment:
    """Pairs of laws P, Q of one round, one row each; both directions of every pair are kept.

    Parameters
    ----------
    pairs : list of pairs of dicts
        outcome -> probability (Fraction, or a float that is exact to ``roundings`` roundings).
    """

    def __init__(self, pairs, roundings=0):
        pairs = [pair for two in pairs for pair in (two, two[::-1])]
        outcomes = {key: i for i, key in enumerate({k for p, q in pairs for k in (*p, *q)})}
        self.p, self.q = (np.zeros((len(pairs), len(outcomes)), dtype=LONG) for _ in "pq")
        for row, (p, q) in enumerate(pairs):
            for made, law in ((self.p, p), (self.q, q)):
                for key, value in law.items():
                    made[row, outcomes[key]] = long(value)
        self.roundings = roundings + 2

    def times(self, other, which):
        """The two rounds together, of the pairs of datasets named in ``which``."""
        found = Experiment.__new__(Experiment)
        first, second = (np.array(x, dtype=int) for x in zip(*which, strict=True))
        found.p, found.q = (
            (a[first][:, :, None] * b[second][:, None, :]).reshape(len(which), -1)
            for a, b in ((self.p, other.p), (self.q, other.q))
        )
        found.roundings = self.roundings + other.roundings + 1
        return found

    def __len__(self):
        return len(self.p)

    def deltas(self, epsilon):
        """Certainly not above and not below the largest divergence at this epsilon, and which."""
        a = np.exp(LONG(epsilon))
        gain = self.p - a * self.q
        inside = gain > 0
        value = np.where(inside, gain, 0).sum(axis=1)
        # Every term is off by its roundings; what changed sign is no larger than that.
        doubt = (self.roundings + 8 + self.p.shape[1]) * ROUNDOFF
        near = gain > -doubt * (self.p + a * self.q)
        error = doubt * np.where(near, self.p + a * self.q, 0).sum(axis=1)
        low, high = value - error, value + error
        which = int(low.argmax())
        return max(low[which], LONG(0)), high.max(), which

    def renyi(self, order):
        """The largest Renyi divergence of this order, from below and above; inf where P > Q = 0."""
        both = (self.p > 0) & (self.q > 0)
        ratio = np.where(both, self.p, 1) / np.where(both, self.q, 1)
        moment = np.where(both, self.q * ratio ** LONG(order), 0).sum(axis=1)
        moment[((self.p > 0) & (self.q == 0)).any(axis=1)] = np.inf
        doubt = (4 * (self.roundings + 8) * order + self.p.shape[1]) * ROUNDOFF
        value = np.log(moment.max()) / LONG(order - 1)
        return value - doubt / (order - 1), value + doubt / (order - 1)


def long(value):
    """A fraction or number as a long double, rounded twice at most."""
    if isinstance(value, int | float | np.floating):
        return LONG(value)
    scale = max(value.numerator.bit_length() - value.denominator.bit_length() - 64, -16000)
    shifted = (
        value.numerator // (value.denominator << scale)
        if scale >= 0
        else (value.numerator << -scale) // value.denominator
    )
    top = shifted >> 32
    return (LONG(top) * LONG(2) ** 32 + LONG(shifted - (top << 32))) * LONG(2) ** scale


def datasets(rows, n, pairs, *, blanket=None, blankets=0):
    """All pairs of neighbouring datasets of one channel, as pairs of laws of histograms.

    Parameters
    ----------
    rows : list of lists
        One law for each input.
    n : int
        Users.
    pairs : list of pairs of int
        Which inputs are neighbours (each unordered pair once).
    blanket, blankets : list and int
        Law and number of further messages that depend on nobody's input.
    """
    more = [blanket] * blankets
    found = []
    for others in itertools.combinations_with_replacement(range(len(rows)), n - 1):
        base = [rows[x] for x in others] + more
        laws = {x: counts_law([*base, rows[x]]) for x in {x for pair in pairs for x in pair}}
        found += [(laws[x], laws[y]) for x, y in pairs]
    return found


def adaptive(tree, inputs):
    """Law of all messages of users who are shuffled first: the i-th one's channel is tree(history).

    Parameters
    ----------
    tree : callable
        history of messages -> rows, one law for each input.
    inputs : tuple of int
        Who holds what.
    """
    n = len(inputs)
    law = {}
    for order in itertools.permutations(inputs):
        made = {(): 1.0 / LONG(math.factorial(n))}
        for x in order:
            made = {
                (*history, y): weight * p
                for history, weight in made.items()
                for y, p in enumerate(tree(history)[x])
                if p
            }
        for history, weight in made.items():
            law[history] = law.get(history, LONG(0)) + weight
    return law
