"""What every mechanism has to pass, given its full output distributions in rationals or balls."""

import math
from fractions import Fraction

import shuffledp as sd
from enumerated import ball, exponential, worst_delta

NEAR = 1e-7
SLACK = Fraction(1, 10**25)  # full distributions hold e^eps0 to 1e-36, on the wrong side perhaps


def rational_exponential(x):
    """e^x to 36 places, as a fraction: definitions take it as they take a ball."""
    low, high = exponential(x)
    return (low + high) / 2


def columns(rows, inputs):
    """(blanket, probabilities under the inputs) of each output; the blanket over ALL rows."""
    for column in zip(*rows, strict=True):
        if not max(column) > 0:
            continue
        floor = column[0]
        for p in column[1:]:
            floor = min(floor, p)
        yield floor, [column[x] for x in inputs]


def merged(truth):
    """Outputs with equal likelihood ratios, added up."""
    found = {}
    for floor, masses in truth:
        if not max(masses) > 0:
            continue
        key = tuple(round(float((ball(p) / ball(floor)).log()), 9) for p in masses)
        old = found.get(key, [ball(0)] * (1 + len(masses)))
        found[key] = [a + ball(b) for a, b in zip(old, [floor, *masses], strict=True)]
    return found


def assert_law(law, truth):
    """Every class within the relative error promised, none missing and none made up."""
    exact = merged(truth)
    given = merged(
        (float(floor), [float(p) for p in mass])
        for mass, floor in zip(law.mass.T, law.blanket, strict=True)
    )
    for key, values in exact.items():
        near = [k for k in given if max(abs(x - y) for x, y in zip(k, key, strict=True)) < NEAR]
        assert len(near) == 1, (key, sorted(given))
        for value, wanted in zip(given[near[0]], values, strict=True):
            assert abs(value - wanted) <= ball(law.rel + 2.0**-50) * wanted, (key, law.rel)
    assert len(given) == len(exact)


def assert_bracket(randomizer, rows, counts, epsilons, *, tight=None):
    """lower <= exact <= upper against every pair of datasets over the rows given (Fractions)."""
    for n in counts:
        account = sd.shuffle(randomizer, n=n)
        for epsilon in epsilons:
            low, high = exponential(epsilon)
            least, most = worst_delta(rows, n, [high, low])
            bound = account.delta(epsilon=epsilon)
            assert Fraction(bound.lower) <= most * (1 + SLACK) + SLACK
            assert Fraction(bound.upper) >= least * (1 - SLACK) - SLACK
            if tight is not None:
                assert bound.upper <= tight * bound.lower


def assert_private(rows, eps0, *, attained=True):
    """All ratios at most e^eps0, and that much is reached."""
    used = [column for column in zip(*rows, strict=True) if max(column) > 0]
    worst = max(max(column) / min(column) for column in used)
    if attained:
        assert math.isclose(math.log(float(worst)), eps0, rel_tol=1e-12, abs_tol=1e-12)
    assert float(worst) <= math.exp(eps0) * (1 + 1e-12)
