"""The questions to every account: eps at a delta, delta at an eps, and plots of these curves."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from shuffledp import _check
from shuffledp.bound import Bound
from shuffledp.errors import ParameterError, rejected
from shuffledp.values.described import by_name
from shuffledp.values.notebook import pictures

# log of the delta down to which curves are computed if no target is given.
DEEP = -80.0
# A profile is drawn up to the eps at which delta is this.
_SMALLEST_DELTA = 1e-12
_POINTS, _MOST_POINTS = 25, 500
_DECADE = 10
_LOST = "share of the users who collude or drop out"


class Accountant(ABC):
    """An account of some data release and the views of it: both ends of eps and of delta.

    Its ``relation`` says whose data changes. Subclasses define ``bound``.
    """

    @by_name
    def plot(
        self,
        *,
        delta: float | None = None,
        epsilons: Iterable[float] | None = None,
        ns: Iterable[int] | None = None,
        lost: Iterable[float] | None = None,
        points: int = _POINTS,
        label: str | None = None,
        ax: Any = None,
    ) -> Any:
        """Draw delta over eps; with ``delta`` given, eps over n or over a share of lost users.

        Both ends are certified at every point; points are joined by straight lines.

        Parameters
        ----------
        delta : float, optional
            Target, 0 < delta < 1: eps is drawn over the number of users. Not for rounds or crowds,
            which have no single n.
        epsilons : iterable of float, optional
            eps > 0 in nats at which delta is drawn; by default up to where delta is 1e-12.
        ns : iterable of int, optional
            Numbers of users at which eps is drawn; by default from n/10 to 10 n.
        lost : iterable of float, optional
            Shares of the n users, in [0, 1), who collude with the analyst or whose reports do not
            arrive: eps is drawn over them. These users hide nobody; their number is rounded up.
        points : int
            Number of points, 2 to 500, if not given.
        label : str, optional
            Entry of the legend; by default the mechanism.
        ax : matplotlib Axes, optional
            Axes to draw on; by default new ones, which a notebook shows.

        Returns
        -------
        matplotlib Axes
            Axes with labels and units.

        Raises
        ------
        ParameterError
            If an argument is outside its domain, or matplotlib is not installed.
        """
        draw = pictures()
        points = _check.count("points", points, low=2, high=_MOST_POINTS)
        source: Any = self
        words = _described(source) if label is None else label
        if delta is None:
            for name, given in (("ns", ns), ("lost", lost)):
                if given is not None:
                    raise ParameterError(f"{name}: wanted delta too, eps is drawn at one delta")
            xs = _given("epsilons", epsilons) or _epsilons(source, points)
            return draw.draw_curve(ax, xs, source.profile(xs), label=words)
        delta = _check.open_unit("delta", delta)
        if epsilons is not None:
            raise ParameterError("epsilons: wanted no delta, which is what is drawn over them")
        if not hasattr(source, "with_n"):
            raise ParameterError(f"delta = {delta:g}: wanted none, there is no one n to change")
        said = f"{source.label}, delta = {delta:g}" if label is None else words

        def among(users: Iterable[float]) -> tuple[Bound, ...]:
            return tuple(source.with_n(int(n)).epsilon(delta=delta) for n in users)

        if lost is not None:
            if ns is not None:
                raise ParameterError("lost: wanted no ns, it is over one of the two")
            shares = _shares(lost)
            left = [left_of(source.n, share) for share in shares]
            return draw.draw_curve(ax, shares, among(left), label=said, across=_LOST)
        whole = None if ns is None else [_check.count("ns", n) for n in ns]
        xs = _given("ns", whole) or _users(source.n, points)
        return draw.draw_curve(ax, xs, among(xs), label=said, marked=source.n)

    @by_name
    def epsilon(self, *, delta: float, analysis: str | None = None) -> Bound:
        """Central eps at a given delta for everything released, both ends certified.

        Parameters
        ----------
        delta : float
            Target, 0 < delta < 1.
        analysis : str, optional
            Of one round of messages, one analysis alone in place of the best of all;
            ``analyses()`` lists them.

        Returns
        -------
        Bound
            0 <= lower <= upper in nats; upper is at most the local guarantee, and inf where nothing
            finite is certified.

        Raises
        ------
        ParameterError
            If delta or the analysis' name is outside its domain.
        NotCertified
            If the named analysis does not apply, or certifies nothing: see ``estimate``.
        """
        delta = _check.open_unit("delta", delta)
        if analysis is not None:
            return self.by_analysis("epsilon", delta, analysis)
        return self.bound("epsilon", delta)

    @by_name
    def delta(self, *, epsilon: float, analysis: str | None = None) -> Bound:
        """Central delta at a given eps for everything released, both ends certified.

        Parameters
        ----------
        epsilon : float
            eps >= 0 in nats.
        analysis : str, optional
            As for ``epsilon``.

        Returns
        -------
        Bound
            0 <= lower <= upper <= 1, with natural logarithms of both ends where they are known.

        Raises
        ------
        ParameterError
            If eps or the analysis' name is outside its domain.
        """
        epsilon = _check.epsilon("epsilon", epsilon)
        if analysis is not None:
            return self.by_analysis("delta", epsilon, analysis)
        return self.bound("delta", epsilon)

    @by_name
    def profile(self, epsilons: Iterable[float], *, analysis: str | None = None) -> list[Bound]:
        """delta at each eps: the privacy profile.

        Of 16 points and more of one round of messages the ends are about 2 % apart where those of
        ``delta`` meet: upper ends are chords between certified ones, in e^eps.

        Parameters
        ----------
        epsilons : iterable of float
            Values of eps >= 0 in nats.
        analysis : str, optional
            As for ``epsilon``.
        """
        return self.along([_check.epsilon("epsilon", e) for e in epsilons], analysis)

    @abstractmethod
    def bound(self, quantity: Literal["epsilon", "delta"], value: float) -> Bound:
        """eps at a delta, or delta at an eps: the general form of ``epsilon`` and ``delta``.

        Parameters
        ----------
        quantity : {"epsilon", "delta"}
            The quantity bounded.
        value : float
            The value held fixed, in its domain.
        """

    def by_analysis(
        self, quantity: Literal["epsilon", "delta"], value: float, analysis: str
    ) -> Bound:
        """The same by one analysis alone, where single analyses are known."""
        del quantity, value
        raise rejected("analysis", analysis, "none but of one round of messages")

    def along(self, epsilons: list[float], analysis: str | None) -> list[Bound]:
        """delta at each of these eps, which are in their domain."""
        return [self.delta(epsilon=e, analysis=analysis) for e in epsilons]

    # ------------------------------------------------------------------- for solvers

    def upper_epsilon(self, *, delta: float) -> float:
        """The certified upper end of eps alone, at 0 < delta < 1."""
        return self.epsilon(delta=delta).upper

    def log_upper(self, epsilon: float, *, log_target: float = DEEP) -> float:
        """log of the certified upper end of delta alone, at an eps >= 0 in nats.

        ``log_target``: an estimate of log of the smallest delta of interest.
        """
        del log_target
        found = self.delta(epsilon=epsilon).log_upper
        return 0.0 if found is None else found

    @property
    def quick(self) -> bool:
        """Whether an end takes milliseconds, or ``rough_log_delta`` gives an estimate of it."""
        return False

    def rough_log_delta(self, epsilon: float) -> float:
        """An estimate of ``log_upper``, not certified."""
        return self.log_upper(epsilon)

    @property
    def label(self) -> str:
        """The mechanism's name, or the view's if there are several mechanisms."""
        source: Any = self
        own = getattr(source, "source", getattr(source, "mechanism", None))
        return getattr(own, "name", type(getattr(source, "seen", source)).__name__.lower())


def left_of(n: int, share: float) -> int:
    """Number of users left if a share of n, rounded up, is lost; ParameterError for none.

    Parameters
    ----------
    n : int
        Number of users.
    share : float
        Share in [0, 1), taken as the decimal number it is written as.
    """
    left = n - math.ceil(Fraction(repr(share)) * n)
    if left < 1:
        raise ParameterError(f"lost = {share:g}: wanted at least one of {n:,} users who is not")
    return left


def _shares(values: Iterable[float]) -> list[float]:
    """The given shares, in ascending order."""
    found = sorted(_check.real("lost", value, low=0.0, high=1.0) for value in values)
    if not 2 <= len(found) <= _MOST_POINTS:
        raise ParameterError(f"lost: wanted 2 to {_MOST_POINTS} values, got {len(found):,}")
    return found


def _described(source: Any) -> str:
    """The mechanism, n and rounds in a few words."""
    name = source.label
    n, rounds = getattr(source, "n", None), getattr(source, "rounds", 1)
    after = f", {rounds:,} rounds" if rounds > 1 else ""
    return name + ("" if n is None else f", n = {n:,}") + after


def _given(name: str, values: Iterable[float] | None) -> list[float] | None:
    """The given points, in ascending order; None if none were given."""
    if values is None:
        return None
    found = sorted(_check.positive(name, value) for value in values)
    if not 2 <= len(found) <= _MOST_POINTS:
        raise ParameterError(f"{name}: wanted 2 to {_MOST_POINTS} values, got {len(found):,}")
    return found


def _epsilons(source: Accountant, points: int) -> list[float]:
    """Evenly spaced eps, up to where delta is small."""
    top = source.epsilon(delta=_SMALLEST_DELTA).upper
    if not 0.0 < top < np.inf:
        raise ParameterError("epsilons is missing: nothing finite is certified, wanted the values")
    return [float(x) for x in np.linspace(top / points, top, points)]


def _users(n: int, points: int) -> list[float]:
    low, high = max(1, n // _DECADE), min(n * _DECADE, _check.LARGEST_COUNT)
    return [float(x) for x in np.unique(np.rint(np.geomspace(low, high, points)))]
