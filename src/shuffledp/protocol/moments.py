"""Moments of a bounded numeric column from additive-noise reports.

A report is Y = X + Z with known noise, so E Y^k = sum_j C(k, j) E X^(k-j) E Z^j, which is solved
for the moments of X one after the other: unbiased. (The shuffle-index paper's experiment.) All of
it is done about the middle c of the inputs' interval: E X^k = sum_j C(k, j) c^(k-j) E (X - c)^j
comes last, and the variance is made of moments about c, so that no digit is lost far from 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp.errors import NotCertified
from shuffledp.randomizers import Gaussian, GeneralizedGaussian, Laplace, Randomizer
from shuffledp.randomizers.values import RefusedRows

Floats = npt.NDArray[np.floating[Any]]
HIGHEST = 8


def _shift(centre: float, order: int) -> tuple[Floats, Floats]:
    """Matrix and vector that take moments about c to moments about 0."""
    whole = np.array(
        [
            [math.comb(k, j) * centre ** (k - j) if j <= k else 0.0 for j in range(order + 1)]
            for k in range(1, order + 1)
        ]
    )
    return whole[:, 1:], whole[:, 0]


def middle(randomizer: Any) -> float:
    """Middle of the inputs' interval."""
    return 0.5 * randomizer.low + 0.5 * randomizer.high


def noise_moments(randomizer: Randomizer, order: int) -> Floats:
    """E Z^j, j = 0 .. order, of the noise a randomizer adds; NotCertified where it adds none."""
    unit, scale = _unit_moments(randomizer, order), _scale(randomizer)
    return np.array([value * scale**j if value else 0.0 for j, value in enumerate(unit)])


def _unit_moments(randomizer: Randomizer, order: int) -> list[float]:
    """The same in units of ``_scale``: whole numbers, but for a shape of other noise."""
    if isinstance(randomizer, Gaussian):
        even = [float(math.prod(range(j - 1, 0, -2))) for j in range(order + 1)]
    elif isinstance(randomizer, Laplace):
        even = [float(math.factorial(j)) for j in range(order + 1)]
    else:
        _scale(randomizer)  # NotCertified where there is no known noise
        b: float = randomizer.shape  # type: ignore[attr-defined]
        even = [math.exp(math.lgamma((j + 1) / b) - math.lgamma(1 / b)) for j in range(order + 1)]
    return [value if j % 2 == 0 else 0.0 for j, value in enumerate(even)]


def _scale(randomizer: Randomizer) -> float:
    """Standard deviation of Gaussian noise; else s of a density exp(-(|z|/s)^b)."""
    if isinstance(randomizer, Gaussian):
        return randomizer.sigma
    if isinstance(randomizer, Laplace):
        return (randomizer.high - randomizer.low) / randomizer.eps0
    if isinstance(randomizer, GeneralizedGaussian):
        return randomizer.scale
    raise NotCertified(f"{randomizer.name}: moments need additive noise with known moments")


def unmixing(randomizer: Randomizer, order: int) -> Floats:
    """Matrix A with E X^k = sum_j A[k, j] E Y^j, shape (order + 1, order + 1).

    A[k, j] = C(k, j) w_(k-j), where sum_j C(k, j) w_j E Z^(k-j) is 1 for k = 0 and else 0. It is
    solved in units of the noise: an inverse by elimination loses its digits where powers are of
    different sizes.
    """
    noise, scale = _unit_moments(randomizer, order), _scale(randomizer)
    back = np.zeros(order + 1)
    back[0] = 1.0
    for k in range(1, order + 1):
        back[k] = -math.fsum(math.comb(k, j) * back[j] * noise[k - j] for j in range(k))
    found = np.zeros((order + 1, order + 1))
    for k in range(order + 1):
        for j in range(k + 1):
            found[k, j] = math.comb(k, j) * back[k - j] * scale ** (k - j)
    return found


def noise_covariance(randomizer: Randomizer, exact: Floats, order: int) -> Floats:
    """Covariance of moments 1 .. K from one report, the values being fixed, shape (K, K).

    With m_i(x) = E (x + Z)^i, Cov(Y^i, Y^j | x) = m_{i+j}(x) - m_i(x) m_j(x); its mean over the
    users is linear in the moments of the values up to 2K, ``exact``, about any one point.
    """
    z = noise_moments(randomizer, 2 * order)
    width = 2 * order + 1
    # Row i: m_i(x) as a polynomial in x.
    rows = np.array(
        [
            [math.comb(i, j) * z[i - j] if j <= i else 0.0 for j in range(width)]
            for i in range(width)
        ]
    )
    inner = np.empty((order + 1, order + 1))
    for i in range(order + 1):
        for j in range(order + 1):
            product = np.convolve(rows[i, : i + 1], rows[j, : j + 1])
            inner[i, j] = rows[i + j] @ exact - product @ exact[: product.size]
    a = unmixing(randomizer, order)
    return (a @ inner @ a.T)[1:, 1:]


def power_sums(randomizer: Any, reports: Floats, order: int) -> Floats:
    """Sums of (Y - c)^j, j = 0 .. 2 order: what adds up over batches.

    Raises
    ------
    ParameterError
        If a report, or its highest power, is no finite number.
    """
    centred = np.asarray(reports, dtype=np.float64) - middle(randomizer)
    with np.errstate(over="ignore", invalid="ignore"):
        bad = ~np.isfinite(centred ** (2 * order))
    if bool(bad.any()):
        raise RefusedRows("reports", reports, bad, "finite numbers")
    powers = np.ones_like(centred)
    sums = np.empty(2 * order + 1)
    for j in range(2 * order + 1):
        sums[j] = powers.sum()
        powers = powers * centred
    return sums


def estimated_moments(
    randomizer: Randomizer, sums: Floats, order: int
) -> tuple[Floats, Floats, Floats]:
    """Moments 1 .. K, and from K = 2 on the variance, with their errors.

    Parameters
    ----------
    randomizer : Gaussian, Laplace or GeneralizedGaussian
        What made the reports.
    sums : ndarray
        ``power_sums`` of all reports.
    order : int
        K.

    Returns
    -------
    tuple of ndarray
        Unbiased estimates, in the units of the input to each power, from the square the bias taken
        off that the noise gives it; standard errors of the noise with the data fixed; and of
        drawing the users.
    """
    n = int(sums[0])
    found = unmixing(randomizer, 2 * order) @ (np.asarray(sums, dtype=np.float64) / n)
    index = np.arange(1, order + 1)
    central = found[index]
    spread = found[index[:, None] + index[None, :]] - np.outer(central, central)
    noise = noise_covariance(randomizer, found, order) / n
    slopes, start = _shift(middle(randomizer), order)
    values = start + slopes @ central
    if order >= 2:
        # By the delta method.
        slopes = np.vstack([slopes, [-2.0 * central[0], 1.0, *np.zeros(order - 2)]])
        values = np.append(values, central[1] - central[0] ** 2 + noise[0, 0])
    errors = (
        np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slopes, c, slopes), 0.0))
        for c in (noise, spread / n)
    )
    return values, *errors
