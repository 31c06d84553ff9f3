"""Free numbers searched for where few messages are hidden by few: nothing here certifies.

With some tens of messages in the blanket the best reservoir is most of it, or the part of it that
says nothing, and no list of sizes comes near. So the bound itself is minimised over its numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shuffledp.pair import Array
from shuffledp.stealing.bound import log_bound
from shuffledp.stealing.cases import Case
from shuffledp.stealing.choices import MOST
from shuffledp.stealing.positive_sum import LARGEST_EXPONENT, MOST_NODES, Contour, nodes_of
from shuffledp.stealing.proposal import Proposal, estimated, propose, served

# Searched where an empty reservoir needs more than this share of the blanket: with less of it the
# sizes that are listed are within about 0.1 % of eps of the best.
_FEW = 0.06
# Places in eps that are searched from afar: six in a factor of two.
_PLACES = 6.0
# Evaluations of a search from afar, by coordinates, and of one from near the best.
_FAR_CALLS, _NEAR_CALLS = 24, 6
# First steps from afar in logs of shares, in weights' logits and in log alpha; from near.
_SHARE_STEP, _WEIGHT_STEP, _ALPHA_STEP, _NEAR = -0.6, 1.5, 0.06, 0.2
# Searches that are kept.
_MOST_FOUND = 64
# Rounds of guessing how large delta is, from here.
_GUESS, _GUESSES, _DEEPEST = -20.0, 3, -3000.0
# Logits of weights that stand for 0, and the least log of a share.
_NOTHING, _LEAST_LOG = -12.0, -40.0
# Where nothing is bounded.
_WORST = 1e3
# A smoothing of 0.15/alpha costs 1 % of delta whatever the numbers are: enough to compare them.
_ROUGH = 0.15


class Search:
    """Better numbers than those of a proposal, kept for the cases of one question.

    A search from afar at a place near eps, the same for all eps near it, and one from there at eps:
    what is found is a function of eps alone.

    Parameters
    ----------
    n : int
        Users, the victim included.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._found: dict[tuple[int, int], tuple[Case, Proposal | None]] = {}

    def sharpened(self, case: Case, epsilon: float, found: Proposal, log_delta: float) -> Proposal:
        """The proposal itself, or what a search finds that seems better.

        Parameters
        ----------
        case : Case
            What the bound is about.
        epsilon : float
            eps > 0 in nats.
        found : Proposal
            What there is.
        log_delta : float
            About the bound at eps: the searching is for reservoirs that it makes large.
        """
        few = epsilon > 0.0 and case.least_share(log_delta, self._n) > _FEW
        if not few or _space(found.choice) is None:
            return found
        place = round(_PLACES * math.log2(epsilon))
        key = (id(case), place)
        if key not in self._found:
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            # With the case, so that its id stays its own.
            self._found[key] = (case, self._from_afar(case, 2.0 ** (place / _PLACES)))
        start = self._found[key][1] or found
        near = estimated(case, epsilon, start.choice, self._n)
        if near is None:
            return found
        contour = _tilted(near.contour, start.contour.alpha / near.contour.alpha)
        start = Proposal(start.choice, contour, math.inf)
        better = _minimised(case, epsilon, self._n, start, _NEAR_CALLS, _NEAR)
        # What the search compared were bounds with few nodes.
        if better is None or not self._bound(case, epsilon, better) < self._bound(
            case, epsilon, found
        ):
            return found
        return better

    def _bound(self, case: Case, epsilon: float, proposal: Proposal) -> float:
        return _bound_at(case, epsilon, self._n, proposal.choice, proposal.contour)

    def _from_afar(self, case: Case, epsilon: float) -> Proposal | None:
        guess = _GUESS
        for _ in range(_GUESSES):
            guess, choice = served(lambda g: case.first(epsilon, g, self._n), guess)
            near = None if choice is None else estimated(case, epsilon, choice, self._n)
            if near is None:
                return None
            guess = min(max(near.log_delta, _DEEPEST), -0.1)
        start = propose(case, epsilon, guess, self._n)
        if start is None or not math.isfinite(start.log_delta):
            return None
        return _minimised(case, epsilon, self._n, start, _FAR_CALLS, 1.0)


def _minimised(
    case: Case, epsilon: float, n: int, start: Proposal, calls: int, step: float
) -> Proposal | None:
    """The least bound that some evaluations find; None where there is none."""
    space = _space(start.choice)
    if space is None:
        return None
    rough = _rough(start.contour)

    def value(x: Array) -> float:
        choice = space.choice(x)
        if choice is None:
            return _WORST + float(np.abs(x).sum())
        return _bound_at(case, epsilon, n, choice, _tilted(rough, math.exp(float(x[-1]))))

    first = space.first
    # Here, as its import is a quarter of a command's time.
    from scipy.optimize import minimize

    result = minimize(
        value,
        first,
        method="Nelder-Mead",
        options={
            "maxfev": calls * first.size,
            "xatol": 1e-3,
            "fatol": 1e-4,
            "initial_simplex": np.vstack([first, first + step * np.diag(space.steps)]),
        },
    )
    choice = space.choice(result.x)
    near = None if choice is None else estimated(case, epsilon, choice, n)
    if near is None:
        return None
    alpha = start.contour.alpha * math.exp(float(result.x[-1]))
    contour = _tilted(near.contour, alpha / near.contour.alpha)
    return Proposal(near.choice, contour, float(result.fun))


def _bound_at(case: Case, epsilon: float, n: int, choice: Any, at: Contour) -> float:
    """The bound, or one that is worse than any where the contour is too far out."""
    gains = case.gains(epsilon, choice)
    top = max(float(law.gain.max(initial=0.0)) for law in (gains.reservoir, *gains.types))
    return log_bound(gains, n, at) if at.alpha * top < LARGEST_EXPONENT else _WORST


class _Space:
    """Numbers of a choice as a point without bounds; the last coordinate is a log of alpha's."""

    def __init__(self, old: Any, shares: tuple[str, ...]) -> None:
        self._old, self._shares = old, shares
        weights = np.array(getattr(old, "weights", (1.0,)))
        # Types without a weight may matter as well: all start with a little.
        self._free = weights.size if weights.size <= 3 else 1
        logits = np.log(np.maximum(weights / weights.max(), math.exp(_NOTHING / 3.0)))
        logs = [math.log(max(getattr(old, name), 1e-12)) for name in shares]
        extra = self._free if self._free > 1 else 0
        self.first = np.array([*logs, *logits[:extra], 0.0])
        self.steps = np.array(
            [_SHARE_STEP] * len(shares) + [_WEIGHT_STEP] * extra + [_ALPHA_STEP], dtype=float
        )

    def choice(self, x: Array) -> Any | None:
        """The choice at a point; None outside."""
        logs = x[: len(self._shares)]
        if bool((logs > math.log(MOST)).any()):
            return None
        given: dict[str, Any] = {
            name: math.exp(max(float(log), _LEAST_LOG))
            for name, log in zip(self._shares, logs, strict=True)
        }
        if self._free > 1:
            logits = x[len(self._shares) : -1]
            weights = np.exp(np.clip(logits - logits.max(), 3.0 * _NOTHING, 0.0))
            given["weights"] = tuple(float(w) for w in weights / weights.sum())
        return self._old._replace(**given)


def _space(choice: Any) -> _Space | None:
    return _Space(choice, ("kappa", "theta")) if math.isinf(choice.ceiling) else None


def _tilted(at: Contour, factor: float) -> Contour:
    """The same contour at another tilt, smoothed as much against it."""
    nodes = math.ceil(min(at.nodes * max(1.0, factor), MOST_NODES))
    return Contour(at.alpha * factor, at.smoothing / factor, at.step, nodes)


def _rough(at: Contour) -> Contour:
    """With fewer nodes, to compare."""
    h = max(_ROUGH / at.alpha, at.smoothing)
    return Contour(at.alpha, h, at.step, min(at.nodes, nodes_of(h, at.step)))
