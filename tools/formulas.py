"""Formulas of the theory pages, written as text, as MathML: what browsers show without any script.

The pages are read as text where the code is hosted, so their formulas are plain: `e^-eps0/2`,
`sum_{j <= k} w_j`. On the site each becomes the same row of symbols, sign by sign and in the same
order, with scripts where `_` and `^` are; nothing is computed, and no fraction is made of a slash.
What does not read as a formula (names of modules, prose, code) stays what it is.
"""

from __future__ import annotations

import re

# Words of the formulas: Greek letters, what is written upright, and what is prose among symbols.
_NAMES = """alpha beta gamma delta eps epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau
phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"""
_UPRIGHT = """log exp max min sup inf sin cos tan cosh sinh tanh atan hypot erf erfc arg mod floor
ceil Re Im Var Cov Pr Bin Bern Poi TV lo hi lab low up top sp th fl av avr rg ur sig lam Lam kap
kbar Om Sh sh cx ref env den gap rel err reach rest chord lost mass mean law tent main end left conj
dist rank perp rk expm high al rem tot tail size down ones zero point bend angle"""
_PROSE = """of over for and or if else is the by at all not to so as with where from on both an no
that integers output outputs independent copies copy ordered unordered pairs pair transform line
shuffled admissible past kept first messages message keep their place places neighbours leave
order value tests test cut points group groups each one type types partitions others normal standard
convolution loss key sign view same neighbouring restricted identity even odd
last rounds round users user bits
number everything distinct fixed times uniform probability having under being event elsewhere then
either four entries also plain centred before after different blocks block upper lower blanket
repaired variation ratio stronger clone extended computed real logarithm scale likewise measure
every constant lie"""

_GREEK = dict(zip(_NAMES.split(), "αβγδεεζηθκλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ", strict=True))
_PLAIN, _WORDS = set(_UPRIGHT.split()), set(_PROSE.split())
_LARGE = {"sum": "∑", "prod": "∏", "int": "∫", "integral": "∫"}
_SIGNS = {
    "<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "<-": "←", "=>": "⇒", "||": "∥", "...": "…",
    "..": "…", "-": "−", "*": "·", "\\": "∖", "infinity": "∞", "in": "∈",
}  # fmt: skip
_TOKENS = re.compile(
    r"(?P<space>\s+)|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?P<word>[A-Za-z]+)"
    r"|(?P<sign><=|>=|!=|->|<-|=>|\|\||\.\.\.|\.\.|[-+*/=<>|(),;:!'~%&\[\]{}_^.\\])"
)
# So many spaces set things apart.
_WIDE = 3
# Dotted or quoted names, names of several words: code.
_CODE = re.compile(r'[A-Za-z]\.[A-Za-z_]|"|[A-Za-z]{2}\(|[a-z]{2,}_[a-z]{3,}|^--|::|==|\w=\w+,')
_CALLED = "|".join(sorted({*_PLAIN, *_GREEK, *_WORDS, *_LARGE, "sqrt"}))
_CALLS = re.compile(rf"(?<![A-Za-z])d?(?:{_CALLED})\(")
# Marks that Markdown would read between the tags of an inline formula.
_ESCAPED = {mark: f"&#{ord(mark)};" for mark in "<>&*_[]|~`\\!'\"."}


class _NoFormula(Exception):  # noqa: N818 (an answer, and no error)
    """The text is something else."""


def mathml(text: str, *, block: bool = False) -> str | None:
    """A formula as MathML, None where it is none.

    Parameters
    ----------
    text : str
        As it stands between backticks, or a line of a displayed formula.
    block : bool
        On a line of its own.
    """
    code = _CODE.search(_CALLS.sub("(", text)) or re.fullmatch(r"[A-Za-z]{2,}", text)
    if code and text not in _GREEK:
        return None
    try:
        row = _Reader(text).row(end=None)
    except _NoFormula:
        return None
    display = ' display="block"' if block else ""
    return f"<math{display}><mrow>{row}</mrow></math>"


def page(text: str) -> str:
    """A page with its formulas as MathML: code spans, and what stands on lines of its own.

    That is lines set in by four spaces, and those between fences that name no language.
    """
    found: list[str] = []
    lines = text.split("\n")
    while lines:
        line = lines.pop(0)
        if line.startswith("```"):
            block = []
            while lines and not lines[0].startswith("```"):
                block.append(lines.pop(0))
            ends = lines[:1]
            del lines[:1]
            made = _display(block) if line == "```" else None
            found += [line, *block, *ends] if made is None else [made]
        elif line.startswith("    ") and line.strip() and not (found and found[-1].strip()):
            block = [line]
            while lines and lines[0].startswith("    ") and lines[0].strip():
                block.append(lines.pop(0))
            found.append(_display(block) or "\n".join(block))
        else:
            block = [line]
            while line.strip() and lines and lines[0].strip() and not lines[0].startswith("```"):
                block.append(lines.pop(0))
            found.append(_spans("\n".join(block)))
    return "\n".join(found)


def _display(lines: list[str]) -> str | None:
    made = [mathml(line.strip(), block=True) for line in lines if line.strip()]
    if None in made or not made:
        return None
    return "<div>\n" + "\n".join(filter(None, made)) + "\n</div>"


def _spans(paragraph: str) -> str:
    """Of a paragraph, a list or a table: a span of code may go on in the next line."""
    table = paragraph.lstrip().startswith("|")

    def changed(found: re.Match[str]) -> str:
        text = " ".join(found[1].split()) if "\n" in found[1] else found[1]
        return mathml(text.replace(r"\|", "|") if table else text) or found[0]

    return re.sub(r"(?<!`)`([^`]+)`(?!`)", changed, paragraph)


def _escaped(text: str) -> str:
    return "".join(_ESCAPED.get(mark, mark) for mark in text)


class _Reader:
    """Tokens from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text):
            found = _TOKENS.match(text, place)
            if found is None:
                raise _NoFormula
            self._tokens.append((str(found.lastgroup), found[0]))
            place = found.end()
        self._place = 0

    def is_single(self) -> bool:
        """Whether it is one token."""
        return len(self._tokens) == 1

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._place] if self._place < len(self._tokens) else ("end", "")

    def _next(self) -> tuple[str, str]:
        found = self._peek()
        self._place += 1
        return found

    def row(self, end: str | None) -> str:
        """Everything up to a closing mark, which is passed over; to the end where there is none."""
        found, atom, gap = [], False, False
        while True:
            kind, text = self._peek()
            if kind == "end":
                if end is not None:
                    raise _NoFormula
                return "".join(found)
            if text == end:
                self._next()
                return "".join(found)
            if kind == "space":
                self._next()
                if len(text) >= _WIDE and found:
                    found.append('<mspace width="1em"/>')
                gap = True
                continue
            if kind == "sign" and text in "_^":
                raise _NoFormula
            item, is_atom = self._scripted()
            if atom and is_atom and gap:
                found.append('<mspace width="0.2em"/>')
            found.append(item)
            atom, gap = is_atom, False

    def _scripted(self) -> tuple[str, bool]:
        """The next symbol with its primes and scripts, and whether it is an operand."""
        item, is_atom = self._symbol()
        raised = False
        while self._peek()[1] in {"'", "_", "^"} and self._peek()[0] == "sign":
            mark = self._next()[1]
            if raised and mark == "^":  # of towers only whoever wrote them knows
                raise _NoFormula
            if mark == "'":
                item = f"<msup>{item}<mo>′</mo></msup>"
            elif mark == "^" and not self._is_script():
                item = f'<mover accent="true">{item}<mo>^</mo></mover>'
            else:
                raised = raised or mark == "^"
                tag = "msub" if mark == "_" else "msup"
                item = f"<{tag}>{item}<mrow>{self._script(item, mark)}</mrow></{tag}>"
        return item, is_atom

    def _is_script(self) -> bool:
        """Whether something stands above; a hat is the mark alone, x^ + 1 or |x^|."""
        kind, text = self._peek()
        return kind in {"word", "number"} or (kind == "sign" and text in {"{", "(", "+", "-", "*"})

    def _script(self, base: str, mark: str) -> str:
        kind, text = self._peek()
        if text == "{":
            self._next()
            return self.row(end="}")
        if text == "(":
            self._next()
            inner = self._matched()
            # x^(i) may be an index; of a power the size of the script says what parentheses do.
            keep = inner.is_single() and "<mi>e</mi>" not in base
            row = inner.row(end=None)
            return f"<mo>(</mo>{row}<mo>)</mo>" if keep else row
        if kind == "sign" and text in {"+", "-", "*", "."}:
            self._next()
            sign = f"<mo>{_escaped(_SIGNS.get(text, text))}</mo>"
            after = self._peek()
            joined = text != "." and (after[0] in {"word", "number"} or after[1] == "(")
            return sign + (self._tight(base, mark) if joined else "")
        return self._tight(base, mark)

    def _tight(self, base: str, mark: str) -> str:
        """One operand of a script. Behind it w^0_l has its own index, x_1' its own prime.

        What a further mark belongs to in e^x_l and e^x' only whoever wrote it knows.
        """
        if self._peek()[0] not in {"word", "number"}:
            if self._peek()[1] == "(":
                self._next()
                return f"<mo>(</mo>{self._matched().row(end=None)}<mo>)</mo>"
            raise _NoFormula
        item, _ = self._symbol()
        more = self._peek()
        if mark == "^" and (more[1] == "'" or (more[1] == "_" and base == "<mi>e</mi>")):
            raise _NoFormula
        while mark == "_" and self._peek() == ("sign", "_"):
            self._next()
            item = f"<msub>{item}<mrow>{self._script(item, '_')}</mrow></msub>"
        return item

    def _matched(self) -> _Reader:
        """What stands between an opening parenthesis, passed already, and its closing one."""
        depth, inner = 1, _Reader("")
        while depth:
            token = self._next()
            if token[0] == "end":
                raise _NoFormula
            depth += (token[1] == "(") - (token[1] == ")")
            if depth:
                inner._tokens.append(token)
        return inner

    def _symbol(self) -> tuple[str, bool]:
        before = self._tokens[self._place - 1][0] if self._place else ""
        kind, text = self._next()
        if kind == "number":
            return _number(text), True
        if kind == "sign":
            look = ' stretchy="false"' if text in "()[]{}|" or text == "||" else ""
            if text == "|" and not (before == "space" == self._peek()[0]):  # of |x|, not of x | y
                look += ' lspace="0" rspace="0"'
            return f"<mo{look}>{_escaped(_SIGNS.get(text, text))}</mo>", text in ")]}"
        return self._word(text)

    def _word(self, text: str) -> tuple[str, bool]:
        if text == "sqrt":
            return self._root(), True
        if text in _LARGE:
            return f"<mo>{_LARGE[text]}</mo>", True
        if text in _SIGNS:
            return f"<mo>{_SIGNS[text]}</mo>", text == "infinity"
        if text in _WORDS:
            return f'<mspace width="0.3em"/><mtext>{text}</mtext><mspace width="0.3em"/>', False
        digits = (
            self._next()[1] if self._peek()[0] == "number" and self._peek()[1].isdigit() else ""
        )
        if text in _PLAIN:
            return f'<mi mathvariant="normal">{text}{digits}</mi>', True
        if text in _GREEK:
            letters = [_GREEK[text]]
        elif text[0] == "d" and text[1:] in _GREEK:  # of an integral
            letters = ["d", _GREEK[text[1:]]]
        elif len(text) <= 3:
            letters = list(text)
        else:
            raise _NoFormula
        *first, last = (f"<mi>{letter}</mi>" for letter in letters)
        if digits:
            last = f"<msub>{last}<mn>{digits}</mn></msub>"
        made = "".join([*first, last])
        return (f"<mrow>{made}</mrow>" if first else made), True

    def _root(self) -> str:
        while self._peek()[0] == "space":
            self._next()
        if self._peek()[1] == "(":
            self._next()
            return f"<msqrt><mrow>{self._matched().row(end=None)}</mrow></msqrt>"
        if self._peek()[0] not in {"word", "number"}:
            raise _NoFormula
        return f"<msqrt>{self._scripted()[0]}</msqrt>"


def _number(text: str) -> str:
    mantissa, _, power = text.partition("e")
    if not power:
        return f"<mn>{_escaped(text)}</mn>"
    sign = "<mo>−</mo>" if power.startswith("-") else ""
    ten = f"<msup><mn>10</mn><mrow>{sign}<mn>{power.lstrip('+-')}</mn></mrow></msup>"
    return ten if mantissa == "1" else f"<mn>{_escaped(mantissa)}</mn><mo>·</mo>{ten}"
