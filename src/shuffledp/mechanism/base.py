"""Mechanism: the base of randomizers and of protocols of several messages; their registry."""

from __future__ import annotations

import dataclasses
import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.ball.record import CLASSES, Definition
from shuffledp.errors import ParameterError, rejected
from shuffledp.mechanism.parameters import parameters_of
from shuffledp.neighbours import REPLACEMENT, Relation
from shuffledp.randomness import RandomSource, SeededSource, SystemSource
from shuffledp.values.described import Described

# Examples for the message where no name is close to the one that was given.
_WELL_KNOWN = ("k-rr", "rappor", "laplace")

Kind = TypeVar("Kind", bound="Mechanism")


class Mechanism(Definition, Described, ABC):
    """What every user runs.

    Subclasses are frozen dataclasses whose fields declare their parameters (``parameters``), carry
    the formula of their law in the docstring and what ``Definition`` asks for in methods, and set
    ``name``, which registers them for the command line and for files; ``listed`` = False keeps one
    made of code, which has no description, out of both.
    Nothing else in the package has to hear of a new one.

    Attributes
    ----------
    noun : str
        What it is called in messages: "randomizer" or "protocol".
    task : str
        What it is for, as lists of mechanisms have it.
    aliases : tuple of str
        Other names that the literature has for it: command line and files accept them.
    eps0 : float
        Pure local guarantee of one user's messages, in nats; inf where there is none.
    """

    noun: ClassVar[str]
    listed: ClassVar[bool] = True
    task: ClassVar[str] = "Any other"
    aliases: ClassVar[tuple[str, ...]] = ()
    name: ClassVar[str]
    summary: ClassVar[str]
    eps0: Any

    def __post_init__(self) -> None:
        """Check the parameters by their rules, in their order, and keep what these return."""
        for name, _, _, rule, _ in parameters_of(type(self)):
            if rule is not None:
                object.__setattr__(self, name, rule.check(name, getattr(self, name), self))

    @property
    def relation(self) -> Relation:
        """The neighbouring relation of its bounds: any value for any other."""
        return REPLACEMENT

    @property
    def messages_per_user(self) -> int:
        """Messages that one user may send."""
        return 1

    @abstractmethod
    def assumptions(self) -> tuple[str, ...]:
        """What its bounds take for granted, in words."""

    @property
    @abstractmethod
    def message_bits(self) -> float:
        """Bits of one message (log2 of the message space; 64 for a float)."""

    @abstractmethod
    def variance(self, frequency: float = 0.0) -> float:
        """Variance of the estimate times the number of users.

        Parameters
        ----------
        frequency : float
            For frequencies: the true frequency of the item; randomness of the mechanism alone, the
            data are fixed. Mechanisms for means give the worst case over inputs.
        """

    # ---------------------------------------------------------------------- running it

    def randomize(self, values: ArrayLike) -> np.ndarray:
        """Reports of the values, with randomness from the operating system.

        Parameters
        ----------
        values : array_like, shape (n,)
            One input for each user, in the domain.

        Returns
        -------
        ndarray
            Of a randomizer one report for each value; the first axis is the users, the type is
            documented by each class. Of a protocol all messages of all users, in a uniformly random
            order.

        Raises
        ------
        ParameterError
            If a value is outside the domain, missing or NaN.
        """
        source = SystemSource()
        return self._in_order(self.randomize_with(values, source), source)

    def simulate(self, values: ArrayLike, *, seed: int) -> np.ndarray:
        """The same from a seed: for simulation and tests, never for privacy."""
        source = SeededSource(seed)
        return self._in_order(self.randomize_with(values, source), source)

    def randomize_with(self, values: ArrayLike, source: RandomSource) -> np.ndarray:
        """The same from any source of random words: the way in for engines.

        Messages of a protocol are not shuffled: the data messages stand first, in the users' order,
        then the blanket messages.
        """
        return self._sample(self._checked(values), source)

    def _in_order(self, reports: np.ndarray, source: RandomSource) -> np.ndarray:
        """The reports in the order in which they are handed out."""
        del source
        return reports

    @abstractmethod
    def _checked(self, values: ArrayLike) -> np.ndarray:
        """The values as an array of inputs in the domain, or ParameterError."""

    @abstractmethod
    def _sample(self, values: np.ndarray, source: RandomSource) -> np.ndarray:
        """Reports of checked values."""

    def parameters(self) -> dict[str, Any]:
        """The arguments that build this mechanism again, JSON-able."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {f.name: getattr(self, f.name) for f in fields if f.init}

    def to_dict(self) -> dict[str, Any]:
        """{"name": ..., **parameters}: the inverse of ``mechanism_from_dict``."""
        return {"name": self.name, **self.parameters()}


def mechanism_names(kind: type[Mechanism] = Mechanism) -> tuple[str, ...]:
    """Names of all registered mechanisms of a kind, sorted.

    Parameters
    ----------
    kind : type
        ``Randomizer``, ``MultiMessage``, or both.
    """
    return tuple(
        sorted(name for name, cls in CLASSES.items() if issubclass(cls, kind) and cls.listed)
    )


def spelled(name: str) -> str:
    """The registered name that is meant: without regard to case, hyphens and underscores.

    Parameters
    ----------
    name : str
        A mechanism's name or one of its aliases. Any other text is returned as it is.
    """

    def plain(text: str) -> str:
        return re.sub(r"[-_ ]", "", text).casefold()

    meant = plain(name)
    for one in mechanism_names():
        cls = cast("type[Mechanism]", CLASSES[one])
        if meant in {plain(one), *map(plain, cls.aliases)}:
            return one
    return name


def known_name(argument: str, name: Any, names: Collection[str]) -> str:
    """The one of ``names`` that is meant, as ``spelled`` reads it.

    Parameters
    ----------
    argument : str
        What the name was given for, for the message.
    name : Any
        What was given.
    names : collection of str
        Those that are accepted.

    Raises
    ------
    ParameterError
        If it is none of them; the message says which names are close to it.
    """
    meant = spelled(name) if isinstance(name, str) else None
    if meant in names:
        return str(meant)
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5) or _WELL_KNOWN
    wanted = f"a mechanism such as {', '.join(close)} (all: shuffledp list mechanisms)"
    raise rejected(argument, name, wanted)


def mechanism_class(name: str, kind: type[Kind] = Mechanism) -> type[Kind]:
    """The class registered under ``name``; ParameterError names close ones.

    Parameters
    ----------
    name : str
        As command line and files have it.
    kind : type
        ``Randomizer``, ``MultiMessage``, or both.
    """
    what = f"{_noun(kind)} name"
    if isinstance(name, str) and name in CLASSES and not getattr(CLASSES[name], "listed", True):
        raise rejected(what, name, "one that parameters describe: it is made of code")
    return cast("type[Kind]", CLASSES[known_name(what, name, mechanism_names(kind))])


def mechanism_from_dict(description: Mapping[str, Any], kind: type[Kind] = Mechanism) -> Kind:
    """Build a mechanism from {"name": ..., **parameters}, refusing unknown or missing keys.

    Parameters
    ----------
    description : mapping
        As ``to_dict`` makes it.
    kind : type
        ``Randomizer``, ``MultiMessage``, or both.
    """
    given = dict(description)
    if "name" not in given:
        raise rejected(_noun(kind), sorted(given), 'a table with a key "name"')
    return made(mechanism_class(given.pop("name"), kind), given)


def made(cls: Any, given: Mapping[str, Any]) -> Any:
    """An object of this class, with these parameters and the defaults of all others.

    Raises
    ------
    ParameterError
        If a parameter is unknown, missing, or not what was wanted.
    """
    known = parameters_of(cls)
    names = ", ".join(one.name for one in known)
    for key in given:
        if key not in {one.name for one in known}:
            raise rejected(f"{cls.name} parameter", key, f"one of {names}")
    for one in known:
        if one.required and one.name not in given:
            raise ParameterError(f"{one.name} is missing: {cls.name} wanted {names}")
    return cls(**given)


def _noun(kind: type[Mechanism]) -> str:
    return getattr(kind, "noun", "mechanism")
