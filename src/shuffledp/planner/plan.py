"""plan: every mechanism for a task at the same certified central guarantee, by its error."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.planner.central import central
from shuffledp.planner.result import ORDER_DIGITS, Plan, Row
from shuffledp.planner.solve import Asked, settle
from shuffledp.planner.tasks import Option, Source, Task, make_task
from shuffledp.values.work import Report, silent

# A mechanism is not solved for if its least error, with however little noise, is this many times
# that of the best.
_FAR = 10.0


def plan(
    task: str | Task,
    *,
    n: int,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    limit: int | None = None,
    local: float | None = None,
    hidden: int | None = None,
    trust: Trust = "all",
    mechanisms: Iterable[str] | None = None,
    report: Report = silent,
    **parameters: Any,
) -> Plan:
    """Calibrate every mechanism for a task to one central guarantee, and sort them by error.

    By error to three digits: values are solved for to a thousandth, and below it chance would
    decide. Of equal ones the fewest bits come first.

    Parameters
    ----------
    task : str
        "frequencies" (with ``values``), "mean" (``low``, ``high``), "ranges" (``values``) or
        "heavy-hitters" (``bits`` of the values).
    n : int
        Users whose reports arrive.
    epsilon, delta : float
        The target after all rounds, certified: eps > 0 in nats.
    rounds : int
        Rounds on the same users.
    limit : int, optional
        Most bits a user may send in a round.
    local : float, optional
        Most that a user's messages of a round alone may give away: eps0 in nats.
    hidden : int, optional
        Honest messages of the smallest batch, if fewer than n.
    trust : {"all", "published"}
        Which theorems may be used.
    mechanisms : iterable of str, optional
        Labels of the mechanisms to look at. By default all but those whose error, with however
        little noise, is ten times the best one's.
    report : callable
        Told in a few words what is being computed.

    Raises
    ------
    ParameterError
        If an argument is outside its domain.

    Examples
    --------
    >>> import shuffledp as sd
    >>> found = sd.plan(
    ...     "frequencies",
    ...     values=50,
    ...     n=100_000,
    ...     epsilon=1.0,
    ...     delta=1e-8,
    ...     mechanisms=["k-rr", "subset"],
    ... )
    >>> found.recommended.source.name
    'k-rr'
    """
    if isinstance(task, str):
        task = make_task(task, **parameters)
    elif parameters:
        raise ParameterError(f"{next(iter(parameters))}: wanted no argument of this name")
    asked = Asked(
        task=task,
        n=n,
        hidden=0 if hidden is None else _check.count("hidden", hidden),
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
        limit=limit,
        most_local=local,
        trust=trust,
    )
    far = math.inf if mechanisms is not None else _FAR
    rows, left_out = _ranked(asked, _chosen(task, mechanisms), far, report)
    reference = central(
        task.sensitivity(asked.n), epsilon=asked.epsilon, delta=asked.delta, rounds=asked.rounds
    )
    return Plan(
        **vars(asked),
        rows=rows,
        left_out=left_out,
        local=_alone(asked),
        central=reference.error,
        central_noise=reference.words,
    )


def _ranked(
    asked: Asked, options: list[Option], far: float, report: Report
) -> tuple[tuple[Row, ...], tuple[tuple[str, str], ...]]:
    """Rows by error; and what is left out, and why.

    ``far``: a mechanism whose least error is this many times the best one is not solved for.
    """
    rows, left_out, starts = list[Row](), list[tuple[str, str]](), dict[str, float]()
    # None of an option's values has an error below that with the least noise.
    floors = [(_error(asked, one, one.ends[1], unknown=0.0), one) for one in options]
    for floor, option in sorted(floors, key=lambda one: one[0]):
        report(option.label)
        if floor > far * min((row.error for row in rows), default=math.inf):
            left_out.append((option.label, f"error >= {floor:.3g} with any {option.parameter}"))
            continue
        try:
            row = _row(asked, _limited(option, asked), starts.get(option.parameter))
        except (NotCertified, ParameterError) as refused:
            left_out.append((option.label, str(refused)))
            continue
        rows.append(row)
        starts[option.parameter] = row.value
    return tuple(sorted(rows, key=_order)), tuple(left_out)


def _alone(asked: Asked) -> float:
    """The least error without a shuffler, at eps0 = eps/rounds; inf where there is none."""
    eps0 = asked.epsilon / asked.rounds
    options = [one for one in asked.task.options() if one.parameter == "eps0"]
    found = [_error(asked, one, eps0, unknown=math.inf) for one in options]
    return min(found, default=math.inf)


def _chosen(task: Task, mechanisms: Iterable[str] | None) -> list[Option]:
    """The mechanisms to look at."""
    options = {option.label: option for option in task.options()}
    if mechanisms is None:
        return list(options.values())
    labels = [_check.choice("mechanisms", label, tuple(options)) for label in mechanisms]
    if not labels:
        raise rejected("mechanisms", mechanisms, f"one or more of {', '.join(options)}")
    return [options[label] for label in dict.fromkeys(labels)]


def _error(asked: Asked, option: Option, value: float, *, unknown: float) -> float:
    """The error of an option at a value; ``unknown`` where there is no such mechanism."""
    try:
        return asked.task.error(option.build(value), asked.n)
    except (NotCertified, ParameterError):
        return unknown


def _row(asked: Asked, option: Option, start: float | None) -> Row:
    """The mechanism's row; NotCertified, with the reason, where it has none."""
    # Where even the shortest messages are too long nothing need be solved for.
    _refuse_longer(asked, _least_bits(option), " or more")
    value, epsilon = settle(option, asked, start=start)
    source = option.build(value)
    sent = _bits(source)
    _refuse_longer(asked, sent, "")
    if asked.most_local is not None and source.eps0 > asked.most_local:
        raise NotCertified(f"eps0 = {source.eps0:g}, and {asked.most_local:g} is allowed")
    error = asked.task.error(source, asked.n)
    return Row(
        label=option.label,
        source=source,
        parameter=option.parameter,
        value=value,
        epsilon=epsilon,
        bits=sent,
        error=error,
        largest_error=asked.task.largest(error),
    )


def _refuse_longer(asked: Asked, bits: int, more: str) -> None:
    """NotCertified where a user would send more bits than are allowed."""
    if asked.limit is not None and bits > asked.limit:
        raise NotCertified(f"sends {bits:,} bits a user{more}, and {asked.limit:,} are allowed")


def _order(row: Row) -> tuple[float, int, str]:
    """By error, to the thousandth that values are solved to: below it chance would decide."""
    return float(f"{row.error:.{ORDER_DIGITS}g}"), row.bits, row.label


def _limited(option: Option, asked: Asked) -> Option:
    """The option with no eps0 above the limit."""
    if asked.most_local is None or option.parameter != "eps0":
        return option
    return replace(option, high=min(option.high, asked.most_local))


def _bits(source: Source) -> int:
    """Whole bits of all messages of a user."""
    return math.ceil(source.message_bits - 1e-9) * source.messages_per_user


def _least_bits(option: Option) -> int:
    """Bits at both ends of the search, the fewer; 0 where one of them cannot be made."""
    try:
        return min(_bits(option.build(value)) for value in (option.low, option.high))
    except (NotCertified, ParameterError):
        return 0
