"""Deployment files: read, checked, and known by their hash."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from shuffledp.deployment.messages import one_line
from shuffledp.deployment.model import Deployment, Population
from shuffledp.errors import ParameterError, unreadable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pyright: ignore[reportMissingImports]


@dataclass(frozen=True)
class DeploymentFile:
    """A deployment and the file it came from.

    Attributes
    ----------
    path : Path
        Where it was read.
    sha256 : str
        Hash of the file's bytes, in hexadecimal.
    deployment : Deployment
        What it says.
    """

    path: Path
    sha256: str
    deployment: Deployment

    @property
    def stem(self) -> str:
        """File name without its ending: what the certificate and the figure are named after."""
        return self.path.stem


def load(
    path: str | Path, *, sums: bool = False, widened: bool = False, groups: bool = False
) -> DeploymentFile:
    """Read and check a deployment file.

    Parameters
    ----------
    path : path
        A TOML file.
    sums : bool
        Whether whoever asks knows what to do where the analyst sees sums.
    widened : bool
        Whether they do with a declared shuffler, or several users who change.
    groups : bool
        Whether they do with a crowd of groups that have their own mechanisms.

    Raises
    ------
    ParameterError
        If there is no such file, it is not TOML, or a key or value is not what was wanted; the
        message is one line that names the file, the key, its value, and what was wanted.
    """
    path = Path(path)
    table, content = read_toml(path, "deployment file")
    if "group" in table and not groups:
        raise ParameterError(
            f"{path}: group: a crowd of groups, which `account` and `verify` alone know"
        )
    found = parse(table, where=str(path))
    if found.view != "messages" and not sums:
        raise ParameterError(
            f'{path}: view = "sums", which `account`, `run` and `verify` alone know'
        )
    if found.widened and not widened:
        what = "shuffler" if found.shuffler is not None else f"changed = {found.changed:,}"
        raise ParameterError(f"{path}: {what}, which `account`, `audit` and `verify` alone know")
    return DeploymentFile(path, hashlib.sha256(content).hexdigest(), found)


def read_toml(path: Path, what: str) -> tuple[dict[str, Any], bytes]:
    """A TOML file's table and its bytes; ``what`` it is, for the message if it is not."""
    try:
        content = path.read_bytes()
        # Some editors put a byte-order mark first.
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = unreadable(error)
        raise ParameterError(f"{what} {str(path)!r}: {why}; wanted a TOML file") from None
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # Also integers of more digits than Python reads.
        raise ParameterError(f"{path}: not valid TOML: {error}") from None
    return table, content


def of_text(text: str, path: Path) -> DeploymentFile:
    """The deployment file that has this text, where it is not written yet."""
    found = parse(tomllib.loads(text), where=path.name)
    return DeploymentFile(path, hashlib.sha256(text.encode()).hexdigest(), found)


def parse(table: Mapping[str, Any], *, where: str) -> Deployment:
    """Check a deployment that was read already; ``where`` starts every message."""
    try:
        return Deployment.model_validate(table)
    except ValidationError as error:
        raise ParameterError(f"{where}: {one_line(error, Deployment)}") from None


def with_users(deployment: Deployment, users: int) -> Deployment:
    """The deployment if this many reports arrived: what a run accounts for.

    Raises
    ------
    ParameterError
        If there is none for so few, as where all of them would be colluders.
    """
    planned = deployment.population.model_dump(exclude={"participation", "dropout"})
    try:
        population = Population.model_validate(planned | {"users": users})
    except ValidationError as error:
        why = one_line(error, Population)
        raise ParameterError(f"input has {users:,} reports: {why}; nothing is released") from None
    return deployment.model_copy(update={"population": population})
