"""The site: all pages in its contents, all public names in its reference, notebooks that run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools import build_docs as site

import shuffledp as sd

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "docs" / "notebooks"
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def pages():
    return site.written()


def test_contents_name_every_page(pages):
    assert not set(site.copied()) - site.listed()
    there = {*pages, *site.copied()}
    named = {page for group in site.CONTENTS.values() for page in group}
    assert not named - there
    for name in site.NOTEBOOKS:
        assert f"\n{name}\n" in (NOTEBOOKS / "index.md").read_text()
    trees = "".join(pages[page] for page in ("reference/index", "mechanisms/index"))
    for page in set(pages) - named - {"index"}:
        assert f"/{page}\n" in trees, page


def test_every_public_name_is_in_the_reference(pages):
    found = site.referenced()
    assert not [name for name in sd.__all__ if f"shuffledp.{name}" not in found]
    for module, names in site.modules().items():
        assert not [name for name in names if f"{module}.{name}" not in found]
    assert {"shuffledp.protocol", "shuffledp.audit", "shuffledp.certificate"} <= {*site.modules()}


def test_every_mechanism_and_command_has_its_place(pages):
    for name in (*sd.randomizer_names(), *sd.protocol_names()):
        assert f"]({name}.md)" in pages["mechanisms/index"]
        assert pages[f"mechanisms/{name}"].startswith(f"# {name}\n")
    assert "- gamma: 0.1572" in pages["mechanisms/k-rr"]
    for name in site.command_line.places:
        assert f"## shuffledp {name}\n" in pages["reference/command-line"]


def test_what_leads_nowhere_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">x</a><a href="b.html#gone">x</a><a href="c.html">x</a>'
        '<a href="https://elsewhere.example/">x</a><script src="https://cdn.example/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><a href="#there">x</a><img src="no.png">')
    assert site.broken(tmp_path) == [
        "a.html: loads https://cdn.example/x.js",
        "a.html: b.html#gone has no such place",
        "a.html: c.html is not there",
        "b.html: no.png is not there",
    ]


@pytest.mark.parametrize("name", site.NOTEBOOKS)
def test_notebooks_are_text(name):
    text = (NOTEBOOKS / f"{name}.md").read_text()
    assert text.startswith("---\nfile_format: mystnb\n")
    assert len(CELL.findall(text)) >= 7
    for cell in CELL.findall(text):
        compile(cell, name, "exec")


# The reviewer's takes three seconds, the others ten and more.
SLOW = [pytest.param(name, marks=pytest.mark.long) for name in site.NOTEBOOKS if name != "reviewer"]


@pytest.mark.parametrize("name", ["reviewer", *SLOW])
def test_notebooks_run(name, tmp_path):
    code = "\n".join(CELL.findall((NOTEBOOKS / f"{name}.md").read_text()))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,  # twice what they may take on a machine of their own
    )
    assert done.returncode == 0, done.stderr
    if name == "reviewer":
        assert "NOT VERIFIED: " in done.stdout  # the forged one
