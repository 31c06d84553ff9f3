"""Mechanisms side by side: what each costs in variance at the same central privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from shuffledp import _check
from shuffledp.amplification import shuffle
from shuffledp.bound import Bound, outward
from shuffledp.calibration.search import search
from shuffledp.calibration.target import Target
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.laws.midpoints import blanket_mass
from shuffledp.mechanism import parameters_of
from shuffledp.randomizers import Randomizer, randomizer_class, randomizer_names
from shuffledp.randomizers.frequency import FrequencyRandomizer
from shuffledp.randomizers.means import MeanRandomizer
from shuffledp.values.described import ByContent, by_name
from shuffledp.values.notebook import Drawn, Record, Sheet

# Words for the number of values a user may hold, in the constructors of mechanisms.
_SIZES = frozenset({"k", "d", "domain"})
_SMALLEST, _LARGEST = 1e-3, 30.0
# How near eps0 is to the largest one that meets a target; steps inward, a tenth of it each.
_RTOL, _INWARD = 1e-3, 8

Build = Callable[[float], Randomizer]


@dataclass(frozen=True, eq=False, repr=False)
class RandomizerRow(ByContent):
    """One mechanism at one eps0.

    Attributes
    ----------
    randomizer : Randomizer
        With all its parameters.
    gamma : float
        Mass of the blanket its upper end uses.
    bits : float
        Bits of one report.
    variance : float
        Per user: of a frequency of 0, or of a mean at the worst value.
    bound : Bound
        Central eps, certified.
    """

    randomizer: Randomizer
    gamma: float
    bits: float
    variance: float
    bound: Bound

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        n = self.bound.at["n"]
        return {
            "randomizer": self.randomizer.to_dict(),
            "gamma": self.gamma,
            "bits": self.bits,
            "variance": self.variance,
            "standard_error": math.sqrt(self.variance / n),
            "bound": self.bound.to_dict(),
        }


@dataclass(frozen=True, eq=False, repr=False)
class RandomizerComparison(Drawn, ByContent):
    """Mechanisms sorted by their variance at equal central eps.

    ``plot()`` draws each one's standard error.

    Attributes
    ----------
    n : int
        Users.
    delta : float
        Of all bounds.
    epsilon : float
        Central eps that no upper end of ``rows`` exceeds.
    eps0 : float or None
        The local eps of ``given``, where one was asked for.
    rows : tuple of RandomizerRow
        Each at the largest eps0 whose certified upper end is at most ``epsilon``, to a thousandth,
        by variance.
    given : tuple of RandomizerRow
        Each at ``eps0``, in the order of ``rows``; empty where ``epsilon`` was asked for.
    left_out : tuple of (str, str)
        Mechanisms that apply and have no such number, and why.
    """

    n: int
    delta: float
    epsilon: float
    eps0: float | None
    rows: tuple[RandomizerRow, ...]
    given: tuple[RandomizerRow, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {
            "n": self.n,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "eps0": self.eps0,
            "at_equal_epsilon": [row.to_dict() for row in self.rows],
            "at_equal_eps0": [row.to_dict() for row in self.given],
            "left_out": [{"name": name, "why": why} for name, why in self.left_out],
        }

    def records(self) -> list[Record]:
        """One row for each mechanism at equal central eps, then those at equal eps0."""
        return [
            {
                "at_equal": what,
                "mechanism": row.randomizer.name,
                "eps0": float(row.randomizer.eps0),
                "gamma": row.gamma,
                "bits": row.bits,
                "variance": row.variance,
                "standard_error": math.sqrt(row.variance / self.n),
                "epsilon_lower": row.bound.lower,
                "epsilon_upper": row.bound.upper,
                "parameters": repr(row.randomizer),
            }
            for what, rows in (("epsilon", self.rows), ("eps0", self.given))
            for row in rows
        ]

    def sheet(self) -> Sheet:
        """What a notebook shows: all at one central eps."""
        head, *rows = cells(self.rows)
        eps = outward(self.epsilon, up=True, digits=6)
        caption = f"all at central eps <= {eps}, n = {self.n:,}, delta = {self.delta:g}"
        notes = tuple(f"left out: {name}: {why}" for name, why in self.left_out)
        return Sheet(caption, tuple(head), tuple(map(tuple, rows)), notes)

    def _draw(self, bands: Any, ax: Any) -> Any:
        """Each mechanism's standard error at equal central eps, along a logarithmic axis."""
        names = [f"{r.randomizer.name}, eps0 = {float(r.randomizer.eps0):.3g}" for r in self.rows]
        errors = [math.sqrt(row.variance / self.n) for row in self.rows]
        label = f"all at central eps <= {outward(self.epsilon, up=True, digits=4)} nats"
        words = f"standard error of an estimate, n = {self.n:,}, delta = {self.delta:g}"
        return bands.draw_dots(ax, names, [(label, errors, "o")], xlabel=words)

    def __repr__(self) -> str:
        names = ", ".join(row.randomizer.name for row in self.rows)
        return f"RandomizerComparison(n={self.n}, delta={self.delta:g}, {names})"

    def __str__(self) -> str:
        """A table, 80 columns wide; ends of bounds rounded outward, the rest to three digits."""
        lines = [f"n = {self.n:,}, delta = {self.delta:g}"]
        if self.eps0 is not None:
            lines += ["", f"all at eps0 = {self.eps0:g}", *_table(self.given)]
        lines += ["", f"all at central eps <= {self.epsilon:.6g}"]
        lines += _table(self.rows)
        lines += [f"left out: {name}: {why}" for name, why in self.left_out]
        return "\n".join(lines)


@by_name
def compare_randomizers(
    *,
    n: int,
    delta: float,
    eps0: float | None = None,
    epsilon: float | None = None,
    domain: int | None = None,
    items: int | None = None,
) -> RandomizerComparison:
    """All mechanisms for one kind of data, sorted by variance at equal central eps.

    Every registered mechanism that takes the data and needs no other parameter is one of them:
    frequencies of ``domain`` values; with ``items`` of sets of so many; without ``domain`` means of
    values in [0, 1].

    Parameters
    ----------
    n : int
        Users.
    delta : float
        Target delta, 0 < delta < 1.
    eps0 : float, optional
        Local eps to compare them at, 0.001 to 30. Central eps then differ; they are made equal to
        the smallest upper end among them, which all can meet.
    epsilon : float, optional
        Central eps to calibrate them to, in place of ``eps0``.
    domain : int, optional
        Number of values a user may hold.
    items : int, optional
        Values of one user: a set of so many of the domain.

    Raises
    ------
    ParameterError
        If not exactly one of ``eps0`` and ``epsilon`` is given, an argument is outside its domain,
        or no mechanism applies.

    Examples
    --------
    >>> import shuffledp as sd
    >>> found = sd.compare_randomizers(n=10_000, delta=1e-6, domain=4, epsilon=0.2)
    >>> max(row.bound.upper for row in found.rows) <= 0.2
    True
    """
    n, delta = _check.count("n", n), _check.open_unit("delta", delta)
    if (eps0 is None) == (epsilon is None):
        raise ParameterError("eps0 and epsilon: wanted one of the two")
    builds = dict(candidates(domain, items))
    if not builds:
        raise ParameterError(f"domain = {domain!r}, items = {items!r}: no mechanism applies")
    left_out: list[tuple[str, str]] = []
    given: dict[str, RandomizerRow] = {}
    if eps0 is not None:
        eps0 = _check.real("eps0", eps0, low=_SMALLEST, high=_LARGEST)
        for name, build in builds.items():
            row = _row_or_why(build, eps0, n, delta)
            if isinstance(row, str):
                left_out.append((name, row))
            else:
                given[name] = row
        if not given:
            raise ParameterError(f"eps0 = {eps0:g}: " + "; ".join(why for _, why in left_out))
        target = min(row.bound.upper for row in given.values())
    else:
        target = _check.positive("epsilon", epsilon)
    rows = {}
    for name in given or builds:
        row = _calibrated(builds[name], n, delta, target, given.get(name))
        if isinstance(row, str):
            left_out.append((name, row))
        else:
            rows[name] = row
    order = sorted(rows, key=lambda name: rows[name].variance)
    return RandomizerComparison(
        n,
        delta,
        target,
        eps0,
        tuple(rows[name] for name in order),
        tuple(given[name] for name in order if name in given),
        tuple(left_out),
    )


def candidates(domain: int | None, items: int | None) -> Iterator[tuple[str, Build]]:
    """Name and constructor from eps0 of every mechanism for this kind of data."""
    if domain is not None:
        domain = _check.count("domain", domain, low=2, high=_check.LARGEST_DOMAIN)
    if items is not None:
        items = _check.count("items", items)
    for name in randomizer_names():
        cls = randomizer_class(name)
        known = parameters_of(cls)
        needed = {one.name for one in known if one.required}
        arguments = _arguments(cls, needed, {one.name for one in known}, domain, items)
        if arguments is not None and "eps0" in needed:
            yield name, _builder(cls, arguments)


def _builder(cls: type[Randomizer], known: dict[str, Any]) -> Build:
    def build(eps0: float) -> Randomizer:
        return cls(**{**known, "eps0": eps0})

    return build


def _arguments(
    cls: type[Randomizer], needed: set[str], known: set[str], domain: int | None, items: int | None
) -> dict[str, Any] | None:
    """What the constructor takes beside eps0; None where the mechanism is for other data."""
    size = needed & _SIZES
    if domain is None:
        if not issubclass(cls, MeanRandomizer) or needed != {"eps0"} or items is not None:
            return None
        return {"low": 0.0, "high": 1.0} if {"low", "high"} <= known else {}
    sets = {"s"} if items is not None else set()
    by_size = needed == size | sets | {"eps0"} and len(size) == 1
    if not (issubclass(cls, FrequencyRandomizer) and by_size):
        return None
    found: dict[str, Any] = dict.fromkeys(size, domain)
    if items is not None:
        found["s"] = items
    return found


def _row_or_why(build: Build, eps0: float, n: int, delta: float) -> RandomizerRow | str:
    """The mechanism's numbers, or why it has none at this eps0."""
    try:
        randomizer = build(eps0)
        ((x0, x1), *_) = randomizer.worst_pairs().pairs
        return RandomizerRow(
            randomizer=randomizer,
            gamma=blanket_mass(randomizer, (x0, x1)),
            bits=randomizer.message_bits,
            variance=randomizer.variance(),
            bound=shuffle(randomizer, n=n).epsilon(delta=delta),
        )
    except (NotCertified, ParameterError) as error:
        return str(error)


def _calibrated(
    build: Build, n: int, delta: float, target: float, start: RandomizerRow | None
) -> RandomizerRow | str:
    """The mechanism at the largest eps0 whose certified upper end is at most the target.

    To a thousandth of eps0.
    """
    if start is not None and start.bound.upper == target:
        return start
    goal = Target.of(target, delta, "all")

    def log_upper(eps0: float) -> float:
        """0, which meets no target, where there is no such mechanism."""
        try:
            return goal.log_upper(goal.among(build(eps0), n), 1)
        except (NotCertified, ParameterError):
            return 0.0

    found = search(
        log_upper,
        goal.log_delta,
        private=_SMALLEST,
        open_end=_LARGEST,
        start=None if start is None else float(start.randomizer.eps0),
        apart=_RTOL,
    )
    if found is None:
        return f"no eps0 from {_SMALLEST:g} on has a certified central eps <= {target:g}"
    eps0 = found.value
    for _ in range(_INWARD):
        row = _row_or_why(build, eps0, n, delta)
        # eps ends where its search ends, which may be beyond the target though delta meets it.
        if isinstance(row, str) or row.bound.upper <= target:
            return row
        eps0 /= 1.0 + 0.1 * _RTOL
    return f"eps0 = {eps0:g}: central eps was not certified to be at most {target:g}"


def cells(rows: tuple[RandomizerRow, ...]) -> list[list[str]]:
    """A heading and a line for each row; ends of bounds rounded outward, the rest to 3 digits."""
    table = [["mechanism", "eps0", "gamma", "bits", "variance", "std. error", "eps >=", "eps <="]]
    for row in rows:
        bound = row.bound
        error = math.sqrt(row.variance / bound.at["n"])
        numbers = [float(row.randomizer.eps0), row.gamma, row.bits, row.variance, error]
        ends = [outward(bound.lower, up=False, digits=4), outward(bound.upper, up=True, digits=4)]
        table.append([row.randomizer.name, *(f"{v:.3g}" for v in numbers), *ends])
    return table


def _table(rows: tuple[RandomizerRow, ...]) -> list[str]:
    table = cells(rows)
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            [line[0].ljust(wide[0]), *(c.rjust(w) for c, w in zip(line[1:], wide[1:], strict=True))]
        )
        for line in table
    ]
