"""The documentation as a site: lay out its pages, and build them with Sphinx.

    python -m tools.build_docs [--out out/site]

Pages of docs/ are copied as they are; the start is README.md; a page for each mechanism, each
public module and the command line is written from the package itself. A warning of Sphinx, a local
link that leads nowhere included, is an error.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from bench import cases

import shuffledp as sd
from shuffledp.cli import main as command_line
from shuffledp.mechanism.base import mechanism_class

ROOT = Path(__file__).resolve().parent.parent
# What pages link to or show, beside themselves.
BESIDE = ("docs", "examples", "LICENSE", "CITATION.cff", "CONTRIBUTING.md", "CHANGELOG.md")
CONTENTS = {
    "Start here": ("docs/tutorial",),
    "How to": (
        "docs/howto-bound",
        "docs/howto-mechanism",
        "docs/howto-own",
        "docs/howto-deployment",
        "docs/howto-data",
        "docs/howto-compare",
        "docs/howto-rounds",
        "docs/howto-sums",
        "docs/howto-shufflers",
        "docs/audits",
    ),
    "Mechanisms": ("docs/mechanisms", "mechanisms/index"),
    "Understand": ("docs/certified", "docs/supported", "docs/ends-that-meet"),
    "Theory": (
        "docs/theory",
        "docs/theory-stealing",
        "docs/theory-binary",
        "docs/theory-composition",
        "docs/theory-sums",
        "docs/theory-batches",
        "docs/theory-crowds",
        "docs/theory-shufflers",
        "docs/theory-noise",
        "docs/theory-parts",
        "docs/theory-audit",
    ),
    "Papers": ("docs/papers",),
    "Reference": ("reference/index", "reference/command-line"),
    "The project": ("docs/architecture", "CONTRIBUTING", "CHANGELOG"),
}


def mechanisms() -> dict[str, type]:
    """Every class with a name on the command line."""
    return {name: mechanism_class(name) for name in (*sd.randomizer_names(), *sd.protocol_names())}


def modules() -> dict[str, list[str]]:
    """Public modules, with those of their names that are documented elsewhere."""
    found = {"shuffledp": [cls.__name__ for cls in mechanisms().values()]}
    for info in pkgutil.iter_modules(sd.__path__):
        module = importlib.import_module(f"shuffledp.{info.name}")
        names = getattr(module, "__all__", ())
        known = [name for name in names if getattr(sd, name, None) is getattr(module, name)]
        if not info.name.startswith("_") and info.name != "cli" and len(known) < len(names):
            found[module.__name__] = known
    return found


def written() -> dict[str, str]:
    """Pages that are made, by their path without an ending."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    trees = [_tree(title, pages) for title, pages in CONTENTS.items()]
    pages = {"index": "\n".join([readme, *trees]), "reference/command-line": _commands()}
    return pages | dict(_mechanism_pages()) | dict(_reference_pages())


def copied() -> list[str]:
    """Pages of the repository, without an ending."""
    docs = [path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")]
    return ["CONTRIBUTING", "CHANGELOG", *sorted(str(path.with_suffix("")) for path in docs)]


# ------------------------------------------------------------------------------------- pages


def _tree(title: str, pages: tuple[str, ...], options: str = ":hidden:\n") -> str:
    names = "\n".join(f"/{page}" for page in pages)
    return f"```{{toctree}}\n:caption: {title}\n:maxdepth: 1\n{options}\n{names}\n```\n"


def _auto(kind: str, name: str, *options: str) -> str:
    lines = [f".. auto{kind}:: {name}", *(f"   {option}" for option in options)]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```\n"


def _reference_pages() -> Iterator[tuple[str, str]]:
    for module, known in modules().items():
        elsewhere = [f":exclude-members: {', '.join(known)}"] if known else []
        yield f"reference/{module}", f"# {module}\n\n{_auto('module', module, *elsewhere)}"
    words = (
        "Every public name, from its docstring. Numbers with a meaning are keywords; eps is in "
        "nats, n counts users. Mechanisms have [pages of their own](../mechanisms/index.md)."
    )
    tree = _tree("Modules", tuple(f"reference/{module}" for module in modules()), "")
    yield "reference/index", f"# Reference\n\n{words}\n\n{tree}"


def _mechanism_pages() -> Iterator[tuple[str, str]]:
    examples, rows = cases.tabulated(), _measured()
    for name, cls in mechanisms().items():
        summary = getattr(cls, "summary", "") or (cls.__doc__ or "").strip().splitlines()[0]
        summary = re.sub(r"([*_|<])", r"\\\1", summary.replace("``", "`"))
        parts = [f"# {name}", f"{summary}."]
        for label in (label for label in examples if label.split(" ")[0] == name):
            parts += [f"```python\nsd.{examples[label]!r}\n```", rows.get(label, "")]
        parts.append(f"`shuffledp epsilon {name} --help` lists its parameters on the command line.")
        yield (
            f"mechanisms/{name}",
            "\n\n".join([*parts, _auto("class", f"shuffledp.{cls.__name__}")]),
        )
    tree = _tree("Mechanisms", tuple(f"mechanisms/{name}" for name in mechanisms()), "")
    yield "mechanisms/index", f"# Each mechanism\n\nBy its name in files.\n\n{tree}"


def _measured() -> dict[str, str]:
    """The rows of the central eps in docs/mechanisms.md, each as a list."""
    text = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    measured = text.partition("## Central eps")[2]
    table = [line.strip("| ").split("|") for line in measured.splitlines() if line.startswith("| ")]
    head, _, *rows = [[cell.strip() for cell in line] for line in table]
    return {
        label: "\n".join(f"- {k}: {v}" for k, v in zip(head[2:], cells, strict=True) if v)
        for label, _, *cells in rows
    }


def _commands() -> str:
    parts = ["# Command line", "What `shuffledp COMMAND --help` says."]
    root = click.Context(command_line)
    found = {name: command_line.get_command(root, name) for name in command_line.places}
    for name, command in {"": command_line, **found}.items():
        assert command is not None
        title = f"shuffledp {name}".strip()
        context = click.Context(command, info_name=title, max_content_width=100, terminal_width=100)
        parts += [f"## {title}", f"```text\n{command.get_help(context)}\n```"]
    return "\n\n".join(parts)


# ------------------------------------------------------------------------------------ building


def lay_out(source: Path) -> None:
    """All pages and what they show, as Sphinx reads them."""
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for name in BESIDE:
        path = ROOT / name
        copy = shutil.copytree if path.is_dir() else shutil.copy2
        copy(path, source / name)
    for page, text in written().items():
        path = source / f"{page}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Build; SystemExit where Sphinx has a warning."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "site")
    out = parser.parse_args().out.resolve()
    lay_out(out / "source")
    shutil.rmtree(out / "html", ignore_errors=True)
    words = ["-b", "html", "-W", "--keep-going", "-q", "-c", ROOT / "docs", "-d", out / "trees"]
    command = [sys.executable, "-m", "sphinx", *map(str, [*words, out / "source", out / "html"])]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, check=False, env=environment)
    if done.returncode:
        sys.exit(done.returncode)
    print(f"{len(list((out / 'html').rglob('*.html')))} pages in {out / 'html'}")


if __name__ == "__main__":
    main()
