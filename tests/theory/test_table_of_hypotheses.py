"""docs/theory.md, section 8: a row for every path to a certified end, and what it names exists."""

import importlib
import re
from pathlib import Path

import shuffledp as sd
from shuffledp import theorems
from shuffledp.amplification.analyses import analyses
from shuffledp.bound import Theorem

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
SECTION = TEXT[TEXT.index("## 8. Theorem, hypotheses") : TEXT.index("## 10. Limits")]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("|") and not line.startswith("|---")
]
KEYS = [key for row in ROWS for key in re.findall(r"`([a-z0-9.-]+)`", row[0])]


def certifying():
    """Keys of all theorems."""
    return {t.key for t in vars(theorems).values() if isinstance(t, Theorem)}


def test_every_path_has_one_row_and_every_row_is_a_path():
    assert sorted(KEYS) == sorted(certifying())
    assert {a.key for a in analyses()} <= set(KEYS)


def test_rows_are_complete():
    for row in ROWS:
        assert len(row) == 4
        assert all(row)


def resolves(name):
    """Whether shuffledp.<name> is a module, or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(["shuffledp", *parts[:cut]]))
        except ImportError:
            continue
        for attribute in parts[cut:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


def test_what_the_rows_name_exists():
    names = {
        name
        for row in ROWS[1:]
        for name in re.findall(r"`([A-Za-z_][\w]*(?:\.\w+)+)`", row[3])
        if not name.startswith("Randomizer.")
    }
    assert len(names) > 50
    missing = sorted(name for name in names if not resolves(name))
    assert not missing
    for name in re.findall(r"`Randomizer\.(\w+)`", SECTION):
        assert hasattr(sd.randomizers.Randomizer, name)


def test_theorems_cited_stand_in_the_text():
    """Numbers in the second column are statements of the pages they are said to be of."""
    names = ("parts", "noise", "crowds", "shufflers", "sums", "binary", "stealing", "audit")
    files = {name: f"theory-{name}.md" for name in (*names, "composition", "batches")}
    pages = {name: (ROOT / "docs" / file).read_text("utf-8") for name, file in files.items()}
    pages[""] = TEXT
    count = 0
    for row in ROWS:
        page = ""
        words = "|".join([*filter(None, pages), "[A-Z][A-Za-z]+", r"\d+\.\d+[ab]?"])
        for word in re.findall(words, row[1]):
            if word in pages:
                page = word
            elif not word[0].isdigit():
                page = None
            elif page is not None:
                pattern = rf"\*\*(Theorem|Lemma|Corollary|Remark|Proposition) {re.escape(word)}\b"
                assert re.search(pattern, pages[page]), (row[0], word)
                count += 1
    assert count > 50


CITED = re.compile(
    r"theory(?:-(\w+))?\.md,? (?:Theorem|Lemma|Corollary|Remark|Proposition)s? "
    r"((?:\d+\.\d+[ab]?|R\d)(?:(?:, | and )(?:Theorem |Lemma )?\d+\.\d+[ab]?)*)"
)
SECTIONS = re.compile(r"theory(?:-(\w+))?\.md,? sections? (\d+(?:\.\d+)?)")


def test_what_the_code_cites_stands_in_the_pages():
    """Statements and sections of docs/theory*.md that a docstring or a comment names."""
    pages = {path.stem: path.read_text("utf-8") for path in (ROOT / "docs").glob("theory*.md")}
    missing, count = [], 0
    for path in (ROOT / "src").rglob("*.py"):
        text = re.sub(r"\s*\n\s*#?\s*", " ", path.read_text("utf-8")).replace('" "', "")
        for name, numbers in CITED.findall(text):
            page = pages[f"theory-{name}" if name else "theory"]
            for number in re.findall(r"\d+\.\d+[ab]?|R\d", numbers):
                count += 1
                if not re.search(rf"\*\*(?!Definition)\w+ {re.escape(number)}\b", page):
                    missing.append((path.name, name, number))
        for name, number in SECTIONS.findall(text):
            page = pages[f"theory-{name}" if name else "theory"]
            count += 1
            if not re.search(rf"^##+ {re.escape(number)}\b", page, re.MULTILINE):
                missing.append((path.name, name, number))
    assert not missing
    assert count > 100
