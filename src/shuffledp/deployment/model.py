"""The deployment file: tables, keys, and what each may be. Unknown keys are refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from shuffledp import _check
from shuffledp._check import Trust, exact
from shuffledp.accounts.shuffler import PERFECT, Shuffler
from shuffledp.accounts.sources import GENERIC, source_from_dict
from shuffledp.accounts.supported import MOST_CHANGED, refused
from shuffledp.deployment.audits import AuditTable
from shuffledp.deployment.dap import DapTable
from shuffledp.deployment.data import Data
from shuffledp.deployment.mechanisms import checked_randomizer, domain_fault, is_protocol
from shuffledp.deployment.shufflers import ShufflerTable
from shuffledp.deployment.tables import Count, Table, checked, one_of
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.population.crowd import LARGEST_GROUPS
from shuffledp.statements import say
from shuffledp.views.noise import KINDS, LARGEST_SCALE, SMALLEST_SCALE, AddedNoise
from shuffledp.views.sums import Sums, summed

LARGEST_ROUNDS = 10**9
# Keys of which nothing is written where they are as usual.
_UNSAID = (("shuffler", None), ("changed", 1), ("added", None), ("dap", None), ("audit", None))
# What the file of a crowd says; each group has users and a randomizer of its own.
_OF_CROWD = ("accounting", "group", "target", "title")
# Which datasets are neighbours, of sums: the first is what is taken where none is given.
RELATIONS = ("replace-one", "replace-special")


def _share(name: str, value: Any, *, zero: bool, one: bool) -> float:
    number = _check.real(name, value)
    low, high = (">= 0" if zero else "> 0"), ("<= 1" if one else "< 1")
    inside = (0.0 < number < 1.0) or (number == 0.0 and zero) or (number == 1.0 and one)
    if not inside:
        raise rejected(name, number, f"{low} and {high}")
    return number


def _title(value: Any) -> Any:
    """A title is a line with something in it: it heads the account and the figure."""
    line = isinstance(value, str) and value.strip() and "".join(value.splitlines()) == value
    if isinstance(value, str) and not line:
        raise rejected("", value, "a line of text")
    return value


Title = Annotated[str, BeforeValidator(_title)]


class Population(Table):
    """Who takes part, and how many of them the analyst cannot count on."""

    users: Count = Field(description="users who are asked for a report")
    minimum_batch: Count | None = Field(
        default=None, description="messages below which the shuffler releases nothing"
    )
    participation: Annotated[float, checked(_share, zero=False, one=True)] | None = Field(
        default=None, description="share of the users whose report arrives, in (0, 1]"
    )
    dropout: Annotated[float, checked(_share, zero=True, one=False)] | None = Field(
        default=None, description="share of the users whose report does not arrive, in [0, 1)"
    )
    colluding: Annotated[float, checked(_share, zero=True, one=False)] = Field(
        default=0.0,
        description="share of the messages of a batch whose senders tell the analyst, in [0, 1)",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Population:
        if self.participation is not None and self.dropout is not None:
            raise ParameterError(
                f"population.dropout = {self.dropout!r}: wanted participation or dropout, not both"
            )
        if self.arriving < 1:
            raise ParameterError(
                f"population.users = {self.users}: wanted at least one report that arrives"
            )
        if self.minimum_batch is not None and self.minimum_batch > self.arriving:
            raise ParameterError(
                f"population.minimum_batch = {self.minimum_batch}: wanted at most "
                f"{self.arriving:,}, the reports that arrive; no batch would be released"
            )
        for batch in self.batches:
            if self.honest(batch) < 1:
                raise ParameterError(
                    f"population.colluding = {self.colluding!r}: wanted at least one honest "
                    f"message in a batch of {batch:,}"
                )
        return self

    @property
    def arriving(self) -> int:
        """Reports that arrive, rounded down."""
        if self.dropout is not None:
            return self.users - math.ceil(as_written(self.dropout) * self.users)
        return math.floor(as_written(self.participation or 1.0) * self.users)

    @property
    def batches(self) -> tuple[int, ...]:
        """Sizes of batches that are accounted for: all that arrives, and the least released."""
        return (self.arriving, *([] if self.minimum_batch is None else [self.minimum_batch]))

    @property
    def least(self) -> int:
        """Reports below which nothing is released; 1 where no minimum is set."""
        return self.minimum_batch or 1

    def enough(self, users: int) -> None:
        """ParameterError for a run of too few users, before anything is released."""
        if users < 1:
            raise rejected("input", "0 rows", "at least one row with a value")
        if users < self.least:
            raise ParameterError(
                f"input has {users:,} reports: wanted at least population.minimum_batch = "
                f"{self.least:,}; nothing is released"
            )

    def honest(self, batch: int) -> int:
        """Messages of a batch the analyst cannot attribute: colluders are rounded up."""
        return batch - math.ceil(as_written(self.colluding) * batch)


class Target(Table):
    """What is held fixed: delta (then eps is bounded) or eps (then delta is)."""

    delta: Annotated[float, checked(_check.open_unit)] | None = Field(
        default=None, description="delta in (0, 1)"
    )
    epsilon: Annotated[float, checked(_check.epsilon)] | None = Field(
        default=None, description="eps >= 0, in nats"
    )
    at_most: Annotated[float, checked(_check.positive)] | None = Field(
        default=None,
        description="what the bounded one of the two may be: as it runs and at the minimum batch, "
        "after all rounds",
    )

    @model_validator(mode="after")
    def _one(self) -> Target:
        if (self.delta is None) == (self.epsilon is None):
            found = "neither" if self.delta is None else "both"
            raise ParameterError(
                f"target has {found}: wanted exactly one of delta, epsilon "
                "(at_most limits the other one)"
            )
        if self.delta is None and self.at_most is not None:
            _check.open_unit("target.at_most", self.at_most)
        return self

    @model_serializer(mode="wrap")
    def _without_no_limit(self, handler: Any) -> dict[str, Any]:
        """Without a limit where there is none: certificates say what they said before."""
        found = handler(self)
        if found["at_most"] is None:
            del found["at_most"]
        return found

    @property
    def quantity(self) -> Literal["epsilon", "delta"]:
        """What is bounded."""
        return "delta" if self.delta is None else "epsilon"

    @property
    def value(self) -> float:
        """What is held fixed."""
        return float(self.epsilon if self.delta is None else self.delta)  # type: ignore[arg-type]


class Accounting(Table):
    """How to account."""

    trust: Annotated[Trust, one_of("all", "published")] = Field(
        default="all", description="'published' leaves out what is proved only here"
    )
    rtol: Annotated[float, checked(_check.real, low=1e-12, high=0.1)] = Field(
        default=1e-6, description="relative width wanted of the numerical bracket"
    )
    rounds: Annotated[
        int,
        checked(_check.count, high=LARGEST_ROUNDS),
        Field(ge=1, le=LARGEST_ROUNDS),
    ] = Field(default=1, description="rounds in which every user takes part, with fresh randomness")


class Group(Table):
    """One group: its users, all of whom are honest and arrive, and what they run."""

    users: Count = Field(description="users of this group whose reports arrive and who tell nobody")
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


class AddedTable(Table):
    """Noise on the integers that the aggregator adds to the sum of every coordinate."""

    kind: Annotated[Literal["discrete-laplace", "discrete-gaussian"], one_of(*KINDS)] = Field(
        description="discrete-laplace: exp(-|z|/scale); discrete-gaussian: exp(-z^2/(2 scale^2))"
    )
    scale: Annotated[float, checked(_check.real, low=SMALLEST_SCALE, high=LARGEST_SCALE)] = Field(
        description="in units of the sums, from 0.05 to 2,000"
    )


class Deployment(Table):
    """One deployment of a local randomizer, or of groups with their own, with a shuffler."""

    title: Title = Field(description="what this deployment is, in a line")
    # Absent of a crowd alone: `alone` gives each group's.
    population: Population = Field(default=None, description="a table with users")  # type: ignore[assignment]
    randomizer: Annotated[dict[str, Any], BeforeValidator(checked_randomizer)] = Field(
        default=None,  # type: ignore[assignment]
        description='a table with a key "name" and the parameters of that mechanism',
    )
    group: Annotated[list[Group], Field(min_length=1, max_length=LARGEST_GROUPS)] = Field(
        default=[],
        description="in place of population and randomizer: tables with users and randomizer, a "
        "crowd of groups behind one shuffler",
    )
    target: Target = Field(description="a table with delta or epsilon")
    accounting: Accounting = Accounting()
    data: Data | None = Field(default=None, description="where `shuffledp run` finds the values")
    audit: AuditTable | None = Field(default=None, description="how `shuffledp audit` asks")
    view: Annotated[Literal["messages", "sums"], one_of("messages", "sums")] = Field(
        default="messages",
        description="what the analyst sees: the shuffled messages, or the sum of each coordinate",
    )
    ones: Count | None = Field(
        default=None, description="with sums: most 1s of a report before it is randomized"
    )
    relation: Annotated[Literal["replace-one", "replace-special"], one_of(*RELATIONS)] | None = (
        Field(
            default=None,
            description="with sums: a user's data replaced by another, or by a report of zeros",
        )
    )
    added: AddedTable | None = Field(
        default=None, description="with sums: a table of noise that the aggregator adds to each"
    )
    dap: DapTable | None = Field(
        default=None, description="with sums: a table with the DAP task that adds the reports up"
    )
    shuffler: ShufflerTable | None = Field(
        default=None, description="a table of what is believed of the shuffler, if less than all"
    )
    changed: Annotated[
        int,
        checked(_check.count, high=MOST_CHANGED),
        Field(ge=1, le=MOST_CHANGED),
    ] = Field(
        default=1, description="users who may change at once, or reports of one person in a batch"
    )

    @model_validator(mode="before")
    @classmethod
    def _nothing_beside_groups(cls, table: Any) -> Any:
        """A crowd's users and mechanisms stand in its groups, and nothing else is known of it."""
        if isinstance(table, Mapping) and "group" in table:
            for key in table:
                if key in cls.model_fields and key not in _OF_CROWD:
                    wanted = f"no such key, but one of {', '.join(_OF_CROWD)}"
                    raise rejected(key, table[key], wanted)
        return table

    @model_validator(mode="after")
    def _one_or_groups(self) -> Deployment:
        if not self.group:
            for key in ("population", "randomizer"):
                if getattr(self, key) is None:
                    words = type(self).model_fields[key].description
                    raise ParameterError(f"{key} is missing: wanted {words}")
        return self

    @model_validator(mode="after")
    def _can_be_had_together(self) -> Deployment:
        """Refuse what no certificate has, by the table of ``accounts.supported``."""
        no = refused(
            {
                "mechanism": None if self.group else source_from_dict(self.randomizer),
                "groups": self.group or None,
                "view": self.view,
                "shuffler": self.believed,
                "changed": self.changed,
                "rounds": self.accounting.rounds,
                "trust": self.accounting.trust,
            },
            file=True,
            data=self.data is not None,
        )
        if no is None:
            return self
        key, value = no.argument, getattr(self, no.argument, None)
        if no.argument == "mechanism":
            key, value = "randomizer.name", self.randomizer["name"]
        elif no.argument in {"rounds", "trust"}:
            key, value = f"accounting.{key}", getattr(self.accounting, key)
        if isinstance(value, Table):
            raise ParameterError(f"{key}: wanted {no.wanted}")
        raise rejected(key, value, no.wanted)

    def alone(self, k: int) -> Deployment:
        """A group as a deployment of its own, all users with its mechanism; else the deployment.

        Parameters
        ----------
        k : int
            Index of the group.
        """
        if not self.group:
            return self
        own = self.group[k].randomizer
        users = sum(one.users for one in self.group if one.randomizer == own)
        return Deployment(
            title=self.title,
            population=Population(users=users),
            randomizer=own,
            target=self.target,
            accounting=self.accounting,
        )

    @model_validator(mode="before")
    @classmethod
    def _sums_in_full(cls, table: Any) -> Any:
        """With sums, ones and relation are there: defaults are written down."""
        if not isinstance(table, Mapping) or table.get("view") != "sums":
            return table
        return {"ones": 1, "relation": RELATIONS[0], **table}

    @model_serializer(mode="wrap")
    def _without_messages(self, handler: Any) -> dict[str, Any]:
        """Leave out the fields of the view "messages": certificates do not have them."""
        found = handler(self)
        if self.group:
            return {key: found[key] for key in _OF_CROWD}
        del found["group"]
        if self.view == "messages":
            for key in ("view", "ones", "relation"):
                del found[key]
        for key, usual in _UNSAID:
            if getattr(self, key) == usual:
                del found[key]
        return found

    @model_validator(mode="after")
    def _sums_are_known(self) -> Deployment:
        """What combinations have sums."""
        if self.view == "messages":
            for key in ("ones", "relation"):
                if getattr(self, key) is not None:
                    raise ParameterError(f'{key} = {getattr(self, key)!r}: wanted view = "sums"')
            for key in ("added", "dap"):
                if getattr(self, key) is not None:
                    raise ParameterError(f'{key}: wanted such a table with view = "sums" alone')
            return self
        self.sums(1, rounds=self.accounting.rounds)
        if self.data is not None:
            self.data.check_sums(self.randomizer["name"])
        if self.dap is not None:
            bits = self.randomizer.get("d", 1)
            self.dap.check(name=self.randomizer["name"], bits=bits)
            least = self.population.minimum_batch
            if self.dap.min_batch_size != least:
                found = "none" if least is None else str(least)
                wanted = (
                    f"population.minimum_batch, which is {found}: the batch that is accounted for"
                )
                raise rejected("dap.min_batch_size", self.dap.min_batch_size, wanted)
        return self

    @property
    def widened(self) -> bool:
        """Whether the shuffler is declared, or several users may change at once."""
        return self.shuffler is not None or self.changed > 1

    @model_validator(mode="after")
    def _has_enough_to_change(self) -> Deployment:
        """Whether as many users as may change are honest."""
        if not self.widened:
            return self
        for batch in self.population.batches:
            if self.honest(batch) < self.changed:
                raise ParameterError(
                    f"changed = {self.changed:,}: wanted at least that many honest messages in "
                    f"every shard of a batch of {batch:,}"
                )
        return self

    @property
    def believed(self) -> Shuffler:
        """What stands between users and analyst."""
        return PERFECT if self.shuffler is None else Shuffler(**self.shuffler.model_dump())

    def shard(self, batch: int) -> int:
        """Messages of a batch, or of its smallest shard where one alone hides its users."""
        try:
            return self.believed.shard(batch)
        except ParameterError as error:
            raise ParameterError(f"shuffler.{error}") from None

    def honest(self, batch: int) -> int:
        """The number of honest messages; the colluding ones are rounded up."""
        return self.population.honest(self.shard(batch))

    def sums(
        self, n: int, *, rounds: int = 1, failed: bool = False, rtol: float | None = None
    ) -> Sums:
        """Sums of n honest reports in this many rounds; without noise where the aggregator fails.

        Raises
        ------
        ParameterError
            For mechanisms, numbers of ones and relations that have no sums.
        """
        none = self.added is None or failed
        added = None if none else AddedNoise(**self.added.model_dump())  # type: ignore[union-attr]
        asked: dict[str, Any] = {"ones": self.ones, "relation": self.relation, "added": added}
        try:
            found = summed(source_from_dict(self.randomizer), n, rtol=rtol, **asked)
        except NotCertified as error:
            raise ParameterError(f'view = "sums": {error}') from None
        try:
            return found.again(rounds)
        except ParameterError as error:
            raise ParameterError(f"accounting.{error}") from None

    @model_validator(mode="after")
    def _one_item_each(self) -> Deployment:
        """What `run` would refuse is refused here: a domain of another size than wanted."""
        data = self.data
        if data is None or data.domain is None or self.randomizer["name"] == GENERIC:
            return self
        count = data.item_count()
        wanted = domain_fault(self.randomizer, count)
        if wanted:
            raise rejected("data.domain", f"{count} items", wanted)
        return self

    @property
    def unit(self) -> str:
        """What a batch is counted in: messages; users where each sends several; reports in sums."""
        if self.view == "sums":
            return "reports"
        return "users" if is_protocol(self.randomizer) else "messages"

    def assumptions(self) -> tuple[str, ...]:
        """What the file itself asks a reader to believe, in words."""
        p, unit = self.population, self.unit
        found: list[str] = []
        if p.arriving < p.users:
            found.append(say("arriving", p.arriving, p.users))
        if p.colluding:
            where, share = "shard" if self.believed.apart else "batch", exact(p.colluding)
            whose = "collude" if unit == "users" else "come from users who collude"
            found.append(say("colluding", where, share, unit, whose, _sent(unit)))
        if p.minimum_batch is not None:
            who = "aggregator" if self.view == "sums" else "shuffler"
            found.append(say("minimum-batch", who, p.minimum_batch, unit))
        if self.data is not None and any(self.data.left_out()):
            nulls, outside = self.data.left_out()
            reasons = ["without a value"] * nulls + ["with a value outside the domain"] * outside
            found.append(say("rows-left-out", " or ".join(reasons)))
        if self.dap is not None:
            found.append(self.dap.assumption())
        return tuple(found)


def _sent(unit: str) -> str:
    """What users send, by the unit of a batch."""
    return "reports" if unit == "reports" else "messages"


def as_written(value: float) -> Fraction:
    """The decimal number a float was written as: 0.1 is 1/10, not the float next to it."""
    return Fraction(repr(value))
