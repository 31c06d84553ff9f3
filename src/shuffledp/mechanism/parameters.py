"""Parameters, declared where a class annotates its fields: kind, range, default and help.

    k: Annotated[int, Whole(low=2, high=1000)]

(A rule with a function that uses names of its module is given a name of its own, outside the class:
in the class annotations are texts, which are evaluated where these names are not known.)

Whoever makes, reads, lists or describes a mechanism reads them off the class by ``parameters_of``:
the constructor, files and their schema, the options of the command line, the planner.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Protocol

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.values.described import DerivedFloat, DerivedInt, given

# A number, or what follows from parameters that are declared before.
Limit = float | Callable[[Any], float]


class Rule(Protocol):
    """What a parameter may be."""

    def __call__(self, name: str, value: Any, mechanism: Any) -> Any:
        """The value as it is kept, or ParameterError.

        Parameters
        ----------
        name : str
            The parameter.
        value : Any
            What was given.
        mechanism : Mechanism
            Whose parameter it is; those declared before are checked already.
        """
        ...


def _limit(limit: Limit, mechanism: Any) -> float:
    return limit(mechanism) if callable(limit) else limit


@dataclass(frozen=True)
class Whole:
    """A whole number in [low, high]."""

    low: Limit = 1
    high: Limit = _check.LARGEST_COUNT

    def __call__(self, name: str, value: Any, mechanism: Any) -> int:
        """The number as an int."""
        low, high = (int(_limit(limit, mechanism)) for limit in (self.low, self.high))
        return _check.count(name, value, low=low, high=high)


@dataclass(frozen=True)
class Number:
    """A finite number in [low, high]."""

    low: Limit = -math.inf
    high: Limit = math.inf

    def __call__(self, name: str, value: Any, mechanism: Any) -> float:
        """The number as a float."""
        low, high = (_limit(limit, mechanism) for limit in (self.low, self.high))
        return _check.real(name, value, low=low, high=high)


@dataclass(frozen=True)
class Positive:
    """A finite number in (0, high]."""

    high: Limit = math.inf

    def __call__(self, name: str, value: Any, mechanism: Any) -> float:
        """The number as a float."""
        return _check.positive(name, value, high=_limit(self.high, mechanism))


@dataclass(frozen=True)
class Above:
    """A number as ``rule`` has it, above another parameter."""

    other: str
    rule: Rule

    def __call__(self, name: str, value: Any, mechanism: Any) -> float:
        """The number as a float."""
        found = self.rule(name, value, mechanism)
        low = getattr(mechanism, self.other)
        if not low < found:
            raise rejected(name, found, f"a number above {self.other} = {low:g}")
        return found


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def __call__(self, name: str, value: Any, mechanism: Any) -> bool:
        """The flag."""
        del mechanism
        if not isinstance(value, bool):
            raise rejected(name, value, "True or False")
        return value


@dataclass(frozen=True)
class OneOf:
    """One of some words."""

    words: tuple[str, ...]

    def __call__(self, name: str, value: Any, mechanism: Any) -> str:
        """The word."""
        del mechanism
        return _check.choice(name, value, self.words)


@dataclass(frozen=True)
class Made:
    """What ``convert`` makes of it, or refuses."""

    convert: Callable[[Any], Any]

    def __call__(self, name: str, value: Any, mechanism: Any) -> Any:
        """The converted value."""
        del name, mechanism
        return self.convert(value)


@dataclass(frozen=True)
class OrNone:
    """As ``rule`` has it, or None."""

    rule: Rule

    def __call__(self, name: str, value: Any, mechanism: Any) -> Any:
        """The value, or None."""
        return None if value is None else self.rule(name, value, mechanism)


@dataclass(frozen=True)
class Follows:
    """As ``rule`` has it; where it is not given, it follows from parameters declared before."""

    rule: Rule
    default: Callable[[Any], float]

    def __call__(self, name: str, value: Any, mechanism: Any) -> float:
        """The number, of a type that tells whether it was given."""
        if given(value):
            return self.rule(name, value, mechanism)
        found = self.default(mechanism)
        return DerivedInt(found) if isinstance(found, int) else DerivedFloat(found)


Domain = Annotated[int, Whole(low=2, high=_check.LARGEST_DOMAIN)]
LocalEpsilon = Annotated[float, Number(low=_check.SMALLEST_EPS0, high=_check.LARGEST_EPS0)]
Switch = Annotated[bool, Flag()]
# Squares of lengths, and their products, stay among the floats.
_FAR = Number(low=-1e100, high=1e100)
IntervalLow = Annotated[float, _FAR]
IntervalHigh = Annotated[float, Above("low", _FAR)]


def limits(rule: Rule | None) -> dict[str, Any]:
    """What JSON Schema can say of a rule: limits that follow from nothing else, and words.

    Parameters
    ----------
    rule : Rule or None
        What a parameter may be.
    """
    if isinstance(rule, OneOf):
        return {"enum": list(rule.words)}
    if isinstance(rule, Positive):
        found: dict[str, Any] = {"exclusiveMinimum": 0, "maximum": rule.high}
    elif isinstance(rule, Whole | Number):
        found = {"minimum": rule.low, "maximum": rule.high}
    else:
        return limits(rule.rule) if isinstance(rule, Above | OrNone | Follows) else {}
    return {key: v for key, v in found.items() if not callable(v) and math.isfinite(v)}


class Parameter(NamedTuple):
    """One parameter of a mechanism.

    Attributes
    ----------
    name : str
        As its constructor has it.
    kind : Any
        Its type.
    default : Any
        ``inspect.Parameter.empty`` where it has to be given.
    rule : Rule or None
        What it may be; None where the class checks it by itself.
    words : str
        What the class's documentation says of it.
    """

    name: str
    kind: Any
    default: Any
    rule: Rule | None
    words: str

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is inspect.Parameter.empty


_ENTRY = re.compile(r"^(\w+(?:, \w+)*) : .*\n((?:    .*\n?)+)", re.MULTILINE)


@functools.cache
def parameters_of(cls: type[Any]) -> tuple[Parameter, ...]:
    """The parameters of a class of mechanisms, in their order.

    Parameters
    ----------
    cls : type
        A subclass of ``Mechanism`` whose *Parameters* section says what they are.
    """
    hints, said = typing.get_type_hints(cls, include_extras=True), _documented(cls)
    found = []
    for name, one in inspect.signature(cls).parameters.items():
        kind, rule = _declared(hints.get(name, Any))
        found.append(Parameter(name, kind, one.default, rule, said.get(name, "")))
    return tuple(found)


def _declared(hint: Any) -> tuple[Any, Rule | None]:
    """Type and rule of an annotation."""
    if typing.get_origin(hint) is not Annotated:
        return hint, None
    kind, rule, *_ = typing.get_args(hint)
    return kind, rule


def _documented(cls: type[Any]) -> dict[str, str]:
    """What the *Parameters* section of the class's documentation says of each."""
    text = inspect.getdoc(cls) or ""
    section = text.partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\w[\w ]*\n-+\n", section)[0]
    return {
        name: " ".join(words.replace("``", "").split())
        for names, words in _ENTRY.findall(section)
        for name in names.split(", ")
    }
