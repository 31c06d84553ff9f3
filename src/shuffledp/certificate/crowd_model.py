"""The certificate of a crowd: for each group, what is claimed of its members."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_serializer

from shuffledp._check import Trust
from shuffledp.certificate.files import as_written, loaded, plain
from shuffledp.certificate.model import (
    Certificate,
    Count,
    Held,
    Input,
    NonNegative,
    Scenario,
    Source,
    Statement,
    Strict,
    Version,
    Witness,
    checksum,
)
from shuffledp.deployment.groups import CrowdDeployment
from shuffledp.values.notebook import Record, Sheet, Shown

FORMAT_CROWD = "shuffledp-crowd-certificate/1"
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class CrowdNumbers(Strict):
    """Numbers that label stealing in a crowd leaves free, for one pair of inputs; all are valid.

    ``alpha`` and ``smoothing`` say where its sum is taken. The reservoir is a share of what all
    groups' laws have in common when divided by their ``shares``: ``gain`` of it where an output
    speaks for the victim's first input, ``loss`` elsewhere. The victim joins with probability
    ``theta``. ``shares`` are those of the groups in which there is somebody else.
    """

    alpha: Annotated[float, Field(gt=0.0)]
    smoothing: Annotated[float, Field(gt=0.0)]
    gain: Share
    loss: Share
    theta: Share
    shares: Annotated[list[Share], Field(min_length=1, max_length=50)]


class CrowdWitness(Strict):
    """What reproduces an end that rests on all groups.

    ``free`` are the numbers of label stealing, for each pair of the victim's inputs that has to be
    looked at. Of a data set: the victim's two inputs ``x0`` and ``x1``, and for each group what all
    of its ``others`` hold, and how many they are.
    """

    analysis: Literal["crowd-stealing", "common-blanket", "crowd-dataset"]
    free: Annotated[list[CrowdNumbers], Field(min_length=1, max_length=200)] | None = None
    x0: Input | None = None
    x1: Input | None = None
    others: Annotated[list[tuple[Input, Held]], Field(min_length=1, max_length=50)] | None = None

    @model_serializer(mode="wrap")
    def _those_given(self, handler: Any) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value is not None}


class CrowdClaim(Strict):
    """One end for a member of a group; as ``Claim``. Its own group alone has a plain witness."""

    end: Literal["upper", "lower"]
    trust: Trust
    value: NonNegative | None
    log: float | None
    theorem: Statement | None
    witness: CrowdWitness | Witness | None
    numerical_width: NonNegative | None
    assumptions: list[str]


class CrowdScenario(Strict):
    """One situation of a member: n messages among which the member's is hidden."""

    name: Literal["now", "shuffler fails"]
    n: Count
    how: str
    claims: list[CrowdClaim]


class Members(Strict):
    """What is claimed of the members of one group."""

    group: Annotated[int, Field(ge=0, le=49)]
    users: Count
    neighbouring_relation: dict[str, Any]
    local_guarantee: NonNegative | None
    scenarios: list[CrowdScenario]


class CrowdSource(Strict):
    """The deployment file: its name, its hash, what it said (defaults filled in)."""

    file: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    content: CrowdDeployment


class CrowdCertificate(Shown, Strict):
    """Everything that is claimed of one crowd, group by group."""

    format: Literal["shuffledp-crowd-certificate/1"]
    shuffledp_version: Version
    deployment: CrowdSource
    quantity: Literal["epsilon", "delta"]
    at: NonNegative
    privacy_unit: str
    members: Annotated[list[Members], Field(min_length=1, max_length=50)]
    checksum: str

    @property
    def release(self) -> None:
        """What a run released: nothing, of crowds there are no runs."""
        return

    def of_group(self, k: int) -> Certificate:
        """One group's claims as a certificate of its own, which is not one that is written.

        Its deployment is the group's mechanism, with all users who run it; claims and relation are
        those that are made here.

        Parameters
        ----------
        k : int
            Place in ``members``.
        """
        found, source = self.members[k], self.deployment
        alone = source.content.alone(k)
        return Certificate.model_construct(
            format="shuffledp-certificate/1",
            shuffledp_version=self.shuffledp_version,
            deployment=Source(file=source.file, sha256=source.sha256, content=alone),
            quantity=self.quantity,
            at=self.at,
            view=None,
            neighbouring_relation=found.neighbouring_relation,
            privacy_unit=self.privacy_unit,
            rounds=1,
            local_guarantee=found.local_guarantee,
            assumptions=[],
            scenarios=[
                Scenario.model_construct(
                    name=one.name, n=one.n, how=one.how, claims=list(one.claims), composed=[]
                )
                for one in found.scenarios
            ],
            release=None,
            checksum=self.checksum,
        )

    def records(self) -> list[Record]:
        """One row for each claim, as ``to_frame`` has them."""
        return [
            {"group": one.group, "users": one.users, **row}
            for k, one in enumerate(self.members)
            for row in self.of_group(k).records()
        ]

    def sheet(self) -> Sheet:
        """What a notebook shows: the claims as they are written, which ``verify`` recomputes."""
        rows, notes, head = [], [], ()
        for k, one in enumerate(self.members):
            shown = self.of_group(k).sheet()
            head = ("group", *shown.head)
            rows += [(f"{one.group}", *row) for row in shown.rows]
            notes += list(shown.notes)
        return Sheet(self._line(), head, tuple(rows), tuple(dict.fromkeys(notes)))

    def _line(self) -> str:
        fixed = "delta" if self.quantity == "epsilon" else "eps"
        title = self.deployment.content.title
        return f"certificate of the crowd {title!r}: {self.quantity} at {fixed} = {self.at:g}"

    def __repr__(self) -> str:
        claims = len(self.records())
        return f"CrowdCertificate({self._line()}, {claims} claims, sha256 {self.checksum[:12]})"

    def __str__(self) -> str:
        return repr(self)


def crowd_dict(certificate: CrowdCertificate) -> dict[str, Any]:
    """JSON-able form; floats are written as repr does, so they come back bit for bit."""
    return certificate.model_dump(mode="json")


def crowd_json(certificate: CrowdCertificate) -> str:
    """The text of the certificate file."""
    return json.dumps(crowd_dict(certificate), indent=2, allow_nan=False) + "\n"


def signed(certificate: CrowdCertificate) -> CrowdCertificate:
    """With its checksum."""
    return certificate.model_copy(update={"checksum": checksum(crowd_dict(certificate))})


def read_any(path: str | Path) -> Certificate | CrowdCertificate:
    """Read a certificate of either kind; anything that is not one is refused.

    Raises
    ------
    ParameterError
        If there is no such file, it is not JSON, or it is not a certificate of these formats.
    """
    found = loaded(path)
    if isinstance(found, dict) and found.get("format") == FORMAT_CROWD:
        return as_written(path, found, CrowdCertificate, crowd_dict)
    return plain(path, found)
