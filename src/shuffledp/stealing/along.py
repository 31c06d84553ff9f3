"""The label-stealing bound of log delta at many eps, as composing rounds asks for it.

Free numbers are proposed at anchors, a fixed sequence of eps, and shared by all eps between two of
them: any choice is valid (docs/theory-stealing.md, Theorem 2.3), so that only the certified sum is
left to do at each eps. The anchors are a function of the mechanism and of n alone, and so is the
bound at an eps, whatever was asked before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from shuffledp.errors import NotCertified
from shuffledp.numerics.roots import bracketed_root
from shuffledp.stealing.bound import log_bound
from shuffledp.stealing.cases import Case
from shuffledp.stealing.positive_sum import LARGEST_EXPONENT, Contour
from shuffledp.stealing.proposal import Proposal, contour_of, estimated
from shuffledp.stealing.solve import Curve, Proposed
from shuffledp.stealing.stack import Stack

# Anchors at scale sqrt(3 k), where a normal tail has fallen by e^{-1.5} from one to the next, and
# from the 24th on (eps about 8 times the scale) 5 % apart; twice as wide where bounds take long.
_SPACING = (6.0, 12, 1.1)
# Parts of the way from the last anchor to the next, which has no bound: each halves what is left.
_HALVINGS = 6
# Which cases there are is the same at every level.
_ANY_LEVEL = -40.0
# Half the second derivative of a normal law's log delta against eps/scale, for estimates.
_BENT = 0.2
# What bounds of many types may lose against the sharpest, in log delta: by leaving out sums, and by
# h alpha = 0.08, which costs e^{(h alpha)^2/2}.
_SPARE, _SMOOTHED = 2e-3, 0.08
# The scale is looked for between these eps, to a per cent: anchors may be anywhere.
_SMALLEST, _LARGEST, _NEAR = 1e-14, 40.0, 1e-2


class _Anchor(NamedTuple):
    """Cases, a proposal for each, and the largest of their estimates of log delta."""

    cases: Sequence[Case]
    proposals: Sequence[Proposal]
    log_delta: float


class Bounded(NamedTuple):
    """A certified log delta at an eps, and the free numbers of every case that gave it."""

    log_delta: float
    numbers: tuple[tuple[Any, Contour], ...]


class Along:
    """Upper bounds of log delta at many eps, of one mechanism among n users.

    Parameters
    ----------
    cases_for : callable
        As for ``Curve``.
    n : int
        Users, the victim included.
    """

    def __init__(self, cases_for: Callable[[float], Sequence[Case]], n: int) -> None:
        self._n = n
        # Of the scale's own estimates no cover is asked for.
        self._rough = Curve(cases_for, n)
        self._curve = Curve(self._cases, n)
        self._cases_for = cases_for
        self._anchors: dict[int, _Anchor | None] = {}
        self._parts: dict[tuple[int, int], _Anchor | None] = {}
        self._bounds: dict[tuple[int, int], float] = {}
        self._scale: float | None = None

    def log_upper(self, epsilon: float) -> float:
        """Certified upper bound of log delta at eps >= 0; 0, that is delta <= 1, without."""
        found = self.bounded(epsilon)
        return 0.0 if found is None else found.log_delta

    def rough(self, epsilon: float) -> float:
        """About the same: a parabola between anchors; 0 where there is no bound."""
        between = self._between(epsilon)
        if between is None:
            return 0.0
        k, share, left, right = between
        ends = (left.log_delta, right.log_delta)
        if ends[1] == -math.inf:
            return ends[0]
        gap = (self._eps(k + 1) - self._eps(k)) / self.scale
        bend = min(_BENT * share * (1.0 - share) * gap * gap, 1.0)
        return (1.0 - share) * ends[0] + share * ends[1] + bend

    def bounded(self, epsilon: float) -> Bounded | None:
        """The bound and the numbers it is at; None where there is none."""
        return self._if_any(epsilon, apart=False)

    def reproduced(self, epsilon: float) -> Bounded | None:
        """The largest bound of all cases, each at its own numbers at this very eps.

        ``bounded`` may leave out a case because of its bound at the anchor before, which says
        nothing of the sum at the numbers here: and these are all that a reader has.
        """
        return self._if_any(epsilon, apart=True)

    def _if_any(self, epsilon: float, *, apart: bool) -> Bounded | None:
        try:
            return self._bounded(epsilon, apart=apart)
        except NotCertified:
            return None

    def _bounded(self, epsilon: float, *, apart: bool) -> Bounded | None:
        between = self._between(epsilon)
        if between is None:
            return None
        k, share, left, right = between
        if right.log_delta == -math.inf:
            # The next anchor is beyond the local guarantee: nothing there to share.
            return self._in_parts(k, share, left, epsilon, apart=apart)
        made = [
            Proposal(q.choice, _between(p.contour, q.contour, share), q.log_delta)
            for p, q in zip(left.proposals, right.proposals, strict=True)
        ]
        return self._with(epsilon, (right.cases, made), k, left, apart=apart)

    def _in_parts(
        self, k: int, share: float, left: _Anchor, epsilon: float, *, apart: bool
    ) -> Bounded | None:
        """The way from anchor k to k + 1 is halved again and again: eps shares its part's choices.

        Those of the part's end, with contours for eps. Choices of its own where the part has none,
        or where they bound delta by more than what is estimated at the part's beginning.
        """
        part = next((j for j in range(1, _HALVINGS + 1) if share <= 1.0 - 0.5**j), None)
        end = None if part is None else self._part(k, part)
        if part is not None and end is not None and end.log_delta > -math.inf:
            before = left if part == 1 else self._part(k, part - 1)
            made = [
                estimated(case, epsilon, proposal.choice, self._n)
                for case, proposal in zip(end.cases, end.proposals, strict=True)
            ]
            shared = [one for one in made if one is not None]
            if before is not None and len(shared) == len(made):
                found = self._with(epsilon, (end.cases, shared), k, left, apart=apart)
                if found.log_delta <= before.log_delta:
                    return found
        own = self._curve.proposals(epsilon)
        return None if own is None else self._with(epsilon, own, k, left, apart=apart)

    def _part(self, k: int, part: int) -> _Anchor | None:
        if (k, part) not in self._parts:
            start, end = self._eps(k), self._eps(k + 1)
            try:
                proposed = self._curve.proposals(start + (1.0 - 0.5**part) * (end - start))
            except NotCertified:
                proposed = None
            self._parts[k, part] = None if proposed is None else _made(proposed)
        return self._parts[k, part]

    def _with(
        self,
        epsilon: float,
        proposed: Proposed,
        k: int,
        left: _Anchor,
        *,
        apart: bool,
    ) -> Bounded:
        """The largest bound of all cases.

        delta of a case falls in eps: where its bound at the anchor before is no larger than that of
        the others here it need not be evaluated, unless each is asked for at its own numbers.
        """
        cases, proposals = proposed
        order = sorted(range(len(proposals)), key=lambda i: -proposals[i].log_delta)
        best = -math.inf
        numbers = [(p.choice, p.contour) for p in proposals]
        for place, i in enumerate(order):
            if place and not apart and self._bound_at(k, i, left) <= best:
                continue
            value, contour = self._evaluated(cases[i], epsilon, proposals[i], best)
            best, numbers[i] = max(best, value), (proposals[i].choice, contour)
        return Bounded(min(best, 0.0), tuple(numbers))

    def _bound_at(self, k: int, i: int, anchor: _Anchor) -> float:
        """Certified bound of one case at an anchor."""
        if (k, i) not in self._bounds:
            self._bounds[k, i] = self._evaluated(
                anchor.cases[i], self._eps(k), anchor.proposals[i], -math.inf
            )[0]
        return self._bounds[k, i]

    def _evaluated(
        self, case: Case, epsilon: float, proposal: Proposal, enough: float
    ) -> tuple[float, Contour]:
        """The certified bound and where its sum was taken."""
        gains = case.certified_gains(epsilon, proposal.choice)
        top = gains.top()
        contour = proposal.contour
        if isinstance(gains.types, Stack):
            contour = contour.smoothed(_SMOOTHED)
        if contour.alpha * top > LARGEST_EXPONENT:
            contour = contour_of(0.99 * LARGEST_EXPONENT / top, 0.0)
        return log_bound(gains, self._n, contour, enough=enough, spare=_SPARE), contour

    # ---------------------------------------------------------------------------- the anchors

    def _between(self, epsilon: float) -> tuple[int, float, _Anchor, _Anchor] | None:
        """The anchor before eps, how far eps is on the way to the next one, and both."""
        if self._n < 2 or epsilon >= _LARGEST:
            return None
        try:
            k = self._index(epsilon)
            left, right = self._anchor(k), self._anchor(k + 1)
        except NotCertified:
            return None
        if left is None or right is None or left.log_delta == -math.inf:
            return None
        start, end = self._eps(k), self._eps(k + 1)
        return k, min(max((epsilon - start) / (end - start), 0.0), 1.0), left, right

    def _eps(self, k: int) -> float:
        """The k-th anchor."""
        square, even, apart = _SPACING
        if k <= even:
            return self.scale * math.sqrt(square * k)
        return self.scale * math.sqrt(square * even) * apart ** (k - even)

    def _index(self, epsilon: float) -> int:
        """The last anchor that is not beyond eps."""
        square, even, apart = _SPACING
        ratio = epsilon / self.scale
        far = math.sqrt(square * even)
        k = (
            math.floor(ratio * ratio / square)
            if ratio < far
            else even + math.floor(math.log(ratio / far) / math.log(apart))
        )
        # Rounding of the formulas above may be off by one.
        while k > 0 and self._eps(k) > epsilon:
            k -= 1
        while self._eps(k + 1) <= epsilon:
            k += 1
        return k

    def _anchor(self, k: int) -> _Anchor | None:
        if k not in self._anchors:
            proposed = self._curve.proposals(self._eps(k))
            self._anchors[k] = None if proposed is None else _made(proposed)
        return self._anchors[k]

    @property
    def scale(self) -> float:
        """About the eps at which delta has fallen by a factor e; the unit of the anchors."""
        if self._scale is None:
            self._scale = self._find_scale()
        return self._scale

    def _cases(self, log_delta: float) -> list[Case]:
        return [case.along(self.scale) for case in self._cases_for(log_delta)]

    def _find_scale(self) -> float:
        goal = self._rough.rough(0.0) - 1.0

        def gap(log_eps: float) -> float:
            return max(self._rough.rough(math.exp(log_eps)), -1e6) - goal

        low, high = math.log(_SMALLEST), math.log(_LARGEST)
        if gap(high) >= 0.0:
            return _LARGEST
        start = min(max(-0.5 * math.log(self._n), low), high - 1.0)
        while gap(start) < 0.0 and start > low:
            start, high = max(start - 2.0, low), start
        while start < high and gap(min(start + 2.0, high)) > 0.0:
            start += 2.0
        if gap(start) <= 0.0:
            return math.exp(start)
        end = min(start + 2.0, high)
        return math.exp(bracketed_root(gap, start, end, absolute=_NEAR))


def _made(proposed: Proposed) -> _Anchor:
    cases, proposals = proposed
    return _Anchor(cases, proposals, max(p.log_delta for p in proposals))


def _between(first: Contour, second: Contour, share: float) -> Contour:
    """A contour on the way from one to another."""
    alpha, smoothing, step = (
        math.exp((1.0 - share) * math.log(a) + share * math.log(b))
        for a, b in zip(first[:3], second[:3], strict=True)
    )
    nodes = max(first.nodes, second.nodes)
    return Contour(alpha, smoothing, step, nodes)
