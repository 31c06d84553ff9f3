"""Every finite mechanism's whole channel, every input and every single output, from its definition.

Written from the mechanisms' definitions as users would run them, in balls of 300 bits; nothing of
the package's laws, classes, worst pairs or blankets is used. Only for small domains.
"""

import itertools
import math
from fractions import Fraction

from flint import arb, fmpq

import shuffledp as sd
from randomizers import definitions

UNIT = 1 << 64


def ball(x):
    x = Fraction(x)
    return arb(fmpq(x.numerator, x.denominator))


def favoured(rows, eps0):
    """Rows of whole numbers 0 and 1: e^eps0 or 1, normalised."""
    grow = arb(eps0).exp()
    made = [[grow if v else arb(1) for v in row] for row in rows]
    return [[p / sum(row, start=arb(0)) for p in row] for row in made]


def subset_rows(m):
    return definitions.subset(m.d, m.k, m.eps0)


def hadamard_rows(m):
    if m.blocks == 1:
        return definitions.hadamard(m.domain, m.eps0)
    return definitions.hadamard_blocks(m.domain, m.blocks, m.eps0)


def sampling_rows(m):
    """All sets of s items; one item, then RAPPOR."""
    single = definitions.rappor(m.d, m.eps0)
    return [
        [sum((single[i][y] for i in chosen), start=arb(0)) / m.s for y in range(1 << m.d)]
        for chosen in itertools.combinations(range(m.d), m.s)
    ]


def pckv_rows(m):
    """All sets of s keys with values -1, 0 and 1; with padding also fewer keys, and dummies."""
    keys = m.domain + (m.s if m.padding else 0)
    eps = (m.s * arb(m.eps0).expm1() + 1).log()
    grow = eps.exp()
    response = [[(grow if i == j else 1) / (grow + 2 * keys - 1) for j in range(2 * keys)]
                for i in range(2 * keys)]  # fmt: skip
    rows = []
    sizes = range(m.s + 1) if m.padding else [m.s]
    for size in sizes:
        for held in itertools.combinations(range(m.domain), size):
            for values in itertools.product((-1, 0, 1), repeat=size):
                pairs = [*zip(held, values, strict=True)]
                pairs += [(m.domain + slot, 0) for slot in range(size, m.s)]
                row = [arb(0)] * (2 * keys)
                for key, value in pairs:
                    up = ball(Fraction(1 + value, 2))
                    for j in range(2 * keys):
                        mixed = up * response[2 * key + 1][j] + (1 - up) * response[2 * key][j]
                        row[j] = row[j] + mixed / m.s
                rows.append(row)
    return rows


INNER = (Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 5))


def duchi_rows(m, places=INNER):
    grow = arb(m.eps0).exp()
    rows = []
    for a in places:
        x = ball(2 * a - 1)
        up = arb(1) / 2 + x * (grow - 1) / (2 * (grow + 1))
        rows.append([up, 1 - up])
    return rows


def piecewise_rows(m, places=INNER):
    """Densities on [-C, C] as in the paper, integrated between all their jumps."""
    w = (arb(m.eps0) / 2).exp()
    c = (w + 1) / (w - 1)
    windows = []
    for a in places:
        x = ball(2 * a - 1)
        left = (c + 1) / 2 * x - (c - 1) / 2
        windows.append((left, left + c - 1))
    cuts = sorted([-c, c, *itertools.chain(*windows)], key=lambda y: float(y.mid()))
    rows = []
    for left, right in windows:
        row = []
        for a, b in itertools.pairwise(cuts):
            middle = (a + b) / 2
            inside = left < middle < right
            density = w / (w + 1) / (c - 1) if inside else 1 / (w + 1) / (c + 1)
            row.append((b - a) * density if b > a else arb(0))
        rows.append(row)
    return rows


def hybrid_rows(m):
    share = 1 - (-arb(m.eps0) / 2).exp() if m.eps0 > 0.62 else arb(0)
    # Where the interval just misses that of an end: data sets hide least there.
    apart = m.low + (m.high - m.low) * math.exp(-0.5 * m.eps0)
    near = (Fraction(apart) - Fraction(m.low)) / (Fraction(m.high) - Fraction(m.low))
    places = (*INNER, near)
    pieces, bits = piecewise_rows(m, places), duchi_rows(m, places)
    if m.eps0 < 0.61:
        return bits
    return [
        [*(share * p for p in a), *((1 - share) * p for p in b)]
        for a, b in zip(pieces, bits, strict=True)
    ]


def privunit_rows(m):
    """d = 2: arcs of the circle, inputs at eight places, cut at all ends of arcs."""
    share = Fraction(m.c)
    places = [Fraction(i, 8) for i in range(8)]
    ends = sorted({(x + s * share / 2) % 1 for x in places for s in (-1, 1)} | {Fraction(0)})
    grow = arb(m.eps0).exp()
    total = grow * ball(share) + 1 - ball(share)
    rows = []
    for x in places:
        row = []
        for a, b in itertools.pairwise([*ends, Fraction(1)]):
            away = abs((a + b) / 2 - x)
            near = min(away, 1 - away) < share / 2
            row.append(ball(b - a) * (grow if near else 1) / total)
        rows.append(row)
    return rows


def noise_steps(z, g):
    k = math.floor(abs(z))
    return k + (abs(z) - k >= g)


def staircase_rows(m):
    """Pieces between jumps, and one output for what lies so far beyond that it does not matter."""
    g, b = Fraction(m.width), (-arb(m.eps0)).exp()
    a = (1 - b) / (2 * (ball(g) + b * (1 - ball(g))))
    far = math.ceil(80 / m.eps0)
    cuts = {Fraction(-far), Fraction(far + 1)}
    for x in INNER:
        for k in range(far + 2):
            cuts |= {x + s * (k + h) for s in (-1, 1) for h in (Fraction(0), g)}
    ends = sorted(y for y in cuts if -far <= y <= far + 1)
    rows = []
    for x in INNER:
        row = [
            ball(v - u) * a * b ** noise_steps((u + v) / 2 - x, g)
            for u, v in itertools.pairwise(ends)
        ]
        rows.append([*row, 1 - sum(row, start=arb(0))])
    return rows


def geometric_rows(m):
    a = (-arb(m.eps0) / m.top).exp()
    # Beyond 0 and top all ratios stay as they are: clamped or not, it is the same experiment.
    rows = []
    for x in range(m.top + 1):
        row = [(1 - a) / (1 + a) * a ** abs(y - x) for y in range(m.top + 1)]
        row[0], row[-1] = a**x / (1 + a), a ** (m.top - x) / (1 + a)
        rows.append(row)
    return rows


def gaussian_rows(m):
    reach = math.ceil(15 * m.sigma) + m.top
    mass = [(-(arb(k) ** 2) / (2 * arb(m.sigma) ** 2)).exp() for k in range(2 * reach + m.top + 1)]
    total = mass[0] + 2 * sum(mass[1:], start=arb(0))
    low, high = -reach, m.top + reach
    rows = []
    for x in range(m.top + 1):
        row = [arb(0)] * (high - low + 1)
        for y in range(-2 * reach + x, 2 * reach + x + 1):
            at = min(max(y, low), high) - low
            row[at] = row[at] + mass[abs(y - x)] / total
        rows.append(row)
    return rows


def laplace_rows(m):
    """Reports in 12 cells: a post-processing, so that only upper ends are to hold."""
    scale = 1 / arb(m.eps0)
    low, high = Fraction(m.low), Fraction(m.high)
    margin = Fraction(getattr(m, "margin", 0.0))
    first, last = low - margin, high + margin
    cuts = [first + (last - first) * Fraction(i, 10) for i in range(11)]

    def cdf(x, y):
        z = ball((y - x) / (high - low)) / scale
        return z.exp() / 2 if y < x else 1 - (-z).exp() / 2

    rows = []
    for a in INNER[:3]:
        x = low + (high - low) * a
        row = [cdf(x, v) - cdf(x, u) for u, v in itertools.pairwise(cuts)]
        beyond = [cdf(x, first), 1 - cdf(x, last)]
        if isinstance(m, sd.TruncatedLaplace):
            inside = 1 - sum(beyond, start=arb(0))
            row = [p / inside for p in row]
        elif isinstance(m, sd.ClampedLaplace):
            row[0], row[-1] = row[0] + beyond[0], row[-1] + beyond[1]
        else:
            row = [*row, *beyond]
        rows.append(row)
    return rows


# Inputs of Laplace noise for neighbours at a distance.
METRIC_PLACES = [Fraction(i, 4) for i in range(5)]


def metric_rows(m):
    """Reports in cells between the inputs and beyond: only upper ends are to hold."""
    rate = ball(Fraction(m.high) - Fraction(m.low)) / arb(m.scale)

    def cdf(x, y):
        z = ball(y - x) * rate
        return z.exp() / 2 if y < x else 1 - (-z).exp() / 2

    rows = []
    for x in METRIC_PLACES:
        inner = [cdf(x, v) - cdf(x, u) for u, v in itertools.pairwise(METRIC_PLACES)]
        rows.append([cdf(x, METRIC_PLACES[0]), *inner, 1 - cdf(x, METRIC_PLACES[-1])])
    return rows


def words(weights):
    """The multiples of 2^-64 that sum to one, as the mechanism's definition says."""
    exact = [Fraction(w) for w in weights]
    shares = [w / sum(exact) * UNIT for w in exact]
    found = [int(s) for s in shares]
    order = sorted(range(len(found)), key=lambda j: (int(shares[j]) - shares[j], j))
    for j in order[: UNIT - sum(found)]:
        found[j] += 1
    return [Fraction(w, UNIT) for w in found]


def joint_rows(m):
    parts = [rows_of(part) for part in m.randomizers]
    rows = []
    for record in itertools.product(*(range(len(p)) for p in parts)):
        row = [arb(1)]
        for part, x in zip(parts, record, strict=True):
            row = [p * q for p in row for q in part[x]]
        rows.append(row)
    return rows


def parallel_rows(m):
    parts = [rows_of(part) for part in m.randomizers]
    rows = []
    for record in itertools.product(*(range(len(p)) for p in parts)):
        row = []
        for part, share, x in zip(parts, words(m.weights), record, strict=True):
            row += [ball(share) * p for p in part[x]]
        rows.append(row)
    return rows


def subsample_rows(m):
    rate = Fraction(max(round(Fraction(m.rate) * UNIT), 1), UNIT)
    return [[*(ball(rate) * p for p in row), 1 - ball(rate)] for row in rows_of(m.randomizer)]


def hierarchy_rows(m):
    widths = [1]
    while widths[-1] * m.branching < m.domain:
        widths.append(widths[-1] * m.branching)
    make = {
        "k-rr": lambda size: definitions.k_rr(size, m.eps0),
        "rappor": lambda size: definitions.rappor(size, m.eps0),
        "oue": lambda size: definitions.oue(size, m.eps0),
        "blh": lambda size: definitions.local_hash(size, 2, m.eps0),
        "olh": lambda size: definitions.local_hash(size, round(math.exp(m.eps0)) + 1, m.eps0),
    }[m.base]
    levels = [make(-(-m.domain // width)) for width in widths]
    shares = words([1.0] * len(widths))
    return [
        [
            ball(share) * p
            for level, width, share in zip(levels, widths, shares, strict=True)
            for p in level[x // width]
        ]
        for x in range(m.domain)
    ]


def wheel_rows(m):
    """Single items: by which of the independent arcs the point is on."""
    p, grow = ball(Fraction(m.arc, (1 << 31) - 1)), arb(m.eps0).exp()
    patterns = list(itertools.product((0, 1), repeat=m.domain))
    base = [math.prod((p if bit else 1 - p for bit in y), start=arb(1)) for y in patterns]
    total = p * grow + 1 - p
    return [
        [mass * (grow if y[x] else 1) / total for mass, y in zip(base, patterns, strict=True)]
        for x in range(m.domain)
    ]


MAKERS = {
    "k-rr": lambda m: definitions.k_rr(m.k, m.eps0),
    "binary-rr": lambda m: definitions.k_rr(2, m.eps0),
    "rappor": lambda m: definitions.rappor(m.d, m.eps0),
    "oue": lambda m: definitions.oue(m.d, m.eps0),
    "local-hash": lambda m: definitions.local_hash(m.domain, m.l, m.eps0),
    "blh": lambda m: definitions.local_hash(m.domain, 2, m.eps0),
    "olh": lambda m: definitions.local_hash(m.domain, round(math.exp(m.eps0)) + 1, m.eps0),
    "hadamard-response": hadamard_rows,
    "subset": subset_rows,
    "channel": lambda m: [[ball(v) / sum(map(ball, row)) for v in row] for row in m.matrix],
    "pi-rappor": lambda m: definitions.affine(m.domain, m.q, m.eps0),
    "projective-geometry": lambda m: definitions.projective(m.domain, m.q, m.eps0),
    "wheel": wheel_rows,
    "sampling-rappor": sampling_rows,
    "pckv-grr": pckv_rows,
    "duchi": duchi_rows,
    "piecewise": piecewise_rows,
    "hybrid": hybrid_rows,
    "privunit": privunit_rows,
    "staircase": staircase_rows,
    "discrete-laplace": geometric_rows,
    "discrete-gaussian": gaussian_rows,
    "laplace": laplace_rows,
    "metric-laplace": metric_rows,
    "clamped-laplace": laplace_rows,
    "truncated-laplace": laplace_rows,
    "joint": joint_rows,
    "parallel": parallel_rows,
    "poisson-subsample": subsample_rows,
    "hierarchy": hierarchy_rows,
}


def rows_of(mechanism):
    """The channel: one row for each input, in balls; equal ratios added up."""
    return merged(MAKERS[mechanism.name](mechanism))


def merged(rows):
    """Outputs on which all inputs' probabilities stand in the same ratios are one output."""
    classes = {}
    for column in zip(*rows, strict=True):
        total = sum(column, start=arb(0))
        if not total > 0:
            continue
        key = tuple((p / total).mid().str(40, radius=False) for p in column)
        old = classes.get(key)
        classes[key] = column if old is None else [a + b for a, b in zip(old, column, strict=True)]
    return [list(row) for row in zip(*classes.values(), strict=True)]
