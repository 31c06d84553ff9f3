"""The site: all pages in its contents, all public names in its reference, notebooks that run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools import build_docs as site

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "docs" / "notebooks"
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def pages():
    return site.written()


def test_contents_name_every_page(pages):
    named = {page for group in site.CONTENTS.values() for page in group}
    named |= {f"docs/notebooks/{name}" for name in site.NOTEBOOKS}
    assert set(site.copied()) <= named <= {*pages, *site.copied()}
    for name in site.NOTEBOOKS:
        assert f"\n{name}\n" in (NOTEBOOKS / "index.md").read_text()
    trees = "".join(pages[page] for page in ("reference/index", "mechanisms/index"))
    for page in set(pages) - named - {"index"}:
        assert f"/{page}\n" in trees, page


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
