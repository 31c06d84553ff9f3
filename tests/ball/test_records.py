"""One record a mechanism: what the verifier knows of it stands in the module of its definition."""

import ast
import importlib
import json
import math
from pathlib import Path

import pytest
from flint import arb, ctx

import shuffledp as sd
from frontend.test_statements import TEXTS, UNKNOWN, deployment
from shuffledp import ball
from shuffledp.ball.labels import others_of
from shuffledp.ball.laws import finite_law
from shuffledp.ball.pairs import ordered_pairs
from shuffledp.ball.registry import RECORDS
from shuffledp.multimessage import protocol_names

# What the verifier is made of.
FILES = sorted(Path(ball.__file__).parent.glob("*.py"))
TREES = {path: ast.parse(path.read_text("utf-8")) for path in FILES}
NAMES = {*sd.randomizer_names(), *protocol_names(), "generic"} - UNKNOWN
# What a definition may rest on: types, and what several definitions have in common.
BELOW = {
    *("bits", "caps", "densities", "levels", "outputs", "power", "ranges", "record"),
}
# An aggregator's own noise is of a kind, not a mechanism; a tree's levels have one of these.
ALLOWED = {
    "sums": {"discrete-laplace"},
    "views": {"discrete-laplace", "discrete-gaussian"},
    "parts": {"k-rr", "rappor", "oue", "olh", "blh"},
}
# As certificates have them.
TABLES = {
    kind: json.loads(json.dumps(deployment(text).randomizer, default=int))
    for kind, text in TEXTS.items()
}


# Those that may be parts.
PARTS = [
    kind
    for kind, table in TABLES.items()
    if RECORDS[table["name"]].inside and RECORDS[table["name"]].kind == "randomizer"
]


def makes_records(tree):
    """Whether a module's text has records of its own."""
    made = [node.targets for node in tree.body if isinstance(node, ast.Assign)]
    return any(isinstance(t, ast.Name) and t.id == "RECORDS" for names in made for t in names)


DEFINITIONS = {
    path.stem: importlib.import_module(f"shuffledp.ball.{path.stem}").RECORDS
    for path, tree in TREES.items()
    if makes_records(tree)
}


def words(tree):
    """All strings of a text that are no documentation."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [node.value for node in nodes if isinstance(node.value, str)]


def test_every_mechanism_has_one_record():
    homes = {name: [m for m, records in DEFINITIONS.items() if name in records] for name in RECORDS}
    assert {name: home for name, home in homes.items() if len(home) != 1} == {}
    assert {name for name, record in RECORDS.items() if record.unnamed} == set(RECORDS) - NAMES


def test_the_registry_has_all_that_the_definitions_have():
    """A module of definitions without its line in the registry would be one that is not known."""
    found = {name for records in DEFINITIONS.values() for name in records}
    assert found == set(RECORDS)
    for records in DEFINITIONS.values():
        for name, record in records.items():
            assert RECORDS[name] is record


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_mechanism_is_named_outside_of_its_definition(path):
    """No table by names, no comparison with one."""
    own = DEFINITIONS.get(path.stem, {})
    allowed = {*own, *ALLOWED.get(path.stem, ())}
    assert {word for word in words(TREES[path]) if word in RECORDS} <= allowed


@pytest.mark.parametrize("module", sorted(DEFINITIONS))
def test_definitions_know_nothing_of_what_reads_them(module):
    tree = ast.parse((FILES[0].parent / f"{module}.py").read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    assert {node.module for node in imports} <= BELOW


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_record_says_enough(name):
    """How a report is made, and of a randomizer which pairs are the worst and why."""
    record = RECORDS[name]
    laws = (record.law, record.noise, record.power, record.rows, record.parts)
    assert sum(law is not None for law in laws) == (record.kind != "family")
    if record.kind != "randomizer":
        assert record.pair is not None
        assert record.pair_step is None
        return
    if record.parts is not None and record.parts.like:
        assert record.pair is record.pair_step is None
        return
    assert record.pair_step is not None
    assert record.pair or record.listed or (record.parts and record.parts.records)


@pytest.mark.parametrize("kind", TABLES)
def test_ranges_are_those_of_tables_that_are_taken(kind):
    """Each value of a deployment is in its range, and nothing at all is not."""
    table = TABLES[kind]
    for key, (wanted, holds) in RECORDS[table["name"]].ranges.items():
        assert wanted
        assert holds(table[key], table)
        assert key == "hamming" or not holds(None, table)


@pytest.mark.parametrize("kind", TABLES)
def test_what_label_stealing_looks_at_is_whole(kind):
    """Inputs that have laws, or laws of labels that add up to one; and a theorem."""
    table = TABLES[kind]
    found = others_of(table)
    if found is None:
        return
    assert found.step.provenance in {"published", "proved here"}
    assert found.pairs
    if found.how in {"alike", "listed", "mixed"}:
        law = finite_law(table, (*found.pairs[0], *found.inputs))
        assert {x in found.inputs for x in found.pairs[0]} == {True}
        laws = [[one.probability[j] for one in law] for j in range(2 + len(found.inputs))]
    elif found.labels is not None:
        with ctx.workprec(200):
            first = next(found.labels())
            laws = list(zip(*first, strict=True))
    else:
        assert found.how in {"shifts", "span", "family"}
        return
    assert all(sum(law, arb(0)).overlaps(arb(1)) for law in laws)


@pytest.mark.parametrize(("name", "l"), [("blh", 2), ("olh", round(math.exp(1.5)) + 1)])
def test_hashing_by_its_own_number_of_values(name, l):
    """Ball by ball local hashing's, which the enumeration of all functions is compared with."""
    table = {"name": name, "domain": 9, "eps0": 1.5}
    assert ordered_pairs(table) == [(0, 1)]
    found = finite_law(table, (0, 1, 2))
    wanted = finite_law({**table, "name": "local-hash", "l": l}, (0, 1, 2))
    assert [str(one) for one in found] == [str(one) for one in wanted]
