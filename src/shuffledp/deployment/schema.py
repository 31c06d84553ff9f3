"""JSON Schema of the deployment file, for editors."""

from __future__ import annotations

from typing import Any

from shuffledp.deployment.mechanisms import mechanism_names, parameter_kinds
from shuffledp.deployment.model import Deployment


def json_schema() -> dict[str, Any]:
    """JSON Schema of the deployment file, one case a randomizer."""
    schema = Deployment.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    cases = [_table_schema(name, *parameter_kinds(name)) for name in mechanism_names()]
    schema["properties"]["randomizer"] = {
        "description": Deployment.model_fields["randomizer"].description,
        "oneOf": cases,
    }
    return schema


def _table_schema(name: str, required: dict[str, str], optional: dict[str, str]) -> dict[str, Any]:
    properties: dict[str, Any] = {"name": {"const": name}}
    for key, kind in {**required, **optional}.items():
        properties[key] = _kind_schema(kind)
    return {
        "type": "object",
        "properties": properties,
        "required": ["name", *required],
        "additionalProperties": False,
    }


def _kind_schema(kind: str) -> dict[str, Any]:
    """What a parameter may be, from its annotation; a matrix where nothing else is known."""
    kinds = {"int": "integer", "float": "number", "bool": "boolean", "str": "string"}
    plain = kind.removesuffix(" | None")
    if plain in kinds:
        return {"type": kinds[plain] if plain == kind else [kinds[plain], "null"]}
    table = {"type": "object", "required": ["name"]}
    numbers = {"type": "array", "items": {"type": "number"}}
    known = {
        "Randomizer": table,
        "tuple[Randomizer, ...]": {"type": "array", "items": table},
        "tuple[float, ...]": numbers,
    }
    return known.get(plain, {"type": "array", "items": numbers})
