"""A plan for a deployment's population, and the deployment file of one of its mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationError

from shuffledp._check import exact
from shuffledp.deployment.messages import one_line
from shuffledp.deployment.model import Population, Title
from shuffledp.deployment.tables import Table
from shuffledp.deployment.text import deployment_text
from shuffledp.errors import ParameterError
from shuffledp.planner import Plan, Row, Task, plan
from shuffledp.planner.solve import accuracy


class _Who(Table):
    """What a deployment file says beside its mechanism and its target."""

    title: Title = Field(description="what is planned, in a line")
    population: Population = Field(description="a table with users")


@dataclass(frozen=True)
class Planned:
    """A plan, and whom it is for.

    Attributes
    ----------
    title : str
        Of the deployment.
    population : Population
        Who takes part.
    found : Plan
        For the reports that arrive, certified for the honest ones of the smallest batch.
    """

    title: str
    population: Population
    found: Plan

    def text(self, row: Row, *, data: Mapping[str, Any] | None = None) -> str:
        """A deployment file for one row, which ``shuffledp account`` accepts.

        Parameters
        ----------
        row : Row
            A mechanism with one message a user.
        data : mapping, optional
            The table of that name: the column, its domain and policies.
        """
        found = self.found
        epsilon, delta = exact(found.epsilon), exact(found.delta)
        head = (
            f"# {row.label}: central eps <= {epsilon} at delta = {delta}, certified\n"
            f"# {found.task.error_label}: {row.error:.4g}\n\n"
        )
        accounting = {"trust": found.trust, "rtol": accuracy(row.source), "rounds": found.rounds}
        tables = {
            "title": self.title,
            "population": self.population.model_dump(exclude_none=True),
            "randomizer": row.source.to_dict(),
            "target": {"delta": found.delta, "at_most": found.epsilon},
            "accounting": accounting,
            "data": data,
        }
        return deployment_text(tables, head=head)


def planned(
    task: Task,
    *,
    title: str,
    population: Mapping[str, Any],
    where: str,
    report: Callable[[str], None],
    **asked: Any,
) -> Planned:
    """Calibrate every mechanism for a task; errors are of the reports that arrive.

    Parameters
    ----------
    task : Task
        What is estimated.
    title, population
        As in a deployment file.
    where : str
        What starts a message about them.
    report : callable
        Told in a few words what is being computed.
    asked
        The other arguments of ``plan``.

    Raises
    ------
    ParameterError
        If an argument is outside its domain.
    """
    given = {key: value for key, value in population.items() if value is not None}
    try:
        who = _Who.model_validate({"title": title, "population": given})
    except ValidationError as error:
        raise ParameterError(f"{where}: {one_line(error, _Who)}") from None
    people = who.population
    hidden = people.honest(people.batches[-1])
    found = plan(task, n=people.arriving, hidden=hidden, report=report, **asked)
    return Planned(who.title, people, found)
