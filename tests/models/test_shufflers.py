"""Shuffler: both ends against exactly the printed relation and shuffler, by enumeration."""

import itertools
import math
from fractions import Fraction

import pytest

import shuffledp as sd
from adversary.neighbours import powers
from models import exact
from shuffledp.neighbours import OR_ABSENT, together

pytestmark = pytest.mark.usefixtures("rough_proposals")
EPSILONS = (0.0, 0.15, 0.6)


def made(rows):
    return sd.Channel(matrix=exact.floats(rows))


def assert_between(bound, worst, epsilon):
    """The ends hold the truth at e^eps, which is between two fractions."""
    low, high = powers(epsilon)
    assert Fraction(bound.upper) >= worst(high)
    assert Fraction(bound.lower) <= worst(low)


def largest(pairs, value):
    return lambda alpha: max(value(a, b, alpha) for a, b in pairs)


def seeds(few, many):
    """The first few in every run, all of them in long ones."""
    return [pytest.param(s, marks=[pytest.mark.long] * (s >= few)) for s in range(many)]


# ------------------------------------------------------------------- an order that is not uniform


@pytest.mark.parametrize("seed", seeds(3, 20))
def test_orders_near_uniform(seed):
    rng = exact.rng_of(seed)
    inputs, outputs, n = rng.choice([(2, 2, 4), (3, 2, 3), (2, 3, 3), (3, 3, 2)])
    rows, distance = exact.channel(rng, inputs, outputs), rng.choice([2**-7, 0.1, 0.3, 0.5, 0.9])
    acc = sd.shuffle(made(rows), n, shuffler=sd.Shuffler(distance=distance))
    pairs = list(exact.replaced(inputs, n))
    gamma = Fraction(distance)
    worst = largest(pairs, lambda a, b, alpha: exact.most_within(rows, a, b, alpha, gamma))
    for epsilon in EPSILONS:
        assert_between(acc.delta(epsilon=epsilon), worst, epsilon)
    bound = acc.epsilon(delta=0.05)
    assert worst(powers(bound.upper)[1]) <= Fraction(0.05)
    assert bound.lower == 0.0 or worst(powers(bound.lower)[0]) >= Fraction(0.05)


@pytest.mark.parametrize("seed", range(8))
def test_any_table_of_permutations_near_uniform(seed):
    """Shufflers drawn at random, whose order depends on the messages: no theorem is used."""
    rng = exact.rng_of(100 + seed)
    n, rows = 3, exact.channel(rng, 2, 2)
    gamma = Fraction(rng.choice([0.0625, 0.25, 0.4375]))
    acc = sd.shuffle(made(rows), n, shuffler=sd.Shuffler(distance=float(gamma)))
    orders = list(itertools.permutations(range(n)))
    for epsilon in (0.0, 0.3):
        upper, high = Fraction(acc.delta(epsilon=epsilon).upper), powers(epsilon)[1]
        for data, other in exact.replaced(2, n):
            laws = [exact.vectors(rows, d) for d in (data, other)]
            for _ in range(6):
                table = exact.random_table(rng, {*laws[0], *laws[1]}, orders, gamma)
                views = [exact.shuffled_by(law, table, orders) for law in laws]
                assert exact.hockey(*views, high) <= upper


def worst_table(rows, data, other, alpha, gamma, orders):
    """The shuffler of Theorem 1.1's proof, one half of all orders favoured, as a table."""
    first, second = (exact.vectors(rows, d) for d in (data, other))
    table = {}
    for y in {*first, *second}:
        gain = first.get(y, 0) - alpha * second.get(y, 0)
        seen = sorted({tuple(y[i] for i in order) for order in orders})
        chosen = set(seen[: len(seen) // 2])
        inside = [tuple(y[i] for i in order) in chosen for order in orders]
        u = Fraction(sum(inside), len(orders))
        if u in (0, 1):
            table[y] = [Fraction(1, len(orders))] * len(orders)
            continue
        aim = min(Fraction(1), u + gamma) if gain > 0 else max(Fraction(0), u - gamma)
        table[y] = [
            aim / sum(inside) if one else (1 - aim) / (len(orders) - sum(inside)) for one in inside
        ]
    return table


def test_the_constant_cannot_be_less():
    """A shuffler within the distance comes near to the bound where the uniform one gives little."""
    n, gamma, epsilon = 6, Fraction(1, 8), 0.0
    rows = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    orders = list(itertools.permutations(range(n)))
    data, other = (0, 0, 0, 1, 1, 1), (1, 0, 0, 1, 1, 1)
    table = worst_table(rows, data, other, Fraction(1), gamma, orders)
    uniform = Fraction(1, len(orders))
    assert all(sum(abs(p - uniform) for p in row) <= 2 * gamma for row in table.values())
    laws = [exact.vectors(rows, d) for d in (data, other)]
    views = [exact.shuffled_by(law, table, orders) for law in laws]
    found = float(exact.hockey(*views, Fraction(1)))
    acc = sd.shuffle(made(rows), n, shuffler=sd.Shuffler(distance=float(gamma)))
    assert 2.0 * float(gamma) * 0.5 * 0.9 <= found <= acc.delta(epsilon=epsilon).upper


# --------------------------------------------------------------- shards, dummies, absent users


@pytest.mark.parametrize("seed", seeds(4, 16))
def test_public_shards(seed):
    rng = exact.rng_of(200 + seed)
    inputs, n, count = rng.choice([(2, 5, 2), (3, 4, 2), (2, 6, 3)])
    rows = exact.channel(rng, inputs, 2)
    acc = sd.shuffle(made(rows), n, shuffler=sd.Shuffler(shards=count))
    sizes = [n // count + (i < n % count) for i in range(count)]
    datasets = list(itertools.product(range(inputs), repeat=n))
    pairs = [
        (d, (*d[:i], x, *d[i + 1 :]))
        for d in datasets
        for i in range(n)
        for x in range(inputs)
        if x != d[i]
    ]
    seen = {
        d: exact.viewed(exact.vectors(rows, d), lambda y: exact.shards(y, sizes)) for d in datasets
    }
    for epsilon in EPSILONS[:2]:
        worst = largest(pairs, lambda a, b, alpha: exact.hockey(seen[a], seen[b], alpha))
        assert_between(acc.delta(epsilon=epsilon), worst, epsilon)


def test_secret_shards():
    rng = exact.rng_of(7)
    rows = exact.channel(rng, 2, 2)
    acc = sd.shuffle(made(rows), 4, shuffler=sd.Shuffler(shards=2, assignment="secret"))
    assert acc.hidden == 4
    view = lambda d: exact.secretly(exact.vectors(rows, d), (2, 2))  # noqa: E731
    pairs = list(exact.replaced(2, 4))
    worst = largest(pairs, lambda a, b, alpha: exact.hockey(view(a), view(b), alpha))
    for epsilon in EPSILONS[:2]:
        assert_between(acc.delta(epsilon=epsilon), worst, epsilon)
    public = sd.shuffle(made(rows), 4, shuffler=sd.Shuffler(shards=2))
    assert public.delta(epsilon=0.1).upper > acc.delta(epsilon=0.1).upper


@pytest.mark.parametrize("seed", seeds(3, 16))
def test_dummies_of_any_inputs(seed):
    rng = exact.rng_of(300 + seed)
    inputs, n, dummies = rng.choice([(2, 2, 3), (3, 2, 2), (2, 3, 2)])
    rows = exact.channel(rng, inputs, 3 if inputs == 2 else 2)
    acc = sd.shuffle(made(rows), n, shuffler=sd.Shuffler(dummies=dummies))
    chosen = list(itertools.combinations_with_replacement(range(inputs), dummies))
    pairs = [((*a, *c), (*b, *c)) for a, b in exact.replaced(inputs, n) for c in chosen]
    worst = largest(pairs, lambda a, b, alpha: exact.perfect(rows, a, b, alpha))
    for epsilon in EPSILONS:
        assert_between(acc.delta(epsilon=epsilon), worst, epsilon)


@pytest.mark.parametrize("seed", seeds(3, 16))
def test_absent_users_are_filled_in(seed):
    """Replaced by another value, or absent: then a mixture of the rows stands in its place."""
    rng = exact.rng_of(400 + seed)
    inputs, n = rng.choice([(2, 4), (3, 3)])
    rows = exact.channel(rng, inputs, 2 if inputs == 3 else 3)
    weights = [Fraction(rng.randint(0, 8)) for _ in range(inputs)]
    weights[0] += 1
    filler = [
        sum(w * row[j] for w, row in zip(weights, rows, strict=True)) / sum(weights)
        for j in range(len(rows[0]))
    ]
    laws = [*rows, filler]
    acc = sd.shuffle(made(rows), n, shuffler=sd.Shuffler(fills=True))
    assert acc.relation == OR_ABSENT
    # The filler is one more "input", which anybody may hold.
    pairs = list(exact.replaced(inputs + 1, n))
    worst = largest(pairs, lambda a, b, alpha: exact.perfect(laws, a, b, alpha))
    for epsilon in EPSILONS:
        assert_between(acc.delta(epsilon=epsilon), worst, epsilon)


# --------------------------------------------------------------------------- several users


# Seed 3 draws the fewest data sets.
@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[pytest.mark.long] * (s != 3)) for s in range(8)]
)
def test_several_users(seed):
    rng = exact.rng_of(500 + seed)
    inputs, outputs, n, k = rng.choice([(2, 2, 5, 2), (2, 2, 5, 3), (3, 2, 4, 2), (2, 3, 4, 3)])
    rows = exact.channel(rng, inputs, outputs)
    acc = sd.shuffle(made(rows), n, changed=k)
    assert acc.relation == together(k)
    pairs = list(exact.replaced(inputs, n, k))
    worst = largest(pairs, lambda a, b, alpha: exact.perfect(rows, a, b, alpha))
    for epsilon in EPSILONS:
        assert_between(acc.delta(epsilon=epsilon), worst, epsilon)
    bound = acc.epsilon(delta=0.02)
    assert worst(powers(bound.upper)[1]) <= Fraction(0.02)
    assert bound.lower == 0.0 or worst(powers(bound.lower)[0]) >= Fraction(0.02)


@pytest.mark.parametrize("seed", range(3))
def test_all_at_once(seed):
    """Two users of shards with dummies behind a shuffler that is not uniform."""
    rng = exact.rng_of(600 + seed)
    rows, gamma = exact.channel(rng, 2, 2), Fraction(1, 16)
    shuffler = sd.Shuffler(distance=float(gamma), shards=2, dummies=1)
    acc = sd.shuffle(made(rows), 4, shuffler=shuffler, changed=2)
    # Both of one shard (two users and a dummy); of different shards: the next test.
    pairs = [((*a, c), (*b, c)) for a, b in exact.replaced(2, 2, 2) for c in range(2)]
    within = lambda a, b, alpha: exact.most_within(rows, a, b, alpha, gamma)  # noqa: E731
    for epsilon in EPSILONS:
        assert_between(acc.delta(epsilon=epsilon), largest(pairs, within), epsilon)


def test_users_of_different_shards():
    """Two users changed, one of each shard, whose orders are both as far from uniform as can be."""
    rng, gamma = exact.rng_of(9), Fraction(1, 8)
    rows = exact.channel(rng, 2, 2)
    acc = sd.shuffle(
        made(rows), 4, shuffler=sd.Shuffler(distance=float(gamma), shards=2), changed=2
    )
    assert acc.shuffler.farthest >= 0.25
    orders = list(itertools.permutations(range(2)))
    for epsilon in EPSILONS:
        upper, high = Fraction(acc.delta(epsilon=epsilon).upper), powers(epsilon)[1]
        for a, b in itertools.product(exact.replaced(2, 2), repeat=2):
            views = []
            tables = [worst_table(rows, *pair, high, gamma, orders) for pair in (a, b)]
            for side in range(2):
                shards = [
                    exact.shuffled_by(exact.vectors(rows, pair[side]), table, orders)
                    for pair, table in zip((a, b), tables, strict=True)
                ]
                views.append(
                    {(s, t): p * q for s, p in shards[0].items() for t, q in shards[1].items()}
                )
            assert exact.hockey(*views, high) <= upper


# -------------------------------------------------------------------- words, values, bad input


def test_orders_of_other_shards_may_tell_of_a_message():
    """Each of the other shards sorts with probability gamma where the victim's report is a 1."""
    gamma, shards, e0 = 1e-3, 200, 2.0
    shuffler = sd.Shuffler(distance=gamma, shards=shards)
    bound = sd.shuffle(sd.KRR(k=2, eps0=e0), 400_000, shuffler=shuffler).delta(epsilon=1.0)
    p = math.exp(e0) / (math.exp(e0) + 1.0)
    seen = 1.0 - (1.0 - gamma) ** (shards - 1)
    assert bound.upper >= seen * (p - math.e * (1.0 - p))
    words = " ".join(bound.assumptions)
    assert "given all messages and the other shards' orders" in words
    assert "depends on no more of the data" in words


@pytest.mark.long
def test_a_round_more_does_not_lose_less():
    """The lower end of several users was that of one round alone: two rounds had one user's."""
    one = sd.shuffle(sd.KRR(k=3, eps0=2.0), 60, changed=3)
    more = one.compose(rounds=2)
    found, before = more.epsilon(delta=1e-3), one.epsilon(delta=1e-3)
    assert before.lower * (1.0 - 1e-5) <= found.lower <= found.upper
    assert found.lower_theorem.key == "several-dataset"
    assert more.delta(epsilon=1.8).lower >= one.delta(epsilon=1.8).lower
