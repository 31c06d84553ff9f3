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

Every user counted here is honest and arrives: leave out those who may not be, or do not. There is
no certificate of a crowd: ``verify`` does not recompute one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from shuffledp import _check
from shuffledp.bound import Bound
from shuffledp.crowd import LARGEST_GROUPS, Crowd, crowd
from shuffledp.deployment.messages import one_line
from shuffledp.deployment.model import (
    GENERIC,
    Accounting,
    Table,
    Target,
    Title,
    checked_randomizer,
    is_protocol,
    read_toml,
)
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.index import Estimate
from shuffledp.randomizers import randomizer_from_dict

NO_CERTIFICATE = (
    "a crowd of several groups has no certificate: verify does not recompute its bounds, and says "
    "nothing of them"
)


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

    def crowd(self, victim: int | None) -> Crowd:
        """The front door's object.

        Parameters
        ----------
        victim : int or None
            Whose members are protected.
        """
        groups = [(randomizer_from_dict(one.randomizer), one.users) for one in self.group]
        accounting = self.accounting
        return crowd(groups, victim=victim, rtol=accounting.rtol, trust=accounting.trust)


@dataclass(frozen=True)
class CrowdFile:
    """A crowd's deployment and the file it came from."""

    path: Path
    sha256: str
    deployment: CrowdDeployment


@dataclass(frozen=True)
class CrowdAccount:
    """What is certified of each group's members, and the published approximation beside it."""

    deployment: CrowdDeployment
    bounds: tuple[Bound, ...]
    estimates: tuple[Estimate | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form; no certificate, and it says so."""
        return {
            "title": self.deployment.title,
            "certificate": None,
            "why": NO_CERTIFICATE,
            "groups": [
                {
                    "users": group.users,
                    "randomizer": group.randomizer,
                    "bound": bound.to_dict(),
                    "published_approximation": None if guess is None else guess.to_dict(),
                }
                for group, bound, guess in zip(
                    self.deployment.group, self.bounds, self.estimates, strict=True
                )
            ],
        }


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


def account_crowd(
    deployment: CrowdDeployment, *, report: Callable[[str], None] = lambda _message: None
) -> CrowdAccount:
    """The bound of each group's members at the target.

    Parameters
    ----------
    deployment : CrowdDeployment
        What runs.
    report : callable
        Told in a few words what is being computed.
    """
    target = deployment.target
    bounds, estimates = [], []
    for k, group in enumerate(deployment.group):
        report(f"group {k}: {group.users:,} users")
        one = deployment.crowd(k)
        if target.quantity == "epsilon":
            bounds.append(one.epsilon(delta=target.value))
            estimates.append(_estimate(one, target.value))
        else:
            bounds.append(one.delta(epsilon=target.value))
            estimates.append(None)
    return CrowdAccount(deployment, tuple(bounds), tuple(estimates))


def _estimate(one: Crowd, delta: float) -> Estimate | None:
    try:
        return one.estimate(delta=delta)
    except NotCertified:
        return None
