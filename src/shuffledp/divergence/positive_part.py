"""Certified E[S]_+, S = G_1 + ... + G_n: the transform M(s)^n, M(s) = E e^{sG}, of a law of gains.

    E[S]_+ = (1/2 pi i) int_{Re s = alpha} M(s)^n / s^2 ds.

docs/theory.md, section 6, bounds every error; ``shuffledp.contour`` evaluates the integral.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.contour import ONE_ROUND, Effort, Nodes, Payoff, Stop, expectation
from shuffledp.contour.stop import RATIO, smoothed_away, stop_by_windows
from shuffledp.divergence.decay import Decay, SplitDecay
from shuffledp.divergence.gain import GainLaw
from shuffledp.divergence.nodes import node_blocks
from shuffledp.divergence.tilt import Tilt

# Who asks for more than nine digits of delta (rtol of eps below 1e-9, about) asks for nodes as one
# over the root of the width, in each of some twenty brackets: a third of a second is for each of
# them (0.2 microseconds a node, of which an atom is a sixth or so), and the attempts within one.
EFFORT = Effort(attempts=7, nodes=1 << 23, work=600_000_000, fine=1e-9, fine_work=10_000_000)
_LEAST_INTERVALS = 60
_AMPLE = 3.0
# With more messages a law with a continuous part decays, or its rare form is used.
_FEW = 15
_NOTHING_LEFT = 700.0


class GainSum:
    """S = G_1 + ... + G_n, relative to M(alpha)^n (or to M^n - M_-^n, in the rare form).

    Parameters
    ----------
    law : GainLaw
        Law of G with 0 strictly inside [law.low, law.high].
    n : int
        Number of independent terms.
    tilt : Tilt
        The saddle point (any alpha > 0 is valid).
    decay : Decay or SplitDecay, optional
        For laws with a continuous part: bounds on |phi| that spare the far nodes.

    Attributes
    ----------
    alpha, log_scale : float
        The tilt, and about n log M(alpha).
    scale_error : float
        0: all errors are counted relative to the scale as the float it is.
    highest : float
        n max G.
    size : int
        Atoms.
    must_stop : bool
        A law with a continuous part decays, unless there are few messages.
    """

    def __init__(
        self, law: GainLaw, n: int, tilt: Tilt, decay: Decay | SplitDecay | None = None
    ) -> None:
        self.law, self.n, self.tilt, self.decay = law, n, tilt, decay
        self.alpha, self.log_scale, self.scale_error = tilt.alpha, tilt.log_scale, 0.0
        self.highest, self.size = n * law.high, law.g.size
        self.must_stop = decay is not None and n > _FEW

    def log_growth(self, b: float) -> float:
        """Upper bound of log M(b)^n less the scale's."""
        return self.tilt.log_growth(self.law, self.n, b)

    def nodes(self, step: float, count: int) -> Iterator[Nodes]:
        """M(s)^n at the nodes."""
        return node_blocks(self.law, self.n, self.tilt, step=step, count=count)

    def early_stop(
        self, payoff: Payoff, *, smoothing: float, step: float, log_guard: float
    ) -> Stop | None:
        """Stop where |phi|^n is certified to be negligible up to where the smoothing takes over."""
        if not self.tilt.variance > 0.0:
            return None
        if self.decay is not None:
            return self._stop_by_decay(payoff, self.decay, smoothing, step, log_guard)
        if self.tilt.rare or self.law.reach is not None:
            return None
        return self._stop_by_range(payoff, smoothing, step, log_guard)

    def _stop_by_range(
        self, payoff: Payoff, h: float, step: float, log_guard: float
    ) -> Stop | None:
        """True atoms: |phi(t)|^n <= exp(-2 n t^2 V/pi^2) for |t| (max G - min G) <= pi."""
        law, alpha, variance = self.law, self.alpha, self.tilt.variance
        # Atoms that count at all must be known well enough for V to be known to 1%.
        blur = float((law.g_err * (alpha * law.g > -_NOTHING_LEFT)).max())
        if blur > 1e-3 * min(1.0 / alpha, math.sqrt(variance)):
            return None
        cut = math.pi / ((law.high - law.low) * (1.0 + 1e-9))
        wide = math.sqrt(2.0 * (log_guard + 1.0)) / cut
        # The tilted variance is known to rounding: 1% is far more than it can be off.
        rate = 2.0 * self.n * 0.99 * variance / (math.pi * math.pi)
        last = math.sqrt((log_guard + 4.0) / rate)
        if wide > h or last >= cut:
            return None
        near = math.exp(-rate * last * last) / (2.0 * rate * last)
        kernel = payoff.modulus(alpha, last)
        far_upper, far_lower = smoothed_away(payoff, alpha, h, cut, step)
        near_lower = near * (kernel + payoff.lowering(h))
        return Stop(last, h, near * kernel + far_upper, near_lower + far_lower)

    def _stop_by_decay(
        self, payoff: Payoff, decay: Decay | SplitDecay, h: float, step: float, log_guard: float
    ) -> Stop | None:
        """Laws with a continuous part: |phi| bounded on intervals [t, RATIO t], one by one."""
        size = partial(decay.log_power, n=self.n, enough=-_AMPLE * log_guard)
        start = 2.0 / math.sqrt(self.n * self.tilt.variance)
        windows = [(start, size(start))]
        far = math.sqrt(2.0 * (log_guard + 1.0)) / h
        while windows[-1][0] * RATIO < far and (
            windows[-1][1] < -log_guard or len(windows) < _LEAST_INTERVALS
        ):
            t = windows[-1][0] * RATIO
            windows.append((t, size(t)))
        # Windows may have come down to single cells: smooth from there on.
        while windows and windows[-1][1] >= -log_guard:
            windows.pop()
        if not windows:
            return None
        cut = windows[-1][0] * RATIO
        h = max(h, math.sqrt(2.0 * (log_guard + 1.0)) / cut)
        budget = 0.1 * math.exp(-log_guard) / self.alpha
        return stop_by_windows(payoff, self.alpha, windows, smoothing=h, step=step, budget=budget)


def expected_positive_part(
    law: GainLaw, n: int, tilt: Tilt, *, width: float, decay: Decay | SplitDecay | None = None
) -> tuple[LogInterval, bool]:
    """Bracket log E[S]_+ to about ``width`` (relative width of E[S]_+), or as near as work allows.

    Also whether errors of the integrand, not the rule, make the bracket's width.

    Parameters
    ----------
    law, n, tilt, decay
        As in ``GainSum``.
    width : float
        Requested relative width, > 0.
    """
    if not math.isfinite(tilt.log_m + tilt.log_scale):
        # alpha max G is so large that M(alpha) is out of range: this tilt says nothing.
        return LogInterval(-math.inf, math.inf), False
    return expectation(GainSum(law, n, tilt, decay), ONE_ROUND, width=width, effort=EFFORT)
