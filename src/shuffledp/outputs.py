"""Files that are written: looked at before any work, and put in their places whole.

One rule for everything that writes. A file that is written is a regular file or a new name, has
no other name (hard link), and is neither a file that is read, nor in a folder that is read, nor
written twice. A symbolic link is followed: what it points to is written, the link stays. Until all
files of a command are whole, each has a name of its own beside its place, ``.shuffledp-...``; then
each takes its place by one ``os.replace``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shuffledp.errors import ParameterError, rejected, unreadable

StrPath = str | os.PathLike[str]

_PREFIX = ".shuffledp-"
_WANTED = "wanted an ordinary file or a new name"
# Linux follows as many in one path (path_resolution(7)).
_MOST_LINKS = 40
_PROCESSES = Path("/proc")


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
                f"{_PREFIX}{secrets.token_hex(8)}{Path(output.given).suffix}"
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
        done: list[str] = []
        try:
            for output in made:
                _to_disk(self._unfinished[output.given])
                # Once more: a run takes hours, and a link may stand there by now.
                _check_kind(output)
            for output in made:
                self._unfinished[output.given].replace(output.place)
                done.append(repr(output.given))
        except OSError as error:
            words = f"written before: {', '.join(done)}" if done else "nothing is written"
            raise ParameterError(f"output: {unreadable(error)}; {words}") from None

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
        raise ParameterError(f"output: {unreadable(error)}; nothing is written") from None
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
        output = Output(argument, os.fspath(given), _resolved(argument, os.fspath(given)))
        for path in read:
            if same_file(output.place, path):
                raise output.refused("is read too, wanted a file that is not an input")
            if path.is_dir() and path in output.place.parents:
                raise output.refused(f"lies in the input folder {str(path)!r}, wanted another one")
        for other in found:
            if same_file(output.place, other.place):
                raise output.refused(
                    f"is {other.argument} = {other.given!r} too, wanted another name for every file"
                )
        _check_kind(output)
        found.append(output)
    return tuple(found)


def check_folder(argument: str, given: StrPath) -> Path:
    """The folder of a file; ParameterError unless it is there."""
    output = Output(argument, os.fspath(given), _resolved(argument, os.fspath(given)))
    _check_folder(output)
    return output.place.parent


def same_file(one: Path, other: Path) -> bool:
    """Whether two resolved paths are one file: by name, or by device and inode."""
    if one == other:
        return True
    try:
        return one.samefile(other)
    except OSError:
        return False


def _resolved(argument: str, given: str) -> Path:
    """Where the links lead; an open file of a process (/dev/stdout) is no place."""
    place = Path(given)
    if not given or "\0" in given or given.endswith(("/", os.sep)):
        raise rejected(argument, given, "the name of a file")
    for _ in range(_MOST_LINKS):
        folder = Path(os.path.realpath(place.parent))
        if folder.is_relative_to(_PROCESSES):
            raise ParameterError(f"{argument} = {given!r}: not an ordinary file, {_WANTED}")
        place = folder / place.name
        if not place.is_symlink():
            return Path(os.path.realpath(place))
        place = folder / place.readlink()
    raise ParameterError(f"{argument} = {given!r}: a symbolic link that leads nowhere, {_WANTED}")


def _check_kind(output: Output) -> None:
    """A regular file with one name, or a new name in a folder."""
    wanted = _WANTED
    if not output.place.name:
        raise output.refused(f"not the name of a file, {wanted}")
    try:
        found = os.lstat(output.place)
    except (FileNotFoundError, NotADirectoryError):
        found = None
    except (OSError, ValueError) as error:
        raise output.refused(f"{unreadable(error)}, {wanted}") from None
    _check_folder(output)
    if found is None:
        return
    if not stat.S_ISREG(found.st_mode):
        raise output.refused(f"not an ordinary file, {wanted}")
    if found.st_nlink > 1:
        raise output.refused(f"a file with {found.st_nlink} names (hard links), {wanted}")


def _check_folder(output: Output) -> None:
    if not output.place.parent.is_dir():
        raise output.refused("no such directory")


def _to_disk(path: Path) -> None:
    """Have the content on the disk before the name: a crash must not leave an empty file."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # a file system that has no such thing
            raise
    finally:
        os.close(handle)
