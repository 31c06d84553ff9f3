"""Plan files: a task, users and a target; and the deployment file that a plan recommends."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from shuffledp import _check
from shuffledp.deployment.messages import one_line
from shuffledp.deployment.model import LARGEST_ROUNDS, Population, Table, parse, read_toml
from shuffledp.errors import ParameterError
from shuffledp.planner import Plan, Task, make_task, plan
from shuffledp.planner.plan import Row
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
        Literal["all", "published"],
        BeforeValidator(lambda v: _check.choice("target.trust", v, ("all", "published"))),
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

    title: str = Field(description="what is planned, in a line")
    task: TaskTable = Field(description="a table with kind and what belongs to it")
    population: Population = Field(description="a table with users")
    target: PlanTarget = Field(description="a table with epsilon and delta")
    limits: Limits = Limits()

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


def deployment_text(content: PlanFile, row: Row) -> str:
    """A deployment file for one row, which ``shuffledp account`` accepts.

    Parameters
    ----------
    content : PlanFile
        What was planned.
    row : Row
        A mechanism with one message a user.
    """
    target = content.target
    p = content.population.model_dump(exclude_none=True)
    tables: dict[str, Any] = {
        "title": content.title,
        "population": p,
        "randomizer": row.source.to_dict(),
        "target": {"delta": target.delta},
        "accounting": {
            "trust": target.trust,
            "rtol": accuracy(row.source),
            "rounds": target.rounds,
        },
    }
    head = (
        f"# {row.label}: central eps <= {target.epsilon:g} at delta = {target.delta:g}, certified\n"
        f"# {content.task.task().error_label}: {row.error:.4g}\n\n"
    )
    text = head + _toml(tables)
    # What is written is read once more: nothing is recommended that account would refuse.
    parse(_parsed(text), where="deployment")
    return text


def _parsed(text: str) -> dict[str, Any]:
    from shuffledp.deployment.model import tomllib

    return tomllib.loads(text)


def _toml(table: Mapping[str, Any], path: str = "") -> str:
    """A table as TOML: plain values first, then tables and lists of tables."""
    given = {k: v for k, v in table.items() if v is not None}
    inner = {k: v for k, v in given.items() if _is_table(v)}
    lines = [f"{k} = {_value(v)}" for k, v in given.items() if k not in inner]
    for key, value in inner.items():
        name = f"{path}{key}"
        if isinstance(value, Mapping):
            lines += ["", f"[{name}]", _toml(value, f"{name}.").rstrip("\n")]
            continue
        for item in value:
            lines += ["", f"[[{name}]]", _toml(item, f"{name}.").rstrip("\n")]
    return "\n".join(lines) + "\n"


def _is_table(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(item, Mapping) for item in value)
    return isinstance(value, Mapping)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04X}" for c in escaped) + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    return str(int(value))
