"""The table ``audit`` of a deployment: how ``shuffledp audit`` asks a program and a shuffler."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shuffledp import _check
from shuffledp.deployment.tables import Count, Table, checked


class AuditTable(Table):
    """What is asked in an audit; nothing that is certified rests on it."""

    deltas: (
        Annotated[list[Annotated[float, checked(_check.open_unit)]], Field(min_length=1)] | None
    ) = Field(
        default=None, description="of the central eps; else the target's, and 1e-6, 1e-9, 1e-12"
    )
    batches: Count | None = Field(
        default=None, description="batches that a shuffler gets; 100 if not given"
    )
    messages: Count | None = Field(
        default=None,
        description="messages of such a batch; 1,000 or the least batch if not given",
    )
    shards: Count | None = Field(
        default=None, description="groups in which messages come in; 1 if not given"
    )
