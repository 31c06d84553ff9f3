"""What a command writes: checked before the work, against everything that was read for it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

import click

from shuffledp.outputs import Outputs, writing

_READ = "shuffledp.read"


def note_read(path: str) -> None:
    """Remember that this command reads the file: it may not be written to."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta.setdefault(_READ, []).append(path)


def files_written(
    outputs: Iterable[tuple[str, str | None]], *, inputs: Iterable[str | None] = ()
) -> AbstractContextManager[Outputs]:
    """``outputs.writing`` for a command; None: not asked for.

    Files that options named and that were read already (matrices, tables) are inputs too. A figure
    that cannot be drawn, for its ending or for want of matplotlib, is refused before the work.
    """
    asked = [(argument, path) for argument, path in outputs if path is not None]
    for argument, path in asked:
        if argument == "plot":
            from shuffledp.plots import check_suffix

            check_suffix(argument, path)
    context = click.get_current_context(silent=True)
    read = [] if context is None else context.meta.get(_READ, [])
    return writing(asked, inputs=[*read, *(path for path in inputs if path is not None)])
