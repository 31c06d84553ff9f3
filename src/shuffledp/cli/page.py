"""``shuffledp page``: the calculator in the browser."""

from __future__ import annotations

from typing import Any

import click

from shuffledp.cli.types import Whole


@click.command(short_help="A calculator in the browser, for this computer alone.")
@click.option("--port", type=Whole(), help="Port of 127.0.0.1; 0 takes any.  [default: 8765]")
def page(port: Any) -> None:
    """Serve a page to this computer's browser: eps as a form is filled in, from this library.

    Mechanism, parameters, users, delta, rounds; both ends of eps as `shuffledp epsilon` prints
    them, a curve over n, mechanisms at the same guarantee, and the deployment file that says the
    same. The page's address holds the form, and can be handed on. Nothing leaves this computer,
    and other computers and other sites' pages are refused. Ctrl-C ends it.
    """
    from shuffledp.page.server import DEFAULT_PORT, serve

    serve(
        DEFAULT_PORT if port is None else port,
        announce=lambda url: click.echo(f"shuffledp: {url} (Ctrl-C ends it)", err=True),
    )
