"""Label stealing: rule out all pairs of inputs that are certainly no worse than another one.

For free numbers that many pairs share, let beta = share B, t_x = R_x - beta, g = R_i - a R_j and
phi(z) = 2 (e^z - 1 - z)/z^2, which grows in z. As g <= top = max over inputs of R, the moments of
Corollary 3.2 are, at any alpha' <= alpha,

    c0 + d0 <= |beta| + |t_x| + alpha' |g| + alpha'^2/2 sum_y q_x g^2,
    q_x = s^2 phi(alpha s top/beta)/beta + (1 - s)^2 phi(alpha (1 - s) top/t_x)/t_x,

and the sums over outputs of q_x g^2, for all pairs, are one product of matrices for each x. At
another a' the sums are, by Minkowski's inequality, at most

    (sqrt(sum_y q_x g^2) + |a' - a| sqrt(sum_y q_x R_j^2))^2,

so that the products at one a serve nearby values too (docs/theory-stealing.md, section 5.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shuffledp.arithmetic.balls import arb, arb_mat, total

__all__ = [
    "Floats",
    "Moments",
    "Row",
    "about_moments",
    "about_weights",
    "second_moments",
    "surely_met",
]

Row = Sequence[arb]
Floats = npt.NDArray[np.float64]

# Up to this z, phi(z) <= e^z is sharp enough; phi's own formula would cancel.
_SMALL = 1e-3


class Moments(NamedTuple):
    """The largest sums over outputs, over all labels x, at one a and for all tilts up to one.

    Attributes
    ----------
    grow : arb
        a = e^eps.
    gains : list of lists of arb
        Sums of q_x g^2, by i and j.
    second : list of arb
        Sums of q_x R_j^2, by j.
    """

    grow: arb
    gains: list[list[arb]]
    second: list[arb]


def second_moments(
    rows: Sequence[Row], blanket: Row, numbers: tuple[Row, Row], alpha: arb, grow: arb
) -> Moments | None:
    """The sums for all ordered pairs; None where a label or the reservoir lacks an output.

    Parameters
    ----------
    rows : sequence of rows
        The laws under all inputs.
    blanket : row
        A measure below all of them, B.
    numbers : tuple of two rows
        share and s for each output.
    alpha : arb
        The largest tilt.
    grow : arb
        a = e^eps.
    """
    share, join = numbers
    top = [_largest(column) for column in zip(*rows, strict=True)]
    beta = [x * b for x, b in zip(share, blanket, strict=True)]
    if not all(b > 0 for b in beta):
        return None
    joined = [s * s * _phi(alpha * s * u / b) / b for s, u, b in zip(join, top, beta, strict=True)]
    found = [[arb(0)] * len(rows) for _ in rows]
    second = [arb(0)] * len(rows)
    for other in rows:
        rest = [r - b for r, b in zip(other, beta, strict=True)]
        if not all(t > 0 for t in rest):
            return None
        weights = [
            c + (1 - s) * (1 - s) * _phi(alpha * (1 - s) * u / t) / t
            for c, s, u, t in zip(joined, join, top, rest, strict=True)
        ]
        squares, own = _squares(rows, weights, grow)
        for old, new in zip(found, squares, strict=True):
            old[:] = [x.max(y) for x, y in zip(old, new, strict=True)]
        second = [x.max(y) for x, y in zip(second, own, strict=True)]
    return Moments(grow, found, second)


def _squares(rows: Sequence[Row], weights: Row, grow: arb) -> tuple[list[list[arb]], list[arb]]:
    """The sums over outputs of q (R_i - a R_j)^2 for all i and j, and of q R_j^2 for all j."""
    weighted = [[q * r for q, r in zip(weights, row, strict=True)] for row in rows]
    own = [
        total(x * r for x, r in zip(w, row, strict=True))
        for w, row in zip(weighted, rows, strict=True)
    ]
    left = [[*row, d, arb(1)] for row, d in zip(rows, own, strict=True)]
    double, square = -2 * grow, grow * grow
    right = [
        [*(double * x for x in w), arb(1), square * d] for w, d in zip(weighted, own, strict=True)
    ]
    return (arb_mat(left) * arb_mat(right).transpose()).tolist(), own


def surely_met(
    moments: Moments,
    rows: Sequence[Row],
    hidden: arb,
    alpha: arb,
    n: int,
    grow: arb,
    target: arb,
) -> set[tuple[int, int]]:
    """Ordered pairs of rows whose bound is certainly at most the target.

    Parameters
    ----------
    moments : Moments
        From ``second_moments``, for tilts up to at least ``alpha``.
    rows : sequence of rows
        The laws passed to ``second_moments``.
    hidden : arb
        Mass of the reservoir.
    alpha : arb
        The tilt.
    n : int
        Number of users.
    grow : arb
        a = e^eps.
    target : arb
        The target delta.
    """
    # The loss if nobody else is in the reservoir: int (1 - s) g_+ <= 1.
    left = target - (1 - hidden).nonnegative_part() ** (n - 1)
    if not left > 0:
        return set()
    sums = [total(row) for row in rows]
    most, least = _largest(sums), -_largest([-x for x in sums])
    # |beta| + |t_x|, with the left-over where these masses sum to less than 1.
    mass = most.max(arb(1))
    room = (2 * alpha * n * left) ** (arb(1) / n) - mass - alpha * (most - grow * least)
    if not room > 0:
        return set()
    limit, apart = (2 * room).sqrt() / alpha, abs(grow - moments.grow)
    limits = [(limit - apart * x.sqrt()).nonnegative_part() for x in moments.second]
    squares = [(x * x).lower() for x in limits]
    return {
        (i, j)
        for i, row in enumerate(moments.gains)
        for j, (value, square) in enumerate(zip(row, squares, strict=True))
        if value <= square
    }


def _phi(z: arb) -> arb:
    """An upper bound of phi(z) = 2 (e^z - 1 - z)/z^2 for z >= 0."""
    return 2 * (z.exp() - 1 - z) / (z * z) if z > _SMALL else z.exp()


def _largest(values: Sequence[arb]) -> arb:
    found = values[0]
    for value in values[1:]:
        found = found.max(value)
    return found


# ----------------------------------------------------------------------------- estimates in floats


def about_weights(law: Floats, beta: Floats, join: Floats, alpha: float) -> list[Floats]:
    """q_x of every row, in floats."""
    top = law.max(axis=0)

    def phi(z: Floats) -> Floats:
        return np.where(z > _SMALL, 2.0 * (np.expm1(z) - z) / (z * z), 1.0)

    joined = join * join * phi(alpha * join * top / beta) / beta
    stay = 1.0 - join
    rest = np.maximum(law - beta, 0.0)
    return [joined + stay * stay * phi(alpha * stay * top / t) / t for t in rest]


def about_moments(law: Floats, weights: Sequence[Floats], grow: float) -> Floats:
    """The largest sum over outputs of q_x g^2 for each ordered pair of rows, in floats."""
    found = np.zeros((len(law), len(law)))
    for q in weights:
        products = (law * q) @ law.T
        own = np.diag(products)
        new = own[:, None] + grow * grow * own - 2.0 * grow * products
        found = np.fmax(found, np.where(np.isnan(new), np.inf, new))
    return found
