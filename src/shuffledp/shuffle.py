"""The front door: shuffle(randomizer, n) and generic(eps0, n) -> certified eps and delta."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from shuffledp import _check, theorems
from shuffledp.analyses import analysis_named
from shuffledp.bound import Bound, delta_from_log
from shuffledp.composition import Composed, Round, compose
from shuffledp.divergence import LOOSE, EpsilonInterval, solve_epsilon
from shuffledp.errors import NotCertified, rejected
from shuffledp.randomizers import Randomizer
from shuffledp.randomizers.base import DEFAULT_CELLS
from shuffledp.rounds import round_of
from shuffledp.sides import (
    HONEST,
    NEIGHBOURS,
    Family,
    Found,
    Side,
    Source,
    found_epsilon,
    found_log_delta,
    make_side,
    require,
    theorem_of,
)

Trust = Literal["all", "published"]

_FINE_CELLS = 1 << 19
_FINE_RTOL = 1e-7


@dataclass(frozen=True)
class Shuffled:
    """A randomizer among n users behind a shuffler; made by ``shuffle`` or ``generic``.

    Attributes
    ----------
    source : Randomizer or family
        What each user runs.
    n : int
        Users (messages in the shuffle), the one who is protected included.
    rtol : float
        Requested relative width of each analysis' own numerical bracket of eps.
    trust : {"all", "published"}
        "published" leaves out what is proved only in docs/theory.md.
    """

    source: Source
    n: int
    rtol: float = 1e-6
    trust: Trust = "all"
    _sides: dict[str, Side] = field(default_factory=dict, repr=False, compare=False)
    _rounds: dict[str, Round] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def eps0(self) -> float:
        """Local guarantee in nats (inf where there is none)."""
        return float(self.source.eps0)

    def epsilon(self, *, delta: float, analysis: str | None = None) -> Bound:
        """Central eps at a given delta, both ends certified.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        analysis : str, optional
            One analysis alone in place of the best of all; ``analyses()`` lists them.

        Returns
        -------
        Bound
            0 <= lower <= upper; upper is at most the local guarantee.

        Raises
        ------
        ParameterError
            If delta or the analysis' name is outside its domain.
        NotCertified
            If the named analysis does not apply to this randomizer.
        """
        delta = _check.open_unit("delta", delta)
        target = math.log(delta)
        cap = self._local_epsilon(delta)
        upper = Found(cap, theorems.LOCAL, None, {"analysis": "local"}, ())
        for key in self._keys("upper", analysis):
            side = self._side_if_any(key, analysis)
            if side is None:
                continue
            found = solve_epsilon(side.profiles, target, cap=cap, rtol=self.rtol, need_all=True)
            if found.high <= upper.value:
                upper = found_epsilon(side, found.high, found)
            if self._settled(found):
                break
        lower = Found(0.0, None, None, {}, ())
        for key in self._keys("lower", analysis):
            side = self._side_if_any(key, analysis)
            if side is None:
                continue
            found = solve_epsilon(side.profiles, target, cap=cap, rtol=self.rtol, need_all=False)
            if found.low > lower.value:
                lower = found_epsilon(side, found.low, found)
        return self._bound(
            "epsilon", (lower.value, upper.value), lower, upper, {"delta": delta, "n": self.n}
        )

    def delta(self, *, epsilon: float, analysis: str | None = None) -> Bound:
        """Central delta at a given eps, both ends certified; ``log_upper`` where it underflows.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        analysis : str, optional
            One analysis alone in place of the best of all.

        Returns
        -------
        Bound
            0 <= lower <= upper <= 1, with natural logarithms of both ends.

        Raises
        ------
        ParameterError
            If eps or the analysis' name is outside its domain.
        """
        epsilon = _check.epsilon("epsilon", epsilon)
        upper = Found(0.0, theorems.LOCAL, None, {"analysis": "local"}, ())
        if epsilon >= self.eps0:
            upper = Found(-math.inf, theorems.LOCAL, 0.0, {"analysis": "local"}, ())
        else:
            for key in self._keys("upper", analysis):
                side = self._side_if_any(key, analysis)
                if side is None:
                    continue
                brackets = [p.log_delta(epsilon, width=self._width()) for p in side.profiles]
                worst = max(range(len(brackets)), key=lambda i: brackets[i].high)
                if brackets[worst].high <= upper.value:
                    low = max(b.low for b in brackets)
                    upper = found_log_delta(side, worst, brackets[worst].high, low)
                if upper.width is not None and upper.width <= LOOSE:
                    break
        lower = Found(-math.inf, None, None, {}, ())
        if epsilon < self.eps0:
            for key in self._keys("lower", analysis):
                side = self._side_if_any(key, analysis)
                if side is None:
                    continue
                brackets = [p.log_delta(epsilon, width=self._width()) for p in side.profiles]
                best = max(range(len(brackets)), key=lambda i: brackets[i].low)
                if brackets[best].low > lower.value:
                    lower = found_log_delta(
                        side, best, brackets[best].high, brackets[best].low, end="low"
                    )
        ends = delta_from_log(lower.value, upper.value)
        logs = (lower.value, upper.value)
        return self._bound("delta", ends, lower, upper, {"epsilon": epsilon, "n": self.n}, logs)

    def profile(self, epsilons: Iterable[float], *, analysis: str | None = None) -> list[Bound]:
        """delta at each eps: the privacy profile.

        Parameters
        ----------
        epsilons : iterable of float
            Values of eps >= 0 in nats.
        analysis : str, optional
            One analysis alone in place of the best of all.
        """
        return [self.delta(epsilon=e, analysis=analysis) for e in epsilons]

    def compose(self, *, rounds: int) -> Composed:
        """The same mechanism in several rounds on the same users (see ``compose``).

        Parameters
        ----------
        rounds : int
            1 <= rounds <= 1e9.
        """
        return compose([self], rounds=rounds)

    def as_round(self) -> Round:
        """This mechanism as one round of a composition."""
        if "round" not in self._rounds:
            sides = [self._side_if_any(key, None) for key in self._keys("upper", None)]
            self._rounds["round"] = round_of(
                self.source,
                [side for side in sides if side is not None],
                label=getattr(self.source, "name", "generic"),
                eps0=self.eps0,
                n=self.n,
                cells=self._cells(),
                key=(self.source, self.n, self.trust),
            )
        return self._rounds["round"]

    def with_n(self, n: int) -> Shuffled:
        """The same randomizer and settings among another number of users."""
        return Shuffled(self.source, _check.count("n", n), self.rtol, self.trust)

    def _width(self) -> float:
        return max(min(10.0 * self.rtol, LOOSE), 1e-12)

    def _settled(self, found: EpsilonInterval) -> bool:
        """The tightest analysis came out to the requested width: the next cannot be better."""
        return found.high <= found.low * (1.0 + 4.0 * self.rtol)

    def _keys(self, end: str, analysis: str | None) -> list[str]:
        if analysis is not None:
            chosen = analysis_named(analysis)
            if chosen.key != "local" and chosen.end == end:
                require(self.source, chosen.key)
                return [chosen.key]
            return []
        if end == "lower":
            return ["dataset"]
        return [key for key in ("blanket", "stronger-clone", "clone") if self._applies(key)]

    def _applies(self, key: str) -> bool:
        try:
            require(self.source, key)
        except NotCertified:
            return False
        return self.trust == "all" or theorem_of(self.source, key).provenance == "published"

    def _local_epsilon(self, delta: float) -> float:
        """eps of one report alone at this delta."""
        if isinstance(self.source, Family):
            return self.eps0
        return min(self.eps0, self.source.local_epsilon(delta))

    def _side_if_any(self, key: str, analysis: str | None) -> Side | None:
        """The side, or None where it cannot be made and was not asked for by name."""
        try:
            return self._side(key)
        except NotCertified:
            if analysis is not None:
                raise
            return None

    def _side(self, key: str) -> Side:
        if key not in self._sides:
            self._sides[key] = make_side(self.source, key, n=self.n, cells=self._cells())
        return self._sides[key]

    def _cells(self) -> int:
        return DEFAULT_CELLS if self.rtol > _FINE_RTOL else _FINE_CELLS

    def _bound(
        self,
        quantity: Literal["epsilon", "delta"],
        ends: tuple[float, float],
        lower: Found,
        upper: Found,
        at: dict[str, float],
        logs: tuple[float | None, float | None] = (None, None),
    ) -> Bound:
        notes = []
        if upper.theorem is theorems.LOCAL and quantity == "epsilon":
            notes.append(
                "the local guarantee is the active bound: shuffling certifies nothing more"
            )
        notes.extend(
            f"numerical width {side.width:.1e} of the {side.witness['analysis']} analysis: "
            f"more than the {self.rtol:.0e} asked for was not reached in bounded work"
            for side in (upper, lower)
            if side.width is not None and side.width > self._noted_width(quantity)
        )
        low, high = ends
        return Bound(
            quantity=quantity,
            lower=min(low, high),
            upper=high,
            at=at,
            lower_theorem=lower.theorem,
            upper_theorem=upper.theorem,
            assumptions=upper.assumptions or (NEIGHBOURS, HONEST),
            notes=tuple(notes),
            log_lower=logs[0],
            log_upper=logs[1],
            lower_width=lower.width,
            upper_width=upper.width,
            witness={"upper": dict(upper.witness), "lower": dict(lower.witness)},
        )

    def _noted_width(self, quantity: str) -> float:
        return 1.1 * self.rtol if quantity == "epsilon" else 1.1 * self._width()


def shuffle(
    randomizer: Randomizer, *, n: int, rtol: float = 1e-6, trust: Trust = "all"
) -> Shuffled:
    """A randomizer among n users behind a shuffler.

    Parameters
    ----------
    randomizer : Randomizer
        What each user runs.
    n : int
        Users (messages in the shuffle), 1 <= n <= 1e15.
    rtol : float
        Requested relative width of each analysis' numerical bracket of eps, 1e-12 to 0.1.
    trust : {"all", "published"}
        "published" leaves out theorems proved only in docs/theory.md.

    Raises
    ------
    ParameterError
        If an argument is outside its domain.

    Examples
    --------
    >>> import shuffledp as sd
    >>> acc = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
    >>> round(acc.epsilon(delta=1e-6).upper, 5)
    0.38049
    """
    if not isinstance(randomizer, Randomizer):
        raise rejected("randomizer", randomizer, "a randomizer such as KRR(k=10, eps0=4.0)")
    return Shuffled(randomizer, _check.count("n", n), *_settings(rtol, trust))


def generic(
    *, eps0: float, n: int, adaptive: bool = False, rtol: float = 1e-6, trust: Trust = "all"
) -> Shuffled:
    """Any eps0-LDP randomizers among n users behind a shuffler.

    The upper end holds for every eps0-LDP randomizer; the lower end is that of binary randomized
    response, which is one of them, so no bound for all of them can be below it.

    Parameters
    ----------
    eps0 : float
        Local privacy in nats, 0 < eps0 <= 300.
    n : int
        Users, 1 <= n <= 1e15.
    adaptive : bool
        True where a randomizer may depend on the messages before it (the bound is the same; the
        assumptions that are printed are not).
    rtol, trust
        As for ``shuffle``.
    """
    if not isinstance(adaptive, bool):
        raise rejected("adaptive", adaptive, "True or False")
    family = Family(_check.local_epsilon("eps0", eps0), adaptive)
    return Shuffled(family, _check.count("n", n), *_settings(rtol, trust))


def _settings(rtol: float, trust: str) -> tuple[float, Trust]:
    rtol = _check.real("rtol", rtol, low=1e-12, high=0.1)
    return rtol, "published" if _check.choice("trust", trust, _TRUSTS) == "published" else "all"


_TRUSTS = ("all", "published")
