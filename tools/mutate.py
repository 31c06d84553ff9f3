"""Mutation test: break the code on purpose, one small change at a time; the tests must notice.

    python tools/mutate.py src/shuffledp/contour/rule.py tests/contour --limit 40

Each mutant is written to a temporary copy of src, which the tests see through PYTHONPATH. The
working tree is never touched. A mutant that no test kills is a survivor: either a test is missing
(usually) or the change makes no difference (then say so in a comment that ends in
``# mutate: equivalent, <reason>`` on that line, and it is left out).

Exit status: 0 no survivors, 1 survivors, 2 the tests fail without any mutation.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRAGMA = "# mutate: equivalent"

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
PAIRS = [
    ("max", "min"),
    ("maximum", "minimum"),
    ("fmax", "fmin"),
    ("floor", "ceil"),
    ("any", "all"),
    ("argmax", "argmin"),
    ("lower", "upper"),
    ("log_lower", "log_upper"),
    ("lo", "hi"),
    ("low", "high"),
    ("down", "up"),
    ("round_down", "round_up"),
    ("sf", "cdf"),
    ("logsf", "logcdf"),
]
TWIN = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}
# Names both of whose twins are functions: there is no need to see the other one in the file.
FUNCTIONS = {"max", "min", "maximum", "minimum", "fmax", "fmin", "floor", "ceil", "any", "all"}
SHOWN = 100


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what it is, and the whole module's source with it made."""

    line: int
    kind: str
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        before, after = (text.replace("\n", " ")[:SHOWN] for text in (self.before, self.after))
        return f"line {self.line}: {self.kind}\n    - {before}\n    + {after}"


def replacements(node: ast.AST, names: set[str]) -> Iterator[tuple[str, ast.AST]]:
    """Every (kind, new node) that one node may be changed to."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        yield "operator", changed(node, op=OPERATORS[type(node.op)]())
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            yield "term removed", node.left
    elif isinstance(node, ast.BoolOp):
        yield "and/or", changed(node, op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        yield "comparison", changed(node, ops=[OPERATORS[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "condition", changed(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Constant):
        yield from constants(node)
    elif isinstance(node, ast.Call):
        yield from calls(node)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and known(node.id, names):
        yield "twin", changed(node, id=TWIN[node.id])
    elif isinstance(node, ast.Attribute) and known(node.attr, names):
        yield "twin", changed(node, attr=TWIN[node.attr])


def constants(node: ast.Constant) -> Iterator[tuple[str, ast.AST]]:
    """Numbers: twice, a little more, or one for zero; strings: lower for upper."""
    value = node.value
    if isinstance(value, bool):
        yield "constant", changed(node, value=not value)
    elif isinstance(value, int | float):
        yield "constant", changed(node, value=2 * value if value else type(value)(1))
        if isinstance(value, float) and value:
            yield "constant, a little", changed(node, value=value * 1.001)
    elif isinstance(value, str) and value in TWIN:
        yield "twin", changed(node, value=TWIN[value])


def calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    """Rounding the other way or not at all; lower= and upper= exchanged."""
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name == "nextafter" and len(node.args) > 1:
        start, towards, *rest = node.args
        turned = towards.operand if isinstance(towards, ast.UnaryOp) else negative(towards)
        yield "nextafter turned", changed(node, args=[start, turned, *rest])
        yield "nextafter removed", start
    keywords = {keyword.arg for keyword in node.keywords}
    for a, b in PAIRS:
        if {a, b} <= keywords:
            swap = {a: b, b: a}
            yield (
                "keywords exchanged",
                changed(
                    node,
                    keywords=[
                        changed(keyword, arg=swap.get(keyword.arg or "", keyword.arg))
                        for keyword in node.keywords
                    ],
                ),
            )


def known(name: str, names: set[str]) -> bool:
    """Whether the name has a twin that means something in this module."""
    return name in FUNCTIONS or (name in TWIN and TWIN[name] in names)


def negative(node: ast.expr) -> ast.expr:
    """Return the node with a minus before it."""
    return ast.UnaryOp(ast.USub(), node)


def changed(node: ast.AST, **fields: object) -> ast.AST:
    """Return a copy of the node with some fields replaced; dataclasses.replace for syntax trees."""
    new = copy.copy(node)
    for key, value in fields.items():
        setattr(new, key, value)
    return new


def untouched(tree: ast.Module) -> set[int]:
    """Ids of the nodes where a change means nothing: docstrings, annotations, messages, imports."""
    skip: set[int] = set()
    for node in ast.walk(tree):
        fields = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            fields.append(node)
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
            fields.append(node)
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            fields.append(node)
        skip |= {id(below) for field in fields if field is not None for below in ast.walk(field)}
    return skip


def mutants(source: str, only: str = "") -> list[Mutant]:
    """Every mutant of a module, in the order of its text."""
    tree = ast.parse(source)
    lines = source.splitlines()
    skip = untouched(tree)
    names = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(tree)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg | ast.keyword)}
    found = []
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            slots = enumerate(value) if isinstance(value, list) else [(None, value)]
            for index, node in slots:
                if not isinstance(node, ast.AST) or id(node) in skip:
                    continue
                for kind, new in replacements(node, names):
                    line = getattr(node, "lineno", 0)
                    pragma = any(
                        PRAGMA in text for text in lines[line - 1 : getattr(node, "end_lineno", 0)]
                    )
                    if only not in kind or (pragma and not isinstance(node, ast.If | ast.While)):
                        continue
                    put(parent, field, index, new)
                    text = ast.unparse(ast.fix_missing_locations(tree))
                    put(parent, field, index, node)
                    shown = (first_line(node), first_line(ast.fix_missing_locations(new)))
                    found.append(Mutant(line, kind, *shown, text))
    return sorted(found, key=lambda mutant: mutant.line)


def first_line(node: ast.AST) -> str:
    """Return the node's source, without the body of a statement."""
    return ast.unparse(node).split("\n", 1)[0]


def put(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    """Set one child of a node."""
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def run_tests(src: Path, tests: list[str], timeout: float | None) -> tuple[bool, float, str]:
    """Run the tests against a copy of src: (whether they passed, seconds, what they printed)."""
    # No bytecode: two mutants of one size within one second would share it.
    env = os.environ | {"PYTHONPATH": str(src), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the session this call started, and no other
            printed, _ = process.communicate()
            return False, time.perf_counter() - start, printed
    return process.returncode == 0, time.perf_counter() - start, printed


def check_copy_is_used(src: Path) -> None:
    """End the program if Python would import another shuffledp than the copy."""
    env = os.environ | {"PYTHONPATH": str(src), "PYTHONDONTWRITEBYTECODE": "1"}
    code = "import importlib.util as u; print(u.find_spec('shuffledp').origin)"
    found = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(found).is_relative_to(src):
        sys.exit(f"the tests would import {found}, not the copy in {src}")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", type=Path, help="file under src to mutate")
    parser.add_argument("tests", nargs="*", help="test files (or any pytest arguments after --)")
    parser.add_argument("--limit", type=int, default=50, help="mutants tried at most (50)")
    parser.add_argument("--seed", type=int, default=0, help="which ones, if there are more (0)")
    parser.add_argument("--only", default="", help="kinds that contain this text, e.g. nextafter")
    parser.add_argument("--timeout", type=float, help="seconds; default: 10 + 5 undisturbed runs")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    return parser.parse_args()


def chosen(found: list[Mutant], limit: int, seed: int) -> list[Mutant]:
    """Draw at most `limit` of the mutants, the same ones for the same seed."""
    if len(found) <= limit:
        return found
    drawn = random.Random(seed).sample(found, limit)  # noqa: S311, nothing secret
    return sorted(drawn, key=lambda mutant: mutant.line)


def main() -> int:
    """Mutate, test, report."""
    args = arguments()
    module = args.module.resolve()
    found = mutants(module.read_text(encoding="utf-8"), args.only)
    tried = chosen(found, args.limit, args.seed)
    print(f"{args.module}: {len(found)} mutants, {len(tried)} tried (seed {args.seed})")
    if args.list:
        print(*tried, sep="\n")
        return 0

    with tempfile.TemporaryDirectory() as scratch:
        src = Path(scratch).resolve() / "src"
        shutil.copytree(ROOT / "src", src, ignore=shutil.ignore_patterns("__pycache__"))
        target = src / module.relative_to(ROOT / "src")
        check_copy_is_used(src)
        passed, seconds, printed = run_tests(src, args.tests, None)
        if not passed:
            print(printed, "the tests fail without any mutation", sep="\n")
            return 2
        timeout = args.timeout or 10 + 5 * seconds
        survivors = []
        for number, mutant in enumerate(tried, 1):
            target.write_text(mutant.source, encoding="utf-8")
            alive, seconds, _ = run_tests(src, args.tests, timeout)
            if alive:
                survivors.append(mutant)
                print(f"SURVIVED {mutant}")
            elif sys.stdout.isatty():
                print(f"{number}/{len(tried)} killed in {seconds:.1f} s", end="\r")
    print(f"{len(tried) - len(survivors)} killed, {len(survivors)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
