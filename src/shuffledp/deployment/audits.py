"""The table ``audit`` of a deployment: how ``shuffledp audit`` asks a program and a shuffler."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from shuffledp import _check


def _deltas(values: list[float]) -> list[float]:
    return [_check.open_unit("audit.deltas", one) for one in values]


class AuditTable(BaseModel):
    """What is asked in an audit; nothing that is certified rests on it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    deltas: Annotated[list[float], AfterValidator(_deltas), Field(min_length=1)] | None = Field(
        default=None, description="of the central eps; else the target's, and 1e-6, 1e-9, 1e-12"
    )
    batches: (
        Annotated[int, BeforeValidator(lambda v: _check.count("audit.batches", v)), Field(ge=1)]
        | None
    ) = Field(default=None, description="batches that a shuffler gets; 100 if not given")
    messages: (
        Annotated[int, BeforeValidator(lambda v: _check.count("audit.messages", v)), Field(ge=1)]
        | None
    ) = Field(
        default=None,
        description="messages of such a batch; 1,000 or the least batch if not given",
    )
    shards: (
        Annotated[int, BeforeValidator(lambda v: _check.count("audit.shards", v)), Field(ge=1)]
        | None
    ) = Field(default=None, description="groups in which messages come in; 1 if not given")
