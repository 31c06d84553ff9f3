"""``shuffledp calibrate``: any one of noise, users, rounds, eps and delta, given the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import click

from shuffledp import _check
from shuffledp.accounts import Account, shuffle
from shuffledp.accounts.sources import source_class, source_from_dict
from shuffledp.accounts.supported import MOST_ROUNDS
from shuffledp.calibration import calibrate as solve
from shuffledp.cli.mechanisms import MechanismCommand
from shuffledp.cli.numbers import JSON, ROUNDS, TRUST, VIEW, added_noise, warn_of_delta
from shuffledp.cli.progress import progress
from shuffledp.cli.text import bound_text, print_json
from shuffledp.cli.types import Number, Whole
from shuffledp.errors import ParameterError, rejected
from shuffledp.mechanism.parameters import limit_of, parameters_of
from shuffledp.multimessage import MultiMessage
from shuffledp.views.noise import KINDS, LARGEST_SCALE, SMALLEST_SCALE, AddedNoise

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
# The least noise of a protocol's coin.
_LEAST_COIN = 2.0**-40
# What is solved for where --added has no scale.
_ADDED = "added.scale"

_SUMMARY = """Solve for noise, users, rounds, eps or delta, given the others.

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
    key = _key(description, given, find, kind)
    setting = {**view, "trust": trust}
    setting["added"] = None if kind is not None else added_noise(view["added"])
    if n is not None:
        setting["n"] = n
    if rounds is not None:
        setting["rounds"] = rounds
    with progress(f"calibrating {key} of {description['name']}"):
        if key in {"epsilon", "delta"}:
            made = shuffle(source_from_dict(description), **setting)
            bound = made.epsilon(delta=delta) if key == "epsilon" else made.delta(epsilon=epsilon)  # type: ignore[arg-type]
            warn_of_delta(bound.upper if key == "delta" else bound.at["delta"], n)
            said, printed = bound.to_dict(), bound_text(bound)
        else:
            account, how = _accounts(description, key, kind, setting)
            found = solve(account, epsilon=epsilon, delta=delta, what=key, **how)  # type: ignore[arg-type]
            warn_of_delta(found.delta, found.account.n)
            if key == "p":
                # Solved for by its distance from 1.
                beyond = None if found.beyond is None else 1.0 - found.beyond
                found = replace(found, value=1.0 - found.value, beyond=beyond)
            said, printed = found.to_dict(), str(found)
    if as_json:
        print_json(said)
    else:
        click.echo(printed)


def _key(
    description: dict[str, Any], given: dict[str, Any], find: str | None, kind: str | None
) -> str:
    """What is solved for: what was named, or the one thing that is missing."""
    missing = [*dict.fromkeys(_missing(description))]
    missing += [name for name in _TARGETS if name != "rounds" and given[name] is None]
    missing += [_ADDED] * (kind is not None)
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


def _typed(name: str) -> str:
    return {"n": "-n", _ADDED: "the scale of --added"}.get(name, f"--{name}")


def _accounts(
    description: dict[str, Any], key: str, kind: str | None, setting: dict[str, Any]
) -> tuple[Callable[[Any], Account], dict[str, Any]]:
    """Accounts by the value of what is solved for, and in which range which value is wanted."""
    if key == "n":
        source = source_from_dict(description)
        return lambda n: shuffle(source, n=n, **setting), {"find": _SMALLEST, "whole": True}
    if key == "rounds":
        source = source_from_dict(description)
        how = {"find": _LARGEST, "high": MOST_ROUNDS, "whole": True}
        return lambda rounds: shuffle(source, rounds=rounds, **setting), how
    if kind is not None:
        source = source_from_dict(description)

        def added(scale: float) -> Account:
            noise = AddedNoise(kind=kind, scale=scale)  # type: ignore[arg-type]
            return shuffle(source, **{**setting, "added": noise})

        return added, {"find": _SMALLEST, "low": SMALLEST_SCALE, "high": LARGEST_SCALE}
    solvable = _solvable(description)
    if key not in solvable:
        wanted = ", ".join([*solvable, *_TARGETS])
        raise ParameterError(f"{_typed(key)} is missing: what can be solved for is {wanted}")
    if key in {"f", "p"}:
        made = source_from_dict(_filled(description, key, 0.25))
        rule: Any = next(one.rule for one in parameters_of(type(made)) if one.name == key)

        def coin(noise: float) -> Account:
            # Of a bit with the bias p the noise is 1 - p.
            value = 1.0 - noise if key == "p" else noise
            return shuffle(source_from_dict(_filled(description, key, value)), **setting)

        high = (0.5 if key == "p" else limit_of(rule.high, made)) * (1.0 - 1e-9)
        return coin, {"find": _SMALLEST, "low": _LEAST_COIN, "high": high}
    return (
        lambda value: shuffle(source_from_dict(_filled(description, key, value)), **setting),
        _range_of(description, key, setting["n"]),
    )


def _range_of(description: dict[str, Any], key: str, n: int) -> dict[str, Any]:
    """Which values of a mechanism's parameter are looked at, and which end of them is wanted."""
    if key == "blankets":
        # So many for each user that all messages together can still be counted.
        most = max((_check.LARGEST_COUNT - 1) // _check.count("n", n), 2)
        return {"find": _SMALLEST, "high": most, "whole": True}
    low, high = _RANGES[key]
    if key == "distance":
        # Left out it is the largest there is.
        high = float(getattr(source_from_dict(description), key))
    subsample = description["name"] == "poisson-subsample"
    find = _NOISE.get(key, _LARGEST if subsample else _SMALLEST)
    return {"find": find, "low": low, "high": high}


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
    return {one.name: one.required for one in parameters_of(source_class(name))}


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
        wanted = {*_NOISE}
        if issubclass(source_class(table["name"]), MultiMessage):
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
