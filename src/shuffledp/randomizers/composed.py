"""What randomizers made of other randomizers share: parts, their worst pairs together, columns."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.ball.record import WorstPairs
from shuffledp.errors import NotCertified, rejected
from shuffledp.mechanism.base import mechanism_from_dict
from shuffledp.mechanism.parameters import converted
from shuffledp.neighbours import Relation, records
from shuffledp.randomizers.base import Input, Randomizer
from shuffledp.theorems import JOINT_PAIRS

MOST_PAIRS = 4096
MOST_PARTS = 1000
# Data sets that lower ends look at, beside the parts' own in order.
_MOST_THIRDS = 9
# Theorems that compare laws of G in convex order, for every a r - b r' with a, b >= 0; those of the
# first kind say so of pairs (x, x) too.
_COVERED = {
    "symmetric",
    "symmetric-hadamard",
    "symmetric-hashing",
    "hyperplanes",
    "other-block",
    "end-points",
    "truncated-end-points",
    "least-overlap",
    "envelope",
    "fewest-shared",
}
_CONVEX = {*_COVERED, "two-inputs", "all-pairs", "joint-pairs", "antipodal"}

Pair = tuple[Input, Input]


@dataclass(frozen=True)
class Options:
    """Pairs of values of one attribute that a search over pairs of records has to look at.

    Attributes
    ----------
    differ : tuple of pairs
        Every pair of distinct values is dominated by one of them, for the gain a r - b r' with any
        a, b >= 0 (docs/theory-parts.md, section 2).
    equal : tuple of pairs (x, x)
        Every pair (x, x) is dominated by one of them.
    covered : bool
        True where every pair (x, x) is dominated by one of ``differ`` too.
    """

    differ: tuple[Pair, ...]
    equal: tuple[Pair, ...]
    covered: bool


def options_of(randomizer: Randomizer) -> Options:
    """The options of an attribute, from the theorem its own worst pairs rest on.

    Raises
    ------
    NotCertified
        Where that theorem says nothing of pairs inside a larger report.
    """
    if isinstance(randomizer, PartsRandomizer):
        return randomizer.options()
    found = randomizer.worst_pairs()
    key = found.theorem.key
    first = found.pairs[0][0]
    if key in _COVERED or (key == "two-inputs" and len(found.pairs) == 1):
        return Options(found.pairs, ((first, first),), covered=True)
    if key in {"all-pairs", "two-inputs"}:
        seen = dict.fromkeys(x for pair in found.pairs for x in pair)
        return Options(found.pairs, tuple((x, x) for x in seen), covered=False)
    raise _nothing_proved(randomizer, found)


def convex_pairs(randomizer: Randomizer) -> WorstPairs:
    """Its worst pairs, where they are so in convex order: then also mixed with a constant."""
    found = randomizer.worst_pairs()
    if found.theorem.key not in _CONVEX:
        raise _nothing_proved(randomizer, found)
    return found


def _nothing_proved(randomizer: Randomizer, found: WorstPairs) -> NotCertified:
    msg = f"worst pairs: {found.theorem.title}: nothing is proved of {randomizer.name} inside a "
    return NotCertified(msg + "report with other parts")


class PartsRandomizer(Randomizer):
    """A randomizer whose report is made of reports of others, or is one of them.

    Inputs are tuples with one value for each part.
    """

    task: ClassVar[str] = "Made of other mechanisms"

    randomizers: tuple[Randomizer, ...]

    @property
    def made_of(self) -> tuple[Randomizer, ...]:
        """The parts."""
        return self.randomizers

    @property
    def relation(self) -> Relation:
        """Each part's input changes as the part says, in as many parts as may differ."""
        return records((part.relation for part in self.randomizers), most=self._differing)

    def options(self) -> Options:
        """What an outer composition has to look at."""
        every = [options_of(part) for part in self.randomizers]
        differ = tuple(_tuples([option.differ for option in every]))
        equal = tuple(_tuples([option.equal for option in every]))
        if not all(option.covered for option in every):
            mixed = tuple(_tuples([(*option.differ, *option.equal) for option in every]))
            return Options(mixed, equal, covered=False)
        return Options(differ, equal, covered=True)

    def part_inputs(self, x: Input) -> tuple[Input, ...]:
        """One input for each part."""
        if not isinstance(x, tuple | list) or len(x) != len(self.randomizers):
            raise rejected("input", x, f"a tuple of {len(self.randomizers)} values")
        return tuple(x)

    def parameters(self) -> dict[str, Any]:
        """Parts as tables, tuples as lists."""
        return {name: _tabled(value) for name, value in super().parameters().items()}

    @property
    def _differing(self) -> int:
        """How many of the parts' inputs may differ between neighbours."""
        return len(self.randomizers)

    @abstractmethod
    def _together(self, losses: Iterable[float]) -> float:
        """What a report loses in the worst case, from what the parts' reports lose."""

    def local_renyi(self, order: float) -> float:
        """The parts' together."""
        return self._together(part.local_renyi(order) for part in self.randomizers)

    @property
    def local_rho(self) -> float:
        """The parts' together."""
        return self._together(part.local_rho for part in self.randomizers)

    def worst_pairs(self) -> WorstPairs:
        """The parts' worst pairs together, in every part whose input may differ."""
        found = _assignments(self.randomizers, self._differing)
        pairs = [(tuple(p[0] for p in one), tuple(p[1] for p in one)) for one in found]
        # A record is no neighbour of itself.
        differing = tuple((x0, x1) for x0, x1 in pairs if x0 != x1)
        return WorstPairs(differing or tuple(pairs[:1]), JOINT_PAIRS)

    def datasets(self) -> tuple[tuple[Any, Any, Any], ...]:
        """All parts' first triples, then their second ones, and so on; then other third inputs.

        Where only some inputs may differ, those of the parts with the weakest guarantee do.
        """
        each = [part.datasets() for part in self.randomizers]
        order = sorted(range(len(each)), key=lambda j: -float(self.randomizers[j].eps0))
        differing = set(order[: self._differing])
        found = []
        for k in range(max(map(len, each))):
            chosen = [triples[min(k, len(triples) - 1)] for triples in each]
            x0 = tuple(t[0] for t in chosen)
            x1 = tuple(t[1] if j in differing else t[0] for j, t in enumerate(chosen))
            found.append((x0, x1, tuple(t[2] for t in chosen)))
        if self._differing == len(each):
            (x0, x1, _), *_rest = found
            found += [(x0, x1, x2) for x2 in _third_inputs(self.randomizers, each)]
        return tuple(dict.fromkeys(found))

    def _checked(self, values: ArrayLike) -> np.ndarray:
        count = len(self.randomizers)
        columns = _columns(values, count)
        made = [part._checked(c) for part, c in zip(self.randomizers, columns, strict=True)]  # noqa: SLF001
        return packed(made)


def checked_parts(given: Any) -> tuple[Randomizer, ...]:
    """Randomizers, or tables of them, as a tuple."""
    wanted = f"a list of 1 to {MOST_PARTS} randomizers or tables of them"
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence):
        raise rejected("randomizers", given, wanted)
    if not 1 <= len(given) <= MOST_PARTS:
        raise rejected("number of randomizers", len(given), wanted)
    return tuple(checked_part(part) for part in given)


def checked_part(given: Any) -> Randomizer:
    """A randomizer, or a table of one."""
    if isinstance(given, Mapping):
        return mechanism_from_dict(given, Randomizer)
    if not isinstance(given, Randomizer):
        raise rejected("randomizers", given, "randomizers such as KRR(k=10, eps0=1.0)")
    return given


def _tabled(value: Any) -> Any:
    """A parameter as files have it."""
    if isinstance(value, tuple):
        return [_tabled(one) for one in value]
    return value.to_dict() if isinstance(value, Randomizer) else value


def _grouped(parts: Sequence[Randomizer]) -> list[list[int]]:
    """Places of equal parts."""
    places: list[list[int]] = []
    kinds: list[Randomizer] = []
    for place, part in enumerate(parts):
        for kind, found in zip(kinds, places, strict=True):
            if kind == part:
                found.append(place)
                break
        else:
            kinds.append(part)
            places.append([place])
    return places


def _assignments(parts: Sequence[Randomizer], most: int) -> list[tuple[Pair, ...]]:
    """One pair for each part, at most ``most`` of them different; equal parts in any one order.

    Left out are choices that another one dominates: a part that covers (x, x) and could differ.

    Raises
    ------
    NotCertified
        If there are more than 4096.
    """
    groups = _grouped(parts)
    options = [options_of(parts[group[0]]) for group in groups]
    found = []
    for counts in _counts([len(group) for group in groups], [o.covered for o in options], most):
        each = [
            _chosen(option, len(group), count)
            for option, group, count in zip(options, groups, counts, strict=True)
        ]
        _refuse_many(len(found) + math.prod(map(len, each)))
        found += [_in_places(choice, groups, len(parts)) for choice in itertools.product(*each)]
    return found


def _counts(sizes: list[int], covered: list[bool], most: int) -> Iterator[tuple[int, ...]]:
    """How many of each group differ: ``most`` together, or fewer if all covered ones do."""
    if not sizes:
        yield ()
        return
    room = sum(sizes[1:])
    for count in range(min(sizes[0], most), -1, -1):
        if covered[0] and count < sizes[0]:
            # Then the whole budget has to be used.
            if most - count > room:
                break
            rest = _counts(sizes[1:], [True] * (len(sizes) - 1), most - count)
            yield from ((count, *r) for r in rest if sum(r) == most - count)
        else:
            rest = _counts(sizes[1:], covered[1:], most - count)
            yield from ((count, *r) for r in rest)


def _chosen(option: Options, size: int, count: int) -> list[tuple[Pair, ...]]:
    """Pairs for ``size`` equal parts, ``count`` of which differ, in any one order."""
    _refuse_many(_multisets(option.differ, count) * _multisets(option.equal, size - count))
    differing = itertools.combinations_with_replacement(option.differ, count)
    equal = list(itertools.combinations_with_replacement(option.equal, size - count))
    return [(*some, *rest) for some in differing for rest in equal]


def _refuse_many(pairs: int) -> None:
    if pairs > MOST_PAIRS:
        msg = f"worst pairs: {pairs:,} combinations of the parts' pairs, at most {MOST_PAIRS:,}"
        raise NotCertified(msg)


def _multisets(pool: tuple[Pair, ...], size: int) -> int:
    return math.comb(len(pool) + size - 1, size)


def _in_places(
    choice: Sequence[tuple[Pair, ...]], groups: list[list[int]], count: int
) -> tuple[Pair, ...]:
    placed: list[Pair] = [(None, None)] * count
    for pairs, group in zip(choice, groups, strict=True):
        for place, pair in zip(group, pairs, strict=True):
            placed[place] = pair
    return tuple(placed)


def _third_inputs(
    parts: Sequence[Randomizer], each: Sequence[Sequence[tuple[Input, Input, Input]]]
) -> list[tuple[Input, ...]]:
    """What all others may hold: their own choices of unequal parts combined, if these are few.

    Else no more than the parts' first choices, their second ones, and so on.
    """
    longest = max(len(triples) for triples in each)
    found = [
        tuple(triples[min(k, len(triples) - 1)][2] for triples in each) for k in range(longest)
    ]
    groups = _grouped(parts)
    if all(len({repr(t[:2]) for t in triples}) == 1 for triples in each):
        choices = [dict.fromkeys(t[2] for t in each[group[0]]) for group in groups]
        if math.prod(len(choice) for choice in choices) <= _MOST_THIRDS:
            for chosen in itertools.product(*choices):
                row = {place: x for x, group in zip(chosen, groups, strict=True) for place in group}
                found.append(tuple(row[j] for j in range(len(parts))))
    return list(dict.fromkeys(found))


def _tuples(options: Sequence[Sequence[Pair]]) -> list[Pair]:
    _refuse_many(math.prod(map(len, options)))
    chosen = itertools.product(*options)
    return [(tuple(p[0] for p in one), tuple(p[1] for p in one)) for one in chosen]


# --------------------------------------------------------------------- columns and reports


def _columns(values: ArrayLike, count: int) -> list[Any]:
    """One column of values for each part, from rows."""
    if isinstance(values, np.ndarray):
        if values.dtype.names is not None:
            if len(values.dtype.names) != count:
                raise rejected("values", values.dtype.names, f"{count} columns")
            return [values[name] for name in values.dtype.names]
        if values.ndim != 2 or values.shape[1] != count:
            raise rejected("values shape", values.shape, f"(n, {count}): a value for each part")
        return list(values.T)
    rows = list(values)  # type: ignore[arg-type]
    for place, row in enumerate(rows):
        if not isinstance(row, tuple | list | np.ndarray) or len(row) != count:
            raise rejected(f"values[{place}]", row, f"a tuple of {count} values")
    return [[row[j] for row in rows] for j in range(count)]


def field(place: int) -> str:
    """Name of a part's column in an array of reports or values."""
    return f"part{place}"


def packed(columns: Sequence[np.ndarray], first: np.ndarray | None = None) -> np.ndarray:
    """Columns side by side as one structured array; ``first`` becomes the field "choice"."""
    kinds: list[Any] = [] if first is None else [("choice", first.dtype)]
    kinds += [(field(j), c.dtype, c.shape[1:]) for j, c in enumerate(columns)]
    made = np.zeros(len(columns[0]), dtype=kinds)
    if first is not None:
        made["choice"] = first
    for j, column in enumerate(columns):
        made[field(j)] = column
    return made


def unpacked(reports: Any, count: int, *, choice: bool = False) -> list[np.ndarray]:
    """The columns of an array that ``packed`` made; the choice, where there is one, comes first."""
    names = ["choice"] * choice + [field(j) for j in range(count)]
    column = np.asarray(reports)
    if column.ndim != 1 or column.dtype.names != tuple(names):
        raise rejected("reports fields", column.dtype.names, ", ".join(names))
    return [column[name] for name in names]


PartsOf = Annotated[tuple[Randomizer, ...], converted(checked_parts)]
