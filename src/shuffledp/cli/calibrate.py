"""``shuffledp calibrate``: any one of noise, users, rounds, eps and delta, given the rest."""

from __future__ import annotations

from typing import Any

import click

from shuffledp import _check
from shuffledp.bound import Bound
from shuffledp.calibration import calibrate as solve
from shuffledp.calibration import most_rounds, required_users
from shuffledp.cli.text import bound_text, print_json, progress
from shuffledp.cli.types import Number, Whole
from shuffledp.errors import ParameterError, rejected
from shuffledp.randomizers import Randomizer, randomizer_class, randomizer_from_dict
from shuffledp.shuffle import shuffle

_TARGETS = ("n", "rounds", "epsilon", "delta")


@click.command(
    short_help="The weakest local noise that meets a central target.",
    context_settings={"ignore_unknown_options": False},
)
@click.argument("mechanism")
@click.argument("parameters", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("-n", "n", type=Whole(), help="Users.")
@click.option("--epsilon", type=Number(), help="Central eps in nats to meet.")
@click.option("--delta", type=Number(), help="Central delta to meet.")
@click.option("--rounds", type=Whole(), help="Rounds on the same users.  [default: 1]")
@click.option(
    "--find",
    metavar="KEY",
    help="What to solve for: a parameter, n, rounds, epsilon or delta.  [default: eps0]",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON and nothing else.")
def calibrate(
    mechanism: str,
    parameters: tuple[str, ...],
    n: int | None,
    epsilon: float | None,
    delta: float | None,
    rounds: int | None,
    find: str | None,
    as_json: bool,
) -> None:
    """Solve for any one of noise, users, rounds, eps and delta, given the others.

    The largest eps0, the smallest noise such as sigma, the smallest n, the most rounds: a value
    whose certified bound meets the target, and the next one, which does not.

    \b
      shuffledp calibrate k-rr k=10 -n 10000 --epsilon 1 --delta 1e-6
      shuffledp calibrate gaussian --find sigma -n 10000 --epsilon 1 --delta 1e-6
      shuffledp calibrate k-rr k=10 eps0=4 --find n --epsilon 1 --delta 1e-6
      shuffledp calibrate k-rr k=10 eps0=4 --find rounds -n 10000 --epsilon 1 --delta 1e-6
      shuffledp calibrate k-rr k=10 eps0=4 --find delta -n 10000 --epsilon 1 --rounds 5
    """  # noqa: D301
    fixed = dict(_pair(text) for text in parameters)
    key = find or "eps0"
    known = _parameters(mechanism)
    _check.choice("find", key, (*known, *(k for k in _TARGETS if k not in known)))
    given = {"n": n, "epsilon": epsilon, "delta": delta, "rounds": rounds}
    _complete(given, key)
    if key in _TARGETS and key not in known:
        _solve_target(randomizer_from_dict({"name": mechanism, **fixed}), key, given, as_json)
        return

    def family(value: float) -> Randomizer:
        return randomizer_from_dict({"name": mechanism, **fixed, key: value})

    with progress("calibrating"):
        found = solve(
            family,
            **_settings(given),
            find="largest" if key == "eps0" else "smallest",
        )
    if as_json:
        print_json(found.to_dict() | {"what": key})
        return
    click.echo(str(found).replace("value =", f"{key} ="))


def _complete(given: dict[str, Any], key: str) -> None:
    """Refuse what is missing, and a value for what is solved for."""
    for name in _TARGETS:
        if name == key and given[name] is not None:
            raise rejected(name, given[name], "no value: it is what is solved for")
        if name not in {key, "rounds"} and given[name] is None:
            raise ParameterError(f"{name} is missing: wanted to solve for {key}")


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """What was given, one round by default."""
    return {k: v for k, v in given.items() if v is not None}


def _solve_target(randomizer: Randomizer, key: str, given: dict[str, Any], as_json: bool) -> None:
    """Solve for users or rounds, or evaluate eps or delta, which is a bound."""
    settings = _settings(given)
    with progress(f"calibrating {key}"):
        if key == "n":
            found: Any = required_users(randomizer, **settings)
        elif key == "rounds":
            found = most_rounds(randomizer, **settings)
        else:
            n, rounds = settings.pop("n"), settings.pop("rounds", 1)
            one = shuffle(randomizer, n=n)
            accountant = one if rounds == 1 else one.compose(rounds=rounds)
            evaluate = accountant.epsilon if key == "epsilon" else accountant.delta
            found = evaluate(**settings)
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(bound_text(found) if isinstance(found, Bound) else str(found))


def _parameters(mechanism: str) -> tuple[str, ...]:
    import inspect

    return tuple(inspect.signature(randomizer_class(mechanism)).parameters)


def _pair(text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign:
        raise rejected("parameter", text, "KEY=VALUE, such as k=10")
    number = Whole().convert(value, None, None) if _is_number(value) else value
    return key, {"true": True, "false": False}.get(value.lower(), number)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
