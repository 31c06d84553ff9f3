"""The folder of ``shuffledp page --static``: certificates verified in a reader's own browser.

Any web server can serve it; it is files and nothing else. The page's policy lets it load what lies
beside it and nothing from elsewhere, so that a certificate goes nowhere either.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from shuffledp.errors import ParameterError, unreadable
from shuffledp.page.bundle import bundle
from shuffledp.page.parts import INTERPRETER, PARTS, WHEELS, gathered

__all__ = ["build"]

_OWN = {
    "verify.html": "index.html",
    "verify.js": "verify.js",
    "worker.mjs": "worker.mjs",
    "page.css": "page.css",
    "icon.svg": "icon.svg",
}
# Of the interpreter's package: what a page needs. Its licence is named in its package.json.
_OF_INTERPRETER = (
    "package.json",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide.mjs",
    "python_stdlib.zip",
)
_LOCK = "pyodide-lock.json"
_SUMS = "SHA256SUMS"
_BUNDLE = "shuffledp.zip"
# In verify.js: where the archive's own hash is put, for the browser to check.
_HASH = "@INTEGRITY@"


def build(
    directory: str | Path,
    *,
    parts: str | Path | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Write the folder; all of it or nothing.

    Parameters
    ----------
    directory : path
        A new or empty one.
    parts : path, optional
        A folder with the pinned files; nothing is fetched then.
    report : callable
        Told what is being done.

    Returns
    -------
    list of str
        The files, by their names in it.

    Raises
    ------
    ParameterError
        The directory has something in it or cannot be written, or a part is missing or another
        file than the pinned one.
    """
    place = Path(directory)
    _check_place(place)
    with contextlib.ExitStack() as stack:
        if parts is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        else:
            folder = Path(parts)
        found = gathered(folder, fetch=parts is None, report=report)
    report("writing")
    content = dict(_contents(found))
    sums = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in content.items()]
    content[_SUMS] = "".join(sorted(sums, key=lambda line: line[66:])).encode()
    _write(place, content)
    return sorted(content)


def _contents(parts: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    home = files("shuffledp.page") / "files"
    archive = bundle()
    integrity = "sha256-" + base64.b64encode(hashlib.sha256(archive).digest()).decode()
    for name, shown in _OWN.items():
        data = (home / name).read_bytes()
        yield shown, data.replace(_HASH.encode(), integrity.encode())
    yield _BUNDLE, archive
    with tarfile.open(fileobj=io.BytesIO(parts[INTERPRETER.file]), mode="r:gz") as tar:
        for name in (*_OF_INTERPRETER, _LOCK):
            member = tar.extractfile(f"package/{name}")
            if member is None:
                raise ParameterError(f"parts: {INTERPRETER.file}: {name} is no file of it")
            data = member.read()
            yield f"pyodide/{name}", _locked(data) if name == _LOCK else data
    for part in WHEELS:
        yield f"wheels/{part.file}", parts[part.file]
    lines = [f"{part.name} {part.version}  {part.file}  sha256 {part.sha256}\n" for part in PARTS]
    yield "PARTS", "".join(lines).encode()


def _locked(original: bytes) -> bytes:
    """The interpreter's list of packages, with ours alone: it checks their hashes as it loads."""
    lock: dict[str, Any] = json.loads(original)
    lock["packages"] = {
        part.name: {
            "name": part.name,
            "version": part.version,
            "file_name": part.file,
            "sha256": part.sha256,
            "install_dir": "site",
            "package_type": "package",
            "imports": list(part.imports),
            "depends": list(part.depends),
            "unvendored_tests": False,
        }
        for part in WHEELS
    }
    return (json.dumps(lock, indent=1, sort_keys=True) + "\n").encode()


def _check_place(place: Path) -> None:
    """New or empty: nothing that is there is written over."""
    try:
        if place.is_symlink() or (place.exists() and not place.is_dir()) or any(_inside(place)):
            words = "wanted a new or empty directory"
            raise ParameterError(f"static = {str(place)!r}: has something in it, {words}")
        if not place.absolute().parent.is_dir():
            raise ParameterError(f"static = {str(place)!r}: no such directory to make it in")
    except OSError as error:
        words = f"{unreadable(error)}; wanted a new or empty directory"
        raise ParameterError(f"static = {str(place)!r}: {words}") from None


def _inside(place: Path) -> Iterator[Path]:
    return place.iterdir() if place.exists() else iter(())


def _write(place: Path, content: dict[str, bytes]) -> None:
    """Made beside it, and put in its place when it is whole."""
    try:
        with tempfile.TemporaryDirectory(dir=place.absolute().parent, prefix=".shuffledp-") as made:
            whole = Path(made) / "whole"
            for name, data in content.items():
                path = whole / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            if place.exists():
                place.rmdir()
            whole.replace(place)
    except OSError as error:
        words = f"{unreadable(error)}; nothing is written"
        raise ParameterError(f"static = {str(place)!r}: {words}") from None
