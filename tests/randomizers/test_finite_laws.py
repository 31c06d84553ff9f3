"""Laws of the finite mechanisms against full output distributions written from the definition."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import shuffledp as sd
from enumerated import ball
from laws import Law, blanket_pair, dataset_pair, law_of
from randomizers.checks import assert_law
from randomizers.finite import small
from shuffledp.mechanism.base import mechanism_class

NEAR = 1e-7  # log ratios this close are the same class: classes differ by eps0/2 at least
EPS0 = [1e-4, 0.05, 1.0, 3.3, 12.0, 30.0, 33.3, 77.7, 299.9, 300.0]


def mechanisms(eps0):
    for name, arguments, definition in small(eps0):
        yield mechanism_class(name)(**arguments), definition(**arguments)


def classes(rows, inputs):
    """Outputs merged by their likelihood ratios: sorted (blanket mass, masses under the inputs)."""
    merged = {}
    for column in zip(*rows, strict=True):
        floor = column[0]
        for p in column[1:]:
            floor = min(floor, p)
        key = tuple(round(float((column[x] / floor).log()), 9) for x in inputs)
        old = merged.get(key, [arb(0)] * (1 + len(inputs)))
        new = [floor, *(column[x] for x in inputs)]
        merged[key] = [a + b for a, b in zip(old, new, strict=True)]
    return merged


def assert_relative(value, truth, rel):
    """|value - truth| <= rel truth, decided in balls."""
    assert abs(ball(float(value)) - truth) <= ball(rel) * truth, (value, float(truth), rel)


CASES = [
    pytest.param(randomizer, rows, id=f"{randomizer.name}-{randomizer.parameters()}")
    for eps0 in EPS0
    for randomizer, rows in mechanisms(eps0)
]


@pytest.mark.many(250)
@pytest.mark.parametrize(("randomizer", "rows"), CASES)
def test_law_is_the_definition(randomizer, rows):
    """Masses and exact blankets of every class, each within the relative error promised."""
    domain = range(len(rows))
    choices = [(0, 1), (1, 0), (0, 1, 0), (0, 1, 1), *itertools.permutations(domain, 3)][:8]
    for inputs in choices:
        law = law_of(randomizer, inputs)
        truth = classes(rows, inputs)
        found = {}
        for mass, floor in zip(law.mass.T, law.blanket, strict=True):
            if max(mass) == 0.0:
                continue
            # Below 2^-1022 no float has a small relative error: such a blanket has to be 0.
            assert floor == 0.0 or floor >= 2.0**-1022
            if floor == 0.0:
                continue
            key = tuple(round(math.log(p / floor), 9) for p in mass)
            old = found.get(key, np.zeros(1 + len(inputs)))
            found[key] = old + np.array([floor, *mass])
        small = arb(10) ** -280
        for key, values in truth.items():
            # Keys are rounded logs: look for a neighbour within rounding.
            match = [
                k for k in found if max(abs(x - y) for x, y in zip(k, key, strict=True)) < NEAR
            ]
            if not match:
                assert values[0] < small  # seen for sure, as far as floats go
                continue
            total = sum(found[k] for k in match)
            for value, exact in zip(total, values, strict=True):
                # Adding up classes with equal ratios costs a rounding each.
                assert_relative(value, exact, law.rel + len(match) * 2.0**-53)
        assert len(found) <= len(truth) + len(law.blanket)


@pytest.mark.many(250)
@pytest.mark.parametrize(("randomizer", "rows"), CASES)
def test_every_entry_of_every_pair_is_within_rel(randomizer, rows):
    """w, a, b of the pairs the kernel gets, the left-over, mass one, E[G] = 1 - e^eps."""
    for pair, reference in (
        (blanket_pair(randomizer, 0, 1, n=5), None),
        (dataset_pair(randomizer, 0, 1, 0, n=5), 0),
        (dataset_pair(randomizer, 0, 1, len(rows) - 1, n=5), len(rows) - 1),
    ):
        inputs = (0, 1) if reference is None else (0, 1, reference)
        truth = classes(rows, inputs)
        gamma = sum((v[0] for v in truth.values()), start=arb(0))
        weight = {k: (v[0] if reference is None else v[3]) for k, v in truth.items()}
        for w, a, b in zip(pair.w, pair.a, pair.b, strict=True):

            def near(k, v, a=a, b=b, weight=weight):
                base = weight[k]
                return (
                    max(
                        abs(float((v[1] / base).log()) - math.log(a)),
                        abs(float((v[2] / base).log()) - math.log(b)),
                    )
                    < NEAR
                )

            matches = [k for k, v in truth.items() if near(k, v)]
            assert matches
            v = truth[matches[0]]
            assert_relative(a, v[1] / weight[matches[0]], pair.rel)
            assert_relative(b, v[2] / weight[matches[0]], pair.rel)
            same = [
                x
                for x, y, z in zip(pair.w, pair.a, pair.b, strict=True)
                if abs(math.log(y / a)) < NEAR and abs(math.log(z / b)) < NEAR
            ]
            whole = sum((weight[k] for k in matches), start=arb(0))
            if len(same) == 1:
                assert_relative(w, whole, pair.rel)
        left, err = pair.leftover_mass()
        true_left = 1 - gamma if reference is None else arb(0)
        # What is zero without error comes as a ball around zero: its radius is 1e-80.
        assert abs(ball(left) - true_left) <= ball(err) + arb(2) ** -250
        p, q = pair.outside.sum(axis=0) if pair.outside.size else (0.0, 0.0)
        assert abs(math.fsum(pair.w * pair.a) + p + pair.tail[0] - 1.0) <= 4 * pair.rel + 1e-15
        assert abs(math.fsum(pair.w * pair.b) + q + pair.tail[1] - 1.0) <= 4 * pair.rel + 1e-15
        assert abs(math.fsum(pair.w) + left - 1.0) <= 4 * pair.rel + 1e-15
        for epsilon in (0.0, 0.1, 1.0):
            g = pair.a - math.exp(epsilon) * pair.b
            mean = math.fsum(pair.w * g) + p - math.exp(epsilon) * q
            size = math.fsum(pair.w * (pair.a + math.exp(epsilon) * pair.b))
            assert abs(mean + math.expm1(epsilon)) <= 4 * (pair.rel + 1e-15) * size


@pytest.mark.parametrize("eps0", [0.05, 1.0, 3.3])
def test_declared_worst_pairs_dominate_every_ordered_pair(eps0):
    """Brute force over all ordered pairs, in exact rational arithmetic of a nearby channel."""
    for randomizer, rows in mechanisms(eps0):
        if len(rows[0]) > 20:
            continue
        law = [[Fraction(float(p)) for p in row] for row in rows]
        law = [[p / sum(row) for p in row] for row in law]
        declared = [(x0, x1) for x0, x1 in randomizer.worst_pairs().pairs]
        for n, alpha in ((1, Fraction(11, 10)), (2, Fraction(21, 20)), (3, Fraction(3, 2))):
            # By ratio classes: symmetric mechanisms have few.
            value = {
                pair: _blanket(law, *pair, n, alpha)
                for pair in itertools.permutations(range(len(rows)), 2)
            }
            worst = max(value[pair] for pair in declared)
            for other in value.values():
                assert float(other) <= float(worst) * (1 + 1e-12)


def _blanket(rows, x0, x1, n, alpha):
    from enumerated import positive_part

    merged = {}
    for column in zip(*rows, strict=True):
        floor = min(column)
        gain = round((column[x0] - alpha * column[x1]) / floor * 10**18)
        merged[gain] = merged.get(gain, 0) + floor
    atoms = [(Fraction(round(w * 2**60), 2**60), Fraction(g, 10**18)) for g, w in merged.items()]
    return positive_part(atoms, n) / n


@pytest.mark.parametrize("seed", range(40))
def test_channel_law(seed):
    """Rows divided by their exact sums, the blanket the minimum over ALL rows."""
    rng = np.random.default_rng(seed)
    rows = rng.random((rng.integers(2, 6), rng.integers(2, 7))) * (rng.random() < 2)
    rows[rng.random(rows.shape) < 0.2] = 0.0
    rows[:, 0] += 0.1
    rows /= rows.sum(axis=1, keepdims=True)
    rows *= 1.0 + 1e-10 * rng.uniform(-1, 1, (len(rows), 1))
    channel = sd.Channel(matrix=rows.tolist())
    exact = [[Fraction(p) / sum(map(Fraction, row)) for p in row] for row in rows.tolist()]
    law = law_of(channel, (0, 1))
    used = [(min(c), c[:2]) for c in zip(*exact, strict=True) if max(c[0], c[1])]
    kept = [one for one in used if one[0]]
    assert_law(Law(*(x[..., law.blanket > 0.0] for x in (law.mass, law.blanket)), law.rel), kept)
    for row in (0, 1):
        lost = sum(c[row] for floor, c in used if not floor)
        found = math.fsum(law.mass[row][law.blanket == 0.0])
        assert abs(Fraction(found) - lost) <= Fraction(law.rel) * lost
    positive = [c for c in zip(*exact, strict=True) if max(c)]
    if all(min(c) for c in positive):
        ratio = max(max(c) / min(c) for c in positive)
        assert arb(channel.eps0).exp() >= ball(ratio)
        assert channel.eps0 <= math.log(ratio) + 1e-13
    else:
        assert channel.eps0 == math.inf
    declared = set(channel.worst_pairs().pairs)
    for x0, x1 in itertools.permutations(range(len(exact)), 2):
        assert (x0, x1) in declared or exact[x0] == exact[x1]


def test_finite_eps0_is_the_exact_supremum_of_log_ratios():
    for eps0 in (0.05, 1.0, 12.0):
        for randomizer, rows in mechanisms(eps0):
            worst = arb(0)
            for column in zip(*rows, strict=True):
                for p, q in itertools.permutations(column, 2):
                    ratio = (p / q).log()
                    assert ratio <= arb(randomizer.eps0) + arb(2) ** -200
                    worst = max(worst, ratio)
            assert float(worst) == pytest.approx(randomizer.eps0, rel=1e-12)
