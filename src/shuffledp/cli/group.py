"""A click group whose every refusal is one line on stderr, with exit status 2."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import FrameType
from typing import Any, NamedTuple

import click

from shuffledp.errors import ShuffleDPError, not_installed
from shuffledp.values.characters import visible

REFUSED = 2
# What a shell makes of a process that a signal has ended: 128 and the signal's number.
_SIGNALLED = 128
_CLOSED_PIPE = _SIGNALLED + 13
# What the package does without, as long as a command is not asked for that needs it.
_OF_EXTRAS = ("matplotlib", "pyarrow")
_ENDING = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}


class _EndedError(BaseException):
    """A signal that ends the run. Not KeyboardInterrupt: click would forget which one it was."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


class _ClosedPipeError(Exception):
    """Nobody reads stdout any more. Status 1 would say that a claim does not hold."""


class Place(NamedTuple):
    """The module of a command, its name there, and its line in the list of commands."""

    module: str
    name: str
    line: str


class OneLineGroup(click.Group):
    """Print help when called with nothing; turn errors made on purpose into one line.

    Parameters
    ----------
    places : mapping
        Name of a command -> its place. It is imported when it is looked up: neither another
        command's run nor the list of commands imports it.
    """

    def __init__(self, *args: Any, places: Mapping[str, Place], **more: Any) -> None:
        super().__init__(*args, **more)
        self.places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of their declaration."""
        del ctx
        return [*self.places]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import it."""
        del ctx
        if cmd_name not in self.places:
            return None
        place = self.places[cmd_name]
        return getattr(import_module(place.module), place.name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands and their lines."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.line) for name, place in self.places.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """``shuffledp`` and ``shuffledp epsilon`` alone are questions, not mistakes."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a closed pipe is told apart before click makes status 1 of it."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ClosedPipeError from None

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **extra: Any,
    ) -> Any:
        """Run, and exit with the command's status."""
        extra.pop("standalone_mode", None)
        status: Any = None
        try:
            with _one_interrupt():
                status = super().main(args, prog_name, standalone_mode=False, **extra)
                sys.stdout.flush()
        except click.ClickException as error:
            _refuse(_sentence(error))
        except ShuffleDPError as error:
            _refuse(str(error))
        except ModuleNotFoundError as error:
            if error.name not in _OF_EXTRAS:
                raise
            _refuse(not_installed("this command", [error.name], "all"))
        except _EndedError as error:
            click.echo(f"shuffledp: {_ENDING[signal.Signals(error.signal).name]}", err=True)
            sys.exit(_SIGNALLED + error.signal)
        except (click.Abort, KeyboardInterrupt):
            click.echo("shuffledp: interrupted", err=True)
            sys.exit(_SIGNALLED + signal.SIGINT)
        except (BrokenPipeError, _ClosedPipeError):
            # The reader (head, less) has seen enough; flushing again at exit must not complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(_CLOSED_PIPE)
        sys.exit(status if isinstance(status, int) else 0)


@contextlib.contextmanager
def _one_interrupt() -> Iterator[None]:
    """The first Ctrl-C, SIGTERM or SIGHUP ends the run; later ones must not disturb its end.

    What is not finished is removed on the way out, so that no reports stay on the disk. A signal
    that is ignored (nohup) stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        del frame
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        raise _EndedError(number)

    known = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in known}
    before = {number: old for number, old in before.items() if old is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, old in before.items():
            if signal.getsignal(number) is interrupt:
                signal.signal(number, old)


def _sentence(error: click.ClickException) -> str:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if context is not None and isinstance(error, click.UsageError):
        message += f" (see: {context.command_path} --help)"
    return message


def _refuse(message: str) -> None:
    click.echo("shuffledp: " + visible(" ".join(message.split())), err=True)
    sys.exit(REFUSED)
