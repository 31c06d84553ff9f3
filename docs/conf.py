"""How Sphinx builds the site; `python -m tools.build_docs` lays out the pages it reads."""

import inspect
import re

from shuffledp import __version__

project = "shuffledp"
author = "The shuffledp authors"
version = release = __version__
html_title = f"shuffledp {__version__}"
html_theme = "furo"
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# Links to headings inside a page, as GitHub makes their anchors.
myst_heading_anchors = 4
highlight_language = "none"
# Types are words ("tuple of (low, high)"), which are no links.
suppress_warnings = ["ref.python"]

autodoc_typehints = "none"  # the docstrings say types, units and ranges
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
# As a list: "lower, upper : float" is one entry there.
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False

# Docstrings are plain text with ``literals``: what reads as markup in a formula is none.
_LITERAL = re.compile(r"(``.*?``)")
_MARKS = re.compile(r"([\\*|`]|_(?!\w))")


def _as_text(line):
    parts = _LITERAL.split(line)
    return "".join(p if p.startswith("``") else _MARKS.sub(r"\\\1", p) for p in parts)


def _plain(*given):
    """Escape what is no markup; indented formulas become blocks of their own."""
    lines, found, literal = given[-1], [], False
    base = ""
    for place, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())]
        example = line.lstrip().startswith((">>>", "..."))
        if example:
            literal, base = True, indent
        elif not line.strip() or (literal and len(indent) < len(base)):
            literal = False
        rule = set(line.strip()) == {"-"} and place > 0
        found.append(line if literal or rule else _as_text(line))
    lines[:] = found


def _arguments(_app, what, _name, obj, _options, signature, returned):
    """What a class is made of, where ``__new__`` only looks at it and takes anything."""
    if what == "class" and signature == "(*args, **kwargs)":
        return str(inspect.signature(obj)).replace("<factory>", "..."), returned
    return None


def setup(app):
    """Plain docstrings are made reStructuredText before napoleon reads their sections."""
    app.connect("autodoc-process-signature", _arguments)
    app.connect("autodoc-process-docstring", _plain, priority=400)
