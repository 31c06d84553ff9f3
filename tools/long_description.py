"""README.md as a package index shows it: it has no files beside it that a link could lead to."""

from __future__ import annotations

import re

# ![alt](target) or [text](target); what is shown may be wrapped.
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"(^```.*?^```\n|(?<=\n\n)(?: {4}[^\n]*\n)+)", re.MULTILINE | re.DOTALL)


def long_description(readme: str, *, page: str = "", picture: str = "") -> str:
    """Links of the repository made absolute, or plain text where it has no address.

    Parameters
    ----------
    readme : str
        Markdown, with links relative to the repository.
    page, picture : str
        Addresses of its files, to read and to show, with ``{path}`` in the place of a path; empty:
        there is none.

    Returns
    -------
    str
        The same; code is left as it is.
    """

    def made(found: re.Match[str]) -> str:
        shown, words, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, mark, place = target.partition("#")
        address = picture if shown else page
        if address:
            return f"{shown}[{words}]({address.replace('{path}', path)}{mark}{place})"
        if shown:
            return f"(Figure {path}: {words})"
        return words if words.strip("`") == path else f"{words} ({path})"

    parts = _CODE.split(readme)
    return "".join(part if i % 2 else _LINK.sub(made, part) for i, part in enumerate(parts))
