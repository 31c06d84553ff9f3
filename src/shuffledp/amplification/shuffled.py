"""A randomizer among n users behind a shuffler, and the questions that are asked of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, overload

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.amplification.analyses import UNCERTIFIED, analysis_named
from shuffledp.amplification.best import Best
from shuffledp.amplification.comparison import Comparison, compare
from shuffledp.amplification.end import bound_of
from shuffledp.amplification.profile import FEWEST, profile
from shuffledp.amplification.rounds import round_of
from shuffledp.bound import Bound
from shuffledp.curves import Accountant
from shuffledp.errors import NotCertified, rejected
from shuffledp.laws.sources import Source
from shuffledp.published import FORMULAS, Estimate
from shuffledp.rounds import Composed, Round, compose
from shuffledp.values.described import by_name
from shuffledp.values.work import Beside


@dataclass(frozen=True)
class Shuffled(Accountant):
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

    @property
    def eps0(self) -> float:
        """Local guarantee in nats (inf where there is none)."""
        return float(self.source.eps0)

    @overload
    def epsilon(
        self, *, delta: float, analysis: str | None = None, certified: Literal[True] = True
    ) -> Bound: ...

    @overload
    def epsilon(self, *, delta: float, analysis: str, certified: Literal[False]) -> Estimate: ...

    @by_name
    def epsilon(
        self, *, delta: float, analysis: str | None = None, certified: bool = True
    ) -> Bound | Estimate:
        """Central eps at a given delta, both ends certified.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        analysis : str, optional
            One analysis alone in place of the best of all; ``analyses()`` lists them.
        certified : bool
            False: the named analysis' number alone, as an ``Estimate``, also where it is no bound.

        Returns
        -------
        Bound
            0 <= lower <= upper; upper is at most the local guarantee. An ``Estimate`` with
            ``certified=False``.

        Raises
        ------
        ParameterError
            If delta or the analysis' name is outside its domain.
        NotCertified
            If the named analysis does not apply to this randomizer.
        """
        delta = _check.open_unit("delta", delta)
        if not self._bounds(analysis, certified=certified):
            return self._estimate("epsilon", delta, str(analysis))
        return self._epsilon(delta, analysis, closing=True)

    def _epsilon_at(self, delta: float) -> Bound:
        return self._epsilon(delta, None, closing=True)

    def _delta_at(self, epsilon: float) -> Bound:
        return self._delta(epsilon, None, closing=True)

    def _epsilon(self, delta: float, analysis: str | None, *, closing: bool) -> Bound:
        ends = _BEST.of(self).epsilon(delta, analysis, closing=closing)
        at, relation = {"delta": delta, "n": self.n}, self.source.relation
        return bound_of("epsilon", *ends, at=at, relation=relation, wanted=self.rtol)

    @overload
    def delta(
        self, *, epsilon: float, analysis: str | None = None, certified: Literal[True] = True
    ) -> Bound: ...

    @overload
    def delta(self, *, epsilon: float, analysis: str, certified: Literal[False]) -> Estimate: ...

    @by_name
    def delta(
        self, *, epsilon: float, analysis: str | None = None, certified: bool = True
    ) -> Bound | Estimate:
        """Central delta at a given eps, both ends certified; ``log_upper`` where it underflows.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        analysis : str, optional
            One analysis alone in place of the best of all.
        certified : bool
            False: the named analysis' number alone, as an ``Estimate``, also where it is no bound.

        Returns
        -------
        Bound
            0 <= lower <= upper <= 1, with natural logarithms of both ends. An ``Estimate`` with
            ``certified=False``.

        Raises
        ------
        ParameterError
            If eps or the analysis' name is outside its domain.
        """
        epsilon = _check.epsilon("epsilon", epsilon)
        if not self._bounds(analysis, certified=certified):
            return self._estimate("delta", epsilon, str(analysis))
        return self._delta(epsilon, analysis, closing=True)

    def _delta(self, epsilon: float, analysis: str | None, *, closing: bool) -> Bound:
        best = _BEST.of(self)
        ends = best.log_delta(epsilon, analysis, closing=closing)
        at, relation = {"epsilon": epsilon, "n": self.n}, self.source.relation
        return bound_of("delta", *ends, at=at, relation=relation, wanted=best.width)

    @by_name
    def recomputable_epsilon(self, *, delta: float, slow: bool = True) -> Bound:
        """As ``epsilon``, which ``shuffledp verify`` recomputes; the slow analysis only if wanted.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        slow : bool
            Also an analysis that takes seconds, where the others' ends are apart.
        """
        return self._epsilon(_check.open_unit("delta", delta), None, closing=slow)

    @by_name
    def recomputable_delta(self, *, epsilon: float, slow: bool = True) -> Bound:
        """As ``delta``, which ``shuffledp verify`` recomputes; the slow analysis only if wanted.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        slow : bool
            As for ``recomputable_epsilon``.
        """
        return self._delta(_check.epsilon("epsilon", epsilon), None, closing=slow)

    def upper_epsilon(self, *, delta: float) -> float:
        """The certified upper end of eps alone: for solvers, which need no lower end.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        """
        return _BEST.of(self).upper_epsilon(_check.open_unit("delta", delta), None).value

    def log_upper(self, epsilon: float) -> float:
        """log of the certified upper end of delta alone: for solvers, which need no lower end.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        """
        epsilon = _check.epsilon("epsilon", epsilon)
        if epsilon >= self.eps0:
            return -math.inf
        return _BEST.of(self).upper_log_delta(epsilon).value

    @by_name
    def profile(self, epsilons: Iterable[float], *, analysis: str | None = None) -> list[Bound]:
        """delta at each eps: the privacy profile.

        Of 16 points and more the ends are about 2 % apart where those of ``delta`` meet: upper ends
        are chords between certified ones, in e^eps.

        Parameters
        ----------
        epsilons : iterable of float
            Values of eps >= 0 in nats.
        analysis : str, optional
            One analysis alone in place of the best of all.
        """
        checked = [_check.epsilon("epsilon", e) for e in epsilons]
        if len(checked) < FEWEST or not self._bounds(analysis, certified=True):
            return [self.delta(epsilon=e, analysis=analysis) for e in checked]
        return profile(_BEST.of(self), checked, analysis)

    @by_name
    def compare(self, *, delta: float, slow: bool = False) -> Comparison:
        """Every analysis that applies, side by side: eps, validity, time, factor lost.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        slow : bool
            Also the papers' algorithms whose cost grows with n.
        """
        return compare(self, delta=_check.open_unit("delta", delta), slow=slow)

    @by_name
    def compose(self, *, rounds: int, rtol: float | None = None) -> Composed:
        """The same mechanism in several rounds on the same users (see ``compose``).

        Parameters
        ----------
        rounds : int
            1 <= rounds <= 1e9.
        rtol : float, optional
            Requested relative width of eps, 1e-6 to 0.1. By default what is worth the time (5e-4,
            or 6e-3 for continuous outputs), or more or less where this mechanism's own ``rtol`` is
            above that or below 1e-6.
        """
        return compose([self], rounds=rounds, rtol=rtol)

    @by_name
    def renyi(self, *, order: float) -> Bound:
        """Renyi divergence in nats at an order > 1, both ends certified (see ``Composed``)."""
        return self.compose(rounds=1).renyi(order=order)

    def rdp(self, orders: Iterable[float]) -> list[float]:
        """Upper ends of the Renyi divergence at each order."""
        return self.compose(rounds=1).rdp(orders)

    @by_name
    def tradeoff(self, *, alpha: float) -> Bound:
        """Least type II error of a test with type I error alpha; the lower end is the guarantee."""
        return self.compose(rounds=1).tradeoff(alpha=alpha)

    @by_name
    def pld(self, *, discretization: float = 1e-4) -> Any:
        """A dp_accounting PrivacyLossDistribution that dominates the mechanism."""
        return self.compose(rounds=1).pld(discretization=discretization)

    def as_round(self, *, sharper: bool = True) -> Round:
        """One round of a composition, with this mechanism.

        Parameters
        ----------
        sharper : bool
            False: without label stealing.
        """
        best = _BEST.of(self)
        if sharper not in best.rounds:
            best.rounds[sharper] = self._round(best, sharper=sharper)
        return best.rounds[sharper]

    def _round(self, best: Best, *, sharper: bool) -> Round:
        uppers = [one for _, one in best.asked("upper", None)]
        exact = [one for one in uppers if one.exact() is not None][:1]
        curves = [one for one in uppers if one.for_rounds() is not None and not exact]
        return round_of(
            self.source,
            exact or [one for one in uppers if one.profiles],
            sharper=curves[0] if sharper and curves else None,
            label=getattr(self.source, "name", "generic"),
            eps0=self.eps0,
            n=self.n,
            rtol=self.rtol,
            key=(self.source, self.n, self.trust, self.rtol, sharper),
        )

    def uses(self, key: str) -> bool:
        """Whether the analysis is one of those that the best is taken of.

        Parameters
        ----------
        key : str
            Its name.
        """
        if key in UNCERTIFIED:
            return False
        best = _BEST.of(self)
        return analysis_named(key).when(best) == "always" and best.certifier(key) is not None

    def with_n(self, n: int) -> Shuffled:
        """The same randomizer and settings among another number of users."""
        return Shuffled(self.source, _check.count("n", n), self.rtol, self.trust)

    def _bounds(self, analysis: str | None, *, certified: bool) -> bool:
        """Whether a Bound is asked for; NotCertified where only an estimate can be given."""
        if not isinstance(certified, bool):
            raise rejected("certified", certified, "True or False")
        if analysis is None and not certified:
            raise rejected("certified", certified, "True, unless one analysis is named")
        if certified and analysis in UNCERTIFIED:
            msg = (
                f"analysis = {analysis!r}: no bound ({FORMULAS[analysis].validity}); "
                "certified=False gives its number as an estimate"
            )
            raise NotCertified(msg)
        return certified

    def _estimate(self, quantity: Literal["epsilon", "delta"], at: float, key: str) -> Estimate:
        """The analysis' number without its certificate."""
        if key in FORMULAS:
            cap = _BEST.of(self).local_epsilon(at) if quantity == "epsilon" else math.inf
            return FORMULAS[key].estimate(self.source, quantity, at, n=self.n, cap=cap)
        analysis = analysis_named(key)
        if quantity == "epsilon":
            bound = self.epsilon(delta=at, analysis=key)
        else:
            bound = self.delta(epsilon=at, analysis=key)
        return Estimate(
            quantity,
            bound.lower if analysis.end == "lower" else bound.upper,
            analysis.theorem.title,
            analysis.theorem.source,
            at=bound.at,
            log_value=bound.log_lower if analysis.end == "lower" else bound.log_upper,
        )


_BEST: Beside[Shuffled, Best] = Beside(
    lambda asked: Best(asked.source, asked.n, rtol=asked.rtol, trust=asked.trust)
)
