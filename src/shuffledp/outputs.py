"""Files that are written: looked at before any work, and put in their places whole or not at all.

One rule for everything that writes. A file that is written is a regular file or a new name, has
no other name (hard link), and is neither a file that is read, nor in a folder that is read, nor
written twice. A symbolic link is followed: what it points to is written, the link stays. What is
not finished lies in a folder beside the file, ``.shuffledp-...``, which goes whatever happens; one
that a killed process left is found by its lock, which the system has opened again, and is removed
by the next one that writes there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from shuffledp.errors import ParameterError, rejected, unreadable

StrPath = str | os.PathLike[str]

_PREFIX = ".shuffledp-"
_LOCK = "lock"
_KEPT = "before"
_WANTED = "wanted an ordinary file or a new name"
# Linux follows as many in one path (path_resolution(7)).
_MOST_LINKS = 40
_PROCESSES = Path("/proc")
# Seconds after which a folder without a lock belongs to nobody; making the lock takes microseconds.
_A_MOMENT = 60.0
# Signals that end a process, held back for the moment in which finished files change places.
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


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


@dataclass
class Outputs:
    """Where the files of one command are made before they are put in their places.

    Attributes
    ----------
    outputs : tuple of Output
        The files.
    scratch : dict of Path to Path
        The folder for what is not finished, by the folder of the file.
    """

    outputs: tuple[Output, ...]
    scratch: dict[Path, Path]
    _put: list[tuple[Path, Path | None]] = field(default_factory=list)

    def path(self, given: StrPath) -> Path:
        """Where to make this file for now, on the disk it will be on."""
        number, output = self._find(given)
        return self.scratch[output.place.parent] / f"{number:04d}{Path(output.given).suffix}"

    def write(self, given: StrPath, content: str | bytes) -> None:
        """Make this file of text (UTF-8) or of bytes."""
        data = content.encode() if isinstance(content, str) else content
        self.path(given).write_bytes(data)

    def put(self) -> None:
        """Put everything that was made in its place, in the order it was named; all or nothing."""
        made = [(self.path(o.given), o) for o in self.outputs if self.path(o.given).exists()]
        for path, _ in made:
            _to_disk(path)
        with _undisturbed():
            try:
                for path, output in made:
                    # Once more: a run takes hours, and a link may stand there by now.
                    _check_kind(output)
                    self._replace(path, output.place)
            except BaseException as error:
                stuck = self._put_back()
                if stuck and isinstance(error, OSError):
                    raise _stuck(error, stuck) from None
                raise

    def _replace(self, path: Path, place: Path) -> None:
        kept: Path | None = None
        if place.exists():
            kept = path.with_name(f"{_KEPT}-{path.name}")
            _keep(place, kept)
        path.replace(place)
        self._put.append((place, kept))

    def _put_back(self) -> list[Path]:
        """Undo what was done; the files of which that could not be."""
        stuck = []
        for place, kept in reversed(self._put):
            try:
                if kept is None:
                    place.unlink()
                else:
                    kept.replace(place)
            except OSError:  # noqa: PERF203 (each file by itself)
                stuck.append(place)
        return stuck

    def _find(self, given: StrPath) -> tuple[int, Output]:
        for number, output in enumerate(self.outputs):
            if output.given == os.fspath(given):
                return number, output
        raise KeyError(given)


@contextlib.contextmanager
def writing(
    outputs: Sequence[tuple[str, StrPath]],
    *,
    inputs: Iterable[StrPath] = (),
    tell: Callable[[str], None] | None = None,
) -> Iterator[Outputs]:
    """Check what will be written before the work, and put it in place when the work is done.

    Parameters
    ----------
    outputs : sequence of (argument, path)
        What the user calls each file, and where it is; in the order in which they are put there.
    inputs : iterable of path
        Files that are read, and folders of them. One that is not there is no input.
    tell : callable, optional
        Told of every folder that was left by a killed process, in words.

    Yields
    ------
    Outputs
        ``path(given)`` is where to make a file. What is not made is not put anywhere.

    Raises
    ------
    ParameterError
        Before anything is written, if a path is not allowed; or if writing fails.
    """
    checked = check(outputs, inputs=inputs)
    with contextlib.ExitStack() as stack:
        held = Outputs(checked, {})
        for output in checked:
            folder = output.place.parent
            if folder not in held.scratch:
                with _named(output):
                    sweep(folder, tell)
                    held.scratch[folder] = stack.enter_context(scratch(folder))
        try:
            yield held
            held.put()
        except BrokenPipeError:  # of stdout: no file's fault
            raise
        except OSError as error:
            raise ParameterError(f"output: {unreadable(error)}; nothing is written") from None


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


def check_folder(argument: str, given: StrPath) -> None:
    """ParameterError unless a file of this name can be in a folder that is there."""
    output = Output(argument, os.fspath(given), _resolved(argument, os.fspath(given)))
    _check_folder(output)


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


@contextlib.contextmanager
def _named(output: Output) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise output.refused(f"{unreadable(error)}; wanted a file that can be written") from None


def _stuck(error: OSError, places: list[Path]) -> ParameterError:
    """What to say of files of a set that is not whole, and cannot be taken back."""
    names = ", ".join(repr(str(place)) for place in places)
    return ParameterError(
        f"output: {unreadable(error)}; not all files are written, and what is cannot be taken "
        f"back: remove {names}"
    )


def _keep(place: Path, kept: Path) -> None:
    """Keep what stands there until all files are in place."""
    try:
        os.link(place, kept)
    except OSError:  # a file system without hard links
        shutil.copy2(place, kept)


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


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals wait until all files have changed places, or until none is left.

    By handlers: blocked in one thread the system gives a signal to another one, and Python's main
    thread acts on it all the same. In other threads Python acts on none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before: dict[int, Any] = {}
    try:
        for name in _ENDING:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) not in {signal.SIG_IGN, None}:
                before[number] = signal.signal(number, lambda found, _: came.append(found))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


# ------------------------------------------------------------------- folders for what is unfinished


@contextlib.contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A folder there for what is not finished, locked while it is in use, removed at the end."""
    made: Path | None = None
    try:
        with _undisturbed():
            made = Path(tempfile.mkdtemp(dir=folder, prefix=_PREFIX))
        with (made / _LOCK).open("wb") as lock:
            _locked(lock)
            yield made
    finally:
        # Not TemporaryDirectory: where the folder above has become read-only it recurses for ever
        # (Python 3.11 and before), and it changes rights of folders that are not its own.
        if made is not None:
            with _undisturbed():
                shutil.rmtree(made, ignore_errors=True)


def sweep(folder: Path, tell: Callable[[str], None] | None = None) -> list[Path]:
    """Remove the folders that killed processes left there; those in use stay.

    Returns
    -------
    list of Path
        What was removed.
    """
    removed = []
    for path in sorted(folder.glob(_PREFIX + "*")):
        if path.is_symlink() or not path.is_dir():
            continue
        left = _left(path)
        if left:
            shutil.rmtree(path, ignore_errors=True)
            if not path.exists():
                removed.append(path)
        if tell is not None and left is not False:
            words = "removed" if path in removed else "it may hold reports, remove it by hand"
            tell(f"{path}: left by a run that was killed; {words}")
    return removed


def _left(path: Path) -> bool | None:
    """Whether nobody holds the lock of this folder, so that who made it is gone; None: unknown."""
    try:
        found = path.stat()
        if not hasattr(os, "getuid") or found.st_uid != os.getuid():
            return None
        if not (path / _LOCK).exists():
            # Between making a folder and its lock there is a moment, in which a run may be.
            return None if time.time() - found.st_mtime > _A_MOMENT else False
        with (path / _LOCK).open("r+b") as lock:
            return _locked(lock)
    except FileNotFoundError:  # it went meanwhile: its run has ended
        return False
    except OSError:
        return None


def _locked(file: IO[bytes]) -> bool:
    """Take the lock that goes when the process does; False where another one has it."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
