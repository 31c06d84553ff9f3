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
from shuffledp.theorems import Theorem
from shuffledp.values.notebook import Record, Sheet, Shown

# Raised with every change of what is written: a reader refuses all others.
FORMAT = "shuffledp-certificate/3"
# How the formats of all versions begin.
FORMATS = "shuffledp-certificate/"
# Places of a curve, multiples of a step that are looked at one by one; `compose` makes 384.
_MOST_PLACES = 5000
# Values of one round by label stealing, each of which a reader computes in a second or two.
_MOST_STOLEN = 400
# Pairs of inputs; groups of a crowd; parts of the outputs. None of them is reached by an account.
_MOST_PAIRS, _MOST_GROUPS, _MOST_PARTS = 200, 50, 4096

# Versions as PEP 440 writes them: nothing that a terminal takes for an order.
Version = Annotated[str, Field(pattern=r"^[0-9A-Za-z.+!_-]{1,64}$")]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=1, le=10**15)]
Held = Annotated[int, Field(ge=0, le=10**15)]
NonNegative = Annotated[float, Field(ge=0.0)]
Positive = Annotated[float, Field(gt=0.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
_Shares = Annotated[list[Share], Field(min_length=1, max_length=_MOST_PARTS)]
_Values = Annotated[list[NonNegative], Field(min_length=2, max_length=_MOST_PLACES)]
# A value, a record of values, or a record whose attributes are records.
Input = int | float | tuple[int | float | tuple[int | float, ...], ...]
Ids = list[Annotated[str, Field(min_length=1, max_length=64)]]


class Strict(BaseModel):
    """A table of a certificate: strict types, no unknown keys, never changed, no NaN.

    What is not given is not written.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class _Sparse(Strict):
    @model_serializer(mode="wrap")
    def _those_given(self, handler: Any) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value is not None}


class FreeNumbers(_Sparse):
    """Numbers that label stealing leaves free, for one pair of the victim's inputs; all are valid.

    ``alpha``, ``smoothing`` and ``step`` say where its sum is taken. The reservoir is a ``share``
    of the blanket, one for each part of the outputs, and the victim joins it with probability
    ``join``. Gains are cut at ``ceiling``. In a crowd the reservoir is a share of what all groups'
    laws have in common when divided by their ``shares``: ``gain`` of it where an output speaks for
    the victim's first input, ``loss`` elsewhere; the victim joins with probability ``theta``.
    """

    alpha: Positive
    smoothing: Positive
    step: Positive | None = None
    share: _Shares | None = None
    join: _Shares | None = None
    ceiling: NonNegative | None = None
    gain: Share | None = None
    loss: Share | None = None
    theta: Share | None = None
    shares: Annotated[list[Share], Field(min_length=1, max_length=_MOST_GROUPS)] | None = None


_Free = Annotated[list[FreeNumbers], Field(min_length=1, max_length=_MOST_PAIRS)]


class Witness(_Sparse):
    """What reproduces an end: the analysis, and the numbers that it leaves free.

    Attributes
    ----------
    analysis : str
        What the end is computed by.
    x0, x1, x2, swap, others
        Of a data set: the victim's two inputs, what the others hold, the order of the divergence.
        ``others`` lists inputs and how many hold each; of sums it counts those that hold a 1.
    member : {"binary-rr", "3-rr"}
        Of a family: the randomizer that a lower end is of.
    free : list of FreeNumbers
        Of label stealing, one for each pair of inputs that its theorem names.
    dots, values, ends : list
        Of several rounds or coordinates: delta of one at eps = ``dots`` is at most ``values`` (an
        upper end), or between each two of ``ends`` (a lower end), in both directions.
    frees : list
        Of ``values`` by label stealing: each one's free numbers, or null where the blanket's bound,
        of a family the clone's, is enough.
    """

    analysis: Literal[
        "binary-exact",
        "binary-exact-lower",
        "label-stealing",
        "lone-jump",
        "blanket",
        "clone",
        "stronger-clone",
        "local",
        "dataset",
        "multi-message",
        "sums",
        "sums-dataset",
        "sum-of-normals",
        "sums-local",
        "crowd-stealing",
        "common-blanket",
        "crowd-dataset",
    ]
    x0: Input | None = None
    x1: Input | None = None
    x2: Input | None = None
    swap: bool | None = None
    others: Held | Annotated[list[tuple[Input, Held]], Field(max_length=100)] | None = None
    member: Literal["binary-rr", "3-rr"] | None = None
    free: _Free | None = None
    dots: _Values | None = None
    values: _Values | None = None
    ends: Annotated[list[tuple[_Values, _Values]], Field(min_length=1, max_length=2)] | None = None
    frees: Annotated[list[_Free | None], Field(min_length=2, max_length=_MOST_STOLEN)] | None = None


class Claim(Strict):
    """One end in one setting.

    Attributes
    ----------
    group, situation, n, rounds
        The setting; see ``setting.Setting``. The mechanisms stand in the deployment.
    quantity, at
        The question: eps at this delta, or delta at this eps.
    end, trust
        Which end, by all theorems or published ones alone.
    value, log : float or None
        The number, and of a delta its natural logarithm. Null: nothing finite is claimed.
    theorem, assumptions : list of str
        Ids of the theorem's steps (``theorems``), and of the sentences that an upper end takes for
        granted (``statements``). Empty where nothing is claimed.
    relation : mapping
        Which datasets are neighbours.
    numerical_width : float or None
        How much of the end is rounding.
    witness : Witness or None
        What reproduces it.
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
    log: float | None
    theorem: Ids
    assumptions: Ids
    relation: dict[str, Any]
    numerical_width: NonNegative | None
    witness: Witness | None

    @property
    def nothing(self) -> bool:
        """Whether no number is claimed: an upper end of null, a lower end of 0."""
        if self.end == "upper":
            return self.value is None
        return self.value == 0.0 and self.log is None

    @property
    def rests_on(self) -> Theorem | None:
        """Its theorem, from the table; None where nothing is claimed."""
        return theorems.named(self.theorem) if self.theorem else None

    @model_validator(mode="after")
    def _known_theorem(self) -> Claim:
        try:
            _ = self.rests_on
        except KeyError as error:
            raise ParameterError(f"theorem: {error.args[0]!r} is no theorem's id") from None
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

    format: Literal["shuffledp-certificate/3"]
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
        from shuffledp.bound import shown_end  # imported here: only a notebook needs it

        rows = []
        for row in self.records():
            up, quantity = row["end"] == "upper", row["quantity"]
            unit = "eps (nats)" if quantity == "epsilon" else "delta"
            number = shown_end(quantity, row["value"], row["log"], up=up, digits=8)
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
_SHOWN = {"situation", "n", "rounds", "quantity", "at", "end", "trust", "value", "log"}


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
