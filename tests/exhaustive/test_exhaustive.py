"""Few users: both ends against every data set in whole numbers; refusals where they are many."""

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import shuffledp as sd
from binary import exact
from exhaustive import every
from randomizers import definitions
from shuffledp.errors import NotCertified
from shuffledp.exhaustive import counts, datasets
from shuffledp.exhaustive.curve import Curve
from shuffledp.exhaustive.statistic import merged_outputs, statistic_of

UNIT = 1 << 10


def random_rows(rng, inputs, outputs):
    """Whole numbers that sum to 2^10 in each row, some of them zeros."""
    rows = []
    for _ in range(inputs):
        cuts = sorted(rng.randint(0, UNIT) for _ in range(outputs - 1))
        if rng.random() < 0.4:
            cuts[rng.randrange(outputs - 1)] = rng.choice((0, UNIT))
            cuts.sort()
        rows.append([b - a for a, b in zip([0, *cuts], [*cuts, UNIT], strict=True)])
    return rows


def channel(rows):
    return sd.Channel(matrix=[[entry / sum(row) for entry in row] for row in rows])


def curve(mechanism, n):
    return Curve(statistic_of(mechanism, n, "exhaustive"), n, "exhaustive")


def log(x):
    """Natural logarithm of a fraction, to 60 digits."""
    return exact.log(exact.decimal(x))


def holds(found, worst, width=1e-11):
    """lower <= exact <= upper, and close to one another."""
    assert Decimal(found.log_low) <= log(worst) <= Decimal(found.log_high)
    if worst > Fraction(1, 10**9):
        assert found.log_high - found.log_low <= width


def test_histograms_count_the_reports():
    rows = [[512, 512, 0], [100, 300, 624]]
    for others in ((), (0,), (1,), (0, 1)):
        for x0, x1 in ((0, 1), (1, 0)):
            whole = every.divergence(rows, x0, x1, others, 0.3)
            assert whole == every.by_reports(rows, x0, x1, others, 0.3)


@pytest.mark.parametrize("seed", range(24))
def test_random_channels(seed):
    """Two to four inputs and outputs, zeros among them, up to six users: delta and eps."""
    rng = random.Random(seed)
    inputs, outputs = rng.randint(2, 4), rng.randint(2, 4)
    n = rng.randint(1, 6 if inputs + outputs < 7 else 4)
    rows = random_rows(rng, inputs, outputs)
    mechanism = channel(rows)
    found = curve(mechanism, n)
    for epsilon in (0.0, 1.5 * rng.random()):
        point = found.point(epsilon)
        holds(point, every.largest(rows, n, epsilon))
        if point.witness is not None:
            x0, x1, held = point.witness
            others = list(itertools.chain(*([x] * count for x, count in held)))
            assert len(others) == n - 1
            own = every.divergence(rows, x0, x1, others, epsilon)
            assert Decimal(point.log_low) <= log(own) <= Decimal(point.log_high)
    delta = rng.choice((0.2, 1e-2, 1e-4))
    crossing = found.crossing(delta)
    assert 0.0 <= crossing.low <= crossing.high
    if crossing.high < math.inf:
        assert every.largest(rows, n, crossing.high) <= Fraction(delta)
    if crossing.low > 0.0:
        assert every.largest(rows, n, crossing.low) >= Fraction(delta)
        if crossing.high < math.inf:
            assert crossing.high - crossing.low <= 1e-9
    elif crossing.high < math.inf:
        assert crossing.high <= 1e-9


def defined():
    """Mechanisms with the rows that define them."""
    pattern = ((1, 1, 0, 0), (0, 1, 1, 0), (1, 0, 0, 1))
    return {
        "k-rr": (sd.KRR(k=3, eps0=1.1), definitions.k_rr(3, 1.1)),
        "many values": (sd.KRR(k=7, eps0=2.0), definitions.k_rr(7, 2.0)),
        "binary-rr": (sd.BinaryRR(eps0=0.7), definitions.k_rr(2, 0.7)),
        "rappor": (sd.RAPPOR(d=2, eps0=1.5), definitions.rappor(2, 1.5)),
        "rappor 3": (sd.RAPPOR(d=3, eps0=1.5), definitions.rappor(3, 1.5)),
        "oue": (sd.OUE(d=3, eps0=1.0), definitions.oue(3, 1.0)),
        "subset": (sd.SubsetSelection(d=4, k=2, eps0=0.9), definitions.subset(4, 2, 0.9)),
        "hadamard": (sd.HadamardResponse(domain=3, eps0=1.0), definitions.hadamard(3, 1.0)),
        "extremal": (sd.Extremal(pattern=pattern, eps0=1.2), extremal(pattern, 1.2)),
    }


def extremal(pattern, eps0):
    grow = every.grown(eps0)
    rows = [[grow if one else Fraction(1) for one in row] for row in pattern]
    return [[entry / sum(row) for entry in row] for row in rows]


def whole(rows):
    """Rows to 80 digits, as whole numbers with one sum."""
    unit, found = 1 << 270, []
    for row in rows:
        exactly = [
            x if isinstance(x, Fraction) else Fraction(Decimal(x.str(80, radius=False)))
            for x in row
        ]
        ints = [round(x * unit) for x in exactly]
        # What rounding left goes to the largest: 10^-80 of it.
        ints[ints.index(max(ints))] += unit - sum(ints)
        found.append(ints)
    return found


@pytest.mark.parametrize("name", defined())
def test_mechanisms_as_they_are_defined(name):
    """All data sets of all inputs: what symmetry leaves out is looked at here."""
    mechanism, rows = defined()[name]
    rows, n = whole(rows), 2 if name in {"many values", "rappor 3", "oue"} else 3
    for epsilon in (0.0, 0.4):
        holds(curve(mechanism, n).point(epsilon), every.largest(rows, n, epsilon))


def test_the_worst_data_set_is_found_among_all():
    """Remark 3.7: two of the four others hold x0, two the third input."""
    point = curve(sd.KRR(k=3, eps0=1.0), 5).point(0.6)
    assert point.witness == (0, 1, ((0, 2), (2, 2)))
    assert 0.0343 < math.exp(point.log_low) < 0.0344
    as_channel = curve(channel(whole(definitions.k_rr(3, 1.0))), 5).point(0.6)
    assert as_channel.log_low == pytest.approx(point.log_low, rel=1e-12)


def test_three_values_among_forty_users():
    """Both ends meet where they were 3 % apart; the figures of docs/theory.md, section 3.6."""
    acc = sd.shuffle(sd.KRR(k=3, eps0=1.0), 40)
    found = acc.epsilon(delta=1e-6)
    assert found.upper_theorem.key == "exhaustive"
    assert found.lower_theorem.key == "exhaustive-lower"
    assert 0.68964110925 < found.lower <= found.upper < 0.68964110926
    assert found.upper <= found.lower * (1.0 + 2e-12)
    assert found.witness["lower"]["others"] == [[0, 39]]
    blanket = acc.epsilon(delta=1e-6, analysis="blanket")
    alike = acc.epsilon(delta=1e-6, analysis="dataset")
    assert found.lower * (1.0 - 1e-6) < alike.lower < found.lower
    assert 0.7156 < blanket.upper < 0.71561
    delta = acc.delta(epsilon=0.5)
    assert delta.upper <= delta.lower * (1.0 + 1e-10)
    assert acc.delta(epsilon=found.upper).upper <= 1e-6 <= acc.delta(epsilon=found.lower).upper
    published = sd.shuffle(sd.KRR(k=3, eps0=1.0), 40, trust="published").epsilon(delta=1e-6)
    assert (published.lower, published.upper) == (found.lower, found.upper)
    assert "every user runs the same randomizer" in " ".join(found.assumptions)


def test_by_name_between_the_other_ends():
    for mechanism, n in ((sd.KRR(k=3, eps0=1.0), 30), (sd.RAPPOR(d=3, eps0=2.0), 6)):
        acc = sd.shuffle(mechanism, n)
        found = acc.epsilon(delta=1e-4, analysis="exhaustive")
        assert found.lower <= acc.epsilon(delta=1e-4, analysis="blanket").upper
        assert acc.epsilon(delta=1e-4, analysis="dataset").lower <= found.upper
        assert found.lower <= found.upper <= found.lower * (1.0 + 1e-10)
    bits = sd.shuffle(sd.BinaryRR(eps0=2.0), 150)
    found = bits.epsilon(delta=1e-5, analysis="exhaustive")
    other = bits.epsilon(delta=1e-5, analysis="binary-exact")
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)


def test_who_has_it():
    many = (
        (sd.Laplace(eps0=1.0), 3),
        (sd.LocalHash(domain=4, eps0=1.0, l=2), 3),
        (sd.KRR(k=3, eps0=1.0), 10**9),
        (sd.KRR(k=3, eps0=1.0), 1500),
        (sd.KRR(k=50, eps0=1.0), 20),
        (sd.RAPPOR(d=10, eps0=1.0), 10),
        (sd.Channel(matrix=np.random.default_rng(1).dirichlet(np.ones(3), 13)), 2),
        (sd.Channel(matrix=np.random.default_rng(1).dirichlet(np.ones(2000), 2)), 2),
    )
    for mechanism, n in many:
        acc = sd.shuffle(mechanism, n)
        with pytest.raises(NotCertified, match="exhaustive"):
            acc.epsilon(delta=1e-3, analysis="exhaustive")
        assert not acc.uses("exhaustive")
    with pytest.raises(NotCertified, match="exhaustive"):
        sd.generic(eps0=1.0, n=4).epsilon(delta=1e-3, analysis="exhaustive")
    assert not sd.shuffle(sd.KRR(k=3, eps0=1.0), 100).uses("exhaustive")


def test_what_it_costs_is_counted():
    """The cost model's numbers are those of what is made."""
    for mechanism, n in (
        (sd.KRR(k=4, eps0=1.0), 6),
        (channel([[1, 3, 4], [2, 2, 4], [5, 2, 1]]), 5),
    ):
        statistic = statistic_of(mechanism, n, "exhaustive")
        cost, laws = datasets.cost_of(statistic, n), datasets.laws_of(statistic, n, "exhaustive")
        assert laws.laws.shape == (cost.datasets, cost.histograms)
        assert len(laws.first) == cost.pairs
        assert laws.laws.sum(axis=1) == pytest.approx(1.0)


def test_places_are_those_of_the_list():
    for total, kinds in ((0, 3), (4, 1), (5, 2), (4, 4)):
        listed = counts.vectors(total, kinds)
        assert (
            len(listed) == counts.how_many(total, kinds) == len({tuple(c) for c in listed.tolist()})
        )
        assert (listed.sum(axis=1) == total).all()
        assert counts.places(listed).tolist() == list(range(len(listed)))
    for kind, places in enumerate(counts.one_less(counts.vectors(4, 3))):
        fewer = counts.vectors(3, 3)
        for own, place in zip(counts.vectors(4, 3), places, strict=True):
            less = own.copy()
            less[kind] -= 1
            assert place == (len(fewer) if less[kind] < 0 else fewer.tolist().index(less.tolist()))


def test_outputs_that_say_the_same_are_merged():
    rows = [[1, 2, 3, 6, 4], [2, 1, 6, 3, 4], [4, 1, 12, 3, 4]]
    rows = [[64 * entry // sum(row) for entry in row] for row in rows]
    unlike = merged_outputs(np.array(rows) / 64)
    assert unlike[1] == 0.0 or unlike[0].shape[1] < 5
    double = [[100, 200, 724], [300, 600, 124]]
    merged, error = merged_outputs(np.array(double) / UNIT)
    assert merged.shape == (2, 2)
    assert 0.0 < error < 1e-14
    given = statistic_of(channel(double), 5, "exhaustive")
    assert given.rel >= channel(double).law((0, 1)).rel + error
    nearly = np.array([[0.25, 0.5, 0.25], [0.25 + 1e-9, 0.5, 0.25 - 1e-9]])
    assert merged_outputs(nearly)[0].shape == (2, 3)
    found = curve(channel(double), 5)
    holds(found.point(0.2), every.largest(double, 5, 0.2))
    # As many ratios are zero, and some outputs never occur.
    zeros = [[0, 512, 0, 512, 0], [0, 256, 512, 256, 0]]
    assert statistic_of(channel(zeros), 3, "exhaustive").rows.shape == (2, 2)
    holds(curve(channel(zeros), 4).point(0.1), every.largest(zeros, 4, 0.1))


def test_inputs_that_are_alike_are_one():
    rows = [[100, 900, 24], [100, 900, 24], [300, 300, 424]]
    statistic = statistic_of(channel(rows), 4, "exhaustive")
    assert (statistic.inputs, statistic.twins) == ((0, 2), (0,))
    holds(curve(channel(rows), 4).point(0.3), every.largest(rows, 4, 0.3))
    same = curve(channel([[100, 924], [100, 924]]), 6).point(0.0)
    assert same.log_low == -math.inf
    assert same.log_high < math.log(1e-12)


def test_ends_of_the_range():
    seen = curve(channel([[1024, 0], [256, 768]]), 5)
    assert seen.point(0.0).log_high <= 0.0
    assert seen.point(800.0).log_high >= math.log(0.75**1)
    assert seen.point(800.0).log_low == -math.inf
    assert seen.crossing(0.5).high == math.inf
    assert seen.crossing(0.5).low > 500.0
    close = curve(channel([[512, 512], [513, 511]]), 5)
    assert close.crossing(0.5) == (0.0, 0.0, None)
    deep = curve(sd.KRR(k=3, eps0=2.0), 20).point(1.99)
    assert deep.log_low <= deep.log_high <= deep.log_low + 1e-8
    assert deep.log_high < -9.0
    acc = sd.shuffle(sd.KRR(k=3, eps0=300.0), 4)
    found = acc.epsilon(delta=1e-6, analysis="exhaustive")
    assert found.lower <= found.upper <= 300.0


def test_equal_values_give_equal_bits():
    mechanism = sd.KRR(k=3, eps0=1.0)
    first, second = sd.shuffle(mechanism, 12), sd.shuffle(sd.KRR(k=3, eps0=1.0), 12)
    second.delta(epsilon=0.2, analysis="exhaustive")
    asked = [acc.epsilon(delta=1e-4, analysis="exhaustive") for acc in (first, second)]
    assert asked[0] == asked[1]
    assert [b.upper for b in first.profile([0.1, 0.3], analysis="exhaustive")] == [
        second.delta(epsilon=e, analysis="exhaustive").upper for e in (0.1, 0.3)
    ]


def off(rows, error, rng):
    """Rows each entry of which is off by at most the error, relatively, most by all of it."""
    return np.array([[x * (1.0 + error * rng.choice((-1, 1, 1))) for x in row] for row in rows])


@pytest.mark.parametrize("seed", range(4))
def test_errors_of_the_law_are_outward(seed):
    """Laws that are off by as much as is said of them: both ends hold for the true one."""
    rng = random.Random(seed)
    rows, n, error = random_rows(rng, 2, 3), 4, 1e-3
    plain = statistic_of(channel(rows), n, "exhaustive")
    for epsilon in (0.0, 0.2):
        worst = every.largest(rows, n, epsilon)
        # All of the victim's larger entries and all smaller ones off the same way: the worst case.
        for sign in (-1.0, 1.0):
            for moved in (plain.rows * (1.0 + sign * error), off(plain.rows, error, rng)):
                given = plain._replace(rows=moved, rel=1.001 * error)
                found = Curve(given, n, "exhaustive").point(epsilon)
                assert Decimal(found.log_low) <= log(worst) <= Decimal(found.log_high)
                assert found.log_high - found.log_low < 1.0 or worst < Fraction(1, 10)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("which", ["exp", "log", "sums"])
def test_errors_of_functions_and_sums_are_outward(which, sign, monkeypatch):
    """A unit of rounding as large as 1e-6, and a function, or sums, off by a few of it."""
    unit = 1e-6
    rows, n = random_rows(random.Random(5), 3, 3), 4
    found = curve(channel(rows), n)
    count, sums = found._most.shape[1], found._sums

    class Off:
        """Functions of which one is off."""

        inf = math.inf
        exp = staticmethod(lambda x: math.exp(x) * (1.0 + 3.0 * sign * unit * (which == "exp")))
        log = staticmethod(lambda x: math.log(x) * (1.0 + sign * unit * (which == "log")))

    monkeypatch.setattr("shuffledp.exhaustive.curve.U", unit)
    monkeypatch.setattr("shuffledp.exhaustive.curve.math", Off)
    if which == "sums":
        found._sum = (count + 8) * unit
        monkeypatch.setattr(found, "_sums", lambda *a: sums(*a) * (1.0 + sign * count * unit))
    for epsilon in (0.1, 0.7):
        worst = every.largest(rows, n, epsilon)
        point = found.point(epsilon)
        assert Decimal(point.log_low) <= log(worst) <= Decimal(point.log_high)
    crossing = found.crossing(1e-2)
    assert every.largest(rows, n, crossing.low) >= Fraction(1, 100)
    assert every.largest(rows, n, crossing.high) <= Fraction(1, 100)


def test_what_underflow_took_is_outward(monkeypatch):
    """Entries that were taken for 0: both ends hold where they are below what is said of them."""
    monkeypatch.setattr("shuffledp.exhaustive.curve.LEAST", 0.05)
    plain = statistic_of(channel([[512, 488, 24], [300, 700, 24]]), 1, "exhaustive")
    # The victim alone sends the third output, which was lost; both send it, and one was lost.
    unseen = np.array([[512, 488, 0], [512, 512, 0]]) / UNIT
    found = Curve(plain._replace(rows=unseen), 1, "exhaustive").point(0.5)
    assert found.log_high >= math.log(24 / UNIT)
    seen = np.array([[512, 488, 24], [512, 488, 0]]) / UNIT
    assert Curve(plain._replace(rows=seen), 1, "exhaustive").point(0.5).log_low == -math.inf
