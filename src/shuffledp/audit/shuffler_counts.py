"""What is asked of a shuffler, and the raw counts of what left: all that a result is made of."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shuffledp import _check
from shuffledp.audit.tables import number, table_of, whole
from shuffledp.audit.words import one_line
from shuffledp.errors import rejected
from shuffledp.values.described import Described

# Blocks of a batch of which it is counted how many of the first ones stay first.
_SCALES = (2, 4, 16)
# Where messages come in or leave, in so many equal parts of a batch.
BINS = 8
# Characters of a message's mark, and the longest message.
MARK, _LONGEST = 16, 1024
# What may leave beside a message: length, pause, and fields of an envelope.
MOST_TRACES = 8


@dataclass(frozen=True, kw_only=True)
class ShufflerPlan(Described):
    """An audit of a shuffler.

    Parameters
    ----------
    messages : int
        Of one batch, 16 to 1e6.
    batches : int
        How many, 2 to 1e5.
    shards : int
        Messages arrive in so many equal groups, one after the other.
    minimum : int, optional
        The minimum batch: one message fewer has to leave nothing.
    alpha : float
        Level of all tests together.
    seed : int
        Of the marks of the messages.
    longest : int
        Characters of the longest message, 16 to 1,024; lengths are drawn uniformly from 16.
    dummies : int
        Messages of its own that it adds to every batch that leaves, at most 1e6.
    one_of : int
        Every batch is one shard's of so many, each shuffled on its own.
    fills : bool
        It fills in for users who send nothing; here all send.
    """

    messages: int = 1_000
    batches: int = 100
    shards: int = 1
    minimum: int | None = None
    alpha: float = 0.05
    seed: int = 0
    longest: int = MARK
    dummies: int = 0
    one_of: int = 1
    fills: bool = False

    def __post_init__(self) -> None:
        _check.count("messages", self.messages, low=16, high=10**6)
        _check.count("batches", self.batches, low=2, high=10**5)
        _check.count("shards", self.shards, high=self.messages // 8)
        _check.count("seed", self.seed, low=0, high=2**63 - 1)
        _check.count("longest", self.longest, low=MARK, high=_LONGEST)
        _check.count("dummies", self.dummies, low=0, high=10**6)
        _check.count("one_of", self.one_of)
        if not isinstance(self.fills, bool):
            raise rejected("fills", self.fills, "true or false")
        object.__setattr__(self, "alpha", _check.real("alpha", self.alpha, low=1e-12, high=0.5))
        if self.minimum is not None:
            _check.count("minimum", self.minimum, low=2)
            if self.minimum > self.messages:
                raise rejected("minimum", self.minimum, f"at most messages = {self.messages:,}")

    @property
    def uncovered(self) -> tuple[str, ...]:
        """What the tests say nothing of, of what is declared."""
        found = []
        if self.one_of > 1:
            found.append(
                f"every batch was one shard's of {self.one_of:,}: who is in which shard, how large "
                "shards are, and the minimum batch, which is that of all together"
            )
        if self.dummies:
            found.append(
                "whether dummies can be told from messages by what they say or by what leaves "
                "beside them"
            )
        if self.fills:
            found.append(
                "what is filled in for users who send nothing, and the minimum batch: all sent"
            )
        return tuple(found)

    @property
    def scales(self) -> tuple[int, ...]:
        """Into how many blocks a batch is cut."""
        wanted = {*_SCALES, self.shards} - {1}
        return tuple(sorted(s for s in wanted if 2 * s <= self.messages))


@dataclass
class Trace:
    """Counts of one thing that leaves beside messages, over the batches in which it differs.

    Attributes
    ----------
    halves : list of int
        For each batch, messages that came in in the first half, among the half with the larger
        values (equal ones by the order in which they left).
    extremes : list of two lists of int
        Where the message with the largest value came in, and that with the smallest.
    repeated, pairs : int
        Places of two batches, one after the other, that have the same value, where all values of a
        batch are different; and how many pairs of batches.
    """

    halves: list[int] = field(default_factory=list)
    extremes: list[list[int]] = field(default_factory=lambda: [[0] * BINS, [0] * BINS])
    repeated: int = 0
    pairs: int = 0


@dataclass
class ShufflerTally:
    """Counts over all batches; what a result is made of.

    Attributes
    ----------
    kept : int
        Disjoint neighbours that leave in the order they came in.
    positions : ndarray, shape (3, bins)
        Where the first, the middle and the last message leave.
    blocks : dict of scale to lists of ints
        For each batch, messages of the first block that leave in the first block; of the last.
    adjacent, fixed, repeated : int
        Neighbours that leave as neighbours; messages that keep their place; places that two
        batches, one after the other, treat alike.
    lost, foreign, copies, replays : int
        Messages that do not leave, leave though they never came, leave more than once, or leave
        though they belong to an earlier batch.
    missing : int
        Dummies that were not added.
    early : int
        Messages that left a batch below the minimum.
    dummies : list of two lists of ints
        For each whole batch with dummies, those in the first half of all places, and in how many
        runs all of them leave.
    traces : dict of str to Trace
        What left beside messages.
    done : int
        Batches.
    """

    kept: int = 0
    positions: Any = field(default_factory=lambda: np.zeros((3, BINS), dtype=np.int64))
    blocks: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    adjacent: int = 0
    fixed: int = 0
    repeated: int = 0
    pairs: int = 0
    whole: int = 0
    lost: int = 0
    foreign: int = 0
    copies: int = 0
    replays: int = 0
    missing: int = 0
    early: int = 0
    dummies: list[list[int]] = field(default_factory=lambda: [[], []])
    traces: dict[str, Trace] = field(default_factory=dict)
    done: int = 0

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        table = dataclasses.asdict(self) | {"positions": self.positions.tolist()}
        table["blocks"] = {str(s): [list(v) for v in pair] for s, pair in self.blocks.items()}
        return table


def shuffler_start(table: dict[str, Any]) -> tuple[ShufflerPlan, ShufflerTally]:
    """Plan and counts of a file.

    Raises
    ------
    ParameterError
        If they are not counts of such batches.
    """
    names = [f.name for f in dataclasses.fields(ShufflerPlan)]
    plan = ShufflerPlan(**table_of("shuffler.plan", table.get("plan"), names))
    fields = [f.name for f in dataclasses.fields(ShufflerTally)]
    given = table_of("shuffler.tally", table.get("tally"), fields)
    plain = [name for name in fields if name not in {"positions", "blocks", "dummies", "traces"}]
    tally = ShufflerTally()
    for name in plain:
        setattr(tally, name, number(f"shuffler.tally.{name}", given[name]))
    many = tally.whole
    rows = whole("shuffler.tally.positions", given["positions"], (3, BINS))
    tally.positions = np.array(rows, dtype=np.int64)
    scales = table_of("shuffler.tally.blocks", given["blocks"], [str(s) for s in plan.scales])
    for scale in plan.scales:
        first, last = whole("shuffler.tally.blocks", scales[str(scale)], (2, many))
        tally.blocks[scale] = (first, last)
    beside = many if plan.dummies else 0
    tally.dummies = whole("shuffler.tally.dummies", given["dummies"], (2, beside))
    if not isinstance(given["traces"], dict) or len(given["traces"]) > MOST_TRACES:
        raise rejected("shuffler.tally.traces", given["traces"], f"at most {MOST_TRACES}")
    for name, row in given["traces"].items():
        tally.traces[name] = _trace(row, f"shuffler.tally.traces.{one_line(name)}", many)
    _check_tally(plan, tally)
    return plan, tally


def _trace(row: Any, name: str, most: int) -> Trace:
    given = table_of(name, row, [f.name for f in dataclasses.fields(Trace)])
    halves = whole(f"{name}.halves", given["halves"], (None,))
    extremes = whole(f"{name}.extremes", given["extremes"], (2, BINS))
    repeated, pairs = (number(f"{name}.{key}", given[key]) for key in ("repeated", "pairs"))
    differing = len(halves)
    if differing > most or {sum(one) for one in extremes} != {differing} or 2 * pairs > differing:
        raise rejected(name, "its sums", f"those of {most} batches")
    return Trace(halves, extremes, repeated, pairs)


def _check_tally(plan: ShufflerPlan, tally: ShufflerTally) -> None:
    """Counts that so many batches can have."""
    wrong = [*_of_batches(plan, tally), *_of_orders(plan, tally), *_of_traces(plan, tally)]
    if wrong:
        words = f"counts that {tally.done:,} batches of {plan.messages:,} messages can have"
        raise rejected(f"shuffler.tally.{wrong[0]}", "its counts", words)


def _of_batches(plan: ShufflerPlan, tally: ShufflerTally) -> list[str]:
    """A batch is whole, or it is counted why it is not; two are compared where both are."""
    done, broken = tally.done, tally.done - tally.whole
    beside = tally.foreign + tally.copies + tally.replays + tally.missing
    stopped_odd = done < plan.batches and done % 2 == 1
    return [
        *["done"] * (not 1 <= done <= plan.batches or stopped_odd),
        *["whole"] * (broken < 0),
        *["lost"] * (tally.lost > broken * plan.messages),
        *["lost"] * (tally.lost + beside < broken or (broken == 0 and beside > 0)),
        # The first batch has none before it.
        *["replays"] * (tally.replays > 0 and (done < 2 or broken == 0)),
        *["missing"] * (tally.missing > broken * plan.dummies),
        *["dummies"] * _impossible_dummies(plan, tally),
        *["early"] * (plan.minimum is None and tally.early > 0),
        # A batch that is not whole is in one pair at most.
        *["pairs"] * (not done // 2 - broken <= tally.pairs <= min(done, tally.whole) // 2),
    ]


def _impossible_dummies(plan: ShufflerPlan, tally: ShufflerTally) -> bool:
    """More than fit into half of the places, or more runs than there are gaps."""
    n, d = plan.messages, plan.dummies
    half = (n + d) // 2
    first, runs = tally.dummies
    most, least = min(d, half), max(0, d - (n + d - half))
    return any(not least <= k <= most for k in first) or any(
        not 1 <= k <= min(d, n + 1) for k in runs
    )


def _of_orders(plan: ShufflerPlan, tally: ShufflerTally) -> list[str]:
    """What so many permutations can have."""
    n, many = plan.messages, tally.whole
    sizes = bin_sizes(n)
    places = np.minimum(sizes, 3) * many
    return [
        *["kept"] * (tally.kept > n // 2 * many),
        *["adjacent"] * (tally.adjacent > (n - 1) * many),
        # No permutation keeps all messages but one in their places.
        *["fixed"] * (tally.fixed > n * many or tally.fixed == n * many - 1),
        *["repeated"] * (tally.repeated > n * tally.pairs or tally.repeated == n * tally.pairs - 1),
        *["positions"] * bool((tally.positions.sum(axis=1) != many).any()),
        *["positions"] * bool((tally.positions.sum(axis=0) > places).any()),
        *["blocks"] * _impossible_blocks(plan, tally),
        *_unlike_the_identity(plan, tally),
    ]


def _unlike_the_identity(plan: ShufflerPlan, tally: ShufflerTally) -> list[str]:
    """Counts that a batch which leaves as it came in does not have, though so many ones do.

    A batch all of whose n - 1 neighbours leave as neighbours left as it came: of W batches that
    lack D neighbours together at least W - D did. A message that is not in its place breaks at most
    two neighbours, one pair of them that are disjoint, and one place alike of two batches.
    """
    n, many = plan.messages, tally.whole
    apart, moved = (n - 1) * many - tally.adjacent, n * many - tally.fixed
    same = max(0, many - apart)
    places = ((0, 0), (1, n // 2 * BINS // n), (2, BINS - 1))
    full = [sum(k == n // s for k in row) for s, rows in tally.blocks.items() for row in rows]
    return [
        *["adjacent"] * (apart > 2 * moved),
        *["fixed"] * (tally.fixed < n * same),
        *["kept"] * (tally.kept < max(n // 2 * same, n // 2 * many - moved)),
        *["repeated"] * (tally.repeated < n * tally.pairs - min(moved, n * apart)),
        *["positions"] * any(int(tally.positions[row, b]) < same for row, b in places),
        *["blocks"] * any(count < same for count in full),
    ]


def _impossible_blocks(plan: ShufflerPlan, tally: ShufflerTally) -> bool:
    """A block within another one keeps no more than it; two halves keep as many."""
    n, wrong = plan.messages, False
    before: Any = None
    for scale in plan.scales:
        found = np.array(tally.blocks[scale], dtype=np.int64)
        size = n // scale
        wrong |= bool((found > size).any())
        if scale == 2:
            # One message of an odd number is in neither half.
            wrong |= bool((np.abs(found[0] - found[1]) > n - 2 * size).any())
        if before is not None:
            wrong |= bool((found > before).any())
        before = found
    return wrong


def _of_traces(plan: ShufflerPlan, tally: ShufflerTally) -> list[str]:
    """What left beside the messages of whole batches."""
    n, wrong = plan.messages, bool(tally.traces) and tally.whole == 0
    for trace in tally.traces.values():
        wrong |= max(trace.halves, default=0) > n // 2
        wrong |= trace.pairs > tally.pairs or trace.repeated > n * trace.pairs
    return ["traces"] * wrong


def bin_sizes(n: int) -> npt.NDArray[np.int64]:
    """Of n places so many are in each part: place * BINS // n = b."""
    return np.diff([-(-n * b // BINS) for b in range(BINS + 1)])
