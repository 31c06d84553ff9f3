"""Parameters are declared once, on the class: constructor, files, schema and help agree."""

import json
import math

import pytest

import shuffledp as sd
from objects.examples import ARGUMENTS, class_of
from shuffledp.deployment import json_schema
from shuffledp.mechanism.base import (
    mechanism_class,
    mechanism_from_dict,
    mechanism_names,
)
from shuffledp.mechanism.parameters import parameters_of
from shuffledp.multimessage import MultiMessage
from shuffledp.randomizers import Randomizer

NAMES = sorted({*mechanism_names()} & {*ARGUMENTS})
# Checked by the class itself: rounded to what a coin or a field can be, or against other numbers.
OWN = {"q", "weights"}


def declared(name):
    return parameters_of(class_of(name))


def test_randomizers_and_protocols_are_mechanisms_of_one_registry():
    assert {*sd.randomizer_names(), *sd.protocol_names()} == {*mechanism_names()}
    assert {*NAMES} == {*mechanism_names()}
    for name in NAMES:
        kind = Randomizer if name in sd.randomizer_names() else MultiMessage
        assert issubclass(mechanism_class(name), kind)
        made = mechanism_class(name)(**ARGUMENTS[name])
        assert mechanism_from_dict(json.loads(json.dumps(made.to_dict()))) == made
        wanted = 1 if kind is Randomizer else made.blankets + 1
        assert made.messages_per_user == wanted


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_a_rule_and_words(name):
    for one in declared(name):
        assert one.words, one.name
        assert one.rule is not None or one.name in OWN, one.name


def just_outside(key, limit, kind):
    if kind is int or int in getattr(kind, "__args__", ()):
        return int(limit) + (1 if key == "maximum" else -1)
    if key == "exclusiveMinimum":
        return limit
    return math.nextafter(limit, math.inf if key == "maximum" else -math.inf)


RANGES = [
    pytest.param(name, one, key, limit, id=f"{name}-{one.name}-{key}")
    for name in NAMES
    for one in declared(name)
    if one.rule is not None
    for key, limit in one.rule.limits.items()
    if key != "enum"
]


@pytest.mark.parametrize(("name", "one", "key", "limit"), RANGES)
def test_the_schema_allows_no_more_than_the_constructor(name, one, key, limit):
    value = just_outside(key, limit, one.kind)
    with pytest.raises(sd.ParameterError, match=one.name):
        class_of(name)(**{**ARGUMENTS[name], one.name: value})


def holds(value, schema):
    kinds = {"integer": int, "number": (int, float), "boolean": bool, "string": str}
    kinds |= {"null": type(None), "array": list, "object": dict}
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(isinstance(value, kinds[one]) for one in types):
            return False
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        if not (low <= value <= high and value > schema.get("exclusiveMinimum", -math.inf)):
            return False
    if isinstance(value, list) and not all(holds(one, schema.get("items", {})) for one in value):
        return False
    return value in schema.get("enum", [value])


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_allows_what_the_constructor_makes(name):
    cases = json_schema()["properties"]["randomizer"]["oneOf"]
    (case,) = (one for one in cases if one["properties"]["name"] == {"const": name})
    table = json.loads(json.dumps(mechanism_class(name)(**ARGUMENTS[name]).to_dict()))
    assert {*table} <= {*case["properties"]}
    assert {*case["required"]} <= {*table}
    for key, value in table.items():
        assert holds(value, case["properties"][key]), key
        assert key == "name" or case["properties"][key]["description"]
