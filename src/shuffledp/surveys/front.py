"""Columns of a table -> estimates with intervals, and the certificates of this very run.

Plan (``planner``), run (``protocol``), account and certify, in one call; needs the extra ``run``,
and ``notebook`` for tables other than Arrow's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, overload

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.bound import outward
from shuffledp.errors import NotCertified, ParameterError, not_installed, rejected
from shuffledp.surveys.result import Survey, Surveys

# What is said of a column, and what holds where nothing is said.
_USUAL: dict[str, Any] = {
    **dict.fromkeys(("domain", "low", "high", "ranges", "mechanisms")),
    **dict.fromkeys(("nulls", "outside"), "refuse"),
}
# A share of epsilon or delta is three roundings, each of 2^-53 of it, off the exact one at most.
_BELOW = 1.0 - 2.0**-50


def _silent(message: str) -> None:
    del message


@overload
def survey(
    data: Any,
    column: str,
    *,
    epsilon: float,
    delta: float,
    domain: Iterable[str | int] | None = None,
    low: float | None = None,
    high: float | None = None,
    ranges: Iterable[tuple[float, float]] | None = None,
    rounds: int = 1,
    minimum_batch: int | None = None,
    colluding: float = 0.0,
    nulls: Literal["refuse", "drop", "category"] = "refuse",
    outside: Literal["refuse", "drop", "category", "clip"] = "refuse",
    trust: Trust = "all",
    mechanisms: Iterable[str] | None = None,
    confidence: float = 0.95,
    title: str | None = None,
    report: Callable[[str], None] = _silent,
) -> Survey: ...
@overload
def survey(
    data: Any,
    column: Mapping[str, Mapping[str, Any]],
    *,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    minimum_batch: int | None = None,
    colluding: float = 0.0,
    trust: Trust = "all",
    confidence: float = 0.95,
    title: str | None = None,
    report: Callable[[str], None] = _silent,
) -> Surveys: ...
def survey(
    data: Any,
    column: str | Mapping[str, Mapping[str, Any]],
    *,
    epsilon: float,
    delta: float,
    domain: Iterable[str | int] | None = None,
    low: float | None = None,
    high: float | None = None,
    ranges: Iterable[tuple[float, float]] | None = None,
    rounds: int = 1,
    minimum_batch: int | None = None,
    colluding: float = 0.0,
    nulls: Literal["refuse", "drop", "category"] = "refuse",
    outside: Literal["refuse", "drop", "category", "clip"] = "refuse",
    trust: Trust = "all",
    mechanisms: Iterable[str] | None = None,
    confidence: float = 0.95,
    title: str | None = None,
    report: Callable[[str], None] = _silent,
) -> Survey | Surveys:
    """Choose a mechanism for a target, run it on a column, and certify what was run.

    The mechanism is the most accurate of those that meet the target for as many users as have a
    value. Their values are randomized with random numbers of the operating system, added up and
    estimated from: sums of shuffled reports are the same. The table itself plays the users, so
    that whoever holds it is trusted as much as before. What is released is the result.

    Parameters
    ----------
    data : data frame, table or mapping
        One row a user: pandas, polars and whatever narwhals reads, PyArrow tables, or columns by
        their names.
    column : str, or mapping
        Which column holds the values. Of several columns: their names, each with what is said of it
        alone (``domain``, ``low`` and ``high``, or ``ranges``; ``nulls``, ``outside``,
        ``mechanisms``). Each is shuffled by itself; epsilon and delta are split between them,
        evenly or as their ``share`` says (positive numbers), so that by basic composition the
        target holds for all columns of a user together.
    epsilon, delta : float
        Target after all rounds: certified central eps > 0 in nats, 0 < delta < 1.
    domain : sequence of str or int, optional
        All values there can be, 2 or more. It has to be public: a list read off the data would
        itself tell that somebody holds a rare value.
    low, high : float, optional
        In place of a domain: ends of the numbers whose mean is estimated. Public too.
    ranges : sequence of (low, high), optional
        In place of a domain: the shares of users with low <= value < high are estimated. Ranges
        may overlap. Public too.
    rounds : int
        In how many such surveys the same users take part, all by the mechanism chosen here.
    minimum_batch : int, optional
        Users below which nothing is released; the target is met for that many. By default all.
    colluding : float
        Share of the users whose messages hide nobody, in [0, 1).
    nulls : {"refuse", "drop", "category"}
        Rows without a value: an error, left out, or an item of their own. Neighbours have equally
        many users: which rows are left out is not protected, which hold the item is.
    outside : {"refuse", "drop", "category", "clip"}
        Values outside the domain: the same; "clip" moves numbers to the nearer end.
    trust : {"all", "published"}
        "published" leaves out what is proved only in docs/.
    mechanisms : iterable of str, optional
        Labels of a plan to choose from. By default k-rr, subset, oue, olh and rappor for items,
        piecewise, hybrid and duchi for means, and for ranges k-rr with and without trees, and oue.
    confidence : float
        Of the intervals, in (0, 1).
    title : str, optional
        Heads the certificate.
    report : callable
        Told in a few words what is being computed.

    Returns
    -------
    Survey, or Surveys of several columns

    Raises
    ------
    ParameterError
        If an argument or a value of a column is not what was wanted, too few rows have a value,
        or an extra is not installed.
    NotCertified
        If no mechanism meets the target.

    Examples
    --------
    >>> import shuffledp as sd
    >>> pages = {"page": ["home", "help", "home", "shop"] * 500}
    >>> asked = {"domain": ["home", "help", "shop"], "epsilon": 1.0, "delta": 1e-6}
    >>> found = sd.survey(pages, "page", mechanisms=["k-rr"], **asked)
    >>> found.users, found.bound.upper <= 1.0
    (2000, True)
    """
    one = _needed()
    common = one.Common(
        data,
        rounds=rounds,
        population={"minimum_batch": minimum_batch, "colluding": colluding},
        trust=trust,
        confidence=_check.open_unit("confidence", confidence),
        title=title,
        report=report,
    )
    alone = {
        "domain": domain, "low": low, "high": high, "ranges": ranges, "nulls": nulls,
        "outside": outside, "mechanisms": mechanisms,
    }  # fmt: skip
    if isinstance(column, Mapping):
        changed = [key for key, value in alone.items() if value not in (None, "refuse")]
        if changed:
            raise ParameterError(f"{changed[0]}: wanted in the settings of each column")
        return _several(common, column, epsilon, delta)
    return one.survey_of(common, column, epsilon, delta, alone)


def _several(
    common: Any, columns: Mapping[str, Mapping[str, Any]], epsilon: float, delta: float
) -> Surveys:
    """A survey of each column at its part of the target; NotCertified if the parts do not fit."""
    epsilon, delta = _check.positive("epsilon", epsilon), _check.open_unit("delta", delta)
    if len(columns) < 2:
        raise rejected("column", dict(columns), "the name of one column, or settings of several")
    for name, settings in columns.items():
        known = (*_USUAL, "share")
        if not isinstance(settings, Mapping) or not set(settings) <= set(known):
            wanted = f"a mapping with some of {', '.join(known)}"
            raise rejected(f"column {name!r}", settings, wanted)
    weights = [
        _check.positive(f"column {name!r}: share", one.get("share", 1.0), high=1e9)
        for name, one in columns.items()
    ]
    shares = [weight / math.fsum(weights) for weight in weights]
    parts = []
    for (name, settings), share in zip(columns.items(), shares, strict=True):
        told = replace(common, report=lambda words, name=name: common.report(f"{name}: {words}"))
        part = epsilon * share * _BELOW, delta * share * _BELOW
        parts.append(_needed().survey_of(told, name, *part, _USUAL | dict(settings)))
    spent = _added([_most(part.certificate) for part in parts])
    kept = _added([part.certificate.members[0].at for part in parts])
    if not (spent <= epsilon and kept <= delta):
        raise NotCertified(
            f"eps <= {outward(spent, up=True)} at delta = {kept!r} is certified for all columns, "
            f"epsilon = {epsilon!r}, delta = {delta!r} was wanted; nothing is released"
        )
    return Surveys(tuple(parts), spent, kept, tuple(shares), (epsilon, delta))


def _added(numbers: list[float]) -> float:
    """Their sum, rounded up."""
    if not all(map(math.isfinite, numbers)):
        return math.inf
    whole = sum(map(Fraction, numbers), Fraction(0))
    near = float(whole)
    return near if Fraction(near) >= whole else math.nextafter(near, math.inf)


def _most(certificate: Any) -> float:
    """The largest certified upper end after all rounds, where the shuffler works."""
    value = certificate.members[0].worst.upper.value
    return math.inf if value is None else value


def _needed() -> Any:
    """The modules that need the extra ``run``, or one line that names it."""
    try:
        from shuffledp.surveys import one
    except ModuleNotFoundError as error:
        raise ParameterError(not_installed("survey", [error.name or "pyarrow"], "run")) from None
    return one
