"""Files that are written: looked at before any work, and put in their places whole.

One rule for everything that writes. A file that is written is a regular file or a new name, and is
neither a file that is read, nor in a folder that is read, nor written twice. A symbolic link is
followed: what it points to is written, the link stays. Until all files of a command are whole, each
has a name of its own beside its place, ``.shuffledp-...``; then each takes its place by one
``os.replace``.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shuffledp.errors import ParameterError, rejected, unreadable

StrPath = str | os.PathLike[str]


@dataclass(frozen=True)
class Output:
    """A file to be written, that may be.

    Attributes
    ----------
    argument : str
        What the user calls it, for messages.
    given : str
        As the user wrote it.
    place : Path
        Where it is: links followed.
    """

    argument: str
    given: str
    place: Path

    @classmethod
    def named(cls, argument: str, given: StrPath) -> Output:
        """The file of this name; ParameterError for what is no regular file nor a new name."""
        name = os.fspath(given)
        if not name or "\0" in name or name.endswith(("/", os.sep)):
            raise rejected(argument, name, "the name of a file")
        found = cls(argument, name, Path(os.path.realpath(name)))
        found.check()
        return found

    def check(self) -> None:
        """Once more before it is written: a run takes hours."""
        other = os.path.lexists(self.place) and not self.place.is_file()
        # What /dev/stdout leads to may be anything.
        if other or Path(self.given).is_relative_to("/dev"):
            raise self.refused("not an ordinary file, wanted an ordinary file or a new name")
        if not self.place.parent.is_dir():
            raise self.refused("no such directory")

    def is_file(self, path: Path) -> bool:
        """Whether it is this file: by name, or by device and inode."""
        try:
            return self.place == path or self.place.samefile(path)
        except OSError:
            return False

    def refused(self, words: str) -> ParameterError:
        """The error that names it."""
        return ParameterError(f"{self.argument} = {self.given!r}: {words}")


class Outputs:
    """Where the files of one command are made before they are put in their places.

    Parameters
    ----------
    outputs : sequence of Output
        The files.
    """

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = {output.given: output for output in outputs}
        self._unfinished = {
            output.given: output.place.with_name(
                f".shuffledp-{secrets.token_hex(8)}{Path(output.given).suffix}"
            )
            for output in outputs
        }
        self._made: set[str] = set()

    def begin(self) -> None:
        """Make an empty file for each: before the work, a folder that takes none is found."""
        for output in self._outputs.values():
            try:
                self._unfinished[output.given].open("xb").close()
            except OSError as error:  # noqa: PERF203 (each file by itself)
                words = f"{unreadable(error)}; wanted a file that can be written"
                raise output.refused(words) from None

    def path(self, given: StrPath) -> Path:
        """Where to make this file for now, on the disk it will be on."""
        self._made.add(os.fspath(given))
        return self._unfinished[os.fspath(given)]

    def write(self, given: StrPath, content: str | bytes) -> None:
        """Make this file of text (UTF-8) or of bytes."""
        data = content.encode() if isinstance(content, str) else content
        self.path(given).write_bytes(data)

    def put(self) -> None:
        """Put every file that was made in its place, in the order in which they were named."""
        made = [output for given, output in self._outputs.items() if given in self._made]
        for output in made:
            output.check()
        for output in made:
            self._unfinished[output.given].replace(output.place)

    def remove(self) -> None:
        """Remove what is not in its place."""
        for path in self._unfinished.values():
            with contextlib.suppress(OSError):  # the folder has become read-only
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(
    outputs: Sequence[tuple[str, StrPath]], *, inputs: Iterable[StrPath] = ()
) -> Iterator[Outputs]:
    """Check what will be written before the work, and put it in place when the work is done.

    Parameters
    ----------
    outputs : sequence of (argument, path)
        What the user calls each file, and where it is; in the order in which they are put there.
    inputs : iterable of path
        Files that are read, and folders of them. One that is not there is no input.

    Yields
    ------
    Outputs
        ``path(given)`` is where to make a file. What is not made is not put anywhere.

    Raises
    ------
    ParameterError
        Before anything is written, if a path is not allowed; or if writing fails.
    """
    held = Outputs(check(outputs, inputs=inputs))
    try:
        held.begin()
        yield held
        held.put()
    except BrokenPipeError:  # of stdout: no file's fault
        raise
    except OSError as error:
        raise ParameterError(f"output: {unreadable(error)}") from None
    finally:
        held.remove()


def check(
    outputs: Sequence[tuple[str, StrPath]], *, inputs: Iterable[StrPath] = ()
) -> tuple[Output, ...]:
    """The files, if every one may be written; see the module for the rule.

    Raises
    ------
    ParameterError
        One line that names the argument, its value, and what is wrong with it.
    """
    read = [Path(os.path.realpath(path)) for path in inputs]
    found: list[Output] = []
    for argument, given in outputs:
        output = Output.named(argument, given)
        for path in read:
            if output.is_file(path):
                raise output.refused("is read too, wanted a file that is not an input")
            if path.is_dir() and path in output.place.parents:
                raise output.refused(f"lies in the input folder {str(path)!r}, wanted another one")
        for other in found:
            if output.is_file(other.place):
                words = f"is {other.argument} = {other.given!r} too"
                raise output.refused(f"{words}, wanted another name for every file")
        found.append(output)
    return tuple(found)
