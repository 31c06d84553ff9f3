"""Laws of labels and of the reservoir of noise on an interval against direct integrals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shuffledp.arithmetic.balls import arb, ctx
from shuffledp.bounds.covers import Label, Row, Share, excess, labels, reservoir
from shuffledp.bounds.interval import log_delta_on_interval
from shuffledp.bounds.remainders import remainders
from shuffledp.bounds.stealing import Numbers
from stealing.interval_noise import (
    PAYOFFS,
    Floats,
    convex,
    density,
    label_of,
    line,
    noises,
    outputs,
    simple_cover,
)


@pytest.mark.many(7)
@noises
@pytest.mark.parametrize(("eps", "middle"), [(0.05, 1.0), (1.0, 1.0), (1.0, 0.2), (0.3, 0.0)])
def test_labels_are_above_their_laws(normal: bool, width: float, eps: float, middle: float) -> None:
    """Increasing convex payoffs of every label: at least the direct integral, and not far above."""
    at = outputs(width, normal=normal)
    made = simple_cover(width, normal=normal, cells=400)._replace(middle=middle)
    share, a = Share(arb("0.1"), arb("0.2")), math.exp(eps)
    kappa, b = 0.1, 0.8 / 0.9
    y, w = line(width, normal=normal)

    def f(x: float) -> Floats:
        return density(y - x, width, normal=normal)

    found_labels = list(labels(at, made, arb(eps), share, made.edges))[:10]
    for i, make in enumerate(found_labels):
        label, j = make(), i % 5
        x0, x1, x = label.triple
        row = made.second if i >= 5 else made.first
        assert label.triple == ((row.places[j], 1.0, 0.0) if i >= 5 else (1.0, row.places[j], 0.0))
        etas, centre = row.stretch[max(j - 1, 0) : j + 1], middle * b * (1 - a)
        etas = etas if middle < 1.0 else (max(etas),)
        gain = b * (f(x0) - a * f(x1)) / np.maximum(f(x), 1e-300) - centre
        gain = np.maximum.reduce([gain / (1 - eta) for eta in etas]) + centre
        for payoff in PAYOFFS[:-1]:
            true = (1 - kappa) * float((w * f(x)) @ payoff(gain))
            found = convex(label, payoff) + float(label.lost)
            assert true * (1 - 1e-6) - 1e-9 <= found <= true * 1.05 + 2e-3 + 3 * float(label.lost)


@noises
def test_smaller_laws_are_below_chords(normal: bool, width: float) -> None:
    """(C): the labelled part of a place between is at least the mixture of both neighbours'."""
    at, made = outputs(width, normal=normal), simple_cover(width, normal=normal, cells=200)
    share, eps, a = Share(arb("0.1"), arb("0.2")), 0.3, math.exp(0.3)
    y, w = line(width, normal=normal)
    found = list(labels(at, made, arb(eps), share, made.edges))[10:]
    by = {(label.triple[0], label.triple[2]): label for label in (make() for make in found)}
    assert set(by) == {(first, x) for first in (0.0, 1.0) for x in made.third}
    for first, (left, right) in itertools.product((0.0, 1.0), itertools.pairwise(made.third)):
        x = 0.4 * left + 0.6 * right
        own = density(y - x, width, normal=normal)
        g = density(y - first, width, normal=normal) - a * density(
            y - (1 - first), width, normal=normal
        )
        for payoff in PAYOFFS[3:-1]:
            gain = (0.8 / 0.9) * g / np.maximum(own, 1e-300)
            true = 0.9 * float((w * own) @ payoff(gain))
            ends = [by[first, end] for end in (left, right)]
            values = [convex(one, payoff) + float(one.lost) for one in ends]
            assert true <= (0.4 * values[0] + 0.6 * values[1]) * (1 + 1e-6)
            # Masses are below those of the laws.
            for one in ends:
                assert sum(float(m) for m, _ in one.atoms) <= 0.9 + 1e-12


@noises
@pytest.mark.parametrize("middle", [1.0, 0.25])
def test_remainders_are_bounded_above(normal: bool, width: float, middle: float) -> None:
    """d(alpha), d(-alpha) and the mean of W/eta + m at many places of every step of both rows."""
    at = outputs(width, normal=normal)
    made = simple_cover(width, normal=normal)._replace(middle=middle)
    share, eps, alpha, hidden = Share(arb("0.1"), arb("0.2")), 1.5, 0.02, 0.05
    a, b = math.exp(eps), 0.8 / 0.9
    found = remainders(at, made, arb(eps), share, arb(hidden))
    assert len(found) == 8
    y, w = line(width, normal=normal)

    def f(x: float) -> Floats:
        return density(y - x, width, normal=normal)

    inside = (
        (y >= made.edges[0]) & (y <= made.edges[-1]) if normal else np.full(y.size, fill_value=True)
    )
    for k, one in enumerate(found):
        row, j = (made.second, k - 4) if k >= 4 else (made.first, k)
        (v, u), eta = row.places[j : j + 2], row.stretch[j]
        scale = -b if k >= 4 else b * a
        for part in (0.1, 0.5, 0.8):
            r = (1 - part) * f(v) + part * f(u) - f((1 - part) * v + part * u)
            gain = np.where(inside, scale * r / np.maximum(f(0.0), 1e-300), 0.0) / eta
            gain = gain + middle * b * (1 - a)
            assert 0.9 * float((w * f(0.0)) @ gain) <= float(one.mean) + 1e-6 * b * a / eta
            for sign in (1, -1):
                power = np.exp(np.clip(sign * alpha * gain, -700.0, 700.0))
                true = 0.9 * float((w * f(0.0)) @ power) + 1 - hidden - 0.9
                bound = one.mass(arb(alpha), negated=sign < 0)
                assert true <= float(bound) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("width", "last", "eps"), [(1.0, 2.05, 0.1), (1.0, 2.05, 1.5), (0.5, 1.6, 0.3)]
)
def test_what_lies_beyond_the_last_edge_is_paid(width: float, last: float, eps: float) -> None:
    """(A) beyond Y1: int (f_1 - a f_v - C f_0)_+ and int W_+, divided by 1 - eta (Lemma 6.5)."""
    made, a = simple_cover(width, normal=True, last=last), math.exp(eps)
    at, share = outputs(width, normal=True), Share(arb("0.1"), arb("0.2"))
    found = list(labels(at, made, arb(eps), share, made.edges))
    y = last + 14 * width * (np.arange(200_000) + 0.5) / 200_000

    def f(x: float) -> Floats:
        return density(y - x, width, normal=True) * (14 * width / 200_000)

    row, some = made.first, 0
    for j, v in enumerate(row.places):
        label = label_of(found[:5], (1.0, v, 0.0))
        eta = max(row.stretch[max(j - 1, 0) : j + 1])
        edge = float(at.ratio(1.0, 0.0, last)) - a * float(at.ratio(v, 0.0, last))
        cut = float(np.maximum(f(1.0) - a * f(v) - max(edge, 0.0) * f(0.0), 0.0).sum())
        more = 0.0
        for left, right in itertools.pairwise(row.places[max(j - 1, 0) : j + 2]):
            for part in (0.2, 0.5, 0.8):
                r = (1 - part) * f(left) + part * f(right) - f((1 - part) * left + part * right)
                more = max(more, a * float(np.maximum(r, 0.0).sum()))
        true = 0.8 * (cut + more) / (1 - eta)
        assert true <= float(label.lost) * (1 + 1e-5)
        some += edge < 0.0 and cut > 0.0
    # The case in which the edge's gain is negative and gains turn positive farther out.
    assert some or eps < 1.0


@noises
def test_the_reservoir(normal: bool, width: float) -> None:
    """Its mass, its law, and int (1 - s) g_+ against direct integrals."""
    at, made = outputs(width, normal=normal), simple_cover(width, normal=normal)
    y, w = line(width, normal=normal)
    f0, f1 = (density(y - x, width, normal=normal) for x in (0.0, 1.0))
    common = np.minimum(f0, f1)
    for eps in (0.01, 0.4, 0.99 / width if not normal else 3.0, 5.0):
        pool = reservoir(at, made, arb(eps), Share(arb("0.1"), arb("0.2")))
        g = f1 - math.exp(eps) * f0
        assert float(pool.mass) == pytest.approx(0.1 * float(w @ common), rel=1e-6)
        positive = 0.8 * float(w @ np.maximum(g, 0.0))
        assert float(pool.unhidden) == pytest.approx(positive, rel=1e-4, abs=1e-9)
        label = Label((1.0, 0.0, 0.0), pool.atoms, pool.lost)
        for payoff in PAYOFFS[:-1]:
            gain = 2.0 * g / np.maximum(common, 1e-300)
            true = 0.1 * float((w * common) @ payoff(gain))
            found = convex(label, payoff) + float(label.lost)
            assert true * (1 - 1e-6) - 1e-9 <= found <= true * 1.1 + 0.02


@pytest.mark.parametrize("u", [0.0, 0.5, 0.75])
def test_below_the_first_edge_gains_are_raised(u: float) -> None:
    """(B): to f_u/f_0 at the edge, which is above all gains there."""
    width, eps, a = 1.0, 0.3, math.exp(0.3)
    made = simple_cover(width, normal=True, cells=300)
    edges = tuple(y for y in made.edges if y > -1.1 * width)
    made = made._replace(edges=edges, boxes=(edges[0], *made.boxes[20:]))
    row = Row((0.0, 0.5, 0.75, 1.0), (0.3, 0.3, 0.3))
    at, made = outputs(width, normal=True), made._replace(second=row, first=row)
    found = list(labels(at, made, arb(eps), Share(arb("0.1"), arb("0.2")), edges))[4:8]
    label = label_of(found, (u, 1.0, 0.0))
    y, w = line(width, normal=True)
    g = density(y - u, width, normal=True) - a * density(y - 1, width, normal=True)
    own, b = density(y, width, normal=True), 0.8 / 0.9
    mean = b * (1 - a)
    gain = (b * g / np.maximum(own, 1e-300) - mean) / 0.7 + mean
    for payoff in PAYOFFS[:-1]:
        assert 0.9 * float((w * own) @ payoff(gain)) <= convex(label, payoff) * (1 + 1e-6)


@pytest.mark.parametrize("v", [0.0, 0.5, 0.9])
def test_what_is_above_the_gain_at_the_last_edge(v: float) -> None:
    """Where that gain is negative as well: f_1 > a f_v from a place farther out on."""
    width, last, some = 1.0, 2.1, False
    at, y = outputs(width, normal=True), 2.1 + 20 * (np.arange(400_000) + 0.5) / 400_000
    for eps in (0.05, 0.2, 1.5, 3.0):
        f0, f1, fv = (density(y - x, width, normal=True) * (20 / 400_000) for x in (0.0, 1.0, v))
        edge = float(at.ratio(1.0, 0.0, last)) - math.exp(eps) * float(at.ratio(v, 0.0, last))
        true = float(np.maximum(f1 - math.exp(eps) * fv - max(edge, 0.0) * f0, 0.0).sum())
        assert float(excess(at, v, last, arb(eps).exp())) == pytest.approx(
            true, rel=1e-3, abs=1e-12
        )
        some = some or (edge < 0.0 and true > 1e-12)
    assert some


@noises
def test_what_is_paid_beside_the_sums(
    normal: bool, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With sums that are 0: the tail, what the reservoir loses and what the worst label does."""
    monkeypatch.setattr("shuffledp.bounds.interval.sharpest", lambda *_, paid, room: paid)
    at, n, eps = outputs(width, normal=normal), 3, 0.2
    made = simple_cover(width, normal=normal, cells=400)._replace(third=())
    y, w = line(width, normal=normal)
    f0, f1 = (density(y - x, width, normal=normal) for x in (0.0, 1.0))
    g, a = f1 - math.exp(eps) * f0, math.exp(eps)
    common, top = np.minimum(f0, f1), 0.4 if normal else math.inf
    tail = 0.3 * float(w @ np.maximum(g, 0.0)) * (1 - 0.6 * float(w @ common)) ** (n - 1)
    lost = 0.0
    if normal:
        tail += float(w @ np.maximum(0.7 * g - top * 0.6 * common, 0.0))
        labels_lost = (g, f0 - a * f1)
        lost = max(float(w @ np.maximum(0.3 * one - top * 0.4 * f0, 0.0)) for one in labels_lost)
    numbers = Numbers((0.6,), (0.7,), 1.0, 0.3, 0.3, top if normal else None)
    with ctx.workprec(80):
        found = math.exp(log_delta_on_interval(at, made, numbers, n, eps, two_inputs=True))
    assert found == pytest.approx(tail + lost, rel=2e-2)


def test_remainders_count() -> None:
    """A stretch that is too small makes the remainder the worst type."""
    at, made = outputs(1.0, normal=False), simple_cover(1.0, normal=False)
    numbers = Numbers((0.2,), (0.2,), 0.5, 0.3, 0.3)
    with ctx.workprec(80):
        before = log_delta_on_interval(at, made, numbers, 5, 0.3, two_inputs=False)
        for row in ("first", "second"):
            short = made._replace(**{row: Row((0.0, 1.0), (0.01,))})
            after = log_delta_on_interval(at, short, numbers, 5, 0.3, two_inputs=False)
            assert after > before + 5


def test_the_reservoir_pays_for_what_is_beyond_its_cells() -> None:
    at, made = outputs(1.0, normal=True), simple_cover(1.0, normal=True)
    near = tuple(y for y in made.pool if -1.2 < y < 2.2)
    pool = reservoir(at, made._replace(pool=near), arb("0.3"), Share(arb("0.1"), arb("0.2")))
    y, w = line(1.0, normal=True)
    f0, f1 = (density(y - x, 1.0, normal=True) for x in (0.0, 1.0))
    common, g = np.minimum(f0, f1), f1 - math.exp(0.3) * f0
    label = Label((1.0, 0.0, 0.0), pool.atoms, pool.lost)
    for payoff in PAYOFFS[:-1]:
        true = 0.1 * float((w * common) @ payoff(2.0 * g / np.maximum(common, 1e-300)))
        assert true * (1 - 1e-6) <= convex(label, payoff) + float(label.lost) <= true * 1.3 + 0.02
