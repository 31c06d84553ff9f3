"""Columns of a table -> estimates with intervals, and the certificates of this very run.

Plan (``planner``), run (``protocol``), account and certify, in one call; needs the extra ``run``,
and ``notebook`` for tables other than Arrow's.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Literal

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.bound import outward
from shuffledp.errors import NotCertified, ParameterError, not_installed, rejected
from shuffledp.surveys.result import Survey, Surveys
from shuffledp.values.work import Report, silent

# A share of epsilon or delta is three roundings, each of 2^-53 of it, off the exact one at most.
_BELOW = 1.0 - 2.0**-50
# What is asked of all columns together, in ``survey_columns``.
_TOGETHER = ("data", "column", "epsilon", "delta")


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
    report: Report = silent,
) -> Survey:
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
    column : str
        Which column holds the values.
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
    Survey

    Raises
    ------
    ParameterError
        If an argument or a value of the column is not what was wanted, too few rows have a value,
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
    try:
        from shuffledp.surveys import columns, one
    except ModuleNotFoundError as error:
        raise ParameterError(not_installed("survey", [error.name or "pyarrow"], "run")) from None
    confidence = _check.open_unit("confidence", confidence)
    task = columns.task_of(domain, low, high, ranges)
    given = columns.given_column(
        data, column, task, domain=domain, ranges=ranges, nulls=nulls, outside=outside
    )
    plan = one.planned_for(
        given,
        title=f"Survey of {column}" if title is None else title,
        population={"minimum_batch": minimum_batch, "colluding": colluding},
        report=report,
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
        trust=trust,
        mechanisms=columns.usual(given.task) if mechanisms is None else mechanisms,
    )
    return one.survey_of(given, plan, epsilon=epsilon, confidence=confidence, report=report)


def survey_columns(
    data: Any,
    columns: Mapping[str, Mapping[str, Any]],
    *,
    epsilon: float,
    delta: float,
    **common: Any,
) -> Surveys:
    """``survey`` of several columns of the same users, each shuffled by itself.

    Epsilon and delta are split between the columns, evenly or as their ``share`` says, so that by
    basic composition the target holds for all columns of a user together.

    Parameters
    ----------
    data : data frame, table or mapping
        One row a user.
    columns : mapping
        Two columns or more by their names, each with what ``survey`` is told of it alone (as
        ``domain``) and its ``share``, a positive number, 1 by default.
    epsilon, delta : float
        Target for all columns together, after all rounds.
    **common
        What ``survey`` is told of every column.

    Raises
    ------
    ParameterError, NotCertified
        As ``survey``.
    """
    epsilon, delta = _check.positive("epsilon", epsilon), _check.open_unit("delta", delta)
    if not isinstance(columns, Mapping) or len(columns) < 2:
        raise rejected("columns", columns, "names of two columns or more, each with its settings")
    known = [name for name in inspect.signature(survey).parameters if name not in _TOGETHER]
    for name, settings in columns.items():
        if not isinstance(settings, Mapping) or not {*settings, *common} <= {*known, "share"}:
            wanted = f"a mapping with some of {', '.join((*known, 'share'))}"
            raise rejected(f"column {name!r}", settings, wanted)
    weights = [
        _check.positive(f"column {name!r}: share", one.get("share", 1.0), high=1e9)
        for name, one in columns.items()
    ]
    shares = [weight / math.fsum(weights) for weight in weights]
    parts = []
    for (name, settings), share in zip(columns.items(), shares, strict=True):
        own = common | {key: value for key, value in settings.items() if key != "share"}
        if tell := own.get("report"):
            own["report"] = lambda words, name=name, tell=tell: tell(f"{name}: {words}")
        target = {"epsilon": epsilon * share * _BELOW, "delta": delta * share * _BELOW}
        parts.append(survey(data, name, **target, **own))
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
