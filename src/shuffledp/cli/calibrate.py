"""``shuffledp calibrate``: the largest eps0 of a mechanism that meets a central target."""

from __future__ import annotations

from typing import Any

import click

from shuffledp import _check
from shuffledp.calibration import calibrate as solve
from shuffledp.cli.text import print_json, progress
from shuffledp.cli.types import Number, Whole
from shuffledp.errors import rejected
from shuffledp.randomizers import Randomizer, randomizer_class, randomizer_from_dict


@click.command(
    short_help="The weakest local noise that meets a central target.",
    context_settings={"ignore_unknown_options": False},
)
@click.argument("mechanism")
@click.argument("parameters", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("-n", "n", type=Whole(), required=True, help="Users.")
@click.option("--epsilon", type=Number(), required=True, help="Central eps in nats to meet.")
@click.option("--delta", type=Number(), required=True, help="Central delta to meet.")
@click.option("--rounds", type=Whole(), default=1, show_default=True)
@click.option("--find", default=None, metavar="KEY", help="What to solve for.  [default: eps0]")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON and nothing else.")
def calibrate(
    mechanism: str,
    parameters: tuple[str, ...],
    n: int,
    epsilon: float,
    delta: float,
    rounds: int,
    find: str | None,
    as_json: bool,
) -> None:
    r"""Solve for eps0 (the largest) or for noise such as sigma (the smallest).

    \b
      shuffledp calibrate k-rr k=10 -n 10000 --epsilon 1 --delta 1e-6
      shuffledp calibrate gaussian --find sigma -n 10000 --epsilon 1 --delta 1e-6
    """
    fixed = dict(_pair(text) for text in parameters)
    key = find or "eps0"
    _check.choice("find", key, _parameters(mechanism))

    def family(value: float) -> Randomizer:
        return randomizer_from_dict({"name": mechanism, **fixed, key: value})

    with progress("calibrating"):
        found = solve(
            family,
            n=n,
            epsilon=epsilon,
            delta=delta,
            rounds=rounds,
            find="largest" if key == "eps0" else "smallest",
        )
    if as_json:
        print_json(found.to_dict() | {"what": key})
        return
    click.echo(str(found).replace("value =", f"{key} ="))


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
