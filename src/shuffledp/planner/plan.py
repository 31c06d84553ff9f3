"""plan: every mechanism for a task at the same certified central guarantee, by its error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.planner.central import Central, central
from shuffledp.planner.result import ORDER_DIGITS, Plan, Row
from shuffledp.planner.solve import Settled, Target, confirm, settle
from shuffledp.planner.tasks import Option, Source, Task, make_task

Report = Callable[[str], None]
# What is this many times worse than the best, however little its noise, is not solved for.
_FAR = 10.0


def _silent(message: str) -> None:
    del message


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
    report: Report = _silent,
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
    n = _check.count("n", n)
    hidden = n if hidden is None else _check.count("hidden", hidden, high=n)
    rounds = _check.count("rounds", rounds, high=10**9)
    if limit is not None:
        limit = _check.count("limit", limit)
    if local is not None:
        local = _check.local_epsilon("local", local)
    epsilon = _check.positive("epsilon", epsilon, high=_check.LARGEST_EPS0)
    trust = _check.trust(trust)
    target = Target(epsilon, _check.open_unit("delta", delta), rounds, trust)
    limits = _Limits(limit, local)
    rows, left_out, starts, options = [], [], {}, {}
    floors = [(_floor(task, option, n), option) for option in _chosen(task, mechanisms)]
    for floor, every in sorted(floors, key=lambda one: one[0]):
        option = _limited(every, limits)
        report(option.label)
        best = min((row.error for row in rows), default=math.inf)
        if mechanisms is None and floor > _FAR * best:
            left_out.append((option.label, f"error >= {floor:.3g} with any {option.parameter}"))
            continue
        start = starts.get(option.parameter)
        found = _row(task, option, n, hidden, target, limits, start)
        if isinstance(found, str):
            left_out.append((option.label, found))
        else:
            rows.append(found)
            starts[option.parameter], options[found.label] = found.value, option

    def confirmed(row: Row) -> Row | str:
        report(f"{row.label}, confirming")
        return _confirmed(row, task, options[row.label], n, hidden, target, limits)

    rows = _best_confirmed(rows, left_out, confirmed)
    reference = _central(task, n, target)
    return Plan(
        task=task,
        n=n,
        hidden=hidden,
        epsilon=epsilon,
        delta=target.delta,
        rounds=rounds,
        limit=limit,
        most_local=local,
        trust=trust,
        rows=tuple(rows),
        left_out=tuple(left_out),
        local=_local(task, n, epsilon / rounds),
        central=reference.error,
        central_noise=reference.words,
    )


def _chosen(task: Task, mechanisms: Iterable[str] | None) -> list[Option]:
    """The mechanisms to look at."""
    options = {option.label: option for option in task.options()}
    if mechanisms is None:
        return list(options.values())
    labels = [_check.choice("mechanisms", label, tuple(options)) for label in mechanisms]
    if not labels:
        raise rejected("mechanisms", mechanisms, f"one or more of {', '.join(options)}")
    return [options[label] for label in dict.fromkeys(labels)]


def _floor(task: Task, option: Option, n: int) -> float:
    """The error with the least noise of an option: none of its values has less."""
    try:
        return task.error(option.build(option.ends[1]), n)
    except (NotCertified, ParameterError):
        return 0.0


def _row(
    task: Task,
    option: Option,
    n: int,
    hidden: int,
    target: Target,
    limits: _Limits,
    start: float | None,
) -> Row | str:
    """The mechanism's row, or why it has none."""
    # Where even the shortest messages are too long nothing need be solved for.
    if limits.bits is not None and (least := _least_bits(option)) > limits.bits:
        return f"sends {least:,} bits a user or more, and {limits.bits:,} are allowed"
    try:
        return _priced(task, option, n, settle(option, hidden, target, start=start), limits)
    except (NotCertified, ParameterError) as refused:
        return str(refused)


def _confirmed(
    row: Row, task: Task, option: Option, n: int, hidden: int, target: Target, limits: _Limits
) -> Row | str:
    """The row with the margin that an account adds, or why it has none."""
    try:
        return _priced(task, option, n, confirm(option, hidden, target, row.value), limits)
    except (NotCertified, ParameterError) as refused:
        return str(refused)


def _best_confirmed(
    rows: list[Row], left_out: list[tuple[str, str]], confirmed: Callable[[Row], Row | str]
) -> list[Row]:
    """Rows by error, the best deployable one confirmed: what it is then may no longer be best."""
    while True:
        rows.sort(key=_order)
        best = next((row for row in rows if row.deployable), None)
        if best is None or best.confirmed:
            return rows
        rows.remove(best)
        found = confirmed(best)
        if isinstance(found, str):
            left_out.append((best.label, found))
        else:
            rows.append(found)


def _order(row: Row) -> tuple[float, int, str]:
    """By error, to the thousandth that values are solved to: below it chance would decide."""
    return float(f"{row.error:.{ORDER_DIGITS}g}"), row.bits, row.label


def _priced(task: Task, option: Option, n: int, settled: Settled, limits: _Limits) -> Row | str:
    """The row of a settled value: its bits and its error, or which limit it does not keep."""
    sent = _bits(settled.source)
    if limits.bits is not None and sent > limits.bits:
        return f"sends {sent:,} bits a user, and {limits.bits:,} are allowed"
    if limits.local is not None and settled.source.eps0 > limits.local:
        return f"eps0 = {settled.source.eps0:g}, and {limits.local:g} is allowed"
    error = task.error(settled.source, n)
    return Row(
        label=option.label,
        source=settled.source,
        parameter=option.parameter,
        value=settled.value,
        epsilon=settled.epsilon,
        bits=sent,
        error=error,
        largest_error=task.largest(error),
        confirmed=settled.confirmed,
    )


@dataclass(frozen=True)
class _Limits:
    """What a user may send, and give away without a shuffler; None: anything."""

    bits: int | None
    local: float | None


def _limited(option: Option, limits: _Limits) -> Option:
    """The option with no eps0 above the limit."""
    if limits.local is None or option.parameter != "eps0":
        return option
    return replace(option, high=min(option.high, limits.local))


def _bits(source: Source) -> int:
    """Whole bits of all messages of a user."""
    return math.ceil(source.message_bits - 1e-9) * source.messages_per_user


def _least_bits(option: Option) -> int:
    """Bits at both ends of the search, the fewer; 0 where one of them cannot be made."""
    try:
        return min(_bits(option.build(value)) for value in (option.low, option.high))
    except (NotCertified, ParameterError):
        return 0


def _central(task: Task, n: int, target: Target) -> Central:
    """The least error of a trusted server at the whole target."""
    return central(
        task.sensitivity(n), epsilon=target.epsilon, delta=target.delta, rounds=target.rounds
    )


def _local(task: Task, n: int, epsilon: float) -> float:
    """The least error without a shuffler, at eps0 = eps."""
    best = math.inf
    for option in task.options():
        if option.parameter != "eps0":
            continue
        try:
            best = min(best, task.error(option.build(epsilon), n))
        except (NotCertified, ParameterError):
            continue
    return best
