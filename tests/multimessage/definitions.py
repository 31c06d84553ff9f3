"""Every protocol's message laws from its definition, in fractions: rows over all messages.

The last column is "not sent", for blanket messages with a rate: how many were not sent follows from
the number of those that were.
"""

import itertools
from fractions import Fraction

import shuffledp as sd

UNIT = 1 << 64


def word(p):
    """The multiple of 2^-64 that is meant."""
    return Fraction(max(round(p * UNIT), 1), UNIT)


def bits(protocol):
    p = word(protocol.p) if isinstance(protocol, sd.BalcerCheu) else Fraction(1, 2)
    data = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    return data, [1 - p, p], Fraction(1)


def flipped(vector, f):
    row = []
    for output in itertools.product((0, 1), repeat=len(vector)):
        p = Fraction(1)
        for x, y in zip(vector, output, strict=True):
            p *= f if x != y else 1 - f
        row.append(p)
    return row


def cheu_zhilyaev(protocol):
    f, d = word(protocol.f), protocol.d
    data = [flipped([int(i == x) for i in range(d)], f) for x in range(d)]
    return data, flipped([0] * d, f), Fraction(1)


def bins(protocol):
    d, s = protocol.d, protocol.s
    data = [
        [Fraction(1, s) if x * s <= y < (x + 1) * s else Fraction(0) for y in range(d)]
        for x in range(d // s)
    ]
    return data, [Fraction(1, d)] * d, word(protocol.rate)


def dump(protocol):
    d = protocol.d
    f = word(protocol.f) if isinstance(protocol, sd.MixDUMP) else Fraction(0)
    data = [[1 - f if x == y else f / (d - 1) for y in range(d)] for x in range(d)]
    return data, [Fraction(1, d)] * d, word(protocol.rate)


def laws(protocol):
    """Rows of the data message for each input, and the row of a blanket message."""
    make = {
        sd.BalcerCheu: bits,
        sd.BalcerEtAl: bits,
        sd.CheuZhilyaev: cheu_zhilyaev,
        sd.BallsIntoBins: bins,
        sd.PureDUMP: dump,
        sd.MixDUMP: dump,
    }[type(protocol)]
    data, blanket, rate = make(protocol)
    return [[*row, Fraction(0)] for row in data], [*(rate * p for p in blanket), 1 - rate]
