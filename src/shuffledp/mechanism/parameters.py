"""Parameters, declared where a class annotates its fields: kind, range, default and help.

    k: Annotated[int, whole(low=2, high=1000)]

(A rule with a function that uses names of its module is given a name of its own, outside the class:
in the class annotations are texts, which are evaluated where these names are not known.)

``parameters_of`` reads them off the class, for all who make, read, list or describe a mechanism:
the constructor, files and their schema, the options of the command line, the planner.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from shuffledp import _check
from shuffledp.errors import rejected
from shuffledp.values.described import DerivedFloat, DerivedInt, given

# A number, or what follows from parameters that are declared before.
Limit = float | Callable[[Any], float]


@dataclass(frozen=True)
class Rule:
    """What a parameter may be.

    Attributes
    ----------
    check : callable
        (name, value, mechanism) -> the value as it is kept, or ParameterError. The mechanism is the
        one whose parameter it is; those declared before are checked already.
    limits : mapping
        What JSON Schema can say of it: limits that follow from nothing else, and words.
    high : Limit
        The upper limit of a probability.
    """

    check: Callable[[str, Any, Any], Any]
    limits: Mapping[str, Any] = field(default_factory=dict)
    high: Limit = math.inf


def limit_of(limit: Limit, mechanism: Any) -> float:
    """The number that a limit of a parameter of this mechanism is."""
    return limit(mechanism) if callable(limit) else limit


def _limits(**given: Limit) -> dict[str, Any]:
    return {key: v for key, v in given.items() if not callable(v) and math.isfinite(v)}


def whole(low: Limit = 1, high: Limit = _check.LARGEST_COUNT) -> Rule:
    """A whole number in [low, high], as an int."""

    def check(name: str, value: Any, mechanism: Any) -> int:
        first, last = (int(limit_of(limit, mechanism)) for limit in (low, high))
        return _check.count(name, value, low=first, high=last)

    return Rule(check, _limits(minimum=low, maximum=high))


def number(low: Limit = -math.inf, high: Limit = math.inf) -> Rule:
    """A finite number in [low, high], as a float."""

    def check(name: str, value: Any, mechanism: Any) -> float:
        first, last = (limit_of(limit, mechanism) for limit in (low, high))
        return _check.real(name, value, low=first, high=last)

    return Rule(check, _limits(minimum=low, maximum=high))


def positive(high: Limit = math.inf) -> Rule:
    """A finite number in (0, high], as a float."""

    def check(name: str, value: Any, mechanism: Any) -> float:
        return _check.positive(name, value, high=limit_of(high, mechanism))

    return Rule(check, _limits(exclusiveMinimum=0, maximum=high))


def above(other: str, rule: Rule) -> Rule:
    """A number as ``rule`` has it, above another parameter."""

    def check(name: str, value: Any, mechanism: Any) -> float:
        found = rule.check(name, value, mechanism)
        low = getattr(mechanism, other)
        if not low < found:
            raise rejected(name, found, f"a number above {other} = {low:g}")
        return found

    return Rule(check, rule.limits)


def one_of(words: tuple[str, ...]) -> Rule:
    """One of some words."""
    return Rule(lambda name, value, _: _check.choice(name, value, words), {"enum": list(words)})


def converted(convert: Callable[[Any], Any]) -> Rule:
    """What ``convert`` makes of it, or refuses."""
    return Rule(lambda _name, value, _mechanism: convert(value))


def or_none(rule: Rule) -> Rule:
    """As ``rule`` has it, or None."""

    def check(name: str, value: Any, mechanism: Any) -> Any:
        return None if value is None else rule.check(name, value, mechanism)

    return Rule(check, rule.limits)


def follows(rule: Rule, default: Callable[[Any], float]) -> Rule:
    """As ``rule`` has it; without a value it follows from parameters declared before.

    Of a type that tells whether it was given.
    """

    def check(name: str, value: Any, mechanism: Any) -> float:
        if given(value):
            return rule.check(name, value, mechanism)
        found = default(mechanism)
        return DerivedInt(found) if isinstance(found, int) else DerivedFloat(found)

    return Rule(check, rule.limits)


def _flag(name: str, value: Any, _mechanism: Any) -> bool:
    if not isinstance(value, bool):
        raise rejected(name, value, "True or False")
    return value


Domain = Annotated[int, whole(low=2, high=_check.LARGEST_DOMAIN)]
LocalEpsilon = Annotated[float, number(low=_check.SMALLEST_EPS0, high=_check.LARGEST_EPS0)]
Switch = Annotated[bool, Rule(_flag)]
# Squares of lengths, and their products, stay among the floats.
_FAR = number(low=-1e100, high=1e100)
IntervalLow = Annotated[float, _FAR]
IntervalHigh = Annotated[float, above("low", _FAR)]


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
