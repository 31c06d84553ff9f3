"""``shuffledp page``: the calculator in the browser, and the page that verifies certificates."""

from __future__ import annotations

import shlex
from typing import Any

import click

from shuffledp.cli.extras import load_verifier
from shuffledp.cli.progress import progress
from shuffledp.cli.types import Whole
from shuffledp.errors import ParameterError


@click.command(short_help="A calculator in the browser, for this computer alone.")
@click.option("--port", type=Whole(), help="Port of 127.0.0.1; 0 takes any.  [default: 8765]")
@click.option(
    "--static",
    metavar="DIRECTORY",
    help="Write a folder that verifies certificates in a browser, and serve nothing.",
)
@click.option(
    "--parts",
    metavar="DIRECTORY",
    help="With --static: where the pinned files are; nothing is fetched.",
)
def page(port: Any, static: str | None, parts: str | None) -> None:
    """Serve a page to this computer's browser: eps as a form is filled in, from this library.

    Mechanism, parameters, users, delta, rounds; both ends of eps as `shuffledp epsilon` prints
    them, a curve over n, mechanisms at the same guarantee, and the deployment file that says the
    same. The page's address holds the form, and can be handed on. Nothing leaves this computer,
    and other computers and other sites' pages are refused. Ctrl-C ends it.

    With --static a folder is written that any web server can serve: who drops a certificate on its
    page has it verified there, in ball arithmetic, by the code of `shuffledp verify`. The folder is
    23 MB, an interpreter and six wheels, whose versions and sha256 are fixed: it needs npm, pip and
    their registries for these, or --parts with the files.
    """
    if static is None:
        if parts is not None:
            raise ParameterError(f"parts = {parts!r}: wanted with --static only")
        _serve(port)
        return
    if port is not None:
        raise ParameterError(f"port = {port!r}: wanted none with --static, which serves nothing")
    load_verifier()  # what is bundled is what verifies here
    from shuffledp.page.static import build

    with progress(f"writing {static}") as status:
        written = build(static, parts=parts, report=status.update)
    click.echo(f"wrote {static}: {len(written)} files")
    click.echo(f"next: python3 -m http.server --bind 127.0.0.1 --directory {shlex.quote(static)}")


def _serve(port: Any) -> None:
    from shuffledp.page.server import DEFAULT_PORT, serve

    serve(
        DEFAULT_PORT if port is None else port,
        announce=lambda url: click.echo(f"shuffledp: {url} (Ctrl-C ends it)", err=True),
    )
