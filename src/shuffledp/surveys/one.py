"""One column: the plan for it, the run of that plan, and its certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shuffledp.bound import outward
from shuffledp.deployment.files import of_text
from shuffledp.deployment.plan import Planned, planned
from shuffledp.errors import NotCertified
from shuffledp.planner import Plan, make_task
from shuffledp.protocol.answers import table as table_of
from shuffledp.protocol.engines import Settings
from shuffledp.protocol.questions import Asked
from shuffledp.protocol.run import run
from shuffledp.surveys.columns import Given
from shuffledp.surveys.result import NAME, Survey


def planned_for(given: Given, *, population: Mapping[str, Any], **target: Any) -> Planned:
    """The plan for the users who have a value."""
    about = {key: value for key, value in given.task.items() if key != "kind"}
    task = make_task(given.task["kind"], **about)
    return planned(task, population={"users": given.users, **population}, where=NAME, **target)


def survey_of(
    given: Given,
    made: Planned,
    *,
    epsilon: float,
    confidence: float,
    report: Callable[[str], None],
) -> Survey:
    """The run of a plan on a column, and its certificate."""
    found = made.found
    row = found.recommended
    if row is None:
        raise NotCertified(_missed(found))
    report(f"{row.label}, running")
    text = given.deployment(made.text, row)
    source = of_text(text, Path(f"{NAME}.toml"))
    result = run(
        source,
        given.engine,
        given.column,
        settings=Settings(),
        asked=Asked(ranges=given.pieces),
        confidence=confidence,
    )
    _check_target(result.account, epsilon)
    rows = given.named(result.rows)
    table = table_of(rows)
    outcome = result.outcome
    return Survey(
        column=given.name,
        rows=rows,
        confidence=confidence,
        users=outcome.users,
        nulls=outcome.nulls,
        outside=outcome.outside,
        bound=result.account.answers[0].bound,
        plan=found,
        deployment=text,
        certificate=result.certificate(f"{NAME}.csv", table),
        table=table,
        notes=result.notes,
    )


def _check_target(account: Any, epsilon: float) -> None:
    """Raise NotCertified if the run misses the target; then nothing is released."""
    for answer in account.answers:
        setting, reached = answer.setting, answer.bound.upper
        after_all = setting.rounds == account.deployment.accounting.rounds
        if after_all and not setting.failed and not reached <= epsilon:
            raise NotCertified(
                f"{setting.name}: eps <= {outward(reached, up=True)} is certified, "
                f"epsilon = {epsilon:g} was wanted; nothing is released"
            )


def _missed(found: Plan) -> str:
    why = "; ".join(f"{label}: {reason}" for label, reason in found.left_out)
    target = f"epsilon = {found.epsilon:g}, delta = {found.delta:g}"
    return f"no mechanism meets {target} with {found.hidden:,} users: {why}"
