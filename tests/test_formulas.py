"""Formulas of the theory pages on the site: the same signs in the same order, or plain text."""

import html
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tools import formulas

PAGES = sorted((Path(__file__).resolve().parent.parent / "docs").glob("theory*.md"))
SYMBOLS = {
    **{symbol: name for name, symbol in formulas._GREEK.items() if name != "eps"},
    **{symbol: word for word, symbol in formulas._LARGE.items() if word != "integral"},
    **{symbol: word for word, symbol in formulas._SIGNS.items() if word != ".."},
    "ε": "eps",
    "′": "'",
}
# What only says where things stand, and is shown by where they stand.
LAYOUT = re.compile(r"[\s_^(){}]|sqrt")


def signs(text):
    """The signs of a formula as it is written, one after the other."""
    text = text.replace("epsilon", "eps").replace("integral", "int").replace("...", "..")
    text = re.sub(r"(\d)e([+-]?\d+)", r"\1*10\2", text)
    return LAYOUT.sub("", re.sub(r"(?<![\d.])1\*10", "10", text))


def signs_of(mathml):
    """The same of what is shown."""
    text = html.unescape(re.sub(r"<[^>]*>", "", mathml))
    words = "".join(SYMBOLS.get(mark, mark) for mark in text)
    return LAYOUT.sub("", words.replace("...", ".."))


def spans(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    found = [" ".join(x.split()) for x in re.findall(r"(?<!`)`([^`]+)`(?!`)", text)]
    return [span.replace(r"\|", "|") for span in found], re.findall(
        r"^    (\S.*)$", text, re.MULTILINE
    )


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_no_sign_is_lost_or_moved(page):
    inline, displayed = spans(page)
    made = [(span, formulas.mathml(span)) for span in [*inline, *displayed]]
    for span, found in made:
        if found is not None:
            ET.fromstring(found)
            # A hat is written behind what it stands on, and shown there as well.
            assert signs_of(found).replace("^", "") == signs(span), span
    assert all(found for _, found in made[len(inline) :])
    # What is left as it is are names of modules and options.
    left = [span for span, found in made if found is None and re.search(r"[=<>+^]", span)]
    assert len(left) <= 0.02 * len(made) + 3, left


EPS0, X_1 = "<msub><mi>ε</mi><mn>0</mn></msub>", "<msub><mi>x</mi><mrow><mn>1</mn></mrow></msub>"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("e^-eps0/2", f"<msup><mi>e</mi><mrow><mo>−</mo>{EPS0}</mrow></msup><mo>/</mo><mn>2</mn>"),
        ("2^(n-1)", "<msup><mn>2</mn><mrow><mi>n</mi><mo>−</mo><mn>1</mn></mrow></msup>"),
        ("x^(i)", "<msup><mi>x</mi><mrow><mo>(</mo><mi>i</mi><mo>)</mo></mrow></msup>"),
        ("a^", '<mover accent="true"><mi>a</mi><mo>^</mo></mover>'),
        ("E_+", "<msub><mi>E</mi><mrow><mo>+</mo></mrow></msub>"),
        ("c^- <= 1", "<msup><mi>c</mi><mrow><mo>−</mo></mrow></msup><mo>≤</mo><mn>1</mn>"),
        ("sqrt(n b)", '<msqrt><mrow><mi>n</mi><mspace width="0.2em"/><mi>b</mi></mrow></msqrt>'),
        ("2e-7", "<mn>2</mn><mo>·</mo><msup><mn>10</mn><mrow><mo>−</mo><mn>7</mn></mrow></msup>"),
        ("x_1'^2", f"<msup><msup>{X_1}<mo>′</mo></msup><mrow><mn>2</mn></mrow></msup>"),
        (
            "w^0_l",
            "<msub><msup><mi>w</mi><mrow><mn>0</mn></mrow></msup><mrow><mi>l</mi></mrow></msub>",
        ),
        ("aR1", "<mrow><mi>a</mi><msub><mi>R</mi><mn>1</mn></msub></mrow>"),
    ],
)  # fmt: skip
def test_what_is_made_of_a_formula(text, made):
    assert formulas.mathml(text) == f"<math><mrow>{made}</mrow></math>"


@pytest.mark.parametrize(
    "text",
    ["sd.shuffle", "generic", "divergence.lattice", 'view="sums"', "log_excess(x)", "e^x^2",
     "e^x_l", "e^x'", "(a_",
     "_x", "x_{1", "sqrt", "f(x,y)é", "rounds", "--out", "OUE"],
)  # fmt: skip
def test_what_is_no_formula_stays(text):
    assert formulas.mathml(text) is None


def test_a_page_keeps_its_fences_tables_and_prose():
    text = (
        "`a < b` and ``code``, `sd.plan`\n\n    x <= y\n\n```\n`a < b`\n    c <= d\n```\n"
        "| `P(a \\| b)` | x |\n\n```toml\nx = 1\n```\n```\ny = 1\n```\n\n    not a formula: é"
    )
    found = formulas.page(text)
    lines = found.split("\n")
    assert lines[0].startswith("<math><mrow><mi>a</mi><mo>&#60;</mo><mi>b</mi>")
    assert lines[0].endswith(" and ``code``, `sd.plan`")
    assert lines[2] == "<div>"
    assert lines[3].startswith('<math display="block">')
    assert "```\n`a < b`\n    c <= d\n```" in found
    assert "```toml\nx = 1\n```\n<div>\n" in found
    assert "<mi>y</mi><mo>=</mo><mn>1</mn>" in found
    (row,) = (line for line in lines if line.startswith("|"))
    assert "&#124;" in row
    assert "\\|" not in row
    assert lines[-1] == "    not a formula: é"


def test_a_span_may_go_on_in_the_next_line():
    found = formulas.page("of `a\n<= b` and `c`")
    assert "`" not in found
    assert found.count("<math>") == 2
    assert formulas.page("of `sd.a\nb` and `c`").startswith("of `sd.a\nb` and <math>")


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_no_formula_is_made_inside_another_or_in_code(page):
    found = formulas.page(page.read_text())
    for part in re.findall(
        r"`[^`]*`", re.sub(r"^```.*?^```", "", found, flags=re.DOTALL | re.MULTILINE)
    ):
        assert "<m" not in part
    assert found.count("<math") == found.count("</math>")
