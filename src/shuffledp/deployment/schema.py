"""JSON Schema of the deployment file, for editors."""

from __future__ import annotations

import typing
from types import UnionType
from typing import Any

from shuffledp.accounts.sources import source_class, source_names
from shuffledp.deployment.model import Deployment
from shuffledp.mechanism.parameters import Parameter, parameters_of
from shuffledp.randomizers import Randomizer


def json_schema() -> dict[str, Any]:
    """JSON Schema of the deployment file, one case a randomizer."""
    schema = Deployment.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["oneOf"] = [{"required": ["population", "randomizer"]}, {"required": ["group"]}]
    cases = [_table_schema(name) for name in source_names()]
    schema["properties"]["randomizer"] = {
        "description": Deployment.model_fields["randomizer"].description,
        "oneOf": cases,
    }
    one_alone = {"$ref": "#/properties/randomizer"}
    schema["$defs"]["Group"]["properties"]["randomizer"] = one_alone
    return schema


def _table_schema(name: str) -> dict[str, Any]:
    """Every parameter as the class declares it."""
    known = parameters_of(source_class(name))
    return {
        "type": "object",
        "properties": {"name": {"const": name}, **{one.name: _schema_of(one) for one in known}},
        "required": ["name", *(one.name for one in known if one.required)],
        "additionalProperties": False,
    }


def _schema_of(parameter: Parameter) -> dict[str, Any]:
    """Kind, range and words of a parameter."""
    found = {
        **_kind_schema(parameter.kind),
        **({} if parameter.rule is None else parameter.rule.limits),
    }
    return found | ({"description": parameter.words} if parameter.words else {})


def _kind_schema(kind: Any) -> dict[str, Any]:
    """What a parameter may be, from its type; a matrix where nothing else is known."""
    names = {int: "integer", float: "number", bool: "boolean", str: "string", type(None): "null"}
    kinds = typing.get_args(kind) if isinstance(kind, UnionType) else (kind,)
    known = [names[one] for one in kinds if one in names]
    if len(known) == len(kinds):
        return {"type": known[0] if len(known) == 1 else known}
    table = {"type": "object", "required": ["name"]}
    numbers = {"type": "array", "items": {"type": "number"}}
    if kind is Randomizer:
        return table
    if kind == tuple[Randomizer, ...]:
        return {"type": "array", "items": table}
    return numbers if kind == tuple[float, ...] else {"type": "array", "items": numbers}
