"""A report as one HTML file: its Markdown, rendered. Nothing is loaded, nothing runs."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib.resources import files
from string import Template

from markdown_it import MarkdownIt

from shuffledp.review.markdown import Block, Document, Figure
from shuffledp.values.characters import visible

_PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>$style</style>
</head>
<body>
<main>
$body
</main>
</body>
</html>
"""
)
# CommonMark with tables; of HTML in a text the letters are shown.
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
# What the renderer writes as styles, which the page's policy forbids, as classes of its sheet.
_CLASSES = (
    (' style="text-align:right"', ' class="number"'),
    (' style="text-align:left"', ""),
    ("<li>[ ] ", '<li><span class="box"></span>'),
)


def to_html(document: Document) -> str:
    """The whole file.

    Its Content-Security-Policy allows the one style sheet inside it, by hash, and pictures inside
    it: no script, no form, no address of any kind is followed by opening it.
    """
    style = files("shuffledp.review").joinpath("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    return _PAGE.substitute(
        policy=policy,
        title=_escaped(document.title),
        style=style,
        body="\n".join(_block(block) for block in document.blocks),
    )


def _escaped(words: str) -> str:
    """Text as HTML, in an element or in an attribute."""
    return html.escape(visible(words), quote=True)


def _block(block: Block | Figure) -> str:
    if isinstance(block, Figure):
        data = base64.b64encode(block.drawing).decode()
        return (
            f'<figure>\n<img alt="{_escaped(block.words)}" '
            f'src="data:image/svg+xml;base64,{data}">\n'
            f"<figcaption>{_escaped(block.caption)}</figcaption>\n</figure>"
        )
    found = MARKDOWN.render(block.text).rstrip("\n")
    for style, word in _CLASSES:
        found = found.replace(style, word)
    if not block.kind:
        return found
    reading = f' role="region" tabindex="0" aria-label="{_escaped(block.label)}"' * bool(
        block.label
    )
    return f'<div class="{_escaped(block.kind)}"{reading}>\n{found}\n</div>'
