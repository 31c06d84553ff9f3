"""A sum that is one number: the transform of which everything is known in closed form."""

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.contour import Nodes

U = 2.0**-53


@dataclass
class Point:
    """S = x for certain, in units of e^log_scale."""

    x: float
    alpha: float
    log_scale: float = 0.0
    highest: float = math.inf
    scale_error: float = 0.0
    size: int = 1
    must_stop: bool = False

    def log_growth(self, b):
        return b * self.x - self.log_scale + 4 * U * (abs(b * self.x) + abs(self.log_scale))

    def nodes(self, step, count):
        t = np.arange(count + 1, dtype=np.float64)[None, :] * step
        value = np.exp(self.alpha * self.x - self.log_scale) * np.exp(1j * t * self.x)
        err = np.abs(value) * U * (64.0 + 8.0 * t * abs(self.x) + 8.0 * abs(self.log_scale))
        yield Nodes(True, t, np.ones(t.shape, dtype=bool), value, err)

    def early_stop(self, payoff, *, smoothing, step, log_guard):
        return None


def peak(payoff, b):
    """Where f(y) e^{-b y} is largest."""
    return 1.0 / b if payoff.gap == 0.0 else math.log1p(1.0 / b)


def exact(payoff, y):
    """f(y) as a ball, from a ball."""
    if not y > 0:
        return y * 0
    return y if payoff.gap == 0.0 else -(-y).expm1()
