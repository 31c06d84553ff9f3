"""A click group whose every refusal is one line on stderr, with exit status 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from shuffledp.errors import ShuffleDPError

REFUSED = 2
_INTERRUPTED = 130


class OneLineGroup(click.Group):
    """Print help when called with nothing; turn errors made on purpose into one line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """``shuffledp`` and ``shuffledp epsilon`` alone are questions, not mistakes."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

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
            status = super().main(args, prog_name, standalone_mode=False, **extra)
            sys.stdout.flush()
        except click.ClickException as error:
            _refuse(_sentence(error))
        except ShuffleDPError as error:
            _refuse(str(error))
        except (click.Abort, KeyboardInterrupt):
            click.echo("shuffledp: interrupted", err=True)
            sys.exit(_INTERRUPTED)
        except BrokenPipeError:
            # The reader (head, less) has seen enough; flushing again at exit must not complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        sys.exit(status if isinstance(status, int) else 0)


def _sentence(error: click.ClickException) -> str:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if context is not None and isinstance(error, click.UsageError):
        message += f" (see: {context.command_path} --help)"
    return message


def _refuse(message: str) -> None:
    click.echo("shuffledp: " + " ".join(message.split()), err=True)
    sys.exit(REFUSED)
