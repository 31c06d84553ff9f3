"""The certificate: its tables, and how it is written, exactly."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    model_serializer,
    model_validator,
)

from shuffledp._check import Trust, exact
from shuffledp.deployment.added import AddedTable
from shuffledp.deployment.model import Deployment
from shuffledp.errors import ParameterError
from shuffledp.values.notebook import Record, Sheet, Shown

FORMAT = "shuffledp-certificate/1"
# With several rounds; those of one round are still written in the first format.
FORMAT_ROUNDS = "shuffledp-certificate/2"

# Places of a curve, multiples of a step that are looked at one by one; `compose` makes 384.
_MOST_PLACES = 5000
# Values of one round by label stealing, each of which a reader computes in a second or two.
MOST_STOLEN = 400

# Versions as PEP 440 writes them: nothing that a terminal takes for an order.
Version = Annotated[str, Field(pattern=r"^[0-9A-Za-z.+!_-]{1,64}$")]
Count = Annotated[int, Field(ge=1, le=10**15)]
Held = Annotated[int, Field(ge=0, le=10**15)]
NonNegative = Annotated[float, Field(ge=0.0)]
_Values = Annotated[list[NonNegative], Field(min_length=2, max_length=_MOST_PLACES)]
# Lower and upper values at the same dots.
_Ends = tuple[_Values, _Values]
# A value, a record of values, or a record whose attributes are records.
Input = int | float | tuple[int | float | tuple[int | float, ...], ...]


class Strict(BaseModel):
    """A table of a certificate: strict types, no unknown keys, never changed, no NaN."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Statement(Strict):
    """A theorem, with its source and whether all of it is published."""

    key: str
    title: str
    source: str
    provenance: Literal["published", "proved here"]


# Numbers from 0 to 1, one for each part of the outputs.
Parts = Annotated[
    list[Annotated[float, Field(ge=0.0, le=1.0)]], Field(min_length=1, max_length=4096)
]


class FreeNumbers(Strict):
    """Numbers that a label-stealing bound leaves free, for one pair of inputs; all are valid.

    ``alpha``, ``smoothing`` and ``step`` say where its sum is taken. The reservoir is a ``share``
    of the blanket, one for each part of the outputs, and the victim joins it with probability
    ``join``. Gains are cut at ``ceiling``.
    """

    alpha: Annotated[float, Field(gt=0.0)]
    smoothing: Annotated[float, Field(gt=0.0)]
    step: Annotated[float, Field(gt=0.0)] | None = None
    share: Parts | None = None
    join: Parts | None = None
    ceiling: NonNegative | None = None

    @model_serializer(mode="wrap")
    def _those_given(self, handler: Any) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value is not None}


class Witness(Strict):
    """What reproduces an end: the analysis and, for a dataset, who holds what.

    ``pairs`` are the ordered pairs of inputs that were looked at for a blanket; the theorem says
    why they are enough. "all", of a matrix or a report made of parts: they are not listed.
    ``member`` names the randomizer of a family that a lower end is of. ``free`` are the numbers of
    label stealing, for each of the pairs; "all" means all ordered pairs (0, 1), (0, 2), ...
    ``others``, of a data set that is named: inputs of the others, and how many hold each.
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
    ]
    x0: Input | None = None
    x1: Input | None = None
    x2: Input | None = None
    swap: bool = False
    pairs: list[tuple[Input, Input]] | Literal["all"] | None = None
    member: Literal["binary-rr", "3-rr"] | None = None
    free: Annotated[list[FreeNumbers], Field(min_length=1, max_length=200)] | None = None
    others: Annotated[list[tuple[Input, Held]], Field(max_length=100)] | None = None

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: Any) -> dict[str, Any]:
        """Without what only some analyses have, where there is none: as before there was that."""
        found = handler(self)
        for key in ("member", "free", "others"):
            if found[key] is None:
                del found[key]
        return found


class SumsWitness(Strict):
    """What reproduces an end of sums.

    ``values`` (upper end) are not below delta of one coordinate at eps = ``dots``, for every data
    set. Of a lower end ``others`` says how many of the others hold a 1 in a coordinate of the
    victim's that falls from 1 to 0, ``swap`` that the end is of the other order, ``ends`` are lower
    and upper values of delta of that coordinate at the dots, in one order and in the other. No
    dots: one coordinate changes, whose delta is the end.
    """

    analysis: Literal["sums", "sums-dataset", "sum-of-normals", "sums-local"]
    others: Held | None = None
    swap: bool | None = None
    dots: _Values | None = None
    values: _Values | None = None
    ends: Annotated[list[_Ends], Field(min_length=2, max_length=2)] | None = None

    @model_serializer(mode="wrap")
    def _those_given(self, handler: Any) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value is not None}


class Claim(Strict):
    """One end. ``value`` null: nothing finite is claimed. ``log``: of a delta, natural."""

    end: Literal["upper", "lower"]
    trust: Trust
    value: NonNegative | None
    log: float | None
    theorem: Statement | None
    witness: Witness | SumsWitness | None
    numerical_width: NonNegative | None
    assumptions: list[str]


Frees = FreeNumbers | Annotated[list[FreeNumbers], Field(min_length=2, max_length=200)] | None


def listed(frees: FreeNumbers | list[FreeNumbers]) -> list[FreeNumbers]:
    """Free numbers of a value, for each pair."""
    return frees if isinstance(frees, list) else [frees]


class ComposedWitness(Witness):
    """What reproduces an end after all rounds: one round's curve at eps = ``dots``.

    ``values`` (upper end) are not below delta of one round there. ``ends`` (lower end) are lower
    and upper values of delta of one round for the pair of datasets, and for its swap where that is
    another one; ``swap`` says which of the two the end is of. ``frees``, of label stealing, has the
    free numbers of each value (a list of them where there are several pairs), or null where the
    blanket's bound, of a family the clone's, is enough. ``basic``: eps/rounds and delta/rounds hold
    for one round, or one round alone loses that.
    """

    basic: bool = False
    dots: _Values | None = None
    values: _Values | None = None
    ends: Annotated[list[_Ends], Field(min_length=1, max_length=2)] | None = None
    frees: Annotated[list[Frees], Field(min_length=2, max_length=MOST_STOLEN)] | None = None

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: Any) -> dict[str, Any]:
        """As of one round."""
        found = handler(self)
        for key in ("member", "free", "others", "frees"):
            if found[key] is None:
                del found[key]
        return found


class ComposedClaim(Strict):
    """One end after all rounds."""

    end: Literal["upper", "lower"]
    trust: Trust
    value: NonNegative | None
    log: float | None
    theorem: Statement | None
    witness: ComposedWitness | SumsWitness | None
    numerical_width: NonNegative | None
    assumptions: list[str]


class Scenario(Strict):
    """One situation: n honest messages, where n comes from, and what is claimed there.

    ``claims`` are about one round, ``composed`` about all rounds together.
    """

    name: Literal["now", "minimum batch", "shuffler fails", "aggregator fails"]
    n: Count
    how: str
    claims: list[Claim]
    composed: list[ComposedClaim] = []


class Source(Strict):
    """The deployment file: its name, its hash, what it said (defaults filled in)."""

    file: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    content: Deployment


class Release(Strict):
    """What a run released: the table of estimates (file name, sha256 of its bytes), and its users.

    ``users`` were seen, ``declared_users`` are those of the deployment file. ``nulls`` rows had no
    value and ``outside`` one outside the domain, and were left out; None in certificates that do
    not say.
    """

    table: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    users: Count
    declared_users: Count
    nulls: Annotated[int, Field(ge=0)] | None = None
    outside: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _both_or_neither(self) -> Release:
        if (self.nulls is None) != (self.outside is None):
            words = f"release.nulls = {self.nulls}, release.outside = {self.outside}"
            raise ParameterError(f"{words}: wanted both, or neither")
        return self

    def left_out(self) -> str:
        """How many rows were left out and why, in words."""
        if self.nulls is None or self.outside is None:
            return "how many rows were left out is not said"
        return (
            f"{self.nulls:,} rows without a value and {self.outside:,} with one outside the domain "
            "were left out"
        )


class View(Strict):
    """What the analyst sees where it is not all messages, as a value and in words.

    ``changed`` is how many coordinates a neighbour may change in one round, ``added`` the noise of
    the aggregator's own on every sum.
    """

    key: Literal["sums"]
    ones: Annotated[int, Field(ge=1)]
    changed: Annotated[int, Field(ge=1)]
    words: str
    added: AddedTable | None = None

    @model_serializer(mode="wrap")
    def _without_no_noise(self, handler: Any) -> dict[str, Any]:
        """Of no noise nothing is said: certificates say what they said before."""
        found = handler(self)
        if self.added is None:
            del found["added"]
        return found


class Certificate(Shown, Strict):
    """Everything that is claimed of one deployment; ``view`` is null where messages are seen."""

    format: Literal["shuffledp-certificate/1", "shuffledp-certificate/2"]
    shuffledp_version: Version
    deployment: Source
    quantity: Literal["epsilon", "delta"]
    at: NonNegative
    view: View | None = None
    neighbouring_relation: dict[str, Any]
    privacy_unit: str
    rounds: Annotated[int, Field(ge=1, le=10**9)]
    local_guarantee: NonNegative | None
    assumptions: list[str]
    scenarios: list[Scenario]
    release: Release | None = None
    checksum: str

    @model_validator(mode="after")
    def _one_round(self) -> Certificate:
        if self.format == FORMAT and self.rounds != 1:
            raise ParameterError(f"rounds = {self.rounds}: wanted 1 in a certificate {FORMAT!r}")
        return self

    def records(self) -> list[Record]:
        """One row for each claim, as ``to_frame`` has them."""
        return [
            {
                "situation": scenario.name,
                "n": scenario.n,
                "rounds": rounds,
                "quantity": self.quantity,
                "at": self.at,
                "end": claim.end,
                "trust": claim.trust,
                "value": claim.value,
                "log": claim.log,
                "theorem": None if claim.theorem is None else claim.theorem.title,
                "source": None if claim.theorem is None else claim.theorem.source,
                "provenance": None if claim.theorem is None else claim.theorem.provenance,
            }
            for scenario in self.scenarios
            for rounds, claims in ((1, scenario.claims), (self.rounds, scenario.composed))
            for claim in claims
        ]

    def sheet(self) -> Sheet:
        """What a notebook shows: the claims as they are written, which ``verify`` recomputes."""
        from shuffledp.bound import shown_end  # imported here: only a notebook needs it

        unit = "eps (nats)" if self.quantity == "epsilon" else "delta"
        rows = []
        for row in self.records():
            up = row["end"] == "upper"
            number = shown_end(self.quantity, row["value"], row["log"], up=up, digits=8)
            sign = f"{unit} {'<=' if up else '>='}"
            said = (row["theorem"] or "", row["source"] or "", row["provenance"] or "")
            where = (row["situation"], f"{row['n']:,}", f"{row['rounds']:,}")
            rows.append((*where, sign, number, row["trust"], *said))
        head = ("situation", "n honest", "rounds", "claim", "", "trust", "theorem", "source")
        notes = (
            "as it is written: `shuffledp verify` recomputes every claim",
            f"one unit of privacy: {self.privacy_unit}",
            f"assumes: {self.neighbouring_relation['words']}",
            *(f"assumes: {words}" for words in self.assumptions),
        )
        return Sheet(self._line(), (*head, "provenance"), tuple(rows), notes)

    def _line(self) -> str:
        """What it is of, and at what."""
        fixed = "delta" if self.quantity == "epsilon" else "eps"
        title = self.deployment.content.title
        return f"certificate of {title!r}: {self.quantity} at {fixed} = {exact(self.at)}"

    def __repr__(self) -> str:
        claims = len(self.records())
        return f"Certificate({self._line()}, {claims} claims, sha256 {self.checksum[:12]})"

    def __str__(self) -> str:
        return repr(self)


def format_of(rounds: int) -> str:
    """The format of certificates of so many rounds."""
    return FORMAT if rounds == 1 else FORMAT_ROUNDS


def to_dict(certificate: Certificate) -> dict[str, Any]:
    """JSON-able form; floats are written as repr does, so they come back bit for bit."""
    content = certificate.model_dump(mode="json")
    for key in ("release", "view"):
        if getattr(certificate, key) is None:
            del content[key]
    for key in ("nulls", "outside"):
        if certificate.release is not None and getattr(certificate.release, key) is None:
            del content["release"][key]
    if certificate.format == FORMAT:
        for scenario in content["scenarios"]:
            if not scenario["composed"]:
                del scenario["composed"]
    return content


def to_json(certificate: Certificate) -> str:
    """The text of the certificate file."""
    return json.dumps(to_dict(certificate), indent=2, allow_nan=False) + "\n"


def checksum(content: dict[str, Any]) -> str:
    """sha256 of a certificate's content, its checksum left out, in canonical JSON."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
