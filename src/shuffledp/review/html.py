"""A report as one HTML file: nothing is loaded, nothing runs, every text is escaped."""

from __future__ import annotations

import base64
import hashlib
import html
from functools import singledispatch
from importlib.resources import files
from string import Template

from shuffledp.review.blocks import (
    Block,
    Bullets,
    Checks,
    Document,
    Figure,
    Heading,
    Inline,
    Line,
    Paragraph,
    Ref,
    Signatures,
    Status,
    Strong,
    Table,
    Terms,
)
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


def to_html(document: Document) -> str:
    """The whole file.

    Its Content-Security-Policy allows the one style sheet inside it, by hash, and nothing else:
    no script, no picture, no form, no address of any kind is followed by opening it.
    """
    style = files("shuffledp.review").joinpath("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return _PAGE.substitute(
        policy=policy,
        title=escaped(document.title),
        style=style,
        body="\n".join(_block(block) for block in document.blocks),
    )


def escaped(words: str) -> str:
    """Text as HTML, in an element or in an attribute."""
    return html.escape(visible(words), quote=True)


def _line(parts: Line) -> str:
    return "".join(_inline(part) for part in parts)


def _inline(part: Inline) -> str:
    if isinstance(part, str):
        return escaped(part)
    words = escaped(part.words)
    if isinstance(part, Ref):
        return f'<a href="#{escaped(part.anchor)}">{words}</a>'
    return f"<strong>{words}</strong>" if isinstance(part, Strong) else f"<code>{words}</code>"


@singledispatch
def _block(block: Block) -> str:
    raise TypeError(f"no HTML for {type(block).__name__}")


@_block.register
def _(block: Heading) -> str:
    anchor = f' id="{escaped(block.anchor)}"' if block.anchor else ""
    # The words may be of any direction; what follows must not be turned by them.
    return f"<h{block.level}{anchor}><bdi>{escaped(block.words)}</bdi></h{block.level}>"


@_block.register
def _(block: Paragraph) -> str:
    return f"<p>{_line(block.line)}</p>"


@_block.register
def _(block: Status) -> str:
    return f'<p class="status {escaped(block.kind)}">{_line(block.line)}</p>'


@_block.register
def _(block: Table) -> str:
    kinds = ["" if i in block.left else ' class="number"' for i in range(len(block.head))]
    head = "".join(
        f'<th scope="col"{kind}>{escaped(words)}</th>'
        for kind, words in zip(kinds, block.head, strict=True)
    )
    rows = []
    for row in block.rows:
        first, *rest = ((kind, _line(cell)) for kind, cell in zip(kinds, row, strict=True))
        cells = "".join(f"<td{kind}>{cell}</td>" for kind, cell in rest)
        rows.append(f'<tr><th scope="row"{first[0]}>{first[1]}</th>{cells}</tr>')
    body = "\n".join(rows)
    caption = f"<caption>{escaped(block.caption)}</caption>\n" if block.caption else ""
    return (
        '<div class="wide" role="region" tabindex="0" aria-label="'
        f'{escaped(block.caption or block.head[0])}">\n<table>\n{caption}'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


@_block.register
def _(block: Bullets) -> str:
    return "<ul>\n" + "\n".join(f"<li>{_line(words)}</li>" for words in block.lines) + "\n</ul>"


@_block.register
def _(block: Checks) -> str:
    box, initials = '<span class="box"></span>', '<span class="initials"></span>'
    items = "\n".join(
        f"<li>{box}<span>{_line(words)}</span>{initials}</li>" for words in block.lines
    )
    return f'<ul class="checks">\n{items}\n</ul>'


@_block.register
def _(block: Terms) -> str:
    items = "\n".join(
        f"<dt>{escaped(term)}</dt><dd>{escaped(words)}</dd>" for term, words in block.entries
    )
    return f"<dl>\n{items}\n</dl>"


@_block.register
def _(block: Figure) -> str:
    return (
        f'<figure>\n<div class="wide" role="region" tabindex="0" aria-label="Figure">\n'
        f"{block.picture.svg()}\n</div>\n<figcaption>{escaped(block.caption)}</figcaption>\n"
        "</figure>"
    )


@_block.register
def _(block: Signatures) -> str:
    head = "".join(f'<th scope="col">{words}</th>' for words in ("", "Name", "Signature", "Date"))
    rows = "\n".join(
        f'<tr><th scope="row">{escaped(role)}</th><td></td><td></td><td></td></tr>'
        for role in block.roles
    )
    return (
        f'<table class="signatures">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n'
        "</tbody>\n</table>"
    )
