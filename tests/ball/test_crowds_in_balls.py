"""Crowds in balls: upper and lower ends against every data set, from the definitions alone."""

import itertools
import math
import random

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from shuffledp.ball import crowds
from shuffledp.ball.crowds import log_delta_common, log_delta_crowd
from shuffledp.ball.groups import kinds_of, sides_of
from shuffledp.ball.steps import log_delta_steps
from shuffledp.crowds.case import Choice, CrowdCase, Others
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.stealing.positive_sum import Contour


@pytest.fixture(autouse=True)
def _many_bits():
    with ctx.workprec(160):
        yield


def rows_of(mechanism):
    """All laws, from the definitions; outputs in the order in which all groups have them."""
    name = mechanism["name"]
    if name == "channel":
        found = [
            [arb(fmpq(*float(x).as_integer_ratio())) for x in row] for row in mechanism["matrix"]
        ]
        return [[x / sum(row, arb(0)) for x in row] for row in found]
    grow = arb(mechanism["eps0"]).exp()
    if name == "extremal":
        return [[(grow if hit else arb(1)) / (sum(row) * grow + len(row) - sum(row)) for hit in row]
                for row in mechanism["pattern"]]  # fmt: skip
    size = mechanism.get("k", 2)
    return [[(grow if x == y else arb(1)) / (grow + size - 1) for y in range(size)]
            for x in range(size)]  # fmt: skip


def counts_law(laws):
    """Law of how often each output is seen."""
    found = {(0,) * len(laws[0]): arb(1)}
    for law in laws:
        grown = {}
        for counts, mass in found.items():
            for y, p in enumerate(law):
                key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                grown[key] = grown.get(key, arb(0)) + mass * p
        found = grown
    return found


def divergence(victim, others, epsilon):
    """The shuffled views' divergence, all counts listed."""
    a = arb(epsilon).exp()
    first, second = (counts_law([law, *others]) for law in victim)
    return sum(((p - a * second[key]).max(arb(0)) for key, p in first.items()), arb(0))


def data_sets(groups, victim):
    """Laws of the others: all multisets of inputs of each group."""
    kinds = [
        itertools.combinations_with_replacement(rows_of(m), count - (k == victim))
        for k, (m, count) in enumerate(groups)
    ]
    for held in itertools.product(*kinds):
        yield [law for laws in held for law in laws]


def worst(groups, victim, epsilon):
    rows = rows_of(groups[victim][0])
    values = [
        divergence(pair, others, epsilon)
        for others in data_sets(groups, victim)
        for pair in itertools.permutations(rows, 2)
    ]
    return max(values, key=lambda value: float(value.mid()))


def random_channel(rng, outputs, *, zeros):
    rows = []
    for _ in range(rng.randint(2, 3) if outputs > 2 else 2):
        cuts = sorted(rng.sample(range(1, 64), outputs - 1))
        row = [b - a for a, b in itertools.pairwise([0, *cuts, 64])]
        if zeros and rng.random() < 0.5:
            row[1] += row[0]
            row[0] = 0
        rows.append([x / 64 for x in row])
    return {"name": "channel", "matrix": rows}


def random_crowd(rng):
    kind = rng.choice(("channels", "channels", "responses", "bits", "matrices"))
    size = rng.choice((2, 2, 3))
    outputs = rng.randint(2, 3)
    eps0 = [math.exp(rng.uniform(-1.5, 1.5)) for _ in range(size)]
    if kind == "channels":
        zeros = rng.random() < 0.4
        made = [random_channel(rng, outputs, zeros=zeros) for _ in range(size)]
    elif kind == "responses":
        k = rng.randint(3, 4)
        made = [{"name": "k-rr", "k": k, "eps0": e} for e in eps0]
    elif kind == "bits":
        made = [{"name": "binary-rr", "eps0": e} for e in eps0]
        made[0] = random_channel(rng, 2, zeros=False)
    else:
        made = [{"name": "extremal", "pattern": [[1, 0, 0], [0, 1, 0], [0, 1, 0]], "eps0": e}
                for e in eps0]  # fmt: skip
        made[0] = {"name": "k-rr", "k": 3, "eps0": eps0[0]}
    return [(m, rng.randint(1, 2)) for m in made]


def random_numbers(rng, groups, victim, pairs):
    sizes = sum(count > (k == victim) for k, (_, count) in enumerate(groups))
    alpha = rng.choice((0.05, 0.3, 1.0))
    return [
        {
            "alpha": alpha,
            "smoothing": rng.choice((0.1, 0.4)) / alpha,
            "gain": rng.choice((0.05, 0.5, 0.97)),
            "loss": rng.choice((0.05, 0.5, 0.97)),
            "theta": rng.choice((0.0, rng.random(), 1.0)),
            "shares": [rng.choice((1.0, 0.5, 0.1)) for _ in range(sizes)],
        }
        for _ in range(pairs)
    ]


@pytest.mark.many(5)
@pytest.mark.parametrize("seed", range(400))
def test_both_upper_ends_are_above_every_data_set(seed):
    """Whatever the free numbers are."""
    rng = random.Random(seed)
    groups = random_crowd(rng)
    victim = rng.randrange(len(groups))
    kind = kinds_of([m for m, _ in groups])
    epsilon = rng.choice((0.0, 0.15, 0.6))
    truth = float(worst(groups, victim, epsilon).lower())
    for _ in range(3):
        free = random_numbers(rng, groups, victim, len(kind.pairs[victim]))
        bound = log_delta_crowd(groups, free, victim=victim, epsilon=epsilon)
        assert truth <= math.exp(min(bound, 1.0))
        enough = log_delta_crowd(groups, free, victim=victim, epsilon=epsilon, log_claimed=0.0)
        assert truth <= math.exp(min(enough, 1.0))
        assert enough >= bound
    try:
        common = [
            log_delta_common(groups, victim=victim, pair=pair, epsilon=epsilon, rel=1e-3)
            for pair in kind.pairs[victim]
        ]
    except NotCertified:
        # Where a gain is 0 or nearly so: undecided, which is no wrong answer.
        return
    assert truth <= math.exp(max(high for _, high in common))


@pytest.mark.many(5)
@pytest.mark.parametrize("seed", range(200))
def test_a_lower_end_is_that_of_a_sum_of_steps(seed):
    """Between the balls; and below the whole view of the same data set."""
    rng = random.Random(seed)
    groups = random_crowd(rng)
    victim, kind = rng.randrange(len(groups)), kinds_of([m for m, _ in groups])
    x0, x1 = rng.choice(kind.pairs[victim])
    held = [rng.randrange(len(inputs)) for inputs in kind.inputs]
    rows = [rows_of(m) for m, _ in groups]
    places = [[range(len(r)).index(x) for x in inputs] if isinstance(inputs[0], int) else None
              for r, inputs in zip(rows, kind.inputs, strict=True)]  # fmt: skip
    first, second = (rows[victim][places[victim][x]] for x in (x0, x1))
    sizes = [count - (k == victim) for k, (_, count) in enumerate(groups)]
    others = [rows[k][places[k][held[k]]] for k, size in enumerate(sizes) for _ in range(size)]
    signs = [1 if p > q else -1 if p < q else 0 for p, q in zip(first, second, strict=True)]

    def of_steps(law):
        return [sum((p for p, s in zip(law, signs, strict=True) if s == f), arb(0))
                for f in (-1, 0, 1)]  # fmt: skip

    epsilon = rng.choice((0.0, 0.1, 0.5))
    low, high = log_delta_steps(
        groups,
        victim=victim,
        pair=(x0, x1),
        others=list(zip(held, sizes, strict=True)),
        epsilon=epsilon,
        log_claimed=-1.0,
    )
    a = arb(epsilon).exp()
    laws = [{}, {}]
    for found, law in zip(laws, (first, second), strict=True):
        for counts, mass in counts_law([of_steps(law), *map(of_steps, others)]).items():
            key = counts[2] - counts[0]
            found[key] = found.get(key, arb(0)) + mass
    truth = sum(((p - a * laws[1][key]).max(arb(0)) for key, p in laws[0].items()), arb(0))
    assert math.exp(low) <= float(truth.upper())
    assert float(truth.lower()) <= math.exp(high)
    assert low >= high - 1e-9 or float(truth.upper()) < 1e-20
    assert math.exp(low) <= float(divergence((first, second), others, epsilon).upper())


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 5.0])
def test_what_only_the_victim_sends_is_paid_in_full(epsilon):
    """Half of the time a message says what the victim holds, whatever eps is: ``lost``."""
    groups = [
        ({"name": "channel", "matrix": [[0.5, 0.5], [0.0, 1.0]]}, 1),
        ({"name": "channel", "matrix": [[0.0, 1.0], [0.25, 0.75]]}, 3),
    ]
    free = {"alpha": 1.0, "smoothing": 0.2, "gain": 0.5, "loss": 0.5, "theta": 0.5, "shares": [1.0]}
    truth = float(worst(groups, 0, epsilon).lower())
    assert truth >= 0.5
    assert truth <= math.exp(log_delta_crowd(groups, [free] * 2, victim=0, epsilon=epsilon))


def test_what_is_dropped_is_paid_for():
    """Where the claim is far above what is there, balls are wide: never on the wrong side."""
    groups = [({"name": "binary-rr", "eps0": 1.0}, 400), ({"name": "binary-rr", "eps0": 2.0}, 300)]
    asked = {"victim": 0, "pair": (1, 0), "others": [(0, 399), (0, 300)], "epsilon": 0.4}
    fine = log_delta_steps(groups, **asked, log_claimed=-60.0)
    coarse = log_delta_steps(groups, **asked, log_claimed=0.0)
    assert coarse[0] <= fine[0] <= fine[1] <= coarse[1]
    assert fine[1] - fine[0] < 1e-9
    assert -75.0 < fine[1] < -15.0


def test_laws_are_the_definitions():
    for mechanisms in (
        [{"name": "k-rr", "k": 7, "eps0": 1.0}, {"name": "k-rr", "k": 7, "eps0": 2.0}],
        [{"name": "k-rr", "k": 3, "eps0": 1.0}, {"name": "k-rr", "k": 3, "eps0": 2.0}],
    ):
        kind = kinds_of(mechanisms)
        assert kind.inputs[0] == (0, 1, 2)
        for mechanism, side in zip(mechanisms, sides_of(mechanisms, kind), strict=True):
            rows = rows_of(mechanism)
            for x in range(3):
                whole = [*rows[x][:3], *([sum(rows[x][3:], arb(0))] if len(rows) > 3 else [])]
                assert all(p.overlaps(q) for p, q in zip(side.rows[x], whole, strict=True))
            least = [min(float(row[y].mid()) for row in rows) for y in range(3)]
            assert [float(b.mid()) for b in side.least[:3]] == pytest.approx(least)
    assert (
        kinds_of([{"name": "k-rr", "k": 7, "eps0": 1.0}, {"name": "k-rr", "k": 6, "eps0": 1.0}])
        is None
    )
    assert kinds_of([{"name": "rappor", "d": 3, "eps0": 1.0}] * 2) is None
    many = {"name": "channel", "matrix": [[0.5, 0.25, 0.25]] * 12 + [[0.25, 0.5, 0.25]]}
    assert kinds_of([many, many]) is None


def test_bad_numbers_are_refused():
    groups = [({"name": "binary-rr", "eps0": 1.0}, 4), ({"name": "binary-rr", "eps0": 2.0}, 3)]
    good = {
        "alpha": 0.5,
        "smoothing": 0.1,
        "gain": 0.3,
        "loss": 0.3,
        "theta": 0.5,
        "shares": [1.0, 0.5],
    }
    for change in (
        {"alpha": 0.0}, {"alpha": math.inf}, {"smoothing": -1.0}, {"gain": 1.0}, {"loss": -0.1},
        {"theta": 1.5}, {"theta": math.nan}, {"shares": [1.0]}, {"shares": [1.0, 0.0]},
        {"shares": [1.0, 1.25]}, {"shares": None}, {"gain": True}, {"alpha": "x"},
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            log_delta_crowd(groups, [good | change] * 2, victim=0, epsilon=0.1)
    with pytest.raises(ParameterError, match="free"):
        log_delta_crowd(groups, [good], victim=0, epsilon=0.1)
    with pytest.raises(ParameterError, match="nobody"):
        log_delta_crowd([(groups[0][0], 1)], [good] * 2, victim=0, epsilon=0.1)
    with pytest.raises(ParameterError, match="epsilon"):
        log_delta_crowd(groups, [good] * 2, victim=0, epsilon=math.nan)
    with pytest.raises(NotCertified, match="nodes"):
        log_delta_crowd(groups, [good | {"smoothing": 1e-9}] * 2, victim=0, epsilon=0.1)
    apart = [({"name": "rappor", "d": 3, "eps0": 1.0}, 3), groups[0]]
    with pytest.raises(NotCertified, match="different sets"):
        log_delta_crowd(apart, [good], victim=0, epsilon=0.1)
    asked = {"victim": 0, "pair": (1, 0), "epsilon": 0.1, "log_claimed": -1.0}
    with pytest.raises(ParameterError, match="others"):
        log_delta_steps(groups, others=[(2, 3), (0, 3)], **asked)
    with pytest.raises(ParameterError, match="others"):
        log_delta_steps(groups, others=[(0, 3)], **asked)
    with pytest.raises(NotCertified, match="steps"):
        log_delta_steps(groups, others=[(0, 3), (0, 10**9)], **asked)


@pytest.mark.parametrize("shares", [(1.0, 1.0), (1.0, 0.25), (0.4, 0.05)])
def test_with_the_same_numbers_it_is_the_kernel_s_bound(shares):
    """But for the steps of a sum, which each chooses for itself."""
    groups = [({"name": "binary-rr", "eps0": 1.0}, 600), ({"name": "binary-rr", "eps0": 3.0}, 500)]
    rows = [np.array([[float(x.mid()) for x in row] for row in rows_of(m)]) for m, _ in groups]
    others = tuple(Others(n, r, r.min(axis=0)) for n, r in zip((599, 500), rows, strict=True))
    choice, at = Choice(0.3, 0.06, 0.05, shares), Contour(0.05, 0.8, 0.01, 510)
    ends = [
        CrowdCase(rows[0][[x, 1 - x]], others, 2.0**-49, ties=True).log_bound(0.15, choice, at)
        for x in (0, 1)
    ]
    free = {**choice._asdict(), "alpha": at.alpha, "smoothing": at.smoothing}
    found = log_delta_crowd(groups, [free | {"shares": list(shares)}] * 2, victim=0, epsilon=0.15)
    assert abs(found - max(ends)) < 1e-4


@pytest.mark.parametrize(
    ("second", "epsilon", "alpha", "smoothing"),
    [(1e-4, 1.3, 4.0, 0.5), (1e-4, 1.3, 4.0, 0.05), (1e-3, 0.0, 5.0, 0.2)],
)
def test_one_type_for_all_is_above_each(second, epsilon, alpha, smoothing, monkeypatch):
    """What no node covers included, where factors are larger than one: few nodes, heavy gains."""
    sums = []
    once = crowds._Line.log_sum

    def kept(line, choice):
        sums.append(once(line, choice))
        return sums[-1]

    monkeypatch.setattr(crowds._Line, "log_sum", kept)
    monkeypatch.setattr(crowds._Line, "log_chernoff", lambda *_: math.inf)
    groups = [({"name": "binary-rr", "eps0": 2.0}, 1), ({"name": "binary-rr", "eps0": second}, 40)]
    free = {"gain": 0.2, "loss": 0.2, "theta": 0.05, "shares": [0.2], "alpha": alpha}
    pairs = len(kinds_of([mechanism for mechanism, _ in groups]).pairs[0])
    log_delta_crowd(groups, [free | {"smoothing": smoothing}] * pairs, victim=0, epsilon=epsilon)
    merged, *each = sums[: len(sums) // pairs]
    assert len(each) > 1
    assert merged >= max(each)
