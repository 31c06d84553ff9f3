"""The certificate: a list of claims about a deployment, and how it is written, exactly."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_serializer, model_validator

from shuffledp import theorems
from shuffledp._check import Trust, exact
from shuffledp.certificate.members import Members
from shuffledp.deployment.model import Deployment
from shuffledp.errors import ParameterError
from shuffledp.statements import Sentence, say
from shuffledp.theorems import Theorem
from shuffledp.values.notebook import Record, Sheet, Shown

# Raised with every change of what is written: a reader refuses all others.
FORMAT = "shuffledp-certificate/5"
# How the formats of all versions begin.
FORMATS = "shuffledp-certificate/"
_MOST_GROUPS = 50

# Versions as PEP 440 writes them: nothing that a terminal takes for an order.
Version = Annotated[str, Field(pattern=r"^[0-9A-Za-z.+!_-]{1,64}$")]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=1, le=10**15)]
NonNegative = Annotated[float, Field(ge=0.0)]
Ids = list[Annotated[str, Field(min_length=1, max_length=64)]]
# A sentence: its id, and what stands in its braces.
Said = Annotated[list[str | int | float], Field(min_length=1, max_length=8)]


class Strict(BaseModel):
    """A table of a certificate: strict types, no unknown keys, never changed, no NaN.

    What is not given is not written.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class _Sparse(Strict):
    @model_serializer(mode="wrap")
    def _those_given(self, handler: Any) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value is not None}


class Claim(Strict):
    """One end in one setting.

    An account is a function of the setting: what reproduces the number stands in the deployment.

    Attributes
    ----------
    group, situation, n, rounds
        The setting; see ``setting.Setting``. The mechanisms stand in the deployment.
    quantity, at
        The question: eps at this delta, or delta at this eps.
    end, trust
        Which end, by all theorems or published ones alone.
    value : float or None
        The number; of a delta below all floats the smallest one. None: nothing finite is claimed.
    theorem : list of str
        Ids of the theorem's steps (``theorems``); empty where nothing is claimed.
    assumptions : list of lists
        The sentences (``statements``) that an upper end takes for granted: of each its id, and what
        stands in its braces.
    relation : mapping
        Which datasets are neighbours.
    why : str or None
        Where no upper end is certified: the reason.
    """

    group: Annotated[int, Field(ge=0, lt=_MOST_GROUPS)]
    situation: Literal["now", "minimum batch", "shuffler fails", "aggregator fails"]
    n: Count
    rounds: Annotated[int, Field(ge=1, le=10**9)]
    quantity: Literal["epsilon", "delta"]
    at: NonNegative
    end: Literal["upper", "lower"]
    trust: Trust
    value: NonNegative | None
    theorem: Ids
    assumptions: list[Said]
    relation: dict[str, Any]
    why: str | None

    @property
    def nothing(self) -> bool:
        """Whether no number is claimed: an upper end of null, a lower end of 0."""
        if self.end == "upper":
            return self.value is None
        return self.value == 0.0

    @property
    def rests_on(self) -> Theorem | None:
        """Its theorem, from the table; None where nothing is claimed."""
        return theorems.named(self.theorem) if self.theorem else None

    @property
    def words(self) -> tuple[Sentence, ...]:
        """The sentences that it takes for granted."""
        return tuple(say(str(name), *values) for name, *values in self.assumptions)

    @model_validator(mode="after")
    def _known(self) -> Claim:
        """Theorems and sentences stand in the tables."""
        try:
            _ = self.rests_on
        except KeyError as error:
            raise ParameterError(f"theorem: {error.args[0]!r} is no theorem's id") from None
        try:
            _ = self.words
        except (KeyError, IndexError, ValueError, TypeError):
            raise ParameterError("assumptions: wanted ids of sentences and their values") from None
        return self


class Source(Strict):
    """The deployment file: its name, its hash, what it said (defaults filled in)."""

    file: str
    sha256: Digest
    content: Deployment


class Release(_Sparse):
    """What a run released: the table of estimates (file name, sha256 of its bytes), and its users.

    ``users`` were seen, ``declared_users`` are those of the deployment file. ``nulls`` rows had no
    value and ``outside`` one outside the domain, and were left out.
    """

    table: str
    sha256: Digest
    users: Count
    declared_users: Count
    nulls: Annotated[int, Field(ge=0)]
    outside: Annotated[int, Field(ge=0)]

    def left_out(self) -> str:
        """How many rows were left out and why, in words."""
        return (
            f"{self.nulls:,} rows without a value and {self.outside:,} with one outside the domain "
            "were left out"
        )


class Certificate(Shown, Strict):
    """Everything that is claimed of one deployment.

    Attributes
    ----------
    deployment : Source
        What is deployed.
    local_guarantees : list of float or None
        Of each mechanism: what one user's data tells alone at most, in nats; null where there is no
        pure guarantee.
    claims : list of Claim
        Setting by setting.
    release : Release or None
        Of a run.
    """

    format: Literal["shuffledp-certificate/5"]
    shuffledp_version: Version
    deployment: Source
    local_guarantees: Annotated[
        list[NonNegative | None], Field(min_length=1, max_length=_MOST_GROUPS)
    ]
    claims: list[Claim]
    release: Release | None
    checksum: str

    @property
    def members(self) -> list[Members]:
        """For a reader: the claims about each group's members, of one mechanism one."""
        return [Members(self, k) for k in range(len(self.local_guarantees))]

    @property
    def crowd(self) -> bool:
        """Whether there are groups with mechanisms of their own."""
        return bool(self.deployment.content.group)

    def records(self) -> list[Record]:
        """One row for each claim, as ``to_frame`` has them."""
        rows, members = [], self.members if self.crowd else []
        for claim in self.claims:
            theorem = claim.rests_on
            row = claim.model_dump(include=_SHOWN) | {
                "theorem": None if theorem is None else theorem.title,
                "source": None if theorem is None else theorem.source,
                "provenance": None if theorem is None else theorem.provenance,
            }
            if self.crowd:
                users = members[claim.group].users
                row = {"group": claim.group, "users": users, **row}
            rows.append(row)
        return rows

    def sheet(self) -> Sheet:
        """What a notebook shows: the claims as they are written, which ``verify`` recomputes."""
        from shuffledp.bound import outward  # imported here: only a notebook needs it

        rows = []
        for row in self.records():
            up, quantity = row["end"] == "upper", row["quantity"]
            unit = "eps (nats)" if quantity == "epsilon" else "delta"
            number = outward(row["value"], up=up, digits=8)
            said = (row["theorem"] or "", row["source"] or "", row["provenance"] or "")
            where = (row["situation"], f"{row['n']:,}", f"{row['rounds']:,}")
            group = (f"{row['group']}",) if self.crowd else ()
            sign = f"{unit} {'<=' if up else '>='}"
            rows.append((*group, *where, sign, number, row["trust"], *said))
        head = ("situation", "n honest", "rounds", "claim", "", "trust", "theorem", "source")
        notes = ["as it is written: `shuffledp verify` recomputes every claim"]
        for one in self.members:
            said = [one.neighbours, *one.assumptions]
            notes += [f"one unit of privacy: {one.privacy_unit}", *(f"assumes: {w}" for w in said)]
        groups = ("group",) if self.crowd else ()
        once = tuple(dict.fromkeys(notes))
        return Sheet(self._line(), (*groups, *head, "provenance"), tuple(rows), once)

    def _line(self) -> str:
        """What it is of, and at what."""
        target = self.deployment.content.target
        fixed = "delta" if target.quantity == "epsilon" else "eps"
        of = f"certificate of {'the crowd ' if self.crowd else ''}{self.deployment.content.title!r}"
        return f"{of}: {target.quantity} at {fixed} = {exact(target.value)}"

    def __repr__(self) -> str:
        words = f"{len(self.claims)} claims, sha256 {self.checksum[:12]}"
        return f"Certificate({self._line()}, {words})"

    def __str__(self) -> str:
        return repr(self)


# Fields of a claim that a table of claims has.
_SHOWN = {"situation", "n", "rounds", "quantity", "at", "end", "trust", "value"}


def to_dict(certificate: Certificate) -> dict[str, Any]:
    """JSON-able form; floats are written as repr does, so they come back bit for bit."""
    return certificate.model_dump(mode="json")


def to_json(certificate: Certificate) -> str:
    """The text of the certificate file."""
    return json.dumps(to_dict(certificate), indent=2, allow_nan=False) + "\n"


def signed(certificate: Certificate) -> Certificate:
    """With its checksum."""
    return certificate.model_copy(update={"checksum": checksum(to_dict(certificate))})


def checksum(content: dict[str, Any]) -> str:
    """sha256 of a certificate's content, its checksum left out, in canonical JSON."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
