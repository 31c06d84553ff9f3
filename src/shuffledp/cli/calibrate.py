"""``shuffledp calibrate``: any one of noise, users, rounds, eps and delta, given the rest."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from shuffledp import _check
from shuffledp.accounts import shuffle
from shuffledp.calibration import Calibration, most_rounds, required_added, required_users
from shuffledp.calibration import calibrate as solve
from shuffledp.calibration.required import required_noise
from shuffledp.cli.mechanisms import (
    GENERIC,
    MechanismCommand,
    Source,
    source_from_dict,
)
from shuffledp.cli.numbers import JSON, ROUNDS, TRUST, VIEW, added_noise, warn_of_delta
from shuffledp.cli.progress import progress
from shuffledp.cli.text import bound_text, print_json
from shuffledp.cli.types import Number, Whole
from shuffledp.errors import ParameterError, rejected
from shuffledp.mechanism import mechanism_class, parameters_of
from shuffledp.multimessage import MultiMessage
from shuffledp.views.noise import KINDS

_TARGETS = ("n", "rounds", "epsilon", "delta")
# Which end of the values that meet the target has the least noise. Searches are over factors.
_LARGEST, _SMALLEST = "largest", "smallest"
_NOISE = {"eps0": _LARGEST, "distance": _LARGEST, "sigma": _SMALLEST, "scale": _SMALLEST}
# In the units of the values, which may be anything.
_RANGES: dict[str, tuple[float, float]] = {
    "eps0": (1e-4, _check.LARGEST_EPS0),
    "distance": (1e-12, math.inf),
    "sigma": (1e-12, 1e12),
    "scale": (1e-12, 1e12),
    "rate": (1e-12, 1.0),
}
# What is solved for where --added has no scale.
_ADDED = "added.scale"

_SUMMARY = """Solve for any one of noise, users, rounds, eps and delta, given the others.

What is left out is solved for: the largest eps0, the smallest noise such as sigma, the smallest
n; of sums with --added KIND the scale of that noise. --find names it where several are left out,
or rounds. Printed are a value whose certified
bound meets the target, and the next one, which does not. A parameter that is left out in all
parts of a mechanism is the same in all of them."""
_EXAMPLES = """shuffledp calibrate k-rr --k 10 -n 10000 --epsilon 1 --delta 1e-6
  shuffledp calibrate gaussian -n 10000 --epsilon 1 --delta 1e-6
  shuffledp calibrate k-rr --k 10 --eps0 4 --epsilon 1 --delta 1e-6
  shuffledp calibrate k-rr --k 10 --eps0 4 --find rounds -n 10000 --epsilon 1 --delta 1e-6
  shuffledp calibrate k-rr --k 10 --eps0 4 -n 10000 --epsilon 1 --rounds 5
  shuffledp calibrate rappor --d 10 --eps0 10 --epsilon 0.5 --delta 1e-9 --view sums
  shuffledp calibrate binary-rr --eps0 2 -n 200 --epsilon 0.5 --delta 1e-6 --view sums \\
      --added discrete-laplace
  shuffledp calibrate pure-dump --d 50 -n 10000 --epsilon 1 --delta 1e-6
  shuffledp calibrate joint --randomizers '[{"name": "k-rr", "k": 4}, {"name": "duchi"}]' \\
      -n 10000 --epsilon 1 --delta 1e-6"""


def _calibrate(
    description: dict[str, Any],
    *,
    n: int | None,
    epsilon: float | None,
    delta: float | None,
    rounds: int | None,
    find: str | None,
    trust: Any,
    as_json: bool,
    **view: Any,
) -> None:
    given = {"n": n, "epsilon": epsilon, "delta": delta, "rounds": rounds}
    kind = _noise_kind(view["view"], view["added"], find)
    key = _ADDED if kind is not None else _key(description, given, find)
    settings = {name: value for name, value in given.items() if value is not None}
    settings["trust"] = trust
    seen = {**view, "added": None if kind is not None else added_noise(view["added"])}
    with progress(f"calibrating {key} of {description['name']}"):
        if kind is not None:
            found: Any = _added(description, settings, seen, kind)
        elif key in _TARGETS:
            found = _target(source_from_dict(description), key, settings, seen)
        else:
            found = _noise(description, key, settings, seen)
    if isinstance(found, Calibration):
        warn_of_delta(found.delta, found.n)
    else:
        warn_of_delta(found.upper if found.quantity == "delta" else found.at["delta"], n)
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(str(found) if isinstance(found, Calibration) else bound_text(found))


def _key(description: dict[str, Any], given: dict[str, Any], find: str | None) -> str:
    """What is solved for: what was named, or the one thing that is missing."""
    missing = [*dict.fromkeys(_missing(description))]
    missing += [name for name in _TARGETS if name != "rounds" and given[name] is None]
    if find is None:
        if len(missing) == 1:
            return missing[0]
        if not missing:
            raise ParameterError(
                "nothing is missing: wanted one of them left out, or --find rounds"
            )
        names = ", ".join(_typed(name) for name in missing)
        raise ParameterError(f"{names} are missing: wanted all but the one that is solved for")
    wanted = [*_solvable(description), *_TARGETS]
    _check.choice("find", find, tuple(dict.fromkeys(wanted)))
    if given.get(find) is not None or _given(description, find):
        value = given.get(find, description.get(find))
        raise rejected(find, value, "no value: it is what is solved for")
    others = [_typed(name) for name in missing if name != find]
    if others:
        raise ParameterError(f"{', '.join(others)} missing: wanted to solve for {find}")
    return find


def _noise_kind(view: str, added: str | None, find: str | None) -> str | None:
    """The law of the aggregator's noise whose scale is looked for: that of --added KIND alone."""
    if find is not None or view != "sums" or added is None or ":" in added:
        return None
    return _check.choice("added", added, KINDS)


def _added(
    description: dict[str, Any], settings: dict[str, Any], seen: dict[str, Any], kind: str
) -> Calibration:
    """The least noise of the aggregator's own."""
    missing = [*dict.fromkeys(_missing(description))]
    missing += [name for name in ("n", "epsilon", "delta") if name not in settings]
    if missing:
        names = ", ".join(_typed(name) for name in missing)
        raise ParameterError(f"{names} missing: wanted to solve for the scale of --added {kind}")
    if settings.pop("trust") != "all":
        raise rejected("trust", "published", "'all' with sums, which are proved here alone")
    source = source_from_dict(description)
    known = {key: value for key, value in seen.items() if key in {"ones", "relation"}}
    return required_added(source, kind=kind, **settings, **known)  # type: ignore[arg-type]


def _typed(name: str) -> str:
    return "-n" if name == "n" else f"--{name}"


def _target(source: Source, key: str, settings: dict[str, Any], seen: dict[str, Any]) -> Any:
    """Solve for users or rounds, or evaluate eps or delta, which is a bound."""
    if key == "n":
        return required_users(source, **settings, **seen)
    if key == "rounds":
        if seen["view"] == "sums":
            raise rejected("view", "sums", "messages, to solve for rounds")
        return most_rounds(source, **settings)
    asked = {name: settings.pop(name) for name in (*_TARGETS, "trust") if name in settings}
    goal = {name: asked.pop(name) for name in ("epsilon", "delta") if name in asked}
    made = shuffle(source, **asked, **seen)
    return made.epsilon(**goal) if key == "epsilon" else made.delta(**goal)


def _noise(
    description: dict[str, Any], key: str, settings: dict[str, Any], seen: dict[str, Any]
) -> Any:
    """Solve for a parameter of the mechanism or of its parts."""
    name = description["name"]

    def build(value: Any) -> Source:
        return source_from_dict(_filled(description, key, value))

    solvable = _solvable(description)
    if key not in solvable:
        wanted = ", ".join([*solvable, *_TARGETS])
        raise ParameterError(f"{_typed(key)} is missing: what can be solved for is {wanted}")
    if key == "blankets":
        most = _most_blankets(settings["n"])
        found = solve(build, find=_SMALLEST, low=1, high=most, whole=True, **settings, **seen)
    elif key in {"f", "p"}:
        found = _coin(build, key, {**settings, **seen})
    else:
        direction = _NOISE.get(key, _LARGEST if name == "poisson-subsample" else _SMALLEST)
        low, high = _RANGES[key]
        if key == "distance":
            # Left out it is the largest there is.
            high = float(getattr(source_from_dict(description), key))
        found = solve(build, find=direction, low=low, high=high, **settings, **seen)  # type: ignore[arg-type]
    return dataclasses.replace(found, what=key)


def _most_blankets(n: Any) -> int:
    """So many for each user that all messages together can still be counted."""
    return max((_check.LARGEST_COUNT - 1) // _check.count("n", n), 2)


def _coin(build: Callable[[float], Source], key: str, settings: dict[str, Any]) -> Calibration:
    """The least noise of a protocol's coin: the smallest f, or the p nearest to 1."""
    found = required_noise(build(0.25), rtol=1e-6, **settings)  # type: ignore[arg-type]
    if key == "f":
        return found
    beyond = None if found.beyond is None else 1.0 - found.beyond
    return dataclasses.replace(found, value=1.0 - found.value, beyond=beyond)


# ------------------------------------------------------------------- tables with something missing


def _tables(description: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The table and those of its parts."""
    yield description
    for value in description.values():
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, Mapping) and "name" in part:
                yield from _tables(part)


def _parameters(name: str) -> dict[str, bool]:
    """Parameters of a mechanism, and whether each has to be given."""
    if name == GENERIC:
        return {"eps0": True, "adaptive": False}
    return {one.name: one.required for one in parameters_of(mechanism_class(name))}


def _missing(description: Mapping[str, Any]) -> Iterator[str]:
    for table in _tables(description):
        for key, needed in _parameters(table["name"]).items():
            if needed and key not in table:
                yield key


def _given(description: Mapping[str, Any], key: str) -> bool:
    """Whether every table that has such a parameter has a value for it."""
    holders = [t for t in _tables(description) if key in _parameters(t["name"])]
    return bool(holders) and all(key in table for table in holders)


def _solvable(description: Mapping[str, Any]) -> list[str]:
    """Parameters that noise is measured by, of the mechanism and of its parts."""
    found = []
    for table in _tables(description):
        known = _parameters(table["name"])
        cls = None if table["name"] == GENERIC else mechanism_class(table["name"])
        wanted = {*_NOISE}
        if cls is not None and issubclass(cls, MultiMessage):
            wanted |= {"blankets", "rate", "f"} | ({"p"} if set(known) == {"p"} else set())
        elif table["name"] == "poisson-subsample":
            wanted |= {"rate"}
        found += [key for key in known if key in wanted]
    return list(dict.fromkeys(found))


def _filled(description: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """The table with the value wherever it is missing, in parts too."""

    def fill(part: Any) -> Any:
        if isinstance(part, Mapping) and "name" in part:
            return _filled(part, key, value)
        return [fill(one) for one in part] if isinstance(part, list | tuple) else part

    found = {name: fill(part) for name, part in description.items()}
    if key in _parameters(description["name"]):
        found.setdefault(key, value)
    return found


calibrate = MechanismCommand(
    "calibrate",
    _calibrate,
    summary=_SUMMARY,
    example=_EXAMPLES,
    options=(
        click.Option(["-n", "--n"], type=Whole(), help="Users in the shuffle."),
        click.Option(["--epsilon"], type=Number(), help="Central eps in nats to meet."),
        click.Option(["--delta"], type=Number(), help="Central delta to meet."),
        ROUNDS,
        click.Option(
            ["--find"],
            metavar="KEY",
            help="What to solve for: a parameter, n, rounds, epsilon or delta.  [default: what is "
            "left out]",
        ),
        *VIEW,
        TRUST,
        JSON,
    ),
    partial=True,
)
