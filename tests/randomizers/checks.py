"""What every mechanism has to pass, given its full output distributions in rationals or balls."""

import math

from enumerated import ball, exponential

NEAR = 1e-7


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


def assert_private(rows, eps0, *, attained=True):
    """All ratios at most e^eps0, and that much is reached."""
    used = [column for column in zip(*rows, strict=True) if max(column) > 0]
    worst = max(max(column) / min(column) for column in used)
    if attained:
        assert math.isclose(math.log(float(worst)), eps0, rel_tol=1e-12, abs_tol=1e-12)
    assert float(worst) <= math.exp(eps0) * (1 + 1e-12)
