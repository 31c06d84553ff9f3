"""Plan files: a task, users and a target; and the deployment file that a plan recommends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import BeforeValidator, Field, ValidationError, model_validator

from shuffledp import _check
from shuffledp._check import Trust, exact
from shuffledp.deployment.files import parse, read_toml, tomllib
from shuffledp.deployment.messages import one_line
from shuffledp.deployment.model import LARGEST_ROUNDS, Population, Table, Title
from shuffledp.errors import ParameterError, rejected
from shuffledp.planner import Plan, Task, make_task, plan, refuse_other_views
from shuffledp.planner.result import Row
from shuffledp.planner.solve import accuracy

_KINDS = ("frequencies", "mean", "ranges", "heavy-hitters")


def _count(path: str, high: int) -> BeforeValidator:
    return BeforeValidator(lambda value: _check.count(path, value, high=high))


def _number(path: str) -> BeforeValidator:
    return BeforeValidator(lambda value: _check.real(path, value))


class TaskTable(Table):
    """What is estimated."""

    kind: Annotated[str, BeforeValidator(lambda v: _check.choice("task.kind", v, _KINDS))] = Field(
        description="one of frequencies, mean, ranges, heavy-hitters"
    )
    values: Annotated[int, _count("task.values", _check.LARGEST_DOMAIN)] | None = Field(
        default=None, description="frequencies, ranges: how many values there are"
    )
    low: Annotated[float, _number("task.low")] | None = Field(
        default=None, description="mean: the least value"
    )
    high: Annotated[float, _number("task.high")] | None = Field(
        default=None, description="mean: the largest value"
    )
    bits: Annotated[int, _count("task.bits", 64)] | None = Field(
        default=None, description="heavy-hitters: values are numbers of so many bits"
    )

    @model_validator(mode="after")
    def _consistent(self) -> TaskTable:
        self.task()
        return self

    def task(self) -> Task:
        """The planner's task."""
        given = {k: v for k, v in self.model_dump().items() if k != "kind" and v is not None}
        try:
            return make_task(self.kind, **given)
        except ParameterError as error:
            raise ParameterError(f"task.{error}") from None


class PlanTarget(Table):
    """What has to be met after all rounds."""

    epsilon: Annotated[
        float,
        BeforeValidator(lambda v: _check.positive("target.epsilon", v, high=_check.LARGEST_EPS0)),
    ] = Field(description="eps > 0, in nats")
    delta: Annotated[float, BeforeValidator(lambda v: _check.open_unit("target.delta", v))] = Field(
        description="delta in (0, 1)"
    )
    rounds: Annotated[int, _count("target.rounds", LARGEST_ROUNDS)] = Field(
        default=1, description="rounds in which every user takes part"
    )
    trust: Annotated[
        Trust,
        BeforeValidator(lambda v: _check.trust(v, name="target.trust")),
    ] = Field(default="all", description="'published' leaves out what is proved only here")


class Limits(Table):
    """What a user's device allows."""

    bits_per_user: Annotated[int, _count("limits.bits_per_user", 10**12)] | None = Field(
        default=None, description="bits that a user may send in a round"
    )
    eps0: (
        Annotated[float, BeforeValidator(lambda v: _check.local_epsilon("limits.eps0", v))] | None
    ) = Field(default=None, description="what a user's messages of a round alone may give away")


class PlanFile(Table):
    """A plan file."""

    title: Title = Field(description="what is planned, in a line")
    task: TaskTable = Field(description="a table with kind and what belongs to it")
    population: Population = Field(description="a table with users")
    target: PlanTarget = Field(description="a table with epsilon and delta")
    limits: Limits = Limits()

    @model_validator(mode="before")
    @classmethod
    def _messages_alone(cls, table: Any) -> Any:
        """Views that a deployment file may have, and a plan may not."""
        if isinstance(table, Mapping):
            refuse_other_views(table)
        return table

    @property
    def hidden(self) -> int:
        """Honest messages of the smallest batch that is released."""
        p = self.population
        return p.honest(p.arriving if p.minimum_batch is None else p.minimum_batch)


@dataclass(frozen=True)
class LoadedPlan:
    """A plan file and where it was read."""

    path: Path
    content: PlanFile


def load_plan(path: str | Path) -> LoadedPlan:
    """Read and check a plan file; one line says what is wrong with it.

    Raises
    ------
    ParameterError
        If there is no such file, it is not TOML, or a key or value is not what was wanted.
    """
    path = Path(path)
    table, _ = read_toml(path, "plan file")
    return LoadedPlan(path, parse_plan(table, where=str(path)))


def parse_plan(table: Mapping[str, Any], *, where: str) -> PlanFile:
    """Check a plan that was read already; ``where`` starts every message."""
    try:
        return PlanFile.model_validate(table)
    except ValidationError as error:
        raise ParameterError(f"{where}: {one_line(error, PlanFile)}") from None


def run_plan(content: PlanFile, *, report: Callable[[str], None]) -> Plan:
    """Calibrate every mechanism; errors are of the reports that arrive."""
    return plan(
        content.task.task(),
        n=content.population.arriving,
        hidden=content.hidden,
        epsilon=content.target.epsilon,
        delta=content.target.delta,
        rounds=content.target.rounds,
        trust=content.target.trust,
        limit=content.limits.bits_per_user,
        local=content.limits.eps0,
        report=report,
    )


def deployment_text(content: PlanFile, row: Row, *, data: Mapping[str, Any] | None = None) -> str:
    """A deployment file for one row, which ``shuffledp account`` accepts.

    Parameters
    ----------
    content : PlanFile
        What was planned.
    row : Row
        A mechanism with one message a user.
    data : mapping, optional
        The table of that name: the column, its domain and policies.
    """
    target = content.target
    p = content.population.model_dump(exclude_none=True)
    tables: dict[str, Any] = {
        "title": content.title,
        "population": p,
        "randomizer": row.source.to_dict(),
        "target": {"delta": target.delta, "at_most": target.epsilon},
        "accounting": {
            "trust": target.trust,
            "rtol": accuracy(row.source),
            "rounds": target.rounds,
        },
        "data": data,
    }
    head = (
        f"# {row.label}: central eps <= {exact(target.epsilon)} "
        f"at delta = {exact(target.delta)}, certified\n"
        f"# {content.task.task().error_label}: {row.error:.4g}\n\n"
    )
    return tables_text(tables, head=head)


def tables_text(tables: Mapping[str, Any], *, head: str = "") -> str:
    """A deployment file with these tables, which ``shuffledp account`` accepts.

    Parameters
    ----------
    tables : mapping
        As in the file; what is None is left out.
    head : str
        Comments above them.

    Raises
    ------
    ParameterError
        If they are no deployment.
    """
    text = head + tomli_w.dumps(given_only(tables))
    # What is written is read once more: nothing is recommended that account would refuse, or read
    # as something else.
    parse(same_text(text, given_only(tables)), where="deployment")
    return text


def given_only(value: Any) -> Any:
    """The value without what is not set, which TOML has no word for; lists for tuples."""
    if isinstance(value, Mapping):
        return {key: given_only(one) for key, one in value.items() if one is not None}
    return [given_only(one) for one in value] if isinstance(value, list | tuple) else value


def same_text(text: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """What the text says, if it says what was to be written."""
    found = tomllib.loads(text)
    if found != wanted:
        key = next(key for key in {**wanted, **found} if found.get(key) != wanted.get(key))
        raise rejected(key, wanted.get(key), f"what can be written as TOML, not {found.get(key)!r}")
    return found
