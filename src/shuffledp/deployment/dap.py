"""The table ``dap`` of a deployment: a DAP service's task, held against what is accounted for.

Keys are those of the IETF's drafts on DAP and on VDAFs (Prio3), as deployed software writes them. A
report is randomized before it is sharded: a VDAF that accepts no vector with more than one 1 would
refuse reports by their noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from shuffledp import _check
from shuffledp.deployment.tables import Count, Table
from shuffledp.errors import ParameterError, rejected
from shuffledp.statements import Sentence, say

_ONE, _VECTOR, _WEIGHED = "Prio3Count", "Prio3SumVec", "Prio3MultihotCountVec"
VDAFS = (_ONE, _VECTOR, _WEIGHED)
_NO_NOISE = "NoDifferentialPrivacy"


def _vdaf(value: object) -> object:
    if value == "Prio3Histogram":
        wanted = f"{_VECTOR} or {_WEIGHED}: a randomized report seldom holds exactly one 1"
        raise rejected("", value, wanted)
    return _check.choice("", value, VDAFS)


def _strategy(value: object) -> object:
    kind = value.get("dp_strategy") if isinstance(value, Mapping) else value
    if kind != _NO_NOISE:
        noise = "noise of the aggregators is the table added, of scale sensitivity/epsilon"
        raise rejected("", kind, f"{_NO_NOISE}: {noise}")
    return kind


class DapTable(Table):
    """A DAP task whose aggregate shares are the sums that are accounted for."""

    vdaf: Annotated[
        Literal["Prio3Count", "Prio3SumVec", "Prio3MultihotCountVec"], BeforeValidator(_vdaf)
    ] = Field(
        description="Prio3Count, Prio3SumVec (of one bit an element) or Prio3MultihotCountVec"
    )
    length: Count = Field(
        default=1, description="elements of a report's vector; Prio3Count has no such key"
    )
    bits: Count | None = Field(
        default=None, description="of Prio3SumVec: bits of an element, which is randomized: 1"
    )
    chunk_length: Count | None = Field(
        default=None, description="elements that a proof takes together: privacy is the same"
    )
    min_batch_size: Count = Field(
        description="the task's min_batch_size: the least batch of the population"
    )
    max_weight: Count | None = Field(
        default=None, description="of Prio3MultihotCountVec: length, no report being refused"
    )

    dp_strategy: Annotated[Literal["NoDifferentialPrivacy"], BeforeValidator(_strategy)] | None = (
        Field(default=None, description="the task's own noise: none, where the table added says it")
    )

    def check(self, *, name: str, bits: int) -> None:
        """Refuse a task that is not what is accounted for.

        Parameters
        ----------
        name : str
            The mechanism.
        bits : int
            Coordinates of its reports.
        """
        if name == "gaussian":
            raise ParameterError(
                "dap: wanted no such table for gaussian, whose reports are no bits"
            )
        if (self.vdaf == _ONE) != (bits == 1):
            wanted = _ONE if bits == 1 else f"{_VECTOR} or {_WEIGHED}"
            raise rejected("dap.vdaf", self.vdaf, f"{wanted}, for {_bits(bits)} a report")
        if self.length != bits:
            raise rejected("dap.length", self.length, f"{bits}, the length of a report of {name}")
        if self.bits not in (None, 1):
            wanted = "1: the elements of a randomized report are bits"
            raise rejected("dap.bits", self.bits, wanted)
        wanted = bits if self.vdaf == _WEIGHED else None
        if self.max_weight != wanted:
            said = (
                f"none with {self.vdaf}"
                if wanted is None
                else f"{wanted}: a randomized report may hold as many ones, and would be refused"
            )
            raise rejected("dap.max_weight", self.max_weight, said)

    def assumption(self) -> Sentence:
        """What the task asks a reader to believe, in words."""
        return say("dap", self.vdaf, _bits(self.length), self.min_batch_size)


def _bits(count: int) -> str:
    """So many, in words."""
    return "1 bit" if count == 1 else f"{count:,} bits"
