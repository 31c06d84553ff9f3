"""How the ends of a multi-message protocol's certificate are checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shuffledp.ball.messages import ONE_BIT, is_protocol, messages_of
from shuffledp.errors import ParameterError

__all__ = ["MESSAGES", "is_protocol", "message_call"]

MESSAGES = "multi-message"


def message_call(parameters: Mapping[str, Any], *, users: int, upper: bool) -> dict[str, Any]:
    """Arguments of log_delta for one data message among all blanket messages of these users.

    An upper end is the exact loss among T + 1 draws, T = users times the blanket messages of each.
    A lower end is the same where the other users' data messages say nothing of the victim
    (docs/theory-parts.md, Theorem 3.2); else their messages are like blanket messages, all sent.
    """
    blankets = users * messages_of(parameters)
    found = {"mechanism": dict(parameters), "analysis": "dataset", "x0": 0, "x1": 1, "x2": 2}
    if upper or parameters["name"] not in {"cheu-zhilyaev", "mix-dump"}:
        return found | {"n": blankets + 1}
    if parameters["name"] == "mix-dump":
        return found | {"mechanism": {**parameters, "rate": 1.0}, "n": blankets + users}
    if not isinstance(parameters.get("d"), int):
        raise ParameterError(f"d = {parameters.get('d')!r}: wanted an integer")
    name = parameters["name"] if parameters["d"] > 2 else ONE_BIT
    return found | {"mechanism": {**parameters, "name": name}, "n": blankets + users}
