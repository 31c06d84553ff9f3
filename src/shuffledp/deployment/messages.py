"""pydantic's errors as one line: the key's path, its value, and what was wanted."""

from __future__ import annotations

import difflib
import typing
from typing import Any

from pydantic import BaseModel, ValidationError

from shuffledp.errors import ParameterError, rejected

_WANTED = {
    "string_type": "a text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "model_type": "a table",
    "dict_type": "a table",
    "list_type": "a list",
    "finite_number": "a finite number",
}
_KINDS: dict[Any, str] = {str: "a text in quotes", list: "a list", dict: "a table"}


def one_line(error: ValidationError, model: type[BaseModel]) -> str:
    """The first thing that is wrong, as one line.

    Parameters
    ----------
    error : pydantic.ValidationError
        What validating ``model`` raised.
    model : type
        The model, for the names of its keys.
    """
    found = error.errors()
    # A misspelt key also leaves the right one missing: the misspelling is what helps.
    first = next((e for e in found if e["type"] == "extra_forbidden"), found[0])
    path = _path(first["loc"])
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, ParameterError):
        # A check of one key leaves its name to the place where it stands.
        return f"{path}{cause}" if str(cause).startswith(" = ") else str(cause)
    if first["type"] == "missing":
        field = fields_at(model, first["loc"][:-1]).get(str(first["loc"][-1]))
        kind = getattr(field, "annotation", None)
        wanted = getattr(field, "description", None) or _KINDS.get(typing.get_origin(kind) or kind)
        wanted = wanted or "a value"
        return f"{path} is missing: wanted {wanted}"
    if first["type"] == "extra_forbidden":
        known = sorted(fields_at(model, first["loc"][:-1]))
        near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return str(
            rejected(path, first["input"], f"no such key, but one of {', '.join(known)}{hint}")
        )
    return str(rejected(path, first["input"], _wanted(first)))


def _wanted(error: Any) -> str:
    expected = error.get("ctx", {}).get("expected")
    if error["type"] == "literal_error" and expected:
        return f"one of {expected}"
    return str(_WANTED.get(error["type"], error["msg"]))


def _path(location: tuple[Any, ...]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".") or "file"


def fields_at(model: type[BaseModel], location: tuple[Any, ...]) -> dict[str, Any]:
    """The fields of the model that is found by following a location from ``model``."""
    current: Any = model
    for part in location:
        # Inside a union the path names its alternatives, which are no fields.
        if isinstance(part, str) and part in getattr(current, "model_fields", {}):
            current = _models_in(current.model_fields[part].annotation)
    return dict(getattr(current, "model_fields", {}))


def _models_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in typing.get_args(annotation) if (m := _models_in(a))), None)
