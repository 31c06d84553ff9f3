"""The documentation as a site: lay out its pages, build them with Sphinx, check every local link.

    python -m tools.build_docs [--out out/site]

Pages of docs/ are copied as they are; the start is README.md; a page for each mechanism, each group
of public names and the command line is written from the package itself.
"""

from __future__ import annotations

import argparse
import html.parser
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
from bench import cases

import shuffledp as sd
from shuffledp.cli import main as command_line
from shuffledp.mechanism.base import mechanism_class

ROOT = Path(__file__).resolve().parent.parent
# What pages link to or show, beside themselves.
BESIDE = ("docs", "examples", "LICENSE", "CITATION.cff", "CONTRIBUTING.md", "CHANGELOG.md")
CONTENTS = {
    "Begin": ("docs/guide", "docs/tutorial", "docs/notebooks/index"),
    "Look up": ("reference/index", "reference/command-line", "mechanisms/index", "docs/mechanisms"),
    "Understand": (
        "docs/certified",
        "docs/ends-that-meet",
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
    "Evidence": ("docs/papers", "docs/audits"),
    "The project": ("docs/architecture", "CONTRIBUTING", "CHANGELOG"),
}
NOTEBOOKS = ("reviewer", "engineer", "researcher", "data-scientist")
# The package's own names by what they are for; mechanisms have pages of their own.
GROUPS = {
    "Accounting": (
        *("shuffle", "Account", "Bound", "Theorem", "generic"),
        *("ratios", "variation_ratio", "analyses", "Analysis", "Comparison"),
        *("Shuffler", "AddedNoise"),
    ),
    "Rounds and training": (*("compose", "Composed", "central", "sgd", "SGD"),),
    "Solving for a parameter": ("calibrate", "Calibration"),
    "Choosing and running": (
        *("plan", "Plan"),
        *("survey", "Survey", "Surveys"),
    ),
    "Estimates without a certificate": ("shuffle_index", "ShuffleIndex", "Estimate"),
    "Building blocks": (
        *("Randomizer", "MultiMessage", "WorstPairs", "Density"),
        *("randomizer_names", "randomizer_from_dict", "protocol_names", "protocol_from_dict"),
    ),
    "Errors and version": ("ShuffleDPError", "ParameterError", "NotCertified", "__version__"),
}
# Bases whose methods say nothing of ours.
_BASES = "list, tuple, dict, object, BaseModel, ABC, Exception"


def mechanisms() -> dict[str, type]:
    """Every class with a name on the command line."""
    found: dict[str, type] = {name: mechanism_class(name) for name in sd.randomizer_names()}
    return found | {name: mechanism_class(name) for name in sd.protocol_names()}


def modules() -> dict[str, tuple[str, ...]]:
    """Public modules below the package, with those of their names that are not the package's."""
    found = {}
    for info in pkgutil.iter_modules(sd.__path__):
        if info.name.startswith("_") or info.name == "cli":
            continue
        module = importlib.import_module(f"shuffledp.{info.name}")
        if not inspect.ismodule(module):
            module = sys.modules[f"shuffledp.{info.name}"]
        names = getattr(module, "__all__", ())
        own = tuple(n for n in names if getattr(sd, n, None) is not getattr(module, n))
        if own:
            found[module.__name__] = own
    return found


def written() -> dict[str, str]:
    """Pages that are made, by their path without an ending."""
    pages = {"index": _start(), "reference/command-line": _commands()}
    pages |= dict(_mechanism_pages())
    pages |= dict(_reference_pages())
    return pages


def copied() -> list[str]:
    """Pages of the repository, without an ending."""
    docs = [path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")]
    return ["CONTRIBUTING", "CHANGELOG", *sorted(str(path.with_suffix("")) for path in docs)]


def listed() -> set[str]:
    """Pages that a table of contents names, the start excepted."""
    found = {page for pages in CONTENTS.values() for page in pages}
    found |= {f"docs/notebooks/{name}" for name in NOTEBOOKS}
    made = {page for page in written() if "/" in page}
    return found | made


def referenced() -> set[str]:
    """Names that the reference documents, with their module."""
    text = "\n".join(page for page in written().values())
    return set(re.findall(r"^\.\. (?:auto|py:)\w+:: (\S+)$", text, re.MULTILINE))


# ------------------------------------------------------------------------------------- pages


def _toctree(title: str, pages: tuple[str, ...], *, hidden: bool = True) -> str:
    options = f":caption: {title}\n:maxdepth: 1\n" + ":hidden:\n" * hidden
    return "```{toctree}\n" + options + "\n" + "\n".join(pages) + "\n```\n"


def _start() -> str:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return readme + "\n" + "\n".join(_toctree(title, pages) for title, pages in CONTENTS.items())


def _auto(kind: str, name: str, *options: str) -> str:
    lines = [f".. auto{kind}:: {name}", *(f"   {option}" for option in options)]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```\n"


def _documented(module: str, name: str) -> str:
    """The directive for a name, whatever it is."""
    value = getattr(importlib.import_module(module), name, None)
    if value is None or module == "shuffledp":
        value = getattr(sys.modules[module], name)
    full = f"{module}.{name}"
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        own = all(base.__module__.startswith("shuffledp") for base in _bases(value))
        return _auto(kind, full, *([f":inherited-members: {_BASES}"] if own else []))
    if inspect.isroutine(value):
        return _auto("function", full)
    if inspect.ismodule(value):
        return _auto("module", full)
    # A value has no docstring of its own; its type's would say what a dict is.
    text_of = f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else ""
    words = text_of if text_of and not isinstance(value, str) else repr(value)
    text = f".. py:data:: {full}\n\n   {words}"
    return "```{eval-rst}\n" + text + "\n```\n"


def _bases(value: type) -> list[type]:
    """Classes whose methods are inherited, those left out that say nothing of ours."""
    return [base for base in value.__mro__ if base.__name__ not in _BASES.split(", ")]


def _reference_pages() -> Iterator[tuple[str, str]]:
    pages = []
    for title, names in GROUPS.items():
        page = "reference/" + title.lower().replace(" ", "-")
        pages.append(page)
        yield page, f"# {title}\n\n" + "\n".join(_documented("shuffledp", n) for n in names)
    for module, names in modules().items():
        page = f"reference/{module}"
        pages.append(page)
        words = (sys.modules[module].__doc__ or "").strip().split("\n\n")[0]
        body = "\n".join(_documented(module, name) for name in names)
        yield page, f"# {module}\n\n{_prose(words)}\n\n{body}"
    words = (
        "Every public name, from its docstring. Numbers with a meaning are keywords; eps is in "
        "nats, n counts users. Mechanisms have [pages of their own](../mechanisms/index.md)."
    )
    tree = _toctree("Names", tuple(f"/{page}" for page in pages), hidden=False)
    yield "reference/index", f"# Reference\n\n{words}\n\n{tree}"


def _mechanism_pages() -> Iterator[tuple[str, str]]:
    examples, rows = cases.tabulated(), _measured()
    lines = []
    for name, cls in mechanisms().items():
        summary = getattr(cls, "summary", "") or (cls.__doc__ or "").strip().splitlines()[0]
        lines.append(f"| [{name}]({name}.md) | `{cls.__name__}` | {_prose(summary)} |")
        parts = [f"# {name}", _prose(summary) + "."]
        known = [label for label in examples if label.split(" ")[0] == name]
        for label in known:
            parts.append(f"```python\n{_code(repr(examples[label]))}\n```")
            if label in rows:
                parts.append(rows[label])
        parts.append(f"`shuffledp epsilon {name} --help` lists its parameters on the command line.")
        base = "MultiMessage" if name in sd.protocol_names() else "Randomizer"
        kin = f"What every mechanism has: {base}, among the [building blocks]"
        parts.append(f"{kin}(../reference/building-blocks.md).")
        parts.append(_auto("class", f"shuffledp.{cls.__name__}"))
        yield f"mechanisms/{name}", "\n\n".join(parts)
    words = "Local randomizers, and protocols of several messages a user, by their names in files."
    table = "| name | class | what a user sends |\n| --- | --- | --- |\n" + "\n".join(lines)
    pages = tuple(f"/mechanisms/{name}" for name in mechanisms())
    tree = _toctree("Mechanisms", pages)
    yield "mechanisms/index", f"# Each mechanism\n\n{words}\n\n{table}\n\n{tree}"


def _measured() -> dict[str, str]:
    """The rows of the central eps in docs/mechanisms.md, each as a list."""
    text = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    measured = text.partition("## Central eps")[2]
    table = [line.strip("| ").split("|") for line in measured.splitlines() if line.startswith("| ")]
    head, _, *rows = [[cell.strip() for cell in line] for line in table]
    found = {}
    for label, _, *cells in rows:
        pairs = zip(head[2:], cells, strict=True)
        found[label] = "\n".join(f"- {key}: {value}" for key, value in pairs if value)
    return found


def _commands() -> str:
    parts = ["# Command line", "What `shuffledp COMMAND --help` says."]
    chosen: list[tuple[str, click.Command]] = [("shuffledp", command_line)]
    root = click.Context(command_line)
    found = {name: command_line.get_command(root, name) for name in command_line.places}
    chosen += [(f"shuffledp {name}", command) for name, command in found.items() if command]
    for name, command in chosen:
        context = click.Context(command, info_name=name, max_content_width=100, terminal_width=100)
        parts += [f"## {name}", f"```text\n{command.get_help(context)}\n```"]
    return "\n\n".join(parts)


def _prose(text: str) -> str:
    """A docstring's words as Markdown."""
    return re.sub(r"([*_|<])", r"\\\1", text.replace("``", "`"))


def _code(text: str) -> str:
    return f"sd.{text}"


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


def build(out: Path) -> Path:
    """The folder of this version's pages; SystemExit where Sphinx has a warning."""
    source, pages = out / "source", out / "html" / sd.__version__
    lay_out(source)
    shutil.rmtree(pages, ignore_errors=True)
    words = ["-b", "html", "-W", "--keep-going", "-q", "-c", ROOT / "docs", "-d", out / "trees"]
    command = [sys.executable, "-m", "sphinx", *map(str, words), str(source), str(pages)]
    # Without a backend of their own, so that notebooks show their pictures.
    environment = {key: value for key, value in os.environ.items() if key != "MPLBACKEND"}
    environment["PYTHONWARNINGS"] = "ignore"
    done = subprocess.run(command, check=False, env=environment)
    if done.returncode:
        sys.exit(done.returncode)
    versions = sorted(path.name for path in (out / "html").iterdir() if path.is_dir())
    links = "".join(f'<li><a href="{v}/index.html">{v}</a></li>' for v in reversed(versions))
    first = f'<meta http-equiv="refresh" content="0; url={sd.__version__}/index.html">'
    page = f"<!doctype html><html lang=en><head>{first}<title>shuffledp</title></head>"
    (out / "html" / "index.html").write_text(f"{page}<body><ul>{links}</ul></body></html>\n")
    return pages


class _Links(html.parser.HTMLParser):
    """Where a page's links lead, what it loads, and which anchors it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect."""
        found = {key: value for key, value in attrs if value}
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        if tag == "a" and "href" in found:
            self.links.add(found["href"])
        elif "src" in found or (tag == "link" and "href" in found):
            self.loads.add(found.get("src") or found["href"])


def broken(pages: Path) -> list[str]:
    """Local links that lead nowhere, and whatever is loaded from elsewhere."""
    pages, read = pages.resolve(), {}
    for path in sorted(pages.rglob("*.html")):
        read[path] = _Links()
        read[path].feed(path.read_text(encoding="utf-8"))
    found = []
    for path, page in read.items():
        where = path.relative_to(pages)
        far = [one for one in page.loads if urlsplit(one).netloc]
        found += [f"{where}: loads {one}" for one in far]
        for link in sorted(page.links | page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            there = read.get(target)
            if not target.exists():
                found.append(f"{where}: {link} is not there")
            elif there and parts.fragment and unquote(parts.fragment) not in there.anchors:
                found.append(f"{where}: {link} has no such place")
    return found


def main() -> None:
    """Build, and check the links."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "site")
    out = parser.parse_args().out.resolve()
    pages = build(out)
    if wrong := broken(pages):
        print("\n".join(wrong), file=sys.stderr)
        sys.exit(f"{len(wrong)} links lead nowhere")
    print(f"{len(list(pages.rglob('*.html')))} pages in {pages}")


if __name__ == "__main__":
    main()
