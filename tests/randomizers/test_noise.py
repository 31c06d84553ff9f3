"""The one sampler of noise: every cell has exactly its probability, word by word."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import shuffledp as sd
from enumerated import ball
from randomizers.sources import Script
from shuffledp.randomizers.bounded import _TruncatedCells
from shuffledp.randomizers.laplace_ball import _BallCells
from shuffledp.randomizers.noise import DIGITS, NoiseCells, draw
from shuffledp.randomness import SeededSource, Uniform

# Steps from low to high where every word is tried, and as many as the sampler has.
COARSE, FINE = 3, 33
SHORT = 10


@pytest.fixture(autouse=True)
def _precision():
    with ctx.workprec(400):
        yield


class Ended(Script):
    """The words given, and then ones: the number is hardly above what the first ones say."""

    def words(self, size):
        self.left += [1] * max(0, size - len(self.left))
        return super().words(size)


# ------------------------------------------------------- probabilities, from the definitions


def laplace(eps0, z):
    return (-ball(eps0) * z).exp() / 2


def gaussian(sigma, z):
    return (z / ball(sigma) / arb(2).sqrt()).erfc() / 2


def power(shape, scale, z):
    if z == 0:
        return arb(1) / 2
    return ((z / ball(scale)) ** ball(shape)).gamma_upper(1 / ball(shape), regularized=1) / 2


def staircase(eps0, g, z):
    """Lengths of the two parts of the step that z is on, and all steps beyond it."""
    z, g, b = Fraction(z), Fraction(g), (-ball(eps0)).exp()
    step = math.floor(z)
    rest = z - step
    high, low = (g - rest, 1 - g) if rest < g else (Fraction(0), 1 - rest)
    whole = ball(g) + b * ball(1 - g)
    top = (1 - b) / (2 * whole)
    return top * b**step * (ball(high) + b * ball(low) + b / (1 - b) * whole)


@dataclass
class Case:
    """A law, P(noise > z) for z > 0 in units of high - low, and cells of 2^-bits."""

    mechanism: object
    tail: object

    def law(self, bits):
        return NoiseCells(self.mechanism, bits)

    def at_least(self, j, bits, own=0):
        del own
        z = Fraction(abs(j), 1 << bits)
        small = self.tail(z if isinstance(self.mechanism, sd.Staircase) else ball(z))
        return small if j >= 0 else 1 - small


class Truncated(Case):
    """Of values in all cells: the report's law is cut and divided by what is left."""

    def law(self, bits, own=0):
        return _TruncatedCells(self.mechanism, bits, np.full(1, float(own)))

    def at_least(self, j, bits, own=0):
        margin = Fraction(self.mechanism.margin)
        ends = [-margin, 1 + margin]
        x, y = Fraction(own, 1 << bits), Fraction(own + j, 1 << bits)

        def above(y):
            small = self.tail(ball(abs(y - x)))
            return small if y >= x else 1 - small

        y = min(max(y, ends[0]), ends[1])
        return (above(y) - above(ends[1])) / (above(ends[0]) - above(ends[1]))


class Integers(Case):
    """Noise on the integers: the law is one of its own."""

    def law(self, bits):
        del bits
        return self.mechanism.cells_of_noise

    def at_least(self, j, bits, own=0):
        del bits, own
        return self.tail(j) if j > 0 else 1 - self.tail(1 - j)


def geometric(rate, k):
    a = (-rate).exp()
    return a**k / (1 + a)


def integer_gaussian(sigma, k):
    def weight(j):
        return (-(arb(j) ** 2) / (2 * ball(sigma) ** 2)).exp()

    far = math.ceil(40 * sigma) + 2
    every = sum((weight(j) for j in range(-far, far + 1)), arb(0))
    return sum((weight(j) for j in range(k, k + far)), arb(0)) / every


CASES = [
    *(Case(sd.Laplace(eps0=e), lambda z, e=e: laplace(e, z)) for e in (1e-3, 1.0, 8.0, 50.0)),
    *(Case(sd.Gaussian(sigma=s), lambda z, s=s: gaussian(s, z)) for s in (0.01, 1.0, 300.0)),
    *(
        Case(sd.GeneralizedGaussian(shape=b, scale=s), lambda z, b=b, s=s: power(b, s, z))
        for b, s in ((1 / 32, 1.0), (0.5, 0.3), (1.0, 1.0), (1.5, 0.1), (4.0, 0.7), (1000.0, 2.0))
    ),
    *(
        Case(sd.Staircase(eps0=e, width=g), lambda z, e=e, g=g: staircase(e, g, z))
        for e, g in ((0.01, 0.3), (1.0, 0.25), (2.0, 1e-3), (8.0, 0.01), (20.0, 0.9))
    ),
    Case(sd.MetricLaplace(scale=0.5, distance=1e-6), lambda z: laplace(2.0, z)),
    *(
        Truncated(sd.TruncatedLaplace(eps0=e, margin=m), lambda z, e=e: laplace(e, z))
        for e, m in ((1e-3, 0.1), (1.0, 0.0), (1.0, 0.5), (8.0, 3.7), (50.0, 0.01))
    ),
    *(
        Integers(sd.DiscreteLaplace(top=t, eps0=e), lambda k, e=e, t=t: geometric(ball(e) / t, k))
        for t, e in ((1, 0.7), (10, 1.0), (5, 40.0), (1000, 1e-3))
    ),
    *(
        Integers(sd.DiscreteGaussian(top=3, sigma=s), lambda k, s=s: integer_gaussian(s, k))
        for s in (0.05, 0.5, 1.3, 40.0)
    ),
]
NAMES = [repr(case.mechanism) for case in CASES]


def drawn(case, bits, words, own=0):
    """The cell of the noise that a word and those after it give, in an array."""
    found = []
    for word in words:
        law = case.law(bits, own) if isinstance(case, Truncated) else case.law(bits)
        sums = draw(law, np.full(1, float(own)), Ended([word] if isinstance(word, int) else word))
        found.append(sums[0] - 0.5 - own)
    return np.array(found)


@pytest.mark.many(16)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
@pytest.mark.parametrize("own", [0, 3, 8])
def test_every_short_word(case, own):
    """Of 2^11 words in even steps those below P(noise >= j) give cell j or more, for every j."""
    if own and not isinstance(case, Truncated):
        return
    words = [(2 * i + 1) << (63 - SHORT) for i in range(1 << SHORT)]
    cells = drawn(case, COARSE, words, own)
    assert np.all(np.diff(cells) <= 0.0)
    for j in {*cells.tolist(), cells.min() - 1.0, cells.max() + 1.0}:
        if abs(j) < 2.0**DIGITS:
            level = case.at_least(int(j), COARSE, own) * 2**SHORT
            count = int((level + arb(0.5)).floor().unique_fmpz())
            assert int((cells >= j).sum()) == count


def first_told(cell, digits):
    """The first cell of those that a report tells alike, by its binary digits."""
    size = cell if cell >= 0 else -1 - cell
    text = f"{size:b}"
    head = text[:digits]
    if cell >= 0:
        return int(head + "0" * (len(text) - len(head)), 2)
    return -1 - int(head + "1" * (len(text) - len(head)), 2)


@pytest.mark.many(12)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_words_next_to_the_edge_of_a_cell(case):
    """On the lattice that is run: the last word of a cell, the first of the next, their digits.

    Edges at many quantiles, far tails among them, where cells are finer than a word.
    """
    law = case.law(FINE)
    own = 5 if isinstance(case, Truncated) else 0
    generator = np.random.default_rng(1)
    quantiles = [*generator.random(4), *(2.0**-k for k in (1, 9, 30, 55))]
    digits = law.digits
    for u in [*quantiles, *(1.0 - q for q in quantiles)]:
        word = min(int(u * 2.0**64), 2**64 - 1)
        cell = int(drawn(case, FINE, [word], own)[0])
        edge = first_told(cell + own, digits) - own
        level = case.at_least(edge, FINE, own)
        if not level * 2**128 >= 1 or not (1 - level) * 2**128 >= 1:
            continue
        exact = int((level * 2**128).floor().unique_fmpz())
        for step in (-3, -1, 0, 1, 2, 1000):
            near = min(max(exact + step, 0), 2**128 - 1)
            found = drawn(case, FINE, [[near >> 64, near & (2**64 - 1)]], own)[0]
            # A number hardly above 128 digits is below the level if these are at most its floor.
            assert (found >= edge) == (near <= exact), (edge, step)
        for step in (-(2**12), -2, -1, 0, 1, 2, 2**12):
            near = min(max((exact >> 64) + step, 0), 2**64 - 1)
            found = drawn(case, FINE, [near], own)[0]
            assert (found >= edge) == (near <= exact >> 64), (edge, step)


@pytest.mark.many(12)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_words_at_random_are_in_their_cell(case):
    """P(noise > cell) <= u < P(noise >= cell) for whatever floats decided."""
    own = 2**32 if isinstance(case, Truncated) else 0
    words = SeededSource(3).words(60).tolist()
    law = case.law(FINE)
    for word, cell in zip(words, drawn(case, FINE, words, own), strict=True):
        u = arb(word) / arb(2) ** 64
        first = first_told(math.floor(cell) + own, law.digits)
        last = -1 - first_told(-1 - first, law.digits) if first < 0 else first
        size = max(0, (first if first >= 0 else -1 - last).bit_length() - law.digits)
        assert case.at_least(first - own, FINE, own) >= u
        assert case.at_least(first + (1 << size) - own, FINE, own) <= u + arb(2) ** -64


@pytest.mark.many(16)
@pytest.mark.parametrize("word", [0, 1, 2**64 - 1, 2**64 - 2, 2**63, 2**63 - 1])
@pytest.mark.parametrize("case", CASES[::2], ids=NAMES[::2])
def test_rarest_words(case, word):
    """Words of which floats know nothing: all that is left of the law is behind them."""
    second = 12345678901234567890
    cell = int(drawn(case, FINE, [[word, second]])[0])
    u = (arb(word) * 2**64 + second) / arb(2) ** 128
    edge = first_told(cell, case.law(FINE).digits)
    assert case.at_least(edge, FINE) >= u
    assert case.at_least(edge + max(1, abs(edge) >> 30), FINE) <= u + arb(2) ** -128


# ------------------------------------------------------------------------------ its parts


def test_numbers_ask_for_as_many_digits_as_a_level_has():
    third = arb(1) / 3
    assert Uniform(2**63, Script([])).below(lambda: arb(0.75))
    assert not Uniform(2**63, Script([])).below(lambda: arb(0.5))
    assert Uniform(2**63 - 1, Script([])).below(lambda: arb(0.5))
    digits = int((third * 2**192).floor().unique_fmpz())
    words = [digits >> 128, digits >> 64 & (2**64 - 1), digits & (2**64 - 1)]
    for last, wanted in ((words[2] - 1, True), (words[2] + 1, False)):
        source = Script([words[1], last])
        assert Uniform(words[0], source).below(lambda: arb(1) / 3) is wanted
        assert not source.left
    number = Uniform(words[0], Script([words[1], words[2], 0, 0, 0, 0]))
    with ctx.workprec(150):
        assert number.ball().overlaps(third)
        assert number.ball().rad() < arb(2) ** -140


# ------------------------------------------------------------------------------ in a ball


def ball_cells(mechanism, first, words, source=None):
    """Cells of a vector's coordinates from the word of its length and those of its directions."""
    source = Ended([*words]) if source is None else source
    law = _BallCells(mechanism, np.array([first], dtype=np.uint64), source)
    return draw(law, np.zeros(len(words)), source) - 0.5


@pytest.mark.parametrize("d", [2, 3, 16])
def test_noise_in_a_ball_by_its_words(d):
    """Coordinates are sqrt(2 t) N cells wide, both solved in balls from the words."""
    mechanism = sd.LaplaceBall(d=d, scale=0.5)
    half = ball(d + 1) / 2
    words = SeededSource(d).words(6 * (d + 1)).reshape(6, -1).tolist()
    words[1][0], words[2][0], words[3][1], words[4][1] = 5, 2**64 - 5, 2**30, 2**64 - 2**30
    per_scale = ball(mechanism.steps) * ball(mechanism.scale) / (2 * ball(mechanism.radius))
    for first, *others in words:
        u = arb(first) / arb(2) ** 64
        low, high = arb(0), arb(400)
        for _ in range(300):
            middle = ((low + high) / 2).mid()
            if middle.gamma_upper(half, regularized=1) > u:
                low = middle
            else:
                high = middle
        root = (low + high).sqrt()
        for word, cell in zip(others, ball_cells(mechanism, first, others), strict=True):
            normal = arb(2).sqrt() * (arb(word) / arb(2) ** 63).erfcinv()
            exact = int((root * normal * per_scale).floor().unique_fmpz())
            told = first_told(exact, DIGITS)
            assert first_told(math.floor(cell), DIGITS) == told


def test_a_cell_in_a_ball_is_settled_by_both_words():
    """A direction's number next to the edge of a cell: further digits decide, the length's too."""
    mechanism = sd.LaplaceBall(d=2, scale=0.5)
    first, other = 2**62 + 12345, 2**61 + 98765
    cell = ball_cells(mechanism, first, [other, 2**63])[0]
    low, high = 2**61 + 98765, 2**61 + 98765 + 2**40
    assert ball_cells(mechanism, first, [high, 2**63])[0] < cell
    while high - low > 1:
        middle = (low + high) // 2
        if ball_cells(mechanism, first, [middle, 2**63])[0] >= cell:
            low = middle
        else:
            high = middle

    class Further(Script):
        """Digits beyond the first 64, of the length and of the direction."""

        def words(self, size):
            return np.full(size, self.left[0], dtype=np.uint64)

    found = set()
    for more in (0, 2**64 - 1):
        law = _BallCells(mechanism, np.array([first], dtype=np.uint64), Further([more]))
        for word in (low, high):
            number = Uniform(word, Further([more]))
            found.add((word, more, law.reached(int(cell), 0, number)))
    assert {(low, 0, True), (high, 2**64 - 1, False)} <= found


# -------------------------------------------------------------------- what attacks looked at


@pytest.mark.parametrize(
    "randomizer",
    [
        sd.GeneralizedGaussian(shape=0.1, scale=1.0),
        sd.Staircase(eps0=1e-6),
    ],
    ids=repr,
)
def test_no_digit_of_the_value_is_sent(randomizer):
    """Beyond 2^53 steps a float holds even numbers: a sum of floats had the value's parity."""
    steps = 1 << randomizer.bits
    for value in (0.0, 1001 / steps, 1002 / steps):
        sums = randomizer.simulate(np.full(3000, value), seed=1) * steps
        far = [abs(int(s)) for s in sums if abs(s) >= 2.0**40]
        assert len(far) > 20
        for cell in far:
            # The first 36 digits and half a cell: what is left is the same for all.
            assert cell % (1 << (cell.bit_length() - DIGITS)) in (
                1 << (cell.bit_length() - DIGITS - 1),
                (1 << (cell.bit_length() - DIGITS - 1)) - 1,
            )
