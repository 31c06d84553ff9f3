"""Files that a command is given: names, folders, patterns, and ``-`` for standard input."""

from __future__ import annotations

import contextlib
import glob
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shuffledp.errors import ParameterError, unreadable

# Files of both kinds are a few kilobytes; a crowd of many groups has some hundred.
_MOST_BYTES = 64 * 2**20
_PIPE = "-"


@dataclass(frozen=True)
class Given:
    """Files that a command's words stand for.

    Attributes
    ----------
    paths : tuple of str
        Where they are read.
    names : tuple of str
        How they are called: the path, or ``-``.
    """

    paths: tuple[str, ...]
    names: tuple[str, ...]


@contextlib.contextmanager
def files_given(words: Sequence[str], *, ending: str, what: str) -> Iterator[Given]:
    """The files that a command's words stand for, in order.

    Parameters
    ----------
    words : sequence of str
        Names of files, which are kept as they are; folders; patterns, where no file has that very
        name; ``-`` once. A file that a folder or a pattern adds is taken once.
    ending : str
        How the names of a folder's files have to end, and that of standard input's ends.
    what : str
        What they are called, for messages.

    Yields
    ------
    Given
        In order. Standard input lies in a file of its own until the end.

    Raises
    ------
    ParameterError
        If a folder or a pattern has none, or standard input is asked for twice, is a terminal or
        larger than 64 MiB.
    """
    if words.count(_PIPE) > 1:
        raise ParameterError(f"standard input (-) is given {words.count(_PIPE)} times: wanted once")
    with contextlib.ExitStack() as stack:
        piped: str | None = None
        found: list[str] = []
        for word in words:
            if word == _PIPE:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="shuffledp-"))
                piped = str(Path(folder) / f"stdin{ending}")
                Path(piped).write_bytes(_piped(what))
                found.append(piped)
                continue
            many = _many(word, ending, what)
            found += [word] if many is None else [one for one in many if one not in found]
        try:
            yield Given(tuple(found), tuple(_PIPE if one == piped else one for one in found))
        except ParameterError as error:
            if piped is None or piped not in str(error):
                raise
            raise ParameterError(str(error).replace(piped, "standard input")) from None


def _many(word: str, ending: str, what: str) -> list[str] | None:
    """What a folder or a pattern stands for; None if it is the name of a file."""
    path = Path(word)
    try:
        if path.is_dir():
            inside = sorted(one for one in path.iterdir() if one.name.endswith(ending))
            found = [str(one) for one in inside if one.is_file() and one.name[0] != "."]
            wanted = f"a folder with at least one {what} (*{ending})"
        elif glob.has_magic(word) and not path.exists():
            every = glob.glob(word, recursive=True)  # noqa: PTH207 - absolute patterns too
            found = sorted(one for one in every if Path(one).is_file())
            wanted = f"a pattern that at least one {what} matches"
        else:
            return None
    except (OSError, ValueError) as error:
        words = f"{unreadable(error)}; wanted a {what}"
        raise ParameterError(f"{what} {word!r}: {words}") from None
    if not found:
        raise ParameterError(f"{word!r}: no file; wanted {wanted}")
    return found


def _piped(what: str) -> bytes:
    """All of standard input."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise ParameterError(f"standard input (-): is a terminal or closed; wanted a {what} in it")
    content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ParameterError(f"standard input (-): over 64 MiB; wanted a {what}")
    return content
