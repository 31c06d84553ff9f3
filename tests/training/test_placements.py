"""Theorems of docs/theory-batches.md in exact fractions, with discrete laws for the noise."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

GRID = [Fraction(g, 8) for g in (1, 4, 7, 8, 9, 12, 20, 40)]


def law(rng, size):
    """A random law of multiples of 1/32, zeros too."""
    cuts = np.sort(rng.integers(0, 33, size=size - 1))
    return [Fraction(int(x), 32) for x in np.diff([0, *cuts, 32])]


def hockey(p, q, a):
    """Sum of (p - a q)_+ over the outcomes of two laws given as dicts."""
    keys = set(p) | set(q)
    return sum((max(p.get(k, 0) - a * q.get(k, 0), Fraction(0)) for k in keys), Fraction(0))


def placed(rows, steps, chosen):
    """Law of all steps' outputs where those chosen have rows[1], mixed over ``chosen`` evenly."""
    found = {}
    sets = list(chosen)
    for z in itertools.product(range(len(rows[0])), repeat=steps):
        weight = Fraction(0)
        for s in sets:
            weight += math.prod((rows[i in s][x] for i, x in enumerate(z)), start=Fraction(1))
        found[z] = weight / len(sets)
    return found


def blocks(rows, sizes):
    """The product over blocks of one ball in each block."""
    found = {(): Fraction(1)}
    for size in sizes:
        one = placed(rows, size, [{t} for t in range(size)])
        found = {(*z, *w): p * v for z, p in found.items() for w, v in one.items()}
    return found


@pytest.mark.many(8)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("steps", "balls"), [(2, 2), (3, 2), (4, 2), (5, 2), (5, 3), (4, 3)])
def test_several_balls_are_no_worse_than_blocks_of_one(seed, steps, balls):
    rng = np.random.default_rng(seed)
    rows = law(rng, 2), law(rng, 2)
    sets = [set(s) for s in itertools.combinations(range(steps), balls)]
    p, q = placed(rows, steps, sets), placed(rows, steps, [set()])
    size = steps // balls
    bound = blocks(rows, [size] * balls), placed(rows, size * balls, [set()])
    for a in GRID:
        assert hockey(p, q, a) <= hockey(*bound, a)
        assert hockey(q, p, a) <= hockey(bound[1], bound[0], a)


def transcripts(noise, gradients, orders, sizes):
    """Law of the noisy batch sums over the orders; ``gradients(i, s, seen)`` of each example."""
    found = {}
    for order in orders:
        batches = np.split(np.array(order), np.cumsum(sizes)[:-1])
        reached = {(): Fraction(1, len(orders))}
        for s, batch in enumerate(batches):
            after = {}
            for seen, p in reached.items():
                total = sum(gradients(int(i), s, seen) for i in batch)
                for w, v in noise.items():
                    key = (*seen, total + w)
                    after[key] = after.get(key, 0) + p * v
            reached = after
        for key, p in reached.items():
            found[key] = found.get(key, 0) + p
    return found


@pytest.mark.many(12)
@pytest.mark.parametrize("seed", range(40))
def test_shuffled_batches_show_no_more_than_one_batch(seed):
    """Theorem 4.1, first part: adaptive gradients in {-1, 0, 1}, every order of the examples."""
    rng = np.random.default_rng(seed)
    sizes = [(1, 1, 1), (2, 1), (2, 2), (1, 2)][seed % 4]
    n = sum(sizes)
    noise = dict(zip((-1, 0, 1), law(rng, 3), strict=True))
    orders = list(itertools.permutations(range(n)))
    table = rng.integers(-1, 2, size=(n, len(sizes), 7))

    def gradients(i, s, seen):
        return int(table[i, s, sum(seen) % 7])

    def zeroed(i, s, seen):
        return 0 if i == 0 else gradients(i, s, seen)

    p, q = (transcripts(noise, g, orders, sizes) for g in (gradients, zeroed))
    shifted = [{w + move: v for w, v in noise.items()} for move in (-1, 1)]
    for a in GRID:
        # Noise that is not normal may tell one direction better than the other.
        assert hockey(p, q, a) <= max(hockey(x, noise, a) for x in shifted) + max(1 - a, 0)
        assert hockey(q, p, a) <= max(hockey(noise, x, a) for x in shifted) + max(1 - a, 0)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 1, 1), (2, 2)])
def test_the_datasets_of_the_lower_end(sizes):
    """Proposition 4.2: these datasets' laws are the pair, to the last fraction."""
    noise = {-1: Fraction(1, 5), 0: Fraction(1, 2), 1: Fraction(3, 10)}
    n, steps, b = sum(sizes), len(sizes), sizes[0]
    orders = list(itertools.permutations(range(n)))
    for own in (1, 0):
        found = transcripts(noise, lambda i, s, seen, g=own: g if i == 0 else -1, orders, sizes)
        wanted = {}
        for t in range(steps):
            for ws in itertools.product(noise.items(), repeat=steps):
                key = tuple(w - b + (own + 1) * (s == t) for s, (w, _) in enumerate(ws))
                weight = math.prod((v for _, v in ws), start=Fraction(1, steps))
                wanted[key] = wanted.get(key, 0) + weight
        assert found == wanted


@pytest.mark.parametrize("seed", range(10))
def test_independent_placements_are_dominated_by_one_number_a_step(seed):
    """Lemma 1.1 with a channel in place of noise: what is seen is made of it, adaptively."""
    rng = np.random.default_rng(seed)
    rows = law(rng, 2), law(rng, 2)
    steps = 3
    # Which channel is applied to a step's number depends on what was seen, not on the placement.
    channels = {
        seen: [law(rng, 2), law(rng, 2)]
        for k in range(steps)
        for seen in itertools.product(range(2), repeat=k)
    }

    def seen_law(inner):
        found = {}
        for z, p in inner.items():
            for y in itertools.product(range(2), repeat=steps):
                weight = p
                for s in range(steps):
                    weight *= channels[y[:s]][z[s]][y[s]]
                found[y] = found.get(y, 0) + weight
        return found

    inner = placed(rows, steps, [{t} for t in range(steps)]), placed(rows, steps, [set()])
    outer = tuple(map(seen_law, inner))
    for a in GRID:
        assert hockey(*outer, a) <= hockey(*inner, a)
        assert hockey(*outer[::-1], a) <= hockey(*inner[::-1], a)
