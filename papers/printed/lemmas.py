"""Lemmas whose statements can be tried on numbers, and statements of the text without a figure."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import lambertw

import shuffledp as sd
from papers.printed.items import Item
from papers.printed.kit import Found, number, row, span

_LAWS = 2000  # random triples of laws of 4 outputs, seed 0


def _laws(count: int) -> np.ndarray:
    """Laws of 4 outputs, shape (triples, count, 4); some outputs have probability 0."""
    rng = np.random.default_rng(0)
    drawn = rng.exponential(size=(_LAWS, count, 4)) * (rng.random((_LAWS, count, 4)) < 0.8)
    drawn[..., 0] += 1e-3
    return drawn / drawn.sum(axis=-1, keepdims=True)


def _divergence(a: float, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.maximum(first - a * second, 0.0).sum(axis=-1)


@row("fmt-lemma-23")
def _mixtures() -> Found:
    worst = 0.0
    P0, P1, Q1 = np.moveaxis(_laws(3), 1, 0)
    for q in (0.1, 0.5, 0.9):
        for a in (1.0, 2.0, 8.0):
            b = 1 + q * (a - 1)
            theta = b / a
            left = _divergence(b, (1 - q) * P0 + q * P1, (1 - q) * P0 + q * Q1)
            right = q * _divergence(a, P1, (1 - theta) * P0 + theta * Q1)
            worst = max(worst, float(np.max(np.abs(left - right))))
    words = f"both sides are equal to 14 decimals in {_LAWS:,} random triples of laws"
    return Found(words, "holds" if worst < 1e-14 else "does not")


@row("fmt-lemma-c1")
def _nearby() -> Found:
    P, Q, near_P, near_Q = np.moveaxis(_laws(4), 1, 0)
    share = []
    for a in (1.0, 2.0, 8.0):
        close = [0.95 * law + 0.05 * other for law, other in ((P, near_P), (Q, near_Q))]
        moved = np.maximum(*(0.5 * np.abs(x - y).sum(axis=-1) for x, y in zip(close, (P, Q))))  # noqa: B905
        bound = _divergence(a, *close) + (a + 1) * moved
        share.append(float(np.max(_divergence(a, P, Q) / bound)))
    words = f"up to {number(max(share), 2)} of it, {_LAWS:,} random pairs of laws, e^eps = 1, 2, 8"
    return Found(words, "holds" if max(share) <= 1.0 else "does not")


@row("vr-clones")
def _clones(item: Item) -> Found:
    assert callable(item.value)
    E, found = math.exp(2.0), []
    for k in (3, 10, 100):
        r = sd.ratios(sd.KRR(k=k, eps0=2.0))
        found.append((item.value(r.p, r.beta, r.q), 2 / (E + k - 1)))
    words = ", ".join(f"{number(theirs)}" for theirs, _ in found)
    same = all(math.isclose(*pair, rel_tol=1e-6) for pair in found)
    told = f"{words} of k-RR, k = 3, 10, 100, eps0 = 2: the least mass of both outputs, 2/(E+k-1)"
    return Found(told, "holds" if same else "does not")


@row("index-thm34")
def _explicit() -> Found:
    randomizer, alpha, ratios = sd.KRR(k=10, eps0=2.0), 0.01, []
    chi = sd.shuffle_index(randomizer).lower.value
    for n in (10**4, 10**6, 10**8):
        inside = math.sqrt(n) / (2 * math.sqrt(2 * math.pi) * alpha * chi)
        said = math.sqrt(2 * float(lambertw(inside).real)) / (chi * math.sqrt(n))
        truth = sd.shuffle(randomizer, n=n).epsilon(delta=alpha / n, analysis="blanket").upper
        ratios.append(said / truth)
    words = ", ".join(number(ratio) for ratio in ratios)
    near = all(abs(after - 1) <= abs(before - 1) for before, after in zip(ratios, ratios[1:]))  # noqa: B905, RUF007
    told = f"formula over the certified blanket {words} at n = 1e4, 1e6, 1e8 (10-RR, eps0 = 2)"
    return Found(told, "holds as a limit; no bound" if near else "does not")


@row("index-moments")
def _moments() -> Found:
    from papers.shuffle_index_figures import MEAN_DEVIATIONS, later_errors

    shapes = (1.0, 1.5, 2.0, 3.0)
    second, third = [], []
    for deviation in MEAN_DEVIATIONS:
        errors = [later_errors(shape, deviation) for shape in shapes]
        second.append(errors[3][0] / errors[2][0])
        third.append(errors[3][1] / errors[2][1])
    words = (
        f"shape 3's are {span(second, number)} and {span(third, number)} times the Gaussian's, "
        "Laplace's and shape 1.5's larger (values uniform, our settings)"
    )
    best = max(second + third) < 1.0
    return Found(
        words, "does not at equal error of the mean: shape 3 is better" if best else "holds"
    )
