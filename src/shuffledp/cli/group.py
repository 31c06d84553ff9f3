"""A click group whose every refusal is one line on stderr, with exit status 2."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import click

from shuffledp.errors import ShuffleDPError

REFUSED = 2
_INTERRUPTED, _CLOSED_PIPE = 130, 141


class _ClosedPipeError(Exception):
    """Nobody reads stdout any more. Status 1 would say that a claim does not hold."""


class OneLineGroup(click.Group):
    """Print help when called with nothing; turn errors made on purpose into one line."""

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
        except (click.Abort, KeyboardInterrupt):
            click.echo("shuffledp: interrupted", err=True)
            sys.exit(_INTERRUPTED)
        except (BrokenPipeError, _ClosedPipeError):
            # The reader (head, less) has seen enough; flushing again at exit must not complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(_CLOSED_PIPE)
        sys.exit(status if isinstance(status, int) else 0)


@contextlib.contextmanager
def _one_interrupt() -> Iterator[None]:
    """The first Ctrl-C ends the run; the next ones must not break into its cleaning up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, before)


def _sentence(error: click.ClickException) -> str:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if context is not None and isinstance(error, click.UsageError):
        message += f" (see: {context.command_path} --help)"
    return message


def _refuse(message: str) -> None:
    click.echo("shuffledp: " + " ".join(message.split()), err=True)
    sys.exit(REFUSED)
