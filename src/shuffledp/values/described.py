"""Values that their constructor's arguments define: how they are written, copied and called."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import zlib
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from shuffledp.errors import ParameterError

# Longest text of one argument, and how much of a longer one is shown.
_LONGEST, _SHOWN = 200, 40
P = ParamSpec("P")
R = TypeVar("R")


class DerivedInt(int):
    """A whole number that follows from other arguments: ``replace`` works it out anew."""


class DerivedFloat(float):
    """A number that follows from other arguments: ``replace`` works it out anew."""


Derived = (DerivedInt, DerivedFloat)


def given(value: Any) -> bool:
    """Whether an optional number was given, and does not follow from others."""
    return value is not None and not isinstance(value, Derived)


class Described:
    """A frozen dataclass that is made of its constructor's arguments and holds no more.

    Copies and pickles are made by the constructor, so that nothing worked out before goes along.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Refuse numbers without their names, and say the names."""
        if args:
            refuse_unnamed(cls.__name__, inspect.signature(cls), args, kwargs)
        return super().__new__(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), arguments(self))

    def __repr__(self) -> str:
        given = {f.name: f.default for f in dataclasses.fields(self) if f.init}  # type: ignore[arg-type]
        values = {name: getattr(self, name) for name in given}
        words = [
            f"{name}={shown(value)}"
            for name, value in values.items()
            if not isinstance(value, Derived) and value is not given[name]
        ]
        return f"{type(self).__name__}({', '.join(words)})"


def arguments(value: Any) -> dict[str, Any]:
    """What the constructor was given, by name; None for what follows from the rest."""
    named = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
    return {name: None if isinstance(v, Derived) else v for name, v in named.items()}


def _made(cls: type[Any], named: dict[str, Any]) -> Any:
    return cls(**named)


def shown(value: Any) -> str:
    """An argument in a few words: the text that makes it again, unless that is long."""
    if isinstance(value, np.ndarray):
        size = " x ".join(map(str, value.shape))
        return f"<array {size}, crc {zlib.crc32(value.tobytes()):08x}>"
    if callable(value) and hasattr(value, "__name__"):
        return f"<{value.__name__}>"
    if isinstance(value, tuple) and len(value) > 1 and _are_equal(value):
        return f"({shown(value[0])},) * {len(value)}"
    if isinstance(value, tuple):
        inner = ", ".join(itertools.islice(map(shown, value), _SHOWN))
        text = f"({inner}{',' * (len(value) == 1)})" if len(value) <= _SHOWN else repr(value)
    else:
        text = repr(value)
    if len(text) <= _LONGEST:
        return text
    # Different values keep different texts.
    return f"<{text[:_SHOWN]}... {len(text):,} characters, crc {zlib.crc32(text.encode()):08x}>"


def _are_equal(values: tuple[Any, ...]) -> bool:
    """Whether all are equal; arrays, which have no truth value, are not compared."""
    plain = not any(isinstance(value, np.ndarray) for value in values)
    return plain and all(value == values[0] for value in values[1:])


def refuse_unnamed(
    name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise ParameterError where more is given without a name than may be; it says the names."""
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    free = _unnamed(signature)
    if len(args) <= len(free) or any(
        p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters
    ):
        return
    keywords = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    named = [name for name in keywords if name not in kwargs]
    words = [shown(value) for value in args[: len(free)]]
    words += [f"{key}={shown(value)}" for key, value in zip(named, args[len(free) :], strict=False)]
    words += [f"{key}={shown(value)}" for key, value in kwargs.items()]
    msg = f"{name}: wanted numbers by their names: {name}({', '.join(words)})"
    if len(args) - len(free) > len(named):
        msg = f"{name}: wanted keywords, {', '.join(named)}; got {len(args)} values without a name"
    raise ParameterError(msg)


def _unnamed(signature: inspect.Signature) -> list[str]:
    """Parameters that need no name."""
    named_only = {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
    parameters = signature.parameters.values()
    return [p.name for p in parameters if p.kind not in named_only and p.name != "self"]


def by_name(function: Callable[P, R]) -> Callable[P, R]:
    """A function or method whose keywords are named where they are left out."""
    signature = inspect.signature(function)
    method = next(iter(signature.parameters), "") == "self"
    free = len(_unnamed(signature)) + method

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) > free:
            refuse_unnamed(function.__name__, signature, args[1:] if method else args, kwargs)
        return function(*args, **kwargs)

    return checked


class ByContent:
    """A frozen dataclass with arrays or mappings in it: equal, and hashed, by what these hold.

    Used with ``eq=False``, and ``repr=False`` for a text in which what is long is cut.
    """

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and contents(self) == contents(other))

    def __hash__(self) -> int:
        return hash(contents(self))

    def __repr__(self) -> str:
        names = [f.name for f in dataclasses.fields(self) if f.repr]  # type: ignore[arg-type]
        words = ", ".join(f"{name}={shown(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({words})"


def contents(value: Any) -> tuple[Any, ...]:
    """What a dataclass holds of what is compared, hashable."""
    return tuple(_content(getattr(value, f.name)) for f in dataclasses.fields(value) if f.compare)


def _content(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, Mapping):
        return frozenset((key, _content(inner)) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return tuple(_content(inner) for inner in value)
    return value
