"""Where a command writes: its directory, the kind of its figures, all of its files or none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.extras import load_certificate
from shuffledp.cli.text import say_unshown
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError, unreadable
from shuffledp.outputs import Outputs

FIGURES = ("png", "svg", "pdf", "none")
out_option = click.option(
    "--out", metavar="DIRECTORY", help="Where to write; made if needed.  [default: .]"
)
figure_option = click.option(
    "--figure",
    default="png",
    show_default=True,
    metavar="png|svg|pdf|none",
    help="Kind of figure to draw.",
)


@contextlib.contextmanager
def files_in(
    directory: Path | None,
    names: Sequence[str],
    *,
    inputs: Iterable[str],
    more: Sequence[tuple[str, str]] = (),
) -> Iterator[Outputs]:
    """``files_written`` in a directory, which is made if needed; None: nothing is written there.

    ``more`` are files elsewhere, each with the option that named it. A directory that was made for
    files that are then not written, whatever the reason, is removed.
    """
    outputs = [] if directory is None else [("out", str(directory / name)) for name in names]
    with (
        _made(directory) if directory is not None else contextlib.nullcontext(),
        files_written([*outputs, *more], inputs=inputs) as held,
    ):
        yield held


@contextlib.contextmanager
def _made(directory: Path) -> Iterator[None]:
    """Make it and what is missing above it; of these remove what is empty if the command fails."""
    missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    try:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            words = f"{unreadable(error)}; wanted a directory to write to"
            raise ParameterError(f"out = {str(directory)!r}: {words}") from None
        yield
    except BaseException:  # Ctrl-C too
        for folder in missing:
            with contextlib.suppress(OSError):  # somebody else's files are in it
                folder.rmdir()
        raise


def refuse_others(directory: Path, sources: Iterable[Any]) -> None:
    """ParameterError where a deployment's certificate would replace one of something else."""
    for source in sources:
        path = directory / f"{source.stem}.certificate.json"
        said = f"out = {str(directory)!r}", "another --out"
        load_certificate().refuse_other(path, *said, deployment=source.path.name)


def text_writer(text: str) -> Callable[[Path], None]:
    """What writes this text to a path."""

    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8")

    return write


def figure_writer(plots: Any, figure: Any, kind: str) -> Callable[[Path], None]:
    """What draws this figure into a path."""
    return lambda path: say_unshown(plots.write(figure, path, kind))
