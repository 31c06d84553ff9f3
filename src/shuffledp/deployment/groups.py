"""A crowd's deployment file: groups with their own mechanism behind one shuffler.

    title = "two versions of the app"
    [[group]]
    users = 10_000
    randomizer = { name = "binary-rr", eps0 = 1.0 }
    [[group]]
    users = 2_000
    randomizer = { name = "binary-rr", eps0 = 4.0 }
    [target]
    delta = 1e-6
    [accounting]          # optional
    trust = "all"

Every user counted here is honest and arrives: leave out those who may not be, or do not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from shuffledp import _check
from shuffledp.deployment.files import read_toml
from shuffledp.deployment.messages import one_line
from shuffledp.deployment.model import (
    GENERIC,
    Accounting,
    Deployment,
    Population,
    Table,
    Target,
    Title,
    checked_randomizer,
    is_protocol,
)
from shuffledp.errors import ParameterError

# As ``population.LARGEST_GROUPS``: whoever reads a file does not import the numerics.
LARGEST_GROUPS = 50


class Group(Table):
    """One group: its users, all of whom are honest and arrive, and what they run."""

    users: Annotated[
        int, BeforeValidator(lambda value: _check.count("group.users", value)), Field(ge=1)
    ] = Field(description="users of this group whose reports arrive and who tell nobody")
    randomizer: Annotated[dict[str, Any], BeforeValidator(checked_randomizer)] = Field(
        description='a table with a key "name" and the parameters of that mechanism'
    )

    @model_validator(mode="after")
    def _one_mechanism(self) -> Group:
        if is_protocol(self.randomizer) or self.randomizer["name"] == GENERIC:
            raise ParameterError(
                f"group.randomizer.name = {self.randomizer['name']!r}: wanted one mechanism, a "
                "message a user"
            )
        return self


class CrowdDeployment(Table):
    """Groups with their own mechanism behind one shuffler."""

    title: Title = Field(description="what this deployment is, in a line")
    group: Annotated[list[Group], Field(min_length=1, max_length=LARGEST_GROUPS)] = Field(
        description="tables with users and randomizer"
    )
    target: Target = Field(description="a table with delta or epsilon")
    accounting: Accounting = Accounting()

    @model_validator(mode="after")
    def _one_round(self) -> CrowdDeployment:
        if self.accounting.rounds > 1:
            raise ParameterError(
                f"accounting.rounds = {self.accounting.rounds}: wanted 1 for a crowd of groups"
            )
        return self

    def alone(self, k: int) -> Deployment:
        """One group as if it were a deployment of its own: all users with its mechanism.

        Parameters
        ----------
        k : int
            Index of the group.
        """
        own = self.group[k].randomizer
        users = sum(one.users for one in self.group if one.randomizer == own)
        return Deployment(
            title=self.title,
            population=Population(users=users),
            randomizer=own,
            target=self.target,
            accounting=self.accounting,
        )


@dataclass(frozen=True)
class CrowdFile:
    """A crowd's deployment and the file it came from."""

    path: Path
    sha256: str
    deployment: CrowdDeployment

    @property
    def stem(self) -> str:
        """File name without its ending: what the certificate and the figure are named after."""
        return self.path.stem


def is_crowd(path: str | Path) -> bool:
    """Whether the file has groups: then it is one of these."""
    table, _ = read_toml(Path(path), "deployment file")
    return "group" in table


def load_crowd(path: str | Path) -> CrowdFile:
    """Read and check a crowd's deployment file.

    Parameters
    ----------
    path : path
        A TOML file.

    Raises
    ------
    ParameterError
        If there is no such file, it is not TOML, or a key or value is not what was wanted.
    """
    path = Path(path)
    table, content = read_toml(path, "deployment file")
    found = parse_crowd(table, where=str(path))
    return CrowdFile(path, hashlib.sha256(content).hexdigest(), found)


def parse_crowd(table: Mapping[str, Any], *, where: str) -> CrowdDeployment:
    """Check a table that was read already; ``where`` starts every message."""
    try:
        return CrowdDeployment.model_validate(table)
    except ValidationError as error:
        raise ParameterError(f"{where}: {one_line(error, CrowdDeployment)}") from None
