"""Tables and outputs that README.md and docs/ show, written by the library itself.

In README.md, docs/certified.md and docs/supported.md what stands between ``<!-- made: name -->``
and ``<!-- end -->`` is replaced; docs/mechanisms.md is written as a whole.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from papers.printed.rows import ends

import shuffledp as sd
from bench import cases
from bench.measure import table
from shuffledp.accounts import supported
from shuffledp.mechanism.base import mechanism_class

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- made: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
COMMAND = "shuffledp epsilon k-rr --k 10 --eps0 4 -n 10000 --delta 1e-6"

MECHANISMS = """\
# Mechanisms

Written by `make figures` from the library; do not edit.

{summary}

`help(sd.KRR)` has the definition, the blanket and the form of the reports;
`shuffledp epsilon k-rr --help` lists the parameters. For a mechanism that is not in the table,
`generic(eps0=..., n=...)` holds for any eps0-LDP randomizer, and `Channel` and `Density` take a
matrix or a density.

## Central eps

Central eps at delta = {delta:g} with n users, as a certified bracket, rounded outward to four
digits. Bits are those of one message. The variance is per user, of the unbiased estimate of a
frequency of 0, of a mean at the worst value, or of one coordinate of a mean vector; divided by n it
is that of n users' estimate.

{table}

*Worst pair* is the theorem by which the computed pairs of inputs dominate all others, in both
directions: its key in section 8 of [theory.md](theory.md). With `trust="published"`, upper ends
that rest on one that is proved there alone are left out.
"""


def write() -> list[Path]:
    """Write all of it; the paths of the files."""
    mechanisms = ROOT / "docs" / "mechanisms.md"
    mechanisms.write_text(mechanisms_page(), encoding="utf-8")
    pages = [ROOT / "README.md", ROOT / "docs" / "certified.md", ROOT / "docs" / "supported.md"]
    for page in pages:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    return [mechanisms, *pages]


def filled(text: str) -> str:
    """The text with every marked block made anew."""
    makers: dict[str, Callable[[], str]] = {
        "command": command_output,
        "analyses": analysis_table,
        "supported": supported.table,
    }
    return BLOCK.sub(lambda found: found[1] + makers[found[2]]() + "\n" + found[3], text)


def command_output() -> str:
    """The example of the command line and what it prints."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    words = COMMAND.split()
    words[0] = str(Path(sys.executable).with_name("shuffledp"))
    done = subprocess.run(words, check=True, text=True, capture_output=True, env=environment)
    lines = [line.rstrip() for line in done.stdout.rstrip().splitlines()]
    return "\n".join(["```console", f"$ {COMMAND}", *lines, "```"])


def mechanisms_page() -> str:
    """All of docs/mechanisms.md."""
    head = ["mechanism", "parameters", "bits", "variance", "eps, n = 1e4", "eps, n = 1e6"]
    rows = [[*head, "worst pair"]]
    for name, r in cases.tabulated().items():
        brackets = [_bracket(sd.shuffle(r, n=n)) for n in (10**4, 10**6)]
        why = f"`{r.worst_pairs().theorem.key}`"
        bits, variance = _or_none(lambda r=r: r.message_bits), _or_none(r.variance)
        rows.append([name, cases.words(r), bits, variance, *brackets, why])
    brackets = [_bracket(sd.generic(eps0=cases.EPS0, n=n)) for n in (10**4, 10**6)]
    why = "none needed"
    rows.append(["`generic`", f"any, eps0 = {cases.EPS0:g}", "", "", *brackets, why])
    return MECHANISMS.format(summary=mechanism_summary(), delta=cases.DELTA, table=table(rows))


def mechanism_summary() -> str:
    """One line a mechanism: class, name on the command line, what it is."""
    rows = [["class", "name", "what a user sends"]]
    rows += [
        [f"`{cls.__name__}`", f"`{cls.name}`", cls.summary]
        for cls in map(mechanism_class, sd.randomizer_names())
    ]
    return table(rows)


def analysis_table() -> str:
    """One line an analysis, with its theorem's provenance."""
    rows = [["analysis", "end", "provenance", "holds for"]]
    rows += [[f"`{a.key}`", a.end, a.theorem.provenance, a.validity] for a in sd.analyses()]
    return table(rows)


def _or_none(number: Callable[[], float]) -> str:
    """The number to three digits; a dash where the mechanism has none."""
    try:
        return f"{number():.3g}"
    except sd.NotCertified:
        return "-"


def _bracket(acc: sd.Account) -> str:
    return ends(acc.epsilon(delta=cases.DELTA))
