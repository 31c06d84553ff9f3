"""Analyses that are closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from shuffledp import closed_forms
from shuffledp.analysis.analysis import Analysis, Kind
from shuffledp.analysis.side import Found, Side
from shuffledp.analysis.source import Source
from shuffledp.errors import NotCertified


class Formula(NamedTuple):
    """A closed form: eps at a delta, or log delta at an eps; the other is None."""

    epsilon_at: Callable[[float], float] | None
    log_delta_at: Callable[[float], float] | None


# A formula, and the words that reproduce it.
Made = tuple[Formula, dict[str, Any]]


@dataclass(frozen=True)
class OfFormula(Analysis):
    """An upper end by a closed form, rounded outward.

    Attributes
    ----------
    formula : callable
        Of a source and n: the formula, with words for it.
    """

    kind: Kind = "closed form"
    formula: Callable[[Source, int], Made] = field(kw_only=True, repr=False)

    def side(self, source: Source, *, n: int, cells: int) -> Side:
        """The formula as a curve."""
        del cells
        self.require(source)
        formula, more = self.formula(source, n)
        witness = {"analysis": self.key, **more}
        theorem, words = self.theorem_for(source), self.assumptions(source)
        return FormulaSide(self.key, self.end, theorem, (), (witness,), words, formula=formula)


def of_delta(epsilon_at: Callable[[float], float]) -> Made:
    """A formula for eps at a delta, with nothing to say of it.

    Parameters
    ----------
    epsilon_at : callable
        eps at a delta.
    """
    return Formula(epsilon_at, None), {}


@dataclass(frozen=True)
class FormulaSide(Side):
    """An upper end from a closed form, evaluated with outward rounding where it is returned."""

    formula: Formula = field(kw_only=True)

    def epsilon(
        self, delta: float, *, cap: float, rtol: float, width: float | None = None
    ) -> Found:
        """The formula at delta, or the smallest eps at which it is at most delta."""
        del rtol, width
        if self.formula.epsilon_at is not None:
            value = self.formula.epsilon_at(delta)
        else:
            value = closed_forms.epsilon_of(self._log_delta, math.log(delta), cap=cap)
        return Found(value, self.theorem, None, self.witnesses[0], self.assumptions)

    def log_delta(self, epsilon: float, *, width: float) -> Found:
        """The formula at eps, or the smallest delta at which it is at most eps."""
        del width
        if self.formula.epsilon_at is not None:
            value = closed_forms.log_delta_of(self.formula.epsilon_at, epsilon)
        else:
            value = self._log_delta(epsilon)
        return Found(value, self.theorem, None, self.witnesses[0], self.assumptions)

    def _log_delta(self, epsilon: float) -> float:
        if self.formula.log_delta_at is None:
            raise NotCertified(f"analysis = {self.key!r}: has no formula for delta")
        return self.formula.log_delta_at(epsilon)
