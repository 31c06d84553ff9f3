"""No module depends on itself; layers and trusted modules are those that are listed."""

import ast
import re
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import shuffledp as sd
from shuffledp.deployment.files import tomllib

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
FILES = sorted((SOURCE / "shuffledp").glob("**/*.py"))


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in FILES}


def imported(name, text, *, package):
    """Modules of ours that a module's text names in any import statement."""
    inside = name if package else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            up = inside.split(".")[: len(inside.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            # Of a package either a module in it, or what it says itself.
            inner = {f"{base}.{alias.name}" for alias in node.names}
            found |= {one if one in MODULES else base for one in inner}
    return {one for one in found if one in MODULES and one != name}


@pytest.fixture(scope="module")
def arrows():
    """From every module to those that it imports."""
    return {
        name: imported(name, path.read_text("utf-8"), package=path.stem == "__init__")
        for name, path in MODULES.items()
    }


def test_no_import_cycles(arrows):
    assert len(arrows) > 150
    assert sum(map(len, arrows.values())) > 700
    assert len(list(TopologicalSorter(arrows).static_order())) == len(arrows)


def test_the_picture_of_the_layers_is_the_contract():
    """Top to bottom, every name of it."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (c["layers"] for c in contract["contracts"] if c["id"] == "layers")
    level = {name: i for i, layer in enumerate(layers) for name in re.findall(r"\w+", layer)}
    page = (ROOT / "docs/architecture.md").read_text()
    picture = re.findall(r"^    \| (.{37})", page, re.MULTILINE)
    drawn = [name for line in picture for name in line.split()]
    assert set(level) - set(drawn) == {"__main__", "_version"}
    assert [level[name] for name in drawn] == sorted(level[name] for name in drawn)


# A module with one of these says what a certified number rests on.
LAWS = {"output_law", "cut_law", "added_noise", "cells", "line", "message_rows", "_rows"}
LAWS |= {"worst_pairs", "others", "alike", "hit_counts"}


def has_laws(name):
    tree = ast.parse(MODULES[name].read_text("utf-8"))
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return bool(defined & LAWS)


def test_the_trusted_modules_are_listed_and_import_two_libraries(arrows):
    """docs/trusted.txt: what arithmetic, kernel and bounds import, and laws; not proposals."""
    listed = [
        line
        for line in (ROOT / "docs/trusted.txt").read_text("utf-8").splitlines()
        if not line.startswith("#")
    ]
    kinds = ("shuffledp.randomizers.", "shuffledp.multimessage.", "shuffledp.mechanism.")
    mechanisms = {name for name in MODULES if name.startswith(kinds) and has_laws(name)}
    engine = ("shuffledp.arithmetic", "shuffledp.kernel", "shuffledp.bounds")
    todo = [name for name in MODULES if name.startswith(engine)]
    # Of what a mechanism's module imports its law uses these; sampler and estimator the rest.
    laws = ("shuffledp.ball.", "shuffledp.randomizers.joint")
    todo += [one for name in mechanisms for one in arrows[name] if one.startswith(laws)]
    found = set(mechanisms)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += arrows[name]
    assert listed == sorted(found)
    outside = set()
    for name in found:
        for node in ast.walk(ast.parse(MODULES[name].read_text("utf-8"))):
            if isinstance(node, ast.Import):
                outside |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                outside.add(str(node.module).partition(".")[0])
    assert outside - set(sys.stdlib_module_names) == {"shuffledp", "numpy", "flint"}


def test_what_is_listed_is_public():
    assert [name for name in dir(sd) if not name.startswith("_")] == [
        name for name in sd.__all__ if not name.startswith("_")
    ]
