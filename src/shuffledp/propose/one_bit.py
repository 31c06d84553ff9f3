"""One-bit reports: log delta of the worst data set, as a curve over eps.

The pair of inputs with the largest and the least probability of a 1, in both orders, among others
who hold one of these two, is sufficient (docs/theory-binary.md, Theorem 3.2).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from shuffledp.arithmetic.balls import ctx
from shuffledp.arithmetic.intervals import LogInterval, log_interval
from shuffledp.ball.record import Definition
from shuffledp.bounds.integer_noise import NoiseLaw
from shuffledp.bounds.one_bit import OneBit, largest
from shuffledp.bounds.pairs import End
from shuffledp.propose.profile import LARGEST_EPSILON, LOOSE

__all__ = ["AllDataSets", "DataSet"]

# Number of victims kept, each at an eps in an order.
_KEPT = 4
# Relative width of delta to which a witness is the worst data set.
_WITNESS = 1e-9


class DataSet(NamedTuple):
    """The victim's first input, and the number of others who hold it; all others hold the other."""

    x0: Any
    held: int


class AllDataSets:
    """Certified values of one-bit reports among n users.

    Parameters
    ----------
    mechanism : Definition
        A mechanism with two outputs, or with a vector of bits, of which one is seen.
    n : int
        Users, the victim included.
    noise : NoiseLaw, optional
        The noise added to the number of ones.
    """

    def __init__(self, mechanism: Definition, n: int, noise: NoiseLaw | None = None) -> None:
        bits = mechanism.added_bits()
        if bits is None:
            raise ValueError("mechanism: wanted one whose reports are bits")
        self.mechanism, self.bits, self.n, self.noise = mechanism, bits, n, noise
        self._precision = OneBit.precision(n - 1)
        # If the laws are mirror images, the second order is the mirror image of the first.
        self._firsts = bits.inputs[1:] if bits.mirrored else bits.inputs[::-1]
        self._victims: dict[tuple[Any, float], OneBit] = {}
        self._values: dict[tuple[DataSet, float], LogInterval] = {}
        self._found: dict[tuple[float, float], tuple[LogInterval, DataSet]] = {}

    def __reduce__(self) -> tuple[type[AllDataSets], tuple[Any, ...]]:
        return AllDataSets, (self.mechanism, self.n, self.noise)

    def of_dataset(self, held: DataSet, epsilon: float) -> LogInterval:
        """Both ends of log delta for one data set."""
        if held.x0 not in self._firsts:
            # The mirror image: the other input, with as many users who hold it.
            held = held._replace(x0=self._firsts[0])
        if (held, epsilon) not in self._values:
            with ctx.workprec(self._precision):
                found = self._victim(held.x0, epsilon).of_dataset(held.held, self.n - 1 - held.held)
                self._values[held, epsilon] = log_interval(found.lower(), found.upper())
        return self._values[held, epsilon]

    def log_delta(
        self,
        epsilon: float,
        *,
        width: float = LOOSE,
        end: End = "both",
        target: float | None = None,
        off: float = 0.0,
    ) -> LogInterval:
        """Both ends of log delta over all data sets at eps >= 0 (nats), about ``width`` apart."""
        del end, target, off
        return self._worst(epsilon, width)[0]

    def rough_log_delta(self, epsilon: float) -> float:
        """An estimate of log delta from data sets in which all others hold the same value."""
        alike = [DataSet(x0, held) for x0 in self._firsts for held in {0, self.n - 1}]
        return max(self.of_dataset(held, min(epsilon, LARGEST_EPSILON)).low for held in alike)

    def witness(self, epsilon: float) -> dict[str, Any]:
        """The worst data set at this eps, to a billionth of delta: x0, x1 and what others hold."""
        (x0, held), (low, high) = self._worst(epsilon, _WITNESS)[1], self.bits.inputs
        x1 = low if x0 == high else high
        return {"x0": x0, "x1": x1, "others": [[x0, held], [x1, self.n - 1 - held]]}

    def variance(self) -> float:
        """An estimate of the variance of the loss at eps = 0 by the central limit theorem."""
        with ctx.workprec(64):
            low, high = (float(self.bits.law(x).share.mid()) for x in self.bits.inputs)
        room = max(min(high * (1.0 - high), low * (1.0 - low)), 1.0 / self.n)
        noise = 0.0 if self.noise is None else self.noise.variance
        return (high - low) ** 2 / (self.n * room + noise)

    def log_floor(self) -> float:
        """Lower bound of log delta at every eps: a bit that only one of the inputs sends."""
        with ctx.workprec(self._precision):
            low, high = (self.bits.law(x) for x in self.bits.inputs)
            told = [high.share] if low.one.is_zero() else []
            told += [low.rest] if high.zero.is_zero() else []
            if self.noise is not None or not told:
                return -math.inf
            return max(log_interval(share, share).low for share in told)

    @property
    def rarest(self) -> float:
        """An estimate of the least of P(0) and P(1) over both inputs."""
        with ctx.workprec(64):
            laws = [self.bits.law(x) for x in self.bits.inputs]
            return min(float(p.mid()) for law in laws for p in (law.share, law.rest))

    def _worst(self, epsilon: float, width: float) -> tuple[LogInterval, DataSet]:
        """Both ends, and the data set that attains the lower one."""
        if (epsilon, width) not in self._found:
            self._found[epsilon, width] = self._largest(epsilon, width)
        return self._found[epsilon, width]

    def _largest(self, epsilon: float, width: float) -> tuple[LogInterval, DataSet]:
        at, found = min(epsilon, LARGEST_EPSILON), list[tuple[LogInterval, DataSet]]()
        with ctx.workprec(self._precision):
            for x0 in self._firsts:
                ends, held = largest(self._victim(x0, at), width=width)
                found.append((ends, DataSet(x0, held)))
        (low, _), worst = max(found, key=lambda one: one[0].low)
        # delta does not increase in eps.
        low = low if at == epsilon else -math.inf
        return LogInterval(low, max(ends.high for ends, _ in found)), worst

    def _victim(self, x0: Any, epsilon: float) -> OneBit:
        key = (x0, epsilon)
        if key not in self._victims:
            self._victims = dict(list(self._victims.items())[1 - _KEPT :])
            low, high = (self.bits.law(x) for x in self.bits.inputs)
            # An input with the smaller P(1) has the larger P(0).
            laws = (high, low) if x0 == self.bits.inputs[1] else (low.flipped, high.flipped)
            self._victims[key] = OneBit(*laws, others=self.n - 1, epsilon=epsilon, noise=self.noise)
        return self._victims[key]
